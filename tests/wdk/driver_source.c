/*
 * Driver source as it is written for the WDK: role types, annotations, pool, lists, MDLs,
 * registers, locks. It is compiled for every interface version, as C and as C++, and not run:
 * that it compiles unchanged is the test.
 */
#include <initguid.h>
#include <ntddk.h>
#include <dispmprt.h>
#include <dderror.h>
#include <devioctl.h>
#include <ntifs.h>
#include <specstrings.h>
#include <d3d12umddi.h>
#include <dxgiformat.h>
#include <ntintsafe.h>
#include <ntstrsafe.h>
#include <ntverp.h>
#include <wingdi.h>
#include <TraceLoggingProvider.h>
#include <WppRecorder.h>
#include <aux_klib.h>
#include <dpfilter.h>
#include <driverspecs.h>
#include <kernelspecs.h>
#include <minwindef.h>
#include <no_sal2.h>
#include <ntpoapi.h>
#include <procgrp.h>
#include <suppress.h>
#include <ntimage.h>
#include <specstrings_strict.h>
#include <wdmguid.h>
#include <wdmsec.h>

#include <pshpack4.h>
struct sample_packed {
    UCHAR Byte;
    ULONG64 Word;
};
#include <poppack.h>
C_ASSERT(sizeof(struct sample_packed) == 12);
C_ASSERT(CTL_CODE(FILE_DEVICE_VIDEO, 0xc0f, METHOD_NEITHER, FILE_ANY_ACCESS) == 0x23303f);
C_ASSERT(ERROR_INVALID_PARAMETER == 87);
C_ASSERT(sizeof(IMAGE_DOS_HEADER) == 64 && sizeof(IMAGE_NT_HEADERS64) == 264);
C_ASSERT(sizeof(IMAGE_NT_HEADERS32) == 248 && sizeof(IMAGE_SECTION_HEADER) == 40);
C_ASSERT(sizeof(IMAGE_EXPORT_DIRECTORY) == 40 && sizeof(IMAGE_DEBUG_DIRECTORY) == 28);
C_ASSERT(sizeof(AUX_MODULE_EXTENDED_INFO) == 272 && sizeof(KAPC_STATE) == 48);
C_ASSERT(DPFLTR_IHVDRIVER_ID == 77 && DPFLTR_DEFAULT_ID == 101);
C_ASSERT(sizeof(IO_STACK_LOCATION) == 72);
C_ASSERT(FIELD_OFFSET(IRP, Tail.Overlay.CurrentStackLocation) == 0xb8 && sizeof(IRP) == 0xd0);
C_ASSERT(sizeof(ACPI_EVAL_INPUT_BUFFER_COMPLEX) == 24 && sizeof(ACPI_EVAL_OUTPUT_BUFFER) == 20);
C_ASSERT(DXGI_FORMAT_B8G8R8A8_UNORM == 87 && DXGI_FORMAT_B4G4R4A4_UNORM == 115);

#if defined(_WIN32)
/* At home nothing brings stdint.h along, and LONG is a long. */
typedef unsigned long uint32_t;
extern long sample_long;
extern LONG sample_long;
C_ASSERT(sizeof(sample_long) == 4 && sizeof(uint32_t) == 4);
#endif

/* Most drivers leave the convention out: on Windows x64 there is one. See ntdef.h. */
#ifdef SAMPLE_OMITS_CONVENTION
#undef APIENTRY
#define APIENTRY
#undef NTAPI
#define NTAPI
#endif

#define SAMPLE_TAG 'lpmS'

