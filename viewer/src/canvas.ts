/*
 * What the map and the timeline share: the window of time that both show, a canvas that is drawn
 * when something changed, pan and zoom by mouse, touch and keys, the axis of time, and how long
 * frames took.
 *
 * Units: nanoseconds of virtual time; CSS pixels, unless a name says device pixels.
 */
import * as format from "./format.js";
import { onTheme } from "./theme.js";

const MOVING_MS = 150;
const SPAN_LEAST = 0.25; /* ns: within one, calls of one moment stand in their order (lanes.ts) */

/* The window of time; every view of a run shows the same. */
export class TimeWindow {
    t0: number;
    t1: number;
    private readonly listeners = new Set<() => void>();

    constructor(
        readonly begin: number,
        readonly end: number,
    ) {
        this.t0 = begin;
        this.t1 = end;
    }

    get span(): number {
        return this.t1 - this.t0;
    }

    set(t0: number, t1: number): void {
        const whole = this.end - this.begin;
        let span = Math.max(Math.min(t1 - t0, whole * 1.04), Math.min(whole, SPAN_LEAST));
        let from = t0;
        if (!Number.isFinite(from) || !Number.isFinite(span)) return;
        const margin = Math.max(0.02 * whole, 0.25 * span);
        from = Math.max(this.begin - margin, Math.min(this.end + margin - span, from));
        if (span > whole) from = this.begin - (span - whole) / 2;
        if (from === this.t0 && from + span === this.t1) return;
        this.t0 = from;
        this.t1 = from + span;
        for (const listener of this.listeners) listener();
    }

    zoom(at: number, factor: number): void {
        const t0 = at - (at - this.t0) * factor;
        this.set(t0, t0 + this.span * factor);
    }

    pan(by: number): void {
        this.set(this.t0 + by, this.t1 + by);
    }

    /* Brings a range into sight, with some room around it. */
    show(from: number, to: number): void {
        const span = Math.max(to - from, 1);
        this.set(from - 0.75 * span, to + 0.75 * span);
    }

    watch(listener: () => void): () => void {
        this.listeners.add(listener);
        return () => this.listeners.delete(listener);
    }
}

/* Times of the last frames, for the tests and for who wonders: drydock.frames in the console. */
export class Frames {
    readonly work: number[] = []; /* ms that drawing took */
    readonly gaps: number[] = []; /* ms since the frame before, when that one drew as well */
    private last = 0;

    add(startedMs: number, frameMs: number, endedMs: number): void {
        this.work.push(endedMs - startedMs);
        if (this.last && frameMs - this.last < 250) this.gaps.push(frameMs - this.last);
        this.last = frameMs;
        if (this.work.length > 4096) this.work.splice(0, 2048);
        if (this.gaps.length > 4096) this.gaps.splice(0, 2048);
    }

    clear(): void {
        this.work.length = this.gaps.length = 0;
        this.last = 0;
    }
}

export const frames = new Frames();

const themeColours = new Map<string, string>();
onTheme(() => themeColours.clear());

/* A colour of the style sheet, by the name of its property. */
export function themeColour(name: string): string {
    let colour = themeColours.get(name);
    if (colour === undefined) {
        colour =
            getComputedStyle(document.documentElement).getPropertyValue(name).trim() || "#888888";
        themeColours.set(name, colour);
    }
    return colour;
}

export interface Pointer {
    x: number;
    y: number;
}

export interface CanvasClient {
    draw(
        c: CanvasRenderingContext2D,
        width: number,
        height: number,
    ): boolean; /* true: again in the next frame */
    hover?(at: Pointer | null): void;
    click?(at: Pointer, event: PointerEvent): void;
    key?(event: KeyboardEvent): boolean;
    zoomY?(at: Pointer, factor: number): void;
    panY?(by: number, at: Pointer): void;
    measure?(
        fromNs: number,
        toNs: number | null,
    ): void; /* shift and drag; null: the drag goes on */
}

/*
 * A canvas over a window of time. left and right: pixels beside the plot.
 */
export class TimeCanvas {
    readonly element: HTMLCanvasElement;
    private readonly context: CanvasRenderingContext2D;
    private queued = false;
    private width = 0;
    private height = 0;
    private readonly stops: (() => void)[] = [];
    private pressed: Map<number, Pointer> = new Map();
    private moved = 0;
    private measureFrom: number | null = null;
    private movedAt = 0;
    private frameAt = 0;
    gap = 0; /* ms between this frame and the one before, when both were drawn in a row */
    lastPointer: Pointer | null = null;

    constructor(
        readonly time: TimeWindow,
        private readonly client: CanvasClient,
        label: string,
        readonly left: number,
        readonly right: number,
    ) {
        this.element = document.createElement("canvas");
        this.element.tabIndex = 0;
        this.element.setAttribute("role", "application");
        this.element.setAttribute("aria-roledescription", "picture that can be panned and zoomed");
        this.element.setAttribute("aria-label", label);
        this.context = this.element.getContext("2d", { alpha: false }) as CanvasRenderingContext2D;
        this.stops.push(
            time.watch(() => {
                this.movedAt = performance.now();
                this.refresh();
            }),
        );
        const observer = new ResizeObserver(() => this.resize());
        observer.observe(this.element);
        this.stops.push(() => observer.disconnect());
        this.listen();
    }

