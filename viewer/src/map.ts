/*
 * The segment map: addresses of each segment against virtual time. A band is an allocation in a
 * range, from when it came to when it left; what is between bands is free.
 */
import type { App, View } from "./app.js";
import {
    cssColour,
    drawTimeAxis,
    fitText,
    inkOn,
    themeColour,
    TimeCanvas,
    type Pointer,
} from "./canvas.js";
import { faded, neutral } from "./colours.js";
import type { Run } from "./data.js";
import { NEVER } from "./decode.js";
import { clear, h, legend, link } from "./dom.js";
import * as format from "./format.js";
import { lifeOf, lifeTable } from "./life.js";
import { colourScheme, COLOURS_BY, type ColourBy, type Scheme } from "./mapcolours.js";
import { tableGrid } from "./rows.js";
import { onTheme } from "./theme.js";
import { chip, chips, zoomTools } from "./toolbar.js";
import { after, PaintTime, TileLayer, type TileFrame } from "./tiles.js";

const LEFT = 86,
    RIGHT = 16,
    TOP = 26,
    BOTTOM = 8,
    HEAD = 24,
    STRIP = 12,
    GAP = 14;
const SHAPES = 2500; /* bands that are drawn one by one */

interface Panel {
    segment: number; /* row of objects */
    bytes: number;
    bands: Uint32Array; /* of each rectangle */
    /* y is the address with another sign, so that it grows downwards as the picture does */
    layer: TileLayer;
    y0: number; /* the window of addresses */
    y1: number;
    top: number; /* of the plot, in pixels */
    height: number;
    isShown: boolean;
    use: number; /* share of its addresses that are taken, over the whole run */
    /* share of free memory that its largest range has, at FREE_SAMPLES moments */
    free: Float32Array | null;
    strip: HTMLCanvasElement | null; /* the picture of free */
    stripColour: string;
}

const FREE_SAMPLES = 480;

/*
 * A band is an allocation in its place, or memory that is taken by no allocation. Its number is a
 * row of places, or the rows of places plus a row of ranges.
 */
const RANGE_USES: Record<string, string> = {
    tables: "page tables",
    buffers: "paging buffers",
    eviction: "room for what is evicted",
};

export class SegmentMap {
    readonly element: HTMLElement;
    readonly canvas: TimeCanvas;
    private readonly panels: Panel[] = [];
    private scheme: Scheme;
    private colours: Uint32Array;
    private by: ColourBy = "process";
    private readonly legendHolder = h("div");
    private readonly inspector = h("aside", {
        class: "inspector",
        "aria-label": "Selected allocation",
    });
    private readonly readout = h("p", { class: "readout", "aria-live": "off" });
    private readonly matches = h("span", { class: "matches", "aria-live": "polite" });
    private isMatch: Uint8Array | null = null;
    private selected = -1; /* row of objects */
    private hovered = -1; /* a band */
    private moment: number | null = null;
    private readonly resident = new Uint32Array(65536); /* bands of one moment */
    private readonly paint = new PaintTime();

    constructor(
        private readonly app: App,
        private readonly run: Run,
        isSmall = false,
    ) {
        /* With one process, its colour says nothing. */
        const owners = new Set(
            run
                .objectsOf("allocation")
                .map(row => run.values("objects", "process")[row])
                .filter(p => p !== 0),
        );
        if (owners.size < 2) this.by = "use";
        this.scheme = colourScheme(run, this.by);
        this.colours = this.scheme.of;
        this.canvas = new TimeCanvas(
            app.time,
            {
                draw: (c, w, hgt) => this.draw(c, w, hgt),
                hover: at => this.hover(at),
                click: at => this.click(at),
                zoomY: (at, factor) => this.zoomY(at, factor),
                panY: (by, at) => this.panY(by, at),
                key: event => this.key(event),
            },
            "Segment map: addresses against time. Arrow keys pan, plus and minus zoom, " +
                "square brackets zoom addresses, N and P choose a band, Enter opens it.",
            LEFT,
            RIGHT,
        );
        this.makePanels();
        onTheme(() => this.setColours(this.by));

        const stage = h("div", { class: "stage" }, this.canvas.element);
        this.element = h(
            "div",
            { class: isSmall ? "map small" : "map" },
            h(
                "div",
                { class: "toolbar" },
                h("label", { for: "map-colour" }, "Colour by "),
                this.colourSelect(),
                this.searchField(),
                this.matches,
                this.segmentChips(),
                zoomTools(app.time, () => this.fit()),
            ),
            this.legendHolder,
            isSmall ? stage : h("div", { class: "with-inspector" }, stage, this.inspector),
            this.readout,
        );
        this.showLegend();
        this.inspect();
    }

