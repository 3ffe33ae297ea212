/* Watchers: the questions that a watcher may ask its check. */
#include "check/check_private.h"

struct check_ledger *check_ledger(struct check *check)
{
    return &check->ledger;
}

const struct check_config *check_configuration(const struct check *check)
{
    return &check->config;
}

const struct check_call *check_current_call(const struct check *check)
{
    return check->call;
}

const struct check_call *check_call_around(const struct check_call *call)
{
    const struct check_call *outer = call->outer;

    while (outer &&
           (outer->ddi == MINIPORT_DDI_InterruptRoutine || outer->ddi == MINIPORT_DDI_DpcRoutine))
        outer = outer->outer;
    return outer;
}

unsigned check_irql(const struct check *check)
{
    return check->config.irql ? check->config.irql(check->config.context) : PASSIVE_LEVEL;
}

void check_lost(struct check *check)
{
    check->is_whole = false;
}

bool check_is_whole(const struct check *check)
{
    return check->is_whole;
}
