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

/* Without them the driver can read the image where it lies, and lock none of it. */
static void take_pages(struct screen *screen, struct screen_image *image)
{
    const size_t count = image->page_bytes / HOST_PAGE - 1;

    image->pfns = base_alloc_array(screen->config.services, count, sizeof *image->pfns);
    if (!image->pfns)
        return;
    if (machine_alloc_pages(screen->config.machine, count, image->pfns)) {
        image->pfn_count = count;
        return;
    }
    base_free_array(screen->config.services, image->pfns, count, sizeof *image->pfns);
    image->pfns = NULL;
}

bool screen_make_image(struct screen *screen, struct screen_image *image, size_t bytes)
{
    const size_t page_bytes = align_up(bytes, HOST_PAGE) + HOST_PAGE;
    uint8_t *pages;

    screen_free_image(screen, image);
    pages = mmap(NULL, page_bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED)
        return false;
    mprotect(pages + page_bytes - HOST_PAGE, HOST_PAGE, PROT_NONE);
    *image = (struct screen_image){.pages = pages,
                                   .page_bytes = page_bytes,
                                   .pixels = pages + page_bytes - HOST_PAGE - bytes,
                                   .bytes = bytes};
    take_pages(screen, image);
    return true;
}

void screen_free_image(struct screen *screen, struct screen_image *image)
{
    const struct base_services *services = screen->config.services;

    nt_set_client_pages(screen->config.nt, NULL, NULL, 0);
    if (image->pfns) {
        machine_free_pages(screen->config.machine, image->pfns, image->pfn_count);
        base_free_array(services, image->pfns, image->pfn_count, sizeof *image->pfns);
    }
    if (image->pages)
        munmap(image->pages, image->page_bytes);
    *image = (struct screen_image){0};
}

/* For the driver to read only, or for us to write. */
static void lend_image(struct screen *screen, const struct screen_image *image, bool is_lent)
{
    mprotect(image->pages, image->page_bytes - HOST_PAGE,
             is_lent ? PROT_READ : PROT_READ | PROT_WRITE);
    if (!is_lent || !image->pfns)
        return;
    machine_write_pages(screen->config.machine, image->pfns, image->pfn_count, image->pages);
    nt_set_client_pages(screen->config.nt, image->pages, image->pfns, image->pfn_count);
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

/* No two presents, rows or columns are alike. */
static void fill_rect(struct screen *screen, const RECT *rect, LONG pitch, ULONG pixel)
{
    for (LONG y = rect->top; y < rect->bottom; y++) {
        uint8_t *row = screen->image.pixels + (size_t)y * (size_t)pitch;

        for (size_t x = (size_t)rect->left * pixel; x < (size_t)rect->right * pixel; x++)
            row[x] = (uint8_t)(screen->presents * 37 + (size_t)y * 11 + x * 3 + x / 256);
    }
}

/*
 * The image is what the whole of the screen is to show: what moves has moved in it, too, so that a
 * driver may move what it shows, or copy the image's rectangle.
 */
static void move_rect(struct screen *screen, const D3DKMT_MOVE_RECT *move, LONG pitch, ULONG pixel)
{
    const RECT *to = &move->DestRect;
    const LONG rows = to->bottom - to->top;

    for (LONG i = 0; i < rows; i++) {
        const LONG row = to->top > move->SourcePoint.y ? rows - 1 - i : i;

        memmove(screen->image.pixels + (size_t)(to->top + row) * (size_t)pitch +
                    (size_t)to->left * pixel,
                screen->image.pixels + (size_t)(move->SourcePoint.y + row) * (size_t)pitch +
                    (size_t)move->SourcePoint.x * pixel,
                (size_t)(to->right - to->left) * pixel);
    }
}

static void draw_image(struct screen *screen, const DXGKARG_PRESENT_DISPLAYONLY *arg)
{
    const ULONG pixel = arg->BytesPerPixel;

    lend_image(screen, &screen->image, false);
    for (ULONG i = 0; i < arg->NumMoves; i++)
        move_rect(screen, &arg->pMoves[i], arg->Pitch, pixel);
    for (ULONG i = 0; i < arg->NumDirtyRects; i++)
        fill_rect(screen, &arg->pDirtyRect[i], arg->Pitch, pixel);
    lend_image(screen, &screen->image, true);
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
        !screen_make_image(screen, &screen->image, (size_t)pitch * (size_t)height))
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
    draw_image(screen, &arg);
    arg.pSource = screen->image.pixels;
    screen->is_pending = true;
    screen->has_failed = false;
    screen->presents++;
    status = miniport_present_display_only(screen->config.miniport, NULL, &arg);
    if (status == STATUS_PENDING) {
        wait_for_report(screen);
    } else {
        screen->is_pending = false;
        screen_succeeds(screen, "DxgkDdiPresentDisplayOnly", status);
    }
    screen_compare(screen, &arg);
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
    if (!screen_make_image(screen, &screen->shape, rows * arg.Pitch))
        return;
    memset(screen->shape.pixels, 0x5a, screen->shape.bytes);
    lend_image(screen, &screen->shape, true);
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

    if (screen->is_over || !screen->is_visible || !screen->caps.PointerCaps.Value ||
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
