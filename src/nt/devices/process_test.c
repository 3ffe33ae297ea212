/* The system process and the routines that are registered for others. */
#include "nt/rig/test_kernel.h"
#include "nt/rig/test_threads.h"

static VOID NTAPI on_process(HANDLE parent, HANDLE process, BOOLEAN is_made)
{
}

static VOID NTAPI on_thread(HANDLE process, HANDLE thread, BOOLEAN is_made)
{
}

static VOID NTAPI on_image(PUNICODE_STRING name, HANDLE process, PIMAGE_INFO info)
{
}

static void a_process_is_an_object(void **state)
{
    PEPROCESS process = PsGetCurrentProcess(), found;

    assert_int_equal((uintptr_t)PsGetCurrentProcessId(), 4);
    assert_ptr_equal(PsGetProcessId(process), PsGetCurrentProcessId());
    assert_int_equal(PsLookupProcessByProcessId(PsGetCurrentProcessId(), &found), STATUS_SUCCESS);
    assert_ptr_equal(found, process);
    ObReferenceObject(process);
    assert_int_equal(ObReferenceObjectByPointer(process, 0, *PsProcessType, KernelMode),
                     STATUS_SUCCESS);
    assert_int_equal(ObReferenceObjectByPointer(process, 0, *PsThreadType, KernelMode),
                     STATUS_OBJECT_TYPE_MISMATCH);
    test_find_leftovers();
    assert_int_equal(test.left_count, 1);
    assert_non_null(strstr(test.left, "process has references left"));
    for (unsigned i = 0; i < 3; i++)
        ObDereferenceObject(process);
    assert_int_equal(test.misuse_count, 0);
    ObDereferenceObject(process); /* the system's own */
    assert_int_equal(test.misuse_count, 1);
    assert_int_equal(PsLookupProcessByProcessId((HANDLE)(uintptr_t)8, &found), STATUS_INVALID_CID);
    assert_null(found);
}

static void attachments_end_as_they_began(void **state)
{
    KAPC_STATE outer, inner;

    KeStackAttachProcess(PsGetCurrentProcess(), &outer);
    KeStackAttachProcess(PsGetCurrentProcess(), &inner);
    KeUnstackDetachProcess(&inner);
    test_find_leftovers();
    assert_int_equal(test.left_count, 1);
    assert_non_null(strstr(test.left, "attached"));
    KeUnstackDetachProcess(&outer);
    assert_stops_with(0x6, 0, KeUnstackDetachProcess(&outer));
}

static void a_routine_is_registered_once_and_has_to_go(void **state)
{
    assert_int_equal(PsSetCreateProcessNotifyRoutine(on_process, FALSE), STATUS_SUCCESS);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(on_process, FALSE), STATUS_INVALID_PARAMETER);
    assert_int_equal(PsSetCreateThreadNotifyRoutine(on_thread), STATUS_SUCCESS);
    assert_int_equal(PsSetLoadImageNotifyRoutine(on_image), STATUS_SUCCESS);
    test_find_leftovers();
    assert_int_equal(test.left_count, 3);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(on_process, TRUE), STATUS_SUCCESS);
    assert_int_equal(PsSetCreateProcessNotifyRoutine(on_process, TRUE), STATUS_PROCEDURE_NOT_FOUND);
    assert_int_equal(PsRemoveCreateThreadNotifyRoutine(on_thread), STATUS_SUCCESS);
    assert_int_equal(PsRemoveCreateThreadNotifyRoutine(on_thread), STATUS_PROCEDURE_NOT_FOUND);
    assert_int_equal(PsRemoveLoadImageNotifyRoutine(on_image), STATUS_SUCCESS);
    assert_int_equal(PsRemoveLoadImageNotifyRoutine(on_image), STATUS_PROCEDURE_NOT_FOUND);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(a_process_is_an_object),
        KERNEL_TEST(attachments_end_as_they_began),
        KERNEL_TEST(a_routine_is_registered_once_and_has_to_go),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
