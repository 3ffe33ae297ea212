/*
 * Watcher: what a driver says of allocations when it creates them, how they are opened and closed,
 * and what becomes of them until they are destroyed (ALLOC).
 *
 * SynchronousPaging and what belongs to lists of packets is judged here too, since it follows from
 * the flags of one allocation.
 */
#include "check/check_watch.h"

#include "base/bits.h"
#include "base/hash.h"
#include "miniport/operation.h"

#define MAX_OPENED 16
#define PAGE       4096u
#define LARGE_PAGE 65536u
#define ALL_BITS   32u

struct allocation_watch {
    uint64_t private_hash[MAX_OPENED]; /* of the private data of an open, before it went down */
};

/* ---- Creation -------------------------------------------------------------------------------- */

/* The first segment of the set for which `is` is true; 0: none. */
static unsigned find_in_set(struct check *check, uint32_t set,
                            bool (*is)(const struct check_segment *segment))
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned id = 1; id <= ledger->segment_count && id <= ALL_BITS; id++) {
        if ((set >> (id - 1) & 1) && is(check_find_segment(ledger, id)))
            return id;
    }
    return 0;
}

static bool has_large_pages(const struct check_segment *segment)
{
    return segment->flags.Use64KBPages;
}

static const char *field_of(struct check *check, unsigned index, const char *member)
{
    return check_field(check, "pAllocationInfo[%u].%s", index, member);
}

static void check_answer(struct check *check, const DXGK_ALLOCATIONINFO *info, unsigned index,
                         const struct check_object *object)
{
    bool is_doubled = object && object->is_doubled;
    bool has_alignment = !info->Alignment || is_power_of_two(info->Alignment);

    CHECK_RULE(check, RULE_ALLOC_001, info->hAllocation && !is_doubled && info->Size, object,
               field_of(check, index, !info->hAllocation || is_doubled ? "hAllocation" : "Size"),
               !info->hAllocation ? "is {NULL}: size %llu, alignment 0x%x{=~a handle~}"
               : is_doubled ? "is the handle of another live allocation: size %llu, alignment 0x%x"
                            : "is {0} (%llu), alignment 0x%x{=~at least 1~}",
               (unsigned long long)info->Size, info->Alignment);
    CHECK_ADVICE(check, RULE_ALLOC_001, check_configuration(check)->profile.wants_power_of_two,
                 has_alignment, object, field_of(check, index, "Alignment"),
                 "is {0x%x}, no power of two: the page does not ask for one; by the other reading "
                 "nothing else is an alignment, and here it counts as the next power of two",
                 info->Alignment);
    CHECK_RULE(check, RULE_ALLOC_008, info->AllocationPriority != 0, object,
               field_of(check, index, "AllocationPriority"),
               "is {0} (D3DDDI_ALLOCATIONPRIORITY_NORMAL is 0x%x){=~not 0~}",
               D3DDDI_ALLOCATIONPRIORITY_NORMAL);
    CHECK_RULE(check, RULE_ALLOC_004,
               !info->PitchAlignedSize || info->PitchAlignedSize >= info->Size, object,
               field_of(check, index, "PitchAlignedSize"),
               "is {%llu} bytes, less than the Size of {=~at least ~%llu~, or 0~}",
               (unsigned long long)info->PitchAlignedSize, (unsigned long long)info->Size);
}

