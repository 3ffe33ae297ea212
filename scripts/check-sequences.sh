#!/bin/sh
# Checks that every call sequence of data/ddi/contract.md is played and compared.
#
#     scripts/check-sequences.sh        exit status 1, and a line for each thing that is missing
#
# - Each sequence has a case of its name, cases/sequences/S-NN-name.case (S-05-S-07-name.case is both's).
# - The case says in a comment at its top what it shows, in a sentence and more.
# - Its golden order of calls stands beside it: for the model that it names, else for both (cmake's
#   sequences/S-NN-name tests compare them). No golden result is without its case, none is empty.
set -u

cd "$(dirname "$0")/.." || exit 2
contract=data/ddi/contract.md
folder=cases/sequences
failures=0

fail() {
    echo "$1"
    failures=$((failures + 1))
}

sequences=$(sed -n 's/^### \(S-[0-9][0-9]*\).*/\1/p' $contract)
[ "$(echo "$sequences" | sort -u | wc -l)" -eq 26 ] ||
    fail "$contract: $(echo "$sequences" | sort -u | wc -l) sequences (expected 26)"

for sequence in $sequences; do
    ls $folder | grep -Eq "^(S-[0-9]+-)*$sequence-[^/]*\.case$" ||
        fail "$folder: no case of $sequence"
done

for case in $folder/*.case; do
    # What stands before the first directive behind "drydock-case 1".
    comment=$(awk 'NR > 1 && !/^#/ && NF { exit } /^#/ { sub(/^# ?/, ""); print }' "$case")
    [ "$(echo "$comment" | wc -w)" -ge 20 ] ||
        fail "$case: its comment does not say what it shows"
    models=$(sed -n 's/^option  *model  *\([a-z]*\).*/\1/p' "$case")
    for model in ${models:-physical gpummu}; do
        [ -s "${case%.case}.$model.calls" ] ||
            fail "$case: no golden order of calls for $model"
    done
done

for calls in $folder/*.calls; do
    stem=${calls%.calls}
    [ -f "${stem%.*}.case" ] || fail "$calls: no case"
done

grep -q 'file(GLOB sequences .*cases/sequences/\*\.case' cmake/part-sequences.cmake ||
    fail "cmake/part-sequences.cmake: not every case of $folder is a test"

[ $failures -eq 0 ]
