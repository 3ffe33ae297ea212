/*
 * Watcher: how paging buffers are offered, filled and repeated (PB).
 *
 * Follows one stream: the buffer that is being built into, how far it is, and the operation that
 * ran out of it. The driver's writes around the buffer are seen by check_buffers.c.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "miniport/operation.h"

#include <string.h>

#define PRIVATE_BYTES GUARD_SHOWN_BYTES /* of private data that are compared */
#define PAGE          4096u

struct paging_watch {
    /* The buffer: [start, start + size), built up to next. */
    uintptr_t start, next;
    uint32_t size, remaining;
    bool has_buffer;

    /* The operation that came back for want of room. */
    bool is_repeat_due;
    DXGKARG_BUILDPAGINGBUFFER repeat;
    UINT multipass;   /* as the driver left it */
    unsigned stalls;  /* fresh buffers in a row on which nothing happened */
    bool is_given_up; /* the manager may drop the operation */
    unsigned aimless; /* repeats without a change of MultipassOffset */
    unsigned circles; /* ... on which something changed, but nothing other than bytes is left */

    /* Where the driver left the pointer to its private data, and how much was left behind it. */
    uintptr_t next_private;
    uint32_t private_left;

    /* The private data as the driver left them. */
    uintptr_t private_start;
    uint32_t private_bytes;
    bool has_private;
    unsigned char private_data[PRIVATE_BYTES];
};

static bool is_scheduler_call(enum miniport_ddi ddi)
{
    switch ((unsigned)ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
    case MINIPORT_DDI_Patch:
    case MINIPORT_DDI_SubmitCommand:
    case MINIPORT_DDI_SubmitCommandVirtual:
    case MINIPORT_DDI_PreemptCommand:
    case MINIPORT_DDI_ResetEngine:
    case MINIPORT_DDI_QueryEngineStatus:
    case MINIPORT_DDI_QueryCurrentFence:
        return true;
    default:
        return false;
    }
}

/* An operation on aperture slots that the driver does not have: APER-001 and APER-019 say it. */
static bool is_aperture_missing(unsigned operation, NTSTATUS status)
{
    enum miniport_operation_kind kind = miniport_operation_kind(operation);

    return (kind == MINIPORT_KIND_MAP || kind == MINIPORT_KIND_UNMAP) &&
           (status == STATUS_NOT_SUPPORTED || status == STATUS_NOT_IMPLEMENTED);
}

/* ---- Before ---------------------------------------------------------------------------------- */

static void check_pointer(struct check *check, struct paging_watch *watch,
                          const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    uintptr_t at = (uintptr_t)arg->pDmaBuffer;
    /* One buffer may stand right behind another. */
    bool is_next_buffer = at % PAGE == 0 && arg->DmaSize > watch->remaining;
    bool goes_on = watch->has_buffer && at == watch->next && !is_next_buffer;
    bool is_inside =
        watch->has_buffer && !goes_on && at > watch->start && at < watch->start + watch->size;

    if (!goes_on) {
        CHECK_RULE(check, RULE_PB_001, !is_inside && at % PAGE == 0, NULL, "pDmaBuffer",
                   is_inside ? "0x%llx bytes into the buffer; the last operation ended at 0x%x"
                             : "0x%llx bytes behind a page boundary on a fresh buffer of 0x%x",
                   (unsigned long long)(is_inside ? at - watch->start : at % PAGE),
                   is_inside ? watch->size - watch->remaining : arg->DmaSize);
        if (!is_inside) {
            watch->start = at;
            watch->size = arg->DmaSize;
        }
        watch->next = at;
        watch->remaining = arg->DmaSize;
        watch->has_buffer = true;
        return;
    }
    check_looked_at(check, RULE_PB_001);
    CHECK_RULE(check, RULE_PB_006, arg->DmaSize == watch->remaining, NULL, "DmaSize",
               "says {0x%x} bytes; {=0x%x} are left of the buffer of 0x%x", arg->DmaSize,
               watch->remaining, watch->size);
    watch->remaining = arg->DmaSize;
    watch->size = (uint32_t)(at - watch->start) + arg->DmaSize;
    CHECK_RULE(
        check, RULE_PB_032,
        (uintptr_t)arg->pDmaBufferPrivateData == watch->next_private &&
            arg->DmaBufferPrivateDataSize == watch->private_left,
        NULL, "DmaBufferPrivateDataSize",
        "says {%u} bytes, %lld behind where the driver left the pointer; {=%u} were left there",
        arg->DmaBufferPrivateDataSize,
        (long long)((uintptr_t)arg->pDmaBufferPrivateData - watch->next_private),
        watch->private_left);
}

