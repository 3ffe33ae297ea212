/*
 * Oracle internals.
 *
 * Place      check. The files oracle*.c include this, and nobody else. No two of them call each
 *            other; from below: oracle_place.c (where pages are) and oracle_allocation.c (the
 *            expected content), oracle_blame.c (which rule is broken), oracle_compare.c (looking
 *            and reporting), oracle_fence.c and oracle_notice.c, oracle_operation.c (what a call
 *            says), oracle_paging.c (the shadow: parts, packets, what takes effect), oracle.c
 *            (life, the workload and the GPU) with oracle_reset.c, and oracle_layer.c (the
 *            miniport).
 * Model      A location is a store and a page in it, in eight bytes. An allocation has one location
 *            a page, from the first time that anything is known of the page. While pages are in
 *            local memory, the system page that held each of them before stands next to it: a
 *            discard falls back to that one. Most content is in system memory, and has no such
 *            list.
 *
 *            Parts (what one BuildPagingBuffer call wrote) wait in build order until a submission
 *            takes those that it covers; packets wait in submission order until their fence is
 *            reported.
 */
#ifndef DRYDOCK_CHECK_ORACLE_PRIVATE_H
#define DRYDOCK_CHECK_ORACLE_PRIVATE_H

#include "check/ledger/id_map.h"
#include "check/oracle/oracle.h"

#include "base/bits.h"
#include "base/list.h"
#include "base/range_allocator.h"

#include "base/assert.h"

#define MAX_SEGMENTS 32u
#define NAME_BYTES   48u

/* ---- Locations ---- */

#define LOCATION_PAGE_MASK ((UINT64_C(1) << 62) - 1)
#define LOCATION_UNKNOWN   UINT64_C(0)
#define LOCATION_SYSTEM    (UINT64_C(1) << 62)
#define LOCATION_LOCAL     (UINT64_C(2) << 62)
#define LOCATION_DROPPED   (UINT64_C(3) << 62) /* discarded, and no copy is known */

static inline uint64_t location_kind(uint64_t location)
{
    return location & ~LOCATION_PAGE_MASK;
}

/* There is a page with the content; it is not known which otherwise, or there is none. */
static inline bool is_located(uint64_t location)
{
    return location != LOCATION_UNKNOWN && location != LOCATION_DROPPED;
}

static inline uint64_t location_page(uint64_t location)
{
    return location & LOCATION_PAGE_MASK;
}

/* ---- Objects ---- */

struct oracle_allocation {
    struct list link;           /* all that are known */
    struct list announced_link; /* in oracle->announced */
    uint64_t id;
    uint64_t bytes;
    uint64_t page_count;
    uint64_t expected_page;   /* its first one in the expected store */
    uint64_t *locations;      /* NULL: nothing is known */
    uint64_t *backing;        /* NULL: a discard leads nowhere */
    uint64_t *undefined;      /* a bit a page, NULL: all defined */
    uint64_t reference_count; /* alive, bound, submissions, operations */
    uint64_t operation_count; /* built and not retired */
    uint64_t leaving_pages;   /* gone out, by an eviction that has not ended yet */
    uint64_t last_loss;       /* the reset, counted from 1, that took pages of it last; 0: none */
    uint64_t handle;          /* hAllocation, when is_bound */
    oracle_layout *layout;    /* order of its pages in local memory; NULL: linear */
    bool is_swizzled;         /* ... and, unless it is unswizzled, elsewhere */
    bool is_pitched;          /* its layout is that of segments with PitchAlignment alone */
    bool is_live;
    bool is_offered; /* its content may be nowhere */
    bool is_bound;
    bool is_reported;
    bool is_noticed;    /* NOTIFY_RESIDENCY said that it is resident */
    bool is_unfollowed; /* no memory to follow it: nothing is compared any more */
    char name[NAME_BYTES];
};

struct submission_reference {
    struct oracle_reference told;
    struct oracle_allocation *allocation;
    uint64_t read_bytes; /* of the run that is going on, or of the last one */
    uint64_t written_bytes;
    bool is_expected; /* its writes are expected content, since a piece of the render ended */
};

struct submission {
    uint64_t token;
    unsigned begin_count;
    unsigned end_count;
    bool is_reported;
    unsigned reference_count;
    struct submission_reference references[];
};

/* Whose packets without a token are (oracle_kernel.c). */
struct oracle_kernel {
    uint64_t token;        /* that the manager is called for; 0: none of the kernel's */
    struct id_map buffers; /* tokens, by the address of the DMA buffer (virtual: see key_of_va()) */
    struct id_map packets; /* tokens, by node and fence */
    uint64_t patched_token;
    uint32_t patched_fence; /* of the buffer that was patched last */
};

struct aperture {
    uint64_t *slots; /* a location each; NULL before the first map */
    uint64_t slot_count;
};

