/*
 * The run that a story tells: its tables by their meaning, names of objects, and the indexes that
 * views share.
 *
 * All is computed when first asked for and kept. Rows are numbered from 0 here; a column that
 * refers to a row holds the row plus one (decode.ts).
 */
import { NEVER, Story, type Table, type Values } from "./decode.js";

/* Letters that name objects in traces: allocation 17 is a17. */
const LETTERS: Record<string, string> = {
    allocation: "a",
    context: "c",
    device: "d",
    process: "p",
    node: "node ",
    segment: "segment ",
    resource: "r",
    fence: "fence ",
    queue: "queue ",
};

/*
 * Rows of a table by the row that a column refers to: those of target row t are rows[starts[t]] ..
 * rows[starts[t+1] - 1].
 */
export interface RowIndex {
    starts: Uint32Array;
    rows: Uint32Array;
}

export class Run {
    readonly begin = 0;
    readonly end: number;
    private readonly indexes = new Map<string, RowIndex>();
    private readonly names: (string | undefined)[] = [];
    private readonly numbered = new Map<string, Map<number, number>>();
    private kindsCache: string[] | null = null;
    private bearers: Map<string, number> | null = null;

    constructor(
        readonly story: Story,
        endNs = 0,
    ) {
        let end = endNs;
        for (const [table, column] of [
            ["calls", "ends"],
            ["packets", "ends"],
            ["operations", "retired"],
            ["marks", "time"],
            ["places", "from"],
            ["places", "to"],
            ["samples", "time"],
            ["requests", "ends"],
            ["objects", "created"],
            ["objects", "destroyed"],
        ]) {
            const values = story.table(table).column(column).values;
            for (let i = 0; i < values.length; i++)
                if (values[i] > end && values[i] !== NEVER) end = values[i];
        }
        this.end = Math.max(1, end);
    }

    table(name: string): Table {
        return this.story.table(name);
    }

    rows(table: string): number {
        return this.story.table(table).rows;
    }

    values(table: string, column: string): Values {
        return this.story.table(table).column(column).values;
    }

    /* The text in a column of texts. */
    text(table: string, column: string, row: number): string {
        return this.story.textOf(this.values(table, column)[row]);
    }

    /* The kind of each object. */
    get kinds(): string[] {
        if (!this.kindsCache) {
            const kind = this.values("objects", "kind");
            this.kindsCache = Array.from(kind, id => this.story.textOf(id));
        }
        return this.kindsCache;
    }

    objectsOf(kind: string): number[] {
        const out: number[] = [];
        this.kinds.forEach((k, row) => {
            if (k === kind) out.push(row);
        });
        return out;
    }

    /*
     * "embedding.weight"; "a17 commands" where several have the name; 'p2 "p0"' where the name reads
     * like the number of another object. reference: a row of objects plus one.
     */
    objectName(reference: number): string {
        if (!reference) return "";
        const row = reference - 1;
        let name = this.names[row];
        if (name === undefined) {
            name = this.nameOf(row);
            this.names[row] = name;
        }
        return name;
    }

    private nameOf(row: number): string {
        const given = this.text("objects", "name", row);
        const short = this.objectShort(row + 1);
        if (!given || given === short.trim()) return short;
        if (/^[a-z]\d+$/.test(given)) return `${short} “${given}”`;
        /* What has a letter for its kind is known by its name; a segment by its number, too. */
        const isAlone = (LETTERS[this.kinds[row]]?.length ?? 0) === 1 && this.bearersOf(row) === 1;
        return isAlone ? given : `${short} ${given}`;
    }

    /* How many objects of its kind have the name of an object. */
    private bearersOf(row: number): number {
        const names = this.values("objects", "name");
        if (!this.bearers) {
            this.bearers = new Map();
            for (let i = 0; i < names.length; i++) {
                const key = `${this.kinds[i]} ${names[i]}`;
                this.bearers.set(key, (this.bearers.get(key) ?? 0) + 1);
            }
        }
        return this.bearers.get(`${this.kinds[row]} ${names[row]}`) ?? 0;
    }

    /* What is written on the object itself, where it cannot be taken for another. */
    objectLabel(reference: number): string {
        return (
            (reference && this.text("objects", "name", reference - 1)) ||
            this.objectShort(reference)
        );
    }

    /* What a search for an object looks at: its name, and its number even where that is not shown. */
    objectWords(reference: number): string {
        const name = this.objectName(reference),
            short = this.objectShort(reference);
        return name.startsWith(short) ? name : `${name} ${short}`;
    }

    /* "a17". */
    objectShort(reference: number): string {
        if (!reference) return "";
        const kind = this.kinds[reference - 1];
        return `${LETTERS[kind] ?? `${kind} `}${this.values("objects", "number")[reference - 1]}`;
    }

