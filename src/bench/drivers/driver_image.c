/*
 * A driver that is a file. Everything that passes between it and the bench passes the boundary:
 * imports when the image is loaded, its table when it has registered, the kernel's table when it is
 * started.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS, strsignal() */
#include "bench/drivers/driver_image.h"

#include "base/bits.h"
#include "base/hash.h"
#include "bench/child/cage.h"
#include "bench/child/distrust.h"
#include "bench/board/host.h"
#include "bench/child/vigil.h"
#include "image/image.h"
#include "image/image_file.h"
#include "miniport/raw.h"
#include "nt/machine/boundary.h"
#include "nt/exceptions/exception.h"
#include "nt/exports.h"
#include "nt/machine/trap.h"

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define LOOK_SECONDS   20 /* for DriverEntry to return */
#define CAPS_SECONDS   3  /* for AddDevice and a query behind it */
#define GPU_NAME_BYTES 64

struct missing {
    struct driver_image *driver;
    const char *name;
    struct missing *next;
    char text[64]; /* of an ordinal */
};

struct driver_image {
    const struct base_services *services;
    struct nt *nt;
    const char *file; /* its name without the folder, lent by whoever named it */
    struct image_file bytes;
    struct image *image;
    struct boundary *boundary;
    struct missing *missing;
    DRIVER_INITIALIZATION_DATA own;     /* its table, as it registered it */
    DXGKDDI_START_DEVICE *start_device; /* the driver's, behind the boundary */
    DXGKRNL_INTERFACE kernel;           /* what it gets */
};

/* DxgkDdiStartDevice has no argument that leads here; a process has one image. */
static struct driver_image *loaded;

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- Imports --------------------------------------------------------------------------------- */

static uint64_t NTAPI call_missing(void *context)
{
    const struct missing *missing = context;

    nt_report_missing(missing->driver->nt, missing->name);
    return (uint64_t)(ULONG)STATUS_NOT_IMPLEMENTED;
}

static uint64_t bind_missing(struct driver_image *driver, const struct image_import *import)
{
    struct missing *missing = base_alloc(driver->services, sizeof *missing);

    if (!missing)
        return 0;
    missing->driver = driver;
    missing->name = import->name;
    if (!import->name) {
        snprintf(missing->text, sizeof missing->text, "%.40s ordinal %u", import->module,
                 import->ordinal);
        missing->name = missing->text;
    }
    missing->next = driver->missing;
    driver->missing = missing;
    return (uintptr_t)boundary_closure(driver->boundary, call_missing, missing);
}

const void *driver_image_service(const char *name, bool *out_is_direct)
{
    const struct nt_export *row = nt_find_export(name);

    *out_is_direct = row && row->kind != NT_EXPORT_SERVICE;
    if (row)
        return row->address;
    if (strcmp(name, "DxgkInitialize") == 0)
        return (const void *)DxgkInitialize;
    if (strcmp(name, "DxgkUnInitialize") == 0)
        return (const void *)DxgkUnInitialize;
    return NULL;
}

static uint64_t resolve(void *context, const struct image_import *import)
{
    struct driver_image *driver = context;
    bool is_direct = false;
    const void *address = import->name ? driver_image_service(import->name, &is_direct) : NULL;

    if (!address)
        return bind_missing(driver, import);
    return (uintptr_t)(is_direct ? address : boundary_service(driver->boundary, address));
}

/* ---- Loading --------------------------------------------------------------------------------- */

static bool refuse(char error[DRIVER_IMAGE_ERROR_BYTES], const char *path, const char *text)
{
    snprintf(error, DRIVER_IMAGE_ERROR_BYTES, "%s: %s", path, text);
    return false;
}

static void tell_lost_register(void *context, unsigned number)
{
    static const char *const names[] = {
        [3] = "rbx",  [5] = "rbp",  [6] = "rsi",
        [7] = "rdi",  [12] = "r12", [13] = "r13",
        [14] = "r14", [15] = "r15", [16] = "the control bits of MXCSR"};
    struct driver_image *driver = context;
    char text[80];

    snprintf(text, sizeof text, "what gives %s back as it was (it did not)", names[number]);
    nt_report_missing(driver->nt, text);
}

