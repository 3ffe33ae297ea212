/*
 * What holds for every page: its figures are those of run.json; pan, zoom, search and keys work;
 * every picture says what it shows and has a table; every number leads to where it comes from; all
 * is reached by the keyboard; a narrow window does not break it.
 */
import type { Browser, Page } from "playwright-core";
import * as format from "../src/format.js";
import { check, go, open, settle, timeOf, viewsOf } from "./chromium.js";

/* How many rows a table of the page's run has. */
export const rowsOf = (page: Page, table: string): Promise<number> =>
    page.evaluate(
        t =>
            (
                window as unknown as {
                    drydock: { app: { run: { rows(t: string): number } | null } };
                }
            ).drydock.app.run?.rows(t) ?? 0,
        table,
    );

/*
 * A finding's page: the addresses of its sources, what was compared beside what it should be, and
 * whether its case may become smaller still.
 */
export async function findingPage(page: Page, finding: any, name: string): Promise<void> {
    await go(page, "finding/0");
    const addresses = await page
        .locator('main dl[aria-label="Rule"] a')
        .evaluateAll(all => all.map(a => [a.textContent, a.getAttribute("href")].join(" ")));
    const safe = Object.entries(finding.links).filter(([, to]) => /^https:/.test(to as string));
    check(
        addresses.join() === safe.map(one => one.join(" ")).join(),
        `${name}: its sources lead to ${addresses.join(", ")}`,
    );
    const sources = await page.locator('main dl[aria-label="Rule"] dd').first().textContent();
    check(sources === finding.source, `${name}: its sources are "${sources}"`);
    const { value, expected } = finding.argument;
    const rows = await page
        .locator("section", { has: page.locator("h2", { hasText: "Arguments" }) })
        .locator("tr", { hasText: finding.argument.name })
        .allTextContents();
    check(
        rows.length === 1 && rows[0].includes(value) && rows[0].endsWith(expected),
        `${name}: of ${finding.argument.name} it says "${rows.join()}", not ${expected}`,
    );
    const text = (await page.locator("main").textContent()) ?? "";
    check(
        text.includes("its time ran out: drydock shrink may make it smaller still") ===
            finding.shrunk_in_part,
        `${name}: it says whether its case may become smaller`,
    );
}

/* The tiles of the overview say what run.json says. */
export async function figures(page: Page, facts: any, name: string): Promise<void> {
    await go(page, "overview");
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
    const calls = await rowsOf(page, "client_calls");
    const wanted: [string, string][] = [
        ["Virtual time", format.duration(facts.virtual_time_ns)],
        ["Paged in", format.bytes(facts.moved_in_bytes)],
        ["Paged out", format.bytes(facts.moved_out_bytes)],
        ["Evictions", format.count(facts.evictions)],
        ["Driver calls", format.count(facts.paging.build_calls)],
        [
            "Resident when asked for",
            format.percent(facts.paging.residency_hits / facts.paging.residency_requests),
        ],
    ];
    if (calls) wanted.push(["Calls of programs", format.count(calls)]);
    else
        wanted.push(
            ["Submissions", format.count(facts.submissions.completed)],
            ["Pages checked", format.count(facts.content.pages_checked)],
        );
    const isSlowed = typeof facts.slowdown === "number" && !calls;
    if (isSlowed) wanted.push(["Slowdown", format.times(facts.slowdown)]);
    for (const tile of shown.keys())
        check(
            !calls || !["Slowdown", "Submissions", "Pages checked"].includes(tile),
            `${name}: a run of programs has no tile ${tile}`,
        );
    for (const [tile, text] of wanted.filter(w => !w[1].includes("NaN")))
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
}

const hasNothing = async (page: Page): Promise<boolean> =>
    /Nothing selected/.test((await page.locator(".inspector h3").first().textContent()) ?? "");

async function selects(page: Page, name: string): Promise<void> {
    await page.keyboard.press("n");
    await settle(page);
    check(!(await hasNothing(page)), `${name}: N selects`);
    check(
        ((await page.locator("#live").textContent()) ?? "").length > 3,
        `${name}: a selection is said to screen readers`,
    );
    await page.keyboard.press("Escape");
    check(await hasNothing(page), `${name}: Escape selects nothing`);
}

