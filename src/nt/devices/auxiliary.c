/*
 * The Auxiliary Kernel-Mode Library. On Windows a driver links it in; here it is a part of the
 * kernel.
 *
 * The modules that are loaded are the driver's image, or none where the driver is linked in: the
 * kernel itself has no image that could be looked at. There are no tables of firmware. A bug check
 * ends the run, and no callback of it is called, so that nobody has data of one to ask for.
 */
#include "nt/nt_private.h"

#include "base/bits.h"
#include "image/image.h"

#include <aux_klib.h>
#include <ntimage.h>

#include <stdio.h>
#include <string.h>

#define DRIVER_FOLDER "\\SystemRoot\\System32\\drivers\\"

struct auxiliary {
    bool is_initialized;
};

/* Each function of the library but one is called behind AuxKlibInitialize(). */
static bool may_call(const char *service)
{
    struct nt *nt = nt_current();
    const struct auxiliary *state = NT_STATE(nt, auxiliary);

    if (!state->is_initialized)
        nt_misuse(nt, "%s is called before AuxKlibInitialize", service);
    return state->is_initialized;
}

NTSTATUS NTAPI AuxKlibInitialize(VOID)
{
    struct nt *nt = nt_current();
    struct auxiliary *state = NT_STATE(nt, auxiliary);

    nt_require_irql(nt, "AuxKlibInitialize", PASSIVE_LEVEL);
    state->is_initialized = true;
    return STATUS_SUCCESS;
}

/* ---- Modules --------------------------------------------------------------------------------- */

static void describe_image(const struct nt *nt, AUX_MODULE_EXTENDED_INFO *info)
{
    const char *slash = strrchr(nt->image_name, '/');
    const char *name = slash ? slash + 1 : nt->image_name;

    memset(info, 0, sizeof *info);
    info->BasicInfo.ImageBase = (PVOID)(uintptr_t)image_base(nt->image);
    info->ImageSize = (ULONG)image_size(nt->image);
    info->FileNameOffset = sizeof DRIVER_FOLDER - 1;
    snprintf((char *)info->FullPathName, sizeof info->FullPathName, "%s%s", DRIVER_FOLDER, name);
}

NTSTATUS NTAPI AuxKlibQueryModuleInformation(PULONG BufferSize, ULONG ElementSize, PVOID QueryInfo)
{
    struct nt *nt = nt_current();
    AUX_MODULE_EXTENDED_INFO info;
    ULONG offered, needed;

    nt_require_irql(nt, "AuxKlibQueryModuleInformation", PASSIVE_LEVEL);
    if (!may_call("AuxKlibQueryModuleInformation"))
        return STATUS_UNSUCCESSFUL;
    if (!BufferSize || (ElementSize != sizeof(AUX_MODULE_BASIC_INFO) &&
                        ElementSize != sizeof(AUX_MODULE_EXTENDED_INFO)))
        return STATUS_INVALID_PARAMETER;
    offered = *BufferSize;
    *BufferSize = needed = nt->image ? ElementSize : 0;
    if (!QueryInfo || !needed)
        return STATUS_SUCCESS;
    if (offered < needed)
        return STATUS_BUFFER_TOO_SMALL;
    describe_image(nt, &info);
    memcpy(QueryInfo, &info, ElementSize);
    return STATUS_SUCCESS;
}

/* The driver may have written to its own headers: they are believed no further than it reaches. */
PIMAGE_EXPORT_DIRECTORY NTAPI AuxKlibGetImageExportDirectory(PVOID ImageBase)
{
    const IMAGE_DOS_HEADER *dos = ImageBase;
    const IMAGE_DATA_DIRECTORY *directory;
    const IMAGE_NT_HEADERS64 *headers;
    struct nt *nt = nt_current();
    uint64_t size;

    if (!may_call("AuxKlibGetImageExportDirectory"))
        return NULL;
    if (!nt->image || (uintptr_t)ImageBase != image_base(nt->image)) {
        nt_misuse(nt,
                  "AuxKlibGetImageExportDirectory is given %p, which "
                  "AuxKlibQueryModuleInformation has not told",
                  ImageBase);
        return NULL;
    }
    size = image_size(nt->image);
    if (dos->e_lfanew < 0 || (uint64_t)dos->e_lfanew + sizeof *headers > size)
        return NULL;
    headers = (const IMAGE_NT_HEADERS64 *)((const char *)ImageBase + dos->e_lfanew);
    directory = &headers->OptionalHeader.DataDirectory[IMAGE_DIRECTORY_ENTRY_EXPORT];
    if (!directory->VirtualAddress ||
        (uint64_t)directory->VirtualAddress + sizeof(IMAGE_EXPORT_DIRECTORY) > size)
        return NULL;
    return (PIMAGE_EXPORT_DIRECTORY)((char *)ImageBase + directory->VirtualAddress);
}

