/*
 * Trace line: the parts that the lines of the trace are made of.
 *
 * Place      trace; used by the files that format events.
 * Model      A line is the caller's buffer and the length of the text so far. The length counts on
 *            when the buffer is full. Fields are " name=value". Nothing here prints a host pointer.
 */
#ifndef DRYDOCK_TRACE_LINE_H
#define DRYDOCK_TRACE_LINE_H

#include "trace/trace.h"
#include "trace/trace_handles.h"

#include <string.h>

/* Arrays show this many elements, and a hash of all if there are more. */
#define TRACE_ARRAY_SHOWN 4

struct trace_line {
    char *buffer;
    size_t size;
    size_t length; /* in full */
    struct trace_handles *handles;
    const struct trace_visitor *visitor; /* gets parts, and no text is made; NULL: a text */
    struct trace_values values;          /* the visitor's, while it is not called */
};

/* A part for the visitor of the line, which must have one. */
void trace_visit_other(struct trace_line *line, const char *text, size_t length, unsigned type,
                       uint64_t value);
static inline void trace_visit(struct trace_line *line, const char *text, size_t length,
                               unsigned type, uint64_t value)
{
    if (line->values.next == line->values.end ||
        (type & ~(unsigned)TRACE_PART_PLAIN) == TRACE_PART_TEXT)
        trace_visit_other(line, text, length, type, value);
    else
        trace_values_add(&line->values, text, length, type, value);
}

__attribute__((format(printf, 2, 3))) void trace_put(struct trace_line *line, const char *format,
                                                     ...);

/* A text or a name that is a literal has a length that the compiler knows. */
void trace_put_characters(struct trace_line *line, const char *text, size_t length);
void trace_put_decimal_text(struct trace_line *line, const char *name, size_t length,
                            uint64_t value);
void trace_put_hex_text(struct trace_line *line, const char *name, size_t length, uint64_t value);

/* Most parts are one of these two. */
static inline void trace_put_named_number(struct trace_line *line, const char *name,
                                          size_t name_length, uint64_t value)
{
    if (line->visitor)
        trace_visit(line, name, name_length, TRACE_PART_DECIMAL, value);
    else
        trace_put_decimal_text(line, name, name_length, value);
}

static inline void trace_put_named_hex(struct trace_line *line, const char *name,
                                       size_t name_length, uint64_t value)
{
    if (line->visitor)
        trace_visit(line, name, name_length, TRACE_PART_HEX, value);
    else
        trace_put_hex_text(line, name, name_length, value);
}

void trace_put_named_signed(struct trace_line *line, const char *name, size_t name_length,
                            int64_t value);
/* " name=" alone: the value follows in other parts. */
void trace_put_name(struct trace_line *line, const char *name, size_t length);
/* The text as it is, and "0x1f" or sixteen digits behind it. */
void trace_put_plain_hex(struct trace_line *line, const char *text, size_t length, uint64_t value);
void trace_put_plain_digits(struct trace_line *line, const char *text, size_t length,
                            uint64_t value);

static inline void trace_put_text(struct trace_line *line, const char *text)
{
    trace_put_characters(line, text, strlen(text));
}

static inline void trace_put_number(struct trace_line *line, const char *name, uint64_t value)
{
    trace_put_named_number(line, name, strlen(name), value);
}

static inline void trace_put_hex(struct trace_line *line, const char *name, uint64_t value)
{
    trace_put_named_hex(line, name, strlen(name), value);
}

/* " 0xC000000D". */
void trace_put_status(struct trace_line *line, NTSTATUS status);

/* "a3", "-" for NULL, "a?" without memory for a number. */
void trace_put_handle_value(struct trace_line *line, enum trace_handle_kind kind,
                            const void *handle);
void trace_put_named_handle(struct trace_line *line, const char *name, size_t name_length,
                            enum trace_handle_kind kind, const void *handle);
static inline void trace_put_handle(struct trace_line *line, const char *name,
                                    enum trace_handle_kind kind, const void *handle)
{
    trace_put_named_handle(line, name, strlen(name), kind, handle);
}

void trace_put_handles(struct trace_line *line, const char *name, enum trace_handle_kind kind,
                       const HANDLE *handles, UINT count);

/* A field whose value is words, which live as long as the program does. */
void trace_put_words(struct trace_line *line, const char *name, const char *words);

/* "cpu", or "-" for NULL: two runs need not have the same address. */
void trace_put_cpu_address(struct trace_line *line, const char *name, const void *address);

/* An MDL's bytes and first page frame; an ADL's pages and first page. */
void trace_put_mdl(struct trace_line *line, const char *name, const MDL *mdl);
void trace_put_adl(struct trace_line *line, const char *name, const DXGK_ADL *adl);

/* "segment:0xoffset". */
void trace_put_place(struct trace_line *line, const char *name, uint32_t segment, uint64_t address);
void trace_put_gpu_physical(struct trace_line *line, const char *name,
                            const D3DGPU_PHYSICAL_ADDRESS *address);

/* The fields of BuildPagingBuffer before and after the call (trace_paging.c). */
void trace_put_build_paging_buffer(struct trace_line *line, const struct trace_event *event);

/*
 * The fields of DDIs about work (trace_work.c); false: the DDI is none of them. Of a callback
 * (trace_callback.c).
 */
bool trace_put_work(struct trace_line *line, const struct trace_event *event);
void trace_put_callback(struct trace_line *line, const struct trace_event *event);

/* The fields of a request for memory of the device, before and after (trace_memory.c). */
void trace_put_memory(struct trace_line *line, const struct trace_event *event);

#endif
