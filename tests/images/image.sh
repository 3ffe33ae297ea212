# What the tests of driver images share, to be read by each with `.`; its first arguments are DRYDOCK SOURCE.
#
# Sets drydock, source, and work, a folder that goes with the script. `$work/log` has what was said last.
# shellcheck shell=sh
drydock=$(realpath "$1")
source=$(realpath "$2")
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# need TOOL...: without one of them nothing is tested, and that is said.
need() {
    for tool; do
        command -v "$tool" >/dev/null || { echo "skipped: no $tool here"; exit 0; }
    done
}
fail() {
    echo "FAILED: $1"
    tail -n 60 "$work/log"
    exit 1
}
need clang lld-link llvm-dlltool
