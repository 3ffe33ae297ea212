/*
 * Pool: memory by tag. Every block is on a list, and found by its address without looking at it,
 * so that a pointer that was never allocated, or freed before, is told from one that was.
 *
 * Blocks of a page and more, and all of a guarded or open pool, have pages of their own (pages.h).
 * Guarded, a block ends (or begins) at a page that nobody may touch, what its last page has room
 * for besides is filled with a pattern that must be there when it is freed, and it faults for
 * whoever uses it afterwards. Open, it is followed by memory, as mostly in a kernel's pool: who
 * reads too far, reads zeros, and goes on. The pages become pages of the machine when somebody asks
 * for their physical address.
 */
#include "nt/exports.h"
#include "nt/nt_internal.h"

#include "base/bits.h"
#include "base/hash.h"

#include <stdio.h>
#include <string.h>

#define FRESH_BYTE 0xcd /* of memory that was not asked to be zero */
#define FREED_BYTE 0xdd
#define SLACK_BYTE 0xf5 /* around a guarded block, on its pages */

/* What follows a block of an open pool. */
#define PAGES_BEHIND 16u

/* A guarded block costs the host two mappings, of which a process has 65,530. */
#define MOST_GUARDED 20000u

struct pool_header {
    struct list block;  /* in nt->blocks */
    struct list bucket; /* in nt->by_address */
    uint8_t *memory;
    uint8_t *pages; /* its own, NULL: it lies behind this header */
    uint64_t page_count;
    uint64_t *pfns; /* of the machine, NULL: nobody asked */
    struct page_mapping view;
    uint64_t bytes;
    uint64_t sequence;
    uint32_t tag;
    uint16_t pages_behind; /* that are open, too */
    bool is_paged;
    bool is_guarded;
};

_Static_assert(sizeof(struct pool_header) % 16 == 0, "what follows is aligned to 16 bytes");

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

/* ---- Pages of the machine ------------------------------------------------------------------- */

/* From here on its bytes are those of pages of the machine. */
static bool back(struct nt *nt, struct pool_header *header)
{
    struct page_store *ram;

    if (header->pfns)
        return true;
    if (!header->pages || !nt->machine)
        return false;
    header->pfns = base_alloc_array(nt->services, header->page_count, sizeof *header->pfns);
    if (!header->pfns)
        return false;
    if (!machine_alloc_pages(nt->machine, header->page_count, header->pfns))
        goto free_pfns;
    ram = machine_ram(nt->machine);
    for (uint64_t i = 0; i < header->page_count; i++)
        page_store_write(ram, header->pfns[i] * PAGE_SIZE, header->pages + i * PAGE_SIZE,
                         PAGE_SIZE);
    if (!page_store_map_at(ram, header->pfns, header->page_count, header->pages, &header->view))
        goto free_pages;
    return true;

free_pages: /* the view may have covered what was there: it is put back */
    if (nt_pages_open(header->pages, header->page_count)) {
        for (uint64_t i = 0; i < header->page_count; i++)
            page_store_read(ram, header->pfns[i] * PAGE_SIZE, header->pages + i * PAGE_SIZE,
                            PAGE_SIZE);
    }
    machine_free_pages(nt->machine, header->pfns, header->page_count);
free_pfns:
    base_free_array(nt->services, header->pfns, header->page_count, sizeof *header->pfns);
    header->pfns = NULL;
    return false;
}

bool nt_pool_pfn(struct nt *nt, const void *address, bool *out_is_pool, uint64_t *out_pfn)
{
    struct pool_header *header;

    *out_is_pool = false;
    list_for_each (header, &nt->blocks, struct pool_header, block) {
        uintptr_t offset = (uintptr_t)address - (uintptr_t)header->pages;

        if (!header->pages) {
            *out_is_pool |= (uintptr_t)address - (uintptr_t)header->memory < header->bytes;
            continue;
        }
        if ((uintptr_t)address < (uintptr_t)header->pages ||
            offset >= header->page_count * PAGE_SIZE)
            continue;
        *out_is_pool = true;
        if (!back(nt, header))
            return false;
        *out_pfn = header->pfns[offset / PAGE_SIZE];
        return true;
    }
    return false;
}

bool nt_pool_has(const struct nt *nt, const void *address)
{
    const struct pool_header *header;

    list_for_each (header, &nt->blocks, struct pool_header, block) {
        const uint8_t *first = header->pages ? header->pages : header->memory;
        uint64_t bytes = header->pages ? header->page_count * PAGE_SIZE : header->bytes;

        if ((uintptr_t)address >= (uintptr_t)first && (uintptr_t)address - (uintptr_t)first < bytes)
            return true;
    }
    return false;
}

/* ---- Give back ------------------------------------------------------------------------------ */

