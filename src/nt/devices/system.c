/*
 * The system around the driver: Windows 11 24H2, one processor, the system process, no session that
 * traces, and no files. Trace providers register and write without effect, as they do while no
 * session listens.
 */
#include "nt/devices/system.h"

#include "nt/exceptions/exception.h"
#include "nt/machine/boundary.h"
#include "nt/nt_private.h"

#include "base/bits.h"
#include "base/hash.h"

#include <wdm/system.h>

#include <string.h>

#define OS_MAJOR   10u
#define OS_MINOR   0u
#define OS_BUILD   26100u
#define OS_VERSION NTDDI_WIN11_GE

/* The state of the area: how many of each were ever given out. */
struct given {
    uint64_t uuids, trace_providers;
};

static struct given *given_by(const struct nt *nt)
{
    return NT_STATE(nt, system);
}

/* ---- Version and routines -------------------------------------------------------------------- */

void nt_version(PRTL_OSVERSIONINFOW Version)
{
    ULONG size = Version->dwOSVersionInfoSize;

    Version->dwMajorVersion = OS_MAJOR;
    Version->dwMinorVersion = OS_MINOR;
    Version->dwBuildNumber = OS_BUILD;
    Version->dwPlatformId = 2; /* VER_PLATFORM_WIN32_NT */
    Version->szCSDVersion[0] = 0;
    if (size == sizeof(RTL_OSVERSIONINFOEXW)) {
        RTL_OSVERSIONINFOEXW *extended = (RTL_OSVERSIONINFOEXW *)Version;

        extended->wServicePackMajor = 0;
        extended->wServicePackMinor = 0;
        extended->wSuiteMask = 0x100; /* VER_SUITE_SINGLEUSERTS */
        extended->wProductType = 1;   /* VER_NT_WORKSTATION */
        extended->wReserved = 0;
    }
}

NTSTATUS NTAPI RtlGetVersion(PRTL_OSVERSIONINFOW Version)
{
    nt_require_irql(nt_current(), "RtlGetVersion", PASSIVE_LEVEL);
    nt_version(Version);
    return STATUS_SUCCESS;
}

BOOLEAN NTAPI RtlIsNtDdiVersionAvailable(ULONG Version)
{
    nt_require_irql(nt_current(), "RtlIsNtDdiVersionAvailable", PASSIVE_LEVEL);
    return Version <= OS_VERSION;
}

BOOLEAN NTAPI PsGetVersion(PULONG Major, PULONG Minor, PULONG Build, PUNICODE_STRING ServicePack)
{
    nt_require_irql(nt_current(), "PsGetVersion", PASSIVE_LEVEL);
    if (Major)
        *Major = OS_MAJOR;
    if (Minor)
        *Minor = OS_MINOR;
    if (Build)
        *Build = OS_BUILD;
    if (ServicePack)
        ServicePack->Length = 0;
    return TRUE;
}

/* The service as an image calls it; NULL: there is none of that name. */
static const void *service_address(struct nt *nt, const char *name)
{
    const struct nt_export *row = nt_area_find_export(nt->areas, name);

    if (!row)
        return NULL;
    return row->kind == NT_EXPORT_SERVICE && nt->boundary
               ? boundary_service(nt->boundary, row->address)
               : row->address;
}

PVOID NTAPI MmGetSystemRoutineAddress(PUNICODE_STRING Name)
{
    char narrow[128];
    size_t length = Name->Length / sizeof(WCHAR);

    nt_require_irql(nt_current(), "MmGetSystemRoutineAddress", PASSIVE_LEVEL);
    if (length >= sizeof narrow)
        return NULL;
    for (size_t i = 0; i < length; i++)
        narrow[i] = Name->Buffer[i] < 0x80 ? (char)Name->Buffer[i] : '?';
    narrow[length] = '\0';
    return (PVOID)(uintptr_t)service_address(nt_current(), narrow);
}

/* ---- Processors and privileges
 * --------------------------------------------------------------------- */

KPROCESSOR_MODE NTAPI ExGetPreviousMode(VOID)
{
    return KernelMode;
}

USHORT NTAPI KeQueryActiveGroupCount(VOID)
{
    return 1;
}

USHORT NTAPI KeQueryMaximumGroupCount(VOID)
{
    return 1;
}

USHORT NTAPI KeQueryHighestNodeNumber(VOID)
{
    return 0;
}

/* Kernel mode has every privilege. */
BOOLEAN NTAPI SeSinglePrivilegeCheck(LUID Privilege, KPROCESSOR_MODE Mode)
{
    nt_require_irql(nt_current(), "SeSinglePrivilegeCheck", PASSIVE_LEVEL);
    return Mode == KernelMode;
}

/* ---- Numbers --------------------------------------------------------------------------------- */

