/*
 * GPU models as shared objects: loaded or refused, and the two examples driven by register accesses
 * and packets through the machine.
 */
/* The driver is part of this file; a program has several of them. */
#define DriverEntry gpu_plugin_driver_entry
#include "../tests/images/softcopy/softcopy.c"

#include "bench/board/gpu_plugin.h"

#include "base/bits.h"
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_model.h"
#include "bench/whole_runs/test_run.h"

#include <unistd.h>

#define TUTORIAL_BIT (UINT64_C(1) << 63)
#define SDMA_FB      (UINT64_C(0x80) << 32)

struct rig {
    struct test_model model;
    uint64_t page; /* a system page for packets, and two for data */
    uint64_t data[2];
};

static void rig_open(struct rig *rig, const char *model)
{
    uint64_t pages[3];

    memset(rig, 0, sizeof *rig);
    test_model_open(&rig->model, model, ARRAY_COUNT(pages), pages);
    rig->page = pages[0];
    rig->data[0] = pages[1];
    rig->data[1] = pages[2];
}

static void poke(struct rig *rig, uint64_t offset, unsigned size, uint64_t value)
{
    assert_true(machine_bus_write(rig->model.machine, machine_bar0_pa(rig->model.machine) + offset,
                                  &value, size));
}

static uint32_t peek(struct rig *rig, uint64_t offset)
{
    uint32_t value = 0;

    machine_bus_read(rig->model.machine, machine_bar0_pa(rig->model.machine) + offset, &value,
                     sizeof value);
    return value;
}

static void run_dry(struct rig *rig)
{
    while (machine_run_next(rig->model.machine))
        ;
}

static void write_memory(struct rig *rig, uint64_t address, const void *from, uint64_t bytes)
{
    page_store_write(machine_ram(rig->model.machine), address, from, bytes);
}

/* ---- Loading --------------------------------------------------------------------------------- */

/* What is said of a file that is no model, without its name. */
static void expect_refusal(const char *path, const char *reason)
{
    struct machine_config config;
    struct machine *machine;
    struct gpu_plugin *plugin;
    char error[GPU_PLUGIN_ERROR_BYTES];

    machine_config_defaults(&config, 1);
    machine = machine_create(base_services_libc(), &config);
    assert_non_null(machine);
    assert_false(gpu_plugin_load(base_services_libc(), path, machine, &plugin, error));
    assert_null(plugin);
    if (strncmp(error, path, strlen(path)) != 0 || !strstr(error, reason))
        fail_msg("'%s' is not what to say of %s: %s", error, path, reason);
    machine_destroy(machine);
}

/* A file of these bytes. */
static void expect_refusal_of(const void *bytes, size_t count, const char *reason)
{
    char path[] = "/tmp/gpu-model-XXXXXX";
    int file = mkstemp(path);

    assert_true(file >= 0);
    assert_int_equal(write(file, bytes, count), count);
    close(file);
    expect_refusal(path, reason);
    unlink(path);
}

static void a_file_that_is_no_shared_object_is_refused(void **state)
{
    unsigned char elf[64] = {0x7f, 'E', 'L', 'F', 2, 1, 1, [16] = 3, [18] = 62};

    expect_refusal("./there-is-none.so", "No such file");
    expect_refusal_of("#include", 8, "it is no shared object");
    expect_refusal_of("MZ, and more", 12, "it is an image for Windows");
    elf[4] = 1;
    expect_refusal_of(elf, sizeof elf, "of 32 bits");
    elf[4] = 2;
    elf[16] = 1;
    expect_refusal_of(elf, sizeof elf, "an object file or a program");
    elf[16] = 3;
    elf[18] = 40;
    expect_refusal_of(elf, sizeof elf, "for another processor (ELF machine 40;");
    elf[18] = 62;
    expect_refusal_of(elf, sizeof elf, ""); /* what the system's loader says */
}

static void a_model_of_another_kind_is_refused(void **state)
{
    expect_refusal(GPU_FOLDER "/odd-new.so", "it serves no version of drydock/gpu_model.h from 1 ");
    expect_refusal(GPU_FOLDER "/odd-lying.so",
                   "asked for version 7 of drydock/gpu_model.h it gives");
    expect_refusal(GPU_FOLDER "/odd-holes.so", "its table lacks read_register or write_register");
    expect_refusal(GPU_FOLDER "/odd-poor.so", "its create() failed");
    expect_refusal(GPU_FOLDER "/odd-none.so", "it has no function drydock_gpu_model()");
    assert_true(gpu_plugin_is_path("./x") && gpu_plugin_is_path("x.so"));
    assert_false(gpu_plugin_is_path("sgpu") || gpu_plugin_is_path("none"));
}

