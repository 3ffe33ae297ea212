#include "bench/exec/client_rules.h"

#include "base/bits.h"
#include "base/hash.h"

#include <drydock/sgpu.h>

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BATCHES     32u
#define MOST_BATCH_BYTES 65536u
#define MOST_WAITS       256u

_Static_assert(CLIENT_RULE_COUNT <= 64, "seen_process.told has a bit for each rule");

static const struct {
    const char *id, *text;
} table[] = {
#define RULE(name, id, text) [CLIENT_RULE_##name] = {id, text},
#include "bench/exec/client_rules.inc"
#undef RULE
};

/* A wait that has not ended, or that the GPU has been given. */
struct wait {
    const struct seen_process *process; /* NULL: free */
    const struct d3dkmt_call *call;     /* of the CPU's; NULL: the GPU's */
    struct seen_object *fence;
    uint64_t value;
};

/* Commands that the GPU may not have fetched yet. */
struct batch {
    const struct seen_process *process; /* NULL: free */
    struct seen_use use;
    uint64_t address, bytes, hash;
};

struct client_rules {
    struct seen *seen;
    void (*told)(void *context, const struct client_breach *breach);
    void *context;
    uint64_t broken[CLIENT_RULE_COUNT];
    struct wait waits[MOST_WAITS];
    struct batch batches[MOST_BATCHES];
    unsigned next_batch;
    /* Of the call that is looked at. */
    struct seen_process *process;
    const struct d3dkmt_call *call;
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
    return rule == CLIENT_RULE_LOCK_LEFT;
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

static void breaks(struct client_rules *rules, enum client_rule rule, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

static void breaks(struct client_rules *rules, enum client_rule rule, const char *format, ...)
{
    const uint64_t bit = UINT64_C(1) << rule;
    const char *name = rules->call ? d3dkmt_function_name(rules->call->function) : NULL;
    struct finding_argument argument = {.name = ""};
    char what[160], text[256];
    va_list arguments;

    rules->broken[rule]++;
    if (rules->process->told & bit)
        return;
    rules->process->told |= bit;
    va_start(arguments, format);
    finding_write_sentence(what, sizeof what, &argument, format, arguments);
    va_end(arguments);
    if (name)
        snprintf(text, sizeof text, "D3DKMT%s: %s", name, what);
    else
        snprintf(text, sizeof text, "at the end of process %u: %s", rules->process->number, what);
    rules->told(rules->context,
                &(struct client_breach){.rule = rule,
                                        .process = rules->process,
                                        .call = rules->call,
                                        .text = text,
                                        .argument = &argument,
                                        .stack = rules->call ? rules->call->stack : NULL,
                                        .stack_count = rules->call ? rules->call->stack_count : 0});
}

/* ---- Time ------------------------------------------------------------------------------------ */

/* What the fence has now, as the client sees it; 0 where that cannot be read. */
static uint64_t value_of(const struct seen_object *fence)
{
    uint64_t value = 0;

    return fence && fence->cpu_address && seen_read(fence->process, fence->cpu_address, &value, 8)
               ? value
               : 0;
}

/*
 * True: work of the context up to there has not ended, as a fence shows that is signalled behind
 * it. Without such a fence nobody knows.
 */
static bool is_running(const struct seen_use *use)
{
    bool is_awaited = false;

    if (!use->context)
        return false;
    for (unsigned i = 0; i < SEEN_SIGNALS; i++) {
        const struct seen_signal *signal = &use->context->signals[i];

        if (!signal->fence || signal->fence->is_destroyed || signal->sequence < use->sequence)
            continue;
        if (value_of(signal->fence) >= signal->value)
            return false;
        is_awaited = true;
    }
    return is_awaited;
}

/* The paging fence has the value, or the context waits for it in front of what it gets now. */
static bool is_behind(const struct seen_object *context, const struct seen_object *queue,
                      uint64_t value)
{
    if (!queue || !value || value_of(queue->fence) >= value)
        return true;
    for (unsigned i = 0; context && i < SEEN_AWAITED; i++) {
        if (context->awaited[i].fence == queue->fence && context->awaited[i].value >= value)
            return true;
    }
    return false;
}

/* ---- Handles --------------------------------------------------------------------------------- */

/* NULL: there is none; a handle of something that was destroyed is a breach. */
static struct seen_object *find_allocation(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    struct seen_object *found = seen_find(rules->process, handle, SEEN_ALLOCATION);

    if (!found && seen_was_destroyed(rules->process, handle))
        breaks(rules, CLIENT_RULE_OLD_HANDLE, "0x%x was destroyed before", handle);
    return found;
}

static void check_device(struct client_rules *rules, const struct seen_object *allocation,
                         D3DKMT_HANDLE device)
{
    if (allocation && allocation->device && allocation->device->handle != device)
        breaks(rules, CLIENT_RULE_OTHER_DEVICE,
               "a%u belongs to device {=0x%x}, not {0x%x}{@~hDevice~}", allocation->number,
               allocation->device->handle, device);
}

/* ---- Residency ------------------------------------------------------------------------------- */

static void make_resident(struct client_rules *rules, const D3DDDI_MAKERESIDENT *arguments)
{
    const struct seen_object *queue =
        seen_find(rules->process, arguments->hPagingQueue, SEEN_QUEUE);

    if (!arguments->NumAllocations)
        breaks(rules, CLIENT_RULE_EMPTY_LIST, "{@NumAllocations} is {0}{=~at least 1~}");
    if (arguments->Flags.MustSucceed && !arguments->Flags.CantTrimFurther)
        breaks(rules, CLIENT_RULE_MUST_SUCCEED,
               "{@~Flags~}{MustSucceed without CantTrimFurther}{=~both, or neither~}");
    if (arguments->Flags.Reserved)
        breaks(rules, CLIENT_RULE_RESERVED_FLAGS, "{@Flags} are {0x%x}{=~reserved bits 0~}",
               arguments->Flags.Value);
    for (UINT i = 0; arguments->AllocationList && i < arguments->NumAllocations; i++) {
        const struct seen_object *allocation = find_allocation(rules, arguments->AllocationList[i]);

        if (allocation && queue && allocation->device != queue->device)
            breaks(rules, CLIENT_RULE_OTHER_QUEUE, "a%u is not of the queue's device",
                   allocation->number);
    }
}

static void evict(struct client_rules *rules, const D3DKMT_EVICT *arguments)
{
    if (!arguments->NumAllocations)
        breaks(rules, CLIENT_RULE_EMPTY_LIST, "{@NumAllocations} is {0}{=~at least 1~}");
    for (UINT i = 0; arguments->AllocationList && i < arguments->NumAllocations; i++) {
        struct seen_object *allocation = find_allocation(rules, arguments->AllocationList[i]);
        unsigned named = 0;

        check_device(rules, allocation, arguments->hDevice);
        for (UINT k = 0; k <= i && k < 64; k++)
            named += arguments->AllocationList[i - k] == arguments->AllocationList[i];
        if (!allocation)
            continue;
        if (named > allocation->references)
            breaks(rules, CLIENT_RULE_EVICT_COUNT, "a%u has %u references, and gives up %u",
                   allocation->number, allocation->references, named);
        else if (named == allocation->references && is_running(&allocation->used))
            breaks(rules, CLIENT_RULE_EVICT_IN_USE, "a%u is used by work of c%u that has not ended",
                   allocation->number, allocation->used.context->number);
    }
}

/* ---- Addresses ------------------------------------------------------------------------------- */

static void map(struct client_rules *rules, const D3DDDI_MAPGPUVIRTUALADDRESS *arguments)
{
    const struct seen_object *allocation = find_allocation(rules, arguments->hAllocation);
    const uint64_t pages = allocation ? allocation->bytes / 4096 : 0;

    if (arguments->BaseAddress % 4096 ||
        (!arguments->BaseAddress && arguments->MinimumAddress % 4096))
        breaks(rules, CLIENT_RULE_MAP_ALIGNMENT,
               "{@BaseAddress} {0x%" PRIx64 "}, MinimumAddress 0x%" PRIx64
               "{=~multiples of 0x1000~}",
               (uint64_t)arguments->BaseAddress, (uint64_t)arguments->MinimumAddress);
    if (pages && (arguments->OffsetInPages > pages ||
                  arguments->SizeInPages > pages - arguments->OffsetInPages))
        breaks(rules, CLIENT_RULE_MAP_RANGE,
               "{@~SizeInPages~}pages {%" PRIu64 " + %" PRIu64
               "} of a%u, which has {=~at most ~%" PRIu64 "}",
               (uint64_t)arguments->OffsetInPages, (uint64_t)arguments->SizeInPages,
               allocation->number, pages);
}

static void free_addresses(struct client_rules *rules,
                           const D3DKMT_FREEGPUVIRTUALADDRESS *arguments)
{
    const uint64_t end = arguments->BaseAddress + arguments->Size;

    if ((arguments->BaseAddress | arguments->Size) % 4096)
        breaks(rules, CLIENT_RULE_FREE_ALIGNMENT,
               "{@BaseAddress} {0x%" PRIx64 "}, Size 0x%" PRIx64 "{=~multiples of 0x1000~}",
               (uint64_t)arguments->BaseAddress, (uint64_t)arguments->Size);
    for (size_t i = 0; i < rules->process->mapping_count; i++) {
        const struct seen_mapping *mapping = &rules->process->mappings[i];

        if (mapping->start < end && mapping->end > arguments->BaseAddress &&
            is_running(&mapping->used))
            breaks(rules, CLIENT_RULE_FREE_IN_USE,
                   "0x%" PRIx64 " is used by work of c%u that has not ended", mapping->start,
                   mapping->used.context->number);
    }
}

/* ---- Submissions ----------------------------------------------------------------------------- */

struct judged_batch {
    struct client_rules *rules;
    struct seen_object *context;
};

static void check_access(struct judged_batch *batch, uint64_t va, uint64_t bytes, bool is_write)
{
    struct client_rules *rules = batch->rules;
    const char *how = is_write ? "written" : "read";
    const struct seen_mapping *mapping = seen_mapping_at(rules->process, va);
    struct seen_object *allocation = mapping ? mapping->allocation : NULL;

    if (!bytes)
        return;
    if (!allocation || bytes > mapping->end - va) {
        breaks(rules, CLIENT_RULE_UNMAPPED, "0x%" PRIx64 " + 0x%" PRIx64 " is %s, and not mapped",
               va, bytes, how);
        return;
    }
    if (is_write && !mapping->is_writable)
        breaks(rules, CLIENT_RULE_READ_ONLY, "0x%" PRIx64 " is written, and mapped to be read", va);
    if (!is_behind(batch->context, mapping->queue, mapping->value))
        breaks(rules, CLIENT_RULE_BEFORE_MAPPED,
               "0x%" PRIx64 " is %s before paging fence value %" PRIu64, va, how, mapping->value);
    if (allocation->is_offered)
        breaks(rules, CLIENT_RULE_OFFERED_USED, "a%u is %s, and offered", allocation->number, how);
    else if (!allocation->references)
        breaks(rules, CLIENT_RULE_NOT_RESIDENT, "a%u is %s, and not resident", allocation->number,
               how);
    if (!is_behind(batch->context, allocation->resident_queue, allocation->resident_value))
        breaks(rules,
               allocation->is_reclaimed ? CLIENT_RULE_BEFORE_RECLAIMED
                                        : CLIENT_RULE_BEFORE_RESIDENT,
               "a%u is %s before paging fence value %" PRIu64, allocation->number, how,
               allocation->resident_value);
    if (allocation->is_discarded && !is_write)
        breaks(rules, CLIENT_RULE_DISCARDED_READ, "a%u has lost its content, and is read",
               allocation->number);
    if (is_write)
        allocation->is_discarded = false;
}

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
        else if (access->value < fence->last_signal)
            breaks(batch->rules, CLIENT_RULE_FENCE_FALLS,
                   "fence %u is signalled with %" PRIu64 " behind %" PRIu64, fence->number,
                   access->value, fence->last_signal);
        return;
    }
    if (access->source)
        check_access(batch, access->source, access->bytes, false);
    if (access->destination)
        check_access(batch, access->destination, access->bytes, true);
}

