/*
 * The list of generators, their parameters, and what all of them share.
 */
#include "workload/generate/generate.h"
#include "workload/build/builder.h"
#include "workload/generate/gen.h"
#include "workload/owned.h"
#include "workload/summary.h"
#include "workload/words.h"

#include "base/bits.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct workload_generator workload_generators[] = {
    {"transformer",
     "training steps of a transformer, from layer arithmetic: forward, backward, optimizer",
     gen_transformer_params, gen_transformer},
    {"cnn", "training steps of a ResNet-like network, from layer arithmetic", gen_cnn_params,
     gen_cnn},
    {"game",
     "frames of a game: streamed textures around a walking camera, render targets, "
     "constants written each frame",
     gen_game_params, gen_game},
    {"clients",
     "processes that share a GPU and do not fit into its memory together: decoding, training, "
     "games",
     gen_clients_params, gen_clients},
    {"random", "random operations of every kind, for stress and for tests", gen_random_params,
     gen_random},
    {NULL, NULL, NULL, NULL},
};

const struct workload_param workload_common_params[] = {
    {"seed", NULL, 1, 0, UINT64_MAX, "of every random choice"},
    {"pressure", NULL, 300, 10, 100000,
     "bytes alive at the peak, in percent of the local memory that the case asks for"},
    {"local-memory", NULL, 0, 0, 16 * TiB, "local memory; 0: what pressure makes of the peak"},
    {NULL, NULL, 0, 0, 0, NULL},
};

enum { COMMON_SEED, COMMON_PRESSURE, COMMON_LOCAL_MEMORY, COMMON_COUNT };

#define MAX_PARAMS 32

const struct workload_generator *workload_find_generator(const char *name)
{
    for (const struct workload_generator *g = workload_generators; g->name; g++) {
        if (strcmp(g->name, name) == 0)
            return g;
    }
    return NULL;
}

/* The value of text for a parameter: a number, or the position of a word in its choices. */
static bool parse_value(const struct workload_param *param, const char *text, uint64_t *out)
{
    const char *choice = param->choices;
    size_t length = strlen(text);

    if (!choice)
        return workload_parse_number(text, length, out) && *out >= param->min && *out <= param->max;
    for (*out = 0; choice; ++*out) {
        const char *bar = strchr(choice, '|');
        size_t choice_length = bar ? (size_t)(bar - choice) : strlen(choice);

        if (choice_length == length && memcmp(choice, text, length) == 0)
            return true;
        choice = bar ? bar + 1 : NULL;
    }
    return false;
}

/* Stores one KEY=VALUE when the table has the key. Sets *found. */
static bool apply_setting(const struct workload_param *params, uint64_t *values,
                          const char *setting, bool *found, const char *generator,
                          struct workload_error *error)
{
    const char *equals = strchr(setting, '=');

    *found = false;
    for (size_t i = 0; equals && params[i].name; i++) {
        size_t length = (size_t)(equals - setting);

        if (strlen(params[i].name) != length || memcmp(params[i].name, setting, length) != 0)
            continue;
        *found = true;
        if (parse_value(&params[i], equals + 1, &values[i]))
            return true;
        if (params[i].choices)
            workload_error_set(error, "%s: %s is '%.80s' (expected %s)", generator, params[i].name,
                               equals + 1, params[i].choices);
        else
            workload_error_set(
                error, "%s: %s is '%.80s' (expected a number from %" PRIu64 " to %" PRIu64 ")",
                generator, params[i].name, equals + 1, params[i].min, params[i].max);
        return false;
    }
    return true;
}

static void set_defaults(const struct workload_param *params, uint64_t *values)
{
    for (size_t i = 0; params[i].name; i++)
        values[i] = params[i].fallback;
}

