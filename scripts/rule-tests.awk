# Lists the rules whose pair of tests stands in the files named: RULE_TESTED(identifier) for each
# RULE_PAIR(identifier) in them. The macro is that of src/check/rig/test_rig.h.

{
    line = $0
    while (match(line, /RULE_PAIR\([A-Z]+_[0-9]+\)/)) {
        identifier = substr(line, RSTART + 10, RLENGTH - 11)
        if (!seen[identifier]++)
            print "RULE_TESTED(" identifier ")"
        line = substr(line, RSTART + RLENGTH)
    }
}
