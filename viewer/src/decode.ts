/*
 * The packed story, read into tables of columns.
 *
 * The form is that of src/story/story_pack.c: raw deflate; a header in JSON; columns of varints;
 * one blob of texts. Whatever the bytes are, what comes out is a story or a StoryError with a
 * sentence for the reader: no offset, row or text number leaves its bounds, and nothing is
 * allocated that the bytes do not account for.
 *
 * Units: times in virtual nanoseconds, NEVER where nothing happened; rows of other tables plus one,
 * 0 for none.
 */

/* A time that never came. */
export const NEVER = Infinity;

const INFLATED_MAX = 1 << 30;
const HEADER_MAX = 1 << 20;
const ROWS_MAX = 1 << 24;

export class StoryError extends Error {}

export type Values = Float64Array | Uint32Array;
export type ColumnType = "time" | "count" | "bytes" | "flag" | "text" | "row";

const COLUMN_TYPES: ReadonlySet<string> = new Set([
    "time",
    "count",
    "bytes",
    "flag",
    "text",
    "row",
]);

export interface Column {
    readonly name: string;
    readonly text: string;
    readonly type: ColumnType;
    readonly target: string; /* of type "row": the table; else "" */
    readonly values: Values; /* decoded when first asked for */
    readonly wide: BigUint64Array | null; /* all bits, where a value is above 2^53 - 1 */
}

export interface Table {
    readonly name: string;
    readonly text: string;
    readonly rows: number;
    readonly columns: readonly Column[];
    column(name: string): Column;
    has(name: string): boolean;
}

interface ColumnHeader {
    name: string;
    text: string;
    type: ColumnType;
    target: string;
    encoding: string;
    base: string;
    offset: number;
    length: number;
    max: number;
    wide: boolean;
}

function isObject(value: unknown): value is Record<string, unknown> {
    return typeof value === "object" && value !== null && !Array.isArray(value);
}

function textOf(object: Record<string, unknown>, key: string, fallback?: string): string {
    const value = object[key];
    if (value === undefined && fallback !== undefined) return fallback;
    if (typeof value !== "string") throw new StoryError(`its header has no text "${key}"`);
    return value;
}

function numberOf(
    object: Record<string, unknown>,
    key: string,
    max: number,
    fallback?: number,
): number {
    const value = object[key];
    if (value === undefined && fallback !== undefined) return fallback;
    if (typeof value !== "number" || !Number.isInteger(value) || value < 0 || value > max)
        throw new StoryError(`its header has no good number "${key}"`);
    return value;
}

/* The bytes of a base64 text; white space in it is ignored. */
export function base64Bytes(text: string): Uint8Array {
    let binary: string;
    try {
        binary = atob(text.trim());
    } catch {
        throw new StoryError("it is not base64");
    }
    const bytes = new Uint8Array(binary.length);
    for (let i = 0; i < binary.length; i++) bytes[i] = binary.charCodeAt(i);
    return bytes;
}

export async function inflate(bytes: Uint8Array): Promise<Uint8Array> {
    const stream = new DecompressionStream("deflate-raw");
    const writer = stream.writable.getWriter();
    const reader = stream.readable.getReader();
    const pieces: Uint8Array[] = [];
    let size = 0;

    const written = writer.write(bytes as Uint8Array<ArrayBuffer>).then(() => writer.close());
    written.catch(() => undefined); /* the reader meets the same error */
    try {
        for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            size += value.length;
            if (size > INFLATED_MAX) {
                await reader.cancel();
                throw new StoryError("it inflates to more than 1 GiB");
            }
            pieces.push(value);
        }
        await written;
    } catch (error) {
        if (error instanceof StoryError) throw error;
        throw new StoryError("it cannot be inflated: it is cut or damaged");
    }
    const whole = new Uint8Array(size);
    let at = 0;
    for (const piece of pieces) {
        whole.set(piece, at);
        at += piece.length;
    }
    return whole;
}

