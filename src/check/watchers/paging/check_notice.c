/*
 * Watcher: notices, the paging operations that move nothing and tell the driver where things are
 * (NTF-001..010, NTF-012, NTF-014..020).
 *
 * What an allocation was told last is in the ledger's account of it; a reset or sleep ends it. An
 * operation that goes on in another buffer has been judged already.
 */
#include "check/watchers/aperture/check_aperture.h"
#include "check/watchers/tables/check_table_memory.h"

#include "base/bits.h"

#include <string.h>

#define MAX_FENCES   64
#define MAX_UNMAPPED 16

/* A range that an IOMMU no longer maps, once the operation has retired. */
struct unmapped {
    uint64_t va, bytes;
    uint64_t operation;
    uint64_t allocation; /* its number */
};

struct signalled {
    uint64_t va, value;
    uint64_t operation; /* that is to write the value; 0: it has */
};

#define MAX_HOMES 64 /* native fences that are followed */

/* Where a native fence has its current value, in system memory. */
struct home {
    HANDLE fence; /* NULL: the entry is free */
    uint64_t current, former, next;
    bool has_former;
    uint64_t operation; /* with which next becomes current; 0: it is */
};

struct notice_watch {
    struct home homes[MAX_HOMES];
    struct signalled fences[MAX_FENCES]; /* signalled last */
    unsigned fence_count;
    uint64_t told_event[CHECK_MAX_NODES];  /* of the last interrupt of a fence */
    uint64_t writers;                      /* a bit for each node whose write is untold */
    uint64_t write_event[CHECK_MAX_NODES]; /* of the packet that has written */
    bool is_write_late[CHECK_MAX_NODES];   /* it came while the interrupt was under way */
    uint64_t owed_event[CHECK_MAX_NODES];  /* a write that the queued DPC has to tell; 0: none */
    bool is_dpc_queued;                    /* ... and has not begun to run */
    bool is_in_interrupt;
    uint64_t first_late[CHECK_MAX_NODES];   /* number of a packet that ended since; 0: none */
    struct unmapped unmapped[MAX_UNMAPPED]; /* a ring */
    unsigned unmapped_count;                /* ever */
    uint64_t retired;                       /* operation */
    bool is_watching;                       /* the place of the notice that is being built */
};

static uint64_t page_count(const struct check_allocation *allocation)
{
    return (allocation->bytes + PAGE_SIZE - 1) / PAGE_SIZE;
}

/* ---- Residency ------------------------------------------------------------------------------- */

static bool is_place_there(const struct check_ledger *ledger, const D3DGPU_PHYSICAL_ADDRESS *place,
                           uint64_t bytes)
{
    const struct check_segment *segment = check_find_segment(ledger, place->SegmentId);

    return segment && place->SegmentOffset <= segment->size &&
           bytes <= segment->size - place->SegmentOffset;
}

static void check_asked_for(struct check *check, const struct check_allocation *allocation)
{
    const DXGK_ALLOCATIONINFOFLAGS_WDDM2_0 *flags = &allocation->info.FlagsWddm2;

    CHECK_RULE(
        check, RULE_NTF_001, flags->ExplicitResidencyNotification && flags->AccessedPhysically,
        &allocation->object, "hAllocation",
        "has {ExplicitResidencyNotification %u and AccessedPhysically %u} (expected {=both})",
        flags->ExplicitResidencyNotification, flags->AccessedPhysically);
}

