"""Verifies the evidence of AgentOS without AgentOS: the second opinion. It shares no code with the product.

    python3 verify.py DIR [--repo REPOSITORY] [--keys ALLOWED_SIGNERS] [--require]

DIR is an export, or the evidence of a repository: the folder `agentos` in a folder `.git`, or in the git directory of
REPOSITORY. Needs the package `cryptography`; `--repo` needs git. Prints one line of JSON. Exit codes: 0 sound, 7 not.

Files come from strangers: each is opened without following a link and without waiting for a FIFO, must be a regular
file, and is read a part at a time.
"""

import argparse
import base64
import errno
import hashlib
import itertools
import json
import os
import re
import stat
import subprocess
import sys
import unicodedata
from pathlib import Path

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey

MEMBERS = {"kind", "prev", "run", "seq", "ts", "v"}
QUOTING = {"task", "attempt", "tool_result", "boundary", "landing", "check", "decision", "consent", "refusal", "undo",
           "turn", "session"}
# Kinds whose body is checked by what it says, also if it was too long for its line.
OPENED = {"tool_result", "turn", "session", "consent", "removed"}
KINDS = QUOTING | {"answer", "intent", "receipt", "recovered", "checkpoint", "removed"}
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
SALT, HEX = re.compile(r"[0-9a-f]{32}"), re.compile(r"[0-9a-f]{40}|[0-9a-f]{64}")
PLAIN = re.compile(r'[^\x00-\x1f"\\]*')
RUN, TIME = re.compile(r"[0-9A-Za-z._-]{1,64}"), re.compile(r"[0-9A-Za-z:.+-]{1,64}")
GENESIS = "sha256:" + "0" * 64
NAMESPACE = b"agentos-evidence"
LISTED = ["README.txt", "allowed_signers", "head.json", "index.html", "tape.jsonl"]
MOST_LINE, MOST_HEAD, MOST_BLOB, MOST_KEYS = 1 << 20, 64 << 10, 256 << 20, 1 << 20
# Longest body in a blob that is parsed.
MOST_SPILLED = 16 << 20
# Keys of devices that are remembered. A person has a few.
MOST_DEVICES = 10_000
MOST_SIGNATURE, MOST_KEPT, MOST_SEARCHES, MOST_NESTING, BUDGET = 4 << 10, 1000, 16, 64, 64 << 20
MOST_COMMITS, MOST_CHANGES, MOST_CONTENT, MOST_STEPS, MOST_COMPARED = 100_000, 20_000, 16 << 20, 8_000_000, 1000


class Refused(Exception):
    """Raised if the folder cannot be verified at all."""


class Odd(Exception):
    """Raised for anything other than a regular file."""


class TooLarge(Odd):
    """Raised for a regular file that is larger than its limit."""


def open_file(path, *inside, follow=False):
    """Opens a regular file for reading. No part of its path below `path` may be a link. Raises FileNotFoundError if
    there is none."""
    flags, below = os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC, os.O_DIRECTORY | os.O_RDONLY
    at = None
    try:
        for folder in inside[:-1]:
            deeper = os.open(folder if at is not None else path / folder, below | os.O_NOFOLLOW, dir_fd=at)
            if at is not None:
                os.close(at)
            at = deeper
        name = (inside[-1] if at is not None else path / inside[-1]) if inside else path
        found = os.open(name, flags | (0 if follow else os.O_NOFOLLOW), dir_fd=at)
    except OSError as error:
        if error.errno in (errno.ELOOP, errno.EMLINK, errno.ENXIO, errno.ENOTDIR, errno.EISDIR):
            raise Odd from None
        raise
    finally:
        if at is not None:
            os.close(at)
    if not stat.S_ISREG(os.fstat(found).st_mode):
        os.close(found)
        raise Odd
    return os.fdopen(found, "rb")


def read_file(path, most, follow=False):
    """Reads a file of at most `most` bytes."""
    with open_file(path, follow=follow) as file:
        data = file.read(most + 1)
    if len(data) > most:
        raise TooLarge
    return data


def digest(data):
    """Returns the SHA-256 of some bytes, as a record writes it."""
    return "sha256:" + hashlib.sha256(data).hexdigest()


def read_blob(folder, name):
    """Returns a blob of the evidence by its digest, from its place or from the place that earlier versions used."""
    with open_blob(folder, name) as file:
        data = file.read(MOST_BLOB + 1)
    if digest(data) != "sha256:" + name:
        raise Odd
    return data


def open_blob(folder, name):
    try:
        return open_file(folder, "blobs", name)
    except FileNotFoundError:
        return open_file(folder, "blobs", name[:2], name[2:])


def digest_file(file, most):
    """Returns the digest of an open file, which is read in parts."""
    with file:
        if os.fstat(file.fileno()).st_size > most:
            raise TooLarge
        hasher = hashlib.sha256()
        while part := file.read(1 << 16):
            hasher.update(part)
            most -= len(part)
            if most < 0:
                raise TooLarge
        return "sha256:" + hasher.hexdigest()


def decode64(text):
    """Decodes base64, and refuses every encoding but the canonical one."""
    data = base64.b64decode(text, validate=True)
    if base64.b64encode(data).decode() != text:
        raise ValueError("not canonical")
    return data


def refuse_constant(_):
    """Refuses `NaN` and `Infinity`, which Python's parser would accept and JSON does not have."""
    raise ValueError("no number")


