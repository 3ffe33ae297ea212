#!/bin/sh
# Files of somebody else on the command line: what they say is text, and nothing is waited for without end.
#
# Usage: hostile_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
set -u
. "$(dirname "$0")/expect.sh"
cases=$2/cases
escape=$(printf '\033')

# Nothing of a terminal's or a build service's in what was printed.
is_plain() {
    ! LC_ALL=C grep -q "^ *::\|^##\[\|[^\\]##\[\|$escape\|$(printf '\007')\|$(printf '\342\200\256')" out err ||
        fail "$1 prints controls"
}

# Titles and names of steps and files.
title=$(printf '::error file=x::no\342\200\256 ##[error]')
cat >loud.case <<END
drydock-case 1
name "$title"
option model physical
alloc a size=4M
step ::error::x
submit c0 duration=5000 a:w
step second
submit c0 duration=5000 a:r
wait all
END
loud=./$(printf ':\033[31m.case')
cp loud.case "$loud"
for file in loud.case "$loud"; do
    expect 0 run "$file" -o "$file.run"
    is_plain "run"
    expect 0 replay "$file"
    is_plain "replay"
    expect 0 import "$file" -o "$file.out"
    is_plain "import"
    expect 2 shrink "$file"
    is_plain "shrink"
    expect 0 check "$file" --model physical --seeds 1 --jobs 1 -o "$file.check"
    is_plain "check"
    expect 0 merge "$file.check"
    is_plain "merge"
    for verb in trace report; do
        expect 0 $verb "$file.run"
        is_plain $verb
    done
    expect 2 run "$file.none"
    is_plain "an error"
done
printf 'drydock-baseline 1\nVA-001-0123abcd  \033[2J\033]0;x\007 ##[error]\n' >known.txt
expect 0 check --model physical --seeds 1 --jobs 1 --baseline known.txt
prints '^gone VA-001-0123abcd  \\x1b'
is_plain "a baseline"
printf 'model = "physical"\nseeds = 1\nallow = ["PB-004"]\nprofile = "\\u001b[31m"\n' >drydock.toml
expect 0 doctor --seconds 0
is_plain "doctor"
rm drydock.toml

if [ $failures -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "files of somebody else are text"
