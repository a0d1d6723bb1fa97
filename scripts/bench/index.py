"""Measures the index of the search for context: cold, warm, after a commit, and without it, next to `git grep`.

    python3 scripts/bench/index.py AGENTOS [--files 10000,100000] [--sources DIR] [--keep DIR] [--rounds N]

Each repository has so many files in one commit and 300 small commits after it. The files are those below DIR (default: the
sources of crates in `~/.cargo`), and copies of them in which a quarter of the longer identifiers have other names, so that the
number of different words grows with the files. The command is `agentos run TASK -p openai --context show --json`, which sends
nothing. Wall time depends on the load of the machine; processor time (user and system, `wait4`) hardly does. For repeated
measurements the smallest value is reported. "without" is the same command with a file in the place of the folder of the index.
The answers of all calls are compared: they must be equal.
"""

import argparse
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import time
import zlib

TASK = "The connection pool keeps a stream open after a timeout: close_idle must respect the deadline in the buffer reader"
ENDINGS = {".rs", ".md", ".toml", ".c", ".h", ".py", ".js", ".S", ".txt", ".json", ".yml"}
WORD = re.compile(rb"[A-Za-z_][A-Za-z0-9_]{5,}")
COMMITS = 300


def make_repository(place, count, sources):
    """Makes a repository of so many files; returns the bytes of their contents."""
    files = sorted(p for p in sources.rglob("*") if p.is_file() and p.suffix in ENDINGS and p.stat().st_size < 300_000)
    place.mkdir(parents=True)
    subprocess.run(["git", "init", "-q", "-b", "main", str(place)], check=True)
    with subprocess.Popen(["git", "-C", str(place), "fast-import", "--quiet", "--done"], stdin=subprocess.PIPE) as importer:
        size = 0

        def content(number):
            copy, at = divmod(number, len(files))
            text = files[at].read_bytes()
            if copy:
                text = WORD.sub(lambda m: m[0] + b"%x" % copy if zlib.crc32(m[0], copy) % 4 == 0 else m[0], text)
            folders = ([f"part{copy}"] if copy else []) + list(files[at].relative_to(sources).parts[1:])
            return "/".join(folders), text

        def commit(message, changes, when):
            nonlocal size
            importer.stdin.write(b"commit refs/heads/main\ncommitter B <b@e> %d +0000\n" % when)
            importer.stdin.write(b"data %d\n%s\n" % (len(message), message.encode()))
            for path, text in changes:
                size += len(text)
                importer.stdin.write(b"M 100644 inline %s\ndata %d\n%s\n" % (path.encode(), len(text), text))

        commit("Import everything", (content(number) for number in range(count)), 1_700_000_000)
        for number in range(COMMITS):
            changed = [content(zlib.crc32(b"%d.%d" % (number, one)) % count) for one in range(1 + number % 4)]
            changed = {path: text + b"\n// revision %d\n" % number for path, text in changed}
            commit(f"Change the {['parser', 'stream', 'buffer', 'timer'][number % 4]}", changed.items(), 1_700_000_100 + number)
        importer.stdin.write(b"done\n")
    return size


