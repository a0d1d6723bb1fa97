#!/usr/bin/env python3
"""Runs every tool over every input of the landing corpus and scores each run by the tree that results.

  run.py --set DIR --tools tools.json --only agentos,git-apply --out results.jsonl

DIR holds bases.jsonl, inputs.jsonl and blobs.jsonl. For each base a small repository is made, in memory where the
system has a place for that: HEAD is the base; where the model saw another state, that state is HEAD~1, so its
blobs are in the object store. A tool gets the work tree and a file with the model's text, and exits 0 if all of it
landed. Outcomes:
  exact    exit 0 and the tree id is the expected one
  refused  exit not 0 and the tree is untouched
  wrong    exit 0 and any other tree; or something outside the work tree, or git's own files, were written
  partial  exit not 0 and something was changed
  look     the tool was called for a preview, which changes nothing; only its time counts"""
import argparse
import json
import multiprocessing as mp
import os
import re
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

from landio import Blobs, blob_id, load_jsonl, save_jsonl, tree_id

HERE = os.path.dirname(os.path.abspath(__file__))
TIMEOUT = 10
MTIME = 1_000_000_000


class Box:
    """A folder `outer` with a canary, which must not change, and in it the repository `outer/work`."""

    def __init__(self, root):
        self.root = root
        self.outer = os.path.join(root, "outer")
        self.work = os.path.join(self.outer, "work")
        self.home = os.path.join(root, "home")
        self.patch = os.path.join(root, "input.txt")
        for d in (self.outer, self.home):
            os.makedirs(d, exist_ok=True)
        with open(os.path.join(self.outer, "canary.txt"), "w") as f:
            f.write("canary\n")
        self.env = {
            "PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
            "GIT_CONFIG_GLOBAL": "/dev/null", "GIT_CEILING_DIRECTORIES": self.outer, "TERM": "dumb", "NO_COLOR": "1",
            "CODEX_HOME": os.path.join(self.home, ".codex"),
        }
        for k in ("AGENTOS", "PEERS", "MPATCH", "FLICKZEUG", "CODEX", "JSDIFF"):
            if k in os.environ:
                self.env[k] = os.environ[k]
        self.git_tpl = os.path.join(root, "git")

    def git(self, *a, inp=None):
        """Runs git in the work tree."""
        r = subprocess.run(["git", "-C", self.work, *a], input=inp, capture_output=True, env=self.env)
        if r.returncode:
            raise RuntimeError(r.stderr.decode(errors="replace"))
        return r.stdout

    def load(self, base, blobs):
        """Make the repository of one base."""
        shutil.rmtree(self.outer)
        shutil.rmtree(self.git_tpl, ignore_errors=True)
        os.makedirs(self.work)
        with open(os.path.join(self.outer, "canary.txt"), "w") as f:
            f.write("canary\n")
        subprocess.run(["git", "init", "-q", "--template=", "-b", "main", self.work], check=True, env=self.env)
        with open(os.path.join(self.work, ".git", "config"), "a") as f:
            f.write("[core]\n\tcheckStat = minimal\n\ttrustctime = false\n\tautocrlf = false\n\tattributesFile = /dev/null\n"
                    "[gc]\n\tauto = 0\n[user]\n\tname = t\n\temail = t@example.com\n[advice]\n\tdetachedHead = false\n")
        os.makedirs(os.path.join(self.work, ".git", "hooks"), exist_ok=True)
        out = bytearray()
        marks = {}
        trees = ([base["seen"]] if base.get("seen") else []) + [base["base"]]
        for t in trees:
            for p, (m, s) in t.items():
                if s not in marks:
                    marks[s] = len(marks) + 1
                    d = blobs[s].encode("utf-8")
                    out += b"blob\nmark :%d\ndata %d\n" % (marks[s], len(d)) + d + b"\n"
        for k, t in enumerate(trees):
            out += b"commit refs/heads/main\ncommitter t <t@example.com> %d +0000\ndata 1\nx\ndeleteall\n" % (MTIME + k)
            for p, (m, s) in sorted(t.items()):
                q = '"' + p.replace("\\", "\\\\").replace('"', '\\"') + '"'
                out += f"M {m} :{marks[s]} {q}\n".encode()
            out += b"\n"
        self.git("fast-import", "--quiet", inp=bytes(out))
        self.git("reset", "-q", "--hard")
        self.base = {p: tuple(e) for p, e in base["base"].items()}
        assert self.git("rev-parse", "HEAD^{tree}").decode().strip() == base["base_tree"], base["id"]
        self.content = {p: blobs[s].encode("utf-8") for p, (m, s) in self.base.items()}
        for p in self.base:
            os.utime(os.path.join(self.work, p), (MTIME, MTIME), follow_symlinks=False)
        self.git("update-index", "-q", "--refresh")
        shutil.copytree(os.path.join(self.work, ".git"), self.git_tpl, symlinks=True)
        self.git_sig = self.git_state()
        self.sig = {p: self.stat(p) for p in self.base}

    def stat(self, p):
        """Returns the identity of a file: inode, size, time and mode."""
        s = os.lstat(os.path.join(self.work, p))
        return (s.st_ino, s.st_size, s.st_mtime_ns, s.st_mode)

    def git_state(self):
        """Returns the identity of every file of git's folder."""
        r = []
        g = os.path.join(self.work, ".git")
        for d, ds, fs in os.walk(g):
            for f in fs:
                s = os.lstat(os.path.join(d, f))
                r.append((os.path.relpath(os.path.join(d, f), g), s.st_size, s.st_mtime_ns, s.st_ino))
        return sorted(r)

    def scan(self):
        """Returns {path: (mode, blob id)} of the work tree. Only files whose identity changed are read."""
        out = {}
        stack = [""]
        while stack:
            d = stack.pop()
            for e in os.scandir(os.path.join(self.work, d) if d else self.work):
                rel = d + "/" + e.name if d else e.name
                if rel == ".git":
                    continue
                if e.is_dir(follow_symlinks=False):
                    stack.append(rel)
                    continue
                s = e.stat(follow_symlinks=False)
                if self.sig.get(rel) == (s.st_ino, s.st_size, s.st_mtime_ns, s.st_mode):
                    out[rel] = self.base[rel]
                elif stat.S_ISLNK(s.st_mode):
                    out[rel] = ("120000", blob_id(os.readlink(e.path).encode()))
                else:
                    with open(e.path, "rb") as f:
                        data = f.read()
                    out[rel] = ("100755" if s.st_mode & 0o100 else "100644", blob_id(data))
        return out

    def outer_ok(self):
        """Returns true if nothing outside the work tree was written."""
        if sorted(os.listdir(self.outer)) != ["canary.txt", "work"]:
            return False
        with open(os.path.join(self.outer, "canary.txt")) as f:
            return f.read() == "canary\n"

    def git_ok(self, now):
        """Tools may write objects, the index and files of their own; these must stay."""
        watch = ("config", "HEAD", "hooks", "refs", "packed-refs", "info")
        a = [r for r in self.git_sig if r[0].split("/")[0] in watch]
        b = [r for r in now if r[0].split("/")[0] in watch]
        return a == b

    def restore(self, got, git_now):
        """Put the work tree back."""
        for p in got:
            if p not in self.base:
                full = os.path.join(self.work, p)
                os.unlink(full)
        for p, ent in self.base.items():
            full = os.path.join(self.work, p)
            try:
                same = self.stat(p) == self.sig[p]
            except OSError:
                same = False
            if same:
                continue
            if os.path.isdir(full) and not os.path.islink(full):
                shutil.rmtree(full)
            elif os.path.lexists(full):
                os.unlink(full)
            os.makedirs(os.path.dirname(full), exist_ok=True)
            if ent[0] == "120000":
                os.symlink(self.content[p].decode(), full)
            else:
                with open(full, "wb") as f:
                    f.write(self.content[p])
                os.chmod(full, 0o755 if ent[0] == "100755" else 0o644)
            os.utime(full, (MTIME, MTIME), follow_symlinks=False)
            self.sig[p] = self.stat(p)
        dirs = {os.path.dirname(p) for p in self.base}
        keep = set()
        for d in dirs:
            while d:
                keep.add(d)
                d = os.path.dirname(d)
        for d, ds, fs in os.walk(self.work, topdown=False):
            rel = os.path.relpath(d, self.work)
            if rel == "." or rel.split("/")[0] == ".git":
                continue
            if rel not in keep and not os.listdir(d):
                os.rmdir(d)
        if git_now != self.git_sig:
            shutil.rmtree(os.path.join(self.work, ".git"))
            shutil.copytree(self.git_tpl, os.path.join(self.work, ".git"), symlinks=True)
            self.git_sig = self.git_state()

    def reset_outer(self):
        """Removes what a tool wrote outside the work tree."""
        for n in os.listdir(self.outer):
            if n not in ("work", "canary.txt"):
                p = os.path.join(self.outer, n)
                shutil.rmtree(p) if os.path.isdir(p) and not os.path.islink(p) else os.unlink(p)
        with open(os.path.join(self.outer, "canary.txt"), "w") as f:
            f.write("canary\n")


