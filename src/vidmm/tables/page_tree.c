/*
 * Page tree: tables of an address space are made and freed.
 *
 * Making one is where the manager recurs. A table that the driver finds by a GPU address needs a
 * slot of the paging process's window; the window has tables of its own, and a slot beyond the last
 * of them makes one more. The recursion ends there: tables of the paging process need no slot, for
 * the CPU writes them.
 *
 * Source     contract.md PT-005..013, PT-038, PT-040.
 */
#include "vidmm/tables/page_tree.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/root_change.h"
#include "vidmm/tables/table_fallback.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm_private.h"

#include "base/assert.h"
#include "base/bits.h"
#include "base/list.h"
#include "base/services.h"

/* ---- One table ------------------------------------------------------------------------------- */

static void destroy_table(struct address_space *space, struct page_table *table)
{
    struct vidmm *vidmm = space->vidmm;

    if (table->is_detached)
        ; /* it is not there, and its parent may be gone */
    else if (table->parent)
        table->parent->children[table->index] = NULL;
    else if (space->root == table)
        space->root = NULL;
    list_remove(&table->fresh);
    table_memory_release(space, &table->memory);
    vidmm->statistics.page_table_count--;
    base_free_array(vidmm->services, table->children, table->child_count, sizeof *table->children);
    base_free_array(vidmm->services, table->physical,
                    table->physical ? page_table_entries(vidmm, 0) : 0, sizeof *table->physical);
    base_free(vidmm->services, table, sizeof *table);
}

/*
 * Places for children of a table: two for an entry of level 1 that has, or chooses from, two kinds.
 */
static uint64_t child_count(const struct vidmm *vidmm, unsigned level, uint64_t entry_count)
{
    return level == 1 && page_table_has_64k_leaves(vidmm) ? 2 * entry_count : entry_count;
}

static NTSTATUS create_table(struct address_space *space, unsigned level, struct page_table *parent,
                             unsigned index, uint64_t first_va, uint64_t bytes,
                             uint64_t entry_count, struct page_table **out_table)
{
    struct vidmm *vidmm = space->vidmm;
    struct page_table *table;
    NTSTATUS status;

    *out_table = NULL;
    table = base_alloc(vidmm->services, sizeof *table);
    if (!table)
        return STATUS_NO_MEMORY;
    vidmm->statistics.page_table_count++;
    table->level = level;
    table->index = index;
    table->first_va = first_va;
    list_init(&table->fresh);
    if (level) {
        status = STATUS_NO_MEMORY;
        uint64_t count = child_count(vidmm, level, entry_count);

        table->children = base_alloc_array(vidmm->services, (size_t)count, sizeof *table->children);
        if (!table->children)
            goto destroy;
        table->child_count = count;
    }
    status = table_memory_take(space, level, bytes, entry_count, &table->memory);
    if (!NT_SUCCESS(status))
        goto destroy;
    table->parent = parent;
    if (parent)
        parent->children[index] = table;
    else
        space->root = table;
    *out_table = table;
    return STATUS_SUCCESS;

destroy:
    destroy_table(space, table);
    return status;
}

void page_table_free_detached(struct address_space *space, struct page_table *table)
{
    ASSERT(table->is_detached);
    if (space->root == table)
        space->root = NULL;
    destroy_table(space, table);
}

/* ---- Ranges ---------------------------------------------------------------------------------- */

/* A root that reaches end at least. */
static NTSTATUS create_root(struct address_space *space, uint64_t end, struct list *fresh)
{
    struct vidmm *vidmm = space->vidmm;
    unsigned level = vidmm->caps.level_count - 1;
    uint64_t entry_count = page_table_entries(vidmm, level);
    uint64_t bytes = vidmm->caps.levels[level].table_bytes;
    struct page_table *root;
    NTSTATUS status;

    if (vidmm->caps.root_is_resizable) {
        if (space->is_paging_process)
            end = vidmm->paging.va_end;
        entry_count = div_round_up(end, page_table_coverage(vidmm, level));
        status = root_size(space, &entry_count, &bytes);
        if (!NT_SUCCESS(status))
            return status;
    }
    status = create_table(space, level, NULL, 0, 0, bytes, entry_count, &root);
    if (NT_SUCCESS(status))
        list_push_back(fresh, &root->fresh);
    return status;
}

