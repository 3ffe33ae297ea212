/*
 * cc: a driver image from source, with the compiler and the linker of LLVM and our headers.
 *
 * Everything is made in a folder of its own, and the image takes its name when it is whole. What
 * the source uses of the kernel and the bench does not have stays an import: the linker is asked
 * what it misses, and asked again with an import library that has it.
 */
#define _GNU_SOURCE
#include "cli/verbs/cc_names.h"
#include "cli/verbs/cc_sources.h"
#include "cli/cli.h"
#include "cli/terminal.h"

#include "nt/exports.h"
#include "report/document.h"
#include "report/text_json.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

#define MAX_ARGUMENTS 1024
#define OWN_ARGUMENTS 64 /* of a command, beside those that were given */
#define MAX_MISSING   256
#define MAX_TEXTS     (8 * MAX_ARGUMENTS)

struct command {
    const char *words[MAX_ARGUMENTS + 1];
    size_t count;
};

struct build {
    char folder[1024]; /* of what is made on the way */
    char include[1024];
    const char *output, *entry;
    bool compiles_only, is_loud, as_json;
    bool reports;     /* --report: all unknown names, without the compiler's messages */
    bool tells_flags; /* --flags: what sources are compiled with, and nothing is made */
    struct cc_names names;
    const char *standard;           /* -std= of C, or NULL */
    const char *cplusplus_standard; /* and of C++ */
    struct command compile;         /* what every source is compiled with */
    struct command link;            /* objects and libraries, in order */
    const char *sources[MAX_ARGUMENTS];
    size_t source_count;
    char *texts[MAX_TEXTS]; /* owned */
    size_t text_count;
    const char *missing[MAX_MISSING];
    size_t missing_count;
};

/* ---- Words ----------------------------------------------------------------------------------- */

static void add(struct command *command, const char *word)
{
    if (command->count < MAX_ARGUMENTS)
        command->words[command->count++] = word;
}

static const char *text_of(struct build *build, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static const char *text_of(struct build *build, const char *format, ...)
{
    va_list arguments;
    char *text;
    int length;

    va_start(arguments, format);
    length = vasprintf(&text, format, arguments);
    va_end(arguments);
    if (length < 0 || build->text_count == MAX_TEXTS) {
        cli_error("cc: out of memory, or too many arguments");
        exit(CLI_INTERNAL);
    }
    build->texts[build->text_count++] = text;
    return text;
}

static bool ends_in(const char *text, const char *end)
{
    size_t length = strlen(text), end_length = strlen(end);

    return length >= end_length && strcasecmp(text + length - end_length, end) == 0;
}

static bool is_cplusplus(const char *path)
{
    return ends_in(path, ".cpp") || ends_in(path, ".cc") || ends_in(path, ".cxx");
}

/* ---- Signals --------------------------------------------------------------------------------- */

/* They end what runs, and then the verb, which has taken its folder away by then. */
static const int ends[] = {SIGINT, SIGTERM, SIGHUP};

static volatile sig_atomic_t interrupted; /* the signal */
static volatile pid_t running;            /* 0: nothing */

static void on_end(int signal)
{
    interrupted = signal;
    if (running > 0)
        kill(running, signal);
}

/* One that the caller ignores, nohup's, stays ignored. */
static void catch_ends(void)
{
    struct sigaction action = {.sa_handler = on_end}, before;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (sigaction(ends[i], NULL, &before) == 0 && before.sa_handler != SIG_IGN)
            sigaction(ends[i], &action, NULL);
}

static void end_if_interrupted(void)
{
    if (!interrupted)
        return;
    signal(interrupted, SIG_DFL);
    raise(interrupted);
}

/* ---- Programs -------------------------------------------------------------------------------- */

/*
 * Runs it, its standard error into a file if that is named; its exit status, or -1 with a message.
 */
static int run(const struct build *build, const struct command *command, const char *error_path)
{
    posix_spawn_file_actions_t actions;
    int status, failure;
    pid_t pid;

    if (build->is_loud) {
        for (size_t i = 0; i < command->count; i++)
            fprintf(stderr, "%s%s", i ? " " : "", command->words[i]);
        fputc('\n', stderr);
    }
    if (interrupted)
        return -1;
    posix_spawn_file_actions_init(&actions);
    if (error_path)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, error_path,
                                         O_WRONLY | O_CREAT | O_TRUNC, 0600);
    failure =
        posix_spawnp(&pid, command->words[0], &actions, NULL, (char **)command->words, environ);
    posix_spawn_file_actions_destroy(&actions);
    if (failure) {
        cli_error("cc: cannot run %s: %s (Debian's clang, lld and llvm have it)", command->words[0],
                  strerror(failure));
        return -1;
    }
    running = pid;
    if (interrupted)
        kill(pid, interrupted); /* it came between the two */
    while (waitpid(pid, &status, 0) < 0)
        if (errno != EINTR)
            return -1;
    running = 0;
    return WIFEXITED(status) && !interrupted ? WEXITSTATUS(status) : -1;
}

