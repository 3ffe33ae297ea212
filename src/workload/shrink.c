/*
 * Shrink: the text as an array of lines, of which some are gone. A candidate is the array with more of
 * them gone, or with a line replaced; accepted, it is the array.
 */
#include "workload/shrink.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH           "shrink"
#define MOST_TRIES     2000u
#define MOST_REPAIRS   4000u
#define PROGRESS_TRIES 16u
#define SMALLEST_SIZE  4096u

struct line {
    char *text;   /* without the line end; malloc */
    bool is_gone; /* not in the smallest case so far */
    bool is_op;   /* an operation; else of the header */
};

struct shrinker {
    const struct workload_shrink *shrink;
    struct workload_shrink_result *result;
    struct line *lines;
    size_t line_count;
    bool *drop; /* of a candidate: gone as well */
    char *text; /* of a candidate */
    size_t room;
    size_t *source; /* of each line of the candidate: which of lines */
    bool is_stopped;
};

static bool is_header(const char *text)
{
    static const char *const words[] = {"drydock-case", "name",   "option",
                                        "process",      "device", "context"};
    size_t length = strcspn(text, " \t");

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        if (strlen(words[i]) == length && strncmp(words[i], text, length) == 0)
            return true;
    }
    return text[0] == '\0' || text[0] == '#';
}

static bool split(struct shrinker *shrinker, const char *text, size_t size)
{
    size_t count = 1, at = 0;

    for (size_t i = 0; i < size; i++)
        count += text[i] == '\n';
    shrinker->lines = calloc(count, sizeof *shrinker->lines);
    shrinker->drop = calloc(count, sizeof *shrinker->drop);
    shrinker->source = calloc(count, sizeof *shrinker->source);
    shrinker->room = size + 2;
    shrinker->text = malloc(shrinker->room);
    if (!shrinker->lines || !shrinker->drop || !shrinker->source || !shrinker->text)
        return false;
    while (at < size) {
        size_t length = strcspn(text + at, "\n");
        struct line *line = &shrinker->lines[shrinker->line_count];

        line->text = strndup(text + at, length);
        if (!line->text)
            return false;
        line->is_op = !is_header(line->text);
        shrinker->line_count++;
        at += length + 1;
    }
    return true;
}

static void release(struct shrinker *shrinker)
{
    for (size_t i = 0; i < shrinker->line_count; i++)
        free(shrinker->lines[i].text);
    free(shrinker->lines);
    free(shrinker->drop);
    free(shrinker->source);
    free(shrinker->text);
}

/* The candidate as text; gives the number of its lines. */
static size_t write_candidate(struct shrinker *shrinker, size_t *out_size)
{
    size_t used = 0, count = 0;

    for (size_t i = 0; i < shrinker->line_count; i++) {
        size_t length;

        if (shrinker->lines[i].is_gone || shrinker->drop[i])
            continue;
        length = strlen(shrinker->lines[i].text);
        memcpy(shrinker->text + used, shrinker->lines[i].text, length);
        used += length;
        shrinker->text[used++] = '\n';
        shrinker->source[count++] = i;
    }
    shrinker->text[used] = '\0';
    *out_size = used;
    return count;
}

/* The line that the parser complains about, from 1; 0: none that it names. */
static unsigned long line_of(const struct workload_error *error)
{
    if (strncmp(error->text, PATH ":", sizeof PATH) != 0)
        return 0;
    return strtoul(error->text + sizeof PATH, NULL, 10);
}

/* Parses the candidate; what does not fit any more is dropped. NULL: nothing sensible is left. */
static struct workload *parse(struct shrinker *shrinker)
{
    struct workload *workload = NULL;
    struct workload_error error;

    for (unsigned repairs = 0; repairs < MOST_REPAIRS; repairs++) {
        size_t size, count = write_candidate(shrinker, &size);
        unsigned long line;

        if (workload_parse(shrinker->text, size, PATH, &workload, &error))
            return workload;
        line = line_of(&error);
        if (line == 0 || line > count)
            return NULL;
        if (!shrinker->lines[shrinker->source[line - 1]].is_op)
            return NULL;
        shrinker->drop[shrinker->source[line - 1]] = true;
    }
    return NULL;
}

