/*
 * Elements, without markup: every text of a run becomes a text node, so that nothing a driver
 * prints is ever parsed. Also what all views share: sections with their sentence and table, and
 * tables that show a window of many rows.
 */
import * as format from "./format.js";

export type Child = Node | string | number | null | undefined | false | Child[];
type Attributes = Record<
    string,
    string | number | boolean | null | undefined | ((event: never) => void)
>;

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set([
    "svg",
    "g",
    "path",
    "rect",
    "line",
    "circle",
    "text",
    "title",
    "polyline",
]);

function fill(element: Element, attributes: Attributes, children: Child[]): void {
    for (const [name, value] of Object.entries(attributes)) {
        if (value === null || value === undefined || value === false) continue;
        if (typeof value === "function") element.addEventListener(name, value as EventListener);
        else element.setAttribute(name, value === true ? "" : String(value));
    }
    append(element, children);
}

export function append(element: Element, children: Child): void {
    if (Array.isArray(children)) for (const child of children) append(element, child);
    else if (children instanceof Node) element.append(children);
    else if (children !== null && children !== undefined && children !== false)
        element.append(String(children));
}

export function h<K extends keyof HTMLElementTagNameMap>(
    tag: K,
    attributes: Attributes = {},
    ...children: Child[]
): HTMLElementTagNameMap[K] {
    const element = document.createElement(tag);
    fill(element, attributes, children);
    return element;
}

export function svg(tag: string, attributes: Attributes = {}, ...children: Child[]): SVGElement {
    if (!SVG_TAGS.has(tag)) throw new Error(tag);
    const element = document.createElementNS(SVG, tag) as SVGElement;
    fill(element, attributes, children);
    return element;
}

export function clear(element: Element): void {
    element.replaceChildren();
}

/* A link within the page. */
export function link(target: string, ...children: Child[]): HTMLAnchorElement {
    return h("a", { href: `#${target}` }, ...children);
}

let ids = 0;
export function newId(stem: string): string {
    return `${stem}-${++ids}`;
}

/* A section of a view: heading, one sentence that says what is seen, then the rest. */
export function section(title: string, sentence: Child, ...children: Child[]): HTMLElement {
    const id = newId("section");
    return h(
        "section",
        { class: "card", "aria-labelledby": id },
        h(
            "header",
            { class: "card-head" },
            h("h2", { id }, title),
            sentence ? h("p", { class: "says" }, sentence) : null,
        ),
        ...children,
    );
}

/* A section whose picture can be read as a table instead: a button changes between both. */
export function pictured(
    title: string,
    sentence: Child,
    picture: HTMLElement,
    table: () => HTMLElement,
    ...after: Child[]
): HTMLElement {
    const holder = h("div", { class: "picture" }, picture);
    const button = h(
        "button",
        { type: "button", class: "quiet", "aria-pressed": "false" },
        "Table",
    );
    button.setAttribute("aria-label", `${title}: as a table`);
    let other: HTMLElement | null = null;
    button.addEventListener("click", () => {
        const shows = button.getAttribute("aria-pressed") !== "true";
        button.setAttribute("aria-pressed", String(shows));
        if (shows && !other) other = table();
        holder.replaceChildren(shows && other ? other : picture);
        if (!shows) picture.dispatchEvent(new Event("shown"));
    });
    const element = section(title, sentence, holder, ...after);
    element.querySelector(".card-head")?.append(button);
    return element;
}

export function legend(
    entries: {
        colour: string;
        label: string;
        tip?: string;
        mark?: "line" | "box" | "hatch" | "dotted";
    }[],
    label = "Legend",
): HTMLElement {
    return h(
        "ul",
        { class: "legend", "aria-label": label },
        entries.map(e =>
            h(
                "li",
                { title: e.tip },
                h("span", {
                    class: `swatch ${e.mark ?? "box"}`,
                    style: `--c:${e.colour}`,
                    "aria-hidden": "true",
                }),
                e.label,
            ),
        ),
    );
}

/* A bar in a cell: its share of the row's largest. */
export function bar(share: number, colour = "var(--accent)"): HTMLElement {
    return h(
        "span",
        { class: "bar", "aria-hidden": "true" },
        h("span", {
            style:
                `width:${(100 * Math.max(0, Math.min(1, share))).toFixed(1)}%;background:` +
                `${colour}`,
        }),
    );
}

/* A column without a title has bars: those who cannot see them are told. */
function heading(title: string): Node {
    return title ? document.createTextNode(title) : h("span", { class: "unseen" }, "as a bar");
}

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

/*
 * A table of any length. Only the rows in sight are in the document. Keys: arrows up and down, Page
 * up and down, Home, End move the current row; left and right choose a link in it; Enter opens it.
 * The table is one stop of Tab: its links are none, for a link that scrolls away would take the
 * focus with it.
 */
