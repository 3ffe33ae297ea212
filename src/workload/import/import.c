/*
 * Importing: what kind of file is it, and who reads it.
 */
#include "workload/import/import.h"
#include "workload/build/builder.h"
#include "workload/file.h"
#include "workload/import/import_formats.h"
#include "workload/owned.h"

#include <stdlib.h>
#include <string.h>

#define MAX_STEPS 10000

static bool begins_with(const void *data, size_t size, const char *text)
{
    return size >= strlen(text) && memcmp(data, text, strlen(text)) == 0;
}

/* A .trace may begin with comments; its first other line begins with A or S. */
static bool is_trace(const char *data, size_t size)
{
    const char *end = data + size;

    while (data < end && *data == '#') {
        const char *newline = memchr(data, '\n', (size_t)(end - data));

        data = newline ? newline + 1 : end;
    }
    return begins_with(data, (size_t)(end - data), "A ") ||
           begins_with(data, (size_t)(end - data), "S ");
}

bool workload_import_memory(const void *data, size_t size, const char *path,
                            const struct workload_import_options *options, struct workload **out,
                            struct workload_import_report *report, struct workload_error *error)
{
    static const struct workload_import_options defaults = {0};
    struct workload_import_report ignored;
    struct workload_builder *builder;

    *out = NULL;
    if (!options)
        options = &defaults;
    if (!report)
        report = &ignored;
    memset(report, 0, sizeof *report);
    if (begins_with(data, size, "drydock-case")) {
        report->format = WORKLOAD_IMPORT_CASE;
        return workload_parse(data, size, path, out, error);
    }
    if (options->steps > MAX_STEPS) {
        workload_error_set(error, "%.200s: %u steps (expected at most %u)", path, options->steps,
                           MAX_STEPS);
        return false;
    }
    builder = workload_builder_create(path, error);
    if (!builder)
        return false;
    workload_builder_set_progress(builder, options->progress, options->progress_context);
    if (workload_is_rdf(data, size)) {
        report->format = WORKLOAD_IMPORT_RMV;
        workload_import_rmv(builder, data, size, report);
    } else if (is_trace(data, size)) {
        report->format = WORKLOAD_IMPORT_TRACE;
        workload_import_trace(builder, data, size, options->steps ? options->steps : 2, report);
    } else if (begins_with(data, size, "MINI")) {
        workload_builder_fail(builder, "an RMV capture of the format before RDF (expected one "
                                       "saved by a newer version)");
    } else {
        workload_builder_fail(builder, "unknown kind of file (expected a .trace, an .rmv capture "
                                       "or a case)");
    }
    return workload_builder_finish(builder, out, error);
}

bool workload_import(const char *path, const struct workload_import_options *options,
                     struct workload **out, struct workload_import_report *report,
                     struct workload_error *error)
{
    char *data;
    size_t size;
    bool ok;

    *out = NULL;
    if (!workload_file_read(path, &data, &size, error))
        return false;
    ok = workload_import_memory(data, size, path, options, out, report, error);
    free(data);
    return ok;
}
