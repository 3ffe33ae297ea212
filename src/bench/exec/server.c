#define _GNU_SOURCE
#include "bench/exec/server.h"

#include "base/bits.h"
#include "bench/board/gpu_plugin.h"
#include "bench/exec/lanes.h"
#include "bench/exec/nt_handles.h"
#include "bench/exec/program.h"
#include "bench/exec/registry.h"
#include "bench/exec/seeing.h"
#include "bench/exec/waiting.h"
#include "thunk/lane.h"
#include "thunk/protocol.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

/*
 * The starved request that has waited longest is given up when nothing that could help it has
 * happened for so long, or, whatever others do, when it has been the oldest for so long.
 */
#define MOST_QUIET_NS   UINT64_C(3000000000)
#define MOST_STARVED_NS UINT64_C(60000000000)

/* Others give way to it when it has waited for so long, and then again. */
#define DEMOTE_NS UINT64_C(20000000)

/* Time between notices of PeriodicTrim. */
#define TRIM_NS UINT64_C(1000000000)

/* What happens on the machine between two looks at the sockets. */
#define STEPS_A_ROUND 64u

/* Of so many descriptors that the server may have one NT handle is for clients to share. */
#define FILES_AN_NT_HANDLE 4u

/* How long it sleeps where something must be looked at that says nothing by itself. */
#define LOOK_NS UINT64_C(20000000)

_Static_assert(EXEC_MOST_SPIN_US *UINT64_C(1000) == LANE_MOST_SPIN_NS, "one limit");

enum source_kind {
    SOURCE_LISTENER,
    SOURCE_PROGRAM,
    SOURCE_CHANNEL,
    SOURCE_CLIENT,
    SOURCE_NT_HANDLE
};

enum channel_kind { CHANNEL_NEW, CHANNEL_PROCESS, CHANNEL_THREAD };

struct client {
    struct waiting_source end; /* first: its pidfd */
    struct list link;
    struct server *server;
    uint64_t token;
    pid_t pid;
    int pidfd; /* -1: the kernel has none */
    struct client_memory memory;
    struct d3dkmt_process *process;
    struct lanes *lanes; /* NULL: none */
    bool has_window, is_closed;
};

struct channel {
    struct waiting_source source; /* first */
    struct list link;
    struct server *server;
    struct client *client; /* NULL: not known yet */
    enum channel_kind kind;
    pid_t pid; /* that has connected */
    int file;
    bool is_broken;
    int given; /* a file that came along; -1: none */
    /* The message that comes in. */
    struct thunk_header header;
    uint64_t *message;
    size_t got;
    /* The call that is under way. */
    struct d3dkmt_call call;
    bool is_calling;
    /* The answer that goes out. */
    uint64_t *answer;
    size_t answer_bytes, sent;
    int answer_file; /* goes along with its first byte; -1: none */
    bool owns_answer_file;
};

struct server {
    struct exec_server *shared;
    struct exec_session *session;
    struct waiting waiting;
    bool is_waiting;
    struct waiting_source listening, ending; /* the listener; the program's pidfd */
    int listener;
    int spare; /* a file that is closed for a moment when no more can be opened; -1: none */
    pid_t program;
    bool program_has_ended;
    bool may_have_ended; /* it is to be looked after */
    /* Of the request that has starved longest: its number, the front's releases, since when. */
    uint64_t starved, releases, starved_ns, quiet_ns, demoted_ns;
    uint64_t trim_ns; /* when the last periodic notice was given */
    struct list clients, channels;
    unsigned client_count, channel_count;
    struct nt_handles nt_handles;
};

/* ---- Answers --------------------------------------------------------------------------------- */

/* A client sends nothing before it has its answer. */
static bool may_receive(const struct channel *channel)
{
    return !channel->is_broken && !channel->is_calling && !channel->answer;
}

/* What is waited for follows from what the channel does. */
static void watch_channel(struct channel *channel)
{
    waiting_change(&channel->server->waiting, &channel->source,
                   (may_receive(channel) ? (uint32_t)EPOLLIN : 0) |
                       (channel->answer ? (uint32_t)EPOLLOUT : 0));
}

