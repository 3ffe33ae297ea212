/* Check: the list of watchers, each with its state, and the events that come from outside. */
#include "check/check_private.h"
#include "base/bits.h"
#include "check/report/check_blame.h"

#include <string.h>

#define X(watcher) &watcher,
static const struct check_watcher *const watchers[CHECK_WATCHER_COUNT] = {CHECK_WATCHER_LIST(X)};
#undef X

static void add_listener(struct check_listeners *listeners, const struct check_watcher *watcher,
                         void *state)
{
    listeners->list[listeners->count++] = (struct check_listener){watcher, state};
}

/* No calls: every call. */
static void add_hearer(struct check_hearers *hearers, const enum miniport_ddi *calls, unsigned i)
{
    const uint64_t hearer = UINT64_C(1) << i;

    for (; calls && *calls != MINIPORT_DDI_COUNT; calls++)
        hearers->of[*calls] |= hearer;
    for (unsigned ddi = 0; !calls && ddi < MINIPORT_DDI_COUNT; ddi++)
        hearers->of[ddi] |= hearer;
}

void check_tell_before(struct check *check, const struct check_call *call)
{
    for (uint64_t left = check->before.of[call->ddi]; left; left &= left - 1) {
        const unsigned i = ctz_u64(left);

        watchers[i]->before(check, check->states[i], call);
    }
}

void check_tell_after(struct check *check, const struct check_call *call)
{
    for (uint64_t left = check->after.of[call->ddi]; left; left &= left - 1) {
        const unsigned i = ctz_u64(left);

        watchers[i]->after(check, check->states[i], call);
    }
}

static void add_listeners(struct check *check, unsigned i)
{
    const struct check_watcher *watcher = watchers[i];
    void *state = check->states[i];

    if (watcher->before)
        add_hearer(&check->before, watcher->before_calls, i);
    if (watcher->after)
        add_hearer(&check->after, watcher->after_calls, i);
    if (watcher->callback)
        add_listener(&check->listeners.callback, watcher, state);
    if (watcher->retired)
        add_listener(&check->listeners.retired, watcher, state);
    if (watcher->gpu)
        add_listener(&check->listeners.gpu, watcher, state);
    if (watcher->maps)
        add_listener(&check->listeners.maps, watcher, state);
    if (watcher->client)
        add_listener(&check->listeners.client, watcher, state);
}

static bool add_state(struct check *check, unsigned i)
{
    if (!watchers[i]->state_bytes)
        return true;
    check->states[i] = base_alloc(check->config.services, watchers[i]->state_bytes);
    if (check->states[i] && watchers[i]->init)
        watchers[i]->init(check, check->states[i]);
    return check->states[i] != NULL;
}

static void remove_state(struct check *check, unsigned i)
{
    if (check->states[i] && watchers[i]->fini)
        watchers[i]->fini(check, check->states[i]);
    base_free(check->config.services, check->states[i], watchers[i]->state_bytes);
}

NTSTATUS check_create(const struct check_config *config, struct check **out_check)
{
    struct check *check = base_alloc(config->services, sizeof *check);

    *out_check = NULL;
    if (!check)
        return STATUS_NO_MEMORY;
    check->config = *config;
    check->is_whole = true;
    if (!check->config.report_limit)
        check->config.report_limit = 64;
    check_ledger_init(&check->ledger, config->services);
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT; i++) {
        if (!add_state(check, i)) {
            check_destroy(check);
            return STATUS_NO_MEMORY;
        }
        add_listeners(check, i);
    }
    *out_check = check;
    return STATUS_SUCCESS;
}

void check_destroy(struct check *check)
{
    if (!check)
        return;
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT; i++)
        remove_state(check, i);
    check_ledger_fini(&check->ledger);
    check_past_fini(check);
    guard_fini(&check->dma_guard);
    guard_fini(&check->private_guard);
    patch_guard_fini(&check->patch_guard, check->config.services);
    base_free(check->config.services, check, sizeof *check);
}

unsigned check_stands_still(struct check *check)
{
    unsigned count = 0;

    check->call = NULL;
    check->callback = NULL;
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT && !check->ledger.hung_nodes; i++) {
        if (watchers[i]->stands_still)
            count += watchers[i]->stands_still(check, check->states[i]);
    }
    check->stands_still |= count > 0;
    return count;
}

