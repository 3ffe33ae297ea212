#!/bin/sh
# Man pages and completions that the build made: readers take them without complaint, and they have what
# --help has.
#
# Usage: documents_test.sh PATH-OF-DRYDOCK FOLDER
set -u
drydock=$1
documents=$2
failures=0
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

fail() {
    echo "FAILED: $*"
    failures=$((failures + 1))
}

# Each verb has a page with each option of its --help.
verbs=$("$drydock" --help | sed -n 's/^  drydock \([a-z][a-z]*\)  *.*/\1/p')
[ "$(echo "$verbs" | wc -l)" -ge 21 ] || fail "verbs: $verbs"
for verb in $verbs; do
    page=$documents/drydock-$verb.1
    [ -s "$page" ] || { fail "$verb has no page"; continue; }
    "$drydock" "$verb" --help | sed -n 's/^  .*--\([a-z][a-z-]*\).*/\1/p' >"$work/options"
    while read -r option; do
        grep -Fq -- "\\-\\-$(echo "$option" | sed 's/-/\\-/g')\\fR" "$page" || fail "$verb: no --$option in its page"
    done <"$work/options"
    grep -q "drydock\\\\-$verb (1)" "$documents/drydock.1" || fail "drydock(1) does not name $verb"
done
for format in drydock-case drydock-record drydock-json drydock-baseline drydock.toml; do
    [ "$(wc -l <"$documents/$format.5")" -gt 20 ] || fail "the page of $format is short"
    grep -q '^\.SH DESCRIPTION' "$documents/$format.5" || fail "$format has no description"
done

for page in "$documents"/*.[15]; do
    if command -v man >/dev/null && command -v groff >/dev/null; then
        said=$(LC_ALL=C.UTF-8 MANROFFSEQ='' MANWIDTH=80 man --warnings -E UTF-8 -l -Tutf8 -Z "$page" 2>&1 >/dev/null)
        [ -z "$said" ] || fail "man of $page: $said"
    fi
    if command -v mandoc >/dev/null; then
        said=$(mandoc -T lint -W warning "$page")
        [ -z "$said" ] || fail "mandoc: $said"
    fi
done

# Completions are called as the shells call them.
if command -v bash >/dev/null; then
    cat >"$work/complete.bash" <<'END'
source "$1"
ask() {
    COMP_WORDS=("$@") COMP_CWORD=$(($# - 1)) COMPREPLY=()
    _drydock
    echo "$* -> ${COMPREPLY[*]}"
}
complete -p drydock
ask drydock ch
ask drydock help sch
ask drydock check --se
ask drydock check --model p
ask drydock check -m i
ask drydock run --model b
ask drydock check --seeds 1
ask drydock check --profile strict-dma-size-l
ask drydock run cas
ask drydock explain PB-004
ask drydock nosuch x
END
    mkdir "$work/here"
    touch "$work/here/cases.case"
    bash -n "$documents/drydock.bash" || fail "bash does not read its completion"
    (cd "$work/here" && bash "$work/complete.bash" "$documents/drydock.bash") >"$work/said" 2>&1
    cat >"$work/wanted" <<'END'
complete -o filenames -F _drydock drydock
drydock ch -> check
drydock help sch -> schema
drydock check --se -> --seeds --settings
drydock check --model p -> physical
drydock check -m i -> iommu
drydock run --model b -> both
drydock check --seeds 1 -> 
drydock check --profile strict-dma-size-l -> strict-dma-size-lowered
drydock run cas -> cases.case
drydock explain PB-004 -> PB-004
drydock nosuch x -> 
END
    diff "$work/wanted" "$work/said" || fail "bash completes otherwise"
fi
if command -v zsh >/dev/null; then
    zsh -n "$documents/_drydock" || fail "zsh does not read its completion"
    cat >"$work/complete.zsh" <<'END'
autoload -U compinit && compinit -u -D
_arguments() { print -l -- "$@" }
_describe() { print -l -- ${(P)2} }
words=(drydock check '') CURRENT=3
source $1
END
    zsh -f "$work/complete.zsh" "$documents/_drydock" >"$work/said" 2>&1
    grep -q '^\*--seeds=\[seeds to play' "$work/said" || fail "zsh: $(head -3 "$work/said")"
fi
if command -v fish >/dev/null; then
    fish -n "$documents/drydock.fish" || fail "fish does not read its completion"
    HOME=$work fish --no-config -c "source '$documents/drydock.fish'; complete -C 'drydock check --se'" >"$work/said" 2>&1
    grep -q '^--seeds' "$work/said" || fail "fish: $(head -3 "$work/said")"
fi

if [ $failures -ne 0 ]; then
    echo "$failures failed"
    exit 1
fi
echo "$(ls "$documents"/*.[15] | wc -l) pages, completions for bash, zsh and fish"