void page_tables_abandon(struct address_space *space, struct list *fresh)
{
    while (!list_is_empty(fresh))
        destroy_table(space, container_of(fresh->prev, struct page_table, fresh));
}

/* Makes the child of an entry unless it is there; is_64k: the 64 KiB leaf. */
static NTSTATUS prepare_child(struct address_space *space, struct page_table *table, uint64_t va,
                              bool is_64k, struct list *fresh, struct page_table **out_child)
{
    struct vidmm *vidmm = space->vidmm;
    unsigned level = table->level - 1;
    uint64_t bytes = is_64k ? vidmm->caps.leaf_64k_bytes : vidmm->caps.levels[level].table_bytes;
    uint64_t entry_count = page_table_entries(vidmm, level) / (is_64k ? PAGES_64K : 1);
    uint64_t index = page_table_index(vidmm, table->level, va) +
                     (is_64k ? page_table_entries(vidmm, table->level) : 0);
    NTSTATUS status;

    *out_child = table->children[index];
    if (*out_child)
        return STATUS_SUCCESS;
    status = create_table(space, level, table, (unsigned)index,
                          align_down(va, page_table_coverage(vidmm, table->level)), bytes,
                          entry_count, out_child);
    if (!NT_SUCCESS(status))
        return status;
    (*out_child)->is_64k = is_64k;
    list_push_back(fresh, &(*out_child)->fresh);
    return STATUS_SUCCESS;
}

/*
 * The leaf of an entry with one pointer: a 64 KiB one where the range starts with it, and only
 * until a 4 KiB one is needed (PT-040).
 */
static NTSTATUS prepare_one_leaf(struct address_space *space, struct page_table *table, uint64_t va,
                                 unsigned kinds, struct list *fresh)
{
    unsigned index = page_table_index(space->vidmm, 1, va);
    struct page_table *large = table->children[page_table_entries(space->vidmm, 1) + index];
    bool falls_back = large && !table->children[index];
    struct page_table *leaf;
    NTSTATUS status;

    if (!(kinds & LEAVES_4K))
        return table->children[index] ? STATUS_SUCCESS
                                      : prepare_child(space, table, va, true, fresh, &leaf);
    status = prepare_child(space, table, va, false, fresh, &leaf);
    if (!NT_SUCCESS(status) || !falls_back)
        return status;
    list_remove(&leaf->fresh);
    status = table_fallback_begin(space, leaf);
    if (!NT_SUCCESS(status))
        destroy_table(space, leaf);
    return status;
}

NTSTATUS page_tables_prepare(struct address_space *space, uint64_t va, uint64_t bytes,
                             unsigned kinds, struct list *fresh)
{
    struct vidmm *vidmm = space->vidmm;
    uint64_t leaf = page_table_coverage(vidmm, 1);
    uint64_t end = va + bytes;
    NTSTATUS status;

    status = space->root ? root_reserve(space, end) : create_root(space, end, fresh);
    for (va = align_down(va, leaf); va < end && NT_SUCCESS(status); va += leaf) {
        struct page_table *table = space->root;
        struct page_table *child;

        while (NT_SUCCESS(status) && table->level > 1) {
            status = prepare_child(space, table, va, false, fresh, &child);
            table = child;
        }
        if (NT_SUCCESS(status) && vidmm->caps.chooses_leaf_size) {
            status = prepare_one_leaf(space, table, va, kinds, fresh);
            continue;
        }
        if (NT_SUCCESS(status) && (kinds & LEAVES_4K))
            status = prepare_child(space, table, va, false, fresh, &child);
        if (NT_SUCCESS(status) && (kinds & LEAVES_64K))
            status = prepare_child(space, table, va, true, fresh, &child);
    }
    if (!NT_SUCCESS(status))
        page_tables_abandon(space, fresh);
    return status;
}

/* ---- The end --------------------------------------------------------------------------------- */

static void free_tree(struct address_space *space, struct page_table *table)
{
    if (table->level > 0) {
        uint64_t i;

        for (i = 0; i < table->child_count; i++) {
            if (table->children[i])
                free_tree(space, table->children[i]);
        }
    }
    destroy_table(space, table);
}

void page_tables_free(struct address_space *space)
{
    if (space->root)
        free_tree(space, space->root);
}
