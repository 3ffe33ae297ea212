# Makes a man page of section 5 of a page of docs/, or of one of its sections.
#
#     awk -v name=drydock-case -v summary="..." -v version=0.1.0 -v date=2026-11-28 [-v only=Settings] \
#         -f scripts/man-of-markdown.awk docs/case-format.md
#
# Headings, paragraphs, lists, tables, drawings (indented or fenced), `code`, **bold**, *italics*, [links](...).
function escape(text) {
    gsub(/\\/, "\\e", text)
    gsub(/-/, "\\-", text)
    gsub(/'/, "\\(aq", text)
    gsub(/\^/, "\\(ha", text)
    gsub(/~/, "\\(ti", text)
    return text
}
# What stands within a line of prose.
function inline(text,    out, at, word) {
    out = ""
    while (match(text, /`[^`]*`|\*\*[^*]+\*\*|\[[^]]*\]\([^)]*\)|<https?:[^>]*>/)) {
        out = out plain(substr(text, 1, RSTART - 1))
        word = substr(text, RSTART, RLENGTH)
        at = RSTART + RLENGTH
        if (word ~ /^`/)
            out = out "\\fB" escape(substr(word, 2, length(word) - 2)) "\\fR"
        else if (word ~ /^\*\*/)
            out = out "\\fB" escape(substr(word, 3, length(word) - 4)) "\\fR"
        else if (word ~ /^</)
            out = out escape(substr(word, 2, length(word) - 2))
        else {
            sub(/\]\(.*/, "", word)
            out = out inline(substr(word, 2))
        }
        text = substr(text, at)
    }
    return out plain(text)
}
function plain(text) {
    text = escape(text)
    gsub(/`/, "\\(ga", text)
    return text
}
function put(line) {
    if (line ~ /^[.']/)
        line = "\\&" line
    print line
}
function leave() {
    if (state == "drawing")
        print ".fi\n.RE"
    state = ""
}
function draw() {
    print (fresh ? "" : ".sp\n") ".RS\n.nf"
    state = "drawing"
    blank = fresh = 0
}
function row(line,    cells, n, i, cell) {
    sub(/^\| */, "", line)
    sub(/ *\|$/, "", line)
    gsub(/\\\|/, "\001", line)
    n = split(line, cells, / *\| */)
    for (i = 1; i <= n; i++)
        gsub(/\001/, "|", cells[i])
    print ".TP"
    put(cells[1] == "" ? "\\&" : inline(cells[1]))
    cell = ""
    for (i = 2; i <= n; i++)
        if (cells[i] != "")
            cell = cell (cell == "" ? "" : "; ") inline(cells[i])
    put(cell == "" ? "\\&" : cell)
}
BEGIN {
    print ".\\\" Made by the build, of docs/."
    printf ".TH \"%s\" 5 %s \"drydock %s\" \"Drydock\"\n.SH NAME\n%s \\- %s\n", toupper(escape(name)), date, version,
        escape(name), escape(summary)
    is_on = only == ""
    if (!is_on)
        print ".SH DESCRIPTION"
}
{ sub(/\r$/, "") }
/^```/ {
    if (is_on) {
        if (fenced)
            leave()
        else {
            leave()
            draw()
        }
    }
    fenced = !fenced
    next
}
fenced {
    if (is_on)
        put(escape($0))
    next
}
/^#+ / {
    level = index($0, " ") - 1
    title = substr($0, level + 2)
    if (only != "") {
        if (is_on && level <= on_level) {
            is_on = 0
            done = 1
        }
        if (!is_on && !done && title == only) {
            is_on = 1
            on_level = level
            fresh = 1
            next
        }
    }
    if (!is_on)
        next
    leave()
    if (level == 1)
        print ".SH DESCRIPTION"
    else {
        gsub(/`/, "", title)
        printf "%s \"%s\"\n", level - (only == "" ? 0 : on_level) <= 2 ? ".SH" : ".SS", escape(title)
    }
    fresh = 1
    next
}
!is_on { next }
/^\|[ :|-]*$/ { header = ""; next }
/^\|/ {
    leave()
    if (state_before != "table") {
        state_before = "table"
        next # the heads of the columns
    }
    row($0)
    fresh = 1
    next
}
{ state_before = "" }
/^    / && (state == "drawing" || blank || fresh) {
    if (state != "drawing") {
        draw()
    }
    while (held-- > 0)
        print ""
    held = 0
    put(escape(substr($0, 5)))
    next
}
/^[ \t]*$/ {
    if (state == "drawing")
        held++
    else
        blank = 1
    next
}
/^[*-] / {
    leave()
    print ".IP \\(bu 2"
    put(inline(substr($0, 3)))
    blank = fresh = held = 0
    next
}
{
    held = 0
    if (state == "drawing") {
        leave()
        print ".PP"
    } else if (blank && !fresh)
        print ".PP"
    blank = fresh = 0
    sub(/^ +/, "")
    put(inline($0))
}
END { leave() }
