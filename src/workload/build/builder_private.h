/*
 * Builder, inside: its state, shared by its files, the case parser and importers.
 *
 * Place      workload, private to the module.
 * Model      struct workload is a view; the arrays behind it grow in struct workload_owned. Every
 *            name and text is interned once: a name table entry says which allocation of that
 *            name is alive and which process, device and context it names.
 */
#ifndef WORKLOAD_BUILDER_PRIVATE_H
#define WORKLOAD_BUILDER_PRIVATE_H

#include "workload/build/builder.h"
#include "workload/owned.h"

/*
 * Limits that keep every index in 32 bits, every sum of sizes in 64 bits and every printed line
 * below the parser's longest: a reference prints in at most 118 characters.
 */
#define WORKLOAD_MAX_ALLOCATIONS (1u << 23)
#define WORKLOAD_MAX_OPS         (1u << 30)
#define WORKLOAD_MAX_REFS        (1u << 30)
#define WORKLOAD_MAX_OP_REFS     8192u
#define WORKLOAD_MAX_LINE        (1u << 20)
#define WORKLOAD_MAX_TEXT        400u
#define WORKLOAD_MAX_OBJECTS     4096u        /* processes, devices, contexts: each */
#define WORKLOAD_MAX_PAGE        (1ull << 40) /* 52 bits of physical address */
#define WORKLOAD_MAX_PAGE_SHIFT  30
#define WORKLOAD_MAX_STRINGS     (1u << 30)

_Static_assert(WORKLOAD_MAX_ALLOCATIONS *WORKLOAD_MAX_ALLOCATION <= UINT64_MAX,
               "the sum of all sizes fits");
_Static_assert(WORKLOAD_MAX_OP_REFS * 118u + 256u <= WORKLOAD_MAX_LINE,
               "the longest submit can be read back");

/* The objects that a name means at this point of the workload; WORKLOAD_NONE: none. */
struct workload_name {
    uint32_t text; /* offset into strings */
    uint32_t length;
    uint64_t hash;
    uint32_t allocation; /* the live one */
    uint32_t last_allocation;
    uint32_t process;
    uint32_t device;
    uint32_t context;
};

/* A device other than its own may not use the allocation any more. */
struct workload_closing {
    uint32_t allocation;
    uint32_t device;
};

struct workload_builder {
    struct workload_owned *out;
    uint32_t line; /* of the source, for what is added from now on */
    bool failed;
    bool header_done;
    struct workload_error error;                          /* the first one, when failed */
    void (*progress)(void *context, uint64_t operations); /* now and then; NULL: nobody looks */
    void *progress_context;

    /* Names: builder.c. */
    struct workload_name *names;
    uint32_t *slots; /* open addressing: index + 1 into names; 0: empty */
    uint32_t name_count;
    uint32_t name_room;
    uint32_t slot_count; /* power of two, or 0 */

    /* State that operations leave behind for those to come: builder_rules.c. */
    bool is_off;          /* the power */
    uint64_t live_fences; /* a bit for each number */
    uint32_t fence_processes[WORKLOAD_MAX_FENCES];
    struct workload_closing *closings; /* shared allocations that a device has closed */
    uint32_t closing_count;
    uint32_t closing_room;

    /* The operation whose references are added: builder_add.c. */
    bool in_list;        /* a submission is open: its operation is already counted */
    uint64_t list_bytes; /* sizes of the distinct allocations so far */
    uint32_t *stamps;    /* per allocation: op_count when it was last referred to */
    uint32_t stamp_room;
};

struct workload_builder *workload_builder_create_with(const struct base_services *services,
                                                      const char *path,
                                                      struct workload_error *error);

/* Appends a zeroed operation; NULL after an error. Ends the header. */
struct workload_op *workload_builder_append(struct workload_builder *builder,
                                            enum workload_op_kind kind, uint32_t object);
void workload_builder_fail_memory(struct workload_builder *builder);

/* ---- builder_check.c: what operations have in common. False or NULL after an error. ---- */

const char *workload_builder_name_of(const struct workload_builder *builder, uint32_t allocation);
/* The allocation when it exists and lives, else NULL and an error. */
struct workload_allocation *workload_builder_live_allocation(struct workload_builder *builder,
                                                             uint32_t allocation);
/* Between a lock and its unlock the CPU alone may use an allocation. */
bool workload_builder_check_unlocked(struct workload_builder *builder, uint32_t allocation);
/* Between an offer and its reclaim nothing may use an allocation. */
bool workload_builder_check_not_offered(struct workload_builder *builder, uint32_t allocation);
/* Only the device's own allocations and shared ones that it has not closed may be referred to. */
bool workload_builder_check_owner(struct workload_builder *builder, uint32_t allocation,
                                  uint32_t device);
/* Completes size 0 and checks that the range lies in the allocation. */
bool workload_builder_check_range(struct workload_builder *builder, uint32_t allocation,
                                  uint64_t offset, uint64_t *size);
bool workload_builder_check_process(struct workload_builder *builder, uint32_t process);
bool workload_builder_check_device(struct workload_builder *builder, uint32_t device);
bool workload_builder_check_context(struct workload_builder *builder, uint32_t context);
bool workload_builder_check_node(struct workload_builder *builder, uint32_t node);
/* A fence that is there, or is not, as wanted. */
bool workload_builder_check_fence(struct workload_builder *builder, uint64_t fence, bool is_live);
/* [va, va + size) is not empty, whole pages of the given size, and below the end of GPU VA. */
bool workload_builder_check_va(struct workload_builder *builder, uint64_t va, uint64_t size,
                               uint64_t page);
/* Few enough that their bytes fit. */
bool workload_builder_check_page_count(struct workload_builder *builder, uint64_t page_count);

/*
 * ---- builder_rules.c ----
 *
 * A rule: a condition of an operation beyond the types of its members; NULL: there is none. refs
 * are op->ref_count references. A rule may complete the operation. False after an error.
 */
typedef bool workload_rule(struct workload_builder *builder, struct workload_op *op,
                           const struct workload_ref *refs);
extern workload_rule *const workload_rules[WORKLOAD_OP_COUNT];

/* ---- builder.c: names ---- */

/* Offset of the text in strings, interned. False after an error, then *out is 0. */
bool workload_builder_text(struct workload_builder *builder, const char *what, const char *text,
                           uint32_t *out);
/* The entry of a name, made when it is new. NULL after an error. */
struct workload_name *workload_builder_intern(struct workload_builder *builder, const char *text,
                                              size_t length);

/* NULL when nothing has that name. Lent until the next call that adds a name. */
const struct workload_name *workload_builder_lookup(const struct workload_builder *builder,
                                                    const char *text, size_t length);

/* Declares the default process, device and context where none was declared. */
bool workload_builder_end_header(struct workload_builder *builder);

/* workload_builder_alloc() with a name that needs no terminator, for the parser. */
uint32_t workload_builder_alloc_n(struct workload_builder *builder, const char *name, size_t length,
                                  const struct workload_allocation_info *info);

#endif
