/*
 * The packed form, read as the page reads it: by its header alone, and by nothing of story.h.
 */
#ifndef DRYDOCK_STORY_TEST_UNPACK_H
#define DRYDOCK_STORY_TEST_UNPACK_H

#include <stddef.h>
#include <stdint.h>

struct unpacked;

/* NULL when the bytes are not exactly what story_pack.c describes. */
struct unpacked *unpack(const unsigned char *bytes, size_t size);
void unpacked_free(struct unpacked *unpacked);

/* The rows of a table; SIZE_MAX: there is no such table. */
size_t unpacked_rows(const struct unpacked *unpacked, const char *table);

/* A value as it is packed; UINT64_MAX: there is none. */
uint64_t unpacked_value(const struct unpacked *unpacked, const char *table, const char *column,
                        size_t row);

/* The text that a column of texts names. Lent until the next call. */
const char *unpacked_text(const struct unpacked *unpacked, const char *table, const char *column,
                          size_t row);
const char *unpacked_text_at(const struct unpacked *unpacked, uint64_t place);

/* The letter of an encoding. */
char unpacked_encoding(const struct unpacked *unpacked, const char *table, const char *column);

#endif
