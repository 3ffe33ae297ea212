#include "layers/lowered_size.h"
#include "layers/deny.h"
#include "layers/dma_buffer_size.h"
#include "layers/hostile_client.h"
#include "layers/lend.h"
#include "layers/probe.h"
#include "layers/user_memory.h"

#include "base/bits.h"
#include "miniport/operation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

/* A bottom that looks at what it is given. */
struct seen {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    unsigned calls, unknown;
    ULONG offset;
    PFN_NUMBER pages[32];
    ULONG page_count;
    UINT moves;   /* how far it moves the pointer for what it does not know */
    bool is_full; /* what has a buffer does not fit */
};

static NTSTATUS see_build(struct miniport *self, HANDLE object, DXGKARG_BUILDPAGINGBUFFER *arg)
{
    struct seen *seen = (struct seen *)self;

    if ((unsigned)arg->Operation >= MINIPORT_OPERATION_COUNT) {
        seen->unknown++;
        arg->pDmaBuffer = (char *)arg->pDmaBuffer + seen->moves;
        return STATUS_SUCCESS;
    }
    seen->calls++;
    if (arg->Operation == DXGK_OPERATION_TRANSFER) {
        const MDL *mdl = arg->Transfer.Destination.pMdl;

        seen->offset = arg->Transfer.MdlOffset;
        seen->page_count = mdl->ByteCount / PAGE_BYTES;
        memcpy(seen->pages, MmGetMdlPfnArray(mdl), seen->page_count * sizeof seen->pages[0]);
    }
    if (seen->is_full && arg->pDmaBuffer)
        return STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER;
    return STATUS_SUCCESS;
}

static void see_nothing(struct miniport *self)
{
}

static void init_seen(struct seen *seen)
{
    memset(seen, 0, sizeof *seen);
    seen->ops = miniport_forward_ops;
    seen->ops.build_paging_buffer = see_build;
    seen->ops.destroy = see_nothing;
    seen->miniport.ops = &seen->ops;
}

static void the_driver_finds_its_pages_where_the_offset_says(void **state)
{
    struct {
        MDL head;
        PFN_NUMBER pages[8];
    } list = {.head.ByteCount = 8 * PAGE_BYTES, .head.Size = sizeof list};
    unsigned shifted = 0, windows = 0;

    for (unsigned i = 0; i < 8; i++)
        list.pages[i] = 100 + i;
    for (uint64_t seed = 0; seed < 64; seed++) {
        struct seen seen;
        struct miniport *lend;
        DXGKARG_BUILDPAGINGBUFFER arg = {.Operation = DXGK_OPERATION_TRANSFER};

        init_seen(&seen);
        assert_int_equal(lend_layer_create(base_services_libc(), seed, &seen.miniport, &lend), 0);
        arg.Transfer.Source.SegmentId = 1;
        arg.Transfer.TransferSize = 3 * PAGE_BYTES;
        arg.Transfer.MdlOffset = 2;
        arg.Transfer.Destination.pMdl = &list.head;
        assert_int_equal(miniport_build_paging_buffer(lend, NULL, &arg), STATUS_SUCCESS);
        if (seen.page_count == seen.offset + 3) { /* the pages of the piece, and nothing behind */
            windows++;
            assert_true(seen.offset <= LEND_MOST_BEFORE);
        } else {
            assert_true(seen.offset >= 2 && seen.offset <= 2 + LEND_MOST_BEFORE);
            assert_int_equal(seen.page_count, 8 + seen.offset - 2);
        }
        for (ULONG i = 0; i < seen.page_count; i++) {
            if (i >= seen.offset && i < seen.offset + 3)
                assert_int_equal(seen.pages[i], 102 + i - seen.offset);
            else
                assert_int_equal(seen.pages[i], LEND_POISON_PAGE);
        }
        assert_int_equal(arg.Transfer.MdlOffset, 2); /* the kernel's own is untouched */
        if (seed == 0)
            assert_int_equal(seen.offset, 2);
        shifted += seen.offset != 2;
        miniport_destroy(lend);
    }
    assert_true(shifted > 16);
    assert_in_range(windows, 4, 32);
}

