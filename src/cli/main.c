/*
 * The entry point: finds the verb, or says which there are.
 */
#include "cli/cli.h"
#include "cli/documents.h"
#include "cli/terminal.h"

#include "bench/child/started_level.h"
#include "bench/drivers/driver_files.h"
#include "version.inc"

#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

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
                 "  drydock VERB --help says what a verb takes. Names may be abbreviated.\n"
                 "  Exit status: 0 fine, 1 findings, 2 usage or input, 3 internal error.\n");
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

/* The verb of that name, or the one whose name alone begins so; NULL with a message. */
static const struct cli_verb *find_verb(const char *word)
{
    const char *names[VERB_COUNT + 1] = {0};
    const struct cli_verb *found = NULL;
    const char *nearest;
    char also[128] = "";
    size_t begun = 0;

    for (size_t i = 0; i < VERB_COUNT; i++) {
        names[i] = verbs[i]->name;
        if (strncmp(names[i], word, strlen(word)) != 0)
            continue;
        found = verbs[i];
        if (strcmp(names[i], word) == 0)
            return found;
        snprintf(also + strlen(also), sizeof also - strlen(also), "%s%s", begun++ ? ", " : "",
                 names[i]);
    }
    if (begun == 1 && word[0])
        return found;
    nearest = cli_nearest(word, names);
    if (begun > 1 && word[0])
        cli_error("verb '%s' is the beginning of several: %s", word, also);
    else if (nearest)
        cli_error("unknown verb '%s' (did you mean %s?)", word, nearest);
    else
        cli_error("unknown verb '%s' (drydock --help lists them)", word);
    return NULL;
}

static bool is_one_of(const char *word, const char *a, const char *b, const char *c)
{
    return strcmp(word, a) == 0 || strcmp(word, b) == 0 || strcmp(word, c) == 0;
}

/* "drydock help", "drydock help VERB" */
static enum cli_status help(int argc, char **argv)
{
    const struct cli_verb *verb;

    if (argc == 0) {
        print_help(stdout);
        return CLI_FINE;
    }
    verb = find_verb(argv[0]);
    if (!verb)
        return CLI_USAGE;
    cli_print_help(verb);
    return CLI_FINE;
}

/*
 * A file that is opened where a standard one is closed would get its number, and what is printed
 * would go there. What takes its place can be read and is empty, and cannot be written.
 */
static void fill_standard_files(void)
{
    struct stat status;

    for (int i = STDIN_FILENO; i <= STDERR_FILENO; i++) {
        if (fstat(i, &status) != 0 && errno == EBADF && open("/dev/null", O_RDONLY) < 0)
            break;
    }
}

int main(int argc, char **argv)
{
    const struct cli_verb *verb;
    enum cli_status status;

    fill_standard_files();
    keep_freed_memory();
    cli_add_zoo();
    driver_files_ask_started(child_started_level);
    terminal_choose(NULL, false, false); /* for what is said before options are read */
    if (argc < 2) {
        print_help(stderr);
        return CLI_USAGE;
    }
    if (is_one_of(argv[1], "--help", "-h", "help")) {
        status = help(argc - 2, argv + 2);
    } else if (is_one_of(argv[1], "--version", "-V", "version")) {
        printf("drydock %s\n", DRYDOCK_DESCRIPTION);
        status = CLI_FINE;
    } else if (strcmp(argv[1], "__documents") == 0 && argc == 3) { /* the build's (documents.h) */
        status = documents_write(argv[2]) ? CLI_FINE : CLI_USAGE;
    } else {
        verb = find_verb(argv[1]);
        if (!verb)
            return CLI_USAGE;
        status = cli_run_verb(verb, argc - 2, argv + 2);
    }
    if ((fflush(stdout) != 0 || ferror(stdout)) && status <= CLI_FINDINGS) {
        cli_error("cannot write to standard output");
        return CLI_USAGE;
    }
    return (int)status;
}
