/*
 * The life of an allocation: all that the story tells of it, in order of time. The map's inspector,
 * the page of a finding and the row of an allocation show it.
 */
import { NEVER } from "./decode.js";
import type { Run } from "./data.js";
import { grid, h, link, newId, svg } from "./dom.js";
import * as format from "./format.js";
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

/* row: of objects. limit: of references, which may be very many; the first and the last stay. */
export function lifeOf(run: Run, row: number): LifeEvent[] {
    const events: LifeEvent[] = [];
    const created = run.values("objects", "created")[row];
    const destroyed = run.values("objects", "destroyed")[row];
    const size = run.values("objects", "bytes")[row];
    if (created !== NEVER)
        events.push({
            time: created,
            end: Math.min(destroyed, run.end),
            kind: "exists",
            what: `created, ${format.bytes(size)}`,
            table: "objects",
            row,
        });
    if (destroyed !== NEVER)
        events.push({
            time: destroyed,
            end: destroyed,
            kind: "exists",
            what: "destroyed",
            table: "objects",
            row,
        });

    const why = (column: string, r: number): string => run.text("places", column, r);
    const from = run.values("places", "from"),
        to = run.values("places", "to");
    const segments = run.values("places", "segment"),
        offsets = run.values("places", "offset");
    for (const r of run.referring("places", "allocation", row)) {
        const reason = why("why_came", r);
        events.push({
            time: from[r],
            end: Math.min(to[r], run.end),
            kind: "placed",
            table: "places",
            row: r,
            what:
                `placed at ${format.hex(offsets[r])} of ${run.objectName(segments[r])}` +
                `${reason ? `: ${reason}` : ""}`,
        });
        if (to[r] !== NEVER) {
            const left = why("why_left", r);
            const evictor = run.values("places", "evictor")[r];
            events.push({
                time: to[r],
                end: to[r],
                kind: "placed",
                table: "places",
                row: r,
                what:
                    `left ${run.objectName(segments[r])}${left ? `: ${left}` : ""}` +
                    `${evictor ? `, for ${run.objectName(evictor)}` : ""}`,
            });
        }
    }
    const asked = run.values("operations", "asked"),
        retired = run.values("operations", "retired");
    for (const r of run.referring("operations", "allocation", row))
        events.push({
            time: asked[r],
            end: Math.min(retired[r], run.end),
            kind: "moved",
            table: "operations",
            row: r,
            what:
                `${run.text("operations", "name", r)}, ` +
                `${format.bytes(run.values("operations", "bytes")[r])}`,
        });
    const mapFrom = run.values("mappings", "from"),
        mapTo = run.values("mappings", "to");
    for (const r of run.referring("mappings", "allocation", row)) {
        const va = format.hex(run.values("mappings", "va")[r]);
        events.push({
            time: mapFrom[r],
            end: Math.min(mapTo[r], run.end),
            kind: "mapped",
            what: `mapped at ${va}`,
            table: "mappings",
            row: r,
        });
        if (mapTo[r] !== NEVER)
            events.push({
                time: mapTo[r],
                end: mapTo[r],
                kind: "mapped",
                what: `unmapped at ${va}`,
                table: "mappings",
                row: r,
            });
    }
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
    for (const r of run.referring("victims", "allocation", row)) {
        const time = run.values("victims", "time")[r];
        events.push({
            time,
            end: time,
            kind: "chosen",
            what: `chosen to leave: ${run.text("victims", "why", r)}`,
            table: "victims",
            row: r,
        });
    }
    return events.filter(e => e.time !== NEVER).sort((a, b) => a.time - b.time);
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

/* The life as one strip: a lane for each kind of event that happened. */
export function lifeStrip(
    events: LifeEvent[],
    from: number,
    to: number,
    width: number,
    label: string,
): HTMLElement {
    const kinds = LIFE_KINDS.filter(([kind]) => events.some(e => e.kind === kind));
    const left = 150,
        rowHeight = 22,
        top = 8,
        bottom = 22;
    const height = top + kinds.length * rowHeight + bottom;
    const span = Math.max(1, to - from);
    const x = (t: number): number => left + ((t - from) / span) * (width - left - 12);
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
    const step = format.axisStep(span, (width - left) / 120);
    for (let t = Math.ceil(from / step) * step; t <= to; t += step) {
        picture.append(
            svg("line", { x1: x(t), x2: x(t), y1: top, y2: height - bottom, class: "grid-line" }),
        );
        picture.append(
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
    }
    kinds.forEach(([kind, name], lane) => {
        const y = top + lane * rowHeight;
        picture.append(
            svg("text", { x: left - 10, y: y + 15, class: "lane", "text-anchor": "end" }, name),
        );
        picture.append(
            svg("line", {
                x1: left,
                x2: width - 12,
                y1: y + rowHeight - 0.5,
                y2: y + rowHeight - 0.5,
                class: "grid-line",
            }),
        );
        let drawn = 0;
        let lastX = -Infinity;
        for (const e of events) {
            if (e.kind !== kind || e.end < from || e.time > to) continue;
            const x0 = x(Math.max(from, e.time)),
                x1 = x(Math.min(to, e.end));
            if (x1 < lastX + 0.7 && drawn > 200) continue;
            if (++drawn > STRIP_MOST) break;
            lastX = Math.max(lastX, x1);
            const isPoint = x1 - x0 < 1.5;
            picture.append(
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
    });
    return h("div", { class: "scrolls", tabindex: 0, role: "group", "aria-label": label }, picture);
}
