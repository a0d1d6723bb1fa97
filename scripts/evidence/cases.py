"""Makes the corpus on which both verifiers must agree: sound, tampered, redacted and hostile evidence, from recipes.

    python3 cases.py make OUT     writes every case below OUT, and `OUT/cases.json` with the expected result of each
    python3 cases.py run OUT      verifies every case with `verify.py` and prints the results

Keys, salts and times are fixed, so the files are the same each time. An expected result is an exit code and the kinds
of tampering; `refused` means that the folder cannot be verified at all.
"""

import base64
import contextlib
import hashlib
import io
import json
import os
import shutil
import signal
import sys
from pathlib import Path

from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

import verify
from verify import GENESIS, canonical, digest

TS = "2026-11-21T09:14:00.000Z"
SECONDS = 60
QUOTING = verify.QUOTING


class Key:
    """A signing key that is derived from one byte, so that every run makes the same signatures."""
    def __init__(self, seed):
        self.key = Ed25519PrivateKey.from_private_bytes(bytes([seed]) * 32)
        self.wire = b"\0\0\0\x0bssh-ed25519\0\0\0\x20" + self.key.public_key().public_bytes_raw()
        self.line = "ssh-ed25519 " + base64.b64encode(self.wire).decode()
        self.id = "SHA256:" + base64.b64encode(hashlib.sha256(self.wire).digest()).decode().rstrip("=")

    def envelope(self, statement):
        """Returns a DSSE envelope of a statement, signed by this key."""
        kind, payload = "application/vnd.in-toto+json", canonical(statement).encode()
        covered = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
        signature = {"keyid": self.id, "sig": base64.b64encode(self.key.sign(covered)).decode()}
        return {"payload": base64.b64encode(payload).decode(), "payloadType": kind, "signatures": [signature]}

    def ssh(self, message):
        """Returns the SSH signature of a message in the namespace of evidence."""
        field = lambda data: len(data).to_bytes(4, "big") + data
        space = field(b"agentos-evidence") + field(b"") + field(b"sha512")
        signed = self.key.sign(b"SSHSIG" + space + field(hashlib.sha512(message).digest()))
        blob = b"SSHSIG\0\0\0\1" + field(self.wire) + space + field(field(b"ssh-ed25519") + field(signed))
        text = base64.b64encode(blob).decode()
        rows = [text[at:at + 70] for at in range(0, len(text), 70)]
        return "\n".join(["-----BEGIN SSH SIGNATURE-----", *rows, "-----END SSH SIGNATURE-----", ""]).encode()


MINE, OTHER = Key(7), Key(9)


def seal(record, form=2, body=None):
    """Returns the line of a record, with the right hash for whatever it contains. `body` is the text of a body that
    JSON would format differently."""
    text = canonical(record["body"]) if body is None else body
    rest = {name: value for name, value in record.items() if name not in ("body", "hash", "body_salt", "body_sha256")}
    if form == 1:
        bare = canonical(rest | {"body": "@"}).replace('"@"', text, 1)
        return canonical(rest | {"body": "@", "hash": digest(bare.encode(errors="surrogatepass"))}).replace('"@"', text, 1)
    salt = record.get("body_salt", f"{record['seq']:032x}" if isinstance(record["seq"], int) else "0" * 32)
    whole = '{"body":' + text + ',"body_salt":' + json.dumps(salt) + "}"
    rest["body_sha256"] = digest(whole.encode(errors="surrogatepass"))
    rest["hash"] = digest(canonical(rest).encode())
    return canonical(rest | {"body": "@", "body_salt": salt}).replace('"@"', text, 1)


def withhold(line):
    """Returns a line as a redacted export contains it: without the body, if the body quotes text."""
    record = json.loads(line)
    if record["kind"] not in QUOTING:
        return line
    if record["v"] == 1:
        return canonical(verify.without(record, "body") | {"redacted": True})
    return canonical(verify.without(record, "body", "body_salt"))


class Tape:
    """Records in memory, linked and sealed as they are added."""

    def __init__(self, form=2):
        self.lines, self.prev, self.form, self.blobs = [], GENESIS, form, {}

    def add(self, kind, body, run="run-a", form=None, text=None, **more):
        """Appends a record. `text` replaces its body by this text."""
        record = {"body": body, "kind": kind, "prev": self.prev, "run": run, "seq": len(self.lines) + 1, "ts": TS,
                  "v": form or self.form} | more
        self.lines.append(seal(record, form or self.form, text))
        self.prev = json.loads(self.lines[-1])["hash"] if text is None else self.lines[-1].split('"hash":"')[1][:71]
        return self

    def blob(self, text):
        """Adds a blob and returns its name."""
        name = digest(text.encode())
        self.blobs[name[7:]] = text.encode()
        return name

    def checkpoint(self, run="run-a", key=MINE, **more):
        """Appends a signed checkpoint."""
        statement = {"_type": "https://in-toto.io/Statement/v1", "predicateType": "urn:agentos:checkpoint:1",
                     "predicate": {"envelopes": [], "run": run, "tape": {"head": self.prev, "seq": len(self.lines)}},
                     "subject": [{"digest": {"sha256": self.prev[7:]}, "name": "tape.jsonl"}]}
        return self.add("checkpoint", {"envelopes": [key.envelope(statement)], "key": key.line} | more, run)

    def landed(self, run="run-a", key=MINE):
        """Appends a run that landed."""
        answer, diff = self.blob(f"answer {run}"), self.blob(f"diff {run}")
        self.add("task", {"instruction": "ü\u0001\"\\ x", "n": [1, 0.5, -3, 1e-7]}, run)
        self.add("answer", {"answer_sha256": answer}, run)
        self.add("landing", {"diff_blob_sha256": diff, "é": {"a": None, "b": 1}}, run)
        self.add("decision", {"decision": {"effect": "allow", "reasons": []}}, run)
        self.add("intent", {"plan": {"tree": "t"}}, run)
        self.add("receipt", {"tree": "t", "writes": "nothing"}, run)
        return self.checkpoint(run, key)

    def refused(self, run="run-b", key=MINE):
        """Appends a run that was refused."""
        self.add("task", {"instruction": "no"}, run)
        self.add("refusal", {"code": "no-diff", "outcome": "refused"}, run)
        return self.checkpoint(run, key)

    def head(self):
        """Returns the note of the last record."""
        return head_of(len(self.lines), self.prev)


