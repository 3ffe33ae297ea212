/* Registers of the device, by the functions that drivers access them with. */
#include "nt/nt_private.h"

#define REGISTER_FUNCTIONS(suffix, type)                                                           \
    type NTAPI READ_REGISTER_##suffix(volatile type *Register)                                     \
    {                                                                                              \
        return (type)machine_read_register(nt_current()->machine, Register, sizeof *Register);     \
    }                                                                                              \
    VOID NTAPI WRITE_REGISTER_##suffix(volatile type *Register, type Value)                        \
    {                                                                                              \
        machine_write_register(nt_current()->machine, Register, sizeof *Register, Value);          \
    }                                                                                              \
    VOID NTAPI READ_REGISTER_BUFFER_##suffix(volatile type *Register, type *Buffer, ULONG Count)   \
    {                                                                                              \
        for (ULONG i = 0; i < Count; i++)                                                          \
            Buffer[i] = READ_REGISTER_##suffix(Register + i);                                      \
    }                                                                                              \
    VOID NTAPI WRITE_REGISTER_BUFFER_##suffix(volatile type *Register, type *Buffer, ULONG Count)  \
    {                                                                                              \
        for (ULONG i = 0; i < Count; i++)                                                          \
            WRITE_REGISTER_##suffix(Register + i, Buffer[i]);                                      \
    }

REGISTER_FUNCTIONS(UCHAR, UCHAR)
REGISTER_FUNCTIONS(USHORT, USHORT)
REGISTER_FUNCTIONS(ULONG, ULONG)
REGISTER_FUNCTIONS(ULONG64, ULONG64)

static const struct nt_export services[] = {
    NT_SERVICE(READ_REGISTER_UCHAR),
    NT_SERVICE(READ_REGISTER_USHORT),
    NT_SERVICE(READ_REGISTER_ULONG),
    NT_SERVICE(READ_REGISTER_ULONG64),
    NT_SERVICE(WRITE_REGISTER_UCHAR),
    NT_SERVICE(WRITE_REGISTER_USHORT),
    NT_SERVICE(WRITE_REGISTER_ULONG),
    NT_SERVICE(WRITE_REGISTER_ULONG64),
    NT_SERVICE(READ_REGISTER_BUFFER_UCHAR),
    NT_SERVICE(READ_REGISTER_BUFFER_USHORT),
    NT_SERVICE(READ_REGISTER_BUFFER_ULONG),
    NT_SERVICE(READ_REGISTER_BUFFER_ULONG64),
    NT_SERVICE(WRITE_REGISTER_BUFFER_UCHAR),
    NT_SERVICE(WRITE_REGISTER_BUFFER_USHORT),
    NT_SERVICE(WRITE_REGISTER_BUFFER_ULONG),
    NT_SERVICE(WRITE_REGISTER_BUFFER_ULONG64),
    {0},
};

const struct nt_area nt_register_access_area = {.exports = services};
