#include "nt/machine/boundary.h"
#include "nt/machine/exception.h"
#include "nt/exports.h"
#include "nt/memory/mapping.h"
#include "nt/nt_internal.h"

#include "base/assert.h"
#include "base/bits.h"

#include <stdio.h>
#include <stdlib.h>

#define DEBUG_LINE_BYTES 512u /* as much as the kernel takes of one call */

static _Thread_local struct nt *current;

struct nt *nt_bind(struct nt *nt)
{
    struct nt *before = current;

    current = nt;
    return before;
}

struct nt *nt_current_or_none(void)
{
    return current;
}

struct nt *nt_current(void)
{
    if (!current) {
        fprintf(stderr, "nt: a driver called the kernel, and none is bound to this thread\n");
        abort();
    }
    return current;
}

struct nt *nt_create(const struct base_services *services, struct machine *machine,
                     const struct nt_host *host)
{
    struct nt *nt = base_alloc(services, sizeof *nt);

    if (!nt)
        return NULL;
    nt->services = services;
    nt->machine = machine;
    nt->host = *host;
    nt->irql = PASSIVE_LEVEL;
    nt_pool_init(nt);
    list_init(&nt->mappings);
    list_init(&nt->reserved);
    list_init(&nt->held_pages);
    nt_objects_init(nt);
    nt_scheduler_init(nt);
    list_init(&nt->symbolic_links);
    list_init(&nt->neighbours);
    list_init(&nt->lookasides);
    list_init(&nt->devices);
    list_init(&nt->requests);
    list_init(&nt->interfaces);
    list_init(&nt->properties);
    list_init(&nt->remove_lock_holds);
    return nt;
}

void nt_destroy(struct nt *nt)
{
    if (!nt)
        return;
    nt_scheduler_fini(nt);
    if (current == nt)
        current = NULL;
    nt_callbacks_fini(nt);
    nt_lookasides_fini(nt);
    nt_interfaces_fini(nt);
    nt_properties_fini(nt);
    nt_remove_locks_fini(nt);
    nt_registry_fini(nt);
    nt_files_fini(nt);
    nt_mappings_fini(nt);
    nt_reserved_fini(nt);
    nt_held_pages_fini(nt);
    nt_pool_fini(nt);
    nt_pages_fini(&nt->pages);
    base_free(nt->services, nt, sizeof *nt);
}

void nt_give_up_addresses(struct nt *nt)
{
    nt_pages_fini(&nt->pages);
}

/* ---- Images ------------------------------------------------------------------------------- */

void nt_set_boundary(struct nt *nt, struct boundary *boundary)
{
    nt_end_threads(nt);
    nt->boundary = boundary;
}

void nt_set_image(struct nt *nt, const struct image *image, const char *name)
{
    nt->image = image;
    nt->image_name = name;
    nt->first_thread = image && nt->boundary ? boundary_current_thread(nt->boundary) : NULL;
}

void nt_set_callbacks(struct nt *nt, const struct nt_callback *callbacks, size_t count)
{
    nt->callbacks = callbacks;
    nt->callback_count = count;
}

void *nt_driver_function(struct nt *nt, const void *function)
{
    return nt->boundary ? boundary_entry(nt->boundary, function) : (void *)(uintptr_t)function;
}

void nt_report_missing(struct nt *nt, const char *name)
{
    if (nt->host.missing)
        nt->host.missing(nt->host.context, name);
}

uint64_t nt_caller(const struct nt *nt)
{
    const struct boundary_registers *caller = nt->boundary ? boundary_caller(nt->boundary) : NULL;

    return caller ? caller->rip : 0;
}

/* ---- IRQL -------------------------------------------------------------------------------- */

KIRQL nt_set_irql(struct nt *nt, KIRQL irql)
{
    KIRQL before = nt->irql;

    nt->irql = irql;
    return before;
}

KIRQL nt_irql(const struct nt *nt)
{
    return nt->irql;
}

uint32_t nt_held_lock_count(const struct nt *nt)
{
    return nt->held_locks;
}

KIRQL NTAPI KeGetCurrentIrql(VOID)
{
    return nt_current()->irql;
}

/* Bug checks of a level that goes the wrong way. */
#define IRQL_NOT_GREATER_OR_EQUAL 0x9u
#define IRQL_NOT_LESS_OR_EQUAL    0xau

KIRQL NTAPI KfRaiseIrql(KIRQL NewIrql)
{
    struct nt *nt = nt_current();

    if (NewIrql < nt->irql)
        KeBugCheckEx(IRQL_NOT_GREATER_OR_EQUAL, nt->irql, NewIrql, 0, 0);
    return nt_set_irql(nt, NewIrql);
}

