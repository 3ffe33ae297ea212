#include "cli/terminal.h"

#include "report/look.h"
#include "report/report.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

#define BAR_WIDTH       24
#define DRAW_SECONDS    0.1
#define SPARSE_SECONDS  10.0
#define RATE_SECONDS    0.5 /* earlier rates are guesses */
#define DEFAULT_COLUMNS 80

static struct {
    bool is_quiet, wants_progress, is_terminal, has_blocks;
    /* The task that is shown. */
    char what[64];
    double began, drawn, next; /* wall times; next: of a sparse line */
    double gap;                /* until the sparse line behind it */
    uint64_t first, last;      /* of its work */
    bool has_task, is_drawn;
} terminal;

double terminal_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

/* ---- Choices --------------------------------------------------------------------------------- */

static bool is_set(const char *variable)
{
    const char *value = getenv(variable);

    return value && value[0];
}

static bool locale_is_utf8(void)
{
    static const char *const variables[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    const char *value = "";

    for (size_t i = 0; i < sizeof variables / sizeof variables[0] && !value[0]; i++)
        value = is_set(variables[i]) ? getenv(variables[i]) : "";
    return strstr(value, "UTF-8") || strstr(value, "utf8") || strstr(value, "utf-8") ||
           strstr(value, "UTF8");
}

/* It is one that follows sequences of control characters. */
static bool is_able_terminal(int file)
{
    const char *term = getenv("TERM");

    return isatty(file) && !(term && strcmp(term, "dumb") == 0);
}

static bool wants_color(int file)
{
    const char *force = getenv("CLICOLOR_FORCE");

    if (is_set("NO_COLOR"))
        return false;
    return (force && force[0] && strcmp(force, "0") != 0) || is_able_terminal(file);
}

bool terminal_choose(const char *color, bool wants_progress, bool is_quiet)
{
    const bool is_auto = !color || strcmp(color, "auto") == 0;
    const bool is_always = color && strcmp(color, "always") == 0;
    struct look look = {.has_blocks = locale_is_utf8()};

    if (!is_auto && !is_always && strcmp(color, "never") != 0)
        return false;
    look.out_has_color = is_auto ? wants_color(STDOUT_FILENO) : is_always;
    look.err_has_color = is_auto ? wants_color(STDERR_FILENO) : is_always;
    look.out_has_links = look.out_has_color && is_able_terminal(STDOUT_FILENO);
    look.err_has_links = look.err_has_color && is_able_terminal(STDERR_FILENO);
    look_choose(&look);
    terminal.has_blocks = look.has_blocks;
    terminal.is_quiet = is_quiet;
    terminal.wants_progress = wants_progress;
    terminal.is_terminal = isatty(STDERR_FILENO);
    return true;
}

bool terminal_is_quiet(void)
{
    return terminal.is_quiet;
}

/* ---- Progress -------------------------------------------------------------------------------- */

static unsigned columns(void)
{
    struct winsize size;

    return ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col ? size.ws_col
                                                                       : DEFAULT_COLUMNS;
}

static void begin(const struct terminal_task *task, double now)
{
    terminal_end();
    snprintf(terminal.what, sizeof terminal.what, "%s", task->what);
    terminal.has_task = true;
    terminal.began = terminal.drawn = now;
    terminal.gap = 1;
    terminal.next = now + terminal.gap;
    terminal.first = task->before > task->done ? task->done : task->before;
}

static bool is_same(const struct terminal_task *task)
{
    return terminal.has_task && task->done >= terminal.last &&
           strncmp(terminal.what, task->what, sizeof terminal.what - 1) == 0;
}

static void append(char *line, size_t size, const char *text)
{
    size_t used = strlen(line);

    snprintf(line + used, size - used, "%s%s", used ? "  " : "", text);
}

/* "1:05", "2:03:10" */
static void append_time(char *line, size_t size, double seconds)
{
    const uint64_t whole = seconds < 1e7 ? (uint64_t)(seconds + 0.999) : 9999999;
    char text[64];

    if (whole >= 3600)
        snprintf(text, sizeof text, "%u:%02u:%02u left", (unsigned)(whole / 3600),
                 (unsigned)(whole / 60 % 60), (unsigned)(whole % 60));
    else
        snprintf(text, sizeof text, "%u:%02u left", (unsigned)(whole / 60), (unsigned)(whole % 60));
    append(line, size, text);
}

/* All that is told behind the name and the bar. */
static void describe(const struct terminal_task *task, double now, char *line, size_t size)
{
    const double seconds = now - terminal.began;
    const double rate =
        seconds >= RATE_SECONDS ? (double)(task->done - terminal.first) / seconds : 0;
    double left = rate > 0 && task->total ? (double)(task->total - task->done) / rate : -1;
    char number[3][REPORT_NUMBER_BYTES], text[128];

    line[0] = '\0';
    if (task->total) {
        snprintf(text, sizeof text, "%3u %%",
                 (unsigned)((double)task->done / (double)task->total * 100));
        append(line, size, text);
    }
    if (!task->hides_count) {
        snprintf(text, sizeof text, "%s%s%s %s", report_count(number[0], task->done),
                 task->total ? " of " : "", task->total ? report_count(number[1], task->total) : "",
                 task->unit);
        append(line, size, text);
    }
    if (rate > 0) {
        if (rate < 10)
            snprintf(text, sizeof text, "%.1f", rate);
        else
            snprintf(text, sizeof text, "%s", report_count(number[0], (uint64_t)rate));
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s/s",
                 task->hides_count ? " " : "", task->hides_count ? task->unit : "");
        append(line, size, text);
    }
    if (task->most_seconds > 0 && (left < 0 || left > task->most_seconds - seconds))
        left = task->most_seconds > seconds ? task->most_seconds - seconds : 0;
    if (left >= 0)
        append_time(line, size, left);
    if (task->findings || task->findings_name) {
        snprintf(text, sizeof text, "%s %s", report_count(number[2], task->findings),
                 task->findings_name   ? task->findings_name
                 : task->findings == 1 ? "finding"
                                       : "findings");
        append(line, size, text);
    }
    if (task->note)
        append(line, size, task->note);
}

