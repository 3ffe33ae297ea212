/*
 * Test rig of the checking layer, tables in memory: what a GPU would read there.
 *
 * Place      check, tests only; beside test_rig_tables.h.
 * Model      The tables for RIG_VA as a GPU has them in memory, and a driver that writes them when
 *            the test says so: rightly, but for one mistake. The test has the memory, and sets
 *            rig->walk to NULL before that goes.
 */
#ifndef DRYDOCK_CHECK_TEST_RIG_MEMORY_H
#define DRYDOCK_CHECK_TEST_RIG_MEMORY_H

#include "check/rig/test_rig_tables.h"

enum rig_mistake {
    NO_MISTAKE,
    KEEPS_OLD_BITS,     /* a new table keeps what was in its memory */
    WRITES_FIRST_ONLY,  /* of a repetition */
    WRITES_ONE_MORE,    /* behind the last, invalid */
    SHIFTS_ENTRIES,     /* entry i goes to index i + 1 */
    WRITES_ELSEWHERE,   /* nothing is there */
    FORGETS_PROTECTION, /* of the driver */
    WRITES_AT_ONCE,     /* though the GPU is to do it */
    COUNTS_IN_4K,       /* indices of a 64 KiB table */
    PACKS_ENTRIES,      /* the first entries of the array are those of GPU pages of 16 KiB */
    LEAVES_OUT_MIDDLES, /* no mistake: of each GPU page of 16 KiB the first entry alone */
    SWAPS_POINTERS,     /* of an entry with two */
    READS_EARLY,        /* copies what was there when the copy was built */
};

struct rig_memory {
    struct check_gpu_entry leaf[RIG_ENTRIES], leaf_64k[RIG_ENTRIES], middle[RIG_ENTRIES],
        root[RIG_ENTRIES];
    bool has_16k_pages; /* the GPU's own: the first entry of four is that of all */
};

/* Tables that are made, initialised and linked, as rig_make_tables() does; they are walked now. */
void rig_make_memory(struct rig *rig, struct rig_memory *memory);

/* For rig->walk. */
bool rig_walk_memory(struct rig *rig, bool is_system, uint64_t root, uint64_t va,
                     struct check_gpu_walk *out);

/* The initial update of a whole table. */
void rig_begin_table(struct rig *rig, struct rig_update *update, unsigned level);

/* What the commands of an update do, or the CPU. */
void rig_write_memory(struct rig *rig, const struct rig_update *update, enum rig_mistake mistake);

/* Built, submitted and carried out; the GPU has flushed whatever it was told to. */
void rig_carry_out(struct rig *rig, struct rig_update *update, enum rig_mistake mistake);

/* The same of a mapping of 16 pages of nobody, from page 32 on. */
void rig_carry_out_map(struct rig *rig, uint64_t va, enum rig_mistake mistake);

/* Both kinds of leaf tables, of a GPU whose entries have a pointer to each. */
void rig_make_memory_64k(struct rig *rig, struct rig_memory *memory, enum rig_mistake of_pointer);
void rig_begin_map_64k(struct rig *rig, struct rig_update *update, uint64_t va);

/* For rig->answer: of what is to be built, a part is. */
NTSTATUS rig_answer_in_part(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg);

#endif
