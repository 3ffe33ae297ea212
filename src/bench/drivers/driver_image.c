/*
 * A driver that is a file. Everything that passes between it and the bench passes the boundary:
 * imports when the image is loaded, its table when it has registered, the kernel's table when it is
 * started.
 */
#define _DEFAULT_SOURCE /* MAP_ANONYMOUS */
#include "bench/drivers/driver_image.h"

#include "base/bits.h"
#include "base/hash.h"
#include "bench/child/cage.h"
#include "bench/board/host.h"
#include "bench/child/crash_recorder.h"
#include "image/image.h"
#include "image/image_file.h"
#include "miniport/raw.h"
#include "nt/machine/boundary.h"
#include "nt/exceptions/exception.h"
#include "nt/exports.h"
#include "nt/machine/trap.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

/* Why boundary_create() gives none. */
#if defined(__x86_64__) && defined(__linux__)
#define NO_BOUNDARY "no memory for its stacks"
#else
#define NO_BOUNDARY                                                                                \
    "an x64 image runs on an x86-64 processor alone; drivers that are linked in run here"
#endif

struct missing {
    struct nt_lacking lacking; /* first */
    struct driver_image *driver;
    char text[64]; /* of an ordinal */
};

struct driver_image {
    const struct base_services *services;
    struct nt *nt;
    const char *file; /* its name without the folder, lent by whoever named it */
    struct image *image;
    struct boundary *boundary;
    struct missing *missing;
    DRIVER_INITIALIZATION_DATA own;     /* its table, as it registered it */
    const void *present_display_only;   /* of a display-only driver, beside its table */
    DXGKDDI_START_DEVICE *start_device; /* the driver's, behind the boundary */
    DXGKRNL_INTERFACE kernel;           /* the table that the driver gets */
    uint64_t breaches[64];              /* of the calling convention, that were told */
    unsigned breach_count;
};

/* DxgkDdiStartDevice has no argument that leads here; a process has one image. */
static struct driver_image *loaded;

/*
 * The file that was read last. A process in a cage opens no file, and plays the same driver many
 * times: it keeps the bytes of the first time.
 */
static struct {
    char path[1024];
    struct image_file bytes;
} kept_file;

