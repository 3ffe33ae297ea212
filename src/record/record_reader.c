/*
 * Nothing in a block is believed: each length is compared with what is left of the block, each code
 * with the kinds that the file has named, each number of groups with the bytes that they need.
 *
 * Files are read block by block; a block is unpacked into a buffer of the size that its header
 * names (16 MiB at most), so that a small frame that unpacks to much ends there.
 */
#include "record/record_reader.h"

#include "base/bits.h"
#include "record/record_format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#define MOST_FIELDS 64  /* of a kind in a file */
#define MOST_KINDS  256 /* in a file */
#define FIRST_FORMS 128
#define MOST_NAME   64
#define MOST_SHAPE  4096
#define NOWHERE     UINT8_MAX
#define TEXT_CHUNK  (UINT64_C(256) * 1024)

/* A kind as the file has it, and where its fields go in this build. */
struct file_kind {
    bool is_known;
    enum record_kind kind;
    uint8_t fixed_count, group_size;
    uint8_t pattern_fixed, pattern_group; /* so many of them are in the pattern */
    bool has_pattern;
    bool counts;     /* its first field is written as the step from `number` */
    uint64_t number; /* that was the first field of the last item */
    bool is_pattern[MOST_FIELDS];
    uint8_t places[MOST_FIELDS]; /* in the item, or in the group; NOWHERE: not known here */
};

/* What a code of items stands for: a kind, or a pattern of one that has P fields. */
struct form {
    struct file_kind *kind;
    uint64_t pattern;     /* number of its text; 0: it is the kind */
    uint64_t group_count; /* of a pattern */
    uint64_t value_count; /* of an item, without what is in the pattern and groups that have none */
    uint64_t *last;       /* values of the last item, RECORD_MASK_VALUES; NULL: there was none */
};

struct own_shape {
    unsigned fixed_count, group_size;
};

struct text {
    const char *bytes;
    uint32_t length;
};

struct chunk {
    struct chunk *next;
    size_t size;
    char bytes[];
};

struct record_reader {
    const struct base_services *services;
    char name[128];
    FILE *file; /* NULL: bytes */
    const uint8_t *bytes;
    uint64_t at, total;

    enum record_state state;
    char error[256];

    uint8_t *packed, *raw;
    size_t packed_size, raw_size;
    size_t position, raw_used;
    bool is_last;   /* the block is the end */
    uint64_t block; /* where the block begins in the file; behind the last one, where it ends */
    /* Only the end is read, for record_reader_find_end(). */
    bool skips_items;
    struct record_reader_end *end;
    ZSTD_DCtx *unpacker;

    struct file_kind *kinds;
    unsigned kind_count;
    struct own_shape own[RECORD_KIND_COUNT];
    struct form *forms; /* by code */
    uint64_t form_count, form_room;

    struct text *texts; /* [0] is number 1 */
    uint64_t text_count, text_capacity, text_bytes;
    struct chunk *chunks;
    size_t chunk_used;

    uint64_t time_ns, items, known, unknown;
    uint64_t fields[MOST_FIELDS];
    uint64_t *groups, *values;
    size_t groups_size, values_size;
};

/* ---- How it ends ----------------------------------------------------------------------------- */

__attribute__((format(printf, 3, 4))) static bool
stop(struct record_reader *reader, enum record_state state, const char *format, ...)
{
    va_list arguments;
    int length = snprintf(reader->error, sizeof reader->error, "%s: ", reader->name);

    reader->state = state;
    va_start(arguments, format);
    vsnprintf(reader->error + length, sizeof reader->error - (size_t)length, format, arguments);
    va_end(arguments);
    return false;
}

static bool stop_damaged(struct record_reader *reader, const char *what)
{
    return stop(reader, RECORD_DAMAGED,
                "the record is damaged near byte %" PRIu64 ": %s; the %" PRIu64
                " items before it were read",
                reader->at, what, reader->items);
}

static bool stop_without_memory(struct record_reader *reader)
{
    return stop(reader, RECORD_FAILED, "there is no memory to read the record");
}

/* ---- Bytes of the file ----------------------------------------------------------------------- */

