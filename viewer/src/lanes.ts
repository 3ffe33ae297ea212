/*
 * The lanes of the timeline, made from the tables of a story. A lane is a name and one or more rows
 * of slices; slices that overlap stand in rows below each other, up to ROWS_MOST, then on top of
 * each other in the last.
 */
import { NEVER, type Values } from "./decode.js";
import { sortedRows, type Run } from "./data.js";
import { kindColour, KIND_COLOURS } from "./colours.js";
import type { Rects } from "./lod.js";
import * as format from "./format.js";

const ROWS_MOST = 6;

export interface Lane {
    group: string;
    name: string;
    tip: string;
    table: string;
    firstRow: number; /* among all rows of slices */
    rowCount: number;
    height: number; /* of a row, in pixels */
    count: number;
    isPoints: boolean;
}

/* Slices of all lanes. */
export interface Slices {
    lanes: Lane[];
    rowCount: number;
    rects: Rects; /* y: rows */
    laneOf: Uint16Array;
    rowOf: Uint32Array; /* in the lane's table */
    colourKind: Uint16Array; /* of kinds */
    kinds: string[]; /* a kind belongs to one set of colours: others have their own */
    kindGroups: string[]; /* a group of lanes, or "Jobs" */
    find(table: string, row: number): number; /* the first slice of a table's row, or -1 */
}

/* Names of lanes of marks; others have the name of their kind. */
const MARKS: Record<string, string> = {
    dpc: "DPCs",
    interrupt: "interrupts",
    fence: "fences",
    print: "prints",
    stage: "stages",
    offer: "offers",
    trim: "trims",
};

interface Plan {
    group: string;
    name: string;
    tip: string;
    table: string;
    rows: Uint32Array;
    begin(row: number): number;
    end(row: number): number;
    kind(row: number): string;
    height: number;
    isPoints?: boolean;
    depth?(row: number): number; /* the row of the lane, where the table has it */
}

/*
 * Virtual time stands still while the CPU works: many calls begin and end at one moment. So that
 * each has a place of its own when one looks closely, those of one moment share the nanosecond
 * behind it, in their order; a call reaches to the end of the calls that it made.
 */
export function spreadCalls(
    begins: ArrayLike<number>,
    ends: ArrayLike<number>,
    depth: ArrayLike<number>,
): { begins: Float64Array; ends: Float64Array } {
    const n = begins.length;
    const outBegins = Float64Array.from(begins),
        outEnds = Float64Array.from(ends);
    for (let first = 0; first < n;) {
        let next = first + 1;
        while (next < n && begins[next] === begins[first]) next++;
        const slot = 0.9 / (next - first);
        const open: number[] = []; /* calls that the current one is inside of */
        const close = (until: number, at: number): void => {
            while (open.length && depth[open[open.length - 1]] >= until) {
                const call = open.pop() as number;
                if (ends[call] <= begins[call]) outEnds[call] = at;
            }
        };
        for (let i = first; i < next; i++) {
            const at = begins[first] + (i - first) * slot;
            close(depth[i], at);
            outBegins[i] = at;
            outEnds[i] = Math.max(ends[i], at);
            open.push(i);
        }
        close(0, begins[first] + 0.9);
        first = next;
    }
    return { begins: outBegins, ends: outEnds };
}

/* What the lanes are made from: rows and columns of the tables, and marks by their kind. */
interface Sources {
    run: Run;
    all(table: string): Uint32Array;
    v(table: string, column: string): Values;
    limit(t: number): number;
    textKind(table: string, column: string): (row: number) => string;
    markTime: Values;
    markKinds: Map<string, number[]>;
}

function sourcesOf(run: Run): Sources {
    const v = (table: string, column: string): Values => run.values(table, column);
    const markKinds = new Map<string, number[]>();
    const markKind = v("marks", "kind");
    for (let i = 0; i < markKind.length; i++) {
        const kind = run.story.textOf(markKind[i]);
        const list = markKinds.get(kind);
        if (list) list.push(i);
        else markKinds.set(kind, [i]);
    }
    return {
        run,
        all: table => Uint32Array.from({ length: run.rows(table) }, (_, i) => i),
        v,
        limit: t => (t === NEVER ? run.end : t),
        textKind: (table, column) => row => run.text(table, column, row),
        markTime: v("marks", "time"),
        markKinds,
    };
}

