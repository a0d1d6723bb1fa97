#!/usr/bin/env python3
"""Holds a budget against 1,000 calls at once, with callers that are killed: agentos, and LiteLLM's proxy in the same run.

    python3.11 scripts/bench/budgets.py BIN [--litellm PROGRAM | --without-litellm] [--calls 1000] [--cap 4.2]
    python3.11 scripts/bench/budgets.py BIN --large [--calls 400] [--cap 1000]

BIN is the folder with `agentos` and `agentos-server` (`target/debug` will do: no time is judged). An OpenAI-compatible server on loopback
writes down what it would bill: every request that arrived, also if its caller is gone before the answer. It answers nobody until no
request has arrived for some seconds, so that all calls that a budget lets through are open at the same moment; then it answers all, at 10
dollars for a million tokens.

1. CALLS calls are sent at once by 10 processes. Each is one connection. The cap has room for all of them, so all are open at once.
2. Before the first answer, two of these processes are killed with SIGKILL. The service of agentos is killed too: a service is what
   reserves, so its calls end between reservation and settlement, and nothing of it can clean up. Another one starts after that.
3. The leases end: the end of each is set back in the database, as if its 900 s had passed. LiteLLM has none.
4. CALLS calls more are sent at once, for which the cap has no room. Again two processes are killed before the first answer.

agentos is the service of a user (`agentos-server`, `/v1/chat/completions`) with the budget of `agentos budget set`; it has at most 128 calls of
a model open at once, and lets others wait. LiteLLM is one proxy with `max_budget` of a deployment, which it keeps in memory; budgets of virtual keys need its database and are not measured.

With `--large`, each call has tools of 1 MB, every second one a schema of the answer, every third one an image, and every fifth one fails
the first time with a status of 503 or a connection that is closed, so that it is sent again. The server bills one token for each byte of
every body that it received, which no vendor exceeds.

Reported is, for both: how many calls were open at the server at once, how all of them ended, what the server would bill, and by how much
that is above the cap. Ends with 1 if agentos overran the cap, counts less than the server bills, or has a reservation left.
"""

import argparse
import asyncio
import collections
import json
import os
import pathlib
import re
import resource
import shutil
import signal
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
PROCESSES = 10
# Seconds without a new request after which everything that will arrive has arrived.
QUIET = 8.0
# The same with bodies of 1 MB, which slow programs read for a long time.
QUIET_LARGE = 30.0
# Enough words that a token count of a quarter of the characters is what a vendor would count at most.
WORDS = "please say one word and nothing else " * 10


async def read_head(reader):
    head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1").lower()
    found = re.search(r"content-length: *(\d+)", head)
    return head, int(found[1]) if found else 0