def measure(command, place, home):
    """Runs a command; returns wall and processor time in seconds, the largest resident memory in MiB, and the output."""
    names = {"GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    with tempfile.TemporaryFile() as out:
        start = time.monotonic()
        process = subprocess.Popen(command, cwd=place, stdout=out, stderr=subprocess.DEVNULL, env={"PATH": os.environ["PATH"], "HOME": str(home), **names})
        _, _, used = os.wait4(process.pid, 0)
        wall = time.monotonic() - start
        out.seek(0)
        return wall, used.ru_utime + used.ru_stime, used.ru_maxrss / 1024, out.read()


def best_of(rounds, *call):
    taken = [measure(*call) for _ in range(rounds)]
    return min(t[0] for t in taken), min(t[1] for t in taken), max(t[2] for t in taken), taken[0][3]


def show(what, taken, note=""):
    print(f"| {what} | {taken[0] * 1000:,.0f} ms | {taken[1] * 1000:,.0f} ms | {taken[2]:,.0f} MiB | {note} |", flush=True)


def report(place, agentos, rounds, home, size, count):
    search = place / ".git/agentos/search"
    command = [agentos, "run", TASK, "-p", "openai", "--context", "show", "--json"]
    print(f"\n{count:,} files, {size >> 20:,} MiB\n\n| | wall | processor | memory | |\n|---|--:|--:|--:|---|")
    shutil.rmtree(search, ignore_errors=True)
    cold = measure(command, place, home)
    index = sum(file.stat().st_size for file in search.iterdir())
    show("cold", cold, f"index of {index / (1 << 20):,.1f} MiB")
    warm = best_of(rounds, command, place, home)
    show("warm", warm, f"best of {rounds}")
    other = best_of(rounds, [agentos, "run", "parse the header of a request", "-p", "openai", "--context", "show", "--json"], place, home)
    show("warm, another task", other)
    environment = {**os.environ, "HOME": str(home), "GIT_AUTHOR_NAME": "a", "GIT_AUTHOR_EMAIL": "a@b", "GIT_COMMITTER_NAME": "a", "GIT_COMMITTER_EMAIL": "a@b"}
    git = ["git", "-C", str(place)]
    blob = subprocess.run([*git, "hash-object", "-w", "--stdin"], input=b"a new file\n", capture_output=True, check=True).stdout.decode().strip()
    head = subprocess.run([*git, "rev-parse", "HEAD"], capture_output=True, check=True).stdout.decode().strip()
    subprocess.run([*git, "read-tree", "HEAD"], check=True)
    subprocess.run([*git, "update-index", "--add", "--cacheinfo", f"100644,{blob},new.txt"], check=True)
    tree = subprocess.run([*git, "write-tree"], capture_output=True, check=True).stdout.decode().strip()
    new = subprocess.run([*git, "commit-tree", tree, "-p", head, "-m", "A new file"], capture_output=True, check=True, env=environment).stdout.decode().strip()
    subprocess.run([*git, "update-ref", "HEAD", new], check=True)
    show("first after a commit", measure(command, place, home))
    subprocess.run([*git, "update-ref", "HEAD", head], check=True)
    shutil.rmtree(search)
    search.write_text("")
    without = measure(command, place, home)
    show("without", without)
    search.unlink()
    show("`git grep -c -w timeout HEAD`", best_of(min(rounds, 3), [*git, "grep", "-c", "-w", "timeout", "HEAD"], place, home))
    same = cold[3] == warm[3] == without[3]
    print(f"\nanswers: {'equal' if same else 'NOT EQUAL'}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("agentos")
    parser.add_argument("--files", default="10000,100000")
    parser.add_argument("--sources", type=pathlib.Path, default=pathlib.Path.home() / ".cargo/registry/src")
    parser.add_argument("--keep", type=pathlib.Path, help="folder in which the repositories are kept, or found again")
    parser.add_argument("--rounds", type=int, default=7)
    args = parser.parse_args()
    agentos = shutil.which(args.agentos)
    with tempfile.TemporaryDirectory() as work:
        home = pathlib.Path(work) / "home"
        home.mkdir()
        for count in map(int, args.files.split(",")):
            place = (args.keep or pathlib.Path(work)) / f"files-{count}"
            size = 0 if place.exists() else make_repository(place, count, args.sources)
            if not size:
                sizes = subprocess.run(["git", "-C", str(place), "ls-tree", "-r", "-l", "HEAD"], capture_output=True, check=True).stdout
                size = sum(int(line.split()[3]) for line in sizes.splitlines() if line.split()[3] != b"-")
            report(place, os.path.abspath(agentos), args.rounds, home, size, count)


if __name__ == "__main__":
    main()
