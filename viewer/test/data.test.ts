import assert from "node:assert/strict";
import { test } from "node:test";
import { allocationsNamed, argumentsOf, bytesOf, sourcesOf } from "../src/finding.js";
import { align, alignedBy, figuresOf } from "../src/compare.js";
import { alternativesOf } from "../src/alternatives.js";
import { comparedIn } from "../src/clients.js";
import { areaOf, ruleCounts } from "../src/coverage.js";
import { lowerBound, Run, sortedRows, thinSteps } from "../src/data.js";
import { readStory } from "../src/decode.js";
import * as format from "../src/format.js";
import { arrowsOf } from "../src/arrows.js";
import { buildSlices, kindColours, sliceLabel, spreadCalls } from "../src/lanes.js";
import { lifeOf } from "../src/life.js";
import { rowName } from "../src/rows.js";
import { changes, flagsText, lastWriters, PageTables } from "../src/tables.js";
import { pack, TableBuilder } from "./pack.js";
import { synthetic } from "./synthetic.js";

test("numbers are said in few digits and right units", () => {
    assert.equal(format.bytes(0), "0 B");
    assert.equal(format.bytes(2332532736), "2.17 GiB");
    assert.equal(format.bytes(256 * 2 ** 20), "256 MiB");
    assert.equal(format.duration(342129080), "342.1 ms");
    assert.equal(format.duration(999), "999 ns");
    assert.equal(format.duration(1500), "1.5 µs");
    assert.equal(format.moment(1234567, 1000), "1.235 ms");
    assert.equal(format.status(0xc000000d), "0xc000000d");
    assert.equal(format.percent(848 / 1750), "48.5 %");
    assert.equal(format.axisStep(1000, 5), 200);
    assert.equal(format.axisStep(2 ** 30, 8, true), 2 ** 27);
});

test("operations stand beside each other as drydock aligned them, or not at all", () => {
    const of = (parts: unknown, a = 3, b = 4): Record<string, unknown> => ({
        operations: { a, b },
        parts,
    });
    const rows = alignedBy(
        of([
            [1, 0, 1, 2],
            [2, 1, 4, 0],
        ]),
        3,
        4,
    );
    assert.deepEqual(rows, [
        { a: 0, b: 0, isSame: true },
        { a: -1, b: 1, isSame: false },
        { a: -1, b: 2, isSame: false },
        { a: 1, b: 3, isSame: true },
        { a: 2, b: -1, isSame: false },
    ]);
    assert.equal(alignedBy(of([[1, 0, 1, 2]]), 3, 5), null, "not all are in the page");
    assert.equal(alignedBy(of([[1, 0, 1, 3]]), 3, 4), null, "the rest is of two lengths");
    for (const bad of [null, "x", [7], [[-1, 1, 0, 1]], [[0, 9, 0, 9]], [[NaN, 0, 0, 0]]])
        assert.equal(alignedBy(of(bad), 3, 4), null);
});

test("kinds of a group that have a colour of their own share it with none of the group", async () => {
    const slices = buildSlices(new Run(await readStory(synthetic(600).story)));
    const colours = kindColours(slices);
    const shared = new Map<string, number[]>();
    slices.kinds.forEach((_, kind) => {
        const key = `${slices.kindGroups[kind]} ${colours[kind]}`;
        shared.set(key, [...(shared.get(key) ?? []), kind]);
    });
    const groups = new Set([...shared].filter(([, k]) => k.length > 1).map(([, k]) => k[0]));
    for (const kind of groups)
        assert.ok(
            slices.kindGroups.filter(g => g === slices.kindGroups[kind]).length >= 8,
            `${slices.kinds[kind]} shares its colour though there are enough`,
        );
});

test("bounds and orders", () => {
    assert.equal(lowerBound([1, 3, 3, 7], 3), 1);
    assert.equal(lowerBound([1, 3, 3, 7], 8), 4);
    assert.deepEqual(Array.from(sortedRows([5, 1, 5, 0])), [3, 1, 0, 2]);
});

