/*
 * transformer: training steps of a decoder, every tensor and kernel from layer arithmetic.
 *
 * With B = batch, S = seq, H = hidden, A = heads, V = vocab, one layer holds 12 H^2 weights and
 * saves for its backward pass, in elements:
 *
 *     x       B S H      input (the output of the layer before)
 *     n1, n2  B S H      after the two normalisations
 *     qkv     B S 3H     queries, keys, values
 *     probs   B A S S    attention probabilities
 *     att     B S H      attention output
 *     mid     B S H      after the first residual
 *     up, act B S 4H     feed-forward before and after its activation
 *
 * A step is: tokens written by the CPU, forward, loss, backward in reverse, one update per
 * parameter, the loss read back. Each activation is freed after the backward kernel that uses it
 * last. A matrix product of m x k by k x n costs 2 m n k operations.
 */
#include "workload/generate/gen_train.h"

#include "base/bits.h"

#include <stdio.h>
#include <stdlib.h>

enum {
    LAYERS,
    HIDDEN,
    HEADS,
    SEQ,
    BATCH,
    VOCAB,
    STEPS,
    TRAIN, /* the first of the rows of TRAIN_PARAMS */
};

#define MAX_LAYERS 256

const struct workload_param gen_transformer_params[] = {
    {"layers", NULL, 4, 1, MAX_LAYERS, "number of layers"},
    {"hidden", NULL, 512, 16, 65536, "width of the residual stream"},
    {"heads", NULL, 8, 1, 256, "attention heads"},
    {"seq", NULL, 256, 1, 131072, "tokens in a sequence"},
    {"batch", NULL, 8, 1, 65536, "sequences in a step"},
    {"vocab", NULL, 8192, 2, 1048576, "tokens in the vocabulary"},
    {"steps", NULL, 2, 1, 10000, "training steps"},
    TRAIN_PARAMS(2),
    {NULL, NULL, 0, 0, 0, NULL},
};

struct layer {
    struct train_param norm, qkv, proj, up, down;
    uint32_t x; /* saved activations of the step under way */
    uint32_t n1, q, probs, att, mid, n2, u, act;
};

struct model {
    struct train train;
    struct workload_builder *builder;
    struct layer *layers;
    struct train_param embedding, position, final_norm;
    uint32_t tokens, loss;
    uint64_t layer_count, hidden, heads, rows, seq, batch, vocab; /* rows = batch * seq */
    double element;                                               /* bytes */
};

/* An activation of rows x columns. */
static uint32_t activation(struct model *m, uint64_t rows, uint64_t columns, const char *what,
                           uint64_t layer)
{
    uint64_t size = GEN_BYTES(m->train.gen, what, rows, columns, m->train.dtype_bytes);

    return gen_alloc(m->train.gen, size, 0, "l%u.%s", (unsigned)layer, what);
}

static void drop(struct model *m, uint32_t id)
{
    workload_builder_free(m->builder, id);
}

/* Time of a matrix product m x k by k x n. */
static double product(const struct model *m, double rows, double inner, double columns)
{
    double bytes = (rows * inner + inner * columns + rows * columns) * m->element;

    return train_time(&m->train, 2 * rows * inner * columns, bytes);
}

/* Time of a kernel that touches count values a few operations each. */
static double pointwise(const struct model *m, double count)
{
    return train_time(&m->train, 8 * count, count * m->element);
}

