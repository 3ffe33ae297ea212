/*
 * The timeline: engines, the paging queue, contexts, calls and moments, each a lane over virtual
 * time.
 */
import type { App, View } from "./app.js";
import { arrowsOf, type Arrow } from "./arrows.js";
import {
    cssColour,
    drawTimeAxis,
    fitText,
    inkOn,
    themeColour,
    TimeCanvas,
    type Pointer,
} from "./canvas.js";
import { clientArguments } from "./clients.js";
import { faded } from "./colours.js";
import type { Run } from "./data.js";
import { NEVER } from "./decode.js";
import { clear, h, legend, link } from "./dom.js";
import * as format from "./format.js";
import { grid } from "./grid.js";
import {
    buildSlices,
    kindColours,
    kindsByCount,
    sliceLabel,
    type Lane,
    type Slices,
} from "./lanes.js";
import { argumentList, details, rowName } from "./rows.js";
import { findSlices, searchText } from "./slicesearch.js";
import { onTheme } from "./theme.js";
import { chip, chips, zoomTools } from "./toolbar.js";
import { after, PaintTime, TileLayer, type TileFrame } from "./tiles.js";

const LEFT = 150,
    RIGHT = 16,
    TOP = 26,
    GROUP_HEAD = 22,
    LANE_GAP = 3;
const GROWN_MOST = 1.7; /* how much higher rows become where there is room */
const SHAPES = 2500;
/* pixels of a tile for a row: the middle one is drawn, so that no row bleeds into its neighbours */
const TILE_ROW = 3;

export class Timeline {
    readonly element: HTMLElement;
    readonly canvas: TimeCanvas;
    private readonly slices: Slices;
    private readonly layer: TileLayer;
    private readonly paint = new PaintTime();
    private colours: Uint32Array;
    private readonly fadedColours: Uint32Array;
    private isMatch: Uint8Array | null = null;
    private matchList: Uint32Array = new Uint32Array(0);
    private selected = -1; /* a slice */
    private hovered = -1;
    private arrows: Arrow[] = [];
    private measured: [number, number] | null = null;
    private scroll = 0;
    private contentHeight = 0;
    private readonly closed = new Set<string>();
    private readonly hiddenGroups = new Set<string>();
    private readonly rowTop: Float64Array; /* of each row of slices, unscrolled; -1: not shown */
    private readonly rowHeight: Float64Array;
    private heads: { group: string; y: number }[] = [];
    private readonly inspector = h("aside", { class: "inspector", "aria-label": "Selected slice" });
    private readonly readout = h("p", { class: "readout", "aria-live": "off" });
    private readonly matches = h("span", { class: "matches", "aria-live": "polite" });
    private readonly legendHolder = h("div", { class: "legend-lines" });
    readonly search: HTMLInputElement;

    constructor(
        private readonly app: App,
        private readonly run: Run,
    ) {
        this.slices = buildSlices(run);
        this.colours = kindColours(this.slices);
        this.fadedColours = new Uint32Array(this.colours.length);
        this.rowTop = new Float64Array(this.slices.rowCount);
        this.rowHeight = new Float64Array(this.slices.rowCount);
        const { slices } = this;
        this.layer = new TileLayer(
            slices.rects,
            { t0: run.begin, t1: run.end, y0: 0, y1: slices.rowCount },
            i => this.colourOf(i),
            { width: 512, height: TILE_ROW * slices.rowCount },
            false,
            SHAPES,
            0.3,
        );
        this.canvas = new TimeCanvas(
            app.time,
            {
                draw: (c, w, hgt) => this.draw(c, w, hgt),
                hover: at => this.hover(at),
                click: at => this.click(at),
                panY: by => this.scrollBy(by),
                key: event => this.key(event),
                measure: (from, to) => this.measure(from, to),
            },
            "Timeline: lanes of engines, paging queue, contexts and calls against " +
                "time. Arrow keys pan, plus and minus zoom, N and P choose a slice, Enter " +
                "opens it.",
            LEFT,
            RIGHT,
        );
        onTheme(() => {
            this.colours = kindColours(this.slices);
            this.recolour();
            this.showLegend();
        });

        this.search = this.searchField();
        this.element = h(
            "div",
            { class: "timeline" },
            h(
                "div",
                { class: "toolbar" },
                this.search,
                this.matches,
                this.groupChips(),
                zoomTools(
                    app.time,
                    () => app.time.set(run.begin, run.end),
                    h(
                        "button",
                        {
                            type: "button",
                            title: "Measure what is in sight (M)",
                            click: () => this.measure(app.time.t0, app.time.t1),
                        },
                        "Measure",
                    ),
                ),
            ),
            this.legendHolder,
            h(
                "div",
                { class: "with-inspector" },
                h("div", { class: "stage" }, this.canvas.element),
                this.inspector,
            ),
            this.readout,
        );
        this.showLegend();
        this.inspect();
    }