static uint64_t hash_commands(const struct seen_process *process, uint64_t address, uint64_t bytes)
{
    uint8_t *copy = malloc(bytes);
    uint64_t hash = 0;

    if (copy && seen_read(process, address, copy, bytes))
        hash = max_u64(hash_bytes(copy, bytes, 0), 1);
    free(copy);
    return hash;
}

/* Before a call is made: has the client written over commands that have not run? */
static void look_at_batches(struct client_rules *rules)
{
    for (unsigned i = 0; i < MOST_BATCHES; i++) {
        struct batch *batch = &rules->batches[i];
        uint64_t hash;

        if (batch->process != rules->process)
            continue;
        hash = hash_commands(batch->process, batch->address, batch->bytes);
        if (!is_running(&batch->use)) {
            batch->process = NULL; /* it may be written from here on */
        } else if (hash && hash != batch->hash) {
            breaks(rules, CLIENT_RULE_COMMANDS_CHANGED,
                   "commands of c%u at 0x%" PRIx64 " have changed, and have not run",
                   batch->use.context->number, batch->address);
            batch->process = NULL;
        }
    }
}

static void submit(struct client_rules *rules, const D3DKMT_SUBMITCOMMAND *arguments)
{
    const uint64_t va = arguments->Commands & ((UINT64_C(1) << 48) - 1);
    const struct seen_mapping *mapping = seen_mapping_at(rules->process, va);
    struct judged_batch batch = {.rules = rules};

    if (!arguments->BroadcastContextCount)
        breaks(rules, CLIENT_RULE_NO_CONTEXT, "{@BroadcastContextCount} is {0}{=~at least 1~}");
    else
        batch.context = seen_find(rules->process, arguments->BroadcastContext[0], SEEN_CONTEXT);
    /* A shipped driver of another GPU rounds CommandLength up, beyond what it has written. */
    if (!mapping || !mapping->allocation ||
        (mapping->allocation->bytes && arguments->CommandLength > mapping->end - va)) {
        breaks(rules, CLIENT_RULE_COMMANDS_UNMAPPED, "0x%" PRIx64 " + 0x%x is not mapped", va,
               arguments->CommandLength);
        return;
    }
    if (!seen_is_readable(mapping->allocation))
        return;
    if (!seen_walk_batch(rules->process, va, arguments->CommandLength, judge_access, &batch))
        breaks(rules, CLIENT_RULE_BROKEN_BATCH, "the commands at 0x%" PRIx64 " are not whole", va);
}

