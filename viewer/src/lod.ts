/*
 * Level of detail for pictures of up to millions of rectangles.
 *
 * RectIndex finds the rectangles of a window (a packed R-tree over rows in Z order). AreaRaster
 * paints them with exact coverage: a pixel's colour is the mean of what covers it, weighted by
 * area, however small the rectangles are, so a picture that is zoomed out shows how much of its
 * memory (or time) each colour has. TileCache holds painted tiles of a pyramid of zoom levels,
 * paints missing ones in slices of a few milliseconds a frame, and meanwhile gives the nearest tile
 * that it has: a frame costs the same with a thousand rectangles and with a million.
 *
 * Units: those of the caller's axes, x and y; tiles in pixels.
 */

export interface Rects {
    readonly count: number;
    readonly x0: Float64Array;
    readonly x1: Float64Array;
    readonly y0: Float64Array;
    readonly y1: Float64Array;
}

const NODE = 16; /* children of a node of the tree */

/* Interleaves the bits of two 16-bit numbers. */
function zOrder(x: number, y: number): number {
    let a = x;
    let b = y;
    a = (a | (a << 8)) & 0x00ff00ff;
    a = (a | (a << 4)) & 0x0f0f0f0f;
    a = (a | (a << 2)) & 0x33333333;
    a = (a | (a << 1)) & 0x55555555;
    b = (b | (b << 8)) & 0x00ff00ff;
    b = (b | (b << 4)) & 0x0f0f0f0f;
    b = (b | (b << 2)) & 0x33333333;
    b = (b | (b << 1)) & 0x55555555;
    return (a | (b << 1)) >>> 0;
}

export class RectIndex {
    readonly order: Uint32Array; /* rectangles in the order of the leaves */
    /* Levels from the leaves up, one behind the other: boxes of nodes. */
    private readonly boxes: Float64Array;
    private readonly levelStarts: number[] = [];
    private readonly levelSizes: number[] = [];
    readonly x0: number = Infinity;
    readonly x1: number = -Infinity;
    readonly y0: number = Infinity;
    readonly y1: number = -Infinity;

    constructor(readonly rects: Rects) {
        const { count, x0, x1, y0, y1 } = rects;
        for (let i = 0; i < count; i++) {
            if (x0[i] < this.x0) this.x0 = x0[i];
            if (x1[i] > this.x1) this.x1 = x1[i];
            if (y0[i] < this.y0) this.y0 = y0[i];
            if (y1[i] > this.y1) this.y1 = y1[i];
        }
        const scaleX = 65535 / Math.max(this.x1 - this.x0, 1e-9);
        const scaleY = 65535 / Math.max(this.y1 - this.y0, 1e-9);
        const keys = new Float64Array(count);
        const room = 2 ** 21;
        for (let i = 0; i < count; i++) {
            const cx = ((x0[i] + x1[i]) / 2 - this.x0) * scaleX;
            const cy = ((y0[i] + y1[i]) / 2 - this.y0) * scaleY;
            /*
             * 32 bits of order and 21 of the row are exact in a double; rows beyond 2^21 share the
             * low bits' place.
             */
            keys[i] = zOrder(cx & 0xffff, cy & 0xffff) * room + (i % room);
        }
        this.order = new Uint32Array(count);
        if (count <= room) {
            keys.sort();
            for (let i = 0; i < count; i++) this.order[i] = keys[i] % room;
        } else {
            for (let i = 0; i < count; i++) this.order[i] = i;
            this.order.sort((a, b) => keys[a] - keys[b]);
        }

        let total = 0;
        for (let below = count; below > 0 && (this.levelSizes.length === 0 || below > 1);) {
            const nodes = Math.ceil(below / NODE);
            this.levelStarts.push(total);
            this.levelSizes.push(nodes);
            total += nodes;
            below = nodes;
        }
        this.boxes = new Float64Array(4 * total);
        let below = count;
        for (let level = 0; level < this.levelStarts.length; level++) {
            const nodes = this.levelSizes[level];
            const start = this.levelStarts[level];
            for (let node = 0; node < nodes; node++) {
                let bx0 = Infinity,
                    bx1 = -Infinity,
                    by0 = Infinity,
                    by1 = -Infinity;
                const end = Math.min(below, (node + 1) * NODE);
                for (let child = node * NODE; child < end; child++) {
                    if (level === 0) {
                        const i = this.order[child];
                        if (x0[i] < bx0) bx0 = x0[i];
                        if (x1[i] > bx1) bx1 = x1[i];
                        if (y0[i] < by0) by0 = y0[i];
                        if (y1[i] > by1) by1 = y1[i];
                    } else {
                        const at = 4 * (this.levelStarts[level - 1] + child);
                        if (this.boxes[at] < bx0) bx0 = this.boxes[at];
                        if (this.boxes[at + 1] > bx1) bx1 = this.boxes[at + 1];
                        if (this.boxes[at + 2] < by0) by0 = this.boxes[at + 2];
                        if (this.boxes[at + 3] > by1) by1 = this.boxes[at + 3];
                    }
                }
                const at = 4 * (start + node);
                this.boxes[at] = bx0;
                this.boxes[at + 1] = bx1;
                this.boxes[at + 2] = by0;
                this.boxes[at + 3] = by1;
            }
            below = nodes;
        }
    }

