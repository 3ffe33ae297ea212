#include "bench/board/platform.h"

#include "miniport/miniport.h"

#include <search.h>

struct mapped_pages {
    struct page_mapping mapping;
};

/* For tsearch() and the like: one of some ten thousand, those of page tables among them. */
static int compare_addresses(const void *left, const void *right)
{
    const struct mapped_pages *a = left, *b = right;

    return (a->mapping.address > b->mapping.address) - (a->mapping.address < b->mapping.address);
}

/* Pages in one piece that have slack. */
struct contiguous_pages {
    struct list link;
    uint64_t first_page;
    const char *address; /* where the CPU sees them; NULL: nowhere */
    uint64_t bytes;      /* seen there, without the slack */
};

static void clear_pages(struct platform *platform, const uint64_t *pages, uint64_t count)
{
    struct page_store *ram = machine_ram(platform->machine);

    for (uint64_t i = 0; i < count;) {
        uint64_t run = 1;

        while (i + run < count && pages[i + run] == pages[i] + run)
            run++;
        page_store_fill(ram, pages[i] * PAGE_BYTES, run * PAGE_BYTES, 0);
        i += run;
    }
}

static NTSTATUS take_pages(void *context, uint64_t count, uint64_t *out_pages)
{
    struct platform *platform = context;

    if (!machine_alloc_pages(platform->machine, count, out_pages))
        return STATUS_NO_MEMORY;
    if (platform_remap_is_on(&platform->remap) &&
        !platform_remap_show(&platform->remap, out_pages, count)) {
        machine_free_pages(platform->machine, out_pages, count);
        return STATUS_NO_MEMORY;
    }
    clear_pages(platform, out_pages, count);
    return STATUS_SUCCESS;
}

static void release_pages(void *context, uint64_t count, const uint64_t *pages)
{
    struct platform *platform = context;

    if (platform_remap_is_on(&platform->remap))
        platform_remap_hide(&platform->remap, pages, count);
    machine_free_pages(platform->machine, pages, count);
}

/* A range as the list that the remapping wants. */
static bool show_contiguous(struct platform *platform, uint64_t first, uint64_t count)
{
    uint64_t *pages = base_alloc_array(platform->services, count, sizeof *pages);
    bool is_shown = pages != NULL;

    for (uint64_t i = 0; is_shown && i < count; i++)
        pages[i] = first + i;
    is_shown = is_shown && platform_remap_show(&platform->remap, pages, count);
    base_free_array(platform->services, pages, count, sizeof *pages);
    return is_shown;
}

static struct contiguous_pages *find_contiguous(const struct platform *platform,
                                                uint64_t first_page, const void *address)
{
    struct contiguous_pages *range;

    list_for_each (range, &platform->contiguous, struct contiguous_pages, link) {
        if (address ? range->address == address : range->first_page == first_page)
            return range;
    }
    return NULL;
}

static bool note_contiguous(struct platform *platform, uint64_t first_page)
{
    struct contiguous_pages *range = base_alloc(platform->services, sizeof *range);

    if (!range)
        return false;
    range->first_page = first_page;
    range->address = NULL;
    list_push_front(&platform->contiguous, &range->link);
    return true;
}

static void forget_contiguous(struct platform *platform, struct contiguous_pages *range)
{
    list_remove(&range->link);
    base_free(platform->services, range, sizeof *range);
}

static NTSTATUS take_in_one_piece(struct platform *platform, uint64_t count,
                                  uint64_t *out_first_page)
{
    *out_first_page = 0;
    if (!machine_alloc_contiguous(platform->machine, count, 1, out_first_page))
        return STATUS_NO_MEMORY;
    if (platform_remap_is_on(&platform->remap) &&
        !show_contiguous(platform, *out_first_page, count)) {
        machine_free_contiguous(platform->machine, *out_first_page, count);
        *out_first_page = 0;
        return STATUS_NO_MEMORY;
    }
    page_store_fill(machine_ram(platform->machine), *out_first_page * PAGE_BYTES,
                    count * PAGE_BYTES, 0);
    return STATUS_SUCCESS;
}

