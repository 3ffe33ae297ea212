#include "miniport/arguments.h"

#include <string.h>

struct lent {
    enum miniport_ddi ddi;
    size_t offset, bytes;
    const char *name;
};

#define LENT(ddi, structure, member)                                                               \
    {                                                                                              \
        MINIPORT_DDI_##ddi, offsetof(structure, member), sizeof((structure *)0)->member, #member   \
    }

static const struct lent lent[] = {
    LENT(CreateProcess, DXGKARG_CREATEPROCESS, hDxgkProcess),
    LENT(CreateProcess, DXGKARG_CREATEPROCESS, NumPasid),
    LENT(CreateProcess, DXGKARG_CREATEPROCESS, pPasid),
    LENT(CreateProcess, DXGKARG_CREATEPROCESS, ProcessNameLength),
    LENT(CreateProcess, DXGKARG_CREATEPROCESS, pProcessName),
    LENT(CreateDevice, DXGKARG_CREATEDEVICE, pInfo),
    LENT(CreateDevice, DXGKARG_CREATEDEVICE, hKmdProcess),
    LENT(CreateContext, DXGKARG_CREATECONTEXT, NodeOrdinal),
    LENT(CreateContext, DXGKARG_CREATECONTEXT, EngineAffinity),
    LENT(CreateContext, DXGKARG_CREATECONTEXT, pPrivateDriverData),
    LENT(CreateContext, DXGKARG_CREATECONTEXT, PrivateDriverDataSize),
    LENT(CreateAllocation, DXGKARG_CREATEALLOCATION, pPrivateDriverData),
    LENT(CreateAllocation, DXGKARG_CREATEALLOCATION, PrivateDriverDataSize),
    LENT(CreateAllocation, DXGKARG_CREATEALLOCATION, NumAllocations),
    LENT(CreateAllocation, DXGKARG_CREATEALLOCATION, pAllocationInfo),
    LENT(DescribeAllocation, DXGKARG_DESCRIBEALLOCATION, hAllocation),
    LENT(BuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER, DmaBufferPrivateDataSize),
    LENT(BuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER, Operation),
    LENT(BuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER, Reserved),
    LENT(BuildPagingBuffer, DXGKARG_BUILDPAGINGBUFFER, hSystemContext),
    LENT(Render, DXGKARG_RENDER, pCommand),
    LENT(Render, DXGKARG_RENDER, CommandLength),
    LENT(Render, DXGKARG_RENDER, DmaBufferPrivateDataSize),
    LENT(Render, DXGKARG_RENDER, pAllocationList),
    LENT(Render, DXGKARG_RENDER, AllocationListSize),
    LENT(Render, DXGKARG_RENDER, pPatchLocationListIn),
    LENT(Render, DXGKARG_RENDER, PatchLocationListInSize),
};

const char *arguments_restore(enum miniport_ddi ddi, void *argument, const void *before,
                              size_t bytes, bool is_const)
{
    const char *first = NULL;

    if (memcmp(argument, before, bytes) == 0)
        return NULL;
    if (is_const) {
        memcpy(argument, before, bytes);
        return "";
    }
    for (size_t i = 0; i < sizeof lent / sizeof lent[0]; i++) {
        char *now = (char *)argument + lent[i].offset;
        const char *was = (const char *)before + lent[i].offset;

        if (lent[i].ddi != ddi || memcmp(now, was, lent[i].bytes) == 0)
            continue;
        memcpy(now, was, lent[i].bytes);
        if (!first)
            first = lent[i].name;
    }
    return first;
}
