"""Measures `agentos mcp`: the time from its start to its first answer, and its largest memory after calls.

    python3 scripts/bench/mcp.py AGENTOS [--rounds N] [--calls N]

- start: wall time from starting the process to the complete answer of `initialize`, and its processor time; the median and the
  largest of N rounds. Wall time depends on what else the machine does, processor time does not.
- memory: `VmHWM` of `/proc/PID/status` after the first answer, and after each of these calls, N times each.

Build the program with `cargo build --release -p agentos`. Linux only.
"""

import argparse
import json
import os
import pathlib
import statistics
import subprocess
import sys
import tempfile
import time

FIX = "--- a/lib.rs\n+++ b/lib.rs\n@@ -1 +1 @@\n-fn one() {}\n+fn two() {}\n"
CALLS = [
    ("list_files", {}),
    ("read_file", {"path": "lib.rs"}),
    ("search", {"text": "one"}),
    ("git_log", {}),
    ("explain_policy", {"path": "lib.rs"}),
    ("propose_change", {"answer": FIX, "message": "Rename one"}),
    ("list_runs", {}),
    ("verify_evidence", {}),
]
BEGIN = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "bench", "version": "1"},
}


class Server:
    """A running server, asked line by line."""

    def __init__(self, program, folder, home):
        self.began = time.monotonic()
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
        self.child = subprocess.Popen(
            [program, "mcp"], cwd=folder, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE
        )
        self.calls = 0

    def ask(self, method, params):
        """Send a request and wait for its answer."""
        self.calls += 1
        message = {"jsonrpc": "2.0", "id": self.calls, "method": method, "params": params}
        self.child.stdin.write(json.dumps(message).encode() + b"\n")
        self.child.stdin.flush()
        return json.loads(self.child.stdout.readline())["result"]

    def begin(self):
        """Shake hands, and return the wall time since the start in milliseconds."""
        self.ask("initialize", BEGIN)
        passed = (time.monotonic() - self.began) * 1000
        self.child.stdin.write(b'{"jsonrpc":"2.0","method":"notifications/initialized"}\n')
        self.child.stdin.flush()
        return passed

    def memory(self):
        """Return the largest memory so far, in MB, and its parts of now."""
        status = pathlib.Path(f"/proc/{self.child.pid}/status").read_text()
        fields = dict(line.split(":", 1) for line in status.splitlines())
        number = lambda name: int(fields[name].split()[0]) / 1000
        return number("VmHWM"), number("RssAnon"), number("RssFile")

    def end(self):
        """End the input, and return the processor time in milliseconds."""
        self.child.stdin.close()
        _, _, usage = os.wait4(self.child.pid, 0)
        self.child.returncode = 0
        return (usage.ru_utime + usage.ru_stime) * 1000


def main():
    """Print the numbers."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("program", type=pathlib.Path)
    reader.add_argument("--rounds", type=int, default=50)
    reader.add_argument("--calls", type=int, default=20)
    options = reader.parse_args()
    program = options.program.resolve()
    with tempfile.TemporaryDirectory() as scratch:
        home, folder = pathlib.Path(scratch) / "home", pathlib.Path(scratch) / "repository"
        home.mkdir()
        folder.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.com\n")
        (folder / "lib.rs").write_text("fn one() {}\n")
        for command in (["init", "-q"], ["add", "-A"], ["commit", "-q", "-m", "begin"]):
            environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
            subprocess.run(["git", *command], cwd=folder, env=environment, check=True)
        wall, processor = [], []
        for _ in range(options.rounds):
            server = Server(program, folder, home)
            wall.append(server.begin())
            processor.append(server.end())
        for name, values in (("wall", wall), ("processor", processor)):
            print(f"start, {name}: median {statistics.median(values):.1f} ms, largest {max(values):.1f} ms, {len(values)} rounds")
        server = Server(program, folder, home)
        server.begin()
        show = lambda what: print("memory, {}: largest {:.1f} MB; now {:.1f} MB of its own, {:.1f} MB of files".format(what, *server.memory()))
        show("first answer")
        for tool, arguments in CALLS:
            for _ in range(options.calls):
                server.ask("tools/call", {"name": tool, "arguments": arguments})
            show(f"{options.calls} x {tool}")
        server.end()
    return 0


if __name__ == "__main__":
    sys.exit(main())
