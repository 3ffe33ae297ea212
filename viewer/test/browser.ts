/*
 * The page in Chromium: pages of synthetic runs, and with --drydock FILE of real ones, which that
 * drydock writes.
 *
 *     node dist/test/browser.mjs [--drydock FILE] [--cases DIR] [--viewer viewer.html]
 *                                [--out DIR] [--pictures DIR] [--references DIR] [--update]
 *                                [--everyday] [--only STAGE,...]
 *
 * Exit status: 0 all as it should be, 1 not, 77 skipped (no Chromium). Screenshots and
 * figures.json, with all that was measured, are in the folder of --out. --update makes the pictures
 * of --pictures and --references anew. --everyday leaves out what takes long: dark pages, walks by
 * keys, narrow windows, most real runs, a million bands.
 */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { Browser, Page } from "playwright-core";
import { explained, figures, findingPage, interaction, keyboardWalk, narrow } from "./checks.js";
import {
    axe,
    check,
    failures,
    findChromium,
    go,
    isEveryday,
    measured,
    open,
    option,
    out,
    stage,
    viewer,
    viewsOf,
} from "./chromium.js";
import { damaged, hostile } from "./hurt.js";
import { memory } from "./memory.js";
import { million60 } from "./million60.js";
import { writePage } from "./page.js";
import { play, real } from "./real.js";
import { Shots } from "./shots.js";
import { synthetic, type Synthetic } from "./synthetic.js";

const SKIPPED = 77;
const drydock = option("drydock", "");
const only = option("only", "");

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

/* Opens each view of a page in light and, but for every day, in dark. */
async function views(
    browser: Browser,
    path: string,
    name: string,
    kind: keyof typeof ROUTES,
    shots: Shots,
): Promise<void> {
    for (const theme of isEveryday ? (["light"] as const) : (["light", "dark"] as const)) {
        const { page, complaints, close } = await open(browser, path, theme);
        const there = await viewsOf(page);
        for (const route of ROUTES[kind]) {
            const view = route.split(/[/?]/)[0];
            check(there.includes(view) || view === "row", `${name}: has no view ${view}`);
            await go(page, route);
            const title = await page.locator("main h2").first().textContent();
            check(
                !!title && !/Cannot be shown|failed/.test(title),
                `${name} ${route}: shows "${title}"`,
            );
            await shots.take(page, `${name}-${route.replace(/\W+/g, "-")}-${theme}`);
            await axe(page, `${name} ${route} ${theme}`);
            if (theme === "light" && !/^(rows|row|facts)/.test(route))
                await explained(page, `${name} ${route}`);
        }
        check(complaints.length === 0, `${name} (${theme}): ${complaints.join("; ")}`);
        await close();
    }
}

async function alone(
    browser: Browser,
    path: string,
    how: (page: Page) => Promise<void>,
): Promise<void> {
    const { page, complaints, close } = await open(browser, path);
    await how(page);
    check(complaints.length === 0, complaints.join("; "));
    await close();
}

async function keyboards(browser: Browser, run: string, campaign: string, compare: string) {
    await keyboardWalk(browser, run, "synthetic");
    await keyboardWalk(browser, campaign, "synthetic-campaign");
    await keyboardWalk(browser, compare, "synthetic-compare");
}

async function narrows(
    browser: Browser,
    run: string,
    campaign: string,
    compare: string,
    shots: Shots,
): Promise<void> {
    const take = (page: Page, name: string): Promise<void> => shots.take(page, name, false);
    await narrow(browser, run, "synthetic", ROUTES.run, take);
    await narrow(browser, campaign, "synthetic-campaign", ROUTES.campaign, take);
    await narrow(browser, compare, "synthetic-compare", ROUTES.compare, take);
}

const LEARN = "https://learn.microsoft.com/windows-hardware/drivers";
const FINDING = {
    kind: "content",
    rule: "VX-008",
    text: "layer0.weight (allocation 3), byte 0x400: not what was written last (expected 0x0)",
    where: "DxgkDdiBuildPagingBuffer(VIRTUAL_FILL).FillPattern",
    objects: ["allocation a3: created"],
    arguments: ["VirtualFill.FillPattern    0xf2e5f2e5", "DmaSize    64 (0x40)"],
    argument: { name: "FillPattern", value: "0xf2e5f2e5", expected: "0x0" },
    bytes: ["0x400000  expected 00 00 00 00  found e5 f2 00 00  *"],
    writers: ["0x0 to 0x20  drydock (packet_fill)"],
    printed: ["refkmd: started"],
    sentence: "Fill writes FillPattern over FillSizeInBytes.",
    source: "ns-_dxgk_buildpagingbuffer_fillvirtual, bug-check-0x10e, notes (measured)",
    links: {
        "ns-_dxgk_buildpagingbuffer_fillvirtual": `${LEARN}/ddi/d3dkmddi/ns-d3dkmddi-_dxgk_fill`,
        "bug-check-0x10e": "javascript:alert(1)",
    },
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
    shrunk_in_part: true,
    case_text: "allocate a 4M\nsubmit a",
    consequences: [{ rule: "PB-001", text: "and more", count: 3 }],
    runs: 17,
};

