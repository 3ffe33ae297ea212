#include "story/test_synthetic.h"
#include "base/rng.h"

#include <stdio.h>
#include <string.h>

#define ADD(story, TABLE, ...) story_add_row(story, STORY_##TABLE, (uint64_t[]){__VA_ARGS__})

#define MIB ((uint64_t)1 << 20)

#define PROCESS_COUNT    3
#define ALLOCATION_COUNT 256
#define PLACE_COUNT      96 /* that a segment has room for */

struct synthetic {
    struct story *story;
    struct rng rng;
    uint64_t now;

    uint64_t adapter_node[2], segments[2], processes[PROCESS_COUNT], contexts[PROCESS_COUNT];
    uint64_t allocations[ALLOCATION_COUNT];
    uint64_t place_of[ALLOCATION_COUNT]; /* row + 1 */
    size_t slot_of[ALLOCATION_COUNT];    /* in the segment */
    size_t holder[PLACE_COUNT];          /* allocation + 1 */
    size_t next_slot;
    uint64_t resident;

    uint64_t fences[PROCESS_COUNT], values[PROCESS_COUNT];
    uint64_t series[3];
    uint64_t fence, packet, operation, call, submission;
    uint64_t va_of[ALLOCATION_COUNT];
};

static uint64_t t(struct synthetic *s, const char *text)
{
    return story_text(s->story, text);
}

static uint64_t object(struct synthetic *s, const char *kind, uint64_t number, uint64_t parent,
                       uint64_t process, const char *name, uint64_t bytes)
{
    return ADD(s->story, OBJECTS, t(s, kind), number, parent, process, t(s, name), bytes, s->now,
               STORY_NEVER, 0, 0, 0) +
           1;
}

static uint64_t call(struct synthetic *s, const char *name, const char *operation, uint64_t about,
                     uint64_t bytes)
{
    static const char *const fields[] = {"hAdapter", "pDmaBuffer", "DmaSize", "MultipassOffset",
                                         "pDmaBufferPrivateData"};
    uint64_t begins = s->now;
    uint64_t row;

    s->now += 200 + rng_below(&s->rng, 900);
    row =
        ADD(s->story, CALLS, ++s->call, begins, s->now, 0, t(s, name), t(s, operation), about, 0) +
        1;
    for (unsigned i = 0; i < sizeof fields / sizeof fields[0]; i++)
        ADD(s->story, ARGUMENTS, row, t(s, fields[i]), t(s, i == 2 ? "number" : "hex"),
            i == 2 ? bytes : 0x10000 * i + (i == 1 ? s->call * 64 % 65536 : 0), i == 3);
    return row;
}

/* An operation on the paging node, its packet and its end. Gives the operation's row + 1. */
static uint64_t operation(struct synthetic *s, const char *name, size_t allocation, uint64_t from,
                          uint64_t from_offset, uint64_t to, uint64_t to_offset, uint64_t bytes)
{
    uint64_t asked = s->now, built, submitted, begins, packet, row;
    uint64_t about = s->allocations[allocation];
    uint64_t process = s->processes[allocation % PROCESS_COUNT];

    call(s, "DxgkDdiBuildPagingBuffer", name, about, bytes);
    built = s->now;
    call(s, "DxgkDdiSubmitCommand", "", s->adapter_node[0], 64);
    submitted = s->now;
    begins = s->now + 1500;
    s->now = begins + bytes / 16 + rng_below(&s->rng, 3000);
    packet = ADD(s->story, PACKETS, ++s->packet, t(s, "paging"), 0, s->adapter_node[0], ++s->fence,
                 64, built, submitted, begins, s->now, 0, s->now + 700) +
             1;
    row = ADD(s->story, OPERATIONS, ++s->operation, s->operation / 2 + 1, t(s, name), about,
              process, from, from_offset, to, to_offset, bytes, asked, built, s->now + 700,
              s->operation % 16 + 1, 64, 1, packet) +
          1;
    ADD(s->story, MARKS, s->now, t(s, "interrupt"), t(s, "DXGK_INTERRUPT_DMA_COMPLETED"),
        s->adapter_node[0], 0, s->fence, packet, 0);
    s->now += 700;
    ADD(s->story, MARKS, s->now, t(s, "dpc"), 0, s->adapter_node[0], 0, s->fence, packet, 0);
    story_set(s->story, STORY_OBJECTS_MOVED, about - 1,
              story_get(s->story, STORY_OBJECTS_MOVED, about - 1) + bytes);
    return row;
}

static void sample(struct synthetic *s)
{
    ADD(s->story, SAMPLES, s->series[0], s->now, s->resident);
    ADD(s->story, SAMPLES, s->series[1], s->now, PLACE_COUNT * MIB - s->resident);
}

