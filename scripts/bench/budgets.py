"""Holds a budget against many calls at once, with callers that are killed: agentos, and LiteLLM's proxy in the same run.

    python3.11 scripts/bench/budgets.py AGENTOS [--litellm PROGRAM | --without-litellm] [--calls 1000] [--parallel 64] [--cap 0.9]

An OpenAI-compatible server on loopback answers after 0.3 s with token counts, at 10 dollars for a million tokens, and writes down what it
would bill: every request that arrived, also if its caller was gone before the answer. CALLS processes ask it, PARALLEL at once; every fifth
one is killed with SIGKILL while the server works on its request, so between reservation and settlement. For agentos a caller is
`agentos chat send` and the budget is that of `agentos budget set`. For LiteLLM a caller is `curl`, and the budget is `max_budget` of a
deployment, which its proxy keeps in memory; budgets of virtual keys need its database and are not measured.

Reported is, for both: calls that were answered, refused and killed, what the server would bill, and by how much that is above the cap. For
agentos also what is reserved at the end (the killed calls), and what is left of it after the leases are over: the end of each lease is set
back in the database, as if its 900 s had passed. Ends with 1 if agentos overran the cap or leaked a reservation.
"""

import argparse
import concurrent.futures
import http.server
import json
import os
import pathlib
import shutil
import signal
import socketserver
import sqlite3
import subprocess
import sys
import tempfile
import threading
import time

TOP = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(TOP / "scripts/servers"))
import litellm_peer as peer  # noqa: E402

ANSWER_TOKENS = 200
PRICE = 10e-6
DELAY = 0.3
# Enough words that a token count of a quarter of the characters is what a vendor would count at most.
WORDS = "please say one word and nothing else " * 10


