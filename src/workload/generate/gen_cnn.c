/*
 * cnn: training steps of a ResNet-like network, every tensor and kernel from layer arithmetic.
 *
 * The network is a stem, four stages of bottleneck blocks, and a classifier:
 *
 *     block    x -> 1x1 conv (c) -> 3x3 conv (c) -> 1x1 conv (4c) -> + shortcut -> relu
 *
 * The first block of a stage halves the image (but in stage one) and has a 1x1 convolution in its
 * shortcut. Each convolution is followed by a normalisation with an activation; the convolution's
 * output and the activation's output are both kept for the backward pass. A convolution of k x k
 * from ci to co channels onto n pixels costs 2 n k^2 ci co operations.
 */
#include "workload/generate/gen_train.h"

#include "base/bits.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    DEPTH,
    BATCH,
    IMAGE,
    WIDTH,
    CLASSES,
    STEPS,
    TRAIN, /* the first of the rows of TRAIN_PARAMS */
};

const struct workload_param gen_cnn_params[] = {
    {"depth", "26|50|101|152", 1, 0, 0,
     "layers: 2,2,2,2 or 3,4,6,3 or 3,4,23,3 or 3,8,36,3 blocks"},
    {"batch", NULL, 16, 1, 65536, "images in a step"},
    {"image", NULL, 128, 32, 4096, "width and height in pixels, a multiple of 32"},
    {"width", NULL, 64, 1, 4096, "channels of the first stage"},
    {"classes", NULL, 1000, 2, 1048576, "outputs of the classifier"},
    {"steps", NULL, 2, 1, 10000, "training steps"},
    TRAIN_PARAMS(1),
    {NULL, NULL, 0, 0, 0, NULL},
};

static const uint8_t stage_blocks[4][4] = {
    {2, 2, 2, 2}, {3, 4, 6, 3}, {3, 4, 23, 3}, {3, 8, 36, 3}};

/* A feature map. */
struct map {
    uint32_t id;
    uint64_t channels, side;
};

/* A convolution with its normalisation. */
struct conv {
    struct train_param weight, norm;
    uint64_t kernel, in, out, stride;
    struct map x, raw, y; /* input, convolved, activated: of the step under way */
    char name[TRAIN_NAME];
};

struct block {
    struct conv reduce, middle, expand, shortcut;
    bool has_shortcut;
    struct map x, sum;
};

struct model {
    struct train train;
    struct workload_builder *builder;
    struct conv stem;
    struct block *blocks;
    uint32_t block_count;
    struct train_param classifier;
    uint32_t images, loss;
    uint64_t batch, image, classes;
    double element;
};

static struct map new_map(struct model *m, uint64_t channels, uint64_t side, const char *owner,
                          const char *what)
{
    struct map map = {.channels = channels, .side = side};
    uint64_t size =
        GEN_BYTES(m->train.gen, what, m->batch, channels, side * side, m->train.dtype_bytes);

    map.id = gen_alloc(m->train.gen, size, 0, "%s.%s", owner, what);
    return map;
}

static double map_values(const struct model *m, struct map map)
{
    return (double)m->batch * (double)map.channels * (double)map.side * (double)map.side;
}

static double pointwise(const struct model *m, double values)
{
    return train_time(&m->train, 4 * values, values * m->element);
}

static double conv_time(const struct model *m, const struct conv *c)
{
    double flops = 2 * map_values(m, c->raw) * (double)(c->kernel * c->kernel * c->in);
    double bytes = (map_values(m, c->x) + map_values(m, c->raw)) * m->element;

    return train_time(&m->train, flops, bytes);
}

static void conv_init(struct model *m, struct conv *c, uint64_t kernel, uint64_t in, uint64_t out,
                      uint64_t stride, const char *owner, const char *what)
{
    *c = (struct conv){.kernel = kernel, .in = in, .out = out, .stride = stride};
    snprintf(c->name, sizeof c->name, "%.16s%s", owner, what);
    train_param_init(&m->train, &c->weight, kernel * kernel * in * out, "%.24s.conv", c->name);
    train_param_init(&m->train, &c->norm, 4 * out, "%.24s.norm", c->name);
}

static struct map conv_forward(struct model *m, struct conv *c, struct map x)
{
    c->x = x;
    c->raw = new_map(m, c->out, x.side / c->stride, c->name, "raw");
    GEN_SUBMIT(m->train.gen, 0, conv_time(m, c), GEN_R(x.id), GEN_R(c->weight.weight),
               GEN_W(c->raw.id));
    c->y = new_map(m, c->out, c->raw.side, c->name, "y");
    GEN_SUBMIT(m->train.gen, 0, pointwise(m, 2 * map_values(m, c->raw)), GEN_R(c->raw.id),
               GEN_RW(c->norm.weight), GEN_W(c->y.id));
    return c->y;
}

