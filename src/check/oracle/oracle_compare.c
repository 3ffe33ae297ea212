/*
 * Oracle: content is compared, and differences are reported.
 *
 * Everything that is compared comes through compare_pages() or compare_bytes(). Both go on behind
 * a page that differs, so that mismatched_pages counts them all, and report the first one.
 */
#include "check/oracle/oracle_private.h"

#include "check/report/decode.h"
#include "check/report/finding.h"
#include "miniport/operation.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* Counts it; true when it is to be told, and then it counts as told. */
static bool count_problem(struct oracle *oracle, enum oracle_problem problem, bool *is_reported)
{
    oracle->counters.problems[problem]++;
    if (is_reported && *is_reported)
        return false;
    if (is_reported)
        *is_reported = true;
    if (!oracle->config.report || oracle->counters.reports >= ORACLE_REPORTS)
        return false;
    oracle->counters.reports++;
    return true;
}

void oracle_problem(struct oracle *oracle, enum oracle_problem problem,
                    struct oracle_allocation *allocation, struct submission *submission,
                    uint64_t offset, const char *format, ...)
{
    char text[ORACLE_TEXT_BYTES];
    bool *is_reported = NULL;
    va_list arguments;

    if (submission)
        is_reported = &submission->is_reported;
    else if (allocation)
        is_reported = &allocation->is_reported;
    if (!count_problem(oracle, problem, is_reported))
        return;
    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    oracle->config.report(oracle->config.context,
                          &(struct oracle_report){
                              .problem = problem,
                              .rule = RULE_NONE,
                              .event = oracle_event(oracle),
                              .allocation = allocation ? allocation->id : ORACLE_NO_ID,
                              .token = submission ? submission->token : ORACLE_NO_ID,
                              .page = offset / PAGE_BYTES,
                              .offset = offset,
                              .text = text,
                              .where = "",
                              .bytes = "",
                              .arguments = "",
                          });
}

/* ---- Sentences ---- */

#define PLACE_BYTES 80

/* "segment 1 page 0x240", "system page 0x1234" */
static const char *describe_place(const struct oracle *oracle, struct page_store *store,
                                  uint64_t page, char text[PLACE_BYTES])
{
    for (unsigned i = 0; store && i < oracle->segment_count; i++) {
        const struct oracle_segment *segment = &oracle->segments[i];
        struct page_store *of_segment;
        uint64_t address;

        if (segment->is_aperture ||
            !oracle_segment_address(oracle, segment, 0, 0, &of_segment, &address) ||
            store != of_segment || page * PAGE_BYTES < address ||
            page * PAGE_BYTES - address >= segment->size)
            continue;
        snprintf(text, PLACE_BYTES, "segment %u page 0x%llx", segment->id,
                 (unsigned long long)(page - address / PAGE_BYTES));
        return text;
    }
    if (!store)
        snprintf(text, PLACE_BYTES, "a page-table entry that says zero");
    else
        snprintf(text, PLACE_BYTES, "%s page 0x%llx",
                 store == oracle->config.ram ? "system" : "local", (unsigned long long)page);
    return text;
}

#define OCCASION_BYTES 128

static const char *describe_occasion(const struct occasion *occasion, char text[OCCASION_BYTES])
{
    switch (occasion->kind) {
    case OCCASION_OPERATION:
        if (!occasion->has_packet) {
            snprintf(text, OCCASION_BYTES, "%s of event %llu, which wrote no bytes",
                     miniport_operation_name(occasion->operation),
                     (unsigned long long)occasion->event);
            break;
        }
        snprintf(text, OCCASION_BYTES, "%s of event %llu, complete with fence %u of node %u",
                 miniport_operation_name(occasion->operation), (unsigned long long)occasion->event,
                 occasion->fence, occasion->node);
        break;
    case OCCASION_RENDER:
        snprintf(text, OCCASION_BYTES, "read by the GPU in submission 0x%llx, reference %u",
                 (unsigned long long)occasion->token, occasion->index);
        break;
    case OCCASION_CPU:
        snprintf(text, OCCASION_BYTES, "read by the CPU");
        break;
    case OCCASION_FINAL:
        snprintf(text, OCCASION_BYTES, "final check");
        break;
    }
    return text;
}

