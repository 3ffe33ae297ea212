/*
 * fault lines: a submission that reaches what it may not, and what comes of it.
 *
 * The submission is the context's next one and has one access, to an address that is made for the
 * line: a second mapping of the context's ring with a protection, or the address of a mapping or an
 * allocation that is gone. Work of others goes on meanwhile. The GPU is expected to stop, the
 * driver to report it, and the manager to end this submission and no other, with its device in
 * error.
 */
#include "bench/play/player_private.h"

#include "bench/config/run_mmu.h"
#include "check/report/decode.h"
#include "workload/words.h"

#include <drydock/sgpu.h>

#define FAULT_BYTES (64 * KiB)

/* ---- The address ----------------------------------------------------------------------------- */

/* What the tables of the run cannot say is an address where nothing is. */
static enum workload_fault kind_for(const struct player *player, enum workload_fault kind)
{
    uint8_t protections = player->has_page_tables ? player->protections : 0;

    if ((kind == WORKLOAD_FAULT_READ_ONLY && !(protections & WORKLOAD_PROTECT_READ_ONLY)) ||
        (kind == WORKLOAD_FAULT_NO_EXECUTE && !(protections & WORKLOAD_PROTECT_NO_EXECUTE)))
        return WORKLOAD_FAULT_UNMAPPED;
    return kind;
}

