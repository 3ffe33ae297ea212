/* Calls there and back, and messages that are none. */
#include "thunk/thunk.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

struct message {
    uint64_t words[4096];
    size_t bytes;
};

static void pack(struct message *message, unsigned function, const void *arguments)
{
    memset(message->words, 0xcc, sizeof message->words);
    message->bytes = thunk_call_bytes(function, arguments);
    assert_true(message->bytes && message->bytes <= sizeof message->words);
    assert_true(thunk_pack_call(function, arguments, message->words, message->bytes));
}

static void *open_call(struct message *message, unsigned function)
{
    void *arguments;
    unsigned found;

    assert_true(thunk_open(message->words, message->bytes, &found, &arguments));
    assert_int_equal(found, function);
    return arguments;
}

/* The answer to what lies in the message, taken by the caller. */
static NTSTATUS answer(unsigned function, void *server, NTSTATUS status, void *caller)
{
    static struct message reply;
    NTSTATUS taken;

    reply.bytes = thunk_answer_bytes(function, server);
    assert_true(reply.bytes && reply.bytes <= sizeof reply.words);
    assert_true(thunk_pack_answer(function, server, status, reply.words, reply.bytes));
    assert_true(thunk_take_answer(function, caller, reply.words, reply.bytes, &taken));
    return taken;
}

static void nested_lists_go_there_and_back(void **state)
{
    static struct message message;
    uint8_t data[3][40] = {"first", "", "third, and longer"};
    D3DDDI_ALLOCATIONINFO2 infos[3] = {
        {.pPrivateDriverData = data[0], .PrivateDriverDataSize = 6},
        {.pSystemMem = (const void *)0x1234000},
        {.pPrivateDriverData = data[2], .PrivateDriverDataSize = 40},
    };
    D3DKMT_CREATEALLOCATION call = {.hDevice = 7, .NumAllocations = 3, .pAllocationInfo2 = infos};
    D3DKMT_CREATEALLOCATION *there;

    pack(&message, D3DKMT_FN_CreateAllocation2, &call);
    there = open_call(&message, D3DKMT_FN_CreateAllocation2);
    assert_int_equal(there->hDevice, 7);
    assert_ptr_not_equal(there->pAllocationInfo2, infos);
    assert_string_equal(there->pAllocationInfo2[0].pPrivateDriverData, "first");
    assert_null(there->pAllocationInfo2[1].pPrivateDriverData);
    assert_ptr_equal(there->pAllocationInfo2[1].pSystemMem, (const void *)0x1234000);
    assert_string_equal(there->pAllocationInfo2[2].pPrivateDriverData, "third, and longer");
    there->pAllocationInfo2[2].hAllocation = 99;
    memcpy(there->pAllocationInfo2[2].pPrivateDriverData, "other", 6);
    there->hResource = 5;
    assert_int_equal(answer(D3DKMT_FN_CreateAllocation2, there, STATUS_PENDING, &call),
                     STATUS_PENDING);
    assert_int_equal(call.hResource, 5);
    assert_ptr_equal(call.pAllocationInfo2, infos);
    assert_int_equal(infos[2].hAllocation, 99);
    assert_ptr_equal(infos[2].pPrivateDriverData, data[2]);
    assert_string_equal((const char *)data[2], "other");
    assert_string_equal((const char *)data[0], "first");
}

static void a_structure_that_is_only_read_is_not_written(void **state)
{
    static struct message message;
    const D3DKMT_HANDLE handles[2] = {3, 4};
    const UINT64 values[2] = {30, 40};
    const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU call = {
        .hDevice = 1, .ObjectCount = 2, .ObjectHandleArray = handles, .FenceValueArray = values};
    const D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU before = call;
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU *there;

    pack(&message, D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &call);
    there = open_call(&message, D3DKMT_FN_WaitForSynchronizationObjectFromCpu);
    assert_int_equal(there->ObjectHandleArray[1], 4);
    assert_int_equal(there->FenceValueArray[1], 40);
    there->hDevice = 77;
    answer(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, there, 0, (void *)(uintptr_t)&call);
    assert_memory_equal(&call, &before, sizeof call);
}