static void before_residency(struct check *check,
                             const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct check_allocation *allocation = check_find_allocation(ledger, notice->hAllocation);
    const D3DGPU_PHYSICAL_ADDRESS *place = &notice->PhysicalAddress;
    bool is_known;

    if (!allocation)
        return;
    check_asked_for(check, allocation);
    if (notice->Resident) {
        CHECK_RULE(check, RULE_NTF_003, is_place_there(ledger, place, allocation->bytes),
                   &allocation->object, "PhysicalAddress",
                   "segment %u, offset 0x%llx: 0x%llx bytes are not there", place->SegmentId,
                   (unsigned long long)place->SegmentOffset, (unsigned long long)allocation->bytes);
    } else {
        CHECK_RULE(check, RULE_NTF_004, !place->SegmentId && !place->SegmentOffset,
                   &allocation->object, "PhysicalAddress",
                   "{segment %u, offset 0x%llx} for an allocation that goes (expected {=0, 0})",
                   place->SegmentId, (unsigned long long)place->SegmentOffset);
    }
    is_known = allocation->notice_epoch == ledger->tables.epoch;
    CHECK_RULE(check, RULE_NTF_005, !is_known || allocation->is_noticed != (notice->Resident != 0),
               &allocation->object, "Resident",
               "is {%u} again: one notice for each commit and each eviction", notice->Resident);
    allocation->notice_epoch = ledger->tables.epoch;
    allocation->is_noticed = notice->Resident;
    check_remember(&allocation->object, check_current_call(check)->event,
                   notice->Resident ? "told resident in segment %u at 0x%llx" : "told that it goes",
                   place->SegmentId, (uint64_t)place->SegmentOffset);
}

static void before_part(struct check *check, const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY2 *notice)
{
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), notice->hAllocation);
    uint64_t end = (uint64_t)notice->AllocationOffsetInPages + notice->SizeInPages;

    if (!allocation)
        return;
    check_asked_for(check, allocation);
    if (notice->Resident && !notice->SegmentId)
        CHECK_RULE(check, RULE_NTF_014, notice->Mdl != NULL, &allocation->object, "Mdl",
                   "Resident, in no segment, and there is no list of pages");
    CHECK_RULE(check, RULE_NTF_014,
               notice->SizeInPages && end <= page_count(allocation) &&
                   (notice->Resident || !notice->SegmentId),
               &allocation->object,
               notice->Resident || !notice->SegmentId ? "SizeInPages" : "SegmentId",
               "%u pages from page %u on, segment %u, Resident %u; the allocation has %llu",
               notice->SizeInPages, notice->AllocationOffsetInPages, notice->SegmentId,
               notice->Resident, (unsigned long long)page_count(allocation));
}

/* ---- Others ---------------------------------------------------------------------------------- */

/* NTF-017: what leaves local memory is copied, and nobody needs to be asked. */
static void check_leaves_system_memory(struct check *check,
                                       const struct check_allocation *allocation)
{
    const struct check_segment *segment =
        allocation->is_placed ? check_find_segment(check_ledger(check), allocation->segment) : NULL;

    CHECK_RULE(check, RULE_NTF_017, !segment || segment->flags.Aperture, &allocation->object,
               "Flags", "Eviction for an allocation in segment %u at 0x%llx, which is local memory",
               allocation->segment, (unsigned long long)allocation->address);
}

static void note_unmapped(struct notice_watch *watch, const struct check_ledger *ledger,
                          const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice,
                          const struct check_allocation *allocation)
{
    watch->unmapped[watch->unmapped_count++ % MAX_UNMAPPED] = (struct unmapped){
        .va = notice->GpuVirtualAddressAtOffset,
        .bytes = notice->SizeInBytes,
        .operation = ledger->operation + 1,
        .allocation = allocation ? allocation->object.number : 0,
    };
}

/*
 * NTF-019: what a driver has the GPU do for the system does not touch the range once the IOMMU may
 * have forgotten it. What a client's work touches is the client's affair.
 */
static void check_access(struct check *check, const struct notice_watch *watch,
                         const struct check_gpu_event *event)
{
    if (!event->packet || !event->packet->is_paging || event->is_malformed_packet)
        return;
    for (unsigned i = 0; i < MAX_UNMAPPED && i < watch->unmapped_count; i++) {
        const struct unmapped *range = &watch->unmapped[i];
        bool is_fault = event->kind == CHECK_GPU_FAULT && event->address >= range->va &&
                        event->address - range->va < range->bytes;

        if (range->operation <= watch->retired)
            CHECK_RULE(check, RULE_NTF_019, !is_fault, NULL, "",
                       "fence 0x%x of node %u touched VA 0x%llx; the IOMMU had forgotten 0x%llx "
                       "bytes from 0x%llx on (allocation a%llu)",
                       event->fence, event->node, (unsigned long long)event->address,
                       (unsigned long long)range->bytes, (unsigned long long)range->va,
                       (unsigned long long)range->allocation);
    }
}

