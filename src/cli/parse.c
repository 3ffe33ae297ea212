/*
 * The command line of a verb: its options, those of cases that it takes, those of every verb, and
 * its --help.
 *
 * The forms are those of getopt_long(): "--jobs=2", "--jobs 2", "-j2", "-j 2", letters without a
 * value in front of another ("-qj2"), the beginning of a name that no other option begins with,
 * options anywhere before "--". It is ours because a message says which option was meant, which
 * value is expected and where the list is.
 */
#include "cli/cli.h"
#include "cli/settings/project.h"
#include "cli/terminal.h"

#include <stdio.h>
#include <string.h>

/* ---- Options --------------------------------------------------------------------------------- */

/* Options of every verb. */
#define COMMON(ROW)                                                                                \
    ROW(QUIET, "quiet", 'q', NULL, "errors and findings alone: no progress, notes or summary")     \
    ROW(PROGRESS, "progress", 0, NULL, "lines about progress, where there is no terminal, too")    \
    ROW(COLOR, "color", 0, "WHEN", "auto, always or never (auto; NO_COLOR, CLICOLOR_FORCE)")       \
    ROW(SETTINGS, "settings", 0, "FILE", "take FILE for drydock.toml; none: take none")            \
    ROW(HELP, "help", 'h', NULL, "this text")
#define COMMON_PLACE(place, ...) COMMON_##place,
enum { COMMON(COMMON_PLACE) COMMON_COUNT };
static const struct cli_option common[] = {COMMON(CLI_OPTION_ROW){NULL, 0, NULL, NULL}};

/* Options of the verbs that take a case's: they become its surroundings. */
#define BOARD(ROW)                                                                                 \
    ROW(INF, "inf", 0, "FILE", "the driver's INF: hardware ID, registry values, messages (none)")  \
    ROW(REGISTERS, "registers", 0, "WHAT",                                                         \
        "without a model: memory, ones, or a file of OFFSET=NUMBER (memory)")
#define BOARD_PLACE(place, ...) BOARD_##place,
enum { BOARD(BOARD_PLACE) BOARD_COUNT };
static const struct cli_option board[] = {BOARD(CLI_OPTION_ROW){NULL, 0, NULL, NULL}};

/* An option, and where its value goes. */
struct found {
    const char *name, *takes; /* takes NULL: no value */
    char letter;
    const char *help;
    const char **value;
    bool is_repeated;
};

/* False: there are too many. */
static bool add_repeated(struct cli_arguments *out, const struct found *found, const char *value)
{
    if (out->repeated_count == CLI_MAX_ARGUMENTS)
        return false;
    out->repeated[out->repeated_count++] = (struct cli_repeated){found->name, value};
    return true;
}

struct parser {
    const struct cli_verb *verb;
    struct cli_arguments *out;
    const char *common[COMMON_COUNT], *board[BOARD_COUNT]; /* values */
};

/* The i-th option that the verb takes, in the order of --help. False: there are no more. */
static bool option_at(struct parser *parser, size_t i, struct found *out)
{
    const struct cli_verb *verb = parser->verb;
    size_t own = 0;

    for (size_t j = 0; j < WORKLOAD_OPTION_COUNT; j++) {
        const struct cli_case_option *option = &cli_case_options[j];

        if (!(option->of & verb->case_options) || i-- != 0)
            continue;
        *out = (struct found){.name = option->name,
                              .takes = option->value,
                              .help = option->help,
                              .value = &parser->out->case_values[j]};
        return true;
    }
    if (verb->case_options && i < BOARD_COUNT) {
        *out = (struct found){.name = board[i].name,
                              .takes = board[i].value,
                              .help = board[i].help,
                              .value = &parser->board[i]};
        return true;
    }
    i -= verb->case_options ? BOARD_COUNT : 0;
    while (verb->options[own].name)
        own++;
    if (i < own) {
        const struct cli_option *option = &verb->options[i];

        *out = (struct found){.name = option->name,
                              .takes = option->value,
                              .letter = option->letter,
                              .help = option->help,
                              .value = &parser->out->values[i],
                              .is_repeated = verb->repeated_options & CLI_REPEATED(i)};
        return true;
    }
    i -= own;
    if (i >= COMMON_COUNT)
        return false;
    *out = (struct found){common[i].name, common[i].value,    common[i].letter,
                          common[i].help, &parser->common[i], false};
    for (size_t j = 0; j < own; j++) {
        if (verb->options[j].letter == out->letter)
            out->letter = 0; /* the verb's own means something else */
    }
    return true;
}

