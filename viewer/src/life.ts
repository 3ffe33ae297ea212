/*
 * The life of an allocation: all that the story tells of it, in order of time. The map's inspector,
 * the page of a finding and the row of an allocation show it.
 */
import { NEVER } from "./decode.js";
import type { Run } from "./data.js";
import { h, link, newId, svg } from "./dom.js";
import * as format from "./format.js";
import { grid } from "./grid.js";
import { rowName } from "./rows.js";

export interface LifeEvent {
    time: number;
    end: number; /* of what takes time; else as time */
    kind: "exists" | "placed" | "moved" | "mapped" | "used" | "chosen" | "finding";
    what: string;
    table: string;
    row: number;
    isWrite?: boolean;
}

export const LIFE_KINDS: [LifeEvent["kind"], string][] = [
    ["exists", "created to destroyed"],
    ["placed", "in a segment"],
    ["moved", "paging operations"],
    ["mapped", "mapped"],
    ["used", "read and written"],
    ["chosen", "chosen to leave"],
    ["finding", "findings"],
];

/* row: of objects. */
export function lifeOf(run: Run, row: number): LifeEvent[] {
    return [
        ...existence(run, row),
        ...places(run, row),
        ...moves(run, row),
        ...mappings(run, row),
        ...uses(run, row),
        ...choices(run, row),
    ]
        .filter(e => e.time !== NEVER)
        .sort((a, b) => a.time - b.time);
}

function existence(run: Run, row: number): LifeEvent[] {
    const created = run.values("objects", "created")[row];
    const destroyed = run.values("objects", "destroyed")[row];
    const event = { kind: "exists", table: "objects", row } as const;
    return [
        {
            ...event,
            time: created,
            end: Math.min(destroyed, run.end),
            what: `created, ${format.bytes(run.values("objects", "bytes")[row])}`,
        },
        { ...event, time: destroyed, end: destroyed, what: "destroyed" },
    ];
}

function places(run: Run, row: number): LifeEvent[] {
    const events: LifeEvent[] = [];
    const from = run.values("places", "from"),
        to = run.values("places", "to");
    const segments = run.values("places", "segment"),
        offsets = run.values("places", "offset"),
        evictors = run.values("places", "evictor");
    for (const r of run.referring("places", "allocation", row)) {
        const event = { kind: "placed", table: "places", row: r } as const;
        const segment = run.objectName(segments[r]);
        const came = run.text("places", "why_came", r),
            left = run.text("places", "why_left", r);
        const evictor = evictors[r] ? `, for ${run.objectName(evictors[r])}` : "";
        events.push({
            ...event,
            time: from[r],
            end: Math.min(to[r], run.end),
            what: `placed at ${format.hex(offsets[r])} of ${segment}${came ? `: ${came}` : ""}`,
        });
        events.push({
            ...event,
            time: to[r],
            end: to[r],
            what: `left ${segment}${left ? `: ${left}` : ""}${evictor}`,
        });
    }
    return events;
}

function moves(run: Run, row: number): LifeEvent[] {
    const asked = run.values("operations", "asked"),
        retired = run.values("operations", "retired"),
        bytes = run.values("operations", "bytes");
    return Array.from(run.referring("operations", "allocation", row), r => ({
        time: asked[r],
        end: Math.min(retired[r], run.end),
        kind: "moved",
        table: "operations",
        row: r,
        what: `${run.text("operations", "name", r)}, ${format.bytes(bytes[r])}`,
    }));
}

function mappings(run: Run, row: number): LifeEvent[] {
    const events: LifeEvent[] = [];
    const from = run.values("mappings", "from"),
        to = run.values("mappings", "to"),
        vas = run.values("mappings", "va");
    for (const r of run.referring("mappings", "allocation", row)) {
        const event = { kind: "mapped", table: "mappings", row: r } as const;
        const va = format.hex(vas[r]);
        events.push({
            ...event,
            time: from[r],
            end: Math.min(to[r], run.end),
            what: `mapped at ${va}`,
        });
        events.push({ ...event, time: to[r], end: to[r], what: `unmapped at ${va}` });
    }
    return events;
}

/* Work that reads or writes it: while its packet runs, or when it was submitted if none ran. */
function uses(run: Run, row: number): LifeEvent[] {
    const events: LifeEvent[] = [];
    const writes = run.values("references", "is_write");
    const submissions = run.values("references", "submission");
    const times = run.values("submissions", "time"),
        packets = run.values("submissions", "packet");
    const begins = run.values("packets", "begins"),
        ends = run.values("packets", "ends");
    for (const r of run.referring("references", "allocation", row)) {
        const submission = submissions[r] - 1;
        if (submission < 0) continue;
        const packet = packets[submission] - 1;
        const ran = packet >= 0 && begins[packet] !== NEVER;
        events.push({
            time: ran ? begins[packet] : times[submission],
            end: ran ? Math.min(ends[packet], run.end) : times[submission],
            kind: "used",
            isWrite: writes[r] === 1,
            table: "submissions",
            row: submission,
            what: `${writes[r] ? "written" : "read"} by ${rowName(run, "submissions", submission)}`,
        });
    }
    return events;
}

function choices(run: Run, row: number): LifeEvent[] {
    const times = run.values("victims", "time");
    return Array.from(run.referring("victims", "allocation", row), r => ({
        time: times[r],
        end: times[r],
        kind: "chosen",
        what: `chosen to leave: ${run.text("victims", "why", r)}`,
        table: "victims",
        row: r,
    }));
}

