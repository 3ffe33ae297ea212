/*
 * What of include/wdk runs: inline list operations, page and MDL arithmetic, status classes, and
 * the calling convention that types and services carry.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <cmocka.h>

#include <ntddk.h>
#include <dispmprt.h>

struct item {
    int value;
    LIST_ENTRY link;
};

static int value_of(PLIST_ENTRY entry)
{
    return CONTAINING_RECORD(entry, struct item, link)->value;
}

static void lists_keep_their_order(void **state)
{
    struct item items[3] = {{.value = 1}, {.value = 2}, {.value = 3}};
    LIST_ENTRY head;

    InitializeListHead(&head);
    assert_true(IsListEmpty(&head));

    InsertTailList(&head, &items[1].link);
    InsertTailList(&head, &items[2].link);
    InsertHeadList(&head, &items[0].link);
    assert_false(IsListEmpty(&head));
    assert_false(RemoveEntryList(&items[1].link));
    assert_int_equal(value_of(RemoveHeadList(&head)), 1);
    assert_int_equal(value_of(RemoveTailList(&head)), 3);
    assert_true(IsListEmpty(&head));

    InsertHeadList(&head, &items[0].link);
    assert_true(RemoveEntryList(&items[0].link));
}

static void single_lists_are_stacks(void **state)
{
    SINGLE_LIST_ENTRY head = {NULL}, first, second;

    assert_null(PopEntryList(&head));
    PushEntryList(&head, &first);
    PushEntryList(&head, &second);
    assert_ptr_equal(PopEntryList(&head), &second);
    assert_ptr_equal(PopEntryList(&head), &first);
    assert_null(PopEntryList(&head));
}

static void interlocked_operations_return_what_the_reference_says(void **state)
{
    volatile LONG value = 5;
    volatile LONG64 wide = INT64_C(1) << 40;
    int target;
    PVOID volatile pointer = NULL;

    assert_int_equal(InterlockedIncrement(&value), 6);
    assert_int_equal(InterlockedDecrement(&value), 5);
    assert_int_equal(InterlockedExchangeAdd(&value, 2), 5);
    assert_int_equal(InterlockedOr(&value, 8), 7);
    assert_int_equal(InterlockedAnd(&value, 12), 15);
    assert_int_equal(InterlockedCompareExchange(&value, 1, 11), 12);
    assert_int_equal(InterlockedCompareExchange(&value, 1, 12), 12);
    assert_int_equal(InterlockedExchange(&value, 3), 1);
    assert_int_equal(value, 3);

    assert_true(InterlockedIncrement64(&wide) == (INT64_C(1) << 40) + 1);
    assert_true(InterlockedCompareExchange64(&wide, 7, (INT64_C(1) << 40) + 1) ==
                (INT64_C(1) << 40) + 1);
    assert_true(wide == 7);

    assert_null(InterlockedCompareExchangePointer(&pointer, &target, NULL));
    assert_ptr_equal(InterlockedExchangePointer(&pointer, NULL), &target);
}

static void sizes_become_pages(void **state)
{
    assert_int_equal(BYTES_TO_PAGES((SIZE_T)0), 0);
    assert_int_equal(BYTES_TO_PAGES((SIZE_T)1), 1);
    assert_int_equal(BYTES_TO_PAGES((SIZE_T)PAGE_SIZE), 1);
    assert_int_equal(BYTES_TO_PAGES((SIZE_T)PAGE_SIZE + 1), 2);
    assert_int_equal(BYTES_TO_PAGES(UINT64_C(1) << 40), UINT64_C(1) << 28);

    assert_int_equal(ROUND_TO_PAGES(0), 0);
    assert_int_equal(ROUND_TO_PAGES(1), PAGE_SIZE);
    assert_int_equal(ROUND_TO_PAGES(PAGE_SIZE), PAGE_SIZE);

    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES((PVOID)0x1000, 0x1000), 1);
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES((PVOID)0x1fff, 2), 2);
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES((PVOID)0x1001, 0x1000), 2);
    assert_int_equal(ADDRESS_AND_SIZE_TO_SPAN_PAGES((PVOID)0x1000, 0), 0);
}

static void an_mdl_is_followed_by_its_pages(void **state)
{
    struct {
        MDL mdl;
        PFN_NUMBER pages[2];
    } list = {{.StartVa = (PVOID)0x5000, .ByteCount = 0x1800, .ByteOffset = 0x123}, {7, 9}};

    assert_ptr_equal(MmGetMdlPfnArray(&list.mdl), list.pages);
    assert_int_equal(MmGetMdlPfnArray(&list.mdl)[1], 9);
    assert_int_equal(MmGetMdlByteCount(&list.mdl), 0x1800);
    assert_int_equal(MmGetMdlByteOffset(&list.mdl), 0x123);
    assert_ptr_equal(MmGetMdlVirtualAddress(&list.mdl), (PVOID)0x5123);
}

static void status_classes_follow_the_two_top_bits(void **state)
{
    assert_true(NT_SUCCESS(STATUS_SUCCESS));
    assert_true(NT_SUCCESS(STATUS_PENDING));
    assert_true(NT_SUCCESS(STATUS_GRAPHICS_START_DEFERRED));
    assert_true(NT_INFORMATION(STATUS_GRAPHICS_START_DEFERRED));
    assert_true(NT_WARNING(STATUS_BUFFER_OVERFLOW));
    assert_false(NT_SUCCESS(STATUS_BUFFER_OVERFLOW));
    assert_true(NT_ERROR(STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER));
    assert_false(NT_SUCCESS(STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER));
}

#if defined(__x86_64__) && !defined(_WIN32) && !defined(__clang__)
/* gcc counts the convention as part of a function type, so a type without it is another type. */
_Static_assert(__builtin_types_compatible_p(DXGKDDI_RESETFROMTIMEOUT,
                                            NTSTATUS __attribute__((ms_abi)) (HANDLE)),
               "role types have the Windows convention");