/* Pan, zoom, search, selection, measure and keys on the map and the timeline. */
export async function interaction(page: Page, name: string): Promise<void> {
    for (const view of ["map", "timeline"]) {
        if ((await page.locator(`nav a[href='#${view}']`).count()) === 0) {
            check(false, `${name}: its record has nothing for the ${view}`);
            continue;
        }
        await go(page, view);
        /* A capture of page tables has allocations in no place. */
        const hasBands = view !== "map" || (await rowsOf(page, "places")) > 0;
        const canvas = page.locator("canvas").first();
        const box = await canvas.boundingBox();
        if (!box) {
            check(false, `${name} ${view}: no canvas`);
            continue;
        }
        /* A link that was followed before may have zoomed in. */
        await canvas.focus();
        await page.keyboard.press("Home");
        const whole = await timeOf(page);
        const ends = await page.evaluate(() => {
            const { time } = (window as any).drydock.app;
            return { t0: time.begin, t1: time.end };
        });
        check(
            whole.t0 === ends.t0 && whole.t1 === ends.t1,
            `${name} ${view}: Home shows all of it`,
        );
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
            `${name} ${view}: Home shows all of it again`,
        );
        if (hasBands) await selects(page, `${name} ${view}`);
        const words = view === "map" ? "a1" : "DxgkDdi";
        await page.locator("input.find").fill(words);
        await page.waitForFunction(() =>
            /\d/.test(document.querySelector(".matches")?.textContent ?? ""),
        );
        const matches = Number(
            ((await page.locator(".matches").textContent()) ?? "").replace(/[^\d]/g, ""),
        );
        check(matches > 0 || !hasBands, `${name} ${view}: "${words}" is found`);
        if (hasBands) {
            await page.locator("input.find").press("Enter");
            await settle(page);
            check(!(await hasNothing(page)), `${name} ${view}: Enter goes to a match`);
        }
        await page.locator("input.find").fill("there is no such thing");
        await page.waitForFunction(() =>
            /^0 /.test(document.querySelector(".matches")?.textContent ?? ""),
        );
        await page.locator("input.find").fill("");
        if (view === "timeline") {
            await canvas.focus();
            await page.keyboard.press("m");
            await page.waitForSelector(".measured");
            check(
                (await page.locator(".measured [role=row]").count()) > 1,
                `${name}: M measures what is in sight`,
            );
        }
        await page.locator("button", { hasText: "Table" }).first().click();
        const body = page.locator(".grid-body").nth(hasBands ? 0 : 1);
        await body.focus();
        await page.keyboard.press("End");
        const last = await body.getAttribute("aria-activedescendant");
        const rows = Number(await body.getAttribute("aria-rowcount")) - 1;
        check(
            rows > (view === "map" && hasBands ? 10 : 1) && last?.endsWith(`-${rows - 1}`) === true,
            `${name} ${view}: End goes to the last of ${rows} rows of its table`,
        );
        check(
            (await body.locator("[role=row]").count()) < 80,
            `${name} ${view}: only rows in sight are in the document`,
        );
        await page.keyboard.press("ArrowRight");
        check(
            (await body.locator(".current .chosen").count()) === 1,
            `${name} ${view}: the right arrow chooses a link of the row`,
        );
        await page.keyboard.press("ArrowLeft");
        await page.keyboard.press("Enter");
        await page
            .waitForFunction(() => location.hash.startsWith("#row/"))
            .catch(() => check(false, `${name} ${view}: Enter opens a row`));
    }
    await page.locator("body").press("?");
    check((await page.locator("dialog[open]").count()) === 1, `${name}: ? shows the keys`);
    await page.keyboard.press("Escape");
    await page.waitForFunction(() => !document.querySelector("dialog[open]"));
    await page.locator("body").press("1");
    await page
        .waitForFunction(() => location.hash === "#overview")
        .catch(() => check(false, `${name}: 1 goes to the first view`));
    const before = await page.evaluate(() => document.documentElement.dataset.theme);
    await page.locator("body").press("t");
    check(
        (await page.evaluate(() => document.documentElement.dataset.theme)) !== before,
        `${name}: T changes the theme`,
    );
    await page.locator("body").press("t");
}

/*
 * Every picture of the view that is shown: it stands in a section with a heading and a sentence,
 * has a legend or names in it, and a button that shows the table which it is drawn from. Every
 * number of a table or list leads somewhere, itself or by its row.
 */