bool cli_option_at(const struct cli_verb *verb, size_t i, struct cli_option *out)
{
    struct cli_arguments arguments;
    struct parser parser = {.verb = verb, .out = &arguments};
    struct found found;

    if (!option_at(&parser, i, &found))
        return false;
    *out = (struct cli_option){found.name, found.letter, found.takes, found.help};
    return true;
}

/* ---- Help ------------------------------------------------------------------------------------ */

static void print_option(const struct found *option)
{
    char short_form[8] = "    ", form[64];

    if (option->letter)
        snprintf(short_form, sizeof short_form, "-%c%s", option->letter,
                 option->name[0] ? ", " : "");
    snprintf(form, sizeof form, "%s%s%s%s%s", short_form, option->name[0] ? "--" : "", option->name,
             option->takes ? " " : "", option->takes ? option->takes : "");
    printf("  %-32s %s\n", form, option->help);
}

void cli_print_help(const struct cli_verb *verb)
{
    struct cli_arguments arguments = {0};
    struct parser parser = {.verb = verb, .out = &arguments};
    struct found option;

    printf("drydock %s %s\n\n%s.\n", verb->name, verb->usage, verb->summary);
    if (verb->details)
        printf("\n%s\n", verb->details);
    printf("\n");
    for (size_t i = 0; option_at(&parser, i, &option); i++)
        print_option(&option);
}

/* ---- Names ----------------------------------------------------------------------------------- */

/* The option of that name, or the one whose name alone begins so. False with a message. */
static bool find_option(struct parser *parser, const char *name, size_t length, struct found *out)
{
    const char *names[CLI_MAX_ARGUMENTS + WORKLOAD_OPTION_COUNT + BOARD_COUNT + COMMON_COUNT + 1] =
        {0};
    const char *verb = parser->verb->name;
    char word[64], also[256] = "";
    struct found option;
    size_t count = 0, begun = 0;

    for (size_t i = 0; option_at(parser, i, &option); i++) {
        if (!option.name[0])
            continue;
        names[count++] = option.name;
        if (strncmp(option.name, name, length) != 0)
            continue;
        *out = option;
        if (option.name[length] == '\0')
            return true;
        if (begun++ < 8)
            snprintf(also + strlen(also), sizeof also - strlen(also), "%s--%s",
                     begun > 1 ? ", " : "", option.name);
    }
    if (begun == 1 && length)
        return true;
    snprintf(word, sizeof word, "%.*s", (int)length, name);
    if (begun > 1 && length) {
        cli_error("option '--%s' of '%s' is the beginning of several: %s%s", word, verb, also,
                  begun > 8 ? ", ..." : "");
        return false;
    }
    name = cli_nearest(word, names);
    if (name)
        cli_error("unknown option '--%s' of '%s' (did you mean --%s?)", word, verb, name);
    else
        cli_error("unknown option '--%s' of '%s' (drydock %s --help lists them)", word, verb, verb);
    return false;
}

static bool find_letter(struct parser *parser, char letter, struct found *out)
{
    for (size_t i = 0; option_at(parser, i, out); i++) {
        if (out->letter == letter)
            return true;
    }
    return false;
}

/* ---- Values ---------------------------------------------------------------------------------- */