/* 512 pages of the paging process's address space. */
#define VA_CHUNK_PAGES 512u
struct va_chunk {
    uint64_t locations[VA_CHUNK_PAGES];
};

enum operation_effect {
    EFFECT_PLACE,    /* the pages are at the destination now                       */
    EFFECT_LEARN,    /* they are there, if nothing better was known                */
    EFFECT_DISCARD,  /* they are no longer in local memory                         */
    EFFECT_NOTICE,   /* nothing: the driver is told that they are there            */
    EFFECT_SHOWN,    /* nothing: the driver is shown them there, in the paging process */
    EFFECT_FAREWELL, /* nothing: the driver is told that they go                  */
    EFFECT_UNMAP     /* nothing: slots that they went out through are given back   */
};

struct paging_operation {
    struct list link; /* in its packet */
    struct oracle_allocation *allocation;
    enum operation_effect effect;
    unsigned operation; /* DXGK_OPERATION_* */
    uint64_t event;     /* when it was built */
    /* The argument as it was then. Its pointers lead nowhere any more. */
    DXGKARG_BUILDPAGINGBUFFER arg;
    bool has_list;          /* a side of the transfer is a page list: */
    uint64_t list_page;     /* ... its page at the index at which the transfer begins */
    bool list_is_scattered; /* ... and those behind do not follow it */
    bool is_repeated;       /* it took more than one call */
    uint64_t first_page;
    uint64_t page_count;
    bool is_linear; /* locations[0] + i, else locations[i] */
    uint64_t location_count;
    uint64_t locations[];
};

/* What one call wrote. */
struct paging_part {
    struct list link;
    uint64_t buffer; /* number of the buffer it stands in */
    uint32_t bytes;
    struct paging_operation *operation; /* owned; NULL when the operation goes on, or is not ours */
};

struct paging_packet {
    struct list link;
    struct list operations;
    uint64_t event;
    uint32_t fence;
    unsigned node;
};

/* A write that has been told: half-open addresses in a store. */
#define ORACLE_WRITES 2048u
struct oracle_write {
    const struct page_store *store;
    uint64_t start, end;
    uint64_t writer;
};

/* A fill of local memory that has run: one that did not stop in time spoils what is behind it. */
#define ORACLE_FILLS 64u
/*
 * Bytes that were wrong when the packet that was to bring them was reported. When nobody has
 * written them since and they are right, the report came too early (FENCE-003).
 */
#define ORACLE_LATES 8u
struct oracle_late {
    struct oracle_allocation *allocation; /* NULL: it is settled */
    uint64_t offset, location;            /* of the first wrong byte; of its page */
    uint64_t expected;                    /* up to eight bytes from there on */
    uint64_t event;                       /* of the call that built the operation */
    uint32_t fence;
    unsigned node;
};

struct oracle_fill {
    uint64_t event;      /* 0: none */
    uint64_t start, end; /* locations, half open */
    DXGKARG_BUILDPAGINGBUFFER arg;
};

struct oracle {
    struct oracle_config config;
    const struct base_services *services;
    ULONG interface_version; /* of the driver */
    struct page_store *expected;
    struct range_allocator ranges; /* of the expected store, in bytes */

    struct list allocations;
    struct id_map by_id;
    struct id_map by_handle;
    struct list announced; /* those that DxgkDdiCreateAllocation creates next, in their order */

    struct id_map fences; /* native ones, by handle */
    bool fences_are_lost; /* for want of memory: not followed any more */

    struct id_map submissions;
    struct submission *last_submission; /* of the last look-up */
    struct oracle_kernel kernel;

    struct oracle_segment segments[MAX_SEGMENTS]; /* by id - 1 */
    unsigned segment_count;
    struct aperture apertures[MAX_SEGMENTS];

    bool has_paging_process;
    uint64_t paging_process;
    struct id_map va_chunks;     /* by VA / 2 MiB */
    struct va_chunk *last_chunk; /* found last, under last_chunk_key */
    uint64_t last_chunk_key;

    struct oracle_fill fills[ORACLE_FILLS]; /* a ring of the last ones */
    uint64_t fill_count;                    /* ever */

    struct oracle_write writes[ORACLE_WRITES]; /* a ring of the last ones */
    uint64_t write_count;                      /* ever */

    struct oracle_late lates[ORACLE_LATES]; /* a ring of the last ones */
    unsigned late_count;                    /* ever */

    uint64_t reset_count;              /* resets and sleeps: local memory lost its content */
    struct oracle_allocation *leaving; /* that went out last by addresses; NULL: it has ended */
    bool discards_write;               /* the driver has commands for DISCARD_CONTENT */
    bool has_parts_before; /* the operation that is being built came back for want of room */
    struct list parts;
    struct list packets;
    uint64_t buffer_number;
    const uint8_t *buffer_at; /* where the last call stopped */
    const uint8_t *buffer_end;
    bool is_blind; /* an operation was lost: places are not known any more */

