/*
 * Words: how the case format spells segments, sleeps, flags and numbers.
 *
 * Place      workload. Uses base only; also for messages about an operation.
 * Ownership  Names are constants.
 */
#ifndef WORKLOAD_WORDS_H
#define WORKLOAD_WORDS_H

#include "workload/workload.h"

/* "64M", "0x1000", "3": what the case format accepts as a number. False on anything else. */
bool workload_parse_number(const char *text, size_t length, uint64_t *out);

const char *workload_op_name(enum workload_op_kind kind);
const char *workload_segment_name(enum workload_segment segment);
const char *workload_power_name(enum workload_power power);
const char *workload_fault_name(enum workload_fault fault);
const char *workload_allocation_flag_name(uint32_t flag); /* one bit; NULL when there is none */

/* The words of priorities; ends with name == NULL. */
struct workload_priority_word {
    const char *name;
    uint32_t value;
};
extern const struct workload_priority_word workload_priority_words[];

/* True for an identifier: a letter or '_', then letters, digits, '_', '.', '-', '/'. */
bool workload_is_identifier(const char *text, size_t length);

#endif
