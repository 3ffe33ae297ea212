#include "nt/threads/dispatcher.h"

#include "nt/memory/pool.h"
#include "nt/nt_private.h"

#include <stdio.h>

void nt_dispatcher_init(void *object, enum nt_kind kind, int32_t state)
{
    struct nt_dispatcher *head = object;

    *head = (struct nt_dispatcher){.mark = NT_MARK, .kind = (uint8_t)kind, .state = state};
}

bool nt_dispatcher_is(struct nt *nt, const char *service, const void *object, uint32_t kinds)
{
    const struct nt_dispatcher *head = object;
    char text[160];

    if (head && head->mark == NT_MARK && head->kind < NT_KIND_COUNT && kinds >> head->kind & 1)
        return true;
    nt_describe(nt, "object", object, text, sizeof text);
    nt_misuse(nt, "%s: %s is none that this is for%s", service, text,
              head && head->mark == NT_MARK ? "" : " (never initialised, or written over since)");
    return false;
}

/* ---- Names ----------------------------------------------------------------------------------- */

const char *nt_kind_name(unsigned kind)
{
    static const char *const names[NT_KIND_COUNT] = {
        [NT_NOTIFICATION_EVENT] = "notification event",
        [NT_SYNCHRONIZATION_EVENT] = "synchronization event",
        [NT_SEMAPHORE] = "semaphore",
        [NT_MUTEX] = "mutex",
        [NT_THREAD] = "thread",
        [NT_NOTIFICATION_TIMER] = "notification timer",
        [NT_SYNCHRONIZATION_TIMER] = "synchronization timer",
        [NT_FAST_MUTEX] = "fast mutex",
        [NT_RESOURCE] = "resource",
    };

    return kind < NT_KIND_COUNT && names[kind] ? names[kind] : "object";
}

struct search {
    const void *object;
    struct nt_pool_block found;
};

static void look_in_block(void *context, const struct nt_pool_block *block)
{
    struct search *search = context;
    uint64_t offset = (uintptr_t)search->object - (uintptr_t)block->memory;

    if ((uintptr_t)search->object >= (uintptr_t)block->memory && offset < block->bytes)
        search->found = *block;
}

/*
 * By the block and its number where there is a block: those do not change from one run of a seed to
 * the next, as addresses do.
 */
void nt_describe(struct nt *nt, const char *what, const void *object, char *text, size_t size)
{
    struct search search = {.object = object};

    nt_pool_for_each(nt, look_in_block, &search);
    if (search.found.memory)
        snprintf(text, size, "the %s at byte %llu of block %llu of the pool (tag '%.4s')", what,
                 (unsigned long long)((uintptr_t)object - (uintptr_t)search.found.memory),
                 (unsigned long long)search.found.sequence, (const char *)&search.found.tag);
    else
        snprintf(text, size, "the %s at 0x%llx", what, (unsigned long long)(uintptr_t)object);
}
