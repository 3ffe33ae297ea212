/*
 * Documents: what Drydock says as JSON, each kind with a name and the version of its form.
 *
 * Place      report. Each JSON text that is meant for other programs is one: all that verbs print
 *            with --json, and run.json.
 * Model      An object whose members "schema" and "format" say which one it is. The JSON Schema of
 *            each stands in src/report/schemas/NAME.json and is part of the program
 *            (`drydock schema NAME`). New members may come within a format; one that goes, or means
 *            something else, is a new format.
 * Ownership  A document is the caller's, as is every text.
 */
#ifndef DRYDOCK_REPORT_DOCUMENT_H
#define DRYDOCK_REPORT_DOCUMENT_H

#include <jansson.h>
#include <stddef.h>

struct report_document_kind {
    const char *name;
    int format;
    const char *summary; /* which verbs print it, which file it is */
    const char *schema;  /* JSON Schema, draft 2020-12 */
    size_t schema_length;
};

/* By place, in the order of `drydock schema`; NULL: there are no more. */
const struct report_document_kind *report_document_kind(size_t place);

/* With its two members. NULL: no memory. The name is one of the table. */
json_t *report_document(const char *name);

/* As it is printed; takes the document, which may be NULL. NULL: no memory. */
char *report_document_text(json_t *document);

#endif
