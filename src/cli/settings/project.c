/*
 * Where drydock.toml is, and what it may say.
 */
#include "cli/settings/project.h"

#include "bench/board/gpu_plugin.h"
#include "cli/cli.h"
#include "workload/named_file.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define MOST_LEVELS 64

static const char *const project_verbs[] = {PROJECT_VERBS};
#define VERB_COUNT (sizeof project_verbs / sizeof project_verbs[0])

static const struct cli_verb *const verbs[] = {
#define VERB(name) &cli_##name,
#include "cli/verbs.inc"
};

/* Options whose values are paths, or become paths by a slash in them. */
static const char *const paths[] = {"baseline", "calls", "client-file", "db",   "findings",
                                    "junit",    "out",   "policy-file", "sarif"};
static const char *const maybe_paths[] = {"driver", "gpu"};

static const struct cli_verb *verb_of(const char *name)
{
    for (size_t i = 0; i < sizeof verbs / sizeof verbs[0]; i++) {
        if (strcmp(verbs[i]->name, name) == 0)
            return verbs[i];
    }
    return NULL;
}

bool project_is_for(const struct cli_verb *verb)
{
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (strcmp(project_verbs[i], verb->name) == 0)
            return true;
    }
    return false;
}

/* ---- Names ----------------------------------------------------------------------------------- */

static bool verb_has(const struct cli_verb *verb, const char *option)
{
    for (size_t i = 0; verb->options[i].name; i++) {
        if (strcmp(verb->options[i].name, option) == 0)
            return true;
    }
    return false;
}

static bool case_has(unsigned of, const char *option)
{
    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT; i++) {
        const char *name = cli_case_options[i].name;

        if (name && (cli_case_options[i].of & of) && strcmp(name, option) == 0)
            return true;
    }
    return false;
}

/* Adds the names of the options that a table may have. */
static void list_names(const char *table, const char *names[], size_t room)
{
    size_t count = 0;

    for (size_t i = 0; i < WORKLOAD_OPTION_COUNT && strcmp(table, "board") == 0; i++) {
        if (cli_case_options[i].name && count + 1 < room)
            names[count++] = cli_case_options[i].name;
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        const struct cli_option *option = verb_of(project_verbs[i])->options;

        if (table[0] && strcmp(table, project_verbs[i]) != 0)
            continue;
        for (; option->name && count + 1 < room; option++)
            names[count++] = option->name;
    }
    names[count] = NULL;
}

static bool is_known(const struct toml_entry *entry)
{
    if (strcmp(entry->table, "board") == 0)
        return case_has(CLI_OF_RUN | CLI_OF_CHECK, entry->key);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        if (!entry->table[0] || strcmp(entry->table, project_verbs[i]) == 0) {
            if (verb_has(verb_of(project_verbs[i]), entry->key))
                return true;
        }
    }
    return false;
}

static bool is_table(const char *name)
{
    bool is_one = !name[0] || strcmp(name, "board") == 0;

    for (size_t i = 0; i < VERB_COUNT; i++)
        is_one |= strcmp(project_verbs[i], name) == 0;
    return is_one;
}

/* The option that the entry sets, of some verb that has it; NULL: it is one of cases. */
static const struct cli_option *option_of(const struct toml_entry *entry, bool *out_is_repeated)
{
    *out_is_repeated = false;
    for (size_t i = 0; i < VERB_COUNT && strcmp(entry->table, "board") != 0; i++) {
        const struct cli_verb *verb = verb_of(project_verbs[i]);

        if (entry->table[0] && strcmp(entry->table, verb->name) != 0)
            continue;
        for (size_t j = 0; verb->options[j].name; j++) {
            if (strcmp(verb->options[j].name, entry->key) != 0)
                continue;
            *out_is_repeated = verb->repeated_options & CLI_REPEATED(j);
            return &verb->options[j];
        }
    }
    return NULL;
}

/* Each entry is an option that there is, with a value of the kind that it takes. */
static bool check_entry(const struct project *project, const struct toml_entry *entry)
{
    const struct cli_option *option;
    const char *names[256], *nearest;
    bool is_repeated;

    if (!is_table(entry->table)) {
        cli_error("%s:%u: unknown table [%s] (expected [board], [check], [run], [merge])",
                  project->path, entry->line, entry->table);
        return false;
    }
    if (!is_known(entry)) {
        list_names(entry->table, names, sizeof names / sizeof names[0]);
        nearest = cli_nearest(entry->key, names);
        if (!entry->table[0] && case_has(CLI_OF_RUN | CLI_OF_CHECK, entry->key))
            cli_error("%s:%u: '%s' is an option of cases (expected in [board])", project->path,
                      entry->line, entry->key);
        else
            cli_error("%s:%u: unknown setting '%s'%s%s%s", project->path, entry->line, entry->key,
                      nearest ? " (did you mean "
                              : " (expected an option as drydock check --help "
                                "has them)",
                      nearest ? nearest : "", nearest ? "?)" : "");
        return false;
    }
    option = option_of(entry, &is_repeated);
    if (entry->kind == TOML_ARRAY && !is_repeated) {
        cli_error("%s:%u: %s takes one value", project->path, entry->line, entry->key);
        return false;
    }
    if (option && !option->value != (entry->kind == TOML_BOOLEAN)) {
        cli_error("%s:%u: %s takes %s", project->path, entry->line, entry->key,
                  option->value ? option->value : "true or false");
        return false;
    }
    return true;
}

