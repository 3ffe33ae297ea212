/*
 * Access watch: which bytes of a piece of memory a call really reads.
 *
 * Place      coverage. Used by the coverage layer alone, and only while coverage is measured: an
 *            access to watched memory costs two signals.
 * Model      The pages are made inaccessible. An access raises SIGSEGV; its handler notes the
 *            address and whether it was a read, opens the pages and sets the trap flag, so that the
 *            one instruction runs and raises SIGTRAP, whose handler closes the pages again. Nothing
 *            is called twice and no value is changed. How many bytes the instruction took is
 *            decoded from it; of an instruction that the decoder does not know, and of an access
 *            that runs into the watched bytes from below, only the byte at the fault counts. Of an
 *            instruction that reads watched memory at two places only the first is seen.
 * Ownership  One watch at a time in the process. Other data on the same pages may be used
 *            meanwhile, except for a stack and this module's own data. The kernel may not be given
 *            a pointer to watched memory.
 * Limits     x86-64 Linux. Elsewhere access_watch_is_available() is false and begin does nothing.
 */
#ifndef DRYDOCK_COVERAGE_ACCESS_WATCH_H
#define DRYDOCK_COVERAGE_ACCESS_WATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define ACCESS_WATCH_MAX_BYTES 65536u

bool access_watch_is_available(void);

/* Whole pages, open; NULL: no memory. */
void *access_watch_alloc(size_t bytes);
void access_watch_free(void *memory, size_t bytes);

/* False, and nothing is watched, if a watch is on, too many bytes are asked for or it cannot be. */
bool access_watch_begin(void *memory, size_t bytes);

/* Opens the pages. Nothing if no watch is on. */
void access_watch_end(void);

/* Any of these bytes was read during the last watch. */
bool access_watch_was_read(size_t offset, size_t bytes);

/* Bytes that the instruction takes from or puts into memory; 1 if it is not known. */
size_t access_watch_instruction_bytes(const uint8_t *code);

#endif