def once(pairs):
    """Builds an object, and refuses one that contains a member twice."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise ValueError("a member is there twice")
    return found


def load(text, **more):
    """Parses JSON."""
    return json.loads(text, parse_constant=refuse_constant, **more)


def number(value):
    """Formats a number as ECMAScript does, as RFC 8785 requires."""
    value = float(value)
    if value.is_integer() and abs(value) < 1e21:
        return str(int(value))
    sign, text = ("-", repr(-value)) if value < 0 else ("", repr(value))
    mantissa, _, exponent = text.partition("e")
    whole, _, part = mantissa.partition(".")
    digits = (whole + part).lstrip("0")
    point = len(whole) + int(exponent or 0) if whole != "0" else int(exponent or 0) - (len(part) - len(part.lstrip("0")))
    digits = digits.rstrip("0")
    if -6 < point <= 0:
        return f"{sign}0.{'0' * -point}{digits}"
    if 0 < point < len(digits):
        return f"{sign}{digits[:point]}.{digits[point:]}"
    return f"{sign}{digits[0]}{'.' if digits[1:] else ''}{digits[1:]}e{'+' if point > 0 else ''}{point - 1}"


def canonical(value):
    """Returns the canonical text of a value (RFC 8785): members are sorted by UTF-16 code units."""
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return number(value) if type(value) in (int, float) else json.dumps(value, ensure_ascii=False)


def nesting(value):
    """Returns how deep a value is nested."""
    if not isinstance(value, (dict, list)):
        return 0
    return 1 + max(map(nesting, value.values() if isinstance(value, dict) else value), default=0)


def without(record, *names):
    """Returns a record without the named members."""
    return {name: value for name, value in record.items() if name not in names}


def is_genuine(record, redacted):
    """Returns true if the hash of a record is right and it has exactly the members of its form."""
    names, form, hashed = set(record), record["v"], "hash"
    if form == 2 and names == MEMBERS | {"hash", "body", "body_salt", "body_sha256"}:
        body = canonical({"body": record["body"], "body_salt": record["body_salt"]})
        genuine = SALT.fullmatch(record["body_salt"]) and digest(body.encode()) == record["body_sha256"]
        record = without(record, "body", "body_salt")
    elif form == 2 and redacted and names == MEMBERS | {"hash", "body_sha256"}:
        genuine = record["kind"] in QUOTING and DIGEST.fullmatch(record["body_sha256"])
    elif form == 1 and redacted and names == MEMBERS | {"hash", "redacted"}:
        # Nothing can be recomputed: the hash covers the body that was left out.
        return record["redacted"] is True and record["kind"] in QUOTING
    else:
        genuine = form == 1 and names == MEMBERS | {"hash", "body"}
    if form == 2 and not (RUN.fullmatch(record["run"]) and TIME.fullmatch(record["ts"])):
        return False
    return bool(genuine) and digest(canonical(without(record, hashed)).encode()) == record["hash"]


def parse(line, redacted):
    """Returns the record of a line. None if the line is not exactly the text that would be written for that record."""
    if not line.startswith(b"{"):
        return None
    try:
        record = load(line.decode())
        if type(record["v"]) is not int or type(record["seq"]) is not int or not 0 <= record["seq"] < 1 << 53:
            return None
        if record["kind"] not in KINDS or not DIGEST.fullmatch(record["hash"]):
            return None
        if not all(PLAIN.fullmatch(record[name]) for name in ("prev", "run", "ts")):
            return None
        if nesting(record.get("body")) > MOST_NESTING or canonical(record).encode() != line:
            return None
        return record if is_genuine(record, redacted) else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None


def tape_files(folder):
    """Returns the files of a tape: the closed parts in order, then the current one."""
    names = sorted(name for name in os.listdir(folder) if re.fullmatch(r"tape\.[0-9]{6}\.jsonl", name, re.ASCII))
    return [folder / name for name in names] + [folder / "tape.jsonl"]


def lines(folder):
    """Yields each line of a tape and its end: `whole`, `torn` (the file ends without a line break), or `long`, after
    which nothing follows."""
    for path in tape_files(folder):
        try:
            file = open_file(path)
        except FileNotFoundError:
            continue
        with file:
            while line := file.readline(MOST_LINE + 1):
                if line.endswith(b"\n"):
                    yield line[:-1], "whole"
                elif len(line) > MOST_LINE:
                    yield line, "long"
                    return
                else:
                    yield line, "torn"


def references(body):
    """Yields the digests of all blobs that a body refers to."""
    for name, value in body.items() if isinstance(body, dict) else enumerate(body):
        if isinstance(value, (dict, list)):
            yield from references(value)
        elif isinstance(value, str) and str(name).endswith("_sha256") and DIGEST.fullmatch(value):
            yield value


def public_key(line):
    """Returns the 51 bytes on the wire of a key in OpenSSH's text format."""
    words = re.split("[ \\t\\n\\f\\r]+", line)
    wire = decode64(words[words.index("ssh-ed25519") + 1])
    if wire[:-32] != b"\0\0\0\x0bssh-ed25519\0\0\0\x20":
        raise ValueError("no Ed25519 key")
    return wire


def holds(wire, signature, message):
    """Returns true if the signature of a message is valid for this key."""
    try:
        Ed25519PublicKey.from_public_bytes(wire[-32:]).verify(signature, message)
        return True
    except (InvalidSignature, ValueError):
        return False


def trusted_keys(path):
    """Returns the Ed25519 keys of a file. Lines with other kinds of keys are skipped."""
    keys = set()
    for line in read_file(path, MOST_KEYS, follow=True).decode().splitlines():
        try:
            if not line.strip().startswith("#"):
                keys.add(public_key(line))
        except (ValueError, IndexError):
            pass
    return keys


def ssh_signer(armoured, message):
    """Returns the key that made an SSH signature of a message, or None. All other fields of the signature have fixed
    values."""
    field = lambda data: len(data).to_bytes(4, "big") + data
    try:
        text = armoured.decode("ascii")
        found = base64.b64decode("".join(text.split("\n")[1:-2]), validate=True)
        wire, signature = found[14:65], found[-64:]
        blob = (b"SSHSIG\0\0\0\1" + field(wire) + field(NAMESPACE) + field(b"") + field(b"sha512")
                + field(field(b"ssh-ed25519") + field(signature)))
        whole = base64.b64encode(blob).decode()
        rows = [whole[at:at + 70] for at in range(0, len(whole), 70)]
        genuine = "\n".join(["-----BEGIN SSH SIGNATURE-----", *rows, "-----END SSH SIGNATURE-----", ""])
        covered = b"SSHSIG" + field(NAMESPACE) + field(b"") + field(b"sha512") + field(hashlib.sha512(message).digest())
        plain = wire[:-32] == b"\0\0\0\x0bssh-ed25519\0\0\0\x20" and genuine == text
        return wire if plain and holds(wire, signature, covered) else None
    except ValueError:
        return None


def is_envelope(one):
    """Returns true if a value has the shape of a DSSE envelope."""
    texts = lambda value, names: isinstance(value, dict) and set(value) == names and all(
        isinstance(text, str) for text in value.values())
    signatures = one.get("signatures") if isinstance(one, dict) else None
    return (isinstance(signatures, list) and all(texts(each, {"keyid", "sig"}) for each in signatures)
            and texts(without(one, "signatures"), {"payload", "payloadType"}))