/* How many bytes came; fewer than asked for: the file ends. */
static size_t read_bytes(struct record_reader *reader, void *out, size_t size)
{
    size_t got;

    if (reader->file) {
        got = fread(out, 1, size, reader->file);
        if (got < size && ferror(reader->file))
            stop(reader, RECORD_FAILED, "cannot read: %s", strerror(errno));
    } else {
        got = (size_t)(reader->total - reader->at < size ? reader->total - reader->at : size);
        memcpy(out, reader->bytes + reader->at, got);
    }
    reader->at += got;
    return got;
}

static bool make_buffer(struct record_reader *reader, uint8_t **buffer, size_t *size, size_t needed)
{
    if (needed <= *size)
        return true;
    base_free(reader->services, *buffer, *size);
    *size = 0;
    *buffer = base_alloc(reader->services, needed);
    if (!*buffer)
        return stop_without_memory(reader);
    *size = needed;
    return true;
}

static bool stop_cut(struct record_reader *reader)
{
    if (reader->state != RECORD_READING)
        return false;
    return stop(reader, RECORD_CUT,
                "the record is cut: it ends after %" PRIu64 " bytes without its end; the %" PRIu64
                " items before were read",
                reader->total, reader->items);
}

static bool skip_bytes(struct record_reader *reader, size_t size)
{
    reader->at += size;
    if (reader->file && fseeko(reader->file, (off_t)size, SEEK_CUR) != 0)
        return stop(reader, RECORD_FAILED, "cannot read: %s", strerror(errno));
    return true;
}

/* The next block into the buffer. */
static bool read_block(struct record_reader *reader)
{
    uint8_t header[RECORD_BLOCK_HEADER_BYTES];
    uint32_t tag, packed, raw;
    size_t got;

    reader->block = reader->at;
    if (read_bytes(reader, header, sizeof header) < sizeof header)
        return stop_cut(reader);
    tag = record_load32(header);
    packed = record_load32(header + 4);
    raw = record_load32(header + 8);
    if (record_load32(header + 12) != record_check_of(header))
        return stop_damaged(reader, "a block's header is not as it was written");
    if (tag != RECORD_TAG_ITEMS && tag != RECORD_TAG_END)
        return stop_damaged(reader, "a block has a tag that no block has");
    if (!raw || raw > RECORD_BLOCK_MOST || packed > ZSTD_compressBound(RECORD_BLOCK_MOST))
        return stop_damaged(reader, "a block names a size that no block has");
    if (packed > reader->total - reader->at)
        return stop_cut(reader);
    if (reader->skips_items && tag == RECORD_TAG_ITEMS)
        return skip_bytes(reader, packed);
    if (!make_buffer(reader, &reader->packed, &reader->packed_size, packed) ||
        !make_buffer(reader, &reader->raw, &reader->raw_size, raw))
        return false;
    if (read_bytes(reader, reader->packed, packed) < packed)
        return stop_cut(reader);
    got = ZSTD_decompressDCtx(reader->unpacker, reader->raw, raw, reader->packed, packed);
    if (ZSTD_isError(got) || got != raw)
        return stop_damaged(reader, "a block does not unpack to what was packed");
    reader->position = 0;
    reader->raw_used = raw;
    reader->is_last = tag == RECORD_TAG_END;
    return true;
}

/* ---- Bytes of a block ------------------------------------------------------------------------ */

