#!/usr/bin/env python3
"""Measure what a cold build of `agentos` costs, crate by crate, in processor time.

    scripts/bench/build.py                 # the development build: what `cargo run -- demo` waits for
    scripts/bench/build.py --release       # what `cargo build --release` waits for
    scripts/bench/build.py --top 40

The build runs in a temporary target folder, without the network. Each compiler call is measured
alone by the kernel (`wait4`), so that other work on the machine changes the wall time and hardly the numbers of the table.
A crate's build script (`crate, its script`) is counted with what it starts, such as the C compiler of libgit2.
"""

import argparse
import collections
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
LOG = "AGENTOS_BUILD_LOG"


def crate_name(arguments):
    """Return the crate that a compiler call builds; `None` if it only asks the compiler for facts."""
    if "--crate-name" not in arguments:
        return None
    name = arguments[arguments.index("--crate-name") + 1]
    if name == "___":
        return None
    if name == "build_script_build" or name == "build_script_main":
        return os.environ.get("CARGO_PKG_NAME", name).replace("-", "_") + ", build script"
    return name


def wrap_compiler(arguments):
    """Run the compiler for cargo and add its cost to the log."""
    name = crate_name(arguments)
    # Cargo hands its job server to the compiler by descriptors, which must stay open.
    process = subprocess.Popen(arguments, close_fds=False)
    _, status, usage = os.wait4(process.pid, 0)
    if name:
        line = json.dumps({
            "crate": name,
            "version": os.environ.get("CARGO_PKG_VERSION", ""),
            "seconds": usage.ru_utime + usage.ru_stime,
            "mib": usage.ru_maxrss // 1024,
        })
        with open(os.environ[LOG], "a") as log:
            log.write(line + "\n")
    return os.waitstatus_to_exitcode(status)


def build(release, log, target):
    """Build `agentos` from nothing; return wall time and processor time of everything cargo started."""
    command = ["cargo", "build", "--quiet", "--locked", "-p", "agentos"] + (["--release"] if release else [])
    environment = dict(os.environ, RUSTC_WRAPPER=os.path.abspath(__file__), CARGO_TARGET_DIR=target)
    environment[LOG] = log
    environment.pop("RUSTFLAGS", None)
    begin = time.monotonic()
    process = subprocess.Popen(command, cwd=ROOT, env=environment)
    _, status, usage = os.wait4(process.pid, 0)
    if status:
        sys.exit(f"the build failed with status {os.waitstatus_to_exitcode(status)}")
    return time.monotonic() - begin, usage.ru_utime + usage.ru_stime


def show(rows, wall, total, top):
    """Print the table, most expensive first."""
    cost = collections.defaultdict(float)
    calls = collections.Counter()
    most = 0
    for row in rows:
        key = f"{row['crate']} {row['version']}".replace(", build script", "")
        key += ", build script" if row["crate"].endswith("script") else ""
        cost[key] += row["seconds"]
        calls[key] += 1
        most = max(most, row["mib"])
    compiled = sum(cost.values())
    own = sum(v for k, v in cost.items() if k.startswith("agentos"))
    print(f"{len(rows)} compilations, {total:.0f} s of processor time, {wall:.0f} s of wall time on {os.cpu_count()} cores")
    print(f"compiler {compiled:.0f} s, of it own crates {own:.0f} s; build scripts, C and cargo itself {total - compiled:.0f} s")
    print(f"most memory of one compilation: {most} MiB\n")
    print(f"{'seconds':>8} {'calls':>5}  crate")
    for key, seconds in sorted(cost.items(), key=lambda item: -item[1])[:top]:
        print(f"{seconds:8.1f} {calls[key]:5}  {key}")


def main():
    """Read the arguments, build once and show the costs."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--release", action="store_true", help="measure the release build")
    parser.add_argument("--top", type=int, default=25, help="how many crates to print (default 25)")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="agentos-build-") as folder:
        log = os.path.join(folder, "calls.jsonl")
        wall, total = build(options.release, log, os.path.join(folder, "target"))
        with open(log) as lines:
            rows = [json.loads(line) for line in lines]
    show(rows, wall, total, options.top)


if __name__ == "__main__":
    if os.environ.get(LOG) and len(sys.argv) > 1 and "rustc" in os.path.basename(sys.argv[1]):
        sys.exit(wrap_compiler(sys.argv[1:]))
    main()
