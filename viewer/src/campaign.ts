/*
 * A campaign: the causes that it found, what of the contract it evaluated, and how campaigns of one
 * folder go on.
 */
import {
    listIn,
    numberIn,
    objectIn,
    textIn,
    textsIn,
    type App,
    type Facts,
    type View,
} from "./app.js";
import { alternativesSection } from "./alternatives.js";
import { rulesSection } from "./coverage.js";
import { bar, h, link, pairs, section, table, type Child } from "./dom.js";
import * as format from "./format.js";
import { grid, type GridColumn } from "./grid.js";

/*
 * A map of names and counts, zeros visible: of operations of DxgkDdiBuildPagingBuffer, of
 * functions.
 */
/* key: where the counts stand in the facts. */
function countMap(
    title: string,
    sentence: string,
    counts: [string, number][],
    key: string,
): HTMLElement | null {
    if (!counts.length) return null;
    const most = Math.max(1, ...counts.map(c => c[1]));
    return section(
        title,
        [`${sentence} `, link(`facts/${key}`, "As it stands in the JSON.")],
        table(
            title,
            [{ title: "name" }, { title: "" }, { title: "how often", isNumber: true }],
            counts
                .sort((a, b) => b[1] - a[1] || (a[0] < b[0] ? -1 : 1))
                .map(([name, n]) => [
                    h("code", {}, name),
                    n
                        ? bar(Math.log(1 + n) / Math.log(1 + most))
                        : h("span", { class: "never-row" }, "never"),
                    format.count(n),
                ]),
        ),
    );
}

function countsOf(facts: Facts, key: string): [string, number][] {
    const object = objectIn(facts, key);
    const out = Object.keys(object).map((name): [string, number] => [
        name,
        typeof object[name] === "number"
            ? (object[name] as number)
            : (numberIn(object, name, "count") ?? numberIn(object, name, "asked") ?? 0),
    ]);
    for (const entry of listIn(facts, key))
        out.push([
            textIn(entry, "name") || textIn(entry, "operation"),
            numberIn(entry, "count") ?? numberIn(entry, "asked") ?? 0,
        ]);
    return out.filter(e => e[0]);
}

const SEEDS_SHOWN = 12;

/* The call in which a cause was found, without what it was told. */
function callOf(cause: Facts): string {
    return textIn(cause, "where").replace(/\).*/, ")") || textIn(cause, "kind");
}

function ruleOf(cause: Facts): string {
    return textIn(cause, "rule") || textIn(cause, "kind");
}

function runsOf(cause: Facts): number {
    return numberIn(cause, "runs") ?? 1;
}

function seedOf(entry: unknown): string {
    if (typeof entry !== "object") return String(entry);
    return textIn(entry as Facts, "seed") || String(numberIn(entry as Facts, "seed") ?? "");
}

function seedList(cause: Facts): string {
    const list = cause.seeds;
    if (!Array.isArray(list)) return String(numberIn(cause, "seed") ?? "");
    const shown = list.slice(0, SEEDS_SHOWN).map(seedOf).join(", ");
    return list.length > SEEDS_SHOWN ? `${shown}, …` : shown;
}

function firstSeen(cause: Facts): string {
    const seen = textIn(cause, "first_seen");
    if (seen) return seen;
    const seed = numberIn(cause, "first", "seed");
    return seed === null
        ? `seed ${numberIn(cause, "seed") ?? "?"}`
        : `seed ${seed}, ${textIn(cause, "first", "model")}`;
}

/* What a cause is. */
function causeColumns(causes: Facts[]): GridColumn[] {
    return [
        {
            title: "rule",
            width: "7.5em",
            cell: i => link(`finding/${i}`, h("span", { class: "rule" }, ruleOf(causes[i]))),
            find: i => ruleOf(causes[i]),
            key: i => textIn(causes[i], "rule"),
        },
        {
            title: "what",
            width: "minmax(16em, 2.4fr)",
            cell: i => link(`finding/${i}`, textIn(causes[i], "text")),
            find: i => textIn(causes[i], "text"),
            key: i => textIn(causes[i], "text"),
        },
        {
            title: "call",
            width: "minmax(12em, 1.4fr)",
            cell: i => h("code", {}, callOf(causes[i])),
            find: i => callOf(causes[i]),
            key: i => callOf(causes[i]),
        },
    ];
}

