/*
 * Directives as text: what the table says of them, for messages and for docs/case-format.md.
 *
 * Place      workload. directives_test.c holds the documentation against it.
 * Ownership  Short texts go into the caller's room, and are cut off where it is too small. Parts of
 *            the documentation are given, and freed with free(); NULL: no memory.
 */
#ifndef WORKLOAD_DIRECTIVES_TEXT_H
#define WORKLOAD_DIRECTIVES_TEXT_H

#include "workload/case/directives.h"

/* How a line is written, in all its forms: "free NAME", "wait CONTEXT, or wait all". */
const char *directive_syntax(const struct directive *first, char *out, size_t size);

/* The words that a line can begin with: "alloc, free, ... or context". */
const char *directive_words(char *out, size_t size);

/* The rows of a section, as a table of Markdown. */
char *directive_table(enum directive_section section);

/* What a section is called between the marks of the documentation. */
const char *directive_section_name(enum directive_section section);

/* The rules of the grammar for all directives. */
char *directive_grammar(void);

#endif
