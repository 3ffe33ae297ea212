/*
 * Copies and fills, of which each piece of PIECE_BYTES takes effect by itself.
 *
 * Tiled surfaces are rows of their pitch here, like linear ones: what the engine writes so, it
 * reads so, and nothing else of this model looks at them.
 */
#include "model.h"

#include <string.h>

static const uint8_t depths[8] = {1, 2, 4, 8, 12, 16, 0, 0};

/* A place in a surface: of word 1 and its like, x and y of one word, an address, offsets. */
static struct surface surface_at(uint32_t control, uint32_t corner, const uint32_t *address,
                                 uint32_t offsets, unsigned depth)
{
    const bool is_tiled = control >> 30;
    const uint64_t pitch = ((uint64_t)(control & 0x3ffff) + 1) * (is_tiled ? 4 : 1);
    const uint64_t x = (corner & 0xffff) + (offsets & 0x3fff);
    const uint64_t y = (corner >> 16) + (offsets >> 16 & 0x3fff);

    return (struct surface){iblt_wide(address) + y * pitch + x * depth, pitch};
}

/* Goes to the slice of an array or a volume: of word 17 and its like, which are two. */
static void go_to_slice(struct surface *surface, const uint32_t *shape)
{
    const uint64_t rows = 4 * (uint64_t)(shape[0] >> 4 & 0x7fff); /* from slice to slice */

    surface->address += (shape[1] >> 21) * rows * surface->pitch;
}

/* What a packet of rectangles is to do. False: it makes no sense. */
static bool take_rectangle(struct engine *engine, struct blit *out)
{
    const uint32_t *words = engine->words;
    const unsigned depth = depths[words[0] >> 19 & 7];
    const uint32_t left = words[2] & 0xffff, top = words[2] >> 16;
    const uint32_t right = words[3] & 0xffff, bottom = words[3] >> 16;

    if (!depth)
        return iblt_fails(engine, "no such colour depth:", words[0] >> 19 & 7);
    if (words[0] >> 12 & 3)
        return iblt_fails(engine, "a special mode is not known:", words[0] >> 12 & 3);
    if (words[1] & 1u << 29)
        return iblt_fails(engine,
                          "a compressed surface is not known:", iblt_wide(words + 4) & VA_MASK);
    out->to = surface_at(words[1], words[2], words + 4, words[6], depth);
    if (right > left && bottom > top) {
        out->row_bytes = (uint64_t)(right - left) * depth;
        out->rows = bottom - top;
    }
    if ((words[0] & 0xffc00000u) == IBLT_FAST_COLOR) {
        go_to_slice(&out->to, words + 14);
        out->colour_bytes = depth;
        memcpy(out->colour, words + 7, sizeof out->colour);
    } else if (words[8] & 1u << 29) {
        return iblt_fails(engine,
                          "a compressed surface is not known:", iblt_wide(words + 9) & VA_MASK);
    } else {
        out->from = surface_at(words[8], words[7], words + 9, words[11], depth);
        go_to_slice(&out->to, words + 17);
        go_to_slice(&out->from, words + 20);
    }
    return true;
}

static void take_linear(const struct engine *engine, struct blit *out)
{
    const uint32_t *words = engine->words;
    const bool has_rows = words[0] & IBLT_MATRIX;
    const bool is_copy = (words[0] & 0xffc00000u) == IBLT_MEM_COPY;

    out->row_bytes = (uint64_t)(words[1] & (has_rows ? 0x3ffff : 0xffffff)) + 1;
    out->rows = has_rows ? (uint64_t)(words[2] & 0x3ffff) + 1 : 1;
    if (is_copy) {
        out->from = (struct surface){iblt_wide(words + 5), (uint64_t)(words[3] & 0x3ffff) + 1};
        out->to = (struct surface){iblt_wide(words + 7), (uint64_t)(words[4] & 0x3ffff) + 1};
        return;
    }
    out->to = (struct surface){iblt_wide(words + 4), (uint64_t)(words[3] & 0x3ffff) + 1};
    out->colour[0] = (uint8_t)(words[6] >> 24);
    out->colour_bytes = 1;
}

