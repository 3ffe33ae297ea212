/*
 * Adapter: what DXCore tells of the one adapter.
 *
 * Place      dxcore, private.
 * Model      Names and numbers of the board came when the process joined. What the memory manager
 *            knows is asked for each time, by thunk calls like the program's: the adapter is
 *            opened for them and closed again.
 * Source     DXCoreAdapterProperty, DXCoreAdapterState.
 */
#ifndef DRYDOCK_DXCORE_ADAPTER_H
#define DRYDOCK_DXCORE_ADAPTER_H

#include <dxcore.h>

/* Bytes of a property; 0: the adapter has none such, or there is no server. */
size_t adapter_size_of(uint32_t property);

/*
 * A property that there is, its bytes to out; false: the server does not tell it. caller is as in
 * connection_call(), here and below.
 */
bool adapter_tell(uint32_t property, void *out, const void *caller);

/* The budget of this process; false: there is no such group of segments. */
bool adapter_tell_budget(const DXCoreAdapterMemoryBudgetNodeSegmentGroup *group,
                         DXCoreAdapterMemoryBudget *out, const void *caller);

#endif
