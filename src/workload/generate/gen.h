/*
 * What generators share; private to the module.
 *
 * Place      workload. Each gen_*.c fills gen->builder from its parameter values. Errors stick in
 *            the builder, so a generator runs to its end and never looks.
 */
#ifndef WORKLOAD_GEN_H
#define WORKLOAD_GEN_H

#include "base/rng.h"
#include "workload/build/builder.h"
#include "workload/generate/generate.h"

struct gen {
    struct workload_builder *builder;
    struct rng rng;
};

struct gen_access {
    uint32_t allocation;
    uint32_t access; /* enum workload_access */
};

#define GEN_R(id)                                                                                  \
    {                                                                                              \
        (id), WORKLOAD_ACCESS_READ                                                                 \
    }
#define GEN_W(id)                                                                                  \
    {                                                                                              \
        (id), WORKLOAD_ACCESS_WRITE                                                                \
    }
#define GEN_RW(id)                                                                                 \
    {                                                                                              \
        (id), WORKLOAD_ACCESS_READ | WORKLOAD_ACCESS_WRITE                                         \
    }

/* One submission on whole allocations, which are the arguments after the duration. */
#define GEN_SUBMIT(gen, context, duration_ns, ...)                                                 \
    gen_submit((gen), (context), (duration_ns), (const struct gen_access[]){__VA_ARGS__},          \
               sizeof((const struct gen_access[]){__VA_ARGS__}) / sizeof(struct gen_access))

/* cpu-visible ones prefer the aperture, all others live in local memory. */
uint32_t gen_alloc(struct gen *gen, uint64_t size, uint32_t flags, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
void gen_submit(struct gen *gen, uint32_t context, double duration_ns,
                const struct gen_access *accesses, size_t count);
/* The product, or an error in the builder and 1 when it is no allocation's size. */
uint64_t gen_bytes(struct gen *gen, const char *what, const uint64_t *factors, size_t count);

#define GEN_BYTES(gen, what, ...)                                                                  \
    gen_bytes((gen), (what), (const uint64_t[]){__VA_ARGS__},                                      \
              sizeof((const uint64_t[]){__VA_ARGS__}) / sizeof(uint64_t))

/*
 * One escape of the context's client, with private data of 1 to 1,544 bytes: most of it no driver
 * knows, some begins with small numbers as the heads of escapes do, and some is what the Drydock
 * GPU's user-mode driver asks. All draws are from rng.
 */
void gen_escape(struct gen *gen, struct rng *rng, uint32_t context);

extern const struct workload_param gen_transformer_params[];
extern const struct workload_param gen_cnn_params[];
extern const struct workload_param gen_game_params[];
extern const struct workload_param gen_clients_params[];
extern const struct workload_param gen_random_params[];

void gen_transformer(struct gen *gen, const uint64_t *values);
void gen_cnn(struct gen *gen, const uint64_t *values);
void gen_game(struct gen *gen, const uint64_t *values);
void gen_clients(struct gen *gen, const uint64_t *values);
void gen_random(struct gen *gen, const uint64_t *values);

#endif
