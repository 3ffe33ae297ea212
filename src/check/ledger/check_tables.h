/*
 * Tables: the ledger's account of page tables, made from the operations that write them.
 *
 * Place      check, private; part of the ledger. Entered when an operation has been built, read by
 *            the watchers of page tables and of whatever uses addresses.
 * Model      A table is known by its process, level, page size and the first address that it
 *            translates; its memory by the address in the operation (of the driver's update mode)
 *            and, where the paging process maps it or the mode names it, by its place (segment and
 *            page). The same table may get another memory: then the account has both until the
 *            place is used for something else, and the newer one is current. Entries are kept as
 *            runs of ascending pages; an index in no run is invalid. An entry is a word
 *            (check_word_of()), 0: invalid. The account is of built operations, which the GPU may
 *            not have executed yet. After a reset or a loss of power a table is unknown until
 *            it is initialised again.
 * Ownership  Tables belong to their process in the ledger.
 * Errors     False: no memory, and the table has no runs any more and is unknown.
 * Units      Pages of 4 KiB.
 */
#ifndef DRYDOCK_CHECK_TABLES_H
#define DRYDOCK_CHECK_TABLES_H

#include "base/list.h"
#include "check/check.h"
#include "check/ledger/id_map.h"

#include <ntddk.h>
#include <dispmprt.h>
#include <d3dkmddi.h>

#include <stdbool.h>
#include <stdint.h>

struct check_ledger;
struct check_process;

/* A run of entries: word, word + 1, ... or all the same. */
struct check_run {
    uint32_t first, count;
    uint64_t word;
    bool is_same;
};

/* Ascending; an index in none of them is invalid. */
struct check_runs {
    struct check_run *items;
    uint32_t count, capacity;
};

struct check_table {
    struct list link; /* of its process */
    struct check_process *process;
    unsigned level;
    bool is_64k;
    uint64_t first_va;
    uint64_t number;                   /* in the order in which they were entered, from 1 */
    uint64_t cpu_address, gpu_address; /* as operations name it, 0: none did */
    uint64_t place;                    /* CHECK_PLACE(), CHECK_NOWHERE: not known */
    uint64_t epoch;             /* in which it was initialised; 0: its entries are not known */
    uint32_t initialised_count; /* entries with InitialUpdate, in any order */
    bool is_current;            /* no other memory has taken its role */
    bool is_initialised, is_evicted;
    uint64_t event;     /* of its initialisation */
    uint64_t rewritten; /* operation that last changed a valid entry */
    uint64_t written;   /* operation that last wrote it */
    bool is_by_cpu;     /* which the CPU did, at once */
    struct check_runs runs;
    struct check_runs pointers_64k; /* of level 1 with two pointers to an entry: the second ones */
};

#define CHECK_NOWHERE              UINT64_MAX
#define CHECK_PLACE(segment, page) ((uint64_t)(segment) << 48 | (page))

/* Bytes that commands of an operation wrote to tables. */
struct check_table_write {
    struct check_place place;
    uint64_t bytes, operation;
};
#define CHECK_TABLE_WRITES 512u

/* Entries of a table that an operation asked for, one behind the other. */
struct check_asking {
    uint64_t operation;
    uint64_t table; /* its number */
    uint32_t first, count;
    uint64_t word;  /* of the first; it is repeated, or goes on as a run does: */
    uint32_t known; /* ... so many of them do */
    bool is_initial, is_repeat, is_by_cpu, is_copy;
};
#define CHECK_ASKINGS 1024u

/* Of all tables; part of the ledger. */
/*
 * Updates of page tables that are followed, and judged, in a run. Pages that lie anywhere are a run
 * each, so a run of millions of updates would cost several times as much without the limit.
 */
#define CHECK_TABLES_FOLLOWED 8192u

struct check_tables {
    bool has_wrong_entry;        /* an entry in memory was found that nobody asked for */
    struct id_map by_place;      /* of the driver's memory: CHECK_PLACE() + 1, or CPU address */
    struct id_map by_address[3]; /* by update mode: as operations name it */
    uint64_t epoch;
    uint64_t count;   /* ever */
    uint64_t updates; /* ever */
    bool is_off;      /* there were CHECK_TABLES_FOLLOWED: nothing is known from there on */
    struct check_table_write writes[CHECK_TABLE_WRITES]; /* a ring of the GPU's last ones */
    uint64_t write_count;                                /* ever */
    struct check_asking askings[CHECK_ASKINGS];          /* a ring of the last ones */
    uint64_t asking_count;                               /* ever */
    uint32_t most_root_entries; /* that GetRootPageTableSize gave, with a root that grows */
};

/* ---- Words ---- */

