/*
 * Contexts of an address space: held together, and told of their root together.
 *
 * Source     contract.md PT-009, PT-010.
 */
#include "vidmm/work/space_contexts.h"

#include "vidmm/memory/allocation.h"
#include "vidmm/memory/page_units.h"
#include "vidmm/tables/address_space.h"
#include "vidmm/tables/page_table.h"
#include "vidmm/tables/table_memory.h"
#include "vidmm/vidmm.h"
#include "vidmm/vidmm_private.h"
#include "vidmm/work/client.h"

#include "base/assert.h"
#include "vidsch/vidsch.h"

/* The next context of the process's devices; NULL after the last. */
static struct vidmm_context *next_context(const struct address_space *space,
                                          const struct vidmm_context *after)
{
    const struct vidmm_process *process = space->process;
    const struct list *device = after ? &after->device->link : process->devices.next;
    const struct list *link = after ? after->link.next : NULL;

    for (; device != &process->devices; device = device->next, link = NULL) {
        const struct vidmm_device *at = container_of(device, struct vidmm_device, link);

        if (!link)
            link = at->contexts.next;
        if (link != &at->contexts)
            return container_of(link, struct vidmm_context, link);
    }
    return NULL;
}

void space_hold(struct address_space *space)
{
    struct vidmm_context *context = NULL;

    space->hold_count++;
    while ((context = next_context(space, context)) != NULL)
        vidsch_context_hold(context->scheduler);
}

void space_release(struct address_space *space)
{
    struct vidmm_context *context = NULL;

    ASSERT(space->hold_count);
    space->hold_count--;
    while ((context = next_context(space, context)) != NULL)
        vidsch_context_release(context->scheduler);
}

bool space_is_quiet(const struct address_space *space)
{
    const struct vidmm_context *context = NULL;

    while ((context = next_context(space, context)) != NULL) {
        if (!vidsch_context_is_quiet(context->scheduler))
            return false;
    }
    return true;
}

static bool names_root(const DXGKARG_SETROOTPAGETABLE *args, const struct vidmm *vidmm,
                       const struct page_table *root)
{
    return args->Address.SegmentId == root->memory.segment &&
           args->Address.SegmentOffset ==
               PAGE_BYTES_OF(table_memory_device_page(vidmm, &root->memory)) &&
           args->NumEntries == root->memory.entry_count;
}

/*
 * The driver may wait in the call for an update of a context allocation. When another root has
 * taken the place of this one meanwhile, the context is told of that: space_set_root() passes over
 * a context that has no root yet.
 */
NTSTATUS context_set_root(struct vidmm_context *of)
{
    struct vidmm_context *context = of->first;
    const struct page_table *root = context->device->process->space.root;
    struct vidmm *vidmm = context->device->vidmm;
    DXGKARG_SETROOTPAGETABLE args = {0};
    NTSTATUS status;

    if (!vidmm->caps.has_page_tables)
        return STATUS_SUCCESS;
    if (!root)
        return STATUS_INVALID_PARAMETER; /* nothing is mapped: nothing to submit */
    do {
        args.hContext = context->driver_context;
        args.Address.SegmentId = root->memory.segment;
        args.Address.SegmentOffset = PAGE_BYTES_OF(table_memory_device_page(vidmm, &root->memory));
        args.NumEntries = (UINT)root->memory.entry_count;
        vidmm->root_calls++;
        status = miniport_set_root_page_table(vidmm->miniport, NULL, &args);
        vidmm->root_calls--;
    } while (NT_SUCCESS(status) && !names_root(&args, vidmm, root));
    if (NT_SUCCESS(status))
        context->root_is_set = true;
    return status;
}

void space_set_root(struct address_space *space)
{
    struct vidmm_context *context = NULL;

    while ((context = next_context(space, context)) != NULL) {
        if (context->root_is_set)
            context_set_root(context);
    }
}
