/*
 * Pool: memory by tag. Every block is on a list, and found by its address without looking at it,
 * so that a pointer that was never allocated, or freed before, is told from one that was.
 */
#include "nt/exports.h"
#include "nt/nt_internal.h"

#include "base/hash.h"

#include <string.h>

#define FRESH_BYTE 0xcd /* of memory that was not asked to be zero */
#define FREED_BYTE 0xdd

struct pool_header {
    struct list block;  /* in nt->blocks */
    struct list bucket; /* in nt->by_address */
    uint64_t bytes;
    uint64_t sequence;
    uint32_t tag;
    uint32_t is_paged;
    uint64_t reserved; /* what follows is a multiple of 16, as the kernel promises */
};

_Static_assert(sizeof(struct pool_header) % 16 == 0, "blocks are aligned to 16 bytes");

static void *memory_of(struct pool_header *header)
{
    return header + 1;
}

static struct list *bucket_of(struct nt *nt, const void *memory)
{
    return &nt->by_address[hash_u64((uintptr_t)memory) % NT_POOL_BUCKETS];
}

void nt_pool_init(struct nt *nt)
{
    uint32_t i;

    list_init(&nt->blocks);
    for (i = 0; i < NT_POOL_BUCKETS; i++)
        list_init(&nt->by_address[i]);
}

static void destroy(struct nt *nt, struct pool_header *header)
{
    uint64_t bytes = header->bytes;

    list_remove(&header->block);
    list_remove(&header->bucket);
    nt->live_blocks--;
    nt->live_bytes -= bytes;
    memset(header, FREED_BYTE, sizeof *header + bytes);
    base_free(nt->services, header, sizeof *header + bytes);
}

void nt_pool_fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(&nt->blocks)))
        destroy(nt, container_of(node, struct pool_header, block));
}

static void *allocate(struct nt *nt, uint64_t bytes, uint32_t tag, bool is_paged, bool is_zeroed)
{
    struct pool_header *header;

    nt->allocation_count++;
    if (nt->irql > (is_paged ? APC_LEVEL : DISPATCH_LEVEL))
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_ALLOCATE_IRQL, nt->irql, is_paged, bytes);
    if (!tag)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_TAG_ZERO, is_paged, bytes, 0);
    if (nt->allocation_count == nt->fail_at || !bytes || bytes > SIZE_MAX - sizeof *header)
        return NULL;
    header = base_alloc(nt->services, sizeof *header + bytes);
    if (!header)
        return NULL;
    header->bytes = bytes;
    header->sequence = nt->allocation_count;
    header->tag = tag;
    header->is_paged = is_paged;
    list_push_back(&nt->blocks, &header->block);
    list_push_back(bucket_of(nt, memory_of(header)), &header->bucket);
    nt->live_blocks++;
    nt->live_bytes += bytes;
    if (!is_zeroed)
        memset(memory_of(header), FRESH_BYTE, bytes);
    return memory_of(header);
}

PVOID NTAPI ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag)
{
    return allocate(nt_current(), NumberOfBytes, Tag, (Flags & POOL_FLAG_PAGED) != 0,
                    !(Flags & POOL_FLAG_UNINITIALIZED));
}

PVOID NTAPI ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return allocate(nt_current(), NumberOfBytes, Tag, (PoolType & PagedPool) != 0, false);
}

static struct pool_header *find(struct nt *nt, const void *memory)
{
    struct pool_header *header;

    list_for_each (header, bucket_of(nt, memory), struct pool_header, bucket) {
        if (memory_of(header) == memory)
            return header;
    }
    return NULL;
}

/* Tag 0 frees any block. */
VOID NTAPI ExFreePoolWithTag(PVOID P, ULONG Tag)
{
    struct nt *nt = nt_current();
    struct pool_header *header = find(nt, P);

    if (!header)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_ADDRESS, (ULONG_PTR)P, 0, 0);
    if (nt->irql > (header->is_paged ? APC_LEVEL : DISPATCH_LEVEL))
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_IRQL, nt->irql, header->is_paged,
                     (ULONG_PTR)P);
    if (Tag && Tag != header->tag)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_TAG, (ULONG_PTR)P, header->tag, Tag);
    destroy(nt, header);
}

VOID NTAPI ExFreePool(PVOID P)
{
    ExFreePoolWithTag(P, 0);
}

/* ---- For the host ------------------------------------------------------------------------- */

uint64_t nt_pool_live_blocks(const struct nt *nt)
{
    return nt->live_blocks;
}

uint64_t nt_pool_live_bytes(const struct nt *nt)
{
    return nt->live_bytes;
}

uint64_t nt_pool_allocation_count(const struct nt *nt)
{
    return nt->allocation_count;
}

void nt_pool_fail_at(struct nt *nt, uint64_t n)
{
    nt->fail_at = n ? nt->allocation_count + n : 0;
}

void nt_pool_for_each(const struct nt *nt,
                      void (*callback)(void *context, const struct nt_pool_block *block),
                      void *context)
{
    struct pool_header *header;

    list_for_each (header, &nt->blocks, struct pool_header, block) {
        const struct nt_pool_block block = {memory_of(header), header->bytes, header->tag,
                                            header->sequence};

        callback(context, &block);
    }
}

const struct nt_export nt_pool_exports[] = {
    NT_SERVICE(ExAllocatePool2),
    NT_SERVICE(ExAllocatePoolWithTag),
    NT_SERVICE(ExFreePoolWithTag),
    NT_SERVICE(ExFreePool),
    {0},
};