static void a_probe_leaves_no_trace(void **state)
{
    struct seen seen;
    struct miniport *probe;
    char buffer[4096];

    init_seen(&seen);
    seen.moves = 64;
    assert_int_equal(probe_layer_create(base_services_libc(), 7, &seen.miniport, &probe), 0);
    for (unsigned i = 0; i < 1000; i++) {
        DXGKARG_BUILDPAGINGBUFFER arg = {
            .Operation = DXGK_OPERATION_FILL, .pDmaBuffer = buffer, .DmaSize = sizeof buffer};

        assert_int_equal(miniport_build_paging_buffer(probe, NULL, &arg), STATUS_SUCCESS);
        assert_ptr_equal(arg.pDmaBuffer, buffer);
    }
    assert_int_equal(seen.calls, 1000);
    assert_in_range(seen.unknown, 5, 60);
    miniport_destroy(probe);
}

/* A driver whose start asks for both, and a kernel that grants everything and counts. */
struct denied {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    struct miniport_host kernel;
    struct miniport_host *host; /* the driver's */
    unsigned asked, mapped, created, updated;
};

static struct denied *denied_of(struct miniport_host *kernel)
{
    return (struct denied *)((char *)kernel - offsetof(struct denied, kernel));
}

static NTSTATUS grant_information(struct miniport_host *kernel, DXGK_DEVICE_INFO *info)
{
    denied_of(kernel)->asked++;
    return STATUS_SUCCESS;
}

static NTSTATUS grant_map(struct miniport_host *kernel, PHYSICAL_ADDRESS translated, ULONG length,
                          BOOLEAN in_io_space, BOOLEAN map_to_user_mode, ULONG cache_type,
                          PVOID *virtual_address)
{
    denied_of(kernel)->mapped++;
    return STATUS_SUCCESS;
}

static NTSTATUS grant_create(struct miniport_host *kernel,
                             DXGKARGCB_CREATECONTEXTALLOCATION *allocation)
{
    denied_of(kernel)->created++;
    return STATUS_SUCCESS;
}

static NTSTATUS grant_update(struct miniport_host *kernel,
                             const DXGKARGCB_UPDATECONTEXTALLOCATION *update)
{
    denied_of(kernel)->updated++;
    return STATUS_SUCCESS;
}

static NTSTATUS grant_range(struct miniport_host *kernel, HANDLE process,
                            DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE *range)
{
    return STATUS_SUCCESS;
}

static NTSTATUS grant_memory(struct miniport_host *kernel,
                             const struct miniport_memory_request *request)
{
    return STATUS_SUCCESS;
}

static const struct miniport_host_ops granting_ops = {.memory = grant_memory,
                                                      .reserve_gpu_virtual_address_range =
                                                          grant_range,
                                                      .get_device_information = grant_information,
                                                      .map_memory = grant_map,
                                                      .create_context_allocation = grant_create,
                                                      .update_context_allocation = grant_update};

static NTSTATUS start_denied(struct miniport *self, const DXGK_START_INFO *start, ULONG *sources,
                             ULONG *children)
{
    struct miniport_host *host = ((struct denied *)self)->host;
    DXGK_DEVICE_INFO info;
    PVOID address;
    NTSTATUS status = host->ops->get_device_information(host, &info);

    for (unsigned i = 0; NT_SUCCESS(status) && i < 2; i++)
        status =
            host->ops->map_memory(host, (PHYSICAL_ADDRESS){0}, 4096, FALSE, FALSE, 0, &address);
    return status;
}

static NTSTATUS create_denied(struct miniport *self, HANDLE object, DXGKARG_CREATEPROCESS *arg)
{
    struct miniport_host *host = ((struct denied *)self)->host;
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = {0};

    return host->ops->reserve_gpu_virtual_address_range(host, NULL, &range);
}

static void keep_host(struct miniport *self, struct miniport_host *host)
{
    ((struct denied *)self)->host = host;
}

static struct miniport *raise_denied(struct denied *denied, unsigned kinds, uint64_t seed)
{
    struct miniport *deny;

    memset(denied, 0, sizeof *denied);
    denied->ops = miniport_forward_ops;
    denied->ops.start_device = start_denied;
    denied->ops.create_process = create_denied;
    denied->ops.set_host = keep_host;
    denied->ops.destroy = see_nothing;
    denied->miniport.ops = &denied->ops;
    denied->kernel.ops = &granting_ops;
    assert_int_equal(deny_layer_create(base_services_libc(), kinds, seed, &denied->miniport, &deny),
                     0);
    miniport_set_host(deny, &denied->kernel);
    return deny;
}

