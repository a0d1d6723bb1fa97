"""How many commits of real repositories would wait because they have text of a folder that policy withholds from their proposer.

    python3 scripts/bench/withheld_rate.py [--commits 100] [--together] [--list] REPOSITORY...

Each repository is a git directory with a history. Its three folders (of the first or second level) with most files, but not more than a
third of all files, are withheld in turn, or with `--together` at once. The last commits without merges that change nothing in a withheld
folder are judged as if each were the change of a tool that may not read it, by the example `withheld_rate` of agentos-policy, which prints
the table.
"""

import argparse
import subprocess
import sys
from collections import Counter
from pathlib import Path

from ask_rate import EMPTY, TOP, Objects, git

LARGEST = 1 << 20


def list_tree(repository, commit):
    """Returns path and id of each file of a commit."""
    files = []
    for line in git(repository, "ls-tree", "-r", "-z", commit).split(b"\0"):
        about, _, path = line.partition(b"\t")
        words = about.split(b" ")
        if len(words) == 3 and words[1] == b"blob" and words[0] != b"120000" and b"\n" not in path:
            files.append((path, words[2]))
    return files


def choose_folders(files):
    """Returns the three folders with most files that have at most a third of them."""
    count = Counter()
    for path, _ in files:
        parts = path.split(b"/")[:-1]
        for depth in (1, 2):
            if len(parts) >= depth:
                count[b"/".join(parts[:depth]) + b"/"] += 1
    chosen = []
    for folder, number in count.most_common():
        apart = not any(folder.startswith(other) or other.startswith(folder) for other in chosen)
        if number * 3 <= len(files) and apart and len(chosen) < 3:
            chosen.append(folder)
    return chosen


class Feeder:
    """Writes commits to the example, and each content once."""

    def __init__(self, repository, sink):
        self.objects = Objects(repository)
        self.sink = sink
        self.sent = {}

    def send(self, name):
        """Sends a content. False if this copy of the repository lacks it, or it is too large."""
        if name not in self.sent:
            content = self.objects.read(name)
            self.sent[name] = content is not None and len(content) <= LARGEST
            if self.sent[name]:
                self.sink.write(b"blob %s %d\n" % (name, len(content)) + content)
        return self.sent[name]


def feed_commit(repository, feeder, commit, folders):
    words = git(repository, "diff-tree", "-r", "--no-commit-id", "--no-renames", "-z", commit).split(b"\0")
    changed = []
    for about, path in zip(words[0::2], words[1::2]):
        old_mode, new_mode, old, new, _ = about.lstrip(b":").split(b" ")
        kinds = {old_mode, new_mode} - {b"100644", b"100755", b"000000"}
        if kinds or path.startswith(folders) or b"\n" in path or old == new:
            return
        if not all(name == EMPTY or feeder.send(name) for name in (old, new)):
            return
        changed.append(b"%s %s %s\n" % (*(b"-" if name == EMPTY else name for name in (old, new)), path))
    base = [(path, name) for path, name in list_tree(repository, commit + "~1") if feeder.send(name)]
    withheld = [b"%s %s\n" % (name, path) for path, name in base if path.startswith(folders)]
    readable = [b"%s %s\n" % (name, path) for path, name in base if not path.startswith(folders)]
    if changed and withheld:
        head = f"commit {commit} {len(changed)} {len(withheld)} {len(readable)}\n".encode()
        feeder.sink.write(head + b"".join(changed + withheld + readable))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--commits", type=int, default=100)
    parser.add_argument("--together", action="store_true", help="withhold the three folders of a repository at once")
    parser.add_argument("--list", action="store_true", help="print each commit that would wait")
    parser.add_argument("repositories", nargs="+")
    chosen = parser.parse_args()
    command = ["cargo", "run", "-q", "--profile", "quick", "-p", "agentos-policy", "--example", "withheld_rate", "--"]
    table = subprocess.Popen(command + ["--list"] * chosen.list, cwd=TOP, stdin=subprocess.PIPE)
    for repository in chosen.repositories:
        name = Path(repository).resolve().parent.name.encode()
        feeder = Feeder(repository, table.stdin)
        commits = git(repository, "rev-list", "--no-merges", "--min-parents=1", f"--max-count={chosen.commits}", "HEAD")
        folders = choose_folders(list_tree(repository, "HEAD"))
        for withheld in [tuple(folders)] if chosen.together else [(folder,) for folder in folders]:
            table.stdin.write(b"folder %s:%s\n" % (name, b",".join(withheld).replace(b" ", b"_")))
            for commit in commits.decode().split():
                feed_commit(repository, feeder, commit, withheld)
        feeder.objects.program.stdin.close()
        feeder.objects.program.wait()
    table.stdin.close()
    return table.wait()


if __name__ == "__main__":
    sys.exit(main())
