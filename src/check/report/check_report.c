/*
 * Report: a finding is told once for each rule, place and object. The table of those that were told
 * is small, because a run with more of them has said enough.
 */
#include "check/report/check_report.h"
#include "check/check_private.h"

#include "base/assert.h"
#include "base/hash.h"
#include "check/watchers/memory/check_loans.h"
#include "miniport/operation.h"
#include "trace/trace.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* ---- Counting -------------------------------------------------------------------------------- */

static bool is_silent(const struct check *check, enum rule_id rule)
{
    bool is_of_removal = rule == RULE_PWR_014 || rule == RULE_PWR_015;

    return (check->ledger.is_pulled_out && !is_of_removal) ||
           (check->stands_still && rule_get(rule)->side == RULE_SIDE_OS);
}

bool check_holds(struct check *check, enum rule_id rule, bool holds)
{
    if (is_silent(check, rule))
        return true;
    check->config.counts->evaluated[rule]++;
    return holds;
}

void check_looked_at(struct check *check, enum rule_id rule)
{
    check_holds(check, rule, true);
}

/* ---- Findings -------------------------------------------------------------------------------- */

static const char *const client_names[] = {
    [CHECK_CLIENT_DEVICE] = "new device",
    [CHECK_CLIENT_CREATE] = "create",
    [CHECK_CLIENT_CREATED] = "create",
    [CHECK_CLIENT_DESTROY] = "destroy",
    [CHECK_CLIENT_MAKE_RESIDENT] = "make resident",
    [CHECK_CLIENT_RESIDENT] = "end of make resident",
    [CHECK_CLIENT_EVICT] = "evict",
    [CHECK_CLIENT_QUEUED] = "work",
    [CHECK_CLIENT_ENDED] = "end of work",
    [CHECK_CLIENT_OFFER] = "offer",
    [CHECK_CLIENT_RECLAIM] = "reclaim",
    [CHECK_CLIENT_DEPARTS] = "departure",
    [CHECK_CLIENT_LOST] = "loss",
    [CHECK_CLIENT_LOCK] = "lock",
    [CHECK_CLIENT_LOCKED] = "lock",
    [CHECK_CLIENT_UNLOCK] = "unlock",
    [CHECK_CLIENT_RENAMED] = "lock with discard",
    [CHECK_CLIENT_INSTANCE_ENDED] = "end of an instance",
    [CHECK_CLIENT_BUDGET] = "budget",
    [CHECK_CLIENT_TRIM] = "trim",
    [CHECK_CLIENT_SLEEP] = "sleep",
    [CHECK_CLIENT_WAKE] = "wake",
    [CHECK_CLIENT_GONE] = "end",
    [CHECK_CLIENT_ENUMERATED] = "enumeration",
    [CHECK_CLIENT_PRESENT_LATE] = "present",
    [CHECK_CLIENT_SHOWN] = "present",
    [CHECK_CLIENT_PLUGGED] = "connector",
    [CHECK_CLIENT_SHARE_COMPONENTS] = "shared power",
    [CHECK_CLIENT_COMPONENTS_SHARED] = "shared power",
};

/* "DxgkDdiBuildPagingBuffer(TRANSFER).pDmaBuffer" */
static void write_operation(const DXGKARG_BUILDPAGINGBUFFER *arg, const char *field, char *out,
                            size_t size)
{
    snprintf(out, size, "%s(%s)%s%s", miniport_ddi_name(MINIPORT_DDI_BuildPagingBuffer),
             miniport_operation_name((unsigned)arg->Operation), field[0] ? "." : "", field);
}

static void write_where(const struct check *check, const char *field, char *out, size_t size)
{
    const struct check_call *call = check->call;
    const char *dot = field[0] ? "." : "";

    if (check->lender)
        snprintf(out, size, "%s%s%s", check->lender, dot, field);
    else if (check->blamed.past)
        write_operation(&check->blamed.past->arg, field, out, size);
    else if (check->blamed.is_set)
        snprintf(out, size, "%s%s%s", miniport_ddi_name(check->blamed.ddi), dot, field);
    else if (check->client_event)
        snprintf(out, size, "client, %s%s%s", client_names[check->client_event->kind], dot, field);
    else if (check->gpu_event)
        snprintf(out, size, "GPU, node %u%s%s", check->gpu_event->node, dot, field);
    else if (check->callback)
        snprintf(out, size, "%s%s%s", check_callback_name(check->callback), dot, field);
    else if (!call)
        snprintf(out, size, "%s", field);
    else if (call->ddi == MINIPORT_DDI_BuildPagingBuffer)
        write_operation(call->before.build_paging_buffer, field, out, size);
    else
        snprintf(out, size, "%s%s%s", miniport_ddi_name(call->ddi), dot, field);
}