/* ---- Bug checks, tables of firmware ---------------------------------------------------------- */

NTSTATUS NTAPI AuxKlibGetBugCheckData(PKBUGCHECK_DATA BugCheckData)
{
    if (!may_call("AuxKlibGetBugCheckData"))
        return STATUS_UNSUCCESSFUL;
    if (!BugCheckData || BugCheckData->BugCheckDataSize != sizeof *BugCheckData)
        return STATUS_INFO_LENGTH_MISMATCH;
    nt_misuse(nt_current(),
              "AuxKlibGetBugCheckData is called, and there is no bug check: a BugCheckCallback "
              "routine alone may call it");
    memset(BugCheckData, 0, sizeof *BugCheckData);
    BugCheckData->BugCheckDataSize = sizeof *BugCheckData;
    return STATUS_SUCCESS;
}

/* 'ACPI', 'FIRM', 'RSMB', as their compiler makes numbers of such words. */
static bool is_provider(ULONG signature)
{
    return signature == 0x41435049 || signature == 0x4649524d || signature == 0x52534d42;
}

static NTSTATUS ask_firmware(const char *service, ULONG provider, PULONG length, NTSTATUS found)
{
    nt_require_irql(nt_current(), service, PASSIVE_LEVEL);
    if (!may_call(service))
        return STATUS_UNSUCCESSFUL;
    if (!is_provider(provider))
        return STATUS_INVALID_PARAMETER;
    if (length)
        *length = 0;
    return found;
}

NTSTATUS NTAPI AuxKlibEnumerateSystemFirmwareTables(ULONG FirmwareTableProviderSignature,
                                                    PVOID FirmwareTableBuffer, ULONG BufferLength,
                                                    PULONG ReturnLength)
{
    UNREFERENCED_PARAMETER(FirmwareTableBuffer);
    UNREFERENCED_PARAMETER(BufferLength);
    return ask_firmware("AuxKlibEnumerateSystemFirmwareTables", FirmwareTableProviderSignature,
                        ReturnLength, STATUS_SUCCESS);
}

NTSTATUS NTAPI AuxKlibGetSystemFirmwareTable(ULONG FirmwareTableProviderSignature,
                                             ULONG FirmwareTableID, PVOID FirmwareTableBuffer,
                                             ULONG BufferLength, PULONG ReturnLength)
{
    UNREFERENCED_PARAMETER(FirmwareTableID);
    UNREFERENCED_PARAMETER(FirmwareTableBuffer);
    UNREFERENCED_PARAMETER(BufferLength);
    return ask_firmware("AuxKlibGetSystemFirmwareTable", FirmwareTableProviderSignature,
                        ReturnLength, STATUS_NOT_FOUND);
}

/* ---- The services ---------------------------------------------------------------------------- */

static const struct nt_export services[] = {
    NT_SERVICE(AuxKlibInitialize),
    NT_SERVICE(AuxKlibQueryModuleInformation),
    NT_SERVICE(AuxKlibGetImageExportDirectory),
    NT_SERVICE(AuxKlibGetBugCheckData),
    NT_SERVICE(AuxKlibEnumerateSystemFirmwareTables),
    NT_SERVICE(AuxKlibGetSystemFirmwareTable),
    {0},
};

const struct nt_area nt_auxiliary_area = {.exports = services,
                                          .state_bytes = sizeof(struct auxiliary)};
