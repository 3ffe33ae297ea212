/*
 * Images, presents and their reports, the pointer.
 *
 * A driver presents at once, or returns STATUS_PENDING and reports the end by an interrupt of type
 * DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS. The image is the driver's to read until then.
 */
#define _GNU_SOURCE /* MAP_ANONYMOUS */
#include "bench/screen/screen_private.h"

#include "base/bits.h"
#include "nt/nt.h"

#include <string.h>
#include <sys/mman.h>

#define HOST_PAGE    4096u
#define TIMEOUT_NS   UINT64_C(2000000000) /* as for any packet of work: two seconds */
#define MOST_RECTS   4u
#define MOST_POINTER 64u

/* ---- Images ---------------------------------------------------------------------------------- */

bool screen_make_image(struct screen_image *image, size_t bytes)
{
    const size_t page_bytes = align_up(bytes, HOST_PAGE) + HOST_PAGE;
    uint8_t *pages;

    screen_free_image(image);
    pages = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    mprotect(pages + page_bytes - HOST_PAGE, HOST_PAGE, PROT_NONE);
    *image =
        (struct screen_image){pages, page_bytes, pages + page_bytes - HOST_PAGE - bytes, bytes};
    return true;
}

void screen_free_image(struct screen_image *image)
{
    if (image->pages)
        munmap(image->pages, image->page_bytes);
    *image = (struct screen_image){0};
}

/* For the driver to read only, or for us to write. */
static void lend_image(const struct screen_image *image, bool is_lent)
{
    mprotect(image->pages, image->page_bytes - HOST_PAGE,
             is_lent ? PROT_READ : PROT_READ | PROT_WRITE);
}

static ULONG bytes_of_pixel(D3DDDIFORMAT format)
{
    return format == D3DDDIFMT_R5G6B5 ? 2 : format == D3DDDIFMT_R8G8B8 ? 3 : 4;
}

/* ---- Presents -------------------------------------------------------------------------------- */

/* At device IRQL. */
void screen_interrupted(void *context, const DXGKARGCB_NOTIFY_INTERRUPT_DATA *data)
{
    struct screen *screen = context;

    if (data->InterruptType != DXGK_INTERRUPT_DISPLAYONLY_PRESENT_PROGRESS)
        return;
    screen->has_failed =
        data->DisplayOnlyPresentProgress.ProgressId == DXGK_PRESENT_DISPLAYONLY_PROGRESS_ID_FAILED;
    screen->is_pending = false;
}

static void wait_for_report(struct screen *screen)
{
    const uint64_t end = machine_now(screen->config.machine) + TIMEOUT_NS;

    while (screen->is_pending && machine_next_event_time(screen->config.machine) <= end)
        machine_run_next(screen->config.machine);
    if (!screen->is_pending && screen->has_failed) {
        nt_misuse(screen->config.nt, "a present was reported as failed, without a reason that the "
                                     "bench has given");
        screen->is_over = true;
    }
    if (!screen->is_pending)
        return;
    if (!screen->config.check)
        nt_misuse(screen->config.nt, "DxgkDdiPresentDisplayOnly returned STATUS_PENDING, and its "
                                     "progress is not reported within two seconds");
    else
        check_client(screen->config.check,
                     &(struct check_client_event){.kind = CHECK_CLIENT_PRESENT_LATE});
    screen->is_pending = false;
    screen->is_over = true;
}

static LONG draw(struct screen *screen, LONG low, LONG high)
{
    return (LONG)rng_between(&screen->rng, (uint64_t)low, (uint64_t)high);
}

static RECT draw_rect(struct screen *screen, LONG width, LONG height)
{
    RECT rect = {.left = draw(screen, 0, width - 1), .top = draw(screen, 0, height - 1)};

    rect.right = draw(screen, rect.left + 1, width);
    rect.bottom = draw(screen, rect.top + 1, height);
    return rect;
}

/* A part of the screen moves: both ends lie on it. */
static D3DKMT_MOVE_RECT draw_move(struct screen *screen, LONG width, LONG height)
{
    D3DKMT_MOVE_RECT move = {.DestRect = draw_rect(screen, width, height)};

    move.SourcePoint.x = draw(screen, 0, width - (move.DestRect.right - move.DestRect.left));
    move.SourcePoint.y = draw(screen, 0, height - (move.DestRect.bottom - move.DestRect.top));
    return move;
}

