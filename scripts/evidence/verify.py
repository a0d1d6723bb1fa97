"""Verifies the evidence of AgentOS without AgentOS: the second opinion. It shares no code with the product.
    python3 verify.py DIR [--repo REPOSITORY] [--keys ALLOWED_SIGNERS] [--require]
DIR is `.git/agentos` or an export. Needs the package `cryptography`; `--repo` needs git. Exit codes: 0 sound, 7 not."""
import argparse, base64, hashlib, json, re, subprocess, sys
from pathlib import Path
from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
MEMBERS = {"body", "hash", "kind", "prev", "run", "seq", "ts", "v"}
QUOTING = {"task", "attempt", "tool_result", "boundary", "landing", "check", "decision", "consent", "refusal", "undo"}
KINDS = QUOTING | {"answer", "intent", "receipt", "recovered", "checkpoint"}
DIGEST = re.compile(r"sha256:[0-9a-f]{64}")
MOST = 1 << 20

def digest(data):
    return "sha256:" + hashlib.sha256(data).hexdigest()

def number(value):
    """A number as ECMAScript writes it, which is what RFC 8785 asks for."""
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
    if isinstance(value, dict):
        names = sorted(value, key=lambda name: name.encode("utf-16-be"))
        return "{" + ",".join(canonical(name) + ":" + canonical(value[name]) for name in names) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(canonical, value)) + "]"
    return number(value) if type(value) in (int, float) else json.dumps(value, ensure_ascii=False)

def parse(line, redacted):
    """The record of a line, if the line is exactly what would be written for it."""
    try:
        record = json.loads(line.decode())
        if len(line) > MOST or canonical(record).encode() != line or type(record["seq"]) is not int:
            return None
        if redacted and record.get("redacted") is True and record["kind"] in QUOTING:
            return record if DIGEST.fullmatch(record["hash"]) else None
        bare = {name: value for name, value in record.items() if name != "hash"}
        genuine = set(record) == MEMBERS and record["v"] == 1 and record["kind"] in KINDS
        return record if genuine and digest(canonical(bare).encode()) == record["hash"] else None
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError, OverflowError):
        return None

def lines(folder):
    for path in sorted(folder.glob("tape.[0-9][0-9][0-9][0-9][0-9][0-9].jsonl")) + [folder / "tape.jsonl"]:
        if path.exists():
            with open(path, "rb") as tape:
                yield from tape

def references(body):
    for name, value in body.items() if isinstance(body, dict) else enumerate(body):
        if isinstance(value, (dict, list)):
            yield from references(value)
        elif isinstance(value, str) and str(name).endswith("_sha256") and DIGEST.fullmatch(value):
            yield value

def public_key(line):
    words = line.split()
    wire = base64.b64decode(words[words.index("ssh-ed25519") + 1], validate=True)
    if wire[:-32] != b"\0\0\0\x0bssh-ed25519\0\0\0\x20":
        raise ValueError
    return wire

def statement(envelope, wire):
    """The statement of an envelope that this key signed."""
    keyid = "SHA256:" + base64.b64encode(hashlib.sha256(wire).digest()).decode().rstrip("=")
    payload = base64.b64decode(envelope["payload"], validate=True)
    (kind,) = {envelope["payloadType"]} & {"application/vnd.in-toto+json"}
    covered = b"DSSEv1 %d %s %d %s" % (len(kind), kind.encode(), len(payload), payload)
    (signature,) = [one["sig"] for one in envelope["signatures"] if one["keyid"] == keyid]
    Ed25519PublicKey.from_public_bytes(wire[-32:]).verify(base64.b64decode(signature, validate=True), covered)
    return json.loads(payload)

def statements(body):
    """The key of a checkpoint and what it signed: a first statement that names the other envelopes, or each by itself."""
    wire, (first, *others) = public_key(body["key"]), body["envelopes"]
    first = statement(first, wire)
    if "envelopes" not in first["predicate"]:
        return wire, [first] + [statement(other, wire) for other in others]
    if first["predicate"]["envelopes"] != [digest(canonical(other).encode()) for other in others]:
        raise ValueError
    return wire, [first]

def signed(record, commit, trusted):
    """What is wrong with a checkpoint: None, or the kind of tampering; False where it says that it is not signed."""
    body = record["body"]
    if body.get("key") is None and body.get("envelopes") == []:
        return False
    try:
        wire, (first, *others) = statements(body)
        subject, predicate = first["subject"][0]["digest"], first["predicate"]
        about = {"gitCommit": commit} if commit else {"sha256": record["prev"][7:]}
        here = (first["predicateType"], predicate["run"], predicate["tape"]) == (
            "urn:agentos:checkpoint:1", record["run"], {"head": record["prev"], "seq": record["seq"] - 1})
        if not here or subject != about or any(other["subject"] != first["subject"] for other in others):
            return "signature-invalid"
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, InvalidSignature):
        return "signature-invalid"
    return "key-unknown" if trusted and wire not in trusted else None

