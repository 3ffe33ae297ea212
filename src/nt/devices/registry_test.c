#include "nt/rig/test_kernel.h"

#include <stddef.h>
#include <string.h>

#define SERVICE "\\Registry\\Machine\\System\\CurrentControlSet\\Services\\drydock"

static NTSTATUS open_key(HANDLE root, UNICODE_STRING name, HANDLE *out)
{
    OBJECT_ATTRIBUTES attributes;

    InitializeObjectAttributes(&attributes, &name, OBJ_CASE_INSENSITIVE | OBJ_KERNEL_HANDLE, root,
                               NULL);
    return ZwOpenKey(out, KEY_READ, &attributes);
}

static NTSTATUS create_key(HANDLE root, UNICODE_STRING name, HANDLE *out, ULONG *disposition)
{
    OBJECT_ATTRIBUTES attributes;

    InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE, root, NULL);
    return ZwCreateKey(out, KEY_ALL_ACCESS, &attributes, 0, NULL, REG_OPTION_VOLATILE, disposition);
}

static void a_case_may_put_values_into_the_keys_of_the_driver(void **state)
{
    struct test_kernel *kernel = *state;
    UNICODE_STRING name = U("RenderOnly");
    ULONG room[4], needed;
    const ULONG seven = 7;
    HANDLE key;

    assert_int_equal(nt_set_driver_value(kernel->nt, "RenderOnly", REG_DWORD, &seven, 4),
                     STATUS_SUCCESS);
    assert_int_equal(nt_set_driver_value(kernel->nt, "Below\\Deeper\\Bytes", REG_BINARY, "ab", 2),
                     STATUS_SUCCESS);
    assert_int_equal(
        nt_set_driver_value(kernel->nt, "\\Registry\\Machine\\Own\\V", REG_DWORD, &seven, 4),
        STATUS_SUCCESS);
    assert_int_equal(open_key(NULL, U(SERVICE), &key), STATUS_SUCCESS);
    assert_int_equal(
        ZwQueryValueKey(key, &name, KeyValuePartialInformation, room, sizeof room, &needed),
        STATUS_SUCCESS);
    assert_int_equal(room[1], REG_DWORD);
    assert_int_equal(room[3], 7);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    name = U("Bytes");
    assert_int_equal(open_key(NULL, U(SERVICE "\\Below\\Deeper"), &key), STATUS_SUCCESS);
    assert_int_equal(
        ZwQueryValueKey(key, &name, KeyValuePartialInformation, room, sizeof room, &needed),
        STATUS_SUCCESS);
    assert_int_equal(room[1], REG_BINARY);
    assert_int_equal(room[2], 2);
    assert_memory_equal(&room[3], "ab", 2);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    name = U("V");
    assert_int_equal(open_key(NULL, U("\\Registry\\Machine\\Own"), &key), STATUS_SUCCESS);
    assert_int_equal(
        ZwQueryValueKey(key, &name, KeyValuePartialInformation, room, sizeof room, &needed),
        STATUS_SUCCESS);
    assert_int_equal(room[3], 7);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
}

