#include "ddi_table.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MAX_COLUMNS 12

static char *copy(const char *text)
{
    size_t size = strlen(text) + 1;
    char *result = malloc(size);

    if (!result)
        abort();
    return memcpy(result, text, size);
}

/* "2.1", or "2.9(docs; unverified)": what follows the number is a remark. */
static uint32_t parse_level(const char *text)
{
    unsigned major, minor;

    return sscanf(text, "%u.%u", &major, &minor) == 2 ? major * 100 + minor : 0;
}

static unsigned split(char *line, char **columns)
{
    unsigned count = 0;

    line[strcspn(line, "\r\n")] = '\0';
    while (count < MAX_COLUMNS) {
        columns[count++] = line;
        line = strchr(line, '\t');
        if (!line)
            break;
        *line++ = '\0';
    }
    return count;
}

typedef bool row_fn(struct ddi_table *table, char **columns);

static bool add_member(struct ddi_table *table, char **columns)
{
    struct ddi_member *member;

    table->members = realloc(table->members, (table->member_count + 1) * sizeof *table->members);
    if (!table->members)
        abort();

    member = &table->members[table->member_count++];
    member->type = copy(columns[0]);
    member->path = strcmp(columns[1], "(sizeof)") ? copy(columns[1]) : NULL;
    member->shape = copy(columns[2]);
    member->offset = strtoull(columns[3], NULL, 10);
    member->size = strtoull(columns[4], NULL, 10);
    member->bit_offset =
        *columns[5] ? (uint32_t)strtoul(columns[5], NULL, 10) : DDI_NOT_A_BIT_FIELD;
    member->bit_width = (uint32_t)strtoul(columns[6], NULL, 10);
    member->level = parse_level(columns[7]);
    member->is_named = !strcmp(columns[8], "named");
    member->type_row =
        member->path && table->member_count > 1 ? member[-1].type_row : table->member_count - 1;
    return member->size != 0 && !strcmp(table->members[member->type_row].type, member->type);
}

static bool add_value(struct ddi_table *table, char **columns)
{
    struct ddi_value *value;

    table->values = realloc(table->values, (table->value_count + 1) * sizeof *table->values);
    if (!table->values)
        abort();

    value = &table->values[table->value_count++];
    value->name = copy(columns[0]);
    value->group = copy(columns[1]);
    value->value = strtoull(columns[2], NULL, 0);
    value->level = parse_level(columns[3]);
    return true;
}

static bool read_rows(struct ddi_table *table, const char *path, unsigned min_columns, row_fn *add)
{
    char line[1024];
    char *columns[MAX_COLUMNS];
    unsigned number = 0;
    FILE *file = fopen(path, "r");

    if (!file) {
        fprintf(stderr, "%s: cannot be opened\n", path);
        return false;
    }
    while (fgets(line, sizeof line, file)) {
        if (++number == 1)
            continue; /* the heading */
        if (split(line, columns) < min_columns || !add(table, columns)) {
            fprintf(stderr, "%s:%u: not a row of the table\n", path, number);
            fclose(file);
            return false;
        }
    }
    fclose(file);
    return true;
}

bool ddi_table_read(struct ddi_table *table, const char *layout_path, const char *values_path)
{
    memset(table, 0, sizeof *table);
    if (read_rows(table, layout_path, 8, add_member) && read_rows(table, values_path, 4, add_value))
        return true;

    ddi_table_free(table);
    return false;
}

void ddi_table_free(struct ddi_table *table)
{
    for (uint32_t i = 0; i < table->member_count; i++) {
        free(table->members[i].type);
        free(table->members[i].path);
        free(table->members[i].shape);
    }
    for (uint32_t i = 0; i < table->value_count; i++) {
        free(table->values[i].name);
        free(table->values[i].group);
    }
    free(table->members);
    free(table->values);
    memset(table, 0, sizeof *table);
}

uint32_t ddi_table_level(const struct ddi_table *table, const char *version_name)
{
    for (uint32_t i = 0; i < table->value_count; i++) {
        if (!strcmp(table->values[i].name, version_name))
            return table->values[i].level;
    }
    return 0;
}

static bool in_type(const struct ddi_table *table, uint32_t index, uint32_t type_row)
{
    return index < table->member_count && table->members[index].type_row == type_row;
}

bool ddi_type_exists(const struct ddi_table *table, uint32_t type_row, uint32_t level)
{
    for (uint32_t i = type_row + 1; in_type(table, i, type_row); i++) {
        if (table->members[i].level <= level)
            return true;
    }
    return false;
}

static bool encloses(const struct ddi_member *outer, const struct ddi_member *inner)
{
    size_t length = strlen(outer->path);

    return !strncmp(outer->path, inner->path, length) && inner->path[length] == '.';
}

bool ddi_member_exists(const struct ddi_table *table, uint32_t index, uint32_t level)
{
    const struct ddi_member *member = &table->members[index];

    if (!member->path)
        return ddi_type_exists(table, index, level);
    if (member->level > level)
        return false;
    for (uint32_t i = member->type_row + 1; i < index; i++) {
        if (encloses(&table->members[i], member) && table->members[i].level > level)
            return false;
    }
    return true;
}

/* The row that describes the type with this name, or the number of rows. */
static uint32_t find_type(const struct ddi_table *table, const char *type)
{
    uint32_t i = 0;

    while (i < table->member_count &&
           (table->members[i].path || strcmp(table->members[i].type, type)))
        i++;
    return i;
}

uint64_t ddi_member_size(const struct ddi_table *table, uint32_t index, uint32_t level)
{
    uint32_t shape_row = find_type(table, table->members[index].shape);

    return shape_row < table->member_count ? ddi_type_size(table, shape_row, level)
                                           : table->members[index].size;
}

static uint64_t round_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) / alignment * alignment;
}

uint64_t ddi_type_size(const struct ddi_table *table, uint32_t type_row, uint32_t level)
{
    uint64_t end = 0;

    for (uint32_t i = type_row + 1; in_type(table, i, type_row); i++) {
        if (ddi_member_exists(table, i, level)) {
            uint64_t member_end = table->members[i].offset + ddi_member_size(table, i, level);

            if (member_end > end)
                end = member_end;
        }
    }
    return round_up(end, ddi_type_alignment(table, type_row));
}

uint64_t ddi_type_alignment(const struct ddi_table *table, uint32_t type_row)
{
    return strtoull(table->members[type_row].shape + strlen("align "), NULL, 10);
}

bool ddi_value_is_declared(const struct ddi_value *value)
{
    return strncmp(value->group, "bugcheck", strlen("bugcheck")) != 0;
}

bool ddi_value_is_macro(const struct ddi_value *value)
{
    static const char *const macro_groups[] = {"NTSTATUS",
                                               "limit",
                                               "allocation priority",
                                               "MdlFlags",
                                               "DxgkCbExcludeAdapterAccess",
                                               "DXGKDDI_INTERFACE_VERSION"};

    for (size_t i = 0; i < sizeof macro_groups / sizeof macro_groups[0]; i++) {
        if (!strcmp(value->group, macro_groups[i]))
            return true;
    }
    return false;
}

bool ddi_value_exists(const struct ddi_value *value, uint32_t level)
{
    return ddi_value_is_declared(value) && (ddi_value_is_macro(value) || value->level <= level);
}
