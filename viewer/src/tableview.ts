/*
 * The view of page tables: those of a process at a moment, a translation, and what changed since
 * another moment.
 */
import type { App, View } from "./app.js";
import type { Run } from "./data.js";
import { NEVER } from "./decode.js";
import { clear, h, link, pairs, section, type Child } from "./dom.js";
import * as format from "./format.js";
import { grid } from "./grid.js";
import { rowLink } from "./rows.js";
import {
    changes,
    flagsText,
    PageTables,
    SYSTEM,
    type Change,
    type Folded,
    type Piece,
} from "./tables.js";

const TREE_MOST = 400; /* ranges of a branch that are shown */

/* The tables of a process at a moment, and how their entries are said. */
class Moment {
    constructor(
        readonly run: Run,
        readonly tables: PageTables,
        readonly ns: number,
    ) {}

    plainTarget(row: number, va: number): string {
        const t = this.tables.target({ va, end: va, row }, va);
        const memory = t.segment ? this.run.objectName(t.segment) : "system memory";
        return `${memory} + ${format.hex(t.offset)}`;
    }

    targetText(row: number, va: number): Child {
        const v = (column: string): number => this.run.values("entries", column)[row];
        if (!v("valid")) return h("span", { class: "invalid" }, "not valid");
        return [
            this.plainTarget(row, va),
            v("valid") < v("count")
                ? ` (${format.count(v("valid"))} of ${format.count(v("count"))} valid)`
                : "",
            v("stride") === 0 && v("count") > 1 ? " (all the same)" : "",
            v("scattered") ? " (then scattered)" : "",
        ].join("");
    }

    writer(row: number): Child {
        const operation = this.run.values("entries", "operation")[row];
        return operation
            ? rowLink(this.run, "operations", operation)
            : link(`row/entries/${row}`, "entries");
    }

    /* Which allocation a range of addresses shows, at the moment. */
    shows(va: number): { name: Child; text: string } {
        for (const r of this.run.referring("mappings", "process", this.tables.process)) {
            const from = this.run.values("mappings", "va")[r],
                bytes = this.run.values("mappings", "bytes")[r];
            if (
                va >= from &&
                va < from + bytes &&
                this.run.values("mappings", "from")[r] <= this.ns &&
                this.run.values("mappings", "to")[r] > this.ns
            ) {
                const a = this.run.values("mappings", "allocation")[r];
                return {
                    name: link(`map?select=${a - 1}`, this.run.objectName(a)),
                    text: this.run.objectName(a),
                };
            }
        }
        return { name: "", text: "" };
    }
}

/* Ranges of one level. choose: an address of them was clicked. */
function piecesGrid(
    at: Moment,
    pieces: Folded[],
    label: string,
    height: number,
    choose: (va: number) => void,
): HTMLElement {
    const { run, tables: t } = at;
    const v = (column: string, i: number): number => run.values("entries", column)[pieces[i].row];
    const pagesIn = (p: Piece): number => (p.end - p.va) / t.covers(p.row);
    const latest = (i: number): number =>
        Math.max(...pieces[i].pieces.map(p => run.values("entries", "time")[p.row]));
    return grid({
        label,
        rows: pieces.length,
        height,
        empty: "No entry was written.",
        columns: [
            {
                title: "virtual address",
                width: "minmax(10em, 1fr)",
                cell: i =>
                    h(
                        "button",
                        {
                            type: "button",
                            class: "linklike mono",
                            click: () => choose(pieces[i].va),
                        },
                        format.hex(pieces[i].va, 12),
                    ),
                find: i => format.hex(pieces[i].va),
                key: i => pieces[i].va,
            },
            {
                title: "size",
                isNumber: true,
                width: "6.5em",
                cell: i => format.bytes(pieces[i].end - pieces[i].va),
                key: i => pieces[i].end - pieces[i].va,
            },
            {
                title: "pages",
                tip: "entries, each of which maps a page, and how large the page is",
                width: "9em",
                cell: i =>
                    `${format.count(pagesIn(pieces[i]))} × ` +
                    format.bytes(t.covers(pieces[i].row)),
                key: i => pagesIn(pieces[i]),
            },
            {
                title: "leads to",
                width: "minmax(14em, 1.5fr)",
                cell: i => at.targetText(pieces[i].row, pieces[i].va),
                find: i =>
                    t.leads(pieces[i]) ? at.plainTarget(pieces[i].row, pieces[i].va) : "not valid",
            },
            {
                title: "flags",
                tip: "other bits of the entry, by their names in DXGK_PTE",
                width: "minmax(6em, 0.6fr)",
                cell: i => flagsText(v("flags", i)),
                key: i => v("flags", i),
            },
            {
                title: "allocation",
                width: "minmax(8em, 1fr)",
                cell: i => at.shows(pieces[i].va).name,
                find: i => at.shows(pieces[i].va).text,
            },
            {
                title: "written by",
                width: "minmax(15em, 1.3fr)",
                cell: i => [
                    at.writer(pieces[i].row),
                    pieces[i].pieces.length > 1
                        ? ` and ${format.count(pieces[i].pieces.length - 1)} more`
                        : null,
                ],
                key: i => pieces[i].row,
            },
            {
                title: "at",
                isNumber: true,
                width: "7em",
                cell: i => format.moment(latest(i)),
                key: latest,
            },
        ],
    });
}

