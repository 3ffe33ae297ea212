/*
 * Runs without a GPU model: what the case's user-mode half and its GPU do then.
 *
 * The user-mode half tells its driver what the templates of the run lay out, and nothing else: the bench
 * speaks no other driver's language. So no submission does what its line says of the content. What a
 * line has the GPU write, the CPU writes before the submission is made, under a lock, where the
 * manager gives one; what cannot be locked stays as it was. What it has the GPU read is resident while the
 * work runs, and its content is compared whenever it moves.
 */
#include "bench/player_private.h"

#include "workload/template.h"

bool player_is_bare(const struct player *player)
{
    return !player->config.gpu;
}

/* ---- Private data --------------------------------------------------------------------------------- */

/* False: the template gives none, or there is no memory; *out_data is NULL then. */
static bool fill(struct player *player, const char *template,
                 struct workload_template_values *values, uint8_t **out_data, uint32_t *out_bytes)
{
    *out_bytes = workload_template_bytes(template);
    *out_data = *out_bytes ? base_alloc(player->services, *out_bytes) : NULL;
    if (!*out_data) {
        *out_bytes = 0;
        return false;
    }
    values->seed = player->config.run->seed;
    workload_template_fill(template, values, *out_data);
    return true;
}

bool player_bare_allocation(struct player *player, uint64_t size, uint32_t flags, uint32_t index,
                            uint8_t **out_data, uint32_t *out_bytes)
{
    const char *template = player->config.run->allocation_data;
    struct workload_template_values values = workload_template_values_of(size);

    values.flags = flags;
    values.index = index;
    return fill(player, template ? template : RUN_ALLOCATION_DATA, &values, out_data, out_bytes);
}

bool player_bare_context(struct player *player, uint32_t index, uint8_t **out_data,
                         uint32_t *out_bytes)
{
    struct workload_template_values values = workload_template_values_of(0);

    values.index = index;
    return fill(player, player->config.run->context_data, &values, out_data, out_bytes);
}

uint64_t player_bare_command_bytes(const struct player *player)
{
    return workload_template_bytes(player->config.run->command_data);
}

void player_bare_command(const struct player *player, uint32_t op_index, uint64_t token,
                         uint8_t *out)
{
    const struct workload_op *op = player_op(player, op_index);
    struct workload_template_values values;
    uint64_t size = 0;

    for (uint32_t i = 0; i < op->ref_count; i++)
        size += player->workload->refs[op->first_ref + i].size;
    values = workload_template_values_of(size);
    values.index = token - 1; /* tokens count from 1 */
    values.seed = player->config.run->seed;
    workload_template_fill(player->config.run->command_data, &values, out);
}

/* ---- Content -------------------------------------------------------------------------------------- */

/* What the line has the GPU write. False: stopped. */
bool player_bare_write(struct player *player, uint32_t op_index)
{
    const struct workload_op *op = player_op(player, op_index);

    if (op->flags & WORKLOAD_SUBMIT_NULL)
        return true;
    for (uint32_t i = 0; i < op->ref_count; i++) {
        const struct workload_ref *ref = &player->workload->refs[op->first_ref + i];

        if ((ref->access & WORKLOAD_ACCESS_WRITE) && !player_write_locked(player, op_index, ref))
            return false;
    }
    return true;
}
