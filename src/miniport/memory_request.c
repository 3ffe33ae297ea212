#include "miniport/memory_request.h"

#include "base/bits.h"

static const struct {
    const char *name, *structure;
    size_t bytes;
} kinds[] = {
#define X(slot, member, argument, place, returns)                                                  \
    [MINIPORT_MEMORY_##member] = {"DxgkCb" #slot, #argument, sizeof *(argument)0},
    MINIPORT_MEMORY_LIST(X)
#undef X
};

const char *miniport_memory_name(enum miniport_memory_kind kind)
{
    return (size_t)kind < ARRAY_COUNT(kinds) ? kinds[kind].name : "?";
}

size_t miniport_memory_bytes(enum miniport_memory_kind kind)
{
    return (size_t)kind < ARRAY_COUNT(kinds) ? kinds[kind].bytes : 0;
}

const char *miniport_memory_type(enum miniport_memory_kind kind)
{
    return (size_t)kind < ARRAY_COUNT(kinds) ? kinds[kind].structure : "?";
}
