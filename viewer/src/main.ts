/*
 * The page: reads what is in it, shows one view at a time, and knows which from the address behind
 * "#".
 */
import "./style.css";
import { campaignView } from "./campaign.js";
import { compareView, windowOf } from "./compare.js";
import { findingsOf } from "./finding.js";
import { findingView } from "./findingview.js";
import { tablesView } from "./tableview.js";
import { textIn, type App, type Facts, type View } from "./app.js";
import { frames } from "./canvas.js";
import { Run } from "./data.js";
import { readStory, StoryError } from "./decode.js";
import { h, section } from "./dom.js";
import { mapView } from "./map.js";
import { outcomeOf, overviewView } from "./overview.js";
import { factsView, rowsView, rowView } from "./rows.js";
import { isDark, nextTheme, onTheme, startTheme } from "./theme.js";
import { timelineView } from "./timeline.js";

class NoView extends StoryError {}

interface Route {
    id: string;
    title: string; /* in the list of views; "": not in it */
    make(app: App): View;
    needsStory?: boolean;
    has?(app: App): boolean;
}

const RUN_ROUTES: Route[] = [
    { id: "overview", title: "Overview", make: overviewView },
    {
        id: "map",
        title: "Segment map",
        make: mapView,
        needsStory: true,
        has: app => (app.run ? app.run.rows("places") + app.run.rows("ranges") : 0) > 0,
    },
    { id: "timeline", title: "Timeline", make: timelineView, needsStory: true },
    {
        id: "tables",
        title: "Page tables",
        make: tablesView,
        needsStory: true,
        has: app => (app.run?.rows("entries") ?? 0) > 0,
    },
    {
        id: "finding",
        title: "Findings",
        make: findingView,
        has: app => findingsOf(app.facts).length > 0,
    },
    { id: "rows", title: "Data", make: rowsView, needsStory: true },
    { id: "row", title: "", make: rowView, needsStory: true },
    { id: "facts", title: "run.json", make: factsView },
];

const ROUTES: Record<string, Route[]> = {
    run: RUN_ROUTES,
    campaign: [
        { id: "campaign", title: "Campaign", make: campaignView },
        ...RUN_ROUTES.filter(r =>
            ["finding", "map", "timeline", "tables", "rows", "row"].includes(r.id),
        ),
        { id: "facts", title: "JSON", make: factsView },
    ],
    compare: [
        { id: "compare", title: "Compare", make: compareView },
        { id: "facts", title: "JSON", make: factsView },
    ],
};

const KEYS: [string, string][] = [
    ["?", "this list"],
    ["1 … 9", "the views, in their order"],
    ["T", "light or dark"],
    ["/", "find, where a view has it"],
    ["Tab, Enter", "go through links and buttons, and follow them"],
    [
        "arrows, Page up and down, Home, End",
        "in a table: the row; left and right a link in it; Enter opens it",
    ],
];

function readFacts(): Facts {
    const text = document.getElementById("facts")?.textContent ?? "";
    const value: unknown = JSON.parse(text);
    if (typeof value !== "object" || value === null || Array.isArray(value))
        throw new StoryError("its facts are no object");
    return value as Facts;
}

async function readRuns(): Promise<{ runs: { name: string; run: Run }[]; problem: string }> {
    const runs: { name: string; run: Run }[] = [];
    let problem = "";
    for (const element of document.querySelectorAll<HTMLScriptElement>(
        "script[type='application/octet-stream']",
    )) {
        const text = element.textContent ?? "";
        try {
            runs.push({
                name: element.dataset.name ?? element.id,
                run: new Run(await readStory(text)),
            });
        } catch (error) {
            if (!(error instanceof StoryError) && !(error instanceof RangeError)) throw error;
            problem =
                `The story in this page cannot be read: ${error.message}. The figures ` +
                "below are from run.json; drydock report writes the page anew.";
        }
        element.textContent = ""; /* megabytes that nothing needs again */
    }
    return { runs, problem };
}

/* Whether the page has what the view shows. */
const isThere = (app: App, route: Route): boolean =>
    (!route.needsStory || app.run !== null) && (route.has?.(app) ?? true);