test("a thinned curve keeps its ends, its highest and its lowest", () => {
    const times = Array.from({ length: 100000 }, (_, i) => i),
        values = times.map(
            i => Math.sin(i / 900) * 100 + (i === 77777 ? 5000 : i === 33333 ? -5000 : 0),
        );
    const [t, v] = thinSteps(times, values, 200);
    assert.ok(t.length <= 800);
    assert.equal(t[0], 0);
    assert.equal(t[t.length - 1], 99999);
    assert.ok(Math.max(...v) > 4800 && Math.min(...v) < -4800);
    assert.ok(t.every((x, i) => i === 0 || x > t[i - 1]));
});

test("of page-table entries the last writer of each address holds", () => {
    let state = 11;
    const random = (n: number): number => (state = (state * 1103515245 + 12345) & 0x7fffffff) % n;
    for (let round = 0; round < 60; round++) {
        const begins: number[] = [],
            ends: number[] = [],
            ids: number[] = [],
            memory = new Array<number>(64).fill(-1);
        for (let k = 0; k < round; k++) {
            const begin = random(60),
                end = begin + 1 + random(64 - begin - 1 || 1);
            begins.push(begin);
            ends.push(end);
            ids.push(100 + k);
            memory.fill(100 + k, begin, end);
        }
        const painted = new Array<number>(64).fill(-1);
        let before = -1;
        for (const piece of lastWriters(begins, ends, ids)) {
            assert.ok(piece.va >= before && piece.end > piece.va);
            before = piece.end;
            painted.fill(piece.row, piece.va, piece.end);
        }
        assert.deepEqual(painted, memory);
    }
});

test("what changed between two moments is told as ranges", () => {
    const was = [
            { va: 0, end: 10, row: 1 },
            { va: 10, end: 20, row: 2 },
        ],
        is = [
            { va: 0, end: 5, row: 1 },
            { va: 5, end: 20, row: 3 },
            { va: 30, end: 40, row: 4 },
        ];
    assert.deepEqual(
        changes(was, is).map(c => [c.va, c.end, c.before?.row ?? 0, c.after?.row ?? 0]),
        [
            [5, 10, 1, 3],
            [10, 20, 2, 3],
            [30, 40, 0, 4],
        ],
    );
    assert.deepEqual(changes(was, was), []);
});

test("operations of two runs are aligned around what one has more", () => {
    const rows = align(["a", "b", "c", "d", "e", "f"], ["a", "b", "x", "c", "d", "e", "f"]);
    assert.deepEqual(
        rows.map(r => [r.a, r.b, r.isSame]),
        [
            [0, 0, true],
            [1, 1, true],
            [-1, 2, false],
            [2, 3, true],
            [3, 4, true],
            [4, 5, true],
            [5, 6, true],
        ],
    );
    assert.ok(align(["a", "b"], ["a", "b"]).every(r => r.isSame));
    assert.deepEqual(
        align([], ["a"]).map(r => [r.a, r.b]),
        [[-1, 0]],
    );
    const many = Array.from({ length: 3000 }, (_, i) => `p${i}`),
        other = Array.from({ length: 2500 }, (_, i) => `q${i}`);
    const apart = align(many, other);
    assert.ok(apart.every(r => !r.isSame));
    assert.equal(apart.filter(r => r.a >= 0).length, 3000);
    assert.equal(apart.filter(r => r.b >= 0).length, 2500);
});

test("figures of two runs are found at any depth", () => {
    assert.deepEqual(figuresOf({ x: 1, y: { z: 2 } }, { x: 1, y: { z: 3 }, w: 4 }), [
        { path: "x", a: 1, b: 1 },
        { path: "y.z", a: 2, b: 3 },
        { path: "w", a: null, b: 4 },
    ]);
});

