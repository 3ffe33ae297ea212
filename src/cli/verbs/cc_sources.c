/*
 * The WPP configuration of a header is a comment; of its grammar this reads what declares
 * functions:
 *
 *     FUNC Name{COND=value,...}(PARAMETER, MSG, ...);
 *
 * Conditions and the parameters before MSG name, in that order, the macros by which the author
 * customises the function (WPP_LEVEL_FLAGS_POST for LEVEL and FLAGS).
 */
#define _GNU_SOURCE
#include "cli/verbs/cc_sources.h"

#include "cli/cli.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_WORDS     16
#define MAX_FUNCTIONS 256
#define NAME_BYTES    96

/* How far below a folder of headers a name like "VBox/Types.h" is found in any case. */
#define MAX_FOLDER_DEPTH  4
#define MAX_INNER_FOLDERS 4096

struct trace_function {
    char name[NAME_BYTES];
    char condition[MAX_WORDS][NAME_BYTES], value[MAX_WORDS][NAME_BYTES];
    size_t condition_count;
    char parameter[MAX_WORDS][NAME_BYTES]; /* before MSG */
    size_t parameter_count;
    bool has_message;
    bool is_nested; /* the message and its arguments stand in parentheses of their own */
};

struct trace_functions {
    struct trace_function *rows;
    size_t count;
};

/* ---- Files ----------------------------------------------------------------------------------- */

static bool is_header(const char *name)
{
    static const char *const ends[] = {".h", ".hh", ".hpp", ".hxx", ".inl", ".inc", ".tmh"};
    const char *end = strrchr(name, '.');

    for (size_t i = 0; end && i < sizeof ends / sizeof ends[0]; i++)
        if (strcasecmp(end, ends[i]) == 0)
            return true;
    return false;
}

/* The whole file with a terminator, to be freed; NULL when it cannot be read. */
static char *read_text(const char *path)
{
    FILE *file = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;

    if (!file)
        return NULL;
    if (getdelim(&text, &size, '\0', file) < 0) {
        free(text);
        text = calloc(1, 1);
    }
    fclose(file);
    return text;
}

static void write_quoted(FILE *file, const char *text)
{
    fputc('\'', file);
    for (; *text; text++)
        fprintf(file, *text == '\'' ? "''" : "%c", *text);
    fputc('\'', file);
}

static bool is_first(const struct cc_folders *folders, size_t number)
{
    for (size_t i = 0; i < number; i++)
        if (strcmp(folders->paths[i], folders->paths[number]) == 0)
            return false;
    return true;
}

static void write_overlay_folder(FILE *file, const char *path)
{
    DIR *folder = opendir(path);
    char full[PATH_MAX];
    struct dirent *entry;

    if (!folder || !realpath(path, full)) {
        if (folder)
            closedir(folder);
        return; /* the compiler tells of folders that there are none of */
    }
    fputs("    - name: ", file);
    write_quoted(file, full);
    fputs("\n      type: directory\n      contents:\n", file);
    while ((entry = readdir(folder))) {
        char *target = NULL;

        if (!is_header(entry->d_name) || asprintf(&target, "%s/%s", full, entry->d_name) < 0)
            continue;
        fputs("        - name: ", file);
        write_quoted(file, entry->d_name);
        fputs("\n          type: file\n          external-contents: ", file);
        write_quoted(file, target);
        fputc('\n', file);
        free(target);
    }
    closedir(folder);
}

static bool has_header(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;
    bool found = false;

    while (folder && !found && (entry = readdir(folder)))
        found = is_header(entry->d_name);
    if (folder)
        closedir(folder);
    return found;
}

