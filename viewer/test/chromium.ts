/*
 * What all tests of the page in Chromium use: options, what was found not to be so, an open page
 * and what it complains about, axe, pictures.
 */
import { AsyncLocalStorage } from "node:async_hooks";
import { existsSync, readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { resolve } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser, Page } from "playwright-core";

export function option(name: string, fallback: string): string {
    const at = process.argv.indexOf(`--${name}`);
    return at > 0 ? process.argv[at + 1] : fallback;
}

export const out = resolve(option("out", "dist/shots"));
export const viewer = resolve(option("viewer", "dist/viewer.html"));
export const isUpdating = process.argv.includes("--update");
export const isEveryday = process.argv.includes("--everyday");
export const measured: Record<string, unknown> = {};
export const failures: string[] = [];
/* What the stage that runs here found; several stages run at a time. */
export const stage = new AsyncLocalStorage<{ failures: number }>();

export function check(is: boolean, what: string): void {
    if (is) return;
    failures.push(what);
    const own = stage.getStore();
    if (own) own.failures++;
    console.log(`    NOT SO: ${what}`);
}

export function findChromium(): string {
    for (const path of [
        process.env.CHROMIUM ?? "",
        "/usr/bin/chromium",
        "/usr/bin/chromium-browser",
    ])
        if (path && existsSync(path)) return path;
    return "";
}

/* ms until what a page is waited for counts as missing: others may keep the processors. */
export const PATIENCE = 120000;

/*
 * A page that is open; whatever it says on the console, fails at or asks of the network is noted.
 */
export interface Opened {
    page: Page;
    complaints: string[];
    close(): Promise<void>;
}

export async function open(
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
    context.setDefaultTimeout(PATIENCE);
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
    await page.waitForSelector("html[data-ready]");
    return { page, complaints, close: () => context.close() };
}

export async function go(page: Page, route: string): Promise<void> {
    await page.evaluate(r => {
        location.hash = r;
    }, route);
    await settle(page);
}

/* Waits until six frames drew nothing: tiles are painted over several frames. */
export async function settle(page: Page): Promise<void> {
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
                    if (quiet >= 6 || ++rounds > 1000) done();
                    else requestAnimationFrame(look);
                };
                look();
            }),
    );
}

const axeSource = readFileSync(
    createRequire(import.meta.url).resolve("axe-core/axe.min.js"),
    "utf8",
);

export async function axe(page: Page, what: string): Promise<void> {
    /* The page allows no script but its own: axe comes in by the debugger, not by an element. */
    if (!(await page.evaluate(() => "axe" in window))) await page.evaluate(axeSource);
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

export interface Window {
    t0: number;
    t1: number;
}
export const timeOf = (page: Page): Promise<Window> =>
    page.evaluate(() => {
        const { time } = (window as unknown as { drydock: { app: { time: Window } } }).drydock.app;
        return { t0: time.t0, t1: time.t1 };
    });

/* The views of a page, as its list of views has them. */
export const viewsOf = (page: Page): Promise<string[]> =>
    page.evaluate(() =>
        [...document.querySelectorAll("nav a")].map(a =>
            (a.getAttribute("href") ?? "").replace(/^#/, ""),
        ),
    );