/* It has none of the members that came later, and none of them is looked at. */
static void a_model_of_the_oldest_version_is_taken(void **state)
{
    struct rig rig;

    rig_open(&rig, "odd-old");
    assert_int_equal(gpu_plugin_model(rig.model.plugin)->api_version, DRYDOCK_GPU_MODEL_OLDEST_API);
    assert_false(gpu_plugin_tells_flushes(rig.model.plugin));
    assert_int_equal(peek(&rig, 0), 0);
    test_model_close(&rig.model);
}

static void a_run_without_its_model_is_refused(void **state)
{
    struct workload *workload = test_load("evict-and-restore.case");
    struct run_result *result;

    test_option(workload, "gpu", "./there-is-none.so");
    result = test_play(workload);
    assert_int_equal(result->outcome, RUN_REFUSED);
    assert_non_null(strstr(result->error, "there-is-none.so"));
    test_finish(result);
}

/* ---- The tutorial ---------------------------------------------------------------------------- */

struct tutorial_packet {
    uint64_t op, to, from, bytes, token, index;
};

static void tutorial_run(struct rig *rig, const struct tutorial_packet *packets, unsigned count)
{
    write_memory(rig, rig->page, packets, count * sizeof *packets);
    poke(rig, 0x08, 8, rig->page);
    poke(rig, 0x10, 4, count * sizeof *packets);
    poke(rig, 0x14, 4, 7);
    assert_int_equal(peek(rig, 0x04), 0); /* not before its time */
    run_dry(rig);
}

static void the_tutorial_copies_fills_and_tells(void **state)
{
    struct rig rig;
    struct tutorial_packet packets[] = {
        {.op = 2, .to = TUTORIAL_BIT | 0x10000, .from = 0x01020304, .bytes = PAGE_BYTES},
        {.op = 1, .from = TUTORIAL_BIT | 0x10000, .bytes = PAGE_BYTES},
        {.op = 4, .to = TUTORIAL_BIT | 0x20000, .from = 99, .bytes = 2 * PAGE_BYTES, .token = 5},
        {.op = 3, .to = TUTORIAL_BIT | 0x20000, .bytes = PAGE_BYTES, .token = 5, .index = 1},
    };

    rig_open(&rig, "tutorial");
    packets[1].to = rig.data[0];
    assert_int_equal(peek(&rig, 0), 0x7475);
    tutorial_run(&rig, packets, ARRAY_COUNT(packets));
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(peek(&rig, 0x04), 7);
    assert_int_equal(rig.model.messages[0], 1);
    assert_true(page_store_is_fill(machine_ram(rig.model.machine), rig.data[0], PAGE_BYTES,
                                   0x01020304, NULL));
    assert_true(
        page_store_is_tag(machine_local(rig.model.machine), 0x20000, 2 * PAGE_BYTES, 99, NULL));
    assert_int_equal(rig.model.begun, 5);
    assert_int_equal(rig.model.ended, 5);
    assert_int_equal(rig.model.written_bytes, 2 * PAGE_BYTES);
    assert_int_equal(rig.model.read_bytes, PAGE_BYTES);
    /* The second packet was the last to write but for the client's work. */
    assert_int_equal(rig.model.writing.address, rig.page + sizeof packets[0]);
    assert_int_equal(rig.model.writing.bytes, sizeof packets[0]);
    test_model_close(&rig.model);
}

/* At any address and over page borders the pattern begins with its low byte. */
static void a_fill_begins_with_the_patterns_first_byte(void **state)
{
    struct rig rig;
    unsigned char bytes[8200];
    const uint64_t starts[] = {TUTORIAL_BIT | 0x10ffd, TUTORIAL_BIT | 0x20001, 0};

    rig_open(&rig, "tutorial");
    for (unsigned i = 0; i < ARRAY_COUNT(starts); i++) {
        bool is_local = i < 2;
        uint64_t start = is_local ? starts[i] : rig.data[0] + 2;
        uint64_t count = is_local ? sizeof bytes - i : 77;
        const struct tutorial_packet packet = {
            .op = 2, .to = start, .from = 0x04030201, .bytes = count};

        gpu_plugin_power(rig.model.plugin, false);
        gpu_plugin_power(rig.model.plugin, true);
        tutorial_run(&rig, &packet, 1);
        assert_string_equal(rig.model.fault, "");
        page_store_read(is_local ? machine_local(rig.model.machine)
                                 : machine_ram(rig.model.machine),
                        start & ~TUTORIAL_BIT, bytes, count);
        for (uint64_t at = 0; at < count; at++)
            assert_int_equal(bytes[at], 1 + at % 4);
    }
    test_model_close(&rig.model);
}

