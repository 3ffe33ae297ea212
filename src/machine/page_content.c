/*
 * What the bytes of a symbolic page are, and which symbolic page given bytes are.
 *
 * Word j of the page named tag is scramble(hash_u64(tag) ^ j * SPREAD): each step is a bijection of
 * 64 bits, so names differ in every word, words of a page differ from each other, and a word
 * tells its name. The loop is one multiplication a word, which compilers vectorise.
 */
#include "machine/page_bulk.h"
#include "machine/page_store_private.h"

#include "base/hash.h"

#define PAGE_WORDS 512u

#define SPREAD   UINT64_C(0x9e3779b97f4a7c15)
#define SCRAMBLE UINT64_C(0xd6e8feb86659fd93)

static uint64_t tag_word(uint64_t key, uint64_t word_index)
{
    uint64_t word = (key ^ (word_index * SPREAD)) * SCRAMBLE;

    return word ^ (word >> 29);
}

/* x with x ^ (x >> shift) == value. */
static uint64_t undo_xorshift(uint64_t value, unsigned shift)
{
    uint64_t result = value;

    for (unsigned done = shift; done < 64; done += shift)
        result = value ^ (result >> shift);
    return result;
}

/* The inverse of an odd number modulo 2^64, by Newton's iteration. */
static uint64_t odd_inverse(uint64_t odd)
{
    uint64_t inverse = odd;

    for (int i = 0; i < 6; i++)
        inverse *= 2 - odd * inverse;
    return inverse;
}

static uint64_t undo_hash_u64(uint64_t value)
{
    value = undo_xorshift(value, 31) * odd_inverse(UINT64_C(0x94d049bb133111eb));
    value = undo_xorshift(value, 27) * odd_inverse(UINT64_C(0xbf58476d1ce4e5b9));
    return undo_xorshift(value, 30);
}

/* The only name whose word at the index is this; larger than PAGE_TAG_MASK when none is. */
static uint64_t tag_of_word(uint64_t word, uint64_t word_index)
{
    uint64_t key = (undo_xorshift(word, 29) * odd_inverse(SCRAMBLE)) ^ (word_index * SPREAD);

    return undo_hash_u64(key);
}

static uint64_t load_word(const uint8_t *bytes)
{
    uint64_t word;

    memcpy(&word, bytes, sizeof word);
    return word;
}

/* Words of the page, as the bytes that they are. */
static void tag_words(uint64_t key, uint64_t first, uint64_t count, uint8_t *out)
{
    for (uint64_t j = 0; j < count; j++) {
        uint64_t word = tag_word(key, first + j);

        memcpy(out + 8 * j, &word, sizeof word);
    }
}

void page_tag_bytes(uint64_t tag, uint8_t out[4096])
{
    tag_words(hash_u64(tag & PAGE_TAG_MASK), 0, PAGE_WORDS, out);
}

/* The bytes [offset, offset + bytes) of the page, and no more words of it than they need. */
static void tag_part(uint64_t tag, uint64_t offset, uint64_t bytes, uint8_t *out)
{
    const uint64_t key = hash_u64(tag & PAGE_TAG_MASK);
    const uint64_t skipped = offset % 8;
    uint64_t head = min_u64(bytes, (8 - skipped) % 8), whole = (bytes - head) / 8, word;

    if (head) {
        word = tag_word(key, offset / 8);
        memcpy(out, (const uint8_t *)&word + skipped, head);
    }
    tag_words(key, (offset + head) / 8, whole, out + head);
    head += 8 * whole;
    if (head < bytes) {
        word = tag_word(key, (offset + head) / 8);
        memcpy(out + head, &word, bytes - head);
    }
}

void page_fill_pattern(uint8_t *out, uint64_t address, uint64_t bytes, uint32_t pattern)
{
    unsigned turn = 8 * (unsigned)(address & 3);
    uint32_t turned = turn ? pattern >> turn | pattern << (32 - turn) : pattern;

    page_bulk_fill(out, bytes, turned, false);
}

void page_descriptor_bytes(uint64_t descriptor, uint64_t offset, uint64_t bytes, uint8_t *out)
{
    ASSERT(!descriptor_is_bytes(descriptor));
    if (!descriptor_is_tag(descriptor))
        page_fill_pattern(out, offset, bytes, (uint32_t)descriptor);
    else if (bytes == PAGE_BYTES)
        page_tag_bytes(descriptor, out);
    else
        tag_part(descriptor, offset, bytes, out);
}

/* Number of leading bytes, from offset, that are those of the descriptor's page. */
static uint64_t explained_bytes(const uint8_t *bytes, uint64_t offset, uint64_t descriptor)
{
    uint8_t page[PAGE_BYTES];
    uint64_t at = offset;

    page_descriptor_bytes(descriptor, 0, PAGE_BYTES, page);
    while (at < PAGE_BYTES && bytes[at] == page[at])
        at++;
    return at - offset;
}

/* The best single explanation of what stands at offset, a multiple of 8. */
static uint64_t guess_descriptor(const uint8_t *bytes, uint64_t offset)
{
    uint64_t word = load_word(bytes + offset);
    uint64_t tag = tag_of_word(word, offset / 8);

    if ((uint32_t)word == (uint32_t)(word >> 32))
        return (uint32_t)word;
    return tag <= PAGE_TAG_MASK ? tag_descriptor(tag) : DESCRIPTOR_BYTES;
}

uint64_t page_recognise(const uint8_t *bytes)
{
    uint64_t word = load_word(bytes);
    uint64_t tag = tag_of_word(word, 0);

    /* The first word of a tag page may look like a pattern (that of tag 0 is 0): try both. */
    if (explained_bytes(bytes, 0, (uint32_t)word) == PAGE_BYTES)
        return (uint32_t)word;
    if (tag <= PAGE_TAG_MASK && explained_bytes(bytes, 0, tag_descriptor(tag)) == PAGE_BYTES)
        return tag_descriptor(tag);
    return DESCRIPTOR_BYTES;
}

uint64_t page_explain(const uint8_t bytes[4096], uint64_t offset, enum page_kind *out_kind,
                      uint64_t *out_value)
{
    uint64_t first_word = align_up(offset, 8);
    uint64_t guess;
    uint64_t explained;

    *out_kind = PAGE_BYTES_REAL;
    *out_value = 0;
    if (first_word + 16 > PAGE_BYTES)
        return PAGE_BYTES - offset;

    /* One word proves nothing; two of a page do. */
    for (uint64_t at = first_word; at + 16 <= PAGE_BYTES; at += 8) {
        guess = guess_descriptor(bytes, at);
        if (descriptor_is_bytes(guess) || explained_bytes(bytes, at, guess) < 16)
            continue;
        while (at > offset && explained_bytes(bytes, at - 1, guess) > 1)
            at--;
        if (at > offset)
            return at - offset;
        explained = explained_bytes(bytes, offset, guess);
        *out_kind = guess == 0 ? PAGE_ZERO : descriptor_is_tag(guess) ? PAGE_TAG : PAGE_PATTERN;
        *out_value = guess & ~DESCRIPTOR_KIND_MASK;
        return explained;
    }
    return PAGE_BYTES - offset;
}