/* A reader of the varints of one column. */
class Varints {
    private at: number;

    constructor(
        private readonly bytes: Uint8Array,
        offset: number,
        length: number,
        private readonly what: string,
    ) {
        this.at = offset;
        this.end = offset + length;
    }

    private readonly end: number;

    next(): number {
        const bytes = this.bytes;
        let byte = this.at < this.end ? bytes[this.at++] : this.fail("ends early");
        if (byte < 0x80) return byte;
        let value = byte & 0x7f;
        let scale = 128;
        for (let i = 1; i < 8; i++) {
            byte = this.at < this.end ? bytes[this.at++] : this.fail("ends early");
            value += (byte & 0x7f) * scale;
            if (byte < 0x80) {
                /* zigzag makes 2^54 of 2^53 */
                return value <= 2 * Number.MAX_SAFE_INTEGER + 1
                    ? value
                    : this.fail("has a number that is too large");
            }
            scale *= 128;
        }
        return this.fail("has a number that is too large");
    }

    big(): bigint {
        let value = 0n;
        for (let shift = 0n; shift < 70n; shift += 7n) {
            const byte = this.at < this.end ? this.bytes[this.at++] : this.fail("ends early");
            value |= BigInt(byte & 0x7f) << shift;
            if (byte < 0x80) return BigInt.asUintN(64, value);
        }
        return this.fail("has a number that is too large");
    }

    done(): void {
        if (this.at !== this.end) this.fail("has more bytes than rows");
    }

    private fail(why: string): never {
        throw new StoryError(`${this.what} ${why}`);
    }
}

function unzigzag(value: number): number {
    return value % 2 === 0 ? value / 2 : -(value + 1) / 2;
}

class PackedColumn implements Column {
    private decoded: Values | null = null;
    private decodedWide: BigUint64Array | null = null;

    constructor(
        private readonly story: Story,
        private readonly table: Table,
        private readonly header: ColumnHeader,
    ) {}

    get name(): string {
        return this.header.name;
    }
    get text(): string {
        return this.header.text;
    }
    get type(): ColumnType {
        return this.header.type;
    }
    get target(): string {
        return this.header.target;
    }
    get values(): Values {
        return this.decoded ?? (this.decoded = this.decode());
    }
    get wide(): BigUint64Array | null {
        if (this.header.wide) void this.values;
        return this.decodedWide;
    }

    /* The values as packed: a time is one more than it is, 0 for never. */
    private raw(): Values {
        const { header, table } = this;
        const rows = table.rows;
        const what = `column "${table.name}.${header.name}"`;
        const out: Values =
            header.max > 0xffffffff || header.type === "time" || header.encoding !== "u"
                ? new Float64Array(rows)
                : new Uint32Array(rows);
        const varints = new Varints(this.story.body, header.offset, header.length, what);

        if (header.wide) {
            const wide = new BigUint64Array(rows);
            if (header.encoding === "c") {
                if (rows) wide.fill(varints.big());
            } else {
                for (let i = 0; i < rows; i++) wide[i] = varints.big();
            }
            for (let i = 0; i < rows; i++) out[i] = Number(wide[i]);
            this.decodedWide = wide;
        } else if (header.encoding === "c") {
            if (rows) out.fill(varints.next());
        } else if (header.encoding === "u") {
            for (let i = 0; i < rows; i++) {
                const value = varints.next();
                if (value > header.max)
                    throw new StoryError(`${what} has a value above its largest in row ${i}`);
                out[i] = value;
            }
        } else if (header.encoding === "d") {
            let value = 0;
            for (let i = 0; i < rows; i++) out[i] = value += unzigzag(varints.next());
        } else {
            const base = this.table.column(header.base) as PackedColumn;
            const values = base.raw();
            for (let i = 0; i < rows; i++) out[i] = values[i] + unzigzag(varints.next());
        }
        varints.done();
        if (!header.wide)
            for (let i = 0; i < rows; i++)
                if (!(out[i] >= 0 && out[i] <= Number.MAX_SAFE_INTEGER))
                    throw new StoryError(`${what} has a value out of range in row ${i}`);
        return out;
    }

