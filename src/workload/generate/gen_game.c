/*
 * game: frames of a renderer whose camera walks over a tiled world.
 *
 * Each tile of a square world has one texture, of a size that its place decides. The camera takes
 * one step of a random walk with momentum per frame; tiles within its radius are visible. A tile
 * that becomes visible without a texture is streamed: the CPU writes a staging buffer, the copy
 * context copies it into a new local allocation; the frame waits for that. A texture not seen for
 * `keep` frames is freed.
 *
 * A frame: constants written by the CPU (a ring of three), shadow pass, geometry passes of up to
 * 16 textures each into the g-buffer, lighting, post-processing into one of two back buffers.
 * So the working set follows the camera, and render targets are written every frame.
 */
#include "workload/generate/gen.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

enum {
    FRAMES,
    WORLD,
    RADIUS,
    TEXTURE,
    KEEP,
    WIDTH,
    HEIGHT,
    FRAME_US,
};

const struct workload_param gen_game_params[] = {
    {"frames", NULL, 120, 1, 1000000, "frames to draw"},
    {"world", NULL, 48, 4, 1024, "tiles along one side of the world"},
    {"radius", NULL, 5, 1, 64, "tiles that the camera sees in each direction"},
    {"texture", NULL, 4 * MiB, 64 * KiB, 1 * GiB, "largest texture; others are 1/2, 1/4 or 1/8"},
    {"keep", NULL, 60, 1, 100000, "frames that an unseen texture is kept"},
    {"width", NULL, 1280, 16, 16384, "of the frame, in pixels"},
    {"height", NULL, 720, 16, 16384, "of the frame, in pixels"},
    {"frame-us", NULL, 8000, 1, 1000000, "GPU time of a frame, in microseconds"},
    {NULL, NULL, 0, 0, 0, NULL},
};

#define RING          3
#define STAGING_COUNT 4
#define BATCH         16
#define CONTEXT_DRAW  0
#define CONTEXT_COPY  1

struct tile {
    uint32_t texture; /* WORKLOAD_NONE while not loaded */
    uint32_t last_seen;
    uint64_t size;
};

struct game {
    struct gen *gen;
    struct workload_builder *builder;
    struct tile *tiles;
    uint64_t world, radius, keep;
    int64_t camera_x, camera_y, speed_x, speed_y;
    uint32_t constants[RING], staging[STAGING_COUNT], next_staging;
    uint32_t gbuffer[3], depth, shadow, hdr, back[2], vertices;
    double frame_ns;
};

static struct tile *tile_at(struct game *g, int64_t x, int64_t y)
{
    int64_t side = (int64_t)g->world;

    /* The world is a torus. */
    x = ((x % side) + side) % side;
    y = ((y % side) + side) % side;
    return &g->tiles[y * side + x];
}

static void walk(struct game *g)
{
    struct rng *rng = &g->gen->rng;

    if (rng_chance(rng, 1, 12)) {
        g->speed_x = (int64_t)rng_below(rng, 3) - 1;
        g->speed_y = (int64_t)rng_below(rng, 3) - 1;
    }
    g->camera_x += g->speed_x;
    g->camera_y += g->speed_y;
}

static void stream(struct game *g, struct tile *tile)
{
    uint32_t staging = g->staging[g->next_staging++ % STAGING_COUNT];
    struct gen *gen = g->gen;

    tile->texture = gen_alloc(gen, tile->size, 0, "texture%u", (unsigned)(tile - g->tiles));
    workload_builder_write(g->builder, staging, 0, tile->size, 0);
    workload_builder_submit_begin(g->builder, CONTEXT_COPY, tile->size / 12 + 1000);
    workload_builder_ref(g->builder, staging, 0, tile->size, WORKLOAD_ACCESS_READ, 0);
    workload_builder_ref(g->builder, tile->texture, 0, 0, WORKLOAD_ACCESS_WRITE, 0);
    workload_builder_submit_end(g->builder);
}

static void draw_batch(struct game *g, uint32_t constants, const uint32_t *textures, size_t count,
                       bool is_first, double duration)
{
    uint32_t target = WORKLOAD_ACCESS_WRITE | (is_first ? 0 : WORKLOAD_ACCESS_READ);
    struct gen_access accesses[BATCH + 6];
    size_t used = 0;

    accesses[used++] = (struct gen_access)GEN_R(constants);
    accesses[used++] = (struct gen_access)GEN_R(g->vertices);
    for (size_t i = 0; i < 3; i++)
        accesses[used++] = (struct gen_access){g->gbuffer[i], target};
    accesses[used++] = (struct gen_access){g->depth, target};
    for (size_t i = 0; i < count; i++)
        accesses[used++] = (struct gen_access)GEN_R(textures[i]);
    gen_submit(g->gen, CONTEXT_DRAW, duration, accesses, used);
}

/* Streams what the camera sees and has no texture yet, and waits until it can be drawn. */
static void stream_visible(struct game *g)
{
    int64_t radius = (int64_t)g->radius;
    bool has_streamed = false;

    for (int64_t y = -radius; y <= radius; y++) {
        for (int64_t x = -radius; x <= radius; x++) {
            struct tile *tile = tile_at(g, g->camera_x + x, g->camera_y + y);

            if (tile->texture != WORKLOAD_NONE)
                continue;
            stream(g, tile);
            has_streamed = true;
        }
    }
    if (has_streamed)
        workload_builder_wait(g->builder, CONTEXT_COPY);
}

