#include "report/look.h"

#include <string.h>

static struct look chosen;

void look_choose(const struct look *look)
{
    chosen = *look;
}

const char *look_begin(FILE *stream, enum look_style style)
{
    static const char *const sequences[] = {
        [LOOK_PLAIN] = "\033[0m",    [LOOK_ERROR] = "\033[0;1;31m", [LOOK_ADVICE] = "\033[0;33m",
        [LOOK_GOOD] = "\033[0;32m",  [LOOK_LABEL] = "\033[0;2m",    [LOOK_COMMAND] = "\033[0;36m",
        [LOOK_STRONG] = "\033[0;1m",
    };
    bool has_color =
        (stream == stdout && chosen.out_has_color) || (stream == stderr && chosen.err_has_color);

    return has_color ? sequences[style] : "";
}

void look_link(FILE *stream, const char *address)
{
    if ((stream == stdout && chosen.out_has_links) || (stream == stderr && chosen.err_has_links))
        fprintf(stream, "\033]8;;%s\033\\", address);
}

#define LEVELS 8

void look_curve(char *text, unsigned columns, const uint64_t *values, size_t count, uint64_t most)
{
    static const char *const blocks[LEVELS + 1] = {
        " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█",
    };
    static const char *const letters[LEVELS + 1] = {" ", ".", ":", "-", "=", "+", "*", "#", "@"};

    text[0] = '\0';
    for (unsigned column = 0; column < columns && count; column++) {
        size_t from = column * count / columns, to = (column + 1) * count / columns;
        uint64_t value = values[from];
        double level;

        for (size_t i = from + 1; i < to; i++)
            value = values[i] > value ? values[i] : value;
        level = most ? (double)value / (double)most * LEVELS + 0.999 : 0; /* anything is seen */
        if (level > LEVELS)
            level = LEVELS;
        strcat(text, (chosen.has_blocks ? blocks : letters)[(int)level]);
    }
}
