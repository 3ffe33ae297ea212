/*
 * Registers of the device, by the functions that drivers access them with.
 *
 * An access may take time (nt_set_register_time()), in which the interrupt routine runs as if on
 * another processor: between any two accesses, where the level of the driver does not keep it out.
 */
#include "nt/nt_private.h"

#define STREAM      0x726567u /* "reg" */
#define SLOW_ONE_IN 4u        /* accesses */

void nt_set_register_time(struct nt *nt, uint64_t most_ns)
{
    nt->registers.most_ns = nt->machine ? most_ns : 0;
    if (nt->registers.most_ns)
        machine_fork_rng(nt->machine, STREAM, &nt->registers.rng);
}

/* The kernel of the driver, when the access has got to the device. */
static struct nt *reach_device(void)
{
    struct nt *nt = nt_current();

    if (nt->registers.most_ns && rng_below(&nt->registers.rng, SLOW_ONE_IN) == 0)
        nt_stall(nt, 1 + rng_below(&nt->registers.rng, nt->registers.most_ns));
    return nt;
}

#define REGISTER_FUNCTIONS(suffix, type)                                                           \
    type NTAPI READ_REGISTER_##suffix(volatile type *Register)                                     \
    {                                                                                              \
        return (type)machine_read_register(reach_device()->machine, Register, sizeof *Register);   \
    }                                                                                              \
    VOID NTAPI WRITE_REGISTER_##suffix(volatile type *Register, type Value)                        \
    {                                                                                              \
        machine_write_register(reach_device()->machine, Register, sizeof *Register, Value);        \
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
