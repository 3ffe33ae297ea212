/*
 * Blame: a finding that is seen behind the call that made the mistake stands at that call.
 *
 * The last paging operations are remembered as they were asked for. They come in chunks, because
 * most runs build no more than a few hundred.
 */
#include "check/report/check_blame.h"
#include "check/check_private.h"

#include <string.h>

void check_past_note(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = &check->ledger;
    uint64_t number = ledger->operation + !ledger->is_operation_open;
    struct check_past **chunk = &check->past[number / CHECK_PAST_CHUNK % CHECK_PAST_CHUNKS];
    struct check_past *past;

    if (!*chunk)
        *chunk = base_alloc(check->config.services, CHECK_PAST_CHUNK * sizeof **chunk);
    if (!*chunk)
        return; /* its findings stand where they are seen */
    past = &(*chunk)[number % CHECK_PAST_CHUNK];
    if (past->number == number)
        return; /* it goes on: it was asked for in its first call */
    past->number = number;
    past->event = call->event;
    past->arg = *call->before.build_paging_buffer;
}

void check_past_fini(struct check *check)
{
    for (unsigned i = 0; i < CHECK_PAST_CHUNKS; i++)
        base_free(check->config.services, check->past[i],
                  CHECK_PAST_CHUNK * sizeof *check->past[i]);
}

static const struct check_past *find_past(const struct check *check, uint64_t number)
{
    const struct check_past *chunk = check->past[number / CHECK_PAST_CHUNK % CHECK_PAST_CHUNKS];
    const struct check_past *past = chunk ? &chunk[number % CHECK_PAST_CHUNK] : NULL;

    return past && number && past->number == number ? past : NULL;
}

const DXGKARG_BUILDPAGINGBUFFER *check_find_asked(const struct check *check, uint64_t number)
{
    const struct check_past *past = find_past(check, number);

    return past ? &past->arg : NULL;
}

static void blame_nobody(struct check *check)
{
    memset(&check->blamed, 0, sizeof check->blamed);
}

void check_blame_call(struct check *check, enum miniport_ddi ddi, uint64_t event)
{
    blame_nobody(check);
    check->blamed.is_set = true;
    check->blamed.ddi = ddi;
    check->blamed.event = event;
}

static void blame_past(struct check *check, const struct check_past *past)
{
    blame_nobody(check);
    if (past) {
        check_blame_call(check, MINIPORT_DDI_BuildPagingBuffer, past->event);
        check->blamed.commands.event = past->event;
    }
    check->blamed.past = past;
}

void check_blame_operation(struct check *check, uint64_t number)
{
    blame_past(check, find_past(check, number));
}

void check_blame_packet(struct check *check, const struct check_packet *packet)
{
    blame_nobody(check);
    if (!packet)
        return;
    check_blame_call(
        check, packet->is_virtual ? MINIPORT_DDI_SubmitCommandVirtual : MINIPORT_DDI_SubmitCommand,
        packet->event);
    check->blamed.context = packet->context;
}

uint64_t check_operation_at(const struct check_packet *packet, uint64_t offset,
                            struct finding_commands *out_commands)
{
    const struct check_built *piece;
    uint64_t end = 0;

    if (out_commands)
        *out_commands = (struct finding_commands){0};
    if (!packet || !packet->is_paging || !packet->is_matched)
        return 0;
    list_for_each (piece, &packet->built, struct check_built, link) {
        if (offset < end + piece->bytes) {
            if (out_commands)
                *out_commands = (struct finding_commands){.event = piece->event,
                                                          .offset = (uint32_t)(offset - end)};
            return piece->number;
        }
        end += piece->bytes;
    }
    return 0;
}

void check_blame_commands(struct check *check, const struct check_packet *packet, uint64_t offset,
                          uint32_t bytes)
{
    struct finding_commands commands;
    const struct check_past *past = find_past(check, check_operation_at(packet, offset, &commands));

    if (!past) {
        check_blame_packet(check, packet);
        return;
    }
    blame_past(check, past);
    commands.bytes = bytes;
    check->blamed.commands = commands;
}

enum rule_id check_rule_of_entries(const struct check *check, uint64_t number)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = check_find_asked(check, number);

    return arg && arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE &&
                   arg->UpdatePageTable.Flags.Repeat
               ? RULE_PT_016
               : RULE_PT_017;
}

void check_blame_byte(struct check *check, const void *byte)
{
    check->byte = byte;
}

void check_blame_current(struct check *check)
{
    const struct check_gpu_event *event = check->gpu_event;

    blame_nobody(check);
    if (event && event->kind == CHECK_GPU_FAULT)
        check_blame_commands(check, event->packet, event->offset, event->bytes);
}
