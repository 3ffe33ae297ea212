#include "bench/exec/client_rules_own.h"

#include "base/bits.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdlib.h>

#define MOST_BATCH_BYTES 65536u
/* Of what a packet reads so much is looked at: each call of the client waits for it. */
#define SOURCE_BYTES 4096u

static uint64_t hash_memory(const struct seen_process *process, uint64_t address, uint64_t bytes)
{
    uint8_t *copy = malloc(bytes);
    uint64_t hash = 0;

    if (copy && seen_read(process, address, copy, bytes))
        hash = max_u64(hash_bytes(copy, bytes, 0), 1);
    free(copy);
    return hash;
}

/* NULL: it has changed nothing, or may change it from here on. */
static const struct batch *changed(const struct client_rules *rules, struct batch *batch)
{
    uint64_t hash;

    if (batch->process != rules->process)
        return NULL;
    hash = hash_memory(batch->process, batch->address, batch->bytes);
    if (!client_rules_is_running(&batch->use)) {
        batch->process = NULL;
        return NULL;
    }
    if (!hash || hash == batch->hash)
        return NULL;
    batch->process = NULL;
    return batch;
}

void client_rules_look_at_memory(struct client_rules *rules)
{
    const struct batch *batch;

    for (unsigned i = 0; i < MOST_BATCHES; i++) {
        batch = changed(rules, &rules->batches[i]);
        if (batch)
            client_rules_break(rules, CLIENT_RULE_COMMANDS_CHANGED,
                               "commands of c%u at 0x%" PRIx64 " have changed, and have not run",
                               batch->use.context->number, batch->address);
    }
    for (unsigned i = 0; i < MOST_SOURCES; i++) {
        batch = changed(rules, &rules->sources[i]);
        if (batch)
            client_rules_break(rules, CLIENT_RULE_MEMORY_CHANGED,
                               "what work of c%u reads at 0x%" PRIx64
                               " has changed, and the work has not ended",
                               batch->use.context->number, batch->address);
    }
}

/* Where the client itself sees what lies at a GPU address; 0: nowhere. */
static uint64_t client_address(const struct seen_process *process, uint64_t va, uint64_t bytes,
                               const struct seen_object **out_allocation)
{
    const struct seen_mapping *mapping = va ? seen_mapping_at(process, va) : NULL;

    *out_allocation = mapping ? mapping->allocation : NULL;
    if (!*out_allocation || bytes > mapping->end - va || !seen_cpu_address(mapping->allocation))
        return 0;
    return seen_cpu_address(mapping->allocation) + mapping->offset + (va - mapping->start);
}

/* False: the batch itself writes there in front of the read. */
static bool is_from_before(struct client_rules *rules, const struct batch *source)
{
    if (rules->writing != rules->call)
        return true;
    for (unsigned i = 0; i < min_u64(rules->written_count, MOST_SOURCES); i++) {
        if (rules->written[i].address < source->address + source->bytes &&
            source->address < rules->written[i].address + rules->written[i].bytes)
            return false;
    }
    return rules->written_count <= MOST_SOURCES;
}

static void note_written(struct client_rules *rules, uint64_t address, uint64_t bytes)
{
    if (rules->writing != rules->call)
        rules->written_count = 0;
    rules->writing = rules->call;
    if (rules->written_count < MOST_SOURCES) {
        rules->written[rules->written_count].address = address;
        rules->written[rules->written_count].bytes = bytes;
    }
    if (rules->written_count <= MOST_SOURCES)
        rules->written_count++;
}

/*
 * What is read, and nothing on the GPU writes as far as is known, is the client's to leave alone.
 * The batch has the number that the call gives it when it succeeds.
 */
void client_rules_keep_source(struct client_rules *rules, const struct seen_access *access)
{
    struct seen_object *context = rules->work.context;
    const struct seen_object *allocation;
    const uint64_t written =
        client_address(rules->process, access->destination, access->bytes, &allocation);
    struct batch source = {.process = rules->process,
                           .use = {context, rules->seen->submissions + 1},
                           .bytes = min_u64(access->bytes, SOURCE_BYTES)};
    bool is_new;

    for (unsigned i = 0; written && i < MOST_SOURCES; i++) {
        struct batch *other = &rules->sources[i];

        if (other->process == rules->process && other->address < written + access->bytes &&
            written < other->address + other->bytes)
            other->process = NULL;
    }
    source.address = client_address(rules->process, access->source, access->bytes, &allocation);
    is_new = source.address && is_from_before(rules, &source);
    if (written)
        note_written(rules, written, access->bytes);
    if (!context || !is_new || !source.bytes || client_rules_is_running(&allocation->used))
        return;
    source.hash = hash_memory(source.process, source.address, source.bytes);
    if (source.hash)
        rules->sources[rules->next_source++ % MOST_SOURCES] = source;
}