#ifdef __cplusplus
extern "C" {
#endif

DRIVER_INITIALIZE DriverEntry;

TRACELOGGING_DEFINE_PROVIDER(SampleTraces, "Sample",
                             (0x52aa7d4e, 0x6d1d, 0x4b4c, 0x9b, 0x0e, 0x1f, 0x2e, 0x3d, 0x4c, 0x5b,
                              0x6a));

/* Sizes that do not fit, and text that is cut. */
NTSTATUS SampleSafeHeaders(char *text, WCHAR *wide, SIZE_T length);
NTSTATUS SampleSafeHeaders(char *text, WCHAR *wide, SIZE_T length)
{
    ULONG bytes;
    NTSTATUS status = RtlSizeTToULong(length, &bytes);

    if (NT_SUCCESS(status))
        status = RtlULongMult(bytes, sizeof(WCHAR), &bytes);
    if (NT_SUCCESS(status))
        status = RtlStringCbCopyA(text, bytes, "sample");
    if (NT_SUCCESS(status))
        status = RtlStringCbCatW(wide, bytes, wide);
#ifdef _WIN32
    if (NT_SUCCESS(status))
        status = RtlStringCbPrintfA(text, bytes, "%d", 3);
    if (NT_SUCCESS(status))
        status =
            RtlStringCchPrintfExA(text, bytes, &text, &length, STRSAFE_FILL_BEHIND_NULL, "%d", 3);
    if (NT_SUCCESS(status) && *KdDebuggerEnabled)
        DbgPrintEx(DPFLTR_IHVDRIVER_ID, DPFLTR_ERROR_LEVEL, "%wZ", &SDDL_DEVOBJ_SYS_ALL_ADM_ALL);
#endif
    return status;
}

/* Processes, which some drivers want to hear of. */
static CREATE_PROCESS_NOTIFY_ROUTINE SampleOnProcess;
static VOID NTAPI SampleOnProcess(HANDLE ParentId, HANDLE ProcessId, BOOLEAN Create)
{
    PEPROCESS process;
    KAPC_STATE state;

    if (!Create || !NT_SUCCESS(PsLookupProcessByProcessId(ProcessId, &process)))
        return;
    KeStackAttachProcess(process, &state);
    KeUnstackDetachProcess(&state);
    ObDereferenceObject(process);
}
NTSTATUS SampleHearOfProcesses(BOOLEAN is_over);
NTSTATUS SampleHearOfProcesses(BOOLEAN is_over)
{
    if (NT_SUCCESS(TraceLoggingRegister(SampleTraces)))
        TraceLoggingWrite(SampleTraces, "Processes", TraceLoggingLevel(TRACE_LEVEL_VERBOSE),
                          TraceLoggingBool(is_over, "IsOver"));
    TraceLoggingUnregister(SampleTraces);
    return PsSetCreateProcessNotifyRoutine(SampleOnProcess, is_over);
}

static DXGKDDI_ADD_DEVICE SampleAddDevice;
static DXGKDDI_START_DEVICE SampleStartDevice;
static DXGKDDI_STOP_DEVICE SampleStopDevice;
static DXGKDDI_REMOVE_DEVICE SampleRemoveDevice;
static DXGKDDI_INTERRUPT_ROUTINE SampleInterruptRoutine;
static DXGKDDI_DPC_ROUTINE SampleDpcRoutine;
static DXGKDDI_SET_POWER_STATE SampleSetPowerState;
static DXGKDDI_QUERY_INTERFACE SampleQueryInterface;
static DXGKDDI_QUERYADAPTERINFO SampleQueryAdapterInfo;
static DXGKDDI_CREATEALLOCATION SampleCreateAllocation;
static DXGKDDI_DESTROYALLOCATION SampleDestroyAllocation;
static DXGKDDI_BUILDPAGINGBUFFER SampleBuildPagingBuffer;
static DXGKDDI_SUBMITCOMMAND SampleSubmitCommand;
static DXGKDDI_PREEMPTCOMMAND SamplePreemptCommand;

#ifdef __cplusplus
}
#endif

DEFINE_GUID(GUID_SAMPLE_INTERFACE, 0x3f2504e0, 0x4f89, 0x11d3, 0x9a, 0x0c, 0x03, 0x05, 0xe8, 0x2c,
            0x33, 0x01);

