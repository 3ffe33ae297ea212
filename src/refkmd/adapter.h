/*
 * The driver's own objects, and the functions that cross its files.
 *
 * Place      refkmd, private.
 * Model      adapter > process, device > context; allocations belong to the adapter, openings of
 *            them to a device. A handle that the driver gives to the kernel is the address of its
 *            object. Functions named RefKmd* are DDIs, called by the kernel at the IRQL and in the
 *            synchronisation class that the DDI's page names; the others are ours.
 * Ownership  The kernel destroys what it created, through the DDI made for that. An object holds
 *            plain pointers to its parents, which outlive it, except that an allocation knows no
 *            device at all (ALLOC-017).
 */
#ifndef REFKMD_ADAPTER_H
#define REFKMD_ADAPTER_H

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>
#include <drydock/sgpu.h>

#include "refkmd.h"

#define REFKMD_POOL_TAG 0x6b666552u /* "Refk" in memory */

/* Segment ids, which are 1-based places in what QUERYSEGMENT reports (SEG-005). */
#define REFKMD_SEGMENT_SYSTEM   0u /* implicit: system pages by their physical address */
#define REFKMD_SEGMENT_LOCAL    1u /* local memory from its start; CPU visible behind BAR 1 */
#define REFKMD_SEGMENT_APERTURE 2u /* system pages through the aperture's slots */
#define REFKMD_SEGMENT_HIDDEN   3u /* local memory beyond BAR 1; reported only if there is any */
#define REFKMD_SEGMENT_COUNT    4u /* with the implicit one */
#define REFKMD_IO_MMU_APERTURE  1u /* the aperture where nothing else is reported */
#define REFKMD_SEGMENT_BIT(id)  (1u << ((id)-1))

/*
 * 64 KiB of paging buffer hold the page list of a 32 MiB transfer, or all 512 entries of a page
 * table 15 times. Every operation takes at least SGPU_SUBMIT_ALIGN bytes of it, so this many
 * records of private data last as long as the buffer itself.
 */
#define REFKMD_PAGING_BUFFER_BYTES  (64u * 1024u)
#define REFKMD_PAGING_RECORDS       (REFKMD_PAGING_BUFFER_BYTES / SGPU_SUBMIT_ALIGN)
#define REFKMD_PAGING_PRIVATE_BYTES (REFKMD_PAGING_RECORDS * (UINT)sizeof(struct paging_record))

/* One render command of 4095 references is the longest that the user-mode half can ask for. */
#define REFKMD_DMA_BUFFER_BYTES (128u * 1024u)
#define REFKMD_LIST_ENTRIES     4096u

#define REFKMD_MAX_NODES 8u /* as many as the interrupt register has bits for */

enum refkmd_model { REFKMD_PHYSICAL, REFKMD_GPU_MMU, REFKMD_IO_MMU };

/*
 * What one call of DxgkDdiBuildPagingBuffer leaves in the private data of the paging buffer, one
 * record behind the other (PB-024): a submission carries the records of the operations it runs.
 * If it faults, the driver can tell which those were.
 */
struct paging_record {
    UINT64 address;  /* physical, of its first byte, where the buffer has no virtual one; else 0 */
    UINT operation;  /* DXGK_BUILDPAGINGBUFFER_OPERATION */
    UINT bytes;      /* written for it, padding included */
    BOOLEAN is_idle; /* the kernel said that nothing uses the allocation (AllocationIsIdle) */
};

/* A submission that the node has not retired. */
struct refkmd_submission {
    UINT fence;
    UINT operations; /* one bit for each paging operation in it; 0 for rendering */
    struct refkmd_save_area *save_area; /* that counts it; NULL: none */
};

/*
 * What is under way on a node, oldest first: a ring between the scheduler's calls, which append at
 * newest, and the interrupt routine, which removes at oldest. Fence ids are looked up in it and
 * never compared by size, because they wrap and because the kernel may submit an old id of a
 * paging packet again (SUB-009, SUB-010).
 */
struct refkmd_node {
    struct refkmd_submission submissions[SGPU_QUEUE_SLOTS];
    volatile UINT oldest; /* free running; the slot is the value modulo the number of slots */
    volatile UINT newest; /* the next one to be used */

