/* Interrupts that a driver connects itself, and configuration space by bus and slot. */
#include "nt/rig/test_threads.h"

#include "machine/machine_pci.h"

#include <string.h>
#include <wdm.h>

static struct {
    unsigned calls;
    PKINTERRUPT interrupt;
    ULONG message;
    KIRQL irql;
    BOOLEAN answer;
} isr;

static BOOLEAN NTAPI serve_line(PKINTERRUPT interrupt, PVOID context)
{
    assert_ptr_equal(context, &isr);
    isr.calls++;
    isr.interrupt = interrupt;
    isr.irql = KeGetCurrentIrql();
    return isr.answer;
}

static BOOLEAN NTAPI serve_message(PKINTERRUPT interrupt, PVOID context, ULONG message)
{
    isr.message = message;
    return serve_line(interrupt, context);
}

static BOOLEAN NTAPI count_up(PVOID context)
{
    assert_int_equal(KeGetCurrentIrql(), NT_DEVICE_IRQL);
    return ++*(unsigned *)context == 3;
}

static IO_CONNECT_INTERRUPT_PARAMETERS by_line(PKINTERRUPT *interrupt)
{
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = {.Version = CONNECT_LINE_BASED};

    memset(&isr, 0, sizeof isr);
    parameters.LineBased.PhysicalDeviceObject = nt_physical_device(test.nt);
    parameters.LineBased.InterruptObject = interrupt;
    parameters.LineBased.ServiceRoutine = serve_line;
    parameters.LineBased.ServiceContext = &isr;
    return parameters;
}

static void set_messages(uint32_t count)
{
    struct machine_pci pci = *machine_pci(test.machine);

    pci.message_count = count;
    assert_true(machine_set_pci(test.machine, &pci));
}

static void disconnect(ULONG version, PVOID what)
{
    IO_DISCONNECT_INTERRUPT_PARAMETERS parameters = {.Version = version};

    parameters.ConnectionContext.Generic = what;
    IoDisconnectInterruptEx(&parameters);
}

static void the_line_runs_routines_until_one_says_that_it_was_its_own(void **state)
{
    PKINTERRUPT first = NULL, second = NULL;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = by_line(&first);
    KSPIN_LOCK lock = 0;

    assert_false(nt_interrupt(test.nt, 0)); /* nobody is connected */
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_SUCCESS);
    parameters.LineBased.InterruptObject = &second;
    parameters.LineBased.SpinLock = &lock;
    parameters.LineBased.SynchronizeIrql = NT_DEVICE_IRQL + 2;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_SUCCESS);

    assert_false(nt_interrupt(test.nt, 0));
    assert_int_equal(isr.calls, 2);
    assert_ptr_equal(isr.interrupt, second);
    assert_int_equal(isr.irql, NT_DEVICE_IRQL + 2);
    isr.answer = TRUE;
    assert_true(nt_interrupt(test.nt, 0));
    assert_int_equal(isr.calls, 3);
    assert_ptr_equal(isr.interrupt, first);
    assert_int_equal(isr.irql, NT_DEVICE_IRQL);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_false(nt_interrupt(test.nt, 1)); /* the board has no second */

    disconnect(CONNECT_LINE_BASED, first);
    disconnect(CONNECT_LINE_BASED, second);
    assert_no_misuse();
    assert_false(nt_interrupt(test.nt, 0));
    disconnect(CONNECT_LINE_BASED, second);
    assert_misuse("IoDisconnectInterruptEx: no interrupt is connected by that name");
}

static void messages_have_an_object_each(void **state)
{
    PIO_INTERRUPT_MESSAGE_INFO table = NULL;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = {.Version = CONNECT_MESSAGE_BASED};

    by_line(NULL);
    set_messages(3);
    parameters.MessageBased.PhysicalDeviceObject = nt_physical_device(test.nt);
    parameters.MessageBased.ConnectionContext.InterruptMessageTable = &table;
    parameters.MessageBased.MessageServiceRoutine = serve_message;
    parameters.MessageBased.ServiceContext = &isr;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_SUCCESS);
    assert_int_equal(parameters.Version, CONNECT_MESSAGE_BASED);
    assert_int_equal(table->MessageCount, 3);
    assert_int_equal(table->UnifiedIrql, NT_DEVICE_IRQL);
    assert_int_equal(table->MessageInfo[2].Vector, NT_FIRST_VECTOR + 2);
    isr.answer = TRUE;
    assert_true(nt_interrupt(test.nt, 2));
    assert_int_equal(isr.message, 2);
    assert_ptr_equal(isr.interrupt, table->MessageInfo[2].InterruptObject);
    assert_false(nt_interrupt(test.nt, 3));

    parameters = by_line(&(PKINTERRUPT){NULL});
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_INVALID_DEVICE_REQUEST);
    disconnect(CONNECT_LINE_BASED, table);
    assert_misuse("Version is 2; it is the one that IoConnectInterruptEx returned, 3");
}

