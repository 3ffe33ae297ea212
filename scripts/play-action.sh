#!/bin/sh
# Plays the steps of action.yml on this machine, as a runner would: those with a command, in their order, with the
# inputs in their environment. Steps that use other actions (cache, upload) are named and left out.
#
#     scripts/play-action.sh [NAME=VALUE...]       in the folder of a driver; inputs of action.yml
#
# HOME is kept as it is: the build goes to ~/.cache/drydock-action. The exit status is that of the last step.
set -eu
here=$(cd "$(dirname "$0")/.." && pwd)
command -v python3 >/dev/null && python3 -c 'import yaml' 2>/dev/null ||
    { echo "skipped: python3 has no yaml (Debian: python3-yaml)"; exit 0; }
exec python3 - "$here" "$@" <<'END'
import os, re, subprocess, sys, tempfile
import yaml

here = sys.argv[1]
action = yaml.safe_load(open(os.path.join(here, "action.yml"), encoding="utf-8"))
inputs = {name: str(what.get("default", "")) for name, what in action["inputs"].items()}
for argument in sys.argv[2:]:
    name, equals, value = argument.partition("=")
    if not equals or name not in inputs:
        sys.exit(f"play-action: '{argument}' is no input (expected one of {', '.join(inputs)} as NAME=VALUE)")
    inputs[name] = value
work = tempfile.mkdtemp()
files = {name: os.path.join(work, name) for name in ("GITHUB_OUTPUT", "GITHUB_PATH", "GITHUB_STEP_SUMMARY")}
for path in files.values():
    open(path, "w").close()
outputs = {}
path = os.environ["PATH"]


def value_of(expression):
    expression = expression.strip()
    if expression.startswith("inputs."):
        return inputs[expression[7:]]
    if expression == "github.action_path":
        return here
    found = re.fullmatch(r"steps\.([\w-]+)\.outputs\.([\w-]+)", expression)
    if found:
        return outputs.get(found.group(1), {}).get(found.group(2), "")
    sys.exit(f"play-action: '{expression}' is more than this script knows")


def fill(text):
    return re.sub(r"\$\{\{(.*?)\}\}", lambda found: value_of(found.group(1)), str(text))


def is_on(step):
    condition = re.sub(r"^\$\{\{(.*)\}\}$", r"\1", str(step.get("if", ""))).strip()
    if not condition:
        return True
    found = re.fullmatch(r"inputs\.(\w+) != ''", condition)
    if not found:
        sys.exit(f"play-action: the condition '{condition}' is more than this script knows")
    return inputs[found.group(1)] != ""


for step in action["runs"]["steps"]:
    name = step["name"]
    if "uses" in step:
        owner, at, pin = step["uses"].partition("@")
        if not re.fullmatch(r"[0-9a-f]{40}", pin):
            sys.exit(f"play-action: {owner} is not pinned to a commit")
        print(f"-- {name}: left out ({owner})", flush=True)
        continue
    if not is_on(step):
        print(f"-- {name}: not asked for", flush=True)
        continue
    print(f"-- {name}", flush=True)
    if step.get("shell") != "bash":
        sys.exit(f"play-action: '{name}' has no shell")
    environment = dict(os.environ, PATH=path, **files)
    environment.update({key: fill(text) for key, text in step.get("env", {}).items()})
    if "${{" in step["run"]:
        sys.exit(f"play-action: '{name}' has an input in its command: it belongs in env")
    status = subprocess.run(["bash", "-eo", "pipefail", "-c", step["run"]], env=environment).returncode
    if "id" in step:
        lines = open(files["GITHUB_OUTPUT"], encoding="utf-8").read().splitlines()
        outputs[step["id"]] = dict(line.split("=", 1) for line in lines if "=" in line)
    added = open(files["GITHUB_PATH"], encoding="utf-8").read().splitlines()
    path = ":".join(added[::-1] + [os.environ["PATH"]])
    if status:
        print(f"-- {name}: exit status {status}", flush=True)
        sys.exit(status)
END
