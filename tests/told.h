/*
 * Told: one hash of all that the tests of a file were told, for a golden file.
 *
 * Place  tests. A rig hands in what its subject calls and answers, and what no test asserts.
 * Model  With DRYDOCK_TOLD=FILE in the environment, the process of each file of tests appends a
 *        line to FILE when it ends: its module, its name, how much was told, and the hash.
 *        scripts/golden.sh compares these lines with tests/golden/units.txt. Without the variable
 *        nothing is hashed. DRYDOCK_TOLD_TEXT=FILE writes down what is hashed, for who wants to
 *        know what has changed.
 *        What is told must be the same in each build: no address of the host, no time.
 */
#ifndef DRYDOCK_TESTS_TOLD_H
#define DRYDOCK_TESTS_TOLD_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* By the runner: the tests of this file begin, in this process. */
void told_begin(const char *module, const char *file);

bool told_is_wanted(void);
void told_text(const char *text);
void told_number(uint64_t number);

/* An array of 64-bit words, or a structure that is one. */
void told_numbers(const void *numbers, size_t size);

#endif
