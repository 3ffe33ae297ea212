/*
 * Curves (uPlot): values that hold until the next point, over the window of time that all views
 * share.
 */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { themeColour, type TimeWindow } from "./canvas.js";
import * as format from "./format.js";
import { h, newId } from "./dom.js";
import { grid } from "./grid.js";
import { onTheme } from "./theme.js";

export interface Curve {
    name: string;
    colour: string; /* a property of the style sheet: "--kind-0" */
    times: number[];
    values: number[];
    isDashed?: boolean;
    isFilled?: boolean;
}

type Unit = "bytes" | "count" | "share";

const say = (unit: Unit, v: number): string =>
    unit === "bytes" ? format.bytes(v) : unit === "share" ? format.percent(v) : format.count(v);

/* Curves on one axis of times: each value holds until its next. */
function joined(curves: Curve[]): [number[], ...(number | null)[][]] {
    const times = [...new Set(curves.flatMap(c => c.times))].sort((a, b) => a - b);
    const columns = curves.map(curve => {
        let at = -1;
        return times.map(t => {
            while (at + 1 < curve.times.length && curve.times[at + 1] <= t) at++;
            return at < 0 ? null : curve.values[at];
        });
    });
    return [times, ...columns];
}

type Kind = "steps" | "bars"; /* bars: each point is a bucket that begins at its time */

const HEIGHT = 190;
const SPLITS_MOST = 50;

/* Where marks stand on an axis: round numbers, about so many; of bytes, powers of two. */
function splits(isBinary: boolean, wanted: number) {
    return (_: uPlot, __: number, from: number, to: number): number[] => {
        const step = format.axisStep(to - from, wanted, isBinary);
        const out: number[] = [];
        for (let v = Math.ceil(from / step) * step; v <= to && out.length < SPLITS_MOST; v += step)
            out.push(v);
        return out;
    };
}

function axes(width: number, unit: Unit): uPlot.Axis[] {
    const axis = {
        grid: { stroke: () => themeColour("--line-soft"), width: 1 },
        ticks: { show: false },
        stroke: () => themeColour("--ink-soft"),
        font: "11px system-ui, sans-serif",
    };
    return [
        {
            ...axis,
            size: 26,
            splits: splits(false, Math.max(2, width / 120)),
            values: (_, ticks) =>
                ticks.map(v => format.moment(v, ticks.length > 1 ? ticks[1] - ticks[0] : 0)),
        },
        {
            ...axis,
            size: 76,
            splits: splits(unit === "bytes", 4),
            values: (_, ticks) => ticks.map(v => say(unit, v)),
        },
    ];
}

function seriesOf(curve: Curve, kind: Kind): uPlot.Series {
    const { bars, stepped } = uPlot.paths as Required<typeof uPlot.paths>;
    const look =
        kind === "bars"
            ? {
                  width: 0,
                  fill: () => themeColour(curve.colour),
                  paths: bars({ size: [1, 100], align: 1, gap: 1 }),
              }
            : {
                  width: 1.75,
                  fill: curve.isFilled ? () => `${themeColour(curve.colour)}22` : undefined,
                  paths: stepped({ align: 1 }),
              };
    return {
        label: curve.name,
        stroke: () => themeColour(curve.colour),
        dash: curve.isDashed ? [5, 4] : undefined,
        points: { show: false },
        ...look,
    };
}

/* The range that was dragged over becomes the window of time. */
function takeSelection(plot: uPlot, time: TimeWindow): void {
    const { left, width } = plot.select;
    if (width < 4) return;
    time.set(plot.posToVal(left, "x"), plot.posToVal(left + width, "x"));
    plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
}

/* A legend whose entries show and hide their curves. */
function switches(list: Curve[], kind: Kind, show: (k: number, shows: boolean) => void) {
    return h(
        "ul",
        { class: "legend", "aria-label": "Legend" },
        list.map((curve, k) => {
            const id = newId("curve");
            const button = h(
                "button",
                { type: "button", id, "aria-pressed": "true", title: `Show or hide ${curve.name}` },
                h("span", {
                    class: `swatch ${kind === "bars" ? "box" : curve.isDashed ? "dash" : "line"}`,
                    style: `--c:var(${curve.colour})`,
                    "aria-hidden": "true",
                }),
                curve.name,
            );
            button.addEventListener("click", () => {
                const shows = button.getAttribute("aria-pressed") !== "true";
                button.setAttribute("aria-pressed", String(shows));
                show(k, shows);
            });
            return h("li", {}, button);
        }),
    );
}

/* A plot, its legend, and what the curves are at the pointer. */
export function curves(
    label: string,
    list: Curve[],
    unit: Unit,
    time: TimeWindow,
    kind: Kind = "steps",
    height = HEIGHT,
): HTMLElement {
    const data = joined(list);
    const holder = h("div", { class: "chart", role: "img", "aria-label": label });
    const value = h("p", { class: "readout" }, " ");
    let plot: uPlot | null = null;
    const readOut = (i: number | null | undefined): void => {
        if (i === null || i === undefined) {
            value.textContent = " ";
            return;
        }
        const parts = list.map((c, k) => `${c.name} ${say(unit, data[k + 1][i] ?? 0)}`);
        value.textContent = `${format.moment(data[0][i])}: ${parts.join(", ")}`;
    };
    const draw = (): void => {
        const width = holder.clientWidth;
        if (!width) return;
        plot?.destroy();
        plot = new uPlot(
            {
                width,
                height,
                legend: { show: false },
                padding: [10, 16, 0, 0],
                cursor: { drag: { x: true, y: false }, points: { size: 5 } },
                scales: {
                    x: { time: false, min: time.t0, max: time.t1 },
                    y: { range: (_, min, max) => [Math.min(0, min), max > 0 ? max * 1.06 : 1] },
                },
                axes: axes(width, unit),
                series: [{}, ...list.map(curve => seriesOf(curve, kind))],
                hooks: {
                    setSelect: [u => takeSelection(u, time)],
                    setCursor: [u => readOut(u.cursor.idx)],
                },
            },
            data as uPlot.AlignedData,
            holder,
        );
        holder.querySelector(".u-wrap")?.setAttribute("aria-hidden", "true");
    };
    const follow = (): void => {
        if (!plot || !holder.isConnected) return;
        const { min, max } = plot.scales.x;
        if (min !== time.t0 || max !== time.t1) plot.setScale("x", { min: time.t0, max: time.t1 });
    };
    new ResizeObserver(() => {
        if (!plot || plot.width !== holder.clientWidth) draw();
        follow(); /* it may have been out of sight while the window moved */
    }).observe(holder);
    time.watch(follow);
    onTheme(draw);
    const keys = switches(list, kind, (k, shows) => plot?.setSeries(k + 1, { show: shows }));
    return h("div", { class: "chart-block" }, keys, holder, value);
}

export function curveTable(label: string, list: Curve[], unit: Unit): HTMLElement {
    const rows = list
        .flatMap((curve, k) => curve.times.map((t, i) => ({ k, t, v: curve.values[i] })))
        .sort((a, b) => a.t - b.t);
    return grid({
        label,
        rows: rows.length,
        height: 220,
        columns: [
            {
                title: "time",
                isNumber: true,
                cell: i => format.moment(rows[i].t),
                key: i => rows[i].t,
            },
            { title: "curve", cell: i => list[rows[i].k].name, key: i => list[rows[i].k].name },
            {
                title: "value",
                isNumber: true,
                cell: i => say(unit, rows[i].v),
                key: i => rows[i].v,
            },
        ],
    });
}
