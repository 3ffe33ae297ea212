/*
 * The buffer has room for one item always: an item that might not fit is counted in full first
 * (ten bytes a value at most), and the buffer is written, or made larger, before the item goes in.
 *
 *     record_item()  ->  raw buffer  ->  zstd, one frame a block  ->  write()
 */
#include "record/record.h"

#include "base/bits.h"
#include "record/record_format.h"
#include "record/record_reader.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#define COMPRESSION_LEVEL (-20) /* the blocks are small already: docs/record.md has the others */
#define MOST_FIELDS       24
#define LITERAL_BITS      11 /* two slots each: texts that are used together do not meet */
#define LITERAL_SLOTS     (1u << LITERAL_BITS)
#define FIRST_TEXT_SLOTS  1024
#define NO_MEMORY         (-1)                   /* beside what errno has */
#define PATTERN_SLOTS     (2u * RECORD_PATTERNS) /* a power of two */

/* ---- The kinds ------------------------------------------------------------------------------- */

/* clang-format off */
static const struct kind_row {
    const char *name;
    bool is_kept;
    const char *shape;
} kind_rows[RECORD_KIND_COUNT] = {
#define KIND(name)  [RECORD_KIND_##name] = {#name, false, ""
#define KEPT(name)  [RECORD_KIND_##name] = {#name, true, ""
#define U(field)    #field ":u "
#define N(field)    #field ":n "
#define T(field)    #field ":t "
#define P(field)    #field ":p "
#define GROUP(name) "| "
#define END(name)   },
#include "record/record_kinds.inc"
#undef KIND
#undef KEPT
#undef U
#undef N
#undef T
#undef P
#undef GROUP
#undef END
};
/* clang-format on */

const char *record_kind_name(enum record_kind kind)
{
    return kind_rows[kind].name;
}

const char *record_kind_shape(enum record_kind kind)
{
    return kind_rows[kind].shape;
}

struct kind_state;

/* The form of items: their kind, and where it has P fields the values of those. */
struct record_pattern {
    uint64_t code;   /* of its items; one more where the time is another one */
    uint64_t number; /* of the text with the values of the P fields; 0: there are none */
    struct kind_state *kind;
    size_t group_count;  /* of an item, where the kind has P fields */
    size_t value_count;  /* of an item, without P fields and the groups of a kind that has none */
    size_t room;         /* that an item may need */
    unsigned mask_bytes; /* a bit a value; 0: there are too many values, or none */
    uint64_t last[RECORD_MASK_VALUES]; /* of the last item; of an N field its step */
};

struct kind_state {
    uint8_t fixed_count, group_size; /* fields before the group, fields of a group (0: no group) */
    uint8_t pattern_fixed, pattern_group; /* so many of them are P */
    bool has_pattern, is_kept;
    bool counts; /* its first field is N, and was `number` in the last item */
    bool is_pattern[MOST_FIELDS];
    uint64_t number;
    struct record_pattern form; /* of a kind without P fields */
    uint64_t missing;
};

/* ---- The record ------------------------------------------------------------------------------ */

/* A text that has a number. Its bytes are in the arena. */
struct text_slot {
    uint64_t hash;
    uint32_t offset, length;
    uint32_t number; /* 0: free */
};

struct literal_slot {
    const char *literal;
    size_t length;
    uint64_t number;
};

struct record {
    const struct base_services *services;
    int file;
    uint64_t limit, reserve; /* bytes of the file: for all kinds, for kinds that are kept */
    uint64_t written;        /* bytes in the file */
    int stop;                /* errno of the write that failed, or NO_MEMORY; 0: it goes on */
    bool is_busy;            /* inside: a signal may have come in the middle of an item */

    uint8_t *scratch; /* a pattern */
    size_t scratch_size;

    uint8_t *raw, *packed;
    size_t raw_size, packed_size;
    size_t used;
    ZSTD_CCtx *packer;

    uint64_t next_code; /* of a kind or a pattern */
    uint64_t last_ns;
    uint64_t items;
    uint64_t texts;          /* numbers given */
    uint64_t groups_missing; /* of items that were too long */
    struct kind_state kinds[RECORD_KIND_COUNT];

