/*
 * Drivers by the path of a file: looked at anew when they are built anew, and DriverEntry's ends.
 */
#include "bench/drivers/driver_files.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

static char folder[64], path[96];

static bool has_tools(void)
{
    return system("command -v clang >/dev/null 2>&1 && command -v lld-link >/dev/null 2>&1 && "
                  "command -v llvm-dlltool >/dev/null 2>&1") == 0;
}

static int begin(void **state)
{
    (void)state;
    snprintf(folder, sizeof folder, "/tmp/drydock-driver-image-XXXXXX");
    if (!mkdtemp(folder))
        return -1;
    snprintf(path, sizeof path, "%s/driver.sys", folder);
    return 0;
}

static int end(void **state)
{
    char command[128];

    (void)state;
    snprintf(command, sizeof command, "rm -rf %s", folder);
    return system(command);
}

/*
 * The body of DriverEntry, which registers with this version behind it. The program stands beside
 * the tests.
 */
static void build(const char *version, const char *body)
{
    char program[512], source[96], command[2048];
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 1);
    FILE *file;

    if (!has_tools() || length <= 0)
        skip();
    program[length] = '\0';
    strcpy(strrchr(program, '/'), "/drydock");
    if (access(program, X_OK) != 0)
        skip();
    snprintf(source, sizeof source, "%s/driver.c", folder);
    file = fopen(source, "w");
    assert_non_null(file);
    fprintf(file,
            "#include <ntddk.h>\n#include <dispmprt.h>\n"
            "static volatile ULONG zero;\n"
            "static void __attribute__((noinline)) body(void) { %s; zero++; }\n"
            "NTSTATUS DriverEntry(PDRIVER_OBJECT driver, PUNICODE_STRING key)\n{\n"
            "    static DRIVER_INITIALIZATION_DATA table;\n"
            "    body();\n"
            "    table.Version = %s;\n"
            "    return DxgkInitialize(driver, key, &table);\n}\n",
            body, version);
    fclose(file);
    snprintf(command, sizeof command, "'%s' cc -o %s -Wno-everything %s", program, path, source);
    assert_int_equal(system(command), 0);
}

static void a_file_that_is_built_anew_is_looked_at_anew(void **state)
{
    struct run_driver driver;

    build("DXGKDDI_INTERFACE_VERSION_WDDM2_0", "");
    assert_true(driver_file_find(path, &driver));
    assert_int_equal(driver.wddm, 20);
    assert_true(driver_file_find(path, &driver));
    build("DXGKDDI_INTERFACE_VERSION_WDDM3_0", "");
    assert_true(driver_file_find(path, &driver));
    assert_int_equal(driver.wddm, 30);
    unlink(path);
    assert_false(driver_file_find(path, &driver));
    assert_non_null(strstr(driver_file_error(), "No such file"));
    build("DXGKDDI_INTERFACE_VERSION_WDDM2_0", "");
    assert_true(driver_file_find(path, &driver));
    assert_string_equal(driver_file_error(), "");
}

static void assert_says(const char *body, const char *text)
{
    struct run_driver driver;

    build("DXGKDDI_INTERFACE_VERSION_WDDM2_0", body);
    assert_false(driver_file_find(path, &driver));
    if (!strstr(driver_file_error(), text) || !strstr(driver_file_error(), "\n  #") ||
        !strstr(driver_file_error(), "driver.sys!body+"))
        fail_msg("'%s' is not in, or no frames: %s", text, driver_file_error());
}

static void ends_of_driver_entry_are_told_as_what_they_are(void **state)
{
    assert_says("KeBugCheckEx(0xdead, 1, 2, 3, 4)",
                "driver.sys: in DriverEntry the driver stops the machine: bug check 0xdead (0x1, "
                "0x2, 0x3, 0x4)\n");
    assert_says("*(volatile ULONG *)(ULONG_PTR)(zero + 8) = 1",
                "in DriverEntry the driver stops the machine: bug check 0x1e "
                "KMODE_EXCEPTION_NOT_HANDLED: access violation");
    assert_says("KEVENT e; KeInitializeEvent(&e, NotificationEvent, FALSE); "
                "KeWaitForSingleObject(&e, Executive, KernelMode, FALSE, NULL)",
                "in DriverEntry there is a deadlock: the thread that called the driver waits for");
    assert_says("PVOID b = ExAllocatePool2(POOL_FLAG_NON_PAGED, 64, 'tseT'); "
                "ExFreePoolWithTag(b, 'tseT'); ExFreePoolWithTag(b, 'tseT')",
                "bug check 0xc2 BAD_POOL_CALLER (0x7, ");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_built_anew_is_looked_at_anew),
        cmocka_unit_test(ends_of_driver_entry_are_told_as_what_they_are),
    };

    return cmocka_run_group_tests(tests, begin, end);
}
