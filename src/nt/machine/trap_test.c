#include "nt/machine/trap.h"

#include "nt/nt_private.h"

#include "base/bits.h"

#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#if defined(__x86_64__)

#define REGISTER_BYTES 8192u

struct fixture {
    struct machine *machine;
    struct nt *nt;
    volatile uint8_t *registers;
    char log[512]; /* "w4 10=1; r8 18;" */
    char missing[128];
    jmp_buf stopped;
    uint32_t code;
    uint64_t parameter;
    bool is_driver;
};

static uint64_t read_register(void *context, uint64_t offset, unsigned size)
{
    struct fixture *fixture = context;
    size_t used = strlen(fixture->log);

    snprintf(fixture->log + used, sizeof fixture->log - used, "r%u %llx;", size,
             (unsigned long long)offset);
    return offset * UINT64_C(0x0101010101010101);
}

static void write_register(void *context, uint64_t offset, unsigned size, uint64_t value)
{
    struct fixture *fixture = context;
    size_t used = strlen(fixture->log);

    snprintf(fixture->log + used, sizeof fixture->log - used, "w%u %llx=%llx;", size,
             (unsigned long long)offset, (unsigned long long)value);
}

static void on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    struct fixture *fixture = context;

    fixture->code = code;
    fixture->parameter = parameters[0];
    longjmp(fixture->stopped, 1);
}

static void on_missing(void *context, const char *name)
{
    struct fixture *fixture = context;

    snprintf(fixture->missing, sizeof fixture->missing, "%s", name);
}

static bool is_driver(void *context, uint64_t address)
{
    return ((struct fixture *)context)->is_driver;
}

/*
 * In the test itself: the test's runner has signal handlers of its own, anew for each part of a
 * test.
 */
static struct fixture *begin(void)
{
    static struct fixture fixture;
    static const struct machine_registers registers = {
        .bytes = REGISTER_BYTES, .read = read_register, .write = write_register};
    const struct machine_config config = {
        .ram_bytes = 16 * MiB, .local_bytes = MiB, .visible_bytes = MiB};
    const struct nt_host host = {
        .context = &fixture, .bug_check = on_bug_check, .missing = on_missing};
    const struct trap_config trap = {.context = &fixture, .is_driver = is_driver};

    memset(&fixture, 0, sizeof fixture);
    fixture.is_driver = true;
    fixture.machine = machine_create(base_services_libc(), &config);
    assert_true(machine_set_registers(fixture.machine, &registers, &fixture));
    fixture.nt = nt_create(base_services_libc(), fixture.machine, &host);
    nt_bind(fixture.nt);
    fixture.registers =
        machine_map_physical(fixture.machine, machine_bar0_pa(fixture.machine), REGISTER_BYTES);
    assert_true(trap_install(fixture.nt, &trap));
    return &fixture;
}

static void end(struct fixture *fixture)
{
    trap_remove(fixture->nt);
    nt_bind(NULL);
    nt_destroy(fixture->nt);
    machine_destroy(fixture->machine);
}

#define PLAIN __attribute__((no_sanitize("address", "undefined"), noinline))

PLAIN static void touch(volatile uint8_t *registers, uint64_t out[8])
{
    *(volatile uint32_t *)(registers + 0x10) = 0x1234;
    out[0] = *(volatile uint32_t *)(registers + 0x20);
    out[1] = *(volatile uint64_t *)(registers + 0x28);
    out[2] = *(volatile uint8_t *)(registers + 0x31);
    *(volatile uint32_t *)(registers + 0x40) |= 1;
    __asm__ volatile("orl $6, %0" : "+m"(*(volatile uint32_t *)(registers + 0x50)) : : "cc");
    __asm__ volatile("leaq -128(%%rsp), %%rsp; pushq (%1); popq %0; leaq 128(%%rsp), %%rsp"
                     : "=r"(out[3])
                     : "r"(registers + 8)
                     : "memory");
    *(volatile uint64_t *)(registers + 0x1ff8) = UINT64_C(0x123456789abcdef0);
}

static void what_an_instruction_does_to_registers_reaches_the_device(void **state)
{
    struct fixture *fixture = begin();
    uint64_t out[8], before = trap_register_accesses();

    touch(fixture->registers, out);
    assert_string_equal(fixture->log, "w4 10=1234;r4 20;r8 28;r1 31;r4 40;w4 40=40404041;r4 50;"
                                      "w4 50=50505056;r8 8;w8 1ff8=123456789abcdef0;");
    assert_int_equal(out[0], 0x20202020);
    assert_int_equal(out[1], UINT64_C(0x2828282828282828));
    assert_int_equal(out[2], 0x31);
    assert_int_equal(out[3], UINT64_C(0x0808080808080808));
    assert_in_range(trap_register_accesses() - before, 8, 9);
    end(fixture);
}

