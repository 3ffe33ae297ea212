/*
 * A GPU model that speaks packets of AMD's system DMA engine (SDMA 4, "Vega").
 *
 * Model      One engine reads a ring in memory from RPTR to WPTR and executes linear copy, constant fill,
 *            write, generation of page-table entries, fence and trap; NOP is skipped. A trap interrupts
 *            with message 0. Other packets, and addresses where nothing answers, stop the engine and
 *            are a fault; RESET starts it anew.
 *
 *            Local memory ("frame buffer") answers at FB_BASE of the engine's addresses; all below are
 *            addresses of the system. Entries of page tables name local memory by its offset.
 * Registers  of this model, 4 bytes each; the names are the ring's of the Linux driver:
 *
 *            0x00 RB_CNTL   bit 0: enabled; bits 1 to 5: log2 of the ring's size in dwords
 *            0x04 RB_BASE   address of the ring, bits 8 to 39      0x08 RB_BASE_HI  bits 40 on
 *            0x0c RB_RPTR   r: in bytes, ever growing              0x10 RB_WPTR     the same; starts it
 *            0x14 RESET     w                                      0x18 TRAP        r: context of the last
 * Source     Facts from the Linux kernel's public headers and driver: opcodes and fields from
 *            vega10_sdma_pkt_open.h, the order of dwords from the packets that sdma_v4_0.c emits, bits of
 *            page-table entries from amdgpu_vm.h. No code of theirs is here.
 */
#include <drydock/gpu_model.h>

#include <stdlib.h>

#define FB_BASE (UINT64_C(0x80) << 32)

enum { REG_CNTL = 0x00, REG_BASE = 0x04, REG_BASE_HI = 0x08, REG_RPTR = 0x0c, REG_WPTR = 0x10 };
enum { REG_RESET = 0x14, REG_TRAP = 0x18 };

/* Bits 0 to 7 of a packet's first dword; bits 8 to 15 are a variant, all of which are 0 here. */
enum {
    OP_NOP = 0, /* bits 16 to 29 of the first dword: so many dwords follow */
    OP_COPY = 1,
    OP_WRITE = 2,
    OP_FENCE = 5,
    OP_TRAP = 6,
    OP_CONST_FILL = 11,
    OP_PTEPDE = 12,
};

#define LONGEST_FIXED    10u       /* dwords of the longest packet without data behind it */
#define COUNT_MASK       0x3fffffu /* of bytes, less one */
#define WRITE_COUNT_MASK 0xfffffu  /* of dwords, less one */
#define ENTRY_COUNT_MASK 0x7ffffu  /* of entries, less one */
#define PACKET_NS        50u

/* Page-table entries. */
#define PTE_VALID        (UINT64_C(1) << 0)
#define PTE_SYSTEM       (UINT64_C(1) << 1)
#define PTE_EXECUTABLE   (UINT64_C(1) << 4)
#define PTE_READABLE     (UINT64_C(1) << 5)
#define PTE_WRITEABLE    (UINT64_C(1) << 6)
#define PTE_ADDRESS_MASK UINT64_C(0x0000fffffffff000)
#define LEVELS           4u
#define LEVEL_BITS       9u
#define PAGE_BITS        12u

struct sdma {
    const struct drydock_gpu_host *host;
    struct drydock_gpu_board board;
    uint32_t cntl, base, base_hi, trap;
    uint64_t rptr, wptr; /* in bytes */
    bool is_running, has_faulted;
};

static struct drydock_gpu_place place(uint64_t address)
{
    bool is_local = address >= FB_BASE;

    return (struct drydock_gpu_place){is_local, is_local ? address - FB_BASE : address};
}

static uint64_t wide(const uint32_t *dwords)
{
    return dwords[0] | (uint64_t)dwords[1] << 32;
}

/* ---- The ring ------------------------------------------------------------------------------------ */

static uint64_t ring_bytes(const struct sdma *gpu)
{
    return UINT64_C(4) << (gpu->cntl >> 1 & 0x1f);
}

static bool read_dword(const struct sdma *gpu, uint64_t position, uint32_t *out)
{
    uint64_t ring = (uint64_t)gpu->base << 8 | (uint64_t)gpu->base_hi << 40;

    return gpu->host->read(gpu->host->context, place(ring + position % ring_bytes(gpu)), out,
                           sizeof *out);
}

/* Dwords of the packet; 0: none of ours. */
static uint32_t packet_length(const uint32_t *packet)
{
    switch (packet[0] & 0xffff) {
    case OP_NOP:
        return 1 + (packet[0] >> 16 & 0x3fff);
    case OP_COPY:
        return 7;
    case OP_WRITE:
        return 4 + (packet[3] & WRITE_COUNT_MASK) + 1;
    case OP_FENCE:
        return 4;
    case OP_TRAP:
        return 2;
    case OP_CONST_FILL:
        return 5;
    case OP_PTEPDE:
        return 10;
    default:
        return 0;
    }
}

