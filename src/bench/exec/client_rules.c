#include "bench/exec/client_rules_own.h"

#include "base/bits.h"

#include <drydock/sgpu.h>

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(CLIENT_RULE_COUNT <= 128, "seen_process.told has a bit for each rule");

static const struct {
    const char *id, *text;
} table[] = {
#define RULE(name, id, text) [CLIENT_RULE_##name] = {id, text},
#include "bench/exec/client_rules.inc"
#undef RULE
};

const char *client_rule_id(enum client_rule rule)
{
    return table[rule].id;
}

const char *client_rule_text(enum client_rule rule)
{
    return table[rule].text;
}

bool client_rule_is_advice(enum client_rule rule)
{
    return rule == CLIENT_RULE_LOCK_LEFT || rule == CLIENT_RULE_ASKED_AGAIN ||
           rule == CLIENT_RULE_EVICT_GONE;
}

struct client_rules *
client_rules_create(struct seen *seen,
                    void (*told)(void *context, const struct client_breach *breach), void *context)
{
    struct client_rules *rules = calloc(1, sizeof *rules);

    if (!rules)
        return NULL;
    rules->seen = seen;
    rules->told = told;
    rules->context = context;
    return rules;
}

void client_rules_destroy(struct client_rules *rules)
{
    free(rules);
}

