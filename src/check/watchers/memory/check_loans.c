/*
 * Watcher: the memory that calls lend to the driver (MEM). The layer that lends it finds what the
 * driver did to it (layers/guard.h); here it becomes a rule.
 */
#include "check/watchers/memory/check_loans.h"

#include "check/check_private.h"
#include "check/check_watch.h"
#include "check/report/decode.h"

#include <stdio.h>
#include <string.h>

enum rule_id check_loan_rule(enum loan_breach_kind kind)
{
    switch (kind) {
    case LOAN_BEFORE:
    case LOAN_BEHIND:
        return RULE_MEM_001;
    case LOAN_CHANGED:
        return RULE_MEM_002;
    case LOAN_LATE:
        return RULE_MEM_003;
    case LOAN_UNWRITTEN:
        return RULE_MEM_004;
    case LOAN_PAGED:
        return RULE_MEM_005;
    }
    return RULE_NONE;
}

void check_loan_describe(const struct loan_breach *breach, bool is_access, char *text, size_t size)
{
    const char *verb = is_access ? "touched" : "written";
    unsigned long long offset = breach->offset, bytes = breach->bytes;

    switch (breach->kind) {
    case LOAN_BEFORE:
        snprintf(text, size, "byte %llu in front of its %llu bytes was %s", offset, bytes, verb);
        break;
    case LOAN_BEHIND:
        snprintf(text, size, "byte %llu behind its %llu bytes was %s", offset, bytes, verb);
        break;
    case LOAN_CHANGED:
        snprintf(text, size,
                 "the driver has overwritten byte %llu of its %llu bytes, which it may only read; "
                 "the bench goes on with what was there",
                 offset, bytes);
        break;
    case LOAN_LATE:
        snprintf(text, size, "byte %llu of its %llu bytes was %s when the call had returned",
                 offset, bytes, verb);
        break;
    case LOAN_UNWRITTEN:
        snprintf(
            text, size,
            "the call succeeded, and the driver has written nothing there (byte %llu of %llu); "
            "the bench goes on with what was there",
            offset, bytes);
        break;
    case LOAN_PAGED:
        snprintf(
            text, size,
            "byte %llu of its %llu bytes was touched at DISPATCH_LEVEL or above, where what is "
            "pageable may not be in memory",
            offset, bytes);
        break;
    }
}

/* The member of the current call's argument structure that a byte belongs to; "": unknown. */
static const char *member_of(const struct check *check, uint64_t offset)
{
    const struct check_call *call = check->call;
    const struct loan_structure *structure = call ? loans_of(call->ddi) : NULL;
    const char *name = NULL;

    if (structure && call->before.any)
        name = decode_member_at(
            &(struct decode_request){.structure = structure->name,
                                     .before = call->before.any,
                                     .bytes = structure->bytes,
                                     .wddm = decode_wddm_of(check->ledger.interface_version)},
            offset);
    return name ? name : "";
}

/* A DMA buffer, or private data of one, that is used when the call has returned. */
static bool is_of_buffer(const struct loan_breach *breach)
{
    return breach->kind == LOAN_LATE && (strcmp(breach->name, "pDmaBuffer") == 0 ||
                                         strcmp(breach->name, "pDmaBufferPrivateData") == 0);
}

void check_loan(struct check *check, const struct loan_breach *breach)
{
    const struct check_callback *callback = check->callback;
    /* What is late was lent by a call before, be it of the same kind. */
    const bool is_of_call = check->call && breach->kind != LOAN_LATE &&
                            strcmp(breach->call, miniport_ddi_name(check->call->ddi)) == 0;
    const bool is_inside = breach->kind == LOAN_CHANGED || breach->kind == LOAN_UNWRITTEN;
    const char *name = breach->name[0] || !is_of_call || !is_inside
                           ? breach->name
                           : member_of(check, breach->offset);
    char text[256];

    check_loan_describe(breach, false, text, sizeof text);
    check->callback = NULL;
    check->lender = is_of_call ? NULL : breach->call;
    check_blame_byte(check, breach->at);
    if (breach->kind == LOAN_UNWRITTEN && !breach->is_needed)
        CHECK_ADVICE(check, RULE_MEM_004, check->config.profile.wants_answers_complete, false, NULL,
                     name, "%s; pages call the member [out] and do not say that it is zero before",
                     text);
    else if (is_of_buffer(breach))
        CHECK_ADVICE(check, RULE_MEM_003, check->config.profile.wants_buffers_returned, false, NULL,
                     name,
                     "%s; pages do not say whether the memory is lent for the call or until the "
                     "packet has ended (the bench lends a copy for the call: option lent)",
                     text);
    else
        CHECK_RULE(check, check_loan_rule(breach->kind), false, NULL, name, "%s", text);
    check_blame_byte(check, NULL);
    check->lender = NULL;
    check->callback = callback;
}

/* Each call was looked at by each rule. There are many: the counters are moved directly. */
static void after(struct check *check, void *state, const struct check_call *call)
{
    uint64_t *evaluated = check->config.counts->evaluated;

    (void)state;
    (void)call;
    if (!check->config.watches_loans || check->ledger.is_pulled_out)
        return;
    evaluated[RULE_MEM_001]++;
    evaluated[RULE_MEM_002]++;
    evaluated[RULE_MEM_003]++;
    evaluated[RULE_MEM_004]++;
    evaluated[RULE_MEM_005]++;
}

const struct check_watcher check_loan_watcher = {.name = "loans", .after = after};
