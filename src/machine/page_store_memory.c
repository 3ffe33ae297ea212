/*
 * The host memory of a store: reserved as a whole, and given back as a whole.
 */
#define _GNU_SOURCE
#include "machine/page_store_private.h"

#include <sys/mman.h>
#include <unistd.h>

static void *reserve(uint64_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE,
                        MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

/* Many pages of it are written, one behind the other: large pages of the host cost less. */
static void *reserve_dense(uint64_t bytes)
{
    void *memory = reserve(bytes);

#ifdef MADV_HUGEPAGE
    if (memory)
        madvise(memory, bytes, MADV_HUGEPAGE);
#endif
    return memory;
}

static void release(void *memory, uint64_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

static uint64_t slot_pages(const struct page_store *store)
{
    return store->capacity + GROUP_PAGES; /* slot 0 is nobody's */
}

static uint64_t stain_bytes(const struct page_store *store)
{
    return slot_pages(store) / 8;
}

bool page_store_take_new_memory(struct page_store *store)
{
    const uint64_t pages = slot_pages(store);
    const uint64_t groups = group_count(store);

    store->arena_file = memfd_create("page-store", MFD_CLOEXEC);
    if (store->arena_file < 0 || ftruncate(store->arena_file, (off_t)(pages * PAGE_BYTES)))
        return false;
    store->groups = reserve(groups * sizeof *store->groups);
    store->touched = reserve(groups * sizeof *store->touched);
    store->slots = reserve((groups + 1) * sizeof *store->slots);
    store->free_slots = reserve(groups * sizeof *store->free_slots);
    store->descriptors = reserve_dense(pages * sizeof *store->descriptors);
    store->stains = reserve(stain_bytes(store));
    store->pins = reserve(pages * sizeof *store->pins);
    store->arena = mmap(NULL, pages * PAGE_BYTES, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_NORESERVE, store->arena_file, 0);
    if (store->arena == MAP_FAILED)
        store->arena = NULL;
    return store->groups && store->touched && store->slots && store->free_slots &&
           store->descriptors && store->stains && store->pins && store->arena;
}

void page_store_release_memory(struct page_store *store)
{
    const uint64_t pages = slot_pages(store);
    const uint64_t groups = group_count(store);

    release(store->arena, pages * PAGE_BYTES);
    release(store->pins, pages * sizeof *store->pins);
    release(store->stains, stain_bytes(store));
    release(store->descriptors, pages * sizeof *store->descriptors);
    release(store->free_slots, groups * sizeof *store->free_slots);
    release(store->slots, (groups + 1) * sizeof *store->slots);
    release(store->touched, groups * sizeof *store->touched);
    release(store->groups, groups * sizeof *store->groups);
    if (store->arena_file >= 0)
        close(store->arena_file);
}
