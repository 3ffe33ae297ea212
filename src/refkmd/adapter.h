/*
 * The adapter: one board, and all that the driver knows of it.
 *
 * Place      refkmd, private; at the bottom, with registers.h and traits.h. Above it stand the
 *            objects of processes (objects.h).
 * Model      The context that DxgkDdiAddDevice returns is the address of this structure. There are
 *            no globals beside it, so any number of adapters live side by side.
 * Ownership  adapter.c makes and frees it; each group of members is of the file that it names.
 */
#ifndef REFKMD_ADAPTER_H
#define REFKMD_ADAPTER_H

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>
#include <drydock/sgpu.h>

/* Segment ids: places in the report of QUERYSEGMENT, from 1 (SEG-005). */
#define REFKMD_SEGMENT_SYSTEM   0u /* implicit: system pages by their physical address */
#define REFKMD_SEGMENT_LOCAL    1u /* local memory from its start; CPU visible behind BAR 1 */
#define REFKMD_SEGMENT_APERTURE 2u /* system pages through the aperture's slots */
#define REFKMD_SEGMENT_HIDDEN   3u /* local memory beyond BAR 1; reported only if there is any */
#define REFKMD_SEGMENT_COUNT    4u /* with the implicit one */
#define REFKMD_ONLY_APERTURE    1u /* the aperture where nothing else is reported */
#define REFKMD_SEGMENT_BIT(id)  (1u << ((id)-1))

#define REFKMD_MAX_NODES 8u /* as many as the interrupt register has bits for */

enum refkmd_model { REFKMD_PHYSICAL, REFKMD_GPU_MMU, REFKMD_IO_MMU };

/* A submission that the node has not retired, in the terms of the node's registers. */
struct refkmd_submission {
    UINT64 address;
    UINT64 root;
    UINT bytes;
    UINT fence;
    ULONG doorbell;  /* SGPU_SUBMIT_* */
    UINT operations; /* one bit for each paging operation in it; 0 for rendering */
    const struct refkmd_hw_queue *queue; /* NULL: it went to none, and its fence is reported */
    UINT64 progress_va;                  /* of the queue: where the node writes ... */
    UINT64 progress;                     /* ... this, and it has ended when the value is there: */
    const volatile UINT64 *progress_value;
    struct refkmd_save_area *save_area; /* that it runs in; NULL: none */
    UINT64 save_runs;                   /* as the area counts, or SGPU_SAVE_RUNS_ANY */
};

/*
 * Submissions under way on a node, oldest first: a ring between the scheduler's calls, which append
 * at newest, and the interrupt routine, which removes at oldest. Fence ids are looked up in it and
 * never compared by size, because they wrap and because the kernel may submit an old id of a
 * paging packet again (SUB-009, SUB-010).
 */
struct refkmd_node {
    struct refkmd_submission submissions[SGPU_QUEUE_SLOTS];
    volatile UINT oldest; /* free running; the slot is the value modulo the number of slots */
    volatile UINT newest; /* the next one to be used */

    /* Touched by the interrupt routine, or under DxgkCbSynchronizeExecution, only. */
    UINT last_completed_fence; /* reported, or counted as such after a reset */
    UINT completed_register;   /* SGPU_NODE_COMPLETED as it was last looked at */
    UINT preemption_fence;
    BOOLEAN preemption_is_pending;
    DXGK_SCHEDULING_LOG_BUFFER *log; /* the kernel's; NULL: none */
    UINT log_entries, log_interrupt_entry;
    const struct refkmd_context *log_running; /* as the log says; NULL: none */
    UINT device_resets; /* each may have lost what save areas held, or made it older */

    UINT power;           /* the F-state that the kernel has asked for last */
    BOOLEAN is_switching; /* its power is, and the kernel waits to hear of the end */

    /* Contexts that are kept off the node (hw_scheduling.c); touched as those above are. */
    BOOLEAN is_yielding; /* it lets go of what it has, to get it anew in another order */
    BOOLEAN is_stopped;  /* from DxgkDdiResetHwEngine to DxgkDdiResumeHwEngine */
    BOOLEAN has_list;    /* only these contexts run, the first one first: */
    const struct refkmd_context *list[2];
    struct refkmd_context *leaving; /* contexts whose suspensions are not over */
    struct refkmd_submission
        parked[2 * SGPU_QUEUE_SLOTS]; /* that wait for one of these, in order */
    UINT parked_count;
};