static void remove_folder(const char *path)
{
    DIR *folder = opendir(path);
    struct dirent *entry;

    while (folder && (entry = readdir(folder)))
        if (entry->d_name[0] != '.')
            unlinkat(dirfd(folder), entry->d_name, 0);
    if (folder)
        closedir(folder);
    rmdir(path);
}

static bool is_folder(const char *path)
{
    struct stat state;

    return stat(path, &state) == 0 && S_ISDIR(state.st_mode);
}

/* The driver headers. */
static bool find_headers(struct build *build)
{
    if (cli_find_own("include/drydock/wdk", "include/wdk", build->include, sizeof build->include))
        return true;
    cli_error("cc: the driver headers are neither beside the program nor where it was built from");
    return false;
}

/* ---- Compiling ------------------------------------------------------------------------------- */

static void begin_compile(struct build *build)
{
    static const char *const always[] = {
        "clang",
        "--target=x86_64-pc-windows-msvc",
        "-fms-extensions",
        "-fms-compatibility",
        "-fms-compatibility-version=19.29",
        "-fno-exceptions",
        "-fcommon", /* `int x;` in a header of two sources is one variable, as MSVC has it */
        /* Calls, which may raise: clang knows of no other instruction in a __try block that may. */
        "-fno-builtin-memcpy",
        "-fno-builtin-memmove",
        "-fno-builtin-memset",
        "-fno-builtin-memcmp",
        "-fno-stack-protector",
        "-mcx16",              /* _InterlockedCompareExchange128 */
        "-U__SIZEOF_INT128__", /* Microsoft's compiler has no integer of 128 bits */
        "-D_KERNEL_MODE=1",
        "-D_AMD64_=1",
        "-D_M_AMD64=100",
        "-D_WIN64=1",
        "-D_WIN32=1",
        "-DDRYDOCK=1",
        "-Wno-microsoft",
        "-Wno-c++11-narrowing", /* a warning of Microsoft's compiler, and of few builds */
        "-Wno-nonportable-include-path",
        "-Wno-pragma-pack",
        "-Wno-unknown-pragmas",
        "-Wno-ignored-pragma-intrinsic",
        "-gdwarf-4",
        "-O2",
    };

    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        add(&build->compile, always[i]);
}

/* Where headers are looked for: in the folders of the sources, and of -I. */
static bool prepare(struct build *build)
{
    const char *paths[2 * MAX_ARGUMENTS + 2];
    struct cc_folders folders = {paths, 0};
    struct cc_folders headers;

    for (size_t i = 0; i < build->source_count; i++) {
        const char *slash = strrchr(build->sources[i], '/');

        paths[folders.count++] =
            slash ? text_of(build, "%.*s", (int)(slash - build->sources[i]) + 1, build->sources[i])
                  : ".";
    }
    for (size_t i = 0; i < build->compile.count; i++) {
        const char *word = build->compile.words[i];

        if (strncmp(word, "-I", 2) == 0 && (word[2] || i + 1 < build->compile.count))
            paths[folders.count++] = word[2] ? word + 2 : build->compile.words[++i];
    }
    headers = folders; /* and those of the system, whose names drivers write in any case */
    paths[headers.count++] = build->include;
    paths[headers.count++] = text_of(build, "%s/crt", build->include);
    return cc_write_overlay(build->folder, &headers) &&
           cc_write_traces(build->folder, &folders, build->sources, build->source_count);
}

