/*
 * Coverage: which members of the paging operations the manager sets, the driver reads, and runs
 * vary.
 *
 * Place      coverage. A run records into it when its configuration names one; `drydock ops` prints
 *            it.
 * Model      The members of one structure are a group: each paging operation's part
 *            of the union of DXGKARG_BUILDPAGINGBUFFER, what all of them share, DXGKARG_RENDER of
 *            Render and of RenderKm, DXGKARG_RENDERGDI, DXGKARG_PATCH, the elements of the arrays
 *            that these point at (those of the kernel's commands have lengths of their own), the
 *            three segment descriptors, those of the requests for device memory that have
 *            alternatives, and what other calls are given: submissions, presents, those that make
 *            and end objects, CollectDbgInfo, ControlInterrupt, QueryAdapterInfo. The members
 *            come from the fact tables in data/ddi when the program is built
 *            (scripts/ddi-members.awk).
 *
 *            | set    | a call had a value in it that is not zero                              |
 *            | varied | two calls had different values in it; an address: it is set            |
 *            | read   | the other side loaded a byte of it from memory (coverage/access_watch.h)  |
 *
 *            Operations and lists are set by the manager and read by the driver; descriptors are
 *            set by the driver and read by the manager. Requests are the driver's alone to fill in,
 *            and the other calls are not watched: only their arms count. A member that
 *            shares its bytes with another one counts only in calls in which it is the one that is
 *            meant. Bits that are loaded as a whole word count as read together. Which address a
 *            pointer or a handle has, nobody chose: two runs may find the same memory or not.
 *
 *            An arm is an alternative that the documents name: a member is NULL or not, segment 0
 *            or another one, a flag is set or clear, or several of these together. An arm is
 *            covered when a call had it. The arms are the rows of data/ddi/arms.tsv.
 *
 *            Reading is measured by two layers: one right above the driver hands it copies of the
 *            argument structures that are watched, one right below the manager watches the
 *            descriptors after they were filled. The first 16 calls of an operation in a run
 *            and every 512th after them are watched, with the arrays that are short. Set and
 *            varied are taken from all calls.
 * Ownership  coverage_create() gives; runs borrow. Case names are copied.
 * Errors     NULL: no memory. Recording never fails: a value for which there is no memory is not
 *            recorded.
 */
#ifndef DRYDOCK_COVERAGE_COVERAGE_H
#define DRYDOCK_COVERAGE_COVERAGE_H

#include "base/services.h"
#include "miniport/miniport.h"
#include "miniport/operation.h"

enum coverage_group {
    /* 0 to MINIPORT_OPERATION_COUNT - 1: the operations */
    COVERAGE_BUILD = MINIPORT_OPERATION_COUNT,
    COVERAGE_PTE,
    COVERAGE_COPY_RANGE,
    COVERAGE_FENCE_RESIDENCY,
    COVERAGE_RENDER,
    COVERAGE_RENDER_KM,
    COVERAGE_RENDER_GDI,
    COVERAGE_DRAWING, /* of the kernel's, in the command buffer of RenderKm or RenderGdi */
    COVERAGE_PATCH,
    COVERAGE_ALLOCATION_LIST,
    COVERAGE_PATCH_LOCATION_LIST,
    COVERAGE_SEGMENT,
    COVERAGE_SEGMENT3,
    COVERAGE_SEGMENT4,
    /* What drivers ask of the graphics kernel; arms alone. */
    COVERAGE_MEMORY_OBJECT,
    COVERAGE_MEMORY_END,
    COVERAGE_MEMORY_VIEW,
    COVERAGE_ADL,
    COVERAGE_MDL_PAGES,
    COVERAGE_CONTIGUOUS,
    /* Calls that are not watched; arms alone. */
    COVERAGE_COLLECT,
    COVERAGE_COLLECT2,
    COVERAGE_INTERRUPT,
    COVERAGE_INTERRUPT2,
    COVERAGE_INTERRUPT3,
    COVERAGE_QUERY,
    COVERAGE_SUBMIT,
    COVERAGE_SUBMIT_VIRTUAL,
    COVERAGE_SUBMIT_QUEUE,
    COVERAGE_PRESENT,
    COVERAGE_PRESENT_QUEUE,
    COVERAGE_PROCESS,
    COVERAGE_DEVICE,
    COVERAGE_CONTEXT,
    COVERAGE_CREATION,
    COVERAGE_OPENING,
    COVERAGE_DESTRUCTION,
    COVERAGE_ALLOCATION, /* of several, what DxgkDdiCreateAllocation makes of each */
    COVERAGE_GROUP_COUNT
};

/* "TRANSFER", "DXGKARG_PATCH", "RenderKm(DXGKARG_RENDER)", "DXGK_SEGMENTDESCRIPTOR4" */
const char *coverage_group_name(unsigned group);
/* The group of a structure that is no operation's: COVERAGE_PTE for "DXGK_PTE". It must have one.
 */
unsigned coverage_group_of(const char *structure);

struct coverage_member {
    unsigned group;
    const char *name; /* "Source.SegmentId" */
    uint32_t offset, bytes;
    int first_bit; /* of the bytes; negative: the member is all of them */
    unsigned bits;
    bool is_address; /* a pointer or a handle */
    /*
     * Of members that share their bytes this one is meant if the word at `when` is (or is not) the
     * value; when_bytes 0: it shares them with none.
     */
    uint32_t when, when_bytes;
    bool is_equal;
    uint64_t when_value;
};