    private decode(): Values {
        const { header, table } = this;
        const what = `column "${table.name}.${header.name}"`;
        const out = this.raw();
        const rows = table.rows;

        if (header.type === "time") {
            for (let i = 0; i < rows; i++) out[i] = out[i] === 0 ? NEVER : out[i] - 1;
            return out;
        }
        if (header.type === "row" || header.type === "text") {
            const limit =
                header.type === "row"
                    ? (this.story.tables.get(header.target)?.rows ?? 0)
                    : this.story.textCount - 1;
            const exact = out instanceof Uint32Array ? out : Uint32Array.from(out);
            for (let i = 0; i < rows; i++)
                if (out[i] > limit)
                    throw new StoryError(
                        `${what} names a ${header.type} that is not there, in row ${i}`,
                    );
            return exact;
        }
        return out;
    }
}

class PackedTable implements Table {
    readonly columns: Column[] = [];
    private readonly byName = new Map<string, Column>();

    constructor(
        readonly name: string,
        readonly text: string,
        readonly rows: number,
    ) {}

    add(column: Column): void {
        this.columns.push(column);
        this.byName.set(column.name, column);
    }

    has(name: string): boolean {
        return this.byName.has(name);
    }

    column(name: string): Column {
        const column = this.byName.get(name);
        if (column) return column;
        /*
         * A story of an older drydock does not have every column; it reads as one of which nothing
         * is known.
         */
        const empty: Column = {
            name,
            text: "",
            type: "count",
            target: "",
            values: new Uint32Array(this.rows),
            wide: null,
        };
        this.byName.set(name, empty);
        return empty;
    }
}

export class Story {
    readonly tables = new Map<string, Table>();
    readonly body: Uint8Array;
    readonly textCount: number;
    private readonly textStarts: Float64Array;
    private readonly textCache = new Map<number, string>();
    private static readonly utf8 = new TextDecoder("utf-8");

    /* bytes: the inflated story. */
    constructor(bytes: Uint8Array) {
        if (bytes.length < 4) throw new StoryError("it is empty");
        const length = new DataView(bytes.buffer, bytes.byteOffset).getUint32(0, true);
        if (length > HEADER_MAX || length > bytes.length - 4)
            throw new StoryError("its header is longer than it is");
        this.body = bytes.subarray(4 + length);
        let header: unknown;
        try {
            header = JSON.parse(
                new TextDecoder("utf-8", { fatal: true }).decode(bytes.subarray(4, 4 + length)),
            );
        } catch {
            throw new StoryError("its header is not JSON");
        }
        if (!isObject(header) || header.format !== "drydock-story")
            throw new StoryError("it is not a story of drydock");
        if (header.version !== 1)
            throw new StoryError(
                `it is of version ${String(header.version)}; this page reads version 1`,
            );
        if (!Array.isArray(header.tables) || !isObject(header.texts))
            throw new StoryError("its header has no tables");

        const texts = header.texts;
        const lengths = this.span(texts.lengths, "the lengths of texts");
        const blob = this.span(texts.bytes, "the texts");
        this.textCount = numberOf(texts, "count", Math.max(1, lengths.length));
        const varints = new Varints(
            this.body,
            lengths.offset,
            lengths.length,
            "the lengths of texts",
        );
        this.textStarts = new Float64Array(this.textCount + 1);
        this.textStarts[0] = blob.offset;
        for (let i = 0; i < this.textCount; i++)
            this.textStarts[i + 1] = this.textStarts[i] + varints.next();
        varints.done();
        if (this.textStarts[this.textCount] !== blob.offset + blob.length)
            throw new StoryError("the texts are not as long as their lengths say");

        const headers: [PackedTable, ColumnHeader[]][] = [];
        for (const entry of header.tables as unknown[]) {
            if (!isObject(entry) || !Array.isArray(entry.columns))
                throw new StoryError("its header has a bad table");
            const table = new PackedTable(
                textOf(entry, "name"),
                textOf(entry, "text", ""),
                numberOf(entry, "rows", ROWS_MAX),
            );
            if (this.tables.has(table.name))
                throw new StoryError(`it has table "${table.name}" twice`);
            headers.push([table, entry.columns.map((c: unknown) => this.columnHeader(table, c))]);
            this.tables.set(table.name, table);
        }
        for (const [table, columns] of headers) {
            const before = new Set<string>();
            for (const column of columns) {
                if (column.encoding === "r" && !before.has(column.base))
                    throw new StoryError(`column "${table.name}.${column.name}" has no base`);
                if (before.has(column.name))
                    throw new StoryError(`it has column "${table.name}.${column.name}" twice`);
                if (column.type === "row" && !this.tables.has(column.target))
                    throw new StoryError(
                        `column "${table.name}.${column.name}" is of a table that is not there`,
                    );
                before.add(column.name);
                table.add(new PackedColumn(this, table, column));
            }
        }
    }

