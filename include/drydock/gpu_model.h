/*
 * GPU models as plug-ins: a shared object that plays the hardware of somebody's driver.
 *
 * Place      Public. Includes the C library only. A model is one shared object, loaded with
 *            `drydock run --gpu ./model.so` (run option `gpu`); docs/gpu-models.md is the way
 *            through, examples/gpu/tutorial.c the shortest model, examples/gpu/sdma.c a real packet
 *            format.
 * Model      The bench has memory, a clock, an interrupt line and a driver. The model has registers
 *            and engines. The driver reaches the model by its base addresses: every access to one
 *            that shows registers, inlined volatile ones of images too, is a call of read_register
 *            or write_register. The model reaches memory by the functions of struct
 *            drydock_gpu_host, makes time pass by schedule(), and interrupts the driver by
 *            raise_interrupt().
 *
 *            What the engines of the model do to memory they do at once, in the callback of the
 *            event that ends a packet. Content stays symbolic where it is moved by copy() and
 *            fill(): use those for bulk, read and write for packets, tables and fences.
 *
 *            Local memory is volatile as the driver's segment flags say; the bench takes it away in
 *            sleeps and resets, and the model need not.
 *
 *            The user-mode half, functions from allocation_data on, is the driver's client: what
 *            D3D's user-mode driver would send. With commands, lines of a case that write and read
 *            become the author's own commands, and the engine must tell by begin_work() ...
 *            end_work() what it touched, so that content is followed through the GPU. Without
 *            commands, the CPU writes what a line has the GPU write, as in runs without a model.
 * Ownership  The table is the model's, constant, and good until the object is unloaded. The host's
 *            table and its context are good from create() until destroy() returns. Buffers are
 *            borrowed for a call.
 * Errors     NULL from create(): no memory; the run is refused. What a driver does wrong is never
 *            an error of the model: report_fault().
 * Threads    One. No function of the host may be called from another thread, nor from a signal
 *            handler. A model has no state outside what create() gave: several live side by side,
 *            and a run repeats exactly, so that no clock but now() and no random number but seed is
 *            used.
 * Units      Bytes and nanoseconds of the virtual clock. Addresses of system memory are the
 *            device's (bus addresses); of local memory, offsets from its start.
 */
#ifndef DRYDOCK_GPU_MODEL_H
#define DRYDOCK_GPU_MODEL_H

#include <stdbool.h>
#include <stdint.h>

/*
 * A version adds members at the end of tables and changes none. A model is asked for the newest
 * version that the bench has, then for older ones, and each time answers with a table of exactly
 * that version or NULL.
 *
 *     1  the first
 *     2  struct drydock_gpu_model: pci
 *     3  struct drydock_gpu_host: flushed; struct drydock_gpu_model: tells_flushes;
 *        struct drydock_gpu_translation: protection_mask
 *     4  struct drydock_gpu_reference: number; struct drydock_gpu_model: names_allocations
 *     5  struct drydock_gpu_host: executes
 *     6  struct drydock_gpu_host: leaves_out; struct drydock_gpu_model: application;
 *        struct drydock_gpu_translation: page_bytes
 *     7  struct drydock_gpu_application: walk_batch
 */
#define DRYDOCK_GPU_MODEL_API        7u
#define DRYDOCK_GPU_MODEL_OLDEST_API 1u

/* ---- What the model is given ----------------------------------------------------------------- */

/* A piece of memory: of the system, by bus address, or of the board, by offset. */
struct drydock_gpu_place {
    bool is_local;
    uint64_t address;
};

struct drydock_gpu_board {
    uint64_t local_bytes;
    uint64_t visible_bytes; /* of them, by a base address */
    uint64_t system_bytes;
    uint64_t local_bytes_per_second; /* speeds that a packet's time may be made of */
    uint64_t link_bytes_per_second;
    uint64_t seed;
};

struct drydock_gpu_host {
    void *context; /* first argument of every function */

    /* -- Time -- */
    uint64_t (*now)(void *context);
    /* Calls fn(argument) once, after_ns from now. False: no memory. */
    bool (*schedule)(void *context, uint64_t after_ns, void (*fn)(void *argument), void *argument);
    /* Those of schedule() with this argument that have not come do not come any more. */
    void (*cancel)(void *context, void *argument);

    /*
     * -- Interrupts: signalled by message; the routine of the driver runs a little later, once each
     * --
     */
    void (*raise_interrupt)(void *context, uint32_t message);

    /* -- Memory. False: nothing answers at some of it, and nothing was done (out: ones) -- */
    bool (*read)(void *context, struct drydock_gpu_place from, void *out, uint64_t bytes);
    bool (*write)(void *context, struct drydock_gpu_place to, const void *from, uint64_t bytes);
    /* Ranges must not overlap. The longest that answers as one: pages of the system are single. */
    bool (*copy)(void *context, struct drydock_gpu_place to, struct drydock_gpu_place from,
                 uint64_t bytes);
    /* The pattern's low byte goes to the first byte, wherever that is, and so on. */
    bool (*fill)(void *context, struct drydock_gpu_place to, uint32_t pattern, uint64_t bytes);

