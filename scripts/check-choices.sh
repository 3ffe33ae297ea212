#!/bin/sh
# Checks docs/contract-choices.md against what it has to answer to.
#
#     scripts/check-choices.sh        exit status 1, and a line for each thing that is missing
#
# - Every contradiction and every unknown at the end of data/ddi/contract.md has its paragraph, "### C1" or
#   "### U1", which says what the default is (Default, Reading, Marked as a reading, or what is accepted),
#   and which switch there is or that no choice is left.
# - Every switch that is named exists: vidmm_config.NAME in struct vidmm_config, `option KEY` among the
#   options of a case, wants_NAME in struct check_profile and in a profile.
set -u

cd "$(dirname "$0")/.." || exit 2
contract=data/ddi/contract.md
choices=docs/contract-choices.md
failures=0

fail() {
    echo "$1"
    failures=$((failures + 1))
}

# The numbers of the list under a heading.
numbers() {
    awk -v heading="$1" '/^## / { on = index($0, heading) } on && /^[0-9]+\. / { print $1 + 0 }' \
        $contract
}

# The text under "### C1" or "### U1", up to the next heading.
paragraph() {
    awk -v name="$1" '/^#/ { on = $1 == "###" && $2 == name "." } on && !/^#/' $choices
}

check_paragraph() {
    text=$(paragraph "$1")
    if [ -z "$text" ]; then
        fail "$choices: $1 has no paragraph"
        return
    fi
    # Where a paragraph refers to another one, that one counts, too.
    see=$(echo "$text" | tr '\n' ' ' | sed -n 's/.*"\([A-Z][^"]*\)".*below.*/\1/p')
    if [ -n "$see" ]; then
        more=$(awk -v title="$see" '/^##/ { on = index($0, title) } on && !/^#/' $choices)
        [ -n "$more" ] || fail "$choices: $1 refers to \"$see\", which is not there"
        text="$text $more"
    fi
    echo "$text" | tr '\n' ' ' |
        grep -Eqi 'default|reading|by capability|misprint|nothing depends|sees nothing|accepted|as the (names|fact)|derives|not used' ||
        fail "$choices: $1 does not say what the default is"
    echo "$text" | tr '\n' ' ' |
        grep -Eqi 'switch|option |vidmm_config\.|wants_|profile|No choice|misprint|must|lawful|nothing depends|sees nothing|both|Findings say|comes with' ||
        fail "$choices: $1 names no switch, nor why none is needed"
}

for list in "C:Places where the pages disagree" "U:Biggest unknowns"; do
    found=0
    for number in $(numbers "${list#*:}"); do
        check_paragraph "${list%%:*}$number"
        found=$((found + 1))
    done
    [ $found -gt 0 ] || fail "$contract: nothing is listed under '${list#*:}'"
done

# Words that the text puts where a switch is named.
text=$(tr '\n' ' ' <$choices)
config=$(sed -n '/^struct vidmm_config {/,/^};/p' include/vidmm/vidmm.h)
for name in $(echo "$text" | grep -o 'vidmm_config\.[a-z_0-9]*' | sed 's/.*\.//' | sort -u); do
    echo "$config" | grep -Eq "[ *]$name(\[|;)" || fail "$choices: struct vidmm_config has no $name"
done
for key in $(echo "$text" | grep -Eo '`?option [a-z][a-z0-9-]*' | sed 's/.* //' | sort -u); do
    grep -Eq "([a-z0-9_]+, |CASE_OPTION\()\"$key\"," src/workload/case/run_options.inc ||
        fail "$choices: there is no option $key"
done
profile=$(sed -n '/^struct check_profile {/,/^};/p' src/check/check.h)
for name in $(echo "$text" | grep -Eo '(wants_[a-z_0-9]+|keeps_straddling)' | sort -u); do
    echo "$profile" | grep -Eq "[ *]$name;" ||
        fail "$choices: struct check_profile has no $name"
    grep -Erq "profile(->|\.)$name" src/check || fail "$choices: no watcher looks at $name"
    grep -q "\.$name = true" src/bench/config/profile.c || fail "$choices: no profile sets $name"
done

[ $failures -eq 0 ]
