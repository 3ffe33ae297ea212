/*
 * The host alone: a driver that registers or does not, what it learns about its device, and when
 * its deferred calls run.
 */
#include "bench/board/host.h"

#include "bench/board/foreign_registers.h"

#include <drydock/sgpu.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* ---- Registering ----------------------------------------------------------------------------- */

static NTSTATUS NTAPI register_vista(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    DRIVER_INITIALIZATION_DATA table = {.Version = DXGKDDI_INTERFACE_VERSION_VISTA};

    memset(&table.DxgkDdiAddDevice, 0x5a,
           sizeof table - offsetof(DRIVER_INITIALIZATION_DATA, DxgkDdiAddDevice));
    return DxgkInitialize(driver, path, &table);
}

static NTSTATUS NTAPI register_nothing(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI register_unknown_version(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    DRIVER_INITIALIZATION_DATA table = {.Version = DXGKDDI_INTERFACE_VERSION_VISTA - 1};

    return DxgkInitialize(driver, path, &table);
}

static struct nt *kernel_alone(void)
{
    struct nt *nt = nt_create(base_services_libc(), NULL, &(struct nt_host){0});

    nt_bind(nt);
    return nt;
}

static void a_table_is_read_as_far_as_its_version_goes(void **state)
{
    struct nt *nt = kernel_alone();
    DRIVER_INITIALIZATION_DATA data;

    assert_int_equal(host_load_driver(nt, register_vista, &data), STATUS_SUCCESS);
    assert_non_null((void *)data.DxgkDdiAddDevice);
    assert_null((void *)data.DxgkDdiSubmitCommandVirtual); /* WDDM 2.0 */
    nt_destroy(nt);
}

/* ---- The driver's object --------------------------------------------------------------------- */

static enum { REGISTER_ONLY, UNLOAD_BEFORE, UNLOAD_AFTER, CHAIN_AFTER, NO_UNLOAD, UNREGISTER } way;
static unsigned own_unloads, finishes;
static PDRIVER_UNLOAD unload_before;
static PDRIVER_DISPATCH dispatch_before;

static VOID NTAPI own_unload(PDRIVER_OBJECT driver)
{
    own_unloads++;
    assert_int_equal(finishes, 0);
    if (way == CHAIN_AFTER)
        unload_before(driver);
    else
        assert_int_equal(DxgkUnInitialize(driver), STATUS_SUCCESS);
    assert_int_equal(finishes, 1);
}

static void finish_unload(void *context)
{
    assert_ptr_equal(context, &finishes);
    finishes++;
}

static NTSTATUS NTAPI use_driver_object(PDRIVER_OBJECT driver, PUNICODE_STRING path)
{
    NTSTATUS status;

    assert_int_equal(driver->Type, 4);
    assert_int_equal(driver->Size, 0x150);
    assert_ptr_equal((void *)driver->DriverInit, (void *)use_driver_object);
    assert_ptr_equal(driver->DriverExtension->DriverObject, driver);
    assert_int_equal(driver->DriverName.Length, sizeof "\\Driver\\drydock" * 2 - 2);
    assert_null((void *)driver->DriverUnload);
    assert_null((void *)driver->DriverExtension->AddDevice);
    for (int i = 0; i <= IRP_MJ_MAXIMUM_FUNCTION; i++)
        assert_non_null((void *)driver->MajorFunction[i]);
    dispatch_before = driver->MajorFunction[IRP_MJ_PNP];
    if (way == UNLOAD_BEFORE)
        driver->DriverUnload = own_unload;
    status = register_vista(driver, path);
    assert_ptr_not_equal((void *)driver->MajorFunction[IRP_MJ_PNP], (void *)dispatch_before);
    assert_non_null((void *)driver->DriverExtension->AddDevice);
    unload_before = driver->DriverUnload;
    assert_non_null((void *)unload_before);
    assert_ptr_not_equal((void *)unload_before, (void *)own_unload); /* it was taken over */
    if (way == UNLOAD_AFTER || way == CHAIN_AFTER)
        driver->DriverUnload = own_unload;
    if (way == NO_UNLOAD)
        driver->DriverUnload = NULL;
    if (way == UNREGISTER) {
        assert_int_equal(DxgkUnInitialize(driver), STATUS_SUCCESS);
        assert_null((void *)driver->DriverUnload);
        assert_ptr_equal((void *)driver->MajorFunction[IRP_MJ_PNP], (void *)dispatch_before);
    }
    return status;
}

static void registering_takes_the_driver_s_object_over(void **state)
{
    static const unsigned own[] = {0, 0, 1, 1, 0, 0}, finished[] = {1, 1, 1, 1, 0, 0};
    DRIVER_INITIALIZATION_DATA data;

    for (way = REGISTER_ONLY; way <= UNREGISTER; way++) {
        struct nt *nt = kernel_alone();

        own_unloads = finishes = 0;
        assert_int_equal(host_load_driver(nt, use_driver_object, &data),
                         way == UNREGISTER ? HOST_STATUS_NOT_REGISTERED : STATUS_SUCCESS);
        /* Behind DriverEntry nobody registers any more. */
        assert_int_equal(register_vista(nt_driver_object(nt), &(UNICODE_STRING){0}),
                         STATUS_INVALID_PARAMETER);
        assert_true(nt_unload_driver(nt, finish_unload, &finishes));
        assert_int_equal(own_unloads, own[way]);
        assert_int_equal(finishes, finished[way]);
        nt_destroy(nt);
    }
}

static void a_driver_that_registers_nothing_is_not_ready(void **state)
{
    struct nt *nt = kernel_alone();
    DRIVER_INITIALIZATION_DATA data;

    assert_int_equal(host_load_driver(nt, register_nothing, &data), HOST_STATUS_NOT_REGISTERED);
    assert_int_equal(host_load_driver(nt, register_unknown_version, &data),
                     STATUS_REVISION_MISMATCH);
    assert_int_equal(data.Version, DXGKDDI_INTERFACE_VERSION_VISTA - 1);
    nt_destroy(nt);
}

/* ---- Services -------------------------------------------------------------------------------- */

struct rig {
    struct machine *machine;
    struct foreign_registers *registers;
    struct nt *nt;
    struct bench_host host;
    struct miniport_ops ops;
    struct miniport driver;
    unsigned dpc_count;
    KIRQL dpc_irql;
};

static struct rig *rig_of(struct miniport *driver)
{
    return (struct rig *)((char *)driver - offsetof(struct rig, driver));
}

static void note_dpc(struct miniport *driver)
{
    rig_of(driver)->dpc_count++;
    rig_of(driver)->dpc_irql = nt_irql(rig_of(driver)->nt);
}

static void ignore_host(struct miniport *driver, struct miniport_host *host)
{
}

static void stop_here(void *context, uint32_t code, const uint64_t parameters[4])
{
    fail_msg("bug check 0x%x", code);
}

static void rig_open(struct rig *rig, uint64_t local_bytes)
{
    const struct nt_host nt_host = {.bug_check = stop_here};
    struct machine_config config;

    memset(rig, 0, sizeof *rig);
    machine_config_defaults(&config, 1);
    config.local_bytes = local_bytes;
    config.visible_bytes = local_bytes;
    rig->machine = machine_create(base_services_libc(), &config);
    assert_non_null(rig->machine);
    assert_null(foreign_registers_open(base_services_libc(), rig->machine, NULL, &rig->registers));
    rig->nt = nt_create(base_services_libc(), rig->machine, &nt_host);
    assert_non_null(rig->nt);
    assert_int_equal(host_init(&rig->host, rig->machine, rig->nt), STATUS_SUCCESS);
    rig->ops = miniport_forward_ops;
    rig->ops.dpc = note_dpc;
    rig->ops.set_host = ignore_host;
    rig->driver.ops = &rig->ops;
    host_set_miniport(&rig->host, &rig->driver);
}

static void rig_close(struct rig *rig)
{
    host_set_miniport(&rig->host, NULL);
    host_fini(&rig->host);
    nt_destroy(rig->nt);
    foreign_registers_close(rig->registers);
    machine_destroy(rig->machine);
}

static void the_device_has_two_ranges_and_a_line_whatever_their_size(void **state)
{
    struct rig rig;
    DXGK_DEVICE_INFO info;
    const CM_PARTIAL_RESOURCE_LIST *list;

    rig_open(&rig, 256 * MiB);
    assert_int_equal(rig.host.base.ops->get_device_information(&rig.host.base, &info),
                     STATUS_SUCCESS);
    assert_ptr_equal(info.PhysicalDeviceObject, nt_physical_device(rig.nt));
    assert_true(info.DeviceRegistryPath.Length > 20);
    list = &info.TranslatedResourceList->List[0].PartialResourceList;
    assert_int_equal(list->Count, 3);
    assert_int_equal(list->PartialDescriptors[0].u.Memory.Start.QuadPart,
                     machine_bar0_pa(rig.machine));
    assert_int_equal(list->PartialDescriptors[0].u.Memory.Length, FOREIGN_REGISTER_BYTES);
    assert_int_equal((list->PartialDescriptors + 1)->Type, CmResourceTypeMemory);
    assert_int_equal((list->PartialDescriptors + 1)->u.Memory.Length, 256 * MiB);
    assert_int_equal((list->PartialDescriptors + 2)->Type, CmResourceTypeInterrupt);
    assert_int_equal((list->PartialDescriptors + 2)->Flags, CM_RESOURCE_INTERRUPT_LEVEL_SENSITIVE);
    assert_int_equal((list->PartialDescriptors + 2)->u.Interrupt.Level, NT_DEVICE_IRQL);
    rig_close(&rig);

    rig_open(&rig, 40 * GiB);
    rig.host.base.ops->get_device_information(&rig.host.base, &info);
    list = &info.TranslatedResourceList->List[0].PartialResourceList;
    assert_int_equal((list->PartialDescriptors + 1)->Type, CmResourceTypeMemoryLarge);
    assert_true((list->PartialDescriptors + 1)->Flags & CM_RESOURCE_MEMORY_LARGE_40);
    assert_int_equal((uint64_t)(list->PartialDescriptors + 1)->u.Memory40.Length40 * 256, 40 * GiB);
    rig_close(&rig);
}

static void the_list_follows_the_boards_base_addresses_and_messages(void **state)
{
    struct rig rig;
    DXGK_DEVICE_INFO info;
    const CM_PARTIAL_RESOURCE_DESCRIPTOR *descriptor;
    struct machine_pci pci = machine_pci_nameless();

    rig_open(&rig, MiB);
    host_set_miniport(&rig.host, NULL);
    host_fini(&rig.host);
    pci.message_count = 2;
    pci.bars[2] = (struct machine_pci_bar){4096, machine_bar0_pa(rig.machine) + 4096, false};
    pci.bars[4] = (struct machine_pci_bar){4096, machine_bar0_pa(rig.machine), false};
    pci.others[5] = (struct machine_pci_bar){8192, machine_bar0_pa(rig.machine) + 8192, false};
    assert_true(machine_set_pci(rig.machine, &pci));
    assert_int_equal(host_init(&rig.host, rig.machine, rig.nt), STATUS_SUCCESS);
    rig.host.base.ops->get_device_information(&rig.host.base, &info);
    assert_int_equal(info.TranslatedResourceList->List[0].PartialResourceList.Count, 5);
    descriptor = info.TranslatedResourceList->List[0].PartialResourceList.PartialDescriptors;
    assert_int_equal(descriptor[0].u.Memory.Start.QuadPart, machine_bar0_pa(rig.machine) + 4096);
    descriptor++;
    assert_int_equal(descriptor->u.Memory.Start.QuadPart, machine_bar0_pa(rig.machine));
    descriptor++;
    assert_int_equal(descriptor->Type, CmResourceTypeMemory);
    assert_int_equal(descriptor->u.Memory.Length, 8192);
    assert_int_equal(descriptor->u.Memory.Start.QuadPart, machine_bar0_pa(rig.machine) + 8192);
    for (unsigned i = 0; i < 2; i++) {
        descriptor++;
        assert_int_equal(descriptor->Type, CmResourceTypeInterrupt);
        assert_int_equal(descriptor->Flags,
                         CM_RESOURCE_INTERRUPT_LATCHED | CM_RESOURCE_INTERRUPT_MESSAGE);
    }
    assert_int_not_equal(descriptor->u.MessageInterrupt.Translated.Vector,
                         descriptor[-1].u.MessageInterrupt.Translated.Vector);
    rig_close(&rig);
}

static void configuration_space_is_the_one_space_there_is(void **state)
{
    struct rig rig;
    USHORT ids[2] = {0};
    UCHAR line = 9;
    struct miniport_space space = {DXGK_WHICHSPACE_CONFIG, ids, 0, sizeof ids, 0};
    struct miniport_space written = {DXGK_WHICHSPACE_CONFIG, &line, 0x3c, 1, 0};

    rig_open(&rig, MiB);
    assert_int_equal(rig.host.base.ops->read_device_space(&rig.host.base, &space), STATUS_SUCCESS);
    assert_int_equal(space.done, sizeof ids);
    assert_int_equal(ids[0], MACHINE_PCI_NO_VENDOR);
    assert_int_equal(ids[1], MACHINE_PCI_NO_DEVICE);
    assert_int_equal(rig.host.base.ops->write_device_space(&rig.host.base, &written),
                     STATUS_SUCCESS);
    space.offset = 0x3c;
    assert_int_equal(rig.host.base.ops->read_device_space(&rig.host.base, &space), STATUS_SUCCESS);
    assert_int_equal(ids[0] & 0xff, 9);
    space.offset = 4096;
    space.done = 0;
    assert_int_equal(rig.host.base.ops->read_device_space(&rig.host.base, &space),
                     STATUS_UNSUCCESSFUL);
    space.type = DXGK_WHICHSPACE_ROM;
    assert_int_equal(rig.host.base.ops->read_device_space(&rig.host.base, &space),
                     STATUS_UNSUCCESSFUL);
    space.type = 77;
    assert_int_equal(rig.host.base.ops->write_device_space(&rig.host.base, &space),
                     STATUS_INVALID_PARAMETER);
    assert_int_equal(space.done, 0);
    rig_close(&rig);
}

static void a_dpc_queued_twice_runs_once_and_later_at_dispatch_level(void **state)
{
    struct rig rig;
    uint64_t start;

    rig_open(&rig, MiB);
    start = machine_now(rig.machine);
    assert_true(rig.host.base.ops->queue_dpc(&rig.host.base));
    assert_false(rig.host.base.ops->queue_dpc(&rig.host.base));
    assert_int_equal(rig.dpc_count, 0);
    while (machine_run_next(rig.machine))
        ;
    assert_int_equal(rig.dpc_count, 1);
    assert_int_equal(rig.dpc_irql, DISPATCH_LEVEL);
    assert_int_equal(nt_irql(rig.nt), PASSIVE_LEVEL);
    assert_true(machine_now(rig.machine) > start);
    assert_true(rig.host.base.ops->queue_dpc(&rig.host.base));
    rig_close(&rig); /* with one still queued */
}

static BOOLEAN NTAPI note_irql(PVOID context)
{
    struct rig *rig = context;

    rig->dpc_irql = nt_irql(rig->nt);
    return 42;
}

static void a_synchronised_routine_runs_at_device_irql(void **state)
{
    struct rig rig;
    BOOLEAN result = 0;

    rig_open(&rig, MiB);
    assert_int_equal(
        rig.host.base.ops->synchronize_execution(&rig.host.base, note_irql, &rig, 0, &result),
        STATUS_SUCCESS);
    assert_int_equal(result, 42);
    assert_int_equal(rig.dpc_irql, NT_DEVICE_IRQL);
    assert_int_equal(
        rig.host.base.ops->synchronize_execution(&rig.host.base, note_irql, &rig, 1, &result),
        STATUS_INVALID_PARAMETER);
    rig_close(&rig);
}

static void what_is_mapped_is_unmapped_once(void **state)
{
    struct rig rig;
    PHYSICAL_ADDRESS window;
    PVOID address;

    rig_open(&rig, MiB);
    window.QuadPart = (LONGLONG)machine_bar1_pa(rig.machine);
    assert_int_equal(rig.host.base.ops->map_memory(&rig.host.base, window, 8192, FALSE, FALSE,
                                                   MmWriteCombined, &address),
                     STATUS_SUCCESS);
    memcpy(address, "drydock", 8);
    assert_int_equal(rig.host.base.ops->unmap_memory(&rig.host.base, address), STATUS_SUCCESS);
    assert_int_equal(rig.host.base.ops->unmap_memory(&rig.host.base, address),
                     STATUS_INVALID_PARAMETER);
    window.QuadPart = INT64_C(1) << 60;
    assert_int_equal(rig.host.base.ops->map_memory(&rig.host.base, window, 4096, FALSE, FALSE,
                                                   MmNonCached, &address),
                     STATUS_INVALID_PARAMETER);
    assert_null(address);
    rig_close(&rig);
}

static void count_lacking(void *context, const char *callback)
{
    unsigned *count = context;

    assert_true(strcmp(callback, "DxgkCbSignalEvent") == 0 ||
                strcmp(callback, "DxgkCbQueryServices") == 0);
    ++*count;
}

static void a_callback_that_is_lacking_is_told_once(void **state)
{
    static const char *const calls[] = {"DxgkCbSignalEvent", "DxgkCbSignalEvent",
                                        "DxgkCbQueryServices", "DxgkCbSignalEvent"};
    unsigned count = 0;
    struct rig rig;

    rig_open(&rig, MiB);
    rig.host.lacks = count_lacking;
    rig.host.lacks_context = &count;
    for (size_t i = 0; i < ARRAY_COUNT(calls); i++)
        rig.host.base.ops->unsupported(&rig.host.base, calls[i]);
    assert_int_equal(count, 2);
    rig_close(&rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read_as_far_as_its_version_goes),
        cmocka_unit_test(a_driver_that_registers_nothing_is_not_ready),
        cmocka_unit_test(registering_takes_the_driver_s_object_over),
        cmocka_unit_test(the_device_has_two_ranges_and_a_line_whatever_their_size),
        cmocka_unit_test(the_list_follows_the_boards_base_addresses_and_messages),
        cmocka_unit_test(configuration_space_is_the_one_space_there_is),
        cmocka_unit_test(a_dpc_queued_twice_runs_once_and_later_at_dispatch_level),
        cmocka_unit_test(a_synchronised_routine_runs_at_device_irql),
        cmocka_unit_test(what_is_mapped_is_unmapped_once),
        cmocka_unit_test(a_callback_that_is_lacking_is_told_once),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
