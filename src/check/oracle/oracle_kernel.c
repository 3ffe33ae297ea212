/*
 * Oracle: submissions that the kernel draws (DxgkDdiRenderKm). Their commands have no private data
 * of a user-mode half that could name the submission, so packets of the GPU have no token. Whose a
 * packet is follows from the calls: the player says for which submission it calls the manager, the
 * driver fills DMA buffers in that call, Patch gives a buffer its fence, and the fence is what the
 * GPU runs. Where addresses are virtual (DxgkDdiRenderGdi) the submission names the buffer.
 */
#include "check/oracle/oracle_private.h"

static uint64_t key_of_packet(uint32_t node, uint32_t fence)
{
    return (uint64_t)node << 32 | fence;
}

static void set(struct oracle *oracle, struct id_map *map, uint64_t key, uint64_t token)
{
    if (!token)
        id_map_remove(map, key);
    else if (!id_map_set(map, key, (void *)(uintptr_t)token))
        oracle->is_blind = true;
}

/* A virtual address is one of the process's, and a context is of one process. */
static uint64_t key_of_va(HANDLE context, uint64_t va)
{
    return (uint64_t)(uintptr_t)context * UINT64_C(0x9e3779b97f4a7c15) ^ va;
}

void oracle_kernel_renders(struct oracle *oracle, uint64_t token)
{
    oracle->kernel.token = token;
}

void oracle_buffer_made(struct oracle *oracle, const void *buffer, bool is_kernels)
{
    set(oracle, &oracle->kernel.buffers, (uint64_t)(uintptr_t)buffer,
        is_kernels ? oracle->kernel.token : 0);
}

void oracle_buffer_drawn(struct oracle *oracle, HANDLE context, uint64_t va)
{
    set(oracle, &oracle->kernel.buffers, key_of_va(context, va), oracle->kernel.token);
}

void oracle_buffer_submitted_virtual(struct oracle *oracle, const DXGKARG_SUBMITCOMMANDVIRTUAL *arg)
{
    uint64_t key = key_of_va(arg->hContext, arg->DmaBufferVirtualAddress);

    set(oracle, &oracle->kernel.packets, key_of_packet(arg->NodeOrdinal, arg->SubmissionFenceId),
        (uint64_t)(uintptr_t)id_map_find(&oracle->kernel.buffers, key));
}

void oracle_buffer_patched(struct oracle *oracle, const DXGKARG_PATCH *arg)
{
    oracle->kernel.patched_token = (uint64_t)(uintptr_t)id_map_find(
        &oracle->kernel.buffers, (uint64_t)(uintptr_t)arg->pDmaBuffer);
    oracle->kernel.patched_fence = arg->SubmissionFenceId;
}

void oracle_buffer_submitted(struct oracle *oracle, const DXGKARG_SUBMITCOMMAND *arg)
{
    bool is_patched = arg->SubmissionFenceId == oracle->kernel.patched_fence;

    set(oracle, &oracle->kernel.packets, key_of_packet(arg->NodeOrdinal, arg->SubmissionFenceId),
        is_patched ? oracle->kernel.patched_token : 0);
    oracle->kernel.patched_token = 0;
}

uint64_t oracle_token_of(const struct oracle *oracle, uint32_t node, uint32_t fence)
{
    return (uint64_t)(uintptr_t)id_map_find(&oracle->kernel.packets, key_of_packet(node, fence));
}