static void a_copy_takes_pages_of_ram_that_follow_each_other_at_once(void **state)
{
    struct rig rig;
    unsigned char bytes[2 * PAGE_BYTES], copied[2 * PAGE_BYTES];
    struct tutorial_packet packet = {
        .op = 1, .from = TUTORIAL_BIT | 0x10010, .bytes = sizeof bytes - 32};
    uint64_t first;

    rig_open(&rig, "tutorial");
    assert_true(machine_alloc_contiguous(rig.model.machine, 2, 1, &first));
    for (unsigned i = 0; i < sizeof bytes; i++)
        bytes[i] = (unsigned char)(i * 7 + i / 256);
    page_store_write(machine_local(rig.model.machine), 0x10000, bytes, sizeof bytes);
    packet.to = first * PAGE_BYTES + 16;
    tutorial_run(&rig, &packet, 1);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(rig.model.writes, 1);
    page_store_read(machine_ram(rig.model.machine), first * PAGE_BYTES, copied, sizeof copied);
    assert_memory_equal(copied + 16, bytes + 16, sizeof bytes - 32);
    assert_int_equal(copied[15], 0);
    assert_int_equal(copied[sizeof copied - 16], 0);
    /* Where the page behind is no memory nothing is written. */
    while (machine_page_is_allocated(rig.model.machine, ++first))
        ;
    packet.to = (first - 1) * PAGE_BYTES;
    gpu_plugin_power(rig.model.plugin, false);
    gpu_plugin_power(rig.model.plugin, true);
    tutorial_run(&rig, &packet, 1);
    assert_string_equal(rig.model.fault, "a packet failed");
    assert_int_equal(rig.model.writes, 1);
    test_model_close(&rig.model);
}

static void a_bad_address_is_a_fault_until_power_comes_back(void **state)
{
    struct rig rig;
    const struct tutorial_packet packet = {
        .op = 2, .to = TUTORIAL_BIT | TEST_MODEL_LOCAL_BYTES, .bytes = PAGE_BYTES};
    const struct tutorial_packet good = {.op = 2, .to = TUTORIAL_BIT, .bytes = PAGE_BYTES};

    rig_open(&rig, "tutorial");
    tutorial_run(&rig, &packet, 1);
    assert_string_equal(rig.model.fault, "a packet failed");
    assert_int_equal(rig.model.faulting.address, rig.page);
    assert_int_equal(rig.model.messages[0], 0);
    gpu_plugin_power(rig.model.plugin, false);
    assert_int_equal(peek(&rig, 0), UINT32_MAX);
    gpu_plugin_power(rig.model.plugin, true);
    tutorial_run(&rig, &good, 1);
    assert_int_equal(peek(&rig, 0x04), 7);
    assert_int_equal(rig.model.messages[0], 1);
    test_model_close(&rig.model);
}

/* ---- SDMA ------------------------------------------------------------------------------------ */

static uint32_t low(uint64_t value)
{
    return (uint32_t)value;
}

static uint32_t high(uint64_t value)
{
    return (uint32_t)(value >> 32);
}

static void sdma_run(struct rig *rig, const uint32_t *dwords, unsigned count)
{
    write_memory(rig, rig->page, dwords, count * sizeof *dwords);
    poke(rig, 0x04, 4, rig->page >> 8);
    poke(rig, 0x08, 4, rig->page >> 40);
    poke(rig, 0x00, 4, 10u << 1 | 1); /* 1024 dwords */
    poke(rig, 0x10, 4, count * sizeof *dwords);
    run_dry(rig);
}

