/*
 * Two runs beside each other, aligned by their paging operations: the first difference, figures,
 * and maps.
 */
import {
    listIn,
    numberIn,
    objectIn,
    textIn,
    textsIn,
    type App,
    type Facts,
    type View,
} from "./app.js";
import { TimeWindow } from "./canvas.js";
import type { Run } from "./data.js";
import { h, link, pictured, section, table, type Child } from "./dom.js";
import * as format from "./format.js";
import { grid, type GridColumn } from "./grid.js";
import { SegmentMap } from "./map.js";

/* What two runs' operations are told apart by: all but times and numbers that the run gave. */
function keyOf(run: Run, row: number): string {
    const v = (column: string): number => run.values("operations", column)[row];
    return [
        run.text("operations", "name", row),
        run.objectShort(v("allocation")),
        run.objectShort(v("process")),
        run.objectShort(v("from_segment")),
        run.objectShort(v("to_segment")),
        v("bytes"),
    ].join("|");
}

export function describe(run: Run, row: number): string {
    const v = (column: string): number => run.values("operations", column)[row];
    const place = (segment: number, offset: number): string =>
        segment ? `${run.objectName(segment)} + ${format.hex(offset)}` : "system memory";
    const operation = run.text("operations", "name", row);
    const what = [operation, run.objectName(v("allocation"))].filter(Boolean).join(" ");
    const entries = run.referring("entries", "operation", row);
    if (entries.length) {
        const e = (column: string): number => run.values("entries", column)[entries[0]];
        return (
            `${what}, ${format.plural(e("count"), "entry", "entries")} of level ${e("level")} ` +
            `from ${format.hex(e("va"))}` +
            (e("valid") ? "" : ", not valid")
        );
    }
    if (!v("bytes")) return what;
    /* Where nothing is said of a source, there is none: FILL, DISCARD_CONTENT. */
    const from = operation.includes("TRANSFER")
        ? `${place(v("from_segment"), v("from_offset"))} → `
        : "";
    return `${what}, ${format.bytes(v("bytes"))}: ${from}` + place(v("to_segment"), v("to_offset"));
}

export interface Aligned {
    a: number; /* a row of operations, or -1 */
    b: number;
    isSame: boolean; /* the same operation; places may differ */
}

const LOOK_AHEAD = 200; /* operations that one run may have more before both are alike again */
const ALIKE = 3; /* operations in a row that say that they are */

/*
 * Operations of two runs beside each other, in order: as long as they are the same, row by row;
 * where they are not, the shortest stretch after which ALIKE in a row are the same again. Greedy:
 * time is rows times LOOK_AHEAD at most.
 */
export function align(keysA: string[], keysB: string[]): Aligned[] {
    const out: Aligned[] = [];
    let a = 0,
        b = 0;
    const alike = (i: number, j: number): boolean => {
        for (let k = 0; k < ALIKE; k++) {
            if (i + k >= keysA.length && j + k >= keysB.length) return true;
            if (keysA[i + k] !== keysB[j + k]) return false;
        }
        return true;
    };
    while (a < keysA.length || b < keysB.length) {
        if (a < keysA.length && b < keysB.length && keysA[a] === keysB[b]) {
            out.push({ a: a++, b: b++, isSame: true });
            continue;
        }
        let found: [number, number] | null = null;
        for (let sum = 1; sum <= LOOK_AHEAD && !found; sum++)
            for (let i = 0; i <= sum; i++) {
                const j = sum - i;
                if (
                    a + i < keysA.length &&
                    b + j < keysB.length &&
                    keysA[a + i] === keysB[b + j] &&
                    alike(a + i, b + j)
                ) {
                    found = [i, j];
                    break;
                }
            }
        const [skipA, skipB] = found ?? [
            Math.min(LOOK_AHEAD, keysA.length - a),
            Math.min(LOOK_AHEAD, keysB.length - b),
        ];
        for (let k = 0; k < Math.max(skipA, skipB); k++)
            out.push({ a: k < skipA ? a + k : -1, b: k < skipB ? b + k : -1, isSame: false });
        a += skipA;
        b += skipB;
    }
    return out;
}

/*
 * The operations as drydock aligned them (src/report/compare/compare.h): between its parts they are
 * the same, row by row. null: they are not all in the page, or the parts do not fit them.
 */
