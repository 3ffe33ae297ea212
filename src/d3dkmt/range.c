/*
 * Ranges of GPU virtual addresses of a process: what is reserved, what is mapped.
 *
 * The front keeps two lists of ranges, each ascending and disjoint: what the client has reserved,
 * and where allocations and pages of fences are. A mapping may lie in a reservation of its process,
 * and an address that the front chooses lies in neither.
 *
 *     reserved  |      client's own         |        | chunk heap |
 *     mapped    |  |tag|   |commands|       | buffer |            |   ...  | fences |
 */
#include "d3dkmt/front.h"

#include <string.h>

#define OWN_START UINT64_C(0xc00000000000)
#define OWN_END   UINT64_C(0xfffff0000000)
/*
 * At the beginning: pages of fences alone, because what is mapped by pages has its leaf tables for
 * itself (vidmm_map_physical()).
 */
#define FENCE_BYTES (UINT64_C(1) << 30)
#define FIRST_ROOM  32u

uint64_t va_fences_start(const struct d3dkmt *front)
{
    return front->config.va_start ? front->config.va_start : OWN_START;
}

uint64_t va_own_start(const struct d3dkmt *front)
{
    return va_fences_start(front) + FENCE_BYTES;
}

uint64_t va_own_end(const struct d3dkmt *front)
{
    return front->config.va_end ? front->config.va_end : OWN_END;
}

size_t va_first_behind(const struct va_list *list, uint64_t address)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        const size_t middle = low + (high - low) / 2;

        if (list->ranges[middle].end > address)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

struct va_range *va_find(struct va_list *list, uint64_t start, uint64_t end)
{
    const size_t i = va_first_behind(list, start);

    return i < list->count && list->ranges[i].start < end ? &list->ranges[i] : NULL;
}

bool va_add(struct d3dkmt_process *process, struct va_list *list, const struct va_range *range)
{
    const size_t i = va_first_behind(list, range->start);

    if (list->count == list->capacity) {
        const size_t capacity = list->capacity ? 2 * list->capacity : FIRST_ROOM;
        struct va_range *ranges =
            capacity > MOST_HANDLES
                ? NULL
                : base_alloc_array(process->front->services, capacity, sizeof *ranges);

        if (!ranges)
            return false;
        if (list->count)
            memcpy(ranges, list->ranges, list->count * sizeof *ranges);
        base_free_array(process->front->services, list->ranges, list->capacity, sizeof *ranges);
        list->ranges = ranges;
        list->capacity = capacity;
    }
    memmove(list->ranges + i + 1, list->ranges + i, (list->count - i) * sizeof *list->ranges);
    list->ranges[i] = *range;
    list->count++;
    return true;
}

void va_remove(struct va_list *list, struct va_range *range)
{
    const size_t i = (size_t)(range - list->ranges);

    list->count--;
    memmove(range, range + 1, (list->count - i) * sizeof *range);
}

void va_forget_allocation(struct d3dkmt_process *process, const struct allocation *allocation)
{
    for (size_t i = process->mapped.count; i-- > 0;) {
        if (process->mapped.ranges[i].allocation == allocation)
            va_remove(&process->mapped, &process->mapped.ranges[i]);
    }
}

static void unmapped(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    struct d3dkmt_process *process = context;

    process->pending--;
    front_changed(process->front);
}

bool va_unmap(struct d3dkmt_process *process, uint64_t start, uint64_t end,
              const struct allocation *what)
{
    bool is_over = true;

    for (size_t i = va_first_behind(&process->mapped, start);
         i < process->mapped.count && process->mapped.ranges[i].start < end;) {
        struct va_range *range = &process->mapped.ranges[i];

        if (!range->allocation || (what && range->allocation != what) || range->end > end ||
            range->start < start || range->mapping) {
            is_over &= !range->mapping || (what && range->allocation != what);
            i++;
            continue;
        }
        process->pending++;
        if (!NT_SUCCESS(vidmm_unmap_gpu_va(process->handle, range->start, unmapped, process)))
            process->pending--;
        va_remove(&process->mapped, range);
    }
    return is_over;
}

bool va_unmap_allocation(struct d3dkmt_process *process, const struct allocation *allocation)
{
    return va_unmap(process, 0, UINT64_MAX, allocation);
}

void va_free_lists(struct d3dkmt_process *process)
{
    base_free_array(process->front->services, process->mapped.ranges, process->mapped.capacity,
                    sizeof *process->mapped.ranges);
    base_free_array(process->front->services, process->reserved.ranges, process->reserved.capacity,
                    sizeof *process->reserved.ranges);
}

uint64_t va_choose(struct d3dkmt_process *process, uint64_t low, uint64_t high, uint64_t bytes,
                   uint64_t alignment)
{
    uint64_t at;

    if (!align_up_checked(low, alignment, &at))
        return 0;
    while (at < high && high - at >= bytes) {
        const struct va_range *mapped = va_find(&process->mapped, at, at + bytes);
        const struct va_range *reserved = va_find(&process->reserved, at, at + bytes);
        const uint64_t behind = max_u64(mapped ? mapped->end : 0, reserved ? reserved->end : 0);

        if (!behind)
            return at;
        at = align_up(behind, alignment);
    }
    return 0;
}
