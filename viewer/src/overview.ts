/* The overview of a run: what ran, how it ended, its figures, and where each of them comes from. */
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
import { curves, curveTable, type Curve } from "./chart.js";
import { clientBreaches } from "./clients.js";
import { thinSteps, type Run } from "./data.js";
import { NEVER, StoryError } from "./decode.js";
import { bar, h, link, pairs, pictured, section, table, type Child } from "./dom.js";
import * as format from "./format.js";
import { grid } from "./grid.js";
import { rowLink } from "./rows.js";

const BUCKETS = 120;
const BUDGETS_MOST = 8; /* curves of budgets in one picture; the others are in the data */
const SERIES_COLOURS: Record<string, string> = {
    resident: "--kind-0",
    committed: "--kind-1",
    demand: "--kind-3",
    free: "--kind-2",
    budget: "--kind-4",
    used: "--kind-0",
};

interface Figure {
    name: string;
    value: string;
    note?: string;
    target: string; /* where it comes from */
    isBad?: boolean;
}

/* Figures of run.json; what it does not have is not shown. */
export function figures(facts: Facts, run: Run | null): Figure[] {
    const out: Figure[] = [];
    const add = (
        name: string,
        path: string[],
        say: (v: number) => string,
        options: { note?: string; target?: string; isBad?: (v: number) => boolean } = {},
    ): void => {
        const value = numberIn(facts, ...path);
        if (value === null) return;
        out.push({
            name,
            value: say(value),
            note: options.note,
            target: options.target ?? `facts/${path[0]}`,
            isBad: options.isBad?.(value),
        });
    };
    const rows = (name: string, filter = ""): string | undefined =>
        run && run.rows(name) ? `rows/${name}${filter}` : undefined;
    /* Programs play no case: nothing says how long their work would take, or what it has written. */
    const calls = run?.rows("client_calls") ?? 0;
    if (!calls)
        add("Slowdown", ["slowdown"], format.times, {
            note: textIn(facts, "slowdown_against")
                ? `against ${textIn(facts, "slowdown_against")}`
                : undefined,
        });
    add("Virtual time", ["virtual_time_ns"], format.duration, {
        target: run ? "timeline" : undefined,
    });
    if (calls)
        out.push({
            name: "Calls of programs",
            value: format.count(calls),
            target: "rows/client_calls",
        });
    else
        add("Submissions", ["submissions", "completed"], format.count, {
            note: failed(facts),
            target: rows("submissions"),
        });
    add("Paged in", ["moved_in_bytes"], format.bytes, { target: rows("operations") });
    add("Paged out", ["moved_out_bytes"], format.bytes, { target: rows("operations") });
    add("Evictions", ["evictions"], format.count, {
        target: rows("victims") ?? rows("places", "?left_for=any"),
    });
    const hits = numberIn(facts, "paging", "residency_hits"),
        requests = numberIn(facts, "paging", "residency_requests");
    if (hits !== null && requests)
        out.push({
            name: "Resident when asked for",
            value: format.percent(hits / requests),
            note: `${format.count(hits)} of ${format.count(requests)}`,
            target: rows("requests") ?? "facts/paging",
        });
    add("Driver calls", ["paging", "build_calls"], format.count, {
        note: "that build paging buffers",
        target:
            run && run.rows("calls")
                ? `rows/calls?name=DxgkDdiBuildPagingBuffer${untilEnd(run)}`
                : "facts/ddi_calls",
    });
    if (!calls)
        add("Pages checked", ["content", "pages_checked"], format.count, {
            note: `${format.count(numberIn(facts, "content", "mismatches") ?? 0)} mismatches`,
            isBad: () => (numberIn(facts, "content", "mismatches") ?? 0) > 0,
        });
    add("Largest step back", ["paging", "multipass_calls"], format.count);
    const multi = out.findIndex(f => f.name === "Largest step back");
    if (multi >= 0)
        out[multi] = { ...out[multi], name: "Repeated calls", note: "buffer was too small" };
    return out;
}