static void before_alloc(struct check *check, struct notice_watch *watch,
                         const DXGK_BUILDPAGINGBUFFER_NOTIFYALLOC *notice)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_allocation *allocation = check_find_allocation(ledger, notice->hAllocation);
    const struct check_object *object = allocation ? &allocation->object : NULL;
    uint64_t page;

    if (CHECK_RULE(check, RULE_NTF_020, notice->Flags.Eviction != notice->Flags.IoMmuUnmap, object,
                   "Flags", "{Eviction %u and IoMmuUnmap %u} (expected {=one of them})",
                   notice->Flags.Eviction, notice->Flags.IoMmuUnmap) &&
        allocation)
        CHECK_RULE(check, RULE_NTF_015,
                   notice->Flags.Eviction ? allocation->info.Flags2.NotifyEviction
                                          : allocation->info.Flags2.NotifyIoMmuUnmap,
                   object, "Flags", "%s for an allocation without %s",
                   notice->Flags.Eviction ? "Eviction" : "IoMmuUnmap",
                   notice->Flags.Eviction ? "NotifyEviction" : "NotifyIoMmuUnmap");
    if (notice->Flags.Eviction && !notice->Flags.IoMmuUnmap && allocation &&
        !allocation->is_place_lost)
        check_leaves_system_memory(check, allocation);
    if (notice->Flags.Eviction && !notice->Flags.IoMmuUnmap && ledger->system_process &&
        check_is_leaf_known(ledger, ledger->system_process, notice->GpuVirtualAddressAtOffset)) {
        bool is_mapped = check_translate(ledger, ledger->system_process,
                                         notice->GpuVirtualAddressAtOffset, &page) != 0;

        CHECK_RULE(check, RULE_NTF_016, !notice->hKmdProcessHandle && is_mapped, object,
                   is_mapped ? "hKmdProcessHandle" : "GpuVirtualAddressAtOffset",
                   is_mapped ? "is {not NULL}: VA 0x%llx is one of the paging process{=~NULL~}"
                             : "nothing is mapped at VA 0x%llx of the paging process",
                   (unsigned long long)notice->GpuVirtualAddressAtOffset);
    }
    if (notice->Flags.IoMmuUnmap && !notice->Flags.Eviction) {
        const struct check_process *process = check_find_process(ledger, notice->hKmdProcessHandle);

        note_unmapped(watch, ledger, notice, allocation);
        CHECK_RULE(check, RULE_NTF_018, process && !process->is_system, object, "hKmdProcessHandle",
                   "is %s; the address is one of the process that owns the mapping",
                   process ? "the paging process" : "no process");
    }
}

static void before_map_mmu(struct check *check, HANDLE handle, uint64_t va, uint64_t first,
                           uint64_t count)
{
    const struct check_allocation *allocation = check_find_allocation(check_ledger(check), handle);

    CHECK_RULE(check, RULE_NTF_012,
               count && va % PAGE_SIZE == 0 &&
                   (!allocation || first + count <= page_count(allocation)),
               allocation ? &allocation->object : NULL, "VirtualAddress",
               "%llu pages from page %llu on, at VA 0x%llx", (unsigned long long)count,
               (unsigned long long)first, (unsigned long long)va);
}

