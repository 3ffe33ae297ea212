#include "check/rules/rule_rarities.h"

#include <stddef.h>

const char *rule_reason_rare(enum rule_id id)
{
    switch ((unsigned)id) {
    case RULE_XFER_010:
        return "nothing that the manager moves is without an allocation";
    case RULE_NTF_006:
        return "the reference driver maps no local memory; a row of the zoo does";
    case RULE_RES_008:
        return "the reference GPU has no engine of WDDM 2 that is patched";
    default:
        return NULL;
    }
}