static void an_answer_may_have_fewer_elements_and_never_more(void **state)
{
    static struct message message, reply;
    D3DKMT_ADAPTERINFO infos[4] = {{0}};
    D3DKMT_ENUMADAPTERS3 call = {.NumAdapters = 4, .pAdapters = infos};
    D3DKMT_ENUMADAPTERS3 *there;
    NTSTATUS status;

    pack(&message, D3DKMT_FN_EnumAdapters3, &call);
    there = open_call(&message, D3DKMT_FN_EnumAdapters3);
    there->NumAdapters = 1;
    there->pAdapters[0].hAdapter = 12;
    answer(D3DKMT_FN_EnumAdapters3, there, 0, &call);
    assert_int_equal(call.NumAdapters, 1);
    assert_int_equal(infos[0].hAdapter, 12);
    /* The caller has room for one now. */
    there->NumAdapters = 2;
    reply.bytes = thunk_answer_bytes(D3DKMT_FN_EnumAdapters3, there);
    assert_true(thunk_pack_answer(D3DKMT_FN_EnumAdapters3, there, 0, reply.words, reply.bytes));
    assert_false(
        thunk_take_answer(D3DKMT_FN_EnumAdapters3, &call, reply.words, reply.bytes, &status));
}

/* How many there are is asked for first, with no list. */
static void a_count_may_come_back_for_a_list_that_is_not_there(void **state)
{
    static struct message message;
    D3DKMT_ENUMADAPTERS2 call = {0};
    D3DKMT_ENUMADAPTERS2 *there;

    pack(&message, D3DKMT_FN_EnumAdapters2, &call);
    there = open_call(&message, D3DKMT_FN_EnumAdapters2);
    assert_null(there->pAdapters);
    there->NumAdapters = 3;
    assert_int_equal(answer(D3DKMT_FN_EnumAdapters2, there, 0, &call), 0);
    assert_int_equal(call.NumAdapters, 3);
    assert_null(call.pAdapters);
}

/* Nobody learns where the other's memory is. */
static void no_message_has_an_address(void **state)
{
    static struct message message, reply;
    uint8_t data[8] = "data";
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = data, .PrivateDriverDataSize = 8};
    D3DKMT_CREATEALLOCATION call = {.NumAllocations = 1, .pAllocationInfo2 = &info};
    const void *addresses[] = {data, &info, message.words};
    void *there;

    pack(&message, D3DKMT_FN_CreateAllocation2, &call);
    for (size_t i = 0; i < message.bytes / 8; i++)
        assert_true(message.words[i] != (uintptr_t)addresses[0] &&
                    message.words[i] != (uintptr_t)addresses[1]);
    there = open_call(&message, D3DKMT_FN_CreateAllocation2);
    reply.bytes = thunk_answer_bytes(D3DKMT_FN_CreateAllocation2, there);
    assert_true(thunk_pack_answer(D3DKMT_FN_CreateAllocation2, there, 0, reply.words, reply.bytes));
    for (size_t i = 0; i < reply.bytes / 8; i++)
        assert_true(reply.words[i] - (uintptr_t)addresses[2] >= sizeof message.words);
}

/* CpuEventHandle lies where the list of values does otherwise. */
static void an_event_goes_where_a_list_would(void **state)
{
    static struct message message;
    const D3DKMT_HANDLE context = 9;
    const UINT64 value = 7;
    D3DKMT_SIGNALSYNCHRONIZATIONOBJECTFROMGPU2 *there,
        call = {.BroadcastContextCount = 1, .BroadcastContextArray = &context};
    struct thunk_list list;

    call.ObjectCount = 1;
    call.CpuEventHandle = (HANDLE)(uintptr_t)&value;
    call.Flags.EnqueueCpuEvent = 1;
    pack(&message, D3DKMT_FN_SignalSynchronizationObjectFromGpu2, &call);
    there = open_call(&message, D3DKMT_FN_SignalSynchronizationObjectFromGpu2);
    assert_ptr_equal(there->CpuEventHandle, &value);
    assert_int_equal(there->BroadcastContextArray[0], 9);
    assert_true(thunk_find_list(D3DKMT_FN_SignalSynchronizationObjectFromGpu2, there, 2, &list));
    assert_int_equal(list.count, 0);
    assert_int_equal(
        answer(D3DKMT_FN_SignalSynchronizationObjectFromGpu2, there, STATUS_SUCCESS, &call),
        STATUS_SUCCESS);
    assert_ptr_equal(call.CpuEventHandle, &value);
    call.Flags.EnqueueCpuEvent = 0;
    pack(&message, D3DKMT_FN_SignalSynchronizationObjectFromGpu2, &call);
    there = open_call(&message, D3DKMT_FN_SignalSynchronizationObjectFromGpu2);
    assert_int_equal(there->MonitoredFenceValueArray[0], 7);
}

