/*
 * Transcript: what a driver has answered and done in a run, in order, as bytes.
 *
 * Place      layers. Written by record.c in the process that has the driver, read by retold.c in
 *            one that never has it.
 * Model      A list of items, each with a head. A call of the driver is
 *
 *                CALL  (what the driver does meanwhile)  PATCH, MOVE, GIVEN ...  RETURN
 *
 *            and what it does meanwhile is: registers that it reads and writes, time that it lets
 *            pass, pages of the machine that it takes and gives back, bytes that it writes into
 *            memory of the machine, callbacks, each with its RESULT. The machine and the manager
 *            may call the driver again in the middle of any of these: such a call stands between
 *            the item and what follows it. DriverEntry, Unload and a routine that
 *            DxgkCbSynchronizeExecution runs are stretches without a CALL, which END ends.
 *
 *            What the driver does at a time of its own (timers, deferred calls, turns of its
 *            threads, ends of waits) is an event of the machine. SCHEDULE says when the driver has
 *            set it, and where it happens stands EVENT, what the driver does then, and END. A call
 *            that waits lets events happen one by one: NEXT.
 *
 *            A driver shares its process with the writer, so a transcript is the driver's word and
 *            nothing else: the reader takes it for a file from elsewhere.
 * Errors     A transcript that cannot be written ends in the middle. The reader gives false for a
 *            head that is not one.
 * Units      Bytes; ns of the virtual clock; pages of 4 KiB.
 */
#ifndef DRYDOCK_LAYERS_TRANSCRIPT_H
#define DRYDOCK_LAYERS_TRANSCRIPT_H

#include "nt/threads/scheduler.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What is longer is not judged. */
#define TRANSCRIPT_MOST_BYTES (UINT64_C(1) << 30)
/* The longest time that a driver lets pass at once, and that is played. */
#define TRANSCRIPT_MOST_NS UINT64_C(100000000000)

enum transcript_kind {
    TRANSCRIPT_CALL,       /* struct transcript_call, the argument structure */
    TRANSCRIPT_PATCH,      /* struct transcript_patch, bytes */
    TRANSCRIPT_MOVE,       /* struct transcript_move */
    TRANSCRIPT_GIVEN,      /* struct transcript_patch, bytes: where a pointer to them lies */
    TRANSCRIPT_RETURN,     /* struct transcript_return */
    TRANSCRIPT_END,        /* struct transcript_end */
    TRANSCRIPT_REGISTER,   /* struct transcript_register */
    TRANSCRIPT_STALL,      /* struct transcript_pages: first is the time that passes */
    TRANSCRIPT_TAKE,       /* struct transcript_pages, their numbers */
    TRANSCRIPT_GIVE,       /* the same */
    TRANSCRIPT_TAKE_RANGE, /* struct transcript_pages */
    TRANSCRIPT_GIVE_RANGE, /* the same */
    TRANSCRIPT_MEMORY,     /* struct transcript_memory, bytes */
    TRANSCRIPT_CALLBACK,   /* struct transcript_callback, its structure or text */
    TRANSCRIPT_RESULT,     /* struct transcript_result */
    TRANSCRIPT_CONFIGURE,  /* struct transcript_configure, bytes */
    TRANSCRIPT_SCHEDULE,   /* struct transcript_event */
    TRANSCRIPT_CANCEL,     /* the same, without a time */
    TRANSCRIPT_EVENT,      /* the same; END is its end */
    TRANSCRIPT_NEXT,       /* nothing */
    TRANSCRIPT_UNFOLLOWED, /* a text: what the driver did that is not written down */
    TRANSCRIPT_KINDS
};

/* In front of each item. What is behind the head is padded to eight bytes. */
struct transcript_head {
    uint16_t kind;
    uint16_t locks; /* this and the next three: as struct nt_moment */
    uint8_t irql;   /* at which the driver runs */
    uint8_t is_thread;
    uint16_t depth;
    uint64_t bytes;
};

struct transcript_call {
    uint32_t ddi; /* enum miniport_ddi */
    uint32_t reserved;
};

struct transcript_patch {
    uint32_t piece; /* of loans_collect() */
    uint32_t reserved;
    uint64_t offset;
};

