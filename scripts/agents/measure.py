#!/usr/bin/env python3
"""Measures a sandbox and a disposable copy: time and bytes, next to `git worktree add` and the same program unconfined.

    cargo build --release && python3 scripts/agents/measure.py target/release/agentos

Creates a repository of 30,000 files (121 MB), or of the number in a second argument, in a temporary folder, and removes it at
the end. Needs Linux, git and Python 3.8. The compared programs run in turns, and nothing is deleted before the last figure:
ext4 is slow to create files where many were deleted a minute before. Other load on the machine makes the figures worthless.
"""
import glob
import json
import os
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

FILES = int(sys.argv[2]) if len(sys.argv) > 2 else 30_000
FOLDERS, BYTES, RUNS, SMALL_RUNS = 300, 4_000, 15, 60
ENVIRONMENT = dict(os.environ)


# A tool that reads a task and proposes one file: it gets no copy.
ANSWER = r'''read -r task
printf '%s\n' '{"type":"text","text":"--- /dev/null\n+++ b/new\n@@ -0,0 +1 @@\n+x\n"}' '{"type":"final"}'
'''


def run(*command, cwd=None):
    """Runs a command and returns its milliseconds and its output."""
    begun = time.perf_counter()
    done = subprocess.run(command, cwd=cwd, env=ENVIRONMENT, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    took = (time.perf_counter() - begun) * 1000
    if done.returncode:
        sys.exit(f"{' '.join(command)} ended with {done.returncode}: {done.stdout}{done.stderr}")
    return took, done.stdout


def repository(place):
    """Creates a repository of FILES files, identical in every run."""
    letters = random.Random(1)
    for number in range(FILES):
        folder = os.path.join(place, f"d{number % FOLDERS}")
        os.makedirs(folder, exist_ok=True)
        with open(os.path.join(folder, f"f{number}.txt"), "w") as file:
            while file.tell() < BYTES:
                file.write("".join(letters.choices("abcdefghijklmnopqrstuvwxyz ", k=79)) + "\n")
    run("git", "init", "-q", "-b", "main", place)
    # So many new objects would be packed in the background while something is measured.
    run("git", "-C", place, "config", "gc.auto", "0")
    run("git", "-C", place, "add", "-A")
    run("git", "-C", place, "-c", "user.name=m", "-c", "user.email=m@m", "commit", "-qm", "many files")


def taken(place):
    """Returns the bytes on the disk, as `du` counts them."""
    return int(run("du", "-s", "--block-size=1", place)[1].split()[0])


def median(figures):
    """Returns the median."""
    return statistics.median(figures)


def quicker_half(figures):
    """Returns the mean of the faster half, which other load on the machine disturbs least."""
    return statistics.mean(sorted(figures)[: len(figures) // 2])


def main():
    """Measures in a temporary folder and removes it."""
    agentos = os.path.abspath(sys.argv[1])
    top = tempfile.mkdtemp(prefix="agentos-measure-")
    try:
        measure(agentos, top)
    finally:
        shutil.rmtree(top, ignore_errors=True)


def measure(agentos, top):
    """Makes all measurements and prints the table."""
    place = os.path.join(top, "repository")
    os.makedirs(place)
    repository(place)
    call = (agentos, "--repo", place, "tool", "run", "-p", "command", "--json", "--")
    cache = os.path.join(top, "cache")
    # Where copies are kept: not the user's own, which they would fill.
    ENVIRONMENT["XDG_CACHE_HOME"] = cache
    trees, firsts = [], []
    for number in range(3):
        tree = os.path.join(top, f"tree{number}")
        trees.append(run("git", "-C", place, "worktree", "add", "-q", "--detach", tree)[0])
        tree_bytes = taken(tree)
        if number:
            os.rename(cache, os.path.join(top, f"cache{number}"))
        firsts.append(run(*call, "touch", "new")[0])
    without = (agentos, "--repo", place, "tool", "run", "-p", "tool", "--json", "x", "--", "sh", "-c", ANSWER)
    later, inside, bare_later = [], [], []
    for _ in range(RUNS):
        took, said = run(*call, "touch", "new")
        later.append(took)
        inside.append(json.loads(said)["latency_ms"])
        bare_later.append(run(*without)[0])
    upper = bytes_of_a_run(call, os.path.join(cache, "agentos/copies"))
    copy_bytes = taken(cache)

    small = os.path.join(top, "small")
    os.makedirs(small)
    with open(os.path.join(small, "file"), "w") as file:
        file.write("one\n")
    run("git", "init", "-q", "-b", "main", small)
    run("git", "-C", small, "add", "-A")
    run("git", "-C", small, "-c", "user.name=m", "-c", "user.email=m@m", "commit", "-qm", "one file")
    call = (agentos, "--repo", small, "tool", "run", "-p", "command", "--json", "--", "touch", "new")
    run(*call)
    held, bare = [], []
    for _ in range(SMALL_RUNS):
        # Latency is cut to whole milliseconds: on the average half of one is missing.
        held.append(json.loads(run(*call)[1])["latency_ms"] + 0.5)
        bare.append(run("touch", "new", cwd=top)[0])
    held, bare = quicker_half(held), quicker_half(bare)

    rows = [
        ("`git worktree add`", median(trees), tree_bytes),
        ("first run over this base (the copy is made)", median(firsts), copy_bytes),
        ("later run, whole command", median(later), upper),
        ("of this, sandbox and program", median(inside), None),
        ("the same for a tool that gets no copy", median(bare_later), None),
        ("`touch` in the sandbox, in a small repository", held, None),
        ("`touch` unconfined", bare, None),
    ]
    for name, milliseconds, size in rows:
        size = "" if size is None else f"{size / 1024:12,.0f} KiB"
        print(f"{name:46} {milliseconds:10,.1f} ms {size}")
    print(f"a first run takes {median(firsts) / median(trees):.2f} of the time of `git worktree add`")
    copy = max(median(later) - median(bare_later), 0.1)
    print(f"a later copy takes {copy:.0f} ms: 1/{median(trees) / copy:.0f} of the time and 1/{tree_bytes / upper:.0f} of the bytes")
    print(f"the whole command, which looks at all files twice, takes 1/{median(trees) / median(later):.0f} of the time")
    print(f"the sandbox adds {held - bare:.1f} ms to a run (means of the quicker half of {SMALL_RUNS} runs each)")


def bytes_of_a_run(call, copies):
    """What a run's folders hold while its program runs."""
    child = subprocess.Popen((*call, "sleep", "2"), env=ENVIRONMENT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    while child.poll() is None:
        time.sleep(0.5)
        runs = [place for place in glob.glob(os.path.join(copies, "*", "run-*")) if os.path.isdir(place)]
        if runs:
            size = sum(taken(place) for place in runs)
            child.wait()
            return size
    sys.exit("no folders of a run were seen")


if __name__ == "__main__":
    main()
