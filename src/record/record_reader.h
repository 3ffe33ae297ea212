/*
 * Record reader: the items of a record, one after the other.
 *
 * Place      record. Used by whatever shows a run.
 * Model      The file's kinds and fields are matched with those of record_kinds.inc by name. A kind
 *            or a field that this build does not know is left out; a field that the file does not
 *            have is 0. So an item always has the fields of this build, in its order:
 *
 *                while (record_reader_next(reader, &item))
 *                    if (item.kind == RECORD_KIND_placed)
 *                        place(item.time_ns, RECORD_FIELDS(placed, &item)->allocation, ...);
 *
 *            Texts are known by number; each stands before the first item that names it.
 * Ownership  The bytes of a file in memory are borrowed. Texts are lent for the life of the reader,
 *            an item until the next call.
 * Errors     Any file may be given. A file that is no record, or one of another major version, is
 *            not opened. One that is cut or damaged is read up to its last whole block;
 *            record_reader_next() then ends, and record_reader_state() and _error() say how.
 * Limits     Memory: one block (16 MiB at most) and the texts (RECORD_READER_TEXT_BYTES at most; a
 *            file with more is refused there as damaged).
 */
#ifndef DRYDOCK_RECORD_RECORD_READER_H
#define DRYDOCK_RECORD_RECORD_READER_H

#include "record/record.h"

#define RECORD_READER_TEXT_BYTES (UINT64_C(1) << 30)

enum record_state {
    RECORD_READING,
    RECORD_WHOLE,   /* the end was read, and its counts are right */
    RECORD_CUT,     /* the file ends before the end: what was there has been read */
    RECORD_DAMAGED, /* bytes are not as they were written: what stood before has been read */
    RECORD_FAILED   /* the file cannot be read, or there is no memory */
};

struct record_reader_item {
    enum record_kind kind;
    uint64_t time_ns;
    const uint64_t *fields; /* of record_kinds.inc, in its order */
    size_t group_count;
    const uint64_t *groups; /* group_count times the fields of the kind's group */
};

/* The fields of an item as a structure, and the i-th of its groups. */
#define RECORD_FIELDS(kind, item)   ((const struct record_##kind *)(item)->fields)
#define RECORD_GROUP(kind, item, i) (&((const struct record_##kind##_group *)(item)->groups)[i])

struct record_reader;

/* NULL: error says why. The name stands in messages. */
struct record_reader *record_reader_open(const struct base_services *services, const char *path,
                                         char error[256]);
struct record_reader *record_reader_open_bytes(const struct base_services *services,
                                               const char *name, const void *bytes, size_t size,
                                               char error[256]);
/* The whole file, from its begin, whatever is read of it elsewhere; it stays the caller's. */
struct record_reader *record_reader_open_file(const struct base_services *services,
                                              const char *name, int file, char error[256]);
void record_reader_close(struct record_reader *reader);

/* Where another item would stand in a file, and what there is before it. */
struct record_reader_end {
    bool was_cut; /* the file has no end */
    uint64_t offset, items, texts, codes, time_ns;
};

/*
 * A file that is whole is not read for this but for the headers of its blocks and the last one.
 * False: the file is no record, or is damaged.
 */
bool record_reader_find_end(const struct base_services *services, int file,
                            struct record_reader_end *out, char error[256]);

/* False: there are no more items. */
bool record_reader_next(struct record_reader *reader, struct record_reader_item *out_item);

/* "" for 0 and for a number that no text has. A zero byte stands behind it. */
const char *record_reader_text(const struct record_reader *reader, uint64_t number);
/* The same with its length, for bytes. */
const void *record_reader_bytes(const struct record_reader *reader, uint64_t number,
                                size_t *out_size);
/* The highest number of a text so far; for tables by number. */
uint64_t record_reader_text_count(const struct record_reader *reader);

enum record_state record_reader_state(const struct record_reader *reader);
/* A sentence for people, with the name of the file; "" while all is well. */
const char *record_reader_error(const struct record_reader *reader);
/* Items given so far; items of kinds that this build does not know; bytes read, of how many. */
uint64_t record_reader_item_count(const struct record_reader *reader);
uint64_t record_reader_unknown_count(const struct record_reader *reader);
uint64_t record_reader_bytes_read(const struct record_reader *reader);
uint64_t record_reader_bytes_total(const struct record_reader *reader);

#endif
