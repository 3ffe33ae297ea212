/*
 * Turns: whose requests are served now, and what comes in for the next one.
 *
 *     turn        | P0                      | P1                      | P2
 *     GPU         | work of P0              | work of P1              | work of P2
 *     in          | rest of P0, set of P1   | rest of P1, set of P2   | ...
 *     out         | what P7 has, farthest   | what P0 has             | ...
 *
 * The set of a process is what it used in its last turn, or since the one before, and has lost
 * since. As much of it as fits beside that of the process in front comes in ahead; the rest when
 * the turn has changed, while the work already runs. The time of a turn counts from when the last
 * of it came in.
 *
 * A turn ends when its time is over, when its process has had no work for a while (between an
 * answer and what a client does with it there is none), or when the embedder says that nothing else
 * will happen; and only if another process waits. A request that has begun to be served is served
 * to its end.
 */
#include "vidmm/residency/turns.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/allocation_state.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/memory/segment.h"
#include "vidmm/adapter/pump.h"
#include "vidmm/policy.h"
#include "vidmm/residency/request.h"
#include "vidmm/residency/room.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

/* Without work for such a part of the time, a process loses its turn. */
#define IDLE_PART 100

bool turns_are_taken(const struct vidmm *vidmm)
{
    return vidmm->config.policy->turn_ns && vidmm->config.platform.now_ns;
}

static uint64_t now(const struct vidmm *vidmm)
{
    return vidmm->config.platform.now_ns(vidmm->config.platform.context);
}

void turns_init(struct vidmm_process *process)
{
    list_init(&process->turn.away);
    process->turn.order = VIDMM_NO_TURN;
}

void turns_forget(struct vidmm_process *process)
{
    if (process->vidmm->turns.holder == process)
        process->vidmm->turns.holder = NULL;
}

/* ---- Whose turn it is ------------------------------------------------------------------------ */

static bool has_work(const struct vidmm_process *process)
{
    const struct vidmm_device *device;

    list_for_each (device, &process->devices, struct vidmm_device, link) {
        if (device->pending_requests || device->submission_count)
            return true;
    }
    return false;
}

/* The process behind this one, round the list. */
static struct vidmm_process *process_behind(const struct vidmm *vidmm,
                                            const struct vidmm_process *process)
{
    const struct list *link = process->link.next;

    if (link == &vidmm->processes)
        link = link->next;
    return container_of(link, struct vidmm_process, link);
}

/* Numbers the turns that are to come, from the holder's on. */
static void number_turns(struct vidmm *vidmm)
{
    struct vidmm_process *process = vidmm->turns.holder;
    unsigned order = 0;

    do {
        process->turn.order =
            process == vidmm->turns.holder || has_work(process) ? order++ : VIDMM_NO_TURN;
        process = process_behind(vidmm, process);
    } while (process != vidmm->turns.holder);
}

static void begin_turn(struct vidmm *vidmm, struct vidmm_process *holder)
{
    struct vidmm_process *former = vidmm->turns.holder;

    if (former != holder) {
        if (former)
            former->turn.ended = vidmm->submitted + 1;
        holder->turn.from = holder->turn.ended;
    }
    vidmm->turns.holder = holder;
    vidmm->turns.since_ns = vidmm->turns.worked_ns = now(vidmm);
    number_turns(vidmm);
}

/*
 * To the next process that has work; if none has, the holder has another turn. That a request of
 * the process waits would be too much to ask for: with its set in, it is between two of them.
 */
static void pass_turn(struct vidmm *vidmm)
{
    struct vidmm_process *process = process_behind(vidmm, vidmm->turns.holder);

    while (process != vidmm->turns.holder && !has_work(process))
        process = process_behind(vidmm, process);
    begin_turn(vidmm, process);
}

static bool is_over(const struct vidmm *vidmm)
{
    const struct turns *turns = &vidmm->turns;
    const uint64_t turn_ns = vidmm->config.policy->turn_ns;

    return now(vidmm) - turns->since_ns >= turn_ns ||
           now(vidmm) - turns->worked_ns >= turn_ns / IDLE_PART;
}

/* ---- Which request is served ----------------------------------------------------------------- */

