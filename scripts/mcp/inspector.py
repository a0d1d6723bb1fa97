"""Lists and calls every tool of `agentos mcp` with the command line of the protocol's Inspector, over stdio and over HTTP.

Owns: an argument list for each tool. Never: knows how many tools there are: one without arguments here fails the run.

    cargo build -p agentos -p agentos-server && .venv-mcp/bin/python scripts/mcp/inspector.py

Status 0: every tool answered. 1: one did not. 77: skipped, with the reason.
"""

import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

from packages import ROOT, Missing, find_node, install, skip

FIX = "--- a/lib.rs\n+++ b/lib.rs\n@@ -1 +1 @@\n-fn one() {}\n+fn two() {}\n"
# Values in capital letters come from the results before.
CALLS = {
    "propose_change": {"answer": FIX, "message": "Rename one"},
    "list_files": {},
    "read_file": {"path": "lib.rs"},
    "search": {"text": "one"},
    "git_log": {},
    "git_show": {"commit": "COMMIT"},
    "time": {},
    "list_runs": {},
    "show_run": {"run": "PROPOSAL"},
    "explain_policy": {"path": "lib.rs"},
    "verify_evidence": {},
    "proposal_status": {"proposal": "PROPOSAL"},
    # Last, because it ends what the others ask about.
    "proposal_withdraw": {"proposal": "PROPOSAL"},
}


class Inspector:
    """The Inspector's command line, pointed at one server."""

    def __init__(self, target, cwd, home):
        node, _ = find_node()
        package = install("inspector")
        names = json.loads((package / "package.json").read_text())["bin"]
        program = package / (names if isinstance(names, str) else next(iter(names.values())))
        self.command = [node, program, "--cli", *target]
        self.cwd = cwd
        self.environment = {"PATH": f"{node.parent}:{os.environ['PATH']}", "HOME": str(home)}

    def ask(self, *arguments):
        """Send one request and return its result."""
        done = subprocess.run(
            [*self.command, *arguments], cwd=self.cwd, env=self.environment, capture_output=True, text=True, timeout=120
        )
        if done.returncode != 0:
            return None, (done.stderr or done.stdout).strip()[-300:]
        return json.loads(done.stdout), ""


def judge(name, inspector):
    """Call every tool that the server lists. Return true if all answered."""
    listed, why = inspector.ask("--method", "tools/list")
    if listed is None:
        print(f"FAILED  {name}: the tools are not listed: {why}")
        return False
    tools = {tool["name"] for tool in listed["tools"]}
    well = True
    for missing in sorted(tools ^ CALLS.keys()):
        print(f"FAILED  {name}: `{missing}` is listed, or called here, and not both")
        well = False
    values = {}
    for tool, arguments in CALLS.items():
        call = ["--method", "tools/call", "--tool-name", tool]
        for key, value in arguments.items():
            call += ["--tool-arg", f"{key}={values.get(value, value)}"]
        result, why = inspector.ask(*call)
        good = result is not None and not result.get("isError")
        well &= good
        shown = why if result is None else json.dumps(result)[:120]
        print(f"{'ok' if good else 'FAILED':<7} {name} {tool}: {shown}")
        if tool == "propose_change" and good:
            values["PROPOSAL"] = result["structuredContent"]["proposal"]
        if tool == "git_log" and good:
            values["COMMIT"] = result["content"][0]["text"].split()[0]
    return well


def make_repository(folder, home):
    """Make a repository of one file."""
    folder.mkdir()
    (folder / "lib.rs").write_text("fn one() {}\n")
    identity = ["-c", "user.name=A", "-c", "user.email=a@example.com"]
    for command in (["init", "-q"], ["add", "-A"], [*identity, "commit", "-q", "-m", "begin"]):
        subprocess.run(["git", *command], cwd=folder, env={"PATH": os.environ["PATH"], "HOME": str(home)}, check=True)


def main():
    """Judge both transports."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--bin", type=pathlib.Path, default=ROOT / "target" / "debug", help="folder of the built programs")
    options = reader.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        home = pathlib.Path(scratch) / "home"
        home.mkdir()
        (home / ".gitconfig").write_text("[user]\n\tname = A\n\temail = a@example.com\n")
        well = True
        try:
            for name in ("stdio", "http"):
                folder = pathlib.Path(scratch) / name
                make_repository(folder, home)
                if name == "stdio":
                    well &= judge(name, Inspector([options.bin / "agentos", "mcp"], folder, home))
                    continue
                environment = {"PATH": os.environ["PATH"], "HOME": str(home)}
                server = subprocess.Popen(
                    [options.bin / "agentos-server", "--listen", "127.0.0.1:0"],
                    cwd=folder, env=environment, stdout=subprocess.PIPE, text=True,
                )
                try:
                    lines = [server.stdout.readline() for _ in range(2)]
                    address = lines[1].split()[1].rstrip(",") + "/mcp"
                    make = [options.bin / "agentos", "serve", "token", "add", "inspector", "--for", "agent"]
                    token = subprocess.run(make, cwd=folder, env=environment, check=True, capture_output=True, text=True).stdout.strip()
                    target = [address, "--transport", "http", "--header", f"Authorization: Bearer {token}"]
                    well &= judge(name, Inspector(target, folder, home))
                finally:
                    server.terminate()
                    server.wait()
        except Missing as missing:
            skip(missing)
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
