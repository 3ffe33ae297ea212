/*
 * Oracle: what the driver is told about residency, against where pages are.
 *
 * A notice is judged when its packet retires, in the order of the operations: those built before
 * it have been published, those built behind it have not.
 *
 * Source  contract.md NTF-003, NTF-004, NTF-005, NTF-016.
 */
#include "check/oracle/oracle_private.h"
#include "miniport/operation.h"

static const char *memory_of(uint64_t location)
{
    return location_kind(location) == LOCATION_LOCAL ? "local memory" : "system memory";
}

/* Every page is where the operation says, as far as anything is known of the page. */
static void check_places(struct oracle *oracle, const struct paging_operation *operation,
                         const char *name)
{
    struct oracle_allocation *allocation = operation->allocation;

    for (uint64_t i = 0; i < operation->page_count; i++) {
        uint64_t page = operation->first_page + i;
        uint64_t told = operation_location(operation, i);
        uint64_t actual = allocation->locations[page];

        if (told == actual || actual == LOCATION_UNKNOWN)
            continue;
        oracle_problem(oracle, ORACLE_NOTICE, allocation, NULL, page * PAGE_BYTES,
                       "%s names another place than where page %llu of '%s' is: page 0x%llx of %s, "
                       "not 0x%llx of %s (event %llu)",
                       name, (unsigned long long)page, allocation->name,
                       (unsigned long long)location_page(told), memory_of(told),
                       (unsigned long long)location_page(actual), memory_of(actual),
                       (unsigned long long)operation->event);
        return;
    }
}

void publish_notice(struct oracle *oracle, const struct paging_operation *operation)
{
    struct oracle_allocation *allocation = operation->allocation;
    bool is_resident = operation->effect == EFFECT_NOTICE;

    if (operation->effect == EFFECT_SHOWN) {
        check_places(oracle, operation, miniport_operation_name(operation->operation));
        return;
    }
    if (allocation->is_noticed == is_resident)
        oracle_problem(oracle, ORACLE_NOTICE, allocation, NULL, 0,
                       "NOTIFY_RESIDENCY says a second time that '%s' is %s (event %llu)",
                       allocation->name, is_resident ? "resident" : "not resident",
                       (unsigned long long)operation->event);
    allocation->is_noticed = is_resident;
    if (is_resident)
        check_places(oracle, operation, "NOTIFY_RESIDENCY");
}

void check_noticed_move(struct oracle *oracle, const struct paging_operation *operation)
{
    struct oracle_allocation *allocation = operation->allocation;

    if (!allocation->is_noticed)
        return;
    allocation->is_noticed = false;
    oracle_problem(
        oracle, ORACLE_NOTICE, allocation, NULL, operation->first_page * PAGE_BYTES,
        "'%s' moves while the driver believes it to be resident: no NOTIFY_RESIDENCY with "
        "Resident 0 came before (event %llu)",
        allocation->name, (unsigned long long)operation->event);
}
