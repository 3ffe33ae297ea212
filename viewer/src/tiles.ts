/*
 * Rectangles over time, drawn at any zoom: as shapes while few are in sight, from painted tiles
 * while many are. The map has one for each segment (y: bytes), the timeline one for all its lanes
 * (y: lanes).
 */
import {
    AreaRaster,
    RectIndex,
    TileCache,
    type Rects,
    type RectWalk,
    type TileJob,
    type TilePlace,
} from "./lod.js";

export interface TileFrame {
    /*
     * The plot, in CSS pixels, and what it shows. y grows downwards in the picture from yTop to
     * yBottom.
     */
    x: number;
    y: number;
    width: number;
    height: number;
    t0: number;
    t1: number;
    yTop: number;
    yBottom: number;
}

/* pixels, and a few for each rectangle, between two looks at the clock: a fraction of a ms */
const SLICE = 16000;

export class TileLayer {
    readonly index: RectIndex;
    private readonly cache: TileCache<HTMLCanvasElement>;
    private readonly found: Uint32Array;
    private readonly raster: AreaRaster;
    private image: ImageData | null = null; /* of all tiles, one after the other */

    /*
     * tile: pixels of a tile. hasFineY: y has levels of detail, too. most: shapes that are drawn
     * one by one.
     * t, y: what the pyramid covers, from first to last; colour: 0xRRGGBB of a rectangle.
     */
    constructor(
        readonly rects: Rects,
        private readonly span: { t0: number; t1: number; y0: number; y1: number },
        private readonly colour: (i: number) => number,
        private readonly tile: { width: number; height: number },
        private readonly hasFineY: boolean,
        private readonly most: number,
        private readonly least: number,
    ) {
        this.index = new RectIndex(rects);
        this.found = new Uint32Array(most);
        this.raster = new AreaRaster(tile.width, tile.height);
        this.cache = new TileCache(360, place => this.job(place));
    }

    recolour(): void {
        this.cache.clear();
    }

    private job(place: TilePlace): TileJob<HTMLCanvasElement> {
        const { span, tile, rects } = this;
        const stepX = (span.t1 - span.t0) / 2 ** place.lx,
            stepY = (span.y1 - span.y0) / 2 ** place.ly;
        const x0 = span.t0 + place.tx * stepX,
            y0 = span.y0 + place.ty * stepY;
        const scaleX = tile.width / stepX,
            scaleY = tile.height / stepY;
        const raster = this.raster;
        let walk: RectWalk | null = null;
        let isPainted = false;
        return {
            step: deadline => {
                if (!walk) {
                    raster.clear();
                    walk = this.index.walk(x0, y0, x0 + stepX, y0 + stepY);
                }
                while (!isPainted) {
                    for (let cost = 0; cost < SLICE;) {
                        const i = walk.next();
                        if (i < 0) {
                            isPainted = true;
                            break;
                        }
                        const left = (rects.x0[i] - x0) * scaleX;
                        /*
                         * what takes no time is a quarter of a pixel, so that it is there and
                         * thousands are not all
                         */
                        cost +=
                            8 +
                            raster.add(
                                left,
                                (rects.y0[i] - y0) * scaleY,
                                rects.x1[i] > rects.x0[i]
                                    ? (rects.x1[i] - x0) * scaleX
                                    : left + 0.25,
                                (rects.y1[i] - y0) * scaleY,
                                this.colour(i),
                            );
                    }
                    if (deadline()) return false; /* the picture of it takes a ms, too */
                }
                return true;
            },
            result: () => {
                const canvas = document.createElement("canvas");
                canvas.width = tile.width;
                canvas.height = tile.height;
                const c = canvas.getContext("2d") as CanvasRenderingContext2D;
                const image = (this.image ??= c.createImageData(tile.width, tile.height));
                raster.pixels(image.data, this.least);
                c.putImageData(image, 0, 0);
                return canvas;
            },
        };
    }

    /* Rectangles in the window, if they are few enough to be drawn one by one; else null. */
    few(frame: TileFrame): Uint32Array | null {
        const n = this.index.find(
            frame.t0,
            Math.min(frame.yTop, frame.yBottom),
            frame.t1,
            Math.max(frame.yTop, frame.yBottom),
            this.found,
            this.most,
        );
        return n <= this.most ? this.found.subarray(0, n) : null;
    }