function navigation(shown: Route[]): { nav: HTMLElement; links: Map<string, HTMLAnchorElement> } {
    const links = new Map<string, HTMLAnchorElement>();
    shown.forEach(({ id, title }, i) =>
        links.set(id, h("a", { href: `#${id}`, title: i < 9 ? `Key ${i + 1}` : null }, title)),
    );
    return { nav: h("nav", { "aria-label": "Views" }, [...links.values()]), links };
}

function themeButton(): HTMLElement {
    const button = h("button", {
        type: "button",
        class: "icon",
        title: "Light or dark (T)",
        click: nextTheme,
    });
    const name = (): void => {
        button.textContent = isDark() ? "☀" : "☾";
        button.setAttribute("aria-label", isDark() ? "Change to light" : "Change to dark");
    };
    onTheme(name);
    name();
    return button;
}

/* The list of keys: those of all views, and those of the one in sight. */
class Help {
    readonly dialog = h("dialog", { class: "help", "aria-labelledby": "help-title" });
    readonly button = h(
        "button",
        {
            type: "button",
            class: "icon",
            title: "Keys (?)",
            "aria-label": "Keys",
            click: () => this.show(),
        },
        "?",
    );
    ofView: [string, string][] = [];

    show(): void {
        this.dialog.replaceChildren(
            h("h2", { id: "help-title" }, "Keys"),
            ...this.list("Everywhere", KEYS),
            ...(this.ofView.length ? this.list("In this view", this.ofView) : []),
            h("form", { method: "dialog" }, h("button", {}, "Close")),
        );
        if (!this.dialog.open) this.dialog.showModal();
    }

    private list(title: string, keys: [string, string][]): HTMLElement[] {
        return [
            h("h3", {}, title),
            h(
                "dl",
                { class: "keys" },
                keys.map(([key, what]) =>
                    h("div", {}, h("dt", {}, h("kbd", {}, key)), h("dd", {}, what)),
                ),
            ),
        ];
    }
}

function skipLink(main: HTMLElement): HTMLElement {
    const skip = (event: Event): void => {
        event.preventDefault();
        main.focus();
    };
    return h("a", { class: "skip", href: "#main", click: skip }, "To the view");
}

function topOfPage(app: App, page: string, nav: HTMLElement, help: Help): HTMLElement {
    const { word, isGood } = outcomeOf(app.facts);
    const title = titleOf(app.facts, page);
    return h(
        "header",
        { class: "top" },
        h(
            "div",
            { class: "brand" },
            h("strong", {}, "Drydock"),
            h("h1", { class: "what", title }, title),
            page === "run"
                ? h("span", { class: `outcome small ${isGood ? "good" : "bad"}` }, word)
                : null,
        ),
        nav,
        h("div", { class: "tools" }, themeButton(), help.button),
    );
}

