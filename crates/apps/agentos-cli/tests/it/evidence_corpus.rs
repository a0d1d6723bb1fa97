//! Both verifiers on evidence that somebody tampered with: the corpus of `scripts/evidence/cases.py`, exports of earlier
//! versions, and the forgeries and hostile files of a review, through the command line.
//!
//! Without Python and its package `cryptography` the product is tested alone, and that is said.

use std::path::{Path, PathBuf};

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, read_file, remove_file, write_file};
use serde_json::{Value, json};

use crate::support::{SLOPPY_FIX, agentos, signing, small_repo};

fn scripts() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../../scripts/evidence")
}

/// Runs a script in Python. Returns `None`, and says so, where Python or the package is missing.
fn python(script: &str, args: &[&str]) -> Option<CliOutput> {
    let own = scripts().join("../../.venv-evidence/bin/python");
    let python = if own.exists() {
        own.display().to_string()
    } else {
        "python3".to_owned()
    };
    let env = Cli::new("/usr/bin/env").unwrap();
    let has = env.run(&[&python, "-c", "import cryptography"]).unwrap();
    if has.code != Some(0) {
        eprintln!("skipped: the second verifier: no Python with the package `cryptography`");
        return None;
    }
    let script = scripts().join(script).display().to_string();
    Some(
        env.run(&[&[python.as_str(), "-B", &script], args].concat())
            .unwrap(),
    )
}

/// Exit code and kinds of tampering; `refused` where there is no report.
fn verdict(output: &CliOutput) -> (i32, Vec<String>) {
    let findings = output
        .json()
        .ok()
        .and_then(|json| json["findings"].as_array().cloned());
    let mut kinds: Vec<String> = match findings {
        Some(found) => found
            .iter()
            .map(|one| one["tampering"].as_str().unwrap().to_owned())
            .collect(),
        None => vec!["refused".to_owned()],
    };
    kinds.sort();
    kinds.dedup();
    (output.code.unwrap(), kinds)
}

/// Verifies a folder with both, which must agree on the exit code.
fn verify(dir: &Path, flags: &[&str]) -> (i32, Vec<String>) {
    let dir = dir.to_str().unwrap();
    let ours = agentos()
        .run(&[&["evidence", "verify", "--json", "--dir", dir], flags].concat())
        .unwrap();
    let ours = verdict(&ours);
    if let Some(second) = python("verify.py", &[&[dir], flags].concat()) {
        assert_eq!(verdict(&second), ours, "{second}");
    }
    ours
}

#[test]
fn both_verifiers_come_to_what_every_case_of_the_corpus_expects() {
    let folder = small_repo();
    let out = folder.outside().join("cases");
    let Some(made) = python("cases.py", &["make", out.to_str().unwrap()]) else {
        return;
    };
    assert_eq!(made.code, Some(0), "{made}");
    let index: Value = serde_json::from_slice(&read_file(&out.join("cases.json"))).unwrap();
    let cases = index.as_array().unwrap();
    assert!(cases.len() >= 238, "{}", cases.len());
    let second = python("cases.py", &["run", out.to_str().unwrap()]).unwrap();
    assert_eq!(second.code, Some(0), "{second}");
    let stranger = agentos();
    let mut differ = Vec::new();
    for (case, second) in cases.iter().zip(second.stdout.lines()) {
        let flags = case["flags"]
            .as_array()
            .unwrap()
            .iter()
            .map(|flag| flag.as_str().unwrap());
        let dir = case["dir"].as_str().unwrap();
        let args: Vec<&str> = ["evidence", "verify", "--json", "--dir", dir]
            .into_iter()
            .chain(flags)
            .collect();
        let (exit, kinds) = verdict(&stranger.run(&args).unwrap());
        let ours = json!({ "name": case["name"], "exit": exit, "kinds": kinds });
        let theirs: Value = serde_json::from_str(second).unwrap();
        let expected = json!({ "name": case["name"], "exit": case["exit"], "kinds": case["kinds"] });
        if ours != expected || theirs != expected {
            differ.push(format!("expected {expected}\n    ours {ours}\n  theirs {theirs}"));
        }
    }
    assert!(differ.is_empty(), "{}", differ.join("\n"));
    assert_eq!(second.stdout.lines().count(), cases.len());
}