def head_of(seq, hash):
    """Returns the text of `head.json`."""
    return (json.dumps({"v": 1, "seq": seq, "hash": hash}, separators=(",", ":")).ljust(127) + "\n").encode()


def whole(form=2, key=MINE):
    """Returns a sound tape of two runs."""
    return Tape(form).landed(key=key).refused(key=key)


def mixed():
    """Returns a tape whose first run has form 1 and whose second run has form 2."""
    tape = Tape(1).landed()
    tape.form = 2
    return tape.refused()


def put(path, data):
    """Writes a file and creates the folders above it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(data if isinstance(data, bytes) else data.encode())


def own(folder, tape=None, lines=None, head=None):
    """Writes the evidence of a repository itself and returns its folder."""
    tape = tape or whole()
    at = folder / ".git/agentos"
    put(at / "tape.jsonl", b"".join(line if isinstance(line, bytes) else line.encode(errors="surrogatepass") + b"\n"
                                    for line in (tape.lines if lines is None else lines)))
    put(at / "head.json", tape.head() if head is None else head)
    for name, data in tape.blobs.items():
        put(at / "blobs" / name, data)
    return at


def export(folder, tape=None, redact=False, version=2, key=MINE, lines=None, created=TS):
    """Writes an export as the product makes it and returns its folder."""
    tape = tape or whole()
    at = folder / "export"
    chosen = tape.lines if lines is None else lines
    put(at / "tape.jsonl", "".join((withhold(line) if redact else line) + "\n" for line in chosen))
    put(at / "head.json", tape.head())
    for name, data in {} if redact else tape.blobs.items() if isinstance(tape.blobs, dict) else ():
        put(at / "blobs" / name, data)
    put(at / "index.html", "<p>what happened</p>\n")
    put(at / "README.txt", "read me\n")
    put(at / "allowed_signers", f"me {MINE.line}\n")
    put(at / "attestations/run-a.intoto.jsonl", "{}\n")
    return sign(at, tape, redact, version, key, created)


def sign(at, tape, redact=False, version=2, key=MINE, created=TS):
    """Writes the list of an export's files and both signatures."""
    about = {"head": tape.prev, "records": len(tape.lines), "redacted": redact, "version": version}
    if version == 2:
        files = {name: digest((at / name).read_bytes()) for name in verify.LISTED if (at / name).exists()}
        about |= {"created": created, "files": files, "attestations": verify.attestations(at)}
    put(at / "export.json", json.dumps(about, indent=2) + "\n")
    for name in ("head.json", "export.json") if key else ():
        if version == 2 or name == "head.json":
            put(at / f"{name}.sig", key.ssh((at / name).read_bytes()))
    return at


def cut(at, tape, count):
    """Removes records from the end of the tape and rewrites the note of the last record."""
    lines = tape.lines[:count]
    put(at / "tape.jsonl", "".join(line + "\n" for line in lines))
    put(at / "head.json", head_of(count, json.loads(lines[-1])["hash"]))


CASES = {}


def case(expected, *flags, name=None, keys=True):
    """Registers a recipe. `expected`: kinds of tampering, empty for sound evidence, or `refused`."""

    def register(recipe):
        CASES[name or recipe.__name__.replace("_", "-")] = (recipe, expected.split(), flags, keys)
        return recipe

    return register


def spoiled(name, expected, change, *flags):
    """Registers a case of a repository's own evidence whose lines are changed."""

    def recipe(folder):
        tape = whole()
        lines = list(tape.lines)
        changed = change(lines)
        return own(folder, tape, lines if changed is None else changed)

    case(expected, *flags, name=name)(recipe)


def replaced(at, old, new):
    """Returns a change that replaces a text in one line."""
    def change(lines):
        assert old in lines[at], (old, lines[at])
        lines[at] = lines[at].replace(old, new, 1)

    return change


def resealed(name, expected, text=None, body=None, form=2, **more):
    """Registers a case of own evidence that ends with a record whose hash is right but whose form may be wrong."""

    def recipe(folder, more=more):
        tape, more = whole(form), dict(more)
        tape.add(more.pop("kind", "task"), {} if body is None else body, more.pop("run", "run-c"), text=text, **more)
        return own(folder, tape)

    # Where the last record is none, the noted one is not on the tape.
    case(f"{expected} head-changed" if expected == "mutated" else expected, name=name)(recipe)


PRICE = {"input": "1.25", "cached": "0.125", "output": "10", "source": "litellm 2026-11-23",
         "above": [{"tokens": 200, "input": "2.5"}]}


def cost_case(name, expected, **changed):
    """Registers a case of own evidence that ends with the cost of a call."""
    result = {"usage": {"input_tokens": 200, "cached_tokens": 100, "output_tokens": 100}, "price": PRICE, "cost_usd": "0.0011375",
              "cost_micro_usd": 1138} | changed
    result = {name: value for name, value in result.items() if value != "left out"}
    resealed(name, expected, body={"result": result}, kind="tool_result")


def turn_case(name, expected, **changed):
    """Registers a case of own evidence that ends with a turn of two calls, whose costs are stated exactly."""
    call = {"provider": "openai", "latency_ms": 3, "usage": {"input_tokens": 200, "output_tokens": 100}, "price": PRICE,
            "cost_usd": "0.00125"}
    body = {"source": "message", "calls": [call, call | changed], "end": {"end": "answered"}}
    resealed(name, expected, body=body, kind="turn")


def signed_approval(key, proof):
    """Returns the body of an approval that this key signed. Members of `proof` replace its proof's."""
    hashes = {"diff_sha256": "1" * 64, "base_commit": "2" * 40, "policy_sha256": "3" * 64, "target_ref": "refs/heads/main",
              "writes": "commit-and-work-tree"}
    statement = (f"agentos approval 1\nrequest run-a\ndiff {'1' * 64}\nbase {'2' * 40}\npolicy {'3' * 64}\n"
                 f"ref refs/heads/main\nwrites commit-and-work-tree\nrendering {'4' * 64}\n")
    signed = {"device": "phone", "key": MINE.line, "rendering_sha256": "4" * 64,
              "signature": base64.b64encode(key.key.sign(statement.encode())).decode()}
    consent = {"who": "A", "when": TS, "how": "page", "hashes": hashes, "proof": signed | proof}
    return {"given": True, "hashes": hashes, "consent": consent, "request": None, "answers": "run-a"}


