/* Lookaside lists of the three kinds, called and inlined. */
#include "nt/exports.h"
#include "nt/machine/bug_check.h"
#include "nt/memory/pool.h"
#include "nt/rig/test_threads.h"

#include <wdm/lookaside.h>

#define ENTRY_BYTES 40

static NPAGED_LOOKASIDE_LIST nonpaged;
static PAGED_LOOKASIDE_LIST paged;
static LOOKASIDE_LIST_EX extended;

static int allocations, frees;
static POOL_TYPE asked_type;
static bool has_memory;

static void entries_are_blocks_of_the_list_s_size_and_tag(void **state)
{
    struct nt_pool_block block;
    void *entries[3];

    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, POOL_NX_ALLOCATION, ENTRY_BYTES,
                                    TEST_TAG, 0);
    for (int i = 0; i < 3; i++) {
        entries[i] = ExAllocateFromNPagedLookasideList(&nonpaged);
        assert_non_null(entries[i]);
        assert_true(nt_pool_find(test.nt, entries[i], &block));
        assert_int_equal(block.bytes, ENTRY_BYTES);
        assert_int_equal(block.tag, TEST_TAG);
    }
    assert_int_equal(nt_pool_live_blocks(test.nt), 3);
    for (int i = 0; i < 3; i++)
        ExFreeToNPagedLookasideList(&nonpaged, entries[i]);
    assert_int_equal(nt_pool_live_blocks(test.nt), 0);
    ExDeleteNPagedLookasideList(&nonpaged);
    assert_no_misuse();

    ExInitializePagedLookasideList(&paged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    entries[0] = ExAllocateFromPagedLookasideList(&paged);
    assert_true(nt_pool_is_paged(test.nt, (UCHAR *)entries[0] + ENTRY_BYTES - 1));
    ExFreeToPagedLookasideList(&paged, entries[0]);
    ExDeletePagedLookasideList(&paged);
    assert_no_misuse();
}

static void an_entry_that_is_freed_twice_is_a_bug_check(void **state)
{
    void *entry;

    nt_pool_set_guard(test.nt, NT_POOL_GUARD_END);
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    entry = ExAllocateFromNPagedLookasideList(&nonpaged);
    ExFreeToNPagedLookasideList(&nonpaged, entry);
    assert_stops(NT_BAD_POOL_CALLER, ExFreeToNPagedLookasideList(&nonpaged, entry));
    assert_int_equal(test.parameters[0], NT_POOL_FREE_TWICE);
}

static void entries_that_are_left_are_told_when_the_list_is_deleted(void **state)
{
    void *entry;

    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    entry = ExAllocateFromNPagedLookasideList(&nonpaged);
    ExDeleteNPagedLookasideList(&nonpaged);
    assert_misuse("ExDeleteNPagedLookasideList: 1 entries of a lookaside list (entries of 40 "
                  "bytes, tag 'Test') have not been freed to it");

    /* Freed past the list: no entry of it is left, and the pool has nothing to say. */
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES + 8, TEST_TAG, 0);
    ExFreePool(ExAllocateFromNPagedLookasideList(&nonpaged));
    ExDeleteNPagedLookasideList(&nonpaged);
    assert_no_misuse();
    ExFreePool(entry);
}

static void entries_of_another_list_are_told(void **state)
{
    void *entry;

    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    assert_int_equal(ExInitializeLookasideListEx(&extended, NULL, NULL, NonPagedPoolNx, 0,
                                                 ENTRY_BYTES * 2, TEST_TAG, 0),
                     STATUS_SUCCESS);
    entry = ExAllocateFromLookasideListEx(&extended);
    ExFreeToNPagedLookasideList(&nonpaged, entry);
    assert_misuse("(80 bytes) is no entry of this list (40 bytes)");
    ExDeleteNPagedLookasideList(&nonpaged);
    ExFlushLookasideListEx(&extended);
    ExDeleteLookasideListEx(&extended);
    assert_no_misuse();
}

static PVOID NTAPI own_allocate(POOL_TYPE type, SIZE_T bytes, ULONG tag)
{
    allocations++;
    asked_type = type;
    return has_memory ? ExAllocatePoolWithTag(type, bytes + 16, tag) : NULL;
}

static VOID NTAPI own_free(PVOID entry)
{
    frees++;
    ExFreePool(entry);
}

static PVOID NTAPI own_allocate_ex(POOL_TYPE type, SIZE_T bytes, ULONG tag, PLOOKASIDE_LIST_EX list)
{
    assert_ptr_equal(list, &extended);
    return own_allocate(type, bytes, tag);
}

