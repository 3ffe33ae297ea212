/*
 * libvidmm in a program of one's own: a driver, a machine, and work for more memory than the board
 * has. Six surfaces of 4 MiB share 16 MiB; whoever comes back has what was written to it.
 *
 *     make && ./embed
 */
#include "machine.h"

#include <stdio.h>
#include <string.h>

#define SURFACES      6u
#define SURFACE_BYTES (UINT64_C(4) << 20)
#define ROUNDS        3u

/* What this driver's user-mode half says of an allocation. */
struct private_data {
    uint64_t size;
    uint32_t flags, index;
};

static unsigned evictions, errors;

static void evicted(void *context, struct vidmm_allocation *allocation, const char *reason)
{
    (void)context;
    printf("  surface %zu leaves: %s\n", (size_t)vidmm_allocation_cookie(allocation), reason);
    evictions++;
}

static void driver_error(void *context, const char *rule, const char *text)
{
    (void)context;
    printf("the driver breaks %s: %s\n", rule, text);
    errors++;
}

static void done(void *context, NTSTATUS status, uint64_t needed, uint64_t available)
{
    (void)needed;
    (void)available;
    *(NTSTATUS *)context = status;
}

/* Writes the surface with the CPU, or compares it. False: a byte is another one. */
static bool visit(struct machine *machine, struct vidmm_allocation *surface, unsigned char byte,
                  bool writes)
{
    bool is_right = true;

    while (vidmm_lock(surface) == STATUS_GRAPHICS_ALLOCATION_BUSY)
        machine_run(machine);
    for (uint64_t page = 0; page < SURFACE_BYTES / 4096; page++) {
        unsigned char *at = machine_at(machine, vidmm_locked_page_address(surface, page));

        if (writes)
            memset(at, byte, 4096);
        else
            is_right &= at[0] == byte && memcmp(at, at + 1, 4095) == 0;
    }
    vidmm_unlock(surface);
    return is_right;
}

int main(void)
{
    static struct machine machine;
    struct vidmm_config config;
    struct vidmm_failure failure;
    struct vidmm_process *process;
    struct vidmm_device *device;
    struct vidmm_context *context;
    struct vidmm_allocation *surfaces[SURFACES];
    unsigned char command[64] = {0};

    printf("libvidmm %s\n", vidmm_version());
    memset(&config, 0, sizeof config);
    config.platform = machine_platform(&machine);
    config.events.evicted = evicted;
    config.events.driver_error = driver_error;
    if (!NT_SUCCESS(machine_begin(&machine)) ||
        !NT_SUCCESS(vidmm_create(machine.miniport, &config, &machine.vidmm)))
        return 1;
    if (!NT_SUCCESS(vidmm_start(machine.vidmm, &failure))) {
        printf("not started: %s %s\n", failure.rule, failure.text);
        return 1;
    }
    if (!NT_SUCCESS(vidmm_process_create(machine.vidmm, &process)) ||
        !NT_SUCCESS(vidmm_device_create(process, &device)) ||
        !NT_SUCCESS(vidmm_context_create(device, 0, NULL, 0, &context)))
        return 1;
    for (unsigned i = 0; i < SURFACES; i++) {
        const struct private_data data = {SURFACE_BYTES, 1 /* CPU-visible */, i};

        if (!NT_SUCCESS(vidmm_allocation_create(device, &data, sizeof data, (void *)(size_t)i,
                                                &surfaces[i])))
            return 1;
        visit(&machine, surfaces[i], (unsigned char)(0x10 + i), true);
    }
    for (unsigned i = 0; i < ROUNDS * SURFACES; i++) {
        const struct vidmm_reference use = {surfaces[i % SURFACES], true};
        NTSTATUS status = STATUS_PENDING;

        if (!NT_SUCCESS(vidmm_render(context, command, sizeof command, 1, &use, done, &status)))
            return 1;
        machine_run(&machine);
        if (status != STATUS_SUCCESS)
            return 1;
    }
    for (unsigned i = 0; i < SURFACES; i++)
        errors += !visit(&machine, surfaces[i], (unsigned char)(0x10 + i), false);
    printf("%u submissions, %u evictions, %u errors\n", ROUNDS * SURFACES, evictions, errors);

    for (unsigned i = 0; i < SURFACES; i++)
        vidmm_allocation_destroy(surfaces[i]);
    vidmm_context_destroy(context);
    machine_run(&machine);
    vidmm_device_destroy(device);
    machine_run(&machine);
    vidmm_process_destroy(process);
    vidmm_stop(machine.vidmm);
    vidmm_destroy(machine.vidmm);
    machine.vidmm = NULL;
    machine_end(&machine);
    return errors || !evictions;
}
