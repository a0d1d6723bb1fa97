"""Hold agentos against an independent peer: LiteLLM's proxy, on the OpenAI and on the Anthropic wire.

    python3.11 scripts/servers/litellm_peer.py [--agentos target/debug/agentos] [--litellm PROGRAM]

Makes `.venv-litellm` when there is none (744 MB), starts the proxy with `litellm_config.yaml` on a free loopback port,
and a real llama.cpp server behind it where `.venv-llama` or AGENTOS_LLAMA_PYTHON has one. Then it asks agentos for
health and runs, and says for each case what was expected and what came. Ends with 0 when all came as expected.
Standard library only; nothing leaves the machine but the installation.
"""
import argparse
import json
import os
import pathlib
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = pathlib.Path(__file__).resolve().parent
TOP = HERE.parent.parent
KEY = "sk-local-master-0123456789"
WRONG = "sk-local-wrong-0123456789"
LIB = "pub fn add(a: i32, b: i32) -> i32 {\n    a - b\n}\n"
FIXED = LIB.replace("a - b", "a + b")
# Wire, model, key, verb, what must come of it.
CASES = [
    ("openai", "peer-coder", KEY, "health", "connected"),
    ("openai", "no-such-model", KEY, "health", "model_missing"),
    ("openai", "peer-coder", WRONG, "health", "invalid_token"),
    ("openai", "peer-coder", None, "health", "not_configured"),
    ("openai", "peer-coder", KEY, "run", "landed"),
    ("openai", "peer-coder", WRONG, "run", "unauthorized"),
    ("openai", "peer-ratelimit", KEY, "run", "rate-limited"),
    ("openai", "peer-context", KEY, "run", "context-length"),
    ("openai", "peer-500", KEY, "run", "server-error"),
    ("openai", "peer-dead", KEY, "run", "server-error"),
    ("openai", "peer-budget", KEY, "run", "landed"),
    ("openai", "peer-budget", KEY, "run", "quota"),
    ("openai", "peer-real", KEY, "run", "landed"),
    ("anthropic", "peer-coder", KEY, "run", "landed"),
    ("anthropic", "peer-coder", WRONG, "run", "unauthorized"),
    ("anthropic", "peer-ratelimit", KEY, "run", "rate-limited"),
    ("anthropic", "peer-real", KEY, "run", "landed"),
]


