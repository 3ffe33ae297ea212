/*
 * Runs of a driver that asks the graphics kernel for memory for its device (tests/images/memory.c),
 * before WDDM 2.9 and from then on: each of the 14 callbacks is on the page, with what it was given
 * and gave. Not played where drydock cc has no compiler.
 */
import { execFile } from "node:child_process";
import { mkdirSync, readdirSync } from "node:fs";
import { join, resolve } from "node:path";
import type { Browser, Page } from "playwright-core";
import { check, go, open, option, out } from "./chromium.js";

const drydock = option("drydock", "");
const cases = resolve(option("cases", "../cases"));
const source = resolve(cases, "..");
const folder = join(out, "memory");

/* The callbacks of each entry of the driver, and arguments that their pages show. */
const CALLBACKS: Record<string, [name: string, ...shown: string[]][]> = {
    GpuMmu: [
        ["DxgkCbAllocatePagesForMdl", "TotalBytes", "hMemoryHandle"],
        ["DxgkCbFreePagesFromMdl", "hMemoryHandle"],
        ["DxgkCbAllocateContiguousMemory", "NumberOfBytes", "hMemoryHandle"],
        ["DxgkCbFreeContiguousMemory", "hMemoryHandle"],
        ["DxgkCbMapMdlToIoMmu", "pMdl", "hMemoryHandle"],
        ["DxgkCbUnmapMdlFromIoMmu", "hMemoryHandle"],
    ],
    GpuMmu32: [
        ["DxgkCbCreatePhysicalMemoryObject", "Type", "hPhysicalMemoryObject"],
        ["DxgkCbDestroyPhysicalMemoryObject", "hPhysicalMemoryObject"],
        ["DxgkCbOpenPhysicalMemoryObject", "hPhysicalMemoryObject", "hAdapterMemoryObject"],
        ["DxgkCbClosePhysicalMemoryObject", "hAdapterMemoryObject"],
        ["DxgkCbMapPhysicalMemory", "AccessMode", "Offset", "Size"],
        ["DxgkCbUnmapPhysicalMemory", "hPhysicalMemoryObject", "Size"],
        ["DxgkCbAllocateAdl", "Offset", "Size", "Flags", "pAdl"],
        ["DxgkCbFreeAdl", "hAdapterMemoryObject"],
    ],
};

async function call(...args: string[]): Promise<{ status: number; said: string }> {
    return new Promise(done =>
        execFile(drydock, args, { cwd: folder, timeout: 300000 }, (error, stdout, stderr) =>
            done({
                status: error ? (typeof error.code === "number" ? error.code : 3) : 0,
                said: stdout + stderr,
            }),
        ),
    );
}

/* The reference driver, with what the image puts before it. */
function sources(): string[] {
    const reference = join(source, "src", "refkmd");
    const files = readdirSync(reference, { recursive: true, encoding: "utf8" })
        .filter(name => /\.c$/.test(name) && !/_test\.c$|(^|\/)test_[a-z_]*\.c$/.test(name))
        .map(name => join(reference, name));
    return [join(source, "tests", "images", "memory.c"), ...files.sort()];
}

/* Opens the first call of that name; its text. */
async function callPage(page: Page, name: string): Promise<string> {
    const row = await page.evaluate(wanted => {
        const run = (window as any).drydock.app.run;
        for (let i = 0; i < run.rows("calls"); i++)
            if (run.text("calls", "name", i) === wanted) return i;
        return -1;
    }, name);
    if (row < 0) return "";
    await go(page, `row/calls/${row}`);
    return (await page.locator("main").textContent()) ?? "";
}

export async function memory(browser: Browser): Promise<void> {
    mkdirSync(folder, { recursive: true });
    const include = [`-I${join(source, "include")}`, `-I${join(source, "src")}`];
    for (const [entry, callbacks] of Object.entries(CALLBACKS)) {
        const name = `memory of ${entry}`;
        const built = await call(
            ...["cc", "-DDxgkInitialize=MemoryInitialize", ...include, "-o", `${entry}.sys`],
            ...["--entry", `RefKmdDriverEntry${entry}`, ...sources()],
        );
        if (/is not installed|not found/.test(built.said)) {
            console.log(`not played, ${name}: ${built.said.trim()}`);
            return;
        }
        check(built.status === 0, `${name}: drydock cc: ${built.said}`);
        const played = await call(
            ...["run", join(cases, "evict-and-restore.case"), "--driver", `./${entry}.sys`],
            ...["--events", "none", "--report", "--out", entry],
        );
        check(played.status === 0, `${name}: drydock run: ${played.said}`);
        const { page, complaints, close } = await open(browser, join(folder, entry, "report.html"));
        for (const [callback, ...shown] of callbacks) {
            const text = await callPage(page, callback);
            check(text.includes(callback), `${name}: the page has no ${callback}`);
            for (const argument of shown)
                check(text.includes(argument), `${name}: ${callback} without ${argument}: ${text}`);
        }
        check(complaints.length === 0, `${name}: ${complaints.join("; ")}`);
        await close();
    }
}
