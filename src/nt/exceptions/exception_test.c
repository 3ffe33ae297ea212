/*
 * Exceptions of a driver that a compiler made: tests/images/exceptions.c, compiled by drydock cc.
 */
#include "nt/exceptions/exception.h"
#include "nt/machine/boundary.h"
#include "nt/machine/processor.h"
#include "nt/machine/trap.h"
#include "nt/nt_private.h"

#include "base/services.h"
#include "image/image.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

#if defined(__x86_64__)

struct fixture {
    struct boundary *boundary;
    struct image *image;
    struct nt *nt;
    uint8_t *file;
    jmp_buf stopped;
    struct nt_crash crash;
    char what[512], state[4096], log[256], missing[128];
    unsigned lost;
};

static struct fixture fixture;
static char sys_path[64], other_path[64];

typedef NTSTATUS NTAPI entry_function(uint64_t number, uint64_t argument);

/* ---- The driver ------------------------------------------------------------------------------ */

static bool has(const char *tool)
{
    char command[96];

    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", tool);
    return system(command) == 0;
}

/* The program stands beside the tests. */
static bool build(const char *options, const char *source, char path[64])
{
    char folder[512], command[2048];
    ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);

    if (length <= 0 || !has("clang") || !has("lld-link") || !has("llvm-dlltool"))
        return false;
    folder[length] = '\0';
    *strrchr(folder, '/') = '\0';
    snprintf(path, 64, "/tmp/drydock-exception-%d-%s.sys", (int)getpid(), source);
    snprintf(command, sizeof command,
             "'%s/drydock' cc -o %s -Wno-everything %s '%s/tests/images/%s.c' 2>%s.log", folder,
             path, options, DRYDOCK_SOURCE_DIR, source, path);
    if (access(strcat(folder, "/drydock"), X_OK) != 0)
        return false;
    if (system(command) != 0) {
        snprintf(command, sizeof command, "cat %s.log >&2; rm -f %s.log", path, path);
        fail_msg("the driver does not compile: %d", system(command));
    }
    snprintf(command, sizeof command, "%s.log", path);
    unlink(command);
    return true;
}

static void read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");

    assert_non_null(file);
    fixture.file = malloc(1 << 20);
    *out_size = fread(fixture.file, 1, 1 << 20, file);
    fclose(file);
}

/* ---- The kernel ------------------------------------------------------------------------------ */

static void on_log(void *context, uint32_t component, uint32_t level, const char *text)
{
    strncat(fixture.log, text, sizeof fixture.log - strlen(fixture.log) - 1);
}

static void on_crash(void *context, const struct nt_crash *crash)
{
    fixture.crash = *crash;
    snprintf(fixture.what, sizeof fixture.what, "%s", crash->what);
    snprintf(fixture.state, sizeof fixture.state, "%s", crash->state);
    longjmp(fixture.stopped, 1);
}

static void on_bug_check(void *context, uint32_t code, const uint64_t parameters[4])
{
    fixture.crash.bug_check = code;
    memcpy(fixture.crash.parameters, parameters, sizeof fixture.crash.parameters);
    longjmp(fixture.stopped, 2);
}

static void on_missing(void *context, const char *name)
{
    snprintf(fixture.missing, sizeof fixture.missing, "%s", name);
}

static void on_broken(void *context, const struct boundary_breach *breach)
{
    fixture.lost++;
}

static VOID NTAPI test_call_back(VOID(NTAPI *function)(PVOID context), PVOID context)
{
    VOID(NTAPI * entry)(PVOID context) = nt_driver_function(fixture.nt, (const void *)function);

    entry(context);
}

static uint64_t resolve(void *context, const struct image_import *import)
{
    const struct nt_export *row = nt_find_export(import->name);

    if (row)
        return (uintptr_t)(row->kind == NT_EXPORT_SERVICE
                               ? boundary_service(fixture.boundary, row->address)
                               : row->address);
    if (strcmp(import->name, "TestCallBack") == 0)
        return (uintptr_t)boundary_service(fixture.boundary, test_call_back);
    return 0;
}

static bool is_driver(void *context, uint64_t address)
{
    return image_contains(fixture.image, address);
}