def consent_case(name, expected, proof=None, key=MINE, **changed):
    """Registers a case of own evidence that ends with an approval that a device signed."""
    resealed(name, expected, body=signed_approval(key, proof or {}) | changed, kind="consent")


def spilled_case(name, expected, text, *left_out, kind="consent", **more):
    """Registers a case of own evidence that ends with a record, an approval as a rule, whose body was too long for its line. `more` are
    further members of the line."""

    def recipe(folder):
        tape = whole()
        body = {"body_bytes": len(text.encode()), "body_sha256": tape.blob(text)} | more
        tape.add(kind, verify.without(body, *left_out), "run-c")
        return own(folder, tape)

    case(expected, name=name)(recipe)


def device(owner, standing, **changed):
    """Returns the body of an answer that pairs or revokes a device."""
    return {"given": True, "consent": {"who": "A", "when": TS, "how": "pair"},
            "device": {"name": "phone", "key": owner.line, "standing": standing} | changed}


def device_case(name, expected, *bodies):
    """Registers a case of own evidence with answers about devices, and then an approval that the device of `MINE` signed."""

    def recipe(folder):
        tape = whole()
        for body in bodies:
            tape.add("consent", body, "run-c")
        tape.add("consent", signed_approval(MINE, {}), "run-c")
        return own(folder, tape)

    case(expected, name=name)(recipe)


def text_case(name, expected, *records):
    """Registers a case of own evidence in which records refer to the texts `a` and `b`, of which only `b` exists."""

    def recipe(folder):
        tape = whole()
        gone, kept = digest(b"a"), tape.blob("b")
        for kind, names in records:
            named = [{"a": gone, "b": kept}[name] for name in names]
            member = {"blobs": named} if kind == "removed" else {"messages": [{"message_sha256": name} for name in named]}
            tape.add(kind, member, "run-c")
        return own(folder, tape)

    case(expected, name=name)(recipe)


def nested(depth):
    """Returns a list that is nested this deep."""
    return json.loads("[" * depth + "]" * depth)


# Sound evidence.

case("", name="own")(own)
cost_case("cost", "")
cost_case("cost-long-prompt", "", usage={"input_tokens": 201, "output_tokens": 1}, cost_usd="0.0005125", cost_micro_usd=513)
WRITTEN = {"input_tokens": 200, "cached_tokens": 100, "cache_write_tokens": 60, "output_tokens": 100}
cost_case("cost-of-a-cache", "", usage=WRITTEN, price=PRICE | {"cache_write": "2"}, cost_usd="0.0011825", cost_micro_usd=1183)
cost_case("cost-of-a-cache-without-its-price", "", usage=WRITTEN)
cost_case("cost-of-a-cache-left-out", "cost-wrong", usage=WRITTEN, price=PRICE | {"cache_write": "2"})
cost_case("cost-of-a-longer-cache", "", usage=WRITTEN | {"cache_write_tokens": 5000}, price=PRICE | {"cache_write": "2"},
          cost_usd="0.0012125", cost_micro_usd=1213)
cost_case("cost-of-an-odd-cache", "cost-wrong", usage=WRITTEN | {"cache_write_tokens": "60"})
cost_case("cost-of-earlier-versions", "", price="left out", cost_usd="left out", cost_micro_usd=7)
cost_case("cost-unknown", "", usage="left out", cost_usd="left out", cost_micro_usd="left out")
cost_case("cost-of-other-tokens", "cost-wrong", usage={"input_tokens": 201, "cached_tokens": 100, "output_tokens": 100})
cost_case("cost-of-another-price", "cost-wrong", price=PRICE | {"output": "10.000001"})
cost_case("cost-of-no-price", "cost-wrong", price=None)
cost_case("cost-of-a-number", "cost-wrong", price=PRICE | {"output": 10})
cost_case("cost-of-a-list", "cost-wrong", price=["1.25", "0.125", "10"])
cost_case("cost-of-listed-tokens", "cost-wrong", usage=[200, 100, 100, None])
cost_case("cost-of-no-prices", "cost-wrong", price=False, usage="left out", cost_usd="left out", cost_micro_usd="left out")
cost_case("cost-of-odd-tiers", "cost-wrong", price=PRICE | {"above": [[200, "2.5"]]})
cost_case("cost-of-a-number-unused", "cost-wrong", price={"input": 10}, usage="left out", cost_usd="left out",
          cost_micro_usd="left out")