def free_port():
    """Returns a port that is free now."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def litellm_program(given):
    """Returns the path of LiteLLM, and installs it if necessary."""
    if given:
        return given
    program = TOP / ".venv-litellm/bin/litellm"
    if not program.exists():
        print("making .venv-litellm: some minutes, 744 MB", file=sys.stderr)
        venv = TOP / ".venv-litellm"
        subprocess.run([sys.executable, "-m", "venv", venv], check=True)
        pip = [venv / "bin/pip", "install", "--quiet", "-r", HERE / "requirements-litellm.txt"]
        subprocess.run(pip, check=True)
    return program


def llama(folder):
    """Starts a llama.cpp server and returns it with its address, or twice None without the server's package."""
    python = os.environ.get("AGENTOS_LLAMA_PYTHON") or TOP / ".venv-llama/bin/python"
    if not pathlib.Path(python).exists():
        return None, None
    answer, model = folder / "answer.txt", folder / "tiny.gguf"
    answer.write_text(f"--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ -1,3 +1,3 @@\n pub fn add(a: i32, b: i32) -> i32 {{\n-    a - b\n+    a + b\n }}\n".replace("{{", "{").replace("}}", "}"))
    subprocess.run([python, HERE / "make_tiny_gguf.py", model, "--answer", answer], check=True, stdout=subprocess.DEVNULL)
    server = subprocess.Popen(
        [python, HERE / "llama_server.py", "--model", model, "--alias", "tiny-coder", "--port", "0",
         "--parent-pid", str(os.getpid())],
        stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    line = server.stdout.readline().split()
    return server, line[1] + "/v1" if line[:1] == ["READY"] else None


def proxy(program, folder, llama_url):
    """Starts LiteLLM and waits until it answers."""
    port = free_port()
    settings = {
        "LITELLM_MASTER_KEY": KEY, "LLAMA_BASE_URL": llama_url or "http://127.0.0.1:9/v1",
        "LITELLM_LOCAL_MODEL_COST_MAP": "True", "LITELLM_TELEMETRY": "False", "LITELLM_LOG": "ERROR",
        "NO_PROXY": "127.0.0.1", "no_proxy": "127.0.0.1",
    }
    log = open(folder / "litellm.log", "w")
    child = subprocess.Popen(
        [program, "--config", HERE / "litellm_config.yaml", "--host", "127.0.0.1", "--port", str(port)],
        env={**os.environ, **settings}, stdout=log, stderr=log)
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    for _ in range(600):
        try:
            opener.open(f"http://127.0.0.1:{port}/health/liveliness", timeout=2).read()
            return child, f"http://127.0.0.1:{port}"
        except OSError:
            if child.poll() is not None:
                break
            time.sleep(0.5)
    child.kill()
    sys.exit("the proxy did not start:\n" + (folder / "litellm.log").read_text()[-2000:])


def repository(folder):
    """Creates the repository to change."""
    git = ["git", "-C", folder, "-c", "user.name=Peer", "-c", "user.email=peer@example.com"]
    (folder / "src").mkdir(parents=True)
    (folder / "src/lib.rs").write_text(LIB)
    for args in (["init", "-q", "-b", "main"], ["add", "."], ["commit", "-q", "-m", "begin"]):
        subprocess.run(git + args, check=True)


def came(agentos, folder, base, case):
    """Makes the call of one case and returns its outcome in one word."""
    wire, model, key, verb, _ = case
    repository(folder)
    environment = {
        "PATH": os.environ["PATH"], "HOME": str(folder / "home"),
        "GIT_AUTHOR_NAME": "Peer", "GIT_AUTHOR_EMAIL": "peer@example.com",
        "GIT_COMMITTER_NAME": "Peer", "GIT_COMMITTER_EMAIL": "peer@example.com",
    }
    if key:
        environment[f"AGENTOS_{wire.upper()}_API_KEY"] = key
    url = base + "/v1" if wire == "openai" else base
    flags = ["-p", wire, "--base-url", url, "--model", model, "--json"]
    words = ["tool", "health"] if verb == "health" else ["run", "make add add", "--file", "src/lib.rs", "--timeout", "60"]
    output = subprocess.run([agentos, *words, *flags], cwd=folder, env=environment, capture_output=True, text=True)
    if KEY in output.stdout + output.stderr or WRONG in output.stdout + output.stderr:
        return "the key is shown"
    answer = json.loads(output.stdout)
    if verb == "health":
        return answer["tools"][0]["status"]
    if answer["outcome"] != "landed":
        return answer["code"]
    return "landed" if (folder / "src/lib.rs").read_text() == FIXED else "landed something else"


def main():
    """Makes all cases; exits with 1 if one has another outcome than expected."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--agentos", default=TOP / "target/debug/agentos", type=pathlib.Path)
    arguments.add_argument("--litellm")
    given = arguments.parse_args()
    agentos = given.agentos.resolve()
    well = True
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server, llama_url = llama(folder)
        child, base = proxy(litellm_program(given.litellm), folder, llama_url)
        try:
            for number, case in enumerate(CASES):
                wire, model, key, verb, wanted = case
                if model == "peer-real" and llama_url is None:
                    print(f"skipped   {wire:9} {model:14} no llama.cpp server here")
                    continue
                found = came(agentos, folder / str(number), base, case)
                well &= found == wanted
                word = "as wanted" if found == wanted else "WRONG    "
                key_word = {KEY: "key", WRONG: "wrong key", None: "no key"}[key]
                print(f"{word} {wire:9} {model:14} {key_word:9} {verb:6} {found}" + ("" if found == wanted else f", not {wanted}"))
        finally:
            child.terminate()
            child.wait()
            if server:
                server.terminate()
                server.wait()
    sys.exit(0 if well else 1)


if __name__ == "__main__":
    main()