static void without_messages_the_fallback_gets_the_line(void **state)
{
    PVOID context = NULL;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = {.Version = CONNECT_MESSAGE_BASED};

    by_line(NULL);
    parameters.MessageBased.PhysicalDeviceObject = nt_physical_device(test.nt);
    parameters.MessageBased.ConnectionContext.Generic = &context;
    parameters.MessageBased.MessageServiceRoutine = serve_message;
    parameters.MessageBased.ServiceContext = &isr;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_NOT_FOUND);
    parameters.MessageBased.FallBackServiceRoutine = serve_line;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_SUCCESS);
    assert_int_equal(parameters.Version, CONNECT_LINE_BASED);
    assert_false(nt_interrupt(test.nt, 0));
    assert_ptr_equal(isr.interrupt, context);
    test_find_leftovers();
    assert_int_equal(test.left_count, 1);
    assert_non_null(strstr(test.left, "an interrupt that the driver connected"));
    disconnect(CONNECT_LINE_BASED, context);
    assert_no_misuse();
}

static void wrong_parameters_connect_nothing(void **state)
{
    PKINTERRUPT interrupt = NULL;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = by_line(&interrupt);

    parameters.Version = 0;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_INVALID_PARAMETER_1);
    parameters.Version = CONNECT_LINE_BASED;
    parameters.LineBased.PhysicalDeviceObject = NULL;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_INVALID_PARAMETER);
    assert_int_equal(IoConnectInterrupt(&interrupt, serve_line, &isr, NULL, NT_FIRST_VECTOR + 1,
                                        NT_DEVICE_IRQL, NT_DEVICE_IRQL, LevelSensitive, TRUE, 1,
                                        FALSE),
                     STATUS_INVALID_PARAMETER); /* nobody has that vector */
    assert_null(interrupt);
    assert_int_equal(IoConnectInterrupt(&interrupt, serve_line, &isr, NULL, NT_FIRST_VECTOR,
                                        NT_DEVICE_IRQL, NT_DEVICE_IRQL, LevelSensitive, TRUE, 0,
                                        FALSE),
                     STATUS_INVALID_PARAMETER); /* no processor */
    parameters = by_line(&interrupt);
    failing_services_fail_at(&test.memory, 1);
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_INSUFFICIENT_RESOURCES);
    assert_false(nt_interrupt(test.nt, 0));
    assert_int_equal(isr.calls, 0);
}

static void code_is_synchronized_with_the_routine(void **state)
{
    PKINTERRUPT interrupt = NULL;
    KSPIN_LOCK lock = 0;
    unsigned count = 1;
    KIRQL irql;

    memset(&isr, 0, sizeof isr);
    assert_int_equal(IoConnectInterrupt(&interrupt, serve_line, &isr, &lock, NT_FIRST_VECTOR,
                                        NT_DEVICE_IRQL, NT_DEVICE_IRQL, LevelSensitive, TRUE, 1,
                                        FALSE),
                     STATUS_SUCCESS);
    assert_false(KeSynchronizeExecution(interrupt, count_up, &count));
    assert_true(KeSynchronizeExecution(interrupt, count_up, &count));
    assert_int_equal(count, 3);

    irql = KeAcquireInterruptSpinLock(interrupt);
    assert_int_equal(irql, PASSIVE_LEVEL);
    assert_int_equal(KeGetCurrentIrql(), NT_DEVICE_IRQL);
    assert_int_equal(lock, 1);
    assert_int_equal(nt_held_lock_count(test.nt), 1);
    KeReleaseInterruptSpinLock(interrupt, irql);
    assert_int_equal(lock, 0);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);

    nt_set_irql(test.nt, NT_DEVICE_IRQL + 1);
    KeReleaseInterruptSpinLock(interrupt, KeAcquireInterruptSpinLock(interrupt));
    nt_set_irql(test.nt, PASSIVE_LEVEL);
    assert_misuse("KeAcquireInterruptSpinLock is called at IRQL 6; it is for IRQL 5 at most");
    IoDisconnectInterrupt(interrupt);
    assert_no_misuse();
    assert_false(KeSynchronizeExecution(interrupt, count_up, &count));
    assert_misuse("KeSynchronizeExecution: no interrupt is connected by that name");
}

static BOOLEAN NTAPI disconnect_itself(PKINTERRUPT interrupt, PVOID context)
{
    IoDisconnectInterrupt(interrupt);
    return FALSE;
}

