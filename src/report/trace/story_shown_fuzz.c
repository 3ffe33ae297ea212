/*
 * Tables of any values, as no record gives them: a trace of them, a comparison and a packed form.
 * The first byte of a row says which table it is of; the others are its values.
 */
#include "report/compare/compare.h"
#include "report/trace/perfetto.h"

#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Most are near the numbers of rows and texts that there are; some are at the edges. */
static uint64_t value_of(uint8_t byte)
{
    static const uint64_t edges[] = {
        UINT64_MAX, UINT64_MAX - 1, UINT64_C(1) << 63,   UINT64_C(1) << 32,
        UINT32_MAX, INT64_MAX,      UINT64_C(0x1000000), 1000};

    return byte < 248 ? byte % 40 : edges[byte - 248];
}

static struct story *story_of(const uint8_t *data, size_t size)
{
    static const char *const texts[] = {"process", "node",   "interrupt", "step",     "text",
                                        "object",  "signed", "bytes",     "left_out", "\xff\033"};
    struct story *story = story_create(base_services_libc());

    if (!story)
        abort();
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        story_text(story, texts[i]);
    while (size) {
        enum story_table table = (enum story_table)(*data++ % STORY_TABLE_COUNT);
        size_t row = story_add(story, table);

        size--;
        for (unsigned i = story_tables[table].first; i < story_tables[table + 1].first && size;
             i++, size--)
            story_set(story, (enum story_column)i, row, value_of(*data++));
    }
    return story;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct perfetto_options options = {0};
    const struct story_pack_limits limits = {.base64_bytes = 6000};
    struct report_run a = {.json = json_object(), .story = story_of(data, size)};
    struct report_run b = {.json = json_object(), .story = story_of(data, size / 2)};
    FILE *out = fopen("/dev/null", "w");
    struct perfetto_counts counts;
    json_t *comparison = report_compare(&a, &b);
    unsigned char *bytes;
    char error[512];

    if (!out || !comparison || !perfetto_write(out, a.story, &options, &counts) ||
        !story_pack(a.story, &limits, &bytes, &size, error))
        abort();
    report_compare_text(out, &a, &b, comparison);
    report_left_out_text(out, a.story);
    fclose(out);
    json_decref(comparison);
    story_pack_free(a.story, bytes, size);
    report_run_fini(&a);
    report_run_fini(&b);
    return 0;
}
