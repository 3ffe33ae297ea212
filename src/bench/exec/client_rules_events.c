#include "bench/exec/client_rules_own.h"

/* ---- Signals that set events ----------------------------------------------------------------- */

static void check_setting(struct client_rules *rules, const struct seen_setting *setting)
{
    if (!setting->is_enqueued)
        return;
    if (setting->count)
        client_rules_break(rules, CLIENT_RULE_EVENT_AND_OBJECTS,
                           "{@ObjectCount} is {%u}{=~0, with EnqueueCpuEvent~}", setting->count);
}

/* ---- Calls that are for fences --------------------------------------------------------------- */

static void check_sync(struct client_rules *rules, const struct seen_sync *sync, const char *how)
{
    if (!sync->handles || sync->count > D3DDDI_MAX_OBJECT_WAITED_ON)
        return;
    for (UINT i = 0; i < sync->count; i++) {
        const struct seen_object *notification =
            seen_find(rules->process, sync->handles[i], SEEN_NOTIFICATION);

        if (notification)
            client_rules_break(rules, CLIENT_RULE_NOTIFICATION_USE,
                               "CPU notification %u is %s like a fence", notification->number, how);
    }
}

void client_rules_events(struct client_rules *rules)
{
    const struct d3dkmt_call *call = rules->call;
    struct seen_setting setting;
    struct seen_sync sync;

    if (seen_setting_of(rules->process, call->function, call->arguments, &setting))
        check_setting(rules, &setting);
    else if (seen_wait_of(rules->process, call->function, call->arguments, &sync))
        check_sync(rules, &sync, "awaited");
    else if (seen_signal_of(rules->process, call->function, call->arguments, &sync))
        check_sync(rules, &sync, "signalled");
}

/* ---- Behind calls ---------------------------------------------------------------------------- */

/* The library says 0 of what is no event. */
void client_rules_events_ended(struct client_rules *rules)
{
    const struct d3dkmt_call *call = rules->call;
    struct seen_setting setting;

    if (call->status != STATUS_INVALID_HANDLE)
        return;
    if (call->function == D3DKMT_FN_CreateSynchronizationObject2)
        client_rules_break(rules, CLIENT_RULE_NO_EVENT,
                           "{@Event} is {no event}{=~an event of the process~}");
    else if (seen_setting_of(rules->process, call->function, call->arguments, &setting))
        client_rules_break(rules, CLIENT_RULE_NO_EVENT,
                           "{@CpuEventHandle} is {no event}{=~an event of the process~}");
}
