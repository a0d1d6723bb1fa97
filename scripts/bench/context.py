"""Compares the context that `agentos` selects with the repository map of aider and with plain BM25 over whole files.

    python3 -m venv VENV && VENV/bin/pip install aider-chat
    VENV/bin/python scripts/bench/context.py --agentos BIN --tasks TASKS.json [--window 8192 --window 131072]
    VENV/bin/python scripts/bench/context.py --agentos BIN --make NAME=GITDIR --count 40
    python3 scripts/bench/context.py --agentos BIN --commits scripts/bench/context_commits.json --half held --repo NAME=GITDIR...

All methods get the same task, the same commit and the same number of tokens: what `agentos` reports as the space for
files in the window. `agentos` counts with its own estimate, which is higher than the count of a tokenizer; the other
two are counted with `cl100k_base`, which aider brings. Without aider, its rows are left out and BM25 is counted by the
estimate of 3 bytes a token.

any    at least one changed file is shown (whole, in part, or as signatures)
all    every changed file is shown
lines  share of the changed old lines that are shown

`context_commits.json` has 800 commits of 20 repositories in 12 languages. The constants of the ranking were chosen on the half
`fit`; the half `held` was measured afterwards, and nothing was changed by it. Give `NAME=GITDIR` for `OWNER/NAME` of the file.

A repository map shows signatures and not bodies: `any` and `all` are what it is made for. BM25 takes whole files in the
order of their scores, and passes over those that do not fit. Tasks: see `context_tasks.py`.
"""

import argparse
import collections
import json
import math
import os
import pathlib
import re
import subprocess
import tempfile

from context_tasks import Score, changed_lines, check_out, find_repository, git, make_tasks, read_commits, read_tasks

try:
    # litellm, which aider brings, has the table of the encoding and tells tiktoken where it is.
    import litellm.litellm_core_utils.default_encoding  # noqa: F401
    import tiktoken
    from aider.repomap import RepoMap

    ENCODING = tiktoken.get_encoding("cl100k_base")
except ImportError:
    RepoMap = ENCODING = None


def count_tokens(text):
    """Returns the tokens of a text."""
    if ENCODING is None:
        return len(text.encode()) // 3
    return len(ENCODING.encode(text, disallowed_special=()))


class Agentos:
    """The program under test, with a profile for each window."""

    def __init__(self, program, folder):
        self.program, self.home = program, folder / "home"
        profiles = self.home / ".config/agentos/profiles"
        profiles.mkdir(parents=True)
        for window in (8192, 16384, 32768, 65536, 131072):
            profile = {
                "provider": f"w{window}",
                "name": "window",
                "adapter": "openai",
                "base_url": "http://127.0.0.1:9/v1",
                "model": "m",
                "capabilities": {"context_window": window},
            }
            (profiles / f"w{window}.json").write_text(json.dumps(profile))

    def select(self, work, text, window):
        """Returns the shown files with their ranges, the space for files and the used tokens."""
        command = [self.program, "--json", "run", "-p", f"w{window}", "--context", "show", text]
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        ran = subprocess.run(command, cwd=work, capture_output=True, text=True, env=env)
        try:
            report = json.loads(ran.stdout)
        except ValueError:
            raise SystemExit(f"agentos: {ran.stderr.strip()[:300]}") from None
        shown = {file["path"]: file.get("ranges") for file in report["files"]}
        return shown, report["budget"]["context"], report["budget"]["used"]


class Bm25:
    """BM25 over whole files, with identifiers cut at underlines and capitals."""

    WORD = re.compile(r"[A-Za-z][a-z0-9]+|[A-Z]+(?![a-z])|\d+")

    def __init__(self):
        self.cache = {}

    def words(self, text):
        return [word.lower() for word in self.WORD.findall(text)]

    def read(self, work, row):
        """Returns the words and the tokens of a file, by its object id."""
        _, _, object_id, path = row
        if object_id not in self.cache:
            try:
                text = (pathlib.Path(work) / path).read_text()
            except (OSError, UnicodeDecodeError):
                text = ""
            if len(text) > 1 << 20:
                text = ""
            words = collections.Counter(self.words(path + "\n" + text))
            self.cache[object_id] = (words, sum(words.values()), count_tokens(text) if text else 0)
        return self.cache[object_id]

    def select(self, work, text, budget):
        rows = [re.split(r"[ \t]", line, maxsplit=3) for line in git(work, "ls-tree", "-r", "HEAD").splitlines()]
        files = {row[3]: self.read(work, row) for row in rows if row[1] == "blob"}
        files = {path: file for path, file in files.items() if file[2]}
        usual = sum(length for _, length, _ in files.values()) / max(1, len(files))
        scores = collections.Counter()
        for word in set(self.words(text)):
            having = [path for path, (words, _, _) in files.items() if word in words]
            rarity = math.log(1 + (len(files) - len(having) + 0.5) / (len(having) + 0.5))
            for path in having:
                words, length, _ = files[path]
                often = words[word]
                scores[path] += rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / usual))
        shown, used = {}, 0
        for path, _ in sorted(scores.items(), key=lambda item: (-item[1], item[0])):
            tokens = files[path][2]
            if used + tokens <= budget:
                shown[path] = None
                used += tokens
        return shown, used


