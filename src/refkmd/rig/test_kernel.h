/*
 * The smallest kernel under which the driver runs: for its tests.
 *
 * Place      refkmd, tests only. Its DxgkInitialize() is the one service that the driver imports by
 *            name from the graphics kernel.
 * Model      A machine with the modelled GPU, and the driver's table called directly at the IRQL
 *            that each DDI has. Interrupts come from the machine; what the driver reports is kept
 *            in a log. test_build() plays the memory manager of the paging buffer: fresh buffers of
 *            a chosen size with guards around them, the same operation again after INSUFFICIENT,
 *            every submission run to its end before the next.
 */
#ifndef REFKMD_TEST_KERNEL_H
#define REFKMD_TEST_KERNEL_H

#include "base/failing_services.h"
#include "machine/machine.h"
#include "nt/nt.h"
#include "sgpu/sgpu.h"

#include "refkmd/refkmd.h"

#include <dispmprt.h>
#include <d3dkmddi.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define TEST_LOG_ENTRIES    256
#define TEST_HANDLES        16
#define TEST_BUFFER_PAGES   33 /* 64 KiB of paging buffer twice over, and a guard */
#define TEST_GUARD_BYTES    4096
#define TEST_PRIVATE_BYTES  1024
#define TEST_POISON         0xa5
#define TEST_UNION_OFFSET   offsetof(DXGKARG_BUILDPAGINGBUFFER, Transfer)
#define TEST_UNION_END      offsetof(DXGKARG_BUILDPAGINGBUFFER, hSystemContext)
#define TEST_UNION_BYTES    (TEST_UNION_END - TEST_UNION_OFFSET)
#define TEST_RESOURCE_COUNT 2

struct test_kernel {
    struct failing_services memory;
    struct machine *machine;
    struct sgpu *gpu;
    struct nt *nt;

    DRIVER_INITIALIZATION_DATA ddi;
    HANDLE adapter;
    DXGKRNL_INTERFACE dxgkrnl;
    union {
        CM_RESOURCE_LIST list;
        UCHAR room[sizeof(CM_RESOURCE_LIST) +
                   TEST_RESOURCE_COUNT * sizeof(CM_PARTIAL_RESOURCE_DESCRIPTOR)];
    } resources;
    BOOLEAN is_started;
    HANDLE handles[TEST_HANDLES]; /* what DxgkCbGetHandleData answers, by handle */
    UINT children;                /* handles from 1 on that one resource has; all where it is 0 */

    DXGKARGCB_NOTIFY_INTERRUPT_DATA log[TEST_LOG_ENTRIES];
    int log_count;
    BOOLEAN is_dpc_queued;
    int dpc_count;
    int notified_dpc_count;
    char last_line[512];

    /* The paging buffer, contiguous in system memory. */
    uint64_t buffer_pfn;
    uint8_t *buffer;
    uint8_t private_data[TEST_PRIVATE_BYTES + TEST_GUARD_BYTES];
    D3DGPU_VIRTUAL_ADDRESS buffer_va;
    HANDLE paging_context; /* virtual submissions go here; NULL: by physical address */
    UINT fences[SGPU_MAX_NODES];
    int pass_count; /* of the last test_build() */
};

/* ---- Start and stop -------------------------------------------------------------------------- */

/* 64 MiB of RAM, 16 MiB of local memory, 8 MiB of aperture; change what a test needs otherwise. */
void test_config_defaults(struct machine_config *config, struct sgpu_config *gpu_config);

/* DxgkDdiStartDevice. */
NTSTATUS test_start(struct test_kernel *kernel);

/* Added, and not started. */
void test_create(struct test_kernel *kernel, PDRIVER_INITIALIZE driver_entry,
                 const struct machine_config *config, const struct sgpu_config *gpu_config);

/* Stops and removes the device. Memory that the driver has not given back by now is a leak. */
void test_destroy(struct test_kernel *kernel);

/* Added and started, on a machine of the defaults. */
void test_create_default(struct test_kernel *kernel, PDRIVER_INITIALIZE driver_entry);

NTSTATUS test_query(struct test_kernel *kernel, DXGK_QUERYADAPTERINFOTYPE type, void *in,
                    UINT in_bytes, void *out, UINT out_bytes);

/* The machine's handler of the line, for tests that take it away for a while. */
void test_on_interrupt(void *context);

/* This kernel is the current one again, after another has been created. */
void test_bind(struct test_kernel *kernel);

/* ---- Submission ------------------------------------------------------------------------------ */

/* Run the machine until nothing happens any more. */
void test_run(struct test_kernel *kernel);

/* At DISPATCH_LEVEL. */
NTSTATUS test_submit(struct test_kernel *kernel, DXGKARG_SUBMITCOMMAND *args);
NTSTATUS test_submit_virtual(struct test_kernel *kernel, DXGKARG_SUBMITCOMMANDVIRTUAL *args);

/* Submit [start, end) of the paging buffer to the copy node, and run it to its end. */
void test_run_paging(struct test_kernel *kernel, UINT start, UINT end, UINT private_bytes);

/* Nothing has been written to these bytes of the buffer. */
bool test_is_poison(const uint8_t *bytes, size_t size);

/*
 * One operation, with buffers of dma_bytes, from the first call to the last submission. Checks what
 * PB-004, PB-005, PB-008, PB-012, PB-015, PB-023 and PB-030 ask of any operation. start is where in
 * the page the buffer begins: 0, or behind an operation that another call has left there.
 */
void test_build_at(struct test_kernel *kernel, DXGKARG_BUILDPAGINGBUFFER *args, UINT start,
                   UINT dma_bytes);

/* From the beginning of the page. */
void test_build(struct test_kernel *kernel, DXGKARG_BUILDPAGINGBUFFER *args, UINT dma_bytes);

/* ---- Memory ---------------------------------------------------------------------------------- */

/* An MDL of scattered pages, the first skip of them not part of anything. */
struct test_mdl {
    MDL mdl; /* the page frame numbers follow */
    PFN_NUMBER pfn[160];
    uint64_t count;
};

void test_mdl_init(struct test_kernel *kernel, struct test_mdl *mdl, uint64_t count);
void test_mdl_fini(struct test_kernel *kernel, struct test_mdl *mdl);

#endif
