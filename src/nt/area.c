/* The areas of a kernel are reached through its table only, so that an area may call all of this.
 */
#include "nt/nt_private.h"

#include <string.h>

void nt_memory_freed(struct nt *nt, const void *memory, uint64_t bytes)
{
    for (size_t i = 0; i < NT_AREA_COUNT; i++) {
        if (nt->areas[i]->freed)
            nt->areas[i]->freed(nt, memory, bytes);
    }
}

void nt_for_each_leftover(struct nt *nt, void (*tell)(void *context, const char *text),
                          void *context)
{
    for (size_t i = 0; i < NT_AREA_COUNT; i++) {
        if (nt->areas[i]->left)
            nt->areas[i]->left(nt, tell, context);
    }
}

void nt_end_threads(struct nt *nt)
{
    for (size_t i = NT_AREA_COUNT; i-- > 0;) {
        if (nt->areas[i]->end_threads)
            nt->areas[i]->end_threads(nt);
    }
}

const struct nt_export *nt_area_export_at(const struct nt_area *const *areas, size_t index)
{
    for (size_t i = 0; i < NT_AREA_COUNT; i++) {
        for (const struct nt_export *row = areas[i]->exports; row && row->name; row++) {
            if (index-- == 0)
                return row;
        }
    }
    return NULL;
}

/* A few hundred names, looked up when an image is loaded. */
const struct nt_export *nt_area_find_export(const struct nt_area *const *areas, const char *name)
{
    for (size_t i = 0; i < NT_AREA_COUNT; i++) {
        for (const struct nt_export *row = areas[i]->exports; row && row->name; row++) {
            if (strcmp(row->name, name) == 0)
                return row;
        }
    }
    return NULL;
}
