"""Shows that an edit of what a model was shown lands exactly.

    python3 scripts/bench/context_landing.py --agentos BIN --tasks TASKS.json [--window 8192 --window 131072]

For each task, the real commit's diff is cut to what `agentos` shows: hunks whose old lines are shown, with no more
context lines than are shown. A server in this program answers the prompt with that diff, as a model that makes no
mistake would. The run must land, and the files must have exactly the bytes that the cut diff means. The server also
compares the parts in the prompt with those that `--context show` lists. Tasks of whose change nothing is shown are
counted apart. Exit status 1 if a case fails. Tasks: see `context_tasks.py`.
"""

import argparse
import difflib
import http.server
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile
import threading

from context_tasks import check_out, find_repository, git, is_shown, make_tasks, read_tasks

CONTEXT = 3
HEADING = re.compile(r"^File `(.+?)`(?:, lines (\d+) to (\d+) of \d+.*)?:$", re.M)


class Model(http.server.BaseHTTPRequestHandler):
    """Server that answers every prompt with the text it was given, and keeps the prompt."""

    answer, prompt = "", ""

    def do_GET(self):
        self.reply({"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        type(self).prompt = body["messages"][-1]["content"]
        message = {"role": "assistant", "content": self.answer}
        choice = {"index": 0, "message": message, "finish_reason": "stop"}
        self.reply({"id": "1", "object": "chat.completion", "model": "m", "choices": [choice]})

    def reply(self, document):
        body = json.dumps(document).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def read_lines(work, revision, path):
    """Returns the lines of a file with their ends. `None` if it is not there or no text."""
    shown = subprocess.run(["git", "-C", str(work), "show", f"{revision}:{path}"], capture_output=True)
    try:
        return None if shown.returncode else shown.stdout.decode().splitlines(keepends=True)
    except UnicodeDecodeError:
        return None


def cut_change(old, new, ranges):
    """Returns the new lines with the changes of shown lines alone, and the diff of them within what is shown."""
    blocks, kept = difflib.SequenceMatcher(None, old, new, autojunk=False).get_opcodes(), []
    for kind, a, b, c, d in blocks:
        # An insertion needs the line above it, or that below it.
        wanted = range(a + 1, b + 1) if b > a else [a or 1]
        if kind != "equal" and all(is_shown(ranges, line) for line in wanted):
            kept.append((a, b, new[c:d]))
    result, at = [], 0
    for a, b, lines in kept:
        result += old[at:a] + lines
        at = b
    result += old[at:]
    return result, write_hunks(old, kept, ranges)


def write_hunks(old, kept, ranges):
    """Returns a hunk for each change, with the shown lines around it as context."""
    text, shift = [], 0
    for number, (a, b, lines) in enumerate(kept):
        first, last = a, b
        floor = kept[number - 1][1] if number else 0
        roof = kept[number + 1][0] if number + 1 < len(kept) else len(old)
        while first > max(floor, a - CONTEXT) and is_shown(ranges, first):
            first -= 1
        while last < min(roof, b + CONTEXT) and is_shown(ranges, last + 1):
            last += 1
        count, added = last - first, last - first - (b - a) + len(lines)
        start = first + 1 if count else first
        text.append(f"@@ -{start},{count} +{start + shift},{added} @@\n")
        text += mark(" ", old[first:a]) + mark("-", old[a:b]) + mark("+", lines) + mark(" ", old[b:last])
        shift += len(lines) - (b - a)
    return "".join(text)


def mark(sign, lines):
    """Returns lines of a diff. A last line without an end gets git's remark."""
    return [sign + (line if line.endswith("\n") else line + "\n\\ No newline at end of file\n") for line in lines]


class Prover:
    """Runs the program on tasks, with a home of its own and the server as its provider."""

    def __init__(self, program, folder):
        self.program, self.home = program, folder / "home"
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        (self.home / ".config/agentos/profiles").mkdir(parents=True)

    def set_window(self, window):
        profile = {
            "provider": "proof",
            "name": "proof",
            "adapter": "openai",
            "base_url": f"http://127.0.0.1:{self.server.server_address[1]}/v1",
            "model": "m",
            "capabilities": {"context_window": window},
        }
        (self.home / ".config/agentos/profiles/proof.json").write_text(json.dumps(profile))

    def call(self, work, *words):
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        for who in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{who}_NAME": "a", f"GIT_{who}_EMAIL": "a@example.com"}
        command = [self.program, "--json", "run", "-p", "proof", *words]
        return subprocess.run(command, cwd=work, capture_output=True, text=True, env=env)

    def prove(self, work, task):
        """Returns `landed`, `nothing shown`, or the reason of a failure."""
        planned = json.loads(self.call(work, "--context", "show", task["text"]).stdout)["files"]
        shown = {file["path"]: file.get("ranges") for file in planned}
        answer, expected = "", {}
        for path in task["files"]:
            old, new = read_lines(work, "HEAD", path), read_lines(work, task["commit"], path)
            if path not in shown or old is None or new is None:
                continue
            result, hunks = cut_change(old, new, shown[path])
            if hunks:
                answer += f"--- a/{path}\n+++ b/{path}\n{hunks}"
                expected[path] = "".join(result)
        if not expected:
            return "nothing shown"
        Model.answer, Model.prompt = f"```diff\n{answer}```\n", ""
        ran = self.call(work, "--yes", "--attempts", "1", "--branch", "proof", task["text"])
        try:
            if self.read_prompt() != shown:
                return "the prompt has other parts than `--context show`"
            if ran.returncode:
                outcome = json.loads(ran.stdout)
                return f"[{outcome.get('code')}] {outcome.get('message')}"
            for path, text in expected.items():
                if "".join(read_lines(work, "proof", path) or []) != text:
                    return f"{path} has other bytes"
            return "landed"
        except ValueError:
            return ran.stderr.strip()[:200]
        finally:
            git(work, "branch", "-D", "proof")

    @staticmethod
    def read_prompt():
        """Returns the files of the prompt with their ranges."""
        shown = {}
        # File contents are in fences that are longer than any inside them, so that only headings are outside.
        outside, fence = [], None
        for line in Model.prompt.splitlines():
            run = re.match(r"`{3,}", line)
            if fence is None:
                outside.append(line)
                fence = line if run and run[0] == line else None
            elif line == fence:
                fence = None
        for found in HEADING.finditer("\n".join(outside)):
            if found[2] is None:
                shown[found[1]] = None
            else:
                shown.setdefault(found[1], []).append([int(found[2]), int(found[3])])
        return shown


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agentos", required=True, help="the program")
    parser.add_argument("--tasks", help="file of tasks")
    parser.add_argument("--repo", action="append", default=[], metavar="NAME=GITDIR", help="repository of these tasks")
    parser.add_argument("--make", action="append", default=[], metavar="NAME=GITDIR", help="make tasks of a repository")
    parser.add_argument("--count", type=int, default=40, help="tasks of each such repository")
    parser.add_argument("--per-repo", type=int, default=1000, help="tasks of each repository of the file")
    parser.add_argument("--window", type=int, action="append", help="tokens of the window")
    arguments = parser.parse_args()
    given = dict(word.split("=", 1) for word in arguments.repo + arguments.make)
    tasks = read_tasks(arguments.tasks, arguments.per_repo) if arguments.tasks else []
    for word in arguments.make:
        tasks += make_tasks(*word.split("=", 1), arguments.count)
    failed = 0
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        prover = Prover(os.path.abspath(arguments.agentos), folder)
        for repo in sorted({task["repo"] for task in tasks}):
            work = folder / repo
            bare = find_repository(repo, given, arguments.tasks, folder)
            subprocess.run(["git", "clone", "-q", str(bare), str(work)], check=True)
            for window in arguments.window or [8192, 131072]:
                prover.set_window(window)
                counts = {"landed": 0, "nothing shown": 0, "failed": 0}
                for task in (task for task in tasks if task["repo"] == repo):
                    check_out(work, task)
                    result = prover.prove(work, task)
                    counts[result if result in counts else "failed"] += 1
                    if result not in counts:
                        print(f"  {repo} {window} {task['commit'][:10]} {task['text'][:50]!r}: {result}", flush=True)
                failed += counts["failed"]
                print(f"{repo:14} {window:7} " + "  ".join(f"{key} {value}" for key, value in counts.items()), flush=True)
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
