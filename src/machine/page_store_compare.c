/*
 * Comparisons. Descriptors decide between symbolic pages (page_content.c says why that is exact);
 * where one side has real bytes, both sides' bytes are compared.
 */
#include "machine/page_store_private.h"

static bool report(uint64_t *out_difference, uint64_t offset)
{
    if (out_difference)
        *out_difference = offset;
    return false;
}

static uint64_t first_differing_byte(const uint8_t *a, const uint8_t *b, uint64_t bytes)
{
    uint64_t i = 0;

    while (i < bytes && a[i] == b[i])
        i++;
    return i;
}

/* Bytes of part of a page, in place when it has any, else in the buffer. */
static const uint8_t *part_bytes(const struct page_store *store, uint64_t page, uint64_t offset,
                                 uint64_t bytes, uint8_t *buffer)
{
    uint64_t descriptor = page_descriptor(store, page);

    page_foreign_refresh(store, page, 1);
    if (descriptor_is_bytes(descriptor))
        return page_home(store, page) + offset;
    page_descriptor_bytes(descriptor, offset, bytes, buffer);
    return buffer;
}

/* Offset, in the part, of the first byte that differs; bytes when none does. */
static uint64_t compare_part(const struct page_store *a, uint64_t address_a,
                             const struct page_store *b, uint64_t address_b, uint64_t bytes)
{
    uint8_t buffer_a[PAGE_BYTES];
    uint8_t buffer_b[PAGE_BYTES];
    const uint8_t *bytes_a;
    const uint8_t *bytes_b;

    bytes_a = part_bytes(a, address_a / PAGE_BYTES, address_a % PAGE_BYTES, bytes, buffer_a);
    bytes_b = part_bytes(b, address_b / PAGE_BYTES, address_b % PAGE_BYTES, bytes, buffer_b);
    if (memcmp(bytes_a, bytes_b, bytes) == 0)
        return bytes;
    return first_differing_byte(bytes_a, bytes_b, bytes);
}

/* The same against a descriptor. */
static uint64_t compare_part_with(const struct page_store *store, uint64_t address, uint64_t bytes,
                                  uint64_t descriptor)
{
    uint8_t buffer[PAGE_BYTES];
    uint8_t expected[PAGE_BYTES];
    const uint8_t *found;

    if (page_descriptor(store, address / PAGE_BYTES) == descriptor)
        return bytes;
    found = part_bytes(store, address / PAGE_BYTES, address % PAGE_BYTES, bytes, buffer);
    page_descriptor_bytes(descriptor, address % PAGE_BYTES, bytes, expected);
    if (memcmp(found, expected, bytes) == 0)
        return bytes;
    return first_differing_byte(found, expected, bytes);
}

/* Number of leading pages with equal descriptors that are not BYTES. */
static uint64_t count_equal(const uint64_t *a, const uint64_t *b, uint64_t count)
{
    uint64_t i = 0;

    for (; i + 8 <= count; i += 8) {
        uint64_t wrong = 0;

        for (int j = 0; j < 8; j++)
            wrong |= (a[i + j] ^ b[i + j]) | (a[i + j] & DESCRIPTOR_BYTES);
        if (wrong)
            break;
    }
    while (i < count && a[i] == b[i] && !descriptor_is_bytes(a[i]))
        i++;
    return i;
}

uint64_t page_store_count_same(const struct page_store *a, uint64_t page_a,
                               const struct page_store *b, const uint64_t *pages, uint64_t mask,
                               uint64_t count)
{
    uint64_t i = 0;

    assert_pages(a, page_a, count);
    for (; i < count; i++) {
        const uint64_t wanted = page_descriptor(a, page_a + i);

        assert_pages(b, pages[i] & mask, 1);
        if (page_descriptor(b, pages[i] & mask) != wanted || descriptor_is_bytes(wanted))
            break;
    }
    return i;
}

/* Number of leading pages that have a descriptor which grows by step. */
static uint64_t count_continued(const uint64_t *found, uint64_t count, uint64_t descriptor,
                                uint64_t step)
{
    uint64_t i = 0;

    for (; i + 16 <= count; i += 16) {
        uint64_t wrong = 0;

        for (uint64_t j = 0; j < 16; j++)
            wrong |= found[i + j] ^ continue_descriptor(descriptor, step, i + j);
        if (wrong)
            break;
    }
    while (i < count && found[i] == continue_descriptor(descriptor, step, i))
        i++;
    return i;
}

/* The same of the store's pages. */
static uint64_t count_run(const struct page_store *store, uint64_t page, uint64_t count,
                          uint64_t descriptor, uint64_t step)
{
    uint64_t done = 0, piece, same;

    for (; done < count; done += piece) {
        const uint64_t wanted = continue_descriptor(descriptor, step, done);
        uint64_t found, found_step;

        if (page_group(store, page + done)->slot) {
            piece = pages_in_group(page + done, count - done);
            same = count_continued(store->descriptors + page_place(store, page + done), piece,
                                   wanted, step);
        } else {
            piece = page_store_plain_run(store, page + done, count - done, &found, &found_step);
            same = found != wanted ? 0 : found_step == step ? piece : 1;
        }
        if (same < piece)
            return done + same;
    }
    return count;
}

