/*
 * Arrows of the timeline: what led to what, along operation -> packet -> fence -> who waited.
 */
import type { Run } from "./data.js";

export interface Arrow {
    from: { table: string; row: number; atEnd: boolean };
    to: { table: string; row: number; atEnd: boolean };
    what: string;
}

/*
 * Rows of two tables that belong together, because a row of a third one, or of one of the two,
 * names both: by a column, or ITSELF.
 */
interface Link {
    from: string;
    to: string;
    by: [table: string, from: string, to: string];
    fromEnd: boolean; /* the arrow begins at the end of the slice */
    toEnd: boolean;
    what: string | ((run: Run, to: number) => string);
}

const ITSELF = "";

/* What a mark is to its packet: a fence's value was written, an interrupt told of the end. */
const toldOf = (run: Run, mark: number): string =>
    run.text("marks", "kind", mark) === "fence" ? "wrote" : "told by";

/* Of one row, those of an earlier link are nearer. */
const LINKS: Link[] = [
    {
        from: "requests",
        to: "submissions",
        by: ["submissions", "request", ITSELF],
        fromEnd: true,
        toEnd: false,
        what: "was waited for by",
    },
    {
        from: "fence_waits",
        to: "packets",
        by: ["fence_waits", ITSELF, "packet"],
        fromEnd: true,
        toEnd: false,
        what: "was waited for by",
    },
    {
        from: "operations",
        to: "packets",
        by: ["operations", ITSELF, "packet"],
        fromEnd: false,
        toEnd: false,
        what: "is in",
    },
    {
        from: "submissions",
        to: "packets",
        by: ["submissions", ITSELF, "packet"],
        fromEnd: false,
        toEnd: false,
        what: "became",
    },
    {
        from: "packets",
        to: "marks",
        by: ["marks", "packet", ITSELF],
        fromEnd: true,
        toEnd: false,
        what: toldOf,
    },
    {
        from: "packets",
        to: "requests",
        by: ["waits", "packet", "request"],
        fromEnd: true,
        toEnd: true,
        what: "was waited for by",
    },
    {
        from: "operations",
        to: "requests",
        by: ["waits", "operation", "request"],
        fromEnd: true,
        toEnd: true,
        what: "was waited for by",
    },
    {
        from: "marks",
        to: "fence_waits",
        by: ["fence_waits", "mark", ITSELF],
        fromEnd: false,
        toEnd: true,
        what: "let go",
    },
    {
        from: "marks",
        to: "requests",
        by: ["flows", "mark", "request"],
        fromEnd: true,
        toEnd: false,
        what: "let go",
    },
];

/* The rows at the other end of a link's rows that have this one at their end `here`. */
function across(run: Run, table: string, here: string, there: string, row: number): number[] {
    const rows = here === ITSELF ? [row] : Array.from(run.referring(table, here, row));
    if (there === ITSELF) return rows;
    const column = run.values(table, there);
    return rows.filter(r => column[r]).map(r => column[r] - 1);
}

/* A row that the arrows have come to, and whether they go on from it, or back from it. */
interface Reached {
    table: string;
    row: number;
    distance: number;
    goesOn: boolean;
    goesBack: boolean;
}

const DISTANCE_MOST = 5;

/* The arrows that leave a row, then those that come to it. */
function arrowsAt(run: Run, { table, row, goesOn, goesBack }: Reached): Arrow[] {
    const out: Arrow[] = [];
    const add = (link: Link, from: number, to: number): void => {
        out.push({
            from: { table: link.from, row: from, atEnd: link.fromEnd },
            to: { table: link.to, row: to, atEnd: link.toEnd },
            what: typeof link.what === "string" ? link.what : link.what(run, to),
        });
    };
    for (const link of LINKS) {
        const [by, from, to] = link.by;
        if (goesOn && link.from === table)
            for (const other of across(run, by, from, to, row)) add(link, row, other);
    }
    for (const link of LINKS) {
        const [by, from, to] = link.by;
        if (goesBack && link.to === table)
            for (const other of across(run, by, to, from, row)) add(link, other, row);
    }
    return out;
}

/*
 * The arrows around one row: what it led to, and what it came from. At most `most` of them, the
 * nearest first.
 */
export function arrowsOf(run: Run, table: string, row: number, most = 240): Arrow[] {
    const arrows: Arrow[] = [];
    const seen = new Set<string>([`${table}.${row}`]);
    const known = new Set<string>();
    const queue: Reached[] = [{ table, row, distance: 0, goesOn: true, goesBack: true }];
    while (queue.length && arrows.length < most) {
        const at = queue.shift()!;
        if (at.distance > DISTANCE_MOST) continue;
        for (const arrow of arrowsAt(run, at)) {
            const { from, to } = arrow;
            const key = `${from.table}.${from.row}>${to.table}.${to.row}`;
            if (known.has(key) || arrows.length >= most) continue;
            known.add(key);
            arrows.push(arrow);
            const goesOn = from.table === at.table && from.row === at.row;
            const next = goesOn ? to : from;
            if (seen.has(`${next.table}.${next.row}`)) continue;
            seen.add(`${next.table}.${next.row}`);
            queue.push({
                table: next.table,
                row: next.row,
                distance: at.distance + 1,
                goesOn,
                goesBack: !goesOn,
            });
        }
    }
    return arrows;
}