static void evict(struct synthetic *s, size_t slot, uint64_t request, uint64_t evictor)
{
    size_t allocation = s->holder[slot] - 1;
    uint64_t place = s->place_of[allocation];
    uint64_t about = s->allocations[allocation];

    ADD(s->story, VICTIMS, s->now, request, about, s->segments[0],
        t(s, "used least recently of those that are idle"), 0, s->now - rng_below(&s->rng, 100000));
    operation(s, "TRANSFER", allocation, s->segments[0], slot * MIB, 0, 0, MIB);
    story_set(s->story, STORY_PLACES_TO, place - 1, s->now);
    story_set(s->story, STORY_PLACES_WHY_LEFT, place - 1, t(s, "room for another"));
    story_set(s->story, STORY_PLACES_LEFT_FOR, place - 1, request);
    story_set(s->story, STORY_PLACES_EVICTOR, place - 1, evictor);
    story_set(s->story, STORY_OBJECTS_EVICTED, about - 1,
              story_get(s->story, STORY_OBJECTS_EVICTED, about - 1) + 1);
    s->holder[slot] = 0;
    s->place_of[allocation] = 0;
    s->resident -= MIB;
    sample(s);
}

static void page_in(struct synthetic *s, size_t allocation, uint64_t request)
{
    uint64_t process = s->processes[allocation % PROCESS_COUNT], row;
    uint64_t about = s->allocations[allocation];
    size_t slot = s->next_slot;

    s->next_slot = (s->next_slot + 1) % PLACE_COUNT;
    if (s->holder[slot])
        evict(s, slot, request, process);
    row = operation(s, "TRANSFER", allocation, 0, 0, s->segments[0], slot * MIB, MIB);
    ADD(s->story, WAITS, s->now - 500, request, t(s, "its page-in"), about, 0, row, 0);
    s->holder[slot] = allocation + 1;
    s->slot_of[allocation] = slot;
    s->place_of[allocation] =
        ADD(s->story, PLACES, about, 0, s->segments[0], slot * MIB, MIB, s->now, STORY_NEVER,
            t(s, "a request"), 0, request, 0, 0, STORY_NEVER, 0) +
        1;
    story_set(s->story, STORY_OBJECTS_PLACED, about - 1,
              story_get(s->story, STORY_OBJECTS_PLACED, about - 1) + 1);
    s->resident += MIB;
    sample(s);
    row = operation(s, "UPDATE_PAGE_TABLE", allocation, 0, 0, s->segments[0], slot * MIB, 2048);
    ADD(s->story, ENTRIES, s->now, row, process, 0, s->va_of[allocation], 256, 4096, s->segments[0],
        slot * MIB, 4096, 1, 256, 0);
}

/* Somebody waits for the next value of a process's fence, which a packet writes, or the CPU: 0. */
static void wait_for_fence(struct synthetic *s, size_t process, uint64_t waiting_packet,
                           uint64_t begins, uint64_t ends, uint64_t writing_packet)
{
    uint64_t value = ++s->values[process];

    ADD(s->story, MARKS, ends, t(s, "fence"), 0, 0, s->fences[process], value, writing_packet, 0);
    ADD(s->story, FENCE_WAITS, story_rows(s->story, STORY_FENCE_WAITS) + 1, s->fences[process],
        value, waiting_packet ? 0 : s->processes[process], waiting_packet, begins, ends, 0,
        story_rows(s->story, STORY_MARKS));
}

static void submit(struct synthetic *s)
{
    size_t process = rng_below(&s->rng, PROCESS_COUNT);
    uint64_t asked = s->now, packet, submission;
    uint64_t request =
        ADD(s->story, REQUESTS, ++s->submission, s->processes[process], s->contexts[process], 4,
            asked, asked, STORY_NEVER, 0, t(s, "submission")) +
        1;
    size_t used[4];

    for (unsigned i = 0; i < 4; i++) {
        used[i] = rng_below(&s->rng, ALLOCATION_COUNT / PROCESS_COUNT) * PROCESS_COUNT + process;
        if (!s->place_of[used[i]])
            page_in(s, used[i], request);
    }
    story_set(s->story, STORY_REQUESTS_ENDS, request - 1, s->now);
    call(s, "DxgkDdiRender", "", s->contexts[process], 4096);
    packet = ADD(s->story, PACKETS, ++s->packet, t(s, "render"), s->contexts[process],
                 s->adapter_node[1], ++s->fence, 4096, s->now, s->now + 300, s->now + 900,
                 s->now + 900 + rng_below(&s->rng, 200000), 0, STORY_NEVER) +
             1;
    submission = ADD(s->story, SUBMISSIONS, s->submission, s->contexts[process], s->adapter_node[1],
                     s->fence, s->now, request, packet) +
                 1;
    for (unsigned i = 0; i < 4; i++)
        ADD(s->story, REFERENCES, submission, s->allocations[used[i]], 0, i == 3);
    wait_for_fence(s, process, packet, s->now, s->now + 100, 0);
    s->now = story_get(s->story, STORY_PACKETS_ENDS, packet - 1);
    ADD(s->story, MARKS, s->now, t(s, "interrupt"), t(s, "DXGK_INTERRUPT_DMA_COMPLETED"),
        s->adapter_node[1], 0, s->fence, packet, 0);
    ADD(s->story, FLOWS, story_rows(s->story, STORY_MARKS), request);
    wait_for_fence(s, process, 0, asked, s->now, packet);
}

