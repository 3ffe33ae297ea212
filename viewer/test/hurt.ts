/* Pages that a hostile driver or a damaged file has made. */
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import type { Browser } from "playwright-core";
import * as format from "../src/format.js";
import { check, go, open, out, PATIENCE, viewer } from "./chromium.js";
import { pack } from "./pack.js";
import { pageOf, writePage } from "./page.js";
import { synthetic } from "./synthetic.js";

/* What a driver prints, and what a case is called, stays text. */
export async function hostile(browser: Browser): Promise<void> {
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
export async function damaged(browser: Browser): Promise<void> {
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
    context.setDefaultTimeout(PATIENCE);
    const page = await context.newPage();
    await page.goto(pathToFileURL(path).href);
    await page.waitForSelector("[role=alert]");
    check(
        /This page is damaged/.test((await page.locator("main").textContent()) ?? ""),
        "damaged facts: the page says so",
    );
    await context.close();
}