test("what a finding names is found in its lines", () => {
    assert.deepEqual(
        allocationsNamed([
            "allocation a10: event 559 created",
            "embedding.weight (allocation 2)",
            "no allocation",
        ]),
        [
            { name: "", number: 10 },
            { name: "embedding.weight", number: 2 },
        ],
    );
    const args = argumentsOf({
        where: "DxgkDdiBuildPagingBuffer(UNMAP).status",
        text: "0xc000000d (expected STATUS_SUCCESS)",
        arguments: ["(returned 0xc000000d STATUS_INVALID_PARAMETER)", "DmaSize    64 (0x40)"],
        argument: { name: "status", value: "0xc000000d", expected: "STATUS_SUCCESS" },
    });
    assert.deepEqual(args, [
        {
            name: "(returned)",
            value: "0xc000000d STATUS_INVALID_PARAMETER",
            isConcerned: true,
            expected: "STATUS_SUCCESS",
        },
        { name: "DmaSize", value: "64 (0x40)", isConcerned: false, expected: "" },
    ]);
    const compared = (name: string, lines: string[]): string[] =>
        argumentsOf({
            where: `DxgkDdiX.${name}`,
            text: "said",
            arguments: lines,
            argument: { name, value: "5", expected: "4" },
        }).map(a => `${a.name} ${a.value}${a.expected && ` not ${a.expected}`}`);
    assert.deepEqual(compared("FillSize", ["DmaSize  64", "Fill.FillSize  5"]), [
        "DmaSize 64",
        "Fill.FillSize 5 not 4",
    ]);
    /* Of two that end alike nobody knows which. */
    assert.deepEqual(compared("FillSize", ["A.FillSize  5", "B.FillSize  6"]), [
        "FillSize 5 not 4",
        "A.FillSize 5",
        "B.FillSize 6",
    ]);
    assert.deepEqual(compared("Size", ["DmaSize  64"]), ["Size 5 not 4", "DmaSize 64"]);
    assert.deepEqual(compared("status", ["DmaSize  64"]), ["status 5 not 4", "DmaSize 64"]);
    assert.deepEqual(argumentsOf({ where: "", text: "said", arguments: [] }), []);
    const bytes = bytesOf({ bytes: ["0x400000  expected 00 00  found e5 00  *", "and 5 more"] });
    assert.deepEqual(bytes[0].found, ["e5", "00"]);
    assert.equal(bytes[1].isOther, true);
});

test("a rule's sources lead to the pages that the finding tells", () => {
    const page = "https://learn.microsoft.com/windows-hardware/drivers/display/gpu-segments";
    assert.deepEqual(
        sourcesOf({
            source: "gpu-segments, third-party driver notes (measured), gpu-segments, a-b",
            links: { "gpu-segments": page, "a-b": "javascript:alert(1)" },
        }),
        [
            { name: "gpu-segments", address: page },
            { name: "third-party driver notes (measured)", address: "" },
            { name: "a-b", address: "" },
        ],
    );
    assert.deepEqual(sourcesOf({ source: null, links: null }), []);
    /* Runs that an older program recorded have no addresses. */
    assert.deepEqual(sourcesOf({ source: "gpu-segments" }), [
        { name: "gpu-segments", address: "" },
    ]);
});

test("rules that were never evaluated are there when the contract is", () => {
    assert.equal(areaOf("PB-008"), "PB");
    const counts = ruleCounts({
        rules: { "PB-001": { evaluated: 3, broken: 1 } },
        contract: [
            { id: "PB-001", evaluated: null, sentence: "s" },
            { id: "PB-002", reason: "" },
        ],
    });
    assert.equal(counts.isWhole, true);
    assert.deepEqual(
        counts.rules.map(r => [r.id, r.evaluated, r.broken]),
        [
            ["PB-001", 3, 1],
            ["PB-002", 0, 0],
        ],
    );
    assert.equal(ruleCounts({ rules: { "PB-001": { evaluated: 3, broken: 1 } } }).isWhole, false);
});