static void check_sets(struct check *check, const DXGK_ALLOCATIONINFO *info, unsigned index,
                       const struct check_object *object)
{
    const struct check_ledger *ledger = check_ledger(check);
    bool is_new = check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0);
    uint32_t all = (uint32_t)((UINT64_C(1) << ledger->segment_count) - 1);
    uint32_t set = info->SupportedWriteSegmentSet | (is_new ? 0 : info->SupportedReadSegmentSet);
    const unsigned preferred[5] = {
        info->PreferredSegment.SegmentId0, info->PreferredSegment.SegmentId1,
        info->PreferredSegment.SegmentId2, info->PreferredSegment.SegmentId3,
        info->PreferredSegment.SegmentId4};
    unsigned large = find_in_set(check, set, has_large_pages);
    unsigned in_memory;
    bool is_subset = true;

    if (!ledger->segment_count)
        return;
    for (unsigned i = 0; i < ARRAY_COUNT(preferred); i++)
        is_subset &= !preferred[i] || (set >> (preferred[i] - 1) & 1);
    CHECK_RULE(check, RULE_ALLOC_005, is_subset && !(set & ~all), object,
               field_of(check, index, is_subset ? "SupportedWriteSegmentSet" : "PreferredSegment"),
               "prefers segments %u, %u, %u, %u, %u of the supported 0x%x; the adapter has 0x%x",
               preferred[0], preferred[1], preferred[2], preferred[3], preferred[4], set, all);
    if (is_new && large)
        CHECK_RULE(check, RULE_ALLOC_003, info->Alignment % LARGE_PAGE == 0 && info->Alignment,
                   object, field_of(check, index, "Alignment"),
                   "is {0x%x}; segment %u of the supported 0x%x has 64 KiB pages{=~a multiple of "
                   "0x10000~}",
                   info->Alignment, large, set);
    in_memory = is_new ? 0 : find_in_set(check, info->EvictionSegmentSet, check_is_memory_segment);
    if (!is_new)
        CHECK_RULE(check, RULE_ALLOC_007, !in_memory, object,
                   field_of(check, index, "EvictionSegmentSet"),
                   "is {0x%x}; segment %u is no aperture{=~apertures only~}",
                   info->EvictionSegmentSet, in_memory);
}

/* Only where the client says what memory it hands over. */
static void check_existing(struct check *check, const DXGK_ALLOCATIONINFO *info, unsigned index,
                           const struct check_object *object)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_client_memory *memory = &ledger->next_memory;
    const bool is_kernels = info->Flags.ExistingKernelSysMem;

    if (!ledger->has_client || (!info->Flags.ExistingSysMem && !is_kernels))
        return;
    CHECK_RULE(check, RULE_ALLOC_023, memory->pages && memory->is_kernels == is_kernels, object,
               field_of(check, index, "Flags"), "0x%x: %s, and the client has handed over %s",
               info->Flags.Value, is_kernels ? "ExistingKernelSysMem" : "ExistingSysMem",
               !memory->pages       ? "no memory"
               : memory->is_kernels ? "memory of the kernel"
                                    : "memory of its own");
    if (memory->pages)
        CHECK_RULE(
            check, RULE_ALLOC_023, info->Size <= memory->page_count * PAGE, object,
            field_of(check, index, "Size"),
            "is {0x%llx}; the memory that the client has handed over has {=~at most ~0x%llx} bytes",
            (unsigned long long)info->Size, (unsigned long long)memory->page_count * PAGE);
}

