#include "bench/config/command_line.h"

#include <stdbool.h>
#include <string.h>

void command_line_append(char *line, size_t size, const char *word)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "-+_=./:,@%^";
    bool is_plain = word[0] && word[strspn(word, plain)] == '\0';
    size_t used = strlen(line), bytes = 1 + strlen(word) + (is_plain ? 0 : 2);

    for (const char *at = word; (at = strchr(at, '\'')) != NULL; at++)
        bytes += 3;
    if (used + bytes >= size)
        return;
    line[used++] = ' ';
    if (!is_plain)
        line[used++] = '\'';
    for (; *word; word++) {
        if (*word == '\'') {
            memcpy(line + used, "'\\''", 4);
            used += 4;
        } else {
            line[used++] = *word;
        }
    }
    if (!is_plain)
        line[used++] = '\'';
    line[used] = '\0';
}