class Upstream:
    """Server that bills every request that it received, and answers all at the same moment."""

    def __init__(self, is_large=False):
        self.is_large, self.failed_once = is_large, set()
        self.billed = 0.0
        self.open, self.most_open, self.received = 0, 0, 0
        self.last = time.monotonic()
        ready = threading.Event()
        threading.Thread(target=lambda: asyncio.run(self.serve(ready)), daemon=True).start()
        ready.wait()

    async def serve(self, ready):
        self.loop, self.gate = asyncio.get_running_loop(), asyncio.Event()
        server = await asyncio.start_server(self.answer, "127.0.0.1", 0, backlog=4096)
        self.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1"
        ready.set()
        await server.serve_forever()

    def await_quiet(self, expected):
        """Waits until the expected number of requests is open, or no more arrive."""
        begun = self.last = time.monotonic()
        quiet = QUIET_LARGE if self.is_large else QUIET
        while self.open < expected and time.monotonic() - max(self.last, begun) < quiet:
            time.sleep(0.1)

    def release(self):
        self.loop.call_soon_threadsafe(self.gate.set)

    def close_gate(self):
        self.loop.call_soon_threadsafe(self.gate.clear)

    async def answer(self, reader, writer):
        try:
            while True:
                head, length = await read_head(reader)
                body = await reader.readexactly(length)
                if head.startswith("post"):
                    await self.answer_chat(body, writer)
                else:
                    self.send(writer, "application/json", {"object": "list", "data": [{"id": "tiny"}]})
                await writer.drain()
        except (OSError, asyncio.IncompleteReadError):
            pass  # The caller was killed.
        finally:
            writer.close()

    async def answer_chat(self, data, writer):
        body = json.loads(data)
        text = body["messages"][-1]["content"]
        if not isinstance(text, str):
            text = "".join(part.get("text", "") for part in text)
        tokens = len(data) if self.is_large else len(text) // 4
        self.billed += (tokens + ANSWER_TOKENS) * PRICE
        self.received += 1
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        self.last = time.monotonic()
        number = int(re.search(r"n(\d+)", text)[1])
        if self.is_large and number % 5 == 0 and number not in self.failed_once:
            self.failed_once.add(number)
            self.open -= 1
            if number % 10 == 0:
                raise OSError("the connection is closed after the request was received")
            return self.send(writer, "application/json", {"error": {"message": "overloaded"}}, "503 Service Unavailable")
        try:
            await self.gate.wait()
        finally:
            self.open -= 1
        usage = {"prompt_tokens": tokens, "completion_tokens": ANSWER_TOKENS, "total_tokens": tokens + ANSWER_TOKENS}
        base = {"id": "x", "created": 1, "model": "tiny"}
        if not body.get("stream"):
            choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant", "content": "Yes."}}
            return self.send(writer, "application/json", {**base, "object": "chat.completion", "choices": [choice], "usage": usage})
        pieces = [
            {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {"content": "Yes."}, "finish_reason": None}]},
            {**base, "object": "chat.completion.chunk", "choices": [{"index": 0, "delta": {}, "finish_reason": "stop"}], "usage": usage},
        ]
        self.send(writer, "text/event-stream", "".join(f"data: {json.dumps(piece)}\n\n" for piece in pieces) + "data: [DONE]\n\n")

    def send(self, writer, kind, body, status="200 OK"):
        data = (body if isinstance(body, str) else json.dumps(body)).encode()
        writer.write(f"HTTP/1.1 {status}\r\ncontent-type: {kind}\r\ncontent-length: {len(data)}\r\n\r\n".encode() + data)


def make_body(model, number, is_large):
    """Makes the body of a call. A large one has tools of 1 MB, and some have a schema or an image."""
    content = f"n{number} {WORDS}"
    body = {"model": model, "max_tokens": ANSWER_TOKENS, "messages": [{"role": "user", "content": content}]}
    if not is_large:
        return body
    fields = {f"field_{at}": {"type": "string", "description": "what the field of this number means"} for at in range(1_100)}
    body["tools"] = [{"type": "function", "function": {"name": f"tool_{at}", "description": "one of many tools", "parameters": {
        "type": "object", "properties": fields}}} for at in range(11)]
    if number % 2 == 0:
        body["response_format"] = {"type": "json_schema", "json_schema": {"name": "answer", "schema": {"type": "object", "properties": fields}}}
    if number % 3 == 0:
        image = {"type": "image_url", "image_url": {"url": "data:image/png;base64," + "iVBORw0KGgoAAAAN" * 8_000}}
        body["messages"][0]["content"] = [image, {"type": "text", "text": content}]
    return body


async def call_all(ports, key, model, first, count, is_large):
    """One process of callers: sends all calls at once, and returns how they ended."""

    async def call_once(number):
        data = json.dumps(make_body(model, number, is_large)).encode()
        port = ports[number % len(ports)]
        try:
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            writer.write(f"POST /v1/chat/completions HTTP/1.1\r\nhost: 127.0.0.1:{port}\r\nauthorization: Bearer {key}\r\n"
                         f"content-type: application/json\r\ncontent-length: {len(data)}\r\nconnection: close\r\n\r\n".encode() + data)
            await writer.drain()
            output = await reader.read(-1)
            writer.close()
        except OSError as error:
            return f"lost: {type(error).__name__}"
        status = output.split(b"\r\n", 1)[0].split(b" ")[1:2]
        if status == [b"200"]:
            return "answered"
        if not status:
            return "lost: no answer"
        if b"body did not arrive completely" in output:
            return "too slow"
        is_budget = b"udget" in output
        return "refused" if is_budget else f"failed: {status[0].decode()} {output[-160:]!r}"

    ends = await asyncio.gather(*(call_once(number) for number in range(first, first + count)))
    return collections.Counter(ends)


