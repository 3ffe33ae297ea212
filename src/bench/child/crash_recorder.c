/*
 * The handler runs where anything may be broken: it allocates nothing, and the libraries that it
 * needs were loaded when the recorder began.
 */
#define _GNU_SOURCE /* SA_ONSTACK */
#include "bench/child/crash_recorder.h"

#include "base/bits.h"
#include "bench/child/cage.h"
#include "bench/child/journal.h"
#include "layers/guard.h"
#include "miniport/operation.h"
#include "miniport/raw.h"
#include "nt/nt.h"

#include <execinfo.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define BACKTRACE_MAX 48
#define STACK_BYTES   (1024 * 1024)
#define GUARD_BYTES   (64 * 1024)
#define ARCH_SET_FS   0x1002 /* of arch_prctl() */
#define ARCH_GET_FS   0x1003

static const int fatal_signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};

static struct crash_recorder *current;
static struct check *guards;
static struct record *recorded;
static size_t (*locate_driver)(const void *signal_context, char *text, size_t size);
static bool is_catching, has_caught;
static char *handler_stack; /* NULL: none has been made */

void *crash_recorder_share_memory(size_t bytes)
{
    void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);

    return memory == MAP_FAILED ? NULL : memory;
}

void crash_recorder_release_memory(void *memory, size_t bytes)
{
    if (memory)
        munmap(memory, bytes);
}

static double wall_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_MONOTONIC_COARSE, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static void note_place(const void *context)
{
    const char *ddi = miniport_raw_running();

    if (ddi)
        strncat(current->ddi, ddi, sizeof current->ddi - 1);
    current->ddi_seconds = wall_now() - current->noted;
    current->is_image = locate_driver != NULL;
    if (locate_driver)
        locate_driver(context, current->place, sizeof current->place);
}

/* ---- Steps of the handler, each of which may fault in memory that was written over ----------- */

static sigjmp_buf next_step;

static void on_signal_in_handler(int number)
{
    siglongjmp(next_step, 1);
}

/* What is lent comes first: its table lies in memory that no driver comes across. */
static bool explain_paged(const void *address, struct loan_breach *out)
{
    struct nt_paged paged;

    if (!nt_paging_explain(nt_current_or_none(), address, &paged))
        return false;
    *out = (struct loan_breach){
        .kind = LOAN_PAGED, .call = "", .offset = paged.offset, .bytes = paged.bytes};
    memcpy(out->name, paged.name, sizeof paged.name);
    return true;
}

static void explain_address(const void *address)
{
    struct loan_breach breach;

    if (!guards)
        return;
    if (guard_explain(address, &breach) || explain_paged(address, &breach)) {
        check_explain_loan(guards, &breach, &current->finding);
        current->has_finding = true;
    } else if (check_explain_address(guards, address, &current->finding)) {
        current->has_finding = true;
    }
}

static void write_backtrace(void)
{
    void *frames[BACKTRACE_MAX];

    backtrace_symbols_fd(frames, backtrace(frames, BACKTRACE_MAX), STDERR_FILENO);
}

#define TRY(step)                                                                                  \
    do {                                                                                           \
        if (sigsetjmp(next_step, 1) == 0)                                                          \
            step;                                                                                  \
    } while (0)

/*
 * A driver may have moved the base of FS, by which a thread finds what is its own: then each call
 * of the C library would fault here again, for ever where the signal stack starts anew.
 */
#if defined(__x86_64__) && defined(__linux__)
static uint64_t thread_base;

static void keep_thread_base(void)
{
    __asm__("movq %%fs:0, %0" : "=r"(thread_base)); /* the first word there is its own address */
}

static void call_arch_prctl(uint64_t what, uint64_t argument)
{
    uint64_t result = SYS_arch_prctl;

    __asm__ volatile("syscall" : "+a"(result) : "D"(what), "S"(argument) : "rcx", "r11", "memory");
}

/* True: it was elsewhere. */
static bool restore_thread_base(void)
{
    uint64_t now = thread_base;

    call_arch_prctl(ARCH_GET_FS, (uintptr_t)&now);
    call_arch_prctl(ARCH_SET_FS, thread_base);
    return now != thread_base;
}
#else
static void keep_thread_base(void)
{
}
static bool restore_thread_base(void)
{
    return false;
}
#endif

