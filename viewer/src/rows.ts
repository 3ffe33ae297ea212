/*
 * Rows of the story as they are: any table with a filter (#rows/places?why_left=...), one row with
 * all it refers to and all that refers to it (#row/places/17), and run.json by key
 * (#facts/paging.evictions).
 */
import { valueIn, type App, type View } from "./app.js";
import { NEVER, type Column, type Table } from "./decode.js";
import type { Run } from "./data.js";
import { clear, h, link, pairs, section, type Child } from "./dom.js";
import * as format from "./format.js";
import { grid, type GridColumn } from "./grid.js";

/* Columns that hold addresses: shown as hex. */
const ADDRESSES = new Set(["offset", "from_offset", "to_offset", "va", "stride"]);
const WIDTH_SAMPLES = 60;
/* Columns that name a row of another table by its number; 0: none. */
const BY_NUMBER: Record<string, string> = {
    "operations.job": "jobs",
    "victims.last_use": "submissions",
};

/* A short name of a row: "TRANSFER 123". */
export function rowName(run: Run, table: string, row: number): string {
    if (table === "objects") return run.objectName(row + 1);
    const one = table === "fence_waits" ? "wait for a fence" : table.replace(/s$/, "");
    if (table === "client_calls")
        return `${run.text(table, "name", row)} ${run.values(table, "number")[row]}`;
    if (table === "operations")
        return `${run.text(table, "name", row)} ${run.values(table, "number")[row]}`;
    if (table === "calls")
        return `${run.text(table, "name", row)} #${run.values(table, "sequence")[row]}`;
    if (table === "marks") {
        const text = run.text(table, "text", row);
        return `${run.text(table, "kind", row)}${text ? `: ${text}` : ""}`;
    }
    if (table === "jobs")
        return `${run.text(table, "name", row)} job ${run.values(table, "number")[row]}`;
    if (table === "packets")
        return `${run.text(table, "kind", row)} packet ${run.values(table, "number")[row]}`;
    if (table === "requests" || table === "submissions")
        return `${one} ${run.values(table, "number")[row]}`;
    return `${one} ${row + 1}`;
}

export function rowLink(run: Run, table: string, reference: number): Child {
    if (!reference) return "";
    return link(`row/${table}/${reference - 1}`, rowName(run, table, reference - 1));
}

export function cellText(run: Run, table: Table, column: Column, row: number): string {
    const value = column.values[row];
    switch (column.type) {
        case "time":
            return value === NEVER ? "never" : format.moment(value);
        case "bytes":
            return column.wide
                ? format.hex(column.wide[row])
                : ADDRESSES.has(column.name)
                  ? format.hex(value)
                  : format.bytes(value);
        case "flag":
            return value ? "yes" : "no";
        case "text":
            return run.story.textOf(value);
        case "row":
            return value ? rowName(run, column.target, value - 1) : "";
        default:
            if (column.name === "status") return format.status(value);
            if (column.name === "flags") return format.hex(column.wide ? column.wide[row] : value);
            return column.wide ? column.wide[row].toString() : format.count(value);
    }
}

export function cell(run: Run, table: Table, column: Column, row: number): Child {
    if (column.type === "row") return rowLink(run, column.target, column.values[row]);
    if (table.name === "arguments" && column.name === "value") return argumentValue(run, row);
    const named = BY_NUMBER[`${table.name}.${column.name}`];
    if (named) {
        const number = column.values[row];
        const target = number ? run.rowNumbered(named, number) : -1;
        if (target >= 0) return link(`row/${named}/${target}`, format.count(number));
        if (!number) return "none";
    }
    return cellText(run, table, column, row);
}

/* The value of an argument as its type says (story_tables.inc). */
export function argumentText(run: Run, row: number): string {
    const column = run.table("arguments").column("value");
    const value = column.values[row];
    const exact = column.wide ? column.wide[row] : value;
    switch (run.text("arguments", "type", row)) {
        case "text":
            return run.story.textOf(value);
        case "object":
            return value ? run.objectName(value) : "none";
        case "number":
            return value > 4095
                ? `${exact.toLocaleString("en-US")} (${format.hex(exact)})`
                : exact.toLocaleString("en-US");
        case "signed":
            return BigInt.asIntN(64, BigInt(exact)).toLocaleString("en-US");
        default:
            return format.hex(exact);
    }
}

export function argumentValue(run: Run, row: number): Child {
    const value = run.values("arguments", "value")[row];
    if (
        run.text("arguments", "type", row) === "object" &&
        value > 0 &&
        value <= run.rows("objects")
    )
        return link(`row/objects/${value - 1}`, run.objectName(value));
    return argumentText(run, row);
}

