/*
 * Work items, served by threads of the bench that are made as they are needed. The queue holds
 * copies of the bench's own: an item may be freed by its routine.
 */
#include "nt/machine/bug_check.h"
#include "nt/nt_private.h"
#include "nt/threads/thread.h"
#include "nt/threads/wait.h"

#include "base/bits.h"

#include <stdio.h>

#define MAX_WORKERS 16u

struct _IO_WORKITEM {
    uint32_t mark; /* NT_MARK */
    uint32_t is_ours;
    PDEVICE_OBJECT device;
    uint64_t unused[6];
};

/* One that IoAllocateWorkItem() gave. */
struct allocated_item {
    struct list link;
    struct _IO_WORKITEM item;
};

/* Work that is queued, or runs. */
struct work {
    struct list link;
    const void *key; /* the item */
    const void *routine;
    void *arguments[3];
};

struct worker {
    struct list link; /* in struct works.workers */
    struct nt *nt;
    struct nt_thread *thread;
    struct work now;
    bool is_busy;
};

/* The state of the area. */
struct works {
    struct list queue;     /* of struct work */
    struct list workers;   /* of struct worker: threads that serve it */
    struct list allocated; /* of struct allocated_item: IoAllocateWorkItem() gave them */
};

static struct works *works_of(const struct nt *nt)
{
    return NT_STATE(nt, work_item);
}

/* ---- Threads --------------------------------------------------------------------------------- */

/* The queue, for its worker: nothing is left when another one was faster. */
static bool take_work(struct nt_thread *thread, void *queue, uint64_t argument)
{
    struct worker *worker = thread->context;
    struct list *node = list_pop_front(queue);
    struct work *work;

    if (!node)
        return false;
    work = container_of(node, struct work, link);
    worker->now = *work;
    base_free(thread->nt->services, work, sizeof *work);
    worker->is_busy = true;
    return true;
}

static void run_work(struct worker *worker)
{
    struct nt *nt = worker->nt;
    const struct work *work = &worker->now;
    IO_WORKITEM_ROUTINE_EX *routine =
        (IO_WORKITEM_ROUTINE_EX *)nt_driver_function(nt, work->routine);
    const struct nt_thread *thread = worker->thread;

    if (routine)
        routine(work->arguments[0], work->arguments[1], work->arguments[2]);
    if (nt->irql != PASSIVE_LEVEL)
        KeBugCheckEx(NT_WORKER_THREAD_RETURNED_AT_BAD_IRQL, (ULONG_PTR)work->routine, nt->irql,
                     (ULONG_PTR)work->arguments[1], (ULONG_PTR)work->key);
    if (thread->owned_mutexes)
        KeBugCheckEx(NT_SYSTEM_EXIT_OWNED_MUTEX, (ULONG_PTR)work->routine,
                     (ULONG_PTR)work->arguments[1], (ULONG_PTR)work->key, 0);
    if (thread->critical_depth || thread->guarded_depth)
        KeBugCheckEx(NT_APC_INDEX_MISMATCH, (ULONG_PTR)work->routine, 0,
                     (ULONG_PTR)(uint32_t)(-thread->guarded_depth << 16 |
                                           (-thread->critical_depth & 0xffff)),
                     1);
}

static void worker_main(void *context)
{
    struct worker *worker = context;

    for (;;) {
        nt_wait_to_take(worker->nt, "its queue", "work", &works_of(worker->nt)->queue, take_work,
                        0);
        run_work(worker);
        worker->is_busy = false;
    }
}

static bool add_worker(struct nt *nt)
{
    struct worker *worker = base_alloc(nt->services, sizeof *worker);

    if (!worker)
        return false;
    *worker = (struct worker){.nt = nt};
    if (!NT_SUCCESS(nt_thread_create(nt, NULL, worker_main, worker, &worker->thread))) {
        base_free(nt->services, worker, sizeof *worker);
        return false;
    }
    list_push_back(&works_of(nt)->workers, &worker->link);
    return true;
}