/*
 * After INSUFFICIENT: the bytes written are submitted, and the same operation goes on in a fresh
 * buffer.
 */
static void check_repeat(struct check *check, struct paging_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGKARG_BUILDPAGINGBUFFER *first = &watch->repeat;
    const size_t offset = offsetof(DXGKARG_BUILDPAGINGBUFFER, Transfer);
    const size_t bytes = offsetof(DXGKARG_BUILDPAGINGBUFFER, hSystemContext) - offset;
    bool is_fresh =
        (uintptr_t)arg->pDmaBuffer % PAGE == 0 && (uintptr_t)arg->pDmaBuffer == watch->start;
    bool is_same = arg->Operation == first->Operation;

    CHECK_RULE(check, RULE_PB_010, is_same && is_fresh, NULL, is_same ? "pDmaBuffer" : "Operation",
               is_same ? "%s goes on 0x%x bytes into the buffer that was too small, not in a "
                         "fresh one"
                       : "%s was not finished (0x%x bytes are left of the buffer)",
               miniport_operation_name((unsigned)first->Operation),
               is_same ? (unsigned)((uintptr_t)arg->pDmaBuffer - watch->start) : arg->DmaSize);
    if (is_same) {
        const unsigned char *now = (const unsigned char *)arg + offset;
        const unsigned char *then = (const unsigned char *)first + offset;
        size_t differs = 0;

        while (differs < bytes && now[differs] == then[differs])
            differs++;
        CHECK_RULE(check, RULE_PB_015, differs == bytes, NULL, "",
                   "byte %zu of the operation is 0x%02x; before the repeat it was 0x%02x", differs,
                   now[differs], then[differs]);
        CHECK_RULE(check, RULE_PB_013, arg->MultipassOffset == watch->multipass, NULL,
                   "MultipassOffset", "is {%u}; the driver left {=%u} to be handed back",
                   arg->MultipassOffset, watch->multipass);
    }
    watch->is_repeat_due = false;
}

static void check_private(struct check *check, struct paging_watch *watch, const void *data,
                          uint32_t bytes)
{
    uint32_t compared = (uint32_t)min_u64(min_u64(bytes, watch->private_bytes), PRIVATE_BYTES);

    /* Without a copy of its own the driver may have written to it since, on a thread. */
    if (!data || !watch->has_private || watch->private_start != (uintptr_t)data ||
        !check_configuration(check)->guards_buffers)
        return;
    CHECK_RULE(check, RULE_PB_021, memcmp(data, watch->private_data, compared) == 0, NULL,
               "pDmaBufferPrivateData", "%u bytes were changed since the driver had them last",
               compared);
}

static void keep_private(struct paging_watch *watch, const void *data, uint32_t bytes)
{
    watch->has_private = data && bytes;
    if (!watch->has_private)
        return;
    watch->private_start = (uintptr_t)data;
    watch->private_bytes = bytes;
    memcpy(watch->private_data, data, min_u64(bytes, PRIVATE_BYTES));
}

