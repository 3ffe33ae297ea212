#include "layers/transcript/retold.h"

#include "base/bits.h"
#include "layers/transcript/transcript.h"
#include "miniport/loans.h"
#include "nt/threads/scheduler.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#define PIECES_MOST  128u
#define HANDLES_MOST 1024u
#define HANDLE_LEAST UINT64_C(0x10000) /* smaller words are numbers */
#define DEPTH_MOST   64u               /* routines in routines */
#define SPACE_MOST   4096u
#define TEXT_BYTES   128u

/* A handle or an address, in the driver's run and in this one. */
struct handle {
    uint64_t theirs, ours;
};

/* Memory of the driver that manager or kernel reads. */
struct given {
    struct given *next;
    size_t bytes;
    uint64_t memory[];
};

#define OWN_MOST 2048u /* more than a recorder follows */

/* An event that the driver has set; number 0: none. */
struct own {
    struct machine_event event;
    struct retold *retold;
    uint64_t number;
};

struct retold {
    struct miniport miniport; /* first */
    struct retold_config config;
    struct transcript_reader reader;
    struct miniport_host *host;
    struct transcript_end entered;
    uint32_t version;
    unsigned depth;
    struct given *given;
    unsigned handle_count;
    struct handle handles[HANDLES_MOST];
    struct own own[OWN_MOST];
    char text[TEXT_BYTES];
};

static struct retold *retold_of(struct miniport *self)
{
    return (struct retold *)self;
}

/* ---- Where it does not fit ------------------------------------------------------------------- */

static void contradict(struct retold *retold, const char *format, ...)
    __attribute__((format(printf, 2, 3), noreturn));

static void contradict(struct retold *retold, const char *format, ...)
{
    char why[256];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(why, sizeof why, format, arguments);
    va_end(arguments);
    retold->config.stop(retold->config.context, RETOLD_CONTRADICTS, why);
    __builtin_unreachable();
}

static void need(struct retold *retold, bool is_so, const char *what)
{
    if (!is_so)
        contradict(retold, "%s makes no sense", what);
}

static struct transcript_item next(struct retold *retold)
{
    struct transcript_item item;

    if (!transcript_next(&retold->reader, &item))
        contradict(retold, "it ends, or cannot be read, at byte %llu of %llu",
                   (unsigned long long)retold->reader.at, (unsigned long long)retold->reader.size);
    if (item.kind == TRANSCRIPT_UNFOLLOWED) {
        snprintf(retold->text, sizeof retold->text, "%.*s",
                 (int)min_u64(item.tail_bytes, sizeof retold->text - 1), (const char *)item.tail);
        retold->config.stop(retold->config.context, RETOLD_UNFOLLOWED, retold->text);
    }
    nt_set_moment(retold->config.nt, &item.moment);
    return item;
}

/* ---- Handles --------------------------------------------------------------------------------- */

static void learn(struct retold *retold, uint64_t theirs, uint64_t ours)
{
    if (theirs < HANDLE_LEAST || theirs == ours)
        return;
    for (unsigned i = 0; i < retold->handle_count; i++) {
        if (retold->handles[i].theirs == theirs) {
            retold->handles[i].ours = ours;
            return;
        }
    }
    if (retold->handle_count == HANDLES_MOST)
        memmove(retold->handles, retold->handles + 1,
                --retold->handle_count * sizeof *retold->handles);
    retold->handles[retold->handle_count++] = (struct handle){theirs, ours};
}

static uint64_t ours_of(const struct retold *retold, uint64_t word)
{
    for (unsigned i = 0; word >= HANDLE_LEAST && i < retold->handle_count; i++) {
        if (retold->handles[i].theirs == word)
            return retold->handles[i].ours;
    }
    return word;
}

static void *handle_of(const struct retold *retold, uint64_t word)
{
    return (void *)(uintptr_t)ours_of(retold, word);
}

/* The same structure in both runs. */
static void learn_words(struct retold *retold, const uint8_t *theirs, const uint8_t *ours,
                        size_t bytes)
{
    for (size_t at = 0; at + 8 <= bytes; at += 8) {
        uint64_t their_word, our_word;

        memcpy(&their_word, theirs + at, sizeof their_word);
        memcpy(&our_word, ours + at, sizeof our_word);
        learn(retold, their_word, our_word);
    }
}

/* A copy of the structure of a callback. */
static void take_structure(struct retold *retold, const struct transcript_item *item,
                           void *structure, size_t bytes)
{
    need(retold, item->tail_bytes >= bytes, "the structure of a callback");
    memcpy(structure, item->tail, bytes);
}

