/*
 * Interrupts that the driver connects itself, beside the one that the graphics kernel has
 * connected for it (bench/board/host.h).
 *
 * A connection has one interrupt object for the line, or one for each message of the device. All of
 * a connection share a spin lock, the driver's or their own. The board interrupts at
 * NT_DEVICE_IRQL, and a routine runs at that level or at the higher one that its driver asked for.
 * Routines of PASSIVE_LEVEL are for devices that are not on the bus: there are none.
 */
#include "nt/nt_private.h"
#include "nt/threads/spin_lock.h"

#include "machine/machine_pci.h"

#include <wdm.h>

/* One connection: what IoConnectInterruptEx() makes. Memory of the system. */
struct connection {
    struct list link;
    const void *routine;
    void *context;
    PKSPIN_LOCK lock;
    KSPIN_LOCK own_lock;
    KIRQL irql;
    ULONG count; /* of messages, and of interrupt objects; 1 where it is by line */
    size_t bytes;
    IO_INTERRUPT_MESSAGE_INFO *table; /* behind the objects; NULL: by line */
    struct _KINTERRUPT {
        struct connection *connection;
        ULONG message;
    } objects[];
};

/* The state of the area: of struct connection. */
static struct list *connections(const struct nt *nt)
{
    return NT_STATE(nt, interrupt);
}

/* What a driver asks for, whichever way it does. */
struct wish {
    const void *routine;
    PVOID context;
    PKSPIN_LOCK lock;
    KIRQL irql;
    ULONG first, count; /* messages */
    bool has_table;
};

/* What IoDisconnectInterruptEx() is told; by line also where the vector was specified. */
static ULONG version_of(const struct connection *connection)
{
    return connection->table ? CONNECT_MESSAGE_BASED : CONNECT_LINE_BASED;
}

static ULONG message_count(const struct nt *nt)
{
    return nt->machine ? machine_pci(nt->machine)->message_count : 0;
}

static void describe_messages(const struct nt *nt, struct connection *connection)
{
    IO_INTERRUPT_MESSAGE_INFO *table = connection->table;

    table->UnifiedIrql = connection->irql;
    table->MessageCount = connection->count;
    for (ULONG i = 0; i < connection->count; i++)
        table->MessageInfo[i] = (IO_INTERRUPT_MESSAGE_INFO_ENTRY){
            .MessageAddress.QuadPart = 0xfee00000, /* the local APIC of the one processor */
            .TargetProcessorSet = 1,
            .InterruptObject = &connection->objects[i],
            .MessageData = NT_FIRST_VECTOR + i,
            .Vector = NT_FIRST_VECTOR + i,
            .Irql = NT_DEVICE_IRQL,
            .Mode = Latched,
            .Polarity = InterruptRisingEdge,
        };
}

static NTSTATUS connect(struct nt *nt, const struct wish *wish, struct connection **out)
{
    const size_t objects = sizeof(struct connection) + wish->count * sizeof(struct _KINTERRUPT);
    const size_t bytes = objects + sizeof(IO_INTERRUPT_MESSAGE_INFO) +
                         wish->count * sizeof(IO_INTERRUPT_MESSAGE_INFO_ENTRY);
    struct connection *connection;

    *out = NULL;
    if (!wish->routine)
        return STATUS_INVALID_PARAMETER;
    connection = base_alloc(nt->services, bytes);
    if (!connection || !nt_driver_function(nt, wish->routine)) {
        base_free(nt->services, connection, bytes);
        return STATUS_INSUFFICIENT_RESOURCES;
    }
    connection->routine = wish->routine;
    connection->context = wish->context;
    connection->lock = wish->lock ? wish->lock : &connection->own_lock;
    connection->irql = wish->irql > NT_DEVICE_IRQL ? wish->irql : NT_DEVICE_IRQL;
    connection->count = wish->count;
    connection->bytes = bytes;
    for (ULONG i = 0; i < wish->count; i++)
        connection->objects[i] = (struct _KINTERRUPT){connection, wish->first + i};
    if (wish->has_table) {
        connection->table = (void *)((char *)connection + objects);
        describe_messages(nt, connection);
    }
    list_push_back(connections(nt), &connection->link);
    *out = connection;
    return STATUS_SUCCESS;
}