static void sdma_moves_fills_writes_fences_and_traps(void **state)
{
    struct rig rig;
    uint32_t fence = 0, data[2];

    rig_open(&rig, "sdma");
    {
        const uint32_t dwords[] = {
            11,
            low(SDMA_FB),
            high(SDMA_FB),
            0xcafef00d,
            PAGE_BYTES - 1, /* fill */
            1 << 16,
            0, /* NOP */
            1,
            PAGE_BYTES - 1,
            0,
            low(SDMA_FB),
            high(SDMA_FB),
            low(rig.data[0]),  /* copy */
            high(rig.data[0]), /* */
            2,
            low(rig.data[1]),
            high(rig.data[1]),
            1,
            0x11111111,
            0x22222222, /* write */
            5,
            low(rig.data[1] + 64),
            high(rig.data[1]),
            0x1234, /* fence */
            6,
            0x42, /* trap */
        };

        sdma_run(&rig, dwords, ARRAY_COUNT(dwords));
        assert_string_equal(rig.model.fault, "");
        assert_int_equal(peek(&rig, 0x0c), sizeof dwords); /* RPTR is at WPTR */
    }
    assert_int_equal(rig.model.messages[0], 1);
    assert_int_equal(peek(&rig, 0x18), 0x42);
    assert_true(page_store_is_fill(machine_ram(rig.model.machine), rig.data[0], PAGE_BYTES,
                                   0xcafef00d, NULL));
    page_store_read(machine_ram(rig.model.machine), rig.data[1], data, sizeof data);
    page_store_read(machine_ram(rig.model.machine), rig.data[1] + 64, &fence, sizeof fence);
    assert_int_equal(data[0], 0x11111111);
    assert_int_equal(data[1], 0x22222222);
    assert_int_equal(fence, 0x1234);
    test_model_close(&rig.model);
}

/* A tree of four tables in local memory, one behind the other, each written by a packet. */
static void sdma_writes_page_tables_that_translate(void **state)
{
    const uint64_t va =
        (UINT64_C(1) << 39) + (UINT64_C(2) << 30) + (UINT64_C(3) << 21) + (UINT64_C(4) << 12);
    const struct drydock_gpu_place root = {.is_local = true, .address = 0x10000};
    struct drydock_gpu_translation found;
    uint32_t dwords[40];
    struct rig rig;

    rig_open(&rig, "sdma");
    for (unsigned level = 0; level < 4; level++) {
        uint64_t at = SDMA_FB + 0x10000 + level * PAGE_BYTES + 8 * (level + 1);
        uint64_t leads_to = level < 3 ? 0x10000 + (level + 1) * PAGE_BYTES : rig.data[0];
        uint64_t flags = level < 3 ? 1 : 0x63; /* valid; and readable, writeable, system */
        const uint32_t packet[10] = {12,          low(at),          high(at),       low(flags),
                                     high(flags), low(leads_to),    high(leads_to), PAGE_BYTES,
                                     0,           level < 3 ? 0 : 2 /* three entries */};

        memcpy(dwords + 10 * level, packet, sizeof packet);
    }
    assert_true(gpu_plugin_translate(rig.model.plugin, root, va, &found));
    assert_false(found.is_valid);
    sdma_run(&rig, dwords, ARRAY_COUNT(dwords));
    assert_string_equal(rig.model.fault, "");
    for (unsigned i = 0; i < 4; i++) {
        assert_true(gpu_plugin_translate(rig.model.plugin, root, va + i * PAGE_BYTES, &found));
        assert_int_equal(found.is_valid, i < 3);
        if (!found.is_valid)
            break;
        assert_false(found.at.is_local || found.is_read_only);
        assert_true(found.is_no_execute);
        assert_int_equal(found.at.address, rig.data[0] + i * PAGE_BYTES);
    }
    test_model_close(&rig.model);
}

static void what_sdma_does_not_know_is_a_fault(void **state)
{
    static const uint32_t unknown[] = {0xee}, cut[] = {1, 0, 0};
    struct rig rig;

    rig_open(&rig, "sdma");
    sdma_run(&rig, unknown, 1);
    assert_string_equal(rig.model.fault, "a packet is not known");
    poke(&rig, 0x14, 4, 1);
    sdma_run(&rig, cut, 3);
    assert_string_equal(rig.model.fault, "the stream ends amid a packet");
    assert_int_equal(rig.model.messages[0], 0);
    test_model_close(&rig.model);
}

/* ---- The user-mode half ---------------------------------------------------------------------- */

static struct tutorial_packet seen[16];
static unsigned seen_count;