static void forward(struct model *m, struct layer *l, uint64_t index, uint32_t next_x)
{
    struct gen *gen = m->train.gen;
    double rows = (double)m->rows, h = (double)m->hidden, s = (double)m->seq;
    double attended = rows * s * (double)m->heads;

    l->n1 = activation(m, m->rows, m->hidden, "n1", index);
    GEN_SUBMIT(gen, 0, pointwise(m, 2 * rows * h), GEN_R(l->x), GEN_R(l->norm.weight),
               GEN_W(l->n1));
    l->q = activation(m, m->rows, 3 * m->hidden, "qkv", index);
    GEN_SUBMIT(gen, 0, product(m, rows, h, 3 * h), GEN_R(l->n1), GEN_R(l->qkv.weight), GEN_W(l->q));
    l->probs = activation(m, m->rows * m->heads, m->seq, "probs", index);
    GEN_SUBMIT(gen, 0, product(m, rows, h, s) + pointwise(m, 2 * attended), GEN_R(l->q),
               GEN_W(l->probs));
    l->att = activation(m, m->rows, m->hidden, "att", index);
    GEN_SUBMIT(gen, 0, product(m, rows, s, h), GEN_R(l->probs), GEN_R(l->q), GEN_W(l->att));
    l->mid = activation(m, m->rows, m->hidden, "mid", index);
    GEN_SUBMIT(gen, 0, product(m, rows, h, h), GEN_R(l->att), GEN_R(l->proj.weight), GEN_R(l->x),
               GEN_W(l->mid));
    l->n2 = activation(m, m->rows, m->hidden, "n2", index);
    GEN_SUBMIT(gen, 0, pointwise(m, 2 * rows * h), GEN_R(l->mid), GEN_R(l->norm.weight),
               GEN_W(l->n2));
    l->u = activation(m, m->rows, 4 * m->hidden, "up", index);
    GEN_SUBMIT(gen, 0, product(m, rows, h, 4 * h), GEN_R(l->n2), GEN_R(l->up.weight), GEN_W(l->u));
    l->act = activation(m, m->rows, 4 * m->hidden, "act", index);
    GEN_SUBMIT(gen, 0, pointwise(m, 8 * rows * h), GEN_R(l->u), GEN_W(l->act));
    GEN_SUBMIT(gen, 0, product(m, rows, 4 * h, h), GEN_R(l->act), GEN_R(l->down.weight),
               GEN_R(l->mid), GEN_W(next_x));
}

/* Backward of out = in * weight: the gradients of in (freshly written) and of weight. */
static void product_backward(struct model *m, struct train_param *weight, uint32_t in, uint32_t out,
                             uint32_t in_gradient, double inner, double columns)
{
    struct gen *gen = m->train.gen;
    struct gen_access weight_gradient;

    GEN_SUBMIT(gen, 0, product(m, (double)m->rows, columns, inner), GEN_R(out),
               GEN_R(weight->weight), GEN_W(in_gradient));
    weight_gradient = train_gradient(&m->train, weight);
    GEN_SUBMIT(gen, 0, product(m, inner, (double)m->rows, columns), GEN_R(in), GEN_R(out),
               weight_gradient);
}

/* Takes the gradient of the layer's output, returns that of its input. */
static uint32_t backward(struct model *m, struct layer *l, uint64_t index, uint32_t d_out)
{
    struct gen *gen = m->train.gen;
    double rows = (double)m->rows, h = (double)m->hidden, s = (double)m->seq;
    double attended = rows * s * (double)m->heads;
    uint32_t d_act, d_up, d_n2, d_mid, d_att, d_qkv, d_probs, d_n1, d_x;
    struct gen_access norm_gradient;

    d_act = activation(m, m->rows, 4 * m->hidden, "d_act", index);
    product_backward(m, &l->down, l->act, d_out, d_act, 4 * h, h);
    drop(m, l->act);
    d_up = activation(m, m->rows, 4 * m->hidden, "d_up", index);
    GEN_SUBMIT(gen, 0, pointwise(m, 12 * rows * h), GEN_R(l->u), GEN_R(d_act), GEN_W(d_up));
    drop(m, d_act);
    drop(m, l->u);
    d_n2 = activation(m, m->rows, m->hidden, "d_n2", index);
    product_backward(m, &l->up, l->n2, d_up, d_n2, h, 4 * h);
    drop(m, d_up);
    drop(m, l->n2);
    d_mid = activation(m, m->rows, m->hidden, "d_mid", index);
    norm_gradient = train_gradient(&m->train, &l->norm);
    GEN_SUBMIT(gen, 0, pointwise(m, 4 * rows * h), GEN_R(l->mid), GEN_R(d_n2), GEN_R(d_out),
               GEN_R(l->norm.weight), GEN_W(d_mid), norm_gradient);
    drop(m, d_n2);
    drop(m, d_out);
    drop(m, l->mid);

    d_att = activation(m, m->rows, m->hidden, "d_att", index);
    product_backward(m, &l->proj, l->att, d_mid, d_att, h, h);
    drop(m, l->att);
    d_qkv = activation(m, m->rows, 3 * m->hidden, "d_qkv", index);
    d_probs = activation(m, m->rows * m->heads, m->seq, "d_probs", index);
    GEN_SUBMIT(gen, 0, 2 * product(m, rows, h, s), GEN_R(l->probs), GEN_R(l->q), GEN_R(d_att),
               GEN_W(d_probs), GEN_W(d_qkv));
    drop(m, d_att);
    GEN_SUBMIT(gen, 0, 2 * product(m, rows, s, h) + pointwise(m, 3 * attended), GEN_R(l->probs),
               GEN_R(l->q), GEN_R(d_probs), GEN_RW(d_qkv));
    drop(m, d_probs);
    drop(m, l->probs);
    drop(m, l->q);
    d_n1 = activation(m, m->rows, m->hidden, "d_n1", index);
    product_backward(m, &l->qkv, l->n1, d_qkv, d_n1, h, 3 * h);
    drop(m, d_qkv);
    drop(m, l->n1);
    d_x = activation(m, m->rows, m->hidden, "d_x", index);
    norm_gradient = train_gradient(&m->train, &l->norm);
    GEN_SUBMIT(gen, 0, pointwise(m, 4 * rows * h), GEN_R(l->x), GEN_R(d_n1), GEN_R(d_mid),
               GEN_R(l->norm.weight), GEN_W(d_x), norm_gradient);
    drop(m, d_n1);
    drop(m, d_mid);
    drop(m, l->x);
    return d_x;
}

