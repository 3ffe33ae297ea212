#define _GNU_SOURCE
#include "dxcore/connection.h"

#include "base/bits.h"
#include "thunk/lane.h"

#include <errno.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

/* Most calls fit into a buffer on the stack. */
#define USUAL_BYTES 4096u

static struct {
    pthread_mutex_t lock; /* of joining; nothing of the program's is touched inside */
    /* That has joined, or tried to; 0: none, or a child of fork(). Written behind the rest. */
    _Atomic pid_t process;
    int socket;
    struct protocol_joined joined;
    bool has_failed;
    void *lanes; /* NULL: calls go by sockets */
    uint64_t spin_ns;
    uint64_t base; /* of the window */
    bool has_stacks;
    _Atomic uint64_t used_lanes; /* a bit for each that a thread has */
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread int thread_socket = -1, thread_lane = -1;
static __thread bool is_in_lane, thread_stands_back;
static __thread struct lane_patience thread_patience;
static __thread pid_t thread_process; /* of which socket and lane are */

/* ---- Sockets --------------------------------------------------------------------------------- */

static int open_socket(void)
{
    const char *path = getenv(PROTOCOL_VARIABLE);
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int file;

    if (!path || strlen(path) >= sizeof address.sun_path)
        return -1;
    strcpy(address.sun_path, path);
    file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    while (file >= 0 && connect(file, (const struct sockaddr *)&address, sizeof address)) {
        if (errno == EINTR)
            continue;
        close(file);
        file = -1;
    }
    return file;
}

/* Room for a file beside a message. */
union file_room {
    struct cmsghdr header;
    char bytes[CMSG_SPACE(sizeof(int))];
};

static void put_file(struct msghdr *pack, union file_room *room, int file)
{
    pack->msg_control = room->bytes;
    pack->msg_controllen = sizeof room->bytes;
    room->header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof file), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&room->header), &file, sizeof file);
}

/* -1: none came. */
static int taken_file(const struct msghdr *pack, union file_room *room)
{
    int file = -1;

    if (pack->msg_controllen && room->header.cmsg_len == CMSG_LEN(sizeof file) &&
        room->header.cmsg_type == SCM_RIGHTS)
        memcpy(&file, CMSG_DATA(&room->header), sizeof file);
    return file;
}