/* A copy: the file may be built anew while it is played. */
static bool keep_file(const struct image_file *file)
{
    void *bytes =
        mmap(NULL, file->size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (bytes == MAP_FAILED)
        return false;
    memcpy(bytes, file->bytes, file->size);
    mprotect(bytes, file->size, PROT_READ);
    kept_file.bytes = (struct image_file){bytes, file->size};
    return true;
}

static bool read_file(const char *path, const char **out_reason)
{
    struct image_file file;
    bool is_kept;

    if (cage_is_closed() && kept_file.bytes.bytes && strcmp(kept_file.path, path) == 0)
        return true;
    image_file_unmap(&kept_file.bytes);
    snprintf(kept_file.path, sizeof kept_file.path, "%s", path);
    if (!image_file_map(path, &file, out_reason))
        return false;
    is_kept = keep_file(&file);
    if (!is_kept)
        *out_reason = "no memory";
    image_file_unmap(&file);
    return is_kept;
}

static const char *file_of(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash ? slash + 1 : path;
}

/* ---- Imports --------------------------------------------------------------------------------- */

static uint64_t NTAPI call_missing(void *context)
{
    const struct missing *missing = context;

    nt_report_missing(missing->driver->nt, missing->lacking.name);
    return (uint64_t)(ULONG)STATUS_NOT_IMPLEMENTED;
}

static void free_missing(struct driver_image *driver, struct missing *missing)
{
    munmap((void *)missing->lacking.page, NT_LACKING_BYTES);
    base_free(driver->services, missing, sizeof *missing);
}

/* 0: no memory. */
static uint64_t bind_missing(struct driver_image *driver, const struct image_import *import)
{
    void *page = mmap(NULL, NT_LACKING_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct missing *missing =
        page == MAP_FAILED ? NULL : base_alloc(driver->services, sizeof *missing);

    if (!missing) {
        if (page != MAP_FAILED)
            munmap(page, NT_LACKING_BYTES);
        return 0;
    }
    missing->driver = driver;
    missing->lacking = (struct nt_lacking){
        .next = driver->missing ? &driver->missing->lacking : NULL,
        .name = import->name,
        .page = page,
        .call = boundary_closure(driver->boundary, call_missing, missing),
    };
    if (!import->name) {
        snprintf(missing->text, sizeof missing->text, "%.40s ordinal %u", import->module,
                 import->ordinal);
        missing->lacking.name = missing->text;
    }
    driver->missing = missing;
    return missing->lacking.call ? (uintptr_t)page : 0;
}

const void *driver_image_service(const char *name, bool *out_is_direct)
{
    const struct nt_export *row = nt_find_export(name);

    *out_is_direct = row && row->kind != NT_EXPORT_SERVICE;
    if (row)
        return row->address;
    if (strcmp(name, "DxgkInitialize") == 0)
        return (const void *)DxgkInitialize;
    if (strcmp(name, "DxgkInitializeDisplayOnlyDriver") == 0)
        return (const void *)DxgkInitializeDisplayOnlyDriver;
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

static const char *register_name(const struct boundary_breach *breach, char name[32])
{
    static const char *const general[] = {[3] = "rbx",  [5] = "rbp",  [6] = "rsi",  [7] = "rdi",
                                          [12] = "r12", [13] = "r13", [14] = "r14", [15] = "r15"};

    switch (breach->rule) {
    case BOUNDARY_GENERAL:
        return general[breach->number];
    case BOUNDARY_VECTOR:
        snprintf(name, 32, "xmm%u", breach->number);
        return name;
    case BOUNDARY_DIRECTION:
    case BOUNDARY_CALL_DIRECTION:
        return "the direction flag";
    case BOUNDARY_X87_CONTROL:
        return "the x87 control word";
    case BOUNDARY_X87_STACK:
        return "the tag word of the x87 and MMX registers";
    case BOUNDARY_MXCSR:
        return "the control bits of MXCSR";
    case BOUNDARY_GS_BASE:
        return "the base of GS";
    case BOUNDARY_STACK:
        return "rsp";
    }
    return "";
}

static bool is_of_call(const struct boundary_breach *breach)
{
    return breach->rule == BOUNDARY_STACK || breach->rule == BOUNDARY_CALL_DIRECTION;
}

/* Each register once for each DDI. */
static bool is_new_breach(struct driver_image *driver, const struct boundary_breach *breach)
{
    const char *ddi = miniport_raw_running();
    uint64_t key = hash_pair(hash_pair(breach->rule, breach->number), (uintptr_t)ddi);

    for (unsigned i = 0; i < driver->breach_count; i++) {
        if (driver->breaches[i] == key)
            return false;
    }
    if (driver->breach_count == ARRAY_COUNT(driver->breaches))
        return false;
    driver->breaches[driver->breach_count++] = key;
    return true;
}

static void tell_breach(void *context, const struct boundary_breach *breach)
{
    struct driver_image *driver = context;
    char name[32], where[160];
    const struct boundary_registers *caller = boundary_caller(driver->boundary);

    if (!is_new_breach(driver, breach))
        return;
    if (is_of_call(breach)) {
        exception_name_address(driver->nt, caller->rip, where, sizeof where);
        nt_misuse(driver->nt,
                  "a service is called with %s 0x%llx, where the x64 calling convention wants "
                  "0x%llx, at %s",
                  register_name(breach, name), (unsigned long long)breach->after,
                  (unsigned long long)breach->before, where);
        return;
    }
    exception_name_address(driver->nt, (uintptr_t)breach->function, where, sizeof where);
    nt_misuse(driver->nt,
              "%s does not preserve %s, as the x64 calling convention wants: 0x%llx when it was "
              "called, 0x%llx when it returned",
              where, register_name(breach, name), (unsigned long long)breach->before,
              (unsigned long long)breach->after);
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

    /* A model that an access of the driver's has called runs on the driver's time, not for it. */
    if (is_lent &&
        (boundary_is_on_bench_stack(driver->boundary, call->stack) || crash_recorder_runs_model()))
        return;
    find_own_frame(driver, call->state, place, sizeof place);
    snprintf(text, sizeof text, "system call %d%s%s%s%s%s%s", call->number, call->name ? " (" : "",
             call->name ? call->name : "", call->name ? ")" : "", place[0] ? " at " : "", place,
             is_lent ? ", by a jump into code of the bench or of the C library" : "");
    nt_report_trespass(driver->nt, text);
}

size_t driver_image_backtrace(const struct driver_image *driver, const void *signal_context,
                              char *text, size_t size)
{
    return exception_backtrace(driver->nt, signal_context, text, size);
}

static size_t tell_place(const void *signal_context, char *text, size_t size)
{
    return driver_image_backtrace(loaded, signal_context, text, size);
}

/* A cookie that is the same in every run of a seed, and never the one that linkers leave. */
static uint64_t cookie_of(const struct driver_image *driver)
{
    return (hash_u64(kept_file.bytes.size) & UINT64_C(0x0000ffffffffffff)) | 1;
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
    if (!read_file(path, &reason)) {
        refuse(error, path, reason);
        goto unload;
    }
    if (!image_open(services, kept_file.bytes.bytes, kept_file.bytes.size, &driver->image, &why)) {
        refuse(error, path, why.text);
        goto unload;
    }
    driver->boundary = boundary_create(services, tell_breach, driver);
    if (!driver->boundary) {
        refuse(error, path, NO_BOUNDARY);
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
    if (driver->missing)
        nt_set_lacking(nt, &driver->missing->lacking);
    nt_set_registrar(nt, (const void *)DxgkInitialize,
                     (const void *)DxgkInitializeDisplayOnlyDriver);
    loaded = driver;
    cage_set_reporter(tell_system_call, driver);
    crash_recorder_set_locator(tell_place);
    if (crash_recorder_is_on() && !cage_close()) {
        refuse(error, path, "the cage for drivers cannot be closed here (seccomp)");
        goto unload;
    }
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
        crash_recorder_set_locator(NULL);
        cage_set_reporter(NULL, NULL);
        trap_remove(driver->nt);
        nt_set_lacking(driver->nt, NULL);
        nt_set_image(driver->nt, NULL, NULL);
        nt_set_boundary(driver->nt, NULL);
        loaded = NULL;
    }
    image_close(driver->image);
    boundary_destroy(driver->boundary);
    while ((missing = driver->missing)) {
        driver->missing = (struct missing *)missing->lacking.next;
        free_missing(driver, missing);
    }
    base_free(driver->services, driver, sizeof *driver);
}

void driver_image_abandon(struct driver_image *driver)
{
    if (driver)
        boundary_abandon(driver->boundary);
}

static bool name_function(const struct driver_image *driver, uint64_t address, char *text,
                          size_t size)
{
    struct image_symbol symbol;

    if (!image_symbol_at(driver->image, address, &symbol))
        return false;
    snprintf(text, size, "%s!%.80s (+0x%llx)", driver->file, symbol.name,
             (unsigned long long)(address - image_base(driver->image)));
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
        MINIPORT_SLOT_LIST(X)
#undef X
#define X(function, ddi) SLOT(ddi)
            MINIPORT_PLAIN_LIST(X)
#undef X
                SLOT(AddDevice) SLOT(StartDevice) SLOT(StopDevice) SLOT(RemoveDevice) SLOT(Unload)
                    SLOT(InterruptRoutine) SLOT(DpcRoutine) SLOT(SetPowerState)
#undef SLOT
    };
    static const char present[] = "DxgkDdiPresentDisplayOnly";
    size_t length = strspn(ddi, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789");

    if (!driver)
        return false;
    if (length == sizeof present - 1 && memcmp(present, ddi, length) == 0)
        return name_function(driver, (uintptr_t)driver->present_display_only, text, size);
    for (size_t i = 0; i < ARRAY_COUNT(slots); i++) {
        uint64_t address;

        if (strlen(slots[i].name) != length || memcmp(slots[i].name, ddi, length) != 0)
            continue;
        memcpy(&address, (const char *)&driver->own + slots[i].offset, sizeof address);
        return name_function(driver, address, text, size);
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
    const void *present;

    if (!NT_SUCCESS(status))
        return status;
    driver->own = *out_data;
    if (!pass_boundary(driver->boundary, &out_data->DxgkDdiAddDevice, out_data + 1, boundary_entry))
        return STATUS_NO_MEMORY;
    if (nt_is_display_only(driver->nt, &present) && present) {
        driver->present_display_only = present;
        present = boundary_entry(driver->boundary, present);
        if (!present)
            return STATUS_NO_MEMORY;
        nt_set_display_only(driver->nt, present);
    }
    driver->start_device = out_data->DxgkDdiStartDevice;
    if (driver->start_device)
        out_data->DxgkDdiStartDevice = start_device;
    return STATUS_SUCCESS;
}

const DRIVER_INITIALIZATION_DATA *driver_image_registered(const struct driver_image *driver)
{
    return &driver->own;
}

bool driver_image_has_code(const struct driver_image *driver, const void *address)
{
    const struct image_section *section = image_section_at(driver->image, (uintptr_t)address);

    return section && section->is_executable;
}

bool driver_image_exported_text(const struct driver_image *driver, const char *name, char *out,
                                size_t size)
{
    struct image_export mark;
    const char *text;

    out[0] = '\0';
    if (!image_find_export(driver->image, name, &mark) || mark.forwarder)
        return false;
    text = (const char *)(uintptr_t)(image_base(driver->image) + mark.rva);
    for (size_t i = 0; i + 1 < size && image_contains(driver->image, (uintptr_t)text + i); i++) {
        out[i] = text[i];
        if (!text[i])
            return true;
    }
    out[0] = '\0';
    return false;
}
