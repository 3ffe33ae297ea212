/*
 * Workload: what a run does, step by step, as data.
 *
 * Place      workload. Uses base only; filled by the case parser, the generators and the
 *            importers, played by the bench. Knows no memory manager and no GPU, so the same
 *            workload runs in the physical (WDDM 1.x) model and in the GpuMmu (WDDM 2.x) model.
 * Model      A header (options; processes, devices, contexts), then a sequence of operations.
 *            Everything is named by a dense index into a table of struct workload, and an
 *            allocation is one table entry per `alloc` line: a name used again after `free`
 *            is a new entry. Operations are 48 bytes; those with a list of allocations
 *            (submit, resident, evict) hold a slice of one pooled array of references.
 *            The text of all this is described in docs/case-format.md.
 *            A finished workload is valid: indices in range, allocations used only between
 *            their alloc and their free, ranges inside their allocation and not empty. Whoever
 *            plays it need not check that again.
 * Ownership  workload_load(), _parse(), _import(), _generate() and workload_builder_finish() give
 *            the caller the workload, who ends it with workload_free(). Pointers out of it
 *            (names, option values) are lent until then, or until the option is set again.
 * Errors     bool, and one line in struct workload_error: "FILE:LINE: message (expected ...)",
 *            or without LINE where the input has none. On failure out parameters hold NULL.
 * Units      Bytes (uint64_t) and half-open ranges [offset, offset + size). Pages are always
 *            4 KiB, whatever the page size of a mapping. Times in nanoseconds of the virtual clock.
 */
#ifndef WORKLOAD_WORKLOAD_H
#define WORKLOAD_WORKLOAD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define WORKLOAD_NONE            UINT32_MAX /* no index; wait: every context */
#define WORKLOAD_PAGE_SIZE       4096u
#define WORKLOAD_VA_AUTO         UINT64_MAX /* map: the memory manager chooses the GPU VA */
#define WORKLOAD_MAX_NAME        63         /* characters of a name or identifier */
#define WORKLOAD_MAX_ALLOCATION  (1ull << 40)
#define WORKLOAD_MAX_VA          (1ull << 48) /* a GPU VA range ends here at the latest */
#define WORKLOAD_MAX_SEGMENTS    4
#define WORKLOAD_MAX_NODES       4 /* as many as the modelled GPU can have */
#define WORKLOAD_MAX_DURATION_NS 1000000000000000ull

struct workload_error {
    char text[512];
};

/* Kinds of memory. The player maps them to the segments of its GPU model. */
enum workload_segment {
    WORKLOAD_SEGMENT_LOCAL,           /* local memory, CPU visible where there are two kinds */
    WORKLOAD_SEGMENT_LOCAL_INVISIBLE, /* local memory that no BAR shows to the CPU */
    WORKLOAD_SEGMENT_APERTURE,        /* system memory through an aperture segment */
    WORKLOAD_SEGMENT_SYSTEM,          /* system memory pages themselves */
    WORKLOAD_SEGMENT_COUNT,
};

/*
 * Properties of an allocation. Those that a display miniport chooses carry the name of their bit
 * in DXGK_ALLOCATIONINFOFLAGS (or its WDDM 2.0 form, or FLAGS2); the player hands them to the
 * driver as private data. The first three belong to the runtime's side.
 */
