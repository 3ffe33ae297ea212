/*
 * Flags of allocations: what they may say together, and which of them the manager goes by.
 *
 *     Overlay, Capture      pinned: once resident it leaves only for a sleep, a reset or its end,
 *                           and it is placed in the last 20 % of its segment
 *                           (vidmm_config.pins_anywhere: where it fits)
 *     SynchronousPaging     before an operation on it is built, nothing but paging is with the GPU,
 *                           and nothing else gets there until the operation has retired
 *                           (idle_updates.c)
 *     HistoryBuffer,        nothing: allocations lie in one segment as a whole whether they ask
 *     DisablePartial-       for it or not, and what the CPU wants comes to where it can reach it
 *     Residency, Restricted-
 *     ToSingleSegment, Cpu-
 *     VisibleOnDemand
 *     ExistingSysMem,       the backing store is the memory that the client has handed over
 *     ExistingKernelSysMem  (backing.c), and locks are as with PermanentSysMem
 *     Protected             the CPU gets no access: lock.c
 *     HardwareProtected     nothing: what such content is to the GPU is the driver's business, and
 *                           it is placed, paged and locked by the other flags
 *
 * The others are told of where they are used. Both shapes of the flags have the bits that are
 * looked at here in the same places, except where it says so.
 *
 * Source     contract.md ALLOC-004, ALLOC-009..011, ALLOC-014, ALLOC-015, ALLOC-023.
 */
#include "vidmm/memory/allocation_flags.h"

#include "vidmm/adapter/driver_error.h"
#include "vidmm/memory/allocation.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"

static bool breaks(const struct vidmm_allocation *allocation, const char *rule, const char *text)
{
    vidmm_refuse_answer(allocation->vidmm, rule, "DxgkDdiCreateAllocation.pAllocationInfo[0].%s",
                        text);
    return false;
}

static bool has_history_buffer(const struct vidmm *vidmm, const DXGK_ALLOCATIONINFOFLAGS *flags)
{
    return vidmm->caps.interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM1_3 &&
           flags->HistoryBuffer;
}

static bool check_flags(const struct vidmm_allocation *allocation,
                        const DXGK_ALLOCATIONINFOFLAGS *flags)
{
    const struct vidmm *vidmm = allocation->vidmm;
    unsigned kinds = flags->Protected + flags->PermanentSysMem + flags->ExistingSysMem +
                     flags->ExistingKernelSysMem;

    if (flags->PermanentSysMem && !flags->CpuVisible)
        return breaks(allocation, "ALLOC-009", "Flags.PermanentSysMem without CpuVisible");
    if (flags->Cached && !flags->CpuVisible)
        return breaks(allocation, "ALLOC-009", "Flags.Cached without CpuVisible");
    if (has_history_buffer(vidmm, flags) && !flags->CpuVisible)
        return breaks(allocation, "ALLOC-009", "Flags.HistoryBuffer without CpuVisible");
    if (allocation->is_primary && (flags->Cached || kinds))
        return breaks(allocation, "ALLOC-009",
                      "Flags of a primary with Cached, PermanentSysMem, Protected or existing "
                      "system memory");
    if (kinds > 1)
        return breaks(allocation, "ALLOC-010",
                      "Flags with more than one of Protected, PermanentSysMem, ExistingSysMem and "
                      "ExistingKernelSysMem");
    if (!vidmm->caps.is_virtual && flags->UseAlternateVA && !allocation->is_primary)
        return breaks(allocation, "ALLOC-011", "Flags.UseAlternateVA, but it is no primary");
    return true;
}

/* ALLOC-023: the driver takes over the memory that the client has handed over, and no other. */
static NTSTATUS accept_memory(struct vidmm_allocation *allocation,
                              const DXGK_ALLOCATIONINFOFLAGS *flags,
                              const struct vidmm_client_memory *memory)
{
    const bool is_clients = memory && !memory->is_kernels;
    const bool is_kernels = memory && memory->is_kernels;
    NTSTATUS status = STATUS_INVALID_PARAMETER;

    if (flags->ExistingSysMem && !is_clients) {
        breaks(allocation, "ALLOC-023", "Flags.ExistingSysMem, and the client has given no memory");
    } else if (flags->ExistingKernelSysMem && !is_kernels) {
        breaks(allocation, "ALLOC-023",
               "Flags.ExistingKernelSysMem, and no kernel memory has been given");
    } else if (memory && !flags->ExistingSysMem && !flags->ExistingKernelSysMem) {
        vidmm_refuse(allocation->vidmm, "ALLOC-023",
                     "the driver takes over no memory, and the client has given some");
        status = STATUS_NOT_SUPPORTED;
    } else if (memory && allocation->page_count > memory->page_count) {
        breaks(allocation, "ALLOC-023", "Size is more than the memory that the client has given");
    } else {
        allocation->is_over_memory = memory != NULL;
        allocation->is_permanent |= memory != NULL;
        status = STATUS_SUCCESS;
    }
    return status;
}

NTSTATUS allocation_accept_flags(struct vidmm_allocation *allocation,
                                 const DXGK_ALLOCATIONINFO *info,
                                 const struct vidmm_client_memory *memory)
{
    const struct vidmm *vidmm = allocation->vidmm;
    const DXGK_ALLOCATIONINFOFLAGS *flags = &info->Flags;
    NTSTATUS status;

    if (!check_flags(allocation, flags))
        return STATUS_INVALID_PARAMETER;
    status = accept_memory(allocation, flags, memory);
    if (!NT_SUCCESS(status))
        return status;
    if (!vidmm->caps.is_virtual && info->PitchAlignedSize) {
        if (info->PitchAlignedSize < info->Size) {
            breaks(allocation, "ALLOC-004", "PitchAlignedSize is smaller than Size");
            return STATUS_INVALID_PARAMETER;
        }
    }
    allocation->is_pinned = flags->Overlay || flags->Capture;
    allocation->is_protected = flags->Protected;
    allocation->is_synchronous = !vidmm->caps.is_virtual && flags->SynchronousPaging;
    return STATUS_SUCCESS;
}
