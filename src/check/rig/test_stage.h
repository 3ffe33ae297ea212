/*
 * Stage: a test rig of the oracle's layer. A fake driver below it, whose paging buffers are eight
 * bytes a page (command number n of the driver's list) and in which defects are planted, and the
 * manager's side above it, made by hand.
 *
 * Place  check, tests only.
 */
#ifndef DRYDOCK_CHECK_TEST_STAGE_H
#define DRYDOCK_CHECK_TEST_STAGE_H

#include "check/oracle/oracle.h"

#include "base/bits.h"
#include "base/failing_services.h"
#include "base/hash.h"
#include "base/list.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define PAGE_NUMBER(n) ((uint64_t)(n)*PAGE_BYTES)
#define STORE_PAGES    1024u
#define UPPER_SEGMENT  3u /* of local memory, right behind segment 1; segment 2 is the aperture */
#define UPPER_PAGES    64u
#define SEGMENT_BASE   UINT64_C(0x10000000)
#define APERTURE_BASE  (UINT64_C(1) << 40)
#define NODE           1u
#define TEXTURE        7u
#define TEXTURE_PAGES  16u
#define HANDLE_OF(id)  ((HANDLE)(uintptr_t)(0x1000 + (id)))

/* ---- The fake driver ---- */

enum stage_defect {
    NO_DEFECT,
    WRONG_BYTE,         /* one byte of page 5 is flipped                          */
    WRONG_ORDER,        /* pages 4 and 5 change places                            */
    MISSING_PAGE,       /* page 5 is not copied                                   */
    SWALLOWED,          /* success, and nothing is written into the buffer        */
    IGNORES_OFFSET,     /* TransferOffset is not added to the segment side        */
    OFFSET_ON_MDL,      /* TransferOffset is added to the MDL side too            */
    IGNORES_MDL_OFFSET, /* the MDL is used from its first page                    */
    RESTARTS,           /* a repeat starts from the beginning of the destination  */
};

struct stage_command {
    struct page_store *destination;
    struct page_store *source; /* NULL: fill */
    uint64_t destination_page;
    uint64_t source_page;
    uint32_t pattern;
    bool flips;
};

struct stage_driver {
    struct miniport miniport;
    struct miniport_ops ops;
    struct miniport_host *host;
    struct page_store *ram;
    struct page_store *local;
    enum stage_defect defect;
    uint64_t next_handle;
    struct stage_command commands[4096];
    unsigned built_count;
    unsigned done_count;
    uint64_t va_pages[1024]; /* local page, or 1 << 32 | system page, of the scratch range */
};

/* ---- The manager's side ---- */

struct stage {
    struct page_store *ram;
    struct page_store *local;
    struct oracle *oracle;
    struct stage_driver *driver;
    struct miniport *top;
    struct miniport_host host;
    struct miniport_host_ops host_ops;
    unsigned interrupt_count;
    unsigned report_count;
    struct oracle_report last;
    struct rule_counts counts; /* the oracle's */
    struct hash said;
    char text[ORACLE_TEXT_BYTES];
    uint8_t buffers[2][256]; /* used in turn */
    unsigned buffer;
    uint32_t buffer_bytes;
    uint32_t used;
    uint32_t submitted; /* of the used ones */
    uint32_t fence;
    bool completes_full_buffers; /* at once, before the operation goes on */
};

/* An MDL of count pages, 37 apart from each other, behind one that nobody may touch. */
#define MDL_POISON 2u
struct stage_pages {
    MDL mdl;
    PFN_NUMBER pfns[64];
};

/* STATUS_NO_MEMORY, with everything undone, or a stack that stands. */
NTSTATUS stage_open_with(struct stage *stage, const struct base_services *services);
void stage_open(struct stage *stage, enum stage_defect defect);
void stage_close(struct stage *stage);
NTSTATUS stage_create(struct stage *stage, uint64_t id, uint64_t bytes);
void stage_destroy(struct stage *stage, uint64_t id);

/* Submits the bytes that were built since the last submission; gives the fence. */
uint32_t stage_submit(struct stage *stage);
void stage_complete(struct stage *stage, uint32_t fence);

/* Builds one operation, submitting full buffers as PB-010 says. */
void stage_build(struct stage *stage, const DXGKARG_BUILDPAGINGBUFFER *operation);
void stage_submit_and_complete(struct stage *stage);
void stage_make_pages(struct stage_pages *pages, uint64_t first, uint32_t count);
DXGKARG_BUILDPAGINGBUFFER stage_transfer(struct stage_pages *pages, uint64_t local_page, bool is_in,
                                         uint32_t first, uint32_t count);
DXGKARG_BUILDPAGINGBUFFER stage_fill(uint64_t id, uint64_t local_page, uint32_t pattern);

/* Addresses of the system process lead to these pages of the segment; 0: of system memory. */
void stage_map_scratch(struct stage *stage, uint64_t va_page, uint32_t segment,
                       const uint64_t *pages, uint32_t count);

/* The whole texture from an address of the system process to another one, to the end of it. */
void stage_move_virtually(struct stage *stage, uint64_t from_page, uint64_t to_page);

/* A texture whose content the CPU wrote into these system pages. */
void stage_make_texture(struct stage *stage, struct stage_pages *pages);
void stage_assert_at(const struct stage *stage, uint64_t page, struct page_store *store,
                     uint64_t store_page);

/* Nothing was reported, nor does the final check find anything. */
void stage_assert_silent(struct stage *stage);
/* One report, of the texture's content, that says where. */
void stage_assert_reported(const struct stage *stage, uint64_t offset, const char *where,
                           const char *when);

#endif
