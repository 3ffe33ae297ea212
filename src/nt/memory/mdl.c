/*
 * Memory descriptor lists, in the bytes that drivers look at: a head, then page frame numbers of
 * the machine.
 *
 * An MDL is a block of the nonpaged pool with the tag "Mdl ", so one that is never freed is a leak
 * like any other. Pages that were taken or locked by an MDL are remembered beside it: the driver
 * may have written over its bytes.
 */
#include "nt/machine/bug_check.h"
#include "nt/memory/device_memory.h"
#include "nt/memory/mapping.h"
#include "nt/memory/pool.h"
#include "nt/memory/take.h"
#include "nt/nt_private.h"

#include "base/bits.h"

#include <string.h>

/* The kernel keeps MDLs of so many pages ready; the flag says that it is one of those. */
#define FIXED_PAGES 23u

struct nt_held_pages {
    struct list link; /* in held_pages() */
    const MDL *mdl;
    uint64_t *pfns; /* NULL: they are only locked */
    uint64_t count;
};

/* The state of the area: of struct nt_held_pages. */
static struct list *held_pages(const struct nt *nt)
{
    return NT_STATE(nt, mdl);
}

static uint64_t page_count(const MDL *mdl)
{
    return ADDRESS_AND_SIZE_TO_SPAN_PAGES(MmGetMdlVirtualAddress(mdl), mdl->ByteCount);
}

static struct nt_held_pages *find_held(struct nt *nt, const MDL *mdl)
{
    struct nt_held_pages *held;

    list_for_each (held, held_pages(nt), struct nt_held_pages, link) {
        if (held->mdl == mdl)
            return held;
    }
    return NULL;
}

static struct nt_held_pages *hold(struct nt *nt, const MDL *mdl, uint64_t count)
{
    struct nt_held_pages *held = base_alloc(nt->services, sizeof *held);

    if (!held)
        return NULL;
    held->mdl = mdl;
    held->count = count;
    list_push_back(held_pages(nt), &held->link);
    return held;
}

static void let_go(struct nt *nt, struct nt_held_pages *held)
{
    list_remove(&held->link);
    if (held->pfns)
        nt_free_taken(nt, held->pfns, held->count);
    base_free(nt->services, held, sizeof *held);
}

static void fini(struct nt *nt)
{
    struct list *node;

    while ((node = list_first(held_pages(nt))))
        let_go(nt, container_of(node, struct nt_held_pages, link));
}

/*
 * Windows does not look: the pages stay locked for ever, and when the process ends that they are
 * of, that is bug check 0x76.
 */
static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct nt_held_pages *held;
    struct nt_mapping *mapping;
    struct nt_pool_block block;

    if (!nt_pool_find(nt, memory, &block) || block.tag != NT_POOL_MDL_TAG)
        return;
    held = find_held(nt, memory);
    if (held) {
        nt_misuse(nt, "an MDL is freed while %llu pages are %s; %s comes first",
                  (unsigned long long)held->count, held->pfns ? "its own" : "locked by it",
                  held->pfns ? "MmFreePagesFromMdl" : "MmUnlockPages");
        held->mdl = NULL; /* they are left */
    }
    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if (mapping->kind != NT_MAPPING_MDL || mapping->owner != memory)
            continue;
        if (!held)
            nt_misuse(nt, "an MDL is freed while it is mapped; MmUnmapLockedPages comes first");
        mapping->owner = NULL;
        return;
    }
}

/* ---- Made and freed -------------------------------------------------------------------------- */

static PMDL create(uint64_t start, uint64_t bytes)
{
    uint64_t pages = ADDRESS_AND_SIZE_TO_SPAN_PAGES(start, bytes);
    uint64_t size = sizeof(MDL) + pages * sizeof(PFN_NUMBER);
    PMDL mdl;

    mdl = ExAllocatePoolWithTag(NonPagedPoolNx, size, NT_POOL_MDL_TAG);
    if (!mdl)
        return NULL;
    memset(mdl, 0, size);
    mdl->Size = (CSHORT)size; /* wraps for lists of more than 4,089 pages, as it does on Windows */
    mdl->StartVa = (PVOID)(uintptr_t)(start & ~(uint64_t)(PAGE_SIZE - 1));
    mdl->ByteOffset = (ULONG)(start % PAGE_SIZE);
    mdl->ByteCount = (ULONG)bytes;
    if (pages <= FIXED_PAGES)
        mdl->MdlFlags = MDL_ALLOCATED_FIXED_SIZE;
    return mdl;
}