/* NTF-008: values of a fence rise. */
static void before_signal(struct check *check, struct notice_watch *watch,
                          const DXGK_BUILDPAGINGBUFFER_SIGNALMONITOREDFENCE *signal)
{
    unsigned i = 0;

    while (i < watch->fence_count && watch->fences[i].va != signal->MonitoredFenceGpuVa)
        i++;
    if (i == MAX_FENCES)
        return;
    if (i == watch->fence_count) {
        watch->fence_count++;
        watch->fences[i].va = signal->MonitoredFenceGpuVa;
        watch->fences[i].value = 0;
    }
    CHECK_RULE(check, RULE_NTF_008, signal->MonitoredFenceValue > watch->fences[i].value, NULL,
               "MonitoredFenceValue",
               "is {%llu} at VA 0x%llx; it was signalled with {=~more than ~%llu} before",
               (unsigned long long)signal->MonitoredFenceValue,
               (unsigned long long)signal->MonitoredFenceGpuVa,
               (unsigned long long)watch->fences[i].value);
    watch->fences[i].value = signal->MonitoredFenceValue;
    watch->fences[i].operation = check_ledger(check)->operation + 1;
}

/* The 64 bits that the paging process sees at an address; false: nobody can tell. */
static bool read_value(struct check *check, uint64_t va, uint64_t *out_value)
{
    const struct check_config *config = check_configuration(check);
    const struct check_ledger *ledger = check_ledger(check);
    unsigned char bytes[PAGE_SIZE];
    uint64_t page, word;

    if (!config->read_page || !ledger->system_process || va % sizeof *out_value)
        return false;
    word = check_translate(ledger, ledger->system_process, va, &page);
    if (!word || check_word_segment(word) ||
        !config->read_page(config->context, page, bytes,
                           (uint32_t)(va % PAGE_SIZE + sizeof *out_value)))
        return false;
    memcpy(out_value, bytes + va % PAGE_SIZE, sizeof *out_value);
    return true;
}

/*
 * The CPU writes the value of a request for which nothing had to be built, when those before it
 * have written theirs. A packet whose value is there may be reported behind that.
 */
static bool is_told_by_cpu(const struct check_ledger *ledger, uint64_t value)
{
    const struct check_object *object;
    size_t position = 0;

    while ((object = id_map_next(&ledger->objects[CHECK_DEVICE], &position))) {
        if (((const struct check_device *)object)->told_fence == value)
            return true;
    }
    return false;
}

static void check_signalled(struct check *check, struct notice_watch *watch,
                            const struct signalled *fence, const struct check_packet *packet)
{
    uint64_t value;
    bool is_there;

    if (!read_value(check, fence->va, &value))
        return;
    is_there = value == fence->value ||
               (value > fence->value && is_told_by_cpu(check_ledger(check), value));
    if (!is_there) /* the GPU may have been sent elsewhere */
        check_tell_way(check, check_ledger(check)->system_process, fence->va, 0, fence->operation);
    check_blame_operation(check, fence->operation);
    if (CHECK_RULE(
            check, RULE_NTF_007, is_there, NULL, "MonitoredFenceValue",
            "the packet with fence 0x%x has retired; VA 0x%llx holds {%llu} (expected {=%llu})",
            packet->fence, (unsigned long long)fence->va, (unsigned long long)value,
            (unsigned long long)fence->value) &&
        packet->node < CHECK_MAX_NODES) {
        watch->writers |= UINT64_C(1) << packet->node;
        watch->write_event[packet->node] = packet->event;
        watch->is_write_late[packet->node] =
            watch->first_late[packet->node] && packet->number >= watch->first_late[packet->node];
    }
    check_blame_current(check);
}

/*
 * NTF-007: when the operation has retired the value is there, or a later one of the CPU: no later
 * one has been built (the next before_signal() would have said so). And NTF-009: the system is
 * told.
 */
static void check_written(struct check *check, struct notice_watch *watch,
                          const struct check_packet *packet)
{
    uint64_t last = check_packet_last(check_ledger(check), packet);

    for (unsigned i = 0; i < watch->fence_count; i++) {
        if (!watch->fences[i].operation || watch->fences[i].operation > last)
            continue;
        check_signalled(check, watch, &watch->fences[i], packet);
        watch->fences[i].operation = 0;
    }
}

