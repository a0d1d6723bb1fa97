"""Verifies the evidence of a repository together with the tapes that were published in its refs, without AgentOS.

    python3 published.py --repo REPOSITORY [--keys ALLOWED_SIGNERS] [--require]

A published tape is a commit in `refs/agentos/evidence/ID` whose files are an export, with the tape in parts. Every name, mode
and size is checked before anything is read. Prints one line of JSON. Exit codes: 0 sound, 7 not.
"""

import argparse
import json
import os
import re
import subprocess
import sys
import tempfile
from pathlib import Path

import verify
from verify import Refused, git

PREFIX = "refs/agentos/evidence/"
FIXED = {"export.json": 64 << 10, "export.json.sig": 4 << 10, "head.json": 64 << 10, "head.json.sig": 4 << 10}
PART = re.compile(r"tape/[0-9]{6}")
BLOB = re.compile(r"blobs/[0-9a-f]{64}")
STATEMENTS = re.compile(r"attestations/[0-9A-Za-z._-]{1,64}\.intoto\.jsonl")
MOST_TAPES, MOST_FILES, MOST_BYTES, MOST_ALL, MOST_PARTS = 1000, 500_000, 2 << 30, 4 << 30, 100_000


def list_tree(repo, tree):
    """Mode, kind, id, size and name of each entry of one tree, without those below."""
    text = git(repo, "ls-tree", "-z", "-l", "--full-tree", tree)
    if text is None:
        raise Refused("no tree")
    rows = [row.split("\t", 1) for row in text.decode(errors="surrogateescape").split("\0") if row]
    return [(*about.split(), name) for about, name in rows]


def list_files(repo, ref):
    """Id and size of each file of a publication, by its name. Only regular files, in at most one level of folders."""
    found = {}
    for mode, kind, oid, size, name in list_tree(repo, ref + "^{commit}"):
        below = [(mode, kind, oid, size, name)]
        if mode == "040000":
            below = [(*rest, f"{name}/{last}") for *rest, last in list_tree(repo, oid)]
        for mode, kind, oid, size, name in below:
            if mode != "100644" or kind != "blob" or not size.isdigit() or len(found) >= MOST_FILES:
                raise Refused("it holds something else than the files of a publication")
            found[name] = (oid, int(size))
    return found


def limit(name):
    if PART.fullmatch(name) and 1 <= int(name[5:]) <= MOST_PARTS:
        return (4 << 20) + verify.MOST_LINE + 1
    if BLOB.fullmatch(name):
        return verify.MOST_BLOB
    return 64 << 20 if STATEMENTS.fullmatch(name) else FIXED.get(name, -1)


def unpack(repo, ref, folder, left):
    """Writes a publication into a new folder, as an export, and gives how many bytes are left for others."""
    files = list_files(repo, ref)
    parts = sorted(name for name in files if PART.fullmatch(name))
    total = sum(size for _, size in files.values())
    if total > left or any(size > limit(name) for name, (_, size) in files.items()):
        raise Refused("a file is no file of a publication, or too large")
    if total > MOST_BYTES or not parts or int(parts[-1][5:]) != len(parts):
        raise Refused("it is too large, or parts of the tape are missing")
    folder.mkdir()
    order = parts + [name for name in files if not PART.fullmatch(name)]
    reader = subprocess.Popen(["git", "--no-replace-objects", "-C", repo, "cat-file", "--batch"],
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE)
    with reader:
        for name in order:
            oid, size = files[name]
            reader.stdin.write(oid.encode() + b"\n")
            reader.stdin.flush()
            if reader.stdout.readline().split()[1:] != [b"blob", str(size).encode()]:
                raise Refused("a file cannot be read")
            data = reader.stdout.read(size)
            reader.stdout.read(1)
            path = folder / ("tape.jsonl" if PART.fullmatch(name) else name)
            path.parent.mkdir(exist_ok=True)
            with open(path, "ab" if PART.fullmatch(name) else "xb") as file:
                file.write(data)
        reader.stdin.close()
    return left - total


def intents(folder):
    """The hashes of the intents of a tape, and the name that its ref must have."""
    hashes, first = set(), None
    for at, (line, end) in enumerate(verify.lines(folder), 1):
        record = verify.parse(line, True) if end == "whole" else None
        if at == 1 and record:
            first = record["hash"][7:23]
        if record and record["kind"] == "intent":
            hashes.add(record["hash"])
    return hashes, first


def inspect(repo, trusted, require, scratch):
    """The own evidence first, then each published tape. A commit is checked against the tape that has its evidence."""
    common = git(repo, "rev-parse", "--path-format=absolute", "--git-common-dir", check=True).decode().strip()
    own = Path(common) / "agentos"
    own_id = intents(own)[1] if own.is_dir() else None
    if own_id is None:
        own = scratch / "none"
        (own / "agentos").mkdir(parents=True)
        own = own / "agentos"
    text = git(repo, "for-each-ref", "--format=%(refname)", f"--count={MOST_TAPES}", PREFIX, check=True)
    tapes, left = [], MOST_ALL
    for number, ref in enumerate(sorted(text.decode().split())):
        if ref == PREFIX + (own_id or "/"):
            continue
        try:
            left = unpack(repo, ref, scratch / str(number), left)
            hashes, first = intents(scratch / str(number))
            if ref != PREFIX + str(first):
                raise Refused("its first record is not the one that the ref is named after")
            tapes.append((ref, scratch / str(number), hashes))
        except (Refused, OSError, ValueError, IndexError) as error:
            tapes.append((ref, None, str(error)))
    commits = verify.history(repo, "--exclude=refs/[!h]*", "--all").values()
    named, claims = {evidence for _, evidence, _ in commits if evidence}, {}
    for ref, folder, hashes in tapes:
        claims[ref] = named & hashes if folder else set()
        named -= claims[ref]
    whole = [folder for _, folder, _ in tapes if folder]
    report = {"findings": [], "records": 0, "moved": {}, "more_findings": 0}
    add(report, verify.Verification(own, repo, trusted, require, False, named, whole).run())
    for ref, folder, _ in tapes:
        try:
            if folder is None:
                raise Refused
            verify.check_folder(folder)
            others = [other for other in whole if other != folder] + [own]
            add(report, verify.Verification(folder, repo, trusted, require, True, claims[ref], others).run())
        except (Refused, verify.Odd, OSError, ValueError, RecursionError):
            report["findings"].append({"tampering": "publication-invalid", "line": None, "ref": ref})
    return report


def add(report, found):
    report["findings"] += found.findings
    report["records"] += found.count
    report["more_findings"] += found.more
    report["moved"].update(found.moved)


def main(arguments=None):
    parser = argparse.ArgumentParser()
    for name, more in {"--repo": {"required": True}, "--keys": {"type": Path}, "--require": {"action": "store_true"}}.items():
        parser.add_argument(name, **more)
    args = parser.parse_args(arguments)
    try:
        trusted = verify.trusted_keys(args.keys) if args.keys else set()
        with tempfile.TemporaryDirectory() as scratch:
            report = inspect(args.repo, trusted, args.require, Path(os.path.realpath(scratch)))
    except (Refused, verify.Odd, OSError, ValueError, subprocess.CalledProcessError) as error:
        print(json.dumps({"ok": False, "refused": str(error) or "no regular file"}))
        return 7
    print(json.dumps({"ok": not report["findings"], **report}))
    return 7 if report["findings"] else 0


if __name__ == "__main__":
    sys.exit(main())
