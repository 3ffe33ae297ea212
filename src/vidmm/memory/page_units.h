/*
 * Page units: how the manager counts pages.
 *
 * Place   vidmm. Header only.
 * Units   A page count is in pages of 4 KiB, whatever page size a segment has. A segment with
 *         Use64KBPages hands out units of PAGES_64K pages.
 */
#ifndef VIDMM_PAGE_UNITS_H
#define VIDMM_PAGE_UNITS_H

#include "base/bits.h"

#define PAGES_64K 16 /* 4 KiB pages to a 64 KiB one */

#define PAGE_BYTES_OF(pages) ((uint64_t)(pages) << PAGE_SHIFT_BITS)

#endif