/* Behind the call, when what has been seen knows it. */
void client_rules_keep_batch(struct client_rules *rules)
{
    const uint64_t va = PLAIN_ADDRESS(rules->work.va);
    const struct seen_mapping *mapping = seen_mapping_at(rules->process, va);
    struct seen_object *context = rules->work.context;
    struct batch *batch = &rules->batches[rules->next_batch++ % MOST_BATCHES];

    batch->process = NULL;
    if (!context || !mapping || !mapping->allocation || !seen_is_readable(mapping->allocation) ||
        rules->work.bytes > MOST_BATCH_BYTES)
        return;
    *batch = (struct batch){.process = rules->process,
                            .use = {context, context->submitted},
                            .address = seen_cpu_address(mapping->allocation) + mapping->offset +
                                       (va - mapping->start),
                            .bytes = rules->work.bytes};
    batch->hash = hash_memory(batch->process, batch->address, batch->bytes);
    if (!batch->hash)
        batch->process = NULL;
}

/* The call has failed: nothing reads what it named. */
void client_rules_drop_sources(struct client_rules *rules)
{
    for (unsigned i = 0; i < MOST_SOURCES; i++) {
        if (rules->sources[i].use.sequence > rules->seen->submissions)
            rules->sources[i].process = NULL;
    }
}

static void forget(const struct client_rules *rules, struct batch *batches, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (batches[i].process == rules->process)
            batches[i].process = NULL;
    }
}

void client_rules_forget_memory(struct client_rules *rules)
{
    forget(rules, rules->batches, MOST_BATCHES);
    forget(rules, rules->sources, MOST_SOURCES);
    for (unsigned i = 0; i < MOST_HIDDEN; i++) {
        if (rules->hidden[i].process == rules->process)
            rules->hidden[i].process = NULL;
    }
}

void client_rules_keep_hidden(struct client_rules *rules, const struct seen_object *allocation)
{
    if (!allocation || !allocation->hidden_address)
        return;
    for (unsigned i = 0; i < MOST_HIDDEN; i++) {
        struct hidden *hidden = &rules->hidden[i];

        if (hidden->process == rules->process &&
            hidden->address < allocation->hidden_address + allocation->bytes &&
            allocation->hidden_address < hidden->address + hidden->bytes)
            hidden->process = NULL; /* the addresses were another lock's since */
    }
    rules->hidden[rules->next_hidden++ % MOST_HIDDEN] =
        (struct hidden){.process = rules->process,
                        .address = allocation->hidden_address,
                        .bytes = max_u64(align_up(allocation->bytes, PAGE_BYTES), PAGE_BYTES),
                        .allocation = allocation->number};
}

void client_rules_look_at_hidden(struct client_rules *rules)
{
    for (unsigned i = 0; i < MOST_HIDDEN; i++) {
        struct hidden *hidden = &rules->hidden[i];

        if (hidden->process != rules->process ||
            !client_memory_is_written_hidden(rules->process->client, hidden->address,
                                             hidden->bytes))
            continue;
        hidden->process = NULL;
        client_rules_break(rules, CLIENT_RULE_WRITTEN_HIDDEN,
                           "a%u is written at 0x%" PRIx64 ", where its lock has ended",
                           hidden->allocation, hidden->address);
    }
}

/* A value that nobody is to signal is the CPU's; of a lost device all are the highest. */
void client_rules_look_at_fence(struct client_rules *rules, const struct seen_object *fence)
{
    const uint64_t value = fence && !fence->queue ? client_rules_value(fence) : 0;

    if (fence && value > fence->body->promised && value != UINT64_MAX &&
        !rules->process->has_opaque_work && !fence->body->is_shared)
        client_rules_break(rules, CLIENT_RULE_FENCE_BY_CPU,
                           "fence %u has %" PRIu64 ", and %" PRIu64 " is all that is signalled",
                           fence->number, value, fence->body->promised);
}