export function grid(options: GridOptions): HTMLElement {
    const all =
        typeof options.rows === "number"
            ? Uint32Array.from({ length: options.rows }, (_, i) => i)
            : options.rows;
    let rows = all;
    let current = 0;
    let chosen = -1; /* of the links of the current row; -1: the row */
    let sortColumn = -1;
    let isDescending = false;
    let words = "";
    const template = options.columns
        .map(c => c.width ?? (c.isNumber ? "minmax(5em, 0.7fr)" : "minmax(6em, 1fr)"))
        .join(" ");
    const id = newId("grid");

    const heads = options.columns.map((c, i) => {
        const head = h("div", {
            role: "columnheader",
            class: c.isNumber ? "number" : "",
            title: c.tip ?? null,
            "aria-sort": c.key ? "none" : null,
        });
        if (c.key)
            head.append(
                h("button", { type: "button", class: "sort", click: () => sort(i) }, c.title),
            );
        else head.append(heading(c.title));
        return head;
    });
    const head = h(
        "div",
        {
            role: "row",
            class: "grid-row grid-head",
            "aria-rowindex": 1,
            style: `grid-template-columns:${template}`,
        },
        heads,
    );
    const rowHolder = h("div", { class: "grid-rows", role: "rowgroup" });
    const spacer = h("div", { class: "grid-space", role: "presentation" }, rowHolder);
    const body = h(
        "div",
        {
            class: "grid-body",
            tabindex: 0,
            role: "grid",
            "aria-label": options.label,
            "aria-colcount": options.columns.length,
            style: `max-height:${options.height ?? 360}px`,
        },
        h("div", { role: "rowgroup", class: "grid-top" }, head),
        spacer,
    );
    const counted = h("span", { class: "grid-count", "aria-live": "polite" });
    const filter = h("input", {
        type: "search",
        placeholder: "Filter",
        "aria-label": `Filter: ${options.label}`,
        spellcheck: "false",
    });
    let timer = 0;
    filter.addEventListener("input", () => {
        clearTimeout(timer);
        timer = window.setTimeout(() => {
            words = filter.value.trim().toLowerCase();
            apply();
        }, 120);
    });

    function textOf(column: GridColumn, row: number): string {
        if (column.find) return column.find(row);
        const cell = column.cell(row);
        return cell instanceof Node
            ? (cell.textContent ?? "")
            : Array.isArray(cell)
              ? cell.map(c => (c instanceof Node ? c.textContent : String(c ?? ""))).join("")
              : String(cell ?? "");
    }

    function apply(): void {
        const parts = words.split(/\s+/).filter(Boolean);
        rows = parts.length
            ? all.filter(row => {
                  const text = options.columns
                      .map(c => textOf(c, row))
                      .join(" ")
                      .toLowerCase();
                  return parts.every(p => text.includes(p));
              })
            : all;
        if (sortColumn >= 0) {
            const key = options.columns[sortColumn].key as (row: number) => number | string;
            const keys = new Map<number, number | string>();
            for (const row of rows) keys.set(row, key(row));
            rows = rows.slice().sort((a, b) => {
                const ka = keys.get(a) as number,
                    kb = keys.get(b) as number;
                const order = ka < kb ? -1 : ka > kb ? 1 : a - b;
                return isDescending ? -order : order;
            });
        }
        current = 0;
        chosen = -1;
        body.scrollTop = 0;
        layout();
    }

    function sort(column: number): void {
        if (sortColumn === column) isDescending = !isDescending;
        else {
            sortColumn = column;
            isDescending = options.columns[column].isNumber === true;
        }
        heads.forEach(
            (e, i) =>
                options.columns[i].key &&
                e.setAttribute(
                    "aria-sort",
                    i !== column ? "none" : isDescending ? "descending" : "ascending",
                ),
        );
        apply();
    }

    const tall = (): number => Math.min(SCROLL_MAX, rows.length * ROW_HEIGHT);

    function layout(): void {
        spacer.style.height = `${Math.max(ROW_HEIGHT, tall())}px`;
        body.setAttribute("aria-rowcount", String(rows.length + 1));
        counted.textContent =
            rows.length === all.length
                ? format.plural(all.length, "row")
                : `${format.count(rows.length)} of ${format.plural(all.length, "row")}`;
        draw();
    }

    function firstRow(): number {
        const seen = body.clientHeight || options.height || 360;
        const scrollable = Math.max(1, tall() - seen + ROW_HEIGHT);
        const share = Math.min(1, body.scrollTop / scrollable);
        if (tall() < SCROLL_MAX) return Math.floor(body.scrollTop / ROW_HEIGHT);
        return Math.floor(share * Math.max(0, rows.length - Math.floor(seen / ROW_HEIGHT) + 1));
    }

    function draw(): void {
        const seen = Math.ceil((body.clientHeight || options.height || 360) / ROW_HEIGHT) + 1;
        const first = Math.max(0, Math.min(firstRow(), rows.length - 1));
        const from = Math.max(0, first - 4);
        const to = Math.min(rows.length, first + seen + 4);
        const isScaled = tall() >= SCROLL_MAX;
        const top = isScaled ? body.scrollTop - (first - from) * ROW_HEIGHT : from * ROW_HEIGHT;
        const children: Node[] = [];
        for (let i = from; i < to; i++) {
            const row = rows[i];
            children.push(
                h(
                    "div",
                    {
                        role: "row",
                        id: `${id}-${i}`,
                        class: `grid-row${i === current ? " current" : ""}`,
                        "aria-rowindex": i + 2,
                        "aria-selected": i === current ? "true" : "false",
                        style: `grid-template-columns:${template}`,
                        click: () => {
                            current = i;
                            chosen = -1;
                            draw();
                        },
                        dblclick: () => options.open?.(row),
                    },
                    options.columns.map(c => {
                        const cell = h(
                            "div",
                            { role: "gridcell", class: c.isNumber ? "number" : "" },
                            c.cell(row),
                        );
                        for (const link of cell.querySelectorAll<HTMLElement>("a, button"))
                            link.tabIndex = -1;
                        const text = cell.textContent ?? "";
                        if (text.length > 16) cell.title = text; /* it may be cut off */
                        return cell;
                    }),
                ),
            );
        }
        if (!rows.length)
            children.push(
                h(
                    "div",
                    { role: "row", class: "grid-row none" },
                    h("div", { role: "gridcell" }, options.empty ?? "No rows."),
                ),
            );
        rowHolder.style.transform = `translateY(${Math.max(0, top)}px)`;
        rowHolder.replaceChildren(...children);
        const link = chosen < 0 ? undefined : linksOf()[chosen];
        if (link) {
            link.id = `${id}-link`;
            link.classList.add("chosen");
            body.setAttribute("aria-activedescendant", link.id);
        } else if (current >= from && current < to && rows.length)
            body.setAttribute("aria-activedescendant", `${id}-${current}`);
        else body.removeAttribute("aria-activedescendant");
    }

    const linksOf = (): HTMLElement[] => [
        ...rowHolder.querySelectorAll<HTMLElement>(".current a, .current button"),
    ];

    let queued = false;
    body.addEventListener("scroll", () => {
        if (queued) return;
        queued = true;
        requestAnimationFrame(() => {
            queued = false;
            draw();
        });
    });
    body.addEventListener("keydown", event => {
        if (event.target !== body) return;
        const page = Math.max(1, Math.floor(body.clientHeight / ROW_HEIGHT) - 2);
        const moves: Record<string, number> = {
            ArrowDown: 1,
            ArrowUp: -1,
            PageDown: page,
            PageUp: -page,
            Home: -Infinity,
            End: Infinity,
        };
        if (event.key === "ArrowLeft" || event.key === "ArrowRight") {
            const last = linksOf().length - 1;
            chosen = Math.max(-1, Math.min(last, chosen + (event.key === "ArrowRight" ? 1 : -1)));
            draw();
        } else if (event.key in moves) {
            chosen = -1;
            current = Math.max(0, Math.min(rows.length - 1, current + moves[event.key]));
            const y = tall() < SCROLL_MAX ? current * ROW_HEIGHT : (tall() * current) / rows.length;
            if (y < body.scrollTop) body.scrollTop = y;
            else if (y + 2 * ROW_HEIGHT > body.scrollTop + body.clientHeight)
                body.scrollTop = y + 2 * ROW_HEIGHT - body.clientHeight;
            draw();
        } else if (event.key === "Enter" && rows.length) {
            if (chosen >= 0) linksOf()[chosen]?.click();
            else if (options.open) options.open(rows[current]);
            else linksOf()[0]?.click();
        } else return;
        event.preventDefault();
        event.stopPropagation();
    });
    const element = h(
        "div",
        { class: "grid" },
        options.hasFilter === false ? null : h("div", { class: "grid-bar" }, filter, counted),
        body,
    );
    layout();
    new ResizeObserver(() => draw()).observe(body);
    return element;
}

