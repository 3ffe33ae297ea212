/*
 * Findings of a run: what the driver did, as the kernel services, the layers, the oracle and the
 * memory manager report it, becomes a finding of the result.
 */
#include "bench/run/run_private.h"

#include "bench/child/crash_recorder.h"
#include "bench/child/journal.h"
#include "layers/guard.h"
#include "miniport/raw.h"
#include "nt/exceptions/exception.h"

#include <stdio.h>
#include <string.h>

static const char *where_it_runs(const struct run_assembly *run)
{
    static char text[32];
    const char *ddi = miniport_raw_running();
    uint32_t thread = run->nt ? nt_running_thread(run->nt) : 0;

    snprintf(text, sizeof text, "its thread %u", thread);
    if (thread)
        return text;
    if (ddi)
        return ddi;
    if (run->is_in_entry)
        return "DriverEntry";
    return run->is_in_unload ? "DriverUnload" : "code of its own";
}

/* Frames of the image, if it is one, from where it called the bench. The finding is complete. */
static void explain_frames(const struct run_assembly *run, struct run_finding *finding)
{
    char frames[2048];

    if (finding && run->nt && exception_backtrace(run->nt, NULL, frames, sizeof frames))
        run_result_explain(finding, frames);
    journal_tell_findings();
}

/* ---- The kernel services --------------------------------------------------------------------- */

static void __attribute__((noreturn)) stop_machine(struct run_assembly *run)
{
    longjmp(run->bug_check, 1);
}

static struct run_finding *report_bug_check(struct run_assembly *run, enum run_finding_kind kind,
                                            uint32_t code, const uint64_t parameters[4],
                                            const char *what)
{
    const char *name = nt_bug_check_name(code);

    return run_result_report(
        run->result, kind, 0, machine_now(run->machine),
        "the driver stopped the machine in %s: bug check 0x%x%s%s (0x%llx, 0x%llx, 0x%llx, "
        "0x%llx)%s%s",
        where_it_runs(run), code, name[0] ? " " : "", name, (unsigned long long)parameters[0],
        (unsigned long long)parameters[1], (unsigned long long)parameters[2],
        (unsigned long long)parameters[3], what[0] ? ": " : "", what);
}

static void on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    struct run_assembly *run = context;
    struct run_finding *finding = report_bug_check(run, RUN_FINDING_DRIVER, code, parameters, "");

    if (finding)
        run_result_explain(finding, nt_stopped_at(run->nt));
    stop_machine(run);
}

static void on_crash(void *context, const struct nt_crash *crash)
{
    struct run_assembly *run = context;
    struct run_finding *finding = report_bug_check(run, RUN_FINDING_CRASHED, crash->bug_check,
                                                   crash->parameters, crash->what);

    if (finding)
        run_result_explain(finding, crash->state);
    stop_machine(run);
}

/* The guard pages of the checking layer, and what is paged out: they tell a rule. */
static bool owns_address(void *context, const void *address)
{
    struct run_assembly *run = context;
    struct finding finding;
    struct loan_breach breach;
    struct nt_paged paged;

    return guard_explain(address, &breach) || nt_paging_explain(run->nt, address, &paged) ||
           (run->check && check_explain_address(run->check, address, &finding));
}

#define PRINTS_KEPT (RUN_MAX_FINDINGS / 4) /* as findings: the others have their room */

/*
 * Words of the driver at the level of errors may tell of a mistake, and may be its habit: they are
 * notes, which stand beside findings, unless the run asks for more.
 */
static void on_driver_log(void *context, uint32_t component, uint32_t level, const char *text)
{
    struct run_assembly *run = context;

    run_record_print(&run->record, text);
    if (run->config->prints_are_findings && component == DPFLTR_IHVVIDEO_ID &&
        level == DPFLTR_ERROR_LEVEL) {
        if (run->prints_told++ < PRINTS_KEPT)
            run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                              "the driver prints: %.*s", (int)strcspn(text, "\r\n"), text);
        else
            run->result->finding_totals[RUN_FINDING_DRIVER]++;
    }
    run_result_note_print(run->result, text);
    journal_tell_findings();
}

