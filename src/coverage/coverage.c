/*
 * Coverage: tallies. A tally is a line of the member table; calls and cases are the group's.
 */
#include "coverage/coverage_private.h"

#include "base/bits.h"
#include "coverage/access_watch.h"
#include "miniport/operation.h"

#include <stdlib.h>
#include <string.h>

#define WATCHED_CALLS    16u
#define WATCHED_INTERVAL 512u
#define MAX_CASES        1024u

struct seen_case {
    char *name;
    bool has[COVERAGE_GROUP_COUNT];
};

struct coverage {
    struct coverage_tally *tallies;
    const struct coverage_arm *arms;
    uint64_t *arm_calls;
    uint64_t calls[COVERAGE_GROUP_COUNT];
    uint64_t run_calls[COVERAGE_GROUP_COUNT]; /* of this run */
    unsigned first_member[COVERAGE_GROUP_COUNT];
    unsigned *next_member; /* of the same group; the table's length: none */
    unsigned first_arm[COVERAGE_GROUP_COUNT], end_arm[COVERAGE_GROUP_COUNT];
    /* counts_only: the arms of a group that no call has shown are unseen[first_arm..unseen_end). */
    unsigned *unseen, unseen_end[COVERAGE_GROUP_COUNT];
    struct seen_case *cases;
    unsigned case_count;
    bool is_frugal, counts_only;
};

static const char *const structure_names[COVERAGE_GROUP_COUNT] = {
    [COVERAGE_BUILD] = "DXGKARG_BUILDPAGINGBUFFER",
    [COVERAGE_PTE] = "DXGK_PTE",
    [COVERAGE_COPY_RANGE] = "DXGK_BUILDPAGINGBUFFER_COPY_RANGE",
    [COVERAGE_FENCE_RESIDENCY] = "DXGK_FENCE_RESIDENCY_INFO",
    [COVERAGE_RENDER] = "DXGKARG_RENDER",
    [COVERAGE_RENDER_KM] = "RenderKm(DXGKARG_RENDER)",
    [COVERAGE_RENDER_GDI] = "DXGKARG_RENDERGDI",
    [COVERAGE_DRAWING] = "DXGK_RENDERKM_COMMAND",
    [COVERAGE_PATCH] = "DXGKARG_PATCH",
    [COVERAGE_ALLOCATION_LIST] = "DXGK_ALLOCATIONLIST",
    [COVERAGE_PATCH_LOCATION_LIST] = "D3DDDI_PATCHLOCATIONLIST",
    [COVERAGE_SEGMENT] = "DXGK_SEGMENTDESCRIPTOR",
    [COVERAGE_SEGMENT3] = "DXGK_SEGMENTDESCRIPTOR3",
    [COVERAGE_SEGMENT4] = "DXGK_SEGMENTDESCRIPTOR4",
    [COVERAGE_MEMORY_OBJECT] = "DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT",
    [COVERAGE_MEMORY_END] = "DXGKARGCB_DESTROY_PHYSICAL_MEMORY_OBJECT",
    [COVERAGE_MEMORY_VIEW] = "DXGKARGCB_MAP_PHYSICAL_MEMORY",
    [COVERAGE_ADL] = "DXGKARGCB_ALLOCATE_ADL",
    [COVERAGE_MDL_PAGES] = "DXGKARGCB_ALLOCATEPAGESFORMDL",
    [COVERAGE_CONTIGUOUS] = "DXGKARGCB_ALLOCATECONTIGUOUSMEMORY",
    [COVERAGE_COLLECT] = "DXGKARG_COLLECTDBGINFO",
    [COVERAGE_COLLECT2] = "DXGKARG_COLLECTDBGINFO2",
    [COVERAGE_INTERRUPT] = "ControlInterrupt",
    [COVERAGE_INTERRUPT2] = "DXGKARG_CONTROLINTERRUPT2",
    [COVERAGE_INTERRUPT3] = "DXGKARG_CONTROLINTERRUPT3",
    [COVERAGE_QUERY] = "DXGKARG_QUERYADAPTERINFO",
    [COVERAGE_SUBMIT] = "DXGKARG_SUBMITCOMMAND",
    [COVERAGE_SUBMIT_VIRTUAL] = "DXGKARG_SUBMITCOMMANDVIRTUAL",
    [COVERAGE_SUBMIT_QUEUE] = "DXGKARG_SUBMITCOMMANDTOHWQUEUE",
    [COVERAGE_PRESENT] = "DXGKARG_PRESENT",
    [COVERAGE_PRESENT_QUEUE] = "PresentToHwQueue(DXGKARG_PRESENT)",
    [COVERAGE_PROCESS] = "DXGKARG_CREATEPROCESS",
    [COVERAGE_DEVICE] = "DXGKARG_CREATEDEVICE",
    [COVERAGE_CONTEXT] = "DXGKARG_CREATECONTEXT",
    [COVERAGE_CREATION] = "DXGKARG_CREATEALLOCATION",
    [COVERAGE_OPENING] = "DXGKARG_OPENALLOCATION",
    [COVERAGE_DESTRUCTION] = "DXGKARG_DESTROYALLOCATION",
    [COVERAGE_ALLOCATION] = "DXGK_ALLOCATIONINFO",
};