function stepLanes({ run, markKinds, markTime }: Sources, out: Plan[]): void {
    const steps = markKinds.get("step") ?? [];
    const next = new Map(
        steps.map((row, i) => [
            row,
            i + 1 < steps.length
                ? markTime[steps[i + 1]]
                : Math.max(markTime[row], Math.min(run.end, run.endOfPlay)),
        ]),
    );
    out.push({
        group: "Run",
        name: "steps",
        tip: "steps of the case",
        table: "marks",
        rows: Uint32Array.from(steps),
        height: 18,
        begin: row => markTime[row],
        end: row => next.get(row) as number,
        kind: () => "step",
    });
}

function findingLanes({ run, all, v, limit }: Sources, out: Plan[]): void {
    if (!run.rows("findings")) return;
    const time = v("findings", "time");
    out.push({
        group: "Run",
        name: "findings",
        tip: "findings of the run",
        table: "findings",
        rows: all("findings"),
        height: 16,
        isPoints: true,
        begin: row => limit(time[row]),
        end: row => limit(time[row]),
        kind: () => "finding",
    });
}

function callLanes({ run, all, v, limit, textKind }: Sources, out: Plan[]): void {
    if (!run.rows("calls")) return;
    const depth = v("calls", "depth");
    const { begins, ends } = spreadCalls(v("calls", "begins"), v("calls", "ends"), depth);
    out.push({
        group: "CPU",
        name: "calls",
        tip: "calls between manager and driver, by depth",
        table: "calls",
        rows: all("calls"),
        height: 14,
        begin: row => begins[row],
        end: row => Math.max(begins[row], limit(ends[row])),
        kind: textKind("calls", "name"),
        depth: row => Math.min(ROWS_MOST - 1, depth[row]),
    });
}

function clientLanes({ run, v, limit, textKind }: Sources, out: Plan[]): void {
    for (const process of run.rows("client_calls") ? run.objectsOf("process") : []) {
        const begins = v("client_calls", "begins"),
            ends = v("client_calls", "ends");
        const rows = run.referring("client_calls", "process", process);
        const spread = spreadCalls(
            Array.from(rows, row => begins[row]),
            Array.from(rows, row => limit(ends[row])),
            new Uint8Array(rows.length),
        );
        const place = new Map(Array.from(rows, (row, i) => [row, i]));
        out.push({
            group: "Clients",
            name: run.objectName(process + 1),
            tip: `calls of ${run.objectName(process + 1)}, from made to answered`,
            table: "client_calls",
            rows,
            height: 14,
            begin: row => spread.begins[place.get(row) as number],
            end: row => spread.ends[place.get(row) as number],
            kind: textKind("client_calls", "name"),
        });
    }
}

function requestLanes({ run, all, v, limit }: Sources, out: Plan[]): void {
    const requests = run.rows("requests");
    if (requests) {
        const asked = v("requests", "asked"),
            ends = v("requests", "ends");
        out.push({
            group: "Residency",
            name: "requests",
            tip: "lists of allocations that must be resident, from asked to served",
            table: "requests",
            rows: all("requests"),
            height: 14,
            begin: row => asked[row],
            end: row => limit(ends[row]),
            kind: () => "request",
        });
    }
}

function jobLanes({ run, all, v, limit }: Sources, out: Plan[]): void {
    if (!run.rows("jobs")) return;
    const begins = v("jobs", "begins"),
        ends = v("jobs", "ends");
    out.push({
        group: "Paging queue",
        name: "jobs",
        tip: "jobs: operations that belong together, from the first asked to the last retired",
        table: "jobs",
        rows: all("jobs").filter(row => begins[row] !== NEVER),
        height: 10,
        begin: row => begins[row],
        end: row => limit(ends[row]),
        kind: row => run.text("jobs", "name", row),
    });
}

