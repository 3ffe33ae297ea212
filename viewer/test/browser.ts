/*
 * The page in Chromium: pages of synthetic runs, and with --drydock FILE of real ones, which that
 * drydock writes.
 *
 *     node dist/test/browser.mjs [--drydock FILE] [--cases DIR] [--viewer viewer.html]
 *                                [--out DIR] [--pictures DIR] [--only WORD]
 *
 * Exit status: 0 all as it should be, 1 not, 77 skipped (no Chromium). Screenshots and
 * figures.json, with all that was measured, are in the folder of --out.
 */
import { execFileSync } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createRequire } from "node:module";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";
import * as format from "../src/format.js";
import { pack } from "./pack.js";
import { pageOf, writePage } from "./page.js";
import { million, synthetic } from "./synthetic.js";

const SKIPPED = 77;
const FRAME_MS = 1000 / 60;
const ROUNDS = 6;

function option(name: string, fallback: string): string {
    const at = process.argv.indexOf(`--${name}`);
    return at > 0 ? process.argv[at + 1] : fallback;
}

const out = resolve(option("out", "dist/shots"));
const viewer = resolve(option("viewer", "dist/viewer.html"));
const drydock = option("drydock", "");
const cases = resolve(option("cases", "../cases"));
const pictures = option("pictures", "");
const only = option("only", "");
const measured: Record<string, unknown> = {};
const failures: string[] = [];

function check(is: boolean, what: string): void {
    if (is) return;
    failures.push(what);
    console.log(`    NOT SO: ${what}`);
}

function findChromium(): string {
    for (const path of [
        process.env.CHROMIUM ?? "",
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
    ])
        if (path && existsSync(path)) return path;
    return "";
}

/*
 * A page that is open; whatever it says on the console, fails at or asks of the network is noted.
 */
interface Opened {
    page: Page;
    complaints: string[];
    close(): Promise<void>;
}

async function open(
    browser: Browser,
    path: string,
    theme: "light" | "dark" = "light",
    size = { width: 1440, height: 900 },
): Promise<Opened> {
    const context = await browser.newContext({
        viewport: size,
        colorScheme: theme,
        reducedMotion: "reduce",
    });
    const page = await context.newPage();
    const complaints: string[] = [];
    page.on("console", message => {
        if (message.type() === "error" || message.type() === "warning")
            complaints.push(`console: ${message.text()}`);
    });
    page.on("pageerror", error => complaints.push(`error: ${error.message}`));
    page.on("request", request => {
        if (!request.url().startsWith("file:") && !request.url().startsWith("data:"))
            complaints.push(`asks for ${request.url()}`);
    });
    await page.goto(pathToFileURL(path).href);
    await page.waitForSelector("html[data-ready]", { timeout: 120000 });
    return { page, complaints, close: () => context.close() };
}

async function go(page: Page, route: string): Promise<void> {
    await page.evaluate(r => {
        location.hash = r;
    }, route);
    await settle(page);
}

/* Waits until nothing has been drawn for a while: tiles are painted over several frames. */
async function settle(page: Page): Promise<void> {
    await page.evaluate(
        () =>
            new Promise<void>(done => {
                const frames = (window as unknown as { drydock: { frames: { work: number[] } } })
                    .drydock.frames;
                let before = -1,
                    quiet = 0,
                    rounds = 0;
                const look = (): void => {
                    quiet = frames.work.length === before ? quiet + 1 : 0;
                    before = frames.work.length;
                    if (quiet >= 4 || ++rounds > 400) done();
                    else setTimeout(look, 40);
                };
                look();
            }),
    );
}

const ROUTES: Record<string, string[]> = {
    run: [
        "overview",
        "map",
        "timeline",
        "tables",
        "finding/0",
        "rows",
        "rows/places",
        "row/objects/3",
        "facts",
    ],
    campaign: ["campaign", "finding/0", "facts"],
    compare: ["compare", "facts"],
};

