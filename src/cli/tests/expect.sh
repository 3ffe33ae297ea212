# What tests of the command line share, to be read by each with `.`; the first argument is PATH-OF-DRYDOCK.
#
# Sets drydock, work (a folder that goes with the script, with a space and a letter that is not ASCII in its name; it
# becomes the current one) and failures, the count with which the script ends.
# shellcheck shell=sh
drydock=$1
work=$(mktemp -d "${TMPDIR:-/tmp}/dry dock äXXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
cd "$work" || exit 1
failures=0

fail() {
    echo "FAILED: $*"
    [ ! -f out ] || echo "  stdout: $(head -c 800 out | tail -n 12)"
    [ ! -f err ] || echo "  stderr: $(head -c 600 err)"
    failures=$((failures + 1))
}
# expect STATUS ARGUMENTS...: runs drydock; what it says is in the files out and err.
expect() {
    wanted=$1
    shift
    "$drydock" "$@" >out 2>err
    got=$?
    [ "$got" -eq "$wanted" ] || fail "drydock $* exits with $got (expected $wanted)"
}
# Patterns are extended regular expressions.
says() { grep -Eq -e "$1" err || fail "standard error does not say: $1"; }
prints() { grep -Eq -e "$1" out || fail "standard output does not say: $1"; }
