/* Adapter caps against a driver that answers from a struct: kept, broken one by one, failing. */
#include "vidmm/rig/test_fake_caps.h"

/* ---- Kept ---- */

static void a_lawful_report_of_every_version_is_taken_over(void **state)
{
    /* Sizes of DXGK_DRIVERCAPS in a driver that was compiled for the version. */
    static const struct {
        ULONG version;
        UINT driver_caps_bytes;
    } cases[] = {
        {VISTA, 336},  {WIN7, 528},   {WIN8, 544},   {WDDM13, 552}, {WDDM20, 576},
        {WDDM21, 576}, {WDDM24, 584}, {WDDM26, 584}, {WDDM29, 592}, {WDDM32, 592},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        bool is_new = cases[i].version >= WDDM20;
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, cases[i].version);
        assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
        assert_int_equal(fake.driver_caps_bytes, cases[i].driver_caps_bytes);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_QUERYSEGMENT],
                         cases[i].version < WIN8 ? 2 : 0);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_QUERYSEGMENT3],
                         cases[i].version >= WIN8 && !is_new ? 2 : 0);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_QUERYSEGMENT4], is_new ? 2 : 0);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_SEGMENTMEMORYSTATE], 0);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_PAGETABLELEVELDESC], is_new ? 4 : 0);
        assert_int_equal(caps.interface_version, cases[i].version);
        assert_int_equal(caps.is_virtual, is_new);
        assert_int_equal(caps.node_count, is_new ? 3 : 2);
        assert_int_equal(caps.paging_node, is_new ? 2 : 1);
        assert_int_equal(caps.aperture_commit_limit, 2 * GiB);
        assert_int_equal(caps.highest_address, 0x7fffffffffff);
        assert_int_equal(caps.segment_count, 3);
        assert_true(caps.segments[0].is_cpu_visible && !caps.segments[0].is_aperture);
        assert_int_equal(caps.segments[0].cpu_address, WINDOW);
        assert_true(caps.segments[1].is_aperture && caps.segments[1].is_cache_coherent);
        assert_int_equal(caps.segments[1].base, BASE_SLOTS);
        assert_int_equal(caps.segments[2].size, 3 * GiB);
        assert_int_equal(caps.segments[2].commit_limit, 3 * GiB);
        assert_int_equal(caps.segments[2].cpu_address, 0);
        assert_int_equal(caps.paging_buffer_bytes, 65536);
        assert_int_equal(caps.paging_private_bytes, 16);
        assert_int_equal(caps.level_count, is_new ? 4 : 0);
        assert_int_equal(caps.has_zero, is_new);
        assert_int_equal(caps.has_no_execute, false);
        assert_int_equal(caps.invalid_not_cached, cases[i].version >= WDDM26);
        assert_int_equal(caps.levels[3].alignment, is_new ? 4096 : 0);
        assert_string_equal(failure.rule, "");
        assert_string_equal(failure.text, "");
        vidmm_caps_fini(base_services_libc(), &caps);
    }
}

static void banks_and_invalid_ranges_are_copied(void **state)
{
    SIZE_T ends[] = {64 * MiB, 128 * MiB, 0xdead}; /* the last one is not read */
    struct vidmm_failure failure;
    struct vidmm_caps caps;
    struct fake fake;

    make_fake(&fake, WDDM13);
    fake.segments[0].Flags.UseBanking = 1;
    fake.bank_count = 3;
    fake.bank_ends = ends;
    assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
    assert_int_equal(caps.segments[0].bank_count, 3);
    assert_int_equal(caps.segments[0].bank_ends[1], 128 * MiB);
    assert_int_equal(caps.segments[0].bank_ends[2], 256 * MiB);
    vidmm_caps_fini(base_services_libc(), &caps);

    make_fake(&fake, WDDM20);
    fake.segments[0].NumInvalidMemoryRanges = 2;
    fake.range_count_told = 2;
    fake.ranges[0] = (DXGK_MEMORYRANGE){.SegmentOffset = 0x5000, .SizeInBytes = 0x1000};
    fake.ranges[1] = (DXGK_MEMORYRANGE){.SegmentOffset = 255 * MiB, .SizeInBytes = 1 * MiB};
    assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
    assert_int_equal(fake.asked_count[DXGKQAITYPE_SEGMENTMEMORYSTATE], 1);
    assert_int_equal(caps.segments[0].invalid_range_count, 2);
    assert_int_equal(caps.segments[0].invalid_ranges[1].offset, 255 * MiB);
    assert_int_equal(caps.segments[0].invalid_ranges[1].size, 1 * MiB);
    vidmm_caps_fini(base_services_libc(), &caps);
    assert_int_equal(caps.segment_count, 0);
}

/* A range for protected content and the firmware's picture, from the versions on that know them. */
static void nothing_is_placed_in_ranges_of_others(void **state)
{
    const struct {
        ULONG version;
        uint32_t count;
    } cases[] = {{WDDM20, 0}, {WDDM21, 1}, {WDDM26, 2}};

    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, cases[i].version);
        fake.segments[0].Flags.VprSupported = 1;
        fake.segments[0].VprAlignment = 0x10000;
        fake.segments[0].VprRangeStartOffset = 0x30000;
        fake.segments[0].VprRangeSize = 0x20000;
        fake.segments[0].VprReserveSize = 0x1000;
        fake.segments[0].NumVprSupported = 1;
        fake.segments[0].NumUEFIFrameBufferRanges = 1;
        fake.range_count_told = 1;
        fake.ranges[0] = (DXGK_MEMORYRANGE){.SegmentOffset = 0x5000, .SizeInBytes = 0x1000};
        assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_SEGMENTMEMORYSTATE], 0);
        assert_int_equal(fake.asked_count[DXGKQAITYPE_UEFIFRAMEBUFFERRANGES], cases[i].count == 2);
        assert_int_equal(caps.segments[0].invalid_range_count, cases[i].count);
        if (cases[i].count) {
            const struct vidmm_invalid_range *last =
                &caps.segments[0].invalid_ranges[cases[i].count - 1];

            assert_int_equal(last->offset, 0x30000);
            assert_int_equal(last->size, 0x20000);
        }
        vidmm_caps_fini(base_services_libc(), &caps);
    }
}

