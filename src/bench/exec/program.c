#define _GNU_SOURCE
#include "bench/exec/program.h"

#include "base/bits.h"
#include "thunk/protocol.h"

#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <unistd.h>

extern char **environ;

/* A list with colons, of which this is the first: false when memory is short. */
static bool put_first(const char *variable, const char *first)
{
    const char *others = getenv(variable);
    char *all;
    bool is_set;

    if (asprintf(&all, "%s%s%s", first, others ? ":" : "", others ? others : "") < 0)
        return false;
    is_set = !setenv(variable, all, 1);
    free(all);
    return is_set;
}

#define PRELOADED "libdrydock-wsl.so"

/*
 * A driver for WSL opens libdxcore.so by a path of WSL's (src/preload); others need no more. The
 * loader finds it by name in LD_LIBRARY_PATH: LD_PRELOAD can name no path with blanks.
 */
static bool set_preload(const char *library_dir)
{
    char *library;
    bool is_set = true;

    if (asprintf(&library, "%s/" PRELOADED, library_dir) < 0)
        return false;
    if (access(library, R_OK) == 0)
        is_set = put_first("LD_PRELOAD", PRELOADED);
#if defined(__SANITIZE_ADDRESS__)
    /* Built with this sanitizer the libraries have its runtime, which then is not the first. */
    is_set = is_set && put_first("ASAN_OPTIONS", "verify_asan_link_order=0");
#endif
    free(library);
    return is_set;
}

bool exec_set_environment(const char *socket_path, const char *library_dir)
{
    return !setenv(PROTOCOL_VARIABLE, socket_path, 1) &&
           put_first("LD_LIBRARY_PATH", library_dir) && set_preload(library_dir);
}

int exec_start_program(char *const *program, bool speaks_aside, pid_t *out_pid)
{
    posix_spawn_file_actions_t actions;
    int error = posix_spawn_file_actions_init(&actions);

    if (error)
        return error;
    if (speaks_aside)
        error = posix_spawn_file_actions_adddup2(&actions, STDERR_FILENO, STDOUT_FILENO);
    if (!error)
        error = posix_spawnp(out_pid, program[0], &actions, NULL, program, environ);
    posix_spawn_file_actions_destroy(&actions);
    return error;
}

/* ---- Descriptors ----------------------------------------------------------------------------- */

#define MOST_FILES 65536u /* where the system allows so many */

unsigned exec_most_files(void)
{
    struct rlimit limit;

    return getrlimit(RLIMIT_NOFILE, &limit) ? 0 : (unsigned)min_u64(MOST_FILES, limit.rlim_max);
}

void exec_raise_file_limit(void)
{
    struct rlimit limit;

    if (getrlimit(RLIMIT_NOFILE, &limit))
        return;
    limit.rlim_cur = max_u64(limit.rlim_cur, exec_most_files());
    setrlimit(RLIMIT_NOFILE, &limit);
}