async function axe(page: Page, what: string): Promise<void> {
    const require = createRequire(import.meta.url);
    const source = readFileSync(require.resolve("axe-core/axe.min.js"), "utf8");
    /* The page allows no script but its own: axe comes in by the debugger, not by an element. */
    await page.evaluate(source);
    const found = await page.evaluate(async () => {
        const run = (
            window as unknown as {
                axe: {
                    run(o: unknown): Promise<{
                        violations: {
                            id: string;
                            impact: string;
                            help: string;
                            nodes: { html: string; failureSummary: string }[];
                        }[];
                        passes: unknown[];
                    }>;
                };
            }
        ).axe;
        const result = await run.run({ resultTypes: ["violations", "passes"] });
        return {
            passes: result.passes.length,
            violations: result.violations.map(v => ({
                id: v.id,
                impact: v.impact,
                help: v.help,
                node: v.nodes[0]?.html.slice(0, 200),
                why: v.nodes[0]?.failureSummary.slice(0, 300),
                count: v.nodes.length,
            })),
        };
    });
    check(found.passes > 5, `${what}: axe looked at nothing`);
    for (const v of found.violations.filter(x => x.impact === "serious" || x.impact === "critical"))
        check(
            false,
            `${what}: axe: ${v.id} (${v.impact}, ${v.count}): ${v.help}: ${v.node} ${v.why}`,
        );
}

/* Opens each view of a page in light and dark. */
async function views(
    browser: Browser,
    path: string,
    name: string,
    kind: keyof typeof ROUTES,
): Promise<void> {
    for (const theme of ["light", "dark"] as const) {
        const { page, complaints, close } = await open(browser, path, theme);
        for (const route of ROUTES[kind]) {
            if (
                !(await page.evaluate(
                    r =>
                        [...document.querySelectorAll("nav a")].some(
                            a => a.getAttribute("href") === `#${r}`,
                        ) || r === "row",
                    route.split(/[/?]/)[0],
                ))
            )
                continue;
            await go(page, route);
            const title = await page.locator("main h2").first().textContent();
            check(
                !!title && !/Cannot be shown|failed/.test(title),
                `${name} ${route}: shows "${title}"`,
            );
            await page.screenshot({
                path: join(out, `${name}-${route.replace(/\W+/g, "-")}-${theme}.png`),
                fullPage: true,
            });
            await axe(page, `${name} ${route} ${theme}`);
        }
        check(complaints.length === 0, `${name} (${theme}): ${complaints.join("; ")}`);
        await close();
    }
}

/* The tiles of the overview say what run.json says. */
async function figures(browser: Browser, path: string, name: string): Promise<void> {
    const { page, close } = await open(browser, path);
    const facts = JSON.parse(
        /<script type="application\/json" id="facts">(.*?)<\/script>/s.exec(
            readFileSync(path, "utf8"),
        )?.[1] ?? "{}",
    );
    const shown = new Map(
        await page
            .locator(".tile")
            .evaluateAll(tiles =>
                tiles.map((t): [string, string] => [
                    t.querySelector(".tile-name")?.textContent ?? "",
                    t.querySelector(".figure")?.textContent ?? "",
                ]),
            ),
    );
    const wanted: [string, string][] = [
        ["Virtual time", format.duration(facts.virtual_time_ns)],
        ["Submissions", format.count(facts.submissions.completed)],
        ["Paged in", format.bytes(facts.moved_in_bytes)],
        ["Paged out", format.bytes(facts.moved_out_bytes)],
        ["Evictions", format.count(facts.evictions)],
        ["Driver calls", format.count(facts.paging.build_calls)],
        [
            "Resident when asked for",
            format.percent(facts.paging.residency_hits / facts.paging.residency_requests),
        ],
        ["Pages checked", format.count(facts.content.pages_checked)],
    ];
    if (typeof facts.slowdown === "number") wanted.push(["Slowdown", format.times(facts.slowdown)]);
    for (const [tile, text] of wanted)
        check(
            shown.get(tile) === text,
            `${name}: tile ${tile} shows ${shown.get(tile)}, run.json has ${text}`,
        );
    /* What was counted from the record is what run.json has. */
    const rows = await page.evaluate(() => {
        const run = (
            window as unknown as {
                drydock: {
                    app: {
                        run: {
                            endOfPlay: number;
                            rows(t: string): number;
                            values(t: string, c: string): ArrayLike<number>;
                            story: { textOf(id: number): string };
                        } | null;
                    };
                };
            }
        ).drydock.app.run;
        if (!run) return null;
        const counts: Record<string, number> = {};
        const names = run.values("calls", "name"),
            begins = run.values("calls", "begins"),
            end = run.endOfPlay;
        const before: Record<string, number> = {};
        for (let i = 0; i < names.length; i++) {
            const name = run.story.textOf(names[i]);
            if (begins[i] <= end) counts[name] = (counts[name] ?? 0) + 1;
            if (begins[i] < end) before[name] = (before[name] ?? 0) + 1;
        }
        const left: Record<string, number> = {};
        const why = run.values("places", "why_left");
        for (let i = 0; i < why.length; i++)
            left[run.story.textOf(why[i])] = (left[run.story.textOf(why[i])] ?? 0) + 1;
        return { counts, before, left, places: run.rows("places"), victims: run.rows("victims") };
    });
    if (rows) {
        const isCut =
            JSON.stringify(facts.notes ?? []).includes("left out") ||
            (await page.locator(".notice", { hasText: "Left out" }).count()) > 0;
        if (!isCut && Object.keys(rows.counts).length)
            for (const [call, n] of Object.entries(facts.ddi_calls as Record<string, number>))
                check(
                    (rows.before[call] ?? 0) <= n && n <= rows.counts[call],
                    `${name}: ${rows.before[call] ?? 0} to ${rows.counts[call]} calls ` +
                        `of ${call} are in the story until the end of the play, run.json ` +
                        `has ${n}`,
                );
        if (rows.victims)
            check(
                rows.victims === facts.evictions,
                `${name}: ${rows.victims} were chosen to leave, run.json has ` +
                    `${facts.evictions} evictions`,
            );
        /* an allocation in pieces has a band for each */
        if (rows.places)
            for (const [why, n] of Object.entries(
                facts.evictions_by_reason as Record<string, number>,
            ))
                check(
                    (rows.left[why] ?? 0) >= n,
                    `${name}: ${rows.left[why]} bands left for ${why}, run.json has ${n} evictions`,
                );
    }
    await close();
}

