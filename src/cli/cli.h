/*
 * Command line: `drydock` and its verbs.
 *
 * Place      cli. Uses bench and report; nothing uses it.
 * Model      A verb is a row of verbs.inc and a file with a struct cli_verb: what it takes stands
 *            in tables, so that parsing, --help and suggestions are the same for all (parse.c).
 * Results    Go to standard output; messages go to standard error as "drydock: ...", with
 *            progress when that is a terminal (terminal.h).
 *
 *            | exit status  | means                                                       |
 *            | CLI_FINE     | done, nothing found                                         |
 *            | CLI_FINDINGS | done; mismatches, findings or failed submissions            |
 *            | CLI_USAGE    | the command line or an input file is wrong                  |
 *            | CLI_INTERNAL | an error of ours                                            |
 *            | CLI_INTERRUPTED | Ctrl-C, in a verb that tells what there is until then    |
 */
#ifndef DRYDOCK_CLI_CLI_H
#define DRYDOCK_CLI_CLI_H

#include "bench/child/interrupt.h"
#include "bench/run/run_result.h"
#include "workload/case/options.h"
#include "workload/workload.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum cli_status {
    CLI_FINE = 0,
    CLI_FINDINGS = 1,
    CLI_USAGE = 2,
    CLI_INTERNAL = 3,
    CLI_INTERRUPTED = INTERRUPT_STATUS
};

struct cli_option {
    const char *name;  /* without the dashes */
    char letter;       /* the short form, or 0 */
    const char *value; /* what it takes, for --help: "SIZE"; NULL: nothing */
    const char *help;
};

/*
 * A verb writes its options down once, as a list OPTIONS(ROW) of rows
 *
 *     ROW(OUT, "out", 'o', "FILE", "the case (NAME.case)")
 *
 * CLI_OPTIONS(OPTIONS) makes of the list the places in the values of struct cli_arguments
 * (OPTION_OUT), and the table `options` of the verb.
 */
#define CLI_OPTION_PLACE(place, ...) OPTION_##place,
#define CLI_OPTION_ROW(place, ...)   {__VA_ARGS__},
#define CLI_OPTIONS(LIST)                                                                          \
    enum { LIST(CLI_OPTION_PLACE) };                                                               \
    static const struct cli_option options[] = {LIST(CLI_OPTION_ROW){NULL, 0, NULL, NULL}};

/* An option of a case that verbs take as --KEY VALUE, by the places of workload_options[]. */
#define CLI_OF_RUN   (1u << 0)
#define CLI_OF_CHECK (1u << 1)
struct cli_case_option {
    const char *name, *value, *help;
    unsigned of; /* the verbs */
};
extern const struct cli_case_option cli_case_options[WORKLOAD_OPTION_COUNT];

#define CLI_MAX_ARGUMENTS 64
#define CLI_MAX_FILES     1024 /* what is no option: as many cases as a folder has */
#define CLI_MAX_RAW       4096

/* What stood on the command line. Values are lent by argv. */
struct cli_arguments {
    const char *values[CLI_MAX_ARGUMENTS]; /* by place in the verb's options; NULL: not given */
    const char *case_values[WORKLOAD_OPTION_COUNT]; /* by place in cli_case_options[] */
    const char *rest[CLI_MAX_FILES];                /* what is no option */
    size_t rest_count;
    /* Options that may be given again: their values in order (cli_next_repeated()). */
    struct cli_repeated {
        const char *option, *value;
    } repeated[CLI_MAX_ARGUMENTS];
    size_t repeated_count;
    /* For a verb that takes them as they are: all but the options of every verb. */
    const char *raw[CLI_MAX_RAW];
    size_t raw_count;
    /* The verb, and what stood behind it. */
    const char *verb;
    const char *settings; /* the file of --settings (project.h); NULL: the one that is found */
    char *const *given;
    size_t given_count;
};

struct cli_verb {
    const char *name;
    const char *usage; /* after "drydock NAME " */
    const char *summary;
    const char *details;              /* paragraphs of --help, or NULL */
    const struct cli_option *options; /* ends with name == NULL */
    uint64_t repeated_options;        /* CLI_REPEATED(place) of each that may be given again */
    unsigned case_options;            /* CLI_OF_*: options of cases that it takes besides */
    bool takes_all;                   /* what stands there is the verb's to read */
    enum cli_status (*run)(const struct cli_arguments *arguments);
};

#define CLI_REPEATED(place) (UINT64_C(1) << (place))

#define VERB(name) extern const struct cli_verb cli_##name;
#include "cli/verbs.inc"

/* The next value of an option that may be given again, from *at on (0 at first); NULL: no more. */
const char *cli_next_repeated(const struct cli_arguments *arguments, const char *option,
                              size_t *at);

/* The i-th option that a verb takes, in the order of --help. False: there are no more. */
bool cli_option_at(const struct cli_verb *verb, size_t i, struct cli_option *out);

/*
 * Makes one text of --inf, --surroundings and --registers (NULL: not given), with what the files
 * say that they name, and puts it in the place of --surroundings. False with a message.
 */
bool cli_gather_surroundings(struct cli_arguments *arguments, const char *inf,
                             const char *registers);

/* What --help prints. */
void cli_print_help(const struct cli_verb *verb);

/* Parses what stands behind the verb, and runs it, or prints its help. */
enum cli_status cli_run_verb(const struct cli_verb *verb, int argc, char **argv);

/* Makes the defects of the zoo drivers, "zoo:ID". Once, before any verb. */
void cli_add_zoo(void);
/* True when --driver can name it; otherwise the message is out. */
bool cli_find_driver(const char *name);

