/*
 * drydock schema: what is in the JSON of each verb, as JSON Schema.
 */
#include "cli/cli.h"

#include "report/document.h"

#include <stdio.h>
#include <string.h>

#define OPTIONS(ROW) ROW(JSON, CLI_JSON)
CLI_OPTIONS(OPTIONS)

static enum cli_status list_schemas(bool is_json)
{
    json_t *json = is_json ? report_document("schemas") : NULL, *list = json_array();
    const struct report_document_kind *kind;

    for (size_t i = 0; (kind = report_document_kind(i)); i++) {
        if (is_json)
            json_array_append_new(list, json_pack("{s:s, s:i, s:s}", "name", kind->name, "format",
                                                  kind->format, "summary", kind->summary));
        else
            printf("%-15s format %d  %s\n", kind->name, kind->format, kind->summary);
    }
    if (!is_json) {
        json_decref(list);
        return CLI_FINE;
    }
    json_object_set_new(json, "schemas", list);
    return cli_print_json(json) ? CLI_FINE : CLI_INTERNAL;
}

static enum cli_status print_schema(const struct cli_arguments *arguments)
{
    const char *names[64] = {0}, *nearest;
    const struct report_document_kind *kind;

    if (arguments->rest_count > 1) {
        cli_error("schema takes one name (drydock schema lists them)");
        return CLI_USAGE;
    }
    if (!arguments->rest_count)
        return list_schemas(arguments->values[OPTION_JSON] != NULL);
    for (size_t i = 0; (kind = report_document_kind(i)); i++) {
        names[i] = kind->name;
        if (strcmp(kind->name, arguments->rest[0]) == 0) {
            fwrite(kind->schema, 1, kind->schema_length, stdout);
            return CLI_FINE;
        }
    }
    nearest = cli_nearest(arguments->rest[0], names);
    cli_error("there is no schema '%s'%s%s%s", arguments->rest[0],
              nearest ? " (did you mean " : " (drydock schema lists them", nearest ? nearest : "",
              nearest ? "?)" : ")");
    return CLI_USAGE;
}

const struct cli_verb cli_schema = {
    .name = "schema",
    .usage = "[NAME] [options]",
    .summary = "Says what is in the JSON that a verb prints, as JSON Schema",
    .details =
        "Each document names its schema and the version of its form: its members \"schema\" and\n"
        "\"format\". Without a NAME, lists the schemas and the verbs that print such documents.",
    .options = options,
    .run = print_schema,
};
