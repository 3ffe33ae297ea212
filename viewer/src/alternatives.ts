/*
 * Alternatives of a campaign: what `drydock ops` counts. A square is an alternative of an operation
 * or a list; it says in how many runs a call had it.
 */
import { listIn, numberIn, textIn, type Facts } from "./app.js";
import { grid, h, legend, section } from "./dom.js";
import * as format from "./format.js";

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

export function alternativesSection(facts: Facts): HTMLElement | null {
    const list = alternativesOf(facts);
    if (!list.length) return null;
    const structures = new Map<string, Alternative[]>();
    for (const a of list) {
        const of = structures.get(a.structure);
        if (of) of.push(a);
        else structures.set(a.structure, [a]);
    }
    const most = Math.max(1, ...list.map(a => a.runs));
    const said = h("p", { class: "readout", "aria-live": "polite" }, " ");
    const say = (a: Alternative): string =>
        `${a.structure}, ${a.name} (${a.condition}; ${a.source}): ${often(a)}.`;
    const share = (a: Alternative): string =>
        (0.25 + (0.75 * Math.log(1 + a.runs)) / Math.log(1 + most)).toFixed(2);
    const cell = (a: Alternative): HTMLElement => {
        const square = h("button", {
            type: "button",
            class: `cell ${a.runs ? "kept" : a.reason ? "cannot" : "never"}`,
            "aria-label": say(a),
            title: say(a),
            style: a.runs ? `--share:${share(a)}` : null,
        });
        for (const event of ["pointerenter", "focus", "click"])
            square.addEventListener(event, () => {
                said.textContent = say(a);
            });
        return square;
    };
    const map = h(
        "div",
        { class: "coverage" },
        [...structures].map(([name, of]) =>
            h(
                "div",
                { class: "area" },
                h(
                    "h3",
                    {},
                    name,
                    " ",
                    h("small", {}, `${of.filter(a => a.runs).length} of ${of.length}`),
                ),
                h("div", { class: "cells" }, of.map(cell)),
            ),
        ),
    );
    const asTable = (): HTMLElement =>
        grid({
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
    const picture = h(
        "div",
        {},
        legend([
            { colour: "var(--kind-0)", label: "a call had it (the deeper, the more runs)" },
            { colour: "var(--line)", label: "no call had it", mark: "hatch" },
            { colour: "transparent", label: "no run can have it", mark: "dotted" },
        ]),
        map,
        said,
    );
    const holder = h("div", {}, picture);
    const button = h(
        "button",
        {
            type: "button",
            class: "quiet",
            "aria-pressed": "false",
            "aria-label": "Coverage of operations: as a table",
        },
        "Table",
    );
    let table: HTMLElement | null = null;
    button.addEventListener("click", () => {
        const shows = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shows));
        holder.replaceChildren(shows ? (table ??= asTable()) : picture);
    });
    const element = section(
        "Coverage of operations",
        "A square is an alternative that the documents name of an operation's arguments " +
            "(drydock ops). Calls of this campaign had " +
            `${format.count(list.filter(a => a.runs).length)} of ${format.count(list.length)}; ` +
            `${format.count(list.filter(a => !a.runs && a.reason).length)} no run can have.`,
        holder,
    );
    element.querySelector(".card-head")?.append(button);
    return element;
}