static NTSTATUS look_at_render(struct miniport *self, HANDLE object, DXGKARG_RENDER *arg)
{
    assert_int_equal(arg->CommandLength % sizeof seen[0], 0);
    assert_true(arg->CommandLength / sizeof seen[0] + seen_count <= ARRAY_COUNT(seen));
    memcpy(seen + seen_count, arg->pCommand, arg->CommandLength);
    seen_count += arg->CommandLength / sizeof seen[0];
    return miniport_forward_render(self, object, arg);
}

static NTSTATUS wrap_looking(const struct run_driver *driver, const struct base_services *services,
                             struct miniport *next, struct miniport **out_layer)
{
    test_put_layer(services, next, out_layer)->render = look_at_render;
    return STATUS_SUCCESS;
}

static bool softcopy_level(const struct run_driver *driver, unsigned index,
                           enum run_model *out_model, unsigned *out_wddm)
{
    *out_model = RUN_PHYSICAL;
    *out_wddm = 13;
    return index == 0;
}

/* It copies with the CPU, and hands no work of clients to any GPU. */
static bool find_softcopy(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, "test:softcopy") != 0)
        return false;
    *out_driver = (struct run_driver){.name = "test:softcopy",
                                      .entry = DriverEntry,
                                      .level = softcopy_level,
                                      .wrap = wrap_looking};
    return true;
}

static struct run_result *play_with(const char *gpu)
{
    struct workload *workload = test_load("evict-and-restore.case");

    seen_count = 0;
    test_option(workload, "model", "physical");
    test_option(workload, "driver", "test:softcopy");
    test_option(workload, "gpu", gpu);
    return test_play(workload);
}

/* a:w; b:w; c:w; a:r b:rw; c:r. What a line reads is read before it writes. */
static void a_models_commands_reach_its_driver_and_have_to_run(void **state)
{
    static const uint64_t ops[] = {4, 4, 4, 3, 3, 4, 3}, tokens[] = {1, 2, 3, 4, 4, 4, 5};
    struct run_result *result = play_with(GPU_FOLDER "/tutorial.so");

    assert_int_equal(seen_count, ARRAY_COUNT(ops));
    for (unsigned i = 0; i < ARRAY_COUNT(ops); i++) {
        assert_int_equal(seen[i].op, ops[i]);
        assert_int_equal(seen[i].token, tokens[i]);
        assert_int_equal(seen[i].bytes, 3 * MiB);
        assert_int_equal(seen[i].index, i == 4 || i == 5);
        assert_int_equal(seen[i].to >> 32, seen[i].index); /* its place in the allocation list */
        assert_true(ops[i] == 3 || seen[i].from != 0);
    }
    /* The driver reports them complete, and the GPU has not run them. */
    assert_int_equal(result->outcome, RUN_FINDINGS);
    assert_true(result->finding_totals[RUN_FINDING_CONTENT] > 0);
    test_finish(result);
}

static void a_model_without_a_user_mode_half_leaves_content_to_the_cpu(void **state)
{
    struct run_result *result = play_with(GPU_FOLDER "/odd-plain.so");

    test_assert_clean(result);
    assert_int_equal(seen_count, 0);
    assert_true(test_count(result, DXGK_OPERATION_TRANSFER) >= 6);
    test_finish(result);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_file_that_is_no_shared_object_is_refused),
        cmocka_unit_test(a_model_of_another_kind_is_refused),
        cmocka_unit_test(a_model_of_the_oldest_version_is_taken),
        cmocka_unit_test(a_run_without_its_model_is_refused),
        cmocka_unit_test(the_tutorial_copies_fills_and_tells),
        cmocka_unit_test(a_fill_begins_with_the_patterns_first_byte),
        cmocka_unit_test(a_copy_takes_pages_of_ram_that_follow_each_other_at_once),
        cmocka_unit_test(a_bad_address_is_a_fault_until_power_comes_back),
        cmocka_unit_test(sdma_moves_fills_writes_fences_and_traps),
        cmocka_unit_test(sdma_writes_page_tables_that_translate),
        cmocka_unit_test(what_sdma_does_not_know_is_a_fault),
        cmocka_unit_test(a_models_commands_reach_its_driver_and_have_to_run),
        cmocka_unit_test(a_model_without_a_user_mode_half_leaves_content_to_the_cpu),
    };

    run_add_drivers(find_softcopy);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