static void break_channel(struct channel *channel)
{
    channel->is_broken = true;
    channel->call.is_deserted = true;
    waiting_remove(&channel->server->waiting, &channel->source);
}

/* Takes the answer. */
static void answer(struct channel *channel, uint64_t *bytes, size_t count, int file)
{
    channel->answer = bytes;
    channel->answer_bytes = count;
    channel->answer_file = file;
    channel->sent = 0;
}

static void answer_with(struct channel *channel, uint32_t function, NTSTATUS status,
                        const void *body, size_t bytes, int file)
{
    const struct thunk_header header = {.magic = THUNK_MAGIC,
                                        .function = function,
                                        .bytes = (uint32_t)(sizeof header + bytes),
                                        .status = status};
    uint64_t *message = calloc(1, sizeof header + bytes + 8);

    if (!message) {
        break_channel(channel);
        return;
    }
    memcpy(message, &header, sizeof header);
    if (bytes)
        memcpy((char *)message + sizeof header, body, bytes);
    answer(channel, message, header.bytes, file);
}

static void drop_answer_file(struct channel *channel)
{
    if (channel->owns_answer_file && channel->answer_file >= 0)
        close(channel->answer_file);
    channel->owns_answer_file = false;
    channel->answer_file = -1;
}

/* False: the channel is broken, or has to wait. */
static void send_answer(struct channel *channel)
{
    while (channel->answer && !channel->is_broken) {
        union {
            struct cmsghdr header;
            char bytes[CMSG_SPACE(sizeof(int))];
        } control = {0};
        struct iovec part = {.iov_base = (char *)channel->answer + channel->sent,
                             .iov_len = channel->answer_bytes - channel->sent};
        struct msghdr pack = {.msg_iov = &part, .msg_iovlen = 1};
        ssize_t sent;

        if (channel->answer_file >= 0) {
            pack.msg_control = control.bytes;
            pack.msg_controllen = sizeof control.bytes;
            control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(sizeof channel->answer_file),
                                              .cmsg_level = SOL_SOCKET,
                                              .cmsg_type = SCM_RIGHTS};
            memcpy(CMSG_DATA(&control.header), &channel->answer_file, sizeof channel->answer_file);
        }
        sent = sendmsg(channel->file, &pack, MSG_NOSIGNAL | MSG_DONTWAIT);
        if (sent < 0 && (errno == EAGAIN || errno == EINTR))
            break;
        if (sent <= 0) {
            break_channel(channel);
            return;
        }
        drop_answer_file(channel);
        channel->sent += (size_t)sent;
        if (channel->sent == channel->answer_bytes) {
            free(channel->answer);
            channel->answer = NULL;
        }
    }
    watch_channel(channel);
}