    private span(value: unknown, what: string): { offset: number; length: number } {
        if (!isObject(value)) throw new StoryError(`${what} are not there`);
        const offset = numberOf(value, "offset", this.body.length);
        return { offset, length: numberOf(value, "length", this.body.length - offset) };
    }

    private columnHeader(table: Table, value: unknown): ColumnHeader {
        if (!isObject(value)) throw new StoryError(`table "${table.name}" has a bad column`);
        const { offset, length } = this.span(value, `the bytes of a column of "${table.name}"`);
        const name = textOf(value, "name");
        const type = textOf(value, "type");
        const encoding = textOf(value, "encoding");
        if (!COLUMN_TYPES.has(type))
            throw new StoryError(`column "${table.name}.${name}" is of the unknown type "${type}"`);
        if (!["u", "d", "r", "c"].includes(encoding))
            throw new StoryError(`column "${table.name}.${name}" is encoded in an unknown way`);
        if (encoding !== "c" && length < table.rows)
            throw new StoryError(`column "${table.name}.${name}" has fewer bytes than rows`);
        return {
            name,
            type: type as ColumnType,
            encoding,
            offset,
            length,
            text: textOf(value, "text", ""),
            target: type === "row" ? textOf(value, "target") : "",
            base: encoding === "r" ? textOf(value, "base") : "",
            max: numberOf(value, "max", Number.MAX_SAFE_INTEGER, Number.MAX_SAFE_INTEGER),
            wide: value.wide === true,
        };
    }

    /* The table of this name; one without rows where the story does not have it. */
    table(name: string): Table {
        let table = this.tables.get(name);
        if (!table) {
            table = new PackedTable(name, "", 0);
            this.tables.set(name, table);
        }
        return table;
    }

    /* The text of an id. */
    textOf(id: number): string {
        if (!(id > 0 && id < this.textCount))
            return id === 0 && this.textCount ? this.decodeText(0) : "";
        let text = this.textCache.get(id);
        if (text === undefined) {
            text = this.decodeText(id);
            this.textCache.set(id, text);
        }
        return text;
    }

    private decodeText(id: number): string {
        return Story.utf8.decode(this.body.subarray(this.textStarts[id], this.textStarts[id + 1]));
    }

    /* The id of a text, or -1: read through once, then known. */
    idOf(text: string): number {
        if (!this.ids) {
            this.ids = new Map();
            for (let i = this.textCount - 1; i >= 0; i--) this.ids.set(this.textOf(i), i);
        }
        return this.ids.get(text) ?? -1;
    }

    private ids: Map<string, number> | null = null;
}

/* The story of a <script> element's text. */
export async function readStory(base64: string): Promise<Story> {
    return new Story(await inflate(base64Bytes(base64)));
}
