#include "cli/documents.h"

#include "cli/cli.h"

#include "bench/config/profile.h"
#include "check/rules/rules.h"
#include "report/client_catalogue.h"
#include "report/document.h"
#include "version.inc"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct cli_verb *const verbs[] = {
#define VERB(name) &cli_##name,
#include "cli/verbs.inc"
};
#define VERB_COUNT (sizeof verbs / sizeof verbs[0])

/* Pages about formats, section 5. */
static const char *const formats[] = {"drydock-case", "drydock-record", "drydock-json",
                                      "drydock-baseline", "drydock.toml"};

/* ---- roff ------------------------------------------------------------------------------------ */

/* Letters of a word as roff has them; a line must not begin with a dot or an apostrophe. */
static void put_roff(FILE *out, const char *text, bool begins_line)
{
    for (; *text; text++) {
        if (begins_line && (*text == '.' || *text == '\''))
            fputs("\\&", out);
        begins_line = *text == '\n';
        if (*text == '\\')
            fputs("\\e", out);
        else if (*text == '-')
            fputs("\\-", out);
        else if (*text == '\'')
            fputs("\\(aq", out);
        else if (*text == '`')
            fputs("\\(ga", out);
        else if (*text == '^')
            fputs("\\(ha", out);
        else if (*text == '~')
            fputs("\\(ti", out);
        else
            fputc(*text, out);
    }
}

/* Lines of prose; those with blanks in front are drawings and tables, and stay as they are. */
static void put_details(FILE *out, const char *text)
{
    bool is_drawing = false;

    while (*text) {
        const size_t length = strcspn(text, "\n");
        const bool is_drawn = text[0] == ' ';
        char line[512];

        snprintf(line, sizeof line, "%.*s", (int)length, text);
        if (is_drawn != is_drawing)
            fputs(is_drawn ? ".PP\n.nf\n" : ".fi\n.PP\n", out);
        is_drawing = is_drawn;
        if (length)
            put_roff(out, line, true);
        else
            fputs(is_drawing ? "" : ".PP", out);
        fputc('\n', out);
        text += length;
        text += *text == '\n';
    }
    if (is_drawing)
        fputs(".fi\n", out);
}

static void put_title(FILE *out, const char *name, const char *summary)
{
    char upper[64];
    size_t i = 0;

    for (; name[i] && i + 1 < sizeof upper; i++)
        upper[i] = name[i] >= 'a' && name[i] <= 'z' ? (char)(name[i] - 'a' + 'A') : name[i];
    upper[i] = '\0';
    fprintf(out, ".\\\" Made by the build, of the tables that --help prints.\n.TH \"");
    put_roff(out, upper, false);
    fprintf(out, "\" 1 %s \"drydock %s\" \"Drydock\"\n.SH NAME\n", DRYDOCK_DATE, DRYDOCK_VERSION);
    put_roff(out, name, true);
    fputs(" \\- ", out);
    put_roff(out, summary, false);
    fputc('\n', out);
}

static void put_statuses(FILE *out)
{
    static const char *const statuses[][2] = {
        {"0", "Done, and nothing was found."},
        {"1", "Done; there are findings."},
        {"2", "The command line or an input file is wrong."},
        {"3", "The fault is Drydock's."},
        {"130", "Interrupted, in a verb that tells what there is until then."},
    };

    fputs(".SH EXIT STATUS\n", out);
    for (size_t i = 0; i < sizeof statuses / sizeof statuses[0]; i++)
        fprintf(out, ".TP\n.B %s\n%s\n", statuses[i][0], statuses[i][1]);
}

static void put_see_also(FILE *out, const char *but)
{
    const char *comma = "";

    fputs(".SH SEE ALSO\n", out);
    for (size_t i = 0; i <= VERB_COUNT; i++) {
        const char *verb = i ? verbs[i - 1]->name : "";

        if (but && strcmp(but, verb) == 0)
            continue;
        fprintf(out, "%s.BR drydock%s%s (1)", comma, i ? "\\-" : "", verb);
        comma = " ,\n";
    }
    for (size_t i = 0; i < sizeof formats / sizeof formats[0]; i++) {
        fputs(" ,\n.BR ", out);
        put_roff(out, formats[i], false);
        fputs(" (5)", out);
    }
    fputc('\n', out);
}

