/*
 * A table of any length. Only the rows in sight are in the document. Keys: arrows up and down, Page
 * up and down, Home, End move the current row; left and right choose a link in it; Enter opens it.
 * The table is one stop of Tab: its links are none, for a link that scrolls away would take the
 * focus with it.
 */
import * as format from "./format.js";
import { h, heading, newId, type Child } from "./dom.js";

export interface GridColumn {
    title: string;
    tip?: string;
    width?: string; /* of CSS grids: "8em", "1fr" */
    isNumber?: boolean;
    /* What the cell shows; row is a row of the source. */
    cell(row: number): Child;
    /* What to sort by; without it, the column is not sorted. */
    key?(row: number): number | string;
    /* What a filter looks at; without it, the cell's text if that is a text. */
    find?(row: number): string;
}

export interface GridOptions {
    label: string;
    rows: Uint32Array | number; /* row numbers, or how many from 0 */
    columns: GridColumn[];
    height?: number; /* pixels of the body, at most */
    open?(row: number): void;
    hasFilter?: boolean;
    empty?: string;
}

const ROW_HEIGHT = 26;
const SCROLL_MAX = 12_000_000; /* browsers clip taller elements */
const HEIGHT = 360;
const MARGIN_ROWS = 4; /* drawn above and below those in sight */
const FILTER_MS = 120; /* after the last key, the filter is applied */

export function grid(options: GridOptions): HTMLElement {
    return new Grid(options).element;
}

/* ---- Which rows, in which order ---------------------------------------------------------------- */

function textOf(column: GridColumn, row: number): string {
    if (column.find) return column.find(row);
    const cell = column.cell(row);
    return cell instanceof Node
        ? (cell.textContent ?? "")
        : Array.isArray(cell)
          ? cell.map(c => (c instanceof Node ? c.textContent : String(c ?? ""))).join("")
          : String(cell ?? "");
}

/* The rows that have all the words, in any of their columns. */
function filtered(rows: Uint32Array, columns: GridColumn[], words: string): Uint32Array {
    const parts = words.split(/\s+/).filter(Boolean);
    if (!parts.length) return rows;
    return rows.filter(row => {
        const text = columns
            .map(c => textOf(c, row))
            .join(" ")
            .toLowerCase();
        return parts.every(p => text.includes(p));
    });
}

/* Rows with the same key stay in the order of their numbers, whichever way is sorted. */
function sorted(
    rows: Uint32Array,
    key: (row: number) => number | string,
    isDescending: boolean,
): Uint32Array {
    const keys = new Map<number, number | string>();
    for (const row of rows) keys.set(row, key(row));
    return rows.slice().sort((a, b) => {
        const ka = keys.get(a) as number,
            kb = keys.get(b) as number;
        const order = ka < kb ? -1 : ka > kb ? 1 : a - b;
        return isDescending ? -order : order;
    });
}

/* ---- The table --------------------------------------------------------------------------------- */

class Grid {
    readonly element: HTMLElement;
    private readonly id = newId("grid");
    private readonly template: string; /* the widths of the columns */
    private readonly heads: HTMLElement[];
    private readonly rowHolder = h("div", { class: "grid-rows", role: "rowgroup" });
    private readonly spacer: HTMLElement;
    private readonly body: HTMLElement;
    private readonly counted = h("span", { class: "grid-count", "aria-live": "polite" });
    private readonly all: Uint32Array;
    private rows: Uint32Array;
    private current = 0;
    private chosen = -1; /* of the links of the current row; -1: the row */
    private sortColumn = -1;
    private isDescending = false;
    private words = "";
    private isQueued = false;

    constructor(private readonly options: GridOptions) {
        this.all =
            typeof options.rows === "number"
                ? Uint32Array.from({ length: options.rows }, (_, i) => i)
                : options.rows;
        this.rows = this.all;
        this.template = options.columns
            .map(c => c.width ?? (c.isNumber ? "minmax(5em, 0.7fr)" : "minmax(6em, 1fr)"))
            .join(" ");
        this.heads = options.columns.map((c, i) => this.makeHead(c, i));
        this.spacer = h("div", { class: "grid-space", role: "presentation" }, this.rowHolder);
        this.body = this.makeBody();
        this.element = h(
            "div",
            { class: "grid" },
            options.hasFilter === false
                ? null
                : h("div", { class: "grid-bar" }, this.makeFilter(), this.counted),
            this.body,
        );
        this.body.addEventListener("scroll", () => this.drawSoon());
        this.body.addEventListener("keydown", event => this.press(event));
        this.layout();
        new ResizeObserver(() => this.draw()).observe(this.body);
    }