static void free_message(struct channel *channel)
{
    free(channel->message);
    channel->message = NULL;
    channel->got = 0;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

/* What a call has shared, for its answer; the status says if there is none after all. */
static int share(struct channel *channel, struct d3dkmt_call *call)
{
    int file = -1;

    if (!d3dkmt_gives_nt_handle(call->function) || !NT_SUCCESS(call->status))
        return -1;
    file = nt_handles_give(&channel->server->nt_handles, channel->pid, call->nt_object);
    if (file < 0) {
        d3dkmt_nt_handle_refused(channel->server->session->front, call);
        call->status = STATUS_NO_MEMORY;
    }
    return file;
}

static void call_ended(struct d3dkmt_call *call)
{
    struct channel *channel = call->context;
    const size_t bytes = thunk_answer_bytes(call->function, call->arguments);
    uint64_t *message = bytes ? calloc(1, bytes) : NULL;
    const int file = share(channel, call);

    channel->is_calling = false;
    channel->owns_answer_file = file >= 0;
    if (message &&
        thunk_pack_answer(call->function, call->arguments, call->status, message, bytes)) {
        answer(channel, message, bytes, file);
    } else {
        free(message);
        if (file >= 0)
            close(file);
        break_channel(channel);
    }
    free_message(channel);
    send_answer(channel);
}

/* ---- Clients --------------------------------------------------------------------------------- */

static void client_gone(void *context)
{
    struct client *client = context;

    lanes_destroy(client->lanes);
    client_memory_close(&client->memory);
    list_remove(&client->link);
    client->server->client_count--;
    if (client->pidfd >= 0)
        close(client->pidfd);
    free(client);
}

/* The process is no more, or has sent what no client sends. */
static void close_client(struct client *client)
{
    struct channel *channel;

    if (client->is_closed)
        return;
    client->is_closed = true;
    waiting_remove(&client->server->waiting, &client->end);
    if (client->lanes)
        waiting_remove_bell(&client->server->waiting, lanes_bell(client->lanes));
    client->server->shared->counts.died += d3dkmt_process_handles(client->process) != 0;
    client_memory_gone(&client->memory);
    d3dkmt_process_close(client->process, client_gone, client);
    list_for_each (channel, &client->server->channels, struct channel, link) {
        if (channel->client == client) {
            channel->client = NULL;
            break_channel(channel);
        }
    }
}

static pid_t peer_of(int file)
{
    socklen_t length = sizeof(struct ucred);
    struct ucred peer;

    return getsockopt(file, SOL_SOCKET, SO_PEERCRED, &peer, &length) ? 0 : peer.pid;
}

#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif

/*
 * False: the process is no more, and its number may be another's. Kernels before 6.5 do not say
 * which process has connected but by its number: there the number is looked up.
 */
static bool open_pidfd(const struct channel *channel, int *out_pidfd)
{
    socklen_t length = sizeof *out_pidfd;

    *out_pidfd = -1;
    if (!getsockopt(channel->file, SOL_SOCKET, SO_PEERPIDFD, out_pidfd, &length))
        return true;
    if (errno != ENOPROTOOPT)
        return false;
#ifdef SYS_pidfd_open
    *out_pidfd = (int)syscall(SYS_pidfd_open, channel->pid, 0);
    return *out_pidfd >= 0 || errno == ENOSYS;
#else
    return true;
#endif
}

static struct client *add_client(struct server *server, const struct channel *channel)
{
    struct client *client = calloc(1, sizeof *client);

    if (!client || server->client_count >= EXEC_MOST_CLIENTS ||
        getrandom(&client->token, sizeof client->token, 0) != sizeof client->token ||
        !open_pidfd(channel, &client->pidfd))
        goto free_client;
    client->server = server;
    client->pid = channel->pid;
    if (!NT_SUCCESS(client_memory_open(&client->memory, server->session->board->machine)))
        goto close_pidfd;
    if (!NT_SUCCESS(
            d3dkmt_process_create(server->session->front, &client->memory, &client->process)))
        goto close_memory;
    list_push_back(&server->clients, &client->link);
    server->client_count++;
    server->shared->counts.clients++;
    client->end =
        (struct waiting_source){.kind = SOURCE_CLIENT, .file = client->pidfd, .events = EPOLLIN};
    if (client->pidfd >= 0)
        waiting_add(&server->waiting, &client->end);
    return client;

close_memory:
    client_memory_close(&client->memory);
close_pidfd:
    if (client->pidfd >= 0)
        close(client->pidfd);
free_client:
    free(client);
    return NULL;
}

static struct client *find_client(struct server *server, uint64_t token)
{
    struct client *client;

    list_for_each (client, &server->clients, struct client, link) {
        if (client->token == token && client->has_window && !client->is_closed)
            return client;
    }
    return NULL;
}

/* ---- Messages -------------------------------------------------------------------------------- */

/* What DXCore says of the board: its PCI function, and its name where it is not ours. */
static void describe_board(const struct server *server, struct protocol_joined *joined)
{
    const struct run_board *board = server->session->board;
    const struct machine_pci *pci = machine_pci(board->machine);
    const struct drydock_gpu_application *application =
        board->plugin ? gpu_plugin_application(board->plugin) : NULL;

    joined->vendor = pci->vendor_id;
    joined->device = pci->device_id;
    joined->subsystem = (uint32_t)pci->subsystem_id << 16 | pci->subsystem_vendor_id;
    joined->revision = pci->revision;
    if (application && application->description)
        snprintf(joined->description, sizeof joined->description, "%s", application->description);
}

static void join(struct channel *channel, const struct protocol_join *request)
{
    struct protocol_joined joined = {
        .window_bytes = CLIENT_WINDOW_BYTES,
        .views_start = CLIENT_VIEWS_START,
        .luid_low = EXEC_LUID_LOW,
        .luid_high = EXEC_LUID_HIGH,
        .description = "Drydock Virtual Render",
        .spin_ns = channel->server->shared->config.spin_ns,
    };

    channel->client =
        request->version == PROTOCOL_VERSION ? add_client(channel->server, channel) : NULL;
    if (!channel->client) {
        break_channel(channel);
        return;
    }
    channel->kind = CHANNEL_PROCESS;
    describe_board(channel->server, &joined);
    joined.token = channel->client->token;
    answer_with(channel, PROTOCOL_JOIN, STATUS_SUCCESS, &joined, sizeof joined,
                client_memory_window(&channel->client->memory));
}

static void set_window(struct channel *channel, const struct protocol_window *request)
{
    struct client *client = channel->client;
    const int memory_file = channel->given;

    channel->given = -1;
    if (!client_memory_set(&client->memory, client->pid, request->base, memory_file)) {
        break_channel(channel);
        return;
    }
    client->has_window = true;
    answer_with(channel, PROTOCOL_WINDOW, STATUS_SUCCESS, NULL, 0, -1);
}

/* A client without lanes makes its calls by sockets. */
static void open_lanes(struct channel *channel)
{
    struct client *client = channel->client;
    struct waiting *waiting = &channel->server->waiting;

    if (!client->lanes && client->has_window && waiting_has_bells(waiting))
        client->lanes = lanes_create(client->process);
    if (client->lanes && !waiting_add_bell(waiting, lanes_bell(client->lanes))) {
        lanes_destroy(client->lanes);
        client->lanes = NULL;
    }
    answer_with(channel, PROTOCOL_LANES, client->lanes ? STATUS_SUCCESS : STATUS_NOT_SUPPORTED,
                NULL, 0, client->lanes ? lanes_file(client->lanes) : -1);
}

static void join_thread(struct channel *channel, const struct protocol_thread *request)
{
    channel->client = find_client(channel->server, request->token);
    if (!channel->client) {
        break_channel(channel);
        return;
    }
    channel->kind = CHANNEL_THREAD;
    answer_with(channel, PROTOCOL_THREAD, STATUS_SUCCESS, NULL, 0, -1);
}

/* What the client is to map at an address that a call has given it. */
static void tell_view(struct channel *channel, const struct protocol_view *request)
{
    struct protocol_viewed viewed = {0};
    struct client_view view;

    if (!client_memory_find_view(&channel->client->memory, request->address, &view)) {
        answer_with(channel, PROTOCOL_VIEW, STATUS_NOT_FOUND, NULL, 0, -1);
        return;
    }
    viewed.bytes = view.bytes;
    answer_with(channel, PROTOCOL_VIEW, STATUS_SUCCESS, &viewed, sizeof viewed, view.file);
}

static void make_call(struct channel *channel)
{
    struct server *server = channel->server;
    unsigned function;

    channel->call =
        (struct d3dkmt_call){.ended = call_ended,
                             .context = channel,
                             .nt_object = nt_handles_find(&server->nt_handles, channel->given),
                             .takes_nt_handle = true};
    if (channel->given >= 0)
        close(channel->given);
    channel->given = -1;
    if (!thunk_open(channel->message, channel->header.bytes, &function, &channel->call.arguments)) {
        channel->server->shared->counts.refused_messages++;
        break_channel(channel);
        return;
    }
    channel->call.function = (enum d3dkmt_function)function;
    channel->is_calling = true;
    if (d3dkmt_call(channel->client->process, &channel->call))
        call_ended(&channel->call);
}

static bool is_of_size(const struct channel *channel, size_t bytes)
{
    return channel->header.bytes == sizeof channel->header + bytes;
}

/* A whole message is there. */
static void take_message(struct channel *channel)
{
    const void *body = (const char *)channel->message + sizeof channel->header;

    channel->server->shared->counts.messages++;
    if (channel->kind == CHANNEL_THREAD && channel->header.function == PROTOCOL_VIEW &&
        is_of_size(channel, sizeof(struct protocol_view))) {
        tell_view(channel, body);
        free_message(channel);
        return;
    }
    if (channel->kind == CHANNEL_THREAD) {
        make_call(channel); /* which keeps the message until it has ended */
        return;
    }
    if (channel->kind == CHANNEL_NEW && channel->header.function == PROTOCOL_JOIN &&
        is_of_size(channel, sizeof(struct protocol_join)))
        join(channel, body);
    else if (channel->kind == CHANNEL_NEW && channel->header.function == PROTOCOL_THREAD &&
             is_of_size(channel, sizeof(struct protocol_thread)))
        join_thread(channel, body);
    else if (channel->kind == CHANNEL_PROCESS && channel->header.function == PROTOCOL_WINDOW &&
             is_of_size(channel, sizeof(struct protocol_window)))
        set_window(channel, body);
    else if (channel->kind == CHANNEL_PROCESS && channel->header.function == PROTOCOL_LANES &&
             is_of_size(channel, 0) && !channel->client->lanes)
        open_lanes(channel);
    else
        break_channel(channel);
    free_message(channel);
}

/* ---- Sockets --------------------------------------------------------------------------------- */

static void take_file(struct channel *channel, const struct msghdr *pack)
{
    const struct cmsghdr *control = CMSG_FIRSTHDR((struct msghdr *)(uintptr_t)pack);

    if (!control || control->cmsg_type != SCM_RIGHTS ||
        control->cmsg_len != CMSG_LEN(sizeof channel->given))
        return;
    if (channel->given >= 0)
        close(channel->given);
    memcpy(&channel->given, CMSG_DATA(control), sizeof channel->given);
}

/* Up to so many bytes; 0: none are there now, or the channel is broken. */
static size_t receive(struct channel *channel, void *to, size_t bytes)
{
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control;
    struct iovec part = {.iov_base = to, .iov_len = bytes};
    /* No room for a second file, which CMSG_SPACE() would have: the kernel closes what is more. */
    struct msghdr pack = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = CMSG_LEN(sizeof(int))};
    const ssize_t got = recvmsg(channel->file, &pack, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);

    if (got < 0 && (errno == EAGAIN || errno == EINTR))
        return 0;
    if (got <= 0) {
        break_channel(channel);
        return 0;
    }
    take_file(channel, &pack);
    return (size_t)got;
}

