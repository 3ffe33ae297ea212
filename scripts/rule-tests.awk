# Lists the rules that have a pair of tests in the files named: RULE_TESTED(identifier) for each. A macro
# at the start of a line that has BROKEN or KEPT in its name makes one half (src/check/rig/test_rig.h);
# one that has PAIR in its name, anywhere, stands for both.

function tested(identifier)
{
    if (!seen[identifier]++)
        print "RULE_TESTED(" identifier ")"
}

{
    line = $0
    while (match(line, /[A-Z_]*PAIR[A-Z_]*\([A-Z]+_[0-9]+/)) {
        identifier = substr(line, RSTART, RLENGTH)
        sub(/.*\(/, "", identifier)
        tested(identifier)
        line = substr(line, RSTART + RLENGTH)
    }
}

/^[A-Z_]*(BROKEN|KEPT)[A-Z_]*\([A-Z]+_[0-9]+/ {
    identifier = $0
    sub(/^[A-Z_]*\(/, "", identifier)
    sub(/[^A-Z_0-9].*/, "", identifier)
    if ($0 ~ /^[A-Z_]*BROKEN/)
        broken[identifier] = 1
    else
        kept[identifier] = 1
    if (broken[identifier] && kept[identifier])
        tested(identifier)
}
