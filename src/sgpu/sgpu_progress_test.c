/* Values of hardware queues, which a submission writes at its end (SGPU_SUBMIT_PROGRESS). */
#include "sgpu/test_rig.h"

#include "base/bits.h"

#include <stdlib.h>

#define NODE      SGPU_NODE_RENDER
#define FENCE_VA  UINT64_C(0x5000)
#define FENCE_PA  UINT64_C(0x60000) /* in local memory */
#define TARGET_VA UINT64_C(0x9000)
#define TARGET_PA UINT64_C(0x70000)

static struct rig *new_rig(uint32_t straps, uint64_t *out_root)
{
    struct rig *rig = malloc(sizeof *rig);
    const struct machine_config board = rig_board();
    const struct sgpu_config config = {.straps = straps};

    assert_non_null(rig);
    rig_init_with(rig, &board, &config);
    *out_root = rig_root(rig);
    rig_map(rig, *out_root, FENCE_VA, 1, FENCE_PA | SGPU_PTE_VALID);
    rig_map(rig, *out_root, TARGET_VA, 1, TARGET_PA | SGPU_PTE_VALID);
    return rig;
}

static void free_rig(struct rig *rig)
{
    rig_fini(rig);
    free(rig);
}

static uint64_t value_of(struct rig *rig)
{
    uint64_t word;

    page_store_read(rig->local, FENCE_PA, &word, sizeof word);
    return word;
}

/* A fill, or nothing at all. */
static uint32_t submit(struct rig *rig, uint64_t root, uint64_t va, uint64_t value, uint32_t flags)
{
    uint64_t size;

    if (!(flags & SGPU_SUBMIT_FENCE_ONLY))
        rig_fill(rig, TARGET_VA, 64, 0x11223344);
    size = rig->used;
    rig->used = 0;
    rig_write(rig, SGPU_REG_NODE(NODE) + SGPU_NODE_PROGRESS_VA, 8, va);
    rig_write(rig, SGPU_REG_NODE(NODE) + SGPU_NODE_PROGRESS, 8, value);
    return rig_submit_at(rig, NODE, RIG_COMMAND_VA, root, size,
                         SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_PROGRESS | flags);
}

static void the_value_is_there_when_the_submission_has_ended(void **state)
{
    uint64_t root;
    uint32_t fence; /* of the last submission to no queue: COMPLETED keeps it */
    struct rig *rig = new_rig(SGPU_STRAP_QUEUES, &root);

    rig_execute(rig, NODE);
    fence = rig_completed(rig, NODE);
    assert_int_not_equal(submit(rig, root, FENCE_VA, UINT64_C(0x100000005), 0), fence);
    rig_expect_done(rig, NODE, fence);
    assert_true(value_of(rig) == UINT64_C(0x100000005));
    submit(rig, root, FENCE_VA, 0x105, SGPU_SUBMIT_FENCE_ONLY);
    rig_expect_done(rig, NODE, fence);
    assert_true(value_of(rig) == 0x105);
    free_rig(rig);
}

static void a_board_without_queues_writes_nothing(void **state)
{
    uint64_t root;
    struct rig *rig = new_rig(0, &root);

    rig_expect_done(rig, NODE, submit(rig, root, FENCE_VA, 7, SGPU_SUBMIT_FENCE_ONLY));
    assert_true(value_of(rig) == 0);
    free_rig(rig);
}

static void a_value_without_a_place_is_a_fault_of_the_submission(void **state)
{
    uint64_t root;
    struct rig *rig = new_rig(SGPU_STRAP_QUEUES, &root);
    uint32_t fence = submit(rig, root, 0x8000000, 7, 0);

    rig_expect_fault_at(rig, NODE, fence, SGPU_FAULT_NOT_VALID, 0x8000000);
    assert_true(value_of(rig) == 0);
    free_rig(rig);
}

/* One that is no multiple of 8 would go on in a page that is not mapped, or is another one. */
static void a_value_is_written_at_a_multiple_of_8(void **state)
{
    uint64_t root;
    struct rig *rig = new_rig(SGPU_STRAP_QUEUES, &root);
    uint32_t fence = submit(rig, root, FENCE_VA + PAGE_BYTES - 4, UINT64_MAX, 0);

    rig_expect_fault_at(rig, NODE, fence, SGPU_FAULT_PACKET, sizeof(struct sgpu_packet_fill));
    assert_true(page_store_is_fill(rig->local, FENCE_PA, 2 * PAGE_BYTES, 0, NULL));
    fence = rig_completed(rig, NODE);
    submit(rig, root, FENCE_VA + PAGE_BYTES - 8, UINT64_MAX, 0);
    rig_expect_done(rig, NODE, fence);
    assert_true(page_store_is_fill(rig->local, FENCE_PA + PAGE_BYTES - 8, 8, UINT32_MAX, NULL));
    free_rig(rig);
}

/* Only the node that renders has queues. */
static void another_node_writes_no_value(void **state)
{
    uint64_t root;
    struct rig *rig = new_rig(SGPU_STRAP_QUEUES, &root);

    rig_write(rig, SGPU_REG_NODE(SGPU_NODE_COPY) + SGPU_NODE_PROGRESS_VA, 8, FENCE_VA);
    rig_write(rig, SGPU_REG_NODE(SGPU_NODE_COPY) + SGPU_NODE_PROGRESS, 8, 7);
    rig_expect_done(
        rig, SGPU_NODE_COPY,
        rig_submit_at(rig, SGPU_NODE_COPY, 0, root, 0, SGPU_SUBMIT_VIRTUAL | SGPU_SUBMIT_PROGRESS));
    assert_true(value_of(rig) == 0);
    free_rig(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_value_is_there_when_the_submission_has_ended),
        cmocka_unit_test(a_board_without_queues_writes_nothing),
        cmocka_unit_test(a_value_without_a_place_is_a_fault_of_the_submission),
        cmocka_unit_test(a_value_is_written_at_a_multiple_of_8),
        cmocka_unit_test(another_node_writes_no_value),
    };

    return cmocka_run_group_tests_name("sgpu/progress", tests, NULL, NULL);
}