    private searchField(): HTMLInputElement {
        const search = h("input", {
            type: "search",
            placeholder: "Find: TRANSFER a17",
            "aria-label": "Find slices by their name, objects or status",
            spellcheck: "false",
            class: "find",
        });
        let timer = 0;
        search.addEventListener("input", () => {
            clearTimeout(timer);
            timer = window.setTimeout(() => this.find(search.value), 150);
        });
        search.addEventListener("keydown", event => {
            if (event.key !== "Enter") return;
            clearTimeout(timer);
            this.find(search.value);
            this.nextMatch(event.shiftKey ? -1 : 1);
        });
        return search;
    }

    private groupChips(): HTMLElement {
        const { hiddenGroups } = this;
        const press = (group: string): boolean => {
            const shows = hiddenGroups.delete(group);
            if (!shows) hiddenGroups.add(group);
            this.showLegend();
            this.canvas.refresh();
            return shows;
        };
        return chips(
            "Lanes",
            [...new Set(this.slices.lanes.map(lane => lane.group))].map(group =>
                chip(true, () => press(group), group),
            ),
        );
    }

    private colourOf(i: number): number {
        const kind = this.slices.colourKind[i];
        return this.isMatch && !this.isMatch[i] ? this.fadedColours[kind] : this.colours[kind];
    }

    private recolour(): void {
        for (let i = 0; i < this.colours.length; i++)
            this.fadedColours[i] = faded(this.colours[i], 0.86);
        this.layer.recolour();
        this.canvas.refresh();
    }

    /*
     * The kinds of each group in sight, a line a group, the one with most slices first; a group of
     * one kind needs none, nor do moments and steps: their lanes are named.
     */
    private showLegend(): void {
        const { slices, colours } = this;
        const groups = new Map<string, Map<number, string[]>>();
        for (const kind of kindsByCount(slices)) {
            const group = slices.kindGroups[kind];
            if (this.hiddenGroups.has(group === "Jobs" ? "Paging queue" : group)) continue;
            if (group === "Moments" || group === "Run") continue;
            const own = groups.get(group) ?? new Map<number, string[]>();
            groups.set(group, own);
            const names = own.get(colours[kind]);
            if (names) names.push(slices.kinds[kind]);
            else own.set(colours[kind], [slices.kinds[kind]]);
        }
        clear(this.legendHolder);
        for (const [group, own] of groups) {
            if (own.size < 2) continue;
            this.legendHolder.append(
                h("span", { class: "legend-name" }, group),
                legend(
                    [...own].map(([colour, names]) => ({
                        colour: cssColour(colour),
                        tip: names.join(", "),
                        label: names.length > 1 ? `${names.length} others` : names[0],
                    })),
                    `Legend of ${group}`,
                ),
            );
        }
    }

    /* Slices whose label, objects or status have all words. */
    find(words: string): void {
        const found = findSlices(this.run, this.slices, words);
        this.matchList = found ?? new Uint32Array(0);
        this.isMatch = found ? new Uint8Array(this.slices.rects.count) : null;
        for (const i of this.matchList) if (this.isMatch) this.isMatch[i] = 1;
        this.matches.textContent = found ? format.plural(found.length, "slice") : "";
        this.recolour();
    }

    private nextMatch(step: number): void {
        const list = this.matchList;
        if (!list.length) return;
        let at = list.indexOf(this.selected);
        at = at < 0 ? (step > 0 ? 0 : list.length - 1) : (at + step + list.length) % list.length;
        this.select(list[at], true);
        const all = format.plural(list.length, "slice");
        this.matches.textContent = `${format.count(at + 1)} of ${all}`;
    }

