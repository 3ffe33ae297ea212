/*
 * Raw: what its two sources share: an adapter, and those that there are.
 */
#ifndef DRYDOCK_MINIPORT_RAW_PRIVATE_H
#define DRYDOCK_MINIPORT_RAW_PRIVATE_H

#include "miniport/raw.h"

#include "base/list.h"

struct raw {
    struct miniport miniport;
    const struct base_services *services;
    struct list link; /* in adapters */
    HANDLE handle;    /* that the driver knows it by */
    struct miniport_host *host;
    PDEVICE_OBJECT device_object;
    PVOID device_context; /* of AddDevice; NULL before and after */
    bool is_added;
    ULONG told_version; /* of DRIVERCAPS.WDDMVersion; 0: it says nothing */
    void (*overwritten)(void *context, enum miniport_ddi ddi, size_t offset);
    void *witness;
    DRIVER_INITIALIZATION_DATA table; /* zero where the driver's version has no slot */
    /* Of a display-only driver; NULL: it is none. */
    PDXGKDDI_PRESENTDISPLAYONLY present_display_only;
    DXGKRNL_INTERFACE kernel;
};

struct raw_running {
    struct raw *raw; /* NULL: none */
    enum miniport_ddi ddi;
};

/* Every live adapter of the process, and the one whose driver code is running. */
extern struct raw_adapters {
    struct list list;
    struct raw_running running;
} raw_adapters;

/* Everything in raw->kernel but its size. */
void raw_fill_interface(struct raw *raw);

#endif
