//! Runs that end in a signed checkpoint.

use agentos_evidence::{
    PublicKey, RecordKind, RunFacts, SigningKey, Store, Tampering, VerifyChecks, VerifyReport, trust_key,
    trusted_keys,
};
use agentos_testkit::repo::{read_file, write_file};
use serde_json::{Value, json};
use tempfile::TempDir;

use crate::support::{TS, Tape, envelopes, of_old, rewritten, rewritten_records};

/// Two runs, the first landed as commit `c1`, the second refused; each signed by its key.
fn two_runs(first: &SigningKey, second: &SigningKey) -> TempDir {
    let folder = TempDir::new().unwrap();
    let store = Store::open(folder.path()).unwrap();
    let records = [
        (
            RecordKind::Task,
            json!({ "verb": "apply", "target": { "refname": "refs/heads/main" } }),
        ),
        (
            RecordKind::Decision,
            json!({ "decision": { "effect": "allow", "reasons": [] } }),
        ),
        (RecordKind::Receipt, json!({ "commit": "c1", "tree": "t1" })),
    ];
    run(&store, "run-1", &records, Ok(first));
    run(
        &store,
        "run-2",
        &[(RecordKind::Refusal, json!({ "code": "stale" }))],
        Ok(second),
    );
    folder
}

fn run(store: &Store, run: &str, records: &[(RecordKind, Value)], signer: Result<&SigningKey, &str>) {
    let mut facts = RunFacts::default();
    for (kind, body) in records {
        facts.add_record(*kind, body, TS);
        store.append(run, *kind, body.clone(), TS).unwrap();
    }
    store.checkpoint(run, &facts, signer, TS).unwrap();
}

fn verify(folder: &TempDir, keys: &[PublicKey], require: bool) -> VerifyReport {
    let checks = VerifyChecks {
        keys: keys.to_vec(),
        require,
        ..VerifyChecks::default()
    };
    Store::open(folder.path()).unwrap().verify(&checks).unwrap()
}

fn key() -> SigningKey {
    SigningKey::generate().unwrap().0
}

fn kinds(report: &VerifyReport) -> Vec<Tampering> {
    report.findings.iter().map(|finding| finding.tampering).collect()
}

#[test]
fn signed_runs_hold_and_say_who_signed() {
    let key = key();
    let folder = two_runs(&key, &key);
    let report = verify(&folder, &[key.public()], true);
    assert!(report.ok, "{report:?}");
    assert_eq!((report.signed, report.unsigned), (2, 0));
    assert_eq!(
        (report.keys[0].id.clone(), report.keys[0].trusted),
        (key.public().id(), true)
    );
}

#[test]
fn a_stranger_learns_that_nobody_vouches_for_the_key() {
    let key = key();
    let folder = two_runs(&key, &key);
    let report = verify(&folder, &[], false);
    assert!(report.ok);
    assert_eq!(report.notes.len(), 1, "{report:?}");
}

#[test]
fn a_run_signed_by_another_key_is_found() {
    let (mine, other) = (key(), key());
    let folder = two_runs(&mine, &other);
    assert_eq!(
        kinds(&verify(&folder, &[mine.public()], false)),
        [Tampering::KeyUnknown]
    );
    assert!(verify(&folder, &[mine.public(), other.public()], true).ok);
}

#[test]
fn a_checkpoint_that_was_signed_for_another_place_is_found() {
    let key = key();
    let (folder, other) = (two_runs(&key, &key), two_runs(&key, &key));
    let store = Store::open(other.path()).unwrap();
    let moved = store.run("run-1").unwrap().pop().unwrap().body;
    // Written by somebody who can write the tape and copy signatures, and cannot sign.
    let store = Store::open(folder.path()).unwrap();
    store.append("run-3", RecordKind::Task, json!({}), TS).unwrap();
    store.append("run-3", RecordKind::Checkpoint, moved, TS).unwrap();
    assert_eq!(
        kinds(&verify(&folder, &[key.public()], false)),
        [Tampering::SignatureInvalid]
    );
}

