/*
 * The system page allocator.
 *
 * RAM is cut in regions of 512 pages. Pages come from the region at the head of a queue until it is
 * empty, in one of a few shuffled orders in which no two neighbours follow each other; so what is
 * handed out is scattered and yet touches few of the host's cache lines. A freed page puts its
 * region at the end of the queue. Fragmented allocation takes a random region each time instead.
 */
#include "machine/machine_private.h"

#define RNG_STREAM_PAGES UINT64_C(0x7061)

/* Regions at the begin of the zone: contiguous blocks, which are mapped, come from there. */
#define MAPPED_REGIONS 8u

static bool is_marked(const struct page_allocator *pages, uint64_t pfn)
{
    return pages->allocated[pfn / 64] >> (pfn % 64) & 1;
}

static void mark(struct page_allocator *pages, uint64_t pfn)
{
    ASSERT(!is_marked(pages, pfn));
    pages->allocated[pfn / 64] |= UINT64_C(1) << (pfn % 64);
    pages->regions[pfn / REGION_PAGES].free_count--;
    pages->allocated_count++;
}

static struct region_queue *queue_of(struct page_allocator *pages, uint64_t region)
{
    return region >= pages->zone_region ? &pages->zone : &pages->general;
}

static uint32_t *queue_slot(struct region_queue *queue, uint64_t position)
{
    return &queue->regions[(queue->head + position) % queue->capacity];
}

static void queue_push(struct page_allocator *pages, uint64_t region)
{
    struct region_queue *queue = queue_of(pages, region);

    if (pages->regions[region].is_queued)
        return;
    pages->regions[region].is_queued = true;
    *queue_slot(queue, queue->count++) = (uint32_t)region;
}

/* Take the region at a position out; the head moves into its place. */
static void queue_drop(struct page_allocator *pages, struct region_queue *queue, uint64_t position)
{
    uint32_t *slot = queue_slot(queue, position);

    pages->regions[*slot].is_queued = false;
    *slot = *queue_slot(queue, 0);
    queue->head = (queue->head + 1) % queue->capacity;
    queue->count--;
}

static bool are_neighbours(uint64_t a, uint64_t b)
{
    return a + 1 == b || b + 1 == a;
}

/* Shuffles the order of a region's pages: no two neighbours follow each other, nor at the turn. */
static void make_order(struct rng *rng, uint16_t order[REGION_PAGES])
{
    bool is_changed = true;

    for (uint64_t i = REGION_PAGES; i > 1; i--) {
        uint64_t j = rng_below(rng, i);
        uint16_t kept = order[i - 1];

        order[i - 1] = order[j];
        order[j] = kept;
    }
    while (is_changed) {
        is_changed = false;
        for (uint64_t i = 0; i < REGION_PAGES; i++) {
            uint64_t next = (i + 1) % REGION_PAGES;
            uint64_t other = rng_below(rng, REGION_PAGES);
            uint16_t kept = order[next];

            if (!are_neighbours(order[i], order[next]))
                continue;
            order[next] = order[other];
            order[other] = kept;
            is_changed = true;
        }
    }
}

static bool queue_init(const struct base_services *services, struct region_queue *queue,
                       uint64_t capacity)
{
    queue->capacity = capacity;
    queue->regions = base_alloc_array(services, capacity, sizeof *queue->regions);
    return queue->regions != NULL;
}

bool machine_pages_init(struct machine *machine)
{
    struct page_allocator *pages = &machine->pages;
    bool is_ascending = machine->config.scatter == MACHINE_CONTIGUOUS;

    pages->page_count = machine->config.ram_bytes / PAGE_BYTES;
    pages->region_count = pages->page_count / REGION_PAGES;
    pages->zone_region = pages->region_count - max_u64(1, pages->region_count / 16);
    pages->last_pfn = UINT64_MAX - 1;
    rng_fork(&machine->seed_rng, RNG_STREAM_PAGES, &pages->rng);

    pages->allocated =
        base_alloc_array(machine->services, pages->page_count / 64, sizeof *pages->allocated);
    pages->regions =
        base_alloc_array(machine->services, pages->region_count, sizeof *pages->regions);
    if (!pages->allocated || !pages->regions ||
        !queue_init(machine->services, &pages->general, pages->zone_region) ||
        !queue_init(machine->services, &pages->zone, pages->region_count - pages->zone_region))
        return false;

    for (uint32_t i = 0; i < REGION_ORDERS; i++) {
        for (uint16_t j = 0; j < REGION_PAGES; j++)
            pages->orders[i][j] = j;
        if (!is_ascending)
            make_order(&pages->rng, pages->orders[i]);
    }
    for (uint64_t i = 0; i < pages->region_count; i++) {
        struct page_region *region = &pages->regions[i];

        region->free_count = REGION_PAGES;
        if (!is_ascending) {
            region->order = (uint8_t)rng_below(&pages->rng, REGION_ORDERS);
            region->cursor = (uint16_t)rng_below(&pages->rng, REGION_PAGES);
        }
        queue_push(pages, i);
    }
    for (uint64_t i = pages->general.count; i > 1 && !is_ascending; i--) {
        uint32_t *a = queue_slot(&pages->general, i - 1);
        uint32_t *b = queue_slot(&pages->general, rng_below(&pages->rng, i));
        uint32_t kept = *a;

        *a = *b;
        *b = kept;
    }
    mark(pages, 0);
    pages->allocated_count = 0;
    page_store_lay_together(machine->ram, pages->zone_region * REGION_PAGES,
                            min_u64(MAPPED_REGIONS, pages->region_count - pages->zone_region) *
                                REGION_PAGES);
    return true;
}

