/* Arguments of client calls, each with its path. */
#include "bench/exec/client_arguments.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

struct told {
    char text[1024];
    size_t used;
};

static void tell(void *context, const char *name, uint64_t value)
{
    struct told *told = context;

    told->used +=
        (size_t)snprintf(told->text + told->used, sizeof told->text - told->used, "%s%s=%llx",
                         told->used ? " " : "", name, (unsigned long long)value);
}

static void members_and_elements_of_lists_are_given(void **state)
{
    const D3DKMT_HANDLE handles[20] = {0x40, 0x41};
    D3DKMT_EVICT evict = {.hDevice = 0x20, .NumAllocations = 2, .AllocationList = handles};
    struct told told = {.used = 0};
    const struct client_arguments_visitor visitor = {tell, &told};

    client_arguments_given(D3DKMT_FN_Evict, &evict, &visitor);
    assert_string_equal(told.text, "hDevice=20 NumAllocations=2 Flags=0 NumBytesToTrim=0 "
                                   "AllocationList[0]=40 AllocationList[1]=41");

    /* No list; and one that is longer than what is told. */
    told.used = 0;
    evict.AllocationList = NULL;
    client_arguments_given(D3DKMT_FN_Evict, &evict, &visitor);
    assert_null(strstr(told.text, "AllocationList"));
    told.used = 0;
    evict.AllocationList = handles;
    evict.NumAllocations = 20;
    client_arguments_given(D3DKMT_FN_Evict, &evict, &visitor);
    assert_non_null(strstr(told.text, "AllocationList[15]=0"));
    assert_null(strstr(told.text, "AllocationList[16]"));
}

static void an_array_in_the_structure_ends_with_what_is_not_0(void **state)
{
    D3DKMT_SUBMITCOMMAND submit = {.Commands = 0x10000, .BroadcastContextCount = 1};
    struct told told = {.used = 0};
    const struct client_arguments_visitor visitor = {tell, &told};
    unsigned char bytes[3] = {1, 2, 3};

    submit.BroadcastContext[0] = 0x30;
    submit.pPrivateDriverData = bytes;
    submit.PrivateDriverDataSize = sizeof bytes;
    client_arguments_given(D3DKMT_FN_SubmitCommand, &submit, &visitor);
    assert_non_null(strstr(told.text, "Commands=10000 "));
    assert_non_null(strstr(told.text, " BroadcastContext[0]=30 PrivateDriverDataSize=3"));
    assert_null(strstr(told.text, "BroadcastContext[1]"));
    assert_null(strstr(told.text, "pPrivateDriverData"));
}

static void answers_are_what_has_changed_and_lists_that_go_out(void **state)
{
    D3DDDI_ALLOCATIONINFO2 info = {.hAllocation = 0};
    D3DKMT_CREATEALLOCATION create = {
        .hDevice = 0x20, .NumAllocations = 1, .pAllocationInfo2 = &info};
    const D3DKMT_CREATEALLOCATION before = create;
    struct told told = {.used = 0};
    const struct client_arguments_visitor visitor = {tell, &told};

    info.hAllocation = 0x50;
    create.hResource = 0x60;
    client_arguments_answered(D3DKMT_FN_CreateAllocation2, &create, &before, &visitor);
    assert_non_null(strstr(told.text, "hResource=60"));
    assert_non_null(strstr(told.text, "pAllocationInfo2[0].hAllocation=50"));
    assert_null(strstr(told.text, "hDevice"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_and_elements_of_lists_are_given),
        cmocka_unit_test(an_array_in_the_structure_ends_with_what_is_not_0),
        cmocka_unit_test(answers_are_what_has_changed_and_lists_that_go_out),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
