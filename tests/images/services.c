/*
 * softcopy with a DriverEntry that uses the kernel first, for tests/images/services.sh: what calls
 * back into the image, what lies at addresses that drivers know, and the driver's object.
 *
 * softcopy is compiled with DxgkInitialize renamed, so that its table comes here first. What is not
 * as it is at home stops the machine with bug check 0xbad, whose first parameter is the line.
 * SERVICES_MISTAKE is what the driver does wrong: 1 leaves an entry of a lookaside list; 2 leaves
 * the list; 3 crashes in its own Unload; 4 frees an entry twice; 5 leaves an interrupt connected; 6
 * lets the system complete a request of its own; 7 deletes a device in the middle of a stack; 8
 * calls a service that nobody has; 9 reads a variable that nobody has, 10 in its DriverEntry; 11
 * calls a service that nobody has there.
 */
#define RTL_USE_AVL_TABLES 0
#include <ntddk.h>
#include <dispmprt.h>
#include <aux_klib.h>
#include <ntimage.h>

#ifndef SERVICES_MISTAKE
#define SERVICES_MISTAKE 0
#endif

#undef DxgkInitialize
NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData);

VOID use_intrinsics(VOID); /* intrinsics.c */

#define TAG 'vreS'
#define REQUIRE(condition)                                                                         \
    do {                                                                                           \
        if (!(condition))                                                                          \
            KeBugCheckEx(0xbad, __LINE__, 0, 0, 0);                                                \
    } while (0)

static LOOKASIDE_LIST_EX entries;
static NPAGED_LOOKASIDE_LIST plain;
static ULONG taken, given;
static PDRIVER_UNLOAD graphics_unload;

/* ---- Lookaside lists ---- */

static PVOID allocate_entry(POOL_TYPE type, SIZE_T bytes, ULONG tag, PLOOKASIDE_LIST_EX list)
{
    REQUIRE(list == &entries && bytes == 64);
    taken++;
    return ExAllocatePoolWithTag(type, bytes, tag);
}

static VOID free_entry(PVOID entry, PLOOKASIDE_LIST_EX list)
{
    REQUIRE(list == &entries);
    given++;
    ExFreePool(entry);
}

/* As compilers inlined it before Windows 11 22H2: by the addresses in the list. */
typedef struct _INLINED {
    SLIST_HEADER Head;
    USHORT Depth, MaximumDepth;
    ULONG TotalAllocates, AllocateMisses, TotalFrees, FreeMisses, Type, Tag, Size;
    PVOID (*Allocate)(POOL_TYPE Type, SIZE_T Bytes, ULONG Tag);
    VOID (*Free)(PVOID Entry);
} INLINED;

static void use_lookaside_lists(void)
{
    INLINED *inlined = (INLINED *)&plain;
    PVOID entry, second;

    REQUIRE(NT_SUCCESS(ExInitializeLookasideListEx(&entries, allocate_entry, free_entry,
                                                   NonPagedPoolNx, 0, 64, TAG, 0)));
    entry = ExAllocateFromLookasideListEx(&entries);
    REQUIRE(entry && taken == 1);
    ExFreeToLookasideListEx(&entries, entry);
    REQUIRE(given == taken);
    ExDeleteLookasideListEx(&entries);

    ExInitializeNPagedLookasideList(&plain, NULL, NULL, POOL_NX_ALLOCATION, 48, TAG, 0);
    inlined->TotalAllocates++;
    entry = ExpInterlockedPopEntrySList(&inlined->Head);
    REQUIRE(!entry);
    inlined->AllocateMisses++;
    entry = inlined->Allocate((POOL_TYPE)inlined->Type, inlined->Size, inlined->Tag);
    second = ExAllocateFromNPagedLookasideList(&plain);
    REQUIRE(entry && second && entry != second);
    RtlFillMemory(entry, 48, 1);
    inlined->TotalFrees++;
    inlined->Free(entry);
#if SERVICES_MISTAKE == 4
    ExFreeToNPagedLookasideList(&plain, entry);
#endif
#if SERVICES_MISTAKE != 1
    ExFreeToNPagedLookasideList(&plain, second);
#endif
#if SERVICES_MISTAKE != 2
    ExDeleteNPagedLookasideList(&plain);
#endif
}

/* ---- Tables ---- */

