/*
 * Training: parameters with gradients and optimizer state, shared by the network generators.
 *
 * Place      workload, private to the module.
 * Model      A parameter tensor lives for the whole run, with its optimizer state (sgd: none,
 *            momentum: one, adam: two, in fp32, and an fp32 master copy when the weights are
 *            smaller). Its gradient is allocated by the first backward kernel that writes it and
 *            freed after the update. Kernel times are the larger of arithmetic and traffic.
 */
#ifndef WORKLOAD_GEN_TRAIN_H
#define WORKLOAD_GEN_TRAIN_H

#include "workload/generate/gen.h"

#define TRAIN_NAME 32

struct train_param {
    char name[TRAIN_NAME];
    uint64_t elements;
    uint32_t weight;
    uint32_t gradient; /* WORKLOAD_NONE while there is none */
    uint32_t states[3];
    uint32_t state_count;
};

struct train {
    struct gen *gen;
    uint64_t dtype_bytes;
    uint64_t optimizer; /* position in TRAIN_OPTIMIZERS */
    double flops_per_ns;
    double bytes_per_ns;
};

#define TRAIN_DTYPES     "fp32|fp16|bf16"
#define TRAIN_OPTIMIZERS "sgd|momentum|adam"

/* The rows of a parameter table that every network has, and their positions from the first. */
#define TRAIN_PARAMS(default_optimizer)                                                             \
    {"dtype", TRAIN_DTYPES, 0, 0, 0, "type of weights, activations and gradients"},                 \
        {"optimizer",                                                                               \
         TRAIN_OPTIMIZERS,                                                                          \
         (default_optimizer),                                                                       \
         0,                                                                                         \
         0,                                                                                         \
         "state beside each weight: none, one or two fp32 values"},                                 \
        {"gflops", NULL, 19500, 1, 100000000, "arithmetic of the GPU, 10^9 operations per second"}, \
    {                                                                                               \
        "bandwidth", NULL, 1555, 1, 1000000,                                                        \
            "local memory traffic of the GPU, 10^9 bytes per second"                                \
    }
enum { TRAIN_DTYPE, TRAIN_OPTIMIZER, TRAIN_GFLOPS, TRAIN_BANDWIDTH, TRAIN_PARAM_COUNT };

/* values: those of the TRAIN_PARAMS rows. */
void train_init(struct train *train, struct gen *gen, const uint64_t *values);

/* Bytes of elements; 1 and an error when too many. */
uint64_t train_bytes(struct train *train, const char *what, uint64_t elements);

void train_param_init(struct train *train, struct train_param *param, uint64_t elements,
                      const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Writes the initial weights and states by the GPU. */
void train_param_fill(struct train *train, struct train_param *param);
/* The access of a kernel that adds to the gradient: allocated and written, or read and written. */
struct gen_access train_gradient(struct train *train, struct train_param *param);
/* The optimizer's kernel for one parameter; frees the gradient. */
void train_update(struct train *train, struct train_param *param);

double train_time(const struct train *train, double flops, double bytes);

#endif
