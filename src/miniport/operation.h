/*
 * Operation: what the fact tables say about each paging operation.
 *
 * Place      miniport. Used by everybody who is handed a DXGKARG_BUILDPAGINGBUFFER and wants to
 *            know the same thing of every operation: its allocation, how long it is, where it reads
 *            and writes.
 * Model      One row an operation, made from data/ddi (operation_table.inc). A row says which
 *            member of the operation's arguments plays which part. A part that an operation does
 *            not have is absent: the functions below then answer 0, NULL or false, as they do for a
 *            value that is no operation. The effect of an operation is not here: the code of the
 *            driver, the GPU and the oracle has it.
 * Ownership  Rows are constant. Arguments are borrowed for the call.
 * Units      Offsets and sizes of members in bytes. An extent has the unit that its row says.
 * Source     data/ddi/operations.tsv, enums.tsv, layout-x64.tsv; scripts/operation-table.sh makes
 *            the rows.
 */
#ifndef MINIPORT_OPERATION_H
#define MINIPORT_OPERATION_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

/* MINIPORT_OPERATION_TRANSFER = 0 and so on, the values of DXGK_OPERATION_*; how many there are. */
enum {
#define OPERATION(operation, ...) MINIPORT_OPERATION_##operation,
#define BUSY(operation, rule)
#include "miniport/operation_table.inc"
#undef BUSY
#undef OPERATION
    MINIPORT_OPERATION_COUNT
};

/* The subject of an operation. */
enum miniport_operation_kind {
    MINIPORT_KIND_NONE, /* no operation has this value */
    MINIPORT_KIND_TRANSFER,
    MINIPORT_KIND_FILL,
    MINIPORT_KIND_DISCARD,
    MINIPORT_KIND_ACCESS,  /* to a physical address, so that writes before it are seen */
    MINIPORT_KIND_MAP,     /* of aperture slots */
    MINIPORT_KIND_UNMAP,   /* of aperture slots */
    MINIPORT_KIND_CONTEXT, /* content of a context allocation */
    MINIPORT_KIND_TABLE,   /* page tables, and what is cached of them */
    MINIPORT_KIND_NOTICE,  /* of where an allocation is */
    MINIPORT_KIND_FENCE,
    MINIPORT_KIND_MMU /* page tables of an auxiliary MMU */
};

enum miniport_unit {
    MINIPORT_UNIT_NONE,
    MINIPORT_UNIT_BYTES,
    MINIPORT_UNIT_PAGES,
    MINIPORT_UNIT_ENTRIES, /* of a page table */
    MINIPORT_UNIT_RANGES,  /* of page table entries */
    MINIPORT_UNIT_FENCES
};

/* How a member says where something is. */
enum miniport_place_kind {
    MINIPORT_PLACE_NONE,
    MINIPORT_PLACE_ADDRESS, /* a segment and an address of the GPU's in it; segment 0: a list of
                               pages */
    MINIPORT_PLACE_OFFSET,  /* a segment and bytes from its start; segment 0: a list of pages */
    MINIPORT_PLACE_SLOT,    /* an aperture segment and pages from its start */
    MINIPORT_PLACE_VIRTUAL  /* an address in a page table */
};

/* A member of the arguments. bytes is 0: the operation has none. */
struct miniport_member {
    const char *name;       /* "Source.SegmentId": without the member of the union */
    uint16_t offset, bytes; /* in DXGKARG_BUILDPAGINGBUFFER */
};

struct miniport_extent {
    struct miniport_member member;
    enum miniport_unit unit;
};

struct miniport_place_members {
    enum miniport_place_kind kind;
    struct miniport_member segment, address;
};

struct miniport_array_members {
    struct miniport_member elements, count;
    const char *type; /* "DXGK_PTE" */
    uint16_t element_bytes;
};

/* A bit of a 32-bit word. mask is 0: the operation has none. */
struct miniport_bit {
    uint16_t offset;
    uint32_t mask;
};

#define MINIPORT_OPERATION_ARRAYS 2 /* that an operation has at most */

