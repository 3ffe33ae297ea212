/*
 * A bitmap, and above it a binary tree of run lengths.
 *
 * The bitmap has a bit for each page, set when free. 512 pages, a cache line of it, are a block;
 * the tree knows of each block, and of each pair of blocks and so on up, three lengths: the free
 * run at its start, the free run at its end, and the longest anywhere in it. Two children give
 * those of their parent, so a change climbs in O(log n), and the first run of at least n pages is
 * found in one descent, runs that cross blocks included:
 *
 *     parent    |#####......#|##...####...|     . free, # taken
 *     left      |#####......#|                  prefix 0, suffix 0, longest 6
 *     right                  |##...####...|     prefix 0, suffix 3, longest 3
 *
 * Why not a buddy allocator: it gives and merges aligned powers of two only, so that 100 MB are
 * many pieces where one run would do, and free memory that is contiguous but not aligned is lost
 * to it. Why not the range allocator: after some time of page-wise use its nodes outnumber the
 * bits of this bitmap. The cost is the tree: 12 bytes for each 512 pages, twice, rounded up to a
 * power of two of blocks.
 */
#include "base/page_allocator.h"

#include "base/assert.h"
#include "base/bits.h"

#include <string.h>

#define WORD_BITS   64
#define BLOCK_WORDS 8
#define BLOCK_PAGES (BLOCK_WORDS * WORD_BITS)
#define NOT_FOUND   UINT64_MAX

/* Misaligned runs looked at before one that suits any alignment is preferred. */
#define ALIGNED_TRIES 32

struct page_block {
    uint32_t prefix; /* free pages at the start */
    uint32_t suffix; /* free pages at the end */
    uint32_t longest;
};

_Static_assert(PAGE_ALLOCATOR_PAGES_MAX <= UINT32_MAX, "a run of all pages fits the lengths");

/* The length of the longest run of ones in the word, or `longest` where none is longer. */
static uint32_t longest_run(uint64_t word, uint32_t longest)
{
    uint64_t starts = word; /* of the runs of `sure` ones or more */
    uint32_t step;

    if (longest >= WORD_BITS)
        return longest;
    for (uint32_t sure = 1; sure <= longest && starts; sure += step) {
        step = (uint32_t)min_u64(sure, longest + 1 - sure);
        starts &= starts >> step;
    }
    for (; starts; starts &= starts >> 1)
        longest++;
    return longest;
}

static struct page_block scan_block(const uint64_t words[BLOCK_WORDS])
{
    struct page_block block = {0};
    unsigned run = 0; /* free pages up to here */
    bool is_unbroken = true;

    for (unsigned i = 0; i < BLOCK_WORDS; i++) {
        uint64_t word = words[i];

        if (word == UINT64_MAX) {
            run += WORD_BITS;
            continue;
        }
        run += ctz_u64(~word);
        if (is_unbroken)
            block.prefix = run;
        is_unbroken = false;
        block.longest = longest_run(word, (uint32_t)max_u64(block.longest, run));
        run = WORD_BITS - 1 - log2_floor_u64(~word);
    }
    if (is_unbroken)
        block.prefix = run;
    block.longest = (uint32_t)max_u64(block.longest, run);
    block.suffix = run;
    return block;
}

static bool is_same_block(const struct page_block *a, const struct page_block *b)
{
    return a->prefix == b->prefix && a->suffix == b->suffix && a->longest == b->longest;
}

/* Two neighbours of half pages each. */
static struct page_block join(const struct page_block *left, const struct page_block *right,
                              uint32_t half)
{
    struct page_block block = {
        .prefix = left->prefix == half ? half + right->prefix : left->prefix,
        .suffix = right->suffix == half ? half + left->suffix : right->suffix,
        .longest = left->suffix + right->prefix,
    };

    if (block.longest < left->longest)
        block.longest = left->longest;
    if (block.longest < right->longest)
        block.longest = right->longest;
    return block;
}

static void fill_words(struct page_allocator *pa, uint64_t first, uint64_t count, bool is_free)
{
    while (count) {
        unsigned bit = (unsigned)(first % WORD_BITS);
        unsigned bits = (unsigned)min_u64(WORD_BITS - bit, count);
        uint64_t mask = low_mask_u64(bits) << bit;

        if (is_free)
            pa->words[first / WORD_BITS] |= mask;
        else
            pa->words[first / WORD_BITS] &= ~mask;
        first += bits;
        count -= bits;
    }
}

