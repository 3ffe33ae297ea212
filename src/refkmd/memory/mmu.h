/*
 * Page tables, as the board shapes them.
 *
 * Place      refkmd, private.
 */
#ifndef REFKMD_MMU_H
#define REFKMD_MMU_H

#include "refkmd/adapter.h"

/* Read the shape of page tables from the board. */
NTSTATUS refkmd_mmu_init(struct refkmd_adapter *adapter);
/* Each table fits in a page of system memory, the root too. */
BOOLEAN refkmd_tables_are_pages(const struct refkmd_adapter *adapter);

/* Answers of DxgkDdiQueryAdapterInfo. */
NTSTATUS refkmd_query_gpu_mmu_caps(struct refkmd_adapter *adapter,
                                   const DXGKARG_QUERYADAPTERINFO *query);
NTSTATUS refkmd_query_page_table_level(struct refkmd_adapter *adapter,
                                       const DXGKARG_QUERYADAPTERINFO *query);

#endif
