/*
 * Check: what all watchers share. A finding is told once for each rule, place and object; the table
 * of those that were told is small, because a run with more of them has said enough.
 */
#include "check/check_private.h"

#include "base/assert.h"
#include "base/hash.h"
#include "miniport/operation.h"
#include "trace/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define X(watcher) &watcher,
static const struct check_watcher *const watchers[CHECK_WATCHER_COUNT] = {CHECK_WATCHER_LIST(X)};
#undef X

static void add_listener(struct check_listeners *listeners, const struct check_watcher *watcher,
                         void *state)
{
    listeners->list[listeners->count++] = (struct check_listener){watcher, state};
}

static void add_listeners(struct check *check, const struct check_watcher *watcher, void *state)
{
    if (watcher->before)
        add_listener(&check->listeners.before, watcher, state);
    if (watcher->after)
        add_listener(&check->listeners.after, watcher, state);
    if (watcher->callback)
        add_listener(&check->listeners.callback, watcher, state);
    if (watcher->retired)
        add_listener(&check->listeners.retired, watcher, state);
    if (watcher->gpu)
        add_listener(&check->listeners.gpu, watcher, state);
    if (watcher->client)
        add_listener(&check->listeners.client, watcher, state);
}

NTSTATUS check_create(const struct check_config *config, struct check **out_check)
{
    struct check *check = base_alloc(config->services, sizeof *check);
    NTSTATUS status;

    *out_check = NULL;
    if (!check)
        return STATUS_NO_MEMORY;
    memset(check, 0, sizeof *check);
    check->config = *config;
    check->is_whole = true;
    if (!check->config.report_limit)
        check->config.report_limit = 64;
    check_ledger_init(&check->ledger, config->services);
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT; i++) {
        status =
            watchers[i]->create ? watchers[i]->create(check, &check->states[i]) : STATUS_SUCCESS;
        if (!NT_SUCCESS(status)) {
            check_destroy(check);
            return status;
        }
        add_listeners(check, watchers[i], check->states[i]);
    }
    *out_check = check;
    return STATUS_SUCCESS;
}

void check_destroy(struct check *check)
{
    if (!check)
        return;
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT; i++) {
        if (watchers[i]->destroy && check->states[i])
            watchers[i]->destroy(check, check->states[i]);
    }
    check_ledger_fini(&check->ledger);
    guard_fini(&check->dma_guard);
    guard_fini(&check->private_guard);
    patch_guard_fini(&check->patch_guard, check->config.services);
    base_free(check->config.services, check, sizeof *check);
}

struct check_ledger *check_ledger(struct check *check)
{
    return &check->ledger;
}

const struct check_config *check_configuration(const struct check *check)
{
    return &check->config;
}

const struct check_call *check_current_call(const struct check *check)
{
    return check->call;
}

unsigned check_irql(const struct check *check)
{
    return check->config.irql ? check->config.irql(check->config.context) : PASSIVE_LEVEL;
}

uint64_t check_event(const struct check *check)
{
    return check->event;
}

void check_lost(struct check *check)
{
    check->is_whole = false;
}

bool check_is_whole(const struct check *check)
{
    return check->is_whole;
}

