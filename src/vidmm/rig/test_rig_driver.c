#include "vidmm/rig/test_rig_driver.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_fake_caps.h"
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/rig/test_rig_views.h"

#include "base/bits.h"
#include "base/list.h"

/* ---- Caps ------------------------------------------------------------------------------------ */

ULONG rig_version(struct miniport *self)
{
    return rig_of(self)->config.is_virtual ? DXGKDDI_INTERFACE_VERSION_WDDM2_6
                                           : DXGKDDI_INTERFACE_VERSION_WDDM1_3;
}

bool rig_has(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_GetRootPageTableSize ||
           rig_of(self)->config.tables == RIG_TABLES_GROWING;
}

NTSTATUS rig_collect(struct miniport *self, HANDLE object, const DXGKARG_COLLECTDBGINFO *args)
{
    return STATUS_UNSUCCESSFUL; /* it has nothing to tell */
}

NTSTATUS rig_collect2(struct miniport *self, HANDLE object, DXGKARG_COLLECTDBGINFO2 *args)
{
    return STATUS_UNSUCCESSFUL;
}

static uint64_t rig_segment_bytes(const struct rig *rig, unsigned id)
{
    return PAGE_BYTES *
           (rig_is_aperture(rig, id) ? rig->config.aperture_pages : rig->segment_pages[id - 1]);
}

static void rig_fill_segment4(const struct rig *rig, unsigned id, DXGK_SEGMENTDESCRIPTOR4 *segment)
{
    segment->BaseAddress.QuadPart = (LONGLONG)rig_segment_base(id);
    segment->Size = segment->CommitLimit = rig_segment_bytes(rig, id);
    segment->NumInvalidMemoryRanges = rig->config.dead_pages[id - 1] != 0;
    segment->Flags.PitchAlignment = rig->config.has_pitch[id - 1];
    segment->Flags.Use64KBPages = rig->config.has_64kb_pages[id - 1];
    if (id == 1 && rig->config.kept_pages) {
        segment->Flags.PreservedDuringStandby = 1;
        segment->Flags.PartiallyPreservedDuringHibernate = 1;
        segment->SystemMemoryEndAddress = PAGE_BYTES_OF(rig->config.kept_pages) - 1;
    }
    if (rig_is_aperture(rig, id)) {
        segment->Flags.Aperture = 1;
        if (rig->config.aperture_limit_pages)
            segment->CommitLimit = PAGE_BYTES_OF(rig->config.aperture_limit_pages);
        segment->Flags.CacheCoherent = rig->config.is_coherent;
    } else if (id == 1 && rig->config.host_slots) {
        segment->Flags.SupportsCpuHostAperture = 1;
        segment->CpuHostAperture.PhysicalAddress = rig_host_window();
        segment->CpuHostAperture.SizeInPages = (UINT32)rig->config.host_slots;
    } else if (!rig->config.hides_segment[id - 1]) {
        segment->Flags.CpuVisible = 1;
        segment->CpuTranslatedAddress.QuadPart = (LONGLONG)rig_segment_window(id);
    }
}