#[test]
fn a_checkpoint_whose_statement_was_changed_is_found() {
    let key = key();
    let folder = two_runs(&key, &key);
    let store = Store::open(folder.path()).unwrap();
    let good = store.run("run-2").unwrap().pop().unwrap().body;
    for (pointer, value) in [
        ("/envelopes/0/payload", json!("e30=")),
        ("/envelopes/0/signatures", json!([])),
        ("/envelopes", json!([])),
        ("/key", json!("ssh-ed25519 AAAA")),
        ("/key", json!(key_line())),
    ] {
        let mut bad = good.clone();
        *bad.pointer_mut(pointer).unwrap() = value;
        let spoiled = two_runs(&key, &key);
        let store = Store::open(spoiled.path()).unwrap();
        store.append("run-3", RecordKind::Checkpoint, bad, TS).unwrap();
        assert_eq!(
            kinds(&verify(&spoiled, &[key.public()], false)),
            [Tampering::SignatureInvalid],
            "{pointer}"
        );
    }
}

fn key_line() -> String {
    key().public().line()
}

/// What verifying finds when the first run's checkpoint is made into another one.
fn with_first(good: &TempDir, key: &SigningKey, change: impl Fn(&Value) -> Value) -> VerifyReport {
    let folder = TempDir::new().unwrap();
    // The second run's checkpoint was signed for what came before it, so it is left out.
    rewritten(good.path(), folder.path(), |number, body| match number {
        0 => change(body),
        _ => json!({ "envelopes": [], "unsigned": "left out" }),
    });
    verify(&folder, &[key.public()], false)
}

#[test]
fn the_other_statements_are_held_by_the_one_that_names_them() {
    let key = key();
    let good = two_runs(&key, &key);
    let another = two_runs(&key, &key);
    let foreign = Store::open(another.path())
        .unwrap()
        .run("run-2")
        .unwrap()
        .pop()
        .unwrap();
    let foreign = foreign.body["envelopes"][0].clone();
    type Change = Box<dyn Fn(&mut Vec<Value>)>;
    let other = PublicKey::from_line(&key_line()).unwrap();
    let cases: [(&str, Change); 7] = [
        ("one is gone", Box::new(|all| drop(all.remove(1)))),
        (
            "one more of the same key",
            Box::new(move |all| all.push(foreign.clone())),
        ),
        ("one is there twice", Box::new(|all| all.push(all[2].clone()))),
        ("two are swapped", Box::new(|all| all.swap(1, 2))),
        (
            "another's words",
            Box::new(|all| all[1]["payload"] = all[2]["payload"].clone()),
        ),
        (
            "another's signature",
            Box::new(|all| all[1]["signatures"] = all[2]["signatures"].clone()),
        ),
        (
            "another signer",
            Box::new(move |all| all[1]["signatures"][0]["keyid"] = other.id().into()),
        ),
    ];
    for (name, change) in cases {
        let report = with_first(&good, &key, |body| {
            let mut body = body.clone();
            change(body["envelopes"].as_array_mut().unwrap());
            body
        });
        assert_eq!(kinds(&report), [Tampering::SignatureInvalid], "{name}");
    }
    assert!(with_first(&good, &key, Value::clone).ok);
}

#[test]
fn each_statement_is_signed_for_whoever_reads_it_alone() {
    let key = key();
    let good = two_runs(&key, &key);
    let body = Store::open(good.path())
        .unwrap()
        .run("run-1")
        .unwrap()
        .pop()
        .unwrap()
        .body;
    let all = envelopes(&body);
    assert_eq!(all.len(), 3);
    assert!(all.iter().all(|envelope| envelope.open(&key.public()).is_some()));
}