test("alternatives that no run had are there, with the reason where there is one", () => {
    const list = alternativesOf({
        alternatives: [
            { structure: "FILL", name: "all", condition: "a=0", source: "FILL-001", runs: 3 },
            { structure: "FILL", name: "none", condition: "a!=0", source: "FILL-001", reason: "x" },
            { structure: "FILL", name: "rest", condition: "b=0", source: "FILL-002", runs: "<b>" },
        ],
    });
    assert.deepEqual(
        list.map(a => [a.name, a.runs, a.reason]),
        [
            ["all", 3, ""],
            ["none", 0, "x"],
            ["rest", 0, ""],
        ],
    );
    assert.deepEqual(alternativesOf({ alternatives: { "FILL: all": 3 } }), []);
});

test("a run of a story: names, lives, lanes, arrows and page tables fit together", async () => {
    const made = synthetic(600);
    const run = new Run(await readStory(made.story));
    const a = run.findObject("allocation", 3);
    assert.ok(a >= 0);
    assert.match(run.objectName(a + 1), /^layer/);
    assert.match(run.objectWords(a + 1), /^layer.* a3$/);
    const events = lifeOf(run, a);
    assert.ok(events.length > 4 && events[0].kind === "exists");
    assert.ok(events.every((e, i) => i === 0 || e.time >= events[i - 1].time));
    assert.equal(
        events.filter(e => e.kind === "placed" && e.what.startsWith("placed")).length,
        run.values("objects", "placed")[a],
    );

    const slices = buildSlices(run);
    for (const table of ["calls", "operations", "packets", "requests", "submissions"])
        for (let row = 0; row < run.rows(table); row += 97)
            assert.ok(slices.find(table, row) >= 0, `${table} ${row}`);
    /*
     * Slices of a row of a lane do not overlap, but in the last, where all that has no room stands.
     */
    const until = new Map<number, number>();
    const last = new Set(
        slices.lanes.filter(l => l.rowCount > 1).map(l => l.firstRow + l.rowCount - 1),
    );
    for (let i = 0; i < slices.rects.count; i++) {
        const row = slices.rects.y0[i];
        if (!last.has(row) && !slices.lanes[slices.laneOf[i]].isPoints)
            assert.ok(slices.rects.x0[i] >= (until.get(row) ?? 0) - 1e-6, `slice ${i}`);
        until.set(row, Math.max(until.get(row) ?? 0, slices.rects.x1[i]));
    }
    const arrows = arrowsOf(run, "operations", 5);
    const whats = arrows.map(x => `${x.from.table}>${x.to.table}`);
    assert.ok(
        whats.includes("operations>packets") && whats.includes("packets>marks"),
        whats.join(" "),
    );

    const process = run.objectsOf("process")[0];
    const tables = new PageTables(run, process);
    const leaves = tables.layers.find(l => l.level === 0);
    assert.ok(leaves);
    const pieces = tables.at(run.end, leaves);
    assert.ok(pieces.length > 0);
    const piece = pieces[0];
    const target = tables.target(piece, piece.va + 65536 + 5);
    assert.equal(target.offset, run.values("entries", "offset")[piece.row] + 65536 + 5);
    assert.equal(tables.at(-1, leaves).length, 0);
});

