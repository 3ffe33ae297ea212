#include "base/failing_services.h"

#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/*
 * Behind each block: room for an element of any array, whose reader finds no pointer there. Where a
 * sanitizer looks, what it finds there is its own.
 */
#if defined(__SANITIZE_ADDRESS__)
#define GUARD_BYTES 0u
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define GUARD_BYTES 0u
#endif
#endif
#ifndef GUARD_BYTES
#define GUARD_BYTES 256u
#endif
#define GUARD 0xc5

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

    header = malloc(sizeof *header + size + GUARD_BYTES);
    if (!header)
        return NULL;
    header->size = size;
    memset((unsigned char *)(header + 1) + size, GUARD, GUARD_BYTES);
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
    for (size_t i = size; i < size + GUARD_BYTES; i++) {
        if (((unsigned char *)memory)[i] != GUARD) {
            fprintf(stderr, "failing_services: byte %zu of a block of %zu was written\n", i, size);
            abort();
        }
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
