/*
 * Objects of processes, behind the handles that the driver gives to the kernel.
 *
 * Place      refkmd, private; above adapter.h.
 * Model      adapter > process, device > context; allocations belong to the adapter, openings of
 *            them to a device. A handle that the driver gives to the kernel is the address of its
 *            object.
 * Ownership  The kernel destroys an object that it has created, through the DDI made for that. An
 *            object holds plain pointers to its parents, which outlive it. An allocation knows no
 *            device at all (ALLOC-017).
 */
#ifndef REFKMD_OBJECTS_H
#define REFKMD_OBJECTS_H

#include "refkmd/adapter.h"

/*
 * An object begins with its signature, so that a handle of something else, or of something gone, is
 * noticed (paging_check.c).
 */
#define REFKMD_PROCESS_SIGNATURE    0x50524f43u
#define REFKMD_DEVICE_SIGNATURE     0x44455643u
#define REFKMD_CONTEXT_SIGNATURE    0x434f4e54u
#define REFKMD_ALLOCATION_SIGNATURE 0x414c4f43u

/* One render command of 4095 references is the longest that the user-mode half can ask for. */
#define REFKMD_DMA_BUFFER_BYTES (128u * 1024u)
#define REFKMD_LIST_ENTRIES     4096u

struct refkmd_process {
    ULONG signature; /* REFKMD_PROCESS_SIGNATURE */
    struct refkmd_adapter *adapter;
    BOOLEAN is_system;        /* the paging process */
    UINT64 root;              /* of its contexts, as the GPU names it; 0: none yet */
    ULONG pasid;              /* IoMmu: its name before the IOMMU; 0: it has none */
    UINT64 own_va, own_bytes; /* addresses that the kernel leaves to the driver; 0 bytes: none */
};

struct refkmd_context {
    ULONG signature; /* REFKMD_CONTEXT_SIGNATURE */
    struct refkmd_device *device;
    UINT node;
    BOOLEAN is_virtual; /* its commands hold virtual addresses */
    UINT64 root;        /* physical address of its root page table, as the GPU names it */
    BOOLEAN has_root;
    struct refkmd_save_area *save_area; /* NULL: none */
    HANDLE handle;                      /* the kernel's */
    /* Of suspension (hw_scheduling.c); a context is made resumed. */
    BOOLEAN is_suspended, is_leaving; /* asked for; and the node may still be in the context */
    UINT64 suspend_fence;             /* of the last one */
    struct refkmd_context *next_leaving;
    /* Of hardware scheduling; the band is the normal one where the kernel has said nothing. */
    DXGKARG_SETCONTEXTSCHEDULINGPROPERTIES scheduling;
};

/* A hardware queue: submissions of a context whose ends its progress fence tells. */
struct refkmd_hw_queue {
    struct refkmd_context *context;
    HANDLE handle; /* the kernel's */
};

struct refkmd_device {
    ULONG signature; /* REFKMD_DEVICE_SIGNATURE */
    struct refkmd_adapter *adapter;
    struct refkmd_process *process; /* NULL in the physical model */
    ULONG pasid;                    /* IoMmu: the address space of its contexts */
    HANDLE handle;                  /* the kernel's */
    struct refkmd_context own;      /* of a driver without contexts */
};

/* The handle is of a context or, in a driver without contexts, of a device. NULL stays NULL. */
struct refkmd_context *refkmd_context_of(HANDLE handle);

struct refkmd_allocation {
    ULONG signature; /* REFKMD_ALLOCATION_SIGNATURE */
    UINT64 bytes;
    UINT64 kernel_bytes; /* that the kernel was asked for, where it takes most: no less */
    UINT flags;          /* SGPU_UMD_* */

    /* As NOTIFY_RESIDENCY says, in the order of the paging buffers. */
    BOOLEAN is_resident;
    UINT64 resident_address; /* physical, as the GPU names it */
    void *cpu_view;          /* its pages for the CPU while they are in the aperture, or NULL */
};

/* A device's view of an allocation. */
struct refkmd_opening {
    struct refkmd_allocation *allocation;
};

#endif
