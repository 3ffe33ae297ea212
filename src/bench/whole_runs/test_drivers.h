/*
 * Test helper: drivers that do one thing wrong, in a TRANSFER, for tests of what becomes of that.
 *
 * Place      bench, tests only. run_add_drivers(test_find_driver) makes them known.
 * Model      test:crash aborts, test:hang waits for ever, test:overrun writes behind the paging
 *            buffer until a guard page stops it, test:keep-pointer does not move pDmaBuffer
 *            (PB-004).
 */
#ifndef DRYDOCK_BENCH_TEST_DRIVERS_H
#define DRYDOCK_BENCH_TEST_DRIVERS_H

#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

#include <stdlib.h>
#include <unistd.h>

static inline NTSTATUS test_crash(struct miniport *self, HANDLE object,
                                  DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        abort();
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static inline NTSTATUS test_hang(struct miniport *self, HANDLE object,
                                 DXGKARG_BUILDPAGINGBUFFER *arg)
{
    while (arg->Operation == DXGK_OPERATION_TRANSFER)
        pause();
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* So far that no canary is left, only the page behind them. */
static inline NTSTATUS test_overrun(struct miniport *self, HANDLE object,
                                    DXGKARG_BUILDPAGINGBUFFER *arg)
{
    volatile char *at = arg->pDmaBuffer;

    for (size_t i = 0; arg->Operation == DXGK_OPERATION_TRANSFER && i < MiB; i++)
        at[i] = 0;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static inline NTSTATUS test_keep_pointer(struct miniport *self, HANDLE object,
                                         DXGKARG_BUILDPAGINGBUFFER *arg)
{
    void *start = arg->pDmaBuffer;
    NTSTATUS status = miniport_forward_build_paging_buffer(self, object, arg);

    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        arg->pDmaBuffer = start;
    return status;
}

struct test_driver {
    const char *name;
    NTSTATUS (*build)(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg);
};

struct test_layer {
    struct miniport miniport;
    struct miniport_ops ops;
    const struct base_services *services;
};

static inline void test_bad_destroy(struct miniport *self)
{
    base_free(((struct test_layer *)self)->services, self, sizeof(struct test_layer));
}

static inline NTSTATUS test_wrap_bad(const struct run_driver *driver,
                                     const struct base_services *services, struct miniport *next,
                                     struct miniport **out_layer)
{
    struct test_layer *layer = base_alloc(services, sizeof *layer);

    assert_non_null(layer);
    memset(layer, 0, sizeof *layer);
    layer->services = services;
    layer->ops = miniport_forward_ops;
    layer->ops.destroy = test_bad_destroy;
    layer->ops.build_paging_buffer = ((const struct test_driver *)driver->context)->build;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}

static inline bool test_find_driver(const char *name, struct run_driver *out_driver)
{
    static const struct test_driver drivers[] = {
        {"test:crash", test_crash},
        {"test:hang", test_hang},
        {"test:overrun", test_overrun},
        {"test:keep-pointer", test_keep_pointer},
    };

    for (size_t i = 0; i < ARRAY_COUNT(drivers); i++) {
        if (strcmp(drivers[i].name, name) != 0)
            continue;
        *out_driver = (struct run_driver){
            .name = drivers[i].name, .wrap = test_wrap_bad, .context = &drivers[i]};
        return true;
    }
    return false;
}

#endif
