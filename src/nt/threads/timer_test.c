/* DPCs, timers, work items, clocks. */
#include "nt/machine/bug_check.h"
#include "nt/rig/test_threads.h"

#include <string.h>

static char order[64];
static uint64_t last_ns;
static bool changes_level, keeps_mutex;
static KMUTEX mutex;

static VOID NTAPI note_dpc(PKDPC dpc, PVOID context, PVOID first, PVOID second)
{
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    strncat(order, context, sizeof order - strlen(order) - 1);
    last_ns = machine_now(test.machine);
    if (first)
        KeSetEvent(first, IO_NO_INCREMENT, FALSE);
    if (changes_level)
        KeLowerIrql(APC_LEVEL);
}

static int setup(void **state)
{
    order[0] = '\0';
    changes_level = keeps_mutex = false;
    return test_setup_threads(state);
}

/* ---- DPCs ------------------------------------------------------------------------------------ */

static void dpcs_run_in_order_once_and_soon(void **state)
{
    static KDPC a, b, c;
    static KEVENT done;

    KeInitializeDpc(&a, note_dpc, "a");
    KeInitializeDpc(&b, note_dpc, "b");
    KeInitializeDpc(&c, note_dpc, "c");
    KeSetImportanceDpc(&c, HighImportance);
    KeInitializeEvent(&done, NotificationEvent, FALSE);
    assert_true(KeInsertQueueDpc(&a, NULL, NULL));
    assert_false(KeInsertQueueDpc(&a, &done, NULL));
    assert_true(KeInsertQueueDpc(&b, &done, NULL));
    assert_true(KeInsertQueueDpc(&c, NULL, NULL));
    assert_int_equal(test_wait(&done, NULL), STATUS_SUCCESS);
    assert_string_equal(order, "cab");
    assert_in_range(last_ns, 100, 600);
    assert_true(KeInsertQueueDpc(&a, NULL, NULL));
    assert_true(KeRemoveQueueDpc(&a));
    assert_false(KeRemoveQueueDpc(&a));
    assert_true(KeInsertQueueDpc(&b, NULL, NULL));
    KeFlushQueuedDpcs();
    assert_string_equal(order, "cabb");
    KeFlushQueuedDpcs();
    assert_no_misuse();
    changes_level = true;
    KeInsertQueueDpc(&b, NULL, NULL);
    KeFlushQueuedDpcs();
    assert_misuse("a DPC routine returns at IRQL 1; it was called at DISPATCH_LEVEL");
    memset(&a, 0, sizeof a);
    assert_false(KeInsertQueueDpc(&a, NULL, NULL));
    assert_misuse("KeInsertQueueDpc: the DPC was never initialised");
}

static void a_stall_at_dispatch_level_keeps_dpcs_waiting(void **state)
{
    static KDPC dpc;
    KIRQL irql;

    KeInitializeDpc(&dpc, note_dpc, "x");
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    KeInsertQueueDpc(&dpc, NULL, NULL);
    KeStallExecutionProcessor(50);
    assert_string_equal(order, "");
    KeLowerIrql(irql);
    KeStallExecutionProcessor(1);
    assert_string_equal(order, "x");
    assert_in_range(last_ns, 50000, 51000);
}

static void memory_with_a_dpc_or_timer_in_use_must_not_be_freed(void **state)
{
    PKDPC dpc = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof *dpc, TEST_TAG);
    PKTIMER timer = ExAllocatePool2(POOL_FLAG_NON_PAGED, 2 * sizeof *timer, TEST_TAG);

    KeInitializeDpc(dpc, note_dpc, "");
    KeInitializeTimer(timer + 1);
    KeInsertQueueDpc(dpc, NULL, NULL);
    KeSetTimer(timer + 1, test_ms(5), NULL);
    assert_stops(NT_TIMER_OR_DPC_INVALID, ExFreePool(dpc));
    assert_int_equal(test.parameters[0], 1);
    assert_int_equal(test.parameters[1], (uintptr_t)dpc);
    assert_stops(NT_TIMER_OR_DPC_INVALID, ExFreePool(timer));
    assert_int_equal(test.parameters[0], 0);
    assert_int_equal(test.parameters[1], (uintptr_t)(timer + 1));
    test_find_leftovers();
    assert_int_equal(test.left_count, 2);
    assert_non_null(strstr(test.left, "the DPC at byte 0 of block 1 of the pool"));
    test_sleep_ms(10);
    ExFreePool(dpc);
    ExFreePool(timer);
}