class Worker:
    """A tool that is a library, called in a process that is already running."""
    def __init__(self, argv, env):
        self.argv, self.env, self.p = argv, env, None

    def ask(self, q):
        """Sends one request, after a first request that loads the library."""
        if self.p is None:
            self.p = subprocess.Popen(self.argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL,
                                      env=self.env, start_new_session=True)
            self.send(dict(q, tool="warm"), 120)
        return self.send(q, TIMEOUT)

    def send(self, q, limit):
        """Sends one request and waits for its answer, at most `limit` seconds."""
        try:
            self.p.stdin.write(json.dumps(q).encode() + b"\n")
            self.p.stdin.flush()
            r, _, _ = select.select([self.p.stdout], [], [], limit)
            line = self.p.stdout.readline() if r else b""
        except OSError:
            line = b""
        if not line:
            self.close()
            return {"rc": 124, "ms": limit * 1000.0, "err": "timeout or crash"}
        return json.loads(line)

    def close(self):
        """Ends the process and everything that it started."""
        if self.p:
            try:
                os.killpg(self.p.pid, signal.SIGKILL)
            except OSError:
                pass
            self.p.wait()
            self.p = None


def run_cmd(argv, cwd, env):
    """Runs a tool. Returns its exit code (124 for a timeout), milliseconds and the end of its output."""
    t0 = time.perf_counter()
    p = subprocess.Popen(argv, cwd=cwd, env=env, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                         start_new_session=True)
    try:
        out, _ = p.communicate(timeout=TIMEOUT)
        rc = p.returncode
    except subprocess.TimeoutExpired:
        os.killpg(p.pid, signal.SIGKILL)
        out, _ = p.communicate()
        rc = 124
    return rc, (time.perf_counter() - t0) * 1000, out[-300:].decode("utf-8", "replace")