/* A copy that lives as long as this run. */
static void *keep_bytes(struct retold *retold, const uint8_t *bytes, uint64_t count)
{
    struct given *given = base_alloc(retold->config.services, sizeof *given + count);

    need(retold, given != NULL, "so much memory of the driver's own");
    given->next = retold->given;
    given->bytes = count;
    memcpy(given->memory, bytes, count);
    retold->given = given;
    return given->memory;
}

static void replace_handle(const struct retold *retold, HANDLE *handle)
{
    *handle = handle_of(retold, (uintptr_t)*handle);
}

/* ---- What the driver does to the machine ----------------------------------------------------- */

static void use_register(struct retold *retold, const struct transcript_register *access)
{
    struct machine *machine = retold->config.machine;
    const uint64_t bytes = machine_register_bytes(machine);
    void *at;

    need(retold,
         is_power_of_two(access->size) && access->size <= 8 && access->offset < bytes &&
             access->size <= bytes - access->offset,
         "an access to a register");
    at = machine_map_physical(machine, machine_bar0_pa(machine) + access->offset, access->size);
    if (access->is_write)
        machine_write_register(machine, at, access->size, access->value);
    else
        machine_read_register(machine, at, access->size);
}

static void take_pages(struct retold *retold, const struct transcript_pages *pages,
                       const uint8_t *numbers, uint64_t bytes)
{
    struct machine *machine = retold->config.machine;

    need(retold, pages->count == bytes / sizeof(uint64_t), "a list of pages");
    for (uint64_t i = 0; i < pages->count; i++) {
        uint64_t theirs, ours;

        memcpy(&theirs, numbers + i * sizeof theirs, sizeof theirs);
        if (!machine_alloc_pages(machine, 1, &ours) || ours != theirs)
            contradict(retold, "it takes page 0x%llx, and the machine has another one to give",
                       (unsigned long long)theirs);
        page_store_fill(machine_ram(machine), ours * PAGE_BYTES, PAGE_BYTES, 0);
    }
}

static void give_pages(struct retold *retold, uint64_t count, const uint8_t *numbers,
                       uint64_t bytes)
{
    need(retold, count == bytes / sizeof(uint64_t), "a list of pages");
    for (uint64_t i = 0; i < count; i++) {
        uint64_t page;

        memcpy(&page, numbers + i * sizeof page, sizeof page);
        need(retold, machine_page_is_allocated(retold->config.machine, page), "a list of pages");
        machine_free_pages(retold->config.machine, &page, 1);
    }
}

static void use_range(struct retold *retold, bool takes, const struct transcript_pages *pages)
{
    struct machine *machine = retold->config.machine;
    uint64_t first;

    if (takes) {
        if (!machine_alloc_contiguous(machine, pages->count, pages->alignment, &first) ||
            first != pages->first)
            contradict(retold, "it takes pages from 0x%llx on, and the machine has others to give",
                       (unsigned long long)pages->first);
        return;
    }
    for (uint64_t i = 0; i < pages->count; i++)
        need(retold, machine_page_is_allocated(machine, pages->first + i), "a range of pages");
    machine_free_contiguous(machine, pages->first, pages->count);
}

static void write_memory(struct retold *retold, const struct transcript_memory *memory,
                         const uint8_t *bytes, uint64_t count)
{
    struct page_store *store = memory->is_local ? machine_local(retold->config.machine)
                                                : machine_ram(retold->config.machine);

    need(retold,
         store && memory->page < page_store_page_count(store) && memory->offset <= PAGE_BYTES &&
             count <= PAGE_BYTES - memory->offset,
         "a write to memory");
    page_store_write(store, memory->page * PAGE_BYTES + memory->offset, bytes, count);
}

static void configure(struct retold *retold, const struct transcript_item *item)
{
    const struct transcript_configure *at = item->structure;

    need(retold, at->offset <= UINT32_MAX && item->tail_bytes <= SPACE_MOST,
         "a write to configuration space");
    machine_pci_write(retold->config.machine, (uint32_t)at->offset, item->tail,
                      (uint32_t)item->tail_bytes);
}

/* ---- What it does at a time of its own ------------------------------------------------------- */

static struct transcript_item follow(struct retold *retold, enum transcript_kind until);

