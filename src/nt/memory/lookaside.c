/*
 * Lookaside lists: entries of one size.
 *
 * How many entries a list keeps is the system's to decide: here none. So every entry is a block of
 * the pool while the driver has it and is freed when it is given back: a use afterwards, a second
 * free or a write too far is found as for any block of the pool.
 *
 * Drivers built for Windows before 11 22H2 have the functions inlined: they pop the list's SLIST,
 * find nothing, call the function whose address lies in the list, and free by another one as the
 * SLIST is as long as its depth, which is 0. For them lists have the kernel's layout, and the same
 * counters.
 */
#include "nt/machine/boundary.h"
#include "nt/memory/pool.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <wdm/lookaside.h>

#include <stdio.h>

/* As debuggers show _GENERAL_LOOKASIDE; the older lists have 32 bytes more behind it. */
struct lookaside {
    SLIST_HEADER head;
    USHORT depth, maximum_depth;
    ULONG total_allocates, allocate_misses, total_frees, free_misses;
    ULONG type, tag, size;
    const void *allocate, *release;
    ULONG_PTR unused[4];
};

_Static_assert(sizeof(struct lookaside) == sizeof(LOOKASIDE_LIST_EX) &&
                   offsetof(struct lookaside, depth) == 0x10 &&
                   offsetof(struct lookaside, total_frees) == 0x1c &&
                   offsetof(struct lookaside, tag) == 0x28 &&
                   offsetof(struct lookaside, allocate) == 0x30,
               "as inlined functions expect it");

enum kind { NPAGED, PAGED, EX };

static const char *const names[] = {"NPagedLookasideList", "PagedLookasideList", "LookasideListEx"};

/* The bench's record of a list that the driver has. */
struct nt_lookaside {
    struct list link;
    struct lookaside *list;
    enum kind kind;
    bool is_paged;
    void *allocate, *release; /* the driver's own, as the bench calls them; NULL: the pool's */
    ULONG calls;              /* allocations that were not inlined */
};

/* The state of the area: of struct nt_lookaside. */
static struct list *lookasides(const struct nt *nt)
{
    return NT_STATE(nt, lookaside);
}

static struct nt_lookaside *find(struct nt *nt, const void *list)
{
    struct nt_lookaside *record;

    list_for_each (record, lookasides(nt), struct nt_lookaside, link) {
        if (record->list == list)
            return record;
    }
    return NULL;
}

static KIRQL highest_of(bool is_paged)
{
    return is_paged ? APC_LEVEL : DISPATCH_LEVEL;
}

/* The list that a service is called for, told if there is none. */
static struct nt_lookaside *use(struct nt *nt, const char *service, const void *list,
                                enum kind kind)
{
    struct nt_lookaside *record = find(nt, list);

    if (!record || record->kind != kind) {
        nt_misuse(nt, "%s: ExInitialize%s has not initialised the list, or it has been deleted",
                  service, names[kind]);
        return NULL;
    }
    nt_require_irql(nt, service, highest_of(record->is_paged));
    return record;
}

/* Entries that the driver has and that the pool still knows. */
static uint64_t count_entries(struct nt *nt, const struct nt_lookaside *record)
{
    const struct lookaside *list = record->list;
    ULONG counted = list->total_allocates - list->total_frees;

    if (record->allocate)
        return record->calls == list->total_allocates ? counted
                                                      : 0; /* inlined ones may have failed */
    return min_u64(counted, nt_pool_count(nt, list->tag, list->size));
}

static void forget(struct nt *nt, struct nt_lookaside *record)
{
    list_remove(&record->link);
    base_free(nt->services, record, sizeof *record);
}

static void fini(struct nt *nt)
{
    struct nt_lookaside *record, *following;

    list_for_each_safe (record, following, lookasides(nt), struct nt_lookaside, link)
        forget(nt, record);
}