/* The chain of a request is the request's: there is none here that the list could be put in. */
PMDL NTAPI IoAllocateMdl(PVOID Address, ULONG Length, BOOLEAN IsSecondary, BOOLEAN ChargesQuota,
                         PIRP Irp)
{
    nt_require_irql(nt_current(), "IoAllocateMdl", DISPATCH_LEVEL);
    if (Length > UINT32_MAX - 2 * PAGE_SIZE)
        return NULL;
    if (Irp)
        nt_report_missing(nt_current(), "IoAllocateMdl for a request (Irp is not NULL)");
    return create((uintptr_t)Address, Length);
}

/* A partial list's own mapping ends with it. */
VOID NTAPI IoFreeMdl(PMDL Mdl)
{
    nt_require_irql(nt_current(), "IoFreeMdl", DISPATCH_LEVEL);
    if (Mdl->MdlFlags & MDL_PARTIAL_HAS_BEEN_MAPPED)
        nt_unmap_list(nt_current(), Mdl);
    ExFreePoolWithTag(Mdl, NT_POOL_MDL_TAG);
}

VOID NTAPI IoBuildPartialMdl(PMDL Source, PMDL Target, PVOID Address, ULONG Length)
{
    uint64_t start = (uintptr_t)Address, base = (uintptr_t)MmGetMdlVirtualAddress(Source);
    uint64_t pages, first;

    nt_require_irql(nt_current(), "IoBuildPartialMdl", DISPATCH_LEVEL);
    if (!Length)
        Length = (ULONG)(Source->ByteCount - (start - base));
    Target->Process = Source->Process;
    Target->StartVa = (PVOID)(uintptr_t)(start & ~(uint64_t)(PAGE_SIZE - 1));
    Target->ByteOffset = (ULONG)(start % PAGE_SIZE);
    Target->ByteCount = Length;
    pages = page_count(Target);
    if (sizeof(MDL) + pages * sizeof(PFN_NUMBER) > (USHORT)Target->Size)
        KeBugCheckEx(NT_TARGET_MDL_TOO_SMALL, 0, 0, 0, 0);
    first = ((uintptr_t)Target->StartVa - (uintptr_t)Source->StartVa) / PAGE_SIZE;
    Target->MdlFlags &= MDL_ALLOCATED_FIXED_SIZE | MDL_ALLOCATED_MUST_SUCCEED;
    Target->MdlFlags |= MDL_PARTIAL;
    Target->MdlFlags |=
        Source->MdlFlags & (MDL_SOURCE_IS_NONPAGED_POOL | MDL_IO_SPACE | MDL_IO_PAGE_READ |
                            MDL_WRITE_OPERATION | MDL_PAGES_LOCKED);
    Target->MappedSystemVa = NULL;
    if (Source->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL)) {
        if (Source->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA)
            Target->MdlFlags |= MDL_PARENT_MAPPED_SYSTEM_VA | MDL_MAPPED_TO_SYSTEM_VA;
        Target->MappedSystemVa = (uint8_t *)Source->MappedSystemVa + (start - base);
    }
    memcpy(MmGetMdlPfnArray(Target), MmGetMdlPfnArray(Source) + first, pages * sizeof(PFN_NUMBER));
}

/* ---- Pages that are mapped already ----------------------------------------------------------- */

/* False: one of them has none that is known. */
static bool fill_pfns(struct nt *nt, PMDL mdl)
{
    uint8_t *address = mdl->StartVa;

    for (uint64_t i = 0; i < page_count(mdl); i++) {
        if (!nt_address_pfn(nt, address + i * PAGE_SIZE, &MmGetMdlPfnArray(mdl)[i]) &&
            /* The block may begin in the middle of its first page. */
            !nt_address_pfn(nt, address + i * PAGE_SIZE + (i ? 0 : mdl->ByteOffset),
                            &MmGetMdlPfnArray(mdl)[i]))
            return false;
    }
    return true;
}

