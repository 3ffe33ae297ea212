/*
 * Pages that drydock writes of real runs: the first case in both models, a training step of BERT, a
 * capture, a campaign with findings, a defect of the zoo, two runs compared; page tables of each
 * page size.
 */
import { execFile } from "node:child_process";
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import * as format from "../src/format.js";
import { capture } from "./capture.js";
import { explained, figures, followed, interaction, rowsOf } from "./checks.js";
import {
    axe,
    check,
    go,
    isEveryday,
    isUpdating,
    measured,
    open,
    option,
    out,
    settle,
    timeOf,
    viewsOf,
} from "./chromium.js";
import { difference, type Shots } from "./shots.js";
import { translations } from "./translations.js";

const drydock = option("drydock", "");
const cases = resolve(option("cases", "../cases"));
const pictures = option("pictures", "");
const folder = join(out, "runs");
const PAGE_MOST = 5_000_000;

const json = (...path: string[]): any => JSON.parse(readFileSync(join(folder, ...path), "utf8"));

async function call(verb: string, ...args: string[]): Promise<number> {
    const quiet = verb === "exec" ? [] : ["-q"];
    return new Promise(done =>
        execFile(drydock, [verb, ...quiet, ...args], { cwd: folder, timeout: 300000 }, error =>
            done(error ? (typeof error.code === "number" ? error.code : 3) : 0),
        ),
    );
}

/* BERT-base: twelve layers of width 768, two steps of training. */
const BERT = ["layers=12", "hidden=768", "heads=12", "seq=128", "batch=32", "vocab=30522"];

/* Of all runs, those that are played every day. */
const EVERYDAY = ["main-gpummu", "zoo"];

/* Runs that end with this status, each with a page. */
const ALL_RUNS: [string, string[], number][] = [
    ["main-gpummu", [join(cases, "main.case"), "-m", "gpummu"], 0],
    ["main-physical", [join(cases, "main.case"), "-m", "physical"], 0],
    ["bert", ["bert.case", "-m", "gpummu"], 0],
    ["capture", ["capture.rmv"], 0],
    ["zoo", [join(cases, "main.case"), "-m", "gpummu", "--driver", "zoo:D37-fill-in-dwords"], 1],
    ...["none", "single", "dual"].map((kind): [string, string[], number] => [
        `pages-${kind}`,
        [join(cases, "large-pages.case"), "-m", "gpummu", "--option", `pages-64k=${kind}`],
        0,
    ]),
];
const RUNS = ALL_RUNS.filter(([name]) => !isEveryday || EVERYDAY.includes(name));

export async function play(): Promise<void> {
    rmSync(folder, { recursive: true, force: true });
    mkdirSync(folder, { recursive: true });
    if (!isEveryday) {
        writeFileSync(join(folder, "capture.rmv"), capture(600));
        check(
            (await call("gen", "transformer", ...BERT, "-o", "bert.case")) === 0,
            "drydock gen transformer",
        );
    }
    for (const [name, args, status] of RUNS) {
        const got = await call("run", ...args, "--events", "none", "--report", "--out", name);
        check(got === status, `drydock run ${args.join(" ")}: exit status ${got}`);
        const path = join(folder, name, "report.html");
        check(existsSync(path), `drydock run --report writes ${path}`);
        if (!existsSync(path)) continue;
        const size = readFileSync(path).length;
        measured[`${name}: bytes`] = size;
        check(size <= PAGE_MOST, `${name}: ${size} bytes`);
    }
    check(
        (await call("report", "--compare", "main-gpummu", "zoo", "-o", "compare.html")) === 0,
        "drydock report --compare",
    );
    await playApplication();
    if (!isEveryday) await playCampaign();
}

/* Two threads of our own client, whose buffers do not fit at once. */
async function playApplication(): Promise<void> {
    const client = join(dirname(drydock), "app_client");
    if (!existsSync(client)) return;
    const args = ["--local-memory", "8M", "--out", "exec", "--report", "--"];
    check(
        (await call("exec", ...args, client, "copy", "4", "4", "1", "2")) === 0,
        "drydock exec --report",
    );
}

