#include "nt/machine/bug_check.h"
#include "nt/rig/test_threads.h"

#include <stdio.h>
#include <string.h>

/* ---- Threads --------------------------------------------------------------------------------- */

static char order[256];
static KEVENT go, done;

static void note(char letter)
{
    size_t length = strlen(order);

    assert_true(length + 1 < sizeof order);
    order[length] = letter;
    order[length + 1] = '\0';
}

static VOID NTAPI three_steps(PVOID context)
{
    for (unsigned i = 0; i < 3; i++) {
        note((char)(uintptr_t)context);
        test_sleep_ms(1);
    }
}

static VOID NTAPI end_with_status(PVOID context)
{
    PsTerminateSystemThread(STATUS_TIMEOUT);
    note('!');
}

static void a_thread_runs_and_its_end_can_be_waited_for(void **state)
{
    PKTHREAD thread = test_thread(end_with_status, NULL);

    assert_int_equal(PsGetThreadExitStatus((PETHREAD)thread), STATUS_PENDING);
    assert_int_equal(test_wait(thread, NULL), STATUS_SUCCESS);
    assert_int_equal(PsGetThreadExitStatus((PETHREAD)thread), STATUS_TIMEOUT);
    assert_int_equal(test_wait(thread, NULL), STATUS_SUCCESS);
    assert_string_equal(order, "");
    ObDereferenceObject(thread);
    assert_no_misuse();
    assert_int_equal(PsTerminateSystemThread(STATUS_SUCCESS), STATUS_INVALID_PARAMETER);
}

static void run_three(uint64_t seed, char out[64])
{
    PKTHREAD threads[3];

    order[0] = '\0';
    test_begin(seed);
    for (unsigned i = 0; i < 3; i++)
        threads[i] = test_thread(three_steps, (void *)(uintptr_t)('a' + i));
    for (unsigned i = 0; i < 3; i++)
        test_join(threads[i]);
    snprintf(out, 64, "%.16s %llu", order, (unsigned long long)machine_now(test.machine));
    test_end();
}

static void a_seed_gives_one_order_and_seeds_give_many(void **state)
{
    char first[64], again[64];
    unsigned different = 0;

    for (uint64_t seed = 1; seed <= 20; seed++) {
        run_three(seed, first);
        run_three(seed, again);
        assert_string_equal(first, again);
        assert_int_equal(strcspn(first, " "), 9);
        different += strncmp(first, "abc", 3) != 0;
    }
    assert_in_range(different, 5, 20);
}

static VOID NTAPI tell_current(PVOID context)
{
    *(PKTHREAD *)context = KeGetCurrentThread();
    assert_ptr_equal(PsGetCurrentThread(), KeGetCurrentThread());
    assert_true(PsIsSystemThread(PsGetCurrentThread()));
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
}

static void threads_know_who_they_are(void **state)
{
    PKTHREAD me = KeGetCurrentThread(), other = NULL, thread;

    thread = test_thread(tell_current, &other);
    assert_int_equal(test_wait(thread, NULL), STATUS_SUCCESS);
    assert_ptr_equal(other, thread);
    assert_ptr_not_equal(other, me);
    assert_ptr_equal(KeGetCurrentThread(), me);
    assert_ptr_not_equal(PsGetThreadId((PETHREAD)thread), PsGetCurrentThreadId());
    assert_int_equal(KeSetPriorityThread(thread, LOW_REALTIME_PRIORITY), 8);
    assert_int_equal(KeQueryPriorityThread(thread), LOW_REALTIME_PRIORITY);
    ObDereferenceObject(thread);
    assert_no_misuse();
}

static VOID NTAPI answer(PVOID context)
{
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(test_wait(&go, NULL), STATUS_SUCCESS);
        ++*(unsigned *)context;
        KeSetEvent(&done, IO_NO_INCREMENT, FALSE);
    }
}