#[test]
fn exports_of_earlier_versions_verify_as_before() {
    let at = |name: &str| scripts().join("earlier").join(name);
    let keys = at("full/allowed_signers");
    let keys = ["--keys", keys.to_str().unwrap()];
    let required = [&keys[..], &["--require"]].concat();
    assert_eq!(verify(&at("full"), &keys), (0, vec![]));
    assert_eq!(verify(&at("full"), &required), (0, vec![]));
    assert_eq!(verify(&at("redacted"), &keys), (0, vec![]));
    // Nothing proves kind, time and run of the records whose content was left out, and so it says.
    assert_eq!(
        verify(&at("redacted"), &required),
        (7, vec!["record-unproved".to_owned()])
    );
    let dir = at("redacted").display().to_string();
    let told = agentos()
        .run(&[&["evidence", "verify", "--dir", &dir], &keys[..]].concat())
        .unwrap();
    insta::assert_snapshot!(told.stdout, @r"
    verified 19 records, 0 blobs: the chain is whole
      export of an earlier version, signed by SHA256:YUkRZ4I/Kk3j5y/n5OJnhmJpX9fDm1pCv0UZ700to+Y (trusted)
      3 runs signed by SHA256:YUkRZ4I/Kk3j5y/n5OJnhmJpX9fDm1pCv0UZ700to+Y (trusted)
      redacted: the content of 9 records is left out
      note: kind, time and run of 9 redacted records are not proved: an earlier version wrote them
    ");
}

/// A repository with a landed run, one that is refused and another that landed, exported and signed.
fn exported() -> (TestRepo, PathBuf) {
    let repo = small_repo();
    let cli = signing(&repo);
    for (answer, code) in [(SLOPPY_FIX, 0), ("prose", 6)] {
        let output = cli.run_with_input(&["apply"], answer.as_bytes()).unwrap();
        assert_eq!(output.code, Some(code), "{output}");
    }
    let out = repo.outside().join("export");
    let output = cli
        .run(&["evidence", "export", "--out", out.to_str().unwrap()])
        .unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    (repo, out)
}

fn lines(path: &Path) -> Vec<String> {
    let text = String::from_utf8(read_file(path)).unwrap();
    text.lines().map(str::to_owned).collect()
}

fn set_lines(path: &Path, lines: &[String]) {
    write_file(
        path,
        lines.iter().map(|line| format!("{line}\n")).collect::<String>(),
    );
}

fn required(out: &Path) -> [String; 3] {
    [
        "--require".into(),
        "--keys".into(),
        out.join("allowed_signers").display().to_string(),
    ]
}

#[test]
fn a_record_whose_content_is_left_out_cannot_be_given_another_kind_time_or_run() {
    let (_repo, out) = exported();
    let flags = required(&out);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    assert_eq!(verify(&out, &flags), (0, vec![]));
    let tape = out.join("tape.jsonl");
    let mut all = lines(&tape);
    let at = all
        .iter()
        .position(|line| line.contains("\"kind\":\"refusal\""))
        .unwrap();
    let mut record: Value = serde_json::from_str(&all[at]).unwrap();
    for name in ["body", "body_salt"] {
        record.as_object_mut().unwrap().remove(name);
    }
    let genuine = record.clone();
    let account = out.join("export.json");
    let mut about: Value = serde_json::from_slice(&read_file(&account)).unwrap();
    about["redacted"] = true.into();
    write_file(&account, about.to_string());
    let forgeries: [(&str, Value); 3] = [
        ("kind", "consent".into()),
        ("ts", "2020-01-01T00:00:00.000Z".into()),
        ("run", "20200101T000000Z-00000000".into()),
    ];
    for (name, value) in forgeries {
        for version in [2, 1] {
            let mut record = genuine.clone();
            record[name] = value.clone();
            if version == 1 {
                // As the versions wrote it whose hash covers the body.
                record["redacted"] = true.into();
                record["v"] = 1.into();
                record.as_object_mut().unwrap().remove("body_sha256");
            }
            all[at] = record.to_string();
            set_lines(&tape, &all);
            let (code, kinds) = verify(&out, &flags);
            assert_eq!(code, 7, "{name} {version}");
            let kind = if version == 1 {
                "form-downgraded"
            } else {
                "mutated"
            };
            assert!(kinds.contains(&kind.to_owned()), "{name} {version}: {kinds:?}");
        }
    }
}

#[test]
fn an_export_whose_last_run_was_cut_off_is_found() {
    let (_repo, out) = exported();
    let flags = required(&out);
    let flags: Vec<&str> = flags.iter().map(String::as_str).collect();
    let tape = out.join("tape.jsonl");
    let all = lines(&tape);
    let end = all
        .iter()
        .position(|line| line.contains("\"kind\":\"checkpoint\""))
        .unwrap();
    let last: Value = serde_json::from_str(&all[end]).unwrap();
    set_lines(&tape, &all[..=end]);
    let head = json!({ "v": 1, "seq": last["seq"], "hash": last["hash"] });
    write_file(&out.join("head.json"), head.to_string());
    let (code, kinds) = verify(&out, &flags);
    assert_eq!(
        (code, kinds),
        (
            7,
            vec!["export-changed".to_owned(), "signature-invalid".to_owned()]
        )
    );
    // Somebody who removes what does not fit removes what is required.
    for name in ["head.json.sig", "export.json", "export.json.sig"] {
        remove_file(&out.join(name));
        assert_eq!(verify(&out, &flags).0, 7, "{name}");
    }
}

#[test]
fn an_export_says_what_it_proves_and_what_not() {
    let (_repo, out) = exported();
    insta::assert_snapshot!(String::from_utf8(read_file(&out.join("README.txt"))).unwrap(), @r"
    The evidence of AgentOS, copied for a reviewer.

        index.html                   what happened, for people
        tape.jsonl, blobs/           the records, chained by hash, and what they refer to
        attestations/                each run's signed statements: DSSE envelopes with in-toto Statements, one a line
        head.json, head.json.sig     the last record, signed
        export.json, export.json.sig time, redaction and the digest of each file, signed
        allowed_signers              the keys that the exporter trusts; ask the exporter for the fingerprint in another way

    Check it with AgentOS:      agentos evidence verify --dir . --keys allowed_signers --require
    with OpenSSH, the head:     ssh-keygen -Y verify -f allowed_signers -I TestAuthor -n agentos-evidence -s head.json.sig < head.json
                  and the list:     ssh-keygen -Y verify -f allowed_signers -I TestAuthor -n agentos-evidence -s export.json.sig < export.json
    without AgentOS:            `scripts/evidence/verify.py . --keys allowed_signers --require`, in Python, from the AgentOS repository

    What that proves
        Each record is what was written: number, time, kind, run, content and the order. No record in between is missing.
        With the keys of the exporter and signatures required: no record at the end is missing, each run was signed by one
        of the keys, and every file that is named above is the one that was exported, this page included.
    What it does not prove
        That this is the newest export: an older one is as genuine. Compare the time and the last record in export.json with
        what the exporter says. That the keys in allowed_signers are the exporter's: ask for the fingerprint.
    ");
}

#[cfg(target_os = "linux")]
mod hostile {
    use super::*;

    /// Verifies with an address space that is smaller than what a file in the folder holds.
    fn verify_in(kib: u64, dir: &Path) -> CliOutput {
        let program = agentos().command(&[]).get_program().to_str().unwrap().to_owned();
        let script = format!("ulimit -v {kib}; exec \"$0\" evidence verify --json --dir \"$1\"");
        let env = Cli::new("/usr/bin/env").unwrap();
        env.run(&["sh", "-c", &script, &program, dir.to_str().unwrap()])
            .unwrap()
    }

    #[test]
    fn evidence_of_any_size_is_verified_in_little_memory() {
        let (repo, out) = exported();
        let tape = out.join("tape.jsonl");
        let genuine = read_file(&tape);
        let blobs = std::fs::read_dir(out.join("blobs")).unwrap();
        let blob = blobs.map(|entry| entry.unwrap().path()).min().unwrap();
        let stretch = |path: &Path, size: &str| {
            let truncate = Cli::new("/usr/bin/env").unwrap();
            let done = truncate
                .run(&["truncate", "-s", size, path.to_str().unwrap()])
                .unwrap();
            assert_eq!(done.code, Some(0), "{done}");
        };
        assert_eq!(verify_in(512 << 10, &out).code, Some(0));
        let newlines = [genuine.clone(), vec![b'\n'; 5 << 20]].concat();
        write_file(&tape, newlines);
        let found = verify_in(512 << 10, &out);
        assert_eq!(found.code, Some(7), "{found}");
        let json = found.json().unwrap();
        assert_eq!(json["findings"].as_array().unwrap().len(), 1000);
        assert!(
            json["more_findings"].as_u64().unwrap() > 5_000_000,
            "{}",
            json["more_findings"]
        );
        write_file(&tape, &genuine);
        for (path, size) in [(&blob, "3G"), (&out.join("head.json"), "1G"), (&tape, "1T")] {
            let before = read_file(path);
            stretch(path, size);
            let found = verify_in(512 << 10, &out);
            assert_eq!(found.code, Some(7), "{}: {found}", path.display());
            write_file(path, before);
        }
        drop(repo);
    }
}
