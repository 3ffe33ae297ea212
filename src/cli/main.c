/*
 * The entry point: finds the verb, or says which there are.
 */
#include "cli/cli.h"

#include "bench/child/started_level.h"
#include "bench/drivers/driver_files.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static const struct cli_verb *const verbs[] = {
#define VERB(name) &cli_##name,
#include "cli/verbs.inc"
};
#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

static void print_help(FILE *out)
{
    fprintf(out,
            "drydock %s: puts a display miniport under a memory manager, on a modelled machine\n\n",
            DRYDOCK_VERSION);
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(out, "  drydock %-8s %s\n", verbs[i]->name, verbs[i]->summary);
    fprintf(out, "\n"
                 "  drydock VERB --help says what a verb takes. Exit status: 0 fine, 1 findings,\n"
                 "  2 usage or input, 3 internal error.\n");
}

/*
 * A run takes and frees lists of up to a megabyte all the time. The C library would give each back
 * to the host, which clears the pages anew: a twentieth of a long run.
 */
static void keep_freed_memory(void)
{
#if defined M_MMAP_THRESHOLD && defined M_TRIM_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, 4 << 20);
    mallopt(M_TRIM_THRESHOLD, 64 << 20);
#endif
}

int main(int argc, char **argv)
{
    const char *names[VERB_COUNT + 1] = {0};
    const char *nearest;
    enum cli_status status;

    keep_freed_memory();
    cli_add_zoo();
    driver_files_ask_started(child_started_level);
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "help") == 0) {
        print_help(stdout);
        return CLI_FINE;
    }
    if (strcmp(argv[1], "--version") == 0 || strcmp(argv[1], "version") == 0) {
        printf("drydock %s\n", DRYDOCK_VERSION);
        return CLI_FINE;
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        names[i] = verbs[i]->name;
        if (strcmp(argv[1], names[i]) != 0)
            continue;
        status = cli_run_verb(verbs[i], argc - 2, argv + 2);
        if ((fflush(stdout) != 0 || ferror(stdout)) && status <= CLI_FINDINGS) {
            cli_error("cannot write to standard output");
            return CLI_USAGE;
        }
        return (int)status;
    }
    nearest = cli_nearest(argv[1], names);
    if (nearest)
        cli_error("unknown verb '%s' (did you mean %s?)", argv[1], nearest);
    else
        cli_error("unknown verb '%s' (drydock --help lists them)", argv[1]);
    return CLI_USAGE;
}
