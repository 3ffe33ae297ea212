/*
 * Heap: an intrusive priority queue (a pairing heap).
 *
 * Place      base.
 * Model      heap_first() is a node that no other is before. Insert is O(1); pop and remove are
 *            O(log n) amortised. Among equals the order is unspecified (but repeatable): who needs
 *            one, such as an event queue, lets the comparison end with a sequence number.
 *            No recursion, so depth is no concern.
 * Ownership  The caller embeds nodes; the heap allocates nothing and owns nothing. The key of a
 *            node changes only while it is out of the heap.
 */
#ifndef DRYDOCK_BASE_HEAP_H
#define DRYDOCK_BASE_HEAP_H

#include <stdbool.h>
#include <stddef.h>

struct heap_node {
    struct heap_node *child; /* the first of the subtrees below, none of them before this node */
    struct heap_node *next;  /* sibling */
    struct heap_node *prev;  /* sibling, or the parent for the first child */
};

struct heap {
    struct heap_node *root;
    bool (*is_before)(const struct heap_node *a, const struct heap_node *b);
    size_t count;
};

void heap_init(struct heap *heap,
               bool (*is_before)(const struct heap_node *a, const struct heap_node *b));

void heap_insert(struct heap *heap, struct heap_node *node);

/* The first node, still in the heap, or NULL. */
static inline struct heap_node *heap_first(const struct heap *heap)
{
    return heap->root;
}

static inline bool heap_is_empty(const struct heap *heap)
{
    return heap->root == NULL;
}

/* Take the first node out, or NULL. */
struct heap_node *heap_pop(struct heap *heap);

/* Take a node that is in this heap out of it. */
void heap_remove(struct heap *heap, struct heap_node *node);

/* Invariant walk: order, links and count. Needs no memory. */
bool heap_check(const struct heap *heap);

#endif