void check_end(struct check *check, bool is_orderly)
{
    check->call = NULL;
    check->callback = NULL;
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT; i++) {
        if (watchers[i]->end)
            watchers[i]->end(check, check->states[i], is_orderly);
    }
}

bool check_begin_again(struct check *check)
{
    const struct check_ledger before = check->ledger;
    struct check_ledger *ledger = &check->ledger;

    check_end(check, true);
    check_ledger_fini(ledger);
    check_ledger_init(ledger, check->config.services);
    ledger->interface_version = before.interface_version;
    memcpy(ledger->has_ddi, before.has_ddi, sizeof ledger->has_ddi);
    memcpy(ledger->created, before.created, sizeof ledger->created);
    ledger->instances_created = before.instances_created;
    ledger->is_whole = before.is_whole;
    ledger->has_gpu = before.has_gpu;
    ledger->has_client = before.has_client;
    ledger->operation = before.operation;
    ledger->packets_submitted = before.packets_submitted;
    guard_fini(&check->dma_guard);
    guard_fini(&check->private_guard);
    patch_guard_fini(&check->patch_guard, check->config.services);
    memset(&check->dma_guard, 0, sizeof check->dma_guard);
    memset(&check->private_guard, 0, sizeof check->private_guard);
    memset(&check->patch_guard, 0, sizeof check->patch_guard);
    memset(&check->listeners, 0, sizeof check->listeners);
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT; i++) {
        remove_state(check, i);
        check->states[i] = NULL;
        if (!add_state(check, i))
            return false;
        add_listeners(check, i);
    }
    return true;
}

void check_gpu(struct check *check, const struct check_gpu_event *event)
{
    struct check_gpu_event seen = *event;
    struct check_packet *packet =
        check_find_run(&check->ledger, event->node, event->fence, event->kind == CHECK_GPU_QUEUED);

    if (event->kind == CHECK_GPU_ENTRIES) {
        check_tables_note_write(&check->ledger.tables, event->place, event->bytes,
                                check_operation_at(packet, event->offset, NULL));
        return;
    }
    seen.packet = packet;
    /*
     * HUNG is the bench's doing: the bench tells it of a silent GPU, too. A GPU that is silent
     * otherwise may tell of flushes.
     */
    check->ledger.has_gpu |= event->kind != CHECK_GPU_HUNG && event->kind != CHECK_GPU_FLUSHED;
    if (event->kind == CHECK_GPU_HUNG)
        check->ledger.hung_nodes |= UINT64_C(1) << event->node % CHECK_MAX_NODES;
    if (packet) {
        packet->gpu_queued += event->kind == CHECK_GPU_QUEUED;
        if (event->kind == CHECK_GPU_QUEUED)
            packet->gpu_address = event->address;
        if (event->kind == CHECK_GPU_QUEUED)
            packet->gpu_order = ++check->ledger.packets_handed;
        if (event->kind == CHECK_GPU_QUEUED)
            packet->is_gpu_held = event->tells_drops;
        else if (event->kind == CHECK_GPU_DONE || event->kind == CHECK_GPU_DROPPED)
            packet->is_gpu_held = false;
        if (event->kind == CHECK_GPU_DROPPED && packet->queue)
            packet->gpu_queued = 0; /* the driver may hand it over once more */
        packet->was_yielded |=
            event->kind == CHECK_GPU_DROPPED && check_node_has_queue(&check->ledger, packet->node);
        packet->is_gpu_done |= event->kind == CHECK_GPU_DONE;
        packet->gpu_done += event->kind == CHECK_GPU_DONE;
    }
    check->gpu_event = &seen;
    check_blame_current(check);
    CHECK_TELL(check, gpu, &seen);
    check->gpu_event = NULL;
    check_blame_current(check);
}

void check_maps(struct check *check, const uint64_t *pages, uint64_t count)
{
    CHECK_TELL(check, maps, pages, count);
}

void check_client(struct check *check, const struct check_client_event *event)
{
    check->client_event = event;
    if (!check_ledger_client(&check->ledger, event))
        check_lost(check);
    CHECK_TELL(check, client, event);
    if (event->kind == CHECK_CLIENT_INSTANCE_ENDED)
        check_ledger_leave_instance(&check->ledger, event);
    check->client_event = NULL;
}
