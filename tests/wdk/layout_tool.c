/*
 * Holds the headers of include/wdk to the fact tables, for any compiler and interface version.
 *
 * A probe is a source file made from the tables. Compiled, its object file carries what the
 * compiler thinks of every type: a record of offset and size for each member and value, and for
 * each bit-field an image of the type in which only that field is set. Records start with a
 * mark, so the check finds them in an object file of any format without running it.
 *
 *     layout_tool probe  LAYOUT ENUMS VERSION c|cxx   writes the probe on stdout
 *     layout_tool check  LAYOUT ENUMS VERSION c|cxx OBJECT
 *     layout_tool absent LAYOUT ENUMS VERSION         writes C++ that compiles only if everything
 *                                                     later than VERSION is absent
 *
 * A probe that names a member which the headers do not have does not compile: presence needs
 * no check of its own. C++ has no designated bit-field initialisers, so images are C only.
 */
#include "ddi_table.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NUMBER_MARK "WDK#NUM:"
#define IMAGE_MARK  "WDK#BIT:"
#define MARK_SIZE   8

enum language { LANGUAGE_C, LANGUAGE_CXX };

struct number_record {
    uint8_t mark[MARK_SIZE];
    uint64_t index; /* of a member, or member_count + index of a value */
    uint64_t first; /* offset; alignment of a type; the value */
    uint64_t size;
};

struct image_header {
    uint8_t mark[MARK_SIZE];
    uint64_t index;
};

static void print_mark(const char *mark)
{
    putchar('{');
    for (unsigned i = 0; i < MARK_SIZE; i++)
        printf("%u,", (unsigned)(uint8_t)mark[i]);
    putchar('}');
}

static void print_preamble(const char *version)
{
    printf("#define DXGKDDI_INTERFACE_VERSION DXGKDDI_INTERFACE_VERSION_%s\n"
           "#include <ntddk.h>\n"
           "#include <dispmprt.h>\n"
           "#include <ntddvdeo.h>\n"
           "#include <stdint.h>\n",
           version);
}

static void print_number(uint32_t index, const char *first, const char *size)
{
    printf("    {");
    print_mark(NUMBER_MARK);
    printf(", %" PRIu32 ", (uint64_t)(int64_t)(%s), %s},\n", index, first, size);
}

static void print_member_number(const struct ddi_member *member, uint32_t index)
{
    char first[256], size[256];

    if (member->path) {
        snprintf(first, sizeof first, "__builtin_offsetof(%s, %s)", member->type, member->path);
        snprintf(size, sizeof size, "sizeof(((%s *)0)->%s)", member->type, member->path);
    } else {
        snprintf(first, sizeof first, "__alignof__(%s)", member->type);
        snprintf(size, sizeof size, "sizeof(%s)", member->type);
    }
    print_number(index, first, size);
}

static void print_member_image(const struct ddi_member *member, uint32_t index)
{
    printf("extern const struct { uint8_t mark[%u]; uint64_t index; %s image; } image_%" PRIu32
           ";\n",
           MARK_SIZE, member->type, index);
    printf("__typeof__(image_%" PRIu32 ") image_%" PRIu32 " = {", index, index);
    print_mark(IMAGE_MARK);
    printf(", %" PRIu32 ", {.%s = (__typeof__(((%s *)0)->%s + 0))-1}};\n", index, member->path,
           member->type, member->path);
}

static bool is_bit_field(const struct ddi_member *member)
{
    return member->path && member->bit_offset != DDI_NOT_A_BIT_FIELD;
}

static void write_probe(const struct ddi_table *table, const char *version, enum language language)
{
    uint32_t level = ddi_table_level(table, version);

    print_preamble(version + strlen("DXGKDDI_INTERFACE_VERSION_"));
    printf("struct number { uint8_t mark[%u]; uint64_t index, first, size; };\n", MARK_SIZE);
    printf("%sconst struct number numbers[] = {\n", language == LANGUAGE_C ? "" : "extern \"C\" ");
    for (uint32_t i = 0; i < table->member_count; i++) {
        if (ddi_member_exists(table, i, level) && !is_bit_field(&table->members[i]))
            print_member_number(&table->members[i], i);
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        if (ddi_value_exists(&table->values[i], level)) {
            char size[256];

            snprintf(size, sizeof size, "sizeof(%s)", table->values[i].name);
            print_number(table->member_count + i, table->values[i].name, size);
        }
    }
    printf("};\n");

    for (uint32_t i = 0; language == LANGUAGE_C && i < table->member_count; i++) {
        if (ddi_member_exists(table, i, level) && is_bit_field(&table->members[i]))
            print_member_image(&table->members[i], i);
    }
}

