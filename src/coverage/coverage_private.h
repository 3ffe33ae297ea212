/*
 * Coverage, private: facts about members that the layout does not tell, which coverage.c has from
 * coverage_table.c.
 */
#ifndef DRYDOCK_COVERAGE_PRIVATE_H
#define DRYDOCK_COVERAGE_PRIVATE_H

#include "coverage/coverage.h"

extern const struct coverage_member coverage_members[];
extern const unsigned coverage_members_count;

/* structure is the member's; around is the call that it belongs to (NULL: none). */
bool coverage_member_is_meant(const struct coverage_member *member, const void *structure,
                              const DXGKARG_BUILDPAGINGBUFFER *around);
const char *coverage_member_reason(const struct coverage_member *member);

#endif