/* What the address behind "#" says: a view, and what it shows. */
function readAddress(fallback: string): { id: string; query: URLSearchParams } {
    const whole = decodeURI(location.hash.replace(/^#/, "")) || fallback;
    const [path, search = ""] = whole.split(/\?(.*)/s);
    const id = path.split("/")[0];
    const rest = path.slice(id.length + 1);
    const query = new URLSearchParams(search);
    if (rest) query.set("*", rest);
    return { id, query };
}

/* Shows one view at a time in main, and makes it when it is first asked for. */
class Router {
    private readonly views = new Map<string, View>();
    private current: View | null = null;

    constructor(
        private readonly app: App,
        private readonly routes: Route[],
        private readonly main: HTMLElement,
        private readonly links: Map<string, HTMLAnchorElement>,
        private readonly help: Help,
    ) {}

    go(fallback: string): void {
        const { id, query } = readAddress(fallback);
        if (query.has("from") && query.has("to"))
            this.app.time.set(Number(query.get("from")), Number(query.get("to")));
        for (const [name, a] of this.links) {
            if (name === id || (id === "row" && name === "rows"))
                a.setAttribute("aria-current", "page");
            else a.removeAttribute("aria-current");
        }
        this.current?.left?.();
        this.current = null;
        this.help.ofView = [];
        try {
            this.show(id, query);
        } catch (error) {
            if (!(error instanceof StoryError)) throw error;
            this.main.replaceChildren(
                section(
                    "Cannot be shown",
                    error instanceof NoView
                        ? error.message
                        : `The story in this page cannot be read: ${error.message}.`,
                ),
            );
        }
        window.scrollTo(0, 0);
    }

    private show(id: string, query: URLSearchParams): void {
        const found = this.routes.find(r => r.id === id && isThere(this.app, r));
        if (!found)
            throw new NoView(
                "This page has no such view: what it would show is not in the " +
                    "record of the run, or was left out.",
            );
        let view = this.views.get(id);
        if (!view) this.views.set(id, (view = found.make(this.app)));
        this.main.replaceChildren(view.element);
        view.shown?.(query);
        this.current = view;
        this.help.ofView = view.help ?? [];
    }
}

function listenToKeys(main: HTMLElement, shown: Route[], help: Help): void {
    document.addEventListener("keydown", event => {
        if (event.ctrlKey || event.metaKey || event.altKey) return;
        const target = event.target as HTMLElement;
        /* A dialog that was just closed may have the focus until the next frame. */
        if (target.closest("input, select, textarea, dialog[open]")) return;
        if (event.key === "?") help.show();
        else if (event.key === "t" || event.key === "T") nextTheme();
        else if (event.key === "/") {
            const field = main.querySelector<HTMLInputElement>("input[type=search]");
            if (!field) return;
            field.focus();
        } else if (/^[1-9]$/.test(event.key) && shown[Number(event.key) - 1])
            location.hash = shown[Number(event.key) - 1].id;
        else return;
        event.preventDefault();
    });
}

function start(app: App, page: string, routes: Route[]): void {
    const root = document.getElementById("page") as HTMLElement;
    const live = document.getElementById("live") as HTMLElement;
    const main = h("main", { id: "main", tabindex: -1 });
    const shown = routes.filter(r => r.title && isThere(app, r));
    const { nav, links } = navigation(shown);
    const help = new Help();
    root.replaceChildren(skipLink(main), topOfPage(app, page, nav, help), main, live, help.dialog);
    document.title = `${titleOf(app.facts, page)} - Drydock`;

    const router = new Router(app, routes, main, links, help);
    const go = (): void => router.go(shown[0]?.id || "facts");
    window.addEventListener("hashchange", go);
    listenToKeys(main, shown, help);
    go();
}

function titleOf(facts: Facts, page: string): string {
    if (page === "campaign")
        return (
            textIn(facts, "name") ||
            textIn(facts, "folder") ||
            `Campaign of ${textIn(facts, "driver") || "a driver"}`
        );
    if (page === "compare") return "Two runs compared";
    return textIn(facts, "case") || "Run";
}

async function open(): Promise<void> {
    startTheme();
    const root = document.getElementById("page") as HTMLElement;
    const live = h("div", { id: "live", class: "unseen", "aria-live": "polite" });
    root.replaceChildren(h("p", { class: "loading" }, "Reading the story …"), live);
    let facts: Facts;
    try {
        facts = readFacts();
    } catch (error) {
        root.replaceChildren(
            h(
                "main",
                {},
                h(
                    "p",
                    { class: "notice bad", role: "alert" },
                    h("strong", {}, "This page is damaged. "),
                    `The facts of the run cannot be read (${(error as Error).message}` +
                        "). drydock report writes the page anew.",
                ),
            ),
        );
        return;
    }
    const { runs, problem } = await readRuns();
    const run = runs[0]?.run ?? null;
    const app: App = {
        facts,
        run,
        others: runs,
        problem,
        time: windowOf(runs, facts),
        go: route => {
            location.hash = route;
        },
        announce: text => {
            live.textContent = text;
        },
    };
    const page = textIn(facts, "page") || "run";
    start(app, page, ROUTES[page] ?? RUN_ROUTES);
    /* For the tests, and for who looks into a page by its console. */
    Object.assign(window, { drydock: { frames, app } });
    document.documentElement.dataset.ready = "true";
}

open().catch((error: unknown) => {
    document
        .getElementById("page")
        ?.replaceChildren(
            h(
                "main",
                {},
                h(
                    "p",
                    { class: "notice bad", role: "alert" },
                    h("strong", {}, "This page has failed. "),
                    error instanceof Error ? error.message : String(error),
                ),
            ),
        );
    throw error;
});
