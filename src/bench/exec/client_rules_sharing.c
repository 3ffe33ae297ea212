#include "bench/exec/client_rules_own.h"

/* ---- Opening --------------------------------------------------------------------------------- */

/* What both forms of opening a resource say. */
struct opening {
    UINT count, runtime_bytes, driver_bytes, total_bytes;
};

static void check_size(struct client_rules *rules, const char *what, UINT bytes, UINT needed)
{
    if (bytes < needed)
        client_rules_break(rules, CLIENT_RULE_OPENED_SIZES,
                           "%s has {%u} bytes{=~%u, as a query tells~}", what, bytes, needed);
}

static void check_opening(struct client_rules *rules, const struct seen_shared *shared,
                          const struct opening *opening)
{
    if (!shared)
        return;
    if (opening->count != shared->count)
        client_rules_break(rules, CLIENT_RULE_OPENED_COUNT,
                           "{@NumAllocations} is {%u}{=~%u, as a query tells~}", opening->count,
                           shared->count);
    check_size(rules, "pPrivateRuntimeData", opening->runtime_bytes, shared->runtime_bytes);
    check_size(rules, "pResourcePrivateDriverData", opening->driver_bytes, shared->driver_bytes);
    check_size(rules, "pTotalPrivateDriverDataBuffer", opening->total_bytes, shared->total_bytes);
}

static UINT room(const VOID *buffer, UINT bytes)
{
    return buffer ? bytes : 0;
}

static void open_resource(struct client_rules *rules, const D3DKMT_OPENRESOURCE *arguments)
{
    check_opening(
        rules, seen_find_shared(rules->seen, SEEN_RESOURCE, 0, arguments->hGlobalShare),
        &(struct opening){
            arguments->NumAllocations,
            room(arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize),
            room(arguments->pResourcePrivateDriverData, arguments->ResourcePrivateDriverDataSize),
            room(arguments->pTotalPrivateDriverDataBuffer,
                 arguments->TotalPrivateDriverDataBufferSize)});
}

static void open_resource_by_nt_handle(struct client_rules *rules,
                                       const D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments)
{
    check_opening(
        rules, seen_find_shared(rules->seen, SEEN_RESOURCE, rules->call->nt_object, 0),
        &(struct opening){
            arguments->NumAllocations,
            room(arguments->pPrivateRuntimeData, arguments->PrivateRuntimeDataSize),
            room(arguments->pResourcePrivateDriverData, arguments->ResourcePrivateDriverDataSize),
            room(arguments->pTotalPrivateDriverDataBuffer,
                 arguments->TotalPrivateDriverDataBufferSize)});
}

/* ---- Making and sharing ---------------------------------------------------------------------- */

/* Of an allocation: its resource's. NOTHING: no handle of what may be shared. */
static enum seen_kind kind_of(const struct seen_object *object)
{
    return !object ? SEEN_NOTHING : object->kind == SEEN_ALLOCATION ? SEEN_RESOURCE : object->kind;
}

static void share(struct client_rules *rules, const THUNK_SHARE_OBJECTS *arguments)
{
    unsigned counts[SEEN_RESOURCE + 1] = {0};

    if (arguments->cObjects != 1 && arguments->cObjects != 3) {
        client_rules_break(rules, CLIENT_RULE_SHARED_KINDS,
                           "{@cObjects} is {%u}{=~1, or 3 with a keyed mutex and a fence~}",
                           arguments->cObjects);
        return;
    }
    for (UINT i = 0; arguments->hObjects && i < arguments->cObjects; i++) {
        const struct seen_object *object =
            seen_find_shareable(rules->process, arguments->hObjects[i]);

        counts[kind_of(object)]++;
        if (object && (!object->shared || object->shared->global))
            client_rules_break(rules, CLIENT_RULE_NOT_SHARED,
                               "0x%x was made without NtSecuritySharing", arguments->hObjects[i]);
    }
    if (!counts[SEEN_NOTHING] &&
        (arguments->cObjects == 1 ? counts[SEEN_KEYED_MUTEX]
                                  : counts[SEEN_RESOURCE] != 1 || counts[SEEN_KEYED_MUTEX] != 1))
        client_rules_break(rules, CLIENT_RULE_SHARED_KINDS,
                           "{@hObjects} are {%u resources, %u keyed mutexes, %u fences}{=~a "
                           "resource, a fence, or one of each~}",
                           counts[SEEN_RESOURCE], counts[SEEN_KEYED_MUTEX], counts[SEEN_FENCE]);
}

