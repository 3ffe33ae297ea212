#define _GNU_SOURCE
#include "bench/measure/compare.h"

#include "base/assert.h"

#include <stdlib.h>
#include <time.h>

double compare_now(void)
{
    struct timespec now;

    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

bool compare_run(compare_slice ours, void *ours_context, compare_slice peer, void *peer_context,
                 unsigned slices, struct comparison *out_comparison)
{
    double ours_ns[COMPARE_SLICES_MAX], peer_ns[COMPARE_SLICES_MAX], ratios[COMPARE_SLICES_MAX];
    struct comparison *result = out_comparison;

    *result = (struct comparison){0};
    ASSERT(slices > 0 && slices <= COMPARE_SLICES_MAX);
    if (ours(ours_context) < 0 || peer(peer_context) < 0)
        return false;
    for (unsigned i = 0; i < slices; i++) {
        ours_ns[i] = ours(ours_context);
        peer_ns[i] = peer(peer_context);
        if (ours_ns[i] < 0 || peer_ns[i] < 0)
            return false;
        ratios[i] = peer_ns[i] > 0 ? ours_ns[i] / peer_ns[i] : 0;
    }
    qsort(ours_ns, slices, sizeof *ours_ns, compare_doubles);
    qsort(peer_ns, slices, sizeof *peer_ns, compare_doubles);
    qsort(ratios, slices, sizeof *ratios, compare_doubles);
    result->ours_ns = ours_ns[slices / 2];
    result->peer_ns = peer_ns[slices / 2];
    result->ratio = result->peer_ns > 0 ? result->ours_ns / result->peer_ns : 0;
    result->spread = ratios[slices / 2] > 0
                         ? (ratios[3 * slices / 4] - ratios[slices / 4]) / ratios[slices / 2]
                         : 1;
    result->is_steady = result->spread <= COMPARE_SPREAD_MAX;
    return true;
}
