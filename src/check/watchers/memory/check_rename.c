/*
 * Renamed allocations (ALLOC-022): a lock with Discard may give another instance of an allocation
 * that is in use.
 *
 * That the driver sees one hAllocation at several places is what renaming is. What can be broken is
 * that it is the same handle (no DxgkDdiCreateAllocation comes with such a lock), that there are no
 * more instances than MaximumRenamingListLength, and that drivers of WDDM 1 alone see it; each
 * instance then ends like an allocation (ALLOC-020, RES-012; DISC-001 is in check_transfer.c), and
 * no two are in one place (RES-011).
 */
#include "check/check_watch.h"

struct rename_watch {
    bool is_locking;  /* a lock with Discard is under way: */
    bool has_created; /* ... the driver was asked for an allocation, which has been told */
};

static void before(struct check *check, void *state, const struct check_call *call)
{
    struct rename_watch *watch = state;

    if (!watch->is_locking || watch->has_created)
        return;
    watch->has_created = true;
    CHECK_RULE(check, RULE_ALLOC_022, false, NULL, "",
               "is called for a lock with Discard; an instance has the hAllocation that there is");
}

/* By when the watchers are asked, it exists. */
static void check_count(struct check *check, const struct check_allocation *instance)
{
    const struct check_allocation *first = instance->first;
    unsigned limit = first->info.MaximumRenamingListLength;
    unsigned count = check_instance_count(first);
    bool is_new = check_ledger(check)->interface_version >= DXGKDDI_INTERFACE_VERSION_WDDM2_0;

    if (CHECK_RULE(check, RULE_ALLOC_022, !is_new, &first->object, "",
                   "it is renamed, which drivers of WDDM 2 and later are not told of"))
        CHECK_RULE(check, RULE_ALLOC_022, !limit || count <= limit, &first->object, "",
                   "has %u instances now; its MaximumRenamingListLength is %u", count, limit);
}

static void check_its_end(struct check *check, const struct check_allocation *instance)
{
    const struct check_packet *user = check_find_user(check_ledger(check), instance);

    CHECK_RULE(check, RULE_ALLOC_020, !instance->pending, &instance->object, "",
               "it ends with %u paging operations that have not finished", instance->pending);
    CHECK_RULE(check, RULE_RES_012, !user, &instance->object, "",
               "it ends while the packet with fence 0x%x on node %u, which may use it, has "
               "not finished",
               user->fence, user->node);
}

static void client(struct check *check, void *state, const struct check_client_event *event)
{
    const struct check_ledger *ledger = check_ledger(check);
    const struct check_allocation *instance = check_find_allocation(ledger, event->instance);
    const struct check_allocation *ended = check_find_ended(ledger, event);
    struct rename_watch *watch = state;

    switch (event->kind) {
    case CHECK_CLIENT_LOCK:
        *watch = (struct rename_watch){.is_locking = event->discards};
        break;
    case CHECK_CLIENT_LOCKED:
        watch->is_locking = false;
        break;
    case CHECK_CLIENT_RENAMED:
        if (instance && instance->first)
            check_count(check, instance);
        break;
    case CHECK_CLIENT_INSTANCE_ENDED:
        if (ended && !ledger->is_gone)
            check_its_end(check, ended);
        break;
    default:
        break;
    }
}

const struct check_watcher check_rename_watcher = {
    .name = "rename",
    .state_bytes = sizeof(struct rename_watch),
    .before = before,
    .before_calls = CHECK_CALLS(MINIPORT_DDI_CreateAllocation),
    .client = client,
};