export async function explained(page: Page, name: string): Promise<void> {
    const wrong = await page.evaluate(async () => {
        const out: string[] = [];
        const pictures = document.querySelectorAll(
            "main canvas[role], main .chart, main [role=img]",
        );
        for (const picture of pictures) {
            if (picture.closest("[role=img]") !== picture && picture.closest("[role=img]"))
                continue;
            const label = picture.getAttribute("aria-label") ?? picture.className;
            const card = picture.closest("section");
            if (!card) {
                out.push(`picture "${label}" is in no section`);
                continue;
            }
            if (!card.querySelector("h2, h3")?.textContent) out.push(`"${label}" has no heading`);
            if ((card.querySelector(".says")?.textContent ?? "").length < 12)
                out.push(`"${label}" has no sentence`);
            if (!card.querySelector(".legend li, text"))
                out.push(`"${label}" has neither a legend nor names`);
            const button = [...card.querySelectorAll<HTMLButtonElement>("button")].find(
                b => b.textContent === "Table",
            );
            if (!button) {
                out.push(`"${label}" has no table behind it`);
                continue;
            }
            if (button.getAttribute("aria-pressed") === "true") continue;
            button.click();
            await new Promise(done => requestAnimationFrame(done));
            const rows = card.querySelectorAll("[role=gridcell], td").length;
            if (!rows) out.push(`"${label}": its table is empty`);
            button.click();
            await new Promise(done => requestAnimationFrame(done));
        }
        const leads = "a[href], button";
        const said = (e: Element): string =>
            `${e.closest("section")?.querySelector("h2")?.textContent ?? "?"}: ` +
            `"${e.textContent?.trim().slice(0, 60)}"`;
        for (const row of document.querySelectorAll("main tbody tr, main .grid-rows .grid-row")) {
            const hasNumber = [...row.querySelectorAll("td, [role=gridcell]")].some(c =>
                /\d/.test(c.textContent ?? ""),
            );
            /* the sentence may lead to where all of the section comes from */
            if (row.closest("section")?.querySelector(".says a[href]")) continue;
            if (row.closest(".picture")) continue; /* rows of a picture */
            if (hasNumber && !row.querySelector(leads))
                out.push(`a number without a link: ${said(row)}`);
        }
        for (const row of document.querySelectorAll("main dl.pairs > div"))
            if (
                /^[\d,.]+( [A-Za-zµ]+)?$/.test(row.querySelector("dd")?.textContent ?? "") &&
                !row.querySelector(leads) &&
                !row.closest("section")?.querySelector(".says a[href]")
            )
                out.push(`a number without a link: ${said(row)}`);
        for (const tile of document.querySelectorAll("main .tile"))
            if (!tile.getAttribute("href")) out.push(`a tile without a link: ${said(tile)}`);
        return { out, pictures: pictures.length };
    });
    for (const what of [...new Set(wrong.out)].slice(0, 6)) check(false, `${name}: ${what}`);
}

/* Every link within the page that a view has leads to a view that can be shown. */
export async function followed(page: Page, name: string): Promise<void> {
    const links = await page.evaluate(() =>
        [...document.querySelectorAll("main a[href^='#']")].map(a => a.getAttribute("href") ?? ""),
    );
    const kinds = new Map<string, string>();
    for (const link of links) kinds.set(link.replace(/\d+/g, "N"), link);
    const here = await page.evaluate(() => location.hash);
    for (const link of kinds.values()) {
        await page.evaluate(r => {
            location.hash = r;
        }, link);
        await page.waitForFunction(
            () => (document.querySelector("main h2, main h3")?.textContent ?? "") !== "",
        );
        const title = (await page.locator("main h2, main h3").first().textContent()) ?? "";
        check(!/Cannot be shown/.test(title), `${name}: ${link} leads to "${title}"`);
    }
    await page.evaluate(r => {
        location.hash = r;
    }, here);
}

/*
 * A walk by keys alone: the digit that belongs to a view shows it; Tab goes through all that can be
 * used in it, shows where it is, and is not caught anywhere.
 */
