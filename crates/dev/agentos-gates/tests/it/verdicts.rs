//! Which check fails for which misbehaviour, and the exit codes. One letter a check, A to E: passed, failed, skipped.

use serde_json::{Value, json};

use crate::stand_in::StandIn;

fn drop_field(value: &mut Value, name: &str) {
    value.as_object_mut().unwrap().remove(name);
}

fn failed(value: &mut Value, category: &str, message: &str) {
    value["status"] = json!("failed");
    value["output_kind"] = json!("explanation");
    value["error_category"] = json!(category);
    value["error_message"] = json!(message);
    drop_field(value, "diff");
    drop_field(value, "diff_sha256");
}

fn no_answer(value: &mut Value) {
    failed(value, "schema", "the answer has no content");
    value["diff_validation"] = json!({"is_valid": false, "errors": [], "warnings": [], "hunks": 0});
}

#[test]
fn a_program_that_behaves_passes() {
    let stand_in = StandIn::new();
    let verdict = stand_in.verdict();
    assert_eq!(verdict["status"], "passed", "{verdict:#}");
    assert_eq!(verdict["counts"], json!({"passed": 5, "failed": 0, "skipped": 0}));
    assert_eq!(stand_in.run().status.code(), Some(0));
}

#[test]
fn exactly_the_right_check_fails() {
    let cases: Vec<(&str, &str, StandIn)> = vec![
        ("a wrong key", "FSSSS", StandIn::new().health(|health| {
            health["status"] = json!("invalid_token");
            health["error_category"] = json!("auth");
        })),
        ("no error category", "FSSSS", StandIn::new().health(|health| health["status"] = json!("unreachable"))),
        ("still loading", "FSSSS", StandIn::new().health(|health| {
            health["status"] = json!("unreachable");
            health["error_category"] = json!("runtime");
        })),
        ("another provider", "FSSSS", StandIn::new().health(|health| health["provider"] = json!("ollama"))),
        ("no answer at all", "PFSPP", StandIn::new().words(no_answer).diff(no_answer)),
        ("a mock answers", "PFPPP", StandIn::new().words(|words| words["mock"] = json!("gate mode"))),
        ("a bad diff", "PPFPP", StandIn::new().diff(|diff| {
            failed(diff, "runtime", "the hunk fits nowhere");
            diff["diff_validation"] = json!({
                "is_valid": false, "code": "does-not-apply", "errors": ["the hunk fits nowhere"], "warnings": [],
                "hunks": 1,
            });
        })),
        ("words where a diff is due", "PPFPP", StandIn::new().diff(|diff| {
            diff["output_kind"] = json!("explanation");
            diff["diff_validation"] = json!({
                "is_valid": false, "code": "no-diff", "errors": [], "warnings": [], "hunks": 0,
            });
            drop_field(diff, "diff");
            drop_field(diff, "diff_sha256");
        })),
        ("another hash", "PPFPP", StandIn::new().diff(|diff| diff["diff_sha256"] = json!("0".repeat(64)))),
        ("writes a file", "PPPFP", StandIn::new().misdeed("echo x > src/new.rs")),
        ("writes a hook", "PPPFP", StandIn::new().misdeed("mkdir -p .git/hooks; echo x > .git/hooks/post-commit")),
        ("commits", "PPPFP", StandIn::new().misdeed(
            "git -c user.name=x -c user.email=x@example.com commit -q --allow-empty -m x",
        )),
        ("does not measure", "PPPFP", StandIn::new().words(|words| drop_field(&mut words["boundary"], "before"))),
        ("makes a file a program", "PPPFP", StandIn::new().misdeed("chmod 0755 src/lib.rs")),
        ("claims otherwise", "PPPFP", StandIn::new().words(|words| words["boundary"]["committed"] = json!(true))),
        ("a field is missing", "PFPPF", StandIn::new().words(|words| drop_field(words, "task_id"))),
        ("a whole URL", "PPPPF", StandIn::new().words(|words| words["endpoint"] = json!("http://127.0.0.1:1/v1"))),
        ("the label `cloud`", "PPPPF", StandIn::new().diff(|diff| diff["provider"] = json!("cloud"))),
        ("the key in a result", "PPPPF", StandIn::new().misdeed("echo \"$AGENTOS_LMSTUDIO_API_KEY\" >&2")),
        ("the key in the evidence", "PPPPF", StandIn::new().misdeed(
            "mkdir -p .git/agentos; echo \"$AGENTOS_LMSTUDIO_API_KEY\" >> .git/agentos/tape.jsonl",
        )),
        ("the key in the home", "PPPPF", StandIn::new().misdeed("echo \"$AGENTOS_LMSTUDIO_API_KEY\" > \"$HOME/log\"")),
        ("connected, but code 5", "FSSSS", StandIn::new().codes([Some(5), None, None])),
        ("not there, but code 0", "FSSSS", StandIn::new().codes([Some(0), None, None]).health(|health| {
            health["status"] = json!("unreachable");
            health["error_category"] = json!("network");
        })),
        ("an answer, but code 1", "PPPPF", StandIn::new().codes([None, Some(1), None])),
        ("a diff, but code 6", "PPPPF", StandIn::new().codes([None, None, Some(6)])),
        ("no answer, but code 0", "PFSPF", StandIn::new().words(no_answer).diff(no_answer).codes([
            None, Some(0), Some(0),
        ])),
    ];
    for (what, expected, stand_in) in cases {
        let judged = stand_in.judged();
        assert_eq!(
            judged,
            (expected.to_owned(), Some(1)),
            "{what}: {:#}",
            stand_in.verdict()
        );
    }
}

