/*
 * Lengths of resources, which are in larger units from 4 GiB on.
 */
#include "nt/nt_private.h"

#include "base/bits.h"

#include <wdm/io.h>
#include <wdm/device.h>

static bool is_range(UCHAR type)
{
    return type == CmResourceTypeMemory || type == CmResourceTypeMemoryLarge ||
           type == CmResourceTypePort;
}

ULONGLONG NTAPI RtlCmDecodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor,
                                         PULONGLONG Start)
{
    ULONGLONG length = Descriptor->u.Generic.Length;

    if (!is_range(Descriptor->Type)) {
        nt_misuse(nt_current(), "RtlCmDecodeMemIoResource: a resource of type %u has no range",
                  Descriptor->Type);
        length = 0;
    }
    if (Start)
        *Start = (ULONGLONG)Descriptor->u.Generic.Start.QuadPart;
    if (Descriptor->Type != CmResourceTypeMemoryLarge)
        return length;
    if (Descriptor->Flags & CM_RESOURCE_MEMORY_LARGE_40)
        return length << 8;
    if (Descriptor->Flags & CM_RESOURCE_MEMORY_LARGE_48)
        return length << 16;
    return Descriptor->Flags & CM_RESOURCE_MEMORY_LARGE_64 ? length << 32 : length;
}

NTSTATUS NTAPI RtlCmEncodeMemIoResource(PCM_PARTIAL_RESOURCE_DESCRIPTOR Descriptor, UCHAR Type,
                                        ULONGLONG Length, ULONGLONG Start)
{
    static const struct {
        USHORT flag;
        unsigned shift;
    } units[] = {{CM_RESOURCE_MEMORY_LARGE_40, 8},
                 {CM_RESOURCE_MEMORY_LARGE_48, 16},
                 {CM_RESOURCE_MEMORY_LARGE_64, 32}};

    if (!is_range(Type))
        return STATUS_INVALID_PARAMETER;
    if (Length <= MAXULONG) {
        Descriptor->Type = Type == CmResourceTypeMemoryLarge ? (UCHAR)CmResourceTypeMemory : Type;
        Descriptor->u.Generic.Start.QuadPart = (LONGLONG)Start;
        Descriptor->u.Generic.Length = (ULONG)Length;
        return STATUS_SUCCESS;
    }
    if (Type == CmResourceTypePort)
        return STATUS_UNSUCCESSFUL;
    for (size_t i = 0; i < ARRAY_COUNT(units); i++) {
        if (Length >> units[i].shift > MAXULONG)
            continue;
        if (Length & ((UINT64_C(1) << units[i].shift) - 1))
            return STATUS_UNSUCCESSFUL;
        Descriptor->Type = CmResourceTypeMemoryLarge;
        Descriptor->Flags |= units[i].flag;
        Descriptor->u.Generic.Start.QuadPart = (LONGLONG)Start;
        Descriptor->u.Generic.Length = (ULONG)(Length >> units[i].shift);
        return STATUS_SUCCESS;
    }
    return STATUS_UNSUCCESSFUL;
}

static const struct nt_export services[] = {
    NT_SERVICE(RtlCmDecodeMemIoResource),
    NT_SERVICE(RtlCmEncodeMemIoResource),
    {0},
};

const struct nt_area nt_resource_list_area = {.exports = services};
