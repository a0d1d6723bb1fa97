"""Files and object ids of the landing benchmark. Standard library only."""
from __future__ import annotations

import hashlib
import json


def blob_id(data: bytes) -> str:
    """Returns git's id of a blob."""
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


def tree_id(entries: dict[str, tuple[str, str]]) -> str:
    """Returns git's tree id of {path: (mode, blob id)}, equal to the output of `git write-tree`."""
    root: dict = {}
    for path, ent in entries.items():
        d = root
        parts = path.split("/")
        for p in parts[:-1]:
            d = d.setdefault(p, {})
        d[parts[-1]] = tuple(ent)

    def walk(d: dict) -> str:
        rows = []
        for name, v in d.items():
            if isinstance(v, dict):
                rows.append((name.encode() + b"/", b"40000 " + name.encode() + b"\0" + bytes.fromhex(walk(v))))
            else:
                mode, sha = v
                rows.append((name.encode(), mode.encode() + b" " + name.encode() + b"\0" + bytes.fromhex(sha)))
        rows.sort(key=lambda r: r[0])
        body = b"".join(r[1] for r in rows)
        return hashlib.sha1(b"tree %d\0" % len(body) + body).hexdigest()

    return walk(root)


class Blobs:
    """Texts by blob id."""

    def __init__(self):
        self.d: dict[str, str] = {}

    def __getitem__(self, sha: str) -> str:
        return self.d[sha]

    @classmethod
    def load(cls, path: str) -> "Blobs":
        """Reads all texts of a corpus."""
        b = cls()
        with open(path, encoding="utf-8", newline="\n") as f:
            for line in f:
                r = json.loads(line)
                b.d[r["sha"]] = r["text"]
        return b


def load_jsonl(path: str) -> list[dict]:
    """Reads lines of JSON."""
    with open(path, encoding="utf-8", newline="\n") as f:
        return [json.loads(l) for l in f if l.strip()]


def save_jsonl(path: str, rows):
    """Writes lines of JSON with sorted keys, so that equal rows give equal files."""
    with open(path, "w", encoding="utf-8", newline="\n") as f:
        for r in rows:
            f.write(json.dumps(r, ensure_ascii=False, sort_keys=True) + "\n")
