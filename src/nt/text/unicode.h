/*
 * Comparing strings for the bench's own services.
 *
 * Place      nt, private.
 */
#ifndef DRYDOCK_NT_UNICODE_H
#define DRYDOCK_NT_UNICODE_H

#include <wdm.h>

#include <stdbool.h>

/* At any IRQL: the strings are the bench's. */
bool nt_is_same_text(PCUNICODE_STRING first, PCUNICODE_STRING second, bool ignores_case);

#endif