/* At most one message: others have their turn before this one's next. */
static void read_channel(struct channel *channel)
{
    bool is_whole = false;

    while (!is_whole && may_receive(channel)) {
        struct thunk_header *header = &channel->header;
        size_t got;

        if (channel->got < sizeof *header) {
            got = receive(channel, (char *)header + channel->got, sizeof *header - channel->got);
            channel->got += got;
            if (!got)
                return;
            if (channel->got < sizeof *header)
                continue;
            if (header->magic != THUNK_MAGIC || header->bytes < sizeof *header ||
                header->bytes > THUNK_MOST_BYTES ||
                (channel->kind != CHANNEL_THREAD && header->bytes > 4096)) {
                channel->server->shared->counts.refused_messages++;
                break_channel(channel);
                return;
            }
            channel->message = malloc(header->bytes + 8);
            if (!channel->message) {
                break_channel(channel);
                return;
            }
            memcpy(channel->message, header, sizeof *header);
        }
        if (channel->got < header->bytes) {
            got = receive(channel, (char *)channel->message + channel->got,
                          header->bytes - channel->got);
            channel->got += got;
            if (!got)
                return;
        }
        is_whole = channel->got == header->bytes;
        if (is_whole)
            take_message(channel);
        send_answer(channel);
    }
    watch_channel(channel);
}

