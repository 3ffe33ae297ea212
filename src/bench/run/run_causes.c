/*
 * Causes of a run's findings: the breach that was made first is the cause of what is told of the
 * run behind it.
 *
 * The order is that of the calls in which the mistakes were made (detail.event), not of the calls
 * in which they were seen: a slot that shows the wrong page is seen when the packet has retired,
 * and the mistake is in the call that built the packet. Of one call, a rule that it broke itself
 * comes before what was seen of its effects, and both come before what is said of our side.
 *
 * A breach breaks the state of driver, GPU and memory, and whatever is told afterwards may follow
 * from it. A declaration (what a driver says of itself, of a segment or of an allocation) breaks
 * none: later breaches of rules are causes of their own. But nobody blames the memory manager, or
 * wonders why a request was refused, when what it was told had been wrong.
 */
#include "bench/run/run_result.h"

#include "base/bits.h"

#include <string.h>

/* In the order in which they come to be of one call. */
enum breach {
    BREACH_DECLARED, /* a rule about what the driver says */
    BREACH_DONE,     /* the call itself broke a rule, or misused a service */
    BREACH_SEEN,     /* its effects, behind the call: bytes, translations, slots, faults */
    BREACH_REFUSED,  /* something could not be played, or was left over */
    BREACH_OURS,     /* a rule of the memory manager's side */
};

static bool is_declaration(const char *where)
{
    static const char *const calls[] = {
        "DxgkDdiAddDevice",
        "DxgkDdiStartDevice",
        "DxgkDdiQueryAdapterInfo",
        "DxgkDdiQueryDeviceDescriptor",
        "DxgkDdiGetNodeMetadata",
        "DxgkDdiCreateDevice",
        "DxgkDdiCreateContext",
        "DxgkDdiCreateProcess",
        "DxgkDdiCreateAllocation",
        "DxgkDdiOpenAllocation",
        "DxgkDdiDescribeAllocation",
        "DxgkDdiGetStandardAllocationDriverData",
        "DxgkDdiGetRootPageTableSize",
    };

    for (size_t i = 0; i < ARRAY_COUNT(calls); i++) {
        size_t length = strlen(calls[i]);

        if (strncmp(where, calls[i], length) == 0 && (!where[length] || where[length] == '.'))
            return true;
    }
    return false;
}

static enum breach breach_of(const struct run_finding *finding)
{
    switch (finding->kind) {
    case RUN_FINDING_MANAGER:
        return BREACH_OURS;
    case RUN_FINDING_SUBMISSION:
    case RUN_FINDING_LEAK:
        return BREACH_REFUSED;
    case RUN_FINDING_DRIVER:
        if (finding->rule[0] && is_declaration(finding->detail.where))
            return BREACH_DECLARED;
        return finding->detail.event && finding->detail.event < finding->seen ? BREACH_SEEN
                                                                              : BREACH_DONE;
    default:
        return BREACH_SEEN;
    }
}

/* Number of the call in which it was made; without a checking layer nobody counts calls. */
static uint64_t call_of(const struct run_finding *finding)
{
    return finding->seen && finding->detail.event ? finding->detail.event : finding->seen;
}

static bool is_before(const struct run_finding *a, const struct run_finding *b)
{
    uint64_t a_call = call_of(a), b_call = call_of(b);
    enum breach a_breach = breach_of(a), b_breach = breach_of(b);

    if (a_call != b_call)
        return a_call < b_call;
    return a_breach != b_breach ? a_breach < b_breach : a < b;
}

/* "CreateAllocation.pAllocationInfo[0].Flags" twice in a call: two rules about one mistake. */
static bool is_same_place(const struct run_finding *a, const struct run_finding *b)
{
    return call_of(a) == call_of(b) && strcmp(a->detail.where, b->detail.where) == 0;
}

void run_result_find_causes(struct run_result *result)
{
    struct run_finding *order[RUN_MAX_FINDINGS], *declaration = NULL, *broken = NULL;
    uint32_t count = 0;

    for (uint32_t i = 0; i < result->finding_count; i++) {
        struct run_finding *finding = &result->findings[i];
        uint32_t at = count;

        finding->consequence_of = 0;
        if (finding->kind == RUN_FINDING_ADVICE || finding->kind == RUN_FINDING_HOSTILE)
            continue; /* stands for itself */
        for (; at && is_before(finding, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = finding;
        count++;
    }
    result->consequence_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        enum breach breach = breach_of(order[i]);
        const struct run_finding *cause = broken;

        if (!cause && declaration &&
            (breach >= BREACH_REFUSED || is_same_place(order[i], declaration)))
            cause = declaration;
        order[i]->consequence_of = cause ? (uint32_t)(cause - result->findings) + 1 : 0;
        result->consequence_count += cause != NULL;
        if (!cause && breach == BREACH_DECLARED)
            declaration = order[i];
        else if (!cause)
            broken = order[i];
    }
}