static void before_build(struct check *check, struct paging_watch *watch,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_new = !watch->is_repeat_due;

    if (!arg->pDmaBuffer) {
        bool is_start = arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE &&
                        arg->UpdatePageTable.UpdateMode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;

        CHECK_RULE(check, RULE_PB_026, is_start, NULL, "pDmaBuffer",
                   "is {NULL}; only page tables that the CPU writes are built without a buffer{=~a "
                   "buffer~}");
        return;
    }
    check_pointer(check, watch, arg);
    if (watch->is_given_up) {
        watch->is_repeat_due = false;
    } else if (is_new) {
        CHECK_RULE(check, RULE_PB_013, arg->MultipassOffset == 0, NULL, "MultipassOffset",
                   "is {%u} at the first call of the operation{=~0~}", arg->MultipassOffset);
    } else {
        check_repeat(check, watch, arg);
    }
    if (ledger->segment_count && !ledger->caps.paging_private_bytes) {
        CHECK_RULE(check, RULE_PB_022, arg->DmaBufferPrivateDataSize == 0, NULL,
                   "DmaBufferPrivateDataSize", "is {%u}; the driver declared {=none~ (0)~}",
                   arg->DmaBufferPrivateDataSize);
    }
    check_private(check, watch, arg->pDmaBufferPrivateData, arg->DmaBufferPrivateDataSize);
    if (ledger->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0) {
        const struct check_context *context = check_find_context(ledger, arg->hSystemContext);
        uint64_t offset = (uintptr_t)arg->pDmaBuffer - watch->start;

        CHECK_RULE(check, RULE_PB_025,
                   context && context->flags.SystemContext && arg->DmaBufferWriteOffset == offset &&
                       arg->DmaBufferGpuVirtualAddress % PAGE == 0,
                   context ? &context->object : NULL,
                   !context || !context->flags.SystemContext ? "hSystemContext"
                   : arg->DmaBufferWriteOffset != offset     ? "DmaBufferWriteOffset"
                                                             : "DmaBufferGpuVirtualAddress",
                   "%s; write offset 0x%llx where 0x%llx is built, buffer at VA 0x%llx",
                   context ? "the context is known" : "no such context",
                   (unsigned long long)arg->DmaBufferWriteOffset, (unsigned long long)offset,
                   (unsigned long long)arg->DmaBufferGpuVirtualAddress);
    }
}

static void check_order(struct check *check, const struct check_call *call)
{
    for (const struct check_call *outer = call->outer; outer; outer = outer->outer) {
        CHECK_RULE(check, RULE_PB_029, !is_scheduler_call(outer->ddi), NULL, "",
                   "is called in the middle of %s", miniport_ddi_name(outer->ddi));
    }
    if (!call->outer)
        check_looked_at(check, RULE_PB_029);
}

/* A part that came back for want of room ends the buffer: the submission ends with it. */
static void check_packet(struct check *check, const struct check_call *call)
{
    const struct check_packet *packet = call->packet;
    const struct check_built *piece;
    bool is_whole = packet->is_matched;

    if (packet->submit_count > 1)
        return;
    list_for_each (piece, &packet->built, struct check_built, link) {
        if (!piece->is_end && piece->bytes && piece->link.next != &packet->built)
            is_whole &= !list_entry(piece->link.next, struct check_built, link)->bytes;
    }
    CHECK_RULE(check, RULE_PB_016, is_whole, NULL, "DmaBufferSubmissionEndOffset",
               packet->is_matched ? "the packet has more behind a part of an operation"
                                  : "the packet is not what was built, in its order");
}

static void before_submit(struct check *check, struct paging_watch *watch,
                          const struct check_call *call)
{
    const DXGKARG_SUBMITCOMMAND *arg = call->arg.submit_command;
    const struct check_caps *caps = &check_ledger(check)->caps;
    unsigned alignment = check_configuration(check)->submission_alignment;

    if (!arg->Flags.Paging)
        return;
    check_private(check, watch, arg->pDmaBufferPrivateData, arg->DmaBufferPrivateDataSize);
    if (call->packet)
        check_packet(check, call);
    /* A switch of contexts has no buffer. */
    if (check_ledger(check)->segment_count && arg->DmaBufferSize)
        CHECK_RULE(check, RULE_PB_018, arg->DmaBufferSegmentId == caps->paging_segment, NULL,
                   "DmaBufferSegmentId", "is {%u}; the driver's PagingBufferSegmentId is {=%u}",
                   arg->DmaBufferSegmentId, caps->paging_segment);
    if (alignment && arg->DmaBufferSubmissionEndOffset > arg->DmaBufferSubmissionStartOffset)
        CHECK_RULE(check, RULE_PB_003, arg->DmaBufferSubmissionEndOffset % alignment == 0, NULL,
                   "DmaBufferSubmissionEndOffset",
                   "{0x%x} is where the driver left the buffer; the GPU wants {=a multiple of %u}",
                   arg->DmaBufferSubmissionEndOffset, alignment);
}