static uint32_t count_ops(const struct shrinker *shrinker)
{
    uint32_t count = 0;

    for (size_t i = 0; i < shrinker->line_count; i++)
        count += shrinker->lines[i].is_op && !shrinker->lines[i].is_gone;
    return count;
}

/* Whether the candidate shows it too; then it is what there is from now on. */
static bool try_candidate(struct shrinker *shrinker)
{
    const struct workload_shrink *shrink = shrinker->shrink;
    uint32_t most = shrink->most_tries ? shrink->most_tries : MOST_TRIES;
    struct workload *workload;
    bool shows = false;

    if (shrinker->result->tries >= most)
        shrinker->is_stopped = true;
    if (!shrinker->is_stopped) {
        workload = parse(shrinker);
        if (workload && workload->op_count) {
            shrinker->result->tries++;
            shows = shrink->shows(shrink->context, workload);
        }
        workload_free(workload);
    }
    for (size_t i = 0; i < shrinker->line_count; i++) {
        if (shows && shrinker->drop[i])
            shrinker->lines[i].is_gone = true;
        shrinker->drop[i] = false;
    }
    if (shrink->progress && shrinker->result->tries % PROGRESS_TRIES == 0 &&
        !shrink->progress(shrink->context, count_ops(shrinker), shrinker->result->tries))
        shrinker->is_stopped = true;
    return shows;
}

/* The lines left, operations or header, that are in [first, first + count) of their kind. */
static size_t drop_range(struct shrinker *shrinker, bool is_op, size_t first, size_t count)
{
    size_t seen = 0, dropped = 0;

    for (size_t i = 0; i < shrinker->line_count; i++) {
        if (shrinker->lines[i].is_gone || shrinker->lines[i].is_op != is_op)
            continue;
        if (seen >= first && seen < first + count) {
            shrinker->drop[i] = true;
            dropped++;
        }
        seen++;
    }
    return dropped;
}

static size_t count_kind(const struct shrinker *shrinker, bool is_op)
{
    size_t count = 0;

    for (size_t i = 0; i < shrinker->line_count; i++)
        count += !shrinker->lines[i].is_gone && shrinker->lines[i].is_op == is_op;
    return count;
}

/* Groups of lines, from the end, in ever smaller groups. */
static bool take_lines(struct shrinker *shrinker, bool is_op)
{
    size_t count = count_kind(shrinker, is_op);
    size_t group = (count + 1) / 2;
    bool has_changed = false;

    while (group && !shrinker->is_stopped) {
        bool has_taken = false;

        for (size_t end = count_kind(shrinker, is_op); end > 0 && !shrinker->is_stopped;) {
            size_t first = end > group ? end - group : 0;

            if (drop_range(shrinker, is_op, first, end - first) && try_candidate(shrinker))
                has_taken = has_changed = true;
            end = first;
            if (end > count_kind(shrinker, is_op))
                end = count_kind(shrinker, is_op);
        }
        if (group == 1 && !has_taken)
            break;
        group = group == 1 ? 1 : group / 2;
    }
    return has_changed;
}

/* Puts text in the place of a line, if the case shows it so as well. Takes text. */
static bool try_line(struct shrinker *shrinker, size_t index, char *text)
{
    char *old = shrinker->lines[index].text;

    if (!text)
        return false;
    shrinker->lines[index].text = text;
    if (try_candidate(shrinker) && !shrinker->lines[index].is_gone) {
        free(old);
        return true;
    }
    if (shrinker->lines[index].is_gone) { /* it was repaired away, and that was as good */
        free(old);
        return true;
    }
    shrinker->lines[index].text = old;
    free(text);
    return false;
}

/* The line without its word [start, end). */
static char *without(const char *text, size_t start, size_t end)
{
    char *copy = strdup(text);

    if (copy)
        memmove(copy + start, copy + end, strlen(copy + end) + 1);
    return copy;
}

