/*
 * Program code: where the code of this program and of its libraries lies.
 *
 * Place      bench. Asks the loader (program_code.c) or, on Windows, the system.
 */
#ifndef DRYDOCK_BENCH_PROGRAM_CODE_H
#define DRYDOCK_BENCH_PROGRAM_CODE_H

#include <stdbool.h>

bool program_has_code(const void *address);

#endif