static void happen(void *context)
{
    struct own *own = context;
    struct retold *retold = own->retold;
    struct transcript_item item = next(retold);
    const struct transcript_event *event = item.structure;

    if (item.kind != TRANSCRIPT_EVENT || event->number != own->number)
        contradict(retold, "an event of the driver's happens, and it goes on with %s",
                   transcript_kind_name(item.kind));
    own->number = 0;
    need(retold, ++retold->depth < DEPTH_MOST, "an event in events");
    follow(retold, TRANSCRIPT_END);
    retold->depth--;
}

static struct own *find_own(struct retold *retold, uint64_t number)
{
    for (unsigned i = 0; i < OWN_MOST; i++) {
        if (retold->own[i].number == number)
            return &retold->own[i];
    }
    return NULL;
}

static void schedule(struct retold *retold, const struct transcript_event *event)
{
    struct own *own = find_own(retold, 0);

    need(retold, own && event->number && !find_own(retold, event->number), "an event that is set");
    own->retold = retold;
    own->number = event->number;
    machine_schedule(retold->config.machine, &own->event, event->time_ns, happen, own);
}

static void cancel(struct retold *retold, const struct transcript_event *event)
{
    struct own *own = event->number ? find_own(retold, event->number) : NULL;

    need(retold, own != NULL, "an event that is cancelled");
    machine_cancel(retold->config.machine, &own->event);
    own->number = 0;
}

/* ---- Callbacks ------------------------------------------------------------------------------- */

static BOOLEAN NTAPI run_routine(PVOID context)
{
    struct retold *retold = context;
    struct transcript_item item;
    const struct transcript_end *back;

    need(retold, ++retold->depth < DEPTH_MOST, "a routine in routines");
    item = follow(retold, TRANSCRIPT_END);
    retold->depth--;
    back = item.structure;
    return (BOOLEAN)back->value;
}

static uint64_t call_space(struct retold *retold, const struct transcript_callback *up,
                           const struct transcript_item *item)
{
    const bool is_write = up->name == TRANSCRIPT_write_device_space;
    uint8_t buffer[SPACE_MOST] = {0};
    struct miniport_space space = {(ULONG)up->arguments[0], buffer, (ULONG)up->arguments[1],
                                   (ULONG)up->arguments[2], 0};
    struct miniport_host *host = retold->host;

    need(retold, up->arguments[2] <= sizeof buffer && item->tail_bytes <= sizeof buffer,
         "an access to configuration space");
    memcpy(buffer, item->tail, item->tail_bytes);
    return (uint32_t)(is_write ? host->ops->write_device_space(host, &space)
                               : host->ops->read_device_space(host, &space));
}

static uint64_t call_map(struct retold *retold, const uint64_t *arguments, void **out_address)
{
    const PHYSICAL_ADDRESS translated = {.QuadPart = (LONGLONG)arguments[0]};

    return (uint32_t)retold->host->ops->map_memory(retold->host, translated, (ULONG)arguments[1],
                                                   (BOOLEAN)arguments[2], (BOOLEAN)arguments[3],
                                                   (ULONG)arguments[4], out_address);
}

static uint64_t call_synchronize(struct retold *retold, const uint64_t *arguments)
{
    BOOLEAN result = FALSE;

    return (uint32_t)retold->host->ops->synchronize_execution(
        retold->host, arguments[1] ? run_routine : NULL, retold, (ULONG)arguments[0],
        arguments[2] ? &result : NULL);
}

static uint64_t call_create_allocation(struct retold *retold, const struct transcript_item *item,
                                       void **out_handle)
{
    DXGKARGCB_CREATECONTEXTALLOCATION allocation;
    NTSTATUS status;

    take_structure(retold, item, &allocation, sizeof allocation);
    replace_handle(retold, &allocation.hDevice);
    replace_handle(retold, &allocation.hContext);
    status = retold->host->ops->create_context_allocation(retold->host, &allocation);
    if (NT_SUCCESS(status))
        *out_handle = allocation.hAllocation;
    return (uint32_t)status;
}

static uint64_t call_update(struct retold *retold, const struct transcript_item *item)
{
    DXGKARGCB_UPDATECONTEXTALLOCATION update;

    take_structure(retold, item, &update, sizeof update);
    replace_handle(retold, &update.hAllocation);
    need(retold,
         !update.pPrivateDriverData ||
             item->tail_bytes - sizeof update == update.PrivateDriverDataSize,
         "the private data of a callback");
    if (update.pPrivateDriverData)
        update.pPrivateDriverData = (void *)(uintptr_t)(item->tail + sizeof update);
    return (uint32_t)retold->host->ops->update_context_allocation(retold->host, &update);
}

