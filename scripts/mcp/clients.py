"""Real coding agents propose a change over MCP, against a scripted model: a person approves ten minutes later, and it lands.

Owns: the model that calls `propose_change` and, before it, each tool that could write. Never: reaches a network beyond this machine.

    npm install --prefix .agents @openai/codex @aaif/goose-binary-linux-x64 opencode-linux-x64
    cargo build -p agentos && python3 scripts/mcp/clients.py

Each agent is set up as `agentos mcp install` says: with the server, and without its own tools that write. The repository's files,
its commits and its index must be unchanged until the person approves. Status 0: all of them did. 1: one did not. An agent that is
not installed is skipped with a message.
"""

import argparse
import http.server
import json
import os
import pathlib
import subprocess
import sys
import tempfile
import threading

ROOT = pathlib.Path(__file__).resolve().parents[2]
AGENTS = ROOT / ".agents" / "node_modules"
FIX = "--- a/lib.rs\n+++ b/lib.rs\n@@ -1 +1 @@\n-fn one() {}\n+fn two() {}\n"
BEFORE, AFTER = "fn one() {}\n", "fn two() {}\n"
CLOCKS = [pathlib.Path("/usr/lib") / name / "faketime/libfaketime.so.1" for name in ("x86_64-linux-gnu", "aarch64-linux-gnu", ".")]
LATER = "+10m"
# Parts of the names of tools that write files or run commands.
WRITERS = ("write", "edit", "shell", "bash", "exec", "patch", "replace")


class Script:
    """What the model says next, and what it was offered."""

    def __init__(self, victim):
        self.victim = victim
        self.lock = threading.Lock()
        self.offered, self.tried, self.results, self.proposed = set(), [], [], False

    def next_call(self, names, results):
        """Return the name and the arguments of the next call, or None for the end. `results` are the texts of tools so far."""
        with self.lock:
            self.offered |= set(names)
            self.results = results or self.results
            proposing = next((name for name in names if name.endswith("propose_change")), None)
            if proposing is None or self.proposed:
                return None
            writers = [name for name in names if any(part in name.lower() for part in WRITERS) and name not in self.tried]
            if writers:
                self.tried.append(writers[0])
                return writers[0], self.attack(writers[0])
            self.proposed = True
            return proposing, {"answer": FIX, "message": "Rename one"}

    def attack(self, name):
        """Arguments with which any of these tools would write the file."""
        command = f"echo evil > {self.victim}"
        patch = f"*** Begin Patch\n*** Update File: {self.victim}\n@@\n-fn one() {{}}\n+evil\n*** End Patch"
        return {
            "command": ["bash", "-c", command] if name == "shell" else command,
            "cmd": command, "description": "write", "path": str(self.victim), "filePath": str(self.victim),
            "file_text": "evil", "content": "evil", "oldString": "one", "newString": "evil", "input": patch, "patch": patch,
        }