/* Every shorter message, and every count that grows, is refused; no byte behind it is read. */
static void what_is_cut_or_claims_more_is_no_message(void **state)
{
    static struct message message;
    uint8_t data[24] = {1};
    D3DDDI_ALLOCATIONINFO2 info = {.pPrivateDriverData = data, .PrivateDriverDataSize = 24};
    D3DKMT_CREATEALLOCATION call = {.NumAllocations = 1, .pAllocationInfo2 = &info};
    unsigned function;
    void *arguments;

    for (size_t cut = 0; cut < 250; cut++) {
        uint64_t *copy;
        size_t bytes;

        pack(&message, D3DKMT_FN_CreateAllocation2, &call);
        bytes = cut < message.bytes ? message.bytes - cut : 0;
        copy = malloc(bytes + 1); /* so that a tool sees what is read behind it */
        memcpy(copy, message.words, bytes);
        if (bytes >= sizeof(struct thunk_header))
            ((struct thunk_header *)copy)->bytes = (uint32_t)bytes;
        assert_int_equal(thunk_open(copy, bytes, &function, &arguments), cut == 0);
        free(copy);
    }
    pack(&message, D3DKMT_FN_CreateAllocation2, &call);
    ((D3DKMT_CREATEALLOCATION *)(message.words + 2))->NumAllocations = 0x40000000;
    assert_false(thunk_open(message.words, message.bytes, &function, &arguments));
    pack(&message, D3DKMT_FN_CreateAllocation2, &call);
    ((D3DKMT_CREATEALLOCATION *)(message.words + 2))->PrivateDriverDataSize = 8;
    ((D3DKMT_CREATEALLOCATION *)(message.words + 2))->pPrivateDriverData = data;
    assert_false(thunk_open(message.words, message.bytes, &function, &arguments));
    call.NumAllocations = UINT32_MAX;
    assert_int_equal(thunk_call_bytes(D3DKMT_FN_CreateAllocation2, &call), 0);
    assert_int_equal(thunk_call_bytes(D3DKMT_FN_COUNT, &call), 0);
}

/* What is opened: the data comes back in the caller's buffers, and no address of the server's. */
static void what_is_opened_comes_back_without_addresses(void **state)
{
    static struct message message;
    char runtime[8] = "", total[16] = "";
    D3DDDI_OPENALLOCATIONINFO2 infos[2] = {{.pPrivateDriverData = &message},
                                           {.pPrivateDriverData = &message}};
    D3DKMT_OPENRESOURCEFROMNTHANDLE call = {.hDevice = 7,
                                            .hNtHandle = (HANDLE)(uintptr_t)5,
                                            .NumAllocations = 2,
                                            .pOpenAllocationInfo2 = infos,
                                            .PrivateRuntimeDataSize = sizeof runtime,
                                            .pPrivateRuntimeData = runtime,
                                            .TotalPrivateDriverDataBufferSize = sizeof total,
                                            .pTotalPrivateDriverDataBuffer = total};
    D3DKMT_OPENRESOURCEFROMNTHANDLE *there;
    static struct message reply;
    NTSTATUS taken;

    pack(&message, D3DKMT_FN_OpenResourceFromNtHandle, &call);
    there = open_call(&message, D3DKMT_FN_OpenResourceFromNtHandle);
    assert_int_equal((uintptr_t)there->hNtHandle, 5);
    assert_null(there->pResourcePrivateDriverData);
    assert_null(there->pOpenAllocationInfo2[0].pPrivateDriverData);
    strcpy(there->pPrivateRuntimeData, "run");
    memcpy(there->pTotalPrivateDriverDataBuffer, "onetwo", 6);
    there->TotalPrivateDriverDataBufferSize = 6;
    there->hResource = 11;
    for (unsigned i = 0; i < 2; i++) {
        there->pOpenAllocationInfo2[i].hAllocation = 20 + i;
        there->pOpenAllocationInfo2[i].PrivateDriverDataSize = 3;
        there->pOpenAllocationInfo2[i].pPrivateDriverData =
            (char *)there->pTotalPrivateDriverDataBuffer + 3 * i;
    }
    reply.bytes = thunk_answer_bytes(D3DKMT_FN_OpenResourceFromNtHandle, there);
    assert_true(
        thunk_pack_answer(D3DKMT_FN_OpenResourceFromNtHandle, there, 0, reply.words, reply.bytes));
    for (size_t i = 0; i < reply.bytes / 8; i++)
        assert_true(reply.words[i] != (uintptr_t)there->pOpenAllocationInfo2[1].pPrivateDriverData);
    assert_true(thunk_take_answer(D3DKMT_FN_OpenResourceFromNtHandle, &call, reply.words,
                                  reply.bytes, &taken));
    assert_int_equal(call.hResource, 11);
    assert_int_equal(call.TotalPrivateDriverDataBufferSize, 6);
    assert_string_equal(runtime, "run");
    assert_memory_equal(total, "onetwo", 6);
    assert_int_equal(infos[1].hAllocation, 21);
    assert_int_equal(infos[1].PrivateDriverDataSize, 3);
    assert_ptr_equal(infos[1].pPrivateDriverData, &message); /* the library's to say */
}