static void release_in_one_piece(struct platform *platform, uint64_t count, uint64_t first_page)
{
    if (platform_remap_is_on(&platform->remap))
        platform_remap_hide_range(&platform->remap, first_page, count);
    machine_free_contiguous(platform->machine, first_page, count);
}

static NTSTATUS take_contiguous(void *context, uint64_t count, uint64_t *out_first_page)
{
    struct platform *platform = context;
    NTSTATUS status = take_in_one_piece(platform, count + platform->has_slack, out_first_page);

    if (!NT_SUCCESS(status) || !platform->has_slack || note_contiguous(platform, *out_first_page))
        return status;
    release_in_one_piece(platform, count + 1, *out_first_page);
    *out_first_page = 0;
    return STATUS_NO_MEMORY;
}

static void release_contiguous(void *context, uint64_t count, uint64_t first_page)
{
    struct platform *platform = context;
    struct contiguous_pages *range = find_contiguous(platform, first_page, NULL);

    release_in_one_piece(platform, count + (range != NULL), first_page);
    if (range)
        forget_contiguous(platform, range);
}

static void *map_pages(void *context, uint64_t count, const uint64_t *pages)
{
    struct platform *platform = context;
    struct mapped_pages *mapped = base_alloc(platform->services, sizeof *mapped);

    if (!mapped)
        return NULL;
    if (!page_store_map(machine_ram(platform->machine), pages, count, &mapped->mapping))
        goto free_mapped;
    if (!tsearch(mapped, &platform->mappings, compare_addresses))
        goto unmap;
    platform->mapping_count++;
    return mapped->mapping.address;

unmap:
    page_store_unmap(machine_ram(platform->machine), &mapped->mapping);
free_mapped:
    base_free(platform->services, mapped, sizeof *mapped);
    return NULL;
}

static void end_mapping(struct platform *platform, struct mapped_pages *mapped)
{
    tdelete(mapped, &platform->mappings, compare_addresses);
    platform->mapping_count--;
    page_store_unmap(machine_ram(platform->machine), &mapped->mapping);
    base_free(platform->services, mapped, sizeof *mapped);
}

static void unmap_pages(void *context, void *address, uint64_t count)
{
    struct platform *platform = context;
    const struct mapped_pages wanted = {.mapping.address = address};
    struct mapped_pages **found = tfind(&wanted, &platform->mappings, compare_addresses);

    if (found)
        end_mapping(platform, *found);
}

static void fill_pages(void *context, uint64_t count, const uint64_t *pages, uint32_t pattern)
{
    struct platform *platform = context;

    for (uint64_t i = 0, run; i < count; i += run) {
        run = 1;
        while (i + run < count && pages[i + run] == pages[i] + run)
            run++;
        page_store_fill(machine_ram(platform->machine), pages[i] * PAGE_BYTES, run * PAGE_BYTES,
                        pattern);
    }
}

static uint64_t device_page(void *context, uint64_t page)
{
    struct platform *platform = context;

    return platform_remap_logical(&platform->remap, page);
}

/* ---- Address spaces of processes ---- */

static NTSTATUS create_space(void *context, uint32_t *out_pasid)
{
    struct platform *platform = context;

    return machine_iommu_space_create(machine_iommu(platform->machine), out_pasid)
               ? STATUS_SUCCESS
               : STATUS_INSUFFICIENT_RESOURCES;
}

static void destroy_space(void *context, uint32_t pasid)
{
    struct platform *platform = context;

    machine_iommu_space_destroy(machine_iommu(platform->machine), pasid);
}

static NTSTATUS map_space(void *context, uint32_t pasid, uint64_t va, uint64_t count,
                          const uint64_t *pages)
{
    struct platform *platform = context;

    return machine_iommu_map(machine_iommu(platform->machine), pasid, va / PAGE_BYTES, count, pages)
               ? STATUS_SUCCESS
               : STATUS_NO_MEMORY;
}