/* ---- Three ways to ask ----------------------------------------------------------------------- */

static NTSTATUS connect_line(struct nt *nt, const IO_CONNECT_INTERRUPT_LINE_BASED_PARAMETERS *line)
{
    const struct wish wish = {(const void *)line->ServiceRoutine, line->ServiceContext,
                              line->SpinLock, line->SynchronizeIrql, .count = 1};
    struct connection *connection;
    NTSTATUS status;

    if (message_count(nt) > 1)
        return STATUS_INVALID_DEVICE_REQUEST;
    status = connect(nt, &wish, &connection);
    if (NT_SUCCESS(status))
        *line->InterruptObject = connection->objects;
    return status;
}

/* Without messages, by the line, for the routine that the driver has for that case. */
static NTSTATUS connect_messages(struct nt *nt, IO_CONNECT_INTERRUPT_PARAMETERS *parameters)
{
    IO_CONNECT_INTERRUPT_MESSAGE_BASED_PARAMETERS *messages = &parameters->MessageBased;
    const bool is_by_line = !message_count(nt);
    const struct wish wish = {is_by_line ? (const void *)messages->FallBackServiceRoutine
                                         : (const void *)messages->MessageServiceRoutine,
                              messages->ServiceContext,
                              messages->SpinLock,
                              messages->SynchronizeIrql,
                              .count = is_by_line ? 1 : message_count(nt),
                              .has_table = !is_by_line};
    struct connection *connection;
    NTSTATUS status;

    if (is_by_line && !messages->FallBackServiceRoutine)
        return STATUS_NOT_FOUND; /* the device has no interrupts of the kind */
    status = connect(nt, &wish, &connection);
    if (!NT_SUCCESS(status))
        return status;
    parameters->Version = version_of(connection);
    *messages->ConnectionContext.Generic =
        is_by_line ? (PVOID)connection->objects : (PVOID)connection->table;
    return status;
}

static NTSTATUS connect_vector(struct nt *nt,
                               const IO_CONNECT_INTERRUPT_FULLY_SPECIFIED_PARAMETERS *vector)
{
    const struct wish wish = {(const void *)vector->ServiceRoutine,
                              vector->ServiceContext,
                              vector->SpinLock,
                              vector->SynchronizeIrql,
                              .first = vector->Vector - NT_FIRST_VECTOR,
                              .count = 1};
    struct connection *connection;
    NTSTATUS status;

    if (!vector->ProcessorEnableMask)
        return STATUS_INVALID_PARAMETER_10;
    if (vector->Vector < NT_FIRST_VECTOR ||
        vector->Vector - NT_FIRST_VECTOR >= (message_count(nt) ? message_count(nt) : 1))
        return STATUS_NOT_FOUND;
    if (vector->Irql != NT_DEVICE_IRQL || vector->SynchronizeIrql < vector->Irql)
        return STATUS_INVALID_PARAMETER;
    status = connect(nt, &wish, &connection);
    if (NT_SUCCESS(status))
        *vector->InterruptObject = connection->objects;
    return status;
}

NTSTATUS NTAPI IoConnectInterruptEx(PIO_CONNECT_INTERRUPT_PARAMETERS Parameters)
{
    struct nt *nt = nt_current();

    nt_require_irql(nt, "IoConnectInterruptEx", PASSIVE_LEVEL);
    if (Parameters->Version < CONNECT_FULLY_SPECIFIED ||
        Parameters->Version > CONNECT_FULLY_SPECIFIED_GROUP)
        return STATUS_INVALID_PARAMETER_1;
    if (!Parameters->LineBased.PhysicalDeviceObject) /* the first member of all three */
        return STATUS_INVALID_PARAMETER;
    if (Parameters->LineBased.PhysicalDeviceObject != nt_physical_device(nt))
        return STATUS_NOT_FOUND;
    switch (Parameters->Version) {
    case CONNECT_LINE_BASED:
        return connect_line(nt, &Parameters->LineBased);
    case CONNECT_MESSAGE_BASED:
        return connect_messages(nt, Parameters);
    default:
        return connect_vector(nt, &Parameters->FullySpecified);
    }
}