/* The compiler's messages: to standard error, but for a report, and the unknown names out of them.
 */
static void read_messages(struct build *build, const char *path)
{
    FILE *file = fopen(path, "r");
    char *line = NULL;
    size_t size = 0;

    if (!file)
        return;
    while (getline(&line, &size, file) > 0) {
        if (!build->reports)
            fputs(line, stderr);
        cc_names_read_line(&build->names, line);
    }
    free(line);
    fclose(file);
}

/* The driver headers, and those of the C library that a driver has. */
static void add_headers(struct build *build, struct command *command)
{
    add(command, "-isystem");
    add(command, build->include);
    add(command, "-isystem");
    add(command, text_of(build, "%s/crt", build->include));
}

static bool compile(struct build *build, size_t number)
{
    const char *source = build->sources[number];
    const char *messages = text_of(build, "%s/messages", build->folder);
    int status;
    struct command command = build->compile;
    const char *object = build->compiles_only && build->output
                             ? build->output
                             : text_of(build, "%s/%zu.obj", build->folder, number);

    add(&command, text_of(build, "-ivfsoverlay%s/overlay.yaml", build->folder));
    add(&command, text_of(build, "-I%s", build->folder));
    add_headers(build, &command);
    if (is_cplusplus(source)) {
        add(&command, build->cplusplus_standard ? build->cplusplus_standard : "-std=c++17");
        add(&command, "-fno-rtti");
        add(&command, "-fno-threadsafe-statics");
    } else if (build->standard) {
        add(&command, build->standard);
    }
    add(&command, "-c");
    add(&command, source);
    add(&command, "-o");
    add(&command, object);
    add(&build->link, object);
    if (build->reports)
        add(&command, "-ferror-limit=0");
    else if (isatty(STDERR_FILENO))
        add(&command, "-fcolor-diagnostics");
    status = run(build, &command, messages);
    read_messages(build, messages);
    return status == 0;
}

/* ---- Linking --------------------------------------------------------------------------------- */

static bool write_definitions(const char *path, const char *module, const char *const *names,
                              size_t count)
{
    FILE *file = fopen(path, "w");
    const struct nt_export *row;

    if (!file)
        return false;
    fprintf(file, "LIBRARY %s\nEXPORTS\n", module);
    for (size_t i = 0; i < count; i++)
        fprintf(file, " %s\n", names[i]);
    for (size_t i = 0; !names && (row = nt_export_at(i)) != NULL; i++)
        fprintf(file, " %s%s\n", row->name, row->kind == NT_EXPORT_VARIABLE ? " CONSTANT" : "");
    return fclose(file) == 0;
}

/* The import library of a module with these names; NULL: all that the bench has. */
static const char *make_library(struct build *build, const char *module, const char *const *names,
                                size_t count)
{
    const char *definitions = text_of(build, "%s/%s.def", build->folder, module);
    const char *library = text_of(build, "%s/%s.lib", build->folder, module);
    const struct command command = {
        {"llvm-dlltool", "-m", "i386:x86-64", "-d", definitions, "-l", library}, 7};

    if (!write_definitions(definitions, module, names, count)) {
        cli_error("cc: cannot write %s", definitions);
        return NULL;
    }
    return run(build, &command, NULL) == 0 ? library : NULL;
}

/*
 * A name of C that the linker misses, from "...: undefined symbol: NAME"; C++ names are of no
 * kernel.
 */
