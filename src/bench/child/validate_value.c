/*
 * A pointer and a truth value from a process that may have been overwritten.
 */
#define _GNU_SOURCE /* process_vm_readv() */
#include "bench/child/validate_value.h"

#include "base/bits.h"

#include <ctype.h>
#include <stdint.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#define LITERAL_BYTES 128

const char *validate_literal(const char *text)
{
    const size_t left = PAGE_BYTES - (uintptr_t)text % PAGE_BYTES;
    const size_t first = min_u64(left, LITERAL_BYTES);
    char copy[LITERAL_BYTES];
    const struct iovec to = {copy, sizeof copy};
    /* In two pieces where two pages have it: a whole page is there or is not. */
    const struct iovec from[] = {
        {(void *)(uintptr_t)text, first},
        {(void *)((uintptr_t)text + first), LITERAL_BYTES - first},
    };
    ssize_t got;

    if (!text)
        return NULL;
    got = process_vm_readv(getpid(), &to, 1, from, 2, 0);
    for (ssize_t i = 0; i < got; i++) {
        if (!copy[i])
            return i ? text : NULL; /* memory that was never written names nothing */
        if (!isprint((unsigned char)copy[i]))
            return NULL;
    }
    return NULL;
}

bool validate_truth(const bool *value)
{
    unsigned char byte;

    memcpy(&byte, value, 1);
    return byte != 0;
}
