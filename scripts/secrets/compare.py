"""Compares the search for secrets of agentos with that of detect-secrets, on the same lines.

    python3.11 scripts/secrets/compare.py [--agentos target/debug/agentos] [--clean FOLDER]...

Creates `.venv-secrets` if there is none (detect-secrets 1.5.0 and rstr). The strings are generated from detect-secrets'
own rules, a fixed number for each rule, so that it finds all of them by construction. Each is the only line of a file.
The lines of FOLDER (this repository's `crates` and `scripts` by default) count as free of secrets. Prints recall and
false alarms of both, rule by rule. Uses the standard library and these packages only.
"""
import argparse
import importlib
import json
import os
import pathlib
import pkgutil
import random
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
EACH = 20
# Not credentials by their form, or found by what stands around them: no strings can be made from these rules.
LEFT_OUT = {"IPPublicDetector", "KeywordDetector", "Base64HighEntropyString", "HexHighEntropyString"}


def inside():
    """Starts itself again in the environment that has the package."""
    venv = TOP / ".venv-secrets"
    python = venv / "bin/python"
    if pathlib.Path(sys.prefix) == venv:
        return
    if not python.exists():
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        subprocess.run([venv / "bin/pip", "install", "--quiet", "-r", HERE / "requirements.txt"], check=True)
    os.execv(python, [str(python), __file__, *sys.argv[1:]])


def detectors():
    """Returns the detectors of detect-secrets that search with patterns."""
    import detect_secrets.plugins as plugins
    from detect_secrets.plugins.base import RegexBasedDetector
    found = {}
    for module in pkgutil.iter_modules(plugins.__path__):
        for name, kind in vars(importlib.import_module(f"detect_secrets.plugins.{module.name}")).items():
            if isinstance(kind, type) and issubclass(kind, RegexBasedDetector) and name not in LEFT_OUT:
                if isinstance(getattr(kind, "denylist", None), (list, tuple)):
                    found[name] = kind()
    return found


def made(found):
    """Returns lines by rule, generated from the rule's own patterns and kept if the rule finds them."""
    import rstr
    maker = rstr.Rstr(random.Random(20261121))
    lines = {}
    for name, detector in sorted(found.items()):
        kept = []
        for attempt in range(EACH * 50):
            pattern = detector.denylist[attempt % len(detector.denylist)]
            text = maker.xeger(pattern)
            line = f'value = "{text.strip()}"' if attempt % 2 else text.strip()
            plain = line.isprintable() and line.isascii() and line not in kept
            if plain and list(detector.analyze_string(line)) and len(kept) < EACH:
                kept.append(line)
        lines[name] = kept
    return lines


def by_detect_secrets(found, line):
    """Returns true if detect-secrets finds a secret in the line."""
    return any(list(detector.analyze_string(line)) for detector in found.values())


def by_agentos(agentos, lines):
    """Returns the numbers of the lines that the floor denies for a secret, each line as a new file."""
    denied = set()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        git = ["git", "-C", folder, "-c", "user.name=A", "-c", "user.email=a@example.com"]
        subprocess.run(git + ["init", "-q"], check=True)
        subprocess.run(git + ["commit", "-q", "--allow-empty", "-m", "begin"], check=True)
        for start in range(0, len(lines), 2000):
            some = lines[start:start + 2000]
            diff = "".join(
                f"--- /dev/null\n+++ b/l/{start + at}.txt\n@@ -0,0 +1 @@\n+{line}\n" for at, line in enumerate(some))
            output = subprocess.run(
                [agentos, "policy", "check", "-", "--json"], cwd=folder, input=diff, capture_output=True, text=True)
            answer = json.loads(output.stdout)
            for reason in answer["decision"]["reasons"]:
                if reason["rule"] == "floor.secrets" and "path" in reason:
                    denied.add(int(reason["path"][2:-4]))
    return denied


def clean_lines(folders):
    """Yields the lines of the text files in some folders."""
    for folder in folders:
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix in {".rs", ".py", ".toml", ".md", ".json", ".sh"}:
                for line in path.read_text(errors="replace").splitlines():
                    if line.strip() and line.isprintable():
                        yield line


def main():
    """Compares both and prints the table."""
    inside()
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--agentos", default=TOP / "target/debug/agentos", type=pathlib.Path)
    arguments.add_argument("--clean", action="append", type=pathlib.Path)
    given = arguments.parse_args()
    agentos = given.agentos.resolve()
    found = detectors()
    lines = made(found)
    flat = [(rule, line) for rule, several in lines.items() for line in several]
    denied = by_agentos(agentos, [line for _, line in flat])
    print(f"{'rule of detect-secrets':32} lines  agentos")
    for rule, several in lines.items():
        of_rule = [at for at, (name, _) in enumerate(flat) if name == rule]
        print(f"{rule:32} {len(several):5}  {sum(at in denied for at in of_rule):7}")
    print(f"{'all':32} {len(flat):5}  {len(denied):7}")
    clean = list(dict.fromkeys(clean_lines(given.clean or [TOP / "crates", TOP / "scripts"])))
    theirs = sum(by_detect_secrets(found, line) for line in clean)
    ours = len(by_agentos(agentos, clean))
    print(f"false alarms in {len(clean)} different lines: detect-secrets {theirs}, agentos {ours}")


if __name__ == "__main__":
    main()