/* A short table of names and values. */
export function pairs(label: string, entries: [Child, Child][], isWide = false): HTMLElement {
    return h(
        "dl",
        { class: isWide ? "pairs wide" : "pairs", "aria-label": label },
        entries.map(([name, value]) => h("div", {}, h("dt", {}, name), h("dd", {}, value))),
    );
}

/* A real table, for few rows. */
export function table(
    label: string,
    heads: { title: string; isNumber?: boolean }[],
    rows: Child[][],
): HTMLElement {
    return h(
        "div",
        { class: "scrolls", tabindex: 0, role: "group", "aria-label": label },
        h(
            "table",
            {},
            h("caption", { class: "unseen" }, label),
            h(
                "thead",
                {},
                h(
                    "tr",
                    {},
                    heads.map(x =>
                        h(
                            "th",
                            { scope: "col", class: x.isNumber ? "number" : "" },
                            heading(x.title),
                        ),
                    ),
                ),
            ),
            h(
                "tbody",
                {},
                rows.map(row =>
                    h(
                        "tr",
                        {},
                        row.map((cell, i) =>
                            i === 0
                                ? h(
                                      "th",
                                      { scope: "row", class: heads[i]?.isNumber ? "number" : "" },
                                      cell,
                                  )
                                : h("td", { class: heads[i]?.isNumber ? "number" : "" }, cell),
                        ),
                    ),
                ),
            ),
        ),
    );
}