/* Behind the call, when what has been seen knows it. */
static void keep_batch(struct client_rules *rules, const D3DKMT_SUBMITCOMMAND *arguments)
{
    const uint64_t va = arguments->Commands & ((UINT64_C(1) << 48) - 1);
    const struct seen_mapping *mapping = seen_mapping_at(rules->process, va);
    struct seen_object *context =
        seen_find(rules->process, arguments->BroadcastContext[0], SEEN_CONTEXT);
    struct batch *batch = &rules->batches[rules->next_batch++ % MOST_BATCHES];

    batch->process = NULL;
    if (!context || !mapping || !mapping->allocation || !seen_is_readable(mapping->allocation) ||
        arguments->CommandLength > MOST_BATCH_BYTES)
        return;
    *batch = (struct batch){.process = rules->process,
                            .use = {context, context->submitted},
                            .address = seen_cpu_address(mapping->allocation) + mapping->offset +
                                       (va - mapping->start),
                            .bytes = arguments->CommandLength};
    batch->hash = hash_commands(batch->process, batch->address, batch->bytes);
    if (!batch->hash)
        batch->process = NULL;
}

/* ---- Fences ---------------------------------------------------------------------------------- */

static void check_count(struct client_rules *rules, UINT count)
{
    if (!count || count > D3DDDI_MAX_OBJECT_WAITED_ON)
        breaks(rules, CLIENT_RULE_OBJECT_COUNT, "{@ObjectCount} is {%u}{=~1 to 32~}", count);
}

