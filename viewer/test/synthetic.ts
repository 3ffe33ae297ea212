/*
 * A run that no driver made, as large as a test wants it: three processes train in turn in less
 * memory than they have, so that the least recently used leave. The same size and seed give the
 * same run.
 */
import { NEVER, TableBuilder, pack, type TableSpec } from "./pack.js";

export interface Synthetic {
    tables: TableSpec[];
    facts: Record<string, unknown>;
    story: string;
}

class Random {
    constructor(private state: number) {}

    next(): number {
        this.state = (this.state + 0x6d2b79f5) | 0;
        let t = Math.imul(this.state ^ (this.state >>> 15), 1 | this.state);
        t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
        return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    }

    below(n: number): number {
        return Math.floor(this.next() * n);
    }
}

const MIB = 1024 * 1024;

/* The columns of src/story/story_tables.inc that the page reads. */
export function emptyTables() {
    return {
        facts: new TableBuilder("facts", "key:text value:text"),
        objects: new TableBuilder(
            "objects",
            "kind:text number:count parent:row:objects process:row:objects name:text " +
                "bytes:bytes created:time destroyed:time placed:count evicted:count " +
                "moved_bytes:bytes",
        ),
        requests: new TableBuilder(
            "requests",
            "number:count process:row:objects context:row:objects allocations:count " +
                "asked:time begins:time ends:time status:count",
        ),
        places: new TableBuilder(
            "places",
            "allocation:row:objects instance:count segment:row:objects offset:bytes " +
                "bytes:bytes from:time to:time why_came:text why_left:text " +
                "came_for:row:requests left_for:row:requests evictor:row:objects",
        ),
        victims: new TableBuilder(
            "victims",
            "time:time request:row:requests allocation:row:objects segment:row:objects " +
                "why:text rank:count last_use:time",
        ),
        packets: new TableBuilder(
            "packets",
            "number:count kind:text context:row:objects node:row:objects fence:count " +
                "bytes:bytes queued:time submitted:time begins:time ends:time status:count",
        ),
        operations: new TableBuilder(
            "operations",
            "number:count job:count name:text allocation:row:objects " +
                "process:row:objects from_segment:row:objects from_offset:bytes " +
                "to_segment:row:objects to_offset:bytes bytes:bytes asked:time built:time " +
                "retired:time buffer:count buffer_bytes:bytes passes:count " +
                "packet:row:packets",
        ),
        submissions: new TableBuilder(
            "submissions",
            "number:count context:row:objects node:row:objects fence:count time:time " +
                "request:row:requests packet:row:packets",
        ),
        references: new TableBuilder(
            "references",
            "submission:row:submissions allocation:row:objects offset:bytes is_write:flag",
        ),
        waits: new TableBuilder(
            "waits",
            "time:time request:row:requests for:text object:row:objects " +
                "packet:row:packets operation:row:operations request_before:row:requests",
        ),
        calls: new TableBuilder(
            "calls",
            "sequence:count begins:time ends:time depth:count name:text operation:text " +
                "object:row:objects status:count",
        ),
        arguments: new TableBuilder(
            "arguments",
            "call:row:calls field:text type:text value:count is_answer:flag",
        ),
        client_calls: new TableBuilder(
            "client_calls",
            "number:count process:row:objects name:text begins:time ends:time status:count",
        ),
        client_arguments: new TableBuilder(
            "client_arguments",
            "call:row:client_calls field:text value:text is_answer:flag",
        ),
        client_breaches: new TableBuilder(
            "client_breaches",
            "time:time call:row:client_calls process:row:objects rule:text text:text " +
                "argument:text value:text expected:text says:text place:text is_advice:flag",
        ),
        marks: new TableBuilder(
            "marks",
            "time:time kind:text text:text node:row:objects object:row:objects " +
                "value:count packet:row:packets",
        ),
        flows: new TableBuilder("flows", "mark:row:marks request:row:requests"),
        fence_waits: new TableBuilder(
            "fence_waits",
            "number:count fence:row:objects value:count process:row:objects packet:row:packets " +
                "begins:time ends:time status:count mark:row:marks",
        ),
        entries: new TableBuilder(
            "entries",
            "time:time operation:row:operations process:row:objects level:count " +
                "va:bytes count:count covers:bytes segment:row:objects offset:bytes " +
                "stride:bytes flags:count valid:count",
        ),
        mappings: new TableBuilder(
            "mappings",
            "process:row:objects allocation:row:objects va:bytes bytes:bytes " +
                "offset:bytes from:time to:time",
        ),
        series: new TableBuilder("series", "name:text object:row:objects unit:text group:text"),
        samples: new TableBuilder("samples", "series:row:series time:time value:count"),
        findings: new TableBuilder("findings", "time:time call:row:calls rule:text json:text"),
    };
}

