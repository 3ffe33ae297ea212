/*
 * Page tables of a process at any moment. What the entries say is computed from the operations that
 * wrote them: of all ranges that were written up to the moment, the last writer of each address
 * holds.
 */
import type { App, View } from "./app.js";
import type { Run } from "./data.js";
import { NEVER } from "./decode.js";
import { clear, grid, h, link, pairs, section, type Child } from "./dom.js";
import * as format from "./format.js";
import { rowLink } from "./rows.js";

/* A range of addresses at one level that one row of entries wrote last. [va, end). */
export interface Piece {
    va: number;
    end: number;
    row: number; /* of entries */
}

/*
 * Which of the ranges [begins, ends) holds each address, when later ones replace earlier ones; in
 * order of address.
 * ids: what the pieces carry. n log n: from the last range to the first, each paints what is not
 * yet painted.
 */
export function lastWriters(begins: number[], ends: number[], ids: number[]): Piece[] {
    const edges = [...new Set([...begins, ...ends])].sort((a, b) => a - b);
    const place = new Map(edges.map((v, i) => [v, i]));
    const owner = new Int32Array(edges.length).fill(-1);
    /* The next cell that is not painted. */
    const next = Int32Array.from({ length: edges.length + 1 }, (_, i) => i);
    const find = (i: number): number => {
        let root = i;
        while (next[root] !== root) root = next[root];
        while (next[i] !== root) [i, next[i]] = [next[i], root];
        return root;
    };
    for (let k = begins.length - 1; k >= 0; k--) {
        const to = place.get(ends[k]) as number;
        for (let cell = find(place.get(begins[k]) as number); cell < to; cell = find(cell)) {
            owner[cell] = ids[k];
            next[cell] = cell + 1;
        }
    }
    const out: Piece[] = [];
    for (let cell = 0; cell + 1 < edges.length; cell++) {
        if (owner[cell] < 0) continue;
        const last = out[out.length - 1];
        if (last && last.end === edges[cell] && last.row === owner[cell])
            last.end = edges[cell + 1];
        else out.push({ va: edges[cell], end: edges[cell + 1], row: owner[cell] });
    }
    return out;
}

const SYSTEM = -1; /* entries of no process: those of the paging process before it has one */
const PAGE_BYTES = 4096;
const TABLE_ENTRIES = 512; /* of a level of which nothing was written */

/* Other bits of an entry: those of DXGK_PTE. */
const LARGE_PAGE = 1 << 10;
const TABLE_OF_64K = 1 << 17; /* PageTablePageSize: 1 */
const FLAGS: [number, string][] = [
    [1 << 1, "Zero"],
    [1 << 2, "CacheCoherent"],
    [1 << 3, "ReadOnly"],
    [1 << 4, "NoExecute"],
    [LARGE_PAGE, "LargePage"],
    [TABLE_OF_64K, "64 KiB table"],
];

/* "ReadOnly, NoExecute"; bits without a name as a number. */
export function flagsText(flags: number): string {
    const names = FLAGS.filter(([bit]) => flags & bit).map(([, name]) => name);
    let rest = flags;
    for (const [bit] of FLAGS) if (rest & bit) rest -= bit;
    if (rest > 0) names.push(format.hex(rest));
    return names.join(", ");
}

/*
 * Entries of one level that cover as much each. Level 0 has two layers where 64 KiB pages have leaf
 * tables of their own.
 */
export interface Layer {
    level: number;
    covers: number; /* bytes of addresses of one entry */
}

/* Pieces that say the same, one behind the other. */
export interface Folded extends Piece {
    pieces: Piece[];
}

export class PageTables {
    readonly rows: Uint32Array; /* entries of the process, in order of time */
    readonly layers: Layer[]; /* the root's first; of one level, larger pages first */

    /* bytes that an entry of a level covers, where the story does not say */
    private readonly covered: Map<number, number>;
    /* A level 1 entry says which kind of leaf table it points at. */
    private readonly hasTableSizes: boolean;
    private known = { moment: NaN, layers: new Map<Layer, Piece[]>() };

