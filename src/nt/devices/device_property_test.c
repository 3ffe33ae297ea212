/* Properties and interfaces of the device, its resources, and files, of which there are none. */
#include "nt/rig/test_threads.h"

#include "machine/machine_pci.h"

#include <string.h>
#include <wdm.h>

static DEVICE_OBJECT *const pdo = (DEVICE_OBJECT *)&test; /* never looked into */

static const char *narrow(const WCHAR *text, size_t count)
{
    static char out[512];

    for (size_t i = 0; i < count; i++)
        out[i] = text[i] ? (char)text[i] : '|';
    out[count] = '\0';
    return out;
}

static const char *text_of(DEVICE_REGISTRY_PROPERTY property)
{
    WCHAR text[512];
    ULONG bytes, needed;

    assert_int_equal(IoGetDeviceProperty(pdo, property, 2, text, &needed), STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(IoGetDeviceProperty(pdo, property, sizeof text, text, &bytes), STATUS_SUCCESS);
    assert_int_equal(bytes, needed);
    return narrow(text, bytes / sizeof(WCHAR));
}

static void the_bus_knows_the_device(void **state)
{
    struct machine_pci pci = machine_pci_nameless();
    ULONG number, bytes;
    GUID guid;

    pci.vendor_id = 0x1414;
    pci.device_id = 0xe0;
    pci.subsystem_vendor_id = 0x1af4;
    pci.subsystem_id = 0x1100;
    pci.revision = 4;
    pci.class_code = 0x030000;
    assert_true(machine_set_pci(test.machine, &pci));
    assert_string_equal(text_of(DevicePropertyHardwareID),
                        "PCI\\VEN_1414&DEV_00E0&SUBSYS_11001AF4&REV_04|"
                        "PCI\\VEN_1414&DEV_00E0&SUBSYS_11001AF4|"
                        "PCI\\VEN_1414&DEV_00E0&CC_030000|PCI\\VEN_1414&DEV_00E0&CC_0300||");
    assert_string_equal(text_of(DevicePropertyCompatibleIDs),
                        "PCI\\VEN_1414&DEV_00E0&REV_04|PCI\\VEN_1414&DEV_00E0|"
                        "PCI\\VEN_1414&CC_030000|PCI\\VEN_1414&CC_0300|PCI\\VEN_1414|"
                        "PCI\\CC_030000|PCI\\CC_0300||");
    assert_string_equal(text_of(DevicePropertyDriverKeyName),
                        "{4d36e968-e325-11ce-bfc1-08002be10318}\\0000|");
    assert_string_equal(text_of(DevicePropertyEnumeratorName), "PCI|");
    assert_int_equal(IoGetDeviceProperty(pdo, DevicePropertyLegacyBusType, 4, &number, &bytes),
                     STATUS_SUCCESS);
    assert_int_equal(number, PCIBus);
    assert_int_equal(IoGetDeviceProperty(pdo, DevicePropertyBusTypeGuid, 16, &guid, &bytes),
                     STATUS_SUCCESS);
    assert_int_equal(guid.Data1, 0xc8ebdfb0);
    assert_int_equal(IoGetDeviceProperty(pdo, DevicePropertyFriendlyName, 4, &number, &bytes),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(IoGetDeviceProperty(pdo, (DEVICE_REGISTRY_PROPERTY)99, 4, &number, &bytes),
                     STATUS_INVALID_PARAMETER_2);
    assert_no_misuse();
    nt_set_irql(test.nt, APC_LEVEL);
    IoGetDeviceProperty(pdo, DevicePropertyAddress, 4, &number, &bytes);
    assert_misuse("IoGetDeviceProperty is called at IRQL 1; it is for IRQL 0 at most");
    nt_set_irql(test.nt, PASSIVE_LEVEL);
}

static void the_driver_keeps_properties(void **state)
{
    const DEVPROPKEY key = {{1, 2, 3, {4}}, 7}, other = {{1, 2, 3, {4}}, 8};
    ULONG value = 0x1234, out = 0, needed;
    DEVPROPTYPE type = 0;

    assert_int_equal(IoSetDevicePropertyData(pdo, &key, LOCALE_NEUTRAL, 0, 7, 4, &value),
                     STATUS_SUCCESS);
    value = 0x5678;
    assert_int_equal(IoSetDevicePropertyData(pdo, &key, LOCALE_NEUTRAL, 0, 7, 4, &value),
                     STATUS_SUCCESS);
    assert_int_equal(IoGetDevicePropertyData(pdo, &key, LOCALE_NEUTRAL, 0, 2, &out, &needed, &type),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(needed, 4);
    assert_int_equal(IoGetDevicePropertyData(pdo, &key, LOCALE_NEUTRAL, 0, 4, &out, &needed, &type),
                     STATUS_SUCCESS);
    assert_int_equal(out, 0x5678);
    assert_int_equal(type, 7);
    assert_int_equal(IoGetDevicePropertyData(pdo, &other, 0, 0, 4, &out, &needed, &type),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(IoSetDevicePropertyData(pdo, &key, LOCALE_NEUTRAL, 0, 7, 0, NULL),
                     STATUS_SUCCESS);
    assert_int_equal(IoGetDevicePropertyData(pdo, &key, LOCALE_NEUTRAL, 0, 4, &out, &needed, &type),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    /* teardown: one that is left is freed */
    assert_int_equal(IoSetDevicePropertyData(pdo, &other, 0, 0, 7, 4, &value), STATUS_SUCCESS);
}

static const GUID class_guid = {0x12345678, 1, 2, {3, 4, 5, 6, 7, 8, 9, 10}};

static void interfaces_are_enabled_and_disabled(void **state)
{
    static WCHAR reference_text[] = {'a', 'b'}, bad_text[] = {'a', '\\'};
    UNICODE_STRING reference = {4, 4, reference_text}, bad = {4, 4, bad_text};
    UNICODE_STRING first, second, again;
    PZZWSTR list;

    assert_int_equal(IoRegisterDeviceInterface(pdo, &class_guid, &bad, &first),
                     STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(IoRegisterDeviceInterface(NULL, &class_guid, NULL, &first),
                     STATUS_INVALID_DEVICE_REQUEST);
    assert_int_equal(IoRegisterDeviceInterface(pdo, &class_guid, NULL, &first), STATUS_SUCCESS);
    assert_int_equal(IoRegisterDeviceInterface(pdo, &class_guid, &reference, &second),
                     STATUS_SUCCESS);
    assert_int_equal(IoRegisterDeviceInterface(pdo, &class_guid, NULL, &again), STATUS_SUCCESS);
    assert_true(RtlEqualUnicodeString(&first, &again, FALSE));
    assert_false(RtlEqualUnicodeString(&first, &second, FALSE));
    assert_int_equal(IoSetDeviceInterfaceState(&second, FALSE), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(IoSetDeviceInterfaceState(&second, TRUE), STATUS_SUCCESS);
    assert_int_equal(IoSetDeviceInterfaceState(&second, TRUE), STATUS_OBJECT_NAME_EXISTS);

    assert_int_equal(IoGetDeviceInterfaces(&class_guid, NULL, 0, &list), STATUS_SUCCESS);
    assert_memory_equal(list, second.Buffer, second.Length);
    assert_int_equal(list[second.Length / 2], 0);
    assert_int_equal(list[second.Length / 2 + 1], 0);
    ExFreePool(list);
    assert_int_equal(
        IoGetDeviceInterfaces(&class_guid, pdo, DEVICE_INTERFACE_INCLUDE_NONACTIVE, &list),
        STATUS_SUCCESS);
    assert_memory_equal(list, first.Buffer, first.Length);
    ExFreePool(list);
    test_find_leftovers();
    assert_string_equal(test.left, "a device interface is still enabled");
    assert_int_equal(IoSetDeviceInterfaceState(&second, FALSE), STATUS_SUCCESS);
    test_find_leftovers();
    assert_int_equal(test.left_count, 0);
    RtlFreeUnicodeString(&first);
    RtlFreeUnicodeString(&second);
    RtlFreeUnicodeString(&again);
    assert_int_equal(nt_pool_live_blocks(test.nt), 0);
    assert_no_misuse();
}

static void long_resources_are_in_larger_units(void **state)
{
    static const struct {
        ULONGLONG length;
        USHORT flag;
    } rows[] = {{UINT64_C(0x1000), 0},
                {UINT64_C(0x100000000), CM_RESOURCE_MEMORY_LARGE_40},
                {UINT64_C(0x10000000000), CM_RESOURCE_MEMORY_LARGE_48},
                {UINT64_C(0x1000000000000), CM_RESOURCE_MEMORY_LARGE_64}};
    CM_PARTIAL_RESOURCE_DESCRIPTOR descriptor;
    ULONGLONG start;

    for (size_t i = 0; i < ARRAY_COUNT(rows); i++) {
        memset(&descriptor, 0, sizeof descriptor);
        assert_int_equal(RtlCmEncodeMemIoResource(&descriptor, CmResourceTypeMemory, rows[i].length,
                                                  UINT64_C(0x2000000000)),
                         STATUS_SUCCESS);
        assert_int_equal(descriptor.Flags, rows[i].flag);
        assert_int_equal(descriptor.Type,
                         rows[i].flag ? CmResourceTypeMemoryLarge : CmResourceTypeMemory);
        assert_int_equal(RtlCmDecodeMemIoResource(&descriptor, &start), rows[i].length);
        assert_int_equal(start, UINT64_C(0x2000000000));
    }
    assert_int_equal(
        RtlCmEncodeMemIoResource(&descriptor, CmResourceTypeMemory, UINT64_C(0x100000001), 0),
        STATUS_UNSUCCESSFUL);
    assert_int_equal(
        RtlCmEncodeMemIoResource(&descriptor, CmResourceTypePort, UINT64_C(0x100000000), 0),
        STATUS_UNSUCCESSFUL);
    assert_int_equal(RtlCmEncodeMemIoResource(&descriptor, CmResourceTypeInterrupt, 1, 0),
                     STATUS_INVALID_PARAMETER);
    assert_no_misuse();
    descriptor.Type = CmResourceTypeInterrupt;
    assert_int_equal(RtlCmDecodeMemIoResource(&descriptor, NULL), 0);
    assert_misuse("a resource of type 2 has no range");
}

static void no_file_can_be_opened_so_none_is_read(void **state)
{
    IO_STATUS_BLOCK result;
    UNICODE_STRING name = {0};
    OBJECT_ATTRIBUTES attributes;
    HANDLE file;
    UCHAR byte;

    InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE, NULL, NULL);
    assert_int_equal(ZwOpenFile(&file, GENERIC_READ, &attributes, &result, 0, 0),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(ZwCreateFile(&file, GENERIC_WRITE, &attributes, &result, NULL, 0, 0,
                                  FILE_CREATE, 0, NULL, 0),
                     STATUS_ACCESS_DENIED);
    assert_int_equal(ZwReadFile(file, NULL, NULL, NULL, &result, &byte, 1, NULL, NULL),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(ZwWriteFile(file, NULL, NULL, NULL, &result, &byte, 1, NULL, NULL),
                     STATUS_INVALID_HANDLE);
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    ZwQueryInformationFile(file, &result, &byte, 1, 5);
    assert_misuse("ZwQueryInformationFile is called at IRQL 2; it is for IRQL 0 at most");
    nt_set_irql(test.nt, PASSIVE_LEVEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(the_bus_knows_the_device),
        TEST(the_driver_keeps_properties),
        TEST(interfaces_are_enabled_and_disabled),
        TEST(long_resources_are_in_larger_units),
        TEST(no_file_can_be_opened_so_none_is_read),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