    struct text_slot *slots;
    size_t slot_count, slots_used; /* a power of two; at most half are used */
    char *arena;
    size_t arena_size, arena_used;
    struct literal_slot literals[LITERAL_SLOTS][2];
    struct record_pattern **patterns; /* by number, PATTERN_SLOTS; those that are remembered */
    size_t pattern_count;
    struct record_pattern forgotten; /* one that is not remembered, for the item at hand */
    uint64_t spare_code;             /* of that one; 0: none yet */
};

static bool is_stopped(const struct record *record)
{
    return record->stop != 0;
}

/* ---- Bytes ----------------------------------------------------------------------------------- */

static uint8_t *put_varint_bytewise(uint8_t *at, uint64_t value)
{
    for (; value >= 0x80; value >>= 7)
        *at++ = (uint8_t)(value | 0x80);
    *at++ = (uint8_t)value;
    return at;
}

/*
 * Of three to eight bytes, all eight are stored: the lengths of values follow no rule, and a jump
 * for each byte would be foretold wrongly once a value.
 */
__attribute__((noinline)) static uint8_t *put_long_varint(uint8_t *at, uint64_t value)
{
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (value < UINT64_C(1) << 56) {
        const unsigned bytes = (9 * log2_floor_u64(value) + 73) / 64; /* log2 / 7 + 1 */

        /* Seven bits a byte: halves of 28 bits move apart, then quarters, then eighths. */
        value = (value & UINT64_C(0x00fffffff0000000)) << 4 | (value & UINT64_C(0x0fffffff));
        value =
            (value & UINT64_C(0x0fffc0000fffc000)) << 2 | (value & UINT64_C(0x00003fff00003fff));
        value =
            (value & UINT64_C(0x3f803f803f803f80)) << 1 | (value & UINT64_C(0x007f007f007f007f));
        value |= UINT64_C(0x8080808080808080) & ((UINT64_C(1) << 8 * (bytes - 1)) - 1);
        memcpy(at, &value, sizeof value);
        return at + bytes;
    }
#endif
    return put_varint_bytewise(at, value);
}

/* RECORD_VARINT_BYTES have room. */
static inline uint8_t *put_varint(uint8_t *at, uint64_t value)
{
    if (value < 0x80) {
        *at = (uint8_t)value;
        return at + 1;
    }
    if (value < 0x4000) { /* most numbers of texts */
        at[0] = (uint8_t)(value | 0x80);
        at[1] = (uint8_t)(value >> 7);
        return at + 2;
    }
    return put_long_varint(at, value);
}

static void put_bytes(struct record *record, const void *bytes, size_t size)
{
    uint8_t *at = put_varint(record->raw + record->used, size);

    memcpy(at, bytes, size);
    record->used = (size_t)(at + size - record->raw);
}

static void write_all(struct record *record, const uint8_t *bytes, size_t size)
{
    while (size && !is_stopped(record)) {
        ssize_t done = write(record->file, bytes, size);

        if (done < 0 && errno == EINTR)
            continue;
        if (done <= 0) {
            record->stop = done < 0 ? errno : EIO;
            return;
        }
        bytes += done;
        size -= (size_t)done;
        record->written += (uint64_t)done;
    }
}

static void write_block(struct record *record, uint32_t tag)
{
    uint8_t *header = record->packed;
    size_t packed;

    if (!record->used || is_stopped(record))
        return;
    packed =
        ZSTD_compress2(record->packer, record->packed + RECORD_BLOCK_HEADER_BYTES,
                       record->packed_size - RECORD_BLOCK_HEADER_BYTES, record->raw, record->used);
    if (ZSTD_isError(packed)) {
        record->stop = NO_MEMORY; /* the one reason: the room for the result is enough */
        return;
    }
    record_store32(header, tag);
    record_store32(header + 4, (uint32_t)packed);
    record_store32(header + 8, (uint32_t)record->used);
    record_store32(header + 12, record_check_of(header));
    write_all(record, record->packed, RECORD_BLOCK_HEADER_BYTES + packed);
    record->used = 0;
}