    select(slice: number, brings = false): void {
        this.selected = slice;
        const { slices, run } = this;
        if (slice < 0) this.arrows = [];
        else {
            const lane = slices.lanes[slices.laneOf[slice]];
            this.arrows = arrowsOf(run, lane.table, slices.rowOf[slice]);
            this.hiddenGroups.delete(lane.group);
            this.closed.delete(lane.group);
            this.app.announce(
                `${lane.name}: ${rowName(run, lane.table, slices.rowOf[slice])}, at ` +
                    `${format.moment(slices.rects.x0[slice])}, ` +
                    `${format.duration(slices.rects.x1[slice] - slices.rects.x0[slice])}`,
            );
            if (brings) {
                const { x0, x1 } = slices.rects;
                const time = this.app.time;
                const pixels = ((x1[slice] - x0[slice]) / time.span) * this.canvas.plotWidth;
                if (x0[slice] < time.t0 || x1[slice] > time.t1 || pixels < 6)
                    time.show(
                        x0[slice] - 4 * (x1[slice] - x0[slice]) - 200,
                        x1[slice] + 4 * (x1[slice] - x0[slice]) + 200,
                    );
                this.layout();
                const top = this.rowTop[slices.rects.y0[slice]] - this.scroll;
                const seen = this.canvas.element.clientHeight - TOP;
                if (seen > 0 && (top < 0 || top > seen - 30)) this.scrollBy(top - seen / 2);
            }
        }
        this.inspect();
        this.canvas.refresh();
    }

    /* The slice of a row of a table. */
    selectRow(table: string, row: number): void {
        const slice = this.slices.find(table, row);
        if (slice >= 0) this.select(slice, true);
    }

    private inspect(): void {
        const { inspector, run, slices } = this;
        clear(inspector);
        if (this.measured) inspector.append(this.measureTable());
        if (this.selected < 0) {
            if (!this.measured)
                inspector.append(
                    h("h3", {}, "Nothing selected"),
                    h(
                        "p",
                        { class: "says" },
                        "Click a slice, or press N with the timeline in focus, to read " +
                            "what it is and follow its arrows: from the operation to its " +
                            "packet, to the fence, to what waited. Shift and drag measures.",
                    ),
                );
            return;
        }
        const table = slices.lanes[slices.laneOf[this.selected]].table;
        const row = slices.rowOf[this.selected];
        inspector.append(
            h("h3", {}, link(`row/${table}/${row}`, rowName(run, table, row))),
            details(run, table, row),
        );
        if (table === "client_calls") {
            const given = clientArguments(run, row);
            if (given) inspector.append(h("h4", {}, "Arguments"), given);
        }
        if (table === "calls") {
            const rows = run.referring("arguments", "call", row);
            if (rows.length) inspector.append(h("h4", {}, "Arguments"), argumentList(run, rows));
        }
        if (this.arrows.length) {
            const list = h(
                "ul",
                { class: "arrows" },
                this.arrows.slice(0, 60).map(a => {
                    const isFrom = a.from.table === table && a.from.row === row;
                    const other = isFrom ? a.to : a.from;
                    const button = h(
                        "button",
                        {
                            type: "button",
                            class: "linklike",
                            click: () => this.selectRow(other.table, other.row),
                        },
                        rowName(run, other.table, other.row),
                    );
                    return isFrom
                        ? h("li", {}, `${a.what} → `, button)
                        : a.to.table === table && a.to.row === row
                          ? h("li", {}, "← ", button, ` ${a.what} this`)
                          : h(
                                "li",
                                { class: "far" },
                                `${rowName(run, a.from.table, a.from.row)} ${a.what} `,
                                h(
                                    "button",
                                    {
                                        type: "button",
                                        class: "linklike",
                                        click: () => this.selectRow(a.to.table, a.to.row),
                                    },
                                    rowName(run, a.to.table, a.to.row),
                                ),
                            );
                }),
            );
            inspector.append(h("h4", {}, "Arrows"), list);
        }
    }

    private measure(from: number, to: number | null): void {
        if (to === null || Number.isNaN(to)) this.measured = null;
        else
            this.measured = [
                Math.max(this.run.begin, Math.min(from, to)),
                Math.min(this.run.end, Math.max(from, to)),
            ];
        clearTimeout(this.measureTimer);
        this.measureTimer = window.setTimeout(() => this.inspect(), 60);
        this.canvas.refresh();
    }

    private measureTimer = 0;