#[test]
fn a_boundary_that_the_program_saw_crossed_is_d_alone() {
    let stand_in = StandIn::new().diff(|diff| {
        failed(
            diff,
            "runtime",
            "the repository changed while the tool ran: work tree: x",
        );
        diff["wrote_files"] = json!(true);
        diff["boundary"]["wrote_files"] = json!(true);
        diff["boundary"]["violations"] = json!(["work tree: x"]);
    });
    assert_eq!(stand_in.letters(), "PPPFP", "{:#}", stand_in.verdict());
}

#[test]
fn nobody_there_is_a_skip_and_a_failure_only_where_live_is_required() {
    let nobody = || {
        StandIn::new().health(|health| {
            health["status"] = json!("unreachable");
            health["error_category"] = json!("network");
            health["details"] = json!("nothing listens there");
        })
    };
    let unset = StandIn::new().health(|health| {
        health["status"] = json!("not_configured");
        health["error_category"] = json!("config");
    });
    for stand_in in [nobody(), unset] {
        assert_eq!(
            stand_in.verdict()["counts"],
            json!({"passed": 0, "failed": 0, "skipped": 5})
        );
        assert_eq!(stand_in.judged(), ("SSSSS".to_owned(), Some(0)));
    }
    let required = nobody().arg("--require-live");
    assert_eq!(required.judged(), ("SSSSS".to_owned(), Some(1)));
}

#[test]
fn a_program_that_prints_nonsense_fails_and_one_that_is_not_there_breaks_the_gate() {
    let nonsense = StandIn::new().misdeed("echo nonsense; exit 0");
    assert_eq!(nonsense.letters(), "PFFFF", "{:#}", nonsense.verdict());

    let nothing = StandIn::new().arg("--agentos").arg("/nowhere/agentos");
    let output = nothing.run();
    assert_eq!(output.status.code(), Some(2));
    assert!(
        String::from_utf8_lossy(&output.stderr).contains("`/nowhere/agentos` cannot be run"),
        "{output:?}"
    );

    let usage = StandIn::new().arg("--what").run();
    assert_eq!(usage.status.code(), Some(2));
    assert_eq!(StandIn::new().mode("mock").run().status.code(), Some(2));
}

#[test]
fn a_key_is_looked_for_in_both_modes_and_else_the_check_is_skipped_with_the_reason() {
    let leak = "echo \"$AGENTOS_LMSTUDIO_API_KEY\" >&2";
    assert_eq!(StandIn::new().mode("0").misdeed(leak).letters(), "PPPPF");
    let real = StandIn::new().key("a-real-key-0123456789").misdeed(leak);
    assert_eq!(real.letters(), "PPPPF");
    assert_eq!(StandIn::new().key("").misdeed(leak).letters(), "PPPPF");

    let cases = [
        (StandIn::new().key("short"), "is so short that it could occur"),
        (StandIn::new().mode("0").stored_key(), "has a stored key"),
    ];
    for (stand_in, reason) in cases {
        let verdict = stand_in.verdict();
        assert_eq!(crate::stand_in::letters(&verdict), "PPPPS", "{verdict:#}");
        let details = verdict["checks"][4]["details"].to_string();
        assert!(details.contains(reason), "{details}");
    }
    let broken_too = StandIn::new()
        .key("short")
        .words(|words| words["endpoint"] = json!("http://127.0.0.1:1/v1"));
    assert_eq!(broken_too.letters(), "PPPPF");
}

#[test]
fn only_gate_mode_empties_the_home() {
    let look = "if [ \"$HOME\" = \"$(dirname \"$PWD\")/home\" ]; then echo x > empty-home; fi";
    assert_eq!(StandIn::new().misdeed(look).letters(), "PPPFP");
    assert_eq!(StandIn::new().mode("0").misdeed(look).letters(), "PPPPP");
}
