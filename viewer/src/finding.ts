/*
 * The page of a finding: what is wrong, by which rule, where in the driver, and the life of what it
 * concerns.
 */
import {
    listIn,
    numberIn,
    textIn,
    textsIn,
    valueIn,
    type App,
    type Facts,
    type View,
} from "./app.js";
import type { Run } from "./data.js";
import { clear, grid, h, link, pairs, pictured, section, type Child } from "./dom.js";
import { sourceLinks } from "./documents.js";
import * as format from "./format.js";
import { lifeOf, lifeStrip, lifeTable, type LifeEvent } from "./life.js";
import { argumentList } from "./timeline.js";

const CALLS_AROUND = 40;
const LIVES_MOST = 3;

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

/*
 * Lines "Field    value" of a finding, with those that it is about. where:
 * "DxgkDdi...(OPERATION).Field".
 */
export function argumentsOf(finding: Facts): Argument[] {
    const where = textIn(finding, "where");
    const path = /\)\.(.+)$/.exec(where)?.[1] ?? /^[A-Za-z]+\.(.+)$/.exec(where)?.[1] ?? "";
    const last = path.split(/[.\[]/).filter(Boolean).pop() ?? "";
    const told = valueIn(finding, "expected");
    const expected: unknown[] = Array.isArray(told) ? told : [];
    const words = new Set(textIn(finding, "text").match(/[A-Za-z_]\w+/g) ?? []);
    return textsIn(finding, "arguments").map((line, i): Argument => {
        const split =
            /^(.*?\S)\s{2,}(.*)$/.exec(line) ??
            (/^\(returned (.*)\)$/.exec(line)
                ? ["", "(returned)", line.slice(10, -1)]
                : [line, line, ""]);
        const name = split[1],
            value = split[2];
        const tail = name.split(".").pop() ?? name;
        const isReturn = name === "(returned)";
        const isExact =
            path !== "" &&
            (name === path ||
                name.endsWith(`.${path}`) ||
                tail === last ||
                (isReturn && /^status$/i.test(path)));
        return {
            name,
            value,
            isConcerned: isExact || (!isReturn && tail.length > 3 && words.has(tail)),
            expected: typeof expected[i] === "string" ? expected[i] : "",
        };
    });
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

function hexDifference(rows: ByteRow[]): HTMLElement {
    const byte = (value: string, differs: boolean): Child =>
        h("span", { class: differs ? "byte differs" : "byte" }, value);
    return h(
        "div",
        { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Bytes" },
        h(
            "table",
            { class: "hex" },
            h("caption", { class: "unseen" }, "Bytes, expected and found"),
            h(
                "thead",
                {},
                h(
                    "tr",
                    {},
                    h("th", { scope: "col" }, "offset"),
                    h("th", { scope: "col" }, "expected"),
                    h("th", { scope: "col" }, "found"),
                ),
            ),
            h(
                "tbody",
                {},
                rows.map(row =>
                    row.isOther
                        ? h("tr", {}, h("td", { colspan: 3 }, h("code", {}, row.text)))
                        : h(
                              "tr",
                              {},
                              h("th", { scope: "row" }, row.offset),
                              h(
                                  "td",
                                  {},
                                  row.expected.map((b, i) => byte(b, b !== row.found[i])),
                              ),
                              h(
                                  "td",
                                  { class: "found" },
                                  row.found.map((b, i) => byte(b, b !== row.expected[i])),
                              ),
                          ),
                ),
            ),
        ),
    );
}

function copyable(text: string, label: string): HTMLElement {
    const said = h("span", { class: "says", "aria-live": "polite" });
    const code = h("code", {}, text);
    return h(
        "div",
        { class: "copyable" },
        code,
        h(
            "button",
            {
                type: "button",
                "aria-label": `Copy: ${label}`,
                click: () => {
                    const done = (): void => {
                        said.textContent = "copied";
                    };
                    const select = (): void => {
                        const range = document.createRange();
                        range.selectNodeContents(code);
                        getSelection()?.removeAllRanges();
                        getSelection()?.addRange(range);
                        said.textContent = document.execCommand("copy") ? "copied" : "selected";
                    };
                    if (navigator.clipboard) navigator.clipboard.writeText(text).then(done, select);
                    else select();
                },
            },
            "Copy",
        ),
        said,
    );
}

/* The row of the story's findings that is this one, or -1. */
function rowOf(run: Run, finding: Facts, index: number): number {
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

function callsAround(run: Run, call: number): HTMLElement {
    const first = Math.max(0, call - CALLS_AROUND),
        last = Math.min(run.rows("calls"), call + CALLS_AROUND + 1);
    const rows = Uint32Array.from({ length: last - first }, (_, i) => first + i);
    const detail = h("div", { class: "call-detail" });
    const show = (row: number): void => {
        const list = run.referring("arguments", "call", row);
        detail.replaceChildren(
            h(
                "h4",
                {},
                `${run.text("calls", "name", row)} #${run.values("calls", "sequence")[row]}`,
            ),
            list.length
                ? argumentList(run, list)
                : h("p", { class: "says" }, "Its arguments are not in this page."),
        );
    };
    show(call);
    const table = grid({
        label: "Calls before and after",
        rows,
        height: 300,
        open: show,
        columns: [
            {
                title: "call",
                isNumber: true,
                width: "6em",
                cell: r =>
                    h(
                        "span",
                        { class: r === call ? "here" : "" },
                        `#${run.values("calls", "sequence")[r]}`,
                    ),
                key: r => r,
            },
            {
                title: "time",
                isNumber: true,
                width: "8em",
                cell: r =>
                    link(
                        `timeline?at=${run.values("calls", "begins")[r]}&select=calls.${r}`,
                        format.moment(run.values("calls", "begins")[r]),
                    ),
                key: r => run.values("calls", "begins")[r],
            },
            {
                title: "name",
                width: "minmax(14em, 2fr)",
                cell: r => [
                    h(
                        "span",
                        {
                            style: `padding-left:${Math.min(8, run.values("calls", "depth")[r])}em`,
                            class: r === call ? "here" : "",
                        },
                        run.text("calls", "name", r),
                    ),
                    " ",
                    h("small", {}, run.text("calls", "operation", r)),
                ],
                find: r => `${run.text("calls", "name", r)} ${run.text("calls", "operation", r)}`,
            },
            {
                title: "about",
                cell: r =>
                    run.values("calls", "object")[r]
                        ? link(
                              `row/objects/${run.values("calls", "object")[r] - 1}`,
                              run.objectName(run.values("calls", "object")[r]),
                          )
                        : "",
                find: r => run.objectName(run.values("calls", "object")[r]),
            },
            {
                title: "status",
                isNumber: true,
                width: "9em",
                cell: r => format.status(run.values("calls", "status")[r]),
                key: r => run.values("calls", "status")[r],
            },
            {
                title: "",
                width: "6em",
                cell: r =>
                    h(
                        "button",
                        {
                            type: "button",
                            class: "linklike",
                            "aria-label": `Arguments of call ${run.values("calls", "sequence")[r]}`,
                            click: () => show(r),
                        },
                        "arguments",
                    ),
                find: () => "",
            },
        ],
    });
    requestAnimationFrame(() => {
        const body = table.querySelector(".grid-body");
        if (body) body.scrollTop = Math.max(0, (call - first - 4) * 26);
    });
    return h("div", {}, table, detail);
}

/* The ground of a finding's page, for runs and campaigns alike. */
export function findingPage(app: App, finding: Facts, index: number, all: Facts[]): HTMLElement[] {
    const out: HTMLElement[] = [];
    const run = app.run;
    const t = (key: string): string => textIn(finding, key);
    /* Where the numbers of a section come from. */
    const where = listIn(app.facts, "causes").length ? "causes" : "findings";
    const source = (member: string): Child =>
        link(`facts/${where}.${index}${member ? `.${member}` : ""}`, "As it stands in the JSON.");
    const step = (by: number, label: string): Child =>
        all[index + by] ? link(`finding/${index + by}`, label) : h("span", { class: "off" }, label);
    out.push(
        h(
            "section",
            { class: "card hero", "aria-labelledby": "finding-title" },
            h(
                "div",
                {},
                h(
                    "p",
                    { class: "says" },
                    `Finding ${index + 1} of ${all.length}, ${t("kind")}`,
                    t("consequence_of") ? ", a consequence of another" : "",
                    ". ",
                    step(-1, "Previous"),
                    " · ",
                    step(1, "Next"),
                ),
                h("h2", { id: "finding-title" }, t("text")),
                t("where") ? h("p", { class: "where" }, t("where")) : null,
            ),
            h("span", { class: "outcome bad" }, t("rule") || t("kind")),
        ),
    );

    if (t("rule")) {
        out.push(
            section(
                `Rule ${t("rule")}`,
                ["What the rule says, and how often this run broke it. ", source("")],
                h("blockquote", { class: "rule-sentence" }, t("sentence")),
                pairs(
                    "Rule",
                    (
                        [
                            ["documentation", sourceLinks(t("source"))],
                            ["Windows", t("windows")],
                            ["versions", t("versions")],
                            ["basis", t("basis")],
                            ["who must keep it", t("side")],
                            [
                                "broken in this run",
                                [
                                    format.count(numberIn(finding, "broken") ?? 0),
                                    " of ",
                                    format.plural(
                                        numberIn(finding, "evaluated") ?? 0,
                                        "evaluation",
                                    ),
                                ],
                            ],
                        ] as [string, Child][]
                    ).filter(e => (Array.isArray(e[1]) ? e[1].length > 0 : !!e[1])),
                    true,
                ),
                h("p", { class: "actions" }, h("code", {}, `drydock explain ${t("rule")}`)),
            ),
        );
    }
    const writers = textsIn(finding, "writers");
    if (t("function") || writers.length || t("where"))
        out.push(
            section(
                "Place in the driver",
                "Which function of the driver was called, and what wrote what is wrong.",
                pairs(
                    "Place",
                    [
                        ["call", h("code", {}, t("where"))],
                        ["function", h("code", {}, t("function"))],
                    ].filter(e => (e[1] as HTMLElement).textContent) as [Child, Child][],
                    true,
                ),
                writers.length
                    ? h("pre", { tabindex: 0, "aria-label": "Writers" }, writers.join("\n"))
                    : null,
            ),
        );

    const row = run ? rowOf(run, finding, index) : -1;
    const time =
        run && row >= 0
            ? run.values("findings", "time")[row]
            : (numberIn(finding, "time_ns") ?? NaN);
    if (run) {
        const concerned = allocationsOf(run, [
            ...textsIn(finding, "objects"),
            t("text"),
            ...textsIn(finding, "arguments"),
        ]);
        for (const object of concerned.slice(0, LIVES_MOST)) {
            const events = lifeOf(run, object);
            if (Number.isFinite(time)) {
                events.push({
                    time,
                    end: time,
                    kind: "finding",
                    what: t("text"),
                    table: row >= 0 ? "findings" : "objects",
                    row: row >= 0 ? row : object,
                } as LifeEvent);
                events.sort((a, b) => a.time - b.time);
            }
            const name = run.objectName(object + 1);
            const from = Math.max(0, events[0]?.time ?? 0),
                to = Math.max(
                    from + 1,
                    ...events.slice(-1).map(e => e.end),
                    ...events.map(e => Math.min(e.end, run.end)),
                );
            const margin = 0.02 * (to - from);
            out.push(
                pictured(
                    `Life of ${name}`,
                    [
                        "All that happened to it, in one strip; the finding is marked. ",
                        link(`map?select=${object}`, "On the segment map"),
                    ],
                    lifeStrip(
                        events,
                        from - margin,
                        to + margin,
                        1180,
                        `Life of ${name}: ${format.plural(events.length, "event")}`,
                    ),
                    () => lifeTable(events, 320, `Life of ${name}`),
                ),
            );
        }
    }
    const objects = textsIn(finding, "objects");
    if (objects.length)
        out.push(
            section(
                "What it concerns",
                null,
                h(
                    "pre",
                    { class: "plain", tabindex: 0, "aria-label": "What it concerns" },
                    objects.join("\n"),
                ),
            ),
        );

    const args = argumentsOf(finding);
    if (args.length) {
        const isTold = args.some(a => a.expected);
        out.push(
            section(
                "Arguments",
                [
                    isTold
                        ? "What the call was given and gave back; what the finding is about " +
                          "is marked, beside what it should be. "
                        : "What the call was given and gave back; what the finding is about is " +
                          "marked. " +
                          (t("sentence")
                              ? "There is no one value that it should be; the rule says: " +
                                t("sentence") +
                                " "
                              : "No rule says what they should be: it is about what the run " +
                                "did. "),
                    source("arguments"),
                ],
                h(
                    "div",
                    { class: "scrolls", tabindex: 0, role: "region", "aria-label": "Arguments" },
                    h(
                        "table",
                        { class: "arguments" },
                        h("caption", { class: "unseen" }, "Arguments"),
                        h(
                            "thead",
                            {},
                            h(
                                "tr",
                                {},
                                h("th", { scope: "col" }, "member"),
                                h("th", { scope: "col" }, "was"),
                                isTold ? h("th", { scope: "col" }, "should be") : null,
                            ),
                        ),
                        h(
                            "tbody",
                            {},
                            args.map(a =>
                                h(
                                    "tr",
                                    { class: a.isConcerned ? "concerned" : "" },
                                    h("th", { scope: "row" }, h("code", {}, a.name)),
                                    h("td", {}, h("code", {}, a.value)),
                                    isTold
                                        ? h("td", {}, a.expected ? h("code", {}, a.expected) : "")
                                        : null,
                                ),
                            ),
                        ),
                    ),
                ),
            ),
        );
    }
    const bytes = bytesOf(finding);
    if (bytes.length)
        out.push(
            section(
                "Bytes",
                [
                    "What should be there, and what is there; what differs is marked. ",
                    source("bytes"),
                ],
                hexDifference(bytes),
            ),
        );
    if (run && run.rows("calls")) {
        const about = run.values("calls", "sequence").indexOf(numberIn(finding, "event") ?? -1);
        const told = row >= 0 ? run.values("findings", "call")[row] - 1 : -1;
        const call = about >= 0 ? about : told;
        if (call >= 0)
            out.push(
                section(
                    "Calls before and after",
                    [
                        "The call that the finding is about is marked; Enter shows arguments. ",
                        link("rows/calls", "All calls"),
                        ". ",
                        told >= 0 && told !== call
                            ? [
                                  `It was told at call ${run.values("calls", "sequence")[told]}, `,
                                  link(`row/calls/${told}`, run.text("calls", "name", told)),
                                  ".",
                              ]
                            : null,
                    ],
                    callsAround(run, call),
                ),
            );
    }
    const consequences = listIn(finding, "consequences");
    if (consequences.length)
        out.push(
            section(
                "Consequences",
                "What else went wrong because of it.",
                h(
                    "ul",
                    { class: "lines" },
                    consequences.map(c =>
                        h(
                            "li",
                            {},
                            h("span", { class: "rule" }, textIn(c, "rule") || textIn(c, "kind")),
                            " ",
                            textIn(c, "text"),
                            (numberIn(c, "count") ?? 1) > 1
                                ? ` (${format.count(numberIn(c, "count") as number)} times)`
                                : "",
                        ),
                    ),
                ),
            ),
        );
    const printed = textsIn(finding, "printed");
    if (printed.length)
        out.push(
            section(
                "What the driver printed",
                "The last lines before the finding.",
                h("pre", { tabindex: 0, "aria-label": "Prints of the driver" }, printed.join("\n")),
            ),
        );
    if (t("output"))
        out.push(
            section(
                "How it ended",
                null,
                h("pre", { tabindex: 0, "aria-label": "Output" }, t("output")),
            ),
        );

    const lines = numberIn(finding, "shrunk_lines") ?? 0;
    const caseText = textIn(finding, "case_text");
    out.push(
        section(
            "Play it again",
            [
                lines
                    ? `The smallest case that shows it has ${format.plural(lines, "line")}, ` +
                      `of ${format.count(numberIn(finding, "shrunk_from") ?? lines)}. `
                    : "The command that shows it again. ",
                source(""),
            ],
            t("replay") ? copyable(t("replay"), "the command") : null,
            pairs(
                "Case",
                (
                    [
                        ["case", t("case")],
                        ["seed", numberIn(finding, "seed")],
                        ["driver", t("driver")],
                        ["model", t("model")],
                        ["setup", t("setup")],
                        ["runs that show it", numberIn(finding, "runs") || null],
                    ] as [Child, Child][]
                ).filter(e => e[1] !== "" && e[1] !== null),
                true,
            ),
            caseText
                ? [
                      h("h4", {}, "The case"),
                      h("pre", { tabindex: 0, "aria-label": "The smallest case" }, caseText),
                  ]
                : lines === 0 && t("case")
                  ? h(
                        "p",
                        { class: "says" },
                        "To make the case smaller: ",
                        h("code", {}, `drydock shrink ${t("case")}`),
                    )
                  : lines === 0
                    ? h(
                          "p",
                          { class: "says" },
                          "There is no case of it here: the seed draws it. A case for each " +
                              "cause, as small as it can be, is what ",
                          h("code", {}, "drydock check --out DIR"),
                          " leaves.",
                      )
                    : null,
        ),
    );
    return out;
}

/* Findings of a run, causes of a campaign. */
export function findingsOf(facts: Facts): Facts[] {
    const causes = listIn(facts, "causes");
    return causes.length ? causes : listIn(facts, "findings");
}

export function findingView(app: App): View {
    const element = h("div", { class: "view" });
    return {
        element,
        shown(query) {
            clear(element);
            const all = findingsOf(app.facts);
            const index = Number(query.get("*") || 0);
            if (!all[index]) {
                element.append(
                    section(
                        "Findings",
                        all.length
                            ? "There is no finding of this number."
                            : "This run has no findings.",
                    ),
                );
                return;
            }
            element.append(...findingPage(app, all[index], index, all));
        },
    };
}
