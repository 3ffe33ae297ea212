/*
 * Layer: the beginning that every layer of this folder has in common.
 *
 * Place      layers. Used by the layers of this folder alone.
 * Model      A layer's structure begins with struct layer. layer_create() makes a layer that only
 *            forwards: each constructor replaces those functions of ops that its layer is about.
 *            layer_create() also sets ops.destroy, which frees the structure; a layer that owns
 *            more than its structure replaces it.
 * Ownership  Gives the structure. The layer owns next from then on; on failure next is still the
 *            caller's.
 * Errors     NULL: no memory.
 */
#ifndef DRYDOCK_LAYERS_LAYER_H
#define DRYDOCK_LAYERS_LAYER_H

#include "base/services.h"
#include "miniport/miniport.h"

#include <stddef.h>

struct layer {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    const struct base_services *services;
    size_t bytes; /* of the whole structure */
};

/* Everything behind struct layer is zero. The name is borrowed for the layer's life. */
void *layer_create(const struct base_services *services, size_t bytes, const char *name,
                   struct miniport *next);

#endif