function fenceWaitLanes({ run, all, v, limit }: Sources, out: Plan[]): void {
    if (!run.rows("fence_waits")) return;
    const begins = v("fence_waits", "begins"),
        ends = v("fence_waits", "ends"),
        packet = v("fence_waits", "packet");
    out.push({
        group: "Residency",
        name: "waits for fences",
        tip: "who waits until a fence has a value: a process, on the CPU, or a packet",
        table: "fence_waits",
        rows: all("fence_waits"),
        height: 12,
        begin: row => begins[row],
        end: row => limit(ends[row]),
        kind: row => (packet[row] ? "wait of a packet" : "wait on the CPU"),
    });
}

function operationLanes({ run, all, v, limit, textKind }: Sources, out: Plan[]): void {
    if (!run.rows("operations")) return;
    const asked = v("operations", "asked"),
        built = v("operations", "built"),
        retired = v("operations", "retired");
    const packet = v("operations", "packet"),
        packetBegins = v("packets", "begins");
    out.push({
        group: "Paging queue",
        name: "operations",
        tip: "paging operations, from asked to retired",
        table: "operations",
        rows: all("operations"),
        height: 14,
        begin: row => asked[row],
        end: row => limit(retired[row]),
        kind: textKind("operations", "name"),
    });
    out.push({
        group: "Paging queue",
        name: "in buffers",
        tip: "operations in a paging buffer, from built until the engine begins it",
        table: "operations",
        rows: all("operations").filter(row => built[row] !== NEVER),
        height: 10,
        begin: row => built[row],
        end: row =>
            packet[row] ? Math.max(built[row], limit(packetBegins[packet[row] - 1])) : built[row],
        kind: textKind("operations", "name"),
    });
}

function packetLanes({ run, all, v, limit }: Sources, out: Plan[]): void {
    if (!run.rows("packets")) return;
    const node = v("packets", "node"),
        queued = v("packets", "queued"),
        begins = v("packets", "begins"),
        ends = v("packets", "ends");
    const number = v("objects", "number");
    for (const object of run.objectsOf("node").sort((x, y) => number[x] - number[y])) {
        const rows = run.referring("packets", "node", object);
        if (!rows.length) continue;
        const name = run.objectName(object + 1);
        out.push({
            group: "Engines",
            name,
            tip: `packets that ${name} executes`,
            table: "packets",
            rows: rows.filter(row => begins[row] !== NEVER),
            height: 22,
            begin: row => begins[row],
            end: row => limit(ends[row]),
            kind: row => `${run.text("packets", "kind", row)} packet`,
        });
        out.push({
            group: "Engines",
            name: `${name} queue`,
            tip: "packets from queued until the engine begins them",
            table: "packets",
            rows: rows.filter(row => queued[row] !== NEVER),
            height: 8,
            begin: row => queued[row],
            end: row => Math.max(queued[row], limit(begins[row])),
            kind: row => `${run.text("packets", "kind", row)} packet`,
        });
    }
    const orphans = all("packets").filter(row => !node[row] && begins[row] !== NEVER);
    if (orphans.length)
        out.push({
            group: "Engines",
            name: "other packets",
            tip: "packets of no node",
            table: "packets",
            rows: orphans,
            height: 18,
            begin: row => begins[row],
            end: row => limit(ends[row]),
            kind: row => `${run.text("packets", "kind", row)} packet`,
        });
}

function submissionLanes({ run, v, limit }: Sources, out: Plan[]): void {
    if (!run.rows("submissions")) return;
    const time = v("submissions", "time"),
        packet = v("submissions", "packet"),
        ends = v("packets", "ends");
    for (const object of run.objectsOf("context")) {
        const rows = run.referring("submissions", "context", object);
        if (!rows.length) continue;
        const process = v("objects", "process")[object];
        out.push({
            group: "Contexts",
            name: run.objectName(object + 1),
            tip:
                `submissions of ${run.objectName(object + 1)}` +
                `${process ? ` of ${run.objectName(process)}` : ""}, from submitted to ` +
                "completed",
            table: "submissions",
            rows,
            height: 12,
            begin: row => time[row],
            end: row => (packet[row] ? limit(ends[packet[row] - 1]) : time[row]),
            kind: () => "submission",
        });
    }
}

