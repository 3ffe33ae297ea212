/*
 * Look: whether what is printed has colours, links, and block characters.
 *
 * Place      report. The command line chooses, once, before it prints (cli/terminal.h); whatever is
 *            printed of findings and runs asks.
 * Model      Colours and links belong to a stream: standard output may go to a file while standard
 *            error is a terminal. Block characters belong to the user's locale. Until somebody
 *            chooses, there are none of them.
 */
#ifndef DRYDOCK_REPORT_LOOK_H
#define DRYDOCK_REPORT_LOOK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

enum look_style {
    LOOK_PLAIN,
    LOOK_ERROR,   /* what is wrong */
    LOOK_ADVICE,  /* what could be better */
    LOOK_GOOD,    /* what is as it should be */
    LOOK_LABEL,   /* what names the thing beside it */
    LOOK_COMMAND, /* what a user may type */
    LOOK_STRONG,
};

struct look {
    bool out_has_color, err_has_color; /* standard output, standard error */
    bool out_has_links, err_has_links; /* both are terminals, which follow addresses */
    bool has_blocks;                   /* the eight blocks from U+2581 on can be shown */
};
void look_choose(const struct look *look);

/* What turns the style on, in place of the one before; "": the stream has no colours. */
const char *look_begin(FILE *stream, enum look_style style);

/*
 * What is printed from here on leads to the address (OSC 8, "hyperlinks in terminal emulators");
 * "": to none any more. Prints nothing where the stream has no links.
 */
void look_link(FILE *stream, const char *address);

/*
 * A curve in one line: count values of at most `most`, in `columns` characters; each shows the
 * largest value of its part. The text has at most 3 bytes a character and its end.
 */
#define LOOK_CURVE_BYTES(columns) (3 * (columns) + 1)
void look_curve(char *text, unsigned columns, const uint64_t *values, size_t count, uint64_t most);

#endif