/*
 * bands: rows of places, about. segmentBytes: of local memory. print: what the driver prints once.
 */
export function synthetic(
    bands: number,
    options: {
        seed?: number;
        segmentBytes?: number;
        print?: string;
        eventsToo?: boolean;
        fences?: boolean;
        clients?: boolean;
    } = {},
): Synthetic {
    const t = emptyTables();
    const random = new Random(options.seed ?? 1);
    const segmentBytes = options.segmentBytes ?? 1024 * MIB;
    const apertureBytes = 4096 * MIB;
    let now = 0;

    const segment = t.objects.add("segment", 1, 0, 0, "segment 1", segmentBytes, 0, NEVER, 0, 0, 0);
    const aperture = t.objects.add(
        "segment",
        2,
        0,
        0,
        "segment 2",
        apertureBytes,
        0,
        NEVER,
        0,
        0,
        0,
    );
    const nodes = [
        t.objects.add("node", 0, 0, 0, "3D", 0, 0, NEVER, 0, 0, 0),
        t.objects.add("node", 1, 0, 0, "copy", 0, 0, NEVER, 0, 0, 0),
    ];
    const processes = ["bert", "resnet", "desktop"].map((name, i) =>
        t.objects.add("process", i + 1, 0, 0, name, 0, 0, NEVER, 0, 0, 0),
    );
    const contexts = processes.map((p, i) =>
        t.objects.add("context", i + 1, p, p, "", 0, 1000, NEVER, 0, 0, 0),
    );
    const kinds = ["weight", "gradient", "activation", "state", "workspace"];
    const smallest = Math.max(4096, 2 ** Math.floor(Math.log2(segmentBytes / 4096)));
    const allocations: number[] = [];
    const bytesOf = new Map<number, number>();
    const wanted = Math.min(3000, Math.max(280, Math.round(Math.sqrt(bands) * 3)));
    for (let i = 0; i < wanted; i++) {
        const process = i % 7 === 0 ? 2 : i % 2;
        const size =
            Math.ceil((smallest * 2 ** random.below(8) * (0.5 + random.next())) / 65536) * 65536;
        const a = t.objects.add(
            "allocation",
            i + 1,
            processes[process],
            processes[process],
            `layer${i >> 3}.${kinds[i % 5]}${i % 3}`,
            size,
            2000 + i * 300,
            NEVER,
            0,
            0,
            0,
        );
        allocations.push(a);
        bytesOf.set(a, size);
        t.mappings.add(
            processes[process],
            a,
            0x10000000000 + i * 0x40000000,
            size,
            0,
            3000 + i * 300,
            NEVER,
        );
    }
    now = 2000 + wanted * 300;
    const series = ["resident", "free", "committed", "demand"].map(name =>
        t.series.add(name, segment, "bytes", ""),
    );
    const budgets = processes.map(p => t.series.add("budget", p, "bytes", "local"));
    budgets.forEach((s, i) => t.samples.add(s, 0, segmentBytes / (2 + i)));

    /* The segment: ranges in order of offset, each held by a place (row plus one). */
    interface Range {
        offset: number;
        bytes: number;
        place: number;
        allocation: number;
        used: number;
    }
    const held: Range[] = [];
    let resident = 0;
    let sequence = 0,
        operation = 0,
        packet = 0,
        job = 0,
        request = 0,
        submission = 0,
        interrupts = 0;
    const nodeFree = [now, now];
    const evictions = { "memory pressure": 0, trimmed: 0 } as Record<string, number>;
    let movedIn = 0,
        movedOut = 0,
        sampled = 0;
    const withEvents = options.eventsToo ?? bands <= 150000;

    const call = (name: string, op: string, object: number, took: number): number => {
        const row = t.calls.add(++sequence, now, now + took, 0, name, op, object, 0);
        now += took;
        return row;
    };
    const move = (name: string, a: number, place: Range, isIn: boolean): void => {
        const bytes = place.bytes;
        if (isIn) movedIn += bytes;
        else movedOut += bytes;
        t.objects.set(a, "moved_bytes", Number(t.objects.get(a, "moved_bytes")) + bytes);
        if (!withEvents) {
            now += 200;
            return;
        }
        const asked = now;
        const built = now + 300;
        const c = call("DxgkDdiBuildPagingBuffer", name, a, 700);
        if (t.arguments.count < 120000) {
            t.arguments.add(c, "DmaSize", "number", 65536, 0);
            t.arguments.add(c, "Operation", "hex", 8, 0);
            t.arguments.add(c, "Transfer.hAllocation", "object", a, 0);
            t.arguments.add(c, "DmaSize", "number", 65472, 1);
        }
        call("DxgkDdiSubmitCommandVirtual", "", 0, 400);
        const begins = Math.max(now, nodeFree[1]);
        const ends = begins + Math.max(900, Math.round(bytes / 15.7));
        nodeFree[1] = ends;
        const p = t.packets.add(
            ++packet,
            "paging",
            0,
            nodes[1],
            packet,
            4096,
            built,
            now,
            begins,
            ends,
            0,
        );
        t.operations.add(
            ++operation,
            job,
            name,
            a,
            Number(t.objects.get(a, "process")),
            isIn ? 0 : segment,
            isIn ? 0 : place.offset,
            isIn ? segment : 0,
            isIn ? place.offset : 0,
            bytes,
            asked,
            built,
            ends,
            (operation % 4) + 1,
            64,
            1,
            p,
        );
        const m = t.marks.add(
            ends,
            "interrupt",
            "DXGK_INTERRUPT_DMA_COMPLETED",
            nodes[1],
            0,
            packet,
            p,
        );
        t.marks.add(ends + 150, "dpc", "", nodes[1], 0, 0, p);
        interrupts++;
        lastMark = m;
        if (isIn) {
            const va = 0x10000000000 + (Number(t.objects.get(a, "number")) - 1) * 0x40000000;
            if (!(operation % 9))
                t.entries.add(
                    ends,
                    t.operations.count,
                    Number(t.objects.get(a, "process")),
                    1,
                    va - (va % 0x200000000),
                    4,
                    0x80000000,
                    0,
                    0x1000 * operation,
                    4096,
                    0,
                    1,
                );
            t.entries.add(
                ends,
                t.operations.count,
                Number(t.objects.get(a, "process")),
                0,
                va,
                bytes / 65536,
                65536,
                segment,
                place.offset,
                65536,
                0,
                bytes / 65536,
            );
        }
    };
    let lastMark = 0;
    let fence = 0;
    let lastValue = 0; /* the mark of the fence's last value */

    const leave = (index: number, why: string, forRequest: number, evictor: number): void => {
        const range = held[index];
        move("VIRTUAL_TRANSFER", range.allocation, range, false);
        t.places.set(range.place, "to", now);
        t.places.set(range.place, "why_left", why);
        t.places.set(range.place, "left_for", forRequest);
        t.places.set(range.place, "evictor", evictor);
        t.objects.set(
            range.allocation,
            "evicted",
            Number(t.objects.get(range.allocation, "evicted")) + 1,
        );
        evictions[why] = (evictions[why] ?? 0) + 1;
        resident -= range.bytes;
        held.splice(index, 1);
    };
    const find = (bytes: number): number => {
        let at = 0;
        for (const range of held) {
            if (range.offset - at >= bytes) return at;
            at = range.offset + range.bytes;
        }
        return segmentBytes - at >= bytes ? at : -1;
    };
    const where = new Map<number, Range>();

    while (t.places.count < bands) {
        const turn = Math.floor(request / Math.max(24, bands / 96)) % 3;
        const mine = allocations.filter((_, i) => (i % 7 === 0 ? 2 : i % 2) === turn);
        const start = random.below(mine.length);
        const list = Array.from(
            { length: 1 + random.below(5) },
            (_, i) => mine[(start + i) % mine.length],
        );
        const asked = now;
        const r = t.requests.add(
            ++request,
            processes[turn],
            contexts[turn],
            list.length,
            asked,
            asked + 100,
            NEVER,
            0,
        );
        job++;
        const marksBefore = lastMark;
        for (const a of list) {
            const known = where.get(a);
            if (known && held.includes(known)) {
                known.used = now;
                continue;
            }
            const bytes = bytesOf.get(a) as number;
            let offset = find(bytes);
            while (offset < 0) {
                let oldest = 0;
                for (let i = 1; i < held.length; i++)
                    if (held[i].used < held[oldest].used) oldest = i;
                t.victims.add(
                    now,
                    r,
                    held[oldest].allocation,
                    segment,
                    "the least recently used",
                    0,
                    held[oldest].used,
                );
                leave(oldest, random.below(30) ? "memory pressure" : "trimmed", r, processes[turn]);
                offset = find(bytes);
            }
            const place = t.places.add(
                a,
                0,
                segment,
                offset,
                bytes,
                now,
                NEVER,
                "asked for",
                "",
                r,
                0,
                0,
            );
            t.objects.set(a, "placed", Number(t.objects.get(a, "placed")) + 1);
            const range = { offset, bytes, place, allocation: a, used: now };
            let at = held.findIndex(h => h.offset > offset);
            if (at < 0) at = held.length;
            held.splice(at, 0, range);
            where.set(a, range);
            resident += bytes;
            move(random.below(4) ? "VIRTUAL_TRANSFER" : "VIRTUAL_FILL", a, range, true);
        }
        const ready = withEvents
            ? Math.max(now, lastMark !== marksBefore ? Number(t.marks.get(lastMark, "time")) : now)
            : now;
        t.requests.set(r, "ends", ready);
        if (withEvents) {
            if (lastMark !== marksBefore)
                t.waits.add(asked, r, "paging", 0, t.packets.count, t.operations.count, 0);
            const p = t.packets.add(
                ++packet,
                "render",
                contexts[turn],
                nodes[0],
                packet,
                8192,
                ready,
                ready + 200,
                Math.max(ready + 400, nodeFree[0]),
                0,
                0,
            );
            const begins = Number(t.packets.get(p, "begins"));
            const ends = begins + 2000 + random.below(60000);
            nodeFree[0] = ends;
            t.packets.set(p, "ends", ends);
            const s = t.submissions.add(
                ++submission,
                contexts[turn],
                nodes[0],
                packet,
                asked,
                r,
                p,
            );
            for (const a of list) t.references.add(s, a, 0, random.below(3) ? 0 : 1);
            if (lastMark) t.flows.add(lastMark, r);
            t.marks.add(ends, "interrupt", "DXGK_INTERRUPT_DMA_COMPLETED", nodes[0], 0, packet, p);
            if (options.fences) {
                const process = processes[0];
                if (!fence)
                    fence = t.objects.add("fence", 1, process, process, "", 0, 0, NEVER, 0, 0, 0);
                const m = t.marks.add(ends, "fence", "", 0, fence, packet, p);
                t.fence_waits.add(2 * packet, fence, packet, process, 0, begins, ends, 0, m);
                if (lastValue)
                    t.fence_waits.add(
                        2 * packet + 1,
                        fence,
                        packet - 1,
                        0,
                        p,
                        ready,
                        ready,
                        0,
                        lastValue,
                    );
                lastValue = m;
            }
            interrupts++;
        }
        now = Math.max(now, ready - 30000) + 500;
        if (t.places.count - sampled > bands / 1500) {
            sampled = t.places.count;
            const values = [
                resident,
                segmentBytes - resident,
                Math.min(resident * 1.2, segmentBytes * 1.4),
                resident * 1.7,
            ];
            series.forEach((id, i) => t.samples.add(id, now, Math.round(values[i])));
            if (!random.below(20))
                budgets.forEach((id, i) =>
                    t.samples.add(id, now, Math.round(segmentBytes * (i === turn ? 0.6 : 0.2))),
                );
        }
    }
    const stepCount = 5;
    for (let i = 0; i < stepCount; i++)
        t.marks.add(
            Math.round((now * i) / stepCount),
            "step",
            i ? `step-${i}` : "init",
            0,
            0,
            i + 1,
            0,
        );
    t.marks.add(
        Math.round(now / 3),
        "print",
        options.print ?? "refkmd: started, 2 nodes",
        0,
        0,
        0,
        0,
    );
    void aperture;
    t.facts.add("case", "a synthetic run");
    const facts = {
        page: "run",
        case: `synthetic: ${bands.toLocaleString("en-US")} bands`,
        driver: "ref",
        model: "gpummu",
        outcome: "clean",
        error: "",
        seed: 1,
        version: "0.1.0",
        slowdown: 4.9,
        slowdown_against: "the same run with room for everything",
        virtual_time_ns: now,
        moved_in_bytes: movedIn,
        moved_out_bytes: movedOut,
        evictions: Object.values(evictions).reduce((a, b) => a + b, 0),
        evictions_by_reason: evictions,
        submissions: { completed: submission, failed: 0, aborted: 0, retried: 0 },
        content: { is_checked: true, mismatches: 0, pages_checked: 4988339 },
        paging: {
            build_calls: operation,
            multipass_calls: 621,
            residency_hits: 848,
            residency_requests: 1750,
        },
        paging_operations: { VIRTUAL_TRANSFER: operation },
        ddi_calls: { DxgkDdiBuildPagingBuffer: operation, DxgkDdiSubmitCommandVirtual: operation },
        gpu: { interrupts },
        machine: { local_bytes: segmentBytes, aperture_bytes: apertureBytes, nodes: 2 },
        findings: [],
        steps: Array.from({ length: stepCount }, (_, i) => ({
            name: i ? `step-${i}` : "init",
            virtual_time_ns: now / stepCount,
            reference_ns: now / stepCount / (1 + 0.9 * i),
            moved_in_bytes: movedIn / stepCount,
            evictions: 20,
        })),
    };
    const tables = Object.values(t).map(b => b.spec);
    if (options.clients) {
        /* Two at one moment, the second of which waits; one of another client without an answer. */
        t.client_calls.add(1, processes[0], "D3DKMTEvict", 1000, 1000, 0);
        t.client_calls.add(2, processes[0], "D3DKMTLock2", 1000, 90000, 0);
        t.client_calls.add(3, processes[1], "D3DKMTEscape", 2000, NEVER, 0);
        t.client_arguments.add(1, "NumAllocations", "0 (0x0)", 0);
        t.client_arguments.add(1, "NumBytesToTrim", "4096 (0x1000)", 1);
        t.client_breaches.add(
            1000,
            1,
            processes[0],
            "KMT-013",
            "D3DKMTEvict: NumAllocations is 0 <b>",
            "NumAllocations",
            "0",
            "at least 1",
            "a list of MakeResident or Evict has at least one member",
            "umd.so+0x1234",
            0,
        );
    }
    return { tables, facts, story: pack(tables) };
}

