/*
 * Light or dark: as the system says, until the reader chooses; the choice is kept where the browser
 * allows it.
 */

type Choice = "auto" | "light" | "dark";

const KEY = "drydock-theme";
const system =
    typeof window === "undefined" ? null : window.matchMedia("(prefers-color-scheme: dark)");
const listeners = new Set<() => void>();
let choice: Choice = "auto";

export function themeChoice(): Choice {
    return choice;
}

export function isDark(): boolean {
    return choice === "dark" || (choice === "auto" && system?.matches === true);
}

function apply(): void {
    document.documentElement.dataset.theme = isDark() ? "dark" : "light";
    for (const listener of listeners) listener();
}

export function nextTheme(): void {
    choice =
        choice === "auto"
            ? system?.matches
                ? "light"
                : "dark"
            : choice === "light"
              ? "dark"
              : "light";
    try {
        localStorage.setItem(KEY, choice);
    } catch {
        /* a page from a file may have no storage; the choice then holds while the page is open */
    }
    apply();
}

export function onTheme(listener: () => void): () => void {
    listeners.add(listener);
    return () => listeners.delete(listener);
}

export function startTheme(): void {
    try {
        const kept = localStorage.getItem(KEY);
        if (kept === "light" || kept === "dark") choice = kept;
    } catch {
        /* no storage */
    }
    system?.addEventListener("change", apply);
    apply();
}