    /* -- What the bench wants to know -- */
    /* The engine has stopped. text: one line without a full stop. */
    void (*report_fault)(void *context, uint32_t node, uint32_t fence, uint64_t address,
                         const char *text);

    /*
     * Work of the client whose token the commands carry (struct drydock_gpu_work): begins; reads
     * and writes pieces of reference number `index`, ascending from offset 0 of the reference
     * without a gap; ends. References may overlap: all that is read is read before anything is
     * written. write_work() writes the content itself: page i from the reference's first on takes
     * the content named key + i.
     */
    void (*begin_work)(void *context, uint64_t token, uint32_t node);
    bool (*read_work)(void *context, uint64_t token, uint32_t index, uint64_t offset,
                      struct drydock_gpu_place at, uint64_t bytes);
    bool (*write_work)(void *context, uint64_t token, uint32_t index, uint64_t offset,
                       struct drydock_gpu_place at, uint64_t bytes, uint64_t key);
    void (*end_work)(void *context, uint64_t token);

    /*
     * Version 3. Cached translations of [start, end) are gone, of the address space with this root
     * table, or (root NULL) of all; end 0: all addresses. Of a model with tells_flushes. There may
     * be more of them than were asked for, and one for several.
     */
    void (*flushed)(void *context, const struct drydock_gpu_place *root, uint64_t start,
                    uint64_t end);

    /*
     * Version 5. The command of so many bytes that the driver has put at this address (the one that
     * it submitted, or some bytes behind it) takes effect now: what write(), copy() and fill()
     * write from here on, and a fault, are its doing, until the next command, or bytes 0. Then
     * findings name the operation that the driver built it for, and the driver's lines that wrote
     * it.
     */
    void (*executes)(void *context, uint32_t node, uint64_t address, uint32_t bytes);

    /*
     * Version 6. The command that takes effect is not carried out (a kernel, where there are no
     * execution units): what it would have written is not known, and memory stays as it was.
     */
    void (*leaves_out)(void *context, uint32_t node);
};

/* ---- What the model gives -------------------------------------------------------------------- */

/*
 * A base address of the board. All are of 64 bits and take two numbers: bars[0] leaves bars[1]
 * empty. It shows registers, from offset `first` of read_register() and write_register() on, or
 * local memory from its start.
 */
struct drydock_gpu_bar {
    uint64_t bytes; /* of registers: a power of two, at least 4096; of local memory: 0 is what is
                       visible of it */
    uint64_t first; /* a multiple of bytes */
    bool is_there;
    bool is_local;
};

/* What the board is on its bus. The driver reads it with DxgkCbReadDeviceSpace. */
struct drydock_gpu_pci {
    uint16_t vendor_id, device_id, subsystem_vendor_id, subsystem_id;
    uint8_t revision;
    uint32_t class_code; /* 0x030000: a display controller, VGA; 0x038000: another one */
    struct drydock_gpu_bar bars[6];
    /*
     * Configuration space from 0x40 on, where a list of capabilities begins; what is written there
     * is kept. None: a list of MSI alone, if there are messages.
     */
    const uint8_t *capabilities;
    uint32_t capability_bytes;
    /*
     * Interrupts that are signalled by message, which are raise_interrupt()'s numbers from 0 on,
     * and resources of the driver. 0: one by line, which it shares. At most 2048, and 32 without a
     * list of capabilities of its own; a number from there on is raised for nobody.
     */
    uint32_t message_count;
};

enum drydock_gpu_power {
    DRYDOCK_GPU_POWER_ON,
    DRYDOCK_GPU_POWER_OFF, /* registers are not asked, interrupts not delivered */
};

/* The entry of a page of 4096 bytes. */
struct drydock_gpu_translation {
    bool is_valid, is_read_only, is_no_execute, is_zero;
    struct drydock_gpu_place at; /* of the page that holds the address */
    uint64_t protection;         /* the driver's own bits (DriverProtection), of ... */
    uint64_t protection_mask; /* version 3: ... those that entries hold; 0: they are not compared */
    /*
     * Version 6. Of the page that the entry maps: 65536 by a table of such pages, more by an entry
     * of the level above the last. 0: 4096.
     */
    uint64_t page_bytes;
};

/* For the user-mode half. */
struct drydock_gpu_allocation {
    uint64_t bytes;
    uint32_t flags; /* SGPU_UMD_* of drydock/sgpu.h */
    uint32_t index;
};

struct drydock_gpu_reference {
    uint32_t
        allocation;  /* place in the list of allocations that DxgkDdiRender gets (physical model) */
    uint32_t number; /* version 4: the allocation's, as drydock_gpu_allocation.index */
    uint64_t va;     /* GPU virtual address of its first byte (GpuMmu); else 0 */
    uint64_t offset, bytes; /* of the allocation */
    uint64_t key;           /* of what is written */
    bool is_read, is_written;
};

struct drydock_gpu_work {
    uint64_t token;
    uint64_t duration_ns;
    uint32_t reference_count;
    const struct drydock_gpu_reference *references;
};