typedef struct _SAMPLE_ADAPTER {
    DXGKRNL_INTERFACE Dxgk;
    DXGK_START_INFO StartInfo;
    DXGK_DEVICE_INFO DeviceInfo;
    PDEVICE_OBJECT PhysicalDeviceObject;
    LIST_ENTRY Allocations;
    KSPIN_LOCK Lock;
    volatile ULONG *Registers;
    ULONG CompletedFence;
} SAMPLE_ADAPTER, *PSAMPLE_ADAPTER;

typedef struct _SAMPLE_ALLOCATION {
    LIST_ENTRY Link;
    SIZE_T Size;
} SAMPLE_ALLOCATION, *PSAMPLE_ALLOCATION;

C_ASSERT(sizeof(ULONG) == 4);
C_ASSERT(sizeof(HANDLE) == 8);

/* What drivers embed has the size of the Windows x64 object. */
C_ASSERT(sizeof(KSPIN_LOCK) == 8);
C_ASSERT(sizeof(KEVENT) == 24);
C_ASSERT(sizeof(KSEMAPHORE) == 32);
C_ASSERT(sizeof(KMUTEX) == 56);
C_ASSERT(sizeof(FAST_MUTEX) == 56);
C_ASSERT(sizeof(KDPC) == 64);
C_ASSERT(sizeof(KTIMER) == 64);
C_ASSERT(sizeof(OBJECT_ATTRIBUTES) == 48);
C_ASSERT(sizeof(INTERFACE) == 32);
C_ASSERT(sizeof(CM_PARTIAL_RESOURCE_DESCRIPTOR) == 20);
C_ASSERT(FIELD_OFFSET(CM_RESOURCE_LIST, List[0].PartialResourceList.PartialDescriptors) == 20);

