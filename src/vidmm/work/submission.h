/*
 * Submission: work that a client has given the GPU, from the call to its retirement.
 *
 * Place      vidmm. submit.c (GpuMmu) and render.c (physical, and presents) share it.
 * Ownership  It belongs to the scheduler while it is queued; its retired function frees it.
 */
#ifndef VIDMM_SUBMISSION_H
#define VIDMM_SUBMISSION_H

#include "vidmm/residency/request.h"
#include "vidmm/vidmm.h"
#include "vidsch/vidsch.h"

struct dma_buffer;
struct render_call;
struct vidmm_context;

struct submission {
    struct vidsch_packet packet;
    struct vidmm_context *context;
    struct list link;   /* in vidmm->submissions */
    uint64_t sequence;  /* in the order in which they were made */
    size_t bytes;       /* of this struct */
    bool is_null;       /* NullRendering */
    bool is_redirected; /* RedirectedPresent */
    bool is_present;    /* DxgkDdiPresent has made it */

    /* GpuMmu. */
    uint64_t va;
    uint32_t va_bytes;
    void *client_data; /* of the user-mode driver, for this submission; NULL: none */
    uint32_t client_data_bytes;
    vidmm_done done;
    void *done_context;

    /* Physical, and presents. */
    struct render_call *call;
    struct dma_buffer *buffer;
    struct request *request;           /* until it has ended */
    struct request *served;            /* at once: it holds the references; NULL: it was queued */
    struct submission *next;           /* of the same call */
    uint32_t dma_start, dma_end;       /* its part of the buffer */
    uint32_t patch_start, patch_count; /* ... and of the patch list */
    uint32_t private_bytes;
    bool *is_needed;          /* by reference: its part has locations of it */
    unsigned reference_count; /* the allocation list, whole for every part */
    unsigned held_count;      /* references, behind them the allocations of the context and, where
                                 it is in an aperture, the DMA buffer */
    struct vidmm_reference references[];
};

/*
 * With room for the references, for the allocations of the context, which are filled in, and, where
 * the DMA buffer is an allocation, for that.
 */
struct submission *submission_create(struct vidmm_context *context,
                                     const struct vidsch_packet_ops *ops, unsigned reference_count,
                                     bool has_buffer);
/* The DMA buffer of a submission is resident like its allocations; NULL: it is in no segment. */
void submission_hold_buffer(struct submission *submission, struct vidmm_allocation *buffer);
/* GpuMmu: it does not run before the paging that its client waits for. */
void submission_wait_for_paging(struct submission *submission);
/* GpuMmu: the commands name virtual addresses, and there is nothing to patch (PATCH-023). */
NTSTATUS submission_submit_by_address(struct vidsch_packet *packet, struct miniport *miniport);
/*
 * Its packet has ended: its device fails if the GPU had to be reset, or if the driver took commands
 * that name virtual addresses for malformed (SUB-011).
 */
void submission_note_end(const struct submission *submission, NTSTATUS status);
/* From here on it counts: nothing it may use counts as idle before it retires. */
void submission_begin(struct submission *submission);
void submission_free(struct submission *submission);
/* A request for all allocations of the submission, which is the context of done. */
NTSTATUS submission_request(struct submission *submission, vidmm_done done,
                            struct request **out_request);
void submission_unhold(struct submission *submission);

/* The packet was with a GPU that had to be reset, or its device was in error. */
static inline bool status_means_reset(NTSTATUS status)
{
    return status == STATUS_GRAPHICS_GPU_EXCEPTION_ON_DEVICE ||
           status == STATUS_GRAPHICS_ADAPTER_WAS_RESET;
}

#endif