    /* A walk over the rectangles that touch a window; next() gives the next one, or -1. */
    walk(x0: number, y0: number, x1: number, y1: number): RectWalk {
        return new RectWalk(this, this.boxes, this.levelStarts, this.levelSizes, x0, y0, x1, y1);
    }

    /* At most limit + 1 rectangles of the window, into out; returns how many. */
    find(x0: number, y0: number, x1: number, y1: number, out: Uint32Array, limit: number): number {
        const walk = this.walk(x0, y0, x1, y1);
        let n = 0;
        for (let i = walk.next(); i >= 0; i = walk.next()) {
            if (n < out.length) out[n] = i;
            if (++n > limit) break;
        }
        return n;
    }
}

export class RectWalk {
    private readonly stack: number[] = []; /* pairs: level, node */
    private leaf = 0;
    private leafEnd = 0;

    constructor(
        private readonly index: RectIndex,
        private readonly boxes: Float64Array,
        private readonly levelStarts: readonly number[],
        private readonly levelSizes: readonly number[],
        private readonly wx0: number,
        private readonly wy0: number,
        private readonly wx1: number,
        private readonly wy1: number,
    ) {
        if (levelStarts.length) this.stack.push(levelStarts.length - 1, 0);
    }

    next(): number {
        const { rects, order } = this.index;
        const { wx0, wx1, wy0, wy1, boxes, stack } = this;
        for (;;) {
            while (this.leaf < this.leafEnd) {
                const i = order[this.leaf++];
                if (
                    rects.x0[i] < wx1 &&
                    rects.x1[i] > wx0 &&
                    rects.y0[i] < wy1 &&
                    rects.y1[i] > wy0
                )
                    return i;
            }
            if (!stack.length) return -1;
            const node = stack.pop() as number;
            const level = stack.pop() as number;
            const at = 4 * (this.levelStarts[level] + node);
            if (!(
                boxes[at] < wx1 &&
                boxes[at + 1] > wx0 &&
                boxes[at + 2] < wy1 &&
                boxes[at + 3] > wy0
            ))
                continue;
            if (level === 0) {
                this.leaf = node * NODE;
                this.leafEnd = Math.min(rects.count, this.leaf + NODE);
            } else {
                const nodes = this.levelSizes[level - 1];
                for (
                    let child = Math.min(nodes, (node + 1) * NODE) - 1;
                    child >= node * NODE;
                    child--
                )
                    stack.push(level - 1, child);
            }
        }
    }
}

/* Colours are 0xRRGGBB. */
export class AreaRaster {
    private readonly sums: Float32Array; /* r, g, b, coverage of each pixel */

    constructor(
        readonly width: number,
        readonly height: number,
    ) {
        this.sums = new Float32Array(4 * width * height);
    }

    clear(): void {
        this.sums.fill(0);
    }

    /* A rectangle in pixels; what is outside is cut off. Returns how many pixels it touched. */
    add(x0: number, y0: number, x1: number, y1: number, colour: number): number {
        const { width, height, sums } = this;
        if (x0 < 0) x0 = 0;
        if (y0 < 0) y0 = 0;
        if (x1 > width) x1 = width;
        if (y1 > height) y1 = height;
        if (!(x1 > x0 && y1 > y0)) return 0;
        const r = (colour >> 16) & 255,
            g = (colour >> 8) & 255,
            b = colour & 255;
        const firstX = x0 | 0,
            firstY = y0 | 0;
        const lastX = Math.min(width - 1, Math.ceil(x1) - 1),
            lastY = Math.min(height - 1, Math.ceil(y1) - 1);
        for (let y = firstY; y <= lastY; y++) {
            const tall = (y === lastY ? y1 : y + 1) - (y === firstY ? y0 : y);
            let at = 4 * (y * width + firstX);
            for (let x = firstX; x <= lastX; x++, at += 4) {
                const area = tall * ((x === lastX ? x1 : x + 1) - (x === firstX ? x0 : x));
                sums[at] += area * r;
                sums[at + 1] += area * g;
                sums[at + 2] += area * b;
                sums[at + 3] += area;
            }
        }
        return (lastX - firstX + 1) * (lastY - firstY + 1);
    }