/* ---- The queue ------------------------------------------------------------------------------- */

static bool is_queued(struct nt *nt, const void *key)
{
    const struct work *work;

    list_for_each (work, &works_of(nt)->queue, struct work, link) {
        if (work->key == key)
            return true;
    }
    return false;
}

static void queue(struct nt *nt, const char *service, const void *key, const void *routine,
                  void *first, void *second, void *third)
{
    struct work *work;
    size_t workers;

    nt_require_irql(nt, service, DISPATCH_LEVEL);
    if (is_queued(nt, key)) {
        nt_misuse(nt, "%s: the work item is queued already", service);
        return;
    }
    work = base_alloc(nt->services, sizeof *work);
    if (!work)
        KeBugCheckEx(NT_NO_PAGES_AVAILABLE, 0, 0, 0, 0);
    *work = (struct work){.key = key, .routine = routine, .arguments = {first, second, third}};
    list_push_back(&works_of(nt)->queue, &work->link);
    nt_signal(nt, &works_of(nt)->queue);
    workers = list_count(&works_of(nt)->workers);
    if (list_is_empty(&works_of(nt)->queue) || workers >= MAX_WORKERS)
        return;
    if (!add_worker(nt) && !workers)
        KeBugCheckEx(NT_NO_PAGES_AVAILABLE, 0, 0, 0, 0);
}

VOID NTAPI ExQueueWorkItem(PWORK_QUEUE_ITEM WorkItem, WORK_QUEUE_TYPE QueueType)
{
    queue(nt_current(), "ExQueueWorkItem", WorkItem, (const void *)WorkItem->WorkerRoutine,
          WorkItem->Parameter, NULL, NULL);
}

/* ---- Items of a device ----------------------------------------------------------------------- */

ULONG NTAPI IoSizeofWorkItem(VOID)
{
    return sizeof(struct _IO_WORKITEM);
}

VOID NTAPI IoInitializeWorkItem(PVOID IoObject, PIO_WORKITEM IoWorkItem)
{
    *IoWorkItem = (struct _IO_WORKITEM){.mark = NT_MARK, .device = IoObject};
}

PIO_WORKITEM NTAPI IoAllocateWorkItem(PDEVICE_OBJECT DeviceObject)
{
    struct nt *nt = nt_current();
    struct allocated_item *item;

    nt_require_irql(nt, "IoAllocateWorkItem", DISPATCH_LEVEL);
    item = base_alloc(nt->services, sizeof *item);
    if (!item)
        return NULL;
    IoInitializeWorkItem(DeviceObject, &item->item);
    item->item.is_ours = true;
    list_push_back(&works_of(nt)->allocated, &item->link);
    return &item->item;
}

/* NULL: one that was freed is not looked at. */
static struct allocated_item *find_allocated(struct nt *nt, const struct _IO_WORKITEM *item)
{
    struct allocated_item *allocated;

    list_for_each (allocated, &works_of(nt)->allocated, struct allocated_item, link) {
        if (&allocated->item == item)
            return allocated;
    }
    return NULL;
}

static void end_item(struct nt *nt, const char *service, PIO_WORKITEM item)
{
    nt_require_irql(nt, service, DISPATCH_LEVEL);
    if (is_queued(nt, item))
        KeBugCheckEx(NT_WORKER_INVALID, 0, (ULONG_PTR)item, (ULONG_PTR)item, (ULONG_PTR)(item + 1));
}

VOID NTAPI IoFreeWorkItem(PIO_WORKITEM IoWorkItem)
{
    struct nt *nt = nt_current();
    struct allocated_item *item = find_allocated(nt, IoWorkItem);

    if (!item) {
        nt_misuse(nt, "IoFreeWorkItem: there is no such work item (it has been freed, or was not "
                      "allocated)");
        return;
    }
    end_item(nt, "IoFreeWorkItem", IoWorkItem);
    list_remove(&item->link);
    base_free(nt->services, item, sizeof *item);
}

