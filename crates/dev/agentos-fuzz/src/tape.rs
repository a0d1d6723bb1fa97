//! The evidence tape: no change to a sound tape is accepted, and no bytes crash a reader.
//!
//! Owns: a small sound tape, and the claims about verifying changed copies of it. Never: knows how a record is
//! hashed.

use std::path::Path;
use std::sync::OnceLock;

use agentos_evidence::{PublicKey, RecordKind, RunFacts, SigningKey, Store, VerifyChecks, VerifyReport};
use agentos_tool::Secret;
use serde_json::json;

use crate::bytes::{ByteReader, split_parts};
use crate::mutate::mutate;
use crate::scratch::{self, FileMap};

pub(crate) const TIME: &str = "2026-11-21T09:14:00.000Z";
/// Answer of a tool, stored as a blob.
const ANSWER: &[u8] = b"the answer\n";

/// Words that a forger would replace by one another.
pub(crate) const WORDS: [&str; 16] = [
    "\"allow\"",
    "\"deny\"",
    "\"task\"",
    "\"consent\"",
    "\"refusal\"",
    "\"decision\"",
    "\"answer\"",
    "run-1",
    "run-2",
    "2026-11-21",
    "2020-01-01",
    "\"seq\":1",
    "\"seq\":2",
    "\"seq\":3",
    "true",
    "false",
];

/// Tape of two signed runs.
pub(crate) struct SoundTape {
    /// Files of its folder.
    pub(crate) files: FileMap,
    /// Key that signed the end of both runs.
    pub(crate) key: PublicKey,
    /// Name of the only blob.
    pub(crate) blob: String,
}

/// Reads the first byte. 255: the parts between NUL bytes are a tape and its head. Anything else: the rest describes
/// changes to the sound tape.
///
/// # Panics
/// If a claim does not hold.
pub fn check_tape(data: &[u8]) {
    let mut bytes = ByteReader(data);
    let folder = scratch::make_folder();
    if bytes.next() == 255 {
        let parts = split_parts(bytes.0);
        scratch::write_file(
            &folder.path().join("tape.jsonl"),
            parts.first().copied().unwrap_or_default(),
        );
        if let Some(head) = parts.get(1) {
            scratch::write_file(&folder.path().join("head.json"), head);
        }
        check_any_tape(folder.path());
    } else {
        let sound = sound_tape();
        let mut files = sound.files.clone();
        mutate(&mut files, &mut bytes, &WORDS);
        scratch::write_files(folder.path(), &files);
        check_changed_tape(folder.path(), sound, &files);
    }
}

/// Whatever the files contain, every reader must return, and a tape that verifies must accept another record.
fn check_any_tape(folder: &Path) {
    let store = open(folder);
    let report = store.verify(&VerifyChecks::default());
    let read = store.records().map(|records| records.count());
    let _ = (read, store.runs(), store.stats());
    let Ok(report) = report else { return };
    assert_eq!(report.ok, report.findings.is_empty());
    if report.ok {
        let appended = store.append("run-9", RecordKind::Task, json!({ "verb": "run" }), TIME);
        assert!(appended.is_ok(), "a sound tape takes no record: {appended:?}");
        let again = verify(&open(folder), &VerifyChecks::default());
        assert!(
            again.ok && again.records == report.records + 1,
            "after a record it is not sound: {:?}",
            again.findings
        );
    }
}

/// An accepted tape must be the sound tape or a beginning of it, byte for byte, with the blobs that it names.
fn check_changed_tape(folder: &Path, sound: &SoundTape, files: &FileMap) {
    let store = open(folder);
    // With and without keys: without them the hash chain alone has to show every change.
    for keys in [Vec::new(), vec![sound.key]] {
        let require = !keys.is_empty();
        let checks = VerifyChecks {
            keys,
            require,
            ..VerifyChecks::default()
        };
        // A folder that cannot be read at all counts as refused.
        let Ok(report) = store.verify(&checks) else {
            continue;
        };
        assert_eq!(report.ok, report.findings.is_empty());
        assert!(
            // Changes may cancel each other out, and then the tape must be accepted.
            report.ok || *files != sound.files,
            "the sound tape is refused: {:?}",
            report.findings
        );
        if !report.ok {
            continue;
        }
        let (found, wanted) = (lines_of(files), lines_of(&sound.files));
        assert!(
            wanted.starts_with(&found),
            "a changed tape is accepted:\n{}",
            found.concat()
        );
        if found.iter().any(|line| line.contains("answer_sha256")) {
            let blob = store.get_blob(&sound.blob);
            assert!(
                blob.is_ok_and(|blob| blob == ANSWER),
                "a changed blob is accepted"
            );
        }
    }
}

/// Returns the lines of the tape among some files.
pub(crate) fn lines_of(files: &FileMap) -> Vec<String> {
    let tape = files.get("tape.jsonl").map(Vec::as_slice).unwrap_or_default();
    let text = String::from_utf8_lossy(tape);
    text.split_inclusive('\n').map(str::to_owned).collect()
}

pub(crate) fn open(folder: &Path) -> Store {
    match Store::open(folder) {
        Ok(store) => store,
        Err(error) => panic!("a plain folder is no store: {error}"),
    }
}

pub(crate) fn verify(store: &Store, checks: &VerifyChecks<'_>) -> VerifyReport {
    match store.verify(checks) {
        Ok(report) => report,
        Err(error) => panic!("a plain tape cannot be read: {error}"),
    }
}

/// Returns the sound tape, which is created once.
pub(crate) fn sound_tape() -> &'static SoundTape {
    static SOUND: OnceLock<SoundTape> = OnceLock::new();
    SOUND.get_or_init(|| match make_tape() {
        Ok(sound) => sound,
        Err(error) => panic!("no sound tape: {error}"),
    })
}

/// Returns a key that protects nothing: its seed is thirty-two zeros.
pub(crate) fn signing_key() -> Result<SigningKey, agentos_evidence::EvidenceError> {
    let secret = format!("agentos-ed25519:{}=", "A".repeat(43));
    SigningKey::from_secret(&Secret::new(&secret))
}

fn make_tape() -> Result<SoundTape, agentos_evidence::EvidenceError> {
    let folder = scratch::make_folder();
    let store = Store::open(folder.path())?;
    let signer = signing_key()?;
    let blob = store.put_blob(ANSWER)?;
    let bodies = [
        (
            RecordKind::Task,
            json!({ "verb": "run", "provider": "tiny", "instruction": "say it" }),
        ),
        (RecordKind::Answer, json!({ "answer_sha256": blob })),
        (
            RecordKind::Decision,
            json!({ "effect": "allow", "rules": ["default.rest"] }),
        ),
        (RecordKind::Refusal, json!({ "code": "stale" })),
    ];
    for run in ["run-1", "run-2"] {
        let mut facts = RunFacts::default();
        for (kind, body) in bodies.clone() {
            facts.add_record(kind, &body, TIME);
            store.append(run, kind, body, TIME)?;
        }
        store.checkpoint(run, &facts, Ok(&signer), TIME)?;
    }
    // Closed before its files are read.
    drop(store);
    let files = scratch::read_files(folder.path());
    let kept = files.into_iter().filter(|(name, _)| !name.contains("lock"));
    Ok(SoundTape {
        files: kept.collect(),
        key: signer.public(),
        blob,
    })
}
