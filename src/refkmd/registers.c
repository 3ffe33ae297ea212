#include "refkmd/registers.h"

void *refkmd_alloc(SIZE_T bytes)
{
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, bytes, REFKMD_POOL_TAG);
}

void refkmd_free(void *pointer)
{
    if (pointer)
        ExFreePoolWithTag(pointer, REFKMD_POOL_TAG);
}

ULONG refkmd_read(const struct refkmd_adapter *adapter, ULONG reg)
{
    if (adapter->is_gone)
        return MAXULONG;
    return READ_REGISTER_ULONG((volatile ULONG *)(adapter->registers + reg));
}

void refkmd_write(const struct refkmd_adapter *adapter, ULONG reg, ULONG value)
{
    if (!adapter->is_gone)
        WRITE_REGISTER_ULONG((volatile ULONG *)(adapter->registers + reg), value);
}

UINT64 refkmd_read64(const struct refkmd_adapter *adapter, ULONG reg)
{
    if (adapter->is_gone)
        return ~0ull;
    return READ_REGISTER_ULONG64((volatile ULONG64 *)(adapter->registers + reg));
}

void refkmd_write64(const struct refkmd_adapter *adapter, ULONG reg, UINT64 value)
{
    if (!adapter->is_gone)
        WRITE_REGISTER_ULONG64((volatile ULONG64 *)(adapter->registers + reg), value);
}
