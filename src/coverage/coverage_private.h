/*
 * Coverage, private: facts about members that the layout does not tell (coverage_table.c), and the
 * arms (coverage_arms.c).
 */
#ifndef DRYDOCK_COVERAGE_PRIVATE_H
#define DRYDOCK_COVERAGE_PRIVATE_H

#include "coverage/coverage.h"

/* Why most of what the kernel can ask for is not drawn. */
#define COVERAGE_NO_RASTER                                                                         \
    "the GPU copies and fills: it has no raster operations, blends, stretching or color keys"

extern const struct coverage_member coverage_members[];
extern const unsigned coverage_members_count;

/* structure is the member's; around is the call that it belongs to (NULL: none). */
bool coverage_member_is_meant(const struct coverage_member *member, const void *structure,
                              const DXGKARG_BUILDPAGINGBUFFER *around);
/* Whatever the structure. */
bool coverage_member_is_always_meant(const struct coverage_member *member);
uint64_t coverage_member_value(const struct coverage_member *member, const void *structure);
const char *coverage_member_reason(const struct coverage_member *member);

/*
 * All arms, which are read once and stay; NULL: a row of data/ddi/arms.tsv names a member that
 * there is not, or too many. Not for several threads at once.
 */
const struct coverage_arm *coverage_arms_read(void);
bool coverage_arm_is_shown(const struct coverage_arm *arm, const void *structure,
                           const DXGKARG_BUILDPAGINGBUFFER *around);

#endif