unsigned check_stands_still(struct check *check)
{
    const struct check_packet *packet;
    uint64_t nodes = 0;
    unsigned count = 0;

    check->call = NULL;
    check->callback = NULL;
    list_for_each (packet, &check->ledger.packets, struct check_packet, link) {
        const struct check_context *context = check_find_context(&check->ledger, packet->context);

        if (packet->state != CHECK_SUBMITTED || check->ledger.has_hung || packet->node >= 64 ||
            (nodes & UINT64_C(1) << packet->node))
            continue;
        nodes |= UINT64_C(1) << packet->node;
        count++;
        check_holds(check, RULE_FENCE_004, false);
        check_report(check, RULE_FENCE_004, context ? &context->object : NULL, "",
                     "fence 0x%x of node %u, a %s, was submitted and is never reported complete: "
                     "nothing is left that could happen (Windows resets the adapter after 2 s)",
                     packet->fence, packet->node,
                     packet->is_paging ? "paging packet" : "packet of a client");
    }
    for (unsigned i = 0; i < CHECK_WATCHER_COUNT && !check->ledger.has_hung; i++) {
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

void check_gpu(struct check *check, const struct check_gpu_event *event)
{
    struct check_gpu_event seen = *event;
    struct check_packet *packet = check_find_packet(&check->ledger, event->node, event->fence);

    seen.packet = packet;
    /*
     * That it hangs is the bench's doing: it says so of a GPU that tells nothing, too. Some tell of
     * flushes.
     */
    check->ledger.has_gpu |= event->kind != CHECK_GPU_HUNG && event->kind != CHECK_GPU_FLUSHED;
    check->ledger.has_hung |= event->kind == CHECK_GPU_HUNG;
    if (packet) {
        packet->gpu_queued += event->kind == CHECK_GPU_QUEUED;
        if (event->kind == CHECK_GPU_QUEUED)
            packet->gpu_address = event->address;
        packet->is_gpu_done |= event->kind == CHECK_GPU_DONE;
        packet->gpu_done += event->kind == CHECK_GPU_DONE;
    }
    check->gpu_event = &seen;
    CHECK_TELL(check, gpu, &seen);
    check->gpu_event = NULL;
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

static bool is_silent(const struct check *check, enum rule_id rule)
{
    return check->ledger.is_pulled_out ||
           (check->stands_still && rule_get(rule)->side == RULE_SIDE_OS);
}

bool check_holds(struct check *check, enum rule_id rule, bool holds)
{
    if (is_silent(check, rule))
        return true;
    check->config.counts->evaluated[rule]++;
    return holds;
}

/* ---- Findings -------------------------------------------------------------------------------- */

static const char *const client_names[] = {
    [CHECK_CLIENT_DEVICE] = "new device",
    [CHECK_CLIENT_CREATE] = "create",
    [CHECK_CLIENT_CREATED] = "create",
    [CHECK_CLIENT_DESTROY] = "destroy",
    [CHECK_CLIENT_MAKE_RESIDENT] = "make resident",
    [CHECK_CLIENT_RESIDENT] = "end of make resident",
    [CHECK_CLIENT_EVICT] = "evict",
    [CHECK_CLIENT_OFFER] = "offer",
    [CHECK_CLIENT_RECLAIM] = "reclaim",
    [CHECK_CLIENT_LOST] = "loss",
    [CHECK_CLIENT_LOCK] = "lock",
    [CHECK_CLIENT_LOCKED] = "lock",
    [CHECK_CLIENT_UNLOCK] = "unlock",
    [CHECK_CLIENT_RENAMED] = "lock with discard",
    [CHECK_CLIENT_INSTANCE_ENDED] = "end of an instance",
    [CHECK_CLIENT_BUDGET] = "budget",
    [CHECK_CLIENT_TRIM] = "trim",
    [CHECK_CLIENT_SLEEP] = "sleep",
    [CHECK_CLIENT_WAKE] = "wake",
    [CHECK_CLIENT_GONE] = "end",
};

/* "DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer" */
static void write_where(const struct check *check, const char *field, char *out, size_t size)
{
    const struct check_call *call = check->call;
    const char *dot = field[0] ? "." : "";

    if (check->client_event)
        snprintf(out, size, "client, %s%s%s", client_names[check->client_event->kind], dot, field);
    else if (check->gpu_event)
        snprintf(out, size, "GPU, node %u%s%s", check->gpu_event->node, dot, field);
    else if (check->callback)
        snprintf(out, size, "%s%s%s", trace_callback_name(check->callback->callback), dot, field);
    else if (!call)
        snprintf(out, size, "%s", field);
    else if (call->ddi == MINIPORT_DDI_BuildPagingBuffer)
        snprintf(out, size, "%s(%s)%s%s", miniport_ddi_name(call->ddi),
                 miniport_operation_name((unsigned)call->before.build_paging_buffer->Operation),
                 dot, field);
    else
        snprintf(out, size, "%s%s%s", miniport_ddi_name(call->ddi), dot, field);
}

static void write_object(const struct check_object *object, char *out, size_t size)
{
    unsigned first =
        object->happening_count > CHECK_HISTORY ? object->happening_count - CHECK_HISTORY : 0;
    char name[48];
    size_t used;

    used = (size_t)snprintf(out, size, "%s", check_object_name(object, name, sizeof name));
    for (unsigned i = first; i < object->happening_count && used < size; i++) {
        const struct check_happening *happening = &object->history[i % CHECK_HISTORY];

        used +=
            (size_t)snprintf(out + used, size - used, "%s event %llu %s", i == first ? ":" : ",",
                             (unsigned long long)happening->event, happening->text);
    }
}

/* True the first time for this cause and object. */
static bool is_new(struct check *check, uint64_t key)
{
    for (unsigned i = 0; i < check->told_count; i++) {
        if (check->told[i] == key)
            return false;
    }
    if (check->told_count == CHECK_MAX_TOLD || check->told_count == check->config.report_limit)
        return false;
    check->told[check->told_count++] = key;
    return true;
}

void check_report(struct check *check, enum rule_id rule, const struct check_object *object,
                  const char *field, const char *format, ...)
{
    struct finding *finding = &check->finding;
    uint64_t about = object ? hash_pair(object->kind + 1, object->number) : 0;
    va_list arguments;

    ASSERT(rule != RULE_NONE);
    if (is_silent(check, rule))
        return;
    check->config.counts->broken[rule]++;
    memset(finding, 0, sizeof *finding);
    finding->rule = rule;
    finding->is_carried_out = check->gpu_event && rule_is_carried_out(rule);
    finding->detail.event = check->callback ? check->callback->event
                            : check->call   ? check->call->event
                                            : 0;
    write_where(check, field, finding->detail.where, sizeof finding->detail.where);
    if (!is_new(check, hash_pair(finding_cause(rule, finding->detail.where, ""), about)))
        return;
    va_start(arguments, format);
    vsnprintf(finding->text, sizeof finding->text, format, arguments);
    va_end(arguments);
    if (object)
        finding->object = object->number;
    else
        object = check_object_of_call(check);
    if (object)
        write_object(object, finding->detail.objects, sizeof finding->detail.objects);
    check_write_arguments(check, field, finding->detail.arguments,
                          sizeof finding->detail.arguments);
    if (check->config.report)
        check->config.report(check->config.context, finding);
}

bool check_explain_address(const struct check *check, const void *address,
                           struct finding *out_finding)
{
    const struct check_object *object = check_object_of_call(check);
    bool is_before, is_private = false;
    size_t distance;

    if (!guard_has_page(&check->dma_guard, address, &is_before, &distance)) {
        is_private = true;
        if (!guard_has_page(&check->private_guard, address, &is_before, &distance))
            return false;
    }
    memset(out_finding, 0, sizeof *out_finding);
    out_finding->rule = is_private ? RULE_PB_023 : RULE_PB_005;
    out_finding->detail.event = check->event;
    write_where(check, is_private ? "pDmaBufferPrivateData" : "pDmaBuffer",
                out_finding->detail.where, sizeof out_finding->detail.where);
    snprintf(out_finding->text, sizeof out_finding->text,
             "byte %llu %s the %s was touched, on a page that is nobody's",
             (unsigned long long)distance, is_before ? "in front of" : "behind",
             is_private ? "private data" : "paging buffer");
    if (object)
        write_object(object, out_finding->detail.objects, sizeof out_finding->detail.objects);
    check_write_arguments(check, is_private ? "pDmaBufferPrivateData" : "pDmaBuffer",
                          out_finding->detail.arguments, sizeof out_finding->detail.arguments);
    return true;
}
