//! `agentos evidence replay`, `export`, `list` with filters and `stats`: what an auditor works with.

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::{TestRepo, read_file, remove_file, write_file};

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, agentos, signing, small_repo};

/// One user with a key of her own, and a repository with a landed run, one that needs consent, one that does not
/// land, and one that quotes HTML.
fn audited() -> (TestRepo, Cli) {
    let repo = small_repo();
    let cli = signing(&repo);
    let hostile = "--- a/README.md\n+++ b/README.md\n@@ -1 +1 @@\n-# small\n+<script>alert(1)</script>\n";
    let answers: [(&str, i32); 4] = [(SLOPPY_FIX, 0), (WORKFLOW_EDIT, 4), ("prose", 6), (hostile, 0)];
    for (answer, code) in answers {
        let output = cli.run_with_input(&["apply"], answer.as_bytes()).unwrap();
        assert_eq!(output.code, Some(code), "{output}");
    }
    (repo, cli)
}

fn run(cli: &Cli, args: &[&str]) -> CliOutput {
    cli.run(&[&["evidence"], args].concat()).unwrap()
}

#[test]
fn every_recorded_run_comes_out_as_recorded() {
    let (repo, cli) = audited();
    repo.write("notes.txt", "the branch goes on\n");
    repo.commit_all("by hand");
    let output = run(&cli, &["replay", "--all", "--json"]);
    assert_eq!(output.code, Some(0), "{output}");
    let json = output.json().unwrap();
    assert_eq!((&json["identical"], &json["different"]), (&4.into(), &0.into()));
    assert_eq!(
        json["runs"][0]["stations"],
        serde_json::json!(["landing", "decision", "tree"])
    );
    let status = repo.git(&["status", "--porcelain"]);
    assert_eq!(status, "", "a replay writes nothing");
}

#[test]
fn a_replay_whose_answer_is_gone_says_so() {
    let (repo, cli) = audited();
    let json = run(&cli, &["show", "--json"]).json().unwrap();
    let answer = json["records"][1]["body"]["answer_sha256"]
        .as_str()
        .unwrap()
        .to_owned();
    let name = answer.strip_prefix("sha256:").unwrap();
    remove_file(&repo.path().join(".git/agentos/blobs").join(name));
    let output = run(&cli, &["replay"]);
    assert_eq!(output.code, Some(8), "{output}");
    assert!(
        output.stdout.contains("unavailable") && output.stdout.contains("there is no blob"),
        "{output}"
    );
    let all = run(&cli, &["replay", "--all"]);
    assert_eq!(all.code, Some(0), "{all}");
    assert!(
        all.stdout.contains("3 identical, 0 different, 1 unavailable"),
        "{all}"
    );
}

#[test]
fn a_replay_under_other_rules_shows_the_difference() {
    let (repo, cli) = audited();
    // The user's own rules are recorded with each decision: changing them later changes nothing.
    write_file(
        &cli.home().join(".config/agentos/policy/mine.toml"),
        "[[rule]]\nid = \"mine\"\neffect = \"deny\"\nwhy = \"not now\"\naction = [\"modify\"]\n",
    );
    assert_eq!(run(&cli, &["replay", "--all"]).code, Some(0));
    // Another hooks path makes other files protected.
    repo.git(&["config", "core.hooksPath", "src"]);
    let output = run(&cli, &["replay", "--all"]);
    assert_eq!(output.code, Some(7), "{output}");
    assert!(
        output.stdout.contains("different") && output.stdout.contains("recorded:"),
        "{output}"
    );
}

#[test]
fn an_export_verifies_elsewhere_and_its_page_holds_no_script() {
    let (repo, cli) = audited();
    let out = repo.outside().join("export");
    let dir = out.to_str().unwrap();
    let output = run(&cli, &["export", "--out", dir, "--json"]);
    assert_eq!(output.code, Some(0), "{output}");
    assert_eq!(output.json().unwrap()["lost"], 0);
    // Somebody else, elsewhere, with nothing but the folder.
    let stranger = agentos();
    let keys = out.join("allowed_signers");
    let verify = [
        "verify",
        "--dir",
        dir,
        "--require",
        "--keys",
        keys.to_str().unwrap(),
    ];
    let found = run(&stranger, &verify);
    assert_eq!(found.code, Some(0), "{found}");
    let page = String::from_utf8(read_file(&out.join("index.html"))).unwrap();
    assert!(
        page.contains("&lt;script&gt;alert(1)"),
        "the diff is shown as text"
    );
    for no in [
        "<script",
        "http:",
        "https:",
        "javascript:",
        "<img",
        "<link",
        "<iframe",
    ] {
        assert!(!page.contains(no), "{no}");
    }
    // A changed byte is found in the copy as well.
    let tape = out.join("tape.jsonl");
    let mut bytes = read_file(&tape);
    let middle = bytes.len() / 2;
    bytes[middle] ^= 1;
    write_file(&tape, bytes);
    assert_eq!(run(&stranger, &verify).code, Some(7));
    let again = run(&cli, &["export", "--out", dir]);
    assert_eq!(
        again.code,
        Some(2),
        "never into a folder that holds something: {again}"
    );
}

