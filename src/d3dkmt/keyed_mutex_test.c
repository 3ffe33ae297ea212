/* Keyed mutexes where memory is short. */
#include "d3dkmt/front.h"

#include "base/failing_services.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

static char much[3000], room[3000];

/* Makes one, opens it once more, and hands data over; stops where something fails. */
static NTSTATUS play(struct d3dkmt_process *process)
{
    D3DKMT_CREATEKEYEDMUTEX2 create = {.pPrivateRuntimeData = much, .PrivateRuntimeDataSize = 100};
    D3DKMT_OPENKEYEDMUTEX2 open = {.pPrivateRuntimeData = much,
                                   .PrivateRuntimeDataSize = sizeof much};
    D3DKMT_ACQUIREKEYEDMUTEX2 acquire = {.pPrivateRuntimeData = room,
                                         .PrivateRuntimeDataSize = sizeof room};
    D3DKMT_RELEASEKEYEDMUTEX2 release = {.pPrivateRuntimeData = much,
                                         .PrivateRuntimeDataSize = sizeof much};
    struct d3dkmt_call call = {.process = process};
    NTSTATUS status = d3dkmt_CreateKeyedMutex2(&call, &create);

    assert_int_equal(NT_SUCCESS(status), create.hKeyedMutex != 0);
    assert_int_equal(NT_SUCCESS(status), create.hSharedHandle != 0);
    if (!NT_SUCCESS(status))
        return status;
    open.hSharedHandle = create.hSharedHandle;
    status = d3dkmt_OpenKeyedMutex2(&call, &open);
    assert_int_equal(NT_SUCCESS(status), open.hKeyedMutex != 0);
    if (!NT_SUCCESS(status))
        return status;
    call = (struct d3dkmt_call){
        .function = D3DKMT_FN_AcquireKeyedMutex2, .arguments = &acquire, .process = process};
    acquire.hKeyedMutex = open.hKeyedMutex;
    assert_int_equal(d3dkmt_AcquireKeyedMutex2(&call, &acquire), D3DKMT_WAITS);
    assert_true(call.again(&call));
    assert_int_equal(call.status, STATUS_SUCCESS);
    release.hKeyedMutex = open.hKeyedMutex;
    status = d3dkmt_ReleaseKeyedMutex2(&call, &release);
    if (!NT_SUCCESS(status)) /* it is held as before, and can be released without data */
        assert_int_equal(d3dkmt_ReleaseKeyedMutex(
                             &call, &(D3DKMT_RELEASEKEYEDMUTEX){.hKeyedMutex = open.hKeyedMutex}),
                         STATUS_SUCCESS);
    return status;
}

static void every_nth_allocation_failure_leaves_it_whole(void **state)
{
    struct failing_services memory;
    bool has_failed = true;
    uint64_t n;

    for (n = 1; has_failed; n++) {
        struct d3dkmt *front = calloc(1, sizeof *front);
        struct d3dkmt_process process = {.front = front};
        NTSTATUS status;

        failing_services_init(&memory);
        failing_services_fail_at(&memory, n);
        front->services = &memory.services;
        shared_init(front);
        list_init(&process.keyed_mutexes);
        status = play(&process);
        has_failed = memory.has_failed;
        assert_int_equal(status, has_failed ? STATUS_NO_MEMORY : STATUS_SUCCESS);
        keyed_mutexes_close(&process);
        assert_int_equal(process.handle_count, 0);
        base_free_array(front->services, process.slots, process.slot_count, sizeof *process.slots);
        assert_int_equal(memory.live_blocks, 0);
        free(front);
    }
    assert_true(n > 6);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_nth_allocation_failure_leaves_it_whole),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
