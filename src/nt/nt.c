/*
 * The kernel begins and ends here: this file knows every area of services, and none of them knows
 * it.
 */
#include "nt/nt_private.h"

#include "nt/memory/paging.h"

#include "nt/machine/boundary.h"

#include "base/bits.h"

static const struct nt_area *const areas[NT_AREA_COUNT] = {
#define X(area) [NT_AREA_##area] = &nt_##area##_area,
    NT_AREAS(X)
#undef X
};

/* ---- Life ------------------------------------------------------------------------------------ */

static uint64_t block_bytes(void)
{
    uint64_t bytes = align_up(sizeof(struct nt), 16);

    for (size_t i = 0; i < NT_AREA_COUNT; i++)
        bytes += align_up(areas[i]->state_bytes, 16);
    return bytes;
}

/* The states of the areas stand one behind the other, behind the structure. */
static void place_states(struct nt *nt)
{
    uint8_t *at = (uint8_t *)nt + align_up(sizeof *nt, 16);

    for (size_t i = 0; i < NT_AREA_COUNT; i++) {
        nt->states[i] = areas[i]->state_bytes ? at : NULL;
        at += align_up(areas[i]->state_bytes, 16);
    }
}

struct nt *nt_create(const struct base_services *services, struct machine *machine,
                     const struct nt_host *host)
{
    uint64_t bytes = block_bytes();
    struct nt *nt = base_alloc(services, bytes);

    if (!nt)
        return NULL;
    nt->services = services;
    nt->block_bytes = bytes;
    nt->machine = machine;
    nt->host = *host;
    nt->irql = PASSIVE_LEVEL;
    nt->areas = areas;
    place_states(nt);
    list_init(&nt->objects);
    list_init(&nt->mappings);
    for (size_t i = 0; i < NT_AREA_COUNT; i++) {
        if (areas[i]->init)
            areas[i]->init(nt);
    }
    return nt;
}

void nt_destroy(struct nt *nt)
{
    if (!nt)
        return;
    nt_end_threads(nt);
    nt_paging_bring_in(nt);
    nt_paging_end(nt);
    for (size_t i = NT_AREA_COUNT; i-- > 0;) {
        if (areas[i]->fini)
            areas[i]->fini(nt);
    }
    nt_pages_fini(&nt->pages);
    if (nt_current_or_none() == nt)
        nt_bind(NULL);
    base_free(nt->services, nt, nt->block_bytes);
}

void nt_give_up_addresses(struct nt *nt)
{
    nt_paging_end(nt);
    nt_pages_fini(&nt->pages);
}

/* ---- The driver ------------------------------------------------------------------------------ */

void nt_set_boundary(struct nt *nt, struct boundary *boundary)
{
    nt_end_threads(nt);
    nt->boundary = boundary;
}

void nt_set_image(struct nt *nt, const struct image *image, const char *name)
{
    nt_paging_bring_in(nt);
    nt->image = image;
    nt->image_name = name;
    if (nt_paging_has_sections(nt))
        nt_paging_begin(nt);
    nt->first_thread = image && nt->boundary ? boundary_current_thread(nt->boundary) : NULL;
}

void nt_set_callbacks(struct nt *nt, const struct nt_callback *callbacks, size_t count)
{
    nt->callbacks = callbacks;
    nt->callback_count = count;
}

/* ---- Services by name ------------------------------------------------------------------------ */

const struct nt_export *nt_find_export(const char *name)
{
    return nt_area_find_export(areas, name);
}

const struct nt_export *nt_export_at(size_t index)
{
    return nt_area_export_at(areas, index);
}
