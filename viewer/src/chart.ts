/*
 * Curves (uPlot): values that hold until the next point, over the window of time that all views
 * share.
 */
import uPlot from "uplot";
import "uplot/dist/uPlot.min.css";
import { themeColour, type TimeWindow } from "./canvas.js";
import * as format from "./format.js";
import { grid, h, newId } from "./dom.js";
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

/* A plot; kind "bars": each point is a bucket that begins at its time. */
export function curves(
    label: string,
    list: Curve[],
    unit: Unit,
    time: TimeWindow,
    kind: "steps" | "bars" = "steps",
    height = 190,
): HTMLElement {
    const data = joined(list);
    const holder = h("div", { class: "chart", role: "img", "aria-label": label });
    let plot: uPlot | null = null;
    const stops: (() => void)[] = [];
    const axis = {
        grid: { stroke: () => themeColour("--line-soft"), width: 1 },
        ticks: { show: false },
        stroke: () => themeColour("--ink-soft"),
        font: "11px system-ui, sans-serif",
    };
    const splits =
        (binary: boolean, wanted: number) =>
        (_: uPlot, __: number, from: number, to: number): number[] => {
            const step = format.axisStep(to - from, wanted, binary);
            const out: number[] = [];
            for (let v = Math.ceil(from / step) * step; v <= to && out.length < 50; v += step)
                out.push(v);
            return out;
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
                axes: [
                    {
                        ...axis,
                        size: 26,
                        splits: splits(false, Math.max(2, width / 120)),
                        values: (_, ticks) =>
                            ticks.map(v =>
                                format.moment(v, ticks.length > 1 ? ticks[1] - ticks[0] : 0),
                            ),
                    },
                    {
                        ...axis,
                        size: 76,
                        splits: splits(unit === "bytes", 4),
                        values: (_, ticks) => ticks.map(v => say(unit, v)),
                    },
                ],
                series: [
                    {},
                    ...list.map((curve): uPlot.Series => ({
                        label: curve.name,
                        stroke: () => themeColour(curve.colour),
                        width: kind === "bars" ? 0 : 1.75,
                        dash: curve.isDashed ? [5, 4] : undefined,
                        fill:
                            kind === "bars"
                                ? () => themeColour(curve.colour)
                                : curve.isFilled
                                  ? () => `${themeColour(curve.colour)}22`
                                  : undefined,
                        points: { show: false },
                        paths:
                            kind === "bars"
                                ? (uPlot.paths.bars as NonNullable<typeof uPlot.paths.bars>)({
                                      size: [1, 100],
                                      align: 1,
                                      gap: 1,
                                  })
                                : (uPlot.paths.stepped as NonNullable<typeof uPlot.paths.stepped>)({
                                      align: 1,
                                  }),
                    })),
                ],
                hooks: {
                    setSelect: [
                        u => {
                            if (u.select.width < 4) return;
                            time.set(
                                u.posToVal(u.select.left, "x"),
                                u.posToVal(u.select.left + u.select.width, "x"),
                            );
                            u.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false);
                        },
                    ],
                    setCursor: [
                        u => {
                            const i = u.cursor.idx;
                            if (i === null || i === undefined) {
                                value.textContent = " ";
                                return;
                            }
                            const parts = list.map(
                                (c, k) => `${c.name} ${say(unit, data[k + 1][i] ?? 0)}`,
                            );
                            value.textContent = `${format.moment(data[0][i])}: ${parts.join(", ")}`;
                        },
                    ],
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
    const value = h("p", { class: "readout" }, " ");
    const observer = new ResizeObserver(() => {
        if (!plot || plot.width !== holder.clientWidth) draw();
        follow(); /* it may have been out of sight while the window moved */
    });
    observer.observe(holder);
    stops.push(time.watch(follow), onTheme(draw));
    const keys = h(
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
                plot?.setSeries(k + 1, { show: shows });
            });
            return h("li", {}, button);
        }),
    );
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
