/*
 * Memory as POSIX has it (../memory.c): reserved, committed, protected, shared.
 *
 * Limits     A shared mapping begins where the host likes: pages of a file are not shown in the
 *            middle of other memory (ENOTSUP; posix_memory_lacked() tells). A part of a mapping
 *            is not unmapped.
 */
#ifndef DRYDOCK_POSIX_SYS_MMAN_H
#define DRYDOCK_POSIX_SYS_MMAN_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

#define PROT_NONE  0
#define PROT_READ  1
#define PROT_WRITE 2
#define PROT_EXEC  4

#define MAP_SHARED    0x01
#define MAP_PRIVATE   0x02
#define MAP_FIXED     0x10
#define MAP_ANONYMOUS 0x20
#define MAP_NORESERVE 0x4000 /* committed when touched; see memory.c */
#define MAP_FAILED    ((void *)-1)

#define MADV_DONTNEED       4  /* of private memory: reads as zero again */
#define MADV_HUGEPAGE       14 /* a wish: nothing happens */
#define MADV_POPULATE_WRITE 23 /* likewise */

#define MFD_CLOEXEC       1u
#define MFD_ALLOW_SEALING 2u /* fails: nothing is sealed here */

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset);
int munmap(void *address, size_t bytes);
int mprotect(void *address, size_t bytes, int protection);
int madvise(void *address, size_t bytes, int advice);

/* Whether pages of a file were to be shown in the middle of other memory since the last call. */
bool posix_memory_lacked(void);

/* A file without a name, which goes when it is closed. */
int memfd_create(const char *name, unsigned flags);

#endif