/* ---- Reports that differ from the lawful one ---- */

#define CHANGE(name, statement)                                                                    \
    static void name(struct fake *fake)                                                            \
    {                                                                                              \
        statement;                                                                                 \
    }

static SIZE_T falling_ends[] = {64 * MiB, 32 * MiB, 256 * MiB};
static SIZE_T long_ends[] = {64 * MiB, 256 * MiB, 256 * MiB};
static SIZE_T good_ends[] = {64 * MiB, 255 * MiB};

static void set_banks(struct fake *fake, UINT count, SIZE_T *ends)
{
    fake->segments[0].Flags.UseBanking = 1;
    fake->bank_count = count;
    fake->bank_ends = ends;
}

static void set_preserved(struct fake *fake, bool standby, bool hibernate, bool partial)
{
    fake->segments[0].Flags.PreservedDuringStandby = standby;
    fake->segments[0].Flags.PreservedDuringHibernate = hibernate;
    fake->segments[0].Flags.PartiallyPreservedDuringHibernate = partial;
    fake->segments[0].SystemMemoryEndAddress = partial ? 0xfffff : 0;
}

static void set_range(struct fake *fake, UINT64 offset, UINT64 size)
{
    fake->segments[0].NumInvalidMemoryRanges = 1;
    fake->range_count_told = 1;
    fake->ranges[0] = (DXGK_MEMORYRANGE){.SegmentOffset = offset, .SizeInBytes = size};
}

static void set_size(struct fake *fake, unsigned i, SIZE_T size)
{
    fake->segments[i].Size = size;
    fake->segments[i].CommitLimit = size;
}

/* Two levels: a leaf of 9 bits and this root. */
static void set_two_levels(struct fake *fake, UINT root_bits, UINT root_bytes, bool sizes_roots)
{
    fake->mmu.PageTableLevelCount = 2;
    fake->mmu.VirtualAddressBitCount = root_bits ? 21 + root_bits : 40;
    fake->levels[1].PageTableIndexBitCount = root_bits;
    fake->levels[1].PageTableSizeInBytes = root_bytes;
    fake->sizes_roots = sizes_roots;
}

static void set_segment_count(struct fake *fake, UINT count)
{
    for (UINT i = 3; i < count; i++) {
        fake->segments[i].BaseAddress.QuadPart = (LONGLONG)((UINT64_C(2) << 40) + i * MiB);
        set_size(fake, i, 1 * MiB);
    }
    fake->count = count;
}

CHANGE(all_at_first, fake->tells_all_at_first = true)
CHANGE(other_count, fake->extra = 1)
CHANGE(no_stride, fake->ignores_stride = true)
CHANGE(table_segment, fake->levels[2].PageTableSegmentId = 4)
CHANGE(paging_table_segment, fake->levels[1].PagingProcessPageTableSegmentId = 9)
CHANGE(tables_in_aperture, fake->levels[2].PageTableSegmentId = 2)
CHANGE(paging_tables_in_aperture, fake->levels[1].PagingProcessPageTableSegmentId = 2)
CHANGE(overlap, fake->segments[2].BaseAddress.QuadPart -= 4096)
CHANGE(odd_size, set_size(fake, 2, 3 * GiB - 1))
CHANGE(odd_64kb_size, fake->segments[2].Flags.Use64KBPages = 1; set_size(fake, 2, GiB + 4096))
CHANGE(even_64kb_size, fake->segments[2].Flags.Use64KBPages = 1)
CHANGE(too_many, set_segment_count(fake, 32))
CHANGE(as_many_as_there_are, set_segment_count(fake, 31))
CHANGE(none, fake->count = 0)
CHANGE(memory_limit, fake->segments[2].CommitLimit -= 4096)
CHANGE(no_memory_limit, fake->segments[2].CommitLimit = 0)
CHANGE(aperture_limit, fake->segments[1].CommitLimit += 4096)
CHANGE(small_aperture_limit, fake->segments[1].CommitLimit = 4096)
CHANGE(tables_in_the_last, fake->levels[0].PageTableSegmentId =
                               fake->levels[0].PagingProcessPageTableSegmentId = fake->count)
CHANGE(no_window, fake->segments[0].CpuTranslatedAddress.QuadPart = 0)
CHANGE(odd_window, fake->segments[0].CpuTranslatedAddress.QuadPart += 8)
CHANGE(unused_window, fake->segments[2].CpuTranslatedAddress.QuadPart = 12345)
CHANGE(aperture_without_window, fake->segments[1].Flags.CpuVisible = 1;
       fake->segments[1].CpuTranslatedAddress.QuadPart = (LONGLONG)0xfffffffe00000000)
CHANGE(coherent_memory, fake->segments[2].Flags.CacheCoherent = 1)
CHANGE(reserved_bit, fake->segments[2].Flags.Value |= 1u << 31)
CHANGE(newer_bit, fake->segments[1].Flags.LocalBudgetGroup = 1)
CHANGE(firmware_bit, fake->segments[2].Flags.PopulatedByReservedDDRByFirmware = 1)
CHANGE(preserved_bit, fake->segments[2].Flags.PreservedDuringStandby = 1)
CHANGE(reserved_memory, fake->segments[2].Flags.ReservedSysMem = 1)
CHANGE(two_windows, fake->segments[0].Flags.SupportsCpuHostAperture = 1)
CHANGE(cached_window, fake->segments[2].Flags.SupportsCachedCpuHostAperture = 1)
CHANGE(host_aperture, fake->segments[2].Flags.SupportsCpuHostAperture = 1;
       fake->segments[2].Flags.SupportsCachedCpuHostAperture = 1)