static void describe(const struct nt_lookaside *record, char *text, size_t size)
{
    char tag[5];

    nt_put_tag(record->list->tag, tag);
    snprintf(text, size, "a lookaside list (entries of %u bytes, tag '%s')", record->list->size,
             tag);
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    struct nt_lookaside *record;
    char what[80], text[120];

    list_for_each (record, lookasides(nt), struct nt_lookaside, link) {
        describe(record, what, sizeof what);
        snprintf(text, sizeof text, "%s has not been deleted", what);
        tell(context, text);
    }
}

static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct nt_lookaside *record, *following;
    char what[80];

    list_for_each_safe (record, following, lookasides(nt), struct nt_lookaside, link) {
        if ((uintptr_t)record->list - (uintptr_t)memory >= bytes)
            continue;
        describe(record, what, sizeof what);
        nt_misuse(nt, "memory is freed with %s in it that has not been deleted", what);
        forget(nt, record);
    }
}

/* ---- Initialisation -------------------------------------------------------------------------- */

static PVOID NTAPI allocate_ex(POOL_TYPE type, SIZE_T bytes, ULONG tag, PLOOKASIDE_LIST_EX list)
{
    return ExAllocatePoolWithTag(type, bytes, tag);
}

static VOID NTAPI free_ex(PVOID entry, PLOOKASIDE_LIST_EX list)
{
    ExFreePool(entry);
}

/* The function that inlined code calls: the driver's own function, or a service. */
static const void *function_of(struct nt *nt, const void *driver_function, const void *service)
{
    if (driver_function)
        return driver_function;
    return nt->boundary ? boundary_service(nt->boundary, service) : service;
}

struct parameters {
    const void *allocate, *release;
    ULONG type; /* POOL_TYPE and its flags */
    SIZE_T bytes;
    ULONG tag;
    USHORT depth;
};

static void check_parameters(struct nt *nt, const char *service, const void *memory,
                             const struct parameters *with)
{
    if ((uintptr_t)memory % 16)
        nt_misuse(nt, "%s: the list is not aligned to 16 bytes", service);
    if (nt_pool_is_paged(nt, memory))
        nt_misuse(nt, "%s: the list itself is in paged pool", service);
    if (with->bytes < LOOKASIDE_MINIMUM_BLOCK_SIZE || with->bytes > MAXULONG)
        nt_misuse(nt, "%s: entries of %llu bytes", service, (unsigned long long)with->bytes);
    if (!with->tag)
        nt_misuse(nt, "%s: a pool tag of 0", service);
    if (with->depth)
        nt_misuse(nt, "%s: Depth is reserved and is %u", service, with->depth);
}

static void initialize(struct nt *nt, void *memory, enum kind kind, const struct parameters *with)
{
    struct lookaside *list = memory;
    struct nt_lookaside *record = find(nt, memory);
    char service[40];

    snprintf(service, sizeof service, "ExInitialize%s", names[kind]);
    nt_require_irql(nt, service, highest_of(kind == PAGED));
    check_parameters(nt, service, memory, with);
    if (record) {
        nt_misuse(nt, "%s: the list is initialised a second time; it was not deleted", service);
        forget(nt, record);
    }
    *list = (struct lookaside){
        .type = with->type,
        .tag = with->tag,
        .size = (ULONG)max_u64(with->bytes, LOOKASIDE_MINIMUM_BLOCK_SIZE),
        .allocate = function_of(nt, with->allocate,
                                kind == EX ? (const void *)allocate_ex
                                           : (const void *)ExAllocatePoolWithTag),
        .release = function_of(nt, with->release,
                               kind == EX ? (const void *)free_ex : (const void *)ExFreePool),
    };
    record = base_alloc(nt->services, sizeof *record);
    if (!record)
        return; /* every use is told then; the host is out of memory */
    record->list = list;
    record->kind = kind;
    record->is_paged = (with->type & PagedPool) != 0;
    if (with->allocate)
        record->allocate = nt_driver_function(nt, with->allocate);
    if (with->release)
        record->release = nt_driver_function(nt, with->release);
    list_push_back(lookasides(nt), &record->link);
}

