/*
 * What the records of a campaign sum up to: totals, causes, and what follows from them.
 */
#include "bench/campaign/campaign.h"

#include "base/hash.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

bool campaign_summary_init(struct campaign_summary *summary)
{
    memset(summary, 0, sizeof *summary);
    summary->causes = calloc(CAMPAIGN_MAX_CAUSES, sizeof *summary->causes);
    return summary->causes != NULL;
}

void campaign_summary_fini(struct campaign_summary *summary)
{
    free(summary->causes);
    summary->causes = NULL;
}

/* A crash that a rule explains is a breach of the rule, as one that was seen without a crash. */
static uint64_t cause_of(const struct campaign_finding *finding)
{
    const char *crashed = run_finding_kind_name(RUN_FINDING_CRASHED), *kind = finding->kind;

    if (finding->rule[0] && strcmp(kind, crashed) == 0)
        kind = run_finding_kind_name(RUN_FINDING_DRIVER);
    return hash_pair(hash_string(kind),
                     finding_cause(rule_find(finding->rule), finding->detail.where, finding->text));
}

bool campaign_is_advice(const struct campaign_cause *cause)
{
    return run_finding_kind_is_remark(cause->first.findings[cause->finding].kind);
}

bool campaign_blames_manager(const struct campaign_cause *cause)
{
    const char *kind = cause->first.findings[cause->finding].kind;

    return strcmp(kind, run_finding_kind_name(RUN_FINDING_MANAGER)) == 0 ||
           strcmp(kind, campaign_outcome_name(CAMPAIGN_BROKEN)) == 0;
}

bool campaign_is_ours(const struct campaign_summary *summary)
{
    size_t ours = 0;

    for (size_t i = 0; i < summary->cause_count; i++) {
        const struct campaign_cause *cause = &summary->causes[i];

        if (cause->excuse)
            continue;
        if (!campaign_is_advice(cause) && !campaign_blames_manager(cause))
            return false;
        ours += campaign_blames_manager(cause);
    }
    return ours && !summary->causes_dropped;
}

const char *campaign_excuse_name(enum campaign_excuse excuse)
{
    static const char *const names[] = {
        [CAMPAIGN_NOT_EXCUSED] = "new", [CAMPAIGN_KNOWN] = "known", [CAMPAIGN_ALLOWED] = "allowed"};

    return names[excuse];
}

bool campaign_fails(const struct campaign_summary *summary)
{
    size_t excused = 0;

    for (size_t i = 0; i < summary->cause_count; i++) {
        if (!summary->causes[i].excuse && !campaign_is_advice(&summary->causes[i]))
            return true;
        excused += summary->causes[i].excuse != CAMPAIGN_NOT_EXCUSED;
    }
    return summary->findings && (!excused || summary->causes_dropped);
}

const struct campaign_cause *campaign_find_cause(const struct campaign_summary *summary,
                                                 const struct campaign_finding *finding)
{
    const uint64_t hash = cause_of(finding);

    for (size_t i = 0; i < summary->cause_count; i++) {
        if (summary->causes[i].hash == hash)
            return &summary->causes[i];
    }
    return NULL;
}

/* NULL: there is no room for it. */
static struct campaign_cause *add_cause(struct campaign_summary *summary,
                                        const struct campaign_record *record, unsigned finding)
{
    uint64_t hash = cause_of(&record->findings[finding]);
    struct campaign_cause *cause = summary->causes;
    size_t i = 0;

    while (i < summary->cause_count && cause[i].hash != hash)
        i++;
    if (i == CAMPAIGN_MAX_CAUSES) {
        summary->causes_dropped++;
        return NULL;
    }
    if (i == summary->cause_count) {
        cause[summary->cause_count++] =
            (struct campaign_cause){.hash = hash, .first = *record, .finding = finding};
    } else if (record->seed < cause[i].first.seed) {
        cause[i].first = *record;
        cause[i].finding = finding;
    }
    cause[i].count++;
    return &cause[i];
}

