/*
 * Trace: the layer that counts and shows every call and every callback.
 *
 * Place      trace. A layer like any other, which changes nothing of the calls that pass it.
 * Model      Each call down (a DDI) and up (a callback of struct miniport_host_ops) is counted.
 *            With a sink, each is also handed to it twice, before and after, with the argument
 *            structure as it is at that moment. Calls nest: a driver notifies an interrupt from
 *            inside its interrupt routine; depth says how far. Without a sink the cost is the
 *            counters.
 * Text       trace_event_format() makes one line of an event. It holds no host pointer: handles
 *            are numbered in the order in which they were first printed (allocations a1, a2;
 *            open ones o1, devices d1, contexts c1, processes p1 and q1 for the system's, resources
 *            r1, fences f1), a DMA buffer is its sizes, an MDL its bytes and first page frame.
 *            Two runs that make the same calls make the same lines. The sequence number is not in
 *            the line, so that one call more is one difference and not a thousand.
 * Ownership  The layer takes the next one. An event and all that it points at are lent for the
 *            call of the sink: a line is made then or not at all.
 * Errors     Handing on never allocates and never fails. The handle numbers need memory when a
 *            line is made; without it the handle is printed as "a?".
 */
#ifndef DRYDOCK_TRACE_TRACE_H
#define DRYDOCK_TRACE_TRACE_H

#include "base/bits.h"
#include "base/services.h"
#include "miniport/miniport.h"
#include "miniport/operation.h"

/* The functions of struct miniport_host_ops, as X(function, name that the driver knows). */
#define TRACE_CALLBACK_LIST(X)                                                                     \
    X(get_device_information, "DxgkCbGetDeviceInformation")                                        \
    X(map_memory, "DxgkCbMapMemory")                                                               \
    X(unmap_memory, "DxgkCbUnmapMemory")                                                           \
    X(read_device_space, "DxgkCbReadDeviceSpace")                                                  \
    X(write_device_space, "DxgkCbWriteDeviceSpace")                                                \
    X(notify_interrupt, "DxgkCbNotifyInterrupt")                                                   \
    X(notify_dpc, "DxgkCbNotifyDpc")                                                               \
    X(queue_dpc, "DxgkCbQueueDpc")                                                                 \
    X(synchronize_execution, "DxgkCbSynchronizeExecution")                                         \
    X(get_handle_data, "DxgkCbGetHandleData")                                                      \
    X(get_handle_parent, "DxgkCbGetHandleParent")                                                  \
    X(enum_handle_children, "DxgkCbEnumHandleChildren")                                            \
    X(reserve_gpu_virtual_address_range, "DxgkCbReserveGpuVirtualAddressRange")                    \
    X(create_context_allocation, "DxgkCbCreateContextAllocation")                                  \
    X(destroy_context_allocation, "DxgkCbDestroyContextAllocation")                                \
    X(map_context_allocation, "DxgkCbMapContextAllocation")                                        \
    X(update_context_allocation, "DxgkCbUpdateContextAllocation")                                  \
    X(memory, "memory")   /* of a request: trace_event_name() */                                   \
    X(display, "display") /* of a request, too */                                                  \
    X(power, "power")     /* and of one of these */                                                \
    X(log, "DxgkCbLogEtwEvent")                                                                    \
    X(unsupported, "unsupported")                                                                  \
    X(is_feature_enabled, "DxgkCbIsFeatureEnabled")                                                \
    X(invalidate_hw_context, "DxgkCbInvalidateHwContext")

enum trace_callback {
#define X(function, name) TRACE_CALLBACK_##function,
    TRACE_CALLBACK_LIST(X)
#undef X
        TRACE_CALLBACK_COUNT
};

const char *trace_callback_name(enum trace_callback callback);

/* The enumerator without its prefix ("DMA_COMPLETED", "DRIVERCAPS"), or "?". */
const char *trace_interrupt_name(unsigned type);
const char *trace_query_name(unsigned type);

struct trace_counters {
    uint64_t calls[MINIPORT_DDI_COUNT];
    uint64_t failures[MINIPORT_DDI_COUNT];             /* calls that returned an error */
    uint64_t operations[MINIPORT_OPERATION_COUNT + 1]; /* the last is for unknown operations */
    uint64_t paging_bytes;                             /* written by BuildPagingBuffer */
    uint64_t callbacks[TRACE_CALLBACK_COUNT];
};

enum trace_phase { TRACE_BEFORE, TRACE_AFTER };

struct trace_handles;

