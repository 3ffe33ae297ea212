/*
 * A story as bytes for the page.
 *
 * THE PACKED FORM, version 1
 *
 * The page has the packed form as base64 in <script type="application/octet-stream" id="story">.
 * Its bytes are one raw deflate stream (RFC 1951; DecompressionStream("deflate-raw")). Inflated:
 *
 *     bytes        | what
 *     4            | H, the length of the header in bytes: uint32, little endian
 *     H            | the header: JSON, UTF-8
 *     the rest     | the body: all columns and the texts; offsets count from the body's first byte
 *
 * THE HEADER
 *
 *     {"format": "drydock-story", "version": 1,
 *      "tables": [{"name": "objects", "text": "what one row is", "rows": 1234,
 *                  "columns": [{"name": "kind", "text": "what the value is",
 *                               "type": "text", "encoding": "u",
 *                               "offset": 0, "length": 1234, "max": 17}, ...]}, ...],
 *      "texts": {"count": 567,
 *                "lengths": {"offset": 99000, "length": 600},
 *                "bytes": {"offset": 99600, "length": 12345}}}
 *
 * All tables of story_tables.inc are there, in their order, with all their columns. A table without
 * rows has columns of length 0.
 *
 *     "type"       how a value is read
 *     "time"       virtual nanoseconds + 1; 0: it did not happen
 *     "count", "bytes", "flag"
 *                  the number itself
 *     "text"       a text by its place among the texts, from 0; text 0 is ""
 *     "row"        row + 1 of the table that "target" names; 0: none
 *
 *     "encoding"   what the bytes of a column are
 *     "u"          one varint a row: the value
 *     "d"          one varint a row: zigzag(value - value of the row before); before row 0: 0
 *     "r"          one varint a row: zigzag(value - value of another column in the same row);
 *                  "base" names that column, which is of this table and stands before this one
 *     "c"          one varint: the value of all rows
 *
 *     "max"        the largest value; of a wide column 2^53 - 1
 *     "wide"       true, and only there, where a value is above 2^53 - 1: the encoding is "u" or
 *                  "c", and a varint has up to 10 bytes; all other columns are exact in doubles
 *
 *     varint       7 bits a byte, lowest first; bit 7: another byte follows
 *     zigzag(n)    2n for n >= 0, -2n - 1 for n < 0
 *     texts        "lengths": one varint a text, its length in bytes;
 *                  "bytes": all texts, one behind the other, UTF-8; bytes of a driver that are no
 *                  UTF-8 have become U+FFFD
 *
 * A reader takes tables and columns by name and ignores those that it does not know.
 *
 * In "arguments" a value whose type is "text" is the place of a text, and one whose type is
 * "object" is row + 1 of "objects".
 *
 * LEFT OUT
 *
 * When the packed form is above the limit, the steps of pack_left_out.c are taken in order until it
 * fits. Rows near a finding stay: the 200 calls before and behind it. Each step that was taken is a
 * row of "facts": key "left_out", value "1,234 calls" or alike. When all steps have been taken, the
 * packed form is as large as it is.
 *
 * HOW
 *
 * Each column is deflated alone and ends with a full flush, so that the pieces behind each other
 * are one stream, and their sizes are known before anything is left out. Which encoding a column
 * has is tried on a sample of its rows.
 */
#include "story/pack_private.h"
#include "story/utf8.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define EXACT_MAX    ((UINT64_C(1) << 53) - 1) /* up to it, doubles have each integer */
#define SAMPLE_ROWS  12000                     /* of each of SAMPLE_SPANS */
#define SAMPLE_SPANS 3
#define FEW_ROWS     32 /* whose encoding is chosen by the bytes alone */

/* ---- Columns --------------------------------------------------------------------------------- */

static uint64_t text_place(struct pack *pack, uint64_t id)
{
    if (!id || id >= story_text_count(pack->story))
        return 0;
    if (!pack->text_places[id]) {
        pack->text_places[id] = (uint32_t)pack->text_count;
        pack->text_ids[pack->text_count++] = (uint32_t)id;
    }
    return pack->text_places[id];
}

