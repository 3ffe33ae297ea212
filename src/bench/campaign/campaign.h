/*
 * Campaign: many runs, each of a case and a configuration that its seed draws.
 *
 * Place      bench, above run. Used by report, which writes records, and by `drydock check`.
 * Model      An item is a seed and a case; without a case the seed draws one of random operations.
 *            campaign_play() plays an item in this process; campaign_run() plays a range of items
 *            in worker processes and hands over a record for each, in the order in which they end.
 *            A record depends on driver, case, model and seed alone: never on how many workers
 *            there are, on which shard played it or on what was played before.
 *
 *            | outcome               | means                                                      |
 *            | CAMPAIGN_CLEAN        | played, nothing to tell                                    |
 *            | CAMPAIGN_FINDINGS     | findings of the run                                        |
 *            | CAMPAIGN_REFUSED      | the adapter did not start, or the case could not be made   |
 *            | CAMPAIGN_BROKEN       | an error of ours: stuck, or something leaked               |
 *            | CAMPAIGN_UNREPEATABLE | played twice, and the second time was another              |
 *            | CAMPAIGN_CRASHED      | the worker ended in the middle; detail has what it said    |
 *            | CAMPAIGN_HUNG         | no end within the wall limit of one run                    |
 *
 *            All but the first are findings of the campaign, which goes on after each of them.
 *            Findings of one kind with the same finding_cause() have one cause: the summary counts
 *            causes.
 * Ownership  A record and a summary are the caller's memory and own nothing.
 * Errors     bool and one line of text. What a driver does is never an error, it is a record.
 * Units      Wall times in seconds; nothing of them is in a record.
 */
#ifndef DRYDOCK_BENCH_CAMPAIGN_H
#define DRYDOCK_BENCH_CAMPAIGN_H

#include "base/rng.h"
#include "bench/run/run_result.h"
#include "coverage/coverage.h"
#include "workload/case/options.h"
#include "workload/workload.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Those of a run, by the same numbers, and all of them. */
enum campaign_model {
    CAMPAIGN_PHYSICAL = RUN_PHYSICAL,
    CAMPAIGN_GPUMMU = RUN_GPUMMU,
    CAMPAIGN_IOMMU = RUN_IOMMU,
    CAMPAIGN_ALL_MODELS
};

enum campaign_outcome {
    CAMPAIGN_CLEAN,
    CAMPAIGN_FINDINGS,
    CAMPAIGN_REFUSED,
    CAMPAIGN_BROKEN,
    CAMPAIGN_UNREPEATABLE,
    CAMPAIGN_CRASHED,
    CAMPAIGN_HUNG,
    CAMPAIGN_OUTCOME_COUNT
};

const char *campaign_model_name(enum campaign_model model); /* "physical", ..., "all" */
bool campaign_find_model(const char *name, enum campaign_model *out);
const char *campaign_outcome_name(enum campaign_outcome outcome);
bool campaign_find_outcome(const char *name, enum campaign_outcome *out);

/* ---- What a campaign plays ------------------------------------------------------------------- */

struct campaign_record;
struct campaign_options {
    /* How an item is played. */
    const char *driver;
    const char *profile; /* bench/config/profile.h; NULL: by default */
    enum campaign_model model;
    /*
     * What the command line says, by the places of workload_options[]. Values have been checked.
     * NULL: the case says it, or the seed draws it.
     */
    const char *settings[WORKLOAD_OPTION_COUNT];
    /*
     * What each seed has although few seeds draw it: options of a run and settings of the generator
     * of random cases, "pitch=yes rows=yes"; NULL: nothing.
     */
    const char *focus;

    /* Which items there are: each seed with each case. */
    const struct workload *const *cases; /* borrowed; none: random operations */
    size_t case_count;
    bool trusts_cases; /* the command line lets them load code */
    uint64_t first_seed, seed_count;
    unsigned shard, shard_count; /* shard in [0, shard_count); every shard_count-th item */