static void initialize_old(void *list, enum kind kind, ULONG flags, struct parameters with)
{
    struct nt *nt = nt_current();

    if (flags & ~(ULONG)(POOL_RAISE_IF_ALLOCATION_FAILURE | POOL_NX_ALLOCATION))
        nt_misuse(nt, "ExInitialize%s: flags 0x%x, of which only 0x%x are known", names[kind],
                  flags, POOL_RAISE_IF_ALLOCATION_FAILURE | POOL_NX_ALLOCATION);
    with.type = (kind == PAGED ? PagedPool : NonPagedPool) | flags;
    initialize(nt, list, kind, &with);
}

VOID NTAPI ExInitializeNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside,
                                           PALLOCATE_FUNCTION Allocate, PFREE_FUNCTION Free,
                                           ULONG Flags, SIZE_T Size, ULONG Tag, USHORT Depth)
{
    initialize_old(
        Lookaside, NPAGED, Flags,
        (struct parameters){(const void *)Allocate, (const void *)Free, 0, Size, Tag, Depth});
}

VOID NTAPI ExInitializePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside,
                                          PALLOCATE_FUNCTION Allocate, PFREE_FUNCTION Free,
                                          ULONG Flags, SIZE_T Size, ULONG Tag, USHORT Depth)
{
    initialize_old(
        Lookaside, PAGED, Flags,
        (struct parameters){(const void *)Allocate, (const void *)Free, 0, Size, Tag, Depth});
}

static bool is_pool_type(POOL_TYPE type)
{
    switch ((ULONG)type) {
    case NonPagedPool:
    case PagedPool:
    case NonPagedPoolCacheAligned:
    case PagedPoolCacheAligned:
    case NonPagedPoolNx:
    case NonPagedPoolNxCacheAligned:
        return true;
    default:
        return false;
    }
}

NTSTATUS NTAPI ExInitializeLookasideListEx(PLOOKASIDE_LIST_EX Lookaside,
                                           PALLOCATE_FUNCTION_EX Allocate, PFREE_FUNCTION_EX Free,
                                           POOL_TYPE PoolType, ULONG Flags, SIZE_T Size, ULONG Tag,
                                           USHORT Depth)
{
    struct nt *nt = nt_current();
    struct parameters with = {
        (const void *)Allocate, (const void *)Free, PoolType, Size, Tag, Depth};

    if (!is_pool_type(PoolType))
        return STATUS_INVALID_PARAMETER_4;
    if (Flags == EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL)
        with.type |= POOL_RAISE_IF_ALLOCATION_FAILURE;
    else if (Flags == EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE)
        with.type |= POOL_QUOTA_FAIL_INSTEAD_OF_RAISE;
    else if (Flags)
        return STATUS_INVALID_PARAMETER_5;
    if (Flags == EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE && !Allocate)
        nt_misuse(nt, "ExInitializeLookasideListEx: EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE is "
                      "for lists with an allocation routine");
    initialize(nt, Lookaside, EX, &with);
    return STATUS_SUCCESS;
}

/* ---- Entries --------------------------------------------------------------------------------- */

static PVOID allocate_entry(const char *service, void *memory, enum kind kind)
{
    struct nt *nt = nt_current();
    struct nt_lookaside *record = use(nt, service, memory, kind);
    struct lookaside *list = memory;
    PVOID entry;

    if (!record)
        return NULL;
    if (!record->allocate)
        entry = ExAllocatePoolWithTag((POOL_TYPE)(list->type & ~POOL_QUOTA_FAIL_INSTEAD_OF_RAISE),
                                      list->size, list->tag);
    else if (kind == EX)
        entry = ((PALLOCATE_FUNCTION_EX)record->allocate)((POOL_TYPE)list->type, list->size,
                                                          list->tag, memory);
    else
        entry =
            ((PALLOCATE_FUNCTION)record->allocate)((POOL_TYPE)list->type, list->size, list->tag);
    if (!entry)
        return NULL;
    record->calls++;
    list->total_allocates++;
    list->allocate_misses++;
    return entry;
}