/* ---- Timers ---------------------------------------------------------------------------------- */

static void timers_expire_and_repeat(void **state)
{
    static KTIMER timer;
    static KDPC dpc;

    KeInitializeTimerEx(&timer, SynchronizationTimer);
    KeInitializeDpc(&dpc, note_dpc, "t");
    assert_false(KeSetTimer(&timer, test_ms(3), &dpc));
    assert_true(KeSetTimer(&timer, test_ms(5), &dpc));
    assert_int_equal(test_wait(&timer, NULL), STATUS_SUCCESS);
    assert_int_equal(machine_now(test.machine), 5000000);
    assert_false(KeReadStateTimer(&timer));
    assert_false(KeCancelTimer(&timer));
    test_sleep_ms(1);
    assert_string_equal(order, "t");
    assert_false(KeSetTimerEx(&timer, test_ms(1), 2, &dpc));
    test_sleep_ms(6);
    assert_string_equal(order, "tttt");
    assert_true(KeReadStateTimer(&timer));
    assert_true(KeCancelTimer(&timer));
    test_sleep_ms(6);
    assert_string_equal(order, "tttt");
    test_find_leftovers();
    assert_int_equal(test.left_count, 0);
    KeSetTimer(&timer, test_ms(1), NULL);
    assert_stops(NT_TIMER_OR_DPC_INVALID, KeInitializeTimer(&timer));
    assert_no_misuse();
}

static VOID NTAPI note_timer(PEX_TIMER timer, PVOID context)
{
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    strncat(order, context, sizeof order - strlen(order) - 1);
}

static VOID NTAPI note_delete(PVOID context)
{
    strncat(order, context, sizeof order - strlen(order) - 1);
}

static void ex_timers_call_back_until_they_are_deleted(void **state)
{
    EXT_DELETE_PARAMETERS parameters = {.DeleteCallback = note_delete, .DeleteContext = "d"};
    PEX_TIMER timer = ExAllocateTimer(note_timer, "e", EX_TIMER_HIGH_RESOLUTION);

    assert_non_null(timer);
    assert_false(ExSetTimer(timer, -TEST_MS, 2 * TEST_MS, NULL));
    test_sleep_ms(6);
    assert_string_equal(order, "eee");
    assert_true(ExCancelTimer(timer, NULL));
    assert_false(ExSetTimer(timer, -TEST_MS, 0, NULL));
    test_find_leftovers();
    assert_int_equal(test.left_count, 2);
    assert_true(ExDeleteTimer(timer, TRUE, TRUE, &parameters));
    test_sleep_ms(6);
    assert_string_equal(order, "eeed");
    assert_no_misuse();
    ExSetTimer(timer, -TEST_MS, 0, NULL);
    assert_misuse("ExSetTimer: there is no such timer");
}

/* ---- Work items ------------------------------------------------------------------------------ */

static VOID NTAPI note_work(PDEVICE_OBJECT device, PVOID context)
{
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_false(nt_is_first_thread(test.nt));
    test_sleep_ms(1);
    strncat(order, context, sizeof order - strlen(order) - 1);
    if (keeps_mutex)
        test_wait(&mutex, NULL);
}

static VOID NTAPI free_itself(PVOID object, PVOID context, PIO_WORKITEM item)
{
    IoFreeWorkItem(item);
    strncat(order, context, sizeof order - strlen(order) - 1);
}

static VOID NTAPI note_parameter(PVOID context)
{
    note_work(NULL, context);
}

static void work_items_run_on_threads_of_the_system(void **state)
{
    PIO_WORKITEM items[30];
    WORK_QUEUE_ITEM plain;

    for (unsigned i = 0; i < 30; i++) {
        items[i] = IoAllocateWorkItem(NULL);
        IoQueueWorkItem(items[i], note_work, DelayedWorkQueue, "w");
    }
    IoQueueWorkItem(items[29], note_work, DelayedWorkQueue, "w");
    assert_misuse("IoQueueWorkItem: the work item is queued already");
    ExInitializeWorkItem(&plain, note_parameter, "p");
    ExQueueWorkItem(&plain, CriticalWorkQueue);
    test_find_leftovers();
    assert_int_equal(test.left_count, 31 + 30);
    test_sleep_ms(10);
    assert_int_equal(strlen(order), 31);
    IoQueueWorkItemEx(items[0], free_itself, DelayedWorkQueue, "f");
    for (unsigned i = 1; i < 30; i++)
        IoFreeWorkItem(items[i]);
    test_sleep_ms(1);
    assert_int_equal(order[31], 'f');
    test_find_leftovers();
    assert_int_equal(test.left_count, 0);
    assert_no_misuse();
    IoFreeWorkItem(items[0]);
    assert_misuse("IoFreeWorkItem: there is no such work item");
}

