import assert from "node:assert/strict";
import { test } from "node:test";
import { AreaRaster, RectIndex, TileCache, type Rects, type TilePlace } from "../src/lod.js";

function random(seed: number): () => number {
    let state = seed;
    return () => {
        state = (state + 0x6d2b79f5) | 0;
        let t = Math.imul(state ^ (state >>> 15), 1 | state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
}

function rectangles(count: number, next: () => number): Rects {
    const rects: Rects = {
        count,
        x0: new Float64Array(count),
        x1: new Float64Array(count),
        y0: new Float64Array(count),
        y1: new Float64Array(count),
    };
    for (let i = 0; i < count; i++) {
        rects.x0[i] = next() * 1e6;
        rects.x1[i] = rects.x0[i] + (next() < 0.1 ? 0 : next() ** 6 * 3e5);
        rects.y0[i] = next() * 4096;
        rects.y1[i] = rects.y0[i] + next() ** 4 * 900;
    }
    return rects;
}

test("the index finds exactly the rectangles of a window", () => {
    const next = random(3);
    for (const count of [0, 1, 2, 15, 16, 17, 255, 257, 5000]) {
        const rects = rectangles(count, next);
        const index = new RectIndex(rects);
        for (let round = 0; round < 40; round++) {
            const x0 = next() * 1e6,
                x1 = x0 + next() ** 3 * 1e6,
                y0 = next() * 4096,
                y1 = y0 + next() * 4096;
            const wanted: number[] = [];
            for (let i = 0; i < count; i++)
                if (rects.x0[i] < x1 && rects.x1[i] > x0 && rects.y0[i] < y1 && rects.y1[i] > y0)
                    wanted.push(i);
            const found = new Uint32Array(count + 1);
            const n = index.find(x0, y0, x1, y1, found, count + 1);
            assert.deepEqual(
                Array.from(found.subarray(0, n)).sort((a, b) => a - b),
                wanted,
            );
        }
    }
});

test("the index says that there are more than the limit", () => {
    const rects = rectangles(1000, random(4));
    const index = new RectIndex(rects);
    assert.equal(index.find(-Infinity, -Infinity, Infinity, Infinity, new Uint32Array(10), 10), 11);
});

test("painting keeps the area: what is covered is the sum of the parts, at any size", () => {
    const next = random(5);
    const raster = new AreaRaster(64, 48);
    let area = 0;
    for (let i = 0; i < 3000; i++) {
        const x = next() * 60,
            y = next() * 44,
            w = next() ** 5 * 4,
            h = next() ** 5 * 4;
        raster.add(x, y, x + w, y + h, 0x336699);
        area += w * h;
    }
    let sum = 0;
    for (let y = 0; y < 48; y++) for (let x = 0; x < 64; x++) sum += raster.coverage(x, y);
    assert.ok(Math.abs(sum - area) < area * 1e-4, `${sum} of ${area}`);
});

test("a pixel has the mean of the colours in it, and what is cut off is not painted", () => {
    const raster = new AreaRaster(2, 1);
    raster.add(-5, -5, 0.25, 9, 0xff0000);
    raster.add(0.25, 0, 1, 1, 0x0000ff);
    const pixels = new Uint8ClampedArray(8);
    raster.pixels(pixels, 0);
    assert.deepEqual(Array.from(pixels), [64, 0, 191, 255, 0, 0, 0, 0]);
});

test("something very small is seen", () => {
    const raster = new AreaRaster(1, 1);
    raster.add(0.5, 0.5, 0.500001, 0.500001, 0xffffff);
    const pixels = new Uint8ClampedArray(4);
    raster.pixels(pixels, 0.4);
    assert.equal(pixels[3], 102);
});

function cache(room: number, steps: number): TileCache<string> {
    return new TileCache(room, (place: TilePlace) => {
        let left = steps;
        return {
            step: () => --left <= 0,
            result: () => `${place.lx}.${place.ly}.${place.tx}.${place.ty}`,
        };
    });
}

test("tiles are painted in slices, and the nearest one above stands in meanwhile", () => {
    const tiles = cache(100, 3);
    const root = { lx: 0, ly: 0, tx: 0, ty: 0 },
        deep = { lx: 3, ly: 2, tx: 5, ty: 1 };
    const once = (): (() => boolean) => {
        let asked = 0;
        return () => asked++ > 0;
    };
    tiles.want([root]);
    for (let i = 0; i < 2; i++) assert.equal(tiles.work(once()), false);
    assert.equal(tiles.nearest(deep).above, null);
    assert.equal(tiles.work(once()), true);
    assert.equal(tiles.nearest(deep).above?.tile, "0.0.0.0");
    tiles.want([{ lx: 2, ly: 2, tx: 2, ty: 1 }]);
    while (tiles.isBusy) tiles.work(() => false);
    assert.equal(tiles.nearest(deep).above?.tile, "2.2.2.1");
    tiles.want([deep]);
    while (tiles.isBusy) tiles.work(() => false);
    assert.deepEqual(tiles.nearest(deep).above, { place: deep, tile: "3.2.5.1" });
    assert.equal(tiles.nearest({ lx: 2, ly: 2, tx: 2, ty: 1 }).above?.tile, "2.2.2.1");
});

test("a cache does not grow without end, and keeps its root", () => {
    const tiles = cache(8, 1);
    tiles.want([
        { lx: 0, ly: 0, tx: 0, ty: 0 },
        ...Array.from({ length: 50 }, (_, tx) => ({ lx: 6, ly: 0, tx, ty: 0 })),
    ]);
    while (tiles.isBusy) tiles.work(() => false);
    let kept = 0;
    for (let tx = 0; tx < 50; tx++)
        if (tiles.get({ lx: 6, ly: 0, tx, ty: 0 }) !== undefined) kept++;
    assert.equal(kept, 7);
    assert.notEqual(tiles.get({ lx: 0, ly: 0, tx: 0, ty: 0 }), undefined);
});