class Upstream(socketserver.ThreadingMixIn, http.server.HTTPServer):
    """Server that bills every request that it received."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Answer)
        self.lock = threading.Lock()
        self.billed = 0.0
        self.received = {}

    def address(self):
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def begin(self, number, tokens):
        with self.lock:
            self.billed += (tokens + ANSWER_TOKENS) * PRICE
            self.received[number] = True

    def has_begun(self, number):
        with self.lock:
            return number in self.received


class Answer(http.server.BaseHTTPRequestHandler):
    """Answer with counts, streamed if the caller wants that."""

    def log_message(self, *_):
        pass

    def send(self, kind, body):
        try:
            self.send_response(200)
            self.send_header("content-type", kind)
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)
        except OSError:
            pass  # The caller was killed.

    def do_GET(self):
        self.send("application/json", json.dumps({"object": "list", "data": [{"id": "tiny"}]}).encode())

    def do_POST(self):
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        text = body["messages"][-1]["content"]
        if not isinstance(text, str):
            text = "".join(part.get("text", "") for part in text)
        tokens = len(text) // 4
        self.server.begin(text.split()[0], tokens)
        time.sleep(DELAY)
        usage = {"prompt_tokens": tokens, "completion_tokens": ANSWER_TOKENS, "total_tokens": tokens + ANSWER_TOKENS}
        base = {"id": "x", "created": 1, "model": "tiny"}
        if body.get("stream"):
            pieces = [
                {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": None}]},
                {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
            ]
            text = "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n"
            self.send("text/event-stream", text.encode())
            return
        choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
        self.send("application/json", json.dumps({**base, "object": "chat.completion", "choices": [choice], "usage": usage}).encode())


def call_once(upstream, number, make, is_killed, judge):
    """Runs one caller. Returns `answered`, `refused`, `killed` or `failed: …`."""
    child = subprocess.Popen(make(f"n{number} {WORDS}"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True)
    if is_killed:
        while child.poll() is None and not upstream.has_begun(f"n{number}"):
            time.sleep(0.01)
        if child.poll() is None:
            os.kill(child.pid, signal.SIGKILL)
            child.communicate()
            return "killed"
    output, errors = child.communicate()
    return judge(child.returncode, output, errors)


def run_calls(upstream, calls, parallel, make, judge):
    """Runs all callers, and counts how they ended."""
    ends = {}
    with concurrent.futures.ThreadPoolExecutor(parallel) as workers:
        ended = [workers.submit(call_once, upstream, number, make, number % 5 == 0, judge) for number in range(calls)]
        for end in concurrent.futures.as_completed(ended):
            ends[end.result()] = ends.get(end.result(), 0) + 1
    # Requests of killed callers are still being worked on.
    time.sleep(2 * DELAY)
    return ends


def start_upstream():
    upstream = Upstream()
    threading.Thread(target=upstream.serve_forever, daemon=True).start()
    return upstream


def report(name, ends, upstream, cap):
    over = max(0.0, upstream.billed - cap)
    print(f"{name:9} {json.dumps(ends, sort_keys=True)}  billed {upstream.billed:.4f} of {cap} USD, overrun {over:.4f} ({over / cap:.0%})")
    return over


def measure_agentos(program, calls, parallel, cap):
    """Returns true if nothing was overrun or leaked."""
    upstream = start_upstream()
    with tempfile.TemporaryDirectory() as home:
        profiles = pathlib.Path(home, ".config/agentos/profiles")
        profiles.mkdir(parents=True)
        profile = {"provider": "mine", "adapter": "openai", "model": "tiny", "base_url": upstream.address(), "requires_key": False,
                   "price": {"input": PRICE * 1e6, "output": PRICE * 1e6}, "params": {"max_tokens": ANSWER_TOKENS}}
        (profiles / "mine.json").write_text(json.dumps(profile))
        keep = {name: os.environ[name] for name in ("PATH", "LANG") if name in os.environ}
        environment = {**keep, "HOME": home}

        def run(*args):
            done = subprocess.run([program, *args], env=environment, cwd=home, capture_output=True, check=False)
            return json.loads(done.stdout)

        run("budget", "set", f"{cap}usd/day", "--json")

        def make(text):
            return ["env", "-i", *[f"{name}={value}" for name, value in environment.items()], program, "chat", "send", "-p", "mine", text]

        def judge(code, _, errors):
            if code == 9 and b"budget-spent" in errors:
                return "refused"
            return "answered" if code == 0 else f"failed: {code} {errors.decode(errors='replace')[:200]}"

        ends = run_calls(upstream, calls, parallel, make, judge)
        over = report("agentos", ends, upstream, cap)
        row = run("budget", "list", "--json")["budgets"][0]
        file = next(pathlib.Path(home).rglob("budgets.sqlite"))
        with sqlite3.connect(file) as database:
            states = dict(database.execute("SELECT state, count(*) FROM reservation GROUP BY state"))
            database.execute("UPDATE reservation SET expires = expires - 900")
        after = run("budget", "list", "--json")["budgets"][0]
        verified = subprocess.run([program, "evidence", "verify", "--ledger"], env=environment, cwd=home, capture_output=True, check=False)
        print(f"          at the end: spent {row['spent_usd']}, reserved {row['reserved_usd']} by killed calls; states {states}")
        print(f"          after the leases: spent {after['spent_usd']}, reserved {after['reserved_usd']}; the ledger verifies: {verified.returncode == 0}")
        return over == 0.0 and float(after["reserved_usd"]) == 0.0 and verified.returncode == 0 and not any("failed" in end for end in ends)


def measure_litellm(program, calls, parallel, cap):
    upstream = start_upstream()
    with tempfile.TemporaryDirectory() as name:
        config = pathlib.Path(name, "config.yaml")
        config.write_text(json.dumps({
            "model_list": [{"model_name": "tiny", "litellm_params": {
                "model": "openai/tiny", "api_key": "sk-unused", "api_base": upstream.address(), "max_budget": cap, "budget_duration": "1d",
                "input_cost_per_token": PRICE, "output_cost_per_token": PRICE}}],
            "litellm_settings": {"num_retries": 0, "telemetry": False}, "router_settings": {"num_retries": 0},
            "general_settings": {"master_key": peer.KEY}}))
        port = peer.free_port()
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": peer.KEY}
        with open(pathlib.Path(name, "log"), "w", encoding="utf-8") as log:
            proxy = subprocess.Popen([program, "--config", config, "--host", "127.0.0.1", "--port", str(port)], env=environment, stdout=log, stderr=log)
        try:
            base = f"http://127.0.0.1:{port}"
            for _ in range(240):
                if subprocess.run(["curl", "-sf", f"{base}/health/liveliness"], capture_output=True, check=False).returncode == 0:
                    break
                time.sleep(0.5)

            def make(text):
                body = json.dumps({"model": "tiny", "max_tokens": ANSWER_TOKENS, "messages": [{"role": "user", "content": text}]})
                return ["curl", "-s", "-w", "\n%{http_code}", "-H", f"authorization: Bearer {peer.KEY}", "-H", "content-type: application/json",
                        "-d", body, f"{base}/v1/chat/completions"]

            def judge(_, output, __):
                status = output.decode(errors="replace").rsplit("\n", 1)[-1]
                is_budget = b"udget" in output
                return "answered" if status == "200" else "refused" if is_budget else f"failed: {status} {output[:120]!r}"

            report("LiteLLM", run_calls(upstream, calls, parallel, make, judge), upstream, cap)
        finally:
            proxy.terminate()
            proxy.wait()


def main():
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("agentos", type=pathlib.Path)
    arguments.add_argument("--litellm")
    arguments.add_argument("--without-litellm", action="store_true")
    arguments.add_argument("--calls", type=int, default=1000)
    arguments.add_argument("--parallel", type=int, default=64)
    arguments.add_argument("--cap", type=float, default=0.9)
    given = arguments.parse_args()
    tokens = len(f"n0 {WORDS}") // 4 + ANSWER_TOKENS
    print(f"{given.calls} calls, {given.parallel} at once, every fifth one killed; a call costs {tokens * PRICE:.5f} USD, so {given.cap / (tokens * PRICE):.0f} fit")
    is_kept = measure_agentos(given.agentos.resolve(), given.calls, given.parallel, given.cap)
    if not given.without_litellm:
        if shutil.which("curl") is None:
            sys.exit("LiteLLM is skipped: there is no `curl`")
        measure_litellm(peer.litellm_program(given.litellm), given.calls, given.parallel, given.cap)
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