static uint64_t call_reserve(struct retold *retold, const struct transcript_item *item,
                             uint64_t process)
{
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range;

    take_structure(retold, item, &range, sizeof range);
    replace_handle(retold, &range.hDxgkProcess);
    return (uint32_t)retold->host->ops->reserve_gpu_virtual_address_range(
        retold->host, handle_of(retold, process), &range);
}

/* The driver's MDL, as it was, lives as long as this run. */
static PMDL keep_mdl(struct retold *retold, const uint8_t *bytes, uint64_t size)
{
    PMDL mdl;

    need(retold, size >= sizeof *mdl, "an MDL");
    mdl = keep_bytes(retold, bytes, size);
    need(retold,
         size == sizeof *mdl + sizeof(PFN_NUMBER) *
                                   ADDRESS_AND_SIZE_TO_SPAN_PAGES(mdl->ByteOffset, mdl->ByteCount),
         "the pages of an MDL");
    return mdl;
}

/* The pointers of a request are those of this run. */
static uint64_t call_memory(struct retold *retold, const struct transcript_item *item,
                            uint64_t kind, void **out_address)
{
    struct miniport_memory_request request = {.kind = (enum miniport_memory_kind)kind};
    _Alignas(max_align_t) uint8_t structure[sizeof(DXGKARGCB_CREATE_PHYSICAL_MEMORY_OBJECT)];
    const size_t bytes = kind < MINIPORT_MEMORY_COUNT ? miniport_memory_bytes(request.kind) : 0;
    DXGKARGCB_UNMAP_PHYSICAL_MEMORY *unmap = (void *)structure;
    DXGKARGCB_MAPMDLTOIOMMU *map = (void *)structure;
    DXGKARGCB_FREE_ADL *adl = (void *)structure;
    DXGKARGCB_UNMAPFRAMEBUFFERPOINTER *piece = (void *)structure;
    NTSTATUS status;

    need(retold, bytes && bytes <= sizeof structure, "a request for memory");
    take_structure(retold, item, structure, bytes);
    request.any = structure;
    if (request.kind == MINIPORT_MEMORY_map_mdl && map->pMdl)
        map->pMdl = keep_mdl(retold, item->tail + bytes, item->tail_bytes - bytes);
    if (request.kind == MINIPORT_MEMORY_unmap_object)
        unmap->pBaseAddress = handle_of(retold, (uintptr_t)unmap->pBaseAddress);
    if (request.kind == MINIPORT_MEMORY_free_adl)
        adl->pAdl = handle_of(retold, (uintptr_t)adl->pAdl);
    if (request.kind == MINIPORT_MEMORY_unmap_save_area)
        piece->pBaseAddress = handle_of(retold, (uintptr_t)piece->pBaseAddress);
    status = retold->host->ops->memory(retold->host, &request);
    if (NT_SUCCESS(status) && request.kind == MINIPORT_MEMORY_map_object)
        *out_address = request.map_object->pMappedAddress;
    if (NT_SUCCESS(status) && request.kind == MINIPORT_MEMORY_allocate_adl)
        *out_address = request.allocate_adl->pAdl;
    if (NT_SUCCESS(status) && request.kind == MINIPORT_MEMORY_map_save_area)
        *out_address = request.map_save_area->pBaseAddress;
    return (uint32_t)status;
}

static const char *take_text(struct retold *retold, const struct transcript_item *item)
{
    snprintf(retold->text, sizeof retold->text, "%.*s",
             (int)min_u64(item->tail_bytes, sizeof retold->text - 1), (const char *)item->tail);
    return retold->text;
}

/* What the callback returns; *out_handle: what the driver gets, and its own run had another. */
/* Questions about modes, which the kernel had no answer to, come by another way than the others. */
static void tell_unsupported(struct miniport_host *host, const char *callback)
{
    struct miniport_display_request request = {.kind = MINIPORT_ASK_COUNT};

    for (unsigned kind = 0; kind < MINIPORT_ASK_COUNT; kind++) {
        if (strcmp(miniport_ask_name((enum miniport_ask_kind)kind), callback) == 0)
            request.kind = (enum miniport_ask_kind)kind;
    }
    if (request.kind == MINIPORT_ASK_COUNT)
        host->ops->unsupported(host, callback);
    else
        host->ops->display(host, &request);
}

