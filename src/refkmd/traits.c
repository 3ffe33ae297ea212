#include "refkmd/traits.h"

#include <ntstatus.h>

BOOLEAN refkmd_is_at_least(const struct refkmd_adapter *adapter, ULONG version)
{
    return adapter->dxgkrnl.Version >= version;
}

BOOLEAN refkmd_has_contexts(const struct refkmd_adapter *adapter)
{
    return refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WIN7);
}

NTSTATUS refkmd_check_physical_adapter(UINT index)
{
    return index == 0 ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

BOOLEAN refkmd_has_native_fences(const struct refkmd_adapter *adapter)
{
    return adapter->model == REFKMD_GPU_MMU && (adapter->straps & SGPU_STRAP_FENCE_UNIT) &&
           refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM3_1);
}

BOOLEAN refkmd_has_components(const struct refkmd_adapter *adapter)
{
    return (adapter->straps & SGPU_STRAP_POWER) != 0 &&
           refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WIN8);
}

BOOLEAN refkmd_has_slow_components(const struct refkmd_adapter *adapter)
{
    return refkmd_has_components(adapter) && (adapter->straps & SGPU_STRAP_SLOW_POWER) != 0;
}

BOOLEAN refkmd_has_display(const struct refkmd_adapter *adapter)
{
    return (adapter->straps & SGPU_STRAP_DISPLAY) != 0;
}

BOOLEAN refkmd_has_64k_leaves(const struct refkmd_adapter *adapter)
{
    return (adapter->straps & (SGPU_STRAP_64K_DUAL | SGPU_STRAP_64K_SINGLE)) != 0;
}

UINT refkmd_gpu_page_bytes(const struct refkmd_adapter *adapter)
{
    return SGPU_GPU_PAGE_ENTRIES(adapter->straps) * SGPU_PAGE_BYTES;
}

BOOLEAN refkmd_has_64k_pages(const struct refkmd_adapter *adapter)
{
    return refkmd_has_64k_leaves(adapter) || refkmd_gpu_page_bytes(adapter) > SGPU_PAGE_BYTES;
}

BOOLEAN refkmd_has_pitch(const struct refkmd_adapter *adapter)
{
    return adapter->model == REFKMD_PHYSICAL && (adapter->straps & SGPU_STRAP_PITCH);
}

/*
 * They must be if the CPU writes them as ordinary memory (PT-022), and if the CPU could not reach
 * those of the paging process otherwise.
 */
BOOLEAN refkmd_tables_are_in_system_memory(const struct refkmd_adapter *adapter)
{
    ULONG mode = (adapter->straps >> SGPU_STRAP_UPDATE_MODE_SHIFT) & SGPU_STRAP_UPDATE_MODE_MASK;

    return (adapter->straps & SGPU_STRAP_TABLES_IN_SYSTEM) != 0 || mode == SGPU_STRAP_UPDATE_CPU ||
           (!adapter->visible_bytes && !adapter->window_pages) || !adapter->has_memory_segments;
}

BOOLEAN refkmd_may_have_queues(const struct refkmd_adapter *adapter)
{
    DXGKARGCB_ISFEATUREENABLED feature = {.DeviceHandle = adapter->dxgkrnl.DeviceHandle,
                                          .FeatureId = DXGK_FEATURE_HWSCH};

    return adapter->straps & SGPU_STRAP_QUEUES && adapter->model == REFKMD_GPU_MMU &&
           refkmd_is_at_least(adapter, DXGKDDI_INTERFACE_VERSION_WDDM2_6) &&
           NT_SUCCESS(adapter->dxgkrnl.DxgkCbIsFeatureEnabled(&feature)) && feature.Enabled;
}
