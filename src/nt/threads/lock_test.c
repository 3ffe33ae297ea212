/*
 * Spin locks, fast and guarded mutexes, push locks, resources, rundown protection, interlocked
 * lists.
 */
#include "nt/machine/bug_check.h"
#include "nt/rig/test_threads.h"

static KSPIN_LOCK spin;
static int inside, most_inside, rounds;

static void stay(void)
{
    most_inside = max_u64((uint64_t)most_inside, (uint64_t)++inside);
    test_sleep_ms(1);
    inside--;
    rounds++;
}

/* Four threads that run main go through it three times each. */
static void crowd(PKSTART_ROUTINE start, void *context, int most)
{
    PKTHREAD threads[4];

    inside = most_inside = rounds = 0;
    for (unsigned i = 0; i < 4; i++)
        threads[i] = test_thread(start, context);
    for (unsigned i = 0; i < 4; i++)
        test_join(threads[i]);
    assert_int_equal(rounds, 12);
    assert_int_equal(most_inside, most);
    assert_no_misuse();
}

/* ---- Spin locks ------------------------------------------------------------------------------ */

static void spin_locks_of_all_kinds_keep_levels_and_counts(void **state)
{
    KLOCK_QUEUE_HANDLE queue;
    EX_SPIN_LOCK readers = 0;
    KIRQL irql;

    KeInitializeSpinLock(&spin);
    KeAcquireInStackQueuedSpinLock(&spin, &queue);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    assert_false(KeTestSpinLock(&spin));
    assert_false(KeTryToAcquireSpinLockAtDpcLevel(&spin));
    assert_int_equal(nt_held_lock_count(test.nt), 1);
    KeReleaseInStackQueuedSpinLock(&queue);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_int_equal(nt_held_lock_count(test.nt), 0);
    irql = ExAcquireSpinLockShared(&readers);
    ExReleaseSpinLockShared(&readers, ExAcquireSpinLockShared(&readers));
    assert_int_equal(nt_held_lock_count(test.nt), 1);
    ExReleaseSpinLockShared(&readers, irql);
    irql = ExAcquireSpinLockExclusive(&readers);
    assert_stops(NT_SPIN_LOCK_ALREADY_OWNED, ExAcquireSpinLockShared(&readers));
    ExReleaseSpinLockExclusive(&readers, irql);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_stops(NT_SPIN_LOCK_NOT_OWNED, ExReleaseSpinLockShared(&readers, irql));
    assert_stops(NT_IRQL_NOT_GREATER_OR_EQUAL, KeTryToAcquireSpinLockAtDpcLevel(&spin));
    KeAcquireSpinLock(&spin, &irql);
    assert_stops(NT_SPIN_LOCK_ALREADY_OWNED, KeAcquireSpinLockAtDpcLevel(&spin));
}

/* ---- Mutexes --------------------------------------------------------------------------------- */

static VOID NTAPI through_fast_mutex(PVOID context)
{
    for (unsigned i = 0; i < 3; i++) {
        ExAcquireFastMutex(context);
        assert_int_equal(KeGetCurrentIrql(), APC_LEVEL);
        stay();
        ExReleaseFastMutex(context);
        assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    }
}

static VOID NTAPI through_guarded_mutex(PVOID context)
{
    for (unsigned i = 0; i < 3; i++) {
        KeAcquireGuardedMutex(context);
        assert_true(KeAreAllApcsDisabled());
        assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
        stay();
        KeReleaseGuardedMutex(context);
        assert_false(KeAreApcsDisabled());
    }
}

static void mutexes_let_one_in(void **state)
{
    static FAST_MUTEX fast;

    ExInitializeFastMutex(&fast);
    crowd(through_fast_mutex, &fast, 1);
    KeInitializeGuardedMutex(&fast);
    crowd(through_guarded_mutex, &fast, 1);
    assert_true(ExTryToAcquireFastMutex(&fast));
    assert_false(ExTryToAcquireFastMutex(&fast));
    ExReleaseFastMutex(&fast);
    ExAcquireFastMutexUnsafe(&fast);
    assert_misuse("ExAcquireFastMutexUnsafe is called where APCs come");
    assert_stops(NT_MUTEX_ALREADY_OWNED, ExAcquireFastMutex(&fast));
    KeEnterCriticalRegion();
    ExReleaseFastMutexUnsafe(&fast);
    KeLeaveCriticalRegion();
    assert_no_misuse();
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    ExTryToAcquireFastMutex(&fast);
    assert_misuse("ExTryToAcquireFastMutex is called at IRQL 2; it is for IRQL 1 at most");
    nt_set_irql(test.nt, APC_LEVEL);
    ExReleaseFastMutex(&fast);
    assert_stops(NT_THREAD_NOT_MUTEX_OWNER, ExReleaseFastMutex(&fast));
}