    bool has_layer;
    uint64_t event_count;
    struct oracle_counters counters;
};

/* The number of the call that is happening. */
static inline uint64_t oracle_event(const struct oracle *oracle)
{
    return oracle->config.event ? oracle->config.event(oracle->config.context)
                                : oracle->event_count;
}

/* ---- oracle_allocation.c ---- */

void allocation_get(struct oracle_allocation *allocation);
void allocation_put(struct oracle *oracle, struct oracle_allocation *allocation);

/* Nothing is expected of the page, or of any page, until it is written. */
void lose_page(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t page);
void lose_pages(struct oracle *oracle, struct oracle_allocation *allocation);

bool is_undefined(const struct oracle_allocation *allocation, uint64_t page);
bool is_as_at_first(const struct oracle *oracle, const struct oracle_allocation *allocation,
                    uint64_t page);

/* Memory for locations; false when there is none. */
bool ensure_locations(struct oracle *oracle, struct oracle_allocation *allocation);

/* Smaller allocations keep their list of system pages, which costs less than to make it anew. */
#define BACKING_KEPT_PAGES 16u
/* Without memory for it the allocation is not followed any more. */
void ensure_backing(struct oracle *oracle, struct oracle_allocation *allocation);
void drop_backing(struct oracle *oracle, struct oracle_allocation *allocation);
/* Drops it when no page is in local memory. */
void drop_idle_backing(struct oracle *oracle, struct oracle_allocation *allocation);

/* ---- oracle_late.c ---- */

struct occasion;

/* The byte of the allocation, at an address of the store, is wrong behind an operation's packet. */
void oracle_note_late(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t offset,
                      struct page_store *store, uint64_t address, const struct occasion *occasion);
void oracle_forget_late(struct oracle *oracle, const struct oracle_allocation *allocation);
/* Whether what came late is there now. */
void oracle_look_for_late(struct oracle *oracle);

/* ---- oracle_place.c ---- */

struct page_store *location_store(const struct oracle *oracle, uint64_t location);

/* The location of a page of a store; LOCATION_UNKNOWN when it is none of ram or local. */
uint64_t location_in(const struct oracle *oracle, const struct page_store *store, uint64_t page);

/* The location of a system page that the device names: not of one in an MDL. */
uint64_t device_location(const struct oracle *oracle, uint64_t page);

/* How many locations follow the first one, page by page; the first one is counted. */
uint64_t location_run(const uint64_t *locations, uint64_t count);

/* Of page i of the operation. */
uint64_t operation_location(const struct paging_operation *operation, uint64_t i);

/* NULL: the driver reported none with that number. */
const struct oracle_segment *find_segment(const struct oracle *oracle, unsigned id);
bool is_memory_segment(const struct oracle *oracle, unsigned id);

/* The address in local memory of part of a memory segment; bytes may be 0. */
bool oracle_segment_address(const struct oracle *oracle, const struct oracle_segment *segment,
                            uint64_t offset, uint64_t bytes, struct page_store **out_store,
                            uint64_t *out_address);

/* The location of a page of a segment, by its offset in the segment. */
uint64_t segment_location(const struct oracle *oracle, unsigned id, uint64_t offset);

/* The pages of the allocation have an order of their own in that segment. */
bool has_layout_in(const struct oracle *oracle, const struct oracle_allocation *allocation,
                   unsigned segment_id);

/* An operation cannot be followed for want of memory: places are not known any more. */
void lose_operation(struct oracle *oracle);

/* NULL: it is no aperture, or there is no memory to follow it. */
struct aperture *open_aperture(struct oracle *oracle, unsigned id);
void set_slot(struct aperture *aperture, uint64_t slot, uint64_t location);
void free_slots(struct oracle *oracle);

/* ---- oracle.c ---- */

/* The driver gave or took back an hAllocation. */
void oracle_handle_created(struct oracle *oracle, uint64_t handle);
void oracle_handle_destroyed(struct oracle *oracle, uint64_t handle);

/* ---- oracle_compare.c ---- */

/* On what occasion something is looked at. */
enum occasion_kind {
    OCCASION_OPERATION,
    OCCASION_RENDER,
    OCCASION_CPU,
    OCCASION_FINAL,
};
struct occasion {
    enum occasion_kind kind;
    unsigned operation; /* OCCASION_OPERATION: which, when built, with which packet */
    uint64_t event;
    const DXGKARG_BUILDPAGINGBUFFER *arg; /* of the operation; NULL: none */
    const struct paging_operation *by;    /* the operation, NULL: none */
    uint32_t fence;
    unsigned node;
    bool has_packet;
    uint64_t token; /* OCCASION_RENDER */
    uint32_t index;
};

