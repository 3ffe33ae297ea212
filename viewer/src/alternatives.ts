/*
 * Alternatives of a campaign: what `drydock ops` counts. A square is an alternative of an operation
 * or a list; it says in how many runs a call had it.
 */
import { listIn, numberIn, textIn, type Facts } from "./app.js";
import { h, pictured } from "./dom.js";
import * as format from "./format.js";
import { grid } from "./grid.js";
import { squareMap, type Square } from "./squares.js";

export interface Alternative {
    structure: string;
    name: string;
    condition: string;
    source: string; /* the rule of the contract that names it */
    runs: number;
    reason: string; /* why no run can have it; "" */
}

export function alternativesOf(facts: Facts): Alternative[] {
    return listIn(facts, "alternatives").map(a => ({
        structure: textIn(a, "structure"),
        name: textIn(a, "name"),
        condition: textIn(a, "condition"),
        source: textIn(a, "source"),
        runs: numberIn(a, "runs") ?? 0,
        reason: textIn(a, "reason"),
    }));
}

function often(a: Alternative): string {
    if (a.runs) return `in ${format.plural(a.runs, "run")}`;
    return a.reason ? `no run can have it: ${a.reason}` : "in no run";
}

function squareOf(a: Alternative): Square {
    return {
        area: a.structure,
        kind: a.runs ? "kept" : a.reason ? "cannot" : "never",
        times: a.runs,
        says: `${a.structure}, ${a.name} (${a.condition}; ${a.source}): ${often(a)}.`,
    };
}

function alternativesGrid(list: Alternative[]): HTMLElement {
    return grid({
        label: "Coverage of operations",
        rows: list.length,
        height: 420,
        columns: [
            {
                title: "operation or list",
                width: "16em",
                cell: i => h("code", {}, list[i].structure),
                key: i => list[i].structure,
            },
            {
                title: "alternative",
                width: "minmax(14em, 2fr)",
                cell: i => list[i].name,
                key: i => list[i].name,
            },
            {
                title: "runs",
                isNumber: true,
                width: "6em",
                cell: i => (list[i].runs ? format.count(list[i].runs) : "none"),
                key: i => list[i].runs,
            },
            {
                title: "condition",
                width: "minmax(12em, 2fr)",
                cell: i => h("code", {}, list[i].condition),
            },
            { title: "rule", width: "7em", cell: i => list[i].source },
            { title: "why none", width: "minmax(10em, 2fr)", cell: i => list[i].reason },
        ],
    });
}

export function alternativesSection(facts: Facts): HTMLElement | null {
    const list = alternativesOf(facts);
    if (!list.length) return null;
    const had = list.filter(a => a.runs).length;
    const cannot = list.filter(a => !a.runs && a.reason).length;
    return pictured(
        "Coverage of operations",
        "A square is an alternative that the documents name of an operation's arguments " +
            `(drydock ops). Calls of this campaign had ${format.count(had)} of ` +
            `${format.count(list.length)}; ${format.count(cannot)} no run can have.`,
        squareMap(list.map(squareOf), {
            legend: {
                kept: "a call had it (the deeper, the more runs)",
                never: "no call had it",
                cannot: "no run can have it",
            },
        }),
        () => alternativesGrid(list),
    );
}
