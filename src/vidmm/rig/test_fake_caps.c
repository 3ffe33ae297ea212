#include "vidmm/rig/test_fake_caps.h"

#include "tests/told.h"

#include <limits.h>

/* ---- The driver ---- */

static ULONG fake_version(struct miniport *self)
{
    return ((struct fake *)self)->version;
}

static bool fake_has(struct miniport *self, enum miniport_ddi ddi)
{
    const struct fake *fake = (struct fake *)self;

    if (fake->lacks[ddi])
        return false;
    return ddi != MINIPORT_DDI_GetRootPageTableSize || fake->sizes_roots;
}

static void answer_segments(const struct fake *fake, DXGK_QUERYSEGMENTOUT *out)
{
    bool is_first = !out->pSegmentDescriptor;

    out->NbSegment = fake->count + (is_first ? 0 : fake->extra);
    if (!is_first || fake->tells_all_at_first) {
        out->PagingBufferSegmentId = fake->paging_segment;
        out->PagingBufferSize = fake->paging_bytes;
        out->PagingBufferPrivateDataSize = fake->paging_private_bytes;
    }
    for (UINT i = 0; !is_first && i < fake->count; i++) {
        out->pSegmentDescriptor[i] = (DXGK_SEGMENTDESCRIPTOR){
            .BaseAddress = fake->segments[i].BaseAddress,
            .CpuTranslatedAddress = fake->segments[i].CpuTranslatedAddress,
            .Size = fake->segments[i].Size,
            .NbOfBanks = i ? 0 : fake->bank_count,
            .pBankRangeTable = i ? NULL : fake->bank_ends,
            .CommitLimit = fake->segments[i].CommitLimit,
            .Flags = fake->segments[i].Flags,
        };
    }
}

static void answer_segments3(const struct fake *fake, DXGK_QUERYSEGMENTOUT3 *out)
{
    DXGK_SEGMENTDESCRIPTOR old[MAX_SEGMENTS];
    DXGK_QUERYSEGMENTOUT answer = {.pSegmentDescriptor = out->pSegmentDescriptor ? old : NULL};

    answer_segments(fake, &answer);
    out->NbSegment = answer.NbSegment;
    out->PagingBufferSegmentId = answer.PagingBufferSegmentId;
    out->PagingBufferSize = answer.PagingBufferSize;
    out->PagingBufferPrivateDataSize = answer.PagingBufferPrivateDataSize;
    for (UINT i = 0; out->pSegmentDescriptor && i < fake->count; i++) {
        out->pSegmentDescriptor[i] = (DXGK_SEGMENTDESCRIPTOR3){
            .Flags = old[i].Flags,
            .BaseAddress = old[i].BaseAddress,
            .CpuTranslatedAddress = old[i].CpuTranslatedAddress,
            .Size = old[i].Size,
            .NbOfBanks = old[i].NbOfBanks,
            .pBankRangeTable = old[i].pBankRangeTable,
            .CommitLimit = old[i].CommitLimit,
            .SystemMemoryEndAddress = fake->segments[i].SystemMemoryEndAddress,
        };
    }
}

static void answer_segments4(const struct fake *fake, DXGK_QUERYSEGMENTOUT4 *out)
{
    bool is_first = out->NbSegment == 0;
    size_t stride =
        fake->ignores_stride ? sizeof(DXGK_SEGMENTDESCRIPTOR4) : out->SegmentDescriptorStride;

    out->NbSegment = fake->count + (is_first ? 0 : fake->extra);
    if (!is_first || fake->tells_all_at_first) {
        out->PagingBufferSegmentId = fake->paging_segment;
        out->PagingBufferSize = fake->paging_bytes;
        out->PagingBufferPrivateDataSize = fake->paging_private_bytes;
    }
    for (UINT i = 0; !is_first && i < fake->count; i++)
        memcpy(out->pSegmentDescriptor + i * stride, &fake->segments[i], sizeof fake->segments[i]);
}

/* count is that of the descriptor, for the query that is asked. */
static void answer_ranges(const struct fake *fake, DXGK_QUERYSEGMENTMEMORYSTATE *state, UINT count)
{
    assert_int_equal(state->DriverSegmentId, 1);
    assert_int_equal(state->NumInvalidMemoryRanges, count);
    memcpy(state->pMemoryRanges, fake->ranges,
           state->NumInvalidMemoryRanges * sizeof *state->pMemoryRanges);
    state->NumInvalidMemoryRanges = fake->range_count_told;
}

