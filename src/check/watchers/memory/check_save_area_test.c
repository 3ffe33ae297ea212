/* The area for what a driver saves of its own local memory: PWR-012 and from PWR-016 on. */
#include "check/rig/test_rig_submit.h"

#define AREA_BYTES (8 * PAGE_SIZE)

/* What the kernel answers with; the test changes it. */
static struct kernel {
    NTSTATUS status;
    struct {
        MDL mdl;
        PFN_NUMBER pages[8];
    } list;
    DXGK_ADL adl;
    char views[4 * 16]; /* their addresses alone count */
    unsigned view_count;
} kernel;

static NTSTATUS give(struct miniport_host *host, const struct miniport_memory_request *request)
{
    if (!NT_SUCCESS(kernel.status))
        return kernel.status;
    switch ((unsigned)request->kind) {
    case MINIPORT_MEMORY_pin_save_area:
        request->pin_save_area->pMdl = &kernel.list.mdl;
        break;
    case MINIPORT_MEMORY_pin_save_area_2:
        request->pin_save_area_2->pAdl = &kernel.adl;
        break;
    case MINIPORT_MEMORY_map_save_area:
        request->map_save_area->pBaseAddress = &kernel.views[kernel.view_count++ % 4 * 16];
        request->map_save_area->Offset %= 64 * KiB;
        break;
    default:
        break;
    }
    return STATUS_SUCCESS;
}

static void ask(struct rig *rig, enum miniport_memory_kind kind, const void *arg)
{
    static struct miniport_host_ops ops;
    const struct miniport_memory_request request = {.kind = kind, .any = arg};

    ops = rig_host_ops;
    ops.memory = give;
    rig->host.ops = &ops;
    rig->drivers_host->ops->memory(rig->drivers_host, &request);
    rig->host.ops = &rig_host_ops;
}

static NTSTATUS answer_area(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    const DXGKARG_QUERYADAPTERINFO *query = arg;

    if (query->Type == DXGKQAITYPE_FRAMEBUFFERSAVESIZE)
        ((DXGK_FRAMEBUFFERSAVEAREA *)query->pOutputData)->MaximumSize = AREA_BYTES;
    else
        ((DXGK_IOMMU_CAPS *)query->pOutputData)->DmaRemappingSupported = 1;
    return STATUS_SUCCESS;
}

static void have_area(struct rig *rig)
{
    DXGK_FRAMEBUFFERSAVEAREA area = {0};

    memset(&kernel, 0, sizeof kernel);
    rig->answer = answer_area;
    rig_query(rig, DXGKQAITYPE_FRAMEBUFFERSAVESIZE, NULL, 0, &area, sizeof area);
    rig->answer = NULL;
}

static void be_remapped(struct rig *rig)
{
    DXGK_IOMMU_CAPS caps = {0};

    have_area(rig);
    rig->answer = answer_area;
    rig_query(rig, DXGKQAITYPE_IOMMU_CAPS, NULL, 0, &caps, sizeof caps);
    rig->answer = NULL;
}

static void pin(struct rig *rig, SIZE_T bytes)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE arg = {.CommitSize = bytes};

    kernel.list.mdl.ByteCount = (ULONG)bytes;
    ask(rig, MINIPORT_MEMORY_pin_save_area, &arg);
}

static void pin_2(struct rig *rig, SIZE_T bytes)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE2 arg = {.CommitSize = bytes};

    kernel.adl.PageCount = (UINT32)(bytes / PAGE_SIZE);
    ask(rig, MINIPORT_MEMORY_pin_save_area_2, &arg);
}

static void unpin(struct rig *rig)
{
    const DXGKARGCB_UNPINFRAMEBUFFERFORSAVE arg = {0};

    ask(rig, MINIPORT_MEMORY_unpin_save_area, &arg);
}

