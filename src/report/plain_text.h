/*
 * Plain text: what a driver, a case or a record said, as text and as nothing else.
 *
 * Place      report. Whatever is printed of a finding passes here, and each message of the command
 *            line does.
 * Model      Terminals and services that read logs obey what they read: control characters move the
 *            cursor and change titles, marks of direction turn text around, and a line that begins
 *            with "::", or has "##[" in it, is a command to a build service. Such characters are
 *            shown as \x and their bytes, and a backslash parts the beginnings of commands. Ends of
 *            lines and tabs stay.
 */
#ifndef DRYDOCK_REPORT_PLAIN_TEXT_H
#define DRYDOCK_REPORT_PLAIN_TEXT_H

#include "report/look.h"

#include <stddef.h>
#include <stdio.h>

/* The text begins at the beginning of a line. */
void plain_text_write(FILE *out, const char *text, size_t length);

/* The same of a text that is made like those of printf(). */
__attribute__((format(printf, 2, 3))) void plain_text_print(FILE *out, const char *format, ...);

/*
 * A stream in memory, and its end: what was written to it is written to out as plain text, in
 * colour and with links where out has them (report/look.h). Places of colours and links are kept
 * beside the text, so that nothing in the text can be one.
 */
struct plain_text_mark {
    size_t at; /* bytes before it */
    enum look_style style;
    char *address; /* of a link; "": its end; NULL: the mark is a style */
};
struct plain_text {
    FILE *stream; /* NULL: no memory */
    char *text;
    size_t length;
    struct plain_text_mark *marks;
    size_t mark_count, mark_room;
};
void plain_text_begin(struct plain_text *plain);
/* What is written from here on has this style. */
void plain_text_style(struct plain_text *plain, enum look_style style);
/* What is written from here on leads to the address, which is copied; "": to none any more. */
void plain_text_link(struct plain_text *plain, const char *address);
void plain_text_end(struct plain_text *plain, FILE *out);

#endif