enum workload_allocation_flag {
    WORKLOAD_ALLOCATION_SHARED = 1u << 0,  /* contexts of other devices may refer to it */
    WORKLOAD_ALLOCATION_PRIMARY = 1u << 1, /* a scan-out surface */
    WORKLOAD_ALLOCATION_NOMAP = 1u << 2,   /* GpuMmu: no automatic GPU VA; see `map` */
    WORKLOAD_ALLOCATION_CPU_VISIBLE = 1u << 3,
    WORKLOAD_ALLOCATION_CACHED = 1u << 4,
    WORKLOAD_ALLOCATION_ACCESSED_PHYSICALLY = 1u << 5,
    WORKLOAD_ALLOCATION_PERMANENT_SYSMEM = 1u << 6,
    WORKLOAD_ALLOCATION_EXISTING_SYSMEM = 1u << 7,
    WORKLOAD_ALLOCATION_PROTECTED = 1u << 8,
    WORKLOAD_ALLOCATION_HARDWARE_PROTECTED = 1u << 9,
    WORKLOAD_ALLOCATION_FROM_END_OF_SEGMENT = 1u << 10,
    WORKLOAD_ALLOCATION_SWIZZLED = 1u << 11,
    WORKLOAD_ALLOCATION_OVERLAY = 1u << 12,
    WORKLOAD_ALLOCATION_CAPTURE = 1u << 13,
    WORKLOAD_ALLOCATION_USE_ALTERNATE_VA = 1u << 14,
    WORKLOAD_ALLOCATION_SYNCHRONOUS_PAGING = 1u << 15,
    WORKLOAD_ALLOCATION_HISTORY_BUFFER = 1u << 16,
    WORKLOAD_ALLOCATION_EXPLICIT_RESIDENCY_NOTIFICATION = 1u << 17,
    WORKLOAD_ALLOCATION_CPU_VISIBLE_ON_DEMAND = 1u << 18,
    WORKLOAD_ALLOCATION_DISABLE_LARGE_PAGE_MAPPING = 1u << 19,
    WORKLOAD_ALLOCATION_MAP_APERTURE_CPU_VISIBLE = 1u << 20,
    WORKLOAD_ALLOCATION_DISABLE_PARTIAL_RESIDENCY = 1u << 21,
    WORKLOAD_ALLOCATION_RESTRICTED_TO_SINGLE_SEGMENT = 1u << 22,
    WORKLOAD_ALLOCATION_NOTIFY_EVICTION = 1u << 23,
    WORKLOAD_ALLOCATION_NOTIFY_IOMMU_UNMAP = 1u << 24,
    WORKLOAD_ALLOCATION_TILED = 1u << 25,
    WORKLOAD_ALLOCATION_ROWS = 1u << 26,
    WORKLOAD_ALLOCATION_EXISTING_KERNEL_SYSMEM = 1u << 27,
};

/* The values of D3DDDI_ALLOCATIONPRIORITY_*; any other number is allowed as well. */
#define WORKLOAD_PRIORITY_MIN    0x28000000u
#define WORKLOAD_PRIORITY_LOW    0x50000000u
#define WORKLOAD_PRIORITY_NORMAL 0x78000000u
#define WORKLOAD_PRIORITY_HIGH   0xa0000000u
#define WORKLOAD_PRIORITY_MAX    0xc8000000u

#define WORKLOAD_TILE_BYTES 0x10000u

#define WORKLOAD_MAX_FENCES 64u /* native fences are named by numbers below this */

enum workload_access {
    WORKLOAD_ACCESS_READ = 1,
    WORKLOAD_ACCESS_WRITE = 2,
};

enum workload_protection {
    WORKLOAD_PROTECT_READ_ONLY = 1,
    WORKLOAD_PROTECT_NO_EXECUTE = 2,
    WORKLOAD_PROTECT_ZERO = 4, /* PTE_MAP only: reads give zero, writes vanish; no page */
};

enum workload_submit {
    WORKLOAD_SUBMIT_NULL = 1, /* it goes all the way to the GPU, which does not run it */
};

/* How a `resident` line asks, by the flags of D3DDDI_MAKERESIDENT_FLAGS. */
enum workload_ask {
    WORKLOAD_ASK_CANT_TRIM, /* CantTrimFurther */
    WORKLOAD_ASK_CAN_TRIM,
    WORKLOAD_ASK_MUST_SUCCEED, /* MustSucceed */
};

/* Who waits in a `wait-paging` line. */
enum workload_waiter { WORKLOAD_WAITER_CPU, WORKLOAD_WAITER_GPU };

enum workload_write {
    WORKLOAD_WRITE_DISCARD =
        1, /* what the allocation held elsewhere is not needed any more either */
};

