/*
 * What each call of the driver needs: whether it is there, what its status means, time behind it.
 */
#include "bench/screen/screen_private.h"

#include "nt/nt.h"

void screen_pass(struct screen *screen, uint64_t ns)
{
    machine_run_until(screen->config.machine, machine_now(screen->config.machine) + ns);
}

bool screen_has(const struct screen *screen, enum miniport_ddi ddi)
{
    return miniport_has(screen->config.miniport, ddi);
}

bool screen_succeeds(struct screen *screen, const char *ddi, NTSTATUS status)
{
    if (status == STATUS_SUCCESS)
        return true;
    if (!screen->is_over)
        nt_misuse(screen->config.nt, "%s returned 0x%08x: the display is not shown any further",
                  ddi, (unsigned)status);
    screen->is_over = true;
    return false;
}
