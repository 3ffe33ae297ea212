#include "check/rules/rule_rarities.h"

#include <stddef.h>

const char *rule_reason_rare(enum rule_id id)
{
    switch ((unsigned)id) {
    case RULE_XFER_010:
        return "the page lets hAllocation be NULL, and of the pages that were read none names a "
               "move in which it is: what the system has without an allocation, DMA and paging "
               "buffers and page tables, is mapped and written (APER-005, PT-012)";
    case RULE_NTF_006:
        return "the reference driver maps no local memory; a row of the zoo does";
    case RULE_RES_008:
        return "the bench has no engine in physical mode beside page tables: the manager sends the "
               "work of WDDM 2 by SubmitCommandVirtual alone, which has no list to be refused for";
    default:
        return NULL;
    }
}