def statement(envelope, wire):
    """Returns the statement in an envelope that this key signed."""
    keyid = "SHA256:" + base64.b64encode(hashlib.sha256(wire).digest()).decode().rstrip("=")
    payload = decode64(envelope["payload"])
    (kind,) = {envelope["payloadType"]} & {"application/vnd.in-toto+json"}
    covered = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    for one in envelope["signatures"]:
        try:
            if one["keyid"] == keyid and holds(wire, decode64(one["sig"]), covered):
                return load(payload.decode())
        except ValueError:
            pass
    raise ValueError("not signed by this key")


def statements(body, wire):
    """Returns the statements that the key of a checkpoint signed: a first one that names the other envelopes, or each
    separately."""
    first, *others = body["envelopes"]
    first = statement(first, wire)
    if "envelopes" not in first["predicate"]:
        return [first] + [statement(other, wire) for other in others]
    if first["predicate"]["envelopes"] != [digest(canonical(other).encode()) for other in others]:
        raise ValueError("other envelopes")
    return [first]


def signer_of(record, commit):
    """Returns the key that signed a checkpoint for its place on the tape. None if the checkpoint says that it is
    unsigned. Raises ValueError otherwise."""
    body = record["body"]
    if not set(body) <= {"key", "envelopes", "unsigned"} or not all(map(is_envelope, body["envelopes"])):
        raise ValueError("no checkpoint")
    if not all(isinstance(body.get(name), (str, type(None))) for name in ("key", "unsigned")):
        raise ValueError("no checkpoint")
    if body.get("key") is None and body["envelopes"] == []:
        return None
    wire = public_key(body["key"])
    first, *others = statements(body, wire)
    subject, predicate = first["subject"][0]["digest"], first["predicate"]
    about = subject["gitCommit"] == commit if commit else subject["sha256"] == record["prev"][7:]
    tape, at = predicate["tape"], record["seq"] - 1
    here = (first["predicateType"], predicate["run"], tape["head"], tape["seq"]) == (
        "urn:agentos:checkpoint:1", record["run"], record["prev"], at) and type(tape["seq"]) is int
    if not here or not about or any(other["subject"] != first["subject"] for other in others):
        raise ValueError("signed for another place")
    return wire


def fact(body, name):
    """Returns a text of a body, of its plan or of its receipt. None if none of them has it."""
    if not isinstance(body, dict):
        return None
    parts = [part for part in (body, body.get("plan"), body.get("receipt")) if isinstance(part, dict)]
    return next((part[name] for part in parts if isinstance(part.get(name), str)), None)


def git(repo, *arguments, check=False):
    """Returns the output of git. `--no-replace-objects` shows the objects as they are, not those that `refs/replace` puts in their place."""
    run = subprocess.run(["git", "--no-replace-objects", "-C", repo, *arguments], capture_output=True, check=check)
    return run.stdout if run.returncode == 0 else None


def history(repo, *which):
    """Returns commits by id: tree, evidence, and marks by which a rewritten commit is recognised."""
    form = "--format=%H%x1f%T%x1f%P%x1f%ae %at%x1f%s%x1f%(trailers:key=AgentOS-Evidence,valueonly,separator=%x20)"
    log = git(repo, "log", form, *which, check="--all" in which) or b""
    rows = [line.split("\x1f") for line in log.decode(errors="replace").split("\n") if line]
    return {id: (tree, (named.split() or [None])[-1], {(tree, on), (author, on), (author, 0, subject)})
            for id, tree, on, author, subject, named in rows}


def properties(repo, commit):
    """Returns parents, author and message of a commit, or None if it is not in the repository."""
    text = git(repo, "cat-file", "commit", commit)
    if text is None:
        return None
    head, _, message = text.partition(b"\n\n")
    lines = head.split(b"\n")
    return ([line for line in lines if line.startswith(b"parent ")],
            [line for line in lines if line.startswith(b"author ")], message)


def raw_changes(text):
    """Returns the files of `--raw -z`: path, then mode and id before and after, None where there is no file."""
    fields, found = text.decode(errors="surrogateescape").split("\0"), {}
    for about, path in zip(fields[::2], fields[1::2]):
        old_mode, new_mode, old, new, _ = about.lstrip("\n:").split(" ")
        version = lambda mode, oid: (mode, oid) if mode != "000000" else None
        found[path] = (version(old_mode, old), version(new_mode, new))
    return found


def changes_of(repo, commit):
    """Returns the changes of a commit against its first parent, or None if they are unknown or too many."""
    raw = ["--raw", "-z", "-r", "--no-abbrev", "--no-renames"]
    parents = properties(repo, commit)
    if parents is None:
        return None
    old = [f"{commit}^1"] if parents[0] else []
    if old and git(repo, "cat-file", "-e", old[0] + "^{tree}") is None:
        return None
    text = git(repo, "diff-tree", *raw, "--root", "--no-commit-id", *old, commit)
    found = raw_changes(text) if text is not None else None
    return found if found is not None and len(found) <= MOST_CHANGES else None


def recorded_change(body):
    """Returns the files of an intent or a receipt, its diff and its base, or None if it names none in the known form."""
    parts = [part for part in (body, body.get("plan"), body.get("receipt")) if isinstance(part, dict)]
    files = next((part["files"] for part in parts if isinstance(part.get("files"), list)), [])
    modes = {"regular": "100644", "executable": "100755", "symlink": "120000"}
    version = lambda one: (modes[one["mode"]], one["oid"]) if one is not None else None
    try:
        found = {file["path"]: (version(file.get("old")), version(file.get("new"))) for file in files}
    except (KeyError, TypeError, AttributeError):
        return None
    if not found:
        return None
    return {"files": found, "diff": fact(body, "diff_sha256"), "base": fact(body, "parent")}