/* ---- Packets ------------------------------------------------------------------------------------- */

/* packet[1]: bytes less one; [3], [4]: source; [5], [6]: destination. */
static bool copy(const struct sdma *gpu, const uint32_t *packet)
{
    return gpu->host->copy(gpu->host->context, place(wide(packet + 5)), place(wide(packet + 3)),
                           (uint64_t)(packet[1] & COUNT_MASK) + 1);
}

/* packet[1], [2]: destination; [3]: dword; [4]: bytes less one. A fill size of 2 means whole dwords. */
static bool fill(const struct sdma *gpu, const uint32_t *packet)
{
    uint64_t bytes = (uint64_t)(packet[4] & COUNT_MASK) + 1;

    if (packet[0] >> 30 == 2)
        bytes = (bytes + 3) & ~UINT64_C(3);
    return gpu->host->fill(gpu->host->context, place(wide(packet + 1)), packet[3], bytes);
}

/* packet[1], [2]: destination; [3]: dwords less one; the dwords follow in the ring. */
static bool write_data(const struct sdma *gpu, const uint32_t *packet)
{
    uint32_t count = (packet[3] & WRITE_COUNT_MASK) + 1, data;

    for (uint32_t i = 0; i < count; i++) {
        if (!read_dword(gpu, gpu->rptr + 4 * (UINT64_C(4) + i), &data) ||
            !gpu->host->write(gpu->host->context, place(wide(packet + 1) + 4 * (uint64_t)i), &data,
                              sizeof data))
            return false;
    }
    return true;
}

/*
 * packet[1], [2]: destination; [3], [4]: flags; [5], [6]: address of the first page; [7], [8]: what
 * it grows by; [9]: entries less one.
 */
static bool write_entries(const struct sdma *gpu, const uint32_t *packet)
{
    uint64_t entry = wide(packet + 5), increment = wide(packet + 7);
    uint64_t count = (uint64_t)(packet[9] & ENTRY_COUNT_MASK) + 1;

    for (uint64_t i = 0; i < count; i++, entry += increment) {
        uint64_t value = entry | wide(packet + 3);

        if (!gpu->host->write(gpu->host->context, place(wide(packet + 1) + 8 * i), &value,
                              sizeof value))
            return false;
    }
    return true;
}

static bool execute(struct sdma *gpu, const uint32_t *packet)
{
    switch (packet[0] & 0xff) {
    case OP_NOP:
        return true;
    case OP_COPY:
        return copy(gpu, packet);
    case OP_WRITE:
        return write_data(gpu, packet);
    case OP_FENCE:
        return gpu->host->write(gpu->host->context, place(wide(packet + 1)), &packet[3],
                                sizeof packet[3]);
    case OP_TRAP:
        gpu->trap = packet[1] & 0xfffffff;
        gpu->host->raise_interrupt(gpu->host->context, 0);
        return true;
    case OP_CONST_FILL:
        return fill(gpu, packet);
    default:
        return write_entries(gpu, packet);
    }
}

/* ---- The engine ---------------------------------------------------------------------------------- */

static void step(void *argument);

/* Bytes that the packet moves take time; the rest is its fixed cost. */
static uint64_t duration(const struct sdma *gpu, const uint32_t *packet)
{
    uint64_t bytes = 0, speed = gpu->board.link_bytes_per_second;

    if ((packet[0] & 0xff) == OP_COPY) {
        bytes = (packet[1] & COUNT_MASK) + 1;
        if (place(wide(packet + 3)).is_local && place(wide(packet + 5)).is_local)
            speed = gpu->board.local_bytes_per_second;
    } else if ((packet[0] & 0xff) == OP_CONST_FILL) {
        bytes = (packet[4] & COUNT_MASK) + 1;
    }
    return PACKET_NS + (speed ? bytes * 1000 / (speed / 1000000 + 1) : 0);
}

static void fault(struct sdma *gpu, const char *text)
{
    gpu->has_faulted = true;
    gpu->is_running = false;
    gpu->host->report_fault(gpu->host->context, 0, 0, gpu->rptr, text);
}

