/*
 * Page tables of a process at any moment. What the entries say is computed from the operations that
 * wrote them: of all ranges that were written up to the moment, the last writer of each address
 * holds.
 */
import type { Run } from "./data.js";
import * as format from "./format.js";

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

export const SYSTEM = -1; /* entries of no process: those of the paging process before it has one */
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

export interface Change {
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