static void check_flags(struct check *check, const DXGK_ALLOCATIONINFO *info, unsigned index,
                        const struct check_object *object)
{
    const struct check_ledger *ledger = check_ledger(check);
    /* The bits that are looked at are in the same places in both shapes, but UseAlternateVA's. */
    const DXGK_ALLOCATIONINFOFLAGS *flags = &info->Flags;
    bool is_new = check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0);
    bool has_history = check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM1_3) &&
                       flags->HistoryBuffer;
    unsigned kinds = flags->Protected + flags->PermanentSysMem + flags->ExistingSysMem +
                     flags->ExistingKernelSysMem;
    bool needs_cpu = flags->PermanentSysMem || flags->Cached || has_history;
    bool is_primary = ledger->is_next_primary;
    CHECK_RULE(check, RULE_ALLOC_009,
               (!needs_cpu || flags->CpuVisible) && (!is_primary || (!flags->Cached && !kinds)),
               object, field_of(check, index, "Flags"), "0x%x: %s", flags->Value,
               needs_cpu && !flags->CpuVisible
                   ? "Cached, PermanentSysMem and HistoryBuffer need CpuVisible"
                   : "a primary cannot be Cached, PermanentSysMem, Protected or over existing "
                     "system memory");
    CHECK_RULE(check, RULE_ALLOC_010, kinds <= 1, object, field_of(check, index, "Flags"),
               "{0x%x} has %u of Protected, PermanentSysMem, ExistingSysMem and "
               "ExistingKernelSysMem (expected {=at most 1})",
               flags->Value, kinds);
    if (!is_new && ledger->has_client)
        CHECK_RULE(check, RULE_ALLOC_011, !flags->UseAlternateVA || is_primary, object,
                   field_of(check, index, "Flags"),
                   "{0x%x}: UseAlternateVA, but it is not the primary", flags->Value);
    if (kinds <= 1)
        check_existing(check, info, index, object);
    /* Nothing of this system tells a driver that the feature is enabled. */
    if (check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM3_1))
        CHECK_RULE(check, RULE_ALLOC_021, !info->Flags2.ShareBackingStoreWithKmd, object,
                   field_of(check, index, "Flags2"),
                   "{0x%x}: ShareBackingStoreWithKmd, but the feature is not enabled",
                   info->Flags2.Value);
}

static void after_create(struct check *check, const struct check_call *call)
{
    const DXGKARG_CREATEALLOCATION *arg = call->arg.create_allocation;

    if (!NT_SUCCESS(call->status))
        return;
    for (unsigned i = 0; i < arg->NumAllocations; i++) {
        const DXGK_ALLOCATIONINFO *info = &arg->pAllocationInfo[i];
        const struct check_object *object =
            check_find(check_ledger(check), CHECK_ALLOCATION, info->hAllocation);

        check_answer(check, info, i, object);
        check_sets(check, info, i, object);
        check_flags(check, info, i, object);
    }
}

/* ---- Opening and closing --------------------------------------------------------------------- */

static uint64_t hash_private(const DXGK_OPENALLOCATIONINFO *info)
{
    struct hash hash;

    hash_init(&hash, 0);
    if (info->pPrivateDriverData)
        hash_update(&hash, info->pPrivateDriverData, info->PrivateDriverDataSize);
    return hash_final(&hash);
}

static void before_open(struct allocation_watch *watch, const DXGKARG_OPENALLOCATION *arg)
{
    for (unsigned i = 0; i < arg->NumAllocations && i < MAX_OPENED; i++)
        watch->private_hash[i] = hash_private(&arg->pOpenAllocation[i]);
}

static void after_open(struct check *check, const struct allocation_watch *watch,
                       const DXGKARG_OPENALLOCATION *arg)
{
    for (unsigned i = 0; i < arg->NumAllocations && i < MAX_OPENED; i++) {
        const DXGK_OPENALLOCATIONINFO *info = &arg->pOpenAllocation[i];

        if (arg->Flags.Create)
            continue;
        CHECK_RULE(check, RULE_ALLOC_019, hash_private(info) == watch->private_hash[i], NULL,
                   "pOpenAllocation.pPrivateDriverData",
                   "the %u bytes were changed; Flags.Create is not set",
                   info->PrivateDriverDataSize);
    }
}

static void before_close(struct check *check, const DXGKARG_CLOSEALLOCATION *arg)
{
    for (unsigned i = 0; i < arg->NumAllocations; i++) {
        bool is_known =
            check_find(check_ledger(check), CHECK_OPEN_ALLOCATION, arg->pOpenHandleList[i]) != NULL;

        CHECK_RULE(check, RULE_ALLOC_018, is_known, NULL, "pOpenHandleList",
                   "entry %u, %p, is no handle that OpenAllocation gave", i,
                   arg->pOpenHandleList[i]);
    }
}

static void before_destroy_device(struct check *check, HANDLE handle)
{
    const struct check_device *device = check_find_device(check_ledger(check), handle);

    if (device)
        CHECK_RULE(check, RULE_ALLOC_018, !device->open_count, &device->object, "",
                   "the device goes with %u allocations open", device->open_count);
}