static void a_routine_does_not_end_its_own_connection(void **state)
{
    PKINTERRUPT interrupt = NULL;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = by_line(&interrupt);

    parameters.LineBased.ServiceRoutine = disconnect_itself;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_SUCCESS);
    assert_false(nt_interrupt(test.nt, 0));
    assert_misuse("IoDisconnectInterrupt is called at IRQL 5; it is for IRQL 0 at most");
    disconnect(CONNECT_LINE_BASED, interrupt); /* it is still there */
    assert_no_misuse();
}

static void a_lock_is_acquired_once(void **state)
{
    PKINTERRUPT interrupt = NULL;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = by_line(&interrupt);

    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_SUCCESS);
    KeAcquireInterruptSpinLock(interrupt);
    assert_stops(0xF, KeAcquireInterruptSpinLock(interrupt));
}

static void memory_with_the_lock_of_an_interrupt_is_kept(void **state)
{
    PKSPIN_LOCK lock = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof *lock, TEST_TAG);
    PKINTERRUPT interrupt = NULL;
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = by_line(&interrupt);

    parameters.LineBased.SpinLock = lock;
    assert_int_equal(IoConnectInterruptEx(&parameters), STATUS_SUCCESS);
    ExFreePoolWithTag(lock, TEST_TAG);
    assert_misuse("memory is freed that holds the spin lock of a connected interrupt");
}

/* ---- Bus data -------------------------------------------------------------------------------- */

static void the_board_is_on_its_bus(void **state)
{
    const struct machine_pci *pci = machine_pci(test.machine);
    PCI_COMMON_HEADER header = {0};
    UCHAR line = 9;
    USHORT vendor = 0;

    assert_int_equal(HalGetBusData(PCIConfiguration, 1, 0, &header, sizeof header), sizeof header);
    assert_int_equal(header.VendorID, pci->vendor_id);
    assert_int_equal(header.DeviceID, pci->device_id);
    assert_int_equal(HalSetBusDataByOffset(PCIConfiguration, 1, 0, &line, 0x3c, 1), 1);
    line = 0;
    assert_int_equal(HalGetBusDataByOffset(PCIConfiguration, 1, 0, &line, 0x3c, 1), 1);
    assert_int_equal(line, 9);
    line = 7;
    assert_int_equal(HalSetBusData(PCIConfiguration, 1, 0, &line, 1), 1); /* is lost: an identity */
    assert_int_equal(HalGetBusData(PCIConfiguration, 1, 0, &vendor, 2), 2);
    assert_int_equal(vendor, pci->vendor_id);

    assert_int_equal(HalGetBusData(PCIConfiguration, 1, 1, &vendor, 2), 2);
    assert_int_equal(vendor, PCI_INVALID_VENDORID);
    assert_int_equal(HalGetBusDataByOffset(PCIConfiguration, 1, 1, &vendor, 4, 2), 0);
    assert_int_equal(HalSetBusData(PCIConfiguration, 1, 1, &vendor, 2), 0);
    assert_int_equal(HalGetBusData(PCIConfiguration, 2, 0, &vendor, 2), 0);
    assert_int_equal(HalGetBusData(EisaConfiguration, 1, 0, &vendor, 2), 0);
}

static void addresses_of_the_bus_are_those_of_the_processor(void **state)
{
    PHYSICAL_ADDRESS address = {.QuadPart = 0x123456789}, translated = {.QuadPart = 0};
    ULONG space = 0;

    assert_true(HalTranslateBusAddress(PCIBus, 1, address, &space, &translated));
    assert_int_equal(translated.QuadPart, 0x123456789);
    assert_int_equal(space, 0);
    assert_false(HalTranslateBusAddress(Isa, 1, address, &space, &translated));
    assert_false(HalTranslateBusAddress(PCIBus, 0, address, &space, &translated));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        MACHINE_TEST(the_line_runs_routines_until_one_says_that_it_was_its_own),
        MACHINE_TEST(messages_have_an_object_each),
        MACHINE_TEST(without_messages_the_fallback_gets_the_line),
        MACHINE_TEST(wrong_parameters_connect_nothing),
        MACHINE_TEST(code_is_synchronized_with_the_routine),
        MACHINE_TEST(a_routine_does_not_end_its_own_connection),
        MACHINE_TEST(a_lock_is_acquired_once),
        MACHINE_TEST(memory_with_the_lock_of_an_interrupt_is_kept),
        MACHINE_TEST(the_board_is_on_its_bus),
        MACHINE_TEST(addresses_of_the_bus_are_those_of_the_processor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