const char *coverage_group_name(unsigned group)
{
    return group < MINIPORT_OPERATION_COUNT ? miniport_operation_name(group)
                                            : structure_names[group];
}

unsigned coverage_group_of(const char *structure)
{
    unsigned group = COVERAGE_BUILD;

    while (strcmp(structure_names[group], structure) != 0)
        group++;
    return group;
}

/* ---- Life ------------------------------------------------------------------------------------ */

/* The arms of a group stand side by side in their table. */
static void find_arms(struct coverage *coverage)
{
    for (unsigned i = 0; i < coverage_arm_count(); i++) {
        unsigned group = coverage->arms[i].group;

        if (coverage->end_arm[group] == 0)
            coverage->first_arm[group] = i;
        coverage->end_arm[group] = coverage->unseen_end[group] = i + 1;
        coverage->unseen[i] = i;
    }
}

struct coverage *coverage_create(void)
{
    struct coverage *coverage = calloc(1, sizeof *coverage);

    if (!coverage)
        return NULL;
    coverage->tallies = calloc(coverage_members_count, sizeof *coverage->tallies);
    coverage->next_member = calloc(coverage_members_count, sizeof *coverage->next_member);
    coverage->cases = calloc(MAX_CASES, sizeof *coverage->cases);
    coverage->arms = coverage_arms_read();
    coverage->arm_calls = calloc(coverage_arm_count(), sizeof *coverage->arm_calls);
    coverage->unseen = calloc(coverage_arm_count(), sizeof *coverage->unseen);
    if (!coverage->tallies || !coverage->next_member || !coverage->cases || !coverage->arms ||
        !coverage->arm_calls || !coverage->unseen) {
        coverage_destroy(coverage);
        return NULL;
    }
    find_arms(coverage);
    for (unsigned group = 0; group < COVERAGE_GROUP_COUNT; group++)
        coverage->first_member[group] = coverage_members_count;
    for (unsigned i = coverage_members_count; i-- > 0;) {
        coverage->next_member[i] = coverage->first_member[coverage_members[i].group];
        coverage->first_member[coverage_members[i].group] = i;
    }
    return coverage;
}

struct coverage *coverage_create_counting(void)
{
    struct coverage *coverage = coverage_create();

    if (coverage)
        coverage->counts_only = true;
    return coverage;
}

void coverage_destroy(struct coverage *coverage)
{
    if (!coverage)
        return;
    for (unsigned i = 0; i < coverage->case_count; i++)
        free(coverage->cases[i].name);
    free(coverage->cases);
    free(coverage->next_member);
    free(coverage->unseen);
    free(coverage->arm_calls);
    free(coverage->tallies);
    free(coverage);
}

bool coverage_begin_case(struct coverage *coverage, const char *name)
{
    size_t bytes = strlen(name) + 1;
    char *copy = coverage->case_count < MAX_CASES ? malloc(bytes) : NULL;

    if (!copy)
        return false;
    memcpy(copy, name, bytes);
    coverage->cases[coverage->case_count++].name = copy;
    return true;
}

void coverage_begin_run(struct coverage *coverage)
{
    memset(coverage->run_calls, 0, sizeof coverage->run_calls);
}

/* ---- Recording ------------------------------------------------------------------------------- */

