#define _GNU_SOURCE /* memfd_create() */
#include "machine.h"

#include <miniport/raw.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE_BYTES 4096u

/* ---- The kernel, as far as this driver imports it ----------------------------------------------
 */

NTSTATUS NTAPI DriverEntry(DRIVER_OBJECT *DriverObject, UNICODE_STRING *RegistryPath);

static DRIVER_INITIALIZATION_DATA driver_table;

NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA table)
{
    (void)DriverObject;
    (void)RegistryPath;
    driver_table = *table;
    return STATUS_SUCCESS;
}

PVOID NTAPI ExAllocatePool2(POOL_FLAGS Flags, SIZE_T bytes, ULONG Tag)
{
    (void)Flags;
    (void)Tag;
    return calloc(1, bytes);
}

VOID NTAPI ExFreePoolWithTag(PVOID memory, ULONG Tag)
{
    (void)Tag;
    free(memory);
}

/* One thread at a time is in the driver: nobody is waited for. */
VOID NTAPI KeInitializeSpinLock(PKSPIN_LOCK lock)
{
    *lock = 0;
}

VOID NTAPI KeAcquireSpinLockAtDpcLevel(PKSPIN_LOCK lock)
{
    *lock = 1;
}

VOID NTAPI KeReleaseSpinLockFromDpcLevel(PKSPIN_LOCK lock)
{
    *lock = 0;
}

/* ---- Memory ------------------------------------------------------------------------------------
 */

unsigned char *machine_at(struct machine *machine, uint64_t address)
{
    if (address >= MACHINE_BOARD && address - MACHINE_BOARD < MACHINE_BOARD_BYTES)
        return machine->board + (address - MACHINE_BOARD);
    return address < (uint64_t)MACHINE_PAGES * PAGE_BYTES ? machine->ram_view + address : NULL;
}

static NTSTATUS take_contiguous(void *context, uint64_t count, uint64_t *out_first_page)
{
    struct machine *machine = context;
    uint64_t run = 0;

    for (uint64_t page = 1; page < MACHINE_PAGES; page++) {
        run = machine->is_taken[page] ? 0 : run + 1;
        if (run < count)
            continue;
        *out_first_page = page + 1 - count;
        memset(machine->is_taken + *out_first_page, 1, count);
        memset(machine->ram_view + *out_first_page * PAGE_BYTES, 0, count * PAGE_BYTES);
        return STATUS_SUCCESS;
    }
    return STATUS_NO_MEMORY;
}

static void release_contiguous(void *context, uint64_t count, uint64_t first_page)
{
    struct machine *machine = context;

    memset(machine->is_taken + first_page, 0, count);
}

static void release_pages(void *context, uint64_t count, const uint64_t *pages)
{
    for (uint64_t i = 0; i < count; i++)
        release_contiguous(context, 1, pages[i]);
}

static NTSTATUS take_pages(void *context, uint64_t count, uint64_t *out_pages)
{
    for (uint64_t i = 0; i < count; i++) {
        if (take_contiguous(context, 1, &out_pages[i]) != STATUS_SUCCESS) {
            release_pages(context, i, out_pages); /* all or nothing */
            return STATUS_NO_MEMORY;
        }
    }
    return STATUS_SUCCESS;
}