/* Which runs showed it. */
function runColumns(causes: Facts[]): GridColumn[] {
    const most = Math.max(1, ...causes.map(runsOf));
    return [
        {
            title: "",
            width: "5em",
            cell: i => bar(runsOf(causes[i]) / most, "var(--kind-3)"),
            find: () => "",
        },
        {
            title: "runs",
            isNumber: true,
            width: "4.5em",
            cell: i => format.count(runsOf(causes[i])),
            key: i => runsOf(causes[i]),
        },
        {
            title: "first seen",
            width: "10em",
            cell: i => firstSeen(causes[i]),
            find: i => firstSeen(causes[i]),
            key: i => numberIn(causes[i], "seed") ?? 0,
        },
        {
            title: "seeds",
            width: "8em",
            cell: i => seedList(causes[i]),
            find: i => seedList(causes[i]),
        },
    ];
}

/* The smallest case that shows it. */
function caseColumns(causes: Facts[]): GridColumn[] {
    return [
        {
            title: "page",
            width: "6em",
            tip: "its smallest case, played again and recorded",
            cell: i =>
                isPage(causes[i].page)
                    ? h(
                          "a",
                          {
                              href: causes[i].page as string,
                              "aria-label": `its run: cause ${i + 1}`,
                          },
                          "its run",
                      )
                    : "",
            find: () => "",
        },
        {
            title: "case",
            isNumber: true,
            width: "6em",
            tip: "lines of the smallest case",
            cell: i => {
                const lines = numberIn(causes[i], "shrunk_lines");
                return lines ? format.plural(lines, "line") : "";
            },
            key: i => numberIn(causes[i], "shrunk_lines") ?? 0,
        },
    ];
}

function causesGrid(causes: Facts[]): HTMLElement {
    return grid({
        label: "Causes",
        rows: causes.length,
        height: 460,
        open: i => {
            location.hash = `finding/${i}`;
        },
        empty: "Nothing was found.",
        columns: [...causeColumns(causes), ...runColumns(causes), ...caseColumns(causes)],
    });
}

/* The path of a page beside this one; nothing else becomes the target of a link. */
export function isPage(value: unknown): boolean {
    return (
        typeof value === "string" &&
        /^[A-Za-z0-9_][A-Za-z0-9_./-]*\.html$/.test(value) &&
        !value.includes("..")
    );
}

/* Runs with findings. */
function seedsOf(facts: Facts): HTMLElement | null {
    const list = listIn(facts, "seeds"),
        causes = listIn(facts, "causes");
    if (!list.length) return null;
    const place = new Map(causes.map((c, i) => [textIn(c, "cause"), i]));
    return section(
        "Runs with findings",
        "Each seed that showed a cause.",
        grid({
            label: "Runs with findings",
            rows: list.length,
            height: 320,
            columns: [
                {
                    title: "seed",
                    isNumber: true,
                    width: "7em",
                    cell: i => String(numberIn(list[i], "seed") ?? ""),
                    key: i => numberIn(list[i], "seed") ?? 0,
                },
                {
                    title: "model",
                    width: "7em",
                    cell: i => textIn(list[i], "model"),
                    key: i => textIn(list[i], "model"),
                },
                {
                    title: "case",
                    width: "minmax(8em, 1fr)",
                    cell: i => textIn(list[i], "case") || "drawn by the seed",
                    key: i => textIn(list[i], "case"),
                },
                {
                    title: "outcome",
                    width: "8em",
                    cell: i => textIn(list[i], "outcome"),
                    key: i => textIn(list[i], "outcome"),
                },
                {
                    title: "findings",
                    isNumber: true,
                    width: "6em",
                    cell: i => format.count(numberIn(list[i], "findings") ?? 0),
                    key: i => numberIn(list[i], "findings") ?? 0,
                },
                {
                    title: "causes",
                    width: "minmax(10em, 1fr)",
                    cell: i =>
                        textsIn(list[i], "causes").map((id, k): Child => {
                            const at = place.get(id);
                            return [
                                k ? ", " : null,
                                at === undefined
                                    ? id
                                    : link(
                                          `finding/${at}`,
                                          textIn(causes[at], "rule") || textIn(causes[at], "kind"),
                                      ),
                            ];
                        }),
                    find: i =>
                        textsIn(list[i], "causes")
                            .map(id => textIn(causes[place.get(id) ?? -1] ?? {}, "rule"))
                            .join(" "),
                },
            ],
        }),
    );
}