/* A timeout has no count; private data comes back in the caller's buffer. */
static void a_timeout_goes_and_private_data_comes_back(void **state)
{
    static struct message message, reply;
    LARGE_INTEGER timeout = {.QuadPart = -5};
    char data[8] = "mine";
    D3DKMT_ACQUIREKEYEDMUTEX2 call = {.hKeyedMutex = 3,
                                      .Key = 4,
                                      .pTimeout = &timeout,
                                      .pPrivateRuntimeData = data,
                                      .PrivateRuntimeDataSize = sizeof data};
    D3DKMT_ACQUIREKEYEDMUTEX2 *there;
    NTSTATUS taken;

    pack(&message, D3DKMT_FN_AcquireKeyedMutex2, &call);
    assert_int_equal(message.bytes, 16 + sizeof call + 8 + 8);
    there = open_call(&message, D3DKMT_FN_AcquireKeyedMutex2);
    assert_int_equal(there->pTimeout->QuadPart, -5);
    assert_string_equal(there->pPrivateRuntimeData, "mine");
    strcpy(there->pPrivateRuntimeData, "theirs");
    there->FenceValue = 9;
    reply.bytes = thunk_answer_bytes(D3DKMT_FN_AcquireKeyedMutex2, there);
    assert_int_equal(reply.bytes, 16 + sizeof call + 8);
    assert_true(
        thunk_pack_answer(D3DKMT_FN_AcquireKeyedMutex2, there, 0, reply.words, reply.bytes));
    assert_true(
        thunk_take_answer(D3DKMT_FN_AcquireKeyedMutex2, &call, reply.words, reply.bytes, &taken));
    assert_int_equal(call.FenceValue, 9);
    assert_string_equal(data, "theirs");
    assert_ptr_equal(call.pTimeout, &timeout);

    /* Without one the server sees none; a message that lacks it is none. */
    call.pTimeout = NULL;
    call.pPrivateRuntimeData = NULL;
    call.PrivateRuntimeDataSize = 0;
    pack(&message, D3DKMT_FN_AcquireKeyedMutex2, &call);
    assert_int_equal(message.bytes, 16 + sizeof call);
    there = open_call(&message, D3DKMT_FN_AcquireKeyedMutex2);
    assert_null(there->pTimeout);
    pack(&message, D3DKMT_FN_AcquireKeyedMutex2, &call);
    ((D3DKMT_ACQUIREKEYEDMUTEX2 *)(message.words + 2))->pTimeout = &timeout;
    assert_false(thunk_open(message.words, message.bytes, &(unsigned){0}, &(void *){NULL}));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_opened_comes_back_without_addresses),
        cmocka_unit_test(a_timeout_goes_and_private_data_comes_back),
        cmocka_unit_test(nested_lists_go_there_and_back),
        cmocka_unit_test(a_structure_that_is_only_read_is_not_written),
        cmocka_unit_test(an_answer_may_have_fewer_elements_and_never_more),
        cmocka_unit_test(a_count_may_come_back_for_a_list_that_is_not_there),
        cmocka_unit_test(no_message_has_an_address),
        cmocka_unit_test(an_event_goes_where_a_list_would),
        cmocka_unit_test(what_is_cut_or_claims_more_is_no_message),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