#[test]
fn a_checkpoint_from_before_holds_where_each_signature_does() {
    let key = key();
    let good = two_runs(&key, &key);
    let report = with_first(&good, &key, |body| of_old(body, &key));
    assert!(report.ok && report.signed == 1, "{report:?}");
    for at in 0..3 {
        let report = with_first(&good, &key, |body| {
            let mut old = of_old(body, &key);
            let other = old["envelopes"][(at + 1) % 3]["signatures"].clone();
            old["envelopes"][at]["signatures"] = other;
            old
        });
        assert_eq!(kinds(&report), [Tampering::SignatureInvalid], "{at}");
    }
    // Nothing that names the others can be taken for one that does not.
    let report = with_first(&good, &key, |body| {
        let mut mixed = of_old(body, &key);
        mixed["envelopes"][0] = body["envelopes"][0].clone();
        mixed["envelopes"].as_array_mut().unwrap().pop();
        mixed
    });
    assert_eq!(kinds(&report), [Tampering::SignatureInvalid]);
}

#[test]
fn a_run_without_a_signature_is_a_fault_only_where_signatures_are_required() {
    let key = key();
    let folder = two_runs(&key, &key);
    let store = Store::open(folder.path()).unwrap();
    run(
        &store,
        "run-3",
        &[(RecordKind::Task, json!({}))],
        Err("there is no home folder"),
    );
    store.append("run-4", RecordKind::Task, json!({}), TS).unwrap();
    let report = verify(&folder, &[key.public()], false);
    assert!(report.ok, "{report:?}");
    assert_eq!((report.signed, report.unsigned), (2, 2));
    let report = verify(&folder, &[key.public()], true);
    assert_eq!(kinds(&report), [Tampering::RunUnsigned, Tampering::RunUnsigned]);
}

#[test]
fn a_rewritten_tape_loses_its_signatures() {
    let key = key();
    let folder = two_runs(&key, &key);
    // Everything again, every hash right, one fact another.
    let forged = TempDir::new().unwrap();
    rewritten_records(folder.path(), forged.path(), |record| {
        let text = record.body.to_string().replace("stale", "empty");
        serde_json::from_str(&text).unwrap()
    });
    assert_eq!(
        kinds(&verify(&forged, &[key.public()], false)),
        [Tampering::SignatureInvalid]
    );
}

#[test]
fn trusted_keys_are_a_file_that_openssh_reads() {
    let folder = TempDir::new().unwrap();
    let path = folder.path().join("config/allowed_signers");
    assert_eq!(trusted_keys(&path).unwrap(), []);
    let key = key().public();
    assert!(trust_key(&path, "me@here", &key).unwrap());
    assert!(!trust_key(&path, "me@here", &key).unwrap(), "once is enough");
    assert!(trust_key(&path, "a b", &key).is_err());
    let text = String::from_utf8(read_file(&path)).unwrap();
    assert_eq!(
        text,
        format!("me@here namespaces=\"agentos-evidence\" {}\n", key.line())
    );
    write_file(&path, format!("# mine\nx ssh-rsa AAAA\n{text}"));
    let found = trusted_keys(&path).unwrap();
    assert_eq!((found[0].name.as_str(), found[0].key), ("me@here", key));
}

#[test]
fn an_approval_whose_record_was_too_long_is_checked_in_its_blob() {
    let body = |proof: Value| json!({ "given": true, "answers": "run-0", "hashes": {}, "consent": { "who": "A", "proof": proof } });
    for (text, expected) in [
        (
            json!({ "given": true, "consent": { "who": "A" } }).to_string(),
            None,
        ),
        (
            body(json!({ "key": "", "signature": "" })).to_string(),
            Some(Tampering::SignatureInvalid),
        ),
        ("[]".to_owned(), Some(Tampering::Mutated)),
    ] {
        let tape = Tape::new();
        let blob = tape.store.put_blob(text.as_bytes()).unwrap();
        tape.add(
            RecordKind::Consent,
            json!({ "body_sha256": blob, "body_bytes": text.len() }),
        );
        assert_eq!(tape.first().map(|(kind, _)| kind), expected, "{text}");
    }
}
