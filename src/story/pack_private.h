/*
 * Pack: a story while it is being packed.
 *
 * Place   story, private to story_pack.c and pack_left_out.c.
 */
#ifndef DRYDOCK_STORY_PACK_PRIVATE_H
#define DRYDOCK_STORY_PACK_PRIVATE_H

#include "story/pack_bytes.h"

/* A column, or another part of the packed form, deflated. */
struct piece {
    struct bytes deflated;
    size_t raw_size;
    char encoding;
    int base; /* a column, or -1 */
    uint64_t max;
    bool is_ready;
};

struct pack {
    const struct story *story;
    const struct base_services *services;
    bool failed;

    /* Which rows stay: keeps[table][row]; NULL: all. */
    unsigned char *keeps[STORY_TABLE_COUNT];
    uint32_t *places[STORY_TABLE_COUNT]; /* of a row among those that stay; where keeps is */
    size_t rows[STORY_TABLE_COUNT];      /* that stay */

    uint64_t *values; /* the column in work: packed values of the rows that stay */
    size_t values_room;
    uint64_t *base_values;
    size_t base_values_room;
    struct bytes raw, tried;
    struct deflater deflater;

    uint32_t *text_places; /* by id; 0: not used so far, except for text 0 */
    uint32_t *text_ids;    /* by place */
    size_t text_count, text_room;

    struct piece columns[STORY_COLUMN_COUNT], text_lengths, text_bytes, header;
    size_t left_out_count;
    char left_out[16][96];
    uint64_t text_type; /* the id of "text" */
};

/* ---- What is left out ------------------------------------------------------------------------ */

bool pack_keeps(const struct pack *pack, enum story_table table, size_t row);

/* A row number plus one, as a column holds it, in the numbers of those that stay. */
uint64_t pack_kept_row(const struct pack *pack, enum story_table table, uint64_t row);

/*
 * Takes the step of this number, from 0, of those by which a packed story becomes smaller. False:
 * there are no more.
 */
bool pack_leave_out(struct pack *pack, unsigned step);

#endif
