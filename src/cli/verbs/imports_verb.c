/*
 * drydock imports: what a driver image needs of the kernel, and what of that the bench has.
 *
 * The image is judged as for a run and neither mapped nor executed. Exit status 1 when an import is
 * missing: a build can ask before it runs anything. A driver that never calls what is missing runs
 * all the same.
 */
#include "cli/cli.h"

#include "base/services.h"
#include "bench/drivers/driver_image.h"
#include "image/image.h"
#include "image/image_file.h"
#include "report/document.h"
#include "report/plain_text.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define OPTIONS(ROW) ROW(JSON, "json", 0, NULL, "print as JSON")
CLI_OPTIONS(OPTIONS)

/* One of the image's, with what the bench says to it. */
struct need {
    const char *module;
    const char *name; /* NULL: an ordinal, which nothing of the bench has */
    uint16_t ordinal;
    bool is_here;
    bool is_delayed;
};

struct needs {
    struct need rows[IMAGE_MAX_IMPORTS];
    size_t count;
    size_t missing;
};

static bool add_need(void *context, const struct image_import *import)
{
    struct needs *needs = context;
    struct need *need = &needs->rows[needs->count++];
    bool is_direct;

    *need = (struct need){
        .module = import->module,
        .name = import->name,
        .ordinal = import->ordinal,
        .is_here = import->name && driver_image_service(import->name, &is_direct) != NULL,
        .is_delayed = import->is_delayed,
    };
    needs->missing += !need->is_here;
    return true;
}

static int compare_needs(const void *a, const void *b)
{
    const struct need *first = a, *second = b;
    int order = strcasecmp(first->module, second->module);

    if (order)
        return order;
    if (!first->name || !second->name)
        return first->name ? -1 : second->name ? 1 : (int)first->ordinal - (int)second->ordinal;
    return strcmp(first->name, second->name);
}

static const char *name_of(const struct need *need, char text[16])
{
    if (need->name)
        return need->name;
    snprintf(text, 16, "#%u", need->ordinal);
    return text;
}

static void print_text(const char *path, const struct needs *needs)
{
    const char *module = NULL;
    char text[16];

    plain_text_print(stdout, "%s: %zu imports, %zu of them missing\n", path, needs->count,
                     needs->missing);
    for (size_t i = 0; i < needs->count; i++) {
        const struct need *need = &needs->rows[i];

        if (!module || strcasecmp(module, need->module) != 0) {
            module = need->module;
            plain_text_print(stdout, "  %s\n", module);
        }
        plain_text_print(stdout, "    %-44s %s\n", name_of(need, text),
                         need->is_here ? "bench has it" : "calling it is a finding");
    }
}

static enum cli_status print_json(const char *path, const struct needs *needs)
{
    json_t *imports = json_array();
    json_t *root;
    char text[16];

    for (size_t i = 0; i < needs->count; i++) {
        const struct need *need = &needs->rows[i];

        json_array_append_new(imports, json_pack("{s:s, s:s, s:b, s:b}", "module", need->module,
                                                 "name", name_of(need, text), "delayed",
                                                 need->is_delayed, "here", need->is_here));
    }
    root =
        json_pack("{s:s, s:I, s:I, s:o}", "file", path, "imports_count", (json_int_t)needs->count,
                  "missing_count", (json_int_t)needs->missing, "imports", imports);
    if (!root || json_object_update_missing_new(root, report_document("imports")) != 0 ||
        json_array_size(imports) != needs->count) {
        cli_error("cannot print the names of '%s' as JSON", path);
        json_decref(root);
        return CLI_INTERNAL;
    }
    json_dumpf(root, stdout, JSON_INDENT(2));
    printf("\n");
    json_decref(root);
    return needs->missing ? CLI_FINDINGS : CLI_FINE;
}

static enum cli_status list_imports(const char *path, const struct image_file *file,
                                    bool wants_json)
{
    struct image_error why;
    struct image *image;
    struct needs *needs;
    enum cli_status status;

    if (!image_open(base_services_libc(), file->bytes, file->size, &image, &why)) {
        cli_error("%s: %s", path, why.text);
        return CLI_USAGE;
    }
    needs = calloc(1, sizeof *needs);
    if (!needs) {
        image_close(image);
        cli_error("no memory");
        return CLI_INTERNAL;
    }
    image_for_each_import(image, add_need, needs);
    qsort(needs->rows, needs->count, sizeof needs->rows[0], compare_needs);
    if (wants_json) {
        status = print_json(path, needs);
    } else {
        print_text(path, needs);
        status = needs->missing ? CLI_FINDINGS : CLI_FINE;
    }
    free(needs);
    image_close(image);
    return status;
}

static enum cli_status run_imports(const struct cli_arguments *arguments)
{
    struct image_file file;
    const char *reason;
    enum cli_status status;

    if (arguments->rest_count != 1) {
        cli_error("imports takes one driver image");
        return CLI_USAGE;
    }
    if (!image_file_map(arguments->rest[0], &file, &reason)) {
        cli_error("%s: %s", arguments->rest[0], reason);
        return CLI_USAGE;
    }
    status = list_imports(arguments->rest[0], &file, arguments->values[OPTION_JSON] != NULL);
    image_file_unmap(&file);
    return status;
}

const struct cli_verb cli_imports = {
    .name = "imports",
    .usage = "FILE.sys [--json]",
    .summary = "list what a driver image imports, and what of that the bench has",
    .details = "A driver runs without what is missing until it calls it, which is a finding that\n"
               "names it. Exit status 1 when something is missing.",
    .options = options,
    .run = run_imports,
};