static struct nt_pool_block describe(const struct pool_header *header)
{
    return (struct nt_pool_block){header->memory, header->bytes, header->tag, header->sequence};
}

static void remember_freed(struct nt *nt, const struct pool_header *header)
{
    nt->freed[nt->freed_count++ % NT_POOL_REMEMBERED] = describe(header);
}

static const struct nt_pool_block *find_freed(const struct nt *nt, const void *address)
{
    for (uint64_t n = 0; n < NT_POOL_REMEMBERED && n < nt->freed_count; n++) {
        const struct nt_pool_block *block =
            &nt->freed[(nt->freed_count - 1 - n) % NT_POOL_REMEMBERED];

        if ((uintptr_t)address - (uintptr_t)block->memory < block->bytes)
            return block;
    }
    return NULL;
}

static void destroy(struct nt *nt, struct pool_header *header)
{
    uint64_t bytes = header->bytes;

    list_remove(&header->block);
    list_remove(&header->bucket);
    nt->live_blocks--;
    nt->live_bytes -= bytes;
    if (!header->pages) {
        memset(header, FREED_BYTE, sizeof *header + bytes);
        base_free(nt->services, header, sizeof *header + bytes);
        return;
    }
    nt->guarded_blocks--;
    if (header->pfns) {
        page_store_unmap(machine_ram(nt->machine), &header->view);
        machine_free_pages(nt->machine, header->pfns, header->page_count);
        base_free_array(nt->services, header->pfns, header->page_count, sizeof *header->pfns);
    } else {
        nt_pages_close(header->pages, header->page_count);
    }
    if (header->pages_behind)
        nt_pages_close(header->pages + header->page_count * PAGE_SIZE, header->pages_behind);
    remember_freed(nt, header);
    base_free(nt->services, header, sizeof *header);
}

void nt_pool_fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(&nt->blocks)))
        destroy(nt, container_of(node, struct pool_header, block));
}

/* ---- Take ----------------------------------------------------------------------------------- */

static struct pool_header *take_pages(struct nt *nt, uint64_t bytes)
{
    struct pool_header *header = base_alloc(nt->services, sizeof *header);

    if (!header)
        return NULL;
    header->page_count = div_round_up(bytes, PAGE_SIZE);
    header->is_guarded =
        nt->pool_guard == NT_POOL_GUARD_END || nt->pool_guard == NT_POOL_GUARD_BEGIN;
    header->pages_behind = nt->pool_guard == NT_POOL_OPEN ? PAGES_BEHIND : 0;
    header->pages = nt_pages_take(&nt->pages, header->page_count + header->pages_behind);
    if (!header->pages ||
        !nt_pages_open(header->pages, header->page_count + header->pages_behind)) {
        base_free(nt->services, header, sizeof *header);
        return NULL;
    }
    /* A block of a page or more begins at one, as the kernel promises. */
    header->memory = header->pages;
    if (nt->pool_guard == NT_POOL_GUARD_END && bytes < PAGE_SIZE)
        header->memory += PAGE_SIZE - align_up(bytes, 16);
    if (header->is_guarded) {
        uint64_t before = (uint64_t)(header->memory - header->pages);

        memset(header->pages, SLACK_BYTE, before);
        memset(header->memory + bytes, SLACK_BYTE, header->page_count * PAGE_SIZE - before - bytes);
    }
    nt->guarded_blocks++;
    return header;
}

static struct pool_header *take(struct nt *nt, uint64_t bytes)
{
    struct pool_header *header = NULL;

    if ((nt->pool_guard != NT_POOL_CHEAP || bytes >= PAGE_SIZE) &&
        nt->guarded_blocks < MOST_GUARDED)
        header = take_pages(nt, bytes);
    if (header)
        return header;
    header = base_alloc(nt->services, sizeof *header + bytes);
    if (header)
        header->memory = (uint8_t *)(header + 1);
    return header;
}

static void *allocate(struct nt *nt, uint64_t bytes, uint32_t tag, bool is_paged, bool is_zeroed)
{
    struct pool_header *header;

    nt->allocation_count++;
    if (nt->irql > (is_paged ? APC_LEVEL : DISPATCH_LEVEL))
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_ALLOCATE_IRQL, nt->irql, is_paged, bytes);
    if (!tag)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_TAG_ZERO, is_paged, bytes, nt_caller(nt));
    if (nt->allocation_count == nt->fail_at || !bytes ||
        bytes > NT_POOL_MOST_BYTES - nt->live_bytes)
        return NULL;
    header = take(nt, bytes);
    if (!header)
        return NULL;
    header->bytes = bytes;
    header->sequence = nt->allocation_count;
    header->tag = tag;
    header->is_paged = is_paged;
    list_push_back(&nt->blocks, &header->block);
    list_push_back(bucket_of(nt, header->memory), &header->bucket);
    nt->live_blocks++;
    nt->live_bytes += bytes;
    if (!is_zeroed)
        memset(header->memory, FRESH_BYTE, bytes);
    return header->memory;
}