static void load(const char *path)
{
    const struct nt_host host = {
        .log = on_log, .bug_check = on_bug_check, .missing = on_missing, .crash = on_crash};
    const struct image_load_options options = {resolve, NULL, UINT64_C(0xabcdef012345)};
    const struct trap_config trap = {.is_driver = is_driver};
    struct image_error error;
    size_t size;

    memset(&fixture, 0, sizeof fixture);
    read_file(path, &size);
    fixture.boundary = boundary_create(base_services_libc(), on_broken, NULL);
    fixture.nt = nt_create(base_services_libc(), NULL, &host);
    nt_bind(fixture.nt);
    nt_set_boundary(fixture.nt, fixture.boundary);
    if (!image_open(base_services_libc(), fixture.file, size, &fixture.image, &error) ||
        !image_load(fixture.image, &options, &error))
        fail_msg("%s", error.text);
    nt_set_image(fixture.nt, fixture.image, "test.sys");
    assert_true(trap_install(fixture.nt, &trap));
}

/* In the test, not behind it: the runner has signal handlers of its own then. */
static int end(void **state)
{
    if (!fixture.nt)
        return 0;
    trap_remove(fixture.nt);
    nt_bind(NULL);
    nt_destroy(fixture.nt);
    image_close(fixture.image);
    boundary_destroy(fixture.boundary);
    free(fixture.file);
    fixture.nt = NULL;
    return 0;
}

static void begin(void)
{
    if (!sys_path[0]) {
        print_message("skipped: no clang, lld-link or llvm-dlltool here, or no drydock beside\n");
        skip();
    }
    load(sys_path);
}

static NTSTATUS call(uint64_t number, uint64_t argument)
{
    entry_function *entry = (entry_function *)boundary_entry(
        fixture.boundary, (const void *)(uintptr_t)image_entry(fixture.image));

    fixture.log[0] = '\0';
    return entry(number, argument);
}

#define CODE_A (int)0xC0001111
#define CODE_B (int)0xC0002222

static void assert_runs(uint64_t number, uint64_t argument, int result, const char *log)
{
    NTSTATUS status;

    if (setjmp(fixture.stopped))
        fail_msg("part %u: %s%s", (unsigned)number, fixture.what, fixture.state);
    status = call(number, argument);
    if (status != result || strcmp(fixture.log, log) != 0)
        fail_msg("part %u: 0x%x '%s', not 0x%x '%s'", (unsigned)number, (unsigned)status,
                 fixture.log, (unsigned)result, log);
    assert_null(boundary_innermost_call(fixture.boundary));
    assert_int_equal(fixture.lost, 0);
}

/* The driver ends with this bug check; the name of the function in which stands in what is told. */
static void assert_crashes(uint64_t number, uint64_t argument, uint32_t code, const char *function)
{
    memset(&fixture.crash, 0, sizeof fixture.crash);
    if (!setjmp(fixture.stopped)) {
        call(number, argument);
        fail_msg("part %u ends, with '%s'", (unsigned)number, fixture.log);
    }
    boundary_abandon(fixture.boundary);
    nt_set_irql(fixture.nt, PASSIVE_LEVEL);
    if (fixture.crash.bug_check != code || !strstr(fixture.state, function))
        fail_msg("part %u: bug check 0x%x, not 0x%x; %s is not in:\n%s%s", (unsigned)number,
                 fixture.crash.bug_check, code, function, fixture.what, fixture.state);
}

/* ---- Software -------------------------------------------------------------------------------- */

static void software_exceptions_are_handled_where_filters_say(void **state)
{
    begin();
    for (unsigned i = 0; i < 3; i++) {
        assert_runs(1, 0, CODE_A, "afh");
        assert_runs(2, 0, CODE_B, "afFH");
    }
    assert_runs(10, 0, 1, "");
    end(state);
}

static void finally_runs_in_order_and_knows_why(void **state)
{
    begin();
    assert_runs(3, 0, 7, "12n3N1?xX!");
    assert_runs(8, 0, 5, "lll|tll|l");
    end(state);
}

static void what_calls_preserve_is_there_behind_an_exception(void **state)
{
    begin();
    for (uint64_t seed = 1; seed < 50; seed++)
        assert_runs(4, seed * UINT64_C(0x123456789abcdef), 1, "");
    end(state);
}

static void exceptions_in_filters_and_in_finally_go_outwards(void **state)
{
    begin();
    assert_runs(5, 0, CODE_A, "(g)h");
    assert_runs(6, 0, CODE_B, "rro");
    assert_runs(7, 0, CODE_B, "pipqjh");
    end(state);
}

static void filters_can_go_on_where_it_was(void **state)
{
    begin();
    assert_runs(9, 0, 2, "cdce");
    assert_crashes(11, 0, 0x1E, "continuing_what_cannot");
    assert_int_equal((int)fixture.crash.parameters[0], STATUS_NONCONTINUABLE_EXCEPTION);
    end(state);
}

