#include "check/report/decode.h"

#include "check/report/ddi_fields.h"

#include <stdio.h>
#include <string.h>

static const struct decode_field fields[] = {
#define ENUMERATOR(enumeration, value, name)
#define FIELD(...) {__VA_ARGS__},
#include "ddi_fields.inc"
#undef FIELD
#undef ENUMERATOR
};

static const struct {
    const char *enumeration;
    uint64_t value;
    const char *name;
} enumerators[] = {
#define ENUMERATOR(enumeration, value, name) {enumeration, value, name},
#define FIELD(...)
#include "ddi_fields.inc"
#undef FIELD
#undef ENUMERATOR
};

#define FIELD_COUNT      (sizeof fields / sizeof fields[0])
#define ENUMERATOR_COUNT (sizeof enumerators / sizeof enumerators[0])
#define VALUE_BYTES      160
#define MOST_NAME_WIDTH  42
#define MOST_MOVED_BYTES (UINT64_C(1) << 24)

static const char *find_enumerator(const char *enumeration, uint64_t value)
{
    for (size_t i = 0; i < ENUMERATOR_COUNT; i++) {
        if (enumerators[i].value == value && strcmp(enumerators[i].enumeration, enumeration) == 0)
            return enumerators[i].name;
    }
    return NULL;
}

const char *decode_status_name(uint32_t status)
{
    return find_enumerator("NTSTATUS", status);
}

struct decode_status decode_status(NTSTATUS status)
{
    const char *name = decode_status_name((uint32_t)status);
    struct decode_status decoded;

    snprintf(decoded.text, sizeof decoded.text, "0x%08x%s%s", (unsigned)status, name ? " " : "",
             name ? name : "");
    return decoded;
}

unsigned decode_wddm_of(uint32_t interface_version)
{
    static const struct {
        uint32_t first;
        unsigned wddm;
    } levels[] = {
        {0x11000, 32}, {0x10000, 31}, {0xf000, 30}, {0xe000, 29}, {0xd000, 28}, {0xc000, 27},
        {0xb000, 26},  {0xa000, 25},  {0x9000, 24}, {0x8000, 23}, {0x7000, 22}, {0x6000, 21},
        {0x5000, 20},  {0x4000, 13},  {0x3000, 12}, {0x2000, 11},
    };

    for (size_t i = 0; i < sizeof levels / sizeof levels[0]; i++) {
        if (interface_version >= levels[i].first)
            return levels[i].wddm;
    }
    return 10;
}

static uint64_t load(const void *bytes, unsigned offset, unsigned size)
{
    const unsigned char *at = (const unsigned char *)bytes + offset;
    uint64_t value = 0;

    for (unsigned i = 0; i < size; i++)
        value |= (uint64_t)at[i] << 8 * i;
    return value;
}

/* ---- Values ---------------------------------------------------------------------------------- */

static void write_number(uint64_t value, char *out)
{
    snprintf(out, VALUE_BYTES, value > 9 ? "%llu (0x%llx)" : "%llu", (unsigned long long)value,
             (unsigned long long)value);
}

static void write_handle(const struct decode_request *request, uint64_t value, char *out)
{
    char name[64];
    const char *known = NULL;

    if (value && request->name_handle)
        known = request->name_handle(request->context, value, name, sizeof name);
    snprintf(out, VALUE_BYTES, "%s", !value ? "NULL" : known ? known : "not NULL");
}

/* The bits that are set, and what wider fields hold. */
static void write_flags(const struct decode_request *request, const struct decode_field *word,
                        uint64_t value, char *out)
{
    size_t used = (size_t)snprintf(out, VALUE_BYTES, "0x%llx", (unsigned long long)value);

    for (const struct decode_field *field = word + 1;
         field < fields + FIELD_COUNT && field->kind == DECODE_BIT && used < VALUE_BYTES; field++) {
        uint64_t mask = field->bits < 64 ? (UINT64_C(1) << field->bits) - 1 : UINT64_MAX;
        uint64_t content = value >> field->bit & mask;

        if (!content || field->wddm > request->wddm)
            continue;
        used += (size_t)snprintf(out + used, VALUE_BYTES - used, " %s", field->name);
        if (field->bits > 1 && used < VALUE_BYTES)
            used += (size_t)snprintf(out + used, VALUE_BYTES - used, "=%llu",
                                     (unsigned long long)content);
    }
}

static void write_value(const struct decode_request *request, const struct decode_field *field,
                        uint64_t value, char *out)
{
    const char *name;

    switch (field->kind) {
    case DECODE_SIGNED:
        snprintf(out, VALUE_BYTES, "%d", (int32_t)value);
        return;
    case DECODE_HEX:
        snprintf(out, VALUE_BYTES, "0x%llx", (unsigned long long)value);
        return;
    case DECODE_BOOLEAN:
        snprintf(out, VALUE_BYTES, "%s", value ? "TRUE" : "FALSE");
        return;
    case DECODE_POINTER:
        snprintf(out, VALUE_BYTES, "%s", value ? "not NULL" : "NULL");
        return;
    case DECODE_HANDLE:
        write_handle(request, value, out);
        return;
    case DECODE_ENUM:
        name = find_enumerator(field->enumeration, value);
        snprintf(out, VALUE_BYTES, "%llu%s%s", (unsigned long long)value, name ? " " : "",
                 name ? name : "");
        return;
    case DECODE_STATUS:
        snprintf(out, VALUE_BYTES, "%s", decode_status((NTSTATUS)value).text);
        return;
    case DECODE_FLAGS:
        write_flags(request, field, value, out);
        return;
    case DECODE_NUMBER:
    case DECODE_BIT:
        break;
    }
    write_number(value, out);
}

