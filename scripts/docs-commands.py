#!/usr/bin/env python3
"""Plays the commands of README.md and docs/, so that none is out of date.

    scripts/docs-commands.py PROGRAM [--list]

A command is `drydock ...` in a drawing (fenced or indented) or between backquotes. Of each one the
verb and every option have to be in --help. One of a drawing that names files that are there, or
that an earlier command made, is played, in a folder of its own that sees cases/, examples/ and the
rest of the source: with 2 seeds where a campaign is meant, and a minute at most. A command must not
end with status 2 or 3: that is a wrong command line, or a defect of ours. --list tells what is done
with each, and plays nothing.
"""
import os
import re
import shlex
import subprocess
import sys
import tempfile

SOURCE = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
# Never played here: they take long, serve, build with other tools, or replace what is there.
NOT_PLAYED = {
    "bench": "measures",
    "exec": "needs an application",
    "cc": "needs clang and lld",
    "zoo": "takes minutes",
    "shrink": "takes minutes",
    "ops": "takes minutes",
    "watch": "does not end",
}
LEAST_PLAYED = 15


def blocks(text):
    """(line number, line) of drawings, then what stands between backquotes."""
    fenced = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            fenced = not fenced
        elif fenced or line.startswith("    "):
            yield number, line.strip(), True
        else:
            for found in re.finditer(r"`((?:\$ )?(?:build/release/)?drydock [^`]+)`", line):
                yield number, found.group(1), False


def commands(text):
    joined, begun = "", 0
    for number, line, is_drawn in blocks(text):
        if joined:
            line = joined + " " + line
            joined = ""
        else:
            begun = number
        if is_drawn and line.endswith("\\"):
            joined = line[:-1].strip()
            continue
        line = re.sub(r"^\$ ", "", line)
        found = re.match(r"(?:build/release/)?drydock ([a-z].*)", line)
        if not found:
            continue
        # Words for people stand behind two blanks or more.
        command = re.split(r"\s{2,}", found.group(1))[0].strip()
        command = re.sub(r"[;,.]$", "", command)
        try:
            words = shlex.split(command, comments=True)
        except ValueError:
            continue
        # What a shell does with it is not looked at.
        for i, word in enumerate(words):
            if re.fullmatch(r"&&|[|;&]", word) or re.match(r"2?>", word):
                words = words[:i]
                break
        if words:
            yield begun, words, is_drawn


def is_form(word):
    """A word that stands for something: NAME, DIR, FILE.json, [options], ..., <n>."""
    return bool(
        re.search(r"\.\.\.|[\[\]<>|*]", word)
        or re.fullmatch(r"(.*[=/,:])?[A-Z][A-Z0-9_]+(\.\w+|/.*)?", word)
        and not re.fullmatch(r"[A-Z]+-(\d+|\*)|[A-Z]\d+.*|PB|PT|VA|D\d.*", word)
    )


def is_whole(words):
    """A command within a sentence that can be played: it has an argument that is no option."""
    return any(not word.startswith("-") for word in words[1:2])