    /* process: a row of objects; SYSTEM: entries of no process. */
    constructor(
        private readonly run: Run,
        readonly process: number,
    ) {
        const time = run.values("entries", "time"),
            owner = run.values("entries", "process");
        this.rows =
            process === SYSTEM
                ? Uint32Array.from(owner.keys()).filter(r => owner[r] === 0)
                : Uint32Array.from(run.referring("entries", "process", process));
        this.rows.sort((a, b) => time[a] - time[b] || a - b);
        const level = run.values("entries", "level"),
            counts = run.values("entries", "count"),
            flags = run.values("entries", "flags");
        const levels = new Set(Array.from(this.rows, r => level[r]));
        /* A table has as many entries as were ever written of its level at once. */
        const most = new Map<number, number>();
        for (let r = 0; r < level.length; r++)
            most.set(level[r], Math.max(most.get(level[r]) ?? 1, counts[r]));
        this.covered = new Map();
        let bytes = PAGE_BYTES;
        for (let l = 0; l <= Math.max(0, ...levels); l++) {
            this.covered.set(l, bytes);
            bytes *= most.get(l) ?? TABLE_ENTRIES;
        }
        const layers = new Map<string, Layer>();
        for (const row of this.rows) {
            const covers = this.covers(row);
            layers.set(`${level[row]}/${covers}`, { level: level[row], covers });
        }
        this.layers = [...layers.values()].sort((a, b) => b.level - a.level || b.covers - a.covers);
        this.hasTableSizes = this.rows.some(r => level[r] > 0 && (flags[r] & TABLE_OF_64K) !== 0);
    }

    /* Bytes of addresses that one entry of this row covers. */
    covers(row: number): number {
        return (
            this.run.values("entries", "covers")[row] ||
            (this.covered.get(this.run.values("entries", "level")[row]) ?? PAGE_BYTES)
        );
    }

    /* From entry to entry; less than 0 where pages lie in falling order. */
    private stride(row: number): number {
        const column = this.run.table("entries").column("stride");
        return column.wide ? Number(BigInt.asIntN(64, column.wide[row])) : column.values[row];
    }

    get count(): number {
        return this.rows.length;
    }

    /* The levels that have entries, the root's first. */
    get levels(): number[] {
        return [...new Set(this.layers.map(l => l.level))];
    }

    /* What holds at a moment, of one layer. */
    at(moment: number, layer: Layer): Piece[] {
        if (this.known.moment !== moment) this.known = { moment, layers: new Map() };
        let pieces = this.known.layers.get(layer);
        if (!pieces) this.known.layers.set(layer, (pieces = this.compute(moment, layer)));
        return pieces;
    }

    private compute(moment: number, layer: Layer): Piece[] {
        const v = (column: string) => this.run.values("entries", column);
        const time = v("time"),
            va = v("va"),
            counts = v("count"),
            levels = v("level");
        const begins: number[] = [],
            ends: number[] = [],
            ids: number[] = [];
        for (const row of this.rows) {
            if (time[row] > moment) break;
            if (levels[row] !== layer.level || !counts[row]) continue;
            const covers = this.covers(row);
            if (covers !== layer.covers) continue;
            begins.push(va[row]);
            ends.push(va[row] + counts[row] * covers);
            ids.push(row);
        }
        return lastWriters(begins, ends, ids);
    }

    private value(column: string, row: number): number {
        return this.run.values("entries", column)[row];
    }

    /* Whether the entries map pages, and do not point at tables. */
    isPage(row: number): boolean {
        return this.value("level", row) === 0 || (this.value("flags", row) & LARGE_PAGE) !== 0;
    }

    leads(piece: Piece | null | undefined): boolean {
        return !!piece && this.value("valid", piece.row) > 0;
    }

