/*
 * The packed form of a story (src/story/story_pack.c), written: for tests that need a page without
 * a run.
 */
import { deflateRawSync } from "node:zlib";

export type Cell =
    number | string | bigint; /* texts are strings; a time that never came is NEVER */
export const NEVER = -1;

export interface ColumnSpec {
    name: string;
    type: "time" | "count" | "bytes" | "flag" | "text" | "row";
    target?: string;
    encoding?: "u" | "d" | "c" | "r";
    base?: string;
}

export interface TableSpec {
    name: string;
    columns: ColumnSpec[];
    rows: Cell[][]; /* by column: rows[column][row] */
}

class Bytes {
    private data = new Uint8Array(1 << 16);
    size = 0;

    byte(value: number): void {
        if (this.size === this.data.length) {
            const grown = new Uint8Array(2 * this.data.length);
            grown.set(this.data);
            this.data = grown;
        }
        this.data[this.size++] = value;
    }

    varint(value: number | bigint): void {
        if (typeof value === "bigint") {
            for (; value > 0x7fn; value >>= 7n) this.byte(Number(value & 0x7fn) | 0x80);
            this.byte(Number(value));
            return;
        }
        while (value > 0x7f) {
            this.byte((value % 128) | 0x80);
            value = Math.floor(value / 128);
        }
        this.byte(value);
    }

    append(bytes: Uint8Array): void {
        for (const b of bytes) this.byte(b);
    }

    get bytes(): Uint8Array {
        return this.data.subarray(0, this.size);
    }
}

function zigzag(n: number): number {
    return n >= 0 ? 2 * n : -2 * n - 1;
}

/* The inflated form: header and body. change: a last look at the header, for tests of bad ones. */
export function packRaw(
    tables: TableSpec[],
    change?: (header: Record<string, unknown>) => void,
): Uint8Array {
    const texts = new Map<string, number>([["", 0]]);
    const body = new Bytes();
    const numbers = new Map<TableSpec, Map<string, number[]>>();
    const tableHeaders = tables.map(table => {
        const rows = table.rows[0]?.length ?? 0;
        const known = new Map<string, number[]>();
        numbers.set(table, known);
        const columns = table.columns.map((column, at) => {
            let isWide = false;
            let max = 0;
            const cells = table.rows[at];
            const values = new Array<number>(rows);
            for (let i = 0; i < rows; i++) {
                const cell = cells[i];
                let v: number;
                if (typeof cell === "string") {
                    let id = texts.get(cell);
                    if (id === undefined) texts.set(cell, (id = texts.size));
                    v = id;
                } else if (typeof cell === "bigint") {
                    isWide ||= cell > BigInt(Number.MAX_SAFE_INTEGER);
                    v = Number(cell);
                } else v = column.type === "time" ? cell + 1 : cell;
                values[i] = v;
                if (v > max) max = v;
            }
            known.set(column.name, values);
            const encoding = isWide
                ? "u"
                : (column.encoding ?? (column.type === "time" ? "d" : "u"));
            const offset = body.size;
            const base = encoding === "r" ? (known.get(column.base as string) as number[]) : values;
            let before = 0;
            if (encoding === "c") {
                if (rows) body.varint(values[0]);
            } else
                for (let i = 0; i < rows; i++) {
                    if (isWide) body.varint(BigInt(cells[i] as bigint));
                    else if (encoding === "u") body.varint(values[i]);
                    else if (encoding === "d") {
                        body.varint(zigzag(values[i] - before));
                        before = values[i];
                    } else body.varint(zigzag(values[i] - base[i]));
                }
            return {
                name: column.name,
                text: "",
                type: column.type,
                ...(column.target ? { target: column.target } : {}),
                encoding,
                ...(encoding === "r" ? { base: column.base } : {}),
                offset,
                length: body.size - offset,
                max: isWide ? Number.MAX_SAFE_INTEGER : max,
                ...(isWide ? { wide: true } : {}),
            };
        });
        return { name: table.name, text: `what ${table.name} are`, rows, columns };
    });
    const encoder = new TextEncoder();
    const encoded = [...texts.keys()].map(t => encoder.encode(t));
    const lengths = body.size;
    for (const text of encoded) body.varint(text.length);
    const blob = body.size;
    for (const text of encoded) body.append(text);
    const header: Record<string, unknown> = {
        format: "drydock-story",
        version: 1,
        tables: tableHeaders,
        texts: {
            count: texts.size,
            lengths: { offset: lengths, length: blob - lengths },
            bytes: { offset: blob, length: body.size - blob },
        },
    };
    change?.(header);
    const head = encoder.encode(JSON.stringify(header));
    const out = new Uint8Array(4 + head.length + body.size);
    new DataView(out.buffer).setUint32(0, head.length, true);
    out.set(head, 4);
    out.set(body.bytes, 4 + head.length);
    return out;
}

export function pack(tables: TableSpec[]): string {
    return deflateRawSync(packRaw(tables), { level: 6 }).toString("base64");
}

/* Rows added one by one, columns by name. */
export class TableBuilder {
    readonly spec: TableSpec;

    constructor(name: string, columns: string) {
        const specs = columns
            .trim()
            .split(/\s+/)
            .map((text): ColumnSpec => {
                const [column, type, target] = text.split(":");
                return {
                    name: column,
                    type: type as ColumnSpec["type"],
                    ...(target ? { target } : {}),
                };
            });
        this.spec = { name, columns: specs, rows: specs.map(() => []) };
    }

    /* The row's number plus one. */
    add(...cells: Cell[]): number {
        if (cells.length !== this.spec.columns.length)
            throw new Error(
                `${this.spec.name}: ${cells.length} cells for ${this.spec.columns.length} columns`,
            );
        cells.forEach((cell, i) => this.spec.rows[i].push(cell));
        return this.spec.rows[0].length;
    }

    set(row: number, column: string, cell: Cell): void {
        this.spec.rows[this.spec.columns.findIndex(c => c.name === column)][row - 1] = cell;
    }

    get(row: number, column: string): Cell {
        return this.spec.rows[this.spec.columns.findIndex(c => c.name === column)][row - 1];
    }

    get count(): number {
        return this.spec.rows[0].length;
    }
}
