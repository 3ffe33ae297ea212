#define _GNU_SOURCE
#include "bench/run/run_memory.h"

#include "base/assert.h"
#include "base/bits.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/*
 * From this size on a block is mapped: its pages are zero without being written, and those that
 * nobody touches cost nothing. Aperture slots and the oracle's account of them are 8 MiB each, for
 * every run of a campaign, which uses some of them.
 */
#define MAPPED_BYTES MiB

/*
 * Up to this size blocks come from the pool of the process, which is one list of free blocks for
 * each multiple of CLASS_BYTES. Blocks that a run gave back are the next run's.
 */
#define POOLED_BYTES (4 * KiB)
#define CLASS_BYTES  16u
#define CHUNK_BYTES  (256 * KiB) /* what the pool asks of the host at a time */

/* Tools that look for misuse of memory have to see each block come and go. */
#if defined(__SANITIZE_ADDRESS__)
#define HAS_POOL 0
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(memory_sanitizer)
#define HAS_POOL 0
#endif
#endif
#ifndef HAS_POOL
#define HAS_POOL 1
#endif

struct block {
    struct list link;
    size_t size;
    size_t reserved; /* keeps what follows aligned for any type */
};
_Static_assert(sizeof(struct block) % 16 == 0, "memory behind the header is aligned");

static struct {
    struct block *free[POOLED_BYTES / CLASS_BYTES + 1]; /* linked by link.next */
    char *chunk;                                        /* what is left of the last chunk */
    size_t chunk_bytes;
} pool;

static bool is_pooled(size_t bytes)
{
    return HAS_POOL && bytes <= POOLED_BYTES;
}

static void *take_pooled(size_t bytes)
{
    const size_t class = div_round_up(bytes, CLASS_BYTES);
    struct block *block = pool.free[class];

    if (block) {
        pool.free[class] = (struct block *)(void *)block->link.next;
        return block;
    }
    if (pool.chunk_bytes < class * CLASS_BYTES) {
        char *chunk = malloc(CHUNK_BYTES);

        if (!chunk)
            return NULL;
        pool.chunk = chunk;
        pool.chunk_bytes = CHUNK_BYTES;
    }
    block = (void *)pool.chunk;
    pool.chunk += class * CLASS_BYTES;
    pool.chunk_bytes -= class * CLASS_BYTES;
    return block;
}

static void give_pooled(struct block *block, size_t bytes)
{
    const size_t class = div_round_up(bytes, CLASS_BYTES);

    block->link.next = (struct list *)(void *)pool.free[class];
    pool.free[class] = block;
}

/* Zeroed: with calloc(), which does not write what the host gives as zeroes. */
static void *take_block(size_t bytes, bool is_zeroed)
{
    void *block;

    if (is_pooled(bytes)) {
        block = take_pooled(bytes);
        if (block && is_zeroed)
            memset(block, 0, bytes);
        return block;
    }
    if (bytes < MAPPED_BYTES)
        return is_zeroed ? calloc(1, bytes) : malloc(bytes);
    block = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE,
                 -1, 0);
    return block == MAP_FAILED ? NULL : block;
}

static void free_block(struct block *block)
{
    size_t bytes = sizeof *block + block->size;

    if (is_pooled(bytes))
        give_pooled(block, bytes);
    else if (bytes < MAPPED_BYTES)
        free(block);
    else
        munmap(block, bytes);
}

static void *take(struct run_memory *memory, size_t size, bool is_zeroed)
{
    struct block *block;

    if (memory->fail_at && --memory->fail_at == 0) {
        memory->has_failed = true;
        return NULL;
    }
    block = size <= SIZE_MAX - sizeof *block ? take_block(sizeof *block + size, is_zeroed) : NULL;
    if (!block)
        return NULL;
    block->size = size;
    list_push_back(&memory->blocks, &block->link);
    memory->live_blocks++;
    memory->live_bytes += size;
    if (memory->live_bytes > memory->peak_bytes)
        memory->peak_bytes = memory->live_bytes;
    return block + 1;
}

static void *allocate(void *context, size_t size)
{
    return take(context, size, false);
}

static void *allocate_zeroed(void *context, size_t size)
{
    return take(context, size, true);
}

static void release(void *context, void *pointer, size_t size)
{
    struct run_memory *memory = context;
    struct block *block;

    if (!pointer)
        return;
    block = (struct block *)pointer - 1;
    ASSERT(block->size == size);
    list_remove(&block->link);
    memory->live_blocks--;
    memory->live_bytes -= block->size;
    free_block(block);
}

void run_memory_init(struct run_memory *memory)
{
    *memory = (struct run_memory){
        .services = {.context = memory,
                     .allocate = allocate,
                     .free = release,
                     .allocate_zeroed = allocate_zeroed},
    };
    list_init(&memory->blocks);
}

void run_memory_free_all(struct run_memory *memory)
{
    while (!list_is_empty(&memory->blocks)) {
        struct block *block = list_first_entry(&memory->blocks, struct block, link);

        list_remove(&block->link);
        free_block(block);
    }
    memory->live_blocks = 0;
    memory->live_bytes = 0;
}
