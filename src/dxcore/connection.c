#define _GNU_SOURCE
#include "dxcore/connection.h"

#include <errno.h>
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
    /* That has joined, or tried to; another one is a child of fork(). Written behind the rest. */
    _Atomic pid_t process;
    int socket;
    struct protocol_joined joined;
    bool has_failed;
} self = {.lock = PTHREAD_MUTEX_INITIALIZER, .socket = -1};

static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t key;
static __thread int thread_socket = -1;
static __thread pid_t thread_process;

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

static bool send_all(int file, const void *from, size_t bytes)
{
    const char *at = from;

    while (bytes) {
        const ssize_t sent = send(file, at, bytes, MSG_NOSIGNAL);

        if (sent < 0 && errno == EINTR)
            continue;
        if (sent <= 0)
            return false;
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

/* At least so many bytes and at most as many as there is room for; less: the server is gone. */
static size_t receive_some(int file, void *to, size_t room, size_t least)
{
    size_t count = 0;

    while (count < least) {
        const ssize_t got = recv(file, (char *)to + count, room - count, 0);

        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
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
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {.iov_base = message, .iov_len = header.bytes};
    struct msghdr pack = {.msg_iov = &part, .msg_iovlen = 1};

    if (bytes > 64)
        return false;
    memcpy(message, &header, sizeof header);
    memcpy(message + sizeof header, body, bytes);
    if (given >= 0) {
        pack.msg_control = control.bytes;
        pack.msg_controllen = sizeof control.bytes;
        control.header = (struct cmsghdr){
            .cmsg_len = CMSG_LEN(sizeof given), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), &given, sizeof given);
    }
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
    if (control.header.cmsg_len != CMSG_LEN(sizeof *out_given) ||
        control.header.cmsg_type != SCM_RIGHTS)
        return false;
    memcpy(out_given, CMSG_DATA(&control.header), sizeof *out_given);
    return true;
}

/* ---- Joining --------------------------------------------------------------------------------- */

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
    if (is_in)
        return true;
    if (base != MAP_FAILED)
        munmap(base, self.joined.window_bytes);
    close(self.socket);
    self.socket = -1;
    return false;
}

const struct protocol_joined *connection_join(void)
{
    const pid_t process = getpid();

    /* No lock once it has joined: fork() in another thread would leave it shut in the child. */
    if (self.process == process)
        return self.has_failed ? NULL : &self.joined;
    pthread_mutex_lock(&self.lock);
    if (self.process != process) {
        /* In a child of fork() the parent's connection is not its own. */
        if (self.socket >= 0)
            close(self.socket);
        self.has_failed = !join();
        self.process = process;
        if (self.has_failed && getenv("DRYDOCK_VERBOSE"))
            fprintf(stderr, "libdxcore.so: no server at '%s' (" PROTOCOL_VARIABLE ")\n",
                    getenv(PROTOCOL_VARIABLE) ? getenv(PROTOCOL_VARIABLE) : "");
    }
    pthread_mutex_unlock(&self.lock);
    return self.has_failed ? NULL : &self.joined;
}

static void close_socket_of_thread(void)
{
    if (thread_socket >= 0)
        close(thread_socket);
    thread_socket = -1;
}

/* Other destructors of the thread may make calls behind this one. */
static void thread_ends(void *value)
{
    close_socket_of_thread();
}

static void make_key(void)
{
    pthread_key_create(&key, thread_ends);
}

static int socket_of_thread(void)
{
    const struct protocol_joined *joined = connection_join();
    struct protocol_thread request;

    if (!joined)
        return -1;
    if (thread_socket >= 0 && thread_process == getpid())
        return thread_socket;
    close_socket_of_thread();
    thread_socket = open_socket();
    thread_process = getpid();
    request.token = joined->token;
    if (thread_socket >= 0 &&
        !exchange(thread_socket, PROTOCOL_THREAD, &request, sizeof request, -1, NULL, 0, NULL))
        close_socket_of_thread();
    pthread_once(&key_once, make_key);
    pthread_setspecific(key, thread_socket >= 0 ? &thread_socket : NULL);
    return thread_socket;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/*
 * A connection whose call has not ended in order is closed: what still comes would answer the
 * next one.
 */
static NTSTATUS exchange_call(int file, unsigned function, void *arguments, void *buffer,
                              size_t bytes)
{
    struct thunk_header header;
    uint64_t usual[USUAL_BYTES / 8], *answer = usual;
    NTSTATUS status = STATUS_DEVICE_REMOVED;
    bool is_whole;
    size_t got;

    if (!thunk_pack_call(function, arguments, buffer, bytes))
        return STATUS_INVALID_PARAMETER;
    if (!send_all(file, buffer, bytes))
        goto close_socket;
    /* Most answers come in one piece; nothing is behind them. */
    got = receive_some(file, usual, sizeof usual, sizeof header);
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

NTSTATUS connection_call(unsigned function, void *arguments)
{
    const size_t bytes = thunk_call_bytes(function, arguments);
    uint64_t usual[USUAL_BYTES / 8], *buffer = usual;
    const int file = socket_of_thread();
    NTSTATUS status;

    if (!bytes)
        return STATUS_INVALID_PARAMETER;
    if (file < 0)
        return STATUS_DEVICE_REMOVED;
    if (bytes > sizeof usual)
        buffer = malloc(bytes);
    if (!buffer)
        return STATUS_NO_MEMORY;
    status = exchange_call(file, function, arguments, buffer, bytes);
    if (buffer != usual)
        free(buffer);
    return status;
}