static void strings_of_bytes_are_single_accesses(void **state)
{
    struct fixture *fixture = begin();
    uint32_t source[3] = {1, 2, 3};
    const void *from = source;
    volatile void *to = fixture->registers + 0x100;
    uint64_t count = 3;

    __asm__ volatile("rep movsl" : "+S"(from), "+D"(to), "+c"(count) : : "memory");
    assert_string_equal(fixture->log, "w4 100=1;w4 104=2;w4 108=3;");
    assert_int_equal(count, 0);
    end(fixture);
}

static void wide_accesses_are_made_in_sizes_that_registers_have(void **state)
{
    struct fixture *fixture = begin();

    __asm__ volatile("pcmpeqd %%xmm0, %%xmm0; movdqu %%xmm0, %0"
                     : "=m"(*(volatile uint8_t(*)[16])(fixture->registers + 0x204))
                     :
                     : "xmm0");
    assert_string_equal(fixture->log, "w4 204=ffffffff;w8 208=ffffffffffffffff;w4 210=ffffffff;");
    end(fixture);
}

static jmp_buf divided;

static void on_division(int signal)
{
    longjmp(divided, 1);
}

static void an_instruction_that_faults_leaves_no_access_half_done(void **state)
{
    const struct sigaction ours = {.sa_handler = on_division};
    struct sigaction before;
    struct fixture *fixture;

    assert_int_equal(sigaction(SIGFPE, &ours, &before), 0);
    fixture = begin();
    if (!setjmp(divided)) {
        __asm__ volatile("divl %0"
                         :
                         : "m"(*(volatile uint32_t *)fixture->registers), "a"(1), "d"(0)
                         : "cc");
        fail();
    }
    *(volatile uint32_t *)(fixture->registers + 4) = 5;
    assert_string_equal(fixture->log, "r4 0;w4 4=5;");
    end(fixture);
    sigaction(SIGFPE, &before, NULL);
}

static void the_level_is_a_register(void **state)
{
    struct fixture *fixture = begin();
    uint64_t level = 2, read;

    __asm__ volatile("movq %0, %%cr8" : : "r"(level));
    assert_int_equal(nt_irql(fixture->nt), 2);
    nt_set_irql(fixture->nt, 5);
    __asm__ volatile("movq %%cr8, %0" : "=r"(read));
    assert_int_equal(read, 5);
    end(fixture);
}

static void a_fast_failure_stops_the_machine(void **state)
{
    struct fixture *fixture = begin();

    if (!setjmp(fixture->stopped)) {
        __asm__ volatile("int $0x29" : : "c"(3));
        fail();
    }
    assert_int_equal(fixture->code, 0x139);
    assert_int_equal(fixture->parameter, 3);
    end(fixture);
}

static void what_only_a_kernel_may_do_is_done_or_told(void **state)
{
    struct fixture *fixture = begin();
    uint32_t low = 7, high = 7;

    __asm__ volatile("cli; sti");
    assert_string_equal(fixture->missing, "");
    __asm__ volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(0x10));
    assert_int_equal(low | high, 0);
    assert_non_null(strstr(fixture->missing, "processor's model"));
    end(fixture);
}

static void ports_are_read_and_written_in_their_sizes(void **state)
{
    struct fixture *fixture = begin();
    uint64_t rax = 0x1122334455667788;

    nt_set_port(fixture->nt, 0x60, 0xa1b2c3d4);
    __asm__ volatile("inb $0x60, %%al" : "+a"(rax));
    assert_true(rax == 0x11223344556677d4);
    __asm__ volatile("inw %%dx, %%ax" : "+a"(rax) : "d"(0x60));
    assert_true(rax == 0x112233445566c3d4);
    __asm__ volatile("inl %%dx, %%eax" : "+a"(rax) : "d"(0x60));
    assert_true(rax == 0xa1b2c3d4);
    __asm__ volatile("outw %%ax, %%dx" : : "a"(0x12345), "d"(0x1ce));
    __asm__ volatile("inl %%dx, %%eax" : "+a"(rax) : "d"(0x1ce));
    assert_true(rax == 0x2345);
    __asm__ volatile("outb %%al, $0x80; inl $0x80, %%eax" : "+a"(rax));
    assert_true(rax == 0x45);
    assert_string_equal(fixture->missing, "");
    end(fixture);
}

#define SHARED UINT64_C(0xFFFFF78000000000)

static uint64_t time_of(uint32_t low, uint32_t high)
{
    return (uint64_t)high << 32 | low;
}

