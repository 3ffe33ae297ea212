#include "bench/drivers/driver_look.h"

#include <stdio.h>
#include <string.h>

void driver_look(const char *path, struct driver_traits *out)
{
    memset(out, 0, sizeof *out);
    snprintf(out->error, sizeof out->error,
             "%.200s: driver images run under Linux alone; drivers that are linked in run here",
             path);
}
