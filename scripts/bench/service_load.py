#!/usr/bin/env python3
"""Loads the service: idle sockets, slow heads, large bodies, and kill -9 in the middle of it. Reports, and exits with 1 if a rule is broken.

usage: service_load.py BIN [--sockets N] [--kills N]

BIN is the folder with `agentos` and `agentos-server`. An upstream answers at once (`scripts/bench/floor`). Rules: a request is answered
while N idle sockets are open; slow heads are closed; a body of 10 MB is answered or refused, and the memory stays bounded; after each
kill -9 under load the ledger and the repository's evidence verify, and each answer that a client got whole is in the ledger.
"""
import argparse, concurrent.futures, json, os, pathlib, re, runpy, shutil, signal, socket, subprocess, sys, tempfile, threading, time

TOP = pathlib.Path(__file__).resolve().parents[2]
bench = runpy.run_path(str(TOP / "scripts/bench/service.py"), run_name="service")
broken = []


def report(holds, text):
    print(("ok      " if holds else "BROKEN  ") + text, flush=True)
    if not holds:
        broken.append(text)


def ask(gateway, stream=False, body=None):
    connection = bench["Connection"](("127.0.0.1", gateway.port), gateway.path, gateway.headers, body or gateway.body(stream))
    try:
        return connection.send()
    finally:
        if connection.socket:
            connection.socket.close()


def hold_sockets(gateway, count):
    before, began = bench["read_memory"](gateway.process.pid), time.perf_counter()
    sockets = []
    for _ in range(count):
        sockets.append(socket.create_connection(("127.0.0.1", gateway.port), 30))
    waits = [ask(gateway)[1] for _ in range(5)]
    report(max(waits) < 5, f"{count} sockets opened in {time.perf_counter() - began:.1f} s; a request then takes {1000 * max(waits):.0f} ms at most, "
           f"memory {before:.0f} -> {bench['read_memory'](gateway.process.pid):.0f} MB")
    [one.close() for one in sockets]


def send_slow_heads(gateway, count=200):
    """Each sends a byte of its head at a time, until the service hangs up."""
    sockets = [socket.create_connection(("127.0.0.1", gateway.port), 30) for _ in range(count)]
    head, began, closed = b"POST /v1/chat/completions HTTP/1.1\r\nHost: 127.0.0.1\r\nX: " + b"a" * 10000, time.perf_counter(), 0
    waits = []
    for at in range(40):
        left = []
        for one in sockets:
            try:
                one.send(head[at:at + 1])
                left.append(one)
            except OSError:
                closed += 1
        sockets = left
        waits.append(ask(gateway)[1])
        if not sockets:
            break
        time.sleep(0.5)
    report(not sockets and max(waits) < 5, f"{closed} of {count} slow heads closed within {time.perf_counter() - began:.0f} s; requests meanwhile take {1000 * max(waits):.0f} ms at most")


def send_large_bodies(gateway, count=16):
    body = gateway.body(False)
    body["messages"] = body["messages"] + [{"role": "user", "content": "x" * (10 << 20)}]
    def one(_):
        try:
            ask(gateway, body=body)
            return "answered"
        except RuntimeError as error:
            return str(error)[:30]
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        ends = sorted(set(pool.map(one, range(count))))
    time.sleep(1)
    memory = bench["read_memory"](gateway.process.pid)
    ask(gateway)
    report(memory < 1024, f"{count} bodies of 10 MB at once: {', '.join(ends)}; memory afterwards {memory:.0f} MB")


def kill_under_load(gateway, binaries, folder, home, env, kills):
    whole = 0
    for _ in range(kills):
        gateway.start()
        stop, counts = threading.Event(), []
        def work():
            done = 0
            while not stop.is_set():
                try:
                    ask(gateway, stream=done % 2 == 0)
                    done += 1
                except (OSError, RuntimeError, ValueError):
                    break
            counts.append(done)
        threads = [threading.Thread(target=work) for _ in range(8)]
        [thread.start() for thread in threads]
        time.sleep(1.5)
        for pid in bench["list_tree"](gateway.process.pid):
            try:
                os.kill(pid, signal.SIGKILL)
            except OSError:
                pass
        gateway.process.wait()
        stop.set()
        [thread.join() for thread in threads]
        whole += sum(counts)
        for words in (["--ledger"], ["--repo", str(folder / "repository")]):
            done = subprocess.run([binaries / "agentos", "evidence", "verify", *words], env=env, cwd=folder / "repository", capture_output=True, text=True)
            if done.returncode:
                report(False, f"agentos evidence verify {' '.join(words)}: {(done.stdout + done.stderr)[-300:]}")
    costs = subprocess.run([binaries / "agentos", "cost", "--json"], env=env, cwd=folder / "repository", capture_output=True, text=True)
    calls = sum(int(number) for number in re.findall(r'"calls":\s*(\d+)', costs.stdout)[:1])
    report(calls >= whole > 0, f"{kills} x kill -9 under load: {whole} answers came whole, {calls} calls are in the ledger, which verifies each time")


def main():
    parser = argparse.ArgumentParser(usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--sockets", type=int, default=10000)
    parser.add_argument("--kills", type=int, default=5)
    args = parser.parse_args()
    binaries, floor = args.binaries.resolve(), TOP / "scripts/bench/floor"
    subprocess.run(["cargo", "build", "--release", "-q", "--manifest-path", floor / "Cargo.toml", "--target-dir", TOP / "target/floor"], check=True)
    folder = pathlib.Path(tempfile.mkdtemp())
    port = bench["free_port"]()
    upstream = subprocess.Popen([TOP / "target/floor/release/upstream", f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
    upstream.stdout.readline()
    try:
        gateway, home, env = bench["prepare_agentos"](binaries, folder, f"http://127.0.0.1:{port}")
        gateway.start()
        ask(gateway)
        hold_sockets(gateway, args.sockets)
        send_slow_heads(gateway)
        send_large_bodies(gateway)
        gateway.stop()
        kill_under_load(gateway, binaries, folder, home, env, args.kills)
    finally:
        upstream.kill()
        shutil.rmtree(folder, ignore_errors=True)
    sys.exit(1 if broken else 0)


main()
