#!/usr/bin/env python3
"""Tries every way out of the sandbox that a tool could try, and reports for each whether it worked.

    rogue.py --list                     the table of attempts; one JSON line each
    rogue.py CONFIG.json                the attempts of the scene `alone`; one JSON line each into `rogue.jsonl`
    rogue.py CONFIG.json --scene NAME   those of another scene
    rogue.py CONFIG.json NAME           one run that does not end by itself, or whose answer may not land

CONFIG names the things outside: the repository, a folder that everybody may write, a home, ports, a process. Uses only
the standard library. Nothing here harms the machine: an attempt that succeeds touches the named places only.
"""

import json
import os
import select
import shutil
import signal
import subprocess
import sys

# Nothing but the answer may be left in the copy.
sys.dont_write_bytecode = True

import runs  # noqa: E402
from attempts import base  # noqa: E402
from attempts.base import C, describe_error  # noqa: E402

import attempts  # noqa: E402, F401

# Seconds for one attempt; longer than any waits by itself.
LIMIT = 30
# Characters of what was read that are handed on.
MOST = 1500


def configure(path):
    """Reads the configuration and records the state of this process before any attempt."""
    with open(path) as file:
        for name, value in json.load(file).items():
            setattr(C, name, value)
    C.copy = os.getcwd()
    C.inherited = [int(name) for name in os.listdir("/proc/self/fd") if os.path.exists(f"/proc/self/fd/{name}")]
    # The gate's own process is never seen inside.
    C.confined = not os.path.exists(f"/proc/{C.pid}")


def excerpt(text):
    """Returns the part of a read text that the gate searches for, which may be anywhere in a long text."""
    if not isinstance(text, str):
        return None
    lines = [line for line in text.splitlines() if C.hint in line]
    return ("\n".join(lines[:5]) or text)[:MOST]


def make(attempt, folder):
    """Makes one attempt in a separate process and folder. Returns whether it succeeded, the reason why not, and the
    read text."""
    os.makedirs(folder)
    reader, writer = os.pipe()
    process = os.fork()
    if process == 0:
        os.close(reader)
        code = 1
        try:
            os.chdir(folder)
            try:
                result = (True, None, excerpt(attempt.function(attempt)))
            except BaseException as error:  # whatever it was, it is no success
                result = (False, describe_error(error), None)
            os.write(writer, json.dumps(result).encode() + b"\n")
            code = 0
        finally:
            os._exit(code)
    os.close(writer)
    # A daemon of the attempt may hold the pipe open: its end is not waited for.
    text, ended = b"", False
    while not text.endswith(b"\n") and not ended:
        ready, _, _ = select.select([reader], [], [], LIMIT)
        if not ready:
            os.kill(process, signal.SIGKILL)
            break
        piece = os.read(reader, 65536)
        text, ended = text + piece, not piece
    os.close(reader)
    _, status = os.waitpid(process, 0)
    if text.endswith(b"\n"):
        return json.loads(text)
    if os.WIFSIGNALED(status):
        return False, f"ended by {signal.Signals(os.WTERMSIG(status)).name}", None
    return False, "it said nothing", None


def play(scene):
    """Makes all attempts of a scene and writes a line for each."""
    work = os.path.abspath("work")
    with open("rogue.jsonl", "w") as out:
        for attempt in base.ATTEMPTS:
            if attempt.scene != scene:
                continue
            succeeded, said, text = make(attempt, os.path.join(work, attempt.name))
            line = {"attempt": attempt.name, "succeeded": succeeded, "said": said, "read": text}
            out.write(json.dumps(line) + "\n")
            out.flush()
    # Only the lines are wanted in the answer.
    subprocess.run(["chmod", "-R", "u+rwX", work], check=False)
    shutil.rmtree(work, ignore_errors=True)


def main():
    """Runs the command line."""
    if sys.argv[1] == "--list":
        for attempt in base.ATTEMPTS:
            print(json.dumps(attempt.row()))
        return
    configure(sys.argv[1])
    mode = sys.argv[2] if len(sys.argv) > 2 else "--scene"
    if mode == "--scene":
        play(sys.argv[3] if len(sys.argv) > 3 else "alone")
    else:
        runs.SINGLE[mode]()


if __name__ == "__main__":
    main()
