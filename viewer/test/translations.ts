/* The page tables that a page shows, against what its rows say when each is looked at in turn. */
import type { Page } from "playwright-core";
import * as format from "../src/format.js";
import { check, go, settle } from "./chromium.js";

interface Wanted {
    process: number; /* a row of objects */
    moment: number;
    va: number;
    /* the page that maps the address: its size, its place, the operation that wrote the entry */
    found: { covers: number; segment: string; offset: number; operation: number } | null;
}

/*
 * What addresses lead to at moments, one row of entries after the other: the last of each level and
 * page size that has the address counts; a large page ends the walk; of two leaf tables the larger
 * page counts if it is valid, unless the entry above names a table.
 */
async function expected(page: Page): Promise<Wanted[]> {
    return page.evaluate(() => {
        const run = (window as any).drydock.app.run;
        const v = (name: string): ArrayLike<number> => run.values("entries", name);
        const time = v("time"),
            process = v("process"),
            level = v("level"),
            va = v("va"),
            count = v("count"),
            covers = v("covers"),
            segment = v("segment"),
            offset = v("offset"),
            flags = v("flags"),
            valid = v("valid"),
            operation = v("operation");
        const strides = run.table("entries").column("stride");
        const stride = (r: number): number =>
            strides.wide ? Number(BigInt.asIntN(64, strides.wide[r])) : strides.values[r];
        const all = Array.from({ length: time.length }, (_, r) => r).sort(
            (a, b) => time[a] - time[b] || a - b,
        );
        const owners = new Map<number, number>();
        for (const r of all)
            if (process[r]) owners.set(process[r], (owners.get(process[r]) ?? 0) + 1);
        const owner = [...owners].sort((a, b) => b[1] - a[1])[0][0];
        const rows = all.filter(r => process[r] === owner);
        const pages = rows.filter(r => valid[r] && (level[r] === 0 || flags[r] & 0x400));
        const isSingle = rows.some(r => level[r] > 0 && flags[r] & 0x20000);
        const isDual =
            !isSingle && new Set(rows.filter(r => !level[r]).map(r => covers[r])).size > 1;
        const out: Wanted[] = [];
        const end = Math.min(run.end, run.endOfPlay);
        for (let k = 0; k < 12; k++) {
            const some = pages[Math.floor((pages.length * (k + 0.5)) / 12)];
            const address =
                va[some] + Math.floor(count[some] * 0.7) * covers[some] + (k % 2 ? 0 : 0x123);
            for (const moment of [Math.floor(time[some]), k % 3 ? end - 1 : Math.floor(end / 2)]) {
                const last = new Map<string, number>();
                for (const r of rows) {
                    if (time[r] > moment) continue;
                    if (address < va[r] || address >= va[r] + count[r] * covers[r]) continue;
                    last.set(`${level[r]}/${covers[r]}`, r);
                }
                let row = -1,
                    only = 0,
                    ended = false;
                for (let l = 8; l > 0 && !ended; l--)
                    for (const [key, r] of last)
                        if (key.startsWith(`${l}/`)) {
                            if (!valid[r]) ended = !isDual;
                            else if (flags[r] & 0x400) {
                                row = r;
                                ended = true;
                            } else if (l === 1 && isSingle)
                                only = flags[r] & 0x20000 ? 65536 : 4096;
                        }
                for (const size of [65536, 4096])
                    if (!ended && row < 0 && (!only || only === size)) {
                        const r = last.get(`0/${size}`);
                        if (r !== undefined && valid[r]) row = r;
                    }
                const at = row < 0 ? 0 : address - va[row];
                out.push({
                    process: owner - 1,
                    moment,
                    va: address,
                    found:
                        row < 0
                            ? null
                            : {
                                  covers: covers[row],
                                  segment: segment[row]
                                      ? run.objectName(segment[row])
                                      : "system memory",
                                  offset:
                                      offset[row] +
                                      Math.floor(at / covers[row]) * stride(row) +
                                      (at % covers[row]),
                                  operation: operation[row],
                              },
                });
            }
        }
        return out;
    });
}