/* The same for all that one defect spoils. */
static const char *describe_where(const struct occasion *occasion, char text[OCCASION_BYTES])
{
    switch (occasion->kind) {
    case OCCASION_OPERATION:
        snprintf(text, OCCASION_BYTES, "DxgkDdiBuildPagingBuffer(%s)",
                 miniport_operation_name(occasion->operation));
        break;
    case OCCASION_RENDER:
        snprintf(text, OCCASION_BYTES, "read by the GPU");
        break;
    case OCCASION_CPU:
        snprintf(text, OCCASION_BYTES, "read by the CPU");
        break;
    case OCCASION_FINAL:
        snprintf(text, OCCASION_BYTES, "final check");
        break;
    }
    return text;
}

#define HEX_BYTES 32

/*
 * Up to eight bytes from the address on, within its page; "--" where a line about an address that a
 * driver made up begins before the memory.
 */
static const char *describe_bytes(struct page_store *store, uint64_t address, char text[HEX_BYTES])
{
    uint64_t count = min_u64(8, PAGE_BYTES - address % PAGE_BYTES);
    uint8_t bytes[8] = {0};
    int length = 0;

    if (store && !page_store_contains(store, address, count)) {
        snprintf(text, HEX_BYTES, "--");
        return text;
    }
    if (store)
        page_store_read(store, address, bytes, count);
    for (uint64_t i = 0; i < count; i++)
        length +=
            snprintf(text + length, (size_t)(HEX_BYTES - length), i ? " %02x" : "%02x", bytes[i]);
    return text;
}

#define DIFF_LINES 7
#define DIFF_BYTES 640

/*
 * Lines of eight bytes from the one with the first difference on, as far as the page goes; a mark
 * for those that differ:
 *
 *     0x001060  expected 11 22 33 44 55 66 77 88  found 11 22 33 44 00 00 00 00  *
 */
static const char *describe_difference(const struct oracle_allocation *allocation,
                                       struct page_store *expected, uint64_t expected_address,
                                       struct page_store *found, uint64_t address, uint64_t offset,
                                       char text[DIFF_BYTES])
{
    uint64_t back = offset % 8;
    size_t used = 0;

    for (unsigned line = 0; line < DIFF_LINES; line++) {
        uint64_t at = offset - back + 8 * line;
        char wanted[HEX_BYTES], is[HEX_BYTES];

        /* The first line stands, too, where the wrong byte is behind the end of the allocation. */
        if (line && (at >= allocation->bytes || at / PAGE_BYTES != offset / PAGE_BYTES))
            break;
        describe_bytes(expected, expected_address - back + 8 * line, wanted);
        describe_bytes(found, address - back + 8 * line, is);
        used += (size_t)snprintf(
            text + used, DIFF_BYTES - used, "%s0x%06llx  expected %s  found %s%s", line ? "\n" : "",
            (unsigned long long)at, wanted, is, strcmp(wanted, is) != 0 ? "  *" : "");
    }
    return text;
}

#define ARGUMENTS_BYTES FINDING_ARGUMENTS_BYTES

static const char *name_handle(void *context, uint64_t handle, char *text, size_t size)
{
    const struct oracle *oracle = context;
    const struct oracle_allocation *allocation = id_map_find(&oracle->by_handle, handle);

    if (!allocation)
        return NULL;
    snprintf(text, size, "%s (allocation %llu)", allocation->name,
             (unsigned long long)allocation->id);
    return text;
}

/* The call that built the operation, as it was then. */
static const char *describe_arguments(struct oracle *oracle, const struct occasion *occasion,
                                      char text[ARGUMENTS_BYTES])
{
    const struct decode_request request = {
        .structure = "DXGKARG_BUILDPAGINGBUFFER",
        .before = occasion->arg,
        .bytes = sizeof *occasion->arg,
        .wddm = decode_wddm_of(oracle->interface_version),
        .name_handle = name_handle,
        .context = oracle,
    };

    text[0] = '\0';
    if (occasion->arg)
        decode_structure(&request, text, ARGUMENTS_BYTES);
    return text;
}

