/*
 * DMA buffers: what the driver makes commands in.
 *
 * Place      vidmm. render.c takes one for each packet that the driver makes.
 * Model      A buffer has the memory of the commands, the driver's private data of it, and the
 *            lists that the driver gets and fills. The GPU finds the commands in an aperture, in
 *            contiguous system pages or, where addresses are virtual, in system memory that is
 *            mapped in the process of the context.
 * Ownership  The context keeps buffers that are free for the next call, and frees them at its end.
 * Errors     NULL or a status: STATUS_NO_MEMORY.
 */
#ifndef VIDMM_DMA_BUFFER_H
#define VIDMM_DMA_BUFFER_H

#include "vidmm/vidmm.h"

#include <stdint.h>

struct vidmm_allocation;
struct vidmm_context;

struct dma_buffer {
    struct dma_buffer *next;
    uint8_t *cpu;
    /* Where the GPU finds it: an allocation in an aperture or, with a virtual address, in system
     * memory; or else contiguous system pages. */
    struct vidmm_allocation *allocation;
    uint64_t va;
    uint64_t first_page, page_count;
    uint8_t *private_data;
    DXGK_ALLOCATIONLIST *allocation_list;
    uint32_t allocation_capacity;
    D3DDDI_PATCHLOCATIONLIST *patch_list;
    uint32_t patch_count; /* filled by the driver */
    unsigned shares;      /* parts of it that have not ended */
};

/* A free one, or a new one; NULL: there is no memory. */
struct dma_buffer *dma_buffer_take(struct vidmm_context *context);
/* One part of it has ended, if there are any; with the last one it is free. NULL: nothing. */
void dma_buffer_give_back(struct vidmm_context *context, struct dma_buffer *buffer);
/* Frees the context's DMA buffers; none is in use. */
void dma_buffers_free(struct vidmm_context *context);

/*
 * Where addresses are virtual: shows the buffer in the process of its context, if it is not shown
 * there yet. Tables that have to wait for room wait in front of the request for the buffer.
 */
NTSTATUS dma_buffer_show(struct vidmm_context *context, struct dma_buffer *buffer);
/*
 * Its segment is 0 in system memory, and while it is in no aperture (its address is 0 then). What
 * has a virtual address has no physical one.
 */
PHYSICAL_ADDRESS dma_buffer_address(const struct dma_buffer *buffer, UINT *out_segment);
/* Nothing is patched where addresses are virtual: there is no list then (RES-009). */
uint32_t dma_buffer_patch_capacity(const struct vidmm_context *context);

#endif
