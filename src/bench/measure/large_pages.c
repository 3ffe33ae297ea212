#define _GNU_SOURCE
#include "bench/measure/large_pages.h"

#include "base/bits.h"

#include <string.h>
#include <sys/mman.h>

#define REGION_BYTES (256 * MiB)
#define ALIGNMENT    64

static void *take_region(void)
{
    void *region = mmap(NULL, REGION_BYTES, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    if (region == MAP_FAILED)
        return NULL;
    madvise(region, REGION_BYTES, MADV_HUGEPAGE); /* a wish: small pages work as well */
    return region;
}

static void *allocate(void *context, size_t size)
{
    struct large_pages *pages = context;
    uint8_t *memory;

    size = (size_t)align_up(size, ALIGNMENT);
    if (size > REGION_BYTES)
        return NULL;
    if (!pages->region_count || pages->used + size > REGION_BYTES) {
        uint8_t *region = pages->region_count < LARGE_PAGES_REGIONS ? take_region() : NULL;

        if (!region)
            return NULL;
        pages->regions[pages->region_count++] = region;
        pages->used = 0;
    }
    memory = pages->regions[pages->region_count - 1] + pages->used;
    pages->used += size;
    return memory;
}

static void give_back(void *context, void *memory, size_t size)
{
    /* With the whole. */
    (void)context;
    (void)memory;
    (void)size;
}

void large_pages_init(struct large_pages *pages)
{
    memset(pages, 0, sizeof *pages);
    pages->services.context = pages;
    pages->services.allocate = allocate;
    pages->services.free = give_back;
}

void large_pages_fini(struct large_pages *pages)
{
    for (unsigned i = 0; i < pages->region_count; i++)
        munmap(pages->regions[i], REGION_BYTES);
    memset(pages, 0, sizeof *pages);
}
