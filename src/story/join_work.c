/*
 * Items of work: submissions, packets, fences, and requests for residency.
 */
#include "story/join_private.h"

/* ---- Work of the GPU ------------------------------------------------------------------------- */

void join_take_submission(struct join *join, const struct record_reader_item *item)
{
    FIELDS(submission);
    uint64_t row = ADD(SUBMISSIONS, fields->number, OBJECT(join, context, fields->context),
                       join_node(join, fields->node), fields->fence, item->time_ns,
                       join_request(join, fields->request), join_packet(join, fields->packet));

    for (size_t i = 0; i < item->group_count; i++) {
        const struct record_submission_group *reference = RECORD_GROUP(submission, item, i);

        uint64_t allocation = OBJECT(join, allocation, reference->allocation);

        ADD(REFERENCES, row, allocation, reference->offset, reference->is_write != 0);
        join_give_to(join, allocation,
                     join_process_of(join, OBJECT(join, context, fields->context)));
    }
}

void join_take_packet(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet);
    uint64_t row = join_packet(join, fields->number);

    if (!row)
        return;
    SET(PACKETS, KIND, row, join_text(join, fields->type));
    SET(PACKETS, CONTEXT, row, OBJECT(join, context, fields->context));
    SET(PACKETS, NODE, row, join_node(join, fields->node));
    SET(PACKETS, FENCE, row, fields->fence);
    SET(PACKETS, BYTES, row, fields->bytes);
    SET(PACKETS, QUEUED, row, item->time_ns);
    if (fields->fence)
        row_map_set(&join->fences, row_key2(fields->node, fields->fence), row);
}

void join_take_packet_submitted(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_submitted);
    uint64_t row = join_packet(join, fields->number);

    if (!row)
        return;
    SET(PACKETS, SUBMITTED, row, item->time_ns);
    SET(PACKETS, FENCE, row, fields->fence); /* it had none when it was queued */
    row_map_set(&join->fences, row_key2(fields->node, fields->fence), row);
}

void join_take_packet_begins(struct join *join, const struct record_reader_item *item)
{
    uint64_t row = join_packet(join, RECORD_FIELDS(packet_begins, item)->number);

    if (row)
        SET(PACKETS, BEGINS, row, item->time_ns);
}

void join_take_packet_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_ends);
    uint64_t row = join_packet(join, fields->number);

    if (!row)
        return;
    SET(PACKETS, ENDS, row, item->time_ns);
    SET(PACKETS, STATUS, row, fields->status);
}

void join_take_packet_returns(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_returns);

    join_mark(join, item->time_ns, "packet returns", 0, 0, 0, fields->number,
              join_packet(join, fields->number), 0);
}

void join_take_packet_retired(struct join *join, const struct record_reader_item *item)
{
    FIELDS(packet_retired);
    uint64_t row = join_packet(join, fields->number);

    if (row)
        SET(PACKETS, RETIRED, row, item->time_ns);
}

void join_take_interrupt(struct join *join, const struct record_reader_item *item)
{
    FIELDS(interrupt);
    uint64_t packet = row_map_get(&join->fences, row_key2(fields->node, fields->fence));

    join_mark(join, item->time_ns, "interrupt", join_text(join, fields->type),
              join_node(join, fields->node), 0, fields->fence, packet, fields->sequence);
    if (packet)
        row_map_set(&join->interrupts, row_key(packet), story_rows(join->story, STORY_MARKS));
}

void join_take_dpc(struct join *join, const struct record_reader_item *item)
{
    FIELDS(dpc);

    join_mark(join, item->time_ns, "dpc", 0, 0, 0, fields->number, 0, fields->sequence);
}

/* A fence of any type; records of older versions name none. */
static uint64_t fence_object(struct join *join, uint64_t type, uint64_t number)
{
    return join_object(join, type ? join_text(join, type) : join->words.fence, number);
}

/* The packet with the last operation of a request; 0: there is none. */
uint64_t join_last_packet(const struct join *join, uint64_t request)
{
    uint64_t operation = request ? row_map_get(&join->last_operations, row_key(request)) : 0;

    return operation ? story_get(join->story, STORY_OPERATIONS_PACKET, (size_t)operation - 1) : 0;
}

