/*
 * Escapes: what a client's user-mode driver asks its kernel half (DxgkDdiEscape), with data that a
 * template of the line lays out, or the client's file makes (docs/clients.md).
 */
#include "bench/play/player_private.h"

#include "bench/board/client_file.h"
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

/* What drydock/client.h tells a client of the line. */
static struct drydock_client_escape describe(const struct player *player, uint32_t op_index,
                                             const void *data, uint32_t bytes)
{
    const struct workload_op *op = player_op(player, op_index);

    return (struct drydock_client_escape){
        .number = op_index,
        .context = op->object,
        .asker = op->value == OF_CONTEXT  ? DRYDOCK_CLIENT_CONTEXT
                 : op->value == OF_DEVICE ? DRYDOCK_CLIENT_DEVICE
                                          : DRYDOCK_CLIENT_ADAPTER,
        .needs_hardware = op->flags != 0,
        .data = data,
        .bytes = bytes,
    };
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
    if (escape.was_asked && player->config.client &&
        client_file_table(player->config.client)->escaped) {
        const struct drydock_client_escape told = describe(player, op_index, data, bytes);

        client_file_escaped(player->config.client, &told, status, data, bytes);
    }
}

/* The client's bytes in place of the template's. */
static void ask_as_client(struct player *player, uint32_t op_index,
                          const struct drydock_client_escape *escape)
{
    const uint32_t bytes = client_file_escape(player->config.client, escape, NULL, 0);
    uint8_t *data = bytes ? base_alloc(player->services, bytes) : NULL;
    uint32_t made;

    if (bytes && !data)
        return;
    made = data ? client_file_escape(player->config.client, escape, data, bytes) : 0;
    if (made == bytes)
        ask(player, op_index, data, bytes);
    else
        player_stop_with(player, PLAYER_CLIENT,
                         "client '%.100s': escape() gives %u bytes, and has said %u; this tells "
                         "nothing of the driver",
                         client_file_table(player->config.client)->name, (unsigned)made,
                         (unsigned)bytes);
    base_free(player->services, data, bytes);
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
    if (player->config.client && client_file_table(player->config.client)->escape) {
        const struct drydock_client_escape escape = describe(player, op_index, data, bytes);

        ask_as_client(player, op_index, &escape);
    } else {
        ask(player, op_index, data, bytes);
    }
    base_free(player->services, data, bytes);
    player->needs_pump = true;
    return true;
}
