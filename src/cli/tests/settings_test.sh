#!/bin/sh
# drydock.toml: found upwards, below the command line, and told by doctor.
#
# Usage: settings_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
set -u
. "$(dirname "$0")/expect.sh"
cases=$2/cases

cat >drydock.toml <<'END'
# a driver with a mistake, on a small board
driver = "zoo:D37-fill-in-dwords"
model = "physical"
seeds = 3
allow = ["PB-004"]
[board]
local-memory = "4M" # of run
prints = "notes"
[check]
jobs = 1
no-shrink = true
resume = false
END
expect 1 check
says '^drydock: note: drydock.toml sets prints, driver, model, seeds, jobs, no-shrink, allow'
prints '^3 runs \(3 physical'
prints 'driver zoo:D37-fill-in-dwords'
prints "^  replay .*--prints '?notes"
mkdir -p a/b
cd a/b || exit 1
expect 1 check --quiet
[ -s err ] && fail "--quiet tells of settings: $(cat err)"
expect 1 check
says '^drydock: note: \.\./\.\./drydock\.toml sets '

# The command line wins.
expect 0 check --driver ref --seeds 1
prints '^1 runs'
expect 0 check --allow 'FILL-*'
expect 0 check --settings none --seeds 1
grep -q toml err && fail "--settings none takes one"
expect 0 run "$cases/first-page-in.case" --driver ref --no-out
says 'drydock.toml sets .*local-memory.*, model'
expect 0 doctor --seconds 0
prints '^  settings \.\./\.\./drydock\.toml$'
prints '^ +\[board\] local-memory = 4M$'
expect 0 doctor --seconds 0 --settings none
prints '^  settings no drydock.toml'
cd "$work" || exit 1

# A path is meant from where the file is.
printf 'drydock-baseline 1\n' >known.txt
printf 'baseline = "known.txt"\nseeds = 1\nout = "dock"\n' >drydock.toml
cd a/b || exit 1
expect 0 check --model physical
[ -f "$work/dock/campaign.json" ] || fail "out is not where the file is"
cd "$work" || exit 1
printf 'driver = "no/such.sys"\n' >a/other.toml
expect 2 check --settings a/other.toml
says "a/no/such.sys"

# Errors have file and line.
wrong() {
    printf "$1" >drydock.toml
    expect 2 check
    says "$2"
}
wrong '\nseedz = 3\n' "^drydock: drydock.toml:2: unknown setting 'seedz' \(did you mean seeds\?\)"
wrong 'seeds = [1]\n' '^drydock: drydock.toml:1: seeds takes one value'
wrong 'seeds = true\n' '^drydock: drydock.toml:1: seeds takes N'
wrong 'resume = 1\n' '^drydock: drydock.toml:1: resume takes true or false'
wrong 'local-memory = "4M"\n' "expected in \[board\]"
wrong '[zoo]\nx = 1\n' 'unknown table \[zoo\]'
wrong '[board]\nlocal-memry = "4M"\n' 'did you mean local-memory'
wrong 'seeds = 1.5\n' '^drydock: drydock.toml:1: no value'
wrong 'seeds = "many"\n' "option --seeds: 'many' is no number"
wrong 'allow = ["FILL"]\n' "option --allow: 'FILL' is no rule"
expect 0 rules --json
expect 2 check --settings none.toml
says "cannot read 'none.toml'"

# One of another user is not taken: it may name code.
if [ "$(id -u)" -eq 0 ]; then
    printf 'seeds = 1\n' >drydock.toml
    chown 12345 drydock.toml
    expect 2 check --model physical
    says 'belongs to another user'
    expect 0 check --model physical --settings drydock.toml
fi

if [ $failures -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "settings are in force"