static void *map(struct rig *rig, SIZE_T offset, SIZE_T bytes)
{
    DXGKARGCB_MAPFRAMEBUFFERPOINTER arg = {.Size = bytes, .Offset = offset};

    ask(rig, MINIPORT_MEMORY_map_save_area, &arg);
    return arg.pBaseAddress;
}

static void unmap(struct rig *rig, void *address)
{
    const DXGKARGCB_UNMAPFRAMEBUFFERPOINTER arg = {.pBaseAddress = address};

    ask(rig, MINIPORT_MEMORY_unmap_save_area, &arg);
}

static void sleep_and_wake(struct rig *rig)
{
    miniport_set_power_state(rig->top, 0, PowerDeviceD3, PowerActionSleep);
    miniport_set_power_state(rig->top, 0, PowerDeviceD0, PowerActionNone);
}

/* ---- The rules ---- */

RULE_BROKEN(PWR_012)
{
    have_area(rig);
    kernel.status = STATUS_NO_MEMORY;
    pin(rig, AREA_BYTES);
    sleep_and_wake(rig);
}

RULE_KEPT(PWR_012)
{
    have_area(rig);
    kernel.status = STATUS_NO_MEMORY;
    pin(rig, AREA_BYTES);
    kernel.status = STATUS_SUCCESS;
    unmap(rig, map(rig, 0, PAGE_SIZE));
    sleep_and_wake(rig);
}

RULE_BROKEN(PWR_016)
{
    have_area(rig);
    kernel.status = STATUS_INVALID_PARAMETER;
    pin(rig, PAGE_SIZE + 100);
    assert_string_equal(rig->last.text,
                        "is 0x1064 (expected a multiple of 0x1000, up to 0x8000, which "
                        "DXGK_FRAMEBUFFERSAVEAREA.MaximumSize says)");
    sleep_and_wake(rig);
}

RULE_KEPT(PWR_016)
{
    have_area(rig);
    pin(rig, AREA_BYTES);
    unpin(rig);
    pin_2(rig, PAGE_SIZE);
    unpin(rig);
}

RULE_BROKEN(PWR_017)
{
    have_area(rig);
    kernel.status = STATUS_INVALID_PARAMETER;
    map(rig, AREA_BYTES - PAGE_SIZE, 2 * PAGE_SIZE);
}

RULE_KEPT(PWR_017)
{
    have_area(rig);
    unmap(rig, map(rig, AREA_BYTES - PAGE_SIZE, PAGE_SIZE));
    unmap(rig, map(rig, 0, AREA_BYTES));
}

RULE_BROKEN(PWR_018)
{
    have_area(rig);
    pin(rig, PAGE_SIZE);
    unpin(rig);
    unpin(rig);
}

RULE_KEPT(PWR_018)
{
    void *first, *second;

    have_area(rig);
    first = map(rig, 0, PAGE_SIZE);
    second = map(rig, PAGE_SIZE, PAGE_SIZE);
    unmap(rig, first);
    pin(rig, PAGE_SIZE);
    unmap(rig, second);
    unpin(rig);
    miniport_remove_device(rig->top);
}

RULE_BROKEN(PWR_019)
{
    have_area(rig);
    rig->irql = APC_LEVEL;
    pin(rig, PAGE_SIZE);
    rig->irql = PASSIVE_LEVEL;
    unpin(rig);
}

RULE_KEPT(PWR_019)
{
    have_area(rig);
    pin(rig, PAGE_SIZE);
    unpin(rig);
}

RULE_BROKEN(PWR_020)
{
    be_remapped(rig);
    kernel.status = STATUS_NOT_SUPPORTED;
    pin(rig, PAGE_SIZE);
}

RULE_KEPT(PWR_020)
{
    be_remapped(rig);
    pin_2(rig, PAGE_SIZE);
    unpin(rig);
}

RULE_BROKEN(PWR_021)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE arg = {.CommitSize = 2 * PAGE_SIZE};

    have_area(rig);
    kernel.list.mdl.ByteCount = PAGE_SIZE;
    ask(rig, MINIPORT_MEMORY_pin_save_area, &arg);
    unpin(rig);
}