static unsigned channels_of(const struct server *server, pid_t pid)
{
    const struct channel *channel;
    unsigned count = 0;

    list_for_each (channel, &server->channels, struct channel, link)
        count += channel->pid == pid;
    return count;
}

/* Nobody waits in vain, nor is heard again and again: who comes now is turned away. */
static void turn_away(struct server *server)
{
    int file;

    if (server->spare >= 0)
        close(server->spare);
    file = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    if (file >= 0)
        close(file);
    server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
}

static void accept_channel(struct server *server)
{
    const int file = accept4(server->listener, NULL, NULL, SOCK_CLOEXEC);
    struct channel *channel;
    pid_t pid;

    if (file < 0 && (errno == EMFILE || errno == ENFILE))
        turn_away(server);
    if (file < 0)
        return;
    pid = peer_of(file);
    channel = server->channel_count < EXEC_MOST_CHANNELS &&
                      channels_of(server, pid) < EXEC_MOST_CHANNELS_A_PROCESS
                  ? calloc(1, sizeof *channel)
                  : NULL;
    if (!channel) {
        close(file);
        return;
    }
    channel->server = server;
    channel->pid = pid;
    channel->file = file;
    channel->given = channel->answer_file = -1;
    channel->source =
        (struct waiting_source){.kind = SOURCE_CHANNEL, .file = file, .events = EPOLLIN};
    list_push_back(&server->channels, &channel->link);
    server->channel_count++;
    if (!waiting_add(&server->waiting, &channel->source))
        break_channel(channel);
}

