//! Two verifiers that share no code agree on every kind of tampering: ours and `scripts/evidence/verify.py`.
//!
//! The normal run takes a sample of positions; `AGENTOS_TAMPER_ALL=1` takes them all. Without Python and its package
//! `cryptography`, ours is tested alone, and that is said.

use std::path::{Path, PathBuf};

use agentos_evidence::{PublicKey, RecordKind, RunFacts, SigningKey, Store, VerifyChecks, trust_key};
use agentos_testkit::cli::Cli;
use agentos_testkit::repo::{read_file, remove_file, write_file};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{TS, of_old, rewritten};

/// Reads a folder a line and prints `[ok, first broken line]` for each.
const DRIVER: &str = "
import json, sys
from pathlib import Path
sys.dont_write_bytecode = True
sys.path.insert(0, sys.argv[1])
import verify
trusted = {verify.public_key(line) for line in Path(sys.argv[2]).read_text().splitlines()}
for folder in sys.stdin.read().splitlines():
    findings, _ = verify.verify(Path(folder), None, trusted, False)
    lines = [found['line'] for found in findings if found['line'] is not None]
    print(json.dumps([not findings, lines[0] if lines else None]))
";

fn everything() -> bool {
    option_env!("AGENTOS_TAMPER_ALL").is_some()
}

/// A tape with `runs` signed runs, each with blobs of its own.
fn tape(dir: &Path, runs: usize, key: &SigningKey, salt: usize) {
    let store = Store::open(dir).unwrap();
    for run in 0..runs {
        let name = format!("run-{salt}-{run}");
        let mut facts = RunFacts::default();
        let answer = store.put_blob(format!("answer {salt} {run}").as_bytes()).unwrap();
        let diff = store.put_blob(format!("diff {salt} {run}").as_bytes()).unwrap();
        let mut records = vec![
            (
                RecordKind::Task,
                json!({ "verb": "apply", "instruction": "ü\u{1}\"\\ x", "n": [run, 0.5, -3, 1e-7] }),
            ),
            (RecordKind::Answer, json!({ "answer_sha256": answer })),
            (
                RecordKind::Landing,
                json!({ "diff_blob_sha256": diff, "é": { "b": 1, "a": null } }),
            ),
            (
                RecordKind::Decision,
                json!({ "decision": { "effect": "allow", "reasons": [] } }),
            ),
        ];
        if (run + salt).is_multiple_of(2) {
            records.push((RecordKind::Receipt, json!({ "tree": "t", "writes": "nothing" })));
        } else {
            records.push((
                RecordKind::Refusal,
                json!({ "code": "stale", "outcome": "refused" }),
            ));
        }
        for (kind, body) in records {
            facts.add_record(kind, &body, TS);
            store.note(&name, kind, body, TS).unwrap();
        }
        store.checkpoint(&name, &facts, Ok(key), TS).unwrap();
    }
}

/// One way to spoil a tape, and where.
#[derive(Debug, Clone, Copy)]
enum Spoil {
    Byte(usize),
    Drop(usize),
    Swap(usize),
    Twice(usize),
    Splice(usize),
    Head(usize),
    Middle(usize),
    TapeTail(usize),
    Cut(usize),
    BlobByte(usize),
    BlobGone(usize),
    BlobsSwapped(usize),
    HeadFile(usize),
    Resealed(usize),
    /// A checkpoint's second statement, in one of several ways, and everything after it written anew.
    Attested(usize),
}

/// What every case is made from.
struct Ground {
    folder: TempDir,
    key: SigningKey,
    bytes: Vec<u8>,
    head: Vec<u8>,
    blobs: Vec<PathBuf>,
    /// A line of another genuine tape by the same key.
    foreign: Vec<String>,
    /// The same runs, signed by another key.
    forged: PathBuf,
}

impl Ground {
    fn new() -> Self {
        let folder = TempDir::new().unwrap();
        let (key, _) = SigningKey::generate().unwrap();
        let (other, _) = SigningKey::generate().unwrap();
        let (good, foreign, forged) = (
            folder.path().join("good"),
            folder.path().join("foreign"),
            folder.path().join("forged"),
        );
        tape(&good, 4, &key, 1);
        tape(&foreign, 4, &key, 2);
        tape(&forged, 4, &other, 1);
        trust_key(&folder.path().join("allowed_signers"), "me", &key.public()).unwrap();
        let mut blobs = files_below(&good.join("blobs"));
        blobs.sort();
        let text = String::from_utf8(read_file(&foreign.join("tape.jsonl"))).unwrap();
        Self {
            bytes: read_file(&good.join("tape.jsonl")),
            head: read_file(&good.join("head.json")),
            blobs,
            foreign: text.lines().map(str::to_owned).collect(),
            forged,
            key,
            folder,
        }
    }

