/*
 * Record: what happens in a run, written to one file while it happens.
 *
 * Place      record. Knows nothing of WDDM but the names in record_kinds.inc.
 * Model      An item has a kind, a virtual time and fields. Items go into a buffer, which is packed
 *            and written when it is full. docs/record.md has the format. A text is written once and
 *            is a number from then on. The file says itself which kinds and fields it has.
 *
 *                RECORD_ITEM(record, placed, now_ns, .allocation = 3, .segment = 1, .bytes =
 * 65536);
 *
 * Limits     When the file has grown to its limit, items of most kinds are counted and not written;
 *            the kinds that record_kinds.inc has as KEPT go on, into a reserve of
 *            RECORD_RESERVE_BYTES. The end of the file says how many are missing of each kind.
 * Ownership  record_create() takes the file in the sense that nobody else may write to it; closing
 *            the descriptor is the caller's. Texts and fields are copied.
 * Errors     A record that cannot be written, or lacks memory, stops being written;
 *            record_close() says why. A record that is NULL takes everything and does nothing.
 * Cost       An item costs some tens of nanoseconds. Memory: two block buffers; the texts, of which
 *            RECORD_TEXT_BYTES are remembered (a text beyond is written each time); RECORD_PATTERNS
 *            patterns (a pattern beyond takes no part in differences).
 */
#ifndef DRYDOCK_RECORD_RECORD_H
#define DRYDOCK_RECORD_RECORD_H

#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RECORD_MAJOR 3
#define RECORD_MINOR 0

#define RECORD_BLOCK_BYTES   (256u * 1024u)        /* of items, before they are packed */
#define RECORD_BLOCK_MOST    (16u * 1024u * 1024u) /* one item that is larger than a block */
#define RECORD_ITEM_VALUES   (1u << 20)            /* fields of one item; more are cut */
#define RECORD_TEXT_MOST     (8u * 1024u * 1024u)  /* of one text; the rest is cut */
#define RECORD_TEXT_BYTES    (64u * 1024u * 1024u) /* of all texts that are remembered */
#define RECORD_PATTERNS      16384u
#define RECORD_MORE_MOST     63u                 /* operations behind the one that an item names */
#define RECORD_LIMIT_BYTES   (UINT64_C(4) << 30) /* of a file, where nobody says otherwise */
#define RECORD_RESERVE_BYTES (UINT64_C(64) << 20)

/* clang-format off */
enum record_kind {
#define KIND(name)  RECORD_KIND_##name,
#define KEPT(name)  RECORD_KIND_##name,
#define U(field)
#define N(field)
#define T(field)
#define P(field)
#define GROUP(name)
#define END(name)
#include "record/record_kinds.inc"
    RECORD_KIND_COUNT
#undef KIND
#undef KEPT
#undef U
#undef N
#undef T
#undef P
#undef GROUP
#undef END
};

/* The fields of each kind in order: struct record_placed, and for a group struct record_x_group. */
#define KIND(name)  struct record_##name {
#define KEPT(name)  struct record_##name {
#define U(field)    uint64_t field;
#define N(field)    uint64_t field;
#define T(field)    uint64_t field;
#define P(field)    uint64_t field;
#define GROUP(name) }; struct record_##name##_group {
#define END(name)   };
#include "record/record_kinds.inc"
#undef KIND
#undef KEPT
#undef U
#undef N
#undef T
#undef P
#undef GROUP
#undef END
/* clang-format on */

/* The kind's name, and its fields as the file has them: "number:n segment:u | name:t". */
const char *record_kind_name(enum record_kind kind);
const char *record_kind_shape(enum record_kind kind);

struct record;

struct record_limits {
    uint64_t file_bytes; /* 0: RECORD_LIMIT_BYTES */
};

/* Gives the record, which writes into the file from where the file stands. NULL: no memory. */
struct record *record_create(const struct base_services *services, int file,
                             const struct record_limits *limits);

/*
 * Gives a record that goes on behind the last item of the record in the file, which is open for
 * reading and writing: the end of that record is written over, or what stands behind its last whole
 * block; then *out_was_cut is true. NULL: error says why, and the file is as it was.
 */
struct record *record_resume(const struct base_services *services, int file,
                             const struct record_limits *limits, bool *out_was_cut,
                             char error[256]);

/*
 * The number of a text, which is written now if it has none yet. 0 is the empty text, and NULL.
 * record_literal() is for texts that keep their address and content for the life of the program,
 * record_literal_part() for so many characters of one.
 */
uint64_t record_text(struct record *record, const char *text);
uint64_t record_literal(struct record *record, const char *literal);
uint64_t record_literal_part(struct record *record, const char *literal, size_t length);
uint64_t record_bytes(struct record *record, const void *bytes, size_t size);

/*
 * False: an item of this kind would not be written any more, and has been counted as missing. Who
 * must gather much for an item asks first.
 */
bool record_wants(struct record *record, enum record_kind kind);

/*
 * Fields are those before the group, in the order of record_kinds.inc; groups the fields of so many
 * groups. Times need not rise.
 */
void record_item(struct record *record, enum record_kind kind, uint64_t now_ns,
                 const uint64_t *fields, const uint64_t *groups, size_t group_count);

/*
 * For who writes many items of groups that are alike: the pattern of an item, made of its P fields
 * and those of so many groups; its other fields may be anything. And an item of that pattern, of
 * which only the other fields are given: those before the group, then those of the groups. NULL:
 * there is no room for it. Lent until the next call of record_pattern(), or for the life of the
 * record if record_pattern_lasts().
 */
struct record_pattern;
struct record_pattern *record_pattern(struct record *record, enum record_kind kind,
                                      const uint64_t *fields, const uint64_t *groups,
                                      size_t group_count);
bool record_pattern_lasts(const struct record *record, const struct record_pattern *pattern);
void record_item_patterned(struct record *record, uint64_t now_ns, struct record_pattern *pattern,
                           const uint64_t *values);

#define RECORD_ITEM_WITH(record, kind, now_ns, groups, group_count, ...)                           \
    record_item(record, RECORD_KIND_##kind, now_ns,                                                \
                (const uint64_t *)&(const struct record_##kind){__VA_ARGS__},                      \
                (const uint64_t *)(groups), group_count)

#define RECORD_ITEM(record, kind, now_ns, ...)                                                     \
    RECORD_ITEM_WITH(record, kind, now_ns, NULL, 0, __VA_ARGS__)

/*
 * Writes what is in the buffer. It allocates nothing, so a process that is about to end by a signal
 * may call it; it does nothing when the signal came in the middle of the record's own work.
 */
void record_flush(struct record *record);

/* Of the file so far. */
uint64_t record_file_bytes(const struct record *record);
uint64_t record_item_count(const struct record *record);

/* Writes the end and destroys the record. False: the file is not whole, for the reason in error. */
bool record_close(struct record *record, char error[256]);
/* Destroys the record without the end: the file reads as one that was cut. */
void record_abandon(struct record *record);

#endif
