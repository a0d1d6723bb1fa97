//! Evidence in the hands of programs that are not ours: the second verifier, securesystemslib, OpenSSH.
//!
//! Each is skipped, saying so, where it or its package is not installed. `cargo xtask ci` installs the packages.

use std::path::{Path, PathBuf};

use agentos_testkit::cli::{Cli, program};
use agentos_testkit::repo::{TestRepo, read_file, write_file};
use serde_json::Value;

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, signing, small_repo};

fn top() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..")
}

/// A Python that has a package; none, and told, where there is none.
pub fn python(package: &str) -> Option<PathBuf> {
    let has = |python: &Path| {
        let asked = program(python.to_str().unwrap())
            .args(["-c", &format!("import {package}")])
            .output();
        asked.is_ok_and(|output| output.status.success())
    };
    let found = [top().join(".venv-evidence/bin/python"), PathBuf::from("python3")]
        .into_iter()
        .find(|python| has(python));
    if found.is_none() {
        eprintln!("skipped: no Python with the package `{package}`");
    }
    found
}

/// The exit code of a script of ours, and what it prints.
pub fn script(python: &Path, name: &str, args: &[&str]) -> (Option<i32>, Value) {
    let output = program(python.to_str().unwrap())
        .arg("-B")
        .arg(top().join("scripts/evidence").join(name))
        .args(args)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stderr);
    let json = serde_json::from_slice(&output.stdout).unwrap_or_else(|error| panic!("{error}: {said}"));
    (output.status.code(), json)
}

/// A user with a key, and a repository with a run that landed and one that needs consent.
fn ground() -> (TestRepo, Cli) {
    let repo = small_repo();
    let cli = signing(&repo);
    for (answer, code) in [(SLOPPY_FIX, 0), (WORKFLOW_EDIT, 4)] {
        let output = cli.run_with_input(&["apply"], answer.as_bytes()).unwrap();
        assert_eq!(output.code, Some(code), "{output}");
    }
    (repo, cli)
}

/// The same, exported; gives the folder.
fn exported(repo: &TestRepo, cli: &Cli) -> PathBuf {
    let out = repo.outside().join("export");
    let output = cli
        .run(&["evidence", "export", "--out", out.to_str().unwrap()])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    out
}

#[test]
fn the_statements_hold_for_securesystemslib_and_a_changed_one_does_not() {
    let Some(python) = python("securesystemslib, cryptography") else {
        return;
    };
    let (repo, cli) = ground();
    let out = exported(&repo, &cli);
    let signers = out.join("allowed_signers");
    let args = [out.to_str().unwrap(), signers.to_str().unwrap()];
    let (code, said) = script(&python, "attestations.py", &args);
    assert_eq!(code, Some(0), "{said}");
    insta::assert_snapshot!(said["predicates"], @r#"
    {"https://slsa.dev/provenance/v1":1,"https://slsa.dev/verification_summary/v1":1,"urn:agentos:checkpoint:1":2,"urn:agentos:decision:1":1}
    "#);
    // One digit of the first payload.
    let folder = std::fs::read_dir(out.join("attestations")).unwrap();
    let file = folder.map(|entry| entry.unwrap().path()).min().unwrap();
    let text = String::from_utf8(read_file(&file)).unwrap();
    let at = text.find("\"payload\":\"").unwrap() + 100;
    let mut bytes = text.clone().into_bytes();
    bytes[at] = if bytes[at] == b'A' { b'B' } else { b'A' };
    write_file(&file, bytes);
    let (code, said) = script(&python, "attestations.py", &args);
    assert_eq!(
        (code, said["flaws"][0]["line"].as_u64()),
        (Some(7), Some(1)),
        "{said}"
    );
    // Nobody who is trusted.
    write_file(&file, text);
    let stranger = signing(&repo);
    let shown = stranger.run(&["evidence", "key", "show", "--json"]).unwrap();
    let key = shown.json().unwrap()["key"]["public"]
        .as_str()
        .unwrap()
        .to_owned();
    write_file(&signers, format!("stranger {key}\n"));
    let (code, said) = script(&python, "attestations.py", &args);
    assert_eq!((code, &said["envelopes"]), (Some(7), &0.into()), "{said}");
}

#[test]
fn openssh_accepts_the_signature_of_the_head_and_no_other() {
    if program("ssh-keygen").arg("-?").output().is_err() {
        eprintln!("skipped: `ssh-keygen` is not installed here");
        return;
    }
    let (repo, cli) = ground();
    let out = exported(&repo, &cli);
    let signers = String::from_utf8(read_file(&out.join("allowed_signers"))).unwrap();
    let name = signers.lines().find_map(|line| line.split(' ').next()).unwrap();
    let check = || {
        let script = "ssh-keygen -Y verify -f allowed_signers -I \"$1\" -n agentos-evidence -s head.json.sig < head.json";
        let output = program("sh")
            .args(["-c", script, "sh", name])
            .current_dir(&out)
            .output();
        output.unwrap().status.success()
    };
    assert!(check());
    let head = String::from_utf8(read_file(&out.join("head.json"))).unwrap();
    write_file(&out.join("head.json"), head.replace("\"seq\":", "\"seq\":1"));
    assert!(!check());
}

/// A kind of record that the second verifier does not know would be a fault to it, and none to us.
#[test]
fn the_second_verifier_knows_every_kind_of_record() {
    let record = agentos_schema::schema_text(agentos_schema::SchemaName::EvidenceRecord);
    let record: Value = serde_json::from_str(record).unwrap();
    let kinds = record["$defs"]["RecordKind"]["oneOf"].as_array().unwrap();
    let script = read_file(&top().join("scripts/evidence/verify.py"));
    let script = String::from_utf8(script).unwrap();
    assert!(kinds.len() > 10, "{record:#}");
    for kind in kinds {
        let word = kind["const"].as_str().unwrap();
        assert!(script.contains(&format!("\"{word}\"")), "`{word}`");
    }
}