def hunks_of(diff):
    """The hunks of a canonical diff by the ids of the file: lines before, lines after, first and last mark."""
    found, ids, rows = {}, None, iter(diff.split(b"\n"))
    rows = [row + b"\n" for row in rows][:-1]
    at = 0
    while at < len(rows):
        row, at = rows[at], at + 1
        if row.startswith(b"index "):
            ids = tuple(row[6:].split()[0].decode().split(".."))
        elif row.startswith(b"@@ -"):
            sizes = re.match(rb"@@ -\d+(?:,(\d+))? \+\d+(?:,(\d+))? @@", row)
            left = [1 if size is None else int(size) for size in sizes.groups()]
            sides, marks = ([], []), []
            while any(left) or at < len(rows) and rows[at].startswith(b"\\"):
                mark, text, at = rows[at][:1], rows[at][1:], at + 1
                of = marks[-1] if mark == b"\\" else mark
                for side, other in ((0, b"+"), (1, b"-")):
                    if of != other and mark == b"\\":
                        sides[side][-1] = sides[side][-1][:-1]
                    elif of != other:
                        left[side] -= 1
                        sides[side].append(text)
                if mark != b"\\":
                    marks.append(mark)
            found.setdefault(ids, []).append((*sides, marks[0], marks[-1]))
    return found


def turns_into(old, new, hunks):
    """Do the hunks, placed in their order with nothing else changed between them, turn one text into the other?"""
    old, new = split(old), split(new)
    ends, moved, steps = {0}, 0, 0
    for before, after, first, last in hunks:
        following, reached = set(), False
        for at in range(min(ends, default=len(old)), len(old) + 1):
            to = at + moved
            reached = at in ends or reached and to > 0 and new[to - 1:to] == old[at - 1:at]
            steps += 1
            if not reached:
                if all(end < at for end in ends):
                    break
                continue
            if old[at:at + 1] == before[:1] and new[to:to + 1] == after[:1]:
                steps += len(before) + len(after)
            if ((first == b" " or at == 0) and (last == b" " or at + len(before) == len(old))
                    and old[at:at + len(before)] == before and new[to:to + len(after)] == after):
                following.add(at + len(before))
            if steps > MOST_STEPS:
                return False
        ends, moved = following, moved + len(after) - len(before)
    return any(old[at:] == new[at + moved:] for at in ends)


def split(text):
    """Lines with their line feeds. A carriage return ends none."""
    rows = [row + b"\n" for row in text.split(b"\n")]
    rows[-1] = rows[-1][:-1]
    return rows if rows[-1] else rows[:-1]


def leads(steps, path, start, end):
    """Do recorded changes lead from one version of a file to another?"""
    seen, left = {start}, [start]
    while left:
        at = left.pop()
        if at == end:
            return True
        for version in steps.get((path, at), ()):
            if version not in seen:
                seen.add(version)
                left.append(version)
    return False


def touching(repo, paths):
    """The newest commits of the history that change one of these paths, with what they change there."""
    if not paths:
        return
    ids = git(repo, "rev-list", f"--max-count={MOST_COMMITS}", "--exclude=refs/[!h]*", "--all", "HEAD") or b""
    asked = ["git", "--no-replace-objects", "--literal-pathspecs", "-C", repo, "diff-tree", "--stdin", "--raw", "-z", "-r",
             "--no-abbrev", "--no-renames", "--root", "--", *sorted(paths)]
    text = subprocess.run(asked, input=ids, capture_output=True, check=True).stdout
    for part in re.split(rb"(?:^|(?<=\0))(?=[0-9a-f]{40}(?:[0-9a-f]{24})?\0:)", text):
        commit, _, raw = part.partition(b"\0")
        if raw:
            yield commit.decode(), raw_changes(raw)


def decimal(value, digits):
    """Returns a decimal string as an integer with so many digits after the point. None if there is none."""
    if value is None:
        return None
    found = re.fullmatch(r"([0-9]+)(?:\.([0-9]*))?", value)
    part = (found[2] or "").rstrip("0") if found else ""
    if not found or len(part) > digits:
        raise ValueError("no decimal number")
    return count(int(found[1] + part.ljust(digits, "0")))


def count(value):
    """Returns a number of 64 bits without a sign. None if there is none."""
    if value is not None and (type(value) is not int or not 0 <= value < 1 << 64):
        raise ValueError("no count")
    return value


def prices_of(price):
    """Returns the prices of the prompt, of its parts that are read from and written to a cache, and of the answer."""
    return [decimal(price.get(name), 6) for name in ("input", "cached", "cache_write", "output")]


def stated_cost(usage):
    """Returns the cost that a server stated, which counts if no price is known. None if it stated none that can be read."""
    try:
        stated = usage.get("stated_cost_usd")
        stated = decimal(stated, 12) if type(stated) is str else None
    except ValueError:
        return None
    return None if stated is None else min(stated, 1_000 * 10**12)


def cost_of(usage, price):
    """Returns the cost of a call in millionths of a millionth of a US dollar. None if a count or price is not known."""
    counts = [count((usage or {}).get(name)) for name in ("input_tokens", "cached_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens")]
    longer = price.get("above", [])
    usual, above = prices_of(price), [(count(long["tokens"]), prices_of(long)) for long in longer]
    if (type(longer) is not list or type(price.get("source", "")) not in (str, type(None))
            or any(tokens is None for tokens, _ in above)):
        raise ValueError("no prices")
    if all(each is None for each in usual) and not longer and (stated := stated_cost(usage or {})) is not None:
        return stated
    if usage is None or counts[0] is None or counts[3] is None:
        return None
    for tokens, others in above:
        if counts[0] > tokens:
            usual = [new if new is not None else old for new, old in zip(others, usual)]
    cached = min(counts[1] or 0, counts[0])
    written = min(counts[2] or 0, counts[0] - cached)
    of_cache = [usual[0] if each is None else each for each in usual[1:3]]
    parts = [(counts[0] - cached - written, usual[0]), (cached, of_cache[0]), (written, of_cache[1]), (counts[3], usual[3])]
    if any(tokens and each is None for tokens, each in parts):
        return None
    total = sum(tokens * (each or 0) for tokens, each in parts)
    return total if total < 1 << 64 else None


def wrong_cost(kind, body):
    """Returns true if a recorded cost is not that of its recorded tokens and prices."""
    if not isinstance(body, dict):
        return False
    if kind == "tool_result":
        return wrong_call(body.get("result"), True)
    if kind == "turn":
        calls = body.get("calls")
        return isinstance(calls, list) and any(wrong_call(call, False) for call in calls)
    return kind == "session" and wrong_call(body.get("call"), False)