static void the_first_start_fails_and_no_other(void **state)
{
    unsigned without_information = 0, behind_a_mapping = 0;

    for (uint64_t seed = 0; seed < 64; seed++) {
        struct denied denied;
        struct miniport *deny = raise_denied(&denied, DENY_START, seed);
        const DXGK_START_INFO start = {0};
        ULONG sources, children;

        assert_int_equal(miniport_start_device(deny, &start, &sources, &children),
                         STATUS_NO_MEMORY);
        assert_in_range(denied.mapped, 0, denied.asked ? 1 : 0);
        without_information += denied.asked == 0;
        behind_a_mapping += denied.mapped;
        denied.mapped = 0;
        assert_int_equal(miniport_start_device(deny, &start, &sources, &children), STATUS_SUCCESS);
        assert_int_equal(denied.mapped, 2);
        assert_int_equal(deny_layer_count(deny), 1);
        assert_int_equal(denied.host->ops->create_context_allocation(denied.host, NULL),
                         STATUS_SUCCESS);
        miniport_destroy(deny);
    }
    assert_in_range(without_information, 16, 48);
    assert_in_range(behind_a_mapping, 8, 32);
}

/* That of the paging process is a part of the start. */
static void who_asks_again_gets_a_range_for_an_application(void **state)
{
    struct denied denied;
    struct miniport *deny = raise_denied(&denied, DENY_RESERVED_RANGES, 3);
    DXGKARG_CREATEPROCESS process = {0};
    unsigned refused = 0;

    process.Flags.SystemProcess = 1;
    for (unsigned i = 0; i < 100; i++)
        assert_int_equal(miniport_create_process(deny, NULL, &process), STATUS_SUCCESS);
    process.Flags.SystemProcess = 0;
    for (unsigned i = 0; i < 100; i++) {
        NTSTATUS status = miniport_create_process(deny, NULL, &process);

        refused += status == STATUS_NO_MEMORY;
        if (!NT_SUCCESS(status))
            assert_int_equal(miniport_create_process(deny, NULL, &process), STATUS_SUCCESS);
    }
    assert_in_range(refused, 5, 100 / 2);
    assert_int_equal(deny_layer_count(deny), refused);
    miniport_destroy(deny);
}

/* Half of them; what is mapped in pieces is there. */
static void the_save_area_cannot_always_be_had_whole(void **state)
{
    struct denied denied;
    struct miniport *deny = raise_denied(&denied, DENY_SAVE_AREA, 3);
    unsigned refused = 0;

    for (unsigned i = 0; i < 100; i++) {
        const struct miniport_memory_request pin = {
            i & 1 ? MINIPORT_MEMORY_pin_save_area : MINIPORT_MEMORY_pin_save_area_2, {NULL}};
        const struct miniport_memory_request map = {MINIPORT_MEMORY_map_save_area, {NULL}};

        refused += denied.host->ops->memory(denied.host, &pin) == STATUS_NO_MEMORY;
        assert_int_equal(denied.host->ops->memory(denied.host, &map), STATUS_SUCCESS);
    }
    assert_in_range(refused, 30, 70);
    assert_int_equal(deny_layer_count(deny), refused);
    miniport_destroy(deny);
    deny = raise_denied(&denied, DENY_START, 3);
    assert_int_equal(
        denied.host->ops->memory(
            denied.host, &(struct miniport_memory_request){MINIPORT_MEMORY_pin_save_area, {NULL}}),
        STATUS_SUCCESS);
    miniport_destroy(deny);
}

static void who_asks_again_gets_a_context_allocation(void **state)
{
    struct denied denied;
    struct miniport *deny = raise_denied(&denied, DENY_CONTEXT_ALLOCATIONS, 3);
    const DXGK_START_INFO start = {0};
    ULONG sources, children;
    unsigned refused = 0, since = DENY_GRACE;

    assert_int_equal(miniport_start_device(deny, &start, &sources, &children), STATUS_SUCCESS);
    for (unsigned i = 0; i < 1000; i++) {
        NTSTATUS status = i & 1 ? denied.host->ops->create_context_allocation(denied.host, NULL)
                                : denied.host->ops->update_context_allocation(denied.host, NULL);

        if (NT_SUCCESS(status)) {
            since++;
            continue;
        }
        assert_int_equal(status, STATUS_NO_MEMORY);
        assert_true(since >= DENY_GRACE);
        since = 0;
        refused++;
    }
    assert_in_range(refused, 50, 1000 / DENY_GRACE);
    assert_int_equal(deny_layer_count(deny), refused);
    assert_int_equal(denied.created + denied.updated, 1000 - refused);
    miniport_destroy(deny);
}