/* A folder and those in it, as "VBox/Types.h" names them: so deep, and so many of them. */
static void write_overlay_tree(FILE *file, const char *path, unsigned depth, unsigned *left)
{
    DIR *folder;
    struct dirent *entry;

    if (has_header(path))
        write_overlay_folder(file, path);
    folder = depth ? opendir(path) : NULL;
    while (folder && *left && (entry = readdir(folder))) {
        char *inner = NULL;

        if (entry->d_type != DT_DIR || entry->d_name[0] == '.' ||
            asprintf(&inner, "%s/%s", path, entry->d_name) < 0)
            continue;
        --*left;
        write_overlay_tree(file, inner, depth - 1, left);
        free(inner);
    }
    if (folder)
        closedir(folder);
}

bool cc_write_overlay(const char *folder, const struct cc_folders *folders)
{
    char path[PATH_MAX];
    FILE *file;

    snprintf(path, sizeof path, "%s/overlay.yaml", folder);
    file = fopen(path, "w");
    if (!file) {
        cli_error("cc: cannot write %s: %s", path, strerror(errno));
        return false;
    }
    fputs("version: 0\ncase-sensitive: false\nroots:\n", file);
    /* A list that is empty is no list of YAML: the folder itself is in it in any case. */
    fputs("    - name: ", file);
    write_quoted(file, folder);
    fputs("\n      type: directory\n      contents:\n        - name: overlay.yaml\n"
          "          type: file\n          external-contents: ",
          file);
    write_quoted(file, path);
    fputc('\n', file);
    for (size_t i = 0; i < folders->count; i++) {
        unsigned left = MAX_INNER_FOLDERS;

        if (is_first(folders, i))
            write_overlay_tree(file, folders->paths[i], MAX_FOLDER_DEPTH, &left);
    }
    if (fclose(file) == 0)
        return true;
    cli_error("cc: cannot write %s: %s", path, strerror(errno));
    return false;
}

/* ---- Declarations of trace functions --------------------------------------------------------- */

/* The word of C at the text, cut where it is too long; moves behind it. Empty: there is none. */
static const char *take_word(const char *text, char word[NAME_BYTES])
{
    size_t length = 0;

    while (isspace((unsigned char)*text) && *text != '\n')
        text++;
    for (; isalnum((unsigned char)*text) || *text == '_'; text++)
        if (length + 1 < NAME_BYTES)
            word[length++] = *text;
    word[length] = '\0';
    while (*text == ' ' || *text == '\t')
        text++;
    return text;
}

/* {COND=value,...} */
static const char *read_conditions(const char *text, struct trace_function *function)
{
    while (*text && *text != '}' && *text != '\n') {
        size_t i = function->condition_count;

        if (i == MAX_WORDS)
            return text;
        text = take_word(text + 1, function->condition[i]);
        function->value[i][0] = '\0';
        if (*text == '=')
            text = take_word(text + 1, function->value[i]);
        if (function->condition[i][0])
            function->condition_count++;
        text += strcspn(text, ",}\n");
    }
    return *text == '}' ? take_word(text + 1, (char[NAME_BYTES]){0}) : text;
}

/* (PARAMETER, MSG, ...), or (PARAMETER, (MSG, ...)) */
static bool read_parameters(const char *text, struct trace_function *function)
{
    while (*text && *text != ')' && *text != '\n') {
        char word[NAME_BYTES];

        text = take_word(text + 1, word);
        if (!word[0] && *text == '(') {
            function->is_nested = true;
            continue;
        }
        if (strcmp(word, "MSG") == 0)
            function->has_message = true;
        else if (word[0] && !function->has_message && function->parameter_count < MAX_WORDS)
            memcpy(function->parameter[function->parameter_count++], word, sizeof word);
        text += strcspn(text, ",)\n");
    }
    return *text == ')';
}

static const struct trace_function *find(const struct trace_functions *functions, const char *name)
{
    for (size_t i = 0; i < functions->count; i++)
        if (strcmp(functions->rows[i].name, name) == 0)
            return &functions->rows[i];
    return NULL;
}

static void read_function(const char *text, struct trace_functions *functions)
{
    struct trace_function *function = &functions->rows[functions->count];
    const char *at;

    if (functions->count == MAX_FUNCTIONS)
        return;
    memset(function, 0, sizeof *function);
    at = take_word(text, function->name);
    if (*at == '{')
        at = read_conditions(at, function);
    if (function->name[0] && *at == '(' && !find(functions, function->name) &&
        read_parameters(at, function))
        functions->count++;
}