    /* Of the interrupt routine, or of whoever runs under DxgkCbSynchronizeExecution. */
    UINT last_completed_fence; /* reported, or counted as such after a reset */
    UINT completed_register;   /* SGPU_NODE_COMPLETED as it was last looked at */
    UINT preemption_fence;
    BOOLEAN preemption_is_pending;
    UINT device_resets; /* what save areas held may be lost, or older than it was */
};

#define REFKMD_BANKS            4u
#define REFKMD_SWIZZLING_RANGES SGPU_RANGES

/* Whose a swizzling range is: not acquired while allocation is NULL. */
struct refkmd_range {
    HANDLE allocation;
    UINT data;                 /* PrivateDriverData of the acquisition */
    UINT first_page, end_page; /* of the window, that the board puts in order */
};

struct refkmd_adapter {
    enum refkmd_model model;
    DXGKRNL_INTERFACE dxgkrnl; /* the kernel's callbacks; valid from StartDevice on */

    UCHAR *registers; /* BAR 0, mapped; NULL while stopped */
    BOOLEAN is_gone;  /* removed by surprise: the hardware is not touched any more */
    PHYSICAL_ADDRESS registers_pa;
    PHYSICAL_ADDRESS window_pa; /* BAR 1, as the bus sees it */
    ULONG straps;
    UINT node_count;
    UINT64 local_bytes;
    UINT64 visible_bytes; /* of local memory, through BAR 1 */
    UINT64 aperture_bytes;
    UINT window_pages;              /* of BAR 1, when they are pointed one by one; else 0 */
    UINT64 dead_offset, dead_bytes; /* defective local memory; 0 bytes: none */
    ULONG traits;                   /* SGPU_TRAIT_* */
    UINT64 protected_offset, protected_bytes; /* local memory for protected content */
    UINT64 picture_offset, picture_bytes;     /* ... where the firmware's picture stands */
    UINT64 kept_bytes; /* of local memory, over hibernation, if the straps say so */

    UCHAR index_bits[SGPU_MAX_LEVELS]; /* of page-table levels, leaf first */
    UINT level_count;
    UINT va_bits;

    UINT segment_count; /* reported ones */
    SIZE_T
    bank_ends[REFKMD_BANKS]; /* of the first segment; the kernel keeps the pointer (BANK-002) */
    struct refkmd_range ranges[REFKMD_SWIZZLING_RANGES];
    UINT agp_segment; /* the last of them if there is an AGP bridge, or 0 */

    /* By segment id: what the GPU adds to an offset in the segment, to reach it physically... */
    UINT64 segment_base[REFKMD_SEGMENT_COUNT];
    /* ...and in a page-table entry. Ids that the contract can name and we have not are 0. */
    UINT64 pte_base[32];

    struct refkmd_save_area *save_areas;
    struct refkmd_native_fence *native_fences[SGPU_FENCES]; /* by number; NULL: free */

    struct refkmd_node nodes[REFKMD_MAX_NODES];
};

/*
 * What a handle of ours points at begins with what it is, so that a handle of something else, or of
 * something gone, is noticed (paging_check.c).
 */
#define REFKMD_PROCESS_SIGNATURE    0x50524f43u
#define REFKMD_DEVICE_SIGNATURE     0x44455643u
#define REFKMD_ALLOCATION_SIGNATURE 0x414c4f43u

struct refkmd_process {
    ULONG signature; /* REFKMD_PROCESS_SIGNATURE */
    struct refkmd_adapter *adapter;
    BOOLEAN is_system;        /* the paging process */
    UINT64 root;              /* of its contexts, as the GPU names it; 0: none yet */
    ULONG pasid;              /* IoMmu: its name before the IOMMU; 0: it has none */
    UINT64 own_va, own_bytes; /* addresses that the kernel leaves to the driver; 0 bytes: none */
};

struct refkmd_device {
    ULONG signature; /* REFKMD_DEVICE_SIGNATURE */
    struct refkmd_adapter *adapter;
    struct refkmd_process *process; /* NULL in the physical model */
    ULONG pasid;                    /* IoMmu: the address space of its contexts */
    HANDLE handle;                  /* the kernel's */
};