static void two_threads_answer_each_other(void **state)
{
    unsigned count = 0;
    PKTHREAD thread;

    KeInitializeEvent(&go, SynchronizationEvent, FALSE);
    KeInitializeEvent(&done, SynchronizationEvent, FALSE);
    thread = test_thread(answer, &count);
    for (unsigned i = 0; i < 100; i++) {
        assert_int_equal(count, i);
        KeSetEvent(&go, IO_NO_INCREMENT, FALSE);
        assert_int_equal(test_wait(&done, NULL), STATUS_SUCCESS);
    }
    test_join(thread);
    assert_int_equal(count, 100);
}

/* ---- Time ------------------------------------------------------------------------------------ */

static void a_wait_ends_when_its_time_is_over(void **state)
{
    LARGE_INTEGER timeout = test_ms(3), now;
    uint64_t before = machine_now(test.machine);

    KeInitializeEvent(&go, NotificationEvent, FALSE);
    assert_int_equal(test_wait(&go, &timeout), STATUS_TIMEOUT);
    assert_int_equal(machine_now(test.machine) - before, 3000000);
    KeQuerySystemTimePrecise(&now);
    now.QuadPart += 2 * TEST_MS;
    assert_int_equal(test_wait(&go, &now), STATUS_TIMEOUT);
    assert_int_equal(machine_now(test.machine) - before, 5000000);
    timeout.QuadPart = 0;
    assert_int_equal(test_wait(&go, &timeout), STATUS_TIMEOUT);
    assert_int_equal(machine_now(test.machine) - before, 5000000);
    KeSetEvent(&go, IO_NO_INCREMENT, FALSE);
    assert_int_equal(test_wait(&go, &timeout), STATUS_SUCCESS);
}

static VOID NTAPI stall_with_lock(PVOID context)
{
    KIRQL irql;

    KeAcquireSpinLock((PKSPIN_LOCK)context, &irql);
    note('(');
    KeStallExecutionProcessor(3000);
    note(')');
    KeReleaseSpinLock((PKSPIN_LOCK)context, irql);
}

static VOID NTAPI take_lock_often(PVOID context)
{
    KIRQL irql;

    for (unsigned i = 0; i < 20; i++) {
        KeAcquireSpinLock((PKSPIN_LOCK)context, &irql);
        note('.');
        KeReleaseSpinLock((PKSPIN_LOCK)context, irql);
        KeStallExecutionProcessor(200);
    }
}

/* At DISPATCH_LEVEL a stall keeps the processor: nobody finds the lock held. */
static void a_stall_at_dispatch_level_keeps_others_out(void **state)
{
    KSPIN_LOCK lock;
    PKTHREAD threads[2];

    order[0] = '\0';
    KeInitializeSpinLock(&lock);
    threads[0] = test_thread(take_lock_often, &lock);
    threads[1] = test_thread(stall_with_lock, &lock);
    if (setjmp(test.stopped))
        fail_msg("bug check 0x%x %s", test.code, test.deadlock);
    test_join(threads[0]);
    test_join(threads[1]);
    assert_non_null(strstr(order, "()"));
    assert_int_equal(strlen(order), 22);
}

static void who_only_looks_at_the_clock_sees_it_move(void **state)
{
    ULONGLONG end = KeQueryInterruptTime() + 5 * TEST_MS;
    unsigned looks = 0;

    while (KeQueryInterruptTime() < end)
        assert_true(++looks < 100000);
    assert_true(looks > 100);
}

/* ---- What goes wrong ------------------------------------------------------------------------- */

static void a_wait_that_nothing_ends_is_a_deadlock(void **state)
{
    static PKEVENT event;

    event = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, TEST_TAG);
    KeInitializeEvent(event + 1, SynchronizationEvent, FALSE);
    test_sleep_ms(2);
    if (!setjmp(test.stopped))
        test_wait(event + 1, NULL);
    assert_string_equal(test.deadlock,
                        "deadlock: the thread that called the driver waits for the synchronization "
                        "event at byte 24 of block 1 of the pool (tag 'Test') in "
                        "KeWaitForSingleObject since 2000000 ns, and nothing can end that");
    nt_abandon(test.nt);
}

static FAST_MUTEX mutexes[2];

