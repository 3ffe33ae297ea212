/*
 * A client that speaks the protocol of src/thunk/protocol.h by itself, and badly:
 *
 *     | hostile files   | sends up to four files with every message |
 *     | hostile endless | sends calls without taking answers, while another thread makes calls |
 *     | hostile abandon | closes connections whose call waits for ever |
 *     | hostile crowd   | opens as many connections as the server lets it |
 *     | hostile cut     | tries to cut its window short, and to let it grow |
 *     | hostile words   | sends messages that are none |
 *     | hostile lanes   | writes the same into its lanes, and rings while calls are made |
 *     | hostile halves  | begins messages, and does not end them |
 *     | hostile others  | names objects of another process, each number that a handle may be |
 *     | hostile sizes   | asks for amounts that nobody has, and lists that are not there |
 *     | hostile stuck   | lends memory whose pages do not come before somebody brings them |
 *
 * Each then finds the server as it was: a child process joins and makes its calls. Exit status 0
 * and "server is well"; else 1. The server is the parent of the process (drydock exec).
 */
#define _GNU_SOURCE
#include "thunk/lane.h"
#include "thunk/protocol.h"

#include "drydock/sgpu.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/userfaultfd.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

static void check(bool is_true, const char *what)
{
    if (is_true)
        return;
    fprintf(stderr, "hostile: %s\n", what);
    exit(1);
}

/* ---- The protocol ---------------------------------------------------------------------------- */

/* -1: turned away. */
static int open_connection(void)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    const int file = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

    snprintf(address.sun_path, sizeof address.sun_path, "%s", getenv(PROTOCOL_VARIABLE));
    if (file >= 0 && !connect(file, (const struct sockaddr *)&address, sizeof address))
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

static bool send_message(int file, unsigned function, const void *body, size_t bytes,
                         const int *given, unsigned given_count)
{
    struct thunk_header header = {
        .magic = THUNK_MAGIC, .function = function, .bytes = (uint32_t)(sizeof header + bytes)};
    struct iovec parts[] = {{&header, sizeof header}, {(void *)(uintptr_t)body, bytes}};
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(4 * sizeof(int))];
    } control = {0};
    struct msghdr pack = {.msg_iov = parts, .msg_iovlen = bytes ? 2 : 1};

    if (given_count) {
        pack.msg_control = control.bytes;
        pack.msg_controllen = CMSG_SPACE(given_count * sizeof(int));
        control.header = (struct cmsghdr){.cmsg_len = CMSG_LEN(given_count * sizeof(int)),
                                          .cmsg_level = SOL_SOCKET,
                                          .cmsg_type = SCM_RIGHTS};
        memcpy(CMSG_DATA(&control.header), given, given_count * sizeof(int));
    }
    return sendmsg(file, &pack, MSG_NOSIGNAL) == (ssize_t)header.bytes;
}

static bool receive_message(int file, void *body, size_t bytes, int *out_given)
{
    struct thunk_header header;
    union {
        struct cmsghdr header;
        char bytes[CMSG_SPACE(sizeof(int))];
    } control = {0};
    struct iovec part = {&header, sizeof header};
    struct msghdr pack = {.msg_iov = &part,
                          .msg_iovlen = 1,
                          .msg_control = control.bytes,
                          .msg_controllen = sizeof control.bytes};

    if (recvmsg(file, &pack, MSG_WAITALL) != sizeof header ||
        header.bytes != sizeof header + bytes || header.status)
        return false;
    if (out_given)
        memcpy(out_given, CMSG_DATA(&control.header), sizeof *out_given);
    return !bytes || recv(file, body, bytes, MSG_WAITALL) == (ssize_t)bytes;
}

struct process {
    struct protocol_joined joined;
    int file, window;
};

