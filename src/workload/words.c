/*
 * The words of workloads: of segments, sleeps and flags; numbers and names.
 */
#include "workload/words.h"

#include "base/bits.h"

#include <string.h>

const char *workload_segment_name(enum workload_segment segment)
{
    static const char *const names[WORKLOAD_SEGMENT_COUNT] = {
        [WORKLOAD_SEGMENT_LOCAL] = "local",
        [WORKLOAD_SEGMENT_LOCAL_INVISIBLE] = "local-invisible",
        [WORKLOAD_SEGMENT_APERTURE] = "aperture",
        [WORKLOAD_SEGMENT_SYSTEM] = "system",
    };

    return (unsigned)segment < WORKLOAD_SEGMENT_COUNT ? names[segment] : "unknown";
}

const char *workload_power_name(enum workload_power power)
{
    static const char *const names[WORKLOAD_POWER_COUNT] = {
        [WORKLOAD_POWER_ON] = "on",
        [WORKLOAD_POWER_STANDBY] = "standby",
        [WORKLOAD_POWER_HIBERNATE] = "hibernate",
        [WORKLOAD_POWER_D3] = "d3",
    };

    return (unsigned)power < WORKLOAD_POWER_COUNT ? names[power] : "unknown";
}

const char *workload_fault_name(enum workload_fault fault)
{
    static const char *const names[WORKLOAD_FAULT_COUNT] = {
        [WORKLOAD_FAULT_UNMAPPED] = "unmapped",       [WORKLOAD_FAULT_FREED] = "freed",
        [WORKLOAD_FAULT_READ_ONLY] = "read-only",     [WORKLOAD_FAULT_NO_EXECUTE] = "no-execute",
        [WORKLOAD_FAULT_BEYOND_ROOT] = "beyond-root", [WORKLOAD_FAULT_REFUSED] = "refused",
    };

    return (unsigned)fault < WORKLOAD_FAULT_COUNT ? names[fault] : "mapped again";
}

const char *workload_allocation_flag_name(uint32_t flag)
{
    /* In the order of the bits of enum workload_allocation_flag. */
    static const char *const names[] = {
        "shared",
        "primary",
        "nomap",
        "cpu-visible",
        "cached",
        "accessed-physically",
        "permanent-sysmem",
        "existing-sysmem",
        "protected",
        "hardware-protected",
        "from-end-of-segment",
        "swizzled",
        "overlay",
        "capture",
        "use-alternate-va",
        "synchronous-paging",
        "history-buffer",
        "explicit-residency-notification",
        "cpu-visible-on-demand",
        "disable-large-page-mapping",
        "map-aperture-cpu-visible",
        "disable-partial-residency",
        "restricted-to-single-segment",
        "notify-eviction",
        "notify-iommu-unmap",
        "tiled",
        "rows",
        "existing-kernel-sysmem",
    };
    _Static_assert(WORKLOAD_ALLOCATION_EXISTING_KERNEL_SYSMEM == 1u << (ARRAY_COUNT(names) - 1),
                   "a name for each flag");

    if (!is_power_of_two(flag) || ctz_u64(flag) >= ARRAY_COUNT(names))
        return NULL;
    return names[ctz_u64(flag)];
}

const struct workload_priority_word workload_priority_words[] = {
    {"min", WORKLOAD_PRIORITY_MIN},       {"low", WORKLOAD_PRIORITY_LOW},
    {"normal", WORKLOAD_PRIORITY_NORMAL}, {"high", WORKLOAD_PRIORITY_HIGH},
    {"max", WORKLOAD_PRIORITY_MAX},       {NULL, 0},
};

static int digit_value(char c)
{
    if (c >= '0' && c <= '9')
        return c - '0';
    if (c >= 'a' && c <= 'f')
        return c - 'a' + 10;
    if (c >= 'A' && c <= 'F')
        return c - 'A' + 10;
    return 99;
}

bool workload_parse_number(const char *text, size_t length, uint64_t *out)
{
    uint64_t value = 0, scale = 1;
    int base = 10;
    size_t i = 0;

    *out = 0;
    if (length > 2 && text[0] == '0' && (text[1] == 'x' || text[1] == 'X')) {
        base = 16;
        i = 2;
    }
    if (length > i + 1) {
        switch (text[length - 1]) {
        case 'K':
            scale = KiB;
            break;
        case 'M':
            scale = MiB;
            break;
        case 'G':
            scale = GiB;
            break;
        default:
            break;
        }
        if (scale > 1)
            length--;
    }
    if (i == length)
        return false;
    for (; i < length; i++) {
        int digit = digit_value(text[i]);

        if (digit >= base || value > (UINT64_MAX - (uint64_t)digit) / (uint64_t)base)
            return false;
        value = value * (uint64_t)base + (uint64_t)digit;
    }
    return mul_u64_checked(value, scale, out);
}

bool workload_is_identifier(const char *text, size_t length)
{
    if (length == 0 || length > WORKLOAD_MAX_NAME || (text[0] >= '0' && text[0] <= '9'))
        return false;
    for (size_t i = 0; i < length; i++) {
        char c = text[i];
        bool is_letter = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
        bool is_inner = (c >= '0' && c <= '9') || c == '.' || c == '-' || c == '/';

        if (!is_letter && !(is_inner && i > 0))
            return false;
    }
    return true;
}