    private measureTable(): HTMLElement {
        const [from, to] = this.measured as [number, number];
        const { slices } = this;
        const { x0, x1, y0 } = slices.rects;
        const counts = new Float64Array(slices.lanes.length),
            busy = new Float64Array(slices.lanes.length),
            until = new Float64Array(slices.rowCount);
        for (let i = 0; i < slices.rects.count; i++) {
            if (x0[i] >= to || x1[i] < from) continue;
            const lane = slices.laneOf[i];
            counts[lane]++;
            const a = Math.max(from, x0[i], until[y0[i]]),
                b = Math.min(to, x1[i]);
            if (b > a && slices.lanes[lane].rowCount === 1) busy[lane] += b - a;
            until[y0[i]] = Math.max(until[y0[i]], b);
        }
        const span = Math.max(1, to - from);
        const rows = slices.lanes.map((_, i) => i).filter(i => counts[i] > 0);
        return h(
            "div",
            { class: "measured" },
            h("h3", {}, format.duration(to - from)),
            h(
                "p",
                { class: "says" },
                `From ${format.moment(from)} to ${format.moment(to)}. `,
                h(
                    "button",
                    { type: "button", class: "linklike", click: () => this.measure(0, null) },
                    "Forget it",
                ),
            ),
            grid({
                label: "What is in the measured range",
                rows: rows.length,
                hasFilter: false,
                height: 260,
                columns: [
                    {
                        title: "lane",
                        cell: i => slices.lanes[rows[i]].name,
                        width: "minmax(6em, 1fr)",
                    },
                    {
                        title: "slices",
                        isNumber: true,
                        width: "5em",
                        cell: i => format.count(counts[rows[i]]),
                        key: i => counts[rows[i]],
                    },
                    {
                        title: "busy",
                        isNumber: true,
                        width: "5em",
                        tip: "share of the range in which the lane is busy; lanes of one row only",
                        cell: i =>
                            slices.lanes[rows[i]].rowCount === 1 && !slices.lanes[rows[i]].isPoints
                                ? format.percent(busy[rows[i]] / span)
                                : "",
                        key: i => busy[rows[i]],
                    },
                ],
            }),
        );
    }

    private scrollBy(by: number): void {
        const seen = this.canvas.element.clientHeight - TOP;
        this.scroll = Math.max(0, Math.min(this.contentHeight - seen, this.scroll + by));
        this.canvas.refresh();
    }

    /* Where there is room, rows are higher. */
    private layout(): void {
        const heads = GROUP_HEAD * new Set(this.slices.lanes.map(l => l.group)).size + 12;
        const own = this.slices.lanes.reduce(
            (sum, l) =>
                sum + (this.hiddenGroups.has(l.group) ? 0 : l.rowCount * (l.height + 1) + LANE_GAP),
            0,
        );
        const grown = Math.max(
            1,
            Math.min(
                GROWN_MOST,
                (this.canvas.element.clientHeight - TOP - heads) / Math.max(1, own),
            ),
        );
        let y = 0;
        let group = "";
        this.heads = [];
        this.rowTop.fill(-1);
        for (const lane of this.slices.lanes) {
            if (this.hiddenGroups.has(lane.group)) continue;
            if (lane.group !== group) {
                group = lane.group;
                this.heads.push({ group, y });
                y += GROUP_HEAD;
            }
            if (this.closed.has(group)) continue;
            for (let r = 0; r < lane.rowCount; r++) {
                this.rowTop[lane.firstRow + r] = y;
                const height = Math.round(lane.height * grown);
                this.rowHeight[lane.firstRow + r] = height;
                y += height + (r === lane.rowCount - 1 ? LANE_GAP : 1);
            }
        }
        this.contentHeight = y + 12;
        const seen = this.canvas.element.clientHeight - TOP;
        this.scroll = Math.max(0, Math.min(this.scroll, this.contentHeight - seen));
    }