    destroy(): void {
        for (const stop of this.stops) stop();
        this.stops.length = 0;
    }

    /* Whether the window of time changed, or the pointer did something, a moment ago. */
    get isMoving(): boolean {
        return performance.now() - this.movedAt < MOVING_MS;
    }

    get plotWidth(): number {
        return Math.max(1, this.width - this.left - this.right);
    }

    timeAt(x: number): number {
        return this.time.t0 + ((x - this.left) / this.plotWidth) * this.time.span;
    }

    xOf(ns: number): number {
        return this.left + ((ns - this.time.t0) / this.time.span) * this.plotWidth;
    }

    refresh(): void {
        if (this.queued) return;
        this.queued = true;
        requestAnimationFrame(frameMs => {
            this.queued = false;
            if (!this.element.isConnected || !this.width || !this.height) return;
            const started = performance.now();
            this.gap = frameMs - this.frameAt < 250 ? frameMs - this.frameAt : 0;
            this.frameAt = frameMs;
            const scale = this.element.width / this.width;
            this.context.setTransform(scale, 0, 0, scale, 0, 0);
            const again = this.client.draw(this.context, this.width, this.height);
            frames.add(started, frameMs, performance.now());
            if (again) this.refresh();
        });
    }

    private resize(): void {
        const box = this.element.getBoundingClientRect();
        if (!box.width || !box.height) return;
        this.width = box.width;
        this.height = box.height;
        const scale = Math.min(2, window.devicePixelRatio || 1);
        const w = Math.round(box.width * scale);
        const h = Math.round(box.height * scale);
        if (this.element.width !== w || this.element.height !== h) {
            this.element.width = w;
            this.element.height = h;
        }
        this.refresh();
    }

    private point(event: MouseEvent): Pointer {
        const box = this.element.getBoundingClientRect();
        return { x: event.clientX - box.left, y: event.clientY - box.top };
    }

    private listen(): void {
        const e = this.element;
        e.addEventListener("wheel", event => this.wheel(event), { passive: false });
        e.addEventListener("pointerdown", event => this.press(event));
        e.addEventListener("pointermove", event => this.move(event));
        e.addEventListener("pointerup", event => this.release(event));
        e.addEventListener("pointercancel", event => this.release(event));
        e.addEventListener("pointerleave", () => {
            if (this.pressed.size) return;
            this.lastPointer = null;
            this.client.hover?.(null);
        });
        e.addEventListener("dblclick", event => {
            this.time.zoom(this.timeAt(this.point(event).x), 0.4);
        });
        e.addEventListener("keydown", event => {
            if (event.ctrlKey || event.metaKey) return;
            if (!this.client.key?.(event) && !this.key(event.key)) return;
            event.preventDefault();
            event.stopPropagation();
        });
    }

    private wheel(event: WheelEvent): void {
        event.preventDefault();
        this.movedAt = performance.now();
        const at = this.point(event);
        const unit = event.deltaMode === 1 ? 16 : event.deltaMode === 2 ? 400 : 1;
        const dy = event.deltaY * unit;
        const dx = event.deltaX * unit;
        if (event.shiftKey && this.client.panY) this.client.panY(dy || dx, at);
        else if (event.altKey && this.client.zoomY) this.client.zoomY(at, Math.exp(dy * 0.0022));
        else if (Math.abs(dx) > Math.abs(dy)) this.time.pan((dx / this.plotWidth) * this.time.span);
        else
            this.time.zoom(
                this.timeAt(at.x),
                Math.exp(Math.max(-240, Math.min(240, dy)) * (event.ctrlKey ? 0.01 : 0.0022)),
            );
    }

    /* ---- Pointers: one pans or measures, two zoom ---- */

    private press(event: PointerEvent): void {
        if (event.button !== 0) return;
        this.element.setPointerCapture(event.pointerId);
        const at = this.point(event);
        this.pressed.set(event.pointerId, at);
        this.moved = 0;
        if (event.shiftKey && this.client.measure) this.measureFrom = this.timeAt(at.x);
        this.element.classList.add("dragging");
    }

    private move(event: PointerEvent): void {
        const at = this.point(event);
        const before = this.pressed.get(event.pointerId);
        this.lastPointer = at;
        if (!before) {
            this.client.hover?.(at);
            return;
        }
        this.moved += Math.abs(at.x - before.x) + Math.abs(at.y - before.y);
        if (this.measureFrom !== null) this.client.measure?.(this.measureFrom, this.timeAt(at.x));
        else if (this.pressed.size === 1) this.drag(before, at);
        else this.pinch(before, at);
        before.x = at.x;
        before.y = at.y;
    }

