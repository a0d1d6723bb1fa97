#!/usr/bin/env python3
"""Prints how many of the files that real commits modify keep a share of their lines.

usage: kept_share.py GIT_DIRECTORY...
Reads the last 400 commits of each repository, without merges and renames. The table chose the share of lines that a block
below a path must keep to be the new version of that file (`agentos-landing`, `whole.rs`).
"""

import subprocess
import sys

COMMITS = "400"
SHARES = [("1/3", 1 / 3), ("1/2", 1 / 2), ("2/3", 2 / 3), ("3/4", 3 / 4), ("4/5", 4 / 5)]


def git(directory, *arguments, text=None):
    """Returns the output of git."""
    command = ["git", "--git-dir", directory, *arguments]
    return subprocess.run(command, input=text, capture_output=True, check=True).stdout


def modified_files(directory):
    """Yields the old blob and the number of removed lines of each modified text file."""
    log = git(directory, "log", "-n", COMMITS, "--no-merges", "--no-renames", "--diff-filter=M", "--raw", "--numstat",
              "--abbrev=40", "--format=format:commit", "HEAD").decode(errors="replace")
    blobs = {}
    for line in log.splitlines():
        if line == "commit":
            blobs = {}
        elif line.startswith(":"):
            fields, _, path = line.partition("\t")
            blobs[path] = fields.split()[2]
        elif line.count("\t") == 2:
            _, removed, path = line.split("\t")
            if removed != "-" and path in blobs:
                yield blobs[path], int(removed)


def kept_shares(directory):
    """Returns for each modified file the share of its lines that stay."""
    rows = list(modified_files(directory))
    data = git(directory, "cat-file", "--batch", text="".join(f"{blob}\n" for blob, _ in rows).encode())
    kept, at = [], 0
    for _, removed in rows:
        end = data.index(b"\n", at)
        header = data[at:end].split()
        if len(header) < 3:  # The object is missing, as the commit of a submodule.
            at = end + 1
            continue
        size = int(header[2])
        lines = max(data.count(b"\n", end + 1, end + 1 + size), 1)
        at = end + size + 2
        kept.append(1 - removed / lines)
    return kept


def main():
    kept = [share for directory in sys.argv[1:] for share in kept_shares(directory)]
    print(f"{len(kept)} modified files")
    for name, share in SHARES:
        count = sum(one >= share - 1e-9 for one in kept)
        print(f"keep {name} of their lines: {100 * count / max(len(kept), 1):.1f} %")


if __name__ == "__main__":
    main()
