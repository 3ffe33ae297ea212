/* On Windows there is no process beside the campaign: the caller makes smallest cases itself. */
#include "bench/campaign/campaign_shrinker.h"

#include <stddef.h>

struct campaign_shrinker *campaign_shrinker_create(const struct campaign_options *options,
                                                   const struct repro_shrink *how)
{
    return NULL;
}

void campaign_shrinker_destroy(struct campaign_shrinker *shrinker)
{
}

void campaign_shrinker_look(struct campaign_shrinker *shrinker)
{
}

void campaign_shrinker_add(struct campaign_shrinker *shrinker, const struct campaign_cause *cause)
{
}

bool campaign_shrinker_take(struct campaign_shrinker *shrinker, struct campaign_cause *cause,
                            const char *path)
{
    return false;
}
