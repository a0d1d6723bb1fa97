"""Measures how long tools of a toolbox take when a model calls several at once.

    python3 scripts/bench/parallel_tools.py AGENTOS [--repetitions N]

Starts a server on loopback that answers with calls, and `agentos chat`. The server measures the time from the last byte of its
calls to the first byte of the request with their results. Prints how much longer that is than the slowest call alone:

- three calls of 200, 400 and 600 ms at once, N times in one conversation (default 20): median and worst, and the first one apart,
  whose processes are started for it;
- eight calls of 200 ms at once, of which five run at a time, so that 400 ms are the least.

Linux only.
"""

import argparse
import http.server
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import threading
import time

TOOLBOX = '''
import json, sys, time
SCHEMA = {"type": "object", "properties": {"ms": {"type": "integer"}}, "required": ["ms"]}
for line in sys.stdin:
    request = json.loads(line)
    if request["type"] == "describe":
        answer = {"type": "tools", "tools": [{"name": "wait", "description": "Waits.", "input_schema": SCHEMA}]}
    else:
        time.sleep(request["arguments"]["ms"] / 1000)
        answer = {"type": "result", "text": "waited"}
    print(json.dumps(answer), flush=True)
'''


class Server(http.server.BaseHTTPRequestHandler):
    """Answers a message with calls, and results with a text."""

    protocol_version = "HTTP/1.1"
    calls = []
    sent = 0.0
    times = []

    def answer(self, body):
        body = json.dumps(body).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
        self.wfile.flush()

    def do_GET(self):
        self.answer({"object": "list", "data": [{"id": "m", "object": "model"}]})

    def do_POST(self):
        arrived = time.perf_counter()
        messages = json.loads(self.rfile.read(int(self.headers["content-length"])))["messages"]
        message, finish = {"role": "assistant", "content": "done"}, "stop"
        if messages[-1]["role"] == "tool":
            results = [one["content"] for one in messages[-len(Server.calls):]]
            if results != ["waited"] * len(Server.calls):
                sys.exit(f"a call failed: {results}")
            Server.times.append((arrived - Server.sent) * 1000)
        else:
            calls = [{"id": f"c{at}", "type": "function",
                      "function": {"name": "sleeper__wait", "arguments": json.dumps({"ms": ms})}}
                     for at, ms in enumerate(Server.calls)]
            message, finish = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        self.answer({"id": "x", "object": "chat.completion", "model": "m",
                     "choices": [{"index": 0, "finish_reason": finish, "message": message}],
                     "usage": {"prompt_tokens": 10, "completion_tokens": 2}})
        Server.sent = time.perf_counter()

    def log_message(self, *_):
        pass


def converse(agentos, home, calls, repetitions):
    """Has a conversation of so many messages, each answered with these calls. Returns the times in milliseconds."""
    Server.calls, Server.times = calls, []
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Server)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    environment = {"PATH": "/usr/bin:/bin", "HOME": home}

    def run(*words, **more):
        return subprocess.run([agentos, *words], cwd=home, env=environment, text=True, capture_output=True, **more)

    review = json.loads(run("tool", "trust", "sleeper", "--json").stdout)
    run("tool", "trust", "sleeper", "--accept", review["sha256"])
    ended = run("chat", "-p", "openai", "--model", "m", "--base-url", f"http://127.0.0.1:{server.server_port}/v1",
                "--tool", "sleeper", "-c", f"s{len(calls)}", input="hello\n/clear\n" * repetitions)
    server.shutdown()
    if len(Server.times) != repetitions:
        sys.exit(f"{len(Server.times)} of {repetitions} repetitions: {ended.stderr[-2000:]}")
    return Server.times


def report(name, times, least):
    """Prints the time that was lost."""
    lost = [taken - least for taken in times]
    rest = lost[1:] or lost
    print(f"{name}: +{statistics.median(lost):.0f} ms median, +{max(rest):.0f} ms worst, +{lost[0]:.0f} ms the first time", flush=True)


def main():
    """Runs both conversations."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("agentos", type=pathlib.Path)
    arguments.add_argument("--repetitions", type=int, default=20)
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as home:
        script = pathlib.Path(home, "sleeper.py")
        script.write_text(TOOLBOX)
        profiles = pathlib.Path(home, ".config/agentos/profiles")
        profiles.mkdir(parents=True)
        profile = {"provider": "sleeper", "adapter": "toolbox",
                   "program": {"command": "/usr/bin/python3", "args": [str(script)], "calls_per_minute": 6000}}
        profiles.joinpath("sleeper.json").write_text(json.dumps(profile))
        agentos = os.fspath(given.agentos.resolve())
        report("3 calls, the slowest 600 ms", converse(agentos, home, [200, 400, 600], given.repetitions), 600)
        report("8 calls of 200 ms, 5 at once", converse(agentos, home, [200] * 8, given.repetitions), 400)


main()
