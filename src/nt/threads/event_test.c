#include "nt/machine/bug_check.h"
#include "nt/rig/test_threads.h"

#include <string.h>

static LARGE_INTEGER at_once;
static unsigned passed;

static VOID NTAPI pass(PVOID context)
{
    assert_int_equal(test_wait(context, NULL), STATUS_SUCCESS);
    passed++;
}

static void let_pass(void *object, unsigned count)
{
    passed = 0;
    for (unsigned i = 0; i < count; i++)
        ObDereferenceObject(test_thread(pass, object));
    test_sleep_ms(1);
    assert_int_equal(passed, 0);
}

static void an_event_lets_one_or_all_pass(void **state)
{
    static KEVENT one, all;

    KeInitializeEvent(&one, SynchronizationEvent, FALSE);
    KeInitializeEvent(&all, NotificationEvent, FALSE);
    let_pass(&one, 3);
    for (unsigned i = 1; i <= 3; i++) {
        assert_int_equal(KeSetEvent(&one, IO_NO_INCREMENT, FALSE), 0);
        test_sleep_ms(1);
        assert_int_equal(passed, i);
        assert_int_equal(KeReadStateEvent(&one), 0);
    }
    let_pass(&all, 3);
    assert_int_equal(KeSetEvent(&all, IO_NO_INCREMENT, FALSE), 0);
    test_sleep_ms(1);
    assert_int_equal(passed, 3);
    assert_int_equal(KeReadStateEvent(&all), 1);
    assert_int_equal(KeResetEvent(&all), 1);
    assert_int_equal(test_wait(&all, &at_once), STATUS_TIMEOUT);
    let_pass(&all, 2);
    KePulseEvent(&all, IO_NO_INCREMENT, FALSE);
    test_sleep_ms(1);
    assert_int_equal(passed, 2);
    assert_int_equal(KeReadStateEvent(&all), 0);
    assert_no_misuse();
}

static void a_semaphore_counts(void **state)
{
    static KSEMAPHORE semaphore;

    KeInitializeSemaphore(&semaphore, 1, 3);
    assert_int_equal(test_wait(&semaphore, &at_once), STATUS_SUCCESS);
    assert_int_equal(test_wait(&semaphore, &at_once), STATUS_TIMEOUT);
    let_pass(&semaphore, 3);
    assert_int_equal(KeReleaseSemaphore(&semaphore, IO_NO_INCREMENT, 2, FALSE), 0);
    test_sleep_ms(1);
    assert_int_equal(passed, 2);
    assert_int_equal(KeReleaseSemaphore(&semaphore, IO_NO_INCREMENT, 3, FALSE), 0);
    assert_int_equal(KeReadStateSemaphore(&semaphore), 2);
    assert_no_misuse();
    KeReleaseSemaphore(&semaphore, IO_NO_INCREMENT, 2, FALSE);
    assert_misuse("2 are released, 2 were there and the limit is 3");
    assert_int_equal(KeReadStateSemaphore(&semaphore), 2);
    test_sleep_ms(1);
    assert_int_equal(passed, 3);
}

static KMUTEX mutex;

static VOID NTAPI hold_for_a_while(PVOID context)
{
    test_wait(&mutex, NULL);
    test_sleep_ms(5);
    assert_int_equal(KeReleaseMutex(&mutex, FALSE), 0);
}

static void a_mutex_has_one_owner_who_may_have_it_twice(void **state)
{
    LARGE_INTEGER short_time = test_ms(1);
    PKTHREAD thread;

    KeInitializeMutex(&mutex, 0);
    thread = test_thread(hold_for_a_while, NULL);
    test_sleep_ms(1);
    assert_int_equal(KeReadStateMutex(&mutex), 0);
    assert_int_equal(test_wait(&mutex, &short_time), STATUS_TIMEOUT);
    assert_int_equal(test_wait(&mutex, NULL), STATUS_SUCCESS);
    assert_int_equal(test_wait(&mutex, &at_once), STATUS_SUCCESS);
    assert_int_equal(KeReadStateMutex(&mutex), -1);
    assert_int_equal(KeReleaseMutex(&mutex, FALSE), -1);
    assert_int_equal(KeReleaseMutex(&mutex, FALSE), 0);
    assert_int_equal(KeReadStateMutex(&mutex), 1);
    test_join(thread);
    assert_stops(NT_THREAD_NOT_MUTEX_OWNER, KeReleaseMutex(&mutex, FALSE));
}

