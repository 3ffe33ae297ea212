/*
 * vidmm: the operating-system half of the WDDM memory contract as a library.
 *
 * Place      Public API of libvidmm. Depends on a C11 compiler and the WDK headers of this tree.
 *            The embedder gives it a miniport (below) and a platform (memory, pages, time), and
 *            forwards the driver's completion callbacks. It has no thread and no clock of its own.
 * Model      An adapter has segments. A process has a GPU virtual address space (GpuMmu) and
 *            devices; a device owns allocations and contexts; a context takes submissions.
 *            Allocations move between segments and their backing store (system pages) by paging
 *            operations, which the driver turns into bytes of paging buffers
 *            (DxgkDdiBuildPagingBuffer), which the GPU executes. What an operation moved is
 *            published when the packet that moved it has retired, never before.
 *            Three models, chosen by what the driver reports: physical (WDDM 1.x: allocation lists,
 *            DxgkDdiPatch), GpuMmu (WDDM 2.x: page tables, DxgkDdiSubmitCommandVirtual) and IoMmu
 *            (WDDM 2.x: the process's own addresses, system memory only). What is said below of
 *            GpuMmu holds for IoMmu too, unless it is about page tables.
 *            A struct miniport is made of the driver's table, DRIVER_INITIALIZATION_DATA, by
 *            miniport_raw_create() (miniport/raw.h); examples/embed/ is a whole program. Functions
 *            of the driver are APIENTRY, which is the calling convention of Windows x64 on every
 *            host: a function without it does not fit the table, and the compiler says so.
 * Calls      All functions are called on one thread at a time (with several threads: one lock
 *            around all managers of the process, held during each call;
 *            tests/install/threads.c), at PASSIVE_LEVEL, and return at once. What takes GPU time
 *            ends in a callback, which comes out of vidmm_notify_dpc() or out of the call itself.
 * Ownership  Handles are opaque and live until destroyed. Arrays are borrowed for the call.
 * Errors     NTSTATUS. On failure nothing has changed and out parameters hold zero.
 *            STATUS_NO_MEMORY: the embedder's allocator failed.
 * Units      Bytes (uint64_t) unless a name says _pages (4 KiB) or _ns.
 * Source     contract.md; sequences S-01 to S-13, S-15 to S-17, S-22, S-23.
 */
#ifndef VIDMM_VIDMM_H
#define VIDMM_VIDMM_H

#include "base/api.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ntddk.h>
#include <d3dkmddi.h>

VIDMM_API_BEGIN

struct miniport;
struct miniport_power_request;
struct base_services;
struct vidmm;
struct vidmm_process;
struct vidmm_device;
struct vidmm_context;
struct vidmm_allocation;
struct vidmm_list;
struct vidmm_native_fence;
struct vidmm_note;
struct vidmm_policy;

/* ---- Policies of its own (vidmm/policy.h) ---------------------------------------------------- */

/* The least recently used allocation leaves. What vidmm_config.policy NULL means. */
extern const struct vidmm_policy vidmm_policy_lru;
/*
 * Allocations that no waiting request wants leave first, then those of the last request; some room
 * is kept free.
 */
extern const struct vidmm_policy vidmm_policy_look_ahead;
/* The allocation whose next use is farthest leaves; what will be used comes in ahead. */
extern const struct vidmm_policy vidmm_policy_hinted;
/* Processes take turns; what belongs to the process whose turn is farthest leaves. */
extern const struct vidmm_policy vidmm_policy_turns;

/* ---- What the embedder gives ------------------------------------------------------------- */

/* The machine below the manager. System pages are named by page number (address / 4096). */
struct vidmm_platform {
    void *context;
    const struct base_services *services;

    /* Zeroed pages, contiguous or not; all or nothing. */
    NTSTATUS (*take_pages)(void *context, uint64_t count, uint64_t *out_pages);
    void (*release_pages)(void *context, uint64_t count, const uint64_t *pages);
    NTSTATUS (*take_contiguous)(void *context, uint64_t count, uint64_t *out_first_page);
    void (*release_contiguous)(void *context, uint64_t count, uint64_t first_page);

    /* One contiguous CPU range that shows these pages, in this order; NULL: cannot. */
    void *(*map_pages)(void *context, uint64_t count, const uint64_t *pages);
    void (*unmap_pages)(void *context, void *address, uint64_t count);
    /* Fills pages that were handed out with a 32-bit pattern; NULL: they are mapped and written. */
    void (*fill_pages)(void *context, uint64_t count, const uint64_t *pages, uint32_t pattern);
    /*
     * As map_pages for a range of the bus: a CPU-visible segment lies at its CpuTranslatedAddress
     * (QUERYSEGMENT), and the range is what of it is read or written. NULL: it cannot be shown.
     */
    void *(*map_bus)(void *context, uint64_t address, uint64_t bytes);
    void (*unmap_bus)(void *context, void *address, uint64_t bytes);

    /*
     * What the device puts on the bus to reach a system page that was handed out: behind an IOMMU
     * that remaps, a logical page. What one call of take_pages() or take_contiguous() gave is
     * contiguous there (ADL-008). NULL: the page itself.
     */
    uint64_t (*device_page)(void *context, uint64_t page);

    /* The time, by which turns of processes end (vidmm/policy.h). NULL: there are no turns. */
    uint64_t (*now_ns)(void *context);

    /*
     * vidmm_wake() is to be called at that time; a new request takes the place of the one before.
     * NULL: power components stay active.
     */
    void (*wake)(void *context, uint64_t at_ns);

    /*
     * The AGP window of the bus, below WDDM 2.0: its bus address and size (0: there is no bridge),
     * and the bridge's GART, which shows pages at an offset in it. STATUS_NO_MEMORY.
     */
    uint64_t agp_base, agp_bytes;
    NTSTATUS (*map_agp)(void *context, uint64_t offset, uint64_t count, const uint64_t *pages);
    void (*unmap_agp)(void *context, uint64_t offset, uint64_t count);

    /*
     * IoMmu model: the address space of a process as the IOMMU sees it, named by a PASID. A page is
     * shown once; map is all or nothing. NULL: there is no IOMMU, and such a driver does not start.
     */
    NTSTATUS (*create_space)(void *context, uint32_t *out_pasid);
    void (*destroy_space)(void *context, uint32_t pasid);
    NTSTATUS(*map_space)
    (void *context, uint32_t pasid, uint64_t va, uint64_t count, const uint64_t *pages);
    void (*unmap_space)(void *context, uint32_t pasid, uint64_t va, uint64_t count);
};

/* Segments are counted in two groups, as their LocalBudgetGroup and NonLocalBudgetGroup say. */
enum vidmm_budget_group { VIDMM_BUDGET_LOCAL, VIDMM_BUDGET_NON_LOCAL };

/* Which values of native fences may be elsewhere than in system memory. */
enum vidmm_fence_memory {
    VIDMM_FENCES_IN_SYSTEM,    /* none */
    VIDMM_FENCES_HALF_OUTSIDE, /* monitored values */
    VIDMM_FENCES_IN_SEGMENTS,  /* monitored and current values */
};

/* How an allocation leaves the place where it lies. */
enum vidmm_departure {
    VIDMM_DEPARTURE_EVICTED, /* its content goes to system memory */
    VIDMM_DEPARTURE_DROPPED, /* it is offered: its content is given up */
    VIDMM_DEPARTURE_MOVED,   /* to another place */
};

