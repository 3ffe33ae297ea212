/*
 * The board's registers.
 */
#include "refdod/refdod_private.h"

ULONG refdod_read(const struct refdod_adapter *adapter, ULONG reg)
{
    return READ_REGISTER_ULONG((volatile ULONG *)(adapter->registers + reg));
}

void refdod_write(const struct refdod_adapter *adapter, ULONG reg, ULONG value)
{
    WRITE_REGISTER_ULONG((volatile ULONG *)(adapter->registers + reg), value);
}
