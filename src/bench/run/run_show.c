/*
 * The run of a display-only driver: no memory manager and no player; a screen (screen.h), and of
 * the lines of the case those that can be asked of such a driver.
 */
#include "bench/run/run_private.h"

#include "bench/screen/screen.h"
#include "check/report/decode.h"
#include "miniport/raw.h"

#define IMAGES_AT_FIRST 6u
#define IMAGES_OF_STEP  4u

static const struct {
    enum workload_power power;
    DEVICE_POWER_STATE state;
    POWER_ACTION action;
} sleeps[] = {
    {WORKLOAD_POWER_STANDBY, PowerDeviceD3, PowerActionSleep},
    {WORKLOAD_POWER_HIBERNATE, PowerDeviceD3, PowerActionHibernate},
    {WORKLOAD_POWER_D3, PowerDeviceD3, PowerActionNone},
};

static void sleep_and_wake(struct run_assembly *run, enum workload_power power)
{
    for (size_t i = 0; i < sizeof sleeps / sizeof sleeps[0]; i++) {
        if (sleeps[i].power == power)
            screen_sleep(run->screen, sleeps[i].state, sleeps[i].action);
    }
}

/* Nothing, where the monitor is there already, or is not. */
static void plug_monitor(struct run_assembly *run, bool is_plugged)
{
    if (run->is_unplugged != is_plugged)
        return;
    run->is_unplugged = !is_plugged;
    if (run_plug_monitor(run, is_plugged))
        screen_plugged(run->screen, is_plugged);
    else
        run->has_lasting_monitor = true;
}

/* False: what follows is not played. */
static bool play_line(struct run_assembly *run, const struct workload_op *op, unsigned *left_out)
{
    switch (op->kind) {
    case WORKLOAD_OP_STEP:
        screen_change_mode(run->screen);
        screen_show(run->screen, IMAGES_OF_STEP);
        return true;
    case WORKLOAD_OP_SHOW:
        screen_show(run->screen, 1);
        return true;
    case WORKLOAD_OP_POWER:
        sleep_and_wake(run, (enum workload_power)op->flags);
        return true;
    case WORKLOAD_OP_UNPLUG:
    case WORKLOAD_OP_PLUG:
        plug_monitor(run, op->kind == WORKLOAD_OP_PLUG);
        return true;
    case WORKLOAD_OP_PAUSE:
        machine_run_until(run->machine, machine_now(run->machine) + op->value);
        return true;
    case WORKLOAD_OP_NOTE:
    case WORKLOAD_OP_LABEL:
        return true;
    case WORKLOAD_OP_STOP:
    case WORKLOAD_OP_REMOVE:
        return false;
    case WORKLOAD_OP_READ: /* of what was drawn, for the next image: one line is one image */
        ++*left_out;
        screen_show(run->screen, 1);
        return true;
    default:
        ++*left_out;
        return true;
    }
}

/* Stopped and started again: the boot display of the second start is what the first one left. */
static bool start_again(struct run_assembly *run)
{
    NTSTATUS status = screen_stop(run->screen, true);
    DXGK_DISPLAY_INFORMATION post = run->host.post;

    run->is_started = false;
    run_lower_screen(run);
    /* DRIVERCAPS are asked for in the shape of the driver's headers, as for the first start. */
    run_ask_anew(run);
    if (!NT_SUCCESS(status) || (run->check && !check_begin_again(run->check)))
        return false;
    if (!run_raise_screen(run, &post))
        return false;
    status = run_start_device(run);
    if (!NT_SUCCESS(status))
        return run_refuse(run, "DxgkDdiStartDevice failed with status %s when started again",
                          decode_status(status).text);
    return screen_begin(run->screen, run->video_present_sources, run->children);
}

static void tell_uncompared(struct run_assembly *run)
{
    for (unsigned why = 0; why < SCREEN_UNCOMPARED_KINDS; why++) {
        if (run->uncompared[why])
            run_result_report(run->result, RUN_FINDING_LACKING, 0, machine_now(run->machine),
                              "%u presents were not compared with what the screen shows: %s",
                              run->uncompared[why], screen_uncompared_reason(why));
    }
}

void run_play_screen(struct run_assembly *run)
{
    const uint64_t start_ns = machine_now(run->machine);
    unsigned left_out = 0;

    run->result->started_wddm = miniport_raw_wddm(miniport_interface_version(run->bottom));
    if (screen_begin(run->screen, run->video_present_sources, run->children)) {
        screen_show(run->screen, IMAGES_AT_FIRST);
        for (uint32_t i = 0; i < run->workload->op_count; i++) {
            if (!play_line(run, &run->workload->ops[i], &left_out))
                break;
        }
        plug_monitor(run, true);
        if (start_again(run))
            screen_show(run->screen, IMAGES_OF_STEP);
    }
    run->result->virtual_time_ns = machine_now(run->machine) - start_ns;
    if (left_out)
        run_result_report(run->result, RUN_FINDING_LACKING, 0, machine_now(run->machine),
                          "lines of the case about memory are left out: a display-only driver "
                          "manages none");
    if (run->has_lasting_monitor)
        run_result_report(run->result, RUN_FINDING_LACKING, 0, machine_now(run->machine),
                          "unplug and plug lines are left out: of the board no monitor can be "
                          "pulled out here");
    tell_uncompared(run);
}
