# Makes, of the headers in include/wdk, the table of what the parameters of kernel services are called:
# SERVICE_ROW("KeSetEvent", "*Event,Increment,Wait") and CALLBACK_ROW(DxgkCbMapMemory, "DeviceHandle,...") for
# src/nt/machine/service_fault.c and src/bench/drivers/driver_image.c. A star marks what is a pointer by its type.

BEGIN { RS = ";" }

# The text behind an opening parenthesis at "start", up to the one that closes it.
function inside(text, start,    depth, i, c) {
    depth = 1
    for (i = start; i <= length(text); i++) {
        c = substr(text, i, 1)
        if (c == "(")
            depth++
        else if (c == ")" && --depth == 0)
            return substr(text, start, i - start)
    }
    return ""
}

function name_of(parameter,    type, name, is_pointer) {
    if (match(parameter, /\([^()]*\*[ A-Za-z_]*\)/)) { # a function: its name stands in parentheses
        name = substr(parameter, RSTART, RLENGTH)
        gsub(/NTAPI|APIENTRY|[()* ]/, "", name)
        return "*" name
    }
    gsub(/\[[^\]]*\]/, "*", parameter)
    is_pointer = parameter ~ /\*/
    gsub(/\*/, " ", parameter)
    gsub(/^ +| +$/, "", parameter)
    if (!match(parameter, /[A-Za-z_0-9]+$/) || RSTART == 1)
        return parameter == "VOID" || parameter == "void" || parameter == "..." ? "" : "?"
    name = substr(parameter, RSTART)
    type = substr(parameter, 1, RSTART - 1)
    gsub(/(IN|OUT|INOUT|IN_OUT)_|CONST_|const |volatile |struct | /, "", type)
    if (type ~ /^(P|LP)[A-Z]/ && type !~ /^(PHYSICAL_|POOL_|PFN_|POWER_|PROCESS|PRIORITY)/)
        is_pointer = 1
    return (is_pointer ? "*" : "") name
}

function names(list,    i, c, depth, part, result, one) {
    depth = 0
    part = ""
    result = ""
    for (i = 1; i <= length(list) + 1; i++) {
        c = i > length(list) ? "," : substr(list, i, 1)
        if (c == "," && (depth == 0 || i > length(list))) {
            one = name_of(part)
            if (one != "")
                result = result (result == "" ? "" : ",") one
            part = ""
            continue
        }
        depth += (c == "(") - (c == ")")
        part = part c
    }
    return result
}

{
    while (match($0, /\/\*([^*]|\*+[^*\/])*\*+\//))
        $0 = substr($0, 1, RSTART - 1) " " substr($0, RSTART + RLENGTH)
    gsub(/#[^\n]*/, " ")
    gsub(/[ \t\r\n]+/, " ")
}

/typedef/ && match($0, /\( ?APIENTRY \*[A-Z0-9_]+\)\(/) {
    type = substr($0, RSTART, RLENGTH)
    gsub(/.*\*|\)\(/, "", type)
    of_type[type] = names(inside($0, RSTART + RLENGTH))
    next
}

match($0, /NTAPI \*?[A-Za-z_][A-Za-z0-9_]*\(/) && $0 !~ /typedef|#define/ {
    service = substr($0, RSTART + 6, RLENGTH - 7)
    gsub(/[* ]/, "", service)
    if (!(service in seen))
        printf "SERVICE_ROW(\"%s\", \"%s\")\n", service, names(inside($0, RSTART + RLENGTH))
    seen[service] = 1
}

match($0, /DXGKCB_[A-Z0-9_]+ DxgkCb[A-Za-z0-9]+ *$/) {
    split(substr($0, RSTART, RLENGTH), word, " ")
    if (!(word[2] in seen))
        callbacks[++count] = word[2]
    seen[word[2]] = 1
    type_of[word[2]] = word[1]
}

END {
    for (i = 1; i <= count; i++)
        printf "CALLBACK_ROW(%s, \"%s\")\n", callbacks[i], of_type[type_of[callbacks[i]]]
}