/* ---- The end --------------------------------------------------------------------------------- */

static bool is_destroyed(struct check *check, const void *handle)
{
    const struct check_ledger *ledger = check_ledger(check);

    return handle && !check_find_allocation(ledger, handle) &&
           id_map_find(&ledger->graves, (uint64_t)(uintptr_t)handle);
}

static void before_destroy(struct check *check, const DXGKARG_DESTROYALLOCATION *arg)
{
    const struct check_ledger *ledger = check_ledger(check);

    for (unsigned i = 0; i < arg->NumAllocations && !ledger->is_gone; i++) {
        const struct check_allocation *allocation =
            check_find_allocation(ledger, arg->pAllocationList[i]);
        const struct check_packet *user;

        if (!CHECK_RULE(check, RULE_ALLOC_020, allocation != NULL, NULL, "pAllocationList",
                        "entry %u, %p, is no live allocation", i, arg->pAllocationList[i]))
            continue;
        CHECK_RULE(check, RULE_ALLOC_018, !allocation->open_count, &allocation->object,
                   "pAllocationList", "it is destroyed while %u devices have it open",
                   allocation->open_count);
        /* An allocation that kept its place is DISC-001's. */
        CHECK_RULE(check, RULE_ALLOC_020, !allocation->pending, &allocation->object,
                   "pAllocationList",
                   "it is destroyed with %u paging operations that have not finished",
                   allocation->pending);
        user = check_find_user(ledger, allocation);
        CHECK_RULE(check, RULE_RES_012, !user, &allocation->object, "pAllocationList",
                   "it is destroyed while the packet with fence 0x%x on node %u, which may use "
                   "it, has not finished",
                   user->fence, user->node);
    }
}

/* The driver's half of an allocation must not lean on the device that made it. */
static void after_destroy(struct check *check, const struct check_call *call)
{
    const DXGKARG_DESTROYALLOCATION *arg = call->arg.destroy_allocation;

    for (unsigned i = 0; i < arg->NumAllocations; i++) {
        const struct check_allocation *allocation =
            check_find_allocation(check_ledger(check), arg->pAllocationList[i]);

        if (!allocation || !allocation->was_made_by_device || allocation->creator)
            continue;
        CHECK_RULE(check, RULE_ALLOC_017, NT_SUCCESS(call->status), &allocation->object, "status",
                   "{0x%08x}, once the device that made it has closed it: the handle belongs to "
                   "the adapter{=~a success status~}",
                   (unsigned)call->status);
    }
}

/* ---- Operations ------------------------------------------------------------------------------ */

/* Whole pages, no fewer than it has and no more than 64 KiB pages would make of it (FILL-006). */
static void check_footprint(struct check *check, const struct check_allocation *allocation,
                            unsigned segment, uint64_t size)
{
    uint64_t most = check_bytes_in(check_ledger(check), allocation, segment);

    if (size % PAGE)
        return;
    CHECK_RULE(check, RULE_ALLOC_002,
               size >= align_up(allocation->bytes, PAGE) && size <= align_up(most, LARGE_PAGE),
               &allocation->object, "",
               "0x%llx bytes are filled of an allocation of 0x%llx (expected its size in whole "
               "pages)",
               (unsigned long long)size, (unsigned long long)allocation->bytes);
}

