/*
 * Shrink: the text is an array of lines, and some of the lines are gone. A candidate is the array
 * with more lines gone, or with a line replaced. An accepted candidate is the array from then on.
 */
#include "workload/shrink.h"
#include "workload/case/directives.h"
#include "workload/case/options.h"
#include "workload/words.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH          "shrink"
#define MOST_TRIES    2000u
#define MOST_REPAIRS  4000u
#define SMALLEST_SIZE 4096u
#define NUMBER_ROOM   24u /* more than a number of 64 bits */
#define MEMORY_UNIT   0x10000u
#define MOST_PAIRS    40u /* operations up to which every two allocations are tried as one */

struct line {
    char *text;   /* without the line end; malloc */
    char *next;   /* of a candidate: in place of text, malloc; NULL: the same */
    bool is_gone; /* not in the smallest case so far */
    bool is_op;   /* an operation; else of the header */
    bool is_kept; /* of the header: without it the driver is another one, or on another board */
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
    static const char first_line[] = "drydock-case";
    size_t length = strcspn(text, " \t");

    for (const struct directive *d = directives; d < directives + ROW_COUNT; d++) {
        if (directive_is_header(d) && strlen(d->name) == length &&
            strncmp(d->name, text, length) == 0)
            return true;
    }
    return strncmp(text, first_line, sizeof first_line - 1) == 0 || text[0] == '\0' ||
           text[0] == '#';
}

/*
 * What the driver finds around it, and the form of its private data: a driver that is refused
 * without them is refused for another reason, in the same words.
 */
static bool is_surrounding(const char *text)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        const struct workload_option_info *option = &workload_options[i];
        const size_t length = strlen(option->key);

        if ((option->type == WORKLOAD_OPTION_SURROUNDINGS ||
             option->type == WORKLOAD_OPTION_TEMPLATE) &&
            strncmp(text, "option ", 7) == 0 && strncmp(text + 7, option->key, length) == 0 &&
            text[7 + length] == ' ')
            return true;
    }
    return false;
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
        line->is_kept = is_surrounding(line->text);
        shrinker->line_count++;
        at += length + 1;
    }
    return true;
}

static void release(struct shrinker *shrinker)
{
    for (size_t i = 0; i < shrinker->line_count; i++)
        free(shrinker->lines[i].text);
    for (size_t i = 0; i < shrinker->line_count; i++)
        free(shrinker->lines[i].next);
    free(shrinker->lines);
    free(shrinker->drop);
    free(shrinker->source);
    free(shrinker->text);
}

/* Room for the text of all lines, as they are and as they are to be. */
static bool make_room(struct shrinker *shrinker)
{
    size_t room = 1;
    char *text;

    for (size_t i = 0; i < shrinker->line_count; i++) {
        const struct line *line = &shrinker->lines[i];

        room += strlen(line->next ? line->next : line->text) + 1;
    }
    if (room <= shrinker->room)
        return true;
    text = realloc(shrinker->text, 2 * room);
    if (!text)
        return false;
    shrinker->text = text;
    shrinker->room = 2 * room;
    return true;
}

