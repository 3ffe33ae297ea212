/*
 * Ranges that the driver reserves while a process is created: where, whose, for how long. GpuMmu.
 */
#include "vidmm/rig/test_rig.h"
#include "vidmm/rig/test_rig_driver.h"
#include "vidmm/rig/test_rig_gpu.h"
#include "vidmm/rig/test_rig_run.h"
#include "vidmm/vidmm.h"

#include "base/bits.h"

#include <string.h>

/* An entry of the rig's root (6, 6 and 8 bits) translates 16 MiB; its addresses have 32 bits. */
#define UNIT (UINT64_C(16) * MiB)
#define END  (UINT64_C(1) << RIG_VA_BITS)

#define MAX_CALLS 4

/* What the driver asks for in each process, and what it was told. */
static struct {
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE wants[MAX_CALLS];
    unsigned count;
    bool in_system;      /* also of the paging process */
    HANDLE says_process; /* instead of the process; NULL: the process */
    HANDLE last_process; /* of a client */
    NTSTATUS status[MAX_CALLS];
    uint64_t va[MAX_CALLS];
    uint64_t system_va[MAX_CALLS];
} driver;

static NTSTATUS create_reserving(struct miniport *self, HANDLE object,
                                 DXGKARG_CREATEPROCESS *create)
{
    struct rig *rig = rig_of(self);
    bool is_system = create->Flags.SystemProcess;

    if (!is_system)
        driver.last_process = create->hDxgkProcess;
    for (unsigned i = 0; i < driver.count && (!is_system || driver.in_system); i++) {
        DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE range = driver.wants[i];

        range.hDxgkProcess = driver.says_process ? driver.says_process : create->hDxgkProcess;
        driver.status[i] = vidmm_reserve_gpu_va(rig->vidmm, &range);
        *(is_system ? &driver.system_va[i] : &driver.va[i]) = range.StartVirtualAddress;
    }
    return rig_create_process(self, object, create);
}

static void wants(uint64_t base, uint64_t bytes, uint32_t alignment)
{
    driver.wants[driver.count++] = (DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE){
        .SizeInBytes = bytes, .BaseAddress = base, .Alignment = alignment};
}

static struct rig *start(unsigned model, const char *rule)
{
    struct rig_config config = rig_model(model);
    struct rig *rig = rig_new(&config);

    rig->ops.create_process = create_reserving;
    rig->expected_rules = rule;
    assert_int_equal(rig_start(rig), STATUS_SUCCESS);
    assert_int_equal(rig_open(rig), STATUS_SUCCESS);
    return rig;
}

static int forget(void **state)
{
    memset(&driver, 0, sizeof driver);
    return 0;
}

static NTSTATUS map_at(struct rig *rig, struct rig_object *object, uint64_t va, uint64_t *out_va)
{
    return vidmm_map_gpu_va(rig->process,
                            &(struct vidmm_map_request){
                                .allocation = object->allocation, .bytes = PAGE_BYTES, .va = va},
                            out_va);
}

static void the_manager_chooses_from_entry_1_on(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig *rig;

        forget(state);
        wants(0, 2 * UNIT, 0);
        wants(0, UNIT, 4 * UNIT);
        wants(0, UNIT, (uint32_t)UNIT);
        rig = start(model, NULL);
        for (unsigned i = 0; i < driver.count; i++)
            assert_int_equal(driver.status[i], STATUS_SUCCESS);
        assert_int_equal(driver.va[0], UNIT);
        assert_int_equal(driver.va[1], 4 * UNIT);
        assert_int_equal(driver.va[2], 3 * UNIT);
        rig_free(rig);
    }
}