/*
 * The lines of a configuration: "// FUNC NAME{CONDITION=value}(PARAMETER, MSG, ...);", where "FUNC"
 * may be missing. The lines that begin with another word of the configuration, such as USEPREFIX,
 * declare no function.
 */
static void read_functions(const char *text, struct trace_functions *functions)
{
    static const char *const others[] = {"USEPREFIX", "USESUFFIX", "CUSTOM_TYPE", "DEFINE_",
                                         "FUNC_",     "begin_wpp", "end_wpp",     "UNSIGNED_"};
    bool is_inside = false;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        const char *at = text + strspn(text, " \t/*");
        const char *end = text + strcspn(text, "\n");
        bool is_other = false;

        if (memmem(text, (size_t)(end - text), "begin_wpp", 9))
            is_inside = true;
        else if (memmem(text, (size_t)(end - text), "end_wpp", 7))
            is_inside = false;
        if (strncmp(at, "FUNC ", 5) == 0) {
            read_function(at + 5, functions);
            continue;
        }
        for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
            is_other = is_other || strncmp(at, others[i], strlen(others[i])) == 0;
        if (is_inside && at != text && !is_other)
            read_function(at, functions);
    }
}

/* Those of all headers that have a configuration. */
static void read_headers(const struct cc_folders *folders, struct trace_functions *functions)
{
    for (size_t i = 0; i < folders->count; i++) {
        DIR *folder = is_first(folders, i) ? opendir(folders->paths[i]) : NULL;
        struct dirent *entry;

        while (folder && (entry = readdir(folder))) {
            char path[PATH_MAX];
            char *text;

            snprintf(path, sizeof path, "%s/%s", folders->paths[i], entry->d_name);
            text = is_header(entry->d_name) ? read_text(path) : NULL;
            if (text && strstr(text, "begin_wpp"))
                read_functions(text, functions);
            free(text);
        }
        if (folder)
            closedir(folder);
    }
}

/* ---- Writing one ----------------------------------------------------------------------------- */

static void write_post_name(FILE *file, const struct trace_function *function)
{
    fputs("WPP", file);
    for (size_t i = 0; i < function->condition_count; i++)
        fprintf(file, "_%s", function->condition[i]);
    for (size_t i = 0; i < function->parameter_count; i++)
        fprintf(file, "_%s", function->parameter[i]);
    fputs("_POST", file);
}

static void write_function(FILE *file, const struct trace_function *function)
{
    const char *comma = "";

    fputs("#ifndef ", file);
    write_post_name(file, function);
    fputs("\n#define ", file);
    write_post_name(file, function);
    fputs("(...)\n#endif\n", file);
    fprintf(file, "#undef %s\n#define %s(", function->name, function->name);
    for (size_t i = 0; i < function->parameter_count; i++)
        fprintf(file, "%s%s", i ? ", " : "", function->parameter[i]);
    if (function->has_message)
        fprintf(file, "%sMSG%s", function->parameter_count ? ", " : "",
                function->is_nested ? "" : ", ...");
    if (function->has_message && function->is_nested)
        fputs(") ((void)(wpp_take MSG ", file);
    else
        fprintf(file, ") ((void)(wpp_evaluate(0%s) ",
                function->has_message ? ", ##__VA_ARGS__" : "");
    write_post_name(file, function);
    fputc('(', file);
    for (size_t i = 0; i < function->condition_count; i++, comma = ", ")
        fprintf(file, "%s%s", comma, function->value[i]);
    for (size_t i = 0; i < function->parameter_count; i++, comma = ", ")
        fprintf(file, "%s%s", comma, function->parameter[i]);
    fputs(")))\n", file);
}

