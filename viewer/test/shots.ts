/*
 * Screenshots: each is kept in the folder of --out, and compared, made small, with a reference that
 * is committed (test/references).
 */
import { existsSync, mkdirSync, readFileSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { check, isUpdating, measured, option, out } from "./chromium.js";

const references = option("references", "");
const WIDTH = 240,
    HEIGHT = 150,
    BLOCK = 15;
/*
 * Mean difference of the points of a block of BLOCK by BLOCK, and of all blocks, 0 to 1. Another
 * machine has other fonts; a missing part of a picture is far above it.
 */
const MOST_OF_A_BLOCK = 0.22;
const MOST_OF_ALL = 0.025;

interface Difference {
    all: number;
    block: number; /* of the block that differs most */
    small: string; /* the first picture made small: PNG, base64 */
}

/* Pages in which pictures are compared, when nobody else does: one for each lane of stages. */
const idle: Page[] = [];

/* Two PNG files, made small and compared. */
export async function difference(browser: Browser, a: string, b: string): Promise<Difference> {
    const page = idle.pop() ?? (await (await browser.newContext()).newPage());
    const result = await page.evaluate(
        async ([x, y, width, height, block]) => {
            const small = async (url: string): Promise<HTMLCanvasElement> => {
                const image = new Image();
                image.src = url;
                await image.decode();
                const canvas = document.createElement("canvas");
                canvas.width = width as number;
                canvas.height = height as number;
                const c = canvas.getContext("2d", {
                    willReadFrequently: true,
                }) as CanvasRenderingContext2D;
                c.imageSmoothingQuality = "high";
                c.drawImage(image, 0, 0, canvas.width, canvas.height);
                return canvas;
            };
            const p = await small(x as string),
                q = await small(y as string);
            const points = (of: HTMLCanvasElement, bx: number, by: number): Uint8ClampedArray =>
                (of.getContext("2d") as CanvasRenderingContext2D).getImageData(
                    bx,
                    by,
                    block as number,
                    block as number,
                ).data;
            let all = 0,
                most = 0,
                n = 0;
            for (let by = 0; by < p.height; by += block as number)
                for (let bx = 0; bx < p.width; bx += block as number) {
                    const u = points(p, bx, by),
                        v = points(q, bx, by);
                    let sum = 0;
                    for (let i = 0; i < u.length; i++) sum += Math.abs(u[i] - v[i]);
                    const d = ((sum / u.length / 255) * 4) / 3;
                    all += d;
                    most = Math.max(most, d);
                    n++;
                }
            return { all: all / n, block: most, small: p.toDataURL("image/png").split(",")[1] };
        },
        [
            `data:image/png;base64,${readFileSync(a).toString("base64")}`,
            `data:image/png;base64,${readFileSync(b).toString("base64")}`,
            WIDTH,
            HEIGHT,
            BLOCK,
        ],
    );
    idle.push(page);
    return result;
}

/* Takes a screenshot and keeps it; with a reference of its name, compares it. */
export class Shots {
    private most = 0;
    private taken = new Set<string>();

    constructor(private readonly browser: Browser) {}

    async take(page: Page, name: string, isCompared = true): Promise<void> {
        const made = join(out, `${name}.png`);
        await page.mouse.move(3, 3);
        await page.screenshot({ path: made });
        if (!isCompared || !references) return;
        this.taken.add(`${name}.png`);
        const kept = join(references, `${name}.png`);
        if (isUpdating) {
            mkdirSync(references, { recursive: true });
            const { small } = await difference(this.browser, made, made);
            writeFileSync(kept, Buffer.from(small, "base64"));
            return;
        }
        if (!existsSync(kept)) {
            check(false, `${kept} is not there; --update makes it`);
            return;
        }
        const d = await difference(this.browser, made, kept);
        this.most = Math.max(this.most, d.all);
        check(
            d.all <= MOST_OF_ALL && d.block <= MOST_OF_A_BLOCK,
            `${name}.png is not as its reference: mean difference ${d.all.toFixed(3)} (at most ` +
                `${MOST_OF_ALL}), of a block ${d.block.toFixed(3)} (at most ${MOST_OF_A_BLOCK})`,
        );
    }

    /* All references were compared, are small, and two that differ are told apart. */
    async end(): Promise<void> {
        if (!references || !existsSync(references)) return;
        const all = readdirSync(references).filter(f => f.endsWith(".png"));
        const bytes = all.reduce((sum, f) => sum + statSync(join(references, f)).size, 0);
        measured["references: files, bytes, most that one differs"] = [
            all.length,
            bytes,
            this.most,
        ];
        check(bytes <= 1_000_000, `the references have ${bytes} bytes`);
        const unused = all.filter(f => !this.taken.has(f));
        check(unused.length === 0, `references that no test takes: ${unused.join(", ")}`);
        const [a, b] = ["synthetic-map-light.png", "synthetic-timeline-light.png"].map(f =>
            join(references, f),
        );
        if (!existsSync(a) || !existsSync(b)) return;
        const d = await difference(this.browser, a, b);
        check(
            d.all > MOST_OF_ALL && d.block > MOST_OF_A_BLOCK,
            "the map and the timeline are told apart",
        );
    }
}