/* One for each OPERATION of the table of directives, where its members say what they fill. */
enum workload_op_kind {
#define OPERATION(NAME, ...) WORKLOAD_OP_##NAME,
#define VARIANT(...)
#define HEADER(...)
#include "workload/case/directives.inc"
#undef OPERATION
#undef VARIANT
#undef HEADER
    WORKLOAD_OP_COUNT,
};

enum workload_power {
    WORKLOAD_POWER_ON,
    WORKLOAD_POWER_STANDBY,
    WORKLOAD_POWER_HIBERNATE,
    WORKLOAD_POWER_D3,
    WORKLOAD_POWER_COUNT,
};

/* What a `renew` line makes anew with the context. */
enum workload_renewal {
    WORKLOAD_RENEW_CONTEXT, /* nothing */
    WORKLOAD_RENEW_DEVICE,
    WORKLOAD_RENEW_PROCESS,
};

/* What the submission of a `fault` line reaches. */
enum workload_fault {
    WORKLOAD_FAULT_UNMAPPED,
    WORKLOAD_FAULT_FREED,
    WORKLOAD_FAULT_READ_ONLY,
    WORKLOAD_FAULT_NO_EXECUTE,
    WORKLOAD_FAULT_BEYOND_ROOT,
    WORKLOAD_FAULT_REFUSED,
    WORKLOAD_FAULT_COUNT,
};

/*
 * One operation. What its members hold is said by its row of the table of directives
 * (workload/case/directives.inc); members that the row does not name are zero. Besides:
 *
 *   ALLOC        everything else is in the allocation's entry
 *   WAIT         object WORKLOAD_NONE: all contexts
 *   WRITE        value 0: content that was never there before
 *   SUBMIT       offset is 0, or one more than the fence to signal, and size its value
 *   RESIDENT...  the references are whole allocations, without access
 *   BUDGET       value 0: no limit
 *   MAP          a reference to the same allocation holds the driver protection, where there is one
 *   UNMAP        value WORKLOAD_VA_AUTO: all mappings of the allocation
 *   PTE_MAP      flags with WORKLOAD_PROTECT_ZERO: a `pte zero` line
 *   FENCE_...    object is the process that the fence belongs to
 */
struct workload_op {
    uint8_t kind;       /* enum workload_op_kind */
    uint8_t flags;      /* enum workload_protection, _submit, _write, _ask, _power, _fault */
    uint8_t segment;    /* enum workload_segment */
    uint8_t page_shift; /* log2 of the page size, 12 and up */
    uint32_t line;      /* of the case file, for messages; 0 when there is no file */
    uint32_t object;    /* what the line is about: an allocation, a context, a process, a node... */
    uint32_t first_ref; /* slice of workload.refs */
    uint32_t ref_count;
    uint32_t text;       /* offset into workload.strings */
    uint32_t rectangles; /* SUBMIT: it is a present of so many sub-rectangles; 0: it is none */
    uint64_t offset;     /* into the object, or a GPU VA */
    uint64_t size;       /* bytes */
    uint64_t value;      /* key, duration, GPU VA, page number or count */
};

/* One allocation that an operation refers to: a range that the GPU reads or writes. */
struct workload_ref {
    uint32_t allocation;
    uint32_t access; /* enum workload_access; 0 for resident and evict */
    uint64_t offset;
    uint64_t size;
    uint64_t key; /* of the content that a write leaves; 0: automatic, content never seen before */
};

struct workload_allocation {
    uint32_t name;
    uint32_t device;
    uint64_t size;  /* not zero; need not be a multiple of a page */
    uint64_t va;    /* fixed GPU VA of the automatic mapping, or WORKLOAD_VA_AUTO */
    uint64_t align; /* power of two, or 0: no wish */
    uint32_t priority;
    uint32_t flags;                          /* enum workload_allocation_flag */
    uint8_t segments[WORKLOAD_MAX_SEGMENTS]; /* enum workload_segment, most preferred first */
    uint8_t segment_count;                   /* 0: the player's choice */
    uint32_t alloc_op;                       /* index of the ALLOC operation */
    uint32_t free_op;                        /* index of the FREE operation, or WORKLOAD_NONE */
    bool is_offered;                         /* at the end of what has been read so far */
    bool is_locked;                          /* the same, by a lock line */
};

