/*
 * Sizes beyond 32 bits: five-gigabytes.case, whose operations are longer than 4 GiB, with the
 * reference driver and with one that keeps sizes in 32 bits.
 */
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_run.h"

/* Operations of more than 4 GiB that the driver was asked for. */
static unsigned far_transfers, far_fills;
static bool cuts_sizes;

static NTSTATUS look_at_size(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    DXGKARG_BUILDPAGINGBUFFER as = *arg;
    NTSTATUS status;

    if (arg->Operation == DXGK_OPERATION_VIRTUAL_TRANSFER) {
        far_transfers += arg->TransferVirtual.TransferSizeInBytes > UINT32_MAX;
        if (cuts_sizes)
            as.TransferVirtual.TransferSizeInBytes &= UINT32_MAX;
    } else if (arg->Operation == DXGK_OPERATION_VIRTUAL_FILL) {
        far_fills += arg->FillVirtual.FillSizeInBytes > UINT32_MAX;
        if (cuts_sizes)
            as.FillVirtual.FillSizeInBytes &= UINT32_MAX;
    }
    status = miniport_forward_build_paging_buffer(self, object, &as);
    arg->pDmaBuffer = as.pDmaBuffer;
    arg->pDmaBufferPrivateData = as.pDmaBufferPrivateData;
    arg->MultipassOffset = as.MultipassOffset;
    return status;
}

static NTSTATUS wrap_looking(const struct run_driver *driver, const struct base_services *services,
                             struct miniport *next, struct miniport **out_layer)
{
    test_put_layer(services, next, out_layer)->build_paging_buffer = look_at_size;
    return STATUS_SUCCESS;
}

static bool find_looking(const char *name, struct run_driver *out_driver)
{
    *out_driver = (struct run_driver){.name = "test:sizes", .wrap = wrap_looking};
    return strcmp(name, "test:sizes") == 0;
}

static struct run_result *play(bool cuts)
{
    struct workload *workload = test_load("wide/five-gigabytes.case");
    struct run_config config = test_config(workload);

    config.driver = "test:sizes";
    cuts_sizes = cuts;
    far_transfers = far_fills = 0;
    return test_execute(&config, workload);
}

static void operations_of_more_than_4_gib_keep_what_they_move(void **state)
{
    struct run_result *result = play(false);

    test_assert_clean(result);
    assert_true(far_transfers >= 2 && far_fills >= 1);
    test_finish(result);
}

static void a_driver_that_keeps_sizes_in_32_bits_is_found(void **state)
{
    struct run_result *result = play(true);

    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_true(far_transfers >= 1);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(operations_of_more_than_4_gib_keep_what_they_move),
        cmocka_unit_test(a_driver_that_keeps_sizes_in_32_bits_is_found),
    };

    run_add_drivers(find_looking);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