static const char *missing_name(struct build *build, char *line)
{
    static const char mark[] = "undefined symbol: ";
    char *name = strstr(line, mark);

    if (!name)
        return NULL;
    name += strlen(mark);
    if (strncmp(name, "__declspec(dllimport) ", 22) == 0)
        name += 22;
    name[strcspn(name, "\r\n")] = '\0';
    return name[strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")]
               ? NULL
               : text_of(build, "%s", name);
}

/* The linker's messages, to standard error; false when it misses a symbol of no kernel. */
static bool read_missing(struct build *build, const char *path, bool is_final)
{
    FILE *file = fopen(path, "r");
    char line[4096];
    bool is_all_names = true;

    if (!file)
        return false;
    build->missing_count = 0;
    while (fgets(line, sizeof line, file)) {
        const char *name;

        if (is_final)
            fputs(line, stderr);
        name = missing_name(build, line);
        if (name && strcmp(name, build->entry) == 0) {
            cli_error("cc: no source has %s, where the driver begins (--entry NAME)", name);
            is_all_names = false;
        }
        if (strstr(line, "error:") && !name)
            is_all_names = false;
        if (name && build->missing_count < MAX_MISSING)
            build->missing[build->missing_count++] = name;
    }
    fclose(file);
    return is_all_names && build->missing_count > 0;
}

static bool link_once(struct build *build, const char *const *libraries, size_t count,
                      const char *image, const char *errors)
{
    struct command command = {{"lld-link", "/nologo", "/driver", "/subsystem:native",
                               "/machine:x64", "/nodefaultlib", "/debug:dwarf", "/errorlimit:0",
                               "/alternatename:_fltused=__ImageBase"},
                              9};

    add(&command, text_of(build, "/entry:%s", build->entry));
    add(&command, text_of(build, "/out:%s", image));
    for (size_t i = 0; i < build->link.count; i++)
        add(&command, build->link.words[i]);
    for (size_t i = 0; i < count; i++)
        add(&command, libraries[i]);
    return run(build, &command, errors) == 0;
}

static void tell_missing(const struct build *build)
{
    if (terminal_is_quiet() || build->as_json)
        return;
    fprintf(stderr, "drydock: %s imports what the bench does not have; a call is a finding:",
            build->output);
    for (size_t i = 0; i < build->missing_count; i++)
        fprintf(stderr, "%s %s", i ? "," : "", build->missing[i]);
    fputc('\n', stderr);
}

static void note_missing(struct build *build)
{
    for (size_t i = 0; i < build->missing_count; i++)
        cc_names_add(&build->names, build->missing[i], NULL, CC_NAME_SYMBOL, NULL);
}

/* Whole or not at all, from another file system too. */
static bool move_image(struct build *build, const char *from, const char *to)
{
    const char *near = text_of(build, "%s.new", to);
    const struct command copy = {{"cp", "--", from, near}, 4};

    int failure;

    if (rename(from, to) == 0)
        return true;
    if (errno != EXDEV)
        return false;
    if (run(build, &copy, NULL) == 0 && rename(near, to) == 0)
        return true;
    failure = errno;
    unlink(near);
    errno = failure;
    return false;
}

static bool link_image(struct build *build)
{
    static const char *const registration[] = {"DxgkInitialize", "DxgkInitializeDisplayOnlyDriver",
                                               "DxgkUnInitialize"};
    const char *image = text_of(build, "%s/image.sys", build->folder);
    const char *errors = text_of(build, "%s/errors", build->folder);
    const char *libraries[3];
    bool is_linked;

    libraries[0] = make_library(build, "ntoskrnl.exe", NULL, 0);
    libraries[1] = make_library(build, "dxgkrnl.sys", registration, 2);
    if (!libraries[0] || !libraries[1])
        return false;
    is_linked = link_once(build, libraries, 2, image, errors);
    if (!is_linked && read_missing(build, errors, false)) {
        libraries[2] =
            make_library(build, "ntoskrnl.missing", build->missing, build->missing_count);
        is_linked = libraries[2] && link_once(build, libraries, 3, image, errors);
        note_missing(build);
        if (is_linked)
            tell_missing(build);
    }
    read_missing(build, errors, true); /* of a link that succeeded: warnings */
    if (!is_linked)
        return false;
    if (move_image(build, image, build->output))
        return true;
    cli_error("cc: cannot write %s: %s", build->output, strerror(errno));
    return false;
}

/* ---- Where to -------------------------------------------------------------------------------- */

/* Before minutes of compiling are lost. */
static bool can_write(struct build *build)
{
    const char *output = build->output, *slash = strrchr(output, '/');
    const char *folder = slash ? text_of(build, "%.*s", (int)(slash - output) + 1, output) : ".";

    if (ends_in(output, ".c") || is_cplusplus(output))
        cli_error("cc: -o %s is the name of a source, and would be written over", output);
    else if (is_folder(output))
        cli_error("cc: cannot write %s: %s", output, strerror(EISDIR));
    else if (!is_folder(folder))
        cli_error("cc: cannot write %s: there is no folder %s", output, folder);
    else if (access(folder, W_OK) != 0)
        cli_error("cc: cannot write %s: %s", output, strerror(errno));
    else
        return true;
    return false;
}

/* False, with a message. */
static bool make_folder(struct build *build)
{
    const char *temporary = getenv("TMPDIR");
    int length = snprintf(build->folder, sizeof build->folder, "%s/drydock-cc-XXXXXX",
                          temporary && temporary[0] ? temporary : "/tmp");

    if (length < (int)sizeof build->folder && mkdtemp(build->folder))
        return true;
    cli_error("cc: cannot make a folder in %s for what is made on the way: %s",
              temporary && temporary[0] ? temporary : "/tmp",
              length < (int)sizeof build->folder ? strerror(errno) : "the name is too long");
    return false;
}

/* ---- The verb -------------------------------------------------------------------------------- */

/* Options of ours and of the linker; all others are the compiler's. */
static bool parse(struct build *build, const struct cli_arguments *arguments)
{
    bool has_output;

    if (arguments->raw_count > MAX_ARGUMENTS - OWN_ARGUMENTS) {
        cli_error("cc takes %d arguments at most; -c makes objects of one source each",
                  MAX_ARGUMENTS - OWN_ARGUMENTS);
        return false;
    }
    for (size_t i = 0; i < arguments->raw_count; i++) {
        const char *word = arguments->raw[i];
        bool has_next = i + 1 < arguments->raw_count;

        if (!has_next && (strcmp(word, "-o") == 0 || strcmp(word, "--entry") == 0)) {
            cli_error("cc: %s takes a %s", word, word[1] == 'o' ? "file" : "name");
            return false;
        }
        if (strcmp(word, "-o") == 0) {
            build->output = arguments->raw[++i];
        } else if (strcmp(word, "--entry") == 0) {
            build->entry = arguments->raw[++i];
        } else if (strcmp(word, "--json") == 0) {
            build->as_json = true;
        } else if (strcmp(word, "--report") == 0) {
            build->reports = true;
        } else if (strcmp(word, "--flags") == 0) {
            build->tells_flags = true;
        } else if (strcmp(word, "--verbose") == 0) {
            build->is_loud = true;
        } else if (strcmp(word, "-c") == 0) {
            build->compiles_only = true;
        } else if (ends_in(word, ".c") || is_cplusplus(word)) {
            build->sources[build->source_count++] = word;
        } else if (ends_in(word, ".obj") || ends_in(word, ".o") || ends_in(word, ".lib") ||
                   ends_in(word, ".a")) {
            add(&build->link, word);
        } else if (strncmp(word, "-std=", 5) == 0) {
            *(strstr(word, "++") ? &build->cplusplus_standard : &build->standard) = word;
        } else {
            add(&build->compile, word);
            if ((strcmp(word, "-I") == 0 || strcmp(word, "-D") == 0 ||
                 strcmp(word, "-include") == 0 || strcmp(word, "-isystem") == 0 ||
                 strcmp(word, "-U") == 0) &&
                has_next)
                add(&build->compile, arguments->raw[++i]);
        }
    }
    has_output = build->output != NULL;
    if (!has_output)
        build->output = "driver.sys";
    if (build->tells_flags)
        return true;
    if (!build->source_count && !build->link.count) {
        cli_error("cc takes sources or objects (drydock cc --help)");
        return false;
    }
    if (build->compiles_only && (build->source_count != 1 || !has_output)) {
        cli_error("cc -c takes one source and -o OBJECT");
        return false;
    }
    return true;
}

static enum cli_status build_all(struct build *build)
{
    enum cli_status status = CLI_FINE;
    FILE *text;

    if (!prepare(build))
        return CLI_INTERNAL;
    for (size_t i = 0; i < build->source_count; i++)
        if (!compile(build, i)) /* all of them: each tells what is wrong */
            status = CLI_USAGE;
    if (status == CLI_FINE && !build->compiles_only && !link_image(build))
        status = CLI_USAGE;
    text = build->reports && !build->as_json ? stdout : stderr;
    cc_names_tell(&build->names, text);
    if (build->reports && !build->names.count)
        fprintf(text, "drydock: no unknown name; %u other error%s\n", build->names.other_errors,
                build->names.other_errors == 1 ? "" : "s");
    return status;
}

/* Words that a shell, or what splits words as one does, reads as they are. */
static void tell_flags(const struct command *command)
{
    for (size_t i = 1; i < command->count; i++) {
        const char *word = command->words[i];
        bool is_plain = !word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                           "0123456789_-=./+:,")];

        printf("%s%s", i > 1 ? " " : "", is_plain ? "" : "'");
        for (; *word; word++)
            fputs(*word == '\'' ? "'\\''" : (char[]){*word, '\0'}, stdout);
        fputs(is_plain ? "" : "'", stdout);
    }
    putchar('\n');
}

