#include "bench/exec/client_rules_own.h"

/* ---- Handles --------------------------------------------------------------------------------- */

/* What it is a handle of may not have been seen. */
static bool holds(const struct seen_object *mutex)
{
    return mutex->shared && mutex->shared->holder == mutex;
}

static const struct seen_object *find_mutex(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    if (seen_was_destroyed(rules->process, handle))
        client_rules_break(rules, CLIENT_RULE_OLD_HANDLE, "0x%x was destroyed before", handle);
    return seen_find(rules->process, handle, SEEN_KEYED_MUTEX);
}

static void acquire(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *mutex = find_mutex(rules, handle);

    if (mutex && mutex->is_abandoned)
        client_rules_break(rules, CLIENT_RULE_MUTEX_ABANDONED,
                           "keyed mutex %u was abandoned, which has been told", mutex->number);
}

static void release(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *mutex = find_mutex(rules, handle);

    if (mutex && mutex->shared && !holds(mutex))
        client_rules_break(rules, CLIENT_RULE_MUTEX_NOT_HELD, "keyed mutex %u is %s", mutex->number,
                           mutex->shared->holder ? "held by another handle" : "held by nobody");
}

static void destroy(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    const struct seen_object *mutex = find_mutex(rules, handle);

    if (mutex && holds(mutex))
        client_rules_break(rules, CLIENT_RULE_MUTEX_LEFT, "keyed mutex %u is held", mutex->number);
}

/* ---- Calls ----------------------------------------------------------------------------------- */

void client_rules_mutexes(struct client_rules *rules)
{
    const struct d3dkmt_call *call = rules->call;

    switch (call->function) {
    case D3DKMT_FN_CreateKeyedMutex2: {
        const D3DKMT_CREATEKEYEDMUTEX2 *arguments = call->arguments;

        if (arguments->Flags.Reserved)
            client_rules_break(rules, CLIENT_RULE_MUTEX_FLAGS,
                               "{@Flags} are {0x%x}{=~reserved bits 0~}", arguments->Flags.Value);
        break;
    }
    case D3DKMT_FN_OpenResourceFromNtHandle: {
        const D3DKMT_OPENRESOURCEFROMNTHANDLE *arguments = call->arguments;

        if (!arguments->pKeyedMutexPrivateRuntimeData &&
            arguments->KeyedMutexPrivateRuntimeDataSize)
            client_rules_break(rules, CLIENT_RULE_MUTEX_DATA,
                               "{@KeyedMutexPrivateRuntimeDataSize} is {%u}{=~0, without data~}",
                               arguments->KeyedMutexPrivateRuntimeDataSize);
        break;
    }
    case D3DKMT_FN_AcquireKeyedMutex:
    case D3DKMT_FN_AcquireKeyedMutex2: /* which begins alike */
        acquire(rules, ((const D3DKMT_ACQUIREKEYEDMUTEX *)call->arguments)->hKeyedMutex);
        break;
    case D3DKMT_FN_ReleaseKeyedMutex:
    case D3DKMT_FN_ReleaseKeyedMutex2: /* the same */
        release(rules, ((const D3DKMT_RELEASEKEYEDMUTEX *)call->arguments)->hKeyedMutex);
        break;
    case D3DKMT_FN_DestroyKeyedMutex:
        destroy(rules, ((const D3DKMT_DESTROYKEYEDMUTEX *)call->arguments)->hKeyedMutex);
        break;
    default:
        break;
    }
}

void client_rules_mutexes_closed(struct client_rules *rules)
{
    const struct seen_object *mutex;

    list_for_each (mutex, &rules->process->objects, struct seen_object, link) {
        if (mutex->kind == SEEN_KEYED_MUTEX && holds(mutex))
            client_rules_break(rules, CLIENT_RULE_MUTEX_LEFT,
                               "keyed mutex %u is held at the end of the process", mutex->number);
    }
}

void client_rules_mutex_of(struct client_rules *rules, const struct seen_object *allocation,
                           const char *how)
{
    const struct seen_shared *mutex = allocation->shared ? allocation->shared->mutex : NULL;

    if (mutex && (!mutex->holder || mutex->holder->process != rules->process))
        client_rules_break(rules, CLIENT_RULE_MUTEX_NOT_ACQUIRED,
                           "a%u is %s, and its keyed mutex is held by %s", allocation->number, how,
                           mutex->holder ? "another process" : "nobody");
}
