/*
 * What the case will do, told to the manager: with `option policy hinted` all of it, with
 * `look-ahead` what is queued.
 *
 * A line begins, on the clock, when all submissions in front of it have run, one after the other.
 * The clock has come to a submission when that asks the manager for residency: what stands in the
 * queue behind it is still to come.
 *
 * hinted      The clock is GPU time. Each allocation's uses are told when it is made; what will be
 *             made and freed in local memory is told once, before the first line.
 * look-ahead  Nobody knows how long queued work will take: each submission is QUEUED_NS of the
 *             clock. A line is told when it has been queued.
 */
#include "bench/play/player_private.h"

#include "vidmm/policy.h"

#include "base/bits.h"

/* With `look-ahead`, of each submission. */
#define QUEUED_NS UINT64_C(1000000)

/* So many lines behind the clock are told at most: a backlog is no queue. */
#define QUEUED_LINES 1024u

struct player_forecast {
    bool is_of_queue;    /* `look-ahead` */
    uint64_t *begins_ns; /* of each operation; one more for the end */
    uint32_t *first_use; /* of each allocation, in uses_ns; one more for the end */
    uint32_t *told_uses; /* of each allocation: so many of its uses are queued, or were */
    uint32_t asked_op;   /* the operations in front of it are behind the clock */
    uint32_t told_op;    /* the queue's operations in front of it have been told */
    uint64_t *uses_ns;   /* of all allocations, one after the other */
    uint32_t use_count;
    unsigned segment; /* that demand is told of; 0: there is none */
    uint64_t submitted_ns, done_ns;
};

static bool is_submit(const struct workload_op *op)
{
    return op->kind == WORKLOAD_OP_SUBMIT;
}

/* Where every operation begins, and how many uses each allocation has. */
static void survey(struct player *player, struct player_forecast *forecast)
{
    const struct workload *workload = player->workload;
    uint64_t now_ns = 0;

    for (uint32_t i = 0; i < workload->op_count; i++) {
        const struct workload_op *op = player_op(player, i);

        forecast->begins_ns[i] = now_ns;
        if (forecast->is_of_queue)
            now_ns += is_submit(op) ? QUEUED_NS : 0;
        else
            now_ns += player_op_duration(op);
        for (uint32_t j = 0; is_submit(op) && j < op->ref_count; j++)
            forecast->first_use[workload->refs[op->first_ref + j].allocation + 1]++;
    }
    forecast->begins_ns[workload->op_count] = now_ns;
    for (uint32_t i = 0; i < workload->allocation_count; i++)
        forecast->first_use[i + 1] += forecast->first_use[i];
    forecast->use_count = forecast->first_use[workload->allocation_count];
}

/* Fills the uses in; first_use is moved on to the end of each allocation's, and put back. */
static void list_uses(struct player *player, struct player_forecast *forecast)
{
    const struct workload *workload = player->workload;

    for (uint32_t i = 0; i < workload->op_count; i++) {
        const struct workload_op *op = player_op(player, i);

        for (uint32_t j = 0; is_submit(op) && j < op->ref_count; j++) {
            uint32_t id = workload->refs[op->first_ref + j].allocation;

            forecast->uses_ns[forecast->first_use[id]++] = forecast->begins_ns[i];
        }
    }
    for (uint32_t i = workload->allocation_count; i > 0; i--)
        forecast->first_use[i] = forecast->first_use[i - 1];
    forecast->first_use[0] = 0;
}

/* The memory segment that most allocations lie in; 0: there is none. */
static unsigned local_segment(const struct player *player)
{
    uint64_t most = 0;
    unsigned found = 0;

    for (unsigned id = 1; id <= vidmm_segment_count(player->vidmm); id++) {
        struct vidmm_segment_info info;

        vidmm_segment_info(player->vidmm, id, &info);
        if (info.is_aperture || info.size <= most)
            continue;
        most = info.size;
        found = id;
    }
    return found;
}

static bool wants_local_memory(const struct workload_allocation *allocation)
{
    return allocation->segments[0] == WORKLOAD_SEGMENT_LOCAL ||
           allocation->segments[0] == WORKLOAD_SEGMENT_LOCAL_INVISIBLE;
}

/* What the operations from `from` up to `to` make and free. */
static NTSTATUS tell_demand(struct player *player, const struct player_forecast *forecast,
                            uint32_t from, uint32_t to)
{
    const struct workload *workload = player->workload;
    struct vidmm_demand *demand = base_alloc_array(player->services, to - from + 1, sizeof *demand);
    unsigned count = 0, segment = forecast->segment;
    NTSTATUS status = STATUS_SUCCESS;

    if (!demand)
        return STATUS_NO_MEMORY;
    for (uint32_t i = from; i < to; i++) {
        const struct workload_op *op = player_op(player, i);
        uint64_t bytes;

        if ((op->kind != WORKLOAD_OP_ALLOC && op->kind != WORKLOAD_OP_FREE) ||
            !wants_local_memory(&workload->allocations[op->object]))
            continue;
        bytes = align_up(workload->allocations[op->object].size, PAGE_BYTES);
        demand[count++] = (struct vidmm_demand){
            .at_ns = forecast->begins_ns[i],
            .created = op->kind == WORKLOAD_OP_ALLOC ? bytes : 0,
            .destroyed = op->kind == WORKLOAD_OP_FREE ? bytes : 0,
        };
    }
    if (segment)
        status = vidmm_forecast_demand(player->vidmm, segment, count, demand);
    base_free_array(player->services, demand, to - from + 1, sizeof *demand);
    return status;
}

