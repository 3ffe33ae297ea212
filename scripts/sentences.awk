# Reads data/ddi/layout-x64.tsv, data/ddi/contract.md and docs/sentences.md, in this order, for
# scripts/sentences.sh. Prints, for each row of the page,
#
#     row TAB line TAB members TAB rules TAB what shows it
#
# with a blank between rules, each by its id, and ";" between what shows it; and "wrong TAB text"
# for each member, rule or count that is not so.

BEGIN { FS = "\t" }

FILENAME != file { file = FILENAME; files++ }

files == 1 {
    if ($2 != "" && $2 != "(sizeof)" && $2 != "field") {
        is_member[$1, $2] = 1
        if ($3 != "struct")
            member[++members] = $1 SUBSEP $2
    }
    next
}

files == 2 {
    if ($0 ~ /^\| [A-Z]+-[0-9][0-9][0-9] \|/)
        is_rule[substr($0, 3, index(substr($0, 3), " ") - 1)] = 1
    next
}

function wrong(text) { print "wrong\t" text }

function trim(text) { gsub(/^ +| +$/, "", text); return text }

# "PB-001 to PB-003, PB-006" as ids with blanks between them.
function ids_of(text,    part, count, i, ends, area, last, k, id, out) {
    count = split(text, part, /, */)
    for (i = 1; i <= count; i++) {
        if (split(part[i], ends, / to /) == 1)
            ends[2] = ends[1]
        area = ends[1]
        sub(/-[0-9]+$/, "", area)
        last = substr(ends[2], length(area) + 2) + 0
        for (k = substr(ends[1], length(area) + 2) + 0; k <= last; k++) {
            id = sprintf("%s-%03d", area, k)
            if (!(id in is_rule))
                wrong("line " FNR ": there is no rule " id)
            out = out (out == "" ? "" : " ") id
        }
    }
    return out
}

match($0, /Together they are [0-9]+/) { said = substr($0, RSTART + 18, RLENGTH - 18) + 0 }

/^## / {
    structure = $0
    sub(/^## /, "", structure)
    sub(/:.*/, "", structure)
    next
}

/^\| / && split($0, column, / *\| */) >= 7 && column[2] != "members" && column[2] != "---" {
    count = split(column[2], name, /, */)
    for (i = 1; i <= count; i++) {
        if (name[i] ~ /^\(/)
            continue
        if (!((structure, name[i]) in is_member))
            wrong("line " FNR ": " structure " has no member " name[i])
        if ((structure, name[i]) in has_row)
            wrong("line " FNR ": " name[i] " has a row already")
        has_row[structure, name[i]] = 1
    }
    if (column[3] !~ /^[0-9]+$/)
        wrong("line " FNR ": n is " column[3])
    sentences += column[3]
    shown = column[6]
    gsub(/ *, */, ";", shown)
    print "row\t" FNR "\t" column[2] "\t" ids_of(column[5]) "\t" shown
    is_listed[structure] = 1
}

END {
    for (i = 1; i <= members; i++) {
        split(member[i], part, SUBSEP)
        if (!(part[1] in is_listed))
            continue
        for (name_of = part[2]; !((part[1], name_of) in has_row) && name_of ~ /\./;)
            sub(/\.[^.]*$/, "", name_of)
        if (!((part[1], name_of) in has_row))
            wrong(part[1] "." part[2] " has no row")
    }
    if (said != sentences)
        wrong("there are " sentences " sentences, and the page says " said)
    if (!("DXGKARG_BUILDPAGINGBUFFER" in is_listed) || !("DXGKARG_PATCH" in is_listed))
        wrong("the page has lost its structures")
}