/* Random ones (version 4), the same in every run of a seed. */
static NTSTATUS create_uuid(GUID *Uuid)
{
    struct nt *nt = nt_current();
    uint64_t halves[2];

    halves[0] = hash_u64(++given_by(nt)->uuids * 2);
    halves[1] = hash_u64(given_by(nt)->uuids * 2 + 1);
    memcpy(Uuid, halves, sizeof *Uuid);
    Uuid->Data3 = (uint16_t)((Uuid->Data3 & 0x0fff) | 0x4000);
    Uuid->Data4[0] = (uint8_t)((Uuid->Data4[0] & 0x3f) | 0x80);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI ExUuidCreate(GUID *Uuid)
{
    nt_require_irql(nt_current(), "ExUuidCreate", PASSIVE_LEVEL);
    return create_uuid(Uuid);
}

/* As documented: the result lies in [0, MAXLONG - 1], and the seed is another one afterwards. */
static ULONG next_random(PULONG Seed)
{
    *Seed = (ULONG)(((uint64_t)*Seed * 0x7fffffed + 0x7fffffc3) % 0x7fffffff);
    return *Seed;
}

ULONG NTAPI RtlRandomEx(PULONG Seed)
{
    nt_require_irql(nt_current(), "RtlRandomEx", APC_LEVEL);
    return next_random(Seed);
}

ULONG NTAPI RtlRandom(PULONG Seed)
{
    nt_require_irql(nt_current(), "RtlRandom", APC_LEVEL);
    return next_random(Seed);
}

ULONG NTAPI RtlComputeCrc32(ULONG Crc, const VOID *Buffer, ULONG Length)
{
    const UCHAR *bytes = Buffer;

    Crc = ~Crc;
    for (ULONG i = 0; i < Length; i++) {
        Crc ^= bytes[i];
        for (int bit = 0; bit < 8; bit++)
            Crc = Crc >> 1 ^ (0xedb88320u & (0u - (Crc & 1)));
    }
    return ~Crc;
}

SIZE_T NTAPI RtlCompareMemory(const VOID *First, const VOID *Second, SIZE_T Length)
{
    const UCHAR *a = First, *b = Second;
    SIZE_T same = 0;

    while (same < Length && a[same] == b[same])
        same++;
    return same;
}

/* ---- Bug checks ------------------------------------------------------------------------------ */

VOID NTAPI KeBugCheck(ULONG Code)
{
    KeBugCheckEx(Code, 0, 0, 0, 0);
}

/* No debugger listens: unless the driver handles it, the machine stops. */
VOID NTAPI DbgBreakPoint(VOID)
{
    EXCEPTION_RECORD record = {.ExceptionCode = STATUS_BREAKPOINT, .NumberParameters = 1};

    exception_raise(nt_current(), &record);
}

/* The run ends with the bug check, and nobody collects dumps. */
BOOLEAN NTAPI KeRegisterBugCheckReasonCallback(PKBUGCHECK_REASON_CALLBACK_RECORD Record,
                                               PVOID Routine, KBUGCHECK_CALLBACK_REASON Reason,
                                               PUCHAR Component)
{
    if (Record->State)
        return FALSE;
    Record->CallbackRoutine = Routine;
    Record->Component = Component;
    Record->Reason = Reason;
    Record->State = 1;
    return TRUE;
}

BOOLEAN NTAPI KeDeregisterBugCheckReasonCallback(PKBUGCHECK_REASON_CALLBACK_RECORD Record)
{
    BOOLEAN was_registered = Record->State != 0;

    Record->State = 0;
    return was_registered;
}

/* ---- Tracing --------------------------------------------------------------------------------- */

NTSTATUS NTAPI EtwRegister(LPCGUID Provider, PETWENABLECALLBACK Callback, PVOID Context,
                           PREGHANDLE Handle)
{
    nt_require_irql(nt_current(), "EtwRegister", PASSIVE_LEVEL);
    if (!Provider || !Handle)
        return STATUS_INVALID_PARAMETER;
    *Handle = ++given_by(nt_current())->trace_providers;
    return STATUS_SUCCESS;
}

static NTSTATUS known_provider(REGHANDLE handle)
{
    return handle && handle <= given_by(nt_current())->trace_providers ? STATUS_SUCCESS
                                                                       : STATUS_INVALID_HANDLE;
}

NTSTATUS NTAPI EtwUnregister(REGHANDLE Handle)
{
    nt_require_irql(nt_current(), "EtwUnregister", PASSIVE_LEVEL);
    return known_provider(Handle);
}

NTSTATUS NTAPI EtwSetInformation(REGHANDLE Handle, ULONG Class, PVOID Information, ULONG Length)
{
    return known_provider(Handle);
}

NTSTATUS NTAPI EtwWrite(REGHANDLE Handle, PCEVENT_DESCRIPTOR Event, LPCGUID Activity, ULONG Count,
                        PEVENT_DATA_DESCRIPTOR Data)
{
    return known_provider(Handle);
}

NTSTATUS NTAPI EtwWriteEx(REGHANDLE Handle, PCEVENT_DESCRIPTOR Event, ULONG64 Filter, ULONG Flags,
                          LPCGUID Activity, LPCGUID Related, ULONG Count,
                          PEVENT_DATA_DESCRIPTOR Data)
{
    return known_provider(Handle);
}

NTSTATUS NTAPI EtwWriteTransfer(REGHANDLE Handle, PCEVENT_DESCRIPTOR Event, LPCGUID Activity,
                                LPCGUID Related, ULONG Count, PEVENT_DATA_DESCRIPTOR Data)
{
    return known_provider(Handle);
}

NTSTATUS NTAPI EtwWriteString(REGHANDLE Handle, UCHAR Level, ULONGLONG Keyword, LPCGUID Activity,
                              PCWSTR String)
{
    return known_provider(Handle);
}

BOOLEAN NTAPI EtwEventEnabled(REGHANDLE Handle, PCEVENT_DESCRIPTOR Event)
{
    return FALSE;
}

BOOLEAN NTAPI EtwProviderEnabled(REGHANDLE Handle, UCHAR Level, ULONGLONG Keyword)
{
    return FALSE;
}

#define EVENT_ACTIVITY_CTRL_GET_ID        1u
#define EVENT_ACTIVITY_CTRL_CREATE_ID     3u
#define EVENT_ACTIVITY_CTRL_CREATE_SET_ID 5u

NTSTATUS NTAPI EtwActivityIdControl(ULONG Code, GUID *Activity)
{
    if (!Code || Code > EVENT_ACTIVITY_CTRL_CREATE_SET_ID || !Activity)
        return STATUS_INVALID_PARAMETER;
    if (Code == EVENT_ACTIVITY_CTRL_CREATE_ID || Code == EVENT_ACTIVITY_CTRL_CREATE_SET_ID)
        return create_uuid(Activity);
    if (Code == EVENT_ACTIVITY_CTRL_GET_ID)
        memset(Activity, 0, sizeof *Activity);
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI WmiTraceMessage(ULONG64 Logger, ULONG Flags, LPCGUID Message, USHORT Number, ...)
{
    return STATUS_SUCCESS;
}

static NTSTATUS NTAPI trace_message_list(ULONG64 logger, ULONG flags, LPCGUID message,
                                         USHORT number, void *arguments)
{
    return STATUS_SUCCESS;
}

NTSTATUS NTAPI WmiQueryTraceInformation(TRACE_INFORMATION_CLASS Class, PVOID Information,
                                        ULONG Length, PULONG Required, PVOID Buffer)
{
    if (Required)
        *Required = 0;
    return STATUS_NOT_FOUND; /* there is no logger to tell of */
}

static NTSTATUS NTAPI register_classic_provider(LPCGUID provider, ULONG type, PVOID callback,
                                                PVOID context, PREGHANDLE handle)
{
    return EtwRegister(provider, NULL, context, handle);
}

NTSTATUS NTAPI IoWMIRegistrationControl(PDEVICE_OBJECT Device, ULONG Action)
{
    nt_require_irql(nt_current(), "IoWMIRegistrationControl", PASSIVE_LEVEL);
    return STATUS_SUCCESS;
}

static const struct nt_export services[] = {
    NT_SERVICE(RtlGetVersion),
    NT_SERVICE(RtlIsNtDdiVersionAvailable),
    NT_SERVICE(PsGetVersion),
    NT_SERVICE(MmGetSystemRoutineAddress),
    NT_SERVICE(ExGetPreviousMode),
    NT_SERVICE(KeQueryActiveGroupCount),
    NT_SERVICE(KeQueryMaximumGroupCount),
    NT_SERVICE(KeQueryHighestNodeNumber),
    NT_SERVICE(SeSinglePrivilegeCheck),
    NT_SERVICE(ExUuidCreate),
    NT_SERVICE(RtlRandom),
    NT_SERVICE(RtlRandomEx),
    NT_SERVICE(RtlComputeCrc32),
    NT_SERVICE(RtlCompareMemory),
    NT_SERVICE(KeBugCheck),
    NT_SERVICE(DbgBreakPoint),
    NT_SERVICE(KeRegisterBugCheckReasonCallback),
    NT_SERVICE(KeDeregisterBugCheckReasonCallback),
    NT_SERVICE(EtwRegister),
    NT_SERVICE(EtwUnregister),
    NT_SERVICE(EtwSetInformation),
    NT_SERVICE(EtwWrite),
    NT_SERVICE(EtwWriteEx),
    NT_SERVICE(EtwWriteTransfer),
    NT_SERVICE(EtwWriteString),
    NT_SERVICE(EtwEventEnabled),
    NT_SERVICE(EtwProviderEnabled),
    NT_SERVICE(EtwActivityIdControl),
    NT_SERVICE(WmiTraceMessage),
    {"WmiTraceMessageVa", (const void *)trace_message_list, NT_EXPORT_SERVICE, NULL},
    {"EtwRegisterClassicProvider", (const void *)register_classic_provider, NT_EXPORT_SERVICE,
     NULL},
    NT_SERVICE(WmiQueryTraceInformation),
    NT_SERVICE(IoWMIRegistrationControl),
    {0},
};

const struct nt_area nt_system_area = {.exports = services, .state_bytes = sizeof(struct given)};