NTSTATUS NTAPI IoConnectInterrupt(PKINTERRUPT *InterruptObject, PKSERVICE_ROUTINE ServiceRoutine,
                                  PVOID ServiceContext, PKSPIN_LOCK SpinLock, ULONG Vector,
                                  KIRQL Irql, KIRQL SynchronizeIrql, KINTERRUPT_MODE InterruptMode,
                                  BOOLEAN ShareVector, KAFFINITY ProcessorEnableMask,
                                  BOOLEAN FloatingSave)
{
    struct nt *nt = nt_current();
    const IO_CONNECT_INTERRUPT_FULLY_SPECIFIED_PARAMETERS vector = {
        .PhysicalDeviceObject = nt_physical_device(nt),
        .InterruptObject = InterruptObject,
        .ServiceRoutine = ServiceRoutine,
        .ServiceContext = ServiceContext,
        .SpinLock = SpinLock,
        .SynchronizeIrql = SynchronizeIrql,
        .Vector = Vector,
        .Irql = Irql,
        .ProcessorEnableMask = ProcessorEnableMask,
    };
    NTSTATUS status;

    nt_require_irql(nt, "IoConnectInterrupt", PASSIVE_LEVEL);
    *InterruptObject = NULL;
    status = connect_vector(nt, &vector);
    return status == STATUS_SUCCESS || status == STATUS_INSUFFICIENT_RESOURCES
               ? status
               : STATUS_INVALID_PARAMETER;
}

/* ---- The end --------------------------------------------------------------------------------- */

/* By an object, or by the table of the messages; NULL, and a misuse. */
static struct connection *connection_of(struct nt *nt, const char *service, const void *pointer)
{
    struct connection *connection;

    list_for_each (connection, connections(nt), struct connection, link) {
        if (connection->table && pointer == connection->table)
            return connection;
        for (ULONG i = 0; i < connection->count; i++) {
            if (pointer == &connection->objects[i])
                return connection;
        }
    }
    nt_misuse(nt, "%s: no interrupt is connected by that name (any more)", service);
    return NULL;
}

static void disconnect(struct nt *nt, struct connection *connection)
{
    list_remove(&connection->link);
    base_free(nt->services, connection, connection->bytes);
}

/*
 * The connection that the service may end. NULL, and a misuse: there is none, or the level is one
 * at which a routine of the connection may run now.
 */
static struct connection *ending(struct nt *nt, const char *service, const void *pointer)
{
    struct connection *connection = connection_of(nt, service, pointer);

    nt_require_irql(nt, service, PASSIVE_LEVEL);
    return KeGetCurrentIrql() > PASSIVE_LEVEL ? NULL : connection;
}

VOID NTAPI IoDisconnectInterruptEx(PIO_DISCONNECT_INTERRUPT_PARAMETERS Parameters)
{
    struct nt *nt = nt_current();
    struct connection *connection =
        ending(nt, "IoDisconnectInterruptEx", Parameters->ConnectionContext.Generic);

    if (!connection)
        return;
    if ((Parameters->Version == CONNECT_MESSAGE_BASED) !=
        (version_of(connection) == CONNECT_MESSAGE_BASED))
        nt_misuse(nt,
                  "IoDisconnectInterruptEx: Version is %u; it is the one that "
                  "IoConnectInterruptEx returned, %u",
                  (unsigned)Parameters->Version, (unsigned)version_of(connection));
    disconnect(nt, connection);
}

VOID NTAPI IoDisconnectInterrupt(PKINTERRUPT InterruptObject)
{
    struct nt *nt = nt_current();
    struct connection *connection = ending(nt, "IoDisconnectInterrupt", InterruptObject);

    if (connection)
        disconnect(nt, connection);
}

/* ---- The routines ---------------------------------------------------------------------------- */

static bool run_routine(struct nt *nt, struct connection *connection, uint32_t message)
{
    const void *routine = nt_driver_function(nt, connection->routine);
    PKINTERRUPT object = &connection->objects[message - connection->objects[0].message];
    PKSPIN_LOCK lock = connection->lock;
    KIRQL irql = nt_set_irql(nt, connection->irql);
    BOOLEAN is_its_own;

    nt_spin_lock_acquire(nt, lock);
    is_its_own = connection->table
                     ? ((PKMESSAGE_SERVICE_ROUTINE)routine)(object, connection->context, message)
                     : ((PKSERVICE_ROUTINE)routine)(object, connection->context);
    nt_spin_lock_release(nt, lock);
    nt_set_irql(nt, irql);
    return is_its_own != FALSE;
}

