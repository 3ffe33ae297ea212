/*
 * Reports of the player: findings about operations, the rule behind a wrong translation, and why it
 * stopped.
 */
#include "bench/play/player_private.h"
#include "check/report/decode.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct run_finding *player_report(struct player *player, uint32_t op_index, const char *format, ...)
{
    const struct workload_op *op = player_op(player, op_index);
    char text[FINDING_TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return run_result_report(player->result, RUN_FINDING_SUBMISSION, op->line,
                             machine_now(player->machine), "%s", text);
}

/* The driver, the manager for what the driver answered, or the manager by itself. */
static void name_refuser(const struct run_refusal *refusal, NTSTATUS status, char *text,
                         size_t size)
{
    if (refusal->rule[0])
        snprintf(text, size, "the memory manager refuses it (%s: %s)", refusal->rule,
                 refusal->text);
    else if (refusal->ddi_status == status)
        snprintf(text, size, "%s has answered so", miniport_ddi_name(refusal->ddi));
    else
        snprintf(text, size, "the memory manager's answer; no call of the driver failed so");
}

struct run_finding *player_report_failure(struct player *player, uint32_t op_index, NTSTATUS status,
                                          const char *format, ...)
{
    char asked[200], who[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(asked, sizeof asked, format, arguments);
    va_end(arguments);
    name_refuser(&player->result->refusal, status, who, sizeof who);
    return player_report(player, op_index, "%s failed with status %s: %s", asked,
                         decode_status(status).text, who);
}

struct run_finding *player_report_late(struct player *player, uint32_t op_index,
                                       const struct run_refusal *refusal, NTSTATUS status,
                                       const char *format, ...)
{
    char asked[240], who[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(asked, sizeof asked, format, arguments);
    va_end(arguments);
    name_refuser(refusal, status, who, sizeof who);
    return player_report(player, op_index, "%s: %s", asked, who);
}

void player_take_refusal(struct player *player, NTSTATUS status, struct run_refusal *out_refusal)
{
    *out_refusal = NT_SUCCESS(status) ? (struct run_refusal){0} : player->result->refusal;
    player->result->refusal.rule[0] = '\0';
}

bool player_stop_with(struct player *player, enum player_stop stop, const char *format, ...)
{
    va_list arguments;

    if (player->stop != PLAYER_NOT_STOPPED)
        return false;
    player->stop = stop;
    va_start(arguments, format);
    vsnprintf(player->stop_text, sizeof player->stop_text, format, arguments);
    va_end(arguments);
    return false;
}

enum player_stop player_stop_reason(const struct player *player, char text[512])
{
    memcpy(text, player->stop_text, sizeof player->stop_text);
    return player->stop;
}

void player_note_fault(struct player *player)
{
    player->has_faulted = true;
}

bool player_should_repeat(struct player *player, NTSTATUS status, unsigned *attempts)
{
    if (status != STATUS_NO_MEMORY || ++*attempts >= PLAYER_ATTEMPTS)
        return false;
    player->result->no_memory_retries++;
    return true;
}

/*
 * A rule about page-table entries that the checking layer saw broken is the cause of entries that
 * are wrong in the end. Without one, the rule is the suggested one.
 */
static enum rule_id rule_of(const struct player *player, enum rule_id suggested)
{
    static const enum rule_id causes[] = {RULE_PT_014,   RULE_PT_016,  RULE_PT_017, RULE_PT_019,
                                          RULE_PT_021,   RULE_PT_028,  RULE_PT_039, RULE_PT_041,
                                          RULE_CPTE_002, RULE_CPTE_003};

    for (size_t i = 0; i < ARRAY_COUNT(causes); i++) {
        if (player->result->rules.broken[causes[i]])
            return causes[i];
    }
    return suggested;
}

void player_name_translation_rule(const struct player *player, struct run_finding *finding,
                                  enum rule_id suggested)
{
    if (finding)
        snprintf(finding->rule, sizeof finding->rule, "%s",
                 rule_get(rule_of(player, suggested))->id);
}