static VOID NTAPI end_worker(PDEVICE_OBJECT device, PVOID context)
{
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static VOID NTAPI stay_raised(PDEVICE_OBJECT device, PVOID context)
{
    KfRaiseIrql(APC_LEVEL);
}

static void a_work_item_that_misbehaves_stops_the_machine(void **state)
{
    static const struct {
        PIO_WORKITEM_ROUTINE routine;
        uint32_t code;
    } cases[] = {{end_worker, NT_ACTIVE_EX_WORKER_THREAD_TERMINATION},
                 {stay_raised, NT_WORKER_THREAD_RETURNED_AT_BAD_IRQL},
                 {note_work, NT_SYSTEM_EXIT_OWNED_MUTEX}};
    static PIO_WORKITEM item;
    static unsigned i;

    keeps_mutex = true;
    for (i = 0; i < ARRAY_COUNT(cases); i++) {
        KeInitializeMutex(&mutex, 0);
        item = IoAllocateWorkItem(NULL);
        IoQueueWorkItem(item, cases[i].routine, DelayedWorkQueue, "");
        assert_stops(cases[i].code, test_sleep_ms(5));
        nt_abandon(test.nt);
        test_end();
        test_begin(i);
    }
    item = IoAllocateWorkItem(NULL);
    IoQueueWorkItem(item, note_work, DelayedWorkQueue, "");
    assert_stops(NT_WORKER_INVALID, IoFreeWorkItem(item));
}

/* ---- Clocks ---------------------------------------------------------------------------------- */

static ULONG_PTR NTAPI on_all(ULONG_PTR argument)
{
    assert_in_range(KeGetCurrentIrql(), 14, HIGH_LEVEL);
    return argument + 1;
}

static void clocks_agree_and_there_is_one_processor(void **state)
{
    LARGE_INTEGER frequency, counter = KeQueryPerformanceCounter(&frequency), system, later, ticks;
    ULONGLONG interrupt = KeQueryInterruptTime();
    PROCESSOR_NUMBER number = {.Number = 9};

    KeQuerySystemTimePrecise(&system);
    test_sleep_ms(1000);
    assert_int_equal(KeQueryPerformanceCounter(NULL).QuadPart - counter.QuadPart,
                     frequency.QuadPart);
    assert_int_equal(KeQueryInterruptTime() - interrupt, 10000000);
    KeQuerySystemTimePrecise(&later);
    assert_int_equal(later.QuadPart - system.QuadPart, 10000000);
    KeQueryTickCount(&ticks);
    assert_int_equal(ticks.QuadPart, 10000000 / KeQueryTimeIncrement());
    assert_int_equal(KeQueryActiveProcessorCountEx(ALL_PROCESSOR_GROUPS), 1);
    assert_int_equal(KeQueryActiveProcessorCountEx(1), 0);
    assert_int_equal(KeGetCurrentProcessorNumberEx(&number), 0);
    assert_int_equal(number.Number, 0);
    assert_int_equal(KeIpiGenericCall(on_all, 41), 42);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    KeSetSystemAffinityThread(1);
    assert_no_misuse();
    KeSetSystemAffinityThread(2);
    assert_misuse("there is one processor, and the mask is 0x2");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, test_teardown)
        TEST(dpcs_run_in_order_once_and_soon),
        TEST(a_stall_at_dispatch_level_keeps_dpcs_waiting),
        TEST(memory_with_a_dpc_or_timer_in_use_must_not_be_freed),
        TEST(timers_expire_and_repeat),
        TEST(ex_timers_call_back_until_they_are_deleted),
        TEST(work_items_run_on_threads_of_the_system),
        TEST(a_work_item_that_misbehaves_stops_the_machine),
        TEST(clocks_agree_and_there_is_one_processor),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