/* Rules against calls: how many runs each cause had. */
function causeMatrix(causes: Facts[]): HTMLElement | null {
    const rows = [...new Set(causes.map(c => textIn(c, "rule") || textIn(c, "kind")))].sort();
    const columns = [
        ...new Set(
            causes.map(c => textIn(c, "where").replace(/^.*\(([^)]*)\).*$/, "$1") || "(no call)"),
        ),
    ].sort();
    if (rows.length * columns.length < 2 || rows.length > 60 || columns.length > 24) return null;
    const most = Math.max(1, ...causes.map(c => numberIn(c, "runs") ?? 1));
    return section(
        "Causes by rule and call",
        "Runs that showed a cause, by the rule that was broken and the operation or " +
            "function in which.",
        h(
            "div",
            {
                class: "scrolls",
                tabindex: 0,
                role: "group",
                "aria-label": "Causes by rule and call",
            },
            h(
                "table",
                { class: "matrix" },
                h("caption", { class: "unseen" }, "Causes by rule and call"),
                h(
                    "thead",
                    {},
                    h(
                        "tr",
                        {},
                        h("th", { scope: "col" }, "rule"),
                        columns.map(c => h("th", { scope: "col" }, c)),
                    ),
                ),
                h(
                    "tbody",
                    {},
                    rows.map(rule =>
                        h(
                            "tr",
                            {},
                            h("th", { scope: "row" }, h("code", {}, rule)),
                            columns.map((column): Child => {
                                const found = causes
                                    .map((c, i) => ({ c, i }))
                                    .filter(
                                        ({ c }) =>
                                            (textIn(c, "rule") || textIn(c, "kind")) === rule &&
                                            (textIn(c, "where").replace(
                                                /^.*\(([^)]*)\).*$/,
                                                "$1",
                                            ) || "(no call)") === column,
                                    );
                                if (!found.length) return h("td", { class: "nothing" }, "–");
                                const runs = found.reduce(
                                    (n, { c }) => n + (numberIn(c, "runs") ?? 1),
                                    0,
                                );
                                return h(
                                    "td",
                                    {
                                        class: "own",
                                        style:
                                            "--share:" +
                                            `${(0.1 + 0.5 * Math.min(1, runs / most)).toFixed(2)}`,
                                    },
                                    link(`finding/${found[0].i}`, format.count(runs)),
                                    found.length > 1
                                        ? h("small", {}, format.plural(found.length, "cause"))
                                        : null,
                                );
                            }),
                        ),
                    ),
                ),
            ),
        ),
    );
}

function trend(facts: Facts): HTMLElement | null {
    const list = listIn(facts, "campaigns").length
        ? listIn(facts, "campaigns")
        : listIn(facts, "trend");
    if (!list.length) return null;
    const n = (c: Facts, ...keys: string[]): number => {
        for (const key of keys) {
            const v = numberIn(c, key);
            if (v !== null) return v;
            if (Array.isArray(c[key])) return (c[key] as unknown[]).length;
            if (typeof c[key] === "object" && c[key])
                return Object.values(c[key] as Facts).filter(
                    r =>
                        typeof r === "object" &&
                        r !== null &&
                        ((r as Facts).evaluated as number) > 0,
                ).length;
        }
        return 0;
    };
    const most = Math.max(1, ...list.map(c => n(c, "runs"))),
        mostFindings = Math.max(1, ...list.map(c => n(c, "findings")));
    return section(
        "Trend",
        "Campaigns of this folder, in order of time.",
        table(
            "Trend",
            [
                { title: "campaign" },
                { title: "driver" },
                { title: "" },
                { title: "runs", isNumber: true },
                { title: "" },
                { title: "runs with findings", isNumber: true },
                { title: "causes", isNumber: true },
                { title: "new", isNumber: true },
                { title: "rules evaluated", isNumber: true },
                { title: "alternatives", isNumber: true },
            ],
            list.map((c, i) => [
                [
                    link(
                        `facts/${listIn(facts, "campaigns").length ? "campaigns" : "trend"}.${i}`,
                        textIn(c, "name") || textIn(c, "folder") || `campaign ${i + 1}`,
                    ),
                    numberIn(c, "time")
                        ? h("small", {}, ` ${dayOf(numberIn(c, "time") as number)}`)
                        : null,
                ],
                textIn(c, "driver"),
                bar(n(c, "runs") / most),
                format.count(n(c, "runs")),
                bar(n(c, "findings") / mostFindings, "var(--kind-3)"),
                format.count(n(c, "findings")),
                format.count(n(c, "causes")),
                c.new_causes === undefined ? "" : format.count(n(c, "new_causes")),
                n(c, "rules_evaluated", "rules")
                    ? format.count(n(c, "rules_evaluated", "rules"))
                    : "",
                n(c, "alternatives") ? format.count(n(c, "alternatives")) : "",
            ]),
        ),
    );
}

/* "2026-11-28 05:12" of seconds since 1970. */
function dayOf(seconds: number): string {
    return new Date(1000 * seconds).toISOString().slice(0, 16).replace("T", " ");
}

