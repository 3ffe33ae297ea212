/* Frames of the image, from the inside outwards, and the contexts that stand between them. */
#include "nt/exceptions/exception_private.h"
#include "nt/machine/direct.h"

#include <string.h>

#define MOST_FRAMES 4096u /* a kernel stack has fewer */

/* ---- Contexts -------------------------------------------------------------------------------- */

void exception_context_of_state(const struct boundary_state *state, struct image_context *out)
{
    out->rip = state->rip;
    memcpy(out->general, state->general, sizeof out->general);
    memcpy(out->vector, state->vector, sizeof out->vector);
}

void exception_context_of_registers(const struct boundary_registers *from,
                                    struct image_context *out)
{
    *out = (struct image_context){
        .rip = from->rip,
        .general = {[3] = from->rbx,
                    [IMAGE_RSP] = from->rsp,
                    [5] = from->rbp,
                    [6] = from->rsi,
                    [7] = from->rdi,
                    [12] = from->r12,
                    [13] = from->r13,
                    [14] = from->r14,
                    [15] = from->r15},
    };
    memcpy(out->vector + 6, from->xmm, sizeof from->xmm);
}

_Static_assert(offsetof(CONTEXT, R15) - offsetof(CONTEXT, Rax) == 15 * sizeof(ULONG64),
               "the general registers lie in the order of their numbers");

void exception_write_context(const struct image_context *from, CONTEXT *out)
{
    memcpy(&out->Rax, from->general, sizeof from->general);
    memcpy(&out->Xmm0, from->vector, sizeof from->vector);
    out->Rip = from->rip;
}

void exception_read_context(const CONTEXT *from, struct image_context *out)
{
    memcpy(out->general, &from->Rax, sizeof out->general);
    memcpy(out->vector, &from->Xmm0, sizeof out->vector);
    out->rip = from->Rip;
}

/* ---- Frames ---------------------------------------------------------------------------------- */

static bool read_stack(void *context, uint64_t address, void *out, size_t size)
{
    const struct nt *nt = context;

    if (!boundary_is_on_stack(nt->boundary, address) ||
        !boundary_is_on_stack(nt->boundary, address + size - 1))
        return false;
    memcpy(out, (const void *)(uintptr_t)address, size);
    return true;
}

static bool step_leaf(const struct nt *nt, struct image_context *context)
{
    uint64_t rip;

    if (!read_stack((void *)(uintptr_t)nt, context->general[IMAGE_RSP], &rip, sizeof rip) ||
        (!image_contains(nt->image, rip) && !boundary_is_return(rip)))
        return false;
    context->rip = rip;
    context->general[IMAGE_RSP] += sizeof rip;
    return true;
}

bool exception_is_direct(uint64_t address)
{
#if defined(__x86_64__) && defined(__linux__)
    return address >= (uintptr_t)direct_begin && address < (uintptr_t)direct_end;
#else
    return false;
#endif
}

bool exception_step(const struct nt *nt, struct image_context *context, struct image_frame *out)
{
    const struct image_memory memory = {read_stack, (void *)(uintptr_t)nt};

    if (image_contains(nt->image, context->rip))
        return image_unwind_step(nt->image, context, &memory, out, NULL);
    *out = (struct image_frame){.place = IMAGE_IN_LEAF, .establisher = context->general[IMAGE_RSP]};
    if (boundary_is_return(context->rip))
        return false;
    if (exception_is_direct(context->rip)) {
        context->general[6] = context->general[10];
        context->general[7] = context->general[11];
    }
    if (direct_is_probe(context->rip))
        context->general[IMAGE_RSP] += DIRECT_PROBE_PUSHED;
    /* Elsewhere the image has called an address without code. */
    return step_leaf(nt, context);
}

/*
 * The frames end where the bench called the image. They go on behind that when the bench called for
 * an exception.
 */
static bool cross(struct exception_walk *walk)
{
    const struct boundary_call *outer = walk->call->outer;
    const struct exception_note *note = outer ? outer->note : NULL;

    if (!note)
        return false;
    walk->context = note->at;
    walk->call = note->call;
    walk->is_collided = note->of_unwinding != NULL;
    walk->scope_index = note->of_unwinding ? note->of_unwinding->ScopeIndex : 0;
    return true;
}

bool exception_next_frame(struct exception_walk *walk, struct exception_frame *out)
{
    while (walk->steps++ < MOST_FRAMES) {
        if (boundary_is_return(walk->context.rip)) {
            if (!cross(walk))
                return false;
            continue;
        }
        out->before = walk->context;
        out->call = walk->call;
        out->scope_index = walk->scope_index;
        out->is_collided = walk->is_collided;
        walk->scope_index = 0;
        walk->is_collided = false;
        if (!exception_step(walk->nt, &walk->context, &out->place))
            return false;
        out->after = walk->context;
        return true;
    }
    return false;
}
