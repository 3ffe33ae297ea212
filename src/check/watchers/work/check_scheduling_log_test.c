/* Scheduling logs (HWQ-021, HWQ-022). */
#include "check/check_private.h"
#include "check/rig/test_rig_submit.h"

#define ENTRIES 4

static struct {
    DXGK_SCHEDULING_LOG_HEADER header;
    DXGK_SCHEDULING_LOG_ENTRY entries[ENTRIES];
} logs[2];

static DXGKARG_SETSCHEDULINGLOGBUFFER lawful_log(unsigned which)
{
    memset(&logs[which].header, 0, sizeof logs[which].header);
    logs[which].header.NumberOfEntries = ENTRIES;
    return (DXGKARG_SETSCHEDULINGLOGBUFFER){.NodeOrdinal = RIG_CLIENT_NODE,
                                            .NumberOfEntries = ENTRIES,
                                            .LogBufferCpuVa = (void *)&logs[which],
                                            .LogBufferGpuVa = 0x10000};
}

static void set_log(struct rig *rig, unsigned which)
{
    const DXGKARG_SETSCHEDULINGLOGBUFFER arg = lawful_log(which);

    miniport_set_scheduling_log_buffer(rig->top, NULL, &arg);
}

/* As the driver's interrupt routine does. */
static void write_log(struct rig *rig, unsigned which)
{
    logs[which].entries[1].GpuTimeStamp++;
    logs[which].header.FirstFreeEntryIndex = 2;
    miniport_interrupt(rig->top, 0);
}

RULE_BROKEN(HWQ_021)
{
    DXGKARG_SETSCHEDULINGLOGBUFFER arg = lawful_log(0);

    logs[0].header.FirstFreeEntryIndex = 1;
    miniport_set_scheduling_log_buffer(rig->top, NULL, &arg);
}

/* What the entries hold is nobody's concern. */
RULE_KEPT(HWQ_021)
{
    memset(logs, 0xa5, sizeof logs);
    set_log(rig, 0);
    write_log(rig, 0);
    set_log(rig, 1);
    set_log(rig, 0);
}

static void each_word_of_the_header_counts(void **state)
{
    for (unsigned wrong = 0; wrong < 4; wrong++) {
        DXGKARG_SETSCHEDULINGLOGBUFFER arg = lawful_log(0);
        struct rig *rig = malloc(sizeof *rig);

        assert_non_null(rig);
        rig_init(rig, RIG_GPUMMU);
        if (wrong == 1)
            logs[0].header.WraparoundCount = 1;
        if (wrong == 2)
            logs[0].header.NumberOfEntries = ENTRIES + 1;
        if (wrong == 3)
            arg.LogBufferCpuVa = NULL;
        miniport_set_scheduling_log_buffer(rig->top, NULL, &arg);
        rig_expect_only(rig, wrong ? RULE_HWQ_021 : RULE_NONE);
        rig_fini(rig);
        free(rig);
    }
}

RULE_BROKEN(HWQ_022)
{
    set_log(rig, 0);
    set_log(rig, 1);
    write_log(rig, 0);
}

/* The system has the former one back, and gives it again. */
RULE_KEPT(HWQ_022)
{
    set_log(rig, 0);
    write_log(rig, 0);
    set_log(rig, 1);
    write_log(rig, 1);
    set_log(rig, 0);
    write_log(rig, 0);
}

/* A driver that refuses the new one goes on with what it has. */
static NTSTATUS refuse(struct rig *rig, enum miniport_ddi ddi, HANDLE object, void *arg)
{
    return ddi == MINIPORT_DDI_SetSchedulingLogBuffer ? STATUS_NOT_SUPPORTED
                                                      : rig_answer(rig, ddi, object, arg);
}

static void a_log_that_was_refused_is_not_the_nodes(void **state)
{
    struct rig *rig = malloc(sizeof *rig);

    assert_non_null(rig);
    rig_init(rig, RIG_GPUMMU);
    set_log(rig, 0);
    rig->answer = refuse;
    set_log(rig, 1);
    write_log(rig, 0);
    rig_expect_only(rig, RULE_NONE);
    rig_fini(rig);
    free(rig);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_word_of_the_header_counts),
        cmocka_unit_test(a_log_that_was_refused_is_not_the_nodes),
    };

    return RIG_RUN_TESTS(tests);
}
