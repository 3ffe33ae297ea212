/*
 * Host: the graphics kernel that a linked-in driver meets, as far as one adapter goes.
 *
 * Place      bench. Implements DxgkInitialize and DxgkInitializeDisplayOnlyDriver, which hand over
 *            the driver's table, and struct
 *            miniport_host, which is what the driver calls afterwards.
 * Model      A driver's DxgkDdiInterruptRoutine runs when the machine raises its line. A deferred
 *            procedure call that it queues is an event of the machine, some hundred nanoseconds
 *            later (HOST_LATE_DPC_NS where it may be late), how many is the seed's choice; several
 *            requests before it ran are one. While the driver stalls at a raised level, what is not
 *            above it comes later. What the manager does behind DxgkCbNotifyDpc waits until no call
 *            of the driver is under way that waits, and no thread of the driver's own runs.
 *            GetDeviceInformation describes the base addresses and interrupts of the machine's PCI
 *            function, which ReadDeviceSpace and WriteDeviceSpace reach.
 *
 *            The host is connected in two steps, because the manager needs a started device and
 *            the device a host: host_init() with the machine, host_set_manager() when there is one.
 * Ownership  Embedded by the run. Miniport and manager are borrowed.
 */
#ifndef DRYDOCK_BENCH_HOST_H
#define DRYDOCK_BENCH_HOST_H

#include "base/list.h"
#include "base/rng.h"
#include "machine/machine.h"
#include "miniport/miniport.h"
#include "nt/nt.h"
#include "vidmm/vidmm.h"

#define HOST_LATE_DPC_NS 100000u

#define HOST_MOST_LACKED 16

struct display;

struct bench_host {
    struct miniport_host base;
    struct machine *machine;
    struct miniport *miniport; /* top of the stack: what interrupts and DPCs call */
    struct vidmm *vidmm;
    struct nt *nt; /* kernel services of the driver */
    struct rng rng;
    struct machine_event dpc;
    bool is_dpc_queued;
    struct machine_event unmask;    /* of the interrupt, that the driver's level keeps out */
    struct nt_deferred late_notice; /* of DxgkCbNotifyDpc, that came amid a call of the driver */
    struct nt_deferred late_wake;   /* of the manager, amid a call, too */
    uint64_t dpc_delay_ns; /* at most; set behind host_init() where it is not to be usual */
    struct list mappings;  /* of MapMemory */
    CM_RESOURCE_LIST *resources;
    size_t resource_bytes;
    uint64_t dpc_count;
    uint64_t features; /* that are enabled: a bit for each DXGK_FEATURE_ID */
    /* Called once for each callback that the host does not have, when the driver calls it. */
    void (*lacks)(void *context, const char *callback);
    void *lacks_context;
    char lacked[HOST_MOST_LACKED][48]; /* of which it was called */
    unsigned lacked_count;
    void (*log)(void *context, const char *text);
    void *log_context;

    /* Where modes are negotiated; NULL: what the driver asks about them has no answer. */
    struct display *display;
    DXGK_DISPLAY_INFORMATION post; /* the boot display; a width of 0: the device is none */
    bool is_post_taken;            /* the driver has asked for it */
    void *display_context;
    void (*child_changed)(void *context, const DXGK_CHILD_STATUS *status);
    /* What the driver reports where there is no memory manager; each may be NULL. */
    void (*interrupted)(void *context, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data);
    void (*dpc_notified)(void *context);
};

/* The kernel services say at which IRQL the driver runs. STATUS_NO_MEMORY. */
NTSTATUS host_init(struct bench_host *host, struct machine *machine, struct nt *nt);
void host_fini(struct bench_host *host);

/* How many mappings of device memory (DxgkCbMapMemory) the driver has, and of how many bytes. */
uint64_t host_mapping_count(const struct bench_host *host, uint64_t *out_bytes);

/* Connects the interrupt line to the miniport. NULL disconnects. */
void host_set_miniport(struct bench_host *host, struct miniport *miniport);
void host_set_manager(struct bench_host *host, struct vidmm *vidmm);

/* Calls vidmm_wake(), as soon as the driver is not amid a call. */
void host_wake_manager(struct bench_host *host);

/*
 * Runs the driver's interrupt routine for a message, at the device's level; nothing without a
 * miniport. False: the processor is at that level already, and it has to come later.
 */
bool host_interrupt(struct bench_host *host, uint32_t message);

/* DriverEntry returned success without DxgkInitialize(): no value of Windows, by its bit 29. */
#define HOST_STATUS_NOT_REGISTERED ((NTSTATUS)0xE0440001)

/*
 * Runs a linked-in driver's entry point and copies the table that it registers. The driver's
 * status, or HOST_STATUS_NOT_REGISTERED when it succeeded without registering.
 */
NTSTATUS host_load_driver(struct nt *nt, DRIVER_INITIALIZE *entry,
                          DRIVER_INITIALIZATION_DATA *out_data);

/* Why it failed, in words; `data` is what host_load_driver() left. Gives text. */
const char *host_tell_refusal(NTSTATUS status, const DRIVER_INITIALIZATION_DATA *data, char *text,
                              size_t size);

#endif
