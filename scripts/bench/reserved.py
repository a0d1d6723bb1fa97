#!/usr/bin/env python3
"""Measures how much more budgets reserve than coding calls use: 100 calls through `agentos-server`.

    PYTHON scripts/bench/reserved.py BIN [--calls 100] [--limit 4096] [--plain]

PYTHON needs `tiktoken` and LiteLLM, whose package has the vocabulary `o200k_base` (`.venv-litellm/bin/python` of scripts/servers).
BIN is the folder with `agentos` and `agentos-server`.

Each call is what a coding agent sends: a system prompt, 12 tools with schemas, a task, and between 2 and 24 files of this repository that
the model read with a tool: at most 400 lines, with their numbers as the read tools of Claude Code and OpenCode give them, or without numbers
with `--plain`. The answer is a call of a tool with some lines of a file. A server on
loopback counts the tokens of the texts with the vocabulary and reports them. Reported is, for each call, the tokens that were reserved
divided by the tokens that were counted: the least, the median, the nine tenth and the most. Ends with 1 if the median is above 4, or if
a call was counted with more than was reserved.
"""

import argparse
import http.server
import json
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import threading
import urllib.request

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts/bench"))
import budgets  # noqa: E402

SYSTEM = (TOP / ".github/CONTRIBUTING.md").read_text(encoding="utf-8")[:8_000]
TOOLS = ["read_file", "list_files", "search", "edit_file", "write_file", "run_command", "git_log", "git_diff", "git_show", "todo_read", "todo_write", "ask_user"]


def load_vocabulary():
    import importlib.util

    package = pathlib.Path(importlib.util.find_spec("litellm").origin).parent
    os.environ["TIKTOKEN_CACHE_DIR"] = str(package / "litellm_core_utils/tokenizers")
    import tiktoken

    return tiktoken.get_encoding("o200k_base")


def list_files():
    listed = subprocess.run(["git", "-C", TOP, "ls-files", "*.rs", "*.py", "*.md", "*.toml"], check=True, capture_output=True, text=True).stdout
    return [TOP / name for name in listed.splitlines() if (TOP / name).stat().st_size > 500]


def make_tools():
    properties = {"path": {"type": "string", "description": "Path of the file, relative to the top of the repository"},
                  "first": {"type": "integer", "description": "First line to read, 1 for the first of the file"},
                  "last": {"type": "integer", "description": "Last line to read"},
                  "text": {"type": "string", "description": "Text that takes the place of the lines"}}
    text = "Use it before you change a file that you have not read. Paths outside of the repository are refused. The result is cut at 400 lines."
    return [{"type": "function", "function": {"name": name, "description": f"{name.replace('_', ' ').capitalize()}. {text}",
             "parameters": {"type": "object", "properties": properties, "required": ["path"]}}} for name in TOOLS]


def make_call(chance, files, is_plain):
    messages = [{"role": "system", "content": SYSTEM}, {"role": "user", "content": "Find why the test fails, and repair the cause. Change as little as possible."}]
    for number in range(chance.randint(2, 24)):
        path = chance.choice(files)
        lines = path.read_text(encoding="utf-8").splitlines(keepends=True)[:400]
        text = "".join(lines if is_plain else (f"{at:6}\t{line}" for at, line in enumerate(lines, 1)))
        arguments = json.dumps({"path": str(path.relative_to(TOP))})
        messages.append({"role": "assistant", "content": "I read the next file.", "tool_calls": [
            {"id": f"call_{number}", "type": "function", "function": {"name": "read_file", "arguments": arguments}}]})
        messages.append({"role": "tool", "tool_call_id": f"call_{number}", "content": text})
    return {"model": "mine", "messages": messages, "tools": make_tools()}


def list_texts(value):
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for field in value.values():
            yield from list_texts(field)
    elif isinstance(value, list):
        for item in value:
            yield from list_texts(item)


