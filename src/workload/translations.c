/*
 * What the pte lines of a workload leave mapped.
 *
 * Each map or unmap replaces a range of GPU VA. The live runs are kept in one array sorted by
 * (process, VA); an update finds the runs it overlaps by binary search, cuts the first and the
 * last of them, and replaces the middle:
 *
 *     before   [---- A ----)     [-- B --)[---- C ----)
 *     update          [========================)
 *     after    [- A -)[======== new ===========)[- C -)
 *
 * The tail moves by memmove, which is cheap for the tens of thousands of runs of a capture.
 */

#include "base/bits.h"
#include "workload/owned.h"
#include "workload/translations.h"

#include <stdlib.h>
#include <string.h>

struct run_list {
    struct workload_translation *runs;
    size_t count, room;
};

static uint64_t run_end(const struct workload_translation *run)
{
    return run->va + run->page_count * PAGE_BYTES;
}

/* Index of the first run that ends after (process, va). */
static size_t find_run(const struct run_list *list, uint32_t process, uint64_t va)
{
    size_t low = 0, high = list->count;

    while (low < high) {
        size_t middle = low + (high - low) / 2;
        const struct workload_translation *run = &list->runs[middle];

        if (run->process < process || (run->process == process && run_end(run) <= va))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool reserve_runs(struct run_list *list, size_t more)
{
    size_t room = list->room ? list->room : 64;
    void *grown;

    if (list->count + more <= list->room)
        return true;
    while (room < list->count + more)
        room *= 2;
    if (room > SIZE_MAX / sizeof *list->runs)
        return false;
    grown = realloc(list->runs, room * sizeof *list->runs);
    if (!grown)
        return false;
    list->runs = grown;
    list->room = room;
    return true;
}

/* Replaces [fresh->va, end) by fresh, or by nothing when it is an unmap. */
static bool replace_range(struct run_list *list, const struct workload_translation *fresh,
                          bool is_map)
{
    struct workload_translation parts[3];
    size_t part_count = 0, first, last, kept;
    uint64_t end = run_end(fresh);

    if (!reserve_runs(list, 2))
        return false;
    first = find_run(list, fresh->process, fresh->va);
    for (last = first; last < list->count && list->runs[last].process == fresh->process &&
                       list->runs[last].va < end;
         last++)
        ;

    if (first < last && list->runs[first].va < fresh->va) {
        parts[part_count] = list->runs[first];
        parts[part_count].page_count = (fresh->va - parts[part_count].va) / PAGE_BYTES;
        part_count++;
    }
    if (is_map)
        parts[part_count++] = *fresh;
    if (first < last && run_end(&list->runs[last - 1]) > end) {
        uint64_t cut = (end - list->runs[last - 1].va) / PAGE_BYTES;

        parts[part_count] = list->runs[last - 1];
        parts[part_count].va = end;
        parts[part_count].page += cut;
        parts[part_count].page_count -= cut;
        part_count++;
    }
    kept = list->count - last;
    memmove(&list->runs[first + part_count], &list->runs[last], kept * sizeof *list->runs);
    memcpy(&list->runs[first], parts, part_count * sizeof *parts);
    list->count = first + part_count + kept;
    return true;
}

static void join_neighbours(struct run_list *list)
{
    size_t out = 0;

    for (size_t i = 0; i < list->count; i++) {
        const struct workload_translation *run = &list->runs[i];
        struct workload_translation *last = out ? &list->runs[out - 1] : NULL;

        if (last && last->process == run->process && last->segment == run->segment &&
            last->flags == run->flags && run_end(last) == run->va &&
            last->page + last->page_count == run->page)
            last->page_count += run->page_count;
        else
            list->runs[out++] = *run;
    }
    list->count = out;
}

bool workload_expected_translations(const struct workload *workload, uint32_t end_op,
                                    struct workload_translation **out, size_t *out_count,
                                    struct workload_error *error)
{
    struct run_list list = {0};

    *out = NULL;
    *out_count = 0;
    if (end_op > workload->op_count)
        end_op = workload->op_count;
    for (uint32_t i = 0; i < end_op; i++) {
        const struct workload_op *op = &workload->ops[i];
        struct workload_translation fresh = {.process = op->object,
                                             .segment = op->segment,
                                             .flags = op->flags,
                                             .va = op->offset,
                                             .page = op->value,
                                             .page_count = op->size / PAGE_BYTES};

        if (op->kind != WORKLOAD_OP_PTE_MAP && op->kind != WORKLOAD_OP_PTE_UNMAP)
            continue;
        if (op->flags & WORKLOAD_PROTECT_ZERO)
            fresh.page = fresh.va / PAGE_BYTES;
        if (!replace_range(&list, &fresh, op->kind == WORKLOAD_OP_PTE_MAP)) {
            free(list.runs);
            workload_error_set(error, "%.200s: out of memory", workload->path);
            return false;
        }
    }
    join_neighbours(&list);
    *out = list.runs;
    *out_count = list.count;
    return true;
}
