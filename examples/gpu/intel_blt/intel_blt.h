/*
 * Command streamers and copy engines of Intel's kind (Xe HPG, "DG2"), with their page tables: what
 * their driver (examples/driver-intel) and their model (the other files here) both know.
 *
 * Engines    Each reads a ring from HEAD to TAIL. The ring's packets may do everything; batches,
 *            which MI_BATCH_BUFFER_START enters with bit 8, have virtual addresses, and may write
 *            only the registers that FORCE_TO_NONPRIV names: other writes do nothing. A packet that
 *            is not known, or not the engine's, and an address that nothing answers, stop the
 *            engine until it is reset.
 * Addresses  Global (GGTT): of the driver's own, by a table of one level, the first entries of
 *            which there are here. Virtual: 48 bits, four levels of tables of 512 entries of 8
 * bytes, all of them in local memory. Translations that are valid are cached, for each engine by
 *            itself, until TLB_INV or MI_FLUSH_DW of that engine says otherwise, or another root is
 *            loaded.
 * Source     Intel's programmer's reference manuals of these parts, which are public; the MIT
 *            headers of Intel's compute runtime (packets that it emits) and of Linux' i915 and xe
 *            (page-table bits, registers). Registers have their places there. Of two blitters the
 *            second is ours alone: DG2 has one, parts with more have them where ours is. No code of
 *            theirs is here.
 */
#ifndef EXAMPLES_INTEL_BLT_H
#define EXAMPLES_INTEL_BLT_H

enum {
    IBLT_NODE_RENDER, /* and compute */
    IBLT_NODE_VIDEO,  /* of its packets only MI_* are known */
    IBLT_NODE_COPY,
    IBLT_NODE_PAGING, /* a copy engine, too */
    IBLT_ENGINES,
};

/* ---- Registers, 4 bytes each, of base address 0 ---------------------------------------------- */

#define IBLT_REGISTER_BYTES (16u << 20)
#define IBLT_GGTT           (8u << 20) /* entries, 8 bytes each, of pages of 4 KiB */
#define IBLT_GGTT_ENTRIES   4096u
#define IBLT_GGTT_LOCAL     (1ull << 1) /* beside IBLT_PTE_PRESENT and an address */

/* Where the registers of an engine begin, by its node. */
#define IBLT_BASES                                                                                 \
    {                                                                                              \
        0x2000u, 0x1c0000u, 0x22000u, 0x3e0000u                                                    \
    }
#define IBLT_RING_TAIL         0x30u /* bytes, of whole 8; starts the engine */
#define IBLT_RING_HEAD         0x34u
#define IBLT_RING_START        0x38u /* GGTT address, of whole pages */
#define IBLT_RING_CTL          0x3cu /* bit 0: valid; bits 12 to 20: pages less one */
#define IBLT_PDP0              0x270u
#define IBLT_PDP0_UDW          0x274u /* the root table; is loaded when PDP0 is written */
#define IBLT_TIMESTAMP         0x358u
#define IBLT_CONTEXT_TIMESTAMP 0x3a8u
#define IBLT_NONPRIV(i)        (0x4d0u + 4u * (i)) /* registers that batches may write */
#define IBLT_NONPRIVS          12u

#define IBLT_RESET      0x941cu /* bit 0: all engines */
#define IBLT_TLB_RENDER 0xced8u /* of the engines of a kind, a bit each, from bit 0 on */
#define IBLT_TLB_VIDEO  0xcedcu
#define IBLT_TLB_COPY   0xcee4u

/* ---- Packets --------------------------------------------------------------------------------- */

/* Bits 29 to 31 of word 0: 0 MI, 2 copies, 3 rendering and compute. */
#define IBLT_MI(opcode)  ((opcode) << 23)
#define IBLT_BLT(opcode) (2u << 29 | (opcode) << 22)

