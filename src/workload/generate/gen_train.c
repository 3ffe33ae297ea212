/*
 * Parameters, gradients and the optimizer of the network generators; see gen_train.h.
 */
#include "workload/generate/gen_train.h"

#include <stdarg.h>
#include <stdio.h>

/* A kernel launch costs this much even when it does nothing. */
#define LAUNCH_NS 2000.0

void train_init(struct train *train, struct gen *gen, const uint64_t *values)
{
    *train = (struct train){
        .gen = gen,
        .dtype_bytes = values[TRAIN_DTYPE] == 0 ? 4 : 2,
        .optimizer = values[TRAIN_OPTIMIZER],
        .flops_per_ns = (double)values[TRAIN_GFLOPS],
        .bytes_per_ns = (double)values[TRAIN_BANDWIDTH],
    };
}

uint64_t train_bytes(struct train *train, const char *what, uint64_t elements)
{
    return GEN_BYTES(train->gen, what, elements, train->dtype_bytes);
}

double train_time(const struct train *train, double flops, double bytes)
{
    double arithmetic = flops / train->flops_per_ns;
    double traffic = bytes / train->bytes_per_ns;

    return LAUNCH_NS + (arithmetic > traffic ? arithmetic : traffic);
}

void train_param_init(struct train *train, struct train_param *param, uint64_t elements,
                      const char *format, ...)
{
    va_list arguments;
    uint64_t state_bytes;

    *param = (struct train_param){.elements = elements, .gradient = WORKLOAD_NONE};
    va_start(arguments, format);
    vsnprintf(param->name, sizeof param->name, format, arguments);
    va_end(arguments);
    param->weight = gen_alloc(train->gen, train_bytes(train, param->name, elements), 0, "%s.weight",
                              param->name);
    state_bytes = GEN_BYTES(train->gen, param->name, elements, 4);
    if (train->optimizer && train->dtype_bytes < 4)
        param->states[param->state_count++] =
            gen_alloc(train->gen, state_bytes, 0, "%s.master", param->name);
    for (uint64_t i = 0; i < train->optimizer; i++)
        param->states[param->state_count++] =
            gen_alloc(train->gen, state_bytes, 0, "%s.state%u", param->name, (unsigned)i);
}

void train_param_fill(struct train *train, struct train_param *param)
{
    struct gen_access accesses[4] = {GEN_W(param->weight)};
    size_t count = 1;

    for (uint32_t i = 0; i < param->state_count; i++)
        accesses[count++] = (struct gen_access)GEN_W(param->states[i]);
    gen_submit(train->gen, 0, train_time(train, 0, (double)param->elements * (double)(4 * count)),
               accesses, count);
}

struct gen_access train_gradient(struct train *train, struct train_param *param)
{
    if (param->gradient != WORKLOAD_NONE)
        return (struct gen_access)GEN_RW(param->gradient);
    param->gradient = gen_alloc(train->gen, train_bytes(train, param->name, param->elements), 0,
                                "%s.gradient", param->name);
    return (struct gen_access)GEN_W(param->gradient);
}

void train_update(struct train *train, struct train_param *param)
{
    struct gen_access accesses[5] = {GEN_RW(param->weight), GEN_R(param->gradient)};
    double elements = (double)param->elements;
    size_t count = 2;

    for (uint32_t i = 0; i < param->state_count; i++)
        accesses[count++] = (struct gen_access)GEN_RW(param->states[i]);
    gen_submit(train->gen, 0,
               train_time(train, 10 * elements,
                          elements * (double)(train->dtype_bytes * 3 + 8 * param->state_count)),
               accesses, count);
    workload_builder_free(train->gen->builder, param->gradient);
    param->gradient = WORKLOAD_NONE;
}