static bool grow(struct record *record, size_t needed)
{
    size_t raw_size = align_up(needed, RECORD_BLOCK_BYTES);
    size_t packed_size = RECORD_BLOCK_HEADER_BYTES + ZSTD_compressBound(raw_size);
    uint8_t *raw = base_alloc(record->services, raw_size);
    uint8_t *packed = base_alloc(record->services, packed_size);

    if (!raw || !packed) {
        base_free(record->services, raw, raw_size);
        base_free(record->services, packed, packed_size);
        record->stop = NO_MEMORY;
        return false;
    }
    base_free(record->services, record->raw, record->raw_size);
    base_free(record->services, record->packed, record->packed_size);
    record->raw = raw;
    record->raw_size = raw_size;
    record->packed = packed;
    record->packed_size = packed_size;
    return true;
}

/* Room for this many bytes in the buffer; what is there may be written for it. */
static inline bool make_room(struct record *record, size_t bytes)
{
    if (record->used + bytes <= RECORD_BLOCK_BYTES)
        return true; /* the buffer is never smaller */
    write_block(record, RECORD_TAG_ITEMS);
    if (is_stopped(record))
        return false;
    return bytes <= record->raw_size || grow(record, bytes);
}

/* ---- Kinds ----------------------------------------------------------------------------------- */

static void read_shape(struct kind_state *kind, const char *shape)
{
    unsigned count = 0, patterned = 0;
    bool has_group = false;

    for (const char *at = shape; *at; at++) {
        if (*at == '|') {
            kind->fixed_count = (uint8_t)count;
            kind->pattern_fixed = (uint8_t)patterned;
            has_group = true;
        } else if (*at == ':') {
            kind->counts |= at[1] == 'n';
            kind->is_pattern[count++] = at[1] == 'p';
            patterned += at[1] == 'p';
        }
    }
    kind->has_pattern = patterned != 0;
    if (has_group) {
        kind->group_size = (uint8_t)(count - kind->fixed_count);
        kind->pattern_group = (uint8_t)(patterned - kind->pattern_fixed);
    } else {
        kind->fixed_count = (uint8_t)count;
        kind->pattern_fixed = (uint8_t)patterned;
    }
}

/* What follows from the number of values of an item. */
static void measure_form(struct record_pattern *form, size_t value_count)
{
    form->value_count = value_count;
    form->mask_bytes = value_count <= RECORD_MASK_VALUES ? (unsigned)((value_count + 7) / 8) : 0;
    form->room = (4 + value_count) * RECORD_VARINT_BYTES;
}

static void put_kinds(struct record *record)
{
    for (unsigned i = 0; i < RECORD_KIND_COUNT; i++) {
        const struct kind_row *row = &kind_rows[i];
        struct kind_state *kind = &record->kinds[i];

        read_shape(kind, row->shape);
        kind->is_kept = row->is_kept;
        kind->form.kind = kind;
        kind->form.code = record->next_code;
        measure_form(&kind->form, kind->fixed_count);
        record->next_code += 2;
        if (!make_room(record, strlen(row->name) + strlen(row->shape) + 3 * RECORD_VARINT_BYTES))
            return;
        record->raw[record->used++] = RECORD_CODE_KIND;
        put_bytes(record, row->name, strlen(row->name));
        put_bytes(record, row->shape, strlen(row->shape));
    }
}

/* ---- Begin and end --------------------------------------------------------------------------- */

static void put_header(struct record *record)
{
    uint8_t header[RECORD_HEADER_BYTES] = RECORD_MAGIC;

    header[6] = RECORD_MAJOR;
    header[7] = RECORD_MINOR;
    record_store32(header + 12, record_check_of(header));
    write_all(record, header, sizeof header);
}

static struct record *create(const struct base_services *services, int file,
                             const struct record_limits *limits)
{
    struct record *record = base_alloc(services, sizeof *record);

    if (!record)
        return NULL;
    record->services = services;
    record->file = file;
    record->limit = limits && limits->file_bytes ? limits->file_bytes : RECORD_LIMIT_BYTES;
    record->reserve = record->limit + RECORD_RESERVE_BYTES;
    record->next_code = RECORD_CODE_FIRST;
    record->slot_count = FIRST_TEXT_SLOTS;
    record->slots = base_alloc_array(services, record->slot_count, sizeof *record->slots);
    record->arena_size = RECORD_BLOCK_BYTES;
    record->arena = base_alloc(services, record->arena_size);
    record->patterns = base_alloc_array(services, PATTERN_SLOTS, sizeof *record->patterns);
    record->packer = ZSTD_createCCtx();
    if (!record->slots || !record->arena || !record->patterns || !record->packer ||
        !grow(record, RECORD_BLOCK_BYTES)) {
        record_abandon(record);
        return NULL;
    }
    ZSTD_CCtx_setParameter(record->packer, ZSTD_c_compressionLevel, COMPRESSION_LEVEL);
    ZSTD_CCtx_setParameter(record->packer, ZSTD_c_checksumFlag, 1);
    return record;
}

