/*
 * Rules: what is told of them to somebody who learns them. The areas are those of the catalogue;
 * the examples stand in rule_examples.inc.
 */
#include "check/rules/rules.h"

#include "base/assert.h"

#include <string.h>
#include <strings.h>

static const struct rule_example examples[RULE_COUNT] = {
#define EXAMPLE(identifier, lawful, unlawful) [RULE_##identifier] = {lawful, unlawful},
#include "check/rules/rule_examples.inc"
#undef EXAMPLE
};

static const struct {
    const char *area, *subject;
} areas[] = {
#define AREA(area, subject) {area, subject},
#include "rule_areas.inc"
#undef AREA
};

#define AREA_COUNT (sizeof areas / sizeof areas[0])

const struct rule_example *rule_find_example(enum rule_id id)
{
    ASSERT(id > RULE_NONE && id < RULE_COUNT);
    return examples[id].lawful ? &examples[id] : NULL;
}

const char *rule_area_subject(const char *id)
{
    size_t length = strcspn(id, "-");

    for (size_t i = 0; i < AREA_COUNT; i++) {
        if (strlen(areas[i].area) == length && strncasecmp(areas[i].area, id, length) == 0)
            return areas[i].subject;
    }
    return NULL;
}