static void on_fatal_signal(int number, siginfo_t *info, void *context)
{
    const struct sigaction again = {.sa_handler = on_signal_in_handler,
                                    .sa_flags = SA_ONSTACK | SA_NODEFER};
    const bool is_elsewhere = restore_thread_base();
    const bool is_sent = info->si_code <= 0;

    if (current && !has_caught) {
        has_caught = true;
        for (size_t i = 0; i < ARRAY_COUNT(fatal_signals); i++)
            sigaction(fatal_signals[i], &again, NULL);
        if (!is_sent)
            TRY(explain_address(info->si_addr));
        TRY(note_place(context));
        TRY(write_backtrace());
        TRY(journal_tell_findings());
        TRY(record_flush(recorded));
    }
    for (size_t i = 0; i < ARRAY_COUNT(fatal_signals); i++)
        signal(fatal_signals[i], SIG_DFL);
    /*
     * The instruction behind a signal of the machine faults again on return, unless it was the base
     * that was wrong; other signals are sent again.
     */
    if (is_sent || is_elsewhere)
        raise(number);
}

/*
 * Functions of a GPU model run here, too, where a driver that is an image accesses a register: what
 * needs more faults below it, and does not write over the bench.
 */
static void *make_handler_stack(void)
{
    char *memory;

    if (handler_stack)
        return handler_stack;
    memory = mmap(NULL, GUARD_BYTES + STACK_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED ||
        mprotect(memory + GUARD_BYTES, STACK_BYTES, PROT_READ | PROT_WRITE) != 0)
        return NULL;
    handler_stack = memory + GUARD_BYTES;
    return handler_stack;
}

static void catch_signals(void)
{
    stack_t stack = {.ss_size = STACK_BYTES};
    struct sigaction action = {.sa_sigaction = on_fatal_signal,
                               .sa_flags = SA_SIGINFO | SA_ONSTACK};
    void *frame;

    if (is_catching)
        return;
    is_catching = true;
    keep_thread_base();
    backtrace(&frame, 1); /* loads its library now, not in a handler */
    sigemptyset(&action.sa_mask);
    stack.ss_sp = make_handler_stack();
    if (stack.ss_sp)
        sigaltstack(&stack, NULL);
    for (size_t i = 0; i < ARRAY_COUNT(fatal_signals); i++)
        sigaction(fatal_signals[i], &action, NULL);
}

/* A page that is zero in each copy of this process; NULL: the kernel has none such. */
static volatile char *process_mark;

static void mark_process(void)
{
    const size_t size = 4096;
    void *page;

    if (!process_mark) {
        page = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (page == MAP_FAILED)
            return;
        if (madvise(page, size, MADV_WIPEONFORK) != 0) {
            munmap(page, size);
            return;
        }
        process_mark = page;
    }
    *process_mark = 1;
}

/*
 * The files that are open while a function of a model runs. Each of the first calls is looked at,
 * and one of many behind them. In a cage these files cannot be closed.
 */
#define WATCHED_FILES 64
#define FIRST_CALLS   256u
#define CALLS_A_LOOK  256u

static struct {
    struct pollfd files[WATCHED_FILES];
    unsigned count, calls;
} watched;

static void note_open_files(void)
{
    struct pollfd all[WATCHED_FILES];

    watched.count = 0;
    if (cage_is_closed() || (watched.calls++ >= FIRST_CALLS && watched.calls % CALLS_A_LOOK != 0))
        return;
    for (int i = 0; i < WATCHED_FILES; i++)
        all[i] = (struct pollfd){.fd = i};
    if (poll(all, WATCHED_FILES, 0) < 0)
        return;
    for (unsigned i = 0; i < WATCHED_FILES; i++) {
        if (!(all[i].revents & POLLNVAL))
            watched.files[watched.count++] = (struct pollfd){.fd = all[i].fd};
    }
}

static bool has_closed_files(void)
{
    if (!watched.count || cage_is_closed() || poll(watched.files, watched.count, 0) <= 0)
        return false;
    for (unsigned i = 0; i < watched.count; i++) {
        if (watched.files[i].revents & POLLNVAL)
            return true;
    }
    return false;
}

void crash_recorder_begin(struct crash_recorder *recorder)
{
    current = recorder;
    watched.calls = 0;
    if (!recorder)
        return;
    mark_process();
    recorder->count = 0;
    recorder->has_finding = false;
    recorder->noted = wall_now();
    recorder->is_image = false;
    recorder->ddi[0] = recorder->place[0] = '\0';
    recorder->model = NULL;
    recorder->model_did[0] = '\0';
    catch_signals();
}