/* ---- Faults ---------------------------------------------------------------------------------- */

static void faults_are_exceptions(void **state)
{
    begin();
    for (unsigned i = 0; i < 2; i++) {
        assert_runs(20, 0, 0, "");
        assert_runs(20, 0x123450, 0, "");
        assert_runs(21, 0x10, 0, "");
        assert_runs(22, 0, 0, "");
        assert_runs(23, 0, 0, "");
        assert_runs(24, 0, 0, "");
        assert_runs(25, 0, 0, "");
        assert_runs(26, 0, 0, "");
        assert_runs(27, 0, 0, "");
        assert_runs(28, 0, 0, "");
    }
    assert_runs(1, 0, CODE_A, "afh");
    assert_runs(51, 0x10, STATUS_INVALID_USER_BUFFER, "");
    end(state);
}

static void probes_raise_as_documented(void **state)
{
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    begin();
    munmap(page, 4096);
    assert_runs(29, (uintptr_t)page, 0, "mwp");
    end(state);
}

/* ---- Nobody handles -------------------------------------------------------------------------- */

static void what_nobody_handles_is_a_bug_check(void **state)
{
    begin();
    assert_crashes(40, 0, 0x1E, "raise_and_handle");
    assert_int_equal((int)fixture.crash.parameters[0], CODE_B);
    assert_non_null(strstr(fixture.what, "exception (0xc0002222) that nobody handles"));
    assert_crashes(41, 0x28, 0x1E, "#0 test.sys!read_it+");
    assert_int_equal((int)fixture.crash.parameters[0], STATUS_ACCESS_VIOLATION);
    assert_int_equal(fixture.crash.parameters[3], 0x28);
    assert_non_null(strstr(fixture.what, "reading 0x28, at test.sys!read_it+"));
    assert_non_null(strstr(fixture.state, "rax="));
    assert_crashes(47, 0, 0x1E, "#1 test.sys!call_null+");
    assert_crashes(50, 0, 0x1E, "DriverEntry");
    assert_runs(1, 0, CODE_A, "afh");
    end(state);
}

