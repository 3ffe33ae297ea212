/*
 * Reports of the player: findings about operations, the rule behind a wrong translation, and why it
 * stopped.
 */
#include "bench/play/player_private.h"

#include "base/assert.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

struct run_finding *player_report(struct player *player, uint32_t op_index, const char *format, ...)
{
    const struct workload_op *op = player_op(player, op_index);
    char text[400];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    return run_result_report(player->result, RUN_FINDING_SUBMISSION, op->line,
                             machine_now(player->machine), "%s", text);
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