/* Loss over the vocabulary, and the gradient of the last layer's output x. */
static uint32_t head(struct model *m, uint32_t x)
{
    struct gen *gen = m->train.gen;
    double rows = (double)m->rows, h = (double)m->hidden, v = (double)m->vocab;
    uint32_t normed, logits, d_normed, d_x;
    struct gen_access gradient;

    normed = activation(m, m->rows, m->hidden, "final", m->layer_count);
    GEN_SUBMIT(gen, 0, pointwise(m, 2 * rows * h), GEN_R(x), GEN_R(m->final_norm.weight),
               GEN_W(normed));
    logits = activation(m, m->rows, m->vocab, "logits", m->layer_count);
    GEN_SUBMIT(gen, 0, product(m, rows, h, v), GEN_R(normed), GEN_R(m->embedding.weight),
               GEN_W(logits));
    GEN_SUBMIT(gen, 0, pointwise(m, 3 * rows * v), GEN_RW(logits), GEN_R(m->tokens),
               GEN_W(m->loss));
    d_normed = activation(m, m->rows, m->hidden, "d_final", m->layer_count);
    product_backward(m, &m->embedding, normed, logits, d_normed, h, v);
    drop(m, logits);
    drop(m, normed);
    d_x = activation(m, m->rows, m->hidden, "d_x", m->layer_count);
    gradient = train_gradient(&m->train, &m->final_norm);
    GEN_SUBMIT(gen, 0, pointwise(m, 4 * rows * h), GEN_R(x), GEN_R(d_normed),
               GEN_R(m->final_norm.weight), GEN_W(d_x), gradient);
    drop(m, d_normed);
    drop(m, x);
    return d_x;
}

static void update_all(struct model *m)
{
    for (uint64_t i = 0; i < m->layer_count; i++) {
        struct layer *l = &m->layers[i];

        train_update(&m->train, &l->norm);
        train_update(&m->train, &l->qkv);
        train_update(&m->train, &l->proj);
        train_update(&m->train, &l->up);
        train_update(&m->train, &l->down);
    }
    train_update(&m->train, &m->final_norm);
    train_update(&m->train, &m->position);
    train_update(&m->train, &m->embedding);
}