_Use_decl_annotations_ static NTSTATUS APIENTRY
SampleAddDevice(IN_CONST_PDEVICE_OBJECT PhysicalDeviceObject, OUT_PPVOID MiniportDeviceContext)
{
    PSAMPLE_ADAPTER Adapter;

    PAGED_CODE();
    Adapter = (PSAMPLE_ADAPTER)ExAllocatePoolWithTag(NonPagedPoolNx, sizeof(*Adapter), SAMPLE_TAG);
    if (Adapter == NULL)
        return STATUS_NO_MEMORY;

    RtlZeroMemory(Adapter, sizeof(*Adapter));
    Adapter->PhysicalDeviceObject = PhysicalDeviceObject;
    InitializeListHead(&Adapter->Allocations);
    KeInitializeSpinLock(&Adapter->Lock);
    *MiniportDeviceContext = Adapter;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_ static NTSTATUS APIENTRY
SampleStartDevice(IN_CONST_PVOID MiniportDeviceContext, IN_PDXGK_START_INFO DxgkStartInfo,
                  IN_PDXGKRNL_INTERFACE DxgkInterface, OUT_PULONG NumberOfVideoPresentSources,
                  OUT_PULONG NumberOfChildren)
{
    PSAMPLE_ADAPTER Adapter = (PSAMPLE_ADAPTER)MiniportDeviceContext;
    PHYSICAL_ADDRESS Bar;
    PVOID Mapping = NULL;
    NTSTATUS Status;

    Adapter->StartInfo = *DxgkStartInfo;
    Adapter->Dxgk = *DxgkInterface;
    Status =
        Adapter->Dxgk.DxgkCbGetDeviceInformation(Adapter->Dxgk.DeviceHandle, &Adapter->DeviceInfo);
    if (!NT_SUCCESS(Status))
        return Status;

    Bar.QuadPart = 0x1000;
    Status = Adapter->Dxgk.DxgkCbMapMemory(Adapter->Dxgk.DeviceHandle, Bar, PAGE_SIZE, FALSE, FALSE,
                                           MmNonCached, &Mapping);
    if (!NT_SUCCESS(Status))
        return Status;

    Adapter->Registers = (volatile ULONG *)Mapping;
    WRITE_REGISTER_ULONG(&Adapter->Registers[0], 1);
    DbgPrintEx(DPFLTR_IHVVIDEO_ID, DPFLTR_INFO_LEVEL, "registers at %p\n", Mapping);
    *NumberOfVideoPresentSources = 0;
    *NumberOfChildren = 0;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY SampleStopDevice(_In_ CONST PVOID MiniportDeviceContext)
{
    PSAMPLE_ADAPTER Adapter = (PSAMPLE_ADAPTER)MiniportDeviceContext;

    Adapter->Dxgk.DxgkCbUnmapMemory(Adapter->Dxgk.DeviceHandle, (PVOID)Adapter->Registers);
    NT_ASSERT(IsListEmpty(&Adapter->Allocations));
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY SampleRemoveDevice(_In_ CONST PVOID MiniportDeviceContext)
{
    ExFreePoolWithTag(MiniportDeviceContext, SAMPLE_TAG);
    return STATUS_SUCCESS;
}

static BOOLEAN APIENTRY SampleInterruptRoutine(_In_ CONST PVOID MiniportDeviceContext,
                                               _In_ ULONG MessageNumber)
{
    PSAMPLE_ADAPTER Adapter = (PSAMPLE_ADAPTER)MiniportDeviceContext;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA Notify;

    UNREFERENCED_PARAMETER(MessageNumber);
    RtlZeroMemory(&Notify, sizeof(Notify));
    Notify.InterruptType = DXGK_INTERRUPT_DMA_COMPLETED;
    Notify.DmaCompleted.SubmissionFenceId = READ_REGISTER_ULONG(&Adapter->Registers[1]);
    Adapter->Dxgk.DxgkCbNotifyInterrupt(Adapter->Dxgk.DeviceHandle, &Notify);
    return Adapter->Dxgk.DxgkCbQueueDpc(Adapter->Dxgk.DeviceHandle);
}

static VOID APIENTRY SampleDpcRoutine(_In_ CONST PVOID MiniportDeviceContext)
{
    PSAMPLE_ADAPTER Adapter = (PSAMPLE_ADAPTER)MiniportDeviceContext;

    Adapter->Dxgk.DxgkCbNotifyDpc(Adapter->Dxgk.DeviceHandle);
}

static NTSTATUS APIENTRY SampleQueryInterface(_In_ CONST PVOID MiniportDeviceContext,
                                              _In_ PQUERY_INTERFACE QueryInterface)
{
#ifdef __cplusplus
    if (!IsEqualGUID(*QueryInterface->InterfaceType, GUID_SAMPLE_INTERFACE))
#else
    if (!IsEqualGUID(QueryInterface->InterfaceType, &GUID_SAMPLE_INTERFACE))
#endif
        return STATUS_NOT_SUPPORTED;

    QueryInterface->Interface->Context = MiniportDeviceContext;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY SampleSetPowerState(_In_ CONST PVOID MiniportDeviceContext,
                                             _In_ ULONG DeviceUid,
                                             _In_ DEVICE_POWER_STATE DevicePowerState,
                                             _In_ POWER_ACTION ActionType)
{
    return DevicePowerState == PowerDeviceD0 || ActionType == PowerActionSleep
               ? STATUS_SUCCESS
               : STATUS_NOT_SUPPORTED;
}

static NTSTATUS APIENTRY SampleQueryAdapterInfo(
    _In_ CONST HANDLE hAdapter, _In_ CONST DXGKARG_QUERYADAPTERINFO *pQueryAdapterInfo)
{
    switch (pQueryAdapterInfo->Type) {
    case DXGKQAITYPE_DRIVERCAPS: {
        DXGK_DRIVERCAPS *Caps = (DXGK_DRIVERCAPS *)pQueryAdapterInfo->pOutputData;

        if (pQueryAdapterInfo->OutputDataSize < sizeof(*Caps))
            return STATUS_BUFFER_TOO_SMALL;
        RtlZeroMemory(Caps, sizeof(*Caps));
        Caps->HighestAcceptableAddress.QuadPart = -1;
        Caps->SchedulingCaps.MultiEngineAware = 1;
#if (DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WIN8)
        Caps->PreemptionCaps.GraphicsPreemptionGranularity = D3DKMDT_GRAPHICS_PREEMPTION_NONE;
        Caps->SchedulingCaps.PreemptionAware = 1;
#endif
#if (DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0)
        Caps->MemoryManagementCaps.GpuMmuSupported = 1;
#endif
        return STATUS_SUCCESS;
    }
    case DXGKQAITYPE_QUERYSEGMENT: {
        DXGK_QUERYSEGMENTOUT *Out = (DXGK_QUERYSEGMENTOUT *)pQueryAdapterInfo->pOutputData;

        if (Out->pSegmentDescriptor == NULL) {
            Out->NbSegment = 1;
            return STATUS_SUCCESS;
        }
        Out->pSegmentDescriptor[0].Size = 64 * 1024 * 1024;
        Out->pSegmentDescriptor[0].Flags.CpuVisible = TRUE;
        return STATUS_SUCCESS;
    }
    default:
        return STATUS_NOT_SUPPORTED;
    }
}

static NTSTATUS APIENTRY SampleCreateAllocation(_In_ CONST HANDLE hAdapter,
                                                _Inout_ DXGKARG_CREATEALLOCATION *pCreateAllocation)
{
    PSAMPLE_ADAPTER Adapter = (PSAMPLE_ADAPTER)hAdapter;
    KIRQL OldIrql;
    UINT i;

    for (i = 0; i < pCreateAllocation->NumAllocations; i++) {
        DXGK_ALLOCATIONINFO *Info = &pCreateAllocation->pAllocationInfo[i];
        PSAMPLE_ALLOCATION Allocation = (PSAMPLE_ALLOCATION)ExAllocatePool2(
            POOL_FLAG_NON_PAGED, sizeof(*Allocation), SAMPLE_TAG);

        if (!Allocation)
            return STATUS_NO_MEMORY;
        Allocation->Size = ROUND_TO_PAGES(Info->Size);
        Info->hAllocation = Allocation;
        Info->Size = Allocation->Size;
        Info->PreferredSegment.Value = 0;
        Info->PreferredSegment.SegmentId0 = 1;
        Info->SupportedWriteSegmentSet = 1 << 0;
        Info->Flags.CpuVisible = 1;
        KeAcquireSpinLock(&Adapter->Lock, &OldIrql);
        InsertTailList(&Adapter->Allocations, &Allocation->Link);
        KeReleaseSpinLock(&Adapter->Lock, OldIrql);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY SampleDestroyAllocation(
    _In_ CONST HANDLE hAdapter, _In_ CONST DXGKARG_DESTROYALLOCATION *pDestroyAllocation)
{
    UINT i;

    for (i = 0; i < pDestroyAllocation->NumAllocations; i++) {
        PSAMPLE_ALLOCATION Allocation = (PSAMPLE_ALLOCATION)pDestroyAllocation->pAllocationList[i];

        RemoveEntryList(&Allocation->Link);
        ExFreePoolWithTag(Allocation, SAMPLE_TAG);
    }
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY SampleBuildPagingBuffer(_In_ CONST HANDLE hAdapter,
                                                 _In_ DXGKARG_BUILDPAGINGBUFFER *pBuildPagingBuffer)
{
    UINT64 *Command = (UINT64 *)pBuildPagingBuffer->pDmaBuffer;

    if (pBuildPagingBuffer->DmaSize < 2 * sizeof(*Command))
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;

    switch (pBuildPagingBuffer->Operation) {
    case DXGK_OPERATION_TRANSFER:
        if (pBuildPagingBuffer->Transfer.Source.SegmentId == 0) {
            PMDL Mdl = pBuildPagingBuffer->Transfer.Source.pMdl;
            PPFN_NUMBER Pages = MmGetMdlPfnArray(Mdl);

            NT_ASSERT(MmGetMdlByteCount(Mdl) >= pBuildPagingBuffer->Transfer.TransferSize);
            Command[0] = (UINT64)Pages[pBuildPagingBuffer->Transfer.MdlOffset] << PAGE_SHIFT;
        } else {
            Command[0] = pBuildPagingBuffer->Transfer.Source.SegmentAddress.QuadPart;
        }
        break;
    case DXGK_OPERATION_FILL:
        Command[0] = pBuildPagingBuffer->Fill.FillPattern;
        break;
#if (DXGKDDI_INTERFACE_VERSION >= DXGKDDI_INTERFACE_VERSION_WDDM2_0)
    case DXGK_OPERATION_UPDATE_PAGE_TABLE:
        Command[0] = pBuildPagingBuffer->UpdatePageTable.pPageTableEntries[0].Zero;
        break;
#endif
    default:
        return STATUS_SUCCESS;
    }
    Command[1] = BYTES_TO_PAGES(pBuildPagingBuffer->DmaSize);
    pBuildPagingBuffer->pDmaBuffer = Command + 2;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY SampleSubmitCommand(_In_ CONST HANDLE hAdapter,
                                             _In_ CONST DXGKARG_SUBMITCOMMAND *pSubmitCommand)
{
    PSAMPLE_ADAPTER Adapter = (PSAMPLE_ADAPTER)hAdapter;

    if (!pSubmitCommand->Flags.Paging)
        Adapter->CompletedFence = pSubmitCommand->SubmissionFenceId;
    return STATUS_SUCCESS;
}

static NTSTATUS APIENTRY SamplePreemptCommand(_In_ CONST HANDLE hAdapter,
                                              _In_ CONST DXGKARG_PREEMPTCOMMAND *pPreemptCommand)
{
    PSAMPLE_ADAPTER Adapter = (PSAMPLE_ADAPTER)hAdapter;

    Adapter->CompletedFence = pPreemptCommand->PreemptionFenceId;
    return STATUS_SUCCESS;
}

_Use_decl_annotations_ NTSTATUS NTAPI DriverEntry(PDRIVER_OBJECT DriverObject,
                                                  PUNICODE_STRING RegistryPath)
{
    DRIVER_INITIALIZATION_DATA Data;

    RtlZeroMemory(&Data, sizeof(Data));
    Data.Version = DXGKDDI_INTERFACE_VERSION;
    Data.DxgkDdiAddDevice = SampleAddDevice;
    Data.DxgkDdiStartDevice = SampleStartDevice;
    Data.DxgkDdiStopDevice = SampleStopDevice;
    Data.DxgkDdiRemoveDevice = SampleRemoveDevice;
    Data.DxgkDdiInterruptRoutine = SampleInterruptRoutine;
    Data.DxgkDdiDpcRoutine = SampleDpcRoutine;
    Data.DxgkDdiSetPowerState = SampleSetPowerState;
    Data.DxgkDdiQueryInterface = SampleQueryInterface;
    Data.DxgkDdiQueryAdapterInfo = SampleQueryAdapterInfo;
    Data.DxgkDdiCreateAllocation = SampleCreateAllocation;
    Data.DxgkDdiDestroyAllocation = SampleDestroyAllocation;
    Data.DxgkDdiBuildPagingBuffer = SampleBuildPagingBuffer;
    Data.DxgkDdiSubmitCommand = SampleSubmitCommand;
    Data.DxgkDdiPreemptCommand = SamplePreemptCommand;
    return DxgkInitialize(DriverObject, RegistryPath, &Data);
}
