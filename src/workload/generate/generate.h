/*
 * Generators: workloads computed from a few parameters and a seed.
 *
 * Place      workload. Each generator is one file that fills a builder; workload_generators[] is
 *            the list that the command line shows.
 * Model      A parameter has a name, a default and a sentence. Numbers take the case format's
 *            suffixes. The same generator, parameters and seed give the same workload.
 * Errors     bool and struct workload_error: an unknown parameter, a value outside its limits,
 *            or a combination that makes no sense (the message says which).
 */
#ifndef WORKLOAD_GENERATE_H
#define WORKLOAD_GENERATE_H

#include "workload/workload.h"

struct gen; /* what a generator works with: gen.h */

struct workload_param {
    const char *name;
    const char *choices; /* words separated by '|', then the value is the word's position */
    uint64_t fallback;   /* default */
    uint64_t min, max;   /* inclusive */
    const char *summary;
};

struct workload_generator {
    const char *name;
    const char *summary;
    const struct workload_param *params; /* ends with name == NULL; the order is that of values */
    void (*generate)(struct gen *gen, const uint64_t *values); /* values[i] is of params[i] */
};

extern const struct workload_generator workload_generators[]; /* ends with name == NULL */

/* Parameters that every generator has: seed, pressure, local-memory. Ends with name == NULL. */
extern const struct workload_param workload_common_params[];

const struct workload_generator *workload_find_generator(const char *name);

/* settings[i] is "KEY=VALUE". */
bool workload_generate(const char *name, const char *const *settings, size_t setting_count,
                       struct workload **out, struct workload_error *error);

#endif
