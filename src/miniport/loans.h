/*
 * Loans: what each DDI hands to the driver by pointer, and who writes it.
 *
 * Place      miniport. raw.c puts back by it what a driver has overwritten; the layer that lends
 *            copies between guards (layers/guard.h) walks it; whoever wants a driver's answers
 *            finds them as the members that are the driver's to write.
 * Model      A structure is a row of members. A member is a value, which lies in the structure,
 *            or a pointer to what the call lends: bytes, an array whose length another member
 *            counts, an MDL. Elements of an array are structures again:
 *
 *                DXGKARG_CREATEALLOCATION
 *                    NumAllocations          value, in
 *                    pAllocationInfo         array of NumAllocations, in and out
 *                        pPrivateDriverData  bytes, PrivateDriverDataSize of them, in and out
 *                        hAllocation         value, out, which the driver must write
 *
 *            A pointer is the caller's: only one that `moves` may be changed. A value without a
 *            row is both sides' to read and write. Bit fields are never `out`: a driver may set
 *            one and leave the others at zero. Of two rows for one pointer the first whose
 *            conditions hold counts. What the CPU reaches through a mapping (page tables, fences)
 *            and the user's memory (pCommand) is not lent by the call and has no row.
 * Ownership  The tables live for ever.
 * Source     The pages of the argument structures: [in], [out], [in/out]. loans_test.c holds the
 *            table to data/ddi/layout-x64.tsv.
 */
#ifndef MINIPORT_LOANS_H
#define MINIPORT_LOANS_H

#include "miniport/miniport.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum loan_kind {
    LOAN_VALUE, /* in the structure itself */
    LOAN_BYTES, /* as many as a member counts */
    LOAN_ARRAY, /* elements: as many as a member counts, or one */
    LOAN_MDL,   /* an MDL with its page numbers behind it */
};

enum loan_direction { LOAN_IN = 1, LOAN_OUT = 2, LOAN_IN_OUT = 3 };

/* An integer of the structure around it. bytes 0: there is none. */
struct loan_integer {
    uint16_t offset, bytes;
};

/* Of the 32 bits there, those of mask have the value. mask 0: always true. */
struct loan_condition {
    uint16_t offset;
    uint32_t mask, value;
};

struct loan_structure;

struct loan_member {
    const char *name;
    enum loan_kind kind;
    enum loan_direction direction;
    uint16_t offset;            /* in its structure */
    uint16_t bytes;             /* of a value, or of the pointer */
    uint32_t element_bytes;     /* of an array */
    struct loan_integer count;  /* none: one element */
    struct loan_integer stride; /* elements lie so far apart, not element_bytes */
    const struct loan_structure
        *element; /* what an element, or all of the bytes, is; NULL: bytes */
    struct loan_condition when[2];
    bool moves;         /* the driver moves the pointer behind what it has written */
    bool is_needed;     /* a value: no driver can leave it out */
    bool is_lasting;    /* lent until the packet has ended, not for the call alone */
    bool has_pages;     /* an array of page numbers */
    bool is_lent_above; /* the checking layer lends a guarded copy of it already */
};

struct loan_rows {
    const struct loan_member *members;
    uint16_t count;
};

struct loan_structure {
    const char *name;
    uint32_t bytes;
    struct loan_rows rows;
    /* Members of a union: the rows with the number that stands there. bytes 0: there are none. */
    struct loan_integer choice;
    const struct loan_rows *variants;
    uint16_t variant_count;
};

/* The argument structure of a DDI. NULL: the DDI has none. */
const struct loan_structure *loans_of(enum miniport_ddi ddi);

/* The rows of the union's member that is there; none where the structure has no union. */
struct loan_rows loan_variant(const struct loan_structure *structure, const void *bytes);
/* Whether the row counts for the structure with these bytes. Few have conditions. */
bool loan_conditions_hold(const struct loan_member *member, const void *bytes);
static inline bool loan_is_there(const struct loan_member *member, const void *bytes)
{
    return !member->when[0].mask || loan_conditions_hold(member, bytes);
}
uint64_t loan_integer(struct loan_integer integer, const void *bytes);

/* What a call lends for the driver to write: its argument structure, and what pointers lead to. */
struct loan_piece {
    const struct loan_member *member; /* NULL: the argument structure */
    void *memory;
    size_t bytes;
    void *cell; /* where the pointer to it lies; NULL: nowhere */
};

/*
 * The pieces of a call, in the order of the table, an array before what its elements lead to. How
 * many there are; those beyond `most` are counted, and not given.
 */
unsigned loans_collect(enum miniport_ddi ddi, void *argument, size_t bytes,
                       struct loan_piece *pieces, unsigned most);

/*
 * What the driver lends in its answer to a call that succeeded, in memory of its own: the ends of
 * the banks of segments, and the device's information where it is not written to the place that was
 * lent for it (before: the argument structure as it was).
 */
unsigned loans_collect_given(enum miniport_ddi ddi, void *argument, const void *before,
                             struct loan_piece *given, unsigned most);

/*
 * Puts back what the driver has overwritten in its argument structure, and gives the offset of the
 * first such byte; -1: nothing. is_const: the driver may write none of it.
 */
int64_t loans_restore(enum miniport_ddi ddi, void *argument, const void *before, size_t bytes,
                      bool is_const);

/* is_const of an argument, by its type: whether what it points to is const. */
#define LOANS_IS_CONST(argument)                                                                   \
    _Generic(true ? (argument) : (void *)1, const void * : true, void * : false)

/*
 * What DxgkDdiStartDevice lends, which has no argument structure: the table knows it as one.
 */
struct loan_start_device {
    DXGK_START_INFO *DxgkStartInfo;
    ULONG *NumberOfVideoPresentSources;
    ULONG *NumberOfChildren;
};

/* ---- Breaches -------------------------------------------------------------------------------- */

enum loan_breach_kind {
    LOAN_BEFORE,    /* the offset-th byte in front of it was touched, from 1 */
    LOAN_BEHIND,    /* the offset-th byte behind it, from 0 */
    LOAN_CHANGED,   /* byte `offset` was changed, which is the driver's to read only */
    LOAN_LATE,      /* byte `offset` was touched when the call had returned */
    LOAN_UNWRITTEN, /* the call succeeded, and byte `offset` was never written */
    LOAN_PAGED,     /* byte `offset` was touched at DISPATCH_LEVEL or above; lent by no call */
};

#define LOAN_NAME_BYTES 96u

struct loan_breach {
    enum loan_breach_kind kind;
    const char *call;           /* that lent it, a literal: "DxgkDdiRender" */
    char name[LOAN_NAME_BYTES]; /* "pAllocationInfo[2].Size"; "": the argument structure */
    uint64_t offset, bytes;     /* of what was lent */
    const void *at;             /* the byte, where it was written in the call; NULL elsewhere */
    bool is_needed;             /* LOAN_UNWRITTEN: no driver can leave it out */
};

#endif