/* given: goes along with the first byte; -1: none. */
static bool send_all(int file, const void *from, size_t bytes, int given)
{
    const char *at = from;

    while (bytes) {
        union file_room room = {0};
        struct iovec part = {.iov_base = (void *)(uintptr_t)at, .iov_len = bytes};
        struct msghdr pack = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent;

        if (given >= 0)
            put_file(&pack, &room, given);
        sent = sendmsg(file, &pack, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
        given = -1;
        at += sent;
        bytes -= (size_t)sent;
    }
    return true;
}

static bool receive_all(int file, void *to, size_t bytes)
{
    char *at = to;

    while (bytes) {
        const ssize_t got = recv(file, at, bytes, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        at += got;
        bytes -= (size_t)got;
    }
    return true;
}

/*
 * At least so many bytes and at most as many as there is room for; less: the server is gone. With
 * the file that has come along, or -1.
 */
static size_t receive_some(int file, void *to, size_t room, size_t least, int *out_given)
{
    size_t count = 0;

    *out_given = -1;
    while (count < least) {
        union file_room control = {0};
        struct iovec part = {.iov_base = (char *)to + count, .iov_len = room - count};
        struct msghdr pack = {.msg_iov = &part,
                              .msg_iovlen = 1,
                              .msg_control = control.bytes,
                              .msg_controllen = sizeof control.bytes};
        const ssize_t got = recvmsg(file, &pack, MSG_CMSG_CLOEXEC);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        if (*out_given < 0)
            *out_given = taken_file(&pack, &control);
        count += (size_t)got;
    }
    return count;
}

/* A message with a file beside it (-1: none), or an answer with one (NULL: none is wanted). */
static bool exchange(int file, unsigned function, const void *body, size_t bytes, int given,
                     void *answer, size_t answer_bytes, int *out_given)
{
    struct thunk_header header = {
        .magic = THUNK_MAGIC, .function = function, .bytes = (uint32_t)(sizeof header + bytes)};
    char message[sizeof header + 64];
    union file_room control = {0};
    struct iovec part = {.iov_base = message, .iov_len = header.bytes};
    struct msghdr pack = {.msg_iov = &part, .msg_iovlen = 1};

    if (bytes > 64)
        return false;
    memcpy(message, &header, sizeof header);
    if (bytes)
        memcpy(message + sizeof header, body, bytes);
    if (given >= 0)
        put_file(&pack, &control, given);
    if (sendmsg(file, &pack, MSG_NOSIGNAL) != (ssize_t)header.bytes)
        return false;
    memset(&control, 0, sizeof control);
    part = (struct iovec){.iov_base = &header, .iov_len = sizeof header};
    pack = (struct msghdr){.msg_iov = &part,
                           .msg_iovlen = 1,
                           .msg_control = control.bytes,
                           .msg_controllen = sizeof control.bytes};
    if (recvmsg(file, &pack, MSG_CMSG_CLOEXEC | MSG_WAITALL) != sizeof header ||
        header.bytes != sizeof header + answer_bytes || header.status ||
        !receive_all(file, answer, answer_bytes))
        return false;
    if (!out_given)
        return true;
    *out_given = taken_file(&pack, &control);
    return *out_given >= 0;
}

/* ---- Joining --------------------------------------------------------------------------------- */

/* Without lanes everything goes by sockets, only slower. */
static void open_lanes(void)
{
    int file = -1;
    void *memory;

    self.lanes = NULL;
    self.has_stacks = getenv("DRYDOCK_STACKS") != NULL;
    atomic_store(&self.used_lanes, 0);
    if (getenv("DRYDOCK_NO_LANES") ||
        !exchange(self.socket, PROTOCOL_LANES, NULL, 0, -1, NULL, 0, &file))
        return;
    memory = mmap(NULL, LANE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    close(file);
    if (memory != MAP_FAILED)
        self.lanes = memory;
    self.spin_ns = lane_can_spin() ? self.joined.spin_ns : 0;
}

static bool join(void)
{
    const struct protocol_join request = {.version = PROTOCOL_VERSION};
    struct protocol_window window = {0};
    int window_file = -1, memory_file;
    void *base = MAP_FAILED;
    bool is_in;

    self.socket = open_socket();
    if (self.socket < 0)
        return false;
    if (exchange(self.socket, PROTOCOL_JOIN, &request, sizeof request, -1, &self.joined,
                 sizeof self.joined, &window_file))
        base = mmap(NULL, self.joined.window_bytes, PROT_READ | PROT_WRITE,
                    MAP_SHARED | MAP_NORESERVE, window_file, 0);
    if (window_file >= 0)
        close(window_file);
    memory_file = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    window.base = (uintptr_t)base;
    is_in =
        base != MAP_FAILED && memory_file >= 0 &&
        exchange(self.socket, PROTOCOL_WINDOW, &window, sizeof window, memory_file, NULL, 0, NULL);
    if (memory_file >= 0)
        close(memory_file);
    if (is_in) {
        self.base = window.base;
        open_lanes();
        return true;
    }
    if (base != MAP_FAILED)
        munmap(base, self.joined.window_bytes);
    close(self.socket);
    self.socket = -1;
    return false;
}

/* The child is another process, with one thread: who had the lock is not there. */
static void forget_process(void)
{
    self.process = 0;
    pthread_mutex_init(&self.lock, NULL);
}

static void expect_forks(void)
{
    pthread_atfork(NULL, NULL, forget_process);
}

const struct protocol_joined *connection_join(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    if (self.process)
        return self.has_failed ? NULL : &self.joined;
    pthread_once(&once, expect_forks);
    pthread_mutex_lock(&self.lock);
    if (!self.process) {
        /* In a child of fork() the parent's connection is not its own. */
        if (self.socket >= 0)
            close(self.socket);
        self.has_failed = !join();
        self.process = getpid();
        if (self.has_failed && getenv("DRYDOCK_VERBOSE"))
            fprintf(stderr, "libdxcore.so: no server at '%s' (" PROTOCOL_VARIABLE ")\n",
                    getenv(PROTOCOL_VARIABLE) ? getenv(PROTOCOL_VARIABLE) : "");
    }
    pthread_mutex_unlock(&self.lock);
    return self.has_failed ? NULL : &self.joined;
}

struct lane_board *connection_lanes(void)
{
    return connection_join() ? self.lanes : NULL;
}

static void close_socket_of_thread(void)
{
    if (thread_socket >= 0)
        close(thread_socket);
    thread_socket = -1;
}

static void give_lane_back(void)
{
    if (thread_lane >= 0 && thread_process == self.process)
        atomic_fetch_and(&self.used_lanes, ~(UINT64_C(1) << thread_lane));
    thread_lane = -1;
}

/* Other destructors of the thread may make calls behind this one. */
static void thread_ends(void *value)
{
    close_socket_of_thread();
    give_lane_back();
}

static void make_key(void)
{
    pthread_key_create(&key, thread_ends);
}

/* What the thread has is the parent's after fork(). */
static void know_process(void)
{
    if (thread_process == self.process)
        return;
    close_socket_of_thread();
    thread_lane = -1;
    is_in_lane = false;
    thread_process = self.process;
}

static bool may_take_lane(uint64_t used)
{
    return thread_stands_back ? popcount_u64(used) < LANE_COUNT / 2 : ~used != 0;
}

/* -1: none is free. */
static int lane_of_thread(void)
{
    uint64_t used = atomic_load(&self.used_lanes);

    while (thread_lane < 0 && may_take_lane(used)) {
        const unsigned lane = (unsigned)__builtin_ctzll(~used);

        if (atomic_compare_exchange_weak(&self.used_lanes, &used, used | UINT64_C(1) << lane)) {
            thread_lane = (int)lane;
            pthread_once(&key_once, make_key);
            pthread_setspecific(key, &thread_lane);
        }
    }
    return thread_lane;
}

/* -1: the server is not there. */
static int socket_of_thread(const struct protocol_joined *joined)
{
    struct protocol_thread request;

    if (thread_socket >= 0)
        return thread_socket;
    thread_socket = open_socket();
    request.token = joined->token;
    if (thread_socket >= 0 &&
        !exchange(thread_socket, PROTOCOL_THREAD, &request, sizeof request, -1, NULL, 0, NULL))
        close_socket_of_thread();
    pthread_once(&key_once, make_key);
    if (thread_socket >= 0)
        pthread_setspecific(key, &thread_socket);
    return thread_socket;
}

static bool has_server(void)
{
    char byte;
    const ssize_t got = recv(self.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT);

    return got > 0 || (got < 0 && (errno == EAGAIN || errno == EINTR));
}

bool connection_stand_back(void)
{
    const struct protocol_joined *joined = connection_join();

    thread_stands_back = true;
    if (!joined)
        return true;
    know_process();
    return (self.lanes && lane_of_thread() >= 0) || socket_of_thread(joined) >= 0 || !has_server();
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/*
 * A connection whose call has not ended in order is closed: what still comes would answer the
 * next one. files: what goes along, and what comes; -1: nothing.
 */
static NTSTATUS exchange_call(int file, unsigned function, void *arguments, void *buffer,
                              size_t bytes, struct connection_files *files)
{
    struct thunk_header header;
    uint64_t usual[USUAL_BYTES / 8], *answer = usual;
    NTSTATUS status = STATUS_DEVICE_REMOVED;
    bool is_whole;
    size_t got;

    if (!thunk_pack_call(function, arguments, buffer, bytes))
        return STATUS_INVALID_PARAMETER;
    if (!send_all(file, buffer, bytes, files->given))
        goto close_socket;
    /* Most answers come in one piece; nothing is behind them. */
    got = receive_some(file, usual, sizeof usual, sizeof header, &files->taken);
    if (got < sizeof header)
        goto close_socket;
    memcpy(&header, usual, sizeof header);
    if (header.magic != THUNK_MAGIC || header.bytes < got || header.bytes > THUNK_MOST_BYTES)
        goto close_socket;
    if (header.bytes > sizeof usual)
        answer = malloc(header.bytes);
    if (!answer) {
        status = STATUS_NO_MEMORY;
        goto close_socket;
    }
    if (answer != usual)
        memcpy(answer, usual, got);
    is_whole = receive_all(file, (char *)answer + got, header.bytes - got);
    if (is_whole)
        thunk_take_answer(function, arguments, answer, header.bytes, &status);
    if (answer != usual)
        free(answer);
    if (is_whole)
        return status;
close_socket:
    close_socket_of_thread();
    return status;
}

static bool is_answered(const void *lane)
{
    return atomic_load(&((const struct lane *)lane)->state) != LANE_CALL;
}

/* False: the server is gone. */
static bool await_answer(struct lane *lane)
{
    static const struct timespec second = {.tv_sec = 1};
    bool is_there = true;

    if (lane_spin(&thread_patience, self.spin_ns, is_answered, lane))
        return true;
    atomic_store(&lane->sleeps, 1);
    while (is_there && !is_answered(lane)) {
        lane_wait(&lane->state, LANE_CALL, &second);
        is_there = is_answered(lane) || has_server();
    }
    atomic_store(&lane->sleeps, 0);
    return is_there;
}

/*
 * The call is in the buffer, whose size is bytes, and the answer takes its place, at most room of
 * it. Nothing of the program's is touched here. 0: the server is gone.
 */
static size_t cross_lane(unsigned number, void *buffer, size_t bytes, size_t room)
{
    struct lane_board *board = self.lanes;
    struct lane *lane = lane_at(self.lanes, number);
    struct thunk_header header;

    memcpy(lane->message, buffer, bytes);
    atomic_store(&lane->state, LANE_CALL);
    atomic_fetch_or(&board->pending, UINT64_C(1) << number);
    lane_ring(&board->bell);
    if (!await_answer(lane))
        return 0;
    memcpy(&header, lane->message, sizeof header);
    if (header.magic != THUNK_MAGIC || header.bytes < sizeof header || header.bytes > room)
        return 0;
    memcpy(buffer, lane->message, header.bytes);
    atomic_store(&lane->state, LANE_FREE);
    return header.bytes;
}

/* With DRYDOCK_STACKS the functions that called the caller, too: that takes longer than the call.
 */
static void note_stack(struct lane *lane, const void *caller)
{
    void *frames[32];
    int count = self.has_stacks ? backtrace(frames, 32) : 0, first = 0;
    unsigned at = 1;

    lane->stack[0] = (uintptr_t)caller;
    while (first < count && frames[first] != caller)
        first++;
    for (int i = first + 1; i < count && at < LANE_STACK; i++)
        lane->stack[at++] = (uintptr_t)frames[i];
    while (at < LANE_STACK)
        lane->stack[at++] = 0;
}

/* False: it is to go by a socket. */
static bool call_by_lane(unsigned function, void *arguments, size_t bytes, const void *caller,
                         NTSTATUS *out_status)
{
    const size_t answer_bytes = thunk_answer_bytes(function, arguments);
    const size_t room = answer_bytes > bytes ? answer_bytes : bytes;
    uint64_t usual[USUAL_BYTES / 8], *buffer = usual;
    size_t got;

    if (!self.lanes || is_in_lane || !answer_bytes || room > LANE_ROOM || lane_of_thread() < 0)
        return false;
    if (room > sizeof usual)
        buffer = malloc(room);
    if (!buffer)
        return false;
    *out_status = STATUS_INVALID_PARAMETER;
    if (!thunk_pack_call(function, arguments, buffer, bytes))
        goto free_buffer;
    is_in_lane = true;
    note_stack(lane_at(self.lanes, (unsigned)thread_lane), caller);
    got = cross_lane((unsigned)thread_lane, buffer, bytes, room);
    is_in_lane = got == 0; /* a lane whose call never ended is not used again */
    *out_status = STATUS_DEVICE_REMOVED;
    if (got && !thunk_take_answer(function, arguments, buffer, got, out_status) &&
        got == sizeof(struct thunk_header))
        *out_status = ((const struct thunk_header *)(const void *)buffer)->status;
free_buffer:
    if (buffer != usual)
        free(buffer);
    return true;
}

static NTSTATUS call_by_socket(const struct protocol_joined *joined, unsigned function,
                               void *arguments, size_t bytes, struct connection_files *files)
{
    uint64_t usual[USUAL_BYTES / 8], *buffer = usual;
    const int file = socket_of_thread(joined);
    NTSTATUS status;

    if (file < 0)
        return STATUS_DEVICE_REMOVED;
    if (bytes > sizeof usual)
        buffer = malloc(bytes);
    if (!buffer)
        return STATUS_NO_MEMORY;
    status = exchange_call(file, function, arguments, buffer, bytes, files);
    if (buffer != usual)
        free(buffer);
    return status;
}

/* Of an answer that has none. */
static void drop_file(const struct connection_files *files)
{
    if (files->taken >= 0)
        close(files->taken);
}

NTSTATUS connection_call_with(unsigned function, void *arguments, struct connection_files *files)
{
    const size_t bytes = thunk_call_bytes(function, arguments);
    const struct protocol_joined *joined = connection_join();

    files->taken = -1;
    if (!bytes)
        return STATUS_INVALID_PARAMETER;
    if (!joined)
        return STATUS_DEVICE_REMOVED;
    know_process();
    return call_by_socket(joined, function, arguments, bytes, files);
}

bool connection_is_view(uint64_t address)
{
    const struct protocol_joined *joined = self.process ? connection_join() : NULL;

    return joined && address >= self.base + joined->views_start &&
           address < self.base + joined->window_bytes;
}

bool connection_ask_view(uint64_t address, uint64_t *out_bytes, int *out_file)
{
    const struct protocol_view request = {.address = address};
    const struct protocol_joined *joined = connection_join();
    struct protocol_viewed viewed;
    int file;

    *out_file = -1;
    if (!joined)
        return false;
    know_process();
    file = socket_of_thread(joined);
    if (file < 0)
        return false;
    if (!exchange(file, PROTOCOL_VIEW, &request, sizeof request, -1, &viewed, sizeof viewed,
                  out_file)) {
        close_socket_of_thread();
        return false;
    }
    *out_bytes = viewed.bytes;
    return true;
}

NTSTATUS connection_call(unsigned function, void *arguments, const void *caller)
{
    struct connection_files files = {.given = -1, .taken = -1};
    const size_t bytes = thunk_call_bytes(function, arguments);
    const struct protocol_joined *joined = connection_join();
    NTSTATUS status;

    if (!bytes)
        return STATUS_INVALID_PARAMETER;
    if (!joined)
        return STATUS_DEVICE_REMOVED;
    know_process();
    if (call_by_lane(function, arguments, bytes, caller, &status))
        return status;
    status = call_by_socket(joined, function, arguments, bytes, &files);
    drop_file(&files);
    return status;
}
