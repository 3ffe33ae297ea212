/*
 * DDI fields: what is known of a member of a structure of the DDI, as rows of the generated table
 * ddi_fields.inc.
 *
 * Place      check/report. decode.c writes arguments by it; rig/wrong_word.c makes members of calls
 *            wrong.
 * Model      Whoever wants the table defines FIELD and ENUMERATOR and includes ddi_fields.inc. A
 *            row with a '/' in the name of the structure is of the variant of its union that the
 *            number behind the '/' chooses.
 * Units      Offsets and sizes are bytes of the x64 layout; bit and bits are of the word.
 * Source     data/ddi (scripts/ddi-fields.awk).
 */
#ifndef DRYDOCK_CHECK_DDI_FIELDS_H
#define DRYDOCK_CHECK_DDI_FIELDS_H

#include <stdbool.h>
#include <stdint.h>

enum decode_kind {
    DECODE_NUMBER,
    DECODE_SIGNED,
    DECODE_HEX,
    DECODE_BOOLEAN,
    DECODE_POINTER,
    DECODE_HANDLE,
    DECODE_ENUM,
    DECODE_STATUS,
    DECODE_FLAGS, /* a word of bit-fields; the rows of its bits follow */
    DECODE_BIT,
};

struct decode_field {
    const char *structure, *name;
    unsigned offset, size;
    enum decode_kind kind;
    unsigned bit, bits;
    unsigned wddm; /* from which on; 0: not known, or always */
    const char *enumeration;
    /* There if the word at `when` is (or is not) the value; when_size 0: always. */
    unsigned when, when_size;
    bool is_equal;
    uint32_t value;
};

#endif
