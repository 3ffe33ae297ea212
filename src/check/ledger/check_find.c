/*
 * Ledger: questions. Nothing here changes the account, but for an object's history and its
 * movements of an epoch that is over.
 */
#include "check/ledger/check_ledger.h"

#include "base/bits.h"
#include "check/check_watch.h"

#include <stdio.h>

/* ---- Objects --------------------------------------------------------------------------------- */

struct check_object *check_find(const struct check_ledger *ledger, enum check_kind kind,
                                const void *handle)
{
    if (!handle && kind != CHECK_PROCESS)
        return NULL;
    return id_map_find(&ledger->objects[kind], (uint64_t)(uintptr_t)handle);
}

struct check_allocation *check_find_allocation(const struct check_ledger *ledger,
                                               const void *handle)
{
    return (struct check_allocation *)check_find(ledger, CHECK_ALLOCATION, handle);
}

bool check_has_contexts(const struct check_ledger *ledger)
{
    return ledger->has_ddi[MINIPORT_DDI_CreateContext] ||
           !ledger->has_ddi[MINIPORT_DDI_CreateDevice];
}

struct check_context *check_find_context(const struct check_ledger *ledger, const void *handle)
{
    return (struct check_context *)check_find(ledger, CHECK_CONTEXT, handle);
}

struct check_queue *check_find_queue(const struct check_ledger *ledger, const void *handle)
{
    return (struct check_queue *)check_find(ledger, CHECK_QUEUE, handle);
}

bool check_node_has_queue(const struct check_ledger *ledger, unsigned node)
{
    const struct check_queue *queue;
    size_t position = 0;

    while ((queue = id_map_next(&ledger->objects[CHECK_QUEUE], &position))) {
        if (queue->node == node)
            return true;
    }
    return false;
}

struct check_process *check_find_process(const struct check_ledger *ledger, const void *handle)
{
    return (struct check_process *)check_find(ledger, CHECK_PROCESS, handle);
}

struct check_device *check_find_device(const struct check_ledger *ledger, const void *handle)
{
    return (struct check_device *)check_find(ledger, CHECK_DEVICE, handle);
}

const struct check_segment *check_find_segment(const struct check_ledger *ledger, unsigned id)
{
    return id && id <= ledger->segment_count ? &ledger->segments[id - 1] : NULL;
}

bool check_is_memory_segment(const struct check_segment *segment)
{
    return segment && !segment->flags.Aperture && !segment->flags.Agp;
}

bool check_is_memory(const struct check_ledger *ledger, unsigned id)
{
    return check_is_memory_segment(check_find_segment(ledger, id));
}

bool check_is_version(const struct check_ledger *ledger, ULONG least)
{
    return ledger->interface_version >= least;
}

const char *check_object_name(const struct check_object *object, char *out, size_t size)
{
    static const char *const names[CHECK_KIND_COUNT] = {
        [CHECK_PROCESS] = "process p",
        [CHECK_DEVICE] = "device d",
        [CHECK_CONTEXT] = "context c",
        [CHECK_ALLOCATION] = "allocation a",
        [CHECK_OPEN_ALLOCATION] = "open allocation o",
        [CHECK_QUEUE] = "hardware queue h",
    };

    if (object)
        snprintf(out, size, "%s%llu", names[object->kind], (unsigned long long)object->number);
    else
        snprintf(out, size, "none");
    return out;
}

void check_remember(struct check_object *object, uint64_t event, const char *format,
                    unsigned segment, uint64_t address)
{
    if (object)
        object->history[object->happening_count++ % CHECK_HISTORY] = (struct check_happening){
            .event = event, .format = format, .segment = segment, .address = address};
}

/* ---- Allocations ----------------------------------------------------------------------------- */

struct check_movement *check_movement_of(const struct check_ledger *ledger,
                                         struct check_allocation *allocation)
{
    struct check_movement *movement = &allocation->movement;

