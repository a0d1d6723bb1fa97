#!/usr/bin/env python3
"""A program that chooses for a pool of models: a toolbox with the tool `select_model`, whose answer is the alias of one model.

This one takes the model with the smallest window for questions and documents, and the largest window for everything else."""

import json
import sys

TOOLS = [{
    "name": "select_model",
    "description": "Chooses a model of a pool for a turn.",
    "input_schema": {"type": "object"},
}]


def window(model):
    return model.get("abilities", {}).get("context_window", 0)


def answer(request):
    if request["type"] == "describe":
        return {"type": "tools", "tools": TOOLS}
    turn = request["arguments"]
    pick = min if turn.get("kind") in ("question", "docs") else max
    return {"type": "result", "text": pick(turn["models"], key=window)["alias"]}


for line in sys.stdin:
    print(json.dumps(answer(json.loads(line))), flush=True)
