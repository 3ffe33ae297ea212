/*
 * Fuzz target: any bytes as the files of a campaign's folder: rules.json up to the first byte 0,
 * then results.jsonl, whose records get the checksum that they need. Both are read as `drydock
 * merge` and `drydock rules --from` read them, and the folder is resumed: what it then holds can be
 * read.
 */
#include "report/campaign/campaign_report.h"
#include "report/rules_report.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char folder[] = "/tmp/drydock-fuzz-XXXXXX";

static void path_of(char out[128], const char *name)
{
    snprintf(out, 128, "%s/%s", folder, name);
}

static void remove_folder(void)
{
    static const char *const names[] = {"rules.json", "results.jsonl", "results.aside",
                                        "campaign.json", "findings"};
    char path[128];

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        path_of(path, names[i]);
        remove(path);
    }
    rmdir(folder);
}

static void write_file(const char *name, const uint8_t *data, size_t size)
{
    char path[128];
    FILE *file;

    path_of(path, name);
    file = fopen(path, "w");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file) != 0)
        abort();
}

/* Each line as it is, or with its checksum, where it is a record. */
static void write_results(const uint8_t *data, size_t size)
{
    struct campaign_record *record = malloc(sizeof *record);
    char path[128], *text = malloc(size + 1), *next, *line;
    FILE *file;

    path_of(path, "results.jsonl");
    file = fopen(path, "w");
    if (!record || !text || !file)
        abort();
    memcpy(text, data, size);
    text[size] = '\0';
    for (char *at = text; *at; at = next) {
        size_t length = strcspn(at, "\n");
        bool has_end = at[length] == '\n';

        next = at + length + has_end;
        at[length] = '\0';
        line = campaign_record_parse(at, record) ? campaign_line(record) : NULL;
        fputs(line ? line : at, file);
        if (!line && has_end)
            fputc('\n', file);
        free(line);
    }
    free(record);
    free(text);
    if (fclose(file) != 0)
        abort();
}

static bool count(void *context, const struct campaign_record *record)
{
    ++*(unsigned *)context;
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const struct campaign_options options = {.driver = "ref", .model = CAMPAIGN_ALL_MODELS};
    const uint8_t *end = size ? memchr(data, 0, size) : NULL;
    size_t rules = end ? (size_t)(end - data) : size, rest = end ? size - rules - 1 : 0;
    static bool has_folder;
    struct rule_counts *counts = calloc(1, sizeof *counts);
    struct campaign_damage damage;
    struct campaign_store *store;
    unsigned before = 0, after = 0;
    char error[512], path[128];
    uint64_t runs = 0;

    if (!has_folder) {
        if (!mkdtemp(folder))
            abort();
        has_folder = true;
        atexit(remove_folder);
    }
    write_file("rules.json", data, rules);
    write_results(end ? end + 1 : data, rest);
    report_rule_counts_load(folder, counts, &runs, error);
    campaign_store_read(folder, count, &before, &damage, error);
    if (campaign_store_open(folder, &options, true, NULL, NULL, &store, error)) {
        campaign_store_close(store);
        if (!campaign_store_read(folder, count, &after, &damage, error) || after > before ||
            damage.count || !report_rule_counts_load(folder, counts, &runs, error))
            abort();
    }
    path_of(path, "campaign.json");
    remove(path);
    path_of(path, "results.aside");
    remove(path);
    free(counts);
    return 0;
}