static void begin(struct synthetic *s)
{
    static const char *const process_names[PROCESS_COUNT] = {"trainer", "browser", "compositor"};
    static const char *const series_names[3] = {"resident", "free", "demand"};
    char name[32];

    story_fact(s->story, "case", "synthetic.case");
    story_fact(s->story, "driver", "none");
    story_fact(s->story, "model", "gpummu");
    s->segments[0] = object(s, "segment", 1, 0, 0, "local", PLACE_COUNT * MIB);
    s->segments[1] = object(s, "segment", 2, 0, 0, "aperture", 4096 * MIB);
    s->adapter_node[0] = object(s, "node", 0, 0, 0, "copy", 0);
    s->adapter_node[1] = object(s, "node", 1, 0, 0, "3D", 0);
    for (unsigned i = 0; i < PROCESS_COUNT; i++) {
        uint64_t device;

        s->processes[i] = object(s, "process", i + 1, 0, 0, process_names[i], 0);
        story_set(s->story, STORY_OBJECTS_PROCESS, s->processes[i] - 1, s->processes[i]);
        device = object(s, "device", i + 1, s->processes[i], s->processes[i], "", 0);
        s->fences[i] = object(s, "fence", i + 1, s->processes[i], s->processes[i], "", 0);
        s->contexts[i] = object(s, "context", i + 1, device, s->processes[i], "", 0);
    }
    for (unsigned i = 0; i < ALLOCATION_COUNT; i++) {
        uint64_t process = s->processes[i % PROCESS_COUNT];

        snprintf(name, sizeof name, i % 40 ? "weights.%u" : "</script><b>%u", i);
        s->allocations[i] = object(s, "allocation", i + 1, process, process, name, MIB);
        s->va_of[i] = 0x100000000 + i * 2 * MIB;
        ADD(s->story, MAPPINGS, process, s->allocations[i], s->va_of[i], MIB, 0, s->now,
            STORY_NEVER);
        s->now += 1000;
    }
    for (unsigned i = 0; i < 3; i++)
        s->series[i] =
            ADD(s->story, SERIES, t(s, series_names[i]), s->segments[0], t(s, "bytes"), t(s, "")) +
            1;
    ADD(s->story, MARKS, s->now, t(s, "print"), t(s, "<script>alert(1)</script>\xff"), 0, 0, 0, 0,
        0);
}

static size_t rows_but_lists(const struct story *story)
{
    size_t rows = 0;

    for (unsigned i = 0; i < STORY_TABLE_COUNT; i++) {
        if (i != STORY_ARGUMENTS && i != STORY_REFERENCES)
            rows += story_rows(story, (enum story_table)i);
    }
    return rows;
}

struct story *synthetic_story(const struct base_services *services, size_t events)
{
    struct synthetic *s = base_alloc(base_services_libc(), sizeof *s);
    struct story *story = story_create(services);
    unsigned step = 0;

    if (!s || !story) {
        base_free(base_services_libc(), s, sizeof *s);
        story_destroy(story);
        return NULL;
    }
    s->story = story;
    rng_init(&s->rng, 14);
    begin(s);
    while (rows_but_lists(story) < events && !story_failed(story)) {
        if (s->submission % 64 == 0) {
            char name[32];

            snprintf(name, sizeof name, "step %u", ++step);
            ADD(story, MARKS, s->now, t(s, "step"), t(s, name), 0, 0, step, 0, 0);
        }
        submit(s);
    }
    ADD(story, FINDINGS, s->now, story_rows(story, STORY_CALLS) / 2 + 1, t(s, "PB-004"),
        t(s, "moved 288 bytes; 256 were offered"),
        t(s, "{\"kind\":\"rule\",\"rule\":\"PB-004\",\"text\":\"moved 288 bytes; 256 were "
             "offered\"}"));
    base_free(base_services_libc(), s, sizeof *s);
    return story;
}