/* Mark the pages, all of which are in the other state, and bring the tree up to date. */
static void mark(struct page_allocator *pa, uint64_t first, uint64_t count, bool is_free)
{
    size_t low = pa->leaf_count + (size_t)(first / BLOCK_PAGES);
    size_t high = pa->leaf_count + (size_t)((first + count - 1) / BLOCK_PAGES);
    uint32_t whole = is_free ? BLOCK_PAGES : 0;
    uint32_t half = BLOCK_PAGES;

    fill_words(pa, first, count, is_free);
    for (size_t i = low; i <= high; i++) {
        if (i == low || i == high)
            pa->blocks[i] = scan_block(&pa->words[(i - pa->leaf_count) * BLOCK_WORDS]);
        else
            pa->blocks[i] = (struct page_block){whole, whole, whole};
    }
    for (low /= 2, high /= 2; low; low /= 2, high /= 2, half *= 2) {
        bool is_changed = false;

        for (size_t i = low; i <= high; i++) {
            struct page_block block = join(&pa->blocks[2 * i], &pa->blocks[2 * i + 1], half);

            is_changed |= !is_same_block(&block, &pa->blocks[i]);
            pa->blocks[i] = block;
        }
        if (!is_changed)
            break;
    }
    pa->free_count = is_free ? pa->free_count + count : pa->free_count - count;
}

enum page_status page_allocator_init(struct page_allocator *pa,
                                     const struct base_services *services, uint64_t page_count)
{
    uint64_t block_count = div_round_up(page_count, BLOCK_PAGES);

    memset(pa, 0, sizeof *pa);
    if (page_count == 0 || page_count > PAGE_ALLOCATOR_PAGES_MAX)
        return PAGE_INVALID;

    pa->services = services;
    pa->page_count = page_count;
    pa->word_count = (size_t)block_count * BLOCK_WORDS;
    pa->leaf_count = (size_t)1 << log2_ceil_u64(block_count);
    pa->words = base_alloc_array(services, pa->word_count, sizeof *pa->words);
    pa->blocks = base_alloc_array(services, 2 * pa->leaf_count, sizeof *pa->blocks);
    if (!pa->words || !pa->blocks) {
        page_allocator_fini(pa);
        return PAGE_NO_MEMORY;
    }
    mark(pa, 0, page_count, true);
    return PAGE_OK;
}

void page_allocator_fini(struct page_allocator *pa)
{
    base_free_array(pa->services, pa->words, pa->word_count, sizeof *pa->words);
    base_free_array(pa->services, pa->blocks, 2 * pa->leaf_count, sizeof *pa->blocks);
    memset(pa, 0, sizeof *pa);
}

/* The first page at or after from that is in the state, in words; at most end. */
static uint64_t find_in_words(const struct page_allocator *pa, uint64_t from, uint64_t end,
                              bool is_free)
{
    uint64_t flip = is_free ? 0 : UINT64_MAX;

    while (from < end) {
        uint64_t word = (pa->words[from / WORD_BITS] ^ flip) >> from % WORD_BITS;

        if (word)
            return min_u64(from + ctz_u64(word), end);
        from = align_down(from, WORD_BITS) + WORD_BITS;
    }
    return end;
}

/* Where the free run that starts at page ends. */
static uint64_t find_run_end(const struct page_allocator *pa, uint64_t page)
{
    uint64_t block_end = align_down(page, BLOCK_PAGES) + BLOCK_PAGES;
    uint64_t end = find_in_words(pa, page, min_u64(block_end, pa->page_count), false);
    size_t node;
    uint64_t size = BLOCK_PAGES;

    if (end < block_end || end == pa->page_count)
        return end;

    /* Climb while what lies to the right is free as a whole, then go down to where it is not. */
    node = pa->leaf_count + (size_t)(end / BLOCK_PAGES);
    for (;;) {
        if (pa->blocks[node].prefix < size)
            return end + pa->blocks[node].prefix;
        end += size;
        while (node % 2) {
            node /= 2;
            size *= 2;
        }
        if (node == 0 || end >= pa->page_count)
            return end;
        node++;
    }
}

/*
 * The first page, at or after from, of count free pages in a row; NOT_FOUND when there is none.
 * Carry is how many pages right before the node are free and not before from.
 */
static uint64_t find_run_below(const struct page_allocator *pa, size_t node, uint64_t start,
                               uint64_t size, uint64_t from, uint64_t count, uint64_t *carry)
{
    const struct page_block *block = &pa->blocks[node];
    uint64_t found;

    if (start + size <= from)
        return NOT_FOUND;
    if (start >= from) {
        if (*carry + block->prefix >= count)
            return start - *carry;
        if (block->longest < count) {
            *carry = block->prefix == size ? *carry + size : block->suffix;
            return NOT_FOUND;
        }
    }
    if (size > BLOCK_PAGES) {
        found = find_run_below(pa, 2 * node, start, size / 2, from, count, carry);
        if (found != NOT_FOUND)
            return found;
        return find_run_below(pa, 2 * node + 1, start + size / 2, size / 2, from, count, carry);
    }

    /* One block: its runs one by one. The last, empty if need be, may go on in the next block. */
    uint64_t end = min_u64(start + size, pa->page_count);
    uint64_t run_end = max_u64(start, from);

    while (run_end < end) {
        uint64_t run = find_in_words(pa, run_end, end, true);

        run_end = find_in_words(pa, run, end, false);
        if (run_end - run >= count)
            return run;
        *carry = run_end - run;
    }
    return NOT_FOUND;
}

