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

export class PageTables {
    readonly rows: Uint32Array; /* entries of the process, in order of time */
    readonly levels: number[];

    private readonly covered: Map<
        number,
        number
    >; /* bytes that an entry of a level covers, where the story does not say */

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
            counts = run.values("entries", "count");
        this.levels = [...new Set(Array.from(this.rows, r => level[r]))].sort((a, b) => b - a);
        /* A table has as many entries as were ever written of its level at once. */
        const most = new Map<number, number>();
        for (let r = 0; r < level.length; r++)
            most.set(level[r], Math.max(most.get(level[r]) ?? 1, counts[r]));
        this.covered = new Map();
        let bytes = PAGE_BYTES;
        for (let l = 0; l <= Math.max(0, ...this.levels); l++) {
            this.covered.set(l, bytes);
            bytes *= most.get(l) ?? TABLE_ENTRIES;
        }
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

    /* What holds at a moment, of one level. */
    at(moment: number, level: number): Piece[] {
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
            if (levels[row] !== level || !counts[row]) continue;
            begins.push(va[row]);
            ends.push(va[row] + counts[row] * this.covers(row));
            ids.push(row);
        }
        return lastWriters(begins, ends, ids);
    }

    /* Where an address of a piece leads. */
    target(piece: Piece, va: number): { isValid: boolean; segment: number; offset: number } {
        const v = (column: string): number => this.run.values("entries", column)[piece.row];
        const covers = this.covers(piece.row);
        const index = Math.floor((va - v("va")) / covers);
        return {
            isValid: v("valid") > 0,
            segment: v("segment"),
            offset: v("offset") + index * this.stride(piece.row) + ((va - v("va")) % covers),
        };
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
    let moment = run.end;
    let earlier = run.begin;
    let built = false;

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

    const targetText = (row: number, va: number): Child => {
        const v = (column: string): number => run.values("entries", column)[row];
        if (!v("valid")) return h("span", { class: "invalid" }, "not valid");
        const t = (tables as PageTables).target({ va, end: va, row }, va);
        const place = [
            `${t.segment ? run.objectName(t.segment) : "system memory"} + ${format.hex(t.offset)}`,
            v("valid") < v("count")
                ? ` (${format.count(v("valid"))} of ${format.count(v("count"))} valid)`
                : "",
            v("stride") === 0 && v("count") > 1 ? " (all the same)" : "",
        ].join("");
        return place;
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

    function piecesGrid(pieces: Piece[], label: string, height: number): HTMLElement {
        const v = (column: string, i: number): number =>
            run.values("entries", column)[pieces[i].row];
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
                    title: "entries",
                    isNumber: true,
                    width: "5.5em",
                    cell: i =>
                        format.count(
                            (pieces[i].end - pieces[i].va) /
                                (tables as PageTables).covers(pieces[i].row),
                        ),
                    key: i =>
                        (pieces[i].end - pieces[i].va) /
                        (tables as PageTables).covers(pieces[i].row),
                },
                {
                    title: "leads to",
                    width: "minmax(14em, 1.5fr)",
                    cell: i => targetText(pieces[i].row, pieces[i].va),
                },
                {
                    title: "flags",
                    width: "5.5em",
                    isNumber: true,
                    cell: i => format.hex(v("flags", i)),
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
                    width: "minmax(10em, 1fr)",
                    cell: i => writer(pieces[i].row),
                    key: i => pieces[i].row,
                },
                {
                    title: "at",
                    isNumber: true,
                    width: "7em",
                    cell: i => format.moment(v("time", i)),
                    key: i => v("time", i),
                },
            ],
        });
    }

    /* The tree: ranges of the highest level, each with the ranges below it when it is opened. */
    function treeOf(t: PageTables): HTMLElement {
        const byLevel = new Map(t.levels.map(level => [level, t.at(moment, level)]));
        const branch = (levelAt: number, from: number, to: number): HTMLElement => {
            const level = t.levels[levelAt];
            const pieces = (byLevel.get(level) as Piece[]).filter(p => p.va < to && p.end > from);
            if (levelAt === t.levels.length - 1)
                return h(
                    "div",
                    { class: "leaf" },
                    piecesGrid(pieces, `Entries of level ${level}, from ${format.hex(from)}`, 240),
                );
            return h(
                "ul",
                { class: "tree" },
                pieces.slice(0, 400).map(p => {
                    const body = h("div");
                    const details = h(
                        "details",
                        {},
                        h(
                            "summary",
                            {},
                            h("code", {}, `${format.hex(p.va, 12)} – ${format.hex(p.end, 12)}`),
                            ` level ${level}, `,
                            format.plural((p.end - p.va) / t.covers(p.row), "entry", "entries"),
                            ": ",
                            targetText(p.row, p.va),
                        ),
                        h(
                            "p",
                            { class: "says written" },
                            "Written by ",
                            writer(p.row),
                            ` at ${format.moment(run.values("entries", "time")[p.row])}.`,
                        ),
                        body,
                    );
                    details.addEventListener("toggle", () => {
                        if (details.open && !body.firstChild)
                            body.append(branch(levelAt + 1, p.va, p.end));
                    });
                    return h("li", {}, details);
                }),
                pieces.length > 400
                    ? h(
                          "li",
                          { class: "says" },
                          `and ${format.count(pieces.length - 400)} more ranges`,
                      )
                    : null,
            );
        };
        if (!t.levels.length)
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
        const steps: [Child, Child][] = [];
        for (const level of tables.levels) {
            const piece = tables.at(moment, level).find(p => va >= p.va && va < p.end);
            steps.push([
                `level ${level}`,
                piece
                    ? [
                          targetText(piece.row, va),
                          ", written by ",
                          writer(piece.row),
                          ` at ${format.moment(run.values("entries", "time")[piece.row])}`,
                      ]
                    : "no entry was written",
            ]);
        }
        const mapping = shows(va);
        const leaf = tables.levels.length
            ? tables
                  .at(moment, tables.levels[tables.levels.length - 1])
                  .find(p => va >= p.va && va < p.end)
            : undefined;
        const last = leaf && tables.target(leaf, va);
        translation.append(
            h(
                "p",
                { class: "answer" },
                h("strong", {}, format.hex(va)),
                last?.isValid
                    ? " is " +
                          `${last.segment ? run.objectName(last.segment) : "system memory"} ` +
                          `+ ${format.hex(last.offset)}`
                    : " leads nowhere at this moment",
                mapping.text ? [", of ", mapping.name] : null,
                ".",
            ),
            pairs(`Translation of ${format.hex(va)}`, steps, true),
        );
    }

    function showDifference(): void {
        clear(diff);
        if (!tables || !tables.levels.length) return;
        const low = Math.min(earlier, moment),
            high = Math.max(earlier, moment);
        const level = tables.levels[tables.levels.length - 1];
        const valid = run.values("entries", "valid");
        const leads = (p: Piece | null): boolean => p !== null && valid[p.row] > 0;
        const list = changes(tables.at(low, level), tables.at(high, level)).filter(
            c => leads(c.before) || leads(c.after),
        );
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
        slider.value = String(Math.round((10000 * (moment - run.begin)) / (run.end - run.begin)));
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
                element.append(
                    section(
                        "Page tables",
                        "What the page tables of a process say at a moment: of all " +
                            "entries written up to then, the last of each address. Ranges " +
                            "are folded.",
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
                        "Ranges of the lowest level that another operation wrote " +
                            "between the two moments, and that lead somewhere at one of " +
                            "them.",
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
                slider.value = String(
                    Math.round((10000 * (moment - run.begin)) / (run.end - run.begin)),
                );
            }
            if (query.has("va")) address.value = query.get("va") ?? "";
            refresh();
        },
    };
}