/* The name of the image's first frame, from a backtrace's lines. */
static void find_own_frame(const struct driver_image *driver, const void *state, char *out,
                           size_t size)
{
    char frames[512], *name;

    exception_backtrace(driver->nt, state, frames, sizeof frames);
    name = strstr(frames, driver->file);
    snprintf(out, size, "%.*s", name ? (int)strcspn(name, " \n") : 0, name ? name : "");
}

/* The bench's own calls that fail, because nobody may make them, are not the driver's. */
static void tell_system_call(void *context, const struct cage_call *call)
{
    const struct driver_image *driver = context;
    char place[160] = "", text[400];
    bool is_lent = call->name && !image_contains(driver->image, call->address);

    if (is_lent && !boundary_is_on_stack(driver->boundary, call->stack))
        return;
    find_own_frame(driver, call->state, place, sizeof place);
    snprintf(text, sizeof text, "system call %d%s%s%s%s%s%s", call->number, call->name ? " (" : "",
             call->name ? call->name : "", call->name ? ")" : "", place[0] ? " at " : "", place,
             is_lent ? ", by a jump into code of the bench or of the C library" : "");
    nt_report_missing(driver->nt, text);
}

static size_t tell_place(const void *signal_context, char *text, size_t size)
{
    return exception_backtrace(loaded->nt, signal_context, text, size);
}

/* The same in every run of a seed, and never the value that linkers leave there. */
static uint64_t cookie_of(const struct driver_image *driver)
{
    return (hash_u64(driver->bytes.size) & UINT64_C(0x0000ffffffffffff)) | 1;
}

static bool is_in_image(void *context, uint64_t address)
{
    const struct driver_image *driver = context;

    return image_contains(driver->image, address);
}

bool driver_image_load(const struct base_services *services, const char *path, struct nt *nt,
                       struct driver_image **out, char error[DRIVER_IMAGE_ERROR_BYTES])
{
    struct driver_image *driver = base_alloc(services, sizeof *driver);
    struct image_load_options options = {.resolve = resolve, .context = driver};
    struct image_error why;
    const char *reason;

    *out = NULL;
    if (!driver)
        return refuse(error, path, "no memory");
    driver->services = services;
    driver->nt = nt;
    driver->file = file_of(path);
    if (!image_file_map(path, &driver->bytes, &reason)) {
        refuse(error, path, reason);
        goto unload;
    }
    if (!image_open(services, driver->bytes.bytes, driver->bytes.size, &driver->image, &why)) {
        refuse(error, path, why.text);
        goto unload;
    }
    driver->boundary = boundary_create(services, tell_lost_register, driver);
    if (!driver->boundary) {
        refuse(error, path, "no memory for its stacks, or this is no x86-64 machine");
        goto unload;
    }
    options.security_cookie = cookie_of(driver);
    if (!image_load(driver->image, &options, &why)) {
        refuse(error, path, why.text);
        goto unload;
    }
    if (!image_entry(driver->image)) {
        refuse(error, path, "the image has no entry point");
        goto unload;
    }
    if (!trap_install(nt, &(struct trap_config){.context = driver, .is_driver = is_in_image})) {
        refuse(error, path, "another image is loaded");
        goto unload;
    }
    nt_set_boundary(nt, driver->boundary);
    nt_set_image(nt, driver->image, driver->file);
    nt_set_registrar(nt, (const void *)DxgkInitialize);
    loaded = driver;
    cage_set_teller(tell_system_call, driver);
    vigil_set_teller(tell_place);
    if (vigil_is_kept())
        cage_close();
    *out = driver;
    return true;

unload:
    driver_image_unload(driver);
    return false;
}