static uint64_t call_up(struct retold *retold, const struct transcript_callback *up,
                        const struct transcript_item *item, void **out_handle)
{
    struct miniport_host *host = retold->host;
    const uint64_t *arguments = up->arguments;
    DXGKARGCB_NOTIFY_INTERRUPT_DATA interrupt;
    struct miniport_power_request power;
    DXGKARGCB_GETHANDLEDATA question;
    DXGKARGCB_ENUMHANDLECHILDREN children;
    DXGKARGCB_ISFEATUREENABLED feature;
    DXGKARGCB_INVALIDATEHWCONTEXT invalid;
    DXGKARGCB_MAPCONTEXTALLOCATION map;
    DXGK_DEVICE_INFO info;

    switch ((enum transcript_callback_name)up->name) {
    case TRANSCRIPT_get_device_information:
        return (uint32_t)host->ops->get_device_information(host, &info);
    case TRANSCRIPT_map_memory:
        return call_map(retold, arguments, out_handle);
    case TRANSCRIPT_unmap_memory:
        return (uint32_t)host->ops->unmap_memory(host, handle_of(retold, arguments[0]));
    case TRANSCRIPT_read_device_space:
    case TRANSCRIPT_write_device_space:
        return call_space(retold, up, item);
    case TRANSCRIPT_notify_interrupt:
        take_structure(retold, item, &interrupt, sizeof interrupt);
        if (interrupt.InterruptType == DXGK_INTERRUPT_DMA_PAGE_FAULTED)
            replace_handle(retold, &interrupt.DmaPageFaulted.FaultedProcessHandle);
        if (interrupt.InterruptType == DXGK_INTERRUPT_SUSPEND_CONTEXT_COMPLETED)
            replace_handle(retold, &interrupt.SuspendContextCompleted.hContext);
        host->ops->notify_interrupt(host, &interrupt);
        return 0;
    case TRANSCRIPT_notify_dpc:
        host->ops->notify_dpc(host);
        return 0;
    case TRANSCRIPT_queue_dpc:
        return host->ops->queue_dpc(host);
    case TRANSCRIPT_synchronize_execution:
        return call_synchronize(retold, arguments);
    case TRANSCRIPT_get_handle_data:
        take_structure(retold, item, &question, sizeof question);
        host->ops->get_handle_data(host, &question);
        return 0;
    case TRANSCRIPT_get_handle_parent:
        return host->ops->get_handle_parent(host, (D3DKMT_HANDLE)arguments[0]);
    case TRANSCRIPT_enum_handle_children:
        take_structure(retold, item, &children, sizeof children);
        return host->ops->enum_handle_children(host, &children);
    case TRANSCRIPT_reserve_gpu_virtual_address_range:
        return call_reserve(retold, item, arguments[0]);
    case TRANSCRIPT_create_context_allocation:
        return call_create_allocation(retold, item, out_handle);
    case TRANSCRIPT_is_feature_enabled:
        take_structure(retold, item, &feature, sizeof feature);
        return (uint32_t)host->ops->is_feature_enabled(host, &feature);
    case TRANSCRIPT_invalidate_hw_context:
        take_structure(retold, item, &invalid, sizeof invalid);
        replace_handle(retold, &invalid.hHwContext);
        return (uint32_t)host->ops->invalidate_hw_context(host, &invalid);
    case TRANSCRIPT_power:
        take_structure(retold, item, &power, sizeof power);
        return (uint32_t)host->ops->power(host, &power);
    case TRANSCRIPT_destroy_context_allocation:
        return (uint32_t)host->ops->destroy_context_allocation(host,
                                                               handle_of(retold, arguments[0]));
    case TRANSCRIPT_map_context_allocation:
        take_structure(retold, item, &map, sizeof map);
        replace_handle(retold, &map.hAllocation);
        return host->ops->map_context_allocation(host, &map);
    case TRANSCRIPT_update_context_allocation:
        return call_update(retold, item);
    case TRANSCRIPT_memory:
        return call_memory(retold, item, arguments[0], out_handle);
    case TRANSCRIPT_log:
        host->ops->log(host, take_text(retold, item));
        return 0;
    case TRANSCRIPT_unsupported:
        tell_unsupported(host, take_text(retold, item));
        return 0;
    case TRANSCRIPT_CALLBACKS:
        break;
    }
    contradict(retold, "it calls a function that there is none of");
}