/* The export of what headers have as a macro. */
static KIRQL NTAPI raise_to_dispatch(VOID)
{
    return KfRaiseIrql(DISPATCH_LEVEL);
}

VOID NTAPI KeLowerIrql(KIRQL NewIrql)
{
    struct nt *nt = nt_current();

    if (NewIrql > nt->irql)
        KeBugCheckEx(IRQL_NOT_LESS_OR_EQUAL, nt->irql, NewIrql, 0, 0);
    nt_set_irql(nt, NewIrql);
}

/* ---- Bug check and debug output ----------------------------------------------------------- */

/* Of a thread: on that thread. The first one then stops the machine for it. */
static void note_where(struct nt *nt)
{
    if (!nt->scheduler.stop.thread)
        exception_backtrace(nt, NULL, nt->stopped_at, sizeof nt->stopped_at);
}

const char *nt_stopped_at(const struct nt *nt)
{
    return nt->stopped_at;
}

const char *nt_bug_check_name(uint32_t code)
{
    static const struct {
        uint32_t code;
        const char *name;
    } names[] = {
        {0x01, "APC_INDEX_MISMATCH"},
        {0x09, "IRQL_NOT_GREATER_OR_EQUAL"},
        {0x0A, "IRQL_NOT_LESS_OR_EQUAL"},
        {0x0C, "MAXIMUM_WAIT_OBJECTS_EXCEEDED"},
        {0x0F, "SPIN_LOCK_ALREADY_OWNED"},
        {0x10, "SPIN_LOCK_NOT_OWNED"},
        {0x11, "THREAD_NOT_MUTEX_OWNER"},
        {0x1E, "KMODE_EXCEPTION_NOT_HANDLED"},
        {0x39, "SYSTEM_EXIT_OWNED_MUTEX"},
        {0x40, "TARGET_MDL_TOO_SMALL"},
        {0x4D, "NO_PAGES_AVAILABLE"},
        {0x4E, "PFN_LIST_CORRUPT"},
        {0x50, "PAGE_FAULT_IN_NONPAGED_AREA"},
        {0x7E, "SYSTEM_THREAD_EXCEPTION_NOT_HANDLED"},
        {0x7F, "UNEXPECTED_KERNEL_MODE_TRAP"},
        {0xB8, "ATTEMPTED_SWITCH_FROM_DPC"},
        {0xBE, "ATTEMPTED_WRITE_TO_READONLY_MEMORY"},
        {0xBF, "MUTEX_ALREADY_OWNED"},
        {0xC1, "SPECIAL_POOL_DETECTED_MEMORY_CORRUPTION"},
        {0xC2, "BAD_POOL_CALLER"},
        {0xC7, "TIMER_OR_DPC_INVALID"},
        {0xD1, "DRIVER_IRQL_NOT_LESS_OR_EQUAL"},
        {0xDA, "SYSTEM_PTE_MISUSE"},
        {0xE1, "WORKER_THREAD_RETURNED_AT_BAD_IRQL"},
        {0xE3, "RESOURCE_NOT_OWNED"},
        {0xE4, "WORKER_INVALID"},
        {0xE9, "ACTIVE_EX_WORKER_THREAD_TERMINATION"},
        {0xFC, "ATTEMPTED_EXECUTE_OF_NOEXECUTE_MEMORY"},
        {0x10E, "VIDEO_MEMORY_MANAGEMENT_INTERNAL"},
        {0x113, "VIDEO_DXGKRNL_FATAL_ERROR"},
        {0x116, "VIDEO_TDR_FAILURE"},
        {0x119, "VIDEO_SCHEDULER_INTERNAL_ERROR"},
        {0x139, "KERNEL_SECURITY_CHECK_FAILURE"},
        {0x4000008A, "THREAD_TERMINATE_HELD_MUTEX"},
    };

    for (size_t i = 0; i < ARRAY_COUNT(names); i++)
        if (names[i].code == code)
            return names[i].name;
    return "";
}

VOID NTAPI KeBugCheckEx(ULONG BugCheckCode, ULONG_PTR P1, ULONG_PTR P2, ULONG_PTR P3, ULONG_PTR P4)
{
    struct nt *nt = nt_current();
    const uint64_t parameters[4] = {P1, P2, P3, P4};

    note_where(nt);
    nt_stop_from_thread(nt, BugCheckCode, parameters);
    if (nt->host.bug_check)
        nt->host.bug_check(nt->host.context, BugCheckCode, parameters);
    fprintf(stderr, "nt: bug check 0x%x (0x%llx, 0x%llx, 0x%llx, 0x%llx)\n", BugCheckCode,
            (unsigned long long)P1, (unsigned long long)P2, (unsigned long long)P3,
            (unsigned long long)P4);
    abort();
}

