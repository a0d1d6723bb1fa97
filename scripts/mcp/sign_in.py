"""Signs in at the example server of the protocol's TypeScript SDK, which has an authorization server of its own, and calls its tools.

Owns: a browser that agrees to everything, and a model that calls one tool. Never: reaches another machine.

    cargo build -p agentos && .venv-mcp/bin/python scripts/mcp/sign_in.py

Status 0: everything went well. 1: something failed. 77: skipped, with the reason.
"""

import argparse
import http.server
import json
import os
import pathlib
import queue
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import urllib.request

from packages import ROOT, Missing, find_node, install, skip

# Time for one line of a server or one command.
LONGEST = 60
NAME = "example"
# The next step, which is named where nobody is signed in.
NEXT = f"agentos tool auth sign-in --provider {NAME}"


class Failed(Exception):
    """A step that did not go as it must."""


class ExampleServer:
    """The SDK's example with `--oauth`: the server of tools on one port, its authorization server on another."""

    def __init__(self, mode):
        node, _ = find_node()
        sdk = install("everything").parent / "sdk" / "dist" / "esm"
        program = sdk / "examples" / "server" / "simpleStreamableHttp.js"
        if not program.exists():
            raise Missing(f"there is no `{program}`")
        self.ports = [find_port(), find_port()]
        environment = {
            "PATH": os.environ["PATH"],
            "MCP_PORT": str(self.ports[0]),
            "MCP_AUTH_PORT": str(self.ports[1]),
            "SIGN_IN_SDK": str(sdk),
        }
        refresh = pathlib.Path(__file__).with_name("sign_in_refresh.mjs")
        command = [node, "--import", refresh, program, "--oauth", *mode]
        self.process = subprocess.Popen(command, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
        self.lines = queue.Queue()
        self.seen = []
        threading.Thread(target=self.read_lines, daemon=True).start()
        self.await_lines("OAuth Authorization Server listening", "MCP Streamable HTTP Server listening")

    def read_lines(self):
        for line in self.process.stdout:
            self.lines.put(line)

    def await_lines(self, *words):
        """Wait until every word was printed."""
        missing = set(words)
        while missing:
            try:
                line = self.lines.get(timeout=LONGEST)
            except queue.Empty as error:
                raise Failed(f"the server did not print {sorted(missing)}: {''.join(self.seen)[-800:]}") from error
            self.seen.append(line)
            missing = {word for word in missing if word not in line}

    def end_tokens(self):
        """Have the server refuse all access tokens."""
        self.process.send_signal(signal.SIGUSR2)
        self.await_lines("ended")

    def close(self):
        self.process.kill()
        self.process.wait()


class Model(http.server.BaseHTTPRequestHandler):
    """A model that calls `greet`, and then says what came back."""

    def log_message(self, *_):
        """Stay silent."""

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))))
        texts = [str(message.get("content")) for message in body["messages"] if message["role"] == "tool"]
        if texts:
            delta, finish = {"content": f"The tool said: {texts[-1]}"}, "stop"
        else:
            function = {"name": f"{NAME}__greet", "arguments": '{"name": "Ada"}'}
            delta, finish = {"tool_calls": [{"index": 0, "id": "call_0", "type": "function", "function": function}]}, "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1}
        pieces = [
            {"model": "tiny", "choices": [{"index": 0, "delta": delta}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}], "usage": usage},
        ]
        text = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
        self.send_response(200)
        self.send_header("content-type", "text/event-stream")
        self.end_headers()
        self.wfile.write(text.encode())


def find_port():
    """Return a port of loopback that nobody uses."""
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