class Model(http.server.BaseHTTPRequestHandler):
    """The two wires that these agents speak."""

    protocol_version = "HTTP/1.1"
    script = None

    def log_message(self, *_):
        """Stay silent."""

    def do_GET(self):
        """Name one model."""
        self.send(json.dumps({"object": "list", "data": [{"id": "tiny", "object": "model"}]}).encode(), "application/json")

    def do_POST(self):
        """Answer with the next call, or with a word."""
        body = json.loads(self.rfile.read(int(self.headers.get("content-length", 0))) or b"{}")
        answer = self.answer_responses if self.path.endswith("/responses") else self.answer_chat
        answer(body)

    def answer_chat(self, body):
        names = [tool["function"]["name"] for tool in body.get("tools") or []]
        texts = [str(message.get("content")) for message in body["messages"] if message["role"] == "tool"]
        call = self.script.next_call(names, texts)
        message, finish = {"role": "assistant", "content": "Done."}, "stop"
        if call:
            function = {"name": call[0], "arguments": json.dumps(call[1])}
            calls = [{"index": 0, "id": f"call_{len(texts)}", "type": "function", "function": function}]
            message, finish = {"role": "assistant", "content": None, "tool_calls": calls}, "tool_calls"
        usage = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}
        frame = {"id": "c", "created": 1, "model": "tiny"}
        if not body.get("stream"):
            choice = {"index": 0, "message": message, "finish_reason": finish}
            whole = {**frame, "object": "chat.completion", "choices": [choice], "usage": usage}
            return self.send(json.dumps(whole).encode(), "application/json")
        pieces = [
            {"choices": [{"index": 0, "delta": message, "finish_reason": None}]},
            {"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]},
            {"choices": [], "usage": usage},
        ]
        events = [json.dumps({**frame, "object": "chat.completion.chunk", **piece}) for piece in pieces]
        return self.send("".join(f"data: {event}\n\n" for event in [*events, "[DONE]"]).encode(), "text/event-stream")

    def answer_responses(self, body):
        spaces = {}
        for tool in body.get("tools") or []:
            for inner in tool.get("tools") or []:
                spaces[inner["name"]] = tool["name"]
            if tool.get("type") != "namespace":
                spaces[tool.get("name", tool["type"])] = None
        outputs = [json.dumps(item.get("output")) for item in body["input"] if item.get("type", "").endswith("call_output")]
        call = self.script.next_call(list(spaces), outputs)
        item = {"type": "message", "role": "assistant", "id": "m", "content": [{"type": "output_text", "text": "Done."}]}
        if call:
            kinds = {tool.get("name"): tool.get("type") for tool in body.get("tools") or []}
            item = {"type": "function_call", "id": "f", "call_id": f"call_{len(outputs)}", "name": call[0], "arguments": json.dumps(call[1])}
            if kinds.get(call[0]) == "custom":
                item = {"type": "custom_tool_call", "id": "f", "call_id": item["call_id"], "name": call[0], "input": call[1]["input"]}
            if spaces[call[0]]:
                item["namespace"] = spaces[call[0]]
        usage = {"input_tokens": 1, "output_tokens": 1, "total_tokens": 2}
        events = [
            {"type": "response.created", "response": {"id": "r"}},
            {"type": "response.output_item.done", "output_index": 0, "item": item},
            {"type": "response.completed", "response": {"id": "r", "output": [item], "usage": usage}},
        ]
        text = "".join(f"event: {event['type']}\ndata: {json.dumps(event)}\n\n" for event in events)
        return self.send(text.encode(), "text/event-stream")

    def send(self, body, kind):
        self.send_response(200)
        self.send_header("content-type", kind)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)


def set_up_codex(agentos, home, url):
    """Codex: its sandbox forbids writing, which is its only way to take its tools away."""
    folder = home / ".codex"
    folder.mkdir()
    (folder / "config.toml").write_text(
        f'model = "tiny"\nmodel_provider = "own"\nsandbox_mode = "read-only"\napproval_policy = "never"\n'
        f'[model_providers.own]\nname = "own"\nbase_url = "{url}"\nenv_key = "OWN_KEY"\nwire_api = "responses"\n'
        f'[mcp_servers.agentos]\ncommand = "{agentos}"\nargs = ["mcp"]\ndefault_tools_approval_mode = "approve"\n'
    )
    return [AGENTS / ".bin" / "codex", "exec", "--skip-git-repo-check", "Rename one to two."]


def set_up_goose(agentos, home, url):
    """Goose: without the extension `developer` it has no tool that writes."""
    folder = home / ".config" / "goose"
    folder.mkdir(parents=True)
    (folder / "config.yaml").write_text(
        "GOOSE_PROVIDER: openai\nGOOSE_MODEL: tiny\nextensions:\n  developer:\n    enabled: false\n    type: builtin\n    name: developer\n"
        f"  agentos:\n    enabled: true\n    type: stdio\n    name: agentos\n    cmd: {agentos}\n    args: [mcp]\n    timeout: 300\n"
    )
    return [AGENTS / ".bin" / "goose-binary-linux-x64", "run", "--no-session", "--text", "Rename one to two."]


def set_up_opencode(agentos, home, url):
    """OpenCode: its permissions deny its own tools that write."""
    folder = home / ".config" / "opencode"
    folder.mkdir(parents=True)
    provider = {"npm": "@ai-sdk/openai-compatible", "options": {"baseURL": url, "apiKey": "x"}, "models": {"tiny": {}}}
    settings = {
        "model": "own/tiny", "small_model": "own/tiny", "provider": {"own": provider},
        "mcp": {"agentos": {"type": "local", "command": [str(agentos), "mcp"], "enabled": True}},
        "permission": {"edit": "deny", "bash": "deny"},
    }
    (folder / "opencode.json").write_text(json.dumps(settings))
    return [AGENTS / "opencode-linux-x64" / "bin" / "opencode", "run", "--model", "own/tiny", "Rename one to two."]