_Static_assert(CHECK_MAX_NODES <= 64, "a bit for each node");

static void check_told_since(struct check *check, const struct notice_watch *watch, unsigned node,
                             uint64_t event)
{
    CHECK_RULE(check, RULE_NTF_009, watch->told_event[node] > event, NULL, "",
               "the GPU has written a fence on node %u, and no "
               "DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED was reported",
               node);
}

/*
 * When the driver leaves the interrupt in which it reported the packet. A write while that was
 * under way raises the next interrupt.
 */
static void check_told(struct check *check, struct notice_watch *watch, bool is_interrupt)
{
    for (uint64_t left = watch->writers; left; left &= left - 1) {
        const unsigned i = ctz_u64(left);

        if (watch->is_write_late[i] && watch->told_event[i] <= watch->write_event[i]) {
            watch->is_write_late[i] = !is_interrupt;
            continue;
        }
        if (is_interrupt && watch->is_dpc_queued)
            watch->owed_event[i] = watch->write_event[i];
        else if (is_interrupt)
            check_told_since(check, watch, i, watch->write_event[i]);
        watch->writers &= ~(UINT64_C(1) << i);
    }
}

/* When the DPC has run that the driver has queued: it may report from there, too. */
static void check_owed(struct check *check, struct notice_watch *watch)
{
    for (unsigned i = 0; i < CHECK_MAX_NODES; i++) {
        if (watch->owed_event[i])
            check_told_since(check, watch, i, watch->owed_event[i]);
        watch->owed_event[i] = 0;
    }
}

/* ---- Where native fences are ----------------------------------------------------------------- */

/* In system memory, or in a segment of memory. */
static bool is_word(const struct check_ledger *ledger, const D3DGPU_PHYSICAL_ADDRESS *address,
                    const void *cpu)
{
    bool is_there = !address->SegmentId || (check_is_memory(ledger, address->SegmentId) &&
                                            is_place_there(ledger, address, 8));

    return is_there && address->SegmentOffset % 8 == 0 && cpu &&
           (uintptr_t)cpu % PAGE_SIZE == address->SegmentOffset % PAGE_SIZE;
}

#define IN_SEGMENT (UINT64_C(1) << 63) /* of an address: not one of system memory */

/* As the GPU tells of what it writes. */
static uint64_t address_of(const struct check_ledger *ledger, const D3DGPU_PHYSICAL_ADDRESS *place)
{
    const struct check_segment *segment = check_find_segment(ledger, place->SegmentId);

    return segment ? IN_SEGMENT | (segment->base + place->SegmentOffset) : place->SegmentOffset;
}

/* NTF-010. The oracle judges whether the places are right and have the values in them. */
static void before_fences(struct check *check,
                          const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    if (!CHECK_RULE(check, RULE_NTF_010, notice->NumFences && notice->FenceResidencyInfo, NULL,
                    "NumFences", "is {%u}: no fence is told of{=~at least 1~}", notice->NumFences))
        return;
    for (UINT i = 0; i < notice->NumFences; i++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &notice->FenceResidencyInfo[i];
        const struct check_ledger *ledger = check_ledger(check);
        bool is_apart = info->CurrentValuePhysicalAddress.SegmentId !=
                            info->MonitoredValuePhysicalAddress.SegmentId ||
                        info->CurrentValuePhysicalAddress.SegmentOffset !=
                            info->MonitoredValuePhysicalAddress.SegmentOffset;
        bool are_words =
            is_word(ledger, &info->CurrentValuePhysicalAddress, info->CurrentValueKernelCpuVa) &&
            is_word(ledger, &info->MonitoredValuePhysicalAddress, info->MonitoredValueKernelCpuVa);

        CHECK_RULE(check, RULE_NTF_010, info->hGlobalNativeFence && is_apart && are_words, NULL,
                   "FenceResidencyInfo",
                   "%u: %s; current value in segment %u at 0x%llx, monitored in segment %u "
                   "at 0x%llx",
                   i,
                   !info->hGlobalNativeFence ? "of no fence"
                   : !is_apart               ? "both values in one place"
                               : "expected multiples of 8 in system memory, and the CPU's "
                                 "addresses of both",
                   info->CurrentValuePhysicalAddress.SegmentId,
                   (unsigned long long)info->CurrentValuePhysicalAddress.SegmentOffset,
                   info->MonitoredValuePhysicalAddress.SegmentId,
                   (unsigned long long)info->MonitoredValuePhysicalAddress.SegmentOffset);
    }
}

