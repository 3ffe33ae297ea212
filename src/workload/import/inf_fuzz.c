/*
 * Fuzz target: any bytes as an INF. The words that come out of one are words.
 */
#include "workload/import/inf.h"

#include "base/assert.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct workload_inf inf;
    struct workload_error error;

    if (workload_inf_read("fuzz.inf", data, size, NULL, &inf, &error) && inf.words[0])
        ASSERT(workload_surroundings_check(inf.words, &error));
    return 0;
}
