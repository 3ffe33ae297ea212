#include "vidmm/rig/test_rig.h"

#include "vidmm/memory/page_units.h"
#include "vidmm/rig/test_rig_views.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"
#include "base/list.h"

char rig_repeat[128];

void rig_expect_at(bool holds, const char *text, const char *file, int line)
{
    if (!holds && rig_repeat[0])
        print_error("repeat: %s\n", rig_repeat);
    _assert_true(holds, text, file, line);
}

struct rig *rig_of(struct miniport *self)
{
    return (struct rig *)self;
}

/* ---- Pages ----------------------------------------------------------------------------------- */

bool rig_is_aperture(const struct rig *rig, unsigned segment)
{
    return segment == rig->segment_count ||
           (rig->config.has_two_apertures && segment + 1 == rig->segment_count);
}

uint64_t rig_slot(const struct rig *rig, unsigned segment, uint64_t page)
{
    return page + (rig->segment_count - segment) * rig->config.aperture_pages;
}

uint64_t rig_segment_base(unsigned segment)
{
    return (uint64_t)segment << 40;
}

uint64_t rig_segment_window(unsigned segment)
{
    return (uint64_t)(segment + 0x10) << 40;
}

struct rig_page *rig_page(struct rig *rig, unsigned segment, uint64_t page)
{
    EXPECT(segment <= rig->segment_count && !(segment && rig_is_aperture(rig, segment)));
    if (segment) {
        EXPECT(page < rig->segment_pages[segment - 1]);
        return &rig->segments[segment - 1][page];
    }
    EXPECT(page >= RIG_FIRST_PAGE && page - RIG_FIRST_PAGE < rig->config.system_pages);
    EXPECT(rig->system[page - RIG_FIRST_PAGE].is_taken);
    return &rig->system[page - RIG_FIRST_PAGE];
}

struct rig_page *rig_page_at(struct rig *rig, uint64_t address)
{
    if (address >= rig_segment_window(0))
        return rig_bus_page(rig, address);
    return rig_page(rig, 0, address / PAGE_BYTES);
}

/* A page may be handed to this allocation: no unfinished work belongs to another one. */
static void rig_check_free_for(const struct rig_page *page, uint32_t owner)
{
    EXPECT(!page->pins || page->pin_owner == owner);
    EXPECT(!page->packet_pins || page->owner == owner);
    EXPECT(!page->shown_owner || page->shown_owner == owner);
}

void rig_pin(struct rig_operation *operation, struct rig_page *page, uint32_t owner)
{
    rig_check_free_for(page, owner);
    if (operation->pin_count == operation->pin_capacity) {
        operation->pin_capacity = operation->pin_capacity * 2 + 16;
        operation->pins =
            realloc(operation->pins, operation->pin_capacity * sizeof *operation->pins);
        EXPECT(operation->pins);
    }
    operation->pins[operation->pin_count++] = page;
    page->pins++;
    page->pin_owner = owner;
}

/* ---- Platform -------------------------------------------------------------------------------- */

static bool rig_page_call_fails(struct rig *rig)
{
    return rig->fail_pages_at && --rig->fail_pages_at == 0;
}

NTSTATUS rig_take_pages(void *context, uint64_t count, uint64_t *out_pages)
{
    struct rig *rig = context;

    if (rig_page_call_fails(rig) ||
        count > rig->system_free_count + rig->config.system_pages - rig->system_next)
        return STATUS_NO_MEMORY;
    for (uint64_t i = 0; i < count; i++) {
        struct rig_page *page;
        uint64_t index;

        if (rig->system_free_count)
            index = rig->system_free[--rig->system_free_count];
        else
            index = rig->system_next++ ^ 1; /* never contiguous */
        page = &rig->system[index];
        EXPECT(!page->is_taken && !page->pins && !page->packet_pins);
        page->is_taken = true;
        page->content = 0;
        page->owner = 0;
        page->table = 0;
        out_pages[i] = RIG_FIRST_PAGE + index;
    }
    rig->taken_pages += count;
    return STATUS_SUCCESS;
}

void rig_release_pages(void *context, uint64_t count, const uint64_t *pages)
{
    struct rig *rig = context;

    for (uint64_t i = 0; i < count; i++) {
        struct rig_page *page = rig_page(rig, 0, pages[i]);

        EXPECT(!page->pins);
        EXPECT(!page->packet_pins);
        page->is_taken = false;
        page->content = RIG_POISON;
        page->owner = 0;
        rig->system_free[rig->system_free_count++] = pages[i] - RIG_FIRST_PAGE;
    }
    rig->taken_pages -= count;
}

NTSTATUS rig_take_contiguous(void *context, uint64_t count, uint64_t *out_first_page)
{
    struct rig *rig = context;

    if (rig_page_call_fails(rig))
        return STATUS_NO_MEMORY;
    for (unsigned i = 0; i < RIG_BLOCKS; i++) {
        struct rig_block *block = &rig->blocks[i];

        if (block->memory)
            continue;
        block->memory = calloc(count, PAGE_BYTES);
        EXPECT(block->memory);
        block->first_page = RIG_FIRST_BLOCK + i * UINT64_C(0x1000);
        block->page_count = count;
        rig->taken_blocks++;
        *out_first_page = block->first_page;
        return STATUS_SUCCESS;
    }
    return STATUS_NO_MEMORY;
}