const ordered = (pieces: Folded[]): Folded[] => pieces.sort((a, b) => a.va - b.va || a.end - b.end);

/* The tree: ranges of the highest level, each with the ranges below it when it is opened. */
class Tree {
    private readonly byLevel: Map<number, Folded[]>;

    constructor(
        private readonly at: Moment,
        isFolded: boolean,
        private readonly choose: (va: number) => void,
    ) {
        const t = at.tables;
        const piecesOf = (level: number): Folded[] =>
            t.layers
                .filter(l => l.level === level)
                .flatMap(layer => {
                    const pieces = t.at(at.ns, layer);
                    return isFolded ? t.fold(pieces) : pieces.map(p => ({ ...p, pieces: [p] }));
                });
        this.byLevel = new Map(t.levels.map(level => [level, ordered(piecesOf(level))]));
    }

    root(): HTMLElement {
        return this.at.tables.levels.length
            ? this.branch(0, -Infinity, Infinity)
            : h("p", { class: "says" }, "No entries of this process were written.");
    }

    /* What a level, by its place among them, says of [from, to). */
    private branch(levelAt: number, from: number, to: number): HTMLElement {
        const t = this.at.tables;
        const level = t.levels[levelAt];
        const pieces = (this.byLevel.get(level) as Folded[])
            .filter(p => p.va < to && p.end > from)
            .map(p => ({ ...p, va: Math.max(p.va, from), end: Math.min(p.end, to) }));
        if (levelAt === t.levels.length - 1) {
            const label = `Entries of level ${level}, from ${format.hex(Math.max(0, from))}`;
            return h(
                "div",
                { class: "leaf" },
                piecesGrid(this.at, pieces, label, 240, this.choose),
            );
        }
        const valid = pieces.filter(p => t.leads(p));
        const others = pieces.length - valid.length;
        const says = (text: string): Child => h("li", { class: "says" }, text);
        return h(
            "ul",
            { class: "tree" },
            valid.slice(0, TREE_MOST).map(p => this.range(levelAt, p)),
            valid.length > TREE_MOST
                ? says(`and ${format.count(valid.length - TREE_MOST)} more ranges`)
                : null,
            others
                ? says(
                      `${format.plural(others, "range")} of level ${level} not valid, ` +
                          "left out here.",
                  )
                : null,
        );
    }