bool iblt_take_blit(struct engine *engine, struct blit *out)
{
    const uint32_t kind = engine->words[0] & 0xffc00000u;

    memset(out, 0, sizeof *out);
    if (kind == IBLT_BLOCK_COPY || kind == IBLT_FAST_COLOR)
        return take_rectangle(engine, out);
    take_linear(engine, out);
    return true;
}

static bool overlaps(const struct drydock_gpu_place *a, const struct drydock_gpu_place *b,
                     uint64_t bytes)
{
    return a->is_local == b->is_local && a->address < b->address + bytes &&
           b->address < a->address + bytes;
}

static bool copy_piece(struct engine *engine, uint64_t to, uint64_t from, uint64_t most,
                       uint64_t *out_bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    struct piece source, destination;
    uint8_t bytes[PAGE];
    bool did;

    if (!iblt_find_run(engine, from, false, most, &source))
        return iblt_fails(engine, "cannot read", from & VA_MASK);
    if (!iblt_find_run(engine, to, true, source.bytes, &destination))
        return iblt_fails(engine, "cannot write", to & VA_MASK);
    most = iblt_smaller(source.bytes, destination.bytes);
    if (overlaps(&source.place, &destination.place, most)) /* page by page, as they follow */
        most = iblt_smaller(most, PAGE - (from % PAGE > to % PAGE ? from % PAGE : to % PAGE));
    *out_bytes = most;
    if (destination.is_null)
        return true;
    if (source.is_null)
        did = host->fill(host->context, destination.place, 0, most);
    else if (overlaps(&source.place, &destination.place, most))
        did = host->read(host->context, source.place, bytes, most) &&
              host->write(host->context, destination.place, bytes, most);
    else
        did = host->copy(host->context, destination.place, source.place, most);
    return did || iblt_fails(engine, "nothing answers for", to & VA_MASK);
}

/* `in_row` bytes of the row are filled by now. */
static bool fill_piece(struct engine *engine, const struct blit *blit, uint64_t to, uint64_t in_row,
                       uint64_t most, uint64_t *out_bytes)
{
    const struct drydock_gpu_host *host = engine->gpu->host;
    const unsigned period = blit->colour_bytes;
    uint8_t bytes[PAGE];
    struct piece piece;
    uint32_t pattern;
    bool is_short = true; /* four bytes repeat */

    if (!iblt_find_run(engine, to, true, most, &piece))
        return iblt_fails(engine, "cannot write", to & VA_MASK);
    *out_bytes = most = piece.bytes;
    if (piece.is_null)
        return true;
    for (unsigned i = 0; i < 4; i++)
        bytes[i] = blit->colour[(in_row + i) % period];
    memcpy(&pattern, bytes, sizeof pattern);
    for (unsigned i = 4; i < 20 && i < most; i++)
        is_short &= blit->colour[(in_row + i) % period] == bytes[i % 4];
    if (is_short)
        return host->fill(host->context, piece.place, pattern, most) ||
               iblt_fails(engine, "nothing answers for", to & VA_MASK);
    *out_bytes = most = iblt_smaller(most, PAGE);
    for (uint64_t i = 0; i < most; i++)
        bytes[i] = blit->colour[(in_row + i) % period];
    return host->write(host->context, piece.place, bytes, most) ||
           iblt_fails(engine, "nothing answers for", to & VA_MASK);
}

bool iblt_blit(struct engine *engine, const struct blit *blit)
{
    uint64_t end = iblt_smaller(engine->done + PIECE_BYTES, blit->row_bytes * blit->rows), bytes;

    for (; engine->done < end; engine->done += bytes) {
        const uint64_t row = engine->done / blit->row_bytes,
                       in_row = engine->done % blit->row_bytes;
        const uint64_t to = blit->to.address + row * blit->to.pitch + in_row;
        const uint64_t from = blit->from.address + row * blit->from.pitch + in_row;
        uint64_t most = iblt_smaller(end - engine->done, blit->row_bytes - in_row);

        if (blit->row_bytes == blit->to.pitch && !blit->colour_bytes &&
            blit->row_bytes == blit->from.pitch)
            most = end - engine->done; /* row behind row */
        if (blit->colour_bytes ? !fill_piece(engine, blit, to, in_row, most, &bytes)
                               : !copy_piece(engine, to, from, most, &bytes))
            return false;
    }
    return true;
}
