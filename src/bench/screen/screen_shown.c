/*
 * What the monitor shows, compared with the image.
 */
#include "bench/screen/screen_private.h"

#include "base/bits.h"
#include "machine/page_store.h"
#include "nt/nt.h"

#include <string.h>

#define MOST_ROW (16384u * 4u) /* bytes of a row: what this bench draws */

/* Where the frame buffer begins in local memory. False: where it is shown is not known. */
static bool find_shown(struct screen *screen, uint64_t *out_offset)
{
    const D3DKMDT_2DREGION *size = &screen->mode.Format.Graphics.PrimSurfSize;
    const DXGK_DISPLAY_INFORMATION *post = &screen->config.host->post;
    struct machine *machine = screen->config.machine;

    *out_offset = (uint64_t)post->PhysicAddress.QuadPart - machine_bar1_pa(machine);
    return !screen->config.has_model && screen->config.host->is_post_taken &&
           post->Width == size->cx && post->Height == size->cy && post->Pitch >= size->cx * 4 &&
           post->ColorFormat == D3DDDIFMT_X8R8G8B8 && machine_local(machine) &&
           page_store_contains(machine_local(machine), *out_offset,
                               (uint64_t)post->Pitch * post->Height);
}

/* Blue, green and red; what lies above is nobody's. */
static bool find_difference(const uint8_t *row, const uint8_t *wanted, uint32_t width,
                            uint32_t *out_x)
{
    for (*out_x = 0; *out_x < width; ++*out_x) {
        if (memcmp(row + (size_t)*out_x * 4, wanted + (size_t)*out_x * 4, 3) != 0)
            return true;
    }
    return false;
}

static uint32_t colour(const uint8_t *pixel)
{
    return (uint32_t)pixel[0] | (uint32_t)pixel[1] << 8 | (uint32_t)pixel[2] << 16;
}

static void compare_rows(struct screen *screen, uint64_t offset, LONG pitch)
{
    const D3DKMDT_2DREGION *size = &screen->mode.Format.Graphics.PrimSurfSize;
    uint8_t *row = base_alloc(screen->config.services, MOST_ROW);

    for (uint32_t y = 0; row && y < size->cy && !screen->has_differed; y++) {
        const uint8_t *wanted = screen->image.pixels + (size_t)y * (size_t)pitch;
        uint32_t x;

        page_store_read(machine_local(screen->config.machine),
                        offset + (uint64_t)y * screen->config.host->post.Pitch, row,
                        (uint64_t)size->cx * 4);
        if (!find_difference(row, wanted, size->cx, &x))
            continue;
        screen->has_differed = true;
        nt_misuse(screen->config.nt,
                  "behind DxgkDdiPresentDisplayOnly the screen shows 0x%06x at (%u, %u), where the "
                  "image has 0x%06x (mode %ux%u)",
                  (unsigned)colour(row + (size_t)x * 4), (unsigned)x, (unsigned)y,
                  (unsigned)colour(wanted + (size_t)x * 4), (unsigned)size->cx, (unsigned)size->cy);
    }
    if (row)
        base_free(screen->config.services, row, MOST_ROW);
}

void screen_compare(struct screen *screen, LONG pitch)
{
    const D3DKMDT_GRAPHICS_RENDERING_FORMAT *format = &screen->mode.Format.Graphics;
    uint64_t offset;

    if (screen->is_over || screen->has_differed ||
        (format->PixelFormat != D3DDDIFMT_A8R8G8B8 && format->PixelFormat != D3DDDIFMT_X8R8G8B8))
        return;
    screen_pass(screen, SCREEN_SETTLE_NS);
    if (find_shown(screen, &offset))
        compare_rows(screen, offset, pitch);
}