CHANGE(no_aperture, fake->segments[1].Flags.Value = 0)
CHANGE(two_apertures, fake->segments[2].Flags.Aperture = 1)
CHANGE(range_offset, set_range(fake, 0x800, 0x1000))
CHANGE(range_size, set_range(fake, 0x1000, 0x1800))
CHANGE(range_end, set_range(fake, 256 * MiB - 0x1000, 0x2000))
CHANGE(range_outside, set_range(fake, 256 * MiB, 0x1000))
CHANGE(range_empty, set_range(fake, 0x1000, 0))
CHANGE(range_count, set_range(fake, 0x1000, 0x1000); fake->range_count_told = 0)
CHANGE(range_flood, fake->segments[0].NumInvalidMemoryRanges = 0xffffffff)
CHANGE(range_of_64kb, fake->segments[0].Flags.Use64KBPages = 1; set_range(fake, 0x1000, 0x10000))
CHANGE(vpr, fake->segments[2].Flags.VprSupported = 1; fake->segments[2].VprAlignment = 0x10000;
       fake->segments[2].VprRangeStartOffset = 0x8000)
CHANGE(vpr_size, fake->segments[2].Flags.VprSupported = 1; fake->segments[2].VprAlignment = 0x10000;
       fake->segments[2].VprRangeSize = 0x8000)
CHANGE(vpr_outside, fake->segments[2].Flags.VprSupported = 1;
       fake->segments[2].VprRangeStartOffset = 0x10000;
       fake->segments[2].VprRangeSize = fake->segments[2].Size)
CHANGE(vpr_reserve, fake->segments[2].Flags.VprSupported = 1;
       fake->segments[2].VprRangeSize = 0x20000; fake->segments[2].VprReserveSize = 0x30000)
CHANGE(vpr_count, fake->segments[2].NumVprSupported = 1)
CHANGE(vpr_kept, fake->segments[2].Flags.VprPreservedDuringStandby = 1)
CHANGE(picture_flood, fake->segments[0].NumUEFIFrameBufferRanges = UINT32_MAX)
CHANGE(two_sources, fake->segments[2].Flags.PopulatedFromSystemMemory = 1;
       fake->segments[2].Flags.PopulatedByReservedDDRByFirmware = 1)
CHANGE(two_budgets, fake->segments[2].Flags.LocalBudgetGroup = 1;
       fake->segments[2].Flags.NonLocalBudgetGroup = 1)
CHANGE(vpr_good, fake->segments[2].Flags.VprSupported = 1; fake->segments[2].VprAlignment = 0x10000;
       fake->segments[2].VprRangeSize = 0x20000)
CHANGE(banked_aperture, fake->segments[1].Flags.UseBanking = 1)
CHANGE(no_banks, set_banks(fake, 0, good_ends))
CHANGE(bank_flood, set_banks(fake, 128, good_ends))
CHANGE(no_bank_table, set_banks(fake, 2, NULL))
CHANGE(falling_banks, set_banks(fake, 3, falling_ends))
CHANGE(long_banks, set_banks(fake, 3, long_ends))
CHANGE(good_banks, set_banks(fake, 3, good_ends))
CHANGE(agp, fake->segments[1].Flags.Value = 2)
CHANGE(preserved_010, set_preserved(fake, false, true, false))
CHANGE(preserved_001, set_preserved(fake, false, false, true))
CHANGE(preserved_011, set_preserved(fake, false, true, true))
CHANGE(preserved_111, set_preserved(fake, true, true, true))
CHANGE(preserved_100, set_preserved(fake, true, false, false))
CHANGE(preserved_101, set_preserved(fake, true, false, true))
CHANGE(preserved_110, set_preserved(fake, true, true, false))
CHANGE(flag_alone, set_preserved(fake, true, false, true);
       fake->segments[0].SystemMemoryEndAddress = 0)
CHANGE(end_outside, set_preserved(fake, true, false, true);
       fake->segments[0].SystemMemoryEndAddress = 256 * MiB)
CHANGE(paging_in_memory, fake->paging_segment = 1)
CHANGE(paging_nowhere, fake->paging_segment = 4)
CHANGE(paging_in_aperture, fake->paging_segment = 2)
CHANGE(paging_empty, fake->paging_bytes = 0)
CHANGE(paging_huge, fake->paging_bytes = 0xffffffff)
CHANGE(private_huge, fake->paging_private_bytes = 0xffffffff)
CHANGE(private_none, fake->paging_private_bytes = 0)
CHANGE(va_without_mmu, fake->driver.MemoryManagementCaps.GpuMmuSupported = 0)
CHANGE(mmu_without_va, fake->driver.MemoryManagementCaps.VirtualAddressingSupported = 0)
CHANGE(iommu_without_va, fake->driver.MemoryManagementCaps.VirtualAddressingSupported = 0;
       fake->driver.MemoryManagementCaps.GpuMmuSupported = 0;
       fake->driver.MemoryManagementCaps.IoMmuSupported = 1)
CHANGE(both_mmus, fake->driver.MemoryManagementCaps.IoMmuSupported = 1)
CHANGE(no_virtual_addresses, fake->driver.MemoryManagementCaps.VirtualAddressingSupported = 0;
       fake->driver.MemoryManagementCaps.GpuMmuSupported = 0)
CHANGE(one_level, fake->mmu.PageTableLevelCount = 1)
CHANGE(seven_levels, fake->mmu.PageTableLevelCount = 7)
CHANGE(va_bits, fake->mmu.VirtualAddressBitCount = 47)
CHANGE(va_bits_huge, fake->mmu.VirtualAddressBitCount = 64;
       fake->levels[3].PageTableIndexBitCount = 25)
CHANGE(table_size, fake->levels[2].PageTableSizeInBytes = 4100)
CHANGE(system_table, fake->levels[2].PageTableSizeInBytes = 8192;
       fake->levels[2].PageTableSegmentId = 0)
CHANGE(system_paging_table, fake->levels[2].PageTableSizeInBytes = 8192;
       fake->levels[2].PagingProcessPageTableSegmentId = 0)