/* Clients have names, and lanes with their calls. */
async function clients(page: Page): Promise<void> {
    const lanes = await page.evaluate(() => {
        const run = (window as any).drydock.app.run;
        const names = new Set<string>();
        for (const process of run.values("client_calls", "process"))
            names.add(run.objectName(process));
        return [...names];
    });
    check(
        lanes.length === 1 && /app_client \(pid \d+\)/.test(lanes[0]),
        `exec: its clients are ${lanes.join(", ")}`,
    );
    await go(page, "overview");
    const breaches = page.locator("section", { hasText: "Rules that clients break" }).last();
    const rule = breaches.locator(".rule").first();
    check(
        (await rule.textContent()) === "KMT-051",
        `exec: its client breaks ${await rule.textContent()}`,
    );
    const call = await breaches.locator(".says a").last().boundingBox();
    check(!!call && call.height < 30, "exec: the call that broke the rule stands on one line");
    await breaches.locator(".says a").last().click();
    await settle(page);
    check(
        /D3DKMTDestroyDevice/.test((await page.locator("main").textContent()) ?? ""),
        "exec: a broken rule leads to its call",
    );
    await go(page, "timeline");
    await page.locator("input.find").fill("D3DKMTSubmitCommand");
    await page.waitForFunction(() =>
        /^[1-9]/.test(document.querySelector(".matches")?.textContent ?? ""),
    );
}

async function playCampaign(): Promise<void> {
    /* Its first seed shows what follows from a cause of others, and not that cause. */
    const campaign = ["--driver", "zoo:D37-fill-in-dwords", "-n", "12", "-j", "1"];
    check(
        (await call("check", ...campaign, "--shrink-seconds", "1", "-o", "dock")) === 1,
        "drydock check finds a defect",
    );
    check((await call("report", "dock")) === 0, "drydock report of a campaign");
}

/* Each view of a page has a title, a screenshot, no serious finding of axe, and is explained. */
async function tour(page: Page, name: string, shots: Shots, more: string[]): Promise<void> {
    for (const route of [...(await viewsOf(page)), ...more]) {
        await go(page, route);
        const title = (await page.locator("main h2").first().textContent()) ?? "";
        check(
            title !== "" && !/Cannot be shown|failed/.test(title),
            `${name} ${route}: shows "${title}"`,
        );
        await shots.take(page, `${name}-${route.replace(/\W+/g, "-")}`, false);
        await axe(page, `${name} ${route}`);
        const [wide, window] = await page.evaluate(() => [
            document.documentElement.scrollWidth,
            innerWidth,
        ]);
        check(wide <= window, `${name} ${route}: ${wide} pixels wide in a window of ${window}`);
        if (!/^(rows|row|facts)/.test(route)) await explained(page, `${name} ${route}`);
    }
}

/* Opens a page and lets something be looked at; then what the page complained about. */
async function look(
    browser: Browser,
    path: string,
    name: string,
    how: (page: Page) => Promise<void>,
): Promise<void> {
    if (!existsSync(path)) return;
    const started = Date.now();
    const { page, complaints, close } = await open(browser, path);
    try {
        await how(page);
    } catch (error) {
        check(false, `${name}: ${error instanceof Error ? error.stack : String(error)}`);
    }
    check(complaints.length === 0, `${name}: ${complaints.join("; ")}`);
    await close();
    measured[`${name}: s`] = (Date.now() - started) / 1000;
}

/* What a page has in a picture, by kind: the run has something of it. */
async function has(page: Page, name: string, tables: string[]): Promise<void> {
    for (const table of tables)
        check((await rowsOf(page, table)) > 0, `${name}: its page has rows of ${table}`);
}

/* Jobs are rows, the operations name them; memory of page tables is on the map. */
async function jobsAndRanges(page: Page, name: string): Promise<void> {
    const one = await page.evaluate(() => {
        const run = (window as any).drydock.app.run;
        const job = run.values("operations", "job");
        const numbers = Array.from(run.values("jobs", "number") as ArrayLike<number>);
        const operation = Array.from(job as ArrayLike<number>).findIndex(n => numbers.includes(n));
        const count = Array.from(job as ArrayLike<number>).filter(n => n === job[operation]);
        return { operation, job: numbers.indexOf(job[operation]), count: count.length };
    });
    await go(page, `row/operations/${one.operation}`);
    check(
        (await page.locator(`main a[href='#row/jobs/${one.job}']`).count()) > 0,
        `${name}: operation ${one.operation} leads to its job, row ${one.job}`,
    );
    await go(page, `row/jobs/${one.job}`);
    const body = page.locator("[role=grid][aria-label='operations by job']");
    check(
        (await body.getAttribute("aria-rowcount")) === String(one.count + 1),
        `${name}: job ${one.job} has ${one.count} operations`,
    );
    const ranges = await rowsOf(page, "ranges");
    if (!ranges) return;
    await go(page, "map");
    const button = page.locator("button", { hasText: "Table" }).first();
    if ((await button.getAttribute("aria-pressed")) !== "true") await button.click();
    const taken = page.locator("[role=grid][aria-label='Memory that no allocation has']");
    check(
        (await taken.getAttribute("aria-rowcount")) === String(ranges + 1),
        `${name}: the table behind the map has ${ranges} ranges of no allocation`,
    );
    await button.click();
}