/* The candidate as text, for which there is room; gives the number of its lines. */
static size_t write_candidate(struct shrinker *shrinker, size_t *out_size)
{
    size_t used = 0, count = 0;

    for (size_t i = 0; i < shrinker->line_count; i++) {
        const struct line *line = &shrinker->lines[i];
        const char *text = line->next ? line->next : line->text;
        size_t length;

        if (line->is_gone || shrinker->drop[i])
            continue;
        length = strlen(text);
        memcpy(shrinker->text + used, text, length);
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

/* Parses the candidate; lines that do not fit any more go. NULL: nothing sensible is left. */
static struct workload *parse(struct shrinker *shrinker)
{
    struct workload *workload = NULL;
    struct workload_error error;

    if (!make_room(shrinker))
        return NULL;
    for (unsigned repairs = 0; repairs < MOST_REPAIRS; repairs++) {
        size_t size, count = write_candidate(shrinker, &size);
        unsigned long line;

        if (workload_parse(shrinker->text, size, PATH, &workload, &error))
            return workload;
        line = line_of(&error);
        if (line == 0 || line > count)
            return NULL;
        if (line == 1) /* the format itself */
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

/* Whether the candidate shows it too; then the candidate is the case from now on. */
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
        struct line *line = &shrinker->lines[i];
        char *unused = shows && line->next ? line->text : line->next;

        if (shows && shrinker->drop[i])
            line->is_gone = true;
        if (shows && line->next)
            line->text = line->next;
        free(unused);
        line->next = NULL;
        shrinker->drop[i] = false;
    }
    if (shrink->progress &&
        !shrink->progress(shrink->context, count_ops(shrinker), shrinker->result->tries))
        shrinker->is_stopped = true;
    return shows;
}

static bool may_go(const struct line *line, bool is_op)
{
    return !line->is_gone && !line->is_kept && line->is_op == is_op;
}

/* The lines left, operations or header, that are in [first, first + count) of their kind. */
static size_t drop_range(struct shrinker *shrinker, bool is_op, size_t first, size_t count)
{
    size_t seen = 0, dropped = 0;

    for (size_t i = 0; i < shrinker->line_count; i++) {
        if (!may_go(&shrinker->lines[i], is_op))
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
        count += may_go(&shrinker->lines[i], is_op);
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

/*
 * Every two lines, where each alone has to stay: one that puts things at other addresses, and its
 * opposite.
 */
static bool take_pairs(struct shrinker *shrinker)
{
    bool has_changed = false;

    if (count_ops(shrinker) > MOST_PAIRS)
        return false;
    for (size_t i = shrinker->line_count; i-- > 0 && !shrinker->is_stopped;) {
        for (size_t j = i; j-- > 0 && !shrinker->is_stopped;) {
            struct line *a = &shrinker->lines[i], *b = &shrinker->lines[j];

            if (a->is_gone || b->is_gone || !a->is_op || !b->is_op)
                continue;
            shrinker->drop[i] = shrinker->drop[j] = true;
            has_changed |= try_candidate(shrinker);
        }
    }
    return has_changed;
}

/* Puts text in the place of a line, if the case shows it so as well. Takes text. */
static bool try_line(struct shrinker *shrinker, size_t index, char *text)
{
    if (!text)
        return false;
    shrinker->lines[index].next = text;
    return try_candidate(shrinker);
}

/*
 * Lines from the end, doubling while that goes well and halving when not: nearly all of a long case
 * stands behind the finding.
 */
static void take_tail(struct shrinker *shrinker)
{
    size_t group = count_kind(shrinker, true) / 2;

    while (group && !shrinker->is_stopped) {
        size_t count = count_kind(shrinker, true);

        if (group < count && drop_range(shrinker, true, count - group, group) &&
            try_candidate(shrinker))
            continue;
        group /= 2;
    }
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

/* The place of the number behind key in the line, and its characters; NULL: there is none. */
static const char *find_number(const char *text, const char *key, size_t *out_length,
                               uint64_t *out_number)
{
    const char *at = strstr(text, key);

    if (!at)
        return NULL;
    at += strlen(key);
    *out_length = strcspn(at, " ");
    return workload_parse_number(at, *out_length, out_number) ? at : NULL;
}

/* The line with another number behind key, which it has. */
static char *with_number(const char *text, const char *key, uint64_t number)
{
    uint64_t old;
    size_t length;
    const char *at = find_number(text, key, &length, &old);
    char *copy = at ? malloc(strlen(text) + NUMBER_ROOM) : NULL;

    if (copy)
        sprintf(copy, "%.*s%llu%s", (int)(at - text), text, (unsigned long long)number,
                at + length);
    return copy;
}

/*
 * The number behind key in the line made small, or half; NULL: there is none, or it is as small as
 * can be.
 */
static char *with_less(const char *text, const char *key, uint64_t smallest, bool is_smallest)
{
    uint64_t number;
    size_t length;

    if (!find_number(text, key, &length, &number) || number < 2 * smallest)
        return NULL;
    return with_number(text, key, is_smallest ? smallest : number / 2 / smallest * smallest);
}

/* size= and pages= as small as can be, or halved while that goes. */
static bool take_numbers(struct shrinker *shrinker, size_t index)
{
    static const struct {
        const char *key;
        uint64_t smallest;
    } numbers[] = {{" size=", SMALLEST_SIZE}, {" pages=", 1}};
    const struct line *line = &shrinker->lines[index];
    bool has_changed = false;

    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        bool goes_on = true;

        if (!line->is_gone &&
            try_line(shrinker, index,
                     with_less(line->text, numbers[i].key, numbers[i].smallest, true)))
            has_changed = true;
        while (goes_on && !line->is_gone && !shrinker->is_stopped) {
            goes_on = try_line(shrinker, index,
                               with_less(line->text, numbers[i].key, numbers[i].smallest, false));
            has_changed |= goes_on;
        }
    }
    return has_changed;
}

/* The number behind the words gets less: by half while that goes, by a quarter, by an eighth. */
static bool take_memory_of(struct shrinker *shrinker, size_t index, const char *words)
{
    const struct line *line = &shrinker->lines[index];
    bool has_changed = false;
    uint64_t part = 2, number;
    size_t length;

    while (part <= 8 && !line->is_gone && !shrinker->is_stopped &&
           find_number(line->text, words, &length, &number)) {
        number = (number - number / part) / MEMORY_UNIT * MEMORY_UNIT;
        if (number && try_line(shrinker, index, with_number(line->text, words, number)))
            has_changed = true;
        else
            part *= 2;
    }
    return has_changed;
}

/*
 * Less memory is filled by fewer allocations: a finding that shows only under pressure needs less
 * of a case then.
 */
static bool take_memory(struct shrinker *shrinker)
{
    bool has_changed = false;

    for (size_t i = 0; i < shrinker->line_count; i++) {
        for (size_t j = 0; j < WORKLOAD_OPTION_COUNT; j++) {
            char words[WORKLOAD_MAX_NAME + 16];

            if (workload_options[j].type != WORKLOAD_OPTION_MEMORY)
                continue;
            snprintf(words, sizeof words, "option %s ", workload_options[j].key);
            if (strncmp(shrinker->lines[i].text, words, strlen(words)) == 0)
                has_changed |= take_memory_of(shrinker, i, words);
        }
    }
    return has_changed;
}

/* References without their keys and ranges: "a@0+4096:rw=7" is "a:rw". */
static bool take_parts(struct shrinker *shrinker, size_t index)
{
    const struct line *line = &shrinker->lines[index];
    bool has_changed = false;
    size_t at = 0;

    while (!line->is_gone && !shrinker->is_stopped && line->text[at]) {
        size_t length = strcspn(line->text + at, " "), end = at + length;
        size_t colon = at + strcspn(line->text + at, ": "), key, range;

        if (colon < end) {
            key = colon + strcspn(line->text + colon, "= ");
            if (key < end && try_line(shrinker, index, without(line->text, key, end)))
                has_changed = true;
            range = at + strcspn(line->text + at, "@: ");
            if (!line->is_gone && line->text[range] == '@' &&
                try_line(shrinker, index, without(line->text, range, colon)))
                has_changed = true;
        }
        if (line->is_gone)
            break;
        at += strcspn(line->text + at, " ");
        at += strspn(line->text + at, " ");
    }
    return has_changed;
}

/* Words of a list, "flags=shared,primary", from the end; the last one goes with take_words(). */
static bool take_list(struct shrinker *shrinker, size_t index)
{
    const struct line *line = &shrinker->lines[index];
    bool has_changed = false;

    for (size_t at = strlen(line->text); at-- > 0 && !shrinker->is_stopped && !line->is_gone;) {
        size_t end;

        if (at >= strlen(line->text) || (line->text[at] != ',' && line->text[at] != '='))
            continue;
        end = at + 1 + strcspn(line->text + at + 1, ", ");
        if (line->text[at] == ',')
            has_changed |= try_line(shrinker, index, without(line->text, at, end));
        else if (line->text[end] == ',')
            has_changed |= try_line(shrinker, index, without(line->text, at + 1, end + 1));
    }
    return has_changed;
}

static bool simplify_lines(struct shrinker *shrinker)
{
    bool has_changed = false;

    for (size_t i = 0; i < shrinker->line_count && !shrinker->is_stopped; i++) {
        if (shrinker->lines[i].is_gone ||
            (!shrinker->lines[i].is_op && strncmp(shrinker->lines[i].text, "context ", 8) != 0))
            continue;
        has_changed |= take_words(shrinker, i);
        has_changed |= !shrinker->lines[i].is_gone && take_parts(shrinker, i);
        has_changed |= !shrinker->lines[i].is_gone && take_list(shrinker, i);
        has_changed |= !shrinker->lines[i].is_gone && take_numbers(shrinker, i);
    }
    return has_changed;
}

/* ---- Two of a kind as one -------------------------------------------------------------------- */

/* The word is the name, alone, behind "KEY=", or in front of what a reference says of it. */
static bool is_name_at(const char *text, size_t at, const char *name, size_t length)
{
    char before = at ? text[at - 1] : ' ', after;

    if (strncmp(text + at, name, length) != 0 || (before != ' ' && before != '='))
        return false;
    after = text[at + length];
    return after == '\0' || after == ' ' || after == ':' || after == '@';
}

/* The line with one name in place of another; NULL: it does not have that name. */
static char *renamed(const char *text, const char *from, size_t from_length, const char *to,
                     size_t to_length)
{
    size_t size = strlen(text), used = 0, count = 0;
    char *copy;

    for (size_t i = 0; i < size; i++)
        count += is_name_at(text, i, from, from_length);
    copy = count ? malloc(size + count * to_length + 1) : NULL;
    if (!copy)
        return NULL;
    for (size_t i = 0; i < size;) {
        if (is_name_at(text, i, from, from_length)) {
            memcpy(copy + used, to, to_length);
            used += to_length;
            i += from_length;
        } else {
            copy[used++] = text[i++];
        }
    }
    copy[used] = '\0';
    return copy;
}

/* The second word of a line of that kind, "context c1 ..."; NULL: a line of another kind. */
static const char *name_of(const struct line *line, const char *kind, size_t *out_length)
{
    size_t length = strlen(kind);

    *out_length = 0;
    if (line->is_gone || strncmp(line->text, kind, length) != 0 || line->text[length] != ' ')
        return NULL;
    *out_length = strcspn(line->text + length + 1, " ");
    return line->text + length + 1;
}

/* The earlier line with the sizes of both; NULL: they have none. */
static char *with_both_sizes(const struct shrinker *shrinker, size_t later, size_t earlier)
{
    const char *key = " size=";
    uint64_t a, b;
    size_t length;

    if (!find_number(shrinker->lines[earlier].text, key, &length, &a) ||
        !find_number(shrinker->lines[later].text, key, &length, &b))
        return NULL;
    return with_number(shrinker->lines[earlier].text, key, a + b);
}

/*
 * Users of the object of the later line use the object of the earlier line, and the later line
 * goes. adds_sizes: the object that stays takes as much room as both took.
 */
static bool merge_lines(struct shrinker *shrinker, const char *kind, size_t later, size_t earlier,
                        bool adds_sizes)
{
    size_t from_length, to_length;
    const char *from = name_of(&shrinker->lines[later], kind, &from_length);
    const char *to = name_of(&shrinker->lines[earlier], kind, &to_length);

    for (size_t i = 0; i < shrinker->line_count; i++) {
        struct line *line = &shrinker->lines[i];

        if (line->is_gone || i == later || i == earlier)
            continue;
        line->next = renamed(line->text, from, from_length, to, to_length);
    }
    if (adds_sizes)
        shrinker->lines[earlier].next = with_both_sizes(shrinker, later, earlier);
    shrinker->drop[later] = true;
    return try_candidate(shrinker);
}

static bool merge_kind(struct shrinker *shrinker, const char *kind, bool adds_sizes)
{
    bool has_changed = false;
    size_t length;

    for (size_t i = shrinker->line_count; i-- > 0 && !shrinker->is_stopped;) {
        for (size_t j = 0; j < i && name_of(&shrinker->lines[i], kind, &length); j++) {
            if (!shrinker->is_stopped && name_of(&shrinker->lines[j], kind, &length))
                has_changed |= merge_lines(shrinker, kind, i, j, adds_sizes);
        }
    }
    return has_changed;
}

/* Copies the references of a submission, " a:rw b@0+4096:r", behind text. */
static void copy_references(char *text, const char *line)
{
    size_t used = strlen(text);

    while (*line) {
        size_t length = strcspn(line, " ");

        if (memchr(line, ':', length))
            used += (size_t)sprintf(text + used, " %.*s", (int)length, line);
        line += length;
        line += strspn(line, " ");
    }
}

/*
 * The later submission uses what the earlier used as well, and the earlier goes; or the other way
 * round.
 */
static bool join_two(struct shrinker *shrinker, size_t earlier, size_t later)
{
    for (unsigned way = 0; way < 2; way++) {
        size_t gone = way ? later : earlier, left = way ? earlier : later;
        const struct line *from = &shrinker->lines[gone], *to = &shrinker->lines[left];
        char *text = malloc(strlen(to->text) + strlen(from->text) + 2);

        if (!text)
            return false;
        strcpy(text, to->text);
        copy_references(text, from->text);
        shrinker->drop[gone] = true;
        if (try_line(shrinker, left, text))
            return true;
    }
    return false;
}

/* Submissions of one context, each with the next one. */
static bool join_submissions(struct shrinker *shrinker)
{
    bool has_changed = false;

    for (size_t i = shrinker->line_count; i-- > 0 && !shrinker->is_stopped;) {
        size_t length, other_length, j = i;
        const char *context = name_of(&shrinker->lines[i], "submit", &length), *other = NULL;

        while (context && !other && j-- > 0) {
            other = name_of(&shrinker->lines[j], "submit", &other_length);
            if (other && (other_length != length || strncmp(other, context, length) != 0))
                other = NULL;
        }
        if (other)
            has_changed |= join_two(shrinker, j, i);
    }
    return has_changed;
}

static bool merge(struct shrinker *shrinker)
{
    bool has_changed = merge_kind(shrinker, "context", false);

    has_changed |= merge_kind(shrinker, "device", false);
    has_changed |= merge_kind(shrinker, "process", false);
    if (count_ops(shrinker) <= MOST_PAIRS) {
        has_changed |= join_submissions(shrinker);
        has_changed |= merge_kind(shrinker, "alloc", false);
        if (!shrinker->shrink->keeps_sizes)
            has_changed |= merge_kind(shrinker, "alloc", true);
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
    bool is_done = false, has_changed;

    *out = NULL;
    memset(out_result, 0, sizeof *out_result);
    if (!workload_print(workload, &text, &size, error))
        return false;
    if (!split(&shrinker, text, size)) {
        snprintf(error->text, sizeof error->text, "no memory to make the case smaller");
        goto done;
    }
    out_result->lines_before = count_ops(&shrinker);
    if (!try_candidate(&shrinker)) {
        snprintf(error->text, sizeof error->text, "%s: the case does not show it", workload->path);
        goto done;
    }
    take_tail(&shrinker);
    do {
        take_lines(&shrinker, true);
        take_lines(&shrinker, false);
        has_changed = !shrink->keeps_sizes && take_memory(&shrinker);
        has_changed |= merge(&shrinker);
        has_changed |= simplify_lines(&shrinker);
        if (!has_changed)
            has_changed = take_pairs(&shrinker);
    } while (has_changed && !shrinker.is_stopped);
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