void driver_image_unload(struct driver_image *driver)
{
    struct missing *missing;

    if (!driver)
        return;
    if (loaded == driver) {
        vigil_set_teller(NULL);
        cage_set_teller(NULL, NULL);
        trap_remove(driver->nt);
        nt_set_image(driver->nt, NULL, NULL);
        nt_set_boundary(driver->nt, NULL);
        loaded = NULL;
    }
    image_close(driver->image);
    boundary_destroy(driver->boundary);
    while ((missing = driver->missing)) {
        driver->missing = missing->next;
        base_free(driver->services, missing, sizeof *missing);
    }
    image_file_unmap(&driver->bytes);
    base_free(driver->services, driver, sizeof *driver);
}

void driver_image_abandon(struct driver_image *driver)
{
    if (driver)
        boundary_abandon(driver->boundary);
}

bool driver_image_symbol(const struct driver_image *driver, uint64_t address, char *text,
                         size_t size)
{
    struct image_symbol symbol;

    if (!driver || !image_symbol_at(driver->image, address, &symbol))
        return false;
    snprintf(text, size, "%s!%.80s+0x%llx", driver->file, symbol.name,
             (unsigned long long)symbol.offset);
    return true;
}

bool driver_image_function(const struct driver_image *driver, const char *ddi, char *text,
                           size_t size)
{
    static const struct {
        const char *name;
        size_t offset;
    } slots[] = {
#define SLOT(ddi)                  {"DxgkDdi" #ddi, offsetof(DRIVER_INITIALIZATION_DATA, DxgkDdi##ddi)},
#define X(function, ddi, argument) SLOT(ddi)
        MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) SLOT(ddi)
            MINIPORT_PLAIN_LIST(X)
#undef X
                SLOT(AddDevice) SLOT(StartDevice) SLOT(StopDevice) SLOT(RemoveDevice) SLOT(Unload)
                    SLOT(InterruptRoutine) SLOT(DpcRoutine) SLOT(SetPowerState)
#undef SLOT
    };
    size_t length = strspn(ddi, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");

    if (!driver)
        return false;
    for (size_t i = 0; i < ARRAY_COUNT(slots); i++) {
        struct image_symbol symbol;
        uint64_t address;

        if (strlen(slots[i].name) != length || memcmp(slots[i].name, ddi, length) != 0)
            continue;
        memcpy(&address, (const char *)&driver->own + slots[i].offset, sizeof address);
        if (!image_symbol_at(driver->image, address, &symbol))
            return false;
        snprintf(text, size, "%s!%.80s (+0x%llx)", driver->file, symbol.name,
                 (unsigned long long)(address - image_base(driver->image)));
        return true;
    }
    return false;
}

/* ---- Tables ---------------------------------------------------------------------------------- */

/* Makes every function pointer of [start, end) one that passes the boundary. */
static bool pass_boundary(struct boundary *boundary, void *start, const void *end,
                          void *(*make)(struct boundary *boundary, const void *function))
{
    for (void **slot = start; (const void *)slot < end; slot++) {
        if (!*slot)
            continue;
        *slot = make(boundary, *slot);
        if (!*slot)
            return false;
    }
    return true;
}

/* The graphics kernel's functions by their names, before they pass the boundary. */
static void name_callbacks(struct driver_image *driver, const DXGKRNL_INTERFACE *kernel)
{
    static struct nt_callback callbacks[] = {
#define SERVICE_ROW(name, parameters)
#define CALLBACK_ROW(name, parameters) {#name, NULL, parameters},
#include "service_parameters.inc"
#undef CALLBACK_ROW
    };
    const void *const functions[] = {
#define CALLBACK_ROW(name, parameters) (const void *)kernel->name,
#include "service_parameters.inc"
#undef CALLBACK_ROW
#undef SERVICE_ROW
    };

    for (size_t i = 0; i < ARRAY_COUNT(callbacks); i++)
        callbacks[i].function = functions[i];
    nt_set_callbacks(driver->nt, callbacks, ARRAY_COUNT(callbacks));
}

