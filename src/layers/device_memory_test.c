/* A driver that asks for memory for its device, over the kernel's own functions. */
#include "layers/device_memory.h"

#include "base/bits.h"
#include "nt/memory/device_memory.h"
#include "nt/memory/save_area.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct kernel {
    struct miniport_host host; /* first */
    struct machine *machine;
    struct nt *nt;
    unsigned asked[MINIPORT_MEMORY_COUNT];
    unsigned lacking; /* a bit for each callback that fails */
};

static NTSTATUS give(struct miniport_host *host, const struct miniport_memory_request *request)
{
    struct kernel *kernel = (struct kernel *)host;

    kernel->asked[request->kind]++;
    if (kernel->lacking & 1u << request->kind)
        return STATUS_NO_MEMORY;
    switch (request->kind) {
#define X(slot, member, type, place, returns)                                                      \
    case MINIPORT_MEMORY_##member:                                                                 \
        return nt_device_##member(kernel->nt, request->member);
        MINIPORT_MEMORY_LIST(X)
#undef X
    case MINIPORT_MEMORY_COUNT:
        break;
    }
    return STATUS_INVALID_PARAMETER;
}

/* ---- A driver that does nothing ---- */

static ULONG version;

static ULONG driver_version(struct miniport *self)
{
    return version;
}

static NTSTATUS driver_start(struct miniport *self, const DXGK_START_INFO *info, ULONG *sources,
                             ULONG *children)
{
    return info ? STATUS_SUCCESS : STATUS_UNSUCCESSFUL;
}

static NTSTATUS driver_stop(struct miniport *self)
{
    return STATUS_SUCCESS;
}

static NTSTATUS driver_query(struct miniport *self, HANDLE object,
                             const DXGKARG_QUERYADAPTERINFO *arg)
{
    ((DXGK_FRAMEBUFFERSAVEAREA *)arg->pOutputData)->MaximumSize = 3 * PAGE_SIZE;
    return STATUS_SUCCESS;
}

static NTSTATUS driver_power(struct miniport *self, ULONG uid, DEVICE_POWER_STATE state,
                             POWER_ACTION action)
{
    return STATUS_SUCCESS;
}

static void driver_set_host(struct miniport *self, struct miniport_host *host)
{
}

/* Starts a device, lets it sleep and stops it; gives how many things the driver had in between. */
static uint64_t play(struct kernel *kernel, ULONG level, unsigned lacking)
{
    static const struct miniport_host_ops host_ops = {.memory = give};
    struct miniport_ops ops = miniport_forward_ops;
    struct miniport driver = {.ops = &ops}, *layer;
    struct machine_config config;
    const DXGK_START_INFO info = {0};
    uint64_t had, left, bytes, free_pages;
    ULONG sources, children;
    const struct nt_host host = {0};
    DXGK_FRAMEBUFFERSAVEAREA area = {0};
    const DXGKARG_QUERYADAPTERINFO query = {.Type = DXGKQAITYPE_FRAMEBUFFERSAVESIZE,
                                            .pOutputData = &area,
                                            .OutputDataSize = sizeof area};

    memset(kernel, 0, sizeof *kernel);
    kernel->lacking = lacking;
    machine_config_defaults(&config, 1);
    config.ram_bytes = 16 * MiB;
    config.local_bytes = config.visible_bytes = config.aperture_bytes = 1 * MiB;
    kernel->machine = machine_create(base_services_libc(), &config);
    kernel->nt = nt_create(base_services_libc(), kernel->machine, &host);
    assert_non_null(kernel->nt);
    nt_bind(kernel->nt);
    kernel->host.ops = &host_ops;
    version = level;
    ops.interface_version = driver_version;
    ops.start_device = driver_start;
    ops.stop_device = driver_stop;
    ops.query_adapter_info = driver_query;
    ops.set_power_state = driver_power;
    ops.set_host = driver_set_host;
    assert_int_equal(device_memory_layer_create(base_services_libc(), &driver, &layer), 0);
    miniport_set_host(layer, &kernel->host);
    free_pages = machine_free_page_count(kernel->machine);

    assert_int_equal(miniport_start_device(layer, NULL, &sources, &children), STATUS_UNSUCCESSFUL);
    assert_int_equal(nt_device_memory_count(kernel->nt, &bytes), 0);
    assert_int_equal(miniport_start_device(layer, &info, &sources, &children), STATUS_SUCCESS);
    had = nt_device_memory_count(kernel->nt, &bytes);
    assert_int_equal(miniport_set_power_state(layer, 0, PowerDeviceD3, PowerActionSleep), 0);
    assert_int_equal(kernel->asked[MINIPORT_MEMORY_pin_save_area_2], 0);
    assert_int_equal(miniport_query_adapter_info(layer, NULL, &query), STATUS_SUCCESS);
    assert_true(nt_set_save_area(kernel->nt, area.MaximumSize));
    assert_int_equal(miniport_set_power_state(layer, 0, PowerDeviceD3, PowerActionSleep), 0);
    assert_int_equal(miniport_set_power_state(layer, 0, PowerDeviceD0, PowerActionNone), 0);
    assert_true(nt_set_save_area(kernel->nt, 0));
    assert_int_equal(miniport_stop_device(layer), STATUS_SUCCESS);
    left = nt_device_memory_count(kernel->nt, &bytes);
    assert_int_equal(left, 0);
    assert_int_equal(nt_pool_live_blocks(kernel->nt), 0);
    assert_int_equal(machine_free_page_count(kernel->machine), free_pages);
    miniport_destroy(layer);
    nt_bind(NULL);
    nt_destroy(kernel->nt);
    machine_destroy(kernel->machine);
    return had;
}