static void the_service_of_the_driver_is_there(void **state)
{
    UNICODE_STRING name = U("Start"), absent = U("Absent");
    ULONG room[4], needed;
    HANDLE key, other;

    assert_int_equal(open_key(NULL, U(SERVICE), &key), STATUS_SUCCESS);
    assert_int_equal(
        ZwQueryValueKey(key, &name, KeyValuePartialInformation, room, sizeof room, &needed),
        STATUS_SUCCESS);
    assert_int_equal(needed, 16);
    assert_int_equal(room[1], REG_DWORD);
    assert_int_equal(room[2], 4);
    assert_int_equal(room[3], 3);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, room, 14, &needed),
                     STATUS_BUFFER_OVERFLOW);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, NULL, 0, &needed),
                     STATUS_BUFFER_TOO_SMALL);
    assert_int_equal(needed, 16);
    assert_int_equal(ZwQueryValueKey(key, &absent, KeyValuePartialInformation, room, 16, &needed),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_string_equal(test.in_vain, "value:Absent=NUMBER");
    assert_int_equal(open_key(key, U("Parameters"), &other), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(create_key(key, U("Of mine"), &other, &needed), STATUS_SUCCESS);
    assert_int_equal(ZwQueryValueKey(other, &absent, KeyValuePartialInformation, room, 16, &needed),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_string_equal(test.in_vain, "value:Of%20mine\\Absent=NUMBER");
    assert_int_equal(ZwClose(other), STATUS_SUCCESS);
    assert_int_equal(open_key(NULL, U("\\Registry\\Machine\\Software"), &other), STATUS_SUCCESS);
    assert_int_equal(ZwQueryValueKey(other, &absent, KeyValuePartialInformation, room, 16, &needed),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_string_equal(test.in_vain, "value:\\Registry\\Machine\\Software\\Absent=NUMBER");
    assert_int_equal(ZwClose(other), STATUS_SUCCESS);
    assert_int_equal(open_key(NULL, U("relative"), &other), STATUS_OBJECT_PATH_SYNTAX_BAD);
    assert_int_equal(ZwClose(key), STATUS_SUCCESS);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, room, 16, &needed),
                     STATUS_INVALID_HANDLE);
}

static void keys_and_values_are_made_listed_and_deleted(void **state)
{
    union {
        KEY_BASIC_INFORMATION basic;
        KEY_FULL_INFORMATION full;
        KEY_VALUE_FULL_INFORMATION value;
        UCHAR bytes[128];
    } room;
    UNICODE_STRING alpha = U("Alpha"), beta = U("beta");
    ULONG disposition, needed, number = 77;
    HANDLE key, child;

    assert_int_equal(create_key(NULL, U(SERVICE "\\Parameters"), &key, &disposition),
                     STATUS_SUCCESS);
    assert_int_equal(disposition, REG_CREATED_NEW_KEY);
    assert_int_equal(create_key(key, U("Child"), &child, &disposition), STATUS_SUCCESS);
    ZwClose(child);
    assert_int_equal(create_key(key, U("CHILD"), &child, &disposition), STATUS_SUCCESS);
    assert_int_equal(disposition, REG_OPENED_EXISTING_KEY);
    ZwClose(child);
    assert_int_equal(ZwSetValueKey(key, &alpha, 0, REG_DWORD, &number, 4), STATUS_SUCCESS);
    assert_int_equal(ZwSetValueKey(key, &beta, 0, REG_BINARY, "abcdefg", 7), STATUS_SUCCESS);

    assert_int_equal(ZwQueryKey(key, KeyFullInformation, &room, sizeof room, &needed),
                     STATUS_SUCCESS);
    assert_int_equal(room.full.SubKeys, 1);
    assert_int_equal(room.full.Values, 2);
    assert_int_equal(room.full.MaxNameLen, 10);
    assert_int_equal(room.full.MaxValueDataLen, 7);
    assert_int_equal(ZwEnumerateKey(key, 0, KeyBasicInformation, &room, sizeof room, &needed),
                     STATUS_SUCCESS);
    test_assert_wide(room.basic.Name, "Child", room.basic.NameLength / 2);
    assert_int_equal(ZwEnumerateKey(key, 1, KeyBasicInformation, &room, sizeof room, &needed),
                     STATUS_NO_MORE_ENTRIES);
    assert_int_equal(
        ZwEnumerateValueKey(key, 1, KeyValueFullInformation, &room, sizeof room, &needed),
        STATUS_SUCCESS);
    test_assert_wide(room.value.Name, "beta", room.value.NameLength / 2);
    assert_int_equal(room.value.DataOffset % 4, 0);
    assert_int_equal(needed, room.value.DataOffset + 7);
    assert_memory_equal(room.bytes + room.value.DataOffset, "abcdefg", 7);
    assert_int_equal(
        ZwEnumerateValueKey(key, 2, KeyValueFullInformation, &room, sizeof room, &needed),
        STATUS_NO_MORE_ENTRIES);
    assert_int_equal(ZwDeleteValueKey(key, &alpha), STATUS_SUCCESS);
    assert_int_equal(ZwDeleteValueKey(key, &alpha), STATUS_OBJECT_NAME_NOT_FOUND);
    /* teardown: the handle that is left, and all keys, are freed */
}

static void a_key_is_deleted_for_all_who_have_it_open(void **state)
{
    UNICODE_STRING name = U("Value");
    ULONG disposition, number = 1, needed;
    HANDLE parent, child, other, reader;

    assert_int_equal(create_key(NULL, U(SERVICE "\\Going"), &parent, &disposition), STATUS_SUCCESS);
    assert_int_equal(create_key(parent, U("Child"), &child, &disposition), STATUS_SUCCESS);
    assert_int_equal(create_key(parent, U("Child"), &other, &disposition), STATUS_SUCCESS);
    assert_int_equal(open_key(parent, U("Child"), &reader), STATUS_SUCCESS);
    assert_int_equal(ZwSetValueKey(child, &name, 0, REG_DWORD, &number, 4), STATUS_SUCCESS);
    assert_int_equal(ZwDeleteKey(parent), STATUS_CANNOT_DELETE);
    assert_int_equal(ZwDeleteKey(reader), STATUS_ACCESS_DENIED);
    assert_int_equal(ZwDeleteKey(child), STATUS_SUCCESS);
    assert_int_equal(ZwDeleteKey(child), STATUS_KEY_DELETED);
    assert_int_equal(ZwSetValueKey(other, &name, 0, REG_DWORD, &number, 4), STATUS_KEY_DELETED);
    assert_int_equal(ZwQueryKey(reader, KeyBasicInformation, NULL, 0, &needed), STATUS_KEY_DELETED);
    assert_int_equal(ZwClose(child), STATUS_SUCCESS);
    assert_int_equal(ZwClose(other), STATUS_SUCCESS);
    assert_int_equal(ZwClose(reader), STATUS_SUCCESS);
    assert_int_equal(open_key(parent, U("Child"), &child), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(ZwDeleteKey(parent), STATUS_SUCCESS);
    assert_int_equal(open_key(NULL, U(SERVICE "\\Going"), &child), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(ZwClose(parent), STATUS_SUCCESS);
    assert_int_equal(ZwDeleteKey(parent), STATUS_INVALID_HANDLE);
}

static void the_device_has_keys_of_its_own(void **state)
{
    UNICODE_STRING name = U("DriverDesc");
    UCHAR room[128];
    ULONG needed;
    HANDLE key;

    assert_int_equal(IoOpenDeviceRegistryKey(NULL, PLUGPLAY_REGKEY_DRIVER, KEY_READ, &key),
                     STATUS_SUCCESS);
    assert_int_equal(ZwQueryValueKey(key, &name, KeyValuePartialInformation, room, 128, &needed),
                     STATUS_SUCCESS);
    ZwClose(key);
    assert_int_equal(IoOpenDeviceRegistryKey(NULL, PLUGPLAY_REGKEY_DEVICE, KEY_READ, &key),
                     STATUS_SUCCESS);
    ZwClose(key);
    assert_int_equal(IoOpenDeviceRegistryKey(NULL, 0, KEY_READ, &key), STATUS_INVALID_PARAMETER);
}

struct calls {
    int count;
    ULONG types[8];
    ULONG bytes[8];
};

static NTSTATUS NTAPI on_value(PWSTR name, ULONG type, PVOID data, ULONG bytes, PVOID context,
                               PVOID entry)
{
    struct calls *calls = context;

    calls->types[calls->count] = type;
    calls->bytes[calls->count++] = bytes;
    assert_ptr_equal(entry, &calls->count);
    return STATUS_SUCCESS;
}

static void a_table_asks_for_many_values(void **state)
{
    WCHAR list[] = {'a', 'b', 0, 'c', 0, 0};
    ULONG number = 5, found = 0, fallback = 9, defaulted = 0;
    struct calls calls = {0};
    UNICODE_STRING text = {0};
    RTL_QUERY_REGISTRY_TABLE table[7] = {0};
    WCHAR names[4][16];

    RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, W("drydock\\Sub"), W("Number"), REG_DWORD, &number,
                          4);
    RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, W("drydock\\Sub"), W("List"), REG_MULTI_SZ, list,
                          sizeof list);
    assert_int_equal(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, W("drydock\\sub")), STATUS_SUCCESS);
    assert_int_equal(RtlCheckRegistryKey(RTL_REGISTRY_SERVICES, W("drydock\\other")),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    table[0] = (RTL_QUERY_REGISTRY_TABLE){.Flags = RTL_QUERY_REGISTRY_SUBKEY,
                                          .Name = test_wide("Sub", names[0])};
    table[1] = (RTL_QUERY_REGISTRY_TABLE){
        .Flags = RTL_QUERY_REGISTRY_DIRECT | RTL_QUERY_REGISTRY_TYPECHECK,
        .Name = test_wide("Number", names[1]),
        .EntryContext = &found,
        .DefaultType = REG_DWORD << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT | REG_NONE};
    table[2] = (RTL_QUERY_REGISTRY_TABLE){.Flags = RTL_QUERY_REGISTRY_DIRECT,
                                          .Name = test_wide("Absent", names[2]),
                                          .EntryContext = &defaulted,
                                          .DefaultType = REG_DWORD,
                                          .DefaultData = &fallback,
                                          .DefaultLength = 4};
    table[3] = (RTL_QUERY_REGISTRY_TABLE){.QueryRoutine = on_value,
                                          .Name = test_wide("List", names[3]),
                                          .EntryContext = &calls.count};
    assert_int_equal(
        RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, W("drydock"), table, &calls, NULL),
        STATUS_SUCCESS);
    assert_int_equal(found, 5);
    assert_int_equal(defaulted, 9);
    assert_int_equal(calls.count, 2);
    assert_int_equal(calls.types[0], REG_SZ);
    assert_int_equal(calls.bytes[0], 6);
    assert_int_equal(calls.bytes[1], 4);

    memset(table, 0, sizeof table);
    table[0] = (RTL_QUERY_REGISTRY_TABLE){.Flags = RTL_QUERY_REGISTRY_DIRECT,
                                          .Name = test_wide("ImagePath", names[0]),
                                          .EntryContext = &text};
    assert_int_equal(
        RtlQueryRegistryValuesEx(RTL_REGISTRY_SERVICES, W("drydock"), table, NULL, NULL),
        STATUS_SUCCESS);
    assert_string_is(&text, "System32\\drivers\\drydock.sys");
    RtlFreeUnicodeString(&text);
    table[0].Flags |= RTL_QUERY_REGISTRY_REQUIRED;
    table[0].Name = test_wide("Absent", names[2]);
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, W("drydock"), table, NULL, NULL),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    table[0].Name = test_wide("Start", names[2]);
    table[0].Flags |= RTL_QUERY_REGISTRY_TYPECHECK;
    table[0].DefaultType = (ULONG)REG_SZ << RTL_QUERY_REGISTRY_TYPECHECK_SHIFT;
    assert_int_equal(RtlQueryRegistryValues(RTL_REGISTRY_SERVICES, W("drydock"), table, NULL, NULL),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(RtlDeleteRegistryValue(RTL_REGISTRY_SERVICES, W("drydock\\Sub"), W("number")),
                     STATUS_SUCCESS);
}

static void every_failure_of_memory_leaves_it_whole(void **state)
{
    struct test_kernel *kernel = *state;
    NTSTATUS status = STATUS_NO_MEMORY;

    for (uint64_t n = 1; !NT_SUCCESS(status); n++) {
        failing_services_fail_at(&kernel->memory, n);
        status = RtlWriteRegistryValue(RTL_REGISTRY_SERVICES, W("drydock\\Sub"), W("Number"),
                                       REG_DWORD, &n, 4);
        failing_services_fail_at(&kernel->memory, 0);
        assert_true(n < 100);
    }
    assert_int_equal(status, STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(the_service_of_the_driver_is_there),
        KERNEL_TEST(a_case_may_put_values_into_the_keys_of_the_driver),
        KERNEL_TEST(keys_and_values_are_made_listed_and_deleted),
        KERNEL_TEST(a_key_is_deleted_for_all_who_have_it_open),
        KERNEL_TEST(the_device_has_keys_of_its_own),
        KERNEL_TEST(a_table_asks_for_many_values),
        KERNEL_TEST(every_failure_of_memory_leaves_it_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
