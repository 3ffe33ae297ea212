/*
 * Surroundings are read from their text each time, like templates.
 */
#include "workload/case/surroundings.h"

#include "workload/case/template.h"
#include "workload/owned.h"
#include "workload/words.h"

#include <string.h>

#define SEPARATORS         ", \t"
#define LONGEST_SHOWN_WORD 60

static bool takes(const char **text, size_t *length, const char *prefix)
{
    size_t bytes = strlen(prefix);

    if (*length < bytes || memcmp(*text, prefix, bytes) != 0)
        return false;
    *text += bytes;
    *length -= bytes;
    return true;
}

static bool read_number(const char *text, size_t length, uint32_t *out)
{
    uint64_t number;

    if (!workload_parse_number(text, length, &number) || number > UINT32_MAX)
        return false;
    *out = (uint32_t)number;
    return true;
}

/* The word that was expected; NULL: the word is right. */
static const char *read_word(const char *text, size_t length, struct workload_surrounding *out)
{
    const char *end = text + length, *equals = memchr(text, '=', length), *at;
    size_t name_length;

    *out = (struct workload_surrounding){.kind = WORKLOAD_SURROUNDING_ID};
    if (takes(&text, &length, "id=")) {
        name_length = length;
    } else if (takes(&text, &length, "value:")) {
        out->kind = WORKLOAD_SURROUNDING_VALUE;
        if (!equals || !read_number(equals + 1, (size_t)(end - equals - 1), &out->number))
            return "value:NAME=NUMBER, of 32 bits";
        name_length = (size_t)(equals - text);
    } else if (takes(&text, &length, "device:")) {
        out->kind = WORKLOAD_SURROUNDING_DEVICE;
        at = memchr(text, '@', length);
        out->has_answer = at != NULL;
        name_length = at ? (size_t)(at - text) : length;
        if (at && (!equals || equals < at ||
                   !read_number(at + 1, (size_t)(equals - at - 1), &out->offset) ||
                   !read_number(equals + 1, (size_t)(end - equals - 1), &out->number)))
            return "device:PATH or device:PATH@OFFSET=NUMBER";
    } else {
        return "id=, value: or device:";
    }
    if (!name_length || name_length > WORKLOAD_MAX_SURROUNDING_NAME)
        return "a name of 1 to 100 characters";
    for (size_t i = 0; i < name_length; i++) {
        if (text[i] <= ' ' || text[i] > '~' || text[i] == '"' || text[i] == '#' || text[i] == '\'')
            return "letters, digits and signs other than \" ' # in a name";
    }
    memcpy(out->name, text, name_length);
    return NULL;
}

bool workload_surroundings_check(const char *text, struct workload_error *error)
{
    struct workload_surrounding word;
    size_t length;
    const char *why;

    if (strlen(text) > WORKLOAD_MAX_TEMPLATE) {
        workload_error_set(error, "%zu characters (expected at most %d)", strlen(text),
                           WORKLOAD_MAX_TEMPLATE);
        return false;
    }
    text += strspn(text, SEPARATORS);
    if (!*text) {
        workload_error_set(error, "nothing in it (expected id=, value: or device:)");
        return false;
    }
    for (; *text; text += length, text += strspn(text, SEPARATORS)) {
        length = strcspn(text, SEPARATORS);
        why = read_word(text, length, &word);
        if (why) {
            workload_error_set(error, "'%.*s' (expected %s)",
                               (int)(length < LONGEST_SHOWN_WORD ? length : LONGEST_SHOWN_WORD),
                               text, why);
            return false;
        }
    }
    return true;
}

bool workload_surroundings_next(const char **text, struct workload_surrounding *out)
{
    size_t length;

    if (!*text)
        return false;
    *text += strspn(*text, SEPARATORS);
    length = strcspn(*text, SEPARATORS);
    if (!length || read_word(*text, length, out))
        return false;
    *text += length;
    return true;
}
