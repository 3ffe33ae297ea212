/* Functions of texts that mingw-w64 lacks. */
#include <signal.h>
#include <stdlib.h>
#include <string.h>

char *strndup(const char *text, size_t length)
{
    const size_t bytes = strnlen(text, length);
    char *copy = malloc(bytes + 1);

    if (copy) {
        memcpy(copy, text, bytes);
        copy[bytes] = '\0';
    }
    return copy;
}

char *strcasestr(const char *text, const char *part)
{
    const size_t length = strlen(part);

    for (; strlen(text) >= length; text++)
        if (strncasecmp(text, part, length) == 0)
            return (char *)(size_t)text;
    return NULL;
}

void *memmem(const void *in, size_t in_bytes, const void *part, size_t bytes)
{
    const char *at = in;

    for (; in_bytes >= bytes; at++, in_bytes--)
        if (memcmp(at, part, bytes) == 0)
            return (void *)(size_t)at;
    return NULL;
}

const char *strsignal(int number)
{
    return number == SIGSEGV ? "Segmentation fault" : number == SIGABRT ? "Aborted" : "signal";
}
