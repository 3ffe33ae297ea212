/*
 * Node pool: nodes of one size, cut from chunks, reused last in first out.
 *
 * Place      base. Under containers that own their nodes.
 * Model      Chunks grow with the pool (about an eighth of it, at most 64 KiB), so few are needed
 *            and little is idle. Memory goes back to the services at fini only.
 *            An operation that must not fail half-way reserves first: node_pool_reserve(n) makes
 *            the next n gets succeed.
 * Ownership  The pool borrows services until fini, and lends nodes until put or fini.
 */
#ifndef DRYDOCK_BASE_NODE_POOL_H
#define DRYDOCK_BASE_NODE_POOL_H

#include "base/services.h"

#include <stdbool.h>
#include <stddef.h>

struct node_pool {
    const struct base_services *services;
    void *spare;  /* linked through their first word */
    void *chunks; /* likewise */
    size_t node_size;
    size_t alignment;
    size_t node_count; /* all there are, handed out or spare */
    size_t spare_count;
    size_t bytes; /* of all chunks */
};

/* Alignment is a power of two that divides node_size; both are at least that of a pointer. */
void node_pool_init(struct node_pool *pool, const struct base_services *services, size_t node_size,
                    size_t alignment);

/* All nodes go, put back or not. */
void node_pool_fini(struct node_pool *pool);

/* Make at least count spare nodes; false, with nothing changed that matters, without memory. */
bool node_pool_reserve(struct node_pool *pool, size_t count);

/* A node with unspecified content, or NULL. */
void *node_pool_get(struct node_pool *pool);

void node_pool_put(struct node_pool *pool, void *node);

#endif