/* Number of leading pages with equal descriptors that are not BYTES. */
static uint64_t count_same_run(const struct page_store *a, uint64_t page_a,
                               const struct page_store *b, uint64_t page_b, uint64_t count)
{
    uint64_t done = 0, piece, same;

    for (; done < count; done += piece) {
        const uint64_t at_a = page_a + done, at_b = page_b + done, left = count - done;
        uint64_t descriptor, step;

        if (!page_group(a, at_a)->slot) {
            piece = page_store_plain_run(a, at_a, left, &descriptor, &step);
            same = count_run(b, at_b, piece, descriptor, step);
        } else if (!page_group(b, at_b)->slot) {
            piece = page_store_plain_run(b, at_b, left, &descriptor, &step);
            same = count_run(a, at_a, piece, descriptor, step);
        } else {
            piece = pages_in_group(at_a, pages_in_group(at_b, left));
            same = count_equal(a->descriptors + page_place(a, at_a),
                               b->descriptors + page_place(b, at_b), piece);
        }
        if (same < piece)
            return done + same;
    }
    return count;
}

bool page_store_compare(struct page_store *a, uint64_t page_a, struct page_store *b,
                        uint64_t page_b, uint64_t count, uint64_t *out_difference)
{
    uint64_t i = 0;

    assert_pages(a, page_a, count);
    assert_pages(b, page_b, count);
    if (count == 1) { /* scattered pages: most comparisons are of one */
        const uint64_t descriptor = page_descriptor(a, page_a);

        if (page_descriptor(b, page_b) == descriptor && !descriptor_is_bytes(descriptor))
            return true;
    }
    for (;;) {
        uint64_t equal;

        i += count_same_run(a, page_a + i, b, page_b + i, count - i);
        if (i == count)
            return true;
        equal =
            compare_part(a, (page_a + i) * PAGE_BYTES, b, (page_b + i) * PAGE_BYTES, PAGE_BYTES);
        if (equal != PAGE_BYTES)
            return report(out_difference, i * PAGE_BYTES + equal);
        i++;
    }
}

bool page_store_compare_bytes(struct page_store *a, uint64_t address_a, struct page_store *b,
                              uint64_t address_b, uint64_t bytes, uint64_t *out_difference)
{
    uint64_t done = 0;
    uint64_t piece;

    ASSERT(page_store_contains(a, address_a, bytes));
    ASSERT(page_store_contains(b, address_b, bytes));
    for (; done < bytes; done += piece) {
        uint64_t in_page_a = (address_a + done) % PAGE_BYTES;
        uint64_t in_page_b = (address_b + done) % PAGE_BYTES;
        uint64_t left = bytes - done;
        uint64_t equal;

        if (in_page_a == 0 && in_page_b == 0 && left >= PAGE_BYTES) {
            piece = align_down(left, PAGE_BYTES);
            if (!page_store_compare(a, (address_a + done) / PAGE_BYTES, b,
                                    (address_b + done) / PAGE_BYTES, piece / PAGE_BYTES, &equal))
                return report(out_difference, done + equal);
            continue;
        }
        piece = min_u64(left, PAGE_BYTES - max_u64(in_page_a, in_page_b));
        equal = compare_part(a, address_a + done, b, address_b + done, piece);
        if (equal != piece)
            return report(out_difference, done + equal);
    }
    return true;
}

uint64_t page_store_count_tag(const struct page_store *store, uint64_t page, uint64_t tag,
                              uint64_t count)
{
    assert_pages(store, page, count);
    return count_run(store, page, count, tag_descriptor(tag), 1);
}

uint64_t page_store_count_untouched(const struct page_store *store, uint64_t page, uint64_t count)
{
    uint64_t done = 0;

    assert_pages(store, page, count);
    while (done < count && !page_group(store, page + done)->is_touched)
        done += pages_in_group(page + done, count - done);
    return done;
}

/* Against tag pages when is_tag, value naming the first one, else against the pattern. */
static bool is_symbolic(const struct page_store *store, uint64_t address, uint64_t bytes,
                        bool is_tag, uint64_t value, uint64_t *out_difference)
{
    const uint64_t base_page = address / PAGE_BYTES;
    uint64_t done = 0;
    uint64_t piece;

    ASSERT(page_store_contains(store, address, bytes));
    for (; done < bytes; done += piece) {
        uint64_t page = (address + done) / PAGE_BYTES;
        uint64_t in_page = (address + done) % PAGE_BYTES;
        uint64_t descriptor = is_tag ? tag_descriptor(value + (page - base_page)) : value;
        uint64_t equal;

        if (in_page == 0) {
            uint64_t whole = (bytes - done) / PAGE_BYTES;
            uint64_t same = count_run(store, page, whole, descriptor, is_tag);

            piece = same * PAGE_BYTES;
            if (piece)
                continue;
        }
        piece = min_u64(bytes - done, PAGE_BYTES - in_page);
        equal = compare_part_with(store, address + done, piece, descriptor);
        if (equal != piece)
            return report(out_difference, done + equal);
    }
    return true;
}

bool page_store_is_tag(struct page_store *store, uint64_t address, uint64_t bytes, uint64_t tag,
                       uint64_t *out_difference)
{
    return is_symbolic(store, address, bytes, true, tag, out_difference);
}

bool page_store_is_fill(struct page_store *store, uint64_t address, uint64_t bytes,
                        uint32_t pattern, uint64_t *out_difference)
{
    return is_symbolic(store, address, bytes, false, pattern, out_difference);
}
