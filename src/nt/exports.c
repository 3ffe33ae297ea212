#include "nt/exports.h"

#include "base/bits.h"

#include <string.h>

static const struct nt_export *const lists[] = {
#define X(area) nt_##area##_exports,
    NT_EXPORT_LISTS(X)
#undef X
};

const struct nt_export *nt_export_at(size_t index)
{
    for (size_t i = 0; i < ARRAY_COUNT(lists); i++) {
        for (const struct nt_export *row = lists[i]; row->name; row++) {
            if (index-- == 0)
                return row;
        }
    }
    return NULL;
}

/* A few hundred names, looked up when an image is loaded. */
const struct nt_export *nt_find_export(const char *name)
{
    const struct nt_export *row;

    for (size_t i = 0; (row = nt_export_at(i)) != NULL; i++) {
        if (strcmp(row->name, name) == 0)
            return row;
    }
    return NULL;
}
