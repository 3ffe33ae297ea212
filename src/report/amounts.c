/* Amounts as people read them: bytes with a unit, counts with commas, times. */
#include "report/report.h"

#include "base/bits.h"

#include <inttypes.h>

const char *report_bytes(char text[REPORT_NUMBER_BYTES], uint64_t bytes)
{
    static const struct {
        uint64_t size;
        const char *name;
    } units[] = {{TiB, "TiB"}, {GiB, "GiB"}, {MiB, "MiB"}, {KiB, "KiB"}};

    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        if (bytes >= units[i].size) {
            double value = (double)bytes / (double)units[i].size;

            snprintf(text, REPORT_NUMBER_BYTES, "%.*f %s",
                     value < 100 && bytes % units[i].size ? 2 : 0, value, units[i].name);
            return text;
        }
    }
    snprintf(text, REPORT_NUMBER_BYTES, "%" PRIu64 " B", bytes);
    return text;
}

const char *report_count(char text[REPORT_NUMBER_BYTES], uint64_t count)
{
    char digits[24];
    size_t length = (size_t)snprintf(digits, sizeof digits, "%" PRIu64, count);
    size_t out = 0;

    for (size_t i = 0; i < length; i++) {
        if (i && (length - i) % 3 == 0)
            text[out++] = ',';
        text[out++] = digits[i];
    }
    text[out] = '\0';
    return text;
}

const char *report_time(char text[REPORT_NUMBER_BYTES], uint64_t ns)
{
    if (ns >= 1000000000)
        snprintf(text, REPORT_NUMBER_BYTES, "%.3f s", (double)ns * 1e-9);
    else if (ns >= 1000000)
        snprintf(text, REPORT_NUMBER_BYTES, "%.3f ms", (double)ns * 1e-6);
    else
        snprintf(text, REPORT_NUMBER_BYTES, "%.3f us", (double)ns * 1e-3);
    return text;
}
