#include "image/rig/test_driver.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char source[] =
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

/* The functions of the source once more, for this process. */
static int64_t deepest(int64_t a)
{
    return a + 3 + a + 5 + a;
}

static int64_t with_alloca(int64_t a)
{
    return deepest(a) + (char)a;
}

static int64_t with_vectors(int64_t x, int64_t a)
{
    double z = (double)x * 2.5;

    return (int64_t)((double)x * 1.5 + (double)with_alloca(a) + z * (double)with_alloca(a + 1) +
                     (double)x);
}

int test_driver_result(int64_t a)
{
    int64_t first = with_vectors(a, a + 1);
    int64_t second = with_vectors(a + 2, a + 3);

    return (int)(first * (a + 4) + second * (a + 5) + a + a + 1 + a + 2 + a + 3 + 49 + 500);
}

static bool has(const char *tool)
{
    char command[128];

    snprintf(command, sizeof command, "command -v %s >/dev/null 2>&1", tool);
    return system(command) == 0;
}

bool test_driver_has_clang(void)
{
    return has("clang") && has("lld-link") && has("llvm-dlltool");
}

bool test_driver_has_mingw(void)
{
    return has("x86_64-w64-mingw32-gcc") && has("x86_64-w64-mingw32-dlltool");
}

static bool write(const char *folder, const char *name, const char *text)
{
    char path[128];
    FILE *file;

    snprintf(path, sizeof path, "%s/%s", folder, name);
    file = fopen(path, "w");
    return file && fputs(text, file) >= 0 && fclose(file) == 0;
}

static uint8_t *read(const char *folder, size_t *out_size)
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

uint8_t *test_driver_build(const char *command, size_t *out_size)
{
    char folder[] = "/tmp/drydock-image-XXXXXX", line[1024];
    uint8_t *bytes = NULL;

    *out_size = 0;
    if (!mkdtemp(folder))
        return NULL;
    snprintf(line, sizeof line, "cd %s && %s", folder, command);
    if (write(folder, "d.c", source) &&
        write(folder, "k.def", "LIBRARY kernel.sys\nEXPORTS\nKernelAdd\n") &&
        write(folder, "l.def", "LIBRARY late.sys\nEXPORTS\nKernelLate\n") && system(line) == 0)
        bytes = read(folder, out_size);
    snprintf(line, sizeof line, "rm -rf %s", folder);
    if (system(line) != 0)
        fprintf(stderr, "%s is left\n", folder);
    return bytes;
}