    fn cases(&self) -> Vec<Spoil> {
        let lines = self.bytes.iter().filter(|byte| **byte == b'\n').count();
        let mut all: Vec<Spoil> = Vec::new();
        let step = if everything() {
            self.bytes.len() / 900
        } else {
            self.bytes.len() / 40
        };
        all.extend((0..self.bytes.len()).step_by(step.max(1)).map(Spoil::Byte));
        all.extend((1..self.bytes.len()).step_by(step.max(1) * 4).map(Spoil::Cut));
        let of_lines: [fn(usize) -> Spoil; 7] = [
            Spoil::Drop,
            Spoil::Twice,
            Spoil::Splice,
            Spoil::Head,
            Spoil::TapeTail,
            Spoil::Swap,
            Spoil::Middle,
        ];
        for (at, make) in of_lines.into_iter().enumerate() {
            let step = if everything() { 1 } else { 5 };
            all.extend((at % step..lines - 2).step_by(step).map(make));
        }
        for at in 0..self.blobs.len() {
            all.extend([Spoil::BlobByte(at), Spoil::BlobGone(at), Spoil::BlobsSwapped(at)]);
        }
        all.extend((0..self.head.len()).step_by(7).map(Spoil::HeadFile));
        all.extend((1..=4).map(Spoil::Resealed));
        all.extend((0..12).map(Spoil::Attested));
        all
    }

    /// A folder that is spoiled in this way.
    fn spoiled(&self, number: usize, spoil: Spoil) -> PathBuf {
        let dir = self.folder.path().join(format!("case-{number}"));
        let good = self.folder.path().join("good");
        for blob in &self.blobs {
            write_file(&dir.join(blob.strip_prefix(&good).unwrap()), read_file(blob));
        }
        let mut lines: Vec<Vec<u8>> = self
            .bytes
            .split_inclusive(|byte| *byte == b'\n')
            .map(<[u8]>::to_vec)
            .collect();
        if let Spoil::Attested(at) = spoil {
            rewritten(&good, &dir, |number, body| {
                let mut body = if at < 6 {
                    body.clone()
                } else {
                    of_old(body, &self.key)
                };
                if number == at % 3 {
                    attested(at % 6 / 3, body["envelopes"].as_array_mut().unwrap());
                }
                body
            });
            return dir;
        }
        let mut head = self.head.clone();
        let blob = |at: usize| dir.join(self.blobs[at % self.blobs.len()].strip_prefix(&good).unwrap());
        match spoil {
            Spoil::Byte(at) => {
                let mut bytes = self.bytes.clone();
                bytes[at] ^= 1 << (at % 7);
                lines = vec![bytes];
            }
            Spoil::Cut(at) => lines = vec![self.bytes[..at].to_vec()],
            Spoil::Drop(at) => drop(lines.remove(at)),
            Spoil::Swap(at) => lines.swap(at, at + 1),
            Spoil::Twice(at) => lines.insert(at, lines[at].clone()),
            Spoil::Splice(at) => lines[at] = format!("{}\n", self.foreign[at]).into_bytes(),
            Spoil::Head(at) => drop(lines.drain(..=at)),
            Spoil::Middle(at) => drop(lines.drain(at..at + 2)),
            Spoil::TapeTail(at) => lines.truncate(lines.len() - 1 - at),
            Spoil::BlobByte(at) => {
                let mut bytes = read_file(&blob(at));
                bytes[0] ^= 1;
                write_file(&blob(at), bytes);
            }
            Spoil::BlobGone(at) => remove_file(&blob(at)),
            Spoil::BlobsSwapped(at) => {
                let (one, two) = (read_file(&blob(at)), read_file(&blob(at + 1)));
                write_file(&blob(at), two);
                write_file(&blob(at + 1), one);
            }
            Spoil::HeadFile(at) => head[at] ^= 1,
            Spoil::Resealed(runs) => {
                // Everything written anew by somebody who has everything but the key: hashes, head and all.
                let mut text: Vec<Vec<u8>> = read_file(&self.forged.join("tape.jsonl"))
                    .split_inclusive(|byte| *byte == b'\n')
                    .map(<[u8]>::to_vec)
                    .collect();
                text.truncate(runs * 6);
                let last: Value = serde_json::from_slice(text.last().unwrap()).unwrap();
                head = json!({ "v": 1, "seq": last["seq"], "hash": last["hash"] })
                    .to_string()
                    .into_bytes();
                lines = text;
            }
            Spoil::Attested(_) => {}
        }
        write_file(&dir.join("tape.jsonl"), lines.concat());
        write_file(&dir.join("head.json"), head);
        dir
    }
}

