/*
 * Templates are read from their text each time: they are short, and few.
 */
#include "workload/case/template.h"
#include "workload/owned.h"
#include "workload/words.h"

#include "base/bits.h"

#include <stddef.h>
#include <string.h>

#define ROW_PIXELS          1024u
#define PIXEL_BYTES         4u
#define FORMAT_A8R8G8B8     21u /* D3DDDIFMT_A8R8G8B8 */
#define MOST_OF_ONE         256u
#define SEPARATORS          ", \t"
#define LONGEST_SHOWN_FIELD 40

static const struct {
    const char *name;
    size_t offset;
} names[] = {
#define NAME(name)                                                                                 \
    {                                                                                              \
#name, offsetof(struct workload_template_values, name)                                     \
    }
    NAME(size),   NAME(pages),  NAME(flags), NAME(width),
    NAME(height), NAME(format), NAME(index), NAME(seed),
#undef NAME
};

struct field {
    const char *text;
    size_t length;
    bool has_name;
    size_t offset;  /* of the named value */
    uint64_t value; /* where it has no name */
    unsigned bytes;
    unsigned count;
};

/* A sentence about the mistake of a field; NULL: there is none. */
static const char *read_type(const char *text, size_t length, struct field *field)
{
    static const struct {
        const char *name;
        unsigned bytes;
    } types[] = {{"u8", 1}, {"u16", 2}, {"u32", 4}, {"u64", 8}};
    const char *star = memchr(text, '*', length);
    size_t type_length = star ? (size_t)(star - text) : length;
    uint64_t count = 1;

    if (star && (!workload_parse_number(star + 1, length - type_length - 1, &count) || !count ||
                 count > MOST_OF_ONE))
        return "behind '*' a number from 1 to 256";
    field->count = (unsigned)count;
    for (size_t i = 0; i < ARRAY_COUNT(types); i++) {
        if (strlen(types[i].name) == type_length && memcmp(types[i].name, text, type_length) == 0) {
            field->bytes = types[i].bytes;
            return NULL;
        }
    }
    return "behind ':' one of u8, u16, u32, u64";
}

static const char *read_value(const char *text, size_t length, struct field *field)
{
    for (size_t i = 0; i < ARRAY_COUNT(names); i++) {
        if (strlen(names[i].name) == length && memcmp(names[i].name, text, length) == 0) {
            field->has_name = true;
            field->offset = names[i].offset;
            return NULL;
        }
    }
    if (workload_parse_number(text, length, &field->value))
        return NULL;
    return "in front of ':' a number or one of size, pages, flags, width, height, format, index, "
           "seed";
}

/*
 * The next field of the text, which goes behind it. False: the end, or *why says what was expected.
 */
static bool next_field(const char **text, struct field *field, const char **why)
{
    const char *colon;

    *why = NULL;
    *field = (struct field){.text = *text + strspn(*text, SEPARATORS)};
    field->length = strcspn(field->text, SEPARATORS);
    *text = field->text + field->length;
    if (!field->length)
        return false;
    colon = memchr(field->text, ':', field->length);
    if (!colon) {
        *why = "VALUE:TYPE";
        return false;
    }
    *why = read_value(field->text, (size_t)(colon - field->text), field);
    if (!*why)
        *why = read_type(colon + 1, (size_t)(field->text + field->length - colon - 1), field);
    return !*why;
}

struct workload_template_values workload_template_values_of(uint64_t size)
{
    uint64_t pixels = div_round_up(size, PIXEL_BYTES);
    uint64_t width = max_u64(1, min_u64(pixels, ROW_PIXELS));

    return (struct workload_template_values){
        .size = size,
        .pages = bytes_to_pages(size),
        .width = width,
        .height = max_u64(1, div_round_up(pixels, width)),
        .format = FORMAT_A8R8G8B8,
    };
}

bool workload_template_check(const char *text, struct workload_error *error)
{
    const char *at = text, *why;
    struct field field;
    uint64_t bytes = 0;

    if (strlen(text) > WORKLOAD_MAX_TEMPLATE) {
        workload_error_set(error, "a template has %zu characters (expected at most %d)",
                           strlen(text), WORKLOAD_MAX_TEMPLATE);
        return false;
    }
    while (next_field(&at, &field, &why))
        bytes += (uint64_t)field.bytes * field.count;
    if (why) {
        workload_error_set(error, "field '%.*s' of a template (expected %s)",
                           (int)min_u64(field.length, LONGEST_SHOWN_FIELD), field.text, why);
        return false;
    }
    if (!bytes || bytes > WORKLOAD_MAX_TEMPLATE_BYTES) {
        workload_error_set(error, "a template makes %llu bytes (expected 1 to %d)",
                           (unsigned long long)bytes, WORKLOAD_MAX_TEMPLATE_BYTES);
        return false;
    }
    return true;
}

uint32_t workload_template_bytes(const char *text)
{
    const char *why;
    struct field field;
    uint32_t bytes = 0;

    while (text && next_field(&text, &field, &why))
        bytes += field.bytes * field.count;
    return bytes;
}

void workload_template_fill(const char *text, const struct workload_template_values *values,
                            uint8_t *out)
{
    const char *why;
    struct field field;

    while (next_field(&text, &field, &why)) {
        uint64_t value =
            field.has_name ? *(const uint64_t *)((const char *)values + field.offset) : field.value;

        for (unsigned i = 0; i < field.count; i++) {
            for (unsigned byte = 0; byte < field.bytes; byte++)
                *out++ = (uint8_t)(value >> 8 * byte);
        }
    }
}