static struct home *home_of(struct notice_watch *watch, HANDLE fence)
{
    struct home *unused = NULL;

    for (unsigned i = 0; i < MAX_HOMES; i++) {
        if (watch->homes[i].fence == fence)
            return &watch->homes[i];
        if (!watch->homes[i].fence && !unused)
            unused = &watch->homes[i];
    }
    return unused;
}

static void note_homes(struct check *check, struct notice_watch *watch,
                       const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    for (UINT i = 0; i < notice->NumFences && notice->FenceResidencyInfo; i++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &notice->FenceResidencyInfo[i];
        struct home *home = home_of(watch, info->hGlobalNativeFence);

        if (!home || !info->hGlobalNativeFence)
            continue;
        if (!home->fence)
            home->current = address_of(check_ledger(check), &info->CurrentValuePhysicalAddress);
        home->fence = info->hGlobalNativeFence;
        home->next = address_of(check_ledger(check), &info->CurrentValuePhysicalAddress);
        home->operation = check_ledger(check)->operation + 1;
    }
}

/* The operations up to this one have run. */
static void move_homes(struct notice_watch *watch, uint64_t last)
{
    for (unsigned i = 0; i < MAX_HOMES; i++) {
        struct home *home = &watch->homes[i];

        if (!home->operation || home->operation > last)
            continue;
        home->operation = 0;
        if (home->next == home->current)
            continue;
        home->has_former = true;
        home->former = home->current;
        home->current = home->next;
    }
}

/* For which the driver wrote nothing: it is over when what was built before it is. */
static void note_empty(struct check *check, struct notice_watch *watch,
                       const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->arg.build_paging_buffer;

    if (arg->Operation != DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY || !NT_SUCCESS(call->status) ||
        arg->pDmaBuffer != call->before.build_paging_buffer->pDmaBuffer)
        return;
    for (unsigned i = 0; i < MAX_HOMES; i++) {
        if (watch->homes[i].operation == check_ledger(check)->operation)
            watch->homes[i].operation--;
    }
    move_homes(watch, watch->retired);
}

static const char *memory_of(uint64_t address)
{
    return address & IN_SEGMENT ? "local memory" : "system memory";
}

/* NTF-011: the GPU writes the value of a fence where a fence is, and nowhere else. */
static void check_home(struct check *check, const struct notice_watch *watch, uint64_t address)
{
    const struct home *left = NULL;
    bool is_full = true; /* there may be fences that are not followed */

    for (unsigned i = 0; i < MAX_HOMES; i++) {
        const struct home *home = &watch->homes[i];

        is_full = is_full && home->fence;
        if (home->fence && (home->current == address || home->next == address)) {
            check_looked_at(check, RULE_NTF_011);
            return;
        }
        if (home->has_former && home->former == address)
            left = home;
    }
    CHECK_RULE(
        check, RULE_NTF_011, !left, NULL, "FenceResidencyInfo",
        "the GPU wrote the value of a fence at 0x%llx of %s, which the operation had moved to "
        "0x%llx",
        (unsigned long long)(address & ~IN_SEGMENT), memory_of(address),
        (unsigned long long)(left->current & ~IN_SEGMENT));
    if (!left && !is_full)
        CHECK_RULE(
            check, RULE_NTF_011, false, NULL, "FenceResidencyInfo",
            "the GPU wrote the value of a fence at 0x%llx of %s, where no operation has told "
            "that a fence is",
            (unsigned long long)(address & ~IN_SEGMENT), memory_of(address));
}