struct trace_event {
    uint64_t sequence; /* of the call, from 1; the same before and after */
    enum trace_phase phase;
    unsigned depth; /* calls around this one */
    bool is_callback;
    enum miniport_ddi ddi;        /* if not is_callback */
    enum trace_callback callback; /* if is_callback */
    HANDLE object;                /* as it was passed: NULL is the adapter */
    unsigned operation;           /* of BuildPagingBuffer, as it was before the call */
    /*
     * The DDI's or the callback's argument structure; for log and unsupported the text, for memory
     * and display the request; NULL if there is none.
     */
    const void *argument;
    NTSTATUS status; /* after; success for what returns none */
    /*
     * Values that stand in no structure. Before the call: SetPowerState {uid, state, action},
     * NotifySurpriseRemoval {type}, InterruptRoutine {message}, MapMemory {address, length},
     * SynchronizeExecution {message}. After the call: StartDevice {sources, children},
     * InterruptRoutine and QueueDpc {result}, GetRootPageTableSize {bytes}, SynchronizeExecution
     * {result}.
     */
    uint64_t values[3];
    /* After BuildPagingBuffer and Render: how far the driver moved pDmaBuffer. */
    int64_t written;
    const char *dma_start; /* pDmaBuffer as it was before */
    uint32_t
        dma_bytes; /* that lie there: written, or 0 when that is behind the end of the buffer */
    struct trace_handles *handles;
};

struct trace_sink {
    void (*event)(void *context, const struct trace_event *event); /* NULL: count only */
    void *context;
};

/* Gives the layer, which takes next; on failure next is still the caller's. */
NTSTATUS miniport_trace_create(const struct base_services *services, struct miniport *next,
                               struct miniport **out_trace);

/* From the next call on. NULL: none. The struct is copied. */
void miniport_trace_set_sink(struct miniport *trace, const struct trace_sink *sink);

/* Lent for the life of the layer; may be set to zero between calls. */
struct trace_counters *miniport_trace_counters(struct miniport *trace);

/*
 * Writes the line, without a line end and cut at size - 1 characters, and gives the length that
 * it would have in full. "> " opens a line before the call, "< " one after it, two spaces for each
 * level of depth before that.
 */
size_t trace_event_format(const struct trace_event *event, char *buffer, size_t size);

/*
 * The same line in parts. A part is a text and a value behind it; the type says how the value is
 * written. The parts, written one behind the other, are the line behind its status (after a call)
 * or behind its object (before one).
 *
 * A type from TRACE_PART_PLAIN on stands behind the text as it is; a smaller one is that of a
 * field, whose text is a name and is written " name=". Both have the handles by their letters:
 * small ones name fields, capital ones are plain.
 */
enum trace_part {
    TRACE_PART_DECIMAL = 1,
    TRACE_PART_HEX,    /* 0x, then the digits */
    TRACE_PART_SIGNED, /* decimal, of an int64_t */
    TRACE_PART_DIGITS, /* 16 hexadecimal digits */
    TRACE_PART_TEXT,   /* the value is the address of a text */
    TRACE_PART_NOTHING,
    TRACE_PART_PLAIN = 32
};

/* Of a handle that has no number, because there is no memory. 0: NULL. */
#define TRACE_HANDLE_UNKNOWN UINT64_MAX

/*
 * Values of parts, one behind the other, and a hash of the texts, by their addresses, and of the
 * types: what is alike in events that differ in their values alone. Between `next` and `end` is
 * room for more.
 */
struct trace_values {
    uint64_t *next, *end;
    uint64_t hash;
};

static inline void trace_values_add(struct trace_values *values, const char *text, size_t length,
                                    unsigned type, uint64_t value)
{
    const uint64_t how = (uintptr_t)text + ((uint64_t)(length << 8 | type) << 48);

    *values->next++ = value;
    values->hash = rotate_left_u64((values->hash ^ how) * UINT64_C(0x9e3779b97f4a7c15), 29);
}

struct trace_visitor {
    /* A text that is no value lives as long as the program does; it ends at its length. */
    void (*part)(void *context, const char *text, size_t length, unsigned type, uint64_t value);
    void *context;
    /*
     * Optional, for who has read these page-table entries already: true, and their hash as
     * miniport_entries_hash() makes it. False: it is made.
     */
    bool (*knows_entries)(void *context, const DXGK_PTE *entries, uint64_t count,
                          uint64_t *out_hash);
    /*
     * Optional: gets the values that are no texts, as long as it has room. part() is called for
     * the others, and adds to it what it wants to.
     */
    struct trace_values *values;
};

void trace_event_visit(const struct trace_event *event, const struct trace_visitor *visitor);

/* Of a DDI without a name, or of a callback, too. */
const char *trace_event_name(const struct trace_event *event);
/* The kind of object that the call is made on: a letter of trace_handles.h. */
char trace_event_object_kind(const struct trace_event *event);
/* Whether a line of the event shows its object. */
bool trace_event_has_object(const struct trace_event *event);

#endif
