/* An operation that may be split: its units, as many as there is room for. */
#include "refkmd/paging/paging.h"

#include <ntstatus.h>

NTSTATUS paging_build_units(struct paging_call *call, UINT64 unit_count,
                            paging_unit_builder *build_some)
{
    UINT64 done = call->args->MultipassOffset;

    while (done < unit_count) {
        UINT built = build_some(call, done, unit_count - done);

        if (!built) {
            call->args->MultipassOffset = (UINT)done;
            return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
        }
        done += built;
    }
    return STATUS_SUCCESS;
}
