/*
 * Trace: the fields of the paging operations, each under its WDK name.
 *
 * Which fields a line shows, in which order and form, is a table made from the fact tables
 * (scripts/ddi-text.awk). The operation is the event's, as it was before the call: the driver owns
 * the structure then.
 */
#include "trace/trace_line.h"

#include "base/bits.h"
#include "base/hash.h"
#include "miniport/entries.h"
#include "miniport/operation.h"

#include <inttypes.h>
#include <string.h>

/* How a field is written. */
enum text_form {
    TEXT_NUMBER,
    TEXT_HEX,
    TEXT_HANDLE,
    TEXT_MDL,
    TEXT_ADL,
    TEXT_GPU_PHYSICAL,
    TEXT_CPU_ADDRESS,
    TEXT_PLACE, /* a segment and an address in it */
    /* Elements of an array, as many as the operation's first array has. */
    TEXT_ENTRIES,
    TEXT_COPY_RANGES,
    TEXT_FENCES,
    TEXT_LARGE_ENTRY /* the first one, where there is an array */
};

struct text {
    const char *name;
    uint16_t name_length;
    enum text_form form;
    uint16_t beside; /* the offset of the segment of a place, the kind of a handle */
    uint16_t offset, bytes;
    uint8_t first_bit, bits; /* of the bytes; bits is 0: all of them */
    /* There if the word at `when` is (or is not) the value; when_bytes 0: always. */
    uint16_t when, when_bytes;
    bool is_equal;
    uint32_t value;
};

static const struct text texts[] = {
#define TEXT(operation, name, form, ...) {name, sizeof(name) - 1, TEXT_##form, __VA_ARGS__},
#define LINE(operation, first, count)
#include "ddi_text.inc"
#undef LINE
#undef TEXT
};

/* The rows of each operation in `texts`. */
static const struct {
    uint16_t first, count;
} lines[MINIPORT_OPERATION_COUNT] = {
#define TEXT(operation, ...)
#define LINE(operation, first, count) [operation] = {first, count},
#include "ddi_text.inc"
#undef LINE
#undef TEXT
};

/* ---- Arrays ---- */

static uint64_t hash_of_ptes(const struct trace_line *line, const DXGK_PTE *entries, UINT count)
{
    const struct trace_visitor *visitor = line->visitor;
    uint64_t hash;

    if (visitor && visitor->knows_entries &&
        visitor->knows_entries(visitor->context, entries, count, &hash))
        return hash;
    return miniport_entries_hash(entries, count);
}

static void put_ptes(struct trace_line *line, const char *name, size_t name_length,
                     const DXGK_PTE *entries, UINT count)
{
    if (!entries) {
        trace_put_words(line, name, "-");
        return;
    }
    trace_put_name(line, name, name_length);
    for (UINT i = 0; i < count && i < TRACE_ARRAY_SHOWN; i++) {
        trace_put_plain_hex(line, i ? " " : "[", 1, (uint64_t)entries[i].Flags);
        trace_put_plain_hex(line, ":", 1, (uint64_t)entries[i].PageAddress);
    }
    if (!count)
        trace_put_text(line, "[");
    if (count > TRACE_ARRAY_SHOWN)
        trace_put_plain_digits(line, " .. #", 5, hash_of_ptes(line, entries, count));
    trace_put_text(line, "]");
}

static void put_copy_ranges(struct trace_line *line, const char *name,
                            const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *ranges, UINT count)
{
    struct hash hash;

    hash_init(&hash, 0);
    trace_put_words(line, name, "[");
    for (UINT i = 0; ranges && i < count; i++) {
        const DXGK_BUILDPAGINGBUFFER_COPY_RANGE *range = &ranges[i];

        hash_update_u64(&hash, range->NumPageTableEntries);
        hash_update_u64(&hash, range->SrcPageTableAddress);
        hash_update_u64(&hash, range->SrcStartPteIndex);
        hash_update_u64(&hash, range->DstPageTableAddress);
        hash_update_u64(&hash, range->DstStartPteIndex);
        if (i < TRACE_ARRAY_SHOWN)
            trace_put(line, "%s%" PRIu32 "*0x%" PRIx64 "+%" PRIu32 ">0x%" PRIx64 "+%" PRIu32,
                      i ? " " : "", range->NumPageTableEntries,
                      (uint64_t)range->SrcPageTableAddress, range->SrcStartPteIndex,
                      (uint64_t)range->DstPageTableAddress, range->DstStartPteIndex);
    }
    if (count > TRACE_ARRAY_SHOWN)
        trace_put(line, " .. #%016" PRIx64, hash_final(&hash));
    trace_put_text(line, "]");
}