    /* Where an address of a piece leads. */
    target(piece: Piece, va: number): { isValid: boolean; segment: number; offset: number } {
        const v = (column: string): number => this.value(column, piece.row);
        const covers = this.covers(piece.row);
        const index = Math.floor((va - v("va")) / covers);
        /* of an entry that points at a table: where the table is */
        const within = this.isPage(piece.row) ? (va - v("va")) % covers : 0;
        return {
            isValid: v("valid") > 0,
            segment: v("segment"),
            offset: v("offset") + index * this.stride(piece.row) + within,
        };
    }

    /* The entry of each layer for an address, the root's first. */
    walk(moment: number, va: number): { layer: Layer; piece: Piece | null }[] {
        return this.layers.map(layer => {
            const pieces = this.at(moment, layer);
            let i = 0;
            for (let end = pieces.length; i < end;) {
                const middle = (i + end) >>> 1;
                if (pieces[middle].end <= va) i = middle + 1;
                else end = middle;
            }
            return { layer, piece: i < pieces.length && pieces[i].va <= va ? pieces[i] : null };
        });
    }

    /*
     * The entry that maps an address at a moment, or null. A large page ends the walk. Of the two
     * kinds of leaf tables, the entry of level 1 says which is used; where it has a word for each,
     * the larger page counts when it is valid.
     */
    mapped(moment: number, va: number): Piece | null {
        const steps = this.walk(moment, va);
        let wanted = 0;
        for (const { layer, piece } of steps) {
            if (layer.level === 0) {
                if (!this.leads(piece) || (wanted && layer.covers !== wanted)) continue;
                return piece;
            }
            if (!piece || !this.leads(piece)) {
                /* with two words in an entry, its last writer may have written the other one */
                if (piece && !this.hasTwoWords) return null;
                continue;
            }
            if (this.isPage(piece.row)) return piece;
            if (layer.level === 1 && this.hasTableSizes)
                wanted =
                    this.value("flags", piece.row) & TABLE_OF_64K ? 16 * PAGE_BYTES : PAGE_BYTES;
        }
        return null;
    }

    private get hasTwoWords(): boolean {
        return !this.hasTableSizes && this.layers.filter(l => l.level === 0).length > 1;
    }

    /* Pieces that go on where the piece before ended, and say the same. */
    fold(pieces: Piece[]): Folded[] {
        const out: Folded[] = [];
        for (const piece of pieces) {
            const last = out[out.length - 1];
            if (last && last.end === piece.va && this.isAlike(last, piece)) {
                last.end = piece.end;
                last.pieces.push(piece);
            } else out.push({ ...piece, pieces: [piece] });
        }
        return out;
    }

    private isAlike(before: Folded, piece: Piece): boolean {
        const last = before.pieces[before.pieces.length - 1];
        if (!this.leads(last) && !this.leads(piece)) return true;
        for (const column of ["flags", "segment"])
            if (this.value(column, last.row) !== this.value(column, piece.row)) return false;
        for (const { row } of [last, piece])
            if (
                this.value("valid", row) !== this.value("count", row) ||
                this.value("scattered", row) ||
                !this.isPage(row) ||
                (this.value("count", row) > 1 && this.stride(row) !== this.covers(row))
            )
                return false;
        return (
            this.target(last, last.va).offset + (piece.va - last.va) ===
            this.target(piece, piece.va).offset
        );
    }
}

interface Change {
    va: number;
    end: number;
    before: Piece | null;
    after: Piece | null;
}

/* What is different between two moments: ranges whose last writer is another. */
export function changes(before: Piece[], after: Piece[]): Change[] {
    const edges = [...new Set([...before, ...after].flatMap(p => [p.va, p.end]))].sort(
        (a, b) => a - b,
    );
    const out: Change[] = [];
    let b = 0,
        a = 0;
    for (let i = 0; i + 1 < edges.length; i++) {
        const va = edges[i],
            end = edges[i + 1];
        while (b < before.length && before[b].end <= va) b++;
        while (a < after.length && after[a].end <= va) a++;
        const was = b < before.length && before[b].va <= va ? before[b] : null;
        const is = a < after.length && after[a].va <= va ? after[a] : null;
        if (was?.row === is?.row) continue;
        const last = out[out.length - 1];
        if (last && last.end === va && last.before?.row === was?.row && last.after?.row === is?.row)
            last.end = end;
        else out.push({ va, end, before: was, after: is });
    }
    return out;
}