def send_wave(upstream, ports, key, model, calls, kill, first=0):
    """Sends calls at once from several processes. `kill` is called with the processes while all calls are open."""
    upstream.close_gate()
    share = calls // PROCESSES
    orders = [json.dumps([ports, key, model, first + share * number, share, upstream.is_large]) for number in range(PROCESSES)]
    senders = [subprocess.Popen([sys.executable, __file__, "--send", order], stdout=subprocess.PIPE, text=True) for order in orders]
    upstream.await_quiet(calls)
    open_now = upstream.open
    kill(senders)
    ends = collections.Counter()
    time.sleep(1.0)
    upstream.release()
    for sender in senders:
        output, _ = sender.communicate()
        ends.update(json.loads(output) if output.strip() else {})
    return open_now, ends


def kill_two(senders):
    """Kills every fifth process of callers."""
    for sender in senders[::5]:
        os.kill(sender.pid, signal.SIGKILL)


def report(name, upstream, cap, open_now, first, second):
    over = max(0.0, upstream.billed - cap)
    print(f"{name}: {open_now} calls open at the server at once")
    for label, ends in (("first", first), ("second", second)):
        print(f"  {label} wave: {json.dumps(ends, sort_keys=True)}")
    print(f"  billed {upstream.billed:.4f} of {cap} USD for {upstream.received} requests, overrun {over:.4f} ({over / cap:.0%})", flush=True)
    return over


def start_service(binaries, folder, name, environment):
    repository = folder / name
    subprocess.run(["git", "init", "-q", repository], check=True)
    subprocess.run(["git", "-C", repository, "-c", "user.name=a", "-c", "user.email=a@b", "commit", "-q", "--allow-empty", "-m", "begin"], check=True)
    port = peer.free_port()
    command = [binaries / "agentos-server", "--repo", repository, "--listen", f"127.0.0.1:{port}"]
    log = open(folder / f"{name}.log", "w", encoding="utf-8")
    return port, subprocess.Popen(command, env=environment, stdout=log, stderr=log)


def await_port(port):
    for _ in range(960):
        if subprocess.run(["curl", "-s", "-o", "/dev/null", f"http://127.0.0.1:{port}/"], check=False).returncode == 0:
            return
        time.sleep(0.25)
    sys.exit(f"nothing listens on port {port}")


def measure_agentos(binaries, calls, cap, is_large):
    """Returns true if nothing was overrun or leaked."""
    upstream = Upstream(is_large)
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        home = folder / "home"
        profiles = home / ".config/agentos/profiles"
        profiles.mkdir(parents=True)
        profile = {"provider": "mine", "adapter": "openai", "model": "tiny", "base_url": upstream.address, "requires_key": False,
                   "timeout_seconds": 600, "price": {"input": PRICE * 1e6, "output": PRICE * 1e6}, "params": {"max_tokens": ANSWER_TOKENS}}
        (profiles / "mine.json").write_text(json.dumps(profile))
        environment = {"PATH": os.environ["PATH"], "HOME": str(home)}

        def run(*args):
            done = subprocess.run([binaries / "agentos", *args], env=environment, cwd=folder, capture_output=True, check=False)
            return done.returncode, done.stdout

        def read_budget():
            return next(row for row in json.loads(run("budget", "list", "--json")[1])["budgets"] if not row["limit"]["scope"])

        run("budget", "set", f"{cap}usd/day")
        key = run("serve", "token", "add", "bench")[1].decode().strip()
        # A token has one dollar a day unless it has a budget of its own, and the cap is what is held here.
        run("budget", "set", f"{1000 * cap}usd/day", "--session", "token:bench")
        started = [start_service(binaries, folder, "first", environment)]
        await_port(started[0][0])
        try:

            def kill(senders):
                # The whole group of its processes would be one kill more: adapters end with the service that started them.
                started[0][1].kill()
                kill_two(senders)

            open_now, first = send_wave(upstream, [started[0][0]], key, "mine", calls, kill)
            database = next(home.rglob("budgets.sqlite"))
            with sqlite3.connect(database) as db:
                before = dict(db.execute("SELECT state, count(*) FROM reservation GROUP BY state"))
                db.execute("UPDATE reservation SET expires = expires - 900")
            started[0][1].wait()
            started.append(start_service(binaries, folder, "second", environment))
            await_port(started[1][0])
            _, second = send_wave(upstream, [started[1][0]], key, "mine", calls, kill_two, calls)
        finally:
            for _, service in started:
                service.terminate()
            for _, service in started:
                service.wait()
        over = report("agentos", upstream, cap, open_now, first, second)
        row = read_budget()
        with sqlite3.connect(database) as db:
            after = dict(db.execute("SELECT state, count(*) FROM reservation GROUP BY state"))
        verified = run("evidence", "verify", "--ledger")[0] == 0
        print(f"  reservations after the first wave {before}, at the end {after}")
        print(f"  spent {row['spent_usd']}, reserved {row['reserved_usd']}; the ledger verifies: {verified}", flush=True)
        # Every call that the server bills counts, those of killed callers too: the rest is what a call can cost at most.
        counts_enough = float(row["spent_usd"]) >= upstream.billed - 1e-9
        has_failed = any(end.startswith("failed") for end in [*first, *second])
        return over == 0.0 and float(row["reserved_usd"]) == 0.0 and counts_enough and verified and not has_failed


