/*
 * Ports: the machine has none.
 */
#include "nt/nt_private.h"

#include <wdm.h>

#define PORT_FUNCTIONS(suffix, type)                                                               \
    type NTAPI READ_PORT_##suffix(type *Port)                                                      \
    {                                                                                              \
        nt_report_missing(nt_current(), "READ_PORT_" #suffix " (there is no port space)");         \
        return (type) ~(type)0;                                                                    \
    }                                                                                              \
    VOID NTAPI WRITE_PORT_##suffix(type *Port, type Value)                                         \
    {                                                                                              \
        nt_report_missing(nt_current(), "WRITE_PORT_" #suffix " (there is no port space)");        \
    }

#define PORT_BUFFER_FUNCTIONS(suffix, type)                                                        \
    VOID NTAPI READ_PORT_BUFFER_##suffix(type *Port, type *Buffer, ULONG Count)                    \
    {                                                                                              \
        nt_report_missing(nt_current(), "READ_PORT_BUFFER_" #suffix " (there is no port space)");  \
        for (ULONG i = 0; i < Count; i++)                                                          \
            Buffer[i] = (type) ~(type)0;                                                           \
    }                                                                                              \
    VOID NTAPI WRITE_PORT_BUFFER_##suffix(type *Port, type *Buffer, ULONG Count)                   \
    {                                                                                              \
        nt_report_missing(nt_current(), "WRITE_PORT_BUFFER_" #suffix " (there is no port space)"); \
    }

PORT_BUFFER_FUNCTIONS(UCHAR, UCHAR)
PORT_BUFFER_FUNCTIONS(USHORT, USHORT)
PORT_BUFFER_FUNCTIONS(ULONG, ULONG)
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

const struct nt_area nt_port_area = {.exports = services};