/* The page of the allocation is where the bench believes it to be. */
static bool is_in_place(const struct oracle *oracle, const struct oracle_allocation *allocation,
                        uint64_t page, const struct page_store *store, uint64_t store_page)
{
    uint64_t location = allocation->locations ? allocation->locations[page] : LOCATION_UNKNOWN;

    return store && location_store(oracle, location) == store &&
           location_page(location) == store_page;
}

static void report_content(struct oracle *oracle, struct oracle_allocation *allocation,
                           uint64_t offset, struct page_store *store, uint64_t address,
                           const struct occasion *occasion)
{
    uint64_t expected_address = allocation->expected_page * PAGE_BYTES + offset;
    char expected[PAGE_TEXT_BYTES];
    char found[PAGE_TEXT_BYTES] = "zero";
    char expected_hex[HEX_BYTES];
    char found_hex[HEX_BYTES];
    char place[PLACE_BYTES];
    char when[OCCASION_BYTES];
    char text[ORACLE_TEXT_BYTES];
    char where[OCCASION_BYTES];
    char bytes[DIFF_BYTES];
    char arguments[ARGUMENTS_BYTES];

    char blame[BLAME_BYTES];
    const struct oracle_fill *fill;
    enum rule_id rule = oracle_blame(oracle, allocation, offset / PAGE_BYTES, store,
                                     address / PAGE_BYTES, occasion, blame, &fill);
    struct occasion culprit = *occasion;

    oracle->counters.mismatches++;
    if (rule && oracle->config.counts && !allocation->is_reported) /* else it follows from that */
        oracle->config.counts->broken[rule]++;
    if (!count_problem(oracle, ORACLE_CONTENT, &allocation->is_reported))
        return;
    oracle_note_late(oracle, allocation, offset, store, address, occasion);
    if (fill)
        culprit = (struct occasion){.kind = OCCASION_OPERATION,
                                    .operation = (unsigned)fill->arg.Operation,
                                    .event = fill->event,
                                    .arg = &fill->arg};
    page_store_describe(oracle->expected, expected_address / PAGE_BYTES, expected);
    if (store)
        page_store_describe(store, address / PAGE_BYTES, found);
    snprintf(text, sizeof text,
             "%s (allocation %llu), page %llu, byte 0x%llx of 0x%llx: not what was written last%s\n"
             "  expected %s (%s)\n"
             "  found    %s (%s)\n"
             "  where    %s, byte 0x%llx\n"
             "  when     %s",
             allocation->name, (unsigned long long)allocation->id,
             (unsigned long long)(offset / PAGE_BYTES), (unsigned long long)offset,
             (unsigned long long)allocation->bytes, blame,
             describe_bytes(oracle->expected, expected_address, expected_hex), expected,
             describe_bytes(store, address, found_hex), found,
             describe_place(oracle, store, address / PAGE_BYTES, place),
             (unsigned long long)(address % PAGE_BYTES), describe_occasion(occasion, when));
    oracle->config.report(
        oracle->config.context,
        &(struct oracle_report){
            .problem = ORACLE_CONTENT,
            .rule = rule,
            .event = culprit.kind == OCCASION_OPERATION ? culprit.event : oracle_event(oracle),
            .allocation = allocation->id,
            .token = occasion->kind == OCCASION_RENDER ? occasion->token : ORACLE_NO_ID,
            .page = offset / PAGE_BYTES,
            .offset = offset,
            .text = text,
            .where = describe_where(&culprit, where),
            .bytes = describe_difference(allocation, oracle->expected, expected_address, store,
                                         address, offset, bytes),
            .arguments = describe_arguments(oracle, &culprit, arguments),
            .writer = oracle_find_writer(oracle, store, address),
            .handle = allocation->is_bound ? allocation->handle : 0,
            .was_spoilt =
                occasion->kind != OCCASION_OPERATION &&
                is_in_place(oracle, allocation, offset / PAGE_BYTES, store, address / PAGE_BYTES),
        });
}