struct record *record_create(const struct base_services *services, int file,
                             const struct record_limits *limits)
{
    struct record *record = create(services, file, limits);

    if (record) {
        put_header(record);
        put_kinds(record);
    }
    return record;
}

struct record *record_resume(const struct base_services *services, int file,
                             const struct record_limits *limits, bool *out_was_cut, char error[256])
{
    struct record_reader_end end;
    struct record *record;

    *out_was_cut = false;
    if (!record_reader_find_end(services, file, &end, error))
        return NULL;
    record = create(services, file, limits);
    if (!record) {
        snprintf(error, 256, "there is no memory to go on with the record");
        return NULL;
    }
    if (lseek(file, (off_t)end.offset, SEEK_SET) < 0 || ftruncate(file, (off_t)end.offset) != 0) {
        snprintf(error, 256, "cannot write the record: %s", strerror(errno));
        record_abandon(record);
        return NULL;
    }
    record->written = end.offset;
    record->next_code = RECORD_CODE_FIRST + 2 * end.codes;
    record->items = end.items;
    record->texts = end.texts;
    record->last_ns = end.time_ns;
    put_kinds(record);
    *out_was_cut = end.was_cut;
    return record;
}

void record_abandon(struct record *record)
{
    if (!record)
        return;
    for (size_t i = 0; record->patterns && i < PATTERN_SLOTS; i++)
        base_free(record->services, record->patterns[i], sizeof *record->patterns[i]);
    base_free_array(record->services, record->patterns, PATTERN_SLOTS, sizeof *record->patterns);
    ZSTD_freeCCtx(record->packer);
    base_free(record->services, record->scratch, record->scratch_size);
    base_free(record->services, record->raw, record->raw_size);
    base_free(record->services, record->packed, record->packed_size);
    base_free_array(record->services, record->slots, record->slot_count, sizeof *record->slots);
    base_free(record->services, record->arena, record->arena_size);
    base_free(record->services, record, sizeof *record);
}

void record_flush(struct record *record)
{
    if (!record || record->is_busy)
        return;
    record->is_busy = true;
    write_block(record, RECORD_TAG_ITEMS);
    record->is_busy = false;
}

uint64_t record_file_bytes(const struct record *record)
{
    return record ? record->written : 0;
}

uint64_t record_item_count(const struct record *record)
{
    return record ? record->items : 0;
}

/* Of each kind how many are missing. */
static void put_cuts(struct record *record)
{
    for (unsigned i = 0; i < RECORD_KIND_COUNT; i++) {
        const uint64_t missing = record->kinds[i].missing;

        record->kinds[i].missing = 0;
        if (missing)
            RECORD_ITEM(record, cut, record->last_ns,
                        .what = record_text(record, kind_rows[i].name), .count = missing);
    }
    if (record->groups_missing)
        RECORD_ITEM(record, cut, record->last_ns, .what = record_text(record, "group"),
                    .count = record->groups_missing);
}

bool record_close(struct record *record, char error[256])
{
    bool is_whole;

    error[0] = '\0';
    if (!record)
        return true;
    record->reserve = UINT64_MAX; /* the few items of the end always have room */
    put_cuts(record);
    record_flush(record);
    if (make_room(record, 1 + 4 * RECORD_VARINT_BYTES)) {
        uint8_t *at = record->raw + record->used;

        *at++ = RECORD_CODE_END;
        at = put_varint(put_varint(at, record->items), record->texts);
        at = put_varint(at, (record->next_code - RECORD_CODE_FIRST) / 2);
        at = put_varint(at, record->last_ns);
        record->used = (size_t)(at - record->raw);
        write_block(record, RECORD_TAG_END);
    }
    is_whole = !is_stopped(record);
    if (record->stop == NO_MEMORY)
        snprintf(error, 256, "no memory for the record; it ends after %llu items",
                 (unsigned long long)record->items);
    else if (record->stop)
        snprintf(error, 256, "cannot write the record: %s", strerror(record->stop));
    record_abandon(record);
    return is_whole;
}

