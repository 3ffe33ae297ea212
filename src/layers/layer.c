/*
 * Every layer begins as a miniport that forwards.
 */
#include "layers/layer.h"

static void destroy(struct miniport *self)
{
    struct layer *layer = (struct layer *)self;

    base_free(layer->services, layer, layer->bytes);
}

void *layer_create(const struct base_services *services, size_t bytes, const char *name,
                   struct miniport *next)
{
    struct layer *layer = base_alloc(services, bytes);

    if (!layer)
        return NULL;
    layer->services = services;
    layer->bytes = bytes;
    layer->ops = miniport_forward_ops;
    layer->ops.name = name;
    layer->ops.destroy = destroy;
    layer->miniport.ops = &layer->ops;
    layer->miniport.next = next;
    return layer;
}
