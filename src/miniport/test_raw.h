/*
 * Fake driver: a test rig of miniport/raw.h. A driver of a few lines registers with raw in any
 * version; the fact table of layouts is read beside it.
 *
 * Place      miniport, tests only.
 * Model      One driver a program, whose state test_raw_create() sets to zero. Each of its
 *            functions notes its name and arguments and returns STATUS_PENDING, a status that only
 *            it gives.
 */
#ifndef DRYDOCK_MINIPORT_TEST_RAW_H
#define DRYDOCK_MINIPORT_TEST_RAW_H

#include "miniport/raw.h"

#include "base/bits.h"
#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct test_driver {
    const char *last;
    const void *object;
    const void *argument;
    char adapter; /* its address is the MiniportDeviceContext */
    NTSTATUS add_status;
    NTSTATUS remove_status;
    PDEVICE_OBJECT device_object;
    DXGKRNL_INTERFACE kernel;
    void (*when_called)(void);           /* from the fake BuildPagingBuffer ... */
    bool is_for_all;                     /* ... and all others with an argument */
    DXGKARG_CONTROLINTERRUPT2 interrupt; /* of either ControlInterrupt */
    UINT node;                           /* of GetNodeMetadata; or a component */
    ULONG number;          /* beside the pointer, of DDIs of children; or an F-state */
    DXGK_WDDMVERSION wddm; /* 0: QueryAdapterInfo is like the others */
};

extern struct test_driver driver;

/* A table of exactly the size that the version has, so that a read behind it is seen. malloc(). */
DRIVER_INITIALIZATION_DATA *test_raw_table(ULONG version);
/* The adapter of a fresh driver that registered with the version. */
struct miniport *test_raw_create(ULONG version);
/* Adds and starts its device. */
void test_raw_start(struct miniport *raw);

/* Calls visit for each line of data/ddi/layout-x64.tsv about the struct, with its columns. */
void test_read_layout(const char *name, void (*visit)(char **columns, void *context),
                      void *context);

#endif