static void nobody_else_gets_addresses_there(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig_object object;
        struct rig *rig;
        uint64_t va;

        forget(state);
        wants(UNIT, UNIT, 0);
        /* All of the upper half that the manager would choose from, but for one entry. */
        wants(END / 2, END / 2 - END / 8 - UNIT, 0);
        rig = start(model, NULL);
        assert_int_equal(driver.status[0], STATUS_SUCCESS);
        assert_int_equal(driver.status[1], STATUS_SUCCESS);
        rig_object(rig, 1, 1, &object);
        rig_make_resident(rig, &object);
        assert_int_equal(map_at(rig, &object, UNIT, &va), STATUS_RESOURCE_IN_USE);
        assert_int_equal(map_at(rig, &object, 2 * UNIT - PAGE_BYTES, &va), STATUS_RESOURCE_IN_USE);
        assert_int_equal(
            vidmm_map_physical(rig->process, UNIT, 0, 0, 1, VIDMM_PROTECT_READ_ONLY, NULL, NULL),
            STATUS_RESOURCE_IN_USE);
        assert_int_equal(vidmm_unmap_gpu_va(rig->process, UNIT, NULL, NULL), STATUS_NOT_FOUND);
        assert_int_equal(vidmm_unmap_physical(rig->process, 0, 4 * UNIT, NULL, NULL),
                         STATUS_SUCCESS);
        assert_int_equal(map_at(rig, &object, UNIT - PAGE_BYTES, &va), STATUS_SUCCESS);
        assert_int_equal(map_at(rig, &object, 2 * UNIT, &va), STATUS_SUCCESS);
        assert_int_equal(map_at(rig, &object, 0, &va), STATUS_SUCCESS);
        assert_true(va >= END / 2 + driver.wants[1].SizeInBytes);
        rig_drain(rig);
        assert_true(vidmm_check(rig->vidmm));
        rig_destroy_object(rig, &object);
        rig_free(rig);
    }
}

static void a_range_ends_with_its_process(void **state)
{
    struct vidmm_process *other;
    struct rig *rig;

    wants(8 * UNIT, UNIT, 0);
    rig = start(1, NULL);
    /* The same addresses, of another address space. */
    assert_int_equal(vidmm_process_create(rig->vidmm, &other), STATUS_SUCCESS);
    assert_int_equal(driver.status[0], STATUS_SUCCESS);
    assert_int_equal(driver.va[0], 8 * UNIT);
    vidmm_process_destroy(other);
    assert_int_equal(vidmm_process_create(rig->vidmm, &other), STATUS_SUCCESS);
    assert_int_equal(driver.status[0], STATUS_SUCCESS);
    vidmm_process_destroy(other);
    rig_free(rig);
}

static void the_paging_process_has_them_below_its_layout(void **state)
{
    for (unsigned model = 1; model < RIG_MODELS; model++) {
        struct rig *rig;

        forget(state);
        driver.in_system = true;
        wants(0, UNIT, 0);
        wants(4 * UNIT, UNIT, 0);
        wants(0, UNIT, 0);
        rig = start(model, NULL);
        assert_int_equal(driver.system_va[0], UNIT);
        assert_int_equal(driver.system_va[1], 4 * UNIT);
        assert_int_equal(driver.system_va[2], 2 * UNIT);
        rig_free(rig);
    }
    /* All of it, and no more. */
    forget(state);
    driver.in_system = true;
    wants(END / 16, UNIT, 0);
    wants(0, END / 16 - UNIT, 0);
    wants(0, UNIT, 0);
    rig_free(start(1, NULL));
    assert_int_equal(driver.system_va[0], 0);
    assert_int_equal(driver.system_va[1], UNIT);
    assert_int_equal(driver.system_va[2], 0);
}

static void ranges_do_not_overlap(void **state)
{
    wants(2 * UNIT, 2 * UNIT, 0);
    wants(3 * UNIT, UNIT, 0);
    wants(UNIT, 2 * UNIT, 0);
    wants(END - END / 8, UNIT, 0); /* where tile pools are */
    rig_free(start(1, NULL));
    assert_int_equal(driver.status[0], STATUS_SUCCESS);
    assert_int_equal(driver.status[1], STATUS_RESOURCE_IN_USE);
    assert_int_equal(driver.status[2], STATUS_RESOURCE_IN_USE);
    assert_int_equal(driver.status[3], STATUS_INVALID_PARAMETER);
    assert_int_equal(driver.va[1] | driver.va[2] | driver.va[3], 0);
}