static RTL_GENERIC_COMPARE_RESULTS NTAPI compare(PRTL_GENERIC_TABLE table, PVOID first,
                                                 PVOID second)
{
    ULONG a = *(ULONG *)first, b = *(ULONG *)second;

    REQUIRE(table->TableContext == &taken);
    return a < b ? GenericLessThan : a > b ? GenericGreaterThan : GenericEqual;
}

static PVOID NTAPI allocate_element(PRTL_GENERIC_TABLE table, CLONG bytes)
{
    return ExAllocatePool2(POOL_FLAG_NON_PAGED, bytes, TAG);
}

static VOID NTAPI free_element(PRTL_GENERIC_TABLE table, PVOID memory)
{
    ExFreePoolWithTag(memory, TAG);
}

static void use_tables(void)
{
    RTL_GENERIC_TABLE table;
    ULONG *at, key, expected = 0;

    RtlInitializeGenericTable(&table, compare, allocate_element, free_element, &taken);
    for (key = 0; key < 50; key++) {
        ULONG mixed = key * 37 % 50;

        REQUIRE(RtlInsertElementGenericTable(&table, &mixed, sizeof mixed, NULL));
    }
    for (at = (ULONG *)RtlEnumerateGenericTable(&table, TRUE); at;
         at = (ULONG *)RtlEnumerateGenericTable(&table, FALSE)) {
        REQUIRE(*at == expected);
        expected++;
    }
    REQUIRE(expected == 50);
    while ((at = (ULONG *)RtlGetElementGenericTable(&table, 0)))
        REQUIRE(RtlDeleteElementGenericTable(&table, at));
}

/* ---- Clocks ---- */

static LONGLONG system_time(void)
{
    LARGE_INTEGER time;

    do {
        time.HighPart = SharedUserData->SystemTime.High1Time;
        time.LowPart = SharedUserData->SystemTime.LowPart;
    } while (time.HighPart != SharedUserData->SystemTime.High2Time);
    return time.QuadPart;
}

static void read_clocks(void)
{
    LARGE_INTEGER now;
    LONGLONG begin = system_time(), end = begin + 10 * 10000;

    KeQuerySystemTime(&now);
    REQUIRE(now.QuadPart >= begin && now.QuadPart - begin < 10000);
    while (system_time() < end) /* who polls sees time go on */
        ;
    KeQuerySystemTime(&now);
    REQUIRE(now.QuadPart >= end);
    REQUIRE(SharedUserData->TickCountQuad * (ULONG64)KeQueryTimeIncrement() <=
            KeQueryInterruptTime());
    REQUIRE(SharedUserData->NtMajorVersion == 10 && SharedUserData->ActiveGroupCount == 1);
}

/* ---- The driver's object ---- */

#define DOUBLE_IT CTL_CODE(FILE_DEVICE_UNKNOWN, 0x800, METHOD_BUFFERED, FILE_ANY_ACCESS)

static NTSTATUS NTAPI serve(PDEVICE_OBJECT device, PIRP irp)
{
    REQUIRE(*(ULONG *)device->DeviceExtension == 7);
    *(ULONG *)irp->AssociatedIrp.SystemBuffer *= 2;
    irp->IoStatus.Status = STATUS_SUCCESS;
    irp->IoStatus.Information = sizeof(ULONG);
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return STATUS_SUCCESS;
}

static VOID NTAPI unload(PDRIVER_OBJECT driver)
{
    REQUIRE(!driver->DeviceObject);
#if SERVICES_MISTAKE == 3
    *(volatile ULONG *)NULL = 1;
#endif
    graphics_unload(driver);
}

static void use_a_device(PDRIVER_OBJECT driver)
{
    PDRIVER_DISPATCH before = driver->MajorFunction[IRP_MJ_DEVICE_CONTROL];
    ULONG number = 4;
    IO_STATUS_BLOCK result;
    PDEVICE_OBJECT device;
    PIRP irp;

    REQUIRE(NT_SUCCESS(
        IoCreateDevice(driver, sizeof(ULONG), NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device)));
    REQUIRE(driver->DeviceObject == device);
    *(ULONG *)device->DeviceExtension = 7;
    driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = serve;
    irp = IoBuildDeviceIoControlRequest(DOUBLE_IT, device, &number, sizeof number, &number,
                                        sizeof number, FALSE, NULL, &result);
    REQUIRE(irp && IoCallDriver(device, irp) == STATUS_SUCCESS && number == 8);
    driver->MajorFunction[IRP_MJ_DEVICE_CONTROL] = before;
    IoDeleteDevice(device);
}

/* ---- A stack of devices ---- */