static void put_option(FILE *out, const struct cli_option *option)
{
    fputs(".TP\n", out);
    if (option->letter)
        fprintf(out, "\\fB\\-%c\\fR%s", option->letter, option->name[0] ? ", " : "");
    if (option->name[0]) {
        fputs("\\fB\\-\\-", out);
        put_roff(out, option->name, false);
        fputs("\\fR", out);
    }
    if (option->value) {
        fputs(" \\fI", out);
        put_roff(out, option->value, false);
        fputs("\\fR", out);
    }
    fputc('\n', out);
    put_roff(out, option->help, true);
    fputc('\n', out);
}

static void put_verb_page(FILE *out, const struct cli_verb *verb)
{
    struct cli_option option;
    char name[64];

    snprintf(name, sizeof name, "drydock-%s", verb->name);
    put_title(out, name, verb->summary);
    fputs(".SH SYNOPSIS\n.B drydock ", out);
    put_roff(out, verb->name, false);
    fputs("\n", out);
    put_roff(out, verb->usage, true);
    fputs("\n.SH DESCRIPTION\n", out);
    put_roff(out, verb->summary, true);
    fputs(".\n", out);
    if (verb->details) {
        fputs(".PP\n", out);
        put_details(out, verb->details);
    }
    fputs(".SH OPTIONS\n", out);
    for (size_t i = 0; cli_option_at(verb, i, &option); i++)
        put_option(out, &option);
    put_statuses(out);
    put_see_also(out, verb->name);
}

static void put_main_page(FILE *out)
{
    put_title(out, "drydock",
              "puts a display miniport under a memory manager, on a modelled machine");
    fputs(
        ".SH SYNOPSIS\n.B drydock\n.I VERB\n[arguments] [options]\n.br\n.B drydock help\n.I VERB\n"
        ".SH DESCRIPTION\nDrydock plays cases against a WDDM display miniport and checks every "
        "byte and every\nrule of the documented contract. Names of verbs and options may be "
        "abbreviated.\n.SH VERBS\n",
        out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        fprintf(out, ".TP\n.BR drydock\\-%s (1)\n", verbs[i]->name);
        put_roff(out, verbs[i]->summary, true);
        fputs(".\n", out);
    }
    put_statuses(out);
    fputs(".SH FILES\n.TP\n.I drydock.toml\nSettings of check, run and merge; see\n"
          ".BR drydock.toml (5).\n",
          out);
    put_see_also(out, "");
}

/* ---- What a value is ------------------------------------------------------------------------- */

enum value_kind { VALUE_OTHER, VALUE_FILE, VALUE_WORDS };

/* Words are separated by blanks, in words of size bytes. */
static enum value_kind kind_of(const struct cli_verb *verb, const struct cli_option *option,
                               char *words, size_t size)
{
    static const char *const files[] = {"FILE", "DIR", "CASE", "PATH", "FOLDER"};

    words[0] = '\0';
    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        if (strcmp(option->value, files[i]) == 0)
            return VALUE_FILE;
    }
    if (strcmp(option->name, "model") == 0) {
        snprintf(words, size, "physical gpummu iommu %s",
                 strcmp(verb->name, "run") == 0 ? "both" : "all");
    } else if (strcmp(option->name, "color") == 0) {
        snprintf(words, size, "auto always never");
    } else if (strcmp(option->name, "profile") == 0) {
        const struct run_profile *profile;

        for (unsigned i = 0; (profile = run_profile_at(i)) != NULL; i++)
            snprintf(words + strlen(words), size - strlen(words), "%s%s", i ? " " : "",
                     profile->name);
    } else if (strcmp(option->name, "driver") == 0 || strcmp(option->name, "gpu") == 0) {
        return VALUE_FILE;
    } else if (strchr(option->value, '|')) {
        snprintf(words, size, "%s", option->value);
        for (char *at = words; *at; at++)
            *at = *at == '|' ? ' ' : *at;
    }
    return words[0] ? VALUE_WORDS : VALUE_OTHER;
}

/* Words that stand behind the verb; "": files. */
static char *words_of(const struct cli_verb *verb)
{
    char *words = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&words, &size);
    const struct report_document_kind *kind;
    const struct client_rule_row *row;

    if (!out)
        return NULL;
    if (strcmp(verb->name, "explain") == 0 || strcmp(verb->name, "rules") == 0) {
        for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++)
            fprintf(out, "%s%s", i > 1 ? " " : "", rule_get((enum rule_id)i)->id);
        for (unsigned i = 0; (row = client_catalogue_at(i)) != NULL; i++)
            fprintf(out, " %s", row->id);
    } else if (strcmp(verb->name, "schema") == 0) {
        for (size_t i = 0; (kind = report_document_kind(i)) != NULL; i++)
            fprintf(out, "%s%s", i ? " " : "", kind->name);
    }
    fclose(out);
    return words;
}

