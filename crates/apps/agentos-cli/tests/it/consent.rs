//! What waits for a person, and how it is answered from another terminal.

use agentos_evidence::{RecordKind, Store};
use agentos_testkit::repo::TestRepo;
use serde_json::Value;

use crate::support::*;

/// Asks for consent with nobody there; gives the run.
fn asked(repo: &TestRepo, args: &[&str]) -> String {
    let mut all = vec!["apply", "-", "--json"];
    all.extend_from_slice(args);
    let output = pipe_in(repo, &all, WORKFLOW_EDIT);
    assert_eq!(output.code.unwrap(), 4, "{output}");
    output.json().unwrap()["run"].as_str().unwrap().to_owned()
}

fn json(repo: &TestRepo, args: &[&str]) -> (i32, Value) {
    let mut all = args.to_vec();
    all.push("--json");
    let output = run_in(repo, &all);
    (
        output.code.unwrap(),
        output.json().unwrap_or_else(|_| panic!("{output}")),
    )
}

#[test]
fn a_request_is_listed_shown_and_approved_later() {
    let repo = small_repo();
    let run = asked(&repo, &[]);
    let (code, open) = json(&repo, &["approve"]);
    assert_eq!(code, 0);
    assert_eq!(open["requests"][0]["run"], Value::from(run.clone()));
    let shown = run_in(&repo, &["approve", "--show", &run]);
    assert!(shown.to_string().contains("+on: [push]"), "{shown}");
    let (code, landed) = json(&repo, &["approve", &run]);
    assert_eq!(
        (code, &landed["outcome"]),
        (0, &Value::from("landed")),
        "{landed}"
    );
    assert!(repo.has(".github/workflows/ci.yml"));
    let (_, story) = json(&repo, &["evidence", "show", landed["run"].as_str().unwrap()]);
    let consent = story["records"]
        .as_array()
        .unwrap()
        .iter()
        .find(|record| record["kind"] == "consent")
        .unwrap();
    assert_eq!(consent["body"]["answers"], Value::from(run.clone()));
    assert_eq!(consent["body"]["consent"]["how"], "approve");
    // It is answered once.
    let (code, again) = json(&repo, &["approve", &run]);
    assert_eq!((code, &again["code"]), (4, &Value::from("consent-answered")));
    assert_eq!(
        json(&repo, &["approve"]).1["requests"],
        Value::from(Vec::<Value>::new())
    );
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code.unwrap(), 0);
}

#[test]
fn a_denied_request_never_lands() {
    let repo = small_repo();
    let run = asked(&repo, &[]);
    let (code, denied) = json(&repo, &["deny", &run]);
    assert_eq!((code, &denied["run"]), (0, &Value::from(run.clone())));
    assert_eq!(json(&repo, &["approve", &run]).0, 4);
    assert!(!repo.has(".github/workflows/ci.yml"));
    for verb in ["deny", "approve", "undo"] {
        let unknown = run_in(&repo, &[verb, "run-unknown"]);
        assert_eq!(unknown.code.unwrap(), 2, "{unknown}");
        assert!(
            unknown.stderr.contains("there is no run `run-unknown`"),
            "{unknown}"
        );
    }
}

#[test]
fn an_expired_request_is_answered_by_nobody() {
    let repo = small_repo();
    let run = asked(&repo, &[]);
    let (_, story) = json(&repo, &["evidence", "show", &run]);
    let records = story["records"].as_array().unwrap();
    let consent = records.iter().find(|record| record["kind"] == "consent").unwrap();
    let expires = consent["body"]["request"]["expires"].as_str().unwrap();
    let asked = consent["ts"].as_str().unwrap();
    assert!(expires > asked, "{asked} {expires}");
    // The same request once its time is over: nobody can wait a week for a test.
    let mut body = consent["body"].clone();
    body["request"]["expires"] = "2020-01-01T00:00:00Z".into();
    let store = Store::open(&repo.path().join(".git/agentos")).unwrap();
    store
        .append(
            "run-of-last-year",
            RecordKind::Consent,
            body,
            "2019-12-25T00:00:00Z",
        )
        .unwrap();
    drop(store);
    for verb in ["approve", "deny"] {
        let (code, refused) = json(&repo, &[verb, "run-of-last-year"]);
        assert_eq!(code, 4, "{refused}");
        assert!(refused.to_string().contains("\"consent-expired\""), "{refused}");
    }
    let open = json(&repo, &["approve"]).1;
    assert_eq!(open["requests"].as_array().unwrap().len(), 1, "{open}");
    assert!(!repo.has(".github/workflows/ci.yml"));
    // The other one still has time.
    assert_eq!(json(&repo, &["approve", &run]).0, 0);
}

#[test]
fn a_yes_counts_for_what_was_asked_and_for_nothing_else() {
    let strict = "version = 1\n[[rule]]\nid = \"more\"\neffect = \"ask\"\nwhy = \"w\"\n";
    let moved = |repo: &TestRepo| {
        repo.write("README.md", "# moved\n");
        repo.commit_all("somebody else");
    };
    let other_branch = |repo: &TestRepo| {
        repo.git(&["switch", "-q", "-c", "elsewhere"]);
    };
    let other_policy = |repo: &TestRepo| repo.write("more.toml", strict);
    type Case<'a> = (&'a str, &'a dyn Fn(&TestRepo), &'a [&'a str]);
    let cases: [Case<'_>; 3] = [
        ("base commit", &moved, &[]),
        ("target ref", &other_branch, &[]),
        ("policy", &other_policy, &["--policy", "more.toml"]),
    ];
    for (what, meanwhile, flags) in cases {
        let repo = small_repo();
        let run = asked(&repo, &[]);
        meanwhile(&repo);
        let mut args = vec!["approve", run.as_str()];
        args.extend_from_slice(flags);
        let (code, outcome) = json(&repo, &args);
        assert_eq!(
            (code, &outcome["code"]),
            (4, &Value::from("consent-void")),
            "{what}: {outcome}"
        );
        assert!(
            outcome["message"].as_str().unwrap().contains(what),
            "{what}: {outcome}"
        );
        assert!(!repo.has(".github/workflows/ci.yml"), "{what}");
    }
}

#[test]
fn it_lands_where_and_how_it_was_asked_for() {
    let repo = small_repo();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let run = asked(&repo, &["--no-commit"]);
    assert_eq!(json(&repo, &["approve", &run]).0, 0);
    assert!(repo.has(".github/workflows/ci.yml"));
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head, "no commit was asked for");

    let repo = small_repo();
    let run = asked(&repo, &["--branch", "ai/ci"]);
    assert_eq!(json(&repo, &["approve", &run]).0, 0);
    assert!(!repo.has(".github/workflows/ci.yml"));
    assert!(
        repo.git(&["show", "ai/ci:.github/workflows/ci.yml"])
            .contains("push")
    );
}

#[test]
fn what_would_write_nothing_waits_for_nobody() {
    let repo = small_repo();
    assert_eq!(
        pipe_in(&repo, &["apply", "-", "--dry-run"], WORKFLOW_EDIT)
            .code
            .unwrap(),
        4
    );
    let output = run_in(&repo, &["approve"]);
    assert!(
        output.to_string().contains("no run waits for consent"),
        "{output}"
    );
}