    coverage(x: number, y: number): number {
        return this.sums[4 * (y * this.width + x) + 3];
    }

    /*
     * The pixels, RGBA. Coverage is alpha, at least `least` where anything is at all: a single
     * short event in an empty lane must not fade to nothing.
     */
    pixels(out: Uint8ClampedArray, least: number): void {
        const { sums } = this;
        for (let at = 0; at < sums.length; at += 4) {
            const area = sums[at + 3];
            if (area <= 0) {
                out[at] = out[at + 1] = out[at + 2] = out[at + 3] = 0;
                continue;
            }
            out[at] = sums[at] / area;
            out[at + 1] = sums[at + 1] / area;
            out[at + 2] = sums[at + 2] / area;
            out[at + 3] = 255 * Math.max(least, Math.min(1, area));
        }
    }
}

/* Where a tile is: its place among the 2^lx times 2^ly tiles of its level. */
export interface TilePlace {
    lx: number;
    ly: number;
    tx: number;
    ty: number;
}

/* What paints one tile, a slice at a time: step() is called until it is true. */
export interface TileJob<T> {
    step(deadline: () => boolean): boolean;
    result(): T;
}

export interface TileFound<T> {
    place: TilePlace;
    tile: T;
}

function keyOf(p: TilePlace): string {
    return `${p.lx}.${p.ly}.${p.tx}.${p.ty}`;
}

export class TileCache<T> {
    private readonly tiles = new Map<string, T>(); /* the least recently used first */
    private wanted: TilePlace[] = [];
    private current: { place: TilePlace; job: TileJob<T> } | null = null;

    constructor(
        private readonly room: number,
        private readonly begin: (place: TilePlace) => TileJob<T>,
    ) {}

    clear(): void {
        this.tiles.clear();
        this.current = null;
        this.wanted = [];
    }

    get(place: TilePlace): T | undefined {
        const key = keyOf(place);
        const tile = this.tiles.get(key);
        if (tile !== undefined && this.tiles.size > this.room / 2) {
            this.tiles.delete(key);
            this.tiles.set(key, tile);
        }
        return tile;
    }

    /*
     * Which tiles the next frames need, the most urgent first; what is not among them is not begun.
     */
    want(places: TilePlace[]): void {
        this.wanted = places.filter(p => !this.tiles.has(keyOf(p)));
    }

    get isBusy(): boolean {
        return this.wanted.length > 0;
    }

    /* Paints until the deadline says that the time is over. True: a tile was finished. */
    work(deadline: () => boolean): boolean {
        let finished = false;
        while (this.wanted.length && !deadline()) {
            const place = this.wanted[0];
            if (!this.current || keyOf(this.current.place) !== keyOf(place))
                this.current = { place, job: this.begin(place) };
            if (!this.current.job.step(deadline)) break;
            this.tiles.set(keyOf(place), this.current.job.result());
            this.current = null;
            this.wanted.shift();
            finished = true;
            for (const key of this.tiles.keys()) {
                if (this.tiles.size <= this.room) break;
                if (key !== "0.0.0.0") this.tiles.delete(key);
            }
        }
        return finished;
    }

    /*
     * What shows the place best: the tile, or one above it; below: tiles of the next finer levels
     * that are there.
     */
    nearest(place: TilePlace): { above: TileFound<T> | null; below: TileFound<T>[] } {
        const own = this.get(place);
        if (own !== undefined) return { above: { place, tile: own }, below: [] };
        let above: TileFound<T> | null = null;
        for (let distance = 1; distance <= place.lx + place.ly && !above; distance++) {
            for (let dx = Math.min(distance, place.lx); dx >= 0 && !above; dx--) {
                const dy = distance - dx;
                if (dy > place.ly) break;
                const up = {
                    lx: place.lx - dx,
                    ly: place.ly - dy,
                    tx: Math.floor(place.tx / 2 ** dx),
                    ty: Math.floor(place.ty / 2 ** dy),
                };
                const tile = this.get(up);
                if (tile !== undefined) above = { place: up, tile };
            }
        }
        const below: TileFound<T>[] = [];
        for (const [dx, dy] of [
            [1, 0],
            [0, 1],
            [1, 1],
        ]) {
            for (let x = 0; x < 1 << dx; x++)
                for (let y = 0; y < 1 << dy; y++) {
                    const down = {
                        lx: place.lx + dx,
                        ly: place.ly + dy,
                        tx: (place.tx << dx) + x,
                        ty: (place.ty << dy) + y,
                    };
                    const tile = this.get(down);
                    if (tile !== undefined) below.push({ place: down, tile });
                }
            if (below.length) break;
        }
        return { above, below };
    }
}
