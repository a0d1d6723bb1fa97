"""Verifies the signed statements of an export with securesystemslib, the implementation that TUF and in-toto use.

    python3 attestations.py EXPORT ALLOWED_SIGNERS

Reads `attestations/*.intoto.jsonl`: DSSE envelopes with in-toto Statements, one a line. Prints one line of JSON. Exit
codes: 0 every envelope is signed by one of the keys, 7 one is not or there is none.
"""

import base64
import hashlib
import json
import sys
from collections import Counter
from pathlib import Path

from securesystemslib.dsse import Envelope
from securesystemslib.exceptions import VerificationError
from securesystemslib.signer import SSlibKey

from verify import MOST_KEYS, Odd, read_file

MOST = 64 << 20
KIND = "ssh-ed25519"


def keys(path):
    """Yields the keys of a file in the format of `ssh-keygen`'s allowed signers. An evidence key is named by its
    fingerprint."""
    for words in map(str.split, read_file(path, MOST_KEYS, follow=True).decode().splitlines()):
        if KIND in words:
            wire = base64.b64decode(words[words.index(KIND) + 1], validate=True)
            name = "SHA256:" + base64.b64encode(hashlib.sha256(wire).digest()).decode().rstrip("=")
            yield SSlibKey(name, "ed25519", "ed25519", {"public": wire[-32:].hex()})


def flaw(line, trusted):
    """Returns the fault of an envelope and None, or None and the type of its predicate."""
    try:
        envelope = Envelope.from_dict(json.loads(line))
        envelope.verify(trusted, threshold=1)
        statement = json.loads(envelope.payload)
        if envelope.payload_type != "application/vnd.in-toto+json":
            return "another type of payload", None
        if statement["_type"] != "https://in-toto.io/Statement/v1" or not statement["subject"]:
            return "no in-toto statement", None
        return None, statement["predicateType"]
    except VerificationError as error:
        return str(error), None
    except (ValueError, KeyError, TypeError) as error:
        return f"not an envelope: {error!r}", None


def main(export, signers):
    """Verifies all envelopes of an export, prints the result and returns the exit code."""
    trusted, found, flaws = list(keys(Path(signers))), Counter(), []
    for path in sorted((Path(export) / "attestations").glob("*.intoto.jsonl")):
        try:
            lines = read_file(path, MOST).decode().splitlines()
        except (Odd, ValueError):
            flaws.append({"file": path.name, "line": None, "what": "no regular file with text"})
            continue
        for number, line in enumerate(lines, 1):
            wrong, predicate = flaw(line, trusted)
            if wrong:
                flaws.append({"file": path.name, "line": number, "what": wrong})
            else:
                found[predicate] += 1
    sound = not flaws and bool(found)
    print(json.dumps({"ok": sound, "envelopes": sum(found.values()), "predicates": found, "flaws": flaws}))
    return 0 if sound else 7


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main(*sys.argv[1:]))
