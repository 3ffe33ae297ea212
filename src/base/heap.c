#include "base/heap.h"

#include "base/assert.h"

void heap_init(struct heap *heap,
               bool (*is_before)(const struct heap_node *a, const struct heap_node *b))
{
    heap->root = NULL;
    heap->is_before = is_before;
    heap->count = 0;
}

/* Two trees, neither with siblings, become one. */
static struct heap_node *meld(const struct heap *heap, struct heap_node *a, struct heap_node *b)
{
    struct heap_node *kept;

    if (!a || !b)
        return a ? a : b;
    if (heap->is_before(b, a)) {
        kept = a;
        a = b;
        b = kept;
    }
    b->next = a->child;
    b->prev = a;
    if (a->child)
        a->child->prev = b;
    a->child = b;
    return a;
}

/*
 * Siblings become one tree: melded in pairs from the left, the results then from the right. The
 * first pass keeps its results on a stack linked through next.
 */
static struct heap_node *meld_siblings(const struct heap *heap, struct heap_node *first)
{
    struct heap_node *pairs = NULL;
    struct heap_node *tree = NULL;

    while (first) {
        struct heap_node *a = first;
        struct heap_node *b = a->next;
        struct heap_node *pair;

        first = b ? b->next : NULL;
        a->next = a->prev = NULL;
        if (b)
            b->next = b->prev = NULL;
        pair = meld(heap, a, b);
        pair->next = pairs;
        pairs = pair;
    }
    while (pairs) {
        struct heap_node *pair = pairs;

        pairs = pair->next;
        pair->next = NULL;
        tree = meld(heap, tree, pair);
    }
    return tree;
}

void heap_insert(struct heap *heap, struct heap_node *node)
{
    node->child = node->next = node->prev = NULL;
    heap->root = meld(heap, heap->root, node);
    heap->count++;
}

void heap_remove(struct heap *heap, struct heap_node *node)
{
    ASSERT(heap->count > 0);

    if (node == heap->root) {
        heap->root = meld_siblings(heap, node->child);
    } else {
        if (node->prev->child == node)
            node->prev->child = node->next;
        else
            node->prev->next = node->next;
        if (node->next)
            node->next->prev = node->prev;
        heap->root = meld(heap, heap->root, meld_siblings(heap, node->child));
    }
    node->child = node->next = node->prev = NULL;
    heap->count--;
}

struct heap_node *heap_pop(struct heap *heap)
{
    struct heap_node *node = heap->root;

    if (node)
        heap_remove(heap, node);
    return node;
}

static bool is_first_child(const struct heap_node *node)
{
    return node->prev && node->prev->child == node;
}

bool heap_check(const struct heap *heap)
{
    const struct heap_node *node = heap->root;
    size_t seen = 0;

    if (node && (node->next || node->prev))
        return false;
    while (node) {
        if (++seen > heap->count)
            return false;
        if (node->child) {
            if (node->child->prev != node)
                return false;
            node = node->child;
        } else {
            while (node && !node->next) {
                while (node->prev && !is_first_child(node))
                    node = node->prev;
                node = node->prev;
            }
            if (node) {
                if (node->next->prev != node)
                    return false;
                node = node->next;
            }
        }
        /* The parent is prev of the first sibling; comparing with it walks the siblings back. */
        if (node) {
            const struct heap_node *parent = node;

            while (!is_first_child(parent))
                parent = parent->prev;
            if (heap->is_before(node, parent->prev))
                return false;
        }
    }
    return seen == heap->count;
}