#[test]
fn a_redacted_export_quotes_nothing_and_still_verifies() {
    let (repo, cli) = audited();
    let out = repo.outside().join("redacted");
    let dir = out.to_str().unwrap();
    assert_eq!(run(&cli, &["export", "--redact", "--out", dir]).code, Some(0));
    let found = run(&cli, &["verify", "--dir", dir, "--require", "--json"]);
    assert_eq!(found.code, Some(0), "{found}");
    let json = found.json().unwrap();
    assert!(json["redacted"].as_u64().unwrap() > 10, "{json}");
    let tape = String::from_utf8(read_file(&out.join("tape.jsonl"))).unwrap();
    let page = String::from_utf8(read_file(&out.join("index.html"))).unwrap();
    for quoted in ["standard input", "alert(1)", "instruction", "no edit was found"] {
        assert!(!tape.contains(quoted) && !page.contains(quoted), "{quoted}");
    }
    assert!(!out.join("blobs").exists());
    // What is left is held: a line less, and a line that says it was left out in the evidence itself.
    let lines: Vec<&str> = tape.lines().collect();
    write_file(
        &out.join("tape.jsonl"),
        [lines[0], "\n", &lines[2..].join("\n"), "\n"].concat(),
    );
    assert_eq!(run(&cli, &["verify", "--dir", dir]).code, Some(7));
    let real = repo.path().join(".git/agentos/tape.jsonl");
    let text = String::from_utf8(read_file(&real)).unwrap();
    let first = text.lines().next().unwrap();
    write_file(&real, text.replacen(first, lines[0], 1));
    write_file(
        &repo.path().join(".git/agentos/export.json"),
        "{\"redacted\":true}",
    );
    assert_eq!(
        run(&cli, &["verify"]).code,
        Some(7),
        "nothing may be left out of the evidence itself"
    );
}

#[test]
fn runs_are_picked_by_what_they_did() {
    let (repo, cli) = audited();
    let commit = repo.git(&["rev-parse", "HEAD"]);
    let cases: [(&[&str], usize); 10] = [
        (&[], 4),
        (&["--provider", "patch"], 4),
        (&["--provider", "openai"], 0),
        (&["--path", "src"], 1),
        (&["--path", ".github/workflows/ci.yml"], 1),
        (&["--path", "sr"], 0),
        (&["--decision", "ask"], 1),
        (&["--commit", commit.get(..10).unwrap()], 1),
        (&["--since", "1h"], 4),
        (&["--since", "2100-01-01"], 0),
    ];
    for (flags, count) in cases {
        let output = run(&cli, &[&["list", "--json"], flags].concat());
        let json = output.json().unwrap();
        assert_eq!(
            json["runs"].as_array().unwrap().len(),
            count,
            "{flags:?}: {output}"
        );
    }
    assert_eq!(run(&cli, &["list", "--since", "yesterday"]).code, Some(2));
}