void crash_recorder_set_record(struct record *record)
{
    recorded = record;
}

bool crash_recorder_is_on(void)
{
    return current != NULL;
}

void crash_recorder_set_locator(size_t (*locate)(const void *signal_context, char *text,
                                                 size_t size))
{
    locate_driver = locate;
}

const char *crash_recorder_enter_model(const char *what)
{
    const char *before = current ? current->model : NULL;

    if (current && !before)
        note_open_files();
    if (current)
        current->model = what;
    return before;
}

void crash_recorder_leave_model(const char *before)
{
    if (!current)
        return;
    if (process_mark && !*process_mark)
        _exit(0);
    if (!before && has_closed_files()) {
        snprintf(current->model_did, sizeof current->model_did, "it closes files of the bench");
        _exit(1);
    }
    current->model = before;
}

bool crash_recorder_runs_model(void)
{
    return current && current->model;
}

bool crash_recorder_blames_model(const struct crash_recorder *recorder, const char *gpu,
                                 const char *how, char *text, size_t size)
{
    char did[sizeof recorder->model_did];

    if (!recorder->model)
        return false;
    snprintf(did, sizeof did, "%.*s", (int)sizeof did - 1, recorder->model_did);
    if (did[0])
        how = did;
    if (strncmp(recorder->model, "the ", strlen("the ")) == 0) /* client or policy */
        snprintf(text, size, "%s: %.200s; this tells nothing of the driver", recorder->model, how);
    else
        snprintf(text, size, "GPU model '%.150s', in %s: %.200s; this tells nothing of the driver",
                 gpu ? gpu : "", recorder->model, how);
    return true;
}

void crash_recorder_set_check(struct check *check)
{
    guards = check;
}

/* ---- Calls ----------------------------------------------------------------------------------- */

static struct crash_recorder_line *next_line(void)
{
    current->noted = wall_now();
    return &current->lines[current->count++ % CRASH_RECORDER_LINES];
}

void crash_recorder_note_line(const char *line, size_t length)
{
    struct crash_recorder_line *noted;

    if (!current)
        return;
    noted = next_line();
    noted->is_paging = false;
    length = min_u64(length, sizeof noted->text - 1);
    memcpy(noted->text, line, length);
    noted->text[length] = '\0';
}

void crash_recorder_note_paging(const struct trace_event *event)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = event->argument;
    struct crash_recorder_line *noted;

    if (!current)
        return;
    noted = next_line();
    noted->is_paging = true;
    noted->has_returned = event->phase == TRACE_AFTER;
    noted->operation = event->operation;
    noted->size = arg->DmaSize;
    noted->offset = arg->MultipassOffset;
    noted->status = event->status;
    noted->written = event->written;
}

static size_t add_paging(const struct crash_recorder_line *line, char *text, size_t size)
{
    const char *operation = miniport_operation_name(line->operation);

    if (line->has_returned)
        return (size_t)snprintf(text, size,
                                "< DxgkDdiBuildPagingBuffer(%s) 0x%08x written=%lld "
                                "MultipassOffset=%u\n",
                                operation, (unsigned)line->status, (long long)line->written,
                                line->offset);
    return (size_t)snprintf(text, size,
                            "> DxgkDdiBuildPagingBuffer(%s) DmaSize=%u MultipassOffset=%u\n",
                            operation, line->size, line->offset);
}

void crash_recorder_describe(const struct crash_recorder *recorder, const char *output, char *text,
                             size_t size)
{
    uint64_t first =
        recorder->count > CRASH_RECORDER_LINES ? recorder->count - CRASH_RECORDER_LINES : 0;
    size_t used = (size_t)snprintf(text, size, "%s%s", output,
                                   output[0] && output[strlen(output) - 1] != '\n' ? "\n" : "");

    if (used < size && recorder->count)
        used += (size_t)snprintf(text + used, size - used, "last calls:\n");
    for (uint64_t i = first; i < recorder->count && used < size; i++) {
        const struct crash_recorder_line *line = &recorder->lines[i % CRASH_RECORDER_LINES];

        used += line->is_paging ? add_paging(line, text + used, size - used)
                                : (size_t)snprintf(text + used, size - used, "%.*s\n",
                                                   CRASH_RECORDER_LINE_BYTES - 1, line->text);
    }
}

/* ---- Ends ------------------------------------------------------------------------------------ */

