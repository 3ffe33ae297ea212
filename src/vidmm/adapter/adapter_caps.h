/*
 * Adapter caps: the driver's reports at start, asked for, checked, and normalised.
 *
 * Place      vidmm. Uses base and miniport. The rest of the manager reads struct vidmm_caps and
 *            never a WDK caps structure, so that it is indifferent to the driver's version.
 * Model      vidmm_caps_query() runs sequence S-01 and applies every rule that a report can break.
 * Ownership  vidmm_caps_fini() frees the memory that the query allocated; harmless on zeroed caps.
 * Errors     STATUS_INVALID_PARAMETER: a rule is broken (failure->rule and the field);
 *            STATUS_NOT_SUPPORTED: lawful, but this build does not do it (failure->rule is empty);
 *            STATUS_NO_MEMORY; else the driver's own status. Caps are then zeroed.
 * Source     contract.md SEG-*, BANK-001..006, PWR-001, PWR-006, PT-001..008, PT-022, PB-018..022.
 */
#ifndef VIDMM_ADAPTER_CAPS_H
#define VIDMM_ADAPTER_CAPS_H

#include "base/services.h"
#include "miniport/miniport.h"
#include "vidmm/vidmm.h"

#define VIDMM_MAX_SEGMENTS 31 /* SEG-008: five bits name a segment */
#define VIDMM_MAX_LEVELS   6

#define VIDMM_MAX_SWIZZLING_RANGES 16 /* of the driver's, that are used */

struct vidmm_invalid_range {
    uint64_t offset;
    uint64_t size;
};

struct vidmm_segment_caps {
    uint32_t flags; /* DXGK_SEGMENTFLAGS.Value */
    bool is_aperture;
    bool is_agp;
    bool is_cpu_visible;
    bool is_cache_coherent;
    bool uses_64kb_pages;
    bool is_pitch_aligned; /* before WDDM 2 */
    uint64_t base;         /* BaseAddress */
    uint64_t size;
    uint64_t commit_limit;
    uint64_t cpu_address; /* CpuTranslatedAddress; 0 when the CPU cannot see it */
    bool has_host_aperture;
    uint64_t host_address; /* of the CPU host aperture on the bus */
    uint32_t host_pages;
    uint64_t system_memory_end;
    uint32_t bank_count;
    uint64_t *bank_ends; /* owned */
    /* Where nothing is placed, for whatever reason (adapter_caps_ranges.c). */
    uint32_t invalid_range_count, invalid_range_capacity;
    struct vidmm_invalid_range *invalid_ranges; /* owned */
};

struct vidmm_level_caps {
    uint32_t index_bits;
    uint32_t segment;        /* page tables of ordinary processes; 0: system memory */
    uint32_t paging_segment; /* of the paging process */
    uint32_t table_bytes;
    uint32_t alignment;
};

struct vidmm_caps {
    bool is_virtual;      /* GpuMmu or IoMmu; else physical */
    bool has_page_tables; /* GpuMmu */
    uint32_t interface_version;
    uint32_t node_count;
    uint32_t paging_node;
    bool resets_engines;            /* SupportPerEngineTDR */
    bool manages_components;        /* SupportRuntimePowerManagement, and the DDIs for it */
    bool hears_of_removal_asleep;   /* SupportSurpriseRemovalInHibernation */
    bool hears_of_removal;          /* SupportSurpriseRemoval */
    uint64_t save_area_bytes;       /* DXGK_FRAMEBUFFERSAVEAREA.MaximumSize */
    uint64_t aperture_commit_limit; /* 0: none */
    uint64_t highest_address;
    bool has_contexts;              /* DxgkDdiCreateContext; else devices take their place */
    uint32_t max_slot_id;           /* MaxAllocationListSlotId */
    uint32_t swizzling_range_count; /* below WDDM 2.0 (SWZ-010) */
    bool maps_aperture2;            /* MapAperture2Supported: address descriptor lists */
    bool has_native_fences;         /* NativeGpuFence, and the DDIs for it */
    bool renders_for_kernel;        /* SupportKernelModeCommandBuffer, and the DDI for it */
    bool flips_by_registers;        /* FlipOnVSyncMmIo, and the DDIs for it */
    bool controls_sources; /* IndependentVidPnVSyncControl: syncs of each source by themselves */

    uint32_t segment_count;
    struct vidmm_segment_caps segments[VIDMM_MAX_SEGMENTS]; /* [i] has id i + 1 */

    uint32_t paging_buffer_segment; /* 0: contiguous system memory */
    uint32_t paging_buffer_bytes;
    uint32_t paging_private_bytes;

    /* GpuMmu only. */
    uint32_t va_bits;
    uint32_t level_count;
    bool has_dual_pte; /* two tables to a level 1 entry; else one of 4 KiB or 64 KiB pages */
    bool has_64k_leaves;
    bool chooses_leaf_size; /* ... and one pointer to an entry of level 1, in a root that never
                               grows */
    bool has_large_pages, allows_unaligned_large_pages;
    uint32_t leaf_64k_bytes;                          /* LeafPageTableSizeFor64KPagesInBytes */
    bool root_is_resizable;                           /* levels[1] then says the most bits */
    struct vidmm_level_caps levels[VIDMM_MAX_LEVELS]; /* [0] is the leaf */
    DXGK_PAGETABLEUPDATEMODE update_mode;
    bool has_zero, has_read_only, has_no_execute, has_cache_coherent;
    bool invalid_not_cached;       /* InvalidTlbEntriesNotCached */
    bool explicit_invalidation;    /* ExplicitPageTableInvalidation */
    bool update_requires_idle;     /* PageTableUpdateRequireAddressSpaceIdle */
    bool source_table_in_transfer; /* LegacyBehaviors.SourcePageTableVaInTransfer */
};

/* Calls that Windows 11 makes beside the queries of S-01 (docs/observed.md); NULL: none. */
struct vidmm_caps_extra {
    /*
     * WDDM 1: called when *out_caps says what DRIVERCAPS did, and before the segments are asked
     * for.
     */
    NTSTATUS (*before_segments)(void *context);
    void *context;
};

/*
 * Fills *out_caps, or says in *failure why not. Of the platform the AGP window is told to the
 * driver.
 */
NTSTATUS vidmm_caps_query(struct miniport *miniport, const struct base_services *services,
                          const struct vidmm_platform *platform,
                          const struct vidmm_caps_extra *extra, struct vidmm_caps *out_caps,
                          struct vidmm_failure *failure);
void vidmm_caps_fini(const struct base_services *services, struct vidmm_caps *caps);

#endif