enum drydock_gpu_access_kind {
    DRYDOCK_GPU_COPY,    /* bytes from one address to another one */
    DRYDOCK_GPU_FILL,    /* bytes of value at `to` */
    DRYDOCK_GPU_READ,    /* bytes at `from` */
    DRYDOCK_GPU_WRITE,   /* bytes at `to`; value is what the first 8 of them become, 0: unknown */
    DRYDOCK_GPU_UNKNOWN, /* something that the model cannot tell */
};

/* One access of a batch, by virtual addresses. */
struct drydock_gpu_access {
    enum drydock_gpu_access_kind kind;
    uint64_t from, to, bytes, value;
};

struct drydock_gpu_walk {
    void *context;
    /* Bytes of the batch, or of another one in which it goes on; false: the client shows none. */
    bool (*read)(void *context, uint64_t va, void *out, uint64_t bytes);
    void (*each)(void *context, const struct drydock_gpu_access *access);
};

/*
 * Version 6. What `drydock exec` needs of the board for applications whose user-mode driver is not
 * ours (docs/applications.md). Each member may be NULL. Functions get what create() gave; data
 * comes from the application, and nothing about it is to be believed.
 */
struct drydock_gpu_application {
    const char *description; /* DXCore's DriverDescription, at most 63 bytes */
    /*
     * How many bytes of the client's own memory an allocation (pSystemMem) has, from its private
     * data: a multiple of 4096. 0: the data does not say, and the allocation is refused.
     */
    uint64_t (*client_bytes)(void *gpu, const void *private_data, uint32_t bytes);
    /*
     * D3DKMTQueryAdapterInfo of a type that the bench does not answer (KMTQAITYPE_*): writes into
     * data, and returns the NTSTATUS. Where there is no such function, or it returns
     * STATUS_NOT_SUPPORTED (0xc00000bb), the driver is asked for KMTQAITYPE_UMDRIVERPRIVATE.
     */
    int32_t (*query_adapter)(void *gpu, uint32_t type, void *data, uint32_t bytes);
    /* D3DKMTEscape with D3DKMT_ESCAPE_DRIVERPRIVATE; the NTSTATUS. */
    int32_t (*escape)(void *gpu, void *data, uint32_t bytes);
    /*
     * Version 7. Tells what a batch at va will access, in order, without running it: so `--record`
     * has the content of what applications do. False: it is none, or cannot be read to its end.
     */
    bool (*walk_batch)(void *gpu, uint64_t va, uint64_t bytes, const struct drydock_gpu_walk *walk);
};

/* Functions get what create() gave as first argument. Those that are marked may be NULL. */
struct drydock_gpu_model {
    uint32_t api_version;    /* DRYDOCK_GPU_MODEL_API */
    const char *name;        /* a word for messages */
    uint64_t register_bytes; /* all of them, whole pages of 4096 */

    void *(*create)(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board);
    void (*destroy)(void *gpu);
    /* As if it had just been made: after power comes back, and when the board is pulled out. */
    void (*reset)(void *gpu);
    void (*power)(void *gpu, enum drydock_gpu_power power);               /* may be NULL */
    uint64_t (*read_register)(void *gpu, uint64_t offset, unsigned size); /* 1, 2, 4 or 8 bytes */
    void (*write_register)(void *gpu, uint64_t offset, unsigned size, uint64_t value);

    /*
     * What the tables say now, past all caches. root: where the driver's root page table is. False:
     * the model does not know such a table. May be NULL: translations are not looked at. The bench
     * compares them with what it asked for, so that a driver's memory segments must have offsets of
     * local memory as their BaseAddress.
     */
    bool (*translate)(void *gpu, struct drydock_gpu_place root, uint64_t va,
                      struct drydock_gpu_translation *out);

    /*
     * ---- The user-mode half; each may be NULL: templates of the run serve. ----
     * They write at most room bytes and return how many there are; more than room: called again
     * with so much.
     */
    uint32_t (*allocation_data)(void *gpu, const struct drydock_gpu_allocation *allocation,
                                void *out, uint32_t room);
    uint32_t (*context_data)(void *gpu, uint32_t node, void *out, uint32_t room);
    uint32_t (*commands)(void *gpu, const struct drydock_gpu_work *work, void *out, uint32_t room);

    /*
     * Version 2. NULL: a board of no vendor, registers at base address 0, visible local memory at
     * 2, one message.
     */
    const struct drydock_gpu_pci *pci;

    /*
     * Version 3. Every flush is told of by flushed(): one that the driver was asked for and that
     * never came is a finding (TLB-002, TLB-007).
     */
    bool tells_flushes;

    /*
     * Version 4. The client hands in a patch location for each allocation of its list, at offset 0
     * of the command buffer (physical model). For drivers that make their own list of that one:
     * what no location names need not be brought in (docs/observed.md, O21).
     */
    bool names_allocations;

    /* Version 6. May be NULL. */
    const struct drydock_gpu_application *application;
};

/*
 * The one symbol of the object. NULL: the model cannot serve this version. The bench refuses a
 * table with another api_version than it asked for. A model that needs what a version added answers
 * NULL to older ones.
 */
#define DRYDOCK_GPU_MODEL_ENTRY "drydock_gpu_model"
const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version);

#endif
