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
    let (code, landed) = json(&repo, &["approve", &run, "--yes"]);
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
    let (code, again) = json(&repo, &["approve", &run, "--yes"]);
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
    let too_long = "x".repeat(1001);
    let (code, refused) = json(&repo, &["deny", &run, "--comment", &too_long]);
    assert_eq!(code, 2, "{refused}");
    assert!(
        refused.to_string().contains("the comment has 1001 characters"),
        "{refused}"
    );
    for hidden in ["pin\u{202e} it", "\u{200b}", "pin\u{1b}[2J"] {
        let (code, refused) = json(&repo, &["deny", &run, "--comment", hidden]);
        assert_eq!(code, 2, "{refused}");
        assert!(refused.to_string().contains("no screen shows"), "{refused}");
    }
    let (code, denied) = json(&repo, &["deny", &run, "--comment", " pin the action\nby hash "]);
    assert_eq!((code, &denied["run"]), (0, &Value::from(run.clone())));
    assert_eq!(denied["comment"], "pin the action\nby hash");
    // Without a name, `show` means the run that was answered, and not the answer. Both give the reason.
    let (_, log) = json(&repo, &["log"]);
    let answer = &log["runs"][0];
    assert_eq!(answer["answers"], Value::from(run.clone()));
    for (named, closes) in [(&[][..], false), (&[answer["short"].as_str().unwrap()], true)] {
        let story = run_in(&repo, &[&["show"], named].concat());
        let lines: Vec<&str> = story.stdout.lines().collect();
        assert!(lines.contains(&"comment  pin the action"), "{story}");
        let short = run.rsplit('-').next().unwrap();
        let words = format!("closes   the request of run {short}");
        assert_eq!(lines.contains(&words.as_str()), closes, "{story}");
    }
    assert_eq!(json(&repo, &["approve", &run, "--yes"]).0, 4);
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
    // Both came too late, and one record says so.
    let store = Store::open(&repo.path().join(".git/agentos")).unwrap();
    let records = store.records().unwrap().map(Result::unwrap);
    let over = records
        .filter(|record| record.body["void"] == "expired" && record.body["answers"] == "run-of-last-year");
    assert_eq!(over.count(), 1);
    drop(store);
    assert_eq!(run_in(&repo, &["evidence", "verify"]).code, Some(0));
    let open = json(&repo, &["approve"]).1;
    assert_eq!(open["requests"].as_array().unwrap().len(), 1, "{open}");
    assert!(!repo.has(".github/workflows/ci.yml"));
    // The other one still has time.
    assert_eq!(json(&repo, &["approve", &run, "--yes"]).0, 0);
}

