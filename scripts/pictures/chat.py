#!/usr/bin/env python3
"""Captures a conversation on terminals of 60 and 120 columns, for `cargo xtask picture`, which draws the captures.

    python3 scripts/pictures/chat.py target/debug/agentos crates/apps/agentos-cli/demo

A server on loopback plays the model: it reads a file of a small repository through a tool, and answers in Markdown. A
terminal multiplexer (`tmux`) is the terminal, because only a terminal shows where lines really break. It never runs in a
test.

Owns: what is typed and answered. Never: draws a line that the program did not print.
"""

import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading
import time

SOURCE = "/// Adds two numbers.\npub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
ANSWER = """**No**: `add` in `src/lib.rs` *subtracts*.

```rust
pub fn add(a: i32, b: i32) -> i32 {
    a - b   // here
}
```

1. Replace `-` by `+`.
2. Add a test with two numbers that are not zero: with a zero as the second number, both operators give the same result.

| call | now | right |
|---|---|---|
| `add(2, 2)` | 0 | 4 |
| `add(2, 0)` | 2 | 2 |

> I can propose this change; it lands only after you agree. See [overflow](https://doc.rust-lang.org/std/primitive.i32.html).
"""
QUESTION = "Is add() right?"


class Model(http.server.BaseHTTPRequestHandler):
    """The model: one call of a tool, then the answer."""

    def log_message(self, *_):
        pass

    def do_GET(self):
        body = json.dumps({"object": "list", "data": [{"id": "tiny-coder", "object": "model"}]}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def do_POST(self):
        request = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        if any(message["role"] == "tool" for message in request["messages"]):
            deltas = [{"content": ANSWER[at : at + 5]} for at in range(0, len(ANSWER), 5)]
            finish, tokens = "stop", (812, 164)
        else:
            function = {"name": "read_file", "arguments": json.dumps({"path": "src/lib.rs"})}
            deltas = [{"tool_calls": [{"index": 0, "id": "c1", "function": function}]}]
            finish, tokens = "tool_calls", (640, 18)
        for delta in deltas:
            self.send({"model": "tiny-coder", "choices": [{"index": 0, "delta": delta}]})
        usage = {"prompt_tokens": tokens[0], "completion_tokens": tokens[1]}
        self.send({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage})

    def send(self, event):
        self.wfile.write(f"data: {json.dumps(event)}\n\n".encode())


def make_home(home, port):
    """Writes the settings and the repository of a person."""
    profile = {
        "provider": "mine", "name": "mine", "adapter": "openai", "model": "tiny-coder", "requires_key": False,
        "base_url": f"http://127.0.0.1:{port}/v1", "price": {"input": 0.5, "output": 1.5},
        "capabilities": {"context_window": 16000},
    }
    profiles = home / ".config/agentos/profiles"
    profiles.mkdir(parents=True)
    (profiles / "mine.json").write_text(json.dumps(profile))
    shop = home / "shop"
    (shop / "src").mkdir(parents=True)
    (shop / "src/lib.rs").write_text(SOURCE)
    for call in (
        ["init", "--quiet", "-b", "main"],
        ["add", "--all"],
        ["-c", "user.name=A. Developer", "-c", "user.email=dev@example.com", "commit", "--quiet", "-m", "Begin"],
    ):
        subprocess.run(["git", "-C", str(shop), *call], check=True, env={"HOME": str(home), "PATH": os.environ["PATH"]})
    return shop


def capture(program, columns, folder):
    """Holds the conversation on a terminal of this many columns, and writes what it shows."""
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with tempfile.TemporaryDirectory() as scratch:
        home = pathlib.Path(scratch)
        shop = make_home(home, server.server_port)
        tmux = ["tmux", "-S", str(home / "tmux"), "-f", "/dev/null"]
        line = f"env -i HOME={home} PATH={os.environ['PATH']} TERM=screen-256color {program} chat -p mine --tools"
        size = ["-x", str(columns), "-y", "60", "-c", str(shop)]
        subprocess.run([*tmux, "new-session", "-d", *size, line], check=True)

        def screen(*more):
            found = subprocess.run([*tmux, "capture-pane", "-p", *more], check=True, capture_output=True, text=True)
            return found.stdout.rstrip("\n")

        try:
            for keys, shown in ((None, "/help"), (QUESTION, "window"), ("/context", "kept for the answer")):
                if keys:
                    subprocess.run([*tmux, "send-keys", keys, "Enter"], check=True)
                for _ in range(200):
                    lines = screen().splitlines()
                    if shown in screen() and lines and lines[-1].strip() == ">":
                        break
                    time.sleep(0.05)
                else:
                    sys.exit(f"`{shown}` did not come:\n{screen()}")
            (folder / f"chat-{columns}.ans").write_text(screen("-e") + "\n")
        finally:
            subprocess.run([*tmux, "kill-server"], check=False)
            server.shutdown()


def main():
    program, folder = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2])
    for columns in (60, 120):
        capture(program, columns, folder)


main()