struct miniport_operation {
    const char *name;              /* "TRANSFER" */
    struct miniport_member member; /* of the union: the operation's arguments */
    enum miniport_operation_kind kind;
    struct miniport_member allocation; /* the driver's handle */
    struct miniport_member process;    /* whose tables it changes */
    struct miniport_extent offset;     /* of the first byte or page in the allocation */
    struct miniport_extent size;
    struct miniport_place_members source; /* of content that is read, given up or told of */
    struct miniport_place_members destination;
    struct miniport_member list_offset; /* of the first page of its MDL or ADL that is meant */
    struct miniport_array_members arrays[MINIPORT_OPERATION_ARRAYS];
    struct miniport_bit is_idle; /* AllocationIsIdle: clear, and ALLOCATION_BUSY is an answer */
    struct miniport_bit is_end;  /* TransferEnd: the last part of a transfer */
};

/* The row; one without a name and of no kind for a value that is no operation. */
const struct miniport_operation *miniport_operation(unsigned operation);

/* "TRANSFER"; "?" for a value that is no operation. */
const char *miniport_operation_name(unsigned operation);
enum miniport_operation_kind miniport_operation_kind(unsigned operation);

HANDLE miniport_operation_allocation(const DXGKARG_BUILDPAGINGBUFFER *arg);
/* Where the allocation's handle stands; NULL: the operation has none. */
HANDLE *miniport_operation_allocation_member(DXGKARG_BUILDPAGINGBUFFER *arg);
HANDLE miniport_operation_process(const DXGKARG_BUILDPAGINGBUFFER *arg);

/* In bytes: pages are counted as such. An extent in other units is 0 bytes. */
uint64_t miniport_operation_offset(const DXGKARG_BUILDPAGINGBUFFER *arg);
uint64_t miniport_operation_bytes(const DXGKARG_BUILDPAGINGBUFFER *arg);
/* Pages, entries, ranges or fences that it takes one by one; bytes are counted as whole pages. */
uint64_t miniport_operation_units(const DXGKARG_BUILDPAGINGBUFFER *arg);

/* The first page of the operation's page list that is meant; 0 if it has no list. */
uint64_t miniport_operation_list_offset(const DXGKARG_BUILDPAGINGBUFFER *arg);

struct miniport_place {
    enum miniport_place_kind kind;
    unsigned segment; /* 0 for an address in a page table */
    uint64_t address; /* in the terms of its kind */
};

struct miniport_place miniport_operation_source(const DXGKARG_BUILDPAGINGBUFFER *arg);
struct miniport_place miniport_operation_destination(const DXGKARG_BUILDPAGINGBUFFER *arg);

/* An array that the arguments point at. */
struct miniport_array {
    const void *elements; /* NULL: it is not there */
    uint64_t count;
    const struct miniport_array_members *members; /* NULL: the operation has no such array */
};

struct miniport_array miniport_operation_array(const DXGKARG_BUILDPAGINGBUFFER *arg,
                                               unsigned index);

/*
 * Entries of an update up to the last valid one: invalid ones behind it map nothing, whatever the
 * allocation is that the update names.
 */
uint64_t miniport_update_mapped(const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update);

/* The operation has a bit for it, which is not set: the driver may answer ALLOCATION_BUSY. */
bool miniport_operation_may_be_busy(const DXGKARG_BUILDPAGINGBUFFER *arg);
/* Sets AllocationIsIdle, if the operation has it. */
void miniport_operation_set_idle(DXGKARG_BUILDPAGINGBUFFER *arg);
/* False: another part of the same transfer follows. */
bool miniport_operation_is_end(const DXGKARG_BUILDPAGINGBUFFER *arg);

/*
 * How many buffers a driver may fill for one operation without a change of MultipassOffset.
 * Progress may be noted in private data alone; but a driver that needs more than so many for each
 * page or entry goes round in circles.
 */
uint64_t miniport_operation_most_aimless(const DXGKARG_BUILDPAGINGBUFFER *arg);

#endif
