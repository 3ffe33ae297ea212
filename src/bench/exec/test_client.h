/*
 * A client for tests: this process plays the client of a front that lives in it, too.
 */
#ifndef DRYDOCK_BENCH_EXEC_TEST_CLIENT_H
#define DRYDOCK_BENCH_EXEC_TEST_CLIENT_H

#include "bench/exec/client_rules.h"
#include "bench/exec/session.h"

#include "base/bits.h"

#include <drydock/sgpu.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

struct test_client {
    struct exec_session *session;
    struct d3dkmt_process *process;
    struct client_memory memory;
    uint8_t *window; /* its mapping */
    bool is_gone;
    /* Of notices to trim: how many there were, and the last. */
    unsigned notices, notice_number;
    uint32_t notice_flags;
    uint64_t notice_bytes;
    D3DKMT_HANDLE adapter, device, queue, queue_fence, context;
    const volatile uint64_t *paging_fence;
    D3DKMT_HANDLE fence;
    const volatile uint64_t *fence_value;
    uint64_t fence_va, next_value;
    /* Command buffers: locked for life, mapped. */
    D3DKMT_HANDLE commands;
    uint8_t *command_memory;
    uint64_t command_va, command_head;
};

struct test_buffer {
    D3DKMT_HANDLE handle;
    uint64_t bytes, va;
};

/* Faults of the GPU, in what a test plays. */
enum test_faults { TEST_NO_FAULTS, TEST_MAY_FAULT, TEST_MUST_FAULT };

/* Runs the test on a board with so much local memory; everything is taken down and found clean. */
void test_on_board(uint64_t local_bytes, void (*test)(struct exec_session *session));
/* The same with faults of the GPU, which must be, and nothing else. */
void test_on_board_with_faults(uint64_t local_bytes, void (*test)(struct exec_session *session));

/* The same, whether there are any or not. */
void test_on_board_that_may_fault(uint64_t local_bytes, void (*test)(struct exec_session *session));

/* The same on a board with hardware queues. */
void test_on_board_with_queues(uint64_t local_bytes, void (*test)(struct exec_session *session),
                               enum test_faults faults);

/* The same where a process has at most so many files of what it shares. */
void test_on_board_with_files(uint64_t local_bytes, void (*test)(struct exec_session *session),
                              unsigned most_files);

/* Rules of clients that have been broken on the board: what was told of each first; "": nothing. */
extern char test_breaches[CLIENT_RULE_COUNT][256];
extern unsigned test_told[CLIENT_RULE_COUNT]; /* how often */
/*
 * How many rules are told though they are kept, or not told though they are broken, each printed:
 * the expected one alone is broken, if any. Command buffers of clients stay locked for their lives,
 * so that CLIENT_RULE_LOCK_LEFT counts only where it is expected.
 */
unsigned test_told_wrongly(enum client_rule expected, bool is_broken);

void test_client_open(struct test_client *client, struct exec_session *session);
/* With a device, a paging queue, a context on the copy node, a fence and command buffers. */
void test_client_start(struct test_client *client, struct exec_session *session);
void test_client_close(struct test_client *client);

/* The function of this name with these arguments; lets the machine run until it has ended. */
NTSTATUS test_call(struct test_client *client, enum d3dkmt_function function, void *arguments);
/* The same with an NT handle, in or out: what it names (d3dkmt_call.nt_object). */
NTSTATUS test_call_by(struct test_client *client, enum d3dkmt_function function, void *arguments,
                      uint64_t *nt_object);
/* What others see, too, is mapped at the address, which a call has given. */
void *test_see(struct test_client *client, void *address);
#define TEST_CALL(client, name, arguments) test_call(client, D3DKMT_FN_##name, arguments)

/* Lets the machine run until nothing is left to do. */
void test_let_run(struct exec_session *session);
/* Lets the machine run until the paging fence has the value. */
void test_wait_paging(struct test_client *client, uint64_t value);
void test_wait_fence(struct test_client *client, uint64_t value);
/* The context waits for a value of the fence; the client signals it. */
void test_hold_queue(struct test_client *client, UINT64 value);
void test_let_go(struct test_client *client, UINT64 value);

/* An allocation with SGPU_UMD_* flags; over the memory, if that is not NULL. */
NTSTATUS test_create(struct test_client *client, uint32_t flags, uint64_t bytes, const void *memory,
                     struct test_buffer *out_buffer);
/* A resource of count allocations of so many bytes each, of local memory; gives their handles. */
D3DKMT_HANDLE test_create_resource(struct test_client *client, unsigned count, uint64_t bytes,
                                   struct test_buffer *out_buffers);
void test_map(struct test_client *client, struct test_buffer *buffer, uint64_t va);
/* The allocation is mapped, and in memory or on its way. */
void test_resident_buffer(struct test_client *client, uint32_t flags, uint64_t bytes,
                          struct test_buffer *out_buffer);
NTSTATUS test_make_resident(struct test_client *client, const struct test_buffer *buffer);
NTSTATUS test_evict(struct test_client *client, const struct test_buffer *buffer);
void test_destroy(struct test_client *client, const struct test_buffer *buffer);
void *test_lock(struct test_client *client, const struct test_buffer *buffer);

D3DKMT_DEVICEEXECUTION_STATE test_state_of(struct test_client *client);

/* Content that the seed says; whole words. */
void test_fill(uint8_t *memory, uint64_t bytes, uint64_t seed);
void test_expect(const uint8_t *memory, uint64_t bytes, uint64_t seed);

/* Another context of the render node, and a hardware queue of one. */
D3DKMT_HANDLE test_make_context(struct test_client *client, bool for_queues);
NTSTATUS test_make_queue(struct test_client *client, D3DKMT_HANDLE context, UINT flags,
                         D3DKMT_CREATEHWQUEUE *out_queue);

/* Copies by the GPU, and signals the client's fence behind it; gives the value. */
uint64_t test_copy(struct test_client *client, uint64_t to_va, uint64_t from_va, uint64_t bytes);

#endif