static DXGKCB_SYNCHRONIZE_EXECUTION kernel_synchronize;

/* The routine is a function of the image, which the host calls. */
static NTSTATUS NTAPI synchronize_in_image(HANDLE handle, PKSYNCHRONIZE_ROUTINE routine,
                                           PVOID context, ULONG message, PBOOLEAN result)
{
    return kernel_synchronize(handle, nt_driver_function(loaded->nt, (const void *)routine),
                              context, message, result);
}

static NTSTATUS NTAPI start_device(PVOID context, PDXGK_START_INFO start, PDXGKRNL_INTERFACE kernel,
                                   PULONG sources, PULONG children)
{
    struct driver_image *driver = loaded;

    memset(&driver->kernel, 0, sizeof driver->kernel);
    memcpy(&driver->kernel, kernel, min_u64(kernel->Size, sizeof driver->kernel));
    kernel_synchronize = driver->kernel.DxgkCbSynchronizeExecution;
    driver->kernel.DxgkCbSynchronizeExecution = synchronize_in_image;
    name_callbacks(driver, &driver->kernel);
    if (!pass_boundary(driver->boundary, &driver->kernel.DxgkCbEvalAcpiMethod, &driver->kernel + 1,
                       boundary_service))
        return STATUS_NO_MEMORY;
    return driver->start_device(context, start, &driver->kernel, sources, children);
}

NTSTATUS driver_image_enter(struct driver_image *driver, DRIVER_INITIALIZATION_DATA *out_data)
{
    const void *entry = (const void *)(uintptr_t)image_entry(driver->image);
    DRIVER_INITIALIZE *function = (DRIVER_INITIALIZE *)boundary_entry(driver->boundary, entry);
    NTSTATUS status =
        function ? host_load_driver(driver->nt, function, out_data) : STATUS_NO_MEMORY;

    if (!NT_SUCCESS(status))
        return status;
    driver->own = *out_data;
    if (!pass_boundary(driver->boundary, &out_data->DxgkDdiAddDevice, out_data + 1, boundary_entry))
        return STATUS_NO_MEMORY;
    driver->start_device = out_data->DxgkDdiStartDevice;
    if (driver->start_device)
        out_data->DxgkDdiStartDevice = start_device;
    return STATUS_SUCCESS;
}

/* ---- By name --------------------------------------------------------------------------------- */

/* What a process of its own found when it let the driver register. */
struct traits {
    bool is_known;
    ULONG version;
    bool is_physical; /* commands hold physical addresses, whatever the version */
    bool has_caps;    /* it answered before it was started: */
    struct vidmm_model_caps caps;
    char gpu[GPU_NAME_BYTES]; /* "": it does not say */
    char error[DRIVER_IMAGE_ERROR_BYTES];
};

/* Of the file as it was: one that has been built anew is looked at anew. */
static struct {
    char path[1024];
    struct stat file;
    struct traits traits;
} last;

static bool is_same_file(const struct stat *one, const struct stat *other)
{
    return one->st_dev == other->st_dev && one->st_ino == other->st_ino &&
           one->st_size == other->st_size && one->st_mtim.tv_sec == other->st_mtim.tv_sec &&
           one->st_mtim.tv_nsec == other->st_mtim.tv_nsec;
}

static char last_error[DRIVER_IMAGE_ERROR_BYTES];

const char *driver_image_error(void)
{
    return last_error;
}

/* Which GPU it says it is for. */
static void look_for_gpu(const struct driver_image *driver, char gpu[GPU_NAME_BYTES])
{
    struct image_export mark;
    const char *text;

    if (!image_find_export(driver->image, DRIVER_IMAGE_GPU_MARK, &mark) || mark.forwarder)
        return;
    text = (const char *)(uintptr_t)(image_base(driver->image) + mark.rva);
    for (size_t i = 0; i + 1 < GPU_NAME_BYTES && image_contains(driver->image, (uintptr_t)text + i);
         i++) {
        gpu[i] = text[i];
        if (!text[i])
            return;
    }
    gpu[0] = '\0'; /* no name is that long */
}

