/* The summary of one or more runs: a table with a column a run, then steps and findings. */
#include "report/report.h"

#include "report/excuses.h"
#include "report/finding_report.h"
#include "report/look.h"
#include "report/plain_text.h"

#include "base/bits.h"
#include "miniport/miniport.h"
#include "miniport/operation.h"
#include "workload/summary.h"

#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#define LABEL_WIDTH  25
#define COLUMN_WIDTH 22
#define CURVE_WIDTH  40

/* ---- The table ------------------------------------------------------------------------------- */

struct table {
    FILE *out;
    const struct run_result *results;
    size_t count;
};

typedef void cell_function(char *text, size_t size, const struct run_result *result);

/* A text that is too wide moves what follows; it is never cut and never touches the next one. */
static void put_cell(const struct table *table, size_t column, const char *text)
{
    if (column + 1 < table->count)
        fprintf(table->out, "%-*s ", COLUMN_WIDTH - 1, text);
    else
        fputs(text, table->out);
}

static void row(const struct table *table, const char *label, cell_function *cell)
{
    fprintf(table->out, "  %-*s", LABEL_WIDTH, label);
    for (size_t i = 0; i < table->count; i++) {
        char text[128] = "";

        cell(text, sizeof text, &table->results[i]);
        put_cell(table, i, text);
    }
    fputc('\n', table->out);
}

#define CELL(name) static void name(char *text, size_t size, const struct run_result *result)

CELL(cell_model)
{
    static const char *const names[] = {
        [RUN_PHYSICAL] = "physical (WDDM 1.x)",
        [RUN_GPUMMU] = "GpuMmu (WDDM 2.x)",
        [RUN_IOMMU] = "IoMmu (WDDM 2.x)",
    };

    snprintf(text, size, "%s", names[result->config.model]);
}

CELL(cell_outcome)
{
    snprintf(text, size, "%s%s", run_outcome_name(result->outcome),
             result->is_interrupted ? ", interrupted"
             : result->is_judged    ? ", judged again"
                                    : "");
}