/* ---- The content that is announced ----------------------------------------------------------- */

/* The copies that bring it may wait in the queue until long after the call. */
static void watch_content(struct check *check, struct notice_watch *watch,
                          const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice)
{
    const struct check_config *config = check_configuration(check);
    const struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), notice->hAllocation);
    const D3DGPU_PHYSICAL_ADDRESS *place = &notice->PhysicalAddress;
    const struct check_segment *segment = check_find_segment(check_ledger(check), place->SegmentId);

    watch->is_watching = config->watch_place && notice->Resident && allocation && segment &&
                         !segment->flags.Aperture &&
                         is_place_there(check_ledger(check), place, allocation->bytes) &&
                         config->watch_place(config->context, segment->id, segment->base,
                                             place->SegmentOffset, allocation->bytes);
}

static void end_watch(struct check *check, struct notice_watch *watch,
                      const DXGK_BUILDPAGINGBUFFER_NOTIFYRESIDENCY *notice)
{
    const struct check_config *config = check_configuration(check);
    struct check_allocation *allocation =
        check_find_allocation(check_ledger(check), notice->hAllocation);
    uint64_t offset = 0;
    bool is_touched;

    if (!watch->is_watching)
        return;
    watch->is_watching = false;
    is_touched = config->end_watch(config->context, &offset);
    CHECK_RULE(check, RULE_NTF_006, !is_touched, allocation ? &allocation->object : NULL,
               "NotifyResidency.PhysicalAddress",
               "the driver touched byte 0x%llx of segment %u while it was told that the content "
               "comes there (0x%llx on): the copies may still be queued",
               (unsigned long long)offset, notice->PhysicalAddress.SegmentId,
               (unsigned long long)notice->PhysicalAddress.SegmentOffset);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void after_create(struct check *check, const DXGKARG_CREATEALLOCATION *arg)
{
    const struct check_ledger *ledger = check_ledger(check);

    if (!ledger->caps.driver.MemoryManagementCaps.VirtualAddressingSupported)
        return;
    for (UINT i = 0; i < arg->NumAllocations; i++) {
        const DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        const struct check_allocation *allocation =
            check_find_allocation(ledger, info->hAllocation);

        if (info->FlagsWddm2.ExplicitResidencyNotification)
            CHECK_RULE(check, RULE_NTF_002, info->FlagsWddm2.AccessedPhysically,
                       allocation ? &allocation->object : NULL, "pAllocationInfo.FlagsWddm2",
                       "ExplicitResidencyNotification without AccessedPhysically");
    }
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;
    struct notice_watch *watch = state;

    if (call->ddi == MINIPORT_DDI_DpcRoutine)
        watch->is_dpc_queued = false;
    if (call->ddi == MINIPORT_DDI_InterruptRoutine) {
        watch->is_in_interrupt = true;
        memset(watch->first_late, 0, sizeof watch->first_late);
    }
    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer &&
        arg->Operation == DXGK_OPERATION_NOTIFY_RESIDENCY)
        watch_content(check, watch, &arg->NotifyResidency);
    if (call->ddi != MINIPORT_DDI_BuildPagingBuffer || check_ledger(check)->is_operation_open)
        return;
    switch ((unsigned)arg->Operation) {
    case DXGK_OPERATION_NOTIFY_RESIDENCY:
        before_residency(check, &arg->NotifyResidency);
        break;
    case DXGK_OPERATION_NOTIFY_RESIDENCY2:
        before_part(check, &arg->NotifyResidency2);
        break;
    case DXGK_OPERATION_NOTIFY_ALLOC:
        before_alloc(check, state, &arg->NotifyAllocation);
        break;
    case DXGK_OPERATION_MAP_MMU:
        before_map_mmu(check, arg->MmapMmu.hAllocation, arg->MmapMmu.VirtualAddress,
                       arg->MmapMmu.AllocationOffsetInPages, arg->MmapMmu.Adl.PageCount);
        if (!arg->MmapMmu.SegmentId)
            check_address_list(check, &arg->MmapMmu.Adl, "MmapMmu.Adl");
        break;
    case DXGK_OPERATION_UNMAP_MMU:
        before_map_mmu(check, arg->UnmapMmu.hAllocation, arg->UnmapMmu.VirtualAddress,
                       arg->UnmapMmu.AllocationOffset, arg->UnmapMmu.NumberOfPages);
        break;
    case DXGK_OPERATION_SIGNAL_MONITORED_FENCE:
        before_signal(check, state, &arg->SignalMonitoredFence);
        break;
    case DXGK_OPERATION_NOTIFY_FENCE_RESIDENCY:
        before_fences(check, &arg->NotifyFenceResidency);
        note_homes(check, watch, &arg->NotifyFenceResidency);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    struct notice_watch *watch = state;

    check_told(check, watch, call->ddi == MINIPORT_DDI_InterruptRoutine);
    if (call->ddi == MINIPORT_DDI_DpcRoutine && !watch->is_dpc_queued)
        check_owed(check, watch);
    watch->is_in_interrupt &= call->ddi != MINIPORT_DDI_InterruptRoutine;
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_CreateAllocation:
        if (NT_SUCCESS(call->status))
            after_create(check, call->arg.create_allocation);
        break;
    case MINIPORT_DDI_DestroyDevice: /* its fence goes, and another one may get the address */
        for (unsigned i = 0; i < watch->fence_count; i++) {
            if (!watch->fences[i].operation)
                watch->fences[i].value = 0;
        }
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        end_watch(check, watch, &call->before.build_paging_buffer->NotifyResidency);
        note_empty(check, watch, call);
        break;
    case MINIPORT_DDI_ResetFromTimeout:
    case MINIPORT_DDI_SetPowerState:
        watch->fence_count = 0;
        watch->unmapped_count = 0;
        memset(watch->homes, 0, sizeof watch->homes);
        break;
    default:
        break;
    }
}