STATED = {"usage": {"stated_cost_usd": "0.5"}, "price": "left out", "cost_micro_usd": 500000}
cost_case("cost-stated", "", **STATED | {"cost_usd": "0.5"})
cost_case("cost-stated-too-large", "", **STATED | {"usage": {"stated_cost_usd": "9000"}, "cost_usd": "1000", "cost_micro_usd": 10**9})
cost_case("cost-stated-otherwise", "cost-wrong", **STATED | {"cost_usd": "0.4"})
cost_case("cost-stated-as-a-number", "cost-wrong", **STATED | {"usage": {"stated_cost_usd": 0.5}, "cost_usd": "0.5"})
cost_case("cost-stated-beside-a-price", "cost-wrong", **STATED | {"price": PRICE, "cost_usd": "0.5"})
cost_case("cost-left-out", "cost-wrong", cost_usd="left out")
cost_case("cost-rounded", "cost-wrong", cost_micro_usd=1137)
cost_case("cost-of-too-many-tokens", "cost-wrong", usage={"input_tokens": (1 << 53) - 1, "output_tokens": 0})
consent_case("approval-signed", "")
consent_case("approval-by-another-key", "signature-invalid", key=OTHER)
consent_case("approval-of-another-run", "signature-invalid", answers="run-b")
consent_case("approval-of-another-change", "signature-invalid", hashes={"diff_sha256": "5" * 64})
spilled_case("long-approval-signed", "", json.dumps(signed_approval(MINE, {})))
spilled_case("long-approval-by-another-key", "signature-invalid", json.dumps(signed_approval(OTHER, {})))
spilled_case("long-approval-of-no-form", "mutated", "[1]")
spilled_case("long-approval-of-nothing", "", "{}")
spilled_case("long-approval-with-a-mark", "mutated", "\ufeff{}")
spilled_case("long-approval-of-another-length", "mutated", "{}", body_bytes=3)
spilled_case("long-approval-too-long", "mutated", "{}" + " " * (16 << 20))
# A body on the line and another one in a blob: each reader would see its own.
spilled_case("approval-with-two-bodies", "mutated", "{}", **signed_approval(MINE, {}))
spilled_case("approval-with-a-blob-of-no-length", "mutated", json.dumps(signed_approval(MINE, {})), "body_bytes")
spilled_case("approval-with-a-length", "mutated", "{}", "body_sha256", given=False)
spilled_case("task-with-two-bodies", "mutated", "{}", kind="task", instruction="x")
consent_case("approval-declined", "signature-invalid", given=False)
consent_case("approval-of-something-else-shown", "signature-invalid", {"rendering_sha256": "5" * 64})
consent_case("approval-with-a-blank", "signature-invalid", {"rendering_sha256": "4 4"})
consent_case("approval-without-a-key", "signature-invalid", {"key": ""})
consent_case("approval-with-a-broken-signature", "signature-invalid", {"signature": "AAAA"})
device_case("device-paired", "", device(OTHER, "paired"), device(MINE, "paired"))
device_case("device-not-paired", "device-unknown", device(OTHER, "paired"))
device_case("device-revoked", "device-unknown", device(MINE, "paired"), device(MINE, "revoked"))
device_case("device-paired-again", "device-unknown", device(MINE, "revoked"), device(MINE, "paired"))
device_case("device-of-no-standing", "device-unknown", device(OTHER, "paired"), device(MINE, "trusted"))
device_case("device-declined", "device-unknown", device(OTHER, "paired"), device(MINE, "paired") | {"given": False})
device_case("device-of-no-key", "", device(MINE, "paired", key="ssh-ed25519 AAAA"))
consent_case("approval-without-a-signature", "signature-invalid", {"signature": None})
turn_case("turn-cost", "")
turn_case("turn-cost-of-other-tokens", "cost-wrong", usage={"input_tokens": 201, "output_tokens": 100})
turn_case("turn-cost-of-another-price", "cost-wrong", price=PRICE | {"output": "10.000001"})
turn_case("turn-cost-of-a-number", "cost-wrong", cost_usd=0.00125)
text_case("text-missing", "blob-missing", ("turn", "ab"))
text_case("text-removed", "", ("turn", "ab"), ("removed", "a"))
text_case("text-removed-that-is-there", "", ("turn", "b"), ("removed", "ab"))
text_case("text-removed-before", "blob-missing", ("removed", "a"), ("turn", "a"))
text_case("text-removed-twice", "", ("turn", "a"), ("removed", "a"), ("session", "a"), ("removed", "a"))
text_case("text-removed-and-missing-again", "blob-missing", ("turn", "a"), ("removed", "a"), ("turn", "a"))
text_case("text-removed-and-missing-in-a-run", "blob-missing", ("turn", "a"), ("removed", "a"), ("task", "a"))
text_case("text-of-a-run-removed", "blob-missing", ("turn", "a"), ("task", "a"), ("removed", "a"))
case("", "--require", name="own-required")(own)
case("", name="own-old-form")(lambda folder: own(folder, whole(1)))
case("", "--require", name="own-mixed-form-required")(lambda folder: own(folder, mixed()))
case("", name="export")(export)
case("", "--require", name="export-required")(export)
case("", name="export-redacted")(lambda folder: export(folder, redact=True))
case("", "--require", name="export-redacted-required")(lambda folder: export(folder, redact=True))
case("", "--require", name="export-old-version-required")(lambda folder: export(folder, whole(1), version=1))
case("", name="export-old-version-redacted")(lambda folder: export(folder, whole(1), redact=True, version=1))
case("record-unproved", "--require", name="export-old-version-redacted-required")(
    lambda folder: export(folder, whole(1), redact=True, version=1))
case("", "--require", name="export-old-form-redacted-and-listed")(lambda folder: export(folder, whole(1), redact=True))
case("", "--require", name="export-mixed-form-redacted-and-listed")(lambda folder: export(folder, mixed(), redact=True))
case("", name="export-unsigned")(lambda folder: export(folder, key=None))
case("export-unsigned", "--require", name="export-unsigned-required")(lambda folder: export(folder, key=None))
case("", name="export-without-keys", keys=False)(export)
case("key-unknown", "--require", name="export-without-keys-required", keys=False)(export)
case("", "--require", name="own-without-keys-required", keys=False)(own)
case("", name="own-empty")(lambda folder: (put(folder / ".git/agentos/blobs/x", "") or folder / ".git/agentos"))


@case("")
def own_in_two_files(folder):
    at, tape = own(folder), whole()
    put(at / "tape.000001.jsonl", "".join(line + "\n" for line in tape.lines[:4]))
    put(at / "tape.jsonl", "".join(line + "\n" for line in tape.lines[4:]))
    return at


@case("")
def own_with_blobs_of_earlier_versions(folder):
    at = own(folder)
    for blob in list((at / "blobs").iterdir()):
        (at / "blobs" / blob.name[:2]).mkdir(exist_ok=True)
        blob.rename(at / "blobs" / blob.name[:2] / blob.name[2:])
    return at


@case("run-unsigned", "--require")
def own_cut_short(folder):
    return own(folder, whole().add("task", {}, "run-c"))


@case("run-unsigned", "--require")
def own_unsigned(folder):
    return own(folder, whole().add("checkpoint", {"envelopes": [], "unsigned": "no key"}, "run-c"))


# Spoiled lines.