static void do_callback(struct retold *retold, const struct transcript_item *item)
{
    const struct transcript_callback *up = item->structure;
    const struct transcript_result *result;
    struct transcript_item behind;
    void *handle = NULL;
    uint64_t value;

    need(retold, retold->host != NULL, "a callback before the start");
    value = call_up(retold, up, item, &handle);
    behind = next(retold);
    if (behind.kind != TRANSCRIPT_RESULT)
        contradict(retold, "behind a callback stands %s", transcript_kind_name(behind.kind));
    result = behind.structure;
    if (result->value != value)
        contradict(retold, "callback %u gave the driver 0x%llx, and gives 0x%llx here", up->name,
                   (unsigned long long)result->value, (unsigned long long)value);
    learn(retold, result->handle, (uintptr_t)handle);
}

/* ---- One item after the other ---------------------------------------------------------------- */

/* False: it is nothing that a driver does. */
static bool perform(struct retold *retold, const struct transcript_item *item)
{
    const struct transcript_pages *pages = item->structure;

    switch (item->kind) {
    case TRANSCRIPT_REGISTER:
        use_register(retold, item->structure);
        return true;
    case TRANSCRIPT_STALL:
        need(retold, pages->first <= TRANSCRIPT_MOST_NS, "time that passes");
        machine_run_until(retold->config.machine,
                          machine_now(retold->config.machine) + pages->first);
        return true;
    case TRANSCRIPT_CONFIGURE:
        configure(retold, item);
        return true;
    case TRANSCRIPT_SCHEDULE:
        schedule(retold, item->structure);
        return true;
    case TRANSCRIPT_CANCEL:
        cancel(retold, item->structure);
        return true;
    case TRANSCRIPT_NEXT:
        need(retold, machine_run_next(retold->config.machine), "a wait for nothing");
        return true;
    case TRANSCRIPT_TAKE:
        take_pages(retold, pages, item->tail, item->tail_bytes);
        return true;
    case TRANSCRIPT_GIVE:
        give_pages(retold, pages->count, item->tail, item->tail_bytes);
        return true;
    case TRANSCRIPT_TAKE_RANGE:
    case TRANSCRIPT_GIVE_RANGE:
        use_range(retold, item->kind == TRANSCRIPT_TAKE_RANGE, pages);
        return true;
    case TRANSCRIPT_MEMORY:
        write_memory(retold, item->structure, item->tail, item->tail_bytes);
        return true;
    case TRANSCRIPT_CALLBACK:
        do_callback(retold, item);
        return true;
    case TRANSCRIPT_CALL:
    case TRANSCRIPT_PATCH:
    case TRANSCRIPT_MOVE:
    case TRANSCRIPT_GIVEN:
    case TRANSCRIPT_RETURN:
    case TRANSCRIPT_END:
    case TRANSCRIPT_EVENT:
    case TRANSCRIPT_RESULT:
    case TRANSCRIPT_UNFOLLOWED:
    case TRANSCRIPT_KINDS:
        break;
    }
    return false;
}

/* Up to an item of that kind, which it gives. */
static struct transcript_item follow(struct retold *retold, enum transcript_kind until)
{
    for (;;) {
        struct transcript_item item = next(retold);

        if (item.kind == until)
            return item;
        if (!perform(retold, &item))
            contradict(retold, "it goes on with %s where %s is to come",
                       transcript_kind_name(item.kind), transcript_kind_name(until));
    }
}

/* ---- Calls ----------------------------------------------------------------------------------- */

struct call {
    struct loan_piece pieces[PIECES_MOST];
    int64_t moved[PIECES_MOST];
    unsigned count;
};

/* Calls whose arguments have handles of the manager's that callbacks name again. */
static bool has_handles(enum miniport_ddi ddi)
{
    return ddi == MINIPORT_DDI_CreateProcess || ddi == MINIPORT_DDI_CreateDevice ||
           ddi == MINIPORT_DDI_CreateContext || ddi == MINIPORT_DDI_CreateNativeFence;
}

static void begin(struct retold *retold, enum miniport_ddi ddi, const void *argument, size_t bytes)
{
    struct transcript_item item = next(retold);
    const struct transcript_call *call = item.structure;

    if (item.kind != TRANSCRIPT_CALL)
        contradict(retold, "%s is called, and it goes on with %s", miniport_ddi_name(ddi),
                   transcript_kind_name(item.kind));
    if (call->ddi != (uint32_t)ddi || item.tail_bytes != bytes)
        contradict(retold, "%s is called, and it answers %s", miniport_ddi_name(ddi),
                   call->ddi < MINIPORT_DDI_COUNT ? miniport_ddi_name((enum miniport_ddi)call->ddi)
                                                  : "nothing that there is");
    if (has_handles(ddi))
        learn_words(retold, item.tail, argument, bytes);
}