    /* How many at once, and when it ends. */
    unsigned jobs;             /* worker processes */
    unsigned repeat_every;     /* one of so many seeds is played twice; 0: none */
    unsigned judge_every;      /* one of so many clean ones is judged again; 0: none */
    uint64_t max_findings;     /* it stops after so many items with findings; 0: no limit */
    double time_limit_seconds; /* no item begins after so long; 0: no limit */
    double run_limit_seconds;  /* of one item; 0: no limit */

    /* What a worker does with an item; NULL: campaign_play(). */
    void (*play)(const struct campaign_options *options, uint64_t seed, size_t case_index,
                 struct campaign_record *out_record);
};

/*
 * The first word of a focus, and where the next one begins; false: there is none. It is an option's
 * where the option takes such a value and seeds draw it, else the generator's: `faults` is both.
 */
struct campaign_focus_word {
    char name[32], value[64];
    size_t place; /* of the option; WORKLOAD_OPTION_COUNT: a setting of the generator */
};
bool campaign_focus_next(const char **focus, struct campaign_focus_word *out_word);

/* How many clean runs of an image one is judged again of, so that it costs less than 20 %. */
#define CAMPAIGN_JUDGE_EVERY 20u
/* judge_every, where nobody says: none of a driver that is linked in. */
unsigned campaign_judge_every(const char *driver);

/* What the command line says of an option; NULL: nothing. */
const char *campaign_setting(const struct campaign_options *options, const char *key);

/* ---- What a seed draws ----------------------------------------------------------------------- */

#define CAMPAIGN_SETUP_TEXT 640

struct campaign_setup {
    struct run_config config;
    enum campaign_model model;
    char text[CAMPAIGN_SETUP_TEXT]; /* one line for people */
};

/*
 * The configuration of an item, for the driver, profile and model of the options, which lend names.
 *
 * Options of the case win over what the seed draws, settings of the command line over both. With
 * CAMPAIGN_ALL_MODELS the seed draws the model as well, of those that driver and profile have; all
 * else is drawn as if that model had been asked for.
 */
void campaign_draw_setup(const struct campaign_options *options, uint64_t seed,
                         const struct workload *workload, struct campaign_setup *out_setup);

/* Whether driver and profile have the model. */
bool campaign_has_model(const struct campaign_options *options, enum campaign_model model);

/*
 * The random case of a seed, the same for every model, for the driver and the focus of the options;
 * NULL: for drivers that manage memory, without focus. Of display-only drivers monitors come and
 * go.
 */
bool campaign_draw_workload(uint64_t seed, const struct campaign_options *options,
                            struct workload **out, struct workload_error *error);

/* ---- Records --------------------------------------------------------------------------------- */

#define CAMPAIGN_MAX_FINDINGS 8 /* texts kept of a run; all are counted */
#define CAMPAIGN_DETAIL_TEXT  RUN_ENDING_BYTES
#define CAMPAIGN_CASE_PATH    256
#define CAMPAIGN_BOARD_TEXT   6144 /* surroundings, paths and templates, and their quotes */
#define CAMPAIGN_REPLAY_BYTES 8192 /* enough for every replay command */

struct campaign_finding {
    char kind[16]; /* of the run's finding, or the outcome */
    char rule[16];
    uint32_t line;           /* of the case; 0: none */
    uint32_t consequence_of; /* place, from 1, of the finding that it follows from; 0: a cause */
    uint64_t seen;           /* number of the call in which it was told; 0: not known */
    char text[FINDING_TEXT_BYTES];
    struct finding_detail detail;
};

struct campaign_record {
    /* Which item it is. */
    uint64_t seed;
    char case_path[CAMPAIGN_CASE_PATH]; /* "": random operations */
    char driver[256];
    char profile[32];                /* "": by default */
    char board[CAMPAIGN_BOARD_TEXT]; /* what else the command line says, " --gpu none"; "" */
    enum campaign_model model;