function markLanes({ limit, markKinds, markTime }: Sources, out: Plan[]): void {
    for (const kind of [...markKinds.keys()].sort()) {
        if (kind === "step") continue; /* has a lane of its own */
        const list = markKinds.get(kind) as number[];
        out.push({
            group: "Moments",
            name: MARKS[kind] ?? kind,
            tip: `marks of kind ${kind}`,
            table: "marks",
            rows: Uint32Array.from(list),
            height: 12,
            isPoints: true,
            begin: row => limit(markTime[row]),
            end: row => limit(markTime[row]),
            kind: () => kind,
        });
    }
}

/* Lanes in the order in which they stand. */
const LANES = [
    stepLanes,
    findingLanes,
    callLanes,
    clientLanes,
    requestLanes,
    jobLanes,
    fenceWaitLanes,
    operationLanes,
    packetLanes,
    submissionLanes,
    markLanes,
];

function plans(run: Run): Plan[] {
    const sources = sourcesOf(run);
    const out: Plan[] = [];
    for (const add of LANES) add(sources, out);
    return out.filter(plan => plan.rows.length > 0);
}

export function buildSlices(run: Run): Slices {
    const list = plans(run);
    const total = list.reduce((n, p) => n + p.rows.length, 0);
    const rects: Rects = {
        count: total,
        x0: new Float64Array(total),
        x1: new Float64Array(total),
        y0: new Float64Array(total),
        y1: new Float64Array(total),
    };
    const laneOf = new Uint16Array(total),
        rowOf = new Uint32Array(total),
        colourKind = new Uint16Array(total);
    const lanes: Lane[] = [];
    const kindIds = new Map<string, number>();
    const kinds: string[] = [],
        kindGroups: string[] = [];
    const placed = new Map<string, Uint32Array>();
    let at = 0;
    let rowBase = 0;
    list.forEach((plan, lane) => {
        const n = plan.rows.length;
        const begins = Float64Array.from(plan.rows, row => plan.begin(row));
        const order = sortedRows(begins);
        const ends: number[] = [];
        let rows = 1;
        let found = placed.get(plan.table);
        if (!found) placed.set(plan.table, (found = new Uint32Array(run.rows(plan.table))));
        const kindOf = new Map<string, number>();
        for (let k = 0; k < n; k++) {
            const row = plan.rows[order[k]];
            const begin = begins[order[k]],
                end = Math.max(begin, plan.end(row));
            let depth = 0;
            if (plan.depth) depth = plan.depth(row);
            else if (!plan.isPoints) {
                while (depth < ROWS_MOST - 1 && depth < ends.length && ends[depth] > begin) depth++;
                ends[depth] = Math.max(ends[depth] ?? 0, end);
            }
            rows = Math.max(rows, depth + 1);
            const text = plan.kind(row);
            let kind = kindOf.get(text);
            if (kind === undefined) {
                const set = plan.table === "jobs" ? "Jobs" : plan.group;
                const key = `${set}\n${text}`;
                kind = kindIds.get(key) ?? kinds.length;
                if (kind === kinds.length) {
                    kinds.push(text);
                    kindGroups.push(set);
                }
                kindIds.set(key, kind);
                kindOf.set(text, kind);
            }
            rects.x0[at] = begin;
            rects.x1[at] = end;
            rects.y0[at] = rowBase + depth;
            rects.y1[at] = rowBase + depth + 1;
            laneOf[at] = lane;
            rowOf[at] = row;
            colourKind[at] = kind;
            if (!found[row]) found[row] = at + 1;
            at++;
        }
        lanes.push({
            group: plan.group,
            name: plan.name,
            tip: plan.tip,
            table: plan.table,
            firstRow: rowBase,
            rowCount: rows,
            height: plan.height,
            count: n,
            isPoints: plan.isPoints === true,
        });
        rowBase += rows;
    });
    return {
        lanes,
        rowCount: Math.max(1, rowBase),
        rects,
        laneOf,
        rowOf,
        colourKind,
        kinds,
        kindGroups,
        find: (table, row) => (placed.get(table)?.[row] ?? 0) - 1,
    };
}

