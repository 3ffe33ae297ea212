#include "machine/page_bulk.h"

#include "base/bits.h"

#include <string.h>
#include <unistd.h>

#ifdef __SSE2__
#include <emmintrin.h>
#endif

/*
 * In caches of the processor's own, since a machine in a cloud is told of a last cache that it has
 * a part of. With 1 MiB of them copies of 4 MiB are 1.7 times as fast through the cache and copies
 * of 16 MiB 1.6 times as fast around it; fills are as fast around it from 64 MiB on.
 */
#define COPY_CACHES         8u
#define FILL_CACHES         64u
#define CACHE_BYTES_ASSUMED MiB

static uint64_t cache_bytes(void)
{
    static uint64_t bytes;

    if (!bytes) {
        long cache = -1;

#ifdef _SC_LEVEL2_CACHE_SIZE
        cache = sysconf(_SC_LEVEL2_CACHE_SIZE);
#endif
        bytes = cache > 0 ? (uint64_t)cache : CACHE_BYTES_ASSUMED;
    }
    return bytes;
}

bool page_bulk_is_large_copy(uint64_t bytes)
{
    return bytes >= COPY_CACHES * cache_bytes();
}

bool page_bulk_is_large_fill(uint64_t bytes)
{
    return bytes >= FILL_CACHES * cache_bytes();
}

#ifdef __SSE2__

static void copy_around_cache(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    __m128i *next = (void *)to;
    const __m128i *source = (const void *)from;

    for (uint64_t i = 0; i < bytes; i += 64, next += 4, source += 4) {
        __m128i a = _mm_load_si128(source);
        __m128i b = _mm_load_si128(source + 1);
        __m128i c = _mm_load_si128(source + 2);
        __m128i d = _mm_load_si128(source + 3);

        _mm_stream_si128(next, a);
        _mm_stream_si128(next + 1, b);
        _mm_stream_si128(next + 2, c);
        _mm_stream_si128(next + 3, d);
    }
    _mm_sfence();
}

static void fill_around_cache(uint8_t *to, uint64_t bytes, uint32_t pattern)
{
    const __m128i value = _mm_set1_epi32((int)pattern);
    __m128i *next = (void *)to;

    for (uint64_t i = 0; i < bytes; i += 64, next += 4) {
        _mm_stream_si128(next, value);
        _mm_stream_si128(next + 1, value);
        _mm_stream_si128(next + 2, value);
        _mm_stream_si128(next + 3, value);
    }
    _mm_sfence();
}

#else

static void copy_around_cache(uint8_t *to, const uint8_t *from, uint64_t bytes)
{
    memcpy(to, from, bytes);
}

static void fill_around_cache(uint8_t *to, uint64_t bytes, uint32_t pattern)
{
    page_bulk_fill(to, bytes, pattern, false);
}

#endif

void page_bulk_copy(uint8_t *to, const uint8_t *from, uint64_t bytes, bool is_large)
{
    const uintptr_t start = (uintptr_t)to, source = (uintptr_t)from;

    if (start < source + bytes && source < start + bytes)
        memmove(to, from, bytes);
    else if (is_large)
        copy_around_cache(to, from, bytes);
    else
        memcpy(to, from, bytes);
}

void page_bulk_fill(uint8_t *to, uint64_t bytes, uint32_t pattern, bool is_large)
{
    uint64_t whole = align_down(bytes, 64);
    uint32_t block[16];

    /* memset() itself goes around the cache where that pays. */
    if (pattern == (pattern & 0xff) * 0x01010101u) {
        memset(to, (int)(pattern & 0xff), bytes);
        return;
    }
    if (is_large && (uintptr_t)to % 16 == 0 && whole == bytes) {
        fill_around_cache(to, bytes, pattern);
        return;
    }
    for (unsigned i = 0; i < 16; i++)
        block[i] = pattern;
    for (uint64_t i = 0; i < whole; i += 64)
        memcpy(to + i, block, 64);
    memcpy(to + whole, block, bytes - whole);
}
