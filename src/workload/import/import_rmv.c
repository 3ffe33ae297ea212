/*
 * .rmv: what a real memory manager did to the page tables, as a case.
 *
 * Token to line, in time order over all streams:
 *
 *     page-table update     pte map or pte unmap; a note when it is of no pages
 *     virtual allocate      vm-reserve
 *     virtual free          vm-release of what was reserved at that VA
 *     resource bind         label on the VA range: kind and id of the resource
 *     resource create, destroy, residency change, resource name: notes
 *
 * Physical to (segment, page): an address in a local heap becomes its page in that heap; a run
 * that crosses from one heap into the next is cut there. Any other address is system memory and
 * keeps its page number. The capture writes address 0 for system pages that it does not know: each
 * such page gets a number of its own, counted up from behind the highest system page that it knows.
 */
#include "workload/import/import_formats.h"
#include "workload/import/rmv.h"
#include "workload/build/builder_private.h"

#include "base/bits.h"
#include "base/hash.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

/* (a, b) to value: chains in an array that only grows; removed entries are skipped. */
struct entry {
    uint64_t a, b, value;
    uint32_t next; /* index + 1 */
};

#define TABLE_HEADS (1u << 12)

struct table {
    struct entry *entries;
    uint32_t count, room;
    uint32_t heads[TABLE_HEADS];
};

struct importer {
    struct workload_builder *builder;
    const struct base_services *services;
    struct workload_import_report *report;
    struct rmv rmv;
    struct table processes;    /* (pid, 0) to index */
    struct table reservations; /* (pid, va) to bytes; the latest first */
    struct table resources;    /* (stream, id) to kind + 1 */
    uint64_t next_unknown_page;
};

static uint32_t *table_link(struct table *table, uint64_t a, uint64_t b)
{
    uint32_t *link = &table->heads[hash_pair(a, b) % TABLE_HEADS];

    while (*link) {
        struct entry *entry = &table->entries[*link - 1];

        if (entry->a == a && entry->b == b)
            return link;
        link = &entry->next;
    }
    return NULL;
}

static bool table_add(struct importer *im, struct table *table, uint64_t a, uint64_t b,
                      uint64_t value)
{
    uint32_t *head = &table->heads[hash_pair(a, b) % TABLE_HEADS];

    if (!workload_grow(im->services, &table->entries, &table->room, table->count, 1,
                       sizeof *table->entries)) {
        workload_builder_fail_memory(im->builder);
        return false;
    }
    table->entries[table->count] = (struct entry){.a = a, .b = b, .value = value, .next = *head};
    *head = ++table->count;
    return true;
}

/* The value + 1, or 0. */
static uint64_t table_find(struct table *table, uint64_t a, uint64_t b)
{
    uint32_t *link = table_link(table, a, b);

    return link ? table->entries[*link - 1].value + 1 : 0;
}

static void damaged(struct importer *im, const struct rmv_token *token, const char *what,
                    const char *expected)
{
    workload_builder_fail(im->builder, "stream %u, byte %" PRIu64 ": %s (expected %s)",
                          token->stream, token->offset, what, expected);
}

__attribute__((format(printf, 2, 3))) static void note(struct importer *im, const char *format, ...)
{
    char text[WORKLOAD_MAX_TEXT + 1];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    workload_builder_note(im->builder, text);
}

static const char *resource_kind(uint64_t kind)
{
    static const char *const names[] = {
        "image",        "buffer",       "gpu-event", "border-color-palette",
        "indirect-cmd", "motion-est",   "perf",      "query-heap",
        "video-decode", "video-encode", "timestamp", "heap",
        "pipeline",     "desc-heap",    "desc-pool", "command-allocator",
        "internal",     "work-graph",
    };

    return kind < ARRAY_COUNT(names) ? names[kind] : "unknown";
}

/* Printable characters only; the rest becomes '?'. */
static void copy_text(char *out, size_t room, const unsigned char *text, size_t length)
{
    size_t i;

    for (i = 0; i + 1 < room && i < length && text[i]; i++)
        out[i] = text[i] >= 0x20 && text[i] < 0x7f ? (char)text[i] : '?';
    out[i] = '\0';
}

/* Page tables -------------------------------------------------------------------------------- */

/* The local heap at pa, or NULL. *end is where it, or the space without one, ends. */
static const struct rmv_segment *local_heap(const struct rmv *rmv, uint64_t pa, uint64_t *end)
{
    *end = UINT64_MAX;
    for (uint32_t i = 0; i < rmv->segment_count; i++) {
        const struct rmv_segment *segment = &rmv->segments[i];

        if (segment->kind > 1)
            continue;
        if (pa >= segment->base && pa - segment->base < segment->size) {
            *end = segment->base + segment->size;
            return segment;
        }
        if (segment->base > pa)
            *end = min_u64(*end, segment->base);
    }
    return NULL;
}