static NTSTATUS fake_query(struct miniport *self, HANDLE object,
                           const DXGKARG_QUERYADAPTERINFO *query)
{
    struct fake *fake = (struct fake *)self;

    assert_null(object);
    fake->asked_count[query->Type]++;
    fake->asked_bytes[query->Type] = query->OutputDataSize;
    fake->input_bytes[query->Type] = query->InputDataSize;
    fake->order[fake->asked++] = (unsigned)query->Type;
    if ((int)query->Type == fake->failing_type || fake->asked > fake->failing_turn)
        return fake->failing_status;
    switch (query->Type) {
    case DXGKQAITYPE_DRIVERCAPS:
        fake->driver_caps_bytes = query->OutputDataSize;
        memcpy(query->pOutputData, &fake->driver, query->OutputDataSize);
        break;
    case DXGKQAITYPE_PHYSICALADAPTERCAPS:
        fake->physical_adapter_bytes = query->OutputDataSize;
        memcpy(query->pOutputData, &fake->adapter, query->OutputDataSize);
        break;
    case DXGKQAITYPE_GPUMMUCAPS:
        memcpy(query->pOutputData, &fake->mmu, query->OutputDataSize);
        break;
    case DXGKQAITYPE_PAGETABLELEVELDESC:
        memcpy(
            query->pOutputData,
            &fake->levels[((const DXGK_QUERYPAGETABLELEVELDESCIN *)query->pInputData)->LevelIndex],
            query->OutputDataSize);
        break;
    case DXGKQAITYPE_QUERYSEGMENT:
        answer_segments(fake, query->pOutputData);
        break;
    case DXGKQAITYPE_QUERYSEGMENT3:
        answer_segments3(fake, query->pOutputData);
        break;
    case DXGKQAITYPE_QUERYSEGMENT4:
        answer_segments4(fake, query->pOutputData);
        break;
    case DXGKQAITYPE_UEFIFRAMEBUFFERRANGES:
        answer_ranges(fake, query->pOutputData, fake->segments[0].NumUEFIFrameBufferRanges);
        break;
    case DXGKQAITYPE_SEGMENTMEMORYSTATE:
        answer_ranges(fake, query->pOutputData, fake->segments[0].NumInvalidMemoryRanges);
        break;
    case DXGKQAITYPE_FRAMEBUFFERSAVESIZE:
        ((DXGK_FRAMEBUFFERSAVEAREA *)query->pOutputData)->MaximumSize = fake->save_area_bytes;
        break;
    default:
        return STATUS_NOT_SUPPORTED;
    }
    return STATUS_SUCCESS;
}

void make_fake(struct fake *fake, ULONG version)
{
    *fake = (struct fake){
        .version = version,
        .count = 3,
        .paging_bytes = 64 * 1024,
        .paging_private_bytes = 16,
        .failing_type = -1,
        .failing_turn = UINT_MAX,
    };
    fake->ops = miniport_forward_ops;
    fake->ops.interface_version = fake_version;
    fake->ops.has = fake_has;
    fake->ops.query_adapter_info = fake_query;
    fake->miniport.ops = &fake->ops;

    fake->driver.HighestAcceptableAddress.QuadPart = INT64_C(0x7fffffffffff);
    fake->driver.ApertureSegmentCommitLimit = 2 * GiB;
    fake->driver.SchedulingCaps.MultiEngineAware = 1;
    fake->driver.MemoryManagementCaps.PagingNode = 1;
    fake->driver.GpuEngineTopology.NbAsymetricProcessingNodes = 2;
    fake->adapter.NumExecutionNodes = 3;
    fake->adapter.PagingNodeIndex = 2;

    fake->segments[0].Flags.CpuVisible = 1;
    fake->segments[0].BaseAddress.QuadPart = BASE_LOCAL;
    fake->segments[0].CpuTranslatedAddress.QuadPart = (LONGLONG)WINDOW;
    fake->segments[0].Size = 256 * MiB;
    fake->segments[1].Flags.Aperture = 1;
    fake->segments[1].Flags.CacheCoherent = 1;
    fake->segments[1].BaseAddress.QuadPart = (LONGLONG)BASE_SLOTS;
    fake->segments[1].Size = 2 * GiB;
    fake->segments[2].BaseAddress.QuadPart = (LONGLONG)BASE_HIDDEN;
    fake->segments[2].Size = 3 * GiB;
    for (unsigned i = 0; i < 3; i++)
        fake->segments[i].CommitLimit = fake->segments[i].Size;
    if (version < WDDM20)
        return;
    fake->driver.MemoryManagementCaps.VirtualAddressingSupported = 1;
    fake->driver.MemoryManagementCaps.GpuMmuSupported = 1;
    fake->mmu.ZeroInPteSupported = 1;
    fake->mmu.ReadOnlyMemorySupported = 1;
    fake->mmu.ExplicitPageTableInvalidation = 1;
    fake->mmu.InvalidTlbEntriesNotCached = 1;
    fake->mmu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_GPU_VIRTUAL;
    fake->mmu.VirtualAddressBitCount = 48;
    fake->mmu.PageTableLevelCount = 4;
    for (unsigned i = 0; i < 4; i++) {
        fake->levels[i] = (DXGK_PAGE_TABLE_LEVEL_DESC){
            .PageTableIndexBitCount = 9,
            .PageTableSegmentId = 1,
            .PagingProcessPageTableSegmentId = 1,
            .PageTableSizeInBytes = 4096,
        };
    }
}