static void run_step(struct model *m, uint64_t step)
{
    struct gen *gen = m->train.gen;
    struct gen_access to_embedding, to_position;
    double values = (double)m->rows * (double)m->hidden;
    char name[32];
    uint32_t x, gradient;

    snprintf(name, sizeof name, "step-%u", (unsigned)step + 1);
    workload_builder_step(m->builder, name);
    workload_builder_write(m->builder, m->tokens, 0, 0, 0);
    x = activation(m, m->rows, m->hidden, "x", 0);
    GEN_SUBMIT(gen, 0, pointwise(m, 2 * values), GEN_R(m->tokens), GEN_R(m->embedding.weight),
               GEN_R(m->position.weight), GEN_W(x));
    for (uint64_t i = 0; i < m->layer_count; i++) {
        m->layers[i].x = x;
        x = activation(m, m->rows, m->hidden, "x", i + 1);
        forward(m, &m->layers[i], i, x);
    }
    gradient = head(m, x);
    for (uint64_t i = m->layer_count; i-- > 0;)
        gradient = backward(m, &m->layers[i], i, gradient);
    to_embedding = train_gradient(&m->train, &m->embedding);
    to_position = train_gradient(&m->train, &m->position);
    GEN_SUBMIT(gen, 0, pointwise(m, 2 * values), GEN_R(m->tokens), GEN_R(gradient), to_embedding,
               to_position);
    drop(m, gradient);
    update_all(m);
    workload_builder_wait(m->builder, WORKLOAD_NONE);
    workload_builder_read(m->builder, m->loss, 0, 0);
}

static void init_parameters(struct model *m)
{
    struct train *train = &m->train;
    uint64_t h = m->hidden;

    train_param_init(train, &m->embedding, m->vocab * h, "embedding");
    train_param_init(train, &m->position, m->seq * h, "position");
    train_param_init(train, &m->final_norm, 2 * h, "final_norm");
    for (uint64_t i = 0; i < m->layer_count; i++) {
        struct layer *l = &m->layers[i];
        unsigned number = (unsigned)i;

        train_param_init(train, &l->norm, 4 * h, "l%u.norm", number);
        train_param_init(train, &l->qkv, 3 * h * h, "l%u.qkv", number);
        train_param_init(train, &l->proj, h * h, "l%u.proj", number);
        train_param_init(train, &l->up, 4 * h * h, "l%u.up", number);
        train_param_init(train, &l->down, 4 * h * h, "l%u.down", number);
    }
}

static void fill_parameters(struct model *m)
{
    train_param_fill(&m->train, &m->embedding);
    train_param_fill(&m->train, &m->position);
    train_param_fill(&m->train, &m->final_norm);
    for (uint64_t i = 0; i < m->layer_count; i++) {
        train_param_fill(&m->train, &m->layers[i].norm);
        train_param_fill(&m->train, &m->layers[i].qkv);
        train_param_fill(&m->train, &m->layers[i].proj);
        train_param_fill(&m->train, &m->layers[i].up);
        train_param_fill(&m->train, &m->layers[i].down);
    }
}

void gen_transformer(struct gen *gen, const uint64_t *values)
{
    struct model m = {
        .builder = gen->builder,
        .layer_count = values[LAYERS],
        .hidden = values[HIDDEN],
        .heads = values[HEADS],
        .rows = values[BATCH] * values[SEQ],
        .seq = values[SEQ],
        .batch = values[BATCH],
        .vocab = values[VOCAB],
    };
    char title[160];

    if (values[HIDDEN] % values[HEADS]) {
        workload_builder_fail(gen->builder,
                              "hidden is no multiple of heads (expected it to be one)");
        return;
    }
    train_init(&m.train, gen, values + TRAIN);
    m.element = (double)m.train.dtype_bytes;
    m.layers = calloc(m.layer_count, sizeof *m.layers);
    if (!m.layers) {
        workload_builder_fail(gen->builder, "out of memory");
        return;
    }
    snprintf(title, sizeof title,
             "transformer: %u layers, hidden %u, heads %u, seq %u, batch %u, vocab %u",
             (unsigned)values[LAYERS], (unsigned)values[HIDDEN], (unsigned)values[HEADS],
             (unsigned)values[SEQ], (unsigned)values[BATCH], (unsigned)values[VOCAB]);
    workload_builder_name(gen->builder, title);
    m.tokens = gen_alloc(gen, GEN_BYTES(gen, "tokens", m.rows, 4), WORKLOAD_ALLOCATION_CPU_VISIBLE,
                         "tokens");
    m.loss = gen_alloc(gen, 4096, WORKLOAD_ALLOCATION_CPU_VISIBLE, "loss");
    init_parameters(&m);
    workload_builder_step(gen->builder, "init");
    fill_parameters(&m);
    for (uint64_t step = 0; step < values[STEPS] && !workload_builder_failed(gen->builder); step++)
        run_step(&m, step);
    free(m.layers);
}