/* "drydock: " and the message, to standard error. */
void cli_error(const char *format, ...) __attribute__((format(printf, 1, 2)));
/* The same of what is no error; with --quiet, nothing. */
void cli_note(const char *format, ...) __attribute__((format(printf, 1, 2)));

/*
 * Where a file or folder of Drydock's own is: `installed` below the prefix of the program
 * (include/..., share/...), or `built` in the source that it was built from. False: at neither.
 */
bool cli_find_own(const char *installed, const char *built, char *path, size_t size);

/* A size or count with K, M, G; false with a message. */
bool cli_number(const char *option, const char *text, uint64_t min, uint64_t max, uint64_t *out);

/* A case, or a trace that becomes one; NULL with a message. */
struct workload *cli_load(const char *path, uint32_t steps);

/*
 * The option by which the user lets a case load code: a row of the verbs that play cases that are
 * given to them.
 */
#define CLI_TRUST_CASE                                                                             \
    "trust-case", 0, NULL, "load the driver, GPU model and policy that the case names by a path"

/*
 * One run, judged again without the driver if it is to be: then a note says if it could not be, and
 * the result that it was. Its findings name the driver's instructions (bench/child/explain.h). As
 * child_run_execute().
 */
bool cli_play(const struct run_config *config, const struct workload *workload, double seconds,
              bool judges, struct run_result *out_result);

/*
 * The options of the verbs that play one case. Of images a clean run is judged again unless the
 * second says not.
 */
#define CLI_JUDGE                                                                                  \
    "judge", 0, NULL, "judge a clean run again, in a process without the driver (images: as a rule)"
#define CLI_NO_JUDGE "no-judge", 0, NULL, "do not judge a clean run of an image again"
bool cli_judges(bool is_asked, bool is_refused, const char *driver);

/*
 * Whether the case may be played: it names no file that a run would load as code, or is_trusted. An
 * option that the command line sets is not the case's; driver is the command line's driver, or
 * NULL. Before cli_set_options(). False with a message that names the line.
 */
bool cli_may_play(const struct cli_arguments *arguments, bool is_trusted, const char *driver,
                  const struct workload *workload);

/*
 * Sets what the command line says of the case: its options as --KEY VALUE, then those of the
 * repeated option --option KEY=VALUE. False with a message.
 */
bool cli_set_options(const struct cli_arguments *arguments, struct workload *workload);

/* Saves whole or not at all (workload/file.h); false with a message. */
bool cli_save(const struct workload *workload, const char *path);

/*
 * Ctrl-C came (bench/child/interrupt.h), and what there is has been told: says where it is and how
 * to go on. NULL: nowhere, not at all.
 */
enum cli_status cli_interrupted(const char *files, const char *command);

/* The command as it was given, for a shell. */
void cli_command_line(const struct cli_arguments *arguments, char *out, size_t size);

/*
 * The status where something was found. is_ours: all of it is a defect of the memory manager; the
 * message is out.
 */
enum cli_status cli_found(bool is_ours);

/* Prints a document (report/document.h), which it takes. False with a message. */
bool cli_print_json(json_t *document);

/* A row of the verbs that have it. */
#define CLI_JSON "json", 0, NULL, "print the result as JSON (drydock schema)"

/*
 * Findings that make no campaign fail (report/excuses.h): the rows of the verbs that have them, of
 * which CLI_ALLOW may be given again. NULL with a message.
 */
#define CLI_BASELINE                                                                               \
    "baseline", 0, "FILE", "findings that are known: they do not fail; those that are gone are told"
#define CLI_UPDATE_BASELINE                                                                        \
    "update-baseline", 0, NULL, "write FILE: what is found is known from now on"
#define CLI_ALLOW                                                                                  \
    "allow", 0, "RULE", "rule, area (PB-*), kind or id that does not fail; may be given again"
struct excuses;
struct excuses *cli_excuses(const char *baseline, bool is_updated,
                            const struct cli_arguments *arguments);
/* Writes the baseline, and marks what it has as known. False with a message. */
struct campaign_summary;
bool cli_update_baseline(const char *path, struct excuses *excuses,
                         struct campaign_summary *summary);
/* The same of one run: what the baseline has stays. */
struct report_finding;
bool cli_extend_baseline(const char *path, struct excuses *excuses,
                         const struct report_finding *findings, size_t count);

/*
 * Writes a text to a file, whole or with a message and false: then a file that was there is as it
 * was. "-" is standard output.
 */
bool cli_write_text(const char *path, const char *text);
/* Whether that can be, as far as can be told before the work begins; false with a message. */
bool cli_may_write(const char *path);

/* Files for other tools (report/finding_report.h), NULL: not wanted. False with a message. */
struct campaign_summary;
bool cli_write_reports(const struct campaign_summary *summary, const char *folder,
                       const char *junit, const char *sarif, double seconds);

/*
 * The folder of a run (report/report.h): its record, open for both, or -1; and its end, with
 * run.json, when the run is over. On failure the message is out, and of the folder nothing is left.
 */
struct report_folder;
struct report_origin;
int cli_open_record(const struct report_folder *folder);
bool cli_finish_folder(struct report_folder *folder, const struct run_result *result,
                       const struct report_origin *origin);

/*
 * The page of the run in the folder, as report.html in it (report/page/folder_page.h); path says
 * where it is. False with a message.
 */
bool cli_report_run(const char *folder, char path[600]);

/* For run_config.progress: a task of the terminal (cli/terminal.h). */
void cli_progress(void *context, const struct run_progress *progress);

/* The word of a list, ended by NULL, that looks most like this one; NULL: none is near. */
const char *cli_nearest(const char *word, const char *const *words);

#endif