static void what_was_written_is_counted(void **state)
{
    static const UINT moves[] = {0, 64, 4096};

    for (size_t i = 0; i < ARRAY_COUNT(moves); i++) {
        struct seen seen;
        struct miniport *counts;
        char buffer[4096];
        DXGKARG_BUILDPAGINGBUFFER arg = {
            .Operation = (DXGK_BUILDPAGINGBUFFER_OPERATION)MINIPORT_OPERATION_COUNT,
            .pDmaBuffer = buffer,
            .DmaSize = sizeof buffer};

        init_seen(&seen);
        seen.moves = moves[i];
        assert_int_equal(lowered_size_layer_create(base_services_libc(), &seen.miniport, &counts),
                         0);
        assert_int_equal(miniport_build_paging_buffer(counts, NULL, &arg), STATUS_SUCCESS);
        assert_ptr_equal(arg.pDmaBuffer, buffer + moves[i]);
        assert_int_equal(arg.DmaSize, sizeof buffer - moves[i]);
        miniport_destroy(counts);
    }
}

/*
 * PB-010: calls without a buffer may come between a part and its repeat, and probes still do not.
 */
static void no_probe_comes_before_a_repeat(void **state)
{
    struct seen seen;
    struct miniport *probe;
    char buffer[4096];
    unsigned in_front = 0;

    init_seen(&seen);
    assert_int_equal(probe_layer_create(base_services_libc(), 7, &seen.miniport, &probe), 0);
    for (unsigned i = 0; i < 1000; i++) {
        DXGKARG_BUILDPAGINGBUFFER arg = {
            .Operation = DXGK_OPERATION_FILL, .pDmaBuffer = buffer, .DmaSize = sizeof buffer};
        DXGKARG_BUILDPAGINGBUFFER at_once = {.Operation = DXGK_OPERATION_UPDATE_PAGE_TABLE};

        seen.is_full = true;
        assert_int_equal(miniport_build_paging_buffer(probe, NULL, &arg),
                         STATUS_GRAPHICS_INSUFFICIENT_DMA_BUFFER);
        in_front = seen.unknown;
        assert_int_equal(miniport_build_paging_buffer(probe, NULL, &at_once), STATUS_SUCCESS);
        seen.is_full = false;
        assert_int_equal(miniport_build_paging_buffer(probe, NULL, &arg), STATUS_SUCCESS);
        assert_int_equal(seen.unknown, in_front);
    }
    assert_in_range(seen.unknown, 5, 60);
    miniport_destroy(probe);
}

/* ---- Memory of the client -------------------------------------------------------------------- */

#define COMMAND_WORDS 40u

/* A driver that looks at words of its client, and how it does. */
struct reader {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    bool reads_again;      /* looks at each word, then takes it */
    unsigned calls, begun; /* of Render, and trials */
    unsigned refused,
        differs; /* a bad word was found, a word was taken that was none of the good */
    uint32_t original[COMMAND_WORDS];
};

/* Good words are 1 to COMMAND_WORDS, in their order. */
static NTSTATUS read_commands(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct reader *reader = (struct reader *)self;
    const volatile uint32_t *words = arg->pCommand;

    reader->calls++;
    for (uint32_t i = 0; i < arg->CommandLength / sizeof *words; i++) {
        const uint32_t looked_at = words[i];

        if (looked_at != i + 1) {
            reader->refused++;
            return STATUS_INVALID_USER_BUFFER;
        }
        reader->differs += (reader->reads_again ? words[i] : looked_at) != i + 1;
    }
    memset(arg->pDmaBufferPrivateData, 0xee, arg->DmaBufferPrivateDataSize);
    arg->pDmaBuffer = (char *)arg->pDmaBuffer + 8;
    return STATUS_SUCCESS;
}

/* ---- DMA buffers of another size ------------------------------------------------------------- */

static NTSTATUS describe_context(struct miniport *self, HANDLE object, DXGKARG_CREATECONTEXT *args)
{
    args->ContextInfo.DmaBufferSize = args->NodeOrdinal ? 0 : 4096;
    args->ContextInfo.AllocationListSize = 7;
    return args->NodeOrdinal == 2 ? STATUS_NO_MEMORY : STATUS_SUCCESS;
}

static NTSTATUS describe_device(struct miniport *self, HANDLE object, DXGKARG_CREATEDEVICE *args)
{
    args->pInfo->DmaBufferSize = 4096;
    return STATUS_SUCCESS;
}