/* ---- The file -------------------------------------------------------------------------------- */

/* "drydock.toml", "../drydock.toml" and so on; false: there is none. */
static bool look_upwards(char path[512])
{
    char folder[MOST_LEVELS * 3 + 1] = "", above[sizeof folder + 4];
    struct stat here, there;

    for (unsigned level = 0; level < MOST_LEVELS; level++) {
        snprintf(path, 512, "%s" PROJECT_FILE, folder);
        if (stat(path, &there) == 0 && S_ISREG(there.st_mode))
            return true;
        snprintf(above, sizeof above, "%s..", folder);
        if (stat(folder[0] ? folder : ".", &here) != 0 || stat(above, &there) != 0 ||
            (here.st_dev == there.st_dev && here.st_ino == there.st_ino))
            break;
        snprintf(folder + strlen(folder), sizeof folder - strlen(folder), "../");
    }
    path[0] = '\0';
    return false;
}

static bool read_file(struct project *project, bool is_found)
{
    FILE *file = named_file_open(project->path, "rb");
    char *text = malloc(TOML_MOST_BYTES + 1), error[512];
    struct stat status;
    bool is_fine = false;
    size_t size;

    if (!file || !text || fstat(fileno(file), &status) != 0) {
        cli_error("cannot read '%s': %s", project->path, named_file_reason(errno));
    } else if (is_found && status.st_uid != geteuid() && status.st_uid != 0) {
        cli_error("'%s' belongs to another user, and may name code to load: it is not taken "
                  "(--settings %s takes it, --settings none goes on without)",
                  project->path, project->path);
    } else {
        size = fread(text, 1, TOML_MOST_BYTES + 1, file);
        is_fine = !ferror(file) && toml_parse(text, size, project->path, &project->toml, error);
        if (!is_fine && ferror(file))
            cli_error("cannot read '%s': %s", project->path, strerror(errno));
        else if (!is_fine)
            cli_error("%s", error);
    }
    free(text);
    if (file)
        fclose(file);
    return is_fine;
}

bool project_load(const char *named, struct project *out)
{
    *out = (struct project){0};
    if (named && strcmp(named, "none") == 0)
        return true;
    if (named && (size_t)snprintf(out->path, sizeof out->path, "%s", named) >= sizeof out->path) {
        cli_error("option --settings: the name is too long");
        return false;
    }
    if (!named && !look_upwards(out->path))
        return true;
    out->is_found = !named;
    if (!read_file(out, !named)) {
        out->path[0] = '\0';
        return false;
    }
    for (size_t i = 0; i < out->toml.count; i++) {
        if (!check_entry(out, &out->toml.entries[i])) {
            project_free(out);
            return false;
        }
    }
    return true;
}

void project_free(struct project *project)
{
    toml_free(&project->toml);
    project->path[0] = '\0';
}

/* ---- Values ---------------------------------------------------------------------------------- */

static const struct toml_entry *find_in(const struct project *project, const char *table,
                                        const char *option)
{
    for (size_t i = 0; i < project->toml.count; i++) {
        const struct toml_entry *entry = &project->toml.entries[i];

        if (strcmp(entry->table, table) == 0 && strcmp(entry->key, option) == 0)
            return entry;
    }
    return NULL;
}

const struct toml_entry *project_find(const struct project *project, const char *verb,
                                      const char *option, bool is_of_case)
{
    const struct toml_entry *entry = NULL;

    if (is_of_case)
        return find_in(project, "board", option);
    entry = find_in(project, verb, option);
    return entry ? entry : find_in(project, "", option);
}

static bool is_path(const char *option, const char *value)
{
    bool is_one = false;

    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        is_one |= strcmp(paths[i], option) == 0;
    for (size_t i = 0; i < sizeof maybe_paths / sizeof maybe_paths[0]; i++)
        is_one |= strcmp(maybe_paths[i], option) == 0 && strchr(value, '/');
    return is_one && value[0] != '/' && strcmp(value, "-") != 0;
}

