#!/usr/bin/env python3
"""A toolbox: it offers one tool to models. One line of JSON comes in, one line of JSON goes out."""

import json
import sys

TOOLS = [{
    "name": "count_words",
    "description": "Counts the words of a text.",
    "input_schema": {
        "type": "object",
        "properties": {"text": {"type": "string", "description": "Text to count."}},
        "required": ["text"],
        "additionalProperties": False,
    },
}]


def answer(request):
    if request["type"] == "describe":
        return {"type": "tools", "tools": TOOLS}
    # The arguments match the schema: they were checked before the call.
    return {"type": "result", "text": f"{len(request['arguments']['text'].split())} words"}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
