# Lists the small mistakes that can be planted in C sources: one line for each,
#
#     ID <tab> file <tab> line <tab> mistake <tab> the line as it is <tab> the line with the mistake
#
# An ID is made of the file, the mistake and the text of the line, so it stays when other lines come
# or go. Lines outside of functions, comments, strings, assertions and preprocessor lines are left.
# So are two boundaries that change nothing: `offset >= size || bytes > size - offset`, where the
# second half refuses the first offset behind the end as well, and `if (bytes > most)` with
# `bytes = most;` behind it, which gives the value that is there.
# The mistakes:
#
#     boundary     < for <=, <= for <, > for >=, >= for >
#     equality     == for !=, != for ==
#     connective   && for ||, || for &&
#     sign         + for -, - for +, += for -=, -= for +=
#     off-by-one   "+ 1" or "- 1" is missing
#     never        the condition of an if is false
#     always       the condition of an if is true
#     negation     a "!" is missing
#     no-call      a call whose result nobody takes is missing
#     no-store     an assignment to a member is missing
#     answer       true for false, false for true; success for an error
#     extremum     min for max, max for min
#     flow         break for continue

function hash(text,    i, h) {
    h = 5381
    for (i = 1; i <= length(text); i++)
        h = (h * 33 + code_of[substr(text, i, 1)]) % 268435399
    return h
}

function plant(mistake, mutated,    key, text) {
    text = $0
    sub(/^ +/, "", text)
    key = FILENAME "|" mistake "|" text "|" mutated
    sub(/\|  +/, "|", key)
    key = key "|" ++times[key]
    printf "%07x\t%s\t%d\t%s\t%s\t%s\n", hash(key), FILENAME, FNR, mistake, $0, mutated
}

# The expression that ends in front of the place, or begins behind it: a name with its members.
function operand_before(at,    text) {
    text = substr(code, 1, at - 1)
    return match(text, /[A-Za-z_0-9.>-]+$/) ? substr(text, RSTART) : "?"
}

function operand_behind(at,    text) {
    text = substr(code, at)
    return match(text, /^[A-Za-z_0-9.>-]+/) ? substr(text, 1, RLENGTH) : "?"
}

# Whether the boundary at the place changes nothing.
function is_covered(at, operator,    left, right, rest, following) {
    left = operand_before(at)
    right = operand_behind(at + length(operator))
    following = code_of_line(source[FNR + 1])
    sub(/^ +/, "", following)
    rest = substr(code, at) " " following
    if (index(operator, ">"))
        return index(rest, " > " right " - " left) || index(rest, " >= " right " - " left) ||
               (code ~ /^ +(else )?if \(/ && index(following, left " = " right ";") == 1)
    return index(rest, " <= " right " - " left) || index(rest, " < " right " - " left) ||
           (code ~ /^ +(else )?if \(/ && index(following, left " = " right ";") == 1)
}

# Every place of `old` in the code of this line, replaced by `new`.
function replace(mistake, old, new,    from, at) {
    from = 1
    while ((at = index(substr(code, from), old)) > 0) {
        at += from - 1
        if (mistake != "boundary" || !is_covered(at, old))
            plant(mistake, substr($0, 1, at - 1) new substr($0, at + length(old)))
        from = at + length(old) - 1
    }
}

# The code of a line: comments and strings become dots, so that places stay.
function code_of_line(line,    out, i, c, two, in_string) {
    out = ""
    for (i = 1; i <= length(line); i++) {
        c = substr(line, i, 1)
        two = substr(line, i, 2)
        if (in_comment) {
            out = out "."
            if (two == "*/") { out = out "."; i++; in_comment = 0 }
        } else if (in_string != "") {
            out = out "."
            if (c == "\\") { out = out "."; i++ }
            else if (c == in_string) in_string = ""
        } else if (two == "/*") {
            out = out ".."
            i++
            in_comment = 1
        } else if (c == "\"" || c == "'") {
            out = out "."
            in_string = c
        } else
            out = out c
    }
    return out
}

# The end of the condition of an if that begins at `at`, or 0 when the condition goes on in the next line.
function condition_end(at,    depth, i, c) {
    for (i = at; i <= length(code); i++) {
        c = substr(code, i, 1)
        if (c == "(") depth++
        if (c == ")" && --depth == 0) return i
    }
    return 0
}

function plant_conditions(    at, end, inner) {
    if ((at = index(code, "if (")) == 0 || !(end = condition_end(at + 3))) return
    inner = substr($0, at + 4, end - at - 4)
    plant("never", substr($0, 1, at + 3) "false && (" inner ")" substr($0, end))
    plant("always", substr($0, 1, at + 3) "true || (" inner ")" substr($0, end))
}

function plant_negation(    i) {
    for (i = 1; i < length(code); i++)
        if (substr(code, i, 1) == "!" && substr(code, i + 1, 1) ~ /[a-z(]/)
            plant("negation", substr($0, 1, i - 1) substr($0, i + 1))
}

BEGIN { for (i = 1; i < 256; i++) code_of[sprintf("%c", i)] = i }
FNR == 1 {
    in_comment = in_function = 0
    for (lines = 0; (getline text_of_line < FILENAME) > 0; ) source[++lines] = text_of_line
    close(FILENAME)
    source[lines + 1] = ""
}
/^#/ { next }
{ code = code_of_line($0) }
/^{/ { in_function = 1; next }
/^}/ { in_function = 0; next }
!in_function || code ~ /ASSERT|^ *(case|default)|unreachable/ { next }
{
    replace("boundary", " < ", " <= ")
    replace("boundary", " <= ", " < ")
    replace("boundary", " > ", " >= ")
    replace("boundary", " >= ", " > ")
    replace("equality", " == ", " != ")
    replace("equality", " != ", " == ")
    replace("connective", " &&", " ||")
    replace("connective", " ||", " &&")
    replace("sign", " + ", " - ")
    replace("sign", " - ", " + ")
    replace("sign", " += ", " -= ")
    replace("sign", " -= ", " += ")
    replace("off-by-one", " + 1)", ")")
    replace("off-by-one", " - 1)", ")")
    replace("off-by-one", " + 1;", ";")
    replace("off-by-one", " - 1;", ";")
    replace("extremum", "min_u64(", "max_u64(")
    replace("extremum", "max_u64(", "min_u64(")
    replace("answer", "return true;", "return false;")
    replace("answer", "return false;", "return true;")
    replace("flow", "continue;", "break;")
    plant_conditions()
    plant_negation()
}
code ~ /^ +[a-z_][a-z_0-9]*\(.*\);$/ && code !~ /^ +(return|sizeof|va_|check_|CHECK_)/ {
    plant("no-call", "(void)0;")
}
code ~ /^ +[a-z_][a-z_0-9]*(->|\.)[a-zA-Z_0-9.>-]+ [|+-]?= .*;$/ { plant("no-store", "(void)0;") }
code ~ /return STATUS_[A-Z_]+;/ && code !~ /STATUS_SUCCESS/ {
    mutated = $0
    sub(/STATUS_[A-Z_]+/, "STATUS_SUCCESS", mutated)
    plant("answer", mutated)
}
