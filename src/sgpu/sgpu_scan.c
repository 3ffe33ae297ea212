/*
 * Scan-out: the address that a display reads from.
 */
#include "sgpu/sgpu_private.h"

/* What ends the scan-out, or forgets what was to be taken, cancels the event. */
static void sync(void *context)
{
    struct sgpu *gpu = context;

    gpu->scan_current = gpu->scan_next;
    gpu->scan_next = SCAN_NOTHING;
    if (gpu->observer && gpu->observer->scanned)
        gpu->observer->scanned(gpu->observer_context, gpu->scan_current);
    sgpu_raise_irq(gpu, SGPU_IRQ_SYNC);
}

static void wait_for_sync(struct sgpu *gpu)
{
    if (gpu->scan_is_shown && gpu->scan_next != SCAN_NOTHING && !gpu->scan_event.is_scheduled)
        machine_schedule(gpu->machine, &gpu->scan_event, machine_now(gpu->machine) + SGPU_SYNC_NS,
                         sync, gpu);
}

void sgpu_scan_end(struct sgpu *gpu)
{
    machine_cancel(gpu->machine, &gpu->scan_event);
    gpu->scan_next = gpu->scan_current = SCAN_NOTHING;
    gpu->scan_is_shown = false;
}

bool sgpu_scan_write(struct sgpu *gpu, uint64_t offset, uint32_t value)
{
    if (!(gpu->config.straps & SGPU_STRAP_DISPLAY))
        return false;
    switch (offset) {
    case SGPU_REG_SCAN_NEXT:
        gpu->scan_low = value;
        return true;
    case SGPU_REG_SCAN_NEXT + 4:
        gpu->scan_next = gpu->scan_low | (uint64_t)value << 32;
        wait_for_sync(gpu);
        return true;
    case SGPU_REG_SCAN_CONTROL:
        if (value == SGPU_SCAN_HIDE) {
            sgpu_scan_end(gpu);
        } else {
            gpu->scan_is_shown = true;
            wait_for_sync(gpu);
        }
        return true;
    default:
        return false;
    }
}