    /* A range that leads somewhere: pages, or a table that can be opened. */
    private range(levelAt: number, p: Folded): HTMLElement {
        const { at } = this;
        const t = at.tables;
        const isPage = t.isPage(p.row);
        const entries = (p.end - p.va) / t.covers(p.row);
        const head = [
            h("code", {}, `${format.hex(p.va, 12)} – ${format.hex(p.end, 12)}`),
            ` level ${t.levels[levelAt]}, ${isPage ? "pages: " : ""}`,
            isPage
                ? `${format.count(entries)} × ${format.bytes(t.covers(p.row))}`
                : format.plural(entries, "entry", "entries"),
            ": ",
            at.targetText(p.row, p.va),
            isPage && at.shows(p.va).text ? [", ", at.shows(p.va).name] : null,
        ];
        const written = h(
            "p",
            { class: "says written" },
            "Written by ",
            at.writer(p.row),
            ` at ${format.moment(at.run.values("entries", "time")[p.row])}`,
            p.pieces.length > 1
                ? ` and by ${format.plural(p.pieces.length - 1, "other operation")}`
                : null,
            ".",
        );
        if (isPage) return h("li", { class: "page" }, head, written);
        const body = h("div");
        const details = h("details", {}, h("summary", {}, head), written, body);
        details.addEventListener("toggle", () => {
            if (details.open && !body.firstChild)
                body.append(this.branch(levelAt + 1, p.va, p.end));
        });
        return h("li", {}, details);
    }
}

/* What an address leads to, level by level; text: as it was typed. */
function translationOf(at: Moment, text: string): HTMLElement[] {
    const va = /^(0x[0-9a-f]+|\d+)$/i.test(text) ? Number(text) : NaN;
    if (!Number.isSafeInteger(va))
        return [
            h(
                "p",
                { class: "notice bad", role: "alert" },
                "An address is a number, such as 0x400000000000.",
            ),
        ];
    const { run, tables: t } = at;
    const leaf = t.mapped(at.ns, va);
    const twice = t.layers.filter(l => l.level === 0).length > 1;
    const steps = t
        .walk(at.ns, va)
        .map(({ layer, piece }): [Child, Child] => [
            `level ${layer.level}` +
                (layer.level === 0 && twice ? `, ${format.bytes(layer.covers)} pages` : ""),
            piece
                ? [
                      at.targetText(piece.row, va),
                      ", written by ",
                      at.writer(piece.row),
                      ` at ${format.moment(run.values("entries", "time")[piece.row])}`,
                      leaf === piece ? h("strong", {}, " maps the address") : null,
                  ]
                : "no entry was written",
        ]);
    const mapping = at.shows(va);
    return [
        h(
            "p",
            { class: "answer" },
            h("strong", {}, format.hex(va)),
            leaf
                ? ` is ${at.plainTarget(leaf.row, va)}, in a page of ` +
                      format.bytes(t.covers(leaf.row))
                : " leads nowhere at this moment",
            mapping.text ? [", where ", mapping.name, " is mapped"] : null,
            ".",
        ),
        pairs(`Translation of ${format.hex(va)}`, steps, true),
    ];
}

/* Pages that lead somewhere at one of two moments, and whose writer is another. */
function changesOf(t: PageTables, low: number, high: number): Change[] {
    const isPage = (p: Piece | null): boolean => p !== null && t.isPage(p.row);
    return t.layers
        .flatMap(layer => {
            const before = t.at(low, layer);
            return changes(before, t.at(high, layer));
        })
        .filter(
            c => (isPage(c.before) || isPage(c.after)) && (t.leads(c.before) || t.leads(c.after)),
        )
        .sort((a, b) => a.va - b.va);
}