static void add_consequence(struct campaign_cause *cause, const struct campaign_consequence *added)
{
    struct campaign_consequence *known = cause->consequences;
    unsigned i = 0;

    while (i < cause->consequence_count && known[i].hash != added->hash)
        i++;
    if (i == CAMPAIGN_MAX_CONSEQUENCES) {
        cause->consequences_dropped++;
        return;
    }
    if (i == cause->consequence_count) {
        known[cause->consequence_count++] = *added;
        return;
    }
    if (added->seed < known[i].seed) {
        const struct campaign_consequence before = known[i];

        known[i] = *added;
        known[i].runs = before.runs;
        known[i].alone = before.alone;
    }
    known[i].runs += added->runs;
    known[i].alone += added->alone;
}

static struct campaign_consequence consequence_of(const struct campaign_finding *finding,
                                                  uint64_t seed)
{
    struct campaign_consequence consequence = {
        .hash = cause_of(finding),
        .cause = finding_cause(rule_find(finding->rule), finding->detail.where, finding->text),
        .seed = seed};

    snprintf(consequence.kind, sizeof consequence.kind, "%s", finding->kind);
    snprintf(consequence.rule, sizeof consequence.rule, "%s", finding->rule);
    snprintf(consequence.where, sizeof consequence.where, "%s", finding->detail.where);
    snprintf(consequence.text, sizeof consequence.text, "%.*s", CAMPAIGN_CONSEQUENCE_TEXT - 1,
             finding->text);
    return consequence;
}

/* Each cause of the run once, and under it each of its consequences once. */
static void add_causes(struct campaign_summary *summary, const struct campaign_record *record)
{
    for (unsigned i = 0; i < record->finding_count; i++) {
        const uint64_t hash = cause_of(&record->findings[i]);
        struct campaign_cause *cause;
        bool is_new = !record->findings[i].consequence_of;

        for (unsigned j = 0; j < i && is_new; j++)
            is_new = record->findings[j].consequence_of || cause_of(&record->findings[j]) != hash;
        cause = is_new ? add_cause(summary, record, i) : NULL;
        for (unsigned j = 0; cause && j < record->finding_count; j++) {
            struct campaign_consequence consequence =
                consequence_of(&record->findings[j], record->seed);

            is_new = record->findings[j].consequence_of == i + 1 && consequence.hash != hash;
            for (unsigned k = 0; k < j && is_new; k++)
                is_new = record->findings[k].consequence_of != i + 1 ||
                         cause_of(&record->findings[k]) != consequence.hash;
            consequence.runs = 1;
            if (is_new)
                add_consequence(cause, &consequence);
        }
    }
}

/* ---- What follows from what ------------------------------------------------------------------ */

/* Seen behind the call that made the mistake, or with nobody knowing which call that was. */
static bool is_seen_late(const struct campaign_cause *cause)
{
    const struct campaign_finding *finding = &cause->first.findings[cause->finding];
    bool is_of_call = strcmp(finding->kind, run_finding_kind_name(RUN_FINDING_DRIVER)) == 0 ||
                      strcmp(finding->kind, run_finding_kind_name(RUN_FINDING_CRASHED)) == 0;

    return !is_of_call || !finding->rule[0] || finding->detail.event < finding->seen;
}

/* A total order: what stands higher is nearer to the mistake, or told more often. */
static bool stands_higher(const struct campaign_cause *a, const struct campaign_cause *b)
{
    if (is_seen_late(a) != is_seen_late(b))
        return is_seen_late(b);
    if (a->count != b->count)
        return a->count > b->count;
    return a->hash < b->hash;
}

static bool has_consequence(const struct campaign_cause *cause, uint64_t hash)
{
    for (unsigned i = 0; i < cause->consequence_count; i++) {
        if (cause->consequences[i].hash == hash)
            return true;
    }
    return false;
}