/* Draws every visible tile. */
static void draw_world(struct game *g, uint32_t frame, uint32_t constants)
{
    uint32_t textures[BATCH];
    size_t count = 0;
    int64_t radius = (int64_t)g->radius;
    uint64_t visible = (2 * g->radius + 1) * (2 * g->radius + 1);
    double batches = (double)div_round_up(visible, BATCH);
    bool is_first = true;

    stream_visible(g);
    for (int64_t y = -radius; y <= radius; y++) {
        for (int64_t x = -radius; x <= radius; x++) {
            struct tile *tile = tile_at(g, g->camera_x + x, g->camera_y + y);

            tile->last_seen = frame;
            textures[count++] = tile->texture;
            if (count == BATCH || (x == radius && y == radius)) {
                draw_batch(g, constants, textures, count, is_first, g->frame_ns * 0.6 / batches);
                is_first = false;
                count = 0;
            }
        }
    }
}

static void forget_unseen(struct game *g, uint32_t frame)
{
    for (uint64_t i = 0; i < g->world * g->world; i++) {
        struct tile *tile = &g->tiles[i];

        if (tile->texture != WORKLOAD_NONE && frame - tile->last_seen > g->keep) {
            workload_builder_free(g->builder, tile->texture);
            tile->texture = WORKLOAD_NONE;
        }
    }
}

static void draw_frame(struct game *g, uint32_t frame)
{
    uint32_t constants = g->constants[frame % RING];
    struct gen *gen = g->gen;
    char name[32];

    if (frame % 30 == 0) {
        snprintf(name, sizeof name, "frames-%u", frame);
        workload_builder_step(g->builder, name);
    }
    walk(g);
    /* Two frames stay in flight; the ring's oldest buffer is free after this. */
    if (frame >= RING && frame % RING == 0)
        workload_builder_wait(g->builder, CONTEXT_DRAW);
    workload_builder_write(g->builder, constants, 0, 0, 0);
    GEN_SUBMIT(gen, CONTEXT_DRAW, g->frame_ns * 0.1, GEN_R(constants), GEN_R(g->vertices),
               GEN_W(g->shadow));
    draw_world(g, frame, constants);
    GEN_SUBMIT(gen, CONTEXT_DRAW, g->frame_ns * 0.2, GEN_R(constants), GEN_R(g->gbuffer[0]),
               GEN_R(g->gbuffer[1]), GEN_R(g->gbuffer[2]), GEN_R(g->depth), GEN_R(g->shadow),
               GEN_W(g->hdr));
    GEN_SUBMIT(gen, CONTEXT_DRAW, g->frame_ns * 0.1, GEN_R(g->hdr), GEN_W(g->back[frame % 2]));
    forget_unseen(g, frame);
}

static void create_targets(struct game *g, uint64_t pixels)
{
    struct gen *gen = g->gen;

    for (unsigned i = 0; i < 3; i++)
        g->gbuffer[i] = gen_alloc(gen, pixels * 8, 0, "gbuffer%u", i);
    g->depth = gen_alloc(gen, pixels * 4, 0, "depth");
    g->shadow = gen_alloc(gen, 2048 * 2048 * 4, 0, "shadow");
    g->hdr = gen_alloc(gen, pixels * 8, 0, "hdr");
    for (unsigned i = 0; i < 2; i++)
        g->back[i] = gen_alloc(gen, pixels * 4, WORKLOAD_ALLOCATION_PRIMARY, "back%u", i);
    for (unsigned i = 0; i < RING; i++)
        g->constants[i] =
            gen_alloc(gen, 64 * KiB, WORKLOAD_ALLOCATION_CPU_VISIBLE, "constants%u", i);
}

void gen_game(struct gen *gen, const uint64_t *values)
{
    struct game g = {
        .gen = gen,
        .builder = gen->builder,
        .world = values[WORLD],
        .radius = values[RADIUS],
        .keep = values[KEEP],
        .speed_x = 1,
        .frame_ns = (double)values[FRAME_US] * 1000,
    };

    if (values[WORLD] < 2 * values[RADIUS] + 1) {
        workload_builder_fail(gen->builder,
                              "radius %" PRIu64 " sees the whole world of %" PRIu64
                              " tiles (expected world of 2 * radius + 1 or more)",
                              values[RADIUS], values[WORLD]);
        return;
    }
    g.tiles = calloc(values[WORLD] * values[WORLD], sizeof *g.tiles);
    if (!g.tiles) {
        workload_builder_fail(gen->builder, "out of memory");
        return;
    }
    for (uint64_t i = 0; i < g.world * g.world; i++) {
        g.tiles[i].texture = WORKLOAD_NONE;
        g.tiles[i].size = values[TEXTURE] >> rng_below(&gen->rng, 4);
    }
    workload_builder_name(gen->builder, "game: streamed textures around a walking camera");
    workload_builder_option(gen->builder, "nodes", "2");
    workload_builder_process(gen->builder, "game");
    workload_builder_device(gen->builder, "device", 0);
    workload_builder_context(gen->builder, "draw", 0, 0);
    workload_builder_context(gen->builder, "copy", 0, 1);
    workload_builder_step(gen->builder, "load");
    create_targets(&g, values[WIDTH] * values[HEIGHT]);
    for (unsigned i = 0; i < STAGING_COUNT; i++)
        g.staging[i] =
            gen_alloc(gen, values[TEXTURE], WORKLOAD_ALLOCATION_CPU_VISIBLE, "staging%u", i);
    g.vertices = gen_alloc(gen, 8 * MiB, 0, "vertices");
    GEN_SUBMIT(gen, CONTEXT_COPY, 700000, GEN_W(g.vertices));
    workload_builder_wait(gen->builder, CONTEXT_COPY);
    for (uint32_t frame = 0; frame < values[FRAMES]; frame++)
        draw_frame(&g, frame);
    workload_builder_wait(gen->builder, WORKLOAD_NONE);
    free(g.tiles);
}
