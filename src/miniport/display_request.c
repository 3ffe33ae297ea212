#include "miniport/display_request.h"

#include "base/bits.h"

const char *miniport_ask_name(enum miniport_ask_kind kind)
{
    static const char *const names[] = {
#define X(slot) [MINIPORT_ASK_##slot] = "DxgkCb" #slot,
        MINIPORT_ASK_LIST(X)
#undef X
    };

    return (size_t)kind < ARRAY_COUNT(names) ? names[kind] : "?";
}
