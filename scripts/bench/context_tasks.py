"""Tasks for the measurements of context: real commits, with the repository at their parent.

A task is the first line of a commit's message. The commit changes 1 to 6 files that existed before it, other than
documents, locks and generated files. A file of tasks is a JSON list of `{repo, commit, text, files}`; the repositories are
tar archives of bare repositories in `repos/` beside it, or git folders given as `NAME=GITDIR`.
"""

import json
import pathlib
import random
import re
import subprocess
import tarfile

ENDINGS = (
    ".c .h .cc .cpp .hpp .rs .go .java .kt .py .js .jsx .mjs .cjs .ts .tsx .vue .rb .php .swift .scala .cs .lua .pyx .m"
).split()
SKIPPED = re.compile(r"(^|/)(vendor|third_party|node_modules|dist|target|testdata|fixtures|snapshots)/|\.lock$|\.min\.|\.d\.ts$|\.pb\.go$")
BORING = re.compile(r"^(merge|revert|bump|release|version|update (dependenc|changelog|copyright|lock)|v?\d+\.\d+)|prepare (for )?release|^\[?maven|^chore\(deps|^build\(deps", re.I)


def git(folder, *words):
    """Returns the output of git, or an empty text if it fails."""
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, errors="replace").stdout


def is_source(path):
    """Returns true for a file that a task can be about."""
    return path.endswith(tuple(ENDINGS)) and not SKIPPED.search(path)


def make_tasks(name, git_dir, count, seed=7):
    """Returns tasks from commits of a repository: an even selection of the newest 1,500, shuffled with a fixed seed."""
    log = git(git_dir, "log", "--no-merges", "-n", "1500", "--format=%x00%H%x01%s", "--name-status", "--no-renames")
    found = []
    for entry in log.split("\0")[1:]:
        head, _, rest = entry.partition("\n")
        commit, _, subject = head.partition("\1")
        rows = [row.split("\t") for row in rest.split("\n") if "\t" in row]
        changed = [path for status, path in rows if status == "M" and is_source(path)]
        if not 1 <= len(changed) <= 6 or len(rows) > 12 or BORING.search(subject) or len(subject) < 15:
            continue
        text = re.sub(r"\s*\(#\d+\)$", "", subject)
        found.append({"repo": name, "commit": commit, "text": text, "files": changed})
    random.Random(seed).shuffle(found)
    return found[:count]


def read_tasks(path, per_repo):
    """Returns the tasks of a file, of each repository as many as wanted."""
    tasks, counts = [], {}
    for task in json.loads(pathlib.Path(path).read_text()):
        counts[task["repo"]] = counts.get(task["repo"], 0) + 1
        if counts[task["repo"]] <= per_repo:
            tasks.append(task)
    return tasks


def find_repository(name, given, tasks_file, folder):
    """Returns the git folder of a repository: the given one, or the one in the archive beside the tasks."""
    if name in given:
        return given[name]
    archive = pathlib.Path(tasks_file).resolve().parent / "repos" / f"{name}.tar"
    with tarfile.open(archive) as tar:
        tar.extractall(folder)
    return next(path for path in folder.glob("*.git") if path.name.split("+")[-1] == f"{name}.git")


def check_out(work, task):
    """Puts a clone at the parent of a task's commit."""
    git(work, "checkout", "-q", "-f", "--detach", task["commit"] + "~1")
    git(work, "checkout", "-q", "-B", "work")


def changed_lines(work, task):
    """Returns the old lines that the commit changes, by path. An insertion counts as the line before it."""
    old = {}
    for path in task["files"]:
        diff = git(work, "diff", "-U0", task["commit"] + "~1", task["commit"], "--", path)
        for hunk in re.finditer(r"^@@ -(\d+)(?:,(\d+))? ", diff, re.M):
            first, count = int(hunk[1]), int(hunk[2] or 1)
            old.setdefault(path, set()).update(range(first, first + max(count, 1)))
    return old


def is_shown(ranges, line):
    """Returns true if a line is in the ranges, or the file is shown whole."""
    return ranges is None or any(first <= line <= last for first, last in ranges)


class Score:
    """Sums of the three figures of a method: any file, all files, and the share of the changed lines."""

    def __init__(self):
        self.count, self.any, self.all, self.lines, self.tokens = 0, 0, 0, 0.0, 0

    def add(self, task, old, shown, tokens):
        """Adds a task. `shown` has the ranges of each shown path, or `None` for a whole file."""
        hits = [path for path in task["files"] if path in shown]
        lines = sum(is_shown(shown[path], line) for path, wanted in old.items() if path in shown for line in wanted)
        self.count += 1
        self.any += bool(hits)
        self.all += len(hits) == len(task["files"])
        self.lines += lines / max(1, sum(map(len, old.values())))
        self.tokens += tokens

    def row(self):
        """Returns the figures in percent, and the mean number of tokens."""
        share = lambda value: 100 * value / max(1, self.count)
        return share(self.any), share(self.all), share(self.lines), self.tokens / max(1, self.count)

    def join(self, other):
        """Adds the sums of another score."""
        for name, value in vars(other).items():
            setattr(self, name, getattr(self, name) + value)