class User:
    """The product with a home of its own."""

    def __init__(self, program, home):
        self.program = program
        self.home = home
        self.environment = {"PATH": os.environ["PATH"], "HOME": str(home)}

    def write_profile(self, profile):
        folder = self.home / ".config" / "agentos" / "profiles"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / f"{profile['provider']}.json").write_text(json.dumps(profile))

    def run(self, *arguments, status=0):
        """Run a command, and return its standard output and error."""
        done = subprocess.run(
            [self.program, *arguments], cwd=self.home, env=self.environment, capture_output=True, text=True, timeout=LONGEST
        )
        if done.returncode != status:
            raise Failed(f"{' '.join(arguments)} ended with {done.returncode}: {done.stdout}{done.stderr}")
        return done.stdout, done.stderr

    def sign_in(self):
        """Sign in, with a browser that follows the printed address. Return what the last page says."""
        command = [self.program, "tool", "auth", "sign-in", "-p", NAME, "--store", "file", "--no-browser"]
        process = subprocess.Popen(command, cwd=self.home, env=self.environment, stderr=subprocess.PIPE, text=True)
        try:
            shown = []
            for line in process.stderr:
                shown.append(line)
                if line.startswith("http://"):
                    break
            else:
                raise Failed(f"no address was printed: {''.join(shown)}")
            with urllib.request.urlopen(line.strip(), timeout=LONGEST) as answer:
                page = answer.read().decode()
            rest = process.stderr.read()
            if process.wait(timeout=LONGEST) != 0:
                raise Failed(f"the sign-in failed: {rest}")
            return page.strip(), rest.strip()
        finally:
            process.kill()
            process.wait()

    def read_tokens(self):
        """Return the stored tokens."""
        stored = json.loads((self.home / ".agentos" / "credentials.json").read_text())
        entry = json.loads(stored["keys"][f"{NAME}.sign-in"])
        return entry["access_token"], entry["refresh_token"]


def judge(mode, program, model):
    """Walk through everything that a user does with such a server."""
    title = " ".join(["--oauth", *mode])
    with tempfile.TemporaryDirectory() as scratch:
        user = User(program, pathlib.Path(scratch))
        server = ExampleServer(mode)
        try:
            for step, shown in walk(user, server, model):
                print(f"ok      {title}: {step}: {shown}")
        finally:
            server.close()


def walk(user, server, model):
    """Yield each step with what it showed."""
    # The SDK names itself `localhost`, and metadata must be about exactly the address of the profile.
    user.write_profile({"provider": NAME, "adapter": "mcp", "base_url": f"http://localhost:{server.ports[0]}/mcp"})
    user.write_profile(
        {
            "provider": "scripted", "adapter": "openai", "base_url": f"http://127.0.0.1:{model}/v1", "model": "tiny",
            "requires_key": False, "price": {"input": 1, "output": 1}, "capabilities": {"context_window": 32000},
        }
    )
    error = "".join(user.run("tool", "trust", NAME, status=5))
    require(NEXT in error, error)
    yield "without a sign-in", "refused, and the next step is named"
    page, said = user.sign_in()
    yield "signed in", said.splitlines()[-1]
    require("The answer has arrived" in page, page)
    status = json.loads(user.run("tool", "auth", "status", "--json")[0])["keys"][NAME]["signed_in"]
    yield "status", json.dumps(status)
    review = json.loads(user.run("tool", "trust", NAME, "--json")[0])
    user.run("tool", "trust", NAME, "--accept", review["sha256"])
    yield "tools listed", ", ".join(tool["name"] for tool in review["tools"])
    answer, _ = user.run("chat", "send", "-c", "one", "-p", "scripted", "--tool", NAME, "Greet Ada.")
    require("Hello, Ada!" in answer, answer)
    yield "tool called in a conversation", answer.strip()
    for attempt in ("first", "second"):
        before = user.read_tokens()
        server.end_tokens()
        answer, _ = user.run("chat", "send", "-c", attempt, "-p", "scripted", "--tool", NAME, "Greet Ada.")
        require("Hello, Ada!" in answer, answer)
        server.await_lines("refreshed")
        after = user.read_tokens()
        require(before[0] != after[0] and before[1] != after[1], "the stored tokens are the old ones")
        yield f"{attempt} refresh after a 401", "both tokens are new, and stored"
    user.run("tool", "auth", "clear", "-p", NAME)
    error = "".join(user.run("tool", "trust", NAME, status=5))
    require(NEXT in error, error)
    yield "cleared", "refused again"


def require(holds, words):
    """Fail with these words if something does not hold."""
    if not holds:
        raise Failed(words)


def main():
    """Judge the example as it is, and with tokens that count for one server only."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--bin", type=pathlib.Path, default=ROOT / "target" / "debug", help="folder of the built programs")
    options = reader.parse_args()
    model = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Model)
    threading.Thread(target=model.serve_forever, daemon=True).start()
    try:
        for mode in ([], ["--oauth-strict"]):
            judge(mode, options.bin / "agentos", model.server_address[1])
    except Missing as missing:
        skip(missing)
    except Failed as failed:
        print(f"FAILED  {failed}")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
