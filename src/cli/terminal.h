/*
 * Terminal: how the command line shows what it does, in one place.
 *
 * Place      cli. Every verb uses it by the functions of cli.h or by these.
 * Model      Three options that every verb has choose it, before a verb runs:
 *
 *                --color WHEN   auto, always or never. auto: each stream that is a terminal, unless
 *                               NO_COLOR is set or TERM is dumb; CLICOLOR_FORCE (not 0): also what
 *                               is none. An option wins over the environment. Where a terminal has
 *                               colours, sources are links to their pages.
 *                --progress     lines about progress where standard error is no terminal
 *                --quiet        errors and findings alone: no progress, no notes, no summary
 *
 *            A task (a run, a campaign, a table) tells how far it is as often as it likes. On a
 *            terminal this is one line at the bottom, drawn at most ten times a second, which goes
 *            before anything else is printed and when the task ends. Elsewhere it is a line after
 *            1, 2, 4, 8 seconds and then every 10. Rate and time left are those of the task, from
 *            when it was first told of; a task whose name changes, or whose work gets less, is
 *            another one.
 */
#ifndef DRYDOCK_CLI_TERMINAL_H
#define DRYDOCK_CLI_TERMINAL_H

#include <stdbool.h>
#include <stdint.h>

/* color NULL: auto. False: it is no such word. */
bool terminal_choose(const char *color, bool wants_progress, bool is_quiet);
bool terminal_is_quiet(void);

struct terminal_task {
    const char *what;     /* "gpummu", "check": also which task it is */
    const char *unit;     /* of done and total: "runs" */
    bool hides_count;     /* the share alone is shown, and the rate with its unit */
    uint64_t done, total; /* total 0: nobody knows */
    uint64_t before;      /* of done, was there when the task began: it tells nothing of the rate */
    uint64_t findings;
    const char *findings_name; /* "with findings", "found"; NULL: "findings", where there are any */
    const char *note;          /* behind all else, or NULL */
    double most_seconds;       /* it stops by then; 0: it does not */
    bool draws_at_once;        /* it is told of seldom: each time is shown */
};
void terminal_progress(const struct terminal_task *task);

/* Seconds of the wall clock, from some moment on. */
double terminal_now(void);

/* The line goes: something else is printed now. The task goes on when it is told of again. */
void terminal_clear(void);
/* The task has ended. */
void terminal_end(void);

#endif