    if (movement->epoch != ledger->movement_epoch) {
        movement->epoch = ledger->movement_epoch;
        movement->segment = 0;
        movement->busy_operation = 0;
        movement->is_used = false;
        movement->former_chunk = movement->next_chunk;
        movement->next_chunk = 0;
    }
    return movement;
}

uint64_t check_allocation_pages(const struct check_allocation *allocation)
{
    return bytes_to_pages(allocation->bytes);
}

uint64_t check_bytes_in(const struct check_ledger *ledger,
                        const struct check_allocation *allocation, unsigned segment_id)
{
    const struct check_segment *segment = check_find_segment(ledger, segment_id);
    bool is_aligned = ledger->interface_version < DXGKDDI_INTERFACE_VERSION_WDDM2_0 && segment &&
                      segment->flags.PitchAlignment;

    return is_aligned ? max_u64(allocation->bytes, allocation->info.PitchAlignedSize)
                      : allocation->bytes;
}

static bool is_at(const struct check_allocation *allocation, const DXGK_ALLOCATIONLIST *entry)
{
    return allocation->is_placed && allocation->segment == entry->SegmentId &&
           allocation->address == (uint64_t)entry->PhysicalAddress.QuadPart;
}

struct check_allocation *check_find_opened(const struct check_ledger *ledger, const void *handle)
{
    const struct check_open_allocation *opened =
        (struct check_open_allocation *)check_find(ledger, CHECK_OPEN_ALLOCATION, handle);
    struct check_allocation *allocation =
        opened ? check_find_allocation(ledger, opened->allocation) : NULL;

    return allocation && allocation->object.number == opened->allocation_number ? allocation : NULL;
}

struct check_allocation *check_find_listed(const struct check_ledger *ledger,
                                           const DXGK_ALLOCATIONLIST *entry)
{
    struct check_allocation *first = check_find_opened(ledger, entry->hDeviceSpecificAllocation);
    const struct check_segment *segment = check_find_segment(ledger, entry->SegmentId);
    struct check_allocation *lost = first && first->is_place_lost ? first : NULL;
    unsigned lost_count = lost ? 1 : 0;
    struct check_allocation *instance;

    if (!first || list_is_empty(&first->instances) || is_at(first, entry))
        return first;
    list_for_each (instance, &first->instances, struct check_allocation, instance_link) {
        if (is_at(instance, entry))
            return instance;
        if (instance->is_place_lost) {
            lost = instance;
            lost_count++;
        }
    }
    if (lost_count > 1 || (segment && segment->flags.Agp))
        return NULL;
    return lost ? lost : list_last_entry(&first->instances, struct check_allocation, instance_link);
}

struct check_allocation *check_built_allocation(const struct check_ledger *ledger,
                                                const struct check_built *piece)
{
    struct check_allocation *allocation = check_find_allocation(ledger, piece->allocation);

    return allocation && allocation->object.number == piece->allocation_number ? allocation : NULL;
}

/* ---- The client's names ---------------------------------------------------------------------- */

static struct check_object *find_client(const struct check_ledger *ledger, const void *name)
{
    return name ? id_map_find(&ledger->clients, (uint64_t)(uintptr_t)name) : NULL;
}

struct check_allocation *check_find_client_allocation(const struct check_ledger *ledger,
                                                      const void *name)
{
    struct check_object *object = find_client(ledger, name);

    return object && object->kind == CHECK_ALLOCATION ? (struct check_allocation *)object : NULL;
}

struct check_device *check_find_client_device(const struct check_ledger *ledger, const void *name)
{
    struct check_object *object = find_client(ledger, name);

    return object && object->kind == CHECK_DEVICE ? (struct check_device *)object : NULL;
}

struct check_allocation *check_find_ended(const struct check_ledger *ledger,
                                          const struct check_client_event *event)
{
    struct check_allocation *named =
        check_find_client_allocation(ledger, event->count ? event->allocations[0] : NULL);

    if (event->kind != CHECK_CLIENT_INSTANCE_ENDED)
        return NULL;
    if (event->instance)
        return check_find_allocation(ledger, event->instance);
    return named && named->first ? named->first : named;
}