/* Words from the end; the first two say what the line is and of what. */
static bool take_words(struct shrinker *shrinker, size_t index)
{
    bool has_changed = false;
    size_t end = strlen(shrinker->lines[index].text);

    while (!shrinker->is_stopped && !shrinker->lines[index].is_gone) {
        const char *text = shrinker->lines[index].text;
        size_t start, first = strcspn(text, " ");

        first += strspn(text + first, " ");
        first += strcspn(text + first, " ");
        for (start = end; start > 0 && text[start - 1] != ' '; start--)
            ;
        if (start <= first || start == 0)
            break;
        while (start > 0 && text[start - 1] == ' ')
            start--;
        if (try_line(shrinker, index, without(text, start, end)))
            has_changed = true;
        end = start;
    }
    return has_changed;
}

/* size=N of the line, halved once while it is more than a page. */
static char *with_half(const char *text)
{
    const char *at = strstr(text, "size=");
    uint64_t number;
    size_t length;
    char *copy;

    if (!at)
        return NULL;
    at += strlen("size=");
    length = strcspn(at, " ");
    if (!workload_parse_number(at, length, &number) || number < 2 * SMALLEST_SIZE)
        return NULL;
    copy = malloc(strlen(text) + 32);
    if (copy)
        sprintf(copy, "%.*s%llu%s", (int)(at - text), text,
                (unsigned long long)(number / 2 / SMALLEST_SIZE * SMALLEST_SIZE), at + length);
    return copy;
}

static bool simplify_lines(struct shrinker *shrinker)
{
    bool has_changed = false;

    for (size_t i = 0; i < shrinker->line_count && !shrinker->is_stopped; i++) {
        if (shrinker->lines[i].is_gone || !shrinker->lines[i].is_op)
            continue;
        has_changed |= take_words(shrinker, i);
        while (!shrinker->is_stopped && !shrinker->lines[i].is_gone) {
            char *half = with_half(shrinker->lines[i].text);

            /* A half is as long as the number, or the room would not do. */
            if (!half || strlen(half) > strlen(shrinker->lines[i].text) + 16) {
                free(half);
                break;
            }
            if (!try_line(shrinker, i, half))
                break;
            has_changed = true;
        }
    }
    return has_changed;
}

bool workload_shrink(const struct workload_shrink *shrink, const struct workload *workload,
                     struct workload **out, struct workload_shrink_result *out_result,
                     struct workload_error *error)
{
    struct shrinker shrinker = {.shrink = shrink, .result = out_result};
    char *text = NULL;
    size_t size;
    bool is_done = false;

    *out = NULL;
    memset(out_result, 0, sizeof *out_result);
    if (!workload_print(workload, &text, &size, error))
        return false;
    if (!split(&shrinker, text, size)) {
        snprintf(error->text, sizeof error->text, "no memory to make the case smaller");
        goto done;
    }
    /* Halved sizes may be longer as text than what they halve. */
    free(shrinker.text);
    shrinker.room = size + 2 + 32 * shrinker.line_count;
    shrinker.text = malloc(shrinker.room);
    if (!shrinker.text) {
        snprintf(error->text, sizeof error->text, "no memory to make the case smaller");
        goto done;
    }
    out_result->lines_before = count_ops(&shrinker);
    if (!try_candidate(&shrinker)) {
        snprintf(error->text, sizeof error->text, "%s: the case does not show it", workload->path);
        goto done;
    }
    do {
        take_lines(&shrinker, true);
        take_lines(&shrinker, false);
    } while (simplify_lines(&shrinker) && !shrinker.is_stopped);
    out_result->lines_after = count_ops(&shrinker);
    out_result->is_finished = !shrinker.is_stopped;
    size = 0;
    write_candidate(&shrinker, &size);
    is_done = workload_parse(shrinker.text, size, workload->path, out, error);
done:
    release(&shrinker);
    free(text);
    return is_done;
}
