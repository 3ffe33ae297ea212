/*
 * Memory as POSIX has it, over VirtualAlloc() and file mappings.
 *
 * Private memory without access is reserved, and committed by mprotect(). MAP_NORESERVE memory that
 * can be written from the beginning, mostly far larger than what is used, is committed by the first
 * access: the handler of faults.c asks posix_memory_touch(). A call of the system that is given an
 * address in it fails until then.
 */
#include "windows/own.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/uio.h>

#include <io.h>
#include <windows.h>

#define MOST_LAZY    256u
#define TOUCHED_SIZE ((size_t)256 << 10) /* committed at once; a power of two */

static struct {
    char *start;
    size_t bytes;
} lazy[MOST_LAZY]; /* start NULL: free */

static bool has_lacked;

bool posix_memory_lacked(void)
{
    const bool has = has_lacked;

    has_lacked = false;
    return has;
}

static void *refuse(int why)
{
    errno = why;
    return MAP_FAILED;
}

static DWORD protection_of(int protection)
{
    if (protection & PROT_EXEC)
        return protection & PROT_WRITE ? PAGE_EXECUTE_READWRITE : PAGE_EXECUTE_READ;
    return protection & PROT_WRITE  ? PAGE_READWRITE
           : protection & PROT_READ ? PAGE_READONLY
                                    : PAGE_NOACCESS;
}

static size_t find_lazy(const char *address)
{
    size_t i = 0;

    while (i < MOST_LAZY &&
           !(lazy[i].start && (uintptr_t)address - (uintptr_t)lazy[i].start < lazy[i].bytes))
        i++;
    return i;
}

bool posix_memory_touch(const void *address)
{
    const size_t i = find_lazy(address);
    MEMORY_BASIC_INFORMATION piece;
    char *start, *end;

    if (i == MOST_LAZY || !VirtualQuery(address, &piece, sizeof piece) ||
        piece.State != MEM_RESERVE)
        return false;
    start = (char *)((uintptr_t)address & ~(TOUCHED_SIZE - 1));
    end = start + TOUCHED_SIZE;
    if (start < (char *)piece.BaseAddress)
        start = piece.BaseAddress;
    if (end > (char *)piece.BaseAddress + piece.RegionSize)
        end = (char *)piece.BaseAddress + piece.RegionSize;
    return VirtualAlloc(start, (size_t)(end - start), MEM_COMMIT, PAGE_READWRITE) != NULL;
}

/* ---- Private memory -------------------------------------------------------------------------- */

static void *map_lazy(size_t bytes)
{
    size_t i = 0;

    while (i < MOST_LAZY && lazy[i].start)
        i++;
    if (i == MOST_LAZY)
        return refuse(ENOMEM);
    lazy[i].start = VirtualAlloc(NULL, bytes, MEM_RESERVE, PAGE_NOACCESS);
    lazy[i].bytes = bytes;
    return lazy[i].start ? lazy[i].start : refuse(ENOMEM);
}

/* Where memory is, it reads as zero and has no access any more. */
static void *map_over(char *address, size_t bytes)
{
    MEMORY_BASIC_INFORMATION piece;

    if (VirtualQuery(address, &piece, sizeof piece) && piece.State == MEM_FREE)
        return VirtualAlloc(address, bytes, MEM_RESERVE, PAGE_NOACCESS) ? address : refuse(ENOMEM);
    return VirtualFree(address, bytes, MEM_DECOMMIT) ? address : refuse(ENOTSUP);
}

static void *map_private(char *address, size_t bytes, int protection, int flags)
{
    void *memory;

    if (flags & MAP_FIXED)
        return protection == PROT_NONE ? map_over(address, bytes) : refuse(ENOTSUP);
    if (protection & PROT_WRITE && flags & MAP_NORESERVE)
        return map_lazy(bytes);
    memory = VirtualAlloc(NULL, bytes, MEM_RESERVE | (protection ? MEM_COMMIT : 0),
                          protection_of(protection));
    return memory ? memory : refuse(ENOMEM);
}

/* ---- Files ----------------------------------------------------------------------------------- */

