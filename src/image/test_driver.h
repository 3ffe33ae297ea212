/*
 * Drivers that tests have compiled: by clang and lld-link, and by mingw-w64, where they are
 * installed.
 *
 * Place      image, tests only.
 * Model      One source, with a flow of calls that is worth unwinding. Everything happens in a
 *            folder of its own under /tmp, which is removed when the bytes were read.
 */
#ifndef IMAGE_TEST_DRIVER_H
#define IMAGE_TEST_DRIVER_H

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char test_driver_source[] =
    "typedef long long i64;\n"
    "typedef unsigned long long u64;\n"
    "__declspec(dllimport) i64 KernelAdd(i64 a, i64 b);\n"
    "__declspec(dllimport) i64 KernelLate(i64 a);\n"
    "__attribute__((noinline)) static i64 square(i64 a) { return a * a; }\n"
    "i64 (*volatile pointer)(i64) = square;\n"
    "#ifdef GUARDED\n"
    "u64 __security_cookie = 0x2B992DDFA232;\n"
    "__attribute__((no_stack_protector)) void __security_check_cookie(u64 c)\n"
    "{ if (c != __security_cookie) __builtin_trap(); }\n"
    "void *__guard_check_icall_fptr, *__guard_dispatch_icall_fptr;\n"
    "i64 __delayLoadHelper2(void *a, void *b) { return 0; }\n"
    "extern void *__guard_fids_table[];\n"
    "extern u64 __guard_fids_count;\n"
    "const struct { unsigned size, a[21]; void *cookie; u64 b[2]; void *check, *dispatch, *table,\n"
    "    *count; u64 flags; } _load_config_used = {0x98, {0}, &__security_cookie, {0},\n"
    "    &__guard_check_icall_fptr, &__guard_dispatch_icall_fptr, __guard_fids_table,\n"
    "    &__guard_fids_count, 0x500};\n"
    "#endif\n"
    "int _fltused;\n"
    /* Probes of the stack, which ends far away here. */
    "__asm__(\".text\\n.globl __chkstk\\n__chkstk: ret\\n\"\n"
    "        \".globl ___chkstk_ms\\n___chkstk_ms: ret\\n\");\n"
    /* A frame of its own kind each: pushes, a large one, a frame register, vector registers. */
    "__attribute__((noinline)) i64 deepest(i64 a)\n"
    "{\n"
    "    volatile i64 buffer[16];\n"
    "    for (int i = 0; i < 16; i++) buffer[i] = a + i;\n"
    "    return KernelAdd(buffer[3], buffer[5]) + buffer[0];\n"
    "}\n"
    "__attribute__((noinline)) i64 with_alloca(i64 a)\n"
    "{\n"
    "    volatile char *room = __builtin_alloca((a & 15) + 64);\n"
    "    room[a & 63] = (char)a;\n"
    "    return deepest(a) + room[a & 63];\n"
    "}\n"
    "__attribute__((noinline)) double with_vectors(double x, i64 a)\n"
    "{\n"
    "    double y = x * 1.5, z = x * 2.5;\n"
    "    y += (double)with_alloca(a);\n"
    "    return y + z * (double)with_alloca(a + 1) + x;\n"
    "}\n"
    "__attribute__((noinline)) i64 with_pushes(i64 a, i64 b, i64 c, i64 d, i64 e, i64 f)\n"
    "{\n"
    "    i64 first = (i64)with_vectors((double)a, b);\n"
    "    i64 second = (i64)with_vectors((double)c, d);\n"
    "    return first * e + second * f + a + b + c + d;\n"
    "}\n"
    "int DriverEntry(void *object, void *path)\n"
    "{\n"
    "    i64 a = (i64)object;\n"
    "    return (int)(with_pushes(a, a + 1, a + 2, a + 3, a + 4, a + 5) + pointer(7) +\n"
    "                 KernelLate(5));\n"
    "}\n";

/* What DriverEntry() returns; KernelAdd() adds, KernelLate() multiplies by 100. */
static inline int64_t test_driver_deepest(int64_t a)
{
    return a + 3 + a + 5 + a;
}

