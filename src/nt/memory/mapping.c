#include "nt/memory/mapping.h"

#include "nt/memory/pool.h"
#include "nt/nt_private.h"

#include "base/bits.h"

/* Larger ones show pages as they are touched. */
#define EAGER_PAGES 256u

/* The state of the area: host memory that the driver sees in place of pages of the machine. */
struct stand_in {
    uintptr_t start, stands_for;
    size_t bytes;
    /* A client's memory, page by page. */
    uintptr_t client_start;
    const uint64_t *client_pfns;
    uint64_t client_count;
};

static struct stand_in *stand_in_of(const struct nt *nt)
{
    return NT_STATE(nt, mapping);
}

/* The store and its pages behind these bus pages; false: they are not all in one. */
static bool find_store(struct nt *nt, const uint64_t *pfns, uint64_t count, uint64_t *pages,
                       struct page_store **out_store)
{
    *out_store = NULL;
    for (uint64_t i = 0; i < count; i++) {
        struct machine_target target;

        if (pfns[i] > UINT64_MAX / PAGE_SIZE ||
            !machine_bus_find(nt->machine, pfns[i] * PAGE_SIZE, PAGE_SIZE, &target) ||
            target.kind == MACHINE_REGISTERS || (i && target.store != *out_store))
            return false;
        *out_store = target.store;
        pages[i] = target.address / PAGE_SIZE;
    }
    return true;
}

static bool show(struct nt *nt, struct nt_mapping *mapping)
{
    uint64_t *pages = base_alloc_array(nt->services, mapping->page_count, sizeof *pages);
    bool is_shown = false;

    if (!pages)
        return false;
    if (!mapping->address)
        mapping->address = nt_pages_take(&nt->pages, mapping->page_count);
    if (mapping->address &&
        find_store(nt, mapping->pfns, mapping->page_count, pages, &mapping->store)) {
        if (mapping->page_count <= EAGER_PAGES) {
            is_shown = page_store_map_at(mapping->store, pages, mapping->page_count,
                                         mapping->address, &mapping->view);
        } else {
            mapping->window =
                page_window_open_list(mapping->store, pages, mapping->page_count, mapping->address);
            is_shown = mapping->window != NULL;
        }
    }
    base_free_array(nt->services, pages, mapping->page_count, sizeof *pages);
    return is_shown;
}

/* Registers lie where the machine says: accesses are recognised by that. */
static bool show_registers(struct nt *nt, struct nt_mapping *mapping)
{
    uint64_t pa = mapping->pfns[0] * PAGE_SIZE;
    struct machine_target target;

    if (!machine_bus_find(nt->machine, pa, mapping->offset + mapping->bytes, &target) ||
        target.kind != MACHINE_REGISTERS)
        return false;
    mapping->address = machine_map_physical(nt->machine, pa, mapping->offset + mapping->bytes);
    return mapping->address != NULL;
}

static void free_mapping(struct nt *nt, struct nt_mapping *mapping)
{
    base_free_array(nt->services, mapping->pfns, mapping->page_count, sizeof *mapping->pfns);
    base_free(nt->services, mapping, sizeof *mapping);
}

struct nt_mapping *nt_map(struct nt *nt, enum nt_mapping_kind kind, const uint64_t *pfns,
                          uint64_t count, uint64_t offset, uint64_t bytes, const void *owner)
{
    return nt_map_at(nt, NULL, kind, pfns, count, offset, bytes, owner);
}

struct nt_mapping *nt_map_at(struct nt *nt, uint8_t *address, enum nt_mapping_kind kind,
                             const uint64_t *pfns, uint64_t count, uint64_t offset, uint64_t bytes,
                             const void *owner)
{
    struct nt_mapping *mapping;

    if (nt->host.maps && (kind == NT_MAPPING_MDL || kind == NT_MAPPING_IO))
        nt->host.maps(nt->host.context, pfns, count);
    if (!nt->machine || !count)
        return NULL;
    mapping = base_alloc(nt->services, sizeof *mapping);
    if (!mapping)
        return NULL;
    mapping->pfns = base_alloc_array(nt->services, count, sizeof *pfns);
    if (!mapping->pfns) {
        base_free(nt->services, mapping, sizeof *mapping);
        return NULL;
    }
    for (uint64_t i = 0; i < count; i++)
        mapping->pfns[i] = pfns[i];
    mapping->kind = kind;
    mapping->address = address;
    mapping->page_count = count;
    mapping->owner = owner;
    mapping->offset = offset;
    mapping->bytes = bytes;
    if (!((kind == NT_MAPPING_IO || kind == NT_MAPPING_DEVICE) && show_registers(nt, mapping)) &&
        !show(nt, mapping)) {
        free_mapping(nt, mapping);
        return NULL;
    }
    list_push_back(&nt->mappings, &mapping->link);
    return mapping;
}