    private drag(before: Pointer, at: Pointer): void {
        if (this.moved <= 3) return;
        this.time.pan((-(at.x - before.x) / this.plotWidth) * this.time.span);
        this.client.panY?.(-(at.y - before.y), at);
    }

    private pinch(before: Pointer, at: Pointer): void {
        const [a, b] = [...this.pressed.values()];
        const other = before === a ? b : a;
        const was = Math.hypot(before.x - other.x, before.y - other.y);
        const is = Math.hypot(at.x - other.x, at.y - other.y);
        if (was > 8 && is > 8) this.time.zoom(this.timeAt((at.x + other.x) / 2), was / is);
    }

    private release(event: PointerEvent): void {
        const at = this.pressed.get(event.pointerId);
        this.pressed.delete(event.pointerId);
        this.element.classList.remove("dragging");
        if (!at || event.type === "pointercancel") {
            this.measureFrom = null;
            return;
        }
        if (this.measureFrom !== null) {
            this.client.measure?.(this.measureFrom, this.moved > 3 ? this.timeAt(at.x) : NaN);
            this.measureFrom = null;
        } else if (this.moved <= 3) this.client.click?.(at, event);
    }

    /* True: the key is one of those that pan and zoom. */
    private key(key: string): boolean {
        const { time, client } = this;
        const middle = this.lastPointer ? this.timeAt(this.lastPointer.x) : (time.t0 + time.t1) / 2;
        const at = this.lastPointer ?? { x: this.left + this.plotWidth / 2, y: this.height / 2 };
        const step = 0.12 * time.span;
        const keys: Record<string, () => void> = {
            ArrowLeft: () => time.pan(-step),
            ArrowRight: () => time.pan(step),
            ArrowUp: () => client.panY?.(-48, at),
            ArrowDown: () => client.panY?.(48, at),
            "+": () => time.zoom(middle, 0.6),
            "=": () => time.zoom(middle, 0.6),
            "-": () => time.zoom(middle, 1 / 0.6),
            _: () => time.zoom(middle, 1 / 0.6),
            "]": () => client.zoomY?.(at, 0.6),
            "[": () => client.zoomY?.(at, 1 / 0.6),
            Home: () => time.set(time.begin, time.end),
            "0": () => time.set(time.begin, time.end),
        };
        if (!Object.hasOwn(keys, key)) return false;
        keys[key]();
        return true;
    }
}

/* The axis of time along a line; faint lines down to `bottom`. */
export function drawTimeAxis(
    c: CanvasRenderingContext2D,
    canvas: TimeCanvas,
    y: number,
    bottom: number,
): void {
    const { time } = canvas;
    const step = format.axisStep(time.span, canvas.plotWidth / 110);
    const right = canvas.left + canvas.plotWidth;
    c.font = "11px system-ui, sans-serif";
    c.textBaseline = "alphabetic";
    c.textAlign = "center";
    const ink = themeColour("--ink-soft"),
        line = themeColour("--line-soft");
    for (
        let t = Math.ceil(Math.max(time.t0, time.begin) / step) * step;
        t <= Math.min(time.t1, time.end) + 1e-9;
        t += step
    ) {
        const x = Math.round(canvas.xOf(t)) + 0.5;
        if (x < canvas.left || x > right) continue;
        c.fillStyle = line;
        c.fillRect(x - 0.5, y + 4, 1, bottom - y - 4);
        c.fillStyle = ink;
        const label = format.moment(t, step);
        const half = c.measureText(label).width / 2;
        c.fillText(label, Math.max(canvas.left + half, Math.min(right - half, x)), y);
    }
}

export function parseColour(css: string): number {
    const match = /^#([0-9a-f]{6})$/i.exec(css);
    return match ? parseInt(match[1], 16) : 0x888888;
}

const cssColours = new Map<number, string>();

export function cssColour(rgb: number): string {
    let text = cssColours.get(rgb);
    if (text === undefined) {
        text = `#${rgb.toString(16).padStart(6, "0")}`;
        if (cssColours.size < 4096) cssColours.set(rgb, text);
    }
    return text;
}

/* Black or white, whichever reads better on the colour. */
export function inkOn(rgb: number): string {
    const linear = (v: number): number =>
        (v /= 255) <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4;
    const light =
        0.2126 * linear((rgb >> 16) & 255) +
        0.7152 * linear((rgb >> 8) & 255) +
        0.0722 * linear(rgb & 255);
    return light > 0.3 ? "#10151c" : "#ffffff";
}

/* The text, cut where there is no room for all of it; none where there is no room for much. */
export function fitText(
    c: CanvasRenderingContext2D,
    text: string,
    x: number,
    y: number,
    room: number,
): void {
    if (room < 14) return;
    const width = c.measureText(text).width;
    if (width <= room) {
        c.fillText(text, x, y);
        return;
    }
    const keep = Math.floor((text.length * room) / width) - 1;
    if (keep >= 3) c.fillText(`${text.slice(0, keep)}…`, x, y);
}