/* run.json counts what was played, not how the machine was taken apart behind it. */
function untilEnd(run: Run): string {
    return run.endOfPlay === NEVER ? "" : `&until=${run.endOfPlay}`;
}

function failed(facts: Facts): string | undefined {
    const parts = ["failed", "aborted", "retried"]
        .map(k => [k, numberIn(facts, "submissions", k) ?? 0] as const)
        .filter(p => p[1] > 0);
    return parts.length ? parts.map(([k, n]) => `${format.count(n)} ${k}`).join(", ") : undefined;
}

function figureTiles(list: Figure[]): HTMLElement {
    return h(
        "div",
        { class: "tiles" },
        list.map(f =>
            h(
                "a",
                { class: `tile${f.isBad ? " bad" : ""}`, href: `#${f.target}` },
                h("span", { class: "tile-name" }, f.name),
                h("span", { class: "figure" }, f.value),
                f.note ? h("span", { class: "tile-note" }, f.note) : null,
            ),
        ),
    );
}

/* Curves of the samples, by the object that they belong to. */
interface SampleGroup {
    object: number; /* a row of objects plus one; 0: none */
    unit: "bytes" | "count";
    list: Curve[];
}

function sampleCurves(run: Run): SampleGroup[] {
    const out = new Map<string, { object: number; unit: "bytes" | "count"; list: Curve[] }>();
    const times = run.values("samples", "time"),
        values = run.values("samples", "value");
    for (let s = 0; s < run.rows("series"); s++) {
        const rows = run.referring("samples", "series", s);
        if (!rows.length) continue;
        const object = run.values("series", "object")[s];
        const unit = run.text("series", "unit", s) === "bytes" ? "bytes" : "count";
        const name = run.text("series", "name", s),
            group = run.text("series", "group", s);
        const [t, v] = thinSteps(
            Array.from(rows, r => times[r]),
            Array.from(rows, r => values[r]),
            600,
        );
        if (t.length && t[t.length - 1] < run.end) {
            t.push(run.end);
            v.push(v[v.length - 1]);
        }
        const isBudget = object > 0 && run.kinds[object - 1] === "process";
        const key = isBudget ? `processes/${unit}` : `${object}/${unit}`;
        let entry = out.get(key);
        if (!entry) out.set(key, (entry = { object, unit, list: [] }));
        if (isBudget && (entry.list.length >= BUDGETS_MOST || v.every(x => x === 0))) continue;
        const known = isBudget ? undefined : SERIES_COLOURS[name];
        entry.list.push({
            name: isBudget
                ? `${run.objectName(object)}: ${name}${group ? `, ${group}` : ""}`
                : group
                  ? `${name}, ${group}`
                  : name,
            times: t,
            values: v,
            colour:
                known && !entry.list.some(c => c.colour === known)
                    ? known
                    : `--kind-${entry.list.length % 8}`,
            isDashed: name === "committed" || name === "demand",
            isFilled: name === "resident" || name === "used",
        });
    }
    /* Segments stand first, then budgets; what belongs to no segment and no process stands last. */
    const place = (group: SampleGroup): number =>
        group.object ? (run.kinds[group.object - 1] === "segment" ? 0 : 1) : 2;
    return [...out.values()]
        .filter(group => group.list.length > 0)
        .sort((a, b) => place(a) - place(b) || a.object - b.object);
}

