/*
 * For whom a seed draws, and its generators.
 */
#include "bench/campaign/campaign_private.h"

#include "base/bits.h"

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