void machine_pages_fini(struct machine *machine)
{
    struct page_allocator *pages = &machine->pages;

    base_free_array(machine->services, pages->zone.regions, pages->zone.capacity,
                    sizeof *pages->zone.regions);
    base_free_array(machine->services, pages->general.regions, pages->general.capacity,
                    sizeof *pages->general.regions);
    base_free_array(machine->services, pages->regions, pages->region_count, sizeof *pages->regions);
    base_free_array(machine->services, pages->allocated, pages->page_count / 64,
                    sizeof *pages->allocated);
}

/* The next free page of the region in its order that may follow the last page handed out. */
static bool take_from_region(struct page_allocator *pages, uint64_t region_index,
                             bool may_be_neighbour, uint64_t *out_pfn)
{
    struct page_region *region = &pages->regions[region_index];
    const uint16_t *order = pages->orders[region->order];

    for (uint64_t i = 0; i < REGION_PAGES; i++) {
        uint64_t position = (region->cursor + i) % REGION_PAGES;
        uint64_t pfn = region_index * REGION_PAGES + order[position];

        if (is_marked(pages, pfn) || (!may_be_neighbour && are_neighbours(pfn, pages->last_pfn)))
            continue;
        region->cursor = (uint16_t)((position + 1) % REGION_PAGES);
        mark(pages, pfn);
        pages->last_pfn = pfn;
        *out_pfn = pfn;
        return true;
    }
    return false;
}

static uint64_t take_page(struct machine *machine, bool may_be_neighbour)
{
    struct page_allocator *pages = &machine->pages;
    bool is_random = machine->config.scatter == MACHINE_FRAGMENTED;
    uint32_t refusals = 0;
    uint64_t pfn;

    for (;;) {
        struct region_queue *queue = pages->general.count ? &pages->general : &pages->zone;
        uint64_t position = is_random ? rng_below(&pages->rng, queue->count) : 0;
        uint64_t region = *queue_slot(queue, position);

        if (pages->regions[region].free_count == 0) {
            queue_drop(pages, queue, position);
            continue;
        }
        /*
         * The neighbours of the last page lie in at most two regions: after a few refusals there
         * is no other free page, or a random choice has bad luck and may as well take it.
         */
        if (take_from_region(pages, region, may_be_neighbour || refusals > 16, &pfn))
            return pfn;
        refusals++;
        queue_drop(pages, queue, position);
        queue_push(pages, region);
    }
}

bool machine_alloc_pages(struct machine *machine, uint64_t count, uint64_t *out_pfns)
{
    bool may_be_neighbour = machine->config.scatter == MACHINE_CONTIGUOUS;

    const struct machine_deed deed = {.kind = MACHINE_DEED_TAKE, .count = count, .pfns = out_pfns};
    bool is_told;

    if (count > machine_free_page_count(machine))
        return false;
    is_told = machine_tell_before(machine, &deed);
    for (uint64_t i = 0; i < count; i++)
        out_pfns[i] = take_page(machine, may_be_neighbour);
    machine_tell_after(machine, is_told, &deed);
    return true;
}

static void free_page(struct page_allocator *pages, uint64_t pfn)
{
    uint64_t region = pfn / REGION_PAGES;

    ASSERT(pfn != 0 && pfn < pages->page_count && is_marked(pages, pfn));
    pages->allocated[pfn / 64] &= ~(UINT64_C(1) << (pfn % 64));
    pages->regions[region].free_count++;
    pages->allocated_count--;
    queue_push(pages, region);
}

