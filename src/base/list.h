/*
 * List: an intrusive, doubly linked, circular list.
 *
 * Place      base. Header only.
 * Model      A struct list is a head or a node: the type is the same. A head that points at itself
 *            is an empty list; a node that points at itself is on no list. list_remove() leaves
 *            the node in that state, so removing twice is harmless and list_is_linked() is honest.
 * Ownership  The caller embeds nodes in its objects; the list allocates nothing and owns nothing.
 *
 *     struct job { struct list link; int number; };
 *
 *     struct job *job;
 *     list_for_each(job, &queue->jobs, struct job, link)
 *         total += job->number;
 */
#ifndef DRYDOCK_BASE_LIST_H
#define DRYDOCK_BASE_LIST_H

#include <stdbool.h>
#include <stddef.h>

#ifndef container_of
#define container_of(pointer, type, member) ((type *)((char *)(pointer)-offsetof(type, member)))
#endif

struct list {
    struct list *next;
    struct list *prev;
};

#define LIST_INITIALIZER(head)                                                                     \
    {                                                                                              \
        &(head), &(head)                                                                           \
    }

static inline void list_init(struct list *list)
{
    list->next = list;
    list->prev = list;
}

static inline bool list_is_empty(const struct list *head)
{
    return head->next == head;
}

/* True when the node is on a list; it must have been through list_init() once. */
static inline bool list_is_linked(const struct list *node)
{
    return node->next != node;
}

static inline void list_insert_after(struct list *position, struct list *node)
{
    node->next = position->next;
    node->prev = position;
    position->next->prev = node;
    position->next = node;
}

static inline void list_insert_before(struct list *position, struct list *node)
{
    list_insert_after(position->prev, node);
}

static inline void list_push_front(struct list *head, struct list *node)
{
    list_insert_after(head, node);
}

static inline void list_push_back(struct list *head, struct list *node)
{
    list_insert_after(head->prev, node);
}

static inline void list_remove(struct list *node)
{
    node->prev->next = node->next;
    node->next->prev = node->prev;
    list_init(node);
}

/* Take the node from whatever list it is on, or none, and append it to this one. */
static inline void list_move_back(struct list *head, struct list *node)
{
    list_remove(node);
    list_push_back(head, node);
}

static inline void list_move_front(struct list *head, struct list *node)
{
    list_remove(node);
    list_push_front(head, node);
}

/* The first or last node, or NULL when the list is empty. */
static inline struct list *list_first(const struct list *head)
{
    return list_is_empty(head) ? NULL : head->next;
}

static inline struct list *list_last(const struct list *head)
{
    return list_is_empty(head) ? NULL : head->prev;
}

static inline struct list *list_pop_front(struct list *head)
{
    struct list *node = list_first(head);

    if (node)
        list_remove(node);
    return node;
}

static inline struct list *list_pop_back(struct list *head)
{
    struct list *node = list_last(head);

    if (node)
        list_remove(node);
    return node;
}

/* Move all of other to the end of head, in order; other is then empty. */
static inline void list_splice(struct list *head, struct list *other)
{
    if (list_is_empty(other))
        return;
    other->next->prev = head->prev;
    head->prev->next = other->next;
    other->prev->next = head;
    head->prev = other->prev;
    list_init(other);
}

/* Counts by walking. */
static inline size_t list_count(const struct list *head)
{
    size_t count = 0;

    for (const struct list *node = head->next; node != head; node = node->next)
        count++;
    return count;
}

/* The object around a node. The list must not be empty for list_first_entry(). */
#define list_entry(node, type, member)       container_of(node, type, member)
#define list_first_entry(head, type, member) list_entry((head)->next, type, member)
#define list_last_entry(head, type, member)  list_entry((head)->prev, type, member)

/*
 * Walk forwards. After a walk that was not broken off, entry points at no object. The body must
 * not remove entry from the list; list_for_each_safe() allows that, and allows freeing it, with
 * a second variable, following, which the body leaves alone (and whose node it must not remove).
 */
#define list_for_each(entry, head, type, member)                                                   \
    for ((entry) = list_entry((head)->next, type, member); &(entry)->member != (head);             \
         (entry) = list_entry((entry)->member.next, type, member))

#define list_for_each_reverse(entry, head, type, member)                                           \
    for ((entry) = list_entry((head)->prev, type, member); &(entry)->member != (head);             \
         (entry) = list_entry((entry)->member.prev, type, member))

#define list_for_each_safe(entry, following, head, type, member)                                   \
    for ((entry) = list_entry((head)->next, type, member),                                         \
        (following) = list_entry((entry)->member.next, type, member);                              \
         &(entry)->member != (head);                                                               \
         (entry) = (following), (following) = list_entry((entry)->member.next, type, member))

#endif
