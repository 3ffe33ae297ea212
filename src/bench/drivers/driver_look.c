/*
 * The process that lets a driver register: it loads the image, has DriverEntry run, asks for
 * DRIVERCAPS, and ends. When something ends it early, a text in memory that the parent shares says
 * what the driver did.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, strsignal() */
#include "bench/drivers/driver_look.h"

#include "base/bits.h"
#include "bench/board/host.h"
#include "bench/child/cage.h"
#include "bench/child/child_end.h"
#include "bench/child/validate_value.h"
#include "bench/config/run_config.h"
#include "machine/machine.h"
#include "miniport/raw.h"
#include "nt/exceptions/exception.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define LOOK_SECONDS 20 /* for DriverEntry to return */
#define CAPS_SECONDS 3  /* for AddDevice and a query behind it */

/* ---- Ends of DriverEntry, in the process of its own ------------------------------------------ */

static struct {
    const char *path;
    struct driver_traits *out;
    struct nt *nt;
    bool is_loaded;
    char missing[160]; /* what DriverEntry called and the bench does not have, ", " between them */
    bool is_kmdf;
} entered;

/* Ends the process: it says what the driver did, and where, as far as that is known. */
static void __attribute__((noreturn)) end_look(const char *frames, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static void end_look(const char *frames, const char *format, ...)
{
    char *error = entered.out->error;
    const size_t size = sizeof entered.out->error;
    const char *registers = strstr(frames, "\n  rax=");
    size_t used = (size_t)snprintf(error, size, "%s: %s ", entered.path,
                                   entered.is_loaded ? "in DriverEntry" : "while it is loaded");
    va_list arguments;

    va_start(arguments, format);
    if (used < size)
        vsnprintf(error + used, size - used, format, arguments);
    va_end(arguments);
    used = strlen(error);
    snprintf(error + used, size - used, "%.*s",
             registers ? (int)(registers - frames) : (int)strlen(frames), frames);
    _exit(0);
}

static void end_by_crash(void *context, const struct nt_crash *crash)
{
    const char *name = nt_bug_check_name(crash->bug_check);

    end_look(crash->state, "the driver stops the machine: bug check 0x%x%s%s: %s", crash->bug_check,
             name[0] ? " " : "", name, crash->what);
}

static void end_by_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    const char *name = nt_bug_check_name(code);

    end_look(nt_stopped_at(entered.nt),
             "the driver stops the machine: bug check 0x%x%s%s (0x%llx, 0x%llx, 0x%llx, 0x%llx)",
             code, name[0] ? " " : "", name, (unsigned long long)parameters[0],
             (unsigned long long)parameters[1], (unsigned long long)parameters[2],
             (unsigned long long)parameters[3]);
}

static void end_by_deadlock(void *context, const char *text)
{
    char frames[1024];

    exception_backtrace(entered.nt, NULL, frames, sizeof frames);
    end_look(frames, "there is a %s", text);
}

/* A name once; those that find no room are left out. */
static void note_missing(void *context, const char *name)
{
    size_t used = strlen(entered.missing);

    entered.is_kmdf |= strncmp(name, "Wdf", 3) == 0;
    if (!strstr(entered.missing, name) && used + strlen(name) + 3 < sizeof entered.missing)
        snprintf(entered.missing + used, sizeof entered.missing - used, "%s%s", used ? ", " : "",
                 name);
}

/* Why a driver that has not registered does not: what it did instead. */
static void tell_unregistered(const char *path, NTSTATUS status,
                              const DRIVER_INITIALIZATION_DATA *data, struct driver_traits *out)
{
    char why[128];
    int used =
        snprintf(out->error, sizeof out->error, "%s: DriverEntry did not register the driver: %s",
                 path, host_tell_refusal(status, data, why, sizeof why));

    if (entered.missing[0] && used > 0 && (size_t)used < sizeof out->error)
        snprintf(out->error + used, sizeof out->error - (size_t)used,
                 "; it called %s, which the bench does not have%s", entered.missing,
                 entered.is_kmdf
                     ? " (KMDF's loader; a display miniport registers with DxgkInitialize)"
                     : "");
}

