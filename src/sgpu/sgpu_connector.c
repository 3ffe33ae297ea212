/*
 * The connector of a monitor. Resets and sleeps leave it alone: the monitor stays where it is.
 */
#include "sgpu/sgpu_private.h"

#include <string.h>

uint32_t sgpu_connector_read(const struct sgpu *gpu, uint64_t offset)
{
    uint32_t word = 0;

    if (offset == SGPU_REG_CONNECTOR)
        return gpu->is_connected ? SGPU_CONNECTED : 0;
    if (gpu->is_connected && offset >= SGPU_REG_EDID &&
        offset + sizeof word <= SGPU_REG_EDID + SGPU_EDID_BYTES)
        memcpy(&word, gpu->edid + (offset - SGPU_REG_EDID), sizeof word);
    return word;
}

void sgpu_plug(struct sgpu *gpu, const uint8_t *edid)
{
    const bool was_connected = gpu->is_connected;

    gpu->is_connected = edid != NULL;
    if (edid)
        memcpy(gpu->edid, edid, sizeof gpu->edid);
    if ((gpu->is_connected || was_connected) && !gpu->is_off)
        sgpu_raise_irq(gpu, SGPU_IRQ_CONNECTOR);
}