static NTSTATUS NTAPI send_on(PDEVICE_OBJECT device, PIRP irp)
{
    IoCopyCurrentIrpStackLocationToNext(irp);
    return IoCallDriver(*(PDEVICE_OBJECT *)device->DeviceExtension, irp);
}

static NTSTATUS NTAPI keep_request(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    REQUIRE(!device && irp->IoStatus.Status == STATUS_SUCCESS);
    *(ULONG *)context = *(ULONG *)irp->AssociatedIrp.SystemBuffer;
#if SERVICES_MISTAKE == 6
    return STATUS_SUCCESS;
#else
    IoFreeIrp(irp);
    return STATUS_MORE_PROCESSING_REQUIRED;
#endif
}

/* Above the board's device: a request for the PCI function's identity goes down through ours. */
static void use_a_stack(PDRIVER_OBJECT driver, PDEVICE_OBJECT physical)
{
    PDRIVER_DISPATCH before = driver->MajorFunction[IRP_MJ_PNP];
    PDEVICE_OBJECT device, *lower;
    PIO_STACK_LOCATION next;
    ULONG identity = 0, seen = 0;
    PIRP irp;

    REQUIRE(NT_SUCCESS(
        IoCreateDevice(driver, sizeof *lower, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &device)));
    lower = (PDEVICE_OBJECT *)device->DeviceExtension;
    *lower = IoAttachDeviceToDeviceStack(device, physical);
    REQUIRE(*lower == physical && device->StackSize == physical->StackSize + 1);
    REQUIRE(IoGetAttachedDevice(physical) == device);

    driver->MajorFunction[IRP_MJ_PNP] = send_on;
    irp = IoAllocateIrp(device->StackSize, FALSE);
    REQUIRE(irp);
    irp->IoStatus.Status = STATUS_NOT_SUPPORTED;
    irp->AssociatedIrp.SystemBuffer = &identity;
    next = IoGetNextIrpStackLocation(irp);
    next->MajorFunction = IRP_MJ_PNP;
    next->MinorFunction = IRP_MN_READ_CONFIG;
    next->Parameters.ReadWriteConfig.WhichSpace = PCI_WHICHSPACE_CONFIG;
    next->Parameters.ReadWriteConfig.Buffer = &identity;
    next->Parameters.ReadWriteConfig.Length = sizeof identity;
    IoSetCompletionRoutine(irp, keep_request, &seen, TRUE, TRUE, TRUE);
    REQUIRE(IoCallDriver(device, irp) == STATUS_SUCCESS);
    REQUIRE(seen && seen == identity);
    REQUIRE(HalGetBusData(PCIConfiguration, 1, 0, &seen, sizeof seen) == sizeof seen);
    REQUIRE(seen == identity);
    driver->MajorFunction[IRP_MJ_PNP] = before;
#if SERVICES_MISTAKE != 7
    IoDetachDevice(*lower);
#endif
    IoDeleteDevice(device);
}

/* ---- An interrupt ---- */

static BOOLEAN NTAPI not_ours(PKINTERRUPT interrupt, PVOID context)
{
    return FALSE;
}

static BOOLEAN NTAPI look_at_level(PVOID level)
{
    *(KIRQL *)level = KeGetCurrentIrql();
    return TRUE;
}

static void use_an_interrupt(PDEVICE_OBJECT physical)
{
    IO_DISCONNECT_INTERRUPT_PARAMETERS end = {.Version = CONNECT_LINE_BASED};
    IO_CONNECT_INTERRUPT_PARAMETERS parameters = {.Version = CONNECT_LINE_BASED};
    PKINTERRUPT interrupt = NULL;
    KIRQL level = PASSIVE_LEVEL;

    parameters.LineBased.PhysicalDeviceObject = physical;
    parameters.LineBased.InterruptObject = &interrupt;
    parameters.LineBased.ServiceRoutine = not_ours;
    REQUIRE(NT_SUCCESS(IoConnectInterruptEx(&parameters)) && interrupt);
    REQUIRE(KeSynchronizeExecution(interrupt, look_at_level, &level) && level > DISPATCH_LEVEL);
#if SERVICES_MISTAKE != 5
    end.ConnectionContext.InterruptObject = interrupt;
    IoDisconnectInterruptEx(&end);
#endif
}

NTKERNELAPI VOID NTAPI KeWhatNobodyHas(VOID);
extern __declspec(dllimport) ULONG NtWhatNobodyHas[16];