    private sliceAt(at: Pointer): number {
        if (at.x < LEFT || at.y < TOP) return -1;
        const y = at.y - TOP + this.scroll;
        for (let row = 0; row < this.slices.rowCount; row++) {
            if (
                this.rowTop[row] < 0 ||
                y < this.rowTop[row] ||
                y >= this.rowTop[row] + this.rowHeight[row] + 1
            )
                continue;
            const t = this.canvas.timeAt(at.x),
                dt = (3 * this.app.time.span) / this.canvas.plotWidth;
            const found = new Uint32Array(256);
            const n = Math.min(
                256,
                this.layer.index.find(t - dt, row + 0.25, t + dt, row + 0.75, found, 255),
            );
            let best = -1,
                distance = Infinity;
            for (let k = 0; k < n; k++) {
                const i = found[k];
                const d =
                    t < this.slices.rects.x0[i]
                        ? this.slices.rects.x0[i] - t
                        : t > this.slices.rects.x1[i]
                          ? t - this.slices.rects.x1[i]
                          : 0;
                if (d < distance) {
                    distance = d;
                    best = i;
                }
            }
            return best;
        }
        return -1;
    }

    private hover(at: Pointer | null): void {
        this.hovered = at ? this.sliceAt(at) : -1;
        this.canvas.element.style.cursor = this.hovered >= 0 ? "pointer" : "";
        if (at && this.hovered >= 0) {
            const { slices, run } = this;
            const lane = slices.lanes[slices.laneOf[this.hovered]];
            const took = slices.rects.x1[this.hovered] - slices.rects.x0[this.hovered];
            this.readout.textContent =
                `${lane.name}: ${sliceLabel(run, lane.table, slices.rowOf[this.hovered])}, ` +
                `at ${format.moment(slices.rects.x0[this.hovered])}` +
                `${took ? `, ${format.duration(took)}` : ""}`;
        } else
            this.readout.textContent =
                at && at.x >= LEFT
                    ? format.moment(this.canvas.timeAt(at.x), this.app.time.span / 1000)
                    : " ";
        this.canvas.refresh();
    }

    private click(at: Pointer): void {
        if (at.x < LEFT) {
            const y = at.y - TOP + this.scroll;
            const head = this.heads.find(g => y >= g.y && y < g.y + GROUP_HEAD);
            if (head) {
                if (this.closed.has(head.group)) this.closed.delete(head.group);
                else this.closed.add(head.group);
                this.canvas.refresh();
                return;
            }
        }
        this.select(this.sliceAt(at));
    }

    private key(event: KeyboardEvent): boolean {
        switch (event.key) {
            case "Escape":
                if (this.measured) this.measure(0, null);
                else this.select(-1);
                return true;
            case "m":
                this.measure(this.app.time.t0, this.app.time.t1);
                return true;
            case "Enter":
                if (this.selected < 0) return false;
                this.app.go(
                    `row/${this.slices.lanes[this.slices.laneOf[this.selected]].table}/` +
                        `${this.slices.rowOf[this.selected]}`,
                );
                return true;
            case "n":
            case "p": {
                /*
                 * The next slice of the lane, or the first in sight. Slices of a lane stand in
                 * order of time.
                 */
                const step = event.key === "n" ? 1 : -1;
                const { slices } = this;
                if (this.isMatch) this.nextMatch(step);
                else if (this.selected >= 0) {
                    const next = this.selected + step;
                    if (
                        next >= 0 &&
                        next < slices.rects.count &&
                        slices.laneOf[next] === slices.laneOf[this.selected]
                    )
                        this.select(next, true);
                } else {
                    const first = slices.rects.x0.findIndex(
                        (x, i) =>
                            x >= this.app.time.t0 &&
                            x <= this.app.time.t1 &&
                            this.rowTop[slices.rects.y0[i]] >= 0,
                    );
                    if (first >= 0) this.select(first, true);
                }
                return true;
            }
            default:
                return false;
        }
    }

    private draw(c: CanvasRenderingContext2D, width: number, height: number): boolean {
        const { slices, right } = this;
        const { time } = this.app;
        const scale = this.canvas.element.width / width;
        this.layout();
        c.fillStyle = themeColour("--ground");
        c.fillRect(0, 0, width, height);
        const offset = TOP - this.scroll;

        c.save();
        c.beginPath();
        c.rect(0, TOP, width, height - TOP);
        c.clip();
        this.drawLanes(c, offset, height);
        this.drawHeads(c, offset);
        c.beginPath();
        c.rect(LEFT, TOP, right - LEFT, height - TOP);
        c.clip();
        drawTimeAxis(c, this.canvas, 14, height);
        const frame: TileFrame = {
            x: LEFT,
            y: TOP,
            width: right - LEFT,
            height,
            t0: time.t0,
            t1: time.t1,
            yTop: 0,
            yBottom: slices.rowCount,
        };
        const again = this.drawSlices(c, frame, offset, height, scale);
        this.drawMeasure(c, height);
        this.drawArrows(c, offset, themeColour("--accent"));
        this.drawOutline(c, offset, this.hovered, themeColour("--ink"), 1);
        this.drawOutline(c, offset, this.selected, themeColour("--accent"), 2);
        c.restore();
        this.drawTop(c, width);
        this.drawScroll(c, width, height);
        if (again) this.layer.work(after(this.paint.next(this.canvas.isMoving, this.canvas.gap)));
        return again;
    }