void join_take_fence_value(struct join *join, const struct record_reader_item *item)
{
    FIELDS(fence_value);

    uint64_t fence = fence_object(join, fields->type, fields->fence);
    uint64_t packet = join_packet(join, fields->packet);

    if (!packet && fields->request)
        packet = join_last_packet(join, join_request(join, fields->request));
    join_mark(join, item->time_ns, "fence", 0, 0, fence, fields->value, packet, 0);
    if (fence)
        row_map_set(&join->fence_values, row_key(fence), story_rows(join->story, STORY_MARKS));
}

void join_take_fence_waits(struct join *join, const struct record_reader_item *item)
{
    FIELDS(fence_waits);
    bool is_packet = join_text(join, fields->waiter_type) == join->words.packet;
    uint64_t row =
        ADD(FENCE_WAITS, fields->number, fence_object(join, fields->type, fields->fence),
            fields->value, is_packet ? 0 : OBJECT(join, process, fields->waiter),
            is_packet ? join_packet(join, fields->waiter) : 0, item->time_ns, STORY_NEVER, 0, 0);

    row_map_set(&join->fence_waits, row_key(fields->number), row);
}

/* The value that ends a wait is the last one that the fence has had, if that is enough. */
void join_take_fence_wait_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(fence_wait_ends);
    uint64_t row = row_map_get(&join->fence_waits, row_key(fields->number)), told;

    if (!row)
        return;
    SET(FENCE_WAITS, ENDS, row, item->time_ns);
    SET(FENCE_WAITS, STATUS, row, fields->status);
    told = row_map_get(&join->fence_values,
                       row_key(story_get(join->story, STORY_FENCE_WAITS_FENCE, (size_t)row - 1)));
    if (told && !fields->status &&
        story_get(join->story, STORY_MARKS_VALUE, (size_t)told - 1) >=
            story_get(join->story, STORY_FENCE_WAITS_VALUE, (size_t)row - 1))
        SET(FENCE_WAITS, MARK, row, told);
}

/* ---- Requests -------------------------------------------------------------------------------- */

void join_take_request(struct join *join, const struct record_reader_item *item)
{
    FIELDS(request);
    uint64_t row = join_request(join, fields->number), process, context;

    if (!row)
        return;
    process = OBJECT(join, process, fields->process);
    context = OBJECT(join, context, fields->context);
    if (!process && context)
        process = join_process_of(join, context);
    SET(REQUESTS, PROCESS, row, process);
    SET(REQUESTS, CONTEXT, row, context);
    SET(REQUESTS, ALLOCATIONS, row, fields->allocations);
    SET(REQUESTS, ASKED, row, item->time_ns);
    SET(REQUESTS, WHY, row, join_text(join, fields->why));
    if (fields->at_once) {
        SET(REQUESTS, BEGINS, row, item->time_ns);
        SET(REQUESTS, ENDS, row, item->time_ns);
    }
}

void join_take_request_begins(struct join *join, const struct record_reader_item *item)
{
    uint64_t row = join_request(join, RECORD_FIELDS(request_begins, item)->number);

    /* A request that gives up its places begins again: its first beginning counts. */
    if (row && story_get(join->story, STORY_REQUESTS_BEGINS, (size_t)row - 1) == STORY_NEVER)
        SET(REQUESTS, BEGINS, row, item->time_ns);
}

void join_take_request_ends(struct join *join, const struct record_reader_item *item)
{
    FIELDS(request_ends);
    uint64_t row = join_request(join, fields->number);

    if (!row)
        return;
    SET(REQUESTS, ENDS, row, item->time_ns);
    SET(REQUESTS, STATUS, row, fields->status);
}

void join_take_request_waits(struct join *join, const struct record_reader_item *item)
{
    FIELDS(request_waits);
    uint64_t request = join_request(join, fields->number),
             type = join_text(join, fields->object_type);
    uint64_t about = 0, packet = 0, operation = 0, blocker = 0;

    if (!request)
        return;
    if (type == join->words.packet)
        packet = join_packet(join, fields->object);
    else if (type == join->words.operation)
        operation = join_operation(join, fields->object);
    else if (type == join->words.request)
        blocker = join_request(join, fields->object);
    else
        about = join_object(join, type, fields->object);
    ADD(WAITS, item->time_ns, request, join_text(join, fields->reason), about, packet, operation,
        blocker);
}

void join_take_victim(struct join *join, const struct record_reader_item *item)
{
    FIELDS(victim);

    ADD(VICTIMS, item->time_ns, join_request(join, fields->request),
        OBJECT(join, allocation, fields->allocation), OBJECT(join, segment, fields->segment),
        join_text(join, fields->why), fields->rank, fields->last_use);
}
