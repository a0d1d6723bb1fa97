"""Measures the memory of a confined adapter process over many requests of one conversation.

    python3 scripts/bench/model_process.py AGENTOS [--requests N]

Starts a server on loopback that answers every message, and `agentos chat`, which keeps one process for its turns. Prints the
resident memory of that process, in KiB, at request 10, 100 and every further power of ten, up to N (default 1,000), and how many
processes served them. The window of the conversation is cleared after each message, so that every request has the same size.
Linux only.
"""

import argparse
import glob
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

ANSWER = json.dumps({
    "id": "x", "object": "chat.completion", "model": "m",
    "choices": [{"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "word " * 200}}],
    "usage": {"prompt_tokens": 11, "completion_tokens": 200},
}).encode()
MODELS = json.dumps({"object": "list", "data": [{"id": "m", "object": "model"}]}).encode()


class Server(http.server.BaseHTTPRequestHandler):
    """Answers every request, and notes the processes that are adapters when it does."""

    parent = 0
    asked = 0
    seen = {}

    def answer(self, body):
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_GET(self):
        self.answer(MODELS)

    def do_POST(self):
        self.rfile.read(int(self.headers["content-length"]))
        Server.asked += 1
        number = Server.asked
        for process in adapters(Server.parent):
            Server.seen.setdefault(process, number)
            if number >= 10 and str(number).strip("0") == "1":
                print(f"request {number:6}: process {process}, {memory(process):6} KiB", flush=True)
        self.answer(ANSWER)

    def log_message(self, *_):
        pass


def field(process, name):
    """Returns a field of a process's status; empty if the process has ended."""
    try:
        for line in pathlib.Path(f"/proc/{process}/status").read_text().splitlines():
            if line.startswith(name + ":"):
                return line.split(":", 1)[1].strip()
    except OSError:
        pass
    return ""


def memory(process):
    """Returns the resident memory of a process in KiB."""
    return int((field(process, "VmRSS") or "0").split()[0])


def descends(process, top):
    """Returns whether a process has another one as an ancestor."""
    while process > 1:
        if process == top:
            return True
        process = int(field(process, "PPid") or "0")
    return False


def adapters(top):
    """Returns the processes below another one that are confined adapters."""
    found = []
    for place in glob.glob("/proc/[0-9]*"):
        process = int(place.rsplit("/", 1)[1])
        try:
            line = pathlib.Path(f"{place}/cmdline").read_bytes()
        except OSError:
            continue
        if line.endswith(b"\0__tool\0") and descends(process, top):
            found.append(process)
    return found


def main():
    """Runs the conversation."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("agentos", type=pathlib.Path)
    arguments.add_argument("--requests", type=int, default=1000)
    given = arguments.parse_args()
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as home:
        command = [
            given.agentos.resolve(), "chat", "-p", "openai", "--model", "m",
            "--base-url", f"http://127.0.0.1:{server.server_port}/v1",
        ]
        environment = {"PATH": os.environ["PATH"], "HOME": home}
        child = subprocess.Popen(
            command, cwd=home, env=environment, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        Server.parent = child.pid
        said = child.communicate("hello\n/clear\n" * given.requests)[1]
    if child.returncode != 0 or Server.asked != given.requests:
        sys.exit(f"{Server.asked} of {given.requests} requests; exit {child.returncode}: {said[-2000:]}")
    print(f"{Server.asked} requests, {len(Server.seen)} process(es)")


if __name__ == "__main__":
    main()
