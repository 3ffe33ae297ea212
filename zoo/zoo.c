#include "zoo/zoo_tables.h"

#include "base/list.h"

#include <string.h>

static const struct zoo_defect *const tables[] = {
    zoo_status_defects,    zoo_buffer_defects,       zoo_multipass_defects,
    zoo_transfer_defects,  zoo_aperture_defects,     zoo_table_defects,
    zoo_submit_defects,    zoo_present_defects,      zoo_fence_defects,
    zoo_display_defects,   zoo_stop_defects,         zoo_caps_defects,
    zoo_observed_defects,  zoo_drawn_defects,        zoo_drawn_paging_defects,
    zoo_fault_defects,     zoo_memory_defects,       zoo_device_memory_defects,
    zoo_queue_defects,     zoo_display_only_defects, zoo_component_defects,
    zoo_save_area_defects,
};

static const struct zoo_defect *const lawful[] = {
    zoo_lawful_paging,
    zoo_lawful_work,
    zoo_lawful_memory,
};

static NTSTATUS build_altered(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct zoo_layer *layer = zoo_layer_of(self);
    DXGKARG_BUILDPAGINGBUFFER as = *arg;

    layer->defect->alter(layer, &as);
    return zoo_build_as(self, object, arg, &as);
}

static const struct zoo_defect *row_at(const struct zoo_defect *const *list, size_t count,
                                       unsigned index)
{
    for (size_t i = 0; i < count; i++) {
        for (const struct zoo_defect *row = list[i]; row->id; row++) {
            if (index-- == 0)
                return row;
        }
    }
    return NULL;
}

const struct zoo_defect *zoo_defect_at(unsigned index)
{
    return row_at(tables, sizeof tables / sizeof tables[0], index);
}

const struct zoo_defect *zoo_lawful_at(unsigned index)
{
    return row_at(lawful, sizeof lawful / sizeof lawful[0], index);
}

bool zoo_suits_image(const struct zoo_defect *defect, bool is_display_only)
{
    return defect->is_display_only == is_display_only && !defect->calls_functions;
}

const struct zoo_defect *zoo_find(const char *id)
{
    const struct zoo_defect *defect;

    for (unsigned i = 0; (defect = zoo_lawful_at(i)); i++) {
        if (strcmp(defect->id, id) == 0)
            return defect;
    }
    for (unsigned i = 0; (defect = zoo_defect_at(i)); i++) {
        if (strcmp(defect->id, id) == 0)
            return defect;
    }
    return NULL;
}

static void zoo_destroy(struct miniport *self)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    base_free(layer->services, layer, sizeof *layer);
}

static void zoo_set_host(struct miniport *self, struct miniport_host *host)
{
    struct zoo_layer *layer = zoo_layer_of(self);

    layer->host.upper = host;
    miniport_set_host(self->next, &layer->host.host);
}

NTSTATUS zoo_create(const struct zoo_defect *defect, const struct base_services *services,
                    struct miniport *next, struct miniport **out_layer)
{
    struct zoo_layer *layer = base_alloc(services, sizeof *layer);

    *out_layer = NULL;
    if (!layer)
        return STATUS_NO_MEMORY;
    memset(layer, 0, sizeof *layer);
    layer->services = services;
    layer->defect = defect;
    layer->ops = miniport_forward_ops;
    layer->ops.name = "zoo";
    layer->ops.destroy = zoo_destroy;
    layer->ops.set_host = zoo_set_host;
    layer->host_ops = miniport_host_forward_ops;
    if (defect->alter)
        layer->ops.build_paging_buffer = build_altered;
    if (defect->build)
        layer->ops.build_paging_buffer = defect->build;
    if (defect->plant)
        defect->plant(layer);
    layer->host.host.ops = &layer->host_ops;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    *out_layer = &layer->miniport;
    return STATUS_SUCCESS;
}
