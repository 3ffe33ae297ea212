#include "story/test_unpack.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct unpacked {
    unsigned char *bytes;
    size_t size;
    json_t *header;
    const unsigned char *body;
    size_t body_size;
    char *text;
};

/* Reads one varint; false: cut off or too long. */
static bool read_varint(const unsigned char **next, const unsigned char *end, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; *next < end && shift < 70; shift += 7) {
        unsigned char byte = *(*next)++;

        *value |= (uint64_t)(byte & 0x7f) << (shift < 64 ? shift : 0);
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

static uint64_t unzigzag(uint64_t value)
{
    return value >> 1 ^ (value & 1 ? UINT64_MAX : 0);
}

static json_t *find(const json_t *list, const char *name)
{
    size_t i;
    json_t *item;

    json_array_foreach(list, i, item)
    {
        if (strcmp(json_string_value(json_object_get(item, "name")), name) == 0)
            return item;
    }
    return NULL;
}

static uint64_t number(const json_t *object, const char *key)
{
    return (uint64_t)json_integer_value(json_object_get(object, key));
}

/* All values of a column; NULL: the column is not as it should be. */
static uint64_t *column_values(const struct unpacked *unpacked, const json_t *table,
                               const json_t *column)
{
    size_t rows = number(table, "rows"), offset = number(column, "offset");
    size_t length = number(column, "length");
    char encoding = json_string_value(json_object_get(column, "encoding"))[0];
    const unsigned char *next = unpacked->body + offset, *end = next + length;
    uint64_t *values = calloc(rows ? rows : 1, sizeof *values), *base = NULL, max = 0;
    bool is_right = offset <= unpacked->body_size && length <= unpacked->body_size - offset;

    if (encoding == 'r')
        base = column_values(unpacked, table,
                             find(json_object_get(table, "columns"),
                                  json_string_value(json_object_get(column, "base"))));
    for (size_t i = 0; i < rows && is_right; i++) {
        uint64_t value = values[i ? i - 1 : 0];

        if (encoding != 'c' || !i)
            is_right = read_varint(&next, end, &value);
        if (encoding == 'd')
            value = unzigzag(value) + (i ? values[i - 1] : 0);
        else if (encoding == 'r')
            value = unzigzag(value) + base[i];
        values[i] = value;
        max = value > max ? value : max;
    }
    free(base);
    if (json_object_get(column, "wide"))
        is_right = is_right && max > (UINT64_C(1) << 53) - 1;
    else
        is_right = is_right && max == number(column, "max");
    if (!is_right || next != end) {
        free(values);
        return NULL;
    }
    return values;
}

static bool inflate_all(struct unpacked *unpacked, const unsigned char *bytes, size_t size)
{
    z_stream stream = {.next_in = (unsigned char *)bytes, .avail_in = (uInt)size};
    int status = Z_OK;

    if (inflateInit2(&stream, -15) != Z_OK)
        return false;
    while (status == Z_OK) {
        unpacked->bytes = realloc(unpacked->bytes, unpacked->size + (1 << 20));
        stream.next_out = unpacked->bytes + unpacked->size;
        stream.avail_out = 1 << 20;
        status = inflate(&stream, Z_NO_FLUSH);
        unpacked->size += (1 << 20) - stream.avail_out;
    }
    inflateEnd(&stream);
    return status == Z_STREAM_END && stream.avail_in == 0;
}

/* Offsets follow each other without a gap, and all values are there. */
static bool is_whole(struct unpacked *unpacked)
{
    json_t *tables = json_object_get(unpacked->header, "tables"), *table, *column;
    json_t *texts = json_object_get(unpacked->header, "texts");
    size_t i, k, offset = 0;

    json_array_foreach(tables, i, table)
    {
        json_array_foreach(json_object_get(table, "columns"), k, column)
        {
            uint64_t *values = column_values(unpacked, table, column);

            if (!values || number(column, "offset") != offset)
                return false;
            offset += number(column, "length");
            free(values);
        }
    }
    offset += number(json_object_get(texts, "lengths"), "length");
    return number(json_object_get(texts, "bytes"), "offset") == offset &&
           offset + number(json_object_get(texts, "bytes"), "length") == unpacked->body_size;
}

struct unpacked *unpack(const unsigned char *bytes, size_t size)
{
    struct unpacked *unpacked = calloc(1, sizeof *unpacked);
    size_t length = 0;

    if (inflate_all(unpacked, bytes, size) && unpacked->size > 4) {
        for (unsigned i = 0; i < 4; i++)
            length |= (size_t)unpacked->bytes[i] << 8 * i;
        if (length <= unpacked->size - 4) {
            unpacked->header = json_loadb((char *)unpacked->bytes + 4, length, 0, NULL);
            unpacked->body = unpacked->bytes + 4 + length;
            unpacked->body_size = unpacked->size - 4 - length;
        }
    }
    if (!unpacked->header || !is_whole(unpacked)) {
        unpacked_free(unpacked);
        return NULL;
    }
    return unpacked;
}

void unpacked_free(struct unpacked *unpacked)
{
    if (unpacked->header)
        json_decref(unpacked->header);
    free(unpacked->bytes);
    free(unpacked->text);
    free(unpacked);
}

size_t unpacked_rows(const struct unpacked *unpacked, const char *table)
{
    json_t *found = find(json_object_get(unpacked->header, "tables"), table);

    return found ? number(found, "rows") : SIZE_MAX;
}

uint64_t unpacked_value(const struct unpacked *unpacked, const char *table, const char *column,
                        size_t row)
{
    json_t *found = find(json_object_get(unpacked->header, "tables"), table);
    json_t *in = found ? find(json_object_get(found, "columns"), column) : NULL;
    uint64_t *values, value;

    if (!in || row >= number(found, "rows"))
        return UINT64_MAX;
    values = column_values(unpacked, found, in);
    value = values[row];
    free(values);
    return value;
}

const char *unpacked_text_at(const struct unpacked *unpacked, uint64_t place)
{
    const json_t *texts = json_object_get(unpacked->header, "texts");
    const json_t *lengths = json_object_get(texts, "lengths");
    const unsigned char *next = unpacked->body + number(lengths, "offset");
    const unsigned char *end = next + number(lengths, "length");
    const char *text =
        (const char *)unpacked->body + number(json_object_get(texts, "bytes"), "offset");
    uint64_t length = 0;

    for (uint64_t i = 0; i <= place; i++) {
        text += length;
        if (!read_varint(&next, end, &length))
            return NULL;
    }
    free(unpacked->text);
    ((struct unpacked *)unpacked)->text = strndup(text, length);
    return unpacked->text;
}

const char *unpacked_text(const struct unpacked *unpacked, const char *table, const char *column,
                          size_t row)
{
    return unpacked_text_at(unpacked, unpacked_value(unpacked, table, column, row));
}

char unpacked_encoding(const struct unpacked *unpacked, const char *table, const char *column)
{
    json_t *found = find(json_object_get(unpacked->header, "tables"), table);

    return json_string_value(
        json_object_get(find(json_object_get(found, "columns"), column), "encoding"))[0];
}
