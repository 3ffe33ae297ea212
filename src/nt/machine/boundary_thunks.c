/* Boundary thunks: chunks of machine code for x86-64, and a table of what has one already. */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "nt/machine/boundary_thunks.h"

#include "base/hash.h"

#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#define THUNK_BYTES  48u
#define CHUNK_BYTES  (64u * 1024)
#define CHUNK_THUNKS (CHUNK_BYTES / THUNK_BYTES)
#define FIRST_SLOTS  1024u

struct chunk {
    struct list link;
    uint8_t *code;
    uint32_t count;
};

struct boundary_thunk {
    const void *function, *common;
    void *thunk; /* NULL: the slot is free */
};

void boundary_thunks_init(struct boundary_thunks *thunks, const struct base_services *services)
{
    *thunks = (struct boundary_thunks){.services = services};
    list_init(&thunks->chunks);
}

void boundary_thunks_fini(struct boundary_thunks *thunks)
{
    struct list *node;

    while ((node = list_pop_front(&thunks->chunks))) {
        struct chunk *chunk = container_of(node, struct chunk, link);

        munmap(chunk->code, CHUNK_BYTES);
        base_free(thunks->services, chunk, sizeof *chunk);
    }
    base_free_array(thunks->services, thunks->slots, thunks->slot_count, sizeof *thunks->slots);
    thunks->slots = NULL;
}

/* ---- Which there are ------------------------------------------------------------------------- */

static struct boundary_thunk *find_slot(const struct boundary_thunks *thunks, const void *function,
                                        const void *common)
{
    uint64_t at = hash_pair((uintptr_t)function, (uintptr_t)common);

    for (;; at++) {
        struct boundary_thunk *slot = &thunks->slots[at & (thunks->slot_count - 1)];

        if (!slot->thunk || (slot->function == function && slot->common == common))
            return slot;
    }
}

/* Room for one more; false: there is no memory, and nothing has changed. */
static bool make_slots(struct boundary_thunks *thunks)
{
    struct boundary_thunks bigger = *thunks;

    if (thunks->slots && thunks->used < thunks->slot_count / 2)
        return true;
    bigger.slot_count = thunks->slot_count ? 2 * thunks->slot_count : FIRST_SLOTS;
    bigger.slots = base_alloc_array(thunks->services, bigger.slot_count, sizeof *bigger.slots);
    if (!bigger.slots)
        return false;
    for (uint32_t i = 0; i < thunks->slot_count; i++) {
        const struct boundary_thunk *slot = &thunks->slots[i];

        if (slot->thunk)
            *find_slot(&bigger, slot->function, slot->common) = *slot;
    }
    base_free_array(thunks->services, thunks->slots, thunks->slot_count, sizeof *thunks->slots);
    thunks->slots = bigger.slots;
    thunks->slot_count = bigger.slot_count;
    return true;
}

/* ---- Code ------------------------------------------------------------------------------------ */

static struct chunk *chunk_with_room(struct boundary_thunks *thunks)
{
    struct chunk *chunk;

    if (!list_is_empty(&thunks->chunks)) {
        chunk = list_last_entry(&thunks->chunks, struct chunk, link);
        if (chunk->count < CHUNK_THUNKS)
            return chunk;
    }
    chunk = base_alloc(thunks->services, sizeof *chunk);
    if (!chunk)
        return NULL;
    chunk->code =
        mmap(NULL, CHUNK_BYTES, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (chunk->code == MAP_FAILED) {
        base_free(thunks->services, chunk, sizeof *chunk);
        return NULL;
    }
    list_push_back(&thunks->chunks, &chunk->link);
    return chunk;
}

/* Writes the next thunk while none can run; the next one's place moves on only when it is whole. */
static void *write_thunk(struct boundary_thunks *thunks, const uint8_t code[THUNK_BYTES])
{
    struct chunk *chunk = chunk_with_room(thunks);
    uint8_t *at;

    if (!chunk || mprotect(chunk->code, CHUNK_BYTES, PROT_READ | PROT_WRITE))
        return NULL;
    at = chunk->code + chunk->count * THUNK_BYTES;
    memcpy(at, code, THUNK_BYTES);
    if (mprotect(chunk->code, CHUNK_BYTES, PROT_READ | PROT_EXEC))
        return NULL;
    chunk->count++;
    return at;
}

/* mov REGISTER, value */
static uint8_t *put_move(uint8_t *at, const char opcode[2], const void *value)
{
    uint64_t number = (uintptr_t)value;

    memcpy(at, opcode, 2);
    memcpy(at + 2, &number, sizeof number);
    return at + 10;
}

/* mov r10, function; mov r11, common */
static uint8_t *begin_thunk(uint8_t code[THUNK_BYTES], const void *function, const void *common)
{
    memset(code, 0xcc, THUNK_BYTES);
    return put_move(put_move(code, "\x49\xba", function), "\x49\xbb", common);
}

/* jmp r11 */
static void end_thunk(uint8_t *at)
{
    memcpy(at, "\x41\xff\xe3", 3);
}

/* ---- Thunks ---------------------------------------------------------------------------------- */

void *boundary_thunks_of(struct boundary_thunks *thunks, const void *function, const void *common)
{
    struct boundary_thunk *slot;
    uint8_t code[THUNK_BYTES];
    void *thunk;

    if (!function || !make_slots(thunks))
        return NULL;
    slot = find_slot(thunks, function, common);
    if (slot->thunk)
        return slot->thunk;
    end_thunk(begin_thunk(code, function, common));
    thunk = write_thunk(thunks, code);
    if (!thunk)
        return NULL;
    *slot = (struct boundary_thunk){function, common, thunk};
    thunks->used++;
    return thunk;
}

void *boundary_thunks_closure(struct boundary_thunks *thunks, const void *function,
                              const void *common, const void *context)
{
    uint8_t code[THUNK_BYTES];

    end_thunk(put_move(begin_thunk(code, function, common), "\x48\xb9", context));
    return write_thunk(thunks, code);
}

const void *boundary_thunks_target(const struct boundary_thunks *thunks, const void *thunk)
{
    const struct chunk *chunk;

    list_for_each (chunk, &thunks->chunks, struct chunk, link) {
        uintptr_t offset = (uintptr_t)thunk - (uintptr_t)chunk->code;
        uint64_t target;

        if ((uintptr_t)thunk < (uintptr_t)chunk->code || offset >= chunk->count * THUNK_BYTES ||
            offset % THUNK_BYTES)
            continue;
        memcpy(&target, chunk->code + offset + 2, sizeof target);
        return (const void *)(uintptr_t)target;
    }
    return NULL;
}