def wrong_call(result, rounded):
    """Returns true if the cost of one call is wrong. `rounded` calls state it in millionths as well."""
    if not isinstance(result, dict) or not {"price", "cost_usd"} & set(result):
        return False
    try:
        usage, price = result.get("usage"), result.get("price")
        if any(type(value) not in (dict, type(None)) for value in (usage, price)):
            return True
        cost = cost_of(usage, {} if price is None else price)
        micro = None if cost is None else (cost + 500_000) // 1_000_000
        wrong = rounded and micro != count(result.get("cost_micro_usd"))
        return cost != decimal(result.get("cost_usd"), 12) or wrong
    except (ValueError, TypeError, AttributeError, KeyError):
        return True


def wrong_proof(body):
    """Returns true if the signature of a device in a consent does not hold for this consent."""
    if not isinstance(body, dict) or not isinstance(body.get("consent"), dict) or "proof" not in body["consent"]:
        return False
    try:
        consent, hashes = body["consent"], body["hashes"]
        agreed, proof = consent["hashes"], consent["proof"]
        named = {"diff": "diff_sha256", "base": "base_commit", "policy": "policy_sha256", "ref": "target_ref", "writes": "writes"}
        if body["given"] is not True or any(hashes[name] != agreed[name] for name in named.values()):
            return True
        parts = {"request": body["answers"]} | {name: agreed[there] for name, there in named.items()}
        parts["rendering"] = proof["rendering_sha256"]
        if any(not isinstance(part, str) or not part or any(c.isspace() or unicodedata.category(c) == "Cc" for c in part) for part in parts.values()):
            return True
        statement = "agentos approval 1\n" + "".join(f"{name} {part}\n" for name, part in parts.items())
        return not holds(public_key(proof["key"]), decode64(proof["signature"]), statement.encode())
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        return True


def paired_device(body):
    """Returns the key on the wire that a person pairs or revokes with this answer, and its standing. `None` for every other answer."""
    if not isinstance(body, dict) or not isinstance(body.get("device"), dict) or body.get("given") is not True:
        return None
    if body.get("answers") is not None:
        return None
    device = body["device"]
    if device.get("standing") not in ("paired", "revoked"):
        return None
    try:
        return public_key(device["key"]), device["standing"]
    except (ValueError, TypeError, AttributeError, KeyError, IndexError):
        return None