/* The packet at RPTR, as far as it has a fixed length. False: not all of it is in the ring. */
static bool fetch(struct sdma *gpu, uint32_t packet[LONGEST_FIXED], uint32_t *out_length)
{
    uint64_t left = (gpu->wptr - gpu->rptr) / 4;

    for (uint32_t i = 0; i < LONGEST_FIXED; i++) {
        packet[i] = 0;
        if (i < left && !read_dword(gpu, gpu->rptr + 4 * (uint64_t)i, &packet[i])) {
            fault(gpu, "the ring is where nothing answers");
            return false;
        }
    }
    *out_length = packet_length(packet);
    if (!*out_length || *out_length > left) {
        fault(gpu, *out_length ? "WPTR is amid a packet" : "a packet that is not known");
        return false;
    }
    return true;
}

/* The packet at RPTR takes effect when its time is over. */
static void begin(struct sdma *gpu)
{
    uint32_t packet[LONGEST_FIXED], length;

    gpu->is_running = (gpu->cntl & 1) && !gpu->has_faulted && gpu->rptr < gpu->wptr;
    if (gpu->is_running && fetch(gpu, packet, &length))
        gpu->is_running = gpu->host->schedule(gpu->host->context, duration(gpu, packet), step, gpu);
}

static void step(void *argument)
{
    struct sdma *gpu = argument;
    uint32_t packet[LONGEST_FIXED], length;

    if (!fetch(gpu, packet, &length))
        return;
    if (!execute(gpu, packet)) {
        fault(gpu, "nothing answers at an address of a packet");
        return;
    }
    gpu->rptr += 4 * (uint64_t)length;
    begin(gpu);
}

/* ---- Registers and life -------------------------------------------------------------------------- */

static uint64_t read_register(void *self, uint64_t offset, unsigned size)
{
    const struct sdma *gpu = self;

    switch (offset) {
    case REG_CNTL:
        return gpu->cntl;
    case REG_BASE:
        return gpu->base;
    case REG_BASE_HI:
        return gpu->base_hi;
    case REG_RPTR:
        return (uint32_t)gpu->rptr;
    case REG_WPTR:
        return (uint32_t)gpu->wptr;
    case REG_TRAP:
        return gpu->trap;
    default:
        return 0;
    }
}

static void reset(void *self)
{
    struct sdma *gpu = self;

    gpu->host->cancel(gpu->host->context, gpu);
    *gpu = (struct sdma){.host = gpu->host, .board = gpu->board};
}

static void write_register(void *self, uint64_t offset, unsigned size, uint64_t value)
{
    struct sdma *gpu = self;

    switch (offset) {
    case REG_CNTL:
        gpu->cntl = (uint32_t)value;
        break;
    case REG_BASE:
        gpu->base = (uint32_t)value;
        break;
    case REG_BASE_HI:
        gpu->base_hi = (uint32_t)value;
        break;
    case REG_WPTR: /* its upper half follows from the lower: it only grows */
        gpu->wptr += (uint32_t)(value - gpu->wptr);
        break;
    case REG_RESET:
        reset(gpu);
        break;
    default:
        break;
    }
    if (!gpu->is_running)
        begin(gpu);
}

/* Directories of 512 entries above tables of 512, each entry 8 bytes. */
static bool translate(void *self, struct drydock_gpu_place root, uint64_t va,
                      struct drydock_gpu_translation *out)
{
    const struct sdma *gpu = self;
    struct drydock_gpu_place table = root;
    uint64_t entry = 0;

    *out = (struct drydock_gpu_translation){0};
    for (unsigned level = LEVELS; level-- > 0;) {
        struct drydock_gpu_place at = table;

        at.address += 8 * (va >> (PAGE_BITS + LEVEL_BITS * level) & ((1u << LEVEL_BITS) - 1));
        if (!gpu->host->read(gpu->host->context, at, &entry, sizeof entry))
            return false;
        if (!(entry & PTE_VALID))
            return true;
        table = (struct drydock_gpu_place){!(entry & PTE_SYSTEM), entry & PTE_ADDRESS_MASK};
    }
    out->is_valid = true;
    out->is_read_only = !(entry & PTE_WRITEABLE);
    out->is_no_execute = !(entry & PTE_EXECUTABLE);
    out->at = table;
    return true;
}

static void *create(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board)
{
    struct sdma *gpu = calloc(1, sizeof *gpu);

    if (gpu)
        *gpu = (struct sdma){.host = host, .board = *board};
    return gpu;
}

const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version)
{
    static const struct drydock_gpu_model model = {
        .api_version = DRYDOCK_GPU_MODEL_API,
        .name = "sdma",
        .register_bytes = 4096,
        .create = create,
        .destroy = free,
        .reset = reset,
        .read_register = read_register,
        .write_register = write_register,
        .translate = translate,
    };

    return api_version == DRYDOCK_GPU_MODEL_API ? &model : NULL;
}
