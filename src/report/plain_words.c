/*
 * The words of the catalogue of rules, in full.
 */
#include "report/plain_words.h"

#include "miniport/miniport.h"
#include "miniport/operation.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* Names that replace a word where it stands. */
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

/* Words that stay, and are told behind where they occur. */
static const struct report_abbreviation abbreviations[] = {
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

static size_t word_length(const char *at)
{
    size_t length = 0;

    while (isalnum((unsigned char)at[length]) || at[length] == '_')
        length++;
    return length;
}

static bool is_word(const char *word, const char *at, size_t length)
{
    return strlen(word) == length && strncmp(word, at, length) == 0;
}

static const char *find_name(const char *at, size_t length)
{
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (is_word(names[i][0], at, length))
            return names[i][1];
    }
    return NULL;
}

const struct report_abbreviation *report_abbreviation_at(unsigned index)
{
    return index < sizeof abbreviations / sizeof abbreviations[0] ? &abbreviations[index] : NULL;
}

bool report_has_abbreviation(const char *sentence, const struct report_abbreviation *abbreviation)
{
    for (const char *at = sentence; *at; at++) {
        size_t length = word_length(at);

        if (is_word(abbreviation->word, at, length) ||
            (length && at[length - 1] == 's' && is_word(abbreviation->word, at, length - 1)))
            return true;
        at += length ? length - 1 : 0;
    }
    return false;
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
        const char *name = find_name(at, length);
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