static void create_allocations(struct client_rules *rules, D3DKMT_CREATEALLOCATIONFLAGS flags)
{
    if (flags.NtSecuritySharing && !flags.CreateShared)
        client_rules_break(rules, CLIENT_RULE_SHARING_FLAGS,
                           "{@~Flags~}{NtSecuritySharing without CreateShared}{=~both~}");
    if (flags.CreateShared && !flags.CreateResource)
        client_rules_break(rules, CLIENT_RULE_SHARING_FLAGS,
                           "{@~Flags~}{CreateShared without CreateResource}{=~both~}");
}

static void take_fence(struct client_rules *rules, D3DDDI_SYNCHRONIZATIONOBJECT_FLAGS flags)
{
    if (flags.NtSecuritySharing && !flags.Shared)
        client_rules_break(rules, CLIENT_RULE_SHARING_FLAGS,
                           "{@~Flags~}{NtSecuritySharing without Shared}{=~both~}");
    if (flags.NoSignal && flags.NoWait)
        client_rules_break(rules, CLIENT_RULE_SHARING_FLAGS,
                           "{@~Flags~}{NoSignal and NoWait}{=~one of them at most~}");
}

void client_rules_sharing(struct client_rules *rules)
{
    const struct d3dkmt_call *call = rules->call;

    switch (call->function) {
    case D3DKMT_FN_OpenResource:
        open_resource(rules, call->arguments);
        break;
    case D3DKMT_FN_OpenResourceFromNtHandle:
        open_resource_by_nt_handle(rules, call->arguments);
        break;
    case D3DKMT_FN_ShareObjects:
        share(rules, call->arguments);
        break;
    case D3DKMT_FN_CreateAllocation2:
        create_allocations(rules, ((const D3DKMT_CREATEALLOCATION *)call->arguments)->Flags);
        break;
    case D3DKMT_FN_CreateSynchronizationObject2:
        take_fence(rules,
                   ((const D3DKMT_CREATESYNCHRONIZATIONOBJECT2 *)call->arguments)->Info.Flags);
        break;
    case D3DKMT_FN_OpenSyncObjectFromNtHandle2:
        take_fence(rules, ((const D3DKMT_OPENSYNCOBJECTFROMNTHANDLE2 *)call->arguments)->Flags);
        break;
    default:
        break;
    }
}

/* ---- Behind calls ---------------------------------------------------------------------------- */

static bool is_for_fences(const struct d3dkmt_call *call)
{
    return call->function == D3DKMT_FN_OpenSyncObjectNtHandleFromName;
}

void client_rules_sharing_ended(struct client_rules *rules)
{
    const struct d3dkmt_call *call = rules->call;

    switch (call->function) {
    case D3DKMT_FN_QueryResourceInfoFromNtHandle:
    case D3DKMT_FN_OpenResourceFromNtHandle:
    case D3DKMT_FN_OpenSyncObjectFromNtHandle2:
    case D3DKMT_FN_OpenKeyedMutexFromNtHandle:
        if (call->status == STATUS_INVALID_HANDLE)
            client_rules_break(rules, CLIENT_RULE_NO_NT_HANDLE,
                               "{@hNtHandle} is {no shared object of that kind}{=~one that "
                               "D3DKMTShareObjects has given~}");
        break;
    case D3DKMT_FN_ShareObjects:
    case D3DKMT_FN_OpenNtHandleFromName:
    case D3DKMT_FN_OpenSyncObjectNtHandleFromName:
        if (call->status == STATUS_OBJECT_PATH_SYNTAX_BAD)
            client_rules_break(rules, CLIENT_RULE_NAME_ROOT,
                               "{@Name} has {no root}{=~a backslash at its beginning~}");
        if (call->status == STATUS_OBJECT_TYPE_MISMATCH)
            client_rules_break(rules, CLIENT_RULE_NAME_KIND, "{@Name} is that of {a %s}{=~a %s~}",
                               is_for_fences(call) ? "resource" : "fence",
                               is_for_fences(call) ? "fence" : "resource");
        break;
    default:
        break;
    }
}

void client_rules_fence_use(struct client_rules *rules, const struct seen_object *fence,
                            bool is_signal)
{
    if (fence && (is_signal ? fence->is_wait_only : fence->is_signal_only))
        client_rules_break(rules, CLIENT_RULE_NOT_ALLOWED, "fence %u has %s here", fence->number,
                           is_signal ? "NoSignal" : "NoWait");
}