/* In memory: one piece. In system memory: shown by the aperture. */
static void check_entries(struct check *check, const struct check_allocation *allocation,
                          const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update)
{
    const DXGK_PTE *entries =
        update->pPageTableEntries ? update->pPageTableEntries : update->pPageTableEntries64KB;
    const struct check_segment *segment =
        check_find_segment(check_ledger(check), (unsigned)entries[0].Segment);
    uint64_t step =
        update->pPageTableEntries && !update->Flags.Use64KBPages ? 1 : LARGE_PAGE / PAGE;
    unsigned count = update->Flags.Repeat        ? 1
                     : update->pPageTableEntries ? (unsigned)miniport_update_mapped(update)
                                                 : update->NumPageTableEntries;
    unsigned i;

    if (!allocation->info.FlagsWddm2.AccessedPhysically)
        return;
    if (!check_is_memory_segment(segment)) {
        CHECK_RULE(check, RULE_ALLOC_016, allocation->slot_count != 0, &allocation->object,
                   "UpdatePageTable",
                   "it is accessed physically, and its %u pages from 0x%llx on are in system "
                   "memory, mapped in no aperture",
                   count, (unsigned long long)update->AllocationOffsetInBytes);
        return;
    }
    for (i = 1; i < count && entries[i].PageAddress == entries[0].PageAddress + i * step;)
        i++;
    CHECK_RULE(check, RULE_ALLOC_016, i >= count, &allocation->object, "UpdatePageTable",
               "it is accessed physically, but entry %u shows page 0x%llx, behind page 0x%llx", i,
               (unsigned long long)entries[i].PageAddress,
               (unsigned long long)entries[i - 1].PageAddress);
}

/* Page `page` of an allocation over existing memory is said to be this system page. */
static void check_memory_page(struct check *check, const struct check_allocation *allocation,
                              const char *field, uint64_t page, uint64_t found)
{
    const struct check_client_memory *memory = &allocation->memory;

    CHECK_RULE(check, RULE_ALLOC_024, page < memory->page_count && memory->pages[page] == found,
               &allocation->object, field,
               "page %llu is system page {0x%llx}; that of the memory that the client has handed "
               "over is {=0x%llx}",
               (unsigned long long)page, (unsigned long long)found,
               (unsigned long long)(page < memory->page_count ? memory->pages[page] : 0));
}

/* The first and the last of the pages from page on, which stand at a place of the list. */
static void check_memory_list(struct check *check, const struct check_allocation *allocation,
                              const char *field, const MDL *list, uint64_t at, uint64_t page,
                              uint64_t count)
{
    const uint64_t *numbers = (const uint64_t *)(list + 1) + at;

    if (!list || !count)
        return;
    check_memory_page(check, allocation, field, page, numbers[0]);
    check_memory_page(check, allocation, field, page + count - 1, numbers[count - 1]);
}

/* What the driver is told of system memory; behind an IOMMU pages have other names. */
static void check_memory(struct check *check, const struct check_allocation *allocation,
                         const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update = &arg->UpdatePageTable;

    if (!allocation->memory.pages || check_configuration(check)->remaps_dma)
        return;
    if (arg->Operation == DXGK_OPERATION_TRANSFER) {
        const bool is_in = !arg->Transfer.Source.SegmentId;

        if (arg->Transfer.Source.SegmentId && arg->Transfer.Destination.SegmentId)
            return;
        check_memory_list(check, allocation,
                          is_in ? "Transfer.Source.pMdl" : "Transfer.Destination.pMdl",
                          is_in ? arg->Transfer.Source.pMdl : arg->Transfer.Destination.pMdl,
                          arg->Transfer.MdlOffset, arg->Transfer.TransferOffset / PAGE,
                          (arg->Transfer.TransferSize + PAGE - 1) / PAGE);
    } else if (arg->Operation == DXGK_OPERATION_MAP_APERTURE_SEGMENT) {
        /* Parts of a mapping follow each other in the list, which is whole. */
        check_memory_list(check, allocation, "MapApertureSegment.pMdl",
                          arg->MapApertureSegment.pMdl, arg->MapApertureSegment.MdlOffset,
                          arg->MapApertureSegment.MdlOffset, arg->MapApertureSegment.NumberOfPages);
    } else if (arg->Operation == DXGK_OPERATION_UPDATE_PAGE_TABLE && update->PageTableLevel == 0 &&
               update->pPageTableEntries && !update->Flags.Repeat && update->NumPageTableEntries &&
               update->pPageTableEntries[0].Valid && !update->pPageTableEntries[0].Segment) {
        check_memory_page(check, allocation, "UpdatePageTable.pPageTableEntries",
                          update->AllocationOffsetInBytes / PAGE,
                          update->pPageTableEntries[0].PageAddress);
    }
}

