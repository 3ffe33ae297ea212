#include "check/rules/rules.h"

#include "base/hash.h"

#include "base/assert.h"
#include "miniport/operation.h"

#include <strings.h>

static const struct rule rules[RULE_COUNT] = {
#define RULE(identifier, id, side, sentence, check, violation, versions, source, basis, tier)      \
    [RULE_##identifier] = {id, side, sentence, check, violation, versions, source, basis, tier},
#include "rule_table.inc"
#undef RULE
};

static const char *const reasons[RULE_COUNT] = {
#define UNCHECKED(identifier, reason) [RULE_##identifier] = reason,
#include "check/rules/rule_reasons.inc"
#undef UNCHECKED
};

static const bool tested[RULE_COUNT] = {
#define RULE_TESTED(identifier) [RULE_##identifier] = true,
#include "rule_tests.inc"
#undef RULE_TESTED
};

static const enum rule_id busy_rules[MINIPORT_OPERATION_COUNT] = {
#define OPERATION(operation, ...)
#define BUSY(operation, rule) [MINIPORT_OPERATION_##operation] = RULE_##rule,
#include "miniport/operation_table.inc"
#undef BUSY
#undef OPERATION
};

const struct rule *rule_get(enum rule_id id)
{
    ASSERT(id > RULE_NONE && id < RULE_COUNT);
    return &rules[id];
}

enum rule_id rule_find(const char *id)
{
    for (unsigned i = RULE_NONE + 1; i < RULE_COUNT; i++) {
        if (strcasecmp(rules[i].id, id) == 0)
            return (enum rule_id)i;
    }
    return RULE_NONE;
}

const char *rule_side_name(enum rule_side side)
{
    return side == RULE_SIDE_OS ? "os" : "driver";
}

enum rule_id rule_about_busy(unsigned operation)
{
    return operation < MINIPORT_OPERATION_COUNT ? busy_rules[operation] : RULE_NONE;
}

bool rule_is_carried_out(enum rule_id id)
{
    return id == RULE_FILL_001 || id == RULE_SLT_007 || id == RULE_VX_003 || id == RULE_XFER_006;
}

const char *rule_basis_name(enum rule_basis basis)
{
    return basis == RULE_BASIS_DOC ? "documented" : "inferred";
}

const char *rule_reason_unchecked(enum rule_id id)
{
    ASSERT(id > RULE_NONE && id < RULE_COUNT);
    return reasons[id];
}

bool rule_is_tested(enum rule_id id)
{
    ASSERT(id > RULE_NONE && id < RULE_COUNT);
    return tested[id];
}

void rule_counts_hash(struct hash *hash, const struct rule_counts *counts)
{
    for (unsigned i = 0; i < RULE_COUNT; i++) {
        hash_update_u64(hash, counts->evaluated[i]);
        hash_update_u64(hash, counts->broken[i]);
    }
}

void rule_counts_add(struct rule_counts *counts, const struct rule_counts *from)
{
    for (unsigned i = 0; i < RULE_COUNT; i++) {
        counts->evaluated[i] += from->evaluated[i];
        counts->broken[i] += from->broken[i];
    }
}