/* Bytes of operations by when they retired, in BUCKETS parts of the run. */
function movedCurves(run: Run): Curve[] {
    const width = Math.max(1, (run.end - run.begin) / BUCKETS);
    const into = new Float64Array(BUCKETS),
        out = new Float64Array(BUCKETS),
        filled = new Float64Array(BUCKETS),
        within = new Float64Array(BUCKETS);
    const retired = run.values("operations", "retired"),
        from = run.values("operations", "from_segment"),
        to = run.values("operations", "to_segment"),
        bytes = run.values("operations", "bytes");
    const name = run.values("operations", "name");
    const kinds = new Map<number, string>();
    for (let i = 0; i < retired.length; i++) {
        if (retired[i] === NEVER || !bytes[i]) continue;
        let kind = kinds.get(name[i]);
        if (kind === undefined) kinds.set(name[i], (kind = run.story.textOf(name[i])));
        const bucket = Math.min(BUCKETS - 1, Math.floor((retired[i] - run.begin) / width));
        if (kind.includes("FILL")) filled[bucket] += bytes[i];
        else if (!kind.includes("TRANSFER")) continue;
        else if (to[i] && !from[i]) into[bucket] += bytes[i];
        else if (from[i] && !to[i]) out[bucket] += bytes[i];
        else within[bucket] += bytes[i];
    }
    const times = Array.from({ length: BUCKETS }, (_, i) => run.begin + i * width);
    /* Bars stand in each other, the longest first: what is drawn is the sum so far. */
    const sums = [into, out, filled, within].map(() => new Array<number>(BUCKETS).fill(0));
    let below = new Array<number>(BUCKETS).fill(0);
    [into, out, filled, within].forEach((values, k) => {
        below = below.map((b, i) => b + values[i]);
        sums[k] = below;
    });
    const names = ["in", "out", "filled", "between segments"];
    return names
        .map((n, k) => ({ name: n, colour: `--kind-${[0, 1, 2, 4][k]}`, times, values: sums[k] }))
        .reverse();
}

function movedTable(run: Run): HTMLElement {
    const cumulative = movedCurves(run).reverse();
    const width = (run.end - run.begin) / BUCKETS;
    const part = (k: number, i: number): number =>
        cumulative[k].values[i] - (k ? cumulative[k - 1].values[i] : 0);
    return grid({
        label: "Bytes moved over time",
        rows: Uint32Array.from({ length: BUCKETS }, (_, i) => i).filter(
            i => cumulative[3].values[i] > 0,
        ),
        height: 220,
        columns: [
            {
                title: "from",
                isNumber: true,
                cell: i => format.moment(run.begin + i * width),
                key: i => i,
            },
            ...cumulative.map((c, k) => ({
                title: c.name,
                isNumber: true,
                cell: (i: number) => format.bytes(part(k, i)),
                key: (i: number) => part(k, i),
            })),
        ],
    });
}

/* The samples of run.json, for a run without a record. */
function localMemory(facts: Facts): Curve[] {
    const used = objectIn(facts, "local_memory").used_bytes,
        period = numberIn(facts, "local_memory", "period_ns") ?? 0,
        bytes = numberIn(facts, "local_memory", "bytes");
    if (!Array.isArray(used) || used.length < 2 || !period) return [];
    const times = used.map((_, i) => i * period);
    const out: Curve[] = [
        {
            name: "in use",
            colour: "--kind-0",
            times,
            values: used.map(v => (typeof v === "number" ? v : 0)),
            isFilled: true,
        },
    ];
    if (bytes)
        out.push({
            name: "size",
            colour: "--kind-7",
            times: [0, times[times.length - 1]],
            values: [bytes, bytes],
            isDashed: true,
        });
    return out;
}