/// Spoils the second of a checkpoint's two statements.
fn attested(how: usize, envelopes: &mut Vec<Value>) {
    match how {
        0 => envelopes[1]["signatures"][0]["sig"] = envelopes[0]["signatures"][0]["sig"].clone(),
        _ => envelopes.push(
            json!({ "payload": "e30=", "payloadType": "application/vnd.in-toto+json", "signatures": [] }),
        ),
    }
}

fn files_below(dir: &Path) -> Vec<PathBuf> {
    let entries = std::fs::read_dir(dir).unwrap().map(|entry| entry.unwrap().path());
    entries
        .flat_map(|path| {
            if path.is_dir() {
                files_below(&path)
            } else {
                vec![path]
            }
        })
        .collect()
}

/// Sound or not, and the first broken line.
type Verdict = (bool, Option<u64>);

fn ours(dir: &Path, key: PublicKey) -> Verdict {
    let checks = VerifyChecks {
        keys: vec![key],
        ..VerifyChecks::default()
    };
    let report = Store::open(dir).unwrap().verify(&checks).unwrap();
    (report.ok, report.findings.iter().find_map(|finding| finding.line))
}

/// The same by Python; none, and told, where it cannot be had.
fn theirs(ground: &Ground, dirs: &[PathBuf]) -> Option<Vec<Verdict>> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
    let own = root.join(".venv-evidence/bin/python");
    let python = if own.exists() {
        own
    } else {
        PathBuf::from("python3")
    };
    let python = python.to_str().unwrap();
    let env = Cli::new("/usr/bin/env").unwrap();
    let has = env.run(&[python, "-c", "import cryptography"]).unwrap();
    if has.code != Some(0) {
        eprintln!("skipped: the second verifier: no Python with the package `cryptography`");
        return None;
    }
    let list: String = dirs.iter().map(|dir| format!("{}\n", dir.display())).collect();
    let (scripts, keys) = (
        root.join("scripts/evidence"),
        ground.folder.path().join("allowed_signers"),
    );
    let args = [
        python,
        "-c",
        DRIVER,
        scripts.to_str().unwrap(),
        keys.to_str().unwrap(),
    ];
    let output = env.run_with_input(&args, list.as_bytes()).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    let verdicts = output
        .stdout
        .lines()
        .map(|line| serde_json::from_str(line).unwrap());
    Some(verdicts.collect())
}

#[test]
fn every_tampering_is_found_by_both_at_the_same_line() {
    let ground = Ground::new();
    let cases = ground.cases();
    let dirs: Vec<PathBuf> = cases
        .iter()
        .enumerate()
        .map(|(number, case)| ground.spoiled(number, *case))
        .collect();
    let found: Vec<Verdict> = dirs.iter().map(|dir| ours(dir, ground.key.public())).collect();
    let missed: Vec<_> = cases.iter().zip(&found).filter(|(_, (ok, _))| *ok).collect();
    assert!(missed.is_empty(), "missed by ours: {missed:?}");
    if let Some(second) = theirs(&ground, &dirs) {
        assert_eq!(second.len(), cases.len());
        let differ: Vec<_> = cases
            .iter()
            .zip(found.iter().zip(&second))
            .filter(|(_, (one, two))| one != two)
            .collect();
        assert!(differ.is_empty(), "the two differ: {differ:?}");
    }
    eprintln!("{} spoiled tapes", cases.len());
    assert!(
        cases.len() >= if everything() { 1000 } else { 100 },
        "{}",
        cases.len()
    );
}

#[test]
fn no_untouched_tape_is_suspected_by_either() {
    let ground = Ground::new();
    let count = if everything() { 1000 } else { 12 };
    let dirs: Vec<PathBuf> = (0..count)
        .map(|number| ground.folder.path().join(format!("sound-{number}")))
        .collect();
    for (number, dir) in dirs.iter().enumerate() {
        if number % 4 == 3 {
            // A checkpoint from before the first statement named the others.
            let one = ground.folder.path().join(format!("one-{number}"));
            tape(&one, 1, &ground.key, number);
            for blob in files_below(&one.join("blobs")) {
                write_file(&dir.join(blob.strip_prefix(&one).unwrap()), read_file(&blob));
            }
            rewritten(&one, dir, |_, body| of_old(body, &ground.key));
        } else {
            tape(dir, 1 + number % 3, &ground.key, number);
        }
    }
    for dir in &dirs {
        assert_eq!(ours(dir, ground.key.public()), (true, None), "{}", dir.display());
    }
    if let Some(second) = theirs(&ground, &dirs) {
        assert_eq!(second, vec![(true, None); dirs.len()]);
    }
}
