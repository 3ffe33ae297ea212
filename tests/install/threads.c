/*
 * Two threads, two adapters, one lock: the recipe of vidmm/vidmm.h under ThreadSanitizer. Each
 * thread has a machine and a manager of its own; the lock is held around each call of the library,
 * which keeps the adapters of the process in one list.
 *
 * Usage: threads [nolock]      without the lock the sanitizer has to complain
 */
#include "machine.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>

#define SURFACES 6u
#define USES     60u

struct private_data {
    uint64_t size;
    uint32_t flags, index;
};

struct worker {
    struct machine machine;
    pthread_t thread;
    bool is_fine;
};

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static bool takes_lock = true;

static void begin(void)
{
    if (takes_lock)
        pthread_mutex_lock(&lock);
}

static void end(void)
{
    if (takes_lock)
        pthread_mutex_unlock(&lock);
}

static void done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    (void)needed;
    (void)available;
    *(NTSTATUS *)context = status;
}

static bool play(struct machine *machine)
{
    struct vidmm_config config;
    struct vidmm_failure failure;
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;
    struct vidmm_allocation *surfaces[SURFACES];
    bool is_fine;

    memset(&config, 0, sizeof config);
    config.platform = machine_platform(machine);
    begin();
    is_fine = NT_SUCCESS(machine_begin(machine)) &&
              NT_SUCCESS(vidmm_create(machine->miniport, &config, &machine->vidmm)) &&
              NT_SUCCESS(vidmm_start(machine->vidmm, &failure)) &&
              NT_SUCCESS(vidmm_process_create(machine->vidmm, &process)) &&
              NT_SUCCESS(vidmm_device_create(process, &device)) &&
              NT_SUCCESS(vidmm_context_create(device, 0, NULL, 0, &context));
    end();
    if (!is_fine)
        return false;
    for (unsigned i = 0; i < SURFACES; i++) {
        const struct private_data data = {UINT64_C(4) << 20, 0, i};

        begin();
        is_fine &=
            NT_SUCCESS(vidmm_allocation_create(device, &data, sizeof data, NULL, &surfaces[i]));
        end();
    }
    for (unsigned i = 0; i < USES && is_fine; i++) {
        const struct vidmm_reference use = {surfaces[i % SURFACES], true};
        NTSTATUS status = STATUS_PENDING;

        begin();
        is_fine &= NT_SUCCESS(vidmm_render(context, "", 1, 1, &use, done, &status));
        end();
        begin();
        machine_run(machine);
        end();
        is_fine &= status == STATUS_SUCCESS;
    }
    begin();
    for (unsigned i = 0; i < SURFACES; i++)
        vidmm_allocation_destroy(surfaces[i]);
    vidmm_context_destroy(context);
    machine_run(machine);
    vidmm_device_destroy(device);
    machine_run(machine);
    vidmm_process_destroy(process);
    vidmm_stop(machine->vidmm);
    vidmm_destroy(machine->vidmm);
    machine->vidmm = NULL;
    machine_end(machine);
    end();
    return is_fine;
}

static void *work(void *context)
{
    struct worker *worker = context;

    worker->is_fine = play(&worker->machine);
    return NULL;
}

int main(int argc, char **argv)
{
    static struct worker workers[2];

    takes_lock = argc < 2 || strcmp(argv[1], "nolock") != 0;
    for (int i = 0; i < 2; i++) {
        if (pthread_create(&workers[i].thread, NULL, work, &workers[i]) != 0)
            return 1;
    }
    for (int i = 0; i < 2; i++)
        pthread_join(workers[i].thread, NULL);
    printf("%u submissions in two threads\n", 2 * USES);
    return !workers[0].is_fine || !workers[1].is_fine;
}
