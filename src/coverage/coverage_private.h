/*
 * Coverage, private: facts about members that the layout does not tell (coverage_table.c), and the
 * arms (coverage_arms.c).
 */
#ifndef DRYDOCK_COVERAGE_PRIVATE_H
#define DRYDOCK_COVERAGE_PRIVATE_H

#include "coverage/coverage.h"

#include <string.h>

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

/* Of the sizes that numbers have, without a call. */
static inline uint64_t coverage_word_at(const void *structure, uint32_t offset, uint32_t bytes)
{
    const uint8_t *word = (const uint8_t *)structure + offset;
    uint64_t value = 0;

    if (bytes >= 8)
        memcpy(&value, word, 8);
    else if (bytes == 4)
        memcpy(&value, word, 4);
    else
        memcpy(&value, word, bytes);
    return value;
}

uint64_t coverage_member_value(const struct coverage_member *member, const void *structure);
const char *coverage_member_reason(const struct coverage_member *member);

/*
 * All arms, which are read once and stay; NULL: a row of data/ddi/arms.tsv names a member that
 * there is not, or too many. Not for several threads at once.
 */
const struct coverage_arm *coverage_arms_read(void);
bool coverage_arm_is_shown(const struct coverage_arm *arm, const void *structure,
                           const DXGKARG_BUILDPAGINGBUFFER *around);
/*
 * Two structures of the group in one call show the same arms: they are alike where the group's arms
 * look. False, too, where that cannot be told.
 */
bool coverage_arms_are_alike(unsigned group, const void *one, const void *other);

#endif
