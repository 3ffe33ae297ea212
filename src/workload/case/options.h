/*
 * Options of a case: which there are, and what values each takes.
 *
 * Place      workload, below the builder. The values that a case sets are asked for through
 *            workload.h; the bench has the same options by the same places (bench/config/
 *            run_options.h).
 * Model      workload_options[] is the columns of run_options.inc that the case format needs, in
 *            the order of its rows.
 * Ownership  The table is constant.
 * Errors     bool, and one line in struct workload_error.
 */
#ifndef DRYDOCK_WORKLOAD_OPTIONS_H
#define DRYDOCK_WORKLOAD_OPTIONS_H

#include "workload/case/surroundings.h"
#include "workload/case/template.h"
#include "workload/workload.h"

/* Characters of a value, of whatever type. */
#define WORKLOAD_MAX_OPTION_VALUE WORKLOAD_MAX_SURROUNDINGS

enum workload_option_type {
    WORKLOAD_OPTION_NUMBER,   /* with K, M, G, as all numbers */
    WORKLOAD_OPTION_SIZE,     /* a number of bytes */
    WORKLOAD_OPTION_MEMORY,   /* the same, and a smaller case may do with less */
    WORKLOAD_OPTION_CHOICE,   /* one of the words */
    WORKLOAD_OPTION_WORDS,    /* some of the words, separated by commas */
    WORKLOAD_OPTION_NAME,     /* letters, digits and _ . : / @ + = ~ , -, at most 250 */
    WORKLOAD_OPTION_PATH,     /* a name, or a file's: no control characters, at most 250 bytes */
    WORKLOAD_OPTION_TEMPLATE, /* of private data (workload/case/template.h), kept with commas */
    WORKLOAD_OPTION_SURROUNDINGS, /* workload/case/surroundings.h, the same */
};

/* In which runs an option counts. */
struct workload_option_where {
    unsigned models; /* 1 << the place of a word of the option "model" */
    unsigned wddm;   /* from this level on: 31 is WDDM 3.1; 0: all */
};
#define WORKLOAD_IN_PHYSICAL (1u << 0)
#define WORKLOAD_IN_GPUMMU   (1u << 1)
#define WORKLOAD_IN_IOMMU    (1u << 2)
#define WORKLOAD_IN_ALL      (WORKLOAD_IN_PHYSICAL | WORKLOAD_IN_GPUMMU | WORKLOAD_IN_IOMMU)

struct workload_option_info {
    const char *key;
    enum workload_option_type type;
    const char *const *words; /* CHOICE, WORDS: ended by NULL; else NULL */
    uint64_t min, max;        /* NUMBER, SIZE, MEMORY: inclusive */
    struct workload_option_where where;
    bool is_followed; /* by a run of this bench */
    const char *text; /* for the manual: a sentence with the marks of its format */
};

/* How many rows run_options.inc has. */
enum {
    WORKLOAD_OPTION_COUNT = 0
#define RUN_OPTION(...)     +1
#define RUN_MMU_OPTION(...) +1
#define CASE_OPTION(...)    +1
#include "workload/case/run_options.inc"
};

extern const struct workload_option_info workload_options[WORKLOAD_OPTION_COUNT];

/* The place of a key in the table; WORKLOAD_OPTION_COUNT: there is none. */
size_t workload_option_place(const char *key);

/* A value that was checked, as workloads keep it: itself, or written anew in room. */
const char *workload_option_as_kept(const char *key, const char *value,
                                    char room[WORKLOAD_MAX_OPTION_VALUE + 1]);

/* What the values of an option are, in words: "4K to 1G", "`no`, `yes`". */
void workload_option_values(const struct workload_option_info *info, char *out, size_t out_bytes);

/* In which runs it counts, in words: "Physical model", "WDDM 3.2"; "" for all. */
void workload_option_runs(const struct workload_option_info *info, char *out, size_t out_bytes);

#endif
