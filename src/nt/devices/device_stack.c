/*
 * Stacks of devices. Which device lies below another is the bench's to know: a device object names
 * the one above alone.
 */
#include "nt/devices/device_stack.h"

#include "nt/devices/device.h"
#include "nt/nt_private.h"

#include <wdm/device_stack.h>

struct attachment {
    struct list link;
    PDEVICE_OBJECT lower, upper;
};

/* The state of the area: of struct attachment. */
static struct list *attachments(const struct nt *nt)
{
    return NT_STATE(nt, device_stack);
}

static void destroy(struct nt *nt, struct attachment *attachment)
{
    list_remove(&attachment->link);
    base_free(nt->services, attachment, sizeof *attachment);
}

static void end(struct nt *nt, struct attachment *attachment)
{
    attachment->lower->AttachedDevice = NULL;
    destroy(nt, attachment);
}

/* By either end; NULL: there is none. */
static struct attachment *find(const struct nt *nt, const DEVICE_OBJECT *lower,
                               const DEVICE_OBJECT *upper)
{
    struct attachment *attachment;

    list_for_each (attachment, attachments(nt), struct attachment, link) {
        if (attachment->lower == lower || attachment->upper == upper)
            return attachment;
    }
    return NULL;
}

static NTSTATUS attach(struct nt *nt, const char *service, PDEVICE_OBJECT upper,
                       PDEVICE_OBJECT target, PDEVICE_OBJECT *out_lower)
{
    struct attachment *attachment;

    *out_lower = NULL;
    nt_require_irql(nt, service, DISPATCH_LEVEL);
    if (find(nt, NULL, upper) || nt_device_stack_top(target) == upper) {
        nt_misuse(nt, "%s: the device is in a stack already", service);
        return STATUS_NO_SUCH_DEVICE;
    }
    attachment = base_alloc(nt->services, sizeof *attachment);
    if (!attachment)
        return STATUS_NO_SUCH_DEVICE; /* the one failure that the page names */
    attachment->lower = nt_device_stack_top(target);
    attachment->upper = upper;
    list_push_back(attachments(nt), &attachment->link);
    attachment->lower->AttachedDevice = upper;
    upper->StackSize = (CCHAR)(attachment->lower->StackSize + 1);
    upper->AlignmentRequirement = attachment->lower->AlignmentRequirement;
    *out_lower = attachment->lower;
    return STATUS_SUCCESS;
}

PDEVICE_OBJECT NTAPI IoAttachDeviceToDeviceStack(PDEVICE_OBJECT Source, PDEVICE_OBJECT Target)
{
    PDEVICE_OBJECT lower;

    (void)attach(nt_current(), "IoAttachDeviceToDeviceStack", Source, Target, &lower);
    return lower;
}

NTSTATUS NTAPI IoAttachDeviceToDeviceStackSafe(PDEVICE_OBJECT Source, PDEVICE_OBJECT Target,
                                               PDEVICE_OBJECT *Lower)
{
    return attach(nt_current(), "IoAttachDeviceToDeviceStackSafe", Source, Target, Lower);
}

NTSTATUS NTAPI IoAttachDevice(PDEVICE_OBJECT Source, PUNICODE_STRING Target, PDEVICE_OBJECT *Lower)
{
    struct nt *nt = nt_current();
    PDEVICE_OBJECT target = nt_find_device(nt, Target);

    nt_require_irql(nt, "IoAttachDevice", PASSIVE_LEVEL);
    *Lower = NULL;
    return target ? attach(nt, "IoAttachDevice", Source, target, Lower)
                  : STATUS_OBJECT_NAME_NOT_FOUND;
}

VOID NTAPI IoDetachDevice(PDEVICE_OBJECT Lower)
{
    struct nt *nt = nt_current();
    struct attachment *attachment = find(nt, Lower, NULL);

    nt_require_irql(nt, "IoDetachDevice", PASSIVE_LEVEL);
    if (attachment)
        end(nt, attachment);
    else
        nt_misuse(nt, "IoDetachDevice: no device is attached to this one; the argument is the "
                      "lower device, which IoAttachDeviceToDeviceStack returned");
}

PDEVICE_OBJECT NTAPI IoGetAttachedDevice(PDEVICE_OBJECT Device)
{
    nt_require_irql(nt_current(), "IoGetAttachedDevice", DISPATCH_LEVEL);
    return nt_device_stack_top(Device);
}

static void init(struct nt *nt)
{
    list_init(attachments(nt));
}

/* Devices of the driver are gone with its pool. */
static void fini(struct nt *nt)
{
    struct attachment *attachment, *following;

    list_for_each_safe (attachment, following, attachments(nt), struct attachment, link)
        destroy(nt, attachment);
}

static bool lies_in(const DEVICE_OBJECT *device, const void *memory, uint64_t bytes)
{
    return (uintptr_t)device - (uintptr_t)memory < bytes;
}

/* The memory of devices, which IoDeleteDevice() frees. */
static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct attachment *attachment, *following;

    list_for_each_safe (attachment, following, attachments(nt), struct attachment, link) {
        const bool is_upper = lies_in(attachment->upper, memory, bytes);

        if (!is_upper && !lies_in(attachment->lower, memory, bytes))
            continue;
        nt_misuse(nt, is_upper
                          ? "IoDeleteDevice: the device lies above another: IoDetachDevice first"
                          : "IoDeleteDevice: a device that was attached lies above this one");
        end(nt, attachment);
    }
}

static const struct nt_export services[] = {
    NT_SERVICE(IoAttachDeviceToDeviceStack),
    NT_SERVICE(IoAttachDeviceToDeviceStackSafe),
    NT_SERVICE(IoAttachDevice),
    NT_SERVICE(IoDetachDevice),
    NT_SERVICE(IoGetAttachedDevice),
    {0},
};

const struct nt_area nt_device_stack_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .freed = freed,
};
