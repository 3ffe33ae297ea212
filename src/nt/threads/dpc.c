/*
 * Deferred procedure calls. The queue is the bench's: the object in the driver's memory holds only
 * the driver's own arguments. One event of the machine runs all that are queued then, at
 * DISPATCH_LEVEL.
 */
#include "nt/threads/dpc.h"

#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/wait.h"

#include "base/bits.h"

#include <stdio.h>

#define DELAY_MIN_NS     100u
#define DELAY_MAX_NS     600u
#define LOW_DELAY_MAX_NS 5000u /* of one of low importance, alone */
#define RETRY_NS         200u

struct dpc_object {
    uint16_t mark; /* NT_MARK */
    uint8_t importance;
    uint8_t unused;
    uint32_t unused_too;
    KDEFERRED_ROUTINE *routine;
    void *context;
    uint64_t unused_at_all[5];
};

_Static_assert(sizeof(struct dpc_object) == sizeof(KDPC), "as long as the kernel's");

struct queued_dpc {
    struct list link;
    const void *key; /* the object that it was queued for */
    const void *routine;
    void *arguments[4];
};

static void run_dpcs(void *context);

/* The state of the area. */
struct dpcs {
    struct list queue; /* of struct queued_dpc, in the order in which they will run */
    struct machine_event event;
    bool is_late; /* the event comes late: only DPCs of low importance are queued */
};

static struct dpcs *dpcs_of(const struct nt *nt)
{
    return NT_STATE(nt, dpc);
}

static void schedule(struct nt *nt, uint64_t delay_ns)
{
    if (!nt->machine || list_is_empty(&dpcs_of(nt)->queue))
        return;
    machine_cancel(nt->machine, &dpcs_of(nt)->event);
    machine_schedule(nt->machine, &dpcs_of(nt)->event, nt_now(nt) + delay_ns, run_dpcs, nt);
}

static void run_routine(struct nt *nt, const struct queued_dpc *dpc)
{
    KDEFERRED_ROUTINE *routine = (KDEFERRED_ROUTINE *)nt_driver_function(nt, dpc->routine);
    uint32_t held = nt->held_locks;
    KIRQL before = nt_set_irql(nt, DISPATCH_LEVEL);

    if (routine)
        routine(dpc->arguments[0], dpc->arguments[1], dpc->arguments[2], dpc->arguments[3]);
    if (nt->irql != DISPATCH_LEVEL)
        nt_misuse(nt, "a DPC routine returns at IRQL %u; it was called at DISPATCH_LEVEL",
                  nt->irql);
    if (nt->held_locks != held)
        nt_misuse(nt, "a DPC routine returns with %u spin locks held; it was called with %u",
                  nt->held_locks, held);
    nt_set_irql(nt, before);
}

/* Those that are queued by these come with an event of their own. */
static void run_dpcs(void *context)
{
    struct nt *nt = context;
    size_t count = list_count(&dpcs_of(nt)->queue);
    struct list *node;

    if (nt->irql >= DISPATCH_LEVEL) {
        schedule(nt, RETRY_NS);
        return;
    }
    while (count-- && (node = list_pop_front(&dpcs_of(nt)->queue))) {
        struct queued_dpc *queued = container_of(node, struct queued_dpc, link);
        struct queued_dpc dpc = *queued;

        base_free(nt->services, queued, sizeof *queued);
        run_routine(nt, &dpc);
    }
    nt_signal(nt, &dpcs_of(nt)->queue);
    if (!dpcs_of(nt)->event.is_scheduled)
        schedule(nt, nt_delay(nt, DELAY_MIN_NS, DELAY_MAX_NS));
}

static struct queued_dpc *find(struct nt *nt, const void *key)
{
    struct queued_dpc *dpc;

    list_for_each (dpc, &dpcs_of(nt)->queue, struct queued_dpc, link) {
        if (dpc->key == key)
            return dpc;
    }
    return NULL;
}

bool nt_dpc_queue(struct nt *nt, const void *key, const void *routine, void *const arguments[4],
                  unsigned importance)
{
    bool is_first = list_is_empty(&dpcs_of(nt)->queue);
    struct queued_dpc *dpc;

    if (find(nt, key))
        return false;
    dpc = base_alloc(nt->services, sizeof *dpc);
    if (!dpc)
        KeBugCheckEx(NT_NO_PAGES_AVAILABLE, 0, 0, 0, 0);
    *dpc = (struct queued_dpc){.key = key, .routine = routine};
    for (unsigned i = 0; i < 4; i++)
        dpc->arguments[i] = arguments[i];
    if (importance == HighImportance)
        list_push_front(&dpcs_of(nt)->queue, &dpc->link);
    else
        list_push_back(&dpcs_of(nt)->queue, &dpc->link);
    if (is_first || (importance != LowImportance && dpcs_of(nt)->is_late)) {
        dpcs_of(nt)->is_late = importance == LowImportance;
        schedule(
            nt, nt_delay(nt, DELAY_MIN_NS, dpcs_of(nt)->is_late ? LOW_DELAY_MAX_NS : DELAY_MAX_NS));
    }
    return true;
}

bool nt_dpc_remove(struct nt *nt, const void *key)
{
    struct queued_dpc *dpc = find(nt, key);

    if (!dpc)
        return false;
    list_remove(&dpc->link);
    base_free(nt->services, dpc, sizeof *dpc);
    return true;
}