static void what_a_thread_holds_is_counted(void **state)
{
    FAST_MUTEX fast;
    KMUTEX mutex;

    ExInitializeFastMutex(&fast);
    KeInitializeMutex(&mutex, 0);
    KeEnterGuardedRegion();
    KeEnterCriticalRegion();
    assert_int_equal(nt_held_by_thread(test.nt), 2);
    ExAcquireFastMutex(&fast);
    KeWaitForSingleObject(&mutex, Executive, KernelMode, FALSE, NULL);
    assert_int_equal(nt_held_by_thread(test.nt), 4);
    KeReleaseMutex(&mutex, FALSE);
    ExReleaseFastMutex(&fast);
    KeLeaveCriticalRegion();
    KeLeaveGuardedRegion();
    assert_int_equal(nt_held_by_thread(test.nt), 0);
    assert_no_misuse();
}

static void regions_are_left_as_often_as_entered(void **state)
{
    KeEnterGuardedRegion();
    KeLeaveGuardedRegion();
    assert_no_misuse();
    KeLeaveGuardedRegion();
    assert_misuse("KeLeaveGuardedRegion: the thread is in no such region");
    KeLeaveCriticalRegion();
    assert_misuse("KeLeaveCriticalRegion");
}

/* ---- Readers and writers --------------------------------------------------------------------- */

static VOID NTAPI write_push_lock(PVOID context)
{
    KeEnterCriticalRegion();
    for (unsigned i = 0; i < 3; i++) {
        ExAcquirePushLockExclusive(context);
        stay();
        ExReleasePushLockExclusive(context);
    }
    KeLeaveCriticalRegion();
}

static VOID NTAPI read_push_lock(PVOID context)
{
    KeEnterCriticalRegion();
    for (unsigned i = 0; i < 3; i++) {
        ExAcquirePushLockShared(context);
        stay();
        ExReleasePushLockShared(context);
    }
    KeLeaveCriticalRegion();
}

static void push_locks_let_one_write_or_all_read(void **state)
{
    static EX_PUSH_LOCK lock;

    ExInitializePushLock(&lock);
    crowd(write_push_lock, &lock, 1);
    crowd(read_push_lock, &lock, 4);
    assert_int_equal(lock, 0);
    ExAcquirePushLockShared(&lock);
    assert_misuse("is called where APCs come; it is for critical regions");
    KeEnterCriticalRegion();
    ExReleasePushLockExclusive(&lock);
    assert_misuse("ExReleasePushLockExclusiveEx: the push lock is not held so");
    ExReleasePushLockShared(&lock);
    assert_no_misuse();
}

static VOID NTAPI write_resource(PVOID context)
{
    for (unsigned i = 0; i < 3; i++) {
        ExEnterCriticalRegionAndAcquireResourceExclusive(context);
        assert_true(ExIsResourceAcquiredExclusiveLite(context));
        assert_true(ExAcquireResourceSharedLite(context, TRUE)); /* its owner may */
        ExReleaseResourceLite(context);
        stay();
        ExReleaseResourceAndLeaveCriticalRegion(context);
    }
}

static VOID NTAPI read_resource(PVOID context)
{
    for (unsigned i = 0; i < 3; i++) {
        ExEnterCriticalRegionAndAcquireResourceShared(context);
        assert_int_equal(ExIsResourceAcquiredSharedLite(context), 1);
        stay();
        ExReleaseResourceAndLeaveCriticalRegion(context);
    }
}

static void resources_let_one_write_or_all_read(void **state)
{
    static ERESOURCE resource;

    assert_int_equal(ExInitializeResourceLite(&resource), STATUS_SUCCESS);
    crowd(write_resource, &resource, 1);
    crowd(read_resource, &resource, 4);
    KeEnterCriticalRegion();
    assert_true(ExAcquireResourceSharedLite(&resource, FALSE));
    assert_false(ExAcquireResourceExclusiveLite(&resource, FALSE));
    assert_int_equal(ExDeleteResourceLite(&resource), STATUS_SUCCESS);
    assert_misuse("ExDeleteResourceLite: somebody has the resource");
    ExInitializeResourceLite(&resource);
    assert_stops(NT_RESOURCE_NOT_OWNED, ExReleaseResourceLite(&resource));
}

/* On Windows they are in a list of the system's. */
static void resources_are_deleted_before_their_memory_goes(void **state)
{
    static ERESOURCE of_image;
    ERESOURCE *of_pool = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof *of_pool, TEST_TAG);

    assert_non_null(of_pool);
    ExInitializeResourceLite(of_pool);
    ExDeleteResourceLite(of_pool);
    ExInitializeResourceLite(of_pool);
    assert_no_misuse();
    ExInitializeResourceLite(of_pool);
    assert_misuse("ExInitializeResourceLite: the resource is in use since it was initialised");
    ExFreePool(of_pool);
    assert_misuse("is freed without ExDeleteResourceLite");
    ExInitializeResourceLite(&of_image);
    test_find_leftovers();
    assert_non_null(strstr(test.left, "has not been deleted (ExDeleteResourceLite)"));
    ExDeleteResourceLite(&of_image);
}

