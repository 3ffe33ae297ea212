#!/bin/sh
# What a terminal shows, and what a file gets: findings once, colours, progress, --quiet.
#
# Usage: terminal_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
#
# script(1) is the terminal. Where it is missing, the tests without one are all there are.
set -u
drydock=$1
cases=$2/cases
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
unset NO_COLOR CLICOLOR_FORCE
TERM=xterm LC_ALL=C.UTF-8
export TERM LC_ALL
failures=0
escape=$(printf '\033')

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}
has() { # FILE TEXT
    grep -q -e "$2" "$1" || fail "$1 of '$asked' lacks: $2"
}
lacks() {
    ! grep -q -e "$2" "$1" || fail "$1 of '$asked' has: $2"
}
plain() { # output in the files out and err, neither a terminal
    asked=$*
    "$drydock" "$@" >out 2>err
}
# Both on a terminal of 100 columns; what it shows is in the file screen. script(1) counts on a shell.
terminal() {
    asked=$*
    { printf 'stty cols 100; exec "%s"' "$drydock"; printf " '%s'" "$@"; } >command
    SHELL=/bin/sh script -qec "sh ./command" screen </dev/null >/dev/null
    tr '\r' '\n' <screen >lines
}

defect="check --driver zoo:D10-pointer-stays --model physical --jobs 1 --repeat 0 --no-shrink"

# Findings once, wherever they go; the line that announces a cause is no finding.
# shellcheck disable=SC2086
plain $defect --seeds 3
[ "$(cat out err | grep -c '^error PB-004')" -eq 1 ] || fail "check tells a finding more than once"
[ "$(grep -c '^drydock: found PB-004 .* (seed 1, physical)$' err)" -eq 1 ] ||
    fail "check does not tell that a cause was found"
lacks out "$escape"
lacks err "$escape"
plain run "$cases/main.case" --driver zoo:D10-pointer-stays --model physical --no-out
[ "$(cat out err | grep -c '^error PB-004')" -eq 1 ] || fail "run tells a finding more than once"

# Colours: an option wins over the environment; NO_COLOR over CLICOLOR_FORCE.
# shellcheck disable=SC2086
plain $defect --seeds 1 --color always
has out "^$escape\[0;1;31merror PB-004"
has err "^$escape\[0;1mdrydock: "
CLICOLOR_FORCE=1
export CLICOLOR_FORCE
# shellcheck disable=SC2086
plain $defect --seeds 1
has out "^$escape\[0;1;31merror PB-004"
# shellcheck disable=SC2086
plain $defect --seeds 1 --color=never
lacks out "$escape"
NO_COLOR=1
export NO_COLOR
# shellcheck disable=SC2086
plain $defect --seeds 1
lacks out "$escape"
unset NO_COLOR CLICOLOR_FORCE
plain rules --color sometimes
[ $? -eq 2 ] || fail "a colour that is none is taken"
has err "option --color: unknown word 'sometimes' (expected auto, always, never)"

# Progress in a file: none, or lines that --progress asks for.
plain check --seeds 400 --jobs 1 --no-shrink --time-limit 3
[ ! -s err ] || fail "progress in a file that nobody asked for"
plain check --seeds 4000 --jobs 1 --no-shrink --time-limit 3 --progress
has err '^drydock: check: [0-9]* %  [0-9,]* of 4,000 runs  [0-9.,]*/s  0:0[0-9] left  0 with findings$'
lacks err "$escape"

# The curve of local memory: blocks where the locale has them.
plain run "$cases/main.case" --model both --no-out
[ "$(grep -c '^  local memory, [a-z]*  *|.*█.*| up to [0-9.]* MiB of 256 MiB$' out)" -eq 2 ] ||
    fail "no curves of blocks"
LC_ALL=C plain run "$cases/main.case" --no-out
has out '^  local memory in use  *|[ .:=+*#@-]*| up to [0-9.]* MiB of 256 MiB$'
plain run "$cases/main.case" --no-out --json
has out '"local_memory": {'

# --quiet: every verb takes it; what is left is what is wrong.
for verb in $("$drydock" --help | sed -n 's/^  drydock \([a-z]*\) .*/\1/p'); do
    plain $verb --help
    has out ' --quiet '
