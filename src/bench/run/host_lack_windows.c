#include "bench/run/host_lack.h"

#include <stddef.h>
#include <sys/mman.h>

const char *host_lack(void)
{
    return posix_memory_lacked() ? "the run shows scattered pages in one piece of addresses, which "
                                   "this bench does under Linux alone"
                                 : NULL;
}
