/*
 * Policies that are refused, or that a run has to survive: one of ODD_NAMELESS, ODD_CRASHING,
 * ODD_HANGING, ODD_LEAVING, ODD_STARTING, ODD_FORKING, ODD_CLOSING.
 */
#include <vidmm/policy.h>

#include <stdlib.h>
#include <unistd.h>

#ifdef ODD_STARTING
__attribute__((constructor)) static void start(void)
{
    _Exit(0);
}
#endif

static bool leaves_before(const struct vidmm_candidate *a, const struct vidmm_candidate *b)
{
#ifdef ODD_CRASHING
    *(volatile int *)16 = 1;
#endif
#ifdef ODD_HANGING
    for (volatile int i = 0; i < 1;)
        ;
#endif
#ifdef ODD_FORKING
    fork(); /* the copy goes on as if it were the run */
#endif
#ifdef ODD_CLOSING
    for (int file = 0; file < 64; file++)
        close(file);
#endif
#ifdef ODD_LEAVING
    _Exit(0);
#endif
    return a->bytes > b->bytes;
}

extern const struct vidmm_policy vidmm_policy_own;

const struct vidmm_policy vidmm_policy_own = {
#ifndef ODD_NAMELESS
    .name = "odd",
#endif
    .compared = 64,
    .leaves_before = leaves_before,
};