static NTSTATUS wait_for(WAIT_TYPE type, void *first, void *second, void *third)
{
    PVOID objects[] = {first, second, third};
    LARGE_INTEGER time = test_ms(10);

    return KeWaitForMultipleObjects(3, objects, type, Executive, KernelMode, FALSE, &time, NULL);
}

static VOID NTAPI set_later(PVOID context)
{
    test_sleep_ms(2);
    KeSetEvent(context, IO_NO_INCREMENT, FALSE);
}

static void several_objects_are_waited_for(void **state)
{
    static KEVENT a, b;
    static KSEMAPHORE c;
    KWAIT_BLOCK blocks[4];
    PVOID four[] = {&a, &a, &a, &a};
    PKTHREAD thread;

    KeInitializeEvent(&a, SynchronizationEvent, FALSE);
    KeInitializeEvent(&b, SynchronizationEvent, TRUE);
    KeInitializeSemaphore(&c, 1, 1);
    assert_int_equal(wait_for(WaitAny, &a, &b, &c), STATUS_WAIT_1);
    assert_int_equal(wait_for(WaitAny, &a, &b, &c), STATUS_WAIT_2);
    assert_int_equal(wait_for(WaitAny, &a, &b, &c), STATUS_TIMEOUT);
    KeReleaseSemaphore(&c, IO_NO_INCREMENT, 1, FALSE);
    KeSetEvent(&b, IO_NO_INCREMENT, FALSE);
    assert_int_equal(wait_for(WaitAll, &a, &b, &c), STATUS_TIMEOUT);
    assert_int_equal(KeReadStateEvent(&b), 1); /* nothing is taken until all can be */
    thread = test_thread(set_later, &a);
    assert_int_equal(wait_for(WaitAll, &a, &b, &c), STATUS_SUCCESS);
    assert_int_equal(KeReadStateEvent(&a) + KeReadStateEvent(&b) + KeReadStateSemaphore(&c), 0);
    test_join(thread);
    thread = test_thread(set_later, &b);
    assert_int_equal(wait_for(WaitAny, &a, &b, &c), STATUS_WAIT_1);
    test_join(thread);
    KeSetEvent(&a, IO_NO_INCREMENT, FALSE);
    assert_int_equal(
        KeWaitForMultipleObjects(4, four, WaitAny, Executive, KernelMode, FALSE, NULL, blocks),
        STATUS_WAIT_0);
    assert_no_misuse();
    assert_stops(
        NT_MAXIMUM_WAIT_OBJECTS_EXCEEDED,
        KeWaitForMultipleObjects(4, four, WaitAny, Executive, KernelMode, FALSE, NULL, NULL));
}

static void what_is_no_such_object_is_told(void **state)
{
    static KEVENT event;
    static KSEMAPHORE semaphore;

    memset(&event, 0, sizeof event);
    KeSetEvent(&event, IO_NO_INCREMENT, FALSE);
    assert_misuse("is none that this is for (never initialised, or written over since)");
    assert_int_equal(test_wait(&event, NULL), STATUS_INVALID_PARAMETER);
    assert_misuse("KeWaitForSingleObject: the object at");
    KeInitializeSemaphore(&semaphore, 0, 1);
    KeSetEvent((PRKEVENT)&semaphore, IO_NO_INCREMENT, FALSE);
    assert_misuse("is none that this is for");
    KeInitializeSemaphore(&semaphore, 2, 1);
    assert_misuse("a count of 2 and a limit of 1");
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    nt_set_irql(test.nt, NT_DEVICE_IRQL);
    KeSetEvent(&event, IO_NO_INCREMENT, FALSE);
    assert_misuse("KeSetEvent is called at IRQL 5; it is for IRQL 2 at most");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(an_event_lets_one_or_all_pass),
        TEST(a_semaphore_counts),
        TEST(a_mutex_has_one_owner_who_may_have_it_twice),
        TEST(several_objects_are_waited_for),
        TEST(what_is_no_such_object_is_told),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
