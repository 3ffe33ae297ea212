/* Places are those of images, of which none runs on Windows. */
#include "bench/drivers/source_places.h"

void source_places_add(const char *image_path, const struct source_text *texts, size_t count)
{
}

void source_places_add_to_result(struct run_result *result)
{
}

void source_places_add_to_record(struct campaign_record *record)
{
}
