/*
 * What a seed draws: a case of random operations.
 */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"
#include "workload/generate/generate.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Seeds of which one has operations of more than 16 MiB: they take longer. */
#define LARGE_ONE_IN 24

/* ... whose board is pulled out: the rest of the case is not played. */
#define REMOVED_ONE_IN 24

#define SETTINGS_MOST 48

/* The settings of the generator of random operations: NAME=VALUE. */
struct settings {
    char texts[SETTINGS_MOST][104];
    const char *pointers[SETTINGS_MOST];
    size_t count;
};

/* Takes the place of what was said of the name before. Beyond the limits nothing is set. */
static void set_text(struct settings *settings, const char *name, const char *value)
{
    size_t at = 0, length = strlen(name);

    while (at < settings->count &&
           (strncmp(settings->texts[at], name, length) != 0 || settings->texts[at][length] != '='))
        at++;
    if (at == SETTINGS_MOST)
        return;
    snprintf(settings->texts[at], sizeof settings->texts[at], "%s=%s", name, value);
    settings->pointers[at] = settings->texts[at];
    settings->count += at == settings->count;
}

static void set(struct settings *settings, const char *name, uint64_t value)
{
    char text[24];

    snprintf(text, sizeof text, "%" PRIu64, value);
    set_text(settings, name, text);
}

static void set_flag(struct settings *settings, const char *name, bool value)
{
    set_text(settings, name, value ? "yes" : "no");
}

static void set_focus(struct settings *settings, const char *focus)
{
    struct campaign_focus_word word;

    while (campaign_focus_next(&focus, &word)) {
        if (word.place == WORKLOAD_OPTION_COUNT)
            set_text(settings, word.name, word.value);
    }
}

/*
 * How many allocations of what size, and how many of them at once in local memory of what size. One
 * third as they come: most of it fits. The others are under pressure: many allocations, of which
 * few are used at once, so that what fits a submission is far less than what there is.
 */
static void draw_sizes(uint64_t seed, struct settings *settings)
{
    struct rng rng;

    campaign_stream_of(seed, STREAM_PRESSURE, &rng);
    if (rng_chance(&rng, 2, 3)) {
        set(settings, "ops", 150 + rng_below(&rng, 200));
        set(settings, "allocations", campaign_magnitude(&rng, 32, 96));
        set(settings, "max-size", campaign_magnitude(&rng, 128 * KiB, 768 * KiB));
        set(settings, "pressure", campaign_magnitude(&rng, 400, 1600));
        set(settings, "refs", campaign_magnitude(&rng, 2, 4));
        set(settings, "held", rng_chance(&rng, 1, 4));
        set_flag(settings, "full", true);
        return;
    }
    set(settings, "ops", 150 + rng_below(&rng, 300));
    set(settings, "allocations", campaign_magnitude(&rng, 8, 128));
    set(settings, "max-size", campaign_magnitude(&rng, 16 * KiB, 2 * MiB));
    set(settings, "pressure", campaign_magnitude(&rng, 100, 1600));
    set(settings, "refs", campaign_magnitude(&rng, 1, 6));
    set(settings, "held", rng_below(&rng, 4));
    set_flag(settings, "full", rng_chance(&rng, 1, 2));
}

/* Which kinds of operations the case has. */
static void draw_kinds(uint64_t seed, struct settings *settings)
{
    /* Tiles count only without pte lines, and copies of their entries only in one update mode. */
    static const struct {
        const char *name;
        unsigned sixths; /* of the seeds */
    } kinds[] = {{"tiles", 6},  {"incidents", 3}, {"power", 2}, {"saves", 2},
                 {"wishes", 3}, {"tiled", 3},     {"rows", 2},  {"pinned", 2}};
    bool has_fences;
    struct rng rng;

    campaign_stream_of(seed, STREAM_OPERATIONS, &rng);
    for (size_t i = 0; i < ARRAY_COUNT(kinds); i++)
        set_flag(settings, kinds[i].name, rng_chance(&rng, kinds[i].sixths, 6));
    /* Few drivers have native fences, and for the others the lines are nothing. */
    has_fences = rng_chance(&rng, 3, 4);
    campaign_stream_of(seed, STREAM_FENCE_MOVES, &rng);
    set_text(settings, "fences", !has_fences ? "no" : rng_chance(&rng, 1, 2) ? "leave" : "yes");
    campaign_stream_of(seed, STREAM_SHOWS, &rng);
    set_flag(settings, "shows", rng_chance(&rng, 1, 4));
    campaign_stream_of(seed, STREAM_DISCARDS, &rng);
    set_flag(settings, "discards", rng_chance(&rng, 1, 4));
    campaign_stream_of(seed, STREAM_FAULT_LINES, &rng);
    set_flag(settings, "faults", rng_chance(&rng, 1, 4));
    campaign_stream_of(seed, STREAM_RENEWALS, &rng);
    set_flag(settings, "renewals", rng_chance(&rng, 1, 4));
    set_flag(settings, "client-memory", rng_chance(&rng, 1, 4));
    set_flag(settings, "presents", rng_chance(&rng, 1, 4));
    if (rng_chance(&rng, 1, REMOVED_ONE_IN))
        set(settings, "removal", 100 + rng_below(&rng, 200));
    set_flag(settings, "escapes", rng_chance(&rng, 1, 4));
}

/* Every second seed of a display-only driver; the case is another one's in nothing else. */
static bool draws_monitors(uint64_t seed, const struct campaign_options *options)
{
    struct rng rng;

    campaign_stream_of(seed, STREAM_SHOWS, &rng);
    rng_next(&rng); /* is for primaries, which such a driver does not have */
    return options && options->driver && run_is_display_only(options->driver) &&
           rng_chance(&rng, 1, 2);
}

/* Contexts of a device meet on a node, where each has a hardware queue. */
static void draw_queues(uint64_t seed, struct settings *settings)
{
    struct rng rng;

    campaign_stream_of(seed, STREAM_CONTEXTS, &rng);
    if (!rng_chance(&rng, 2, 3))
        return;
    set(settings, "contexts", 2 + rng_below(&rng, 4));
    set(settings, "nodes", 1 + rng_below(&rng, 2));
}

bool campaign_draw_workload(uint64_t seed, const struct campaign_options *options,
                            struct workload **out, struct workload_error *error)
{
    struct settings settings = {.count = 0};
    struct rng rng;

    draw_sizes(seed, &settings);
    campaign_stream_of(seed, STREAM_WORKLOAD, &rng);
    set(&settings, "processes", 1 + rng_below(&rng, 3));
    set(&settings, "contexts", 1 + rng_below(&rng, 2));
    set(&settings, "seed", rng_next(&rng));
    set_flag(&settings, "maps", rng_chance(&rng, 3, 4));
    set_flag(&settings, "ptes", rng_chance(&rng, 1, 2));
    draw_kinds(seed, &settings);
    campaign_stream_of(seed, STREAM_LARGE, &rng);
    if (rng_chance(&rng, 1, LARGE_ONE_IN))
        set(&settings, "large", 16 * MiB + campaign_magnitude(&rng, 1, 256) * 64 * KiB);
    if (draws_monitors(seed, options))
        set_flag(&settings, "monitors", true);
    if (options && campaign_has_hardware_queues(options, NULL))
        draw_queues(seed, &settings);
    if (options && options->focus)
        set_focus(&settings, options->focus);
    return workload_generate("random", settings.pointers, settings.count, out, error);
}
