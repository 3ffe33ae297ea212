/* Frame times of the map and the timeline at a million bands and slices. */
import { writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { check, go, measured, open, out, settle, viewer } from "./chromium.js";
import { writePage } from "./page.js";
import { million } from "./synthetic.js";

const FRAME_MS = 1000 / 60;
const ROUNDS = 6;

interface FrameTimes {
    gap: number;
    gap95: number;
    work: number;
    work95: number;
    frames: number;
}

/*
 * Frame times: for so many frames, each frame one wheel event that zooms in, out or pans, sent from
 * within the page; the gap is the time between two frames, work is the time of the page's own
 * drawing in a frame. from: the frames that were before, for the walk goes on.
 */
async function frameTimes(page: Page, frames: number, from = 0): Promise<FrameTimes> {
    return page.evaluate(
        ([first, count]) =>
            new Promise<FrameTimes>(done => {
                const canvas = document.querySelector("canvas") as HTMLCanvasElement;
                const box = canvas.getBoundingClientRect();
                const own = (
                    window as unknown as { drydock?: { frames: { work: number[]; clear(): void } } }
                ).drydock?.frames;
                const gaps: number[] = [];
                let last = 0,
                    n = first;
                own?.clear();
                const at = (a: number[], share: number): number =>
                    [...a].sort((x, y) => x - y)[Math.floor((a.length - 1) * share)] ?? 0;
                const step = (now: number): void => {
                    if (last) gaps.push(now - last);
                    last = now;
                    const phase = n % 120;
                    canvas.dispatchEvent(
                        new WheelEvent("wheel", {
                            bubbles: true,
                            cancelable: true,
                            clientX: box.x + box.width * (0.3 + 0.4 * Math.abs(Math.sin(n / 70))),
                            clientY: box.y + box.height / 2,
                            deltaX: phase >= 90 ? 30 : 0,
                            deltaY: phase < 45 ? -60 : phase < 90 ? 58 : 0,
                        }),
                    );
                    if (++n < first + count) requestAnimationFrame(step);
                    else
                        done({
                            gap: at(gaps, 0.5),
                            gap95: at(gaps, 0.95),
                            work: at(own?.work ?? [0], 0.5),
                            work95: at(own?.work ?? [0], 0.95),
                            frames: gaps.length,
                        });
                };
                requestAnimationFrame(step);
            }),
        [from, frames],
    );
}

interface ProcessorTimes {
    median: number;
    most95: number; /* of 95 % of the groups of frames */
}

const GROUPS = 30,
    GROUP_FRAMES = 8;

/*
 * Processor time of the page's main thread in a frame that pans or zooms, in ms, by groups of
 * GROUP_FRAMES: what others do on this machine is not in it.
 */
async function processorTimes(page: Page): Promise<ProcessorTimes> {
    const session = await page.context().newCDPSession(page);
    await session.send("Performance.enable", { timeDomain: "threadTicks" });
    const taken = async (): Promise<number> =>
        (await session.send("Performance.getMetrics")).metrics.find(m => m.name === "TaskDuration")
            ?.value ?? NaN;
    const times: number[] = [];
    for (let i = 0; i < GROUPS; i++) {
        const before = await taken();
        await frameTimes(page, GROUP_FRAMES, i * GROUP_FRAMES);
        times.push((1000 * ((await taken()) - before)) / GROUP_FRAMES);
    }
    await session.detach();
    times.sort((a, b) => a - b);
    return { median: times[GROUPS / 2], most95: times[Math.floor(0.95 * (GROUPS - 1))] };
}

/*
 * 60 frames a second: a frame's processor time leaves room in it, at the median and for 95 % of the
 * time. Where no others keep the processors, the frames also come so: the median one in time, one
 * in twenty a frame late.
 */
function judge(what: string, t: FrameTimes, floor: FrameTimes, cpu: ProcessorTimes): void {
    check(
        cpu.median <= 0.75 * FRAME_MS && cpu.most95 <= FRAME_MS,
        `${what}: a frame takes the main thread ${cpu.median.toFixed(1)} ms of processor time, ` +
            `95 % of them ${cpu.most95.toFixed(1)} ms`,
    );
    if (loadavg()[0] > cpus().length + 1) {
        console.log("    others keep the processors: when frames come is not judged");
        return;
    }
    check(
        t.work <= FRAME_MS,
        `${what}: drawing takes ${t.work.toFixed(1)} ms, the median of ${t.frames} frames`,
    );
    check(
        t.gap <= Math.max(FRAME_MS + 0.1, 1.25 * floor.gap),
        `${what}: the median frame takes ${t.gap.toFixed(1)} ms; an empty page has ` +
            `${floor.gap.toFixed(1)} ms here`,
    );
    check(
        t.gap95 <= Math.max(2 * FRAME_MS + 0.1, 1.25 * floor.gap95),
        `${what}: 95 % of the frames take ${t.gap95.toFixed(1)} ms; an empty page has ` +
            `${floor.gap95.toFixed(1)} ms here`,
    );
}

/*
 * A million bands and a million slices. What this machine can do at all is measured first, by a
 * page that only clears a canvas of the same size.
 */
export async function million60(browser: Browser): Promise<void> {
    const made = million(1_000_000);
    const path = join(out, "million.html");
    writePage(viewer, path, made.facts, [{ id: "story", base64: made.story }]);
    const emptyPath = join(out, "empty.html");
    writeFileSync(
        emptyPath,
        `<!doctype html><html data-ready><title>floor</title>
<canvas style="width:1000px;height:650px"></canvas><script>
const c = document.querySelector("canvas");
c.width = 1000;
c.height = 650;
const g = c.getContext("2d", { alpha: false });
c.addEventListener("wheel", () => requestAnimationFrame(() => {
    g.fillStyle = "#" + Math.floor(Math.random() * 4095).toString(16).padStart(3, "0");
    g.fillRect(0, 0, 1000, 650);
}));</script></html>`,
    );
    const started = Date.now();
    const { page, complaints, close } = await open(browser, path);
    measured["million: ms to open"] = Date.now() - started;
    const result: Record<string, { floor: FrameTimes; page: FrameTimes }> = {};
    const processor: Record<string, ProcessorTimes> = {};
    for (const view of ["map", "timeline"]) {
        await go(page, view);
        await page.bringToFront();
        await frameTimes(page, 60);
        /* Others may work on this machine: the best of ROUNDS pairs of measurements counts. */
        let best: { floor: FrameTimes; page: FrameTimes } | null = null;
        for (let round = 0; round < ROUNDS; round++) {
            const floor = await open(browser, emptyPath);
            await frameTimes(floor.page, 20);
            const limit = await frameTimes(floor.page, 120);
            await floor.close();
            await page.bringToFront();
            const t = await frameTimes(page, 300);
            const late = (x: FrameTimes): number => x.gap + x.gap95;
            if (!best || late(t) / late(limit) < late(best.page) / late(best.floor))
                best = { floor: limit, page: t };
            if (t.gap <= FRAME_MS + 0.1 && t.work <= FRAME_MS && t.gap95 <= 2 * FRAME_MS + 0.1) {
                best = { floor: limit, page: t };
                break;
            }
        }
        if (!best) continue;
        result[view] = best;
        const cpu = (processor[view] = await processorTimes(page));
        judge(`a million ${view === "map" ? "bands" : "slices"}`, best.page, best.floor, cpu);
        await settle(page);
        await page.screenshot({ path: join(out, `million-${view}.png`) });
    }
    check(complaints.length === 0, `million: ${complaints.join("; ")}`);
    measured["million: frame times (ms; median and 95 %)"] = result;
    measured["million: processor time of a frame (ms)"] = processor;
    measured["million: rows"] = made.rows;
    for (const [view, { page: t, floor }] of Object.entries(result))
        console.log(
            `    ${view}: frame ${t.gap.toFixed(1)} ms (95 %: ${t.gap95.toFixed(1)}; ` +
                `an empty page: ${floor.gap.toFixed(1)}, ${floor.gap95.toFixed(1)}), ` +
                `drawing ${t.work.toFixed(1)} ms (95 %: ${t.work95.toFixed(1)}), processor time ` +
                `of the main thread ${processor[view].median.toFixed(1)} ms (95 %: ` +
                `${processor[view].most95.toFixed(1)})`,
        );
    await close();
}
