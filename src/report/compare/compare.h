/*
 * Compare: two runs beside each other, and from where on they differ.
 *
 * Place      report. Uses story; jansson.
 * Model      Calls are compared in their order: function, operation, object, status and arguments.
 *            The first call in which the runs differ is where they part; what follows from it is
 *            not told call by call. Paging operations are aligned: where the runs part, they go on
 *            at the nearest place behind it from which both do the same again for
 *            COMPARE_SAME_OPERATIONS operations.
 *            Figures are the numbers and texts of both run.json.
 *
 *            As JSON (the member "comparison" of the page's facts, and `--json`):
 *
 *            | is_same          | no call, operation or figure differs (but for wall times)
 *            | calls            | {"a", "b": how many, "same": how many from the start}
 *            | first_difference | null, or {"kind", "a", "b", "arguments"}; kind: "call",
 *            |                  | "arguments", "status", "end" (one run has no more calls);
 *            |                  | a and b: {"row", "sequence", "time_ns", "text"} or null;
 *            |                  | arguments: [{"field", "a", "b"}], those that differ
 *            | first_time       | null, or the same for the first call at another time
 *            | operations       | {"a", "b": how many, "same": how many are aligned}
 *            | first_operation  | null, or {"a", "b"}: rows of the first that has no partner
 *            | parts            | [[row in a, how many, row in b, how many], ...]: the operations
 *            |                  | between two stretches that are alike; at most COMPARE_PARTS
 *            | sentences        | the lines of the text about the difference
 *            | has_records      | both runs have one; else figures are all there is
 *            | figures          | [{"path", "a", "b"}]: those that differ, in the order of run.json
 * Ownership  JSON that is given is the caller's.
 */
#ifndef DRYDOCK_REPORT_COMPARE_COMPARE_H
#define DRYDOCK_REPORT_COMPARE_COMPARE_H

#include "report/page/folder_page.h"

#include <jansson.h>
#include <stdio.h>

#define COMPARE_SAME_OPERATIONS 4
#define COMPARE_PARTS           2000
#define COMPARE_FIGURES         2000

/* NULL: no memory. */
json_t *report_compare(const struct report_run *a, const struct report_run *b);

/* The comparison for people, one screen. */
void report_compare_text(FILE *out, const struct report_run *a, const struct report_run *b,
                         const json_t *comparison);

/* The page. */
char *report_compare_html(struct report_run *a, struct report_run *b, const json_t *comparison,
                          size_t *out_size, char error[512]);

#endif