static void signal_all(struct client_rules *rules, UINT count, const D3DKMT_HANDLE *handles,
                       const UINT64 *values)
{
    check_count(rules, count);
    for (UINT i = 0; handles && values && i < count; i++) {
        const struct seen_object *fence = seen_find(rules->process, handles[i], SEEN_FENCE);

        if (!fence)
            continue;
        if (fence->queue)
            breaks(rules, CLIENT_RULE_SIGNALS_PAGING, "fence %u is of a paging queue",
                   fence->number);
        else if (values[i] < fence->last_signal)
            breaks(rules, CLIENT_RULE_FENCE_FALLS,
                   "fence %u is signalled with %" PRIu64 " behind %" PRIu64, fence->number,
                   (uint64_t)values[i], fence->last_signal);
    }
}

static void add_waits(struct client_rules *rules, const struct d3dkmt_call *call, UINT count,
                      const D3DKMT_HANDLE *handles, const UINT64 *values)
{
    for (UINT i = 0; handles && values && i < count; i++) {
        struct seen_object *fence = seen_find(rules->process, handles[i], SEEN_FENCE);

        for (unsigned k = 0; fence && k < MOST_WAITS; k++) {
            struct wait *wait = &rules->waits[k];

            /* A wait of the GPU's that is over makes room. */
            if (wait->process && !wait->call && value_of(wait->fence) >= wait->value)
                wait->process = NULL;
            if (wait->process)
                continue;
            *wait = (struct wait){rules->process, call, fence, values[i]};
            break;
        }
    }
}

