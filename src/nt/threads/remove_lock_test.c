/* Remove locks, and the state of floating point. */
#include "nt/rig/test_threads.h"

#include <string.h>
#include <wdm/clock.h>
#include <wdm/remove_lock.h>

static IO_REMOVE_LOCK lock;
static int ended, removed;

static void NTAPI work(PVOID tag)
{
    assert_int_equal(IoAcquireRemoveLock(&lock, tag), STATUS_SUCCESS);
    test_sleep_ms(5);
    ended++;
    assert_int_equal(removed, 0);
    IoReleaseRemoveLock(&lock, tag);
}

static void the_last_who_holds_the_lock_lets_the_device_go(void **state)
{
    PKTHREAD threads[3];

    ended = removed = 0;
    IoInitializeRemoveLock(&lock, TEST_TAG, 0, 0);
    assert_int_equal(IoAcquireRemoveLock(&lock, &lock), STATUS_SUCCESS);
    for (int i = 0; i < 3; i++)
        threads[i] = test_thread(work, &threads[i]);
    test_sleep_ms(2);
    IoReleaseRemoveLockAndWait(&lock, &lock);
    assert_int_equal(ended, 3);
    removed = 1;
    assert_int_equal(IoAcquireRemoveLock(&lock, NULL), STATUS_DELETE_PENDING);
    for (int i = 0; i < 3; i++)
        test_join(threads[i]);
    assert_no_misuse();
}

static void one_who_never_releases_is_a_deadlock(void **state)
{
    IoInitializeRemoveLock(&lock, TEST_TAG, 0, 0);
    IoAcquireRemoveLock(&lock, NULL);
    IoAcquireRemoveLock(&lock, &lock);
    if (!setjmp(test.stopped)) {
        IoReleaseRemoveLockAndWait(&lock, &lock);
        fail_msg("it went on");
    }
    assert_non_null(strstr(test.deadlock, "IoReleaseRemoveLockAndWait"));
    assert_non_null(strstr(test.deadlock, "remove lock"));
    nt_abandon(test.nt);
}

static void acquisitions_and_releases_are_matched_by_tag(void **state)
{
    PIO_REMOVE_LOCK in_pool = ExAllocatePool2(POOL_FLAG_NON_PAGED, sizeof lock, TEST_TAG);

    memset(&lock, 0, sizeof lock);
    assert_int_equal(IoAcquireRemoveLock(&lock, NULL), STATUS_DELETE_PENDING);
    assert_misuse("IoAcquireRemoveLock: the lock was never initialised");
    IoInitializeRemoveLock(&lock, TEST_TAG, 0, 2);
    IoAcquireRemoveLock(&lock, &ended);
    IoReleaseRemoveLock(&lock, &removed);
    assert_misuse("IoReleaseRemoveLock: nobody holds the lock with this tag");
    IoReleaseRemoveLock(&lock, &ended);
    assert_misuse("IoReleaseRemoveLock: the lock is released more often than it was acquired");
    IoAcquireRemoveLock(&lock, &ended);
    IoAcquireRemoveLock(&lock, &ended);
    assert_no_misuse();
    IoAcquireRemoveLock(&lock, &ended);
    assert_misuse("the lock is held 3 times; its high water mark is 2");
    for (int i = 0; i < 3; i++)
        IoReleaseRemoveLock(&lock, &ended);
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    IoAcquireRemoveLock(&lock, &ended);
    assert_no_misuse();
    nt_set_irql(test.nt, DISPATCH_LEVEL + 1);
    IoReleaseRemoveLock(&lock, &ended);
    assert_misuse("IoReleaseRemoveLock is called at IRQL 3");
    nt_set_irql(test.nt, PASSIVE_LEVEL);
    IoInitializeRemoveLock(in_pool, TEST_TAG, 0, 0);
    IoAcquireRemoveLock(in_pool, NULL);
    ExFreePool(in_pool);
    assert_misuse("memory is freed with a remove lock in it that is held; it was acquired 1 times");
}

static void floating_point_is_saved_and_restored_in_pairs(void **state)
{
    KFLOATING_SAVE outer, inner;
    KIRQL irql;

    assert_int_equal(KeSaveFloatingPointState(&outer), STATUS_SUCCESS);
    KeRaiseIrql(DISPATCH_LEVEL, &irql);
    assert_int_equal(KeSaveFloatingPointState(&inner), STATUS_SUCCESS);
    assert_int_equal(KeRestoreFloatingPointState(&inner), STATUS_SUCCESS);
    assert_no_misuse();
    KeRestoreFloatingPointState(&inner);
    assert_misuse("KeSaveFloatingPointState saved nothing here");
    KeRestoreFloatingPointState(&outer);
    assert_misuse("is called at IRQL 2 in thread 0; the state was saved at IRQL 0 in thread 0");
    KeLowerIrql(irql);
    assert_int_equal(KeRaiseIrqlToDpcLevel(), PASSIVE_LEVEL);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    KeLowerIrql(PASSIVE_LEVEL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(the_last_who_holds_the_lock_lets_the_device_go),
        TEST(one_who_never_releases_is_a_deadlock),
        TEST(acquisitions_and_releases_are_matched_by_tag),
        TEST(floating_point_is_saved_and_restored_in_pairs),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