struct workload_process {
    uint32_t name;
    bool has_entries; /* pte lines are about it */
    bool has_tiles;   /* tile lines are: the two do not go together */
};

struct workload_device {
    uint32_t name;
    uint32_t process;
};

/* A context-save area: memory in which the driver keeps the state of a context. */
struct workload_save_area {
    uint64_t bytes;     /* 0: none; else a multiple of 8, at least 64 */
    bool is_local;      /* in local memory, else in system memory */
    bool is_mapped;     /* GpuMmu: reached by virtual address, else by physical address */
    bool is_shared;     /* one for all contexts of the device and node that say so, all alike */
    bool has_cpu_image; /* its first content is written by the CPU where that sees it */
};

struct workload_context {
    uint32_t name;
    uint32_t device;
    uint32_t node; /* 0 = render */
    struct workload_save_area save;
};

struct workload_option {
    uint32_t key;
    uint32_t value;
    uint32_t line; /* of the source; 0: none */
};

/*
 * Read it, do not write it: the builder keeps it valid. A workload in which no process, device or
 * context is declared has one of each, p0, d0 and c0.
 */
struct workload {
    const char *name; /* title; "" when there is none */
    const char *path; /* where it came from, for messages */

    const struct workload_option *options;
    const struct workload_process *processes;
    const struct workload_device *devices;
    const struct workload_context *contexts;
    const struct workload_allocation *allocations;
    const struct workload_op *ops;
    const struct workload_ref *refs;
    const char *strings; /* all names and texts, NUL terminated; offset 0 is "" */

    uint32_t option_count;
    uint32_t process_count;
    uint32_t device_count;
    uint32_t context_count;
    uint32_t allocation_count;
    uint32_t op_count;
    uint32_t ref_count;
    uint32_t string_bytes;
};

static inline const char *workload_string(const struct workload *workload, uint32_t offset)
{
    return workload->strings + offset;
}

static inline const char *workload_allocation_name(const struct workload *workload, uint32_t id)
{
    return workload->strings + workload->allocations[id].name;
}

/*
 * Files. A path that ends in .zst is compressed with zstd; loading looks at the content instead.
 * "-" is standard input or output.
 */
bool workload_load(const char *path, struct workload **out, struct workload_error *error);
bool workload_parse(const void *text, size_t size, const char *path, struct workload **out,
                    struct workload_error *error);
bool workload_save(const struct workload *workload, const char *path, struct workload_error *error);
/* With lines behind the first one, each of which begins with #. */
bool workload_save_commented(const struct workload *workload, const char *comment, const char *path,
                             struct workload_error *error);

/* The text of a workload, NUL terminated; the caller frees it with free(). */
bool workload_print(const struct workload *workload, char **out_text, size_t *out_size,
                    struct workload_error *error);
void workload_free(struct workload *workload);

/* Equal in everything but path and line numbers: what saving and loading keeps. */
bool workload_equal(const struct workload *a, const struct workload *b);

/*
 * The options that a case sets (workload/case/options.h says which there are). A value is kept as
 * it was written, and has been checked.
 */
/* The value as written, or NULL when the case does not set it. */
const char *workload_option(const struct workload *workload, const char *key);
/* The number, or fallback. The values of the key must be numbers. */
uint64_t workload_option_number(const struct workload *workload, const char *key,
                                uint64_t fallback);
/* Checks a value against the option table. */
bool workload_check_option(const char *key, const char *value, struct workload_error *error);
/* What --option KEY=VALUE does: checks like the parser, then replaces or adds. */
bool workload_set_option(struct workload *workload, const char *key, const char *value,
                         struct workload_error *error);
void workload_clear_options(struct workload *workload);

#endif