    private colourSelect(): HTMLElement {
        const select = h(
            "select",
            { id: "map-colour", change: () => this.setColours(select.value as ColourBy) },
            COLOURS_BY.map(([value, label]) =>
                h("option", { value, selected: value === this.by }, label),
            ),
        );
        return select;
    }

    private searchField(): HTMLElement {
        const search = h("input", {
            type: "search",
            placeholder: "Find allocation",
            "aria-label": "Find allocations by name or number",
            spellcheck: "false",
            class: "find",
        });
        search.addEventListener("input", () => this.find(search.value));
        search.addEventListener("keydown", event => {
            if (event.key === "Enter") this.nextMatch();
        });
        return search;
    }

    private segmentChips(): HTMLElement {
        const press = (panel: Panel): boolean => {
            panel.isShown = !panel.isShown;
            this.canvas.refresh();
            return panel.isShown;
        };
        return chips(
            "Segments",
            this.panels.map(panel =>
                chip(
                    panel.isShown,
                    () => press(panel),
                    this.run.objectName(panel.segment + 1),
                    " ",
                    h("small", {}, format.bytes(panel.bytes)),
                ),
            ),
        );
    }

    /* A column of places, or of ranges, in the row of a band. */
    private of(column: string, band: number): number {
        return this.column(column)(band);
    }

    private column(name: string): (band: number) => number {
        const ofPlaces = this.run.values("places", name),
            ofRanges = this.run.values("ranges", name);
        const places = ofPlaces.length;
        return band => (band < places ? ofPlaces[band] : ofRanges[band - places]);
    }

    /* The allocation of a band: a row of objects plus one; 0: it is a range of no allocation. */
    private allocationOf(band: number): number {
        return band < this.run.rows("places") ? this.run.values("places", "allocation")[band] : 0;
    }

    private makePanels(): void {
        const { run } = this;
        const allocation = run.values("places", "allocation");
        const places = run.rows("places");
        const fromOf = this.column("from"),
            toOf = this.column("to"),
            offsetOf = this.column("offset"),
            bytesOf = this.column("bytes");
        for (const segment of run.objectsOf("segment")) {
            const ofPlaces = run.referring("places", "segment", segment),
                ofRanges = run.referring("ranges", "segment", segment);
            const n = ofPlaces.length + ofRanges.length;
            const bands = new Uint32Array(n);
            bands.set(ofPlaces);
            bands.set(
                ofRanges.map(row => places + row),
                ofPlaces.length,
            );
            const rects = {
                count: n,
                x0: new Float64Array(n),
                x1: new Float64Array(n),
                y0: new Float64Array(n),
                y1: new Float64Array(n),
            };
            let top = run.values("objects", "bytes")[segment],
                taken = 0;
            for (let i = 0; i < n; i++) {
                const from = fromOf(bands[i]),
                    to = toOf(bands[i]),
                    offset = offsetOf(bands[i]);
                rects.x0[i] = from === NEVER ? run.end : from;
                rects.x1[i] = to === NEVER ? run.end : to;
                rects.y1[i] = -offset;
                rects.y0[i] = -offset - bytesOf(bands[i]);
                taken += bytesOf(bands[i]) * (rects.x1[i] - rects.x0[i]);
                if (-rects.y0[i] > top) top = -rects.y0[i];
            }
            top = Math.max(top, 4096);
            this.panels.push({
                segment,
                bytes: top,
                bands,
                y0: 0,
                y1: top,
                top: 0,
                height: 0,
                isShown: n > 0,
                use: Math.min(1, taken / (top * (run.end - run.begin))),
                free: null,
                strip: null,
                stripColour: "",
                layer: new TileLayer(
                    rects,
                    { t0: run.begin, t1: run.end, y0: -top, y1: 0 },
                    i => {
                        const a = bands[i] < places ? allocation[bands[i]] : 0;
                        return a ? this.colours[a - 1] : neutral();
                    },
                    { width: 256, height: 256 },
                    true,
                    SHAPES,
                    0.12,
                ),
            });
        }
        if (this.panels.length && !this.panels.some(p => p.isShown)) this.panels[0].isShown = true;
    }

