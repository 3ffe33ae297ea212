#define _GNU_SOURCE
#include "cli/verbs/cc_names.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct page {
    const char *name, *kind, *header, *of;
};

/* Sorted by name, bytewise. */
static const struct page pages[] = {
#include "documented.inc"
};

#define PAGE_COUNT (sizeof pages / sizeof pages[0])

/* ---- What is documented ---------------------------------------------------------------------- */

/* The first row of the name, or PAGE_COUNT. */
static size_t find_page(const char *name)
{
    size_t low = 0, high = PAGE_COUNT;

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (strcmp(pages[middle].name, name) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return low < PAGE_COUNT && strcmp(pages[low].name, name) == 0 ? low : PAGE_COUNT;
}

static const char *without_underscores(const char *name)
{
    return name + strspn(name, "_");
}

/* The page of a name; the pointer name PNAME has that of NAME. */
static const struct page *page_of(const char *name, const char *of)
{
    const char *plain = without_underscores(name);
    size_t at = find_page(plain);

    if (at == PAGE_COUNT && plain[0] == 'P' && isupper((unsigned char)plain[1]))
        at = find_page(plain + 1);
    for (; at < PAGE_COUNT && of && strcmp(pages[at].name, plain) == 0; at++)
        if (strcmp(pages[at].of, without_underscores(of)) == 0)
            return &pages[at];
    if (of || at >= PAGE_COUNT)
        return NULL;
    /* A member of some structure has the same name by chance. */
    while (strcmp(pages[at].kind, "member") == 0) {
        if (at + 1 == PAGE_COUNT || strcmp(pages[at + 1].name, pages[at].name) != 0)
            return NULL;
        at++;
    }
    return &pages[at];
}

enum cc_standing cc_name_standing(const char *name, const char *of, const char **out_kind,
                                  const char **out_header)
{
    const struct page *page = page_of(name, of);

    *out_kind = page ? page->kind : NULL;
    *out_header = page ? page->header : NULL;
    if (!page)
        return CC_STANDING_NOWHERE;
    return strcmp(page->kind, "macro") == 0 ? CC_STANDING_MACRO : CC_STANDING_DOCUMENTED;
}

/* ---- Gathering ------------------------------------------------------------------------------- */

static char *copy_or_null(const char *text)
{
    return text ? strdup(text) : NULL;
}

void cc_names_add(struct cc_names *names, const char *name, const char *of, enum cc_name_use use,
                  const char *place)
{
    struct cc_name *row;

    for (size_t i = 0; i < names->count; i++) {
        row = &names->rows[i];
        if (strcmp(row->name, name) == 0 && (!row->of) == (!of) &&
            (!of || strcmp(row->of, of) == 0)) {
            row->count++;
            return;
        }
    }
    if (!names->rows)
        names->rows = calloc(CC_MAX_NAMES, sizeof *names->rows);
    if (!names->rows || names->count == CC_MAX_NAMES) {
        names->lost++;
        return;
    }
    row = &names->rows[names->count];
    *row = (struct cc_name){strdup(name), copy_or_null(of), copy_or_null(place), use, 1};
    if (row->name)
        names->count++;
}

/* Without the sequences that colour a terminal. */
static char *plain_line(const char *line)
{
    char *plain = strdup(line), *to = plain;

    for (const char *from = line; plain && *from; from++) {
        if (from[0] == '\033' && from[1] == '[') {
            while (*from && !isalpha((unsigned char)*from))
                from++;
            if (!*from)
                break;
        } else if (*from != '\r' && *from != '\n') {
            *to++ = *from;
        }
    }
    if (plain)
        *to = '\0';
    return plain;
}

/* The word in single quotes behind the text, in NAME; false when there is none. */
static bool quoted_after(const char *line, const char *text, char *name, size_t size)
{
    const char *at = strstr(line, text), *end;

    if (!at)
        return false;
    at += strlen(text);
    end = strchr(at, '\'');
    if (!end || end == at || (size_t)(end - at) >= size)
        return false;
    memcpy(name, at, (size_t)(end - at));
    name[end - at] = '\0';
    return true;
}

/* A literal is an array of const characters, and a PVOID leads to what may be written. */
static bool is_literal_for_pointer(const char *text)
{
    return (strstr(text, "'const char[") || strstr(text, "'const wchar_t[")) &&
           (strstr(text, " to 'PVOID'") || strstr(text, "of type 'PVOID'"));
}

void cc_names_read_line(struct cc_names *names, const char *line)
{
    static const struct {
        const char *before;
        enum cc_name_use use;
    } forms[] = {
        {"unknown type name '", CC_NAME_TYPE},
        {"incomplete type '", CC_NAME_TYPE},
        {"incomplete definition of type '", CC_NAME_TYPE},
        {"use of undeclared identifier '", CC_NAME_VALUE},
        {"implicit declaration of function '", CC_NAME_CALL},
        {"call to undeclared function '", CC_NAME_CALL},
        {"no type named '", CC_NAME_TYPE},
    };
    char *text = plain_line(line);
    const char *mark = text ? strstr(text, "error: ") : NULL;
    char name[512], of[512];
    char *place = NULL;

    if (text && !mark)
        mark = strstr(text, "warning: implicit declaration of function '");
    if (mark) {
        place = strndup(text, (size_t)(mark - text));
        if (place && strlen(place) > 6 && strcmp(place + strlen(place) - 6, "fatal ") == 0)
            place[strlen(place) - 6] = '\0';
        for (size_t i = place ? strlen(place) : 0; i > 0 && strchr(": ", place[i - 1]); i--)
            place[i - 1] = '\0';
        if (quoted_after(mark, "no member named '", name, sizeof name) &&
            quoted_after(mark, "' in '", of, sizeof of)) {
            const char *tag = strncmp(of, "struct ", 7) == 0 ? of + 7 : of;

            cc_names_add(names, name, tag, CC_NAME_MEMBER, place);
        } else if (strstr(mark, "' file not found") &&
                   quoted_after(mark, "error: '", name, sizeof name)) {
            cc_names_add(names, name, NULL, CC_NAME_HEADER, place);
        } else {
            size_t i = 0;

            while (i < sizeof forms / sizeof forms[0] &&
                   !quoted_after(mark, forms[i].before, name, sizeof name))
                i++;
            if (i < sizeof forms / sizeof forms[0]) {
                const char *tag = strncmp(name, "struct ", 7) == 0 ? name + 7 : name;

                cc_names_add(names, tag, NULL, forms[i].use, place);
            } else if (strncmp(mark, "error: ", 7) == 0) {
                names->other_errors++;
            }
        }
    }
    names->literals += text && is_literal_for_pointer(text);
    free(place);
    free(text);
}

/* ---- Telling --------------------------------------------------------------------------------- */

/* A name of capitals, digits and underscores: how macros and constants are spelled. */
static bool looks_like_macro(const char *name)
{
    bool has_letter = false;

    for (; *name; name++) {
        if (islower((unsigned char)*name))
            return false;
        has_letter = has_letter || isupper((unsigned char)*name);
    }
    return has_letter;
}

static const char *use_text(enum cc_name_use use)
{
    static const char *const texts[] = {"type",   "value",  "function",
                                        "member", "header", "imported symbol"};

    return texts[use];
}

enum group { GROUP_OURS, GROUP_MACRO, GROUP_HEADER, GROUP_NOWHERE, GROUP_COUNT };

static enum group group_of(const struct cc_name *name, const char **kind, const char **header)
{
    switch (cc_name_standing(name->name, name->of, kind, header)) {
    case CC_STANDING_DOCUMENTED:
        return GROUP_OURS;
    case CC_STANDING_MACRO:
        return GROUP_MACRO;
    case CC_STANDING_NOWHERE:
        break;
    }
    return name->use == CC_NAME_HEADER ? GROUP_HEADER : GROUP_NOWHERE;
}

static void tell_row(const struct cc_name *name, const char *kind, const char *header, FILE *file)
{
    fprintf(file, "    %s%s%s", name->of ? name->of : "", name->of ? "." : "", name->name);
    if (kind)
        fprintf(file, "  %s, %s.h", kind, header);
    else
        fprintf(file, "  used as a %s%s", use_text(name->use),
                name->use != CC_NAME_HEADER && looks_like_macro(name->name)
                    ? ", spelled like a macro or a constant"
                    : "");
    if (name->place && name->place[0])
        fprintf(file, "  (%s", name->place);
    if (name->count > 1)
        fprintf(file, "%s%u times", name->place && name->place[0] ? ", " : "  (", name->count);
    fputs((name->place && name->place[0]) || name->count > 1 ? ")\n" : "\n", file);
}

void cc_names_tell(const struct cc_names *names, FILE *file)
{
    static const char *const heads[] = {
        "documented, and missing here (a gap of Drydock's headers or services: please report it):",
        "documented macros, and missing here (no image exports them; define them for now):",
        "headers that no folder has (add -I; the system's own are in include/wdk):",
        "nowhere in the documentation (of the driver's own headers, macros or -D options):",
    };

    if (names->literals)
        fprintf(
            file,
            "drydock: %u string literal%s for a PVOID: Microsoft's C++ compiler takes that without "
            "/permissive-, and clang does not; (PVOID)\"...\" is taken by both\n",
            names->literals, names->literals == 1 ? "" : "s");
    if (!names->count)
        return;
    fprintf(file, "drydock: %zu unknown name%s:\n", names->count + names->lost,
            names->count + names->lost == 1 ? "" : "s");
    for (int group = 0; group < GROUP_COUNT; group++) {
        bool is_told = false;

        for (size_t i = 0; i < names->count; i++) {
            const char *kind, *header;

            if (group_of(&names->rows[i], &kind, &header) != (enum group)group)
                continue;
            if (!is_told)
                fprintf(file, "  %s\n", heads[group]);
            is_told = true;
            tell_row(&names->rows[i], kind, header, file);
        }
    }
    if (names->lost)
        fprintf(file, "  and %zu more\n", names->lost);
    if (names->other_errors)
        fprintf(file, "  %u error%s of the compiler %s about no unknown name\n",
                names->other_errors, names->other_errors == 1 ? "" : "s",
                names->other_errors == 1 ? "is" : "are");
}

void cc_names_fini(struct cc_names *names)
{
    for (size_t i = 0; i < names->count; i++) {
        free(names->rows[i].name);
        free(names->rows[i].of);
        free(names->rows[i].place);
    }
    free(names->rows);
    *names = (struct cc_names){0};
}