/* What is declared at a later level may be declared again here; what exists is then ambiguous. */
static void write_absent(const struct ddi_table *table, const char *version)
{
    uint32_t level = ddi_table_level(table, version);

    print_preamble(version + strlen("DXGKDDI_INTERFACE_VERSION_"));
    printf("namespace absent {\n");
    for (uint32_t i = 0; i < table->member_count; i++) {
        if (!table->members[i].path && !table->members[i].is_named &&
            !ddi_type_exists(table, i, level))
            printf("struct %s {};\n", table->members[i].type);
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        if (ddi_value_is_declared(&table->values[i]) && !ddi_value_exists(&table->values[i], level))
            printf("constexpr int %s = 1;\n", table->values[i].name);
    }
    printf("}\nusing namespace absent;\n"
           "template <class T, unsigned long long = sizeof(T)>\n"
           "constexpr bool has_body(int) { return true; }\n"
           "template <class T> constexpr bool has_body(long) { return false; }\n");

    for (uint32_t i = 0; i < table->member_count; i++) {
        const struct ddi_member *member = &table->members[i];

        if (ddi_member_exists(table, i, level))
            continue;
        if (!ddi_type_exists(table, member->type_row, level)) {
            if (!member->path && member->is_named)
                printf("static_assert(!has_body<%s>(0), \"\");\n", member->type);
            else if (!member->path)
                printf("static_assert(sizeof(%s) == 1, \"\");\n", member->type);
            continue;
        }
        printf("template <class T, class = decltype(((T *)nullptr)->%s)>\n"
               "constexpr bool has_%" PRIu32 "(int) { return true; }\n"
               "template <class T> constexpr bool has_%" PRIu32 "(long) { return false; }\n"
               "static_assert(!has_%" PRIu32 "<%s>(0), \"%s.%s exists before its version\");\n",
               member->path, i, i, i, member->type, member->type, member->path);
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        if (ddi_value_is_declared(&table->values[i]) && !ddi_value_exists(&table->values[i], level))
            printf("static_assert(%s == 1, \"\");\n", table->values[i].name);
    }
}

static uint8_t *read_file(const char *path, size_t *out_size)
{
    FILE *file = fopen(path, "rb");
    uint8_t *bytes = NULL;
    size_t size = 0;

    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        exit(2);
    }
    for (;;) {
        size_t got;

        bytes = realloc(bytes, size + 65536);
        if (!bytes)
            abort();
        got = fread(bytes + size, 1, 65536, file);
        size += got;
        if (got < 65536)
            break;
    }
    fclose(file);
    *out_size = size;
    return bytes;
}

static unsigned differ(const char *type, const char *path, const char *what, uint64_t expected,
                       uint64_t found)
{
    if (expected == found)
        return 0;
    fprintf(stderr, "%s%s%s: %s is %" PRIu64 ", the table says %" PRIu64 "\n", type,
            path ? "." : "", path ? path : "", what, found, expected);
    return 1;
}

static unsigned check_number(const struct ddi_table *table, uint32_t level,
                             const struct number_record *record)
{
    const struct ddi_member *member;
    unsigned differences;

    if (record->index >= table->member_count) {
        const struct ddi_value *value = &table->values[record->index - table->member_count];

        /* NTSTATUS and int values arrive with their sign extended. */
        return differ(value->group, value->name, "value", (uint32_t)value->value,
                      (uint32_t)record->first);
    }

    member = &table->members[record->index];
    if (!member->path) {
        differences = differ(member->type, NULL, "alignment",
                             ddi_type_alignment(table, member->type_row), record->first);
        return differences + differ(member->type, NULL, "size",
                                    ddi_type_size(table, member->type_row, level), record->size);
    }
    differences = differ(member->type, member->path, "offset", member->offset, record->first);
    return differences + differ(member->type, member->path, "size",
                                ddi_member_size(table, (uint32_t)record->index, level),
                                record->size);
}

static bool in_same_unit(const struct ddi_member *a, const struct ddi_member *b)
{
    return is_bit_field(a) && is_bit_field(b) && !strcmp(a->type, b->type) &&
           a->offset == b->offset;
}

/*
 * The first bit of a bit-field in its type. Places are the same at every level but for one: the
 * last field of a unit, when it is reserved, reaches down over what does not exist yet.
 */
