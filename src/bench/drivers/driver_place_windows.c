#include "bench/drivers/driver_place.h"

void driver_place_prepare(void)
{
}

void driver_place(const struct driver_image *image, const void *signal_context, char *text,
                  size_t size)
{
    text[0] = '\0';
}