/* The line of a process's output that says most; "" when it wrote nothing but a backtrace. */
static void find_best_line(const char *output, char *out, size_t size)
{
    static const char *const marks[] = {"assertion failed", "the bench fails in",
                                        "ERROR: ", "runtime error"};

    out[0] = '\0';
    for (size_t i = 0; i < ARRAY_COUNT(marks); i++) {
        const char *mark = strstr(output, marks[i]), *start = mark;

        if (!mark)
            continue;
        while (start > output && start[-1] != '\n')
            start--;
        snprintf(out, size, "%.*s", (int)strcspn(start, "\n"), start);
        return;
    }
}

/* "in DxgkDdiPatch", or behind it, where no call was under way; "": none was made. */
static void name_last_ddi(const struct crash_recorder *recorder, char *out, size_t size)
{
    static const char prefix[] = "DxgkDdi";

    out[0] = '\0';
    if (recorder->ddi[0]) {
        snprintf(out, size, "in %s", recorder->ddi);
        return;
    }
    for (uint64_t i = recorder->count; i && i + CRASH_RECORDER_LINES > recorder->count; i--) {
        const struct crash_recorder_line *line = &recorder->lines[(i - 1) % CRASH_RECORDER_LINES];
        const char *name =
            line->is_paging ? "DxgkDdiBuildPagingBuffer" : strstr(line->text, prefix);

        if (!name)
            continue;
        snprintf(
            out, size, "behind %.*s",
            (int)strspn(name, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789"),
            name);
        return;
    }
}

/* The driver's innermost frame, "mygpu.sys!Render+0x12": of "#0 mygpu.sys!Render+0x12 (+0x1012)".
 */
static void name_frame(const struct crash_recorder *recorder, char *out, size_t size)
{
    const char *frame = strstr(recorder->place, "#0 ");

    out[0] = '\0';
    if (frame)
        snprintf(out, size, ", at %.*s", (int)strcspn(frame + 3, " \n"), frame + 3);
}

/* The likely cause of a signal that no line of the output explains. */
static void guess_at(const struct crash_recorder *recorder, int status, char *out, size_t size)
{
    int number = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    char ddi[96], frame[160];

    out[0] = '\0';
    if (number == SIGKILL)
        snprintf(out, size, "the host had no memory left, or somebody ended it");
    if (number == SIGSYS)
        snprintf(out, size,
                 "a system call that the bench allows no driver, with the signal blocked by which "
                 "it would be told");
    if (recorder->model || (number != SIGSEGV && number != SIGBUS && number != SIGABRT))
        return;
    name_last_ddi(recorder, ddi, sizeof ddi);
    name_frame(recorder, frame, sizeof frame);
    if (recorder->has_finding && frame[0])
        snprintf(out, size, "%s%s", ddi, frame);
    else if (recorder->is_image || !recorder->ddi[0])
        snprintf(
            out, size,
            "in code of the bench%s%s: the driver has probably written over memory that is not "
            "its own, or the bench has a mistake",
            ddi[0] ? ", " : "", ddi);
    else
        snprintf(out, size, "%s: probably the driver's", ddi);
}

void crash_recorder_explain_end(const struct crash_recorder *recorder, int status,
                                const char *output, char *text, size_t size)
{
    char line[400];
    const char *colon;

    find_best_line(output, line, sizeof line);
    if (!line[0])
        guess_at(recorder, status, line, sizeof line);
    colon = line[0] ? ": " : "";
    if (WIFSIGNALED(status))
        snprintf(text, size, "ended by signal %d (%s)%s%s", WTERMSIG(status),
                 strsignal(WTERMSIG(status)), colon, line);
    else
        snprintf(text, size, "ended with exit status %d%s%s", WEXITSTATUS(status), colon, line);
}

/* In the driver: what began last has taken half of the time, at least. */
void crash_recorder_explain_hang(const struct crash_recorder *recorder, enum child_hang hang,
                                 double seconds, char *text, size_t size)
{
    bool is_in_driver =
        !recorder->model && recorder->ddi[0] && recorder->ddi_seconds >= seconds / 2;

    if (hang == CHILD_CUT_OFF) {
        snprintf(
            text, size,
            "no end within %g s after it had stopped telling the bench what it does: it closed "
            "its connection, or left a message half written",
            CHILD_END_SECONDS);
        return;
    }
    snprintf(text, size, "no end within %g s of wall time%s%s%s", seconds,
             is_in_driver ? ": the driver does not return from " : "",
             is_in_driver ? recorder->ddi : "",
             is_in_driver && recorder->place[0] ? "; where it is stands below" : "");
}