spoiled("body-changed", "mutated", replaced(7, "no", "on"))
spoiled("salt-changed", "mutated", replaced(2, '"body_salt":"0', '"body_salt":"1'))
spoiled("body-digest-changed", "mutated", lambda lines: replaced(2, json.loads(lines[2])["body_sha256"], GENESIS)(lines))
spoiled("hash-changed", "mutated", lambda lines: replaced(2, json.loads(lines[2])["hash"], GENESIS)(lines))
spoiled("time-changed", "mutated", replaced(2, "2026", "2025"))
spoiled("kind-changed", "mutated", replaced(8, '"refusal"', '"consent"'))
spoiled("run-changed", "mutated", replaced(3, "run-a", "run-b"))
spoiled("version-lowered", "mutated", replaced(3, '"v":2', '"v":1'))
spoiled("version-raised", "mutated", replaced(3, '"v":2', '"v":3'))
spoiled("number-as-float", "mutated", replaced(3, '"seq":4', '"seq":4.0'))
spoiled("number-as-text", "mutated", replaced(3, '"seq":4', '"seq":"4"'))
spoiled("number-huge", "mutated", replaced(3, '"seq":4', '"seq":18446744073709551615'))
spoiled("member-twice", "mutated", replaced(3, '"seq":4', '"seq":4,"seq":4'))
spoiled("member-missing", "mutated", replaced(3, ',"v":2', ""))
spoiled("blank-at-the-end", "mutated", replaced(3, '"v":2}', '"v":2} '))
spoiled("blank-inside", "mutated", replaced(3, '"seq":4', '"seq": 4'))
spoiled("carriage-returns", "mutated head-changed", lambda lines: [line + "\r" for line in lines])
spoiled("byte-order-mark", "mutated", lambda lines: ["\ufeff" + lines[0], *lines[1:]])
spoiled("not-utf-8", "mutated", lambda lines: [lines[0].encode().replace(b"\xc3\xbc", b"\xff") + b"\n", *lines[1:]])
spoiled("nul-bytes", "mutated", lambda lines: [*lines, "\0" * 100])
spoiled("empty-lines", "mutated", lambda lines: [*lines, *[""] * 5000])
spoiled("garbage-at-the-end", "mutated", lambda lines: [*lines, "garbage"])
spoiled("torn", "torn-tail", lambda lines: [*lines, b'{"body":{"half'])
spoiled("line-without-end", "mutated", lambda lines: [*lines, b" " * (3 << 20)])
spoiled("line-too-long", "mutated", lambda lines: [*lines, " " * (1 << 20) + "x", "more"])
spoiled("dropped", "dropped", lambda lines: lines[:2] + lines[3:])
spoiled("first-dropped", "dropped", lambda lines: lines[1:])
spoiled("swapped", "reordered dropped", lambda lines: [lines[1], lines[0], *lines[2:]])
spoiled("twice", "duplicated", lambda lines: [*lines[:3], lines[2], *lines[3:]])
spoiled("spliced", "spliced", lambda lines: [*lines[:2], Tape().add("task", {}).add("task", {}).add("task", {}).lines[2],
                                            *lines[3:]])
spoiled("cut-off", "cut-off", lambda lines: lines[:-1])
spoiled("cut-to-nothing", "cut-off", lambda lines: [])
spoiled("many-gaps", "dropped duplicated head-changed", lambda lines: Tape().add("task", {}).lines
        + [line for at, line in enumerate(gaps().lines) if at % 2 == 0])
spoiled("withheld-in-own-evidence", "mutated", lambda lines: [withhold(lines[0]), *lines[1:]])


def gaps():
    """Returns a tape of 60 records without a run's end."""
    tape = Tape()
    for _ in range(60):
        tape.add("task", {})
    return tape


# Records whose hash is right.

resealed("resealed-sound", "", body={"a": 1})
resealed("resealed-order", "mutated", text='{"b":1,"a":2}')
resealed("resealed-member-twice", "mutated", text='{"a":1,"a":1}')
resealed("resealed-blank", "mutated", text='{"a": 1}')
resealed("resealed-float", "mutated", text='{"a":1.0}')
resealed("resealed-exponent", "mutated", text='{"a":1e3}')
resealed("resealed-minus-zero", "mutated", text='{"a":-0}')
resealed("resealed-infinite", "mutated", text='{"a":1e400}')
resealed("resealed-no-number", "mutated", text='{"a":NaN}')
resealed("resealed-inexact", "mutated", text='{"a":9007199254740993}')
resealed("resealed-many-digits", "mutated", text='{"a":' + "9" * 5000 + "}")
resealed("resealed-escape", "mutated", text=r'{"a":"\/"}')
resealed("resealed-unicode-escape", "mutated", text=r'{"a":"\u0041"}')
resealed("resealed-lone-surrogate", "mutated", text=r'{"a":"\ud800"}')
resealed("resealed-control", "mutated", text='{"a":"\x01"}')
resealed("resealed-nested", "", body=nested(64))
resealed("resealed-nested-too-deeply", "mutated", body=nested(65))
resealed("resealed-nested-far-too-deeply", "mutated", text="[" * 3000 + "]" * 3000)
resealed("resealed-salt-in-capitals", "mutated", body_salt="A" * 32)
resealed("resealed-salt-too-short", "mutated", body_salt="a" * 31)
resealed("resealed-more-members", "mutated", extra=1)
resealed("resealed-run-leads-out", "mutated", run="../x")
resealed("resealed-time-of-no-form", "mutated", ts="now, or later")
resealed("resealed-old-run-leads-out", "", form=1, run="../x")
resealed("resealed-old-run-escaped", "mutated", form=1, run='a"b')
resealed("resealed-unknown-kind", "mutated", kind="gossip")
case("form-downgraded", name="resealed-downgrade")(lambda folder: own(folder, whole().add("task", {}, "run-c", form=1)))
case("form-downgraded", name="resealed-downgrade-once-more")(
    lambda folder: own(folder, mixed().add("task", {}, "run-c", form=1).add("task", {}, "run-c")))
case("blob-missing", name="resealed-list-with-references")(
    lambda folder: own(folder, whole().add("intent", ["x", {"a_sha256": "sha256:" + "0" * 64}], "run-c")))

# Signatures of runs.