static void destroy_fence(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *fence = seen_find(rules->process, handle, SEEN_FENCE);

    if (!fence)
        return;
    if (fence->queue)
        breaks(rules, CLIENT_RULE_PAGING_FENCE_GOES, "fence %u is of a paging queue",
               fence->number);
    for (unsigned i = 0; i < MOST_WAITS; i++) {
        struct wait *wait = &rules->waits[i];

        if (wait->process != rules->process || wait->fence != fence)
            continue;
        if (wait->call || value_of(fence) < wait->value)
            breaks(rules, CLIENT_RULE_FENCE_AWAITED, "fence %u is awaited with value %" PRIu64,
                   fence->number, wait->value);
        wait->process = NULL;
    }
}

/* ---- Allocations ----------------------------------------------------------------------------- */

static void check_lock_left(struct client_rules *rules, const struct seen_object *allocation)
{
    if (allocation->locks)
        breaks(rules, CLIENT_RULE_LOCK_LEFT, "a%u is locked", allocation->number);
}

static void destroy_one(struct client_rules *rules, const struct seen_object *allocation,
                        bool assumes_unused)
{
    check_lock_left(rules, allocation);
    if (assumes_unused && is_running(&allocation->used))
        breaks(rules, CLIENT_RULE_DESTROY_IN_USE, "a%u is used by work of c%u that has not ended",
               allocation->number, allocation->used.context->number);
}

static void destroy_allocations(struct client_rules *rules,
                                const D3DKMT_DESTROYALLOCATION2 *arguments)
{
    const bool assumes_unused = arguments->Flags.AssumeNotInUse;
    const struct seen_object *resource =
        seen_find(rules->process, arguments->hResource, SEEN_RESOURCE);
    struct seen_object *object;

    if (arguments->hResource && arguments->phAllocationList)
        breaks(rules, CLIENT_RULE_LIST_AND_RESOURCE,
               "{@hResource} {0x%x} and a list{=~0, or no list~}", arguments->hResource);
    list_for_each (object, &rules->process->objects, struct seen_object, link) {
        if (resource && object->kind == SEEN_ALLOCATION && object->resource == resource &&
            !object->is_destroyed)
            destroy_one(rules, object, assumes_unused);
    }
    for (UINT i = 0; arguments->phAllocationList && i < arguments->AllocationCount; i++) {
        object = find_allocation(rules, arguments->phAllocationList[i]);
        check_device(rules, object, arguments->hDevice);
        if (object)
            destroy_one(rules, object, assumes_unused);
    }
}