/* The pointer to a piece leads so much further. */
struct transcript_move {
    uint32_t piece;
    uint32_t reserved;
    int64_t distance;
};

struct transcript_return {
    uint64_t value;   /* the status, or what else the function returns */
    uint32_t version; /* miniport_interface_version() behind it */
    uint32_t reserved;
};

/* Of DriverEntry: its status, and which functions the driver has. Of a routine: what it returned.
 */
struct transcript_end {
    uint64_t value;
    uint32_t version;
    uint32_t reserved;
    uint64_t has[2]; /* a bit for each enum miniport_ddi */
};

struct transcript_register {
    uint32_t is_write, size;
    uint64_t offset, value;
};

struct transcript_pages {
    uint64_t count, alignment, first;
};

struct transcript_memory {
    uint32_t is_local; /* the device's; else system memory */
    uint32_t offset;   /* in the page */
    uint64_t page;
};

/* numbers: each time that an event is set it gets one. */
struct transcript_event {
    uint64_t number, time_ns;
};

/* Of the PCI function's space. */
struct transcript_configure {
    uint64_t offset;
};

/* The functions of struct miniport_host_ops, by their names. */
#define TRANSCRIPT_CALLBACK_LIST(X)                                                                \
    X(get_device_information)                                                                      \
    X(map_memory)                                                                                  \
    X(unmap_memory)                                                                                \
    X(read_device_space)                                                                           \
    X(write_device_space)                                                                          \
    X(notify_interrupt)                                                                            \
    X(notify_dpc)                                                                                  \
    X(queue_dpc)                                                                                   \
    X(synchronize_execution)                                                                       \
    X(get_handle_data)                                                                             \
    X(get_handle_parent)                                                                           \
    X(enum_handle_children)                                                                        \
    X(reserve_gpu_virtual_address_range)                                                           \
    X(create_context_allocation)                                                                   \
    X(destroy_context_allocation)                                                                  \
    X(map_context_allocation)                                                                      \
    X(update_context_allocation)                                                                   \
    X(memory)                                                                                      \
    X(log)                                                                                         \
    X(unsupported)                                                                                 \
    X(is_feature_enabled)                                                                          \
    X(invalidate_hw_context)                                                                       \
    X(power)

enum transcript_callback_name {
#define X(name) TRANSCRIPT_##name,
    TRANSCRIPT_CALLBACK_LIST(X)
#undef X
        TRANSCRIPT_CALLBACKS
};

/* arguments: those that are no pointers, in their order. */
struct transcript_callback {
    uint32_t name;
    uint32_t reserved;
    uint64_t arguments[5];
};

struct transcript_result {
    uint64_t value;  /* the status, or what else the callback returns that does not differ */
    uint64_t handle; /* that the driver got, which the reader's differs from; 0: none */
};

/* ---- Writing --------------------------------------------------------------------------------- */

#define TRANSCRIPT_BUFFER (32u * 1024)

struct transcript_writer {
    int file;
    bool has_failed; /* or is too long */
    uint64_t written;
    size_t used;
    uint8_t buffer[TRANSCRIPT_BUFFER];
};

void transcript_begin(struct transcript_writer *writer, int file);
/* The item's structure, and what is behind it. */
void transcript_put(struct transcript_writer *writer, enum transcript_kind kind,
                    const struct nt_moment *moment, const void *structure, size_t structure_bytes,
                    const void *tail, size_t tail_bytes);
void transcript_flush(struct transcript_writer *writer);

/* ---- Reading --------------------------------------------------------------------------------- */

struct transcript_reader {
    const uint8_t *bytes;
    uint64_t size, at;
};

/* Of a kind that there is, with the structure of its kind; the tail is what is behind it. */
struct transcript_item {
    enum transcript_kind kind;
    struct nt_moment moment;
    const void *structure; /* aligned */
    const uint8_t *tail;
    uint64_t tail_bytes;
};

/* False: it is at the end, or what is there is no item. */
bool transcript_next(struct transcript_reader *reader, struct transcript_item *out);

const char *transcript_kind_name(enum transcript_kind kind); /* "the write of a register" */

#endif