struct refkmd_context {
    struct refkmd_device *device;
    UINT node;
    BOOLEAN is_virtual; /* its commands hold virtual addresses */
    UINT64 root;        /* physical address of its root page table, as the GPU names it */
    BOOLEAN has_root;
    struct refkmd_save_area *save_area; /* NULL: none */
};

struct refkmd_allocation {
    ULONG signature; /* REFKMD_ALLOCATION_SIGNATURE */
    UINT64 bytes;
    UINT64 kernel_bytes; /* that the kernel was asked for, where it takes most: no less */
    UINT flags;          /* SGPU_UMD_* */

    /* As NOTIFY_RESIDENCY says, in the order of the paging buffers. */
    BOOLEAN is_resident;
    UINT64 resident_address; /* physical, as the GPU names it */
    void *cpu_view;          /* its pages for the CPU while they are in the aperture, or NULL */
};

/*
 * A context-save area: memory of the driver's own, behind the kernel's handle. It is an allocation
 * first of all, because notices of residency name it like one (CTX-009).
 */
struct refkmd_save_area {
    struct refkmd_allocation allocation;
    struct refkmd_save_area *next; /* of the adapter */
    HANDLE handle;                 /* the kernel's */
    struct refkmd_device *device;  /* of whose contexts on node it is; NULL: of one context */
    UINT users;                    /* contexts */
    UINT node;
    UINT flags;             /* SGPU_UMD_SAVE_* */
    UINT64 va;              /* in the process; 0: by physical address */
    UINT64 root;            /* that its content names, or will with the first image */
    BOOLEAN is_initialised; /* the first image has been built */
    UINT64 runs;            /* submissions since that the node has run, or has to run */
    UINT device_resets;     /* those of the node that are known */
    BOOLEAN has_lost_count; /* a reset of the device may have taken some of them back */
};

/* A native fence, and where it is as NOTIFY_FENCE_RESIDENCY said last. */
struct refkmd_native_fence {
    struct refkmd_adapter *adapter;
    UINT number; /* of the GPU's fence unit */
    void *current_cpu, *monitored_cpu;
};

/* What a device holds of an allocation. */
struct refkmd_opening {
    struct refkmd_allocation *allocation;
};

/* ---- Registers (adapter.c) ---------------------------------------------------------------- */

ULONG refkmd_read(const struct refkmd_adapter *adapter, ULONG reg);
void refkmd_write(const struct refkmd_adapter *adapter, ULONG reg, ULONG value);
UINT64 refkmd_read64(const struct refkmd_adapter *adapter, ULONG reg);
void refkmd_write64(const struct refkmd_adapter *adapter, ULONG reg, UINT64 value);

/* Zeroed nonpaged pool, or NULL. */
void *refkmd_alloc(SIZE_T bytes);
void refkmd_free(void *pointer);

/* The kernel took the driver for one of this WDDM level or later (DXGKDDI_INTERFACE_VERSION_*). */
BOOLEAN refkmd_is_at_least(const struct refkmd_adapter *adapter, ULONG version);

/* ---- Segments (segments.c) ---------------------------------------------------------------- */

/* Lay the adapter's memory out in segments, once the registers have told how much there is. */
void refkmd_segments_init(struct refkmd_adapter *adapter);

/*
 * A GPU physical address from a segment and an offset in it, which is how WDDM 2 names memory.
 * WDDM 1 hands out addresses that have the segment's base in them already (SEG-018).
 */
UINT64 refkmd_physical_address(const struct refkmd_adapter *adapter, UINT segment, UINT64 offset);

/*
 * A GPU physical address from one that has the segment's base in it already, as WDDM 1 hands them
 * out: of an AGP segment it is an address of the bus.
 */
UINT64 refkmd_bus_address(const struct refkmd_adapter *adapter, UINT segment, UINT64 address);

/*
 * The bytes lie in the segment, at an address that has its base in it; in an AGP segment only the
 * kernel can tell.
 */
BOOLEAN refkmd_is_in_segment(const struct refkmd_adapter *adapter, UINT segment, UINT64 address,
                             UINT64 bytes);
UINT refkmd_aperture_segment(const struct refkmd_adapter *adapter);

/*
 * Rows of local memory's first segment have a pitch (PitchAlignment), which is a matter of WDDM 1.
 * An allocation of rows is packed everywhere else.
 */