function differenceGrid(at: Moment, earlier: number): HTMLElement {
    const { run, tables: t } = at;
    const list = changesOf(t, Math.min(earlier, at.ns), Math.max(earlier, at.ns));
    const side = (p: Piece | null, va: number): Child =>
        p ? at.targetText(p.row, va) : h("span", { class: "invalid" }, "never written");
    const page = (i: number): number => t.covers((list[i].after ?? list[i].before)!.row);
    const time = (p: Piece): number => run.values("entries", "time")[p.row];
    const after = <T>(i: number, of: (p: Piece) => T, none: T): T => {
        const piece = list[i].after;
        return piece ? of(piece) : none;
    };
    return grid({
        label: "What changed between the moments",
        rows: list.length,
        height: 280,
        empty: "Nothing changed.",
        columns: [
            {
                title: "virtual address",
                width: "10em",
                cell: i => h("code", {}, format.hex(list[i].va, 12)),
                find: i => format.hex(list[i].va),
                key: i => list[i].va,
            },
            {
                title: "size",
                isNumber: true,
                width: "6.5em",
                cell: i => format.bytes(list[i].end - list[i].va),
                key: i => list[i].end - list[i].va,
            },
            {
                title: "page",
                isNumber: true,
                width: "5em",
                cell: i => format.bytes(page(i)),
                key: page,
            },
            {
                title: "allocation",
                width: "minmax(9em, 1fr)",
                cell: i => at.shows(list[i].va).name,
                find: i => at.shows(list[i].va).text,
            },
            {
                title: "before",
                width: "minmax(17em, 1.4fr)",
                cell: i => side(list[i].before, list[i].va),
            },
            {
                title: "after",
                width: "minmax(17em, 1.4fr)",
                cell: i => side(list[i].after, list[i].va),
            },
            {
                title: "written by",
                width: "minmax(15em, 1fr)",
                cell: i => after<Child>(i, p => at.writer(p.row), ""),
            },
            {
                title: "at",
                isNumber: true,
                width: "7em",
                cell: i => after(i, p => format.moment(time(p)), ""),
                key: i => after(i, time, 0),
            },
        ],
    });
}

/* Processes that have entries, and how many ranges of each were written. */
function processesOf(run: Run): [process: number, ranges: number][] {
    const written = new Map<number, number>();
    for (const reference of run.values("entries", "process"))
        written.set(reference - 1, (written.get(reference - 1) ?? 0) + 1);
    /* A client's process first: its tables are what one looks for. */
    return [...written].sort(([a, m], [b, n]) => (a === SYSTEM ? 1 : b === SYSTEM ? -1 : n - m));
}

const SLIDER_STEPS = 10000;
const SLIDER_WAIT = 80; /* ms, until what a slider shows is made anew */

class TablesView implements View {
    readonly element = h("div", { class: "view" });

    private readonly run: Run;
    private readonly processes: [number, number][];
    private tables: PageTables | null = null;
    private moment: number;
    private earlier: number;
    private isBuilt = false;
    private timer = 0;

    private readonly tree = h("div");
    private readonly diff = h("div");
    private readonly translation = h("div");
    private readonly slider = this.range("pt-moment", "Moment", SLIDER_STEPS);
    private readonly sliderB = this.range("pt-earlier", "Earlier moment", 0);
    private readonly said = h("output", { for: "pt-moment" });
    private readonly saidB = h("output", { for: "pt-earlier" });
    private readonly folds = h("input", { type: "checkbox", checked: true });
    private readonly address = h("input", {
        type: "text",
        placeholder: "0x400000000000",
        "aria-label": "Virtual address",
        spellcheck: "false",
        id: "pt-va",
    });
    private readonly select: HTMLSelectElement;

    constructor(app: App) {
        const run = (this.run = app.run as Run);
        this.processes = processesOf(run);
        /* What comes behind the play takes the machine apart: then nothing is mapped any more. */
        this.moment = run.endOfPlay === NEVER ? run.end : Math.max(0, run.endOfPlay - 1);
        this.earlier = run.begin;
        this.select = h(
            "select",
            { id: "pt-process" },
            this.processes.map(([p, ranges]) =>
                h(
                    "option",
                    { value: p },
                    `${p === SYSTEM ? "no process: the system" : run.objectName(p + 1)} (` +
                        `${format.plural(ranges, "range")} written)`,
                ),
            ),
        );
        this.listen();
    }

    shown(query: URLSearchParams): void {
        if (!this.isBuilt) {
            this.isBuilt = true;
            this.build();
        }
        if (!this.processes.length) return;
        if (query.has("process")) {
            this.select.value = query.get("process") ?? "";
            if (this.select.value)
                this.tables = new PageTables(this.run, Number(this.select.value));
        }
        if (query.has("at")) this.setMoment(Number(query.get("at")));
        if (query.has("va")) this.address.value = query.get("va") ?? "";
        this.refresh();
    }

    private range(id: string, label: string, value: number): HTMLInputElement {
        return h("input", {
            type: "range",
            min: 0,
            max: SLIDER_STEPS,
            value,
            id,
            "aria-label": label,
        });
    }

