/*
 * The words by which a slice of the timeline is found: what it is called, its objects and its
 * status.
 */
import type { Run } from "./data.js";
import * as format from "./format.js";
import { sliceLabel, type Slices } from "./lanes.js";

const KNOWN_MOST = 200000; /* texts that are remembered */

/* Slices that have all the words, in the order of time. null: there are no words. */
export function findSlices(run: Run, slices: Slices, words: string): Uint32Array | null {
    const parts = words.trim().toLowerCase().split(/\s+/).filter(Boolean);
    if (!parts.length) return null;
    const found: number[] = [];
    const known = new Map<string, boolean>();
    /* Texts that describe a row come from few columns: look at each combination once. */
    for (let i = 0; i < slices.rects.count; i++) {
        const lane = slices.lanes[slices.laneOf[i]];
        const row = slices.rowOf[i];
        const key = `${lane.table}/${lane.name}/${searchKey(run, lane.table, row).join("/")}`;
        let is = known.get(key);
        if (is === undefined) {
            const text = `${lane.name} ${searchText(run, lane.table, row)}`.toLowerCase();
            is = parts.every(p => text.includes(p));
            if (known.size < KNOWN_MOST) known.set(key, is);
        }
        if (is) found.push(i);
    }
    found.sort((a, b) => slices.rects.x0[a] - slices.rects.x0[b]);
    return Uint32Array.from(found);
}

/* Rows of a table with the same key have the same words. */
function searchKey(run: Run, table: string, row: number): number[] {
    const v = (column: string): number => run.values(table, column)[row];
    switch (table) {
        case "calls":
            return [v("name"), v("operation"), v("object"), v("status")];
        case "operations":
            return [v("name"), v("allocation"), v("process")];
        case "marks":
            return [v("kind"), v("text"), v("object")];
        case "packets":
            return [v("kind"), v("number"), v("context")];
        default:
            return [row];
    }
}

export function searchText(run: Run, table: string, row: number): string {
    return [sliceLabel(run, table, row), ...otherWords(run, table, row)].join(" ");
}

/* What the label of the slice does not say. */
function otherWords(run: Run, table: string, row: number): string[] {
    const v = (column: string): number => run.values(table, column)[row];
    const object = (column: string): string => run.objectWords(v(column));
    switch (table) {
        case "calls":
            return [object("object"), format.status(v("status")), `#${v("sequence")}`];
        case "operations":
            return [object("allocation"), object("process"), `${v("number")}`];
        case "jobs":
            return [object("allocation")];
        case "packets":
        case "submissions":
            return [
                object("context"),
                `${table.replace(/s$/, "")} ${v("number")}`,
                `fence ${v("fence")}`,
            ];
        case "requests":
            return [object("process"), object("context"), format.status(v("status"))];
        case "client_calls":
            return [object("process"), format.status(v("status"))];
        case "fence_waits":
            return ["wait for a fence", object("process")];
        case "marks":
            return [object("object"), run.text("marks", "kind", row)];
        default:
            return [];
    }
}
