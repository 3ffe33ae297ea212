/*
 * Template: private data of a user-mode driver, laid out by a line of text.
 *
 * Place      workload. Options of a case hold templates; whoever plays the case fills them.
 * Model      A list of fields, one behind the other without gaps, little endian:
 *
 *                size:u64,flags:u32,0x1:u32,0:u8*12
 *
 *            A field is what it holds, a colon, its type (u8, u16, u32, u64), and, where there are
 *            several of it, '*' and their number (at most 256). What it holds is a number or one of
 *            the names in struct workload_template_values; a value that is too large for its type
 *            loses its upper bits. Blanks separate fields as commas do.
 * Ownership  Texts are borrowed.
 * Errors     A sentence that names the offending word. Only what was checked may be filled.
 * Units      Bytes.
 */
#ifndef DRYDOCK_WORKLOAD_TEMPLATE_H
#define DRYDOCK_WORKLOAD_TEMPLATE_H

#include "workload/workload.h"

#include <stdbool.h>
#include <stdint.h>

#define WORKLOAD_MAX_TEMPLATE       250  /* characters */
#define WORKLOAD_MAX_TEMPLATE_BYTES 4096 /* of the data */

/* The values that the names of a template stand for. */
struct workload_template_values {
    uint64_t size;  /* bytes */
    uint64_t pages; /* of 4 KiB, rounded up */
    uint64_t flags; /* SGPU_UMD_* of drydock/sgpu.h */
    uint64_t width; /* pixels of a surface of 4 bytes a pixel that holds at least size */
    uint64_t height;
    uint64_t format; /* of that surface: D3DDDIFMT_A8R8G8B8 */
    uint64_t index;  /* number of the allocation, context or command, from 0 */
    uint64_t seed;   /* of the run */
};

/* The values of an object of so many bytes; the caller sets index, flags and seed. */
struct workload_template_values workload_template_values_of(uint64_t size);

bool workload_template_check(const char *text, struct workload_error *error);

/* Bytes of the data that the template makes; 0 for NULL. */
uint32_t workload_template_bytes(const char *text);
void workload_template_fill(const char *text, const struct workload_template_values *values,
                            uint8_t *out);

#endif