static void *or_raise(void *memory, bool raises)
{
    if (!memory && raises)
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    return memory;
}

#define POOL_KINDS (POOL_FLAG_NON_PAGED | POOL_FLAG_NON_PAGED_EXECUTE | POOL_FLAG_PAGED)

/* One kind of pool, and no flag of the required half that nobody knows. */
static bool is_lawful(POOL_FLAGS flags)
{
    const POOL_FLAGS known = POOL_KINDS | POOL_FLAG_USE_QUOTA | POOL_FLAG_UNINITIALIZED |
                             POOL_FLAG_SESSION | POOL_FLAG_CACHE_ALIGNED |
                             POOL_FLAG_RAISE_ON_FAILURE | POOL_FLAG_SPECIAL_POOL;
    POOL_FLAGS kind = flags & POOL_KINDS;

    return kind && !(kind & (kind - 1)) && !((ULONG)flags & ~(ULONG)known);
}

PVOID NTAPI ExAllocatePool2(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag)
{
    bool raises = (Flags & POOL_FLAG_RAISE_ON_FAILURE) != 0;

    if (!is_lawful(Flags)) {
        if (raises)
            ExRaiseStatus(STATUS_INVALID_PARAMETER);
        return NULL;
    }
    return or_raise(allocate(nt_current(), NumberOfBytes, Tag, (Flags & POOL_FLAG_PAGED) != 0,
                             !(Flags & POOL_FLAG_UNINITIALIZED)),
                    raises);
}

PVOID NTAPI ExAllocatePool3(POOL_FLAGS Flags, SIZE_T NumberOfBytes, ULONG Tag,
                            PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                            ULONG ExtendedParametersCount)
{
    return ExAllocatePool2(Flags, NumberOfBytes, Tag);
}

PVOID NTAPI ExAllocatePoolWithTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    return or_raise(allocate(nt_current(), NumberOfBytes, Tag, (PoolType & PagedPool) != 0,
                             (PoolType & POOL_ZERO_ALLOCATION) != 0),
                    (PoolType & POOL_RAISE_IF_ALLOCATION_FAILURE) != 0);
}

PVOID NTAPI ExAllocatePool(POOL_TYPE PoolType, SIZE_T NumberOfBytes)
{
    return ExAllocatePoolWithTag(PoolType, NumberOfBytes, NT_POOL_NO_TAG);
}

PVOID NTAPI ExAllocatePoolWithTagPriority(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag,
                                          EX_POOL_PRIORITY Priority)
{
    return ExAllocatePoolWithTag(PoolType, NumberOfBytes, Tag);
}

/*
 * The system process has no quota; what is particular is that failure raises unless it is told not
 * to.
 */
PVOID NTAPI ExAllocatePoolWithQuotaTag(POOL_TYPE PoolType, SIZE_T NumberOfBytes, ULONG Tag)
{
    bool raises = !(PoolType & POOL_QUOTA_FAIL_INSTEAD_OF_RAISE);

    return or_raise(ExAllocatePoolWithTag((POOL_TYPE)(PoolType & ~POOL_QUOTA_FAIL_INSTEAD_OF_RAISE),
                                          NumberOfBytes, Tag),
                    raises);
}

/* ---- Free ----------------------------------------------------------------------------------- */

static struct pool_header *find(struct nt *nt, const void *memory)
{
    struct pool_header *header;

    list_for_each (header, bucket_of(nt, memory), struct pool_header, bucket) {
        if (header->memory == memory)
            return header;
    }
    return NULL;
}

bool nt_pool_find(struct nt *nt, const void *memory, struct nt_pool_block *out)
{
    const struct pool_header *header = find(nt, memory);

    if (header)
        *out = describe(header);
    return header != NULL;
}

bool nt_pool_is_paged(const struct nt *nt, const void *address)
{
    const struct pool_header *header;

    list_for_each (header, &nt->blocks, struct pool_header, block) {
        if ((uintptr_t)address - (uintptr_t)header->memory < header->bytes)
            return header->is_paged;
    }
    return false;
}

uint64_t nt_pool_count(const struct nt *nt, uint32_t tag, uint64_t bytes)
{
    const struct pool_header *header;
    uint64_t count = 0;

    list_for_each (header, &nt->blocks, struct pool_header, block)
        count += header->tag == tag && header->bytes == bytes;
    return count;
}

/* The first byte of a range that is not as it was filled; NULL: all are. */
static const uint8_t *find_change(const uint8_t *from, const uint8_t *end)
{
    while (from < end && *from == SLACK_BYTE)
        from++;
    return from < end ? from : NULL;
}

