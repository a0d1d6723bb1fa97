#!/usr/bin/env python3
"""Measures approvals and denials of the service, idle and while others keep it busy: 64 turns that wait for a model, 600 strangers that hold
connections, and 64 agents that show a commit of a large repository. Reports; it fails only if an answer is wrong.

usage: service_pressure.py BIN [--rounds N] [--commits N]

BIN is the folder with `agentos` and `agentos-server`. A turn that the page refuses, because as many as it allows run already, is a call of
`/v1` instead. Times are those of a program on the Unix socket. The figures are in `scripts/service/README.md`.
"""
import argparse, contextlib, http.client, json, os, pathlib, resource, selectors, socket, statistics, subprocess, tempfile, threading, time

TURNS, AGENTS, STRANGERS = 64, 64, 600
# Seconds after which the service has ended what nobody waits for.
AFTER = 60


def limit_files():
    """Sets the limit with which systems start programs, whatever the shell of this script has."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (1024, resource.getrlimit(resource.RLIMIT_NOFILE)[1]))


class LocalConnection(http.client.HTTPConnection):
    """A connection to the service's Unix socket, where programs of the user need no token."""

    def __init__(self, path):
        super().__init__("localhost", timeout=120)
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(120)
        self.sock.connect(self.path)


class Service:
    def __init__(self, binaries, folder, commits):
        self.binaries, self.home, self.repository = binaries, folder / "home", folder / "repository"
        self.silent = socket.create_server(("127.0.0.1", 0), backlog=256)
        profile = {"provider": "silent", "name": "silent", "adapter": "openai", "model": "tiny", "requires_key": False,
                   "base_url": f"http://127.0.0.1:{self.silent.getsockname()[1]}/v1", "capabilities": {"context_window": 32000}}
        (self.home / ".config/agentos/profiles").mkdir(parents=True)
        (self.home / ".config/agentos/profiles/silent.json").write_text(json.dumps(profile))
        self.env = {"PATH": os.environ["PATH"], "HOME": str(self.home)}
        self.repository.mkdir()
        self.make_history(commits)
        self.process = subprocess.Popen([binaries / "agentos-server", "--repo", self.repository, "--listen", "127.0.0.1:0"], env=self.env, stdout=subprocess.PIPE, text=True, preexec_fn=limit_files)
        for line in self.process.stdout:
            if line.startswith("API"):
                self.address = line.split("http://")[1].split(",")[0]
            if line.startswith("Ctrl-C"):
                break
        self.token, self.models_token = self.make_token("agents", "--for", "agent"), self.make_token("clients")
        link = json.loads(self.ask("POST", "/service/join", {"folder": str(self.repository), "policies": []})[1])["link"]
        self.page, code = link.removeprefix("http://").split("/signin#")
        signed = self.send_form("/signin", {"code": code}, "")
        self.cookie = signed.getheader("set-cookie").split(";")[0]
        home = self.at_page("GET", "/", None, self.cookie)[1]
        self.form = home.split('name="form" value="')[1].split('"')[0]

    def make_token(self, *words):
        make = [self.binaries / "agentos", "serve", "token", "add", *words]
        return subprocess.run(make, cwd=self.repository, env=self.env, check=True, capture_output=True, text=True).stdout.strip()

    def make_history(self, commits):
        """Many commits with many files, which `git_show` has to follow back."""
        git = lambda *words, **more: subprocess.run(["git", "-C", str(self.repository), *words], check=True, stdout=subprocess.DEVNULL, **more)
        git("init", "-q", "-b", "main")
        git("config", "user.name", "a")
        git("config", "user.email", "a@b")
        stream = []
        for at in range(commits):
            stream.append(f"commit refs/heads/main\ncommitter a <a@b> {1700000000 + at} +0000\ndata 2\nc\n")
            for file in range(120):
                text = f"{at} {file}\n"
                stream.append(f"M 100644 inline d{file % 10}/f{file}.txt\ndata {len(text)}\n{text}")
            if at == 0:
                stream.append("M 100644 inline lib.txt\ndata 4\none\n")
        git("fast-import", "--quiet", input="\n".join(stream).encode())
        git("checkout", "-q", "-f", "main")

    def ask(self, method, path, body=None):
        connection = LocalConnection(self.home / ".local/state/agentos/server/socket")
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Host": "localhost", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer.status, text

    def at_page(self, method, path, body, cookie):
        connection = http.client.HTTPConnection(self.address, timeout=120)
        headers = {"Host": self.page, "Origin": f"http://{self.page}", "Cookie": cookie, "Content-Type": "application/x-www-form-urlencoded"}
        connection.request(method, path, body, headers)
        answer = connection.getresponse()
        text = answer.read().decode()
        connection.close()
        return answer, text

    def send_form(self, path, members, cookie):
        from urllib.parse import urlencode
        return self.at_page("POST", path, urlencode(members), cookie)[0]

    def propose(self, name):
        diff = f"--- /dev/null\n+++ b/{name}.txt\n@@ -0,0 +1 @@\n+x\n"
        status, text = self.ask("POST", "/api/proposals", {"answer": diff, "message": name})
        assert status == 200, text
        return json.loads(text)["run"]

    def measure(self, rounds, name):
        """Returns the seconds of each approval and of each denial."""
        approvals, denials = [], []
        for at in range(rounds):
            run = self.propose(f"{name}-{at}")
            review = json.loads(self.ask("GET", f"/api/requests/{run}")[1])
            assert "hashes" in review, review
            hashes = review["hashes"]
            began = time.perf_counter()
            status, text = self.ask("POST", f"/api/requests/{run}/approve", {"hashes": hashes})
            approvals.append(time.perf_counter() - began)
            assert status == 200 and '"landed"' in text, text
            run = self.propose(f"{name}-no-{at}")
            began = time.perf_counter()
            status, text = self.ask("POST", f"/api/requests/{run}/deny", {})
            denials.append(time.perf_counter() - began)
            assert status == 200, text
        return approvals, denials

    def read_state(self):
        status = pathlib.Path(f"/proc/{self.process.pid}/status").read_text()
        memory = int(status.split("VmRSS:")[1].split()[0]) / 1024
        threads = int(status.split("Threads:")[1].split()[0])
        return f"{memory:.0f} MB, {threads} threads, {len(os.listdir(f'/proc/{self.process.pid}/fd'))} descriptors"