unsigned check_instance_count(const struct check_allocation *first)
{
    return (unsigned)list_count(&first->instances) + !first->is_first_over;
}

/* ---- Packets --------------------------------------------------------------------------------- */

bool check_fence_reached(uint32_t fence, uint32_t reached)
{
    return (int32_t)(reached - fence) >= 0;
}

const struct check_packet *check_find_executing(const struct check_ledger *ledger, unsigned node)
{
    const struct check_packet *packet, *first = NULL;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (packet->node == node && packet->is_gpu_held &&
            (!first || packet->gpu_order < first->gpu_order))
            first = packet;
    }
    return first;
}

bool check_is_in_flight(const struct check_ledger *ledger, const struct check_packet *packet)
{
    return packet->state == CHECK_SUBMITTED &&
           (!ledger->has_gpu || (packet->gpu_queued && !packet->is_gpu_done));
}

const struct check_packet *check_find_in_flight(const struct check_ledger *ledger)
{
    const struct check_packet *packet;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (check_is_in_flight(ledger, packet))
            return packet;
    }
    return NULL;
}

struct check_packet *check_find_packet(const struct check_ledger *ledger, unsigned node,
                                       uint32_t fence)
{
    struct check_packet *packet;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (packet->node == node && packet->fence == fence && !packet->queue)
            return packet;
    }
    return NULL;
}

struct check_packet *check_find_run(const struct check_ledger *ledger, unsigned node,
                                    uint32_t fence, bool is_arriving)
{
    struct check_packet *packet, *past = NULL;

    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (packet->node != node || packet->fence != fence)
            continue;
        if (is_arriving ? !packet->gpu_queued : !packet->is_gpu_done)
            return packet;
        past = packet;
    }
    return past;
}

/* The first operation of the list that wrote something and is to run; 0: none. */
static uint64_t first_to_run(const struct list *built)
{
    const struct check_built *piece;

    list_for_each (piece, built, struct check_built, link) {
        if (piece->bytes && !piece->is_before_reset)
            return piece->number;
    }
    return 0;
}

/*
 * What wrote nothing goes with its neighbour of the same context. It may stand behind operations
 * that wait in the buffers of others.
 */
uint64_t check_packet_end(const struct check_ledger *ledger, const struct check_packet *packet)
{
    const struct check_built *built = list_entry(packet->built.prev, struct check_built, link);
    uint64_t last = built->number - !built->is_end;

    for (unsigned i = 0; i < ledger->stream_count; i++)
        last = min_u64(last, first_to_run(&ledger->streams[i].built) - 1);
    return last;
}

uint64_t check_packet_last(const struct check_ledger *ledger, const struct check_packet *packet)
{
    uint64_t last = check_packet_end(ledger, packet);
    const struct check_packet *other;

    list_for_each (other, &ledger->packets, struct check_packet, link) {
        if (other != packet)
            last = min_u64(last, first_to_run(&other->built) - 1);
    }
    return last;
}

static bool may_use(const struct check_ledger *ledger, const struct check_packet *packet,
                    const struct check_allocation *allocation)
{
    const struct check_context *context = check_find_context(ledger, packet->context);

    for (const struct check_holder *holder = allocation->holders; holder; holder = holder->next) {
        if (context && context->device && context->device->object.number == holder->device &&
            packet->number >= holder->first_packet && packet->number <= holder->last_packet)
            return true;
    }
    return false;
}

const struct check_packet *check_find_user(const struct check_ledger *ledger,
                                           const struct check_allocation *allocation)
{
    const struct check_packet *packet;

    if (!allocation->has_use && !allocation->holders)
        return NULL;
    list_for_each (packet, &ledger->packets, struct check_packet, link) {
        if (!packet->is_paging && !packet->is_gpu_done && packet->state != CHECK_REFUSED &&
            ((allocation->has_use && packet->node == allocation->use_node &&
              packet->fence == allocation->use_fence) ||
             may_use(ledger, packet, allocation)))
            return packet;
    }
    return NULL;
}
