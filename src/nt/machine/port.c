#include "nt/machine/port.h"

#include "base/bits.h"
#include "nt/nt_private.h"

#include <inttypes.h>
#include <stdio.h>
#include <wdm.h>

#define PORT_COUNT 0x10000u

struct port_space {
    uint32_t value[PORT_COUNT];
    uint64_t has_value[PORT_COUNT / 64];
};

/* The state of the area. */
struct ports {
    struct port_space *space; /* NULL: nothing was written */
};

static struct port_space *space_to_write(struct nt *nt)
{
    struct ports *ports = NT_STATE(nt, port);

    if (!ports->space)
        ports->space = base_alloc(nt->services, sizeof *ports->space);
    return ports->space;
}

static void tell_in_vain(struct nt *nt, uint16_t port)
{
    char word[32];

    if (!nt->host.in_vain)
        return;
    snprintf(word, sizeof word, "port:0x%" PRIx16 "=NUMBER", port);
    nt->host.in_vain(nt->host.context, word);
}

uint32_t nt_read_port(struct nt *nt, uint16_t port, unsigned bytes)
{
    const struct port_space *space = ((struct ports *)NT_STATE(nt, port))->space;
    uint32_t value = UINT32_MAX;

    if (space && space->has_value[port / 64] >> port % 64 & 1)
        value = space->value[port];
    else
        tell_in_vain(nt, port);
    return value & UINT32_MAX >> (32 - 8 * bytes);
}

void nt_write_port(struct nt *nt, uint16_t port, unsigned bytes, uint32_t value)
{
    struct port_space *space = space_to_write(nt);

    if (!space)
        return;
    space->value[port] = value & UINT32_MAX >> (32 - 8 * bytes);
    space->has_value[port / 64] |= UINT64_C(1) << port % 64;
}

NTSTATUS nt_set_port(struct nt *nt, uint16_t port, uint32_t value)
{
    if (!space_to_write(nt))
        return STATUS_NO_MEMORY;
    nt_write_port(nt, port, sizeof value, value);
    return STATUS_SUCCESS;
}

static void fini(struct nt *nt)
{
    struct ports *ports = NT_STATE(nt, port);

    if (ports->space)
        base_free(nt->services, ports->space, sizeof *ports->space);
}

/* ---- Services -------------------------------------------------------------------------------- */

#define PORT_FUNCTIONS(suffix, type)                                                               \
    type NTAPI READ_PORT_##suffix(type *Port)                                                      \
    {                                                                                              \
        return (type)nt_read_port(nt_current(), (uint16_t)(ULONG_PTR)Port, sizeof *Port);          \
    }                                                                                              \
    VOID NTAPI WRITE_PORT_##suffix(type *Port, type Value)                                         \
    {                                                                                              \
        nt_write_port(nt_current(), (uint16_t)(ULONG_PTR)Port, sizeof *Port, Value);               \
    }                                                                                              \
    VOID NTAPI READ_PORT_BUFFER_##suffix(type *Port, type *Buffer, ULONG Count)                    \
    {                                                                                              \
        for (ULONG i = 0; i < Count; i++)                                                          \
            Buffer[i] = READ_PORT_##suffix(Port);                                                  \
    }                                                                                              \
    VOID NTAPI WRITE_PORT_BUFFER_##suffix(type *Port, type *Buffer, ULONG Count)                   \
    {                                                                                              \
        for (ULONG i = 0; i < Count; i++)                                                          \
            WRITE_PORT_##suffix(Port, Buffer[i]);                                                  \
    }

PORT_FUNCTIONS(UCHAR, UCHAR)
PORT_FUNCTIONS(USHORT, USHORT)
PORT_FUNCTIONS(ULONG, ULONG)

static const struct nt_export services[] = {
    NT_SERVICE(READ_PORT_UCHAR),
    NT_SERVICE(READ_PORT_USHORT),
    NT_SERVICE(READ_PORT_ULONG),
    NT_SERVICE(WRITE_PORT_UCHAR),
    NT_SERVICE(WRITE_PORT_USHORT),
    NT_SERVICE(WRITE_PORT_ULONG),
    NT_SERVICE(READ_PORT_BUFFER_UCHAR),
    NT_SERVICE(READ_PORT_BUFFER_USHORT),
    NT_SERVICE(READ_PORT_BUFFER_ULONG),
    NT_SERVICE(WRITE_PORT_BUFFER_UCHAR),
    NT_SERVICE(WRITE_PORT_BUFFER_USHORT),
    NT_SERVICE(WRITE_PORT_BUFFER_ULONG),
    {0},
};

const struct nt_area nt_port_area = {
    .exports = services, .state_bytes = sizeof(struct ports), .fini = fini};
