/*
 * Watcher: context allocations, memory that a driver asks for with a callback and gives its first content
 * (CTX-001, CTX-002, CTX-005, CTX-007..009, CTX-012).
 */
#include "check/check_watch.h"

#include <string.h>

#define MAX_ALLOCATIONS 256

struct context_allocation {
    DXGKARGCB_CREATECONTEXTALLOCATION made; /* with the system's handle */
    uint64_t initialised_epoch;             /* 0: INIT_CONTEXT_RESOURCE has not come */
};

/* Handles are few: contexts are. When there is no more room nothing more is judged. */
struct context_watch {
    struct context_allocation allocations[MAX_ALLOCATIONS];
    unsigned count;
    bool is_full;
};

static struct context_allocation *find(struct context_watch *watch, HANDLE handle)
{
    for (unsigned i = 0; i < watch->count; i++) {
        if (watch->allocations[i].made.hAllocation == handle ||
            watch->allocations[i].made.hDriverAllocation == handle)
            return &watch->allocations[i];
    }
    return NULL;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static void on_create(struct check *check, struct context_watch *watch,
                      const struct check_callback *callback)
{
    const DXGKARGCB_CREATECONTEXTALLOCATION *arg = callback->data;
    bool is_shared = arg->ContextAllocationFlags.SharedAcrossContexts;
    const struct check_call *outer = callback->outer;
    bool is_system = outer && outer->ddi == MINIPORT_DDI_CreateContext &&
                     outer->before.create_context->Flags.SystemContext;

    if (!check_holds(check, RULE_CTX_001, !is_system))
        check_report(check, RULE_CTX_001, NULL, "hContext",
                     "is the system's: 0x%llx bytes are asked for while it is created",
                     (unsigned long long)arg->Size);
    if (!check_holds(check, RULE_CTX_002,
                     is_shared ? arg->hDevice && !arg->hContext : arg->hContext != NULL))
        check_report(
            check, RULE_CTX_002, NULL, "ContextAllocationFlags.SharedAcrossContexts",
            "is %u; hDevice is %s, hContext is %s (expected with 1 a device alone, with 0 a "
            "context)",
            is_shared, arg->hDevice ? "not NULL" : "NULL", arg->hContext ? "not NULL" : "NULL");
    if (!NT_SUCCESS(callback->status))
        return;
    watch->is_full |= watch->count == MAX_ALLOCATIONS;
    if (!watch->is_full)
        watch->allocations[watch->count++] = (struct context_allocation){.made = *arg};
}

static void on_destroy(struct context_watch *watch, HANDLE handle)
{
    struct context_allocation *gone = find(watch, handle);

    if (gone)
        *gone = watch->allocations[--watch->count];
}

/* CTX-012: the system would wait for what it is building. */
static void on_update(struct check *check, const struct check_callback *callback)
{
    bool is_inside = false;

    for (const struct check_call *outer = callback->outer; outer; outer = outer->outer)
        is_inside |= outer->ddi == MINIPORT_DDI_BuildPagingBuffer;
    if (!check_holds(check, RULE_CTX_012, !is_inside))
        check_report(check, RULE_CTX_012, NULL, "",
                     "is called inside DxgkDdiBuildPagingBuffer, on which it would wait");
}

static void on_callback(struct check *check, void *state, const struct check_callback *callback)
{
    switch ((unsigned)callback->callback) {
    case TRACE_CALLBACK_create_context_allocation:
        on_create(check, state, callback);
        break;
    case TRACE_CALLBACK_destroy_context_allocation:
        if (NT_SUCCESS(callback->status))
            on_destroy(state, callback->result);
        break;
    case TRACE_CALLBACK_update_context_allocation:
        on_update(check, callback);
        break;
    default:
        break;
    }
}

/* ---- First content --------------------------------------------------------------------------- */

static bool may_have_cpu_address(const struct check_ledger *ledger,
                                 const DXGKARGCB_CREATECONTEXTALLOCATION *made)
{
    for (unsigned i = 0; i < ledger->segment_count; i++) {
        if ((made->SupportedSegmentSet >> i & 1) && !ledger->segments[i].flags.Aperture)
            return false;
    }
    return made->Flags.CpuVisible && made->Flags.Protected;
}

static void before_init(struct check *check, struct context_watch *watch,
                        const DXGKARG_BUILDPAGINGBUFFER *arg)
{
    const struct check_ledger *ledger = check_ledger(check);
    struct context_allocation *allocation = find(watch, arg->InitContextResource.hAllocation);
    uint64_t va = arg->InitContextResource.Destination.GpuVirtualAddress, page;

    if (watch->is_full)
        return;
    if (!check_holds(check, RULE_CTX_009, allocation != NULL)) {
        check_report(check, RULE_CTX_009, NULL, "hAllocation",
                     "%p is of no allocation that DxgkCbCreateContextAllocation has made",
                     arg->InitContextResource.hAllocation);
        return;
    }
    if (!check_holds(check, RULE_CTX_005, allocation->initialised_epoch != ledger->tables.epoch))
        check_report(check, RULE_CTX_005, NULL, "hAllocation",
                     "%p gets its first content again; nothing was lost",
                     arg->InitContextResource.hAllocation);
    allocation->initialised_epoch = ledger->tables.epoch;
    if (!check_holds(check, RULE_CTX_007,
                     !arg->InitContextResource.Destination.VirtualAddress ||
                         may_have_cpu_address(ledger, &allocation->made)))
        check_report(check, RULE_CTX_007, NULL, "Destination.VirtualAddress",
                     "is not NULL: CpuVisible %u, Protected %u, segments 0x%x (expected both, and "
                     "apertures only)",
                     allocation->made.Flags.CpuVisible, allocation->made.Flags.Protected,
                     allocation->made.SupportedSegmentSet);
    if (!ledger->system_process || !check_is_leaf_known(ledger, ledger->system_process, va))
        return;
    if (!check_holds(check, RULE_CTX_008,
                     check_translate(ledger, ledger->system_process, va, &page) != 0))
        check_report(check, RULE_CTX_008, NULL, "Destination.GpuVirtualAddress",
                     "nothing is mapped at VA 0x%llx of the paging process",
                     (unsigned long long)va);
}

static void before(struct check *check, void *state, const struct check_call *call)
{
    const DXGKARG_BUILDPAGINGBUFFER *arg = call->before.build_paging_buffer;

    if (call->ddi == MINIPORT_DDI_BuildPagingBuffer &&
        arg->Operation == DXGK_OPERATION_INIT_CONTEXT_RESOURCE &&
        !check_ledger(check)->is_operation_open)
        before_init(check, state, arg);
}

static NTSTATUS create(struct check *check, void **out_state)
{
    *out_state = base_alloc(check_configuration(check)->services, sizeof(struct context_watch));
    if (!*out_state)
        return STATUS_NO_MEMORY;
    memset(*out_state, 0, sizeof(struct context_watch));
    return STATUS_SUCCESS;
}

static void destroy(struct check *check, void *state)
{
    base_free(check_configuration(check)->services, state, sizeof(struct context_watch));
}

const struct check_watcher check_context_watcher = {
    .name = "context allocations",
    .create = create,
    .destroy = destroy,
    .before = before,
    .callback = on_callback,
};
