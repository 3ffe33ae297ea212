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
#include <stddef.h>
#include <stdint.h>

/* The result of DriverEntry(a), when KernelAdd() adds and KernelLate() multiplies by 100. */
int test_driver_result(int64_t a);

/* The tools are installed. */
bool test_driver_has_clang(void);
bool test_driver_has_mingw(void);

/*
 * The bytes of a driver, for free(); NULL: the tools failed, and have said why. The command makes
 * d.sys of d.c, k.def and l.def.
 */
uint8_t *test_driver_build(const char *command, size_t *out_size);

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