static void on_missing(void *context, const char *name)
{
    struct run_assembly *run = context;

    explain_frames(run,
                   run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                                     "in %s the driver calls %s, which the bench does not have",
                                     where_it_runs(run), name));
}

static void on_asked_in_vain(void *context, const char *word)
{
    struct run_assembly *run = context;
    struct run_result *result = run->result;
    struct run_wish *wish = &result->wishes[result->wish_count];

    for (unsigned i = 0; i < result->wish_count; i++) {
        if (strcmp(result->wishes[i].word, word) == 0)
            return;
    }
    if (result->wish_count == RUN_MAX_WISHES)
        return;
    result->wish_count++;
    snprintf(wish->word, sizeof wish->word, "%s", word);
    snprintf(wish->where, sizeof wish->where, "%s", where_it_runs(run));
}

static void on_trespass(void *context, const char *what)
{
    struct run_assembly *run = context;

    explain_frames(run,
                   run_result_report(run->result, RUN_FINDING_HOSTILE, 0, machine_now(run->machine),
                                     "in %s the driver asks the system of the bench for %s; it "
                                     "is refused",
                                     where_it_runs(run), what));
}

void run_note_lacking(void *context, const char *callback)
{
    struct run_assembly *run = context;

    explain_frames(run,
                   run_result_report(run->result, RUN_FINDING_LACKING, 0, machine_now(run->machine),
                                     "in %s the driver calls %s, which the bench does not "
                                     "have: it fails, or does nothing, as it would not in "
                                     "Windows",
                                     where_it_runs(run), callback));
}

static void on_misuse(void *context, const char *text)
{
    struct run_assembly *run = context;

    explain_frames(run,
                   run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                                     "in %s: %s", where_it_runs(run), text));
}

static void on_deadlock(void *context, const char *text)
{
    struct run_assembly *run = context;

    explain_frames(run,
                   run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine),
                                     "in %s: %s", where_it_runs(run), text));
    stop_machine(run);
}

static bool runs_model(void *context)
{
    return crash_recorder_runs_model();
}

static void on_maps(void *context, const uint64_t *pages, uint64_t count)
{
    struct run_assembly *run = context;

    if (run->check)
        check_maps(run->check, pages, count);
}

static const char *running(void *context)
{
    return miniport_raw_running();
}

struct nt_host run_kernel_host(struct run_assembly *run)
{
    return (struct nt_host){.context = run,
                            .log = on_driver_log,
                            .bug_check = on_bug_check,
                            .missing = on_missing,
                            .trespass = on_trespass,
                            .crash = on_crash,
                            .owns_address = owns_address,
                            .runs_gpu_model = runs_model,
                            .running = running,
                            .misuse = on_misuse,
                            .deadlock = on_deadlock,
                            .maps = on_maps,
                            .in_vain = on_asked_in_vain};
}

/* ---- Layers, oracle and manager -------------------------------------------------------------- */

void run_report_loan(void *context, const struct loan_breach *breach)
{
    struct run_assembly *run = context;

    if (run->check)
        check_loan(run->check, breach);
}

void run_report_overwritten(void *context, enum miniport_ddi ddi, size_t offset)
{
    const struct loan_structure *structure = loans_of(ddi);

    run_report_loan(context, &(struct loan_breach){.kind = LOAN_CHANGED,
                                                   .call = miniport_ddi_name(ddi),
                                                   .offset = offset,
                                                   .bytes = structure ? structure->bytes : 0});
}

void run_note_refusal(void *context, const char *rule, const char *text)
{
    struct run_refusal *refusal = &((struct run_assembly *)context)->result->refusal;

    snprintf(refusal->rule, sizeof refusal->rule, "%s", rule);
    snprintf(refusal->text, sizeof refusal->text, "%s", text);
}

/* A breach that the checking layer has reported is not reported again by the manager. */
void run_report_driver_error(void *context, const char *rule, const char *text)
{
    struct run_assembly *run = context;
    enum rule_id id = rule_find(rule);
    struct run_finding *finding;

    if (id != RULE_NONE && run->result->rules.broken[id])
        return;
    finding = run_result_report(run->result, RUN_FINDING_DRIVER, 0, machine_now(run->machine), "%s",
                                text);
    if (!finding)
        return;
    snprintf(finding->rule, sizeof finding->rule, "%s", rule);
    run_result_place(finding);
    journal_tell_findings();
}

