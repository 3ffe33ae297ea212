#include "base/node_pool.h"

#include "base/assert.h"
#include "base/bits.h"

#define CHUNK_BYTES_MAX  (64 * KiB)
#define CHUNK_BYTES_MIN  (2 * KiB)
#define CHUNK_GROWTH_DIV 8

struct chunk {
    struct chunk *next;
    size_t bytes;
};

void node_pool_init(struct node_pool *pool, const struct base_services *services, size_t node_size,
                    size_t alignment)
{
    ASSERT(is_power_of_two(alignment) && alignment >= sizeof(void *));
    ASSERT(node_size && node_size % alignment == 0);

    *pool = (struct node_pool){
        .services = services,
        .node_size = node_size,
        .alignment = alignment,
    };
}

void node_pool_fini(struct node_pool *pool)
{
    struct chunk *chunk = pool->chunks;

    while (chunk) {
        struct chunk *next = chunk->next;

        base_free(pool->services, chunk, chunk->bytes);
        chunk = next;
    }
    pool->chunks = NULL;
    pool->spare = NULL;
    pool->node_count = pool->spare_count = pool->bytes = 0;
}

void node_pool_put(struct node_pool *pool, void *node)
{
    *(void **)node = pool->spare;
    pool->spare = node;
    pool->spare_count++;
}

static bool grow(struct node_pool *pool, size_t missing)
{
    size_t most = (size_t)(CHUNK_BYTES_MAX / pool->node_size);
    size_t fewest = (size_t)(CHUNK_BYTES_MIN / pool->node_size);
    size_t count = pool->node_count / CHUNK_GROWTH_DIV;
    size_t overhead = sizeof(struct chunk) + pool->alignment - 1;
    struct chunk *chunk;
    uintptr_t first;

    if (count > most)
        count = most;
    if (count < fewest)
        count = fewest;
    if (count < missing)
        count = missing;
    if (count > (SIZE_MAX - overhead) / pool->node_size)
        return false;

    /* Not base_alloc(): nodes need no zeroes, and clearing chunks would show in the tail. */
    chunk = pool->services->allocate(pool->services->context, overhead + count * pool->node_size);
    if (!chunk)
        return false;
    chunk->bytes = overhead + count * pool->node_size;
    chunk->next = pool->chunks;
    pool->chunks = chunk;
    pool->bytes += chunk->bytes;
    pool->node_count += count;

    /* Last first, so that nodes are handed out in address order. */
    first = (uintptr_t)align_up((uintptr_t)(chunk + 1), pool->alignment);
    for (size_t i = count; i > 0; i--)
        node_pool_put(pool, (void *)(first + (i - 1) * pool->node_size));
    return true;
}

bool node_pool_reserve(struct node_pool *pool, size_t count)
{
    return pool->spare_count >= count || grow(pool, count - pool->spare_count);
}

void *node_pool_get(struct node_pool *pool)
{
    void *node;

    if (!node_pool_reserve(pool, 1))
        return NULL;
    node = pool->spare;
    pool->spare = *(void **)node;
    pool->spare_count--;
    return node;
}