static void patch(struct retold *retold, struct call *call, const struct transcript_item *item)
{
    const struct transcript_patch *at = item->structure;

    need(retold,
         at->piece < call->count && at->offset <= call->pieces[at->piece].bytes &&
             item->tail_bytes <= call->pieces[at->piece].bytes - at->offset,
         "an answer");
    memcpy((char *)call->pieces[at->piece].memory + at->offset, item->tail, item->tail_bytes);
}

/* Pointers are the caller's, as far as the driver moved them. */
static void put_pointers(struct call *call)
{
    for (unsigned i = 0; i < call->count; i++) {
        const struct loan_piece *piece = &call->pieces[i];
        const char *pointer = (const char *)piece->memory + call->moved[i];

        if (piece->cell)
            memcpy(piece->cell, &pointer, sizeof pointer);
    }
}

/* The pointer of an answer leads to a copy of these bytes. */
static void give(struct retold *retold, struct call *call, const struct transcript_item *item)
{
    const struct transcript_patch *at = item->structure;
    void *memory;

    need(retold,
         at->piece < call->count && call->pieces[at->piece].bytes >= sizeof memory &&
             at->offset <= call->pieces[at->piece].bytes - sizeof memory,
         "an answer");
    memory = keep_bytes(retold, item->tail, item->tail_bytes);
    memcpy((char *)call->pieces[at->piece].memory + at->offset, &memory, sizeof memory);
    for (unsigned i = 0; i < call->count; i++) {
        if (call->pieces[i].cell == (char *)call->pieces[at->piece].memory + at->offset)
            call->pieces[i].cell = NULL; /* the pointer stays as it is now */
    }
}

/* Up to the return from the call. */
static uint64_t answer(struct retold *retold, struct call *call)
{
    for (;;) {
        struct transcript_item item = next(retold);
        const struct transcript_move *move = item.structure;
        const struct transcript_return *back = item.structure;

        if (item.kind == TRANSCRIPT_PATCH) {
            patch(retold, call, &item);
        } else if (item.kind == TRANSCRIPT_MOVE) {
            need(retold, move->piece < call->count && call->pieces[move->piece].cell, "an answer");
            call->moved[move->piece] = move->distance;
        } else if (item.kind == TRANSCRIPT_GIVEN) {
            give(retold, call, &item);
        } else if (item.kind == TRANSCRIPT_RETURN) {
            retold->version = back->version;
            return back->value;
        } else if (!perform(retold, &item)) {
            contradict(retold, "it goes on with %s where a call is to return",
                       transcript_kind_name(item.kind));
        }
    }
}

/* bytes 0: the function has no argument structure. */
static uint64_t play(struct retold *retold, enum miniport_ddi ddi, const void *argument,
                     size_t bytes, bool is_const)
{
    struct call call = {.count = 0};
    uint8_t before[sizeof(DXGKARG_BUILDPAGINGBUFFER) + 512];
    uint64_t value;

    begin(retold, ddi, argument, bytes);
    need(retold, bytes <= sizeof before, "a call");
    if (bytes) {
        memcpy(before, argument, bytes);
        call.count = (unsigned)min_u64(
            loans_collect(ddi, (void *)(uintptr_t)argument, bytes, call.pieces, PIECES_MOST),
            PIECES_MOST);
    }
    value = answer(retold, &call);
    if (bytes && loans_of(ddi))
        loans_restore(ddi, (void *)(uintptr_t)argument, before, bytes, is_const);
    put_pointers(&call);
    return value;
}

#define X(function, ddi, argument)                                                                 \
    static NTSTATUS retold_##function(struct miniport *self, HANDLE object, argument arg)          \
    {                                                                                              \
        return (NTSTATUS)play(retold_of(self), MINIPORT_DDI_##ddi, arg, sizeof *arg,               \
                              LOANS_IS_CONST(arg));                                                \
    }
MINIPORT_DDI_LIST(X)
#undef X

