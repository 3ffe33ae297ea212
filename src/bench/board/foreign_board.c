#include "bench/board/foreign_board.h"

#include "base/bits.h"

#include <drydock/sgpu.h>

#include <string.h>

#define MOST_SEGMENTS 32u
#define LOST_PATTERN  0xdead1057u

struct bare_segment {
    DXGK_SEGMENTFLAGS flags;
    uint64_t base, cpu_address, size;
    uint64_t kept_bytes; /* of one that hibernation keeps in part */
};

struct foreign_board {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
    struct machine *machine;
    struct bare_segment segments[MOST_SEGMENTS];
    unsigned segment_count;
};

/* ---- Segments -------------------------------------------------------------------------------- */

/* Descriptors of all versions have these members; SystemMemoryEndAddress came with the third. */
#define LEARN(device, descriptor, end)                                                             \
    learn(device, (descriptor)->Flags, (uint64_t)(descriptor)->BaseAddress.QuadPart,               \
          (uint64_t)(descriptor)->CpuTranslatedAddress.QuadPart, (descriptor)->Size, end)

static void learn(struct foreign_board *device, DXGK_SEGMENTFLAGS flags, uint64_t base,
                  uint64_t cpu_address, uint64_t size, uint64_t end)
{
    if (device->segment_count == MOST_SEGMENTS)
        return;
    device->segments[device->segment_count++] = (struct bare_segment){
        .flags = flags,
        .base = base,
        .cpu_address = flags.CpuVisible ? cpu_address : 0,
        .size = size,
        .kept_bytes = flags.PartiallyPreservedDuringHibernate ? end + 1 : 0,
    };
}

static NTSTATUS query_adapter_info(struct miniport *self, HANDLE object,
                                   const DXGKARG_QUERYADAPTERINFO *query)
{
    struct foreign_board *device = (struct foreign_board *)self;
    NTSTATUS status = miniport_forward_query_adapter_info(self, object, query);

    if (!NT_SUCCESS(status) || !query->pOutputData)
        return status;
    switch ((unsigned)query->Type) {
    case DXGKQAITYPE_QUERYSEGMENT: {
        const DXGK_QUERYSEGMENTOUT *out = query->pOutputData;

        device->segment_count = 0;
        for (unsigned i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++)
            LEARN(device, &out->pSegmentDescriptor[i], 0);
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT3: {
        const DXGK_QUERYSEGMENTOUT3 *out = query->pOutputData;

        device->segment_count = 0;
        for (unsigned i = 0; out->pSegmentDescriptor && i < out->NbSegment; i++)
            LEARN(device, &out->pSegmentDescriptor[i],
                  out->pSegmentDescriptor[i].SystemMemoryEndAddress);
        break;
    }
    case DXGKQAITYPE_QUERYSEGMENT4: {
        const DXGK_QUERYSEGMENTOUT4 *out = query->pOutputData;
        const uint8_t *at = out->pSegmentDescriptor;

        device->segment_count = 0;
        for (unsigned i = 0; at && i < out->NbSegment; i++) {
            const DXGK_SEGMENTDESCRIPTOR4 *descriptor =
                (const void *)(at + i * out->SegmentDescriptorStride);

            LEARN(device, descriptor, descriptor->SystemMemoryEndAddress);
        }
        break;
    }
    default:
        break;
    }
    return status;
}

static bool find_memory(const struct foreign_board *device, const struct bare_segment *segment,
                        uint64_t offset, uint64_t bytes, struct page_store **out_store,
                        uint64_t *out_address)
{
    struct machine_target target;

    *out_store = machine_local(device->machine);
    *out_address = segment->base + offset;
    if (segment->cpu_address) {
        /* No bytes at all have the address that the first one would have. */
        if (!machine_bus_find(device->machine, segment->cpu_address + offset, max_u64(bytes, 1),
                              &target) ||
            !target.store)
            return false;
        *out_store = target.store;
        *out_address = target.address;
        return true;
    }
    return *out_store && page_store_contains(*out_store, *out_address, bytes);
}

bool foreign_board_resolve(const struct miniport *layer, const struct oracle_segment *segment,
                           uint64_t offset, uint64_t bytes, struct page_store **out_store,
                           uint64_t *out_address)
{
    const struct foreign_board *device = (const struct foreign_board *)layer;

    return segment->id <= device->segment_count &&
           find_memory(device, &device->segments[segment->id - 1], offset, bytes, out_store,
                       out_address);
}

/* ---- What gets lost -------------------------------------------------------------------------- */

static void lose(struct foreign_board *device, const struct bare_segment *segment, uint64_t first)
{
    struct page_store *store;
    uint64_t address;

    if (segment->flags.Aperture || segment->flags.Agp || first >= segment->size)
        return;
    if (find_memory(device, segment, first, segment->size - first, &store, &address))
        page_store_fill(store, address, segment->size - first, LOST_PATTERN);
}

static uint64_t kept_bytes(const struct bare_segment *segment, POWER_ACTION action)
{
    if (action != PowerActionHibernate)
        return segment->flags.PreservedDuringStandby ? segment->size : 0;
    return segment->flags.PreservedDuringHibernate ? segment->size : segment->kept_bytes;
}

static NTSTATUS set_power_state(struct miniport *self, ULONG device_uid, DEVICE_POWER_STATE state,
                                POWER_ACTION action)
{
    struct foreign_board *device = (struct foreign_board *)self;
    NTSTATUS status = miniport_set_power_state(self->next, device_uid, state, action);

    for (unsigned i = 0; i < device->segment_count && state == PowerDeviceD3; i++)
        lose(device, &device->segments[i], kept_bytes(&device->segments[i], action));
    return status;
}

static NTSTATUS reset_from_timeout(struct miniport *self, HANDLE object)
{
    struct foreign_board *device = (struct foreign_board *)self;
    NTSTATUS status = miniport_forward_reset_from_timeout(self, object);

    for (unsigned i = 0; i < device->segment_count; i++)
        lose(device, &device->segments[i], 0);
    return status;
}

/* ---- Life ------------------------------------------------------------------------------------ */

static void destroy(struct miniport *self)
{
    base_free(((struct foreign_board *)self)->services, self, sizeof(struct foreign_board));
}

NTSTATUS foreign_board_create(const struct base_services *services, struct machine *machine,
                              struct miniport *next, struct miniport **out_layer)
{
    struct foreign_board *device = base_alloc(services, sizeof *device);

    *out_layer = NULL;
    if (!device)
        return STATUS_NO_MEMORY;
    memset(device, 0, sizeof *device);
    device->services = services;
    device->machine = machine;
    device->ops = miniport_forward_ops;
    device->ops.name = "foreign board";
    device->ops.destroy = destroy;
    device->ops.query_adapter_info = query_adapter_info;
    device->ops.set_power_state = set_power_state;
    device->ops.reset_from_timeout = reset_from_timeout;
    device->miniport.ops = &device->ops;
    device->miniport.next = next;
    *out_layer = &device->miniport;
    return STATUS_SUCCESS;
}
