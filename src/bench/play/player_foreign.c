/*
 * The user-mode half of a foreign driver: a driver of another GPU than the Drydock GPU.
 *
 * The bench does not speak that driver's language. Private data and commands are what the templates
 * of the run lay out, what the GPU's model makes when it has a user-mode half of its own, or what
 * the client's file makes (docs/clients.md).
 * Without such a model no submission does what its line says of the content: the CPU writes it
 * instead, before the submission is made (player_write_for_gpu()). What a line has the GPU read is
 * resident while the work runs, and its content is compared whenever it moves.
 */
#include "bench/play/player_private.h"

#include "bench/board/client_file.h"
#include "bench/board/gpu_plugin.h"
#include "workload/case/template.h"

static const struct drydock_gpu_model *model_of(const struct player *player)
{
    return player->config.plugin ? gpu_plugin_model(player->config.plugin) : NULL;
}

static const struct drydock_client *client_of(const struct player *player)
{
    return client_file_table(player->config.client);
}

bool player_follows_work(const struct player *player)
{
    return model_of(player) && model_of(player)->commands;
}

/* A client that has said another length before ends the run, which says nothing of the driver. */
static bool is_as_said(struct player *player, const char *function, uint32_t bytes, uint32_t said)
{
    return bytes == said ||
           player_stop_with(player, PLAYER_CLIENT,
                            "client '%.100s': %s() gives %u bytes, and has said %u; this tells "
                            "nothing of the driver",
                            client_of(player)->name, function, (unsigned)bytes, (unsigned)said);
}

/* ---- Private data ---------------------------------------------------------------------------- */

/* False: there is none, or there is no memory. */
static bool take_room(struct player *player, uint32_t bytes, uint8_t **out_data,
                      uint32_t *out_bytes)
{
    *out_data = bytes ? base_alloc(player->services, bytes) : NULL;
    *out_bytes = *out_data ? bytes : 0;
    return *out_data != NULL;
}

/* Gives false. */
static bool drop(struct player *player, uint8_t **data, uint32_t *bytes)
{
    base_free(player->services, *data, *bytes);
    *data = NULL;
    *bytes = 0;
    return false;
}

static bool fill(struct player *player, const char *template,
                 struct workload_template_values *values, uint8_t **out_data, uint32_t *out_bytes)
{
    if (!take_room(player, workload_template_bytes(template), out_data, out_bytes))
        return false;
    values->seed = player->config.run->seed;
    workload_template_fill(template, values, *out_data);
    return true;
}

bool player_foreign_allocation_data(struct player *player, uint64_t size, uint32_t flags,
                                    uint32_t index, uint8_t **out_data, uint32_t *out_bytes)
{
    const struct drydock_gpu_model *model = model_of(player);
    const char *template = player->config.run->allocation_data;
    struct workload_template_values values = workload_template_values_of(size);
    const struct drydock_gpu_allocation allocation = {
        .bytes = size, .flags = flags, .index = index};

    if (client_of(player) && client_of(player)->allocation_data) {
        const struct client_file *client = player->config.client;
        const uint32_t said = client_file_allocation_data(client, &allocation, NULL, 0);

        if (!take_room(player, said, out_data, out_bytes))
            return !said;
        return is_as_said(player, "allocation_data",
                          client_file_allocation_data(client, &allocation, *out_data, said),
                          said) ||
               drop(player, out_data, out_bytes);
    }
    if (model && model->allocation_data) {
        const struct gpu_plugin *gpu = player->config.plugin;

        if (!take_room(player, gpu_plugin_allocation_data(gpu, &allocation, NULL, 0), out_data,
                       out_bytes))
            return false;
        gpu_plugin_allocation_data(gpu, &allocation, *out_data, *out_bytes);
        return true;
    }
    values.flags = flags;
    values.index = index;
    return fill(player, template ? template : RUN_ALLOCATION_DATA, &values, out_data, out_bytes);
}

