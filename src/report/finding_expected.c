/*
 * What an argument should have been, of the sentence of a finding and the path to the field.
 */
#include "report/finding_report.h"

#include <stdio.h>
#include <string.h>

/* A part of a text; length 0: none. */
struct part {
    const char *at;
    size_t length;
};

static struct part between(const char *text, const char *before, const char *after)
{
    const char *start = strstr(text, before), *end;

    if (!start)
        return (struct part){NULL, 0};
    start += strlen(before);
    end = strstr(start, after);
    return (struct part){start, end ? (size_t)(end - start) : 0};
}

/* Of "(expected 0x400)", or of "moved 288 bytes; 256 were offered". False: it does not say. */
static bool expected_of(const char *text, char expected[REPORT_EXPECTED_BYTES])
{
    struct part part = between(text, "(expected ", ")");

    if (part.length) {
        snprintf(expected, REPORT_EXPECTED_BYTES, "%.*s", (int)part.length, part.at);
        return true;
    }
    part = between(text, " bytes; ", " were offered");
    if (!part.length)
        return false;
    snprintf(expected, REPORT_EXPECTED_BYTES, "moved by %.*s bytes at most", (int)part.length,
             part.at);
    return true;
}

/* The field: "DxgkDdiBuildPagingBuffer(FILL).Fill.FillSize" -> "Fill.FillSize". */
static const char *path_of(const char *where)
{
    const char *behind = strstr(where, ").");
    const char *dot = strchr(where, '.');

    return behind ? behind + 2 : dot ? dot + 1 : "";
}

static bool ends_with(struct part name, const char *path, size_t length)
{
    return name.length >= length && memcmp(name.at + name.length - length, path, length) == 0 &&
           (name.length == length || name.at[name.length - length - 1] == '.');
}

static const char *last_member(const char *path)
{
    const char *dot = strrchr(path, '.');

    return dot ? dot + 1 : path;
}

/* How well a line fits the path: the field, one that ends like it, a member of its name; 0: none.
 */
static unsigned fit(const char *line, size_t length, const char *path)
{
    static const char returned[] = "(returned ";
    const struct part name = {line, strcspn(line, " \n")};

    if (strcmp(path, "status") == 0)
        return length > sizeof returned && memcmp(line, returned, sizeof returned - 1) == 0 ? 3 : 0;
    if (name.length == strlen(path) && ends_with(name, path, strlen(path)))
        return 3;
    if (ends_with(name, path, strlen(path)))
        return 2;
    return ends_with(name, last_member(path), strlen(last_member(path)));
}

size_t report_expected(const struct report_finding *finding, char expected[REPORT_EXPECTED_BYTES])
{
    const char *path = path_of(finding->detail->where), *line = finding->detail->arguments;
    size_t found = REPORT_NO_LINE, count = 0, length;
    unsigned best = 0;

    if (!path[0] || !expected_of(finding->text, expected))
        return REPORT_NO_LINE;
    for (; *line; line += length + (line[length] == '\n'), count++) {
        unsigned fits;

        length = strcspn(line, "\n");
        fits = fit(line, length, path);
        if (fits > best)
            found = count;
        else if (fits && fits == best)
            found = REPORT_NO_LINE; /* one of several: it is not known which */
        best = fits > best ? fits : best;
    }
    return found;
}
