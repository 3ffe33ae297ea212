/*
 * The example of a virtio-gpu device (examples/gpu/virtio_gpu.c): driven through its registers and
 * a queue in memory, then with a small driver of ours (tests/images/virtio), linked in, whose
 * aperture is told to the host while paging buffers are built.
 */
static int mistake;
#define VIRTIO_MISTAKE mistake

/* The driver is part of this file; a program has several of them. */
#define DriverEntry virtio_gpu_driver_entry
#include "../tests/images/virtio/queue.c"
#include "../tests/images/virtio/virtio.c"

/* The bench has other ideas of these. */
#undef PAGE

#include "bench/board/gpu_plugin.h"

#include "base/bits.h"
#include "bench/drivers/drivers.h"
#include "bench/whole_runs/test_model.h"
#include "bench/whole_runs/test_run.h"
#include "bench/child/child_run.h"

#define MODEL        GPU_FOLDER "/virtio_gpu.so"
#define VIRGL        1u
#define READY        (STATUS_ACKNOWLEDGE | STATUS_DRIVER | STATUS_FEATURES | STATUS_READY)
#define NEEDS_RESET  64u
#define DEVICE       0x2000u /* the device's configuration */
#define NOTIFY       0x3000u
#define RING_ENTRIES 8u
#define AVAIL        0x200u /* in the page of the ring */
#define USED         0x400u
#define ATTACH       CTX_CREATE + 2
#define OK           0x1100u
#define OK_DISPLAY   0x1101u
#define BAD          0x1200u
#define BAD_RESOURCE 0x1203u
#define BAD_CONTEXT  0x1204u

struct rig {
    struct test_model model;
    uint64_t ring, request, answer, data[2]; /* pages */
    uint16_t asked;
};

static void rig_open(struct rig *rig)
{
    uint64_t pages[5];

    memset(rig, 0, sizeof *rig);
    test_model_open(&rig->model, "virtio_gpu", ARRAY_COUNT(pages), pages);
    rig->ring = pages[0];
    rig->request = pages[1];
    rig->answer = pages[2];
    rig->data[0] = pages[3];
    rig->data[1] = pages[4];
}

static void poke(struct rig *rig, uint64_t offset, unsigned size, uint64_t value)
{
    assert_true(machine_bus_write(
        rig->model.machine, machine_pci(rig->model.machine)->bars[4].pa + offset, &value, size));
}

static uint64_t peek(struct rig *rig, uint64_t offset, unsigned size)
{
    uint64_t value = 0;

    machine_bus_read(rig->model.machine, machine_pci(rig->model.machine)->bars[4].pa + offset,
                     &value, size);
    return value;
}

static void run_dry(struct rig *rig)
{
    while (machine_run_next(rig->model.machine))
        ;
}

static void put(struct rig *rig, uint64_t address, const void *from, uint64_t bytes)
{
    page_store_write(machine_ram(rig->model.machine), address, from, bytes);
}

static void get(struct rig *rig, uint64_t address, void *to, uint64_t bytes)
{
    page_store_read(machine_ram(rig->model.machine), address, to, bytes);
}