function processTable(facts: Facts): HTMLElement | null {
    const list = listIn(facts, "processes");
    /* Of a run of programs run.json has no times: the timeline has their calls. */
    if (!list.some(p => numberIn(p, "ended_ns"))) return null;
    const fairness = numberIn(facts, "fairness");
    const took = (p: Facts): number =>
        (numberIn(p, "ended_ns") ?? 0) - (numberIn(p, "begun_ns") ?? 0);
    return section(
        "Processes",
        [
            "Who ran, from when to when, and how long its work alone takes the engines." +
                `${list.length > 1 && fairness !== null ? " " : ""}`,
            list.length > 1 && fairness !== null
                ? ["Fairness is ", link("facts/fairness", fairness.toFixed(3)), "."]
                : null,
        ],
        table(
            "Processes",
            [
                { title: "process" },
                { title: "submissions", isNumber: true },
                { title: "begun", isNumber: true },
                { title: "took", isNumber: true },
                { title: "work", isNumber: true },
                { title: "of it", isNumber: true },
            ],
            list.map((p, i) => [
                link(
                    `timeline?from=${numberIn(p, "begun_ns") ?? 0}&to=` +
                        `${numberIn(p, "ended_ns") ?? 0}`,
                    textIn(p, "name") || `process ${i + 1}`,
                ),
                link(`facts/processes.${i}`, format.count(numberIn(p, "submissions") ?? 0)),
                format.moment(numberIn(p, "begun_ns") ?? 0),
                format.duration(took(p)),
                format.duration(numberIn(p, "work_ns") ?? 0),
                took(p) > 0 ? format.percent((numberIn(p, "work_ns") ?? 0) / took(p)) : "",
            ]),
        ),
    );
}

function reasons(facts: Facts, run: Run | null): HTMLElement | null {
    const entries = Object.entries(objectIn(facts, "evictions_by_reason")).filter(
        (e): e is [string, number] => typeof e[1] === "number",
    );
    if (!entries.length) return null;
    const most = Math.max(1, ...entries.map(e => e[1]));
    return section(
        "Evictions by reason",
        "Why allocations had to leave a segment.",
        table(
            "Evictions by reason",
            [{ title: "reason" }, { title: "" }, { title: "evictions", isNumber: true }],
            entries
                .sort((a, b) => b[1] - a[1])
                .map(([reason, n]) => [
                    reason,
                    bar(n / most),
                    run && run.rows("places")
                        ? link(
                              entries.length === 1 && run.rows("victims") === n
                                  ? "rows/victims"
                                  : `rows/places?why_left=${encodeURIComponent(reason)}`,
                              format.count(n),
                          )
                        : format.count(n),
                ]),
        ),
    );
}

function steps(facts: Facts): HTMLElement | null {
    const list = listIn(facts, "steps");
    if (!list.length) return null;
    const slow = (s: Facts): number => {
        const own = numberIn(s, "virtual_time_ns") ?? 0,
            reference = numberIn(s, "reference_ns") ?? 0;
        return reference > 0 ? own / reference : 0;
    };
    const most = Math.max(1, ...list.map(slow));
    let at = 0;
    return section(
        "Slowdown by step",
        list.some(s => slow(s) > 0)
            ? "Time of each step of the case, against the same step with room for everything."
            : "Time of each step of the case; no run with room for everything was played beside it.",
        table(
            "Steps",
            [
                { title: "step" },
                { title: "" },
                { title: "slowdown", isNumber: true },
                { title: "took", isNumber: true },
                { title: "paged in", isNumber: true },
                { title: "evictions", isNumber: true },
            ],
            list.map((s, i) => {
                const begins = at;
                at += numberIn(s, "virtual_time_ns") ?? 0;
                return [
                    link(`timeline?from=${begins}&to=${at}`, textIn(s, "name") || "(before)"),
                    bar(slow(s) / most, slow(s) > 1.5 ? "var(--kind-3)" : "var(--accent)"),
                    link(`facts/steps.${i}`, slow(s) ? format.times(slow(s)) : "–"),
                    link(
                        `facts/steps.${i}.virtual_time_ns`,
                        format.duration(numberIn(s, "virtual_time_ns") ?? 0),
                    ),
                    link(
                        `facts/steps.${i}.moved_in_bytes`,
                        format.bytes(numberIn(s, "moved_in_bytes") ?? 0),
                    ),
                    link(`facts/steps.${i}.evictions`, format.count(numberIn(s, "evictions") ?? 0)),
                ];
            }),
        ),
    );
}

