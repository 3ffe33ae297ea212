/*
 * softcopy with a thread that does its work, for tests/images/threads.sh.
 *
 * softcopy is compiled with DxgkInitialize renamed, so that its table comes here first. Where it
 * asks for a DPC, a thread of the driver's wakes, copies and reports what is complete; the DPC
 * tells the rest. THREADS_MISTAKE is what it does wrong: 1 never ends the thread; 2 waits for its
 * end and does not tell it; 3 waits in DxgkDdiSubmitCommand; 4 writes through NULL on the thread; 5
 * keeps a timer; 6 stops the machine on the thread.
 */
#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#ifndef THREADS_MISTAKE
#define THREADS_MISTAKE 0
#endif

#undef DxgkInitialize
NTSTATUS NTAPI DxgkInitialize(PDRIVER_OBJECT DriverObject, PUNICODE_STRING RegistryPath,
                              PDRIVER_INITIALIZATION_DATA DriverInitializationData);

static struct {
    DRIVER_INITIALIZATION_DATA inner;
    DXGKRNL_INTERFACE dxgkrnl;
    PVOID device;
    PKTHREAD thread;
    KEVENT work;
    KTIMER timer;
    BOOLEAN is_stopping;
    volatile LONG *volatile nothing;
} driver;

/*
 * What softcopy's DPC does, for which it must be at DISPATCH_LEVEL; a while after it was asked for.
 */
static VOID NTAPI worker(PVOID context)
{
    LARGE_INTEGER time;
    KIRQL irql;

    time.QuadPart = -20;
    for (;;) {
        KeWaitForSingleObject(&driver.work, Executive, KernelMode, FALSE, NULL);
        if (driver.is_stopping)
            break;
#if THREADS_MISTAKE == 4
        *driver.nothing = 1;
#elif THREADS_MISTAKE == 6
        KeBugCheckEx(0xdead, 1, 2, 3, 4);
#endif
        KeDelayExecutionThread(KernelMode, FALSE, &time);
        KeRaiseIrql(DISPATCH_LEVEL, &irql);
        driver.inner.DxgkDdiDpcRoutine(driver.device);
        KeLowerIrql(irql);
    }
    PsTerminateSystemThread(STATUS_SUCCESS);
}

static BOOLEAN APIENTRY wake_worker(HANDLE device)
{
    return KeSetEvent(&driver.work, IO_NO_INCREMENT, FALSE) == 0;
}

/* softcopy's, on the thread: what is complete is told by the DPC. */
static VOID APIENTRY ask_for_dpc(IN_CONST_HANDLE adapter)
{
    driver.dxgkrnl.DxgkCbQueueDpc(driver.dxgkrnl.DeviceHandle);
}

static VOID APIENTRY dpc_routine(IN_CONST_PVOID context)
{
    driver.dxgkrnl.DxgkCbNotifyDpc(driver.dxgkrnl.DeviceHandle);
}

static NTSTATUS start_thread(void)
{
    HANDLE handle;
    NTSTATUS status;

    driver.is_stopping = FALSE;
    KeInitializeEvent(&driver.work, SynchronizationEvent, FALSE);
    status = PsCreateSystemThread(&handle, THREAD_ALL_ACCESS, NULL, NULL, NULL, worker, NULL);
    if (!NT_SUCCESS(status))
        return status;
    status = ObReferenceObjectByHandle(handle, THREAD_ALL_ACCESS, *PsThreadType, KernelMode,
                                       (PVOID *)&driver.thread, NULL);
    ZwClose(handle);
    return status;
}

static void stop_thread(void)
{
#if THREADS_MISTAKE != 1
    driver.is_stopping = TRUE;
#if THREADS_MISTAKE != 2
    KeSetEvent(&driver.work, IO_NO_INCREMENT, FALSE);
#endif
    KeWaitForSingleObject(driver.thread, Executive, KernelMode, FALSE, NULL);
#endif
    ObDereferenceObject(driver.thread);
}

static NTSTATUS APIENTRY start_device(IN_CONST_PVOID context, IN_PDXGK_START_INFO start,
                                      IN_PDXGKRNL_INTERFACE dxgkrnl, OUT_PULONG sources,
                                      OUT_PULONG children)
{
    DXGKRNL_INTERFACE changed;
    NTSTATUS status;

    RtlZeroMemory(&changed, sizeof changed);
    RtlCopyMemory(&changed, dxgkrnl,
                  dxgkrnl->Size < sizeof changed ? dxgkrnl->Size : sizeof changed);
    driver.dxgkrnl = changed;
    driver.device = (PVOID)(ULONG_PTR)context;
    changed.DxgkCbQueueDpc = wake_worker;
    changed.DxgkCbNotifyDpc = ask_for_dpc;
    status = start_thread();
    if (!NT_SUCCESS(status))
        return status;
#if THREADS_MISTAKE == 5
    KeInitializeTimer(&driver.timer);
    {
        LARGE_INTEGER hour;

        hour.QuadPart = -36000000000;
        KeSetTimer(&driver.timer, hour, NULL);
    }
#endif
    status = driver.inner.DxgkDdiStartDevice(context, start, &changed, sources, children);
    if (!NT_SUCCESS(status))
        stop_thread();
    return status;
}

static NTSTATUS APIENTRY stop_device(IN_CONST_PVOID context)
{
    stop_thread();
    return driver.inner.DxgkDdiStopDevice(context);
}

#if THREADS_MISTAKE == 3
static NTSTATUS APIENTRY submit_command(IN_CONST_HANDLE adapter,
                                        IN_CONST_PDXGKARG_SUBMITCOMMAND args)
{
    LARGE_INTEGER time;

    time.QuadPart = -20;
    KeDelayExecutionThread(KernelMode, FALSE, &time);
    return driver.inner.DxgkDdiSubmitCommand(adapter, args);
}
#endif

NTSTATUS NTAPI ThreadsInitialize(PDRIVER_OBJECT object, PUNICODE_STRING path,
                                 PDRIVER_INITIALIZATION_DATA table)
{
    DRIVER_INITIALIZATION_DATA changed = *table;

    driver.inner = *table;
    changed.DxgkDdiStartDevice = start_device;
    changed.DxgkDdiStopDevice = stop_device;
    changed.DxgkDdiDpcRoutine = dpc_routine;
#if THREADS_MISTAKE == 3
    changed.DxgkDdiSubmitCommand = submit_command;
#endif
    return DxgkInitialize(object, path, &changed);
}