/* ---- Ends of DriverEntry, in the process of its own ---- */

static struct {
    const char *path;
    struct traits *out;
    struct nt *nt;
    bool is_loaded;
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

/* It does not return, or the bench fails in the middle of it. */
static void end_by_signal(int signal, siginfo_t *info, void *context)
{
    char frames[1024];

    exception_backtrace(entered.nt, context, frames, sizeof frames);
    if (signal == SIGALRM)
        end_look(frames, "the driver does not return within %u s of wall time", LOOK_SECONDS);
    end_look(frames, "the process ends by signal %d (%s)", signal, strsignal(signal));
}

/* What is the image's does not come here: trap_install() stands before. */
static void watch_entry(const char *path, struct nt *nt, struct traits *out)
{
    static const int signals[] = {SIGALRM, SIGABRT, SIGSEGV, SIGBUS, SIGFPE, SIGILL};
    struct sigaction action = {.sa_sigaction = end_by_signal, .sa_flags = SA_SIGINFO | SA_ONSTACK};

    entered.path = path;
    entered.out = out;
    entered.nt = nt;
    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < ARRAY_COUNT(signals); i++)
        sigaction(signals[i], &action, NULL);
    alarm(LOOK_SECONDS);
}

/*
 * Which model it is of, as the driver says of a device that has been added and not been started:
 * the kernel asks later, but what the driver says then hangs on no hardware, mostly. If it fails,
 * or does not come back, what it has registered has to do.
 */
static void look_at_caps(const struct base_services *services,
                         const DRIVER_INITIALIZATION_DATA *data, struct traits *out)
{
    struct vidmm_model_caps caps;
    struct miniport *raw;

    alarm(CAPS_SECONDS);
    if (!NT_SUCCESS(miniport_raw_create(services, data, &raw)) ||
        !NT_SUCCESS(raw->ops->add_device(raw)) || !vidmm_query_model(raw, &caps))
        return;
    out->version = miniport_interface_version(raw); /* DRIVERCAPS.WDDMVersion may be lower */
    out->caps = caps;
    out->has_caps = true;
}

static void look(const char *path, struct traits *out)
{
    const struct base_services *services = base_services_libc();
    const struct nt_host host = {
        .bug_check = end_by_bug_check, .crash = end_by_crash, .deadlock = end_by_deadlock};
    struct machine_config config;
    struct driver_image *driver;
    DRIVER_INITIALIZATION_DATA data;
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
    cage_close();
    status = driver_image_enter(driver, &data);
    if (NT_SUCCESS(status)) {
        look_for_gpu(driver, out->gpu);
        out->version = data.Version;
        out->is_physical = data.Version < DXGKDDI_INTERFACE_VERSION_WDDM2_0 ||
                           (!data.DxgkDdiSubmitCommandVirtual && data.DxgkDdiRender);
        out->is_known = true;
        look_at_caps(services, &data, out);
    } else {
        snprintf(out->error, sizeof out->error,
                 "%s: DriverEntry did not register the driver: status 0x%08x", path,
                 (unsigned)status);
    }
}

/* A driver may do anything, already there: it runs in a process that may end. */
/* An image may have written over what its process hands over. */
static void distrust_traits(struct traits *traits)
{
    traits->error[sizeof traits->error - 1] = traits->gpu[sizeof traits->gpu - 1] = '\0';
    traits->is_known = distrust_truth(&traits->is_known);
    traits->is_physical = distrust_truth(&traits->is_physical);
    traits->has_caps = distrust_truth(&traits->has_caps);
    traits->caps.is_virtual = distrust_truth(&traits->caps.is_virtual);
    traits->caps.has_gpummu = distrust_truth(&traits->caps.has_gpummu);
    traits->caps.has_iommu = distrust_truth(&traits->caps.has_iommu);
}