static void free_entry(const char *service, void *memory, enum kind kind, PVOID entry)
{
    struct nt *nt = nt_current();
    struct nt_lookaside *record = use(nt, service, memory, kind);
    struct lookaside *list = memory;
    struct nt_pool_block block;

    if (!record)
        return;
    if (!record->allocate && nt_pool_find(nt, entry, &block) &&
        (block.tag != list->tag || block.bytes != list->size))
        nt_misuse(nt, "%s: block %llu of the pool (%llu bytes) is no entry of this list (%u bytes)",
                  service, (unsigned long long)block.sequence, (unsigned long long)block.bytes,
                  list->size);
    list->total_frees++;
    list->free_misses++;
    if (!record->release)
        ExFreePool(entry);
    else if (kind == EX)
        ((PFREE_FUNCTION_EX)record->release)(entry, memory);
    else
        ((PFREE_FUNCTION)record->release)(entry);
}

static void delete_list(const char *service, void *memory, enum kind kind)
{
    struct nt *nt = nt_current();
    struct nt_lookaside *record = use(nt, service, memory, kind);
    uint64_t left;
    char what[80];

    if (!record)
        return;
    left = count_entries(nt, record);
    describe(record, what, sizeof what);
    if (left)
        nt_misuse(nt, "%s: %llu entries of %s have not been freed to it", service,
                  (unsigned long long)left, what);
    forget(nt, record);
}

PVOID NTAPI ExAllocateFromNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
    return allocate_entry("ExAllocateFromNPagedLookasideList", Lookaside, NPAGED);
}

VOID NTAPI ExFreeToNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
    free_entry("ExFreeToNPagedLookasideList", Lookaside, NPAGED, Entry);
}

VOID NTAPI ExDeleteNPagedLookasideList(PNPAGED_LOOKASIDE_LIST Lookaside)
{
    delete_list("ExDeleteNPagedLookasideList", Lookaside, NPAGED);
}

PVOID NTAPI ExAllocateFromPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
    return allocate_entry("ExAllocateFromPagedLookasideList", Lookaside, PAGED);
}

VOID NTAPI ExFreeToPagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside, PVOID Entry)
{
    free_entry("ExFreeToPagedLookasideList", Lookaside, PAGED, Entry);
}

VOID NTAPI ExDeletePagedLookasideList(PPAGED_LOOKASIDE_LIST Lookaside)
{
    delete_list("ExDeletePagedLookasideList", Lookaside, PAGED);
}

PVOID NTAPI ExAllocateFromLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
    return allocate_entry("ExAllocateFromLookasideListEx", Lookaside, EX);
}

VOID NTAPI ExFreeToLookasideListEx(PLOOKASIDE_LIST_EX Lookaside, PVOID Entry)
{
    free_entry("ExFreeToLookasideListEx", Lookaside, EX, Entry);
}

VOID NTAPI ExDeleteLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
    delete_list("ExDeleteLookasideListEx", Lookaside, EX);
}

/* Nothing is kept, so there is nothing to flush. */
VOID NTAPI ExFlushLookasideListEx(PLOOKASIDE_LIST_EX Lookaside)
{
    use(nt_current(), "ExFlushLookasideListEx", Lookaside, EX);
}

static void init(struct nt *nt)
{
    list_init(lookasides(nt));
}

static const struct nt_export services[] = {
    NT_SERVICE(ExInitializeNPagedLookasideList), NT_SERVICE(ExAllocateFromNPagedLookasideList),
    NT_SERVICE(ExFreeToNPagedLookasideList),     NT_SERVICE(ExDeleteNPagedLookasideList),
    NT_SERVICE(ExInitializePagedLookasideList),  NT_SERVICE(ExAllocateFromPagedLookasideList),
    NT_SERVICE(ExFreeToPagedLookasideList),      NT_SERVICE(ExDeletePagedLookasideList),
    NT_SERVICE(ExInitializeLookasideListEx),     NT_SERVICE(ExAllocateFromLookasideListEx),
    NT_SERVICE(ExFreeToLookasideListEx),         NT_SERVICE(ExDeleteLookasideListEx),
    NT_SERVICE(ExFlushLookasideListEx),          {0},
};

const struct nt_area nt_lookaside_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .left = left,
    .freed = freed,
};
