/* Zoo: what the defects share. */
#include "zoo/zoo.h"

NTSTATUS zoo_build_as(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg,
                      DXGKARG_BUILDPAGINGBUFFER *as)
{
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, as);

    arg->pDmaBuffer = as->pDmaBuffer;
    arg->DmaSize = as->DmaSize;
    arg->pDmaBufferPrivateData = as->pDmaBufferPrivateData;
    arg->MultipassOffset = as->MultipassOffset;
    return status;
}