static uint64_t packed_value(struct pack *pack, enum story_column column, size_t row)
{
    const struct story_column_shape *shape = &story_columns[column];
    uint64_t value = story_values(pack->story, column)[row];

    switch (shape->type) {
    case STORY_TYPE_TIME:
        return value + 1; /* STORY_NEVER becomes 0 */
    case STORY_TYPE_TEXT:
        return text_place(pack, value);
    case STORY_TYPE_ROW:
        return pack_kept_row(pack, shape->target, value);
    default:
        if (column == STORY_ARGUMENTS_VALUE &&
            story_get(pack->story, STORY_ARGUMENTS_TYPE, row) == pack->text_type)
            return text_place(pack, value);
        return value;
    }
}

/* The values of a column as they are packed. NULL: no memory. */
static uint64_t *gather(struct pack *pack, enum story_column column, uint64_t **values,
                        size_t *room)
{
    enum story_table table = story_columns[column].table;
    size_t count = 0;

    if (*room < pack->rows[table]) {
        base_free_array(pack->services, *values, *room, sizeof **values);
        *room = 0;
        *values = base_alloc_array(pack->services, pack->rows[table], sizeof **values);
        if (!*values)
            return NULL;
        *room = pack->rows[table];
    }
    for (size_t i = 0; i < story_rows(pack->story, table); i++) {
        if (pack_keeps(pack, table, i))
            (*values)[count++] = packed_value(pack, column, i);
    }
    return *values;
}

static uint64_t zigzag(uint64_t difference)
{
    return difference << 1 ^ (difference >> 63 ? UINT64_MAX : 0);
}

static void encode(struct bytes *raw, char encoding, const uint64_t *values, const uint64_t *base,
                   size_t first, size_t end)
{
    for (size_t i = first; i < end; i++) {
        switch (encoding) {
        case 'd':
            pack_put_varint(raw, zigzag(values[i] - (i ? values[i - 1] : 0)));
            break;
        case 'r':
            pack_put_varint(raw, zigzag(values[i] - base[i]));
            break;
        default:
            pack_put_varint(raw, values[i]);
            break;
        }
    }
}

/* About how large the column becomes; SIZE_MAX: no memory. */
static size_t try_encoding(struct pack *pack, char encoding, const uint64_t *values,
                           const uint64_t *base, size_t rows)
{
    pack->raw.size = pack->tried.size = 0;
    if (rows <= SAMPLE_ROWS * SAMPLE_SPANS) {
        encode(&pack->raw, encoding, values, base, 0, rows);
    } else {
        for (size_t i = 0; i < SAMPLE_SPANS; i++) {
            size_t first = (rows - SAMPLE_ROWS) / (SAMPLE_SPANS - 1) * i;

            encode(&pack->raw, encoding, values, base, first, first + SAMPLE_ROWS);
        }
    }
    if (rows < FEW_ROWS)
        return pack->raw.size;
    return pack_deflate(&pack->deflater, &pack->raw, EFFORT_TRY, &pack->tried) ? pack->tried.size
                                                                               : SIZE_MAX;
}

/* Columns that may follow each other: times, and numbers of the same kind. */
static bool may_be_base(const struct pack *pack, enum story_column column, enum story_column base)
{
    const struct story_column_shape *a = &story_columns[column], *b = &story_columns[base];

    return a->table == b->table && base < column && a->type == b->type &&
           a->type != STORY_TYPE_FLAG && a->type != STORY_TYPE_TEXT && a->target == b->target &&
           pack->columns[base].max <= EXACT_MAX && pack->columns[base].encoding != 'c';
}

static void choose_encoding(struct pack *pack, enum story_column column, const uint64_t *values)
{
    struct piece *piece = &pack->columns[column];
    size_t rows = pack->rows[story_columns[column].table], best, size;
    bool is_constant = true;

    piece->base = -1;
    piece->max = 0;
    for (size_t i = 0; i < rows; i++) {
        if (values[i] > piece->max)
            piece->max = values[i];
        is_constant = is_constant && values[i] == values[0];
    }
    piece->encoding = is_constant ? 'c' : 'u';
    if (is_constant || piece->max > EXACT_MAX / 4)
        return;
    best = try_encoding(pack, 'u', values, NULL, rows);
    size = try_encoding(pack, 'd', values, NULL, rows);
    if (size < best) {
        piece->encoding = 'd';
        best = size;
    }
    for (unsigned i = story_tables[story_columns[column].table].first; i < (unsigned)column; i++) {
        uint64_t *base;

        if (!may_be_base(pack, column, (enum story_column)i) ||
            pack->columns[i].max > EXACT_MAX / 4)
            continue;
        base = gather(pack, (enum story_column)i, &pack->base_values, &pack->base_values_room);
        if (!base) {
            pack->failed = true;
            return;
        }
        size = try_encoding(pack, 'r', values, base, rows);
        if (size < best) {
            piece->encoding = 'r';
            piece->base = (int)i;
            best = size;
        }
    }
}