static void check_lists(struct client_rules *rules, UINT count, const D3DKMT_HANDLE *handles,
                        const D3DKMT_HANDLE *resources)
{
    if (!handles == !resources)
        breaks(rules, CLIENT_RULE_TWO_LISTS, "%s",
               handles ? "HandleList and pResources" : "no list has a member");
    for (UINT i = 0; handles && i < count && i < 256; i++) {
        for (UINT k = 0; k < i; k++) {
            if (handles[k] == handles[i])
                breaks(rules, CLIENT_RULE_NAMED_TWICE, "0x%x is named twice", handles[i]);
        }
        find_allocation(rules, handles[i]);
    }
}

static void offer(struct client_rules *rules, const D3DKMT_OFFERALLOCATIONS *arguments)
{
    check_lists(rules, arguments->NumAllocations, arguments->HandleList, arguments->pResources);
    if (arguments->Priority < D3DKMT_OFFER_PRIORITY_LOW ||
        arguments->Priority > D3DKMT_OFFER_PRIORITY_AUTO)
        breaks(rules, CLIENT_RULE_OFFER_PRIORITY,
               "{@Priority} is {%u}{=~LOW, NORMAL, HIGH or AUTO~}", (unsigned)arguments->Priority);
}

static void reclaim(struct client_rules *rules, const D3DKMT_RECLAIMALLOCATIONS2 *arguments)
{
    check_lists(rules, arguments->NumAllocations, arguments->HandleList, arguments->pResources);
    for (UINT i = 0; arguments->HandleList && i < arguments->NumAllocations; i++) {
        const struct seen_object *allocation =
            seen_find(rules->process, arguments->HandleList[i], SEEN_ALLOCATION);

        if (allocation && !allocation->is_offered)
            breaks(rules, CLIENT_RULE_NOT_OFFERED, "a%u is not offered", allocation->number);
    }
}