_Static_assert(!__builtin_types_compatible_p(DXGKDDI_RESETFROMTIMEOUT,
                                             NTSTATUS __attribute__((sysv_abi)) (HANDLE)),
               "role types do not have the native convention");
_Static_assert(__builtin_types_compatible_p(DXGKCB_NOTIFY_DPC,
                                            VOID(__attribute__((ms_abi)) *)(HANDLE)),
               "callback types have the Windows convention");
_Static_assert(__builtin_types_compatible_p(__typeof__(KeGetCurrentIrql),
                                            KIRQL __attribute__((ms_abi)) (void)),
               "services have the Windows convention");
#endif

#if defined(__x86_64__)
/*
 * Where the first two integer arguments arrive, read from the registers themselves: rcx and rdx
 * under the Windows convention, rdi and rsi under the System V one.
 */
__attribute__((naked, noinline)) static NTSTATUS NTAPI rcx_plus_rdx(HANDLE first, HANDLE second)
{
    __asm__("movq %rcx, %rax\n\t"
            "addq %rdx, %rax\n\t"
            "ret");
}

static void arguments_arrive_in_the_registers_of_windows(void **state)
{
    PDXGKDDI_DESTROYPROCESS function = rcx_plus_rdx;

    assert_int_equal(function((HANDLE)40, (HANDLE)2), 42);
}
#endif

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_keep_their_order),
        cmocka_unit_test(single_lists_are_stacks),
        cmocka_unit_test(interlocked_operations_return_what_the_reference_says),
        cmocka_unit_test(sizes_become_pages),
        cmocka_unit_test(an_mdl_is_followed_by_its_pages),
        cmocka_unit_test(status_classes_follow_the_two_top_bits),
#if defined(__x86_64__)
        cmocka_unit_test(arguments_arrive_in_the_registers_of_windows),
#endif
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