def measure_litellm(program, calls, cap, is_large):
    upstream = Upstream(is_large)
    with tempfile.TemporaryDirectory() as name:
        config = pathlib.Path(name, "config.yaml")
        config.write_text(json.dumps({
            "model_list": [{"model_name": "tiny", "litellm_params": {
                "model": "openai/tiny", "api_key": "sk-unused", "api_base": upstream.address, "max_budget": cap, "budget_duration": "1d",
                "input_cost_per_token": PRICE, "output_cost_per_token": PRICE}}],
            "litellm_settings": {"num_retries": 3 if is_large else 0, "telemetry": False, "request_timeout": 600}, "router_settings": {"num_retries": 3 if is_large else 0},
            "general_settings": {"master_key": peer.KEY}}))
        port = peer.free_port()
        environment = {**os.environ, "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_MASTER_KEY": peer.KEY}
        with open(pathlib.Path(name, "log"), "w", encoding="utf-8") as log:
            proxy = subprocess.Popen([program, "--config", config, "--host", "127.0.0.1", "--port", str(port)], env=environment, stdout=log, stderr=log)
        try:
            await_port(port)
            open_now, first = send_wave(upstream, [port], peer.KEY, "tiny", calls, kill_two)
            _, second = send_wave(upstream, [port], peer.KEY, "tiny", calls, kill_two, calls)
            report("LiteLLM", upstream, cap, open_now, first, second)
        finally:
            proxy.terminate()
            proxy.wait()


def main():
    if sys.argv[1:2] == ["--send"]:
        print(json.dumps(asyncio.run(call_all(*json.loads(sys.argv[2])))))
        return
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("binaries", type=pathlib.Path)
    arguments.add_argument("--litellm")
    arguments.add_argument("--without-litellm", action="store_true")
    arguments.add_argument("--large", action="store_true")
    arguments.add_argument("--calls", type=int)
    arguments.add_argument("--cap", type=float)
    given = arguments.parse_args()
    defaults = (400, 1000.0) if given.large else (1000, 4.2)
    calls, cap = (value or usual for value, usual in zip((given.calls, given.cap), defaults))
    # Two sockets for each call, here and in the services.
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    if shutil.which("curl") is None:
        sys.exit("there is no `curl`")
    size = len(json.dumps(make_body("mine", 0, True))) if given.large else len(f"n0 {WORDS}") // 4
    tokens = size + ANSWER_TOKENS
    print(f"{calls} calls at once; a call costs {tokens * PRICE:.5f} USD, so {cap / (tokens * PRICE):.0f} fit into {cap} USD")
    is_kept = measure_agentos(given.binaries.resolve(), calls, cap, given.large)
    if not given.without_litellm:
        measure_litellm(peer.litellm_program(given.litellm), calls, cap, given.large)
    sys.exit(0 if is_kept else 1)


if __name__ == "__main__":
    main()
