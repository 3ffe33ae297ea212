/*
 * GPU models that a bench must be able to refuse or survive, one for each ODD_... that it is
 * compiled with:
 *
 *     PLAIN      none of it: a model without a user-mode half
 *     OLD        serves the oldest version only
 *     NEW        serves a version that no bench has
 *     LYING      gives another version than it was asked for
 *     HOLES      its table has no read_register
 *     POOR       its create() fails
 *     NONE       it has no entry
 *     ENTERING   its entry ends in a null pointer
 *     CLOSING    its create() closes all files
 *     PRINTING   each write of a register prints, and asks for a copy of the process
 *     CRASHING   the first write of a register ends in a null pointer
 *     LATE       the same, in an event some time after that
 *     HANGING    that event never returns
 *     STORMING   that event raises an interrupt, and comes again at once
 *     BUSY       that event comes again at once, without end
 */
#ifdef ODD_NONE
#define drydock_gpu_model another_name
#endif
#include <drydock/gpu_model.h>

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

struct odd {
    const struct drydock_gpu_host *host;
    bool is_begun;
};

static void spoil(void)
{
    volatile uintptr_t nowhere = 8;

    *(volatile int *)nowhere = 1;
}

static void happen(void *argument)
{
    struct odd *gpu = argument;

#if defined ODD_LATE
    spoil();
#elif defined ODD_HANGING
    for (volatile int i = 0;; i ^= 1)
        ;
#elif defined ODD_STORMING
    gpu->host->raise_interrupt(gpu->host->context, 0);
    gpu->host->schedule(gpu->host->context, 100, happen, gpu);
#elif defined ODD_BUSY
    gpu->host->schedule(gpu->host->context, 0, happen, gpu);
#endif
    (void)gpu;
}

static uint64_t read_register(void *self, uint64_t offset, unsigned size)
{
    return 0;
}

static void write_register(void *self, uint64_t offset, unsigned size, uint64_t value)
{
    struct odd *gpu = self;

#ifdef ODD_CRASHING
    spoil();
#endif
#ifdef ODD_PRINTING
    printf("a register is written\n");
    fflush(stdout);
    if (fork() == 0)
        _Exit(0);
#endif
    if (!gpu->is_begun)
        gpu->is_begun = gpu->host->schedule(gpu->host->context, 1000, happen, gpu);
}

static void reset(void *self)
{
    struct odd *gpu = self;

    gpu->host->cancel(gpu->host->context, gpu);
    gpu->is_begun = false;
}

static void *create(const struct drydock_gpu_host *host, const struct drydock_gpu_board *board)
{
    struct odd *gpu = NULL;

#ifdef ODD_CLOSING
    for (int file = 0; file < 64; file++)
        close(file);
#endif
#ifndef ODD_POOR
    gpu = calloc(1, sizeof *gpu);
    if (gpu)
        gpu->host = host;
#endif
    (void)spoil;
    (void)read_register;
    return gpu;
}

#if defined ODD_OLD
#define SERVED DRYDOCK_GPU_MODEL_OLDEST_API
#elif defined ODD_NEW
#define SERVED (DRYDOCK_GPU_MODEL_API + 1)
#else
#define SERVED DRYDOCK_GPU_MODEL_API
#endif

const struct drydock_gpu_model *drydock_gpu_model(uint32_t api_version)
{
    static const struct drydock_gpu_pci pci = {
        /* what examples/driver-sdma looks for */
        .bars[0] = {.is_there = true, .is_local = true},
        .bars[2] = {.is_there = true, .bytes = 4096, .first = 4096},
        .bars[4] = {.is_there = true, .bytes = 4096},
        .message_count = 1,
    };
    static const struct drydock_gpu_model model = {
#ifdef ODD_LYING
        .api_version = SERVED + 5,
#else
        .api_version = SERVED,
#endif
        .name = "odd",
        .register_bytes = 8192,
        .create = create,
        .destroy = free,
        .reset = reset,
#ifndef ODD_HOLES
        .read_register = read_register,
#endif
        .write_register = write_register,
#if !defined ODD_OLD && !defined ODD_PLAIN
        .pci = &pci,
#endif
    };

#ifdef ODD_ENTERING
    spoil();
#endif
    (void)pci;
    return api_version == SERVED ? &model : NULL;
}