uint64_t client_rules_broken(const struct client_rules *rules, enum client_rule rule)
{
    return rules->broken[rule];
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* The paging fence has the value, or the context waits for it in front of what it gets now. */
static bool is_behind(const struct seen_object *context, const struct seen_object *queue,
                      uint64_t value)
{
    if (!queue || !value || client_rules_value(queue->fence) >= value)
        return true;
    for (unsigned i = 0; context && i < SEEN_AWAITED; i++) {
        if (context->awaited[i].fence == queue->fence && context->awaited[i].value >= value)
            return true;
    }
    return false;
}

/* ---- Handles --------------------------------------------------------------------------------- */

static void check_device(struct client_rules *rules, const struct seen_object *allocation,
                         D3DKMT_HANDLE device)
{
    if (allocation && allocation->device && allocation->device->handle != device)
        client_rules_break(rules, CLIENT_RULE_OTHER_DEVICE,
                           "a%u belongs to device {=0x%x}, not {0x%x}{@~hDevice~}",
                           allocation->number, allocation->device->handle, device);
}

/* ---- Residency ------------------------------------------------------------------------------- */

/* The same list as a request that was refused, of a client that has given up nothing since. */
static bool is_asked_again(const struct client_rules *rules, const D3DDDI_MAKERESIDENT *arguments)
{
    const struct seen_process *process = rules->process;

    for (UINT i = 0; i < arguments->NumAllocations; i++) {
        const struct seen_object *allocation =
            seen_find(process, arguments->AllocationList[i], SEEN_ALLOCATION);

        if (!allocation || !allocation->is_refused ||
            allocation->refused_after != process->given_up)
            return false;
    }
    return arguments->NumAllocations && !arguments->Flags.CantTrimFurther;
}

static void make_resident(struct client_rules *rules, const D3DDDI_MAKERESIDENT *arguments)
{
    const struct seen_object *queue =
        seen_find(rules->process, arguments->hPagingQueue, SEEN_QUEUE);

    if (!arguments->NumAllocations)
        client_rules_break(rules, CLIENT_RULE_EMPTY_LIST,
                           "{@NumAllocations} is {0}{=~at least 1~}");
    if (arguments->Flags.MustSucceed && !arguments->Flags.CantTrimFurther)
        client_rules_break(rules, CLIENT_RULE_MUST_SUCCEED,
                           "{@~Flags~}{MustSucceed without CantTrimFurther}{=~both, or neither~}");
    if (arguments->Flags.Reserved)
        client_rules_break(rules, CLIENT_RULE_RESERVED_FLAGS,
                           "{@Flags} are {0x%x}{=~reserved bits 0~}", arguments->Flags.Value);
    if (arguments->AllocationList && is_asked_again(rules, arguments))
        client_rules_break(rules, CLIENT_RULE_ASKED_AGAIN,
                           "nothing was given up since the refusal");
    for (UINT i = 0; arguments->AllocationList && i < arguments->NumAllocations; i++) {
        const struct seen_object *allocation =
            client_rules_find(rules, arguments->AllocationList[i]);

        if (allocation && queue && allocation->device != queue->device)
            client_rules_break(rules, CLIENT_RULE_OTHER_QUEUE, "a%u is not of the queue's device",
                               allocation->number);
    }
}

static void refuse(struct client_rules *rules, const D3DDDI_MAKERESIDENT *arguments)
{
    for (UINT i = 0; arguments->AllocationList && i < arguments->NumAllocations; i++) {
        struct seen_object *allocation =
            seen_find(rules->process, arguments->AllocationList[i], SEEN_ALLOCATION);

        if (!allocation)
            continue;
        allocation->is_refused = true;
        allocation->refused_after = rules->process->given_up;
    }
}

static void evict(struct client_rules *rules, const D3DKMT_EVICT *arguments)
{
    if (!arguments->NumAllocations)
        client_rules_break(rules, CLIENT_RULE_EMPTY_LIST,
                           "{@NumAllocations} is {0}{=~at least 1~}");
    for (UINT i = 0; arguments->AllocationList && i < arguments->NumAllocations; i++) {
        struct seen_object *allocation =
            client_rules_find_by(rules, arguments->AllocationList[i], CLIENT_RULE_EVICT_GONE);
        unsigned named = 0;

        check_device(rules, allocation, arguments->hDevice);
        for (UINT k = 0; k <= i && k < 64; k++)
            named += arguments->AllocationList[i - k] == arguments->AllocationList[i];
        if (!allocation)
            continue;
        if (named > allocation->references)
            client_rules_break(rules,
                               allocation->is_refused ? CLIENT_RULE_REFUSED_EVICTED
                                                      : CLIENT_RULE_EVICT_COUNT,
                               "a%u has %u references, and gives up %u", allocation->number,
                               allocation->references, named);
        else if (named == allocation->references && client_rules_is_running(&allocation->used))
            client_rules_break(rules, CLIENT_RULE_EVICT_IN_USE,
                               "a%u is used by work of c%u that has not ended", allocation->number,
                               allocation->used.context->number);
    }
}

/* ---- Submissions ----------------------------------------------------------------------------- */

/* Pieces of accesses that are looked at of one batch: everybody waits meanwhile. */
#define MOST_PIECES 8192u

struct judged_batch {
    struct client_rules *rules;
    struct seen_object *context;
    unsigned pieces;
};

static void check_piece(struct judged_batch *batch, const struct seen_mapping *mapping, uint64_t va,
                        bool is_write)
{
    struct client_rules *rules = batch->rules;
    const char *how = is_write ? "written" : "read";
    struct seen_object *allocation = mapping->allocation;

    if (is_write && !mapping->is_writable)
        client_rules_break(rules, CLIENT_RULE_READ_ONLY,
                           "0x%" PRIx64 " is written, and mapped to be read", va);
    if (!is_behind(batch->context, mapping->queue, mapping->value))
        client_rules_break(rules, CLIENT_RULE_BEFORE_MAPPED,
                           "0x%" PRIx64 " is %s before paging fence value %" PRIu64, va, how,
                           mapping->value);
    if (allocation->is_offered)
        client_rules_break(rules, CLIENT_RULE_OFFERED_USED, "a%u is %s, and offered",
                           allocation->number, how);
    else if (!allocation->references)
        client_rules_break(rules, CLIENT_RULE_NOT_RESIDENT, "a%u is %s, and not resident",
                           allocation->number, how);
    if (!is_behind(batch->context, allocation->resident_queue, allocation->resident_value))
        client_rules_break(rules,
                           allocation->is_reclaimed ? CLIENT_RULE_BEFORE_RECLAIMED
                                                    : CLIENT_RULE_BEFORE_RESIDENT,
                           "a%u is %s before paging fence value %" PRIu64, allocation->number, how,
                           allocation->resident_value);
    client_rules_mutex_of(batch->rules, allocation, how);
    if (allocation->is_discarded && !is_write)
        client_rules_break(rules, CLIENT_RULE_DISCARDED_READ,
                           "a%u has lost its content, and is read", allocation->number);
    if (is_write)
        allocation->is_discarded = false;
}

/* An access may go over mappings that lie side by side. */
static void check_access(struct judged_batch *batch, uint64_t va, uint64_t bytes, bool is_write)
{
    const uint64_t end = bytes <= UINT64_MAX - va ? va + bytes : UINT64_MAX;
    uint64_t piece;

    for (uint64_t at = va; at < end && batch->pieces++ < MOST_PIECES; at += piece) {
        const struct seen_mapping *mapping = seen_mapping_at(batch->rules->process, at);

        if (!mapping || !mapping->allocation) {
            client_rules_break(batch->rules, CLIENT_RULE_UNMAPPED,
                               "0x%" PRIx64 " + 0x%" PRIx64 " is %s, and not mapped%s", va, bytes,
                               is_write ? "written" : "read", at == va ? "" : " to its end");
            return;
        }
        check_piece(batch, mapping, at, is_write);
        piece = min_u64(mapping->end, end) - at;
    }
}

static const char lost_value[] = "fence %u is signalled with the value of a lost device";

static void judge_access(void *context, const struct seen_access *access)
{
    struct judged_batch *batch = context;
    const struct seen_object *fence;

    if (access->kind == SEEN_UNKNOWN)
        return;
    if (access->kind == SEEN_SIGNAL) {
        fence = seen_fence_at(batch->rules->process, access->destination);
        if (!fence)
            check_access(batch, access->destination, access->bytes, true);
        else if (access->value == UINT64_MAX)
            client_rules_break(batch->rules, CLIENT_RULE_LOST_VALUE, lost_value, fence->number);
        else if (!fence->body->is_shared && access->value < fence->body->last_signal)
            client_rules_break(batch->rules, CLIENT_RULE_FENCE_FALLS,
                               "fence %u is signalled with %" PRIu64 " behind %" PRIu64,
                               fence->number, access->value, fence->body->last_signal);
        return;
    }
    if (access->source)
        check_access(batch, access->source, access->bytes, false);
    if (access->destination)
        check_access(batch, access->destination, access->bytes, true);
    if (!batch->rules->seen->source.walk_batch) /* a model tells of more than is read */
        client_rules_keep_source(batch->rules, access);
}

static void submit(struct client_rules *rules)
{
    const struct seen_work *work = &rules->work;
    const uint64_t va = PLAIN_ADDRESS(work->va);
    const struct seen_mapping *mapping = seen_mapping_at(rules->process, va);
    struct judged_batch batch = {.rules = rules, .context = work->context};

    /* A shipped driver of another GPU rounds CommandLength up, beyond what it has written. */
    if (!mapping || !mapping->allocation ||
        (mapping->allocation->bytes && work->bytes > mapping->end - va)) {
        client_rules_break(rules, CLIENT_RULE_COMMANDS_UNMAPPED,
                           "0x%" PRIx64 " + 0x%x is not mapped", va, work->bytes);
        return;
    }
    if (rules->seen->source.walk_batch) { /* what such a model does not read is not judged */
        seen_walk_batch(rules->process, va, work->bytes, judge_access, &batch);
        return;
    }
    if (!seen_is_readable(mapping->allocation))
        return;
    if (!seen_walk_batch(rules->process, va, work->bytes, judge_access, &batch))
        client_rules_break(rules, CLIENT_RULE_BROKEN_BATCH,
                           "the commands at 0x%" PRIx64 " are not whole", va);
}

/* ---- Fences ---------------------------------------------------------------------------------- */

static void check_count(struct client_rules *rules, UINT count)
{
    if (!count || count > D3DDDI_MAX_OBJECT_WAITED_ON)
        client_rules_break(rules, CLIENT_RULE_OBJECT_COUNT, "{@ObjectCount} is {%u}{=~1 to 32~}",
                           count);
}

static void signal_one(struct client_rules *rules, const struct seen_object *fence, uint64_t value,
                       bool may_fall)
{
    if (fence->queue)
        client_rules_break(rules, CLIENT_RULE_SIGNALS_PAGING, "fence %u is of a paging queue",
                           fence->number);
    else if (fence->hw_queue)
        client_rules_break(rules, CLIENT_RULE_SIGNALS_PROGRESS,
                           "fence %u tells of the progress of a hardware queue", fence->number);
    else if (value == UINT64_MAX)
        client_rules_break(rules, CLIENT_RULE_LOST_VALUE, lost_value, fence->number);
    else if (value < fence->body->last_signal && !may_fall && !fence->body->is_shared)
        client_rules_break(rules, CLIENT_RULE_FENCE_FALLS,
                           "fence %u is signalled with %" PRIu64 " behind %" PRIu64, fence->number,
                           value, fence->body->last_signal);
}

static void signal_all(struct client_rules *rules, const struct seen_sync *signal)
{
    check_count(rules, signal->count);
    for (UINT i = 0; signal->handles && signal->values && i < signal->count; i++) {
        const struct seen_object *fence = seen_find(rules->process, signal->handles[i], SEEN_FENCE);

        client_rules_fence_use(rules, fence, true);
        if (fence)
            signal_one(rules, fence, signal->values[i], signal->may_fall);
    }
}

static void add_waits(struct client_rules *rules, const struct d3dkmt_call *call,
                      const struct seen_sync *sync)
{
    check_count(rules, sync->count);
    for (UINT i = 0; sync->handles && sync->values && i < sync->count; i++) {
        struct seen_object *fence = seen_find(rules->process, sync->handles[i], SEEN_FENCE);

        client_rules_look_at_fence(rules, fence);
        client_rules_fence_use(rules, fence, false);
        for (unsigned k = 0; fence && k < MOST_WAITS; k++) {
            struct wait *wait = &rules->waits[k];

            /* A wait of the GPU's that is over makes room. */
            if (wait->process && !wait->call && client_rules_value(wait->fence) >= wait->value)
                wait->process = NULL;
            if (wait->process)
                continue;
            *wait = (struct wait){.process = rules->process,
                                  .call = sync->is_by_cpu && sync->ends ? call : NULL,
                                  .event = sync->event,
                                  .context = sync->context,
                                  .fence = fence,
                                  .value = sync->values[i]};
            break;
        }
    }
}

/* Whoever still waits for it will not learn of its values; but what goes with it is nobody's. */
static void check_awaited(struct client_rules *rules, const struct seen_object *fence,
                          const struct seen_object *goes_with)
{
    for (unsigned i = 0; i < MOST_WAITS; i++) {
        struct wait *wait = &rules->waits[i];

        if (wait->process != rules->process || wait->fence != fence)
            continue;
        if ((wait->call || client_rules_value(fence) < wait->value) &&
            (!goes_with || wait->context != goes_with))
            client_rules_break(rules, CLIENT_RULE_FENCE_AWAITED,
                               "fence %u is awaited with value %" PRIu64, fence->number,
                               wait->value);
        wait->process = NULL;
    }
}

/* The waits of the GPU that stand in a queue go with it, or with its context. */
static void drop_waits_of(struct client_rules *rules, const struct seen_object *context)
{
    for (unsigned i = 0; i < MOST_WAITS; i++) {
        struct wait *wait = &rules->waits[i];

        if (wait->process == rules->process && !wait->call && context && wait->context &&
            (wait->context == context || wait->context->further_of == context))
            wait->process = NULL;
    }
}

static void destroy_fence(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *fence = seen_find(rules->process, handle, SEEN_FENCE);

    if (!fence)
        return;
    client_rules_look_at_fence(rules, fence);
    if (fence->queue)
        client_rules_break(rules, CLIENT_RULE_PAGING_FENCE_GOES, "fence %u is of a paging queue",
                           fence->number);
    if (fence->hw_queue)
        client_rules_break(rules, CLIENT_RULE_PROGRESS_FENCE_GOES,
                           "fence %u tells of the progress of a hardware queue", fence->number);
    check_awaited(rules, fence, NULL);
}

/* Another thread that uses it meanwhile is refused, whatever its arguments are. */
static void note_going(struct client_rules *rules, D3DKMT_HANDLE handle, enum seen_kind kind)
{
    struct seen_object *object = seen_find(rules->process, handle, kind);

    if (object)
        object->is_going = true;
}

/* ---- Hardware queues ------------------------------------------------------------------------- */

static void create_hw_queue(struct client_rules *rules, const D3DKMT_CREATEHWQUEUE *arguments)
{
    const struct seen_object *context =
        seen_find(rules->process, arguments->hHwContext, SEEN_CONTEXT);

    if (arguments->Flags.NoKmdAccess || arguments->Flags.Reserved)
        client_rules_break(rules, CLIENT_RULE_QUEUE_FLAGS,
                           "{@Flags} are {0x%x}{=~NoKmdAccess and reserved bits 0~}",
                           arguments->Flags.Value);
    if (context && !context->is_for_hw_queues)
        client_rules_break(rules, CLIENT_RULE_QUEUE_CONTEXT,
                           "{@hHwContext} is {c%u, made without HwQueueSupported}{=~a context made "
                           "with HwQueueSupported~}",
                           context->number);
}

static const struct seen_object *find_hw_queue(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    if (seen_was_destroyed(rules->process, handle))
        client_rules_break(rules, CLIENT_RULE_OLD_HANDLE, "0x%x was destroyed before", handle);
    return seen_find(rules->process, handle, SEEN_HW_QUEUE);
}

static void destroy_hw_queue(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *queue = find_hw_queue(rules, handle);

    note_going(rules, handle, SEEN_HW_QUEUE);
    if (queue && queue->fence)
        check_awaited(rules, queue->fence, queue->context);
    if (queue)
        drop_waits_of(rules, queue->context);
}

static void submit_to_hw_queue(struct client_rules *rules,
                               const D3DKMT_SUBMITCOMMANDTOHWQUEUE *arguments)
{
    const uint64_t id = arguments->HwQueueProgressFenceId;
    const struct seen_object *queue = find_hw_queue(rules, arguments->hHwQueue);

    if (!queue || !queue->fence)
        return;
    if (id == UINT64_MAX)
        client_rules_break(rules, CLIENT_RULE_LOST_VALUE, lost_value, queue->fence->number);
    else if (id <= queue->fence->body->last_signal)
        client_rules_break(rules, CLIENT_RULE_QUEUE_ID,
                           "{@HwQueueProgressFenceId} is {%" PRIu64 "}{=~more than %" PRIu64
                           ", that of the submission before~}",
                           id, queue->fence->body->last_signal);
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static void check_lock_left(struct client_rules *rules, const struct seen_object *allocation)
{
    if (allocation->locks)
        client_rules_break(rules, CLIENT_RULE_LOCK_LEFT, "a%u is locked", allocation->number);
}

static void destroy_one(struct client_rules *rules, const struct seen_object *allocation,
                        bool assumes_unused)
{
    check_lock_left(rules, allocation);
    if (assumes_unused && client_rules_is_running(&allocation->used))
        client_rules_break(rules, CLIENT_RULE_DESTROY_IN_USE,
                           "a%u is used by work of c%u that has not ended", allocation->number,
                           allocation->used.context->number);
}

static void destroy_allocations(struct client_rules *rules,
                                const D3DKMT_DESTROYALLOCATION2 *arguments)
{
    const bool assumes_unused = arguments->Flags.AssumeNotInUse;
    const struct seen_object *resource =
        seen_find(rules->process, arguments->hResource, SEEN_RESOURCE);
    struct seen_object *object;

    if (arguments->hResource && arguments->phAllocationList)
        client_rules_break(rules, CLIENT_RULE_LIST_AND_RESOURCE,
                           "{@hResource} {0x%x} and a list{=~0, or no list~}",
                           arguments->hResource);
    list_for_each (object, &rules->process->objects, struct seen_object, link) {
        if (resource && object->kind == SEEN_ALLOCATION && object->resource == resource &&
            !object->is_destroyed)
            destroy_one(rules, object, assumes_unused);
    }
    for (UINT i = 0; arguments->phAllocationList && i < arguments->AllocationCount; i++) {
        object = client_rules_find(rules, arguments->phAllocationList[i]);
        check_device(rules, object, arguments->hDevice);
        if (object)
            destroy_one(rules, object, assumes_unused);
    }
}

static void check_lists(struct client_rules *rules, UINT count, const D3DKMT_HANDLE *handles,
                        const D3DKMT_HANDLE *resources)
{
    if (!handles == !resources)
        client_rules_break(rules, CLIENT_RULE_TWO_LISTS, "%s",
                           handles ? "HandleList and pResources" : "no list has a member");
    for (UINT i = 0; handles && i < count && i < 256; i++) {
        for (UINT k = 0; k < i; k++) {
            if (handles[k] == handles[i])
                client_rules_break(rules, CLIENT_RULE_NAMED_TWICE, "0x%x is named twice",
                                   handles[i]);
        }
        client_rules_find(rules, handles[i]);
    }
}

static void offer(struct client_rules *rules, const D3DKMT_OFFERALLOCATIONS *arguments)
{
    check_lists(rules, arguments->NumAllocations, arguments->HandleList, arguments->pResources);
    if (arguments->Priority < D3DKMT_OFFER_PRIORITY_LOW ||
        arguments->Priority > D3DKMT_OFFER_PRIORITY_AUTO)
        client_rules_break(rules, CLIENT_RULE_OFFER_PRIORITY,
                           "{@Priority} is {%u}{=~LOW, NORMAL, HIGH or AUTO~}",
                           (unsigned)arguments->Priority);
}

static void reclaim(struct client_rules *rules, const D3DKMT_RECLAIMALLOCATIONS2 *arguments)
{
    check_lists(rules, arguments->NumAllocations, arguments->HandleList, arguments->pResources);
    for (UINT i = 0; arguments->HandleList && i < arguments->NumAllocations; i++) {
        const struct seen_object *allocation =
            seen_find(rules->process, arguments->HandleList[i], SEEN_ALLOCATION);

        if (allocation && !allocation->is_offered)
            client_rules_break(rules, CLIENT_RULE_NOT_OFFERED, "a%u is not offered",
                               allocation->number);
    }
}

static void set_priority(struct client_rules *rules, const D3DKMT_SETALLOCATIONPRIORITY *arguments)
{
    for (UINT i = 0; arguments->phAllocationList && i < arguments->AllocationCount; i++) {
        check_device(rules, client_rules_find(rules, arguments->phAllocationList[i]),
                     arguments->hDevice);
        if (arguments->pPriorities && !arguments->pPriorities[i])
            client_rules_break(rules, CLIENT_RULE_PRIORITY_ZERO,
                               "priority of 0x%x{@~pPriorities~}{~0~}{=~not 0~}",
                               arguments->phAllocationList[i]);
    }
}

static void destroy_device(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *device = seen_find(rules->process, handle, SEEN_DEVICE);
    const struct seen_object *object;

    if (!device)
        return;
    note_going(rules, handle, SEEN_DEVICE);
    if (device->registrations)
        client_rules_break(rules, CLIENT_RULE_TRIM_LEFT, "device 0x%x has registrations", handle);
    list_for_each (object, &rules->process->objects, struct seen_object, link) {
        if (object->kind == SEEN_ALLOCATION && !object->is_destroyed && object->device == device)
            check_lock_left(rules, object);
    }
}

static void close_adapter(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *adapter = seen_find(rules->process, handle, SEEN_ADAPTER);
    const struct seen_object *object;

    list_for_each (object, &rules->process->objects, struct seen_object, link) {
        if (adapter && object->kind == SEEN_DEVICE && !object->is_destroyed &&
            object->device == adapter) {
            client_rules_break(rules, CLIENT_RULE_DEVICES_LEFT, "device 0x%x is there",
                               object->handle);
            return;
        }
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static bool begin(struct client_rules *rules, void *client, const struct d3dkmt_call *call)
{
    rules->process = seen_process_of(rules->seen, client);
    rules->call = call;
    rules->is_work = rules->process && call &&
                     seen_work_of(rules->process, call->function, call->arguments, &rules->work);
    return rules->process;
}

void client_rules_called(struct client_rules *rules, void *client, const struct d3dkmt_call *call)
{
    struct seen_sync sync;

    if (!begin(rules, client, call))
        return;
    client_rules_look_at_memory(rules);
    if (rules->is_work)
        submit(rules);
    else if (seen_wait_of(rules->process, call->function, call->arguments, &sync) && sync.begins)
        add_waits(rules, call, &sync);
    else if (seen_signal_of(rules->process, call->function, call->arguments, &sync))
        signal_all(rules, &sync);
    client_rules_sharing(rules);
    client_rules_events(rules);
    client_rules_mutexes(rules);
    switch (call->function) {
    case D3DKMT_FN_MakeResident:
        make_resident(rules, call->arguments);
        break;
    case D3DKMT_FN_Evict:
        evict(rules, call->arguments);
        break;
    case D3DKMT_FN_MapGpuVirtualAddress:
        client_rules_map(rules, call->arguments);
        break;
    case D3DKMT_FN_FreeGpuVirtualAddress:
        client_rules_free_addresses(rules, call->arguments);
        break;
    case D3DKMT_FN_ReserveGpuVirtualAddress:
        client_rules_reserve(rules, call->arguments);
        break;
    case D3DKMT_FN_UpdateGpuVirtualAddress:
        client_rules_tiles(rules, call->arguments);
        break;
    case D3DKMT_FN_QueryVideoMemoryInfo:
        if (((const D3DKMT_QUERYVIDEOMEMORYINFO *)call->arguments)->hProcess)
            client_rules_break(rules, CLIENT_RULE_OTHER_PROCESS,
                               "{@hProcess} is {no process here}{=~NULL~}");
        break;
    case D3DKMT_FN_SubmitCommand:
        if (!((const D3DKMT_SUBMITCOMMAND *)call->arguments)->BroadcastContextCount)
            client_rules_break(rules, CLIENT_RULE_NO_CONTEXT,
                               "{@BroadcastContextCount} is {0}{=~at least 1~}");
        break;
    case D3DKMT_FN_DestroyContext:
        note_going(rules, ((const D3DKMT_DESTROYCONTEXT *)call->arguments)->hContext, SEEN_CONTEXT);
        drop_waits_of(rules, seen_find(rules->process,
                                       ((const D3DKMT_DESTROYCONTEXT *)call->arguments)->hContext,
                                       SEEN_CONTEXT));
        break;
    case D3DKMT_FN_CreateHwQueue:
        create_hw_queue(rules, call->arguments);
        break;
    case D3DKMT_FN_DestroyHwQueue:
        destroy_hw_queue(rules, ((const D3DKMT_DESTROYHWQUEUE *)call->arguments)->hHwQueue);
        break;
    case D3DKMT_FN_SubmitCommandToHwQueue:
        submit_to_hw_queue(rules, call->arguments);
        break;
    case D3DKMT_FN_SubmitWaitForSyncObjectsToHwQueue:
        find_hw_queue(
            rules, ((const D3DKMT_SUBMITWAITFORSYNCOBJECTSTOHWQUEUE *)call->arguments)->hHwQueue);
        break;
    case D3DKMT_FN_SubmitSignalSyncObjectsToHwQueue: {
        const D3DKMT_SUBMITSIGNALSYNCOBJECTSTOHWQUEUE *arguments = call->arguments;

        if (arguments->BroadcastHwQueueArray && arguments->BroadcastHwQueueCount)
            find_hw_queue(rules, arguments->BroadcastHwQueueArray[0]);
        break;
    }
    case D3DKMT_FN_DestroySynchronizationObject:
        destroy_fence(rules,
                      ((const D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *)call->arguments)->hSyncObject);
        break;
    case D3DKMT_FN_Lock2: {
        const D3DKMT_LOCK2 *arguments = call->arguments;
        const struct seen_object *allocation = client_rules_find(rules, arguments->hAllocation);

        client_rules_look_at_hidden(rules);
        check_device(rules, allocation, arguments->hDevice);
        if (allocation && allocation->bytes && !allocation->client_address &&
            !(allocation->flags & SGPU_UMD_CPU_VISIBLE))
            client_rules_break(rules, CLIENT_RULE_NOT_VISIBLE,
                               "a%u was made without SGPU_UMD_CPU_VISIBLE", allocation->number);
        break;
    }
    case D3DKMT_FN_Unlock2: {
        const D3DKMT_UNLOCK2 *arguments = call->arguments;
        const struct seen_object *allocation = client_rules_find(rules, arguments->hAllocation);

        check_device(rules, allocation, arguments->hDevice);
        if (allocation && !allocation->locks)
            client_rules_break(rules, CLIENT_RULE_NOT_LOCKED, "a%u is not locked",
                               allocation->number);
        break;
    }
    case D3DKMT_FN_DestroyAllocation2:
        client_rules_look_at_hidden(rules);
        destroy_allocations(rules, call->arguments);
        break;
    case D3DKMT_FN_OfferAllocations:
        offer(rules, call->arguments);
        break;
    case D3DKMT_FN_ReclaimAllocations2:
        reclaim(rules, call->arguments);
        break;
    case D3DKMT_FN_SetAllocationPriority:
        set_priority(rules, call->arguments);
        break;
    case D3DKMT_FN_DestroyDevice:
        destroy_device(rules, ((const D3DKMT_DESTROYDEVICE *)call->arguments)->hDevice);
        break;
    case D3DKMT_FN_CloseAdapter:
        close_adapter(rules, ((const D3DKMT_CLOSEADAPTER *)call->arguments)->hAdapter);
        break;
    default:
        break;
    }
}

/* All else that makes a submission an invalid parameter is not so here. */
static bool has_much_private_data(const struct client_rules *rules)
{
    const struct seen_work *work = &rules->work;

    if (!work->context || !work->bytes || !work->private_data_bytes || work->context->is_going ||
        (work->context->further_of && work->context->further_of->is_going) ||
        work->context->device->is_going || (work->hw_queue && work->hw_queue->is_going))
        return false;
    if (rules->call->function == D3DKMT_FN_SubmitCommand) {
        const D3DKMT_SUBMITCOMMAND *arguments = rules->call->arguments;

        return arguments->BroadcastContextCount == 1 && arguments->pPrivateDriverData &&
               arguments->NumPrimaries <= D3DDDI_MAX_WRITTEN_PRIMARIES &&
               !arguments->NumHistoryBuffers && !work->context->is_for_hw_queues;
    } else {
        const D3DKMT_SUBMITCOMMANDTOHWQUEUE *arguments = rules->call->arguments;

        return arguments->pPrivateDriverData &&
               arguments->NumPrimaries <= D3DDDI_MAX_WRITTEN_PRIMARIES &&
               (!arguments->NumPrimaries || arguments->WrittenPrimaries) && work->hw_queue->fence &&
               work->progress_id > work->hw_queue->fence->body->last_signal &&
               work->progress_id != UINT64_MAX;
    }
}

static void submission_ended(struct client_rules *rules)
{
    const NTSTATUS status = rules->call->status;
    struct seen_object *context = rules->work.context;

    if (NT_SUCCESS(status)) {
        client_rules_keep_batch(rules);
        return;
    }
    client_rules_drop_sources(rules);
    if (status == STATUS_INVALID_PARAMETER && has_much_private_data(rules))
        client_rules_break(rules, CLIENT_RULE_PRIVATE_DATA,
                           "{@PrivateDriverDataSize} is {%u}{=~what the miniport has asked "
                           "for, at most~}",
                           rules->work.private_data_bytes);
    if (status == STATUS_DEVICE_REMOVED && context && context->refused++)
        client_rules_break(rules, CLIENT_RULE_LOST_DEVICE, "c%u has been refused work before",
                           context->number);
}

/* That of the call; or, of one with hAsyncEvent, which holds no call up, when it is over. */
static void end_waits(struct client_rules *rules, const struct d3dkmt_call *call)
{
    struct seen_sync sync;

    seen_wait_of(rules->process, call->function, call->arguments, &sync);
    if (!sync.ends && call->status == STATUS_PENDING)
        return;
    for (unsigned i = 0; i < MOST_WAITS; i++) {
        const struct wait *wait = &rules->waits[i];

        if (sync.event ? wait->process == rules->process && wait->event == sync.event
                       : wait->process && wait->call == call)
            rules->waits[i].process = NULL;
    }
}

void client_rules_ended(struct client_rules *rules, void *client, const struct d3dkmt_call *call)
{
    rules->writing = NULL;
    if (!begin(rules, client, call))
        return;
    if (rules->is_work)
        submission_ended(rules);
    client_rules_sharing_ended(rules);
    client_rules_events_ended(rules);
    switch (call->function) {
    case D3DKMT_FN_MakeResident:
        if (call->status == STATUS_GRAPHICS_NO_VIDEO_MEMORY)
            refuse(rules, call->arguments);
        break;
    case D3DKMT_FN_WaitForSynchronizationObjectFromCpu:
        end_waits(rules, call);
        break;
    case D3DKMT_FN_ChangeVideoMemoryReservation:
        /* Everything else that is wrong there is a wrong handle or group. */
        if (call->status == STATUS_INVALID_PARAMETER &&
            seen_find(rules->process,
                      ((const D3DKMT_CHANGEVIDEOMEMORYRESERVATION *)call->arguments)->hAdapter,
                      SEEN_ADAPTER))
            client_rules_break(rules, CLIENT_RULE_RESERVATION, "more than is available");
        break;
    case D3DKMT_FN_Unlock2:
        if (NT_SUCCESS(call->status))
            client_rules_keep_hidden(
                rules,
                seen_find(rules->process, ((const D3DKMT_UNLOCK2 *)call->arguments)->hAllocation,
                          SEEN_ALLOCATION));
        break;
    default:
        break;
    }
}

void client_rules_closed(struct client_rules *rules, void *client)
{
    if (!begin(rules, client, NULL))
        return;
    for (unsigned i = 0; i < MOST_WAITS; i++) {
        struct wait *wait = &rules->waits[i];

        if (wait->process != rules->process)
            continue;
        if (client_rules_value(wait->fence) < wait->value &&
            wait->fence->body->promised < wait->value && !wait->fence->queue &&
            !wait->fence->body->is_shared) /* by another process, later */
            client_rules_break(rules, CLIENT_RULE_NEVER_SIGNALLED,
                               "fence %u is awaited with %" PRIu64 ", and %" PRIu64
                               " is all that is signalled",
                               wait->fence->number, wait->value, wait->fence->body->promised);
        wait->process = NULL;
    }
    client_rules_mutexes_closed(rules);
    client_rules_look_at_hidden(rules);
    client_rules_forget_memory(rules);
}
