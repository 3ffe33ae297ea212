/*
 * Fuzz target: any bytes as a drydock.toml. What is accepted, written out anew, is accepted again
 * and says the same.
 */
#include "cli/settings/toml.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void put_string(FILE *out, const char *text)
{
    fputc('"', out);
    for (; *text; text++) {
        if ((unsigned char)*text < ' ' || *text == '"' || *text == '\\' || *text == 0x7f)
            fprintf(out, "\\u%04x", (unsigned char)*text);
        else
            fputc(*text, out);
    }
    fputc('"', out);
}

/* Arrays come back as arrays of strings, and integers and booleans as what they are. */
static char *write_out(const struct toml *toml, size_t *size)
{
    const char *table = "";
    char *text = NULL;
    FILE *out = open_memstream(&text, size);

    if (!out)
        abort();
    for (size_t i = 0; i < toml->count; i++) {
        const struct toml_entry *entry = &toml->entries[i];

        if (strcmp(table, entry->table) != 0) {
            table = entry->table;
            fputc('[', out);
            put_string(out, table);
            fputs("]\n", out);
        }
        put_string(out, entry->key);
        fputs(entry->kind == TOML_ARRAY ? " = [" : " = ", out);
        for (size_t j = 0; j < entry->count; j++) {
            fputs(j ? ", " : "", out);
            if (entry->kind == TOML_INTEGER || entry->kind == TOML_BOOLEAN)
                fputs(entry->elements[j], out);
            else
                put_string(out, entry->elements[j]);
        }
        fputs(entry->kind == TOML_ARRAY ? "]\n" : "\n", out);
    }
    fclose(out);
    return text;
}

static bool says_the_same(const struct toml *a, const struct toml *b)
{
    if (a->count != b->count)
        return false;
    for (size_t i = 0; i < a->count; i++) {
        if (strcmp(a->entries[i].table, b->entries[i].table) != 0 ||
            strcmp(a->entries[i].key, b->entries[i].key) != 0 ||
            a->entries[i].kind != b->entries[i].kind || a->entries[i].count != b->entries[i].count)
            return false;
        for (size_t j = 0; j < a->entries[i].count; j++) {
            if (strcmp(a->entries[i].elements[j], b->entries[i].elements[j]) != 0)
                return false;
        }
    }
    return true;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct toml first, second;
    char error[512] = "", *text;
    size_t written = 0;

    if (!toml_parse((const char *)data, size, "fuzz.toml", &first, error)) {
        if (!error[0] || first.count)
            abort(); /* refused without a word */
        return 0;
    }
    text = write_out(&first, &written);
    if (written <= TOML_MOST_BYTES && (!toml_parse(text, written, "again.toml", &second, error) ||
                                       !says_the_same(&first, &second)))
        abort();
    if (written <= TOML_MOST_BYTES)
        toml_free(&second);
    free(text);
    toml_free(&first);
    return 0;
}