/* Members of a variable, too, are at its import. */
static void use_what_nobody_has(int call, int variable)
{
    if (SERVICES_MISTAKE == call)
        KeWhatNobodyHas();
    if (SERVICES_MISTAKE == variable)
        REQUIRE(*(volatile ULONG *)&NtWhatNobodyHas[9] != 1);
}

/* ---- The image itself ---- */

extern __declspec(dllexport) ULONG ServicesAnswer;
__declspec(dllexport) ULONG ServicesAnswer = 42;

static BOOLEAN is_same(const char *left, const char *right)
{
    while (*left && *left == *right) {
        left++;
        right++;
    }
    return *left == *right;
}

/* The one module that is loaded, and what it exports. */
static void find_myself(PDRIVER_OBJECT driver)
{
    AUX_MODULE_EXTENDED_INFO info;
    AUX_MODULE_BASIC_INFO basic;
    PIMAGE_EXPORT_DIRECTORY exports;
    char *base = driver->DriverStart;
    const ULONG *names, *functions;
    const USHORT *places;
    ULONG bytes = 0, found = 0, i;

    REQUIRE(NT_SUCCESS(AuxKlibInitialize()));
    REQUIRE(NT_SUCCESS(AuxKlibQueryModuleInformation(&bytes, sizeof info, NULL)));
    REQUIRE(bytes == sizeof info);
    bytes--;
    REQUIRE(AuxKlibQueryModuleInformation(&bytes, sizeof info, &info) == STATUS_BUFFER_TOO_SMALL);
    REQUIRE(bytes == sizeof info);
    REQUIRE(NT_SUCCESS(AuxKlibQueryModuleInformation(&bytes, sizeof info, &info)));
    REQUIRE(info.BasicInfo.ImageBase == base && info.ImageSize == driver->DriverSize);
    REQUIRE(info.FileNameOffset && info.FullPathName[info.FileNameOffset - 1] == '\\' &&
            info.FullPathName[info.FileNameOffset] == 's');
    bytes = sizeof basic;
    REQUIRE(NT_SUCCESS(AuxKlibQueryModuleInformation(&bytes, sizeof basic, &basic)));
    REQUIRE(basic.ImageBase == base);
    exports = AuxKlibGetImageExportDirectory(base);
    REQUIRE(exports);
    names = (const ULONG *)(base + exports->AddressOfNames);
    functions = (const ULONG *)(base + exports->AddressOfFunctions);
    places = (const USHORT *)(base + exports->AddressOfNameOrdinals);
    for (i = 0; i < exports->NumberOfNames; i++) {
        if (is_same(base + names[i], "ServicesAnswer"))
            found = *(const ULONG *)(base + functions[places[i]]);
    }
    REQUIRE(found == 42);
}

static PDXGKDDI_ADD_DEVICE softcopy_add_device;
static PDRIVER_OBJECT driver_object;

static NTSTATUS APIENTRY add_device(PDEVICE_OBJECT physical, PVOID *context)
{
    use_an_interrupt(physical);
    use_a_stack(driver_object, physical);
    use_what_nobody_has(8, 9);
    return softcopy_add_device(physical, context);
}

NTSTATUS NTAPI ServicesInitialize(PDRIVER_OBJECT driver, PUNICODE_STRING path,
                                  PDRIVER_INITIALIZATION_DATA table)
{
    IO_REMOVE_LOCK lock;
    NTSTATUS status;

    REQUIRE(driver->Type == 4 && driver->Size == sizeof *driver && !driver->DriverUnload);
    REQUIRE((ULONG_PTR)driver->DriverStart <= (ULONG_PTR)ServicesInitialize &&
            (ULONG_PTR)ServicesInitialize < (ULONG_PTR)driver->DriverStart + driver->DriverSize);
    use_what_nobody_has(11, 10);
    find_myself(driver);
    use_intrinsics();
    use_lookaside_lists();
    use_tables();
    read_clocks();
    use_a_device(driver);
    IoInitializeRemoveLock(&lock, TAG, 0, 0);
    REQUIRE(NT_SUCCESS(IoAcquireRemoveLock(&lock, NULL)));
    IoReleaseRemoveLockAndWait(&lock, NULL);
    driver_object = driver;
    softcopy_add_device = table->DxgkDdiAddDevice;
    table->DxgkDdiAddDevice = add_device;
    status = DxgkInitialize(driver, path, table);
    graphics_unload = driver->DriverUnload;
    REQUIRE(graphics_unload && driver->DriverExtension->AddDevice);
    driver->DriverUnload = unload;
    return status;
}