/* As compilers read it: through a base register, which may be overwritten, and by address alone. */
static void the_kernel_s_clocks_are_read_in_place(void **state)
{
    struct fixture *fixture = begin();
    uint64_t base = SHARED, rax, rcx = 0x1122334455667788, wide[2] = {0};
    LARGE_INTEGER now;

    machine_run_until(fixture->machine, 5000000700);
    KeQuerySystemTime(&now);
    __asm__ volatile("movl 0x8(%1), %k0" : "=r"(rax) : "r"(base));
    assert_int_equal(rax, KeQueryInterruptTime() & 0xffffffff);
    __asm__ volatile("movq 0x14(%0), %0" : "+r"(base));
    assert_int_equal(base, now.QuadPart);
    __asm__ volatile("movabsq 0xFFFFF78000000014, %0" : "=a"(rax));
    assert_int_equal(rax, now.QuadPart);
    base = SHARED;
    rax = UINT64_MAX;
    __asm__ volatile("movabsl 0xFFFFF78000000320, %%eax" : "+a"(rax));
    assert_int_equal(rax, 320); /* 5 s in ticks of 15.625 ms */
    __asm__ volatile("movabsb 0xFFFFF78000000268, %%al" : "+a"(rax));
    assert_int_equal(rax, 0x101); /* what was there, but for the low byte: 320 is 0x140 */
    __asm__ volatile("movzwl 0x26a(%1), %k0" : "=r"(rax) : "r"(base));
    assert_int_equal(rax, 9);
    __asm__ volatile("movb 0x26c(%%rcx), %%cl" : "+c"(base));
    assert_int_equal(base, (SHARED & ~UINT64_C(0xff)) | 10);
    base = SHARED;
    __asm__ volatile("addl 0x260(%1), %k0" : "+r"(rcx) : "r"(base) : "cc");
    assert_int_equal(rcx, 0x55667788 + 26100);
    __asm__ volatile("movdqu 0x8(%1), %%xmm0; movdqu %%xmm0, %0"
                     : "=m"(wide)
                     : "r"(base)
                     : "xmm0", "memory");
    assert_int_equal(time_of((uint32_t)wide[0], (uint32_t)(wide[0] >> 32)), KeQueryInterruptTime());
    assert_int_equal(base, SHARED);
    __asm__ volatile("movl 0x4(%1), %k0" : "=r"(rax) : "r"(base));
    assert_int_equal(320 * rax >> 24, 5000);
    assert_true(ExIsProcessorFeaturePresent(10));
    assert_false(ExIsProcessorFeaturePresent(1));
    end(fixture);
}

static sigjmp_buf faulted;

static void on_fault(int signal)
{
    siglongjmp(faulted, 1);
}

static void what_no_page_of_clocks_answers_is_a_fault(void **state)
{
    struct sigaction ours = {.sa_handler = on_fault}, before;
    struct fixture *fixture;
    static volatile unsigned faults, mode;

    sigaction(SIGSEGV, &ours, &before); /* the one that was there before */
    fixture = begin();
    faults = 0;
    for (mode = 0; mode < 3; mode++) {
        volatile uint64_t base = mode == 2 ? SHARED + 4096 : SHARED;

        fixture->is_driver = mode != 1;
        if (!sigsetjmp(faulted, 1)) {
            if (mode == 0)
                __asm__ volatile("movl $1, 0x8(%0)" : : "r"(base) : "memory");
            else
                __asm__ volatile("movl 0x8(%0), %%eax" : : "r"(base) : "rax", "memory");
        } else {
            faults++;
        }
    }
    assert_int_equal(faults, 3);
    end(fixture);
    sigaction(SIGSEGV, &before, NULL);
}

static void it_can_be_installed_once_and_again_later(void **state)
{
    struct fixture *fixture = begin();
    const struct trap_config trap = {.context = fixture, .is_driver = is_driver};

    assert_false(trap_install(fixture->nt, &trap));
    for (unsigned i = 0; i < 3; i++) {
        trap_remove(fixture->nt);
        assert_true(trap_install(fixture->nt, &trap));
        *(volatile uint32_t *)(fixture->registers + 4 * i) = i;
    }
    assert_string_equal(fixture->log, "w4 0=0;w4 4=1;w4 8=2;");
    end(fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_an_instruction_does_to_registers_reaches_the_device),
        cmocka_unit_test(strings_of_bytes_are_single_accesses),
        cmocka_unit_test(wide_accesses_are_made_in_sizes_that_registers_have),
        cmocka_unit_test(an_instruction_that_faults_leaves_no_access_half_done),
        cmocka_unit_test(the_level_is_a_register),
        cmocka_unit_test(a_fast_failure_stops_the_machine),
        cmocka_unit_test(what_only_a_kernel_may_do_is_done_or_told),
        cmocka_unit_test(ports_are_read_and_written_in_their_sizes),
        cmocka_unit_test(the_kernel_s_clocks_are_read_in_place),
        cmocka_unit_test(what_no_page_of_clocks_answers_is_a_fault),
        cmocka_unit_test(it_can_be_installed_once_and_again_later),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}

#else

int main(void)
{
    print_message("not an x86-64 machine: skipped\n");
    return 0;
}

#endif