/* Of the call that the finding stands at. */
static uint64_t event_of(const struct check *check)
{
    if (check->blamed.is_set)
        return check->blamed.event;
    if (check->callback)
        return check->callback->event;
    return check->call ? check->call->event : 0;
}

static void write_object(const struct check_object *object, char *out, size_t size)
{
    unsigned first =
        object->happening_count > CHECK_HISTORY ? object->happening_count - CHECK_HISTORY : 0;
    char name[48];
    size_t used;

    used = (size_t)snprintf(out, size, "%s", check_object_name(object, name, sizeof name));
    for (unsigned i = first; i < object->happening_count && used < size; i++) {
        const struct check_happening *happening = &object->history[i % CHECK_HISTORY];

        used += (size_t)snprintf(out + used, size - used, "%s event %llu ", i == first ? ":" : ",",
                                 (unsigned long long)happening->event);
        if (used < size)
            used += (size_t)snprintf(out + used, size - used, happening->format, happening->segment,
                                     (unsigned long long)happening->address);
    }
}

/* True the first time for this cause and object. */
static bool is_new(struct check *check, uint64_t key)
{
    for (unsigned i = 0; i < check->told_count; i++) {
        if (check->told[i] == key)
            return false;
    }
    if (check->told_count == CHECK_MAX_TOLD || check->told_count == check->config.report_limit)
        return false;
    check->told[check->told_count++] = key;
    return true;
}

const char *check_field(struct check *check, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(check->field, sizeof check->field, format, arguments);
    va_end(arguments);
    return check->field;
}

static void tell(struct check *check, const struct check_object *object, const char *field,
                 const char *format, va_list arguments)
{
    struct finding *finding = &check->finding;

    snprintf(finding->detail.argument.name, sizeof finding->detail.argument.name, "%s", field);
    finding_write_sentence(finding->text, sizeof finding->text, &finding->detail.argument, format,
                           arguments);
    if (object)
        finding->object = object->number;
    else
        object = check_object_of_call(check);
    if (object)
        write_object(object, finding->detail.objects, sizeof finding->detail.objects);
    check_write_arguments(check, field, finding->detail.arguments,
                          sizeof finding->detail.arguments);
    if (check->config.report)
        check->config.report(check->config.context, finding);
}

/* All but text, objects and arguments. */
static struct finding *begin_finding(struct check *check, enum rule_id rule, const char *field)
{
    struct finding *finding = &check->finding;

    memset(finding, 0, sizeof *finding);
    finding->rule = rule;
    finding->byte = check->byte;
    finding->detail.event = event_of(check);
    finding->detail.commands = check->blamed.commands;
    write_where(check, field, finding->detail.where, sizeof finding->detail.where);
    return finding;
}

bool check_report(struct check *check, enum rule_id rule, const struct check_object *object,
                  const char *field, const char *format, ...)
{
    uint64_t about = object ? hash_pair(object->kind + 1, object->number) : 0;
    struct finding *finding;
    va_list arguments;

    ASSERT(rule != RULE_NONE);
    if (is_silent(check, rule))
        return false;
    check->config.counts->broken[rule]++;
    finding = begin_finding(check, rule, field);
    finding->is_carried_out = check->gpu_event && rule_is_carried_out(rule);
    if (!is_new(check, hash_pair(finding_cause(rule, finding->detail.where, ""), about)))
        return false;
    va_start(arguments, format);
    tell(check, object, field, format, arguments);
    va_end(arguments);
    return false;
}

