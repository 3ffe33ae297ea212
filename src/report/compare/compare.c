#include "report/compare/compare.h"
#include "report/page/page.h"
#include "report/plain_text.h"
#include "report/report.h"
#include "report/text_json.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define GET(story, TABLE, COLUMN, row)  story_get(story, STORY_##TABLE##_##COLUMN, row)
#define TEXT(story, TABLE, COLUMN, row) story_text_of(story, GET(story, TABLE, COLUMN, row))

/* Some operations that follow each other, by where they begin. */
struct stretch {
    uint64_t hash;
    size_t row;
};

/* One of the two runs, with what is asked of it often. */
struct side {
    const struct story *story;
    size_t calls, operations;
    size_t *arguments; /* first argument of each call, and the end; arguments[calls + 1] */
    size_t *argument_rows;
    uint64_t *hashes, *stretches; /* of each operation, and of the stretch that begins there */
    struct stretch *sorted;
};

static void set(json_t *object, const char *key, uint64_t value)
{
    json_object_set_new(object, key, json_integer((json_int_t)value));
}

/* ---- Values as text -------------------------------------------------------------------------- */

#define VALUE_TEXT 600

static void object_text(const struct story *story, uint64_t object, char out[VALUE_TEXT])
{
    if (object)
        snprintf(out, VALUE_TEXT, "%.100s %" PRIu64, TEXT(story, OBJECTS, KIND, (size_t)object - 1),
                 GET(story, OBJECTS, NUMBER, (size_t)object - 1));
    else
        snprintf(out, VALUE_TEXT, "none");
}

static void argument_text(const struct story *story, size_t row, char out[VALUE_TEXT])
{
    const char *type = TEXT(story, ARGUMENTS, TYPE, row);
    uint64_t value = GET(story, ARGUMENTS, VALUE, row);

    if (strcmp(type, "text") == 0)
        snprintf(out, VALUE_TEXT, "%.500s", story_text_of(story, value));
    else if (strcmp(type, "object") == 0)
        object_text(story, value, out);
    else if (strcmp(type, "signed") == 0)
        snprintf(out, VALUE_TEXT, "%" PRId64, (int64_t)value);
    else if (strcmp(type, "hex") == 0)
        snprintf(out, VALUE_TEXT, "0x%" PRIx64, value);
    else
        snprintf(out, VALUE_TEXT, "%" PRIu64, value);
}