/* One more use of each of its allocations is queued; those that the clock has passed are dropped.
 */
static void tell_uses(struct player *player, const struct workload_op *op)
{
    struct player_forecast *forecast = player->forecast;

    for (uint32_t j = 0; is_submit(op) && j < op->ref_count; j++) {
        uint32_t id = player->workload->refs[op->first_ref + j].allocation;
        uint32_t *first = &forecast->first_use[id], *told = &forecast->told_uses[id];

        ++*told;
        while (*told > 1 && forecast->uses_ns[*first] < forecast->submitted_ns) {
            --*told;
            ++*first;
        }
        if (player->allocations[id].handle)
            vidmm_forecast_uses(player->allocations[id].handle, *told, forecast->uses_ns + *first);
    }
}

/* The lines up to this one have been queued. */
static void tell_queue(struct player *player, uint32_t last_op)
{
    struct player_forecast *forecast = player->forecast;
    uint32_t end =
        (uint32_t)min_u64((uint64_t)last_op + 1, (uint64_t)forecast->asked_op + QUEUED_LINES);

    if (end <= forecast->told_op)
        return;
    while (forecast->told_op < end)
        tell_uses(player, player_op(player, forecast->told_op++));
    tell_demand(player, forecast, forecast->asked_op, end);
}

void player_forecast_end(struct player *player)
{
    const struct workload *workload = player->workload;
    struct player_forecast *forecast = player->forecast;

    if (!forecast)
        return;
    base_free_array(player->services, forecast->begins_ns, workload->op_count + 1,
                    sizeof *forecast->begins_ns);
    base_free_array(player->services, forecast->first_use, workload->allocation_count + 1,
                    sizeof *forecast->first_use);
    base_free_array(player->services, forecast->told_uses, workload->allocation_count + 1,
                    sizeof *forecast->told_uses);
    base_free_array(player->services, forecast->uses_ns, forecast->use_count,
                    sizeof *forecast->uses_ns);
    base_free(player->services, forecast, sizeof *forecast);
    player->forecast = NULL;
}

/* A forecast that finds no memory is none: the run is the same without. */
void player_forecast_begin(struct player *player)
{
    const struct workload *workload = player->workload;
    const enum run_policy policy = player->config.run->policy;
    struct player_forecast *forecast;

    if (policy != RUN_POLICY_HINTED && policy != RUN_POLICY_LOOK_AHEAD)
        return;
    forecast = player->forecast = base_alloc(player->services, sizeof *forecast);
    if (!forecast)
        return;
    forecast->is_of_queue = policy == RUN_POLICY_LOOK_AHEAD;
    forecast->segment = local_segment(player);
    forecast->begins_ns =
        base_alloc_array(player->services, workload->op_count + 1, sizeof *forecast->begins_ns);
    forecast->first_use = base_alloc_array(player->services, workload->allocation_count + 1,
                                           sizeof *forecast->first_use);
    forecast->told_uses = base_alloc_array(player->services, workload->allocation_count + 1,
                                           sizeof *forecast->told_uses);
    if (!forecast->begins_ns || !forecast->first_use || !forecast->told_uses) {
        player_forecast_end(player);
        return;
    }
    survey(player, forecast);
    if (forecast->use_count)
        forecast->uses_ns =
            base_alloc_array(player->services, forecast->use_count, sizeof *forecast->uses_ns);
    if ((forecast->use_count && !forecast->uses_ns) ||
        (!forecast->is_of_queue &&
         !NT_SUCCESS(tell_demand(player, forecast, 0, workload->op_count)))) {
        player_forecast_end(player);
        return;
    }
    list_uses(player, forecast);
}

void player_forecast_made(struct player *player, uint32_t id)
{
    const struct player_forecast *forecast = player->forecast;

    if (forecast && !forecast->is_of_queue && player->allocations[id].handle)
        vidmm_forecast_uses(player->allocations[id].handle,
                            forecast->first_use[id + 1] - forecast->first_use[id],
                            forecast->uses_ns + forecast->first_use[id]);
}

void player_forecast_queued(struct player *player, uint32_t op_index)
{
    struct player_forecast *forecast = player->forecast;

    if (!forecast || !forecast->is_of_queue)
        return;
    tell_queue(player, op_index);
    vidmm_forecast_time(player->vidmm, forecast->submitted_ns, forecast->done_ns);
}

void player_forecast_asked(struct player *player, uint32_t op_index)
{
    struct player_forecast *forecast = player->forecast;

    if (!forecast)
        return;
    forecast->asked_op = (uint32_t)max_u64(forecast->asked_op, (uint64_t)op_index + 1);
    forecast->submitted_ns = forecast->begins_ns[forecast->asked_op];
    vidmm_forecast_time(player->vidmm, forecast->submitted_ns, forecast->done_ns);
}

void player_forecast_done(struct player *player, uint32_t op_index)
{
    struct player_forecast *forecast = player->forecast;

    if (!forecast)
        return;
    forecast->done_ns = max_u64(forecast->done_ns, forecast->begins_ns[op_index + 1]);
    vidmm_forecast_time(player->vidmm, forecast->submitted_ns, forecast->done_ns);
}