export function alignedBy(comparison: Facts, rowsA: number, rowsB: number): Aligned[] | null {
    const parts = comparison.parts;
    if (
        !Array.isArray(parts) ||
        numberIn(comparison, "operations", "a") !== rowsA ||
        numberIn(comparison, "operations", "b") !== rowsB
    )
        return null;
    const out: Aligned[] = [];
    let a = 0,
        b = 0;
    for (const part of [...parts, [rowsA, 0, rowsB, 0]] as number[][]) {
        const [fromA, countA, fromB, countB] = Array.isArray(part) ? part : [];
        const fits =
            fromA >= a &&
            fromA - a === fromB - b &&
            countA >= 0 &&
            countB >= 0 &&
            fromA + countA <= rowsA &&
            fromB + countB <= rowsB;
        if (!fits) return null;
        while (a < fromA) out.push({ a: a++, b: b++, isSame: true });
        for (let k = 0; k < Math.max(countA, countB); k++)
            out.push({ a: k < countA ? a + k : -1, b: k < countB ? b + k : -1, isSame: false });
        a += countA;
        b += countB;
    }
    return out;
}

/* Numbers at the same place in two objects. */
export function figuresOf(
    a: unknown,
    b: unknown,
    path = "",
): { path: string; a: number | null; b: number | null }[] {
    const isObject = (v: unknown): v is Facts => typeof v === "object" && v !== null;
    const out: { path: string; a: number | null; b: number | null }[] = [];
    if (isObject(a) || isObject(b)) {
        const keys = new Set([
            ...(isObject(a) ? Object.keys(a) : []),
            ...(isObject(b) ? Object.keys(b) : []),
        ]);
        for (const key of keys) {
            const inner = (o: unknown): unknown =>
                isObject(o) && Object.hasOwn(o, key) ? o[key] : undefined;
            out.push(...figuresOf(inner(a), inner(b), path ? `${path}.${key}` : key));
        }
    } else if (typeof a === "number" || typeof b === "number")
        out.push({
            path,
            a: typeof a === "number" ? a : null,
            b: typeof b === "number" ? b : null,
        });
    return out;
}

const say = (path: string, v: number | null): string =>
    v === null
        ? "–"
        : /bytes$/.test(path)
          ? format.bytes(v)
          : /_ns$/.test(path)
            ? format.duration(v)
            : format.count(v);

/* Curves of run.json: the maps show what they tell. */
const SAMPLES = /^local_memory\.used_bytes\.\d+$/;

const MAIN = [
    "slowdown",
    "virtual_time_ns",
    "moved_in_bytes",
    "moved_out_bytes",
    "evictions",
    "submissions.completed",
    "paging.build_calls",
    "paging.residency_hits",
    "paging.residency_requests",
    "content.mismatches",
];

/* The two runs of the page. */
interface Two {
    app: App;
    a: Facts;
    b: Facts;
    runA: Run | null;
    runB: Run | null;
    nameA: string;
    nameB: string;
}

function twoOf(app: App): Two {
    const a = objectIn(app.facts, "a"),
        b = objectIn(app.facts, "b");
    return {
        app,
        a,
        b,
        runA: app.others[0]?.run ?? null,
        runB: app.others[1]?.run ?? null,
        nameA: app.others[0]?.name || textIn(a, "name") || textIn(a, "case") || "A",
        nameB: app.others[1]?.name || textIn(b, "name") || textIn(b, "case") || "B",
    };
}

/* An operation of one run; row -1: it has none there. */
function operationCell(run: Run, row: number): Child {
    return row < 0 ? h("span", { class: "invalid" }, "nothing") : describe(run, row);
}

/* Shows the moments on the maps. */
function showMoments(app: App, moments: number[]): void {
    app.time.show(
        Math.min(...moments) - app.time.end / 60,
        Math.max(...moments) + app.time.end / 60,
    );
}

function momentCell(app: App, run: Run, row: number): Child {
    if (row < 0) return "";
    const asked = run.values("operations", "asked")[row];
    return h(
        "button",
        {
            type: "button",
            class: "linklike",
            title: "Show this moment on the maps",
            click: () => showMoments(app, [asked]),
        },
        format.moment(asked),
    );
}

/* The first aligned row that differs, and where to see it. */
function firstOperation({ app, nameA, nameB }: Two, runA: Run, runB: Run, first: Aligned): Child {
    const side = (name: string, run: Run, row: number): HTMLElement =>
        h(
            "div",
            {},
            h("h3", {}, name),
            h("p", {}, operationCell(run, row)),
            h("p", { class: "says" }, momentCell(app, run, row)),
        );
    const moments: number[] = [];
    if (first.a >= 0) moments.push(runA.values("operations", "asked")[first.a]);
    if (first.b >= 0) moments.push(runB.values("operations", "asked")[first.b]);
    return [
        h("div", { class: "two" }, side(nameA, runA, first.a), side(nameB, runB, first.b)),
        h(
            "p",
            { class: "actions" },
            h(
                "button",
                { type: "button", click: () => showMoments(app, moments) },
                "Show it on the maps",
            ),
        ),
    ];
}