const TREE_MOST = 400; /* ranges of a branch that are shown */

export function tablesView(app: App): View {
    const run = app.run as Run;
    const element = h("div", { class: "view" });
    const written = new Map<number, number>();
    for (const reference of run.values("entries", "process"))
        written.set(reference - 1, (written.get(reference - 1) ?? 0) + 1);
    /* A client's process first: its tables are what one looks for. */
    const processes = [...written.keys()].sort((a, b) =>
        a === SYSTEM
            ? 1
            : b === SYSTEM
              ? -1
              : (written.get(b) as number) - (written.get(a) as number),
    );
    let tables: PageTables | null = null;
    /* What comes behind the play takes the machine apart: then nothing is mapped any more. */
    let moment = run.endOfPlay === NEVER ? run.end : Math.max(0, run.endOfPlay - 1);
    let earlier = run.begin;
    let built = false;
    let isFolded = true;

    const where = h("div"),
        tree = h("div"),
        diff = h("div"),
        translation = h("div");
    const slider = h("input", {
        type: "range",
        min: 0,
        max: 10000,
        value: 10000,
        id: "pt-moment",
        "aria-label": "Moment",
    });
    const sliderB = h("input", {
        type: "range",
        min: 0,
        max: 10000,
        value: 0,
        id: "pt-earlier",
        "aria-label": "Earlier moment",
    });
    const folds = h("input", { type: "checkbox", checked: true });
    folds.addEventListener("change", () => {
        isFolded = folds.checked;
        refresh();
    });
    const said = h("output", { for: "pt-moment" }),
        saidB = h("output", { for: "pt-earlier" });
    const address = h("input", {
        type: "text",
        placeholder: "0x400000000000",
        "aria-label": "Virtual address",
        spellcheck: "false",
        id: "pt-va",
    });
    const select = h(
        "select",
        { id: "pt-process" },
        processes.map(p =>
            h(
                "option",
                { value: p },
                `${p === SYSTEM ? "no process: the system" : run.objectName(p + 1)} (` +
                    `${format.plural(written.get(p) as number, "range")} written)`,
            ),
        ),
    );

    const plainTarget = (row: number, va: number): string => {
        const t = (tables as PageTables).target({ va, end: va, row }, va);
        const memory = t.segment ? run.objectName(t.segment) : "system memory";
        return `${memory} + ${format.hex(t.offset)}`;
    };
    const targetText = (row: number, va: number): Child => {
        const v = (column: string): number => run.values("entries", column)[row];
        if (!v("valid")) return h("span", { class: "invalid" }, "not valid");
        return [
            plainTarget(row, va),
            v("valid") < v("count")
                ? ` (${format.count(v("valid"))} of ${format.count(v("count"))} valid)`
                : "",
            v("stride") === 0 && v("count") > 1 ? " (all the same)" : "",
            v("scattered") ? " (then scattered)" : "",
        ].join("");
    };
    const writer = (row: number): Child => {
        const operation = run.values("entries", "operation")[row];
        return operation
            ? rowLink(run, "operations", operation)
            : link(`row/entries/${row}`, "entries");
    };

    /* Which allocation a range of addresses shows, at the moment. */
    const shows = (va: number): { name: Child; text: string } => {
        if (tables)
            for (const r of run.referring("mappings", "process", tables.process)) {
                const from = run.values("mappings", "va")[r],
                    bytes = run.values("mappings", "bytes")[r];
                if (
                    va >= from &&
                    va < from + bytes &&
                    run.values("mappings", "from")[r] <= moment &&
                    run.values("mappings", "to")[r] > moment
                ) {
                    const a = run.values("mappings", "allocation")[r];
                    return {
                        name: link(`map?select=${a - 1}`, run.objectName(a)),
                        text: run.objectName(a),
                    };
                }
            }
        return { name: "", text: "" };
    };

    function piecesGrid(pieces: Folded[], label: string, height: number): HTMLElement {
        const t = tables as PageTables;
        const v = (column: string, i: number): number =>
            run.values("entries", column)[pieces[i].row];
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
                                click: () => {
                                    address.value = format.hex(pieces[i].va);
                                    translate();
                                },
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
                    cell: i => targetText(pieces[i].row, pieces[i].va),
                    find: i =>
                        t.leads(pieces[i]) ? plainTarget(pieces[i].row, pieces[i].va) : "not valid",
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
                    cell: i => shows(pieces[i].va).name,
                    find: i => shows(pieces[i].va).text,
                },
                {
                    title: "written by",
                    width: "minmax(15em, 1.3fr)",
                    cell: i => [
                        writer(pieces[i].row),
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

    const ordered = (pieces: Folded[]): Folded[] =>
        pieces.sort((a, b) => a.va - b.va || a.end - b.end);

    /* The tree: ranges of the highest level, each with the ranges below it when it is opened. */
    function treeOf(t: PageTables): HTMLElement {
        const { levels } = t;
        const byLevel = new Map(
            levels.map(level => [
                level,
                ordered(
                    t.layers
                        .filter(l => l.level === level)
                        .flatMap(layer => {
                            const pieces = t.at(moment, layer);
                            return isFolded
                                ? t.fold(pieces)
                                : pieces.map(p => ({ ...p, pieces: [p] }));
                        }),
                ),
            ]),
        );
        const branch = (levelAt: number, from: number, to: number): HTMLElement => {
            const level = levels[levelAt];
            const pieces = (byLevel.get(level) as Folded[])
                .filter(p => p.va < to && p.end > from)
                .map(p => ({ ...p, va: Math.max(p.va, from), end: Math.min(p.end, to) }));
            if (levelAt === levels.length - 1)
                return h(
                    "div",
                    { class: "leaf" },
                    piecesGrid(
                        pieces,
                        `Entries of level ${level}, from ${format.hex(Math.max(0, from))}`,
                        240,
                    ),
                );
            const valid = pieces.filter(p => t.leads(p));
            const others = pieces.length - valid.length;
            return h(
                "ul",
                { class: "tree" },
                valid.slice(0, TREE_MOST).map(p => {
                    const body = h("div");
                    const isPage = t.isPage(p.row);
                    const head = [
                        h("code", {}, `${format.hex(p.va, 12)} – ${format.hex(p.end, 12)}`),
                        isPage ? ` level ${level}, pages: ` : ` level ${level}, `,
                        isPage
                            ? `${format.count((p.end - p.va) / t.covers(p.row))} × ` +
                              format.bytes(t.covers(p.row))
                            : format.plural((p.end - p.va) / t.covers(p.row), "entry", "entries"),
                        ": ",
                        targetText(p.row, p.va),
                        isPage && shows(p.va).text ? [", ", shows(p.va).name] : null,
                    ];
                    const written = [
                        "Written by ",
                        writer(p.row),
                        ` at ${format.moment(run.values("entries", "time")[p.row])}`,
                        p.pieces.length > 1
                            ? ` and by ${format.plural(p.pieces.length - 1, "other operation")}`
                            : null,
                        ".",
                    ];
                    if (isPage)
                        return h(
                            "li",
                            { class: "page" },
                            head,
                            h("p", { class: "says written" }, written),
                        );
                    const details = h(
                        "details",
                        {},
                        h("summary", {}, head),
                        h("p", { class: "says written" }, written),
                        body,
                    );
                    details.addEventListener("toggle", () => {
                        if (details.open && !body.firstChild)
                            body.append(branch(levelAt + 1, p.va, p.end));
                    });
                    return h("li", {}, details);
                }),
                valid.length > TREE_MOST
                    ? h(
                          "li",
                          { class: "says" },
                          `and ${format.count(valid.length - TREE_MOST)} more ranges`,
                      )
                    : null,
                others
                    ? h(
                          "li",
                          { class: "says" },
                          `${format.plural(others, "range")} of level ${level} not valid, ` +
                              "left out here.",
                      )
                    : null,
            );
        };
        if (!levels.length)
            return h("p", { class: "says" }, "No entries of this process were written.");
        return branch(0, -Infinity, Infinity);
    }

    function translate(): void {
        clear(translation);
        const text = address.value.trim();
        if (!text || !tables) return;
        const va = /^(0x[0-9a-f]+|\d+)$/i.test(text) ? Number(text) : NaN;
        if (!Number.isSafeInteger(va)) {
            translation.append(
                h(
                    "p",
                    { class: "notice bad", role: "alert" },
                    "An address is a number, such as 0x400000000000.",
                ),
            );
            return;
        }
        const t = tables;
        const leaf = t.mapped(moment, va);
        const twice = t.layers.filter(l => l.level === 0).length > 1;
        const steps: [Child, Child][] = [];
        for (const { layer, piece } of t.walk(moment, va)) {
            steps.push([
                `level ${layer.level}` +
                    (layer.level === 0 && twice ? `, ${format.bytes(layer.covers)} pages` : ""),
                piece
                    ? [
                          targetText(piece.row, va),
                          ", written by ",
                          writer(piece.row),
                          ` at ${format.moment(run.values("entries", "time")[piece.row])}`,
                          leaf === piece ? h("strong", {}, " maps the address") : null,
                      ]
                    : "no entry was written",
            ]);
        }
        const mapping = shows(va);
        const last = leaf && t.target(leaf, va);
        translation.append(
            h(
                "p",
                { class: "answer" },
                h("strong", {}, format.hex(va)),
                last && leaf
                    ? " is " +
                          `${last.segment ? run.objectName(last.segment) : "system memory"} ` +
                          `+ ${format.hex(last.offset)}, in a page of ` +
                          format.bytes(t.covers(leaf.row))
                    : " leads nowhere at this moment",
                mapping.text ? [", where ", mapping.name, " is mapped"] : null,
                ".",
            ),
            pairs(`Translation of ${format.hex(va)}`, steps, true),
        );
    }

    function showDifference(): void {
        clear(diff);
        if (!tables || !tables.layers.length) return;
        const t = tables;
        const low = Math.min(earlier, moment),
            high = Math.max(earlier, moment);
        const isPageOf = (p: Piece | null): boolean => p !== null && t.isPage(p.row);
        const list = t.layers
            .flatMap(layer => {
                const before = t.at(low, layer);
                return changes(before, t.at(high, layer));
            })
            .filter(
                c =>
                    (isPageOf(c.before) || isPageOf(c.after)) &&
                    (t.leads(c.before) || t.leads(c.after)),
            )
            .sort((a, b) => a.va - b.va);
        const side = (p: Piece | null, va: number): Child =>
            p ? targetText(p.row, va) : h("span", { class: "invalid" }, "never written");
        diff.append(
            grid({
                label: "What changed between the moments",
                rows: list.length,
                height: 280,
                empty: "Nothing changed.",
                columns: [
                    {
                        title: "virtual address",
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
                        cell: i => format.bytes(t.covers((list[i].after ?? list[i].before)!.row)),
                        key: i => t.covers((list[i].after ?? list[i].before)!.row),
                    },
                    {
                        title: "allocation",
                        cell: i => shows(list[i].va).name,
                        find: i => shows(list[i].va).text,
                    },
                    {
                        title: "before",
                        width: "minmax(12em, 1.4fr)",
                        cell: i => side(list[i].before, list[i].va),
                    },
                    {
                        title: "after",
                        width: "minmax(12em, 1.4fr)",
                        cell: i => side(list[i].after, list[i].va),
                    },
                    {
                        title: "written by",
                        cell: i => {
                            const after = list[i].after;
                            return after ? writer(after.row) : "";
                        },
                    },
                    {
                        title: "at",
                        isNumber: true,
                        width: "7em",
                        cell: i => {
                            const after = list[i].after;
                            return after
                                ? format.moment(run.values("entries", "time")[after.row])
                                : "";
                        },
                        key: i => {
                            const after = list[i].after;
                            return after ? run.values("entries", "time")[after.row] : 0;
                        },
                    },
                ],
            }),
        );
    }

    function refresh(): void {
        said.textContent = format.moment(moment);
        saidB.textContent = format.moment(earlier);
        clear(tree);
        if (tables) tree.append(treeOf(tables));
        translate();
        showDifference();
    }

    const slideTo = (ns: number): void => {
        slider.value = String(Math.round((10000 * (ns - run.begin)) / (run.end - run.begin)));
    };
    let timer = 0;
    const later = (): void => {
        clearTimeout(timer);
        timer = window.setTimeout(refresh, 80);
    };
    slider.addEventListener("input", () => {
        moment = run.begin + ((run.end - run.begin) * Number(slider.value)) / 10000;
        said.textContent = format.moment(moment);
        later();
    });
    sliderB.addEventListener("input", () => {
        earlier = run.begin + ((run.end - run.begin) * Number(sliderB.value)) / 10000;
        saidB.textContent = format.moment(earlier);
        later();
    });
    select.addEventListener("change", () => {
        tables = new PageTables(run, Number(select.value));
        refresh();
    });
    address.addEventListener("input", translate);
    const jump = (step: number): void => {
        /* the next or previous moment at which an entry was written */
        const times = Array.from((tables as PageTables).rows, r => run.values("entries", "time")[r])
            .filter(t => t !== NEVER)
            .sort((a, b) => a - b);
        const found =
            step > 0 ? times.find(t => t > moment) : times.reverse().find(t => t < moment);
        if (found === undefined) return;
        moment = found;
        slideTo(moment);
        refresh();
    };

    return {
        element,
        shown(query) {
            if (!built) {
                built = true;
                if (!processes.length) {
                    element.append(
                        section(
                            "Page tables",
                            "No page-table entries are in this page: the model has " +
                                "none, or they were left out.",
                        ),
                    );
                    return;
                }
                tables = new PageTables(run, processes[0]);
                slideTo(moment);
                element.append(
                    section(
                        "Page tables",
                        "What the page tables of a process say at a moment: of all " +
                            "entries written up to then, the last of each address. Neighbours " +
                            "that go on where the one before ends are folded into one range.",
                        h(
                            "div",
                            { class: "toolbar" },
                            h("label", { for: "pt-process" }, "Process "),
                            select,
                            h("label", { for: "pt-moment" }, "Moment "),
                            slider,
                            said,
                            h(
                                "button",
                                { type: "button", click: () => jump(-1) },
                                "Previous write",
                            ),
                            h("button", { type: "button", click: () => jump(1) }, "Next write"),
                            h("label", { class: "check" }, folds, "Fold ranges"),
                        ),
                        where,
                        tree,
                    ),
                    section(
                        "Translate",
                        "What a virtual address leads to at the moment, level by " +
                            "level, and which operation wrote each entry.",
                        h(
                            "div",
                            { class: "toolbar" },
                            h("label", { for: "pt-va" }, "Virtual address "),
                            address,
                        ),
                        translation,
                    ),
                    section(
                        "What changed",
                        "Pages whose entries another operation wrote between the two " +
                            "moments, and that lead somewhere at one of them.",
                        h(
                            "div",
                            { class: "toolbar" },
                            h("label", { for: "pt-earlier" }, "Since "),
                            sliderB,
                            saidB,
                        ),
                        diff,
                    ),
                );
            }
            if (query.has("process")) {
                select.value = query.get("process") ?? "";
                if (select.value) tables = new PageTables(run, Number(select.value));
            }
            if (query.has("at")) {
                moment = Number(query.get("at"));
                slideTo(moment);
            }
            if (query.has("va")) address.value = query.get("va") ?? "";
            refresh();
        },
    };
}