static void get_ready(struct rig *rig)
{
    poke(rig, STATUS_BYTE, 1, STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    poke(rig, FEATURE_SELECT, 4, 0);
    poke(rig, FEATURE, 4, VIRGL);
    poke(rig, FEATURE_SELECT, 4, 1);
    poke(rig, FEATURE, 4, 1);
    poke(rig, STATUS_BYTE, 1, READY & ~STATUS_READY);
    assert_true(peek(rig, STATUS_BYTE, 1) & STATUS_FEATURES);
    poke(rig, CONFIG_VECTOR, 2, 0);
    poke(rig, QUEUE_SELECT, 2, 0);
    poke(rig, QUEUE_SIZE, 2, RING_ENTRIES);
    poke(rig, QUEUE_VECTOR, 2, 1);
    poke(rig, QUEUE_DESC, 8, rig->ring);
    poke(rig, QUEUE_AVAIL, 4, (rig->ring + AVAIL) & 0xffffffff);
    poke(rig, QUEUE_AVAIL + 4, 4, (rig->ring + AVAIL) >> 32);
    poke(rig, QUEUE_USED, 8, rig->ring + USED);
    poke(rig, QUEUE_ENABLE, 2, 1);
    poke(rig, STATUS_BYTE, 1, READY);
}

/* The request lies in two pieces, the answer in one. */
static void ask_host(struct rig *rig, const void *request, uint32_t bytes)
{
    const uint32_t first = sizeof(struct header);
    const struct descriptor chain[] = {
        {rig->request, first, DESCRIPTOR_NEXT, 1},
        {rig->request + first, bytes - first, DESCRIPTOR_NEXT, 2},
        {rig->answer, PAGE_BYTES, DESCRIPTOR_WRITE, 0},
    };
    uint16_t head = 0;

    put(rig, rig->request, request, bytes);
    put(rig, rig->ring, chain, sizeof chain);
    put(rig, rig->ring + AVAIL + 4 + rig->asked % RING_ENTRIES * 2, &head, sizeof head);
    rig->asked++;
    put(rig, rig->ring + AVAIL + 2, &rig->asked, sizeof rig->asked);
    poke(rig, NOTIFY, 2, 0);
    run_dry(rig);
}

/* The answer's type, and what is said of it; 0: there is none. */
static uint32_t command(struct rig *rig, uint32_t type, const uint32_t *dwords, uint32_t count)
{
    struct {
        struct header header;
        uint32_t dwords[64];
    } request = {.header = {.type = type, .flags = 1, .fence = 77, .context = CONTEXT}};
    struct header answer;
    uint16_t done = 0;

    assert_true(count <= ARRAY_COUNT(request.dwords));
    if (count)
        memcpy(request.dwords, dwords, count * sizeof *dwords);
    ask_host(rig, &request, (uint32_t)(sizeof request.header + count * sizeof *dwords));
    get(rig, rig->ring + USED + 2, &done, sizeof done);
    if (done != rig->asked)
        return 0;
    get(rig, rig->answer, &answer, sizeof answer);
    assert_int_equal(answer.flags, 1);
    assert_int_equal(answer.fence, 77);
    return answer.type;
}

/* Resource 5, which says that it is allocation 3, with two pages. */
static void make_resource(struct rig *rig)
{
    const uint32_t create[12] = {5, [9] = 3 + 1};
    const uint32_t attach[] = {
        5,          2, (uint32_t)rig->data[1], (uint32_t)(rig->data[1] >> 32),
        PAGE_BYTES, 0, (uint32_t)rig->data[0], (uint32_t)(rig->data[0] >> 32),
        PAGE_BYTES, 0};
    const uint32_t name[16] = {0};

    assert_int_equal(command(rig, CTX_CREATE, name, ARRAY_COUNT(name)), OK);
    assert_int_equal(command(rig, RESOURCE_CREATE_3D, create, ARRAY_COUNT(create)), OK);
    assert_int_equal(command(rig, ATTACH_BACKING, attach, ARRAY_COUNT(attach)), OK);
    assert_string_equal(rig->model.fault, "");
}

/* ---- The device ------------------------------------------------------------------------------ */

static void its_function_is_found_and_negotiated_with(void **state)
{
    struct rig rig;
    uint32_t id = 0, bar = 0;
    uint8_t at = 0, kinds = 0;

    rig_open(&rig);
    machine_pci_read(rig.model.machine, 0, &id, sizeof id);
    assert_int_equal(id, 0x10501af4);
    for (machine_pci_read(rig.model.machine, CONFIG_CAPABILITIES, &at, 1); at;
         machine_pci_read(rig.model.machine, at + 1u, &at, 1)) {
        uint8_t head[5];

        machine_pci_read(rig.model.machine, at, head, sizeof head);
        if (head[0] == CAPABILITY_VENDOR) {
            kinds |= (uint8_t)(1 << head[3]);
            assert_int_equal(head[4], 4);
        }
    }
    assert_int_equal(kinds, 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4);
    machine_pci_read(rig.model.machine, CONFIG_BARS + 4 * 4, &bar, sizeof bar);
    assert_int_equal(bar & ~0xfu, (uint32_t)machine_pci(rig.model.machine)->bars[4].pa);

    poke(&rig, STATUS_BYTE, 1, STATUS_ACKNOWLEDGE | STATUS_DRIVER);
    poke(&rig, FEATURE_SELECT, 4, 0);
    poke(&rig, FEATURE, 4, VIRGL);
    poke(&rig, STATUS_BYTE, 1, STATUS_FEATURES); /* without VERSION_1 */
    assert_int_equal(peek(&rig, STATUS_BYTE, 1) & STATUS_FEATURES, 0);
    poke(&rig, 0, 4, 1);
    assert_int_equal(peek(&rig, 4, 4), 1);
    get_ready(&rig);
    assert_int_equal(peek(&rig, QUEUE_SIZE, 2), RING_ENTRIES);
    assert_int_equal(peek(&rig, QUEUE_AVAIL, 8), rig.ring + AVAIL);
    poke(&rig, STATUS_BYTE, 1, 0);
    poke(&rig, QUEUE_SELECT, 2, 0);
    assert_int_equal(peek(&rig, QUEUE_ENABLE, 2), 0);
    poke(&rig, QUEUE_SELECT, 2, 2);
    assert_int_equal(peek(&rig, QUEUE_SIZE, 2), 0); /* there is no third */
    test_model_close(&rig.model);
}

static void it_tells_of_its_display_once(void **state)
{
    struct rig rig;
    uint32_t display[4], nothing[2] = {0};

    rig_open(&rig);
    get_ready(&rig);
    assert_int_equal(rig.model.messages[0], 0);
    run_dry(&rig);
    assert_int_equal(rig.model.messages[0], 1);
    assert_int_equal(peek(&rig, DEVICE, 4), 1);
    poke(&rig, DEVICE + 4, 4, 1);
    assert_int_equal(peek(&rig, DEVICE, 4), 0);
    assert_int_equal(peek(&rig, 0x1000, 1), 2);
    assert_int_equal(peek(&rig, 0x1000, 1), 0); /* reading clears it */

    assert_int_equal(command(&rig, GET_DISPLAY_INFO, nothing, ARRAY_COUNT(nothing)), OK_DISPLAY);
    get(&rig, rig.answer + sizeof(struct header), display, sizeof display);
    assert_int_equal(display[2], 1024);
    assert_int_equal(display[3], 768);
    assert_int_equal(rig.model.messages[1], 1);
    test_model_close(&rig.model);
}

static void an_answer_with_an_error_is_a_fault(void **state)
{
    struct rig rig;
    const uint32_t unknown[12] = {9};

    rig_open(&rig);
    get_ready(&rig);
    assert_int_equal(command(&rig, RESOURCE_UNREF, unknown, 2), BAD_RESOURCE);
    assert_non_null(strstr(rig.model.fault, "ERR_INVALID_RESOURCE_ID"));
    assert_int_equal(command(&rig, SUBMIT_3D, unknown, 4), BAD_CONTEXT);
    assert_int_equal(command(&rig, ATTACH, unknown, 2), BAD_CONTEXT);
    assert_int_equal(command(&rig, 0x777, unknown, 2), BAD);
    make_resource(
        (memset(rig.model.fault, 0, sizeof rig.model.fault), &rig)); /* the queue goes on */
    test_model_close(&rig.model);
}

static void a_second_backing_is_refused_until_the_first_is_gone(void **state)
{
    struct rig rig;
    uint32_t attach[] = {5, 1, 0, 0, PAGE_BYTES, 0};

    rig_open(&rig);
    get_ready(&rig);
    make_resource(&rig);
    attach[2] = (uint32_t)rig.data[0];
    attach[3] = (uint32_t)(rig.data[0] >> 32);
    assert_int_equal(command(&rig, ATTACH_BACKING, attach, ARRAY_COUNT(attach)), BAD);
    assert_int_equal(command(&rig, DETACH_BACKING, attach, 2), OK);
    assert_int_equal(command(&rig, ATTACH_BACKING, attach, ARRAY_COUNT(attach)), OK);
    assert_int_equal(command(&rig, RESOURCE_UNREF, attach, 2), OK);
    assert_int_equal(command(&rig, DETACH_BACKING, attach, 2), BAD_RESOURCE);
    test_model_close(&rig.model);
}

/* 6,000 bytes from byte 1,000 on: two pieces, in the order of the backing. */
static void work_goes_through_the_backing(void **state)
{
    struct rig rig;
    uint32_t work[] = {24 + 40, 0, 0x6b726f77, 1,    5, 0,    3000, 0,  3,
                       0,       3, 0,          1000, 0, 6000, 0,    99, 0};
    uint32_t stream[] = {8, 0, 0x12345678, 1}; /* something of virgl's */

    rig_open(&rig);
    get_ready(&rig);
    make_resource(&rig);
    assert_int_equal(command(&rig, SUBMIT_3D, work, ARRAY_COUNT(work)), OK);
    assert_string_equal(rig.model.fault, "");
    assert_int_equal(rig.model.begun, 5);
    assert_int_equal(rig.model.ended, 5);
    assert_int_equal(rig.model.read_bytes, 6000);
    assert_int_equal(rig.model.written_bytes, 6000);
    assert_int_equal(command(&rig, SUBMIT_3D, stream, ARRAY_COUNT(stream)), OK);
    work[14] = 2 * PAGE_BYTES; /* beyond its end */
    assert_int_equal(command(&rig, SUBMIT_3D, work, ARRAY_COUNT(work)), BAD);
    /* The request's last bytes are the client's work. */
    assert_int_equal(rig.model.faulting.address, rig.request + 32);
    assert_true(rig.model.faulting.bytes > 0);
    test_model_close(&rig.model);
}

static void a_ring_that_is_not_there_breaks_the_device(void **state)
{
    struct rig rig;
    const uint32_t nothing[2] = {0};

    rig_open(&rig);
    get_ready(&rig);
    poke(&rig, QUEUE_DESC, 8, UINT64_C(1) << 50);
    run_dry(&rig);
    rig.model.messages[0] = 0;
    assert_int_equal(command(&rig, GET_DISPLAY_INFO, nothing, ARRAY_COUNT(nothing)), 0);
    assert_true(peek(&rig, STATUS_BYTE, 1) & NEEDS_RESET);
    assert_int_equal(rig.model.messages[0], 1);
    assert_int_equal(command(&rig, GET_DISPLAY_INFO, nothing, ARRAY_COUNT(nothing)), 0);
    gpu_plugin_power(rig.model.plugin, false);
    gpu_plugin_power(rig.model.plugin, true);
    assert_int_equal(peek(&rig, STATUS_BYTE, 1), 0);
    test_model_close(&rig.model);
}

/* ---- With a driver --------------------------------------------------------------------------- */

static bool virtio_level(const struct run_driver *driver, unsigned index, enum run_model *out_model,
                         unsigned *out_wddm)
{
    *out_model = RUN_PHYSICAL;
    *out_wddm = 13;
    return index == 0;
}

static bool find_virtio(const char *name, struct run_driver *out_driver)
{
    if (strcmp(name, "test:virtio") != 0)
        return false;
    *out_driver = (struct run_driver){
        .name = "test:virtio", .entry = DriverEntry, .level = virtio_level, .gpu = MODEL};
    return true;
}

static struct run_result *play(struct workload *workload)
{
    test_option(workload, "model", "physical");
    test_option(workload, "driver", "test:virtio");
    return test_play(workload);
}

static void expect_fault(int which, const char *name, const char *text)
{
    struct run_result *result;
    bool is_found = false;

    mistake = which;
    result = play(test_load(name));
    mistake = 0;
    assert_int_equal(result->outcome, RUN_FINDINGS);
    for (uint32_t i = 0; i < result->finding_count; i++)
        is_found |= result->findings[i].kind == RUN_FINDING_FAULT &&
                    strstr(result->findings[i].text, text) != NULL;
    if (!is_found)
        fail_msg("mistake %d: not '%s', but %s: %s", which, text, result->findings[0].rule,
                 result->findings[0].text);
    test_finish(result);
}

static void an_aperture_that_is_told_while_buffers_are_built_is_followed(void **state)
{
    static const char *const cases[] = {"evict-and-restore.case", "cpu-writes.case",
                                        "aperture-pieces.case",   "budgets.case",
                                        "dropped-offers.case",    "preemption.case",
                                        "stop-with-work.case",    "null-rendering.case",
                                        "renamed.case",           "reset-before-paging.case"};

    for (size_t i = 0; i < ARRAY_COUNT(cases); i++) {
        struct run_result *result = play(test_load(cases[i]));

        test_assert_clean(result);
        assert_true(test_count(result, DXGK_OPERATION_MAP_APERTURE_SEGMENT) > 0);
        test_finish(result);
    }
}

/* Its client names allocations; a driver of one engine is given all contexts. */
static void what_only_patch_locations_name_is_brought_in(void **state)
{
    static const char text[] = "drydock-case 1\n"
                               "option brought-in patched\n"
                               "context c0\n"
                               "context c1 node=1\n"
                               "alloc a size=1M\n"
                               "alloc b size=64K\n"
                               "submit c0 a:w\n"
                               "submit c1 b:w\n"
                               "wait all\n"
                               "evict a\n"
                               "submit c1 a:r b:r\n"
                               "wait all\n";
    struct run_result *result = play(test_parse(text));

    test_assert_clean(result);
    assert_int_equal(result->submissions, 3);
    assert_true(result->pages_checked >= 17 * 64 * 1024 / PAGE_BYTES);
    test_finish(result);
}

/* Its requests have ended, and the DPC that takes them comes when the device begins again. */
static void a_dpc_that_comes_behind_the_end_of_the_device_takes_nothing(void **state)
{
    char text[1024] = "drydock-case 1\noption register-time 6436\n";
    struct run_result *result;

    for (unsigned i = 0; i < 14; i++) {
        size_t length = strlen(text);

        snprintf(text + length, sizeof text - length, "alloc a%u size=300K\n", i);
    }
    strcat(text, "power standby\n");
    result = play(test_parse(text));
    test_assert_clean(result);
    test_finish(result);
}

/* What stands in the list before MdlOffset is no memory. */
static void a_wrong_page_of_a_piece_is_found(void **state)
{
    expect_fault(1, "aperture-pieces.case", "no memory behind it");
}

static void an_unmapping_that_the_host_does_not_hear_of_is_found(void **state)
{
    expect_fault(2, "evict-and-restore.case", "ERR_UNSPEC at 0x106");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(its_function_is_found_and_negotiated_with),
        cmocka_unit_test(it_tells_of_its_display_once),
        cmocka_unit_test(an_answer_with_an_error_is_a_fault),
        cmocka_unit_test(a_second_backing_is_refused_until_the_first_is_gone),
        cmocka_unit_test(work_goes_through_the_backing),
        cmocka_unit_test(a_ring_that_is_not_there_breaks_the_device),
        cmocka_unit_test(an_aperture_that_is_told_while_buffers_are_built_is_followed),
        cmocka_unit_test(what_only_patch_locations_name_is_brought_in),
        cmocka_unit_test(a_dpc_that_comes_behind_the_end_of_the_device_takes_nothing),
        cmocka_unit_test(a_wrong_page_of_a_piece_is_found),
        cmocka_unit_test(an_unmapping_that_the_host_does_not_hear_of_is_found),
    };

    run_add_drivers(find_virtio);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
