/*
 * Result of a run: its outcome, counts, times, steps and findings.
 *
 * Place      bench. Filled by run, player and the parent of a child process; read by report, cli
 *            and campaigns.
 * Model
 *            | outcome      | means                                                              |
 *            | RUN_CLEAN    | played to the end; nothing to tell                                 |
 *            | RUN_FINDINGS | played, or stopped by the GPU, with findings or failed submissions |
 *            | RUN_REFUSED  | the adapter did not start or the machine is not possible           |
 *            | RUN_BROKEN   | an error of ours: stuck with work pending, or something leaked     |
 * Ownership  run_execute() fills a result that the caller ends with run_result_fini().
 * Errors     The outcome and result->error, one line. A result is complete as far as it got.
 * Units      Bytes and ns of the virtual clock; wall times are in seconds and say so.
 */
#ifndef DRYDOCK_BENCH_RUN_RESULT_H
#define DRYDOCK_BENCH_RUN_RESULT_H

#include "bench/config/run_config.h"
#include "bench/record/run_samples.h"
#include "miniport/miniport.h"
#include "check/check.h"
#include "check/report/finding.h"
#include "check/rules/rules.h"
#include "sgpu/sgpu.h"
#include "vidmm/vidmm.h"

#include <stdbool.h>
#include <stdint.h>

enum run_outcome { RUN_CLEAN, RUN_FINDINGS, RUN_REFUSED, RUN_BROKEN };

const char *run_outcome_name(enum run_outcome outcome);

#define RUN_OPERATION_COUNT 32
#define RUN_MAX_SEGMENTS    4
#define RUN_MAX_DDI         64
#define RUN_MAX_PROCESSES   64 /* counted one by one */
#define RUN_MAX_FINDINGS    32 /* texts kept; all are counted */
#define RUN_MAX_WISHES      16 /* kept */
#define RUN_ENDING_BYTES    6144

/* Between two `step` marks. */
struct run_step {
    const char *name; /* lent by the workload */
    uint32_t line;
    uint64_t start_ns, end_ns;
    uint64_t reference_ns; /* the same step with room for everything; 0: not measured */
    uint64_t moved_in_bytes, moved_out_bytes;
    uint64_t evictions;
    uint64_t submissions;
    uint64_t kernel_ns; /* sum of the durations of its submissions */
};

/* What a process of the case has had done. */
struct run_process {
    char name[32];
    uint64_t queued, submissions; /* the latter have completed */
    uint64_t work_ns;             /* sum of the durations of its submissions */
    uint64_t begun_ns, ended_ns;  /* its first submission was queued, its last one completed */
};

enum run_finding_kind {
    RUN_FINDING_CONTENT,     /* a byte that should be another */
    RUN_FINDING_TRANSLATION, /* a page-table entry that should be another */
    RUN_FINDING_DRIVER,      /* the driver broke a rule */
    RUN_FINDING_MANAGER,     /* our memory manager did: a defect of ours */
    RUN_FINDING_FAULT,       /* the GPU faulted */
    RUN_FINDING_SUBMISSION,  /* a submission or request that could not be played */
    RUN_FINDING_LEAK,        /* something left after everything was destroyed */
    RUN_FINDING_CRASHED, /* the process of the run ended in the middle (bench/child/child_run.h) */
    RUN_FINDING_HUNG,    /* it had to be ended */
    RUN_FINDING_HOSTILE, /* what only a driver does that leaves its bounds (docs/security.md) */
    RUN_FINDING_ADVICE,  /* documents leave it open: told, and no finding (CHECK_ADVICE()) */
    RUN_FINDING_LACKING, /* the bench has no such callback: told once of each, and no finding */
    RUN_FINDING_KIND_COUNT
};
const char *run_finding_kind_name(enum run_finding_kind kind);
/* It is told, and nobody is at fault: a run with nothing else is clean. By the kind's name, too. */
bool run_finding_is_remark(enum run_finding_kind kind);
bool run_finding_kind_is_remark(const char *name);

struct run_finding {
    enum run_finding_kind kind;
    uint32_t consequence_of;    /* place, from 1, of the finding that it follows from; 0: a cause */
    uint64_t seen;              /* number of the call in which it was told; detail.event may be
                                   that of an earlier call, where the mistake was made */
    uint64_t seen_in;           /* the outermost call around that */
    char rule[16];              /* id of contract.md, or "" */
    uint32_t line;              /* of the case; 0: none */
    uint64_t needed, available; /* SUBMISSION for lack of room, else 0 */
    uint64_t time_ns;
    char text[FINDING_TEXT_BYTES];
    struct finding_detail detail;
};

/* What a driver asked for that its surroundings do not have. */
struct run_wish {
    char word[128]; /* of the surroundings, that would give it: "value:Foo=NUMBER" */
    char where[64]; /* the DDI that asked first; "DriverEntry" */
};

/* Since the line of the case that is played began: who has refused something, and why. */
struct run_refusal {
    enum miniport_ddi ddi; /* the last that failed, ... */
    NTSTATUS ddi_status;   /* ... with this status; 0: none */
    char rule[16];         /* of the manager, for an answer that it does not take; "": none */
    char text[256];
};

struct run_segment {
    unsigned id;
    bool is_aperture;
    uint64_t size, peak_used;
};

struct run_result {
    struct run_config config; /* resolved */
    char case_name[128];
    enum run_outcome outcome;
    char error[512]; /* REFUSED and BROKEN */

