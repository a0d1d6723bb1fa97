"""A tool for AgentOS in Python: adds the line `world` to the first file of its task. Needs nothing but Python 3.8.

    agentos tool conform -- python3 scripts/examples/tool.py
    agentos run -p tool "say hello to the world" --file hello.txt -- python3 scripts/examples/tool.py

A tool reads one line of JSON from standard input (`agentos schema tool-request`) and writes lines of JSON to standard
output (`agentos schema tool-message`). It runs without the repository and without network; its answer is only text.
"""
import json
import sys


def say(**message):
    print(json.dumps(message), flush=True)


request = json.loads(sys.stdin.readline())
if request["protocol"] != 1:
    say(type="error", message="this tool speaks version 1 of the protocol")
    sys.exit()
file = request["task"]["context"][0]
say(type="progress", note="adding a line to " + file["path"])
lines = file["content"].splitlines()
say(type="text", text=f"--- a/{file['path']}\n+++ b/{file['path']}\n")
say(type="text", text=f"@@ -{len(lines)} +{len(lines)},2 @@\n {lines[-1]}\n+world\n")
say(type="usage", usage={"output_tokens": 0})
say(type="final", finish="stop")
