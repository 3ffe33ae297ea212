#!/bin/sh
# drydock.toml: found upwards, below the command line, and told by doctor.
#
# Usage: settings_test.sh PATH-OF-DRYDOCK PATH-OF-SOURCE
set -u
. "$(dirname "$0")/expect.sh"
cases=$2/cases
complete=0 # the status of doctor; without node there are no pages
"$1" doctor --seconds 0 --settings none 2>&1 | grep -q '^ *MISSING *pages' && complete=1

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
expect $complete doctor --seconds 0
prints '^  settings \.\./\.\./drydock\.toml$'
prints '^ +\[board\] local-memory = 4M$'
expect $complete doctor --seconds 0 --settings none
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

# One that is found may have come with somebody's repository: it loads no code, and stays in its folder.
stranger() {
    printf "$1" >drydock.toml
    expect 2 check --model physical --seeds 1 --jobs 1
    says "^drydock: drydock.toml:$2: $3, and nobody has named these settings"
}
mkdir -p inner
ln -s "$work/inner" inner-link
ln -s /tmp/nothing-of-that-name dangling
stranger '[board]\ngpu = "./mygpu.so"\n' 2 'gpu names a file to load as code'
stranger '[board]\npolicy-file = "mine.so"\n' 2 'policy-file names a file to load as code'
stranger '[board]\nclient-file = "mine.so"\n' 2 'client-file names a file to load as code'
stranger '\ntrust-case = true\n' 2 'trust-case has code loaded that a case names'
for path in "$work/../dry.$$" ../dry.$$ inner/../../x nothing/../../x dangling dangling/x; do
    for key in out junit sarif db baseline findings; do
        stranger "$key = \"$path\"\n" 1 "$key names a file outside of the folder of the settings"
    done
done
ln -s "$work" a/above
cd a || exit 1
stranger 'junit = "above/x"\n' 1 'junit names a file outside of the folder of the settings'
rm drydock.toml
cd "$work" || exit 1
stranger '[board]\nsurroundings = "id=1,@/proc/self/environ"\n' 2 \
    'surroundings names a file outside of the folder of the settings'
printf '[run]\noption = ["seed=3", "gpu=./mygpu.so"]\n' >drydock.toml
expect 2 run "$cases/first-page-in.case" --no-out
says '^drydock: drydock.toml:2: option names a file to load as code'
[ -e ../dry.$$ ] && fail "a file outside of the folder was written"
printf 'junit = "inner-link/./x.xml"\nsarif = "new/../x.sarif"\nseeds = 1\nfindings = "inner/none/x"\n' >drydock.toml
expect 2 check --model physical --jobs 1 # of what is not there, nothing is known
printf 'junit = "inner-link/./x.xml"\nsarif = "./inner/x.sarif"\nseeds = 1\nfindings = "inner/none/x"\n' >drydock.toml
expect 0 check --model physical --jobs 1
[ -s inner/x.xml ] || fail "a file of the folder was not written"
# Who names it knows it, and what the command line says is not the file's.
printf 'junit = "%%s/x.xml"\nseeds = 1\n[board]\ngpu = "sgpu"\n' "$work/../dry.$$" >drydock.toml
expect 0 check --model physical --jobs 1 --junit inner/y.xml
printf '[board]\ngpu = "./mygpu.so"\n' >drydock.toml
expect 1 check --model physical --seeds 1 --jobs 1 --settings drydock.toml
says 'mygpu.so'
expect $complete doctor --seconds 0
rm drydock.toml

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