NTSTATUS rig_query(struct miniport *self, HANDLE object, const DXGKARG_QUERYADAPTERINFO *query)
{
    struct rig *rig = rig_of(self);
    const struct rig_config *config = &rig->config;

    EXPECT(!object);
    switch (query->Type) {
    case DXGKQAITYPE_DRIVERCAPS: {
        DXGK_DRIVERCAPS caps = {0};

        caps.HighestAcceptableAddress.QuadPart = INT64_MAX;
        caps.ApertureSegmentCommitLimit = PAGE_BYTES_OF(config->all_apertures_limit_pages);
        caps.SchedulingCaps.MultiEngineAware = 1;
        caps.GpuEngineTopology.NbAsymetricProcessingNodes = 2;
        caps.MemoryManagementCaps.PagingNode = 1;
        caps.NumberOfSwizzlingRanges = config->swizzling_ranges;
        caps.MemoryManagementCaps.VirtualAddressingSupported = config->is_virtual;
        caps.MemoryManagementCaps.GpuMmuSupported = config->is_virtual && !config->is_iommu;
        caps.MemoryManagementCaps.IoMmuSupported = config->is_iommu;
        memcpy(query->pOutputData, &caps, query->OutputDataSize);
        break;
    }
    case DXGKQAITYPE_PHYSICALADAPTERCAPS: {
        DXGK_PHYSICALADAPTERCAPS caps = {0};

        caps.NumExecutionNodes = 2;
        caps.PagingNodeIndex = 1;
        memcpy(query->pOutputData, &caps, query->OutputDataSize);
        break;
    }
    case DXGKQAITYPE_GPUMMUCAPS: {
        DXGK_GPUMMUCAPS *caps = query->pOutputData;

        caps->PageTableUpdateMode = config->mode;
        caps->VirtualAddressBitCount = RIG_VA_BITS;
        caps->PageTableLevelCount = rig_level_count(rig);
        caps->DualPteSupported = config->tables == RIG_TABLES_DUAL;
        if (config->tables >= RIG_TABLES_ONE_LEAF)
            caps->LeafPageTableSizeFor64KPagesInBytes = PAGE_BYTES;
        caps->ReadOnlyMemorySupported = config->has_protections;
        caps->NoExecuteMemorySupported = config->has_protections;
        caps->CacheCoherentMemorySupported = config->has_protections;
        caps->InvalidTlbEntriesNotCached = !config->caches_invalid;
        caps->ExplicitPageTableInvalidation = config->invalidates_tables;
        caps->PageTableUpdateRequireAddressSpaceIdle = config->updates_when_idle;
        break;
    }
    case DXGKQAITYPE_PAGETABLELEVELDESC: {
        unsigned level = ((const DXGK_QUERYPAGETABLELEVELDESCIN *)query->pInputData)->LevelIndex;
        DXGK_PAGE_TABLE_LEVEL_DESC *desc = query->pOutputData;

        bool grows = level && config->tables == RIG_TABLES_GROWING;

        desc->PageTableIndexBitCount = grows ? 0 : rig_index_bits(rig, level);
        desc->PageTableSegmentId = desc->PagingProcessPageTableSegmentId =
            config->keeps_tables_in_system || /* no directory is in local memory there: PT-022 */
                    (config->mode == DXGK_PAGETABLEUPDATE_CPU_VIRTUAL && level)
                ? 0
                : 1;
        desc->PageTableSizeInBytes = grows ? 0 : PAGE_BYTES;
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT3: {
        DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        out->NbSegment = rig->segment_count;
        if (!out->pSegmentDescriptor)
            break;
        out->PagingBufferSegmentId = config->pages_through_aperture ? rig->segment_count : 0;
        out->PagingBufferSize = 4096;
        out->PagingBufferPrivateDataSize = config->private_bytes;
        for (unsigned i = 0; i < rig->segment_count; i++) {
            DXGK_SEGMENTDESCRIPTOR4 segment = {0};

            rig_fill_segment4(rig, i + 1, &segment);
            out->pSegmentDescriptor[i] = (DXGK_SEGMENTDESCRIPTOR3){
                .Flags = segment.Flags,
                .BaseAddress = segment.BaseAddress,
                .CpuTranslatedAddress = segment.CpuTranslatedAddress,
                .Size = segment.Size,
                .CommitLimit = segment.CommitLimit,
                .SystemMemoryEndAddress = segment.SystemMemoryEndAddress,
            };
        }
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT4: {
        DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;
        bool is_first = !out->NbSegment;

        out->NbSegment = rig->segment_count;
        if (is_first)
            break;
        out->PagingBufferSize = 4096;
        out->PagingBufferPrivateDataSize = config->private_bytes;
        for (unsigned i = 0; i < rig->segment_count; i++) {
            DXGK_SEGMENTDESCRIPTOR4 segment = {0};

            rig_fill_segment4(rig, i + 1, &segment);
            memcpy(out->pSegmentDescriptor + i * out->SegmentDescriptorStride, &segment,
                   sizeof segment);
        }
        break;
    }
    case DXGKQAITYPE_SEGMENTMEMORYSTATE: {
        const DXGK_QUERYSEGMENTMEMORYSTATE *state = query->pOutputData;

        EXPECT(state->NumInvalidMemoryRanges == 1);
        state->pMemoryRanges[0] = (DXGK_MEMORYRANGE){
            .SizeInBytes = PAGE_BYTES_OF(config->dead_pages[state->DriverSegmentId - 1])};
        break;
    }
    default:
        return STATUS_NOT_SUPPORTED;
    }
    return STATUS_SUCCESS;
}

/* ---- Objects --------------------------------------------------------------------------------- */

/* The handle of a process or device is a block of its own, so that a use after the end is seen. */
static NTSTATUS rig_create_handle(struct rig *rig, uint64_t *live, HANDLE *out)
{
    if (!NT_SUCCESS(rig->fails_at_create))
        return rig->fails_at_create;
    *out = calloc(1, sizeof(struct rig_process) + sizeof(HANDLE));
    EXPECT(*out);
    ++*live;
    return STATUS_SUCCESS;
}

static NTSTATUS rig_destroy_handle(uint64_t *live, HANDLE object)
{
    EXPECT(*live > 0);
    --*live;
    free(object);
    return STATUS_SUCCESS;
}

NTSTATUS rig_create_process(struct miniport *self, HANDLE object, DXGKARG_CREATEPROCESS *create)
{
    return rig_create_handle(rig_of(self), &rig_of(self)->live_processes, &create->hKmdProcess);
}

NTSTATUS rig_destroy_process(struct miniport *self, HANDLE object)
{
    struct rig *rig = rig_of(self);

    for (unsigned i = 0; i < RIG_TLB_ENTRIES; i++) {
        if (rig->tlb[i].process == object)
            rig->tlb[i].is_used = false;
    }
    return rig_destroy_handle(&rig->live_processes, object);
}

NTSTATUS rig_create_device(struct miniport *self, HANDLE object, DXGKARG_CREATEDEVICE *create)
{
    HANDLE process = create->hKmdProcess;
    NTSTATUS status =
        rig_create_handle(rig_of(self), &rig_of(self)->live_devices, &create->hDevice);

    if (NT_SUCCESS(status))
        *(HANDLE *)create->hDevice = process;
    return status;
}

NTSTATUS rig_destroy_device(struct miniport *self, HANDLE object)
{
    return rig_destroy_handle(&rig_of(self)->live_devices, object);
}

NTSTATUS rig_create_context(struct miniport *self, HANDLE device, DXGKARG_CREATECONTEXT *create)
{
    struct rig *rig = rig_of(self);
    struct rig_context *context;

    if (!NT_SUCCESS(rig->fails_at_create))
        return rig->fails_at_create;
    context = calloc(1, sizeof *context);
    EXPECT(context && create->NodeOrdinal < 2);
    EXPECT(create->Flags.VirtualAddressing ==
           (rig->config.is_virtual && !(rig->config.is_iommu && create->Flags.SystemContext)));
    context->process = *(HANDLE *)device;
    context->device = device;
    context->node = create->NodeOrdinal;
    rig->live_contexts++;
    context->is_system = create->Flags.SystemContext;
    if (create->Flags.SystemContext && !rig->system_context)
        rig->system_context = context;
    create->hContext = context;
    create->ContextInfo.PagingCompanionNodeId = rig->config.companion_node;
    create->ContextInfo.DmaBufferSize = rig->config.dma_bytes;
    create->ContextInfo.DmaBufferPrivateDataSize = rig->config.private_bytes;
    create->ContextInfo.AllocationListSize = 16;
    create->ContextInfo.PatchLocationListSize = 8;
    return STATUS_SUCCESS;
}

NTSTATUS rig_destroy_context(struct miniport *self, HANDLE object)
{
    struct rig *rig = rig_of(self);
    struct rig_context *context = object;

    EXPECT(!context->pin_count);
    if (rig->system_context == context)
        rig->system_context = NULL;
    for (unsigned node = 0; node < 2; node++) {
        if (rig->current[node] == context)
            rig->current[node] = NULL;
    }
    free(context->pins);
    return rig_destroy_handle(&rig->live_contexts, object);
}

static NTSTATUS create_one(struct rig *rig, DXGK_ALLOCATIONINFO *info)
{
    const struct rig_request *request = info->pPrivateDriverData;
    struct rig_allocation *allocation;
    uint32_t set = 0;

    EXPECT(info->PrivateDriverDataSize == sizeof *request);
    if (!NT_SUCCESS(request->refusal))
        return request->refusal;
    if (!NT_SUCCESS(rig->fails_at_create))
        return rig->fails_at_create;
    for (unsigned i = 0; i < 3; i++) {
        if (request->preferred[i])
            set |= 1u << (request->preferred[i] - 1);
    }
    info->PreferredSegment.SegmentId0 = request->preferred[0];
    info->PreferredSegment.SegmentId1 = request->preferred[1];
    info->PreferredSegment.SegmentId2 = request->preferred[2];
    info->Size = request->claimed_bytes ? request->claimed_bytes : request->bytes;
    info->Alignment = request->has_odd_alignment ? 12345 : request->alignment;
    info->SupportedWriteSegmentSet = request->write_set ? request->write_set : set;
    info->SupportedReadSegmentSet = request->read_set ? request->read_set : set;
    info->EvictionSegmentSet = request->eviction_set;
    info->AllocationPriority = request->has_no_priority ? 0
                               : request->priority      ? request->priority
                                                        : 0x78000000;
    info->Flags.Value = request->flags;
    if (rig->config.places_from_end && !rig->config.is_virtual)
        info->Flags.FromEndOfSegment = 1;
    info->PitchAlignedSize = request->pitch_aligned_bytes;
    if (request->is_cpu_visible || request->is_cached) /* ALLOC-009 */
        info->Flags.CpuVisible = 1;
    if (request->is_cached)
        info->Flags.Cached = 1;
    if (rig->config.is_virtual && request->is_physical)
        info->FlagsWddm2.AccessedPhysically = 1;
    if (request->has_no_handle)
        return STATUS_SUCCESS;
    allocation = calloc(1, sizeof *allocation);
    EXPECT(allocation && rig->allocation_count < ARRAY_COUNT(rig->allocations));
    allocation->is_live = true;
    allocation->page_count = div_round_up(request->bytes, PAGE_BYTES);
    allocation->is_cached = request->is_cached;
    allocation->is_synchronous = info->Flags.SynchronousPaging && !rig->config.is_virtual;
    for (unsigned id = 1; id <= rig->segment_count; id++) {
        /* It has an order of its own where its memory is, and is in no aperture then. */
        if ((set >> (id - 1) & 1) && !rig_is_aperture(rig, id))
            allocation->is_swizzled = info->Flags.Swizzled && !rig->config.is_virtual;
    }
    allocation->is_primary = request->is_primary;
    allocation->has_no_range = request->has_no_range;
    allocation->model = calloc(allocation->page_count, sizeof *allocation->model);
    EXPECT(allocation->model);
    rig->allocations[rig->allocation_count++] = allocation;
    allocation->number = rig->allocation_count;
    rig->live_handles += 1;
    info->hAllocation = allocation;
    return STATUS_SUCCESS;
}

/* All of them or none. */
NTSTATUS rig_create_allocation(struct miniport *self, HANDLE object,
                               DXGKARG_CREATEALLOCATION *create)
{
    struct rig *rig = rig_of(self);
    NTSTATUS status = STATUS_SUCCESS;
    UINT made;

    EXPECT(create->NumAllocations == 1 || create->Flags.Resource);
    for (made = 0; made < create->NumAllocations; made++) {
        status = create_one(rig, &create->pAllocationInfo[made]);
        if (!NT_SUCCESS(status))
            break;
    }
    while (!NT_SUCCESS(status) && made > 0) {
        struct rig_allocation *allocation = create->pAllocationInfo[--made].hAllocation;

        allocation->is_live = false;
        rig->live_handles--;
        create->pAllocationInfo[made].hAllocation = NULL;
    }
    return status;
}

NTSTATUS rig_open_allocation(struct miniport *self, HANDLE device,
                             const DXGKARG_OPENALLOCATION *open)
{
    struct rig *rig = rig_of(self);

    /* They are the newest; without Create, another device opens the newest one. */
    EXPECT(open->NumAllocations == 1 || open->Flags.Create);
    if (!NT_SUCCESS(rig->fails_at_open))
        return rig->fails_at_open;
    if (!NT_SUCCESS(rig->fails_at_create))
        return rig->fails_at_create;
    for (UINT i = 0; i < open->NumAllocations; i++) {
        struct rig_allocation *allocation =
            rig->allocations[rig->allocation_count - open->NumAllocations + i];

        if (!allocation->device)
            allocation->device = device;
        open->pOpenAllocation[i].hDeviceSpecificAllocation = allocation;
    }
    rig->live_handles += open->NumAllocations;
    return STATUS_SUCCESS;
}

NTSTATUS rig_close_allocation(struct miniport *self, HANDLE device,
                              const DXGKARG_CLOSEALLOCATION *close)
{
    for (UINT i = 0; i < close->NumAllocations; i++)
        rig_allocation_of(rig_of(self), close->pOpenHandleList[i]);
    rig_of(self)->live_handles -= close->NumAllocations;
    return STATUS_SUCCESS;
}

NTSTATUS rig_destroy_allocation(struct miniport *self, HANDLE object,
                                const DXGKARG_DESTROYALLOCATION *destroy)
{
    struct rig *rig = rig_of(self);

    for (UINT i = 0; i < destroy->NumAllocations; i++) {
        struct rig_allocation *allocation = rig_allocation_of(rig, destroy->pAllocationList[i]);

        EXPECT(!allocation->pending_operations);
        allocation->is_live = false;
    }
    rig->live_handles -= destroy->NumAllocations;
    return STATUS_SUCCESS;
}

/* A root has a multiple of so many entries, and so many stand in a page. */
#define RIG_ROOT_STEP    64u
#define RIG_ROOT_ENTRIES 512u

SIZE_T rig_root_size(struct miniport *self, DXGKARG_GETROOTPAGETABLESIZE *size)
{
    EXPECT(size->NumberOfPte && size->NumberOfPte <= 1u << rig_index_bits(rig_of(self), 1));
    size->NumberOfPte = (UINT)align_up(size->NumberOfPte, RIG_ROOT_STEP);
    return align_up(PAGE_BYTES_OF(div_round_up(size->NumberOfPte, RIG_ROOT_ENTRIES)),
                    rig_of(self)->config.has_64kb_pages[0] ? 64 * KiB : PAGE_BYTES);
}

NTSTATUS rig_set_root(struct miniport *self, HANDLE object, const DXGKARG_SETROOTPAGETABLE *root)
{
    struct rig *rig = rig_of(self);
    struct rig_context *context = root->hContext;

    if (rig->config.tables == RIG_TABLES_GROWING)
        EXPECT(root->NumEntries % RIG_ROOT_STEP == 0 && root->NumEntries >= context->root_entries);
    else
        EXPECT(root->NumEntries == 1u << rig_index_bits(rig, RIG_LEVELS - 1));
    rig->grown_roots += context->root_entries && root->NumEntries > context->root_entries;
    context->root_entries = root->NumEntries;
    EXPECT(
        rig_page(rig_of(self), root->Address.SegmentId, root->Address.SegmentOffset / PAGE_BYTES));
    context->root = root->Address;
    context->has_root = true;
    return STATUS_SUCCESS;
}

/* ---- Submission ------------------------------------------------------------------------------ */

static struct rig_packet *rig_queue_packet(struct rig *rig, const struct rig_context *context,
                                           uint32_t fence, const uint8_t *start, const uint8_t *end,
                                           bool is_paging)
{
    struct rig_packet *packet = calloc(1, sizeof *packet);

    EXPECT(packet);
    packet->context = context;
    packet->fence = fence;
    packet->start = start;
    packet->end = end;
    packet->is_paging = is_paging;
    list_push_back(&rig->queued[context->node], &packet->link);
    return packet;
}

static void rig_pin_packet(struct rig_page ***pins, size_t *count, struct rig_page *page)
{
    if ((*count & (*count - 1)) == 0) { /* full: capacities are powers of two */
        *pins = realloc(*pins, (*count ? *count * 2 : 1) * sizeof **pins);
        EXPECT(*pins);
    }
    (*pins)[(*count)++] = page;
    page->packet_pins++;
}

static void rig_queued(struct rig *rig, unsigned node)
{
    if (!rig->config.completes_at_once)
        return;
    while (!list_is_empty(&rig->queued[node]))
        rig_run_next(rig, node);
    rig_tell(rig);
}

/*
 * Whose work the node has now; a switch leaves what it had before (SUB-004). Nothing but paging is
 * submitted while an allocation that pages synchronously is paged (ALLOC-015), nor work of a
 * process whose entries change while its address space is idle (PT-036).
 */
static void rig_enter(struct rig *rig, struct rig_context *context, bool is_switch)
{
    if (!rig->is_hung && !context->is_system) {
        EXPECT(!rig->synchronous_operations);
        EXPECT(!rig->config.updates_when_idle ||
               !((const struct rig_process *)context->process)->updates);
    }
    EXPECT(!is_switch || (rig->config.switches_to_null && !rig->is_hung &&
                          rig->current[context->node] == context));
    rig->switches += is_switch;
    rig->current[context->node] = is_switch ? NULL : context;
}

/*
 * A range for each submission when the driver moved its pointer, with the four bytes of each record
 * that is submitted; else one for all (PB-024).
 */
static void rig_check_private(const struct rig *rig, const uint8_t *first_record,
                              const uint8_t *end_record, uint32_t start, uint32_t end)
{
    uint32_t records = 0;

    for (; first_record < end_record; records++)
        first_record += ((const struct rig_record *)first_record)->bytes;
    if (rig->config.moves_private)
        EXPECT(end <= rig->config.private_bytes && end - start == records * 4);
    else
        EXPECT(start == 0 && end == rig->config.private_bytes);
}

struct rig_program *rig_program_at(struct rig *rig, uint64_t number)
{
    struct list *link = rig->programs.prev;

    while (link != &rig->programs && container_of(link, struct rig_program, link)->number != number)
        link = link->prev;
    EXPECT(link != &rig->programs);
    return container_of(link, struct rig_program, link);
}

NTSTATUS rig_submit_virtual(struct miniport *self, HANDLE object,
                            const DXGKARG_SUBMITCOMMANDVIRTUAL *submit)
{
    struct rig *rig = rig_of(self);
    struct rig_context *context = submit->hContext;
    struct rig_packet *packet;

    EXPECT(context->has_root && submit->NodeOrdinal == context->node);
    rig_enter(rig, context, submit->Flags.ContextSwitch);
    if (submit->Flags.ContextSwitch) {
        EXPECT(!submit->DmaBufferSize && submit->Flags.Paging == context->is_system);
        packet = rig_queue_packet(rig, context, submit->SubmissionFenceId, NULL, NULL,
                                  context->is_system);
        packet->is_switch = true;
    } else if (submit->Flags.Paging) {
        uint64_t va = submit->DmaBufferVirtualAddress;
        const uint8_t *start = rig->buffer_start + va; /* there is one, and no address */

        EXPECT(context->is_system);
        if (!rig->config.hides_address) {
            DXGK_PTE entry = rig_walk(rig, context->root, va);
            uint64_t first = entry.PageAddress * PAGE_BYTES + va % PAGE_BYTES;

            EXPECT(entry.Valid && !entry.Segment);
            start = rig_block_at(rig, first)->memory +
                    (first - PAGE_BYTES * rig_block_at(rig, first)->first_page);
        }
        if (rig->config.private_bytes && !rig->is_hung)
            rig_check_private(rig, start, start + submit->DmaBufferSize, 0,
                              submit->DmaBufferPrivateDataSize);
        rig_queue_packet(rig, context, submit->SubmissionFenceId, start,
                         start + submit->DmaBufferSize, true);
    } else if (submit->Flags.Present) { /* its commands are the driver's, and do nothing */
        EXPECT(rig->is_hung || rig_walk(rig, context->root, submit->DmaBufferVirtualAddress).Valid);
        rig_queue_packet(rig, context, submit->SubmissionFenceId, NULL, NULL, false);
    } else {
        /* The address names the program; what it touches is translatable and stays so. */
        struct rig_program *program = rig_program_at(rig, submit->DmaBufferVirtualAddress);

        packet = rig_queue_packet(rig, context, submit->SubmissionFenceId, NULL, NULL, false);
        packet->program = program;
        program->process = context->process;
        program->root = context->root;
        for (unsigned i = 0; !rig->is_hung && i < program->count; i++) {
            DXGK_PTE entry = rig_walk(rig, context->root, program->steps[i].va);

            EXPECT(entry.Valid);
            rig_pin_packet(&packet->pins, &packet->pin_count,
                           rig_page(rig, entry.Segment, entry.PageAddress));
        }
    }
    rig_queued(rig, context->node);
    return STATUS_SUCCESS;
}

/* Paging that is nobody's comes without a context, and is for the system's node (SUB-003). */
static struct rig_context *rig_context_of(const struct rig *rig, HANDLE context, bool is_paging)
{
    EXPECT(context || is_paging);
    return context ? context : rig->system_context;
}

NTSTATUS rig_patch(struct miniport *self, HANDLE object, const DXGKARG_PATCH *patch)
{
    struct rig *rig = rig_of(self);
    struct rig_context *context = rig_context_of(rig, patch->hContext, patch->Flags.Paging);

    context->patch = *patch;
    if (patch->Flags.Paging) {
        EXPECT(!patch->pAllocationList && !patch->pPatchLocationList);
        return STATUS_SUCCESS;
    }
    if (rig->is_hung)
        return STATUS_SUCCESS;
    for (unsigned i = 0; i < patch->AllocationListSize; i++) {
        const DXGK_ALLOCATIONLIST *entry = &patch->pAllocationList[i];
        struct rig_allocation *allocation =
            rig_allocation_of(rig, entry->hDeviceSpecificAllocation);
        uint64_t address = (uint64_t)entry->PhysicalAddress.QuadPart;
        unsigned segment = entry->SegmentId;

        if (!segment && (rig->config.pages_in_patched_only || rig->config.split_steps)) {
            EXPECT(!address);
            continue;
        }
        EXPECT(segment && address >> 40 == segment);
        for (uint64_t page = 0; page < allocation->page_count; page++) {
            uint64_t at = (address - rig_segment_base(segment)) / PAGE_BYTES + page;
            struct rig_page *target;

            if (rig_is_aperture(rig, segment)) {
                at = rig_slot(rig, segment, at);
                EXPECT(rig->slots[at] && rig->slot_owner[at] == allocation->number);
                target = rig_page(rig, 0, rig->slots[at] - 1);
            } else {
                target = rig_page(rig, segment, at);
            }
            EXPECT(target->owner == allocation->number && target->owner_page == page);
            EXPECT(!target->pins || target->pin_owner == allocation->number);
            rig_pin_packet(&context->pins, &context->pin_count, target);
        }
    }
    for (unsigned i = patch->PatchLocationListSubmissionStart;
         i < patch->PatchLocationListSubmissionStart + patch->PatchLocationListSubmissionLength;
         i++) {
        const D3DDDI_PATCHLOCATIONLIST *location = &patch->pPatchLocationList[i];
        const DXGK_ALLOCATIONLIST *entry = &patch->pAllocationList[location->AllocationIndex];
        struct rig_command *command =
            (struct rig_command *)((uint8_t *)patch->pDmaBuffer + location->PatchOffset);

        EXPECT(location->PatchOffset >= patch->DmaBufferSubmissionStartOffset &&
               location->PatchOffset < patch->DmaBufferSubmissionEndOffset);
        command->segment = entry->SegmentId;
        command->address = (uint64_t)entry->PhysicalAddress.QuadPart + location->AllocationOffset;
    }
    return STATUS_SUCCESS;
}

NTSTATUS rig_submit(struct miniport *self, HANDLE object, const DXGKARG_SUBMITCOMMAND *submit)
{
    struct rig *rig = rig_of(self);
    struct rig_context *context = rig_context_of(rig, submit->hContext, submit->Flags.Paging);
    const DXGKARG_PATCH *patch = &context->patch;
    struct rig_block *block;
    struct rig_packet *packet;

    EXPECT(submit->NodeOrdinal == context->node);
    rig_enter(rig, context, submit->Flags.ContextSwitch);
    if (submit->Flags.ContextSwitch) {
        EXPECT(!submit->DmaBufferSize && submit->Flags.Paging == context->is_system);
        packet = rig_queue_packet(rig, context, submit->SubmissionFenceId, NULL, NULL,
                                  context->is_system);
        packet->is_switch = true;
        rig_queued(rig, context->node);
        return STATUS_SUCCESS;
    }
    block = submit->Flags.Paging
                ? rig_block_behind(rig, submit->DmaBufferSegmentId,
                                   (uint64_t)submit->DmaBufferPhysicalAddress.QuadPart)
                : rig_block_at(rig, (uint64_t)submit->DmaBufferPhysicalAddress.QuadPart);
    if (!submit->Flags.Paging || !rig->config.skips_patch) {
        EXPECT(patch->SubmissionFenceId == submit->SubmissionFenceId);
        EXPECT(patch->DmaBufferPhysicalAddress.QuadPart ==
               submit->DmaBufferPhysicalAddress.QuadPart);
        EXPECT(patch->DmaBufferSize == submit->DmaBufferSize);
        EXPECT(patch->DmaBufferSubmissionStartOffset == submit->DmaBufferSubmissionStartOffset);
        EXPECT(patch->DmaBufferSubmissionEndOffset == submit->DmaBufferSubmissionEndOffset);
        EXPECT(patch->pDmaBufferPrivateData == submit->pDmaBufferPrivateData);
        EXPECT(patch->DmaBufferPrivateDataSubmissionStartOffset ==
               submit->DmaBufferPrivateDataSubmissionStartOffset);
        EXPECT(patch->DmaBufferPrivateDataSubmissionEndOffset ==
               submit->DmaBufferPrivateDataSubmissionEndOffset);
    }
    EXPECT(submit->Flags.Paging == (context == rig->system_context));
    if (submit->Flags.Paging && rig->config.private_bytes && !rig->is_hung)
        rig_check_private(rig, block->memory + submit->DmaBufferSubmissionStartOffset,
                          block->memory + submit->DmaBufferSubmissionEndOffset,
                          submit->DmaBufferPrivateDataSubmissionStartOffset,
                          submit->DmaBufferPrivateDataSubmissionEndOffset);
    if (!submit->Flags.Paging && !rig->is_hung && !rig->render_hook)
        EXPECT(!submit->DmaBufferPrivateDataSubmissionStartOffset &&
               submit->DmaBufferPrivateDataSubmissionEndOffset ==
                   ((const struct rig_command *)block->memory)->private_bytes);
    packet = rig_queue_packet(rig, context, submit->SubmissionFenceId,
                              block->memory + submit->DmaBufferSubmissionStartOffset,
                              block->memory + submit->DmaBufferSubmissionEndOffset,
                              submit->Flags.Paging);
    packet->pins = context->pins;
    packet->pin_count = context->pin_count;
    context->pins = NULL;
    context->pin_count = 0;
    rig_queued(rig, context->node);
    return STATUS_SUCCESS;
}

NTSTATUS rig_render(struct miniport *self, HANDLE object, DXGKARG_RENDER *render)
{
    struct rig *rig = rig_of(self);
    const struct rig_step *steps = render->pCommand;
    unsigned count = render->CommandLength / sizeof *steps;
    struct rig_command *first = render->pDmaBuffer;
    NTSTATUS status;

    if (rig->render_hook && rig->render_hook(rig, render, &status))
        return status;
    for (unsigned i = render->MultipassOffset; i < count; i++) {
        struct rig_command *command = render->pDmaBuffer;
        D3DDDI_PATCHLOCATIONLIST *location = render->pPatchLocationListOut;

        if (render->DmaSize < sizeof *command || render->PatchLocationListOutSize == 0 ||
            (rig->config.moves_private && render->DmaBufferPrivateDataSize < 4)) {
            render->MultipassOffset = i;
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        *command = (struct rig_command){.magic = RIG_COMMAND_MAGIC,
                                        .value = steps[i].value,
                                        .is_write = steps[i].is_write,
                                        .number = steps[i].number,
                                        .page = steps[i].page,
                                        .program = rig->program_count,
                                        .step = i};
        if (rig->config.moves_private) {
            render->pDmaBufferPrivateData = (uint8_t *)render->pDmaBufferPrivateData + 4;
            render->DmaBufferPrivateDataSize -= 4;
            first->private_bytes += 4;
        }
        *location = (D3DDDI_PATCHLOCATIONLIST){0};
        location->AllocationIndex = steps[i].reference;
        location->AllocationOffset = (UINT)(steps[i].page * PAGE_BYTES);
        location->PatchOffset =
            (UINT)((uint8_t *)command -
                   rig_block_at(rig, (uint64_t)render->DmaBufferPhysicalAddress.QuadPart)->memory);
        if (rig->config.split_steps)
            location->SplitOffset = (UINT)((command - first) / rig->config.split_steps *
                                           rig->config.split_steps * sizeof *command);
        render->pDmaBuffer = command + 1;
        render->DmaSize -= (UINT)sizeof *command;
        render->pPatchLocationListOut = location + 1;
        render->PatchLocationListOutSize--;
    }
    return STATUS_SUCCESS;
}
