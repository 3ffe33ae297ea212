/*
 * new: a folder with a driver that works, to begin from.
 *
 * The driver is softcopy, under another name: one source of each language for the tests, for
 * `drydock new` and for the reader. The files are found beside the program where it is installed,
 * or in the source that it was built from.
 */
#include "cli/cli.h"
#include "cli/terminal.h"
#include "report/document.h"
#include "report/text_json.h"

#include <ctype.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define NAME_BYTES 40

#define OPTIONS(ROW)                                                                               \
    ROW(CPP, "cpp", 0, NULL, "the driver's source is a C++ file")                                  \
    ROW(RUST, "rust", 0, NULL, "the driver is written in Rust, without its standard library")      \
    ROW(JSON, CLI_JSON)
CLI_OPTIONS(OPTIONS)

enum language { LANGUAGE_C = 1 << 0, LANGUAGE_CPP = 1 << 1, LANGUAGE_RUST = 1 << 2 };
#define LANGUAGES_OF_CC (LANGUAGE_C | LANGUAGE_CPP)
#define LANGUAGES       (LANGUAGES_OF_CC | LANGUAGE_RUST)

/* What the workflow installs before it builds. */
#define RUST_SETUP                                                                                 \
    "      - run: sudo apt-get update && sudo apt-get install -y rustc libstd-rust-dev-windows "   \
    "bindgen\n"

/* The project: the words of the templates become these. */
struct project {
    char name[NAME_BYTES + 1];
    char identifier[NAME_BYTES + 1]; /* the name in C */
    char macro[NAME_BYTES + 1];      /* the same in capitals */
    char source[NAME_BYTES + 8];     /* file name of the driver */
    enum language language;
    const char *folder;
};

struct template
{
    const char *installed; /* below share/drydock/new */
    const char *built;     /* below the source */
    const char *made;      /* %s: the project's name; NULL: its source */
    unsigned languages;    /* that have the file */
};

static const struct template templates[] = {
    {"miniport.c", "tests/images/softcopy/softcopy.c", NULL, LANGUAGES_OF_CC},
    {"miniport.rs", "tests/images/softcopy/softcopy.rs", NULL, LANGUAGE_RUST},
    {"wdk.h", "tests/images/softcopy/wdk.h", "wdk.h", LANGUAGE_RUST},
    {"Makefile", "templates/new/Makefile", "Makefile", LANGUAGES_OF_CC},
    {"Makefile.rust", "templates/new/Makefile.rust", "Makefile", LANGUAGE_RUST},
    {"CMakeLists.txt", "templates/new/CMakeLists.txt", "CMakeLists.txt", LANGUAGES_OF_CC},
    {"drydock.toml", "templates/new/drydock.toml", "drydock.toml", LANGUAGES},
    {"driver.case", "templates/new/driver.case", "%s.case", LANGUAGES},
    {"drydock.yml", "templates/new/drydock.yml", ".github/workflows/drydock.yml", LANGUAGES},
};

/* The next template of a language, from the one at *place on; NULL: there is none. */
static const struct template *next_template(enum language language, size_t *place)
{
    while (*place < sizeof templates / sizeof templates[0]) {
        const struct template *template = &templates[(*place)++];

        if (template->languages & language)
            return template;
    }
    return NULL;
}

static const char *ending_of(enum language language)
{
    return language == LANGUAGE_C ? "c" : language == LANGUAGE_CPP ? "cpp" : "rs";
}

static bool name_project(const char *path, enum language language, struct project *project)
{
    const char *slash = strrchr(path, '/');
    const char *name = slash ? slash + 1 : path;
    size_t length = strlen(name);

    if (!length || length > NAME_BYTES || !isalpha((unsigned char)name[0])) {
        cli_error(
            "new: '%s' is no name for a driver (expected a letter, then letters, digits, - or "
            "_, %d at most)",
            name, NAME_BYTES);
        return false;
    }
    for (size_t i = 0; i <= length; i++) {
        if (name[i] && !isalnum((unsigned char)name[i]) && name[i] != '-' && name[i] != '_') {
            cli_error("new: '%s' is no name for a driver: it has a '%c'", name, name[i]);
            return false;
        }
        project->name[i] = name[i];
        project->identifier[i] = name[i] == '-' ? '_' : (char)tolower((unsigned char)name[i]);
        project->macro[i] = (char)toupper((unsigned char)project->identifier[i]);
    }
    snprintf(project->source, sizeof project->source, "%s.%s", name, ending_of(language));
    project->language = language;
    project->folder = path;
    return true;
}

/* The text of a template, to be freed; NULL with a message. */
static char *read_template(const struct template *template)
{
    char path[PATH_MAX], installed[128];
    FILE *file = NULL;
    char *text = NULL;
    size_t size = 0;

    snprintf(installed, sizeof installed, "share/drydock/new/%s", template->installed);
    if (cli_find_own(installed, template->built, path, sizeof path))
        file = fopen(path, "r");
    if (!file) {
        cli_error("new: %s is neither beside the program nor where it was built from",
                  template->installed);
        return NULL;
    }
    if (getdelim(&text, &size, '\0', file) < 0) {
        cli_error("new: cannot read %s", path);
        free(text);
        text = NULL;
    }
    fclose(file);
    return text;
}

