//! Every JSON document that the program prints follows its published schema.

use std::collections::BTreeMap;

use agentos_landing::{LandingReport, Refusal, RefusalCode};
use agentos_schema::{SchemaName, validate_value};
use agentos_testkit::repo::{make_link, read_file, write_file};
use serde_json::{Value, json};

use crate::support::{
    SLOPPY_FIX, WORKFLOW_EDIT, agentos, pipe_in, run_in, sandbox_holds, signing, small_repo,
};

fn follows(schema: SchemaName, value: &Value, what: &str) {
    if let Err(violations) = validate_value(schema, value) {
        panic!("{what} does not follow `{schema}`: {violations:#?}\n{value:#}");
    }
}

#[test]
fn outcomes_follow_their_schema_whatever_the_end() {
    let repo = small_repo();
    let cases: &[(&[&str], &str)] = &[
        (&["apply", "--json", "--dry-run"], SLOPPY_FIX),
        (&["apply", "--json"], SLOPPY_FIX),
        (&["apply", "--json"], SLOPPY_FIX),
        (&["apply", "--json"], WORKFLOW_EDIT),
        (&["apply", "--json"], "prose"),
        (&["undo", "--json"], ""),
    ];
    for (args, input) in cases {
        let output = pipe_in(&repo, args, input);
        follows(SchemaName::Outcome, &output.json().unwrap(), &format!("{args:?}"));
    }
    // A failure before a run could begin has the same shape.
    let output = agentos()
        .run_with_input(&["apply", "--json"], SLOPPY_FIX.as_bytes())
        .unwrap();
    follows(
        SchemaName::Outcome,
        &output.json().unwrap(),
        "outside a repository",
    );
}

#[test]
fn refusals_follow_the_schemas_of_outcomes_and_landing_reports() {
    let repo = small_repo();
    make_link(&repo.path().join("link"), "src");
    repo.commit_all("a link");
    let new = |path: &str| format!("--- /dev/null\n+++ b/{path}\n@@ -0,0 +1 @@\n+x\n");
    let git = |rest: &str| format!("diff --git a/README.md b/README.md\n{rest}");
    let edit = |hunk: &str| format!("--- a/src/lib.rs\n+++ b/src/lib.rs\n@@ @@\n{hunk}");
    let cases = [
        ("no-diff", "All is well.".to_owned()),
        ("malformed", "--- a/f\n+++ b/f\n@@ -1,2 +1,2 @@\n".to_owned()),
        ("does-not-apply", edit("-nothing of this\n+x\n")),
        ("ambiguous", edit(" }\n+x\n")),
        ("empty", edit("-    a - 0\n+    a - b\n")),
        ("path-escape", new("../../x")),
        ("git-dir", new(".git/hooks/x")),
        ("symlink-traversal", new("link/x")),
        ("submodule", git("old mode 100644\nnew mode 160000\n")),
        ("mode-change", git("old mode 100644\nnew mode 120000\n")),
        ("binary", git("Binary files a/README.md and b/README.md differ\n")),
        ("case-collision", new("readme.MD")),
        ("reserved-name", new("nul.c")),
        ("encoding", new("a\u{200b}b")),
        ("too-large", "x\n".repeat(9_000_000)),
    ];
    let mut others = Vec::new();
    for (code, answer) in cases {
        let output = pipe_in(&repo, &["apply", "--json"], &answer);
        let value = output.json().unwrap();
        if value["code"] != code {
            others.push(format!("{code}: {}, {}", value["code"], value["message"]));
        }
        follows(SchemaName::Outcome, &value, code);
        follows(SchemaName::LandingReport, &value["report"], code);
    }
    assert_eq!(others, Vec::<String>::new());
    // The others come of a task's state, or of policy.
    for code in [
        RefusalCode::Stale,
        RefusalCode::Secret,
        RefusalCode::Bidi,
        RefusalCode::ProtectedPath,
    ] {
        let report = LandingReport {
            version: 1,
            refusal: Some(Refusal::new(code, "the reason").at("f").hint("the hint")),
            files: Vec::new(),
            notes: Vec::new(),
            partial: false,
        };
        let value = serde_json::to_value(report).unwrap();
        follows(SchemaName::LandingReport, &value, code.as_str());
    }
}