class Player:
    def __init__(self, program):
        self.program = os.path.abspath(program)
        self.help = {}
        self.failures = 0
        self.counts = {"played": 0, "not played": 0}
        listed = self.run(["--help"]).stdout
        self.verbs = set(re.findall(r"^  drydock (\w+)", listed, re.M)) - {"VERB"}
        self.lists = "--list" in sys.argv

    def run(self, words, folder=None):
        return subprocess.run(
            [self.program] + words,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=120,
            errors="replace",
        )

    def fail(self, place, words, why):
        print(f"FAILED: {place}: drydock {shlex.join(words)}: {why}")
        self.failures += 1

    def options_of(self, verb):
        if verb not in self.help:
            said = self.run([verb, "--help"]).stdout
            self.help[verb] = (
                set(re.findall(r"--([a-z][a-z0-9-]+)", said)),
                set(re.findall(r"^  -(\w)[, ]", said, re.M)),
            )
        return self.help[verb]

    def is_right(self, place, words):
        verb = words[0]
        if verb in ("help", "version"):
            return True
        begun = [name for name in self.verbs if name.startswith(verb)]
        if len(begun) == 1:
            verb = begun[0]
        if verb not in self.verbs:
            self.fail(place, words, "there is no such verb")
            return False
        if verb == "cc":
            return True  # the rest is the compiler's
        names, letters = self.options_of(verb)
        for word in words[1:]:
            found = re.match(r"--([a-z][a-z0-9-]*)", word)
            if word == "--":
                break
            if found and not any(name.startswith(found.group(1)) for name in names):
                self.fail(place, words, f"there is no option --{found.group(1)}")
                return False
            if re.match(r"-[a-zA-Z]", word) and word[1] not in letters:
                self.fail(place, words, f"there is no option {word}")
                return False
        return True

    def why_not(self, words, folder):
        """Why the command is not played; "": it is."""
        if words[0] == "zoo" and "--list" in words:
            return ""
        if words[0] in NOT_PLAYED:
            return NOT_PLAYED[words[0]]
        before = ""
        for word in words[1:]:
            if is_form(word):
                return f"{word} stands for something"
            is_made = before in (
                "-o",
                "--out",
                "--db",
                "--findings",
                "--junit",
                "--sarif",
                "--calls",
                "--update-baseline",
            )
            is_path = "/" in word or re.search(
                r"\.(case|trace|json|rmv|sys|so|ddr|txt|toml|html|sarif|xml)$", word
            )
            if (
                is_path
                and not is_made
                and not word.startswith("-")
                and "=" not in word
                and not os.path.exists(os.path.join(folder, word))
            ):
                return f"no {word}"
            before = word
        if words[0] in ("report", "trace", "merge", "replay", "query") and len(words) > 1:
            for word in words[1:2] if words[0] == "query" else words[1:]:
                if not word.startswith("-") and not os.path.exists(os.path.join(folder, word)):
                    return f"no {word}"
        return ""

    def play(self, place, words, folder):
        short = list(words)
        for i, word in enumerate(short[:-1]):
            if word in ("--seeds", "-n"):
                short[i + 1] = "2"
        if short[0] == "check" and not {"--seeds", "-n"} & set(short):
            short += ["--seeds", "2"]
        if short[0] == "check":
            short += ["--jobs", "1", "--shrink-seconds", "1"]
            if {"-o", "--out"} & set(short) and not {"--resume", "--rerun-failed"} & set(short):
                short += ["--force"] if "--force" not in short else []
        if short[0] == "doctor":
            short += ["--seconds", "0"]
        try:
            result = self.run(short, folder)
        except subprocess.TimeoutExpired:
            self.fail(place, words, "does not end within two minutes")
            return
        self.counts["played"] += 1
        if "reports were left out of this build" in result.stdout:
            return  # no node here
        if result.returncode not in (0, 1):
            self.fail(place, short, f"ends with {result.returncode}: {result.stdout[-300:]}")


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    player = Player(sys.argv[1])
    pages = ["README.md"] + sorted(
        "docs/" + name for name in os.listdir(os.path.join(SOURCE, "docs")) if name.endswith(".md")
    )
    seen = set()
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            for name in ("cases", "examples", "docs", "data", "zoo", "tests"):
                os.symlink(os.path.join(SOURCE, name), os.path.join(folder, name))
            with open(os.path.join(SOURCE, page), encoding="utf-8") as text:
                text = text.read()
            for number, words, is_drawn in commands(text):
                place = f"{page}:{number}"
                if not player.is_right(place, words):
                    continue
                why = (
                    player.why_not(words, folder)
                    if is_drawn or is_whole(words)
                    else "a sentence names it"
                )
                if not why and tuple(words) in seen and not {"-o", "--out"} & set(words):
                    continue
                seen.add(tuple(words))
                if why:
                    player.counts["not played"] += 1
                if player.lists:
                    print(
                        f"{place}: drydock {shlex.join(words)}: "
                        f"{'not played: ' + why if why else 'played'}"
                    )
                elif not why:
                    player.play(place, words, folder)
    if player.lists:
        return 0
    if player.counts["played"] < LEAST_PLAYED:
        print(
            f"FAILED: {player.counts['played']} commands were played "
            f"(expected {LEAST_PLAYED} or more)"
        )
        player.failures += 1
    print(
        f"{player.counts['played']} commands played, {player.counts['not played']} looked at alone, "
        f"{player.failures} wrong"
    )
    return 1 if player.failures else 0


sys.exit(main())