const struct vidmm_platform platform;

static void tell_segment(const struct vidmm_segment_caps *segment)
{
    told_number(segment->flags);
    told_number(segment->is_aperture | segment->is_agp << 1 | segment->is_cpu_visible << 2 |
                segment->is_cache_coherent << 3 | segment->uses_64kb_pages << 4 |
                segment->is_pitch_aligned << 5 | segment->has_host_aperture << 6);
    told_number(segment->base);
    told_number(segment->size);
    told_number(segment->commit_limit);
    told_number(segment->cpu_address);
    told_number(segment->host_address);
    told_number(segment->host_pages);
    told_number(segment->system_memory_end);
    told_numbers(segment->bank_ends, segment->bank_count * sizeof *segment->bank_ends);
    told_numbers(segment->invalid_ranges,
                 segment->invalid_range_count * sizeof *segment->invalid_ranges);
}

static void tell_caps(const struct vidmm_caps *caps)
{
    told_number(caps->is_virtual | caps->has_page_tables << 1 | caps->resets_engines << 2 |
                caps->hears_of_removal_asleep << 3 | caps->hears_of_removal << 4 |
                caps->has_contexts << 5 | caps->maps_aperture2 << 6 | caps->has_native_fences << 7);
    told_number(caps->interface_version);
    told_number(caps->node_count);
    told_number(caps->paging_node);
    told_number(caps->aperture_commit_limit);
    told_number(caps->highest_address);
    told_number(caps->max_slot_id);
    told_number(caps->swizzling_range_count);
    for (unsigned i = 0; i < caps->segment_count; i++)
        tell_segment(&caps->segments[i]);
    told_number(caps->paging_buffer_segment);
    told_number(caps->paging_buffer_bytes);
    told_number(caps->paging_private_bytes);
    told_number(caps->va_bits);
    for (unsigned i = 0; i < caps->level_count; i++) {
        told_number(caps->levels[i].index_bits);
        told_number(caps->levels[i].segment);
        told_number(caps->levels[i].paging_segment);
        told_number(caps->levels[i].table_bytes);
        told_number(caps->levels[i].alignment);
    }
    told_number(caps->has_dual_pte | caps->has_64k_leaves << 1 | caps->chooses_leaf_size << 2 |
                caps->has_large_pages << 3 | caps->allows_unaligned_large_pages << 4 |
                caps->root_is_resizable << 5 | caps->has_zero << 6 | caps->has_read_only << 7 |
                caps->has_no_execute << 8 | caps->has_cache_coherent << 9 |
                caps->invalid_not_cached << 10 | caps->explicit_invalidation << 11 |
                caps->update_requires_idle << 12 | caps->source_table_in_transfer << 13);
    told_number(caps->leaf_64k_bytes);
    told_number(caps->update_mode);
}

NTSTATUS query(struct fake *fake, struct vidmm_caps *caps, struct vidmm_failure *failure)
{
    NTSTATUS status;

    memset(caps, 0xcc, sizeof *caps);
    memset(failure, 0xcc, sizeof *failure);
    status =
        vidmm_caps_query(&fake->miniport, base_services_libc(), &platform, NULL, caps, failure);
    told_number((uint32_t)status);
    if (NT_SUCCESS(status))
        tell_caps(caps);
    else
        told_text(failure->text);
    return status;
}