VOID NTAPI MmBuildMdlForNonPagedPool(PMDL Mdl)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt_current(), "MmBuildMdlForNonPagedPool", DISPATCH_LEVEL);
    if (!fill_pfns(nt, Mdl)) {
        nt_report_missing(nt, "MmBuildMdlForNonPagedPool of memory that is no page of the "
                              "machine's (a stack, the image, a small block of a cheap pool)");
        memset(MmGetMdlPfnArray(Mdl), 0, page_count(Mdl) * sizeof(PFN_NUMBER));
    }
    Mdl->Process = NULL;
    Mdl->MappedSystemVa = MmGetMdlVirtualAddress(Mdl);
    Mdl->MdlFlags |= MDL_SOURCE_IS_NONPAGED_POOL;
}

VOID NTAPI MmProbeAndLockPages(PMDL Mdl, KPROCESSOR_MODE Mode, LOCK_OPERATION Operation)
{
    struct nt *nt = nt_current();

    if (nt->irql > DISPATCH_LEVEL)
        KeBugCheckEx(NT_IRQL_NOT_LESS_OR_EQUAL, (ULONG_PTR)Mdl, nt->irql, 0, 0);
    if (find_held(nt, Mdl)) {
        nt_misuse(nt, "MmProbeAndLockPages: the pages of this MDL are locked already");
        return;
    }
    if (!fill_pfns(nt, Mdl))
        ExRaiseStatus(STATUS_ACCESS_VIOLATION);
    if (!hold(nt, Mdl, page_count(Mdl)))
        ExRaiseStatus(STATUS_INSUFFICIENT_RESOURCES);
    Mdl->Process = NULL;
    Mdl->MdlFlags |= MDL_PAGES_LOCKED;
    if (Operation != IoReadAccess)
        Mdl->MdlFlags |= MDL_WRITE_OPERATION;
}

static void unmap(struct nt *nt, PVOID Address, PMDL Mdl)
{
    struct nt_mapping *mapping = nt_mapping_at(nt, Address);

    if (!(Mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA))
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_NOT_MAPPED, (ULONG_PTR)Mdl, (ULONG_PTR)Address,
                     page_count(Mdl));
    if (!mapping || mapping->owner != Mdl)
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_WRONG_MAPPING, 0, (ULONG_PTR)Mdl->MappedSystemVa,
                     (ULONG_PTR)Address);
    if (mapping->page_count != page_count(Mdl))
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_WRONG_COUNT, 0, mapping->page_count,
                     page_count(Mdl));
    if (mapping->pfns[0] != MmGetMdlPfnArray(Mdl)[0])
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_WRONG_PAGE, 0, mapping->pfns[0],
                     MmGetMdlPfnArray(Mdl)[0]);
    nt_unmap(nt, mapping);
    Mdl->MdlFlags &= (CSHORT) ~(MDL_MAPPED_TO_SYSTEM_VA | MDL_PARTIAL_HAS_BEEN_MAPPED |
                                MDL_PARENT_MAPPED_SYSTEM_VA);
    Mdl->MappedSystemVa = NULL;
}

VOID NTAPI MmUnlockPages(PMDL Mdl)
{
    struct nt *nt = nt_current();
    struct nt_held_pages *held = find_held(nt, Mdl);

    nt_require_irql(nt_current(), "MmUnlockPages", DISPATCH_LEVEL);
    if (!held || held->pfns || !(Mdl->MdlFlags & MDL_PAGES_LOCKED))
        KeBugCheckEx(NT_PFN_LIST_CORRUPT, NT_PFN_NOT_LOCKED, MmGetMdlPfnArray(Mdl)[0], 0, 0);
    if (Mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA)
        unmap(nt, Mdl->MappedSystemVa, Mdl);
    Mdl->MdlFlags &= (CSHORT) ~(MDL_PAGES_LOCKED | MDL_WRITE_OPERATION);
    let_go(nt, held);
}

/* ---- Pages of the machine -------------------------------------------------------------------- */

/* The list of these pages, which are then its own, with their array. */
static PMDL list_pages(struct nt *nt, uint64_t *pfns, uint64_t count)
{
    PMDL mdl = create(0, count * PAGE_SIZE);
    struct nt_held_pages *held;

    if (!mdl)
        return NULL;
    held = hold(nt, mdl, count);
    if (!held) {
        IoFreeMdl(mdl);
        return NULL;
    }
    held->pfns = pfns;
    memcpy(MmGetMdlPfnArray(mdl), pfns, count * sizeof *pfns);
    mdl->MdlFlags |= MDL_PAGES_LOCKED;
    return mdl;
}