void rig_release_contiguous(void *context, uint64_t count, uint64_t first_page)
{
    struct rig *rig = context;
    struct rig_block *block = &rig->blocks[(first_page - RIG_FIRST_BLOCK) / 0x1000];

    EXPECT(block->memory && block->first_page == first_page && block->page_count == count);
    for (unsigned node = 0; node < 2; node++) {
        struct rig_packet *packet;

        list_for_each (packet, &rig->queued[node], struct rig_packet, link)
            EXPECT(packet->start < block->memory ||
                   packet->start >= block->memory + count * PAGE_BYTES);
    }
    free(block->memory);
    block->memory = NULL;
    rig->taken_blocks--;
}

void *rig_map_pages(void *context, uint64_t count, const uint64_t *pages)
{
    struct rig *rig = context;
    struct rig_cpu_table *table;

    EXPECT(count == 1);
    if (rig_page_call_fails(rig))
        return NULL;
    table = malloc(sizeof *table);
    EXPECT(table);
    table->page = rig_page(rig, 0, pages[0]);
    table->address = 0;
    rig->mapped_ranges++;
    return table;
}

void rig_unmap_pages(void *context, void *address, uint64_t count)
{
    struct rig *rig = context;

    EXPECT(count == 1 && rig->mapped_ranges);
    rig->mapped_ranges--;
    free(address);
}

struct rig_page *rig_cpu_table_page(struct rig *rig, const struct rig_cpu_table *table)
{
    EXPECT(!table->address || rig_page_at(rig, table->address) == table->page);
    return table->page;
}

struct rig_block *rig_block_at(struct rig *rig, uint64_t address)
{
    uint64_t page = address / PAGE_BYTES;
    struct rig_block *block;

    EXPECT(page >= RIG_FIRST_BLOCK && (page - RIG_FIRST_BLOCK) / 0x1000 < RIG_BLOCKS);
    block = &rig->blocks[(page - RIG_FIRST_BLOCK) / 0x1000];
    EXPECT(block->memory && page - block->first_page < block->page_count);
    return block;
}

struct rig_block *rig_block_behind(struct rig *rig, unsigned segment, uint64_t address)
{
    uint64_t slot;

    EXPECT(segment == (rig->config.pages_through_aperture ? rig->segment_count : 0));
    if (!segment)
        return rig_block_at(rig, address);
    slot = rig_slot(rig, segment, (address - rig_segment_base(segment)) / PAGE_BYTES);
    EXPECT(rig->slots[slot]);
    return rig_block_at(rig, PAGE_BYTES_OF(rig->slots[slot] - 1));
}

static void rig_unmap_buffer(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    EXPECT(args->UnmapApertureSegment.SegmentId == rig->segment_count &&
           args->UnmapApertureSegment.DummyPage.QuadPart);
    for (uint64_t i = 0; i < args->UnmapApertureSegment.NumberOfPages; i++) {
        uint64_t slot =
            rig_slot(rig, rig->segment_count, args->UnmapApertureSegment.OffsetInPages + i);

        EXPECT(rig->slots[slot]);
        rig->slots[slot] = 0;
    }
}

bool rig_maps_buffer(struct rig *rig, const DXGKARG_BUILDPAGINGBUFFER *args)
{
    const uint64_t *pages = (const uint64_t *)(args->MapApertureSegment.pMdl + 1);

    if (args->Operation == DXGK_OPERATION_UNMAP_APERTURE_SEGMENT &&
        !args->UnmapApertureSegment.hAllocation) {
        rig_unmap_buffer(rig, args);
        return true;
    }
    if (args->Operation != DXGK_OPERATION_MAP_APERTURE_SEGMENT ||
        args->MapApertureSegment.hAllocation)
        return false;
    EXPECT(rig->config.pages_through_aperture && args->pDmaBuffer &&
           args->MapApertureSegment.SegmentId == rig->segment_count);
    for (uint64_t i = 0; i < args->MapApertureSegment.NumberOfPages; i++)
        rig->slots[rig_slot(rig, rig->segment_count, args->MapApertureSegment.OffsetInPages + i)] =
            pages[args->MapApertureSegment.MdlOffset + i] + 1;
    return true;
}

void *rig_map_bus(void *context, uint64_t address, uint64_t bytes)
{
    struct rig *rig = context;

    if (rig_page_call_fails(rig))
        return NULL;
    rig->mapped_ranges++;
    if (address >= rig_segment_window(0)) {
        struct rig_cpu_table *table = malloc(sizeof *table);

        EXPECT(table && (bytes == PAGE_BYTES || rig->config.tables == RIG_TABLES_GROWING));
        table->page = rig_page_at(rig, address);
        table->address = address;
        return table;
    }
    return rig_block_at(rig, address)->memory +
           (address - PAGE_BYTES * rig_block_at(rig, address)->first_page);
}

void rig_unmap_bus(void *context, void *address, uint64_t bytes)
{
    struct rig *rig = context;

    EXPECT(rig->mapped_ranges);
    rig->mapped_ranges--;
    for (unsigned i = 0; i < RIG_BLOCKS; i++) {
        struct rig_block *block = &rig->blocks[i];

        if (block->memory && (uint8_t *)address >= block->memory &&
            (uint8_t *)address < block->memory + block->page_count * PAGE_BYTES)
            return;
    }
    rig_cpu_table_page(rig, address);
    free(address);
}