    private setColours(by: ColourBy): void {
        this.by = by;
        this.scheme = colourScheme(this.run, by);
        this.applyMatch();
        this.showLegend();
    }

    private applyMatch(): void {
        const { isMatch } = this;
        this.colours = isMatch
            ? this.scheme.of.map((c, row) => (isMatch[row] ? c : faded(c, 0.85)))
            : this.scheme.of;
        for (const panel of this.panels) panel.layer.recolour();
        this.canvas.refresh();
    }

    private showLegend(): void {
        clear(this.legendHolder);
        this.legendHolder.append(
            legend([
                ...this.scheme.legend.map(e => ({ colour: cssColour(e.colour), label: e.label })),
                { colour: cssColour(neutral()), label: "page tables, buffers" },
                { colour: "var(--free)", label: "free" },
                { colour: "var(--bad-soft)", label: "strip: how fragmented free memory is" },
            ]),
        );
    }

    find(words: string): void {
        const parts = words.trim().toLowerCase().split(/\s+/).filter(Boolean);
        if (!parts.length) {
            this.isMatch = null;
            this.matches.textContent = "";
        } else {
            this.isMatch = new Uint8Array(this.run.rows("objects"));
            let n = 0;
            for (const row of this.run.objectsOf("allocation")) {
                const name = (
                    `${this.run.objectWords(row + 1)} ` +
                    `${this.run.objectWords(this.run.values("objects", "process")[row])}`
                ).toLowerCase();
                if (parts.every(p => name.includes(p))) {
                    this.isMatch[row] = 1;
                    n++;
                }
            }
            this.matches.textContent = format.plural(n, "allocation");
        }
        this.applyMatch();
    }

    private nextMatch(): void {
        if (!this.isMatch) return;
        const n = this.isMatch.length;
        for (let i = 1; i <= n; i++) {
            const row = (Math.max(-1, this.selected) + i) % n;
            if (!this.isMatch[row]) continue;
            this.select(row, true);
            return;
        }
    }

    fit(): void {
        this.app.time.set(this.run.begin, this.run.end);
        for (const panel of this.panels) {
            panel.y0 = 0;
            panel.y1 = panel.bytes;
        }
        this.canvas.refresh();
    }

    /* row: of objects; brings: its first band into sight. */
    select(row: number, brings = false): void {
        this.selected = row;
        this.inspect();
        if (row >= 0) {
            this.app.announce(`${this.run.objectName(row + 1)} selected`);
            const places = this.run.referring("places", "allocation", row);
            if (brings && places.length) {
                const from = this.run.values("places", "from")[places[0]];
                const to = Math.min(this.run.end, this.run.values("places", "to")[places[0]]);
                if (from > this.app.time.t1 || to < this.app.time.t0) this.app.time.show(from, to);
                for (const panel of this.panels)
                    if (this.run.values("places", "segment")[places[0]] === panel.segment + 1)
                        panel.isShown = true;
            }
        }
        this.canvas.refresh();
    }

    private inspect(): void {
        const { inspector, run, selected } = this;
        clear(inspector);
        if (selected < 0) {
            inspector.append(
                h("h3", {}, "Nothing selected"),
                h(
                    "p",
                    { class: "says" },
                    "Click a band, or press N with the map in focus, to read the life " +
                        "of its allocation: where it was, why it came and left, who used " +
                        "it.",
                ),
            );
            return;
        }
        const events = lifeOf(run, selected);
        const o = (column: string): number => run.values("objects", column)[selected];
        inspector.append(
            h("h3", {}, link(`row/objects/${selected}`, run.objectName(selected + 1))),
            h(
                "p",
                { class: "says" },
                `${run.objectShort(selected + 1)}, ${format.bytes(o("bytes"))}` +
                    `${o("process") ? ` of ${run.objectName(o("process"))}` : ""}; placed ` +
                    `${format.plural(o("placed"), "time")}, evicted ` +
                    `${format.plural(o("evicted"), "time")}, ` +
                    `${format.bytes(o("moved_bytes"))} moved.`,
            ),
            lifeTable(events, 420, `Life of ${run.objectName(selected + 1)}`),
        );
    }

