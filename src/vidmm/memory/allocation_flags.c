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
 *     Protected, Hardware-  refused: the pages say what must not be set with them, and not what
 *     Protected, Existing-  becomes of their content when it is paged
 *     SysMem, ExistingKernel-
 *     SysMem
 *
 * The others are told of where they are used. Both shapes of the flags have the bits that are
 * looked at here in the same places, except where it says so.
 *
 * Source     contract.md ALLOC-004, ALLOC-009..011, ALLOC-014, ALLOC-015.
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

NTSTATUS allocation_accept_flags(struct vidmm_allocation *allocation,
                                 const DXGK_ALLOCATIONINFO *info)
{
    const struct vidmm *vidmm = allocation->vidmm;
    const DXGK_ALLOCATIONINFOFLAGS *flags = &info->Flags;

    if (!check_flags(allocation, flags))
        return STATUS_INVALID_PARAMETER;
    if (flags->Protected || flags->ExistingSysMem || flags->ExistingKernelSysMem ||
        (vidmm->caps.is_virtual && info->FlagsWddm2.HardwareProtected)) {
        vidmm_refuse(allocation->vidmm, "ALLOC-010",
                     "Protected, ExistingSysMem and ExistingKernelSysMem are not supported");
        return STATUS_NOT_SUPPORTED;
    }
    if (!vidmm->caps.is_virtual && info->PitchAlignedSize) {
        if (info->PitchAlignedSize < info->Size) {
            breaks(allocation, "ALLOC-004", "PitchAlignedSize is smaller than Size");
            return STATUS_INVALID_PARAMETER;
        }
    }
    allocation->is_pinned = flags->Overlay || flags->Capture;
    allocation->is_synchronous = !vidmm->caps.is_virtual && flags->SynchronousPaging;
    return STATUS_SUCCESS;
}
