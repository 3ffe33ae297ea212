#!/bin/sh
# The tests of the page, from copies in the build tree: nothing is written into viewer/.
#
#     viewer/test.sh unit BUILD             data, level of detail, page tables: by node's runner
#     viewer/test.sh everyday BUILD DRYDOCK [ARG...]
#                                           in Chromium, in short: pages of synthetic runs, and of
#                                           two runs of DRYDOCK
#     viewer/test.sh browser BUILD DRYDOCK [ARG...]
#                                           all of it: dark pages, walks by keys, narrow windows,
#                                           BERT and captures, a campaign, a million bands
#
# Screenshots and figures.json are in BUILD/viewer-tests/shots. Further arguments are those of
# test/browser.ts; --update makes the pictures of the README anew. Exit status 77, and a word: it
# was skipped.
set -eu
source=$(cd "$(dirname "$0")" && pwd)
kind=$1 build=$2
shift 2

skip() {
    echo "SKIPPED: $1"
    exit 77
}

command -v node >/dev/null && command -v npm >/dev/null || skip "no node and npm"
node -e 'new DecompressionStream("deflate-raw")' 2>/dev/null ||
    skip "node $(node --version) is too old: 20.12 or newer"
work=$build/viewer-tests
mkdir -p "$work"
# One at a time, for both tests write here.
exec 9>"$work/lock"
if command -v flock >/dev/null; then flock 9; fi
rm -rf "$work/src" "$work/test"
for file in src test build.mjs package.json package-lock.json .npmrc .prettierrc.json \
    .prettierignore tsconfig.json; do
    cp -R "$source/$file" "$work"
done
if ! cmp -s "$work/package-lock.json" "$work/installed"; then
    (cd "$work" && npm ci --no-audit --no-fund >npm.log 2>&1) ||
        skip "npm cannot get the packages: $work/npm.log"
    cp "$work/package-lock.json" "$work/installed"
fi
cd "$work"
node build.mjs --tests

if [ "$kind" = unit ]; then
    npm run --silent check
    exec node --test dist/test/decode.test.mjs dist/test/lod.test.mjs dist/test/data.test.mjs
fi
drydock=$1
shift
if [ "$kind" = everyday ]; then set -- --everyday "$@"; fi
exec node dist/test/browser.mjs --drydock "$drydock" --cases "$source/../cases" \
    --out "$work/shots" --pictures "$source/../docs/pictures" \
    --references "$source/test/references" "$@"
