/*
 * Ledger: work of clients that the manager has and that has not ended, with the allocations of its
 * list. The driver sees such work late: DxgkDdiPatch names the allocations only when the
 * submission is about to run.
 */
#include "check/ledger/check_ledger.h"

#include "check/check_watch.h"

/*
 * The allocations are remembered as they were when the work was queued: a lock with discard gives
 * the client's name to another instance meanwhile.
 */
struct check_work {
    struct list link;
    const void *name; /* the client's */
    unsigned room, count;
    struct work_allocation {
        const void *handle;
        uint64_t number;
    } allocations[];
};

static size_t bytes_of(unsigned room)
{
    return sizeof(struct check_work) + room * sizeof(struct work_allocation);
}

static void end_work(struct check_ledger *ledger, struct check_work *work)
{
    for (unsigned i = 0; i < work->count; i++) {
        struct check_allocation *allocation =
            check_find_allocation(ledger, work->allocations[i].handle);

        if (allocation && allocation->object.number == work->allocations[i].number)
            allocation->work_count--;
    }
    list_remove(&work->link);
    base_free(ledger->services, work, bytes_of(work->room));
}

void check_ledger_queue_work(struct check_ledger *ledger, const struct check_client_event *event)
{
    struct check_work *work = base_alloc(ledger->services, bytes_of(event->count));

    if (!work) {
        ledger->is_whole = false;
        return;
    }
    work->name = event->work;
    work->room = event->count;
    work->count = 0;
    for (unsigned i = 0; i < event->count; i++) {
        struct check_allocation *allocation =
            check_find_client_allocation(ledger, event->allocations[i]);

        if (!allocation)
            continue;
        allocation->work_count++;
        work->allocations[work->count].handle = (void *)(uintptr_t)allocation->object.handle;
        work->allocations[work->count++].number = allocation->object.number;
    }
    list_push_back(&ledger->works, &work->link);
}

void check_ledger_end_work(struct check_ledger *ledger, const void *name)
{
    struct check_work *work;

    list_for_each (work, &ledger->works, struct check_work, link) {
        if (work->name == name) {
            end_work(ledger, work);
            return;
        }
    }
}

void check_ledger_forget_work(struct check_ledger *ledger)
{
    while (!list_is_empty(&ledger->works))
        end_work(ledger, list_first_entry(&ledger->works, struct check_work, link));
}
