/*
 * Power components: the engines, which the kernel has switched off while they are idle.
 *
 * Place      refkmd, private.
 * Model      Component n is node n. Three more follow. The identification, which an escape reads,
 *            is of the driver's own (DXGK_POWER_COMPONENT_OTHER), and active while one does. The
 *            clock, which all engines need, is shared with another driver
 *            (DXGK_POWER_COMPONENT_SHARED). The power of the whole device is
 *            DXGK_POWER_COMPONENT_D3_TRANSITION. No page says more of that than its name: whatever
 *            it is told is right.
 */
#ifndef REFKMD_COMPONENTS_H
#define REFKMD_COMPONENTS_H

#include "refkmd/adapter.h"

NTSTATUS refkmd_query_component_count(struct refkmd_adapter *adapter,
                                      const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_component(struct refkmd_adapter *adapter,
                                const DXGKARG_QUERYADAPTERINFO *query);

/* Before the kernel chooses F-states: the engine is on when this returns. */
void refkmd_switch_on(struct refkmd_adapter *adapter, UINT ordinal);

/* The engine's registers can be written. */
BOOLEAN refkmd_is_on(const struct refkmd_adapter *adapter, UINT ordinal);

/* In the DPC: of switches that have ended. After a reset, which has switched all engines on. */
void refkmd_complete_components(struct refkmd_adapter *adapter, BOOLEAN is_reset);

/* From the first to the second, which are paired, the identification may be read. */
void refkmd_begin_identification(struct refkmd_adapter *adapter);
void refkmd_end_identification(struct refkmd_adapter *adapter);

#endif