/* Takes the gradient of y, frees it, y and raw; writes or adds the gradient of x into d_x. */
static void conv_backward(struct model *m, struct conv *c, struct map d_y, uint32_t d_x,
                          bool adds_to_d_x)
{
    struct gen *gen = m->train.gen;
    struct map d_raw = new_map(m, c->raw.channels, c->raw.side, c->name, "d_raw");
    struct gen_access gradient = train_gradient(&m->train, &c->norm);
    struct gen_access to_x = GEN_W(d_x);

    GEN_SUBMIT(gen, 0, pointwise(m, 4 * map_values(m, c->raw)), GEN_R(c->raw.id), GEN_R(c->y.id),
               GEN_R(d_y.id), GEN_R(c->norm.weight), GEN_W(d_raw.id), gradient);
    workload_builder_free(m->builder, d_y.id);
    workload_builder_free(m->builder, c->y.id);
    workload_builder_free(m->builder, c->raw.id);
    if (adds_to_d_x)
        to_x.access |= WORKLOAD_ACCESS_READ;
    if (d_x != WORKLOAD_NONE)
        GEN_SUBMIT(gen, 0, conv_time(m, c), GEN_R(d_raw.id), GEN_R(c->weight.weight), to_x);
    gradient = train_gradient(&m->train, &c->weight);
    GEN_SUBMIT(gen, 0, conv_time(m, c), GEN_R(c->x.id), GEN_R(d_raw.id), gradient);
    workload_builder_free(m->builder, d_raw.id);
}

static struct map block_forward(struct model *m, struct block *b, struct map x)
{
    struct map y, beside = x;

    b->x = x;
    y = conv_forward(m, &b->reduce, x);
    y = conv_forward(m, &b->middle, y);
    y = conv_forward(m, &b->expand, y);
    if (b->has_shortcut)
        beside = conv_forward(m, &b->shortcut, x);
    b->sum = new_map(m, y.channels, y.side, b->expand.name, "sum");
    GEN_SUBMIT(m->train.gen, 0, pointwise(m, 3 * map_values(m, y)), GEN_R(y.id), GEN_R(beside.id),
               GEN_W(b->sum.id));
    return b->sum;
}

/* Takes the gradient of sum, frees it and what the block saved, returns that of x. */
static struct map block_backward(struct model *m, struct block *b, struct map d_sum)
{
    struct gen *gen = m->train.gen;
    struct map d_y, d_beside, d_middle, d_reduce;

    /* The gradient goes down both branches. */
    d_y = new_map(m, b->sum.channels, b->sum.side, b->expand.name, "d_y");
    d_beside = new_map(m, b->sum.channels, b->sum.side, b->expand.name, "d_beside");
    GEN_SUBMIT(gen, 0, pointwise(m, 4 * map_values(m, d_sum)), GEN_R(b->sum.id), GEN_R(d_sum.id),
               GEN_W(d_y.id), GEN_W(d_beside.id));
    workload_builder_free(m->builder, d_sum.id);
    workload_builder_free(m->builder, b->sum.id);
    if (b->has_shortcut) {
        struct map d_x = new_map(m, b->x.channels, b->x.side, b->shortcut.name, "d_x");

        conv_backward(m, &b->shortcut, d_beside, d_x.id, false);
        d_beside = d_x;
    }
    d_middle = new_map(m, b->middle.y.channels, b->middle.y.side, b->middle.name, "d_y");
    conv_backward(m, &b->expand, d_y, d_middle.id, false);
    d_reduce = new_map(m, b->reduce.y.channels, b->reduce.y.side, b->reduce.name, "d_y");
    conv_backward(m, &b->middle, d_middle, d_reduce.id, false);
    conv_backward(m, &b->reduce, d_reduce, d_beside.id, true);
    return d_beside;
}

static struct map classify(struct model *m, struct map x)
{
    struct gen *gen = m->train.gen;
    double rows = (double)m->batch, inner = (double)x.channels, outer = (double)m->classes;
    double matrix = train_time(&m->train, 2 * rows * inner * outer, inner * outer * m->element);
    struct map pooled = new_map(m, x.channels, 1, "head", "pooled");
    struct map logits = new_map(m, m->classes, 1, "head", "logits");
    struct map d_x;
    struct gen_access gradient;

    GEN_SUBMIT(gen, 0, pointwise(m, map_values(m, x)), GEN_R(x.id), GEN_W(pooled.id));
    GEN_SUBMIT(gen, 0, matrix, GEN_R(pooled.id), GEN_R(m->classifier.weight), GEN_W(logits.id));
    GEN_SUBMIT(gen, 0, pointwise(m, 3 * rows * outer), GEN_RW(logits.id), GEN_W(m->loss));
    gradient = train_gradient(&m->train, &m->classifier);
    GEN_SUBMIT(gen, 0, matrix, GEN_R(pooled.id), GEN_R(logits.id), gradient);
    d_x = new_map(m, x.channels, x.side, "head", "d_x");
    GEN_SUBMIT(gen, 0, matrix + pointwise(m, map_values(m, x)), GEN_R(logits.id),
               GEN_R(m->classifier.weight), GEN_W(d_x.id));
    workload_builder_free(m->builder, logits.id);
    workload_builder_free(m->builder, pooled.id);
    return d_x;
}