/* In one buffer; how far apart others are depends on where the host put them. */
static bool is_near(uint64_t before, uint64_t after)
{
    return after - before + MOST_MOVED_BYTES <= 2 * MOST_MOVED_BYTES;
}

/* "not NULL, moved by 288 bytes" of a pointer, "16384 -> 16096" of what else has changed. */
static void write_change(const struct decode_request *request, const struct decode_field *field,
                         uint64_t before, uint64_t after, char *out)
{
    char is[VALUE_BYTES], was[VALUE_BYTES];

    write_value(request, field, before, was);
    write_value(request, field, after, is);
    if (before == after)
        snprintf(out, 2 * VALUE_BYTES, "%s", was);
    else if (field->kind == DECODE_POINTER && before && after && is_near(before, after))
        snprintf(out, 2 * VALUE_BYTES, "%s, moved by %lld bytes", was, (long long)(after - before));
    else if (strcmp(was, is) == 0)
        snprintf(out, 2 * VALUE_BYTES, "%s -> another", was);
    else
        snprintf(out, 2 * VALUE_BYTES, "%.*s -> %.*s", VALUE_BYTES - 3, was, VALUE_BYTES - 3, is);
}

/* ---- Structures ------------------------------------------------------------------------------ */

static bool is_there(const struct decode_request *request, const struct decode_field *field)
{
    if (field->kind == DECODE_BIT || field->wddm > request->wddm ||
        field->offset + field->size > request->bytes)
        return false;
    if (!field->when_size)
        return true;
    return field->when + field->when_size <= request->bytes &&
           (load(request->before, field->when, field->when_size) == field->value) ==
               field->is_equal;
}

/*
 * The members of the structure, and of the group of its union that the structure names: which
 * paging operation, which interrupt. A group's name is that of the structure with "/" and the
 * number.
 */
static bool is_wanted(const struct decode_request *request, const struct decode_field *field,
                      const char *group)
{
    return (strcmp(field->structure, request->structure) == 0 ||
            (group[0] && strcmp(field->structure, group) == 0)) &&
           is_there(request, field);
}

static void find_group(const struct decode_request *request, char *group, size_t size)
{
    group[0] = '\0';
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        const struct decode_field *field = &fields[i];

        if (strcmp(field->structure, request->structure) != 0 ||
            (strcmp(field->name, "Operation") != 0 && strcmp(field->name, "InterruptType") != 0) ||
            !is_there(request, field))
            continue;
        snprintf(group, size, "%s/%llu", request->structure,
                 (unsigned long long)load(request->before, field->offset, field->size));
        return;
    }
}

static size_t put_line(const struct decode_request *request, const struct decode_field *field,
                       int width, char *text, size_t size)
{
    uint64_t before = load(request->before, field->offset, field->size);
    uint64_t after = request->after ? load(request->after, field->offset, field->size) : before;
    char value[2 * VALUE_BYTES], name[128];
    int length;

    write_change(request, field, before, after, value);
    snprintf(name, sizeof name, "%s%s", request->prefix ? request->prefix : "", field->name);
    length = snprintf(text, size, "%-*s  %s\n", width, name, value);
    return (size_t)length < size ? (size_t)length : 0;
}

size_t decode_structure(const struct decode_request *request, char *text, size_t size)
{
    static const char more[] = "...\n";
    char group[64];
    size_t used = 0, added;
    int width = 0, prefix;

    if (size <= sizeof more)
        return 0;
    text[0] = '\0';
    find_group(request, group, sizeof group);
    prefix = request->prefix ? (int)strlen(request->prefix) : 0;
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        int length = prefix + (int)strlen(fields[i].name);

        if (length > width && length <= MOST_NAME_WIDTH && is_wanted(request, &fields[i], group))
            width = length;
    }
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (!is_wanted(request, &fields[i], group))
            continue;
        added = put_line(request, &fields[i], width, text + used, size - used - sizeof more);
        if (!added) {
            memcpy(text + used, more, sizeof more);
            return used + sizeof more - 1;
        }
        used += added;
    }
    return used;
}

const char *decode_member_at(const struct decode_request *request, size_t offset)
{
    char group[64];

    find_group(request, group, sizeof group);
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        if (offset >= fields[i].offset && offset - fields[i].offset < fields[i].size &&
            is_wanted(request, &fields[i], group))
            return fields[i].name;
    }
    return NULL;
}
