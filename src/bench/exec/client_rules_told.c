/*
 * What the files of rules for clients share: a breach is told, and what a fence or a handle is.
 */
#include "bench/exec/client_rules_own.h"

#include <stdarg.h>
#include <stdio.h>

/* Amid the call the process has ended, and its batches and fences read as nothing. */
static bool has_ended_amid_call(const struct client_rules *rules)
{
    bool (*is_gone)(void *) = rules->process->seen->source.is_gone;

    return rules->call && is_gone && is_gone(rules->process->client);
}

void client_rules_break(struct client_rules *rules, enum client_rule rule, const char *format, ...)
{
    const uint64_t bit = UINT64_C(1) << rule % 64;
    uint64_t *told = &rules->process->told[rule / 64];
    const char *name = rules->call ? d3dkmt_function_name(rules->call->function) : NULL;
    struct finding_argument argument = {.name = ""};
    char what[160], text[256];
    va_list arguments;

    if (has_ended_amid_call(rules))
        return;
    rules->broken[rule]++;
    if (*told & bit)
        return;
    *told |= bit;
    va_start(arguments, format);
    finding_write_sentence(what, sizeof what, &argument, format, arguments);
    va_end(arguments);
    if (name)
        snprintf(text, sizeof text, "D3DKMT%s: %s", name, what);
    else
        snprintf(text, sizeof text, "at the end of process %u: %s", rules->process->number, what);
    rules->told(rules->context,
                &(struct client_breach){.rule = rule,
                                        .process = rules->process,
                                        .call = rules->call,
                                        .text = text,
                                        .argument = &argument,
                                        .stack = rules->call ? rules->call->stack : NULL,
                                        .stack_count = rules->call ? rules->call->stack_count : 0});
}

uint64_t client_rules_value(const struct seen_object *fence)
{
    uint64_t value = 0;

    return fence && fence->cpu_address && seen_read(fence->process, fence->cpu_address, &value, 8)
               ? value
               : 0;
}

bool client_rules_is_running(const struct seen_use *use)
{
    bool is_awaited = false;

    if (!use->context)
        return false;
    for (unsigned i = 0; i < SEEN_SIGNALS; i++) {
        const struct seen_signal *signal = &use->context->signals[i];

        if (!signal->fence || signal->fence->is_destroyed || signal->sequence < use->sequence)
            continue;
        if (client_rules_value(signal->fence) >= signal->value)
            return false;
        is_awaited = true;
    }
    return is_awaited;
}

struct seen_object *client_rules_find_by(struct client_rules *rules, D3DKMT_HANDLE handle,
                                         enum client_rule rule)
{
    struct seen_object *found = seen_find(rules->process, handle, SEEN_ALLOCATION);

    if (!found && seen_was_destroyed(rules->process, handle))
        client_rules_break(rules, rule, "0x%x was destroyed before", handle);
    return found;
}

struct seen_object *client_rules_find(struct client_rules *rules, D3DKMT_HANDLE handle)
{
    return client_rules_find_by(rules, handle, CLIENT_RULE_OLD_HANDLE);
}