    /*
     * Draws from tiles. put() draws a piece of a tile: source rectangle in its pixels, target in t
     * and y units. True: a tile is missing, and the picture gets sharper in the next frames; work()
     * paints them.
     */
    draw(
        frame: TileFrame,
        scale: number,
        put: (
            tile: HTMLCanvasElement,
            sx: number,
            sy: number,
            sw: number,
            sh: number,
            t0: number,
            t1: number,
            y0: number,
            y1: number,
        ) => void,
    ): boolean {
        const { span, tile } = this;
        const wholeX = span.t1 - span.t0,
            wholeY = span.y1 - span.y0;
        const yLow = Math.min(frame.yTop, frame.yBottom),
            yHigh = Math.max(frame.yTop, frame.yBottom);
        const level = (whole: number, seen: number, pixels: number, size: number): number =>
            Math.max(
                0,
                Math.min(
                    40,
                    Math.ceil(
                        Math.log2(Math.max(1, ((whole / seen) * (pixels * scale)) / size)) - 0.35,
                    ),
                ),
            );
        const lx = level(wholeX, frame.t1 - frame.t0, frame.width, tile.width);
        const ly = this.hasFineY ? level(wholeY, yHigh - yLow, frame.height, tile.height) : 0;
        const stepX = wholeX / 2 ** lx,
            stepY = wholeY / 2 ** ly;
        const first = (v: number, start: number, step: number): number =>
            Math.max(0, Math.floor((v - start) / step));
        const last = (v: number, start: number, step: number, l: number): number =>
            Math.min(2 ** l - 1, Math.ceil((v - start) / step) - 1);
        const wanted: TilePlace[] = [];
        let isMissing = false;
        for (
            let tx = first(frame.t0, span.t0, stepX);
            tx <= last(frame.t1, span.t0, stepX, lx);
            tx++
        )
            for (
                let ty = first(yLow, span.y0, stepY);
                ty <= last(yHigh, span.y0, stepY, ly);
                ty++
            ) {
                const place = { lx, ly, tx, ty };
                const { above, below } = this.cache.nearest(place);
                const t0 = span.t0 + tx * stepX,
                    y0 = span.y0 + ty * stepY;
                if (above) {
                    const dx = 2 ** (lx - above.place.lx),
                        dy = 2 ** (ly - above.place.ly);
                    const sw = tile.width / dx,
                        sh = tile.height / dy;
                    if ((dx === 1 && dy === 1) || below.length < 2)
                        put(
                            above.tile,
                            (tx - above.place.tx * dx) * sw,
                            (ty - above.place.ty * dy) * sh,
                            sw,
                            sh,
                            t0,
                            t0 + stepX,
                            y0,
                            y0 + stepY,
                        );
                    if (dx !== 1 || dy !== 1) {
                        isMissing = true;
                        wanted.push(place);
                    } else continue;
                } else {
                    isMissing = true;
                    wanted.push(place);
                }
                for (const piece of below) {
                    const w = wholeX / 2 ** piece.place.lx,
                        tall = wholeY / 2 ** piece.place.ly;
                    const bt = span.t0 + piece.place.tx * w,
                        by = span.y0 + piece.place.ty * tall;
                    put(piece.tile, 0, 0, tile.width, tile.height, bt, bt + w, by, by + tall);
                }
            }
        const middle = first((frame.t0 + frame.t1) / 2, span.t0, stepX);
        wanted.sort((a, b) => Math.abs(a.tx - middle) - Math.abs(b.tx - middle));
        const root = { lx: 0, ly: 0, tx: 0, ty: 0 };
        if (this.cache.get(root) === undefined) {
            wanted.unshift(root);
            isMissing = true;
        }
        this.cache.want(wanted);
        return isMissing;
    }

    get isBusy(): boolean {
        return this.cache.isBusy;
    }

    work(deadline: () => boolean): void {
        this.cache.work(deadline);
    }
}

/* A deadline for TileLayer.work(): true once so many milliseconds are over. */
export function after(ms: number): () => boolean {
    const end = performance.now() + ms;
    return () => performance.now() >= end;
}

/* How long tiles are painted in a frame, at most. The rest of its 16.7 ms is for drawing. */
const PAINT_MS = 4;
const PAINT_LEAST_MS = 0.5;
/* The same while the window stands still: nobody sees a frame less. */
const PAINT_STILL_MS = 24;
const FRAME_MS = 1000 / 60;

/*
 * How long tiles may be painted in the next frame. While the window moves, a frame that came late
 * halves the time, and frames in time give it back: the picture is less sharp for a moment, but it
 * moves.
 */
export class PaintTime {
    private ms = PAINT_MS;

    /* gap: ms since the frame before; 0: there was none. */
    next(isMoving: boolean, gap: number): number {
        if (!isMoving) {
            this.ms = PAINT_MS;
            return PAINT_STILL_MS;
        }
        if (gap > 1.4 * FRAME_MS) this.ms = Math.max(PAINT_LEAST_MS, this.ms / 2);
        else this.ms = Math.min(PAINT_MS, this.ms * 1.15);
        return this.ms;
    }

    /* Frames come late: what is drawn should cost less, until the window stands still. */
    get isShort(): boolean {
        return this.ms < PAINT_MS / 2;
    }
}
