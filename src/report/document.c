#include "report/document.h"

#include "base/assert.h"

#include <string.h>

/* SCHEMA_name and SCHEMA_name_LENGTH: the files of src/report/schemas, as bytes. */
#include "report_schemas.inc"

#define KIND(name, format, summary)                                                                \
    {                                                                                              \
#name, format, summary, SCHEMA_##name, SCHEMA_##name##_LENGTH                              \
    }

static const struct report_document_kind kinds[] = {
    KIND(run, 1, "run.json; drydock run and replay"),
    KIND(runs, 1, "drydock run of several models"),
    KIND(report, 1, "drydock report"),
    KIND(campaign_report, 1, "drydock report of a campaign"),
    KIND(comparison, 1, "drydock report --compare"),
    KIND(trace, 1, "drydock trace"),
    KIND(check, 1, "drydock check and merge"),
    KIND(query, 1, "drydock query"),
    KIND(profiles, 1, "drydock check --profile list"),
    KIND(shrink, 1, "drydock shrink"),
    KIND(import, 1, "drydock import"),
    KIND(gen, 1, "drydock gen NAME"),
    KIND(generators, 1, "drydock gen without a name"),
    KIND(options, 1, "drydock options"),
    KIND(ops, 1, "drydock ops"),
    KIND(zoo, 1, "drydock zoo"),
    KIND(defects, 1, "drydock zoo --list"),
    KIND(rules, 1, "drydock rules"),
    KIND(explain, 1, "drydock explain"),
    KIND(bench, 1, "drydock bench"),
    KIND(exec, 1, "drydock exec"),
    KIND(cc, 1, "drydock cc"),
    KIND(imports, 1, "drydock imports"),
    KIND(new, 1, "drydock new"),
    KIND(doctor, 1, "drydock doctor"),
    KIND(schemas, 1, "drydock schema without a name"),
};
#define KIND_COUNT (sizeof kinds / sizeof kinds[0])

const struct report_document_kind *report_document_kind(size_t place)
{
    return place < KIND_COUNT ? &kinds[place] : NULL;
}

json_t *report_document(const char *name)
{
    size_t i = 0;

    while (i < KIND_COUNT && strcmp(kinds[i].name, name) != 0)
        i++;
    ASSERT(i < KIND_COUNT);
    return i < KIND_COUNT ? json_pack("{s:s, s:i}", "schema", name, "format", kinds[i].format)
                          : NULL;
}

char *report_document_text(json_t *document)
{
    char *text = document ? json_dumps(document, JSON_INDENT(2) | JSON_REAL_PRECISION(9)) : NULL;

    json_decref(document);
    return text;
}