/* Colours that kinds have in whatever run, so that two pages look alike. */
const KIND_WISHES: Record<string, number> = {
    "paging packet": 1,
    "render packet": 0,
    "present packet": 2,
    submission: 0,
    request: 4,
    step: 7,
    finding: 3,
    interrupt: 3,
    dpc: 1,
    fence: 2,
    print: 7,
    TRANSFER: 1,
    VIRTUAL_TRANSFER: 1,
    FILL: 0,
    VIRTUAL_FILL: 0,
    UPDATE_PAGE_TABLE: 2,
    FLUSH_TLB: 4,
    SIGNAL_MONITORED_FENCE: 5,
    DISCARD_CONTENT: 6,
    MAP_APERTURE_SEGMENT: 5,
    UNMAP_APERTURE_SEGMENT: 6,
    DxgkDdiBuildPagingBuffer: 1,
    DxgkDdiSubmitCommand: 0,
    DxgkDdiSubmitCommandVirtual: 0,
    DxgkDdiInterruptRoutine: 3,
    DxgkDdiDpcRoutine: 4,
    DxgkDdiPatch: 5,
    DxgkDdiRender: 2,
    DxgkDdiCreateAllocation: 2,
    DxgkDdiOpenAllocation: 6,
};

/* Kinds, those that occur most first. */
export function kindsByCount(slices: Slices): number[] {
    const counts = new Float64Array(slices.kinds.length);
    for (const kind of slices.colourKind) counts[kind]++;
    return Array.from(slices.kinds.keys()).sort((a, b) => counts[b] - counts[a]);
}

/*
 * Colours of kinds: those that occur most have one of their own within their group of lanes, all
 * others of the group share the last.
 */
export function kindColours(slices: Slices): Uint32Array {
    const colours = new Uint32Array(slices.kinds.length).fill(kindColour(KIND_COLOURS - 1));
    const taken = new Map<string, Set<number>>();
    for (const kind of kindsByCount(slices)) {
        const group = slices.kindGroups[kind],
            name = slices.kinds[kind];
        let own = taken.get(group);
        if (!own) taken.set(group, (own = new Set()));
        let place = Object.hasOwn(KIND_WISHES, name) ? KIND_WISHES[name] : 0;
        for (let n = 0; n < KIND_COLOURS - 1 && own.has(place); n++)
            place = (place + 1) % (KIND_COLOURS - 1);
        if (own.has(place)) continue;
        own.add(place);
        colours[kind] = kindColour(place);
    }
    return colours;
}

/* What is drawn in a slice that has the room. */
export function sliceLabel(run: Run, table: string, row: number): string {
    switch (table) {
        case "calls": {
            const operation = run.text("calls", "operation", row);
            return operation
                ? `${run.text("calls", "name", row)} ${operation}`
                : run.text("calls", "name", row);
        }
        case "client_calls":
            return run.text("client_calls", "name", row);
        case "jobs":
        case "operations": {
            const allocation = run.values(table, "allocation")[row];
            return `${run.text(table, "name", row)} ${run.objectName(allocation)}`.trim();
        }
        case "packets": {
            const context = run.values("packets", "context")[row];
            return (
                `${run.text("packets", "kind", row)} ` +
                `${run.values("packets", "number")[row]}` +
                `${context ? ` ${run.objectShort(context)}` : ""}`
            );
        }
        case "requests":
            return (
                `request ${run.values("requests", "number")[row]}: ` +
                `${format.plural(run.values("requests", "allocations")[row], "allocation")}`
            );
        case "submissions":
            return `submission ${run.values("submissions", "number")[row]}`;
        case "marks":
            return (
                run.text("marks", "text", row) ||
                `${run.text("marks", "kind", row)} ${run.values("marks", "value")[row]}`
            );
        case "fence_waits": {
            const fence = run.objectName(run.values("fence_waits", "fence")[row]);
            return `${fence} \u2265 ${run.values("fence_waits", "value")[row]}`;
        }
        case "findings":
            return run.text("findings", "rule", row) || "finding";
        default:
            return "";
    }
}
