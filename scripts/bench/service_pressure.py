#!/usr/bin/env python3
"""Measures approvals and denials of the service, idle and while others keep it busy: turns that wait for a model, agents that show a commit of
a large repository, and strangers that hold connections. Reports; it fails only if an answer is wrong.

usage: service_pressure.py BIN [--rounds N] [--commits N]

BIN is the folder with `agentos` and `agentos-server`.
"""
import argparse, contextlib, http.client, json, os, pathlib, socket, statistics, subprocess, tempfile, threading, time

TURNS, AGENTS, STRANGERS = 64, 64, 600


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
        self.process = subprocess.Popen([binaries / "agentos-server", "--repo", self.repository, "--listen", "127.0.0.1:0"], env=self.env, stdout=subprocess.PIPE, text=True)
        for line in self.process.stdout:
            if line.startswith("API"):
                self.address = line.split("http://")[1].split(",")[0]
            if line.startswith("Ctrl-C"):
                break
        make = [binaries / "agentos", "serve", "token", "add", "agents", "--for", "agent"]
        self.token = subprocess.run(make, cwd=self.repository, env=self.env, check=True, capture_output=True, text=True).stdout.strip()
        link = json.loads(self.ask("POST", "/service/join", {"folder": str(self.repository), "policies": []})[1])["link"]
        self.page, code = link.removeprefix("http://").split("/signin#")
        signed = self.send_form("/signin", {"code": code}, "")
        self.cookie = signed.getheader("set-cookie").split(";")[0]
        home = self.at_page("GET", "/", None, self.cookie)[1]
        self.form = home.split('name="form" value="')[1].split('"')[0]

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
    for at in range(TURNS):
        answer = service.send_form("/sessions", {"form": service.form, "name": f"s{at}", "text": "hello", "model": "silent"}, service.cookie)
        if answer.status != 303:
            return at
    return TURNS


def begin_agents(service, ends):
    """Each agent shows the last commit again and again, until the end."""
    head = subprocess.run(["git", "-C", str(service.repository), "rev-parse", "HEAD~1"], capture_output=True, text=True, check=True).stdout.strip()
    call = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "git_show", "arguments": {"commit": head},
            "_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}}

    def work():
        while not ends.is_set():
            with contextlib.suppress(OSError, http.client.HTTPException):
                connection = http.client.HTTPConnection(service.address, timeout=90)
                connection.request("POST", "/mcp", json.dumps(call), {"Authorization": f"Bearer {service.token}", "Content-Type": "application/json",
                                   "Accept": "application/json, text/event-stream", "MCP-Protocol-Version": "2026-07-28", "Mcp-Method": "tools/call", "Mcp-Name": "git_show"})
                connection.getresponse().read()
                connection.close()
    threads = [threading.Thread(target=work, daemon=True) for _ in range(AGENTS)]
    [thread.start() for thread in threads]


def begin_strangers(service):
    host, port = service.address.split(":")
    head = f"POST /signin HTTP/1.1\r\nHost: {service.page}\r\nOrigin: http://{service.page}\r\nContent-Type: application/x-www-form-urlencoded\r\nContent-Length: 4000\r\n\r\nc"
    held = []
    for _ in range(STRANGERS):
        one = socket.create_connection((host, int(port)), 30)
        one.sendall(head.encode())
        held.append(one)
    return held


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
            began = begin_turns(service)
            print(f"{began} turns wait for a model", flush=True)
            approvals, denials = service.measure(args.rounds, "turns")
            print(f"with turns: approve {show(approvals)}; deny {show(denials)}", flush=True)
            held = begin_strangers(service)
            approvals, denials = service.measure(args.rounds, "strangers")
            print(f"with {len(held)} strangers too: approve {show(approvals)}; deny {show(denials)}", flush=True)
            begin_agents(service, ends)
            approvals, denials = service.measure(args.rounds, "agents")
            print(f"with {AGENTS} agents too: approve {show(approvals)}; deny {show(denials)}", flush=True)
            print(f"under load: {service.read_state()}", flush=True)
            ends.set()
            [one.close() for one in held]
        finally:
            ends.set()
            service.process.terminate()
            service.process.wait()


main()
