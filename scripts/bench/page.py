#!/usr/bin/env python3
"""Measures the page of a change to many files: processor time of the service, time on the wall, and bytes.

usage: page.py BIN [--files N] [--rounds N]

BIN is the folder with `agentos` and `agentos-server`. A person signs in, and the page is requested again and again.
"""
import argparse, gzip, http.client, json, os, pathlib, re, runpy, shutil, socket, statistics, subprocess, tempfile, time, urllib.parse

TOP = pathlib.Path(__file__).resolve().parents[2]
bench = runpy.run_path(str(TOP / "scripts/bench/service.py"), run_name="service")


class LocalConnection(http.client.HTTPConnection):
    """A connection to the service's Unix socket."""

    def __init__(self, path):
        super().__init__("localhost")
        self.path = str(path)

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


def main():
    parser = argparse.ArgumentParser(usage=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("binaries", type=pathlib.Path)
    parser.add_argument("--files", type=int, default=200)
    parser.add_argument("--rounds", type=int, default=20)
    args = parser.parse_args()
    binaries, folder = args.binaries.resolve(), pathlib.Path(tempfile.mkdtemp())
    repository, home, port = folder / "repository", folder / "home", bench["free_port"]()
    (repository / "src").mkdir(parents=True)
    git = lambda *words: subprocess.run(["git", "-C", str(repository), "-c", "user.name=a", "-c", "user.email=a@b", *words], check=True, capture_output=True, text=True).stdout
    git("init", "-q")
    git("config", "user.name", "a")
    git("config", "user.email", "a@b.example")
    text = "".join(f"fn line_{line}() -> usize {{ {line} }}\n" for line in range(40))
    for at in range(args.files):
        (repository / f"src/file_{at}.rs").write_text(text)
    git("add", "-A")
    git("commit", "-q", "-m", "begin")
    for at in range(args.files):
        (repository / f"src/file_{at}.rs").write_text(text.replace("line_20()", "line_twenty()"))
    diff = git("diff")
    git("checkout", "-q", ".")
    env = {"PATH": os.environ["PATH"], "HOME": str(home)}
    server = subprocess.Popen([binaries / "agentos-server", "--repo", repository, "--listen", f"127.0.0.1:{port}"], env=env, stdout=subprocess.PIPE, text=True)
    try:
        for line in server.stdout:
            if line.startswith("Ctrl-C"):
                break
        link = subprocess.run([binaries / "agentos", "open", "--print"], cwd=repository, env=env, check=True, capture_output=True, text=True).stdout
        place, code = link.strip().removeprefix("http://").split("/signin#")
        connection = http.client.HTTPConnection("127.0.0.1", port)
        local = LocalConnection(home / ".local/state/agentos/server/socket")

        def send(method, path, headers, body=None):
            asked = local if path.startswith("/api") else connection
            asked.request(method, path, body, {"Host": "localhost" if asked is local else place} | headers)
            answer = asked.getresponse()
            return answer, answer.read()

        proposal = json.dumps({"answer": diff, "message": "Rename a function everywhere"})
        answer, body = send("POST", "/api/proposals", {"Content-Type": "application/json"}, proposal)
        run = json.loads(body)["run"]
        own = {"Origin": f"http://{place}", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/x-www-form-urlencoded"}
        answer, _ = send("POST", "/signin", own, urllib.parse.urlencode({"code": code}))
        cookie = {"Cookie": answer.getheader("set-cookie").split(";")[0], "Accept-Encoding": "identity"}
        for path in ("/", f"/requests/{run}"):
            walls = []
            send("GET", path, cookie)
            before = bench["read_cpu"](server.pid)
            for _ in range(args.rounds):
                began = time.perf_counter()
                answer, body = send("GET", path, cookie)
                walls.append(1000 * (time.perf_counter() - began))
                assert answer.status == 200, (answer.status, run, body[:300])
            cpu = 1000 * (bench["read_cpu"](server.pid) - before) / args.rounds
            shown = len(re.findall(rb"file_\d+\.rs", body))
            print(f"{path.split('/')[1] or 'inbox':9} {cpu:7.1f} ms processor time, {statistics.median(walls):7.1f} ms on the wall (median of {args.rounds}), "
                  f"{len(body) / 1024:.0f} KB, {len(gzip.compress(body)) / 1024:.1f} KB gz, {shown} names of files")
    finally:
        server.kill()
        shutil.rmtree(folder, ignore_errors=True)


main()