static VOID NTAPI own_free_ex(PVOID entry, PLOOKASIDE_LIST_EX list)
{
    assert_ptr_equal(list, &extended);
    own_free(entry);
}

static void routines_of_the_driver_allocate_and_free(void **state)
{
    void *entry;

    allocations = frees = 0;
    has_memory = true;
    ExInitializePagedLookasideList(&paged, own_allocate, own_free, 0, ENTRY_BYTES, TEST_TAG, 0);
    ExFreeToPagedLookasideList(&paged, ExAllocateFromPagedLookasideList(&paged));
    assert_int_equal(asked_type, PagedPool);
    assert_int_equal(ExInitializeLookasideListEx(&extended, own_allocate_ex, own_free_ex, PagedPool,
                                                 EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE,
                                                 ENTRY_BYTES, TEST_TAG, 0),
                     STATUS_SUCCESS);
    entry = ExAllocateFromLookasideListEx(&extended);
    assert_int_equal(asked_type, PagedPool | POOL_QUOTA_FAIL_INSTEAD_OF_RAISE);
    has_memory = false;
    assert_null(ExAllocateFromLookasideListEx(&extended));
    assert_int_equal(allocations, 3);
    assert_int_equal(frees, 1);
    ExDeletePagedLookasideList(&paged);
    assert_no_misuse();
    ExDeleteLookasideListEx(&extended);
    assert_misuse("ExDeleteLookasideListEx: 1 entries");
    ExFreePool(entry);
}

static void failures_are_null_or_raise(void **state)
{
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    nt_pool_fail_at(test.nt, 1);
    assert_null(ExAllocateFromNPagedLookasideList(&nonpaged));
    ExDeleteNPagedLookasideList(&nonpaged);
    assert_no_misuse();
    assert_int_equal(ExInitializeLookasideListEx(&extended, NULL, NULL, NonPagedPool,
                                                 EX_LOOKASIDE_LIST_EX_FLAGS_RAISE_ON_FAIL,
                                                 ENTRY_BYTES, TEST_TAG, 0),
                     STATUS_SUCCESS);
    nt_pool_fail_at(test.nt, 1);
    /* Nobody handles it here. */
    assert_stops(NT_KMODE_EXCEPTION_NOT_HANDLED, ExAllocateFromLookasideListEx(&extended));
    assert_int_equal((NTSTATUS)test.parameters[0], STATUS_INSUFFICIENT_RESOURCES);
}

static void levels_are_those_of_the_kind(void **state)
{
    void *entry;

    assert_int_equal(
        ExInitializeLookasideListEx(&extended, NULL, NULL, PagedPool, 0, ENTRY_BYTES, TEST_TAG, 0),
        STATUS_SUCCESS);
    entry = ExAllocateFromLookasideListEx(&extended);
    nt_set_irql(test.nt, DISPATCH_LEVEL);
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    ExFreeToNPagedLookasideList(&nonpaged, ExAllocateFromNPagedLookasideList(&nonpaged));
    ExDeleteNPagedLookasideList(&nonpaged);
    assert_no_misuse();
    ExFlushLookasideListEx(&extended);
    assert_misuse("ExFlushLookasideListEx is called at IRQL 2; it is for IRQL 1 at most");
    ExInitializePagedLookasideList(&paged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    assert_misuse("ExInitializePagedLookasideList is called at IRQL 2");
    assert_stops(NT_BAD_POOL_CALLER, ExFreeToLookasideListEx(&extended, entry));
    assert_int_equal(test.parameters[0], NT_POOL_FREE_IRQL);
    assert_misuse("ExFreeToLookasideListEx is called at IRQL 2");
    nt_set_irql(test.nt, PASSIVE_LEVEL);
    ExFreePool(entry);
}

static void parameters_are_judged(void **state)
{
    UCHAR *memory = ExAllocatePool2(POOL_FLAG_PAGED, sizeof nonpaged + 16, TEST_TAG);

    assert_int_equal(ExInitializeLookasideListEx(&extended, NULL, NULL, (POOL_TYPE)3, 0,
                                                 ENTRY_BYTES, TEST_TAG, 0),
                     STATUS_INVALID_PARAMETER_4);
    assert_int_equal(
        ExInitializeLookasideListEx(&extended, NULL, NULL, PagedPool, 3, ENTRY_BYTES, TEST_TAG, 0),
        STATUS_INVALID_PARAMETER_5);
    assert_no_misuse();
    assert_int_equal(
        ExInitializeLookasideListEx(&extended, NULL, NULL, PagedPool, 2, ENTRY_BYTES, TEST_TAG, 0),
        STATUS_SUCCESS);
    assert_misuse("EX_LOOKASIDE_LIST_EX_FLAGS_FAIL_NO_RAISE is for lists with an allocation");
    ExInitializeNPagedLookasideList((void *)memory, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    assert_misuse("the list itself is in paged pool");
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 1, ENTRY_BYTES, TEST_TAG, 0);
    assert_misuse("flags 0x1, of which only 0x210 are known");
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    assert_misuse("initialised a second time");
    ExDeleteNPagedLookasideList(&nonpaged);
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, 4, TEST_TAG, 0);
    assert_misuse("entries of 4 bytes");
    ExDeleteNPagedLookasideList(&nonpaged);
    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 7);
    assert_misuse("Depth is reserved and is 7");
    ExDeleteNPagedLookasideList(&nonpaged);
    ExFreePool(memory);
    assert_misuse("memory is freed with a lookaside list (entries of 40 bytes, tag 'Test') in it");
}

