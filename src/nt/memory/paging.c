/*
 * Protection of pages, by the blocks of paged pool and the sections of the image.
 */
#include "nt/memory/paging.h"

#include "nt/memory/pool.h"
#include "nt/nt_private.h"

#include "base/bits.h"
#include "base/hash.h"
#include "image/image.h"

#include <stdio.h>
#include <string.h>
#include <sys/mman.h>

static bool is_pageable(const struct image_section *section)
{
    return strncmp(section->name, "PAGE", 4) == 0;
}

static char *start_of(const struct nt *nt, const struct image_section *section)
{
    return (char *)(uintptr_t)(image_base(nt->image) + section->rva);
}

bool nt_paging_has_sections(const struct nt *nt)
{
    for (uint32_t i = 0; nt->image && i < image_section_count(nt->image); i++) {
        if (is_pageable(image_section(nt->image, i)))
            return true;
    }
    return false;
}

static void protect_sections(const struct nt *nt, bool is_away)
{
    for (uint32_t i = 0; nt->image && i < image_section_count(nt->image); i++) {
        const struct image_section *section = image_section(nt->image, i);
        int protection = (section->is_readable ? PROT_READ : 0) |
                         (section->is_writable ? PROT_WRITE : 0) |
                         (section->is_executable ? PROT_EXEC : 0);

        if (is_pageable(section))
            mprotect(start_of(nt, section), align_up(section->bytes, PAGE_BYTES),
                     is_away ? PROT_NONE : protection);
    }
}

static void protect_pool(struct nt *nt, bool is_away)
{
    struct pool_header *header;

    list_for_each (header, &nt_pool_of(nt)->paged, struct pool_header, paged) {
        if (!header->pfns)
            mprotect(header->pages, (header->page_count + header->pages_behind) * PAGE_BYTES,
                     is_away ? PROT_NONE : PROT_READ | PROT_WRITE);
    }
}

static void set_away(struct nt *nt, bool is_away)
{
    protect_sections(nt, is_away);
    protect_pool(nt, is_away);
    nt->paging.is_away = is_away;
}

void nt_paging_rise(struct nt *nt)
{
    if (nt->paging.is_away)
        return;
    if (nt->paging.rises_to_pass)
        nt->paging.rises_to_pass--;
    else
        set_away(nt, true);
}

struct place {
    const struct image_section *section;
    const struct pool_header *block; /* of the two one is there */
    uint64_t offset, bytes;
};

/* In a signal handler, too: it calls nothing of the C library. */
static bool find_away(const struct nt *nt, const void *address, struct place *out)
{
    const struct pool_header *header;

    if (!nt->paging.is_away)
        return false;
    for (uint32_t i = 0; nt->image && i < image_section_count(nt->image); i++) {
        const struct image_section *section = image_section(nt->image, i);
        uint64_t offset = (uintptr_t)address - (uintptr_t)start_of(nt, section);

        if (is_pageable(section) && offset < section->bytes) {
            *out = (struct place){section, NULL, offset, section->bytes};
            return true;
        }
    }
    list_for_each (header, &nt_pool_of(nt)->paged, struct pool_header, paged) {
        uint64_t offset = (uintptr_t)address - (uintptr_t)header->memory;

        if (!header->pfns && offset < header->bytes) {
            *out = (struct place){NULL, header, offset, header->bytes};
            return true;
        }
    }
    return false;
}

/* By the offset and not by the address, so that each run closes at the same rises. */
static uint32_t *times_of(struct nt *nt, const struct place *place)
{
    return &nt->paging.times[hash_pair(place->offset, place->bytes) % PAGING_PLACES];
}

void nt_paging_bring_in(struct nt *nt)
{
    if (nt->paging.is_away)
        set_away(nt, false);
}

/* In a signal handler: below DISPATCH_LEVEL the first access brings everything in. */
static bool take_fault(struct page_fault_taker *taker, const void *address)
{
    struct nt *nt = container_of(taker, struct nt, paging.taker);
    struct place place;

    if (nt->irql >= DISPATCH_LEVEL || !find_away(nt, address, &place))
        return false;
    nt_paging_bring_in(nt);
    nt->paging.rises_to_pass = (*times_of(nt, &place))++ / PAGING_PATIENCE;
    return true;
}

void nt_paging_begin(struct nt *nt)
{
    nt_paging_bring_in(nt);
    nt->paging.taker.take = take_fault;
    nt->paging.has_any = page_fault_begin(&nt->paging.taker);
}

void nt_paging_end(struct nt *nt)
{
    page_fault_end(&nt->paging.taker);
}

bool nt_paging_explain(const struct nt *nt, const void *address, struct nt_paged *out)
{
    struct place place;
    char tag[5];

    if (!nt || !find_away(nt, address, &place))
        return false;
    *out = (struct nt_paged){.offset = place.offset, .bytes = place.bytes};
    if (place.section) {
        snprintf(out->name, sizeof out->name, "section %s", place.section->name);
        return true;
    }
    nt_put_tag(place.block->tag, tag);
    snprintf(out->name, sizeof out->name, "paged pool block %llu (tag '%s')",
             (unsigned long long)place.block->sequence, tag);
    return true;
}
