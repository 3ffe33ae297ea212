import assert from "node:assert/strict";
import { deflateRawSync } from "node:zlib";
import { test } from "node:test";
import { base64Bytes, inflate, NEVER, readStory, Story, StoryError } from "../src/decode.js";
import { NEVER as NEVER_CELL, pack, packRaw, TableBuilder, type TableSpec } from "./pack.js";

function sample(): TableSpec[] {
    const objects = new TableBuilder(
        "objects",
        "kind:text number:count bytes:bytes created:time destroyed:time parent:row:objects",
    );
    objects.add("process", 1, 0, 0, NEVER_CELL, 0);
    objects.add("allocation", 1, 4096, 17, 40, 1);
    objects.add("allocation", 2, 40 * 2 ** 30, 2 ** 50, NEVER_CELL, 1);
    const entries = new TableBuilder("entries", "va:bytes flags:count begins:time ends:time");
    entries.add(0x7fffffffff000, 3n, 10, 15);
    entries.add(5, 0xffff_ffff_ffff_fff1n, 12, NEVER_CELL);
    entries.spec.columns[3].encoding = "r";
    entries.spec.columns[3].base = "begins";
    const constant = new TableBuilder("constant", "what:text");
    constant.add("all the same");
    constant.add("all the same");
    constant.spec.columns[0].encoding = "c";
    return [objects.spec, entries.spec, constant.spec];
}

test("what was packed is read: every type and encoding", async () => {
    const story = await readStory(pack(sample()));
    const objects = story.table("objects");
    assert.equal(objects.rows, 3);
    assert.deepEqual(
        Array.from(objects.column("kind").values, id => story.textOf(id)),
        ["process", "allocation", "allocation"],
    );
    assert.deepEqual(Array.from(objects.column("bytes").values), [0, 4096, 40 * 2 ** 30]);
    assert.deepEqual(Array.from(objects.column("created").values), [0, 17, 2 ** 50]);
    assert.deepEqual(Array.from(objects.column("destroyed").values), [NEVER, 40, NEVER]);
    assert.deepEqual(Array.from(objects.column("parent").values), [0, 1, 1]);
    const entries = story.table("entries");
    assert.equal(entries.column("flags").wide?.[1], 0xffff_ffff_ffff_fff1n);
    assert.deepEqual(Array.from(entries.column("ends").values), [15, NEVER]);
    assert.deepEqual(
        Array.from(story.table("constant").column("what").values, id => story.textOf(id)),
        ["all the same", "all the same"],
    );
});

test("a table or column that a story does not have is empty", async () => {
    const story = await readStory(pack(sample()));
    assert.equal(story.table("packets").rows, 0);
    assert.equal(story.table("packets").column("begins").values.length, 0);
    assert.deepEqual(Array.from(story.table("objects").column("of the future").values), [0, 0, 0]);
});

test("another version is refused by name", () => {
    assert.throws(
        () =>
            new Story(
                packRaw(sample(), h => {
                    h.version = 2;
                }),
            ),
        /version 2; this page reads version 1/,
    );
});

type Header = {
    tables: { name: string; rows: number; columns: Record<string, unknown>[] }[];
    texts: { count: number };
};

for (const [what, change, message] of [
    [
        "a column beyond the body",
        (h: Header) => {
            h.tables[0].columns[0].offset = 1e9;
        },
        /no good number "offset"/,
    ],
    [
        "a negative length",
        (h: Header) => {
            h.tables[0].columns[0].length = -1;
        },
        /no good number "length"/,
    ],
    [
        "more rows than bytes",
        (h: Header) => {
            h.tables[0].rows = 1e6;
        },
        /fewer bytes than rows/,
    ],
    [
        "rows without end",
        (h: Header) => {
            h.tables[0].rows = 1e15;
        },
        /no good number "rows"/,
    ],
    [
        "an unknown type",
        (h: Header) => {
            h.tables[0].columns[0].type = "script";
        },
        /unknown type/,
    ],
    [
        "an unknown encoding",
        (h: Header) => {
            h.tables[0].columns[0].encoding = "z";
        },
        /unknown way/,
    ],
    [
        "a base that comes later",
        (h: Header) => {
            h.tables[1].columns[3].base = "nothing";
        },
        /no base/,
    ],
    [
        "a column of no table",
        (h: Header) => {
            h.tables[0].columns[5].target = "nothing";
        },
        /a table that is not there/,
    ],
    [
        "a table twice",
        (h: Header) => {
            h.tables[1].name = "objects";
        },
        /twice/,
    ],
    [
        "more texts than lengths",
        (h: Header) => {
            h.texts.count = 99;
        },
        /no good number "count"/,
    ],
    [
        "no tables",
        (h: Header) => {
            (h as unknown as Record<string, unknown>).tables = 5;
        },
        /no tables/,
    ],
] as [string, (h: Header) => void, RegExp][])
    test(`a header with ${what} is refused`, () => {
        assert.throws(
            () => new Story(packRaw(sample(), h => change(h as unknown as Header))),
            (e: Error) => e instanceof StoryError && message.test(e.message),
        );
    });

test("a row that is not there is refused when its column is read", () => {
    const tables = sample();
    tables[0].rows[5][2] = 9;
    const story = new Story(packRaw(tables));
    assert.throws(
        () => story.table("objects").column("parent").values,
        /names a row that is not there, in row 2/,
    );
});

test("a value above the largest that the header names is refused", () => {
    const story = new Story(
        packRaw(sample(), h => {
            (h as unknown as Header).tables[0].columns[1].max = 1;
        }),
    );
    assert.throws(() => story.table("objects").column("number").values, StoryError);
});

test("text that is no base64, and bytes that are no deflate stream, are refused", async () => {
    assert.throws(() => base64Bytes("<script>"), StoryError);
    await assert.rejects(inflate(new Uint8Array([1, 2, 3, 4])), StoryError);
    await assert.rejects(readStory(pack(sample()).slice(0, 200)), StoryError);
    await assert.rejects(readStory(""), StoryError);
});

test("whatever is done to its bytes, a story is read or refused", () => {
    const good = packRaw(sample());
    let state = 7;
    const random = (n: number): number => (state = (state * 1103515245 + 12345) & 0x7fffffff) % n;
    let refused = 0;
    for (let round = 0; round < 4000; round++) {
        const bytes = good.slice(0, random(4) ? good.length : random(good.length));
        for (let k = random(4); k >= 0; k--)
            if (bytes.length) bytes[random(bytes.length)] = random(256);
        try {
            const story = new Story(bytes);
            for (const table of story.tables.values())
                for (const column of table.columns) {
                    assert.equal(column.values.length, table.rows);
                    if (column.type === "text") for (const id of column.values) story.textOf(id);
                }
        } catch (error) {
            assert.ok(error instanceof StoryError, `round ${round}: ${String(error)}`);
            refused++;
        }
    }
    assert.ok(refused > 1000, `${refused} refused`);
});

test("a stream is inflated in whole, also when it comes in pieces", async () => {
    const bytes = new Uint8Array(3_000_000).map((_, i) => i * 7 + (i >> 9));
    assert.deepEqual(await inflate(new Uint8Array(deflateRawSync(bytes))), bytes);
});