static inline bool get_varint(struct record_reader *reader, uint64_t *out)
{
    const uint8_t *raw = reader->raw;
    uint64_t value = 0;

    *out = 0;
    for (unsigned shift = 0; shift < 64 && reader->position < reader->raw_used; shift += 7) {
        const uint8_t byte = raw[reader->position++];

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return stop_damaged(reader, "a number has no end");
}

/* Lends the bytes in the block. */
static bool get_bytes(struct record_reader *reader, uint64_t most, const uint8_t **out,
                      size_t *out_size)
{
    uint64_t size;

    *out = NULL;
    *out_size = 0;
    if (!get_varint(reader, &size))
        return false;
    if (size > most || size > reader->raw_used - reader->position)
        return stop_damaged(reader, "a text is longer than its block");
    *out = reader->raw + reader->position;
    *out_size = (size_t)size;
    reader->position += (size_t)size;
    return true;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static char *take_text_bytes(struct record_reader *reader, size_t size)
{
    struct chunk *chunk = reader->chunks;

    if (!chunk || chunk->size - reader->chunk_used < size) {
        size_t needed = size > TEXT_CHUNK ? size : TEXT_CHUNK;

        chunk = base_alloc(reader->services, sizeof *chunk + needed);
        if (!chunk)
            return NULL;
        chunk->size = needed;
        chunk->next = reader->chunks;
        reader->chunks = chunk;
        reader->chunk_used = 0;
    }
    reader->chunk_used += size;
    return chunk->bytes + reader->chunk_used - size;
}

static bool grow_texts(struct record_reader *reader)
{
    uint64_t capacity = reader->text_capacity ? 2 * reader->text_capacity : 1024;
    struct text *texts = base_alloc_array(reader->services, capacity, sizeof *texts);

    if (!texts)
        return false;
    if (reader->text_count)
        memcpy(texts, reader->texts, reader->text_count * sizeof *texts);
    base_free_array(reader->services, reader->texts, reader->text_capacity, sizeof *texts);
    reader->texts = texts;
    reader->text_capacity = capacity;
    return true;
}

static bool read_text(struct record_reader *reader)
{
    const uint8_t *bytes;
    size_t size;
    char *text;

    if (!get_bytes(reader, RECORD_TEXT_MOST, &bytes, &size))
        return false;
    reader->text_bytes += size + 1 + sizeof(struct text);
    if (reader->text_bytes > RECORD_READER_TEXT_BYTES)
        return stop_damaged(reader, "it has more texts than any record");
    text = take_text_bytes(reader, size + 1);
    if (!text || (reader->text_count == reader->text_capacity && !grow_texts(reader)))
        return stop_without_memory(reader);
    memcpy(text, bytes, size);
    text[size] = '\0';
    reader->texts[reader->text_count++] = (struct text){.bytes = text, .length = (uint32_t)size};
    return true;
}

const void *record_reader_bytes(const struct record_reader *reader, uint64_t number,
                                size_t *out_size)
{
    *out_size = 0;
    if (!number || number > reader->text_count)
        return "";
    *out_size = reader->texts[number - 1].length;
    return reader->texts[number - 1].bytes;
}

const char *record_reader_text(const struct record_reader *reader, uint64_t number)
{
    size_t size;

    return record_reader_bytes(reader, number, &size);
}

uint64_t record_reader_text_count(const struct record_reader *reader)
{
    return reader->text_count;
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

/* One field of a shape, "name:t "; false: there is none, or it is no field. */
static bool next_field(const char **at, char name[MOST_NAME], char *out_coding, bool *out_group)
{
    size_t length = 0;

    *out_group = false;
    for (; **at == ' ' || **at == '|'; (*at)++)
        *out_group |= **at == '|';
    for (; **at && **at != ':' && **at != ' ' && length < MOST_NAME - 1; (*at)++)
        name[length++] = **at;
    name[length] = '\0';
    if (!length || **at != ':' || !(*at)[1])
        return false;
    *out_coding = (*at)[1];
    *at += 2;
    return **at == ' ' || !**at;
}

/* Where this build has the field, NOWHERE if it has none. */
static uint8_t find_place(enum record_kind kind, const char *wanted, bool is_in_group)
{
    const char *shape = record_kind_shape(kind);
    char name[MOST_NAME], coding;
    bool begins_group, in_group = false;
    uint8_t place = 0;

    while (next_field(&shape, name, &coding, &begins_group)) {
        if (begins_group) {
            in_group = true;
            place = 0;
        }
        if (in_group == is_in_group && strcmp(name, wanted) == 0)
            return place;
        place++;
    }
    return NOWHERE;
}

static void measure_own_shapes(struct record_reader *reader)
{
    for (unsigned i = 0; i < RECORD_KIND_COUNT; i++) {
        const char *shape = record_kind_shape((enum record_kind)i);
        char name[MOST_NAME], coding;
        bool begins_group, in_group = false;

        while (next_field(&shape, name, &coding, &begins_group)) {
            in_group |= begins_group;
            if (in_group)
                reader->own[i].group_size++;
            else
                reader->own[i].fixed_count++;
        }
    }
}

static bool is_coding(char coding)
{
    return coding == 'u' || coding == 't' || coding == 'n' || coding == 'p';
}

static bool read_shape(struct record_reader *reader, struct file_kind *kind, const char *shape)
{
    char name[MOST_NAME], coding;
    bool begins_group, in_group = false;
    unsigned count = 0;

    while (next_field(&shape, name, &coding, &begins_group)) {
        if (count == MOST_FIELDS || !is_coding(coding) || (in_group && begins_group) ||
            (coding == 'n' && (count || in_group || begins_group)))
            return stop_damaged(reader, "a kind has fields of no known form");
        if (begins_group) {
            in_group = true;
            kind->fixed_count = (uint8_t)count;
        }
        kind->pattern_fixed += coding == 'p' && !in_group;
        kind->pattern_group += coding == 'p' && in_group;
        kind->counts |= coding == 'n' && !in_group;
        kind->is_pattern[count] = coding == 'p';
        kind->places[count] =
            kind->is_known ? find_place(kind->kind, name, in_group) : (uint8_t)NOWHERE;
        count++;
    }
    if (*name)
        return stop_damaged(reader, "a kind has fields of no known form");
    if (in_group)
        kind->group_size = (uint8_t)(count - kind->fixed_count);
    else
        kind->fixed_count = (uint8_t)count;
    kind->has_pattern = kind->pattern_fixed + kind->pattern_group != 0;
    return true;
}

/* The form that has the next code. */
static bool add_form(struct record_reader *reader, const struct form *form)
{
    if (reader->form_count == reader->form_room) {
        const uint64_t room = reader->form_room ? 2 * reader->form_room : FIRST_FORMS;
        struct form *forms;

        if (reader->text_bytes + room * sizeof *forms > RECORD_READER_TEXT_BYTES)
            return stop_damaged(reader, "it has more patterns than any record");
        forms = base_alloc_array(reader->services, room, sizeof *forms);
        if (!forms)
            return stop_without_memory(reader);
        if (reader->form_count)
            memcpy(forms, reader->forms, reader->form_count * sizeof *forms);
        base_free_array(reader->services, reader->forms, reader->form_room, sizeof *forms);
        reader->forms = forms;
        reader->form_room = room;
    }
    reader->forms[reader->form_count++] = *form;
    return true;
}

static bool read_kind(struct record_reader *reader)
{
    struct file_kind *kind = &reader->kinds[reader->kind_count];
    char shape[MOST_SHAPE + 1];
    const uint8_t *name, *text;
    size_t name_size, size;

    if (reader->kind_count == MOST_KINDS)
        return stop_damaged(reader, "it has more kinds than any record");
    if (!get_bytes(reader, MOST_NAME, &name, &name_size))
        return false;
    if (!get_bytes(reader, MOST_SHAPE, &text, &size))
        return false;
    memcpy(shape, text, size);
    shape[size] = '\0';
    for (unsigned i = 0; i < RECORD_KIND_COUNT && !kind->is_known; i++) {
        const char *own = record_kind_name((enum record_kind)i);

        kind->is_known = strlen(own) == name_size && memcmp(own, name, name_size) == 0;
        kind->kind = (enum record_kind)i;
    }
    reader->kind_count++;
    return read_shape(reader, kind, shape) &&
           add_form(reader, &(struct form){.kind = kind, .value_count = kind->fixed_count});
}

/* A code of items; false, and the record is damaged: it is none. */
static bool find_form(struct record_reader *reader, uint64_t code, uint64_t *out)
{
    *out = (code - RECORD_CODE_FIRST) / 2;
    return (code >= RECORD_CODE_FIRST && *out < reader->form_count) ||
           stop_damaged(reader, "an item has a kind that no kind is");
}

/* A code stands for a pattern from here on: the next code, or one that stood for another one. */
static bool read_pattern(struct record_reader *reader)
{
    uint64_t code, of_kind, groups, text, at;
    const struct file_kind *kind;
    struct form *form;
    size_t size;

    if (!get_varint(reader, &code) || !get_varint(reader, &of_kind) ||
        !get_varint(reader, &groups) || !get_varint(reader, &text) ||
        !find_form(reader, of_kind, &at))
        return false;
    kind = reader->forms[at].kind;
    record_reader_bytes(reader, text, &size);
    if (!kind->has_pattern || !size || groups > RECORD_ITEM_VALUES / (kind->group_size + 1u) ||
        kind->pattern_fixed + groups * kind->pattern_group > size)
        return stop_damaged(reader, "a pattern is no pattern of its kind");
    if (code == RECORD_CODE_FIRST + 2 * reader->form_count && !add_form(reader, &(struct form){0}))
        return false;
    if (!find_form(reader, code, &at))
        return false;
    form = &reader->forms[at];
    if (form->kind && !form->pattern)
        return stop_damaged(reader, "a pattern has the code of a kind");
    if (form->last)
        memset(form->last, 0, RECORD_MASK_VALUES * sizeof *form->last);
    form->kind = (struct file_kind *)kind;
    form->pattern = text;
    form->group_count = groups;
    form->value_count =
        kind->fixed_count - kind->pattern_fixed + groups * (kind->group_size - kind->pattern_group);
    return true;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static bool make_array(struct record_reader *reader, uint64_t **array, size_t *size, size_t count)
{
    uint64_t *larger;

    if (count <= *size)
        return true;
    larger = base_alloc_array(reader->services, count, sizeof *larger);
    if (!larger)
        return stop_without_memory(reader);
    base_free_array(reader->services, *array, *size, sizeof *larger);
    *array = larger;
    *size = count;
    return true;
}

static bool make_last(struct record_reader *reader, struct form *form)
{
    if (form->last)
        return true;
    reader->text_bytes += RECORD_MASK_VALUES * sizeof *form->last;
    if (reader->text_bytes > RECORD_READER_TEXT_BYTES)
        return stop_damaged(reader, "it has more patterns than any record");
    form->last = base_alloc_array(reader->services, RECORD_MASK_VALUES, sizeof *form->last);
    return form->last || stop_without_memory(reader);
}

static bool get_mask(struct record_reader *reader, uint64_t values, uint64_t *out)
{
    *out = 0;
    if ((values + 7) / 8 > reader->raw_used - reader->position)
        return stop_damaged(reader, "an item is longer than its block");
    for (uint64_t bit = 0; bit < values; bit += 8)
        *out |= (uint64_t)reader->raw[reader->position++] << bit;
    return !(*out & ~low_mask_u64((unsigned)values)) ||
           stop_damaged(reader, "an item has more fields than its kind");
}

/* The values of an item: those that the mask has are new. */
static bool read_values(struct record_reader *reader, struct form *form, const uint64_t **out)
{
    uint64_t mask, difference;

    *out = NULL;
    if (!make_last(reader, form) || !get_mask(reader, form->value_count, &mask))
        return false;
    for (; mask; mask &= mask - 1) {
        if (!get_varint(reader, &difference))
            return false;
        form->last[ctz_u64(mask)] += record_unzigzag(difference);
    }
    *out = form->last;
    return true;
}

static bool read_all_values(struct record_reader *reader, const struct form *form,
                            const uint64_t **out)
{
    *out = NULL;
    if (form->value_count > reader->raw_used - reader->position)
        return stop_damaged(reader, "an item is longer than its block");
    if (!make_array(reader, &reader->values, &reader->values_size, form->value_count))
        return false;
    for (uint64_t i = 0; i < form->value_count; i++)
        if (!get_varint(reader, &reader->values[i]))
            return false;
    *out = reader->values;
    return true;
}

/* Where the fields of an item come from: what its pattern has of them, and the values beside. */
struct source {
    const uint8_t *at, *end;
    const uint64_t *values;
};

static bool get_pattern(struct record_reader *reader, struct source *source, uint64_t *out)
{
    uint64_t value = 0;

    *out = 0;
    for (unsigned shift = 0; shift < 64 && source->at < source->end; shift += 7) {
        const uint8_t byte = *source->at++;

        value |= (uint64_t)(byte & 0x7f) << shift;
        if (byte < 0x80) {
            *out = value;
            return true;
        }
    }
    return stop_damaged(reader, "an item is longer than its pattern");
}

/* So many fields of the kind, from the first one on, to their places. */
static bool take_fields(struct record_reader *reader, const struct file_kind *kind, size_t first,
                        size_t count, struct source *source, uint64_t *out)
{
    for (size_t i = first; i < first + count; i++) {
        uint64_t value;

        if (!kind->is_pattern[i])
            value = *source->values++;
        else if (!get_pattern(reader, source, &value))
            return false;
        if (kind->places[i] != NOWHERE)
            out[kind->places[i]] = value;
    }
    return true;
}

/* The first field of a kind that counts is its step, where there is a mask. */
static void take_number(struct file_kind *kind, bool is_step, uint64_t first)
{
    kind->number = is_step ? kind->number + first : first;
}

static bool take_fixed(struct record_reader *reader, struct form *form, struct source *source)
{
    struct file_kind *kind = form->kind;

    if (kind->counts)
        take_number(kind, form->value_count <= RECORD_MASK_VALUES, source->values[0]);
    if (!take_fields(reader, kind, 0, kind->fixed_count, source, reader->fields))
        return false;
    if (kind->counts && kind->places[0] != NOWHERE)
        reader->fields[kind->places[0]] = kind->number;
    return true;
}

/* Room for the groups of an item, all of them 0. */
static bool make_groups(struct record_reader *reader, const struct file_kind *kind, uint64_t count)
{
    const size_t size = kind->is_known ? reader->own[kind->kind].group_size : 0;

    if (!make_array(reader, &reader->groups, &reader->groups_size, (size_t)count * size))
        return false;
    if (count && size)
        memset(reader->groups, 0, (size_t)count * size * sizeof *reader->groups);
    return true;
}

static bool take_groups(struct record_reader *reader, const struct form *form,
                        struct source *source)
{
    const struct file_kind *kind = form->kind;
    const size_t size = kind->is_known ? reader->own[kind->kind].group_size : 0;

    if (!make_groups(reader, kind, form->group_count))
        return false;
    for (uint64_t i = 0; i < form->group_count; i++)
        if (!take_fields(reader, kind, kind->fixed_count, kind->group_size, source,
                         reader->groups + i * size))
            return false;
    return true;
}

/* Groups of a kind without P fields stand behind the values of its item. */
static bool read_groups(struct record_reader *reader, const struct file_kind *kind,
                        uint64_t *out_count)
{
    const size_t size = kind->is_known ? reader->own[kind->kind].group_size : 0;
    uint64_t count;

    *out_count = 0;
    if (!get_varint(reader, &count))
        return false;
    if (count > RECORD_ITEM_VALUES / kind->group_size ||
        count > (reader->raw_used - reader->position) / kind->group_size)
        return stop_damaged(reader, "an item is longer than its block");
    if (!make_groups(reader, kind, count))
        return false;
    for (uint64_t i = 0; i < count * kind->group_size; i++) {
        const uint8_t place = kind->places[kind->fixed_count + i % kind->group_size];
        uint64_t value;

        if (!get_varint(reader, &value))
            return false;
        if (place != NOWHERE)
            reader->groups[i / kind->group_size * size + place] = value;
    }
    *out_count = count;
    return true;
}

static bool read_fields(struct record_reader *reader, struct form *form, uint64_t *out_groups)
{
    const bool has_mask = form->value_count <= RECORD_MASK_VALUES;
    struct source source;
    size_t size;

    *out_groups = form->group_count;
    if (form->kind->has_pattern && !form->pattern)
        return stop_damaged(reader, "an item has no pattern");
    if (has_mask ? !read_values(reader, form, &source.values)
                 : !read_all_values(reader, form, &source.values))
        return false;
    source.at = record_reader_bytes(reader, form->pattern, &size);
    source.end = source.at + size;
    if (!take_fixed(reader, form, &source))
        return false;
    if (form->pattern)
        return take_groups(reader, form, &source);
    return !form->kind->group_size || read_groups(reader, form->kind, out_groups);
}

static size_t fields_of(const struct record_reader *reader, const struct file_kind *kind)
{
    return kind->is_known ? reader->own[kind->kind].fixed_count : MOST_FIELDS;
}

static bool read_item(struct record_reader *reader, uint64_t code,
                      struct record_reader_item *out_item)
{
    const struct file_kind *kind;
    uint64_t form, time, groups;

    if (!find_form(reader, code, &form))
        return false;
    if (code & 1) {
        if (!get_varint(reader, &time))
            return false;
        reader->time_ns += record_unzigzag(time);
    }
    /* Those of the kind in this build: no others are looked at. */
    memset(reader->fields, 0, fields_of(reader, reader->forms[form].kind) * sizeof(uint64_t));
    if (!read_fields(reader, &reader->forms[form], &groups))
        return false;
    kind = reader->forms[form].kind;
    out_item->kind = kind->kind;
    out_item->time_ns = reader->time_ns;
    out_item->fields = reader->fields;
    out_item->groups = reader->groups;
    out_item->group_count =
        kind->is_known && reader->own[kind->kind].group_size ? (size_t)groups : 0;
    reader->items++;
    if (kind->is_known)
        reader->known++;
    else
        reader->unknown++;
    return true;
}

static bool read_end(struct record_reader *reader)
{
    const bool is_alone = reader->position == 1;
    uint64_t items, texts, codes, time;

    if (!get_varint(reader, &items) || !get_varint(reader, &texts) || !get_varint(reader, &codes) ||
        !get_varint(reader, &time))
        return false;
    if (!reader->is_last || !is_alone || reader->position != reader->raw_used ||
        reader->at != reader->total)
        return stop_damaged(reader, "there is more behind the end");
    if (reader->skips_items)
        *reader->end = (struct record_reader_end){false, reader->block, items, texts, codes, time};
    else if (items != reader->items || texts != reader->text_count || codes != reader->form_count ||
             time != reader->time_ns)
        return stop_damaged(reader, "the end counts other items than there are");
    reader->state = RECORD_WHOLE;
    return false;
}

bool record_reader_next(struct record_reader *reader, struct record_reader_item *out_item)
{
    while (reader->state == RECORD_READING) {
        const uint64_t unknown = reader->unknown;
        uint64_t code;

        if (reader->position == reader->raw_used) {
            if (reader->is_last)
                return stop_damaged(reader, "its last block has no end");
            if (!read_block(reader))
                return false;
            continue;
        }
        if (!get_varint(reader, &code))
            return false;
        switch (code) {
        case RECORD_CODE_TEXT:
            if (!read_text(reader))
                return false;
            break;
        case RECORD_CODE_KIND:
            if (!read_kind(reader))
                return false;
            break;
        case RECORD_CODE_PATTERN:
            if (!read_pattern(reader))
                return false;
            break;
        case RECORD_CODE_END:
            return read_end(reader);
        default:
            if (!read_item(reader, code, out_item))
                return false;
            if (unknown == reader->unknown)
                return true;
        }
    }
    return false;
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static bool read_header(struct record_reader *reader)
{
    uint8_t header[RECORD_HEADER_BYTES];
    size_t got = read_bytes(reader, header, sizeof header);

    if (reader->state != RECORD_READING)
        return false;
    if (got < sizeof RECORD_MAGIC || memcmp(header, RECORD_MAGIC, sizeof RECORD_MAGIC) != 0)
        return stop(reader, RECORD_DAMAGED, "this is no record of drydock");
    if (got < sizeof header)
        return stop_cut(reader);
    if (record_load32(header + 12) != record_check_of(header))
        return stop_damaged(reader, "the header is not as it was written");
    if (header[6] != RECORD_MAJOR)
        return stop(reader, RECORD_FAILED,
                    "the record is of version %u.%u; this drydock reads version %u", header[6],
                    header[7], RECORD_MAJOR);
    return true;
}

static struct record_reader *begin(const struct base_services *services, const char *name,
                                   FILE *file, const void *bytes, uint64_t total, char error[256])
{
    struct record_reader *reader = base_alloc(services, sizeof *reader);

    if (!reader) {
        snprintf(error, 256, "%.100s: there is no memory to read the record", name);
        if (file)
            fclose(file);
        return NULL;
    }
    reader->services = services;
    snprintf(reader->name, sizeof reader->name, "%s", name);
    reader->file = file;
    reader->bytes = bytes;
    reader->total = total;
    reader->kinds = base_alloc_array(services, MOST_KINDS, sizeof *reader->kinds);
    reader->unpacker = ZSTD_createDCtx();
    measure_own_shapes(reader);
    if (!reader->kinds || !reader->unpacker)
        stop_without_memory(reader);
    else
        read_header(reader);
    if (reader->state != RECORD_READING) {
        snprintf(error, 256, "%s", reader->error);
        record_reader_close(reader);
        return NULL;
    }
    return reader;
}

struct record_reader *record_reader_open_bytes(const struct base_services *services,
                                               const char *name, const void *bytes, size_t size,
                                               char error[256])
{
    error[0] = '\0';
    return begin(services, name, NULL, bytes, size, error);
}

static struct record_reader *open_stream(const struct base_services *services, const char *name,
                                         FILE *file, char error[256])
{
    struct stat status;

    error[0] = '\0';
    if (!file || fstat(fileno(file), &status) != 0) {
        snprintf(error, 256, "%.150s: cannot read: %.80s", name, strerror(errno));
        if (file)
            fclose(file);
        return NULL;
    }
    if (!S_ISREG(status.st_mode)) {
        snprintf(error, 256, "%.150s: this is no file", name);
        fclose(file);
        return NULL;
    }
    return begin(services, name, file, NULL, (uint64_t)status.st_size, error);
}

struct record_reader *record_reader_open(const struct base_services *services, const char *path,
                                         char error[256])
{
    int file = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC); /* a pipe is not waited for */
    FILE *stream = file < 0 ? NULL : fdopen(file, "rb");

    if (file >= 0 && !stream)
        close(file);
    return open_stream(services, path, stream, error);
}

struct record_reader *record_reader_open_file(const struct base_services *services,
                                              const char *name, int file, char error[256])
{
    int own = dup(file);
    FILE *stream = own >= 0 ? fdopen(own, "rb") : NULL;

    if (!stream && own >= 0)
        close(own);
    if (stream)
        rewind(stream);
    return open_stream(services, name, stream, error);
}

/* Reads until the end, or until where it should stand. */
static enum record_state read_through(struct record_reader *reader, bool skips_items,
                                      struct record_reader_end *out, char error[256])
{
    struct record_reader_item item;
    enum record_state state;

    reader->skips_items = skips_items;
    reader->end = out;
    while (record_reader_next(reader, &item))
        ;
    state = reader->state;
    if (state == RECORD_CUT)
        *out = (struct record_reader_end){
            true,           reader->block, reader->items, reader->text_count, reader->form_count,
            reader->time_ns};
    snprintf(error, 256, "%s", reader->error);
    return state;
}

bool record_reader_find_end(const struct base_services *services, int file,
                            struct record_reader_end *out, char error[256])
{
    enum record_state state = RECORD_CUT;

    *out = (struct record_reader_end){0};
    for (unsigned pass = 0; pass < 2 && state == RECORD_CUT; pass++) {
        struct record_reader *reader = record_reader_open_file(services, "record", file, error);

        if (!reader)
            return false;
        state = read_through(reader, pass == 0, out, error);
        record_reader_close(reader);
    }
    return state == RECORD_WHOLE || state == RECORD_CUT;
}

void record_reader_close(struct record_reader *reader)
{
    struct chunk *next;

    if (!reader)
        return;
    for (struct chunk *chunk = reader->chunks; chunk; chunk = next) {
        next = chunk->next;
        base_free(reader->services, chunk, sizeof *chunk + chunk->size);
    }
    if (reader->file)
        fclose(reader->file);
    ZSTD_freeDCtx(reader->unpacker);
    base_free(reader->services, reader->packed, reader->packed_size);
    base_free(reader->services, reader->raw, reader->raw_size);
    base_free_array(reader->services, reader->kinds, MOST_KINDS, sizeof *reader->kinds);
    for (uint64_t i = 0; i < reader->form_count; i++)
        base_free_array(reader->services, reader->forms[i].last, RECORD_MASK_VALUES,
                        sizeof *reader->forms[i].last);
    base_free_array(reader->services, reader->forms, reader->form_room, sizeof *reader->forms);
    base_free_array(reader->services, reader->values, reader->values_size, sizeof *reader->values);
    base_free_array(reader->services, reader->texts, reader->text_capacity, sizeof *reader->texts);
    base_free_array(reader->services, reader->groups, reader->groups_size, sizeof *reader->groups);
    base_free(reader->services, reader, sizeof *reader);
}

enum record_state record_reader_state(const struct record_reader *reader)
{
    return reader->state;
}

const char *record_reader_error(const struct record_reader *reader)
{
    return reader->error;
}

uint64_t record_reader_item_count(const struct record_reader *reader)
{
    return reader->known;
}

uint64_t record_reader_unknown_count(const struct record_reader *reader)
{
    return reader->unknown;
}

uint64_t record_reader_bytes_read(const struct record_reader *reader)
{
    return reader->at;
}

uint64_t record_reader_bytes_total(const struct record_reader *reader)
{
    return reader->total;
}
