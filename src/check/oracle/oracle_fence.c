/*
 * Oracle: where the driver is told that native fences are.
 *
 * A notice is judged when it has been built. Nobody signals a fence while it moves, so that its
 * value must be at the new place already, under both of its addresses, and no other fence may be
 * there.
 *
 * Source  contract.md NTF-010, FENCE-011, FENCE-013.
 */
#include "check/oracle/oracle_private.h"

struct oracle_fence {
    uint64_t handle;
    bool has_place;
    uint64_t current; /* as find_word() gives it */
    const volatile uint64_t *current_cpu;
};

void oracle_fence_created(struct oracle *oracle, uint64_t handle)
{
    struct oracle_fence *fence = base_alloc(oracle->services, sizeof *fence);

    if (fence) {
        fence->handle = handle;
        if (id_map_set(&oracle->fences, handle, fence))
            return;
        base_free(oracle->services, fence, sizeof *fence);
    }
    oracle->fences_are_lost = true;
}

void oracle_fence_destroyed(struct oracle *oracle, uint64_t handle)
{
    struct oracle_fence *fence = id_map_remove(&oracle->fences, handle);

    if (fence)
        base_free(oracle->services, fence, sizeof *fence);
}

void oracle_forget_fences(struct oracle *oracle)
{
    struct oracle_fence *fence;
    size_t position = 0;

    while ((fence = id_map_next(&oracle->fences, &position)))
        base_free(oracle->services, fence, sizeof *fence);
    id_map_fini(&oracle->fences);
}

/* Memory of segments may be lost, with the values in it: the manager has taken them out before. */
void oracle_fences_reset(struct oracle *oracle)
{
    struct oracle_fence *fence;
    size_t position = 0;

    while ((fence = id_map_next(&oracle->fences, &position)))
        fence->has_place &= location_kind(fence->current) != LOCATION_LOCAL;
}

#define problem(oracle, ...) oracle_problem(oracle, ORACLE_NOTICE, NULL, NULL, 0, __VA_ARGS__)

/* The page that holds the word, as a location; LOCATION_UNKNOWN: none. */
static uint64_t word_location(const struct oracle *oracle, const D3DGPU_PHYSICAL_ADDRESS *address)
{
    uint64_t page_offset = address->SegmentOffset / PAGE_BYTES * PAGE_BYTES;

    if (!address->SegmentId)
        return device_location(oracle, address->SegmentOffset / PAGE_BYTES);
    return is_memory_segment(oracle, address->SegmentId)
               ? segment_location(oracle, address->SegmentId, page_offset)
               : LOCATION_UNKNOWN;
}

/*
 * The word that the device reaches by a physical address: the kind of its memory, and its address
 * there; false: none, and told.
 */
static bool find_word(struct oracle *oracle, const char *which,
                      const D3DGPU_PHYSICAL_ADDRESS *address, const void *cpu, uint64_t *out_word,
                      uint64_t *out_value)
{
    uint64_t location = word_location(oracle, address);
    uint64_t in_page = address->SegmentOffset % PAGE_BYTES;

    if (location == LOCATION_UNKNOWN || in_page % sizeof *out_value) {
        problem(oracle,
                "NOTIFY_FENCE_RESIDENCY: the %s value of a fence is at 0x%llx of segment %u; "
                "expected a multiple of 8 in system memory or in a segment of memory",
                which, (unsigned long long)address->SegmentOffset, (unsigned)address->SegmentId);
        return false;
    }
    *out_word = location_kind(location) | (location_page(location) * PAGE_BYTES + in_page);
    page_store_read(location_store(oracle, location),
                    location_page(location) * PAGE_BYTES + in_page, out_value, sizeof *out_value);
    if (!cpu || *(const volatile uint64_t *)cpu != *out_value) {
        problem(oracle,
                "NOTIFY_FENCE_RESIDENCY: the two addresses of the %s value of a fence lead to "
                "different memory",
                which);
        return false;
    }
    return true;
}

static void check_alone(struct oracle *oracle, const struct oracle_fence *fence)
{
    const struct oracle_fence *other;
    size_t position = 0;

    while ((other = id_map_next(&oracle->fences, &position))) {
        if (other != fence && other->has_place && other->current == fence->current)
            problem(oracle,
                    "NOTIFY_FENCE_RESIDENCY: two fences have their values at 0x%llx of %s memory",
                    (unsigned long long)location_page(fence->current),
                    location_kind(fence->current) == LOCATION_LOCAL ? "local" : "system");
    }
}

static void check_fence(struct oracle *oracle, const DXGK_FENCE_RESIDENCY_INFO *info)
{
    struct oracle_fence *fence =
        id_map_find(&oracle->fences, (uint64_t)(uintptr_t)info->hGlobalNativeFence);
    uint64_t address, monitored_address, value, monitored;

    if (!fence) {
        problem(oracle, "NOTIFY_FENCE_RESIDENCY is about a fence that does not exist");
        return;
    }
    if (!find_word(oracle, "current", &info->CurrentValuePhysicalAddress,
                   info->CurrentValueKernelCpuVa, &address, &value) ||
        !find_word(oracle, "monitored", &info->MonitoredValuePhysicalAddress,
                   info->MonitoredValueKernelCpuVa, &monitored_address, &monitored))
        return;
    if (address == monitored_address)
        problem(oracle, "NOTIFY_FENCE_RESIDENCY: both values of a fence are at 0x%llx",
                (unsigned long long)location_page(address));
    if (fence->has_place && *fence->current_cpu != value)
        problem(
            oracle,
            "NOTIFY_FENCE_RESIDENCY: the value of a fence is %llu where it goes, and %llu where "
            "it comes from",
            (unsigned long long)value, (unsigned long long)*fence->current_cpu);
    fence->has_place = true;
    fence->current = address;
    fence->current_cpu = info->CurrentValueKernelCpuVa;
    check_alone(oracle, fence);
}

void oracle_fences_told(struct oracle *oracle,
                        const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice)
{
    if (oracle->fences_are_lost)
        return;
    for (UINT i = 0; i < notice->NumFences; i++)
        check_fence(oracle, &notice->FenceResidencyInfo[i]);
}