done
plain run "$cases/main.case" --no-out --quiet
[ $? -eq 0 ] && [ ! -s out ] && [ ! -s err ] || fail "run --quiet says something of a clean run"
plain replay "$cases/first-page-in.case" -q
[ ! -s out ] && [ ! -s err ] || fail "replay -q says something of a clean run"
plain check --seeds 2 --jobs 1 --quiet --progress
[ ! -s out ] && [ ! -s err ] || fail "check --quiet says something of clean runs"
# shellcheck disable=SC2086
plain $defect --seeds 1 --quiet
[ $? -eq 1 ] || fail "--quiet changes the status"
has out '^error PB-004'
lacks out ' runs ('
[ ! -s err ] || fail "check --quiet announces"
plain zoo D10-pointer-stays --model physical --no-shrink --quiet
[ ! -s out ] || fail "zoo --quiet tells of what is as it should be"
plain zoo D03-wants-private --model physical --seeds 1 --no-shrink --quiet
has out 'D03-wants-private *physical *NOT FOUND'
plain gen random -o quiet.case --quiet
plain import quiet.case -o other.case --quiet
[ ! -s out ] && [ -s other.case ] || fail "gen or import --quiet"
plain new quiet-gpu --quiet
[ ! -s out ] && [ -d quiet-gpu ] || fail "new --quiet"
plain run no-such.case --quiet
has err '^drydock: no-such.case: cannot open'

if ! command -v script >/dev/null; then
    echo "not tested without script(1): what a terminal shows"
    exit "$((failures != 0))"
fi

# On a terminal: colours, and one line of progress at a time, which is gone at the end.
terminal run "$cases/main.case" --model physical --no-out
has lines "^$escape\[Kphysical  \[$escape\[0;32m█*░*$escape\[0m\] *[0-9]* %"
lacks out 'physical  \['
has lines "^$escape\[K *[a-z].*driver ref, seed 1\|^transformer: .*driver ref, seed 1"
terminal check --seeds 4000 --jobs 1 --no-shrink --time-limit 6
has lines "check  .* %  [0-9,]* of 4,000 runs  [0-9.,]*/s  0:0[0-9] left  0 with findings"
awk 'length($0) > 0 { gsub(/\033\[[0-9;]*[mK]/, ""); gsub(/█/, "#"); gsub(/░/, "."); if ($0 ~ /^check/ && length($0) > 99) exit 1 }' lines ||
    fail "a line of progress is wider than the terminal"
# shellcheck disable=SC2086
terminal $defect --seeds 20
has lines "^\($escape\[K\)*$escape\[0;1mdrydock: $escape\[0mfound PB-004"
has lines "^\($escape\[K\)*$escape\[0;1;31merror PB-004"
terminal check --seeds 10 --jobs 1 --quiet
lacks lines check
TERM=dumb terminal rules PB-004 --color auto
lacks lines "$escape\[0;"

# Links to the pages of sources, on a terminal with colours alone.
page=https://learn.microsoft.com/windows-hardware/drivers/ddi/d3dkmddi/nc-d3dkmddi-dxgkddi_buildpagingbuffer
link=$(printf '\033]8;;%s\033\\' "$page")
end=$(printf '\033]8;;\033\\')
links() { # FILE TEXT
    grep -qF -e "$link$2$end" "$1" || fail "$1 of '$asked' has no link: $2"
}
# shellcheck disable=SC2086
terminal $defect --seeds 1
links lines nc-dxgkddi_buildpagingbuffer
terminal explain PB-004
links lines "$page"
# shellcheck disable=SC2086
NO_COLOR=1 terminal $defect --seeds 1
lacks lines "$escape]8"
# shellcheck disable=SC2086
terminal $defect --seeds 1 --color=never
lacks lines "$escape]8"
TERM=dumb terminal explain PB-004 --color=always
lacks lines "$escape]8"
# shellcheck disable=SC2086
plain $defect --seeds 1 --color always
lacks out "$escape]8"
plain explain PB-004 --color always
lacks out "$escape]8"
has out "^ *$page\$"

# The other verbs that take long.
printf 'drydock-case 1\noption driver zoo:D10-pointer-stays\noption seed 5\n' >bad.case
printf 'alloc a size=64K\nalloc b size=64K\nsubmit c0 a:w b:w\nwait all\nread a\n' >>bad.case
terminal shrink bad.case -o small.case
has lines '^small.case: PB-004\|small.case: PB-004, [0-9]* operations'
terminal zoo D10-pointer-stays D37-fill-in-dwords --model physical --no-shrink --jobs 1
has lines "zoo  .* 1 of 2 rows.* 1 found"
terminal ops --seeds 2
has lines "ops  .* 1 of 2 seeds"
terminal bench ranges --quick
has lines "bench  .* 0 of 1 benches.*ranges"
terminal replay "$cases/main.case"
has lines '[a-z]*  *\[.*\] *[0-9]* %'
"$drydock" check --seeds 300 --jobs 2 --model physical --out folder --quiet
terminal merge folder
has lines "300 runs (300 physical"
"$drydock" gen transformer layers=48 steps=8 -o big.case --quiet
terminal import big.case -o bigger.case
[ -s bigger.case ] || fail "import on a terminal"

[ "$failures" -eq 0 ] && echo "all as it should look"
exit "$((failures != 0))"
