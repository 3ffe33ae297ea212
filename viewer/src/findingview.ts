/*
 * The page of a finding: what is wrong, by which rule, where in the driver, and the life of what it
 * concerns.
 */
import { listIn, numberIn, textIn, textsIn, type App, type Facts, type View } from "./app.js";
import type { Run } from "./data.js";
import { clear, h, link, pairs, pictured, section, type Child } from "./dom.js";
import {
    allocationsOf,
    argumentsOf,
    bytesOf,
    findingsOf,
    rowOf,
    sourcesOf,
    type Argument,
    type ByteRow,
} from "./finding.js";
import * as format from "./format.js";
import { grid, type GridColumn } from "./grid.js";
import { lifeOf, lifeStrip, lifeTable, type LifeEvent } from "./life.js";
import { argumentList } from "./rows.js";

const CALLS_AROUND = 40;
const LIVES_MOST = 3;

type Part = HTMLElement | null;

/* A finding, as its page is made: from which page, at which place of all, and what it says. */
class Page {
    readonly run: Run | null;
    private readonly row: number; /* of the story's findings, or -1 */

    constructor(
        private readonly app: App,
        private readonly finding: Facts,
        private readonly index: number,
        private readonly all: Facts[],
    ) {
        this.run = app.run;
        this.row = app.run ? rowOf(app.run, finding, index) : -1;
    }

    parts(): HTMLElement[] {
        const { run } = this;
        return [
            this.head(),
            this.rule(),
            this.place(),
            ...(run ? this.lives(run) : []),
            this.pre("What it concerns", null, textsIn(this.finding, "objects"), "plain"),
            this.arguments(),
            this.bytes(),
            run && run.rows("calls") ? this.calls(run) : null,
            this.consequences(),
            this.pre(
                "What the driver printed",
                "The last lines before the finding.",
                textsIn(this.finding, "printed"),
            ),
            this.pre("How it ended", null, this.text("output") ? [this.text("output")] : []),
            this.again(),
        ].filter((part: Part) => part !== null);
    }

    private text(key: string): string {
        return textIn(this.finding, key);
    }

    /* Where the numbers of a section come from. */
    private source(member: string): Child {
        const list = listIn(this.app.facts, "causes").length ? "causes" : "findings";
        return link(
            `facts/${list}.${this.index}${member ? `.${member}` : ""}`,
            "As it stands in the JSON.",
        );
    }

    /* Lines as they are; nothing without lines. */
    private pre(title: string, sentence: Child, lines: string[], kind?: string): Part {
        if (!lines.length) return null;
        return section(
            title,
            sentence,
            h("pre", { class: kind, tabindex: 0, "aria-label": title }, lines.join("\n")),
        );
    }

    private head(): HTMLElement {
        const step = (by: number, label: string): Child =>
            this.all[this.index + by]
                ? link(`finding/${this.index + by}`, label)
                : h("span", { class: "off" }, label);
        return h(
            "section",
            { class: "card hero", "aria-labelledby": "finding-title" },
            h(
                "div",
                {},
                h(
                    "p",
                    { class: "says" },
                    `Finding ${this.index + 1} of ${this.all.length}, ${this.text("kind")}`,
                    this.text("consequence_of") ? ", a consequence of another" : "",
                    ". ",
                    step(-1, "Previous"),
                    " · ",
                    step(1, "Next"),
                ),
                h("h2", { id: "finding-title" }, this.text("text")),
                this.text("where") ? h("p", { class: "where" }, this.text("where")) : null,
            ),
            h("span", { class: "outcome bad" }, this.text("rule") || this.text("kind")),
        );
    }

