/*
 * drydock watch: builds and plays whenever a source has changed.
 *
 * Sources are looked at four times a second: their names, sizes and times. That costs little for
 * the folder of a driver, and works where no notice comes (network file systems, containers). What
 * failed last is played first: as long as it fails, nothing else is.
 */
#define _GNU_SOURCE /* nftw() */
#include "cli/cli.h"
#include "cli/terminal.h"

#include "base/hash.h"

#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define OPTIONS(ROW)                                                                               \
    ROW(BUILD, "build", 'b', "COMMAND", "what builds the driver, for a shell (make, or nothing)")  \
    ROW(OUT, "out", 'o', "DIR", "folder for results and findings (.drydock-watch)")                \
    ROW(PLAYS, "plays", 0, "N", "end after so many builds, with the status of the last (never)")
CLI_OPTIONS(OPTIONS)

#define LOOK_NS    250000000L /* between two looks at the sources */
#define MOST_FILES 50000u

/* What nftw() has no context for. */
static struct {
    const char *out; /* results: no sources */
    uint64_t sum;    /* of names, sizes and times, whatever their order */
    unsigned files;
} looking;

/* "x.c", "drydock.toml", "Makefile" */
static bool is_source(const char *name)
{
    static const char *const ends[] = {".c",     ".cc",      ".cpp",  ".cxx",  ".h",
                                       ".hpp",   ".hxx",     ".inc",  ".inl",  ".def",
                                       ".cmake", ".vcxproj", ".case", ".toml", ".rs"};
    static const char *const names[] = {"Makefile", "makefile", "GNUmakefile", "CMakeLists.txt"};
    const char *dot = strrchr(name, '.');

    for (size_t i = 0; dot && i < sizeof ends / sizeof ends[0]; i++) {
        if (strcmp(dot, ends[i]) == 0)
            return true;
    }
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(name, names[i]) == 0)
            return true;
    }
    return false;
}

static int look(const char *path, const struct stat *status, int type, struct FTW *place)
{
    const char *name = path + place->base;
    struct hash hash;

    if (place->level && name[0] == '.')
        return FTW_SKIP_SUBTREE;
    if (type == FTW_D) {
        const char *relative = strncmp(path, "./", 2) == 0 ? path + 2 : path;

        return strcmp(relative, looking.out) == 0 ? FTW_SKIP_SUBTREE : FTW_CONTINUE;
    }
    if (type != FTW_F || !is_source(name))
        return FTW_CONTINUE;
    hash_init(&hash, 0);
    hash_update(&hash, path, strlen(path) + 1);
    hash_update(&hash, &status->st_mtim, sizeof status->st_mtim);
    hash_update(&hash, &status->st_size, sizeof status->st_size);
    hash_update(&hash, &status->st_ino, sizeof status->st_ino);
    looking.sum += hash_final(&hash);
    return ++looking.files < MOST_FILES ? FTW_CONTINUE : FTW_STOP;
}

static uint64_t look_at_sources(const char *out)
{
    looking.out = out;
    looking.sum = 0;
    looking.files = 0;
    nftw(".", look, 16, FTW_PHYS | FTW_ACTIONRETVAL);
    return looking.sum;
}

/* ---- Commands -------------------------------------------------------------------------------- */

/* Its exit status; 128 and the signal that ended it; -1: no process. */
static int play(char *const words[])
{
    pid_t child;
    int status;

    fflush(NULL);
    child = fork();
    if (child == 0) {
        execvp(words[0], words);
        perror(words[0]);
        _exit(127);
    }
    if (child < 0)
        return -1;
    while (waitpid(child, &status, 0) < 0) {
        if (interrupt_came())
            continue; /* the child has the signal as well, and ends in order */
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static bool build(const char *command)
{
    char *const words[] = {"sh", "-c", (char *)command, NULL};
    int status;

    if (!command)
        return true;
    status = play(words);
    if (status)
        cli_error("the build ends with %d: %s", status, command);
    return status == 0;
}

/* drydock check with the words that the user gave, then ours. */
static int check(const struct cli_arguments *arguments, const char *out, const char *how)
{
    char *words[CLI_MAX_FILES + 8];
    size_t count = 0;

    words[count++] = "/proc/self/exe";
    words[count++] = "check";
    words[count++] = "--out";
    words[count++] = (char *)out;
    words[count++] = (char *)how;
    for (size_t i = 0; i < arguments->rest_count; i++)
        words[count++] = (char *)arguments->rest[i];
    words[count] = NULL;
    return play(words);
}

/* ---- The verb -------------------------------------------------------------------------------- */

struct watch {
    const struct cli_arguments *arguments;
    const char *build, *out;
    bool has_failed; /* the last campaign, whose folder is there */
    int status;      /* of the last */
};

static void play_all(struct watch *watch)
{
    if (!build(watch->build)) {
        watch->status = CLI_USAGE;
        return;
    }
    if (watch->has_failed) {
        watch->status = check(watch->arguments, watch->out, "--rerun-failed");
        if (watch->status == CLI_FINDINGS || interrupt_came()) {
            cli_note("what failed last fails still");
            return;
        }
        if (watch->status == CLI_FINE)
            cli_note("what failed last is fine; all is played");
    }
    if (!interrupt_came())
        watch->status = check(watch->arguments, watch->out, "--force");
    watch->has_failed = watch->status == CLI_FINDINGS;
}

static enum cli_status watch_sources(const struct cli_arguments *arguments)
{
    struct watch watch = {.arguments = arguments,
                          .build = arguments->values[OPTION_BUILD],
                          .out = arguments->values[OPTION_OUT]};
    const struct timespec pause = {.tv_nsec = LOOK_NS};
    uint64_t plays = 0, most = 0, seen;

    if (arguments->values[OPTION_PLAYS] &&
        !cli_number("plays", arguments->values[OPTION_PLAYS], 1, 1u << 30, &most))
        return CLI_USAGE;
    if (!watch.build && access("Makefile", R_OK) == 0)
        watch.build = "make";
    if (!watch.out)
        watch.out = ".drydock-watch";
    interrupt_catch();
    for (;;) {
        uint64_t next, last;

        seen = look_at_sources(watch.out);
        play_all(&watch);
        plays++;
        if (interrupt_came() || plays == most)
            break;
        /* What the build itself wrote is no change. */
        if (watch.build && watch.status != CLI_USAGE)
            seen = look_at_sources(watch.out);
        cli_note("watching %u source%s; Ctrl-C ends", looking.files, looking.files == 1 ? "" : "s");
        while ((next = look_at_sources(watch.out)) == seen && !interrupt_came())
            nanosleep(&pause, NULL);
        /* An editor writes several files: until nothing changes any more. */
        do {
            last = next;
            nanosleep(&pause, NULL);
            next = look_at_sources(watch.out);
        } while (next != last && !interrupt_came());
        if (interrupt_came())
            break;
    }
    return interrupt_came() ? cli_interrupted(watch.out, NULL) : (enum cli_status)watch.status;
}

const struct cli_verb cli_watch = {
    .name = "watch",
    .usage = "[options] [-- OPTIONS of drydock check]",
    .summary = "Builds and plays a campaign whenever a source has changed",
    .details =
        "In the folder of a driver: builds it (make, where there is a Makefile), plays drydock\n"
        "check with the options behind --, and does so again whenever a source, a case or\n"
        "drydock.toml below the folder changes. What failed last is played first, and nothing "
        "else\n"
        "as long as it fails.",
    .options = options,
    .run = watch_sources,
};
