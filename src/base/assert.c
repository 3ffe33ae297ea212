#include "base/assert.h"

#include <stdio.h>
#include <stdlib.h>

_Noreturn void base_assert_failed(const char *file, int line, const char *expression)
{
    fprintf(stderr, "%s:%d: assertion failed: %s\n", file, line, expression);
    fflush(NULL);
    abort();
}