static PMDL allocate_pages(PHYSICAL_ADDRESS lowest, PHYSICAL_ADDRESS highest, PHYSICAL_ADDRESS skip,
                           uint64_t bytes, ULONG flags)
{
    const struct nt_page_range range = {(uint64_t)lowest.QuadPart, (uint64_t)highest.QuadPart,
                                        (uint64_t)skip.QuadPart};
    struct nt *nt = nt_current();
    uint64_t count, *pfns = nt_take_pages(nt, &range, bytes, flags, &count);
    PMDL mdl = pfns ? list_pages(nt, pfns, count) : NULL;

    if (pfns && !mdl)
        nt_free_taken(nt, pfns, count);
    return mdl;
}

PMDL NTAPI MmAllocatePagesForMdlEx(PHYSICAL_ADDRESS Low, PHYSICAL_ADDRESS High,
                                   PHYSICAL_ADDRESS Skip, SIZE_T Bytes,
                                   MEMORY_CACHING_TYPE CacheType, ULONG Flags)
{
    nt_require_irql(nt_current(), "MmAllocatePagesForMdlEx", DISPATCH_LEVEL);
    return allocate_pages(Low, High, Skip, Bytes, Flags);
}

PMDL NTAPI MmAllocatePagesForMdl(PHYSICAL_ADDRESS Low, PHYSICAL_ADDRESS High, PHYSICAL_ADDRESS Skip,
                                 SIZE_T Bytes)
{
    nt_require_irql(nt_current(), "MmAllocatePagesForMdl", DISPATCH_LEVEL);
    return allocate_pages(Low, High, Skip, Bytes, 0);
}

PMDL NTAPI MmAllocateNodePagesForMdlEx(PHYSICAL_ADDRESS Low, PHYSICAL_ADDRESS High,
                                       PHYSICAL_ADDRESS Skip, SIZE_T Bytes,
                                       MEMORY_CACHING_TYPE CacheType, ULONG Node, ULONG Flags)
{
    nt_require_irql(nt_current(), "MmAllocateNodePagesForMdlEx", DISPATCH_LEVEL);
    return allocate_pages(Low, High, Skip, Bytes, Flags);
}

/*
 * The MDL stays, for ExFreePool(). A mapping that the driver forgot would show pages of somebody
 * else.
 */
VOID NTAPI MmFreePagesFromMdl(PMDL Mdl)
{
    struct nt *nt = nt_current();
    struct nt_held_pages *held = find_held(nt, Mdl);

    nt_require_irql(nt_current(), "MmFreePagesFromMdl", DISPATCH_LEVEL);
    if (!held || !held->pfns)
        KeBugCheckEx(NT_PFN_LIST_CORRUPT, NT_PFN_NOT_LOCKED, MmGetMdlPfnArray(Mdl)[0], 0, 0);
    for (uint64_t i = 0; i < held->count; i++) {
        if (MmGetMdlPfnArray(Mdl)[i] != held->pfns[i])
            KeBugCheckEx(NT_PFN_LIST_CORRUPT, NT_PFN_LIST_IS_WRONG, MmGetMdlPfnArray(Mdl)[i], 0, 0);
    }
    if (Mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA)
        unmap(nt, Mdl->MappedSystemVa, Mdl);
    Mdl->MdlFlags &= (CSHORT)~MDL_PAGES_LOCKED;
    let_go(nt, held);
}

/* ---- Mapped ---------------------------------------------------------------------------------- */

PVOID NTAPI MmMapLockedPagesSpecifyCache(PMDL Mdl, KPROCESSOR_MODE Mode,
                                         MEMORY_CACHING_TYPE CacheType, PVOID Requested,
                                         ULONG BugChecks, ULONG Priority)
{
    struct nt *nt = nt_current();
    struct nt_mapping *mapping;

    nt_require_irql(nt_current(), "MmMapLockedPagesSpecifyCache", DISPATCH_LEVEL);
    if (Mode != KernelMode) {
        nt_report_missing(nt, "MmMapLockedPagesSpecifyCache for user mode");
        return NULL;
    }
    if (!(Mdl->MdlFlags & (MDL_PAGES_LOCKED | MDL_PARTIAL)) ||
        Mdl->MdlFlags & (MDL_MAPPED_TO_SYSTEM_VA | MDL_SOURCE_IS_NONPAGED_POOL))
        KeBugCheckEx(NT_SYSTEM_PTE_MISUSE, NT_PTE_NOT_MAPPED, (ULONG_PTR)Mdl,
                     (ULONG_PTR)Mdl->MappedSystemVa, page_count(Mdl));
    mapping = nt_map(nt, NT_MAPPING_MDL, MmGetMdlPfnArray(Mdl), page_count(Mdl), Mdl->ByteOffset,
                     Mdl->ByteCount, Mdl);
    if (!mapping)
        return NULL;
    Mdl->MdlFlags |= MDL_MAPPED_TO_SYSTEM_VA;
    if (Mdl->MdlFlags & MDL_PARTIAL)
        Mdl->MdlFlags |= MDL_PARTIAL_HAS_BEEN_MAPPED;
    Mdl->MappedSystemVa = mapping->address + Mdl->ByteOffset;
    return Mdl->MappedSystemVa;
}

