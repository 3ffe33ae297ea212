/*
 * The parts of the model of the engines that intel_blt.h describes. The model is a plug-in of
 * several files, which share these names; no other program sees them.
 *
 * There are no execution units. A COMPUTE_WALKER does its post-sync operation and nothing else:
 * what its kernel would have written is not known, and stays as it was.
 */
#ifndef EXAMPLES_INTEL_BLT_MODEL_H
#define EXAMPLES_INTEL_BLT_MODEL_H

#include "intel_blt.h"

#include <drydock/gpu_model.h>
#include <drydock/sgpu.h>

#define PAGE          (UINT64_C(1) << IBLT_PAGE_BITS)
#define VA_MASK       ((UINT64_C(1) << IBLT_VA_BITS) - 1)
#define CACHE_ENTRIES 1024u
#define PACKET_MOST   1032u /* words of the longest packet: MI_STORE_DATA_IMM has 10 bits */
#define PIECE_BYTES   (UINT64_C(4) << 20)
#define PACKET_NS     20u
#define TICKS_PER_US  12u /* of the timestamps: 12 MHz */
#define FAULT_BYTES   160u

struct iblt;

struct cached {
    uint64_t page;  /* number of the virtual page plus one; 0: empty */
    uint64_t entry; /* as one of 4 KiB */
};

struct engine {
    struct iblt *gpu;
    unsigned number;

    /* Registers. */
    uint32_t start, ctl, pdp_high;
    uint64_t head, tail; /* ever growing */
    uint64_t root;       /* the root table, by its offset of local memory */
    bool has_root;
    uint32_t nonpriv[IBLT_NONPRIVS];

    /* Where packets come from: the ring at depth 0, a batch at 1, one of second level at 2. */
    unsigned depth;
    uint64_t at[3];
    bool is_virtual; /* the batch has virtual addresses */

    /* The packet that is under way. */
    uint64_t packet_at;
    uint64_t done;    /* bytes of it that have been moved */
    uint64_t poll_ns; /* until a semaphore is looked at again; 0: it has not waited */
    bool has_waited;  /* its time is over */
    uint32_t packets; /* of this batch */
    uint64_t token;   /* of the client's work in it; 0: none */
    uint32_t words[PACKET_MOST];

    bool is_running, has_faulted;
    char text[FAULT_BYTES];
    bool has_cached; /* anything */
    struct cached cache[CACHE_ENTRIES];
};

struct iblt {
    const struct drydock_gpu_host *host;
    struct drydock_gpu_board board;
    struct engine engines[IBLT_ENGINES];
    uint64_t ggtt[IBLT_GGTT_ENTRIES];
};

/* A piece of memory: where it is, or that there is none and nothing is meant to be. */
struct piece {
    struct drydock_gpu_place place;
    uint64_t bytes; /* that follow there */
    bool is_null;
};

/* Rows of bytes that are read, or written. */
struct surface {
    uint64_t address;
    uint64_t pitch;
};

struct blit {
    struct surface to, from;
    uint64_t row_bytes, rows;
    uint8_t colour[16];
    unsigned colour_bytes; /* 0: a copy */
};

/* A kind of packets. */
struct packet {
    uint32_t mask, header;
    uint32_t words;       /* 0: by the lowest bits of word 0, and two */
    uint32_t length_mask; /* 0: of one word */
    unsigned engines;     /* which know it, a bit each */
    const char *name;
    bool (*execute)(struct engine *engine); /* NULL: the engine has a function of its own for it */
};

static inline uint64_t iblt_wide(const uint32_t *words)
{
    return words[0] | (uint64_t)words[1] << 32;
}

static inline uint64_t iblt_smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* ---- memory.c -------------------------------------------------------------------------------- */

/*
 * The leaf entry as one of 4 KiB, 0 where there is none; out_bits: of an offset in the page that
 * the entry maps, or would map. False: a table is where nothing answers.
 */
bool iblt_walk(const struct iblt *gpu, uint64_t root, uint64_t va, uint64_t *out,
               unsigned *out_bits);

/* is_virtual: in the engine's address space, else global. False: nothing that may be used is there.
 */
bool iblt_find(struct engine *engine, bool is_virtual, uint64_t address, bool is_write,
               struct piece *out);
/* The same, for as many bytes as lie one behind the other in memory, at most so many. */
bool iblt_find_run(struct engine *engine, uint64_t va, bool is_write, uint64_t most,
                   struct piece *out);
bool iblt_read(struct engine *engine, bool is_virtual, uint64_t from, void *out, uint64_t bytes);
bool iblt_write(struct engine *engine, bool is_virtual, uint64_t to, const void *from,
                uint64_t bytes);

/* What the engine has cached is forgotten; iblt_invalidate() tells the host, too. */
void iblt_forget(struct engine *engine);
void iblt_invalidate(struct engine *engine);

/* ---- registers.c ----------------------------------------------------------------------------- */

extern const uint32_t iblt_bases[IBLT_ENGINES];

/* The engine that has a register at the offset, or NULL. */
struct engine *iblt_engine_of(struct iblt *gpu, uint64_t offset);

uint32_t iblt_read_any(struct iblt *gpu, uint64_t offset);
void iblt_write_any(struct iblt *gpu, uint64_t offset, uint32_t value);
void iblt_write_ggtt(struct iblt *gpu, uint64_t at, const void *from, unsigned size);

uint64_t iblt_ring_bytes(const struct engine *engine);

/* The time, in ticks of the timestamps. */
uint64_t iblt_ticks(const struct iblt *gpu);

/* ---- packets.c ------------------------------------------------------------------------------- */

/* NULL: it is not known. */
const struct packet *iblt_packet_of(uint32_t header);

/* Always false: the packet has failed. Its address goes with the fault. */
bool iblt_fails(struct engine *engine, const char *what, uint64_t address);

/* True: the wait is over. False and no text: not yet. */
bool iblt_wait_semaphore(struct engine *engine);

/* ---- blit.c ---------------------------------------------------------------------------------- */

/* What the packet is to do. False: it makes no sense. */
bool iblt_take_blit(struct engine *engine, struct blit *out);

/* The next piece, of at most PIECE_BYTES. False: it failed. */
bool iblt_blit(struct engine *engine, const struct blit *blit);

/* ---- work.c ---------------------------------------------------------------------------------- */

bool iblt_is_work(const uint32_t *words);
uint32_t iblt_work_ns(const uint32_t *words);

/* A NOOP; what stands in it is carried out. */
bool iblt_no_op(struct engine *engine);

/* ---- engine.c -------------------------------------------------------------------------------- */

bool iblt_has_packets(const struct engine *engine);

/* The engine goes on after so many nanoseconds. */
void iblt_rest(struct engine *engine, uint64_t ns);
void iblt_reset_engines(struct iblt *gpu);

/* ---- user_mode.c ----------------------------------------------------------------------------- */

/* Members of struct drydock_gpu_model and struct drydock_gpu_application. */
uint32_t iblt_allocation_data(void *self, const struct drydock_gpu_allocation *allocation,
                              void *out, uint32_t room);
uint64_t iblt_client_bytes(void *self, const void *data, uint32_t bytes);
int32_t iblt_escape(void *self, void *data, uint32_t bytes);

/* ---- walk.c ---------------------------------------------------------------------------------- */

bool iblt_walk_batch(void *self, uint64_t va, uint64_t bytes, const struct drydock_gpu_walk *walk);
uint32_t iblt_commands(void *self, const struct drydock_gpu_work *work, void *out, uint32_t room);

#endif