    /* The row of a table whose column "number" has this number, or -1. */
    rowNumbered(table: string, number: number): number {
        let rows = this.numbered.get(table);
        if (!rows) {
            rows = new Map();
            const numbers = this.values(table, "number");
            for (let row = 0; row < numbers.length; row++) rows.set(numbers[row], row);
            this.numbered.set(table, rows);
        }
        return rows.get(number) ?? -1;
    }

    /* The row of an object by kind and number, or -1. */
    findObject(kind: string, number: number): number {
        const numbers = this.values("objects", "number");
        const kinds = this.kinds;
        for (let i = 0; i < kinds.length; i++)
            if (numbers[i] === number && kinds[i] === kind) return i;
        return -1;
    }

    index(table: string, column: string): RowIndex {
        const key = `${table}.${column}`;
        let index = this.indexes.get(key);
        if (!index) {
            const values = this.values(table, column);
            const target = this.story.table(table).column(column).target;
            const size = target ? this.rows(target) : 0;
            const starts = new Uint32Array(size + 2);
            for (let i = 0; i < values.length; i++) if (values[i]) starts[values[i]]++;
            for (let i = 1; i <= size + 1; i++) starts[i] += starts[i - 1];
            const rows = new Uint32Array(starts[size]);
            const at = starts.slice();
            for (let i = 0; i < values.length; i++) if (values[i]) rows[at[values[i] - 1]++] = i;
            index = { starts, rows };
            this.indexes.set(key, index);
        }
        return index;
    }

    /* Rows of table whose column refers to row `target` (from 0). */
    referring(table: string, column: string, target: number): Uint32Array {
        const index = this.index(table, column);
        if (target < 0 || target + 1 >= index.starts.length) return new Uint32Array(0);
        return index.rows.subarray(index.starts[target], index.starts[target + 1]);
    }

    /*
     * When the last of the case was played; what comes behind it takes the machine apart. NEVER:
     * the story does not say.
     */
    get endOfPlay(): number {
        const kind = this.values("marks", "kind"),
            text = this.values("marks", "text"),
            time = this.values("marks", "time");
        const stage = this.story.idOf("stage"),
            end = this.story.idOf("end");
        for (let i = kind.length - 1; i >= 0; i--)
            if (kind[i] === stage && text[i] === end && stage > 0 && end > 0) return time[i];
        return NEVER;
    }

    facts(key: string): string[] {
        const keys = this.values("facts", "key");
        const out: string[] = [];
        for (let i = 0; i < keys.length; i++)
            if (this.story.textOf(keys[i]) === key) out.push(this.text("facts", "value", i));
        return out;
    }
}

/* How many values of a sorted array are below x. */
export function lowerBound(
    values: ArrayLike<number>,
    x: number,
    from = 0,
    to = values.length,
): number {
    let low = from;
    let high = to;
    while (low < high) {
        const middle = (low + high) >>> 1;
        if (values[middle] < x) low = middle + 1;
        else high = middle;
    }
    return low;
}

/*
 * Row numbers sorted by their values; sorts numbers, not closures, as far as rows and values allow.
 */
export function sortedRows(values: ArrayLike<number>, rows = values.length): Uint32Array {
    const order = new Uint32Array(rows);
    let sorted = true;
    for (let i = 0; i < rows; i++) {
        order[i] = i;
        if (i && values[i] < values[i - 1]) sorted = false;
    }
    if (!sorted)
        order.sort((a, b) => (values[a] === values[b] ? a - b : values[a] < values[b] ? -1 : 1));
    return order;
}

/*
 * A curve that holds each value until the next: of the points, those that a picture of `width`
 * columns needs.
 */
export function thinSteps(
    times: ArrayLike<number>,
    values: ArrayLike<number>,
    width: number,
): [number[], number[]] {
    const n = times.length;
    const outTimes: number[] = [];
    const outValues: number[] = [];
    if (n <= 4 * width) {
        for (let i = 0; i < n; i++) {
            outTimes.push(times[i]);
            outValues.push(values[i]);
        }
        return [outTimes, outValues];
    }
    const begin = times[0];
    const span = times[n - 1] - begin || 1;
    let i = 0;
    for (let column = 0; column < width && i < n; column++) {
        const limit = column === width - 1 ? Infinity : begin + (span * (column + 1)) / width;
        const first = i;
        let low = i;
        let high = i;
        while (i < n && times[i] < limit) {
            if (values[i] < values[low]) low = i;
            if (values[i] > values[high]) high = i;
            i++;
        }
        if (i === first) continue;
        for (const pick of [...new Set([first, low, high, i - 1])].sort((a, b) => a - b)) {
            outTimes.push(times[pick]);
            outValues.push(values[pick]);
        }
    }
    return [outTimes, outValues];
}
