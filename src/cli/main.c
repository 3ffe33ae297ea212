/*
 * The entry point: finds the verb, parses what it takes, prints help.
 */
#include "cli/cli.h"

#include <malloc.h>
#include <stdio.h>
#include <string.h>

static const struct cli_verb *const verbs[] = {
    &cli_run, &cli_replay, &cli_shrink,  &cli_check, &cli_merge, &cli_import,  &cli_gen, &cli_ops,
    &cli_zoo, &cli_rules,  &cli_explain, &cli_bench, &cli_cc,    &cli_imports, &cli_new};
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

static void print_verb_help(const struct cli_verb *verb)
{
    printf("drydock %s %s\n\n%s.\n", verb->name, verb->usage, verb->summary);
    if (verb->details)
        printf("\n%s\n", verb->details);
    printf("\n");
    for (const struct cli_option *option = verb->options; option->name; option++) {
        char form[64];

        bool has_both = option->letter && option->name[0];

        snprintf(form, sizeof form, "%s%c%s%s%s%s%s", option->letter ? "-" : "",
                 option->letter ? option->letter : ' ',
                 has_both         ? ", "
                 : option->letter ? ""
                                  : "   ",
                 option->name[0] ? "--" : "", option->name, option->value ? " " : "",
                 option->value ? option->value : "");
        printf("  %-32s %s\n", form, option->help);
    }
    printf("  %-32s %s\n", "    --help", "this text");
}

/* The place of an option in the verb's table; -1 when it has none of that name. */
static int find_option(const struct cli_verb *verb, const char *name, size_t length, char letter)
{
    for (int i = 0; verb->options[i].name; i++) {
        const struct cli_option *option = &verb->options[i];

        if (name ? strlen(option->name) == length && strncmp(option->name, name, length) == 0
                 : letter && option->letter == letter)
            return i;
    }
    return -1;
}

static enum cli_status unknown_option(const struct cli_verb *verb, const char *argument)
{
    const char *names[CLI_MAX_ARGUMENTS + 1] = {"help"};
    const char *word = argument + strspn(argument, "-");
    const char *nearest;
    size_t count = 1;

    for (const struct cli_option *option = verb->options; option->name; option++)
        names[count++] = option->name;
    nearest = cli_nearest(word, names);
    if (nearest)
        cli_error("unknown option '%s' of '%s' (did you mean --%s?)", argument, verb->name,
                  nearest);
    else
        cli_error("unknown option '%s' of '%s' (drydock %s --help lists them)", argument,
                  verb->name, verb->name);
    return CLI_USAGE;
}

/* One argument that begins with a dash; may take the next one as its value. */
static enum cli_status parse_option(const struct cli_verb *verb, int argc, char **argv, int *at,
                                    struct cli_arguments *out)
{
    const char *argument = argv[*at];
    const char *equals = strchr(argument, '=');
    const char *value = NULL;
    int place;

    if (argument[1] == '-') {
        size_t length = equals ? (size_t)(equals - argument - 2) : strlen(argument + 2);

        place = find_option(verb, argument + 2, length, 0);
        value = equals ? equals + 1 : NULL;
    } else {
        place = argument[2] == '\0' ? find_option(verb, NULL, 0, argument[1]) : -1;
    }
    if (place < 0)
        return unknown_option(verb, argument);
    if (!verb->options[place].value) {
        if (value) {
            cli_error("option --%s takes no value", verb->options[place].name);
            return CLI_USAGE;
        }
        value = "";
    } else if (!value) {
        if (*at + 1 >= argc) {
            cli_error("option --%s needs a value (%s)", verb->options[place].name,
                      verb->options[place].value);
            return CLI_USAGE;
        }
        value = argv[++*at];
    }
    if (place == verb->repeated_option) {
        if (out->repeated_count == CLI_MAX_ARGUMENTS) {
            cli_error("option --%s is given too often", verb->options[place].name);
            return CLI_USAGE;
        }
        out->repeated[out->repeated_count++] = value;
    }
    out->values[place] = value;
    return CLI_FINE;
}

static enum cli_status run_verb(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_arguments arguments = {0};
    bool options_end = false;
    enum cli_status status;

    arguments.raw = (const char *const *)argv;
    arguments.raw_count = (size_t)argc;
    for (int i = 0; i < argc && verb->takes_all; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_verb_help(verb);
            return CLI_FINE;
        }
    }
    for (int i = 0; i < argc && !verb->takes_all; i++) {
        if (!options_end && strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else if (!options_end && strcmp(argv[i], "--help") == 0) {
            print_verb_help(verb);
            return CLI_FINE;
        } else if (!options_end && argv[i][0] == '-' && argv[i][1] != '\0') {
            status = parse_option(verb, argc, argv, &i, &arguments);
            if (status != CLI_FINE)
                return status;
        } else if (arguments.rest_count == CLI_MAX_ARGUMENTS) {
            cli_error("too many arguments");
            return CLI_USAGE;
        } else {
            arguments.rest[arguments.rest_count++] = argv[i];
        }
    }
    return verb->run(&arguments);
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
        status = run_verb(verbs[i], argc - 2, argv + 2);
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