export function lifeTable(events: LifeEvent[], height: number, label: string): HTMLElement {
    return grid({
        label,
        rows: events.length,
        height,
        hasFilter: events.length > 12,
        columns: [
            {
                title: "time",
                isNumber: true,
                width: "6em",
                cell: i =>
                    link(
                        `timeline?at=${events[i].time}&select=${events[i].table}.${events[i].row}`,
                        format.moment(events[i].time),
                    ),
                key: i => events[i].time,
            },
            {
                title: "what",
                width: "minmax(6em, 1fr)",
                cell: i => link(`row/${events[i].table}/${events[i].row}`, events[i].what),
                find: i => events[i].what,
                key: i => events[i].what,
            },
            {
                title: "took",
                isNumber: true,
                width: "5em",
                cell: i =>
                    events[i].end > events[i].time
                        ? format.duration(events[i].end - events[i].time)
                        : "",
                key: i => events[i].end - events[i].time,
            },
        ],
    });
}

const STRIP_COLOURS: Record<LifeEvent["kind"], string> = {
    exists: "var(--ink-faint)",
    placed: "var(--kind-0)",
    moved: "var(--kind-1)",
    mapped: "var(--kind-2)",
    used: "var(--kind-4)",
    chosen: "var(--kind-3)",
    finding: "var(--bad)",
};
const STRIP_LEAST = 640; /* pixels wide: narrower, its words cannot be read, so it scrolls */
const STRIP_MOST = 1500; /* shapes of one lane; a longer lane is thinned to what its pixels show */
const STRIP_WHOLE = 200; /* so many are drawn before one is left out */
const STRIP_LEFT = 150,
    STRIP_RIGHT = 12,
    STRIP_TOP = 8,
    STRIP_BOTTOM = 22,
    STRIP_ROW = 22;

interface StripScale {
    from: number;
    to: number;
    width: number;
    x(time: number): number;
}

/* The life as one strip: a lane for each kind of event that happened. */
export function lifeStrip(
    events: LifeEvent[],
    from: number,
    to: number,
    width: number,
    label: string,
): HTMLElement {
    const kinds = LIFE_KINDS.filter(([kind]) => events.some(e => e.kind === kind));
    const height = STRIP_TOP + kinds.length * STRIP_ROW + STRIP_BOTTOM;
    const span = Math.max(1, to - from);
    const scale: StripScale = {
        from,
        to,
        width,
        x: t => STRIP_LEFT + ((t - from) / span) * (width - STRIP_LEFT - STRIP_RIGHT),
    };
    const id = newId("strip");
    const picture = svg(
        "svg",
        {
            viewBox: `0 0 ${width} ${height}`,
            role: "img",
            "aria-labelledby": id,
            class: "strip",
            style: `min-width:${Math.min(width, STRIP_LEAST)}px`,
        },
        svg("title", { id }, label),
    );
    picture.append(...stripTicks(scale, height));
    kinds.forEach(([kind, name], lane) => {
        const y = STRIP_TOP + lane * STRIP_ROW;
        picture.append(...stripLane(scale, name, y), ...stripEvents(events, kind, scale, y));
    });
    return h("div", { class: "scrolls", tabindex: 0, role: "group", "aria-label": label }, picture);
}

function stripTicks({ from, to, width, x }: StripScale, height: number): SVGElement[] {
    const marks: SVGElement[] = [];
    const step = format.axisStep(Math.max(1, to - from), (width - STRIP_LEFT) / 120);
    for (let t = Math.ceil(from / step) * step; t <= to; t += step)
        marks.push(
            svg("line", {
                x1: x(t),
                x2: x(t),
                y1: STRIP_TOP,
                y2: height - STRIP_BOTTOM,
                class: "grid-line",
            }),
            svg(
                "text",
                {
                    x: Math.min(x(t), width - 30),
                    y: height - 6,
                    class: "tick",
                    "text-anchor": "middle",
                },
                format.moment(t, step),
            ),
        );
    return marks;
}

/* The name of a lane, and the line below it. */
function stripLane({ width }: StripScale, name: string, y: number): SVGElement[] {
    return [
        svg("text", { x: STRIP_LEFT - 10, y: y + 15, class: "lane", "text-anchor": "end" }, name),
        svg("line", {
            x1: STRIP_LEFT,
            x2: width - STRIP_RIGHT,
            y1: y + STRIP_ROW - 0.5,
            y2: y + STRIP_ROW - 0.5,
            class: "grid-line",
        }),
    ];
}

function stripEvents(
    events: LifeEvent[],
    kind: LifeEvent["kind"],
    { from, to, x }: StripScale,
    y: number,
): SVGElement[] {
    const shapes: SVGElement[] = [];
    let lastX = -Infinity;
    for (const e of events) {
        if (e.kind !== kind || e.end < from || e.time > to) continue;
        const x0 = x(Math.max(from, e.time)),
            x1 = x(Math.min(to, e.end));
        if (x1 < lastX + 0.7 && shapes.length > STRIP_WHOLE) continue;
        if (shapes.length === STRIP_MOST) break;
        lastX = Math.max(lastX, x1);
        const isPoint = x1 - x0 < 1.5;
        shapes.push(
            svg(
                "rect",
                {
                    x: isPoint ? x0 - 1 : x0,
                    y: y + (kind === "exists" ? 9 : kind === "finding" ? 1 : 4),
                    width: isPoint ? 2 : x1 - x0,
                    height: kind === "exists" ? 4 : kind === "finding" ? 20 : 14,
                    rx: isPoint ? 0 : 2,
                    fill: STRIP_COLOURS[kind],
                    opacity: kind === "used" && !e.isWrite ? 0.55 : 1,
                },
                svg("title", {}, `${format.moment(e.time)}: ${e.what}`),
            ),
        );
    }
    return shapes;
}