function operationsGrid(
    { app, nameA, nameB }: Two,
    runA: Run,
    runB: Run,
    rows: Aligned[],
    differing: Uint32Array,
): HTMLElement {
    const side = (name: string, run: Run, of: (i: number) => number): GridColumn[] => [
        {
            title: name,
            width: "minmax(16em, 1fr)",
            cell: i => operationCell(run, of(i)),
            find: i => (of(i) < 0 ? "" : describe(run, of(i))),
        },
        { title: "at", isNumber: true, width: "7em", cell: i => momentCell(app, run, of(i)) },
    ];
    return grid({
        label: "Operations that differ",
        rows: differing,
        height: 320,
        empty: "None differ.",
        columns: [
            {
                title: "row",
                isNumber: true,
                width: "5em",
                cell: i => format.count(i),
                key: i => i,
            },
            ...side(nameA, runA, i => rows[i].a),
            ...side(nameB, runB, i => rows[i].b),
        ],
    });
}

/* Operations of both runs, aligned; nothing where one of them has none. */
function differences(two: Two): HTMLElement[] {
    const { runA, runB } = two;
    if (!runA || !runB || !runA.rows("operations") || !runB.rows("operations")) return [];
    const keys = (run: Run): string[] =>
        Array.from({ length: run.rows("operations") }, (_, row) => keyOf(run, row));
    const comparison = objectIn(two.app.facts, "comparison");
    const rows =
        alignedBy(comparison, runA.rows("operations"), runB.rows("operations")) ??
        align(keys(runA), keys(runB));
    const differing = Uint32Array.from(rows.keys()).filter(i => !rows[i].isSame);
    const first = differing.length ? rows[differing[0]] : null;
    return [
        section(
            "First operation that differs",
            first
                ? `${format.plural(differing[0], "operation")} are the same in both runs; then:`
                : `All ${format.plural(rows.length, "operation")} are the same in ` +
                      "both runs, in the same order.",
            first ? firstOperation(two, runA, runB, first) : null,
        ),
        section(
            "Operations",
            `Operations of both runs, aligned. ${format.count(differing.length)} ` +
                `of ${format.count(rows.length)} rows differ.`,
            operationsGrid(two, runA, runB, rows, differing),
        ),
    ];
}

/* A call of one run, where a comparison of records has a difference. */
function calledSide(difference: Facts, key: string, name: string, run: Run | null): HTMLElement {
    const one = objectIn(difference, key);
    const at = numberIn(one, "time_ns");
    return h(
        "div",
        {},
        h("h3", {}, name),
        textIn(one, "text")
            ? h("p", {}, h("code", {}, textIn(one, "text")))
            : h("p", { class: "invalid" }, "has no more calls"),
        at !== null
            ? h(
                  "p",
                  { class: "says" },
                  `call ${format.count(numberIn(one, "sequence") ?? 0)}, at ` +
                      `${format.moment(at)}`,
              )
            : null,
        run ? null : h("p", { class: "says" }, "no record"),
    );
}

function differingArguments({ nameA, nameB }: Two, list: Facts[]): HTMLElement | null {
    const value = (v: unknown): string => (v === null || v === undefined ? "–" : String(v));
    if (!list.length) return null;
    return table(
        "Arguments that differ",
        [{ title: "argument" }, { title: nameA }, { title: nameB }],
        list.map(x => [
            h("code", {}, textIn(x, "field") || "(the call)"),
            h("code", {}, value(x.a)),
            h("code", {}, value(x.b)),
        ]),
    );
}