    private rule(): Part {
        const rule = this.text("rule");
        if (!rule) return null;
        /* A cause of a campaign has no counts of its own: those of the rule are of all runs. */
        const isCause = listIn(this.app.facts, "causes").length > 0;
        const count = (key: string): number =>
            (isCause ? numberIn(this.app.facts, "rules", rule, key) : null) ??
            numberIn(this.finding, key) ??
            0;
        const evaluated = count("evaluated");
        const facts: [string, Child][] = [
            ["documentation", sourceLinks(this.finding)],
            ["Windows", this.text("windows")],
            ["versions", this.text("versions")],
            ["basis", this.text("basis")],
            ["who must keep it", this.text("side")],
            [
                isCause ? "broken in all runs" : "broken in this run",
                evaluated
                    ? `${format.count(count("broken"))} of ${format.plural(evaluated, "evaluation")}`
                    : "",
            ],
        ];
        return section(
            `Rule ${rule}`,
            ["What the rule says, and how often it was broken. ", this.source("")],
            h("blockquote", { class: "rule-sentence" }, this.text("sentence")),
            pairs(
                "Rule",
                facts.filter(e => (Array.isArray(e[1]) ? e[1].length > 0 : !!e[1])),
                true,
            ),
            h("p", { class: "actions" }, h("code", {}, `drydock explain ${rule}`)),
        );
    }

    private place(): Part {
        const writers = textsIn(this.finding, "writers");
        if (!this.text("function") && !writers.length && !this.text("where")) return null;
        const places = [
            ["call", this.text("where")],
            ["function", this.text("function")],
        ].filter(([, text]) => text);
        return section(
            "Place in the driver",
            "Which function of the driver was called, and what wrote what is wrong.",
            pairs(
                "Place",
                places.map(([name, text]): [Child, Child] => [name, h("code", {}, text)]),
                true,
            ),
            writers.length
                ? h("pre", { tabindex: 0, "aria-label": "Writers" }, writers.join("\n"))
                : null,
        );
    }

    /* The lives of the allocations that the finding is about, with the finding in them. */
    private lives(run: Run): HTMLElement[] {
        const concerned = allocationsOf(run, [
            ...textsIn(this.finding, "objects"),
            this.text("text"),
            ...textsIn(this.finding, "arguments"),
        ]);
        return concerned.slice(0, LIVES_MOST).map(object => this.life(run, object));
    }

    private life(run: Run, object: number): HTMLElement {
        const events = this.eventsOf(run, object);
        const name = run.objectName(object + 1);
        const from = Math.max(0, events[0]?.time ?? 0),
            to = Math.max(
                from + 1,
                ...events.slice(-1).map(e => e.end),
                ...events.map(e => Math.min(e.end, run.end)),
            );
        const margin = 0.02 * (to - from);
        return pictured(
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
        );
    }

    private eventsOf(run: Run, object: number): LifeEvent[] {
        const { row } = this;
        const events = lifeOf(run, object);
        const time =
            row >= 0
                ? run.values("findings", "time")[row]
                : (numberIn(this.finding, "time_ns") ?? NaN);
        if (!Number.isFinite(time)) return events;
        events.push({
            time,
            end: time,
            kind: "finding",
            what: this.text("text"),
            table: row >= 0 ? "findings" : "objects",
            row: row >= 0 ? row : object,
        } as LifeEvent);
        return events.sort((a, b) => a.time - b.time);
    }

    private arguments(): Part {
        const list = argumentsOf(this.finding);
        if (!list.length) return null;
        const sentence = this.text("sentence");
        const isTold = list.some(a => a.expected);
        const says = isTold
            ? "What the call was given and gave back; what the finding is about is marked, " +
              "beside what it should be. "
            : "What the call was given and gave back; what the finding is about is marked. " +
              (sentence
                  ? `There is no one value that it should be; the rule says: ${sentence} `
                  : "No rule says what they should be: it is about what the run did. ");
        return section("Arguments", [says, this.source("arguments")], argumentsTable(list, isTold));
    }

    private bytes(): Part {
        const rows = bytesOf(this.finding);
        if (!rows.length) return null;
        return section(
            "Bytes",
            [
                "What should be there, and what is there; what differs is marked. ",
                this.source("bytes"),
            ],
            hexDifference(rows),
        );
    }