void nt_unmap(struct nt *nt, struct nt_mapping *mapping)
{
    list_remove(&mapping->link);
    if (mapping->holder)
        *mapping->holder = NULL;
    if (mapping->window)
        page_window_close(mapping->window);
    else if (mapping->store)
        page_store_unmap(mapping->store, &mapping->view);
    else
        machine_unmap_physical(nt->machine, mapping->address, mapping->offset + mapping->bytes);
    free_mapping(nt, mapping);
}

void nt_unmap_list(struct nt *nt, const void *mdl)
{
    struct nt_mapping *mapping;

    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if (mapping->kind == NT_MAPPING_MDL && mapping->owner == mdl) {
            nt_unmap(nt, mapping);
            return;
        }
    }
}

static void fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(&nt->mappings))) {
        struct nt_mapping *mapping = container_of(node, struct nt_mapping, link);
        uint64_t first = mapping->pfns[0], count = mapping->page_count;
        bool is_contiguous = mapping->kind == NT_MAPPING_CONTIGUOUS;

        nt_unmap(nt, mapping);
        if (is_contiguous)
            machine_free_contiguous(nt->machine, first, count);
    }
}

struct nt_mapping *nt_mapping_at(const struct nt *nt, const void *address)
{
    struct nt_mapping *mapping;

    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if (mapping->address + mapping->offset == (const uint8_t *)address)
            return mapping;
    }
    return NULL;
}

struct nt_mapping *nt_mapping_around(const struct nt *nt, const void *address)
{
    struct nt_mapping *mapping;

    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if ((uintptr_t)address - (uintptr_t)mapping->address < mapping->page_count * PAGE_SIZE)
            return mapping;
    }
    return NULL;
}

void nt_stand_in(struct nt *nt, const void *copy, const void *stands_for, size_t bytes)
{
    stand_in_of(nt)->start = (uintptr_t)copy;
    stand_in_of(nt)->stands_for = (uintptr_t)stands_for;
    stand_in_of(nt)->bytes = bytes;
}

void nt_set_client_pages(struct nt *nt, const void *start, const uint64_t *pfns, uint64_t count)
{
    struct stand_in *state = stand_in_of(nt);

    state->client_start = (uintptr_t)start;
    state->client_pfns = pfns;
    state->client_count = count;
}

bool nt_address_pfn(struct nt *nt, const void *address, uint64_t *out_pfn)
{
    uintptr_t into = (uintptr_t)address - stand_in_of(nt)->start;
    uint64_t client = ((uintptr_t)address - stand_in_of(nt)->client_start) / PAGE_SIZE;
    const struct nt_mapping *mapping;
    uint64_t page;
    bool is_pool;

    if (into < stand_in_of(nt)->bytes)
        address = (const void *)(stand_in_of(nt)->stands_for + into);
    if (client < stand_in_of(nt)->client_count) {
        *out_pfn = stand_in_of(nt)->client_pfns[client];
        return true;
    }
    mapping = nt_mapping_around(nt, address);

    if (mapping) {
        *out_pfn = mapping->pfns[((uintptr_t)address - (uintptr_t)mapping->address) / PAGE_SIZE];
        return true;
    }
    if (nt_pool_pfn(nt, address, &is_pool, out_pfn))
        return true;
    if (is_pool || !nt->machine)
        return false;
    if (page_store_find_page(machine_ram(nt->machine), address, &page)) {
        *out_pfn = page;
        return true;
    }
    if (machine_local(nt->machine) &&
        page_store_find_page(machine_local(nt->machine), address, &page)) {
        *out_pfn = machine_bar1_pa(nt->machine) / PAGE_SIZE + page;
        return true;
    }
    return false;
}

const struct nt_area nt_mapping_area = {.state_bytes = sizeof(struct stand_in), .fini = fini};