static bool join_process(struct process *process)
{
    const struct protocol_join request = {.version = PROTOCOL_VERSION};
    struct protocol_window window;
    int memory_file;
    bool is_in;

    process->file = open_connection();
    if (process->file < 0 ||
        !send_message(process->file, PROTOCOL_JOIN, &request, sizeof request, NULL, 0) ||
        !receive_message(process->file, &process->joined, sizeof process->joined, &process->window))
        return false;
    window.base = (uintptr_t)mmap(NULL, process->joined.window_bytes, PROT_READ | PROT_WRITE,
                                  MAP_SHARED | MAP_NORESERVE, process->window, 0);
    memory_file = open("/proc/self/mem", O_RDWR | O_CLOEXEC);
    is_in = send_message(process->file, PROTOCOL_WINDOW, &window, sizeof window, &memory_file, 1) &&
            receive_message(process->file, NULL, 0, NULL);
    close(memory_file);
    return is_in;
}

static int open_thread(const struct process *process)
{
    const struct protocol_thread request = {.token = process->joined.token};
    const int file = open_connection();

    if (file >= 0 && send_message(file, PROTOCOL_THREAD, &request, sizeof request, NULL, 0) &&
        receive_message(file, NULL, 0, NULL))
        return file;
    if (file >= 0)
        close(file);
    return -1;
}

/* A call whose answer is waited for; false: the server has closed the connection. */
static bool call(int file, unsigned function, void *arguments, NTSTATUS *out_status)
{
    uint64_t message[512];
    const size_t bytes = thunk_call_bytes(function, arguments);
    struct thunk_header header;

    if (!thunk_pack_call(function, arguments, message, bytes) ||
        send(file, message, bytes, MSG_NOSIGNAL) != (ssize_t)bytes ||
        recv(file, message, sizeof header, MSG_WAITALL) != sizeof header)
        return false;
    memcpy(&header, message, sizeof header);
    return header.bytes <= sizeof message &&
           recv(file, (char *)message + sizeof header, header.bytes - sizeof header, MSG_WAITALL) ==
               (ssize_t)(header.bytes - sizeof header) &&
           thunk_take_answer(function, arguments, message, header.bytes, out_status);
}

/* What an honest process does, which another one may not prevent. */
static D3DKMT_HANDLE open_device(int file)
{
    D3DKMT_OPENADAPTERFROMLUID adapter = {.AdapterLuid = {.LowPart = 0xd0cc}};
    D3DKMT_CREATEDEVICE device = {0};
    NTSTATUS status = -1;

    if (!call(file, D3DKMT_FN_OpenAdapterFromLuid, &adapter, &status) || status)
        return 0;
    device.hAdapter = adapter.hAdapter;
    return call(file, D3DKMT_FN_CreateDevice, &device, &status) && !status ? device.hDevice : 0;
}

static void expect_well(void)
{
    const pid_t child = fork();
    struct process process;
    int status;

    if (!child) {
        alarm(20);
        _exit(!join_process(&process) || !open_device(open_thread(&process)));
    }
    waitpid(child, &status, 0);
    check(!status, "another process is not served");
}

static unsigned files_of_server(void)
{
    char path[64];
    unsigned count = 0;
    DIR *folder;

    snprintf(path, sizeof path, "/proc/%d/fd", (int)getppid());
    folder = opendir(path);
    check(folder, "the server's files cannot be counted");
    while (readdir(folder))
        count++;
    closedir(folder);
    return count;
}

/* Clock ticks that the server has run. */
static unsigned long long time_of_server(void)
{
    char path[64], text[1024];
    unsigned long long user = 0, kernel = 0;
    FILE *file;

    snprintf(path, sizeof path, "/proc/%d/stat", (int)getppid());
    file = fopen(path, "r");
    check(file && fgets(text, sizeof text, file) && strrchr(text, ')') &&
              sscanf(strrchr(text, ')') + 1,
                     "%*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %*s %llu %llu", &user, &kernel) == 2,
          "the server's time cannot be read");
    fclose(file);
    return user + kernel;
}

/* ---- What it does ---------------------------------------------------------------------------- */

static void give_files(void)
{
    const int files[4] = {open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY),
                          open("/dev/null", O_RDONLY), open("/dev/null", O_RDONLY)};
    D3DKMT_CLOSEADAPTER arguments = {.hAdapter = 5};
    uint64_t answer[64];
    struct process process;
    unsigned before;
    int thread;

    check(join_process(&process), "no process");
    thread = open_thread(&process);
    before = files_of_server();
    for (unsigned i = 0; i < 1000; i++) {
        check(send_message(thread, D3DKMT_FN_CloseAdapter, (uint64_t[]){arguments.hAdapter}, 8,
                           files, 1 + i % 4) &&
                  recv(thread, answer, 24, MSG_WAITALL) == 24,
              "no answer");
    }
    check(files_of_server() <= before + 1, "the server has kept files");
}