interface Window {
    t0: number;
    t1: number;
}
const timeOf = (page: Page): Promise<Window> =>
    page.evaluate(() => {
        const { time } = (window as unknown as { drydock: { app: { time: Window } } }).drydock.app;
        return { t0: time.t0, t1: time.t1 };
    });

/* Pan, zoom, search, selection, measure and keys on the map and the timeline. */
async function interaction(browser: Browser, path: string, name: string): Promise<void> {
    const { page, complaints, close } = await open(browser, path);
    for (const view of ["map", "timeline"]) {
        if ((await page.locator(`nav a[href='#${view}']`).count()) === 0) {
            check(false, `${name}: its record has nothing for the ${view}`);
            continue;
        }
        await go(page, view);
        const canvas = page.locator("canvas").first();
        const box = await canvas.boundingBox();
        if (!box) {
            check(false, `${name} ${view}: no canvas`);
            continue;
        }
        const whole = await timeOf(page);
        const middle = { x: box.x + box.width / 2, y: box.y + box.height / 3 };
        await page.mouse.move(middle.x, middle.y);
        for (let i = 0; i < 8; i++) await page.mouse.wheel(0, -120);
        await settle(page);
        const near = await timeOf(page);
        check(near.t1 - near.t0 < (whole.t1 - whole.t0) / 4, `${name} ${view}: the wheel zooms in`);
        await page.mouse.down();
        await page.mouse.move(middle.x - 200, middle.y, { steps: 5 });
        await page.mouse.up();
        const panned = await timeOf(page);
        check(
            panned.t0 > near.t0 &&
                Math.abs((panned.t1 - panned.t0) / (near.t1 - near.t0) - 1) < 1e-6,
            `${name} ${view}: dragging pans, and does not zoom`,
        );
        await canvas.focus();
        await page.keyboard.press("ArrowLeft");
        check((await timeOf(page)).t0 < panned.t0, `${name} ${view}: the left arrow pans`);
        await page.keyboard.press("+");
        check(
            (await timeOf(page)).t1 - (await timeOf(page)).t0 < panned.t1 - panned.t0,
            `${name} ${view}: + zooms in`,
        );
        await page.keyboard.press("Home");
        const home = await timeOf(page);
        check(
            home.t0 === whole.t0 && home.t1 === whole.t1,
            `${name} ${view}: Home shows all of it`,
        );
        await page.keyboard.press("n");
        await settle(page);
        check(
            !/Nothing selected/.test(
                (await page.locator(".inspector h3").first().textContent()) ?? "",
            ),
            `${name} ${view}: N selects`,
        );
        check(
            ((await page.locator("#live").textContent()) ?? "").length > 3,
            `${name} ${view}: a selection is said to screen readers`,
        );
        await page.keyboard.press("Escape");
        check(
            /Nothing selected/.test(
                (await page.locator(".inspector h3").first().textContent()) ?? "",
            ),
            `${name} ${view}: Escape selects nothing`,
        );
        const words = view === "map" ? "a1" : "DxgkDdi";
        await page.locator("input.find").fill(words);
        await page.waitForFunction(
            () => /\d/.test(document.querySelector(".matches")?.textContent ?? ""),
            undefined,
            { timeout: 10000 },
        );
        const matches = Number(
            ((await page.locator(".matches").textContent()) ?? "").replace(/[^\d]/g, ""),
        );
        check(matches > 0, `${name} ${view}: "${words}" is found`);
        await page.locator("input.find").press("Enter");
        await settle(page);
        check(
            !/Nothing selected/.test(
                (await page.locator(".inspector h3").first().textContent()) ?? "",
            ),
            `${name} ${view}: Enter goes to a match`,
        );
        await page.locator("input.find").fill("there is no such thing");
        await page.waitForFunction(
            () => /^0 /.test(document.querySelector(".matches")?.textContent ?? ""),
            undefined,
            { timeout: 10000 },
        );
        await page.locator("input.find").fill("");
        if (view === "timeline") {
            await canvas.focus();
            await page.keyboard.press("m");
            await page.waitForSelector(".measured", { timeout: 5000 });
            check(
                (await page.locator(".measured [role=row]").count()) > 1,
                `${name}: M measures what is in sight`,
            );
        }
        await page.locator("button", { hasText: "Table" }).first().click();
        const body = page.locator(".grid-body").first();
        await body.focus();
        await page.keyboard.press("End");
        const last = await body.getAttribute("aria-activedescendant");
        const rows = Number(await body.getAttribute("aria-rowcount")) - 1;
        check(
            rows > (view === "map" ? 10 : 1) && last?.endsWith(`-${rows - 1}`) === true,
            `${name} ${view}: End goes to the last of ${rows} rows of its table`,
        );
        check(
            (await body.locator("[role=row]").count()) < 80,
            `${name} ${view}: only rows in sight are in the document`,
        );
        await page.keyboard.press("Enter");
        await page
            .waitForFunction(() => location.hash.startsWith("#row/"), undefined, { timeout: 5000 })
            .catch(() => check(false, `${name} ${view}: Enter opens a row`));
    }
    await page.locator("body").press("?");
    check((await page.locator("dialog[open]").count()) === 1, `${name}: ? shows the keys`);
    await page.keyboard.press("Escape");
    await page.locator("body").press("1");
    check(
        (await page.evaluate(() => location.hash)) === "#overview",
        `${name}: 1 goes to the first view`,
    );
    const before = await page.evaluate(() => document.documentElement.dataset.theme);
    await page.locator("body").press("t");
    check(
        (await page.evaluate(() => document.documentElement.dataset.theme)) !== before,
        `${name}: T changes the theme`,
    );
    check(complaints.length === 0, `${name}: ${complaints.join("; ")}`);
    await close();
}

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
 * drawing in a frame.
 */
