/*
 * What the monitor shows, compared with the image.
 */
#include "bench/screen/screen_private.h"

#include "base/bits.h"
#include "machine/page_store.h"
#include "nt/nt.h"

#include <string.h>

#define MOST_ROW (16384u * 4u) /* bytes of a row: what this bench draws */

const char *screen_uncompared_reason(enum screen_uncompared why)
{
    static const char *const reasons[SCREEN_UNCOMPARED_KINDS] = {
        [SCREEN_OF_A_MODEL] = "where a model of a GPU shows pixels is not known",
        [SCREEN_WITHOUT_FRAME] = "the driver has not asked for the frame buffer of the firmware",
        [SCREEN_OTHER_SIZE] = "where a mode is shown that is not of the frame buffer's size is not "
                              "known",
        [SCREEN_OTHER_FORMAT] = "pixels are compared where they are A8R8G8B8 or X8R8G8B8",
    };

    return reasons[why];
}

/* Where the frame buffer begins in local memory. False: where it is shown is not known, and why. */
static bool find_shown(const struct screen *screen, uint64_t *out_offset,
                       enum screen_uncompared *out_why)
{
    const D3DKMDT_GRAPHICS_RENDERING_FORMAT *format = &screen->mode.Format.Graphics;
    const DXGK_DISPLAY_INFORMATION *post = &screen->config.host->post;
    struct machine *machine = screen->config.machine;

    *out_offset = (uint64_t)post->PhysicAddress.QuadPart - machine_bar1_pa(machine);
    *out_why = SCREEN_OF_A_MODEL;
    if (screen->config.has_model)
        return false;
    *out_why = SCREEN_WITHOUT_FRAME;
    if (!screen->config.host->is_post_taken || !machine_local(machine) ||
        post->ColorFormat != D3DDDIFMT_X8R8G8B8 ||
        !page_store_contains(machine_local(machine), *out_offset,
                             (uint64_t)post->Pitch * post->Height))
        return false;
    *out_why = SCREEN_OTHER_SIZE;
    if (post->Width != format->PrimSurfSize.cx || post->Height != format->PrimSurfSize.cy ||
        post->Pitch < format->PrimSurfSize.cx * 4)
        return false;
    *out_why = SCREEN_OTHER_FORMAT;
    return format->PixelFormat == D3DDDIFMT_A8R8G8B8 || format->PixelFormat == D3DDDIFMT_X8R8G8B8;
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

/* False: no memory to compare with. */
static bool compare_rows(const struct screen *screen, uint64_t offset, LONG pitch,
                         struct check_client_shown *out)
{
    const D3DKMDT_2DREGION *size = &screen->mode.Format.Graphics.PrimSurfSize;
    uint8_t *row = base_alloc(screen->config.services, MOST_ROW);

    *out = (struct check_client_shown){.width = size->cx, .height = size->cy};
    for (uint32_t y = 0; row && y < size->cy && !out->is_other; y++) {
        const uint8_t *wanted = screen->image.pixels + (size_t)y * (size_t)pitch;
        uint32_t x;

        page_store_read(machine_local(screen->config.machine),
                        offset + (uint64_t)y * screen->config.host->post.Pitch, row,
                        (uint64_t)size->cx * 4);
        if (!find_difference(row, wanted, size->cx, &x))
            continue;
        out->is_other = true;
        out->x = x;
        out->y = y;
        out->shown = colour(row + (size_t)x * 4);
        out->presented = colour(wanted + (size_t)x * 4);
    }
    if (!row)
        return false;
    base_free(screen->config.services, row, MOST_ROW);
    return true;
}

static bool covers(const RECT *rect, const struct check_client_shown *shown)
{
    const LONG x = (LONG)shown->x, y = (LONG)shown->y;

    return x >= rect->left && x < rect->right && y >= rect->top && y < rect->bottom;
}

/* The last that the present says of the pixel: dirty rectangles lie over moves. */
static void find_part(const DXGKARG_PRESENT_DISPLAYONLY *arg, struct check_client_shown *shown)
{
    for (ULONG i = 0; i < arg->NumMoves; i++) {
        if (covers(&arg->pMoves[i].DestRect, shown)) {
            shown->part = CHECK_SHOWN_MOVED;
            shown->index = i;
        }
    }
    for (ULONG i = 0; i < arg->NumDirtyRects; i++) {
        if (covers(&arg->pDirtyRect[i], shown)) {
            shown->part = CHECK_SHOWN_DIRTY;
            shown->index = i;
        }
    }
}

void screen_compare(struct screen *screen, const DXGKARG_PRESENT_DISPLAYONLY *arg)
{
    struct check_client_event event = {.kind = CHECK_CLIENT_SHOWN};
    enum screen_uncompared why;
    uint64_t offset;

    if (screen->is_over || screen->has_differed)
        return;
    screen_pass(screen, SCREEN_SETTLE_NS);
    if (!screen->config.check)
        return;
    if (!find_shown(screen, &offset, &why)) {
        screen->config.uncompared[why]++;
        return;
    }
    if (!compare_rows(screen, offset, arg->Pitch, &event.shown))
        return;
    if (event.shown.is_other)
        find_part(arg, &event.shown);
    screen->has_differed = event.shown.is_other;
    check_client(screen->config.check, &event);
}