/* The segment is one that the driver allowed. */
static void check_segment_of(struct check *check, const struct check_allocation *allocation,
                             unsigned id)
{
    uint32_t set = allocation->info.SupportedWriteSegmentSet;

    if (!id || !check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0))
        return;
    CHECK_RULE(check, RULE_ALLOC_006, set >> (id - 1) & 1, &allocation->object, "",
               "it comes to segment %u; SupportedWriteSegmentSet is 0x%x", id, set);
}

static void check_transfer(struct check *check, const struct check_allocation *allocation,
                           const DXGKARG_BUILDPAGINGBUFFER *arg, enum check_effect effect)
{
    const struct check_ledger *ledger = check_ledger(check);
    /* Content in its own order in system memory is no copy that the CPU can read. */
    bool is_for_cpu =
        (arg->Operation == DXGK_OPERATION_TRANSFER && arg->Transfer.Flags.Unswizzle) ||
        (arg->Operation == DXGK_OPERATION_SPECIAL_LOCK_TRANSFER &&
         arg->SpecialLockTransfer.Flags.Unswizzle);
    bool is_new = check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0);
    /*
     * Behind a reset it is told of each allocation that it has left memory; nothing moves
     * (XFER-016).
     */
    bool is_empty = arg->Operation == DXGK_OPERATION_TRANSFER && !arg->Transfer.TransferSize;

    if (effect == CHECK_EFFECT_OUT && !is_new && !is_for_cpu && !is_empty &&
        allocation->info.Flags.PermanentSysMem)
        CHECK_RULE(check, RULE_ALLOC_012, allocation->is_written, &allocation->object, "",
                   "PermanentSysMem, and nothing wrote to it since it came in: expected "
                   "DISCARD_CONTENT");
    if ((allocation->info.Flags.Overlay || allocation->info.Flags.Capture) &&
        (effect == CHECK_EFFECT_OUT || effect == CHECK_EFFECT_MOVE ||
         effect == CHECK_EFFECT_DISCARD)) {
        /* Lost in a reset: nothing leaves, and it is said so (XFER-016). */
        bool is_lost = arg->Operation == DXGK_OPERATION_TRANSFER && arg->Transfer.TransferSize == 0;
        bool may_leave = ledger->is_asleep || allocation->is_dying || ledger->is_gone || is_lost;

        CHECK_RULE(check, RULE_ALLOC_014, !ledger->has_client || may_leave, &allocation->object, "",
                   "it is pinned (Overlay or Capture), and neither destroyed nor put to sleep");
    }
}

static void before_build(struct check *check, const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    void *handle = miniport_operation_allocation(arg);
    const struct check_allocation *allocation = check_find_allocation(ledger, handle);
    uint64_t address, size;
    unsigned segment;
    enum check_effect effect;

    if (!handle)
        return;
    CHECK_RULE(
        check, RULE_ALLOC_020, !is_destroyed(check, handle), NULL, "hAllocation",
        "%p was destroyed: it was allocation a%llu", handle,
        (unsigned long long)(uintptr_t)id_map_find(&ledger->graves, (uint64_t)(uintptr_t)handle));
    if (!allocation || ledger->is_operation_open) /* a part of one that was looked at */
        return;
    effect = check_paging_effect(ledger, arg, &segment, &address, &size);
    check_transfer(check, allocation, arg, effect);
    check_memory(check, allocation, arg);
    switch (arg->Operation) {
    case DXGK_OPERATION_FILL:
        check_footprint(check, allocation, segment, arg->Fill.FillSize);
        break;
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT:
    case DXGK_OPERATION_MAP_APERTURE_SEGMENT2:
        check_segment_of(check, allocation, segment);
        break;
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        if (effect != CHECK_EFFECT_VALID)
            break;
        check_entries(check, allocation, &arg->UpdatePageTable);
        segment = (unsigned)(arg->UpdatePageTable.pPageTableEntries
                                 ? arg->UpdatePageTable.pPageTableEntries[0].Segment
                                 : arg->UpdatePageTable.pPageTableEntries64KB[0].Segment);
        if (check_is_memory(ledger, segment))
            check_segment_of(check, allocation, segment);
        break;
    default:
        break;
    }
}

