/*
 * Direct: functions that an image calls so often that they do not pass the boundary: memcpy and its
 * like.
 *
 * Place      nt. Exported by runtime.c; known to exceptions.
 * Model      They run on the image's stack, are leaf functions, and touch memory only. So an
 *            address that a driver should not have passed faults in them as if they were a part of
 *            the image. Their use of registers is fixed: rsi is in r10, rdi in r11, and nothing is
 *            pushed.
 */
#ifndef DRYDOCK_NT_DIRECT_H
#define DRYDOCK_NT_DIRECT_H

#include <ntdef.h>

#include <stdbool.h>
#include <stdint.h>

/*
 * Whether the address is in __chkstk, where it touches the stack: it has a convention of its own,
 * and has pushed two registers there.
 */
bool direct_is_probe(uint64_t address);
#define DIRECT_PROBE_PUSHED 16

#if defined(__x86_64__) && defined(__linux__)
void *NTAPI direct_copy(void *destination, const void *source, SIZE_T bytes);
void *NTAPI direct_move(void *destination, const void *source, SIZE_T bytes);
void *NTAPI direct_set(void *destination, int fill, SIZE_T bytes);
int NTAPI direct_compare(const void *first, const void *second, SIZE_T bytes);

/*
 * Writes back one byte of every page. Services may call it: its faults are those of the service's
 * caller.
 */
void NTAPI direct_touch(volatile void *memory, SIZE_T bytes);

/* Where the others lie. */
extern const char direct_begin[], direct_end[];
#endif

#endif