#[test]
fn tools_and_evidence_follow_their_schemas() {
    let repo = small_repo();
    write_file(&repo.path().join("good.md"), SLOPPY_FIX);
    let replay = [
        "-p",
        "replay",
        "--replay",
        "good.md",
        "task",
        "--file",
        "src/lib.rs",
        "--json",
    ];
    let run: Vec<&str> = ["run"].into_iter().chain(replay).collect();
    let tool_run: Vec<&str> = ["tool", "run"].into_iter().chain(replay).collect();
    follows(
        SchemaName::ToolResult,
        &run_in(&repo, &tool_run).json().unwrap(),
        "tool run",
    );
    follows(SchemaName::Outcome, &run_in(&repo, &run).json().unwrap(), "run");
    follows(
        SchemaName::ToolHealth,
        &run_in(&repo, &["tool", "health", "--json"]).json().unwrap(),
        "tool health",
    );
    for (schema, args) in [
        (SchemaName::ToolList, &["tool", "list", "--json"][..]),
        (SchemaName::AuthStatus, &["tool", "auth", "status", "--json"]),
        (SchemaName::Config, &["config", "--json"]),
        (SchemaName::ServiceTokens, &["serve", "token", "list", "--json"]),
        (SchemaName::Error, &["config", "get", "no-such-key", "--json"]),
        (SchemaName::ProfileShow, &["profile", "show", "openai", "--json"]),
        (SchemaName::Models, &["models", "list", "--json"]),
        (SchemaName::Models, &["models", "show", "openai/gpt-4o", "--json"]),
    ] {
        follows(schema, &run_in(&repo, args).json().unwrap(), &args.join(" "));
    }
    follows(
        SchemaName::EvidenceVerify,
        &run_in(&repo, &["evidence", "verify", "--json"]).json().unwrap(),
        "verify",
    );
    follows(
        SchemaName::EvidenceKeys,
        &run_in(&repo, &["evidence", "key", "show", "--json"])
            .json()
            .unwrap(),
        "key show",
    );
    let shown = run_in(&repo, &["evidence", "show", "--json"]).json().unwrap();
    for record in shown["records"].as_array().unwrap() {
        follows(SchemaName::EvidenceRecord, record, "a record");
        if record["kind"] == "receipt" {
            follows(SchemaName::Receipt, &record["body"], "a receipt");
        }
    }
}

#[test]
fn the_schema_verb_prints_what_is_committed() {
    for schema in SchemaName::ALL {
        let output = agentos().run(&["schema", schema.as_str()]).unwrap();
        assert!(
            output.stdout == agentos_schema::schema_text(*schema),
            "`{schema}` is stale: run `cargo xtask schemas`"
        );
    }
    let listed = agentos().run(&["schema", "--list"]).unwrap().stdout;
    let names: Vec<&str> = SchemaName::ALL.iter().map(|schema| schema.as_str()).collect();
    assert_eq!(listed.lines().collect::<Vec<_>>(), names);
}

#[test]
fn policy_and_consent_documents_follow_their_schemas() {
    let repo = small_repo();
    let asked = pipe_in(&repo, &["apply", "--json"], WORKFLOW_EDIT);
    let run = asked.json().unwrap()["run"].as_str().unwrap().to_owned();
    let cases: &[(&[&str], SchemaName)] = &[
        (&["policy", "check", "-", "--json"], SchemaName::PolicyCheck),
        (&["policy", "explain", "-", "--json"], SchemaName::PolicyExplain),
        (
            &["policy", "explain", "--read", ".env", "--cloud", "--json"],
            SchemaName::PolicyExplain,
        ),
        (&["policy", "show", "--json"], SchemaName::PolicyShow),
        (&["policy", "test", "--json"], SchemaName::PolicyTest),
        (&["policy", "lint", "--json"], SchemaName::PolicyLint),
        (&["approve", "--json"], SchemaName::OpenRequests),
        (&["deny", &run, "--json"], SchemaName::DeniedRequest),
    ];
    for (args, schema) in cases {
        let output = pipe_in(&repo, args, WORKFLOW_EDIT);
        follows(*schema, &output.json().unwrap(), &format!("{args:?}"));
    }
}

/// One record of each kind that a run leaves, by its kind; and a body that is none, or another kind's.
#[test]
fn the_body_of_each_kind_of_record_follows_its_schema() {
    if !sandbox_holds() {
        return;
    }
    let repo = small_repo();
    let cli = signing(&repo);
    let answer = repo.outside().join("answer.md");
    write_file(&answer, SLOPPY_FIX);
    let replay = [
        "run",
        "-p",
        "replay",
        "--replay",
        answer.to_str().unwrap(),
        "make add add",
    ];
    let checked = [&replay[..], &["--file", "src/lib.rs", "--check", "true"]].concat();
    assert_eq!(cli.run(&checked).unwrap().code, Some(0));
    for (args, input, code) in [
        (&["apply"][..], WORKFLOW_EDIT, 4),
        (&["apply", "--yes"], WORKFLOW_EDIT, 0),
        (&["apply"], "prose", 6),
        (&["undo", "--yes"], "", 0),
    ] {
        let output = cli.run_with_input(args, input.as_bytes()).unwrap();
        assert_eq!(output.code, Some(code), "{args:?}: {output}");
    }
    let tape = String::from_utf8(read_file(&repo.path().join(".git/agentos/tape.jsonl"))).unwrap();
    let mut seen = BTreeMap::new();
    for line in tape.lines() {
        let record: Value = serde_json::from_str(line).unwrap();
        let kind = record["kind"].as_str().unwrap().to_owned();
        follows(SchemaName::EvidenceBody, &json!({ &kind: record["body"] }), &kind);
        seen.insert(kind, record["body"].clone());
    }
    let kinds: Vec<&str> = seen.keys().map(String::as_str).collect();
    insta::assert_snapshot!(kinds.join(" "), @r"
    answer attempt check checkpoint consent decision intent landing receipt refusal task tool_result
    ");
    for (kind, body) in [
        ("landing", &seen["task"]),
        ("task", &seen["landing"]),
        ("receipt", &json!({})),
    ] {
        assert!(
            validate_value(SchemaName::EvidenceBody, &json!({ kind: body })).is_err(),
            "{kind}"
        );
    }
}
