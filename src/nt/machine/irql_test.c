/* Services that are called above the level that their page documents are told, each by its name. */
#include "nt/rig/test_threads.h"

#include <wdm.h>

/* Calls name at level, which is too high, and at the one below, which is not. */
#define CALL(level, name, ...)                                                                     \
    do {                                                                                           \
        nt_set_irql(test.nt, (level));                                                             \
        (void)name(__VA_ARGS__);                                                                   \
        assert_misuse(#name " is called at IRQL " #level "; it is for IRQL ");                     \
        nt_set_irql(test.nt, (level)-1);                                                           \
        (void)name(__VA_ARGS__);                                                                   \
        nt_set_irql(test.nt, PASSIVE_LEVEL);                                                       \
        assert_no_misuse();                                                                        \
    } while (0)

static void functions_of_strings_are_for_passive_level(void **state)
{
    WCHAR text[32] = {'1', '2'};
    UNICODE_STRING wide = {4, sizeof text, text};
    CHAR narrow_text[32] = "12";
    ANSI_STRING narrow = {2, sizeof narrow_text, narrow_text};
    ULONG number;
    GUID guid;

    CALL(1, RtlCompareUnicodeString, &wide, &wide, TRUE);
    CALL(1, RtlEqualUnicodeString, &wide, &wide, TRUE);
    CALL(1, RtlPrefixUnicodeString, &wide, &wide, TRUE);
    CALL(1, RtlCompareString, &narrow, &narrow, TRUE);
    CALL(1, RtlEqualString, &narrow, &narrow, TRUE);
    CALL(1, RtlUnicodeStringToInteger, &wide, 10, &number);
    CALL(1, RtlCharToInteger, narrow_text, 10, &number);
    CALL(1, RtlIntegerToUnicodeString, 7, 10, &wide);
    CALL(1, RtlInt64ToUnicodeString, 7, 10, &wide);
    CALL(1, RtlUnicodeStringToAnsiString, &narrow, &wide, FALSE);
    CALL(1, RtlAnsiStringToUnicodeString, &wide, &narrow, FALSE);
    CALL(1, RtlGUIDFromString, &wide, &guid);
    CALL(2, RtlHashUnicodeString, &wide, TRUE, 0, &number);
    CALL(2, RtlUpcaseUnicodeString, &wide, &wide, FALSE);
}

static void functions_of_the_system_are_for_passive_level(void **state)
{
    UNICODE_STRING name = {0};
    REGHANDLE provider;
    GUID guid = {0};
    ULONG seed = 1;
    HANDLE key;
    OBJECT_ATTRIBUTES attributes;

    InitializeObjectAttributes(&attributes, &name, 0, NULL, NULL);
    CALL(1, ExUuidCreate, &guid);
    CALL(1, EtwRegister, &guid, NULL, NULL, &provider);
    CALL(1, EtwUnregister, provider);
    CALL(1, MmGetSystemRoutineAddress, &name);
    CALL(1, ZwLoadDriver, &name);
    CALL(1, ZwOpenKey, &key, KEY_READ, &attributes);
    CALL(1, ZwDeleteKey, NULL);
    CALL(1, ZwFlushKey, NULL);
    CALL(1, RtlGetVersion,
         &(RTL_OSVERSIONINFOW){.dwOSVersionInfoSize = sizeof(RTL_OSVERSIONINFOW)});
    CALL(1, IoDeleteSymbolicLink, &name);
    CALL(2, RtlRandomEx, &seed);
    CALL(2, ExReInitializeRundownProtection, &(EX_RUNDOWN_REF){.Count = 1});
}

static void memory_and_lists_of_pages_are_for_dispatch_level(void **state)
{
    PHYSICAL_ADDRESS zero = {.QuadPart = 0}, most = {.QuadPart = INT64_MAX};
    PMDL mdl = MmAllocatePagesForMdlEx(zero, most, zero, PAGE_SIZE, MmCached, 0);
    KEVENT event;

    KeInitializeEvent(&event, NotificationEvent, FALSE);
    CALL(3, KeResetEvent, &event);
    CALL(3, KeClearEvent, &event);
    CALL(3, KeReadStateEvent, &event);
    CALL(3, MmIsAddressValid, &event);
    CALL(3, MmProtectMdlSystemAddress, mdl, PAGE_READONLY);
    CALL(3, IoGetAttachedDeviceReference, nt_physical_device(test.nt));
    MmFreePagesFromMdl(mdl);
    ExFreePool(mdl);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(functions_of_strings_are_for_passive_level),
        TEST(functions_of_the_system_are_for_passive_level),
        TEST(memory_and_lists_of_pages_are_for_dispatch_level),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
