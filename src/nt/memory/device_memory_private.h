/*
 * Inside of device memory: what a driver has, and how it is found.
 *
 * Place      nt, private: of device_memory.c, device_object.c and save_area.c.
 */
#ifndef DRYDOCK_NT_DEVICE_MEMORY_PRIVATE_H
#define DRYDOCK_NT_DEVICE_MEMORY_PRIVATE_H

#include "nt/memory/device_memory.h"
#include "nt/memory/mapping.h"
#include "nt/nt_private.h"

enum device_kind {
    DEVICE_PAGES,
    DEVICE_CONTIGUOUS,
    DEVICE_MDL,
    DEVICE_OBJECT_MEMORY,
    DEVICE_SAVE_AREA, /* the kernel's own (save_area.c) */
};

struct device_item {
    struct list link; /* in the state */
    enum device_kind kind;
    HANDLE handle;
    uint64_t bytes; /* as asked for */
    uint64_t *pfns; /* the item's own pages; of an MDL of the driver's and of IO space a copy */
    uint64_t count;
    PMDL mdl; /* PAGES, SAVE_AREA: the kernel's; MDL: the driver's, NULL once it is freed */
    struct nt_mapping *mapping; /* CONTIGUOUS */

    /* Of objects and the save area. */
    DXGK_PHYSICAL_MEMORY_TYPE type;
    bool is_io_space; /* the pages are nobody's to free */
    HANDLE adapter;   /* the adapter memory object; NULL: the object is not open */
    bool is_shown;    /* the pages have logical addresses, from first_logical on */
    uint64_t first_logical;
    struct list adls; /* of struct device_adl */
};

struct device_state {
    struct list items;
    uint64_t handles_given;
    struct nt_device_pages pages;
};

static inline struct device_state *device_state(const struct nt *nt)
{
    return NT_STATE(nt, device_memory);
}

static inline bool device_is_remapped(const struct nt *nt)
{
    return device_state(nt)->pages.show != NULL;
}

/* Without a handle and pages. NULL: no memory. */
struct device_item *device_new_item(struct nt *nt, enum device_kind kind, uint64_t bytes);
HANDLE device_new_handle(struct nt *nt);
/* NULL: none. */
struct device_item *device_find(struct nt *nt, enum device_kind kind, HANDLE handle);
void device_free_item(struct nt *nt, struct device_item *item);

/* The kernel's MDL of its first pages. False: no memory. */
bool device_describe(struct nt *nt, struct device_item *item, uint64_t bytes);
void device_free_mdl(struct nt *nt, struct device_item *item);

/* The device sees its pages from now on, at logical addresses of an IOMMU. False: no memory. */
bool device_show(struct nt *nt, struct device_item *item);
void device_hide(struct nt *nt, struct device_item *item);

/* bytes from an offset on, both multiples of pages. NULL: no memory. */
DXGK_ADL *device_new_adl(struct nt *nt, struct device_item *item, uint64_t offset, uint64_t bytes,
                         bool may_be_contiguous);
void device_end_adls(struct nt *nt, struct device_item *item);

/* What the CPU sees of it. address NULL: any; bytes 0: any. NULL: none. */
struct nt_mapping *device_find_view(struct nt *nt, const struct device_item *item,
                                    const void *address, uint64_t bytes);

/* Its ADLs, views and logical addresses end. */
void device_end_object(struct nt *nt, struct device_item *item);

#endif
