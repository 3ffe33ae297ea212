/*
 * Coverage: the arms of the operations.
 *
 * An arm is a row of data/ddi/arms.tsv. Its condition is a list of members with the values that
 * they have or do not have. All of them must be meant and must agree.
 */
#include "coverage/coverage_private.h"

#include "base/bits.h"

#include <stdlib.h>
#include <string.h>

static const struct row {
    const char *structure, *name, *condition, *source;
} rows[] = {
#define ARM(...) {__VA_ARGS__},
#include "ddi_arms.inc"
#undef ARM
};

/*
 * Arms that no run can show. A reason is a fact about the contract or about this bench, in one
 * sentence.
 */
#define OF_DISPLAY_ONLY "of adapters that render nothing; the ones played here do"

#define NO_FLIP_IN_BUFFERS                                                                         \
    "DxgkDdiSetVidPnSourceAddress shows what a flip has named: it has no DMA buffer"
#define NO_FLIP_IN_QUEUES "flips are of no context, and DxgkDdiPresent is asked for them"
#define PLAIN_PRESENTS                                                                             \
    "presents of cases are plain: copies, fills, and flips at the next vertical sync"
#define NO_GUESTS       "no process is a virtual machine's"
#define NO_CLIENT_DATA  "the commands of the driver's user-mode half hold all that is to be told"
#define NO_GDI_PROCESS  "the kernel draws in contexts (GdiContext) of processes like others"
#define NO_SUCH_FEATURE "of a feature that is enabled for nobody here"
#define NAMES_SEGMENTS  "the driver names segments for whatever it makes"

