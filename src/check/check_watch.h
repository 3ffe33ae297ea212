/*
 * Watchers: the areas of the catalogue, each judged by one of them.
 *
 * Place      check, private. check_layer.c calls them; each stands in a file of its own
 *            (check_paging.c, check_aperture.c, ...) and in the list below.
 * Model      A watcher sees the calls that it names before they go down and after they have come
 *            back, each callback, each packet when the driver reports it finished, and what the GPU
 *            does, with the ledger as it is at that moment: objects are entered before `after` and
 *            removed behind it. Rules are judged with CHECK_RULE() (check_report.h). A watcher is a
 *            row: its name, the size of its state, its hooks.
 * Ownership  Events and what they point at are lent for the call. The state is the check's.
 */
#ifndef DRYDOCK_CHECK_WATCH_H
#define DRYDOCK_CHECK_WATCH_H

#include "check/check.h"
#include "check/guard/check_guard.h"
#include "check/ledger/check_ledger.h"
#include "check/guard/check_patch_guard.h"
#include "check/report/check_report.h"
#include "trace/trace.h" /* enum trace_callback */

/* One call of a DDI. */
struct check_call {
    uint64_t event;
    enum miniport_ddi ddi;
    HANDLE object; /* as it was passed: NULL is the adapter */
    /* The member named after the DDI (MINIPORT_DDI_LIST), if it has an argument structure. */
    union {
        void *any;
#define X(function, ddi, argument) argument function;
        MINIPORT_DDI_LIST(X)
#undef X
        DXGKARG_GETROOTPAGETABLESIZE *get_root_page_table_size;
    } arg;
    /* A copy of the structure (not of what it points at) as it was before the call. */
    union {
        const void *any;
#define X(function, ddi, argument) const __typeof__(*(argument)0) *function;
        MINIPORT_DDI_LIST(X)
#undef X
        const DXGKARG_GETROOTPAGETABLESIZE *get_root_page_table_size;
    } before;
    unsigned irql;     /* at which it was called */
    unsigned held;     /* regions, mutexes and locks of the thread by then */
    NTSTATUS status;   /* after */
    bool has_returned; /* this is after */
    uint64_t bytes;    /* after GetRootPageTableSize: what it returned */
    bool is_ours;      /* after InterruptRoutine: what it returned */
    /* SetPowerState. */
    DEVICE_POWER_STATE power_state;
    POWER_ACTION power_action;
    DXGK_SURPRISE_REMOVAL_TYPE removal; /* NotifySurpriseRemoval */
    /* Before a submission: its packet, entered already; NULL: there was no memory. */
    const struct check_packet *packet;
    /* After BuildPagingBuffer: what the guards around the two buffers say; NULL: not guarded. */
    const struct guard_verdict *dma_verdict, *private_verdict;
    const struct patch_verdict *patch_verdict; /* after Patch, the same */
    char *guarded_dma, *guarded_private;       /* what went down instead; NULL: the real ones */
    bool is_marked; /* BuildPagingBuffer: the real buffer, which tells what was written to it */
    const struct check_call *outer; /* the call in whose middle this one was made, or NULL */
};

/* One callback of the driver; data is the argument structure, NULL where there is none. */
struct check_callback {
    uint64_t event;
    enum trace_callback callback;
    const void *data;
    NTSTATUS status;   /* what the kernel answered, where it did already */
    void *result;      /* GetHandleData: what it gave; Reserve: the process; Destroy: the handle */
    HANDLE gone;       /* Destroy: the driver's handle of what went; NULL: not known */
    uint64_t offset;   /* MapFrameBufferPointer: Offset, as the driver said it */
    bool has_returned; /* UpdateContextAllocation, which is shown before and after */
    const struct check_call *outer; /* the DDI in whose middle it was made, NULL: none */
};

/* "DxgkCbNotifyInterrupt" */
static inline const char *check_callback_name(const struct check_callback *callback)
{
    const struct miniport_memory_request *memory = callback->data;
    const struct miniport_power_request *power = callback->data;

    return callback->callback == TRACE_CALLBACK_memory  ? miniport_memory_name(memory->kind)
           : callback->callback == TRACE_CALLBACK_power ? miniport_power_name(power->kind)
                                                        : trace_callback_name(callback->callback);
}

#define CHECK_CALLS(...) ((const enum miniport_ddi[]){__VA_ARGS__, MINIPORT_DDI_COUNT})