/* ---- Texts ----------------------------------------------------------------------------------- */

static struct text_slot *find_slot(const struct record *record, uint64_t hash, const void *bytes,
                                   size_t size)
{
    size_t at = (size_t)hash & (record->slot_count - 1);

    for (;; at = (at + 1) & (record->slot_count - 1)) {
        struct text_slot *slot = &record->slots[at];

        if (!slot->number)
            return slot;
        if (slot->hash == hash && slot->length == size &&
            memcmp(record->arena + slot->offset, bytes, size) == 0)
            return slot;
    }
}

static bool double_slots(struct record *record)
{
    size_t old_count = record->slot_count;
    struct text_slot *old = record->slots;
    struct text_slot *slots = base_alloc_array(record->services, 2 * old_count, sizeof *slots);

    if (!slots)
        return false;
    record->slots = slots;
    record->slot_count = 2 * old_count;
    for (size_t i = 0; i < old_count; i++) {
        size_t at = (size_t)old[i].hash & (record->slot_count - 1);

        if (!old[i].number)
            continue;
        while (slots[at].number)
            at = (at + 1) & (record->slot_count - 1);
        slots[at] = old[i];
    }
    base_free_array(record->services, old, old_count, sizeof *old);
    return true;
}

static bool grow_arena(struct record *record, size_t needed)
{
    size_t size = record->arena_size;
    char *arena;

    while (size < needed)
        size *= 2;
    arena = base_alloc(record->services, size);
    if (!arena)
        return false;
    memcpy(arena, record->arena, record->arena_used);
    base_free(record->services, record->arena, record->arena_size);
    record->arena = arena;
    record->arena_size = size;
    return true;
}

/* The text is known by its number from now on, if there is room to remember it. */
static void remember(struct record *record, uint64_t hash, const void *bytes, size_t size)
{
    struct text_slot *slot;

    if (record->arena_used + size > RECORD_TEXT_BYTES || record->texts > UINT32_MAX)
        return;
    if (2 * record->slots_used >= record->slot_count && !double_slots(record))
        return;
    if (record->arena_used + size > record->arena_size &&
        !grow_arena(record, record->arena_used + size))
        return;
    slot = find_slot(record, hash, bytes, size);
    memcpy(record->arena + record->arena_used, bytes, size);
    *slot = (struct text_slot){.hash = hash,
                               .offset = (uint32_t)record->arena_used,
                               .length = (uint32_t)size,
                               .number = (uint32_t)record->texts};
    record->arena_used += size;
    record->slots_used++;
}

static uint64_t define_text(struct record *record, uint64_t hash, const void *bytes, size_t size)
{
    if (record->written >= record->reserve || !make_room(record, 1 + RECORD_VARINT_BYTES + size))
        return 0;
    record->raw[record->used++] = RECORD_CODE_TEXT;
    put_bytes(record, bytes, size);
    record->texts++;
    remember(record, hash, bytes, size);
    return record->texts;
}

uint64_t record_bytes(struct record *record, const void *bytes, size_t size)
{
    const struct text_slot *slot;
    uint64_t hash, number;

    if (!record || !size || is_stopped(record))
        return 0;
    if (size > RECORD_TEXT_MOST)
        size = RECORD_TEXT_MOST;
    hash = hash_bytes(bytes, size, 0);
    slot = find_slot(record, hash, bytes, size);
    if (slot->number)
        return slot->number;
    record->is_busy = true;
    number = define_text(record, hash, bytes, size);
    record->is_busy = false;
    return number;
}

uint64_t record_text(struct record *record, const char *text)
{
    return text ? record_bytes(record, text, strlen(text)) : 0;
}

#define WHOLE SIZE_MAX /* as the length of a literal: all of it */