/* ---- Comparisons ---- */

/* All pages of the piece are defined. */
static void compare_defined_pages(struct oracle *oracle, struct oracle_allocation *allocation,
                                  uint64_t page, uint64_t count, struct page_store *store,
                                  uint64_t store_page, const struct occasion *occasion)
{
    uint64_t done = 0;
    uint64_t difference;

    while (done < count &&
           !page_store_compare(oracle->expected, allocation->expected_page + page + done, store,
                               store_page + done, count - done, &difference)) {
        oracle->counters.mismatched_pages++;
        if (done == 0)
            report_content(oracle, allocation, page * PAGE_BYTES + difference, store,
                           store_page * PAGE_BYTES + difference, occasion);
        done += difference / PAGE_BYTES + 1;
    }
}

/* Number of leading pages of the range that are defined, or that are not. */
static uint64_t undefined_run(const struct oracle_allocation *allocation, uint64_t page,
                              uint64_t count, bool is_wanted)
{
    uint64_t i = 0;

    if (!allocation->undefined && !allocation->is_unfollowed)
        return is_wanted ? 0 : count;
    while (i < count && is_undefined(allocation, page + i) == is_wanted)
        i++;
    return i;
}

void compare_pages(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t page,
                   uint64_t count, uint64_t location, const struct occasion *occasion)
{
    struct page_store *store = location_store(oracle, location);
    uint64_t store_page = location_page(location);
    uint64_t done = 0;

    oracle->counters.pages_checked += count;
    while (done < count) {
        uint64_t run = undefined_run(allocation, page + done, count - done, false);

        compare_defined_pages(oracle, allocation, page + done, run, store, store_page + done,
                              occasion);
        done += run;
        run = undefined_run(allocation, page + done, count - done, true);
        if (occasion->kind == OCCASION_RENDER || occasion->kind == OCCASION_CPU)
            oracle->counters.lost_pages_read += run;
        done += run;
    }
}

static bool is_equal(struct oracle *oracle, uint64_t expected_address, struct page_store *store,
                     uint64_t address, uint64_t bytes, uint64_t *out_difference)
{
    if (!store)
        return page_store_is_fill(oracle->expected, expected_address, bytes, 0, out_difference);
    return page_store_compare_bytes(oracle->expected, expected_address, store, address, bytes,
                                    out_difference);
}

void compare_bytes(struct oracle *oracle, struct oracle_allocation *allocation, uint64_t offset,
                   struct page_store *store, uint64_t address, uint64_t bytes,
                   const struct occasion *occasion)
{
    uint64_t expected_address = allocation->expected_page * PAGE_BYTES + offset;
    uint64_t end = offset + bytes;
    bool is_first = true;
    uint64_t done = 0;

    oracle->counters.pages_checked += div_round_up(end, PAGE_BYTES) - offset / PAGE_BYTES;
    while (done < bytes) {
        uint64_t page = (offset + done) / PAGE_BYTES;
        uint64_t pages = div_round_up(end, PAGE_BYTES) - page;
        uint64_t run = undefined_run(allocation, page, pages, false);
        uint64_t stop = min_u64((page + run) * PAGE_BYTES, end) - offset;
        uint64_t difference;

        while (run && done < stop &&
               !is_equal(oracle, expected_address + done, store, address + done, stop - done,
                         &difference)) {
            oracle->counters.mismatched_pages++;
            if (is_first)
                report_content(oracle, allocation, offset + done + difference, store,
                               address + done + difference, occasion);
            is_first = false;
            done = align_down(offset + done + difference, PAGE_BYTES) + PAGE_BYTES - offset;
        }
        page += run;
        run = undefined_run(allocation, page, pages - run, true);
        if (occasion->kind == OCCASION_RENDER || occasion->kind == OCCASION_CPU)
            oracle->counters.lost_pages_read += run;
        page += run;
        done = min_u64(page * PAGE_BYTES, end) - offset;
    }
}