static const char *kind_of(const struct build *build)
{
    return build->tells_flags ? "flags" : build->compiles_only ? "object" : "image";
}

static void print_json(const struct build *build)
{
    json_t *json = report_document("cc"), *missing = json_array(), *sources = json_array();
    json_t *flags = json_array();

    for (size_t i = 0; i < build->source_count; i++)
        json_array_append_new(sources, report_text_json(build->sources[i]));
    for (size_t i = 0; i < build->missing_count; i++)
        json_array_append_new(missing, report_text_json(build->missing[i]));
    json_object_set_new(json, "output", report_text_json(build->output));
    json_object_set_new(json, "kind", json_string(kind_of(build)));
    for (size_t i = 1; i < build->compile.count; i++)
        json_array_append_new(flags, report_text_json(build->compile.words[i]));
    json_object_set_new(json, "flags", flags);
    json_object_set_new(json, "sources", sources);
    json_object_set_new(json, "missing_imports", missing);
    cli_print_json(json);
}

/* In a folder that is there for as long. */
static enum cli_status build_in_folder(struct build *build)
{
    enum cli_status status = CLI_USAGE;

    catch_ends();
    if (make_folder(build)) {
        status = build_all(build);
        remove_folder(build->folder);
    }
    return status;
}

static enum cli_status cc(const struct cli_arguments *arguments)
{
    struct build *build = calloc(1, sizeof *build);
    enum cli_status status = CLI_USAGE;

