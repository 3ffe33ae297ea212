#include "layers/transcript/written.h"

#include "base/bits.h"

#include <string.h>
#include <sys/mman.h>

#define PAGES_MOST 65536u /* in one stretch of the driver: 256 MiB */
#define OPEN_PAGES 8u     /* that stay open */
#define OPEN_ENDS  8u     /* without a change, before a page is caught again */
#define NEAR_BYTES 32u    /* changes that lie so near are told as one */

struct written_page {
    struct page_store *store;
    uint64_t page;
    uint8_t *address; /* in the mapping that it is open in; NULL: unmapped */
    uint32_t idle;    /* ends without a change */
    uint8_t copy[PAGE_BYTES];
};

/* ---- What is written ------------------------------------------------------------------------- */

static void touched(void *context, struct page_store *store, uint64_t number, uint8_t *address)
{
    struct written *written = context;
    struct written_page *page = &written->pages[written->count];

    if (written->count == PAGES_MOST) {
        written->has_failed = true;
        return;
    }
    written->count++;
    page->store = store;
    page->page = number;
    page->address = address;
    page->idle = 0;
    memcpy(page->copy, address, PAGE_BYTES);
}

static void unmapped(void *context, const uint8_t *address, uint64_t count)
{
    struct written *written = context;

    for (uint32_t i = 0; i < written->count; i++) {
        struct written_page *page = &written->pages[i];

        if ((uintptr_t)page->address - (uintptr_t)address < count * PAGE_BYTES)
            page->address = NULL;
    }
}

/* ---- Life ------------------------------------------------------------------------------------ */

bool written_init(struct written *written, struct machine *machine)
{
    *written = (struct written){
        .ram = machine_ram(machine),
        .local = machine_local(machine),
        .watch = {.context = written, .touched = touched, .unmapped = unmapped},
    };
    written->pages = mmap(NULL, PAGES_MOST * sizeof *written->pages, PROT_READ | PROT_WRITE,
                          MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (written->pages == MAP_FAILED)
        return false;
    if (page_store_set_watch(written->ram, &written->watch) &&
        (!written->local || page_store_set_watch(written->local, &written->watch)))
        return true;
    written_fini(written);
    return false;
}

void written_stop(struct written *written)
{
    page_store_set_watch(written->ram, NULL);
    if (written->local)
        page_store_set_watch(written->local, NULL);
    written->count = 0;
}

void written_fini(struct written *written)
{
    written_stop(written);
    munmap(written->pages, PAGES_MOST * sizeof *written->pages);
}

/* ---- Comparing ------------------------------------------------------------------------------- */

/* The changes of a page, those that are near each other as one. */
static void tell_changes(const uint8_t *now, const uint8_t *was, written_tell *tell, void *context,
                         bool is_local, uint64_t page)
{
    uint32_t from = 0, end, at;

    while (from < PAGE_BYTES) {
        if (now[from] == was[from]) {
            from++;
            continue;
        }
        end = from + 1;
        for (at = end; at < PAGE_BYTES && at - end < NEAR_BYTES; at++) {
            if (now[at] != was[at])
                end = at + 1;
        }
        tell(context, is_local, page, from, now + from, end - from);
        from = end;
    }
}

/* The bytes of a page, which are there while it is pinned; scratch: for one that is not. */
static const uint8_t *bytes_of(const struct written_page *page, uint8_t scratch[PAGE_BYTES])
{
    const uint8_t *bytes = page_store_peek_bytes(page->store, page->page);

    if (bytes)
        return bytes;
    page_store_read(page->store, page->page * PAGE_BYTES, scratch, PAGE_BYTES);
    return scratch;
}

void written_begin(struct written *written)
{
    uint8_t scratch[PAGE_BYTES];

    uint32_t kept = 0;

    for (uint32_t i = 0; i < written->count; i++) {
        struct written_page *page = &written->pages[i];

        if (!page_watch_shows(page->store, page->page, page->address)) {
            page_watch_close_page(page->address);
            continue;
        }
        if (&written->pages[kept] != page)
            written->pages[kept] = *page;
        page = &written->pages[kept++];
        memcpy(page->copy, bytes_of(page, scratch), PAGE_BYTES);
    }
    written->count = kept;
}

bool written_end(struct written *written, written_tell *tell, void *context)
{
    uint8_t scratch[PAGE_BYTES];
    uint32_t kept = 0;

    for (uint32_t i = 0; i < written->count; i++) {
        struct written_page *page = &written->pages[i];
        const uint8_t *now = bytes_of(page, scratch);

        page->idle++;
        if (memcmp(now, page->copy, PAGE_BYTES) != 0) {
            tell_changes(now, page->copy, tell, context, page->store == written->local, page->page);
            page->idle = 0;
        }
        if (!page->address)
            continue;
        if (page->idle >= OPEN_ENDS || kept == OPEN_PAGES)
            page_watch_close_page(page->address);
        else if (&written->pages[kept++] != page)
            written->pages[kept - 1] = *page;
    }
    written->count = kept;
    return !written->has_failed;
}
