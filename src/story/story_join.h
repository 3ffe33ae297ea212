/*
 * Join: makes rows of the items of a record.
 *
 * Place      story, private: story_read.c gives it the items in order.
 */
#ifndef DRYDOCK_STORY_STORY_JOIN_H
#define DRYDOCK_STORY_STORY_JOIN_H

#include "record/record_reader.h"
#include "story/row_map.h"
#include "story/story.h"

/* Which calls of the record become rows. */
struct call_choice {
    bool keeps_all_calls, keeps_all_arguments;
    uint64_t *near; /* sequences of the calls of findings, in rising order */
    size_t near_count;
};

struct join {
    struct story *story;
    const struct record_reader *reader;
    const struct call_choice *choice;

    uint64_t *texts; /* by number of the record: id of the story plus one; 0: not looked up */
    size_t text_room;

    struct row_map objects;                       /* type, number */
    struct row_map operations, packets, requests; /* number */
    struct row_map calls;                         /* sequence */
    struct row_map client_calls;                  /* number */
    struct row_map places, mappings;              /* that have not ended */
    struct row_map fences;                        /* node, fence: a packet */
    struct row_map departures;                    /* place: the mark of the decision */
    struct row_map ranges, jobs;
    struct row_map findings;        /* number */
    struct row_map series;          /* object, name */
    struct row_map last_values;     /* series row: the last value plus one */
    struct row_map interrupts;      /* packet row: the mark of its end */
    struct row_map fence_values;    /* fence's row: the mark of its last value */
    struct row_map fence_waits;     /* number */
    struct row_map last_operations; /* request's row: its last operation so far */
    struct {
        uint64_t process, device, context, node, segment, allocation, fence;
        uint64_t packet, operation, request; /* what a request may wait for */
        uint64_t local, non_local, text, resource;
    } words; /* ids of texts */
    uint64_t calls_left_out, arguments_left_out;
    bool failed;
};

/* False: no memory. */
bool join_init(struct join *join, struct story *story, const struct record_reader *reader,
               const struct call_choice *choice);
void join_item(struct join *join, const struct record_reader_item *item);
/* Behind the last item: what only the whole tells. */
void join_end(struct join *join);
void join_fini(struct join *join);

bool join_failed(const struct join *join);

/* Whether a call is near that of a finding. */
bool call_is_near(const struct call_choice *choice, uint64_t sequence);

/* The number behind "event" in the JSON of a finding; 0: none. */
uint64_t finding_event(const char *json);

#endif