static uint64_t find_run(const struct page_allocator *pa, uint64_t from, uint64_t count)
{
    uint64_t carry = 0;

    return find_run_below(pa, 1, 0, (uint64_t)pa->leaf_count * BLOCK_PAGES, from, count, &carry);
}

enum page_status page_allocator_take(struct page_allocator *pa, uint64_t page_count,
                                     enum page_policy policy, struct page_run *runs,
                                     size_t runs_max, size_t *out_run_count)
{
    uint64_t left = page_count;
    size_t run_count = 0;

    *out_run_count = 0;
    if (page_count == 0)
        return PAGE_INVALID;
    if (page_count > pa->free_count)
        return PAGE_FULL;

    for (uint64_t from = 0; left; run_count++) {
        struct page_run run;

        if (run_count == runs_max)
            goto release_runs;
        if (policy == PAGE_FILL_GAPS) {
            run.first_page = find_run(pa, from, 1);
            run.page_count = min_u64(find_run_end(pa, run.first_page) - run.first_page, left);
            from = run.first_page + run.page_count;
        } else {
            run.page_count = min_u64(pa->blocks[1].longest, left);
            run.first_page = find_run(pa, 0, run.page_count);
        }
        ASSERT(run.first_page != NOT_FOUND);
        mark(pa, run.first_page, run.page_count, false);
        left -= run.page_count;
        runs[run_count] = run;
    }
    *out_run_count = run_count;
    return PAGE_OK;

release_runs:
    while (run_count--) {
        mark(pa, runs[run_count].first_page, runs[run_count].page_count, true);
        runs[run_count] = (struct page_run){0};
    }
    return PAGE_TOO_MANY_RUNS;
}

/* The first run of count pages whose start suits the alignment, trying at most tries runs. */
static uint64_t find_aligned_run(const struct page_allocator *pa, uint64_t *from, uint64_t count,
                                 uint64_t alignment, uint64_t tries)
{
    for (; tries; tries--) {
        uint64_t run = find_run(pa, *from, count);
        uint64_t end;

        *from = run;
        if (run == NOT_FOUND)
            return NOT_FOUND;
        end = find_run_end(pa, run);
        run = align_up(run, alignment);
        if (run < end && end - run >= count)
            return run;
        *from = end;
    }
    return NOT_FOUND;
}

enum page_status page_allocator_take_contiguous(struct page_allocator *pa, uint64_t page_count,
                                                uint64_t alignment_pages, uint64_t *out_first_page)
{
    uint64_t alignment = max_u64(alignment_pages, 1);
    uint64_t from = 0;
    uint64_t first;

    *out_first_page = 0;
    if (page_count == 0 || !is_power_of_two(alignment))
        return PAGE_INVALID;
    if (page_count > pa->free_count)
        return PAGE_FULL;
    /* Only page 0 is a multiple of more, and it is one of this too. */
    alignment = min_u64(alignment, PAGE_ALLOCATOR_PAGES_MAX);

    first = find_aligned_run(pa, &from, page_count, alignment, ALIGNED_TRIES);
    if (first == NOT_FOUND && from != NOT_FOUND) {
        first = find_run(pa, 0, page_count + alignment - 1);
        if (first != NOT_FOUND)
            first = align_up(first, alignment);
        else
            first = find_aligned_run(pa, &from, page_count, alignment, UINT64_MAX);
    }
    if (first == NOT_FOUND)
        return PAGE_FULL;

    mark(pa, first, page_count, false);
    *out_first_page = first;
    return PAGE_OK;
}

/* Of the runs of one block that are long enough, the last pages of the last; NOT_FOUND. */
static uint64_t find_last_in_block(const struct page_allocator *pa, uint64_t start, uint64_t count)
{
    uint64_t end = min_u64(start + BLOCK_PAGES, pa->page_count);
    uint64_t found = NOT_FOUND;

    while (start < end) {
        uint64_t run = find_in_words(pa, start, end, true);

        start = find_in_words(pa, run, end, false);
        if (start - run >= count)
            found = start - count;
    }
    return found;
}

/*
 * The last page that begins count free pages in a row; NOT_FOUND when there is none. Carry is how
 * many pages right behind the node are free.
 */