async function frameTimes(page: Page, frames: number): Promise<FrameTimes> {
    return page.evaluate(
        count =>
            new Promise<FrameTimes>(done => {
                const canvas = document.querySelector("canvas") as HTMLCanvasElement;
                const box = canvas.getBoundingClientRect();
                const own = (
                    window as unknown as { drydock?: { frames: { work: number[]; clear(): void } } }
                ).drydock?.frames;
                const gaps: number[] = [];
                let last = 0,
                    n = 0;
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
                    if (++n < count) requestAnimationFrame(step);
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
        frames,
    );
}

/*
 * A million bands and a million slices. What this machine can do at all is measured first, by a
 * page that only clears a canvas of the same size.
 */
async function million60(browser: Browser): Promise<void> {
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
            if (!best || t.gap / limit.gap < best.page.gap / best.floor.gap)
                best = { floor: limit, page: t };
            if (t.gap <= FRAME_MS + 0.1 && t.work <= FRAME_MS) {
                best = { floor: limit, page: t };
                break;
            }
        }
        if (!best) continue;
        result[view] = best;
        const what = view === "map" ? "bands" : "slices";
        check(
            best.page.work <= FRAME_MS,
            `a million ${what}: drawing takes ${best.page.work.toFixed(1)} ms, the ` +
                `median of ${best.page.frames} frames`,
        );
        check(
            best.page.gap <= Math.max(FRAME_MS + 0.1, 1.25 * best.floor.gap),
            `a million ${what}: the median frame takes ${best.page.gap.toFixed(1)} ms; ` +
                `an empty page has ${best.floor.gap.toFixed(1)} ms here`,
        );
        await settle(page);
        await page.screenshot({ path: join(out, `million-${view}.png`) });
    }
    check(complaints.length === 0, `million: ${complaints.join("; ")}`);
    measured["million: frame times (ms; median and 95 %)"] = result;
    measured["million: rows"] = made.rows;
    for (const [view, { page: t, floor }] of Object.entries(result))
        console.log(
            `    ${view}: frame ${t.gap.toFixed(1)} ms (95 %: ${t.gap95.toFixed(1)}; ` +
                `an empty page: ${floor.gap.toFixed(1)}, ${floor.gap95.toFixed(1)}), ` +
                `drawing ${t.work.toFixed(1)} ms (95 %: ${t.work95.toFixed(1)})`,
        );
    await close();
}