/* DriverEntry does not return, or the bench fails in the middle of it. */
static void end_by_signal(int signal, siginfo_t *info, void *context)
{
    char frames[1024];

    exception_backtrace(entered.nt, context, frames, sizeof frames);
    if (signal == SIGALRM)
        end_look(frames, "the driver does not return within %u s of wall time", LOOK_SECONDS);
    end_look(frames, "the process ends by signal %d (%s)", signal, strsignal(signal));
}

/* Signals from the image's own code do not come here: trap_install() takes them first. */
static void watch_entry(const char *path, struct nt *nt, struct driver_traits *out)
{
    static const int signals[] = {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    struct sigaction action = {.sa_sigaction = end_by_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    entered.path = path;
    entered.out = out;
    entered.nt = nt;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_COUNT(signals); i++)
        sigaction(signals[i], &action, NULL);
}

/*
 * Asks the driver which model it is of, for a device that has been added and not been started:
 * the kernel asks later, but what the driver says then hangs on no hardware, mostly. If it fails,
 * or does not come back, what it has registered has to do.
 */
static void look_at_caps(const struct base_services *services,
                         const DRIVER_INITIALIZATION_DATA *data, struct driver_traits *out)
{
    struct vidmm_model_caps caps;
    struct miniport *raw;

    if (!NT_SUCCESS(miniport_raw_create(services, data, &raw)) ||
        !NT_SUCCESS(raw->ops->add_device(raw)) || !vidmm_query_model(raw, &caps))
        return;
    out->version = miniport_interface_version(raw); /* DRIVERCAPS.WDDMVersion may be lower */
    out->caps = caps;
    out->has_caps = true;
}

static void look(const char *path, struct driver_traits *out)
{
    const struct base_services *services = base_services_libc();
    const struct nt_host host = {.bug_check = end_by_bug_check,
                                 .crash = end_by_crash,
                                 .deadlock = end_by_deadlock,
                                 .missing = note_missing};
    struct machine_config config;
    struct driver_image *driver;
    DRIVER_INITIALIZATION_DATA data;
    const void *present;
    NTSTATUS status;
    struct nt *nt;

    /* DriverEntry may make threads and timers, and take memory. */
    machine_config_defaults(&config, 1);
    config.local_bytes = config.visible_bytes = config.aperture_bytes = 0;
    nt = nt_create(services, machine_create(services, &config), &host);
    nt_bind(nt);
    if (!nt)
        return;
    watch_entry(path, nt, out);
    if (!driver_image_load(services, path, nt, &driver, out->error))
        return;
    entered.is_loaded = true;
    nt_set_irql(nt, PASSIVE_LEVEL);
    nt_pool_set_guard(nt, NT_POOL_GUARD_END);
    if (!cage_close()) {
        snprintf(out->error, sizeof out->error,
                 "%s: the cage for drivers cannot be closed here (seccomp)", path);
        return;
    }
    status = driver_image_enter(driver, &data);
    if (NT_SUCCESS(status)) {
        driver_image_exported_text(driver, DRIVER_IMAGE_GPU_MARK, out->gpu, sizeof out->gpu);
        out->registered = out->version = data.Version;
        out->is_physical = data.Version < DXGKDDI_INTERFACE_VERSION_WDDM2_0 ||
                           (!data.DxgkDdiSubmitCommandVirtual && data.DxgkDdiRender);
        out->is_display_only = nt_is_display_only(nt, &present);
        out->is_physical |= out->is_display_only;
        out->is_known = true;
        if (!out->is_display_only)
            look_at_caps(services, &data, out);
    } else {
        tell_unregistered(path, status, &data, out);
    }
}

/* ---- The parent ------------------------------------------------------------------------------ */

/* An image may have written over what its process hands over. */
static void validate_traits(struct driver_traits *traits)
{
    traits->error[sizeof traits->error - 1] = traits->gpu[sizeof traits->gpu - 1] = '\0';
    traits->is_known = validate_truth(&traits->is_known);
    traits->is_display_only = validate_truth(&traits->is_display_only);
    traits->is_physical = validate_truth(&traits->is_physical);
    traits->has_caps = validate_truth(&traits->has_caps);
    traits->caps.is_virtual = validate_truth(&traits->caps.is_virtual);
    traits->caps.has_gpummu = validate_truth(&traits->caps.has_gpummu);
    traits->caps.has_iommu = validate_truth(&traits->caps.has_iommu);
}

/* A GPU model in a file would be loaded with the rights of the user: an image names none. */
static bool names_file_as_gpu(const struct driver_traits *traits)
{
    return traits->gpu[0] && strcmp(traits->gpu, RUN_GPU_DRYDOCK) != 0 &&
           strcmp(traits->gpu, RUN_GPU_NONE) != 0;
}

/* What the driver writes to its errors is not for the terminal. */
static void leave_errors(void)
{
    int nothing = open("/dev/null", O_WRONLY | O_CLOEXEC);

    if (nothing < 0 || dup2(nothing, STDERR_FILENO) < 0)
        close(STDERR_FILENO);
    if (nothing > STDERR_FILENO)
        close(nothing);
}

/*
 * Waits for the end of the process. When the time of DriverEntry or of the query is over, SIGALRM
 * has the process say where the driver is; time in which others had the processors does not count.
 */
static int wait_for_look(pid_t child, const volatile bool *is_entered, bool *out_is_late)
{
    const struct timespec nap = {0, 1000000};
    struct child_moment began = child_moment_now(child);
    bool is_query = false;
    siginfo_t end = {0};

    while (waitid(P_PID, (id_t)child, &end, WEXITED | WNOHANG | WNOWAIT) == 0 && !end.si_pid) {
        if (!is_query && *is_entered) {
            is_query = true;
            began = child_moment_now(child);
        }
        if (child_moment_is_over(&began, is_query ? CAPS_SECONDS : LOOK_SECONDS)) {
            kill(child, SIGALRM);
            break;
        }
        nanosleep(&nap, NULL);
    }
    return child_end_wait(child, CHILD_END_SECONDS, out_is_late);
}

/* A driver may do anything, already in DriverEntry: it runs in a process that may end. */
void driver_look(const char *path, struct driver_traits *out)
{
    struct driver_traits *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    bool is_late = false;
    int status = 0;

    memset(out, 0, sizeof *out);
    if (shared == MAP_FAILED) {
        snprintf(out->error, sizeof out->error, "%s: no memory", path);
        return;
    }
    fflush(NULL);
    child = fork();
    if (child == 0) {
        cage_leave_files(NULL, 0);
        leave_errors();
        look(path, shared);
        _exit(0);
    }
    if (child > 0)
        status = wait_for_look(child, &shared->is_known, &is_late);
    *out = *shared;
    munmap(shared, sizeof *shared);
    validate_traits(out);
    if (out->is_known)
        out->error[0] =
            '\0'; /* an error behind DriverEntry is reported when the driver is played */
    if (out->is_known && names_file_as_gpu(out)) {
        out->is_known = false;
        snprintf(out->error, sizeof out->error,
                 "%s: its export %s names the GPU '%s' (expected %s or %s; a model in a file is "
                 "named with --gpu)",
                 path, DRIVER_IMAGE_GPU_MARK, out->gpu, RUN_GPU_DRYDOCK, RUN_GPU_NONE);
    }
    if (child < 0)
        snprintf(out->error, sizeof out->error, "%s: %s", path, strerror(errno));
    else if (is_late && !out->is_known)
        snprintf(out->error, sizeof out->error,
                 "%s: in DriverEntry the driver does not return within %u s of wall time, and "
                 "blocks the signals that would say where it is",
                 path, LOOK_SECONDS);
    else if (WIFSIGNALED(status) && !out->is_known && !out->error[0])
        snprintf(out->error, sizeof out->error, "%s: DriverEntry ended by signal %d (%s)", path,
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
    else if (WIFEXITED(status) && !out->is_known && !out->error[0])
        snprintf(out->error, sizeof out->error,
                 "%s: in DriverEntry the driver ends the process, with exit status %d", path,
                 WEXITSTATUS(status));
}
