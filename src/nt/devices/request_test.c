/* Requests that a driver allocates, stacks of devices, completion and cancel routines. */
#include "nt/rig/test_threads.h"

#include <string.h>
#include <wdm.h>

static struct {
    PDEVICE_OBJECT upper, lower;
    PDEVICE_OBJECT completed; /* the argument of the last completion routine */
    unsigned completions, cancels;
    NTSTATUS of_completion, of_lower;
    BOOLEAN was_pending;
    PIRP pending;
} stack;

static NTSTATUS NTAPI complete(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    assert_ptr_equal(context, &stack);
    stack.completed = device;
    stack.completions++;
    stack.was_pending = irp->PendingReturned;
    if (stack.of_completion == STATUS_MORE_PROCESSING_REQUIRED && !device)
        IoFreeIrp(irp);
    return stack.of_completion;
}

static VOID NTAPI cancel(PDEVICE_OBJECT device, PIRP irp)
{
    assert_ptr_equal(device, stack.lower);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    IoReleaseCancelSpinLock(irp->CancelIrql);
    stack.cancels++;
    irp->IoStatus.Status = STATUS_CANCELLED;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
}

/* The upper device sends on; the lower completes, or leaves it pending. */
static NTSTATUS NTAPI serve(PDEVICE_OBJECT device, PIRP irp)
{
    assert_ptr_equal(IoGetCurrentIrpStackLocation(irp)->DeviceObject, device);
    if (device == stack.upper) {
        IoCopyCurrentIrpStackLocationToNext(irp);
        if (stack.of_completion != STATUS_MORE_PROCESSING_REQUIRED)
            IoSetCompletionRoutine(irp, complete, &stack, TRUE, TRUE, TRUE);
        return IoCallDriver(stack.lower, irp);
    }
    if (stack.of_lower == STATUS_PENDING) {
        IoMarkIrpPending(irp);
        IoSetCancelRoutine(irp, cancel);
        stack.pending = irp;
        return STATUS_PENDING;
    }
    irp->IoStatus.Status = stack.of_lower;
    IoCompleteRequest(irp, IO_NO_INCREMENT);
    return stack.of_lower;
}

/* Two devices of the driver's, one above the other. */
static void build(void)
{
    PDRIVER_OBJECT driver = nt_make_driver_object(test.nt, NULL);

    memset(&stack, 0, sizeof stack);
    assert_int_equal(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &stack.lower),
                     STATUS_SUCCESS);
    assert_int_equal(IoCreateDevice(driver, 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &stack.upper),
                     STATUS_SUCCESS);
    assert_ptr_equal(IoAttachDeviceToDeviceStack(stack.upper, stack.lower), stack.lower);
    driver->MajorFunction[IRP_MJ_PNP] = serve;
}

static void take_down(void)
{
    IoDetachDevice(stack.lower);
    IoDeleteDevice(stack.upper);
    IoDeleteDevice(stack.lower);
    assert_int_equal(nt_pool_live_blocks(test.nt), 0);
}

static PIRP allocate(CCHAR stack_size)
{
    PIRP irp = IoAllocateIrp(stack_size, FALSE);

    assert_non_null(irp);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_PNP;
    return irp;
}

static void a_request_goes_down_a_stack_and_up_through_the_routines(void **state)
{
    IO_STATUS_BLOCK result;
    KEVENT event;
    PIRP irp;

    build();
    KeInitializeEvent(&event, NotificationEvent, FALSE);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, stack.upper, NULL, 0, NULL, &event, &result);
    assert_int_equal(irp->StackCount, 2);
    assert_int_equal(IoCallDriver(stack.upper, irp), STATUS_SUCCESS);
    assert_int_equal(stack.completions, 1);
    assert_ptr_equal(stack.completed, stack.upper);
    assert_int_equal(KeReadStateEvent(&event), 1);

    /* Pending: the caller hears when the lower driver is done. */
    stack.of_lower = STATUS_PENDING;
    KeClearEvent(&event);
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, stack.upper, NULL, 0, NULL, &event, &result);
    assert_int_equal(IoCallDriver(stack.upper, irp), STATUS_PENDING);
    assert_int_equal(KeReadStateEvent(&event), 0);
    stack.pending->IoStatus.Status = STATUS_UNSUCCESSFUL;
    IoSetCancelRoutine(stack.pending, NULL);
    IoCompleteRequest(stack.pending, IO_NO_INCREMENT);
    assert_int_equal(stack.completions, 2);
    assert_true(stack.was_pending);
    assert_int_equal(result.Status, STATUS_UNSUCCESSFUL);
    assert_int_equal(KeReadStateEvent(&event), 1);
    take_down();
    assert_no_misuse();
}

