# No member is open: `drydock ops --check` over a set of cases that is enough to show it. The
# first ones have operations that few cases have, so that calls of others need not be watched for long.
# A member that comes open has to be closed by a case, here or, where one of these can be dropped, in its
# place; or by a reason in src/coverage/coverage_table.c.
if(DRYDOCK_BENCH AND DRYDOCK_TESTS AND TARGET drydock)
    add_test(NAME cli/ops
             COMMAND drydock ops --check --open
                     cases/two-swizzling-ranges.case cases/sequences/S-19-special-lock-transfer.case
                     cases/sequences/S-20-context-allocation-kinds.case
                     cases/sequences/S-05-S-07-parts-and-mmus.case
                     cases/several-dma-buffers.case
                     cases/fences-in-local-memory.case
                     cases/sequences/S-26-allocation-notification.case
                     cases/sequences/S-25-tile-mapping.case cases/agp-fourth-segment.case
                     cases/agp.case cases/aperture-pieces.case cases/banks.case
                     cases/board-traits-firmware.case cases/board-traits.case cases/dead-memory.case
                     cases/fill-pattern.case cases/host-aperture.case cases/kept-hibernate.case
                     cases/kept-part.case cases/large-pages.case cases/null-rendering.case
                     cases/parts-of-a-split-buffer.case cases/protections.case
                     cases/remapped-aperture.case cases/rows.case
                     cases/sequences/S-14-64k-pages-dual.case
                     cases/sequences/S-14-64k-pages-single.case
                     cases/sequences/S-20-context-allocation.case cases/sequences/S-21-adl-mapping.case
                     cases/tables-in-system-memory.case cases/tiles-in-pieces.case
                     cases/tiles-of-pools-that-go.case cases/tiles-without-ranges.case
                     cases/primary-in-the-aperture.case cases/locked-over-a-sleep.case
                     cases/special-lock-transfer-in-parts.case cases/shared-save-area.case
                     cases/primary-seen-in-the-aperture.case cases/no-contexts.case cases/dma-buffers-in-the-aperture.case
                     cases/sequences/S-11-move.case cases/redirected-presents.case
                     cases/residency-list.case cases/drawn-by-address.case cases/drawn-in-small-buffers.case
                     cases/drawn-through-an-aperture.case cases/drawn-by-the-kernel.case
                     cases/presents.case cases/buffers-and-a-primary-by-list.case
                     cases/device-memory.case cases/device-memory-lists.case
                     cases/reports.case cases/reports-with-causes.case cases/reports-of-the-adapter.case
                     cases/started-as-observed.case cases/flips.case cases/syncs-of-one-type.case cases/syncs-by-source.case
                     cases/presents-of-a-queue.case cases/resources.case cases/client-memory.case
                     cases/pinned.case cases/preemption.case cases/null-context.case cases/preempted-paging.case
                     cases/sequences/S-04-synchronous-paging.case cases/sequences/S-08-clean-eviction.case
             WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
endif()