    if (!build)
        return CLI_INTERNAL;
    build->entry = "DriverEntry";
    begin_compile(build);
    if (parse(build, arguments) && find_headers(build)) {
        if (build->tells_flags)
            status = CLI_FINE;
        else if (can_write(build))
            status = build_in_folder(build);
        add_headers(build, &build->compile);
    }
    if (status == CLI_FINE && build->as_json)
        print_json(build);
    else if (status == CLI_FINE && build->tells_flags)
        tell_flags(&build->compile);
    for (size_t i = 0; i < build->text_count; i++)
        free(build->texts[i]);
    cc_names_fini(&build->names);
    free(build);
    end_if_interrupted();
    return status;
}

static const struct cli_option options[] = {
    {"", 'o', "FILE", "the image (driver.sys)"},
    {"entry", 0, "NAME", "where it begins (DriverEntry)"},
    {"", 'c', NULL, "compile one source only, into -o OBJECT"},
    {"report", 0, NULL, "all unknown names and what the documentation says of them, no messages"},
    {"flags", 0, NULL,
     "print what each source is compiled with, for bindgen and editors; make nothing"},
    {"verbose", 0, NULL, "show what is run"},
    {CLI_JSON},
    {NULL, 0, NULL, NULL},
};

const struct cli_verb cli_cc = {
    .name = "cc",
    .usage = "[-o IMAGE] [options of the compiler] SOURCE|OBJECT|LIBRARY...",
    .summary = "Makes a driver image (.sys) from source",
    .details =
        "Runs clang for the Windows x64 target with the driver headers of the bench, and lld-link\n"
        "with import libraries of the services that the bench has. What the driver imports beyond\n"
        "them is named; the image runs, and a call of such a service is a finding. All other\n"
        "options go to the compiler. For each unknown name it says whether the public\n"
        "documentation has it (then it is missing here), as a macro, or not at all.",
    .options = options,
    .takes_all = true,
    .run = cc,
};