static void *map_file(size_t bytes, int protection, int flags, int file, off_t offset)
{
    const bool is_shared = flags & MAP_SHARED, writes = protection & PROT_WRITE;
    const uint64_t at = (uint64_t)offset;
    HANDLE section = CreateFileMappingW((HANDLE)_get_osfhandle(file), NULL,
                                        is_shared ? PAGE_READWRITE : PAGE_WRITECOPY, 0, 0, NULL);
    void *view;

    if (!section)
        return refuse(ENOMEM);
    view = MapViewOfFile(section,
                         !writes     ? FILE_MAP_READ
                         : is_shared ? FILE_MAP_READ | FILE_MAP_WRITE
                                     : FILE_MAP_COPY,
                         (DWORD)(at >> 32), (DWORD)at, bytes);
    CloseHandle(section); /* the view keeps it */
    return view ? view : refuse(ENOMEM);
}

/* ---- POSIX ----------------------------------------------------------------------------------- */

void *mmap(void *address, size_t bytes, int protection, int flags, int file, off_t offset)
{
    if (flags & MAP_ANONYMOUS)
        return map_private(address, bytes, protection, flags);
    if (!(flags & MAP_FIXED))
        return map_file(bytes, protection, flags, file, offset);
    has_lacked = true;
    return refuse(ENOTSUP);
}

int munmap(void *address, size_t bytes)
{
    const size_t i = find_lazy(address);

    if (i < MOST_LAZY)
        lazy[i].start = NULL;
    if (VirtualFree(address, 0, MEM_RELEASE) || UnmapViewOfFile(address))
        return 0;
    errno = EINVAL;
    return -1;
}

/* Calls for each piece of the range that is of one kind. */
static bool for_each_piece(char *address, size_t bytes,
                           bool (*call)(const MEMORY_BASIC_INFORMATION *piece, char *start,
                                        size_t bytes))
{
    char *const end = address + bytes;
    MEMORY_BASIC_INFORMATION piece;
    size_t length;

    for (; address < end; address += length) {
        if (!VirtualQuery(address, &piece, sizeof piece))
            return false;
        length = piece.RegionSize - (size_t)(address - (char *)piece.BaseAddress);
        if (length > (size_t)(end - address))
            length = (size_t)(end - address);
        if (!call(&piece, address, length))
            return false;
    }
    return true;
}

/* What is not committed has no access already, but for memory that an access would commit. */
static bool take_access(const MEMORY_BASIC_INFORMATION *piece, char *start, size_t bytes)
{
    DWORD before;

    if (piece->State == MEM_RESERVE && find_lazy(start) == MOST_LAZY)
        return true;
    if (piece->State == MEM_RESERVE)
        return VirtualAlloc(start, bytes, MEM_COMMIT, PAGE_NOACCESS) != NULL;
    return VirtualProtect(start, bytes, PAGE_NOACCESS, &before);
}

static bool make_zero(const MEMORY_BASIC_INFORMATION *piece, char *start, size_t bytes)
{
    return piece->State == MEM_RESERVE || (VirtualFree(start, bytes, MEM_DECOMMIT) &&
                                           VirtualAlloc(start, bytes, MEM_COMMIT, piece->Protect));
}

int mprotect(void *address, size_t bytes, int protection)
{
    const DWORD wanted = protection_of(protection);
    DWORD before;

    if (protection == PROT_NONE ? for_each_piece(address, bytes, take_access)
                                : VirtualProtect(address, bytes, wanted, &before) ||
                                      (VirtualAlloc(address, bytes, MEM_COMMIT, wanted) &&
                                       VirtualProtect(address, bytes, wanted, &before)))
        return 0;
    errno = ENOMEM;
    return -1;
}

int madvise(void *address, size_t bytes, int advice)
{
    if (advice != MADV_DONTNEED || for_each_piece(address, bytes, make_zero))
        return 0;
    errno = EINVAL;
    return -1;
}

ssize_t process_vm_readv(pid_t process, const struct iovec *to, unsigned long to_count,
                         const struct iovec *from, unsigned long from_count, unsigned long flags)
{
    const size_t bytes = to->iov_len < from->iov_len ? to->iov_len : from->iov_len;
    SIZE_T got;

    if (to_count == 1 && from_count == 1 &&
        ReadProcessMemory(GetCurrentProcess(), from->iov_base, to->iov_base, bytes, &got))
        return (ssize_t)got;
    errno = EFAULT;
    return -1;
}
