#include "layers/guard_answers.h"

#include "layers/guard_breach.h"

#include <string.h>

static const struct loan_member resource_list = {
    .name = "TranslatedResourceList", .kind = LOAN_BYTES, .direction = LOAN_IN_OUT};
static const struct loan_member registry_path = {
    .name = "DeviceRegistryPath.Buffer", .kind = LOAN_BYTES, .direction = LOAN_IN_OUT};

static void report(struct guard_answers *answers, struct loan_breach breach,
                   const struct guard_label *label)
{
    guard_breach_name(&breach, label, NULL, 0);
    answers->config->report(answers->config->context, &breach);
}

/* The copy that the driver gets instead of the bytes at real; real: it gets these. */
static void *lend(struct guard_answers *answers, const struct loan_member *member, void *real,
                  size_t bytes)
{
    const struct guard_label label = {
        .call = "DxgkCbGetDeviceInformation", .members = {member}, .index = GUARD_NO_INDEX};
    struct guard_late late;
    struct guard_slot *slot;
    bool is_late;

    if (!answers->slots || !real || !bytes || answers->count == GUARD_ANSWERS_MOST)
        return real;
    slot = guard_slot_take(answers->slots, &label, bytes, GUARD_ALIGNMENT, &is_late, &late);
    if (!slot)
        return real;
    memcpy(slot->at, real, bytes);
    answers->lent[answers->count++] = slot;
    return slot->at;
}

/* A full descriptor lies behind the last partial one of the descriptor before it. */
static size_t bytes_of_resources(const CM_RESOURCE_LIST *list)
{
    const char *at = (const char *)list->List;

    for (ULONG i = 0; i < list->Count; i++) {
        const CM_FULL_RESOURCE_DESCRIPTOR *full = (const void *)at;

        at = (const char *)&full->PartialResourceList
                 .PartialDescriptors[full->PartialResourceList.Count];
    }
    return (size_t)(at - (const char *)list);
}

static NTSTATUS get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    struct guard_answers *answers = (struct guard_answers *)host;
    NTSTATUS status = miniport_host_forward_ops.get_device_information(host, info);

    if (!NT_SUCCESS(status))
        return status;
    if (info->TranslatedResourceList)
        info->TranslatedResourceList = lend(answers, &resource_list, info->TranslatedResourceList,
                                            bytes_of_resources(info->TranslatedResourceList));
    info->DeviceRegistryPath.Buffer = lend(answers, &registry_path, info->DeviceRegistryPath.Buffer,
                                           info->DeviceRegistryPath.MaximumLength);
    return status;
}

void guard_answers_init(struct guard_answers *answers, const struct guard_config *config,
                        struct guard_slots *slots)
{
    answers->config = config;
    answers->slots = slots;
    answers->ops = miniport_host_forward_ops;
    answers->ops.get_device_information = get_device_information;
    answers->host.host.ops = &answers->ops;
}

struct miniport_host *guard_answers_host(struct guard_answers *answers, struct miniport_host *upper)
{
    answers->host.upper = upper;
    return upper ? &answers->host.host : NULL;
}

void guard_answers_look(struct guard_answers *answers)
{
    for (unsigned i = 0; i < answers->count; i++) {
        struct guard_slot *slot = answers->lent[i];
        struct loan_breach breach = {.bytes = slot->lent_bytes};
        bool is_before;
        size_t distance;

        if (!guard_slot_look(slot, &is_before, &distance))
            continue;
        breach.kind = is_before ? LOAN_BEFORE : LOAN_BEHIND;
        breach.offset = distance;
        report(answers, breach, &slot->label);
        guard_slot_mend(slot);
    }
}

void guard_answers_end(struct guard_answers *answers)
{
    guard_answers_look(answers);
    while (answers->count)
        guard_slot_release(answers->slots, answers->lent[--answers->count], false);
}