    /* The call that the finding is about, among its neighbours. */
    private calls(run: Run): Part {
        const sequences = run.values("calls", "sequence");
        const about = sequences.indexOf(numberIn(this.finding, "event") ?? -1);
        const told = this.row >= 0 ? run.values("findings", "call")[this.row] - 1 : -1;
        const call = about >= 0 ? about : told;
        if (call < 0) return null;
        return section(
            "Calls before and after",
            [
                "The call that the finding is about is marked; Enter shows arguments. ",
                link("rows/calls", "All calls"),
                ". ",
                told >= 0 && told !== call
                    ? [
                          `It was told at call ${sequences[told]}, `,
                          link(`row/calls/${told}`, run.text("calls", "name", told)),
                          ".",
                      ]
                    : null,
            ],
            callsAround(run, call),
        );
    }

    private consequences(): Part {
        const list = listIn(this.finding, "consequences");
        if (!list.length) return null;
        const times = (c: Facts): string => {
            const count = numberIn(c, "count") ?? 1;
            return count > 1 ? ` (${format.count(count)} times)` : "";
        };
        return section(
            "Consequences",
            "What else went wrong because of it.",
            h(
                "ul",
                { class: "lines" },
                list.map(c =>
                    h(
                        "li",
                        {},
                        h("span", { class: "rule" }, textIn(c, "rule") || textIn(c, "kind")),
                        " ",
                        textIn(c, "text"),
                        times(c),
                    ),
                ),
            ),
        );
    }

    private again(): HTMLElement {
        const lines = numberIn(this.finding, "shrunk_lines") ?? 0;
        const from = numberIn(this.finding, "shrunk_from") ?? lines;
        const facts: [Child, Child][] = [
            ["case", this.text("case")],
            ["seed", numberIn(this.finding, "seed")],
            ["driver", this.text("driver")],
            ["model", this.text("model")],
            ["setup", this.text("setup")],
            ["runs that show it", numberIn(this.finding, "runs") || null],
        ];
        return section(
            "Play it again",
            [
                lines
                    ? `The smallest case that shows it has ${format.plural(lines, "line")}, ` +
                      `of ${format.count(from)}` +
                      (this.finding["shrunk_in_part"] === true
                          ? "; its time ran out: drydock shrink may make it smaller still. "
                          : ". ")
                    : "The command that shows it again. ",
                this.source(""),
            ],
            this.text("replay") ? copyable(this.text("replay"), "the command") : null,
            pairs(
                "Case",
                facts.filter(e => e[1] !== "" && e[1] !== null),
                true,
            ),
            this.smallest(lines),
        );
    }

    /* The case that shows it, or how to get one; lines: of the smallest case, 0 without one. */
    private smallest(lines: number): Child {
        const caseText = this.text("case_text");
        if (caseText)
            return [
                h("h3", {}, "The case"),
                h("pre", { tabindex: 0, "aria-label": "The smallest case" }, caseText),
            ];
        if (lines) return null;
        if (this.text("case"))
            return h(
                "p",
                { class: "says" },
                "To make the case smaller: ",
                h("code", {}, `drydock shrink ${this.text("case")}`),
            );
        return h(
            "p",
            { class: "says" },
            "There is no case of it here: the seed draws it. A case for each cause, as small as " +
                "it can be, is what ",
            h("code", {}, "drydock check --out DIR"),
            " leaves.",
        );
    }
}

function sourceLinks(finding: Facts): Child[] {
    return sourcesOf(finding).flatMap(({ name, address }, i): Child[] => [
        i ? ", " : null,
        address
            ? h("a", { href: address, rel: "noreferrer noopener", target: "_blank" }, name)
            : name,
    ]);
}

function argumentsTable(list: Argument[], isTold: boolean): HTMLElement {
    const title = (text: string): Child => h("th", { scope: "col" }, text);
    const row = (a: Argument): Child =>
        h(
            "tr",
            { class: a.isConcerned ? "concerned" : "" },
            h("th", { scope: "row" }, h("code", {}, a.name)),
            h("td", {}, h("code", {}, a.value)),
            isTold ? h("td", {}, a.expected ? h("code", {}, a.expected) : "") : null,
        );
    return h(
        "div",
        { class: "scrolls", tabindex: 0, role: "group", "aria-label": "Arguments" },
        h(
            "table",
            { class: "arguments" },
            h("caption", { class: "unseen" }, "Arguments"),
            h(
                "thead",
                {},
                h("tr", {}, title("member"), title("was"), isTold ? title("should be") : null),
            ),
            h("tbody", {}, list.map(row)),
        ),
    );
}

