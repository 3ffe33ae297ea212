#include "bench/run/host_lack.h"

#include <stddef.h>

const char *host_lack(void)
{
    return NULL;
}
