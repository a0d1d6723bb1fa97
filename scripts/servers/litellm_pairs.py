"""Send the conversations of all wires through LiteLLM's proxy to a llama.cpp server, through its OpenAI and its Anthropic door.

    python3.11 scripts/servers/litellm_pairs.py [--litellm PROGRAM]

Makes `.venv-litellm` if there is none (744 MB), starts a real llama.cpp server and the proxy in front of it, and runs the test
`wires::tests::real` of `agentos-host`, which sends them with the product's own wires. Prints each pair with `accepted` or `REJECTED`.
Ends with 0 if nothing was rejected. Standard library only; nothing leaves the machine but the installation.
"""
import argparse
import os
import pathlib
import subprocess
import sys
import tempfile

import litellm_peer as peer

TEST = "wires::tests::real::a_proxy_takes_the_conversations_of_all_wires_through_both_of_its_doors"


def main():
    """Starts both servers and runs the test."""
    arguments = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    arguments.add_argument("--litellm")
    given = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        server, llama_url = peer.llama(folder)
        if llama_url is None:
            sys.exit("there is no llama.cpp server here (see README.md)")
        child, base = peer.proxy(peer.litellm_program(given.litellm), folder, llama_url)
        settings = {"AGENTOS_PAIRS_URL": base, "AGENTOS_PAIRS_KEY": peer.KEY, "AGENTOS_PAIRS_MODEL": "peer-real"}
        try:
            command = ["cargo", "test", "-q", "-p", "agentos-host", "--lib", TEST, "--", "--exact", "--nocapture"]
            ended = subprocess.run(command, cwd=peer.TOP, env={**os.environ, **settings}, check=False)
        finally:
            for process in (child, server):
                process.terminate()
                process.wait()
    sys.exit(ended.returncode)


if __name__ == "__main__":
    main()
