/*
 * Numbers that the C run time's functions for CHAR and for WCHAR share.
 *
 * Place      nt, private.
 * Source     Public documentation of the _s functions and of errno.
 */
#ifndef DRYDOCK_NT_TEXT_H
#define DRYDOCK_NT_TEXT_H

#define NT_EINVAL    22
#define NT_ERANGE    34
#define NT_STRUNCATE 80

/* _TRUNCATE: as much as fits. */
#define NT_TRUNCATE SIZE_MAX

#endif