static const struct {
    const char *structure, *name, *text;
} reasons[] = {
    {"TRANSFER", "no allocation",
     "the manager moves allocations and nothing else, and each has a handle (XFER-010)"},
    {"UPDATE_PAGE_TABLE", "a native fence",
     "its page has the name alone: said of the entries that map a fence's values, or of a table "
     "that has only such entries; no page table maps a fence here"},
    {"UPDATE_CONTEXT_ALLOCATION", "without private data",
     "the operation names no allocation: without the driver's record nobody knows what is to "
     "change"},
    {"DXGK_RENDERKM_COMMAND", "another raster operation of a copy", COVERAGE_NO_RASTER},
    {"DXGK_RENDERKM_COMMAND", "another raster operation of a fill", COVERAGE_NO_RASTER},
    {"DXGK_RENDERKM_COMMAND", "an alpha blend", COVERAGE_NO_RASTER},
    {"DXGK_RENDERKM_COMMAND", "a stretched copy", COVERAGE_NO_RASTER},
    {"DXGK_RENDERKM_COMMAND", "a private command", COVERAGE_NO_RASTER},
    {"DXGK_RENDERKM_COMMAND", "a transparent copy", COVERAGE_NO_RASTER},
    {"DXGK_RENDERKM_COMMAND", "a ClearType blend", COVERAGE_NO_RASTER},
    {"DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT", "IO space",
     "the driver maps its registers by DxgkCbMapMemory, and shows them to no other device"},
    {"DXGKARGCB_MAP_PHYSICAL_MEMORY", "for a process",
     "no process of a client has addresses of its own: the driver would get the kernel's"},
    {"DXGKARG_PATCH", "of a device",
     "shares its place with hContext: it is the device where a driver has no contexts, which the "
     "structure does not tell"},
    {"DXGKARG_COLLECTDBGINFO2", "no vertical sync behind a flip",
     "the watchdog looks at nodes: the board's display follows its own clock and cannot hang"},
    {"DXGKARG_COLLECTDBGINFO2", "display-only, a forced present", OF_DISPLAY_ONLY},
    {"DXGKARG_COLLECTDBGINFO2", "display-only, a present", OF_DISPLAY_ONLY},
    {"DXGKARG_COLLECTDBGINFO2", "display-only, a forced vertical sync", OF_DISPLAY_ONLY},
    {"DXGKARG_COLLECTDBGINFO2", "display-only, a vertical sync", OF_DISPLAY_ONLY},
    {"DXGKARG_COLLECTDBGINFO2", "an invalid fence",
     "said to drivers before WDDM 2.4, which do not have the function"},
    {"DXGKARG_COLLECTDBGINFO2", "a fault of the display engine",
     "the board's display engine reports no faults"},
    {"DXGKARG_SUBMITCOMMAND", "a flip", NO_FLIP_IN_BUFFERS},
    {"DXGKARG_SUBMITCOMMAND", "a flip that does not wait", NO_FLIP_IN_BUFFERS},
    {"DXGKARG_SUBMITCOMMAND", "for a virtual machine", NO_GUESTS},
    {"DXGKARG_SUBMITCOMMANDVIRTUAL", "a flip", NO_FLIP_IN_BUFFERS},
    {"DXGKARG_SUBMITCOMMANDVIRTUAL", "a flip that does not wait", NO_FLIP_IN_BUFFERS},
    {"DXGKARG_SUBMITCOMMANDVIRTUAL", "for a virtual machine", NO_GUESTS},
    {"DXGKARG_SUBMITCOMMANDVIRTUAL", "with private data of the client", NO_CLIENT_DATA},
    {"DXGKARG_SUBMITCOMMANDTOHWQUEUE", "with private data", NO_CLIENT_DATA},
    {"DXGKARG_PRESENT", "a flip that does not wait", PLAIN_PRESENTS},
    {"DXGKARG_PRESENT", "but for a colour of the source", PLAIN_PRESENTS},
    {"DXGKARG_PRESENT", "where a colour of the destination is", PLAIN_PRESENTS},
    {"DXGKARG_PRESENT", "linear to sRGB", PLAIN_PRESENTS},
    {"DXGKARG_PRESENT", "rotated", PLAIN_PRESENTS},
    {"DXGKARG_PRESENT", "redirected", PLAIN_PRESENTS},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "no rectangle", NO_FLIP_IN_QUEUES},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "a flip", NO_FLIP_IN_QUEUES},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "a flip that does not wait", NO_FLIP_IN_QUEUES},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "but for a colour of the source", PLAIN_PRESENTS},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "where a colour of the destination is", PLAIN_PRESENTS},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "linear to sRGB", PLAIN_PRESENTS},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "rotated", PLAIN_PRESENTS},
    {"PresentToHwQueue(DXGKARG_PRESENT)", "redirected", PLAIN_PRESENTS},
    {"DXGKARG_CREATEPROCESS", "of GDI", NO_GDI_PROCESS},
    {"DXGKARG_CREATEDEVICE", "of GDI", NO_GDI_PROCESS},
    {"DXGKARG_CREATEALLOCATION", "more of a resource",
     "a resource gets all of its allocations by the call that makes it"},
    {"DXGKARG_CREATEALLOCATION", "with private data of the resource",
     "the driver's user-mode half tells all that there is to say of each allocation by itself"},
    {"DXGKARG_OPENALLOCATION", "to read alone", "who opens an allocation may write to it"},
    {"DXGK_ALLOCATIONINFO", "from the end of the segment",
     "the driver says it of the segments that it prefers (PreferredSegment.Direction0)"},
    {"DXGK_ALLOCATIONINFO", "its memory is shared with the driver", NO_SUCH_FEATURE},
    {"DXGK_ALLOCATIONINFO", "no implicit synchronisation",
     "the kernel synchronises nothing by itself but flips and renaming, which need none of it"},
    {"DXGK_ALLOCATIONINFO", "without a preference", NAMES_SEGMENTS},
    {"DXGK_ALLOCATIONINFO", "for system memory alone", NAMES_SEGMENTS},
    {"DXGK_ALLOCATIONLIST", "no allocation",
     "the driver's commands name allocations by their place in the list and have no slots that an "
     "empty entry could unbind"},
};

_Static_assert(ARRAY_COUNT(rows) <= COVERAGE_ARMS_MOST, "sets of arms have room");

/* ---- Conditions ------------------------------------------------------------------------------ */

static unsigned group_named(const char *structure)
{
    for (unsigned group = 0; group < COVERAGE_GROUP_COUNT; group++) {
        if (strcmp(coverage_group_name(group), structure) == 0)
            return group;
    }
    return COVERAGE_GROUP_COUNT;
}

static const struct coverage_member *member_named(unsigned group, const char *name, size_t length)
{
    for (unsigned i = 0; i < coverage_members_count; i++) {
        if (coverage_members[i].group == group && strlen(coverage_members[i].name) == length &&
            memcmp(coverage_members[i].name, name, length) == 0)
            return &coverage_members[i];
    }
    return NULL;
}

