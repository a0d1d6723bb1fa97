"""Measures `agentos apply` against its limits: a small change next to git, long answers, and many files.

    python3 scripts/bench/limits.py AGENTOS [--rounds N] [--max-ratio R] [--small]

- small: user and system time of the whole process (`wait4`) for one hunk in one of 1,000 files, with a commit, evidence
  and everything durable, next to `git apply --index` and next to `git apply --index` and `git commit` together. The
  median of N rounds, which take turns.
- long: a diff and search/replace blocks of 2, 5 and 10 MB about one file each.
- many: one hunk in each of 1,000, 2,500 and 5,000 files.

Fails if memory exceeds 256 MiB, if the time for a megabyte or a file grows by more than half from the smallest input
to the largest, or if the small change takes more than R times (default 2) the time of `git apply`.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

MEMORY = 256 << 20
GROWTH = 1.5
IDENTITY = {
    "GIT_AUTHOR_NAME": "bench", "GIT_AUTHOR_EMAIL": "bench@example.org",
    "GIT_COMMITTER_NAME": "bench", "GIT_COMMITTER_EMAIL": "bench@example.org",
}


def run(command, cwd, home):
    """Runs a command. Returns its processor time in seconds and its largest memory in bytes."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home), "LC_ALL": "C", **IDENTITY}
    # A child's memory counts from that of the process that starts it, so a small process starts it.
    measure = [sys.executable, __file__, "--measure", str(home / "out"), *command]
    measured = subprocess.run(measure, cwd=cwd, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    if measured.returncode != 0:
        sys.exit(f"{command} failed: {(home / 'out').read_text(errors='replace')[-2000:]}")
    seconds, memory = measured.stdout.split()
    return float(seconds), int(memory) * 1024


def measure(out, command):
    """Runs a command, and prints its processor time and its largest memory."""
    with open(out, "wb") as place:
        child = subprocess.Popen(command, stdout=place, stderr=place)
        _, status, usage = os.wait4(child.pid, 0)
    child.returncode = os.waitstatus_to_exitcode(status)
    print(usage.ru_utime + usage.ru_stime, usage.ru_maxrss)
    return child.returncode


def repository(folder, files, home):
    """Makes a repository with these files, as pairs of path and text."""
    for path, text in files:
        place = folder / path
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    for command in (["git", "init", "-q"], ["git", "add", "-A"], ["git", "commit", "-q", "-m", "base"]):
        run(command, folder, home)


def rows_of(name, first, end):
    """Returns lines of a text in which every line is different."""
    return "".join(f"line {number:07} of {name}: some words that take room\n" for number in range(first, end))


def text_of(name, lines):
    return rows_of(name, 0, lines)


def hunk_of(name, at):
    """Returns a hunk that changes one line of such a text."""
    above = "".join(f" {line}" for line in rows_of(name, at - 3, at).splitlines(keepends=True))
    below = "".join(f" {line}" for line in rows_of(name, at + 1, at + 4).splitlines(keepends=True))
    row = rows_of(name, at, at + 1)
    return f"@@ -{at - 2},7 +{at - 2},7 @@\n{above}-{row}+changed {row}{below}"


def header(path):
    return f"diff --git a/{path} b/{path}\n--- a/{path}\n+++ b/{path}\n"


def small(agentos, folder, home, rounds):
    """Returns the medians of agentos, of `git apply`, of `git apply` and `git commit`, and of the starts of both programs."""
    files = [(f"part{number // 50:02}/file{number:03}.txt", text_of(str(number), 110)) for number in range(1000)]
    places = {}
    for name in ("agentos", "git"):
        places[name] = folder / name
        places[name].mkdir()
        repository(places[name], files, home)
    times = {"agentos": [], "git apply": [], "git apply, commit": [], "agentos --version": [], "git --version": []}
    path = "part10/file500.txt"
    for number in range(rounds):
        patch = home / "patch"
        patch.write_text(header(path) + hunk_of("500", 8 + 8 * (number % 12)))
        if number % 12 == 0 and number:
            for place in places.values():
                run(["git", "checkout", "-q", "HEAD~12", "--", "."], place, home)
                run(["git", "commit", "-q", "-m", "back"], place, home)
        order = ["agentos", "git"] if number % 2 else ["git", "agentos"]
        for name in order:
            started = [agentos if name == "agentos" else "git", "--version"]
            times[f"{name} --version"].append(run(started, places[name], home)[0])
            if name == "agentos":
                command = [agentos, "apply", "--quiet", "--yes", str(patch)]
                times["agentos"].append(run(command, places[name], home)[0])
            else:
                applied = run(["git", "apply", "--index", str(patch)], places[name], home)[0]
                committed = run(["git", "commit", "-q", "-m", "x"], places[name], home)[0]
                times["git apply"].append(applied)
                times["git apply, commit"].append(applied + committed)
    return {name: statistics.median(values) for name, values in times.items()}


def long_inputs():
    """Returns for each kind its inputs: the size in megabytes, the files and the answer."""
    kinds = {"diff": [], "blocks": []}
    for size in (2, 5, 10):
        hunks = size * 1_000_000 // len(hunk_of("f", 5000))
        lines = hunks * 12 + 20
        diff = header("f.txt") + "".join(hunk_of("f", 6 + 12 * number) for number in range(hunks))
        kinds["diff"].append((size, [("f.txt", text_of("f", lines))], diff))
        # An answer has at most 5,000 edits, so the blocks are long.
        count = size * 480
        blocks = []
        for number in range(count):
            old = rows_of("f", 24 * number, 24 * number + 22)
            new = old.replace("some words", "other words", 1)
            blocks.append(f"f.txt\n<<<<<<< SEARCH\n{old}=======\n{new}>>>>>>> REPLACE\n")
        kinds["blocks"].append((size, [("f.txt", text_of("f", count * 24))], "".join(blocks)))
    return kinds


def many_inputs():
    inputs = []
    for count in (1000, 2500, 5000):
        files = [(f"part{number // 50:03}/file{number:04}.txt", text_of(str(number), 60)) for number in range(count)]
        answer = "".join(header(path) + hunk_of(str(number), 20) for number, (path, _) in enumerate(files))
        inputs.append((count, files, answer))
    return inputs


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agentos")
    parser.add_argument("--rounds", type=int, default=24)
    parser.add_argument("--max-ratio", type=float, default=2.0)
    parser.add_argument("--small", action="store_true", help="measure the small change only")
    arguments = parser.parse_args()
    agentos = str(pathlib.Path(arguments.agentos).resolve())
    failed = []
    root = pathlib.Path(tempfile.mkdtemp(prefix="limits-"))
    try:
        home = root / "home"
        home.mkdir()
        folder = root / "small"
        folder.mkdir()
        medians = small(agentos, folder, home, arguments.rounds)
        for name, seconds in medians.items():
            print(f"small  {name:20} {seconds * 1000:7.1f} ms")
        ratio = medians["agentos"] / medians["git apply"]
        whole = medians["agentos"] / medians["git apply, commit"]
        print(f"small  {ratio:.2f} x git apply --index, {whole:.2f} x with git commit")
        if ratio > arguments.max_ratio:
            failed.append(f"small: {ratio:.2f} x git apply")
        shutil.rmtree(folder)
        kinds = {} if arguments.small else {**long_inputs(), "files": many_inputs()}
        for kind, inputs in kinds.items():
            each = []
            for size, files, answer in inputs:
                place = root / "work"
                place.mkdir()
                repository(place, files, home)
                patch = home / "patch"
                patch.write_text(answer)
                seconds, memory = run([agentos, "apply", "--quiet", "--yes", "--no-commit", str(patch)], place, home)
                unit = "files" if kind == "files" else "MB"
                print(f"{kind:6} {size:5} {unit:5} {seconds:7.2f} s {memory / (1 << 20):6.0f} MiB {seconds / size * 1000:8.2f} ms each")
                each.append(seconds / size)
                if memory > MEMORY:
                    failed.append(f"{kind} {size}: {memory >> 20} MiB")
                shutil.rmtree(place)
            if each[-1] > GROWTH * each[0]:
                failed.append(f"{kind}: not linear")
    finally:
        shutil.rmtree(root, ignore_errors=True)
    # A benchmark reports and does not fail: the machine may be busy.
    print("\n".join(f"above the limit: {one}" for one in failed) or "within the limits")
    return 0


if __name__ == "__main__":
    sys.exit(measure(sys.argv[2], sys.argv[3:]) if sys.argv[1:2] == ["--measure"] else main())
