"""Tasks for the measurements of context: real commits, with the repository at their parent.

A task is the first line and the first paragraph of a commit's message. The commit changes 1 to 6 files of code that existed
before it, other than tests and generated files. A file of tasks is a JSON list of `{repo, commit, text, files}`; the repositories are
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
TEST = re.compile(
    r"(^|/)(tests?|spec|__tests__|testing|testdata)(/|$)|(_test|_spec|Test|Tests|Spec|\.test|\.spec)\.[a-z]+$|(^|/)test[_-]", re.I
)
TRAILER = re.compile(
    r"^[A-Z][A-Za-z-]+(-by|-URL|-Url|-url): |^(Fixes|Closes|Refs|Ref|PiperOrigin|Fixes:|Refs:|PR-URL|Change-Id)\b"
)
BORING = re.compile(r"^(merge|revert|bump|release|version|update (dependenc|changelog|copyright|lock)|v?\d+\.\d+)|prepare (for )?release|^\[?maven|^chore\(deps|^build\(deps", re.I)


def git(folder, *words):
    """Returns the output of git, or an empty text if it fails."""
    return subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, errors="replace").stdout


def is_source(path):
    """Returns true for a file that a task can be about."""
    return path.endswith(tuple(ENDINGS)) and not SKIPPED.search(path)


def task_text(subject, body):
    """Returns the subject of a message and its first paragraph, without trailers and numbers of requests."""
    subject = re.sub(r"\s*\(#\d+\)$", "", subject)
    lines = body.strip().split("\n\n")[0].split("\n")
    paragraph = " ".join(line.strip() for line in lines if not TRAILER.search(line)).strip()
    return (f"{subject.rstrip('.')}. {paragraph}" if paragraph else subject)[:400]


def make_task(name, git_dir, commit):
    """Returns the task of a commit. It has no files if no task can be made of the commit."""
    subject, _, body = git(git_dir, "log", "-1", "--format=%s%x01%b", commit).strip().partition("\1")
    rows = git(git_dir, "diff-tree", "-r", "--no-commit-id", "--name-status", "--no-renames", commit).splitlines()
    changed = [row.split("\t") for row in rows]
    files = [path for status, path in changed if status == "M" and is_source(path) and not TEST.search(path)]
    return {"repo": name, "commit": commit, "text": task_text(subject, body), "files": files, "rows": len(rows)}


def is_fit_for_task(task):
    """Returns true for a commit that a person could have asked for: few files, and a message that says something."""
    subject = task["text"]
    return 1 <= len(task["files"]) <= 6 and task["rows"] <= 14 and len(subject) >= 15 and not BORING.search(subject)


def make_tasks(name, git_dir, count, seed=7):
    """Returns tasks from commits of a repository: an even selection of the newest 1,500, shuffled with a fixed seed."""
    commits = git(git_dir, "log", "--no-merges", "-n", "1500", "--format=%H").split()
    random.Random(seed).shuffle(commits)
    found = []
    for commit in commits:
        task = make_task(name, git_dir, commit)
        if is_fit_for_task(task):
            found.append(task)
        if len(found) == count:
            break
    return found


def read_commits(path, half, given):
    """Returns the tasks of a file `{half: {repository: [commit]}}`, for the repositories that are given as git folders."""
    by_repository = json.loads(pathlib.Path(path).read_text())[half]
    missing = [name for name in by_repository if name not in given]
    if missing:
        print(f"without {', '.join(missing)}: give NAME=GITDIR for each")
    return [make_task(name, given[name], commit) for name in by_repository if name in given for commit in by_repository[name]]


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