function hottest(run: Run): HTMLElement | null {
    const moved = run.values("objects", "moved_bytes"),
        placed = run.values("objects", "placed"),
        evicted = run.values("objects", "evicted"),
        bytes = run.values("objects", "bytes");
    const rows = Uint32Array.from(
        run.objectsOf("allocation").filter(r => moved[r] > 0 || placed[r] > 1),
    ).sort((a, b) => moved[b] - moved[a]);
    if (!rows.length) return null;
    const most = Math.max(1, moved[rows[0]]);
    return section(
        "Hottest allocations",
        "Those whose content moved most. Each opens its life.",
        grid({
            label: "Hottest allocations",
            rows,
            height: 300,
            open: r => {
                location.hash = `map?select=${r}`;
            },
            columns: [
                {
                    title: "allocation",
                    width: "minmax(10em, 2fr)",
                    cell: r => link(`map?select=${r}`, run.objectName(r + 1)),
                    find: r => run.objectName(r + 1),
                    key: r => run.objectName(r + 1),
                },
                {
                    title: "size",
                    isNumber: true,
                    cell: r => format.bytes(bytes[r]),
                    key: r => bytes[r],
                },
                { title: "", width: "6em", cell: r => bar(moved[r] / most), find: () => "" },
                {
                    title: "moved",
                    isNumber: true,
                    cell: r => link(`rows/operations?allocation=${r + 1}`, format.bytes(moved[r])),
                    key: r => moved[r],
                    find: r => format.bytes(moved[r]),
                },
                {
                    title: "placed",
                    isNumber: true,
                    cell: r => link(`rows/places?allocation=${r + 1}`, format.count(placed[r])),
                    key: r => placed[r],
                    find: r => String(placed[r]),
                },
                {
                    title: "evicted",
                    isNumber: true,
                    cell: r =>
                        evicted[r]
                            ? link(`rows/victims?allocation=${r + 1}`, format.count(evicted[r]))
                            : "0",
                    key: r => evicted[r],
                    find: r => String(evicted[r]),
                },
            ],
        }),
    );
}

function evictors(run: Run): HTMLElement | null {
    const evictor = run.values("places", "evictor"),
        allocation = run.values("places", "allocation"),
        bytes = run.values("places", "bytes");
    const process = run.values("objects", "process");
    const cells = new Map<string, { count: number; bytes: number }>();
    const names = new Set<number>();
    const add = (asked: number, left: number, size: number): void => {
        const owner = process[left - 1];
        names.add(asked).add(owner);
        const key = `${asked}/${owner}`;
        const c = cells.get(key) ?? { count: 0, bytes: 0 };
        c.count++;
        c.bytes += size;
        cells.set(key, c);
    };
    /* What was chosen to leave is counted once, though it may lie in several pieces. */
    const victim = run.values("victims", "allocation"),
        request = run.values("victims", "request");
    for (let i = 0; i < victim.length; i++)
        if (victim[i] && request[i])
            add(
                run.values("requests", "process")[request[i] - 1],
                victim[i],
                run.values("objects", "bytes")[victim[i] - 1],
            );
    if (!victim.length)
        for (let i = 0; i < evictor.length; i++)
            if (evictor[i] && allocation[i]) add(evictor[i], allocation[i], bytes[i]);
    if (!cells.size) return null;
    const order = [...names].sort((a, b) => a - b).slice(0, 24);
    const most = Math.max(...[...cells.values()].map(c => c.count));
    const name = (ref: number): string => run.objectName(ref) || "the system";
    return section(
        "Who evicted whom",
        "A row's process asked for room, and a column's had to leave: evictions, and their bytes.",
        h(
            "div",
            { class: "scrolls", tabindex: 0, role: "group", "aria-label": "Who evicted whom" },
            h(
                "table",
                { class: "matrix" },
                h("caption", { class: "unseen" }, "Evictions by who asked and who left"),
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        h("th", { scope: "col" }, "asked ↓, left →"),
                        order.map(o => h("th", { scope: "col" }, name(o))),
                    ),
                ),
                h(
                    "tbody",
                    {},
                    order.map(asked =>
                        h(
                            "tr",
                            {},
                            h("th", { scope: "row" }, name(asked)),
                            order.map((left): Child => {
                                const c = cells.get(`${asked}/${left}`);
                                if (!c) return h("td", { class: "nothing" }, "–");
                                return h(
                                    "td",
                                    {
                                        style:
                                            "--share:" +
                                            `${(0.08 + (0.5 * c.count) / most).toFixed(3)}`,
                                        class: asked === left ? "own" : "",
                                    },
                                    link(
                                        victim.length
                                            ? "rows/victims"
                                            : `rows/places?evictor=${asked}`,
                                        format.count(c.count),
                                    ),
                                    h("small", {}, format.bytes(c.bytes)),
                                );
                            }),
                        ),
                    ),
                ),
            ),
        ),
    );
}

