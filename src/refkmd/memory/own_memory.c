#include "refkmd/memory/own_memory.h"

#include "refkmd/registers.h"
#include "refkmd/traits.h"

#include <ntstatus.h>

#define WORD_FACTOR 0x9e3779b1u
#define PIECE_BYTES (4 * PAGE_SIZE) /* own_bytes are whole pieces of them */

/* The end of the first segment, which ends where BAR 1 does, or local memory. */
void refkmd_own_memory_init(struct refkmd_adapter *adapter)
{
    UINT64 bytes = refkmd_read64(adapter, SGPU_REG_OWN_SIZE);

    adapter->own_bytes = 0;
    if (bytes % PIECE_BYTES || bytes >= adapter->visible_bytes || !adapter->has_memory_segments ||
        adapter->model != REFKMD_GPU_MMU ||
        !refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_4))
        return;
    adapter->own_bytes = bytes;
}

NTSTATUS refkmd_map_own_memory(struct refkmd_adapter *adapter)
{
    PHYSICAL_ADDRESS start = adapter->window_pa;
    PVOID memory = NULL;
    NTSTATUS status;

    adapter->own = NULL;
    if (!adapter->own_bytes)
        return STATUS_SUCCESS;
    start.QuadPart += (LONGLONG)adapter->visible_bytes;
    status = adapter->dxgkrnl.DxgkCbMapMemory(adapter->dxgkrnl.DeviceHandle, start,
                                              (ULONG)adapter->own_bytes, FALSE, FALSE,
                                              MmWriteCombined, &memory);
    if (NT_SUCCESS(status))
        adapter->own = memory;
    return status;
}

void refkmd_unmap_own_memory(struct refkmd_adapter *adapter)
{
    if (adapter->own)
        adapter->dxgkrnl.DxgkCbUnmapMemory(adapter->dxgkrnl.DeviceHandle, (PVOID)adapter->own);
    adapter->own = NULL;
}

/* ---- Its words ------------------------------------------------------------------------------- */

static BOOLEAN can_be_touched(const struct refkmd_adapter *adapter)
{
    return adapter->own && !adapter->is_gone;
}

static SIZE_T word_count(const struct refkmd_adapter *adapter)
{
    return (SIZE_T)adapter->own_bytes / sizeof(ULONG);
}

static ULONG word_at(const struct refkmd_adapter *adapter, SIZE_T i)
{
    return ((ULONG)i + 1) * WORD_FACTOR ^ adapter->own_generation;
}

void refkmd_fill_own_memory(struct refkmd_adapter *adapter)
{
    SIZE_T i;

    if (!can_be_touched(adapter))
        return;
    adapter->own_generation++;
    adapter->own_is_saved = FALSE;
    for (i = 0; i < word_count(adapter); i++)
        adapter->own[i] = word_at(adapter, i);
}

BOOLEAN refkmd_own_memory_is_right(const struct refkmd_adapter *adapter)
{
    SIZE_T i;

    if (!can_be_touched(adapter))
        return TRUE;
    for (i = 0; i < word_count(adapter) && adapter->own[i] == word_at(adapter, i); i++)
        continue;
    return i == word_count(adapter);
}

/* ---- Saved and brought back ------------------------------------------------------------------ */

/* From the words first on, count of them, to system memory or from there. */
static void move_words(struct refkmd_adapter *adapter, SIZE_T first, SIZE_T count, ULONG *system,
                       BOOLEAN is_saved)
{
    SIZE_T i;

    for (i = 0; i < count; i++) {
        if (is_saved)
            system[i] = adapter->own[first + i];
        else
            adapter->own[first + i] = system[i];
    }
}

/* An MDL is of no use to a device whose accesses are remapped (PWR-020), as this one's can be. */
static BOOLEAN may_have_list(const struct refkmd_adapter *adapter)
{
    return !refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_9);
}

/* Keeps PWR-016, PWR-018. */
static BOOLEAN move_whole(struct refkmd_adapter *adapter, BOOLEAN is_saved)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE pin = {.CommitSize = (SIZE_T)adapter->own_bytes};
    const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE unpin = {0};
    HANDLE device = adapter->dxgkrnl.DeviceHandle;
    ULONG *system;

    if (!may_have_list(adapter) ||
        !NT_SUCCESS(adapter->dxgkrnl.DxgkCbPinFrameBufferForSave(device, &pin)))
        return FALSE;
    system = MmGetSystemAddressForMdlSafe(pin.pMdl, NormalPagePriority);
    if (system)
        move_words(adapter, 0, word_count(adapter), system, is_saved);
    adapter->dxgkrnl.DxgkCbUnpinFrameBufferForSave(device, &unpin);
    return system != NULL;
}

/* Keeps PWR-012, PWR-017. The copy lies Offset behind the address that the kernel gives. */
static BOOLEAN move_pieces(struct refkmd_adapter *adapter, BOOLEAN is_saved)
{
    HANDLE device = adapter->dxgkrnl.DeviceHandle;
    UINT64 at;

    for (at = 0; at < adapter->own_bytes; at += PIECE_BYTES) {
        DXGKARGCB_MAPFRAMEBUFFERPOINTER map = {.Size = PIECE_BYTES, .Offset = (SIZE_T)at};
        DXGKARGCB_UNMAPFRAMEBUFFERPOINTER unmap = {0};

        if (!NT_SUCCESS(adapter->dxgkrnl.DxgkCbMapFrameBufferPointer(device, &map)))
            return FALSE;
        move_words(adapter, (SIZE_T)at / sizeof(ULONG), PIECE_BYTES / sizeof(ULONG),
                   (ULONG *)((UCHAR *)map.pBaseAddress + map.Offset), is_saved);
        unmap.pBaseAddress = map.pBaseAddress;
        adapter->dxgkrnl.DxgkCbUnmapFrameBufferPointer(device, &unmap);
    }
    return TRUE;
}

void refkmd_save_own_memory(struct refkmd_adapter *adapter)
{
    if (can_be_touched(adapter) && !adapter->own_is_saved)
        adapter->own_is_saved = move_whole(adapter, TRUE) || move_pieces(adapter, TRUE);
}

void refkmd_restore_own_memory(struct refkmd_adapter *adapter)
{
    if (!can_be_touched(adapter))
        return;
    if (!adapter->own_is_saved || !(move_whole(adapter, FALSE) || move_pieces(adapter, FALSE)))
        refkmd_fill_own_memory(adapter);
    adapter->own_is_saved = FALSE;
}
