/*
 * Builds the page: dist/viewer.js, dist/viewer.css and dist/viewer.html, which has both inlined and
 * is what drydock embeds. In viewer.html the program that writes a report replaces two marks, each
 * of which stands there once:
 *
 *     <!--drydock-facts-->    what goes into <script type="application/json" id="facts">,
 *                             with "<" as \u003c
 *     <!--drydock-stories-->  <script type="application/octet-stream" id="story">base64</script>,
 *                             none or more
 *
 * With --tests also dist/test/*.mjs, the tests that node's runner plays.
 * With --out DIR the files are written there instead of dist/.
 */
import { build } from "esbuild";
import { mkdirSync, readFileSync, readdirSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const place = process.argv.indexOf("--out");
const out = place > 0 ? resolve(process.argv[place + 1]) : join(here, "dist");

mkdirSync(out, { recursive: true });
await build({
    absWorkingDir: here,
    entryPoints: [{ in: "src/main.ts", out: "viewer" }],
    outdir: out,
    bundle: true,
    minify: !process.argv.includes("--readable"),
    format: "iife",
    target: "es2022",
    charset: "utf8",
    legalComments: "inline",
    logLevel: "warning",
});

const script = readFileSync(join(out, "viewer.js"), "utf8");
const style = readFileSync(join(out, "viewer.css"), "utf8");
const parts = { "<!--drydock-style-->": style, "<!--drydock-script-->": script };
let page = readFileSync(join(here, "src/page.html"), "utf8");
for (const [mark, text] of Object.entries(parts)) {
    if (page.split(mark).length !== 2)
        throw new Error(`src/page.html: ${mark} must stand there once`);
    if (/<\/(script|style)/i.test(text)) throw new Error(`${mark}: ends its own element`);
    page = page.replace(mark, () => text);
}
for (const mark of ["<!--drydock-facts-->", "<!--drydock-stories-->"])
    if (page.split(mark).length !== 2)
        throw new Error(`viewer.html: ${mark} must stand there once`);
writeFileSync(join(out, "viewer.html"), page);

if (process.argv.includes("--tests")) {
    await build({
        absWorkingDir: here,
        entryPoints: readdirSync(join(here, "test"))
            .filter(f => f.endsWith(".test.ts") || f === "browser.ts")
            .map(f => `test/${f}`),
        outdir: join(out, "test"),
        outExtension: { ".js": ".mjs" },
        bundle: true,
        platform: "node",
        format: "esm",
        target: "node18",
        packages: "external",
        sourcemap: "inline",
        logLevel: "warning",
    });
}