class Aider:
    """aider's repository map, called as aider calls it before a file is in the chat."""

    class Model:
        def token_count(self, text):
            return count_tokens(text)

    class Io:
        def read_text(self, path):
            try:
                return pathlib.Path(path).read_text()
            except (OSError, UnicodeDecodeError):
                return ""

        def tool_output(self, *_):
            pass

        tool_error = tool_warning = tool_output

    def select(self, work, text, budget):
        paths = git(work, "ls-files").splitlines()
        idents = {word for word in re.split(r"\W+", text) if word}
        small = {ident.lower() for ident in idents if len(ident) >= 5}
        stems = {path for path in paths if pathlib.Path(path).stem.lower() in small}
        named = {path for path in paths if path in text or pathlib.Path(path).name in text.split()}
        repo_map = RepoMap(map_tokens=budget, root=str(work), main_model=self.Model(), io=self.Io(), map_mul_no_files=1)
        others = [str(pathlib.Path(work) / path) for path in paths]
        shown_text = repo_map.get_repo_map([], others, named | stems, idents) or ""
        return self.read_map(work, shown_text, set(paths)), count_tokens(shown_text)

    @staticmethod
    def read_map(work, text, known):
        """Returns the lines of each file that a map shows. A line is found again by its text, in the order of the file."""
        shown, lines, at, path = {}, [], 0, None
        for row in text.splitlines():
            name = row.removesuffix(":")
            if not row.startswith(("│", "⋮", "█")) and name in known:
                path, at, shown[name] = name, 0, []
                try:
                    lines = (pathlib.Path(work) / name).read_text(errors="replace").splitlines()
                except OSError:
                    lines = []
            elif path and row.startswith(("│", "█")):
                wanted = row[1:]
                found = next((n for n in range(at, len(lines)) if lines[n].startswith(wanted)), None)
                if found is not None:
                    shown[path].append((found + 1, found + 1))
                    at = found + 1
        return shown


def measure(arguments, tasks, given, folder):
    """Prints the figures of each repository and of all."""
    agentos, bm25 = Agentos(arguments.agentos, folder), Bm25()
    aider = Aider() if RepoMap and not arguments.without_aider else None
    methods = ["agentos", "BM25, whole files"] + (["aider, repository map"] if aider else [])
    total = {(window, method): Score() for window in arguments.window for method in methods}
    for repo in sorted({task["repo"] for task in tasks}):
        work = folder / repo
        bare = find_repository(repo, given, arguments.tasks or ".", folder)
        subprocess.run(["git", "clone", "-q", str(bare), str(work)], check=True)
        (work / ".git/info/exclude").write_text(".aider*\n")
        own = {key: Score() for key in total}
        for task in (task for task in tasks if task["repo"] == repo):
            check_out(work, task)
            old = changed_lines(work, task)
            for window in arguments.window:
                shown, budget, used = agentos.select(work, task["text"], window)
                own[window, "agentos"].add(task, old, shown, used)
                own[window, "BM25, whole files"].add(task, old, *bm25.select(work, task["text"], budget))
                if aider:
                    own[window, "aider, repository map"].add(task, old, *aider.select(work, task["text"], budget))
        files = len(git(work, "ls-files").splitlines())
        print_rows(f"{repo} ({files} files)", own)
        for key, score in own.items():
            total[key].join(score)
    print_rows("all", total)


def print_rows(name, scores):
    for (window, method), score in scores.items():
        found, whole, lines, tokens = score.row()
        print(
            f"| {name} | {score.count} | {window} | {method} | {found:.1f} % | {whole:.1f} % | {lines:.1f} % | {tokens:.0f} |",
            flush=True,
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agentos", required=True, help="the program")
    parser.add_argument("--tasks", help="file of tasks")
    parser.add_argument("--repo", action="append", default=[], metavar="NAME=GITDIR", help="repository of these tasks")
    parser.add_argument("--make", action="append", default=[], metavar="NAME=GITDIR", help="make tasks of a repository")
    parser.add_argument("--commits", help="file of commits to make tasks of")
    parser.add_argument("--half", choices=["fit", "held"], default="held", help="half of the file of commits")
    parser.add_argument("--count", type=int, default=40, help="tasks of each such repository")
    parser.add_argument("--per-repo", type=int, default=1000, help="tasks of each repository of the file")
    parser.add_argument("--window", type=int, action="append", help="tokens of the window")
    parser.add_argument("--without-aider", action="store_true")
    arguments = parser.parse_args()
    arguments.agentos = os.path.abspath(arguments.agentos)
    arguments.window = arguments.window or [8192, 131072]
    given = dict(word.split("=", 1) for word in arguments.repo + arguments.make)
    tasks = read_tasks(arguments.tasks, arguments.per_repo) if arguments.tasks else []
    if arguments.commits:
        tasks += read_commits(arguments.commits, arguments.half, given)
    for word in arguments.make:
        tasks += make_tasks(*word.split("=", 1), arguments.count)
    print("| repository | tasks | window | method | any | all | lines | tokens |\n|---|--:|--:|---|--:|--:|--:|--:|")
    with tempfile.TemporaryDirectory() as folder:
        measure(arguments, tasks, given, pathlib.Path(folder))


if __name__ == "__main__":
    main()