static void map_pages(struct importer *im, const struct rmv_token *token, uint32_t process)
{
    uint64_t va = token->va, pa = token->pa, left = token->size;

    if (pa == 0) {
        uint64_t count = left / PAGE_BYTES;

        workload_builder_pte_map(im->builder, process, va, WORKLOAD_SEGMENT_SYSTEM,
                                 im->next_unknown_page, count, token->page_shift, 0);
        im->next_unknown_page += count;
        return;
    }
    while (left && !workload_builder_failed(im->builder)) {
        uint64_t end, piece;
        const struct rmv_segment *heap = local_heap(&im->rmv, pa, &end);
        enum workload_segment segment = WORKLOAD_SEGMENT_SYSTEM;
        uint64_t page = pa / PAGE_BYTES;

        /* A heap that ends inside a page keeps that page. */
        piece = end - pa > left ? left : align_up(end - pa, PAGE_BYTES);
        if (heap) {
            segment = heap->kind ? WORKLOAD_SEGMENT_LOCAL_INVISIBLE : WORKLOAD_SEGMENT_LOCAL;
            page = (pa - heap->base) / PAGE_BYTES;
        }
        workload_builder_pte_map(im->builder, process, va, segment, page, piece / PAGE_BYTES,
                                 piece == token->size ? token->page_shift : PAGE_SHIFT_BITS, 0);
        va += piece;
        pa += piece;
        left -= piece;
    }
}

static void import_page_table_update(struct importer *im, const struct rmv_token *token,
                                     uint32_t process)
{
    static const char *const kinds[] = {"discard", "update", "transfer", "reserved"};

    im->report->page_table_update_count++;
    if (token->size == 0) {
        note(im, "page-table %s of no pages at 0x%" PRIx64, kinds[token->kind], token->va);
        return;
    }
    if (!token->page_shift && !token->is_unmap) {
        damaged(im, token, "a mapping with an unknown page size", "4K, 64K, 256K, 1M or 2M");
        return;
    }
    if (token->size > WORKLOAD_MAX_VA - token->va) {
        damaged(im, token, "a page-table update that leaves the address space", "VAs below 2^48");
        return;
    }
    if (token->is_unmap)
        workload_builder_pte_unmap(im->builder, process, token->va, token->size / PAGE_BYTES);
    else if (!is_aligned(token->va, (uint64_t)1 << token->page_shift))
        damaged(im, token, "a mapping at part of a page", "a VA at a multiple of its page size");
    else
        map_pages(im, token, process);
}

/* The rest ----------------------------------------------------------------------------------- */

static void import_virtual_allocate(struct importer *im, const struct rmv_token *token,
                                    uint32_t process)
{
    im->report->virtual_allocation_count++;
    if (!is_aligned(token->va, PAGE_BYTES) || token->size > WORKLOAD_MAX_VA - token->va) {
        damaged(im, token, "a reservation outside the address space or at part of a page",
                "whole pages below 2^48");
        return;
    }
    workload_builder_vm_reserve(im->builder, process, token->va, token->size);
    table_add(im, &im->reservations, token->pid, token->va, token->size);
}

static void import_virtual_free(struct importer *im, const struct rmv_token *token,
                                uint32_t process)
{
    uint32_t *link = table_link(&im->reservations, token->pid, token->va);

    im->report->virtual_free_count++;
    if (!link) {
        note(im, "free of a reservation at 0x%" PRIx64 " from before the capture", token->va);
        return;
    }
    workload_builder_vm_release(im->builder, process, token->va,
                                im->reservations.entries[*link - 1].value);
    *link = im->reservations.entries[*link - 1].next;
}

static void import_bind(struct importer *im, const struct rmv_token *token, uint32_t process)
{
    uint64_t kind = table_find(&im->resources, token->stream, token->id);
    char text[64];

    im->report->resource_bind_count++;
    if (token->size > WORKLOAD_MAX_VA - token->va) {
        damaged(im, token, "a resource that leaves the address space", "VAs below 2^48");
        return;
    }
    snprintf(text, sizeof text, "%s 0x%" PRIx64, kind ? resource_kind(kind - 1) : "unknown",
             token->id);
    if (token->size)
        workload_builder_label(im->builder, process, token->va, token->size, text);
    else
        note(im, "bind of no bytes: %s", text);
}

/* Kinds 0 and 6 are names: text, then the resource's id, in kind 6 a delay of 8 bytes behind it. */
static void import_userdata(struct importer *im, const struct rmv_token *token)
{
    uint32_t tail = token->kind == 6 ? 12 : 4;
    const unsigned char *id;
    char text[128];

    if ((token->kind != 0 && token->kind != 6) || token->payload_bytes <= tail)
        return;
    id = token->payload + token->payload_bytes - tail;
    copy_text(text, sizeof text, token->payload, token->payload_bytes - tail);
    note(im, "name 0x%x: %s",
         (unsigned)id[0] | (unsigned)id[1] << 8 | (unsigned)id[2] << 16 | (unsigned)id[3] << 24,
         text);
}

static bool needs_process(const struct rmv_token *token)
{
    return token->type == RMV_PAGE_TABLE_UPDATE || token->type == RMV_VIRTUAL_ALLOCATE ||
           token->type == RMV_VIRTUAL_FREE || token->type == RMV_RESOURCE_BIND;
}

