/* Page tables: operations on a tree of two levels that no driver sees. */
#include "vidmm/tables/page_table.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/vidmm_private.h"

#include "base/bits.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <cmocka.h>

#define LEAF_PAGES UINT64_C(512)
#define LEAF_BYTES (LEAF_PAGES * PAGE_BYTES)

/* A root with one leaf, and an allocation that lies in one piece of segment 1. */
struct fixture {
    struct vidmm vidmm;
    struct segment segment;
    struct address_space space;
    struct page_table root, leaf;
    struct page_table *children[1];
    DXGK_PTE entries[LEAF_PAGES];
    struct vidmm_allocation allocation;
    struct placed_runs *runs;
};

static struct fixture *create(void)
{
    struct fixture *f = calloc(1, sizeof *f);

    assert_non_null(f);
    f->vidmm.caps.level_count = 2;
    f->vidmm.caps.levels[0].index_bits = f->vidmm.caps.levels[1].index_bits = 9;
    f->vidmm.caps.has_large_pages = true;
    f->vidmm.caps.allows_unaligned_large_pages = true;
    f->vidmm.caps.update_mode = DXGK_PAGETABLEUPDATE_CPU_VIRTUAL;
    f->vidmm.paging.is_ready = true;
    f->vidmm.entries = f->entries;
    f->space.vidmm = &f->vidmm;
    f->space.root = &f->root;
    f->root.level = 1;
    f->root.children = f->children;
    f->root.child_count = 1;
    f->children[0] = &f->leaf;
    f->leaf.parent = &f->root;
    f->leaf.is_initialised = true;
    f->segment.kind = SEGMENT_PAGES;
    f->segment.id = 1;
    f->segment.unit_pages = 1;
    f->runs = calloc(1, sizeof *f->runs + sizeof f->runs->run[0]);
    assert_non_null(f->runs);
    f->runs->count = 1;
    f->runs->run[0] = (struct page_run){.first_page = 7, .page_count = LEAF_PAGES};
    f->allocation.vidmm = &f->vidmm;
    f->allocation.page_count = LEAF_PAGES;
    f->allocation.place.segment = &f->segment;
    f->allocation.place.runs = f->runs;
    return f;
}

static void destroy(struct fixture *f)
{
    free(f->runs);
    free(f);
}

static DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE map_all(struct fixture *f)
{
    const struct mapped_pages pages = {.allocation = &f->allocation, .page_count = LEAF_PAGES};
    DXGKARG_BUILDPAGINGBUFFER args = {0};

    assert_int_equal(page_table_op_map(&f->space, 0, &pages, &args), LEAF_PAGES);
    assert_int_equal(args.Operation, DXGK_OPERATION_UPDATE_PAGE_TABLE);
    return args.UpdatePageTable;
}

/* Linking a leaf writes the parent's entry, so a large page there would be gone again (PT-034). */
static void no_page_is_large_before_its_leaf_is_linked(void **state)
{
    struct fixture *f = create();
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE update = map_all(f);

    assert_int_equal(update.PageTableLevel, 0);
    assert_int_equal(update.NumPageTableEntries, LEAF_PAGES);
    for (unsigned i = 0; i < LEAF_PAGES; i++) {
        assert_true(f->entries[i].Valid);
        assert_false(f->entries[i].LargePage);
        assert_int_equal(f->entries[i].PageAddress, 7 + i);
    }
    assert_false(f->leaf.is_shadowed);
    destroy(f);
}

static void one_piece_behind_a_linked_leaf_is_a_large_page(void **state)
{
    struct fixture *f = create();
    DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE update;

    f->leaf.is_linked = true;
    update = map_all(f);
    assert_int_equal(update.PageTableLevel, 1);
    assert_int_equal(update.NumPageTableEntries, 1);
    assert_true(f->entries[0].LargePage);
    assert_int_equal(f->entries[0].PageAddress, 7);
    assert_true(f->leaf.is_shadowed);
    destroy(f);
}

/* An entry of the leaf that becomes invalid ends the large page: the parent points again. */
static void unmapping_a_large_page_links_its_leaf(void **state)
{
    struct fixture *f = create();
    DXGKARG_BUILDPAGINGBUFFER args = {0};

    f->leaf.is_linked = true;
    f->leaf.memory.segment = 1;
    f->leaf.memory.first_page = 99;
    map_all(f);
    assert_int_equal(page_table_op_unmap(&f->space, 0, LEAF_PAGES, false, NULL, 0, &args),
                     LEAF_PAGES);
    assert_int_equal(args.UpdatePageTable.PageTableLevel, 1);
    assert_false(f->entries[0].LargePage);
    assert_int_equal(f->entries[0].PageAddress, 99);
    assert_false(f->leaf.is_shadowed);
    destroy(f);
}

/* In pieces, with a driver protection, or where the driver has none, entries are of the leaf. */
static void what_cannot_be_large_has_leaf_entries(void **state)
{
    struct fixture *f = create();

    f->leaf.is_linked = true;
    f->allocation.forbids_large_pages = true;
    assert_int_equal(map_all(f).PageTableLevel, 0);
    f->allocation.forbids_large_pages = false;
    f->vidmm.caps.allows_unaligned_large_pages = false; /* the piece starts at page 7 */
    assert_int_equal(map_all(f).PageTableLevel, 0);
    f->runs->run[0].first_page = LEAF_PAGES;
    assert_int_equal(map_all(f).PageTableLevel, 1);
    f->vidmm.caps.has_large_pages = false;
    assert_int_equal(map_all(f).PageTableLevel, 0);
    destroy(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_page_is_large_before_its_leaf_is_linked),
        cmocka_unit_test(one_piece_behind_a_linked_leaf_is_a_large_page),
        cmocka_unit_test(unmapping_a_large_page_links_its_leaf),
        cmocka_unit_test(what_cannot_be_large_has_leaf_entries),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