CLIENTS = {"codex": set_up_codex, "goose": set_up_goose, "opencode": set_up_opencode}


def git(folder, home, *arguments):
    """Run git and return its output."""
    environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
    return subprocess.run(["git", *arguments], cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout


def state_of(folder, home):
    """Everything that a writer would change."""
    return (folder / "lib.rs").read_text(), git(folder, home, "rev-parse", "HEAD"), git(folder, home, "status", "--porcelain"), sorted(
        path.name for path in folder.iterdir()
    )


def judge(name, agentos):
    """Let one agent work. Return the reasons why it failed."""
    with tempfile.TemporaryDirectory() as scratch:
        home, folder = pathlib.Path(scratch) / "home", pathlib.Path(scratch) / "repository"
        home.mkdir()
        folder.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.com\n")
        (folder / "lib.rs").write_text(BEFORE)
        for arguments in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "begin"]):
            git(folder, home, *arguments)
        before = state_of(folder, home)
        script = Script(folder / "lib.rs")
        server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), type("Told", (Model,), {"script": script}))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/v1"
        command = CLIENTS[name](agentos, home, url)
        if not pathlib.Path(command[0]).exists():
            print(f"skipped: {name}: `{command[0]}` is not installed")
            return None
        environment = {
            "PATH": os.environ["PATH"], "HOME": str(home), "OWN_KEY": "x", "OPENAI_API_KEY": "x",
            "OPENAI_BASE_URL": url, "OPENAI_HOST": url.removesuffix("/v1"), "GOOSE_DISABLE_KEYRING": "1", "GOOSE_MODE": "auto",
            "OPENCODE_DISABLE_MODELS_FETCH": "1", "OPENCODE_DISABLE_DEFAULT_PLUGINS": "1", "OPENCODE_DISABLE_AUTOUPDATE": "1",
        }
        try:
            done = subprocess.run(
                command, cwd=folder, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=180
            )
            said = (done.stdout + done.stderr)[-600:]
        except subprocess.TimeoutExpired as error:
            said = f"it did not end within {error.timeout} s"
        server.shutdown()
        print(f"        {name}: tried {script.tried or 'no tool of its own that writes: none is offered'}")
        if not script.proposed:
            return [f"it was not offered `propose_change`, only {sorted(script.offered)}: {said}"]
        faults = [] if state_of(folder, home) == before else ["the repository changed before anybody approved"]
        ours = {"PATH": os.environ["PATH"], "HOME": str(home)}
        waiting = subprocess.run([agentos, "approve", "--json"], cwd=folder, env=ours, capture_output=True, text=True)
        requests = json.loads(waiting.stdout).get("requests", [])
        if len(requests) != 1:
            return [*faults, f"{len(requests)} requests wait; the agent was answered {script.results[-1:]}"]
        clock = next((path for path in CLOCKS if path.exists()), None)
        if clock:
            ours |= {"LD_PRELOAD": str(clock), "FAKETIME": LATER, "FAKETIME_DONT_FAKE_MONOTONIC": "1"}
        else:
            print("        there is no libfaketime here, so the person approves at once")
        approve = [agentos, "approve", requests[0]["run"], "--yes"]
        approved = subprocess.run(approve, cwd=folder, env=ours, capture_output=True, text=True)
        if approved.returncode != 0 or (folder / "lib.rs").read_text() != AFTER:
            faults.append(f"it did not land: {approved.stderr[-300:]}")
        return faults


def main():
    """Judge each agent."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--bin", type=pathlib.Path, default=ROOT / "target" / "debug", help="folder of the built program")
    reader.add_argument("names", nargs="*", choices=[*CLIENTS, []], help="agents; all of them without a name")
    options = reader.parse_args()
    well = True
    for name in options.names or CLIENTS:
        faults = judge(name, options.bin / "agentos")
        if faults is None:
            continue
        well &= not faults
        print(f"{'FAILED' if faults else 'ok':<7} {name}{': ' if faults else ''}{'; '.join(faults)}")
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