static void lists_have_to_be_initialised_and_deleted(void **state)
{
    assert_null(ExAllocateFromPagedLookasideList(&paged));
    assert_misuse("ExAllocateFromPagedLookasideList: ExInitializePagedLookasideList has not "
                  "initialised the list, or it has been deleted");
    ExInitializePagedLookasideList(&paged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    assert_null(ExAllocateFromNPagedLookasideList((void *)&paged));
    assert_misuse("ExInitializeNPagedLookasideList has not initialised");
    test_find_leftovers();
    assert_int_equal(test.left_count, 1);
    assert_string_equal(test.left,
                        "a lookaside list (entries of 40 bytes, tag 'Test') has not been deleted");
    ExDeletePagedLookasideList(&paged);
    test_find_leftovers();
    assert_int_equal(test.left_count, 0);
}

/* ---- What compilers inlined before Windows 11 22H2 ------------------------------------------- */

struct inlined {
    SLIST_HEADER head;
    USHORT depth, maximum_depth;
    ULONG total_allocates, allocate_misses, total_frees, free_misses, type, tag, size;
    PALLOCATE_FUNCTION allocate;
    PFREE_FUNCTION release;
};

static void *inlined_allocate(void *memory)
{
    struct inlined *list = memory;
    void *entry;

    list->total_allocates++;
    entry = ExpInterlockedPopEntrySList(&list->head);
    if (entry)
        return entry;
    list->allocate_misses++;
    return list->allocate((POOL_TYPE)list->type, list->size, list->tag);
}

static void inlined_free(void *memory, void *entry)
{
    struct inlined *list = memory;

    list->total_frees++;
    if (ExQueryDepthSList(&list->head) < list->depth) {
        ExpInterlockedPushEntrySList(&list->head, entry);
        return;
    }
    list->free_misses++;
    list->release(entry);
}

static void inlined_functions_find_the_kernel_s_layout(void **state)
{
    void *entry;

    ExInitializeNPagedLookasideList(&nonpaged, NULL, NULL, 0, ENTRY_BYTES, TEST_TAG, 0);
    entry = inlined_allocate(&nonpaged);
    assert_int_equal(nt_pool_live_bytes(test.nt), ENTRY_BYTES);
    inlined_free(&nonpaged, entry);
    assert_int_equal(nt_pool_live_blocks(test.nt), 0);
    nt_pool_fail_at(test.nt, 1);
    assert_null(inlined_allocate(&nonpaged));
    entry = inlined_allocate(&nonpaged);
    ExDeleteNPagedLookasideList(&nonpaged);
    assert_misuse("1 entries of a lookaside list");
    ExFreePool(entry);

    /* What failed in the driver's own routine cannot be told from what is left. */
    has_memory = false;
    ExInitializeNPagedLookasideList(&nonpaged, own_allocate, own_free, 0, ENTRY_BYTES, TEST_TAG, 0);
    assert_null(inlined_allocate(&nonpaged));
    ExDeleteNPagedLookasideList(&nonpaged);
    assert_no_misuse();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, test_setup_threads, test_teardown)
        TEST(entries_are_blocks_of_the_list_s_size_and_tag),
        TEST(an_entry_that_is_freed_twice_is_a_bug_check),
        TEST(entries_that_are_left_are_told_when_the_list_is_deleted),
        TEST(entries_of_another_list_are_told),
        TEST(routines_of_the_driver_allocate_and_free),
        TEST(failures_are_null_or_raise),
        TEST(levels_are_those_of_the_kind),
        TEST(parameters_are_judged),
        TEST(lists_have_to_be_initialised_and_deleted),
        TEST(inlined_functions_find_the_kernel_s_layout),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