VOID NTAPI IoUninitializeWorkItem(PIO_WORKITEM IoWorkItem)
{
    end_item(nt_current(), "IoUninitializeWorkItem", IoWorkItem);
    IoWorkItem->mark = 0;
}

static bool is_item(struct nt *nt, const char *service, const struct _IO_WORKITEM *item)
{
    if (find_allocated(nt, item) || (item->mark == NT_MARK && !item->is_ours))
        return true;
    nt_misuse(nt, "%s: there is no such work item", service);
    return false;
}

VOID NTAPI IoQueueWorkItem(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE WorkerRoutine,
                           WORK_QUEUE_TYPE QueueType, PVOID Context)
{
    struct nt *nt = nt_current();

    if (is_item(nt, "IoQueueWorkItem", IoWorkItem))
        queue(nt, "IoQueueWorkItem", IoWorkItem, (const void *)WorkerRoutine, IoWorkItem->device,
              Context, NULL);
}

VOID NTAPI IoQueueWorkItemEx(PIO_WORKITEM IoWorkItem, PIO_WORKITEM_ROUTINE_EX WorkerRoutine,
                             WORK_QUEUE_TYPE QueueType, PVOID Context)
{
    struct nt *nt = nt_current();

    if (is_item(nt, "IoQueueWorkItemEx", IoWorkItem))
        queue(nt, "IoQueueWorkItemEx", IoWorkItem, (const void *)WorkerRoutine, IoWorkItem->device,
              Context, IoWorkItem);
}

/* ---- The end --------------------------------------------------------------------------------- */

static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    const struct work *work;

    list_for_each (work, &works_of(nt)->queue, struct work, link) {
        if ((uintptr_t)work->key - (uintptr_t)memory < bytes)
            KeBugCheckEx(NT_WORKER_INVALID, 0, (ULONG_PTR)work->key, (ULONG_PTR)memory,
                         (ULONG_PTR)memory + bytes);
    }
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    const struct worker *worker;
    const struct work *work;
    const struct allocated_item *item;

    list_for_each (work, &works_of(nt)->queue, struct work, link)
        tell(context, "a work item is queued and has not run");
    list_for_each (worker, &works_of(nt)->workers, struct worker, link) {
        char text[400];

        if (!worker->is_busy)
            continue;
        nt_describe_thread(worker->thread, text, sizeof text);
        tell(context, text);
    }
    list_for_each (item, &works_of(nt)->allocated, struct allocated_item, link)
        tell(context, "a work item of IoAllocateWorkItem has not been freed");
}

/* Their threads have been or will be ended. */
static void end_threads(struct nt *nt)
{
    struct list *node;

    while ((node = list_pop_front(&works_of(nt)->queue)))
        base_free(nt->services, container_of(node, struct work, link), sizeof(struct work));
    while ((node = list_pop_front(&works_of(nt)->workers)))
        base_free(nt->services, container_of(node, struct worker, link), sizeof(struct worker));
    while ((node = list_pop_front(&works_of(nt)->allocated)))
        base_free(nt->services, container_of(node, struct allocated_item, link),
                  sizeof(struct allocated_item));
}

static void init(struct nt *nt)
{
    list_init(&works_of(nt)->queue);
    list_init(&works_of(nt)->workers);
    list_init(&works_of(nt)->allocated);
}

static const struct nt_export services[] = {
    NT_SERVICE(ExQueueWorkItem),
    NT_SERVICE(IoSizeofWorkItem),
    NT_SERVICE(IoInitializeWorkItem),
    NT_SERVICE(IoUninitializeWorkItem),
    NT_SERVICE(IoAllocateWorkItem),
    NT_SERVICE(IoFreeWorkItem),
    NT_SERVICE(IoQueueWorkItem),
    NT_SERVICE(IoQueueWorkItemEx),
    {0},
};

const struct nt_area nt_work_item_area = {
    .exports = services,
    .state_bytes = sizeof(struct works),
    .init = init,
    .end_threads = end_threads,
    .left = left,
    .freed = freed,
};