static void call_text(const struct story *story, size_t row, char out[VALUE_TEXT])
{
    char object[VALUE_TEXT] = "";
    const char *operation = TEXT(story, CALLS, OPERATION, row);

    if (GET(story, CALLS, OBJECT, row))
        object_text(story, GET(story, CALLS, OBJECT, row), object);
    snprintf(out, VALUE_TEXT, "%.200s%s%.100s%s%.150s", TEXT(story, CALLS, NAME, row),
             operation[0] ? " " : "", operation, object[0] ? " of " : "", object);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* Arguments by their calls. False: no memory. */
static bool index_arguments(struct side *side)
{
    size_t rows = story_rows(side->story, STORY_ARGUMENTS);

    side->arguments = calloc(side->calls + 3, sizeof *side->arguments);
    side->argument_rows = calloc(rows + 1, sizeof *side->argument_rows);
    if (!side->arguments || !side->argument_rows)
        return false;
    for (size_t i = 0; i < rows; i++) {
        uint64_t call = GET(side->story, ARGUMENTS, CALL, i);

        if (call && call <= side->calls)
            side->arguments[call + 1]++;
    }
    for (size_t i = 2; i < side->calls + 3; i++)
        side->arguments[i] += side->arguments[i - 1];
    for (size_t i = 0; i < rows; i++) {
        uint64_t call = GET(side->story, ARGUMENTS, CALL, i);

        if (call && call <= side->calls)
            side->argument_rows[side->arguments[call]++] = i;
    }
    /* arguments[call] is the end of the call's now, and so the beginning of the next one's. */
    return true;
}

/* The arguments of a call: rows[0] .. rows[count - 1] of argument_rows. */
static size_t arguments_of(const struct side *side, size_t call, const size_t **rows)
{
    *rows = side->argument_rows + side->arguments[call];
    return side->arguments[call + 1] - side->arguments[call];
}

static bool objects_are_alike(const struct story *a, uint64_t object_a, const struct story *b,
                              uint64_t object_b)
{
    if (!object_a || !object_b)
        return !object_a && !object_b;
    return GET(a, OBJECTS, NUMBER, (size_t)object_a - 1) ==
               GET(b, OBJECTS, NUMBER, (size_t)object_b - 1) &&
           strcmp(TEXT(a, OBJECTS, KIND, (size_t)object_a - 1),
                  TEXT(b, OBJECTS, KIND, (size_t)object_b - 1)) == 0;
}

static bool arguments_are_alike(const struct side *a, size_t row_a, const struct side *b,
                                size_t row_b)
{
    char text_a[VALUE_TEXT], text_b[VALUE_TEXT];
    const char *type_a = TEXT(a->story, ARGUMENTS, TYPE, row_a);

    if (strcmp(type_a, TEXT(b->story, ARGUMENTS, TYPE, row_b)) != 0)
        return false;
    if (strcmp(type_a, "text") != 0 && strcmp(type_a, "object") != 0)
        return GET(a->story, ARGUMENTS, VALUE, row_a) == GET(b->story, ARGUMENTS, VALUE, row_b);
    argument_text(a->story, row_a, text_a);
    argument_text(b->story, row_b, text_b);
    return strcmp(text_a, text_b) == 0;
}

static bool have_same_arguments(const struct side *a, const struct side *b, size_t call)
{
    const size_t *rows_a, *rows_b;
    size_t count = arguments_of(a, call, &rows_a);

    if (arguments_of(b, call, &rows_b) != count)
        return false;
    for (size_t i = 0; i < count; i++) {
        if (strcmp(TEXT(a->story, ARGUMENTS, FIELD, rows_a[i]),
                   TEXT(b->story, ARGUMENTS, FIELD, rows_b[i])) != 0 ||
            !arguments_are_alike(a, rows_a[i], b, rows_b[i]))
            return false;
    }
    return true;
}

/* NULL: the call is the same in both runs; else what is different. */
static const char *difference_of(const struct side *a, const struct side *b, size_t call)
{
    if (strcmp(TEXT(a->story, CALLS, NAME, call), TEXT(b->story, CALLS, NAME, call)) != 0 ||
        strcmp(TEXT(a->story, CALLS, OPERATION, call), TEXT(b->story, CALLS, OPERATION, call)) !=
            0 ||
        !objects_are_alike(a->story, GET(a->story, CALLS, OBJECT, call), b->story,
                           GET(b->story, CALLS, OBJECT, call)))
        return "call";
    if (GET(a->story, CALLS, STATUS, call) != GET(b->story, CALLS, STATUS, call))
        return "status";
    return have_same_arguments(a, b, call) ? NULL : "arguments";
}

static json_t *call_json(const struct side *side, size_t call)
{
    char text[VALUE_TEXT];
    json_t *json;

    if (call >= side->calls)
        return json_null();
    json = json_object();
    call_text(side->story, call, text);
    set(json, "row", call);
    set(json, "sequence", GET(side->story, CALLS, SEQUENCE, call));
    set(json, "time_ns", GET(side->story, CALLS, BEGINS, call));
    set(json, "status", GET(side->story, CALLS, STATUS, call));
    json_object_set_new(json, "text", report_text_json(text));
    return json;
}

/* The value of the first argument of this name; "": it has none. */
static void find_argument(const struct side *side, size_t call, const char *field, bool is_answer,
                          char out[VALUE_TEXT])
{
    const size_t *rows;
    size_t count = arguments_of(side, call, &rows);

    out[0] = '\0';
    for (size_t i = 0; i < count; i++) {
        if (strcmp(TEXT(side->story, ARGUMENTS, FIELD, rows[i]), field) == 0 &&
            (GET(side->story, ARGUMENTS, IS_ANSWER, rows[i]) != 0) == is_answer) {
            argument_text(side->story, rows[i], out);
            return;
        }
    }
}

static void add_argument(json_t *list, const char *field, const char *a, const char *b)
{
    json_t *json = json_object();

    json_object_set_new(json, "field", report_text_json(field));
    json_object_set_new(json, "a", report_text_json(a));
    json_object_set_new(json, "b", report_text_json(b));
    json_array_append_new(list, json);
}

static json_t *arguments_json(const struct side *a, const struct side *b, size_t call)
{
    json_t *list = json_array();
    const size_t *rows;
    size_t count;

    if (call >= a->calls || call >= b->calls)
        return list;
    count = arguments_of(a, call, &rows);
    for (size_t i = 0; i < count; i++) {
        const char *field = TEXT(a->story, ARGUMENTS, FIELD, rows[i]);
        bool is_answer = GET(a->story, ARGUMENTS, IS_ANSWER, rows[i]) != 0;
        char text_a[VALUE_TEXT], text_b[VALUE_TEXT];

        argument_text(a->story, rows[i], text_a);
        find_argument(b, call, field, is_answer, text_b);
        if (strcmp(text_a, text_b) != 0)
            add_argument(list, field, text_a, text_b);
    }
    /* Those that only the second run has. */
    count = arguments_of(b, call, &rows);
    for (size_t i = 0; i < count; i++) {
        const char *field = TEXT(b->story, ARGUMENTS, FIELD, rows[i]);
        char text_a[VALUE_TEXT], text_b[VALUE_TEXT];

        find_argument(a, call, field, GET(b->story, ARGUMENTS, IS_ANSWER, rows[i]) != 0, text_a);
        argument_text(b->story, rows[i], text_b);
        if (!text_a[0] && text_b[0])
            add_argument(list, field, text_a, text_b);
    }
    return list;
}

static json_t *difference_json(const struct side *a, const struct side *b, size_t call,
                               const char *kind)
{
    json_t *json = json_object();

    json_object_set_new(json, "kind", json_string(kind));
    json_object_set_new(json, "a", call_json(a, call));
    json_object_set_new(json, "b", call_json(b, call));
    json_object_set_new(json, "arguments", arguments_json(a, b, call));
    return json;
}

/* True: some call differs. */
static bool compare_calls(const struct side *a, const struct side *b, json_t *comparison)
{
    size_t least = a->calls < b->calls ? a->calls : b->calls, same = 0, at_same_time = 0;
    json_t *calls = json_object(), *first = json_null(), *first_time = json_null();
    const char *kind = NULL;

    while (same < least && !(kind = difference_of(a, b, same)))
        same++;
    while (at_same_time < same &&
           GET(a->story, CALLS, BEGINS, at_same_time) == GET(b->story, CALLS, BEGINS, at_same_time))
        at_same_time++;
    if (!kind && a->calls != b->calls)
        kind = "end";
    if (kind)
        first = difference_json(a, b, same, kind);
    if (at_same_time < same)
        first_time = difference_json(a, b, at_same_time, "time");
    set(calls, "a", a->calls);
    set(calls, "b", b->calls);
    set(calls, "same", same);
    json_object_set_new(comparison, "calls", calls);
    json_object_set_new(comparison, "first_difference", first);
    json_object_set_new(comparison, "first_time", first_time);
    return kind != NULL;
}

/* ---- Operations ------------------------------------------------------------------------------ */

static uint64_t hash_text(const char *text)
{
    struct hash hash;

    hash_init(&hash, 0);
    hash_update(&hash, text, strlen(text));
    return hash_final(&hash);
}

static uint64_t hash_object(const struct story *story, uint64_t object)
{
    return object ? hash_pair(hash_text(TEXT(story, OBJECTS, KIND, (size_t)object - 1)),
                              GET(story, OBJECTS, NUMBER, (size_t)object - 1))
                  : 0;
}

/* What an operation is: the same in both runs where they do the same. */
static uint64_t hash_operation(const struct story *story, size_t row)
{
    uint64_t hash = hash_text(TEXT(story, OPERATIONS, NAME, row));

    hash = hash_pair(hash, GET(story, OPERATIONS, BYTES, row));
    hash = hash_pair(hash, hash_object(story, GET(story, OPERATIONS, ALLOCATION, row)));
    return hash_pair(hash, hash_object(story, GET(story, OPERATIONS, TO_SEGMENT, row)));
}

static int by_hash(const void *a, const void *b)
{
    const struct stretch *x = a, *y = b;

    if (x->hash != y->hash)
        return x->hash < y->hash ? -1 : 1;
    return (x->row > y->row) - (x->row < y->row);
}

/*
 * Hashes of the operations, and of the stretches that begin at each of them. The end of the run is
 * a stretch, too, so that two runs meet there at the latest. False: no memory.
 */
static bool index_operations(struct side *side)
{
    side->hashes = calloc(side->operations + 1, sizeof *side->hashes);
    side->stretches = calloc(side->operations + 1, sizeof *side->stretches);
    side->sorted = calloc(side->operations + 1, sizeof *side->sorted);
    if (!side->hashes || !side->stretches || !side->sorted)
        return false;
    for (size_t i = 0; i < side->operations; i++)
        side->hashes[i] = hash_operation(side->story, i);
    for (size_t i = 0; i <= side->operations; i++) {
        uint64_t hash = 0;

        for (size_t k = i; k < i + COMPARE_SAME_OPERATIONS; k++)
            hash = hash_pair(hash, k < side->operations ? side->hashes[k] : 0);
        side->stretches[i] = hash;
        side->sorted[i] = (struct stretch){hash, i};
    }
    qsort(side->sorted, side->operations + 1, sizeof *side->sorted, by_hash);
    return true;
}

/* The first row at or behind `from` where the stretch is; SIZE_MAX: there is none. */
static size_t find_stretch(const struct side *side, uint64_t hash, size_t from)
{
    const struct stretch wanted = {hash, from};
    size_t low = 0, high = side->operations + 1;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (by_hash(&side->sorted[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low <= side->operations && side->sorted[low].hash == hash ? side->sorted[low].row
                                                                     : SIZE_MAX;
}

/* The nearest pair of rows behind both from which the runs go on alike, by the sum of what is
 * skipped. */
static void find_again(const struct side *a, size_t *row_a, const struct side *b, size_t *row_b)
{
    size_t best = SIZE_MAX, best_a = a->operations, best_b = b->operations;

    for (size_t i = *row_a; i <= a->operations && i - *row_a < best; i++) {
        size_t found = find_stretch(b, a->stretches[i], *row_b);

        if (found != SIZE_MAX && i - *row_a + found - *row_b < best) {
            best = i - *row_a + found - *row_b;
            best_a = i;
            best_b = found;
        }
    }
    *row_a = best_a;
    *row_b = best_b;
}

static bool compare_operations(const struct side *a, const struct side *b, json_t *comparison)
{
    json_t *operations = json_object(), *parts = json_array(), *first = json_null();
    size_t row_a = 0, row_b = 0, same = 0, found = 0;

    while (row_a < a->operations || row_b < b->operations) {
        size_t from_a = row_a, from_b = row_b;

        if (row_a < a->operations && row_b < b->operations &&
            a->hashes[row_a] == b->hashes[row_b]) {
            same++;
            row_a++;
            row_b++;
            continue;
        }
        if (++found < COMPARE_PARTS) {
            find_again(a, &row_a, b, &row_b);
        } else {
            row_a = a->operations;
            row_b = b->operations;
        }
        json_array_append_new(parts, json_pack("[I, I, I, I]", (json_int_t)from_a,
                                               (json_int_t)(row_a - from_a), (json_int_t)from_b,
                                               (json_int_t)(row_b - from_b)));
        if (found == 1)
            first = json_pack("{s: I, s: I}", "a", (json_int_t)from_a, "b", (json_int_t)from_b);
    }
    set(operations, "a", a->operations);
    set(operations, "b", b->operations);
    set(operations, "same", same);
    json_object_set_new(comparison, "operations", operations);
    json_object_set_new(comparison, "first_operation", first);
    json_object_set_new(comparison, "parts", parts);
    return found != 0;
}

/* ---- Figures --------------------------------------------------------------------------------- */

static const char *const settings[] = {"version", "case",    "driver", "model",
                                       "seed",    "options", "machine"};

static bool is_setting(const char *path)
{
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++) {
        if (strcmp(path, settings[i]) == 0)
            return true;
    }
    return false;
}

/*
 * What says how long the machine took, or how much of the run was written down, and not what the
 * run did; what has lists of its own; and the points of curves, of which the page has a picture.
 */
static bool is_left_out(const char *path)
{
    static const char *const paths[] = {
        "wall_seconds", "play_wall_seconds",      "reference_wall_seconds", "digest", "findings",
        "events",       "local_memory.used_bytes"};

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++) {
        if (strcmp(path, paths[i]) == 0)
            return true;
    }
    return false;
}

static void compare_values(const char *path, const json_t *a, const json_t *b, json_t *figures);

static void compare_members(const char *path, const json_t *a, const json_t *b, json_t *figures)
{
    json_t *keys = json_object();
    const char *key;
    json_t *value;
    char inner[512];

    json_object_update(keys, (json_t *)a);
    json_object_update_missing(keys, (json_t *)b);
    json_object_foreach(keys, key, value)
    {
        snprintf(inner, sizeof inner, "%.250s%s%.250s", path, path[0] ? "." : "", key);
        if (!is_left_out(inner) && !is_setting(inner))
            compare_values(inner, json_object_get(a, key), json_object_get(b, key), figures);
    }
    json_decref(keys);
}

static void compare_values(const char *path, const json_t *a, const json_t *b, json_t *figures)
{
    json_t *json;

    if (json_array_size(figures) >= COMPARE_FIGURES || (!a && !b) || (a && b && json_equal(a, b)))
        return;
    if ((json_is_object(a) || json_is_array(a)) &&
        json_typeof(a) == (b ? json_typeof(b) : JSON_NULL)) {
        char inner[512];

        if (json_is_object(a)) {
            compare_members(path, a, b, figures);
            return;
        }
        for (size_t i = 0; i < json_array_size(a) || i < json_array_size(b); i++) {
            snprintf(inner, sizeof inner, "%.480s.%zu", path, i);
            compare_values(inner, json_array_get(a, i), json_array_get(b, i), figures);
        }
        return;
    }
    json = json_object();
    json_object_set_new(json, "path", report_text_json(path));
    json_object_set_new(json, "a", a ? json_incref((json_t *)a) : json_null());
    json_object_set_new(json, "b", b ? json_incref((json_t *)b) : json_null());
    json_array_append_new(figures, json);
}

/* ---- As text --------------------------------------------------------------------------------- */

static const char *text_at(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));

    return text ? text : "";
}