def begin_turns(service):
    """Returns the number of turns of the page, and the connections of the calls that are there for the others."""
    begun, calls = TURNS, []
    for at in range(TURNS):
        answer = service.send_form("/sessions", {"form": service.form, "name": f"s{at}", "text": "hello", "model": "silent"}, service.cookie)
        if answer.status != 303:
            begun = at
            break
    body = json.dumps({"model": "silent", "messages": [{"role": "user", "content": "hello"}]})
    for _ in range(TURNS - begun):
        connection = http.client.HTTPConnection(service.address)
        connection.request("POST", "/v1/chat/completions", body, {"Authorization": f"Bearer {service.models_token}", "Content-Type": "application/json"})
        calls.append(connection)
    return begun, calls


def begin_agents(service, ends):
    """Each agent shows the last commit again and again, until the end. Returns the sizes of the answers."""
    head = subprocess.run(["git", "-C", str(service.repository), "rev-parse", "HEAD~1"], capture_output=True, text=True, check=True).stdout.strip()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "git_show", "arguments": {"commit": head},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28", "io.modelcontextprotocol/clientCapabilities": {},
                      "io.modelcontextprotocol/clientInfo": {"name": "bench", "version": "1"}}}}
    sizes = []

    def work():
        while not ends.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection(service.address, timeout=90)
                connection.request("POST", "/mcp", json.dumps(call), {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json",
                                   "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "git_show"})
                sizes.append(len(connection.getresponse().read()))
                connection.close()
    threads = [threading.Thread(target=work, daemon=True) for _ in range(AGENTS)]
    [thread.start() for thread in threads]
    return sizes


def begin_strangers(service, ends):
    """Strangers begin to sign in and go on no more. Each comes again when the service hangs up. Returns the count of those that came."""
    host, port = service.address.split(":")
    head = f"POST /signin HTTP/1.1\r\nHost: {service.page}\r\nOrigin: http://{service.page}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000\r\n\r\nc"
    held, came = selectors.DefaultSelector(), [0]

    def come():
        with contextlib.suppress(OSError):
            one = socket.create_connection((host, int(port)), 30)
            one.sendall(head.encode())
            held.register(one, selectors.EVENT_READ)
            came[0] += 1

    def stay():
        # Once a second, so that they hold places and are no flood of connections.
        while not ends.wait(1):
            for key, _ in held.select(0):
                held.unregister(key.fileobj)
                key.fileobj.close()
            while len(held.get_map()) < STRANGERS:
                come()
        [key.fileobj.close() for key in list(held.get_map().values())]
    while came[0] < STRANGERS:
        come()
    threading.Thread(target=stay, daemon=True).start()
    return came


def main():
    parser = argparse.ArgumentParser(usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--rounds", type=int, default=50)
    parser.add_argument("--commits", type=int, default=1000)
    args = parser.parse_args()
    show = lambda seconds: f"p50 {1000 * statistics.median(seconds):.0f} ms, p99 {1000 * sorted(seconds)[int(len(seconds) * 0.99)]:.0f} ms"
    with tempfile.TemporaryDirectory() as folder:
        service = Service(args.binaries.resolve(), pathlib.Path(folder), args.commits)
        ends = threading.Event()
        try:
            service.measure(3, "warm")
            print(f"before: {service.read_state()}", flush=True)
            approvals, denials = service.measure(args.rounds, "idle")
            print(f"idle: approve {show(approvals)}; deny {show(denials)}", flush=True)
            began, calls = begin_turns(service)
            print(f"{began} turns of the page and {len(calls)} calls of /v1 wait for a model", flush=True)
            approvals, denials = service.measure(args.rounds, "turns")
            print(f"with turns: approve {show(approvals)}; deny {show(denials)}", flush=True)
            came = begin_strangers(service, ends)
            approvals, denials = service.measure(args.rounds, "strangers")
            print(f"with {STRANGERS} strangers too, who came {came[0]} times: approve {show(approvals)}; deny {show(denials)}", flush=True)
            sizes = begin_agents(service, ends)
            approvals, denials = service.measure(args.rounds, "agents")
            print(f"with {AGENTS} agents too: approve {show(approvals)}; deny {show(denials)}", flush=True)
            print(f"{len(sizes)} answers of git_show, the median has {statistics.median(sizes or [0]):.0f} bytes", flush=True)
            print(f"under load: {service.read_state()}", flush=True)
            ends.set()
            # A model that is gone ends the turns and the calls.
            service.silent.close()
            [call.close() for call in calls]
            time.sleep(AFTER)
            print(f"{AFTER} s after the load: {service.read_state()}", flush=True)
        finally:
            ends.set()
            service.process.terminate()
            service.process.wait()


main()
