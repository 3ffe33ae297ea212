#include "tests/told.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static struct {
    const char *module, *file; /* NULL: nothing is hashed */
    struct hash hash;
    uint64_t count;
    FILE *text;
    pid_t process; /* children of a test write no line */
} told;

static void write_line(void)
{
    FILE *file = told.process == getpid() ? fopen(getenv("DRYDOCK_TOLD"), "a") : NULL;

    if (!file)
        return;
    fprintf(file, "%-8s %-32s %9llu %016llx\n", told.module, told.file,
            (unsigned long long)told.count, (unsigned long long)hash_final(&told.hash));
    fclose(file);
}

void told_begin(const char *module, const char *file)
{
    const char *path = getenv("DRYDOCK_TOLD");
    const char *text = getenv("DRYDOCK_TOLD_TEXT");

    if (!path || !path[0])
        return;
    told.module = module;
    told.file = file;
    told.text = text ? fopen(text, "a") : NULL;
    told.process = getpid();
    hash_init(&told.hash, 0);
    atexit(write_line);
}

bool told_is_wanted(void)
{
    return told.file != NULL;
}

void told_text(const char *text)
{
    if (!told.file)
        return;
    told.count++;
    hash_update(&told.hash, text, strlen(text) + 1);
    if (told.text)
        fprintf(told.text, "%s\n", text);
}

void told_number(uint64_t number)
{
    if (!told.file)
        return;
    told.count++;
    hash_update_u64(&told.hash, number);
    if (told.text)
        fprintf(told.text, "0x%llx\n", (unsigned long long)number);
}

void told_numbers(const void *numbers, size_t size)
{
    uint64_t number;

    for (size_t at = 0; at < size; at += sizeof number) {
        memcpy(&number, (const char *)numbers + at, sizeof number);
        told_number(number);
    }
}
