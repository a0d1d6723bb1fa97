#!/usr/bin/env python3
"""Compares the service with other gateways: processor time and memory, in one run, over one upstream that answers at once.

usage: service.py BIN [--requests N] [--connections N] [--peers FOLDER] [--only NAME,...]

N connections send requests for the processor time and the memory, 16 unless told. The times on the wall are those of one connection
alone, because a busy driver would add its own.

BIN is the folder with `agentos-server` (a release build). The floor (`scripts/bench/floor`) is built once. With --peers, TensorZero
and LiteLLM (PyPI) and Portkey (npm) are installed in FOLDER and measured too; each that cannot be had is named as skipped.

Processor time is that of the gateway with all its child processes, user and system, divided by the requests (proc(5): utime and stime,
and cutime and cstime for children that have ended). It does not depend on what else the machine does; times on the wall do, so read
those only as a comparison inside one run.
"""
import argparse, json, os, pathlib, re, shutil, socket, statistics, subprocess, sys, tempfile, threading, time

HERE = pathlib.Path(__file__).resolve().parent
TICKS = os.sysconf("SC_CLK_TCK")


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def list_tree(pid):
    """A process and its descendants."""
    parents = {}
    for entry in pathlib.Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parents[int(entry.name)] = int((entry / "stat").read_text().rsplit(")", 1)[1].split()[1])
            except OSError:
                pass
    tree, todo = [pid], [pid]
    while todo:
        at = todo.pop()
        new = [child for child, parent in parents.items() if parent == at]
        tree += new
        todo += new
    return tree


def read_cpu(pid):
    """Seconds of processor time of a process tree, with the children that have ended."""
    total = 0
    for one in list_tree(pid):
        try:
            fields = pathlib.Path(f"/proc/{one}/stat").read_text().rsplit(")", 1)[1].split()
        except OSError:
            continue
        total += sum(map(int, fields[11:15]))
    return total / TICKS


def read_memory(pid):
    """Resident memory of a process tree in MB (proportional set size where the kernel tells it)."""
    kilobytes = 0
    for one in list_tree(pid):
        try:
            text = pathlib.Path(f"/proc/{one}/smaps_rollup").read_text()
        except OSError:
            continue
        kilobytes += int(re.search(r"^Pss:\s+(\d+)", text, re.M)[1])
    return kilobytes / 1024


class Connection:
    """A kept connection that sends one prepared request again and again."""

    def __init__(self, address, path, headers, body):
        self.address, data = address, json.dumps(body).encode()
        lines = [f"POST {path} HTTP/1.1", f"Host: {address[0]}:{address[1]}", "Content-Type: application/json", f"Content-Length: {len(data)}"]
        self.request = "\r\n".join(lines + [f"{k}: {v}" for k, v in headers.items()]).encode() + b"\r\n\r\n" + data
        self.socket = None

    def send(self):
        """Returns the seconds to the first byte of the body and to the end."""
        if self.socket is None:
            self.socket = socket.create_connection(self.address)
            self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.buffer = b""
        start = time.perf_counter()
        self.socket.sendall(self.request)
        head = self.read_until(b"\r\n\r\n")
        first_line, text = head.split(b"\r\n", 1)[0], head.decode("latin-1").lower()
        if b" 200 " not in first_line + b" ":
            raise RuntimeError(first_line.decode() + " " + self.buffer[:300].decode("latin-1"))
        if "transfer-encoding: chunked" in text:
            first = None
            while True:
                size = int(self.read_until(b"\r\n").strip(), 16)
                first = first or time.perf_counter()
                self.read_exactly(size + 2)
                if size == 0:
                    break
        else:
            length = int(re.search(r"content-length: (\d+)", text)[1])
            self.read_exactly(1)
            first = time.perf_counter()
            self.read_exactly(length - 1)
        return first - start, time.perf_counter() - start

    def fill(self):
        more = self.socket.recv(65536)
        if not more:
            raise RuntimeError("the connection was closed")
        self.buffer += more

    def read_until(self, mark):
        while mark not in self.buffer:
            self.fill()
        found, self.buffer = self.buffer.split(mark, 1)
        return found

    def read_exactly(self, count):
        while len(self.buffer) < count:
            self.fill()
        self.buffer = self.buffer[count:]