/*
 * A million rows of places, and a million slices: in 1,024 slots of a segment one allocation
 * follows the other; beside it packets back to back, operations and calls. Made without a model of
 * memory, so that it takes seconds.
 */
export function million(bands: number): Synthetic & { rows: Record<string, number> } {
    const t = emptyTables();
    const random = new Random(9);
    const slots = 1024,
        slotBytes = (40 * 1024 * MIB) / slots;
    const segment = t.objects.add(
        "segment",
        1,
        0,
        0,
        "segment 1",
        slots * slotBytes,
        0,
        NEVER,
        0,
        0,
        0,
    );
    const nodes = [
        t.objects.add("node", 0, 0, 0, "3D", 0, 0, NEVER, 0, 0, 0),
        t.objects.add("node", 1, 0, 0, "copy", 0, 0, NEVER, 0, 0, 0),
    ];
    const processes = [1, 2, 3, 4, 5].map(i =>
        t.objects.add("process", i, 0, 0, `client ${i}`, 0, 0, NEVER, 0, 0, 0),
    );
    const allocations = Array.from({ length: 20000 }, (_, i) =>
        t.objects.add(
            "allocation",
            i + 1,
            processes[i % 5],
            processes[i % 5],
            `layer${i >> 4}.weight${i % 16}`,
            slotBytes,
            0,
            NEVER,
            3,
            3,
            slotBytes,
        ),
    );
    const length = 60e9;
    const perSlot = Math.ceil(bands / slots);
    for (let slot = 0; slot < slots; slot++) {
        let at = random.below(5e6);
        for (let k = 0; k < perSlot && t.places.count < bands; k++) {
            const gap = random.below(length / perSlot / 8),
                stay = (length / perSlot) * (0.4 + 0.9 * random.next()) - gap;
            const a =
                allocations[
                    (slot * 31 + k * 7 + Math.floor((at / length) * 97) * 13) % allocations.length
                ];
            t.places.add(
                a,
                0,
                segment,
                slot * slotBytes,
                slotBytes * (0.25 + 0.25 * random.below(4)),
                Math.round(at),
                Math.round(at + stay),
                "asked for",
                "memory pressure",
                0,
                0,
                processes[k % 5],
            );
            at += stay + gap;
        }
    }
    let now = 0;
    const names = ["VIRTUAL_TRANSFER", "VIRTUAL_FILL", "UPDATE_PAGE_TABLE", "FLUSH_TLB"];
    for (let i = 0; i < bands / 4; i++) {
        const took = Math.round((length / (bands / 4)) * (0.2 + random.next()));
        t.calls.add(
            2 * i + 1,
            now,
            now + Math.round(took / 6),
            0,
            "DxgkDdiBuildPagingBuffer",
            names[i & 3],
            allocations[i % allocations.length],
            0,
        );
        t.calls.add(
            2 * i + 2,
            now + Math.round(took / 5),
            now + Math.round(took / 4),
            0,
            "DxgkDdiSubmitCommandVirtual",
            "",
            0,
            0,
        );
        const p = t.packets.add(
            i + 1,
            i % 5 ? "paging" : "render",
            0,
            nodes[i % 5 ? 1 : 0],
            i + 1,
            4096,
            now,
            now + Math.round(took / 4),
            now + Math.round(took / 3),
            now + took,
            0,
        );
        t.operations.add(
            i + 1,
            i >> 2,
            names[i & 3],
            allocations[i % allocations.length],
            processes[i % 5],
            0,
            0,
            segment,
            0,
            65536,
            now,
            now + Math.round(took / 8),
            now + took,
            (i % 4) + 1,
            64,
            1,
            p,
        );
        now += took;
    }
    const tables = Object.values(t).map(b => b.spec);
    const facts = {
        page: "run",
        case: "a million",
        driver: "ref",
        model: "gpummu",
        outcome: "clean",
        virtual_time_ns: now,
        evictions: bands,
        findings: [],
    };
    return {
        tables,
        facts,
        story: pack(tables),
        rows: Object.fromEntries(tables.map(x => [x.name, x.rows[0].length])),
    };
}
