#include "bench/run_memory.h"

#include "base/assert.h"

#include <stdlib.h>

struct block {
    struct list link;
    size_t size;
    size_t reserved; /* keeps what follows aligned for any type */
};
_Static_assert(sizeof(struct block) % 16 == 0, "memory behind the header is aligned");

static void *allocate(void *context, size_t size)
{
    struct run_memory *memory = context;
    struct block *block;

    if (memory->fail_at && --memory->fail_at == 0) {
        memory->has_failed = true;
        return NULL;
    }
    block = size <= SIZE_MAX - sizeof *block ? malloc(sizeof *block + size) : NULL;
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
    free(block);
}

void run_memory_init(struct run_memory *memory)
{
    *memory = (struct run_memory){
        .services = {.context = memory, .allocate = allocate, .free = release},
    };
    list_init(&memory->blocks);
}

void run_memory_free_all(struct run_memory *memory)
{
    while (!list_is_empty(&memory->blocks)) {
        struct block *block = list_first_entry(&memory->blocks, struct block, link);

        list_remove(&block->link);
        free(block);
    }
    memory->live_blocks = 0;
    memory->live_bytes = 0;
}