/* ---- Services -------------------------------------------------------------------------------- */

VOID NTAPI KeInitializeDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine, PVOID DeferredContext)
{
    *(struct dpc_object *)Dpc = (struct dpc_object){.mark = NT_MARK,
                                                    .importance = MediumImportance,
                                                    .routine = DeferredRoutine,
                                                    .context = DeferredContext};
}

/* It may run at DISPATCH_LEVEL like any other DPC, and does so here. */
VOID NTAPI KeInitializeThreadedDpc(PRKDPC Dpc, PKDEFERRED_ROUTINE DeferredRoutine,
                                   PVOID DeferredContext)
{
    KeInitializeDpc(Dpc, DeferredRoutine, DeferredContext);
}

static struct dpc_object *dpc_of(struct nt *nt, const char *service, PRKDPC dpc)
{
    struct dpc_object *object = (struct dpc_object *)dpc;

    if (object->mark == NT_MARK)
        return object;
    nt_misuse(nt, "%s: the DPC was never initialised, or was written over since", service);
    return NULL;
}

bool nt_dpc_insert(struct nt *nt, const char *service, PRKDPC dpc, void *first, void *second)
{
    const struct dpc_object *object = dpc_of(nt, service, dpc);

    return object &&
           nt_dpc_queue(nt, dpc, (const void *)object->routine,
                        (void *const[]){dpc, object->context, first, second}, object->importance);
}

BOOLEAN NTAPI KeInsertQueueDpc(PRKDPC Dpc, PVOID SystemArgument1, PVOID SystemArgument2)
{
    return nt_dpc_insert(nt_current(), "KeInsertQueueDpc", Dpc, SystemArgument1, SystemArgument2);
}

BOOLEAN NTAPI KeRemoveQueueDpc(PRKDPC Dpc)
{
    return nt_dpc_remove(nt_current(), Dpc);
}

static bool has_run_all(struct nt_thread *thread, void *queue, uint64_t argument)
{
    return list_is_empty(queue);
}

VOID NTAPI KeFlushQueuedDpcs(VOID)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "KeFlushQueuedDpcs", PASSIVE_LEVEL);
    nt_wait_to_take(nt, "KeFlushQueuedDpcs", "queue of DPCs", &dpcs_of(nt)->queue, has_run_all, 0);
}

VOID NTAPI KeSetImportanceDpc(PRKDPC Dpc, KDPC_IMPORTANCE Importance)
{
    struct dpc_object *object = dpc_of(nt_current(), "KeSetImportanceDpc", Dpc);

    if (object)
        object->importance = (uint8_t)Importance;
}

VOID NTAPI KeSetTargetProcessorDpc(PRKDPC Dpc, CCHAR Number)
{
    if (Number)
        nt_misuse(nt_current(), "KeSetTargetProcessorDpc: there is no processor %d", Number);
}

NTSTATUS NTAPI KeSetTargetProcessorDpcEx(PKDPC Dpc, PPROCESSOR_NUMBER ProcNumber)
{
    return ProcNumber->Group || ProcNumber->Number || ProcNumber->Reserved
               ? STATUS_INVALID_PARAMETER
               : STATUS_SUCCESS;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    const struct queued_dpc *dpc;

    list_for_each (dpc, &dpcs_of(nt)->queue, struct queued_dpc, link) {
        if ((uintptr_t)dpc->key - (uintptr_t)memory < bytes)
            KeBugCheckEx(NT_TIMER_OR_DPC_INVALID, 1, (ULONG_PTR)dpc->key, (ULONG_PTR)memory,
                         (ULONG_PTR)memory + bytes);
    }
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    const struct queued_dpc *dpc;
    char what[160], text[256];

    list_for_each (dpc, &dpcs_of(nt)->queue, struct queued_dpc, link) {
        nt_describe(nt, "DPC", dpc->key, what, sizeof what);
        snprintf(text, sizeof text, "%s is queued and has not run", what);
        tell(context, text);
    }
}

static void fini(struct nt *nt)
{
    struct list *node;

    if (nt->machine)
        machine_cancel(nt->machine, &dpcs_of(nt)->event);
    while ((node = list_pop_front(&dpcs_of(nt)->queue))) {
        struct queued_dpc *dpc = container_of(node, struct queued_dpc, link);

        base_free(nt->services, dpc, sizeof *dpc);
    }
}

static void init(struct nt *nt)
{
    list_init(&dpcs_of(nt)->queue);
}

static const struct nt_export services[] = {
    NT_SERVICE(KeInitializeDpc),
    NT_SERVICE(KeInitializeThreadedDpc),
    NT_SERVICE(KeInsertQueueDpc),
    NT_SERVICE(KeRemoveQueueDpc),
    NT_SERVICE(KeFlushQueuedDpcs),
    NT_SERVICE(KeSetImportanceDpc),
    NT_SERVICE(KeSetTargetProcessorDpc),
    NT_SERVICE(KeSetTargetProcessorDpcEx),
    {0},
};

const struct nt_area nt_dpc_area = {
    .exports = services,
    .state_bytes = sizeof(struct dpcs),
    .init = init,
    .fini = fini,
    .left = left,
    .freed = freed,
};
