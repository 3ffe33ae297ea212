#!/bin/sh
# Holds docs/sentences.md, the list of what the five reference pages say:
#
#     scripts/sentences.sh          each member has a row; each rule, case, test and option that is
#                                   named exists
#     scripts/sentences.sh DRYDOCK  and what is said to be shown is shown: the cases are played,
#                                   each in its models
#
# A case shows a row when it evaluates a rule of the row and breaks none. A rule of a row has to be
# evaluated by one of the row's cases, or stand in one of its tests, or have a reason in
# src/check/rules/rule_reasons.inc. Exit status 1, and a line for each thing that is not so.
set -u

cd "$(dirname "$0")/.." || exit 2
drydock=${1:-}
page=docs/sentences.md
reasons=src/check/rules/rule_reasons.inc
work=$(mktemp -d) || exit 2
trap 'rm -rf "$work"' EXIT
failures=0

fail() {
    echo "$page: $1" >&2
    failures=$((failures + 1))
}

# The source of a test "module/name".
source_of() {
    find "src/${1%%/*}" -name "${1#*/}.c"
}

# The rules that a case evaluates when it is played ("NAME" or "NAME with KEY=VALUE"), one a line.
play() {
    case_file=cases/${1%% with *}.case
    option=${1#* with }
    [ "$option" = "$1" ] && set -- || set -- --option "$option"
    models=$(awk '/^option model / { print $3 }' "$case_file")
    for model in ${models:-physical gpummu}; do
        "$drydock" run "$case_file" --model "$model" "$@" --json --no-out --quiet \
            --reference never >"$work/run.json" 2>"$work/errors" ||
            fail "$case_file does not run clean as $model: $(head -c 300 "$work/errors")"
        awk '/^ *"[A-Z]+-[0-9]+": \{/ { split($1, id, "\""); rule = id[2] }
             /^ *"evaluated": [1-9]/ && rule != "" { print rule }
             /}/ { rule = "" }' "$work/run.json"
    done
}

# The rules that a case has evaluated, in a file that is made once.
played() {
    played_file=$work/$(echo "$1" | tr -c 'A-Za-z0-9\n' _)
    [ -e "$played_file" ] || play "$1" >"$played_file"
}

check_row() {
    line=$1 rules=$3
    : >"$work/seen"
    echo "$4" | tr ';' '\n' >"$work/shown"
    while read -r shown; do
        case $shown in
        \`*\`)
            test=$(echo "$shown" | tr -d '\`')
            source=$(source_of "$test")
            if [ -z "$source" ]; then
                fail "line $line: there is no test $test"
                continue
            fi
            grep -o '[A-Z][A-Z]*[-_][0-9][0-9][0-9]' "$source" | tr _ - >>"$work/seen"
            ;;
        *)
            if [ ! -f "cases/${shown%% with *}.case" ]; then
                fail "line $line: there is no case $shown"
                continue
            fi
            key=${shown#* with }
            [ "$key" = "$shown" ] || grep -q "\"${key%%=*}\"" src/workload/case/run_options.inc ||
                fail "line $line: there is no option ${key%%=*}"
            [ -n "$drydock" ] || continue
            played "$shown"
            cat "$played_file" >>"$work/seen"
            is_shown=
            for rule in $rules; do
                grep -qx "$rule" "$played_file" && is_shown=yes
            done
            [ -n "$is_shown" ] || fail "line $line: $shown evaluates none of $rules"
            ;;
        esac
    done <"$work/shown"
    [ -n "$drydock" ] || return
    for rule in $rules; do
        grep -qx "$rule" "$work/seen" || grep -q "UNCHECKED($(echo "$rule" | tr - _)," $reasons ||
            fail "line $line: nothing that is named shows $rule"
    done
}

awk -f scripts/sentences.awk data/ddi/layout-x64.tsv data/ddi/contract.md $page \
    >"$work/rows" || exit 2
while IFS='	' read -r kind line members rules shown; do
    if [ "$kind" = wrong ]; then
        fail "$line"
    else
        check_row "$line" "$members" "$rules" "$shown"
    fi
done <"$work/rows"
rows=$(grep -c '^row' "$work/rows")
[ "$rows" -ge 60 ] || fail "$rows rows, expected at least 60"
[ "$failures" -eq 0 ] || exit 1
echo "$page: $rows rows hold"