WORKERS = 16
ALONE = 200


def send_load(address, path, headers, body, count, workers=None):
    """Sends requests from several connections. Returns the medians of both times in milliseconds."""
    workers = workers or WORKERS
    times, failures, lock = [], [], threading.Lock()

    def work(n):
        connection = Connection(address, path, headers, body)
        for _ in range(n):
            try:
                one = connection.send()
            except (OSError, RuntimeError, ValueError) as error:
                failures.append(str(error))
                return
            with lock:
                times.append(one)

    threads = [threading.Thread(target=work, args=(count // workers,)) for _ in range(workers)]
    [t.start() for t in threads]
    [t.join() for t in threads]
    if failures:
        raise RuntimeError(failures[0])
    return tuple(1000 * statistics.median(column) for column in zip(*times))


class Gateway:
    def __init__(self, name, command, port, headers, model, env=None, cwd=None, path="/v1/chat/completions"):
        self.name, self.command, self.port, self.headers, self.model, self.path = name, command, port, headers, model, path
        self.env, self.cwd = env, cwd

    def start(self):
        began = time.perf_counter()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, env=self.env, cwd=self.cwd, stdout=self.log, stderr=self.log, start_new_session=True)
        while time.perf_counter() - began < 120:
            try:
                socket.create_connection(("127.0.0.1", self.port), 0.2).close()
                return 1000 * (time.perf_counter() - began)
            except OSError:
                if self.process.poll() is not None:
                    self.log.seek(0)
                    raise RuntimeError("it ended: " + self.log.read()[-300:].decode("utf-8", "replace"))
                time.sleep(0.005)
        raise RuntimeError("it does not listen")

    def stop(self):
        for pid in reversed(list_tree(self.process.pid)):
            try:
                os.kill(pid, 15 if pid == self.process.pid else 9)
            except OSError:
                pass
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()

    def body(self, stream):
        body = {"model": self.model, "temperature": 0.2, "messages": [
            {"role": "system", "content": "You are a helpful assistant that proposes diffs."}, {"role": "user", "content": "add() subtracts: fix it"}]}
        return body | ({"stream": True, "stream_options": {"include_usage": True}} if stream else {})

    def measure(self, count, upstream_times):
        row = {"name": self.name, "start_ms": self.start()}
        address = ("127.0.0.1", self.port)
        try:
            time.sleep(0.5)
            row["idle_mb"] = read_memory(self.process.pid)
            for kind, stream in (("plain", False), ("stream", True)):
                try:
                    send_load(address, self.path, self.headers, self.body(stream), 20 * WORKERS)
                    before = read_cpu(self.process.pid)
                    send_load(address, self.path, self.headers, self.body(stream), count)
                    used = read_cpu(self.process.pid) - before
                    first, whole = send_load(address, self.path, self.headers, self.body(stream), ALONE, 1)
                except RuntimeError as error:
                    # Portkey 1.15.2 answers each stream with 500 on Node 20.
                    print(f"{self.name}: {kind}: {str(error)[:150]}", file=sys.stderr)
                    continue
                row[f"{kind}_cpu_ms"] = 1000 * used / (count // WORKERS * WORKERS)
                row[f"{kind}_first_ms"], row[f"{kind}_whole_ms"] = first - upstream_times[stream][0], whole - upstream_times[stream][1]
            row["loaded_mb"] = read_memory(self.process.pid)
        finally:
            self.stop()
        return row


def prepare_agentos(binaries, folder, upstream):
    """A home with one provider over the upstream, and a repository."""
    home, repository = folder / "home", folder / "repository"
    (home / ".config/agentos/profiles").mkdir(parents=True)
    profile = {"provider": "fast", "name": "fast", "adapter": "openai", "base_url": f"{upstream}/v1", "model": "fast"}
    (home / ".config/agentos/profiles/fast.json").write_text(json.dumps(profile))
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    git = lambda *words: subprocess.run(["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, stdout=subprocess.DEVNULL)
    repository.mkdir()
    git("init", "-q")
    git("commit", "-q", "--allow-empty", "-m", "begin")
    subprocess.run([binaries / "agentos", "evidence", "key", "rotate", "--store", "file", "--repo", repository], env=env, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    make = [binaries / "agentos", "serve", "token", "add", "bench"]
    token = subprocess.run(make, env=env, check=True, capture_output=True, text=True).stdout.strip()
    port = free_port()
    command = [str(binaries / "agentos-server"), "--repo", str(repository), "--listen", f"127.0.0.1:{port}"]
    return Gateway("agentos", command, port, {"Authorization": f"Bearer {token}"}, "fast", env), home, env


def prepare_peers(folder, upstream, only):
    """Yields the gateways of others, or (name, reason) for those that cannot be had."""
    wanted = lambda name: not only or name in only
    python = folder / "venv/bin/python"

    def pip(*packages):
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", folder / "venv"], check=True)
        subprocess.run([python, "-m", "pip", "install", "-q", *packages], check=True)

    if wanted("tensorzero"):
        try:
            pip("tensorzero==2026.6.0", "openai", "dacite")
            settings = folder / "tensorzero.toml"
            settings.write_text('[gateway]\nobservability.enabled = false\n[models.fast]\nrouting = ["m"]\n[models.fast.providers.m]\ntype = "openai"\n'
                                f'model_name = "fast"\napi_base = "{upstream}/v1/"\napi_key_location = "none"\n')
            start = folder / "tensorzero_start.py"
            start.write_text("import sys, time, tensorzero\nfrom openai import OpenAI\n"
                             "client = tensorzero.patch_openai_client(OpenAI(api_key='x'), config_file=sys.argv[1], async_setup=False)\n"
                             "open(sys.argv[2], 'w').write(str(client.base_url))\ntime.sleep(3600)\n")
            yield TensorZero(python, start, settings, folder / "tensorzero.address")
        except (OSError, subprocess.SubprocessError) as error:
            yield "tensorzero", str(error)
    if wanted("portkey"):
        try:
            subprocess.run(["npm", "install", "--silent", "--prefix", str(folder / "npm"), "@portkey-ai/gateway@1.15.2"], check=True, stdout=subprocess.DEVNULL)
            port = free_port()
            headers = {"Authorization": "Bearer x", "x-portkey-provider": "openai", "x-portkey-custom-host": f"{upstream}/v1"}
            start = folder / "npm/node_modules/@portkey-ai/gateway/build/start-server.js"
            yield Gateway("portkey", ["node", str(start), f"--port={port}", "--headless"], port, headers, "fast")
        except (OSError, subprocess.SubprocessError) as error:
            yield "portkey", str(error)
    if wanted("litellm"):
        try:
            pip("litellm[proxy]==1.106.2")
            settings = folder / "litellm.json"
            settings.write_text(json.dumps({"model_list": [{"model_name": "fast", "litellm_params": {"model": "openai/fast", "api_base": f"{upstream}/v1", "api_key": "x"}}],
                                            "litellm_settings": {"telemetry": False, "num_retries": 0}, "general_settings": {"master_key": "sk-bench-1f4a9c77d0e24b6b"}}))
            port = free_port()
            env = os.environ | {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}
            command = [str(folder / "venv/bin/litellm"), "--config", str(settings), "--port", str(port), "--host", "127.0.0.1"]
            yield Gateway("litellm", command, port, {"Authorization": "Bearer sk-bench-1f4a9c77d0e24b6b"}, "fast", env)
        except (OSError, subprocess.SubprocessError) as error:
            yield "litellm", str(error)


class TensorZero(Gateway):
    """TensorZero's gateway tells its address in a file; its memory includes its Python host."""

    def __init__(self, python, start, settings, address):
        super().__init__("tensorzero", [str(python), str(start), str(settings), str(address)], 0, {"Authorization": "Bearer x"},
                         "tensorzero::model_name::fast", path="/openai/v1/chat/completions")
        self.address = address

    def start(self):
        self.address.unlink(missing_ok=True)
        began = time.perf_counter()
        self.log = tempfile.TemporaryFile()
        self.process = subprocess.Popen(self.command, stdout=self.log, stderr=self.log, start_new_session=True)
        while not self.address.exists() or not self.address.read_text():
            if self.process.poll() is not None or time.perf_counter() - began > 120:
                self.log.seek(0)
                raise RuntimeError("it does not start: " + self.log.read()[-300:].decode("utf-8", "replace"))
            time.sleep(0.02)
        self.port = int(re.search(r":(\d+)", self.address.read_text())[1])
        return 1000 * (time.perf_counter() - began)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--requests", type=int, default=3200)
    parser.add_argument("--connections", type=int, default=16)
    parser.add_argument("--peers", type=pathlib.Path)
    parser.add_argument("--only", default="")
    args = parser.parse_args()
    global WORKERS
    WORKERS = args.connections
    only = {name for name in args.only.split(",") if name}
    subprocess.run(["cargo", "build", "--release", "-q", "--manifest-path", str(HERE / "floor/Cargo.toml"), "--target-dir", str(HERE.parents[1] / "target/floor")], check=True)
    built = HERE.parents[1] / "target/floor/release"
    folder = pathlib.Path(tempfile.mkdtemp())
    port = free_port()
    upstream_process = subprocess.Popen([built / "upstream", f"127.0.0.1:{port}"], stdout=subprocess.PIPE, text=True)
    upstream_process.stdout.readline()
    upstream = f"http://127.0.0.1:{port}"
    agentos, home, env = prepare_agentos(args.binaries.resolve(), folder, upstream)
    floor_port = free_port()
    floor = Gateway("floor", [str(built / "floor"), f"127.0.0.1:{floor_port}", upstream], floor_port, {"Authorization": "Bearer bench"}, "fast")
    gateways = [gateway for gateway in (floor, agentos) if not only or gateway.name in only]
    if args.peers:
        args.peers.mkdir(parents=True, exist_ok=True)
        gateways += list(prepare_peers(args.peers.resolve(), upstream, only))
    try:
        direct = Gateway("upstream", [], port, {}, "fast")
        times = {stream: send_load(("127.0.0.1", port), direct.path, {}, direct.body(stream), ALONE, 1) for stream in (False, True)}
        print(f"{'gateway':12} {'cpu ms':>8} {'stream':>8} {'added ms':>9} {'1st token':>9} {'idle MB':>8} {'then MB':>8} {'start ms':>9}")
        for gateway in gateways:
            if isinstance(gateway, tuple):
                print(f"{gateway[0]:12} skipped: {gateway[1][:120]}")
                continue
            try:
                row = gateway.measure(args.requests, times)
            except RuntimeError as error:
                print(f"{gateway.name:12} failed: {str(error)[-400:]}")
                continue
            shown = lambda name, width, digits: f"{row[name]:{width}.{digits}f}" if name in row else f"{'–':>{width}}"
            columns = (("plain_cpu_ms", 8, 3), ("stream_cpu_ms", 8, 3), ("plain_whole_ms", 9, 2), ("stream_first_ms", 9, 2), ("idle_mb", 8, 1), ("loaded_mb", 8, 1), ("start_ms", 9, 0))
            print(f"{row['name']:12} " + " ".join(shown(*column) for column in columns), flush=True)
        if agentos in gateways:
            verify = subprocess.run([args.binaries.resolve() / "agentos", "evidence", "verify", "--ledger"], env=env, cwd=folder / "repository", capture_output=True, text=True)
            print("agentos, the ledger after the run: " + (verify.stdout.strip().splitlines() or [verify.stderr.strip()])[0])
    finally:
        upstream_process.kill()
        shutil.rmtree(folder, ignore_errors=True)


if __name__ == "__main__":
    main()
