#!/usr/bin/env python3
"""Holds the figures of README.md and docs/ that the program itself can tell.

    scripts/docs-figures.py PROGRAM

DRAWINGS are what a command prints, as a page shows it. The page leaves rows out, cuts a row at
"...", and folds lines: each of its lines has to be in what the command prints, in the order of the
page, white space aside. COUNTS are numbers within a sentence. The table of docs/zoo.md has a row
for each defect and model, and README.md counts these rows. Other figures that are measured (times,
ratios) are not looked at here: `make bench-check` has bounds for them. Exit status 1: a page is out
of date; its line and what the program says are printed.
"""
import json
import os
import re
import subprocess
import sys
import tempfile
from itertools import zip_longest
from statistics import median

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))

# Page, first line of the drawing (or of what is looked at in it), lines, command.
DRAWINGS = [
    (
        "README.md",
        "physical (WDDM 1.x)   GpuMmu (WDDM 2.x)",
        9,
        "run cases/main.case --model both --no-out",
    ),
    (
        "README.md",
        "error FILL-005  DxgkDdiBuildPagingBuffer(FILL)",
        13,
        "check --driver zoo:D37-fill-in-dwords --model physical --first-seed 2 --seeds 1"
        " --shrink-seconds 90 -o dock",
    ),
]

# Page, pattern whose groups are the counts, and what the program says they are.
COUNTS = [
    ("README.md", r"each of the (\d+) rules", lambda ask: [len(ask("rules --json")["rules"])]),
    (
        "README.md",
        r"(\d+) of (\d+) in (\d+) rows \((\d+) within eight seeds, the last at seed (\d+)\),"
        r" median (\d+) seed; causes of eight seeds: median (\d+), at most (\d+)",
        lambda ask: zoo_rows(ask),
    ),
    (
        "README.md",
        r"\| (\d+) in (\d+) rows of 300 seeds, 0 accused",
        lambda ask: defects(ask, "--lawful"),
    ),
    (
        "README.md",
        r"of the (\d+) paging operations",
        lambda ask: [len(operations(ask)["operations"])],
    ),
    ("README.md", r"of (\d+) alternatives that the documents", lambda ask: [alternatives(ask)]),
    (
        "docs/your-driver.md",
        r"rules \d+ of (\d+) evaluated",
        lambda ask: [len(ask("rules --json")["rules"])],
    ),
    ("docs/campaigns.md", r"each of the (\d+) alternatives", lambda ask: [alternatives(ask)]),
]


def defects(ask, option):
    """Drivers, and the rows that they have: one for each model."""
    listed = ask(f"zoo --list {option} --json")["defects"]
    return [len(listed), sum(len(defect["models"]) for defect in listed)]


def zoo_rows(ask):
    """What the rows of docs/zoo.md amount to; they are those of the program, in its order."""
    page = open(os.path.join(SOURCE, "docs/zoo.md"), encoding="utf-8").read()
    row = r"    (\S+) +(physical|gpummu|iommu) +(found|NOT FOUND) +(\d+) +\d+ +\S+ +(\d+)!? "
    rows = re.findall(f"^{row}", page, re.MULTILINE)
    listed = ask("zoo --list --json")["defects"]
    wanted = [(defect["id"], model) for defect in listed for model in defect["models"]]
    for said, is_so in zip_longest([found[:2] for found in rows], wanted):
        if said != is_so:
            return [f"docs/zoo.md has the row {said} where the program has {is_so}"]
    found = {r[0] for r in rows if r[2] == "found"}
    seeds, causes = ([int(r[column]) for r in rows] for column in (3, 4))
    is_soon = sum(r[2] == "found" and int(r[3]) <= 8 for r in rows)
    return [len(found), len(listed), len(rows), is_soon, max(seeds)] + [
        int(figure) for figure in (median(seeds), median(causes), max(causes))
    ]


def operations(ask):
    return ask("ops cases/sequences/S-09-multipass.case --json")


def alternatives(ask):
    told = operations(ask)
    return sum(
        len(part["arms"]) for group in ("operations", "structures") for part in told[group].values()
    )


def squeeze(text):
    return " ".join(text.split())


class Pages:
    def __init__(self, program):
        self.program = program
        self.answers = {}
        self.failures = 0

    def output(self, command):
        """What the command prints; it is run once, in a folder that is removed."""
        if command not in self.answers:
            with tempfile.TemporaryDirectory() as folder:
                for name in ("cases", "examples"):
                    os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))
                done = subprocess.run(
                    [self.program, *command.split()],
                    cwd=folder,
                    capture_output=True,
                    text=True,
                    stdin=subprocess.DEVNULL,
                    timeout=300,
                    check=False,
                )
            if done.returncode not in (0, 1):
                sys.exit(f"drydock {command}: exit status {done.returncode}\n{done.stderr}")
            self.answers[command] = done.stdout
        return self.answers[command]

    def ask(self, command):
        return json.loads(self.output(command))

    def fail(self, page, number, said, is_so):
        print(f"{page}:{number}: '{said}' is out of date: {is_so}")
        self.failures += 1

    def hold_drawing(self, page, first, count, command):
        lines = open(os.path.join(SOURCE, page), encoding="utf-8").read().splitlines()
        begins = [i for i, line in enumerate(lines) if squeeze(first) in squeeze(line)]
        if not begins:
            self.fail(page, 1, first, "there is no such drawing")
            return
        printed, at = squeeze(self.output(command)), 0
        for number, line in enumerate(lines[begins[0] : begins[0] + count], begins[0] + 1):
            wanted = squeeze(line.split("...")[0])
            found = printed.find(wanted, at)
            if found < 0:
                self.fail(
                    page, number, wanted, f"'drydock {command}' does not print that, or not there"
                )
            else:
                at = found + len(wanted)

    def hold_counts(self, page, pattern, tell):
        text = open(os.path.join(SOURCE, page), encoding="utf-8").read()
        found = re.search(pattern.replace(" ", r"\s+"), text)
        if not found:
            self.fail(page, 1, pattern, "there is no such sentence")
            return
        said, are = [int(group) for group in found.groups()], tell(self.ask)
        if said != are:
            self.fail(
                page,
                text.count("\n", 0, found.start()) + 1,
                squeeze(found.group(0)),
                f"the program says {are}",
            )


def main():
    if len(sys.argv) != 2 or sys.argv[1].startswith("-"):
        sys.exit(__doc__)
    pages = Pages(os.path.abspath(sys.argv[1]))
    for drawing in DRAWINGS:
        pages.hold_drawing(*drawing)
    for count in COUNTS:
        pages.hold_counts(*count)
    print(f"{len(DRAWINGS)} drawings, {len(COUNTS)} counts: {pages.failures} lines are out of date")
    sys.exit(pages.failures > 0)


main()
