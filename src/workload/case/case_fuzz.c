/*
 * Fuzz target: any bytes as a case file. What is accepted must survive writing and reading again.
 */
#include "workload/file.h"
#include "workload/workload.h"
#include "workload/summary.h"
#include "workload/translations.h"

#include <stdint.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check(const struct workload *workload)
{
    struct workload_translation *runs;
    struct workload_summary summary;
    struct workload_error error;
    struct workload *again;
    char *text;
    size_t text_size, count;

    workload_summarise(workload, &summary);
    if (workload_expected_translations(workload, UINT32_MAX, &runs, &count, &error))
        free(runs);
    if (!workload_print(workload, &text, &text_size, &error))
        return;
    if (!workload_parse(text, text_size, "again", &again, &error) ||
        !workload_equal(workload, again))
        abort();
    workload_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct workload_error error;
    struct workload *workload;
    size_t text_size;
    char *text;

    if (!workload_unpack(data, size, 1 << 20, "fuzz", &text, &text_size, &error))
        return 0;
    if (workload_parse(text, text_size, "fuzz", &workload, &error)) {
        check(workload);
        workload_free(workload);
    }
    free(text);
    return 0;
}
