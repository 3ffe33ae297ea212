/*
 * What a packed story leaves out when it would be too large: the steps, and which rows stay.
 */
#include "story/pack_private.h"

#include <stdio.h>
#include <string.h>

#define SERIES_POINTS 4096 /* of a curve that is thinned */

/* ---- Rows that stay -------------------------------------------------------------------------- */

bool pack_keeps(const struct pack *pack, enum story_table table, size_t row)
{
    return !pack->keeps[table] || pack->keeps[table][row];
}

uint64_t pack_kept_row(const struct pack *pack, enum story_table table, uint64_t row)
{
    if (!row || row > story_rows(pack->story, table) || !pack_keeps(pack, table, (size_t)row - 1))
        return STORY_NONE;
    return pack->keeps[table] ? (uint64_t)pack->places[table][row - 1] + 1 : row;
}

/* Begins to choose the rows of a table that stay: none so far. NULL: no memory. */
static unsigned char *begin_choice(struct pack *pack, enum story_table table)
{
    size_t rows = story_rows(pack->story, table);

    if (!pack->keeps[table]) {
        pack->keeps[table] = base_alloc(pack->services, rows);
        pack->places[table] = base_alloc_array(pack->services, rows, sizeof(uint32_t));
        if (!pack->keeps[table] || !pack->places[table]) {
            pack->failed = true;
            return NULL;
        }
    }
    memset(pack->keeps[table], 0, rows);
    return pack->keeps[table];
}

/* What depends on the choice is packed again. */
static void end_choice(struct pack *pack, enum story_table table)
{
    uint32_t count = 0;

    for (size_t i = 0; i < story_rows(pack->story, table); i++) {
        pack->places[table][i] = count;
        count += pack->keeps[table][i];
    }
    pack->rows[table] = count;
    for (unsigned i = 0; i < STORY_COLUMN_COUNT; i++) {
        const struct story_column_shape *column = &story_columns[i];

        if (column->table == table || (column->type == STORY_TYPE_ROW && column->target == table))
            pack->columns[i].is_ready = false;
    }
}

/* ---- Steps ----------------------------------------------------------------------------------- */

static void keep_none(struct pack *pack, enum story_table table, unsigned char *keeps)
{
}

static void keep_near_calls(struct pack *pack, enum story_table table, unsigned char *keeps)
{
    size_t rows = story_rows(pack->story, table);

    for (size_t i = 0; i < story_rows(pack->story, STORY_FINDINGS); i++) {
        uint64_t call = story_get(pack->story, STORY_FINDINGS_CALL, i);
        size_t first = call > STORY_NEAR_CALLS + 1 ? (size_t)call - STORY_NEAR_CALLS - 1 : 0;

        for (size_t row = first; call && row < rows && row < call + STORY_NEAR_CALLS; row++)
            keeps[row] = 1;
    }
}

static void keep_near_arguments(struct pack *pack, enum story_table table, unsigned char *keeps)
{
    size_t calls = story_rows(pack->story, STORY_CALLS);
    unsigned char *near = base_alloc(pack->services, calls + 1); /* there may be no calls */

    if (!near) {
        pack->failed = true;
        return;
    }
    keep_near_calls(pack, STORY_CALLS, near);
    for (size_t i = 0; i < story_rows(pack->story, table); i++) {
        uint64_t call = story_get(pack->story, STORY_ARGUMENTS_CALL, i);

        keeps[i] = call && call <= calls && near[call - 1];
    }
    base_free(pack->services, near, calls + 1);
}

/* Steps and prints are few, and what a person looks for first. */
static void keep_named_marks(struct pack *pack, enum story_table table, unsigned char *keeps)
{
    for (size_t i = 0; i < story_rows(pack->story, table); i++) {
        const char *kind = story_text_of(pack->story, story_get(pack->story, STORY_MARKS_KIND, i));

        keeps[i] = strcmp(kind, "step") == 0 || strcmp(kind, "print") == 0;
    }
}

/*
 * Of each series about SERIES_POINTS points: the lowest and the highest of each of as many pieces,
 * and the last.
 */
