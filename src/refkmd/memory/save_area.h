/*
 * Context-save areas: context allocations that the GPU loads and stores around each submission.
 *
 * Place      refkmd, private; for contexts, submissions, and operations that move allocations.
 * Ownership  An area is its contexts': the first creates it, the last destroys it.
 */
#ifndef REFKMD_SAVE_AREA_H
#define REFKMD_SAVE_AREA_H

#include "refkmd/objects.h"

/*
 * A context-save area: memory of the driver's own, behind the kernel's handle. It is an allocation
 * first of all, because notices of residency name it like one (CTX-009).
 */
struct refkmd_save_area {
    struct refkmd_allocation allocation;
    struct refkmd_save_area *next; /* of the adapter */
    HANDLE handle;                 /* the kernel's */
    struct refkmd_device *device;  /* of whose contexts on node it is; NULL: of one context */
    UINT users;                    /* contexts */
    UINT node;
    UINT flags;             /* SGPU_UMD_SAVE_* */
    UINT64 va;              /* in the process; 0: by physical address */
    UINT64 root;            /* that its content names, or will with the first image */
    BOOLEAN is_initialised; /* the first image has been built */
    UINT64 runs;            /* submissions since that the node has run, or has to run */
    UINT device_resets;     /* those of the node that are known */
    BOOLEAN has_lost_count; /* a reset of the device may have taken some of them back */
};

/* The area that the private data of the context asks for, which may be none. */
NTSTATUS refkmd_save_area_create(struct refkmd_context *context, const DXGKARG_CREATECONTEXT *args);
void refkmd_save_area_destroy(struct refkmd_context *context);

/* The root page table of the context has moved. */
void refkmd_save_area_set_root(struct refkmd_context *context);

/*
 * A paging operation puts the allocation at address. In the physical model nothing else tells where
 * an area is.
 */
void refkmd_save_area_place(const struct refkmd_adapter *adapter, HANDLE allocation,
                            UINT64 address);

/* As the GPU names it; virtual if the area has a va. */
UINT64 refkmd_save_area_address(const struct refkmd_save_area *area);

#endif