static inline int64_t test_driver_with_alloca(int64_t a)
{
    return test_driver_deepest(a) + (char)a;
}

static inline int64_t test_driver_with_vectors(int64_t x, int64_t a)
{
    double z = (double)x * 2.5;

    return (int64_t)((double)x * 1.5 + (double)test_driver_with_alloca(a) +
                     z * (double)test_driver_with_alloca(a + 1) + (double)x);
}

static inline int test_driver_result(int64_t a)
{
    int64_t first = test_driver_with_vectors(a, a + 1);
    int64_t second = test_driver_with_vectors(a + 2, a + 3);

    return (int)(first * (a + 4) + second * (a + 5) + a + a + 1 + a + 2 + a + 3 + 49 + 500);
}

static inline bool test_driver_has(const char *tool)
{
    char command[128];

    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", tool);
    return system(command) == 0;
}

static inline bool test_driver_has_clang(void)
{
    return test_driver_has("clang") && test_driver_has("lld-link") &&
           test_driver_has("llvm-dlltool");
}

static inline bool test_driver_has_mingw(void)
{
    return test_driver_has("x86_64-w64-mingw32-gcc") &&
           test_driver_has("x86_64-w64-mingw32-dlltool");
}

static inline bool test_driver_write(const char *folder, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

static inline uint8_t *test_driver_read(const char *folder, size_t *out_size)
{
    uint8_t *bytes = malloc(1 << 20);
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/d.sys", folder);
    file = fopen(path, "rb");
    *out_size = bytes && file ? fread(bytes, 1, 1 << 20, file) : 0;
    if (file)
        fclose(file);
    if (*out_size == 0) {
        free(bytes);
        return NULL;
    }
    return bytes;
}

/*
 * The bytes of a driver, for free(); NULL: the tools failed, and have said why. The command makes
 * d.sys of d.c, k.def and l.def.
 */
static inline uint8_t *test_driver_build(const char *command, size_t *out_size)
{
    char folder[] = "/tmp/drydock-image-XXXXXX", line[1024];
    uint8_t *bytes = NULL;

    *out_size = 0;
    if (!mkdtemp(folder))
        return NULL;
    snprintf(line, sizeof line, "cd %s && %s", folder, command);
    if (test_driver_write(folder, "d.c", test_driver_source) &&
        test_driver_write(folder, "k.def", "LIBRARY kernel.sys\nEXPORTS\nKernelAdd\n") &&
        test_driver_write(folder, "l.def", "LIBRARY late.sys\nEXPORTS\nKernelLate\n") &&
        system(line) == 0)
        bytes = test_driver_read(folder, out_size);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    if (system(line) != 0)
        fprintf(stderr, "%s is left\n", folder);
    return bytes;
}

/* Guarded, with a security cookie, delay imports and symbols. */
#define TEST_DRIVER_CLANG                                                                          \
    "llvm-dlltool -m i386:x86-64 -d k.def -l k.lib && "                                            \
    "llvm-dlltool -m i386:x86-64 -d l.def -l l.lib && "                                            \
    "clang --target=x86_64-pc-windows-msvc -DGUARDED -O1 -fno-builtin -Xclang -cfguard "           \
    "-fstack-protector-all -c d.c -o d.obj && "                                                    \
    "lld-link /driver /subsystem:native /entry:DriverEntry /nodefaultlib /guard:cf "               \
    "/debug:symtab /delayload:late.sys /out:d.sys d.obj k.lib l.lib"

#define TEST_DRIVER_MINGW                                                                          \
    "x86_64-w64-mingw32-dlltool -d k.def -l k.lib && "                                             \
    "x86_64-w64-mingw32-dlltool -d l.def -l l.lib && "                                             \
    "x86_64-w64-mingw32-gcc -O1 -fno-builtin -nostdlib -o d.sys d.c k.lib l.lib "                  \
    "-Wl,--subsystem,native,--entry,DriverEntry,--dynamicbase"

#endif
