/*
 * What the user-mode driver of a case does: private data of allocations, commands, the escape.
 */
#include "model.h"
#include "intel_tokens.h"

#include <stdlib.h>
#include <string.h>

#define ESCAPE_CODE   12u
#define ESCAPE_CLOCKS 25u
#define ESCAPE_OUT    24u /* bytes in front of the clocks */

#define STATUS_NOT_SUPPORTED_CODE     ((int32_t)0xc00000bb)
#define STATUS_INVALID_PARAMETER_CODE ((int32_t)0xc000000d)

/* Words that are counted first, and written where there is room. */
struct words {
    uint32_t *out;
    uint32_t room, count;
};

static void put(struct words *words, uint32_t value)
{
    if (words->count < words->room)
        words->out[words->count] = value;
    words->count++;
}

static void put_wide(struct words *words, uint64_t value)
{
    put(words, (uint32_t)value);
    put(words, (uint32_t)(value >> 32));
}

/* Returns where its length is. */
static uint32_t open_token(struct words *words, uint32_t id)
{
    put(words, id | TOKEN_NESTED);
    put(words, 0);
    put(words, 0);
    put(words, 0);
    return words->count - 2;
}

static void close_token(struct words *words, uint32_t at)
{
    const uint32_t length = words->count - at - 2;

    if (words->count > words->room)
        return;
    words->out[at] = 4 * length;
    words->out[at + 1] = length;
}

static void put_flag(struct words *words, uint32_t id, bool is_set)
{
    if (!is_set)
        return;
    put(words, id | 1u << 16);
    put(words, 1);
}

uint32_t iblt_allocation_data(void *self, const struct drydock_gpu_allocation *allocation,
                              void *out, uint32_t room)
{
    const uint32_t flags = allocation->flags;
    struct words words = {out, room / 4, 0};
    uint32_t resource, body, surface, group, info;

    (void)self;
    resource = open_token(&words, TOKEN_RESOURCE);
    body = open_token(&words, TOKEN_RESOURCE_BODY);
    surface = open_token(&words, TOKEN_SURFACE);
    group = open_token(&words, TOKEN_FLAGS);
    info = open_token(&words, TOKEN_INFO_FLAGS);
    put_flag(&words, TOKEN_CACHEABLE, flags & SGPU_UMD_CACHED);
    put_flag(&words, TOKEN_LOCAL_ONLY, flags & SGPU_UMD_NO_APERTURE);
    put_flag(&words, TOKEN_NEVER_DEMOTED, flags & SGPU_UMD_NO_APERTURE);
    put_flag(&words, TOKEN_NOT_LOCKABLE, !(flags & (SGPU_UMD_CPU_VISIBLE | SGPU_UMD_CACHED)));
    put_flag(&words, TOKEN_NON_LOCAL_ONLY,
             flags & (SGPU_UMD_APERTURE_ONLY | SGPU_UMD_PREFER_APERTURE));
    close_token(&words, info);
    close_token(&words, group);
    put(&words, TOKEN_SIZE | 2u << 16);
    put_wide(&words, allocation->bytes);
    close_token(&words, surface);
    close_token(&words, body);
    close_token(&words, resource);
    return 4 * words.count;
}

/* Of memory of the client's: as many bytes as the resource has. */
uint64_t iblt_client_bytes(void *self, const void *data, uint32_t bytes)
{
    static const unsigned short path[] = {TOKEN_RESOURCE, TOKEN_RESOURCE_BODY, TOKEN_SURFACE,
                                          TOKEN_SIZE};
    unsigned long long value = 0;
    uint32_t *words = malloc(bytes + 1);

    (void)self;
    if (!words)
        return 0;
    memcpy(words, data, bytes);
    token_find(words, bytes / 4, path, sizeof path / sizeof path[0], &value);
    free(words);
    return value;
}

/*
 * The one escape that is known: the GPU's clock and the CPU's. In: words 2 and 4, what is wanted;
 * out: over that, both clocks and how fast they go.
 */
int32_t iblt_escape(void *self, void *data, uint32_t bytes)
{
    const struct iblt *gpu = self;
    const uint64_t now = gpu->host->now(gpu->host->context);
    const uint64_t out[] = {iblt_ticks(gpu), now, TICKS_PER_US * UINT64_C(1000000),
                            UINT64_C(1000000000)};
    uint32_t words[5];

    if (bytes < ESCAPE_OUT + sizeof out)
        return STATUS_INVALID_PARAMETER_CODE;
    memcpy(words, data, sizeof words);
    if (words[2] != ESCAPE_CODE || words[4] != ESCAPE_CLOCKS)
        return STATUS_NOT_SUPPORTED_CODE;
    memset((uint8_t *)data + 16, 0, 8);
    memcpy((uint8_t *)data + ESCAPE_OUT, out, sizeof out);
    return 0;
}

static void put_three(struct words *words, uint64_t value)
{
    put(words, (uint32_t)value & IBLT_NUMBER_MASK);
    put(words, (uint32_t)(value >> 22) & IBLT_NUMBER_MASK);
    put(words, (uint32_t)(value >> 44));
}

/* One of the user-mode driver's; flags 0: nothing is touched. */
static void put_work(struct words *words, const struct drydock_gpu_work *work, uint32_t index,
                     uint32_t flags, uint32_t duration_ns)
{
    const struct drydock_gpu_reference *reference = flags ? &work->references[index] : NULL;

    put(words, IBLT_MI_NOOP | IBLT_WORK_MAGIC);
    put(words, flags | index << 2);
    put(words, duration_ns & IBLT_NUMBER_MASK);
    put(words, duration_ns >> IBLT_NUMBER_BITS);
    put_three(words, work->token);
    put_three(words, reference ? reference->va : 0);
    put_three(words, reference ? reference->bytes : 0);
    put_three(words, reference ? reference->key : 0);
}

/* First the time that it takes, then all that it reads, then what it writes. */
uint32_t iblt_commands(void *self, const struct drydock_gpu_work *work, void *out, uint32_t room)
{
    struct words words = {out, room / 4, 0};

    (void)self;
    put_work(&words, work, 0, 0, (uint32_t)iblt_smaller(work->duration_ns, UINT32_MAX));
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_read)
            put_work(&words, work, i, IBLT_WORK_READ, 0);
    }
    for (uint32_t i = 0; i < work->reference_count; i++) {
        if (work->references[i].is_written)
            put_work(&words, work, i, IBLT_WORK_WRITE, 0);
    }
    put(&words, IBLT_MI_BATCH_END);
    put(&words, IBLT_MI_NOOP);
    return 4 * words.count;
}
