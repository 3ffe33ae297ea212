#define _GNU_SOURCE
#include "machine/page_window.h"

#include "machine/page_store_internal.h"

#include "base/list.h"

#include <signal.h>
#include <sys/mman.h>

/*
 * Opened together. Each stretch of open pages costs the host two of its 65,530 mappings, so a
 * process can hold 2 GiB of scattered touches; when they run out, the window opens as a whole.
 */
#define BLOCK_PAGES 16u

struct page_window {
    struct list link;
    struct page_store *store;
    uint64_t first_page;
    uint64_t page_count;
    uint8_t *address;
    uint64_t block_count;
    uint8_t *is_open; /* by block */
};

/* A signal handler has no argument to find them by. */
static struct list windows = LIST_INITIALIZER(windows);
static struct sigaction previous_action;

static uint64_t block_pages(const struct page_window *window, uint64_t block)
{
    return min_u64(BLOCK_PAGES, window->page_count - block * BLOCK_PAGES);
}

static void pin_block(struct page_window *window, uint64_t block)
{
    if (window->is_open[block])
        return;
    window->is_open[block] = 1;
    page_store_pin(window->store, window->first_page + block * BLOCK_PAGES,
                   block_pages(window, block));
}

/* False when the address lies in an open block already: then the fault is not for us. */
static bool open_block(struct page_window *window, const uint8_t *pointer)
{
    uint64_t block = (uint64_t)(pointer - window->address) / PAGE_BYTES / BLOCK_PAGES;

    if (window->is_open[block])
        return false;
    pin_block(window, block);
    if (mprotect(window->address + block * BLOCK_PAGES * PAGE_BYTES,
                 block_pages(window, block) * PAGE_BYTES, PROT_READ | PROT_WRITE) == 0)
        return true;
    for (block = 0; block < window->block_count; block++)
        pin_block(window, block);
    return mprotect(window->address, window->page_count * PAGE_BYTES, PROT_READ | PROT_WRITE) == 0;
}

struct page_window *page_window_find(const void *pointer)
{
    struct page_window *window;

    list_for_each (window, &windows, struct page_window, link) {
        uintptr_t offset = (uintptr_t)pointer - (uintptr_t)window->address;

        if ((uintptr_t)pointer >= (uintptr_t)window->address &&
            offset < window->page_count * PAGE_BYTES)
            return window;
    }
    return NULL;
}

static void on_fault(int signal, siginfo_t *info, void *context)
{
    struct page_window *window = page_window_find(info->si_addr);

    if (window && open_block(window, info->si_addr))
        return;
    if (previous_action.sa_flags & SA_SIGINFO)
        previous_action.sa_sigaction(signal, info, context);
    else if (previous_action.sa_handler != SIG_DFL && previous_action.sa_handler != SIG_IGN)
        previous_action.sa_handler(signal);
    else
        sigaction(signal, &previous_action, NULL); /* the access repeats, and ends the process */
}

static bool is_our_handler(const struct sigaction *action)
{
    return (action->sa_flags & SA_SIGINFO) && action->sa_sigaction == on_fault;
}

static bool install_handler(void)
{
    struct sigaction ours = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
    struct sigaction current;

    if (sigaction(SIGSEGV, NULL, &current))
        return false;
    if (is_our_handler(&current))
        return true;
    sigemptyset(&ours.sa_mask);
    previous_action = current;
    return sigaction(SIGSEGV, &ours, NULL) == 0;
}

/* With the last window, unless somebody has installed another since. */
static void remove_handler(void)
{
    struct sigaction current;

    if (list_is_empty(&windows) && sigaction(SIGSEGV, NULL, &current) == 0 &&
        is_our_handler(&current))
        sigaction(SIGSEGV, &previous_action, NULL);
}

struct page_window *page_window_open(struct page_store *store, uint64_t first_page,
                                     uint64_t page_count)
{
    const struct base_services *services = store->services;
    struct page_window *window;

    assert_pages(store, first_page, page_count);
    if (page_count == 0 || !install_handler())
        return NULL;
    window = base_alloc(services, sizeof *window);
    if (!window) {
        remove_handler();
        return NULL;
    }
    window->store = store;
    window->first_page = first_page;
    window->page_count = page_count;
    window->block_count = div_round_up(page_count, BLOCK_PAGES);
    window->is_open = base_alloc(services, window->block_count);
    if (!window->is_open)
        goto free_window;
    window->address = mmap(NULL, page_count * PAGE_BYTES, PROT_NONE, MAP_SHARED | MAP_NORESERVE,
                           store->arena_file, (off_t)(first_page * PAGE_BYTES));
    if (window->address == MAP_FAILED)
        goto free_blocks;
    list_push_front(&windows, &window->link);
    return window;

free_blocks:
    base_free(services, window->is_open, window->block_count);
free_window:
    base_free(services, window, sizeof *window);
    remove_handler();
    return NULL;
}

void page_window_close(struct page_window *window)
{
    const struct base_services *services;

    if (!window)
        return;
    services = window->store->services;
    list_remove(&window->link);
    remove_handler();
    munmap(window->address, window->page_count * PAGE_BYTES);
    for (uint64_t block = 0; block < window->block_count; block++)
        if (window->is_open[block])
            page_store_unpin(window->store, window->first_page + block * BLOCK_PAGES,
                             block_pages(window, block));
    base_free(services, window->is_open, window->block_count);
    base_free(services, window, sizeof *window);
}

uint8_t *page_window_address(const struct page_window *window)
{
    return window->address;
}