static void look_from_afar(const char *path, struct traits *out)
{
    struct traits *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    pid_t child;
    int status = 0;

    memset(out, 0, sizeof *out);
    if (shared == MAP_FAILED) {
        snprintf(out->error, sizeof out->error, "%s: no memory", path);
        return;
    }
    fflush(NULL);
    child = fork();
    if (child == 0) {
        look(path, shared);
        _exit(0);
    }
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR)
        ;
    *out = *shared;
    munmap(shared, sizeof *shared);
    distrust_traits(out);
    if (out->is_known)
        out->error[0] = '\0'; /* what happens behind DriverEntry is told of when it is played */
    if (child < 0)
        snprintf(out->error, sizeof out->error, "%s: %s", path, strerror(errno));
    else if (WIFSIGNALED(status) && !out->is_known && !out->error[0])
        snprintf(out->error, sizeof out->error, "%s: DriverEntry ended by signal %d (%s)", path,
                 WTERMSIG(status), strsignal(WTERMSIG(status)));
}

static bool looks_like_path(const char *name)
{
    size_t length = strlen(name);

    return strchr(name, '/') || (length > 4 && strcasecmp(name + length - 4, ".sys") == 0);
}

static bool physical_level(const struct run_driver *driver, unsigned index,
                           enum run_model *out_model, unsigned *out_wddm)
{
    *out_wddm = driver->wddm;
    *out_model = RUN_PHYSICAL;
    return index == 0;
}

static bool gpummu_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                         unsigned *out_wddm)
{
    *out_wddm = driver->wddm;
    *out_model = RUN_GPUMMU;
    return index == 0;
}

static bool iommu_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                        unsigned *out_wddm)
{
    *out_wddm = driver->wddm;
    *out_model = RUN_IOMMU;
    return index == 0;
}

/* A driver that is given virtual addresses, and does not say by which model. */
static bool virtual_level(const struct run_driver *driver, unsigned index,
                          enum run_model *out_model, unsigned *out_wddm)
{
    static const enum run_model models[] = {RUN_GPUMMU, RUN_IOMMU};

    *out_wddm = driver->wddm;
    *out_model = models[index % ARRAY_COUNT(models)];
    return index < ARRAY_COUNT(models);
}

static void choose_level(const struct traits *traits, struct run_driver *driver)
{
    if (traits->has_caps)
        driver->level = !traits->caps.is_virtual  ? physical_level
                        : traits->caps.has_gpummu ? gpummu_level
                                                  : iommu_level;
    else
        driver->level = traits->is_physical ? physical_level : virtual_level;
}

bool driver_image_find(const char *name, struct run_driver *out_driver)
{
    struct stat file = {0};
    unsigned wddm;

    last_error[0] = '\0';
    if (!looks_like_path(name) || strlen(name) >= sizeof last.path)
        return false;
    if (stat(name, &file) != 0)
        memset(&file, 0, sizeof file);
    /* Nobody looks out of a cage: there it is the file that it was. */
    if (strcmp(last.path, name) != 0 || (!cage_is_closed() && !is_same_file(&last.file, &file))) {
        look_from_afar(name, &last.traits);
        snprintf(last.path, sizeof last.path, "%s", name);
        last.file = file;
    }
    wddm = miniport_raw_wddm(last.traits.version);
    if (last.traits.is_known && !wddm)
        snprintf(last.traits.error, sizeof last.traits.error,
                 "%s: its interface version 0x%x is not known", name,
                 (unsigned)last.traits.version);
    snprintf(last_error, sizeof last_error, "%s", last.traits.error);
    if (!last.traits.is_known || !wddm)
        return false;
    *out_driver = (struct run_driver){.name = name,
                                      .image_path = name,
                                      .wddm = wddm,
                                      .gpu = last.traits.gpu[0] ? last.traits.gpu : NULL};
    choose_level(&last.traits, out_driver);
    return true;
}