    private panelAt(y: number): Panel | null {
        return (
            this.panels.find(p => p.isShown && y >= p.top - HEAD && y < p.top + p.height + STRIP) ??
            null
        );
    }

    private addressAt(panel: Panel, y: number): number {
        return panel.y1 - ((y - panel.top) / panel.height) * (panel.y1 - panel.y0);
    }

    private bandAt(at: Pointer): number {
        const panel = this.panelAt(at.y);
        if (!panel || at.x < LEFT) return -1;
        const t = this.canvas.timeAt(at.x),
            address = this.addressAt(panel, at.y);
        const dt = this.app.time.span / this.canvas.plotWidth,
            da = (panel.y1 - panel.y0) / panel.height;
        const found = new Uint32Array(64);
        let n = panel.layer.index.find(t, -address, t, -address, found, 63);
        if (!n) n = panel.layer.index.find(t - dt, -address - da, t + dt, -address + da, found, 63);
        return n ? panel.bands[found[0]] : -1;
    }

    private hover(at: Pointer | null): void {
        const before = this.hovered;
        this.hovered = at ? this.bandAt(at) : -1;
        this.moment = at && at.x >= LEFT ? this.canvas.timeAt(at.x) : null;
        this.canvas.element.style.cursor = this.hovered >= 0 ? "pointer" : "";
        this.say(at);
        if (this.moment !== null || before !== this.hovered) this.canvas.refresh();
    }

    /* How the free memory of a panel lies at a moment. */
    private freeAt(panel: Panel, t: number): { free: number; ranges: number; largest: number } {
        const found = this.resident;
        const n = Math.min(
            found.length,
            panel.layer.index.find(t, -Infinity, t, 1, found, found.length),
        );
        const { y0, y1 } = panel.layer.rects;
        const here = found.subarray(0, n).sort((a, b) => y1[b] - y1[a]); /* low addresses first */
        let at = 0,
            free = 0,
            ranges = 0,
            largest = 0;
        const gap = (to: number): void => {
            if (to <= at) return;
            ranges++;
            free += to - at;
            largest = Math.max(largest, to - at);
        };
        for (const i of here) {
            gap(-y1[i]);
            at = Math.max(at, -y0[i]);
        }
        gap(panel.bytes);
        return { free, ranges, largest };
    }

    private say(at: Pointer | null): void {
        const panel = at && this.panelAt(at.y);
        if (!at || !panel || this.moment === null) {
            this.readout.textContent = " ";
            return;
        }
        const { run } = this;
        const where =
            `${format.moment(this.moment, this.app.time.span / 1000)}, ` +
            `${format.hex(Math.max(0, Math.round(this.addressAt(panel, at.y))))} of ` +
            `${run.objectName(panel.segment + 1)}`;
        if (this.hovered >= 0) {
            const p = (column: string): number => this.of(column, this.hovered);
            const range = this.hovered - run.rows("places");
            const what =
                range < 0
                    ? run.objectName(p("allocation"))
                    : (RANGE_USES[run.text("ranges", "use", range)] ?? "no allocation");
            this.readout.textContent =
                `${where}: ${what}, ${format.bytes(p("bytes"))} ` +
                `from ${format.moment(p("from"))} to ${format.moment(p("to"))}.`;
            if (range >= 0) return;
            const left =
                p("to") === NEVER ? "not" : run.text("places", "why_left", this.hovered) || "-";
            const came = run.text("places", "why_came", this.hovered) || "-";
            this.readout.textContent += ` Came: ${came}. Left: ${left}.`;
        } else {
            const f = this.freeAt(panel, this.moment);
            this.readout.textContent =
                `${where}: free. ${format.bytes(f.free)} are free in ` +
                `${format.plural(f.ranges, "range")}, the largest has ` +
                `${format.bytes(f.largest)}.`;
        }
    }