static void set_priority(struct client_rules *rules, const D3DKMT_SETALLOCATIONPRIORITY *arguments)
{
    for (UINT i = 0; arguments->phAllocationList && i < arguments->AllocationCount; i++) {
        check_device(rules, find_allocation(rules, arguments->phAllocationList[i]),
                     arguments->hDevice);
        if (arguments->pPriorities && !arguments->pPriorities[i])
            breaks(rules, CLIENT_RULE_PRIORITY_ZERO,
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
    if (device->registrations)
        breaks(rules, CLIENT_RULE_TRIM_LEFT, "device 0x%x has registrations", handle);
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
            breaks(rules, CLIENT_RULE_DEVICES_LEFT, "device 0x%x is there", object->handle);
            return;
        }
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static bool begin(struct client_rules *rules, void *client, const struct d3dkmt_call *call)
{
    rules->process = seen_process_of(rules->seen, client);
    rules->call = call;
    return rules->process;
}

void client_rules_called(struct client_rules *rules, void *client, const struct d3dkmt_call *call)
{
    if (!begin(rules, client, call))
        return;
    look_at_batches(rules);
    switch (call->function) {
    case D3DKMT_FN_MakeResident:
        make_resident(rules, call->arguments);
        break;
    case D3DKMT_FN_Evict:
        evict(rules, call->arguments);
        break;
    case D3DKMT_FN_MapGpuVirtualAddress:
        map(rules, call->arguments);
        break;
    case D3DKMT_FN_FreeGpuVirtualAddress:
        free_addresses(rules, call->arguments);
        break;
    case D3DKMT_FN_SubmitCommand:
        submit(rules, call->arguments);
        break;
    case D3DKMT_FN_SignalSynchronizationObjectFromCpu: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMCPU *arguments = call->arguments;

        signal_all(rules, arguments->ObjectCount, arguments->ObjectHandleArray,
                   arguments->FenceValueArray);
        break;
    }
    case D3DKMT_FN_SignalSynchronizationObjectFromGpu: {
        const D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU *arguments = call->arguments;

        signal_all(rules, arguments->ObjectCount, arguments->ObjectHandleArray,
                   arguments->MonitoredFenceValueArray);
        break;
    }
    case D3DKMT_FN_WaitForSynchronizationObjectFromCpu: {
        const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *arguments = call->arguments;

        check_count(rules, arguments->ObjectCount);
        add_waits(rules, call, arguments->ObjectCount, arguments->ObjectHandleArray,
                  arguments->FenceValueArray);
        break;
    }
    case D3DKMT_FN_WaitForSynchronizationObjectFromGpu: {
        const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMGPU *arguments = call->arguments;

        check_count(rules, arguments->ObjectCount);
        add_waits(rules, NULL, arguments->ObjectCount, arguments->ObjectHandleArray,
                  arguments->MonitoredFenceValueArray);
        break;
    }
    case D3DKMT_FN_DestroySynchronizationObject:
        destroy_fence(rules,
                      ((const D3DKMT_DESTROYSYNCHRONIZATIONOBJECT *)call->arguments)->hSyncObject);
        break;
    case D3DKMT_FN_Lock2: {
        const D3DKMT_LOCK2 *arguments = call->arguments;
        const struct seen_object *allocation = find_allocation(rules, arguments->hAllocation);

        check_device(rules, allocation, arguments->hDevice);
        if (allocation && allocation->bytes && !allocation->client_address &&
            !(allocation->flags & SGPU_UMD_CPU_VISIBLE))
            breaks(rules, CLIENT_RULE_NOT_VISIBLE, "a%u was made without SGPU_UMD_CPU_VISIBLE",
                   allocation->number);
        break;
    }
    case D3DKMT_FN_Unlock2: {
        const D3DKMT_UNLOCK2 *arguments = call->arguments;
        const struct seen_object *allocation = find_allocation(rules, arguments->hAllocation);

        check_device(rules, allocation, arguments->hDevice);
        if (allocation && !allocation->locks)
            breaks(rules, CLIENT_RULE_NOT_LOCKED, "a%u is not locked", allocation->number);
        break;
    }
    case D3DKMT_FN_DestroyAllocation2:
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

static void end_waits(struct client_rules *rules, const struct d3dkmt_call *call)
{
    for (unsigned i = 0; i < MOST_WAITS; i++) {
        if (rules->waits[i].process && rules->waits[i].call == call)
            rules->waits[i].process = NULL;
    }
}

void client_rules_ended(struct client_rules *rules, void *client, const struct d3dkmt_call *call)
{
    const D3DKMT_SUBMITCOMMAND *arguments = call->arguments;
    struct seen_object *context;

    if (!begin(rules, client, call))
        return;
    switch (call->function) {
    case D3DKMT_FN_WaitForSynchronizationObjectFromCpu:
        end_waits(rules, call);
        break;
    case D3DKMT_FN_ChangeVideoMemoryReservation:
        /* Everything else that is wrong there is a wrong handle or group. */
        if (call->status == STATUS_INVALID_PARAMETER &&
            seen_find(rules->process,
                      ((const D3DKMT_CHANGEVIDEOMEMORYRESERVATION *)call->arguments)->hAdapter,
                      SEEN_ADAPTER))
            breaks(rules, CLIENT_RULE_RESERVATION, "more than is available");
        break;
    case D3DKMT_FN_SubmitCommand:
        if (NT_SUCCESS(call->status)) {
            keep_batch(rules, arguments);
            break;
        }
        context = seen_find(rules->process, arguments->BroadcastContext[0], SEEN_CONTEXT);
        if (call->status == STATUS_DEVICE_REMOVED && context && context->refused++)
            breaks(rules, CLIENT_RULE_LOST_DEVICE, "c%u has been refused work before",
                   context->number);
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
        if (value_of(wait->fence) < wait->value && wait->fence->promised < wait->value &&
            !wait->fence->queue)
            breaks(rules, CLIENT_RULE_NEVER_SIGNALLED,
                   "fence %u is awaited with %" PRIu64 ", and %" PRIu64 " is all that is signalled",
                   wait->fence->number, wait->value, wait->fence->promised);
        wait->process = NULL;
    }
    for (unsigned i = 0; i < MOST_BATCHES; i++) {
        if (rules->batches[i].process == rules->process)
            rules->batches[i].process = NULL;
    }
}