export async function keyboardWalk(browser: Browser, path: string, name: string): Promise<void> {
    const { page, complaints, close } = await open(browser, path);
    const views = await viewsOf(page);
    await page.keyboard.press("Tab");
    check(
        (await page.evaluate(() => document.activeElement?.textContent)) === "To the view",
        `${name}: the first Tab offers to skip the list of views`,
    );
    await page.keyboard.press("Enter");
    check(
        (await page.evaluate(() => document.activeElement?.id)) === "main",
        `${name}: Enter skips to the view`,
    );
    for (let i = 0; i < views.length; i++) {
        await page.evaluate(() => (document.activeElement as HTMLElement | null)?.blur());
        await page.keyboard.press(String(i + 1));
        await settle(page);
        check(
            (await page.evaluate(() => location.hash)) === `#${views[i]}`,
            `${name}: key ${i + 1} shows ${views[i]}`,
        );
        const wanted = await page.evaluate(() => {
            const seen: Element[] = [];
            const w = window as unknown as { walked: Element[]; unseen: string[] };
            w.walked = seen;
            w.unseen = [];
            document.addEventListener("focusin", event => {
                const e = event.target as HTMLElement;
                if (w.walked !== seen) return;
                seen.push(e);
                const style = getComputedStyle(e);
                const box = e.getBoundingClientRect();
                const hasMark =
                    (style.outlineStyle !== "none" && parseFloat(style.outlineWidth) > 0) ||
                    style.boxShadow !== "none";
                if (!hasMark || !box.width || !box.height) w.unseen.push(e.outerHTML.slice(0, 120));
            });
            const all = [
                ...document.querySelectorAll<HTMLElement>(
                    "a[href], button, input, select, summary, [tabindex='0']",
                ),
            ].filter(e => e.checkVisibility({ visibilityProperty: true }) && e.tabIndex >= 0);
            (w as unknown as { wanted: Element[] }).wanted = all;
            document.querySelector<HTMLElement>(".skip")?.focus();
            return all.length;
        });
        /* Round once: behind the last comes the first again. */
        for (let k = 0; k < 3 * wanted + 40; k++) {
            await page.keyboard.press("Tab");
            if (
                k % 8 === 7 &&
                (await page.evaluate(() => {
                    const { walked } = window as unknown as { walked: Element[] };
                    return walked.filter(e => e.classList.contains("skip")).length > 1;
                }))
            )
                break;
        }
        const found = await page.evaluate(() => {
            const w = window as unknown as {
                walked: Element[];
                wanted: Element[];
                unseen: string[];
            };
            const walked = new Set(w.walked);
            /* Tables show other rows when they are scrolled: their own links come and go. */
            const left = w.wanted.filter(
                e => !walked.has(e) && e.isConnected && !e.closest(".grid-rows"),
            );
            return {
                distinct: walked.size,
                left: left.map(e => e.outerHTML.slice(0, 120)),
                unseen: w.unseen,
            };
        });
        check(found.distinct > 8, `${name} ${views[i]}: Tab reaches ${found.distinct} elements`);
        check(
            found.left.length === 0,
            `${name} ${views[i]}: Tab does not reach ${found.left.length}: ${found.left[0]}`,
        );
        check(
            found.unseen.length === 0,
            `${name} ${views[i]}: one does not see that it has the focus: ${found.unseen[0]}`,
        );
    }
    check(complaints.length === 0, `${name}, by keys: ${complaints.join("; ")}`);
    await close();
}

/* A window of 320 pixels: nothing is cut off to the right, and the pictures are there. */
export async function narrow(
    browser: Browser,
    path: string,
    name: string,
    routes: string[],
    shot: (page: Page, name: string) => Promise<void>,
): Promise<void> {
    const { page, complaints, close } = await open(browser, path, "light", {
        width: 320,
        height: 640,
    });
    const views = await viewsOf(page);
    for (const route of routes) {
        const view = route.split(/[/?]/)[0];
        if (!views.includes(view) && view !== "row") continue;
        await go(page, route);
        const found = await page.evaluate(() => {
            const wide = [...document.querySelectorAll("main *, header *")].find(e => {
                const box = e.getBoundingClientRect();
                if (box.right <= innerWidth + 1 || !box.width) return false;
                /* what is in a box that scrolls by itself may be wider */
                for (let p = e.parentElement; p; p = p.parentElement) {
                    const x = getComputedStyle(p).overflowX;
                    if (x === "auto" || x === "scroll" || x === "hidden" || x === "clip")
                        return false;
                }
                return true;
            });
            const canvas = document.querySelector("main canvas");
            return {
                width: document.documentElement.scrollWidth,
                wide: wide?.outerHTML.slice(0, 160) ?? "",
                plot: canvas ? canvas.getBoundingClientRect().width : 999,
            };
        });
        check(
            found.width <= 321,
            `${name} ${route}: ${found.width} pixels wide in a window of 320: ${found.wide}`,
        );
        check(found.plot >= 200, `${name} ${route}: the picture has ${found.plot} pixels`);
        await shot(page, `${name}-${route.replace(/\W+/g, "-")}-narrow`);
    }
    check(complaints.length === 0, `${name}, narrow: ${complaints.join("; ")}`);
    await close();
}