class Verification:
    """One pass over a tape, with its findings."""

    def __init__(self, folder, repo=None, trusted=(), require=False, export=False, claims=None, others=None):
        """`claims` are the evidence hashes to be checked here, all if None; `others` are further tapes of the history, whose
        machines may have commits that this repository lacks."""
        self.folder, self.repo, self.trusted, self.require = folder, repo, set(trusted), require
        self.manifest, self.account = read_manifest(folder) if export else (None, b"")
        self.export, self.others, self.partial = export, others or (), export and others is not None
        # A copy without an account is a copy of evidence that may go on, whose note may be one record behind.
        self.is_ended = export and (self.manifest is not None or require)
        self.redacted = bool(self.manifest and self.manifest["redacted"]) and not lies_in_git(folder)
        self.findings, self.more, self.count, self.size = [], 0, 0, 0
        self.runs, self.keys, self.left = {}, set(), BUDGET
        self.form, self.unproved, self.first_unproved, self.searches = 0, 0, None, 0
        self.commits = history(repo, "--exclude=refs/[!h]*", "--all") if repo else None
        known = (self.commits or {}).values()
        self.kept = {mark for _, evidence, marks in known if not evidence for mark in marks}
        self.claims = {evidence for _, evidence, _ in known if evidence} if claims is None else claims
        self.named, self.intents, self.recorded = {evidence for _, evidence, _ in known if evidence}, {}, set()
        self.texts, self.devices = {}, {}
        # The last body that was opened: many lines may name the same blob.
        self.opened = None, None
        self.receipts, self.has_any, self.gone, self.room, self.moved = 0, False, [], BUDGET, {}

    def tell(self, kind, line=None):
        """Adds a finding. Beyond a limit, findings are only counted."""
        if len(self.findings) < MOST_KEPT:
            self.findings.append({"tampering": kind, "line": line})
        else:
            self.more += 1

    def take(self, size):
        """Reserves memory from the budget of the whole pass."""
        self.left -= size
        if self.left < 0:
            raise Refused("the tape has more open runs or keys than any tape that was written")

    def counts(self, wire, of_export=False):
        """Returns true if signatures of this key count. Without trusted keys every key does, except for an export under
        `--require`."""
        return wire in self.trusted or not self.trusted and not (of_export and self.require)

    def comes_later(self, at, seq):
        """Returns true if the missing record is further down. Each search reads the rest of the tape, so their number
        is limited."""
        self.searches += 1
        if self.searches > MOST_SEARCHES:
            return False
        parsed = (parse(line, self.redacted) for number, (line, _) in enumerate(lines(self.folder), 1) if number > at)
        return any(record and record["seq"] == seq for record in parsed)

    def read_tape(self):
        """Reads the tape from its first line to its last, and checks sequence numbers and links."""
        head = self.read_head()
        noted, at_head = (head or {"seq": 0})["seq"], None
        expected, prev, last, highest = 1, GENESIS, None, 0
        if noted == 0:
            at_head = GENESIS
        for at, (line, end) in enumerate(lines(self.folder), 1):
            self.count, self.size = at, self.size + len(line) + (end == "whole")
            record = parse(line, self.redacted) if end == "whole" else None
            if record is None:
                self.tell("torn-tail" if end == "torn" else "mutated", at)
                expected, prev, last, highest = expected + 1, None, None, highest + 1
                continue
            if record["seq"] == expected and prev not in (None, record["prev"]):
                self.tell("spliced", at)
            elif record["seq"] > expected:
                self.tell("reordered" if self.comes_later(at, expected) else "dropped", at)
            elif record["seq"] < expected:
                self.tell("duplicated" if last == record["hash"] else "reordered", at)
            expected, prev, last = record["seq"] + 1, record["hash"], record["hash"]
            highest = max(highest, record["seq"])
            if record["seq"] == noted:
                at_head = record["hash"]
            self.take_record(at, record)
        for at in self.texts.values():
            self.tell("blob-missing", at)
        self.check_head(head, highest, last, at_head)

    def read_head(self):
        """Returns the noted last record: None if the note is invalid, number 0 if there is no note."""
        try:
            text = read_file(self.folder / "head.json", MOST_HEAD).decode()
        except FileNotFoundError:
            return {"seq": 0, "hash": None}
        except (Odd, ValueError):
            return None
        try:
            head = load(text, object_pairs_hook=once)
            fits = (isinstance(head, dict) and set(head) == {"v", "seq", "hash"} and type(head["v"]) is int
                    and head["v"] == 1 and type(head["seq"]) is int and 0 <= head["seq"] < 1 << 64
                    and isinstance(head["hash"], str))
            return head if fits else None
        except (ValueError, RecursionError):
            return None

    def check_head(self, head, highest, last, at_head):
        """Compares the noted last record with the tape."""
        if head is None:
            return self.tell("head-changed")
        seq, hash = head["seq"], head["hash"]
        if hash is None:
            return self.tell("head-changed") if highest > 1 or self.is_ended else None
        if seq > highest:
            return self.tell("cut-off", highest + 1)
        wrong = hash != (last or GENESIS) if seq == highest else self.is_ended or hash != at_head
        return self.tell("head-changed") if wrong else None

    def take_record(self, at, record):
        """Checks the body of one record, and remembers what later records are compared with."""
        kind, run, body = record["kind"], record["run"], record.get("body")
        if record["v"] < self.form:
            self.tell("form-downgraded", at)
        self.form = max(self.form, record["v"])
        if "redacted" in record:
            self.unproved += 1
            self.first_unproved = self.first_unproved or at
        if run not in self.runs:
            self.take(len(run.encode()) + 96)
            self.runs[run] = {"intents": [], "cost": len(run.encode()) + 96}
        known = self.runs[run]
        on_line = body
        body = self.open_spilled(at, body, kind in OPENED)
        if kind == "checkpoint":
            self.take_checkpoint(at, record, self.runs.pop(run))
        elif kind == "intent" and self.commits is not None:
            self.take(160)
            known["cost"] += 160
            known["intents"].append(record["hash"])
            if record["hash"] in self.named:
                self.intents[record["hash"]] = {"tree": fact(body, "tree"), "run": known, "change": recorded_change(body)}
        elif kind == "receipt":
            known["commit"] = commit = fact(body, "commit")
            self.take(len(commit or ""))
            known["cost"] += len(commit or "")
            if commit and self.commits is not None:
                self.take_commit(at, commit, body, known)
        elif wrong_cost(kind, body):
            self.tell("cost-wrong", at)
        elif kind == "consent" and wrong_proof(body):
            self.tell("signature-invalid", at)
        elif kind == "consent":
            self.take_device(at, body)
        elif kind == "removed" and isinstance(body, dict) and isinstance(body.get("blobs"), list):
            for name in body["blobs"]:
                if isinstance(name, str):
                    self.texts.pop(name, None)
        for name in references([on_line]):
            self.check_blob(at, name, kind in ("turn", "session"))

    def open_spilled(self, at, body, is_opened):
        """Returns the body that was too long for its line, from its blob. A blob that is missing or changed is told elsewhere."""
        if not isinstance(body, dict) or not {"body_sha256", "body_bytes"} & set(body):
            return body
        name, size = body.get("body_sha256"), body.get("body_bytes")
        fits = (type(size) is int and 0 <= size < 1 << 64 and isinstance(name, str) and DIGEST.fullmatch(name)
                and set(body) <= {"body_sha256", "body_bytes", "commit", "tree"}
                and all(isinstance(body.get(fact, ""), str) for fact in ("commit", "tree")))
        if not fits:
            self.tell("mutated", at)
            return body
        if not is_opened:
            return body
        if self.opened[0] != (name, size):
            try:
                self.opened = (name, size), self.parse_spilled(name, size)
            except (FileNotFoundError, Odd):
                return body
        if self.opened[1] is None:
            self.tell("mutated", at)
            return body
        return self.opened[1]

    def parse_spilled(self, name, size):
        """Returns the body in a blob. None if it has another length, is too long, or is no object."""
        if size > MOST_SPILLED:
            return None
        with open_blob(self.folder, name[7:]) as file:
            if os.fstat(file.fileno()).st_size != size:
                return None
            data = file.read(size)
        if digest(data) != name:
            raise Odd
        try:
            opened = load(data.decode())
            canonical(opened).encode()
            return opened if isinstance(opened, dict) and nesting(opened) <= 127 else None
        except (ValueError, OverflowError, RecursionError):
            return None

    def take_device(self, at, body):
        """Notes the device that an answer pairs or revokes, and checks whose key signed an approval."""
        consent = body.get("consent") if isinstance(body, dict) else None
        if isinstance(consent, dict) and "proof" in consent and self.devices:
            # A tape of earlier versions names no device at all.
            if self.devices.get(public_key(consent["proof"]["key"])) != "paired":
                self.tell("device-unknown", at)
        found = paired_device(body)
        if found and (len(self.devices) < MOST_DEVICES or found[0] in self.devices):
            # Whoever has a revoked key may have it still, so a later pairing changes nothing.
            if self.devices.get(found[0]) != "revoked":
                self.devices[found[0]] = found[1]

    def take_checkpoint(self, at, record, known):
        """Checks the signature of a checkpoint, which ends its run."""
        self.left += known["cost"]
        try:
            wire = signer_of(record, known.get("commit"))
        except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError):
            return self.tell("signature-invalid", at)
        if wire is None:
            return self.tell("run-unsigned", at) if self.require else None
        if wire not in self.keys:
            self.take(64 << 10)
            self.keys.add(wire)
        return None if self.counts(wire) else self.tell("key-unknown", at)

    def take_commit(self, at, commit, body, known):
        self.recorded.add(commit)
        self.receipts += 1
        change = recorded_change(body) or {"files": {}, "diff": None, "base": None}
        reached = commit in self.commits
        there = self.commits if reached else history(self.repo, "--no-walk", "--end-of-options", commit)
        tree, evidence, marks = there.get(commit, (None, None, ()))
        base = change["base"] or ""
        self.has_any = self.has_any or bool(tree) or HEX.fullmatch(base) and properties(self.repo, base) is not None
        if tree and (tree != (fact(body, "tree") or tree) or evidence not in known["intents"]):
            self.tell("commit-rewritten", at)
        elif not reached and (cost := sum(len(path) + 300 for path in change["files"]) + 300) <= self.room:
            self.room -= cost
            self.gone.append((at, commit, change, bool(marks & self.kept) if tree else False))

    def check_blob(self, at, name, may_go):
        """Checks that a blob exists and has the digest that is its name. One that `may_go` may be removed by a later record."""
        try:
            if digest_file(open_blob(self.folder, name[7:]), MOST_BLOB) != name:
                self.tell("blob-changed", at)
        except FileNotFoundError:
            if may_go and not self.redacted:
                self.take(160)
                self.texts[name] = at
            elif not self.redacted:
                self.tell("blob-missing", at)
        except Odd:
            self.tell("blob-changed", at)

    def check_commits(self):
        """Checks commits that name evidence and that no receipt names, then commits that left the history."""
        others = {commit: self.compare(commit, evidence) for commit, (_, evidence, _) in (self.commits or {}).items()
                  if evidence in self.intents and evidence in self.claims and commit not in self.recorded}
        paths = {path for commit, fits in others.items() if not fits for path in changes_of(self.repo, commit) or ()}
        steps, faulty = self.recorded_steps(paths) if paths else {}, set()
        for commit, (tree, evidence, _) in (self.commits or {}).items():
            intent = self.intents.get(evidence)
            if evidence not in self.claims or commit in self.recorded:
                continue
            if not intent:
                self.tell("commit-without-record")
            else:
                landed = intent["run"].get("commit")
                if not others[commit] and not self.explains(commit, intent["change"], steps):
                    self.tell("commit-rewritten")
                    faulty.add(commit)
                elif landed:
                    self.moved.setdefault(landed, commit)
        left = [one for one in self.gone if one[1] not in self.moved]
        self.search([(commit, change) for _, commit, change, _ in left if change["files"]], faulty)
        for at, commit, _, replaced in left:
            if replaced and commit not in self.moved:
                self.tell("commit-rewritten", at)
        if self.receipts and not self.has_any and not self.moved and not self.partial:
            self.tell("record-without-commit", self.gone[0][0])

    def compare(self, commit, evidence):
        """Returns True if a commit is the intended one, or makes the recorded change and no other."""
        intent, tree = self.intents[evidence], self.commits[commit][0]
        if not intent["run"].get("commit") and tree == (intent["tree"] or tree):
            return True
        made = changes_of(self.repo, commit)
        return made is not None and intent["change"] is not None and self.is_same(made, intent["change"])

    def recorded_steps(self, paths):
        """Returns the changes to some paths by receipts that name a commit."""
        steps, own = {}, (line for at, line in enumerate(lines(self.folder), 1) if at <= self.count)
        for line, end in itertools.chain(own, *map(lines, self.others)):
            record = parse(line, False) if end == "whole" else None
            if record and record["kind"] == "receipt" and fact(record["body"], "commit"):
                for path, (old, new) in (recorded_change(record["body"]) or {"files": {}})["files"].items():
                    if path in paths:
                        self.take(len(path) + 300)
                        steps.setdefault((path, old), set()).add(new)
        return steps

    def explains(self, commit, change, steps):
        """Returns True if recorded changes alone, this one among them, lead from the parent's files to the commit's."""
        made = changes_of(self.repo, commit)
        lead = lambda path, start, end: leads(steps, path, start, end)
        return made is not None and change is not None and (
            all(lead(path, old, new) for path, (old, new) in made.items())
            and all(path in made and lead(path, made[path][0], old) and lead(path, new, made[path][1])
                    for path, (old, new) in change["files"].items()))

    def is_same(self, made, change):
        """Returns True for the recorded files, before and after, or for the recorded hunks on another base."""
        if set(made) != set(change["files"]):
            return False
        differing = [(made[path], recorded) for path, recorded in change["files"].items() if made[path] != recorded]
        if not differing:
            return True
        try:
            diff = read_blob(self.folder, change["diff"])
            patch = hunks_of(diff)
        except (OSError, Odd, ValueError, IndexError, AttributeError, TypeError):
            return False
        return all(self.is_same_edit(ours, theirs, patch) for ours, theirs in differing)

    def is_same_edit(self, made, recorded, patch):
        if None in (*made, *recorded) or [mode for mode, _ in made] != [mode for mode, _ in recorded]:
            return False
        (_, old), (_, new), was, is_now = *made, recorded[0][1], recorded[1][1]
        if was == is_now:
            return old == new
        texts = [self.content(oid) for oid in (old, new)]
        return (was, is_now) in patch and None not in texts and turns_into(*texts, patch[was, is_now])

    def content(self, oid):
        size = git(self.repo, "cat-file", "-s", oid)
        return git(self.repo, "cat-file", "blob", oid) if size and int(size) <= MOST_CONTENT else None

    def search(self, wanted, faulty):
        """Finds changes again in the commits of the history, newest first, whoever made them."""
        steps, found, compared = {}, {}, 0
        for _, _, change, _ in self.gone:
            for path, (old, new) in change["files"].items():
                steps.setdefault((path, old), set()).add(new)
        for commit, files in touching(self.repo, {path for _, change in wanted for path in change["files"]}):
            made = None
            if commit in faulty or commit in self.recorded:
                continue
            for place, (gone, change) in enumerate(wanted):
                if found.get(place, ("",))[0] == "same" or not set(change["files"]) <= set(files):
                    continue
                made = made or changes_of(self.repo, commit)
                contained = all(leads(steps, path, new, files[path][1]) for path, (_, new) in change["files"].items())
                compared += not contained
                same = made and (contained or compared <= MOST_COMPARED) and self.is_same(made, change)
                early = change["base"] and git(self.repo, "merge-base", "--is-ancestor", commit, change["base"]) is not None
                if made and not early and (same or contained and place not in found):
                    found[place] = ("same" if same else "contained", commit)
        self.moved.update((wanted[place][0], commit) for place, (_, commit) in found.items())

    def check_export(self):
        """Checks the signatures of an export, and its files against its list."""
        try:
            head = read_file(self.folder / "head.json", MOST_SIGNATURE)
        except (FileNotFoundError, Odd):
            head = b""
        self.check_signature("head.json.sig", head)
        listed = self.manifest if self.manifest and self.manifest["version"] == 2 else None
        signed = False
        if listed or self.form == 2:
            wire = self.check_signature("export.json.sig", self.account)
            # A folder without any account is no export: that is a fault where one is required.
            gone = self.require or self.manifest is not None
            changed = changed_files(self.folder, listed, self.size) if listed else int(gone)
            for _ in range(changed):
                self.tell("export-changed")
            signed = bool(listed) and not changed and wire in self.trusted
        if self.unproved and self.require and not signed:
            self.tell("record-unproved", self.first_unproved)

    def check_signature(self, name, message):
        """Checks the SSH signature of a file. Returns the signer, or None if there is none."""
        try:
            text = read_file(self.folder / name, MOST_SIGNATURE)
        except FileNotFoundError:
            return self.tell("export-unsigned") if self.require else None
        except TooLarge:
            text = b""
        wire = ssh_signer(text, message)
        if wire is None:
            self.tell("signature-invalid")
        elif not self.counts(wire, of_export=True):
            self.tell("key-unknown")
        return wire

    def run(self):
        """Makes the whole pass."""
        self.read_tape()
        self.check_commits()
        for _ in self.runs if self.require else ():
            self.tell("run-unsigned")
        if self.export:
            self.check_export()
        return self