static bool write_trace_header(const char *path, const struct trace_functions *functions)
{
    static const char head[] =
        "/* Written by drydock cc in the place of the WPP preprocessor. */\n"
        "#pragma GCC system_header\n"
        "#ifndef DRYDOCK_WPP\n#define DRYDOCK_WPP\n"
        "#define WPP_DEFINE_CONTROL_GUID(name, guid, bits) bits\n"
        "#define WPP_DEFINE_BIT(name)                      WPP_BIT_##name,\n"
        "#ifdef WPP_CONTROL_GUIDS\nenum { WPP_CONTROL_GUIDS WPP_BIT_COUNT };\n#endif\n"
        "static unsigned char wpp_is_recorded[64];\n"
        "#define WPP_RECORDER_LEVEL_FILTER(flag) (wpp_is_recorded[WPP_BIT_##flag])\n"
        "static __inline__ void wpp_evaluate(int first, ...)\n{\n"
        "    (void)first;\n    (void)wpp_is_recorded;\n}\n"
        "static __inline__ void wpp_take(const char *message, ...)\n{\n    (void)message;\n}\n"
        "#define WPP_INIT_TRACING(...)           wpp_evaluate(0, __VA_ARGS__)\n"
        "#define WPP_CLEANUP(...)                wpp_evaluate(0, __VA_ARGS__)\n"
        "#define DoTraceMessage(flag, MSG, ...)  wpp_evaluate(0, ##__VA_ARGS__)\n"
        "#endif\n";
    FILE *file = fopen(path, "w");

    if (file) {
        fputs(head, file);
        for (size_t i = 0; i < functions->count; i++)
            write_function(file, &functions->rows[i]);
        if (fclose(file) == 0)
            return true;
    }
    cli_error("cc: cannot write %s: %s", path, strerror(errno));
    return false;
}

static bool is_there(const struct cc_folders *folders, const char *name)
{
    for (size_t i = 0; i < folders->count; i++) {
        char path[PATH_MAX];
        FILE *file;

        snprintf(path, sizeof path, "%s/%s", folders->paths[i], name);
        file = fopen(path, "r");
        if (file) {
            fclose(file);
            return true;
        }
    }
    return false;
}

/* Every "NAME.tmh" of a source. */
static bool write_traces_of(const char *folder, const struct cc_folders *folders,
                            const struct trace_functions *headers, const char *text)
{
    static const char end[] = ".tmh\"";
    struct trace_functions all = {calloc(MAX_FUNCTIONS, sizeof *all.rows), headers->count};
    const char *at = text;
    bool is_fine = all.rows != NULL;

    if (is_fine) {
        memcpy(all.rows, headers->rows, headers->count * sizeof *all.rows);
        if (strstr(text, "begin_wpp"))
            read_functions(text, &all);
    }
    while (is_fine && (at = strstr(at, end))) {
        const char *begin = at;
        char name[NAME_MAX], path[PATH_MAX];

        while (begin > text && begin[-1] != '"' && begin[-1] != '/' && begin[-1] != '\n')
            begin--;
        snprintf(name, sizeof name, "%.*s.tmh", (int)(at - begin), begin);
        snprintf(path, sizeof path, "%s/%s", folder, name);
        if (begin > text && begin[-1] != '\n' && !is_there(folders, name))
            is_fine = write_trace_header(path, &all);
        at += strlen(end);
    }
    free(all.rows);
    return is_fine;
}

bool cc_write_traces(const char *folder, const struct cc_folders *folders,
                     const char *const *sources, size_t source_count)
{
    struct trace_functions headers = {calloc(MAX_FUNCTIONS, sizeof *headers.rows), 0};
    bool is_fine = headers.rows != NULL, are_read = false;

    for (size_t i = 0; is_fine && i < source_count; i++) {
        char *text = read_text(sources[i]);

        if (text && strstr(text, ".tmh\"")) {
            if (!are_read)
                read_headers(folders, &headers);
            are_read = true;
            is_fine = write_traces_of(folder, folders, &headers, text);
        }
        free(text);
    }
    free(headers.rows);
    return is_fine;
}