CHANGE(large_table, fake->levels[2].PageTableSizeInBytes = 8192)
CHANGE(no_bits, fake->levels[3].PageTableIndexBitCount = 0; fake->mmu.VirtualAddressBitCount = 39)
CHANGE(no_table_size, fake->levels[3].PageTableSizeInBytes = 0)
CHANGE(unsized_leaf, set_two_levels(fake, 9, 4096, true); fake->levels[0].PageTableSizeInBytes = 0)
CHANGE(unsizable_root, set_two_levels(fake, 0, 0, false))
CHANGE(resizable_root, set_two_levels(fake, 0, 0, true))
CHANGE(resizable_root_va, set_two_levels(fake, 0, 0, true); fake->mmu.VirtualAddressBitCount = 21)
CHANGE(fixed_root_of_two, set_two_levels(fake, 9, 4096, false))
CHANGE(cpu_directories, fake->mmu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL)
CHANGE(cpu_system_directories, fake->mmu.PageTableUpdateMode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
       for (unsigned i = 1; i < 4; i++) fake->levels[i].PageTableSegmentId = 0)
CHANGE(mode, fake->mmu.PageTableUpdateMode = (DXGK_PAGETABLEUPDATEMODE)3)
CHANGE(alignment, fake->levels[0].PageTableAlignmentInBytes = 12288)
CHANGE(index_bits, fake->levels[0].PageTableIndexBitCount = 0xffffffff)
CHANGE(bits_32, set_two_levels(fake, 32, 4096, false))
CHANGE(bits_31, set_two_levels(fake, 31, 4096, false))
CHANGE(empty_segment, set_size(fake, 2, 0))
CHANGE(huge_segment, set_size(fake, 2, UINT64_C(0xfffffffffffff000)))
CHANGE(high_segment, fake->segments[2].BaseAddress.QuadPart = (LONGLONG)(UINT64_C(1) << 52) - 4096)
CHANGE(negative_base, fake->segments[2].BaseAddress.QuadPart = -4096)
CHANGE(odd_base, fake->segments[2].BaseAddress.QuadPart = (LONGLONG)(4 * GiB + 512))
CHANGE(no_nodes, fake->driver.GpuEngineTopology.NbAsymetricProcessingNodes = 0)
CHANGE(one_unaware_node, fake->driver.GpuEngineTopology.NbAsymetricProcessingNodes = 0;
       fake->driver.SchedulingCaps.MultiEngineAware = 0;
       fake->driver.MemoryManagementCaps.PagingNode = 0)
CHANGE(no_contexts, fake->lacks[MINIPORT_DDI_CreateContext] = true)
CHANGE(no_contexts_unaware, no_contexts(fake); one_unaware_node(fake))
CHANGE(paging_node, fake->driver.MemoryManagementCaps.PagingNode = 2)
CHANGE(adapter_nodes, fake->adapter.NumExecutionNodes = 65)
CHANGE(adapter_paging_node, fake->adapter.PagingNodeIndex = 3)