/*
 * Both are wrong bytes of the same paging operation. The rule is what the wrong page looks like: it
 * depends on the allocation, too.
 */
static bool is_same_content(const struct campaign_cause *a, const struct campaign_cause *b)
{
    const struct campaign_finding *one = &a->first.findings[a->finding];
    const struct campaign_finding *other = &b->first.findings[b->finding];
    const char *content = run_finding_kind_name(RUN_FINDING_CONTENT);

    return strcmp(one->kind, content) == 0 && strcmp(other->kind, content) == 0 &&
           strchr(one->detail.where, '(') && strcmp(one->detail.where, other->detail.where) == 0;
}

/* The highest cause that it follows from in some run; NULL: none. */
static struct campaign_cause *cause_of_cause(const struct campaign_summary *summary,
                                             const struct campaign_cause *cause)
{
    struct campaign_cause *found = NULL;

    for (size_t i = 0; i < summary->cause_count && is_seen_late(cause); i++) {
        struct campaign_cause *other = &summary->causes[i];

        if (other != cause && stands_higher(other, cause) &&
            (has_consequence(other, cause->hash) || is_same_content(other, cause)) &&
            (!found || stands_higher(other, found)))
            found = other;
    }
    return found;
}

bool campaign_follows(const struct campaign_summary *summary, const struct campaign_cause *cause)
{
    return cause_of_cause(summary, cause) != NULL;
}

static void put_under(struct campaign_cause *cause, const struct campaign_cause *below)
{
    struct campaign_consequence self =
        consequence_of(&below->first.findings[below->finding], below->first.seed);

    self.alone = below->count;
    cause->count += below->count;
    add_consequence(cause, &self);
    for (unsigned i = 0; i < below->consequence_count; i++) {
        if (below->consequences[i].hash != cause->hash)
            add_consequence(cause, &below->consequences[i]);
    }
    cause->consequences_dropped += below->consequences_dropped;
}

void campaign_summary_settle(struct campaign_summary *summary)
{
    size_t above[CAMPAIGN_MAX_CAUSES], kept = 0;

    for (size_t i = 0; i < summary->cause_count; i++) {
        const struct campaign_cause *cause = cause_of_cause(summary, &summary->causes[i]);

        above[i] = cause ? (size_t)(cause - summary->causes) : i;
    }
    for (size_t i = 0; i < summary->cause_count; i++) {
        size_t top = i;

        while (above[top] != top) /* the order is total: there is no circle */
            top = above[top];
        if (top != i)
            put_under(&summary->causes[top], &summary->causes[i]);
    }
    for (size_t i = 0; i < summary->cause_count; i++) {
        if (above[i] == i && kept++ != i)
            summary->causes[kept - 1] = summary->causes[i];
    }
    summary->cause_count = kept;
}

/* ---- All records ----------------------------------------------------------------------------- */

void campaign_summary_add(struct campaign_summary *summary, const struct campaign_record *record)
{
    struct hash hash;

    summary->runs++;
    if (record->model < CAMPAIGN_ALL_MODELS)
        summary->runs_by_model[record->model]++;
    summary->runs_by_outcome[record->outcome]++;
    summary->repeated_runs += record->was_repeated;
    summary->findings += record->outcome != CAMPAIGN_CLEAN;
    summary->operations += record->operations;
    summary->submissions += record->submissions;
    summary->paging_operations += record->paging_operations;
    summary->evictions += record->evictions;
    summary->pages_checked += record->pages_checked;
    summary->translations_checked += record->translations_checked;
    summary->mismatches += record->mismatches;
    rule_counts_add(&summary->rules, &record->rules);
    coverage_arm_counts_add_run(&summary->arms, &record->arms);
    hash_init(&hash, 0);
    hash_update_u64(&hash, campaign_record_key(record));
    hash_update_u64(&hash, record->digest);
    hash_update_u64(&hash, record->outcome);
    summary->digest += hash_final(&hash);
    add_causes(summary, record);
}