test("a packet leads to the value that it writes, and that to who waits for it", async () => {
    const run = new Run(await readStory(synthetic(600, { fences: true }).story));
    const waits = run.values("fence_waits", "packet");
    const cpu = waits.findIndex(packet => !packet);
    const slices = buildSlices(run);
    assert.ok(run.rows("fence_waits") > 10 && slices.find("fence_waits", cpu) >= 0);
    assert.match(sliceLabel(run, "fence_waits", cpu), /^fence 1|^f1/);
    const of = (table: string, row: number): string[] =>
        arrowsOf(run, table, row).map(({ from, what, to }) => {
            const which = to.table === "fence_waits" ? ` ${to.row}` : "";
            return `${from.table} ${what} ${to.table}${which}`;
        });
    const packet = run.values("marks", "packet")[run.values("fence_waits", "mark")[cpu] - 1] - 1;
    const forward = of("packets", packet);
    assert.ok(forward.includes("packets wrote marks"), forward.join(", "));
    assert.ok(forward.includes(`marks let go fence_waits ${cpu}`), forward.join(", "));
    assert.ok(forward.includes("fence_waits was waited for by packets"), forward.join(", "));
    const back = of("fence_waits", cpu);
    assert.ok(back.includes("packets wrote marks"), back.join(", "));
    assert.ok(back.includes(`marks let go fence_waits ${cpu}`), back.join(", "));
});

test("each client has a lane of its calls, those of one moment beside each other", async () => {
    const run = new Run(await readStory(synthetic(600, { clients: true }).story));
    const slices = buildSlices(run);
    const lanes = slices.lanes.filter(lane => lane.group === "Clients");
    assert.deepEqual(
        lanes.map(lane => lane.name),
        [0, 1].map(i => run.objectName(run.objectsOf("process")[i] + 1)),
    );
    const [first, second, third] = [0, 1, 2].map(row => slices.find("client_calls", row));
    const { x0, x1 } = slices.rects;
    assert.ok(x0[first] < x0[second] && x1[first] <= x0[second], "of one moment");
    assert.ok(x1[second] >= run.values("client_calls", "ends")[1], "until its answer");
    assert.ok(x1[third] >= run.end, "one without an answer lasts");
    assert.equal(sliceLabel(run, "client_calls", 1), "D3DKMTLock2");
    assert.equal(rowName(run, "client_calls", 1), "D3DKMTLock2 2");
    assert.equal(comparedIn(run, 0), "NumAllocations was 0, and should be at least 1");
});

test(
    "calls of one moment have places of their own, in order, and reach over the calls they " +
        "make",
    () => {
        const { begins, ends } = spreadCalls([5, 5, 5, 9], [5, 5, 5, 12], [0, 1, 0, 0]);
        assert.deepEqual(
            Array.from(begins, x => Number(x.toFixed(2))),
            [5, 5.3, 5.6, 9],
        );
        assert.deepEqual(
            Array.from(ends, x => Number(x.toFixed(2))),
            [5.6, 5.6, 5.9, 12],
        );
    },
);

/* Page tables of one process: [time, level, va, entries, covers, offset, flags, valid] of a row. */
async function tablesOf(entries: number[][]): Promise<PageTables> {
    const made = synthetic(10);
    const builder = new TableBuilder(
        "entries",
        "time:time operation:row:operations process:row:objects level:count va:bytes count:count " +
            "covers:bytes segment:row:objects offset:bytes stride:bytes flags:count valid:count " +
            "scattered:flag",
    );
    const names = made.tables.map(t => t.name);
    const run = new Run(await readStory(made.story));
    const process = run.objectsOf("process")[0],
        segment = run.objectsOf("segment")[0];
    for (const [time, level, va, count, covers, offset, flags, valid] of entries)
        builder.add(
            time,
            0,
            process + 1,
            level,
            va,
            count,
            covers,
            segment + 1,
            offset,
            covers,
            flags,
            valid,
            0,
        );
    const tables = made.tables.slice();
    tables[names.indexOf("entries")] = builder.spec;
    return new PageTables(new Run(await readStory(pack(tables))), process);
}

const MIB2 = 2 ** 21,
    LARGE = 0x400,
    TABLE_64K = 0x20000;