uint64_t coverage_member_value(const struct coverage_member *member, const void *structure)
{
    uint64_t value = coverage_word_at(structure, member->offset, member->bytes);

    if (member->first_bit >= 0)
        value = (value >> member->first_bit) & (UINT64_MAX >> (64 - member->bits));
    return value;
}

void coverage_set_frugal(struct coverage *coverage)
{
    coverage->is_frugal = true;
}

static bool is_read(const struct coverage *coverage, unsigned group)
{
    for (unsigned i = coverage->first_member[group]; i < coverage_members_count;
         i = coverage->next_member[i]) {
        if (!coverage->tallies[i].is_read && !coverage_reason(i))
            return false;
    }
    return true;
}

/* All that a call of the group shows, its arrays included. */
static bool has_shown_all(const struct coverage *coverage, unsigned group)
{
    if (!is_read(coverage, group))
        return false;
    if (group == COVERAGE_PATCH)
        return is_read(coverage, COVERAGE_ALLOCATION_LIST) &&
               is_read(coverage, COVERAGE_PATCH_LOCATION_LIST);
    if (group == COVERAGE_RENDER)
        return true;
    if (group == COVERAGE_RENDER_KM || group == COVERAGE_RENDER_GDI)
        return is_read(coverage, COVERAGE_DRAWING);
    for (unsigned i = 0; i < MINIPORT_OPERATION_ARRAYS; i++) {
        const char *type = miniport_operation(group)->arrays[i].type;

        if (type && !is_read(coverage, coverage_group_of(type)))
            return false;
    }
    return is_read(coverage, COVERAGE_BUILD);
}

bool coverage_watches(const struct coverage *coverage)
{
    return !coverage->counts_only;
}

bool coverage_takes_call(struct coverage *coverage, unsigned group)
{
    uint64_t n = coverage->run_calls[group]++;

    if (coverage->counts_only || (n >= WATCHED_CALLS && n % WATCHED_INTERVAL != 0))
        return false;
    return !coverage->is_frugal || !has_shown_all(coverage, group);
}

/* One call that shows an arm is enough. */
static void look_for_unseen(struct coverage *coverage, unsigned group, const void *structure,
                            const DXGKARG_BUILDPAGINGBUFFER *around)
{
    unsigned i = coverage->first_arm[group];

    while (i < coverage->unseen_end[group]) {
        unsigned arm = coverage->unseen[i];

        if (coverage_arm_is_shown(&coverage->arms[arm], structure, around)) {
            coverage->arm_calls[arm] = 1;
            coverage->unseen[i] = coverage->unseen[--coverage->unseen_end[group]];
        } else {
            i++;
        }
    }
}

void coverage_note_values(struct coverage *coverage, unsigned group, const void *structure,
                          const DXGKARG_BUILDPAGINGBUFFER *around)
{
    coverage->calls[group]++;
    if (coverage->counts_only) {
        look_for_unseen(coverage, group, structure, around);
        return;
    }
    if (coverage->case_count)
        coverage->cases[coverage->case_count - 1].has[group] = true;
    for (unsigned i = coverage->first_member[group]; i < coverage_members_count;
         i = coverage->next_member[i]) {
        struct coverage_tally *tally = &coverage->tallies[i];
        uint64_t value;

        if ((tally->is_set && tally->is_varied) ||
            !coverage_member_is_meant(&coverage_members[i], structure, around))
            continue;
        value = coverage_member_value(&coverage_members[i], structure);
        tally->is_set |= value != 0;
        tally->is_varied |=
            coverage_members[i].is_address ? value != 0 : tally->has_value && tally->value != value;
        if (!tally->has_value)
            tally->value = value;
        tally->has_value = true;
    }
    for (unsigned i = coverage->first_arm[group]; i < coverage->end_arm[group]; i++)
        coverage->arm_calls[i] += coverage_arm_is_shown(&coverage->arms[i], structure, around);
}

void coverage_note_element(struct coverage *coverage, unsigned group, const void *before,
                           const void *element, const DXGKARG_BUILDPAGINGBUFFER *around)
{
    if (coverage->counts_only && before && coverage_arms_are_alike(group, before, element))
        coverage->calls[group]++;
    else
        coverage_note_values(coverage, group, element, around);
}