/* A rule of our own side that is broken is a defect of ours, which fails the tests. */
void run_report_rule(void *context, const struct finding *found)
{
    struct run_assembly *run = context;
    const struct rule *rule = rule_get(found->rule);
    enum run_finding_kind kind = found->is_advice             ? RUN_FINDING_ADVICE
                                 : found->is_carried_out      ? RUN_FINDING_CONTENT
                                 : rule->side == RULE_SIDE_OS ? RUN_FINDING_MANAGER
                                                              : RUN_FINDING_DRIVER;
    struct run_finding *finding =
        run_result_report(run->result, kind, 0, machine_now(run->machine), "%s", found->text);

    if (!finding)
        return;
    snprintf(finding->rule, sizeof finding->rule, "%s", rule->id);
    finding->detail = found->detail;
    if (found->byte) {
        finding->detail.commands =
            (struct finding_commands){.event = found->detail.event, .is_beside = true};
        run_writers_tell_byte(run->writers, found->byte, &finding->detail);
    }
    memcpy(finding->detail.printed, run->result->printed, sizeof finding->detail.printed);
    journal_tell_findings();
}

#define WRITER_BYTES (FINDING_WHERE_BYTES + 64)

/*
 * The line that names the operation whose commands wrote the wrong byte last; "": none that is
 * known. The finding knows the commands then, too. Where the finding names no operation, and that
 * one is about another allocation, the finding stands at the call that built it.
 */
static const char *tell_writer(struct run_assembly *run, const struct oracle_report *report,
                               struct finding_detail *out_detail, char line[WRITER_BYTES])
{
    struct finding_detail detail = {0};
    const void *allocation;

    line[0] = '\0';
    if (!run->check || report->writer == ORACLE_NO_WRITER ||
        !check_place_operation(run->check, run_writers_operation(report->writer), &detail,
                               &allocation))
        return line;
    out_detail->commands = detail.commands;
    run_writers_narrow(run->writers, report->writer, &out_detail->commands);
    if (detail.event == report->event)
        return line;
    snprintf(line, WRITER_BYTES, "\nwritten  %s of event %llu", detail.where,
             (unsigned long long)detail.event);
    if (report->was_spoilt && (uint64_t)(uintptr_t)allocation != report->handle) {
        out_detail->event = detail.event;
        memcpy(out_detail->where, detail.where, sizeof detail.where);
        memcpy(out_detail->arguments, detail.arguments, sizeof detail.arguments);
    }
    return line;
}

/* Where a finding begins so it stands at the call that built an operation. */
#define BUILDS "DxgkDdiBuildPagingBuffer("

void run_report_content(void *context, const struct oracle_report *report)
{
    struct run_assembly *run = context;
    size_t line = strcspn(report->text, "\n");
    struct run_finding *finding =
        run_result_report(run->result, RUN_FINDING_CONTENT, 0, machine_now(run->machine), "%.*s",
                          (int)line, report->text);
    struct finding_detail *detail = finding ? &finding->detail : NULL;
    char lines[FINDING_OBJECTS_BYTES], writer[WRITER_BYTES];

    if (!detail)
        return;
    if (report->rule)
        snprintf(finding->rule, sizeof finding->rule, "%s", rule_get(report->rule)->id);
    detail->event = report->event;
    snprintf(detail->where, sizeof detail->where, "%s", report->where);
    if (strncmp(report->where, BUILDS, strlen(BUILDS)) == 0)
        detail->commands.event = report->event;
    snprintf(detail->bytes, sizeof detail->bytes, "%s", report->bytes);
    snprintf(detail->arguments, sizeof detail->arguments, "%s", report->arguments);
    snprintf(lines, sizeof lines, "%s%s", report->text + line,
             tell_writer(run, report, detail, writer));
    run_result_explain(finding, lines);
    journal_tell_findings();
}
