/*
 * Oracle: knows what the workload wrote and must read, and looks whether it is so.
 *
 * Place      check. Uses base, miniport and machine's page store; knows neither the memory manager
 *            nor the GPU model. The bench tells it what the workload does and what the GPU does,
 *            and stacks its layer above the driver.
 * Model      Expected content lives in a page store of the oracle's own: each workload allocation
 *            has a range there, zero at first, changed by nothing but writes of the workload.
 *            Where the real pages are is learnt at the miniport boundary: the layer reads every
 *            DxgkDdiBuildPagingBuffer call, groups the operations into packets as they are
 *            submitted, and when the driver reports a packet complete takes over the new places.
 *
 *            | looked at               | when                                    | compared   |
 *            | what a render reads     | at its start                            | every byte |
 *            | what TRANSFER, FILL and | when the driver reports the packet that | every page |
 *            | DISCARD_CONTENT leave   | holds their last byte                   |            |
 *            | what the CPU reads      | when it does                            | every byte |
 *            | everything alive        | in oracle_final_check()                 | every page |
 *
 *            DxgkDdiResetFromTimeout ends all operations under way: their pages are where they
 * were, and pages in local memory are lost (TDR-011): nothing is expected of it until it is written
 * anew.
 *
 *            An operation that wrote no bytes takes effect with what was built before it, at once
 *            if nothing was. Repeats after STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER are parts of one
 *            operation, which is complete with its last part.
 * Order      Told of an allocation before vidmm_allocation_create(), of a submission before it is
 *            submitted, of a destruction before vidmm_allocation_destroy(); what submissions
 *            in flight still use stays known until they have retired.
 * Ownership  oracle_create() gives the oracle, oracle_layer_create() gives a miniport that owns the
 *            next one and borrows the oracle, which must outlive it. Names are copied.
 * Errors     NTSTATUS: STATUS_NO_MEMORY. What is wrong with the run is a report, never a status.
 *            When the layer itself runs out of memory, the counter lost_operations tells.
 * Limits     Of an allocation in tiles, parts of a transfer are whole tiles: the pages of a smaller
 *            part that is moved as it lies are taken for others of the same tile.
 * Units      Bytes unless a name says page. Offsets count from the start of the allocation.
 * Source     contract.md PB-010, PB-015 to PB-017, XFER, FILL, DISC, APER, VX, PT-024, PT-025,
 *            PT-030.
 */
#ifndef DRYDOCK_CHECK_ORACLE_H
#define DRYDOCK_CHECK_ORACLE_H

#include "base/services.h"
#include "check/rules/rules.h"
#include "machine/page_store.h"
#include "miniport/miniport.h"

#include <stdbool.h>
#include <stdint.h>

struct oracle;

/* ---- Reports --------------------------------------------------------------------------------- */

enum oracle_problem {
    ORACLE_CONTENT,    /* bytes are not what was written last                                 */
    ORACLE_UNLOCATED,  /* written content that no operation left anywhere                     */
    ORACLE_COVERAGE,   /* a reference was not read or written wholly, once, in order          */
    ORACLE_RUN_COUNT,  /* a submission did not run exactly once, or nobody submitted it       */
    ORACLE_UNFINISHED, /* paging operations built and never submitted, or never reported done */
    ORACLE_NOTICE,     /* the driver was told another place than where content is, or too late */
    ORACLE_WRITE_LOST, /* the GPU wrote through a zero entry: the write vanished              */
    ORACLE_PROBLEM_COUNT
};

#define ORACLE_TEXT_BYTES 1024
#define ORACLE_NO_ID      UINT64_MAX
#define ORACLE_REPORTS    16u /* told; the others are counted */

struct oracle_report {
    enum oracle_problem problem;
    uint64_t event;      /* as config.event says, of the call that built the operation, or of   */
                         /* the last call when it was looked at                                 */
    uint64_t allocation; /* workload id, ORACLE_NO_ID when none is concerned                    */
    uint64_t token;      /* of a submission, ORACLE_NO_ID when none is concerned                */
    uint64_t page;       /* first bad page of the allocation                                    */
    uint64_t offset;     /* first bad byte of the allocation                                    */
    enum rule_id rule;   /* that is broken, as far as content tells; RULE_NONE: it does not     */
    const char *text;    /* a line that stands alone, then lines that explain; lent for the call */
    const char *where;   /* CONTENT: what brought it to light, without numbers; else "" */
    const char *bytes;   /* CONTENT: expected and found, in hexadecimal; else "" */
    const char *arguments; /* CONTENT: of the operation that brought it to light; else "" */
    uint64_t writer;       /* CONTENT: of the byte, as oracle_wrote() was told; or none */
    uint64_t handle;       /* CONTENT: of the allocation, as paging operations name it; 0: none */
    bool
        was_spoilt; /* CONTENT: no operation brought it to light, and the byte is where it should */
                    /* be: it was right there, or never, and somebody has written it since      */
};