    private click(at: Pointer): void {
        const band = this.bandAt(at);
        this.select(band < 0 ? -1 : this.allocationOf(band) - 1);
    }

    private zoomY(at: Pointer, factor: number): void {
        const panel = this.panelAt(at.y) ?? this.panels.find(p => p.isShown);
        if (!panel) return;
        const address = Math.max(panel.y0, Math.min(panel.y1, this.addressAt(panel, at.y)));
        const span = Math.max(4096, Math.min(panel.bytes, (panel.y1 - panel.y0) * factor));
        const share = (address - panel.y0) / (panel.y1 - panel.y0);
        panel.y0 = Math.max(0, Math.min(panel.bytes - span, address - share * span));
        panel.y1 = panel.y0 + span;
        this.canvas.refresh();
    }

    private panY(by: number, at: Pointer): void {
        const panel = this.panelAt(at.y);
        if (!panel) return;
        const span = panel.y1 - panel.y0;
        panel.y0 = Math.max(0, Math.min(panel.bytes - span, panel.y0 - (by / panel.height) * span));
        panel.y1 = panel.y0 + span;
        this.canvas.refresh();
    }

    private key(event: KeyboardEvent): boolean {
        if (event.key === "Home" || event.key === "0") {
            this.fit();
            return true;
        }
        if (event.key === "Escape") {
            this.select(-1);
            return true;
        }
        if (event.key === "Enter" && this.selected >= 0) {
            this.app.go(`row/objects/${this.selected}`);
            return true;
        }
        if (event.key !== "n" && event.key !== "p") return false;
        /*
         * The next band of the first panel by its begin, behind the selected allocation's in the
         * window.
         */
        const { t0, t1 } = this.app.time;
        const from = this.run.values("places", "from"),
            allocation = this.run.values("places", "allocation");
        const rows = this.run.rows("places");
        const step = event.key === "n" ? 1 : -1;
        let row = this.hovered >= 0 && this.hovered < rows ? this.hovered : step > 0 ? -1 : rows;
        for (row += step; row >= 0 && row < rows; row += step)
            if (from[row] >= t0 && from[row] <= t1 && allocation[row]) {
                this.hovered = row;
                this.select(allocation[row] - 1);
                return true;
            }
        this.hovered = -1;
        return true;
    }

    private draw(c: CanvasRenderingContext2D, width: number, height: number): boolean {
        const scale = this.canvas.element.width / width;
        const shown = this.panels.filter(p => p.isShown);
        let again = false;
        c.fillStyle = themeColour("--ground");
        c.fillRect(0, 0, width, height);
        drawTimeAxis(c, this.canvas, 14, height - BOTTOM);
        this.layout(shown, height);
        for (const panel of shown) {
            this.drawHead(c, panel);
            if (this.drawPlot(c, panel, scale)) again = true;
            this.drawAddresses(c, panel);
            this.drawFree(c, panel, themeColour("--bad"), this.right);
        }
        if (shown.length) this.drawMoment(c, height);
        if (again) {
            const deadline = after(this.paint.next(this.canvas.isMoving, this.canvas.gap));
            for (const panel of shown) if (!deadline()) panel.layer.work(deadline);
        }
        return again;
    }

    private get right(): number {
        return LEFT + this.canvas.plotWidth;
    }

    /* How high each plot is: a segment that is hardly used has little to show. */
    private layout(shown: Panel[], height: number): void {
        const gaps = shown.length * (HEAD + STRIP) + Math.max(0, shown.length - 1) * GAP;
        const room = height - TOP - BOTTOM - gaps;
        const weights = shown.map(p => (1 + Math.log2(1 + p.bands.length)) * (0.35 + 0.65 * p.use));
        const sum = weights.reduce((a, b) => a + b, 0);
        let y = TOP;
        shown.forEach((panel, n) => {
            panel.height = Math.max(40, (room * weights[n]) / sum);
            panel.top = y + HEAD;
            y = panel.top + panel.height + STRIP + GAP;
        });
    }

