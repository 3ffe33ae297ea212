/*
 * What a campaign covered, as a map: areas of squares, each of which says what it is when it is
 * pointed at.
 */
import { h, legend, type Child } from "./dom.js";

type Kind = "kept" | "broken" | "never" | "cannot";

export interface Square {
    area: string;
    kind: Kind;
    times: number; /* how often it was seen: the more, the deeper its colour */
    says: string;
}

export interface SquareWords {
    legend: Partial<Record<Kind, string>>;
    area?: (name: string) => string; /* what an area is about */
}

const MARKS: Record<Kind, { colour: string; mark?: "hatch" | "dotted" }> = {
    kept: { colour: "var(--kind-0)" },
    broken: { colour: "var(--bad)" },
    never: { colour: "var(--line)", mark: "hatch" },
    cannot: { colour: "transparent", mark: "dotted" },
};

function areasOf(squares: Square[]): Map<string, Square[]> {
    const areas = new Map<string, Square[]>();
    for (const square of squares) {
        const list = areas.get(square.area);
        if (list) list.push(square);
        else areas.set(square.area, [square]);
    }
    return areas;
}

/* A long name of the headers, which may go on in the next line behind an underscore. */
function breakable(name: string): Child[] {
    return name.split(/(?<=_)/).flatMap((part, i): Child[] => (i ? [h("wbr"), part] : [part]));
}

export function squareMap(squares: Square[], words: SquareWords): HTMLElement {
    const most = Math.max(1, ...squares.map(s => s.times));
    const said = h("p", { class: "readout", "aria-live": "polite" }, " ");
    const share = (s: Square): string =>
        (0.25 + (0.75 * Math.log(1 + s.times)) / Math.log(1 + most)).toFixed(2);
    const cell = (s: Square): HTMLElement => {
        const show = (): void => {
            said.textContent = s.says;
        };
        return h("button", {
            type: "button",
            class: `cell ${s.kind}`,
            "aria-label": s.says,
            title: s.says,
            style: s.kind === "kept" ? `--share:${share(s)}` : null,
            pointerenter: show,
            focus: show,
            click: show,
        });
    };
    const area = (name: string, list: Square[]): HTMLElement => {
        const seen = list.filter(s => s.kind === "kept" || s.kind === "broken").length;
        return h(
            "div",
            { class: "area" },
            h("h3", {}, breakable(name), " ", h("small", {}, `${seen} of ${list.length}`)),
            words.area ? h("p", { class: "area-text" }, words.area(name)) : null,
            h("div", { class: "cells" }, list.map(cell)),
        );
    };
    return h(
        "div",
        {},
        legend(
            Object.entries(words.legend).map(([kind, label]) => ({
                ...MARKS[kind as Kind],
                label,
            })),
        ),
        h(
            "div",
            { class: "coverage" },
            [...areasOf(squares)].map(([name, list]) => area(name, list)),
        ),
        said,
    );
}