    private get right(): number {
        return LEFT + this.canvas.plotWidth;
    }

    /* Lanes and their names. */
    private drawLanes(c: CanvasRenderingContext2D, offset: number, height: number): void {
        const ink = themeColour("--ink"),
            stripe = themeColour("--lane");
        for (const lane of this.slices.lanes) {
            const top = this.rowTop[lane.firstRow];
            if (top < 0) continue;
            const tall = lane.rowCount * (this.rowHeight[lane.firstRow] + 1) - 1;
            const y = offset + top;
            if (y > height || y + tall < TOP) continue;
            c.fillStyle = stripe;
            c.fillRect(LEFT, y, this.right - LEFT, tall);
            c.fillStyle = ink;
            c.font = tall < 10 ? "10px system-ui, sans-serif" : "11px system-ui, sans-serif";
            c.textAlign = "right";
            c.fillText(lane.name, LEFT - 8, y + Math.min(tall, 24) / 2 + 4, LEFT - 16);
        }
    }

    /* The names of groups, which a click folds. */
    private drawHeads(c: CanvasRenderingContext2D, offset: number): void {
        c.fillStyle = themeColour("--ink-soft");
        c.font = "600 11px system-ui, sans-serif";
        c.textAlign = "left";
        for (const { group, y } of this.heads)
            c.fillText(`${this.closed.has(group) ? "▸" : "▾"} ${group}`, 8, offset + y + 15);
    }

    /* A line around a slice; -1: around none. */
    private drawOutline(
        c: CanvasRenderingContext2D,
        offset: number,
        slice: number,
        colour: string,
        width: number,
    ): void {
        const { rects } = this.slices;
        if (slice < 0) return;
        const row = rects.y0[slice];
        if (this.rowTop[row] < 0) return;
        const x0 = this.canvas.xOf(rects.x0[slice]),
            x1 = this.canvas.xOf(rects.x1[slice]);
        const left = Math.max(LEFT - 4, x0 - 1);
        c.strokeStyle = colour;
        c.lineWidth = width;
        c.strokeRect(
            left,
            offset + this.rowTop[row] - 0.5,
            Math.max(3, Math.min(this.right + 4, x1) - Math.max(LEFT - 4, x0) + 2),
            this.rowHeight[row] + 1,
        );
    }

    /* The axis of time stays in sight above all lanes. */
    private drawTop(c: CanvasRenderingContext2D, width: number): void {
        c.fillStyle = themeColour("--ground");
        c.fillRect(0, 0, width, TOP);
        c.save();
        c.beginPath();
        c.rect(0, 0, width, TOP);
        c.clip();
        drawTimeAxis(c, this.canvas, 14, TOP);
        c.restore();
    }

    private drawScroll(c: CanvasRenderingContext2D, width: number, height: number): void {
        const seen = height - TOP;
        if (this.contentHeight <= seen) return;
        c.fillStyle = themeColour("--line");
        c.fillRect(
            width - 5,
            TOP + (this.scroll / this.contentHeight) * seen,
            4,
            (seen / this.contentHeight) * seen,
        );
    }