/* A submission by address starts where the operation before ended. */
static void check_start(struct check *check, const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    unsigned alignment = check_configuration(check)->submission_alignment;

    if (arg->Flags.Paging && alignment && arg->DmaBufferSize)
        CHECK_RULE(
            check, RULE_PB_003, arg->DmaBufferVirtualAddress % alignment == 0, NULL,
            "DmaBufferVirtualAddress",
            "{0x%llx} is where the driver left the buffer; the GPU wants {=a multiple of %u}",
            (unsigned long long)arg->DmaBufferVirtualAddress, alignment);
}

static void before_patch(struct check *check, struct paging_watch *watch, const DXGKARG_PATCH *arg)
{
    if (!arg->Flags.Paging)
        return;
    check_private(check, watch, arg->pDmaBufferPrivateData, arg->DmaBufferPrivateDataSize);
    CHECK_RULE(check, RULE_PB_031,
               !arg->AllocationListSize && !arg->PatchLocationListSize &&
                   !arg->PatchLocationListSubmissionLength,
               NULL, "AllocationListSize",
               "a paging buffer comes with %u allocations and %u patch locations",
               arg->AllocationListSize, arg->PatchLocationListSize);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct paging_watch *watch = state;

    if (is_scheduler_call(call->ddi))
        check_order(check, call);
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_SubmitCommandVirtual:
        check_start(check, call->arg.submit_command_virtual);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, watch, call->arg.build_paging_buffer);
        CHECK_RULE(check, RULE_PB_030, check_irql(check) == PASSIVE_LEVEL, NULL, "",
                   "is called at IRQL %u", check_irql(check));
        break;
    case MINIPORT_DDI_SubmitCommand:
        before_submit(check, watch, call);
        break;
    case MINIPORT_DDI_Patch:
        before_patch(check, watch, call->arg.patch);
        break;
    default:
        break;
    }
}

/* ---- After ----------------------------------------------------------------------------------- */

/* NTF-013: to have no such MMU is no reason to fail. */
static bool check_says_nothing_of_mmu(struct check *check, NTSTATUS status)
{
    bool holds = status != STATUS_NOT_SUPPORTED && status != STATUS_NOT_IMPLEMENTED;

    CHECK_RULE(
        check, RULE_NTF_013, holds, NULL, "status",
        "{0x%08x}: a driver without auxiliary MMUs answers {=STATUS_SUCCESS} and writes nothing",
        (unsigned)status);
    return holds;
}

static bool is_shortage(NTSTATUS status)
{
    return status == STATUS_NO_MEMORY || status == STATUS_INSUFFICIENT_RESOURCES;
}

static void check_status(struct check *check, const struct check_call *call)
{
    unsigned operation = (unsigned)call->before.build_paging_buffer->Operation;
    bool is_known = operation < MINIPORT_OPERATION_COUNT;
    NTSTATUS status = call->status;

    if (!is_known) {
        const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
        bool is_quiet = status == STATUS_SUCCESS &&
                        call->arg.build_paging_buffer->pDmaBuffer == was->pDmaBuffer;

        CHECK_RULE(check, RULE_PB_028, is_quiet, NULL, "Operation",
                   "{value 0x%x} is of no operation that the driver can know: status 0x%08x "
                   "(expected {=STATUS_SUCCESS and nothing written})",
                   operation, (unsigned)status);
        return;
    }
    if (!CHECK_RULE(check, RULE_PB_009, !is_shortage(status), NULL, "status",
                    "{0x%08x}: a shortage of the driver's own is no answer (expected "
                    "{=STATUS_SUCCESS or STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER})",
                    (unsigned)status))
        return;
    if (status == STATUS_GRAPHICS_ALLOCATION_BUSY && rule_about_busy(operation) != RULE_NONE)
        return;
    if (miniport_operation_kind(operation) == MINIPORT_KIND_MMU &&
        !check_says_nothing_of_mmu(check, status))
        return;
    if (is_aperture_missing(operation, status))
        return;
    CHECK_RULE(check, RULE_PB_008,
               status == STATUS_SUCCESS || status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER, NULL,
               "status",
               "{0x%08x} (expected {=STATUS_SUCCESS or STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER})",
               (unsigned)status);
}