/* What was played, and how it ended. */
function head(facts: Facts, causes: Facts[]): HTMLElement {
    const seconds = numberIn(facts, "seconds") ?? 0;
    const name = textIn(facts, "name") || textIn(facts, "folder") || "A campaign";
    return h(
        "section",
        { class: "card hero", "aria-labelledby": "campaign-title" },
        h(
            "div",
            {},
            h("h2", { id: "campaign-title" }, name),
            h(
                "p",
                { class: "says" },
                textIn(facts, "driver") ? `Driver ${textIn(facts, "driver")}. ` : null,
                format.plural(numberIn(facts, "runs") ?? 0, "run"),
                seconds ? ` in ${format.duration(seconds * 1e9)}` : null,
                ".",
            ),
        ),
        h(
            "span",
            { class: `outcome ${causes.length ? "bad" : "good"}` },
            causes.length ? format.plural(causes.length, "cause") : "clean",
        ),
    );
}

function tile(name: string, value: string, target: string, note = "", isBad = false): HTMLElement {
    return h(
        "a",
        { class: `tile${isBad ? " bad" : ""}`, href: `#${target}` },
        h("span", { class: "tile-name" }, name),
        h("span", { class: "figure" }, value),
        note ? h("span", { class: "tile-note" }, note) : null,
    );
}

const SUMS: [name: string, key: string, say: (value: number) => string][] = [
    ["Paging operations", "paging_operations", format.count],
    ["Submissions", "submissions", format.count],
    ["Evictions", "evictions", format.count],
    ["Pages checked", "pages_checked", format.count],
    ["Translations checked", "translations_checked", format.count],
    ["Runs each second", "runs_per_second", value => value.toFixed(1)],
];

function figures(facts: Facts, causes: Facts[]): HTMLElement {
    const count = (key: string): number => numberIn(facts, key) ?? 0;
    const outcomes = numbersOf(facts, "outcomes").filter(([, n]) => n > 0);
    const ended = outcomes.map(([k, n]) => `${format.count(n)} ${k}`).join(", ");
    const findings = count("findings");
    return section(
        "Figures",
        "Sums over all runs.",
        h(
            "div",
            { class: "tiles" },
            tile("Runs", format.count(count("runs")), "facts/runs", ended),
            tile("Runs with findings", format.count(findings), "facts/findings", "", findings > 0),
            tile("Causes", format.count(causes.length), "facts/causes", "", causes.length > 0),
            SUMS.filter(([, key]) => numberIn(facts, key) !== null).map(([name, key, say]) =>
                tile(name, say(count(key)), `facts/${key}`),
            ),
        ),
    );
}

/* The numbers of an object, by their names. */
function numbersOf(facts: Facts, key: string): [string, number][] {
    return Object.entries(objectIn(facts, key)).filter(
        (e): e is [string, number] => typeof e[1] === "number",
    );
}

/* How often each operation and each function of the driver was asked for. */
function countMaps(facts: Facts): (HTMLElement | null)[] {
    const operations = countsOf(facts, "operation_counts").length
        ? "operation_counts"
        : "paging_operations_by_name";
    return [
        countMap(
            "Coverage of operations",
            "How often each paging operation was asked of the driver; what was never asked was " +
                "not tested.",
            countsOf(facts, operations),
            operations,
        ),
        countMap(
            "Coverage of functions",
            "How often each function of the driver was called.",
            countsOf(facts, "ddi_calls"),
            "ddi_calls",
        ),
    ];
}

function runsByModel(facts: Facts): HTMLElement | null {
    const models = numbersOf(facts, "models");
    if (!models.length) return null;
    return section(
        "Runs by model",
        null,
        pairs(
            "Runs by model",
            models.map(([k, v]): [Child, Child] => [k, link(`facts/models.${k}`, format.count(v))]),
        ),
    );
}

function build(facts: Facts, element: HTMLElement): void {
    const causes = listIn(facts, "causes");
    const parts = [
        head(facts, causes),
        ...textsIn(facts, "notes").map(note => h("p", { class: "notice", role: "note" }, note)),
        figures(facts, causes),
        section(
            "Causes",
            "What is wrong, each once, however many runs show it. Each has a page.",
            causesGrid(causes),
        ),
        causeMatrix(causes),
        rulesSection(facts),
        alternativesSection(facts),
        trend(facts),
        seedsOf(facts),
        ...countMaps(facts),
        runsByModel(facts),
    ];
    element.append(...parts.filter((part): part is HTMLElement => part !== null));
}

export function campaignView(app: App): View {
    const element = h("div", { class: "view" });
    let built = false;
    return {
        element,
        shown() {
            if (built) return;
            built = true;
            build(app.facts, element);
        },
    };
}
