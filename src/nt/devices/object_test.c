#include "nt/rig/test_threads.h"

static VOID NTAPI nothing(PVOID context)
{
}

static void a_handle_keeps_its_object(void **state)
{
    HANDLE handle, second;
    PVOID object;
    PKEVENT event = IoCreateNotificationEvent(NULL, &handle);

    assert_non_null(event);
    assert_int_equal(KeReadStateEvent(event), 1);
    assert_int_equal(ObReferenceObjectByHandle(handle, EVENT_ALL_ACCESS, *ExEventObjectType,
                                               KernelMode, &object, NULL),
                     STATUS_SUCCESS);
    assert_ptr_equal(object, event);
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
    assert_int_equal(ZwClose(handle), STATUS_INVALID_HANDLE);
    assert_int_equal(KeReadStateEvent(event), 1);
    assert_non_null(IoCreateSynchronizationEvent(NULL, &second));
    assert_ptr_equal(second, handle);
    assert_int_equal(ObDereferenceObject(object), 0);
    assert_int_equal(ZwClose(second), STATUS_SUCCESS);
    assert_no_misuse();
}

static void references_with_tags_are_references(void **state)
{
    HANDLE handle;
    PVOID object;
    PKEVENT event = IoCreateNotificationEvent(NULL, &handle);

    assert_int_equal(ObReferenceObjectByHandleWithTag(handle, 0, *IoFileObjectType, KernelMode,
                                                      TEST_TAG, &object, NULL),
                     STATUS_OBJECT_TYPE_MISMATCH);
    assert_int_equal(ObReferenceObjectByHandleWithTag(handle, 0, *ExEventObjectType, KernelMode,
                                                      TEST_TAG, &object, NULL),
                     STATUS_SUCCESS);
    assert_ptr_equal(object, event);
    assert_int_equal(
        ObReferenceObjectByPointerWithTag(event, 0, *ExEventObjectType, KernelMode, TEST_TAG),
        STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectWithTag(event, TEST_TAG), 4);
    assert_int_equal(ObDereferenceObjectWithTag(event, TEST_TAG), 3);
    ObDereferenceObjectDeferDeleteWithTag(event, TEST_TAG);
    ObDereferenceObjectDeferDelete(event);
    assert_no_misuse();
    ObDereferenceObjectWithTag(event, TEST_TAG);
    assert_misuse("given up more often than it was referenced");
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
}

static void what_is_no_handle_or_of_another_type_is_refused(void **state)
{
    HANDLE handle;
    PVOID object = &handle;

    assert_int_equal(
        PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, nothing, NULL),
        STATUS_SUCCESS);
    assert_int_equal(
        ObReferenceObjectByHandle(handle, 0, *ExEventObjectType, KernelMode, &object, NULL),
        STATUS_OBJECT_TYPE_MISMATCH);
    assert_null(object);
    assert_int_equal(ObReferenceObjectByHandle((HANDLE)((uintptr_t)handle + 1), 0, NULL, KernelMode,
                                               &object, NULL),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(ObReferenceObjectByHandle(NULL, 0, NULL, KernelMode, &object, NULL),
                     STATUS_INVALID_HANDLE);
    assert_int_equal(ZwClose((HANDLE)(uintptr_t)0x1234), STATUS_INVALID_HANDLE);
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
    test_sleep_ms(1);
}

static void a_reference_too_few_is_told(void **state)
{
    HANDLE handle;
    PKEVENT event = IoCreateNotificationEvent(NULL, &handle);

    ObReferenceObject(event);
    assert_int_equal(ObDereferenceObject(event), 1);
    assert_no_misuse();
    assert_int_equal(ObDereferenceObject(event), 1);
    assert_misuse("a event is given up more often than it was referenced");
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
    ObDereferenceObject(event);
    assert_misuse("ObfDereferenceObject: there is no object here");
    ObDereferenceObject(KeGetCurrentThread());
    assert_misuse("a thread is given up more often");
}

static void there_are_as_many_handles_as_one_likes(void **state)
{
    enum { COUNT = 200 };
    static HANDLE handles[COUNT];

    for (unsigned i = 0; i < COUNT; i++)
        assert_non_null(IoCreateNotificationEvent(NULL, &handles[i]));
    for (unsigned i = 0; i < COUNT; i++)
        assert_int_equal(ZwClose(handles[i]), STATUS_SUCCESS);
    failing_services_fail_at(&test.memory, 1);
    assert_null(IoCreateNotificationEvent(NULL, &handles[0]));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(a_handle_keeps_its_object),
        TEST(references_with_tags_are_references),
        TEST(what_is_no_handle_or_of_another_type_is_refused),
        TEST(a_reference_too_few_is_told),
        TEST(there_are_as_many_handles_as_one_likes),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