/* A finding's page says what run.json says of it. */
async function finding(page: Page, facts: any, name: string): Promise<void> {
    await go(page, "finding/0");
    const [first] = facts.findings;
    const text = (await page.locator("main").textContent()) ?? "";
    for (const part of [first.text, first.rule, first.where, first.sentence])
        check(!part || text.includes(part), `${name}: its page says "${part}"`);
    const pages = page.locator('main dl[aria-label="Rule"] a');
    const addresses = await pages.evaluateAll(all => all.map(a => (a as HTMLAnchorElement).href));
    check(
        addresses.join() === Object.values(first.links ?? {}).join(),
        `${name}: its sources lead to ${addresses.join(", ")}`,
    );
    /* What it concerns is meant by its name: "embedding.weight (allocation 2)". */
    const named = /^(\S+) \(allocation \d+\)/.exec(first.text)?.[1];
    const lives = await page.locator("main h2", { hasText: "Life of" }).allTextContents();
    check(
        !!named && lives.some(t => t.endsWith(` ${named}`)),
        `${name}: the life of ${named} is shown: ${lives.join(", ")}`,
    );
    const sequence = await page.evaluate(() => {
        const app = (window as any).drydock.app;
        const call = app.run.values("findings", "call")[0];
        return call ? app.run.values("calls", "sequence")[call - 1] : -1;
    });
    check(
        sequence === first.event || text.includes(`#${first.event}`),
        `${name}: call ${first.event} is among those before and after`,
    );
}

async function campaign(browser: Browser, shots: Shots): Promise<void> {
    const played = readFileSync(join(folder, "dock", "results.jsonl"), "utf8")
        .trim()
        .split("\n")
        .map(line => JSON.parse(line));
    await look(browser, join(folder, "dock", "report.html"), "campaign", async page => {
        await tour(page, "campaign", shots, []);
        await go(page, "campaign");
        const tiles = new Map(
            await page
                .locator(".tile")
                .evaluateAll(list =>
                    list.map((t): [string, string] => [
                        t.querySelector(".tile-name")?.textContent ?? "",
                        t.querySelector(".figure")?.textContent ?? "",
                    ]),
                ),
        );
        const facts = await page.evaluate(() => (window as any).drydock.app.facts);
        const runs = played.filter(r => r.seed !== undefined && r.outcome !== undefined);
        for (const [tile, value] of [
            ["Runs", runs.length],
            ["Runs with findings", runs.filter(r => r.outcome === "findings").length],
            ["Causes", facts.causes.length],
        ])
            check(
                tiles.get(tile) === format.count(value),
                `campaign: tile ${tile} shows ${tiles.get(tile)}, results.jsonl has ${value}`,
            );
        const links = await page
            .locator("main a[href^='pages/']")
            .evaluateAll(list => list.map(a => a.getAttribute("href") ?? ""));
        check(
            links.length === facts.causes.length,
            `campaign: ${links.length} pages of ${facts.causes.length} causes`,
        );
        const orphans = await page
            .locator("[aria-label='Runs with findings'] .grid-rows .grid-row")
            .evaluateAll(rows => rows.filter(r => !r.lastElementChild?.querySelector("a")).length);
        check(orphans === 0, `campaign: ${orphans} runs with findings lead to no cause`);
        await go(page, "finding/0");
        const said = (await page.locator("main").textContent()) ?? "";
        check(
            /^drydock replay dock\/findings\/\S+\.case/.test(
                (await page.locator(".copyable code").first().textContent()) ?? "",
            ),
            "campaign: the command of a finding plays its smallest case",
        );
        check(
            /broken in all runs[1-9][\d,]* of [1-9][\d,]* evaluation/.test(said),
            "campaign: a finding says how often its rule was broken",
        );
        await go(page, "campaign");
        const [link] = links;
        if (!link) return;
        await page.locator(`main a[href='${link}']`).first().click();
        await page.waitForSelector("html[data-ready]");
        check(
            page.url().split("#")[0].endsWith(link.split("#")[0]),
            `campaign: ${page.url()} is the page of ${link}`,
        );
        check(
            ((await page.locator("main").textContent()) ?? "").includes(facts.causes[0].rule),
            "campaign: the page of a cause names its rule",
        );
        await axe(page, "campaign, page of a cause");
    });
}