struct oracle_counters {
    uint64_t pages_checked;    /* comparisons, a page each; partial pages count whole        */
    uint64_t mismatched_pages; /* of them                                                    */
    uint64_t mismatches;       /* pieces of memory in which a comparison found any           */
    uint64_t problems[ORACLE_PROBLEM_COUNT]; /* every one, told or not                         */
    uint64_t reports;            /* told to config.report                                      */
    uint64_t unlocated_pages;    /* in the final check                                         */
    uint64_t operations_checked; /* paging operations that said where pages are                */
    uint64_t operations_foreign; /* of allocations that the workload does not know             */
    uint64_t lost_operations;    /* not followed for want of memory: places are not checked    */
    uint64_t packets;            /* paging packets retired                                     */
    uint64_t unmatched_packets;  /* with another size than the operations built before         */
    uint64_t submissions;        /* of the workload, retired                                   */
    uint64_t lost_pages;         /* whose only copy was in local memory in a reset               */
    uint64_t lost_pages_read;    /* looked at for the workload, and not checked for that reason  */
};

/* ---- Life ------------------------------------------------------------------------------------ */

/* A segment as the driver reported it. */
struct oracle_segment {
    unsigned id;
    bool is_aperture;
    bool is_pitch_aligned; /* before WDDM 2 */
    uint64_t base;         /* GPU address */
    uint64_t size;
};

struct oracle_config {
    const struct base_services *services;
    struct page_store *ram;     /* borrowed: system pages by page number   */
    struct page_store *local;   /* borrowed: local memory, NULL when none  */
    uint32_t initial_pattern;   /* content of an allocation that was never written */
    uint64_t expected_bytes;    /* room for expected content               */
    struct rule_counts *counts; /* borrowed, added to; NULL: not counted */
    bool judges_reports; /* content alone tells whether a packet had run when it was reported */
    void *context;       /* of the functions below                  */

    /*
     * The store (ram or local) and address in it of [offset, + bytes) of a memory segment; false
     * when it is in neither. Never asked about apertures. NULL: base + offset in local.
     */
    bool (*resolve)(void *context, const struct oracle_segment *segment, uint64_t offset,
                    uint64_t bytes, struct page_store **out_store, uint64_t *out_address);
    /*
     * The page in ram of a system page as the device names it, in page-table entries, address
     * descriptor lists and dummy pages; false when it is none. NULL: the page itself.
     */
    bool (*system_page)(void *context, uint64_t page, uint64_t *out_page);
    /* At most ORACLE_REPORTS times, and once for an allocation or submission. NULL: counted only.
     */
    void (*report)(void *context, const struct oracle_report *report);
    /* Number of the event that is happening. NULL: DDI calls and callbacks that the layer saw. */
    uint64_t (*event)(void *context);
};

NTSTATUS oracle_create(const struct oracle_config *config, struct oracle **out_oracle);
void oracle_destroy(struct oracle *oracle); /* after its layer */

const struct oracle_counters *oracle_counters(const struct oracle *oracle);

/*
 * The layer "oracle". Gives a miniport that owns next and forwards everything; on failure next
 * is still the caller's. One layer an oracle.
 */
NTSTATUS oracle_layer_create(struct oracle *oracle, struct miniport *next,
                             struct miniport **out_layer);

/* ---- What the workload does ----------------------------------------------------------------- */

/*
 * A new allocation, its content zero; the id is not in use (an id may be used again once it
 * was freed). DxgkDdiCreateAllocation makes those that are announced in their order: the next one
 * that the layer sees succeed is of this allocation, and of as many behind it as it makes.
 * STATUS_INSUFFICIENT_RESOURCES: expected_bytes is too small.
 */
NTSTATUS oracle_allocation_created(struct oracle *oracle, uint64_t id, uint64_t bytes,
                                   const char *name);
/*
 * In local memory its pages stand in another order: page i of it where page_in_memory(i) would
 * stand if it were linear. In system memory it is linear, unless is_swizzled: then transfers
 * without Unswizzle leave it in that order. Before anything else is told of it.
 */
typedef uint64_t oracle_layout(uint64_t page);
void oracle_allocation_reordered(struct oracle *oracle, uint64_t id, oracle_layout *page_in_memory,
                                 bool is_swizzled);
/*
 * The same in segments with PitchAlignment only, where its rows have a pitch; elsewhere it is
 * packed.
 */
void oracle_allocation_pitched(struct oracle *oracle, uint64_t id, oracle_layout *page_in_memory);
/*
 * The allocation is another instance from now on, of undefined content, which paging operations
 * name by this handle (ALLOC-022); what was submitted before uses the old one. The end of an
 * instance: nothing names it any more. STATUS_NO_MEMORY, STATUS_INSUFFICIENT_RESOURCES: it is not
 * followed, and nothing has changed.
 */
NTSTATUS oracle_allocation_renamed(struct oracle *oracle, uint64_t id, const void *handle);
void oracle_instance_ended(struct oracle *oracle, const void *handle);
/* Also after vidmm_allocation_create() failed. */
void oracle_allocation_freed(struct oracle *oracle, uint64_t id);

