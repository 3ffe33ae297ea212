/*
 * What the colours of allocations in the segment map say: whose they are, what they are for, how
 * often they were placed, or how large they are.
 */
import { amountColour, KIND_COLOURS, kindColour, neutral } from "./colours.js";
import type { Run } from "./data.js";
import * as format from "./format.js";

export type ColourBy = "process" | "use" | "moves" | "size";

export const COLOURS_BY: [ColourBy, string][] = [
    ["process", "process"],
    ["use", "kind of use"],
    ["moves", "how often it was placed"],
    ["size", "size"],
];

/* "weight" of "layer3.attention.weight2": what allocations with alike names are for. */
export function useOf(name: string): string {
    const last =
        name
            .split(/[./:\s]/)
            .filter(Boolean)
            .pop() ?? "";
    return last.replace(/[-_]?\d+$/, "") || "(no name)";
}

export interface Scheme {
    of: Uint32Array; /* colour by row of objects */
    legend: { colour: number; label: string }[];
}

function categories(
    run: Run,
    rows: number[],
    kindOf: (row: number) => string,
    of: Uint32Array,
): Scheme["legend"] {
    /* Those that take most of the map, in bytes and time, have colours of their own. */
    const areas = new Float64Array(run.rows("objects"));
    const allocation = run.values("places", "allocation"),
        bytes = run.values("places", "bytes"),
        from = run.values("places", "from"),
        to = run.values("places", "to"),
        segment = run.values("places", "segment");
    for (let i = 0; i < allocation.length; i++)
        if (allocation[i] && segment[i])
            areas[allocation[i] - 1] += bytes[i] * (Math.min(run.end, to[i]) - from[i]);
    const sizes = new Map<string, number>();
    for (const row of rows) sizes.set(kindOf(row), (sizes.get(kindOf(row)) ?? 0) + areas[row]);
    const order = [...sizes].sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1)).map(e => e[0]);
    const colours = new Map(order.map((name, n) => [name, kindColour(n)]));
    for (const row of rows) of[row] = colours.get(kindOf(row)) as number;
    const legend = order
        .slice(0, KIND_COLOURS - 1)
        .map((label, n) => ({ colour: kindColour(n), label }));
    if (order.length >= KIND_COLOURS)
        legend.push({
            colour: kindColour(KIND_COLOURS - 1),
            label:
                order.length === KIND_COLOURS
                    ? order[KIND_COLOURS - 1]
                    : `${order.length - KIND_COLOURS + 1} others`,
        });
    return legend;
}

export function colourScheme(run: Run, by: ColourBy): Scheme {
    const of = new Uint32Array(run.rows("objects")).fill(neutral());
    const rows = run.objectsOf("allocation");
    if (by === "process") {
        const process = run.values("objects", "process");
        return {
            of,
            legend: categories(run, rows, row => run.objectName(process[row]) || "the system", of),
        };
    }
    if (by === "use")
        return {
            of,
            legend: categories(run, rows, row => useOf(run.text("objects", "name", row)), of),
        };
    const values = run.values("objects", by === "moves" ? "placed" : "bytes");
    let most = 1;
    for (const row of rows) most = Math.max(most, values[row]);
    const low = by === "size" ? 4096 : 1;
    const share = (v: number): number =>
        Math.log(Math.max(1, v / low)) / Math.max(1e-9, Math.log(Math.max(2, most / low)));
    for (const row of rows) of[row] = amountColour(share(values[row]));
    const marks = [
        ...new Set(
            [0, 0.25, 0.5, 0.75, 1].map(s =>
                by === "size"
                    ? 2 ** Math.round(Math.log2(low * (most / low) ** s))
                    : Math.round(most ** s),
            ),
        ),
    ];
    return {
        of,
        legend: marks.map(v => ({
            colour: amountColour(share(v)),
            label: by === "size" ? format.bytes(v) : `${format.count(v)} ×`,
        })),
    };
}