    private listen(): void {
        const { run } = this;
        const valueOf = (slider: HTMLInputElement): number =>
            run.begin + ((run.end - run.begin) * Number(slider.value)) / SLIDER_STEPS;
        const later = (): void => {
            clearTimeout(this.timer);
            this.timer = window.setTimeout(() => this.refresh(), SLIDER_WAIT);
        };
        this.folds.addEventListener("change", () => this.refresh());
        this.slider.addEventListener("input", () => {
            this.moment = valueOf(this.slider);
            this.said.textContent = format.moment(this.moment);
            later();
        });
        this.sliderB.addEventListener("input", () => {
            this.earlier = valueOf(this.sliderB);
            this.saidB.textContent = format.moment(this.earlier);
            later();
        });
        this.select.addEventListener("change", () => {
            this.tables = new PageTables(run, Number(this.select.value));
            this.refresh();
        });
        this.address.addEventListener("input", () => this.translate());
    }

    private build(): void {
        if (!this.processes.length) {
            this.element.append(
                section(
                    "Page tables",
                    "No page-table entries are in this page: the model has " +
                        "none, or they were left out.",
                ),
            );
            return;
        }
        this.tables = new PageTables(this.run, this.processes[0][0]);
        this.setMoment(this.moment);
        const button = (label: string, step: number): Child =>
            h("button", { type: "button", click: () => this.jump(step) }, label);
        const toolbar = (...children: Child[]): HTMLElement =>
            h("div", { class: "toolbar" }, ...children);
        this.element.append(
            section(
                "Page tables",
                "What the page tables of a process say at a moment: of all " +
                    "entries written up to then, the last of each address. Neighbours " +
                    "that go on where the one before ends are folded into one range.",
                toolbar(
                    h("label", { for: "pt-process" }, "Process "),
                    this.select,
                    h("label", { for: "pt-moment" }, "Moment "),
                    this.slider,
                    this.said,
                    button("Previous write", -1),
                    button("Next write", 1),
                    h("label", { class: "check" }, this.folds, "Fold ranges"),
                ),
                this.tree,
            ),
            section(
                "Translate",
                "What a virtual address leads to at the moment, level by " +
                    "level, and which operation wrote each entry.",
                toolbar(h("label", { for: "pt-va" }, "Virtual address "), this.address),
                this.translation,
            ),
            section(
                "What changed",
                "Pages whose entries another operation wrote between the two " +
                    "moments, and that lead somewhere at one of them.",
                toolbar(h("label", { for: "pt-earlier" }, "Since "), this.sliderB, this.saidB),
                this.diff,
            ),
        );
    }

    private setMoment(ns: number): void {
        const { run } = this;
        this.moment = ns;
        this.slider.value = String(
            Math.round((SLIDER_STEPS * (ns - run.begin)) / (run.end - run.begin)),
        );
    }

    /* To the next or previous moment at which an entry was written. */
    private jump(step: number): void {
        const times = Array.from(
            (this.tables as PageTables).rows,
            r => this.run.values("entries", "time")[r],
        )
            .filter(t => t !== NEVER)
            .sort((a, b) => a - b);
        const found =
            step > 0
                ? times.find(t => t > this.moment)
                : times.reverse().find(t => t < this.moment);
        if (found === undefined) return;
        this.setMoment(found);
        this.refresh();
    }

    private refresh(): void {
        this.said.textContent = format.moment(this.moment);
        this.saidB.textContent = format.moment(this.earlier);
        clear(this.tree);
        clear(this.diff);
        if (this.tables) {
            const at = new Moment(this.run, this.tables, this.moment);
            const choose = (va: number): void => {
                this.address.value = format.hex(va);
                this.translate();
            };
            this.tree.append(new Tree(at, this.folds.checked, choose).root());
            if (this.tables.layers.length) this.diff.append(differenceGrid(at, this.earlier));
        }
        this.translate();
    }

    private translate(): void {
        const text = this.address.value.trim();
        clear(this.translation);
        if (text && this.tables)
            this.translation.append(
                ...translationOf(new Moment(this.run, this.tables, this.moment), text),
            );
    }
}

export function tablesView(app: App): View {
    return new TablesView(app);
}
