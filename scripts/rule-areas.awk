# Makes the areas of src/check/rules/rule_examples.c from the table of counts in data/ddi/contract.md:
# AREA("PB", "Paging buffer: packing, size, ...").

BEGIN { FS = " \\| " }

/^## / { is_counts = $0 == "## Counts" }

is_counts && /^\| [A-Z]+ \|/ && NF == 5 {
    area = $1
    sub(/^\| /, "", area)
    gsub(/"/, "\\\"", $2)
    printf "AREA(\"%s\", \"%s\")\n", area, $2
    areas++
}

END {
    if (areas < 30) {
        print "rule-areas.awk: " areas " areas, expected at least 30" > "/dev/stderr"
        exit 1
    }
}
