#include "check/rules/rule_rarities.h"

#include <stddef.h>

const char *rule_reason_rare(enum rule_id id)
{
    switch ((unsigned)id) {
    case RULE_XFER_010:
        return "the page lets hAllocation be NULL, in one sentence, and no page names a move in "
               "which it is: the structure's page has a handle of DxgkDdiCreateAllocation or of a "
               "context allocation here, and NULL for DMA buffers that are mapped or unmapped "
               "(APER-005); a public driver refuses such a move, and works";
    case RULE_NTF_006:
        return "the reference driver maps no local memory; a row of the zoo does";
    case RULE_RES_008:
        return "drivers of WDDM 2 without GPU virtual addresses evaluate it; the reference driver "
               "has them from WDDM 2.0 on, and its work goes by SubmitCommandVirtual, which has no "
               "list to be refused for";
    default:
        return NULL;
    }
}
