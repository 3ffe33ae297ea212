/*
 * Run options: the options of a case as members of struct run_config, both ways.
 *
 * Place      bench, beside run_config.c. Used by the functions of run_config.h that read and write
 *            options, by campaigns, which draw and describe them, and by tests.
 * Model      Row i is the member of workload_options[i]: both are made of the rows of
 *            workload/case/run_options.inc. A case's options go over a configuration; what of a
 *            configuration is not as by default is written as options of a case, which then plays
 *            the same without the command line.
 *
 *            A member is a number (bool, enumeration, set of bits, bytes, level) or a text. A value
 *            is what the case format says of it: a number, or one of the option's words.
 * Ownership  Texts that come from a case are lent by it.
 */
#ifndef DRYDOCK_BENCH_RUN_OPTIONS_H
#define DRYDOCK_BENCH_RUN_OPTIONS_H

#include "bench/config/run_config.h"
#include "workload/case/options.h"

enum run_option_kind {
    RUN_OPTION_NUMBER,
    RUN_OPTION_CHOICE,    /* the place of the word */
    RUN_OPTION_SET,       /* bits, by the places of the words */
    RUN_OPTION_LEVEL,     /* "3.0" is 30 */
    RUN_OPTION_TEXT,      /* a name, a template, surroundings */
    RUN_OPTION_LOCAL,     /* local_bytes, of which the option says visible_bytes */
    RUN_OPTION_INVISIBLE, /* visible_bytes, of which the option says what is beyond it */
    RUN_OPTION_NONE,      /* of an option that no run follows */
};

struct run_option {
    const char *member; /* "levels"; NULL: NONE */
    size_t offset, size;
    enum run_option_kind kind;
};

extern const struct run_option run_options[WORKLOAD_OPTION_COUNT];

#define RUN_OPTION_VALUE_BYTES (WORKLOAD_MAX_OPTION_VALUE + 1)

/* A member that is no text. */
uint64_t run_option_number(size_t place, const struct run_config *config);
void run_option_set_number(size_t place, struct run_config *config, uint64_t number);

/* The value of the member as a case says it; "" of a text that is not there. */
void run_option_print(size_t place, const struct run_config *config,
                      char out_value[RUN_OPTION_VALUE_BYTES]);

/* A value that workload_check_option() has approved, over the configuration, which borrows it. */
void run_option_read(size_t place, const char *value, struct run_config *config);

#endif