/* The first difference of calls, as drydock found it (src/report/compare/compare.h). */
function told(two: Two): HTMLElement | null {
    const comparison = objectIn(two.app.facts, "comparison");
    if (!Object.keys(comparison).length) return null;
    const calls = (key: string): string => format.count(numberIn(comparison, "calls", key) ?? 0);
    const same =
        `${calls("same")} calls before it are the same, ` + `of ${calls("a")} and ${calls("b")}.`;
    const one = (key: string, title: string, sentence: string): HTMLElement | null => {
        const difference = objectIn(comparison, key);
        if (!Object.keys(difference).length) return null;
        return section(
            title,
            [`${sentence} `, link(`facts/comparison.${key}`, "As it stands in the JSON.")],
            h(
                "div",
                { class: "two" },
                calledSide(difference, "a", two.nameA, two.runA),
                calledSide(difference, "b", two.nameB, two.runB),
            ),
            /* Those of calls of two functions have nothing to be compared with. */
            textIn(difference, "a", "text") === textIn(difference, "b", "text")
                ? differingArguments(two, listIn(difference, "arguments"))
                : null,
        );
    };
    const parts = [
        one(
            "first_difference",
            "First difference",
            "Calls between manager and driver, in their order. This is the first " +
                `that is not the same; what follows comes of it. ${same}`,
        ),
        one(
            "first_time",
            "First difference in time",
            "The first call that is the same, but at another time.",
        ),
    ].filter(part => part !== null);
    if (!parts.length)
        parts.push(
            section(
                "First difference",
                comparison.has_records === false
                    ? "Without records of both runs, only their figures can be compared."
                    : `None: all ${calls("same")} calls are the same, in the same order.`,
            ),
        );
    return h("div", { class: "view" }, parts);
}

type FigurePair = ReturnType<typeof figuresOf>[number];

function figureCell(side: "a" | "b", { path, [side]: v }: FigurePair): Child {
    return v === null ? "–" : link(`facts/${side}.${path}`, say(path, v));
}

const figurePairs = ({ a, b }: Two): FigurePair[] =>
    figuresOf(a, b).filter(r => !/wall|^findings|^rules|^events\./.test(r.path));

function mainFigures(two: Two): HTMLElement {
    const rows = figurePairs(two);
    const main = MAIN.map(path => rows.find(r => r.path === path)).filter(r => r !== undefined);
    return table(
        "Figures",
        [
            { title: "figure" },
            { title: two.nameA, isNumber: true },
            { title: two.nameB, isNumber: true },
            { title: "change", isNumber: true },
        ],
        main.map(r => [h("code", {}, r.path), figureCell("a", r), figureCell("b", r), change(r)]),
    );
}

function differingFigures(two: Two): HTMLElement {
    const differing = figurePairs(two).filter(r => r.a !== r.b && !SAMPLES.test(r.path));
    return grid({
        label: "All figures that differ",
        rows: differing.length,
        height: 320,
        empty: "No figure differs.",
        columns: [
            {
                title: "figure",
                width: "minmax(14em, 2fr)",
                cell: i => h("code", {}, differing[i].path),
                find: i => differing[i].path,
                key: i => differing[i].path,
            },
            {
                title: two.nameA,
                isNumber: true,
                cell: i => figureCell("a", differing[i]),
                key: i => differing[i].a ?? 0,
            },
            {
                title: two.nameB,
                isNumber: true,
                cell: i => figureCell("b", differing[i]),
                key: i => differing[i].b ?? 0,
            },
            {
                title: "change",
                isNumber: true,
                cell: i => change(differing[i]),
                key: i => ratio(differing[i]),
            },
        ],
    });
}

/* What the runs are, and how they ended. */
function head({ a, b, nameA, nameB }: Two): HTMLElement {
    const side = (name: string, facts: Facts): HTMLElement => {
        const outcome = textIn(facts, "outcome");
        return h(
            "div",
            {},
            h(
                "h3",
                {},
                name,
                " ",
                h(
                    "span",
                    { class: `outcome small ${outcome === "clean" ? "good" : "bad"}` },
                    outcome || "?",
                ),
            ),
            h(
                "p",
                { class: "says" },
                `${textIn(facts, "case")}. Driver ${textIn(facts, "driver")}, model ` +
                    `${textIn(facts, "model")}.`,
            ),
        );
    };
    return h(
        "section",
        { class: "card", "aria-labelledby": "compare-title" },
        h("h2", { id: "compare-title", class: "unseen" }, "Two runs"),
        h("div", { class: "two" }, side(nameA, a), side(nameB, b)),
    );
}

/* What the runs were asked for, as far as it is not the same: the rest comes of it. */
const ASKED = /^(version|case|driver|model|seed|options\..*|machine\..*)$/;

