"""Long-lived worker for Python peers (aider-chat, purepatch). One JSON request a line:
{"tool","dir","patch","chat"} -> {"rc","ms","err"}. Run it with the interpreter of a
virtual environment that has what requirements.txt names."""
import json
import os
import re
import sys
import time
import warnings

warnings.filterwarnings("ignore")
real_out = os.fdopen(os.dup(1), "w", buffering=1)
os.dup2(2, 1)  # nothing a peer prints may reach the protocol
sys.stdout = sys.stderr

_aider = None


def aider():
    """Imports aider on first use and returns the classes that land edits."""
    global _aider
    if _aider is None:
        from aider.io import InputOutput
        from aider.coders.udiff_coder import UnifiedDiffCoder
        from aider.coders.editblock_coder import EditBlockCoder
        from aider.coders.patch_coder import PatchCoder
        from aider.coders.wholefile_coder import WholeFileCoder

        class Quiet(InputOutput):
            def __init__(self):
                self.encoding, self.newline, self.dry_run = "utf-8", None, False

            def tool_output(self, *a, **k):
                pass

            tool_error = tool_warning = tool_output

        _aider = dict(io=Quiet, udiff=UnifiedDiffCoder, sr=EditBlockCoder, codex=PatchCoder, whole=WholeFileCoder)
    return _aider


def run_coder(kind, text, chat):
    """Lands a text with one of aider's coders, without a model or a terminal."""
    A = aider()
    c = object.__new__(A[kind])
    c.root = os.getcwd()
    c.io = A["io"]()
    c.abs_root_path_cache = {}
    c.abs_fnames = {os.path.join(c.root, p) for p in chat}
    c.partial_response_content = text
    c.multi_response_content = ""
    c.shell_commands = []
    c.fence = ("```", "```")
    c.pretty = False
    edits = c.get_edits()
    edits = c.apply_edits_dry_run(edits)
    if not edits:
        raise ValueError("no edits found")
    for e in edits:  # what aider does on its own for a new file
        p = os.path.join(c.root, e[0]) if isinstance(e[0], str) else None
        if p and kind in ("sr", "udiff", "whole"):
            os.makedirs(os.path.dirname(p), exist_ok=True)
    c.apply_edits(edits)


def prep_udiff(text):
    """Removes git's headers and puts each file into a ```diff fence, the form that aider asks models for."""
    rows = [r for r in text.split("\n") if not re.match(
        r"^(diff --git |index [0-9a-f]+\.\.|new file mode |deleted file mode |old mode |new mode |similarity index |rename |```)", r)]
    out, open_ = [], False
    for i, r in enumerate(rows):
        if r.startswith("--- ") and i + 1 < len(rows) and rows[i + 1].startswith("+++ "):
            if open_:
                out.append("```")
            out.append("```diff")
            open_ = True
        out.append(r)
    if open_:
        while out[-1] == "":
            out.pop()
        out.append("```")
    return "\n".join(out) + "\n"


def go(tool, text, chat):
    """Lands a text with the named tool."""
    if tool == "aider":
        if "*** Begin Patch" in text:
            run_coder("codex", text, chat)
        elif "<<<<<<< SEARCH" in text:
            run_coder("sr", text, chat)
        elif re.search(r"^@@|^--- |^diff --git", text, re.M):
            run_coder("udiff", prep_udiff(text), chat)
        else:
            run_coder("whole", text, chat)
    elif tool == "purepatch":
        import purepatch
        rep = purepatch.apply_files(text, root=".")
        if not len(rep):
            raise ValueError("nothing applied")
        bad = [r for r in rep if r.action == "failed"]
        if bad:
            raise ValueError(str(bad[0].error))
    else:
        raise ValueError("unknown tool " + tool)


for line in sys.stdin:
    q = json.loads(line)
    os.chdir(q["dir"])
    with open(q["patch"], encoding="utf-8", newline="") as f:
        text = f.read()
    t0 = time.perf_counter()
    try:
        if q["tool"] == "warm":
            aider()
        else:
            go(q["tool"], text, q.get("chat") or [])
        rc, err = 0, ""
    except BaseException as e:  # noqa: BLE001
        rc, err = 1, (type(e).__name__ + ": " + str(e))[:300]
    ms = (time.perf_counter() - t0) * 1000
    os.chdir("/")
    real_out.write(json.dumps({"rc": rc, "ms": ms, "err": err}) + "\n")
