#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <stdint.h>
#include <cmocka.h>

#include "base/bits.h"
#include "base/hash.h"
#include "base/rng.h"

#include <string.h>

/* Known answers of XXH64. */
static void digests_are_those_of_xxh64(void **state)
{
    (void)state;
    assert_true(hash_bytes("", 0, 0) == UINT64_C(0xef46db3751d8e999));
    assert_true(hash_string("a") == UINT64_C(0xd24ec4f1a98c6e5b));
    assert_true(hash_string("abc") == UINT64_C(0x44bc2cf5ad770999));
    assert_true(hash_string("Nobody inspects the spammish repetition") ==
                UINT64_C(0xfbcea83c8a378bf1));
}

static void the_cut_into_updates_does_not_matter(void **state)
{
    uint8_t bytes[257];
    struct rng rng;

    (void)state;
    rng_init(&rng, 1);
    for (size_t i = 0; i < sizeof bytes; i++)
        bytes[i] = (uint8_t)rng_next(&rng);
    for (size_t size = 0; size <= sizeof bytes; size++) {
        uint64_t whole = hash_bytes(bytes, size, 5);
        struct hash hash;
        size_t done = 0;

        hash_init(&hash, 5);
        while (done < size) {
            size_t part = (size_t)rng_between(&rng, 0, min_u64(size - done, 70));

            hash_update(&hash, bytes + done, part);
            done += part;
        }
        assert_true(hash_final(&hash) == whole);
        assert_true(hash_final(&hash) == whole);
    }
}

static void integers_enter_as_little_endian_bytes(void **state)
{
    const uint8_t bytes[] = {8, 7, 6, 5, 4, 3, 2, 1};
    struct hash hash;

    (void)state;
    hash_init(&hash, 0);
    hash_update_u64(&hash, UINT64_C(0x0102030405060708));
    assert_true(hash_final(&hash) == hash_bytes(bytes, sizeof bytes, 0));
}

static void every_bit_and_the_seed_matter(void **state)
{
    uint8_t bytes[40] = {0};
    uint64_t zero = hash_bytes(bytes, sizeof bytes, 0);

    (void)state;
    assert_true(hash_bytes(bytes, sizeof bytes, 1) != zero);
    assert_true(hash_bytes(bytes, sizeof bytes - 1, 0) != zero);
    for (size_t i = 0; i < 8 * sizeof bytes; i++) {
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
        assert_true(hash_bytes(bytes, sizeof bytes, 0) != zero);
        bytes[i / 8] ^= (uint8_t)(1 << i % 8);
    }
}

static void every_bit_place_and_number_of_words_matters(void **state)
{
    uint64_t words[11] = {0}, first;

    (void)state;
    for (size_t count = 0; count <= ARRAY_COUNT(words); count++) {
        const uint64_t zero = hash_words(words, count);

        assert_true(!count || hash_words(words, count - 1) != zero);
        for (size_t i = 0; i < count; i++)
            for (unsigned bit = 0; bit < 64; bit++) {
                words[i] = UINT64_C(1) << bit;
                assert_true(hash_words(words, count) != zero);
                for (size_t other = 0; other < i; other++) {
                    words[other] = words[i]; /* two bits do not cancel each other */
                    assert_true(hash_words(words, count) != zero);
                    words[other] = 0;
                }
                words[i] = 0;
            }
    }
    words[0] = 1;
    first = hash_words(words, 11);
    words[0] = 0;
    words[4] = 1; /* in the same lane */
    assert_true(hash_words(words, 11) != first);

    for (size_t i = 0; i < 11; i++)
        words[i] = i * i;
    for (size_t count = 0; count <= 6; count++) {
        const uint64_t others[6] = {0, 4, 16, 36, 64, 100};

        assert_true(hash_every_other_word(words, count) == hash_words(others, count));
    }
}

static void neighbouring_integers_are_far_apart(void **state)
{
    uint64_t bits = 0;

    (void)state;
    for (uint64_t i = 1; i <= 64; i++)
        bits += popcount_u64(hash_u64(i) ^ hash_u64(i + 1));
    assert_true(bits > 64 * 28 && bits < 64 * 36);
    assert_true(hash_pair(1, 2) != hash_pair(2, 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digests_are_those_of_xxh64),
        cmocka_unit_test(the_cut_into_updates_does_not_matter),
        cmocka_unit_test(integers_enter_as_little_endian_bytes),
        cmocka_unit_test(every_bit_and_the_seed_matter),
        cmocka_unit_test(every_bit_place_and_number_of_words_matters),
        cmocka_unit_test(neighbouring_integers_are_far_apart),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
