/* What is seen of shared resources, whose global handles may come again. */
#include "clients/seen.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GLOBAL 0x40001234u

static void *const maker = (void *)1, *const opener = (void *)2;

static void create(struct seen *seen, D3DKMT_HANDLE resource, UINT count)
{
    D3DDDI_ALLOCATIONINFO2 infos[4] = {0};
    D3DKMT_CREATEALLOCATION arguments = {.hResource = resource,
                                         .hGlobalShare = GLOBAL,
                                         .NumAllocations = count,
                                         .pAllocationInfo2 = infos};
    const struct client_call call = {D3DKMT_FN_CreateAllocation2, &arguments, STATUS_SUCCESS, 0};

    arguments.Flags.CreateResource = arguments.Flags.CreateShared = 1;
    for (UINT i = 0; i < count; i++)
        infos[i].hAllocation = resource + 1 + i;
    seen_ended(seen, maker, &call);
}

/* The list is exactly as long as the call says. */
static void open(struct seen *seen, D3DKMT_HANDLE resource, UINT count)
{
    D3DDDI_OPENALLOCATIONINFO2 *infos = calloc(count, sizeof *infos);
    D3DKMT_OPENRESOURCE arguments = {.hGlobalShare = GLOBAL,
                                     .NumAllocations = count,
                                     .pOpenAllocationInfo2 = infos,
                                     .hResource = resource};
    const struct client_call call = {D3DKMT_FN_OpenResource, &arguments, STATUS_SUCCESS, 0};

    for (UINT i = 0; i < count; i++)
        infos[i].hAllocation = resource + 1 + i;
    seen_ended(seen, opener, &call);
    free(infos);
}

static const struct seen_object *opened(struct seen *seen, D3DKMT_HANDLE allocation)
{
    return seen_find(seen_process_of(seen, opener), allocation, SEEN_ALLOCATION);
}

/* Four allocations are gone; the number is that of one, which is what is opened. */
static void a_global_handle_is_that_of_the_last_resource(void **state)
{
    const struct seen_source source = {0};
    struct seen seen;

    seen_init(&seen, &source);
    create(&seen, 0x100, 4);
    create(&seen, 0x200, 1);
    open(&seen, 0x300, 1);
    assert_non_null(opened(&seen, 0x301));
    assert_ptr_equal(opened(&seen, 0x301)->body,
                     seen_find(seen_process_of(&seen, maker), 0x201, SEEN_ALLOCATION)->body);
    assert_null(opened(&seen, 0x302));
    seen_fini(&seen);
}

/* What was opened is not what was seen: nothing is said of it. */
static void another_number_of_allocations_is_another_resource(void **state)
{
    const struct seen_source source = {0};
    struct seen seen;

    seen_init(&seen, &source);
    create(&seen, 0x100, 4);
    open(&seen, 0x300, 1);
    assert_null(opened(&seen, 0x301));
    open(&seen, 0x400, 4);
    assert_non_null(opened(&seen, 0x404));
    seen_fini(&seen);
}

/* What nobody has is forgotten: by its name, with what it had, and not what others have. */
static void what_is_unshared_is_forgotten(void **state)
{
    const struct seen_source source = {0};
    D3DKMT_CREATEKEYEDMUTEX mutex = {.hSharedHandle = GLOBAL + 1, .hKeyedMutex = 0x500};
    D3DKMT_ACQUIREKEYEDMUTEX acquire = {.hKeyedMutex = 0x500};
    struct seen seen;

    seen_init(&seen, &source);
    create(&seen, 0x100, 4);
    list_first_entry(&seen.shared, struct seen_shared, link)->name = 7;
    open(&seen, 0x300, 4);
    seen_ended(&seen, maker,
               &(struct client_call){D3DKMT_FN_CreateKeyedMutex, &mutex, STATUS_SUCCESS, 8});
    seen_ended(&seen, maker,
               &(struct client_call){D3DKMT_FN_AcquireKeyedMutex, &acquire, STATUS_TIMEOUT, 0});
    assert_null(seen_find_shared(&seen, SEEN_KEYED_MUTEX, 8, 0)->holder);
    seen_ended(&seen, maker,
               &(struct client_call){D3DKMT_FN_AcquireKeyedMutex, &acquire, STATUS_SUCCESS, 0});
    assert_non_null(seen_find_shared(&seen, SEEN_KEYED_MUTEX, 8, 0)->holder);
    seen_unshared(&seen, 9);
    seen_unshared(&seen, 0);
    seen_unshared(&seen, 7);
    assert_null(seen_find_shared(&seen, SEEN_RESOURCE, 7, 0));
    assert_null(seen_find_shared(&seen, SEEN_RESOURCE, 0, GLOBAL));
    assert_non_null(opened(&seen, 0x301)); /* as far as calls have said */
    assert_null(opened(&seen, 0x301)->shared);
    assert_non_null(seen_find_shared(&seen, SEEN_KEYED_MUTEX, 0, GLOBAL + 1));

    /* The end of the process takes its sight alone. */
    seen_closed(&seen, maker);
    assert_null(seen_find_shared(&seen, SEEN_KEYED_MUTEX, 8, 0)->holder);
    seen_unshared(&seen, 8);
    assert_true(list_is_empty(&seen.shared));
    seen_fini(&seen);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_global_handle_is_that_of_the_last_resource),
        cmocka_unit_test(another_number_of_allocations_is_another_resource),
        cmocka_unit_test(what_is_unshared_is_forgotten),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