    /* How it was set up, and how it ended. */
    unsigned wddm;
    char setup[CAMPAIGN_SETUP_TEXT];
    enum campaign_outcome outcome;
    bool was_repeated;
    uint64_t digest;                   /* 0 when there was no end */
    char detail[CAMPAIGN_DETAIL_TEXT]; /* CRASHED, HUNG: what the worker wrote */

    /* What was counted, and what was found. */
    uint64_t operations, submissions, paging_operations, evictions;
    uint64_t pages_checked, translations_checked, mismatches;
    struct rule_counts rules;     /* of its first playing */
    struct coverage_arm_set arms; /* too: alternatives that its calls had */
    uint64_t finding_total;
    unsigned finding_count; /* kept */
    struct campaign_finding findings[CAMPAIGN_MAX_FINDINGS];
};

/* Writes driver, profile and settings of the options into the record. */
void campaign_name_record(const struct campaign_options *options, struct campaign_record *record);

/* The command that plays the item again, without "drydock ". */
void campaign_replay_command(const struct campaign_record *record, char *out, size_t out_bytes);

/* Which item it is: records of one item have the same key. */
uint64_t campaign_record_key(const struct campaign_record *record);

/*
 * Plays one item in this process: a crash of the driver is one of the caller. case_index counts
 * only if there are cases.
 */
void campaign_play(const struct campaign_options *options, uint64_t seed, size_t case_index,
                   struct campaign_record *out_record);

/*
 * Gives the item's case with its whole setup as options: driver, profile, board, seed, faults and
 * all else. `drydock replay` plays it with the record's digest. A case that the record names has to
 * be among those of the options. NULL: a line in error.
 */
struct workload *campaign_case(const struct campaign_options *options,
                               const struct campaign_record *record, struct workload_error *error);

/* ---- Summary --------------------------------------------------------------------------------- */

#define CAMPAIGN_MAX_CAUSES       64
#define CAMPAIGN_CONSEQUENCE_TEXT 200

/* What was told behind a cause, in some of its runs. */
#define CAMPAIGN_MAX_CONSEQUENCES 64
struct campaign_consequence {
    uint64_t hash;  /* of its kind and cause */
    uint64_t cause; /* finding_cause() */
    uint64_t runs;  /* that told it */
    uint64_t alone; /* runs in which it was told first, and the cause was not seen */
    char kind[16], rule[16];
    char where[FINDING_WHERE_BYTES];
    char text[CAMPAIGN_CONSEQUENCE_TEXT]; /* of the run with the lowest seed */
    uint64_t seed;
};

/* Why a cause does not make a campaign fail (report/excuses.h). */
enum campaign_excuse { CAMPAIGN_NOT_EXCUSED, CAMPAIGN_KNOWN, CAMPAIGN_ALLOWED };
const char *campaign_excuse_name(enum campaign_excuse excuse); /* "new", "known", "allowed" */

struct campaign_cause {
    uint64_t hash;
    uint64_t count;                       /* items with it */
    struct campaign_record first;         /* the one with the lowest seed */
    unsigned finding;                     /* which of its findings */
    char shrunk_path[CAMPAIGN_CASE_PATH]; /* of the smallest case (campaign_shrink.h); "": none */
    uint32_t shrunk_lines, shrunk_from; /* operations of it, and of the case that it was made of */
    struct campaign_consequence consequences[CAMPAIGN_MAX_CONSEQUENCES];
    unsigned consequence_count;
    uint64_t consequences_dropped; /* beyond these */
    bool shrunk_loads_code;        /* run_next_code_option() */
    bool shrunk_in_part;           /* time ran out: a smaller case may be there */
    enum campaign_excuse excuse;
};