static void what_breaks_PT_044_is_refused(void **state)
{
    static const struct {
        uint64_t base, bytes;
        uint32_t alignment;
    } bad[] = {
        {0, 0, 0},           {0, UNIT + PAGE_BYTES, 0}, {UNIT / 2, UNIT, 0}, {0, UNIT, PAGE_BYTES},
        {0, UNIT, 3 * UNIT},
    };

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct rig *rig;

        forget(state);
        wants(bad[i].base, bad[i].bytes, bad[i].alignment);
        rig = start(1, "PT-044");
        assert_int_equal(driver.status[0], STATUS_INVALID_PARAMETER);
        assert_int_equal(rig->rule_count, 1);
        rig_free(rig);
    }
}

static void only_the_process_being_created_has_ranges(void **state)
{
    DXGKARGCB_RESERVEGPUVIRTUALADDRESSRANGE late = {.SizeInBytes = UNIT};
    struct vidmm_process *other;
    struct rig *rig = start(1, "PT-044");

    late.hDxgkProcess = driver.last_process;
    assert_int_equal(vidmm_reserve_gpu_va(rig->vidmm, &late), STATUS_INVALID_PARAMETER);
    assert_int_equal(rig->rule_count, 1);
    /* Inside the call, but of another process. */
    driver.says_process = driver.last_process;
    wants(0, UNIT, 0);
    assert_int_equal(vidmm_process_create(rig->vidmm, &other), STATUS_SUCCESS);
    assert_int_equal(driver.status[0], STATUS_INVALID_PARAMETER);
    assert_int_equal(rig->rule_count, 2);
    vidmm_process_destroy(other);
    rig_free(rig);
}

static void what_does_not_fit_or_is_not_there_is_refused(void **state)
{
    wants(0, 2 * END, 0);
    wants(END - UNIT, 2 * UNIT, 0);
    wants(0, UNIT, 0);
    driver.wants[2].AllowUserModeMapping = 1;
    wants(0, UNIT, 0);
    driver.wants[3].Flags = 2;
    rig_free(start(2, NULL));
    assert_int_equal(driver.status[0], STATUS_INVALID_PARAMETER);
    assert_int_equal(driver.status[1], STATUS_INVALID_PARAMETER);
    assert_int_equal(driver.status[2], STATUS_NOT_SUPPORTED);
    assert_int_equal(driver.status[3], STATUS_INVALID_PARAMETER);
}

static void the_last_unit_of_the_addresses_can_be_reserved(void **state)
{
    wants(END - UNIT, UNIT, 0);
    rig_free(start(3, NULL));
    assert_int_equal(driver.status[0], STATUS_SUCCESS);
    assert_int_equal(driver.va[0], END - UNIT);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(the_manager_chooses_from_entry_1_on, forget),
        cmocka_unit_test_setup(nobody_else_gets_addresses_there, forget),
        cmocka_unit_test_setup(a_range_ends_with_its_process, forget),
        cmocka_unit_test_setup(the_paging_process_has_them_below_its_layout, forget),
        cmocka_unit_test_setup(ranges_do_not_overlap, forget),
        cmocka_unit_test_setup(what_breaks_PT_044_is_refused, forget),
        cmocka_unit_test_setup(only_the_process_being_created_has_ranges, forget),
        cmocka_unit_test_setup(what_does_not_fit_or_is_not_there_is_refused, forget),
        cmocka_unit_test_setup(the_last_unit_of_the_addresses_can_be_reserved, forget),
    };

    return cmocka_run_group_tests_name("vidmm/reserved_va", tests, NULL, NULL);
}
