/*
 * Run options: which option of a case is which member of struct run_config, in one table.
 *
 * Place      bench, beside run_config.c. Used by the functions of run_config.h that read and write
 *            options, and by the test that no member is without a row.
 * Model      A row is a member and its option, or a member and the reason why it has none. Both
 *            ways go by the table: a case's options over a configuration, and what of a
 *            configuration is no default as options of a case, which then plays the same without
 *            the command line.
 * Ownership  Names (driver) that come from a case are lent by it.
 */
#ifndef DRYDOCK_BENCH_RUN_OPTIONS_H
#define DRYDOCK_BENCH_RUN_OPTIONS_H

#include "bench/config/run_config.h"

enum run_option_kind {
    RUN_OPTION_NUMBER,
    RUN_OPTION_CHOICE, /* an enumeration or bool; words in the order of its values */
    RUN_OPTION_NAME,
    RUN_OPTION_TEMPLATE,     /* of private data; a text, as a name */
    RUN_OPTION_SURROUNDINGS, /* of the board; a text, too */
    RUN_OPTION_LEVEL,        /* wddm: "3.0" is 30 */
    RUN_OPTION_SET,          /* bits; words from the lowest on */
    RUN_OPTION_LOCAL,     /* local-memory, and local-invisible for what is beyond visible_bytes */
    RUN_OPTION_OF_NUMBER, /* a bool that is true when the option of another member is given */
    RUN_OPTION_NONE,      /* the reason stands in place of the option */
};

struct run_option {
    const char *member; /* "mmu.levels" */
    size_t offset, size;
    enum run_option_kind kind;
    const char *key;   /* NONE: why there is none */
    const char *words; /* CHOICE, SET: separated by '|' */
};

/* One word of a CHOICE, that workload_check_option() has approved, over the configuration. */
void run_config_set_choice(struct run_config *config, const char *key, const char *word);

/* By number from 0; NULL behind the last. */
const struct run_option *run_option_at(unsigned index);

#endif
