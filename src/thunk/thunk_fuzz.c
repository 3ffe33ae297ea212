/*
 * Fuzz target: any bytes as a call of a client. What is opened can be answered, and the answer is
 * taken by a caller whose structure and lists are those of the message.
 */
#include "thunk/thunk.h"

#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint64_t *message = malloc(size + 1), *answer;
    unsigned function;
    void *arguments;
    NTSTATUS status;
    size_t bytes;

    memcpy(message, data, size);
    if (size >= sizeof(struct thunk_header)) { /* spare the fuzzer from finding these */
        ((struct thunk_header *)message)->magic = THUNK_MAGIC;
        ((struct thunk_header *)message)->bytes = (uint32_t)size;
        ((struct thunk_header *)message)->function %= D3DKMT_FN_COUNT;
        ((struct thunk_header *)message)->status = 0;
    }
    if (thunk_open(message, size, &function, &arguments)) {
        bytes = thunk_answer_bytes(function, arguments);
        answer = malloc(bytes + 1);
        if (!bytes || !thunk_pack_answer(function, arguments, STATUS_PENDING, answer, bytes) ||
            !thunk_take_answer(function, arguments, answer, bytes, &status) ||
            status != STATUS_PENDING)
            abort();
        free(answer);
    }
    free(message);
    return 0;
}