test("a large page maps by itself, and what its leaf table had before does not count", async () => {
    const t = await tablesOf([
        [1, 1, 0, 4, MIB2, 0x1000, 0, 4],
        [2, 0, 0, 512, 4096, 0x100000, 0, 512],
        [5, 1, 0, 1, MIB2, 0x600000, LARGE, 1],
        [9, 1, 0, 1, MIB2, 0x1000, 0, 1],
    ]);
    assert.deepEqual(
        t.layers.map(l => [l.level, l.covers]),
        [
            [1, MIB2],
            [0, 4096],
        ],
    );
    const offset = (moment: number, va: number): number | null => {
        const piece = t.mapped(moment, va);
        return piece && t.target(piece, va).offset;
    };
    assert.equal(offset(1, 0x3005), null); /* there is a table, and it has nothing */
    assert.equal(offset(2, 0x3005), 0x103005);
    assert.equal(offset(5, 0x3005), 0x603005);
    assert.equal(offset(9, 0x3005), 0x103005);
    assert.equal(offset(9, MIB2 + 5), null);
});

test("of two kinds of leaf tables, the entry above says which is used", async () => {
    const t = await tablesOf([
        [1, 1, 0, 1, MIB2, 0x1000, 0, 1],
        [2, 0, 0, 512, 4096, 0x100000, 0, 512],
        [3, 0, 0, 32, 65536, 0x800000, 0, 32],
        [4, 1, 0, 1, MIB2, 0x2000, TABLE_64K, 1],
    ]);
    for (const [moment, offset] of [
        [2, 0x100005],
        [3, 0x100005],
        [4, 0x800005],
    ]) {
        const piece = t.mapped(moment, 5);
        assert.ok(piece);
        assert.equal(t.target(piece, 5).offset, offset);
    }
});

test("with both kinds of leaf tables, a valid entry of 64 KiB counts first", async () => {
    const t = await tablesOf([
        [1, 1, 0, 1, MIB2, 0x1000, 0, 1],
        [2, 0, 0, 512, 4096, 0x100000, 0, 512],
        [3, 0, 0, 32, 65536, 0x800000, 0, 32],
        [4, 0, 0, 16, 4096, 0, 0, 0],
        [5, 0, 0, 1, 65536, 0, 0, 0],
    ]);
    const at = (moment: number, va: number): number | null => {
        const piece = t.mapped(moment, va);
        return piece && t.target(piece, va).offset;
    };
    assert.equal(at(2, 5), 0x100005);
    assert.equal(at(4, 5), 0x800005);
    assert.equal(at(5, 5), null);
    assert.equal(at(5, 65536), 0x810000);
});

test("ranges that go on are folded, and only those", async () => {
    const t = await tablesOf([
        [1, 0, 0, 16, 4096, 0x100000, 0, 16],
        [2, 0, 0x10000, 16, 4096, 0x110000, 0, 16],
        [3, 0, 0x20000, 16, 4096, 0x500000, 0, 16] /* elsewhere */,
        [4, 0, 0x30000, 16, 4096, 0x510000, 0x10, 16] /* with another flag */,
        [5, 0, 0x40000, 16, 4096, 0, 0, 0],
        [6, 0, 0x50000, 16, 4096, 7, 0x10, 0] /* not valid, too: says the same */,
        [7, 0, 0x80000, 16, 4096, 8, 0, 0] /* not a neighbour */,
    ]);
    const folded = t.fold(t.at(9, t.layers[0]));
    assert.deepEqual(
        folded.map(f => [f.va, f.end, f.pieces.length]),
        [
            [0, 0x20000, 2],
            [0x20000, 0x30000, 1],
            [0x30000, 0x40000, 1],
            [0x40000, 0x60000, 2],
            [0x80000, 0x90000, 1],
        ],
    );
    assert.equal(flagsText(0x410), "NoExecute, LargePage");
    assert.equal(flagsText(0), "");
    assert.equal(flagsText(0x80000 + 8), "ReadOnly, 0x80000");
});
