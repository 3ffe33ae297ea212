/*
 * Two system DMA engines of AMD's kind (SDMA 4, "Vega"), with the memory controller in front of
 * them: what their driver (examples/driver-sdma) and their model (sdma.c) both know.
 *
 * Engines    Each reads a ring from RPTR to WPTR. Packets of the ring have physical addresses (VMID
 *            0); INDIRECT runs a buffer whose addresses, and the buffer's own, are those of a VMID.
 *            FENCE writes a value, TRAP interrupts with the engine's number as the message. A
 *            packet that is not known, and an address that nothing answers, stop the engine until
 *            it is reset, without a word.
 * Addresses  Physical: local memory ("frame buffer") from SDMA_FB on, the system's below.
 *            Virtual: 48 bits, four levels of tables of 512 entries of 8 bytes. An entry has
 *            SDMA_PTE_*; where SYSTEM is not set, its address is an offset of local memory.
 *            Translations that are valid are cached, by VMID, until INVALIDATE names it.
 * Source     Facts from the Linux kernel's public headers and driver: opcodes and fields from
 *            vega10_sdma_pkt_open.h, the order of dwords from the packets that sdma_v4_0.c emits,
 *            bits of page-table entries from amdgpu_vm.h. Registers have the names that those have,
 *            and places of their own. No code of theirs is here.
 */
#ifndef EXAMPLES_SDMA_H
#define EXAMPLES_SDMA_H

#define SDMA_ENGINES 2u
#define SDMA_VMIDS   16u

/* ---- Registers, 4 bytes each ----------------------------------------------------------------- */

/* Base address 0 is local memory, 2 doorbells, 4 the other registers. Each engine has a message. */
#define SDMA_REGISTER_BYTES 4096u
#define SDMA_DOORBELL_BYTES 4096u

/* Of an engine, from its block on. */
#define SDMA_BLOCK(engine) (0x100u * (engine))
#define SDMA_RB_CNTL       0x00u /* bit 0: enabled; bits 1 to 5: log2 of the ring's dwords */
#define SDMA_RB_BASE       0x04u /* address of the ring, bits 8 to 39 */
#define SDMA_RB_BASE_HI    0x08u /* bits 40 on */
#define SDMA_RB_RPTR       0x0cu /* r: in bytes, ever growing */
#define SDMA_RB_WPTR       0x10u /* the same; starts the engine */
#define SDMA_RESET         0x14u /* w: stands still, and all of its registers are 0 */
#define SDMA_TRAPS         0x18u /* r: contexts of the traps since the last read, a bit each */

/* Of the memory controller. */
#define SDMA_VM_BASE(vmid)                                                                         \
    (0x800u + 8u * (vmid))        /* of the root table, with SDMA_PTE_SYSTEM; low half */
#define SDMA_VM_INVALIDATE 0x900u /* w: a bit for each VMID */

/* The doorbell of an engine: WPTR by another name, in a page that could be an application's. */
#define SDMA_DOORBELL(engine) (8u * (engine))

/* ---- Packets --------------------------------------------------------------------------------- */

/* Bits 0 to 7 of a packet's first dword; bits 8 to 15 are a variant, all of which are 0 here. */
enum {
    SDMA_OP_NOP = 0, /* bits 16 to 29 of the first dword: so many dwords follow */
    SDMA_OP_COPY = 1,
    SDMA_OP_WRITE = 2,
    SDMA_OP_INDIRECT = 4, /* of a ring only; bits 16 to 19: VMID */
    SDMA_OP_FENCE = 5,
    SDMA_OP_TRAP = 6,
    SDMA_OP_CONST_FILL = 11, /* bits 30 and 31: 2 says that whole dwords are filled */
    SDMA_OP_PTEPDE = 12,
    SDMA_OP_SRBM_WRITE = 14, /* bits 28 to 31: bytes that are written, 15 */
};

/* Dwords. Addresses and other 64-bit values are two of them, low half first. */
#define SDMA_COPY_DWORDS     7u /* 1: bytes less one; 3: source; 5: destination */
#define SDMA_WRITE_DWORDS    4u /* 1: destination; 3: dwords less one; they follow */
#define SDMA_INDIRECT_DWORDS 6u /* 1: address, of whole 32 bytes; 3: dwords; 4: 0 */
#define SDMA_FENCE_DWORDS    4u /* 1: address; 3: value */
#define SDMA_TRAP_DWORDS     2u /* 1: context, 28 bits */
#define SDMA_FILL_DWORDS     5u /* 1: destination; 3: value; 4: bytes less one */
#define SDMA_PTEPDE_DWORDS                                                                         \
    10u /* 1: destination; 3: flags; 5: address; 7: increment; 9: entries less one */
#define SDMA_SRBM_DWORDS 3u /* 1: register, in dwords; 2: value */
#define SDMA_IB_ALIGN    32u

#define SDMA_MOST_BYTES   (1u << 22) /* of COPY and CONST_FILL */
#define SDMA_MOST_DWORDS  (1u << 20) /* of WRITE and INDIRECT */
#define SDMA_MOST_ENTRIES (1u << 19) /* of PTEPDE */

#define SDMA_NOP(follow)    (SDMA_OP_NOP | (unsigned)(follow) << 16)
#define SDMA_INDIRECT(vmid) (SDMA_OP_INDIRECT | (unsigned)(vmid) << 16)
#define SDMA_CONST_FILL     (SDMA_OP_CONST_FILL | 2u << 30)
#define SDMA_SRBM_WRITE     (SDMA_OP_SRBM_WRITE | 15u << 28)

/* ---- Addresses ------------------------------------------------------------------------------- */

#define SDMA_FB (0x80ull << 32)

#define SDMA_PTE_VALID        (1ull << 0)
#define SDMA_PTE_SYSTEM       (1ull << 1)
#define SDMA_PTE_EXECUTABLE   (1ull << 4)
#define SDMA_PTE_READABLE     (1ull << 5)
#define SDMA_PTE_WRITEABLE    (1ull << 6)
#define SDMA_PTE_ADDRESS_MASK 0x0000fffffffff000ull
#define SDMA_PTE_SOFTWARE     59 /* and the three bits behind: the driver's, for DriverProtection */
#define SDMA_SOFTWARE_MASK    0xfull
#define SDMA_LEVELS           4u
#define SDMA_LEVEL_BITS       9u
#define SDMA_PAGE_BITS        12u
#define SDMA_VA_BITS          48u

/*
 * The client's work (drydock/gpu_model.h, "commands") is a NOP that the model reads, and that
 * hardware would skip. 1: magic, flags, index, nanoseconds; 5: token, address, bytes, key.
 */
#define SDMA_WORK_DWORDS 13u
#define SDMA_WORK_MAGIC  0x4b524f57u /* "WORK" */
#define SDMA_WORK_READ   1u
#define SDMA_WORK_WRITE  2u

#endif