static void check_slack(const struct pool_header *header)
{
    const uint8_t *changed;

    if (!header->is_guarded)
        return;
    changed =
        find_change(header->memory + header->bytes, header->pages + header->page_count * PAGE_SIZE);
    if (changed)
        KeBugCheckEx(NT_SPECIAL_POOL_CORRUPTION, (ULONG_PTR)header->memory, (ULONG_PTR)changed, 0,
                     NT_SPECIAL_POOL_BEHIND);
    changed = find_change(header->pages, header->memory);
    if (changed)
        KeBugCheckEx(NT_SPECIAL_POOL_CORRUPTION, (ULONG_PTR)header->memory, (ULONG_PTR)changed, 0,
                     NT_SPECIAL_POOL_NEARBY);
}

/* Tag 0 frees any block. */
VOID NTAPI ExFreePoolWithTag(PVOID P, ULONG Tag)
{
    struct nt *nt = nt_current();
    struct pool_header *header = find(nt, P);

    if (!header) {
        const struct nt_pool_block *freed = find_freed(nt, P);

        if (freed && freed->memory == P)
            KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_TWICE, 0, freed->tag, (ULONG_PTR)P);
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_ADDRESS, (ULONG_PTR)P, 0, 0);
    }
    if (nt->irql > (header->is_paged ? APC_LEVEL : DISPATCH_LEVEL))
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_IRQL, nt->irql, header->is_paged,
                     (ULONG_PTR)P);
    if (Tag && Tag != header->tag)
        KeBugCheckEx(NT_BAD_POOL_CALLER, NT_POOL_FREE_TAG, (ULONG_PTR)P, header->tag, Tag);
    check_slack(header);
    nt_memory_freed(nt, P, header->bytes);
    if (header->tag == NT_POOL_MDL_TAG)
        nt_list_freed(nt, P);
    destroy(nt, header);
}

VOID NTAPI ExFreePool(PVOID P)
{
    ExFreePoolWithTag(P, 0);
}

VOID NTAPI ExFreePool2(PVOID P, ULONG Tag, PCPOOL_EXTENDED_PARAMETER ExtendedParameters,
                       ULONG ExtendedParametersCount)
{
    ExFreePoolWithTag(P, Tag);
}

/* ---- Who asks about an address -------------------------------------------------------------- */

void nt_put_tag(uint32_t tag, char text[5])
{
    for (int i = 0; i < 4; i++) {
        char c = (char)(tag >> (8 * i));

        text[i] = (char)(c >= 0x20 && c < 0x7f ? c : '?');
    }
    text[4] = '\0';
}

bool nt_pool_explain(const struct nt *nt, const void *address, char *text, size_t size)
{
    const struct nt_pool_block *freed = find_freed(nt, address);
    const struct pool_header *header;
    char tag[5];

    if (freed) {
        nt_put_tag(freed->tag, tag);
        snprintf(text, size,
                 "%llu bytes into pool block %llu (%llu bytes, tag '%s'), which was freed",
                 (unsigned long long)((const uint8_t *)address - (const uint8_t *)freed->memory),
                 (unsigned long long)freed->sequence, (unsigned long long)freed->bytes, tag);
        return true;
    }
    list_for_each (header, &nt->blocks, struct pool_header, block) {
        uintptr_t first = (uintptr_t)header->pages, at = (uintptr_t)address;
        bool is_behind = at >= (uintptr_t)header->memory + header->bytes;

        /* The pages around belong to it as well. */
        if (!header->pages || at < first - PAGE_SIZE ||
            at >= first + (header->page_count + 1) * PAGE_SIZE)
            continue;
        if (!is_behind && at >= (uintptr_t)header->memory)
            return false;
        nt_put_tag(header->tag, tag);
        snprintf(text, size, "%llu bytes %s pool block %llu (%llu bytes, tag '%s')",
                 (unsigned long long)(is_behind ? at - (uintptr_t)header->memory - header->bytes
                                                : (uintptr_t)header->memory - at),
                 is_behind ? "behind" : "before", (unsigned long long)header->sequence,
                 (unsigned long long)header->bytes, tag);
        return true;
    }
    return false;
}

void nt_pool_set_guard(struct nt *nt, enum nt_pool_guard guard)
{
    nt->pool_guard = guard;
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
        const struct nt_pool_block block = describe(header);

        callback(context, &block);
    }
}

const struct nt_export nt_pool_exports[] = {
    NT_SERVICE(ExAllocatePool),
    NT_SERVICE(ExAllocatePool2),
    NT_SERVICE(ExAllocatePool3),
    NT_SERVICE(ExAllocatePoolWithTag),
    NT_SERVICE(ExAllocatePoolWithTagPriority),
    NT_SERVICE(ExAllocatePoolWithQuotaTag),
    NT_SERVICE(ExFreePoolWithTag),
    NT_SERVICE(ExFreePool),
    NT_SERVICE(ExFreePool2),
    {0},
};
