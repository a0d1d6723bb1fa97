#!/usr/bin/env python3
"""The rogue as a toolbox: a model calls its tool, which makes the attempts of one class and reports them, a line each.

    toolbox.py CONFIG.json FILES...

FILES are the rogue's own, since a toolbox is shown what its arguments name and nothing else. It speaks version 2 of the tool
protocol.
"""

import json
import os
import sys

sys.dont_write_bytecode = True

import rogue  # noqa: E402
from attempts import base  # noqa: E402

# Classes for which it matters what a program is given: a toolbox has neither a copy with git (`git`, `history`) nor shared folders
# (`shares`). The other classes are about the filter of system calls, which is the same for every program.
KINDS = ["descriptors", "files", "messages", "mounts", "namespaces", "network", "processes", "reads", "withheld"]


def attempt_all(kind):
    """Makes the attempts of a class and returns a line for each."""
    lines = []
    for attempt in base.ATTEMPTS:
        if (attempt.scene, attempt.kind) != ("alone", kind):
            continue
        succeeded, said, text = rogue.make(attempt, os.path.join(os.getcwd(), "work", attempt.name))
        lines.append(json.dumps({"attempt": attempt.name, "succeeded": succeeded, "said": said, "read": text}))
    return "\n".join(lines)


def main():
    """Answers requests until the input ends."""
    rogue.configure(sys.argv[1])
    out = os.fdopen(os.dup(1), "w")
    # Whatever an attempt prints must not look like an answer.
    os.dup2(2, 1)
    schema = {"type": "object", "properties": {"kind": {"enum": KINDS}}, "required": ["kind"]}
    tools = [{"name": "attempt", "description": "Makes the attempts of a class.", "input_schema": schema}]
    for line in sys.stdin:
        request = json.loads(line)
        if request["type"] == "describe":
            answer = {"type": "tools", "tools": tools}
        else:
            answer = {"type": "result", "text": attempt_all(request["arguments"]["kind"])}
        print(json.dumps(answer), file=out, flush=True)


if __name__ == "__main__":
    main()
