/*
 * A small capture of the Radeon Memory Visualizer (RMV), written: for a run of one without a file
 * that somebody else made. The layout is that of src/workload/import/rmv.h.
 */
const PAGE_SHIFTS = [0, 12, 16, 18, 20, 21]; /* by the code of a page size in an update */

class Bytes {
    readonly data: number[] = [];

    put(value: number, count: number): void {
        let rest = BigInt(value);
        for (let i = 0; i < count; i++) {
            this.data.push(Number(rest & 255n));
            rest >>= 8n;
        }
    }

    text(text: string, count: number): void {
        for (let i = 0; i < count; i++) this.data.push(i < text.length ? text.charCodeAt(i) : 0);
    }
}

/* A token of so many bytes: fields are [first bit, bits, value]. */
function token(
    out: Bytes,
    type: number,
    ticks: number,
    bytes: number,
    fields: [number, number, number][],
): void {
    const at = out.data.length;
    for (let i = 0; i < bytes; i++) out.data.push(0);
    out.data[at] = type | (ticks << 4);
    for (const [first, count, value] of fields) {
        const wide = BigInt(value);
        for (let i = 0; i < count; i++)
            if ((wide >> BigInt(i)) & 1n)
                out.data[at + ((first + i) >> 3)] |= 1 << ((first + i) % 8);
    }
}

/* The entries of pages of two processes: mapped and unmapped, of 4 KiB, 64 KiB and 2 MiB. */
export function capture(updates: number): Buffer {
    const file = new Bytes();
    const LOCAL = 64 * 2 ** 20,
        INVISIBLE = 448 * 2 ** 20;
    file.put(0, 32); /* the header of the file, below */
    const heaps = file.data.length;
    for (const [kind, base, size] of [
        [0, 0, LOCAL],
        [1, LOCAL, INVISIBLE],
        [2, 0, 8 * 2 ** 30],
    ]) {
        file.put(kind, 8);
        file.put(base, 8);
        file.put(size, 8);
    }
    const stream = file.data.length;
    file.put(2 << 4, 8); /* a timestamp: 64 ticks, and how many there are in a second */
    file.put(10_000_000, 4);
    let seed = 7;
    const below = (n: number): number => {
        seed = (seed * 1103515245 + 12345) % 2147483648;
        return Math.floor((seed / 2147483648) * n);
    };
    for (let i = 0; i < updates; i++) {
        const size = [1, 1, 2, 5][below(4)];
        const page = 2 ** PAGE_SHIFTS[size];
        const count = 1 + below(size === 5 ? 3 : 24);
        const place = Math.floor((LOCAL + INVISIBLE - count * page) / page);
        token(file, 3, 1, 18, [
            [8, 36, (0x100000000 + (i % 40) * 2 ** 26 + below(8) * page) / 4096],
            [44, 36, (below(place) * page) / 4096],
            [80, 20, count],
            [100, 3, size],
            [103, 1, i > 40 && below(4) === 0 ? 1 : 0],
            [104, 32, 4 + (i & 1)],
            [136, 2, 1],
        ]);
    }
    const end = file.data.length;
    const header = file.data.length;
    file.put(0, 4);
    file.put(0, 4);
    file.put(end - stream, 8);
    file.put(0, 4);
    file.put(0, 2);
    file.put(1, 2);
    const index = file.data.length;
    for (const [name, headerAt, headerBytes, at, bytes] of [
        ["GpuMemSegment", heaps, 0, heaps, 72],
        ["RmtData", header, 24, stream, end - stream],
    ] as [string, number, number, number, number][]) {
        file.text(name, 16);
        file.put(0, 4);
        file.put(1, 4);
        for (const value of [headerAt, headerBytes, at, bytes, 0]) file.put(value, 8);
    }
    const made = Buffer.from(file.data);
    made.write("AMD_RDF ", 0, "latin1");
    made.writeUInt32LE(3, 8);
    made.writeBigUInt64LE(BigInt(index), 16);
    made.writeBigUInt64LE(128n, 24);
    return made;
}
