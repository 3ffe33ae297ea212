/*
 * Oracle: what the driver is told about residency, against where pages are.
 *
 * A notice is judged when its packet retires, in the order of the operations: what was built before it
 * has been published, what was built behind it has not.
 *
 * Source  contract.md NTF-003, NTF-004, NTF-005.
 */
#include "check/oracle_internal.h"

void publish_notice(struct oracle *oracle, const struct paging_operation *operation)
{
    struct oracle_allocation *allocation = operation->allocation;
    bool is_resident = operation->effect == EFFECT_NOTICE;

    if (allocation->is_noticed == is_resident)
        oracle_problem(oracle, ORACLE_NOTICE, allocation, NULL, 0,
                       "NOTIFY_RESIDENCY says a second time that '%s' is %s (event %llu)",
                       allocation->name, is_resident ? "resident" : "not resident",
                       (unsigned long long)operation->event);
    allocation->is_noticed = is_resident;
    for (uint64_t i = 0; is_resident && i < operation->page_count; i++) {
        uint64_t told = operation_location(operation, i);
        uint64_t actual = allocation->locations[operation->first_page + i];

        if (told == actual)
            continue;
        oracle_problem(oracle, ORACLE_NOTICE, allocation, NULL, i * PAGE_BYTES,
                       "NOTIFY_RESIDENCY names another place than where page %llu of '%s' is: "
                       "page 0x%llx of %s, not 0x%llx of %s (event %llu)",
                       (unsigned long long)i, allocation->name,
                       (unsigned long long)location_page(told),
                       location_kind(told) == LOCATION_LOCAL ? "local memory" : "system memory",
                       (unsigned long long)location_page(actual),
                       location_kind(actual) == LOCATION_LOCAL ? "local memory" : "system memory",
                       (unsigned long long)operation->event);
        return;
    }
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
