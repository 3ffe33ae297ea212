/*
 * Paging: what may be paged out is away while the processor is at DISPATCH_LEVEL or above.
 *
 * Place      nt, private but for nt_paging_explain(), which nt.h has. nt_set_irql() calls it.
 * Model      Paged pool, and the image's sections whose names begin with "PAGE", lose their access
 *            when the IRQL rises to DISPATCH_LEVEL and have it again when it falls below: on
 *            Windows they may be on the disk by then, and nobody can bring them in. The first
 *            PAGING_ALWAYS rises are like that, then one of PAGING_ONE_IN: each costs a system call
 *            a block. Blocks whose pages somebody has locked, or asked for, stay.
 * Ownership  None.
 * Errors     None: what the host does not protect stays there.
 */
#ifndef DRYDOCK_NT_PAGING_H
#define DRYDOCK_NT_PAGING_H

#include "nt/nt.h"

#define PAGING_ALWAYS 64u
#define PAGING_ONE_IN 8u

/* The image has sections that may be paged out. */
bool nt_paging_has_sections(const struct nt *nt);

/* The IRQL has come to DISPATCH_LEVEL, or has left it. */
void nt_paging_cross(struct nt *nt, bool is_high);

/* Everything is there until the next rise. */
void nt_paging_bring_in(struct nt *nt);

#endif