def fact(body, name):
    parts = [part for part in (body, body.get("plan"), body.get("receipt")) if isinstance(part, dict)]
    return next((part[name] for part in parts if isinstance(part.get(name), str)), None)

def history(repo, *which):
    """Commits by id: tree, evidence, and the marks by which one that was made of another is known."""
    form = "--format=%H%x1f%T%x1f%P%x1f%ae %at%x1f%s%x1f%(trailers:key=AgentOS-Evidence,valueonly,separator=%x20)"
    git = subprocess.run(["git", "-C", repo, "log", form, *which], capture_output=True, check="--all" in which)
    rows = [line.split("\x1f") for line in git.stdout.decode(errors="replace").split("\n") if line]
    return {id: (tree, (named.split() or [None])[-1], {(tree, on), (author, on), (author, 0, subject)})
            for id, tree, on, author, subject, named in rows}

def verify(folder, repo, trusted, require):
    commits = history(repo, "--exclude=refs/[!h]*", "--all") if repo else None
    kept = {mark for _, evidence, marks in (commits or {}).values() if not evidence for mark in marks}
    findings, seen, runs, intents, told = [], {}, {}, {}, set()
    tell = lambda kind, line=None: findings.append({"tampering": kind, "line": line})
    redacted = (about := folder / "export.json").exists() and json.loads(about.read_text()).get("redacted") is True
    everything = list(lines(folder))
    records = [parse(line[:-1], redacted) if line.endswith(b"\n") else None for line in everything]
    expected, prev, last, highest = 1, "sha256:" + "0" * 64, None, 0
    for at, record in enumerate(records, 1):
        if record is None:
            tell("mutated" if everything[at - 1].endswith(b"\n") else "torn-tail", at)
            expected, prev, last, highest = expected + 1, None, None, highest + 1
            continue
        if record["seq"] == expected and prev not in (None, record["prev"]):
            tell("spliced", at)
        elif record["seq"] > expected:
            tell("reordered" if any(other and other["seq"] == expected for other in records[at:]) else "dropped", at)
        elif record["seq"] < expected:
            tell("duplicated" if last == record["hash"] else "reordered", at)
        expected, prev, last, highest = record["seq"] + 1, record["hash"], record["hash"], max(highest, record["seq"])
        seen[record["seq"]] = record["hash"]
        kind, run, body = record["kind"], record["run"], record.get("body", {})
        known = runs.setdefault(run, {"intents": []})
        if kind == "checkpoint":
            flaw = signed(record, runs.pop(run).get("commit"), trusted)
            if flaw or (flaw is False and require):
                tell(flaw or "run-unsigned", at)
        elif kind == "intent":
            known["intents"].append(record["hash"])
            intents[record["hash"]] = {"tree": fact(body, "tree"), "run": known}
        elif kind == "receipt":
            known["commit"] = commit = fact(body, "commit")
            if commit and commits is not None:
                told.add(commit)
                there = commits if commit in commits else history(repo, "--no-walk", "--end-of-options", commit)
                tree, evidence, marks = there.get(commit, (None, None, ()))
                if (tree is None or tree != (fact(body, "tree") or tree) or evidence not in known["intents"]
                        or there is not commits and marks & kept):
                    tell("commit-rewritten" if tree else "record-without-commit", at)
        for name in references([body]):
            path = folder / "blobs" / name[7:]
            if not path.exists():  # where versions before put it
                path = folder / "blobs" / name[7:9] / name[9:]
            if path.exists() and digest(path.read_bytes()) != name:
                tell("blob-changed", at)
            elif not path.exists() and not redacted:
                tell("blob-missing", at)
    head = folder / "head.json"
    try:
        noted = json.loads(head.read_text()) if head.exists() else {"seq": 0} if highest <= 1 else {}
        if noted["seq"] > highest:
            tell("cut-off", highest + 1)
        elif noted["seq"] and (seen.get(noted["seq"]) != noted["hash"] or set(noted) != {"v", "seq", "hash"}):
            tell("head-changed")
    except (ValueError, KeyError, TypeError):
        tell("head-changed")
    for commit, (tree, evidence, _) in (commits or {}).items():
        intent = intents.get(evidence) or {"run": {"commit": commit}}
        if evidence and commit not in told and (intent["run"].get("commit") or tree != (intent["tree"] or tree)):
            tell("commit-rewritten" if evidence in intents else "commit-without-record")
    findings += [{"tampering": "run-unsigned", "line": None} for _ in runs if require]
    return findings, len(everything)

def main():
    parser = argparse.ArgumentParser()
    for name, more in {"dir": {"type": Path}, "--repo": {}, "--keys": {"type": Path},
                       "--require": {"action": "store_true"}}.items():
        parser.add_argument(name, **more)
    args = parser.parse_args()
    keys = (args.keys.read_text() if args.keys else "").splitlines()
    trusted = {public_key(line) for line in keys if "ssh-ed25519" in line.split()}
    findings, count = verify(args.dir, args.repo, trusted, args.require)
    print(json.dumps({"ok": not findings, "records": count, "findings": findings}))
    return 7 if findings else 0

if __name__ == "__main__":
    sys.exit(main())