bool nt_interrupt(struct nt *nt, uint32_t message)
{
    struct connection *connection;

    list_for_each (connection, connections(nt), struct connection, link) {
        const ULONG first = connection->objects[0].message;

        if (message >= first && message - first < connection->count &&
            run_routine(nt, connection, message))
            return true;
    }
    return false;
}

/* A level that an interrupt of this connection waits for; told above it. */
static KIRQL raise_to(struct nt *nt, const char *service, const struct connection *connection)
{
    nt_require_irql(nt, service, connection->irql);
    return nt_set_irql(nt, nt->irql > connection->irql ? nt->irql : connection->irql);
}

BOOLEAN NTAPI KeSynchronizeExecution(PKINTERRUPT Interrupt,
                                     PKSYNCHRONIZE_ROUTINE SynchronizeRoutine,
                                     PVOID SynchronizeContext)
{
    struct nt *nt = nt_current();
    struct connection *connection = connection_of(nt, "KeSynchronizeExecution", Interrupt);
    PKSYNCHRONIZE_ROUTINE routine =
        (PKSYNCHRONIZE_ROUTINE)nt_driver_function(nt, (const void *)SynchronizeRoutine);
    BOOLEAN result;
    KIRQL irql;

    if (!connection || !routine)
        return FALSE;
    irql = raise_to(nt, "KeSynchronizeExecution", connection);
    nt_spin_lock_acquire(nt, connection->lock);
    result = routine(SynchronizeContext);
    nt_spin_lock_release(nt, connection->lock);
    nt_set_irql(nt, irql);
    return result;
}

KIRQL NTAPI KeAcquireInterruptSpinLock(PKINTERRUPT Interrupt)
{
    struct nt *nt = nt_current();
    struct connection *connection = connection_of(nt, "KeAcquireInterruptSpinLock", Interrupt);
    KIRQL irql = nt->irql;

    if (!connection)
        return irql;
    irql = raise_to(nt, "KeAcquireInterruptSpinLock", connection);
    nt_spin_lock_acquire(nt, connection->lock);
    return irql;
}

VOID NTAPI KeReleaseInterruptSpinLock(PKINTERRUPT Interrupt, KIRQL OldIrql)
{
    struct nt *nt = nt_current();
    struct connection *connection = connection_of(nt, "KeReleaseInterruptSpinLock", Interrupt);

    if (!connection)
        return;
    nt_spin_lock_release(nt, connection->lock);
    nt_set_irql(nt, OldIrql);
}

/* ---- The area -------------------------------------------------------------------------------- */

static void init(struct nt *nt)
{
    list_init(connections(nt));
}

static void fini(struct nt *nt)
{
    while (!list_is_empty(connections(nt)))
        disconnect(nt, container_of(list_first(connections(nt)), struct connection, link));
}

static void left(struct nt *nt, nt_leftover *tell, void *context)
{
    struct connection *connection;

    list_for_each (connection, connections(nt), struct connection, link)
        tell(context, "an interrupt that the driver connected has not been disconnected");
}

/* A spin lock of the driver's that an interrupt still acquires. */
static void freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    struct connection *connection;

    list_for_each (connection, connections(nt), struct connection, link) {
        if ((uintptr_t)connection->lock - (uintptr_t)memory < bytes)
            nt_misuse(nt, "memory is freed that holds the spin lock of a connected interrupt");
    }
}

static const struct nt_export services[] = {
    NT_SERVICE(IoConnectInterrupt),         NT_SERVICE(IoConnectInterruptEx),
    NT_SERVICE(IoDisconnectInterrupt),      NT_SERVICE(IoDisconnectInterruptEx),
    NT_SERVICE(KeSynchronizeExecution),     NT_SERVICE(KeAcquireInterruptSpinLock),
    NT_SERVICE(KeReleaseInterruptSpinLock), {0},
};

const struct nt_area nt_interrupt_area = {
    .exports = services,
    .state_bytes = sizeof(struct list),
    .init = init,
    .fini = fini,
    .left = left,
    .freed = freed,
};