RULE_KEPT(PWR_021)
{
    have_area(rig);
    pin(rig, 2 * PAGE_SIZE);
    unpin(rig);
    pin_2(rig, 3 * PAGE_SIZE);
    unpin(rig);
}

/* ---- What else breaks them ---- */

static void play(enum rule_id rule, void (*script)(struct rig *rig))
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    have_area(rig);
    script(rig);
    rig_expect_only(rig, rule);
    rig_fini(rig);
    free(rig);
}

static void pin_nothing(struct rig *rig)
{
    pin(rig, 0);
}

static void pin_too_much(struct rig *rig)
{
    pin_2(rig, AREA_BYTES + PAGE_SIZE);
}

static void map_odd_bytes(struct rig *rig)
{
    map(rig, 0, 100);
}

static void map_at_odd_bytes(struct rig *rig)
{
    map(rig, 100, PAGE_SIZE);
}

static void map_nothing(struct rig *rig)
{
    map(rig, 0, 0);
}

static void map_far_beyond(struct rig *rig)
{
    map(rig, (SIZE_T)0 - PAGE_SIZE, 2 * PAGE_SIZE);
}

static void sizes_and_places_are_judged(void **state)
{
    play(RULE_PWR_016, pin_nothing);
    play(RULE_PWR_016, pin_too_much);
    play(RULE_PWR_017, map_odd_bytes);
    play(RULE_PWR_017, map_at_odd_bytes);
    play(RULE_PWR_017, map_nothing);
    play(RULE_PWR_017, map_far_beyond);
}

static void pin_twice(struct rig *rig)
{
    pin(rig, PAGE_SIZE);
    pin_2(rig, PAGE_SIZE);
}

static void unmap_twice(struct rig *rig)
{
    void *view = map(rig, 0, PAGE_SIZE);

    unmap(rig, view);
    unmap(rig, view);
}

static void leave_pinned(struct rig *rig)
{
    pin(rig, PAGE_SIZE);
    miniport_remove_device(rig->top);
}

static void leave_mapped(struct rig *rig)
{
    map(rig, 0, PAGE_SIZE);
    miniport_remove_device(rig->top);
}

static void what_is_had_is_given_back_once(void **state)
{
    play(RULE_PWR_018, pin_twice);
    play(RULE_PWR_018, unmap_twice);
    play(RULE_PWR_018, leave_pinned);
    play(RULE_PWR_018, leave_mapped);
}

static void unpin_too_high(struct rig *rig)
{
    pin(rig, PAGE_SIZE);
    rig->irql = DISPATCH_LEVEL;
    unpin(rig);
    rig->irql = PASSIVE_LEVEL;
}

static void short_adl(struct rig *rig)
{
    DXGKARGCB_PINFRAMEBUFFERFORSAVE2 arg = {.CommitSize = 2 * PAGE_SIZE};

    kernel.adl.PageCount = 1;
    ask(rig, MINIPORT_MEMORY_pin_save_area_2, &arg);
}

static void both_ends_of_a_pin_are_judged(void **state)
{
    play(RULE_PWR_019, unpin_too_high);
    play(RULE_PWR_021, short_adl);
}

/* A pin that works is as good as pieces; each change of power is judged for itself. */
static void pin_at_last(struct rig *rig)
{
    kernel.status = STATUS_NO_MEMORY;
    pin(rig, AREA_BYTES);
    kernel.status = STATUS_SUCCESS;
    pin_2(rig, PAGE_SIZE);
    unpin(rig);
    sleep_and_wake(rig);
}

static void a_later_pin_is_no_retreat(void **state)
{
    play(RULE_NONE, pin_at_last);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_and_places_are_judged),
        cmocka_unit_test(what_is_had_is_given_back_once),
        cmocka_unit_test(both_ends_of_a_pin_are_judged),
        cmocka_unit_test(a_later_pin_is_no_retreat),
    };

    return RIG_RUN_TESTS(tests);
}