static void *receive_all(void *context)
{
    char bytes[65536];

    while (recv(*(int *)context, bytes, sizeof bytes, 0) > 0)
        continue;
    return NULL;
}

static void *send_all(void *context)
{
    static const struct {
        struct thunk_header header;
        uint64_t adapter;
    } one = {{THUNK_MAGIC, D3DKMT_FN_CloseAdapter, sizeof one, 0}, 5};
    static char many[4096 * sizeof one];

    for (unsigned i = 0; i < sizeof many; i += sizeof one)
        memcpy(many + i, &one, sizeof one);
    while (send(*(int *)context, many, sizeof many, MSG_NOSIGNAL) == (ssize_t)sizeof many)
        continue;
    return NULL;
}

static void send_without_end(void)
{
    struct process process;
    pthread_t threads[2];
    int flood, calm;

    check(join_process(&process), "no process");
    flood = open_thread(&process);
    calm = open_thread(&process);
    pthread_create(&threads[0], NULL, receive_all, &flood);
    pthread_create(&threads[1], NULL, send_all, &flood);
    usleep(100000);
    alarm(30);
    check(open_device(calm), "a call beside a flood has not ended");
    expect_well();
    shutdown(flood, SHUT_RDWR);
    pthread_join(threads[0], NULL);
    pthread_join(threads[1], NULL);
}

static void abandon_calls(void)
{
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info = {.Type = D3DDDI_MONITORED_FENCE}};
    const UINT64 never = 1;
    D3DKMT_WAITFORSYNCHRONIZATIONOBJECTFROMCPU wait = {.ObjectCount = 1, .FenceValueArray = &never};
    struct process process;
    unsigned long long before;
    uint64_t message[64];
    NTSTATUS status;
    int thread;

    check(join_process(&process), "no process");
    thread = open_thread(&process);
    wait.hDevice = fence.hDevice = open_device(thread);
    check(call(thread, D3DKMT_FN_CreateSynchronizationObject2, &fence, &status) && !status,
          "no fence");
    wait.ObjectHandleArray = &fence.hSyncObject;
    for (unsigned i = 0; i < 1200; i++) {
        const int file = open_thread(&process);
        const size_t bytes = thunk_call_bytes(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &wait);

        if (file < 0)
            break;
        thunk_pack_call(D3DKMT_FN_WaitForSynchronizationObjectFromCpu, &wait, message, bytes);
        send(file, message, bytes, MSG_NOSIGNAL);
        usleep(200);
        close(file);
    }
    usleep(200000);
    before = time_of_server();
    sleep(1);
    check(time_of_server() - before < (unsigned long long)sysconf(_SC_CLK_TCK) / 10,
          "the server runs, and nobody asks for anything");
}

static void open_many(void)
{
    static int files[8192];
    unsigned count = 0;
    char byte;

    while (count < 8192 && (files[count] = open_connection()) >= 0) {
        usleep(50);
        if (recv(files[count], &byte, 1, MSG_DONTWAIT) == 0)
            break;
        count++;
    }
    check(count < 4096, "one process may have all connections");
}

static void cut_window(void)
{
    struct process process;

    check(join_process(&process), "no process");
    check(ftruncate(process.window, 0) && errno == EPERM, "the window can be cut");
    check(ftruncate(process.window, (off_t)process.joined.window_bytes * 2) && errno == EPERM,
          "the window can grow");
    check(fcntl(process.window, F_ADD_SEALS, F_SEAL_FUTURE_WRITE) && errno == EPERM,
          "the window can be sealed");
}