/*
 * The CPU writes or reads one physical piece: [offset, offset + bytes) of the allocation stands
 * at address of the store (ram or local); address and offset agree in their low 12 bits. The page
 * of offset takes the content named tag, the page i pages later tag + i. Both teach the
 * oracle where the pages are. Call write before or after the bytes change, read while they hold.
 *
 * A write of many pieces is told faster in two: where each piece stands (_wrote), and once the
 * content of all of them (_content), before anything else is told.
 */
void oracle_cpu_wrote(struct oracle *oracle, uint64_t id, uint64_t offset, struct page_store *store,
                      uint64_t address, uint64_t bytes);
void oracle_cpu_content(struct oracle *oracle, uint64_t id, uint64_t offset, uint64_t bytes,
                        uint64_t tag);
void oracle_cpu_write(struct oracle *oracle, uint64_t id, uint64_t offset, struct page_store *store,
                      uint64_t address, uint64_t bytes, uint64_t tag);
void oracle_cpu_read(struct oracle *oracle, uint64_t id, uint64_t offset, struct page_store *store,
                     uint64_t address, uint64_t bytes);

/*
 * The GPU wrote there: writer is any number of the bench's own, ORACLE_NO_WRITER for what no report
 * is to name. What the workload writes is known from elsewhere.
 */
#define ORACLE_NO_WRITER 0u
void oracle_wrote(struct oracle *oracle, struct page_store *store, uint64_t address, uint64_t bytes,
                  uint64_t writer);

/* The workload gave the content up (offer and discard): nothing is expected until it is written. */
void oracle_content_lost(struct oracle *oracle, uint64_t id);

/*
 * The owner was told, behind a reset, that content is lost. Of an eviction that was half done some
 * pages had arrived, and nobody keeps them. Believed where the reset took at least one page.
 */
void oracle_reset_took(struct oracle *oracle, uint64_t id);

/*
 * The content was offered: until it is reclaimed (lost or not) it may go at any time. What was
 * submitted before must still find it. Gives whether it was offered before.
 */
bool oracle_content_offered(struct oracle *oracle, uint64_t id, bool is_offered);

/* What a reference writes. */
enum oracle_source {
    ORACLE_KEYS,  /* the page of offset takes the content named key, i pages later key + i */
    ORACLE_COPY,  /* what stands in the reference before it, which has as many bytes and is read */
    ORACLE_COLOR, /* the 32-bit pattern key */
};

/* One reference of a submission; its index is its position in the array. */
struct oracle_reference {
    uint64_t allocation;
    uint64_t offset;
    uint64_t bytes;
    uint64_t key;
    enum oracle_source source;
    bool is_read;
    bool is_written;
};

/* About to be submitted; the token is not in use. References must lie in live allocations. */
NTSTATUS oracle_submission(struct oracle *oracle, uint64_t token, unsigned reference_count,
                           const struct oracle_reference *references);

/*
 * The manager is about to be called for a submission that the kernel draws; 0: the call is over.
 * The packets that come of it have no token of their own.
 */
void oracle_kernel_renders(struct oracle *oracle, uint64_t token);
/* The submission of a packet without a token, by what the driver was given; 0: none. */
uint64_t oracle_token_of(const struct oracle *oracle, uint32_t node, uint32_t fence);

/*
 * The manager says that it has run: it must have, exactly once, and all references must have
 * been covered. The token may be used again.
 */
void oracle_submission_retired(struct oracle *oracle, uint64_t token);

/* The manager refused or dropped it (also after a GPU fault): it may have run or not. */
void oracle_submission_cancelled(struct oracle *oracle, uint64_t token);

/* ---- What the GPU does ------------------------------------------------------------------------
 * In the order in which it happens. A run is one piece of one reference in physical memory;
 * the runs of a reference ascend without a gap. A store of NULL reads as zero.
 */
/* The index of an access of which the oracle is told, and which it does not follow. */
#define ORACLE_NOT_FOLLOWED UINT32_MAX
void oracle_render_begin(struct oracle *oracle, uint64_t token, uint32_t node);
void oracle_render_read(struct oracle *oracle, uint64_t token, uint32_t index,
                        uint64_t offset_in_ref, struct page_store *store, uint64_t address,
                        uint64_t bytes);
void oracle_render_write(struct oracle *oracle, uint64_t token, uint32_t index,
                         uint64_t offset_in_ref, struct page_store *store, uint64_t address,
                         uint64_t bytes);
/* A part of it has ended: the references written wholly so far are expected from now on. */
void oracle_render_piece_end(struct oracle *oracle, uint64_t token);
/* All runs of the writes have been told: what they wrote is expected from now on. */
void oracle_render_end(struct oracle *oracle, uint64_t token);

/* ---- The end --------------------------------------------------------------------------------- */

/*
 * The manager is idle. Compares every page of every live allocation where it was left last, and
 * reports operations and packets that never finished. False when any problem was ever counted.
 */
bool oracle_final_check(struct oracle *oracle);

/* Where a page is, as far as the oracle knows: the store and page in it; false: unknown. */
bool oracle_find_page(const struct oracle *oracle, uint64_t id, uint64_t page,
                      struct page_store **out_store, uint64_t *out_page);

/* The invariant walk: shadow, counts and expected ranges agree. */
bool oracle_check(const struct oracle *oracle);

#endif