    private drawHead(c: CanvasRenderingContext2D, panel: Panel): void {
        const name = this.run.objectName(panel.segment + 1);
        let note = `${format.bytes(panel.bytes)}, ${format.plural(panel.bands.length, "band")}`;
        if (panel.y1 - panel.y0 < panel.bytes)
            note += `, ${format.bytes(panel.y1 - panel.y0)} in sight`;
        c.textAlign = "left";
        c.fillStyle = themeColour("--ink");
        c.font = "600 12px system-ui, sans-serif";
        c.fillText(name, LEFT, panel.top - 8);
        const nameWidth = c.measureText(name).width;
        c.fillStyle = themeColour("--ink-soft");
        c.font = "12px system-ui, sans-serif";
        c.fillText(note, LEFT + nameWidth + 10, panel.top - 8);
    }

    /* What is free, the bands over it, and what is selected. True: again in the next frame. */
    private drawPlot(c: CanvasRenderingContext2D, panel: Panel, scale: number): boolean {
        const { run, right } = this;
        const { time } = this.app;
        const freeLeft = Math.max(LEFT, this.canvas.xOf(run.begin)),
            freeRight = Math.min(right, this.canvas.xOf(run.end));
        c.fillStyle = themeColour("--free");
        if (freeRight > freeLeft)
            c.fillRect(freeLeft, panel.top, freeRight - freeLeft, panel.height);
        c.save();
        c.beginPath();
        c.rect(LEFT, panel.top, right - LEFT, panel.height);
        c.clip();
        const frame: TileFrame = {
            x: LEFT,
            y: panel.top,
            width: right - LEFT,
            height: panel.height,
            t0: time.t0,
            t1: time.t1,
            yTop: -panel.y1,
            yBottom: -panel.y0,
        };
        const again = this.drawBands(c, panel, frame, scale);
        this.drawSelection(c, panel, themeColour("--accent"), themeColour("--ink"));
        c.restore();
        return again;
    }

    private drawAddresses(c: CanvasRenderingContext2D, panel: Panel): void {
        const line = themeColour("--line"),
            soft = themeColour("--ink-soft");
        const span = panel.y1 - panel.y0;
        const step = format.axisStep(span, panel.height / 46, true);
        c.font = "11px system-ui, sans-serif";
        c.textAlign = "right";
        for (let a = Math.ceil(panel.y0 / step) * step; a <= panel.y1; a += step) {
            const y = panel.top + ((panel.y1 - a) / span) * panel.height;
            c.fillStyle = line;
            c.fillRect(LEFT - 4, Math.round(y), 4, 1);
            c.fillStyle = soft;
            c.fillText(
                format.bytes(a),
                LEFT - 8,
                Math.min(panel.top + panel.height, Math.max(panel.top + 9, y + 4)),
            );
        }
    }

    /* A line at the moment that was clicked. */
    private drawMoment(c: CanvasRenderingContext2D, height: number): void {
        if (this.moment === null) return;
        const x = this.canvas.xOf(this.moment);
        if (x < LEFT || x > this.right) return;
        c.fillStyle = themeColour("--ink");
        c.globalAlpha = 0.5;
        c.fillRect(Math.round(x), TOP, 1, height - TOP - BOTTOM);
        c.globalAlpha = 1;
    }

    private drawBands(
        c: CanvasRenderingContext2D,
        panel: Panel,
        frame: TileFrame,
        scale: number,
    ): boolean {
        const { layer } = panel;
        const perNs = frame.width / (frame.t1 - frame.t0),
            perByte = frame.height / (panel.y1 - panel.y0);
        const few = layer.few(frame);
        if (few) {
            for (const i of few) this.drawBand(c, panel, frame, i);
            return false;
        }
        const isRough = this.canvas.isMoving && this.paint.isShort;
        c.imageSmoothingEnabled = !isRough;
        c.imageSmoothingQuality = "low";
        const isMissing = layer.draw(frame, scale, (tile, sx, sy, sw, sh, t0, t1, b0, b1) => {
            const left = snap(frame.x + (t0 - frame.t0) * perNs, scale),
                right = snap(frame.x + (t1 - frame.t0) * perNs, scale);
            const top = snap(frame.y + (b0 + panel.y1) * perByte, scale),
                bottom = snap(frame.y + (b1 + panel.y1) * perByte, scale);
            c.drawImage(tile, sx, sy, sw, sh, left, top, right - left, bottom - top);
        });
        return isMissing || isRough;
    }

