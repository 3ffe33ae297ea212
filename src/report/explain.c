/*
 * A rule as a lesson: its text, its reason, an example that breaks it and what the bench says then.
 */
#include "report/explain.h"

#include "miniport/miniport.h"
#include "miniport/operation.h"
#include "report/finding_report.h"
#include "report/report.h"
#include "report/rules_report.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define LINE_WIDTH  100
#define LABEL_WIDTH 10

/* ---- Words ----------------------------------------------------------------------------------- */

/* Replaced where they stand. */
static const char *const names[][2] = {
    {"BPB", "DxgkDdiBuildPagingBuffer"},
    {"QAI", "DxgkDdiQueryAdapterInfo"},
    {"VA", "GPU virtual address"},
    {"VAs", "GPU virtual addresses"},
    {"INSUFFICIENT", "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER"},
    {"INSUFFICIENT_DMA_BUFFER", "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER"},
    {"GRAPHICS_INSUFFICIENT_DMA_BUFFER", "STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER"},
    {"BUSY", "STATUS_GRAPHICS_ALLOCATION_BUSY"},
    {"ALLOCATION_BUSY", "STATUS_GRAPHICS_ALLOCATION_BUSY"},
    {"GRAPHICS_ALLOCATION_BUSY", "STATUS_GRAPHICS_ALLOCATION_BUSY"},
    {"SUCCESS", "STATUS_SUCCESS"},
    {"INVALID_PARAMETER", "STATUS_INVALID_PARAMETER"},
    {"OS", "operating system"},
};

/* Told behind, where they occur. */
static const char *const words[][2] = {
    {"ADL", "address descriptor list: pages by number, as a device addresses them"},
    {"AGP", "accelerated graphics port: a bus with an aperture of its own"},
    {"BAR", "base address register: a window of the bus onto the device"},
    {"DPC", "deferred procedure call: what runs after an interrupt, at DISPATCH_LEVEL"},
    {"GART", "graphics address remapping table: of an AGP bridge"},
    {"IOMMU", "translates what a device addresses, as the processor's MMU does for programs"},
    {"IRQL", "interrupt request level: what may interrupt the processor, and what it may call"},
    {"ISR", "interrupt service routine"},
    {"KMD", "kernel-mode driver: the display miniport"},
    {"LDA", "linked display adapters: several GPUs that act as one"},
    {"MDL", "memory descriptor list: the system pages behind a buffer"},
    {"MMIO", "registers of the device, read and written by the CPU"},
    {"MMU", "memory management unit: translates virtual addresses"},
    {"PASID", "process address space id: whose addresses a device means"},
    {"PFN", "page frame number: a physical address in pages"},
    {"PTE", "page-table entry"},
    {"TDR", "timeout detection and recovery: what ends a GPU that does not answer"},
    {"TLB", "translation lookaside buffer: where a GPU keeps translations"},
    {"UMD", "user-mode driver"},
    {"VPR", "video protected region of memory"},
    {"VidMm", "video memory manager: the system's half"},
    {"VRAM", "local memory of the board"},
};
#define NAME_COUNT (sizeof names / sizeof names[0])
#define WORD_COUNT (sizeof words / sizeof words[0])