BOOLEAN refkmd_has_pitch(const struct refkmd_adapter *adapter);
BOOLEAN refkmd_is_pitched(const struct refkmd_adapter *adapter,
                          const struct refkmd_allocation *allocation, UINT segment);

/* Page tables must be, or should be, in system memory. */
BOOLEAN refkmd_tables_are_in_system_memory(const struct refkmd_adapter *adapter);

NTSTATUS refkmd_query_segments(struct refkmd_adapter *adapter,
                               const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_segments3(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_segment_memory_state(struct refkmd_adapter *adapter,
                                           const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_firmware_ranges(struct refkmd_adapter *adapter,
                                      const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_segments4(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query);

/* ---- Queries (caps.c, mmu.c) -------------------------------------------------------------- */

/* There is one physical adapter. Kernels that do not say which one they mean, mean that. */
NTSTATUS refkmd_check_physical_adapter(UINT index);

/* The board has a unit for native fences, and the kernel knows what they are. */
BOOLEAN refkmd_has_native_fences(const struct refkmd_adapter *adapter);

/* Local memory is in pages of 64 KiB, and page tables have entries for them. */
BOOLEAN refkmd_has_64k_pages(const struct refkmd_adapter *adapter);
/* Slots of the CPU host aperture (host_aperture.c), each a page of the segment. */
UINT refkmd_host_aperture_slots(const struct refkmd_adapter *adapter);

/* Read the shape of page tables from the board. */
NTSTATUS refkmd_mmu_init(struct refkmd_adapter *adapter);

NTSTATUS refkmd_query_gpu_mmu_caps(struct refkmd_adapter *adapter,
                                   const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_page_table_level(struct refkmd_adapter *adapter,
                                       const DXGKARG_QUERYADAPTERINFO *query);

/* ---- Context-save areas (save_area.c) ----------------------------------------------------- */

/* As the private data of the context asks, which may be for none. */
NTSTATUS refkmd_save_area_create(struct refkmd_context *context, const DXGKARG_CREATECONTEXT *args);
void refkmd_save_area_destroy(struct refkmd_context *context);
void refkmd_save_area_set_root(struct refkmd_context *context);
/* As the GPU names it; virtual if the area has a va. */
/*
 * The physical model tells in no other way where an area is: a paging operation puts it at address.
 */
void refkmd_save_area_place(const struct refkmd_adapter *adapter, HANDLE allocation,
                            UINT64 address);
UINT64 refkmd_save_area_address(const struct refkmd_save_area *area);

/* ---- Swizzling ranges (swizzling.c) -------------------------------------------------------- */

/* Has the board show again what is acquired. */
void refkmd_restore_ranges(const struct refkmd_adapter *adapter);

/* ---- Interrupts (interrupt.c) ------------------------------------------------------------- */

/* Which interrupts the driver wants while it runs. */
ULONG refkmd_interrupt_mask(const struct refkmd_adapter *adapter);

/*
 * Report what the node has completed since it was last asked. TRUE if anything was. is_signalled
 * says that the node's completion interrupt was pending, which makes COMPLETED news even if it
 * reads as before. At device IRQL only.
 */
BOOLEAN refkmd_report_progress(struct refkmd_adapter *adapter, UINT ordinal, BOOLEAN is_signalled);

/*
 * The node has let go of its queue: report a preemption that is pending, and forget what was
 * dropped. TRUE if there was one. After refkmd_report_progress(), at device IRQL only.
 */
BOOLEAN refkmd_report_preemption(struct refkmd_adapter *adapter, UINT ordinal);

/* Nothing submitted to the node is unfinished. */
BOOLEAN refkmd_node_is_drained(const struct refkmd_node *node);
void refkmd_drop_submissions(struct refkmd_node *node);

/* Run routine(context) at device IRQL, not at the same time as the interrupt routine. */
void refkmd_synchronize(struct refkmd_adapter *adapter, PKSYNCHRONIZE_ROUTINE routine,
                        void *context);

/* ---- DDIs --------------------------------------------------------------------------------- */

DXGKDDI_START_DEVICE RefKmdStartDevice;
DXGKDDI_STOP_DEVICE RefKmdStopDevice;
DXGKDDI_REMOVE_DEVICE RefKmdRemoveDevice;
DXGKDDI_ADD_DEVICE RefKmdAddDevicePhysical;
DXGKDDI_ADD_DEVICE RefKmdAddDeviceGpuMmu;
DXGKDDI_ADD_DEVICE RefKmdAddDeviceIoMmu;
DXGKDDI_SET_POWER_STATE RefKmdSetPowerState;
DXGKDDI_NOTIFY_SURPRISE_REMOVAL RefKmdNotifySurpriseRemoval;
DXGKDDI_BEGINEXCLUSIVEACCESS RefKmdBeginExclusiveAccess;
DXGKDDI_ENDEXCLUSIVEACCESS RefKmdEndExclusiveAccess;
DXGKDDI_QUERY_CHILD_RELATIONS RefKmdQueryChildRelations;
DXGKDDI_RESET_DEVICE RefKmdResetDevice;
DXGKDDI_UNLOAD RefKmdUnload;
DXGKDDI_INTERRUPT_ROUTINE RefKmdInterruptRoutine;
DXGKDDI_DPC_ROUTINE RefKmdDpcRoutine;

DXGKDDI_QUERYADAPTERINFO RefKmdQueryAdapterInfo;
DXGKDDI_GETNODEMETADATA RefKmdGetNodeMetadata;

DXGKDDI_CREATEALLOCATION RefKmdCreateAllocation;
DXGKDDI_DESTROYALLOCATION RefKmdDestroyAllocation;
DXGKDDI_DESCRIBEALLOCATION RefKmdDescribeAllocation;
DXGKDDI_OPENALLOCATIONINFO RefKmdOpenAllocation;
DXGKDDI_CLOSEALLOCATION RefKmdCloseAllocation;

DXGKDDI_CREATEPROCESS RefKmdCreateProcess;
DXGKDDI_DESTROYPROCESS RefKmdDestroyProcess;
DXGKDDI_CREATEDEVICE RefKmdCreateDevice;
DXGKDDI_DESTROYDEVICE RefKmdDestroyDevice;
DXGKDDI_CREATECONTEXT RefKmdCreateContext;
DXGKDDI_DESTROYCONTEXT RefKmdDestroyContext;
DXGKDDI_GETROOTPAGETABLESIZE RefKmdGetRootPageTableSize;
DXGKDDI_MAPCPUHOSTAPERTURE RefKmdMapCpuHostAperture;
DXGKDDI_UNMAPCPUHOSTAPERTURE RefKmdUnmapCpuHostAperture;
DXGKDDI_SETROOTPAGETABLE RefKmdSetRootPageTable;

DXGKDDI_BUILDPAGINGBUFFER RefKmdBuildPagingBuffer;
DXGKDDI_CREATENATIVEFENCE RefKmdCreateNativeFence;
DXGKDDI_DESTROYNATIVEFENCE RefKmdDestroyNativeFence;
DXGKDDI_UPDATEMONITOREDVALUES RefKmdUpdateMonitoredValues;
DXGKDDI_ACQUIRESWIZZLINGRANGE RefKmdAcquireSwizzlingRange;
DXGKDDI_RELEASESWIZZLINGRANGE RefKmdReleaseSwizzlingRange;
DXGKDDI_RENDER RefKmdRender;
DXGKDDI_PATCH RefKmdPatch;
DXGKDDI_SUBMITCOMMAND RefKmdSubmitCommand;
DXGKDDI_SUBMITCOMMANDVIRTUAL RefKmdSubmitCommandVirtual;
DXGKDDI_PREEMPTCOMMAND RefKmdPreemptCommand;
DXGKDDI_QUERYCURRENTFENCE RefKmdQueryCurrentFence;
DXGKDDI_QUERYDEPENDENTENGINEGROUP RefKmdQueryDependentEngineGroup;
DXGKDDI_QUERYENGINESTATUS RefKmdQueryEngineStatus;
DXGKDDI_RESETENGINE RefKmdResetEngine;
DXGKDDI_RESETFROMTIMEOUT RefKmdResetFromTimeout;
DXGKDDI_RESTARTFROMTIMEOUT RefKmdRestartFromTimeout;
DXGKDDI_COLLECTDBGINFO RefKmdCollectDbgInfo;

#endif