/*
 * Counts a problem and reports it unless its object has been reported; allocation or submission
 * may be NULL. page and offset are those of struct oracle_report.
 */
void oracle_problem(struct oracle *oracle, enum oracle_problem problem,
                    struct oracle_allocation *allocation, struct submission *submission,
                    uint64_t offset, const char *format, ...) __attribute__((format(printf, 6, 7)));

/* Whole pages of an allocation against consecutive pages from the location on. */
void compare_pages(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t page,
                   uint64_t count, uint64_t location, const struct occasion *occasion);

/* Any bytes. A store of NULL reads as zero. */
void compare_bytes(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t offset,
                   struct page_store *store, uint64_t address, uint64_t bytes,
                   const struct occasion *occasion);

/* ---- oracle_write.c ---- */

/* Whoever wrote the byte last; ORACLE_NO_WRITER: nobody that is known. */
uint64_t oracle_find_writer(const struct oracle *oracle, const struct page_store *store,
                            uint64_t address);

/* ---- oracle_blame.c ---- */

/* The operation was compared: counts the rules that it could have broken. */
void oracle_evaluate(struct oracle *oracle, const struct paging_operation *operation);

#define BLAME_BYTES 160
/*
 * The rule that is broken where a page does not hold its last content, and a half sentence that
 * says why; RULE_NONE and "": unknown. *out_fill is the fill that went there, where it was one that
 * is known and not the operation of the occasion; NULL otherwise.
 */
enum rule_id oracle_blame(struct oracle *oracle, const struct oracle_allocation *allocation,
                          uint64_t page, struct page_store *store, uint64_t store_page,
                          const struct occasion *occasion, char text[BLAME_BYTES],
                          const struct oracle_fill **out_fill);

/* ---- oracle_operation.c ---- */

/*
 * Enters what the call changes at once: aperture slots, and addresses of the paging process. Gives
 * what it does to an allocation when its packet retires, by locations; NULL: nothing, or it was
 * lost for want of memory.
 */
struct paging_operation *enter_operation(struct oracle *oracle,
                                         const DXGKARG_BUILDPAGINGBUFFER *arg);
void free_operation(struct oracle *oracle, struct paging_operation *operation);

/* ---- oracle_paging.c ---- */

/* A call returned STATUS_SUCCESS (is_complete) or wrote a part of an operation. */
void oracle_built(struct oracle *oracle, const DXGKARG_BUILDPAGINGBUFFER *arg, uint32_t bytes,
                  bool is_complete);
void oracle_submitted(struct oracle *oracle, uint64_t bytes, uint32_t fence, unsigned node);
void oracle_completed(struct oracle *oracle, uint32_t fence, unsigned node);
void oracle_forget_paging(struct oracle *oracle);
/* Operations that are built or under way will not happen. */
void oracle_drop_operations(struct oracle *oracle);

/* ---- oracle_fence.c ---- */

void oracle_fence_created(struct oracle *oracle, uint64_t handle);
void oracle_fence_destroyed(struct oracle *oracle, uint64_t handle);
void oracle_forget_fences(struct oracle *oracle);
void oracle_fences_reset(struct oracle *oracle);
/* The driver has been told of fences: are they there? */
void oracle_fences_told(struct oracle *oracle,
                        const DXGK_BUILDPAGINGBUFFER_NOTIFY_FENCE_RESIDENCY *notice);

/* Nothing is known any more of its content and of its places. */
void oracle_lose_content(struct oracle *oracle, struct oracle_allocation *allocation);

/* ---- oracle_reset.c ---- */

/* The adapter has been reset. */
void oracle_was_reset(struct oracle *oracle);

/* ---- oracle_notice.c ---- */

/* A notice takes effect: the driver's idea of the place against the shadow's. */
void publish_notice(struct oracle *oracle, const struct paging_operation *operation);
/* Pages are placed: not while the driver believes the allocation to be somewhere (NTF-004). */
void check_noticed_move(struct oracle *oracle, const struct paging_operation *operation);

/* ---- oracle_kernel.c ---- */

/* The driver fills a DMA buffer, for the kernel's drawing or for other commands. */
void oracle_buffer_made(struct oracle *oracle, const void *buffer, bool is_kernels);
/* One with a virtual address, for the kernel's drawing; then one goes to the node. */
void oracle_buffer_drawn(struct oracle *oracle, HANDLE context, uint64_t va);
void oracle_buffer_submitted_virtual(struct oracle *oracle,
                                     const DXGKARG_SUBMITCOMMANDVIRTUAL *arg);
/* It has got its fence, and goes to the node with it, unless it is a paging buffer. */
void oracle_buffer_patched(struct oracle *oracle, const DXGKARG_PATCH *arg);
void oracle_buffer_submitted(struct oracle *oracle, const DXGKARG_SUBMITCOMMAND *arg);

#endif