/* Translations, the operation that wrote each, what changed between two moments, folded ranges. */
export async function translations(page: Page, name: string, sizes: number[]): Promise<void> {
    const wanted = await expected(page);
    const seen = new Set<number>();
    for (const w of wanted) {
        await go(page, `tables?process=${w.process}&at=${w.moment}&va=0x${w.va.toString(16)}`);
        const answer = (await page.locator(".answer").textContent()) ?? "";
        const what = `${name}: 0x${w.va.toString(16)} at ${w.moment} ns`;
        if (!w.found) {
            check(/leads nowhere/.test(answer), `${what}: "${answer}" and not nowhere`);
            continue;
        }
        const text =
            `is ${w.found.segment} + ${format.hex(w.found.offset)}, in a page of ` +
            format.bytes(w.found.covers);
        check(answer.includes(text), `${what}: "${answer}", and not ${text}`);
        seen.add(w.found.covers);
        if (w.found.operation)
            check(
                (await page
                    .locator(".pairs > div", { hasText: "maps the address" })
                    .locator(`a[href='#row/operations/${w.found.operation - 1}']`)
                    .count()) === 1,
                `${what}: says that operation ${w.found.operation - 1} wrote the entry`,
            );
    }
    for (const size of sizes)
        check(seen.has(size), `${name}: an address in a page of ${format.bytes(size)} is mapped`);
    check(seen.size > 0, `${name}: an address is mapped`);

    /* What changed since then: an address that leads elsewhere than before is among it. */
    const w = wanted
        .filter(x => x.found && x.moment > 0)
        .reduce((a, b) => (a && a.moment >= b.moment ? a : b), null as Wanted | null);
    check(w !== null, `${name}: an address is mapped behind the begin`);
    if (!w) return;
    await go(page, `tables?process=${w.process}&at=${w.moment}&va=0x${w.va.toString(16)}`);
    const changed = page.locator("section", { hasText: "What changed" }).last();
    await changed.locator("#pt-earlier").evaluate((e: HTMLInputElement) => {
        e.value = "0";
        e.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await page.waitForTimeout(250);
    const count = Number(
        ((await changed.locator(".grid-count").textContent()) ?? "").replace(/[^\d]/g, ""),
    );
    check(count > 0, `${name}: entries changed between 0 and ${w.moment} ns`);
    check(
        (await changed.locator(".grid-rows a[href^='#row/']").count()) > 0,
        `${name}: what changed names the operation that wrote it`,
    );
    await changed.locator("#pt-earlier").evaluate((e: HTMLInputElement) => {
        const slider = document.querySelector<HTMLInputElement>("#pt-moment");
        e.value = slider?.value ?? "0";
        e.dispatchEvent(new Event("input", { bubbles: true }));
    });
    await page.waitForTimeout(250);

    /* The tree, opened to its leaves; without folding it has as many rows, or more. */
    const leaves = async (): Promise<number> => {
        for (let depth = 0; depth < 8; depth++)
            if (
                !(await page.evaluate(() => {
                    const next = document.querySelector<HTMLDetailsElement>(
                        "main details:not([open])",
                    );
                    if (next) next.open = true;
                    return !!next && !document.querySelector(".leaf");
                }))
            )
                break;
            else await page.waitForTimeout(30);
        await page.waitForTimeout(60);
        return page.evaluate(() =>
            Number(document.querySelector(".leaf .grid-body")?.getAttribute("aria-rowcount") ?? 1),
        );
    };
    const folded = await leaves();
    await page.locator("label.check input").uncheck();
    const unfolded = await leaves();
    check(
        folded > 1 && unfolded >= folded,
        `${name}: ${folded} rows with folding, ${unfolded} without`,
    );
    await page.locator("label.check input").check();
    await settle(page);
}