static void print(ULONG component, ULONG level, PCSTR format, nt_va_list *arguments)
{
    struct nt *nt = nt_current();
    char text[DEBUG_LINE_BYTES];

    if (!nt->host.log)
        return;
    nt_format(text, sizeof text, format, arguments);
    nt->host.log(nt->host.context, component, level, text);
}

ULONG NTAPI DbgPrint(PCSTR Format, ...)
{
    nt_va_list arguments;

    NT_VA_START(arguments, Format);
    print(0, DPFLTR_INFO_LEVEL, Format, &arguments);
    NT_VA_END(arguments);
    return STATUS_SUCCESS;
}

ULONG NTAPI DbgPrintEx(ULONG ComponentId, ULONG Level, PCSTR Format, ...)
{
    nt_va_list arguments;

    NT_VA_START(arguments, Format);
    print(ComponentId, Level, Format, &arguments);
    NT_VA_END(arguments);
    return STATUS_SUCCESS;
}

/* The list of arguments of an image is a pointer to them. */
static ULONG NTAPI print_list(ULONG ComponentId, ULONG Level, PCCH Format, nt_va_list arguments)
{
    print(ComponentId, Level, Format, &arguments);
    return STATUS_SUCCESS;
}

/* ---- Registers ---------------------------------------------------------------------------- */

#define REGISTER_FUNCTIONS(suffix, type)                                                           \
    type NTAPI READ_REGISTER_##suffix(volatile type *Register)                                     \
    {                                                                                              \
        return (type)machine_read_register(nt_current()->machine, Register, sizeof *Register);     \
    }                                                                                              \
    VOID NTAPI WRITE_REGISTER_##suffix(volatile type *Register, type Value)                        \
    {                                                                                              \
        machine_write_register(nt_current()->machine, Register, sizeof *Register, Value);          \
    }                                                                                              \
    VOID NTAPI READ_REGISTER_BUFFER_##suffix(volatile type *Register, type *Buffer, ULONG Count)   \
    {                                                                                              \
        for (ULONG i = 0; i < Count; i++)                                                          \
            Buffer[i] = READ_REGISTER_##suffix(Register + i);                                      \
    }                                                                                              \
    VOID NTAPI WRITE_REGISTER_BUFFER_##suffix(volatile type *Register, type *Buffer, ULONG Count)  \
    {                                                                                              \
        for (ULONG i = 0; i < Count; i++)                                                          \
            WRITE_REGISTER_##suffix(Register + i, Buffer[i]);                                      \
    }

REGISTER_FUNCTIONS(UCHAR, UCHAR)
REGISTER_FUNCTIONS(USHORT, USHORT)
REGISTER_FUNCTIONS(ULONG, ULONG)
REGISTER_FUNCTIONS(ULONG64, ULONG64)

const struct nt_export nt_kernel_exports[] = {
    NT_SERVICE(KeGetCurrentIrql),
    NT_SERVICE(KfRaiseIrql),
    {"KeRaiseIrqlToDpcLevel", (const void *)raise_to_dispatch, NT_EXPORT_SERVICE, NULL},
    NT_SERVICE(KeLowerIrql),
    NT_SERVICE(KeBugCheckEx),
    NT_SERVICE(DbgPrint),
    NT_SERVICE(DbgPrintEx),
    {"vDbgPrintEx", (const void *)print_list, NT_EXPORT_SERVICE, NULL},
    NT_SERVICE(READ_REGISTER_UCHAR),
    NT_SERVICE(READ_REGISTER_USHORT),
    NT_SERVICE(READ_REGISTER_ULONG),
    NT_SERVICE(READ_REGISTER_ULONG64),
    NT_SERVICE(WRITE_REGISTER_UCHAR),
    NT_SERVICE(WRITE_REGISTER_USHORT),
    NT_SERVICE(WRITE_REGISTER_ULONG),
    NT_SERVICE(WRITE_REGISTER_ULONG64),
    NT_SERVICE(READ_REGISTER_BUFFER_UCHAR),
    NT_SERVICE(READ_REGISTER_BUFFER_USHORT),
    NT_SERVICE(READ_REGISTER_BUFFER_ULONG),
    NT_SERVICE(READ_REGISTER_BUFFER_ULONG64),
    NT_SERVICE(WRITE_REGISTER_BUFFER_UCHAR),
    NT_SERVICE(WRITE_REGISTER_BUFFER_USHORT),
    NT_SERVICE(WRITE_REGISTER_BUFFER_ULONG),
    NT_SERVICE(WRITE_REGISTER_BUFFER_ULONG64),
    {0},
};