static void each_version_asks_by_its_own_callbacks(void **state)
{
    struct kernel kernel;

    assert_int_equal(play(&kernel, DXGKDDI_INTERFACE_VERSION_WDDM2_3, 0), 0);
    assert_int_equal(play(&kernel, DXGKDDI_INTERFACE_VERSION_WDDM2_4, 0), 5);
    for (unsigned kind = 0; kind < MINIPORT_MEMORY_COUNT; kind++)
        assert_int_equal(kernel.asked[kind], kind > MINIPORT_MEMORY_unmap_mdl ? 0
                                             : kind < MINIPORT_MEMORY_map_mdl ? 2
                                                                              : 1);
    assert_int_equal(play(&kernel, DXGKDDI_INTERFACE_VERSION_WDDM2_9, 0), 4);
    for (unsigned kind = MINIPORT_MEMORY_create_object; kind < MINIPORT_MEMORY_COUNT; kind++)
        assert_true(kernel.asked[kind] > 0 || miniport_memory_is_old(kind));
    assert_int_equal(kernel.asked[MINIPORT_MEMORY_pin_save_area_2], 1);
    assert_int_equal(kernel.asked[MINIPORT_MEMORY_unpin_save_area], 1);
    assert_int_equal(kernel.asked[MINIPORT_MEMORY_map_save_area], 1);
    assert_int_equal(kernel.asked[MINIPORT_MEMORY_unmap_save_area], 1);
    assert_int_equal(kernel.asked[MINIPORT_MEMORY_open_object], 3);
    assert_int_equal(kernel.asked[MINIPORT_MEMORY_close_object], 2);
    assert_int_equal(kernel.asked[MINIPORT_MEMORY_free_adl], 4);
}

/* What it does not get it does not give back. */
static void it_does_without_what_the_kernel_lacks(void **state)
{
    for (unsigned kind = 0; kind < MINIPORT_MEMORY_COUNT; kind++) {
        struct kernel kernel;
        const ULONG level = miniport_memory_is_old(kind) ? DXGKDDI_INTERFACE_VERSION_WDDM2_4
                                                         : DXGKDDI_INTERFACE_VERSION_WDDM3_2;

        if (kind == MINIPORT_MEMORY_allocate_pages || kind == MINIPORT_MEMORY_map_mdl ||
            kind == MINIPORT_MEMORY_allocate_contiguous || kind == MINIPORT_MEMORY_create_object ||
            kind == MINIPORT_MEMORY_open_object || kind == MINIPORT_MEMORY_map_object ||
            kind == MINIPORT_MEMORY_allocate_adl || kind == MINIPORT_MEMORY_map_save_area ||
            kind == MINIPORT_MEMORY_pin_save_area_2)
            play(&kernel, level, 1u << kind);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_version_asks_by_its_own_callbacks),
        cmocka_unit_test(it_does_without_what_the_kernel_lacks),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
