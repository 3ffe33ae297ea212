/*
 * Whether two workloads are equal in everything that saving and loading keeps.
 */
#include "workload/workload.h"

#include <string.h>

static bool same_text(const struct workload *a, uint32_t text_a, const struct workload *b,
                      uint32_t text_b)
{
    return strcmp(workload_string(a, text_a), workload_string(b, text_b)) == 0;
}

static bool same_header(const struct workload *a, const struct workload *b)
{
    if (strcmp(a->name, b->name) != 0)
        return false;
    for (uint32_t i = 0; i < a->option_count; i++) {
        if (!same_text(a, a->options[i].key, b, b->options[i].key) ||
            !same_text(a, a->options[i].value, b, b->options[i].value))
            return false;
    }
    for (uint32_t i = 0; i < a->process_count; i++) {
        if (!same_text(a, a->processes[i].name, b, b->processes[i].name))
            return false;
    }
    for (uint32_t i = 0; i < a->device_count; i++) {
        if (!same_text(a, a->devices[i].name, b, b->devices[i].name) ||
            a->devices[i].process != b->devices[i].process)
            return false;
    }
    for (uint32_t i = 0; i < a->context_count; i++) {
        if (!same_text(a, a->contexts[i].name, b, b->contexts[i].name) ||
            a->contexts[i].device != b->contexts[i].device ||
            a->contexts[i].node != b->contexts[i].node ||
            a->contexts[i].save.bytes != b->contexts[i].save.bytes ||
            a->contexts[i].save.is_local != b->contexts[i].save.is_local ||
            a->contexts[i].save.is_mapped != b->contexts[i].save.is_mapped)
            return false;
    }
    return true;
}

static bool same_allocation(const struct workload *a, const struct workload *b, uint32_t id)
{
    const struct workload_allocation *x = &a->allocations[id], *y = &b->allocations[id];

    return same_text(a, x->name, b, y->name) && x->device == y->device && x->size == y->size &&
           x->va == y->va && x->align == y->align && x->priority == y->priority &&
           x->flags == y->flags && x->segment_count == y->segment_count &&
           memcmp(x->segments, y->segments, x->segment_count) == 0 && x->alloc_op == y->alloc_op &&
           x->free_op == y->free_op;
}

static bool same_op(const struct workload *a, const struct workload *b, uint32_t index)
{
    const struct workload_op *x = &a->ops[index], *y = &b->ops[index];

    if (x->kind != y->kind || x->flags != y->flags || x->segment != y->segment ||
        x->page_shift != y->page_shift || x->object != y->object || x->ref_count != y->ref_count ||
        !same_text(a, x->text, b, y->text) || x->offset != y->offset || x->size != y->size ||
        x->value != y->value)
        return false;
    for (uint32_t i = 0; i < x->ref_count; i++) {
        const struct workload_ref *r = &a->refs[x->first_ref + i], *s = &b->refs[y->first_ref + i];

        if (r->allocation != s->allocation || r->access != s->access || r->offset != s->offset ||
            r->size != s->size || r->key != s->key)
            return false;
    }
    return true;
}

bool workload_equal(const struct workload *a, const struct workload *b)
{
    if (a->option_count != b->option_count || a->process_count != b->process_count ||
        a->device_count != b->device_count || a->context_count != b->context_count ||
        a->allocation_count != b->allocation_count || a->op_count != b->op_count ||
        a->ref_count != b->ref_count || !same_header(a, b))
        return false;
    for (uint32_t i = 0; i < a->allocation_count; i++) {
        if (!same_allocation(a, b, i))
            return false;
    }
    for (uint32_t i = 0; i < a->op_count; i++) {
        if (!same_op(a, b, i))
            return false;
    }
    return true;
}
