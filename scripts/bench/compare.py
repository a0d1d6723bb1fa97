"""Compares two builds of `agentos` by processor time, in one run, with a control that shows the error of the method.

    python3 scripts/bench/compare.py OLD NEW [--tape DIR] [--only WORK,...] [--blocks N] [--rounds N]

Three contestants take turns: OLD, NEW, and OLD a second time (the control). Each works in a repository of its own. A
block begins with three new repositories, and from block to block the contestants change places, because the place
matters: the second of two identical repositories was seen to take 8 % more, whoever worked in it. Within a round the
order turns as well. The figure is the sum of user and system time of the whole process (`wait4`); the median over all
rounds of all blocks is reported. A difference smaller than that of the control is no difference.

Works: `explain`, `apply`, `branch` (one file of 1,000), `apply-200`, `branch-200` (200 files of 1,000), `command` (a
program in the sandbox), and with --tape DIR, a folder of evidence that both builds can read, `verify`.
"""

import argparse
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile

LINES, APART, FILES = 110, 8, 1000
# A round changes a line of its own; there is no line for more rounds than this in a block.
MOST_ROUNDS = LINES // APART - 2
WORKS = {
    "explain": (1, ["apply", "--explain", "{patch}"]),
    "apply": (1, ["apply", "--quiet", "--yes", "{patch}"]),
    "branch": (1, ["apply", "--quiet", "--yes", "--branch", "side", "{patch}"]),
    "apply-200": (200, ["apply", "--quiet", "--yes", "{patch}"]),
    "branch-200": (200, ["apply", "--quiet", "--yes", "--branch", "side", "{patch}"]),
    "command": (0, ["run", "--quiet", "--yes", "-p", "command", "--", "sh", "-c", "echo {round} > area00/part00/file01.txt"]),
    "verify": (0, ["evidence", "verify", "--dir", "{tape}"]),
}


def path_of(file):
    """Returns the path of a file: 50 files in a folder, 50 folders in an area."""
    return f"area{file // 2500:02}/part{file // 50 % 50:02}/file{file % 50:02}.txt"


def line_of(file, number):
    """Returns a line of a file; every line of a repository is different."""
    return f"line {number} of file {file}\n"


def make_patch(count, round_number):
    """Returns a patch that changes one line of `count` files, another line in every round."""
    at = (round_number + 1) * APART
    start = at - 3
    text = []
    first = 500 if count == 1 else 0
    for file in range(first, first + count):
        name = path_of(file)
        text.append(f"diff --git a/{name} b/{name}\n--- a/{name}\n+++ b/{name}\n@@ -{start},7 +{start},7 @@\n")
        for number in range(start, start + 7):
            old = line_of(file, number)
            text.append(f"-{old}+changed: {old}" if number == at else f" {old}")
    return "".join(text)


def run_git(folder, *words, **more):
    """Runs git in a folder."""
    subprocess.run(["git", *words], cwd=folder, check=True, stdout=subprocess.DEVNULL, **more)


def make_repository(folder):
    """Creates a repository of 1,000 files, packed and checked out, with the branches `main` and `side`."""
    folder.mkdir(parents=True)
    run_git(folder, "init", "--quiet", "--initial-branch=main", "--template=", ".")
    for key, value in {
        "user.name": "Bench", "user.email": "bench@example.com", "gc.auto": "0", "maintenance.auto": "false",
    }.items():
        run_git(folder, "config", key, value)
    stream = []
    for file in range(FILES):
        content = "".join(line_of(file, number) for number in range(1, LINES + 1))
        stream.append(f"blob\nmark :{file + 1}\ndata {len(content)}\n{content}\n")
    stream.append("commit refs/heads/main\ncommitter Bench <bench@example.com> 1700000000 +0000\ndata 6\nfirst\n\n")
    stream += [f"M 100644 :{file + 1} {path_of(file)}\n" for file in range(FILES)]
    run_git(folder, "fast-import", "--quiet", input="".join(stream).encode())
    run_git(folder, "reset", "--quiet", "--hard")
    run_git(folder, "branch", "side")
    # Dated back, so that no program takes a file for one that may change within the index's own second.
    for file in range(FILES):
        os.utime(folder / path_of(file), (1_700_000_000, 1_700_000_000))
    run_git(folder, "update-index", "--refresh")


def take(program, words, folder, environment):
    """Runs one command and returns its processor time in milliseconds."""
    nothing = os.open(os.devnull, os.O_RDWR)
    before = os.getcwd()
    os.chdir(folder)
    try:
        actions = [(os.POSIX_SPAWN_DUP2, nothing, stream) for stream in (0, 1)]
        child = os.posix_spawn(program, [program, *words], environment, file_actions=actions)
        _, status, usage = os.wait4(child, 0)
    finally:
        os.chdir(before)
        os.close(nothing)
    code = os.waitstatus_to_exitcode(status)
    if code:
        sys.exit(f"{program} {' '.join(words)} ended with {code}")
    return (usage.ru_utime + usage.ru_stime) * 1000


def measure(work, contestants, options, home):
    """Returns the processor times of each contestant for one work."""
    count, words = WORKS[work]
    times = [[] for _ in contestants]
    for block in range(options.blocks):
        folders = [home / f"{work}-{block}-{place}" for place in range(len(contestants))]
        for folder in folders:
            make_repository(folder / "repo")
        subprocess.run(["sync"], check=True)
        for round_number in range(options.rounds + 1):
            patch = home / "change.patch"
            patch.write_text(make_patch(count, round_number))
            for turn in range(len(contestants)):
                who = (turn + round_number) % len(contestants)
                folder = folders[(who + block) % len(contestants)]
                environment = {
                    "PATH": os.environ["PATH"], "HOME": str(folder), "NO_COLOR": "1",
                }
                filled = [
                    word.format(patch=patch, round=round_number, tape=options.tape) for word in words
                ]
                taken = take(contestants[who], filled, folder / "repo", environment)
                # The first of a block fills caches.
                if round_number:
                    times[who].append(taken)
        for folder in folders:
            shutil.rmtree(folder)
    return times


def main():
    """Parses the arguments, measures and prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("old", type=pathlib.Path)
    parser.add_argument("new", type=pathlib.Path)
    parser.add_argument("--tape", type=pathlib.Path, help="folder of evidence for `verify`")
    parser.add_argument("--only", help="works, with commas between")
    parser.add_argument("--blocks", type=int, default=6)
    parser.add_argument("--rounds", type=int, default=8)
    options = parser.parse_args()
    if not 0 < options.rounds <= MOST_ROUNDS:
        parser.error(f"--rounds is 1 to {MOST_ROUNDS}")
    works = options.only.split(",") if options.only else [work for work in WORKS if work != "verify" or options.tape]
    unknown = [work for work in works if work not in WORKS]
    if unknown:
        parser.error(f"no such work: {', '.join(unknown)}; there are {', '.join(WORKS)}")
    options.tape = options.tape and options.tape.resolve()
    if "verify" in works and not options.tape:
        parser.error("`verify` needs --tape")
    old, new = str(options.old.resolve()), str(options.new.resolve())
    print("| work | old ms | new ms | old again ms | new/old | control |\n|---|--:|--:|--:|--:|--:|", flush=True)
    with tempfile.TemporaryDirectory(prefix="agentos-compare-") as home:
        for work in works:
            first, second, again = (
                statistics.median(times) for times in measure(work, [old, new, old], options, pathlib.Path(home))
            )
            print(
                f"| {work} | {first:.2f} | {second:.2f} | {again:.2f} | {second / first:.3f} | {again / first:.3f} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
