/*
 * For whom a seed draws, and its generators.
 */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"

#include <stdio.h>

void campaign_stream_of(uint64_t seed, uint64_t stream, struct rng *out)
{
    struct rng parent;

    rng_init(&parent, seed);
    rng_fork(&parent, stream, out);
}

uint64_t campaign_magnitude(struct rng *rng, uint64_t low, uint64_t high)
{
    uint64_t steps = log2_floor_u64(high / low) + 1;
    uint64_t base = low << rng_below(rng, steps);

    return min_u64(high, base + rng_below(rng, base));
}

bool campaign_focus_next(const char **focus, struct campaign_focus_word *out_word)
{
    const char *word = *focus ? *focus + strspn(*focus, " ") : "";
    size_t length = strcspn(word, " "), name = strcspn(word, "= ");
    struct workload_error error;

    if (!length)
        return false;
    snprintf(out_word->name, sizeof out_word->name, "%.*s", (int)name, word);
    snprintf(out_word->value, sizeof out_word->value, "%.*s",
             length > name ? (int)(length - name - 1) : 0, word + name + (length > name));
    out_word->place = workload_option_place(out_word->name);
    if (out_word->place < WORKLOAD_OPTION_COUNT &&
        (workload_options[out_word->place].type >= WORKLOAD_OPTION_NAME ||
         !workload_check_option(out_word->name, out_word->value, &error)))
        out_word->place = WORKLOAD_OPTION_COUNT;
    *focus = word + length;
    return true;
}

const char *campaign_setting(const struct campaign_options *options, const char *key)
{
    return options->settings[workload_option_place(key)];
}

void campaign_draw_init(struct campaign_draw *draw, const struct campaign_options *options,
                        uint64_t seed, const struct workload *workload)
{
    const struct run_profile *profile =
        options->profile ? run_find_profile(options->profile) : NULL;

    *draw = (struct campaign_draw){
        .options = options,
        .profile = profile ? profile : run_profile_at(0),
        .workload = workload,
        .seed = seed,
    };
    /* The reference driver where there is none of that name. */
    if (!run_find_driver(options->driver, &draw->driver))
        draw->driver = (struct run_driver){.name = "ref", .is_tolerant = true};
}

bool campaign_driver_has_level(const struct run_driver *driver, enum run_model model, unsigned wddm)
{
    enum run_model has;
    unsigned level;

    for (unsigned i = 0; run_driver_level(driver, i, &has, &level); i++) {
        if (level == wddm && has == model)
            return true;
    }
    return false;
}
