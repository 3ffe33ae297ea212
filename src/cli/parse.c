/*
 * The command line of a verb: its options and those of cases that it takes, and its --help.
 */
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

/* An option, and where its value goes. */
struct found {
    const char *name, *takes; /* NULL: no value */
    const char **value;       /* NULL: there is no such option */
    bool is_repeated;
};

/* ---- Help ------------------------------------------------------------------------------------ */

static void print_option(const char *name, char letter, const char *takes, const char *help)
{
    char short_form[8] = "   ", form[64];

    if (letter)
        snprintf(short_form, sizeof short_form, "-%c%s", letter, name[0] ? ", " : "");
    else
        snprintf(short_form, sizeof short_form, "    ");
    snprintf(form, sizeof form, "%s%s%s%s%s", short_form, name[0] ? "--" : "", name,
             takes ? " " : "", takes ? takes : "");
    printf("  %-32s %s\n", form, help);
}

static void print_help(const struct cli_verb *verb)
{
    printf("drydock %s %s\n\n%s.\n", verb->name, verb->usage, verb->summary);
    if (verb->details)
        printf("\n%s\n", verb->details);
    printf("\n");
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        const struct cli_case_option *option = &cli_case_options[i];

        if (option->of & verb->case_options)
            print_option(option->name, 0, option->value, option->help);
    }
    for (const struct cli_option *option = verb->options; option->name; option++)
        print_option(option->name, option->letter, option->value, option->help);
    print_option("help", 0, NULL, "this text");
}

/* ---- Options --------------------------------------------------------------------------------- */

static bool is_word(const char *word, const char *name, size_t length)
{
    return strlen(word) == length && strncmp(word, name, length) == 0;
}

/* By name, or by letter where name is NULL. */
static struct found find_option(const struct cli_verb *verb, const char *name, size_t length,
                                char letter, struct cli_arguments *out)
{
    for (int i = 0; verb->options[i].name; i++) {
        const struct cli_option *option = &verb->options[i];

        if (name ? is_word(option->name, name, length) : letter && option->letter == letter)
            return (struct found){option->name, option->value, &out->values[i],
                                  i == verb->repeated_option};
    }
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT && name; i++) {
        const struct cli_case_option *option = &cli_case_options[i];

        if ((option->of & verb->case_options) && is_word(option->name, name, length))
            return (struct found){option->name, option->value, &out->case_values[i], false};
    }
    return (struct found){NULL};
}

static enum cli_status unknown_option(const struct cli_verb *verb, const char *argument)
{
    const char *names[CLI_MAX_ARGUMENTS + WORKLOAD_OPTION_COUNT + 1] = {"help"};
    const char *word = argument + strspn(argument, "-");
    const char *nearest;
    size_t count = 1;

    for (const struct cli_option *option = verb->options; option->name; option++)
        names[count++] = option->name;
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        if (cli_case_options[i].of & verb->case_options)
            names[count++] = cli_case_options[i].name;
    }
    nearest = cli_nearest(word, names);
    if (nearest)
        cli_error("unknown option '%s' of '%s' (did you mean --%s?)", argument, verb->name,
                  nearest);
    else
        cli_error("unknown option '%s' of '%s' (drydock %s --help lists them)", argument,
                  verb->name, verb->name);
    return CLI_USAGE;
}

/*
 * One argument that begins with a dash: "--jobs=2", "-j2", or "--jobs" and "-j", which take the
 * next argument as their value.
 */
static enum cli_status parse_option(const struct cli_verb *verb, int argc, char **argv, int *at,
                                    struct cli_arguments *out)
{
    const char *argument = argv[*at];
    const char *equals = strchr(argument, '=');
    const char *value = NULL;
    struct found found = {NULL};

    if (argument[1] == '-') {
        size_t length = equals ? (size_t)(equals - argument - 2) : strlen(argument + 2);

        found = find_option(verb, argument + 2, length, 0, out);
        value = equals ? equals + 1 : NULL;
    } else {
        found = find_option(verb, NULL, 0, argument[1], out);
        value = argument[2] ? argument + 2 : NULL;
        if (value && !found.takes)
            found.value = NULL; /* letters are not joined */
    }
    if (!found.value)
        return unknown_option(verb, argument);
    if (!found.takes) {
        if (value) {
            cli_error("option --%s takes no value", found.name);
            return CLI_USAGE;
        }
        value = "";
    } else if (!value) {
        if (*at + 1 >= argc) {
            cli_error("option --%s needs a value (%s)", found.name, found.takes);
            return CLI_USAGE;
        }
        value = argv[++*at];
    }
    if (found.is_repeated) {
        if (out->repeated_count == CLI_MAX_ARGUMENTS) {
            cli_error("option --%s is given too often", found.name);
            return CLI_USAGE;
        }
        out->repeated[out->repeated_count++] = value;
    }
    *found.value = value;
    return CLI_FINE;
}

/* ---- The verb -------------------------------------------------------------------------------- */

enum cli_status cli_run_verb(const struct cli_verb *verb, int argc, char **argv)
{
    struct cli_arguments arguments = {0};
    bool options_end = false;
    enum cli_status status;

    arguments.raw = (const char *const *)argv;
    arguments.raw_count = (size_t)argc;
    for (int i = 0; i < argc && verb->takes_all; i++) {
        if (strcmp(argv[i], "--help") == 0) {
            print_help(verb);
            return CLI_FINE;
        }
    }
    for (int i = 0; i < argc && !verb->takes_all; i++) {
        if (!options_end && strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else if (!options_end && strcmp(argv[i], "--help") == 0) {
            print_help(verb);
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