void screen_present(struct screen *screen, bool is_whole)
{
    const D3DKMDT_GRAPHICS_RENDERING_FORMAT *format = &screen->mode.Format.Graphics;
    const LONG width = (LONG)format->PrimSurfSize.cx, height = (LONG)format->PrimSurfSize.cy;
    const ULONG pixel = bytes_of_pixel(format->PixelFormat);
    const LONG pitch = (LONG)align_up((uint64_t)width * pixel, 4);
    D3DKMT_MOVE_RECT moves[MOST_RECTS];
    RECT rects[MOST_RECTS];
    DXGKARG_PRESENT_DISPLAYONLY arg = {.VidPnSourceId = SCREEN_SOURCE,
                                       .BytesPerPixel = pixel,
                                       .Pitch = pitch,
                                       .NumDirtyRects = 1,
                                       .pMoves = moves,
                                       .pDirtyRect = rects};
    NTSTATUS status;

    if (screen->is_over || !screen->is_visible)
        return;
    if (screen->image.bytes != (size_t)pitch * (size_t)height &&
        !screen_make_image(&screen->image, (size_t)pitch * (size_t)height))
        return;
    rects[0] = (RECT){0, 0, width, height};
    if (!is_whole) {
        arg.NumDirtyRects = (ULONG)rng_below(&screen->rng, MOST_RECTS + 1);
        arg.NumMoves = (ULONG)rng_below(&screen->rng, MOST_RECTS);
        for (ULONG i = 0; i < arg.NumDirtyRects; i++)
            rects[i] = draw_rect(screen, width, height);
        for (ULONG i = 0; i < arg.NumMoves; i++)
            moves[i] = draw_move(screen, width, height);
    }
    lend_image(&screen->image, false);
    memset(screen->image.pixels, (int)(screen->presents * 37 & 0xff), screen->image.bytes);
    lend_image(&screen->image, true);
    arg.pSource = screen->image.pixels;
    screen->is_pending = true;
    screen->has_failed = false;
    screen->presents++;
    status = miniport_present_display_only(screen->config.miniport, NULL, &arg);
    if (status == STATUS_PENDING) {
        wait_for_report(screen);
        return;
    }
    screen->is_pending = false;
    screen_succeeds(screen, "DxgkDdiPresentDisplayOnly", status);
}

/* ---- The pointer ----------------------------------------------------------------------------- */

/* The kind of shape that the driver can: a coloured one, with a mask, or of one colour. */
static void set_shape(struct screen *screen)
{
    DXGKARG_SETPOINTERSHAPE arg = {.VidPnSourceId = SCREEN_SOURCE};
    size_t rows;

    arg.Width = (UINT)min_u64(screen->caps.MaxPointerWidth, MOST_POINTER);
    arg.Height = (UINT)min_u64(screen->caps.MaxPointerHeight, MOST_POINTER);
    if (!arg.Width || !arg.Height)
        return;
    rows = arg.Height;
    if (screen->caps.PointerCaps.Color)
        arg.Flags.Color = 1;
    else if (screen->caps.PointerCaps.MaskedColor)
        arg.Flags.MaskedColor = 1;
    else
        arg.Flags.Monochrome = 1;
    arg.Pitch = arg.Flags.Monochrome ? (UINT)div_round_up(arg.Width, 8) : arg.Width * 4;
    if (arg.Flags.Monochrome)
        rows *= 2; /* the AND mask, the XOR mask behind it */
    if (!screen_make_image(&screen->shape, rows * arg.Pitch))
        return;
    memset(screen->shape.pixels, 0x5a, screen->shape.bytes);
    lend_image(&screen->shape, true);
    arg.pPixels = screen->shape.pixels;
    arg.XHot = (UINT)rng_below(&screen->rng, arg.Width);
    arg.YHot = (UINT)rng_below(&screen->rng, arg.Height);
    screen->has_shape = NT_SUCCESS(miniport_set_pointer_shape(screen->config.miniport, NULL, &arg));
}

/* Its left upper corner may lie outside of the screen. */
void screen_move_pointer(struct screen *screen)
{
    const D3DKMDT_GRAPHICS_RENDERING_FORMAT *format = &screen->mode.Format.Graphics;
    DXGKARG_SETPOINTERPOSITION arg = {.VidPnSourceId = SCREEN_SOURCE};

    if (screen->is_over || !screen->caps.PointerCaps.Value ||
        !screen_has(screen, MINIPORT_DDI_SetPointerPosition) ||
        !screen_has(screen, MINIPORT_DDI_SetPointerShape))
        return;
    if (!screen->has_shape || rng_chance(&screen->rng, 1, 8))
        set_shape(screen);
    if (!screen->has_shape)
        return;
    arg.Flags.Visible = !rng_chance(&screen->rng, 1, 8);
    arg.X = (INT)rng_below(&screen->rng, format->PrimSurfSize.cx + 16) - 16;
    arg.Y = (INT)rng_below(&screen->rng, format->PrimSurfSize.cy + 16) - 16;
    miniport_set_pointer_position(screen->config.miniport, NULL, &arg);
}