struct vidmm_events {
    void *context;
    /* The driver broke the contract: rule id of contract.md and one line. The manager goes on. */
    void (*driver_error)(void *context, const char *rule, const char *text);
    /*
     * The manager refuses what the client asks for: by a rule that the driver's answer breaks (told
     * to driver_error, too), or by a choice of docs/contract-choices.md ("U3") where nobody is at
     * fault. One line.
     */
    void (*refused)(void *context, const char *rule, const char *text);
    /*
     * The GPU faulted on a node. The engine, or the adapter, is reset when the report asks for it;
     * the device of the packet that faulted is in error then.
     */
    void (*page_fault)(void *context, unsigned node, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
    /* An allocation is being evicted to make room (reason), or leaves for another reason. */
    void (*evicted)(void *context, struct vidmm_allocation *allocation, const char *reason);
    /*
     * It has been decided that an allocation leaves its place. The operations are built later, in
     * the order of the paging queue. Nothing may be called from here.
     */
    void (*departs)(void *context, struct vidmm_allocation *allocation, enum vidmm_departure how);
    /*
     * After a reset: the only copy of the allocation's content was in the GPU's memory. It is zero
     * now, or what it was before the GPU last got it.
     */
    void (*content_lost)(void *context, struct vidmm_allocation *allocation);
    /*
     * The device is in error: it had work on a node that did not end, or an allocation that it has,
     * or has open, lost its content. Its queued submissions fail, and new ones are refused, with
     * STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE.
     */
    void (*device_error)(void *context, struct vidmm_device *device, const char *reason);
    /*
     * The adapter has ended by itself, which driver_error has told the reason of: as after
     * vidmm_remove(), without a notice for the driver. Where Windows stops the machine.
     */
    void (*adapter_ended)(void *context);
    /*
     * A process holds more of a group resident than its budget, this many bytes: it should give up
     * residency references. Once for each time that it gets over it. Nothing may be called from
     * here.
     */
    void (*trim)(void *context, struct vidmm_process *process, enum vidmm_budget_group group,
                 uint64_t bytes);
    /*
     * An instance of a renamed allocation (vidmm_allocation_instance()) is no more, while the
     * allocation is: its place and its pages are free. NULL: the one that it was made with. Nothing
     * may be called from here.
     */
    void (*instance_ended)(void *context, struct vidmm_allocation *allocation,
                           const void *instance);
    /*
     * Hears what the manager does and why, in all detail (vidmm/notes.h). Nothing may be called
     * from here.
     */
    void (*told)(void *context, const struct vidmm_note *note);
};

#define VIDMM_DEFAULT_TIMEOUT_NS UINT64_C(2000000000)

/*
 * What the driver says of system memory before its device starts (S-01, IOMMU-004): zeros before
 * WDDM 2.9, and where it says nothing. The embedder gives out no page beyond
 * highest_visible_address (0: any).
 */
struct vidmm_early_caps {
    uint64_t highest_visible_address;
    bool can_remap; /* DXGK_IOMMU_CAPS.DmaRemappingSupported */
};

#define VIDMM_DEFAULT_SCRATCH_BYTES (UINT64_C(256) << 20)

/*
 * Which priority bands the driver is told of (DxgkDdiSetContextSchedulingProperties, WDDM 2.4): the
 * normal one of each context, or all of them, by turns, which change while a context works.
 */
enum vidmm_bands { VIDMM_BANDS_NORMAL, VIDMM_BANDS_MIXED };

/*
 * Which contexts with hardware queues are suspended (DxgkDdiSuspendContext) in front of a sleep and
 * of a move of what they use: none, so that their work ends first; those of which the driver has
 * work; or all, once more for each reason, and before they are destroyed.
 */
enum vidmm_suspends { VIDMM_SUSPENDS_NONE, VIDMM_SUSPENDS_BUSY, VIDMM_SUSPENDS_ALL };

/*
 * The two contexts with hardware queues that an engine is switched to
 * (DxgkDdiSwitchToHwContextList), whenever they change: none, so that it chooses by itself, or of
 * those that the driver has work of the first or the last ones.
 */
enum vidmm_lists { VIDMM_LISTS_NONE, VIDMM_LISTS_OLDEST, VIDMM_LISTS_NEWEST };

struct vidmm_config {
    struct vidmm_platform platform;
    struct vidmm_early_caps early; /* as vidmm_query_early() gave it */
    struct vidmm_events events;
    const struct vidmm_policy *policy; /* borrowed (vidmm/policy.h); NULL: vidmm_policy_lru */
    unsigned paging_buffer_count;      /* rotating buffers; 0: 4 */
    uint32_t paging_buffer_bytes;  /* 0: what the driver reports; else smaller, page multiple not
                                      required: a sweep over tiny buffers */
    unsigned hardware_queue_depth; /* packets with the driver at once, a node; 0: 2 */
    uint64_t scratch_bytes;        /* paging process scratch range; 0: the default */
    uint64_t local_limit;          /* use no more of each memory segment; 0: all */
    uint32_t ids_before_wrap;      /* submission ids leap, while a node is idle, to so many before
                                      they wrap, as if days had gone by; 0: they do not */
    uint64_t first_paging_fence; /* the value of a device's paging fence before its first request */
    uint64_t local_start;        /* use nothing of each memory segment in front of this offset, a
                                    multiple of 64 KiB; 0: all */
    uint64_t aperture_piece_pages; /* map apertures in operations of at most so many; 0: at once */
    bool pins_anywhere;            /* Overlay, Capture: not only in the last 20 % (ALLOC-014) */
    bool renames;                  /* a lock with VIDMM_LOCK_DISCARD need not wait (ALLOC-022) */
    bool splits_dma_buffers;       /* at every split point, not only where preparation needs it */
    bool guarantees_one_buffer;    /* a command buffer is translated into one DMA buffer or refused:
                                      DxgkDdiRender must not ask for another one (PATCH-014) */
    bool switches_to_null_context; /* WDDM 1.2 and later: a packet of no bytes tells a node to leave
                                      its context before an allocation of that goes (SUB-004) */
    bool frees_empty_tables;       /* page tables go with the last mapping in their range */
    bool skips_patch_for_paging;   /* do not call DxgkDdiPatch for paging buffers (PATCH-009) */
    bool marks_paging_only;        /* Resubmission is not set for clients' packets (SUB-008) */
    /*
     * Starts as Windows 11 has been seen to (docs/observed.md): asks 64BITONLYCAPS,
     * HISTORYBUFFERPRECISION and DISPLAY_DRIVERCAPS_EXTENSION too, whose answers do not matter;
     * creates two system devices, and those of WDDM 1 before it asks for segments; DmaSize names
     * the whole paging buffer in calls that have none.
     */
    bool starts_as_observed;
    /*
     * GpuMmu: paging buffers in system memory (PagingBufferSegmentId 0) have no GPU address.
     * DmaBufferGpuVirtualAddress is 0, and DmaBufferVirtualAddress of a paging submission says
     * where in the buffer it begins, so that the driver has to know which one (docs/observed.md).
     * Not with vidmm_platform.device_page.
     */
    bool hides_buffer_address;
    /*
     * WDDM 1: what a list of references has and no patch location names is not brought in
     * (PATCH-001).
     */
    bool pages_in_patched_only;
    /*
     * GpuMmu: a new table comes by several calls with InitialUpdate (docs/observed.md), not by one.
     */
    bool initialises_in_pieces;
    /*
     * GpuMmu: a call that makes entries valid also writes some beside them that are as they were:
     * in one array stand valid and invalid ones.
     */
    bool writes_neighbours;
    bool announces_idle;     /* set AllocationIsIdle from the first call, not after a BUSY */
    uint32_t fill_pattern;   /* FillPattern: what allocations hold at first, wherever they are */
    uint64_t transfer_bytes; /* a larger TRANSFER is cut into pieces of this many (XFER-006), a
                                      multiple of a page; 0: 1 GiB */
    uint64_t timeout_ns;     /* of a packet, then of its preemption; 0: 2 s (TDR-012) */
    /*
     * So many time-outs within timeout_window_ns (0: 60 s) are suffered; one more ends the adapter
     * (TDR-012), up to 64. Windows: 5, then bug check 0x116. 0: any number.
     */
    unsigned timeout_limit;
    uint64_t timeout_window_ns;
    bool keeps_straddling;     /* PWR-005: hibernation keeps what begins in the part kept */
    bool resets_whole_adapter; /* never one engine alone (DxgkDdiResetEngine) */
    /* INIT_CONTEXT_RESOURCE names the driver's handle instead of ours (CTX-009). */
    bool inits_contexts_by_driver_handle;
    /* Drivers of WDDM 3.2, where documents are silent (docs/contract-choices.md). */
    uint64_t residency_part_pages; /* NOTIFY_RESIDENCY2 for parts of so many pages; 0: op 15 */
    bool lists_residency; /* ... whole in an aperture: by an MDL, and not by its slots' address */
    unsigned auxiliary_mmus; /* MMUs that MAP_MMU and UNMAP_MMU are about; 0: none */
    /*
     * Enables native fences: a driver of WDDM 3.1 may report NativeGpuFence, which is refused
     * otherwise (FENCE-015). So many, at most VIDMM_MAX_NATIVE_FENCES_A_PAGE, share a page of
     * storage; 0: not enabled.
     */
    unsigned native_fences;
    /*
     * Which values of native fences may be in a segment of the driver's choice (drivers of WDDM
     * 3.2; DxgkDdiGetStandardAllocationDriverData, D3DKMDT_STANDARDALLOCATION_FENCESTORAGE).
     */
    enum vidmm_fence_memory native_fence_memory;
    /*
     * Hardware scheduling is enabled, as the embedder's DxgkCbIsFeatureEnabled says, too: contexts
     * of nodes whose metadata say so submit to hardware queues (GpuMmu, WDDM 2.5). On such a
     * context vidmm_present(), and on such a node vidmm_gdi_context_create(), are
     * STATUS_NOT_SUPPORTED.
     */
    bool hardware_queues;
    enum vidmm_bands bands; /* of contexts with hardware queues */
    enum vidmm_suspends suspends;
    enum vidmm_lists lists;
    /*
     * Entries of a scheduling log, of which each node with hardware queues has one (drivers of WDDM
     * 2.4 that have DxgkDdiSetSchedulingLogBuffer); 0 or more than 127: there are none.
     */
    unsigned log_entries;
};

/*
 * Called when a request has ended. needed and available say, on STATUS_GRAPHICS_NO_VIDEO_MEMORY,
 * what the request had to place and what the segment could give.
 */
typedef void (*vidmm_done)(void *context, NTSTATUS status, uint64_t needed, uint64_t available);

/* Why the adapter did not start: the field, what it holds, and the rule that it breaks. */
struct vidmm_failure {
    char rule[16]; /* "SEG-007"; empty when no rule of the contract is concerned */
    char text[240];
};

/* ---- Adapter -------------------------------------------------------------------------------- */

/* Asks the driver of a device that has been added and not yet started. */
void vidmm_query_early(struct miniport *miniport, struct vidmm_early_caps *out_caps);

/*
 * What DRIVERCAPS.MemoryManagementCaps says of the ways in which the driver addresses memory. Asked
 * of a device that has been added, started or not. False: the driver does not answer then, or
 * contradicts itself (PT-001).
 */
struct vidmm_model_caps {
    bool is_virtual; /* VirtualAddressingSupported, from WDDM 2.0 on */
    bool has_gpummu; /* GpuMmuSupported */
    bool has_iommu;  /* IoMmuSupported; with both, page tables of the GPU's are used */
};
bool vidmm_query_model(struct miniport *miniport, struct vidmm_model_caps *out_caps);

/* How many bytes DXGK_DRIVERCAPS has in an interface version, DXGKDDI_INTERFACE_VERSION_*. */
uint32_t vidmm_driver_caps_bytes(uint32_t version);

/* The version of the library, "0.1.0": of the one that is linked, not of this header. */
const char *vidmm_version(void);

/*
 * Gives the manager for a miniport whose device has been added and started (borrowed).
 *
 * The configuration grows from version to version. So vidmm_create() tells its size, and a library
 * of another version than this header refuses it with STATUS_REVISION_MISMATCH.
 */
NTSTATUS vidmm_create_sized(struct miniport *miniport, const struct vidmm_config *config,
                            size_t config_bytes, struct vidmm **out_vidmm);
#define vidmm_create(miniport, config, out_vidmm)                                                  \
    vidmm_create_sized(miniport, config, sizeof(struct vidmm_config), out_vidmm)

/*
 * Asks the driver for its caps and segments (S-01), checks them, sets up paging buffers and, for
 * GpuMmu, the paging process (S-02). On failure the adapter is not started and *failure says why.
 */
NTSTATUS vidmm_start(struct vidmm *vidmm, struct vidmm_failure *failure);

/* Everything has been destroyed and vidmm_is_idle(); the paging process and buffers go. */
void vidmm_stop(struct vidmm *vidmm);
void vidmm_destroy(struct vidmm *vidmm);

/*
 * The driver's DxgkCbInvalidateHwContext: nothing of the context goes to the driver any more, and
 * its device has failed. STATUS_INVALID_PARAMETER: it is no context of this manager with a queue.
 */
NTSTATUS vidmm_invalidate_hw_context(struct vidmm *vidmm,
                                     const DXGKARGCB_INVALIDATEHWCONTEXT *args);
/*
 * A context that the driver has so named takes no work any more, when the error of its device is
 * cleared either: its client makes another one.
 */
bool vidmm_context_is_invalid(const struct vidmm_context *context);
/* Updates of tiles are under way, before whose end the context may not be destroyed. */
bool vidmm_context_has_tile_updates(const struct vidmm_context *context);

/* The driver's DxgkCbNotifyInterrupt and DxgkCbNotifyDpc. */
void vidmm_notify_interrupt(struct vidmm *vidmm, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
void vidmm_notify_dpc(struct vidmm *vidmm);

/*
 * Gives up on everything that is with the driver or queued for it: each submission ends with
 * status. For a GPU that will not answer any more.
 */
void vidmm_abort(struct vidmm *vidmm, NTSTATUS status);

/*
 * The adapter is to be stopped (a driver that is updated or disabled) while it has work. Every
 * device is in error for good. What is with the GPU ends by itself; what is queued, and every
 * request that waits, ends with STATUS_DEVICE_REMOVED, and whatever makes, maps, uses or submits is
 * refused with it from now on. Then all that there is can be destroyed as always, up to
 * vidmm_stop() and DxgkDdiStopDevice.
 *
 * STATUS_INVALID_DEVICE_STATE: it has not started, is asleep or ends already.
 */
NTSTATUS vidmm_end_work(struct vidmm *vidmm);

/*
 * The adapter has gone (surprise removal), whatever was under way; not from inside a callback, and
 * not while a call of the driver waits for an update (vidmm_end_waits()). The driver is told
 * (DxgkDdiNotifySurpriseRemoval; DxgkRemovalHibernation when it was asleep) if it has said that it
 * can be. Everything ends as by vidmm_end_work(), what was with the GPU and a sleep that was under
 * way at once, and no paging operation, submission or reset goes to the driver any more: what is
 * destroyed gives its memory back without them. Contents of GPU memory are lost without an event.
 *
 * Gives what the driver said. STATUS_NOT_SUPPORTED: it was not told, since it does not report
 * SupportSurpriseRemovalInHibernation or SupportSurpriseRemoval. Windows restarts the system after
 * either failure; here the adapter ends all the same. STATUS_INVALID_DEVICE_STATE: it has not
 * started, or is gone already.
 */
NTSTATUS vidmm_remove(struct vidmm *vidmm);

/*
 * The watchdog: tells the manager what time it is, as often as the embedder likes. A packet that
 * has been with the GPU for timeout_ns is asked about (DxgkDdiQueryCurrentFence), then preempted;
 * when the preemption takes as long again, its engine is reset, or the adapter (S-17). All
 * callbacks of what that ends come out of this call.
 */
void vidmm_watch(struct vidmm *vidmm, uint64_t now_ns);

/*
 * Power components (DXGKQAITYPE_POWERCOMPONENTINFO): the manager sees which are idle, and takes
 * them to F-states and back. The time that vidmm_platform.wake asked for has come.
 */
void vidmm_wake(struct vidmm *vidmm);

/*
 * A request of the driver's about one. What follows from it comes out of vidmm_wake(), which is to
 * be called when the driver is not in the midst of a call; but DxgkDdiSetPowerComponentFState of
 * F0, for DxgkCbSetPowerComponentActive, comes out of this call. That callback returns to the
 * driver when the component is on. Gives what the kernel found.
 */
NTSTATUS vidmm_power_request(struct vidmm *vidmm, const struct miniport_power_request *request);
bool vidmm_component_is_on(const struct vidmm *vidmm, uint32_t index);
/*
 * Another driver of the machine needs the components that the driver shares
 * (DXGK_POWER_COMPONENT_SHARED), or does not any more: SetSharedPowerComponentStateCb of
 * DXGK_GRAPHICSPOWER_REGISTER_OUTPUT for each of them. When it does, they are told to go to F0 in
 * the call, as with DxgkCbSetPowerComponentActive.
 */
void vidmm_share_components(struct vidmm *vidmm, bool is_active);

/*
 * Nothing more will happen by itself, and requests wait for a turn (vidmm/policy.h) of a process
 * that does nothing: the next one has it. False: none waits.
 */
bool vidmm_pass_turn(struct vidmm *vidmm);

/*
 * Asks the driver for the last completed fence of each node (DxgkDdiQueryCurrentFence), and acts on
 * what it reports meanwhile. Windows asks when work does not end; asking at any other time is as
 * lawful.
 */
void vidmm_query_fences(struct vidmm *vidmm);

/* The driver's engines, at least one. */
unsigned vidmm_node_count(const struct vidmm *vidmm);

/*
 * What a node has done. Where the driver has several packets of it, time is counted for the one
 * that ends next. running_ns is 0 without a clock (vidmm_platform.now_ns).
 */
struct vidmm_packet_counts {
    uint64_t queued;
    uint64_t submitted; /* to the driver; one that has come back is submitted again */
    uint64_t came_back; /* preempted */
    uint64_t completed, failed;
};
struct vidmm_node_counts {
    uint64_t running_ns; /* in which the driver had packets */
    uint64_t switches;   /* packets of another context than the one before */
    struct vidmm_packet_counts work, paging;
};
/* Of all, and, in out_system, of what is no process's. */
void vidmm_node_counts(const struct vidmm *vidmm, unsigned node, struct vidmm_node_counts *out_all,
                       struct vidmm_node_counts *out_system);
void vidmm_process_node_counts(const struct vidmm_process *process, unsigned node,
                               struct vidmm_node_counts *out_counts);

/*
 * Has the node preempted: what has not run comes back by itself. STATUS_DEVICE_BUSY: a preemption
 * is under way, the driver cannot, or it is to be left alone (asleep, exclusive access).
 */
NTSTATUS vidmm_preempt(struct vidmm *vidmm, unsigned node);

/*
 * Resets the adapter as if a node had not answered (DxgkDdiResetFromTimeout). What was with the GPU
 * fails with STATUS_GRAPHICS_ADAPTER_WAS_RESET, local memory counts as lost, everything else stays.
 */
void vidmm_reset(struct vidmm *vidmm);

/*
 * Puts the adapter to sleep (S-16): drains the GPU, evicts what the sleep would take (by each
 * segment's Preserved flags), and calls DxgkDdiSetPowerState(D3). done then says STATUS_SUCCESS,
 * and the power may be taken; STATUS_NO_MEMORY: there is no system memory for what must leave, and
 * everything goes on as before. Until vidmm_power_up() submissions and requests stand in line, and
 * addresses are neither mapped nor unmapped.
 *
 * STATUS_INVALID_DEVICE_STATE: it sleeps, or is on its way.
 */
enum vidmm_sleep { VIDMM_SLEEP_STANDBY, VIDMM_SLEEP_HIBERNATE, VIDMM_SLEEP_D3 };
NTSTATUS vidmm_power_down(struct vidmm *vidmm, enum vidmm_sleep sleep, vidmm_done done,
                          void *context);

/* The power is back. STATUS_INVALID_DEVICE_STATE: it is on. */
NTSTATUS vidmm_power_up(struct vidmm *vidmm);

/*
 * The device's IOMMU domain is about to change: drains the GPU and calls
 * DxgkDdiBeginExclusiveAccess. done then says STATUS_SUCCESS, or what the driver answered: then
 * nothing has changed. From there on until vidmm_end_exclusive_access() no other function is called
 * but vidmm_remove() (IOMMU-001), and a reset does nothing. Everything stays where it is, and must
 * be mapped in the new domain as it was in the old one.
 *
 * STATUS_INVALID_DEVICE_STATE: as vidmm_power_down(). STATUS_NOT_SUPPORTED: the driver has no such
 * DDIs.
 */
NTSTATUS vidmm_begin_exclusive_access(struct vidmm *vidmm, vidmm_done done, void *context);

/*
 * The new domain is in force. The driver's status: work goes on whatever it is.
 * STATUS_INVALID_DEVICE_STATE: the window is not open, or the adapter has gone.
 */
NTSTATUS vidmm_end_exclusive_access(struct vidmm *vidmm);

/* No packet, paging operation or request is pending. */
bool vidmm_is_idle(const struct vidmm *vidmm);

/*
 * For what the manager waits, when it is not idle and no event comes any more: a sentence in text.
 * Returns the rule by which the driver was to act next; NULL: nothing is with the driver, and the
 * manager itself was to act, or its caller.
 */
const char *vidmm_explain_wait(const struct vidmm *vidmm, char *text, size_t size);

/* True: GpuMmu or IoMmu; false: physical. Valid after vidmm_start(). */
bool vidmm_is_virtual(const struct vidmm *vidmm);
/* True: GpuMmu. */
bool vidmm_has_page_tables(const struct vidmm *vidmm);

/* How many paging buffers there are, and the bytes of each. Valid after vidmm_start(). */
void vidmm_paging_buffers(const struct vidmm *vidmm, unsigned *out_count, uint32_t *out_bytes);

/*
 * How much system memory the driver wants for what it keeps in local memory beside allocations, in
 * bytes (DXGK_FRAMEBUFFERSAVEAREA.MaximumSize; 0: none). Who answers the driver's callbacks takes
 * it before the first sleep (DxgkCbPinFrameBufferForSave,
 * nc-d3dkmddi-dxgkcb_pinframebufferforsave). Valid after vidmm_start().
 */
uint64_t vidmm_save_area_bytes(const struct vidmm *vidmm);

/* The invariant walk: aborts (debug) on the first that does not hold, else true. */
bool vidmm_check(const struct vidmm *vidmm);

struct vidmm_segment_info {
    unsigned id; /* from 1 */
    bool is_aperture;
    uint64_t base; /* GPU address */
    uint64_t size; /* bytes that may be used at once */
    uint64_t used; /* bytes placed */
    uint64_t peak_used;
    uint64_t allocation_count; /* resident in it */
};
unsigned vidmm_segment_count(const struct vidmm *vidmm);
void vidmm_segment_info(const struct vidmm *vidmm, unsigned id, struct vidmm_segment_info *info);

struct vidmm_statistics {
    uint64_t operations[32];  /* BuildPagingBuffer operations completed, by operation */
    uint64_t build_calls;     /* calls, repeats included */
    uint64_t multipass_calls; /* calls that repeated an operation */
    uint64_t paging_submissions;
    uint64_t paging_bytes; /* bytes of paging buffers written by the driver */
    uint64_t evictions;
    uint64_t moved_in_bytes;
    uint64_t moved_out_bytes;
    uint64_t filled_bytes;
    uint64_t discarded_bytes;
    uint64_t page_table_count;   /* now */
    uint64_t evicted_tables;     /* page tables that left to make room */
    uint64_t moved_tables;       /* ... that got another place */
    uint64_t fallen_back_tables; /* ... of 64 KiB pages that became ones of 4 KiB pages (PT-040) */
    uint64_t compactions;        /* one piece was made by moving what lay in it */
    uint64_t page_table_entries_written;
    uint64_t moved_bytes;       /* from a place in memory segments to another one */
    uint64_t trim_requests;     /* times that a process was asked to trim */
    uint64_t dma_buffer_splits; /* for lack of room */
    uint64_t context_switches;  /* to the null context */
    uint64_t residency_requests;
    uint64_t residency_hits; /* references that were resident already */
    uint64_t preemptions;    /* asked for by vidmm_preempt() */
    uint64_t page_faults;    /* that the driver reported */
    uint64_t timeouts;
    uint64_t engine_resets;
    uint64_t adapter_resets;
    uint64_t renames; /* locks that gave another instance */
    uint64_t ahead;   /* allocations that came in before they were asked for */
    uint64_t ahead_bytes;
    uint64_t lost_allocations; /* by resets */
    uint64_t lost_bytes;
};
const struct vidmm_statistics *vidmm_statistics(const struct vidmm *vidmm);

/* ---- Objects --------------------------------------------------------------------------------- */

NTSTATUS vidmm_process_create(struct vidmm *vidmm, struct vidmm_process **out_process);
/*
 * Its devices are destroyed and the manager is idle; which it is not until the page tables are
 * gone, where the driver reports ExplicitPageTableInvalidation (PT-035).
 */
void vidmm_process_destroy(struct vidmm_process *process);

NTSTATUS vidmm_device_create(struct vidmm_process *process, struct vidmm_device **out_device);
/*
 * Its contexts and allocations are destroyed, and the manager is idle since: what the driver had
 * for the contexts ends behind them, and what it had for all of them ends behind this call.
 */
void vidmm_device_destroy(struct vidmm_device *device);

/* See events.device_error. */
bool vidmm_device_is_in_error(const struct vidmm_device *device);
/*
 * Uses the device again, as an application does that destroys its device and makes another. None
 * of its submissions is pending.
 */
void vidmm_device_clear_error(struct vidmm_device *device);

/*
 * private_data, of the user-mode driver, goes to DxgkDdiCreateContext; may be NULL.
 * STATUS_NOT_SUPPORTED: the driver wants its DMA buffers in a segment (told to driver_error).
 */
NTSTATUS vidmm_context_create(struct vidmm_device *device, unsigned node, const void *private_data,
                              uint32_t private_data_bytes, struct vidmm_context **out_context);
/*
 * The same on a node with hardware queues (vidmm_config.hardware_queues), where the client makes
 * the queue of the context: submissions before are STATUS_INVALID_PARAMETER. A context has one at a
 * time; vidmm_hw_context_share() gives contexts for more. STATUS_NOT_SUPPORTED: the node has no
 * queues.
 */
NTSTATUS vidmm_hw_context_create(struct vidmm_device *device, unsigned node,
                                 const void *private_data, uint32_t private_data_bytes,
                                 struct vidmm_context **out_context);
/*
 * A context for one more hardware queue of the driver's context that another context has: as from
 * vidmm_hw_context_create(), the client makes its queue. What goes to one of the queues is in the
 * order of that queue, beside the others. It is destroyed before the context that was made first.
 * STATUS_NOT_SUPPORTED: the node has no queues.
 */
NTSTATUS vidmm_hw_context_share(struct vidmm_context *with, struct vidmm_context **out_context);
bool vidmm_has_hw_queues(const struct vidmm *vidmm, unsigned node);
/*
 * DxgkDdiCreateHwQueue of such a context, with the client's flags. The driver may change
 * private_data. STATUS_NOT_SUPPORTED: the context has a queue.
 * STATUS_INVALID_PARAMETER: it is no such context. Else what the driver says.
 */
NTSTATUS vidmm_hw_queue_create(struct vidmm_context *context, D3DDDI_CREATEHWQUEUEFLAGS flags,
                               void *private_data, uint32_t private_data_bytes);
/* None of its submissions is pending. Goes with its context, too. */
void vidmm_hw_queue_destroy(struct vidmm_context *context);
/*
 * A context of the kernel's own (GdiContext, WDDM 1.1), for vidmm_render_km() alone, and where
 * addresses are virtual, for vidmm_render_gdi(). STATUS_NOT_SUPPORTED: the driver does not report
 * SupportKernelModeCommandBuffer, or has no DxgkDdiRenderKm (DxgkDdiRenderGdi).
 */
NTSTATUS vidmm_gdi_context_create(struct vidmm_device *device, unsigned node,
                                  struct vidmm_context **out_context);
void vidmm_context_destroy(struct vidmm_context *context);
/* Bytes of private data that a submission to it may have (DXGK_CONTEXTINFO). */
uint32_t vidmm_context_private_data_bytes(const struct vidmm_context *context);

/* What a client's user-mode driver asks its kernel half. */
struct vidmm_escape {
    struct vidmm_device *device;   /* NULL: of the adapter */
    struct vidmm_context *context; /* of the device; NULL: of all */
    /* HardwareAccess: the driver finds an idle GPU and no work on its way. */
    bool needs_hardware;
    void *data; /* read and written by the driver; NULL where there are no bytes */
    uint32_t bytes;
    bool was_asked; /* out: the driver's function was called, and the status is its own */
};

/*
 * DxgkDdiEscape. The driver's status; STATUS_NOT_SUPPORTED where it has no such function, and with
 * needs_hardware STATUS_DEVICE_BUSY while vidmm_is_idle() is not true.
 */
NTSTATUS vidmm_escape(struct vidmm *vidmm, struct vidmm_escape *escape);

/* DxgkDdiGetNodeMetadata (WDDM 1.3), with an answer as of the function below. */
NTSTATUS vidmm_node_metadata(struct vidmm *vidmm, unsigned node,
                             DXGKARG_GETNODEMETADATA *out_metadata);

/*
 * DxgkDdiCalibrateGpuClock (WDDM 1.3): the node's clock and the processor's, at one time. The
 * driver's status; STATUS_NOT_SUPPORTED where it has no such function. The answer is zero without
 * success.
 */
NTSTATUS vidmm_calibrate_clock(struct vidmm *vidmm, unsigned node,
                               DXGKARG_CALIBRATEGPUCLOCK *out_calibration);

/*
 * What the driver has for a debug report (DxgkDdiCollectDbgInfo2, or DxgkDdiCollectDbgInfo of a
 * driver without it), at most so many bytes. reason is VIDEO_TDR_TIMEOUT_DETECTED or
 * VIDEO_ENGINE_TIMEOUT_DETECTED; resets ask by themselves, and keep nothing of the answer. The
 * driver's status; STATUS_NOT_SUPPORTED where it has no such function, and for engines before WDDM
 * 1.2; STATUS_INVALID_DEVICE_STATE while the power is off.
 */
NTSTATUS vidmm_collect_debug_info(struct vidmm *vidmm, uint32_t reason, void *buffer,
                                  uint32_t bytes);

/*
 * Gives an allocation: private_data goes to DxgkDdiCreateAllocation, which says size, segments
 * and flags. cookie is the embedder's name for it, in events and vidmm_allocation_cookie().
 *
 * STATUS_GRAPHICS_... of the driver when it refuses; STATUS_INVALID_PARAMETER when what it
 * reported breaks a rule (told to driver_error). STATUS_NOT_SUPPORTED: for a
 * driver of physical addresses it is larger than 4 GiB less a page, which is what the 32 bits of
 * MDL.ByteCount and Transfer.TransferOffset can say.
 */
NTSTATUS vidmm_allocation_create(struct vidmm_device *device, const void *private_data,
                                 uint32_t private_data_bytes, void *cookie,
                                 struct vidmm_allocation **out_allocation);

/*
 * Memory of the embedder's that is there already, for an allocation to have as its backing store:
 * system pages, which the platform's functions take like those that take_pages() gives. They are
 * the content of the allocation from its creation on, are never released to the platform, and hold
 * the content again whenever the allocation is locked.
 */
struct vidmm_client_memory {
    const uint64_t *pages; /* borrowed for the call */
    uint64_t page_count;
    bool is_kernels; /* ExistingKernelSysMem; otherwise the client's own: ExistingSysMem */
    /*
     * The manager and the GPU have no more to do with the pages: behind vidmm_allocation_destroy(),
     * when all work that uses the allocation has ended. Nothing may be called from here. May be
     * NULL. Not called for an allocation that was not created.
     */
    void (*released)(void *context);
    void *context; /* for released */
};

/*
 * The same over memory of the client's, for a driver that reports ExistingSysMem or
 * ExistingKernelSysMem for it. A lock gives these pages, as with PermanentSysMem. Such an
 * allocation can be neither offered nor renamed. STATUS_INVALID_PARAMETER: also when the driver
 * reports a size beyond the memory, or memory of the other kind (ALLOC-023). STATUS_NOT_SUPPORTED:
 * also when it reports neither flag.
 */
NTSTATUS vidmm_allocation_create_over(struct vidmm_device *device, const void *private_data,
                                      uint32_t private_data_bytes, void *cookie,
                                      const struct vidmm_client_memory *memory,
                                      struct vidmm_allocation **out_allocation);

/*
 * The same of a primary, which is what the embedder will show: in one piece where it is in memory,
 * and nobody's in the driver's eyes (APER-006). Only primaries have alternate virtual addresses.
 */
NTSTATUS vidmm_primary_create(struct vidmm_device *device, const void *private_data,
                              uint32_t private_data_bytes, void *cookie,
                              struct vidmm_allocation **out_allocation);

/*
 * The same of a surface that the kernel makes by itself, of so many pixels of 32 bits: the driver
 * describes it (DxgkDdiGetStandardAllocationDriverData). STATUS_NOT_SUPPORTED: the driver flips
 * nothing, or knows no standard allocations.
 */
NTSTATUS vidmm_shared_primary_create(struct vidmm_device *device, uint32_t width, uint32_t height,
                                     void *cookie, struct vidmm_allocation **out_allocation);

/*
 * Several by one call of the driver, as a resource of Direct3D has them: all or none. From there on
 * they are allocations like others. When they go, the driver destroys each by a call of its own, or
 * (ends_whole) all of them by one, when the last is gone. STATUS_INVALID_PARAMETER: none, or too
 * many.
 */
#define VIDMM_RESOURCE_MOST 16
struct vidmm_new_allocation {
    const void *private_data; /* as vidmm_allocation_create() takes them */
    uint32_t private_data_bytes;
    void *cookie;
    const struct vidmm_client_memory *memory; /* as vidmm_allocation_create_over(); or NULL */
};
NTSTATUS vidmm_resource_create(struct vidmm_device *device, bool ends_whole, unsigned count,
                               const struct vidmm_new_allocation *wanted,
                               struct vidmm_allocation **out_allocations);

/*
 * Destroys it: at once for the caller, behind the submitted work that uses it for the rest (its
 * pages are reused only then). Its mappings go with it. Only vidmm_evict() may still be called on
 * it, and must be, once for each residency reference that it has: until then it stays.
 */
void vidmm_allocation_destroy(struct vidmm_allocation *allocation);

/*
 * Opens an allocation of another device in this one, which may then refer to it in its submissions;
 * what the private data says is the driver's business. STATUS_INVALID_PARAMETER: it is the owner,
 * or has opened it already. An opening that is left goes with the device or the allocation.
 */
NTSTATUS vidmm_allocation_open(struct vidmm_device *device, struct vidmm_allocation *allocation,
                               const void *private_data, uint32_t private_data_bytes);

/* STATUS_GRAPHICS_ALLOCATION_BUSY: the device has submissions that have not ended. */
NTSTATUS vidmm_allocation_close(struct vidmm_device *device, struct vidmm_allocation *allocation);

/*
 * The device that made it closes it; the allocation stays, for devices that have it open or will
 * open it, until vidmm_allocation_destroy(). The device may be destroyed before that, its process
 * may not. STATUS_GRAPHICS_ALLOCATION_BUSY: the device has submissions that have not ended.
 * STATUS_INVALID_PARAMETER: it has closed it already, or the allocation is destroyed.
 */
NTSTATUS vidmm_allocation_leave(struct vidmm_allocation *allocation);

void *vidmm_allocation_cookie(const struct vidmm_allocation *allocation);
uint64_t vidmm_allocation_size(const struct vidmm_allocation *allocation); /* page multiple */
bool vidmm_allocation_is_resident(const struct vidmm_allocation *allocation);

/* DxgkCbGetHandleData: what the driver called the object of this handle; NULL: no such handle. */
HANDLE vidmm_handle_data(struct vidmm *vidmm, D3DKMT_HANDLE handle);

/* The same of a resource (DXGK_HANDLE_RESOURCE): its hResource. */
HANDLE vidmm_resource_data(struct vidmm *vidmm, D3DKMT_HANDLE handle);

/* DxgkCbGetHandleParent: the resource of an allocation; 0: no such allocation, or it has none. */
D3DKMT_HANDLE vidmm_handle_parent(struct vidmm *vidmm, D3DKMT_HANDLE allocation);

/*
 * DxgkCbEnumHandleChildren: the allocation of an index, from 0 on, of those of a resource; 0: no
 * such resource, or it has no more.
 */
D3DKMT_HANDLE vidmm_handle_child(struct vidmm *vidmm, D3DKMT_HANDLE resource, unsigned index);

/* ---- CPU access ------------------------------------------------------------------------------ */

/*
 * Makes the content reachable for the CPU and keeps it where it is until vidmm_unlock().
 *
 * STATUS_GRAPHICS_ALLOCATION_BUSY: work that uses it is pending, or it is being moved (the call
 * may have started that move): let the machine run and ask again. STATUS_ACCESS_DENIED: it is
 * Protected. STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_lock(struct vidmm_allocation *allocation);

/*
 * The same with wishes, as D3DDDICB_LOCKFLAGS has them. ACQUIRE_APERTURE: see it in linear order,
 * though the driver may have it in another one: through a swizzling range where it is in memory,
 * else in system memory, where what the driver does not mark Swizzled is linear. Below WDDM 2.0
 * only; later drivers are not asked. What is marked Swizzled is always locked that way.
 * IGNORE_SYNC: do not wait for work that uses it; STATUS_INVALID_PARAMETER for what is marked
 * Swizzled (SWZ-009). DISCARD: the content is not needed any more. With vidmm_config.renames, and
 * below WDDM 2.0, an allocation that work uses is then renamed rather than waited for: from now on
 * it is another instance, in system memory at first, of undefined content, and the old one stays
 * where it is for the work that was submitted before. The driver is not asked: it sees one
 * hAllocation paged in at several places. At most MaximumRenamingListLength instances exist at
 * once, if that is not 0; what would be one more, or finds no memory, waits. Not renamed are
 * primaries, overlays and captures, what has been opened in another device, and what is locked
 * through a swizzling range.
 */
#define VIDMM_LOCK_ACQUIRE_APERTURE (1u << 0)
#define VIDMM_LOCK_IGNORE_SYNC      (1u << 1)
#define VIDMM_LOCK_DISCARD          (1u << 2)
NTSTATUS vidmm_lock_with(struct vidmm_allocation *allocation, unsigned flags);
void vidmm_unlock(struct vidmm_allocation *allocation);

/*
 * Which instance of the allocation calls are about now: a name without a meaning, of no other
 * living object; NULL: the one that it was made with. It changes in vidmm_lock_with() only.
 */
const void *vidmm_allocation_instance(const struct vidmm_allocation *allocation);
/*
 * From inside DxgkDdiBuildPagingBuffer: which instance of its hAllocation the operation is about.
 * Also NULL when it is about no allocation of a client.
 */
const void *vidmm_paging_instance(const struct vidmm *vidmm);

/*
 * The content of a locked allocation is where vidmm_locked_page_address() says. False while it is
 * on its way from or to another place, as behind a sleep or a reset: what the CPU writes then may
 * be lost, and what it reads may be old.
 */
bool vidmm_lock_is_settled(const struct vidmm_allocation *allocation);

/* CPU physical address of a page of a locked allocation. */
uint64_t vidmm_locked_page_address(const struct vidmm_allocation *allocation, uint64_t page);

/* ---- Residency (GpuMmu) --------------------------------------------------------------------- */

/*
 * Adds one residency reference to each allocation, and pages in what is not resident (all or
 * nothing). STATUS_SUCCESS: all resident, done is not called. STATUS_PENDING: *out_fence_value is
 * the value that the device's paging fence will have, and done will be called; on failure the
 * references are gone again.
 */
NTSTATUS vidmm_make_resident(struct vidmm_device *device, unsigned count,
                             struct vidmm_allocation *const *allocations, vidmm_done done,
                             void *context, uint64_t *out_fence_value);

/*
 * The same for a caller that cannot go on without (MustSucceed, RES-004): when it fails, at once or
 * later, the device is in error (events.device_error) by the time that this, or done, says so.
 */
NTSTATUS vidmm_make_resident_or_fail(struct vidmm_device *device, unsigned count,
                                     struct vidmm_allocation *const *allocations, vidmm_done done,
                                     void *context, uint64_t *out_fence_value);

/*
 * Takes one reference off each, which vidmm_make_resident() gave and whose request has ended; at
 * none it may be evicted once the device's submitted work has finished.
 */
void vidmm_evict(struct vidmm_device *device, unsigned count,
                 struct vidmm_allocation *const *allocations);

/*
 * Lists: allocations that are asked for together again and again. What vidmm_list_make_resident()
 * and vidmm_list_evict() do is what vidmm_make_resident() and vidmm_evict() do with the members in
 * their order. But while neither the list nor what becomes of its members changes, and nobody looks
 * for room, either call costs the same however many members there are.
 *
 * An allocation may be in several lists, and more than once in one. It leaves its lists before it
 * is destroyed; the lists of a device are destroyed before the device.
 */

/* Gives a list of the allocations. STATUS_INVALID_HANDLE: one is destroyed. STATUS_NO_MEMORY. */
NTSTATUS vidmm_list_create(struct vidmm_device *device, unsigned count,
                           struct vidmm_allocation *const *allocations,
                           struct vidmm_list **out_list);
/* It gives no references, and no request of it is under way. */
void vidmm_list_destroy(struct vidmm_list *list);

/*
 * One more at the end, or one less: the last that is this allocation. STATUS_GRAPHICS_ALLOCATION_
 * BUSY: the list gives references, or a request of it is under way. STATUS_INVALID_HANDLE: it is
 * destroyed. STATUS_INVALID_PARAMETER: it is not in the list. STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_list_add(struct vidmm_list *list, struct vidmm_allocation *allocation);
NTSTATUS vidmm_list_remove(struct vidmm_list *list, struct vidmm_allocation *allocation);

NTSTATUS vidmm_list_make_resident(struct vidmm_list *list, vidmm_done done, void *context,
                                  uint64_t *out_fence_value);
/* Takes back what a vidmm_list_make_resident() gave whose request has ended. */
void vidmm_list_evict(struct vidmm_list *list);

/* ---- Budgets --------------------------------------------------------------------------------- */

/*
 * How much of a group the process should have resident; 0: no limit. It may change at any time.
 * Allocations of a process that is over its budget and that nobody holds are evicted before those
 * of others, whatever their priority.
 */
void vidmm_set_budget(struct vidmm_process *process, enum vidmm_budget_group group, uint64_t bytes);

struct vidmm_budget_info {
    uint64_t budget;   /* 0: no limit */
    uint64_t resident; /* bytes of its allocations in segments of the group */
    uint64_t held;     /* of these: not to be evicted while references, work or locks hold them */
};
void vidmm_budget_info(const struct vidmm_process *process, enum vidmm_budget_group group,
                       struct vidmm_budget_info *out_info);

/*
 * vidmm_make_resident() for a process that can trim: when the process would hold more than a
 * budget, nothing is done, *out_bytes_to_trim says by how much, and the status is
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY. A process that cannot trim further calls vidmm_make_resident(),
 * which knows no budget.
 */
NTSTATUS vidmm_make_resident_in_budget(struct vidmm_device *device, unsigned count,
                                       struct vidmm_allocation *const *allocations, vidmm_done done,
                                       void *context, uint64_t *out_fence_value,
                                       uint64_t *out_bytes_to_trim);

/* ---- Forecasts ------------------------------------------------------------------------------- */

/*
 * What the client is going to do, for a policy that goes by it (vidmm_policy_hinted). Times are the
 * client's own clock: when its work would begin if nothing ever waited. A wrong forecast costs
 * time, and nothing else.
 */

/*
 * When submissions will use the allocation, in ascending order; in the place of what was told of it
 * before. STATUS_INVALID_PARAMETER: they do not ascend. STATUS_INVALID_HANDLE: it is destroyed.
 * STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_forecast_uses(struct vidmm_allocation *allocation, unsigned count,
                             const uint64_t *uses_ns);

/* Bytes of allocations that begin and end in a segment at a time. */
struct vidmm_demand {
    uint64_t at_ns;
    uint64_t created, destroyed;
};

/*
 * What will be created and destroyed in the segment, in ascending order; in the place of what was
 * told before, of whichever segment. STATUS_INVALID_PARAMETER: no such segment, or times that do
 * not ascend. STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_forecast_demand(struct vidmm *vidmm, unsigned segment, unsigned count,
                               const struct vidmm_demand *demand);

/*
 * The clock: what begins before submitted_ns has asked for residency or has been submitted, so that
 * the manager knows it; and what begins before done_ns has run. What waits in a queue of the
 * client's is still to come.
 */
void vidmm_forecast_time(struct vidmm *vidmm, uint64_t submitted_ns, uint64_t done_ns);

/* ---- Offer and reclaim ----------------------------------------------------------------------- */

enum vidmm_offer_priority { VIDMM_OFFER_LOW, VIDMM_OFFER_NORMAL, VIDMM_OFFER_HIGH };

enum vidmm_reclaim_result {
    VIDMM_RECLAIM_OK,           /* the content is what it was */
    VIDMM_RECLAIM_DISCARDED,    /* no content any more: to be written before it is read */
    VIDMM_RECLAIM_NOT_COMMITTED /* nor memory for it: still offered, to be reclaimed later */
};

/*
 * Offers allocations: when room is needed they go first, LOW before NORMAL before HIGH, and their
 * content is not kept. Work that was submitted before still finds it. Until vidmm_reclaim() nothing
 * may use them: rendering, making resident and locking are
 * STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE; residency references stay the caller's, but do not keep
 * them. All or none.
 *
 * STATUS_GRAPHICS_ALLOCATION_BUSY: one is locked, or a request for one is under way (GpuMmu).
 * STATUS_INVALID_PARAMETER: one is offered already, named twice, or over memory of the client's.
 */
NTSTATUS vidmm_offer(struct vidmm_device *device, unsigned count,
                     struct vidmm_allocation *const *allocations,
                     enum vidmm_offer_priority priority);

/*
 * Takes the offers back; out_results, one for each, say what became of the content. What has
 * residency references and is not resident is paged in: STATUS_PENDING, and done is called as by
 * vidmm_make_resident(); on failure the references are
 * still there, but it is not resident.
 * STATUS_SUCCESS: done is not called. STATUS_INVALID_PARAMETER: one is not offered.
 */
NTSTATUS vidmm_reclaim(struct vidmm_device *device, unsigned count,
                       struct vidmm_allocation *const *allocations,
                       enum vidmm_reclaim_result *out_results, vidmm_done done, void *context,
                       uint64_t *out_fence_value);

/*
 * Moves a resident allocation that nobody uses to another memory segment that its driver allows, or
 * within its segment to a better place (nearer to the start, or in fewer pieces). The content goes
 * with it and never leaves the GPU's memory. Starts the move; what needs the allocation waits.
 *
 * STATUS_GRAPHICS_ALLOCATION_BUSY: in use, held or on its way already. STATUS_INVALID_PARAMETER:
 * not resident in a memory segment, or not allowed in that one. STATUS_GRAPHICS_NO_VIDEO_MEMORY: no
 * room, or no better place. STATUS_NOT_SUPPORTED: the segments have pages of different sizes.
 */
NTSTATUS vidmm_move(struct vidmm_allocation *allocation, unsigned segment);

/* Where it is, 0 for system memory; true if it is resident. */
bool vidmm_allocation_segment(const struct vidmm_allocation *allocation, unsigned *out_segment);

#define VIDMM_NO_CHOICE (~0u) /* of the segments that its driver wants for it, the best first */
unsigned vidmm_allocation_choice(const struct vidmm_allocation *allocation, unsigned index);

/* Which allocations go first when room is needed, as AllocationPriority; from now on. */
NTSTATUS vidmm_set_priority(struct vidmm_allocation *allocation, uint32_t priority);

/*
 * The paging fence: a 64-bit value that only grows. A request that was given a value is done when
 * the fence has it. With a driver of WDDM 2.2 or later it is a monitored fence, written by the GPU
 * as the last operation of the request's batch (SIGNAL_MONITORED_FENCE), and seen when the driver
 * reports MONITORED_FENCE_SIGNALED; with older ones packets that retire stand for it. Values of
 * requests that failed are passed over: the fence has them when nothing earlier is pending.
 */
uint64_t vidmm_device_paging_fence(const struct vidmm_device *device);

/*
 * What is submitted to the context from now on goes to the GPU only when the device's paging fence
 * has the value, so that submitting need not wait for done. STATUS_INVALID_PARAMETER: the value has
 * not been given to any request of the device.
 */
NTSTATUS vidmm_context_wait_for_paging(struct vidmm_context *context, uint64_t value);

/* ---- Scan-out (drivers that report FlipCaps.FlipOnVSyncMmIo) --------------------------------- */

/*
 * Shows a primary: it is brought in, its address goes to the driver, and it stays where it is until
 * another one is scanned out, nothing is shown, or the adapter sleeps or is reset. STATUS_PENDING:
 * done (may be NULL) will be called: with STATUS_SUCCESS when the driver has reported that it is
 * scanned out, with STATUS_CANCELLED when it is hidden before, STATUS_NOT_SUPPORTED when it lies
 * where no display finds it, or why it could not be brought in. STATUS_DEVICE_BUSY: another one is
 * on its way, or the adapter is not on. STATUS_NOT_SUPPORTED: the driver has no such scan-out.
 * STATUS_INVALID_PARAMETER: it is no primary. STATUS_GRAPHICS_INVALID_ALLOCATION_USAGE: it is
 * offered. STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_show(struct vidmm_allocation *primary, vidmm_done done, void *context);

/* Shows nothing any more. STATUS_DEVICE_BUSY: the adapter is not on. STATUS_NOT_SUPPORTED. */
NTSTATUS vidmm_hide(struct vidmm *vidmm);

/* ---- Native fences (GpuMmu, drivers of WDDM 3.1 that report NativeGpuFence) ------------------ */

#define VIDMM_MAX_NATIVE_FENCES_A_PAGE 64
#define VIDMM_NATIVE_FENCE_DATA_BYTES  64

/*
 * Gives a fence for work of the process, of type D3DDDI_NATIVEFENCE_TYPE_DEFAULT, with a first
 * value. private_data goes to DxgkDdiCreateNativeFence and comes back as the driver left it. done
 * (may be NULL) is called when the driver has been told where the fence is
 * (NOTIFY_FENCE_RESIDENCY): it may be used from then on. The process outlives it.
 *
 * STATUS_NOT_SUPPORTED: the driver has none. STATUS_DEVICE_BUSY: fences are being moved, or told of
 * anew, or the adapter is not on: let the machine run and ask again. STATUS_INSUFFICIENT_RESOURCES;
 * STATUS_NO_MEMORY; or the driver's own status.
 */
NTSTATUS vidmm_native_fence_create(struct vidmm_process *process, uint64_t value,
                                   uint8_t private_data[VIDMM_NATIVE_FENCE_DATA_BYTES],
                                   vidmm_done done, void *context,
                                   struct vidmm_native_fence **out_fence);

/*
 * No work that signals it is pending; waits for it end with STATUS_CANCELLED. STATUS_DEVICE_BUSY:
 * as above, or done has not been called.
 */
NTSTATUS vidmm_native_fence_destroy(struct vidmm_native_fence *fence);

/* As memory says now. */
uint64_t vidmm_native_fence_value(const struct vidmm_native_fence *fence);

/*
 * The CPU waits until the fence has at least the value, with an interrupt when it is signalled
 * (DxgkDdiUpdateMonitoredValues). STATUS_SUCCESS: it has. STATUS_PENDING: done (may be NULL) will
 * be called, with STATUS_SUCCESS, with STATUS_CANCELLED when the wait is given up, or with
 * STATUS_DEVICE_REMOVED. Any number may wait for a fence. STATUS_DEVICE_BUSY: as for destroying.
 * STATUS_NO_MEMORY; STATUS_DEVICE_REMOVED.
 */
NTSTATUS vidmm_native_fence_wait(struct vidmm_native_fence *fence, uint64_t value, vidmm_done done,
                                 void *context);

/* Ends all waits for the fence (STATUS_CANCELLED). STATUS_DEVICE_BUSY: as for creating. */
NTSTATUS vidmm_native_fence_cancel_waits(struct vidmm_native_fence *fence);

/*
 * Moves fences together, so that they take as few pages as they can. STATUS_SUCCESS: they do.
 * STATUS_PENDING: done (may be NULL) will be called; the processes of fences that move are held
 * until then. STATUS_DEVICE_BUSY: as above, or submissions are pending. STATUS_NOT_SUPPORTED;
 * STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_native_fences_pack(struct vidmm *vidmm, vidmm_done done, void *context);

/*
 * Fences leave the segments that they are in. They come back by themselves when the GPU has nothing
 * to do and there is room. STATUS_SUCCESS: none is in a segment. STATUS_PENDING: done (may be NULL)
 * will be called. STATUS_DEVICE_BUSY, STATUS_NOT_SUPPORTED: as for packing.
 */
NTSTATUS vidmm_native_fences_evict(struct vidmm *vidmm, vidmm_done done, void *context);

/* ---- GPU virtual addresses (GpuMmu) ---------------------------------------------------------- */

#define VIDMM_PROTECT_READ_ONLY  (1u << 0)
#define VIDMM_PROTECT_NO_EXECUTE (1u << 1)
#define VIDMM_PROTECT_ZERO       (1u << 2) /* vidmm_map_physical: no page, reads give zero */

/* In a driver protection: no page of the range may be mapped with another one (PT-029). */
#define VIDMM_UNIQUE_PROTECTION (UINT64_C(1) << 63)

struct vidmm_map_request {
    struct vidmm_allocation *allocation;
    uint64_t offset, bytes; /* of the allocation: multiples of 4 KiB */
    uint64_t va;            /* a multiple of 4 KiB; 0: the manager chooses */
    uint32_t protect;       /* READ_ONLY, NO_EXECUTE; left out where the driver has no such bit */
    uint64_t driver_protection; /* goes to the driver as it is, with these entries and no others */
    vidmm_done done;            /* may be NULL */
    void *context;              /* for done */
};

/*
 * Maps [offset, offset + bytes) of the allocation and gives the address. The page tables follow by
 * paging operations; done is called when the address may be used, or with
 * STATUS_GRAPHICS_NO_VIDEO_MEMORY when there is no room for the page tables: the mapping is then
 * gone. The entries follow the allocation wherever it moves.
 *
 * STATUS_RESOURCE_IN_USE: part of the range is taken, or reserved by the driver.
 * STATUS_INVALID_PARAMETER: also when part of it is where tile pools are mapped
 * (docs/contract-choices.md), and when a page is mapped with another driver protection and one of
 * the two is unique. STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_map_gpu_va(struct vidmm_process *process, const struct vidmm_map_request *request,
                          uint64_t *out_va);

/*
 * Maps pages of a segment chosen by the caller (segment 0: system pages), whoever owns them: what a
 * capture of another memory manager says. The range may have been mapped like this before: it is
 * replaced. STATUS_RESOURCE_IN_USE: an allocation is mapped there, or something of the manager's.
 *
 * The mapping outlives sleeps and resets; what is in the pages is the caller's, and is not saved.
 * After a reset the devices of a process that maps pages of local memory are in error.
 *
 * With VIDMM_PROTECT_ZERO there are no pages (segment and first_page are 0): reads give zero and
 * writes vanish; STATUS_NOT_SUPPORTED when the driver has no zero entries (PT-031).
 */
NTSTATUS vidmm_map_physical(struct vidmm_process *process, uint64_t va, unsigned segment,
                            uint64_t first_page, uint64_t page_count, uint32_t protect,
                            vidmm_done done, void *context);

/*
 * Unmaps physical mappings in [va, va + bytes); what was not mapped stays so. Updates of physical
 * pages count in the order of the calls: behind one whose tables wait for room, others wait, too.
 * STATUS_RESOURCE_IN_USE: something of the manager's is mapped there.
 */
NTSTATUS vidmm_unmap_physical(struct vidmm_process *process, uint64_t va, uint64_t bytes,
                              vidmm_done done, void *context);

/* Unmaps a mapping made by vidmm_map_gpu_va, by its first address. */
NTSTATUS vidmm_unmap_gpu_va(struct vidmm_process *process, uint64_t va, vidmm_done done,
                            void *context);

#define VIDMM_TILE_BYTES (UINT64_C(64) * 1024)

enum vidmm_tile_kind { VIDMM_TILE_MAP, VIDMM_TILE_UNMAP, VIDMM_TILE_COPY };

/* Addresses are multiples of 64 KiB; pages, of 4 KiB, come in multiples of 16. */
struct vidmm_tile_operation {
    enum vidmm_tile_kind kind;
    uint64_t va, page_count;
    struct vidmm_allocation *pool; /* MAP; else NULL */
    uint64_t first_page;           /* MAP: of the pool */
    uint64_t source_va;            /* COPY: its tiles are shown at va, too; not overlapping */
};

/*
 * Changes what ranges of the context's process show, one operation behind the other, after all work
 * submitted before the call; done (may be NULL) is called when the last one counts. Tiles replace
 * what tiles showed before and follow their pools wherever those move. A range that an allocation
 * is mapped at by vidmm_map_gpu_va() cannot have tiles.
 *
 * STATUS_NOT_SUPPORTED: no page tables. STATUS_DEVICE_BUSY: 128 updates of the context are not done
 * (CPTE-006). STATUS_INVALID_PARAMETER, also for a pool with a unique driver protection (PT-029);
 * STATUS_INVALID_HANDLE, STATUS_NO_MEMORY. done is told when
 * the process has something else in a range (STATUS_RESOURCE_IN_USE) or there is no room for page
 * tables (STATUS_GRAPHICS_NO_VIDEO_MEMORY); operations before that one count then. The context
 * stays until done. Where entries are copied, its first update makes its companion context: then
 * also what DxgkDdiCreateContext and DxgkDdiSetRootPageTable return, and STATUS_INVALID_PARAMETER
 * for a PagingCompanionNodeId that is no node (CPTE-007).
 */
NTSTATUS vidmm_update_gpu_va(struct vidmm_context *context, unsigned count,
                             const struct vidmm_tile_operation *operations, vidmm_done done,
                             void *done_context);

/* Where the process's root page table is, and its size; false before the first mapping. */
bool vidmm_process_root(const struct vidmm_process *process, unsigned *out_segment,
                        uint64_t *out_offset, uint64_t *out_entry_count);
/*
 * Tells the ranges of the process that the client has not mapped: those of DMA buffers for
 * presents, of the driver's own allocations and of progress fences. In any order.
 */
void vidmm_process_own_ranges(const struct vidmm_process *process,
                              void (*tell)(void *context, uint64_t va, uint64_t bytes),
                              void *context);

/* ---- Context allocations (callbacks of the driver) ------------------------------------------- */

/*
 * DxgkCbCreateContextAllocation, DestroyContextAllocation and MapContextAllocation. Such an
 * allocation gets its first content from the driver (INIT_CONTEXT_RESOURCE) and is resident
 * whenever something runs in its context. hContext and hDevice are the handles that the driver was
 * given.
 *
 * GpuMmu and the physical model; STATUS_NOT_SUPPORTED in IoMmu.
 * STATUS_INVALID_PARAMETER: not the context or device of a client, or what is asked for breaks a
 * rule (told to driver_error). Mapping wants MapGpuVirtualAddress at creation, which is invalid in
 * the physical model; STATUS_NOT_SUPPORTED: no BaseAddress, and the address chosen is outside the
 * range asked for.
 */
NTSTATUS vidmm_context_allocation_create(struct vidmm *vidmm,
                                         DXGKARGCB_CREATECONTEXTALLOCATION *args);
NTSTATUS vidmm_context_allocation_destroy(struct vidmm *vidmm, HANDLE allocation);
NTSTATUS vidmm_context_allocation_map(struct vidmm *vidmm,
                                      const DXGKARGCB_MAPCONTEXTALLOCATION *args, uint64_t *out_va);

/*
 * DxgkCbUpdateContextAllocation (GpuMmu): STATUS_PENDING, and done (may be NULL) comes when
 * UPDATE_CONTEXT_ALLOCATION has run. The driver's call returns only then: the embedder lets its
 * machine run meanwhile, if vidmm_can_wait(). Otherwise the driver was called from the midst of the
 * manager's work, nothing can happen before it returns, and the embedder lets it return at once: no
 * context of the process runs before the update has. The same when a node times out meanwhile: done
 * comes before the reset, which waits for vidmm_watch() after the driver's return (TDR-002).
 * STATUS_INVALID_DEVICE_REQUEST: called from DxgkDdiBuildPagingBuffer. STATUS_NOT_SUPPORTED: not
 * GpuMmu.
 */
bool vidmm_can_wait(const struct vidmm *vidmm);

/*
 * Waits for such updates are over: done has come for all of them, the updates come as they can.
 * True: there were any, so that a call of the driver is under way; what must be alone in the driver
 * is asked for again when that has returned.
 */
bool vidmm_end_waits(struct vidmm *vidmm);
NTSTATUS vidmm_context_allocation_update(struct vidmm *vidmm,
                                         const DXGKARGCB_UPDATECONTEXTALLOCATION *args,
                                         vidmm_done done, void *context);

/* ---- Address ranges of the driver's own (callback) ------------------------------------------- */

/*
 * DxgkCbReserveGpuVirtualAddressRange (GpuMmu): the range is nobody else's for as long as the
 * process lives, and the entries of the root that translate it stay invalid (PT-045). Only inside
 * DxgkDdiCreateProcess, for the process that is being created, the paging process included. Size,
 * BaseAddress and, where it can say so much, Alignment are multiples of what an entry of the root
 * translates. BaseAddress 0: the manager chooses, from entry 1 on. The answer is in
 * StartVirtualAddress, 0 on failure.
 *
 * STATUS_INVALID_PARAMETER: none of this (told to driver_error where it breaks PT-044), or the
 * range is where tile pools, or what is mapped in the paging process, have their addresses.
 * STATUS_RESOURCE_IN_USE: part of it is reserved, or there is no room. STATUS_NOT_SUPPORTED: not
 * GpuMmu, or AllowUserModeMapping. STATUS_NO_MEMORY.
 */
NTSTATUS vidmm_reserve_gpu_va(struct vidmm *vidmm, DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range);

/* ---- Submission ------------------------------------------------------------------------------ */

/*
 * What is submitted to the context from here on goes all the way and is not run (NullRendering): it
 * is paged in, patched, given to the driver and completed as ever, as on a GPU that takes no time.
 */
void vidmm_context_set_null_rendering(struct vidmm_context *context, bool is_null);

/*
 * What is submitted to the context from here on presents to a surface of the compositor
 * (RedirectedPresent). Only the driver is told: by Patch and by the submission.
 */
void vidmm_context_set_redirected_present(struct vidmm_context *context, bool is_redirected);

/*
 * Physical: from here on the client's half of the driver hands a list of patch locations in
 * (pPatchLocationListIn), one for each reference, at offset 0 of the command buffer. Drivers that
 * make their own of it name their allocations by it.
 */
void vidmm_context_set_patch_input(struct vidmm_context *context, bool names_references);

/*
 * GpuMmu: submits [va, va + bytes) of the process's address space to the context. All that it uses
 * is resident and stays so until done.
 */
NTSTATUS vidmm_submit_virtual(struct vidmm_context *context, uint64_t va, uint32_t bytes,
                              vidmm_done done, void *done_context);

/*
 * The same with what the user-mode driver tells its other half of this work: a copy of
 * private_data goes to DxgkDdiSubmitCommandVirtual. STATUS_INVALID_PARAMETER: it is larger than the
 * driver has said for the context (DXGK_CONTEXTINFO.DmaBufferPrivateDataSize).
 */
struct vidmm_virtual_work {
    uint64_t va;
    uint32_t bytes;
    uint32_t private_data_bytes;
    const void *private_data; /* borrowed for the call; NULL: none */
};
NTSTATUS vidmm_submit_virtual_with(struct vidmm_context *context,
                                   const struct vidmm_virtual_work *work, vidmm_done done,
                                   void *done_context);

struct vidmm_reference {
    struct vidmm_allocation *allocation;
    bool is_written;
};

/*
 * Physical: what the driver has set aside for each DMA buffer of the context (DXGK_CONTEXTINFO).
 * More references than this are refused; with guarantees_one_buffer the client keeps to the rest
 * too.
 */
struct vidmm_render_limits {
    uint32_t dma_bytes;
    uint32_t references;      /* AllocationListSize */
    uint32_t patch_locations; /* PatchLocationListSize */
};
void vidmm_render_limits(const struct vidmm_context *context, struct vidmm_render_limits *out);

/*
 * Physical: hands the command buffer to DxgkDdiRender, pages the references in, patches, submits.
 * done comes when all of it has run; with STATUS_GRAPHICS_NO_VIDEO_MEMORY when the references do
 * not fit together, not even in the parts in which the driver lets the buffer be split (needed and
 * available say how far off). When a part cannot be prepared, none behind it runs; if one before it
 * has, the status is STATUS_UNSUCCESSFUL, whatever was missing: the call cannot be repeated.
 */
NTSTATUS vidmm_render(struct vidmm_context *context, const void *command, uint32_t command_bytes,
                      unsigned reference_count, const struct vidmm_reference *references,
                      vidmm_done done, void *done_context);

/*
 * The same for what the kernel draws: commands is an array of DXGK_RENDERKM_COMMAND, each as long
 * as its CommandSize says, which name the references by their place in the list; DxgkDdiRenderKm
 * translates them. The context is one of vidmm_gdi_context_create().
 */
NTSTATUS vidmm_render_km(struct vidmm_context *context, const void *commands,
                         uint32_t command_bytes, unsigned reference_count,
                         const struct vidmm_reference *references, vidmm_done done,
                         void *done_context);

/*
 * The same where addresses are virtual: addresses has where the context's process sees the first
 * byte of each reference, and DxgkDdiRenderGdi translates the commands. As for all work by address,
 * what it refers to is on the device's residency list.
 */
NTSTATUS vidmm_render_gdi(struct vidmm_context *context, const void *commands,
                          uint32_t command_bytes, unsigned reference_count,
                          const struct vidmm_reference *references, const uint64_t *addresses,
                          vidmm_done done, void *done_context);

/*
 * A present, which DxgkDdiPresent makes commands of. The rectangles are those of the source and the
 * destination, and those parts of the destination that are written. Physical: the rest is as for
 * vidmm_render(). GpuMmu: the rest is as for vidmm_submit_virtual(), and the client says where its
 * process sees the first byte of the source and of the destination; the manager has DMA buffers of
 * its own, which it maps in the process. STATUS_NOT_SUPPORTED: the driver has no DxgkDdiPresent.
 */
struct vidmm_present {
    struct vidmm_allocation *source; /* NULL: the rectangles are filled with color */
    struct vidmm_allocation *destination;
    uint64_t source_va, destination_va; /* GpuMmu */
    uint32_t color;                     /* A8R8G8B8 */
    RECT source_rectangle, destination_rectangle;
    const RECT *rectangles;
    uint32_t rectangle_count;
    const void *private_data; /* of the user-mode driver; lent for the call */
    uint32_t private_data_bytes;
};
NTSTATUS vidmm_present(struct vidmm_context *context, const struct vidmm_present *present,
                       vidmm_done done, void *done_context);

VIDMM_API_END

#endif