static EX_RUNDOWN_REF rundown;
static bool is_released;

static VOID NTAPI release_later(PVOID context)
{
    test_sleep_ms(2);
    assert_false(ExAcquireRundownProtection(&rundown));
    is_released = true;
    ExReleaseRundownProtection(&rundown);
}

static void a_rundown_waits_for_all_who_are_protected(void **state)
{
    is_released = false;
    ExInitializeRundownProtection(&rundown);
    assert_true(ExAcquireRundownProtectionEx(&rundown, 2));
    ExReleaseRundownProtection(&rundown);
    ObDereferenceObject(test_thread(release_later, NULL));
    ExWaitForRundownProtectionRelease(&rundown);
    assert_true(is_released);
    assert_false(ExAcquireRundownProtection(&rundown));
    ExRundownCompleted(&rundown);
    ExReInitializeRundownProtection(&rundown);
    assert_true(ExAcquireRundownProtection(&rundown));
    assert_no_misuse();
    ExReleaseRundownProtectionEx(&rundown, 2);
    assert_misuse("2 are released, 1 were acquired");
    test_sleep_ms(1);
}

/* ---- Lists ----------------------------------------------------------------------------------- */

static void interlocked_lists_say_what_was_there(void **state)
{
    LIST_ENTRY head = {&head, &head}, entries[2];
    SINGLE_LIST_ENTRY single = {NULL}, singles[2];
    LARGE_INTEGER sum = {.QuadPart = 5};
    ULONG small = 7;

    KeInitializeSpinLock(&spin);
    assert_null(ExInterlockedRemoveHeadList(&head, &spin));
    assert_null(ExInterlockedInsertTailList(&head, &entries[0], &spin));
    assert_ptr_equal(ExInterlockedInsertHeadList(&head, &entries[1], &spin), &entries[0]);
    assert_ptr_equal(ExInterlockedRemoveHeadList(&head, &spin), &entries[1]);
    assert_ptr_equal(ExInterlockedRemoveHeadList(&head, &spin), &entries[0]);
    assert_null(ExInterlockedRemoveHeadList(&head, &spin));
    assert_null(ExInterlockedPushEntryList(&single, &singles[0], &spin));
    assert_ptr_equal(ExInterlockedPushEntryList(&single, &singles[1], &spin), &singles[0]);
    assert_ptr_equal(ExInterlockedPopEntryList(&single, &spin), &singles[1]);
    assert_ptr_equal(ExInterlockedPopEntryList(&single, &spin), &singles[0]);
    assert_null(ExInterlockedPopEntryList(&single, &spin));
    assert_int_equal(ExInterlockedAddLargeInteger(&sum, sum, &spin).QuadPart, 5);
    assert_int_equal(sum.QuadPart, 10);
    assert_int_equal(ExInterlockedAddUlong(&small, 3, &spin), 7);
    assert_int_equal(small, 10);
    ExInterlockedInsertTailList(&head, &entries[0], &spin);
    head.Blink = &entries[1];
    entries[1].Flink = &entries[1];
    assert_stops(NT_KERNEL_SECURITY_CHECK_FAILURE,
                 ExInterlockedInsertTailList(&head, &entries[1], &spin));
    spin = 1;
    assert_stops(NT_SPIN_LOCK_ALREADY_OWNED, ExInterlockedRemoveHeadList(&head, &spin));
}

static void slists_are_stacks_that_count(void **state)
{
    SLIST_HEADER head;
    SLIST_ENTRY entries[3];

    ExInitializeSListHead(&head);
    assert_null(InterlockedPopEntrySList(&head));
    for (unsigned i = 0; i < 3; i++)
        assert_ptr_equal(ExInterlockedPushEntrySList(&head, &entries[i], &spin),
                         i ? &entries[i - 1] : NULL);
    assert_int_equal(ExQueryDepthSList(&head), 3);
    assert_ptr_equal(InterlockedPopEntrySList(&head), &entries[2]);
    assert_int_equal(ExQueryDepthSList(&head), 2);
    assert_ptr_equal(InterlockedFlushSList(&head), &entries[1]);
    assert_ptr_equal(entries[1].Next, &entries[0]);
    assert_int_equal(ExQueryDepthSList(&head), 0);
    assert_no_misuse();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(spin_locks_of_all_kinds_keep_levels_and_counts),
        TEST(mutexes_let_one_in),
        TEST(what_a_thread_holds_is_counted),
        TEST(regions_are_left_as_often_as_entered),
        TEST(push_locks_let_one_write_or_all_read),
        TEST(resources_let_one_write_or_all_read),
        TEST(resources_are_deleted_before_their_memory_goes),
        TEST(a_rundown_waits_for_all_who_are_protected),
        TEST(interlocked_lists_say_what_was_there),
        TEST(slists_are_stacks_that_count),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