void machine_free_pages(struct machine *machine, const uint64_t *pfns, uint64_t count)
{
    const struct machine_deed deed = {.kind = MACHINE_DEED_GIVE, .count = count, .pfns = pfns};
    const bool is_told = machine_tell_before(machine, &deed);

    for (uint64_t i = 0; i < count; i++) {
        free_page(&machine->pages, pfns[i]);
        page_store_fill(machine->ram, pfns[i] * PAGE_BYTES, PAGE_BYTES, MACHINE_FREED_PATTERN);
        if (machine->pages.regions[pfns[i] / REGION_PAGES].free_count == REGION_PAGES)
            page_store_join(machine->ram, pfns[i]);
    }
    machine_tell_after(machine, is_told, &deed);
}

void machine_write_pages(struct machine *machine, const uint64_t *pfns, uint64_t count,
                         const void *bytes)
{
    const struct machine_deed deed = {.kind = MACHINE_DEED_FILL, .count = count, .pfns = pfns};
    const bool is_told = machine_tell_before(machine, &deed);

    for (uint64_t i = 0; i < count; i++)
        page_store_write(machine->ram, pfns[i] * PAGE_BYTES,
                         (const uint8_t *)bytes + i * PAGE_BYTES, PAGE_BYTES);
    machine_tell_after(machine, is_told, &deed);
}

/* The last page of [first, first + count) that is taken; false when all are free. */
static bool last_marked(const struct page_allocator *pages, uint64_t first, uint64_t count,
                        uint64_t *out_pfn)
{
    for (uint64_t pfn = first + count; pfn > first; pfn--) {
        /* A whole word of free pages at once. */
        if (pfn % 64 == 0 && pfn - first >= 64 && pages->allocated[pfn / 64 - 1] == 0) {
            pfn -= 63;
            continue;
        }
        if (is_marked(pages, pfn - 1)) {
            *out_pfn = pfn - 1;
            return true;
        }
    }
    return false;
}

static bool find_block(const struct page_allocator *pages, uint64_t start, uint64_t end,
                       uint64_t count, uint64_t alignment, uint64_t *out_first)
{
    uint64_t first = align_up(start, alignment);
    uint64_t taken;

    while (first <= end && count <= end - first) {
        if (!last_marked(pages, first, count, &taken)) {
            *out_first = first;
            return true;
        }
        first = align_up(taken + 1, alignment);
    }
    return false;
}

bool machine_alloc_contiguous(struct machine *machine, uint64_t count, uint64_t alignment_pages,
                              uint64_t *out_first_pfn)
{
    struct page_allocator *pages = &machine->pages;
    uint64_t zone = pages->zone_region * REGION_PAGES;
    struct machine_deed deed = {
        .kind = MACHINE_DEED_TAKE_RANGE, .count = count, .size = (unsigned)alignment_pages};
    bool is_told;

    *out_first_pfn = 0;
    if (count == 0 || count > machine_free_page_count(machine) ||
        !is_power_of_two(alignment_pages) || alignment_pages > pages->page_count)
        return false;
    if (!find_block(pages, zone, pages->page_count, count, alignment_pages, out_first_pfn) &&
        !find_block(pages, 0, pages->page_count, count, alignment_pages, out_first_pfn))
        return false;
    is_told = machine_tell_before(machine, &deed);
    for (uint64_t i = 0; i < count; i++)
        mark(pages, *out_first_pfn + i);
    deed.value = *out_first_pfn;
    machine_tell_after(machine, is_told, &deed);
    return true;
}

void machine_free_contiguous(struct machine *machine, uint64_t first_pfn, uint64_t count)
{
    const struct machine_deed deed = {
        .kind = MACHINE_DEED_GIVE_RANGE, .count = count, .value = first_pfn};
    const bool is_told = machine_tell_before(machine, &deed);

    for (uint64_t i = 0; i < count; i++)
        free_page(&machine->pages, first_pfn + i);
    page_store_fill(machine->ram, first_pfn * PAGE_BYTES, count * PAGE_BYTES,
                    MACHINE_FREED_PATTERN);
    machine_tell_after(machine, is_told, &deed);
}

bool machine_page_is_allocated(const struct machine *machine, uint64_t pfn)
{
    return pfn != 0 && pfn < machine->pages.page_count && is_marked(&machine->pages, pfn);
}

uint64_t machine_allocated_pages(const struct machine *machine)
{
    return machine->pages.allocated_count;
}

uint64_t machine_free_page_count(const struct machine *machine)
{
    return machine->pages.page_count - 1 - machine->pages.allocated_count;
}