bool project_value(const struct project *project, const struct toml_entry *entry, size_t element,
                   char *out, size_t size)
{
    const char *value = entry->elements[element];
    const char *slash = strrchr(project->path, '/');
    const int folder = slash && is_path(entry->key, value) ? (int)(slash + 1 - project->path) : 0;

    if (entry->kind == TOML_BOOLEAN)
        value = "";
    return (size_t)snprintf(out, size, "%.*s%s", folder, project->path, value) < size;
}

/* ---- What a file that nobody has named may say ----------------------------------------------- */

/* Code that runs with the rights of the user. A driver that is an image runs in a cage. */
static bool names_code(const char *key, const char *value)
{
    return strcmp(key, "policy-file") == 0 || strcmp(key, "client-file") == 0 ||
           (strcmp(key, "gpu") == 0 && gpu_plugin_is_path(value));
}

/* "KEY=VALUE" of --option */
static bool option_names_code(const char *pair)
{
    const char *equals = strchr(pair, '=');
    char key[64];

    if (!equals || (size_t)(equals - pair) >= sizeof key)
        return false;
    snprintf(key, sizeof key, "%.*s", (int)(equals - pair), pair);
    return names_code(key, equals + 1);
}

static bool is_part(const char *text, size_t length, const char *part)
{
    return length == strlen(part) && memcmp(text, part, length) == 0;
}

static bool has_part_above(const char *path)
{
    for (; *path; path += strspn(path, "/")) {
        const size_t length = strcspn(path, "/");

        if (is_part(path, length, ".."))
            return true;
        path += length;
    }
    return false;
}

/*
 * Whether a path leads into the folder, by whatever links there are on its way. Of a file that is
 * not there yet the folder that it will be in counts; a link that leads nowhere yet is outside.
 */
static bool is_within(const char *folder, const char *path)
{
    char *root = realpath(folder, NULL), *there = NULL, *part = malloc(strlen(path) + 2), *slash;
    const char *rest = "";
    struct stat status;
    bool is_one = false;
    size_t length;

    if (part)
        strcpy(part, path);
    while (root && part && !(there = realpath(part, NULL))) {
        slash = strrchr(part, '/');
        if (lstat(part, &status) == 0 || (slash == part && !part[1]) || strcmp(part, ".") == 0)
            break;
        rest = path + (slash ? (size_t)(slash + 1 - part) : 0);
        if (slash && slash != part)
            *slash = '\0';
        else
            strcpy(part, slash ? "/" : ".");
    }
    if (there && !has_part_above(rest)) {
        length = strlen(root);
        is_one = strncmp(there, root, length) == 0 &&
                 (!there[length] || there[length] == '/' || root[length - 1] == '/');
    }
    free(root);
    free(there);
    free(part);
    return is_one;
}

/* "word,@FILE,word": each of the files. */
static bool words_are_within(const char *folder, const char *words)
{
    static const char separators[] = ", \t\r\n";
    char path[2048];

    for (words += strspn(words, separators); *words; words += strspn(words, separators)) {
        const size_t length = strcspn(words, separators);

        snprintf(path, sizeof path, "%.*s", (int)length, words);
        if (length >= sizeof path || (path[0] == '@' && !is_within(folder, path + 1)))
            return false;
        words += length;
    }
    return true;
}

static bool stays_within(const struct project *project, const struct toml_entry *entry,
                         size_t element)
{
    const char *slash = strrchr(project->path, '/');
    char folder[sizeof project->path] = ".", value[2048];
    bool is_one = false;

    if (slash)
        snprintf(folder, sizeof folder, "%.*s", (int)(slash + 1 - project->path), project->path);
    if (strcmp(entry->key, "surroundings") == 0)
        return words_are_within(folder, entry->elements[element]);
    for (size_t i = 0; i < sizeof paths / sizeof paths[0]; i++)
        is_one |= strcmp(paths[i], entry->key) == 0;
    return !is_one || strcmp(entry->elements[element], "-") == 0 ||
           !project_value(project, entry, element, value, sizeof value) || is_within(folder, value);
}

bool project_may_take(const struct project *project, const struct toml_entry *entry)
{
    const char *what = NULL;

    for (size_t i = 0; i < entry->count && project->is_found && !what; i++) {
        const char *value = entry->elements[i];

        if (names_code(entry->key, value) ||
            (strcmp(entry->key, "option") == 0 && option_names_code(value)))
            what = "names a file to load as code";
        else if (strcmp(entry->key, "trust-case") == 0)
            what = "has code loaded that a case names";
        else if (!stays_within(project, entry, i))
            what = "names a file outside of the folder of the settings";
    }
    if (what)
        cli_error("%s:%u: %s %s, and nobody has named these settings: they are not taken "
                  "(--settings %s takes them, if you know where they come from; --settings none "
                  "goes on without)",
                  project->path, entry->line, entry->key, what, project->path);
    return !what;
}
