#include "bench/whole_runs/test_drivers.h"

#include "bench/whole_runs/test_run.h"

#include <signal.h>
#include <unistd.h>

static NTSTATUS crash(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        abort();
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* As when the system ends a process that has taken all memory: nothing of it runs any more. */
static NTSTATUS die(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    if (arg->Operation == DXGK_OPERATION_TRANSFER)
        raise(SIGKILL);
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS hang(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    while (arg->Operation == DXGK_OPERATION_TRANSFER)
        pause();
    return miniport_forward_build_paging_buffer(self, object, arg);
}

/* So far that no canary is left, only the page behind them. */
static NTSTATUS overrun(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    volatile char *at = arg->pDmaBuffer;

    for (size_t i = 0; arg->Operation == DXGK_OPERATION_TRANSFER && i < MiB; i++)
        at[i] = 0;
    return miniport_forward_build_paging_buffer(self, object, arg);
}

static NTSTATUS keep_pointer(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
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

static NTSTATUS wrap(const struct run_driver *driver, const struct base_services *services,
                     struct miniport *next, struct miniport **out_layer)
{
    test_put_layer(services, next, out_layer)->build_paging_buffer =
        ((const struct test_driver *)driver->context)->build;
    return STATUS_SUCCESS;
}

bool test_find_driver(const char *name, struct run_driver *out_driver)
{
    static const struct test_driver drivers[] = {
        {"test:crash", crash},
        {"test:die", die},
        {"test:hang", hang},
        {"test:overrun", overrun},
        {"test:keep-pointer", keep_pointer},
    };

    for (size_t i = 0; i < ARRAY_COUNT(drivers); i++) {
        if (strcmp(drivers[i].name, name) != 0)
            continue;
        *out_driver =
            (struct run_driver){.name = drivers[i].name, .wrap = wrap, .context = &drivers[i]};
        return true;
    }
    return false;
}