/* The number of the literal, or 0: it is not known, and has a slot. */
static inline uint64_t find_literal(struct record *record, const char *literal, size_t length,
                                    struct literal_slot **out_slot)
{
    const uint64_t key = (uint64_t)(uintptr_t)literal + length;
    struct literal_slot *slots =
        record->literals[(key * UINT64_C(0x9e3779b97f4a7c15)) >> (64 - LITERAL_BITS)];

    if (slots[0].literal == literal && slots[0].length == length)
        return slots[0].number;
    if (slots[1].literal == literal && slots[1].length == length)
        return slots[1].number;
    slots[1] = slots[0];
    *out_slot = &slots[0];
    slots[0] = (struct literal_slot){literal, length, 0};
    return 0;
}

uint64_t record_literal_part(struct record *record, const char *literal, size_t length)
{
    struct literal_slot *slot = NULL;
    uint64_t number;

    if (!record || !length)
        return 0;
    number = find_literal(record, literal, length, &slot);
    if (slot)
        number = slot->number = record_bytes(record, literal, length);
    return number;
}

uint64_t record_literal(struct record *record, const char *literal)
{
    struct literal_slot *slot = NULL;
    uint64_t number;

    if (!record || !literal)
        return 0;
    number = find_literal(record, literal, WHOLE, &slot);
    if (slot)
        number = slot->number = record_text(record, literal);
    return number;
}

/* ---- Patterns -------------------------------------------------------------------------------- */

bool record_pattern_lasts(const struct record *record, const struct record_pattern *pattern)
{
    return pattern && pattern != &record->forgotten;
}

static bool make_scratch(struct record *record, size_t needed)
{
    if (needed <= record->scratch_size)
        return true;
    base_free(record->services, record->scratch, record->scratch_size);
    record->scratch_size = 0;
    record->scratch = base_alloc(record->services, needed);
    if (!record->scratch)
        return false;
    record->scratch_size = needed;
    return true;
}

static uint8_t *put_pattern_fields(const bool *is_pattern, const uint64_t *fields, size_t count,
                                   uint8_t *at)
{
    for (size_t i = 0; i < count; i++)
        if (is_pattern[i])
            at = put_varint(at, fields[i]);
    return at;
}

/* The text of a pattern; 0: there is no room for it. */
static uint64_t pattern_text(struct record *record, const struct kind_state *kind,
                             const uint64_t *fields, const uint64_t *groups, size_t group_count)
{
    const size_t count = kind->pattern_fixed + group_count * kind->pattern_group;
    uint8_t *at;

    if (!make_scratch(record, count * RECORD_VARINT_BYTES + 1)) {
        record->stop = NO_MEMORY;
        return 0;
    }
    at = put_pattern_fields(kind->is_pattern, fields, kind->fixed_count, record->scratch);
    for (size_t i = 0; i < group_count; i++)
        at = put_pattern_fields(kind->is_pattern + kind->fixed_count, groups + i * kind->group_size,
                                kind->group_size, at);
    return record_bytes(record, record->scratch, (size_t)(at - record->scratch));
}

/*
 * The slot of the pattern: two of a text are of one kind, and of as many groups where these have P
 * fields.
 */
static struct record_pattern **find_pattern(struct record *record, uint64_t number,
                                            const struct kind_state *kind, size_t group_count)
{
    size_t at = (size_t)hash_u64(number) & (PATTERN_SLOTS - 1);

    while (record->patterns[at] &&
           (record->patterns[at]->number != number || record->patterns[at]->kind != kind ||
            record->patterns[at]->group_count != group_count))
        at = (at + 1) & (PATTERN_SLOTS - 1);
    return &record->patterns[at];
}

/* Says in the file what its code stands for from here on. False: there is no room. */
static bool define_pattern(struct record *record, const struct record_pattern *pattern)
{
    uint8_t *at;

    if (!make_room(record, 5 * RECORD_VARINT_BYTES))
        return false;
    at = record->raw + record->used;
    *at++ = RECORD_CODE_PATTERN;
    at = put_varint(at, pattern->code);
    at = put_varint(at, pattern->kind->form.code);
    at = put_varint(at, pattern->group_count);
    at = put_varint(at, pattern->number);
    record->used = (size_t)(at - record->raw);
    return true;
}

static uint64_t take_code(struct record *record)
{
    record->next_code += 2;
    return record->next_code - 2;
}

