/*
 * A finding as run.json has it: what it concerns, its arguments and bytes, and its row in the story.
 */
import { listIn, numberIn, textIn, textsIn, type Facts } from "./app.js";
import type { Run } from "./data.js";

/* Numbers of allocations that texts name: "allocation a10", "embedding.weight (allocation 2)". */
export function allocationsNamed(texts: string[]): { name: string; number: number }[] {
    const out = new Map<string, { name: string; number: number }>();
    for (const text of texts)
        for (const match of text.matchAll(/(?:(\S+) \()?\ballocations? a?(\d+)/g)) {
            const found = { name: match[1] ?? "", number: Number(match[2]) };
            out.set(`${found.name}/${found.number}`, found);
        }
    return [...out.values()];
}

/*
 * The allocations that a finding is about, rows of objects. "weight (allocation 2)" has the case's
 * name and number, and its name counts; "allocation a10" has the number that all of this page has.
 */
export function allocationsOf(run: Run, texts: string[]): number[] {
    const out = new Set<number>();
    for (const { name, number } of allocationsNamed(texts)) {
        const named = name
            ? run.objectsOf("allocation").filter(o => run.text("objects", "name", o) === name)
            : [];
        const object = named.length ? named[0] : run.findObject("allocation", number);
        if (object >= 0) out.add(object);
    }
    return [...out];
}

export interface Argument {
    name: string;
    value: string;
    isConcerned: boolean; /* the finding names it */
    expected: string; /* what it should be; "": the finding does not say */
}

/* "(returned 0xc000000d)" or "Field    value" */
function splitArgument(line: string): { name: string; value: string } {
    const returned = /^\(returned (.*)\)$/.exec(line);
    if (returned) return { name: "(returned)", value: returned[1] };
    const split = /^(.*?\S)\s{2,}(.*)$/.exec(line);
    return split ? { name: split[1], value: split[2] } : { name: line, value: "" };
}

/* How well a line's member is the field of that path: itself, the end of it, its last name; 0. */
function fitOf(name: string, path: string): number {
    if (!path) return 0;
    if (name === "(returned)") return /^status$/i.test(path) ? 3 : 0;
    if (name === path) return 3;
    if (name.endsWith(`.${path}`)) return 2;
    return name.split(".").pop() === path.split(/[.\[]/).pop() ? 1 : 0;
}

/*
 * The arguments of a finding with those that it is about, and what the one that the rule compares
 * should be. It has a line of its own where no line is its alone: it is an element of an array, or
 * of another call. where: "DxgkDdi...(OPERATION).Field".
 */
export function argumentsOf(finding: Facts): Argument[] {
    const where = textIn(finding, "where");
    const told = {
        name: textIn(finding, "argument", "name"),
        value: textIn(finding, "argument", "value"),
        expected: textIn(finding, "argument", "expected"),
    };
    const path =
        told.name || (/\)\.(.+)$/.exec(where)?.[1] ?? /^[A-Za-z]+\.(.+)$/.exec(where)?.[1] ?? "");
    const words = new Set(textIn(finding, "text").match(/[A-Za-z_]\w+/g) ?? []);
    const lines = textsIn(finding, "arguments").map(splitArgument);
    const fits = lines.map(l => fitOf(l.name, path));
    const best = Math.max(0, ...fits);
    const itself = best && fits.indexOf(best) === fits.lastIndexOf(best) ? fits.indexOf(best) : -1;
    const rows = lines.map(({ name, value }, i): Argument => {
        const tail = name.split(".").pop() ?? name;
        const isNamed = name !== "(returned)" && tail.length > 3 && words.has(tail);
        return {
            name,
            value,
            isConcerned: fits[i] > 0 || isNamed,
            expected: i === itself ? told.expected : "",
        };
    });
    if (told.expected && itself < 0) rows.unshift({ ...told, isConcerned: true });
    return rows;
}

export interface ByteRow {
    offset: string;
    expected: string[];
    found: string[];
    isOther: boolean; /* what the line is, where it is no comparison */
    text: string;
}

/* Lines "0x400000  expected 00 00  found e5 f2  *". */
export function bytesOf(finding: Facts): ByteRow[] {
    return textsIn(finding, "bytes").map(line => {
        const match =
            /^(\S+)\s+expected\s+((?:[0-9a-f?-]{2}\s+)+)found\s+((?:[0-9a-f?-]{2}\s*)+)/i.exec(
                line,
            );
        if (!match) return { offset: "", expected: [], found: [], isOther: true, text: line };
        return {
            offset: match[1],
            expected: match[2].trim().split(/\s+/),
            found: match[3].trim().split(/\s+/),
            isOther: false,
            text: line,
        };
    });
}

/*
 * The sources of a finding's rule with the addresses of their pages; "": it is no public page, or
 * what stands there is no address of one. Nothing is loaded: the reader follows the link or does
 * not.
 */
export function sourcesOf(finding: Facts): { name: string; address: string }[] {
    const names = new Set(textIn(finding, "source").split(", ").filter(Boolean));
    return [...names].map(name => {
        const address = textIn(finding, "links", name);
        return { name, address: address.startsWith("https://") ? address : "" };
    });
}

/* The row of the story's findings that is this one, or -1. */
export function rowOf(run: Run, finding: Facts, index: number): number {
    const rule = textIn(finding, "rule"),
        text = textIn(finding, "text");
    let fallback = -1;
    for (let row = 0; row < run.rows("findings"); row++) {
        if (run.text("findings", "rule", row) !== rule) continue;
        try {
            const own = JSON.parse(run.text("findings", "json", row)) as Facts;
            if (
                textIn(own, "text") === text &&
                numberIn(own, "event") === numberIn(finding, "event")
            )
                return row;
        } catch {
            /* a finding that was cut: its place among the others is the next best */
        }
        if (row === index) fallback = row;
    }
    return fallback;
}

/* Findings of a run, causes of a campaign. */
export function findingsOf(facts: Facts): Facts[] {
    const causes = listIn(facts, "causes");
    return causes.length ? causes : listIn(facts, "findings");
}