case("key-unknown", name="runs-of-another-key")(lambda folder: own(folder, whole(key=OTHER)))
case("signature-invalid", name="checkpoint-with-more-members")(
    lambda folder: own(folder, Tape().add("task", {}).checkpoint(extra=1)))
case("signature-invalid", name="checkpoint-without-envelopes")(
    lambda folder: own(folder, Tape().add("task", {}).checkpoint(envelopes=[])))
case("signature-invalid", name="checkpoint-of-another-run")(
    lambda folder: own(folder, Tape().add("task", {}).checkpoint("run-z").add(
        "checkpoint", json.loads(Tape().add("task", {}).checkpoint("run-z").lines[1])["body"])))


def envelope_case(name, expected, change):
    """Registers a case with a changed envelope of a checkpoint."""
    def recipe(folder):
        body = json.loads(Tape().add("task", {}).checkpoint().lines[1])["body"]
        change(body, body["envelopes"][0])
        return own(folder, Tape().add("task", {}).add("checkpoint", body))

    case(expected, name=name)(recipe)


envelope_case("envelope-sound", "", lambda body, one: None)
envelope_case("envelope-with-more-members", "signature-invalid", lambda body, one: one.update(extra=1))
envelope_case("envelope-of-another-type", "signature-invalid", lambda body, one: one.update(payloadType="text/plain"))
envelope_case("envelope-base64-open", "signature-invalid", lambda body, one: one.update(payload=one["payload"] + "="))
envelope_case("envelope-two-signatures", "", lambda body, one: one["signatures"].insert(
    0, {"keyid": MINE.id, "sig": base64.b64encode(b"0" * 64).decode()}))
envelope_case("envelope-signature-not-text", "signature-invalid", lambda body, one: one["signatures"][0].update(sig=1))
envelope_case("envelope-another-key", "signature-invalid", lambda body, one: body.update(key=OTHER.line))

# The note of the last record.


def head_case(name, expected, change):
    """Registers a case with a changed note of the last record."""
    def recipe(folder):
        at = own(folder)
        change(at / "head.json")
        return at

    case(expected, name=name)(recipe)


LAST = json.loads(whole().lines[-1])
head_case("head-gone", "head-changed", os.remove)
head_case("head-empty", "head-changed", lambda path: put(path, ""))
head_case("head-of-before", "", lambda path: put(path, head_of(9, json.loads(whole().lines[8])["hash"])))
head_case("head-of-nothing", "head-changed", lambda path: put(path, head_of(9, GENESIS)))
head_case("head-beyond", "cut-off", lambda path: put(path, head_of(99, LAST["hash"])))
head_case("head-float", "head-changed", lambda path: put(path, head_of(10.0, LAST["hash"])))
head_case("head-member-twice", "head-changed", lambda path: put(path, path.read_text().replace('"v":1', '"v":1,"v":1')))
head_case("head-more-members", "head-changed", lambda path: put(path, path.read_text().replace('"v":1', '"v":1,"w":1')))
head_case("head-huge", "head-changed", lambda path: os.truncate(path, 1 << 33))
head_case("head-padded", "head-changed", lambda path: put(path, path.read_text() + " " * (64 << 10)))
head_case("head-fifo", "refused", lambda path: (os.remove(path), os.mkfifo(path)))
head_case("head-link", "refused", lambda path: (path.rename(path.parent / "real"), os.symlink("real", path)))
head_case("head-folder", "refused", lambda path: (os.remove(path), path.mkdir()))

# Blobs and other files.


def blob_case(name, expected, change, *flags):
    """Registers a case with a changed blob."""
    def recipe(folder):
        at, tape = own(folder), whole()
        change(at / "blobs" / sorted(tape.blobs)[0])
        return at

    case(expected, *flags, name=name)(recipe)


blob_case("blob-gone", "blob-missing", os.remove)
blob_case("blob-changed", "blob-changed", lambda path: put(path, "other"))
blob_case("blob-folder", "blob-changed", lambda path: (os.remove(path), path.mkdir()))
blob_case("blob-fifo", "blob-changed", lambda path: (os.remove(path), os.mkfifo(path)))
blob_case("blob-link", "blob-changed", lambda path: (path.rename(path.parent / "real"), os.symlink("real", path)))
blob_case("blob-endless", "blob-changed", lambda path: (os.remove(path), os.symlink("/dev/zero", path)))
blob_case("blob-huge", "blob-changed", lambda path: os.truncate(path, 3 << 30))
blob_case("blobs-link", "refused", lambda path: (path.parent.rename(path.parents[1] / "real"),
                                                 os.symlink("real", path.parent)))
blob_case("blobs-file", "refused", lambda path: (shutil.rmtree(path.parent), put(path.parent, "")))
blob_case("old-blob-folder-link", "blob-changed", lambda path: (
    (path.parent / "real").mkdir(), path.rename(path.parent / "real" / path.name[2:]),
    os.symlink("real", path.parent / path.name[:2])))


def tape_case(name, expected, change):
    """Registers a case with a changed tape file."""
    def recipe(folder):
        at = own(folder)
        change(at / "tape.jsonl")
        return at

    case(expected, name=name)(recipe)


tape_case("tape-link", "refused", lambda path: (path.rename(path.parent / "real"), os.symlink("real", path)))
tape_case("tape-fifo", "refused", lambda path: (os.remove(path), os.mkfifo(path)))
tape_case("tape-folder", "refused", lambda path: (os.remove(path), path.mkdir()))
tape_case("tape-gone", "cut-off", os.remove)
tape_case("tape-hole", "mutated", lambda path: os.truncate(path, 1 << 40))
tape_case("full-tape-fifo", "refused", lambda path: os.mkfifo(path.parent / "tape.000001.jsonl"))
tape_case("full-tape-link", "refused", lambda path: os.symlink("tape.jsonl", path.parent / "tape.000001.jsonl"))
tape_case("planted-account", "", lambda path: put(path.parent / "export.json", '{"redacted":true,"version":1}'))


@case("")
def copy_of_evidence_that_goes_on(folder):
    shutil.copytree(own(folder, head=head_of(9, json.loads(whole().lines[8])["hash"])), folder / "copy")
    return folder / "copy"


@case("export-unsigned export-changed head-changed", "--require")
def copy_of_evidence_that_goes_on_required(folder):
    return copy_of_evidence_that_goes_on(folder)


