/*
 * Fuzz target: any bytes as a baseline. What is accepted is told as gone, each finding once.
 */
#include "report/excuses.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct campaign_summary summary;
    struct excuses *excuses = excuses_create();
    char error[512] = "";

    if (!excuses || (!summary.causes && !campaign_summary_init(&summary)))
        abort();
    if (excuses_parse_baseline(excuses, (const char *)data, size, "baseline", error)) {
        char *told = NULL;
        size_t told_size = 0;
        FILE *out = open_memstream(&told, &told_size);

        if (!out)
            abort();
        excuses_apply(excuses, &summary, true);
        excuses_report(out, excuses, &summary);
        fclose(out);
        free(told);
    } else if (!error[0]) {
        abort(); /* refused without a word */
    }
    excuses_free(excuses);
    return 0;
}