/* The largest sum of sizes that resident lines hold at once; false without memory. */
static bool peak_resident_bytes(const struct workload *workload, uint64_t *out)
{
    uint32_t *counts = calloc(workload->allocation_count + 1, sizeof *counts);
    uint64_t held = 0;

    *out = 0;
    if (!counts)
        return false;
    for (uint32_t i = 0; i < workload->op_count; i++) {
        const struct workload_op *op = &workload->ops[i];

        if (op->kind == WORKLOAD_OP_FREE && counts[op->object])
            held -= workload->allocations[op->object].size;
        if (op->kind != WORKLOAD_OP_RESIDENT && op->kind != WORKLOAD_OP_EVICT)
            continue;
        for (uint32_t r = 0; r < op->ref_count; r++) {
            uint32_t id = workload->refs[op->first_ref + r].allocation;

            if (op->kind == WORKLOAD_OP_RESIDENT && counts[id]++ == 0)
                held += workload->allocations[id].size;
            else if (op->kind == WORKLOAD_OP_EVICT && counts[id] && --counts[id] == 0)
                held -= workload->allocations[id].size;
        }
        *out = max_u64(*out, held);
    }
    free(counts);
    return true;
}

/* Bytes of local memory that save areas take when all contexts run. */
static uint64_t saved_bytes(const struct workload *workload)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < workload->context_count; i++) {
        const struct workload_save_area *save = &workload->contexts[i].save;

        bytes += save->is_local ? align_up(save->bytes, 64 * KiB) : 0;
    }
    return bytes;
}

/*
 * Local memory such that the peak is pressure percent of it, and the largest submission fits beside
 * the allocations that are held resident, with room for pages that are not full and for holes.
 */
static bool set_local_memory(struct workload *workload, const uint64_t *common,
                             struct workload_error *error)
{
    uint64_t bytes = common[COMMON_LOCAL_MEMORY];
    struct workload_summary summary;
    char text[24];

    if (!bytes) {
        uint64_t fits, held;

        if (!peak_resident_bytes(workload, &held)) {
            workload_error_set(error, "out of memory");
            return false;
        }
        workload_summarise(workload, &summary);
        bytes = (uint64_t)((double)summary.peak_live_bytes * 100 / (double)common[COMMON_PRESSURE]);
        fits =
            (summary.largest_submission_bytes + held) / 4 * 5 + held + MiB + saved_bytes(workload);
        bytes = min_u64(align_up(max_u64(bytes, fits), MiB), 16 * TiB);
    }
    if (bytes % MiB == 0)
        snprintf(text, sizeof text, "%" PRIu64 "M", bytes / MiB);
    else
        snprintf(text, sizeof text, "%" PRIu64, bytes);
    return workload_set_option(workload, "local-memory", text, error);
}

bool workload_generate(const char *name, const char *const *settings, size_t setting_count,
                       struct workload **out, struct workload_error *error)
{
    const struct workload_generator *generator = workload_find_generator(name);
    uint64_t values[MAX_PARAMS], common[COMMON_COUNT];
    struct workload_builder *builder;
    struct gen gen;

    *out = NULL;
    if (!generator) {
        workload_error_set(
            error, "unknown generator '%.80s' (expected transformer, cnn, game, clients or random)",
            name);
        return false;
    }
    set_defaults(generator->params, values);
    set_defaults(workload_common_params, common);
    for (size_t i = 0; i < setting_count; i++) {
        bool found;

        if (!apply_setting(generator->params, values, settings[i], &found, name, error))
            return false;
        if (!found &&
            !apply_setting(workload_common_params, common, settings[i], &found, name, error))
            return false;
        if (!found) {
            workload_error_set(error,
                               "%s: unknown parameter '%.80s' (expected KEY=VALUE with a key of "
                               "the generator)",
                               name, settings[i]);
            return false;
        }
    }
    builder = workload_builder_create(name, error);
    if (!builder)
        return false;
    gen.builder = builder;
    rng_init(&gen.rng, common[COMMON_SEED]);
    generator->generate(&gen, values);
    if (!workload_builder_finish(builder, out, error))
        return false;
    if (set_local_memory(*out, common, error))
        return true;
    workload_free(*out);
    *out = NULL;
    return false;
}
