#!/bin/sh
# The steps of action.yml, played on this machine with the program that was built: a driver without and with a
# mistake. The step that builds Drydock finds it in its cache.
#
# Usage: action_test.sh CMAKE BUILD SOURCE SANITIZERS
set -eu
cmake=$1
build=$2
source=$3
[ -z "$4" ] || { echo "skipped: an installation with sanitizers is not for others"; exit 0; }
python3 -c 'import yaml' 2>/dev/null || { echo "skipped: python3 has no yaml (Debian: python3-yaml)"; exit 0; }
command -v bash >/dev/null || { echo "skipped: no bash"; exit 0; }
for tool in clang lld-link llvm-dlltool; do
    command -v $tool >/dev/null || { echo "skipped: no $tool"; exit 0; }
done
work=$(mktemp -d "${TMPDIR:-/tmp}/dry dock äXXXXXX")
trap 'rm -rf "$work"' EXIT
HOME=$work
export HOME
"$cmake" --install "$build" --prefix "$HOME/.cache/drydock-action" >/dev/null

fail() {
    echo "FAILED: $*"
    tail -40 "$work/log"
    exit 1
}
cd "$work"
"$HOME/.cache/drydock-action/bin/drydock" new mygpu >/dev/null
cd mygpu
play() {
    wanted=$1
    shift
    status=0
    "$source/scripts/play-action.sh" "$@" >"$work/log" 2>&1 || status=$?
    [ $status -eq "$wanted" ] || fail "the action ends with $status (expected $wanted)"
}
play 0 driver=./mygpu.sys build=make case=mygpu.case seeds=5 "output=camp aign"
for file in "camp aign/results.jsonl" "camp aign.xml" "camp aign.sarif" "camp aign.txt"; do
    [ -s "$file" ] || fail "no $file"
done
grep -q '^-- Keep what was found: left out (actions/upload-artifact)$' "$work/log" || fail "a step is missing"
# With a mistake it fails, with a baseline it does not, and a second campaign goes to the same folder.
sed -i 's/MISTAKE 0$/MISTAKE 1/' mygpu.c
play 1 driver=./mygpu.sys build=make seeds=5
grep -q '^-- Result: exit status 1$' "$work/log" || fail "the result is not the last step's"
"$HOME/.cache/drydock-action/bin/drydock" merge campaign --baseline known.txt --update-baseline >/dev/null 2>&1
play 0 driver=./mygpu.sys seeds=5 baseline=known.txt
play 0 seeds=5 baseline=known.txt options='--jobs 1 --no-shrink' # the driver of drydock.toml
play 2 driver=./nothing.sys seeds=5
echo "the action's steps play"