function hexDifference(rows: ByteRow[]): HTMLElement {
    const byte = (value: string, differs: boolean): Child =>
        h("span", { class: differs ? "byte differs" : "byte" }, value);
    return h(
        "div",
        { class: "scrolls", tabindex: 0, role: "group", "aria-label": "Bytes" },
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

/* The columns of the calls around one. show: shows the arguments of a call. */
function callColumns(run: Run, call: number, show: (row: number) => void): GridColumn[] {
    const v = (column: string, row: number): number => run.values("calls", column)[row];
    const text = (column: string, row: number): string => run.text("calls", column, row);
    const here = (row: number): string => (row === call ? "here" : "");
    return [
        {
            title: "call",
            isNumber: true,
            width: "6em",
            cell: r => h("span", { class: here(r) }, `#${v("sequence", r)}`),
            key: r => r,
        },
        {
            title: "time",
            isNumber: true,
            width: "8em",
            cell: r =>
                link(
                    `timeline?at=${v("begins", r)}&select=calls.${r}`,
                    format.moment(v("begins", r)),
                ),
            key: r => v("begins", r),
        },
        {
            title: "name",
            width: "minmax(14em, 2fr)",
            cell: r => [
                h(
                    "span",
                    { style: `padding-left:${Math.min(8, v("depth", r))}em`, class: here(r) },
                    text("name", r),
                ),
                " ",
                h("small", {}, text("operation", r)),
            ],
            find: r => `${text("name", r)} ${text("operation", r)}`,
        },
        {
            title: "about",
            cell: r =>
                v("object", r)
                    ? link(`row/objects/${v("object", r) - 1}`, run.objectName(v("object", r)))
                    : "",
            find: r => run.objectName(v("object", r)),
        },
        {
            title: "status",
            isNumber: true,
            width: "9em",
            cell: r => format.status(v("status", r)),
            key: r => v("status", r),
        },
        {
            title: "more",
            width: "6em",
            cell: r =>
                h(
                    "button",
                    {
                        type: "button",
                        class: "linklike",
                        "aria-label": `Arguments of call ${v("sequence", r)}`,
                        click: () => show(r),
                    },
                    "arguments",
                ),
            find: () => "",
        },
    ];
}

function callsAround(run: Run, call: number): HTMLElement {
    const first = Math.max(0, call - CALLS_AROUND),
        last = Math.min(run.rows("calls"), call + CALLS_AROUND + 1);
    const detail = h("div", { class: "call-detail" });
    const show = (row: number): void => {
        const list = run.referring("arguments", "call", row);
        const sequence = run.values("calls", "sequence")[row];
        detail.replaceChildren(
            h("h3", {}, `${run.text("calls", "name", row)} #${sequence}`),
            list.length
                ? argumentList(run, list)
                : h("p", { class: "says" }, "Its arguments are not in this page."),
        );
    };
    show(call);
    const table = grid({
        label: "Calls before and after",
        rows: Uint32Array.from({ length: last - first }, (_, i) => first + i),
        height: 300,
        open: show,
        columns: callColumns(run, call, show),
    });
    requestAnimationFrame(() => {
        const body = table.querySelector(".grid-body");
        if (body) body.scrollTop = Math.max(0, (call - first - 4) * 26);
    });
    return h("div", {}, table, detail);
}

export function findingView(app: App): View {
    const element = h("div", { class: "view" });
    return {
        element,
        shown(query) {
            const all = findingsOf(app.facts);
            const index = Number(query.get("*") || 0);
            clear(element);
            if (all[index]) element.append(...new Page(app, all[index], index, all).parts());
            else
                element.append(
                    section(
                        "Findings",
                        all.length
                            ? "There is no finding of this number."
                            : "This run has no findings.",
                    ),
                );
        },
    };
}