const CAMPAIGN = {
    page: "campaign",
    driver: "ref",
    runs: 30,
    findings: 12,
    seconds: 6,
    causes: [
        FINDING,
        { ...FINDING, rule: "PB-008", where: "DxgkDdiBuildPagingBuffer(FILL).status" },
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
};

/* Pages of synthetic runs: where they are, and what the first one is to show. */
interface Made {
    run: string;
    campaign: string;
    compare: string;
    facts: Synthetic["facts"];
}

function writePages(): Made {
    const small = synthetic(2500),
        other = synthetic(2400, { seed: 2, segmentBytes: 800 * 2 ** 20 });
    const run = join(out, "synthetic.html"),
        campaign = join(out, "campaign.html"),
        compare = join(out, "compare.html");
    writePage(viewer, run, { ...small.facts, outcome: "findings", findings: [FINDING] }, [
        { id: "story", base64: small.story },
    ]);
    writePage(viewer, campaign, CAMPAIGN, []);
    writePage(viewer, compare, { page: "compare", a: small.facts, b: other.facts }, [
        { id: "story", name: "runs/a", base64: small.story },
        { id: "story_b", name: "runs/b", base64: other.story },
    ]);
    return { run, campaign, compare, facts: small.facts };
}

type Stage = [name: string, play: () => Promise<void>, isLong?: "long"];

/*
 * The stages in groups, one group behind the other; of a group two lanes at a time, for two
 * processors, each with pages of its own. Long ones are not played every day.
 */
function stages(browser: Browser, made: Made, shots: Shots): Stage[][][] {
    const { run, campaign, compare, facts } = made;
    const groups: Stage[][][] = [
        [
            [
                ["views", () => views(browser, run, "synthetic", "run", shots)],
                [
                    "campaign",
                    () => views(browser, campaign, "synthetic-campaign", "campaign", shots),
                ],
                ["compare", () => views(browser, compare, "synthetic-compare", "compare", shots)],
                ["figures", () => alone(browser, run, p => figures(p, facts, "synthetic"))],
                ["finding", () => alone(browser, run, p => findingPage(p, FINDING, "synthetic"))],
                ["interaction", () => alone(browser, run, p => interaction(p, "synthetic"))],
                ["keyboard", () => keyboards(browser, run, campaign, compare), "long"],
                ["narrow", () => narrows(browser, run, campaign, compare, shots), "long"],
                ["hostile", () => hostile(browser)],
                ["damaged", () => damaged(browser)],
            ],
            drydock
                ? [
                      ["play", play],
                      ["real", () => real(browser, shots)],
                      ["memory", () => memory(browser), "long"],
                  ]
                : [],
        ],
        [[["million", () => million60(browser), "long"]]],
    ];
    return groups.map(lanes =>
        lanes.map(lane => lane.filter(([, , isLong]) => !isLong || !isEveryday)),
    );
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
    const made = writePages();
    const shots = new Shots(browser);
    const started = Date.now();
    for (const lanes of stages(browser, made, shots)) await Promise.all(lanes.map(playAll));
    if (!only && !isEveryday && drydock) await shots.end();
    await browser.close();
    measured["seconds"] = (Date.now() - started) / 1000;
    writeFileSync(join(out, "figures.json"), `${JSON.stringify(measured, null, 2)}\n`);
    console.log(failures.length ? `${failures.length} things are not so` : "all as it should be");
    process.exit(failures.length ? 1 : 0);
}

async function playAll(lane: Stage[]): Promise<void> {
    for (const [name, play] of lane) {
        if (only && !only.split(",").includes(name)) continue;
        const started = Date.now();
        const own = { failures: 0 };
        await stage.run(own, async () => {
            try {
                await play();
            } catch (error) {
                check(false, `${name}: ${error instanceof Error ? error.stack : String(error)}`);
            }
        });
        const seconds = (Date.now() - started) / 1000;
        measured[`stage ${name}: s`] = seconds;
        console.log(`${own.failures ? "NOT OK" : "ok"} ${name} (${seconds.toFixed(1)} s)`);
    }
}

main().catch((error: unknown) => {
    console.error(error);
    process.exit(1);
});
