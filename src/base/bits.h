/*
 * Bits: the small arithmetic of sizes, alignments and bit searches, on uint64_t.
 *
 * Place   base. Header only. The one place where base and vidmm name functions of a compiler: each
 *         has a form in C11 beside it, for a compiler that does not have the function.
 * Errors  None: what an argument must satisfy is said at each function. Where a sum can overflow
 *         for lawful input there is a form that reports it.
 * Units   PAGE_BYTES and friends name the 4 KiB page of the model under names that leave the WDK's
 *         PAGE_SIZE and PAGE_SHIFT alone.
 */
#ifndef DRYDOCK_BASE_BITS_H
#define DRYDOCK_BASE_BITS_H

#include <stdbool.h>
#include <stdint.h>

#define KiB UINT64_C(1024)
#define MiB (UINT64_C(1024) * KiB)
#define GiB (UINT64_C(1024) * MiB)
#define TiB (UINT64_C(1024) * GiB)

#define PAGE_BYTES      UINT64_C(4096)
#define PAGE_SHIFT_BITS 12

#define ARRAY_COUNT(array) (sizeof(array) / sizeof((array)[0]))

static inline bool is_power_of_two(uint64_t value)
{
    return value != 0 && (value & (value - 1)) == 0;
}

/* The alignment is a power of two. align_up() must not pass the end of uint64_t. */
static inline uint64_t align_down(uint64_t value, uint64_t alignment)
{
    return value & ~(alignment - 1);
}

static inline uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

static inline bool is_aligned(uint64_t value, uint64_t alignment)
{
    return (value & (alignment - 1)) == 0;
}

/* align_up() for values from outside: false, and *out is 0, when the result does not fit. */
static inline bool align_up_checked(uint64_t value, uint64_t alignment, uint64_t *out)
{
    *out = 0;
    if (value > UINT64_MAX - (alignment - 1))
        return false;
    *out = align_up(value, alignment);
    return true;
}

/* Sum and product with the overflow reported: false, and *out is 0, when it does not fit. */
static inline bool add_u64_checked(uint64_t a, uint64_t b, uint64_t *out)
{
    bool fits = a <= UINT64_MAX - b;

    *out = fits ? a + b : 0;
    return fits;
}

static inline bool mul_u64_checked(uint64_t a, uint64_t b, uint64_t *out)
{
    bool fits = b == 0 || a <= UINT64_MAX / b;

    *out = fits ? a * b : 0;
    return fits;
}

static inline uint64_t div_round_up(uint64_t value, uint64_t divisor)
{
    return value / divisor + (value % divisor != 0);
}

static inline uint64_t min_u64(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t max_u64(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t bytes_to_pages(uint64_t bytes)
{
    return div_round_up(bytes, PAGE_BYTES);
}

/* Number of one bits: sums of ever wider fields, side by side in one word. */
static inline unsigned popcount_u64_portable(uint64_t value)
{
    value -= value >> 1 & UINT64_C(0x5555555555555555);
    value = (value & UINT64_C(0x3333333333333333)) + (value >> 2 & UINT64_C(0x3333333333333333));
    value = (value + (value >> 4)) & UINT64_C(0x0f0f0f0f0f0f0f0f);
    return (unsigned)((value * UINT64_C(0x0101010101010101)) >> 56);
}

/* The bits below the lowest one bit are counted. Value is not 0. */
static inline unsigned ctz_u64_portable(uint64_t value)
{
    return popcount_u64_portable((value & (0 - value)) - 1);
}

/* The highest one bit is copied to each bit below it; the other bits are counted. Not 0. */
static inline unsigned clz_u64_portable(uint64_t value)
{
    for (unsigned shift = 1; shift < 64; shift *= 2)
        value |= value >> shift;
    return popcount_u64_portable(~value);
}

/*
 * ctz_u64(), clz_u64(): number of zero bits below the lowest one bit, above the highest one bit;
 * value is not 0. prefetch() and prefetch_to_write(): the bytes at the address will be needed soon;
 * the address may be any. RARE: the function is kept apart from its callers, which have all
 * registers then. NOINLINE: the same for one that is called often; INLINE: the opposite.
 */
#if defined(__GNUC__)

#define RARE     __attribute__((noinline, cold))
#define NOINLINE __attribute__((noinline))
#define INLINE   static inline __attribute__((always_inline))

static inline unsigned ctz_u64(uint64_t value)
{
    return (unsigned)__builtin_ctzll(value);
}

static inline unsigned clz_u64(uint64_t value)
{
    return (unsigned)__builtin_clzll(value);
}

static inline unsigned popcount_u64(uint64_t value)
{
    return (unsigned)__builtin_popcountll(value);
}

static inline void prefetch(const void *address)
{
    __builtin_prefetch(address);
}

static inline void prefetch_to_write(const void *address)
{
    __builtin_prefetch(address, 1);
}

#else

#define RARE
#define NOINLINE
#define INLINE static inline

static inline unsigned ctz_u64(uint64_t value)
{
    return ctz_u64_portable(value);
}

static inline unsigned clz_u64(uint64_t value)
{
    return clz_u64_portable(value);
}

static inline unsigned popcount_u64(uint64_t value)
{
    return popcount_u64_portable(value);
}

static inline void prefetch(const void *address)
{
    (void)address;
}

static inline void prefetch_to_write(const void *address)
{
    (void)address;
}

#endif

/* Index of the highest one bit: floor(log2(value)). Value is not 0. */
static inline unsigned log2_floor_u64(uint64_t value)
{
    return 63u - clz_u64(value);
}

/* ceil(log2(value)). Value is not 0. */
static inline unsigned log2_ceil_u64(uint64_t value)
{
    return value == 1 ? 0 : log2_floor_u64(value - 1) + 1;
}

/* A mask of the low count bits, 0 to 64. */
static inline uint64_t low_mask_u64(unsigned count)
{
    return count >= 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1;
}

static inline uint64_t rotate_left_u64(uint64_t value, unsigned count)
{
    return (value << (count & 63)) | (value >> ((64 - count) & 63));
}

/* True when [a, a + a_size) and [b, b + b_size) share a byte. Neither end passes 2^64. */
static inline bool ranges_overlap(uint64_t a, uint64_t a_size, uint64_t b, uint64_t b_size)
{
    return a_size && b_size && a <= b + (b_size - 1) && b <= a + (a_size - 1);
}

#endif