/* ---- bash ------------------------------------------------------------------------------------ */

static void put_bash(FILE *out)
{
    struct cli_option option;
    char words[1024];

    fputs("# bash completion of drydock. Made by the build.\n"
          "_drydock() {\n"
          "    local word=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]} "
          "verb=${COMP_WORDS[1]}\n"
          "    local options= arguments=\n"
          "    COMPREPLY=()\n"
          "    if [ \"$COMP_CWORD\" -eq 1 ] || { [ \"$verb\" = help ] && [ \"$COMP_CWORD\" -eq 2 "
          "]; }; "
          "then\n        COMPREPLY=($(compgen -W '",
          out);
    for (size_t i = 0; i < VERB_COUNT; i++)
        fprintf(out, "%s ", verbs[i]->name);
    fputs("help' -- \"$word\"))\n        return\n    fi\n    case $verb in\n", out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        char *arguments = words_of(verbs[i]);

        fprintf(out, "    %s)\n        case $before in\n", verbs[i]->name);
        for (size_t j = 0; cli_option_at(verbs[i], j, &option); j++) {
            enum value_kind kind;

            if (!option.value)
                continue;
            kind = kind_of(verbs[i], &option, words, sizeof words);
            fputs("        ", out);
            if (option.name[0])
                fprintf(out, "--%s", option.name);
            if (option.letter)
                fprintf(out, "%s-%c", option.name[0] ? " | " : "", option.letter);
            if (kind == VALUE_WORDS)
                fprintf(out, ") COMPREPLY=($(compgen -W '%s' -- \"$word\")); return ;;\n", words);
            else if (kind == VALUE_FILE)
                fprintf(out, ") COMPREPLY=($(compgen -f -- \"$word\")); return ;;\n");
            else
                fprintf(out, ") return ;;\n");
        }
        fputs("        esac\n        options='", out);
        for (size_t j = 0; cli_option_at(verbs[i], j, &option); j++) {
            if (option.name[0])
                fprintf(out, "--%s ", option.name);
        }
        fprintf(out, "'\n        arguments='%s' ;;\n", arguments ? arguments : "");
        free(arguments);
    }
    fputs("    *) return ;;\n    esac\n"
          "    case $word in\n"
          "    -*) COMPREPLY=($(compgen -W \"$options\" -- \"$word\")) ;;\n"
          "    *) if [ -n \"$arguments\" ]; then\n"
          "            COMPREPLY=($(compgen -W \"$arguments\" -- \"$word\"))\n"
          "        else\n"
          "            COMPREPLY=($(compgen -f -- \"$word\"))\n"
          "        fi ;;\n"
          "    esac\n"
          "}\n"
          "complete -o filenames -F _drydock drydock\n",
          out);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* Within '...' of _arguments, where brackets and colons have a meaning. */
static void put_zsh(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'')
            fputs("'\\''", out);
        else if (strchr("[]:\\", *text))
            fprintf(out, "\\%c", *text);
        else
            fputc(*text, out);
    }
}

static void put_zsh_option(FILE *out, const struct cli_verb *verb, const struct cli_option *option,
                           const char *form)
{
    char words[1024];

    fprintf(out, " \\\n            '*%s[", form);
    put_zsh(out, option->help);
    fputc(']', out);
    if (option->value) {
        enum value_kind kind = kind_of(verb, option, words, sizeof words);

        fputc(':', out);
        put_zsh(out, option->value);
        if (kind == VALUE_WORDS)
            fprintf(out, ":(%s)", words);
        else
            fputs(kind == VALUE_FILE ? ":_files" : ": ", out);
    }
    fputc('\'', out);
}