/* A pattern that has no slot yet gets it, or is the one at hand where there is no room. */
static struct record_pattern *add_pattern(struct record *record, struct record_pattern **slot)
{
    struct record_pattern *pattern = record->pattern_count < RECORD_PATTERNS
                                         ? base_alloc(record->services, sizeof *pattern)
                                         : NULL;

    if (pattern) {
        *slot = pattern;
        record->pattern_count++;
        pattern->code = take_code(record);
        return pattern;
    }
    if (!record->spare_code)
        record->spare_code = take_code(record);
    record->forgotten = (struct record_pattern){.code = record->spare_code};
    return &record->forgotten;
}

struct record_pattern *record_pattern(struct record *record, enum record_kind which,
                                      const uint64_t *fields, const uint64_t *groups,
                                      size_t group_count)
{
    struct kind_state *kind;
    struct record_pattern **slot, *pattern;
    uint64_t number;

    if (!record)
        return NULL;
    kind = &record->kinds[which];
    if (group_count > RECORD_ITEM_VALUES / (kind->group_size + 1u)) {
        record->groups_missing += group_count - RECORD_ITEM_VALUES / (kind->group_size + 1u);
        group_count = RECORD_ITEM_VALUES / (kind->group_size + 1u);
    }
    number = pattern_text(record, kind, fields, groups, group_count);
    if (!number) {
        record->groups_missing += group_count;
        return NULL;
    }
    slot = find_pattern(record, number, kind, group_count);
    if (*slot)
        return *slot;
    record->is_busy = true;
    pattern = add_pattern(record, slot);
    pattern->number = number;
    pattern->kind = kind;
    pattern->group_count = group_count;
    measure_form(pattern, kind->fixed_count - kind->pattern_fixed +
                              group_count * (kind->group_size - kind->pattern_group));
    define_pattern(record, pattern);
    record->is_busy = false;
    return pattern;
}

/* ---- Items ----------------------------------------------------------------------------------- */

static inline bool wants(struct record *record, struct kind_state *kind)
{
    if (!is_stopped(record) && record->written < (kind->is_kept ? record->reserve : record->limit))
        return true;
    kind->missing++;
    return false;
}

bool record_wants(struct record *record, enum record_kind kind)
{
    return record && wants(record, &record->kinds[kind]);
}

/*
 * A bit for each value that is another than in the last item of the form, and the differences.
 * Three of four are the same.
 */
static inline uint8_t *put_values(struct record_pattern *form, uint8_t *at, const uint64_t *values)
{
    struct kind_state *const kind = form->kind;
    const size_t count = form->value_count, mask_bytes = form->mask_bytes;
    uint8_t *const mask_at = at;
    uint64_t mask = 0;
    size_t i = 0;

    at += mask_bytes;
    if (kind->counts) {
        const uint64_t step = values[0] - kind->number, other = step - form->last[0];

        kind->number = values[0];
        if (other) {
            mask = 1;
            form->last[0] = step;
            at = put_varint(at, record_zigzag(other));
        }
        i = 1;
    }
    for (; i < count; i++) {
        const uint64_t value = values[i], other = value - form->last[i];

        if (!other)
            continue;
        mask |= UINT64_C(1) << i;
        form->last[i] = value;
        at = put_varint(at, record_zigzag(other));
    }
    for (i = 0; i < mask_bytes; i++, mask >>= 8)
        mask_at[i] = (uint8_t)mask;
    return at;
}

/* More values than a mask has bits: all of them. */
static uint8_t *put_all_values(const struct record_pattern *form, uint8_t *at,
                               const uint64_t *values)
{
    if (form->kind->counts)
        form->kind->number = values[0];
    for (size_t i = 0; i < form->value_count; i++)
        at = put_varint(at, values[i]);
    return at;
}

/* An item up to its groups. NULL: it has no place, and is counted. */
static inline uint8_t *begin_item(struct record *record, struct record_pattern *form,
                                  uint64_t now_ns, const uint64_t *values, size_t more_values)
{
    const uint64_t passed_ns = now_ns - record->last_ns;
    uint8_t *at;

    if (!make_room(record, form->room + more_values * RECORD_VARINT_BYTES)) {
        form->kind->missing++;
        return NULL;
    }
    at = record->raw + record->used;
    if (passed_ns) {
        record->last_ns = now_ns;
        at = put_varint(put_varint(at, form->code + 1), record_zigzag(passed_ns));
    } else {
        at = put_varint(at, form->code);
    }
    return form->value_count <= RECORD_MASK_VALUES ? put_values(form, at, values)
                                                   : put_all_values(form, at, values);
}