/* One range that shows pages of any order. */
static void *map_pages(void *context, uint64_t count, const uint64_t *pages)
{
    struct machine *machine = context;
    unsigned char *range =
        mmap(NULL, count * PAGE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    for (uint64_t i = 0; range != MAP_FAILED && i < count; i++) {
        if (mmap(range + i * PAGE_BYTES, PAGE_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_FIXED,
                 machine->ram, (off_t)(pages[i] * PAGE_BYTES)) == MAP_FAILED) {
            munmap(range, count * PAGE_BYTES);
            return NULL;
        }
    }
    return range == MAP_FAILED ? NULL : range;
}

static void unmap_pages(void *context, void *address, uint64_t count)
{
    (void)context;
    munmap(address, count * PAGE_BYTES);
}

static void *map_bus(void *context, uint64_t address, uint64_t bytes)
{
    (void)bytes;
    return machine_at(context, address);
}

static void unmap_bus(void *context, void *address, uint64_t bytes)
{
    (void)context;
    (void)address;
    (void)bytes;
}

struct vidmm_platform machine_platform(struct machine *machine)
{
    struct vidmm_platform platform;

    memset(&platform, 0, sizeof platform);
    platform.context = machine;
    platform.services = base_services_libc();
    platform.take_pages = take_pages;
    platform.release_pages = release_pages;
    platform.take_contiguous = take_contiguous;
    platform.release_contiguous = release_contiguous;
    platform.map_pages = map_pages;
    platform.unmap_pages = unmap_pages;
    platform.map_bus = map_bus;
    platform.unmap_bus = unmap_bus;
    return platform;
}

/* ---- Callbacks of the driver -------------------------------------------------------------------
 */

static struct machine *machine_of(struct miniport_host *host)
{
    return (struct machine *)host;
}

static NTSTATUS get_device_information(struct miniport_host *host, DXGK_DEVICE_INFO *info)
{
    memset(info, 0, sizeof *info);
    info->TranslatedResourceList = machine_of(host)->resources;
    info->SystemMemorySize.QuadPart = (LONGLONG)MACHINE_PAGES * PAGE_BYTES;
    info->HighestPhysicalAddress.QuadPart = (LONGLONG)(MACHINE_BOARD + MACHINE_BOARD_BYTES) - 1;
    return STATUS_SUCCESS;
}

static NTSTATUS map_memory(struct miniport_host *host, PHYSICAL_ADDRESS translated, ULONG length,
                           BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                           PVOID *virtual_address)
{
    (void)length;
    (void)in_io_space;
    (void)map_to_user_mode;
    (void)cache_type;
    *virtual_address = machine_at(machine_of(host), (uint64_t)translated.QuadPart);
    return *virtual_address ? STATUS_SUCCESS : STATUS_INVALID_PARAMETER;
}

static NTSTATUS unmap_memory(struct miniport_host *host, PVOID virtual_address)
{
    (void)host;
    (void)virtual_address;
    return STATUS_SUCCESS;
}

/* There is no manager yet while the device is started, and none any more behind it. */
static void notify_interrupt(struct miniport_host *host,
                             const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    if (machine_of(host)->vidmm)
        vidmm_notify_interrupt(machine_of(host)->vidmm, data);
}

static void notify_dpc(struct miniport_host *host)
{
    if (machine_of(host)->vidmm)
        vidmm_notify_dpc(machine_of(host)->vidmm);
}

static bool queue_dpc(struct miniport_host *host)
{
    const bool was_queued = machine_of(host)->is_dpc_queued;

    machine_of(host)->is_dpc_queued = true;
    return !was_queued;
}

static NTSTATUS synchronize_execution(struct miniport_host *host, PKSYNCHRONIZE_ROUTINE routine,
                                      PVOID context, ULONG message, BOOLEAN *return_value)
{
    const BOOLEAN result = routine(context); /* nothing else runs */

    (void)host;
    (void)message;
    if (return_value)
        *return_value = result;
    return STATUS_SUCCESS;
}

static PVOID get_handle_data(struct miniport_host *host, const DXGKARGCB_GETHANDLEDATA *data)
{
    return vidmm_handle_data(machine_of(host)->vidmm, data->hObject);
}

static void note_unsupported(struct miniport_host *host, const char *callback)
{
    (void)host;
    fprintf(stderr, "the driver called %s, which this machine does not have\n", callback);
}

/* ---- The device --------------------------------------------------------------------------------
 */

/* BAR 0 has registers, which this driver does not use; BAR 1 the board's memory. */
static CM_RESOURCE_LIST *describe_resources(void)
{
    CM_RESOURCE_LIST *list = calloc(1, sizeof *list + 2 * sizeof(CM_PARTIAL_RESOURCE_DESCRIPTOR));
    CM_PARTIAL_RESOURCE_DESCRIPTOR *range;

    if (!list)
        return NULL;
    list->Count = 1;
    list->List[0].InterfaceType = PCIBus;
    list->List[0].PartialResourceList.Version = 1;
    list->List[0].PartialResourceList.Revision = 1;
    list->List[0].PartialResourceList.Count = 2;
    range = list->List[0].PartialResourceList.PartialDescriptors;
    range[0].Type = range[1].Type = CmResourceTypeMemory;
    range[0].u.Memory.Start.QuadPart = (LONGLONG)(MACHINE_BOARD - PAGE_BYTES);
    range[0].u.Memory.Length = PAGE_BYTES;
    range[1].u.Memory.Start.QuadPart = (LONGLONG)MACHINE_BOARD;
    range[1].u.Memory.Length = (ULONG)MACHINE_BOARD_BYTES;
    return list;
}

NTSTATUS machine_begin(struct machine *machine)
{
    static struct miniport_host_ops ops;
    static DEVICE_OBJECT device_object; /* the bus's: the driver hands it on */
    DXGK_START_INFO start;
    ULONG sources, children;
    NTSTATUS status;

    memset(machine, 0, sizeof *machine);
    ops = miniport_host_forward_ops; /* this driver calls none of those that stay */
    ops.get_device_information = get_device_information;
    ops.map_memory = map_memory;
    ops.unmap_memory = unmap_memory;
    ops.notify_interrupt = notify_interrupt;
    ops.notify_dpc = notify_dpc;
    ops.queue_dpc = queue_dpc;
    ops.synchronize_execution = synchronize_execution;
    ops.get_handle_data = get_handle_data;
    ops.unsupported = note_unsupported;
    machine->host.ops = &ops;
    machine->ram = memfd_create("ram", MFD_CLOEXEC);
    machine->board = calloc(1, MACHINE_BOARD_BYTES);
    machine->resources = describe_resources();
    if (machine->ram < 0 || ftruncate(machine->ram, (off_t)MACHINE_PAGES * PAGE_BYTES) != 0 ||
        !machine->board || !machine->resources)
        return STATUS_NO_MEMORY;
    machine->ram_view = mmap(NULL, (size_t)MACHINE_PAGES * PAGE_BYTES, PROT_READ | PROT_WRITE,
                             MAP_SHARED, machine->ram, 0);
    if (machine->ram_view == MAP_FAILED)
        return STATUS_NO_MEMORY;
    memset(&start, 0, sizeof start);
    start.RequiredDmaQueueEntry = 64;
    status = DriverEntry(NULL, NULL);
    if (NT_SUCCESS(status))
        status = miniport_raw_create(base_services_libc(), &driver_table, &machine->miniport);
    if (!NT_SUCCESS(status))
        return status;
    miniport_raw_set_device_object(machine->miniport, &device_object);
    miniport_set_host(machine->miniport, &machine->host);
    status = miniport_add_device(machine->miniport);
    if (NT_SUCCESS(status))
        status = miniport_start_device(machine->miniport, &start, &sources, &children);
    return status;
}

void machine_end(struct machine *machine)
{
    miniport_stop_device(machine->miniport);
    miniport_remove_device(machine->miniport);
    miniport_destroy(machine->miniport);
    munmap(machine->ram_view, (size_t)MACHINE_PAGES * PAGE_BYTES);
    close(machine->ram);
    free(machine->board);
    free(machine->resources);
}

void machine_run(struct machine *machine)
{
    while (machine->is_dpc_queued) {
        machine->is_dpc_queued = false;
        miniport_dpc(machine->miniport);
    }
}
