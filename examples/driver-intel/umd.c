/*
 * What user mode's half of the driver asks of this half: the adapter, as tokens.
 *
 * The values are those with which the user-mode driver of Debian 12 was seen to run. It has kernels
 * for so many execution units, and plans its addresses by the partition.
 */
#include "driver.h"

#define PRODUCT      1270u   /* DG2 */
#define RENDER_CORE  0x0c07u /* Xe HPG */
#define DEVICE       0x56a0u
#define REVISION     8u
#define SHARED_SHARE 2u /* the part of system memory that is said to be shared */
#define GIB          (1ull << 30)
#define TIB          (1ull << 40)
#define MOST_DEPTH   4u

/* A row opens a token, closes the one that is open, or is a value. */
enum kind { OPEN, CLOSE, FLAG, DWORD_VALUE, QWORD_VALUE, LOCAL_BYTES, SHARED_BYTES_VALUE };

struct row {
    USHORT kind, id;
    UINT64 value; /* OPEN: the element's number */
};

#define RANGE(id, element, base, bytes)                                                            \
    {OPEN, id, element}, {QWORD_VALUE, 3532, base}, {QWORD_VALUE, 3533, (base) + (bytes)-1},       \
    {                                                                                              \
        CLOSE, 0, 0                                                                                \
    }
#define HEAPS (1ull << 47)

static const struct row rows[] = {
    {OPEN, TOKEN_ADAPTER, 0},
    {OPEN, 3551, 0}, /* platform */
    {DWORD_VALUE, 3475, PRODUCT},
    {DWORD_VALUE, 3478, RENDER_CORE},
    {DWORD_VALUE, 3480, DEVICE},
    {DWORD_VALUE, 3481, REVISION},
    {CLOSE, 0, 0},
    {OPEN, 3552, 0},       /* features */
    {DWORD_VALUE, 640, 1}, /* local memory */
    {DWORD_VALUE, 603, 1}, /* shared virtual memory */
    {CLOSE, 0, 0},
    {DWORD_VALUE, 3555, 12000000}, /* timestamps a second */
    {DWORD_VALUE, 3559, 1300},     /* MHz */
    {LOCAL_BYTES, 3577, 0},
    {SHARED_BYTES_VALUE, 3578, 0},
    {OPEN, 3585, 0},         /* system */
    {DWORD_VALUE, 299, 96},  /* execution units */
    {DWORD_VALUE, 300, 672}, /* threads */
    {DWORD_VALUE, 301, 1},   /* slices, and what is in them */
    {DWORD_VALUE, 302, 6},
    {DWORD_VALUE, 303, 6},
    {QWORD_VALUE, 304, 3840}, /* KiB of cache */
    {DWORD_VALUE, 308, 8},    /* banks of it */
    {DWORD_VALUE, 318, 4},
    {DWORD_VALUE, 319, 16}, /* execution units of a subslice */
    {DWORD_VALUE, 320, 1},  /* the largest numbers of slices and so on */
    {DWORD_VALUE, 321, 6},
    {DWORD_VALUE, 322, 6},
    {DWORD_VALUE, 336, 7}, /* threads of an execution unit */
    {OPEN, 324, 0},        /* the slice */
    {FLAG, 200, 1},
    {DWORD_VALUE, 203, 6},
    {DWORD_VALUE, 204, 6},
    {CLOSE, 0, 0},
    {CLOSE, 0, 0},
    {OPEN, 3588, 0}, /* addresses: the process's own, four heaps, two more */
    RANGE(3538, 0, 0x10000ull, HEAPS - 0x10000),
    RANGE(3540, 0, HEAPS, 4 * GIB),
    RANGE(3540, 1, HEAPS + 4 * GIB, 4 * GIB),
    RANGE(3540, 2, HEAPS + 8 * GIB, 4 * GIB),
    RANGE(3540, 3, HEAPS + 12 * GIB, 4 * GIB),
    RANGE(3534, 0, HEAPS + 16 * GIB, 16 * TIB),
    RANGE(3535, 0, HEAPS + 16 * GIB + 16 * TIB, 16 * TIB),
    {CLOSE, 0, 0},
    {CLOSE, 0, 0},
};

/* Words are counted, and written where there is room. */
struct stream {
    UINT *words;
    UINT64 room, count;
};

static void add(struct stream *stream, UINT64 word)
{
    if (stream->count < stream->room)
        stream->words[stream->count] = (UINT)word;
    stream->count++;
}

static void add_value(struct stream *stream, USHORT id, UINT words, UINT64 value)
{
    add(stream, id | words << 16);
    add(stream, value);
    if (words > 1)
        add(stream, value >> 32);
}

static void add_tokens(struct stream *stream, const struct adapter *adapter)
{
    UINT64 open[MOST_DEPTH];
    UINT depth = 0, i;

    for (i = 0; i < RTL_NUMBER_OF(rows); i++) {
        const struct row *row = &rows[i];

        switch (row->kind) {
        case OPEN:
            add(stream, row->id | TOKEN_NESTED);
            add(stream, row->value);
            open[depth++] = stream->count;
            add(stream, 0);
            add(stream, 0);
            break;
        case CLOSE: /* its length is known now */
            depth--;
            if (stream->count <= stream->room) {
                stream->words[open[depth]] = (UINT)(4 * (stream->count - open[depth] - 2));
                stream->words[open[depth] + 1] = (UINT)(stream->count - open[depth] - 2);
            }
            break;
        case FLAG:
            add(stream, row->id | row->value << 24);
            break;
        case DWORD_VALUE:
            add_value(stream, row->id, 1, row->value);
            break;
        case QWORD_VALUE:
            add_value(stream, row->id, 2, row->value);
            break;
        case LOCAL_BYTES:
            add_value(stream, row->id, 2, adapter->local_bytes);
            break;
        default:
            add_value(stream, row->id, 2, SHARED_SHARE * GIB);
            break;
        }
    }
}

/* Zeros behind the tokens are tokens of no length. */
NTSTATUS intel_query_user_mode(const struct adapter *adapter, const DXGKARG_QUERYADAPTERINFO *query)
{
    struct stream stream = {NULL, 0, 0};

    add_tokens(&stream, adapter);
    if (query->OutputDataSize / sizeof(UINT) < stream.count)
        return STATUS_BUFFER_TOO_SMALL;
    RtlZeroMemory(query->pOutputData, query->OutputDataSize);
    stream.words = (UINT *)query->pOutputData;
    stream.room = stream.count;
    stream.count = 0;
    add_tokens(&stream, adapter);
    return STATUS_SUCCESS;
}