static void keep_some_points(struct pack *pack, enum story_table table, unsigned char *keeps)
{
    const struct story *story = pack->story;
    size_t rows = story_rows(story, table), series_count = story_rows(story, STORY_SERIES) + 1;
    struct curve {
        size_t points, seen, lowest, highest, last;
    } *curves = base_alloc_array(pack->services, series_count, sizeof *curves);

    if (!curves) {
        pack->failed = true;
        return;
    }
    for (size_t i = 0; i < rows; i++) {
        uint64_t series = story_get(story, STORY_SAMPLES_SERIES, i);

        if (series < series_count)
            curves[series].points++;
    }
    for (size_t i = 0; i < rows; i++) {
        uint64_t series = story_get(story, STORY_SAMPLES_SERIES, i);
        uint64_t value = story_get(story, STORY_SAMPLES_VALUE, i);
        struct curve *curve = &curves[series < series_count ? series : 0];
        size_t piece = curve->points / (SERIES_POINTS / 2) + 1;

        if (curve->seen % piece == 0) {
            if (curve->seen)
                keeps[curve->lowest] = keeps[curve->highest] = 1;
            curve->lowest = curve->highest = i;
        }
        if (value < story_get(story, STORY_SAMPLES_VALUE, curve->lowest))
            curve->lowest = i;
        if (value > story_get(story, STORY_SAMPLES_VALUE, curve->highest))
            curve->highest = i;
        curve->seen++;
        curve->last = i;
    }
    for (size_t i = 0; i < series_count; i++) {
        if (curves[i].seen)
            keeps[curves[i].lowest] = keeps[curves[i].highest] = keeps[curves[i].last] = 1;
    }
    base_free_array(pack->services, curves, series_count, sizeof *curves);
}

/* What is left out when the packed form is too large, first to last. */
static const struct step {
    enum story_table table;
    const char *what;
    void (*keep)(struct pack *pack, enum story_table table, unsigned char *keeps);
} steps[] = {
    {STORY_ARGUMENTS, "arguments of calls", keep_near_arguments},
    {STORY_CALLS, "calls", keep_near_calls},
    {STORY_CLIENT_ARGUMENTS, "arguments of clients' calls", keep_none},
    {STORY_CLIENT_CALLS, "calls of clients", keep_none},
    {STORY_MARKS, "interrupts, DPCs and values of fences", keep_named_marks},
    {STORY_SAMPLES, "points of curves between lowest and highest ones", keep_some_points},
    {STORY_REFERENCES, "references of submissions", keep_none},
    {STORY_FLOWS, "arrows from interrupts", keep_none},
    {STORY_FENCE_WAITS, "waits for fences", keep_none},
    {STORY_WAITS, "waits of requests", keep_none},
    {STORY_ENTRIES, "updates of page tables", keep_none},
    {STORY_VICTIMS, "choices of victims", keep_none},
    {STORY_SUBMISSIONS, "submissions", keep_none},
    {STORY_PACKETS, "packets", keep_none},
    {STORY_OPERATIONS, "paging operations", keep_none},
};
#define STEP_COUNT (sizeof steps / sizeof steps[0])

_Static_assert(STEP_COUNT <= sizeof((struct pack *)0)->left_out / 96, "room for a text a step");

bool pack_leave_out(struct pack *pack, unsigned number)
{
    const struct step *step = &steps[number < STEP_COUNT ? number : 0];
    size_t before = pack->rows[step->table];
    unsigned char *keeps;
    char count[32];

    if (number >= STEP_COUNT)
        return false;
    if (!before)
        return true;
    keeps = begin_choice(pack, step->table);
    if (!keeps)
        return true;
    step->keep(pack, step->table, keeps);
    end_choice(pack, step->table);
    if (pack->rows[step->table] == before)
        return true;
    story_count(count, before - pack->rows[step->table]);
    snprintf(pack->left_out[pack->left_out_count++], sizeof pack->left_out[0], "%s %s", count,
             step->what);
    return true;
}