async function compare(browser: Browser, shots: Shots): Promise<void> {
    const sides = [json("main-gpummu", "run.json"), json("zoo", "run.json")];
    await look(browser, join(folder, "compare.html"), "compare", async page => {
        await tour(page, "compare", shots, []);
        await go(page, "compare");
        const rows = new Map(
            await page
                .locator("section", { hasText: "The main figures of both runs" })
                .locator("tbody tr")
                .evaluateAll(list =>
                    list.map((r): [string, string[]] => [
                        r.querySelector("th")?.textContent ?? "",
                        [...r.querySelectorAll("td")].map(c => c.textContent ?? ""),
                    ]),
                ),
        );
        for (const [path, say] of [
            ["virtual_time_ns", format.duration],
            ["moved_in_bytes", format.bytes],
            ["evictions", format.count],
        ] as [string, (v: number) => string][])
            sides.forEach((side, i) =>
                check(
                    rows.get(path)?.[i] === say(side[path]),
                    `compare: ${path} of ${i ? "b" : "a"} is ${rows.get(path)?.[i]}, run.json ` +
                        `has ${say(side[path])}`,
                ),
            );
        check(
            rows.get("content.mismatches")?.[1] === format.count(sides[1].content.mismatches),
            "compare: the mismatches of b are shown",
        );
        const first = await page.evaluate(
            () => (window as any).drydock.app.facts.comparison.first_difference,
        );
        check(
            (
                (await page
                    .locator("section", { hasText: "First difference" })
                    .first()
                    .textContent()) ?? ""
            ).includes(`call ${format.count(first.a.sequence)}, at`),
            `compare: the first difference is call ${first.a.sequence}`,
        );
        const maps = page.locator("canvas");
        check((await maps.count()) === 2, "compare: two maps");
        const before = await timeOf(page);
        await maps.nth(1).scrollIntoViewIfNeeded();
        const box = await maps.nth(1).boundingBox();
        if (box) {
            await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
            for (let i = 0; i < 6; i++) await page.mouse.wheel(0, -120);
            await settle(page);
        }
        const near = await timeOf(page);
        check(
            near.t1 - near.t0 < (before.t1 - before.t0) / 2,
            "compare: the wheel over one map zooms both",
        );
        await shots.take(page, "compare-zoomed", false);
    });
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
        if (isUpdating || !existsSync(kept)) {
            check(isUpdating, `${kept} is not there; --update makes it`);
            if (isUpdating) writeFileSync(kept, readFileSync(made));
        } else {
            const d = (await difference(browser, made, kept)).all;
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

/* What each run's page has to show beside what holds for all of them. */
const PAGES: Record<string, (page: Page) => Promise<void>> = {
    "main-gpummu": async p => {
        await has(p, "main-gpummu", ["jobs", "ranges", "places", "entries", "waits", "victims"]);
        await jobsAndRanges(p, "main-gpummu");
        await translations(p, "main-gpummu", [4096]);
        for (const route of ["overview", "row/operations/100", "row/places/100"]) {
            await go(p, route);
            await followed(p, `main-gpummu ${route}`);
        }
    },
    "main-physical": p => has(p, "main-physical", ["jobs", "places", "references"]),
    bert: async p => {
        await has(p, "bert", ["jobs", "ranges", "places", "entries"]);
        await translations(p, "bert", [4096]);
    },
    capture: async p => {
        await has(p, "capture", ["jobs", "ranges", "entries"]);
        await translations(p, "capture", [4096]);
    },
    exec: async p => {
        await has(p, "exec", ["client_calls", "requests", "packets", "places"]);
        await clients(p);
    },
    zoo: async p => {
        await has(p, "zoo", ["findings", "calls", "arguments"]);
        await finding(p, json("zoo", "run.json"), "zoo");
    },
};
/* Routes beside the views of a page. */
const MORE: Record<string, string[]> = {
    "main-gpummu": ["rows/places", "row/objects/9"],
    zoo: ["finding/0"],
};
const PAGE_SIZES: Record<string, number[]> = {
    "pages-none": [4096, 2 ** 21],
    "pages-single": [65536],
    "pages-dual": [65536],
};

export async function real(browser: Browser, shots: Shots): Promise<void> {
    for (const name of [...RUNS.map(run => run[0]), "exec"])
        await look(browser, join(folder, name, "report.html"), name, async page => {
            if (PAGE_SIZES[name]) {
                await translations(page, name, PAGE_SIZES[name]);
                return;
            }
            if (!isEveryday || name === "main-gpummu")
                await tour(page, name, shots, MORE[name] ?? []);
            await figures(page, json(name, "run.json"), name);
            await PAGES[name](page);
            if (!isEveryday) await interaction(page, name);
        });
    await compare(browser, shots);
    if (isEveryday) return;
    await campaign(browser, shots);
    await readmePictures(browser, join(folder, "main-gpummu", "report.html"));
}
