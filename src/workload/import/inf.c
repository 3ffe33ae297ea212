/*
 * An INF is a list of lines in sections. It is cut into them once; the rest is looking up.
 */
#define _GNU_SOURCE /* strcasestr() */
#include "workload/import/inf.h"

#include "base/bits.h"
#include "workload/owned.h"
#include "workload/words.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define MAX_LINES  50000u
#define MAX_LOOKS  100000000u /* at lines */
#define MAX_FIELDS 64u
#define MAX_FIELD  1024u

struct line {
    const char *section, *text; /* ended by zeros, in the text */
    unsigned number;
};

struct inf {
    const char *path;
    char *text;
    struct line *lines;
    size_t count, looks;
    struct workload_inf *out;
    struct workload_error *error;
};

/* ---- From bytes to lines --------------------------------------------------------------------- */

/* UTF-16 with its mark becomes bytes; what is no Latin letter there becomes a question mark. */
static char *decode(const unsigned char *bytes, size_t size)
{
    const bool is_little = size >= 2 && bytes[0] == 0xff && bytes[1] == 0xfe;
    const bool is_big = size >= 2 && bytes[0] == 0xfe && bytes[1] == 0xff;
    char *text = malloc(size + 1);
    size_t count = 0;

    if (!text)
        return NULL;
    if (is_little || is_big) {
        for (size_t i = 2; i + 1 < size; i += 2) {
            const unsigned unit =
                is_little ? bytes[i] | bytes[i + 1] << 8 : bytes[i + 1] | bytes[i] << 8;

            text[count++] = unit && unit < 0x100 ? (char)unit : '?';
        }
    } else {
        const size_t mark = size >= 3 && memcmp(bytes, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

        for (size_t i = mark; i < size; i++)
            text[count++] = bytes[i] ? (char)bytes[i] : '?';
    }
    text[count] = '\0';
    return text;
}

static bool is_blank(char sign)
{
    return sign == ' ' || sign == '\t' || sign == '\r';
}

/*
 * The file that a driver's sources have, .inx or .inf, may leave the architecture to stampinf,
 * which replaces $ARCH$ when the driver is built.
 */
static void stamp(char *text)
{
    static const char mark[] = "$ARCH$", stamped[] = "amd64";
    char *to = strcasestr(text, mark), *from = to;

    while (from) {
        char *next = strcasestr(from + sizeof mark - 1, mark);
        const size_t between =
            next ? (size_t)(next - from) - (sizeof mark - 1) : strlen(from + sizeof mark - 1) + 1;

        memcpy(to, stamped, sizeof stamped - 1);
        memmove(to + sizeof stamped - 1, from + sizeof mark - 1, between);
        to += sizeof stamped - 1 + between;
        from = next;
    }
}

/* Without blanks at either end. */
static char *trim(char *text)
{
    size_t length;

    while (is_blank(*text))
        text++;
    length = strlen(text);
    while (length && is_blank(text[length - 1]))
        text[--length] = '\0';
    return text;
}

/* Ends a line at its comment; true: it goes on in the next one. */
static bool end_at_comment(char *line)
{
    bool is_quoted = false;
    size_t length;

    for (char *at = line; *at; at++) {
        is_quoted ^= *at == '"';
        if (*at == ';' && !is_quoted)
            *at = '\0';
        if (!*at)
            break;
    }
    length = strlen(line);
    while (length && is_blank(line[length - 1]))
        line[--length] = '\0';
    if (!length || line[length - 1] != '\\' || is_quoted)
        return false;
    line[length - 1] = '\0';
    return true;
}

/* The line at *at, with those that it goes on in; NULL at the end. All is done in place. */
static char *next_line(char **at, unsigned *number)
{
    char *first = *at, *to = *at;
    bool goes_on = true;

    if (!**at)
        return NULL;
    while (goes_on && **at) {
        char *from = *at, *end = strchr(from, '\n');
        size_t length;

        *at = end ? end + 1 : from + strlen(from);
        if (end)
            *end = '\0';
        goes_on = end_at_comment(from);
        length = strlen(from);
        memmove(to, from, length + 1);
        to += length;
        ++*number;
    }
    return trim(first);
}

/* The next line of a section from *at on, which goes behind it; NULL: there is none. */
static const struct line *line_in(struct inf *inf, const char *section, size_t *at)
{
    while (*at < inf->count && inf->looks < MAX_LOOKS) {
        const struct line *line = &inf->lines[(*at)++];

        inf->looks++;
        if (strcasecmp(line->section, section) == 0)
            return line;
    }
    return NULL;
}

static bool fail(struct inf *inf, unsigned line, const char *text)
{
    workload_error_set(inf->error, "%s:%u: %s", inf->path, line, text);
    return false;
}

static bool cut(struct inf *inf)
{
    char *at = inf->text, *text, *section = "";
    unsigned number = 0, first;

    for (first = 1; (text = next_line(&at, &number)) != NULL; first = number + 1) {
        char *end = *text == '[' ? strchr(text, ']') : NULL;

        if (*text == '[' && !end)
            return fail(inf, first, "a section's name has no end (expected ])");
        if (end) {
            *end = '\0';
            section = trim(text + 1);
            continue;
        }
        if (!*text)
            continue;
        if (inf->count == MAX_LINES)
            return fail(inf, first, "too many lines (expected at most 50000)");
        inf->lines[inf->count++] = (struct line){section, text, first};
    }
    return true;
}

/* ---- Fields ---------------------------------------------------------------------------------- */

static const char *string_of(struct inf *inf, const char *name, size_t length)
{
    const struct line *line;

    for (size_t i = 0; (line = line_in(inf, "Strings", &i)) != NULL;) {
        const char *equals = strchr(line->text, '=');
        size_t bytes = equals ? (size_t)(equals - line->text) : 0;

        while (bytes && is_blank(line->text[bytes - 1]))
            bytes--;
        if (bytes == length && bytes && strncasecmp(line->text, name, length) == 0)
            return equals + 1;
    }
    return NULL;
}

struct fields {
    char text[MAX_FIELDS][MAX_FIELD];
    unsigned count;
};

struct writer {
    struct fields *fields;
    size_t length;
};

static void put(struct writer *writer, char sign)
{
    struct fields *fields = writer->fields;

    if (fields->count < MAX_FIELDS && writer->length < MAX_FIELD - 1)
        fields->text[fields->count][writer->length++] = sign;
}

/* A string's own text: without its quotes, or as it stands. */
static void put_string(struct writer *writer, const char *text)
{
    bool is_quoted;

    while (is_blank(*text))
        text++;
    is_quoted = *text == '"';
    for (text += is_quoted; *text; text++) {
        if (is_quoted && *text == '"' && *++text != '"')
            break;
        put(writer, *text);
    }
}

/* Goes behind "%name%", or "%%". */
static const char *put_name(struct inf *inf, struct writer *writer, const char *at)
{
    const char *end = strchr(at + 1, '%');
    const char *string = end ? string_of(inf, at + 1, (size_t)(end - at - 1)) : NULL;

    if (string)
        put_string(writer, string);
    else if (end == at + 1)
        put(writer, '%');
    for (const char *sign = at; !string && end && end > at + 1 && sign <= end; sign++)
        put(writer, *sign);
    if (!end)
        put(writer, '%');
    return end ? end : at;
}

static void end_field(struct writer *writer, size_t kept)
{
    struct fields *fields = writer->fields;

    if (fields->count == MAX_FIELDS)
        return;
    while (writer->length > kept && is_blank(fields->text[fields->count][writer->length - 1]))
        writer->length--;
    fields->text[fields->count++][writer->length] = '\0';
    writer->length = 0;
}

/* Fields between commas; a quoted one keeps its blanks and commas. Those behind the 64th go. */
static void split(struct inf *inf, const char *text, struct fields *out)
{
    struct writer writer = {.fields = out};
    bool is_quoted = false;
    size_t kept = 0;

    out->count = 0;
    for (const char *at = text; *at; at++) {
        if (*at == '"' && is_quoted && at[1] == '"') {
            put(&writer, *at++);
        } else if (*at == '"') {
            is_quoted = !is_quoted;
            kept = writer.length;
        } else if (*at == '%') {
            at = put_name(inf, &writer, at);
            kept = is_quoted ? kept : writer.length;
        } else if (*at == ',' && !is_quoted) {
            end_field(&writer, kept);
            kept = 0;
        } else if (is_quoted || writer.length || !is_blank(*at)) {
            put(&writer, *at);
        }
    }
    end_field(&writer, kept);
}

static const char *field(const struct fields *fields, unsigned i)
{
    return i < fields->count ? fields->text[i] : "";
}

/* "key = rest": the rest, where the key is this one; NULL. */
static const char *value_of(const struct line *line, const char *key)
{
    size_t length = strlen(key);
    const char *at = line->text;

    if (strncasecmp(at, key, length) != 0)
        return NULL;
    for (at += length; is_blank(*at);)
        at++;
    return *at == '=' ? at + 1 : NULL;
}

static bool has_section(struct inf *inf, const char *name)
{
    size_t at = 0;

    return line_in(inf, name, &at) != NULL;
}

/* ---- Words ----------------------------------------------------------------------------------- */

static void leave_out(struct inf *inf, const struct line *line, const char *why)
{
    if (inf->out->left_out++ == 0)
        snprintf(inf->out->first_left_out, sizeof inf->out->first_left_out, "line %u: %s (%.120s)",
                 line->number, why, line->text);
}

static bool add(struct inf *inf, const char *word)
{
    char *words = inf->out->words;
    const size_t length = strlen(words);

    if (length + strlen(word) + 1 > WORKLOAD_MAX_SURROUNDINGS)
        return false;
    snprintf(words + length, WORKLOAD_MAX_SURROUNDINGS + 1 - length, "%s%s", length ? "," : "",
             word);
    return true;
}

/* Appends a text with what a word cannot have as %XX. */
static void code(char *word, size_t size, const char *text)
{
    size_t length = strlen(word);

    for (; *text && length + 4 < size; text++) {
        const bool is_plain = *text > ' ' && *text <= '~' && !strchr("\"#',%=", *text);

        length += (size_t)snprintf(word + length, size - length, is_plain ? "%c" : "%%%02X",
                                   is_plain ? *text : (unsigned char)*text);
    }
}

static bool read_number(const char *text, uint32_t *out)
{
    char *end;
    long long number = strtoll(text, &end, 0);

    *out = (uint32_t)number;
    return *text && !*end && number >= INT32_MIN && number <= (long long)UINT32_MAX;
}

#define TYPE_MASK  0xffff0001u
#define TYPE_SZ    0x00000000u
#define TYPE_BYTES 0x00000001u
#define TYPE_DWORD 0x00010001u
#define NO_VALUE                                                                                   \
    0x0000003cu /* a value or a key goes, or a key alone is made, or one is added to               \
                 */

#define MAX_WORD 2048u

/* The value of an AddReg line from its fifth field on; NULL: it has a word, which is complete. */
static const char *add_value(const struct fields *fields, uint32_t flags, char word[MAX_WORD])
{
    uint32_t number;

    switch (flags & TYPE_MASK) {
    case TYPE_DWORD:
        if (fields->count > 5 || !read_number(field(fields, 4), &number))
            return "no number of 32 bits";
        snprintf(word + strlen(word), MAX_WORD - strlen(word), "0x%x", number);
        return NULL;
    case TYPE_SZ:
        if (strlen(field(fields, 4)) > WORKLOAD_MAX_SURROUNDING_BYTES)
            return "the text is too long";
        code(word, MAX_WORD, field(fields, 4));
        return NULL;
    case TYPE_BYTES:
        for (unsigned i = 4; i < fields->count; i++) {
            char *end;
            const long byte = strtol(field(fields, i), &end, 16);

            if (*end || byte < 0 || byte > 255)
                return "no bytes";
            snprintf(word + strlen(word), MAX_WORD - strlen(word), "%02lx", byte);
        }
        return NULL;
    default:
        return "a value of this type has no word";
    }
}

static void read_registry_line(struct inf *inf, const struct line *line)
{
    struct fields fields;
    char word[MAX_WORD], path[MAX_WORD] = "";
    uint32_t flags = 0;
    const char *why = NULL;

    split(inf, line->text, &fields);
    if (*field(&fields, 3) && !read_number(field(&fields, 3), &flags))
        why = "the flags are no number";
    else if (strcasecmp(field(&fields, 0), "HKLM") == 0)
        snprintf(path, sizeof path, "\\Registry\\Machine\\");
    else if (strcasecmp(field(&fields, 0), "HKR") != 0)
        why = "it is below another root than HKR and HKLM";
    if (!why && (!*field(&fields, 2) || flags & NO_VALUE))
        why = "it sets no named value";
    if (!why) {
        snprintf(path + strlen(path), sizeof path - strlen(path), "%s%s%s", field(&fields, 1),
                 *field(&fields, 1) ? "\\" : "", field(&fields, 2));
        if (strlen(path) > WORKLOAD_MAX_SURROUNDING_NAME)
            why = "the path is too long";
    }
    if (!why) {
        snprintf(word, sizeof word, "%s",
                 (flags & TYPE_MASK) == TYPE_DWORD   ? "value:"
                 : (flags & TYPE_MASK) == TYPE_BYTES ? "bytes:"
                                                     : "text:");
        code(word, sizeof word, path);
        snprintf(word + strlen(word), sizeof word - strlen(word), "=");
        why = add_value(&fields, flags, word);
    }
    if (!why && !add(inf, word))
        why = "the words are too many";
    if (why)
        leave_out(inf, line, why);
}

/* The number of message-signaled interrupts; all else of a .HW section is the system's. */
static void read_hardware_line(struct inf *inf, const struct line *line)
{
    struct fields fields;
    uint32_t number;
    char word[64];

    split(inf, line->text, &fields);
    if (!strcasestr(field(&fields, 1), "Interrupt Management")) {
        leave_out(inf, line, "it is about the device's own key");
        return;
    }
    if (strcasecmp(field(&fields, 2), "MessageNumberLimit") != 0)
        return; /* MSISupported follows from the number */
    if (!read_number(field(&fields, 4), &number) || number < 1 || number > 32) {
        leave_out(inf, line, "no number of messages from 1 to 32");
        return;
    }
    snprintf(word, sizeof word, "pci:messages=%u", number);
    if (!add(inf, word))
        leave_out(inf, line, "the words are too many");
}

static void read_registry_section(struct inf *inf, const char *name, bool is_hardware)
{
    const struct line *line;

    for (size_t i = 0; (line = line_in(inf, name, &i)) != NULL;)
        (is_hardware ? read_hardware_line : read_registry_line)(inf, line);
}

/* The sections that AddReg lines of a section name. */
static void read_added(struct inf *inf, const char *section, bool is_hardware)
{
    const struct line *line;

    for (size_t i = 0; (line = line_in(inf, section, &i)) != NULL;) {
        const char *list = value_of(line, "AddReg");
        struct fields fields;

        if (!list)
            continue;
        split(inf, list, &fields);
        for (unsigned j = 0; j < fields.count; j++)
            read_registry_section(inf, fields.text[j], is_hardware);
    }
}

static void read_services(struct inf *inf, const char *section)
{
    const struct line *line;

    for (size_t i = 0; (line = line_in(inf, section, &i)) != NULL;) {
        const char *list = value_of(line, "AddService");
        struct fields fields;

        if (!list)
            continue;
        split(inf, list, &fields);
        if (*field(&fields, 2))
            read_added(inf, fields.text[2], false);
    }
}

/* The decorated section of the platform comes before the plain one, and is read in its place. */
static void read_install(struct inf *inf, const char *name)
{
    static const char *const ends[] = {".NTamd64", ".NT", ""};
    char section[MAX_FIELD + 32], part[MAX_FIELD + 48];

    for (size_t i = 0; i < ARRAY_COUNT(ends); i++) {
        snprintf(section, sizeof section, "%s%s", name, ends[i]);
        snprintf(part, sizeof part, "%s.Services", section);
        if (!has_section(inf, section) && !has_section(inf, part))
            continue;
        read_added(inf, section, false);
        read_services(inf, part);
        snprintf(part, sizeof part, "%s.HW", section);
        read_added(inf, part, true);
        return;
    }
}

/* ---- Models ---------------------------------------------------------------------------------- */

static bool read_hex(const char *text, const char *key, unsigned digits, uint32_t *out)
{
    const char *at = strcasestr(text, key);
    uint32_t number = 0;

    for (unsigned i = 0; at && i < digits; i++) {
        static const char all[] = "0123456789abcdef";
        const char sign = at[strlen(key) + i];
        const char *digit = sign ? strchr(all, sign | 0x20) : NULL;

        if (!digit)
            return false;
        number = number << 4 | (uint32_t)(digit - all);
    }
    *out = number;
    return at != NULL;
}

static void add_number(struct inf *inf, const char *name, uint32_t number)
{
    char word[64];

    snprintf(word, sizeof word, "pci:%s=0x%x", name, number);
    add(inf, word);
}

static void add_id(struct inf *inf, const char *id)
{
    uint32_t number;
    char word[WORKLOAD_MAX_SURROUNDING_NAME + 8];

    if (strncasecmp(id, "PCI\\", 4) != 0) {
        snprintf(word, sizeof word, "id=%.*s", WORKLOAD_MAX_SURROUNDING_NAME, id);
        add(inf, word);
        return;
    }
    if (read_hex(id, "VEN_", 4, &number))
        add_number(inf, "vendor", number);
    if (read_hex(id, "DEV_", 4, &number))
        add_number(inf, "device", number);
    if (read_hex(id, "SUBSYS_", 8, &number)) {
        add_number(inf, "subsystem", number >> 16);
        add_number(inf, "subsystem-vendor", number & 0xffff);
    }
    if (read_hex(id, "REV_", 2, &number))
        add_number(inf, "revision", number);
    if (read_hex(id, "CC_", 6, &number))
        add_number(inf, "class", number);
}

struct choice {
    const char *wanted;
    char install[MAX_FIELD], id[MAX_FIELD], about[96];
    bool is_wanted;
};

static void look_at_model(struct inf *inf, const struct line *line, struct choice *choice)
{
    const char *equals = strchr(line->text, '=');
    struct fields about, fields;

    if (!equals)
        return;
    split(inf, line->text, &about);
    split(inf, equals + 1, &fields);
    if (fields.count < 2 || !*fields.text[0] || !*fields.text[1])
        return;
    inf->out->models++;
    for (unsigned i = 1; i < fields.count; i++) {
        const bool is_wanted = choice->wanted && strcasecmp(choice->wanted, fields.text[i]) == 0;

        if (choice->is_wanted || (!is_wanted && (choice->wanted || choice->id[0])))
            continue;
        choice->is_wanted = is_wanted;
        snprintf(choice->install, sizeof choice->install, "%s", fields.text[0]);
        snprintf(choice->id, sizeof choice->id, "%s", fields.text[i]);
        about.text[0][strcspn(about.text[0], "=")] = '\0';
        snprintf(choice->about, sizeof choice->about, "%.90s", trim(about.text[0]));
    }
}

static void look_at_models(struct inf *inf, const char *section, struct choice *choice)
{
    const struct line *line;

    for (size_t i = 0; (line = line_in(inf, section, &i)) != NULL;)
        look_at_model(inf, line, choice);
}

/* The sections of models that a line of [Manufacturer] names: those for x64, else the plain one. */
static void look_at_manufacturer(struct inf *inf, const struct line *line, struct choice *choice)
{
    const char *equals = strchr(line->text, '=');
    char section[2 * MAX_FIELD + 2];
    struct fields fields;
    bool is_decorated = false;

    split(inf, equals ? equals + 1 : line->text, &fields);
    for (unsigned i = 1; i < fields.count; i++) {
        if (strncasecmp(fields.text[i], "NTamd64", 7) != 0)
            continue;
        snprintf(section, sizeof section, "%s.%s", fields.text[0], fields.text[i]);
        is_decorated |= has_section(inf, section);
        look_at_models(inf, section, choice);
    }
    if (!is_decorated)
        look_at_models(inf, field(&fields, 0), choice);
}

static bool read_all(struct inf *inf, const char *wanted_id)
{
    struct choice choice = {.wanted = wanted_id};
    const struct line *line;

    if (!cut(inf))
        return false;
    for (size_t i = 0; (line = line_in(inf, "Manufacturer", &i)) != NULL;)
        look_at_manufacturer(inf, line, &choice);
    if (!choice.id[0]) {
        workload_error_set(inf->error,
                           wanted_id && inf->out->models
                               ? "%s: none of its models has the hardware ID %.200s"
                               : "%s: no model with a hardware ID (expected [Manufacturer], and a "
                                 "section of models for x64)",
                           inf->path, wanted_id);
        return false;
    }
    snprintf(inf->out->model, sizeof inf->out->model, "%s%s%.150s", choice.about,
             choice.about[0] ? ", " : "", choice.id);
    add_id(inf, choice.id);
    read_install(inf, choice.install);
    if (inf->looks < MAX_LOOKS)
        return true;
    workload_error_set(inf->error, "%s: its sections name each other too often", inf->path);
    return false;
}

bool workload_inf_read(const char *path, const void *bytes, size_t size, const char *wanted_id,
                       struct workload_inf *out, struct workload_error *error)
{
    struct inf inf = {.path = path, .out = out, .error = error};
    bool is_fine = false;

    memset(out, 0, sizeof *out);
    if (size > WORKLOAD_MAX_INF_BYTES) {
        workload_error_set(error, "%s: %zu bytes (expected an INF of at most 4M)", path, size);
        return false;
    }
    inf.text = decode(bytes, size);
    if (inf.text)
        stamp(inf.text);
    inf.lines = malloc(MAX_LINES * sizeof *inf.lines);
    if (inf.text && inf.lines)
        is_fine = read_all(&inf, wanted_id);
    else
        workload_error_set(error, "%s: no memory", path);
    free(inf.lines);
    free(inf.text);
    return is_fine;
}
