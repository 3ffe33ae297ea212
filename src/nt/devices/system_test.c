#include "nt/rig/test_kernel.h"

#include "nt/exports.h"

#include "base/rng.h"

static void bitmaps_agree_with_an_array_of_bits(void **state)
{
    enum { BITS = 77 };
    ULONG memory[3];
    RTL_BITMAP map;
    bool model[BITS] = {0};
    struct rng rng;

    rng_init(&rng, 5);
    RtlInitializeBitMap(&map, memory, BITS);
    RtlClearAllBits(&map);
    for (int round = 0; round < 3000; round++) {
        ULONG start = (ULONG)rng_between(&rng, 0, BITS - 1);
        ULONG count = (ULONG)rng_between(&rng, 1, BITS - start);
        ULONG hint = (ULONG)rng_between(&rng, 0, BITS - 1), found, expected = 0xffffffff, set = 0;
        bool value = rng_between(&rng, 0, 1);

        if (count > 9)
            count = 9;
        if (value)
            RtlSetBits(&map, start, count);
        else
            RtlClearBits(&map, start, count);
        for (ULONG i = start; i < start + count && i < BITS; i++)
            model[i] = value;
        for (ULONG i = 0; i < BITS; i++) {
            assert_int_equal(RtlTestBit(&map, i), model[i]);
            set += model[i];
        }
        assert_int_equal(RtlNumberOfSetBits(&map), set);
        assert_int_equal(RtlNumberOfClearBits(&map), BITS - set);
        for (ULONG n = 0; n < 2 * BITS && expected == 0xffffffff; n++) {
            ULONG at = n < BITS ? n : n - BITS, length = 0;

            if (n < BITS && at < hint)
                continue;
            while (length < count && at + length < BITS && !model[at + length])
                length++;
            if (length == count)
                expected = at;
        }
        found = RtlFindClearBits(&map, count, hint);
        assert_int_equal(found, expected);
        if (found != 0xffffffff)
            assert_true(RtlAreBitsClear(&map, found, count));
    }
}

static void runs_and_bits_are_found(void **state)
{
    ULONG memory[2] = {0}, start;
    RTL_BITMAP map;

    RtlInitializeBitMap(&map, memory, 40);
    RtlSetBits(&map, 0, 3);
    RtlSetBits(&map, 10, 5);
    assert_int_equal(RtlFindFirstRunClear(&map, &start), 7);
    assert_int_equal(start, 3);
    assert_int_equal(RtlFindLongestRunClear(&map, &start), 25);
    assert_int_equal(start, 15);
    assert_int_equal(RtlFindNextForwardRunClear(&map, 11, &start), 25);
    assert_int_equal(RtlFindClearBitsAndSet(&map, 7, 0), 3);
    assert_true(RtlAreBitsSet(&map, 0, 15));
    assert_int_equal(RtlFindSetBitsAndClear(&map, 15, 0), 0);
    assert_int_equal(RtlNumberOfSetBits(&map), 0);
    RtlSetAllBits(&map);
    assert_int_equal(RtlFindClearBits(&map, 1, 0), 0xffffffff);
    assert_false(RtlAreBitsSet(&map, 39, 2));
    assert_int_equal(RtlFindMostSignificantBit(0), -1);
    assert_int_equal(RtlFindMostSignificantBit(UINT64_C(1) << 40), 40);
    assert_int_equal(RtlFindLeastSignificantBit(48), 4);
}

static void the_system_has_a_version(void **state)
{
    RTL_OSVERSIONINFOEXW version = {.dwOSVersionInfoSize = sizeof version, .wProductType = 9};
    ULONG major, build;

    assert_int_equal(RtlGetVersion((PRTL_OSVERSIONINFOW)&version), STATUS_SUCCESS);
    assert_int_equal(version.dwMajorVersion, 10);
    assert_int_equal(version.wProductType, 1);
    assert_true(PsGetVersion(&major, NULL, &build, NULL));
    assert_int_equal(major, 10);
    assert_int_equal(build, version.dwBuildNumber);
    assert_true(RtlIsNtDdiVersionAvailable(NTDDI_WIN10));
    assert_false(RtlIsNtDdiVersionAvailable(0x0B000000));
}