struct campaign_summary {
    uint64_t runs, runs_by_model[CAMPAIGN_ALL_MODELS], runs_by_outcome[CAMPAIGN_OUTCOME_COUNT];
    uint64_t repeated_runs, findings; /* items with a finding */
    uint64_t judged_runs,
        unjudged_runs; /* again, without the driver; and those that could not be */
    uint64_t operations, submissions, paging_operations, evictions, pages_checked, mismatches;
    uint64_t translations_checked;
    uint64_t digest; /* of all records, whatever their order */
    struct rule_counts rules;
    struct coverage_arm_counts arms;
    struct campaign_cause *causes;
    size_t cause_count;
    uint64_t causes_dropped; /* findings of causes beyond CAMPAIGN_MAX_CAUSES */
};

/* The command that plays the smallest case of a cause that has one, without "drydock ". */
void campaign_shrunk_command(const struct campaign_cause *cause, char *out, size_t out_bytes);

/* The command that goes on where the time of the smallest case ran out, without "drydock ". */
void campaign_shrink_again_command(const struct campaign_cause *cause, char *out, size_t out_bytes);

bool campaign_summary_init(struct campaign_summary *summary); /* false: no memory */
void campaign_summary_fini(struct campaign_summary *summary);
void campaign_summary_add(struct campaign_summary *summary, const struct campaign_record *record);
/*
 * All records are there: causes that are known to follow from another one go to its consequences.
 *
 * Seeds show a mistake in different ways. Where a run sees the mistake itself, what the mistake
 * spoils is told as a consequence; where a run sees nothing but the spoilt page or the fault, that
 * is told as a cause. So what was seen behind its call (bytes, translations, slots, faults, leaks)
 * goes under the cause that it follows from in another run. Wrong bytes of one paging operation are
 * one cause: the rule is what the wrong page looks like. A rule that was seen broken in the call
 * itself stays a cause.
 */
void campaign_summary_settle(struct campaign_summary *summary);
/* What campaign_summary_settle() would do with the cause now. */
bool campaign_follows(const struct campaign_summary *summary, const struct campaign_cause *cause);

/* Told with the causes, and none: documents leave open what it is about. */
bool campaign_is_advice(const struct campaign_cause *cause);
/* It says that the bench has a defect: a rule of the memory manager's side, or an error of ours. */
bool campaign_blames_manager(const struct campaign_cause *cause);
/* There are causes that are not excused, and each of them says so. */
bool campaign_is_ours(const struct campaign_summary *summary);
/* Something was found that is not excused. */
bool campaign_fails(const struct campaign_summary *summary);
/* The cause of a record's finding, before the summary is settled; NULL: it was dropped. */
const struct campaign_cause *campaign_find_cause(const struct campaign_summary *summary,
                                                 const struct campaign_finding *finding);

/* ---- Many ------------------------------------------------------------------------------------ */

enum campaign_stop {
    CAMPAIGN_DONE,
    CAMPAIGN_STOPPED_BY_FINDINGS,
    CAMPAIGN_STOPPED_BY_TIME,
    CAMPAIGN_STOPPED_BY_CALLER,
    CAMPAIGN_INTERRUPTED, /* bench/child/interrupt.h; what was being played is not known */
    CAMPAIGN_NO_WORKERS,  /* processes cannot be made */
};

struct judgement;

struct campaign_watcher {
    void *context;
    /* An item that was played before: it is left out. NULL: none. */
    bool (*is_known)(void *context, uint64_t seed, size_t case_index);
    /* Each record as it comes; false stops the campaign. */
    bool (*record)(void *context, const struct campaign_record *record);
    /* A record with findings counts for max_findings. NULL: each does. */
    bool (*counts)(void *context, const struct campaign_record *record);
    /* A run was judged again without the driver (bench/child/judge.h), before its record comes. */
    void (*judged)(void *context, const struct judgement *judgement);
    /* Every now and then; NULL: nobody looks. */
    void (*progress)(void *context, uint64_t done, uint64_t total);
};

enum campaign_stop campaign_run(const struct campaign_options *options,
                                const struct campaign_watcher *watcher);

#endif
