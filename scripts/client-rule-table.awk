# Makes the table of src/report/client_catalogue.c from data/d3dkmt/contract.md:
# CLIENT_RULE("id", "sentence", "source", BASIS, STATE, "note")
# for each row of its table. STATE: YES, ADVICE or NO; the note is what stands behind it: what a run needs, or why no
# run judges it.

BEGIN { FS = " \\| " }

function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}

/^\| KMT-[0-9][0-9][0-9] \|/ && NF == 5 {
    id = $1
    sub(/^\| /, "", id)
    state = note = $5
    sub(/ \|$/, "", note)
    sub(/[^a-z].*/, "", state)
    sub(/^[a-z]+[:,]? ?/, "", note)
    if (note ~ /^\(.*\)$/)
        note = substr(note, 2, length(note) - 2)
    printf "CLIENT_RULE(%s, %s, %s, %s, %s, %s)\n", quoted(id), quoted($2), quoted($3), toupper($4),
        toupper(state), quoted(note)
    rules++
}

END {
    if (rules < 68) {
        print "client-rule-table.awk: " rules " rules, expected at least 68" > "/dev/stderr"
        exit 1
    }
}
