/*
 * A line is cut out of that of the trace: words of the form name=value are kept
 * if the name is in the list below, and of a place only the segment.
 */
#include "bench/run/run_calls.h"

#include "base/bits.h"
#include "miniport/memory_request.h"

#include <inttypes.h>
#include <string.h>

static const char *const kept_names[] = {
    "AdlOffset",
    "AllocationOffset",
    "AllocationOffsetInBytes",
    "AllocationOffsetInPages",
    "Destination",
    "Destination.pMdl",
    "EngineOrdinal",
    "Flags",
    "FillPattern",
    "InterruptType",
    "LastAbortedFenceId",
    "LastCompletedFenceId",
    "Mdl",
    "MdlOffset",
    "MmuId",
    "MonitoredFenceValue",
    "MultipassOffset",
    "NodeOrdinal",
    "NumAllocations",
    "NumFences",
    "NumRanges",
    "NumberOfBytes",
    "NumberOfPages",
    "OffsetInPages",
    "PageTableLevel",
    "PhysicalAddress",
    "PreemptionFenceId",
    "Resident",
    "Segment",
    "SegmentId",
    "Source",
    "Source.pMdl",
    "SubmissionFenceId",
    "SwizzlingRangeId",
    "TotalBytes",
    "TransferDirection",
    "TransferOffset",
    "Type",
    "UpdateMode",
    "action",
    "hAllocation",
    "hContext",
    "hDevice",
    "hDxgkProcess",
    "hKmdProcess",
    "hKmdProcessHandle",
    "hProcess",
    "state",
    "uid",
};

/* Names that tell something when the value is nothing, too. */
static const char *const zero_names[] = {
    "LastCompletedFenceId", "NodeOrdinal", "PageTableLevel", "Resident",
    "TransferDirection",    "Type",        "UpdateMode",     "state"};

/* Names whose value is "segment:address". */
static const char *const place_names[] = {"Destination", "PhysicalAddress", "Segment", "Source"};

static bool is_in(const char *const *names, size_t count, const char *word, size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(names[i]) == length && memcmp(names[i], word, length) == 0)
            return true;
    }
    return false;
}

static void flush_line(struct run_calls *calls)
{
    if (calls->repeats > 1)
        fprintf(calls->file, "%s  x%" PRIu64 "\n", calls->line, calls->repeats);
    else if (calls->repeats)
        fprintf(calls->file, "%s\n", calls->line);
    calls->repeats = 0;
}

void run_calls_begin_part(struct run_calls *calls, const char *name)
{
    if (!calls->file)
        return;
    flush_line(calls);
    fprintf(calls->file, "%s# %s\n", calls->part_count++ ? "\n" : "", name);
}

bool run_calls_wants(const char *name, bool is_callback, bool is_after, uint64_t status)
{
    static const char *const callbacks[] = {
        "DxgkCbNotifyInterrupt", "DxgkCbCreateContextAllocation", "DxgkCbDestroyContextAllocation",
        "DxgkCbReserveGpuVirtualAddressRange",
#define X(slot, member, argument, place, returns) "DxgkCb" #slot,
        MINIPORT_MEMORY_LIST(X)
#undef X
    };
    static const char *const routine[] = {"DxgkDdiInterruptRoutine", "DxgkDdiDpcRoutine",
                                          "DxgkDdiDescribeAllocation"};

    if (is_after)
        return !is_callback && status != 0;
    if (is_callback)
        return is_in(callbacks, ARRAY_COUNT(callbacks), name, strlen(name));
    return !is_in(routine, ARRAY_COUNT(routine), name, strlen(name));
}

/* Length of the word, which ends at a blank outside of brackets. */
static size_t word_length(const char *text)
{
    size_t length = 0;
    unsigned depth = 0;

    for (; text[length] && (depth || text[length] != ' '); length++) {
        if (strchr("[{(", text[length]))
            depth++;
        else if (strchr("]})", text[length]) && depth)
            depth--;
    }
    return length;
}

static void append(char out[RUN_CALLS_LINE_BYTES], const char *text, size_t length)
{
    size_t used = strlen(out);

    if (used + length + 2 > RUN_CALLS_LINE_BYTES)
        return;
    if (used)
        out[used++] = ' ';
    memcpy(out + used, text, length);
    out[used + length] = '\0';
}

static bool is_nothing(const char *value, size_t length)
{
    static const char *const nothings[] = {"0", "0x0", "-"};

    return is_in(nothings, ARRAY_COUNT(nothings), value, length);
}

static void append_word(char out[RUN_CALLS_LINE_BYTES], const char *word, size_t length)
{
    const char *equals = memchr(word, '=', length);
    size_t name_length = equals ? (size_t)(equals - word) : 0;

    if (*word == '[')
        return;
    if (!equals) {
        append(out, word, length);
        return;
    }
    if (!is_in(kept_names, ARRAY_COUNT(kept_names), word, name_length))
        return;
    if (is_nothing(equals + 1, length - name_length - 1) &&
        !is_in(zero_names, ARRAY_COUNT(zero_names), word, name_length))
        return;
    if (name_length > 5 && strncmp(equals - 5, ".pMdl", 5) == 0) {
        char place[64];

        snprintf(place, sizeof place, "%.*s=mdl", (int)(name_length - 5), word);
        append(out, place, strlen(place));
        return;
    }
    if (is_in(place_names, ARRAY_COUNT(place_names), word, name_length) &&
        memchr(word, ':', length))
        length = (size_t)((const char *)memchr(word, ':', length) - word);
    append(out, word, length);
}

void run_calls_note(struct run_calls *calls, const char *full, bool is_after)
{
    char line[RUN_CALLS_LINE_BYTES] = "";
    const char *at = full;

    at += strspn(at, " <>");
    if (strncmp(at, "DxgkDdi", 7) == 0 || strncmp(at, "DxgkCb", 6) == 0)
        at += at[4] == 'D' ? 7 : 6;
    if (is_after)
        append(line, "-", 1);
    while (*at) {
        size_t length = word_length(at);

        if (length)
            append_word(line, at, length);
        at += length;
        at += *at == ' ';
    }
    if (calls->repeats && strcmp(line, calls->line) == 0) {
        calls->repeats++;
        return;
    }
    flush_line(calls);
    memcpy(calls->line, line, sizeof line);
    calls->repeats = 1;
}

void run_calls_end(struct run_calls *calls)
{
    if (calls->file)
        flush_line(calls);
}