function counters(
    title: string,
    sentence: string,
    object: Facts,
    path: string,
    run: Run | null,
    row?: (key: string) => string | null,
): HTMLElement | null {
    const entries = Object.entries(object).filter(
        (e): e is [string, number] => typeof e[1] === "number",
    );
    if (!entries.length) return null;
    return section(
        title,
        sentence,
        pairs(
            title,
            entries.map(([key, value]): [Child, Child] => {
                const target = run && row?.(key);
                const text =
                    key.endsWith("_bytes") || key === "bytes"
                        ? format.bytes(value)
                        : key.endsWith("_ns")
                          ? format.duration(value)
                          : format.count(value);
                return [
                    /[A-Z]/.test(key) ? h("code", {}, key) : labelOf(key, object),
                    link(target ?? `facts/${path}.${key}`, text),
                ];
            }),
        ),
    );
}

/* "moved" of "moved_bytes", unless there is a "moved", too: the unit stands in the value. */
function labelOf(key: string, object: Facts): string {
    const short = key.replace(/_(bytes|ns)$/, "");
    return (Object.hasOwn(object, short) ? key : short).replaceAll("_", " ");
}

export function outcomeOf(facts: Facts): { word: string; isGood: boolean } {
    const outcome = textIn(facts, "outcome");
    return { word: outcome || "no outcome", isGood: outcome === "clean" };
}

/* A damaged part of the story must not take the figures with it. */
function attempt(place: HTMLElement, make: () => void): void {
    try {
        make();
    } catch (error) {
        if (!(error instanceof StoryError)) throw error;
        place.append(
            h(
                "p",
                { class: "notice bad", role: "alert" },
                h("strong", {}, "Something cannot be shown. "),
                `The story in this page is damaged: ${error.message}.`,
            ),
        );
    }
}

/* Local memory by run.json's own samples, for a story without curves of bytes. */
function localSection(app: App): HTMLElement | null {
    const used = localMemory(app.facts);
    if (!used.length) return null;
    const title = "Local memory in use over time";
    return pictured(
        "Local memory",
        "What was in use of local memory, by run.json's own samples. " +
            "Drag to look closer; all views follow.",
        curves(title, used, "bytes", app.time),
        () => curveTable(title, used, "bytes"),
    );
}

/* Curves of bytes: of a segment, of the budgets of processes, of what is outside. */
function bytesSection(app: App, run: Run, group: SampleGroup): HTMLElement {
    const kind = group.object ? run.kinds[group.object - 1] : "";
    const name =
        kind === "process" ? "Budgets" : run.objectName(group.object) || "Outside all segments";
    const title = `${name}: bytes over time`;
    return pictured(
        kind === "segment" ? `${name.charAt(0).toUpperCase()}${name.slice(1)}` : name,
        kind === "segment"
            ? "Memory of the segment over time. Drag to look closer; all views follow."
            : kind === "process"
              ? "What each process was told that it may use."
              : "Bytes over time. Drag to look closer; all views follow.",
        curves(title, group.list, "bytes", app.time),
        () => curveTable(title, group.list, "bytes"),
    );
}

