/*
 * Ledger: the client's events. Names of objects, references, offers, renamed instances.
 */
#include "check/ledger/check_ledger.h"

#include "check/check_watch.h"

#include <string.h>

static struct check_holder *holder_of(struct check_ledger *ledger,
                                      struct check_allocation *allocation,
                                      const struct check_device *device)
{
    struct check_holder *holder = allocation->holders;

    while (holder && holder->device != device->object.number)
        holder = holder->next;
    if (holder)
        return holder;
    holder = base_alloc(ledger->services, sizeof *holder);
    if (!holder) {
        ledger->is_whole = false;
        return NULL;
    }
    *holder = (struct check_holder){
        .next = allocation->holders,
        .device = device->object.number,
        .first_packet = ledger->packets_submitted + 1,
    };
    allocation->holders = holder;
    return holder;
}

static void change_references(struct check_ledger *ledger, const struct check_client_event *event,
                              bool is_taken_back)
{
    struct check_device *device = check_find_client_device(ledger, event->device);

    for (unsigned i = 0; i < event->count && device; i++) {
        struct check_allocation *allocation =
            check_find_client_allocation(ledger, event->allocations[i]);
        struct check_holder *holder = allocation ? holder_of(ledger, allocation, device) : NULL;
        bool was_held = holder && holder->made > holder->evicted;

        if (!holder)
            continue;
        if (is_taken_back && was_held)
            holder->evicted++;
        else if (!is_taken_back)
            holder->made++;
        holder->last_packet = ledger->packets_submitted;
        if (check_is_missing(allocation) && was_held != (holder->made > holder->evicted))
            device->missing_count += was_held ? -1u : 1u;
        if (holder->made == holder->evicted)
            holder->made = holder->evicted = 0;
    }
}

static bool name_object(struct check_ledger *ledger, struct check_object *object, const void *name)
{
    return id_map_set(&ledger->clients, (uint64_t)(uintptr_t)name, object);
}

/* The fence value is there: the allocations have arrived, though no packet was reported yet. */
static void believe_arrival(struct check_ledger *ledger, const struct check_client_event *event)
{
    for (unsigned i = 0; i < event->count; i++) {
        struct check_allocation *allocation =
            check_find_client_allocation(ledger, event->allocations[i]);

        if (allocation && allocation->entering && !allocation->entering_unsubmitted)
            check_ledger_set_out(ledger, allocation, false);
    }
}

/*
 * The client knows that the content is gone, also where it had left memory before and no operation
 * says so. Work that was queued before the offer may have brought it in anew.
 */
static void note_discarded(struct check_allocation *allocation)
{
    if (allocation->has_entered)
        return;
    allocation->has_content = false;
    allocation->is_in_own_order = false; /* who writes to it next is the CPU, or it is filled */
}

static void note_told(struct check_ledger *ledger, const struct check_client_event *event)
{
    struct check_device *device = check_find_client_device(ledger, event->device);

    if (device && event->fence)
        device->told_fence = event->fence;
}

/* The next allocation of the last CreateAllocation has this name. False: there is no memory. */
static bool name_newest(struct check_ledger *ledger, const struct check_client_event *event)
{
    struct check_allocation *allocation;

    if (ledger->newest_named >= CHECK_MAX_ASKED)
        return true;
    allocation = ledger->newest_allocations[ledger->newest_named];
    ledger->newest_allocations[ledger->newest_named++] = NULL;
    if (!allocation || !event->count || !NT_SUCCESS(event->status))
        return true;
    allocation->client = event->allocations[0];
    return name_object(ledger, &allocation->object, event->allocations[0]);
}

bool check_ledger_client(struct check_ledger *ledger, const struct check_client_event *event)
{
    struct check_allocation *allocation =
        event->count ? check_find_client_allocation(ledger, event->allocations[0]) : NULL;

    ledger->is_whole = true;
    ledger->has_client = true;
    switch (event->kind) {
    case CHECK_CLIENT_DEVICE:
        if (ledger->newest_device) {
            ledger->newest_device->client = event->device;
            ledger->is_whole &= name_object(ledger, &ledger->newest_device->object, event->device);
        }
        ledger->newest_device = NULL;
        break;
    case CHECK_CLIENT_CREATE:
        memset(ledger->newest_allocations, 0, sizeof ledger->newest_allocations);
        ledger->newest_named = 0;
        ledger->is_next_primary = event->is_primary;
        ledger->next_memory = event->memory;
        break;
    case CHECK_CLIENT_CREATED:
        ledger->is_next_primary = false;
        ledger->next_memory.pages = NULL;
        ledger->is_whole &= name_newest(ledger, event);
        break;
    case CHECK_CLIENT_DESTROY:
        if (allocation)
            allocation->is_dying = true;
        break;
    case CHECK_CLIENT_MAKE_RESIDENT:
        if (event->status == STATUS_SUCCESS)
            change_references(ledger, event, false);
        break;
    case CHECK_CLIENT_RESIDENT:
        note_told(ledger, event);
        if (event->is_reclaim && allocation && NT_SUCCESS(event->status))
            check_ledger_set_offered(ledger, allocation, allocation->is_offered, false);
        else if (NT_SUCCESS(event->status))
            change_references(ledger, event, false);
        if (NT_SUCCESS(event->status))
            believe_arrival(ledger, event);
        break;
    case CHECK_CLIENT_EVICT:
        change_references(ledger, event, true);
        break;
    case CHECK_CLIENT_OFFER:
        if (allocation && NT_SUCCESS(event->status)) {
            for (struct check_holder *holder = allocation->holders; holder; holder = holder->next)
                holder->last_packet = ledger->packets_submitted;
            check_ledger_set_offered(ledger, allocation, true, false);
            allocation->offer_class = event->priority;
            allocation->departs = false;
            allocation->is_dropped = false;
        }
        break;
    case CHECK_CLIENT_RECLAIM:
        if (allocation && NT_SUCCESS(event->status) && event->result != CHECK_RECLAIM_NOT_COMMITTED)
            check_ledger_set_offered(ledger, allocation, false, event->status == STATUS_PENDING);
        if (allocation && NT_SUCCESS(event->status) && event->result == CHECK_RECLAIM_DISCARDED)
            note_discarded(allocation);
        break;
    case CHECK_CLIENT_LOST:
        if (allocation)
            check_ledger_lose_history(allocation);
        break;
    case CHECK_CLIENT_LOCKED:
        if (allocation && NT_SUCCESS(event->status))
            allocation->lock_count++;
        if (allocation)
            allocation->is_written = true;
        break;
    case CHECK_CLIENT_RENAMED:
        if (allocation)
            ledger->is_whole &= check_ledger_enter_instance(ledger, allocation, event);
        break;
    case CHECK_CLIENT_UNLOCK:
        if (allocation && allocation->lock_count)
            allocation->lock_count--;
        break;
    case CHECK_CLIENT_SLEEP:
        ledger->is_asleep = true;
        break;
    case CHECK_CLIENT_WAKE:
        ledger->is_asleep = false;
        break;
    case CHECK_CLIENT_QUEUED:
        check_ledger_queue_work(ledger, event);
        break;
    case CHECK_CLIENT_ENDED:
        check_ledger_end_work(ledger, event->work);
        break;
    case CHECK_CLIENT_PULLED:
        ledger->is_pulled_out = true;
        /* fall through */
    case CHECK_CLIENT_GONE:
        ledger->is_gone = true;
        check_ledger_forget_places(ledger);
        check_ledger_forget_work(ledger);
        break;
    default:
        break;
    }
    return ledger->is_whole;
}