static void check_dma_size(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *was,
                           const DXGKARG_BUILDPAGINGBUFFER *arg, uint32_t advance)
{
    const struct check_profile *profile = &check_configuration(check)->profile;
    bool is_same = arg->DmaSize == was->DmaSize;
    bool is_lowered = arg->DmaSize == was->DmaSize - advance;
    bool holds = (is_same && (!profile->wants_dma_size_lowered || !advance)) ||
                 (is_lowered && (!profile->wants_dma_size_unchanged || !advance));

    CHECK_RULE(check, RULE_PB_007, holds, NULL, "DmaSize",
               "came back as {0x%x}: 0x%x were offered, the pointer moved by 0x%x", arg->DmaSize,
               was->DmaSize, advance);
}

/* The buffer is as large as the driver wants it. */
static bool has_declared_bytes(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *was)
{
    uint32_t declared = check_ledger(check)->caps.paging_buffer_bytes;

    return declared && was->DmaSize >= declared;
}

/* The operation has to be repeated: was anything achieved? */
static void check_progress(struct check *check, struct paging_watch *watch,
                           const struct check_call *call, uint32_t advance)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;
    bool is_fresh = (uintptr_t)was->pDmaBuffer == watch->start, is_strict;
    bool has_moved = advance || arg->MultipassOffset != was->MultipassOffset ||
                     arg->pDmaBufferPrivateData != was->pDmaBufferPrivateData;
    enum rule_id rule = has_declared_bytes(check, was) ? RULE_PB_020 : RULE_PB_012;

    bool has_private_changed = watch->has_private &&
                               watch->private_start == (uintptr_t)was->pDmaBufferPrivateData &&
                               memcmp(watch->private_data, was->pDmaBufferPrivateData,
                                      min_u64(was->DmaBufferPrivateDataSize, PRIVATE_BYTES)) != 0;

    has_moved |= has_private_changed;
    watch->stalls = is_fresh && !has_moved ? watch->stalls + 1 : 0;
    watch->aimless =
        advance && arg->MultipassOffset == was->MultipassOffset ? watch->aimless + 1 : 0;
    if (watch->aimless >= miniport_operation_most_aimless(was)) {
        CHECK_RULE(check, RULE_PB_014, false, NULL, "MultipassOffset",
                   "stayed {%u} over %u buffers that were filled: the operation never ends",
                   arg->MultipassOffset, watch->aimless);
        watch->aimless = 0;
        watch->is_repeat_due = false;
        watch->is_given_up = true;
    }
    if (!is_fresh)
        return;
    /* The next call will be the same as this one: no member notes progress. */
    watch->circles = has_moved && arg->MultipassOffset == was->MultipassOffset &&
                             arg->pDmaBufferPrivateData == was->pDmaBufferPrivateData &&
                             !has_private_changed
                         ? watch->circles + 1
                         : 0;
    is_strict = check_configuration(check)->profile.wants_offset_progress;
    CHECK_ADVICE(
        check, RULE_PB_014, is_strict, watch->circles < 2, NULL, "MultipassOffset",
        "is {%u} as before, like the private data, though %u bytes were written into a fresh "
        "buffer of %u, twice in a row: by one reading of the page progress is in MultipassOffset, "
        "by the other the driver may know it (a reset or a sleep in between must not lose it)",
        arg->MultipassOffset, advance, was->DmaSize);
    CHECK_RULE(check, rule, watch->stalls < 2, NULL, "status",
               "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER on two fresh buffers of %u bytes in a "
               "row, and nothing was written (MultipassOffset %u)",
               was->DmaSize, arg->MultipassOffset);
    if (watch->stalls >= 2 || (is_strict && watch->circles >= 2)) {
        watch->stalls = 0;
        watch->is_repeat_due = false;
        watch->is_given_up = true;
    }
}

/* A pointer that left the private data is PB-023's and PB-024's: nothing has moved then. */
static void keep_private_left(struct paging_watch *watch, const DXGKARG_BUILDPAGINGBUFFER *was,
                              const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    uint64_t moved =
        (uint64_t)((uintptr_t)arg->pDmaBufferPrivateData - (uintptr_t)was->pDmaBufferPrivateData);

    if (moved > was->DmaBufferPrivateDataSize)
        moved = 0;
    watch->next_private = (uintptr_t)was->pDmaBufferPrivateData + (uintptr_t)moved;
    watch->private_left = was->DmaBufferPrivateDataSize - (uint32_t)moved;
}

