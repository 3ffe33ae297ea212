/*
 * run.json: the configuration, the result and the findings of runs.
 */
#include "report/report.h"
#include "report/rules_report.h"

#include "bench/config/run_options.h"
#include "miniport/miniport.h"
#include "miniport/operation.h"
#include "report/document.h"
#include "report/text_json.h"

#include <jansson.h>
#include <stdlib.h>
#include <string.h>

static json_t *number(uint64_t value)
{
    return json_integer((json_int_t)value);
}

static void set(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, number(value));
}

static void set_text(json_t *object, const char *key, const char *value)
{
    json_object_set_new(object, key, report_text_json(value));
}

static void set_bool(json_t *object, const char *key, bool value)
{
    json_object_set_new(object, key, json_boolean(value));
}

/*
 * The options that are not as by default, by their keys, as a case has them; the names of files,
 * templates and surroundings are left to the case.
 */
static json_t *options_json(const struct run_config *config)
{
    struct run_config defaults;
    json_t *json = json_object();

    run_config_defaults(&defaults);
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        char initial[RUN_OPTION_VALUE_BYTES], value[RUN_OPTION_VALUE_BYTES];

        if (run_options[i].kind == RUN_OPTION_TEXT)
            continue;
        run_option_print(i, &defaults, initial);
        run_option_print(i, config, value);
        if (strcmp(value, initial) != 0)
            set_text(json, workload_options[i].key, value);
    }
    return json;
}

static json_t *machine_json(const struct run_config *config)
{
    static const char *const scatters[] = {
        [MACHINE_SCATTERED] = "scattered",
        [MACHINE_FRAGMENTED] = "fragmented",
        [MACHINE_CONTIGUOUS] = "contiguous",
    };
    json_t *json = json_object();

    set(json, "local_bytes", config->local_bytes);
    set(json, "visible_bytes", config->visible_bytes);
    set(json, "aperture_bytes", config->aperture_bytes);
    set(json, "system_bytes", config->ram_bytes);
    set(json, "nodes", config->node_count);
    set(json, "link_bytes_per_second", config->link_bytes_per_second);
    set(json, "local_bytes_per_second", config->local_bytes_per_second);
    set(json, "paging_buffer_bytes", config->paging_buffer_bytes);
    set(json, "paging_buffer_count", config->paging_buffer_count);
    set(json, "queue_depth", config->queue_depth);
    set_text(json, "system_pages", scatters[config->scatter]);
    if (config->model == RUN_GPUMMU) {
        set_text(json, "page_table_updates", run_update_mode_name(config->update_mode));
        set_bool(json, "page_tables_in_system_memory", config->has_tables_in_system_memory);
    } else { /* the others have none of the manager's */
        json_object_set_new(json, "page_table_updates", json_null());
        json_object_set_new(json, "page_tables_in_system_memory", json_null());
    }
    return json;
}

static json_t *operations_json(const struct vidmm_statistics *statistics)
{
    json_t *json = json_object();

    for (unsigned i = 0; i < MINIPORT_OPERATION_COUNT; i++) {
        if (statistics->operations[i])
            set(json, miniport_operation_name(i), statistics->operations[i]);
    }
    return json;
}

static json_t *paging_json(const struct vidmm_statistics *statistics)
{
    json_t *json = json_object();

    set(json, "build_calls", statistics->build_calls);
    set(json, "multipass_calls", statistics->multipass_calls);
    set(json, "submissions", statistics->paging_submissions);
    set(json, "buffer_bytes", statistics->paging_bytes);
    set(json, "filled_bytes", statistics->filled_bytes);
    set(json, "discarded_bytes", statistics->discarded_bytes);
    set(json, "moved_bytes", statistics->moved_bytes);
    set(json, "ahead", statistics->ahead);
    set(json, "ahead_bytes", statistics->ahead_bytes);
    set(json, "evicted_tables", statistics->evicted_tables);
    set(json, "moved_tables", statistics->moved_tables);
    set(json, "fallen_back_tables", statistics->fallen_back_tables);
    set(json, "compactions", statistics->compactions);
    set(json, "renames", statistics->renames);
    set(json, "trim_requests", statistics->trim_requests);
    set(json, "residency_requests", statistics->residency_requests);
    set(json, "residency_hits", statistics->residency_hits);
    return json;
}

static json_t *gpu_json(const struct run_result *result)
{
    json_t *json = json_object();

    set(json, "submissions", result->gpu.submissions);
    set(json, "packets", result->gpu.packets);
    set(json, "faults", result->gpu.faults);
    set(json, "tlb_hits", result->gpu.tlb_hits);
    set(json, "tlb_misses", result->gpu.tlb_misses);
    set(json, "tlb_flushes", result->gpu.tlb_flushes);
    set(json, "copied_bytes", result->gpu.copied_bytes);
    set(json, "filled_bytes", result->gpu.filled_bytes);
    set(json, "render_read_bytes", result->gpu.render_read_bytes);
    set(json, "render_written_bytes", result->gpu.render_written_bytes);
    set(json, "page_table_entries_written", result->gpu.entries_written);
    set(json, "link_to_device_bytes", result->link_to_device_bytes);
    set(json, "link_from_device_bytes", result->link_from_device_bytes);
    set(json, "interrupts", result->interrupts);
    return json;
}