static size_t word_length(const char *at)
{
    size_t length = 0;

    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

static const char *find_in(const char *const (*table)[2], size_t count, const char *word,
                           size_t length)
{
    for (size_t i = 0; i < count; i++) {
        if (strlen(table[i][0]) == length && strncmp(table[i][0], word, length) == 0)
            return table[i][1];
    }
    return NULL;
}

/*
 * "op 17", "Ops 5/6", and in the areas that are about few operations their bare numbers. The digits
 * must stand alone: 64 is none, nor is the 17 of 17.2.
 */
static bool is_operation(const char *area, const char *text, const char *at, size_t length)
{
    unsigned number = (unsigned)strtoul(at, NULL, 10);
    const char *word = at;

    if (length > 2 || strspn(at, "0123456789") != length || number >= MINIPORT_OPERATION_COUNT ||
        (at[length] == '.' && isdigit((unsigned char)at[length + 1])))
        return false;
    while (word > text && (isdigit((unsigned char)word[-1]) || word[-1] == '/'))
        word--;
    if (word - text >= 3 && strncasecmp(word - 3, "op ", 3) == 0)
        return true;
    if (word - text >= 4 && strncasecmp(word - 4, "ops ", 4) == 0)
        return true;
    return (strcmp(area, "NTF") == 0 && number >= 15) ||
           (strcmp(area, "ADL") == 0 && (number == 17 || number == 5 || number == 6));
}

const char *report_plain_words(const char *area, const char *sentence,
                               char text[REPORT_SENTENCE_BYTES])
{
    size_t used = 0;

    text[0] = '\0';
    for (const char *at = sentence; *at && used < REPORT_SENTENCE_BYTES;) {
        size_t length = word_length(at), room = REPORT_SENTENCE_BYTES - used;
        const char *name = find_in(names, NAME_COUNT, at, length);
        char short_area[16];

        snprintf(short_area, sizeof short_area, "%.*s", (int)strcspn(area, "-"), area);
        if (!length) {
            used += (size_t)snprintf(text + used, room, "%c", *at++);
            continue;
        }
        if (is_operation(short_area, sentence, at, length))
            used += (size_t)snprintf(text + used, room, "%s (%.*s)",
                                     miniport_operation_name((unsigned)strtoul(at, NULL, 10)),
                                     (int)length, at);
        else
            used += (size_t)snprintf(text + used, room, "%.*s", name ? 64 : (int)length,
                                     name ? name : at);
        at += length;
    }
    return text;
}

/* ---- Lines ----------------------------------------------------------------------------------- */

static void label(FILE *out, const char *name)
{
    fprintf(out, "  %-*s", LABEL_WIDTH, name);
}

/* The text in lines of at most the width, each with what comes before it; goes on at `first`. */
static void wrap(FILE *out, const char *first, const char *before, const char *text)
{
    do {
        size_t width = LINE_WIDTH - strlen(first), part = strlen(text);

        if (part > width) {
            for (part = width; part && text[part] != ' '; part--)
                ;
            part = part ? part : width;
        }
        fprintf(out, "%s%.*s\n", first, (int)part, text);
        first = before;
        text += part;
        text += *text == ' ';
    } while (*text);
}

/* A paragraph under a label. */
static void tell(FILE *out, const char *name, const char *text)
{
    char first[32], before[32];

    snprintf(first, sizeof first, "  %-*s", LABEL_WIDTH, name);
    snprintf(before, sizeof before, "  %-*s", LABEL_WIDTH, "");
    wrap(out, first, before, text);
}

/* Lines as they are. */
static void show(FILE *out, const char *name, const char *lines)
{
    fprintf(out, "\n  %s\n", name);
    while (*lines) {
        size_t length = strcspn(lines, "\n");

        fprintf(out, "      %.*s\n", (int)length, lines);
        lines += length;
        lines += *lines == '\n';
    }
}

/* "nc-dxgkddi_buildpagingbuffer": what kind of page that is. */
static void tell_sources(FILE *out, const struct rule *rule)
{
    const char *at = rule->source, *name = "Source";

    while (*at) {
        size_t length = strcspn(at, ",");
        const char *kind = strncmp(at, "ns-", 3) == 0         ? "structure, in the DDI reference"
                           : strncmp(at, "nc-", 3) == 0       ? "function, in the DDI reference"
                           : strncmp(at, "ne-", 3) == 0       ? "enumeration, in the DDI reference"
                           : strncmp(at, "bug-check", 9) == 0 ? "bug-check reference"
                                                              : "design guide";

        label(out, name);
        fprintf(out, "%.*s (%s)\n", (int)length, at, kind);
        name = "";
        at += length;
        at += strspn(at, ", ");
    }
}

static void tell_versions(FILE *out, const struct rule *rule)
{
    char text[256];
    size_t length = strlen(rule->versions);

    if (length > 1 && rule->versions[length - 1] == '+' &&
        strspn(rule->versions, "0123456789.") == length - 1)
        snprintf(text, sizeof text, "WDDM %.*s and later", (int)length - 1, rule->versions);
    else
        snprintf(text, sizeof text, "WDDM %s", rule->versions);
    tell(out, "Versions", text);
}

static void tell_check(FILE *out, enum rule_id id, const struct rule_counts *counts)
{
    const struct rule *rule = rule_get(id);
    const char *reason = rule_reason_unchecked(id);
    char text[REPORT_SENTENCE_BYTES], number[2][REPORT_NUMBER_BYTES];

    if (reason && (!counts || !counts->evaluated[id])) {
        snprintf(text, sizeof text, "no run can see it: %s", reason);
        tell(out, "Checked", text);
        return;
    }
    report_plain_words(rule->id, rule->check, text);
    tell(out, "Checked", text);
    tell(out, "",
         rule_is_tested(id)
             ? "Two tests show that it is found when it is broken, and alone, and silent when not."
             : "No pair of tests shows that it is found when it is broken.");
    if (!counts)
        return;
    snprintf(text, sizeof text, "Evaluated %s times, broken %s times in what --from names.",
             report_count(number[0], counts->evaluated[id]),
             report_count(number[1], counts->broken[id]));
    tell(out, "",
         counts->evaluated[id] ? text
                               : "Never evaluated in what --from names: there it was not checked.");
}

/* ---- Examples -------------------------------------------------------------------------------- */

/* The call in which the rules of an area hold. */
static const char *call_of(const char *id)
{
    static const char *const calls[][2] = {
        {"PB", "DxgkDdiBuildPagingBuffer"},
        {"XFER", "DxgkDdiBuildPagingBuffer(TRANSFER)"},
        {"FILL", "DxgkDdiBuildPagingBuffer(FILL)"},
        {"DISC", "DxgkDdiBuildPagingBuffer(DISCARD_CONTENT)"},
        {"PHYS", "DxgkDdiBuildPagingBuffer(READ_PHYSICAL, WRITE_PHYSICAL)"},
        {"APER", "DxgkDdiBuildPagingBuffer(MAP_APERTURE_SEGMENT, UNMAP_APERTURE_SEGMENT)"},
        {"ADL", "DxgkDdiBuildPagingBuffer(MAP_APERTURE_SEGMENT2)"},
        {"SLT", "DxgkDdiBuildPagingBuffer(SPECIAL_LOCK_TRANSFER)"},
        {"VX", "DxgkDdiBuildPagingBuffer(VIRTUAL_TRANSFER, VIRTUAL_FILL)"},
        {"CTX", "DxgkDdiBuildPagingBuffer(INIT_CONTEXT_RESOURCE, UPDATE_CONTEXT_ALLOCATION)"},
        {"PT", "DxgkDdiBuildPagingBuffer(UPDATE_PAGE_TABLE), DxgkDdiSetRootPageTable"},
        {"TLB", "DxgkDdiBuildPagingBuffer(FLUSH_TLB)"},
        {"CPTE", "DxgkDdiBuildPagingBuffer(COPY_PAGE_TABLE_ENTRIES)"},
        {"NTF", "DxgkDdiBuildPagingBuffer(NOTIFY_RESIDENCY, SIGNAL_MONITORED_FENCE, ...)"},
        {"SEG", "DxgkDdiQueryAdapterInfo(QUERYSEGMENT, 3, 4)"},
        {"BANK", "DxgkDdiQueryAdapterInfo(QUERYSEGMENT, 3, 4)"},
        {"ALLOC", "DxgkDdiCreateAllocation, DxgkDdiOpenAllocation"},
        {"SWZ", "DxgkDdiAcquireSwizzlingRange, DxgkDdiReleaseSwizzlingRange"},
        {"CHA", "DxgkDdiMapCpuHostAperture, DxgkDdiUnmapCpuHostAperture"},
        {"RES", "MakeResident, Evict, and the submissions between them"},
        {"OFFER", "Offer, Reclaim"},
        {"PATCH", "DxgkDdiRender, DxgkDdiPatch"},
        {"SUB", "DxgkDdiSubmitCommand, DxgkDdiSubmitCommandVirtual"},
        {"FENCE", "DxgkCbNotifyInterrupt, DxgkDdiPreemptCommand"},
        {"PWR", "DxgkDdiSetPowerState"},
        {"TDR", "DxgkDdiResetFromTimeout, DxgkDdiResetEngine"},
        {"IOMMU", "BeginExclusiveAccess, EndExclusiveAccess"},
    };
    const char *call = find_in(calls, sizeof calls / sizeof calls[0], id, strcspn(id, "-"));

    return call ? call : "the call";
}

/* A lesson made of the call that the rule's area is about, and of how a breach shows. */
static void show_generic(FILE *out, const struct rule *rule)
{
    const char *who = rule->side == RULE_SIDE_OS ? "the memory manager" : "the driver";
    char sentence[REPORT_SENTENCE_BYTES], text[2 * REPORT_SENTENCE_BYTES];

    report_plain_words(rule->id, rule->sentence, sentence);
    fprintf(out, "\n  Lawful\n      %s\n", call_of(rule->id));
    snprintf(text, sizeof text, "%s */", sentence);
    wrap(out, "      /* ", "         ", text);
    snprintf(text, sizeof text, "The same, where %s does otherwise. It shows: %s */", who,
             rule->check);
    fprintf(out, "\n  Unlawful\n      %s\n", call_of(rule->id));
    wrap(out, "      /* ", "         ", text);
}

static void tell_words(FILE *out, const struct rule *rule)
{
    const char *name = "Words";

    for (size_t i = 0; i < WORD_COUNT; i++) {
        bool occurs = false;

        for (const char *at = rule->sentence; *at && !occurs; at++) {
            size_t length = word_length(at);

            occurs = find_in(&words[i], 1, at, length) ||
                     (length && at[length - 1] == 's' && find_in(&words[i], 1, at, length - 1));
            at += length ? length - 1 : 0;
        }
        if (!occurs)
            continue;
        label(out, name);
        fprintf(out, "%s: %s\n", words[i][0], words[i][1]);
        name = "";
    }
}

void report_explain(FILE *out, enum rule_id id, const struct rule_counts *counts)
{
    const struct rule *rule = rule_get(id);
    struct rule windows = *rule; /* as the one breaks it who may be at fault */
    const struct rule_example *example = rule_find_example(id);
    const char *subject = rule_area_subject(rule->id);
    char text[REPORT_SENTENCE_BYTES], violation[REPORT_VIOLATION_BYTES];

    snprintf(text, sizeof text, "%s   ", rule->id);
    wrap(out, text, "          ", subject ? subject : "");
    fputc('\n', out);
    tell(out, "Rule", report_plain_words(rule->id, rule->sentence, text));
    tell_words(out, rule);
    fputc('\n', out);
    tell(out, "Obeyed by",
         rule_is_carried_out(id)
             ? "the operating system, which asks, and the driver, whose packets do "
               "it: memory that does not hold what was asked for is the driver's"
         : rule->side == RULE_SIDE_OS ? "the operating system; here Drydock's memory manager, so a "
                                        "finding is a defect of ours"
                                      : "the driver");
    tell_versions(out, rule);
    tell(out, "Basis",
         rule->basis == RULE_BASIS_DOC ? "documented: the pages below say it"
                                       : "inferred: it follows from the pages below, none says it");
    tell_sources(out, rule);
    if (rule_is_carried_out(id))
        windows.side = RULE_SIDE_DRIVER;
    tell(out, "Windows", report_violation(&windows, violation));
    tell(out, "Tier",
         rule->tier == 1 ? "1: met in every run"
                         : "2: of a version or feature, or no failure by itself");
    tell_check(out, id, counts);
    if (example) {
        show(out, "Lawful", example->lawful);
        show(out, "Unlawful", example->unlawful);
    } else {
        show_generic(out, rule);
    }
}