static void every_broken_rule_is_named_with_its_field(void **state)
{
    static const struct {
        const char *rule;
        const char *text;
        ULONG version;
        void (*change)(struct fake *fake);
    } cases[] = {
        {"SEG-001", "QUERYSEGMENT4.PagingBufferSize is 0x10000;", WDDM20, all_at_first},
        {"SEG-001", "QUERYSEGMENT3.PagingBufferSize", WDDM13, all_at_first},
        {"SEG-001", "QUERYSEGMENT.PagingBufferSize", WIN7, all_at_first},
        {"SEG-002", "QUERYSEGMENT4.NbSegment is 0x4;", WDDM20, other_count},
        {"SEG-002", "QUERYSEGMENT3.NbSegment", WIN8, other_count},
        {"SEG-002", "QUERYSEGMENT.NbSegment", VISTA, other_count},
        {"SEG-004", "QUERYSEGMENT4.pSegmentDescriptor", WDDM20, no_stride},
        {"SEG-005", "PAGETABLELEVELDESC[2].PageTableSegmentId is 0x4;", WDDM20, table_segment},
        {"SEG-005", "PAGETABLELEVELDESC[1].PagingProcessPageTableSegmentId is 0x9;", WDDM20,
         paging_table_segment},
        {"", "PAGETABLELEVELDESC[2].PageTableSegmentId is 0x2;", WDDM20, tables_in_aperture},
        {"", "PAGETABLELEVELDESC[1].PagingProcessPageTableSegmentId is 0x2;", WDDM20,
         paging_tables_in_aperture},
        {"SEG-006", "QUERYSEGMENT4.pSegmentDescriptor[2].BaseAddress is 0xffff000;", WDDM20,
         overlap},
        {"SEG-007", "QUERYSEGMENT3.pSegmentDescriptor[2].Size is 0xbfffffff;", WDDM13, odd_size},
        {"SEG-007", "QUERYSEGMENT4.pSegmentDescriptor[2].Size is 0x40001000;", WDDM20,
         odd_64kb_size},
        {"SEG-008", "QUERYSEGMENT4.NbSegment is 0x20;", WDDM20, too_many},
        {"SEG-009", "QUERYSEGMENT4.pSegmentDescriptor[2].CommitLimit", WDDM20, memory_limit},
        {"SEG-009", "QUERYSEGMENT.pSegmentDescriptor[1].CommitLimit", WIN7, aperture_limit},
        {"SEG-010", "QUERYSEGMENT4.pSegmentDescriptor[0].CpuTranslatedAddress is 0x0;", WDDM20,
         no_window},
        {"SEG-010", "QUERYSEGMENT4.pSegmentDescriptor[0].CpuTranslatedAddress is 0xe0000008;",
         WDDM20, odd_window},
        {"SEG-014", "QUERYSEGMENT4.pSegmentDescriptor[2].Flags is 0x80000000;", WDDM32,
         reserved_bit},
        {"SEG-014", "QUERYSEGMENT3.pSegmentDescriptor[1].Flags is 0x80000;", WDDM13, newer_bit},
        {"SEG-014", "QUERYSEGMENT4.pSegmentDescriptor[2].Flags is 0x200000;", WDDM26, firmware_bit},
        {"SEG-014", "QUERYSEGMENT.pSegmentDescriptor[2].Flags is 0x80;", WIN7, preserved_bit},
        {"SEG-014", "QUERYSEGMENT4.pSegmentDescriptor[2].Flags.ReservedSysMem", WDDM20,
         reserved_memory},
        {"SEG-015", "QUERYSEGMENT4.pSegmentDescriptor[0].Flags.SupportsCpuHostAperture", WDDM20,
         two_windows},
        {"SEG-015", "QUERYSEGMENT4.pSegmentDescriptor[2].Flags.SupportsCachedCpuHostAperture",
         WDDM20, cached_window},
        {"SEG-016", "Flags.Aperture is 0x0;", WDDM20, no_aperture},
        {"SEG-016", "Flags.Aperture is 0x2;", WDDM20, two_apertures},
        {"SEG-019", "SEGMENTMEMORYSTATE(segment 1).pMemoryRanges[0].SegmentOffset is 0x800;",
         WDDM20, range_offset},
        {"SEG-019", "pMemoryRanges[0].SizeInBytes is 0x1800;", WDDM20, range_size},
        {"SEG-019", "pMemoryRanges[0].SizeInBytes is 0x2000;", WDDM20, range_end},
        {"SEG-019", "pMemoryRanges[0].SegmentOffset is 0x10000000;", WDDM20, range_outside},
        {"SEG-019", "pMemoryRanges[0].SizeInBytes is 0x0;", WDDM20, range_empty},
        {"SEG-019", "pMemoryRanges[0].SegmentOffset is 0x1000;", WDDM20, range_of_64kb},
        {"SEG-019", "SEGMENTMEMORYSTATE.NumInvalidMemoryRanges is 0x0;", WDDM20, range_count},
        {"SEG-019", "QUERYSEGMENT4.pSegmentDescriptor[0].NumInvalidMemoryRanges", WDDM20,
         range_flood},
        {"SEG-025", "QUERYSEGMENT4.pSegmentDescriptor[2].VprRange is 0x8000;", WDDM21, vpr},
        {"SEG-025", "QUERYSEGMENT4.pSegmentDescriptor[2].VprRange is 0x8000;", WDDM21, vpr_size},
        {"SEG-025", "pSegmentDescriptor[2].VprRangeStartOffset is 0x10000;", WDDM21, vpr_outside},
        {"SEG-025", "pSegmentDescriptor[2].VprReserveSize is 0x30000;", WDDM26, vpr_reserve},
        {"SEG-025", "pSegmentDescriptor[2].NumVprSupported is 0x1;", WDDM26, vpr_count},
        {"SEG-025", "Flags.VprPreservedDuringStandby is 0x1;", WDDM26, vpr_kept},
        {"SEG-019", "NumUEFIFrameBufferRanges is 0xffffffff;", WDDM26, picture_flood},
        {"SEG-013", "Flags.PopulatedByReservedDDRByFirmware is 0x1;", WDDM32, two_sources},
        {"SEG-026", "Flags.NonLocalBudgetGroup is 0x1;", WDDM20, two_budgets},
        {"BANK-001", "QUERYSEGMENT3.pSegmentDescriptor[1].Flags.UseBanking", WDDM13,
         banked_aperture},
        {"BANK-001", "QUERYSEGMENT3.pSegmentDescriptor[0].NbOfBanks is 0x0;", WDDM13, no_banks},
        {"BANK-001", "QUERYSEGMENT3.pSegmentDescriptor[0].NbOfBanks is 0x80;", WDDM13, bank_flood},
        {"BANK-001", "QUERYSEGMENT.pSegmentDescriptor[0].pBankRangeTable", WIN7, no_bank_table},
        {"BANK-002", "QUERYSEGMENT3.pSegmentDescriptor[0].pBankRangeTable is 0x2000000;", WDDM13,
         falling_banks},
        {"BANK-002", "QUERYSEGMENT3.pSegmentDescriptor[0].pBankRangeTable is 0x10000000;", WDDM13,
         long_banks},
        {"BANK-006", "QUERYSEGMENT.pSegmentDescriptor[1].Flags.Agp", VISTA, agp},
        {"PWR-001", "QUERYSEGMENT4.pSegmentDescriptor[0].Flags.Preserved* is 0x2;", WDDM20,
         preserved_010},
        {"PWR-001", "Flags.Preserved* is 0x4;", WIN8, preserved_001},
        {"PWR-001", "Flags.Preserved* is 0x6;", WDDM20, preserved_011},
        {"PWR-001", "Flags.Preserved* is 0x7;", WDDM20, preserved_111},
        {"PWR-006", "pSegmentDescriptor[0].SystemMemoryEndAddress is 0x0;", WDDM20, flag_alone},
        {"PWR-006", "pSegmentDescriptor[0].SystemMemoryEndAddress is 0x10000000;", WDDM20,
         end_outside},
        {"PB-019", "QUERYSEGMENT4.PagingBufferSegmentId is 0x1;", WDDM20, paging_in_memory},
        {"PB-019", "QUERYSEGMENT.PagingBufferSegmentId is 0x4;", WIN7, paging_nowhere},
        {"PB-020", "QUERYSEGMENT4.PagingBufferSize is 0x0;", WDDM20, paging_empty},
        {"CTX-016", "MultiEngineAware is 0x1;", WDDM13, no_contexts},
        {"CTX-016", "MultiEngineAware is 0x1;", WDDM20, no_contexts},
        {"CTX-016", "MultiEngineAware is 0x0;", WDDM20, no_contexts_unaware},
        {"PT-001", "DRIVERCAPS.MemoryManagementCaps.VirtualAddressingSupported", WDDM20,
         va_without_mmu},
        {"PT-001", "DRIVERCAPS.MemoryManagementCaps.GpuMmuSupported", WDDM20, mmu_without_va},
        {"PT-001", "DRIVERCAPS.MemoryManagementCaps.IoMmuSupported", WDDM20, iommu_without_va},
        {"PT-003", "GPUMMUCAPS.PageTableLevelCount is 0x1;", WDDM20, one_level},
        {"PT-003", "GPUMMUCAPS.PageTableLevelCount is 0x7;", WDDM20, seven_levels},
        {"PT-005", "GPUMMUCAPS.VirtualAddressBitCount is 0x2f;", WDDM20, va_bits},
        {"PT-005", "GPUMMUCAPS.VirtualAddressBitCount is 0x40;", WDDM20, va_bits_huge},
        {"PT-005", "GPUMMUCAPS.VirtualAddressBitCount is 0x15;", WDDM20, resizable_root_va},
        {"PT-006", "PAGETABLELEVELDESC[2].PageTableSizeInBytes is 0x1004;", WDDM20, table_size},
        {"PT-006", "PAGETABLELEVELDESC[2].PageTableSizeInBytes is 0x2000;", WDDM20, system_table},
        {"PT-006", "PAGETABLELEVELDESC[2].PageTableSizeInBytes is 0x2000;", WDDM20,
         system_paging_table},
        {"PT-007", "PAGETABLELEVELDESC[3].PageTableIndexBitCount is 0x0;", WDDM20, no_bits},
        {"PT-007", "PAGETABLELEVELDESC[3].PageTableSizeInBytes is 0x0;", WDDM20, no_table_size},
        {"PT-007", "PAGETABLELEVELDESC[0].PageTableSizeInBytes is 0x0;", WDDM20, unsized_leaf},
        {"PT-007", "PAGETABLELEVELDESC[1].PageTableIndexBitCount is 0x0;", WDDM20, unsizable_root},
        {"PT-022", "PAGETABLELEVELDESC[1].PageTableSegmentId is 0x1;", WDDM20, cpu_directories},
        /* Impossible, and no rule speaks of it. */
        {"", "QUERYSEGMENT4.NbSegment is 0x0;", WDDM20, none},
        {"", "QUERYSEGMENT4.pSegmentDescriptor[2].Size is 0x0;", WDDM20, empty_segment},
        {"", "QUERYSEGMENT4.pSegmentDescriptor[2].Size is 0xfffffffffffff000;", WDDM20,
         huge_segment},
        {"", "QUERYSEGMENT4.pSegmentDescriptor[2].BaseAddress is 0xffffffffff000;", WDDM20,
         high_segment},
        {"", "QUERYSEGMENT4.pSegmentDescriptor[2].BaseAddress is 0xfffffffffffff000;", WDDM20,
         negative_base},
        {"", "QUERYSEGMENT4.pSegmentDescriptor[2].BaseAddress is 0x100000200;", WDDM20, odd_base},
        {"", "QUERYSEGMENT4.PagingBufferSize is 0xffffffff;", WDDM20, paging_huge},
        {"", "QUERYSEGMENT4.PagingBufferPrivateDataSize is 0xffffffff;", WDDM20, private_huge},
        {"", "DRIVERCAPS.GpuEngineTopology.NbAsymetricProcessingNodes is 0x0;", WDDM13, no_nodes},
        {"", "DRIVERCAPS.MemoryManagementCaps.PagingNode is 0x2;", WDDM13, paging_node},
        {"", "PHYSICALADAPTERCAPS.NumExecutionNodes is 0x41;", WDDM20, adapter_nodes},
        {"", "PHYSICALADAPTERCAPS.PagingNodeIndex is 0x3;", WDDM20, adapter_paging_node},
        {"", "GPUMMUCAPS.PageTableUpdateMode is 0x3;", WDDM20, mode},
        {"", "PAGETABLELEVELDESC[0].PageTableAlignmentInBytes is 0x3000;", WDDM20, alignment},
        {"", "PAGETABLELEVELDESC[0].PageTableIndexBitCount is 0xffffffff;", WDDM20, index_bits},
        {"", "PAGETABLELEVELDESC[1].PageTableIndexBitCount is 0x20;", WDDM20, bits_32},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        static const struct vidmm_caps no_caps;
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, cases[i].version);
        cases[i].change(&fake);
        if (query(&fake, &caps, &failure) != STATUS_INVALID_PARAMETER ||
            strcmp(failure.rule, cases[i].rule) != 0 || !strstr(failure.text, cases[i].text))
            fail_msg("case %zu, %s %s: got %s, %s", i, cases[i].rule, cases[i].text, failure.rule,
                     failure.text);
        assert_non_null(strstr(failure.text, "; expected "));
        assert_memory_equal(&caps, &no_caps, sizeof caps);
    }
}