/* Every parameter, in the order of the network. */
static void for_each_param(struct model *m,
                           void (*visit)(struct train *train, struct train_param *param))
{
    visit(&m->train, &m->stem.weight);
    visit(&m->train, &m->stem.norm);
    for (uint32_t i = 0; i < m->block_count; i++) {
        struct block *b = &m->blocks[i];
        struct conv *convs[4] = {&b->reduce, &b->middle, &b->expand, &b->shortcut};

        for (uint32_t c = 0; c < (b->has_shortcut ? 4u : 3u); c++) {
            visit(&m->train, &convs[c]->weight);
            visit(&m->train, &convs[c]->norm);
        }
    }
    visit(&m->train, &m->classifier);
}

static void run_step(struct model *m, uint64_t step)
{
    struct map x = {.id = m->images, .channels = 3, .side = m->image};
    struct map gradient;
    char name[32];

    snprintf(name, sizeof name, "step-%u", (unsigned)step + 1);
    workload_builder_step(m->builder, name);
    workload_builder_write(m->builder, m->images, 0, 0, 0);
    x = conv_forward(m, &m->stem, x);
    for (uint32_t i = 0; i < m->block_count; i++)
        x = block_forward(m, &m->blocks[i], x);
    gradient = classify(m, x);
    for (uint32_t i = m->block_count; i-- > 0;)
        gradient = block_backward(m, &m->blocks[i], gradient);
    conv_backward(m, &m->stem, gradient, WORKLOAD_NONE, false);
    for_each_param(m, train_update);
    workload_builder_wait(m->builder, WORKLOAD_NONE);
    workload_builder_read(m->builder, m->loss, 0, 0);
}

static void init_network(struct model *m, const uint64_t *values)
{
    uint64_t channels = values[WIDTH], width = values[WIDTH];
    uint32_t index = 0;

    conv_init(m, &m->stem, 7, 3, width, 4, "stem", "");
    for (uint32_t stage = 0; stage < 4; stage++, width *= 2) {
        for (uint32_t i = 0; i < stage_blocks[values[DEPTH]][stage]; i++, index++) {
            struct block *b = &m->blocks[index];
            uint64_t stride = i == 0 && stage > 0 ? 2 : 1;
            char owner[16];

            snprintf(owner, sizeof owner, "s%ub%u", stage + 1, i);
            conv_init(m, &b->reduce, 1, channels, width, 1, owner, ".reduce");
            conv_init(m, &b->middle, 3, width, width, stride, owner, ".middle");
            conv_init(m, &b->expand, 1, width, 4 * width, 1, owner, ".expand");
            b->has_shortcut = i == 0;
            if (b->has_shortcut)
                conv_init(m, &b->shortcut, 1, channels, 4 * width, stride, owner, ".shortcut");
            channels = 4 * width;
        }
    }
    train_param_init(&m->train, &m->classifier, channels * m->classes, "classifier");
}

void gen_cnn(struct gen *gen, const uint64_t *values)
{
    struct model m = {
        .builder = gen->builder,
        .batch = values[BATCH],
        .image = values[IMAGE],
        .classes = values[CLASSES],
    };
    char title[120];

    if (values[IMAGE] % 32) {
        workload_builder_fail(gen->builder, "image is %u (expected a multiple of 32)",
                              (unsigned)values[IMAGE]);
        return;
    }
    for (uint32_t stage = 0; stage < 4; stage++)
        m.block_count += stage_blocks[values[DEPTH]][stage];
    m.blocks = calloc(m.block_count, sizeof *m.blocks);
    if (!m.blocks) {
        workload_builder_fail(gen->builder, "out of memory");
        return;
    }
    train_init(&m.train, gen, values + TRAIN);
    m.element = (double)m.train.dtype_bytes;
    snprintf(title, sizeof title, "cnn: %u blocks, batch %u, image %u, width %u", m.block_count,
             (unsigned)m.batch, (unsigned)m.image, (unsigned)values[WIDTH]);
    workload_builder_name(gen->builder, title);
    m.images =
        gen_alloc(gen, GEN_BYTES(gen, "images", m.batch, 3, m.image * m.image, m.train.dtype_bytes),
                  WORKLOAD_ALLOCATION_CPU_VISIBLE, "images");
    m.loss = gen_alloc(gen, 4096, WORKLOAD_ALLOCATION_CPU_VISIBLE, "loss");
    init_network(&m, values);
    workload_builder_step(gen->builder, "init");
    for_each_param(&m, train_param_fill);
    for (uint64_t step = 0; step < values[STEPS] && !workload_builder_failed(gen->builder); step++)
        run_step(&m, step);
    free(m.blocks);
}