def start_upstream(vocabulary, answers):
    """Starts a server that reports the tokens of the vocabulary. What it answers with is taken from `answers`."""

    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def log_message(self, *_):
            pass

        def do_POST(self):
            body = json.loads(self.rfile.read(int(self.headers["content-length"])))
            # Four tokens for the borders of each message, as the vendor documents, and the tools as they are written.
            texts = [text for message in body["messages"] for text in list_texts(message)]
            tokens = sum(len(vocabulary.encode(text, disallowed_special=())) for text in texts) + 4 * len(body["messages"])
            tokens += len(vocabulary.encode(json.dumps(body["tools"])))
            text = answers.pop()
            usage = {"prompt_tokens": tokens, "completion_tokens": len(vocabulary.encode(text, disallowed_special=()))}
            choice = {"index": 0, "message": {"role": "assistant", "content": text}, "finish_reason": "stop"}
            data = json.dumps({"id": "x", "created": 1, "model": "tiny", "object": "chat.completion", "choices": [choice], "usage": usage}).encode()
            self.send_response(200)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return f"http://127.0.0.1:{server.server_address[1]}/v1"


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binaries", type=pathlib.Path)
    arguments.add_argument("--calls", type=int, default=100)
    arguments.add_argument("--limit", type=int, default=4_096, help="limit on the tokens of an answer")
    arguments.add_argument("--plain", action="store_true", help="files without line numbers")
    given = arguments.parse_args()
    vocabulary, files, chance = load_vocabulary(), list_files(), random.Random(7)
    answers = ["".join(chance.choice(files).read_text(encoding="utf-8").splitlines(keepends=True)[:chance.randint(5, 120)]) for _ in range(given.calls)]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        home = folder / "home"
        profiles = home / ".config/agentos/profiles"
        profiles.mkdir(parents=True)
        profile = {"provider": "mine", "adapter": "openai", "model": "tiny", "base_url": start_upstream(vocabulary, answers),
                   "requires_key": False, "price": {"input": 1.0, "output": 1.0}, "params": {"max_tokens": given.limit}}
        (profiles / "mine.json").write_text(json.dumps(profile))
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        subprocess.run([given.binaries.resolve() / "agentos", "budget", "set", "1000000000tokens/day"], env=environment, cwd=folder, check=True, capture_output=True)
        port, service = budgets.start_service(given.binaries.resolve(), folder, "repository", environment)
        try:
            budgets.await_port(port)
            make = [given.binaries.resolve() / "agentos", "serve", "token", "add", "bench"]
            key = subprocess.run(make, env=environment, cwd=folder, check=True, capture_output=True, text=True).stdout.strip()
            # A token has one dollar a day unless it has a budget of its own.
            own = [given.binaries.resolve() / "agentos", "budget", "set", "1000000usd/day", "--session", "token:bench"]
            subprocess.run(own, env=environment, cwd=folder, check=True, capture_output=True)
            for _ in range(given.calls):
                data = json.dumps(make_call(chance, files, given.plain)).encode()
                request = urllib.request.Request(f"http://127.0.0.1:{port}/v1/chat/completions", data,
                                                 {"authorization": f"Bearer {key}", "content-type": "application/json"})
                urllib.request.urlopen(request, timeout=120).read()
        finally:
            service.terminate()
            service.wait()
        with sqlite3.connect(next(home.rglob("budgets.sqlite"))) as db:
            rows = list(db.execute("SELECT bound_tokens, tokens FROM reservation WHERE tokens IS NOT NULL"))
    ratios = sorted(bound / used for bound, used in rows)
    used = sorted(used for _, used in rows)
    if len(ratios) != given.calls:
        sys.exit(f"{len(ratios)} of {given.calls} calls have a reservation and a count")
    at = lambda part: ratios[int(part * (len(ratios) - 1))]  # noqa: E731
    print(f"{len(rows)} calls of {used[0]} to {used[-1]} tokens, median {used[len(used) // 2]}; limit of an answer {given.limit}")
    print(f"reserved divided by used: least {at(0):.2f}, median {at(0.5):.2f}, nine tenth {at(0.9):.2f}, most {at(1):.2f}")
    sys.exit(0 if at(0.5) <= 4 and at(0) >= 1 else 1)


if __name__ == "__main__":
    main()