#define REFKMD_BANKS            4u
#define REFKMD_SWIZZLING_RANGES SGPU_RANGES

/* A swizzling range, and the allocation that has acquired it; NULL: none has. */
struct refkmd_range {
    HANDLE allocation;
    UINT data;                 /* PrivateDriverData of the acquisition */
    UINT first_page, end_page; /* of the window, that the board puts in order */
};

struct refkmd_adapter {
    enum refkmd_model model;   /* from AddDevice on */
    DXGKRNL_INTERFACE dxgkrnl; /* the kernel's callbacks; from StartDevice on */

    /* The board on its bus (adapter.c). */
    UCHAR *registers; /* BAR 0, mapped; NULL while stopped */
    BOOLEAN is_gone;  /* removed by surprise: the hardware is not touched any more */
    PHYSICAL_ADDRESS registers_pa;
    PHYSICAL_ADDRESS window_pa; /* BAR 1, as the bus sees it */

    /* Read from its registers when the device starts (adapter.c). */
    BOOLEAN has_queues; /* there are hardware queues, and the kernel has enabled them */
    DXGKARG_SETUPPRIORITYBANDS bands; /* as the kernel has set them up; from its call on */
    BOOLEAN is_power_managed;         /* the kernel chooses F-states of components (components.c) */
    BOOLEAN wants_syncs; /* the kernel has asked for CRTC_VSYNC; none when the device starts */
    ULONG straps;        /* SGPU_STRAP_* */
    ULONG traits;        /* SGPU_TRAIT_* */
    PMDL population;     /* of local memory, with SGPU_TRAIT_FROM_SYSTEM */
    UINT node_count;
    UINT64 local_bytes;
    UINT64 aperture_bytes;
    UINT64 kept_bytes;                        /* local memory that outlives hibernation, by strap */
    UINT64 dead_offset, dead_bytes;           /* defective local memory; 0 bytes: none */
    UINT64 protected_offset, protected_bytes; /* local memory for protected content */
    UINT64 picture_offset, picture_bytes;     /* the firmware's picture, in local memory */

    /* Local memory that no segment has (own_memory.c). */
    UINT64 own_bytes;     /* behind visible_bytes, which do not include them */
    volatile ULONG *own;  /* mapped; NULL: there is none, or the device is stopped */
    ULONG own_generation; /* of the words in it */
    BOOLEAN own_is_saved;

    /* The shape of page tables (mmu.c). */
    UCHAR index_bits[SGPU_MAX_LEVELS]; /* of each level, leaf first */
    UINT level_count;
    UINT va_bits;

    /* The layout of memory in segments (segments.c). */
    /*
     * Local memory is reported. Without it the aperture is the only segment, number 1, and page
     * tables are in system memory (SEG-016).
     */
    BOOLEAN has_memory_segments;
    UINT64 visible_bytes;           /* of local memory, through BAR 1 */
    UINT window_pages;              /* of BAR 1, when they are pointed one by one; else 0 */
    UINT segment_count;             /* that are reported */
    UINT agp_segment;               /* the last of them if there is an AGP bridge, or 0 */
    SIZE_T bank_ends[REFKMD_BANKS]; /* of the first; the kernel keeps the pointer (BANK-002) */
    /*
     * By segment id: the number that the GPU adds to an offset in the segment, to reach it
     * physically...
     */
    UINT64 segment_base[REFKMD_SEGMENT_COUNT];
    /* ...and in a page-table entry. An id that the contract can name and that is not here is 0. */
    UINT64 pte_base[32];

    /* Objects of the adapter (swizzling.c, save_area.c, native_fence.c). */
    struct refkmd_range ranges[REFKMD_SWIZZLING_RANGES];
    struct refkmd_save_area *save_areas;
    struct refkmd_native_fence *native_fences[SGPU_FENCES]; /* by number; NULL: free */

    /* Work under way (submit.c, interrupt.c, recovery.c). */
    struct refkmd_node nodes[REFKMD_MAX_NODES];
};

#endif