/* As wide as what stands in a few of its rows; a long text has its end cut off. */
function widthOf(run: Run, table: Table, column: Column, rows: Uint32Array | number): string {
    if (column.type !== "text" && column.type !== "row") return "minmax(5.5em, 0.8fr)";
    const count = typeof rows === "number" ? rows : rows.length;
    let most = column.name.length;
    for (let i = 0; i < count; i += Math.max(1, Math.ceil(count / WIDTH_SAMPLES))) {
        const row = typeof rows === "number" ? i : rows[i];
        most = Math.max(most, cellText(run, table, column, row).length);
    }
    const share = Math.max(6, Math.min(36, most)) / 14;
    return `minmax(${(4 + 2 * share).toFixed(1)}em, ${share.toFixed(2)}fr)`;
}

export function tableGrid(
    run: Run,
    name: string,
    rows: Uint32Array | number,
    height: number,
    label = name,
): HTMLElement {
    const table = run.table(name);
    const columns: GridColumn[] = table.columns.map(column => ({
        title: column.name.replaceAll("_", " "),
        tip: column.text || undefined,
        isNumber: column.type !== "text" && column.type !== "row",
        width: widthOf(run, table, column, rows),
        cell: row => cell(run, table, column, row),
        find: row =>
            name === "arguments" && column.name === "value"
                ? argumentText(run, row)
                : cellText(run, table, column, row),
        key:
            column.type === "text"
                ? row => run.story.textOf(column.values[row])
                : row => column.values[row],
    }));
    return grid({
        label,
        rows,
        columns,
        height,
        open: row => {
            location.hash = `row/${name}/${row}`;
        },
    });
}

/* All columns of a row, with links. */
export function details(run: Run, table: string, row: number): HTMLElement {
    const t = run.table(table);
    return pairs(
        rowName(run, table, row),
        t.columns
            .filter(c => c.type !== "row" || c.values[row] !== 0)
            .map((c): [Child, Child] => [
                h("span", { title: c.text || null }, c.name.replaceAll("_", " ")),
                cell(run, t, c, row),
            ]),
    );
}

/*
 * Rows where each named column has the given text or number; "until": those whose first time is not
 * behind it.
 */
export function filterRows(run: Run, table: string, query: URLSearchParams): Uint32Array {
    const t = run.table(table);
    let rows = Uint32Array.from({ length: t.rows }, (_, i) => i);
    for (const [name, wanted] of query) {
        if (name === "until") {
            const time = t.columns.find(c => c.type === "time");
            if (time) rows = rows.filter(row => time.values[row] <= Number(wanted));
        }
        if (!t.has(name)) continue;
        const column = t.column(name);
        if (column.type === "text") {
            const id = run.story.idOf(wanted);
            rows = rows.filter(row => column.values[row] === id);
        } else if (wanted === "any")
            rows = rows.filter(row => column.values[row] !== 0 && column.values[row] !== NEVER);
        else rows = rows.filter(row => column.values[row] === Number(wanted));
    }
    return rows;
}

export function rowsView(app: App): View {
    const element = h("div", { class: "view" });
    return {
        element,
        shown(query) {
            clear(element);
            const run = app.run;
            if (!run) return;
            const name = query.get("*") ?? "";
            query.delete("*");
            if (!name || !run.story.tables.has(name)) {
                element.append(
                    section(
                        "Data",
                        "All that the page knows, as tables. Each picture is drawn " +
                            "from these rows.",
                        h(
                            "div",
                            { class: "tiles" },
                            [...run.story.tables.values()].map(t =>
                                h(
                                    "a",
                                    { class: "tile", href: `#rows/${t.name}` },
                                    h("strong", {}, t.name),
                                    h("span", { class: "figure" }, format.count(t.rows)),
                                    h("span", {}, t.text),
                                ),
                            ),
                        ),
                        h("p", {}, link("facts", "run.json, as it stands in this page")),
                    ),
                );
                return;
            }
            const rows = filterRows(run, name, query);
            const filters = [...query]
                .map(([k, v]) =>
                    k === "until"
                        ? `until the end of what was played, ${format.moment(Number(v))} ` +
                          "(run.json counts no call behind it; those of the same moment " +
                          "are here, too)"
                        : `${k.replaceAll("_", " ")} ${v === "any" ? "is set" : `= ${v}`}`,
                )
                .join(", ");
            element.append(
                section(
                    name,
                    [
                        run.table(name).text,
                        filters ? ` Only: ${filters}. ` : ". ",
                        filters ? link(`rows/${name}`, "Show all") : null,
                    ],
                    tableGrid(run, name, rows, Math.max(320, window.innerHeight - 250)),
                ),
            );
        },
    };
}

