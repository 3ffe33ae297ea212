/* A library that is loaded last, and is in no hurry when the process ends: others run on meanwhile.
 */
#define _GNU_SOURCE
#include <unistd.h>

static void __attribute__((destructor)) linger(void)
{
    usleep(50000);
}
