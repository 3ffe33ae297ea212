/*
 * Surroundings: what a driver finds around its board, as a line of text.
 *
 * Place      workload. An option of a case holds it; whoever raises a driver reads it word by word.
 * Model      Words, separated by commas or blanks:
 *
 *                id=ACPI\VEN_BCM&DEV_2850        the hardware ID of the device
 *                value:RenderOnly=1              a REG_DWORD in the keys of the driver
 *                device:\DosDevices\RPIQ         a device of another driver: it can be opened, and
 *                                                answers every request with what was sent
 *                device:\Device\X@4=0x80000000   the same, but for the u32 at byte 4 of the answer
 *
 * Ownership  Texts are borrowed.
 * Errors     A sentence that names the offending word. Only what was checked may be read.
 */
#ifndef DRYDOCK_WORKLOAD_SURROUNDINGS_H
#define DRYDOCK_WORKLOAD_SURROUNDINGS_H

#include "workload/workload.h"

#include <stdbool.h>
#include <stdint.h>

#define WORKLOAD_MAX_SURROUNDING_NAME 100 /* characters */

enum workload_surrounding_kind {
    WORKLOAD_SURROUNDING_ID,
    WORKLOAD_SURROUNDING_VALUE,
    WORKLOAD_SURROUNDING_DEVICE,
};

struct workload_surrounding {
    enum workload_surrounding_kind kind;
    char name[WORKLOAD_MAX_SURROUNDING_NAME + 1];
    bool has_answer; /* DEVICE: a part of the answer is not what was sent */
    uint32_t offset; /* of that part */
    uint32_t number; /* it, or the value */
};

bool workload_surroundings_check(const char *text, struct workload_error *error);

/* The next word of the text, which goes behind it; false at the end, and for NULL. */
bool workload_surroundings_next(const char **text, struct workload_surrounding *out);

#endif
