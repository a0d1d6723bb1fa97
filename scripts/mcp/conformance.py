"""Runs the conformance suite of the Model Context Protocol against this project's server and client code.

Owns: which versions and sides are judged. Never: has a list of expected failures: every scored scenario must pass.

    cargo build -p agentos-mcp-suite && .venv-mcp/bin/python scripts/mcp/conformance.py

Status 0: everything passed. 1: something failed. 77: skipped, with the reason.
"""

import argparse
import pathlib
import re
import subprocess
import sys
import tempfile

from packages import ROOT, Missing, find_node, install, skip

# The older suite is the one that servers and clients of earlier versions are published with; the newer one alone knows 2026-07-28.
RUNS = [
    ("conformance-old", "2025-06-18"),
    ("conformance-old", "2025-11-25"),
    ("conformance", "2025-03-26"),
    ("conformance", "2025-06-18"),
    ("conformance", "2025-11-25"),
    ("conformance", "2026-07-28"),
]
# A suite takes about five seconds; some of its servers wait for 25 before they give up.
LONGEST = 240
TOTAL = re.compile(r"Total: (\d+) passed, (\d+) failed(?:, (\d+) warnings)?")


def run_suite(package, arguments):
    """Run one suite. Return its numbers and the lines that are no success."""
    node, _ = find_node()
    with tempfile.TemporaryDirectory() as scratch:
        program = install(package) / "dist" / "index.js"
        command = [node, program, *arguments, "--suite", "all", "-o", scratch]
        try:
            done = subprocess.run(command, cwd=scratch, capture_output=True, text=True, timeout=LONGEST)
        except subprocess.TimeoutExpired:
            return (0, 1, 0), [f"it did not end within {LONGEST} s"]
    found = TOTAL.search(done.stdout)
    if not found:
        return (0, 1, 0), (done.stdout + done.stderr).splitlines()[-5:]
    passed, failed, warnings = (int(number or 0) for number in found.groups())
    # Its status also counts scenarios that ended with an error and without a check.
    failed = failed or int(done.returncode != 0)
    summary = done.stdout[done.stdout.rfind("SUMMARY") :]
    return (passed, failed, warnings), [line for line in summary.splitlines() if line.startswith("✗")]


def main():
    """Judge both sides in every version."""
    reader = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    reader.add_argument("--bin", type=pathlib.Path, default=ROOT / "target" / "debug", help="folder of the built programs")
    options = reader.parse_args()
    well = True
    try:
        for package, _ in RUNS:
            install(package)
    except Missing as missing:
        skip(missing)
    server = subprocess.Popen([options.bin / "mcp-suite-server"], stdout=subprocess.PIPE, text=True)
    try:
        address = server.stdout.readline().strip()
        client = options.bin / "mcp-suite-client"
        for package, version in RUNS:
            sides = {
                "server": ["server", "--url", address],
                "client": ["client", "--command", str(client)],
            }
            for side, arguments in sides.items():
                (passed, failed, warnings), lines = run_suite(package, [*arguments, "--spec-version", version])
                # A suite that ran nothing proves nothing.
                good = passed > 0 and failed == 0
                well &= good
                word = "ok" if good else "FAILED"
                print(f"{word:<7} {package:<16} {version} {side}: {passed} passed, {failed} failed, {warnings} warnings")
                for line in lines:
                    print(f"        {line}")
    finally:
        server.kill()
        server.wait()
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
