/*
 * Tables in memory: entries as the GPU reads them, beside those that were asked for.
 *
 * Place      check, private; for watchers. Uses the ledger's account of tables, the walk of the
 *            bench, and reports.
 * Model      A sample is an entry as an operation has asked for it. It is compared with the entry
 *            in memory when that operation has been carried out. `done` is the last operation of
 *            which that is known: the account may be ahead of the GPU.
 *            A mismatch has one cause, so it is told as one rule: the one that the way in which the
 *            entry differs suggests. It stands at the call that built the operation, or at that of
 *            a later operation whose commands wrote to the entry without being asked to.
 */
#ifndef DRYDOCK_CHECK_TABLE_MEMORY_H
#define DRYDOCK_CHECK_TABLE_MEMORY_H

#include "check/check_watch.h"

struct check_sample {
    uint64_t operation; /* 0: nobody knows any more */
    const struct check_process *process;
    uint64_t table; /* its number */
    unsigned level;
    bool is_64k;
    uint64_t first_va, va; /* of the table, of the entry */
    uint32_t index, start; /* of the entry, of the operation */
    uint64_t word;         /* of the entry that was asked for */
    uint64_t protection;
    bool has_protection;
    bool is_initial, is_repeat, is_copy, reads_late, is_by_cpu;
    bool is_beside; /* in front of the operation's first entry, or behind its last */
    unsigned mode;
};

/* Of a place (CHECK_PLACE()), in system memory or as the GPU counts. False: it is no place. */
bool check_place_address(const struct check_ledger *ledger, uint64_t place, bool *out_is_system,
                         uint64_t *out_address);
/* The tables of a process as the GPU walks them. False: nobody can tell. */
bool check_walk_tables(struct check *check, const struct check_process *process, uint64_t va,
                       struct check_gpu_walk *out);

/* The entry of a sample's table as it is in memory. False: nobody can tell. */
bool check_sample_look(struct check *check, uint64_t done, const struct check_sample *sample,
                       const struct check_table *table, struct check_gpu_entry *out);
/* An entry within a GPU page, whose first entry maps all of the page, is not looked at (PT-026). */
bool check_sample_is_hidden(const struct check_sample *sample, const struct check_gpu_entry *found);
bool check_sample_is_right(const struct check_ledger *ledger, const struct check_sample *sample,
                           const struct check_gpu_entry *found);
bool check_entry_leads(const struct check_ledger *ledger, const struct check_gpu_entry *entry,
                       uint64_t word);
/* Counts the rules that a look at a sample evaluates. */
void check_sample_count(struct check *check, const struct check_sample *sample,
                        const struct check_gpu_entry *found);
void check_sample_tell(struct check *check, uint64_t done, const struct check_sample *sample,
                       const struct check_table *table, const struct check_gpu_entry *found);
/* The same, where it is known that the commands or the CPU of another operation wrote there. */
void check_sample_tell_trespass(struct check *check, uint64_t writer,
                                const struct check_sample *sample,
                                const struct check_gpu_entry *found);

/*
 * The GPU has gone by an address of a process and did not come where it should have: tells of the
 * first entry on the way, from the root to the lowest level, that is not as it was asked for.
 * False: all are, or nobody can tell.
 */
bool check_tell_way(struct check *check, const struct check_process *process, uint64_t va,
                    unsigned lowest_level, uint64_t done);

#endif