static json_t *wishes_json(const struct run_result *result)
{
    json_t *list = json_array();

    for (unsigned i = 0; i < result->wish_count; i++)
        json_array_append_new(list, json_pack("{s:o, s:o}", "word",
                                              report_text_json(result->wishes[i].word), "where",
                                              report_text_json(result->wishes[i].where)));
    return list;
}

static json_t *processes_json(const struct run_result *result)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < result->process_count; i++) {
        const struct run_process *process = &result->processes[i];
        json_t *json = json_object();

        set_text(json, "name", process->name);
        set(json, "submissions", process->submissions);
        set(json, "work_ns", process->work_ns);
        set(json, "begun_ns", process->begun_ns);
        set(json, "ended_ns", process->ended_ns);
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *steps_json(const struct run_result *result)
{
    json_t *array = json_array();

    for (uint32_t i = 0; i < result->step_count; i++) {
        const struct run_step *step = &result->steps[i];
        json_t *json = json_object();

        set_text(json, "name", step->name);
        set(json, "line", step->line);
        set(json, "virtual_time_ns", step->end_ns - step->start_ns);
        set(json, "reference_ns", step->reference_ns);
        set(json, "moved_in_bytes", step->moved_in_bytes);
        set(json, "moved_out_bytes", step->moved_out_bytes);
        set(json, "evictions", step->evictions);
        set(json, "submissions", step->submissions);
        set(json, "kernel_ns", step->kernel_ns);
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *findings_json(const struct run_result *result, const struct report_origin *origin)
{
    json_t *array = json_array();
    struct report_finding views[REPORT_RUN_FINDINGS];

    report_findings_of_run(result, origin, views);
    for (uint32_t i = 0; i < result->finding_count; i++) {
        const struct run_finding *finding = &result->findings[i];
        json_t *json = report_finding_json(views, result->finding_count, &views[i]);

        set(json, "time_ns", finding->time_ns);
        set(json, "needed_bytes", finding->needed);
        set(json, "available_bytes", finding->available);
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *finding_counts_json(const struct run_result *result)
{
    json_t *json = json_object();

    for (unsigned i = 0; i < RUN_FINDING_KIND_COUNT; i++)
        set(json, run_finding_kind_name((enum run_finding_kind)i), result->finding_totals[i]);
    return json;
}

static json_t *segments_json(const struct run_result *result)
{
    json_t *array = json_array();

    for (unsigned i = 0; i < result->segment_count; i++) {
        json_t *json = json_object();

        set(json, "id", result->segments[i].id);
        set_bool(json, "is_aperture", result->segments[i].is_aperture);
        set(json, "bytes", result->segments[i].size);
        set(json, "peak_used_bytes", result->segments[i].peak_used);
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *samples_json(const struct run_samples *samples)
{
    json_t *json = json_object(), *used = json_array();

    for (uint32_t i = 0; i < samples->count; i++)
        json_array_append_new(used, number(samples->used[i]));
    set(json, "bytes", samples->size);
    set(json, "period_ns", samples->count ? samples->period_ns : 0);
    json_object_set_new(json, "used_bytes", used);
    return json;
}

static json_t *calls_json(const struct run_result *result)
{
    json_t *json = json_object();

    for (unsigned i = 0; i < result->ddi_count; i++) {
        if (result->ddi_calls[i])
            set(json, result->ddi_names[i], result->ddi_calls[i]);
    }
    return json;
}

static json_t *eviction_reasons_json(const struct run_result *result)
{
    json_t *json = json_object();

    for (unsigned i = 0; i < result->eviction_reason_count; i++)
        set(json, result->eviction_reasons[i], result->evictions_by_reason[i]);
    return json;
}

static json_t *content_json(const struct run_result *result)
{
    json_t *json = json_object();

    set_bool(json, "is_checked", result->config.checks_content);
    set(json, "pages_checked", result->pages_checked);
    set(json, "mismatches", result->mismatches);
    return json;
}

static json_t *page_tables_json(const struct run_result *result)
{
    json_t *json = json_object();

    set(json, "tables", result->statistics.page_table_count);
    set(json, "entries_written", result->statistics.page_table_entries_written);
    set(json, "translations_checked", result->translations_checked);
    set(json, "mismatches", result->translation_mismatches);
    set(json, "lines_skipped", result->page_table_lines_skipped);
    return json;
}

static json_t *submissions_json(const struct run_result *result)
{
    json_t *json = json_object();

    set(json, "completed", result->submissions);
    set(json, "failed", result->failed_submissions);
    set(json, "aborted", result->aborted_submissions);
    set(json, "retried", result->retried_submissions);
    set(json, "kernel_ns", result->kernel_ns);
    return json;
}

/* Preemptions and resets, and what they took. */
static json_t *recovery_json(const struct run_result *result)
{
    json_t *json = json_object();

    set(json, "preemptions", result->statistics.preemptions);
    set(json, "timeouts", result->statistics.timeouts);
    set(json, "engine_resets", result->statistics.engine_resets);
    set(json, "adapter_resets", result->statistics.adapter_resets);
    set(json, "device_errors", result->device_errors);
    set(json, "lost_allocations", result->statistics.lost_allocations);
    set(json, "lost_bytes", result->statistics.lost_bytes);
    set(json, "lost_pages_read", result->lost_pages_read);
    return json;
}

static json_t *events_json(const struct run_result *result)
{
    json_t *json = json_object();

    set(json, "written", result->events_written);
    set(json, "dropped", result->events_dropped);
    return json;
}

static json_t *result_json(const struct run_result *result, const struct report_origin *origin)
{
    static const struct report_origin nowhere = {"", ""};
    json_t *json = report_document("run");
    char digest[32];

    snprintf(digest, sizeof digest, "%016llx", (unsigned long long)result->digest);
    set_text(json, "version", DRYDOCK_VERSION);
    set_text(json, "case", result->case_name);
    set_text(json, "driver", result->config.driver);
    set_text(json, "model", run_model_name(result->config.model));
    set(json, "seed", result->config.seed);
    set_text(json, "outcome", run_outcome_name(result->outcome));
    set_text(json, "error", result->error);
    set_text(json, "digest", digest);
    json_object_set_new(json, "asked_in_vain", wishes_json(result));
    json_object_set_new(json, "interrupted", json_boolean(result->is_interrupted));
    json_object_set_new(json, "judged_again", json_boolean(result->is_judged));
    json_object_set_new(json, "wall_seconds", json_real(result->wall_seconds));
    json_object_set_new(json, "play_wall_seconds", json_real(result->play_wall_seconds));
    json_object_set_new(json, "reference_wall_seconds", json_real(result->reference_wall_seconds));
    set(json, "virtual_time_ns", result->virtual_time_ns);
    set(json, "reference_ns", result->reference_ns);
    json_object_set_new(json, "slowdown", json_real(result->slowdown));
    set_text(json, "slowdown_against",
             result->is_slowdown_measured ? "the same run with room for everything"
                                          : "the sum of all durations");
    json_object_set_new(json, "paging_operations", operations_json(&result->statistics));
    json_object_set_new(json, "paging", paging_json(&result->statistics));
    set(json, "evictions", result->statistics.evictions);
    json_object_set_new(json, "evictions_by_reason", eviction_reasons_json(result));
    set(json, "moved_in_bytes", result->statistics.moved_in_bytes);
    set(json, "moved_out_bytes", result->statistics.moved_out_bytes);
    json_object_set_new(json, "content", content_json(result));
    json_object_set_new(json, "page_tables", page_tables_json(result));
    json_object_set_new(json, "submissions", submissions_json(result));
    json_object_set_new(json, "recovery", recovery_json(result));
    set(json, "operations_played", result->operations_played);
    set(json, "reclaims", result->reclaims);
    set(json, "reclaims_discarded", result->reclaims_discarded);
    set(json, "no_memory_retries", result->no_memory_retries);
    set(json, "peak_process_bytes", result->peak_process_bytes);
    json_object_set_new(json, "machine", machine_json(&result->config));
    json_object_set_new(json, "options", options_json(&result->config));
    json_object_set_new(json, "gpu", gpu_json(result));
    json_object_set_new(json, "segments", segments_json(result));
    json_object_set_new(json, "local_memory", samples_json(&result->local_samples));
    json_object_set_new(json, "ddi_calls", calls_json(result));
    json_object_set_new(json, "processes", processes_json(result));
    set(json, "ideal_ns", run_result_ideal_ns(result));
    json_object_set_new(json, "fairness", json_real(run_result_fairness(result)));
    json_object_set_new(json, "steps", steps_json(result));
    json_object_set_new(json, "finding_counts", finding_counts_json(result));
    json_object_set_new(json, "findings", findings_json(result, origin ? origin : &nowhere));
    json_object_set_new(json, "rules", report_rule_counts_json(&result->rules));
    json_object_set_new(json, "events", events_json(result));
    return json;
}

char *report_run_json(const struct run_result *results, const struct report_origin *origins,
                      size_t count)
{
    json_t *json = NULL;
    char *text;

    if (count == 1) {
        json = result_json(results, origins);
    } else {
        json_t *runs = json_array();

        for (size_t i = 0; i < count; i++)
            json_array_append_new(runs, result_json(&results[i], origins ? &origins[i] : NULL));
        json = report_document("runs");
        json_object_set_new(json, "runs", runs);
    }
    text = json_dumps(json, JSON_INDENT(2) | JSON_SORT_KEYS | JSON_REAL_PRECISION(9));
    json_decref(json);
    return text;
}