static void put_fences(struct trace_line *line, const char *name,
                       const DXGK_FENCE_RESIDENCY_INFO *fences, UINT count)
{
    trace_put_words(line, name, "[");
    for (UINT i = 0; fences && i < count; i++) {
        const DXGK_FENCE_RESIDENCY_INFO *info = &fences[i];

        trace_put_text(line, i ? " {" : "{");
        trace_put_handle_value(line, TRACE_HANDLE_FENCE, info->hGlobalNativeFence);
        trace_put_gpu_physical(line, "current", &info->CurrentValuePhysicalAddress);
        trace_put_gpu_physical(line, "monitored", &info->MonitoredValuePhysicalAddress);
        trace_put(line, "}");
    }
    trace_put_text(line, "]");
}

/* ---- Fields ---- */

static uint64_t load(const void *arg, unsigned offset, unsigned bytes)
{
    const uint8_t *at = (const uint8_t *)arg + offset;
    uint64_t number = 0;
    uint32_t word;
    uint16_t half;

    switch (bytes) {
    case sizeof word:
        memcpy(&word, at, sizeof word);
        return word;
    case sizeof half:
        memcpy(&half, at, sizeof half);
        return half;
    default:
        memcpy(&number, at, sizeof number);
        return number;
    }
}

static uint64_t number_of(const struct text *text, const void *arg)
{
    uint64_t number = load(arg, text->offset, text->bytes);

    return text->bits ? number >> text->first_bit & ((UINT64_C(1) << text->bits) - 1) : number;
}

static const void *pointer_of(const struct text *text, const void *arg)
{
    return (const void *)(uintptr_t)load(arg, text->offset, text->bytes);
}

static void put_field(struct trace_line *line, const struct text *text,
                      const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const void *at = (const uint8_t *)arg + text->offset;
    struct miniport_array array;

    switch (text->form) {
    case TEXT_NUMBER:
        trace_put_named_number(line, text->name, text->name_length, number_of(text, arg));
        return;
    case TEXT_HEX:
        trace_put_named_hex(line, text->name, text->name_length, number_of(text, arg));
        return;
    case TEXT_HANDLE:
        trace_put_named_handle(line, text->name, text->name_length,
                               (enum trace_handle_kind)text->beside, pointer_of(text, arg));
        return;
    case TEXT_MDL:
        trace_put_mdl(line, text->name, pointer_of(text, arg));
        return;
    case TEXT_ADL:
        trace_put_adl(line, text->name, at);
        return;
    case TEXT_GPU_PHYSICAL:
        trace_put_gpu_physical(line, text->name, at);
        return;
    case TEXT_CPU_ADDRESS:
        trace_put_cpu_address(line, text->name, pointer_of(text, arg));
        return;
    case TEXT_PLACE:
        trace_put_place(line, text->name, (uint32_t)load(arg, text->beside, sizeof(UINT)),
                        load(arg, text->offset, 8));
        return;
    case TEXT_LARGE_ENTRY:
        if (pointer_of(text, arg))
            put_ptes(line, text->name, text->name_length, pointer_of(text, arg), 1);
        return;
    case TEXT_ENTRIES:
    case TEXT_COPY_RANGES:
    case TEXT_FENCES:
        break;
    }
    array = miniport_operation_array(arg, 0);
    if (text->form == TEXT_ENTRIES)
        put_ptes(line, text->name, text->name_length, array.elements, (UINT)array.count);
    else if (text->form == TEXT_COPY_RANGES)
        put_copy_ranges(line, text->name, array.elements, (UINT)array.count);
    else
        put_fences(line, text->name, array.elements, (UINT)array.count);
}

static bool is_meant(const struct text *text, const void *arg)
{
    return !text->when_bytes ||
           (load(arg, text->when, text->when_bytes) == text->value) == text->is_equal;
}

static void put_operation(struct trace_line *line, unsigned operation,
                          const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct text *text, *end;

    if (operation >= MINIPORT_OPERATION_COUNT)
        return;
    text = &texts[lines[operation].first];
    for (end = text + lines[operation].count; text < end; text++) {
        if (is_meant(text, arg))
            put_field(line, text, arg);
    }
}

void trace_put_build_paging_buffer(struct trace_line *line, const struct trace_event *event)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = event->argument;

    if (event->phase == TRACE_AFTER) {
        trace_put_named_signed(line, "written", 7, event->written);
        trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
        return;
    }
    trace_put_number(line, "DmaSize", arg->DmaSize);
    trace_put_number(line, "DmaBufferPrivateDataSize", arg->DmaBufferPrivateDataSize);
    trace_put_number(line, "MultipassOffset", arg->MultipassOffset);
    put_operation(line, event->operation, arg);
    if (arg->hSystemContext)
        trace_put_handle(line, "hSystemContext", TRACE_HANDLE_CONTEXT, arg->hSystemContext);
    if (arg->DmaBufferGpuVirtualAddress)
        trace_put_hex(line, "DmaBufferGpuVirtualAddress", arg->DmaBufferGpuVirtualAddress);
    if (arg->DmaBufferWriteOffset)
        trace_put_number(line, "DmaBufferWriteOffset", arg->DmaBufferWriteOffset);
}
