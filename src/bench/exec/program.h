/*
 * Program: what a program that is to find libdxcore.so and its server is started with.
 *
 * Place      bench. Used by server.c, and by who joins a server.
 */
#ifndef DRYDOCK_BENCH_EXEC_PROGRAM_H
#define DRYDOCK_BENCH_EXEC_PROGRAM_H

#include <stdbool.h>

#include <sys/types.h>

/*
 * Of this process, for programs that it starts: the server's socket, and the folder of libdxcore.so
 * before LD_LIBRARY_PATH. False: no memory.
 */
bool exec_set_environment(const char *socket_path, const char *library_dir);

/* speaks_aside: what it prints goes to standard error. Gives an errno; 0: it runs. */
int exec_start_program(char *const *program, bool speaks_aside, pid_t *out_pid);

/* Descriptors that this process may have behind exec_raise_file_limit(). */
unsigned exec_most_files(void);
/*
 * What clients share costs descriptors here, one for each: the server has as many as it may. Behind
 * the start of the program, which keeps the limit as it was.
 */
void exec_raise_file_limit(void);

#endif