static void on_callback(struct check *check, void *state, const struct check_callback *callback)
{
    struct notice_watch *watch = state;
    const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data = callback->data;

    watch->is_dpc_queued |= callback->callback == TRACE_CALLBACK_queue_dpc;
    if (callback->callback == TRACE_CALLBACK_notify_interrupt &&
        data->InterruptType == DXGK_INTERRUPT_MONITORED_FENCE_SIGNALED &&
        data->MonitoredFenceSignaled.NodeOrdinal < CHECK_MAX_NODES)
        watch->told_event[data->MonitoredFenceSignaled.NodeOrdinal] = callback->event;
}

static void retired(struct check *check, void *state, const struct check_packet *packet)
{
    struct notice_watch *watch = state;

    if (!packet->is_paging || packet->state != CHECK_COMPLETED || list_is_empty(&packet->built))
        return;
    watch->retired = max_u64(watch->retired, check_packet_last(check_ledger(check), packet));
    move_homes(watch, watch->retired);
    check_written(check, watch, packet);
}

static void on_gpu(struct check *check, void *state, const struct check_gpu_event *event)
{
    struct notice_watch *watch = state;

    if (event->kind == CHECK_GPU_VALUE)
        check_home(check, watch, event->address | (event->is_system ? 0 : IN_SEGMENT));
    if (event->kind == CHECK_GPU_FAULT || event->kind == CHECK_GPU_DONE)
        check_access(check, state, event);
    if (event->kind == CHECK_GPU_DONE && event->packet && watch->is_in_interrupt &&
        event->node < CHECK_MAX_NODES && !watch->first_late[event->node])
        watch->first_late[event->node] = event->packet->number;
}

const struct check_watcher check_notice_watcher = {
    .name = "notices",
    .state_bytes = sizeof(struct notice_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_DpcRoutine, MINIPORT_DDI_InterruptRoutine,
                                MINIPORT_DDI_BuildPagingBuffer),
    .after = after,
    .callback = on_callback,
    .retired = retired,
    .gpu = on_gpu,
};