def lies_in_git(folder):
    """Returns true if the folder is in a git directory."""
    above = Path(os.path.realpath(folder)).parent
    has_git = (above / "HEAD").is_file() and (above / "objects").is_dir() and (above / "refs").is_dir()
    return has_git or above.name == ".git"


def read_manifest(folder):
    """Returns the parsed `export.json` and its bytes. Version 1 states only whether the export is redacted."""
    try:
        text = read_file(folder / "export.json", MOST_HEAD)
    except FileNotFoundError:
        return None, b""
    about = load(text.decode())
    version = about.get("version", 1) if isinstance(about, dict) else 1
    version = version if type(version) is int and version >= 0 else 1
    if version == 1:
        return {"version": 1, "redacted": isinstance(about, dict) and about.get("redacted") is True}, text
    texts = lambda value: isinstance(value, dict) and all(isinstance(one, str) for one in value.values())
    named = about.get("attestations")
    fits = (version == 2 and {"version", "redacted", "records", "head"} <= set(about)
            and set(about) <= {"version", "redacted", "records", "head", "created", "files", "attestations"}
            and type(about["redacted"]) is bool and type(about["records"]) is int and about["records"] >= 0
            and isinstance(about["head"], str) and isinstance(about.get("created"), (str, type(None)))
            and texts(about.get("files", {}))
            and (named is None or isinstance(named, dict) and set(named) == {"files", "sha256"}
                 and type(named["files"]) is int and isinstance(named["sha256"], str)))
    if not fits:
        raise Refused("`export.json` is not what an export has")
    return about, text