function asked({ app, nameA, nameB }: Two): HTMLElement | null {
    if (!Object.keys(objectIn(app.facts, "comparison")).length) return null;
    const list = listIn(app.facts, "comparison", "figures").filter(f =>
        ASKED.test(textIn(f, "path")),
    );
    const value = (f: Facts, side: "a" | "b"): Child => {
        const v = f[side];
        return v === null || v === undefined
            ? "as by default"
            : link(`facts/${side}.${textIn(f, "path")}`, String(v));
    };
    return section(
        "What was asked for",
        list.length
            ? "Settings of the runs that are not the same: what differs below comes of them."
            : "The same of both runs: driver, model, seed, options and machine.",
        list.length
            ? table(
                  "Settings that differ",
                  [{ title: "setting" }, { title: nameA }, { title: nameB }],
                  list.map(f => [h("code", {}, textIn(f, "path")), value(f, "a"), value(f, "b")]),
              )
            : null,
    );
}

/* The maps of both runs, which are put into maps; null: there is nothing on them. */
function bothMaps(two: Two, maps: SegmentMap[]): HTMLElement | null {
    const { app, runA, runB, nameA, nameB } = two;
    if (!runA || !runB || runA.rows("places") + runB.rows("places") === 0) return null;
    const both = (of: (run: Run, name: string) => HTMLElement): HTMLElement =>
        h(
            "div",
            { class: "two" },
            h("div", {}, h("h3", {}, nameA), of(runA, nameA)),
            h("div", {}, h("h3", {}, nameB), of(runB, nameB)),
        );
    return pictured(
        "Segment maps",
        "Both runs over the same window of time: what moves one " +
            "moves the other. A band is an allocation in its place.",
        both(run => {
            const map = new SegmentMap(app, run, true);
            maps.push(map);
            return map.element;
        }),
        () => both((run, name) => bandsGrid(run, `Bands of ${name}`)),
    );
}

function build(two: Two, element: HTMLElement, maps: SegmentMap[]): void {
    const { app } = two;
    const append = (child: HTMLElement | null): void => {
        if (child) element.append(child);
    };
    append(head(two));
    for (const note of textsIn(app.facts, "notes"))
        append(h("p", { class: "notice", role: "note" }, note));
    if (app.problem) append(h("p", { class: "notice bad", role: "alert" }, app.problem));
    append(asked(two));
    append(told(two));
    differences(two).forEach(append);
    append(section("Figures", "The main figures of both runs.", mainFigures(two)));
    append(
        section(
            "All figures that differ",
            "Every number of run.json that is not the same.",
            differingFigures(two),
        ),
    );
    append(bothMaps(two, maps));
}

export function compareView(app: App): View {
    const element = h("div", { class: "view" });
    const maps: SegmentMap[] = [];
    let built = false;
    return {
        element,
        shown() {
            if (!built) {
                built = true;
                build(twoOf(app), element, maps);
            }
            for (const map of maps) map.resume();
        },
    };
}

/* The bands of a map. The other tables of a run are on its own page. */
function bandsGrid(run: Run, label: string): HTMLElement {
    const v = (column: string, row: number): number => run.values("places", column)[row];
    return grid({
        label,
        rows: run.rows("places"),
        height: 420,
        columns: [
            {
                title: "allocation",
                width: "minmax(10em, 1fr)",
                cell: r => run.objectName(v("allocation", r)),
                key: r => run.objectName(v("allocation", r)),
            },
            {
                title: "segment",
                width: "8em",
                cell: r => run.objectShort(v("segment", r)),
                key: r => v("segment", r),
            },
            {
                title: "offset",
                isNumber: true,
                cell: r => format.hex(v("offset", r)),
                key: r => v("offset", r),
            },
            {
                title: "size",
                isNumber: true,
                cell: r => format.bytes(v("bytes", r)),
                key: r => v("bytes", r),
            },
            {
                title: "from",
                isNumber: true,
                cell: r => format.moment(v("from", r)),
                key: r => v("from", r),
            },
            {
                title: "to",
                isNumber: true,
                cell: r => format.moment(v("to", r)),
                key: r => v("to", r),
            },
        ],
    });
}

function ratio(r: { a: number | null; b: number | null }): number {
    return r.a && r.b !== null ? r.b / r.a - 1 : 0;
}

function change(r: { a: number | null; b: number | null }): string {
    if (r.a === null || r.b === null) return "";
    if (r.a === r.b) return "same";
    return r.a ? `${r.b > r.a ? "+" : ""}${(100 * ratio(r)).toFixed(1)} %` : "new";
}

/* The window of time that holds both runs. */
export function windowOf(runs: readonly { run: Run }[], facts: Facts): TimeWindow {
    return new TimeWindow(
        0,
        Math.max(1, numberIn(facts, "virtual_time_ns") ?? 1, ...runs.map(r => r.run.end)),
    );
}
