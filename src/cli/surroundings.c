/*
 * Surroundings on the command line: words, files of words, and a driver's INF, as one text.
 *
 * A case keeps the text, so that it plays the same without the files.
 */
#include "cli/cli.h"
#include "report/read_file.h"
#include "workload/case/options.h"
#include "workload/import/inf.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define SEPARATORS ", \t\r\n"

/* What is gathered. */
struct gathered {
    char words[WORKLOAD_MAX_SURROUNDINGS + 1];
    const char *wanted_id; /* of an INF's models; NULL: the first */
};

static bool add(struct gathered *gathered, const char *prefix, const char *word, size_t length)
{
    const size_t used = strlen(gathered->words), size = sizeof gathered->words;
    const int more = snprintf(gathered->words + used, size - used, "%s%s%.*s", used ? "," : "",
                              prefix, (int)length, word);

    if (more >= 0 && (size_t)more < size - used)
        return true;
    cli_error("the surroundings are too long (expected at most %d characters)",
              WORKLOAD_MAX_SURROUNDINGS);
    return false;
}

/* The whole of a file, with a zero behind it; NULL with a message. */
static char *read_file(const char *path, size_t *out_size)
{
    char error[512], *text = report_read_file(path, WORKLOAD_MAX_INF_BYTES, out_size, error);

    if (!text)
        cli_error("%s", error);
    return text;
}

static bool add_inf(struct gathered *gathered, const char *path)
{
    static struct workload_inf inf;
    struct workload_error error;
    size_t size;
    char *text = read_file(path, &size);
    bool is_fine = text && workload_inf_read(path, text, size, gathered->wanted_id, &inf, &error);

    if (text && !is_fine)
        cli_error("%s", error.text);
    free(text);
    if (!is_fine)
        return false;
    cli_note("%s: %s%s", path, inf.model,
             inf.models > 1 ? " (of several models: --surroundings id=ID says another)" : "");
    if (inf.left_out)
        cli_note("%s: %u line%s left out, the first: %s", path, inf.left_out,
                 inf.left_out == 1 ? "" : "s", inf.first_left_out);
    return !inf.words[0] || add(gathered, "", inf.words, strlen(inf.words));
}

static bool has_end(const char *path, const char *end)
{
    const size_t length = strlen(path), bytes = strlen(end);

    return length >= bytes && strcasecmp(path + length - bytes, end) == 0;
}

/* Words of a file: comments from # to the end of a line; OFFSET=NUMBER is a register's. */
static bool add_file(struct gathered *gathered, const char *path)
{
    size_t size;
    char *text = has_end(path, ".inf") ? NULL : read_file(path, &size);
    bool is_fine = text != NULL;

    if (has_end(path, ".inf"))
        return add_inf(gathered, path);
    for (const char *at = text; is_fine && *(at += strspn(at, SEPARATORS));) {
        const size_t length = *at == '#' ? strcspn(at, "\n") : strcspn(at, SEPARATORS);

        if (*at != '#')
            is_fine = add(gathered, isdigit((unsigned char)*at) ? "register:" : "", at, length);
        at += length;
    }
    free(text);
    return is_fine;
}

static bool add_words(struct gathered *gathered, const char *words)
{
    char path[WORKLOAD_MAX_SURROUNDINGS + 1];

    for (const char *at = words + strspn(words, SEPARATORS); *at; at += strspn(at, SEPARATORS)) {
        const size_t length = strcspn(at, SEPARATORS);

        if (length > WORKLOAD_MAX_SURROUNDINGS || *at != '@') {
            if (!add(gathered, "", at, length))
                return false;
        } else {
            snprintf(path, sizeof path, "%.*s", (int)length - 1, at + 1);
            if (!add_file(gathered, path))
                return false;
        }
        at += length;
    }
    return true;
}

/* The hardware ID among the words, in room; NULL: there is none. */
static const char *wanted_id(const char *words, char room[WORKLOAD_MAX_SURROUNDING_NAME + 1])
{
    for (; words && *words; words += strcspn(words, SEPARATORS)) {
        words += strspn(words, SEPARATORS);
        if (strncmp(words, "id=", 3) != 0)
            continue;
        snprintf(room, WORKLOAD_MAX_SURROUNDING_NAME + 1, "%.*s",
                 (int)strcspn(words + 3, SEPARATORS), words + 3);
        return room;
    }
    return NULL;
}

bool cli_gather_surroundings(struct cli_arguments *arguments, const char *inf,
                             const char *registers)
{
    static struct gathered gathered;
    static char id[WORKLOAD_MAX_SURROUNDING_NAME + 1];
    const char **value = &arguments->case_values[workload_option_place("surroundings")];

    if (!inf && !registers && (!*value || !strchr(*value, '@')))
        return true;
    gathered.words[0] = '\0';
    gathered.wanted_id = wanted_id(*value, id);
    if (inf && !add_inf(&gathered, inf))
        return false;
    if (*value && !add_words(&gathered, *value))
        return false;
    if (registers && (strcmp(registers, "memory") == 0 || strcmp(registers, "ones") == 0)) {
        if (!add(&gathered, "registers=", registers, strlen(registers)))
            return false;
    } else if (registers && !add_file(&gathered, registers)) {
        return false;
    }
    *value = gathered.words;
    return true;
}
