#include "bench/run/program_code.h"

#include <dlfcn.h>

bool program_has_code(const void *address)
{
    return posix_is_code(address);
}