def squash(b):
    """Removes all white space."""
    return re.sub(rb"\s+", b"", b)


def wrong_kind(box, got, want, blobs):
    """Classifies a wrong tree: only white space or line ends differ, only files of the tool remain, or content differs.
    """
    kind = "litter"
    for p in set(got) | set(want):
        if got.get(p) == want.get(p):
            continue
        if p in got and p not in want and p.endswith((".orig", ".rej")):
            continue
        if p in got and p in want and got[p][0] == want[p][0] and got[p][0] != "120000":
            with open(os.path.join(box.work, p), "rb") as f:
                a = f.read()
            if squash(a) == squash(blobs[want[p][1]].encode("utf-8")):
                kind = "blanks"
                continue
        return "content"
    return kind


def worker_main(args):
    """Runs every tool over the inputs of some bases and scores each run."""
    wid, set_dir, base_ids, tools, root = args
    blobs = Blobs.load(os.path.join(set_dir, "blobs.jsonl"))
    bases = {b["id"]: b for b in load_jsonl(os.path.join(set_dir, "bases.jsonl"))}
    groups = {}
    want_ids = set(base_ids)
    for i in load_jsonl(os.path.join(set_dir, "inputs.jsonl")):
        if i["base_id"] in want_ids:
            groups.setdefault(i["base_id"], []).append(i)
    box = Box(os.path.join(root, f"w{wid}"))
    workers = {}
    rows = []
    for n, (bid, ins) in enumerate(groups.items()):
        if n % 10 == 0:
            print(f"worker {wid}: {n}/{len(groups)} bases, {len(rows)} runs", file=sys.stderr, flush=True)
        box.load(bases[bid], blobs)
        base_tree = bases[bid]["base_tree"]
        for i in ins:
            text = i["input"].replace("{{OUTER}}", box.outer)
            with open(box.patch, "w", encoding="utf-8", newline="") as f:
                f.write(text)
            want = dict(box.base)
            for p, e in i["delta"].items():
                if e is None:
                    want.pop(p, None)
                else:
                    want[p] = tuple(e)
            assert tree_id(want) == i["expected_tree"], i["id"]
            for name, t in tools.items():
                if i["format"] not in t["formats"]:
                    continue
                if "worker" in t:
                    w = workers.get(t["worker"])
                    if w is None:
                        argv = ([os.environ.get("PY_PEERS", sys.executable), os.path.join(HERE, "workers/py_worker.py")] if t["worker"] == "py"
                                else ["node", os.path.join(HERE, "workers/js_worker.js")])
                        w = workers[t["worker"]] = Worker(argv, box.env)
                    r = w.ask({"tool": name, "dir": box.work, "patch": box.patch, "chat": i["chat_files"]})
                    rc, ms, err = r["rc"], r["ms"], r["err"]
                else:
                    argv = [os.environ.get(a[1:], a) if re.fullmatch(r"\$[A-Z_]+", a) else
                            a.replace("{patch}", box.patch).replace("{repo}", box.work) for a in t["cmd"]]
                    rc, ms, err = run_cmd(argv, box.work, box.env)
                got = box.scan()
                git_now = box.git_state()
                clean = got == box.base
                gt = base_tree if clean else tree_id(got)
                esc = not box.outer_ok() or not box.git_ok(git_now)
                kind = ""
                if t.get("look"):
                    res = "look"
                elif esc:
                    res, kind = "wrong", "escape"
                elif rc == 0:
                    if gt == i["expected_tree"] and not (i["expect"] == "refuse"):
                        res = "exact"
                    elif gt == base_tree:
                        res, kind = "wrong", "noop"
                    elif gt == i["expected_tree"]:
                        res, kind = "wrong", "lucky"  # must-refuse input, the guess hit the place we had in mind
                    else:
                        res, kind = "wrong", wrong_kind(box, got, want, blobs)
                else:
                    res = "refused" if gt == base_tree and clean else "partial"
                if rc == 124:
                    kind = "timeout"
                rows.append({"i": i["id"], "c": i["class"], "g": i["group"], "f": i["format"], "e": i["expect"], "t": name, "r": res,
                             "k": kind, "ms": round(ms, 3), "rc": rc, "err": err if res != "exact" else ""})
                if got != box.base or git_now != box.git_sig or esc:
                    box.restore(got, git_now)
                    if esc:
                        box.reset_outer()
    for w in workers.values():
        w.close()
    return rows


