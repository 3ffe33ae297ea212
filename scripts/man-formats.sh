#!/bin/sh
# Makes the man pages about formats, of the pages of docs/ that describe them.
#
# Usage: man-formats.sh AWK SOURCE VERSION.INC VERSION FOLDER
set -eu
awk=$1
source=$2
date=$(sed -n 's/^#define DRYDOCK_DATE "\(.*\)"$/\1/p' "$3")
version=$4
folder=$5

# page NAME FILE SUMMARY [SECTION]
page() {
    "$awk" -v name="$1" -v summary="$3" -v only="${4:-}" -v version="$version" -v date="$date" \
        -f "$source/scripts/man-of-markdown.awk" "$source/docs/$2" >"$folder/$1.5"
}

page drydock-case case-format.md "cases and traces that drydock plays"
page drydock-record record.md "what happened in a run of drydock, call by call"
page drydock-json command-line.md "what verbs of drydock print with --json" JSON
page drydock.toml command-line.md "settings of drydock for the folder of a driver" Settings
page drydock-baseline findings.md "known findings of drydock check" "Known findings"
