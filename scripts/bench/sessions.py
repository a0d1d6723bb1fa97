"""Measures lists and search of many sessions: `chat list`, `chat search`, `chat show`, `cost` and `store rebuild`.

    python3 scripts/bench/sessions.py AGENTOS [--sessions 10000] [--turns 100] [--rounds 9] [--sources DIR] [--keep DIR]

It writes a ledger as `agentos` does: a hash-chained tape with a turn and an unsigned checkpoint for each turn, in files of 64 MiB, and
the texts as blobs. Turns of the sessions alternate, as people's do. A question is three lines of documentation below DIR (default: the
sources of crates in `~/.cargo`), so that words are as frequent as in real texts; there are 100,000 different questions and 2,000
different answers, because a text is a file, and a disk has only so many. The database is made by `store rebuild`. Then each command runs several times. Reported are the
smallest wall time, processor time and the largest memory (`wait4`; values of less than this script's own 15 MiB are not seen).
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import pathlib
import random
import re
import shutil
import subprocess
import tempfile
import time

FULL = 64 << 20
ANSWERS = 2_000
QUESTIONS = 100_000


def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()


def canonical(value):
    """RFC 8785 for the values that are used here: ASCII names, integers and texts."""
    return json.dumps(value, sort_keys=True, separators=(",", ":"), ensure_ascii=False).encode()


class Tape:
    def __init__(self, folder):
        self.folder, self.seq, self.hash, self.full = folder, 0, "sha256:" + "0" * 64, 0
        (folder / "blobs").mkdir(parents=True)
        self.file = open(folder / "tape.jsonl", "wb")

    def write(self, kind, run, ts, body):
        salt = "%032x" % (self.seq * 0x9E3779B97F4A7C15 % (1 << 128))
        named = digest(canonical({"body": body, "body_salt": salt}))
        record = {"body_sha256": named, "kind": kind, "prev": self.hash, "run": run, "seq": self.seq + 1, "ts": ts, "v": 2}
        self.hash = digest(canonical(record))
        line = canonical(record | {"body": body, "body_salt": salt, "hash": self.hash}) + b"\n"
        if self.file.tell() + len(line) > FULL:
            self.file.close()
            self.full += 1
            os.rename(self.folder / "tape.jsonl", self.folder / f"tape.{self.full:06}.jsonl")
            self.file = open(self.folder / "tape.jsonl", "wb")
        self.seq += 1
        self.file.write(line)

    def add(self, kind, run, ts, body):
        self.write(kind, run, ts, body)
        self.write("checkpoint", run, ts, {"envelopes": [], "unsigned": "there is no keyring, and no key in a file"})

    def blob(self, text):
        name = hashlib.sha256(text).hexdigest()
        path = self.folder / "blobs" / name
        if not path.exists():
            path.write_bytes(text)
        return "sha256:" + name

    def close(self):
        self.file.close()
        head = b'{"v":1,"seq":%d,"hash":"%s"}' % (self.seq, self.hash.encode())
        (self.folder / "head.json").write_bytes(head.ljust(127) + b"\n")


def read_lines(sources):
    """Returns lines of documentation: comments of sources and Markdown."""
    found = []
    for path in sorted(sources.rglob("*.rs"))[:4_000] + sorted(sources.rglob("*.md"))[:1_000]:
        for line in path.read_text(errors="replace").splitlines():
            words = re.match(r"\s*(?:///?|//!|\*)?\s*(\w.{30,150})$", line)
            if words and (path.suffix == ".md" or line.lstrip().startswith("//")):
                found.append(words[1])
    return found


def make_ledger(state, sessions, turns, sources):
    lines = read_lines(sources)
    dice = random.Random(7)
    tape = Tape(state / "ledger")

    def text(role, words):
        return tape.blob(canonical({"parts": [{"text": words}], "role": role}))

    answers = [text("assistant", "\n".join(dice.choices(lines, k=12))) for _ in range(ANSWERS)]
    questions = [text("user", "\n".join(dice.choices(lines, k=3))) for _ in range(min(QUESTIONS, sessions * turns))]
    for turn in range(turns):
        order = list(range(sessions))
        dice.shuffle(order)
        for session in order:
            key = f"conversation:talk-{session}"
            ts = time.strftime("%Y-%m-%dT%H:%M:%S.000Z", time.gmtime(1_780_000_000 + tape.seq * 3))
            run = "%s-%08x" % (ts.replace("-", "").replace(":", "")[:15] + "Z", tape.seq)
            if turn == 0:
                settings = {"provider": "openai", "model": "gpt-5-mini"}
                tape.add("session", run, ts, {"event": "begun", "session": key, "settings": settings})
            asked = dice.choice(questions)
            usage = {"input_tokens": 900 + turn, "output_tokens": 120}
            cost = ((900 + turn) * 25 + 120 * 200) / 100_000_000
            call = {"provider": "openai", "model": "gpt-5-mini", "model_id": "gpt-5-mini", "latency_ms": 900,
                    "usage": usage, "price": {"input": "0.25", "output": "2"}, "cost_usd": f"{cost:.8f}".rstrip("0"), "finish": "stop"}
            tape.add("turn", run, ts, {
                "calls": [call], "end": {"end": "answered"}, "session": key, "source": "session",
                "messages": [{"message_sha256": asked, "role": "user"},
                             {"author": {"model": "gpt-5-mini", "provider": "openai"}, "message_sha256": dice.choice(answers), "role": "assistant"}]})
    tape.close()


def measure(command, environment, rounds):
    """Returns the smallest wall and processor time in milliseconds, and the largest memory in MiB."""
    best = []
    for _ in range(rounds):
        begin = time.monotonic()
        child = subprocess.Popen(command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
        errors = child.stderr.read()
        _, status, used = os.wait4(child.pid, 0)
        if status:
            raise SystemExit(f"{command} failed: {errors.decode()}")
        best.append((1000 * (time.monotonic() - begin), 1000 * (used.ru_utime + used.ru_stime), used.ru_maxrss / 1024))
    return min(row[0] for row in best), min(row[1] for row in best), max(row[2] for row in best)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("agentos")
    parser.add_argument("--sessions", type=int, default=10_000)
    parser.add_argument("--turns", type=int, default=100)
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--sources", type=pathlib.Path, default=pathlib.Path.home() / ".cargo/registry/src")
    parser.add_argument("--keep", type=pathlib.Path)
    options = parser.parse_args()
    place = options.keep or pathlib.Path(tempfile.mkdtemp())
    environment = {"HOME": str(place), "XDG_STATE_HOME": str(place / "state"), "PATH": os.environ["PATH"]}
    state = place / "state/agentos"
    if not state.exists():
        # In a process of its own: the memory of a command is counted from that of its parent on.
        maker = multiprocessing.Process(target=make_ledger, args=(state, options.sessions, options.turns, options.sources))
        maker.start()
        maker.join()
        if maker.exitcode:
            raise SystemExit("the ledger was not written")
    agentos = str(pathlib.Path(options.agentos).resolve())

    def report(name, arguments, rounds):
        wall, cpu, memory = measure([agentos, *arguments], environment, rounds)
        print(f"{name:34} {wall:10.1f} ms wall {cpu:10.1f} ms processor {memory:8.1f} MiB", flush=True)

    print(f"{options.sessions} sessions of {options.turns} turns")
    if not (state / "ledger.sqlite").exists():
        report("store rebuild", ["store", "rebuild"], 1)
    for name, arguments in [
        ("--version", ["--version"]),
        ("chat list", ["chat", "list"]),
        ("chat list --json", ["--json", "chat", "list"]),
        ("chat search, rare word", ["chat", "search", "semaphore"]),
        ("chat search, two words", ["chat", "search", "buffer overflow"]),
        ("chat search, frequent word", ["chat", "search", "the"]),
        ("chat search, nothing", ["chat", "search", "qqzzyy"]),
        ("chat show", ["chat", "show", "talk-17"]),
        ("cost --by model", ["cost", "--by", "model"]),
        ("cost --by day", ["cost", "--by", "day"]),
    ]:
        report(name, arguments, options.rounds)
    if not options.keep:
        shutil.rmtree(place)


main()