static uint64_t number_at(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

static void put_call(FILE *out, const char *name, const json_t *call)
{
    char time[REPORT_NUMBER_BYTES], number[REPORT_NUMBER_BYTES];

    if (!json_is_object(call)) {
        fprintf(out, "    %s  no more calls\n", name);
        return;
    }
    fprintf(out, "    %s  call %s, at %s: %s", name,
            report_count(number, number_at(call, "sequence")),
            report_time(time, number_at(call, "time_ns")), text_at(call, "text"));
    if (number_at(call, "status"))
        fprintf(out, ", 0x%08" PRIX64, number_at(call, "status"));
    fprintf(out, "\n");
}

static void put_difference(FILE *out, const json_t *comparison)
{
    const json_t *calls = json_object_get(comparison, "calls");
    const json_t *first = json_object_get(comparison, "first_difference");
    const json_t *first_time = json_object_get(comparison, "first_time");
    const json_t *operations = json_object_get(comparison, "operations");
    char a[REPORT_NUMBER_BYTES], b[REPORT_NUMBER_BYTES], same[REPORT_NUMBER_BYTES];
    json_t *argument;
    size_t i;

    if (!json_is_true(json_object_get(comparison, "has_records"))) {
        fprintf(out, "  not both runs have a record: only their figures are compared\n");
        return;
    }
    fprintf(out, "  calls       %s and %s; the first %s are the same\n",
            report_count(a, number_at(calls, "a")), report_count(b, number_at(calls, "b")),
            report_count(same, number_at(calls, "same")));
    fprintf(out, "  operations  %s and %s; %s are the same\n",
            report_count(a, number_at(operations, "a")),
            report_count(b, number_at(operations, "b")),
            report_count(same, number_at(operations, "same")));
    if (json_is_object(first_time)) {
        fprintf(out, "  the first call at another time\n");
        put_call(out, "a", json_object_get(first_time, "a"));
        put_call(out, "b", json_object_get(first_time, "b"));
    }
    if (!json_is_object(first))
        return;
    fprintf(out, "  the first difference (%s)\n", text_at(first, "kind"));
    put_call(out, "a", json_object_get(first, "a"));
    put_call(out, "b", json_object_get(first, "b"));
    /* Arguments of two calls of the same function are beside each other, and of no others. */
    if (strcmp(text_at(json_object_get(first, "a"), "text"),
               text_at(json_object_get(first, "b"), "text")) != 0)
        return;
    json_array_foreach(json_object_get(first, "arguments"), i, argument)
        fprintf(out, "       %s: %.60s and %.60s\n", text_at(argument, "field"),
                *text_at(argument, "a") ? text_at(argument, "a") : "(none)",
                *text_at(argument, "b") ? text_at(argument, "b") : "(none)");
}

/* The lines of the text about the difference, each for itself. */
static json_t *sentences_json(const json_t *comparison)
{
    json_t *list = json_array();
    char *text = NULL, *place = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    if (!out)
        return list;
    if (json_is_true(json_object_get(comparison, "is_same")))
        fprintf(out, "the runs are the same\n");
    else
        put_difference(out, comparison);
    if (fclose(out) == 0) {
        for (char *line = strtok_r(text, "\n", &place); line; line = strtok_r(NULL, "\n", &place))
            json_array_append_new(list, report_text_json(line + strspn(line, " ")));
    }
    free(text);
    return list;
}

/* ---- The whole ------------------------------------------------------------------------------- */

json_t *report_compare(const struct report_run *a, const struct report_run *b)
{
    struct side sides[2] = {{.story = a->story}, {.story = b->story}};
    json_t *comparison = json_object(), *figures = json_array();
    bool is_different = false, is_done = true;

    /* First what was asked for, then what came of it. */
    for (size_t i = 0; i < sizeof settings / sizeof settings[0]; i++)
        compare_values(settings[i], json_object_get(a->json, settings[i]),
                       json_object_get(b->json, settings[i]), figures);
    compare_members("", a->json, b->json, figures);
    if (a->story && b->story) {
        for (unsigned i = 0; i < 2; i++) {
            sides[i].calls = story_rows(sides[i].story, STORY_CALLS);
            sides[i].operations = story_rows(sides[i].story, STORY_OPERATIONS);
            is_done = is_done && index_arguments(&sides[i]) && index_operations(&sides[i]);
        }
        if (is_done) {
            is_different = compare_calls(&sides[0], &sides[1], comparison);
            is_different = compare_operations(&sides[0], &sides[1], comparison) || is_different;
        }
    }
    json_object_set_new(comparison, "has_records", json_boolean(a->story && b->story));
    json_object_set_new(comparison, "is_same",
                        json_boolean(!is_different && !json_array_size(figures)));
    json_object_set_new(comparison, "figures", figures);
    json_object_set_new(comparison, "sentences", sentences_json(comparison));
    for (unsigned i = 0; i < 2; i++) {
        free(sides[i].arguments);
        free(sides[i].argument_rows);
        free(sides[i].hashes);
        free(sides[i].stretches);
        free(sides[i].sorted);
    }
    if (!is_done) {
        json_decref(comparison);
        return NULL;
    }
    return comparison;
}

static void figure_text(const char *path, const json_t *value, char out[64])
{
    size_t length = strlen(path);

    if (json_is_integer(value) && length > 6 && strcmp(path + length - 6, "_bytes") == 0)
        report_bytes(out, (uint64_t)json_integer_value(value));
    else if (json_is_integer(value) && length > 3 && strcmp(path + length - 3, "_ns") == 0)
        report_time(out, (uint64_t)json_integer_value(value));
    else if (json_is_integer(value))
        report_count(out, (uint64_t)json_integer_value(value));
    else if (json_is_real(value))
        snprintf(out, 64, "%.4g", json_real_value(value));
    else if (json_is_string(value))
        snprintf(out, 64, "%.50s", json_string_value(value));
    else
        snprintf(out, 64, "%s", json_is_true(value) ? "yes" : json_is_false(value) ? "no" : "-");
}

#define FIGURE_LINES 40

static void put_comparison(FILE *out, const struct report_run *a, const struct report_run *b,
                           const json_t *comparison)
{
    const json_t *figures = json_object_get(comparison, "figures");
    char text_a[64], text_b[64];
    json_t *figure;
    size_t i;

    fprintf(out, "a  %s\nb  %s\n\n", a->name, b->name);
    if (json_is_true(json_object_get(comparison, "is_same"))) {
        fprintf(out, "  the runs are the same\n");
        return;
    }
    put_difference(out, comparison);
    if (json_array_size(figures))
        fprintf(out, "\n  %-44s %20s %20s\n", "figures that differ", "a", "b");
    json_array_foreach(figures, i, figure)
    {
        const char *path = text_at(figure, "path");

        if (i == FIGURE_LINES) {
            fprintf(out, "  and %zu more (--json has all)\n", json_array_size(figures) - i);
            break;
        }
        figure_text(path, json_object_get(figure, "a"), text_a);
        figure_text(path, json_object_get(figure, "b"), text_b);
        fprintf(out, "  %-44s %20s %20s\n", path, text_a, text_b);
    }
}

void report_compare_text(FILE *out, const struct report_run *a, const struct report_run *b,
                         const json_t *comparison)
{
    struct plain_text plain;

    plain_text_begin(&plain);
    if (plain.stream)
        put_comparison(plain.stream, a, b, comparison);
    plain_text_end(&plain, out);
}

char *report_compare_html(struct report_run *a, struct report_run *b, const json_t *comparison,
                          size_t *out_size, char error[512])
{
    json_t *facts = json_object(), *notes = json_array();
    const struct report_run *const runs[] = {a, b};
    struct report_page page = {.title = "Two runs - Drydock",
                               .story = a->story,
                               .story_b = a->story ? b->story : NULL,
                               .name = a->name,
                               .name_b = b->name};
    char *text, *html = NULL;

    for (unsigned i = 0; i < 2; i++) {
        for (unsigned k = 0; k < runs[i]->note_count; k++) {
            char note[REPORT_RUN_NOTE_BYTES + 520];

            snprintf(note, sizeof note, "%s: %s", runs[i]->name, runs[i]->notes[k]);
            json_array_append_new(notes, report_text_json(note));
        }
    }
    json_object_set_new(facts, "page", json_string("compare"));
    json_object_set(facts, "a", a->json);
    json_object_set(facts, "b", b->json);
    json_object_set_new(facts, "folder_a", report_text_json(a->name));
    json_object_set_new(facts, "folder_b", report_text_json(b->name));
    json_object_set(facts, "comparison", (json_t *)comparison);
    json_object_set_new(facts, "notes", notes);
    text = json_dumps(facts, JSON_SORT_KEYS);
    page.facts = text;
    if (text)
        html = report_page_html(&page, out_size, error);
    else
        snprintf(error, 512, "no memory for the page");
    free(text);
    json_decref(facts);
    return html;
}
