/*
 * Escapes: what a client's user-mode driver asks its kernel half (DxgkDdiEscape), with data that a
 * template of the line lays out.
 */
#include "bench/play/player_private.h"

#include "workload/case/template.h"

/* The words of the line: by=..., expect=... */
enum { OF_CONTEXT, OF_DEVICE, OF_ADAPTER };
enum { EXPECT_ANY, EXPECT_SUCCESS, EXPECT_FAILURE };

static void look_at_answer(struct player *player, uint32_t op_index, NTSTATUS status)
{
    const uint64_t expected = player_op(player, op_index)->offset;

    if (expected != EXPECT_ANY && NT_SUCCESS(status) != (expected == EXPECT_SUCCESS))
        player_report(player, op_index, "the escape returned 0x%08x; expected %s", (unsigned)status,
                      expected == EXPECT_SUCCESS ? "success" : "failure");
}

static void ask(struct player *player, uint32_t op_index, void *data, uint32_t bytes)
{
    const struct workload_op *op = player_op(player, op_index);
    const struct workload_context *context = &player->workload->contexts[op->object];
    struct vidmm_escape escape = {.needs_hardware = op->flags != 0, .data = data, .bytes = bytes};
    NTSTATUS status;

    if (op->value != OF_ADAPTER)
        escape.device = player->devices[context->device];
    if (op->value == OF_CONTEXT)
        escape.context = player->contexts[op->object].handle;
    status = vidmm_escape(player->vidmm, &escape);
    if (escape.was_asked)
        look_at_answer(player, op_index, status);
}

bool player_play_escape(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);
    const char *template = workload_string(player->workload, op->text);
    struct workload_template_values values = workload_template_values_of(0);
    const uint32_t bytes = workload_template_bytes(template);
    uint8_t *data;

    if (op->flags && !player_wait_idle(player))
        return false;
    data = base_alloc(player->services, bytes);
    if (!data)
        return true;
    values.index = op_index;
    values.seed = player->config.run->seed;
    workload_template_fill(template, &values, data);
    ask(player, op_index, data, bytes);
    base_free(player->services, data, bytes);
    player->needs_pump = true;
    return true;
}