static void pack_column(struct pack *pack, enum story_column column)
{
    struct piece *piece = &pack->columns[column];
    size_t rows = pack->rows[story_columns[column].table];
    const uint64_t *values, *base = NULL;

    piece->is_ready = true;
    piece->encoding = 'u';
    piece->base = -1;
    piece->max = 0;
    piece->raw_size = 0;
    piece->deflated.size = 0;
    if (!rows)
        return;
    values = gather(pack, column, &pack->values, &pack->values_room);
    if (!values) {
        pack->failed = true;
        return;
    }
    choose_encoding(pack, column, values);
    if (piece->base >= 0)
        base = gather(pack, (enum story_column)piece->base, &pack->base_values,
                      &pack->base_values_room);
    pack->raw.size = 0;
    encode(&pack->raw, piece->encoding, values, base, 0, piece->encoding == 'c' ? 1 : rows);
    piece->raw_size = pack->raw.size;
    if (pack->failed || !pack_deflate(&pack->deflater, &pack->raw, EFFORT_KEEP, &piece->deflated))
        pack->failed = true;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

/* Puts a text as UTF-8 and gives its length there. */
static size_t put_utf8(struct bytes *bytes, const char *text, size_t size)
{
    size_t length;

    if (!size || !pack_reserve(bytes, 3 * size))
        return 0;
    length = utf8_mend(text, size, (char *)bytes->data + bytes->size);
    bytes->size += length;
    return length;
}

static void pack_texts(struct pack *pack)
{
    struct bytes lengths = {.services = pack->services};

    pack->raw.size = 0;
    for (size_t i = 0; i < pack->text_count; i++) {
        uint64_t id = pack->text_ids[i];

        pack_put_varint(&lengths, put_utf8(&pack->raw, story_text_of(pack->story, id),
                                           story_text_size(pack->story, id)));
    }
    pack->text_lengths.raw_size = lengths.size;
    pack->text_bytes.raw_size = pack->raw.size;
    pack->text_lengths.deflated.size = pack->text_bytes.deflated.size = 0;
    if (!pack_deflate(&pack->deflater, &lengths, EFFORT_KEEP, &pack->text_lengths.deflated) ||
        !pack_deflate(&pack->deflater, &pack->raw, EFFORT_KEEP, &pack->text_bytes.deflated))
        pack->failed = true;
    pack_bytes_free(&lengths);
}

/* ---- The whole ------------------------------------------------------------------------------- */

static void put_column_header(struct pack *pack, enum story_column column, size_t *offset)
{
    const struct story_column_shape *shape = &story_columns[column];
    const struct piece *piece = &pack->columns[column];
    struct bytes *raw = &pack->raw;

    pack_put_format(raw, "{\"name\":\"%s\",\"text\":\"", shape->name);
    for (const char *text = shape->text; *text; text++) {
        if (*text == '"' || *text == '\\')
            pack_put(raw, "\\", 1);
        pack_put(raw, text, 1);
    }
    pack_put_format(raw, "\",\"type\":\"%s\",", story_type_name(shape->type));
    if (shape->type == STORY_TYPE_ROW)
        pack_put_format(raw, "\"target\":\"%s\",", story_tables[shape->target].name);
    pack_put_format(raw, "\"encoding\":\"%c\",", piece->encoding);
    if (piece->base >= 0)
        pack_put_format(raw, "\"base\":\"%s\",", story_columns[piece->base].name);
    pack_put_format(raw, "\"offset\":%zu,\"length\":%zu,\"max\":%llu%s}", *offset, piece->raw_size,
                    (unsigned long long)(piece->max < EXACT_MAX ? piece->max : EXACT_MAX),
                    piece->max > EXACT_MAX ? ",\"wide\":true" : "");
    *offset += piece->raw_size;
}

static void pack_header(struct pack *pack)
{
    struct bytes *raw = &pack->raw;
    size_t offset = 0, length;

    raw->size = 0;
    pack_put(raw, "\0\0\0\0", 4);
    pack_put_format(raw, "{\"format\":\"drydock-story\",\"version\":1,\"tables\":[");
    for (unsigned table = 0; table < STORY_TABLE_COUNT; table++) {
        pack_put_format(raw, "%s{\"name\":\"%s\",\"text\":\"%s\",\"rows\":%zu,\"columns\":[",
                        table ? "," : "", story_tables[table].name, story_tables[table].text,
                        pack->rows[table]);
        for (unsigned i = story_tables[table].first; i < story_tables[table + 1].first; i++) {
            pack_put_format(raw, "%s", i > story_tables[table].first ? "," : "");
            put_column_header(pack, (enum story_column)i, &offset);
        }
        pack_put_format(raw, "]}");
    }
    pack_put_format(raw,
                    "],\"texts\":{\"count\":%zu,\"lengths\":{\"offset\":%zu,\"length\":%zu},"
                    "\"bytes\":{\"offset\":%zu,\"length\":%zu}}}",
                    pack->text_count, offset, pack->text_lengths.raw_size,
                    offset + pack->text_lengths.raw_size, pack->text_bytes.raw_size);
    if (raw->failed)
        return;
    length = raw->size - 4;
    for (unsigned i = 0; i < 4; i++)
        raw->data[i] = (unsigned char)(length >> 8 * i);
    pack->header.deflated.size = 0;
    if (!pack_deflate(&pack->deflater, raw, EFFORT_KEEP, &pack->header.deflated))
        pack->failed = true;
}

/* Packs what has changed, and gives the size of the whole. */
static size_t pack_all(struct pack *pack)
{
    size_t size = 2; /* the last, empty block */

    for (unsigned i = 0; i < STORY_COLUMN_COUNT && !pack->failed; i++) {
        if (!pack->columns[i].is_ready)
            pack_column(pack, (enum story_column)i);
        size += pack->columns[i].deflated.size;
    }
    if (!pack->failed) {
        pack_texts(pack);
        pack_header(pack);
    }
    return size + pack->text_lengths.deflated.size + pack->text_bytes.deflated.size +
           pack->header.deflated.size;
}

/*
 * Texts are numbered as columns name them. Columns that are packed anew after a step keep the
 * numbers; those of texts that nobody names any more have no bytes: text_ids is made anew, and so
 * are all columns of texts.
 */
static void forget_texts(struct pack *pack)
{
    memset(pack->text_places, 0, story_text_count(pack->story) * sizeof *pack->text_places);
    pack->text_count = 1; /* text 0 */
    for (unsigned i = 0; i < STORY_COLUMN_COUNT; i++) {
        if (story_columns[i].type == STORY_TYPE_TEXT || i == STORY_ARGUMENTS_VALUE)
            pack->columns[i].is_ready = false;
    }
}

static void assemble(struct pack *pack, size_t size, unsigned char **out_bytes, size_t *out_size)
{
    unsigned char *next = base_alloc(pack->services, size);

    if (!next) {
        pack->failed = true;
        return;
    }
    *out_bytes = next;
    *out_size = size;
#define PUT(piece)                                                                                 \
    do {                                                                                           \
        memcpy(next, (piece).deflated.data, (piece).deflated.size);                                \
        next += (piece).deflated.size;                                                             \
    } while (0)
    PUT(pack->header);
    for (unsigned i = 0; i < STORY_COLUMN_COUNT; i++) {
        if (pack->columns[i].deflated.size)
            PUT(pack->columns[i]);
    }
    PUT(pack->text_lengths);
    PUT(pack->text_bytes);
#undef PUT
    memcpy(next, "\3\0", 2); /* a last block, with fixed codes, that is empty */
}

static bool begin(struct pack *pack, const struct story *story)
{
    size_t texts = story_text_count(story);

    pack->story = story;
    pack->services = story_services(story);
    pack->raw.services = pack->tried.services = pack->services;
    pack->text_lengths.deflated.services = pack->text_bytes.deflated.services =
        pack->header.deflated.services = pack->services;
    for (unsigned i = 0; i < STORY_COLUMN_COUNT; i++)
        pack->columns[i].deflated.services = pack->services;
    for (unsigned i = 0; i < STORY_TABLE_COUNT; i++) {
        pack->rows[i] = story_rows(story, (enum story_table)i);
        if (pack->rows[i] > UINT32_MAX)
            return false;
    }
    for (uint64_t id = 0; id < texts; id++) {
        if (strcmp(story_text_of(story, id), "text") == 0)
            pack->text_type = id;
    }
    pack->text_room = texts;
    pack->text_places = base_alloc_array(pack->services, texts, sizeof *pack->text_places);
    pack->text_ids = base_alloc_array(pack->services, texts, sizeof *pack->text_ids);
    return pack->text_places && pack->text_ids;
}

static void end(struct pack *pack)
{
    size_t texts = pack->text_room;

    for (unsigned i = 0; i < STORY_TABLE_COUNT; i++) {
        size_t rows = story_rows(pack->story, (enum story_table)i);

        base_free(pack->services, pack->keeps[i], rows);
        base_free_array(pack->services, pack->places[i], rows, sizeof(uint32_t));
    }
    for (unsigned i = 0; i < STORY_COLUMN_COUNT; i++)
        pack_bytes_free(&pack->columns[i].deflated);
    pack_bytes_free(&pack->text_lengths.deflated);
    pack_bytes_free(&pack->text_bytes.deflated);
    pack_bytes_free(&pack->header.deflated);
    pack_bytes_free(&pack->raw);
    pack_bytes_free(&pack->tried);
    deflater_fini(&pack->deflater);
    base_free_array(pack->services, pack->values, pack->values_room, sizeof *pack->values);
    base_free_array(pack->services, pack->base_values, pack->base_values_room,
                    sizeof *pack->base_values);
    base_free_array(pack->services, pack->text_places, texts, sizeof *pack->text_places);
    base_free_array(pack->services, pack->text_ids, texts, sizeof *pack->text_ids);
    base_free(pack->services, pack, sizeof *pack);
}

/*
 * What was left out becomes facts of the story itself, which are packed with it. They are small:
 * the limit is held with FACTS_BYTES of room for them.
 */
#define FACTS_BYTES 2048

static void tell_left_out(struct pack *pack, struct story *story)
{
    size_t former = pack->text_room, count;
    uint32_t *places, *ids;

    for (size_t i = 0; i < pack->left_out_count; i++)
        story_fact(story, "left_out", "%s", pack->left_out[i]);
    count = story_text_count(story);
    places = base_alloc_array(pack->services, count, sizeof *places);
    ids = base_alloc_array(pack->services, count, sizeof *ids);
    if (places && ids) {
        memcpy(places, pack->text_places, former * sizeof *places);
        memcpy(ids, pack->text_ids, former * sizeof *ids);
        base_free_array(pack->services, pack->text_places, former, sizeof *places);
        base_free_array(pack->services, pack->text_ids, former, sizeof *ids);
        pack->text_places = places;
        pack->text_ids = ids;
        pack->text_room = count;
    } else {
        base_free_array(pack->services, places, count, sizeof *places);
        base_free_array(pack->services, ids, count, sizeof *ids);
        pack->failed = true;
    }
    pack->rows[STORY_FACTS] = story_rows(story, STORY_FACTS);
    pack->columns[STORY_FACTS_KEY].is_ready = pack->columns[STORY_FACTS_VALUE].is_ready = false;
    if (story_failed(story))
        pack->failed = true;
}

bool story_pack(struct story *story, const struct story_pack_limits *limits,
                unsigned char **out_bytes, size_t *out_size, char error[512])
{
    struct pack *pack = base_alloc(story_services(story), sizeof *pack);
    bool is_packed = false;
    size_t size = 0;

    *out_bytes = NULL;
    *out_size = 0;
    if (pack && begin(pack, story)) {
        forget_texts(pack);
        size = pack_all(pack);
        for (unsigned step = 0; limits->base64_bytes && !pack->failed &&
                                story_base64_size(size + FACTS_BYTES) > limits->base64_bytes;
             step++) {
            size_t steps_taken = pack->left_out_count;

            if (!pack_leave_out(pack, step))
                break;
            if (pack->left_out_count == steps_taken || pack->failed)
                continue;
            forget_texts(pack);
            size = pack_all(pack);
        }
        if (pack->left_out_count && !pack->failed) {
            tell_left_out(pack, story);
            if (!pack->failed)
                size = pack_all(pack);
        }
        if (!pack->failed)
            assemble(pack, size, out_bytes, out_size);
        is_packed = !pack->failed && *out_bytes;
    }
    if (!is_packed)
        snprintf(error, 512, "no memory to pack the story of %zu texts", story_text_count(story));
    if (pack)
        end(pack);
    return is_packed;
}

void story_pack_free(const struct story *story, unsigned char *bytes, size_t size)
{
    base_free(story_services(story), bytes, size);
}
