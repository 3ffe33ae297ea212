# Makes the rule table of src/check/rules/rules.c from data/ddi/contract.md:
# RULE(identifier, "id", side, "sentence", "check", "violation", "versions", "source", basis, tier)
# for each row of its tables that has nine cells and an id.

BEGIN { FS = " \\| " }

function quoted(text) {
    gsub(/\\/, "\\\\", text)
    gsub(/"/, "\\\"", text)
    return "\"" text "\""
}

/^\| [A-Z]+-[0-9][0-9][0-9] \|/ && NF == 9 {
    id = $1
    sub(/^\| /, "", id)
    identifier = id
    gsub(/-/, "_", identifier)
    tier = $9
    gsub(/[^0-9]/, "", tier)
    printf "RULE(%s, %s, RULE_SIDE_%s, %s, %s, %s, %s, %s, RULE_BASIS_%s, %s)\n", identifier,
        quoted(id), toupper($2), quoted($3), quoted($4), quoted($5), quoted($6), quoted($7),
        toupper($8), tier
    rules++
}

END {
    if (rules < 505) {
        print "rule-table.awk: " rules " rules, expected at least 505" > "/dev/stderr"
        exit 1
    }
}