/* value NULL: none was joined to the option, and the next argument is one. */
static bool take_option(struct parser *parser, const struct found *found, const char *value,
                        int argc, char **argv, int *at)
{
    struct cli_arguments *out = parser->out;

    if (!found->takes) {
        if (value) {
            cli_error("option --%s takes no value", found->name);
            return false;
        }
        value = "";
    } else if (!value) {
        if (*at + 1 >= argc) {
            cli_error("option --%s needs a value (%s)", found->name, found->takes);
            return false;
        }
        value = argv[++*at];
    }
    if (found->is_repeated && !add_repeated(out, found, value)) {
        cli_error("option --%s is given too often", found->name);
        return false;
    }
    *found->value = value;
    return true;
}

/* "--jobs=2", "--jobs": the latter takes the next argument as its value. */
static bool parse_name(struct parser *parser, int argc, char **argv, int *at)
{
    const char *name = argv[*at] + 2;
    const char *equals = strchr(name, '=');
    struct found found;

    return find_option(parser, name, equals ? (size_t)(equals - name) : strlen(name), &found) &&
           take_option(parser, &found, equals ? equals + 1 : NULL, argc, argv, at);
}

/* "-j2", "-j", "-q", "-qj2". */
static bool parse_letters(struct parser *parser, int argc, char **argv, int *at)
{
    const char *argument = argv[*at];

    for (const char *letter = argument + 1; *letter; letter++) {
        struct found found;

        if (!find_letter(parser, *letter, &found)) {
            cli_error("unknown option '%s' of '%s' (drydock %s --help lists them)", argument,
                      parser->verb->name, parser->verb->name);
            return false;
        }
        if (found.takes)
            return take_option(parser, &found, letter[1] ? letter + 1 : NULL, argc, argv, at);
        if (!take_option(parser, &found, NULL, argc, argv, at))
            return false;
    }
    return true;
}

/* ---- Settings -------------------------------------------------------------------------------- */

/* The value lives as long as the program. NULL: with a message. */
static const char *value_of(const struct project *project, const struct toml_entry *entry,
                            size_t element)
{
    char value[2048], *kept = NULL;

    if (project_value(project, entry, element, value, sizeof value))
        kept = strdup(value);
    if (!kept)
        cli_error("%s:%u: the value of %s is too long", project->path, entry->line, entry->key);
    return kept;
}

static bool take_setting(struct parser *parser, const struct project *project,
                         const struct found *found, const struct toml_entry *entry)
{
    struct cli_arguments *out = parser->out;

    for (size_t i = 0; i < entry->count; i++) {
        const char *value = value_of(project, entry, i);

        if (!value)
            return false;
        *found->value = value;
        if (found->is_repeated && !add_repeated(out, found, value)) {
            cli_error("%s:%u: %s has too many values", project->path, entry->line, entry->key);
            return false;
        }
    }
    return true;
}

/* What the command line does not say, drydock.toml may. */
static bool take_settings(struct parser *parser)
{
    struct found found;
    struct project project;
    char told[512] = "";
    bool is_fine;

    if (!project_is_for(parser->verb))
        return true;
    is_fine = project_load(parser->common[COMMON_SETTINGS], &project);
    for (size_t i = 0; is_fine && project.path[0] && option_at(parser, i, &found); i++) {
        const bool is_of_case = found.value >= parser->out->case_values &&
                                found.value < parser->out->case_values + WORKLOAD_OPTION_COUNT;
        const struct toml_entry *entry =
            found.name[0] && !*found.value
                ? project_find(&project, parser->verb->name, found.name, is_of_case)
                : NULL;

        if (!entry || (entry->kind == TOML_BOOLEAN && strcmp(entry->elements[0], "false") == 0))
            continue;
        is_fine =
            project_may_take(&project, entry) && take_setting(parser, &project, &found, entry);
        snprintf(told + strlen(told), sizeof told - strlen(told), "%s%s", told[0] ? ", " : "",
                 found.name);
    }
    if (is_fine && told[0])
        cli_note("note: %s sets %s", project.path, told);
    project_free(&project);
    return is_fine;
}

/* What cannot be written is told before the work is done, which would be lost. */
static bool may_write_reports(const struct parser *parser)
{
    const struct cli_option *option = parser->verb->options;

    for (size_t i = 0; option[i].name; i++) {
        const char *path = parser->out->values[i];

        if (path &&
            (strcmp(option[i].name, "junit") == 0 || strcmp(option[i].name, "sarif") == 0) &&
            !cli_may_write(path))
            return false;
    }
    return true;
}