@case("refused", "--require")
def link_to_evidence(folder):
    own(folder)
    os.symlink(".git/agentos", folder / "export")
    return folder / "export"


@case("mutated")
def planted_account_and_withheld(folder):
    tape = whole()
    at = own(folder, tape, [withhold(line) for line in tape.lines])
    put(at / "export.json", '{"redacted":true,"version":1}')
    return at


@case("mutated")
def planted_account_and_withheld_old_form(folder):
    tape = whole(1)
    at = own(folder, tape, [withhold(line) for line in tape.lines])
    put(at / "export.json", '{"redacted":true,"version":1}')
    return at


@case("mutated")
def planted_account_in_a_bare_repository(folder):
    tape = whole(1)
    at = own(folder, tape, [withhold(line) for line in tape.lines])
    put(at / "export.json", '{"redacted":true,"version":1}')
    bare = folder / "bare.git"
    (folder / ".git").rename(bare)
    put(bare / "HEAD", "ref: refs/heads/main\n")
    for name in ("objects", "refs"):
        (bare / name).mkdir()
    return bare / "agentos"


# Exports.


def export_case(name, expected, change, *flags, **made):
    """Registers a case with a changed export."""
    def recipe(folder):
        at = export(folder, **made)
        change(at)
        return at

    case(expected, *flags, name=name)(recipe)


def forge(at, form=2):
    """Forges a redaction: a refusal becomes a consent of another time, without content."""
    text = (at / "tape.jsonl").read_text().splitlines()
    record = json.loads(text[8])
    forged = verify.without(record, "body", "body_salt") | {"kind": "consent", "ts": "2020-01-01T00:00:00.000Z"}
    text[8] = canonical(forged | ({"redacted": True} if form == 1 else {}))
    put(at / "tape.jsonl", "".join(line + "\n" for line in text))
    about = json.loads((at / "export.json").read_text())
    put(at / "export.json", json.dumps(about | {"redacted": True}))


def relist(at):
    """Rewrites the list of files as somebody without the key can do it."""
    about = json.loads((at / "export.json").read_text())
    about["files"] = {name: digest((at / name).read_bytes()) for name in verify.LISTED if (at / name).exists()}
    put(at / "export.json", json.dumps(about))


def older(at, names):
    """Replaces files of this export by those of an older export of the same tape."""
    tape = Tape().landed()
    before = export(at.parent / "older", tape)
    for name in names:
        put(at / name, (before / name).read_bytes())
    shutil.rmtree(at.parent / "older")


def remove(*names):
    """Returns a change that removes files."""
    return lambda at: [os.remove(at / name) for name in names]


export_case("forged-redaction", "mutated export-changed signature-invalid", forge, "--require")
export_case("forged-redaction-relisted", "mutated export-unsigned", lambda at: (
    forge(at), relist(at), os.remove(at / "export.json.sig")), "--require")
export_case("forged-redaction-in-old-form", "mutated form-downgraded export-changed signature-invalid record-unproved",
            lambda at: forge(at, 1) or downgrade(at), "--require")
export_case("forged-redaction-of-an-old-export", "record-unproved", lambda at: forge(at, 1), "--require",
            tape=whole(1), version=1)
export_case("forged-redaction-of-an-old-tape", "export-changed signature-invalid record-unproved", lambda at: forge(at, 1),
            "--require", tape=whole(1))


def downgrade(at):
    """Writes the last record in the old form without its content, so that its hash covers nothing that exists."""
    text = (at / "tape.jsonl").read_text().splitlines()
    text[7] = canonical(verify.without(json.loads(text[7]), "body", "body_salt", "body_sha256")
                        | {"redacted": True, "v": 1})
    put(at / "tape.jsonl", "".join(line + "\n" for line in text))


export_case("withheld-prefix-in-old-form", "export-changed record-unproved", lambda at: prefix(at), "--require",
            redact=True)


def prefix(at):
    """Replaces the first record by one of the old form without its content."""
    text = (at / "tape.jsonl").read_text().splitlines()
    text[0] = canonical(verify.without(json.loads(text[0]), "body_sha256") | {"kind": "undo", "redacted": True, "v": 1})
    put(at / "tape.jsonl", "".join(line + "\n" for line in text))


export_case("withheld-checkpoint", "mutated export-changed head-changed run-unsigned", lambda at: put(
    at / "tape.jsonl", "".join((canonical(verify.without(json.loads(line), "body", "body_salt"))
                                if '"checkpoint"' in line else line) + "\n"
                               for line in (at / "tape.jsonl").read_text().splitlines())), "--require", redact=True)
export_case("withheld-and-whole", "", lambda at: None, "--require", redact=True, lines=whole().lines)
export_case("tail-cut", "signature-invalid export-changed", lambda at: cut(at, whole(), 7), "--require")
export_case("tail-cut-unrequired", "signature-invalid export-changed", lambda at: cut(at, whole(), 7))
export_case("tail-cut-of-an-old-export", "signature-invalid", lambda at: cut(at, whole(1), 7), "--require",
            tape=whole(1), version=1)
export_case("tail-cut-head-kept", "cut-off export-changed", lambda at: put(
    at / "tape.jsonl", "".join(line + "\n" for line in whole().lines[:7])), "--require")
export_case("tail-cut-unsigned", "export-unsigned", lambda at: (
    cut(at, whole(), 7), relist(at), remove("head.json.sig", "export.json.sig")(at)), "--require")
export_case("tail-cut-signed-by-another", "key-unknown", lambda at: (
    cut(at, whole(), 7), sign(at, Tape().landed(), key=OTHER)), "--require")
export_case("head-signature-gone", "export-unsigned", remove("head.json.sig"), "--require")
export_case("head-signature-gone-of-an-old-export", "export-unsigned", remove("head.json.sig"), "--require",
            tape=whole(1), version=1)
export_case("list-signature-gone", "export-unsigned", remove("export.json.sig"), "--require")
export_case("list-gone", "export-changed signature-invalid", remove("export.json"), "--require")
export_case("list-and-signature-gone", "export-changed export-unsigned", remove("export.json", "export.json.sig"),
            "--require")
