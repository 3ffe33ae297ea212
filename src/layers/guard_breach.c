#include "layers/guard_breach.h"

#include <stdio.h>

static size_t put_name(char *out, size_t used, const struct loan_member *member, uint32_t index)
{
    if (!member || used >= LOAN_NAME_BYTES)
        return used;
    used +=
        (size_t)snprintf(out + used, LOAN_NAME_BYTES - used, "%s%s", used ? "." : "", member->name);
    if (index != GUARD_NO_INDEX && used < LOAN_NAME_BYTES)
        used += (size_t)snprintf(out + used, LOAN_NAME_BYTES - used, "[%u]", index);
    return used;
}

bool guard_is_list(const struct loan_member *member)
{
    return member && member->kind == LOAN_ARRAY && member->count.bytes;
}

void guard_breach_name(struct loan_breach *breach, const struct guard_label *label,
                       const struct loan_member *member, uint32_t element)
{
    const bool has_two = label->members[1] != NULL;
    const struct loan_member *last = label->members[has_two];
    const uint32_t index = member && guard_is_list(last) ? element : GUARD_NO_INDEX;
    size_t used;

    breach->call = label->call;
    breach->name[0] = '\0';
    used = put_name(breach->name, 0, label->members[0], has_two ? label->index : index);
    used = put_name(breach->name, used, label->members[1], index);
    put_name(breach->name, used, member, GUARD_NO_INDEX);
}