/* ---- The terminal ---------------------------------------------------------------------------- */

static bool choose_terminal(const struct parser *parser)
{
    const char *color = parser->common[COMMON_COLOR];

    if (terminal_choose(color, parser->common[COMMON_PROGRESS] != NULL,
                        parser->common[COMMON_QUIET] != NULL))
        return true;
    cli_error("option --color: unknown word '%s' (expected auto, always, never)", color);
    return false;
}

/* ---- The verb -------------------------------------------------------------------------------- */

/* "--quiet", "--color=never", "-q": whole, as another program may mean something else by the rest.
 */
static bool is_common(const char *argument, size_t place)
{
    const struct cli_option *option = &common[place];
    const size_t length = strlen(option->name);

    if (argument[0] != '-' || argument[1] != '-')
        return option->letter && argument[0] == '-' && argument[1] == option->letter &&
               !argument[2];
    return strncmp(argument + 2, option->name, length) == 0 &&
           (argument[2 + length] == '=' || !argument[2 + length]);
}

/*
 * A verb that reads what stands there itself has the options of every verb nonetheless, by their
 * whole names, before "--".
 */
static bool parse_raw(struct parser *parser, int argc, char **argv)
{
    struct cli_arguments *out = parser->out;
    bool options_end = false;

    for (int i = 0; i < argc; i++) {
        size_t place = 0;

        options_end |= strcmp(argv[i], "--") == 0;
        while (place < COMMON_COUNT && (options_end || !is_common(argv[i], place)))
            place++;
        if (place < COMMON_COUNT) {
            const struct found found = {.name = common[place].name,
                                        .takes = common[place].value,
                                        .value = &parser->common[place]};
            const char *equals = strchr(argv[i], '=');

            if (!take_option(parser, &found, equals ? equals + 1 : NULL, argc, argv, &i))
                return false;
            continue;
        }
        if (out->raw_count == CLI_MAX_RAW) {
            cli_error("more than %d arguments", CLI_MAX_RAW);
            return false;
        }
        out->raw[out->raw_count++] = argv[i];
    }
    return true;
}

static bool parse(struct parser *parser, int argc, char **argv)
{
    struct cli_arguments *out = parser->out;
    bool options_end = false;

    for (int i = 0; i < argc && !parser->common[COMMON_HELP]; i++) {
        if (!options_end && strcmp(argv[i], "--") == 0) {
            options_end = true;
        } else if (!options_end && argv[i][0] == '-' && argv[i][1] != '\0') {
            if (argv[i][1] == '-' ? !parse_name(parser, argc, argv, &i)
                                  : !parse_letters(parser, argc, argv, &i))
                return false;
        } else if (out->rest_count == CLI_MAX_FILES) {
            cli_error("more than %d cases, folders or files: name a folder", CLI_MAX_FILES);
            return false;
        } else {
            out->rest[out->rest_count++] = argv[i];
        }
    }
    return true;
}

enum cli_status cli_run_verb(const struct cli_verb *verb, int argc, char **argv)
{
    static struct cli_arguments arguments;
    struct parser parser = {.verb = verb, .out = &arguments};

    arguments.verb = verb->name;
    arguments.given = argv;
    arguments.given_count = (size_t)argc;
    if (verb->takes_all ? !parse_raw(&parser, argc, argv) : !parse(&parser, argc, argv))
        return CLI_USAGE;
    if (parser.common[COMMON_HELP]) {
        cli_print_help(verb);
        return CLI_FINE;
    }
    arguments.settings = parser.common[COMMON_SETTINGS];
    if (!choose_terminal(&parser) || !take_settings(&parser) || !may_write_reports(&parser) ||
        !cli_gather_surroundings(&arguments, parser.board[BOARD_INF],
                                 parser.board[BOARD_REGISTERS]))
        return CLI_USAGE;
    return verb->run(&arguments);
}