static void send_words(void)
{
    static uint8_t noise[65536];
    struct process process;
    uint64_t seed = 1;

    check(join_process(&process), "no process");
    for (unsigned i = 0; i < 600; i++) {
        const int file = i % 3 ? open_thread(&process) : open_connection();
        struct thunk_header header = {.magic = THUNK_MAGIC};
        size_t bytes;

        check(file >= 0, "no connection");
        for (size_t k = 0; k < sizeof noise; k += 8) {
            seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
            memcpy(noise + k, &seed, 8);
        }
        bytes = 8 + (seed >> 33) % 4096;
        header.function = (uint32_t)(seed >> 20) % (D3DKMT_FN_COUNT + 2);
        header.bytes = i % 5 ? (uint32_t)bytes : (uint32_t)(seed >> 11);
        if (i % 7)
            memcpy(noise, &header, sizeof header);
        send(file, noise, bytes, MSG_NOSIGNAL);
        close(file);
    }
}

/* The file comes with a bare header. */
static void *map_lanes(const struct process *process)
{
    void *memory;
    int file = -1;

    check(send_message(process->file, PROTOCOL_LANES, NULL, 0, NULL, 0) &&
              receive_message(process->file, NULL, 0, &file),
          "no lanes");
    memory = mmap(NULL, LANE_FILE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    check(memory != MAP_FAILED, "lanes cannot be mapped");
    check(ftruncate(file, 0) && errno == EPERM, "the lanes can be cut");
    close(file);
    return memory;
}

static void use_lanes_badly(void)
{
    struct process process;
    struct lane_board *board;
    uint64_t seed = 1;
    unsigned answers = 0;

    check(join_process(&process), "no process");
    board = map_lanes(&process);
    for (unsigned i = 0; i < 20000; i++) {
        struct lane *lane;
        uint64_t words[64];

        seed = seed * UINT64_C(6364136223846793005) + 1442695040888963407;
        lane = lane_at(board, (unsigned)(seed >> 40) % LANE_COUNT);
        for (unsigned k = 0; k < 64; k++)
            words[k] = (seed >> k % 32) * UINT64_C(0x9e3779b97f4a7c15);
        if (i % 2) {
            const struct thunk_header header = {
                .magic = THUNK_MAGIC,
                .function = (uint32_t)(seed >> 20) % (D3DKMT_FN_COUNT + 2),
                .bytes = i % 5 ? (uint32_t)((seed >> 33) % 512) & ~7u : (uint32_t)(seed >> 11)};

            memcpy(words, &header, sizeof header);
        }
        memcpy(lane->message, words, sizeof words);
        atomic_store(&lane->state, (uint32_t)(i % 3 ? LANE_CALL : (unsigned)(seed >> 50)));
        atomic_store(&board->pending, i % 4 ? UINT64_MAX : seed);
        lane_ring(&board->bell);
        if (i % 1000 == 0)
            usleep(1000);
        answers += atomic_load(&lane->state) == LANE_ANSWER;
    }
    check(answers, "no lane was ever answered");
}

/* Headers and bodies that end in the middle: nobody else waits for their ends. */
static void begin_messages(void)
{
    const struct thunk_header whole = {
        .magic = THUNK_MAGIC, .function = D3DKMT_FN_CloseAdapter, .bytes = sizeof whole + 8};
    struct process process;

    check(join_process(&process), "no process");
    for (unsigned i = 0; i < 400; i++) {
        const int file = i % 2 ? open_thread(&process) : open_connection();

        check(file >= 0, "no connection");
        send(file, &whole, 1 + i % (sizeof whole + 7), MSG_NOSIGNAL);
    }
}

/* An honest process with a device waits at pipes; here every handle that it may have is named. */
static void name_objects_of_others(void)
{
    struct process process;
    int to[2], from[2], status = 1, thread;
    NTSTATUS answer;
    pid_t other;
    char byte;

    check(!pipe(to) && !pipe(from), "no pipes");
    other = fork();
    if (!other) {
        D3DKMT_DESTROYDEVICE end = {0};

        alarm(60);
        if (!join_process(&process) || (thread = open_thread(&process)) < 0)
            _exit(1);
        end.hDevice = open_device(thread);
        if (!end.hDevice || write(from[1], "r", 1) != 1 || read(to[0], &byte, 1) != 1)
            _exit(2);
        _exit(!call(thread, D3DKMT_FN_DestroyDevice, &end, &answer) || answer ? 3 : 0);
    }
    check(read(from[0], &byte, 1) == 1, "no other process");
    check(join_process(&process), "no process");
    thread = open_thread(&process);
    for (uint32_t handle = 0; handle < 4096; handle++) {
        const uint32_t named = handle < 2048 ? handle : (handle - 2048) << 6;
        D3DKMT_DESTROYDEVICE device = {.hDevice = named};
        D3DKMT_CLOSEADAPTER adapter = {.hAdapter = named};

        check(call(thread, D3DKMT_FN_DestroyDevice, &device, &answer) && answer,
              "a device of another process can be destroyed");
        check(call(thread, D3DKMT_FN_CloseAdapter, &adapter, &answer) && answer,
              "an adapter of another process can be closed");
    }
    check(write(to[1], "g", 1) == 1 && waitpid(other, &status, 0) == other && !status,
          "the objects of the other process are gone");
}

/* What the driver of the Drydock GPU takes for an allocation. */
static NTSTATUS create_allocation(int thread, D3DKMT_HANDLE device, uint64_t bytes,
                                  const void *memory)
{
    struct sgpu_umd_allocation data = {.version = SGPU_UMD_VERSION,
                                       .flags =
                                           memory ? SGPU_UMD_EXISTING | SGPU_UMD_APERTURE_ONLY : 0,
                                       .bytes = bytes};
    D3DDDI_ALLOCATIONINFO2 info = {
        .pSystemMem = memory, .pPrivateDriverData = &data, .PrivateDriverDataSize = sizeof data};
    D3DKMT_CREATEALLOCATION create = {
        .hDevice = device, .NumAllocations = 1, .pAllocationInfo2 = &info};
    NTSTATUS status = -1;

    check(call(thread, D3DKMT_FN_CreateAllocation2, &create, &status), "no answer");
    return status;
}

static void ask_for_too_much(void)
{
    static uint8_t page[8192] __attribute__((aligned(4096)));
    struct process process;
    D3DKMT_HANDLE device;
    NTSTATUS status;
    int thread;

    check(join_process(&process), "no process");
    thread = open_thread(&process);
    device = open_device(thread);
    alarm(60);
    for (unsigned bit = 20; bit < 64; bit++) {
        const uint64_t sizes[] = {UINT64_C(1) << bit, (UINT64_C(1) << bit) - 4096,
                                  UINT64_MAX - (UINT64_C(1) << bit)};

        for (unsigned i = 0; i < 3; i++) {
            D3DDDI_RESERVEGPUVIRTUALADDRESS reserve = {.hAdapter = 1, .Size = sizes[i]};

            status = create_allocation(thread, device, sizes[i], page);
            check(status || sizes[i] <= sizeof page, "memory is lent that is not there");
            create_allocation(thread, device, sizes[i], NULL);
            reserve.BaseAddress = sizes[2 - i];
            check(call(thread, D3DKMT_FN_ReserveGpuVirtualAddress, &reserve, &status), "no answer");
        }
    }
    check(open_device(thread), "the process itself is not served any more");
}

/* Faults of the range wait for whoever reads the file, which nobody does. False: not for us. */
static bool stop_faults(void *memory, size_t bytes)
{
    const int faults = (int)syscall(SYS_userfaultfd, O_CLOEXEC);
    struct uffdio_api api = {.api = UFFD_API};
    struct uffdio_register range = {.range = {(uintptr_t)memory, bytes},
                                    .mode = UFFDIO_REGISTER_MODE_MISSING};

    return faults >= 0 && !ioctl(faults, UFFDIO_API, &api) &&
           !ioctl(faults, UFFDIO_REGISTER, &range);
}

static void lend_what_does_not_come(void)
{
    const size_t bytes = 1 << 20;
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    int ready[2], thread, status;
    struct process process;
    pid_t child;
    char byte;

    check(!pipe(ready), "no pipe");
    child = fork();
    if (!child) {
        D3DKMT_HANDLE device;

        if (!stop_faults(memory, bytes)) {
            fprintf(stderr, "hostile: not tried, the system stops no faults for us\n");
            _exit(0);
        }
        if (!join_process(&process) || (thread = open_thread(&process)) < 0 ||
            !(device = open_device(thread)))
            _exit(1);
        if (write(ready[1], "r", 1) == 1)
            create_allocation(thread, device, bytes, memory);
        _exit(0);
    }
    close(ready[1]);
    if (read(ready[0], &byte, 1) == 1) {
        usleep(100000);
        expect_well(); /* while it stands there */
    }
    kill(child, SIGKILL);
    waitpid(child, &status, 0);
}

/* An answer without a body, and its status. */
static bool receive_status(int file, NTSTATUS *out_status)
{
    struct thunk_header header;

    if (recv(file, &header, sizeof header, MSG_WAITALL) != sizeof header ||
        header.bytes != sizeof header)
        return false;
    *out_status = header.status;
    return true;
}

/* Addresses that are no views, files that name nothing, NT handles that are thrown away at once. */
static void share_badly(void)
{
    const int files[4] = {open("/dev/zero", O_RDONLY | O_CLOEXEC), dup(0), dup(1), dup(2)};
    struct process process;
    uint64_t message[64];
    D3DKMT_CREATESYNCHRONIZATIONOBJECT2 fence = {.Info.Type = D3DDDI_MONITORED_FENCE};
    D3DKMT_OPENRESOURCEFROMNTHANDLE open_it = {.hNtHandle = (HANDLE)(uintptr_t)1};
    THUNK_SHARE_OBJECTS share = {.cObjects = 1, .hObjects = &fence.hSyncObject};
    NTSTATUS status;
    int thread;

    check(join_process(&process) && (thread = open_thread(&process)) >= 0, "no process");
    for (uint64_t i = 0; i < 64; i++) {
        const struct protocol_view view = {.address = process.joined.views_start + (i << 58)};

        check(send_message(thread, PROTOCOL_VIEW, &view, sizeof view, NULL, 0) &&
                  receive_status(thread, &status) && status == STATUS_NOT_FOUND,
              "a view of nothing");
    }
    fence.hDevice = open_it.hDevice = open_device(thread);
    fence.Info.Flags.Shared = fence.Info.Flags.NtSecuritySharing = 1;
    check(call(thread, D3DKMT_FN_CreateSynchronizationObject2, &fence, &status) && !status,
          "no fence");
    /* A name in the arguments is none, whatever files come with it, four at once. */
    for (unsigned i = 0; i < 2000; i++) {
        const size_t bytes = thunk_call_bytes(D3DKMT_FN_OpenResourceFromNtHandle, &open_it);

        check(thunk_pack_call(D3DKMT_FN_OpenResourceFromNtHandle, &open_it, message, bytes) &&
                  send_message(thread, D3DKMT_FN_OpenResourceFromNtHandle, message + 2, bytes - 16,
                               files, 1 + i % 4) &&
                  recv(thread, message, bytes, MSG_WAITALL) == (ssize_t)bytes &&
                  thunk_take_answer(D3DKMT_FN_OpenResourceFromNtHandle, &open_it, message, bytes,
                                    &status) &&
                  status == STATUS_INVALID_HANDLE,
              "a file of another kind names something");
    }
    /* The kernel closes each NT handle with the answer that is not received with it. */
    for (unsigned i = 0; i < 10000; i++)
        check(call(thread, D3DKMT_FN_ShareObjects, &share, &status) && !status, "not shared");
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*play)(void);
    } plays[] = {
        {"files", give_files},
        {"endless", send_without_end},
        {"abandon", abandon_calls},
        {"crowd", open_many},
        {"cut", cut_window},
        {"words", send_words},
        {"lanes", use_lanes_badly},
        {"halves", begin_messages},
        {"others", name_objects_of_others},
        {"sizes", ask_for_too_much},
        {"stuck", lend_what_does_not_come},
        {"shares", share_badly},
    };

    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; argc == 2 && i < sizeof plays / sizeof plays[0]; i++) {
        if (strcmp(argv[1], plays[i].name) != 0)
            continue;
        plays[i].play();
        expect_well();
        printf("server is well\n");
        return 0;
    }
    fprintf(stderr,
            "usage: hostile "
            "files|endless|abandon|crowd|cut|words|lanes|halves|others|sizes|stuck|shares\n");
    return 2;
}
