/*
 * Bench output: what `drydock bench` prints, as text or as JSON, and the bounds that it is held to.
 *
 * Place      cli, for bench_verb.c.
 * Model      A bench begins, prints rows and ends. A row that is held to a bound has a key
 *            (bench/measure/bounds.h). A ratio that was measured too unsteadily is not told and not
 *            judged.
 */
#ifndef DRYDOCK_CLI_BENCH_OUTPUT_H
#define DRYDOCK_CLI_BENCH_OUTPUT_H

#include "bench/measure/bounds.h"
#include "bench/measure/compare.h"

#include <stdbool.h>

struct bench_output {
    bool as_json, is_quick;
    const char *file;      /* a case that replay plays, too; NULL: none */
    bool has_benches;      /* one has begun */
    bool has_rows;         /* of the bench that began last */
    const char *name;      /* of the one that runs */
    unsigned index, count; /* of those that were chosen */
    struct bounds bounds;
};

void bench_begin(struct bench_output *out, const char *key, const char *title);
void bench_end(const struct bench_output *out);

/* What runs now is shown as progress, until a line is to be printed. */
void bench_show(const struct bench_output *out);
void bench_hide(void);

/* What stands between two rows of a JSON list. */
const char *bench_comma(struct bench_output *out);

/* A row of ours beside a peer, which name names: "  NAME  ours 20 ns, PEER 22 ns: 0.91". */
void bench_ratio(struct bench_output *out, const char *key, const char *name, const char *peer,
                 const struct comparison *comparison);

/* A figure of a row that is no ratio: smaller is better. */
void bench_figure(struct bench_output *out, const char *key, const char *name, double figure,
                  const char *unit);

/* How many rows were judged; false: one is worse, or a bound that is due has no row. */
bool bench_verdict(const struct bench_output *out);

#endif