/* A broken channel stays until its call has ended. */
static void drop_broken(struct server *server)
{
    struct channel *channel, *following;

    list_for_each (channel, &server->channels, struct channel, link) {
        if (channel->is_broken && channel->kind == CHANNEL_PROCESS && channel->client)
            close_client(channel->client);
    }
    list_for_each_safe (channel, following, &server->channels, struct channel, link) {
        if (!channel->is_broken || channel->is_calling)
            continue;
        list_remove(&channel->link);
        server->channel_count--;
        close(channel->file);
        drop_answer_file(channel);
        if (channel->given >= 0)
            close(channel->given);
        free(channel->message);
        free(channel->answer);
        free(channel);
    }
}

/* ---- The program ----------------------------------------------------------------------------- */

static bool start_program(struct server *server)
{
    const struct exec_server_config *config = &server->shared->config;
    int error = ENOMEM;

    if (exec_set_environment(config->socket_path, config->library_dir))
        error = exec_start_program(config->program, config->speaks_aside, &server->program);
    exec_raise_file_limit();
    if (error)
        snprintf(server->shared->error, sizeof server->shared->error, "cannot start '%s': %s",
                 config->program[0], strerror(error));
    server->program_has_ended = error != 0;
    server->shared->has_started = !error;
    return !error;
}

static void look_after_program(struct server *server)
{
    server->may_have_ended = false;
    if (!server->program_has_ended &&
        waitpid(server->program, &server->shared->program_status, WNOHANG) == server->program)
        server->program_has_ended = true;
}

/* ---- The loop -------------------------------------------------------------------------------- */

static bool listen_at(struct server *server, const char *path)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};

    if (strlen(path) >= sizeof address.sun_path) {
        snprintf(server->shared->error, sizeof server->shared->error,
                 "the path of the socket is too long (at most %zu bytes): '%s'",
                 sizeof address.sun_path - 1, path);
        return false;
    }
    strcpy(address.sun_path, path);
    server->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (server->listener >= 0 &&
        !bind(server->listener, (const struct sockaddr *)&address, sizeof address) &&
        !listen(server->listener, 128))
        return true;
    snprintf(server->shared->error, sizeof server->shared->error, "cannot listen at '%s': %s", path,
             strerror(errno));
    if (server->listener >= 0)
        close(server->listener);
    return false;
}

static void hear_channel(struct channel *channel, uint32_t events)
{
    if (events & EPOLLOUT)
        send_answer(channel);
    if (events & EPOLLIN)
        read_channel(channel);
    else if (events & (EPOLLHUP | EPOLLERR))
        break_channel(channel);
}