/* Reads "member=value" or "member!=value" at text; gives the rest, or NULL: no such member. */
static const char *read_term(unsigned group, const char *text, struct coverage_term *out_term)
{
    size_t length = strcspn(text, "!=");
    char *end;

    out_term->member = member_named(group, text, length);
    out_term->is_equal = text[length] == '=';
    out_term->value = strtoull(text + length + (out_term->is_equal ? 1 : 2), &end, 10);
    if (!out_term->member)
        return NULL;
    out_term->is_always_meant = coverage_member_is_always_meant(out_term->member);
    return end + strspn(end, " ");
}

unsigned coverage_arm_count(void)
{
    return ARRAY_COUNT(rows);
}

static bool read_arm(unsigned index, struct coverage_arm *out_arm)
{
    const struct row *row = &rows[index];
    const char *text = row->condition;

    *out_arm = (struct coverage_arm){.group = group_named(row->structure),
                                     .name = row->name,
                                     .condition = row->condition,
                                     .source = row->source};
    while (*text) {
        if (out_arm->term_count == ARRAY_COUNT(out_arm->terms))
            return false;
        text = read_term(out_arm->group, text, &out_arm->terms[out_arm->term_count++]);
        if (!text)
            return false;
    }
    for (size_t i = 0; i < ARRAY_COUNT(reasons); i++) {
        if (strcmp(reasons[i].structure, row->structure) == 0 &&
            strcmp(reasons[i].name, row->name) == 0)
            out_arm->reason = reasons[i].text;
    }
    return true;
}

/* ---- Where arms look ------------------------------------------------------------------------- */

/* Bits of one word of a structure. */
struct look {
    uint32_t offset, bytes;
    uint64_t bits;
};

/* All that the arms of a group look at; is_partial: and something else, or too much. */
static struct group_looks {
    struct look looks[8];
    unsigned count;
    bool is_partial;
} looks_of[COVERAGE_GROUP_COUNT];

static void add_look(struct group_looks *all, const struct coverage_term *term)
{
    const struct coverage_member *member = term->member;
    struct look *look = all->looks;

    while (look < all->looks + all->count &&
           (look->offset != member->offset || look->bytes != member->bytes))
        look++;
    if (!term->is_always_meant || look == all->looks + ARRAY_COUNT(all->looks)) {
        all->is_partial = true;
        return;
    }
    if (look == all->looks + all->count) {
        *look = (struct look){member->offset, member->bytes, 0};
        all->count++;
    }
    look->bits |= member->first_bit < 0 ? UINT64_MAX
                                        : (UINT64_MAX >> (64 - member->bits)) << member->first_bit;
}

static void add_looks(const struct coverage_arm *arm)
{
    struct group_looks *all = &looks_of[arm->group];

    for (unsigned i = 0; i < arm->term_count && !all->is_partial; i++)
        add_look(all, &arm->terms[i]);
}

bool coverage_arms_are_alike(unsigned group, const void *one, const void *other)
{
    const struct group_looks *all = &looks_of[group];
    uint64_t difference = 0;

    for (unsigned i = 0; i < all->count; i++) {
        const struct look *look = &all->looks[i];

        difference |= (coverage_word_at(one, look->offset, look->bytes) ^
                       coverage_word_at(other, look->offset, look->bytes)) &
                      look->bits;
    }
    return all->count && !all->is_partial && !difference;
}

const struct coverage_arm *coverage_arms_read(void)
{
    static struct coverage_arm arms[ARRAY_COUNT(rows)];
    static bool are_read;

    for (unsigned i = 0; i < ARRAY_COUNT(rows) && !are_read; i++) {
        if (!read_arm(i, &arms[i]))
            return NULL;
        add_looks(&arms[i]);
    }
    are_read = true;
    return arms;
}

bool coverage_arm_is_shown(const struct coverage_arm *arm, const void *structure,
                           const DXGKARG_BUILDPAGINGBUFFER *around)
{
    for (unsigned i = 0; i < arm->term_count; i++) {
        const struct coverage_term *term = &arm->terms[i];

        if ((coverage_member_value(term->member, structure) == term->value) != term->is_equal ||
            (!term->is_always_meant && !coverage_member_is_meant(term->member, structure, around)))
            return false;
    }
    return true;
}