/* What a driver prints, and what a case is called, stays text. */
async function hostile(browser: Browser): Promise<void> {
    const evil = "<script>window.hacked=1</script><img src=x onerror='window.hacked=2'>";
    const made = synthetic(200, { print: evil });
    const facts = {
        ...made.facts,
        case: `</script>${evil}`,
        outcome: "findings",
        findings: [
            {
                kind: "driver",
                rule: "PB-008",
                text: evil,
                where: evil,
                objects: [evil],
                arguments: [`${evil}    ${evil}`],
                bytes: [evil],
                writers: [evil],
                printed: [evil],
                sentence: evil,
                source: `javascript:alert(1), ${evil}`,
                replay: evil,
                case: evil,
                output: evil,
                event: 3,
                consequences: [{ text: evil }],
            },
        ],
    };
    const path = join(out, "hostile.html");
    writePage(viewer, path, facts, [{ id: "story", base64: made.story }]);
    const { page, complaints, close } = await open(browser, path);
    for (const route of [
        "overview",
        "finding/0",
        "rows/marks?kind=print",
        "timeline?find=hacked",
        "map",
        "facts",
        "rows/objects",
    ]) {
        await go(page, route);
        check(
            await page.evaluate(
                () => (window as unknown as { hacked?: number }).hacked === undefined,
            ),
            `hostile ${route}: the text was run`,
        );
        check(
            (await page.locator("main script, main img").count()) === 0,
            `hostile ${route}: the text became an element`,
        );
        check(
            (await page.locator("a[href^='javascript:' i]").count()) === 0,
            `hostile ${route}: a link runs a script`,
        );
    }
    await go(page, "rows/marks?kind=print");
    check(
        ((await page.locator("main").textContent()) ?? "").includes(
            "<script>window.hacked=1</script>",
        ),
        "hostile: what the driver printed is shown as text",
    );
    check(complaints.length === 0, `hostile: ${complaints.join("; ")}`);
    await close();
}