/* The page of the descriptor says that the adapter fails to initialize. */
static void a_flag_beside_Agp_keeps_the_adapter_from_starting(void **state)
{
    static const DXGK_SEGMENTFLAGS others[] = {{.Agp = 1}, {.Aperture = 1}, {.CpuVisible = 1}};
    struct vidmm_platform bridge = platform;

    bridge.agp_base = 0xd0000000;
    bridge.agp_bytes = 64 * MiB;
    for (size_t i = 0; i < ARRAY_COUNT(others); i++) {
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;
        NTSTATUS status;

        make_fake(&fake, WDDM13);
        fake.segments[1].Flags = others[i];
        fake.segments[1].Flags.Agp = 1;
        status =
            vidmm_caps_query(&fake.miniport, base_services_libc(), &bridge, NULL, &caps, &failure);
        assert_int_equal(status, i ? STATUS_INVALID_PARAMETER : STATUS_SUCCESS);
        assert_string_equal(failure.rule, i ? "BANK-006" : "");
        vidmm_caps_fini(base_services_libc(), &caps);
    }
}

static void the_nearest_lawful_reports_are_taken(void **state)
{
    static const struct {
        ULONG version;
        void (*change)(struct fake *fake);
    } cases[] = {
        {WDDM20, even_64kb_size},
        {WDDM20, as_many_as_there_are},
        {WDDM20, tables_in_the_last},
        {WDDM20, small_aperture_limit},
        {WDDM20, unused_window},
        {WDDM20, aperture_without_window},
        {WDDM13, aperture_without_window},
        {WDDM20, coherent_memory},
        {WDDM20, no_memory_limit},
        {WDDM29, firmware_bit},
        {WIN8, preserved_bit},
        {WDDM20, newer_bit},
        {WDDM20, host_aperture},
        {WDDM13, no_aperture},
        {WDDM13, two_apertures},
        {WDDM21, vpr_good},
        {WDDM20, vpr},
        {WDDM13, good_banks},
        {VISTA, good_banks},
        {WDDM20, preserved_100},
        {WDDM20, preserved_101},
        {WDDM20, preserved_110},
        {WDDM20, paging_in_aperture},
        {WDDM20, private_none},
        {WDDM20, both_mmus},
        {WDDM20, no_virtual_addresses},
        {WDDM20, large_table},
        {WDDM20, resizable_root},
        {WDDM20, fixed_root_of_two},
        {WDDM20, bits_31},
        {WDDM20, cpu_system_directories},
        {VISTA, one_unaware_node},
        {WDDM13, no_contexts_unaware},
        {WDDM13, no_stride},
        {WDDM13, iommu_without_va},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, cases[i].version);
        cases[i].change(&fake);
        if (query(&fake, &caps, &failure) != STATUS_SUCCESS)
            fail_msg("case %zu: %s %s", i, failure.rule, failure.text);
        assert_int_equal(caps.is_virtual,
                         cases[i].version >= WDDM20 && cases[i].change != no_virtual_addresses);
        vidmm_caps_fini(base_services_libc(), &caps);
    }
}