/* What sockets and ends of processes say. */
static void hear_sockets(struct server *server)
{
    struct waiting_ready ready[WAITING_MOST_READY];
    const unsigned count = waiting_take(&server->waiting, ready);
    bool somebody_comes = false;

    for (unsigned i = 0; i < count; i++) {
        switch ((enum source_kind)ready[i].source->kind) {
        case SOURCE_LISTENER:
            somebody_comes = true;
            break;
        case SOURCE_PROGRAM:
            server->may_have_ended = true;
            break;
        case SOURCE_CHANNEL:
            hear_channel((struct channel *)ready[i].source, ready[i].events);
            break;
        case SOURCE_CLIENT:
            close_client((struct client *)ready[i].source);
            break;
        case SOURCE_NT_HANDLE:
            nt_handles_end(&server->nt_handles, ready[i].source);
            break;
        }
    }
    if (somebody_comes)
        accept_channel(server);
}

static bool serve_lanes(struct server *server)
{
    struct lanes_counts counts = {0};
    struct client *client;
    bool did = false;

    list_for_each (client, &server->clients, struct client, link) {
        if (client->lanes && !client->is_closed)
            did |= lanes_serve(client->lanes, &counts);
    }
    server->shared->counts.messages += counts.messages;
    server->shared->counts.lane_messages += counts.messages;
    server->shared->counts.refused_messages += counts.refused;
    return did;
}

/* True: the machine has done something. What is destroyed is let go before anybody is heard. */
static bool run_machine(struct exec_session *session)
{
    unsigned steps = 0;

    while ((steps < STEPS_A_ROUND || d3dkmt_wants_idle(session->front)) && exec_step(session))
        steps++;
    return steps;
}