/* A page whose story or facts are damaged says so; figures stay. */
async function damaged(browser: Browser): Promise<void> {
    const made = synthetic(200);
    const middle = made.story.length >> 1;
    for (const [name, story, message] of [
        ["cut", made.story.slice(0, middle - (middle % 4)), /cannot be read/],
        [
            "changed",
            `${made.story.slice(0, middle)}AAAAAAAAAAAA${made.story.slice(middle + 12)}`,
            /cannot be read/,
        ],
        ["no base64", "!!!!", /not base64/],
        ["empty", "", /cannot be read/],
    ] as [string, string, RegExp][]) {
        const path = join(out, `damaged-${name.replace(" ", "-")}.html`);
        writePage(viewer, path, made.facts, [{ id: "story", base64: story }]);
        const { page, complaints, close } = await open(browser, path);
        const text = (await page.locator("main").textContent()) ?? "";
        const isWhole = await page.evaluate(
            () =>
                (window as unknown as { drydock: { app: { run: unknown } } }).drydock.app.run !==
                null,
        );
        /* a change in the middle may be met only when the column is read: then the view says it */
        if (!isWhole) {
            check(message.test(text), `damaged (${name}): says "${text.slice(0, 200)}"`);
            check(
                text.includes(format.count(made.facts.evictions as number)),
                `damaged (${name}): figures of run.json are shown`,
            );
        } else {
            check(name === "changed", `damaged (${name}): taken as whole`);
            for (const route of ["map", "timeline"]) {
                await go(page, route);
                check(
                    (await page.locator("main h2").count()) > 0,
                    `damaged (${name}) ${route}: shows something`,
                );
            }
        }
        check(complaints.length === 0, `damaged (${name}): ${complaints.join("; ")}`);
        await close();
    }
    /*
     * A column whose values are out of range is met when its view reads it: that view says so,
     * others do not suffer.
     */
    const tables = made.tables.map(t => ({ ...t, rows: t.rows.map(r => [...r]) }));
    const places = tables.find(t => t.name === "places");
    if (places) places.rows[places.columns.findIndex(c => c.name === "allocation")][3] = 1e9;
    const badRow = join(out, "damaged-row.html");
    writePage(viewer, badRow, made.facts, [{ id: "story", base64: pack(tables) }]);
    const bad = await open(browser, badRow);
    check(
        ((await bad.page.locator("main").textContent()) ?? "").includes(
            format.count(made.facts.evictions as number),
        ),
        "damaged (row): figures are shown",
    );
    await go(bad.page, "map");
    check(
        /places\.allocation" names a row that is not there/.test(
            (await bad.page.locator("main").textContent()) ?? "",
        ),
        "damaged (row): the map says what is wrong",
    );
    await go(bad.page, "timeline");
    check((await bad.page.locator("canvas").count()) === 1, "damaged (row): the timeline is shown");
    check(bad.complaints.length === 0, `damaged (row): ${bad.complaints.join("; ")}`);
    await bad.close();
    const path = join(out, "damaged-facts.html");
    writeFileSync(
        path,
        pageOf(readFileSync(viewer, "utf8"), {}, []).replace(/(id="facts">)\{\}/, '$1{"page": '),
    );
    const context = await browser.newContext();
    const page = await context.newPage();
    await page.goto(pathToFileURL(path).href);
    await page.waitForSelector("[role=alert]", { timeout: 10000 });
    check(
        /This page is damaged/.test((await page.locator("main").textContent()) ?? ""),
        "damaged facts: the page says so",
    );
    await context.close();
}

/* Two PNG files, made small and compared: the mean difference of their points, 0 to 1. */
async function difference(browser: Browser, a: string, b: string): Promise<number> {
    const page = await (await browser.newContext()).newPage();
    const result = await page.evaluate(
        async ([x, y]) => {
            const points = async (url: string): Promise<Uint8ClampedArray> => {
                const image = new Image();
                image.src = url;
                await image.decode();
                const canvas = document.createElement("canvas");
                canvas.width = 144;
                canvas.height = 90;
                const c = canvas.getContext("2d") as CanvasRenderingContext2D;
                c.imageSmoothingQuality = "high";
                c.drawImage(image, 0, 0, 144, 90);
                return c.getImageData(0, 0, 144, 90).data;
            };
            const p = await points(x),
                q = await points(y);
            let sum = 0;
            for (let i = 0; i < p.length; i++) sum += Math.abs(p[i] - q[i]);
            return ((sum / p.length / 255) * 4) / 3;
        },
        [a, b].map(path => `data:image/png;base64,${readFileSync(path).toString("base64")}`),
    );
    await page.context().close();
    return result;
}

