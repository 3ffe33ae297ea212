/*
 * Watcher: the driver's writes around the paging buffer and its private data (PB-004, PB-005,
 * PB-023), as the guards saw it.
 */
#include "check/check_watch.h"

static void after_build(struct check *check, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *before = call->before.build_paging_buffer;
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;
    int64_t moved = (int64_t)((uintptr_t)arg->pDmaBuffer - (uintptr_t)before->pDmaBuffer);
    int64_t moved_private =
        (int64_t)((uintptr_t)arg->pDmaBufferPrivateData - (uintptr_t)before->pDmaBufferPrivateData);
    const struct guard_verdict *verdict = call->dma_verdict;
    bool is_inside = moved >= 0 && moved <= (int64_t)before->DmaSize;

    check_blame_byte(check, verdict ? verdict->byte : NULL);
    if (is_inside && verdict && verdict->is_unsaid)
        CHECK_RULE(check, RULE_PB_004, false, NULL, "pDmaBuffer",
                   "moved %lld bytes, and byte %zu behind them was written too", (long long)moved,
                   verdict->unsaid_offset);
    else
        CHECK_RULE(check, RULE_PB_004, is_inside, NULL, "pDmaBuffer",
                   "{moved %lld bytes}; {=~at most ~%u} were offered", (long long)moved,
                   before->DmaSize);
    if (verdict) {
        CHECK_RULE(
            check, RULE_PB_005, !verdict->is_behind && !verdict->is_before, NULL, "pDmaBuffer",
            verdict->is_behind ? "byte %zu behind the %u that were offered was written"
                               : "byte %zu in front of the buffer of %u was written",
            verdict->is_behind ? verdict->behind_offset : verdict->before_offset, before->DmaSize);
    }
    verdict = call->private_verdict;
    check_blame_byte(check, verdict ? verdict->byte : NULL);
    CHECK_RULE(check, RULE_PB_024, moved_private >= 0, NULL, "pDmaBufferPrivateData",
               "{moved back by %lld bytes}: it stays, or goes forward{=~at least 0 bytes forward~}",
               -(long long)moved_private);
    if (!verdict)
        return;
    CHECK_RULE(check, RULE_PB_023,
               !verdict->is_behind && !verdict->is_before &&
                   moved_private <= (int64_t)before->DmaBufferPrivateDataSize,
               NULL, "pDmaBufferPrivateData",
               "%s: %u bytes were offered, the pointer moved by %lld",
               verdict->is_behind   ? "bytes behind were written"
               : verdict->is_before ? "bytes in front were written"
                                    : "the pointer left them",
               before->DmaBufferPrivateDataSize, (long long)moved_private);
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    after_build(check, call);
    check_blame_byte(check, NULL);
}

const struct check_watcher check_buffer_watcher = {
    .name = "buffers", .after = after, .after_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer)};
