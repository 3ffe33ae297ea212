/*
 * Paging: what may be paged out is away while the processor is at DISPATCH_LEVEL or above.
 *
 * Place      nt, private but for nt_paging_explain(), which nt.h has. nt_set_irql() calls it.
 * Model      Paged pool, and the image's sections whose names begin with "PAGE", lose their access
 *            when the IRQL rises to DISPATCH_LEVEL: on Windows they may be on the disk by then, and
 *            nobody can bring them in. They stay closed until somebody comes to them at a lower
 *            level: that access faults, opens them all and is repeated. A system call a block is
 *            much in a loop that polls, so a place that has opened them n times lets
 *            n / PAGING_PATIENCE rises pass before the next one closes them: 500,000 rises around
 *            one place close them some 2,800 times. Blocks whose pages somebody has locked, or
 *            asked for, stay.
 * Ownership  None.
 * Errors     None: what the host does not protect stays there, and all does where the host refuses
 *            a handler of faults.
 */
#ifndef DRYDOCK_NT_PAGING_H
#define DRYDOCK_NT_PAGING_H

#include "machine/page_fault.h"
#include "nt/nt.h"

#define PAGING_PLACES   64u
#define PAGING_PATIENCE 8u

struct nt_paging {
    bool has_any; /* paged pool or a pageable section */
    bool is_away;
    uint64_t rises_to_pass;        /* before one closes the pages again */
    uint32_t times[PAGING_PLACES]; /* that a place has opened them, by its hash */
    struct page_fault_taker taker;
};

/* The image has sections that may be paged out. */
bool nt_paging_has_sections(const struct nt *nt);

/* There is something more that may be paged out: the next rise closes it with the rest. */
void nt_paging_begin(struct nt *nt);
void nt_paging_end(struct nt *nt);

/* The IRQL has come to DISPATCH_LEVEL. */
void nt_paging_rise(struct nt *nt);

/* Everything is there until the next rise. */
void nt_paging_bring_in(struct nt *nt);

#endif
