/*
 * Causes of a run's findings: the breach that was made first is the cause of what is told of the
 * run behind it.
 *
 * A breach of the call that is happening is seen at once. An effect (bytes, a translation, a slot,
 * a fault) is seen later than the call that made the mistake, which is detail.event: a slot that
 * shows the wrong page is seen when the packet has retired, and the mistake is in the call that
 * built the packet. So where the first that is told is an effect, the cause is the effect whose
 * call came first. Where the first is a breach of the call itself, as of SubmitCommand, effects of
 * packets that were built before may follow from it, and it is the cause.
 *
 * A breach breaks the state of driver, GPU and memory, and whatever is told afterwards may follow
 * from it. A declaration (what a driver says of itself, of a segment or of an allocation) breaks
 * none: later breaches of rules are causes of their own. But nobody blames the memory manager, or
 * wonders why a request was refused, when what it was told had been wrong. And what an element of
 * an array says that the driver has not written (MEM-004) is nothing that the driver says.
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
        /* What is written beside an answer breaks more than the answer. */
        if (finding->rule[0] && strncmp(finding->rule, "MEM-", 4) != 0 &&
            is_declaration(finding->detail.where))
            return BREACH_DECLARED;
        return finding->detail.event && finding->detail.event < finding->seen ? BREACH_SEEN
                                                                              : BREACH_DONE;
    default:
        return BREACH_SEEN;
    }
}

/* Number of the call in which it was made; without a checking layer nobody counts calls. */
static uint64_t made_in(const struct run_finding *finding)
{
    return finding->seen && finding->detail.event ? finding->detail.event : finding->seen;
}

static int compare(uint64_t a, uint64_t b)
{
    return (a > b) - (a < b);
}

/*
 * In the order of the calls of the manager. What is told in the middle of one, in a callback or an
 * interrupt, is told of that one.
 */
static bool is_told_before(const struct run_finding *a, const struct run_finding *b)
{
    int order = compare(a->seen_in, b->seen_in);

    order = order ? order : compare(breach_of(a), breach_of(b));
    order = order ? order : compare(a->seen, b->seen);
    return order ? order < 0 : a < b;
}

/* Content that came behind the report of its packet: why it was wrong when it was looked at. */
static bool explains_content(const struct run_finding *finding)
{
    return finding->kind == RUN_FINDING_CONTENT && strcmp(finding->rule, "FENCE-003") == 0;
}

static bool is_made_before(const struct run_finding *a, const struct run_finding *b)
{
    int order = compare(made_in(a), made_in(b));

    order = order ? order : compare(breach_of(a), breach_of(b));
    order = order ? order : compare(explains_content(b), explains_content(a));
    return order ? order < 0 : a < b;
}

/* The findings but for advice, as they were told. */
static uint32_t sort_findings(struct run_result *result, struct run_finding *order[])
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < result->finding_count; i++) {
        struct run_finding *finding = &result->findings[i];
        uint32_t at = count;

        finding->consequence_of = 0;
        if (run_finding_is_remark(finding->kind) || finding->kind == RUN_FINDING_HOSTILE)
            continue; /* stands for itself */
        for (; at && is_told_before(finding, order[at - 1]); at--)
            order[at] = order[at - 1];
        order[at] = finding;
        count++;
    }
    return count;
}

/* What broke the state of the run; NULL: nothing did. */
static struct run_finding *find_break(struct run_finding *const order[], uint32_t count,
                                      bool has_declaration)
{
    struct run_finding *found = NULL;

    for (uint32_t i = 0; i < count; i++) {
        enum breach breach = breach_of(order[i]);

        if (breach == BREACH_DECLARED || (breach >= BREACH_REFUSED && has_declaration))
            continue;
        if (!found && breach == BREACH_DONE)
            return order[i];
        if (!found || (breach != BREACH_DONE && is_made_before(order[i], found)))
            found = order[i];
    }
    return found;
}

/* "CreateAllocation.pAllocationInfo[0].Flags" twice in a call: two rules about one mistake. */
static bool is_same_place(const struct run_finding *a, const struct run_finding *b)
{
    return made_in(a) == made_in(b) && strcmp(a->detail.where, b->detail.where) == 0;
}

/* The declaration, told before order[end], that another rule says the same about; NULL: none. */
static struct run_finding *find_same_place(struct run_finding *const order[], uint32_t end)
{
    for (uint32_t i = 0; i < end; i++) {
        if (breach_of(order[i]) == BREACH_DECLARED && !order[i]->consequence_of &&
            is_same_place(order[i], order[end]))
            return order[i];
    }
    return NULL;
}

/* MEM-004 of the element, "CreateAllocation.pAllocationInfo[1].", that it is about; NULL: none. */
static struct run_finding *find_unwritten(struct run_finding *const order[], uint32_t count,
                                          const struct run_finding *finding)
{
    for (uint32_t i = 0; i < count; i++) {
        const char *where = order[i]->detail.where, *end = strrchr(where, ']');

        if (end && strcmp(order[i]->rule, "MEM-004") == 0 &&
            made_in(order[i]) == made_in(finding) &&
            strncmp(where, finding->detail.where, (size_t)(end - where) + 1) == 0)
            return order[i];
    }
    return NULL;
}

void run_result_find_causes(struct run_result *result)
{
    struct run_finding *order[RUN_MAX_FINDINGS], *declaration = NULL, *broken;
    uint32_t count = sort_findings(result, order);

    for (uint32_t i = 0; i < count && !declaration; i++)
        declaration = breach_of(order[i]) == BREACH_DECLARED ? order[i] : NULL;
    broken = find_break(order, count, declaration != NULL);
    result->consequence_count = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct run_finding *finding = order[i], *cause;
        struct run_finding *unwritten = find_unwritten(order, count, finding);
        bool is_declared = breach_of(finding) == BREACH_DECLARED;

        if (finding == broken)
            cause = NULL;
        else if (is_declared && unwritten)
            cause = broken && is_told_before(broken, unwritten) ? broken : unwritten;
        else if (broken && is_told_before(broken, finding))
            cause = broken;
        else if (is_declared)
            cause = find_same_place(order, i);
        else
            cause = breach_of(finding) >= BREACH_REFUSED && declaration ? declaration : broken;
        order[i]->consequence_of = cause ? (uint32_t)(cause - result->findings) + 1 : 0;
        result->consequence_count += cause != NULL;
    }
}