def main():
    """Parses the arguments, runs all tools in parallel and writes the rows."""
    ap = argparse.ArgumentParser(description="Runs tools over the landing corpus.")
    ap.add_argument("--set", required=True, help="the folder of the corpus")
    ap.add_argument("--tools", default=os.path.join(HERE, "tools.json"))
    ap.add_argument("--only", required=True, help="names of tools, with commas between; $NAMEs come from the environment")
    ap.add_argument("--jobs", type=int, default=2)
    ap.add_argument("--out", required=True)
    a = ap.parse_args()
    with open(a.tools) as f:
        known = json.load(f)
    tools = {name: known[name] for name in a.only.split(",")}
    ids = [b["id"] for b in load_jsonl(os.path.join(a.set, "bases.jsonl"))]
    root = tempfile.mkdtemp(prefix="landing-", dir="/dev/shm" if os.path.isdir("/dev/shm") else None)
    try:
        parts = [(k, a.set, ids[k::a.jobs], tools, root) for k in range(a.jobs)]
        with mp.get_context("fork").Pool(a.jobs) as pool:
            rows = [r for part in pool.map(worker_main, parts, chunksize=1) for r in part]
    finally:
        shutil.rmtree(root, ignore_errors=True)
    rows.sort(key=lambda r: (r["i"], r["t"]))
    save_jsonl(a.out, rows)


if __name__ == "__main__":
    main()
