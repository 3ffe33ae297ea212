/*
 * The join as a whole: which function an item goes to, and what only the last item completes.
 */
#include "story/join_private.h"

void join_item(struct join *join, const struct record_reader_item *item)
{
    switch (item->kind) {
#define X(kind)                                                                                    \
    case RECORD_KIND_##kind:                                                                       \
        join_take_##kind(join, item);                                                              \
        break;
        JOIN_KINDS(X)
#undef X
    case RECORD_KIND_allocation_state:
    case RECORD_KIND_COUNT:
        break;
    }
}

/* The packet that a wait is about: the one it names, or that of the operation it names. */
static uint64_t packet_of_wait(const struct story *story, size_t wait)
{
    uint64_t packet = story_get(story, STORY_WAITS_PACKET, wait);
    uint64_t operation = story_get(story, STORY_WAITS_OPERATION, wait);

    if (!packet && operation)
        packet = story_get(story, STORY_OPERATIONS_PACKET, (size_t)operation - 1);
    return packet;
}

/* The interrupt that told the end of a packet with a request's last operation lets it go. */
static void join_requests(struct join *join)
{
    for (size_t i = 0; i < story_rows(join->story, STORY_REQUESTS); i++) {
        uint64_t packet = join_last_packet(join, i + 1), ends, time;
        uint64_t told = packet ? row_map_get(&join->interrupts, row_key(packet)) : 0;

        if (!told)
            continue;
        time = story_get(join->story, STORY_MARKS_TIME, (size_t)told - 1);
        ends = story_get(join->story, STORY_REQUESTS_ENDS, i);
        if (ends != STORY_NEVER && time <= ends &&
            time >= story_get(join->story, STORY_REQUESTS_ASKED, i))
            ADD(FLOWS, told, i + 1);
    }
}

/* The interrupt that told the end of a packet, and the request that waited for it. */
static void join_waits(struct join *join)
{
    for (size_t i = 0; i < story_rows(join->story, STORY_WAITS); i++) {
        uint64_t packet = packet_of_wait(join->story, i);
        uint64_t told = packet ? row_map_get(&join->interrupts, row_key(packet)) : 0;

        if (told)
            ADD(FLOWS, told, story_get(join->story, STORY_WAITS_REQUEST, i));
    }
}

void join_end(struct join *join)
{
    char count[32];

    join_waits(join);
    join_requests(join);
    if (join->arguments_left_out) {
        story_count(count, join->arguments_left_out);
        story_fact(join->story, "left_out", "%s arguments of calls far from any finding", count);
    }
    if (join->calls_left_out) {
        story_count(count, join->calls_left_out);
        story_fact(join->story, "left_out", "%s calls far from any finding", count);
    }
}

#define MAPS(X)                                                                                    \
    X(objects)                                                                                     \
    X(operations)                                                                                  \
    X(packets)                                                                                     \
    X(requests)                                                                                    \
    X(calls)                                                                                       \
    X(client_calls)                                                                                \
    X(places)                                                                                      \
    X(mappings)                                                                                    \
    X(fences)                                                                                      \
    X(fence_values)                                                                                \
    X(fence_waits)                                                                                 \
    X(last_operations)                                                                             \
    X(series)                                                                                      \
    X(last_values)                                                                                 \
    X(interrupts)                                                                                  \
    X(departures)                                                                                  \
    X(ranges)                                                                                      \
    X(jobs)                                                                                        \
    X(findings)

bool join_init(struct join *join, struct story *story, const struct record_reader *reader,
               const struct call_choice *choice)
{
    *join = (struct join){.story = story, .reader = reader, .choice = choice};
#define X(map) join->map.services = story_services(story);
    MAPS(X)
#undef X
#define WORD(name) join->words.name = story_text(story, #name)
    WORD(process);
    WORD(device);
    WORD(context);
    WORD(node);
    WORD(segment);
    WORD(allocation);
    WORD(fence);
    WORD(packet);
    WORD(operation);
    WORD(request);
    WORD(local);
    WORD(text);
    WORD(resource);
#undef WORD
    join->words.non_local = story_text(story, "non-local");
    return !story_failed(story);
}

bool join_failed(const struct join *join)
{
    bool failed = join->failed || story_failed(join->story);

#define X(map) failed = failed || join->map.failed;
    MAPS(X)
#undef X
    return failed;
}

void join_fini(struct join *join)
{
#define X(map) row_map_fini(&join->map);
    MAPS(X)
#undef X
    base_free_array(story_services(join->story), join->texts, join->text_room, sizeof *join->texts);
}
