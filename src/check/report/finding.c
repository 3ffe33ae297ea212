#include "check/report/finding.h"

#include "base/hash.h"

#include <ctype.h>
#include <stdio.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* ---- The argument ---------------------------------------------------------------------------- */

enum mark { MARK_NAMED = 1, MARK_SEEN, MARK_WANTED, MARK_END, MARK_UNSAID, MARK_SAID };

/* Where the characters of a part go; the last byte of it stays 0. */
struct part {
    char *at;
    size_t left;
};

static struct part begin_part(char *out, size_t size)
{
    memset(out, 0, size);
    return (struct part){out, size - 1};
}

static struct part part_of(struct finding_argument *argument, enum mark mark)
{
    switch (mark) {
    case MARK_NAMED:
        return begin_part(argument->name, sizeof argument->name);
    case MARK_SEEN:
        return begin_part(argument->value, sizeof argument->value);
    case MARK_WANTED:
        return begin_part(argument->expected, sizeof argument->expected);
    default:
        return (struct part){NULL, 0};
    }
}

/* The braces of a format as marks, which no value has. */
static void write_marks(char *marked, size_t size, const char *format)
{
    char *const end = marked + size - 1;
    bool is_inside = false, is_unsaid = false;

    for (; *format && marked < end; format++) {
        if (*format == '{') {
            is_inside = true;
            *marked++ = format[1] == '=' ? MARK_WANTED : format[1] == '@' ? MARK_NAMED : MARK_SEEN;
            format += format[1] == '=' || format[1] == '@';
        } else if (is_inside && *format == '}') {
            is_inside = false;
            *marked++ = MARK_END;
        } else if (is_inside && *format == '~') {
            is_unsaid = !is_unsaid;
            *marked++ = is_unsaid ? MARK_UNSAID : MARK_SAID;
        } else {
            *marked++ = *format;
        }
    }
    *marked = '\0';
}

/* Takes the marks out of the sentence, and what they are around into the argument. */
static void take_parts(char *sentence, struct finding_argument *argument)
{
    struct part part = {NULL, 0};
    char *said = sentence;
    bool is_unsaid = false;

    for (const char *at = sentence; *at; at++) {
        if (*at == MARK_UNSAID || *at == MARK_SAID) {
            is_unsaid = *at == MARK_UNSAID;
        } else if (*at >= MARK_NAMED && *at <= MARK_END) {
            part = part_of(argument, (enum mark) * at);
        } else {
            if (!is_unsaid)
                *said++ = *at;
            if (part.left) {
                *part.at++ = *at;
                part.left--;
            }
        }
    }
    *said = '\0';
}

void finding_write_sentence(char *sentence, size_t size, struct finding_argument *argument,
                            const char *format, va_list values)
{
    char marked[FINDING_TEXT_BYTES], text[FINDING_TEXT_BYTES + FINDING_EXPECTED_BYTES];

    write_marks(marked, sizeof marked, format);
    vsnprintf(text, sizeof text, marked, values);
    take_parts(text, argument);
    snprintf(sentence, size, "%s", text);
}

/* ---- Causes ---------------------------------------------------------------------------------- */

/*
 * "pAllocationInfo[2].Size": which of the elements it was is no other cause. Which paging operation
 * it was is none either: one function of a driver writes the packets of all of them.
 */
static void hash_where(struct hash *hash, const char *where)
{
    bool is_index = false;

    for (; *where; where++) {
        if (*where == '(' && strchr(where, ')'))
            where = strchr(where, ')') + 1;
        if (!*where)
            break;
        is_index = *where == '[' || (is_index && *where != ']');
        if (!is_index || !isdigit((unsigned char)*where))
            hash_update(hash, where, 1);
    }
}

uint64_t finding_cause(enum rule_id rule, const char *where, const char *text)
{
    struct hash hash;
    bool in_word = false;

    hash_init(&hash, 0);
    /* By its name: numbers change when the catalogue grows, and fingerprints must not. */
    if (rule != RULE_NONE)
        hash_update(&hash, rule_get(rule)->id, strlen(rule_get(rule)->id));
    hash_update(&hash, "", 1);
    hash_where(&hash, where);
    if (rule != RULE_NONE)
        return hash_final(&hash);
    /* Every number, and every name with one in it, is the same. */
    for (const char *at = text; *at; at++) {
        size_t length = 1, digits = 0;

        if (is_word(*at) && !in_word) {
            for (length = 0; is_word(at[length]); length++)
                digits += isdigit((unsigned char)at[length]) != 0;
            hash_update(&hash, digits ? "#" : at, digits ? 1 : length);
        } else if (!is_word(*at)) {
            hash_update(&hash, at, 1);
        }
        in_word = is_word(*at);
    }
    return hash_final(&hash);
}

void finding_detail_hash(struct hash *hash, const struct finding_detail *detail)
{
    const char *const texts[] = {detail->where, detail->objects, detail->arguments, detail->bytes};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        hash_update(hash, texts[i], strlen(texts[i]) + 1);
}