/* The pictures of the README, made anew and compared with those that are there. */
const TOLERANCE = 0.06;
async function readmePictures(browser: Browser, path: string): Promise<void> {
    const shots: [string, string, "light" | "dark"][] = [
        ["report-map", "map", "light"],
        ["report-timeline", "timeline", "dark"],
    ];
    for (const [name, route, theme] of shots) {
        const { page, close } = await open(browser, path, theme, { width: 1200, height: 700 });
        if ((await page.locator(`nav a[href='#${route}']`).count()) === 0) {
            check(false, `${name}.png: the record has nothing for it`);
            await close();
            continue;
        }
        await go(page, route);
        if (route === "timeline") {
            const whole = await timeOf(page);
            await page.evaluate(
                ([from, to]) =>
                    (
                        window as unknown as {
                            drydock: { app: { time: { set(a: number, b: number): void } } };
                        }
                    ).drydock.app.time.set(from, to),
                [whole.t0 + 0.4 * (whole.t1 - whole.t0), whole.t0 + 0.41 * (whole.t1 - whole.t0)],
            );
            await settle(page);
        }
        await page.mouse.move(5, 5);
        const made = join(out, `${name}.png`);
        await page.screenshot({ path: made });
        const size = readFileSync(made).length;
        measured[`${name}.png: bytes`] = size;
        check(size <= 150 * 1024, `${name}.png has ${size} bytes`);
        const kept = join(pictures, `${name}.png`);
        if (!pictures) {
            await close();
            continue;
        }
        if (process.argv.includes("--update") || !existsSync(kept)) {
            check(process.argv.includes("--update"), `${kept} is not there; --update makes it`);
            if (process.argv.includes("--update")) writeFileSync(kept, readFileSync(made));
        } else {
            const d = await difference(browser, made, kept);
            measured[`${name}.png: difference`] = d;
            check(
                d <= TOLERANCE,
                `${name}.png is not as ${kept}: mean difference ${d.toFixed(3)}, at ` +
                    `most ${TOLERANCE}`,
            );
        }
        await close();
    }
}

/* Reports that drydock writes of real runs. */
async function real(browser: Browser): Promise<void> {
    const folder = join(out, "runs");
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    const call = (...args: string[]): number => {
        try {
            execFileSync(drydock, args, {
                cwd: folder,
                stdio: ["ignore", "ignore", "pipe"],
                timeout: 300000,
            });
            return 0;
        } catch (error) {
            return (error as { status?: number }).status ?? 3;
        }
    };
    const runs: [string, string[], number][] = [
        ["main-gpummu", [join(cases, "main.case"), "-m", "gpummu"], 0],
        ["main-physical", [join(cases, "main.case"), "-m", "physical"], 0],
        [
            "zoo-fill",
            [join(cases, "main.case"), "-m", "gpummu", "--driver", "zoo:D37-fill-in-dwords"],
            1,
        ],
    ];
    const trace = option("trace", "");
    if (trace) runs.push(["capture", [trace], 0]);
    for (const [name, args, status] of runs) {
        const got = call("run", ...args, "--out", name);
        check(got === status, `drydock run ${args.join(" ")}: exit status ${got}`);
        check(call("report", name) === 0, `drydock report ${name}`);
        const path = join(folder, name, "report.html");
        if (!existsSync(path)) continue;
        const size = readFileSync(path).length;
        measured[`${name}: bytes`] = size;
        check(size <= 5_000_000, `${name}: ${size} bytes`);
        await views(browser, path, name, "run");
        await figures(browser, path, name);
    }
    const main = join(folder, "main-gpummu", "report.html");
    if (existsSync(main)) {
        await interaction(browser, main, "main-gpummu");
        await readmePictures(browser, main);
    }
    if (process.argv.includes("--campaigns")) {
        check(
            call(
                "check",
                "--driver",
                "zoo:D02-unmap-invalid",
                "-n",
                "12",
                "-j",
                "1",
                "--shrink-seconds",
                "1",
                "-o",
                "dock",
            ) === 1,
            "drydock check finds a defect",
        );
        check(call("report", "dock") === 0, "drydock report of a campaign");
        if (existsSync(join(folder, "dock", "report.html")))
            await views(browser, join(folder, "dock", "report.html"), "campaign", "campaign");
        check(
            call("report", "--compare", "main-gpummu", "main-physical", "-o", "compare.html") === 0,
            "drydock report --compare",
        );
        if (existsSync(join(folder, "compare.html")))
            await views(browser, join(folder, "compare.html"), "compare", "compare");
    }
}