static bool has_contexts(struct miniport *self, enum miniport_ddi ddi)
{
    return true;
}

static bool has_no_contexts(struct miniport *self, enum miniport_ddi ddi)
{
    return ddi != MINIPORT_DDI_CreateContext;
}

/* Of a client's context, or of a device where there are no contexts; nothing where it was 0. */
static void a_driver_declares_dma_buffers_of_another_size(void **state)
{
    struct miniport_ops ops = miniport_forward_ops;
    struct miniport bottom = {.ops = &ops};
    DXGKARG_CREATECONTEXT context = {.NodeOrdinal = 0};
    DXGK_DEVICEINFO info = {0};
    DXGKARG_CREATEDEVICE device = {.pInfo = &info};
    struct miniport *layer;

    ops.destroy = see_nothing;
    ops.has = has_contexts;
    ops.create_context = describe_context;
    ops.create_device = describe_device;
    assert_int_equal(dma_buffer_size_layer_create(base_services_libc(), 128, &bottom, &layer), 0);
    assert_int_equal(miniport_create_context(layer, NULL, &context), STATUS_SUCCESS);
    assert_int_equal(context.ContextInfo.DmaBufferSize, 128);
    assert_int_equal(context.ContextInfo.AllocationListSize, 7);
    context.Flags.SystemContext = 1;
    assert_int_equal(miniport_create_context(layer, NULL, &context), STATUS_SUCCESS);
    assert_int_equal(context.ContextInfo.DmaBufferSize, 4096);
    context.Flags.SystemContext = 0;
    context.NodeOrdinal = 1;
    assert_int_equal(miniport_create_context(layer, NULL, &context), STATUS_SUCCESS);
    assert_int_equal(context.ContextInfo.DmaBufferSize, 0);
    assert_int_equal(miniport_create_device(layer, NULL, &device), STATUS_SUCCESS);
    assert_int_equal(info.DmaBufferSize, 4096); /* nobody reads it */
    ops.has = has_no_contexts;
    assert_int_equal(miniport_create_device(layer, NULL, &device), STATUS_SUCCESS);
    assert_int_equal(info.DmaBufferSize, 128);
    miniport_destroy(layer);
}

static void count_begin(void *context)
{
    ((struct reader *)context)->begun++;
}

static void play_reader(struct reader *reader, bool reads_again, uint64_t seed)
{
    const struct user_memory_config config = {
        .seed = seed, .context = reader, .begin = count_begin};
    char buffer[64], private_data[16];
    struct miniport *user;

    memset(reader, 0, sizeof *reader);
    reader->ops = miniport_forward_ops;
    reader->ops.render = read_commands;
    reader->ops.destroy = see_nothing;
    reader->miniport.ops = &reader->ops;
    reader->reads_again = reads_again;
    for (uint32_t i = 0; i < COMMAND_WORDS; i++)
        reader->original[i] = i + 1;
    assert_int_equal(
        user_memory_layer_create(base_services_libc(), &config, &reader->miniport, &user), 0);
    for (unsigned i = 0; i < 64; i++) {
        DXGKARG_RENDER arg = {.pCommand = reader->original,
                              .CommandLength = sizeof reader->original,
                              .pDmaBuffer = buffer,
                              .DmaSize = sizeof buffer,
                              .pDmaBufferPrivateData = private_data,
                              .DmaBufferPrivateDataSize = sizeof private_data};
        unsigned refused = reader->refused;

        memset(private_data, 0x11, sizeof private_data);
        assert_int_equal(miniport_render(user, NULL, &arg), STATUS_SUCCESS);
        assert_ptr_equal(arg.pDmaBuffer, buffer + 8); /* as if there had been no trial */
        assert_ptr_equal(arg.pCommand, reader->original);
        assert_in_range(reader->refused - refused, 0, 1);
    }
    assert_int_equal(reader->calls, 64 + reader->begun);
    assert_in_range(user_memory_layer_counts(user).trials, 4, 16);
    assert_int_equal(user_memory_layer_counts(user).gone, 0); /* nobody handles exceptions */
    miniport_destroy(user);
}

static void who_reads_a_word_once_never_uses_what_it_has_not_looked_at(void **state)
{
    struct reader reader;

    for (uint64_t seed = 1; seed <= 8; seed++) {
        play_reader(&reader, false, seed);
        assert_int_equal(reader.differs, 0);
        assert_true(reader.refused > 0); /* words changed that it had yet to read */
    }
}

