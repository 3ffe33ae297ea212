#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "nt/memory/pages.h"

#include "base/bits.h"

#include <stddef.h>
#include <sys/mman.h>

/* A driver would take and give small blocks 30 million times before they are used up. */
#define RESERVED_BYTES (256 * GiB)
#define PAGE           4096u

void nt_pages_fini(struct nt_pages *pages)
{
    if (pages->base)
        munmap(pages->base, RESERVED_BYTES);
    *pages = (struct nt_pages){0};
}

uint8_t *nt_pages_take(struct nt_pages *pages, uint64_t count)
{
    uint8_t *address;

    if (!pages->base) {
        void *base = mmap(NULL, RESERVED_BYTES, PROT_NONE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

        if (base == MAP_FAILED)
            return NULL;
        pages->base = base;
        pages->used = PAGE;
    }
    if (!count || count >= (RESERVED_BYTES - pages->used) / PAGE)
        return NULL;
    address = pages->base + pages->used;
    pages->used += (count + 1) * PAGE;
    return address;
}

bool nt_pages_open(uint8_t *address, uint64_t count)
{
    return mprotect(address, count * PAGE, PROT_READ | PROT_WRITE) == 0;
}

void nt_pages_close(uint8_t *address, uint64_t count)
{
    mmap(address, count * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED | MAP_NORESERVE,
         -1, 0);
}

bool nt_pages_contain(const struct nt_pages *pages, const void *address)
{
    uintptr_t offset = (uintptr_t)address - (uintptr_t)pages->base;

    return pages->base && (uintptr_t)address >= (uintptr_t)pages->base && offset < pages->used;
}
