#!/bin/sh
# Makes data/ddi/documented.tsv: each name that the public driver documentation has, with its kind and its header.
#
#     scripts/ddi-documented.sh DOCS [PAGES] > data/ddi/documented.tsv
#
# DOCS is a checkout of the documentation's repository (MicrosoftDocs/windows-driver-docs-ddi): one page a name. Pages
# tell names and members in words, not in C; the layouts are not made from here.
# PAGES has newer pages of some headers, as m417z/windows-docs-scraper keeps them (its branch gh-pages, folder
# windows-driver-docs-ddi): PAGES/HEADER/n*.json is a page's head and n*.md its text. A newer page takes the place of
# the older one with its UID.
set -eu

usage='usage: ddi-documented.sh DOCS [PAGES]'
content=${1:?$usage}/wdk-ddi-src/content
pages=${2:-}
headers="d3dkmddi dispmprt d3dkmdt d3dukmdt d3dkmthk
    wdm ntddk ntifs ntddvdeo ntintsafe ntstrsafe wdmsec aux_klib acpiioct acpitabl pcivirt pepfx pep_x poclass
    video videoagp miniport hdaudio hwnclx iddcx storport fltkernel wsk ndis wpprecorder
    $(cd "$content" && ls -d wdf* | sort)"

# Newer pages, written as the older ones are: the head is JSON there, and a heading of the third rank is a field.
newer=$(mktemp -d)
trap 'rm -rf "$newer"' EXIT
test -z "$pages" || for header in $headers; do
    test -d "$pages/$header" || continue
    mkdir "$newer/$header"
    find "$pages/$header" -name 'n[a-z]-*.json' | LC_ALL=C sort | ${AWK:-awk} -v to="$newer/$header/" '{
        name = $0
        sub(/.*\//, "", name)
        sub(/json$/, "md", name)
        while ((getline line < $0) > 0) {
            gsub(/^ *"|",?$/, "", line)
            sub(/": "?/, ": ", line)
            print line > (to name)
        }
        close($0)
        sub(/json$/, "md")
        while ((getline line < $0) > 0) {
            if (sub(/^### `/, "### -field ", line))
                gsub(/`/, " ", line)
            print line > (to name)
        }
        close($0)
        close(to name)
    }'
done

for header in $headers; do
    test -d "$content/$header" || continue
    (cd "$content/$header" && find . -name 'n[a-z]-*.md'
        test ! -d "$newer/$header" || (cd "$newer/$header" && find . -name '*.md')) | LC_ALL=C sort -u |
        while read -r page; do
            test -f "$newer/$header/$page" && echo "$newer/$header/$page" || echo "$content/$header/$page"
        done
done | ${AWK:-awk} '
    # One page: what it is about stands in its UID, NS:header._NAME; members and enumerators are its fields.
    function page(path,   line, part, count, names, i, kind, header, name, seen, member, is_macro) {
        kind = ""
        while ((getline line < path) > 0) {
            sub(/\r$/, "", line)
            # A page is of a macro when its title or its heading says so, wherever the UID stands.
            if (line ~ /^(title:|#) .* macro( |$)/ || line ~ /^req\.construct-type: *macro/)
                is_macro = 1
            if (kind == "function" && index(line, "macro") && line ~ name "(\\*\\*|</b>|</a>)* macro")
                is_macro = 1
            if (kind == "" && line ~ /^UID: *[A-Z]+:[^.]+\../) {
                sub(/^UID: */, "", line)
                split(line, part, ":")
                kind = kinds[part[1]]
                header = name = part[2]
                sub(/\..*/, "", header)
                sub(/^[^.]*\./, "", name)
                sub(/^_+/, "", name)
                if (kind == "" || name !~ /^[A-Za-z][A-Za-z0-9_]*$/)
                    break
            } else if (kind != "" && line ~ /^req\.typenames: *[A-Z]/) {
                sub(/^req\.typenames: */, "", line)
                count = split(line, names, /, */)
                for (i = 1; i <= count; i++)
                    if (names[i] ~ /^[A-Z][A-Z0-9_]*$/ && names[i] != name)
                        print names[i] "\ttype\t" header "\t" name
            } else if (line ~ /^### -field / && (kind == "structure" || kind == "enumeration")) {
                member = line
                sub(/^### -field */, "", member)
                sub(/[ :[].*/, "", member)
                sub(/^.*\./, "", member)
                gsub(/[^A-Za-z0-9_]/, "", member)
                if (member != "" && member !~ /^(D3DKMT_ALIGN64|DUMMY|[su])$/ && !((name, member) in seen)) {
                    seen[name, member] = 1
                    print member "\t" (kind == "structure" ? "member" : "enumerator") "\t" header "\t" name
                }
            }
        }
        close(path)
        if (kind != "" && name ~ /^[A-Za-z][A-Za-z0-9_]*$/)
            print name "\t" (kind == "function" && is_macro ? "macro" : kind) "\t" header "\t"
    }

    BEGIN {
        kinds["NS"] = "structure"; kinds["NE"] = "enumeration"; kinds["NF"] = "function"
        kinds["NC"] = "callback"; kinds["NI"] = "control code"; kinds["NU"] = "structure"
        print "name\tkind\theader\tof"
    }
    { page($0) }' | {
    read -r heading
    echo "$heading"
    # Members matter where the headers are written from the pages, enumerators where drivers use them.
    ${AWK:-awk} -F '\t' '
        $2 == "member" { if ($3 ~ /^(d3dkmddi|dispmprt|d3dkmdt|d3dukmdt)$/) print; next }
        $2 == "enumerator" { if ($3 ~ /^(d3dkmddi|dispmprt|d3dkmdt|d3dukmdt|wdm|ntddk|ntifs|ntddvdeo)$/) print; next }
        { print }' | LC_ALL=C sort -u
}