#[test]
fn a_yes_counts_for_what_was_asked_and_for_nothing_else() {
    let strict = "version = 1\n[[rule]]\nid = \"more\"\neffect = \"ask\"\nwhy = \"w\"\n";
    let other_branch = |repo: &TestRepo| {
        repo.git(&["switch", "-q", "-c", "elsewhere"]);
    };
    let other_policy = |repo: &TestRepo| repo.write("more.toml", strict);
    type Case<'a> = (&'a str, &'a dyn Fn(&TestRepo), &'a [&'a str]);
    let cases: [Case<'_>; 2] = [
        ("`elsewhere` is checked out", &other_branch, &[]),
        (
            "the change is the same; the decision is another",
            &other_policy,
            &["--policy", "more.toml"],
        ),
    ];
    for (what, meanwhile, flags) in cases {
        let repo = small_repo();
        let run = asked(&repo, &[]);
        meanwhile(&repo);
        let args = [&["approve", run.as_str()], flags, &["--yes"]].concat();
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
        assert_eq!(open_of(&repo), [run]);
    }
}

#[test]
fn a_yes_counts_where_policy_wants_no_person_any_more() {
    let repo = small_repo();
    let run = asked(&repo, &[]);
    repo.write(
        ".agentos/policy/open.toml",
        "version = 1\npreset = \"none\"\n[[rule]]\nid = \"all\"\neffect = \"allow\"\nwhy = \"w\"\n",
    );
    repo.commit_all("policy");
    let cli = agentos().in_dir(repo.path());
    assert_eq!(cli.run(&["trust", "--yes"]).unwrap().code, Some(0));
    let output = cli.run(&["approve", &run, "--yes", "--json"]).unwrap();
    assert_eq!(output.code, Some(0), "{output}");
    assert!(repo.has(".github/workflows/ci.yml"));
    assert!(open_of(&repo).is_empty());
}

/// The runs that wait for a person.
fn open_of(repo: &TestRepo) -> Vec<String> {
    let open = json(repo, &["approve", "--list"]).1;
    let requests = open["requests"].as_array().unwrap().iter();
    requests
        .map(|request| request["run"].as_str().unwrap().to_owned())
        .collect()
}

/// A change of the line `name = …` of a manifest.
fn manifest_edit(from: &str, to: &str) -> String {
    format!("--- a/Cargo.toml\n+++ b/Cargo.toml\n@@ -1,2 +1,2 @@\n [package]\n-{from}\n+{to}\n")
}

#[test]
fn approving_one_request_leaves_the_others_alive() {
    let repo = small_repo();
    let cli = signing(&repo);
    repo.write("Cargo.toml", "[package]\nname = \"a\"\n");
    repo.commit_all("manifest");
    let ask = |edit: &str| {
        let output = cli
            .run_with_input(&["apply", "-", "--json"], edit.as_bytes())
            .unwrap();
        assert_eq!(output.code, Some(4), "{output}");
        output.json().unwrap()["run"].as_str().unwrap().to_owned()
    };
    let first = ask(&manifest_edit("name = \"a\"", "name = \"b\""));
    let second = ask(WORKFLOW_EDIT);
    let third = ask(&manifest_edit("name = \"a\"", "name = \"c\""));
    assert_eq!(open_of(&repo), [first.clone(), second.clone(), third.clone()]);
    for run in [&first, &second] {
        let landed = cli.run(&["approve", run, "--yes"]).unwrap();
        assert_eq!(landed.code, Some(0), "{landed}");
    }
    assert_eq!(open_of(&repo), std::slice::from_ref(&third));
    // The third one changes a line that the first one changed already.
    let void = cli.run(&["approve", &third, "--yes", "--json"]).unwrap();
    let outcome = void.json().unwrap();
    assert_eq!(
        (void.code, &outcome["outcome"]),
        (Some(6), &Value::from("refused")),
        "{void}"
    );
    assert!(
        outcome["message"]
            .as_str()
            .unwrap()
            .contains("is void: no longer lands"),
        "{void}"
    );
    assert!(open_of(&repo).is_empty());
    let all = json(&repo, &["approve", "--all"]).1;
    let states: Vec<_> = all["requests"]
        .as_array()
        .unwrap()
        .iter()
        .map(|one| one["state"].clone())
        .collect();
    assert_eq!(states, ["approved", "approved", "void"]);
    let listed = run_in(&repo, &["approve", "--all"]).to_string();
    assert!(listed.contains("void: no longer lands"), "{listed}");
    let again = json(&repo, &["approve", &third, "--yes"]);
    assert_eq!((again.0, &again.1["code"]), (4, &Value::from("consent-void")));
    // What was recorded holds offline, and leads to the same results again.
    let (_, story) = json(&repo, &["evidence", "show", "@~1"]);
    let records = story["records"].as_array().unwrap();
    let consent = records.iter().find(|record| record["kind"] == "consent").unwrap();
    let drift = &consent["body"]["drift"];
    assert_eq!(
        (&drift["commits"], &drift["change"]),
        (&Value::from(1), &Value::from("identical"))
    );
    assert_ne!(
        drift["request"]["base_commit"],
        consent["body"]["consent"]["hashes"]["base_commit"]
    );
    for check in [
        &["evidence", "verify", "--require"][..],
        &["evidence", "replay", "--all"],
    ] {
        let output = cli.run(check).unwrap();
        assert_eq!(output.code, Some(0), "{output}");
    }
}

#[test]
fn a_list_says_what_by_whom_where_and_why() {
    let repo = small_repo();
    repo.write("fix.md", WORKFLOW_EDIT);
    let args = [
        "run",
        "-p",
        "replay",
        "--replay",
        "fix.md",
        "--context",
        "none",
        "add ci\nat once",
    ];
    assert_eq!(run_in(&repo, &args).code, Some(4));
    let run = open_of(&repo).remove(0);
    let short = run.rsplit('-').next().unwrap();
    let listed = run_in(&repo, &["approve"]).stdout;
    let listed = listed.replace(short, "[RUN]");
    let (until, rest) = listed.split_once("open until ").unwrap();
    let (_, rest) = rest.split_once('\n').unwrap();
    let ago = until.split_once("asked ").unwrap().1.split_once(" by").unwrap().0;
    insta::assert_snapshot!(format!("{}[UNTIL]\n{rest}", until.replace(ago, "[AGO]")), @r"
    [RUN]  add ci
      asked [AGO] by replay (recorded), for main, [UNTIL]
      .github/workflows/ci.yml
      default.ci: continuous integration runs this with the project's own rights
    ");
}

#[test]
fn it_lands_where_and_how_it_was_asked_for() {
    let repo = small_repo();
    let head = repo.git(&["rev-parse", "HEAD"]);
    let run = asked(&repo, &["--no-commit"]);
    assert_eq!(json(&repo, &["approve", &run, "--yes"]).0, 0);
    assert!(repo.has(".github/workflows/ci.yml"));
    assert_eq!(repo.git(&["rev-parse", "HEAD"]), head, "no commit was asked for");

    let repo = small_repo();
    let run = asked(&repo, &["--branch", "ai/ci"]);
    assert_eq!(json(&repo, &["approve", &run, "--yes"]).0, 0);
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