static uint64_t first_bit(const struct ddi_table *table, uint32_t level, uint32_t index)
{
    const struct ddi_member *member = &table->members[index];
    uint32_t first = member->bit_offset;
    bool is_remainder = !strcmp(
        strrchr(member->path, '.') ? strrchr(member->path, '.') + 1 : member->path, "Reserved");

    for (uint32_t i = 0; i < table->member_count; i++) {
        if (in_same_unit(&table->members[i], member) && table->members[i].bit_offset > first)
            is_remainder = false;
    }
    /* Rows of a unit are in ascending order, so walking back finds the fields below. */
    for (uint32_t i = index; is_remainder && i-- > 0;) {
        const struct ddi_member *below = &table->members[i];

        if (!in_same_unit(below, member) || below->bit_offset + below->bit_width != first ||
            ddi_member_exists(table, i, level))
            break;
        first = below->bit_offset;
    }
    return member->offset * 8 + first;
}

/* The image has exactly the bits of the field set. */
static unsigned check_image(const struct ddi_table *table, uint32_t level, uint32_t index,
                            const uint8_t *image)
{
    const struct ddi_member *member = &table->members[index];
    uint64_t bit_count = ddi_type_size(table, member->type_row, level) * 8;
    uint64_t first = first_bit(table, level, index);
    uint64_t end = member->offset * 8 + member->bit_offset + member->bit_width;

    for (uint64_t bit = 0; bit < bit_count; bit++) {
        bool found = (image[bit / 8] >> (bit % 8)) & 1;

        if (found != (bit >= first && bit < end)) {
            fprintf(stderr,
                    "%s.%s: bit %" PRIu64 " is %s, the table says bits %" PRIu64 " to %" PRIu64
                    "\n",
                    member->type, member->path, bit, found ? "set" : "clear", first, end - 1);
            return 1;
        }
    }
    return 0;
}

static int check_object(const struct ddi_table *table, const char *version, enum language language,
                        const char *object_path)
{
    uint32_t level = ddi_table_level(table, version);
    uint32_t row_count = table->member_count + table->value_count;
    bool *seen = calloc(row_count, sizeof *seen);
    unsigned differences = 0, checked = 0;
    size_t size;
    uint8_t *bytes = read_file(object_path, &size);

    if (!seen)
        abort();
    for (size_t at = 0; at + sizeof(struct number_record) <= size; at++) {
        struct number_record record;

        memcpy(&record, bytes + at, sizeof record);
        if (record.index >= row_count)
            continue;
        if (!memcmp(record.mark, NUMBER_MARK, MARK_SIZE)) {
            differences += check_number(table, level, &record);
            seen[record.index] = true;
        } else if (!memcmp(record.mark, IMAGE_MARK, MARK_SIZE) &&
                   record.index < table->member_count) {
            differences += check_image(table, level, (uint32_t)record.index,
                                       bytes + at + sizeof(struct image_header));
            seen[record.index] = true;
        }
    }

    for (uint32_t i = 0; i < row_count; i++) {
        bool wanted = i < table->member_count
                          ? ddi_member_exists(table, i, level) &&
                                (language == LANGUAGE_C || !is_bit_field(&table->members[i]))
                          : ddi_value_exists(&table->values[i - table->member_count], level);

        checked += seen[i];
        if (wanted != seen[i]) {
            fprintf(stderr, "row %" PRIu32 " is %s the object file\n", i,
                    seen[i] ? "unexpectedly in" : "missing from");
            differences++;
        }
    }
    printf("%s: %u rows checked, %u differences\n", version, checked, differences);
    free(bytes);
    free(seen);
    return differences ? 1 : 0;
}

static int usage(void)
{
    fprintf(stderr,
            "usage: layout_tool probe|check|absent LAYOUT ENUMS VERSION [c|cxx [OBJECT]]\n");
    return 2;
}

int main(int argc, char **argv)
{
    struct ddi_table table;
    enum language language;
    int result = 0;

    if (argc < 5)
        return usage();
    if (!ddi_table_read(&table, argv[2], argv[3]))
        return 2;
    if (!ddi_table_level(&table, argv[4])) {
        fprintf(stderr, "%s: no such interface version\n", argv[4]);
        ddi_table_free(&table);
        return 2;
    }

    language = argc > 5 && !strcmp(argv[5], "cxx") ? LANGUAGE_CXX : LANGUAGE_C;
    if (!strcmp(argv[1], "probe") && argc == 6)
        write_probe(&table, argv[4], language);
    else if (!strcmp(argv[1], "check") && argc == 7)
        result = check_object(&table, argv[4], language, argv[6]);
    else if (!strcmp(argv[1], "absent") && argc == 5)
        write_absent(&table, argv[4]);
    else
        result = usage();
    ddi_table_free(&table);
    return result;
}