#define CHECK_WORD_PAGE_BITS 40
#define CHECK_WORD_PAGE_MASK ((UINT64_C(1) << CHECK_WORD_PAGE_BITS) - 1)
uint64_t check_word_of(const DXGK_PTE *entry); /* 0 unless Valid */
DXGK_PTE check_word_entry(uint64_t word);
static inline uint64_t check_word_page(uint64_t word)
{
    return word & CHECK_WORD_PAGE_MASK;
}
unsigned check_word_segment(uint64_t word);

/* ---- Shape ---- */

unsigned check_level_shift(const struct check_ledger *ledger,
                           unsigned level); /* of an entry's range */
/* Entries of a table; 0: not known, a root that grows and nobody has asked about. */
uint32_t check_level_entries(const struct check_ledger *ledger, unsigned level, bool is_64k);
/* What one entry translates. */
uint64_t check_level_bytes(const struct check_ledger *ledger, unsigned level, bool is_64k);
/* The first address that the table with the entry for va translates. */
uint64_t check_table_start(const struct check_ledger *ledger, unsigned level, uint64_t va);
uint32_t check_table_index(const struct check_ledger *ledger, const struct check_table *table,
                           uint64_t va);
bool check_root_grows(const struct check_ledger *ledger);

/* ---- Finding ---- */

/* The table that is current; NULL: there is none. */
struct check_table *check_find_table(const struct check_process *process, unsigned level,
                                     bool is_64k, uint64_t first_va);
/* What an operation is about, whose memory may have been replaced; NULL: nothing that is known. */
struct check_table *check_table_of_update(const struct check_ledger *ledger,
                                          const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update);
/* The table in whose memory something is now to be initialised; NULL: none was there. */
struct check_table *check_table_in_place_of(const struct check_ledger *ledger,
                                            const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update);
/*
 * The current table with the role (process, level, addresses) of that of an operation; NULL: none.
 */
struct check_table *check_table_in_role_of(const struct check_ledger *ledger,
                                           const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update);
/* The table whose memory the paging process sees at an address; out: the entry there. */
struct check_table *check_table_at_address(const struct check_ledger *ledger, uint64_t va,
                                           uint32_t *out_index);
/* It was initialised since the last reset, and has memory of its own. */
bool check_table_is_known(const struct check_ledger *ledger, const struct check_table *table);
/* 0: invalid. */
uint64_t check_runs_word(const struct check_runs *runs, uint32_t index);
/* The first run that ends behind index; NULL: none. Valid until the table is written. */
const struct check_run *check_runs_from(const struct check_runs *runs, uint32_t index);
/* The one behind it; NULL: none. */
const struct check_run *check_runs_next(const struct check_runs *runs, const struct check_run *run);
/* Some entry in the range is valid. */
bool check_runs_has_valid(const struct check_runs *runs, uint32_t first, uint32_t count);
uint64_t check_run_word(const struct check_run *run, uint32_t index);
/* The parent's entry leads to the table, and so on up to the root; out: the root. */
bool check_table_is_reachable(const struct check_ledger *ledger, const struct check_table *table,
                              const struct check_table **out_root);
/* The word of the entry that translates an address of a process; 0: none that is known. */
uint64_t check_translate(const struct check_ledger *ledger, const struct check_process *process,
                         uint64_t va, uint64_t *out_page);

/* The leaf tables for an address are: what check_translate() does not find is not there. */
bool check_is_leaf_known(const struct check_ledger *ledger, const struct check_process *process,
                         uint64_t va);

/* ---- For the ledger ---- */

void check_tables_init(struct check_tables *tables, const struct base_services *services);
void check_tables_fini(struct check_tables *tables); /* after all processes */
void check_tables_forget_process(struct check_ledger *ledger, struct check_process *process);
/* All that is known of memory is not, until it is written again. */
void check_tables_lose(struct check_tables *tables);
void check_tables_note_write(struct check_tables *tables, struct check_place place, uint64_t bytes,
                             uint64_t operation);
/*
 * What was asked of an entry last (before: NULL), or in front of that; NULL: nothing that is known.
 */
const struct check_asking *check_tables_asked(const struct check_tables *tables,
                                              const struct check_table *table, uint32_t index,
                                              const struct check_asking *before);
/* Of one of the known. */
uint64_t check_asking_word(const struct check_asking *asking, uint32_t index);
/* The operation whose commands wrote there last; 0: nobody knows. */
uint64_t check_tables_find_write(const struct check_tables *tables, struct check_place place);
bool check_tables_update(struct check_ledger *ledger,
                         const DXGK_BUILDPAGINGBUFFER_UPDATEPAGETABLE *update, uint64_t event);
bool check_tables_copy(struct check_ledger *ledger,
                       const DXGK_BUILDPAGINGBUFFER_COPYPAGETABLEENTRIES *copy);

#endif
