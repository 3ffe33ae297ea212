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
    char copy[LITERAL_BYTES];
    struct iovec to = {copy, sizeof copy}, from = {(void *)(uintptr_t)text, sizeof copy};
    size_t left = PAGE_BYTES - (uintptr_t)text % PAGE_BYTES;
    ssize_t got;

    if (!text)
        return NULL;
    from.iov_len = min_u64(from.iov_len, left); /* a whole page is there or is not */
    got = process_vm_readv(getpid(), &to, 1, &from, 1, 0);
    for (ssize_t i = 0; i < got; i++) {
        if (!copy[i])
            return text;
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
