#include "base/failing_services.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

union header {
    size_t size;
    max_align_t alignment;
};

static void *failing_allocate(void *context, size_t size)
{
    struct failing_services *failing = context;
    union header *header;

    failing->allocation_count++;
    if (failing->fail_at && --failing->fail_at == 0) {
        failing->has_failed = true;
        return NULL;
    }

    header = malloc(sizeof *header + size);
    if (!header)
        return NULL;
    header->size = size;
    failing->live_blocks++;
    failing->live_bytes += size;
    if (failing->peak_bytes < failing->live_bytes)
        failing->peak_bytes = failing->live_bytes;
    return header + 1;
}

static void failing_free(void *context, void *memory, size_t size)
{
    struct failing_services *failing = context;
    union header *header = (union header *)memory - 1;

    if (header->size != size) {
        fprintf(stderr, "failing_services: freed %zu bytes of a block of %zu\n", size,
                header->size);
        abort();
    }
    failing->live_blocks--;
    failing->live_bytes -= size;
    free(header);
}

void failing_services_init(struct failing_services *failing)
{
    memset(failing, 0, sizeof *failing);
    failing->services.context = failing;
    failing->services.allocate = failing_allocate;
    failing->services.free = failing_free;
}

void failing_services_fail_at(struct failing_services *failing, uint64_t n)
{
    failing->fail_at = n;
    failing->has_failed = false;
}