/* One condition of an arm: the member has the value, or has another one. */
struct coverage_term {
    const struct coverage_member *member;
    bool is_equal;
    bool is_always_meant; /* the member is no alternative of another one */
    uint64_t value;
};

struct coverage_arm {
    unsigned group;
    const char *name;      /* "system memory to segment" */
    const char *condition; /* "Source.SegmentId=0 Destination.SegmentId!=0" */
    const char *source;    /* the rule of the contract that names it: "XFER-001" */
    const char *reason;    /* why no run can show it; NULL: none */
    struct coverage_term terms[4];
    unsigned term_count;
};

struct coverage_tally {
    bool is_set, is_read, is_varied;
    bool has_value;
    uint64_t value; /* that was seen first */
};

struct coverage;

struct coverage *coverage_create(void);
/*
 * Of arms alone: nothing is watched, and tallies stay empty. It costs a run little, and changes
 * nothing in it.
 */
struct coverage *coverage_create_counting(void);
void coverage_destroy(struct coverage *coverage);

/* Calls from here on are recorded for this case. False: no memory. */
bool coverage_begin_case(struct coverage *coverage, const char *name);
/*
 * From here on, no more calls of a kind are watched than it takes to see every member of it read.
 */
void coverage_set_frugal(struct coverage *coverage);
/* A run begins: its calls are watched from the first one on again. */
void coverage_begin_run(struct coverage *coverage);

unsigned coverage_member_count(void);
const struct coverage_member *coverage_member(unsigned index);
const struct coverage_tally *coverage_tally(const struct coverage *coverage, unsigned index);
/* Why a member is not all of set, read and varied, and never will be; NULL: no reason known. */
const char *coverage_reason(unsigned index);

unsigned coverage_arm_count(void);
const struct coverage_arm *coverage_arm(const struct coverage *coverage, unsigned index);
/* The number of calls, or of array elements, that had it. */
uint64_t coverage_arm_calls(const struct coverage *coverage, unsigned index);
/* A call had it, or there is a reason. */
bool coverage_arm_is_settled(const struct coverage *coverage, unsigned index);

/* ---- Arms of several runs ---- */

#define COVERAGE_ARMS_MOST 576u

/* The arms that calls have had, a bit for each. */
struct coverage_arm_set {
    uint64_t bits[COVERAGE_ARMS_MOST / 64];
};
void coverage_arms_seen(const struct coverage *coverage, struct coverage_arm_set *out_set);

/* In how many runs, by the arm's index. */
struct coverage_arm_counts {
    uint64_t runs[COVERAGE_ARMS_MOST];
};
void coverage_arm_counts_add_run(struct coverage_arm_counts *counts,
                                 const struct coverage_arm_set *set);
void coverage_arm_counts_add(struct coverage_arm_counts *counts,
                             const struct coverage_arm_counts *more);
/* How many of the arms a run has had, and how many there are that a run can have. */
unsigned coverage_arm_counts_seen(const struct coverage_arm_counts *counts);
unsigned coverage_arms_possible(const struct coverage *coverage);

/* All three are true, or there is a reason. */
bool coverage_is_settled(const struct coverage *coverage, unsigned index);

/* Members and arms. */
bool coverage_is_all_settled(const struct coverage *coverage);

/* Calls, or array elements, that the group was seen in. */
uint64_t coverage_calls(const struct coverage *coverage, unsigned group);
unsigned coverage_case_count(const struct coverage *coverage);
const char *coverage_case_name(const struct coverage *coverage, unsigned case_index);
bool coverage_case_has(const struct coverage *coverage, unsigned case_index, unsigned group);

/*
 * The layers. Each takes next, or on failure leaves it to the caller. The coverage outlives them.
 * STATUS_NO_MEMORY.
 */
NTSTATUS coverage_driver_layer_create(struct coverage *coverage,
                                      const struct base_services *services, struct miniport *next,
                                      struct miniport **out_layer);
NTSTATUS coverage_manager_layer_create(struct coverage *coverage,
                                       const struct base_services *services, struct miniport *next,
                                       struct miniport **out_layer);

/* For the layers: notes the values of one structure of the group, before or after its call. */
void coverage_note_values(struct coverage *coverage, unsigned group, const void *structure,
                          const DXGKARG_BUILDPAGINGBUFFER *around);
/* For the layers: of one element of an array; before: the element in front of it, or NULL. */
void coverage_note_element(struct coverage *coverage, unsigned group, const void *before,
                           const void *element, const DXGKARG_BUILDPAGINGBUFFER *around);
/*
 * For the layers: notes which members of the structure were read, at this place of the watched
 * memory. values is a copy from before the call: which of several alternatives is meant is seen
 * there.
 */
void coverage_note_reads(struct coverage *coverage, unsigned group, const void *values,
                         size_t offset, const DXGKARG_BUILDPAGINGBUFFER *around);
/* Whether reads are looked at. */
bool coverage_watches(const struct coverage *coverage);
/* Counts a call of the operation in this run; true: it is one of those to watch. */
bool coverage_takes_call(struct coverage *coverage, unsigned group);

#endif