    private drawSlices(
        c: CanvasRenderingContext2D,
        frame: TileFrame,
        offset: number,
        height: number,
        scale: number,
    ): boolean {
        const { slices, run } = this;
        const perNs = frame.width / (frame.t1 - frame.t0);
        const few = this.layer.few(frame);
        if (few) {
            const { x0, x1, y0 } = slices.rects;
            for (const i of few) {
                const top = this.rowTop[y0[i]];
                if (top < 0) continue;
                const y = offset + top,
                    tall = this.rowHeight[y0[i]];
                if (y > height || y + tall < TOP) continue;
                const a = Math.max(frame.x - 2, frame.x + (x0[i] - frame.t0) * perNs),
                    b = Math.min(frame.x + frame.width + 2, frame.x + (x1[i] - frame.t0) * perNs);
                const lane = slices.lanes[slices.laneOf[i]];
                const colour = this.colourOf(i);
                c.fillStyle = cssColour(colour);
                const w = Math.max(
                    lane.isPoints || x1[i] === x0[i] ? 2 : 1,
                    b - a - (b - a > 4 ? 0.75 : 0),
                );
                c.fillRect(a, y, w, tall);
                if (w > 34 && tall >= 12) {
                    c.fillStyle = inkOn(colour);
                    c.font = "11px system-ui, sans-serif";
                    c.textAlign = "left";
                    const x = Math.max(a, frame.x) + 4;
                    fitText(
                        c,
                        sliceLabel(run, lane.table, slices.rowOf[i]),
                        x,
                        y + tall / 2 + 4,
                        b - x - 3,
                    );
                }
            }
            return false;
        }
        c.imageSmoothingEnabled = true;
        c.imageSmoothingQuality = "low";
        return this.layer.draw(frame, scale, (tile, sx, _sy, sw, _sh, t0, t1) => {
            const left = Math.round((frame.x + (t0 - frame.t0) * perNs) * scale) / scale,
                right = Math.round((frame.x + (t1 - frame.t0) * perNs) * scale) / scale;
            for (let row = 0; row < slices.rowCount; row++) {
                if (this.rowTop[row] < 0) continue;
                const y = offset + this.rowTop[row];
                if (y > height || y + this.rowHeight[row] < TOP) continue;
                c.drawImage(
                    tile,
                    sx,
                    TILE_ROW * row + 1,
                    sw,
                    1,
                    left,
                    y,
                    right - left,
                    this.rowHeight[row],
                );
            }
        });
    }

    private drawMeasure(c: CanvasRenderingContext2D, height: number): void {
        if (!this.measured) return;
        const [from, to] = this.measured;
        const x0 = this.canvas.xOf(from),
            x1 = this.canvas.xOf(to);
        c.fillStyle = themeColour("--accent");
        c.globalAlpha = 0.12;
        c.fillRect(x0, TOP, x1 - x0, height);
        c.globalAlpha = 1;
        c.fillRect(x0, TOP, 1, height);
        c.fillRect(x1, TOP, 1, height);
        c.font = "600 12px system-ui, sans-serif";
        c.textAlign = "center";
        c.fillText(
            format.duration(to - from),
            Math.max(LEFT + 40, Math.min(LEFT + this.canvas.plotWidth - 40, (x0 + x1) / 2)),
            TOP + 14,
        );
    }

    private drawArrows(c: CanvasRenderingContext2D, offset: number, accent: string): void {
        c.strokeStyle = c.fillStyle = accent;
        c.lineWidth = 1.25;
        for (const arrow of this.arrows) {
            const from = this.slices.find(arrow.from.table, arrow.from.row),
                to = this.slices.find(arrow.to.table, arrow.to.row);
            if (from < 0 || to < 0) continue;
            const { x0, x1, y0 } = this.slices.rects;
            if (this.rowTop[y0[from]] < 0 || this.rowTop[y0[to]] < 0) continue;
            const clamp = (x: number): number =>
                Math.max(LEFT - 50, Math.min(LEFT + this.canvas.plotWidth + 50, x));
            const ax = clamp(this.canvas.xOf(arrow.from.atEnd ? x1[from] : x0[from])),
                bx = clamp(this.canvas.xOf(arrow.to.atEnd ? x1[to] : x0[to]));
            const ay = offset + this.rowTop[y0[from]] + this.rowHeight[y0[from]] / 2,
                by = offset + this.rowTop[y0[to]] + this.rowHeight[y0[to]] / 2;
            const bend = Math.max(14, Math.abs(bx - ax) * 0.4);
            c.beginPath();
            c.moveTo(ax, ay);
            c.bezierCurveTo(ax + bend, ay, bx - bend, by, bx - 5, by);
            c.stroke();
            c.beginPath();
            c.moveTo(bx, by);
            c.lineTo(bx - 6, by - 3.5);
            c.lineTo(bx - 6, by + 3.5);
            c.fill();
        }
    }