static inline void end_item(struct record *record, const uint8_t *end)
{
    record->used = (size_t)(end - record->raw);
    record->items++;
}

/* An item without groups, or of a pattern. */
static void put_item(struct record *record, struct record_pattern *form, uint64_t now_ns,
                     const uint64_t *values)
{
    uint8_t *at;

    record->is_busy = true;
    at = begin_item(record, form, now_ns, values, 0);
    if (at)
        end_item(record, at);
    record->is_busy = false;
}

void record_item_patterned(struct record *record, uint64_t now_ns, struct record_pattern *pattern,
                           const uint64_t *values)
{
    if (record && pattern && wants(record, pattern->kind))
        put_item(record, pattern, now_ns, values);
}

static uint64_t *take_other_fields(const bool *is_pattern, const uint64_t *fields, size_t count,
                                   uint64_t *out)
{
    for (size_t i = 0; i < count; i++)
        if (!is_pattern[i])
            *out++ = fields[i];
    return out;
}

/* An item of a kind with P fields: its pattern, and its other values behind one another. */
static void put_patterned(struct record *record, enum record_kind which, uint64_t now_ns,
                          const uint64_t *fields, const uint64_t *groups, size_t group_count)
{
    const struct kind_state *kind = &record->kinds[which];
    struct record_pattern *pattern = record_pattern(record, which, fields, groups, group_count);
    const size_t count = pattern ? pattern->value_count : 0;
    uint64_t *values = base_alloc_array(record->services, count + 1, sizeof *values), *end;

    if (!values) {
        record->stop = NO_MEMORY;
        return;
    }
    end = values;
    if (pattern)
        end = take_other_fields(kind->is_pattern, fields, kind->fixed_count, end);
    for (size_t i = 0; pattern && i < pattern->group_count; i++)
        end = take_other_fields(kind->is_pattern + kind->fixed_count, groups + i * kind->group_size,
                                kind->group_size, end);
    record_item_patterned(record, now_ns, pattern, values);
    base_free_array(record->services, values, count + 1, sizeof *values);
}

static void put_groups(struct record *record, enum record_kind which, uint64_t now_ns,
                       const uint64_t *fields, const uint64_t *groups, size_t group_count)
{
    struct kind_state *kind = &record->kinds[which];
    const size_t size = kind->group_size;
    uint8_t *at;

    if (group_count > RECORD_ITEM_VALUES / (size + 1)) {
        record->groups_missing += group_count - RECORD_ITEM_VALUES / (size + 1);
        group_count = RECORD_ITEM_VALUES / (size + 1);
    }
    record->is_busy = true;
    at = begin_item(record, &kind->form, now_ns, fields, 1 + group_count * size);
    if (at) {
        at = put_varint(at, group_count);
        for (size_t i = 0; i < group_count * size; i++)
            at = put_varint(at, groups[i]);
        end_item(record, at);
    }
    record->is_busy = false;
}

/* Out of line: most items have values alone, and do not pay for the frame of this. */
__attribute__((noinline)) static void put_other(struct record *record, enum record_kind which,
                                                uint64_t now_ns, const uint64_t *fields,
                                                const uint64_t *groups, size_t group_count)
{
    if (record->kinds[which].has_pattern)
        put_patterned(record, which, now_ns, fields, groups, group_count);
    else
        put_groups(record, which, now_ns, fields, groups, group_count);
}

void record_item(struct record *record, enum record_kind which, uint64_t now_ns,
                 const uint64_t *fields, const uint64_t *groups, size_t group_count)
{
    struct kind_state *kind;

    if (!record)
        return;
    kind = &record->kinds[which];
    if (!wants(record, kind))
        return;
    if (kind->has_pattern || kind->group_size)
        put_other(record, which, now_ns, fields, groups, group_count);
    else
        put_item(record, &kind->form, now_ns, fields);
}
