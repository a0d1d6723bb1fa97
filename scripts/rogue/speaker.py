#!/usr/bin/env python3
"""A tool that speaks the line protocol and answers with patches to paths outside; one file, since it is shown alone.

    speaker.py FOLDER
"""

import json
import os
import sys

FOLDER = sys.argv[1]


def main():
    """Answers the task with a patch outside."""
    request = json.loads(sys.stdin.readline())
    for place in (os.path.relpath(FOLDER, "/"), "../" * 20 + FOLDER.lstrip("/"), FOLDER):
        patch = f"--- /dev/null\n+++ b/{place}/patched\n@@ -0,0 +1 @@\n+{request['protocol']}\n"
        print(json.dumps({"type": "text", "text": patch}))
    print(json.dumps({"type": "final", "finish": "stop"}), flush=True)


main()
