/*
 * Client rules: what client processes owe the thunk functions (data/d3dkmt/contract.md).
 *
 * Place      bench. Over seen.h; given to a session, which tells it of each call before it is made
 *            and behind it.
 * Model      A call is judged by its arguments and by what has been seen of the process. What has
 *            ended on the GPU is read from the values of fences, where they lie. A rule is told
 *            once of each process, with the call and, where the client says it, the place in it
 *            from which the call came; it is counted each time.
 * Ownership  client_rules_create() gives it; it borrows seen.
 * Errors     None: without memory it says less.
 */
#ifndef DRYDOCK_BENCH_EXEC_CLIENT_RULES_H
#define DRYDOCK_BENCH_EXEC_CLIENT_RULES_H

#include "bench/board/client_memory.h"
#include "clients/seen.h"
#include "d3dkmt/d3dkmt.h"
#include "check/report/finding.h"

enum client_rule {
#define RULE(name, id, text) CLIENT_RULE_##name,
#include "bench/exec/client_rules.inc"
#undef RULE
    CLIENT_RULE_COUNT
};

const char *client_rule_id(enum client_rule rule);
const char *client_rule_text(enum client_rule rule);
/* It is told, and no finding. */
bool client_rule_is_advice(enum client_rule rule);

struct client_breach {
    enum client_rule rule;
    const struct seen_process *process;
    const struct d3dkmt_call *call; /* NULL: the end of the process */
    const char *text;               /* "D3DKMTEvict: a3 has no reference" */
    const struct finding_argument *argument;
    const uint64_t *stack; /* addresses in the client, the innermost first */
    unsigned stack_count;
};

struct client_rules;

/* NULL: no memory. told is called for each first breach of a rule by a process. */
struct client_rules *
client_rules_create(struct seen *seen,
                    void (*told)(void *context, const struct client_breach *breach), void *context);
void client_rules_destroy(struct client_rules *rules);
uint64_t client_rules_broken(const struct client_rules *rules, enum client_rule rule);

/* Before the call is made; behind it and seen_ended(); and when the process has ended. */
void client_rules_called(struct client_rules *rules, void *client, const struct d3dkmt_call *call);
void client_rules_ended(struct client_rules *rules, void *client, const struct d3dkmt_call *call);
void client_rules_closed(struct client_rules *rules, void *client);

#endif
