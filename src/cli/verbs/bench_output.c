#include "cli/verbs/bench_output.h"

#include "cli/terminal.h"

#include <stdio.h>

void bench_show(const struct bench_output *out)
{
    terminal_progress(&(struct terminal_task){.what = "bench",
                                              .note = out->name,
                                              .unit = "benches",
                                              .done = out->index,
                                              .total = out->count,
                                              .draws_at_once = true});
}

void bench_hide(void)
{
    terminal_clear();
}

void bench_begin(struct bench_output *out, const char *key, const char *title)
{
    bench_hide();
    if (out->as_json)
        printf(",\n  \"%s\": [", key);
    else
        printf("%s%s\n", out->has_benches ? "\n" : "", title);
    out->has_benches = true;
    out->has_rows = false;
}

void bench_end(const struct bench_output *out)
{
    if (out->as_json)
        printf("\n  ]");
}

const char *bench_comma(struct bench_output *out)
{
    bool is_first = !out->has_rows;

    out->has_rows = true;
    return is_first ? "" : ",";
}

/* ---- Rows ------------------------------------------------------------------------------------ */

void bench_ratio(struct bench_output *out, const char *key, const char *name, const char *peer,
                 const struct comparison *comparison)
{
    const struct comparison *c = comparison;
    double bound = 0;
    bool is_worse = c->is_steady && bounds_judge(&out->bounds, key, c->ratio, c->spread, &bound);

    if (!c->is_steady)
        bounds_skip(&out->bounds, key);
    bench_hide();
    if (out->as_json) {
        printf("%s\n    {\"key\": \"%s\", \"ours_ns\": %.1f, \"peer\": \"%s\", \"peer_ns\": %.1f, ",
               bench_comma(out), key, c->ours_ns, peer, c->peer_ns);
        if (c->is_steady)
            printf("\"ratio\": %.3f, ", c->ratio);
        printf("\"spread\": %.3f%s}", c->spread, is_worse ? ", \"is_worse\": true" : "");
    } else {
        printf("  %-44s %8.1f ns  %s %8.1f ns  ", name, c->ours_ns, peer, c->peer_ns);
        if (c->is_steady)
            printf("ratio %5.2f  spread %2.0f %%", c->ratio, 100 * c->spread);
        else
            printf("no ratio: spread %.0f %%", 100 * c->spread);
        if (is_worse)
            printf("  WORSE than %.2f", bound);
        printf("\n");
    }
    fflush(stdout);
    bench_show(out);
}

void bench_figure(struct bench_output *out, const char *key, const char *name, double figure,
                  const char *unit)
{
    double bound;
    bool is_worse = bounds_judge(&out->bounds, key, figure, 0, &bound);

    bench_hide();
    if (out->as_json) {
        printf("%s\n    {\"key\": \"%s\", \"figure\": %.4f%s}", bench_comma(out), key, figure,
               is_worse ? ", \"is_worse\": true" : "");
    } else {
        printf("  %-44s %8.2f %s", name, figure, unit);
        if (is_worse)
            printf("  WORSE than %.2f", bound);
        printf("\n");
    }
    fflush(stdout);
    bench_show(out);
}

bool bench_verdict(const struct bench_output *out)
{
    const struct bounds *bounds = &out->bounds;
    FILE *file = out->as_json ? stderr : stdout;
    bool is_fine = bounds->worse == 0;

    if (!bounds->count)
        return true;
    fprintf(file, "\n%u figures judged by their bounds, %u worse, %u too unsteady to tell\n",
            bounds->judged, bounds->worse, bounds->unsteady);
    for (unsigned i = 0; i < bounds->count; i++) {
        if (!bounds->list[i].is_due || bounds->list[i].is_met)
            continue;
        fprintf(file, "no row of this run is %s\n", bounds->list[i].key);
        is_fine = false;
    }
    return is_fine;
}