    /* One band, with its name where that has room; i: of the rectangles. */
    private drawBand(c: CanvasRenderingContext2D, panel: Panel, frame: TileFrame, i: number): void {
        const { x0, x1, y0, y1 } = panel.layer.rects;
        const perNs = frame.width / (frame.t1 - frame.t0),
            perByte = frame.height / (panel.y1 - panel.y0);
        const frameRight = frame.x + frame.width,
            frameBottom = frame.y + frame.height;
        const left = Math.max(frame.x - 2, frame.x + (x0[i] - frame.t0) * perNs),
            right = Math.min(frameRight + 2, frame.x + (x1[i] - frame.t0) * perNs);
        const top = Math.max(frame.y - 2, frame.y + (y0[i] + panel.y1) * perByte),
            bottom = Math.min(frameBottom + 2, frame.y + (y1[i] + panel.y1) * perByte);
        const a = this.allocationOf(panel.bands[i]);
        const colour = a ? this.colours[a - 1] : neutral();
        const w = Math.max(0.6, right - left),
            tall = Math.max(0.6, bottom - top);
        c.fillStyle = cssColour(colour);
        c.fillRect(left, top, w, tall);
        if (w > 3 && tall > 3) {
            c.fillStyle = themeColour("--ground"); /* a hairline between bands */
            c.fillRect(left, bottom - 0.75, w, 0.75);
            c.fillRect(right - 0.75, top, 0.75, tall);
        }
        if (w > 46 && tall > 12 && a) {
            c.fillStyle = inkOn(colour);
            c.font = "11px system-ui, sans-serif";
            c.textAlign = "left";
            const x = Math.max(left, frame.x) + 5;
            const middle = (Math.max(top, frame.y) + Math.min(bottom, frameBottom)) / 2;
            fitText(c, this.run.objectLabel(a), x, middle + 4, right - x - 4);
        }
    }

    private drawSelection(
        c: CanvasRenderingContext2D,
        panel: Panel,
        accent: string,
        ink: string,
    ): void {
        const { run } = this;
        const outline = (band: number, width: number, style: string): void => {
            if (this.of("segment", band) !== panel.segment + 1) return;
            const x0 = this.canvas.xOf(this.of("from", band));
            const x1 = this.canvas.xOf(Math.min(run.end, this.of("to", band)));
            if (x1 < LEFT - 4 || x0 > LEFT + this.canvas.plotWidth + 4) return;
            const offset = this.of("offset", band),
                bytes = this.of("bytes", band);
            const perByte = panel.height / (panel.y1 - panel.y0);
            const top = panel.top + (panel.y1 - offset - bytes) * perByte;
            c.lineWidth = width;
            c.strokeStyle = style;
            c.strokeRect(
                Math.max(LEFT - 3, x0),
                top,
                Math.max(
                    1.5,
                    Math.min(x1, LEFT + this.canvas.plotWidth + 3) - Math.max(LEFT - 3, x0),
                ),
                Math.max(1.5, bytes * perByte),
            );
        };
        if (this.selected >= 0) {
            const places = run.referring("places", "allocation", this.selected);
            const most = Math.min(places.length, 4000);
            for (let i = 0; i < most; i++) {
                outline(places[i], 3.5, themeColour("--ground"));
                outline(places[i], 1.75, accent);
            }
        }
        if (this.hovered >= 0) outline(this.hovered, 1.25, ink);
    }

    /* A strip below the plot: the darker, the more pieces the free memory is in. */
    private drawFree(c: CanvasRenderingContext2D, panel: Panel, bad: string, right: number): void {
        if (!panel.free) {
            panel.free = new Float32Array(FREE_SAMPLES).fill(-1);
            this.measureFree(panel, 0);
        }
        const x0 = this.canvas.xOf(this.run.begin),
            x1 = this.canvas.xOf(this.run.end);
        const from = Math.max(LEFT, x0),
            to = Math.min(right, x1);
        if (to <= from) return;
        const strip = this.stripOf(panel, bad);
        const perPixel = FREE_SAMPLES / (x1 - x0);
        c.imageSmoothingEnabled = false;
        c.drawImage(
            strip,
            (from - x0) * perPixel,
            0,
            (to - from) * perPixel,
            1,
            from,
            panel.top + panel.height + 3,
            to - from,
            STRIP - 6,
        );
    }