static void an_address_that_no_bus_has_is_no_window(void **state)
{
    struct vidmm_failure failure;
    struct vidmm_caps caps;
    struct fake fake;

    make_fake(&fake, WDDM20);
    aperture_without_window(&fake);
    assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
    assert_int_equal(caps.segments[1].cpu_address, 0);
    assert_int_equal(caps.segments[0].cpu_address, fake.segments[0].CpuTranslatedAddress.QuadPart);
    vidmm_caps_fini(base_services_libc(), &caps);
}

/* ---- Not ours ---- */

static void an_iommu_without_a_gpu_mmu_has_no_page_tables_and_is_not_asked_for_any(void **state)
{
    struct vidmm_failure failure;
    struct vidmm_caps caps;
    struct fake fake;

    make_fake(&fake, WDDM20);
    fake.driver.MemoryManagementCaps.GpuMmuSupported = 0;
    fake.driver.MemoryManagementCaps.IoMmuSupported = 1;
    assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
    assert_true(caps.is_virtual);
    assert_false(caps.has_page_tables);
    assert_int_equal(caps.level_count, 0);
    vidmm_caps_fini(base_services_libc(), &caps);
}

/*
 * Asked by itself: what the flags say where they agree, nothing of models before 2.0, no answer, no
 * guess.
 */
static void the_model_is_told_by_the_caps_alone(void **state)
{
    for (unsigned flags = 0; flags < 8; flags++) {
        bool is_virtual = flags & 1, has_gpummu = flags & 2, has_iommu = flags & 4;
        struct vidmm_model_caps model;
        struct fake fake;

        make_fake(&fake, WDDM20);
        fake.driver.MemoryManagementCaps.VirtualAddressingSupported = is_virtual;
        fake.driver.MemoryManagementCaps.GpuMmuSupported = has_gpummu;
        fake.driver.MemoryManagementCaps.IoMmuSupported = has_iommu;
        assert_int_equal(vidmm_query_model(&fake.miniport, &model),
                         is_virtual == (has_gpummu || has_iommu));
        assert_int_equal(model.is_virtual, is_virtual);
        assert_int_equal(model.has_gpummu, has_gpummu);
        assert_int_equal(model.has_iommu, has_iommu);

        make_fake(&fake, WDDM13);
        assert_true(vidmm_query_model(&fake.miniport, &model));
        assert_false(model.is_virtual || model.has_gpummu || model.has_iommu);
        fake.failing_type = DXGKQAITYPE_DRIVERCAPS;
        fake.failing_status = STATUS_DEVICE_NOT_READY;
        assert_false(vidmm_query_model(&fake.miniport, &model));
    }
}

static void the_drivers_own_failure_comes_out_with_the_query(void **state)
{
    static const struct {
        int type;
        const char *name;
    } cases[] = {
        {DXGKQAITYPE_DRIVERCAPS, "(DRIVERCAPS)"},
        {DXGKQAITYPE_PHYSICALADAPTERCAPS, "(PHYSICALADAPTERCAPS)"},
        {DXGKQAITYPE_GPUMMUCAPS, "(GPUMMUCAPS)"},
        {DXGKQAITYPE_PAGETABLELEVELDESC, "(PAGETABLELEVELDESC)"},
        {DXGKQAITYPE_QUERYSEGMENT4, "(QUERYSEGMENT4)"},
        {DXGKQAITYPE_SEGMENTMEMORYSTATE, "(SEGMENTMEMORYSTATE)"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, WDDM20);
        set_range(&fake, 0, 0x1000);
        fake.failing_type = cases[i].type;
        fake.failing_status = STATUS_DEVICE_NOT_READY;
        assert_int_equal(query(&fake, &caps, &failure), STATUS_DEVICE_NOT_READY);
        assert_string_equal(failure.rule, "");
        assert_non_null(strstr(failure.text, cases[i].name));
        assert_non_null(strstr(failure.text, "0xc00000a3"));
        assert_int_equal(caps.segment_count, 0);
    }
}

/* Of both passes that ask for segments the second one, too; nothing of the answers is kept. */
static void each_query_that_fails_in_its_turn_ends_the_start(void **state)
{
    static const ULONG versions[] = {VISTA, WIN7, WIN8, WDDM13, WDDM20, WDDM26};

    for (size_t i = 0; i < ARRAY_COUNT(versions); i++) {
        NTSTATUS status = STATUS_DEVICE_NOT_READY;

        for (unsigned turn = 0; status == STATUS_DEVICE_NOT_READY; turn++) {
            static const struct vidmm_caps none;
            struct vidmm_failure failure;
            struct vidmm_caps caps;
            struct fake fake;

            make_fake(&fake, versions[i]);
            if (versions[i] >= WDDM20)
                set_range(&fake, 0, 0x1000);
            fake.failing_turn = turn;
            fake.failing_status = STATUS_DEVICE_NOT_READY;
            status = query(&fake, &caps, &failure);
            if (NT_SUCCESS(status)) {
                /* The last one may fail: then nothing is saved. */
                assert_int_equal(fake.asked, turn + (versions[i] >= WDDM26));
                vidmm_caps_fini(base_services_libc(), &caps);
                continue;
            }
            assert_int_equal(status, STATUS_DEVICE_NOT_READY);
            assert_int_equal(fake.asked, turn + 1); /* nothing is asked behind it */
            assert_non_null(strstr(failure.text, "0xc00000a3"));
            assert_memory_equal(&caps, &none, sizeof caps);
        }
        assert_int_equal(status, STATUS_SUCCESS);
    }
}

