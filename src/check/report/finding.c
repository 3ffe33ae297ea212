#include "check/report/finding.h"

#include "base/hash.h"

#include <ctype.h>
#include <string.h>

static bool is_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

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
