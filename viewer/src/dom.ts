/*
 * Elements, without markup: every text of a run becomes a text node, so that nothing a driver
 * prints is ever parsed. Also what all views share: sections with their sentence and table.
 */

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
export function heading(title: string): Node {
    return title ? document.createTextNode(title) : h("span", { class: "unseen" }, "as a bar");
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