enum {
    IBLT_MI_NOOP = IBLT_MI(0x00u), /* bits 0 to 21: a number, for whoever reads the batch */
    IBLT_MI_USER_INTERRUPT = IBLT_MI(0x02u),
    IBLT_MI_ARB_CHECK = IBLT_MI(0x05u),
    IBLT_MI_ARB_ON_OFF = IBLT_MI(0x08u),
    IBLT_MI_BATCH_END = IBLT_MI(0x0au),
    IBLT_MI_SEMAPHORE_WAIT = IBLT_MI(0x1cu),
    IBLT_MI_STORE_DATA = IBLT_MI(0x20u),
    IBLT_MI_LOAD_REGISTER = IBLT_MI(0x22u),
    IBLT_MI_STORE_REGISTER = IBLT_MI(0x24u),
    IBLT_MI_FLUSH_DW = IBLT_MI(0x26u),
    IBLT_MI_COPY_MEM_MEM = IBLT_MI(0x2eu),
    IBLT_MI_BATCH_START = IBLT_MI(0x31u),
};
#define IBLT_BLOCK_COPY IBLT_BLT(0x41u)
#define IBLT_FAST_COLOR IBLT_BLT(0x44u)
#define IBLT_MEM_COPY   IBLT_BLT(0x5au) /* of Xe HPC and later: DG2's driver does not send them */
#define IBLT_MEM_SET    IBLT_BLT(0x5bu)

#define IBLT_PIPE_CONTROL   0x7a000000u
#define IBLT_COMPUTE_WALKER 0x72080000u

/* Words of a packet; word 0 has them less two. */
#define IBLT_BATCH_START_WORDS 3u
#define IBLT_FLUSH_WORDS       5u
#define IBLT_BLOCK_COPY_WORDS  22u
#define IBLT_FAST_COLOR_WORDS  16u
#define IBLT_MEM_COPY_WORDS    10u
#define IBLT_MEM_SET_WORDS     7u

#define IBLT_PPGTT         (1u << 8)  /* MI_BATCH_BUFFER_START: virtual addresses */
#define IBLT_SECOND_LEVEL  (1u << 22) /* ... to come back from */
#define IBLT_STORE_GGTT    (1u << 22) /* MI_STORE_DATA_IMM, MI_STORE_REGISTER_MEM, semaphores */
#define IBLT_STORE_QWORDS  (1u << 21)
#define IBLT_STORE_MOST    0x1feu     /* quad words */
#define IBLT_FLUSH_WRITE   (1u << 14) /* MI_FLUSH_DW: a quad word behind all before; 3: the time */
#define IBLT_FLUSH_TLB     (1u << 18)
#define IBLT_ADDRESS_GGTT  (1u << 2)        /* in MI_FLUSH_DW's address */
#define IBLT_REMAP         (1u << 17)       /* registers: of the engine that runs the packet */
#define IBLT_MATRIX        (1u << 17)       /* MEM_COPY, MEM_SET: rows; else one */
#define IBLT_DEPTH(bytes2) ((bytes2) << 19) /* 0 to 5: 1, 2, 4, 8, 12, 16 bytes */

/* ---- Page tables ----------------------------------------------------------------------------- */

#define IBLT_PTE_PRESENT      (1ull << 0)
#define IBLT_PTE_WRITABLE     (1ull << 1)
#define IBLT_PDE_TABLE_64K    (1ull << 6)  /* level 1: the table has 32 entries of 64 KiB */
#define IBLT_PDE_LARGE        (1ull << 7)  /* level 1: a page of 2 MiB; level 2: of 1 GiB */
#define IBLT_PTE_64K          (1ull << 8)  /* one of 16 that make up 64 KiB: the first counts */
#define IBLT_PTE_NULL         (1ull << 9)  /* no page: reads are 0, writes are lost */
#define IBLT_PTE_LOCAL        (1ull << 11) /* of leaves */
#define IBLT_PTE_ADDRESS_MASK 0x0000fffffffff000ull
#define IBLT_LEVELS           4u
#define IBLT_LEVEL_BITS       9u
#define IBLT_PAGE_BITS        12u
#define IBLT_64K_BITS         16u
#define IBLT_VA_BITS          48u

/*
 * The client's work (drydock/gpu_model.h, "commands") is a row of MI_NOOP whose numbers the model
 * reads: a magic one; flags and index; two of the nanoseconds; then three for each of token,
 * address, bytes and key, low bits first.
 */
#define IBLT_WORK_WORDS  16u
#define IBLT_WORK_MAGIC  0x2d0c57u
#define IBLT_WORK_READ   1u
#define IBLT_WORK_WRITE  2u
#define IBLT_NUMBER_BITS 22u
#define IBLT_NUMBER_MASK ((1u << IBLT_NUMBER_BITS) - 1)

#endif