def digest_listed(path, most=1 << 20):
    """Returns the digest of a file of an export, None if it does not exist, or a text that equals no digest."""
    try:
        return digest_file(open_file(path), most)
    except FileNotFoundError:
        return None
    except Odd:
        return "not a regular file"


def attestations(folder, most=1 << 60):
    """Returns the number of signed statements, and the digest of their names and digests. Each is also on the tape."""
    at = folder / "attestations"
    try:
        if not stat.S_ISDIR(os.lstat(at).st_mode):
            raise Refused("`attestations` is no folder")
    except FileNotFoundError:
        return None
    rows = []
    for name in sorted(os.listdir(at), key=os.fsencode):
        found = digest_listed(at / name, most) or ""
        rows.append(f"{name} {found}\n")
        most -= os.lstat(at / name).st_size if DIGEST.fullmatch(found) else 0
    return {"files": len(rows), "sha256": digest("".join(rows).encode(errors="replace"))}


def changed_files(folder, listed, size):
    """Returns the number of files that differ from an export's list. Of the tape, only the bytes that were read are
    hashed."""
    limits = {"tape.jsonl": size, "index.html": 1 << 30}
    there = {name: found for name in LISTED if (found := digest_listed(folder / name, limits.get(name, 1 << 20)))}
    files = listed.get("files", {})
    names = set(files) | set(there) | {"head.json", "tape.jsonl"}
    changed = sum(files.get(name) is None or there.get(name) != files[name] for name in names)
    return changed + (attestations(folder, size) != listed.get("attestations"))


def check_folder(folder):
    """Refuses a folder whose fixed parts have the wrong file type, as the product does."""
    if not folder.is_dir() or folder.is_symlink():
        raise Refused("there is no such folder")
    for name in ("tape.jsonl", "head.json", "tape.writer", "blobs"):
        try:
            found = os.lstat(folder / name).st_mode
        except FileNotFoundError:
            continue
        if not (stat.S_ISDIR(found) if name == "blobs" else stat.S_ISREG(found)):
            raise Refused(f"`{name}` has the wrong file type")


def is_own(folder, repo):
    """Returns true for the evidence of a repository itself, whose end is unsigned. A link to such a folder counts as an
    export."""
    real = Path(os.path.realpath(folder))
    if repo:
        asked = ["git", "-C", repo, "rev-parse", "--path-format=absolute", "--git-common-dir"]
        git = subprocess.run(asked, capture_output=True, check=True).stdout.decode(errors="replace").strip()
        if real == Path(os.path.realpath(git)) / "agentos":
            return True
    return Path(os.path.abspath(folder)).parent.name == ".git"


def inspect(folder, repo=None, trusted=(), require=False):
    """Returns a finished verification. Raises Refused if the folder cannot be verified at all."""
    try:
        check_folder(folder)
        return Verification(folder, repo, trusted, require, not is_own(folder, repo)).run()
    except (Odd, OSError, ValueError, RecursionError, subprocess.CalledProcessError) as error:
        raise Refused(str(error) or "something is not a regular file") from error


def verify(folder, repo=None, trusted=(), require=False):
    """Returns the findings about a folder, and the number of lines that were read."""
    found = inspect(folder, repo, trusted, require)
    return found.findings, found.count


def main(arguments=None):
    """Runs the command line and returns the exit code."""
    parser = argparse.ArgumentParser()
    for name, more in {"dir": {"type": Path}, "--repo": {}, "--keys": {"type": Path},
                       "--require": {"action": "store_true"}}.items():
        parser.add_argument(name, **more)
    args = parser.parse_args(arguments)
    try:
        trusted = trusted_keys(args.keys) if args.keys else set()
        found = inspect(args.dir, args.repo, trusted, args.require)
    except (Refused, Odd, OSError, ValueError) as error:
        print(json.dumps({"ok": False, "refused": str(error) or "not a regular file"}))
        return 7
    print(json.dumps({"ok": not found.findings, "records": found.count, "redacted": found.redacted,
                      "unproved": found.unproved, "moved": found.moved, "findings": found.findings, "more_findings": found.more}))
    return 7 if found.findings else 0


if __name__ == "__main__":
    sys.exit(main())