/* Waits for the request that the mapping has under way. False: stopped. */
static bool wait_for(struct player *player)
{
    while (!player->fault.mapping.is_ready) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

/* False: stopped. *out_status: of the mapping, which is done. */
static bool map(struct player *player, struct vidmm_allocation *allocation, uint32_t process,
                uint32_t protect, NTSTATUS *out_status)
{
    struct player_fault *fault = &player->fault;
    unsigned attempts = 0;

    fault->mapping = (struct player_mapping){.player = player, .process = process};
    do {
        *out_status = vidmm_map_gpu_va(player->processes[process],
                                       &(struct vidmm_map_request){.allocation = allocation,
                                                                   .bytes = FAULT_BYTES,
                                                                   .va = fault->va,
                                                                   .protect = protect,
                                                                   .done = player_mapping_done,
                                                                   .context = &fault->mapping},
                                       &fault->va);
    } while (player_should_repeat(player, *out_status, &attempts));
    if (!NT_SUCCESS(*out_status))
        return true;
    if (!wait_for(player))
        return false;
    *out_status = fault->mapping.status;
    return true;
}

static bool unmap(struct player *player, NTSTATUS *out_status)
{
    struct player_fault *fault = &player->fault;
    unsigned attempts = 0;

    fault->mapping.is_ready = false;
    do {
        *out_status = vidmm_unmap_gpu_va(player->processes[fault->mapping.process], fault->va,
                                         player_mapping_done, &fault->mapping);
    } while (player_should_repeat(player, *out_status, &attempts));
    if (!NT_SUCCESS(*out_status))
        return true;
    if (!wait_for(player))
        return false;
    *out_status = fault->mapping.status;
    return true;
}

/* An allocation is made, mapped and destroyed again; its mapping goes with it. */
static bool free_mapped(struct player *player, const struct player_context *context,
                        NTSTATUS *out_status)
{
    struct vidmm_device *device = player->devices[context->device];
    struct vidmm_allocation *allocation;

    *out_status = player_own_allocation(player, context, FAULT_BYTES, &allocation);
    if (!NT_SUCCESS(*out_status))
        return true;
    *out_status = player_own_resident(player, device, &allocation);
    if (NT_SUCCESS(*out_status)) {
        if (!map(player, allocation, context->process, 0, out_status))
            return false;
        player_evict(player, device, 1, &allocation);
    }
    player_inform_of(player, CHECK_CLIENT_DESTROY, allocation, STATUS_SUCCESS);
    vidmm_allocation_destroy(allocation);
    while (player_manager_is_busy(player)) {
        if (!player_advance(player))
            return false;
    }
    return true;
}

/* Makes the address at which the submission is to fault. False: stopped. */
static bool make_address(struct player *player, const struct player_context *context,
                         NTSTATUS *out_status)
{
    static const uint32_t protect[WORKLOAD_FAULT_COUNT] = {
        [WORKLOAD_FAULT_READ_ONLY] = VIDMM_PROTECT_READ_ONLY,
        [WORKLOAD_FAULT_NO_EXECUTE] = VIDMM_PROTECT_NO_EXECUTE,
    };
    struct player_fault *fault = &player->fault;

    *out_status = STATUS_SUCCESS;
    fault->va = 0;
    switch (fault->kind) {
    case WORKLOAD_FAULT_BEYOND_ROOT:
        fault->va = (UINT64_C(1) << run_mmu_va_bits(&player->config.run->mmu)) - FAULT_BYTES;
        return true;
    case WORKLOAD_FAULT_REFUSED:
        return true;
    case WORKLOAD_FAULT_FREED:
        fault->va = player_choose_va(player, FAULT_BYTES);
        return free_mapped(player, context, out_status);
    default:
        fault->va = player_choose_va(player, FAULT_BYTES);
        if (!map(player, context->ring, context->process, protect[fault->kind], out_status))
            return false;
        if (NT_SUCCESS(*out_status) && fault->kind == WORKLOAD_FAULT_UNMAPPED)
            return unmap(player, out_status);
        return true;
    }
}

/* ---- The submission -------------------------------------------------------------------------- */

bool player_expects_fault(const struct player *player, uint32_t node, uint64_t token,
                          uint64_t address)
{
    const struct player_fault *fault = &player->fault;

    return fault->is_under_way && node == fault->node &&
           (token == fault->token || (address >= fault->va && address - fault->va < FAULT_BYTES) ||
            fault->kind == WORKLOAD_FAULT_REFUSED);
}

/* Queues the submission and waits for its end. False: stopped. */
static bool submit(struct player *player, uint32_t op_index, struct player_context *context)
{
    struct player_fault *fault = &player->fault;
    struct submission *submission;

    while (context->count >= player->queue_depth) {
        if (!player_advance(player))
            return false;
    }
    submission = player_submission_create(player, op_index);
    if (!submission)
        return player_stop_with(player, PLAYER_OBJECT, "no memory for a submission");
    fault->is_under_way = true;
    fault->node = player->workload->contexts[context->id].node;
    fault->token = submission->token;
    player_queue(player, context, submission);
    if (player->stop != PLAYER_NOT_STOPPED || !player_wait_context(player, context))
        return false;
    fault->is_under_way = false;
    return true;
}

static void judge(struct player *player, uint32_t op_index)
{
    const struct player_fault *fault = &player->fault;

    if (NT_SUCCESS(fault->status))
        player_report(player, op_index, "the submission that reaches 0x%llx (%s) ran to its end",
                      (unsigned long long)fault->va, workload_fault_name(fault->kind));
    else if (!fault->is_in_error)
        player_report(player, op_index,
                      "the submission that faulted ended with status %s, and its device is not "
                      "in error",
                      decode_status(fault->status).text);
}

/*
 * What the GPU has looked up in vain is mapped now: no translation from before may be left
 * (TLB-005). False: stopped.
 */
static bool reach_again(struct player *player, uint32_t op_index, struct player_context *context)
{
    struct player_fault *fault = &player->fault;
    NTSTATUS status;

    if (!map(player, context->ring, context->process, 0, &status))
        return false;
    if (!NT_SUCCESS(status))
        return true;                    /* meanwhile something else is there */
    fault->kind = WORKLOAD_FAULT_COUNT; /* none is expected */
    if (!submit(player, op_index, context))
        return false;
    return unmap(player, &status);
}

bool player_play_fault(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    struct player_context *context = &player->contexts[op->object];
    struct player_fault *fault = &player->fault;
    NTSTATUS status;

    if (!player->is_virtual || player_is_foreign(player) || !context->ring)
        return true;
    *fault = (struct player_fault){.kind = kind_for(player, (enum workload_fault)op->flags),
                                   .is_write = op->value != 0};
    fault->is_write |= fault->kind == WORKLOAD_FAULT_READ_ONLY;
    if (!make_address(player, context, &status))
        return false;
    if (!NT_SUCCESS(status)) {
        player_report(player, op_index, "no address can be made that faults: status %s",
                      decode_status(status).text);
        return true;
    }
    if (!submit(player, op_index, context))
        return false;
    judge(player, op_index);
    player_ask_for_fences(player); /* a refused one counts as complete (SUB-012) */
    if (fault->kind == WORKLOAD_FAULT_READ_ONLY || fault->kind == WORKLOAD_FAULT_NO_EXECUTE)
        return unmap(player, &status);
    if (fault->kind == WORKLOAD_FAULT_UNMAPPED)
        return reach_again(player, op_index, context);
    return true;
}