static void who_reads_it_again_gets_another_one(void **state)
{
    unsigned differs = 0;
    struct reader reader;

    for (uint64_t seed = 1; seed <= 8; seed++) {
        play_reader(&reader, true, seed);
        differs += reader.differs > 0;
    }
    assert_true(differs >= 6);
}

/* A driver that knows its commands, and what it has met. */
struct client_seen {
    struct miniport miniport; /* first */
    struct miniport_ops ops;
    unsigned calls, short_lists, cuts, words;
    uint32_t original[COMMAND_WORDS];
};

static NTSTATUS see_client(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    struct client_seen *seen = (struct client_seen *)self;
    unsigned others = 0;

    seen->calls++;
    for (uint32_t i = 0; i < arg->CommandLength / sizeof(uint32_t); i++)
        others += ((const uint32_t *)arg->pCommand)[i] != seen->original[i];
    assert_in_range(others, 0, 1);
    assert_int_equal(((const char *)arg->pDmaBufferPrivateData)[arg->DmaBufferPrivateDataSize - 1],
                     0x11);
    seen->words += others;
    seen->cuts += arg->CommandLength < sizeof seen->original;
    for (size_t i = arg->CommandLength; i < sizeof seen->original; i++)
        assert_int_equal(((const uint8_t *)arg->pCommand)[i], 0xff); /* none of a command */
    seen->short_lists += arg->AllocationListSize < 5;
    memset(arg->pDmaBufferPrivateData, 0xee, arg->DmaBufferPrivateDataSize);
    arg->pDmaBuffer = (char *)arg->pDmaBuffer + 8;
    return others ? STATUS_INVALID_USER_BUFFER : STATUS_SUCCESS;
}

static void a_hostile_client_differs_in_one_way_and_leaves_no_trace(void **state)
{
    struct client_seen seen = {.ops = miniport_forward_ops, .miniport.ops = &seen.ops};
    char buffer[64], private_data[16];
    struct miniport *client;
    uint64_t trials;

    seen.ops.render = see_client;
    seen.ops.destroy = see_nothing;
    for (uint32_t i = 0; i < COMMAND_WORDS; i++)
        seen.original[i] = i + 1000;
    assert_int_equal(hostile_client_layer_create(base_services_libc(), 1, &seen.miniport, &client),
                     0);
    for (unsigned i = 0; i < 256; i++) {
        DXGKARG_RENDER arg = {.pCommand = seen.original,
                              .CommandLength = sizeof seen.original,
                              .pDmaBuffer = buffer,
                              .DmaSize = sizeof buffer,
                              .AllocationListSize = 5,
                              .pDmaBufferPrivateData = private_data,
                              .DmaBufferPrivateDataSize = sizeof private_data};

        memset(private_data, 0x11, sizeof private_data);
        assert_int_equal(miniport_render(client, NULL, &arg), STATUS_SUCCESS);
        assert_ptr_equal(arg.pDmaBuffer, buffer + 8); /* as if there had been no trial */
        assert_ptr_equal(arg.pCommand, seen.original);
        assert_int_equal(arg.AllocationListSize, 5);
        if (i < 4) /* short runs have trials, too */
            assert_int_equal(hostile_client_layer_trials(client), i + 1);
    }
    trials = hostile_client_layer_trials(client);
    assert_int_equal(seen.calls, 256 + trials);
    assert_int_equal(seen.words + seen.cuts + seen.short_lists, trials);
    assert_true(trials >= 16 && seen.words && seen.cuts && seen.short_lists);
    miniport_destroy(client);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_hostile_client_differs_in_one_way_and_leaves_no_trace),
        cmocka_unit_test(the_driver_finds_its_pages_where_the_offset_says),
        cmocka_unit_test(a_probe_leaves_no_trace),
        cmocka_unit_test(a_driver_declares_dma_buffers_of_another_size),
        cmocka_unit_test(who_reads_a_word_once_never_uses_what_it_has_not_looked_at),
        cmocka_unit_test(who_reads_it_again_gets_another_one),
        cmocka_unit_test(no_probe_comes_before_a_repeat),
        cmocka_unit_test(the_first_start_fails_and_no_other),
        cmocka_unit_test(who_asks_again_gets_a_range_for_an_application),
        cmocka_unit_test(who_asks_again_gets_a_context_allocation),
        cmocka_unit_test(the_save_area_cannot_always_be_had_whole),
        cmocka_unit_test(what_was_written_is_counted),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
