#include "nt/rig/test_threads.h"

#include <stdio.h>

LARGE_INTEGER test_ms(int64_t ms)
{
    return (LARGE_INTEGER){.QuadPart = -ms * TEST_MS};
}

void test_sleep_ms(int64_t ms)
{
    LARGE_INTEGER time = test_ms(ms);

    assert_int_equal(KeDelayExecutionThread(KernelMode, FALSE, &time), STATUS_SUCCESS);
}

PKTHREAD test_thread(PKSTART_ROUTINE start, void *context)
{
    HANDLE handle;
    PVOID object;

    assert_int_equal(
        PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, start, context),
        STATUS_SUCCESS);
    assert_int_equal(
        ObReferenceObjectByHandle(handle, SYNCHRONIZE, *PsThreadType, KernelMode, &object, NULL),
        STATUS_SUCCESS);
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
    return object;
}

void test_join(PKTHREAD thread)
{
    assert_int_equal(KeWaitForSingleObject(thread, Executive, KernelMode, FALSE, NULL),
                     STATUS_SUCCESS);
    ObDereferenceObject(thread);
}

NTSTATUS test_wait(void *object, LARGE_INTEGER *timeout)
{
    return KeWaitForSingleObject(object, Executive, KernelMode, FALSE, timeout);
}

static void on_left(void *context, const char *text)
{
    test.left_count++;
    snprintf(test.left, sizeof test.left, "%s", text);
}

void test_find_leftovers(void)
{
    test.left_count = 0;
    test.left[0] = '\0';
    nt_for_each_leftover(test.nt, on_left, NULL);
}