static void a_driver_frees_what_it_has_allocated(void **state)
{
    PIRP irp;

    build();
    stack.of_completion = STATUS_MORE_PROCESSING_REQUIRED;
    irp = allocate(2);
    IoSetCompletionRoutine(irp, complete, &stack, TRUE, TRUE, TRUE);
    assert_int_equal(IoCallDriver(stack.upper, irp), STATUS_SUCCESS);
    assert_int_equal(stack.completions, 1);
    assert_null(stack.completed); /* the allocator has no location of its own */
    IoFreeIrp(irp);
    assert_misuse("IoFreeIrp: there is no such request");

    /* Only for errors: the routine is not called, and nobody frees the request. */
    irp = allocate(2);
    IoSetCompletionRoutineEx(stack.upper, irp, complete, &stack, FALSE, TRUE, FALSE);
    assert_int_equal(IoCallDriver(stack.upper, irp), STATUS_SUCCESS);
    assert_int_equal(stack.completions, 1);
    assert_misuse("a request that the driver has allocated is completed to its end");
    take_down();
}

static void a_request_that_is_kept_is_used_again(void **state)
{
    PIRP irp;

    build();
    stack.of_completion = STATUS_SUCCESS;
    irp = allocate(3);
    assert_true(IoForwardIrpSynchronously(stack.upper, irp) == TRUE);
    assert_int_equal(irp->CurrentLocation, 4); /* the caller has it, as at first */
    assert_int_equal(stack.completions, 1);
    IoReuseIrp(irp, STATUS_NOT_SUPPORTED);
    assert_int_equal(irp->IoStatus.Status, STATUS_NOT_SUPPORTED);
    IoGetNextIrpStackLocation(irp)->MajorFunction = IRP_MJ_PNP;
    assert_true(IoForwardIrpSynchronously(stack.upper, irp));
    assert_int_equal(stack.completions, 2);
    IoFreeIrp(irp);
    take_down();
    assert_no_misuse();
}

/* Behind it the request is as IoAllocateIrp() makes them: without the buffer of a write. */
static void a_buffer_ends_when_its_request_is_used_again(void **state)
{
    ULONG data = 7;
    PIRP irp;

    build();
    stack.upper->Flags |= DO_BUFFERED_IO;
    irp = IoBuildAsynchronousFsdRequest(IRP_MJ_WRITE, stack.upper, &data, sizeof data, NULL, NULL);
    assert_int_equal(*(ULONG *)irp->AssociatedIrp.SystemBuffer, 7);
    IoReuseIrp(irp, STATUS_SUCCESS);
    assert_null(irp->AssociatedIrp.SystemBuffer);
    IoFreeIrp(irp);
    take_down();
    assert_no_misuse();
}

static void a_request_has_no_more_locations_than_it_was_given(void **state)
{
    PIRP irp;

    build();
    stack.of_lower = STATUS_PENDING;
    irp = allocate(1);
    assert_int_equal(IoCallDriver(stack.lower, irp), STATUS_PENDING);
    assert_stops_with(0x35, (uintptr_t)irp, IoCallDriver(stack.upper, irp));
}

static void a_request_that_was_not_sent_is_not_completed(void **state)
{
    PIRP irp;

    build();
    irp = allocate(1);
    assert_stops_with(0x44, (uintptr_t)irp, IoCompleteRequest(irp, IO_NO_INCREMENT));
}

static void a_pending_request_is_cancelled(void **state)
{
    IO_STATUS_BLOCK result;
    KIRQL irql;
    PIRP irp;

    build();
    stack.of_lower = STATUS_PENDING;
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, stack.upper, NULL, 0, NULL, NULL, &result);
    assert_false(IoCancelIrp(irp)); /* nobody has it, but the bit is set */
    assert_true(irp->Cancel);
    assert_int_equal(IoCallDriver(stack.upper, irp), STATUS_PENDING);
    assert_true(IoCancelIrp(irp));
    assert_int_equal(stack.cancels, 1);
    assert_int_equal(stack.completions, 1);
    assert_int_equal(result.Status, STATUS_CANCELLED);
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    IoAcquireCancelSpinLock(&irql);
    assert_int_equal(KeGetCurrentIrql(), DISPATCH_LEVEL);
    IoReleaseCancelSpinLock(irql);
    assert_no_misuse();
    take_down();
}

static VOID NTAPI keep_the_lock(PDEVICE_OBJECT device, PIRP irp)
{
    stack.cancels++;
}

