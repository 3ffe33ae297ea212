/*
 * Traits: what this board can do under this kernel.
 *
 * Place      refkmd, private; at the bottom. Reads the adapter only.
 * Model      A feature is there when the board's straps say so, the model of addressing has it, and
 *            the kernel is of a version that knows it. Every file asks here, so that a feature is
 *            described, offered and used by the same rule.
 */
#ifndef REFKMD_TRAITS_H
#define REFKMD_TRAITS_H

#include "refkmd/adapter.h"

/* The kernel took the driver for one of this WDDM level or later (DXGKDDI_INTERFACE_VERSION_*). */
BOOLEAN refkmd_is_at_least(const struct refkmd_adapter *adapter, ULONG version);

/*
 * The driver has several engines, and contexts. A kernel of WDDM 1.0 takes it for one that has
 * neither: it uses one engine, and devices take the place of contexts.
 */
BOOLEAN refkmd_has_contexts(const struct refkmd_adapter *adapter);

/* There is one physical adapter. Kernels that do not say which one they mean, mean that. */
NTSTATUS refkmd_check_physical_adapter(UINT index);

/* The board has a unit for native fences, and the kernel knows what they are. */
BOOLEAN refkmd_has_native_fences(const struct refkmd_adapter *adapter);

/*
 * The board has hardware queues, and the kernel enables them. It is asked (HWQ-012), when the
 * device starts.
 */
BOOLEAN refkmd_may_have_queues(const struct refkmd_adapter *adapter);

/*
 * Engines can be switched off, and the kernel knows power components. Their switches take time, and
 * an interrupt tells of their end.
 */
BOOLEAN refkmd_has_components(const struct refkmd_adapter *adapter);
BOOLEAN refkmd_has_slow_components(const struct refkmd_adapter *adapter);

/* The board has a scan-out. */
BOOLEAN refkmd_has_display(const struct refkmd_adapter *adapter);

/* Page tables have entries for pages of 64 KiB. */
BOOLEAN refkmd_has_64k_leaves(const struct refkmd_adapter *adapter);
/*
 * Bytes of a page as the GPU sees local memory. Above 4 KiB, its 4 KiB leaf tables have several
 * entries for one, of which the GPU takes the first (PT-026).
 */
UINT refkmd_gpu_page_bytes(const struct refkmd_adapter *adapter);
/*
 * The kernel hands local memory out in pages of 64 KiB: page tables have entries for them, or a
 * page of the GPU has to lie in one of them.
 */
BOOLEAN refkmd_has_64k_pages(const struct refkmd_adapter *adapter);

/*
 * Rows of local memory's first segment have a pitch (PitchAlignment), which is a matter of WDDM 1.
 * An allocation of rows is packed everywhere else.
 */
BOOLEAN refkmd_has_pitch(const struct refkmd_adapter *adapter);

/* Page tables must be, or should be, in system memory. */
BOOLEAN refkmd_tables_are_in_system_memory(const struct refkmd_adapter *adapter);

#endif