static uint64_t now_ns(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static void look_after_starved(struct server *server, bool is_busy)
{
    struct d3dkmt *front = server->session->front;
    const uint64_t oldest = d3dkmt_oldest_starved(front), releases = d3dkmt_releases(front);
    const uint64_t now = oldest ? now_ns() : 0;

    if (oldest != server->starved)
        server->starved_ns = server->quiet_ns = server->demoted_ns = now;
    if (is_busy || releases != server->releases)
        server->quiet_ns = now;
    server->starved = oldest;
    server->releases = releases;
    if (oldest && now - server->demoted_ns >= DEMOTE_NS) {
        server->demoted_ns = now;
        if (d3dkmt_demote(front))
            return;
    }
    if (oldest &&
        (now - server->quiet_ns >= MOST_QUIET_NS || now - server->starved_ns >= MOST_STARVED_NS))
        d3dkmt_give_up(front);
}

static void trim_periodically(struct server *server)
{
    uint64_t now;

    if (!d3dkmt_wants_trims(server->session->front))
        return;
    now = now_ns();
    if (now - server->trim_ns < TRIM_NS)
        return;
    server->trim_ns = now;
    d3dkmt_trim_periodically(server->session->front);
}

/* Ends of processes without a pidfd say nothing; nor does time, for which a starved one waits. */
static uint64_t most_silence(const struct server *server)
{
    const struct client *client;

    if (server->starved || (!server->program_has_ended && !server->ending.is_watched))
        return LOOK_NS;
    list_for_each (client, &server->clients, struct client, link) {
        if (client->is_closed)
            return LOOK_NS; /* it goes when the machine is done with it */
    }
    return d3dkmt_wants_trims(server->session->front) ? TRIM_NS : 0;
}

/* 0: for as long as it takes. A call waits no longer than it says, by a clock that may be set. */
static uint64_t most_sleep(const struct server *server)
{
    const uint64_t silence = most_silence(server);
    const uint64_t timeout = d3dkmt_next_timeout(server->session->front);

    if (timeout == UINT64_MAX)
        return silence;
    return max_u64(min_u64(min_u64(timeout, TRIM_NS), silence ? silence : TRIM_NS), 1);
}

static void serve(struct server *server)
{
    while (!server->program_has_ended || server->client_count) {
        bool is_busy;

        waiting_look(&server->waiting);
        is_busy = serve_lanes(server);
        hear_sockets(server);
        is_busy |= run_machine(server->session);
        look_after_starved(server, is_busy);
        trim_periodically(server);
        drop_broken(server);
        if (server->may_have_ended || !server->ending.is_watched)
            look_after_program(server);
        if (!is_busy && (!server->program_has_ended || server->client_count))
            waiting_sleep(&server->waiting, most_sleep(server));
    }
}

/* Everything that is waited for from the beginning. */
static bool open_waiting(struct server *server)
{
    if (!waiting_open(&server->waiting, server->shared->config.spin_ns)) {
        snprintf(server->shared->error, sizeof server->shared->error, "cannot wait: %s",
                 strerror(errno));
        return false;
    }
    server->listening = (struct waiting_source){
        .kind = SOURCE_LISTENER, .file = server->listener, .events = EPOLLIN};
    waiting_add(&server->waiting, &server->listening);
    server->is_waiting = true;
    return true;
}

static void watch_program(struct server *server)
{
    server->ending = (struct waiting_source){.kind = SOURCE_PROGRAM, .file = -1, .events = EPOLLIN};
#ifdef SYS_pidfd_open
    server->ending.file = (int)syscall(SYS_pidfd_open, server->program, 0);
#endif
    if (server->ending.file >= 0)
        waiting_add(&server->waiting, &server->ending);
}

/* The listener is there. */
static void serve_program(struct server *server)
{
    if (!open_waiting(server))
        return;
    if (start_program(server)) {
        watch_program(server);
        server->spare = open("/dev/null", O_RDONLY | O_CLOEXEC);
        serve(server);
        if (server->spare >= 0)
            close(server->spare);
        if (server->ending.file >= 0)
            close(server->ending.file);
    }
}

/* Of struct d3dkmt_board; memory is the client's. */
static void notify(void *context, void *memory, unsigned number, uint32_t flags, uint64_t bytes)
{
    const struct client *client = container_of(memory, struct client, memory);

    if (client->lanes)
        lanes_notify(client->lanes, number, flags, bytes);
}

/* The session is open. */
static void play_session(struct exec_server *shared)
{
    struct server server = {.shared = shared, .session = &shared->session};
    const struct gpu_plugin *plugin = shared->session.board->plugin;
    struct channel *channel;

    list_init(&server.clients);
    list_init(&server.channels);
    nt_handles_init(&server.nt_handles, &server.waiting, SOURCE_NT_HANDLE, shared->session.front,
                    exec_most_files() / FILES_AN_NT_HANDLE);
    exec_find_store(shared->config.driver, shared->session.store, sizeof shared->session.store);
    if (listen_at(&server, shared->config.socket_path)) {
        serve_program(&server);
        close(server.listener);
        unlink(shared->config.socket_path);
    }
    list_for_each (channel, &server.channels, struct channel, link)
        break_channel(channel);
    drop_broken(&server);
    nt_handles_end_all(&server.nt_handles);
    if (server.is_waiting)
        waiting_close(&server.waiting);
    shared->counts.looks = server.waiting.patience.looks;
    shared->counts.front = *d3dkmt_statistics(shared->session.front);
    shared->counts.left_out = plugin ? gpu_plugin_left_out(plugin) : 0;
    exec_session_close(&shared->session);
}

static void play(void *context, const struct run_board *board)
{
    struct exec_server *shared = context;
    struct seen seen;

    shared->session.notify = notify;
    if (getrandom(&shared->session.secret, sizeof shared->session.secret, 0) < 0)
        shared->session.secret = (uint64_t)getpid();
    exec_begin_seeing(shared, &seen, board);
    if (NT_SUCCESS(exec_session_open(&shared->session, board)))
        play_session(shared);
    else
        snprintf(shared->error, sizeof shared->error, "no memory for the front");
    exec_end_seeing(shared, board);
}

static void trim(void *context, struct vidmm_process *process, enum vidmm_budget_group group,
                 uint64_t bytes)
{
    exec_trim(&((struct exec_server *)context)->session, process, group, bytes);
}

static void device_error(void *context, struct vidmm_device *device)
{
    exec_device_error(&((struct exec_server *)context)->session, device);
}

enum run_outcome exec_serve(struct exec_server *server, const struct run_config *config,
                            struct run_result *out_result)
{
    const struct run_guest guest = {.name = basename(server->config.program[0]),
                                    .context = server,
                                    .play = play,
                                    .device_error = device_error,
                                    .trim = trim};

    return run_execute_guest(config, &guest, out_result);
}