    unsigned started_wddm; /* the driver's level, 32 for WDDM 3.2; 0: it was not started */

    uint64_t digest;
    bool is_interrupted; /* by the user: the rest of the case was not played */
    bool is_judged; /* again, without the driver, and found to be the same (bench/child/judge.h) */
    double wall_seconds;
    double reference_wall_seconds;
    double play_wall_seconds; /* of wall_seconds: from the first operation to the last */
    uint64_t virtual_time_ns; /* from the first operation to the last */
    uint64_t reference_ns;    /* the same with room for everything; 0: not measured */
    uint64_t kernel_ns;       /* sum of durations, the floor of a serial context */
    double slowdown;          /* virtual_time_ns / reference_ns, or / kernel_ns without reference */
    bool is_slowdown_measured;

    struct run_process processes[RUN_MAX_PROCESSES]; /* as in the case */
    unsigned process_count;
    uint64_t node_work_ns[SGPU_MAX_NODES];

    struct vidmm_statistics statistics;
    struct sgpu_statistics gpu;
    uint64_t link_to_device_bytes, link_from_device_bytes;
    uint64_t evictions_by_reason[8];
    const char *eviction_reasons[8]; /* string literals of the manager */
    unsigned eviction_reason_count;

    uint64_t pages_checked;
    uint64_t mismatches;
    uint64_t translations_checked; /* pages */
    uint64_t translation_mismatches;
    uint64_t page_table_lines_skipped; /* physical model: lines that only GpuMmu can play */

    uint64_t submissions, failed_submissions, retried_submissions;
    /* With a GPU that was reset, of a device in error, or out of turn and with a freed allocation.
     */
    uint64_t aborted_submissions;
    uint64_t device_errors;       /* devices that were in error and were used again */
    bool driver_heard_of_removal; /* DxgkDdiNotifySurpriseRemoval was called */
    uint64_t lost_pages;          /* by resets: nothing is expected of them any more ... */
    uint64_t lost_pages_read;     /* ... though they were read */
    uint64_t operations_played;
    uint64_t reclaims, reclaims_discarded; /* allocations; the latter had lost their content */
    uint64_t no_memory_retries;            /* calls repeated after STATUS_NO_MEMORY */
    bool has_failed_allocation;            /* config.fail_allocation was reached */
    uint64_t interrupts;
    uint64_t peak_process_bytes;

    uint64_t ddi_calls[RUN_MAX_DDI];
    const char *ddi_names[RUN_MAX_DDI];
    unsigned ddi_count;

    struct run_segment segments[RUN_MAX_SEGMENTS];
    unsigned segment_count;
    struct run_samples local_samples; /* all memory segments together, from the first operation */

    struct run_step *steps;
    uint32_t step_count;

    struct rule_counts rules; /* looked at and broken, by rule */

    struct run_finding findings[RUN_MAX_FINDINGS];
    uint32_t finding_count; /* kept */
    uint64_t finding_totals[RUN_FINDING_KIND_COUNT];
    uint64_t consequence_count; /* of those kept (run_result_find_causes()) */
    struct check_calls calls;   /* so far; 0: no checking layer counts them */

    struct run_refusal refusal;

    struct run_wish wishes[RUN_MAX_WISHES]; /* each once, in the order of asking */
    unsigned wish_count;

    char printed[FINDING_PRINTED_BYTES]; /* the last lines of the driver, a line each */
    uint64_t print_count;

    uint64_t events_written, events_dropped;
    char record_error[256]; /* why the record is not whole; "": it is, or there is none */

    char ending[RUN_ENDING_BYTES]; /* CRASHED, HUNG: the last output, a backtrace, the last calls */
};

void run_result_fini(struct run_result *result);

/*
 * The time of an ideal schedule: the work of the busiest node, one submission behind the other,
 * with all that is moved moved beside it. No schedule is faster.
 */
uint64_t run_result_ideal_ns(const struct run_result *result);
/*
 * Jain's index of the rates x = work / time at which the n processes that have worked got on:
 * (sum of x)^2 / (n * sum of x^2). 1: all the same; 1/n: one had everything. 0: none has worked.
 */
double run_result_fairness(const struct run_result *result);

/* Something was found, and all of it is the memory manager's: a defect of ours, not the driver's.
 */
bool run_result_is_ours(const struct run_result *result);

/* The driver prints: the lines stand beside the findings that follow. */
void run_result_note_print(struct run_result *result, const char *text);

/* Lines that explain it, each begun by "\n  ", go to its objects. */
void run_detail_explain(struct finding_detail *detail, const char *lines);
/* The same behind the lines that it has. */
void run_detail_add(struct finding_detail *detail, const char *lines);
void run_result_explain(struct run_finding *finding, const char *lines);

/* A text that begins with a call ("DxgkDdiPatch.pDmaBuffer is NULL") gives it to detail.where. */
void run_result_place(struct run_finding *finding);

/*
 * Tells causes from consequences, when the run is over (run_causes.c). The breach that was made
 * first is the cause of all that is told of the run behind it.
 */
void run_result_find_causes(struct run_result *result);

/* Adds a finding: counted always, kept while there is room. */
struct run_finding *run_result_report(struct run_result *result, enum run_finding_kind kind,
                                      uint32_t line, uint64_t time_ns, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

#endif