static VOID NTAPI take_other_way_round(PVOID context)
{
    ExAcquireFastMutex(&mutexes[1]);
    test_sleep_ms(1);
    ExAcquireFastMutex(&mutexes[0]);
}

static void a_deadlock_names_all_who_wait(void **state)
{
    ExInitializeFastMutex(&mutexes[0]);
    ExInitializeFastMutex(&mutexes[1]);
    test_thread(take_other_way_round, NULL);
    if (!setjmp(test.stopped)) {
        ExAcquireFastMutex(&mutexes[0]);
        test_sleep_ms(1);
        ExAcquireFastMutex(&mutexes[1]);
        fail();
    }
    assert_non_null(strstr(test.deadlock, "the thread that called the driver waits for the fast "
                                          "mutex at"));
    assert_non_null(strstr(test.deadlock, "; thread 1 waits for the fast mutex at"));
    nt_abandon(test.nt);
}

/* A timer that goes on for ever is no hope. */
static void a_wait_without_end_is_a_deadlock_though_time_goes_on(void **state)
{
    static KTIMER timer;
    static KEVENT never;
    LARGE_INTEGER due = test_ms(1000);

    KeInitializeEvent(&never, NotificationEvent, FALSE);
    KeInitializeTimer(&timer);
    KeSetTimerEx(&timer, due, 1000, NULL);
    if (!setjmp(test.stopped))
        test_wait(&never, NULL);
    assert_int_equal(machine_now(test.machine) / 1000000000, 600);
    assert_non_null(strstr(test.deadlock, "notification event"));
    nt_abandon(test.nt);
}

static VOID NTAPI wait_at_dispatch(PVOID context)
{
    KIRQL irql;

    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    test_wait(&go, NULL);
}

static VOID NTAPI end_at_dispatch(PVOID context)
{
    KIRQL irql;

    KeRaiseIrql(DISPATCH_LEVEL, &irql);
}

static VOID NTAPI end_with_mutex(PVOID context)
{
    KeInitializeMutex(context, 0);
    test_wait(context, NULL);
}

static void a_bug_check_of_a_thread_happens_on_the_first_one(void **state)
{
    static KMUTEX mutex;

    KeInitializeEvent(&go, NotificationEvent, FALSE);
    assert_stops(NT_ATTEMPTED_SWITCH_FROM_DPC, test_join(test_thread(wait_at_dispatch, NULL)));
    assert_true(nt_is_first_thread(test.nt) && test.misuse_count == 1);
    assert_int_equal(nt_running_thread(test.nt), 1);
    nt_abandon(test.nt);
    test_end();
    test_begin(2);
    assert_stops(NT_IRQL_NOT_LESS_OR_EQUAL, test_join(test_thread(end_at_dispatch, NULL)));
    nt_abandon(test.nt);
    test_end();
    test_begin(3);
    assert_stops(NT_THREAD_TERMINATE_HELD_MUTEX, test_join(test_thread(end_with_mutex, &mutex)));
    assert_ptr_equal((void *)(uintptr_t)test.parameters[1], &mutex);
    nt_abandon(test.nt);
}

static void waits_keep_to_their_levels(void **state)
{
    LARGE_INTEGER none = {.QuadPart = 0}, some = test_ms(1);

    KeInitializeEvent(&go, NotificationEvent, TRUE);
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    assert_int_equal(test_wait(&go, &none), STATUS_SUCCESS);
    assert_no_misuse();
    assert_int_equal(test_wait(&go, &some), STATUS_SUCCESS);
    assert_misuse("KeWaitForSingleObject is called at DISPATCH_LEVEL with a time-out");
    KeClearEvent(&go);
    assert_stops(NT_ATTEMPTED_SWITCH_FROM_DPC, test_wait(&go, &some));
    assert_stops(NT_ATTEMPTED_SWITCH_FROM_DPC, KeDelayExecutionThread(KernelMode, FALSE, &some));
    nt_set_irql(test.nt, NT_DEVICE_IRQL);
    assert_stops(NT_IRQL_NOT_LESS_OR_EQUAL, test_wait(&go, &none));
}