static void routines_are_found_by_name(void **state)
{
    UNICODE_STRING name = U("ExFreePoolWithTag"), nobody = U("KeDoWhatNobodyKnows");

    assert_ptr_equal(MmGetSystemRoutineAddress(&name), (void *)ExFreePoolWithTag);
    assert_null(MmGetSystemRoutineAddress(&nobody));
}

static void tracing_is_a_quiet_success(void **state)
{
    const GUID provider = {1, 2, 3, {4}};
    REGHANDLE handle = 0;
    GUID activity;

    assert_int_equal(EtwRegister(&provider, NULL, NULL, &handle), STATUS_SUCCESS);
    assert_int_equal(EtwWrite(handle, NULL, NULL, 0, NULL), STATUS_SUCCESS);
    assert_int_equal(EtwWrite(handle + 1, NULL, NULL, 0, NULL), STATUS_INVALID_HANDLE);
    assert_false(EtwProviderEnabled(handle, 0, 0));
    assert_int_equal(EtwActivityIdControl(3, &activity), STATUS_SUCCESS);
    assert_int_equal(activity.Data3 >> 12, 4);
    assert_int_equal(WmiTraceMessage(1, 2, &provider, 3, "more", (SIZE_T)5, NULL), STATUS_SUCCESS);
    assert_int_equal(EtwUnregister(handle), STATUS_SUCCESS);
}

static void numbers_repeat_by_seed(void **state)
{
    ULONG seed = 1, again = 1;
    GUID first, second;

    for (int i = 0; i < 1000; i++) {
        ULONG number = RtlRandomEx(&seed);

        assert_true(number < MAXLONG);
        assert_int_equal(number, RtlRandomEx(&again));
    }
    assert_int_equal(RtlComputeCrc32(0, "123456789", 9), 0xcbf43926);
    assert_int_equal(RtlComputeCrc32(RtlComputeCrc32(0, "1234", 4), "56789", 5), 0xcbf43926);
    assert_int_equal(RtlCompareMemory("abcd", "abxd", 4), 2);
    assert_int_equal(ExUuidCreate(&first), STATUS_SUCCESS);
    assert_int_equal(ExUuidCreate(&second), STATUS_SUCCESS);
    assert_memory_not_equal(&first, &second, sizeof first);
}

static void bug_checks_and_breakpoints_stop_the_machine(void **state)
{
    KBUGCHECK_REASON_CALLBACK_RECORD record;

    KeInitializeCallbackRecord(&record);
    assert_true(KeRegisterBugCheckReasonCallback(&record, NULL, KbCallbackSecondaryDumpData,
                                                 (PUCHAR) "test"));
    assert_false(KeRegisterBugCheckReasonCallback(&record, NULL, KbCallbackSecondaryDumpData,
                                                  (PUCHAR) "test"));
    assert_stops_with(0xE2, 0, KeBugCheck(0xE2));
    assert_stops_with(0x1E, UINT64_C(0xffffffff80000003), DbgBreakPoint());
    assert_true(KeDeregisterBugCheckReasonCallback(&record));
    assert_false(KeDeregisterBugCheckReasonCallback(&record));
}

static void there_are_no_files(void **state)
{
    OBJECT_ATTRIBUTES attributes;
    UNICODE_STRING name = U("\\SystemRoot\\mygpu.bin");
    IO_STATUS_BLOCK io;
    HANDLE file = &io;

    InitializeObjectAttributes(&attributes, &name, OBJ_KERNEL_HANDLE, NULL, NULL);
    assert_int_equal(ZwOpenFile(&file, GENERIC_READ, &attributes, &io, 0, 0),
                     STATUS_OBJECT_NAME_NOT_FOUND);
    assert_null(file);
    assert_int_equal(
        ZwCreateFile(&file, GENERIC_READ, &attributes, &io, NULL, 0, 0, FILE_CREATE, 0, NULL, 0),
        STATUS_ACCESS_DENIED);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(bitmaps_agree_with_an_array_of_bits),
        KERNEL_TEST(runs_and_bits_are_found),
        KERNEL_TEST(the_system_has_a_version),
        KERNEL_TEST(routines_are_found_by_name),
        KERNEL_TEST(tracing_is_a_quiet_success),
        KERNEL_TEST(numbers_repeat_by_seed),
        KERNEL_TEST(bug_checks_and_breakpoints_stop_the_machine),
        KERNEL_TEST(there_are_no_files),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
