/*
 * Fuzz target: any bytes as a line of results.jsonl. What is accepted and written again stays as it
 * is.
 */
#include "report/campaign/campaign_report.h"

#include <stdint.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/*
 * Texts that are too long are cut, maybe in the midst of a character: after that nothing changes.
 */
static void check(const struct campaign_record *record)
{
    char *first = campaign_record_json(record), *second;
    struct campaign_record *again = malloc(sizeof *again);

    if (!first || !again || !campaign_record_parse(first, again))
        abort();
    second = campaign_record_json(again);
    if (!second || !campaign_record_parse(second, again))
        abort();
    free(first);
    first = campaign_record_json(again);
    if (!first || strcmp(first, second) != 0 || again->seed != record->seed ||
        again->outcome != record->outcome || again->finding_count != record->finding_count)
        abort();
    free(again);
    free(second);
    free(first);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct campaign_record *record = malloc(sizeof *record);
    char *text = malloc(size + 1);

    if (!record || !text)
        abort();
    if (size)
        memcpy(text, data, size);
    text[size] = '\0';
    if (campaign_record_parse(text, record))
        check(record);
    free(text);
    free(record);
    return 0;
}
