/*
 * Rendering in the physical model: command buffers into DMA buffers, residency, patching.
 *
 * Place      vidmm. vidmm_render() is in vidmm.h; the end of a context needs the function here.
 * Source     contract.md RES-001, PATCH-001..015, SUB-001..008; sequence S-22.
 */
#ifndef VIDMM_RENDER_H
#define VIDMM_RENDER_H

struct vidmm_context;

/* Frees the context's DMA buffers; none is in use. */
void dma_buffers_free(struct vidmm_context *context);

#endif
