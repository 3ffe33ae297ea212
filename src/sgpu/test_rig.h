/*
 * A machine with a GPU, and a command buffer to build packets in.
 *
 * Place      sgpu, tests only.
 * Model      Packets are built one behind the other; rig_submit() hands those to a node that have
 *            been built since the last time. Nothing runs before rig_run() or a function that
 *            expects something. What is seen then, and all memory at the end, is told
 *            (tests/told.h).
 */
#ifndef DRYDOCK_SGPU_SGPU_TEST_RIG_H
#define DRYDOCK_SGPU_SGPU_TEST_RIG_H

#include "sgpu/sgpu.h"

#include <setjmp.h>
#include <stdarg.h>

#include <cmocka.h>

#define RIG_COMMAND_PAGES UINT64_C(512)
#define RIG_COMMAND_BYTES (RIG_COMMAND_PAGES * PAGE_BYTES)

/* Page-table entries of a page of local memory and of the system's. */
#define RIG_LOCAL_PTE(address)  ((address) | SGPU_PTE_VALID)
#define RIG_SYSTEM_PTE(address) ((address) | SGPU_PTE_VALID | SGPU_PTE_SYSTEM)

struct rig {
    struct machine *machine;
    struct sgpu *gpu;
    struct page_store *ram;
    struct page_store *local;
    uint8_t *bar0;
    uint64_t command_base; /* of the buffer for packets, in RAM, as the CPU sees it */
    uint64_t command_pa;   /* of the next submission in it */
    uint64_t used;         /* bytes of packets so far */
    uint32_t fence;
    uint64_t next_table; /* local address of the next page for a table */
};

/* ---- Life ------------------------------------------------------------------------------------ */

void rig_init_with(struct rig *rig, const struct machine_config *board,
                   const struct sgpu_config *config);
/* The board of rig_init(). */
struct machine_config rig_board(void);
void rig_init(struct rig *rig);
void rig_fini(struct rig *rig);
/* Registers. */
uint32_t rig_read(struct rig *rig, uint64_t offset);
void rig_write(struct rig *rig, uint64_t offset, unsigned size, uint64_t value);

/* ---- Packets -------------------------------------------------------------------------------- */

void rig_bytes(struct rig *rig, const void *bytes, uint64_t size);

/* A packet: its fixed part, and a tail of 64-bit words. The length is filled in. */
void rig_packet(struct rig *rig, enum sgpu_opcode opcode, void *packet, uint64_t size,
                const void *tail, uint64_t tail_size);
void rig_copy(struct rig *rig, uint32_t flags, uint64_t to, uint64_t from, uint64_t bytes);
void rig_fill(struct rig *rig, uint64_t to, uint64_t bytes, uint32_t pattern);
void rig_copy_pages(struct rig *rig, uint32_t flags, uint64_t linear, const uint64_t *pages,
                    uint32_t count);
void rig_gart(struct rig *rig, enum sgpu_opcode opcode, uint32_t flags, uint32_t first,
              uint32_t count, const uint64_t *pages);
void rig_pte(struct rig *rig, enum sgpu_opcode opcode, uint32_t flags, uint64_t table,
             uint32_t first, uint32_t count, const uint64_t *entries);
void rig_flush(struct rig *rig, uint32_t flags, uint64_t root, uint64_t start, uint64_t end);
void rig_fence(struct rig *rig, uint32_t flags, uint64_t address, uint64_t value);
void rig_render(struct rig *rig, uint64_t token, uint64_t duration_ns,
                const struct sgpu_render_ref *refs, uint32_t count);

/* ---- Submitting ----------------------------------------------------------------------------- */

uint32_t rig_submit_at(struct rig *rig, uint32_t node, uint64_t address, uint64_t root,
                       uint64_t size, uint32_t flags);

/* Submit the packets built since the last call; the next packets start behind them. */
uint32_t rig_submit(struct rig *rig, uint32_t node);

/* Until nothing happens any more. */
void rig_run(struct rig *rig);
uint32_t rig_completed(struct rig *rig, uint32_t node);

void rig_reset_node(struct rig *rig, uint32_t node);

/* Run, and expect that the node has completed the fence. */
void rig_expect_done(struct rig *rig, uint32_t node, uint32_t fence);
void rig_execute(struct rig *rig, uint32_t node);

/* Run, and expect that the node has faulted on the fence; then reset it. */
void rig_expect_fault_at(struct rig *rig, uint32_t node, uint32_t fence, uint32_t kind,
                         uint64_t address);
void rig_expect_fault(struct rig *rig, uint32_t node, uint32_t kind, uint64_t address);

/* ---- Page tables by CPU --------------------------------------------------------------------- */

uint64_t *rig_entries(struct rig *rig, uint64_t table);

/* A new empty table in local memory. */
uint64_t rig_table(struct rig *rig);

/* The leaf entry of va, its tables made as needed. */
uint64_t *rig_leaf(struct rig *rig, uint64_t root, uint64_t va);
void rig_map(struct rig *rig, uint64_t root, uint64_t va, uint64_t pages, uint64_t entry);

/* Where rig_submit_virtual() expects the command buffer. */
#define RIG_COMMAND_VA (UINT64_C(1) << 40)

uint64_t rig_root(struct rig *rig);
uint32_t rig_submit_virtual(struct rig *rig, uint32_t node, uint64_t root);
void rig_execute_virtual(struct rig *rig, uint32_t node, uint64_t root);

#endif