/* One line of the terminal, never more: a line that is broken cannot be taken back. */
static void draw(const struct terminal_task *task, const char *described)
{
    const unsigned width = columns();
    char head[160];
    unsigned used, filled;

    snprintf(head, sizeof head, "%-9s ", terminal.what);
    used = (unsigned)strlen(head);
    fprintf(stderr, "\r\033[K%.*s", (int)(width > 1 ? width - 1 : 0), head);
    if (task->total && used + BAR_WIDTH + 4 + strlen(described) < width) {
        filled = (unsigned)((double)task->done / (double)task->total * BAR_WIDTH);
        fputc('[', stderr);
        fputs(look_begin(stderr, LOOK_GOOD), stderr);
        for (unsigned i = 0; i < BAR_WIDTH; i++)
            fputs(i < filled            ? terminal.has_blocks ? "█" : "#"
                  : terminal.has_blocks ? "░"
                                        : ".",
                  stderr);
        fputs(look_begin(stderr, LOOK_PLAIN), stderr);
        fputs("] ", stderr);
        used += BAR_WIDTH + 3;
    }
    if (used + 1 < width) {
        fputs(task->findings ? look_begin(stderr, LOOK_ADVICE) : "", stderr);
        fprintf(stderr, "%.*s", (int)(width - used - 1), described);
        fputs(task->findings ? look_begin(stderr, LOOK_PLAIN) : "", stderr);
    }
    fflush(stderr);
    terminal.is_drawn = true;
}

void terminal_progress(const struct terminal_task *given)
{
    struct terminal_task task = *given;
    const double now = terminal_now();
    char described[256];

    if (terminal.is_quiet || (!terminal.is_terminal && !terminal.wants_progress))
        return;
    if (task.total && task.done > task.total)
        task.done = task.total;
    if (!is_same(&task))
        begin(&task, now);
    terminal.last = task.done;
    if (terminal.is_terminal ? now - terminal.drawn < DRAW_SECONDS && !task.draws_at_once
                             : now < terminal.next)
        return;
    describe(&task, now, described, sizeof described);
    if (terminal.is_terminal) {
        draw(&task, described);
        terminal.drawn = now;
        return;
    }
    fprintf(stderr, "drydock: %s: %s\n", terminal.what, described + strspn(described, " "));
    terminal.gap = terminal.gap * 2 < SPARSE_SECONDS ? terminal.gap * 2 : SPARSE_SECONDS;
    terminal.next = now + terminal.gap;
}

void terminal_clear(void)
{
    if (terminal.is_drawn)
        fputs("\r\033[K", stderr);
    terminal.is_drawn = false;
}

void terminal_end(void)
{
    terminal_clear();
    terminal.has_task = false;
    terminal.last = 0;
}