#define RETOLD_PLAIN(function, ddi, ...)                                                           \
    static NTSTATUS retold_##function(__VA_ARGS__)                                                 \
    {                                                                                              \
        return (NTSTATUS)play(retold_of(self), MINIPORT_DDI_##ddi, NULL, 0, true);                 \
    }
#define X(function, ddi) RETOLD_PLAIN(function, ddi, struct miniport *self, HANDLE object)
MINIPORT_PLAIN_LIST(X)
#undef X
RETOLD_PLAIN(add_device, AddDevice, struct miniport *self)
RETOLD_PLAIN(stop_device, StopDevice, struct miniport *self)
RETOLD_PLAIN(remove_device, RemoveDevice, struct miniport *self)
RETOLD_PLAIN(set_power_state, SetPowerState, struct miniport *self, ULONG uid,
             DEVICE_POWER_STATE state, POWER_ACTION action)
RETOLD_PLAIN(notify_surprise_removal, NotifySurpriseRemoval, struct miniport *self,
             DXGK_SURPRISE_REMOVAL_TYPE type)

static NTSTATUS retold_start_device(struct miniport *self, const DXGK_START_INFO *start,
                                    ULONG *video_present_sources, ULONG *children)
{
    struct loan_start_device lent = {(DXGK_START_INFO *)(uintptr_t)start, video_present_sources,
                                     children};

    return (NTSTATUS)play(retold_of(self), MINIPORT_DDI_StartDevice, &lent, sizeof lent, false);
}

static SIZE_T retold_get_root_page_table_size(struct miniport *self,
                                              DXGKARG_GETROOTPAGETABLESIZE *arg)
{
    return play(retold_of(self), MINIPORT_DDI_GetRootPageTableSize, arg, sizeof *arg, false);
}

static bool retold_interrupt(struct miniport *self, ULONG message)
{
    return play(retold_of(self), MINIPORT_DDI_InterruptRoutine, NULL, 0, true) != 0;
}

static void retold_dpc(struct miniport *self)
{
    play(retold_of(self), MINIPORT_DDI_DpcRoutine, NULL, 0, true);
}

static bool retold_has(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi < MINIPORT_DDI_COUNT && retold_of(self)->entered.has[ddi / 64] >> (ddi % 64) & 1;
}

static ULONG retold_interface_version(struct miniport *self)
{
    return retold_of(self)->version;
}

static void retold_set_host(struct miniport *self, struct miniport_host *host)
{
    retold_of(self)->host = host;
}

static void retold_keep(struct miniport *self)
{
}

static const struct miniport_ops retold_ops = {
    .name = "retold",
    .destroy = retold_keep,
    .interface_version = retold_interface_version,
    .set_host = retold_set_host,
    .has = retold_has,
    .add_device = retold_add_device,
    .start_device = retold_start_device,
    .stop_device = retold_stop_device,
    .remove_device = retold_remove_device,
    .set_power_state = retold_set_power_state,
    .notify_surprise_removal = retold_notify_surprise_removal,
    .interrupt = retold_interrupt,
    .dpc = retold_dpc,
    .get_root_page_table_size = retold_get_root_page_table_size,
#define X(function, ddi, argument) .function = retold_##function,
    MINIPORT_DDI_LIST(X)
#undef X
#define X(function, ddi) .function = retold_##function,
        MINIPORT_PLAIN_LIST(X)
#undef X
};

/* ---- Life ------------------------------------------------------------------------------------ */

NTSTATUS retold_create(const struct retold_config *config, struct retold **out_retold)
{
    struct retold *retold = base_alloc(config->services, sizeof *retold);

    *out_retold = retold;
    if (!retold)
        return STATUS_NO_MEMORY;
    retold->miniport.ops = &retold_ops;
    retold->config = *config;
    retold->reader = (struct transcript_reader){config->bytes, config->size, 0};
    return STATUS_SUCCESS;
}

void retold_destroy(struct retold *retold)
{
    if (!retold)
        return;
    for (unsigned i = 0; i < OWN_MOST; i++)
        machine_cancel(retold->config.machine, &retold->own[i].event);
    while (retold->given) {
        struct given *given = retold->given;

        retold->given = given->next;
        base_free(retold->config.services, given, sizeof *given + given->bytes);
    }
    base_free(retold->config.services, retold, sizeof *retold);
}

void retold_enter(struct retold *retold)
{
    struct transcript_item item = follow(retold, TRANSCRIPT_END);

    memcpy(&retold->entered, item.structure, sizeof retold->entered);
    retold->version = retold->entered.version;
}

void retold_unload(struct retold *retold)
{
    if (retold)
        follow(retold, TRANSCRIPT_END);
}

void retold_ask_anew(struct retold *retold)
{
    retold->version = retold->entered.version;
}

struct miniport *retold_miniport(struct retold *retold)
{
    return &retold->miniport;
}
