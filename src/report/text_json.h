/*
 * Text as JSON, for all forms of reports that jansson writes.
 *
 * Place      report.
 * Ownership  The caller owns the string that is given. NULL: no memory.
 */
#ifndef DRYDOCK_REPORT_TEXT_JSON_H
#define DRYDOCK_REPORT_TEXT_JSON_H

#include <jansson.h>

/* Names come from cases, which are bytes: a text that is no UTF-8 is told so, and not printed. */
json_t *report_text_json(const char *text);

#endif