static void unmap_space(void *context, uint32_t pasid, uint64_t va, uint64_t count)
{
    struct platform *platform = context;

    machine_iommu_unmap(machine_iommu(platform->machine), pasid, va / PAGE_BYTES, count);
}

/* ---- AGP ---- */

static NTSTATUS map_agp(void *context, uint64_t offset, uint64_t count, const uint64_t *pages)
{
    return map_space(context, MACHINE_AGP, offset, count, pages);
}

static void unmap_agp(void *context, uint64_t offset, uint64_t count)
{
    unmap_space(context, MACHINE_AGP, offset, count);
}

/* ---- The bus ---- */

static void *map_bus(void *context, uint64_t address, uint64_t bytes)
{
    struct platform *platform = context;
    struct contiguous_pages *range = find_contiguous(platform, address / PAGE_BYTES, NULL);

    if (!range)
        return machine_map_physical(platform->machine, address, bytes);
    range->address = machine_map_physical(platform->machine, address, bytes + PAGE_BYTES);
    range->bytes = bytes;
    return (void *)(uintptr_t)range->address;
}

static void unmap_bus(void *context, void *address, uint64_t bytes)
{
    struct platform *platform = context;
    struct contiguous_pages *range = find_contiguous(platform, 0, address);

    machine_unmap_physical(platform->machine, address, bytes + (range ? PAGE_BYTES : 0));
    if (range)
        range->address = NULL;
}

uint64_t platform_slack(const struct platform *platform, const void *end)
{
    const struct contiguous_pages *range;

    list_for_each (range, &platform->contiguous, struct contiguous_pages, link) {
        uint64_t offset = (uint64_t)((uintptr_t)end - (uintptr_t)range->address);

        /* An end that is not in the last page is one of several in the buffer. */
        if (range->address && offset <= range->bytes && offset + PAGE_BYTES > range->bytes)
            return range->bytes + PAGE_BYTES - offset;
    }
    return 0;
}

void platform_init(struct platform *platform, struct machine *machine,
                   const struct base_services *services)
{
    *platform = (struct platform){.machine = machine, .services = services};
    list_init(&platform->contiguous);
}

void platform_fini(struct platform *platform)
{
    struct contiguous_pages *range, *next;

    machine_cancel(platform->machine, &platform->wake);
    while (platform->mappings) /* whose root begins with the mapping */
        end_mapping(platform, *(struct mapped_pages **)platform->mappings);
    list_for_each_safe (range, next, &platform->contiguous, struct contiguous_pages, link)
        forget_contiguous(platform, range);
    platform_remap_fini(&platform->remap);
}

static uint64_t now_ns(void *context)
{
    const struct platform *platform = context;

    return machine_now(platform->machine);
}

static void wake(void *context, uint64_t at_ns)
{
    struct platform *platform = context;

    machine_cancel(platform->machine, &platform->wake);
    machine_schedule(platform->machine, &platform->wake, at_ns, platform->woken,
                     platform->woken_context);
}

struct vidmm_platform platform_get(struct platform *platform)
{
    return (struct vidmm_platform){
        .context = platform,
        .services = platform->services,
        .take_pages = take_pages,
        .release_pages = release_pages,
        .take_contiguous = take_contiguous,
        .release_contiguous = release_contiguous,
        .map_pages = map_pages,
        .unmap_pages = unmap_pages,
        .fill_pages = fill_pages,
        .map_bus = map_bus,
        .unmap_bus = unmap_bus,
        .agp_base = platform->agp_bytes ? MACHINE_AGP_BASE : 0,
        .agp_bytes = platform->agp_bytes,
        .map_agp = map_agp,
        .unmap_agp = unmap_agp,
        .create_space = create_space,
        .destroy_space = destroy_space,
        .map_space = map_space,
        .unmap_space = unmap_space,
        .now_ns = now_ns,
        .wake = platform->woken ? wake : NULL,
        .device_page = platform_remap_is_on(&platform->remap) ? device_page : NULL,
    };
}
