/*
 * What the files of the join share (story_join.h).
 *
 * | file          | items                                                                     |
 * | ------------- | ------------------------------------------------------------------------- |
 * | join_run.c    | facts of the run, objects, steps, findings                                |
 * | join_calls.c  | calls of the driver and their arguments; calls of client processes        |
 * | join_work.c   | submissions, packets, interrupts, fences; requests and what they wait for |
 * | join_memory.c | places, paging operations, mappings, curves                               |
 * | join_rows.c   | none: rows by the numbers of the record, for the others                   |
 */
#ifndef DRYDOCK_STORY_JOIN_PRIVATE_H
#define DRYDOCK_STORY_JOIN_PRIVATE_H

#include "story/story_join.h"

#include "base/bits.h"
#include "story/story_read.h"

/*
 * The kinds of items of which rows are made: join_take_KIND() finds the row that the item is about
 * by the number that the record gives it, and sets what the item adds.
 */
#define JOIN_KINDS(X)                                                                              \
    X(run)                                                                                         \
    X(object)                                                                                      \
    X(object_end)                                                                                  \
    X(named)                                                                                       \
    X(departs)                                                                                     \
    X(offer)                                                                                       \
    X(range)                                                                                       \
    X(job)                                                                                         \
    X(job_ends)                                                                                    \
    X(queue_waits)                                                                                 \
    X(given_up)                                                                                    \
    X(trim)                                                                                        \
    X(packet_returns)                                                                              \
    X(packet_retired)                                                                              \
    X(step)                                                                                        \
    X(stage)                                                                                       \
    X(found)                                                                                       \
    X(finding)                                                                                     \
    X(print)                                                                                       \
    X(cut)                                                                                         \
    X(call)                                                                                        \
    X(client_call)                                                                                 \
    X(client_call_ends)                                                                            \
    X(client_breach)                                                                               \
    X(submission)                                                                                  \
    X(packet)                                                                                      \
    X(packet_submitted)                                                                            \
    X(packet_begins)                                                                               \
    X(packet_ends)                                                                                 \
    X(interrupt)                                                                                   \
    X(dpc)                                                                                         \
    X(fence_value)                                                                                 \
    X(fence_waits)                                                                                 \
    X(fence_wait_ends)                                                                             \
    X(request)                                                                                     \
    X(request_waits)                                                                               \
    X(request_begins)                                                                              \
    X(request_ends)                                                                                \
    X(victim)                                                                                      \
    X(placed)                                                                                      \
    X(left)                                                                                        \
    X(operation)                                                                                   \
    X(operation_built)                                                                             \
    X(operation_packet)                                                                            \
    X(operation_retired)                                                                           \
    X(entries)                                                                                     \
    X(mapping)                                                                                     \
    X(budget)                                                                                      \
    X(sample)

#define X(kind) void join_take_##kind(struct join *join, const struct record_reader_item *item);
JOIN_KINDS(X)
#undef X

#define FIELDS(kind) const struct record_##kind *fields = RECORD_FIELDS(kind, item)
#define SET(TABLE, COLUMN, row, value)                                                             \
    story_set(join->story, STORY_##TABLE##_##COLUMN, (size_t)(row)-1, value)
#define ADD(TABLE, ...)            join_add(join, STORY_##TABLE, (const uint64_t[]){__VA_ARGS__})
#define OBJECT(join, kind, number) join_object(join, (join)->words.kind, number)

/* A row with all its values; gives it plus one. */
uint64_t join_add(struct join *join, enum story_table table, const uint64_t *values);
/* A text of the record as one of the story. */
uint64_t join_text(struct join *join, uint64_t number);

/* The row plus one of an object, which is made when the record did not tell of it; 0 is none. */
uint64_t join_object(struct join *join, uint64_t type, uint64_t number);
/* The same of a node: nodes are numbered from 0, and every one of them is an object. */
uint64_t join_node(struct join *join, uint64_t ordinal);
/* The row plus one of something that is numbered, which is made when it is new; 0 is none. */
uint64_t join_numbered(struct join *join, struct row_map *map, enum story_table table,
                       enum story_column number_column, uint64_t number);
uint64_t join_packet(struct join *join, uint64_t number);
uint64_t join_operation(struct join *join, uint64_t number);
uint64_t join_request(struct join *join, uint64_t number);
/* The packet with the last operation of a request; 0: there is none. */
uint64_t join_last_packet(const struct join *join, uint64_t request);

/* The process of an object; of a request, or of its context. */
uint64_t join_process_of(const struct join *join, uint64_t object);
uint64_t join_process_of_request(const struct join *join, uint64_t request);
/*
 * The driver is not told whose an allocation is. The first process whose work is about it has it.
 */
void join_give_to(struct join *join, uint64_t allocation, uint64_t process);

/* Adds to a number of the row, if there is one. */
void join_add_to(struct join *join, enum story_column column, uint64_t row, uint64_t amount);
/* A row of marks; on: a node, about: an object, sequence: of a call; 0: none. */
void join_mark(struct join *join, uint64_t time, const char *kind, uint64_t words, uint64_t on,
               uint64_t about, uint64_t value, uint64_t packet, uint64_t sequence);

#endif