void coverage_note_reads(struct coverage *coverage, unsigned group, const void *values,
                         size_t offset, const DXGKARG_BUILDPAGINGBUFFER *around)
{
    for (unsigned i = coverage->first_member[group]; i < coverage_members_count;
         i = coverage->next_member[i]) {
        const struct coverage_member *member = &coverage_members[i];
        size_t first = member->offset, bytes = member->bytes;

        if (coverage->tallies[i].is_read || !coverage_member_is_meant(member, values, around))
            continue;
        if (member->first_bit >= 0) {
            unsigned last_bit = (unsigned)member->first_bit + member->bits - 1;

            first += (unsigned)member->first_bit / 8;
            bytes = last_bit / 8 - (unsigned)member->first_bit / 8 + 1;
        }
        coverage->tallies[i].is_read = access_watch_was_read(offset + first, bytes);
    }
}

/* ---- Results --------------------------------------------------------------------------------- */

unsigned coverage_member_count(void)
{
    return coverage_members_count;
}

const struct coverage_member *coverage_member(unsigned index)
{
    return &coverage_members[index];
}

const struct coverage_tally *coverage_tally(const struct coverage *coverage, unsigned index)
{
    return &coverage->tallies[index];
}

const char *coverage_reason(unsigned index)
{
    return coverage_member_reason(&coverage_members[index]);
}

const struct coverage_arm *coverage_arm(const struct coverage *coverage, unsigned index)
{
    return &coverage->arms[index];
}

uint64_t coverage_arm_calls(const struct coverage *coverage, unsigned index)
{
    return coverage->arm_calls[index];
}

bool coverage_arm_is_settled(const struct coverage *coverage, unsigned index)
{
    return coverage->arm_calls[index] || coverage->arms[index].reason;
}

bool coverage_is_settled(const struct coverage *coverage, unsigned index)
{
    const struct coverage_tally *tally = &coverage->tallies[index];

    return (tally->is_set && tally->is_read && tally->is_varied) || coverage_reason(index);
}

bool coverage_is_all_settled(const struct coverage *coverage)
{
    for (unsigned i = 0; i < coverage_members_count; i++) {
        if (!coverage_is_settled(coverage, i))
            return false;
    }
    for (unsigned i = 0; i < coverage_arm_count(); i++) {
        if (!coverage_arm_is_settled(coverage, i))
            return false;
    }
    return true;
}

uint64_t coverage_calls(const struct coverage *coverage, unsigned group)
{
    return coverage->calls[group];
}

unsigned coverage_case_count(const struct coverage *coverage)
{
    return coverage->case_count;
}

const char *coverage_case_name(const struct coverage *coverage, unsigned case_index)
{
    return coverage->cases[case_index].name;
}

bool coverage_case_has(const struct coverage *coverage, unsigned case_index, unsigned group)
{
    return coverage->cases[case_index].has[group];
}

/* ---- Arms of several runs -------------------------------------------------------------------- */

void coverage_arms_seen(const struct coverage *coverage, struct coverage_arm_set *out_set)
{
    *out_set = (struct coverage_arm_set){{0}};
    for (unsigned i = 0; i < coverage_arm_count() && i < COVERAGE_ARMS_MOST; i++)
        out_set->bits[i / 64] |= (uint64_t)(coverage->arm_calls[i] != 0) << i % 64;
}

void coverage_arm_counts_add_run(struct coverage_arm_counts *counts,
                                 const struct coverage_arm_set *set)
{
    for (unsigned i = 0; i < COVERAGE_ARMS_MOST; i++)
        counts->runs[i] += set->bits[i / 64] >> i % 64 & 1;
}

void coverage_arm_counts_add(struct coverage_arm_counts *counts,
                             const struct coverage_arm_counts *more)
{
    for (unsigned i = 0; i < COVERAGE_ARMS_MOST; i++)
        counts->runs[i] += more->runs[i];
}

unsigned coverage_arm_counts_seen(const struct coverage_arm_counts *counts)
{
    unsigned seen = 0;

    for (unsigned i = 0; i < COVERAGE_ARMS_MOST; i++)
        seen += counts->runs[i] != 0;
    return seen;
}

unsigned coverage_arms_possible(const struct coverage *coverage)
{
    unsigned count = 0;

    for (unsigned i = 0; i < coverage_arm_count(); i++)
        count += !coverage->arms[i].reason;
    return count;
}
