#!/usr/bin/env python3
"""JUnit files against what Jenkins takes: the elements, attributes and orders that the public schema
of its xUnit plugin (junit-10.xsd) allows, written down as tables. Usage: junit_valid.py FILE..."""
import re
import sys
import xml.etree.ElementTree as tree

TIME = re.compile(r"(([0-9]{0,3},)*[0-9]{3}|[0-9]{0,3})*(\.[0-9]*)?\Z")
NUMBER = re.compile(r"[0-9]+\Z")
TEXT = re.compile(r".*\Z", re.S)
# element: its attributes (a star: must be there), its children, whether it has text
FORMS = {
    "testsuites": (
        {"name": TEXT, "time": TIME, "tests": NUMBER, "failures": NUMBER, "errors": NUMBER},
        {"testsuite"},
        False,
    ),
    "testsuite": (
        {
            "name*": TEXT,
            "tests*": NUMBER,
            "failures*": NUMBER,
            "errors*": NUMBER,
            "group": TEXT,
            "time": TIME,
            "skipped": NUMBER,
            "timestamp": TEXT,
            "hostname": TEXT,
            "id": TEXT,
            "package": TEXT,
            "file": TEXT,
            "log": TEXT,
            "url": TEXT,
        },
        {"testsuite", "properties", "testcase", "system-out", "system-err"},
        False,
    ),
    "testcase": (
        {"name*": TEXT, "time": TEXT, "classname": TEXT, "group": TEXT},
        {
            "skipped",
            "error",
            "failure",
            "rerunFailure",
            "rerunError",
            "flakyFailure",
            "flakyError",
            "system-out",
            "system-err",
        },
        False,
    ),
    "properties": ({}, {"property"}, False),
    "property": ({"name*": TEXT, "value*": TEXT}, set(), False),
    "failure": ({"type": TEXT, "message": TEXT}, set(), True),
    "error": ({"type": TEXT, "message": TEXT}, set(), True),
    "skipped": ({"type": TEXT, "message": TEXT}, set(), True),
    "system-out": ({}, set(), True),
    "system-err": ({}, set(), True),
}


def complaints(element, names):
    if element.tag not in FORMS:
        yield f"unknown element {element.tag}"
        return
    attributes, children, has_text = FORMS[element.tag]
    known = {name.rstrip("*"): form for name, form in attributes.items()}
    for name, value in element.attrib.items():
        if name not in known:
            yield f"{element.tag} has no attribute {name}"
        elif not known[name].match(value):
            yield f'{element.tag} {name}="{value}"'
    for name in attributes:
        if name.endswith("*") and name[:-1] not in element.attrib:
            yield f"{element.tag} without {name[:-1]}"
    if not has_text and (element.text or "").strip():
        yield f"text in {element.tag}"
    if element.tag == "testsuite":
        names = set()
        cases = list(element.iter("testcase"))
        for attribute, wanted in (
            ("tests", len(cases)),
            ("failures", len(list(element.iter("failure")))),
            ("skipped", len(list(element.iter("skipped")))),
        ):
            if int(element.attrib.get(attribute, wanted)) != wanted:
                yield f'{attribute}="{element.attrib[attribute]}" of {wanted}'
    if element.tag == "testcase":
        name = (element.attrib.get("classname"), element.attrib.get("name"))
        if name in names:
            yield f"two test cases are called {name}"
        names.add(name)
        if not re.fullmatch(r"[A-Za-z0-9-]+", name[1] or ""):
            yield f"{name[1]!r} is no stable name"
    for child in element:
        if child.tag not in children:
            yield f"{child.tag} in {element.tag}"
        yield from complaints(child, names)


def main():
    failures = 0
    for path in sys.argv[1:]:
        root = tree.parse(path).getroot()
        wrong = list(complaints(root, set()))
        if root.tag not in ("testsuites", "testsuite"):
            wrong.append(f"the root is {root.tag}")
        for complaint in wrong:
            print(f"{path}: {complaint}")
        failures += len(wrong)
    return 1 if failures or len(sys.argv) < 2 else 0


sys.exit(main())
