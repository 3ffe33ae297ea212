/*
 * UTF-8: what texts of drivers may not be.
 *
 * Place      story. Used wherever a text of a story becomes part of a file whose texts are UTF-8.
 */
#ifndef DRYDOCK_STORY_UTF8_H
#define DRYDOCK_STORY_UTF8_H

#include <stdbool.h>
#include <stddef.h>

bool utf8_is_valid(const char *text, size_t size);

/*
 * Copies a text; each byte that is part of no character becomes U+FFFD. out has room for 3 * size
 * bytes. Gives the bytes that it wrote.
 */
size_t utf8_mend(const char *text, size_t size, char *out);

#endif