function movedSection(app: App, run: Run): HTMLElement | null {
    if (!run.rows("operations")) return null;
    return pictured(
        "Moved over time",
        "Bytes of paging operations that retired in each part of the " +
            "run, on top of each other.",
        curves("Bytes moved over time", movedCurves(run), "bytes", app.time, "bars"),
        () => movedTable(run),
    );
}

function countSection(app: App, run: Run, group: SampleGroup): HTMLElement {
    return pictured(
        run.objectName(group.object) || "Counts",
        "Counts over time.",
        curves("Counts over time", group.list, "count", app.time),
        () => curveTable("Counts over time", group.list, "count"),
    );
}

function appendCurves(app: App, wide: HTMLElement): void {
    const { run } = app;
    const samples = run ? sampleCurves(run) : [];
    const bytes = samples.filter(g => g.unit === "bytes"),
        counts = samples.filter(g => g.unit === "count");
    const append = (section: HTMLElement | null): void => {
        if (section) wide.append(section);
    };
    if (!bytes.length) append(localSection(app));
    if (!run) return;
    for (const group of bytes) append(bytesSection(app, run, group));
    append(movedSection(app, run));
    for (const group of counts) append(countSection(app, run, group));
}

/* What ran, with what, and how it ended. */
function hero(facts: Facts): HTMLElement {
    const { word, isGood } = outcomeOf(facts);
    const sentence = [
        `${textIn(facts, "driver") ? `Driver ${textIn(facts, "driver")}` : "A driver"}`,
        textIn(facts, "model") ? `, model ${textIn(facts, "model")}` : "",
        numberIn(facts, "seed") !== null ? `, seed ${numberIn(facts, "seed")}` : "",
        textIn(facts, "version") ? `, drydock ${textIn(facts, "version")}` : "",
        textIn(facts, "folder") ? `, in ${textIn(facts, "folder")}` : "",
        ".",
    ].join("");
    return h(
        "section",
        { class: "card hero", "aria-labelledby": "what-ran" },
        h(
            "div",
            {},
            h("h2", { id: "what-ran" }, textIn(facts, "case") || "A run"),
            h(
                "p",
                { class: "says" },
                sentence,
                textIn(facts, "error") ? ` ${textIn(facts, "error")}` : "",
            ),
        ),
        h("span", { class: `outcome ${isGood ? "good" : "bad"}` }, word),
    );
}

/* What a reader has to know before the figures: notes, what was left out, what is damaged. */
function notices({ facts, run, problem }: App): HTMLElement[] {
    const cut = run
        ? [
              ...run.facts("left_out").map(t => `${t} (to keep this page small)`),
              ...run.facts("not_recorded"),
              ...run.facts("cut"),
          ]
        : [];
    const out = textsIn(facts, "notes").map(note =>
        h("p", { class: "notice", role: "note" }, note),
    );
    if (cut.length)
        out.push(
            h(
                "p",
                { class: "notice", role: "note" },
                h("strong", {}, "Not all is here. "),
                `Left out: ${cut.join("; ")}.`,
            ),
        );
    if (problem)
        out.push(
            h(
                "p",
                { class: "notice bad", role: "alert" },
                h("strong", {}, "Without pictures. "),
                problem,
            ),
        );
    return out;
}

const isThere = (e: HTMLElement | null): e is HTMLElement => e !== null;

/* What was counted, by name. */
function optionValue(key: string, value: string): string {
    if (!/^\d+$/.test(value)) return value;
    return /memory|aperture|buffer$|invisible/.test(key)
        ? format.bytes(Number(value))
        : format.count(Number(value));
}