static NTSTATUS write_and_refuse(struct miniport *self, HANDLE object,
                                 const DXGKARG_QUERYADAPTERINFO *query)
{
    memset(query->pOutputData, 0xff, query->OutputDataSize);
    return STATUS_NOT_SUPPORTED;
}

static void what_a_driver_wrote_to_an_answer_that_it_refused_is_not_read(void **state)
{
    struct vidmm_early_caps early;
    struct fake fake;

    make_fake(&fake, WDDM29);
    fake.ops.query_adapter_info = write_and_refuse;
    vidmm_query_early(&fake.miniport, &early);
    assert_int_equal(early.highest_visible_address, 0);
    assert_false(early.can_remap);
}

static void every_nth_allocation_failure_leaks_nothing(void **state)
{
    static const ULONG versions[] = {WIN7, WDDM13, WDDM20};

    for (size_t i = 0; i < ARRAY_COUNT(versions); i++) {
        uint64_t failed_count = 0;

        for (uint64_t n = 1;; n++) {
            struct failing_services memory;
            struct vidmm_failure failure;
            struct vidmm_caps caps;
            struct fake fake;
            NTSTATUS status;

            make_fake(&fake, versions[i]);
            if (versions[i] < WDDM20)
                good_banks(&fake);
            else
                set_range(&fake, 0, 0x1000);
            failing_services_init(&memory);
            failing_services_fail_at(&memory, n);
            status = vidmm_caps_query(&fake.miniport, &memory.services, &platform, NULL, &caps,
                                      &failure);
            if (NT_SUCCESS(status)) {
                vidmm_caps_fini(&memory.services, &caps);
            } else {
                assert_int_equal(status, STATUS_NO_MEMORY);
                assert_non_null(strstr(failure.text, "no memory"));
            }
            assert_int_equal(memory.live_blocks, 0);
            failed_count += memory.has_failed;
            if (!memory.has_failed)
                break;
        }
        assert_true(failed_count >= 2);
    }
}

/* Of each function that a driver may lack: which of its abilities is not used then. */
static void what_a_driver_has_no_function_for_is_not_used(void **state)
{
    static const struct {
        enum miniport_ddi ddi;
        bool contexts, ranges, fences, km, flips;
        bool lacks_gdi;
    } cases[] = {
        {MINIPORT_DDI_COUNT, true, true, true, true, true, false}, /* it lacks none */
        {MINIPORT_DDI_CreateContext, false, true, true, true, true, false},
        {MINIPORT_DDI_AcquireSwizzlingRange, true, false, true, true, true, false},
        {MINIPORT_DDI_ReleaseSwizzlingRange, true, false, true, true, true, false},
        {MINIPORT_DDI_CreateNativeFence, true, true, false, true, true, false},
        {MINIPORT_DDI_DestroyNativeFence, true, true, false, true, true, false},
        {MINIPORT_DDI_UpdateMonitoredValues, true, true, false, true, true, false},
        {MINIPORT_DDI_RenderKm, true, true, true, false, true, false},
        {MINIPORT_DDI_RenderGdi, true, true, true, true, true, true},
        {MINIPORT_DDI_SetVidPnSourceAddress, true, true, true, true, false, false},
        {MINIPORT_DDI_SetVidPnSourceVisibility, true, true, true, true, false, false},
    };

    for (size_t i = 0; i < 2 * ARRAY_COUNT(cases); i++) {
        const bool is_virtual = i % 2;
        struct vidmm_failure failure;
        struct vidmm_caps caps;
        struct fake fake;

        make_fake(&fake, is_virtual ? WDDM32 : WIN7);
        fake.driver.NumberOfSwizzlingRanges = 3;
        fake.driver.FlipCaps.FlipOnVSyncMmIo = 1;
        fake.driver.PresentationCaps.SupportKernelModeCommandBuffer = 1;
        fake.driver.SchedulingCaps.NativeGpuFence = is_virtual;
        if (cases[i / 2].ddi < MINIPORT_DDI_COUNT)
            fake.lacks[cases[i / 2].ddi] = true;
        if (!cases[i / 2].contexts && is_virtual)
            continue; /* CTX-016 */
        if (!cases[i / 2].contexts)
            one_unaware_node(&fake);
        assert_int_equal(query(&fake, &caps, &failure), STATUS_SUCCESS);
        assert_int_equal(caps.has_contexts, cases[i / 2].contexts);
        assert_int_equal(caps.has_native_fences, is_virtual && cases[i / 2].fences);
        assert_int_equal(caps.renders_for_kernel,
                         is_virtual ? !cases[i / 2].lacks_gdi : cases[i / 2].km);
        assert_int_equal(caps.flips_by_registers, cases[i / 2].flips);
        if (!is_virtual)
            assert_int_equal(caps.swizzling_range_count, cases[i / 2].ranges ? 3 : 0);
        vidmm_caps_fini(base_services_libc(), &caps);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lawful_report_of_every_version_is_taken_over),
        cmocka_unit_test(banks_and_invalid_ranges_are_copied),
        cmocka_unit_test(nothing_is_placed_in_ranges_of_others),
        cmocka_unit_test(every_broken_rule_is_named_with_its_field),
        cmocka_unit_test(a_flag_beside_Agp_keeps_the_adapter_from_starting),
        cmocka_unit_test(the_nearest_lawful_reports_are_taken),
        cmocka_unit_test(an_address_that_no_bus_has_is_no_window),
        cmocka_unit_test(an_iommu_without_a_gpu_mmu_has_no_page_tables_and_is_not_asked_for_any),
        cmocka_unit_test(the_model_is_told_by_the_caps_alone),
        cmocka_unit_test(the_drivers_own_failure_comes_out_with_the_query),
        cmocka_unit_test(each_query_that_fails_in_its_turn_ends_the_start),
        cmocka_unit_test(what_a_driver_wrote_to_an_answer_that_it_refused_is_not_read),
        cmocka_unit_test(every_nth_allocation_failure_leaks_nothing),
        cmocka_unit_test(what_a_driver_has_no_function_for_is_not_used),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