static void import_token(struct importer *im, const struct rmv_token *token)
{
    uint32_t process = 0;

    if (needs_process(token))
        process = (uint32_t)table_find(&im->processes, token->pid, 0) - 1;
    switch (token->type) {
    case RMV_PAGE_TABLE_UPDATE:
        import_page_table_update(im, token, process);
        break;
    case RMV_VIRTUAL_ALLOCATE:
        import_virtual_allocate(im, token, process);
        break;
    case RMV_VIRTUAL_FREE:
        import_virtual_free(im, token, process);
        break;
    case RMV_RESOURCE_BIND:
        import_bind(im, token, process);
        break;
    case RMV_RESOURCE_CREATE:
        im->report->resource_count++;
        note(im, "create 0x%" PRIx64 " %s", token->id, resource_kind(token->kind));
        table_add(im, &im->resources, token->stream, token->id, token->kind);
        break;
    case RMV_RESOURCE_DESTROY:
        note(im, "destroy 0x%" PRIx64, token->id);
        break;
    case RMV_RESIDENCY:
        im->report->residency_update_count++;
        note(im, "residency %s 0x%" PRIx64 " queue %u", token->kind ? "remove" : "add", token->va,
             token->queue);
        break;
    case RMV_USERDATA:
        import_userdata(im, token);
        break;
    default:
        break;
    }
}

/* First pass: which processes there are, and where unknown system pages may be numbered from. */
static void survey(struct importer *im)
{
    struct rmv_token token;
    uint64_t end;
    char name[24];

    while (!workload_builder_failed(im->builder) && rmv_next(&im->rmv, &token)) {
        if (needs_process(&token) && !table_find(&im->processes, token.pid, 0)) {
            snprintf(name, sizeof name, "pid%" PRIu64, token.pid);
            table_add(im, &im->processes, token.pid, 0,
                      workload_builder_process(im->builder, name));
            im->report->process_count++;
        }
        if (token.type == RMV_PAGE_TABLE_UPDATE && !token.is_unmap && token.pa &&
            !local_heap(&im->rmv, token.pa + (token.size ? token.size - 1 : 0), &end))
            im->next_unknown_page =
                max_u64(im->next_unknown_page, (token.pa + token.size) / PAGE_BYTES);
    }
}

static void import_header(struct importer *im)
{
    static const enum workload_segment segments[3] = {
        WORKLOAD_SEGMENT_LOCAL, WORKLOAD_SEGMENT_LOCAL_INVISIBLE, WORKLOAD_SEGMENT_SYSTEM};
    static const char *const options[3] = {"local-memory", "local-invisible", "system-memory"};
    char text[160], adapter[RMV_NAME + 1];

    copy_text(adapter, sizeof adapter, (const unsigned char *)im->rmv.adapter, RMV_NAME);
    snprintf(text, sizeof text, "capture of %s", adapter[0] ? adapter : "an unnamed adapter");
    workload_builder_name(im->builder, text);
    workload_builder_option(im->builder, "model", "gpummu");
    for (uint32_t i = 0; i < im->rmv.segment_count; i++) {
        const struct rmv_segment *segment = &im->rmv.segments[i];

        if (segment->kind > 2 || segment->size == 0)
            continue;
        im->report->heap_bytes[segments[segment->kind]] += segment->size;
        snprintf(text, sizeof text, "%" PRIu64, segment->size);
        workload_builder_option(im->builder, options[segment->kind], text);
    }
}

bool workload_is_rdf(const void *data, size_t size)
{
    return size >= 8 && memcmp(data, "AMD_RDF ", 8) == 0;
}

/* Both passes over an open capture. */
static void import_open(struct importer *im)
{
    struct rmv_token token;

    im->report->stream_count = im->rmv.stream_count;
    import_header(im);
    survey(im);
    if (!im->rmv.error.text[0] && !workload_builder_failed(im->builder) && rmv_rewind(&im->rmv)) {
        workload_builder_step(im->builder, "capture");
        while (!workload_builder_failed(im->builder) && rmv_next(&im->rmv, &token))
            import_token(im, &token);
    }
    if (im->rmv.error.text[0])
        workload_builder_fail(im->builder, "%s", im->rmv.error.text);
    im->report->token_count = im->rmv.token_count;
}

void workload_import_rmv(struct workload_builder *builder, const unsigned char *data, size_t size,
                         struct workload_import_report *report)
{
    const struct base_services *services = builder->out->services;
    struct importer *im = base_alloc(services, sizeof *im);
    struct table *tables[3];

    if (!im) {
        workload_builder_fail_memory(builder);
        return;
    }
    im->builder = builder;
    im->services = services;
    im->report = report;
    if (rmv_open(&im->rmv, services, data, size)) {
        import_open(im);
        rmv_close(&im->rmv);
    } else {
        workload_builder_fail(builder, "%s", im->rmv.error.text);
    }
    tables[0] = &im->processes;
    tables[1] = &im->reservations;
    tables[2] = &im->resources;
    for (size_t i = 0; i < ARRAY_COUNT(tables); i++)
        base_free_array(services, tables[i]->entries, tables[i]->room, sizeof(struct entry));
    base_free(services, im, sizeof *im);
}