/* Which word of the templates begins here, and what it becomes; NULL: none. */
static const char *find_word(const struct project *project, const char *at, size_t *out_length)
{
    const char *const words[][2] = {
        {"@NAME@", project->name},
        {"@IDENTIFIER@", project->identifier},
        {"@MACRO@", project->macro},
        {"@SOURCE@", project->source},
        {"softcopy", project->identifier},
        {"SOFTCOPY", project->macro},
        {"@SETUP@", project->language == LANGUAGE_RUST ? RUST_SETUP : ""},
    };

    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        *out_length = strlen(words[i][0]);
        if (strncmp(at, words[i][0], *out_length) == 0)
            return words[i][1];
    }
    return NULL;
}

static bool write_file(const struct project *project, const char *path, const char *text)
{
    FILE *file = fopen(path, "wx");

    if (!file) {
        cli_error("new: cannot write %s: %s", path, strerror(errno));
        return false;
    }
    while (*text) {
        size_t length;
        const char *word = find_word(project, text, &length);

        if (word)
            fputs(word, file);
        else
            fputc(*text, file);
        text += word ? length : 1;
    }
    if (fclose(file) == 0)
        return true;
    cli_error("new: cannot write %s: %s", path, strerror(errno));
    return false;
}

/* The folders that a path lies in, below the project's. */
static bool make_folders(char *path, size_t from)
{
    for (char *slash = strchr(path + from, '/'); slash; slash = strchr(slash + 1, '/')) {
        bool is_made;

        *slash = '\0';
        is_made = mkdir(path, 0777) == 0 || errno == EEXIST;
        if (!is_made)
            cli_error("new: cannot make %s: %s", path, strerror(errno));
        *slash = '/';
        if (!is_made)
            return false;
    }
    return true;
}

/* Below the project's folder. */
static void file_name(const struct project *project, const struct template *template,
                      char out[2 * NAME_BYTES])
{
    snprintf(out, 2 * NAME_BYTES, "%s", template->made ? template->made : project->source);
    if (strncmp(out, "%s", 2) == 0)
        snprintf(out, 2 * NAME_BYTES, "%s%s", project->name, template->made + 2);
}

static bool make_file(const struct project *project, const struct template *template)
{
    char path[PATH_MAX];
    char made[2 * NAME_BYTES];
    char *text = read_template(template);
    bool is_made = false;

    if (!text)
        return false;
    file_name(project, template, made);
    if ((size_t)snprintf(path, sizeof path, "%s/%s", project->folder, made) < sizeof path &&
        make_folders(path, strlen(project->folder) + 1))
        is_made = write_file(project, path, text);
    free(text);
    return is_made;
}

/* What was made. */
static bool print_json(const struct project *project)
{
    json_t *json = report_document("new"), *files = json_array();
    const struct template *template;
    size_t place = 0;

    while ((template = next_template(project->language, &place)) != NULL) {
        char name[2 * NAME_BYTES];

        file_name(project, template, name);
        json_array_append_new(files, json_string(name));
    }
    json_object_set_new(json, "name", json_string(project->name));
    json_object_set_new(json, "folder", report_text_json(project->folder));
    json_object_set_new(json, "files", files);
    return cli_print_json(json);
}

static enum cli_status new_project(const struct cli_arguments *arguments)
{
    bool is_cplusplus = arguments->values[OPTION_CPP] != NULL;
    bool is_rust = arguments->values[OPTION_RUST] != NULL;
    const struct template *template;
    struct project project;
    size_t place = 0;

    if (is_cplusplus && is_rust) {
        cli_error("new: --cpp and --rust are two languages; choose one");
        return CLI_USAGE;
    }
    if (arguments->rest_count != 1) {
        cli_error("new takes one name (drydock new --help)");
        return CLI_USAGE;
    }
    if (!name_project(arguments->rest[0],
                      is_rust        ? LANGUAGE_RUST
                      : is_cplusplus ? LANGUAGE_CPP
                                     : LANGUAGE_C,
                      &project))
        return CLI_USAGE;
    if (mkdir(project.folder, 0777) != 0) {
        cli_error(errno == EEXIST ? "new: %s is there already, and nothing is overwritten"
                                  : "new: cannot make %s",
                  project.folder);
        return CLI_USAGE;
    }
    while ((template = next_template(project.language, &place)) != NULL)
        if (!make_file(&project, template))
            return CLI_USAGE;
    if (arguments->values[OPTION_JSON])
        return print_json(&project) ? CLI_FINE : CLI_INTERNAL;
    if (terminal_is_quiet())
        return CLI_FINE;
    printf("%s is a driver that works. Next:\n"
           "  cd %s\n"
           "  make            # %s.sys\n"
           "  make check      # a case and a campaign: nothing is found\n"
           "  make mistake    # with a mistake in it: something is\n",
           project.folder, project.folder, project.name);
    return CLI_FINE;
}

const struct cli_verb cli_new = {
    .name = "new",
    .usage = "NAME [options]",
    .summary = "Makes a folder with a small driver that works, to begin from",
    .details =
        "The driver registers, reports a segment and an aperture and builds paging buffers that "
        "it\n"
        "carries out with the CPU. Beside it: a Makefile and (of C and C++) a CMakeLists.txt, a\n"
        "case, and a workflow for continuous integration. An existing folder is left alone. Rust\n"
        "takes Debian's rustc, libstd-rust-dev-windows and bindgen.",
    .options = options,
    .run = new_project,
};