/* What the case or the command line says of the run; all other options are as by default. */
function optionsOf(facts: Facts): HTMLElement | null {
    const options = Object.entries(objectIn(facts, "options"));
    if (!options.length) return null;
    return section(
        "Options",
        "Those that are not as by default; drydock options says what they mean.",
        pairs(
            "Options",
            options.map(([key, value]): [Child, Child] => [
                key,
                link(`facts/options.${key}`, optionValue(key, String(value))),
            ]),
        ),
    );
}

function countersOf({ facts, run }: App): HTMLElement[] {
    return [
        counters(
            "Paging operations",
            "How often each operation was asked of the driver.",
            objectIn(facts, "paging_operations"),
            "paging_operations",
            run,
            key =>
                run && run.rows("operations") && run.story.idOf(key) >= 0
                    ? `rows/operations?name=${key}`
                    : null,
        ),
        counters(
            "Calls of the driver",
            "How often each function of the driver was called.",
            objectIn(facts, "ddi_calls"),
            "ddi_calls",
            run,
            key =>
                run && run.rows("calls") && run.story.idOf(key) >= 0
                    ? `rows/calls?name=${key}${untilEnd(run)}`
                    : null,
        ),
        counters(
            "Machine",
            "The machine that the run had.",
            objectIn(facts, "machine"),
            "machine",
            null,
        ),
        counters("GPU", "What the modelled GPU counted.", objectIn(facts, "gpu"), "gpu", null),
        counters("Paging", "What the manager counted.", objectIn(facts, "paging"), "paging", null),
    ].filter(isThere);
}

function objectKinds(run: Run): HTMLElement {
    const kinds = new Map<string, number>();
    for (const kind of run.kinds) kinds.set(kind, (kinds.get(kind) ?? 0) + 1);
    return section(
        "Objects",
        "What was there in the run.",
        pairs(
            "Objects",
            [...kinds].map(([kind, n]): [Child, Child] => [
                kind.replaceAll("_", " "),
                link(`rows/objects?kind=${encodeURIComponent(kind)}`, format.count(n)),
            ]),
        ),
    );
}

function build(app: App, element: HTMLElement): void {
    const { facts, run } = app;
    const findings = listIn(facts, "findings");
    const wide = h("div", { class: "columns" }),
        more = h("div", { class: "masonry" });
    element.append(hero(facts), ...notices(app));
    if (findings.length) element.append(findingList(findings));
    attempt(element, () => element.append(...[clientBreaches(run)].filter(isThere)));
    element.append(
        section(
            "Figures",
            "Figures of the run; each leads to the rows that it was counted from.",
            figureTiles(figures(facts, run)),
        ),
    );
    attempt(wide, () => appendCurves(app, wide));
    more.append(...[steps(facts), reasons(facts, run), processTable(facts)].filter(isThere));
    attempt(more, () => more.append(...(run ? [hottest(run), evictors(run)] : []).filter(isThere)));
    more.append(...[optionsOf(facts)].filter(isThere), ...countersOf(app));
    element.append(wide, more);
    attempt(element, () => {
        if (run && run.rows("objects")) element.append(objectKinds(run));
    });
}

export function overviewView(app: App): View {
    const element = h("div", { class: "view" });
    let built = false;
    return {
        element,
        shown() {
            if (built) return;
            built = true;
            build(app, element);
        },
    };
}

export function findingList(findings: Facts[], title = "Findings"): HTMLElement {
    return section(
        title,
        "What is wrong, the most direct first. Each has a page.",
        h(
            "ol",
            { class: "findings" },
            findings.map((f, i) =>
                h(
                    "li",
                    { class: f.consequence_of ? "consequence" : "" },
                    h(
                        "a",
                        { href: `#finding/${i}` },
                        h("span", { class: "rule" }, textIn(f, "rule") || textIn(f, "kind")),
                        h("span", { class: "finding-text" }, textIn(f, "text")),
                        h("span", { class: "where" }, textIn(f, "where")),
                    ),
                ),
            ),
        ),
    );
}

export { rowLink };