struct check_watcher {
    const char *name;
    size_t state_bytes; /* of the state that the hooks get, zeroed; 0: they get NULL */
    /*
     * init() enters values that are not zero in the state; fini() frees the memory that the state
     * points at. These two and all hooks may be NULL.
     */
    void (*init)(struct check *check, void *state);
    void (*fini)(struct check *check, void *state);
    void (*before)(struct check *check, void *state, const struct check_call *call);
    void (*after)(struct check *check, void *state, const struct check_call *call);
    /* The calls that before() and after() are shown: CHECK_CALLS(). NULL: every call. */
    const enum miniport_ddi *before_calls, *after_calls;
    void (*callback)(struct check *check, void *state, const struct check_callback *callback);
    void (*retired)(struct check *check, void *state, const struct check_packet *packet);
    void (*gpu)(struct check *check, void *state, const struct check_gpu_event *event);
    void (*maps)(struct check *check, void *state, const uint64_t *pages, uint64_t count);
    /* An event of the client, which the ledger has entered. Allocations that it destroys exist
     * still. */
    void (*client)(struct check *check, void *state, const struct check_client_event *event);
    void (*end)(struct check *check, void *state, bool is_orderly);
    /* Nothing more will happen. Gives how many reports the driver owes. */
    unsigned (*stands_still)(struct check *check, void *state);
};

/* All of them, in the order in which they are asked. */
/* clang-format off */
#define CHECK_WATCHER_LIST(X)                                                                      \
    X(check_buffer_watcher)                                                                        \
    X(check_paging_watcher)                                                                        \
    X(check_aperture_watcher)                                                                      \
    X(check_host_aperture_watcher)                                                                 \
    X(check_segment_watcher)                                                                       \
    X(check_placement_watcher)                                                                     \
    X(check_submission_watcher)                                                                    \
    X(check_fence_watcher)                                                                         \
    X(check_fault_watcher)                                                                         \
    X(check_table_caps_watcher)                                                                    \
    X(check_patch_watcher)                                                                         \
    X(check_page_table_watcher)                                                                    \
    X(check_reset_watcher)                                                                         \
    X(check_table_life_watcher)                                                                    \
    X(check_virtual_watcher)                                                                       \
    X(check_power_watcher)                                                                         \
    X(check_component_watcher)                                                                     \
    X(check_tlb_watcher)                                                                           \
    X(check_threading_watcher)                                                                     \
    X(check_table_bytes_watcher)                                                                   \
    X(check_table_look_watcher)                                                                    \
    X(check_transfer_watcher) /* behind table look: a wrong table is found there first */          \
    X(check_notice_watcher)                                                                        \
    X(check_allocation_watcher)                                                                    \
    X(check_residency_watcher)                                                                     \
    X(check_scan_out_watcher)                                                                      \
    X(check_rename_watcher)                                                                        \
    X(check_swizzle_watcher)                                                                       \
    X(check_context_watcher)                                                                       \
    X(check_escape_watcher)                                                                        \
    X(check_debug_watcher)                                                                         \
    X(check_clock_watcher)                                                                         \
    X(check_suspension_watcher)                                                                    \
    X(check_hw_engine_watcher)                                                                     \
    X(check_context_list_watcher)                                                                  \
    X(check_hw_queue_watcher)                                                                      \
    X(check_scheduling_log_watcher)                                                                \
    X(check_loan_watcher)                                                                          \
    X(check_device_memory_watcher)                                                                 \
    X(check_save_area_watcher)                                                                     \
    X(check_modes_watcher)                                                                         \
    X(check_reserved_watcher)
/* clang-format on */

#define X(watcher) extern const struct check_watcher watcher;
CHECK_WATCHER_LIST(X)
#undef X

struct check_ledger *check_ledger(struct check *check);
const struct check_config *check_configuration(const struct check *check);
/* The innermost call, NULL outside of calls. */
const struct check_call *check_current_call(const struct check *check);
/*
 * The nearest call around this one that is not an interrupt's: calls that follow from a completion
 * are made where the completion is told.
 */
const struct check_call *check_call_around(const struct check_call *call);
/* PASSIVE_LEVEL when nobody tells. */
unsigned check_irql(const struct check *check);
/* Memory ran out: the account is not whole any more. */
void check_lost(struct check *check);

#endif