static void put_zsh_file(FILE *out)
{
    struct cli_option option;

    fputs("#compdef drydock\n# zsh completion of drydock. Made by the build.\n_drydock() {\n"
          "    local -a verbs\n    verbs=(\n",
          out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        fprintf(out, "        '%s:", verbs[i]->name);
        put_zsh(out, verbs[i]->summary);
        fputs("'\n", out);
    }
    fputs("        'help:Says what a verb takes'\n    )\n"
          "    if (( CURRENT == 2 )); then\n        _describe verb verbs\n        return\n    fi\n"
          "    local verb=$words[2]\n    shift words\n    (( CURRENT-- ))\n    case $verb in\n"
          "    help) _describe verb verbs ;;\n",
          out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        char *arguments = words_of(verbs[i]), form[80];

        fprintf(out, "    %s)\n        _arguments -s", verbs[i]->name);
        for (size_t j = 0; cli_option_at(verbs[i], j, &option); j++) {
            if (option.name[0]) {
                snprintf(form, sizeof form, "--%s%s", option.name, option.value ? "=" : "");
                put_zsh_option(out, verbs[i], &option, form);
            }
            if (option.letter) {
                snprintf(form, sizeof form, "-%c%s", option.letter, option.value ? "+" : "");
                put_zsh_option(out, verbs[i], &option, form);
            }
        }
        if (arguments && arguments[0])
            fprintf(out, " \\\n            '*:argument:(%s)' ;;\n", arguments);
        else
            fputs(" \\\n            '*:file:_files' ;;\n", out);
        free(arguments);
    }
    fputs("    esac\n}\n_drydock \"$@\"\n", out);
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void put_fish_text(FILE *out, const char *text)
{
    for (; *text; text++) {
        if (*text == '\'' || *text == '\\')
            fputc('\\', out);
        fputc(*text, out);
    }
}

static void put_fish(FILE *out)
{
    struct cli_option option;
    char words[1024];

    fputs("# fish completion of drydock. Made by the build.\n", out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        fprintf(out, "complete -c drydock -f -n __fish_use_subcommand -a %s -d '", verbs[i]->name);
        put_fish_text(out, verbs[i]->summary);
        fputs("'\n", out);
    }
    fputs("complete -c drydock -f -n __fish_use_subcommand -a help -d 'Says what a verb takes'\n",
          out);
    for (size_t i = 0; i < VERB_COUNT; i++) {
        char *arguments = words_of(verbs[i]);

        if (arguments && arguments[0])
            fprintf(out, "complete -c drydock -f -n '__fish_seen_subcommand_from %s' -a '%s'\n",
                    verbs[i]->name, arguments);
        free(arguments);
        for (size_t j = 0; cli_option_at(verbs[i], j, &option); j++) {
            fprintf(out, "complete -c drydock -n '__fish_seen_subcommand_from %s'", verbs[i]->name);
            if (option.name[0])
                fprintf(out, " -l %s", option.name);
            if (option.letter)
                fprintf(out, " -s %c", option.letter);
            if (option.value) {
                enum value_kind kind = kind_of(verbs[i], &option, words, sizeof words);

                if (kind == VALUE_WORDS)
                    fprintf(out, " -x -a '%s'", words);
                else
                    fputs(kind == VALUE_FILE ? " -r -F" : " -x", out);
            }
            fputs(" -d '", out);
            put_fish_text(out, option.help);
            fputs("'\n", out);
        }
    }
}

/* ---- Files ----------------------------------------------------------------------------------- */

static FILE *open_file(const char *folder, const char *name, char path[600])
{
    FILE *out;

    snprintf(path, 600, "%s/%s", folder, name);
    out = fopen(path, "w");
    if (!out)
        cli_error("cannot write '%s': %s", path, strerror(errno));
    return out;
}

static bool close_file(FILE *out, const char *path)
{
    bool is_fine = !ferror(out);

    is_fine &= fclose(out) == 0;
    if (!is_fine)
        cli_error("cannot write '%s': %s", path, strerror(errno));
    return is_fine;
}

bool documents_write(const char *folder)
{
    static const struct {
        const char *name;
        void (*put)(FILE *out);
    } files[] = {{"drydock.1", put_main_page},
                 {"drydock.bash", put_bash},
                 {"_drydock", put_zsh_file},
                 {"drydock.fish", put_fish}};
    char path[600], name[64];
    FILE *out;

    for (size_t i = 0; i < sizeof files / sizeof files[0]; i++) {
        out = open_file(folder, files[i].name, path);
        if (!out)
            return false;
        files[i].put(out);
        if (!close_file(out, path))
            return false;
    }
    for (size_t i = 0; i < VERB_COUNT; i++) {
        snprintf(name, sizeof name, "drydock-%s.1", verbs[i]->name);
        out = open_file(folder, name, path);
        if (!out)
            return false;
        put_verb_page(out, verbs[i]);
        if (!close_file(out, path))
            return false;
    }
    return true;
}