static VOID NTAPI wait_for_ever(PVOID context)
{
    test_wait(context, NULL);
}

static void what_is_left_is_told(void **state)
{
    PKEVENT event = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof *event, TEST_TAG);
    PKTHREAD thread;
    HANDLE handle;

    test_find_leftovers();
    assert_int_equal(test.left_count, 0);
    KeInitializeEvent(event, NotificationEvent, FALSE);
    thread = test_thread(wait_for_ever, event);
    test_sleep_ms(1);
    test_find_leftovers();
    assert_int_equal(test.left_count, 1);
    assert_non_null(strstr(test.left, "has not ended: thread 1 waits for the notification event at "
                                      "byte 0 of block 1 of the pool (tag 'Test')"));
    ExFreePool(event);
    assert_misuse("memory is freed while thread 1 waits");
    test_find_leftovers();
    assert_non_null(strstr(test.left, "thread 1 waits for a notification event whose memory was "
                                      "freed in KeWaitForSingleObject since"));
    ObDereferenceObject(thread);
    assert_int_equal(PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, three_steps,
                                          (void *)'x'),
                     STATUS_SUCCESS);
    order[0] = '\0';
    test_sleep_ms(10);
    assert_string_equal(order, "xxx");
    test_find_leftovers();
    assert_int_equal(test.left_count, 2);
    assert_string_equal(test.left, "a handle of a thread has not been closed");
}

/* ---- The bench's own work -------------------------------------------------------------------- */

static struct nt_deferred deferred;
static uint64_t deferred_ns;

static void bench_work(void *context)
{
    assert_false(nt_is_amid_call(test.nt));
    deferred_ns = machine_now(test.machine);
}

static void defer_it(void *context)
{
    assert_true(nt_is_amid_call(test.nt));
    nt_defer(test.nt, &deferred, bench_work, NULL);
    nt_defer(test.nt, &deferred, bench_work, NULL);
}

static void work_of_the_bench_comes_behind_the_call_that_waits(void **state)
{
    struct machine_event event = {0};

    deferred_ns = 0;
    machine_schedule(test.machine, &event, 1000000, defer_it, NULL);
    test_sleep_ms(5);
    assert_int_equal(deferred_ns, 0);
    assert_false(nt_is_amid_call(test.nt));
    assert_true(machine_run_next(test.machine));
    assert_int_equal(deferred_ns, 5000000);
}

static void a_thread_that_cannot_be_made_is_none(void **state)
{
    HANDLE handle;
    NTSTATUS status;

    for (uint64_t n = 1;; n++) {
        failing_services_fail_at(&test.memory, n);
        status = PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, three_steps,
                                      (void *)'f');
        if (NT_SUCCESS(status))
            break;
        assert_int_equal(status, STATUS_INSUFFICIENT_RESOURCES);
        assert_null(handle);
        test_find_leftovers();
        assert_int_equal(test.left_count, 0);
    }
    failing_services_fail_at(&test.memory, 0);
    order[0] = '\0';
    test_sleep_ms(10);
    assert_string_equal(order, "fff");
    assert_int_equal(ZwClose(handle), STATUS_SUCCESS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(a_thread_runs_and_its_end_can_be_waited_for),
        cmocka_unit_test(a_seed_gives_one_order_and_seeds_give_many),
        TEST(threads_know_who_they_are),
        TEST(two_threads_answer_each_other),
        TEST(a_wait_ends_when_its_time_is_over),
        TEST(a_stall_at_dispatch_level_keeps_others_out),
        TEST(who_only_looks_at_the_clock_sees_it_move),
        TEST(a_wait_that_nothing_ends_is_a_deadlock),
        TEST(a_deadlock_names_all_who_wait),
        TEST(a_wait_without_end_is_a_deadlock_though_time_goes_on),
        TEST(a_bug_check_of_a_thread_happens_on_the_first_one),
        TEST(waits_keep_to_their_levels),
        TEST(what_is_left_is_told),
        TEST(work_of_the_bench_comes_behind_the_call_that_waits),
        TEST(a_thread_that_cannot_be_made_is_none),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