    /* The strip as a picture of one line, a point for each sample. */
    private stripOf(panel: Panel, bad: string): HTMLCanvasElement {
        if (panel.strip && panel.stripColour === bad) return panel.strip;
        const strip = document.createElement("canvas");
        strip.width = FREE_SAMPLES;
        strip.height = 1;
        const c = strip.getContext("2d") as CanvasRenderingContext2D;
        c.fillStyle = bad;
        (panel.free as Float32Array).forEach((share, i) => {
            if (share < 0) return;
            c.globalAlpha = 0.06 + 0.94 * (1 - share);
            c.fillRect(i, 0, 1, 1);
        });
        panel.strip = strip;
        panel.stripColour = bad;
        return strip;
    }

    /* A few samples at a time, and none while the window moves: that needs its frames. */
    private measureFree(panel: Panel, from: number): void {
        const free = panel.free as Float32Array;
        let i = from;
        if (!this.canvas.isMoving) {
            const deadline = after(4);
            for (; i < FREE_SAMPLES && !deadline(); i++) {
                const t =
                    this.run.begin + ((this.run.end - this.run.begin) * (i + 0.5)) / FREE_SAMPLES;
                const f = this.freeAt(panel, t);
                free[i] = f.free > 0 ? f.largest / f.free : 1;
            }
            panel.strip = null;
            this.canvas.refresh();
        }
        if (i < FREE_SAMPLES) window.setTimeout(() => this.measureFree(panel, i), 12);
    }

    resume(): void {
        this.canvas.refresh();
    }
}

function snap(v: number, scale: number): number {
    return Math.round(v * scale) / scale;
}

/* What the map is drawn from. */
function tablesOf(run: Run): HTMLElement {
    const height = Math.max(320, window.innerHeight - 260);
    const ranges = run.rows("ranges");
    return h(
        "div",
        {},
        tableGrid(run, "places", run.rows("places"), height, "Bands of the segment map"),
        ranges > 0
            ? [
                  h("h3", {}, "Memory that no allocation has"),
                  tableGrid(run, "ranges", ranges, 300, "Memory that no allocation has"),
              ]
            : null,
    );
}

export function mapView(app: App): View {
    const run = app.run as Run;
    const map = new SegmentMap(app, run);
    let table: HTMLElement | null = null;
    const holder = h("div", { class: "picture" }, map.element);
    const button = h(
        "button",
        { type: "button", class: "quiet", "aria-pressed": "false" },
        "Table",
    );
    button.setAttribute("aria-label", "Segment map: as a table");
    button.addEventListener("click", () => {
        const shows = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shows));
        table ??= tablesOf(run);
        holder.replaceChildren(shows ? table : map.element);
        map.resume();
    });
    const element = h(
        "div",
        { class: "view fill" },
        h(
            "section",
            { class: "card", "aria-labelledby": "map-title" },
            h(
                "header",
                { class: "card-head" },
                h("h2", { id: "map-title" }, "Segment map"),
                h(
                    "p",
                    { class: "says" },
                    "Addresses of each segment (up) against virtual time (right). A " +
                        "band is an allocation in its place, or memory of page tables and " +
                        "buffers; what is between bands is free.",
                ),
                button,
            ),
            holder,
        ),
    );
    return {
        element,
        shown(query) {
            if (query.has("select")) map.select(Number(query.get("select")), true);
            map.resume();
        },
        help: [
            ["drag, arrow keys", "pan"],
            ["wheel, + and −", "zoom in time, at the pointer"],
            ["Alt and wheel, [ and ]", "zoom addresses"],
            ["Shift and wheel", "pan addresses"],
            ["double click", "zoom in"],
            ["Home", "all of it"],
            ["N, P", "the next or previous band"],
            ["Enter", "the row of the selected allocation"],
            ["Escape", "select nothing"],
        ],
    };
}