export_case("list-of-earlier-version", "export-changed export-unsigned", lambda at: (
    put(at / "export.json", '{"redacted":true,"version":1}'), os.remove(at / "export.json.sig")), "--require")
export_case("list-of-earlier-version-unrequired", "export-changed", lambda at: (
    put(at / "export.json", '{"redacted":true,"version":1}'), os.remove(at / "export.json.sig")))
export_case("signatures-swapped", "signature-invalid", lambda at: (
    (at / "head.json.sig").rename(at / "x"), (at / "export.json.sig").rename(at / "head.json.sig"),
    (at / "x").rename(at / "export.json.sig")), "--require")
export_case("signature-of-an-older-head", "signature-invalid", lambda at: older(at, ["head.json.sig"]), "--require")
export_case("older-head-and-signature", "head-changed export-changed", lambda at: older(
    at, ["head.json", "head.json.sig"]), "--require")
export_case("older-list-and-signature", "export-changed", lambda at: older(
    at, ["export.json", "export.json.sig"]), "--require")
export_case("older-list-head-and-signatures", "head-changed export-changed", lambda at: older(
    at, ["export.json", "export.json.sig", "head.json", "head.json.sig"]), "--require")
export_case("signature-of-another-tape", "signature-invalid", lambda at: put(
    at / "head.json.sig", MINE.ssh(head_of(10, GENESIS))), "--require")
export_case("signature-of-another-key", "key-unknown", lambda at: sign(at, whole(), key=OTHER), "--require")
export_case("signature-with-carriage-returns", "signature-invalid", lambda at: put(
    at / "head.json.sig", (at / "head.json.sig").read_bytes().replace(b"\n", b"\r\n")))
export_case("signature-empty", "signature-invalid", lambda at: put(at / "head.json.sig", ""))
export_case("signature-huge", "signature-invalid", lambda at: os.truncate(at / "head.json.sig", 1 << 33))
export_case("signature-fifo", "refused", lambda at: (os.remove(at / "head.json.sig"), os.mkfifo(at / "head.json.sig")))
export_case("signature-link", "refused", lambda at: (
    (at / "head.json.sig").rename(at / "real"), os.symlink("real", at / "head.json.sig")))
export_case("page-changed", "export-changed", lambda at: put(at / "index.html", "<p>nothing happened</p>"))
export_case("page-gone", "export-changed", remove("index.html"))
export_case("page-fifo", "export-changed", lambda at: (os.remove(at / "index.html"), os.mkfifo(at / "index.html")))
export_case("keys-changed", "export-changed", lambda at: put(at / "allowed_signers", f"me {OTHER.line}\n"))
export_case("statement-changed", "export-changed", lambda at: put(at / "attestations/run-a.intoto.jsonl", "[]\n"))
export_case("statement-huge", "export-changed", lambda at: os.truncate(at / "attestations/run-a.intoto.jsonl", 1 << 40))
export_case("page-huge", "export-changed", lambda at: os.truncate(at / "index.html", 1 << 40))
export_case("tape-with-hole-in-an-export", "mutated export-changed head-changed", lambda at: os.truncate(
    at / "tape.jsonl", 1 << 40))
export_case("statement-planted", "export-changed", lambda at: put(at / "attestations/run-z.intoto.jsonl", "{}\n"))
export_case("statements-gone", "export-changed", lambda at: shutil.rmtree(at / "attestations"))
export_case("statements-link", "refused", lambda at: (
    (at / "attestations").rename(at / "real"), os.symlink("real", at / "attestations")))
export_case("full-tape-planted", "duplicated", lambda at: put(at / "tape.000001.jsonl", whole().lines[0] + "\n"), "--require")
export_case("list-leads-out", "export-changed signature-invalid", lambda at: put(at / "export.json", (
    at / "export.json").read_text().replace('"index.html"', '"../index.html"')))
export_case("list-of-later-version", "refused", lambda at: put(at / "export.json", '{"version":3}'))
export_case("list-no-json", "refused", lambda at: put(at / "export.json", "{"))
export_case("list-more-members", "refused", lambda at: put(at / "export.json", (
    at / "export.json").read_text().replace('"version"', '"more": 1, "version"')))
export_case("list-huge", "refused", lambda at: os.truncate(at / "export.json", 1 << 33))
export_case("list-fifo", "refused", lambda at: (os.remove(at / "export.json"), os.mkfifo(at / "export.json")))
export_case("list-redacted-changed", "signature-invalid", lambda at: put(at / "export.json", (
    at / "export.json").read_text().replace('"redacted": false', '"redacted": true')))
export_case("blob-of-an-export-gone", "blob-missing", lambda at: shutil.rmtree(at / "blobs"))
export_case("head-of-an-export-gone", "head-changed signature-invalid export-changed", remove("head.json"))


def make(out):
    """Writes every case and the list of them."""
    out = Path(out)
    put(out / "keys", f"me {MINE.line}\n")
    index = []
    for name, (recipe, kinds, flags, keys) in CASES.items():
        folder = out / name
        folder.mkdir(parents=True)
        at = recipe(folder)
        flags = [*flags, *(["--keys", str(out / "keys")] if keys else [])]
        index.append({"name": name, "dir": str(at), "flags": flags, "kinds": sorted(kinds), "exit": 7 if kinds else 0})
    put(out / "cases.json", json.dumps(index, indent=1) + "\n")
    print(len(index))


def run(out):
    """Verifies each case, with a time limit that no case comes close to."""
    for one in json.loads((Path(out) / "cases.json").read_text()):
        said = io.StringIO()
        signal.alarm(SECONDS)
        with contextlib.redirect_stdout(said):
            code = verify.main([one["dir"], *one["flags"]])
        signal.alarm(0)
        found = json.loads(said.getvalue())
        kinds = sorted({each["tampering"] for each in found.get("findings", [])}) or ["refused"][:"refused" in found]
        print(json.dumps({"name": one["name"], "exit": code, "kinds": kinds}))


if __name__ == "__main__":
    if len(sys.argv) != 3 or sys.argv[1] not in ("make", "run"):
        sys.exit(__doc__)
    {"make": make, "run": run}[sys.argv[1]](sys.argv[2])