bool check_advise(struct check *check, enum rule_id rule, const struct check_object *object,
                  const char *field, const char *format, ...)
{
    va_list arguments;

    ASSERT(rule != RULE_NONE);
    if (is_silent(check, rule) || check->is_advised[rule])
        return false;
    check->is_advised[rule] = true;
    begin_finding(check, rule, field)->is_advice = true;
    va_start(arguments, format);
    tell(check, object, field, format, arguments);
    va_end(arguments);
    return false;
}

/* Of the call that is blamed. */
static void place(struct check *check, struct finding_detail *detail)
{
    const struct check_object *object;

    detail->event = event_of(check);
    detail->commands = check->blamed.commands;
    write_where(check, "", detail->where, sizeof detail->where);
    object = check_object_of_call(check);
    if (object)
        write_object(object, detail->objects, sizeof detail->objects);
    check_write_arguments(check, "", detail->arguments, sizeof detail->arguments);
    check_blame_current(check);
}

bool check_place_fault(struct check *check, const struct check_gpu_event *event,
                       struct finding_detail *detail)
{
    const struct check_packet *packet =
        check_find_run(&check->ledger, event->node, event->fence, false);

    if (!packet)
        return false;
    check_blame_commands(check, packet, event->offset, event->bytes);
    place(check, detail);
    return true;
}

uint64_t check_running_operation(const struct check *check, unsigned node, uint32_t fence,
                                 uint64_t offset, struct finding_commands *out_commands)
{
    return check_operation_at(check_find_run(&check->ledger, node, fence, false), offset,
                              out_commands);
}

bool check_find_running(const struct check *check, unsigned node, uint64_t address,
                        uint32_t *out_fence, uint64_t *out_offset)
{
    const struct check_packet *packet;

    list_for_each (packet, &check->ledger.packets, struct check_packet, link) {
        if (packet->state != CHECK_SUBMITTED || packet->node != node ||
            address - packet->start >= packet->bytes)
            continue;
        *out_fence = packet->fence;
        *out_offset = address - packet->start;
        return true;
    }
    return false;
}

bool check_place_operation(struct check *check, uint64_t number, struct finding_detail *detail,
                           const void **out_allocation)
{
    const DXGKARG_BUILDPAGINGBUFFER *asked = check_find_asked(check, number);

    if (!asked)
        return false;
    *out_allocation = miniport_operation_allocation(asked);
    check_blame_operation(check, number);
    place(check, detail);
    return true;
}

/* ---- Outside of a watcher -------------------------------------------------------------------- */

void check_explain_loan(const struct check *check, const struct loan_breach *breach,
                        struct finding *out_finding)
{
    memset(out_finding, 0, sizeof *out_finding);
    out_finding->rule = check_loan_rule(breach->kind);
    out_finding->detail.event = check->event;
    snprintf(out_finding->detail.where, sizeof out_finding->detail.where, "%s%s%s", breach->call,
             breach->name[0] && breach->call[0] ? "." : "", breach->name);
    check_loan_describe(breach, true, out_finding->text, sizeof out_finding->text);
}

bool check_explain_address(const struct check *check, const void *address,
                           struct finding *out_finding)
{
    const struct check_object *object;
    bool is_before, is_private = false;
    size_t distance;

    if (!guard_has_page(&check->dma_guard, address, &is_before, &distance)) {
        is_private = true;
        if (!guard_has_page(&check->private_guard, address, &is_before, &distance))
            return false;
    }
    object = check_object_of_call(check); /* not before: the check may be written over */
    memset(out_finding, 0, sizeof *out_finding);
    out_finding->rule = is_private ? RULE_PB_023 : RULE_PB_005;
    out_finding->detail.event = check->event;
    write_where(check, is_private ? "pDmaBufferPrivateData" : "pDmaBuffer",
                out_finding->detail.where, sizeof out_finding->detail.where);
    snprintf(out_finding->text, sizeof out_finding->text,
             "byte %llu %s the %s was touched, on a page that is nobody's",
             (unsigned long long)distance, is_before ? "in front of" : "behind",
             is_private ? "private data" : "paging buffer");
    if (object)
        write_object(object, out_finding->detail.objects, sizeof out_finding->detail.objects);
    check_write_arguments(check, is_private ? "pDmaBufferPrivateData" : "pDmaBuffer",
                          out_finding->detail.arguments, sizeof out_finding->detail.arguments);
    return true;
}
