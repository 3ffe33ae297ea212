/* Streams of the C library that mingw-w64 lacks. A text in memory is a file without a name first.
 */
#include "windows/own.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#undef fflush
#undef fclose

struct text {
    struct text *next;
    FILE *stream;
    char **out_text;
    size_t *out_bytes;
};

static struct text *texts;

static struct text **find(FILE *stream)
{
    struct text **at = &texts;

    while (*at && (*at)->stream != stream)
        at = &(*at)->next;
    return at;
}

/* The text as it is now; it has a 0 at its end. */
static int take(const struct text *text)
{
    struct stat file;
    char *grown;

    if (fflush(text->stream) != 0 || fstat(fileno(text->stream), &file) != 0)
        return EOF;
    grown = realloc(*text->out_text, (size_t)file.st_size + 1);
    if (!grown)
        return EOF;
    *text->out_text = grown;
    *text->out_bytes = (size_t)file.st_size;
    grown[file.st_size] = '\0';
    return pread(fileno(text->stream), grown, (size_t)file.st_size, 0) == file.st_size ? 0 : EOF;
}

FILE *open_memstream(char **out_text, size_t *out_bytes)
{
    struct text *text = malloc(sizeof *text);
    int file = memfd_create("text", 0);

    *out_text = NULL;
    *out_bytes = 0;
    if (!text || file < 0 || !(text->stream = fdopen(file, "w+b"))) {
        free(text);
        if (file >= 0)
            close(file);
        return NULL;
    }
    text->out_text = out_text;
    text->out_bytes = out_bytes;
    text->next = texts;
    texts = text;
    take(text);
    return text->stream;
}

int posix_fflush(FILE *stream)
{
    const struct text *text = stream ? *find(stream) : NULL;

    return text ? take(text) : fflush(stream);
}

int posix_fclose(FILE *stream)
{
    struct text **place = find(stream), *text = *place;
    int result = 0;

    if (text) {
        result = take(text);
        *place = text->next;
        free(text);
    }
    return fclose(stream) == 0 ? result : EOF;
}

ssize_t getdelim(char **line, size_t *size, int end, FILE *in)
{
    size_t length = 0;
    int letter;

    do {
        letter = getc(in);
        if (length + 2 > *size) {
            char *grown = realloc(*line, *size ? *size * 2 : 128);

            if (!grown)
                return -1;
            *line = grown;
            *size = *size ? *size * 2 : 128;
        }
        if (letter != EOF)
            (*line)[length++] = (char)letter;
    } while (letter != EOF && letter != end);
    (*line)[length] = '\0';
    return length ? (ssize_t)length : -1;
}

ssize_t getline(char **line, size_t *size, FILE *in)
{
    return getdelim(line, size, '\n', in);
}