/* ---- Synchronous paging ---------------------------------------------------------------------- */

static const struct check_allocation *synchronous_in(struct check *check,
                                                     const struct check_packet *packet)
{
    const struct check_built *piece;

    list_for_each (piece, &packet->built, struct check_built, link) {
        const struct check_allocation *allocation =
            check_built_allocation(check_ledger(check), piece);

        if (allocation && piece->bytes && allocation->info.Flags.SynchronousPaging)
            return allocation;
    }
    return NULL;
}

static void before_submit(struct check *check, const struct check_packet *packet)
{
    const struct check_packet *other;
    const struct check_allocation *allocation =
        packet->is_paging ? synchronous_in(check, packet) : NULL;

    if (check_is_version(check_ledger(check), DXGKDDI_INTERFACE_VERSION_WDDM2_0) ||
        (packet->is_paging && !allocation))
        return;
    list_for_each (other, &check_ledger(check)->packets, struct check_packet, link) {
        if (other == packet || other->is_paging == packet->is_paging ||
            other->state != CHECK_SUBMITTED)
            continue;
        if (!packet->is_paging)
            allocation = synchronous_in(check, other);
        if (!allocation)
            continue;
        CHECK_RULE(check, RULE_ALLOC_015, false, &allocation->object, "SubmissionFenceId",
                   "0x%x is submitted while the %s packet with fence 0x%x on node %u has not "
                   "finished: SynchronousPaging",
                   packet->fence, other->is_paging ? "paging" : "render", other->fence,
                   other->node);
        return;
    }
    if (allocation)
        check_looked_at(check, RULE_ALLOC_015);
}

/* ---- All ------------------------------------------------------------------------------------- */

static void before(struct check *check, void *state, const struct check_call *call)
{
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_OpenAllocation:
        before_open(state, call->arg.open_allocation);
        break;
    case MINIPORT_DDI_CloseAllocation:
        before_close(check, call->arg.close_allocation);
        break;
    case MINIPORT_DDI_DestroyAllocation:
        before_destroy(check, call->arg.destroy_allocation);
        break;
    case MINIPORT_DDI_DestroyDevice:
        before_destroy_device(check, call->object);
        break;
    case MINIPORT_DDI_BuildPagingBuffer:
        before_build(check, call->arg.build_paging_buffer);
        break;
    case MINIPORT_DDI_SubmitCommand:
        if (call->packet)
            before_submit(check, call->packet);
        break;
    default:
        break;
    }
}

static void after(struct check *check, void *state, const struct check_call *call)
{
    switch ((unsigned)call->ddi) {
    case MINIPORT_DDI_CreateAllocation:
        after_create(check, call);
        break;
    case MINIPORT_DDI_OpenAllocation:
        if (NT_SUCCESS(call->status))
            after_open(check, state, call->arg.open_allocation);
        break;
    case MINIPORT_DDI_DestroyAllocation:
        after_destroy(check, call);
        break;
    default:
        break;
    }
}

const struct check_watcher check_allocation_watcher = {
    .name = "allocation",
    .state_bytes = sizeof(struct allocation_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_OpenAllocation, MINIPORT_DDI_CloseAllocation,
                                MINIPORT_DDI_DestroyAllocation, MINIPORT_DDI_DestroyDevice,
                                MINIPORT_DDI_BuildPagingBuffer, MINIPORT_DDI_SubmitCommand),
    .after = after,
    .after_calls = CHECK_CALLS(MINIPORT_DDI_CreateAllocation, MINIPORT_DDI_OpenAllocation,
                               MINIPORT_DDI_DestroyAllocation),
};
