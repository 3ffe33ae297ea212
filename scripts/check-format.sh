#!/bin/sh
# The format of all C sources: that of .clang-format, no line of more than 100 columns
# (rows of tables and macros apart), and labels of
# header comments (Model, Ownership, ...) at the margin, where clang-format does not always leave them.
# No file, of whatever kind, has the marks of a merge that was not finished.
#
#     scripts/check-format.sh          says what is not so, and fails
#     scripts/check-format.sh --mend   formats in place
set -eu
cd "$(dirname "$0")/.."

sources() {
    find src zoo include examples tests templates -name '*.[ch]' -type f | sort
}

if [ "${1:-}" = --mend ]; then
    sources | xargs clang-format -i
else
    sources | xargs clang-format --dry-run -Werror
fi
# Rows of tables may be longer.
sources | grep -v '^zoo/' | xargs awk '
    /^ \*.*[.:)] (Place|Model|Calls|Order|Ownership|Errors|Units|Limits|Source)  +[A-Za-z]/ {
        print FILENAME ":" FNR ": a label within a line"; bad = 1
    }
    labelled && /^ \* [a-z]/ { print FILENAME ":" FNR ": not under its label"; bad = 1 }
    { labelled = /^ \* (Place|Model|Calls|Order|Ownership|Errors|Units|Limits|Source)  / || (labelled && /^ \*  /) }
    length($0) > 100 && !/^#define/ && !/\\$/ { print FILENAME ":" FNR ": " length($0) " columns"; bad = 1 }
    END { exit bad }'
! grep -rnE '^(<<<<<<<|>>>>>>>) ' --exclude-dir=build --exclude-dir=.git --exclude-dir=runs . || exit 1