static void faults_that_no_handler_sees_stop_the_machine(void **state)
{
    uint8_t *page = mmap(NULL, 4096, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    begin();
    for (unsigned i = 0; i < 2; i++) {
        assert_crashes(42, 0, 0x7F, "test.sys!overflow+");
        assert_non_null(strstr(fixture.state, "more of it"));
        assert_int_equal(fixture.crash.parameters[0], 8);
        assert_crashes(43, 0x30, 0xD1, "at_level");
        assert_int_equal(fixture.crash.parameters[0], 0x30);
        assert_int_equal(fixture.crash.parameters[1], DISPATCH_LEVEL);
        assert_crashes(44, 0, 0xBE, "guarded_access");
        assert_crashes(45, 0, 0xFC, "run_data");
        assert_crashes(46, UINT64_C(0xffff800000001000), 0x50, "guarded_access");
        assert_int_equal(fixture.crash.parameters[0], UINT64_C(0xffff800000001000));
        assert_crashes(46, (uintptr_t)page, 0x50, "guarded_access");
    }
    munmap(page, 4096);
    end(state);
}

static void an_exception_does_not_pass_who_called_back(void **state)
{
    begin();
    assert_crashes(48, 0, 0x1E, "#0 test.sys!raise_in_callback+");
    assert_non_null(strstr(fixture.state, "-- the bench"));
    assert_non_null(strstr(fixture.state, "!through_a_service+"));
    assert_string_equal(fixture.log, "b");
    assert_crashes(49, 0, 0x1E, "filter_without_end");
    end(state);
}

static void threads_have_a_bug_check_of_their_own(void **state);

/* ---- Services that are led astray ------------------------------------------------------------ */

static void faults_of_services_are_exceptions_where_they_were_called(void **state)
{
    begin();
    for (unsigned i = 0; i < 2; i++) {
        assert_runs(30, 0x123450, 0, "");
        assert_runs(30, 8, 0, "");
    }
    assert_runs(1, 0, CODE_A, "afh");
    end(state);
}

static void assert_says(const char *text)
{
    if (!strstr(fixture.what, text))
        fail_msg("'%s' is not in: %s", text, fixture.what);
}

static void services_that_are_led_astray_name_the_argument(void **state)
{
    uint8_t *pages = mmap(NULL, 8192, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    char text[128];

    mprotect(pages + 4096, 4096, PROT_NONE);
    begin();
    for (unsigned i = 0; i < 2; i++) {
        assert_crashes(80, 0x28, 0x1E, "#0 test.sys!init_string+");
        assert_int_equal(fixture.crash.parameters[3], 0x28);
        assert_says("access violation (0xc0000005) that nobody handles: RtlInitUnicodeString reads "
                    "0x28: its SourceString is 0x28; the driver calls it at test.sys!init_string+");
        assert_crashes(80, UINT64_C(0x4141414141414140), 0x1E, "#0 test.sys!init_string+");
        assert_says("its SourceString is 0x4141414141414140, which is no address");
        assert_crashes(81, 0x4440, 0x1E, "#0 test.sys!compare_strings+");
        assert_says("RtlCompareUnicodeString reads 0x4440: byte 8 of its String2, at 0x");
        assert_says(", holds 0x4440;");
        assert_crashes(82, 0x30, 0xA, "#0 test.sys!sets_event+");
        assert_int_equal(fixture.crash.parameters[0], 0x30);
        assert_int_equal(fixture.crash.parameters[1], DISPATCH_LEVEL);
        assert_says("KeSetEvent reads 0x30, which is not there, at IRQL 2: its Event is 0x30");
        assert_crashes(84, (uintptr_t)pages + 100, 0x50, "#0 test.sys!copy_to+");
        snprintf(text, sizeof text, "MmCopyMemory writes to 0x%llx, which nobody may touch: its ",
                 (unsigned long long)(uintptr_t)pages + 4096);
        assert_says(text);
        /* A function of the bench that is no service. */
        assert_crashes(83, 0, 0x1E, "");
    }
    munmap(pages, 8192);
    end(state);
}

/* ---- By hand, and the processor -------------------------------------------------------------- */

static void drivers_unwind_and_restore(void **state)
{
    begin();
    assert_runs(60, 0, 0, "");
    assert_runs(61, 0, 4, "");
    end(state);
}

static void structures_of_the_processor_are_at_gs(void **state)
{
    begin();
    processor_set_thread(&fixture);
    assert_runs(70, (uintptr_t)&fixture, 0, "");
    end(state);
}

static void a_backtrace_tells_where_a_service_was_called(void **state)
{
    char text[512];

    begin();
    assert_int_equal(exception_backtrace(fixture.nt, NULL, text, sizeof text), 0);
    assert_string_equal(text, "");
    end(state);
}

static uint32_t mxcsr(void)
{
    uint32_t value;

    __asm__("stmxcsr %0" : "=m"(value));
    return value;
}

/* Where the bench runs with what a driver has left, it runs as before. */
static void modes_of_the_processor_end_with_the_call(void **state)
{
    static const uint8_t bytes[16] __attribute__((aligned(16)));
    uint32_t before = mxcsr();
    uint64_t value;

    begin();
    for (unsigned i = 0; i < 3; i++) {
        assert_runs(85, 0, 7, "unaligned");
        __asm__ volatile("movq 1(%1), %0" : "=r"(value) : "r"(bytes) : "memory");
        assert_int_equal(value, 0);
    }
    assert_int_equal(call(86, before), 8);
    assert_int_equal(fixture.lost, 0);
    assert_int_equal(call(86, before ^ 0x6000), 8); /* rounds another way */
    assert_int_equal(fixture.lost, 1);
    assert_int_equal(mxcsr() & 0xffc0, before & 0xffc0);
    assert_int_equal(call(86, before ^ 0x3f), 8); /* flags are the callee's */
    assert_int_equal(fixture.lost, 1);
    end(state);
}

/* ---- Threads --------------------------------------------------------------------------------- */

static struct boundary_thread *first;
static uint64_t thread_number;
static NTSTATUS thread_status;

static void thread_main(void *argument)
{
    for (;;) {
        thread_status = call(thread_number, 0);
        boundary_switch(first);
    }
}

static void threads_have_a_bug_check_of_their_own(void **state)
{
    struct boundary_thread *thread;

    begin();
    first = boundary_current_thread(fixture.boundary);
    thread = boundary_thread_create(fixture.boundary, thread_main, NULL);
    assert_non_null(thread);
    for (unsigned i = 0; i < 3; i++) {
        thread_number = i == 1 ? 20 : 7;
        boundary_switch(thread);
        assert_int_equal(thread_status, i == 1 ? 0 : CODE_B);
    }
    thread_number = 41;
    if (!setjmp(fixture.stopped)) {
        boundary_switch(thread);
        fail();
    }
    boundary_abandon(fixture.boundary);
    assert_int_equal(fixture.crash.bug_check, 0x7E);
    boundary_thread_destroy(thread);
    end(state);
}

/* ---- Guards of compilers --------------------------------------------------------------------- */

static uint64_t sum_of_bytes(uint64_t first, unsigned count)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < count; i++)
        sum += (uint8_t)(first + i);
    return sum;
}

