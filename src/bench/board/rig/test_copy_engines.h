/*
 * Test rig of the model of Intel's copy engines (examples/gpu/intel_blt/): a machine with it, page
 * tables over system and local memory, a ring for each engine, and batches that are made word by
 * word.
 *
 * Place      bench, tests only.
 * Model      blt_put_...() add to the batch; blt_play() writes it, rings and waits for its end.
 */
#ifndef DRYDOCK_BENCH_TEST_COPY_ENGINES_H
#define DRYDOCK_BENCH_TEST_COPY_ENGINES_H

#include "bench/whole_runs/test_model.h"

#include "machine/machine.h"
#include "machine/page_store.h"

#include "../examples/gpu/intel_blt/intel_blt.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* System pages, and the virtual addresses and global ones that they have. */
enum { RING, BATCH, SECOND, DATA, OTHER, SPARE, PAGES };
#define VA(page)     (UINT64_C(0x700000000000) + (page)*PAGE_BYTES)
#define GLOBAL(page) ((page)*PAGE_BYTES)

/* Local memory: tables from TABLES on; pages of 64 KiB, of 4 KiB that make up one, and of 2 MiB. */
#define TABLES        UINT64_C(0x10000)
#define VA_COMPACT    UINT64_C(0x40000000)
#define LOCAL_COMPACT UINT64_C(0x100000) /* two pages, the second one in front */
#define VA_HINT       UINT64_C(0x50000000)
#define LOCAL_HINT    UINT64_C(0x140000)
#define VA_LARGE      UINT64_C(0x80000000)
#define LOCAL_LARGE   UINT64_C(0x200000)
#define VA_NULL       UINT64_C(0x90000000)
#define VA_READ_ONLY  UINT64_C(0x90001000)
#define VA_HUGE       UINT64_C(0x8000000000)
#define VA_NOTHING    UINT64_C(0x123456789000)

#define LOCAL   (IBLT_PTE_PRESENT | IBLT_PTE_WRITABLE | IBLT_PTE_LOCAL)
#define SYSTEM  (IBLT_PTE_PRESENT | IBLT_PTE_WRITABLE)
#define POINTER (IBLT_PTE_PRESENT | IBLT_PTE_WRITABLE)

extern const uint32_t blt_bases[IBLT_ENGINES]; /* registers of each engine */

struct blt_rig {
    struct test_model model;
    uint64_t pages[PAGES];
    uint64_t next_table;
    uint32_t tail[IBLT_ENGINES];
    uint32_t batch[512];
    unsigned words;
    unsigned events;
};

struct blt_shape {
    unsigned depth; /* as the packet says it */
    uint32_t pitch, left, top, right, bottom;
    uint64_t to;
    uint32_t from_pitch, from_left, from_top;
    uint64_t from;
    uint32_t tiling;
    uint32_t to_slice, to_slice_rows; /* of an array or a volume; rows are multiples of 4 */
    uint32_t from_slice, from_slice_rows;
};

void blt_write_local(struct blt_rig *rig, uint64_t at, const void *from, uint64_t bytes);
void blt_write_page(struct blt_rig *rig, unsigned page, uint64_t offset, const void *from,
                    uint64_t bytes);
void blt_read_page(struct blt_rig *rig, unsigned page, uint64_t offset, void *out, uint64_t bytes);
uint32_t blt_word_at(struct blt_rig *rig, unsigned page, uint64_t offset);
void blt_put_word(struct blt_rig *rig, unsigned page, uint64_t offset, uint32_t value);
/* Makes the tables on the way; the entry of this level is set. */
void blt_map_at(struct blt_rig *rig, uint64_t va, unsigned level, uint64_t entry);
void blt_poke(struct blt_rig *rig, uint64_t offset, unsigned size, uint64_t value);
uint32_t blt_peek(struct blt_rig *rig, uint64_t offset);
void blt_start_engines(struct blt_rig *rig);
void blt_open(struct blt_rig *rig);
void blt_close(struct blt_rig *rig);
/* Two seconds, after which a system resets what is not done. */
void blt_run(struct blt_rig *rig);
/* These words come next in the ring of a node; all rings are the same page. */
void blt_ring(struct blt_rig *rig, unsigned node, const uint32_t *words, unsigned count);
void blt_ring_batch(struct blt_rig *rig, unsigned node);
void blt_put(struct blt_rig *rig, uint32_t word);
void blt_put_wide(struct blt_rig *rig, uint64_t value);
void blt_put_zeros(struct blt_rig *rig, unsigned count);
void blt_put_store(struct blt_rig *rig, uint64_t to, uint32_t value);
void blt_write_batch(struct blt_rig *rig, unsigned page);
void blt_play_any(struct blt_rig *rig, unsigned node);
/* The batch as it is by now, to its end. */
void blt_play(struct blt_rig *rig, unsigned node);
/* It stops the engine, with these words; afterwards all are as new. */
void blt_play_fault(struct blt_rig *rig, unsigned node, const char *text);
void blt_put_copy(struct blt_rig *rig, const struct blt_shape *shape);
void blt_put_fill(struct blt_rig *rig, const struct blt_shape *shape, const uint8_t colour[16]);
void blt_put_bytes(struct blt_rig *rig, unsigned page);

#endif