static void moved(char *text, size_t size, uint64_t bytes)
{
    char number[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s", report_bytes(number, bytes));
}

CELL(cell_moved_in)
{
    moved(text, size, result->statistics.moved_in_bytes);
}

CELL(cell_moved_out)
{
    moved(text, size, result->statistics.moved_out_bytes);
}

CELL(cell_filled)
{
    moved(text, size, result->statistics.filled_bytes);
}

CELL(cell_discarded)
{
    moved(text, size, result->statistics.discarded_bytes);
}

CELL(cell_evictions)
{
    char number[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s", report_count(number, result->statistics.evictions));
}

CELL(cell_ahead)
{
    moved(text, size, result->statistics.ahead_bytes);
}

CELL(cell_hits)
{
    const struct vidmm_statistics *s = &result->statistics;
    uint64_t total = s->residency_requests;

    if (total)
        snprintf(text, size, "%.1f %%", 100.0 * (double)s->residency_hits / (double)total);
    else
        snprintf(text, size, "-");
}

CELL(cell_calls)
{
    char calls[REPORT_NUMBER_BYTES], repeats[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s (%s)", report_count(calls, result->statistics.build_calls),
             report_count(repeats, result->statistics.multipass_calls));
}

CELL(cell_packets)
{
    char count[REPORT_NUMBER_BYTES], bytes[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s (%s)", report_count(count, result->statistics.paging_submissions),
             report_bytes(bytes, result->statistics.paging_bytes));
}

CELL(cell_submissions)
{
    char number[REPORT_NUMBER_BYTES];
    int length = snprintf(text, size, "%s", report_count(number, result->submissions));

    if (result->failed_submissions)
        length += snprintf(text + length, size - (size_t)length, ", %s failed",
                           report_count(number, result->failed_submissions));
    if (result->aborted_submissions)
        snprintf(text + length, size - (size_t)length, ", %s aborted",
                 report_count(number, result->aborted_submissions));
}

CELL(cell_operations)
{
    char number[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s", report_count(number, result->operations_played));
}

CELL(cell_checked)
{
    char number[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s",
             result->config.checks_content ? report_count(number, result->pages_checked)
                                           : "(not checked)");
}

CELL(cell_mismatches)
{
    char number[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s", report_count(number, result->mismatches));
}

CELL(cell_translations)
{
    char checked[REPORT_NUMBER_BYTES], wrong[REPORT_NUMBER_BYTES];

    if (result->page_table_lines_skipped)
        snprintf(text, size, "(has no page tables)");
    else
        snprintf(text, size, "%s, %s wrong", report_count(checked, result->translations_checked),
                 report_count(wrong, result->translation_mismatches));
}

CELL(cell_time)
{
    char number[REPORT_NUMBER_BYTES];

    snprintf(text, size, "%s", report_time(number, result->virtual_time_ns));
}

CELL(cell_slowdown)
{
    snprintf(text, size, "%.*f x%s", result->slowdown < 1000 ? 3 : 0, result->slowdown,
             result->is_slowdown_measured ? "" : " (durations)");
}

CELL(cell_ideal)
{
    char number[REPORT_NUMBER_BYTES];
    uint64_t ideal_ns = run_result_ideal_ns(result);

    if (ideal_ns && result->virtual_time_ns)
        snprintf(text, size, "%s, %.3f of it", report_time(number, ideal_ns),
                 (double)ideal_ns / (double)result->virtual_time_ns);
    else
        snprintf(text, size, "-");
}

CELL(cell_fairness)
{
    snprintf(text, size, "%.3f", run_result_fairness(result));
}

CELL(cell_wall)
{
    snprintf(text, size, "%.2f s, %.0f MiB", result->wall_seconds,
             (double)result->peak_process_bytes / (double)MiB);
}

CELL(cell_digest)
{
    snprintf(text, size, "%016" PRIx64, result->digest);
}

/* One row an operation that any run had. */
static void operation_rows(const struct table *table)
{
    for (unsigned op = 0; op < MINIPORT_OPERATION_COUNT; op++) {
        bool is_used = false;

        for (size_t i = 0; i < table->count; i++)
            is_used |= table->results[i].statistics.operations[op] != 0;
        if (!is_used)
            continue;
        fprintf(table->out, "    %-*s ", LABEL_WIDTH - 3, miniport_operation_name(op));
        for (size_t i = 0; i < table->count; i++) {
            char number[REPORT_NUMBER_BYTES];
            uint64_t calls = table->results[i].statistics.operations[op];

            put_cell(table, i, calls ? report_count(number, calls) : "-");
        }
        fputc('\n', table->out);
    }
}

/* Why things left, one row a reason. */
static void reason_rows(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        for (unsigned r = 0; r < table->results[i].eviction_reason_count; r++) {
            const char *reason = table->results[i].eviction_reasons[r];
            bool was_printed = false;

            for (size_t j = 0; j < i; j++) {
                for (unsigned k = 0; k < table->results[j].eviction_reason_count; k++)
                    was_printed |= strcmp(table->results[j].eviction_reasons[k], reason) == 0;
            }
            if (was_printed)
                continue;
            fprintf(table->out, "    for %-*s", LABEL_WIDTH - 6, reason);
            for (size_t j = 0; j < table->count; j++) {
                char number[REPORT_NUMBER_BYTES];
                uint64_t count = 0;

                for (unsigned k = 0; k < table->results[j].eviction_reason_count; k++) {
                    if (strcmp(table->results[j].eviction_reasons[k], reason) == 0)
                        count = table->results[j].evictions_by_reason[k];
                }
                put_cell(table, j, count ? report_count(number, count) : "-");
            }
            fputc('\n', table->out);
        }
    }
}

/* ---- Around it ------------------------------------------------------------------------------- */

static void heading(FILE *out, const struct workload *workload, const struct run_result *result)
{
    const struct run_config *config = &result->config;
    struct workload_summary summary;
    char a[REPORT_NUMBER_BYTES], b[REPORT_NUMBER_BYTES], c[REPORT_NUMBER_BYTES];

    workload_summarise(workload, &summary);
    fprintf(out, "%s: driver %s, seed %" PRIu64 "\n", result->case_name, config->driver,
            config->seed);
    fprintf(out, "  workload  %u allocations, %s alive at the peak, %u submissions, %u steps\n",
            workload->allocation_count, report_bytes(a, summary.peak_live_bytes),
            summary.op_counts[WORKLOAD_OP_SUBMIT], summary.step_count);
    fprintf(out, "  machine   %s of local memory", report_bytes(a, config->local_bytes));
    if (config->visible_bytes < config->local_bytes)
        fprintf(out, " (%s visible)", report_bytes(b, config->visible_bytes));
    fprintf(out, ", %s of system memory (%s pages), aperture %s\n",
            report_bytes(b, config->ram_bytes),
            config->scatter == MACHINE_CONTIGUOUS ? "contiguous" : "scattered",
            report_bytes(c, config->aperture_bytes));
    if (summary.peak_live_bytes > config->local_bytes)
        fprintf(out,
                "            %.0f %% of what is alive at the peak fits, so the rest is paged out "
                "and in\n",
                100.0 * (double)config->local_bytes / (double)summary.peak_live_bytes);
    fputc('\n', out);
}

/* The steps of all runs: what was paged in, and the slowdown. */
static void step_rows(const struct table *table)
{
    const struct run_result *first = &table->results[0];
    uint32_t shown = 0;

    for (uint32_t i = 0; i < first->step_count && shown < 6; i++) {
        bool is_empty = true;

        for (size_t j = 0; j < table->count; j++)
            is_empty &= table->results[j].step_count <= i ||
                        table->results[j].steps[i].end_ns <= table->results[j].steps[i].start_ns;
        if (is_empty)
            continue;
        fprintf(table->out, "    %-*.*s", LABEL_WIDTH - 2, LABEL_WIDTH - 3,
                first->steps[i].name[0] ? first->steps[i].name : "(before)");
        for (size_t j = 0; j < table->count; j++) {
            char text[80] = "-", in[REPORT_NUMBER_BYTES];

            if (i < table->results[j].step_count) {
                const struct run_step *step = &table->results[j].steps[i];

                snprintf(text, sizeof text, "%s", report_bytes(in, step->moved_in_bytes));
                if (step->reference_ns)
                    snprintf(text + strlen(text), sizeof text - strlen(text), ", %.2f x",
                             (double)(step->end_ns - step->start_ns) / (double)step->reference_ns);
            }
            put_cell(table, j, text);
        }
        fputc('\n', table->out);
        shown++;
    }
}

/* How full local memory was, from the first operation to the last: a line for each run. */
static void curve_rows(const struct table *table)
{
    for (size_t i = 0; i < table->count; i++) {
        const struct run_samples *samples = &table->results[i].local_samples;
        char curve[LOOK_CURVE_BYTES(CURVE_WIDTH)], label[LABEL_WIDTH + 1] = "local memory in use";
        char peak[REPORT_NUMBER_BYTES], size[REPORT_NUMBER_BYTES];
        uint64_t most = 0;

        if (!samples->count)
            continue;
        for (uint32_t j = 0; j < samples->count; j++)
            most = samples->used[j] > most ? samples->used[j] : most;
        if (table->count > 1)
            snprintf(label, sizeof label, "local memory, %s",
                     run_model_name(table->results[i].config.model));
        look_curve(curve, CURVE_WIDTH, samples->used, samples->count, samples->size);
        fprintf(table->out, "  %-*s|%s| up to %s of %s\n", LABEL_WIDTH, label, curve,
                report_bytes(peak, most), report_bytes(size, samples->size));
    }
}

void report_findings(FILE *out, const struct report_origin *origin, const struct run_result *result,
                     const struct excuses *excuses)
{
    struct report_finding findings[REPORT_RUN_FINDINGS];
    uint64_t shown[RUN_FINDING_KIND_COUNT] = {0};

    report_findings_of_run(result, origin, findings);
    if (excuses)
        excuses_apply_to_run(excuses, findings, result->finding_count);
    for (uint32_t i = 0; i < result->finding_count; i++)
        shown[result->findings[i].kind]++;
    report_finding_list(out, findings, result->finding_count);
    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++) {
        if (result->finding_totals[i] > shown[i])
            plain_text_print(out, "drydock: %s: %s: %" PRIu64 " more of kind %s\n",
                             origin->case_file, run_model_name(result->config.model),
                             result->finding_totals[i] - shown[i],
                             run_finding_kind_name((enum run_finding_kind)i));
    }
}

static void write_summary(FILE *out, const struct workload *workload,
                          const struct run_result *results, size_t count)
{
    const struct table table = {.out = out, .results = results, .count = count};
    bool has_translations = false, has_reasons = false, has_ahead = false, is_interrupted = false;

    for (size_t i = 0; i < count; i++) {
        has_translations |= results[i].translations_checked || results[i].page_table_lines_skipped;
        has_reasons |= results[i].eviction_reason_count != 0;
        has_ahead |= results[i].statistics.ahead != 0;
    }
    heading(out, workload, &results[0]);
    row(&table, "", cell_model);
    row(&table, "outcome", cell_outcome);
    for (size_t i = 0; i < count; i++)
        is_interrupted |= results[i].is_interrupted;
    if (is_interrupted)
        row(&table, "operations played", cell_operations);
    row(&table, "submissions", cell_submissions);
    row(&table, "paged in", cell_moved_in);
    row(&table, "paged out", cell_moved_out);
    row(&table, "filled, not read", cell_filled);
    row(&table, "discarded, not written", cell_discarded);
    row(&table, "evictions", cell_evictions);
    if (has_reasons)
        reason_rows(&table);
    row(&table, "resident when asked for", cell_hits);
    if (has_ahead)
        row(&table, "came in ahead", cell_ahead);
    fprintf(out, "  paging operations\n");
    operation_rows(&table);
    row(&table, "driver calls (repeats)", cell_calls);
    row(&table, "paging packets (bytes)", cell_packets);
    row(&table, "pages checked", cell_checked);
    row(&table, "mismatches", cell_mismatches);
    if (has_translations)
        row(&table, "translations checked", cell_translations);
    row(&table, "virtual time", cell_time);
    row(&table, "slowdown", cell_slowdown);
    if (results[0].process_count > 1) {
        row(&table, "ideal, throughput", cell_ideal);
        row(&table, "fairness (Jain)", cell_fairness);
    }
    if (results[0].step_count > 1) {
        fprintf(out, "  steps: paged in, slowdown\n");
        step_rows(&table);
    }
    curve_rows(&table);
    row(&table, "wall time, memory", cell_wall);
    row(&table, "digest", cell_digest);
}

/* Names of steps and of the case are anybody's. */
void report_summary(FILE *out, const struct workload *workload, const struct run_result *results,
                    size_t count)
{
    struct plain_text plain;

    plain_text_begin(&plain);
    if (plain.stream)
        write_summary(plain.stream, workload, results, count);
    plain_text_end(&plain, out);
}