/* Rows of a table whose column names a row of another one. */
function naming(run: Run, from: Table, column: Column, table: string, row: number): Uint32Array {
    if (column.type === "row" && column.target === table)
        return run.referring(from.name, column.name, row);
    if (BY_NUMBER[`${from.name}.${column.name}`] !== table) return new Uint32Array(0);
    const number = run.values(table, "number")[row];
    return Uint32Array.from(column.values.keys()).filter(r => column.values[r] === number);
}

export function rowView(app: App): View {
    const element = h("div", { class: "view" });
    return {
        element,
        shown(query) {
            clear(element);
            const run = app.run;
            const [table, number] = (query.get("*") ?? "").split("/");
            const row = Number(number);
            if (!run || !run.story.tables.has(table) || !(row >= 0 && row < run.rows(table))) {
                element.append(section("Not there", "The page has no such row."));
                return;
            }
            const t = run.table(table);
            const time = t.columns.find(c => c.type === "time" && c.values[row] !== NEVER);
            element.append(
                section(
                    rowName(run, table, row),
                    `A row of ${table}: ${t.text}.`,
                    details(run, table, row),
                    h(
                        "p",
                        { class: "actions" },
                        time
                            ? link(
                                  `timeline?at=${time.values[row]}&select=${table}.${row}`,
                                  "Show on the timeline",
                              )
                            : null,
                        " ",
                        table === "objects" && run.kinds[row] === "allocation"
                            ? link(`map?select=${row}`, "Show on the segment map")
                            : null,
                    ),
                ),
            );
            for (const other of run.story.tables.values())
                for (const column of other.columns) {
                    const rows = naming(run, other, column, table, row);
                    if (!rows.length) continue;
                    element.append(
                        section(
                            `${other.name} whose ${column.name.replaceAll("_", " ")} it is`,
                            null,
                            tableGrid(
                                run,
                                other.name,
                                rows,
                                260,
                                `${other.name} by ${column.name}`,
                            ),
                        ),
                    );
                }
        },
    };
}

interface FactRow {
    path: string;
    value: string;
}

function flatten(value: unknown, path: string, out: FactRow[]): void {
    if (typeof value === "object" && value !== null) {
        const entries = Object.entries(value);
        if (!entries.length) out.push({ path, value: Array.isArray(value) ? "[]" : "{}" });
        for (const [key, inner] of entries) flatten(inner, path ? `${path}.${key}` : key, out);
    } else
        out.push({
            path,
            value:
                typeof value === "number" ? String(value) : value === null ? "null" : String(value),
        });
}

export function factsView(app: App): View {
    const element = h("div", { class: "view" });
    return {
        element,
        shown(query) {
            clear(element);
            const path = query.get("*") ?? "";
            const start = path ? valueIn(app.facts, ...path.split(".")) : app.facts;
            const rows: FactRow[] = [];
            flatten(start, path, rows);
            element.append(
                section(
                    path ? `run.json: ${path}` : "run.json",
                    [
                        "What the run wrote, as it stands in this page. ",
                        path ? link("facts", "Show all") : null,
                    ],
                    grid({
                        label: "run.json",
                        rows: rows.length,
                        height: Math.max(320, window.innerHeight - 250),
                        columns: [
                            {
                                title: "key",
                                width: "minmax(14em, 1fr)",
                                cell: i => rows[i].path,
                                key: i => rows[i].path,
                            },
                            {
                                title: "value",
                                width: "minmax(14em, 2fr)",
                                cell: i => rows[i].value,
                                key: i => Number(rows[i].value) || rows[i].value,
                            },
                        ],
                    }),
                ),
            );
        },
    };
}

const ARGUMENTS_MOST = 200; /* shown beside a call */

export function argumentList(run: Run, rows: Uint32Array): HTMLElement {
    return h(
        "dl",
        { class: "pairs", "aria-label": "Arguments" },
        Array.from(rows.subarray(0, ARGUMENTS_MOST), row =>
            h(
                "div",
                {},
                h("dt", {}, run.text("arguments", "field", row)),
                h(
                    "dd",
                    {},
                    run.values("arguments", "is_answer")[row] ? h("em", {}, "answer: ") : null,
                    argumentValue(run, row),
                ),
            ),
        ),
        rows.length > ARGUMENTS_MOST
            ? h(
                  "div",
                  {},
                  h("dt", {}, `and ${format.count(rows.length - ARGUMENTS_MOST)} more`),
                  h(
                      "dd",
                      {},
                      link(
                          `rows/arguments?call=${run.values("arguments", "call")[rows[0]]}`,
                          "all",
                      ),
                  ),
              )
            : null,
    );
}