    resume(): void {
        this.canvas.refresh();
    }

    /* The slices as a table: those of one lane. */
    tableOf(lane: Lane): HTMLElement {
        const { slices, run } = this;
        const index = slices.lanes.indexOf(lane);
        const first = slices.laneOf.indexOf(index);
        const rows = Uint32Array.from({ length: lane.count }, (_, i) => first + i);
        return grid({
            label: `${lane.group}: ${lane.name}`,
            rows,
            height: Math.max(320, window.innerHeight - 300),
            open: i => this.app.go(`row/${lane.table}/${slices.rowOf[i]}`),
            columns: [
                {
                    title: "begins",
                    isNumber: true,
                    width: "9em",
                    cell: i => format.moment(slices.rects.x0[i]),
                    key: i => slices.rects.x0[i],
                },
                {
                    title: "took",
                    isNumber: true,
                    width: "8em",
                    cell: i => format.duration(slices.rects.x1[i] - slices.rects.x0[i]),
                    key: i => slices.rects.x1[i] - slices.rects.x0[i],
                },
                {
                    title: "what",
                    width: "minmax(12em, 1fr)",
                    cell: i =>
                        link(
                            `row/${lane.table}/${slices.rowOf[i]}`,
                            sliceLabel(run, lane.table, slices.rowOf[i]) ||
                                rowName(run, lane.table, slices.rowOf[i]),
                        ),
                    find: i => searchText(run, lane.table, slices.rowOf[i]),
                    key: i => slices.kinds[slices.colourKind[i]],
                },
            ],
        });
    }

    get lanes(): readonly Lane[] {
        return this.slices.lanes;
    }
}

export function timelineView(app: App): View {
    const run = app.run as Run;
    const timeline = new Timeline(app, run);
    const holder = h("div", { class: "picture" }, timeline.element);
    const button = h(
        "button",
        { type: "button", class: "quiet", "aria-pressed": "false" },
        "Table",
    );
    button.setAttribute("aria-label", "Timeline: as a table");
    button.addEventListener("click", () => {
        const shows = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shows));
        if (!shows) {
            holder.replaceChildren(timeline.element);
            timeline.resume();
            return;
        }
        const body = h("div");
        const select = h(
            "select",
            {
                "aria-label": "Lane",
                change: () =>
                    body.replaceChildren(timeline.tableOf(timeline.lanes[Number(select.value)])),
            },
            timeline.lanes.map((lane, i) =>
                h(
                    "option",
                    { value: i },
                    `${lane.group}: ${lane.name} (${format.count(lane.count)})`,
                ),
            ),
        );
        body.append(timeline.tableOf(timeline.lanes[0]));
        holder.replaceChildren(h("div", { class: "toolbar" }, select), body);
    });
    const element = h(
        "div",
        { class: "view fill" },
        h(
            "section",
            { class: "card", "aria-labelledby": "timeline-title" },
            h(
                "header",
                { class: "card-head" },
                h("h2", { id: "timeline-title" }, "Timeline"),
                h(
                    "p",
                    { class: "says" },
                    "What engines, the paging queue, contexts and the CPU did, over " +
                        "virtual time. Select a slice to see arrows to what it led to and " +
                        "came from.",
                ),
                button,
            ),
            holder,
        ),
    );
    return {
        element,
        shown(query) {
            const at = Number(query.get("at") ?? NaN);
            if (query.has("select")) {
                const [table, row] = (query.get("select") ?? "").split(".");
                timeline.selectRow(table, Number(row));
                if (Number.isFinite(at) && at !== NEVER && (at < app.time.t0 || at > app.time.t1))
                    app.time.show(at - app.time.span / 8, at + app.time.span / 8);
            }
            if (query.has("find")) {
                timeline.search.value = query.get("find") ?? "";
                timeline.find(timeline.search.value);
            }
            timeline.resume();
        },
        help: [
            ["drag, arrow keys", "pan"],
            ["wheel, + and −", "zoom, at the pointer"],
            ["Shift and drag", "measure a range"],
            ["M", "measure what is in sight"],
            ["click a group's name", "fold it"],
            ["N, P", "the next or previous slice, or match"],
            ["Enter", "the row of the selected slice"],
            ["Escape", "forget the measure, then the selection"],
            ["Home", "all of it"],
        ],
    };
}
