#define _GNU_SOURCE
#include "bench/exec/lanes.h"

#include "base/bits.h"
#include "thunk/lane.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

_Static_assert(LANE_NOTICES == D3DKMT_MOST_TRIM_NOTICES, "each registration has a notice");

struct lane_call {
    struct d3dkmt_call call;
    struct lanes *lanes;
    unsigned number;
    bool is_calling;
    uint64_t *message;          /* a copy of the client's */
    uint64_t stack[LANE_STACK]; /* the same */
};

struct lanes {
    struct d3dkmt_process *process;
    int file;
    void *memory;
    struct lane_call calls[LANE_COUNT];
};

struct lanes *lanes_create(struct d3dkmt_process *process)
{
    struct lanes *lanes = calloc(1, sizeof *lanes);

    if (!lanes)
        return NULL;
    lanes->process = process;
    lanes->memory = MAP_FAILED;
    lanes->file = memfd_create("drydock-lanes", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (lanes->file < 0 || ftruncate(lanes->file, LANE_FILE_BYTES) ||
        fcntl(lanes->file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL))
        goto destroy;
    lanes->memory = mmap(NULL, LANE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, lanes->file, 0);
    if (lanes->memory == MAP_FAILED)
        goto destroy;
    for (unsigned i = 0; i < LANE_COUNT; i++) {
        lanes->calls[i].lanes = lanes;
        lanes->calls[i].number = i;
    }
    return lanes;

destroy:
    lanes_destroy(lanes);
    return NULL;
}

void lanes_destroy(struct lanes *lanes)
{
    if (!lanes)
        return;
    if (lanes->memory != MAP_FAILED)
        munmap(lanes->memory, LANE_FILE_BYTES);
    if (lanes->file >= 0)
        close(lanes->file);
    free(lanes);
}

int lanes_file(const struct lanes *lanes)
{
    return lanes->file;
}

struct lane_bell *lanes_bell(const struct lanes *lanes)
{
    return &((struct lane_board *)lanes->memory)->bell;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static void answer(struct lane_call *call, const void *message, size_t bytes)
{
    struct lane *lane = lane_at(call->lanes->memory, call->number);

    memcpy(lane->message, message, bytes);
    atomic_store(&lane->state, LANE_ANSWER);
    if (atomic_load(&lane->sleeps))
        lane_wake(&lane->state);
}

static void answer_bare(struct lane_call *call, NTSTATUS status)
{
    const struct thunk_header header = {
        .magic = THUNK_MAGIC, .bytes = sizeof header, .status = status};

    answer(call, &header, sizeof header);
}

static void call_ended(struct d3dkmt_call *ended)
{
    struct lane_call *call = ended->context;
    const size_t bytes = thunk_answer_bytes(ended->function, ended->arguments);
    uint64_t *message = bytes && bytes <= LANE_ROOM ? calloc(1, bytes) : NULL;

    call->is_calling = false;
    if (message &&
        thunk_pack_answer(ended->function, ended->arguments, ended->status, message, bytes))
        answer(call, message, bytes);
    else
        answer_bare(call, message ? STATUS_INVALID_PARAMETER : STATUS_NO_MEMORY);
    free(message);
    free(call->message);
    call->message = NULL;
}

/* NULL: it is no message, or there is no memory. */
static uint64_t *copy_message(const struct lane *lane, struct thunk_header *out_header)
{
    uint64_t *message;

    memcpy(out_header, lane->message, sizeof *out_header);
    if (out_header->magic != THUNK_MAGIC || out_header->bytes < sizeof *out_header ||
        out_header->bytes > LANE_ROOM)
        return NULL;
    message = malloc(out_header->bytes + 8);
    if (!message)
        return NULL;
    memcpy(message, lane->message, out_header->bytes);
    memcpy(message, out_header, sizeof *out_header); /* which the client may have changed since */
    return message;
}

static void make_call(struct lane_call *call, struct lanes_counts *counts)
{
    struct lane *lane = lane_at(call->lanes->memory, call->number);
    struct thunk_header header;
    unsigned function;

    if (call->is_calling || atomic_load(&lane->state) != LANE_CALL)
        return;
    counts->messages++;
    call->message = copy_message(lane, &header);
    memcpy(call->stack, lane->stack, sizeof call->stack);
    call->call = (struct d3dkmt_call){.ended = call_ended, .context = call, .stack = call->stack};
    while (call->call.stack_count < LANE_STACK && call->stack[call->call.stack_count])
        call->call.stack_count++;
    if (!call->message ||
        !thunk_open(call->message, header.bytes, &function, &call->call.arguments)) {
        counts->refused++;
        free(call->message);
        call->message = NULL;
        answer_bare(call, STATUS_INVALID_PARAMETER);
        return;
    }
    call->call.function = (enum d3dkmt_function)function;
    call->is_calling = true;
    if (d3dkmt_call(call->lanes->process, &call->call))
        call_ended(&call->call);
}

bool lanes_serve(struct lanes *lanes, struct lanes_counts *counts)
{
    struct lane_board *board = lanes->memory;
    uint64_t pending = atomic_load(&board->pending);

    if (!pending)
        return false;
    pending = atomic_exchange(&board->pending, 0);
    for (; pending; pending &= pending - 1)
        make_call(&lanes->calls[ctz_u64(pending)], counts);
    return true;
}

void lanes_notify(struct lanes *lanes, unsigned number, uint32_t flags, uint64_t bytes)
{
    struct lane_board *board = lanes->memory;
    struct lane_notice *notice = &board->notices[number];

    notice->flags = flags;
    notice->bytes = bytes;
    atomic_fetch_add(&notice->count, 1);
    atomic_fetch_add(&board->notice_bell, 1);
    lane_wake(&board->notice_bell);
}