PVOID NTAPI MmMapLockedPages(PMDL Mdl, KPROCESSOR_MODE Mode)
{
    return MmMapLockedPagesSpecifyCache(Mdl, Mode, MmCached, NULL, TRUE, NormalPagePriority);
}

VOID NTAPI MmUnmapLockedPages(PVOID Address, PMDL Mdl)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "MmUnmapLockedPages", DISPATCH_LEVEL);
    unmap(nt, Address, Mdl);
}

/* Pages are written as they are: nothing caches them but the processor, which is coherent. */
NTSTATUS NTAPI MmProtectMdlSystemAddress(PMDL Mdl, ULONG Protect)
{
    nt_require_irql(nt_current(), "MmProtectMdlSystemAddress", DISPATCH_LEVEL);
    return Mdl->MdlFlags & MDL_MAPPED_TO_SYSTEM_VA ? STATUS_SUCCESS : STATUS_INVALID_ADDRESS;
}

SIZE_T NTAPI MmSizeOfMdl(PVOID Base, SIZE_T Length)
{
    return sizeof(MDL) + ADDRESS_AND_SIZE_TO_SPAN_PAGES(Base, Length) * sizeof(PFN_NUMBER);
}

uint64_t nt_mapping_count(const struct nt *nt, uint64_t *out_bytes)
{
    const struct nt_mapping *mapping;
    uint64_t count = 0;

    *out_bytes = 0;
    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if (mapping->kind == NT_MAPPING_DEVICE)
            continue;
        count++;
        *out_bytes += mapping->bytes;
    }
    return count;
}

uint64_t nt_held_list_count(const struct nt *nt, uint64_t *out_bytes)
{
    const struct nt_held_pages *held;
    uint64_t count = 0;

    *out_bytes = 0;
    list_for_each (held, held_pages(nt), struct nt_held_pages, link) {
        count++;
        *out_bytes += held->count * PAGE_SIZE;
    }
    return count;
}

uint64_t nt_system_bytes(const struct nt *nt)
{
    uint64_t device, bytes = nt_pool_live_bytes(nt);
    const struct nt_mapping *mapping;
    const struct nt_held_pages *held;

    list_for_each (mapping, &nt->mappings, struct nt_mapping, link) {
        if (mapping->kind == NT_MAPPING_CONTIGUOUS)
            bytes += mapping->page_count * PAGE_SIZE;
    }
    list_for_each (held, held_pages(nt), struct nt_held_pages, link) {
        if (held->pfns) /* else they are only locked */
            bytes += held->count * PAGE_SIZE;
    }
    nt_device_memory_count(nt, &device);
    return bytes + device;
}

static void init(struct nt *nt)
{
    list_init(held_pages(nt));
}

static const struct nt_export services[] = {
    NT_SERVICE(IoAllocateMdl),
    NT_SERVICE(IoFreeMdl),
    NT_SERVICE(IoBuildPartialMdl),
    NT_SERVICE(MmBuildMdlForNonPagedPool),
    NT_SERVICE(MmProbeAndLockPages),
    NT_SERVICE(MmUnlockPages),
    NT_SERVICE(MmAllocatePagesForMdl),
    NT_SERVICE(MmAllocatePagesForMdlEx),
    NT_SERVICE(MmAllocateNodePagesForMdlEx),
    NT_SERVICE(MmFreePagesFromMdl),
    NT_SERVICE(MmMapLockedPages),
    NT_SERVICE(MmMapLockedPagesSpecifyCache),
    NT_SERVICE(MmUnmapLockedPages),
    NT_SERVICE(MmProtectMdlSystemAddress),
    NT_SERVICE(MmSizeOfMdl),
    {0},
};

const struct nt_area nt_mdl_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .freed = freed,
};
