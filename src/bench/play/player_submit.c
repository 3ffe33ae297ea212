/*
 * submit lines: a submission is made of what the line refers to, and queued in its context. From
 * there player_pump() takes it on.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

/* GpuMmu: a mapping for every reference, made now where a process sees the allocation first. */
static bool map_references(struct player *player, uint32_t op_index, uint32_t process)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct workload_ref *refs = player->workload->refs + op->first_ref;

    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t id = refs[i].allocation;
        const struct workload_allocation *allocation = &player->workload->allocations[id];
        const char *name = workload_allocation_name(player->workload, id);
        struct player_allocation *entry = &player->allocations[id];
        uint64_t bytes;
        NTSTATUS status;

        if (player_find_mapping(player, id, process, refs[i].offset, refs[i].size,
                                (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0))
            continue;
        if ((allocation->flags & WORKLOAD_ALLOCATION_NOMAP) ||
            player->workload->devices[allocation->device].process == process) {
            player_report(player, op_index,
                          "submission refers to [0x%llx, 0x%llx) of '%s', which is not mapped",
                          (unsigned long long)refs[i].offset,
                          (unsigned long long)(refs[i].offset + refs[i].size), name);
            return false;
        }
        bytes = vidmm_allocation_size(entry->handle);
        if (!player_map(player, id, process, 0, bytes, player_choose_va(player, bytes), 0, 0,
                        &status)) {
            player_report(player, op_index, "'%s' cannot be mapped: status %s", name,
                          decode_status(status).text);
            return false;
        }
    }
    return true;
}

struct submission *player_submission_create(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct workload_ref *refs = player->workload->refs + op->first_ref;
    size_t bytes = sizeof(struct submission) +
                   op->ref_count * (sizeof(struct vidmm_allocation *) + sizeof(uint32_t));
    struct submission *submission = base_alloc(player->services, bytes);

    if (!submission)
        return NULL;
    submission->player = player;
    submission->bytes = bytes;
    submission->op_index = op_index;
    submission->token = player->next_token++;
    submission->first_key = player->next_tag;
    submission->ids = (uint32_t *)(submission->handles + op->ref_count);
    list_init(&submission->link);
    for (uint32_t i = 0; i < op->ref_count; i++) {
        struct player_allocation *entry = &player->allocations[refs[i].allocation];

        if ((refs[i].access & WORKLOAD_ACCESS_WRITE) && !refs[i].key)
            player_take_tags(player, refs[i].offset, refs[i].size);
        if (entry->stamp == submission->token)
            continue;
        entry->stamp = submission->token;
        submission->ids[submission->allocation_count] = refs[i].allocation;
        submission->handles[submission->allocation_count++] = entry->handle;
        entry->waiting_count++;
    }
    return submission;
}

bool player_play_submit(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_context *context = &player->contexts[op->object];
    struct submission *submission;

    while (context->count >= player->queue_depth + player->config.run->backlog) {
        if (!player_advance(player))
            return false;
    }
    for (uint32_t i = 0; i < op->ref_count; i++) {
        uint32_t id = player->workload->refs[op->first_ref + i].allocation;

        if (player->allocations[id].handle)
            continue;
        player->result->failed_submissions++;
        player_report(player, op_index, "submission refers to '%s', which could not be created",
                      workload_allocation_name(player->workload, id));
        return true;
    }
    if (player->is_virtual && !map_references(player, op_index, context->process)) {
        player->result->failed_submissions++;
        return true;
    }
    if (player_is_foreign(player) && !player_follows_work(player) &&
        !player_write_for_gpu(player, op_index))
        return false;
    submission = player_submission_create(player, op_index);
    if (!submission)
        return player_stop_with(player, PLAYER_OBJECT,
                                "no memory for a submission of %u references", op->ref_count);
    player_queue(player, context, submission);
    player_forecast_queued(player, op_index);
    return player->stop == PLAYER_NOT_STOPPED;
}
