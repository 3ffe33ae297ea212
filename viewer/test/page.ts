/* Pages for tests: dist/viewer.html with facts and stories, as drydock report writes them. */
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export function pageOf(
    template: string,
    facts: unknown,
    stories: { id: string; name?: string; base64: string }[],
): string {
    const json = JSON.stringify(facts).replaceAll("<", "\\u003c");
    const scripts = stories
        .map(
            s =>
                `<script type="application/octet-stream" id="${s.id}"` +
                `${s.name ? ` data-name="${s.name}"` : ""}>${s.base64}</script>`,
        )
        .join("\n");
    return template
        .replace("<!--drydock-facts-->", () => json)
        .replace("<!--drydock-stories-->", () => scripts);
}

export function writePage(
    viewerHtml: string,
    path: string,
    facts: unknown,
    stories: { id: string; name?: string; base64: string }[],
): void {
    mkdirSync(dirname(path), { recursive: true });
    writeFileSync(path, pageOf(readFileSync(viewerHtml, "utf8"), facts, stories));
}
