/* Trace line: appends to a buffer, and counts on when the buffer is full. */
#include "miniport/trace_line.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

void trace_put(struct trace_line *line, const char *format, ...)
{
    size_t room = line->length < line->size ? line->size - line->length : 0;
    va_list arguments;
    int length;

    va_start(arguments, format);
    length = vsnprintf(room ? line->buffer + line->length : NULL, room, format, arguments);
    va_end(arguments);
    if (length > 0)
        line->length += (size_t)length;
}

void trace_put_number(struct trace_line *line, const char *name, uint64_t value)
{
    trace_put(line, " %s=%" PRIu64, name, value);
}

void trace_put_hex(struct trace_line *line, const char *name, uint64_t value)
{
    trace_put(line, " %s=0x%" PRIx64, name, value);
}

void trace_put_handle_value(struct trace_line *line, enum trace_handle_kind kind,
                            const void *handle)
{
    uint64_t number = line->handles ? trace_handles_number(line->handles, kind, handle) : 0;

    if (!handle)
        trace_put(line, "-");
    else if (!number)
        trace_put(line, "%c?", kind);
    else
        trace_put(line, "%c%" PRIu64, kind, number);
}

void trace_put_handle(struct trace_line *line, const char *name, enum trace_handle_kind kind,
                      const void *handle)
{
    trace_put(line, " %s=", name);
    trace_put_handle_value(line, kind, handle);
}

void trace_put_cpu_address(struct trace_line *line, const char *name, const void *address)
{
    trace_put(line, " %s=%s", name, address ? "cpu" : "-");
}

void trace_put_mdl(struct trace_line *line, const char *name, const MDL *mdl)
{
    if (!mdl)
        trace_put(line, " %s=-", name);
    else if (!mdl->ByteCount)
        trace_put(line, " %s={bytes=0}", name);
    else
        trace_put(line, " %s={bytes=%" PRIu32 " frame=0x%" PRIx64 "}", name, mdl->ByteCount,
                  (uint64_t)MmGetMdlPfnArray(mdl)[0]);
}

void trace_put_adl(struct trace_line *line, const char *name, const DXGK_ADL *adl)
{
    trace_put(line, " %s={pages=%" PRIu32, name, adl->PageCount);
    if (adl->Flags.Contiguous)
        trace_put(line, " base=0x%" PRIx64 "}", adl->BasePageNumber);
    else if (adl->PageCount && adl->Pages)
        trace_put(line, " first=0x%" PRIx64 "}", adl->Pages[0]);
    else
        trace_put(line, "}");
}

void trace_put_gpu_physical(struct trace_line *line, const char *name,
                            const D3DGPU_PHYSICAL_ADDRESS *address)
{
    trace_put(line, " %s=%" PRIu32 ":0x%" PRIx64, name, address->SegmentId, address->SegmentOffset);
}

void trace_put_handles(struct trace_line *line, const char *name, enum trace_handle_kind kind,
                       const HANDLE *handles, UINT count)
{
    trace_put(line, " %s=[", name);
    for (UINT i = 0; handles && i < count; i++) {
        if (i)
            trace_put(line, " ");
        trace_put_handle_value(line, kind, handles[i]);
    }
    trace_put(line, "]");
}