static uint64_t find_last_below(const struct page_allocator *pa, size_t node, uint64_t start,
                                uint64_t size, uint64_t count, uint64_t *carry)
{
    const struct page_block *block = &pa->blocks[node];
    uint64_t found;

    if (*carry + block->suffix >= count)
        return start + size + *carry - count;
    if (block->longest < count) {
        *carry = block->prefix == size ? *carry + size : block->prefix;
        return NOT_FOUND;
    }
    if (size == BLOCK_PAGES)
        return find_last_in_block(pa, start, count);
    found = find_last_below(pa, 2 * node + 1, start + size / 2, size / 2, count, carry);
    if (found != NOT_FOUND)
        return found;
    return find_last_below(pa, 2 * node, start, size / 2, count, carry);
}

enum page_status page_allocator_take_last(struct page_allocator *pa, uint64_t page_count,
                                          uint64_t alignment_pages, uint64_t *out_first_page)
{
    uint64_t alignment = max_u64(alignment_pages, 1);
    uint64_t first, carry = 0;

    *out_first_page = 0;
    if (page_count == 0 || page_count > pa->free_count || !is_power_of_two(alignment) ||
        alignment > PAGE_ALLOCATOR_PAGES_MAX)
        return page_allocator_take_contiguous(pa, page_count, alignment_pages, out_first_page);
    first = find_last_below(pa, 1, 0, (uint64_t)pa->leaf_count * BLOCK_PAGES,
                            page_count + alignment - 1, &carry);
    if (first == NOT_FOUND)
        return page_allocator_take_contiguous(pa, page_count, alignment_pages, out_first_page);
    first = align_down(first + alignment - 1, alignment);
    mark(pa, first, page_count, false);
    *out_first_page = first;
    return PAGE_OK;
}

static bool is_inside(const struct page_allocator *pa, uint64_t first_page, uint64_t page_count)
{
    return page_count && first_page < pa->page_count && page_count <= pa->page_count - first_page;
}

enum page_status page_allocator_take_at(struct page_allocator *pa, uint64_t first_page,
                                        uint64_t page_count)
{
    uint64_t end = first_page + page_count;

    if (!is_inside(pa, first_page, page_count))
        return PAGE_INVALID;
    if (find_in_words(pa, first_page, end, false) != end)
        return PAGE_FULL;
    mark(pa, first_page, page_count, false);
    return PAGE_OK;
}

enum page_status page_allocator_release(struct page_allocator *pa, uint64_t first_page,
                                        uint64_t page_count)
{
    uint64_t end = first_page + page_count;

    if (!is_inside(pa, first_page, page_count) || find_in_words(pa, first_page, end, true) != end)
        return PAGE_INVALID;
    mark(pa, first_page, page_count, true);
    return PAGE_OK;
}

bool page_allocator_is_free(const struct page_allocator *pa, uint64_t page)
{
    return page < pa->page_count && (pa->words[page / WORD_BITS] >> page % WORD_BITS & 1);
}

uint64_t page_allocator_free_count(const struct page_allocator *pa)
{
    return pa->free_count;
}

uint64_t page_allocator_longest_free_run(const struct page_allocator *pa)
{
    return pa->blocks[1].longest;
}

uint64_t page_allocator_metadata_bytes(const struct page_allocator *pa)
{
    return sizeof *pa + pa->word_count * sizeof *pa->words +
           2 * (uint64_t)pa->leaf_count * sizeof *pa->blocks;
}

const char *page_allocator_check(const struct page_allocator *pa)
{
    static const struct page_block none;
    uint64_t free_count = 0;
    uint32_t half = BLOCK_PAGES;

    for (size_t i = 0; i < pa->word_count; i++)
        free_count += popcount_u64(pa->words[i]);
    if (free_count != pa->free_count)
        return "the free count is not that of the bitmap";
    for (uint64_t page = pa->page_count; page < pa->word_count * WORD_BITS; page++) {
        if (pa->words[page / WORD_BITS] >> page % WORD_BITS & 1)
            return "a page beyond the last is free";
    }
    for (size_t i = 0; i < pa->leaf_count; i++) {
        struct page_block block = none;

        if (i * BLOCK_WORDS < pa->word_count)
            block = scan_block(&pa->words[i * BLOCK_WORDS]);
        if (!is_same_block(&block, &pa->blocks[pa->leaf_count + i]))
            return "a block does not agree with the bitmap";
    }
    for (size_t level = pa->leaf_count / 2; level; level /= 2, half *= 2) {
        for (size_t i = level; i < 2 * level; i++) {
            struct page_block block = join(&pa->blocks[2 * i], &pa->blocks[2 * i + 1], half);

            if (!is_same_block(&block, &pa->blocks[i]))
                return "a node does not agree with its children";
        }
    }
    return NULL;
}