    private makeHead(column: GridColumn, i: number): HTMLElement {
        const head = h("div", {
            role: "columnheader",
            class: column.isNumber ? "number" : "",
            title: column.tip ?? null,
            "aria-sort": column.key ? "none" : null,
        });
        head.append(
            column.key
                ? h(
                      "button",
                      { type: "button", class: "sort", click: () => this.sort(i) },
                      column.title,
                  )
                : heading(column.title),
        );
        return head;
    }

    private makeBody(): HTMLElement {
        const head = h(
            "div",
            {
                role: "row",
                class: "grid-row grid-head",
                "aria-rowindex": 1,
                style: `grid-template-columns:${this.template}`,
            },
            this.heads,
        );
        return h(
            "div",
            {
                class: "grid-body",
                tabindex: 0,
                role: "grid",
                "aria-label": this.options.label,
                "aria-colcount": this.options.columns.length,
                style: `max-height:${this.options.height ?? HEIGHT}px`,
            },
            h("div", { role: "rowgroup", class: "grid-top" }, head),
            this.spacer,
        );
    }

    private makeFilter(): HTMLElement {
        const filter = h("input", {
            type: "search",
            placeholder: "Filter",
            "aria-label": `Filter: ${this.options.label}`,
            spellcheck: "false",
        });
        let timer = 0;
        filter.addEventListener("input", () => {
            clearTimeout(timer);
            timer = window.setTimeout(() => {
                this.words = filter.value.trim().toLowerCase();
                this.apply();
            }, FILTER_MS);
        });
        return filter;
    }

    /* ---- Filter and sort ---- */

    private apply(): void {
        const key = this.options.columns[this.sortColumn]?.key;
        this.rows = filtered(this.all, this.options.columns, this.words);
        if (key) this.rows = sorted(this.rows, key, this.isDescending);
        this.current = 0;
        this.chosen = -1;
        this.body.scrollTop = 0;
        this.layout();
    }

    private sort(column: number): void {
        const { columns } = this.options;
        if (this.sortColumn === column) this.isDescending = !this.isDescending;
        else {
            this.sortColumn = column;
            this.isDescending = columns[column].isNumber === true;
        }
        const order = this.isDescending ? "descending" : "ascending";
        this.heads.forEach((head, i) => {
            if (columns[i].key) head.setAttribute("aria-sort", i === column ? order : "none");
        });
        this.apply();
    }

    /* ---- What is in sight ---- */

    private get tall(): number {
        return Math.min(SCROLL_MAX, this.rows.length * ROW_HEIGHT);
    }

    private get seenHeight(): number {
        return this.body.clientHeight || this.options.height || HEIGHT;
    }

    private layout(): void {
        const { rows, all } = this;
        this.spacer.style.height = `${Math.max(ROW_HEIGHT, this.tall)}px`;
        this.body.setAttribute("aria-rowcount", String(rows.length + 1));
        this.counted.textContent =
            rows.length === all.length
                ? format.plural(all.length, "row")
                : `${format.count(rows.length)} of ${format.plural(all.length, "row")}`;
        this.draw();
    }

    private firstRow(): number {
        const seen = this.seenHeight;
        const scrollable = Math.max(1, this.tall - seen + ROW_HEIGHT);
        const share = Math.min(1, this.body.scrollTop / scrollable);
        if (this.tall < SCROLL_MAX) return Math.floor(this.body.scrollTop / ROW_HEIGHT);
        const fit = Math.floor(seen / ROW_HEIGHT);
        return Math.floor(share * Math.max(0, this.rows.length - fit + 1));
    }

    private drawSoon(): void {
        if (this.isQueued) return;
        this.isQueued = true;
        requestAnimationFrame(() => {
            this.isQueued = false;
            this.draw();
        });
    }