/* Nothing has to leave for it, and nothing that is away loses its room. */
static bool fits(const struct vidmm *vidmm, const struct request *request)
{
    uint64_t need = vidmm->turns.away_bytes;

    for (unsigned i = 0; i < request->count; i++) {
        const struct vidmm_allocation *allocation = request->allocations[i];
        const struct segment *segment;

        if (allocation->state == ALLOCATION_RESIDENT || allocation->state == ALLOCATION_ENTERING)
            continue;
        segment = room_wanted_segment(allocation);
        if (!segment_holds_content(segment))
            continue;
        need += segment_footprint(segment, allocation);
        if (segment_free(vidmm, segment) < need)
            return false;
    }
    return true;
}

/* A request of the same device stands in front of it, and waits. */
static bool is_behind_own(const struct vidmm *vidmm, const struct request *request)
{
    const struct request *other;

    list_for_each (other, &vidmm->requests, struct request, link) {
        if (other == request)
            return false;
        if (other->device == request->device)
            return true;
    }
    return false;
}

/*
 * Whether a request is served though its process does not have the turn. A process of whose set
 * some is away waits while the holder works: it would have used up what has come in when its turn
 * begins, and nothing would run while the rest comes in.
 */
static bool may_go_ahead(const struct vidmm *vidmm, const struct request *request)
{
    const struct vidmm_process *process = request->device->process;

    if (!list_is_empty(&process->turn.away) && has_work(vidmm->turns.holder))
        return false;
    return fits(vidmm, request) && !is_behind_own(vidmm, request);
}

static struct request *find_served(const struct vidmm *vidmm)
{
    struct request *request;

    list_for_each (request, &vidmm->requests, struct request, link) {
        if (!request->device || request->device->process == vidmm->turns.holder ||
            may_go_ahead(vidmm, request))
            return request;
    }
    return NULL;
}

struct request *turns_choose(struct vidmm *vidmm)
{
    struct request *request = container_of(vidmm->requests.next, struct request, link);

    if (vidmm->turns.has_newcomer && vidmm->turns.holder)
        number_turns(vidmm);
    vidmm->turns.has_newcomer = false;
    if (!turns_are_taken(vidmm) || request->is_active || !NT_SUCCESS(vidmm->refusal))
        return request;
    if (!vidmm->turns.holder && request->device)
        begin_turn(vidmm, request->device->process);
    if (vidmm->turns.holder && has_work(vidmm->turns.holder))
        vidmm->turns.worked_ns = now(vidmm);
    if (vidmm->turns.holder && is_over(vidmm))
        pass_turn(vidmm);
    request = find_served(vidmm);
    if (request) {
        list_remove(&request->link);
        list_push_front(&vidmm->requests, &request->link);
    }
    return request;
}

void turns_note_work(struct vidmm_device *device)
{
    struct vidmm *vidmm = device->vidmm;

    if (vidmm->turns.holder == device->process && turns_are_taken(vidmm))
        vidmm->turns.worked_ns = now(vidmm);
}

bool vidmm_pass_turn(struct vidmm *vidmm)
{
    const struct request *first = container_of(vidmm->requests.next, struct request, link);

    if (!turns_are_taken(vidmm) || !vidmm->turns.holder || list_is_empty(&vidmm->requests) ||
        first->is_active)
        return false;
    pass_turn(vidmm);
    vidmm_pump(vidmm);
    return true;
}

/* ---- What comes in for a turn ---------------------------------------------------------------- */

/* A request is being served: the room that is made is made for it. */
static bool is_serving(const struct vidmm *vidmm)
{
    return !list_is_empty(&vidmm->requests) &&
           container_of(vidmm->requests.next, struct request, link)->is_active;
}

struct vidmm_allocation *turns_next_away(const struct vidmm *vidmm)
{
    const struct vidmm_process *process = vidmm->turns.holder;

    if (!process || !vidmm->turns.away_bytes || is_serving(vidmm))
        return NULL;
    if (list_is_empty(&process->turn.away)) {
        list_for_each (process, &vidmm->processes, struct vidmm_process, link) {
            if (process->turn.order == 1)
                break;
        }
        if (&process->link == &vidmm->processes)
            return NULL;
    }
    if (list_is_empty(&process->turn.away))
        return NULL;
    return container_of(process->turn.away.next, struct vidmm_allocation, link);
}

void turns_note_coming(struct vidmm_allocation *allocation)
{
    struct vidmm *vidmm = allocation->vidmm;

    if (allocation->device->process == vidmm->turns.holder)
        vidmm->turns.since_ns = now(vidmm);
}

bool turns_are_farther(const struct vidmm_allocation *victim, const struct vidmm_allocation *coming)
{
    return victim->device->process->turn.order > coming->device->process->turn.order;
}
