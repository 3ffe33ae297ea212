/*
 * The fact tables of data/ddi as rows: the one description of the interface that the headers of
 * include/wdk are held to.
 *
 * Place   tests/wdk. C library only.
 * Model   A row of layout-x64.tsv is a type or a member of one; a row of enums.tsv is a named
 *         value. Both keep their index, which is how a probe and its check speak of them.
 * Levels  A WDDM level is major * 100 + minor: 1.2 is 102. No level means since the first.
 */
#ifndef TESTS_WDK_DDI_TABLE_H
#define TESTS_WDK_DDI_TABLE_H

#include <stdbool.h>
#include <stdint.h>

#define DDI_NOT_A_BIT_FIELD UINT32_MAX

struct ddi_member {
    uint32_t type_row; /* the row that describes the type; the rows of its members follow it */
    char *type;        /* the type that it lies in */
    char *path;        /* dotted; NULL for the row that describes the type itself */
    char *shape;       /* its own type, or "align N" */
    uint64_t offset;
    uint64_t size;
    uint32_t bit_offset; /* DDI_NOT_A_BIT_FIELD, or from the lowest bit of the storage unit */
    uint32_t bit_width;
    uint32_t level;
    bool is_named; /* of a type: its name is declared at every level, its body from its own on */
};

struct ddi_value {
    char *name;
    char *group;
    uint64_t value;
    uint32_t level;
};

struct ddi_table {
    struct ddi_member *members;
    uint32_t member_count;
    struct ddi_value *values;
    uint32_t value_count;
};

/* Reads both tables. Says what is wrong with them on stderr and returns false. */
bool ddi_table_read(struct ddi_table *table, const char *layout_path, const char *values_path);
void ddi_table_free(struct ddi_table *table);

/* The level of the interface version with this name, or 0. */
uint32_t ddi_table_level(const struct ddi_table *table, const char *version_name);

/* Whether the member, its type and the members around it exist at this level. */
bool ddi_member_exists(const struct ddi_table *table, uint32_t index, uint32_t level);
bool ddi_type_exists(const struct ddi_table *table, uint32_t type_row, uint32_t level);

/* The size that the type has at this level: its last member, rounded up to its alignment. */
uint64_t ddi_type_size(const struct ddi_table *table, uint32_t type_row, uint32_t level);
uint64_t ddi_type_alignment(const struct ddi_table *table, uint32_t type_row);
uint64_t ddi_member_size(const struct ddi_table *table, uint32_t index, uint32_t level);

/* Bug checks are data, not declarations; preprocessor constants exist at every level. */
bool ddi_value_is_declared(const struct ddi_value *value);
bool ddi_value_is_macro(const struct ddi_value *value);
bool ddi_value_exists(const struct ddi_value *value, uint32_t level);

#endif