bool player_foreign_context_data(struct player *player, uint32_t index, uint8_t **out_data,
                                 uint32_t *out_bytes)
{
    const struct drydock_gpu_model *model = model_of(player);
    struct workload_template_values values = workload_template_values_of(0);
    const uint32_t node = player_node(player, player->workload->contexts[index].node);

    if (client_of(player) && client_of(player)->context_data) {
        const struct client_file *client = player->config.client;
        const uint32_t said = client_file_context_data(client, node, NULL, 0);

        if (!take_room(player, said, out_data, out_bytes))
            return !said;
        return is_as_said(player, "context_data",
                          client_file_context_data(client, node, *out_data, said), said) ||
               drop(player, out_data, out_bytes);
    }
    if (model && model->context_data) {
        const struct gpu_plugin *gpu = player->config.plugin;

        if (!take_room(player, gpu_plugin_context_data(gpu, node, NULL, 0), out_data, out_bytes))
            return false;
        gpu_plugin_context_data(gpu, node, *out_data, *out_bytes);
        return true;
    }
    values.index = index;
    return fill(player, player->config.run->context_data, &values, out_data, out_bytes);
}

/* ---- Commands -------------------------------------------------------------------------------- */

/* The references of the line; submission NULL: without addresses and keys. NULL: no memory. */
static struct drydock_gpu_reference *references_of(struct player *player,
                                                   const struct workload_op *op,
                                                   const struct submission *submission)
{
    struct drydock_gpu_reference *list =
        base_alloc_array(player->services, op->ref_count + 1, sizeof *list);
    const struct workload_ref *refs = player->workload->refs + op->first_ref;
    uint64_t tag = submission ? submission->first_key : 0;

    for (uint32_t i = 0; list && i < op->ref_count; i++) {
        const struct player_mapping *mapping = NULL;

        list[i] = (struct drydock_gpu_reference){
            .number = refs[i].allocation,
            .offset = refs[i].offset,
            .bytes = refs[i].size,
            .is_read = (refs[i].access & WORKLOAD_ACCESS_READ) != 0,
            .is_written = (refs[i].access & WORKLOAD_ACCESS_WRITE) != 0,
        };
        if (!submission)
            continue;
        list[i].key = player_key_of(&refs[i], &tag);
        list[i].allocation = player->allocations[refs[i].allocation].slot;
        if (player->is_virtual)
            mapping = player_find_mapping(player, refs[i].allocation, submission->context->process,
                                          refs[i].offset, refs[i].size, list[i].is_written);
        if (mapping)
            list[i].va = mapping->va + (refs[i].offset - mapping->offset);
    }
    return list;
}

/* Commands are made by the client or the model, and not laid out by a template. */
static bool makes_commands(const struct player *player)
{
    return player_follows_work(player) || (client_of(player) && client_of(player)->commands);
}

/* The client's or the model's, into at most room bytes; their length, 0 without memory. */
static uint32_t make_commands(struct player *player, const struct workload_op *op,
                              const struct submission *submission, void *out, uint32_t room)
{
    struct drydock_gpu_reference *references = references_of(player, op, submission);
    const struct drydock_gpu_work work = {
        .token = submission ? submission->token : 0,
        .duration_ns = op->value,
        .reference_count = op->ref_count,
        .references = references,
    };
    uint32_t bytes = 0;

    if (references && client_of(player) && client_of(player)->commands)
        bytes = client_file_commands(player->config.client, &work, out, room);
    else if (references)
        bytes = gpu_plugin_commands(player->config.plugin, &work, out, room);
    base_free_array(player->services, references, op->ref_count + 1, sizeof *references);
    return bytes;
}

uint64_t player_foreign_command_bytes(const struct player *player, const struct workload_op *op)
{
    if (makes_commands(player))
        return make_commands((struct player *)player, op, NULL, NULL, 0);
    return workload_template_bytes(player->config.run->command_data);
}

bool player_foreign_command(struct player *player, const struct submission *submission,
                            uint8_t *out, uint64_t bytes)
{
    const struct workload_op *op = player_op(player, submission->op_index);
    struct workload_template_values values;
    uint64_t size = 0;

    if (makes_commands(player)) {
        const uint32_t made = make_commands(player, op, submission, out, (uint32_t)bytes);

        if (client_of(player) && client_of(player)->commands && made)
            return is_as_said(player, "commands", made, (uint32_t)bytes);
        return made == bytes;
    }
    for (uint32_t i = 0; i < op->ref_count; i++)
        size += player->workload->refs[op->first_ref + i].size;
    values = workload_template_values_of(size);
    values.index = submission->token - 1; /* tokens count from 1 */
    values.seed = player->config.run->seed;
    workload_template_fill(player->config.run->command_data, &values, out);
    return true;
}

/* ---- Content --------------------------------------------------------------------------------- */