static void after_build(struct check *check, struct paging_watch *watch,
                        const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *was = call->before.build_paging_buffer;
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;
    uint64_t moved = (uint64_t)((uintptr_t)arg->pDmaBuffer - (uintptr_t)was->pDmaBuffer);
    uint32_t advance = moved <= was->DmaSize ? (uint32_t)moved : 0;
    bool is_short = call->status == STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;

    check_status(check, call);
    CHECK_RULE(check, RULE_PB_030, check_irql(check) == PASSIVE_LEVEL, NULL, "",
               "came back at IRQL %u", check_irql(check));
    if (!was->pDmaBuffer)
        return;
    check_dma_size(check, was, arg, advance);
    if (call->dma_verdict && advance)
        CHECK_RULE(check, RULE_PB_002, !call->dma_verdict->is_gap, NULL, "pDmaBuffer",
                   "moved %u bytes, of which the last %zu were not written", advance,
                   call->dma_verdict->gap_bytes);
    watch->next = (uintptr_t)was->pDmaBuffer + advance;
    watch->remaining = was->DmaSize - advance;
    keep_private_left(watch, was, arg);
    if (is_short) {
        watch->is_repeat_due = true;
        watch->repeat = *was;
        watch->multipass = arg->MultipassOffset;
        check_progress(check, watch, call, advance);
    } else {
        watch->stalls = watch->circles = watch->aimless = 0;
        watch->is_given_up = false;
        if (has_declared_bytes(check, was) && (uintptr_t)was->pDmaBuffer == watch->start)
            check_looked_at(check, RULE_PB_020); /* the operation was done in it */
    }
    keep_private(watch, was->pDmaBufferPrivateData, was->DmaBufferPrivateDataSize);
}

static void after_query(struct check *check, const struct check_call *call)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_segment *segment = check_find_segment(ledger, ledger->caps.paging_segment);
    unsigned type = (unsigned)call->arg.query_adapter_info->Type;

    if (!NT_SUCCESS(call->status) || !ledger->segment_count ||
        (type != DXGKQAITYPE_QUERYSEGMENT && type != DXGKQAITYPE_QUERYSEGMENT3 &&
         type != DXGKQAITYPE_QUERYSEGMENT4))
        return;
    CHECK_RULE(check, RULE_PB_019,
               !ledger->caps.paging_segment || (segment && segment->flags.Aperture), NULL,
               "PagingBufferSegmentId", "{%u} is %s (expected {=an aperture segment, or 0})",
               ledger->caps.paging_segment, segment ? "a memory segment" : "no segment");
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct paging_watch *watch = state;

    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_BuildPagingBuffer:
        after_build(check, watch, call);
        break;
    case MINIPORT_DDI_QueryAdapterInfo:
        after_query(check, call);
        break;
    case MINIPORT_DDI_SubmitCommand:
        if (call->arg.submit_command->Flags.Paging)
            keep_private(watch, call->arg.submit_command->pDmaBufferPrivateData,
                         call->arg.submit_command->DmaBufferPrivateDataSize);
        break;
    case MINIPORT_DDI_Patch:
        if (call->arg.patch->Flags.Paging)
            keep_private(watch, call->arg.patch->pDmaBufferPrivateData,
                         call->arg.patch->DmaBufferPrivateDataSize);
        break;
    /*
     * An operation that was being built is built anew, or not at all. An engine that is reset alone
     * interrupts nothing: paging that it took ends with the whole adapter (TDR-009).
     */
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_SetPowerState:
        watch->is_repeat_due = false;
        watch->has_private = false;
        watch->stalls = 0;
        break;
    default:
        break;
    }
}

const struct check_watcher check_paging_watcher = {
    .name = "paging",
    .state_bytes = sizeof(struct paging_watch),
    .before = before,
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_QueryAdapterInfo,
                               MINIPORT_DDI_SubmitCommand, MINIPORT_DDI_Patch,
                               MINIPORT_DDI_ResetFromTimeout, MINIPORT_DDI_SetPowerState),
};