#[test]
fn runs_are_counted_by_provider() {
    let (_repo, cli) = audited();
    let output = run(&cli, &["stats"]);
    insta::assert_snapshot!(output.stdout, @r"
    PROVIDER  MODEL  RUNS  LANDED    CALLS  ANSWERED  TOKENS IN/OUT  COST  MEAN  SLOWEST  REFUSED
    patch     -      4     2 (50 %)  0      -         0/0            -     -     -        no-diff 1, protected-path 1
    ");
}

#[test]
fn both_verifiers_judge_a_rewritten_commit_alike() {
    // A commit that makes the recorded change, or one that is gone, is a note. A trailer that names other evidence is a fault.
    let spoils: [(&str, &[&str], i32, &str); 3] = [
        (
            "amended",
            &[
                "commit",
                "--amend",
                "--quiet",
                "-m",
                "other words\n\nAgentOS-Evidence: sha256:00",
            ],
            7,
            "names evidence that is not on the tape",
        ),
        (
            "trailer removed",
            &["commit", "--amend", "--quiet", "-m", "other words"],
            0,
            "which makes the same change",
        ),
        (
            "dropped",
            &["reset", "--quiet", "--hard", "HEAD~1"],
            0,
            "is not in this repository",
        ),
    ];
    for (name, args, code, words) in spoils {
        let (repo, cli) = audited();
        repo.git(args);
        // The old commit is still in the object store until git throws it away.
        repo.git(&["reflog", "expire", "--expire=now", "--all"]);
        repo.git(&["gc", "--quiet", "--prune=now"]);
        let found = run(&cli, &["verify"]);
        assert_eq!(found.code, Some(code), "{name}: {found}");
        assert!(found.stdout.contains(words), "{name}: {found}");
        let root = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../..");
        let python = root.join(".venv-evidence/bin/python");
        let python = if python.exists() {
            python.display().to_string()
        } else {
            "python3".to_owned()
        };
        let env = Cli::new("/usr/bin/env").unwrap();
        if env.run(&[&python, "-c", "import cryptography"]).unwrap().code != Some(0) {
            eprintln!("skipped: the second verifier: no Python with the package `cryptography`");
            continue;
        }
        let script = root.join("scripts/evidence/verify.py");
        let (dir, place) = (
            repo.path().join(".git/agentos"),
            repo.path().display().to_string(),
        );
        let args = [
            &python,
            "-B",
            script.to_str().unwrap(),
            dir.to_str().unwrap(),
            "--repo",
            &place,
        ];
        let second = env.run(&args).unwrap();
        assert_eq!(second.code, Some(code), "{name}: {second}");
    }
}

#[test]
fn what_an_auditor_is_shown_follows_its_schemas() {
    use agentos_schema::{SchemaName, validate_value};
    let (repo, cli) = audited();
    let out = repo.outside().join("export");
    let cases: [(SchemaName, &[&str]); 5] = [
        (SchemaName::EvidenceList, &["list"]),
        (SchemaName::EvidenceRun, &["show"]),
        (SchemaName::EvidenceReplay, &["replay", "--all"]),
        (SchemaName::EvidenceStats, &["stats"]),
        (
            SchemaName::EvidenceExport,
            &["export", "--out", out.to_str().unwrap()],
        ),
    ];
    for (schema, args) in cases {
        let json = run(&cli, &[args, &["--json"]].concat()).json().unwrap();
        assert!(validate_value(schema, &json).is_ok(), "{schema}: {json:#}");
    }
}

#[test]
fn the_printed_commands_of_openssh_verify_the_export() {
    let env = agentos_testkit::cli::Cli::new("/usr/bin/env").unwrap();
    if env.run(&["sh", "-c", "command -v ssh-keygen"]).unwrap().code != Some(0) {
        eprintln!("skipped: no ssh-keygen on this machine");
        return;
    }
    let (repo, cli) = audited();
    let out = repo.outside().join("export");
    assert_eq!(
        run(&cli, &["export", "--out", out.to_str().unwrap()]).code,
        Some(0)
    );
    let text = String::from_utf8(read_file(&out.join("README.txt"))).unwrap();
    let commands: Vec<&str> = text
        .lines()
        .filter_map(|line| Some(line.split_once(" ssh-keygen ")?.1))
        .collect();
    assert_eq!(commands.len(), 2, "{text}");
    for command in commands {
        assert!(
            !command.contains("-I NAME") && !command.contains("-I unknown"),
            "{command}"
        );
        let script = format!("cd '{}' && ssh-keygen {command}", out.display());
        let done = env.run(&["sh", "-c", &script]).unwrap();
        assert_eq!(done.code, Some(0), "{command}: {done}");
    }
    let page = String::from_utf8(read_file(&out.join("index.html"))).unwrap();
    for part in [
        "<span class=\"mark\">✓ landed",
        "on main",
        "href=\"blobs/",
        "exported by ",
        "id=\"show-landed\"",
    ] {
        assert!(page.contains(part), "{part}");
    }
}