async function main(): Promise<void> {
    const executablePath = findChromium();
    if (!executablePath) {
        console.log("SKIPPED: no Chromium (apt-get install chromium)");
        process.exit(SKIPPED);
    }
    let playwright;
    try {
        playwright = await import("playwright-core");
    } catch {
        console.log("SKIPPED: no playwright-core (npm ci in viewer/)");
        process.exit(SKIPPED);
    }
    mkdirSync(out, { recursive: true });
    const browser = await playwright.chromium.launch({
        executablePath,
        args: ["--no-sandbox", "--force-color-profile=srgb", "--font-render-hinting=none"],
    });
    const small = synthetic(2500),
        other = synthetic(2400, { seed: 2, segmentBytes: 800 * 2 ** 20 });
    const finding = {
        kind: "content",
        rule: "VX-008",
        text: "layer0.weight (allocation 3), byte 0x400: not what was written last (expected 0x0)",
        where: "DxgkDdiBuildPagingBuffer(VIRTUAL_FILL).FillPattern",
        objects: ["allocation a3: created"],
        arguments: ["VirtualFill.FillPattern    0xf2e5f2e5", "DmaSize    64 (0x40)"],
        bytes: ["0x400000  expected 00 00 00 00  found e5 f2 00 00  *"],
        writers: ["0x0 to 0x20  drydock (packet_fill)"],
        printed: ["refkmd: started"],
        sentence: "Fill writes FillPattern over FillSizeInBytes.",
        source: "ns-_dxgk_buildpagingbuffer_fillvirtual, bug-check-0x10e",
        windows: "not documented",
        versions: "2.0+",
        basis: "documented",
        side: "driver",
        event: 40,
        broken: 2,
        evaluated: 30,
        replay: "drydock run a.case",
        case: "a.case",
        seed: 1,
        driver: "ref",
        model: "gpummu",
        shrunk_lines: 2,
        shrunk_from: 228,
        case_text: "allocate a 4M\nsubmit a",
        consequences: [{ rule: "PB-001", text: "and more", count: 3 }],
        runs: 17,
    };
    const path = join(out, "synthetic.html"),
        campaign = join(out, "campaign.html"),
        compare = join(out, "compare.html");
    writePage(viewer, path, { ...small.facts, outcome: "findings", findings: [finding] }, [
        { id: "story", base64: small.story },
    ]);
    writePage(
        viewer,
        campaign,
        {
            page: "campaign",
            driver: "ref",
            runs: 30,
            findings: 12,
            seconds: 6,
            causes: [
                finding,
                { ...finding, rule: "PB-008", where: "DxgkDdiBuildPagingBuffer(FILL).status" },
            ],
            outcomes: { clean: 18, findings: 12 },
            models: { gpummu: 30 },
            rules: {
                "PB-001": { evaluated: 100, broken: 0 },
                "PB-008": { evaluated: 20, broken: 2 },
            },
            contract: ["PB-001", "PB-002", "PB-008", "XFER-001", "XFER-002"].map(id => ({
                id,
                sentence: `What ${id} says.`,
                side: "driver",
                reason: id === "XFER-002" ? "a permission" : null,
            })),
            campaigns: [
                { name: "first", runs: 20, findings: 3, causes: 1 },
                { name: "second", runs: 30, findings: 12, causes: 2 },
            ],
            operation_counts: { TRANSFER: 100, FILL: 20, DISCARD_CONTENT: 0 },
        },
        [],
    );
    writePage(viewer, compare, { page: "compare", a: small.facts, b: other.facts }, [
        { id: "story", name: "runs/a", base64: small.story },
        { id: "story_b", name: "runs/b", base64: other.story },
    ]);
    const stages: [string, () => Promise<void>][] = [
        ["views", () => views(browser, path, "synthetic", "run")],
        ["campaign", () => views(browser, campaign, "synthetic-campaign", "campaign")],
        ["compare", () => views(browser, compare, "synthetic-compare", "compare")],
        ["figures", () => figures(browser, path, "synthetic")],
        ["interaction", () => interaction(browser, path, "synthetic")],
        ["hostile", () => hostile(browser)],
        ["damaged", () => damaged(browser)],
        ["million", () => million60(browser)],
        ...(drydock ? [["real", () => real(browser)] as [string, () => Promise<void>]] : []),
    ];
    for (const [name, stage] of stages) {
        if (only && name !== only) continue;
        const before = failures.length,
            started = Date.now();
        console.log(`${name} ...`);
        try {
            await stage();
        } catch (error) {
            check(false, `${name}: ${error instanceof Error ? error.stack : String(error)}`);
        }
        console.log(
            `${failures.length === before ? "ok" : "NOT OK"} ${name} (` +
                `${((Date.now() - started) / 1000).toFixed(1)} s)`,
        );
    }
    await browser.close();
    writeFileSync(join(out, "figures.json"), `${JSON.stringify(measured, null, 2)}\n`);
    console.log(failures.length ? `${failures.length} things are not so` : "all as it should be");
    process.exit(failures.length ? 1 : 0);
}

main().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
});