    private draw(): void {
        const seen = Math.ceil(this.seenHeight / ROW_HEIGHT) + 1;
        const first = Math.max(0, Math.min(this.firstRow(), this.rows.length - 1));
        const from = Math.max(0, first - MARGIN_ROWS);
        const to = Math.min(this.rows.length, first + seen + MARGIN_ROWS);
        const top =
            this.tall >= SCROLL_MAX
                ? this.body.scrollTop - (first - from) * ROW_HEIGHT
                : from * ROW_HEIGHT;
        const children: Node[] = [];
        for (let i = from; i < to; i++) children.push(this.drawRow(i));
        if (!this.rows.length) children.push(this.drawNone());
        this.rowHolder.style.transform = `translateY(${Math.max(0, top)}px)`;
        this.rowHolder.replaceChildren(...children);
        this.markActive(from, to);
    }

    private drawRow(i: number): HTMLElement {
        const { columns, open } = this.options;
        const row = this.rows[i];
        return h(
            "div",
            {
                role: "row",
                id: `${this.id}-${i}`,
                class: `grid-row${i === this.current ? " current" : ""}`,
                "aria-rowindex": i + 2,
                "aria-selected": i === this.current ? "true" : "false",
                style: `grid-template-columns:${this.template}`,
                click: () => {
                    this.current = i;
                    this.chosen = -1;
                    this.draw();
                },
                dblclick: () => open?.call(this.options, row),
            },
            columns.map(c => this.drawCell(c, row)),
        );
    }

    private drawCell(column: GridColumn, row: number): HTMLElement {
        const cell = h(
            "div",
            { role: "gridcell", class: column.isNumber ? "number" : "" },
            column.cell(row),
        );
        for (const link of cell.querySelectorAll<HTMLElement>("a, button")) link.tabIndex = -1;
        const text = cell.textContent ?? "";
        if (text.length > 16) cell.title = text; /* it may be cut off */
        return cell;
    }

    private drawNone(): HTMLElement {
        return h(
            "div",
            { role: "row", class: "grid-row none" },
            h("div", { role: "gridcell" }, this.options.empty ?? "No rows."),
        );
    }

    /* Says which row, or which link of it, the keys are at; from and to: the rows that are drawn. */
    private markActive(from: number, to: number): void {
        const link = this.chosen < 0 ? undefined : this.links()[this.chosen];
        if (link) {
            link.id = `${this.id}-link`;
            link.classList.add("chosen");
            this.body.setAttribute("aria-activedescendant", link.id);
        } else if (this.current >= from && this.current < to && this.rows.length)
            this.body.setAttribute("aria-activedescendant", `${this.id}-${this.current}`);
        else this.body.removeAttribute("aria-activedescendant");
    }

    /* ---- Keys ---- */

    /* Of the current row, where that is drawn. */
    private links(): HTMLElement[] {
        return [...this.rowHolder.querySelectorAll<HTMLElement>(".current a, .current button")];
    }

    private press(event: KeyboardEvent): void {
        if (event.target !== this.body) return;
        const page = Math.max(1, Math.floor(this.body.clientHeight / ROW_HEIGHT) - 2);
        const moves: Record<string, number> = {
            ArrowDown: 1,
            ArrowUp: -1,
            PageDown: page,
            PageUp: -page,
            Home: -Infinity,
            End: Infinity,
        };
        if (event.key === "ArrowLeft") this.choose(-1);
        else if (event.key === "ArrowRight") this.choose(1);
        else if (event.key in moves) this.move(moves[event.key]);
        else if (event.key === "Enter" && this.rows.length) this.enter();
        else return;
        event.preventDefault();
        event.stopPropagation();
    }

    private choose(by: number): void {
        const last = this.links().length - 1;
        this.chosen = Math.max(-1, Math.min(last, this.chosen + by));
        this.draw();
    }

    /* Another row becomes the current one, and comes into sight. */
    private move(by: number): void {
        const { body, rows } = this;
        this.chosen = -1;
        this.current = Math.max(0, Math.min(rows.length - 1, this.current + by));
        const y =
            this.tall < SCROLL_MAX
                ? this.current * ROW_HEIGHT
                : (this.tall * this.current) / rows.length;
        if (y < body.scrollTop) body.scrollTop = y;
        else if (y + 2 * ROW_HEIGHT > body.scrollTop + body.clientHeight)
            body.scrollTop = y + 2 * ROW_HEIGHT - body.clientHeight;
        this.draw();
    }

    private enter(): void {
        if (this.chosen >= 0) this.links()[this.chosen]?.click();
        else if (this.options.open) this.options.open(this.rows[this.current]);
        else this.links()[0]?.click();
    }
}
