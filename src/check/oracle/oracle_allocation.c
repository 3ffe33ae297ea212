/*
 * Oracle: an allocation's life, the expected content of its pages, and pages whose content is not
 * known.
 */
#include "check/oracle/oracle_private.h"

#include <stdio.h>
#include <string.h>

/* Zero, as it was left, or what else there is at first. */
static NTSTATUS take_range(struct oracle *oracle, struct oracle_allocation *allocation)
{
    struct range_request request = {.size = allocation->page_count * PAGE_BYTES};
    uint64_t address;

    switch (range_allocator_take(&oracle->ranges, &request, &address)) {
    case RANGE_OK:
        allocation->expected_page = address / PAGE_BYTES;
        if (oracle->config.initial_pattern)
            page_store_fill(oracle->expected, address, request.size,
                            oracle->config.initial_pattern);
        return STATUS_SUCCESS;
    case RANGE_NO_MEMORY:
        return STATUS_NO_MEMORY;
    default:
        return STATUS_INSUFFICIENT_RESOURCES;
    }
}

static void release_range(struct oracle *oracle, const struct oracle_allocation *allocation)
{
    uint64_t address = allocation->expected_page * PAGE_BYTES;
    uint64_t bytes = allocation->page_count * PAGE_BYTES;
    enum range_status status;

    page_store_fill(oracle->expected, address, bytes, 0);
    status = range_allocator_release(&oracle->ranges, address, bytes);
    ASSERT(status == RANGE_OK);
    (void)status;
}

NTSTATUS oracle_allocation_created(struct oracle *oracle, uint64_t id, uint64_t bytes,
                                   const char *name)
{
    struct oracle_allocation *allocation;
    NTSTATUS status;

    ASSERT(bytes && !id_map_find(&oracle->by_id, id));
    if (bytes > oracle->config.expected_bytes)
        return STATUS_INSUFFICIENT_RESOURCES;
    allocation = base_alloc(oracle->services, sizeof *allocation);
    if (!allocation)
        return STATUS_NO_MEMORY;
    allocation->id = id;
    allocation->bytes = bytes;
    allocation->page_count = bytes_to_pages(bytes);
    allocation->reference_count = 1;
    allocation->is_live = true;
    list_init(&allocation->announced_link);
    snprintf(allocation->name, sizeof allocation->name, "%s", name ? name : "");
    status = take_range(oracle, allocation);
    if (!NT_SUCCESS(status))
        goto free_allocation;
    if (!id_map_set(&oracle->by_id, id, allocation)) {
        status = STATUS_NO_MEMORY;
        goto release_range;
    }
    list_push_back(&oracle->allocations, &allocation->link);
    list_push_back(&oracle->announced, &allocation->announced_link);
    return STATUS_SUCCESS;

release_range:
    release_range(oracle, allocation);
free_allocation:
    base_free(oracle->services, allocation, sizeof *allocation);
    return status;
}

void allocation_get(struct oracle_allocation *allocation)
{
    allocation->reference_count++;
}

static size_t undefined_words(const struct oracle_allocation *allocation)
{
    return (size_t)div_round_up(allocation->page_count, 64);
}

void allocation_put(struct oracle *oracle, struct oracle_allocation *allocation)
{
    const struct base_services *services = oracle->services;

    if (--allocation->reference_count)
        return;
    if (oracle->leaving == allocation)
        oracle->leaving = NULL;
    oracle_forget_late(oracle, allocation);
    list_remove(&allocation->link);
    release_range(oracle, allocation);
    base_free_array(services, allocation->locations, allocation->page_count, sizeof(uint64_t));
    drop_backing(oracle, allocation);
    base_free_array(services, allocation->undefined, undefined_words(allocation), sizeof(uint64_t));
    base_free(services, allocation, sizeof *allocation);
}

/* ---- Undefined content ---- */

/* Room for a bit a page; false when the allocation is not followed any more. */
static bool ensure_undefined(struct oracle *oracle, struct oracle_allocation *allocation)
{
    if (allocation->undefined)
        return true;
    allocation->undefined =
        base_alloc_array(oracle->services, undefined_words(allocation), sizeof(uint64_t));
    if (allocation->undefined)
        return true;
    oracle->counters.lost_operations++;
    allocation->is_unfollowed = true;
    return false;
}

void lose_page(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t page)
{
    oracle->counters.lost_pages++;
    if (ensure_undefined(oracle, allocation))
        allocation->undefined[page / 64] |= UINT64_C(1) << (page % 64);
}

void lose_pages(struct oracle *oracle, struct oracle_allocation *allocation)
{
    if (ensure_undefined(oracle, allocation))
        memset(allocation->undefined, 0xff, undefined_words(allocation) * sizeof(uint64_t));
}

bool is_undefined(const struct oracle_allocation *allocation, uint64_t page)
{
    if (allocation->is_unfollowed)
        return true;
    return allocation->undefined && (allocation->undefined[page / 64] >> (page % 64) & 1);
}

bool is_as_at_first(const struct oracle *oracle, const struct oracle_allocation *allocation,
                    uint64_t page)
{
    uint64_t address = (allocation->expected_page + page) * PAGE_BYTES;

    return page_store_is_fill(oracle->expected, address, PAGE_BYTES, oracle->config.initial_pattern,
                              NULL);
}

/* ---- Places ---- */

/* A place for each page; false when the allocation is not followed any more. */
static bool ensure_places(struct oracle *oracle, struct oracle_allocation *allocation,
                          uint64_t **places)
{
    if (!*places)
        *places = base_alloc_array(oracle->services, allocation->page_count, sizeof **places);
    if (*places)
        return true;
    allocation->is_unfollowed = true;
    oracle->counters.lost_operations++;
    return false;
}

bool ensure_locations(struct oracle *oracle, struct oracle_allocation *allocation)
{
    return ensure_places(oracle, allocation, &allocation->locations);
}

void ensure_backing(struct oracle *oracle, struct oracle_allocation *allocation)
{
    ensure_places(oracle, allocation, &allocation->backing);
}

void drop_backing(struct oracle *oracle, struct oracle_allocation *allocation)
{
    base_free_array(oracle->services, allocation->backing, allocation->page_count,
                    sizeof *allocation->backing);
    allocation->backing = NULL;
}

void drop_idle_backing(struct oracle *oracle, struct oracle_allocation *allocation)
{
    if (!allocation->backing || allocation->page_count < BACKING_KEPT_PAGES)
        return;
    for (uint64_t page = allocation->page_count; page > 0; page--) {
        if (location_kind(allocation->locations[page - 1]) == LOCATION_LOCAL)
            return;
    }
    drop_backing(oracle, allocation);
}
