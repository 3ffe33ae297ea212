/*
 * Profiles: under which readings of the contract, on which levels and with which faults a driver
 * is judged.
 *
 * Place      bench. A run takes the readings (the option "profile" of a case), a campaign also the
 *            levels and the faults that its seeds draw.
 * Model      "default" accepts every lawful reading, on every level and with every fault. The
 *            others each narrow one thing, so that what they find and "default" does not has one
 *            reason.
 * Source     docs/contract-choices.md: U1, U3.
 */
#ifndef DRYDOCK_BENCH_PROFILE_H
#define DRYDOCK_BENCH_PROFILE_H

#include "check/check.h"

struct run_profile {
    const char *name, *summary;
    struct check_profile check;
    unsigned first_wddm, last_wddm; /* of the drivers that seeds draw; both 0: any */
    unsigned faults;                /* enum run_fault that seeds may draw */
    bool draws_small_buffers;       /* and no Patch: for every driver */
    const char *focus;              /* of a campaign that has none of its own; NULL: none */
};

#define RUN_PROFILE_DEFAULT "default"

/* By number from 0; NULL behind the last. The first is the default. */
const struct run_profile *run_profile_at(unsigned index);
const struct run_profile *run_find_profile(const char *name); /* NULL: there is none */

bool run_profile_has_level(const struct run_profile *profile, unsigned wddm);

#endif
