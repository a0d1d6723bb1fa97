//! Every JSON document that the program prints follows its published schema.

use agentos_schema::{SchemaName, validate};
use agentos_testkit::repo::write_file;
use serde_json::Value;

use crate::support::{SLOPPY_FIX, WORKFLOW_EDIT, agentos, pipe_in, run_in, small_repo};

fn follows(schema: SchemaName, value: &Value, what: &str) {
    if let Err(violations) = validate(schema, value) {
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
            output.stdout == agentos_schema::text(*schema),
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