static void assert_guards_work(const char *probe)
{
    assert_runs(1, 21, 105, "");
    assert_runs(2, 9, (int)sum_of_bytes(9, 10000), "");
    assert_runs(3, 32, 'x', "");
    assert_runs(5, 0, 0, "printed");
    assert_crashes(4, 0, 0x7F, probe);
}

static void probes_cookies_and_flow_guards_of_clang_work(void **state)
{
    if (!build("-fstack-protector-all -Xclang -cfguard", "guarded", other_path)) {
        print_message("skipped: no clang, lld-link or llvm-dlltool here, or no drydock beside\n");
        skip();
    }
    load(other_path);
    assert_guards_work("too_large");
    assert_crashes(3, 64, 0x139, "");
    assert_int_equal(fixture.crash.parameters[0], 2);
    end(state);
}

/* Compiled as its comment says. */
static void drivers_of_mingw_have_the_same(void **state)
{
    static const char build_line[] =
        "printf 'LIBRARY ntoskrnl.exe\\nEXPORTS\\nDbgPrint\\nExRaiseStatus\\n' >%s.def && "
        "x86_64-w64-mingw32-dlltool -d %s.def -l %s.lib && "
        "x86_64-w64-mingw32-gcc -O2 -nostdlib -DMINGW -o %s '%s/tests/images/guarded.c' %s.lib "
        "-lgcc "
        "-Wl,--subsystem,native,--entry,DriverEntry,--dynamicbase; "
        "result=$?; rm -f %s.def %s.lib; exit $result";
    char command[1024], *path = other_path;

    if (!has("x86_64-w64-mingw32-gcc") || !has("x86_64-w64-mingw32-dlltool")) {
        print_message("skipped: no mingw-w64 here\n");
        skip();
    }
    snprintf(path, sizeof other_path, "/tmp/drydock-exception-%d-mingw.sys", (int)getpid());
    snprintf(command, sizeof command, build_line, path, path, path, path, DRYDOCK_SOURCE_DIR, path,
             path, path);
    assert_int_equal(system(command), 0);
    load(path);
    assert_guards_work("___chkstk_ms"); /* of its own library, which cannot be unwound */
    assert_crashes(6, 0, 0x1E, "DriverEntry");
    end(state);
}

static int build_drivers(void **state)
{
    if (!build("", "exceptions", sys_path))
        sys_path[0] = '\0';
    return 0;
}

/* Of each test its own. */
static int remove_other(void **state)
{
    if (other_path[0])
        unlink(other_path);
    other_path[0] = '\0';
    return end(state);
}

static int remove_drivers(void **state)
{
    if (sys_path[0])
        unlink(sys_path);
    return 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_teardown(name, end)
        TEST(software_exceptions_are_handled_where_filters_say),
        TEST(finally_runs_in_order_and_knows_why),
        TEST(what_calls_preserve_is_there_behind_an_exception),
        TEST(exceptions_in_filters_and_in_finally_go_outwards),
        TEST(filters_can_go_on_where_it_was),
        TEST(faults_are_exceptions),
        TEST(probes_raise_as_documented),
        TEST(what_nobody_handles_is_a_bug_check),
        TEST(faults_that_no_handler_sees_stop_the_machine),
        TEST(an_exception_does_not_pass_who_called_back),
        TEST(faults_of_services_are_exceptions_where_they_were_called),
        TEST(services_that_are_led_astray_name_the_argument),
        TEST(drivers_unwind_and_restore),
        TEST(structures_of_the_processor_are_at_gs),
        TEST(modes_of_the_processor_end_with_the_call),
        TEST(a_backtrace_tells_where_a_service_was_called),
        TEST(threads_have_a_bug_check_of_their_own),
#undef TEST
        cmocka_unit_test_teardown(probes_cookies_and_flow_guards_of_clang_work, remove_other),
        cmocka_unit_test_teardown(drivers_of_mingw_have_the_same, remove_other),
    };

    return cmocka_run_group_tests(tests, build_drivers, remove_drivers);
}

#else

int main(void)
{
    print_message("not an x86-64 machine: skipped\n");
    return 0;
}

#endif
