/*
 * Oracle: reports that came too early, where no model of the GPU tells what has run (FENCE-003).
 *
 * Content that is wrong when the fence of its packet is reported is a finding at once. When the
 * same bytes are right later, though no operation has placed the page anew and nobody has written
 * to it, the commands ran behind the report. That is looked for whenever the driver is called to
 * build or reports the next packet, and at the end.
 */
#include "check/oracle/oracle_private.h"

#include "base/bits.h"

#include <stdio.h>

/* Up to eight bytes of the page, in order of their addresses. */
static uint64_t read_bytes(struct page_store *store, uint64_t address)
{
    uint64_t bytes = 0;

    page_store_read(store, address, &bytes, min_u64(8, PAGE_BYTES - address % PAGE_BYTES));
    return bytes;
}

static uint64_t expected_bytes(const struct oracle *oracle,
                               const struct oracle_allocation *allocation, uint64_t offset)
{
    return read_bytes(oracle->expected, allocation->expected_page * PAGE_BYTES + offset);
}

void oracle_note_late(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t offset,
                      struct page_store *store, uint64_t address, const struct occasion *occasion)
{
    const uint64_t location = location_in(oracle, store, address / PAGE_BYTES);

    if (!oracle->config.judges_reports || occasion->kind != OCCASION_OPERATION || !occasion->by ||
        !occasion->has_packet || !store || location == LOCATION_UNKNOWN)
        return;
    oracle->lates[oracle->late_count++ % ORACLE_LATES] = (struct oracle_late){
        .allocation = allocation,
        .offset = offset,
        .location = location,
        .expected = expected_bytes(oracle, allocation, offset),
        .event = occasion->event,
        .fence = occasion->fence,
        .node = occasion->node,
    };
}

void oracle_forget_late(struct oracle *oracle, const struct oracle_allocation *allocation)
{
    for (unsigned i = 0; i < ORACLE_LATES; i++) {
        if (oracle->lates[i].allocation == allocation)
            oracle->lates[i].allocation = NULL;
    }
}

/* Nothing has changed but the bytes. */
static bool is_same_page(const struct oracle *oracle, const struct oracle_late *late)
{
    const struct oracle_allocation *allocation = late->allocation;
    const uint64_t page = late->offset / PAGE_BYTES;

    return allocation->is_live && allocation->locations &&
           allocation->locations[page] == late->location && !is_undefined(allocation, page) &&
           expected_bytes(oracle, allocation, late->offset) == late->expected;
}

static void report_late(struct oracle *oracle, const struct oracle_late *late)
{
    const struct oracle_allocation *allocation = late->allocation;
    char text[ORACLE_TEXT_BYTES];

    if (oracle->config.counts)
        oracle->config.counts->broken[RULE_FENCE_003]++;
    oracle->counters.problems[ORACLE_CONTENT]++;
    if (!oracle->config.report)
        return;
    oracle->counters.reports++;
    snprintf(text, sizeof text,
             "%s (allocation %llu), byte 0x%llx: right now, and wrong when fence 0x%x of node %u "
             "was reported: the report came before the commands of event %llu had run",
             allocation->name, (unsigned long long)allocation->id, (unsigned long long)late->offset,
             late->fence, late->node, (unsigned long long)late->event);
    oracle->config.report(oracle->config.context,
                          &(struct oracle_report){
                              .problem = ORACLE_CONTENT,
                              .rule = RULE_FENCE_003,
                              .event = late->event,
                              .allocation = allocation->id,
                              .token = ORACLE_NO_ID,
                              .page = late->offset / PAGE_BYTES,
                              .offset = late->offset,
                              .text = text,
                              .where = "DxgkCbNotifyInterrupt.DmaCompleted.SubmissionFenceId",
                              .bytes = "",
                              .arguments = "",
                              .writer = ORACLE_NO_WRITER,
                              .handle = allocation->is_bound ? allocation->handle : 0,
                          });
}

void oracle_look_for_late(struct oracle *oracle)
{
    for (unsigned i = 0; i < ORACLE_LATES && i < oracle->late_count; i++) {
        struct oracle_late *late = &oracle->lates[i];
        uint64_t address;

        if (!late->allocation)
            continue;
        if (oracle->is_blind || !is_same_page(oracle, late)) {
            late->allocation = NULL;
            continue;
        }
        address = location_page(late->location) * PAGE_BYTES + late->offset % PAGE_BYTES;
        if (read_bytes(location_store(oracle, late->location), address) != late->expected)
            continue;
        report_late(oracle, late);
        late->allocation = NULL;
    }
}
