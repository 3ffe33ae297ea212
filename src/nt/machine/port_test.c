/*
 * Ports: ones until somebody writes or the surroundings say something, each address by itself.
 */
#include "nt/rig/test_kernel.h"

#include <wdm.h>

#define AT(type, port) ((type *)(ULONG_PTR)(port))

static void a_port_reads_as_ones_and_is_told(void **state)
{
    struct test_kernel *kernel = *state;
    UCHAR bytes[2] = {1, 2};

    READ_PORT_BUFFER_UCHAR(AT(UCHAR, 0x3f8), bytes, 2);
    assert_int_equal(bytes[0], 0xff);
    assert_int_equal(bytes[1], 0xff);
    assert_string_equal(kernel->in_vain, "port:0x3f8=NUMBER");
    assert_int_equal(READ_PORT_ULONG(AT(ULONG, 0xffff)), 0xffffffff);
    assert_string_equal(kernel->in_vain, "port:0xffff=NUMBER");
    assert_string_equal(kernel->missing, "");
}

static void a_port_remembers_what_was_written(void **state)
{
    struct test_kernel *kernel = *state;

    WRITE_PORT_USHORT(AT(USHORT, 0x1ce), 4);
    WRITE_PORT_USHORT(AT(USHORT, 0x1cf), 0xb0c5);
    assert_int_equal(READ_PORT_USHORT(AT(USHORT, 0x1ce)), 4);
    assert_int_equal(READ_PORT_USHORT(AT(USHORT, 0x1cf)), 0xb0c5);
    assert_int_equal(READ_PORT_UCHAR(AT(UCHAR, 0x1cf)), 0xc5);
    WRITE_PORT_BUFFER_ULONG(AT(ULONG, 0x1ce), (ULONG[]){1, 0x12345678}, 2);
    assert_int_equal(READ_PORT_ULONG(AT(ULONG, 0x1ce)), 0x12345678);
    WRITE_PORT_UCHAR(AT(UCHAR, 0x1ce), 0x9a);
    assert_int_equal(READ_PORT_ULONG(AT(ULONG, 0x1ce)), 0x9a);
    assert_string_equal(kernel->in_vain, "");
}

static void a_port_says_what_it_was_given(void **state)
{
    struct test_kernel *kernel = *state;

    assert_int_equal(nt_set_port(kernel->nt, 0x60, 0xfa), STATUS_SUCCESS);
    assert_int_equal(READ_PORT_UCHAR(AT(UCHAR, 0x60)), 0xfa);
    assert_string_equal(kernel->in_vain, "");
    assert_int_equal(READ_PORT_UCHAR(AT(UCHAR, 0x61)), 0xff);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        KERNEL_TEST(a_port_reads_as_ones_and_is_told),
        KERNEL_TEST(a_port_remembers_what_was_written),
        KERNEL_TEST(a_port_says_what_it_was_given),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