static void a_cancel_routine_releases_the_lock(void **state)
{
    PIRP irp;

    build();
    stack.of_lower = STATUS_PENDING;
    irp = allocate(1);
    assert_int_equal(IoCallDriver(stack.lower, irp), STATUS_PENDING);
    IoSetCancelRoutine(irp, keep_the_lock);
    assert_true(IoCancelIrp(irp));
    assert_misuse("a cancel routine returns without IoReleaseCancelSpinLock");
    assert_int_equal(KeGetCurrentIrql(), PASSIVE_LEVEL);
    assert_false(IoCancelIrp(irp)); /* the lock is free, and the routine is not called again */
    assert_int_equal(stack.cancels, 1);
    IoFreeIrp(irp);
    take_down();
}

static NTSTATUS NTAPI end_and_go_on(PDEVICE_OBJECT device, PIRP irp, PVOID context)
{
    IoFreeIrp(irp);
    return STATUS_SUCCESS;
}

static void a_completion_routine_that_frees_keeps_the_request(void **state)
{
    PIRP irp;

    build();
    irp = allocate(1);
    IoSetCompletionRoutine(irp, end_and_go_on, NULL, TRUE, TRUE, TRUE);
    assert_int_equal(IoCallDriver(stack.lower, irp), STATUS_SUCCESS);
    assert_misuse("a completion routine has ended its request");
    irp = IoBuildSynchronousFsdRequest(IRP_MJ_PNP, stack.lower, NULL, 0, NULL, NULL, NULL);
    IoFreeIrp(irp);
    assert_misuse("IoFreeIrp: the request was not allocated with IoAllocateIrp");
    assert_int_equal(IoCallDriver(stack.lower, irp), STATUS_SUCCESS);
    take_down();
}

static void stacks_are_built_from_below(void **state)
{
    PDEVICE_OBJECT third, lower;
    PFILE_OBJECT file;
    PDEVICE_OBJECT top;
    UNICODE_STRING name = U("\\Device\\DxgKrnl"), nobody = U("\\Device\\X");

    build();
    assert_int_equal(
        IoCreateDevice(nt_driver_object(test.nt), 0, NULL, FILE_DEVICE_UNKNOWN, 0, FALSE, &third),
        STATUS_SUCCESS);
    assert_int_equal(IoAttachDeviceToDeviceStackSafe(third, stack.lower, &lower), STATUS_SUCCESS);
    assert_ptr_equal(lower, stack.upper);
    assert_int_equal(third->StackSize, 3);
    assert_ptr_equal(IoGetAttachedDevice(stack.lower), third);
    assert_null(IoAttachDeviceToDeviceStack(third, stack.lower));
    assert_misuse("IoAttachDeviceToDeviceStack: the device is in a stack already");
    IoDetachDevice(stack.upper);
    assert_ptr_equal(IoGetAttachedDevice(stack.lower), stack.upper);
    IoDetachDevice(stack.upper);
    assert_misuse("IoDetachDevice: no device is attached to this one");

    /* By name, and whoever opens that name gets the top. */
    assert_int_equal(IoAttachDevice(third, &nobody, &lower), STATUS_OBJECT_NAME_NOT_FOUND);
    assert_int_equal(IoAttachDevice(third, &name, &lower), STATUS_SUCCESS);
    assert_int_equal(IoGetDeviceObjectPointer(&name, 0, &file, &top), STATUS_SUCCESS);
    assert_ptr_equal(top, third);
    assert_ptr_equal(IoGetRelatedDeviceObject(file), third);
    ObDereferenceObject(file);
    IoDeleteDevice(third);
    assert_misuse("IoDeleteDevice: the device lies above another");
    IoDeleteDevice(stack.lower);
    assert_misuse("IoDeleteDevice: a device that was attached lies above this one");
    IoDeleteDevice(stack.upper);
    assert_no_misuse();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        THREADS_TEST(a_request_goes_down_a_stack_and_up_through_the_routines),
        THREADS_TEST(a_driver_frees_what_it_has_allocated),
        THREADS_TEST(a_request_that_is_kept_is_used_again),
        THREADS_TEST(a_buffer_ends_when_its_request_is_used_again),
        THREADS_TEST(a_request_has_no_more_locations_than_it_was_given),
        THREADS_TEST(a_request_that_was_not_sent_is_not_completed),
        THREADS_TEST(a_pending_request_is_cancelled),
        THREADS_TEST(a_cancel_routine_releases_the_lock),
        THREADS_TEST(a_completion_routine_that_frees_keeps_the_request),
        THREADS_TEST(stacks_are_built_from_below),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
