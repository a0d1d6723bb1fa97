//! What an agent is told about files that policy withholds from it.

use agentos_testkit::repo::TestRepo;
use serde_json::{Value, json};

use super::*;
use agentos_ground::environment::Environment;
use agentos_runs::Runs;

const POLICY: &str = "version = 1\n[[rule]]\nid = \"ours.private\"\neffect = \"deny\"\nwhy = \"stays here\"\naction = [\"read\"]\n\
                      paths = [\"private/**\"]\nexecution_mode = \"cloud\"\n";
const LINE: &str = "We buy the company Example in May.";

fn make_repository() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/a.rs", "fn one() {}\n");
    repo.write("private/plan.txt", format!("# Plan\n{LINE}\npin: 1234\n"));
    repo.write(".agentos/policy/ours.toml", POLICY);
    repo.commit_all("Begin");
    repo
}

/// Calls tools in their order, each with the id of the first proposal, and returns the answers without ids, names and times.
fn ask_agent(calls: &[(&str, Value)]) -> Vec<String> {
    ask_about(&make_repository(), calls).0
}

/// Calls tools in their order in a repository. Returns also how many requests are open at the end.
fn ask_about(repo: &TestRepo, calls: &[(&str, Value)]) -> (Vec<String>, usize) {
    let home = repo.outside().to_str().unwrap().to_owned();
    let who = [
        ("HOME", home.as_str()),
        ("GIT_AUTHOR_NAME", "Dana"),
        ("GIT_AUTHOR_EMAIL", "d@example.com"),
    ];
    let more = [
        ("GIT_COMMITTER_NAME", "Dana"),
        ("GIT_COMMITTER_EMAIL", "d@example.com"),
    ];
    let vars = who.into_iter().chain(more);
    let vars = vars.map(|(name, value)| (name.to_owned(), value.to_owned()));
    let ground = Ground::new(Environment::new(vars, repo.path().to_owned()));
    let runtime = tokio::runtime::Builder::new_current_thread()
        .enable_all()
        .build()
        .unwrap();
    runtime.block_on(async {
        let tools = AgentTools::new(&ground, AgentToolsSpec::default());
        let mut proposal: Option<(String, String)> = None;
        let mut answers = Vec::new();
        for (name, arguments) in calls {
            let mut arguments = arguments.clone();
            if let (Some((id, _)), Some(fields)) = (&proposal, arguments.as_object_mut()) {
                for value in fields.values_mut().filter(|value| **value == json!("")) {
                    *value = json!(id);
                }
            }
            let answer = tools.call_tool(name, arguments).await;
            if proposal.is_none() {
                let run = answer.data.as_ref().and_then(|data| data["proposal"].as_str());
                let run = run.map(str::to_owned);
                proposal =
                    run.map(|run| (run.clone(), run.rsplit('-').next().unwrap_or_default().to_owned()));
            }
            let mut text = format!(
                "{name} {} {:?} {}\n{:?}",
                answer.is_error, answer.code, answer.text, answer.data
            );
            if let Some((id, short)) = &proposal {
                text = text.replace(id, "ID").replace(short, "SHORT");
            }
            answers.push(hide_times(&text));
        }
        (answers, Runs::of(&ground).open_requests().unwrap().len())
    })
}

/// Replaces every digit: times and ids differ from call to call.
fn hide_times(text: &str) -> String {
    text.chars()
        .map(|letter| if letter.is_ascii_digit() { '0' } else { letter })
        .collect()
}

fn guesses(answer: &str) -> Vec<String> {
    let none = json!({ "proposal": "" });
    ask_agent(&[
        ("propose_change", json!({ "answer": answer, "message": "Change" })),
        ("proposal_status", none.clone()),
        ("list_runs", json!({})),
        ("show_run", json!({ "run": "" })),
        ("proposal_withdraw", none.clone()),
        ("explain_policy", json!({ "answer": answer })),
        ("proposal_status", none),
        ("list_runs", json!({})),
    ])
}

/// Returns the answers about a proposal without the hashes of its text, which the agent knows.
fn compare(right: &str, wrong: &str) {
    let [right, wrong] = [right, wrong].map(guesses);
    for (one, other) in right.iter().zip(&wrong) {
        assert_eq!(one, other);
    }
    assert!(
        right
            .iter()
            .all(|answer| !answer.contains("pin") && !answer.contains("does-not-apply")),
        "{right:#?}"
    );
    assert!(right[0].contains("left to the user"), "{right:#?}");
    assert!(right[5].contains("a person decides about it"), "{right:#?}");
}

#[test]
fn a_right_and_a_wrong_guess_about_a_withheld_file_have_equal_answers() {
    let modify =
        |line: &str| format!("--- a/private/plan.txt\n+++ b/private/plan.txt\n@@ -3 +3 @@\n-{line}\n+x\n");
    let copy = |line: &str| {
        format!(
            "diff --git a/private/plan.txt b/docs/n.md\ncopy from private/plan.txt\ncopy to docs/n.md\n--- a/private/plan.txt\n\
             +++ b/docs/n.md\n@@ -3 +3 @@\n-{line}\n+x\n"
        )
    };
    compare(&modify("pin: 1234"), &modify("pin: 9999"));
    compare(&copy("pin: 1234"), &copy("pin: 9999"));
}

#[test]
fn a_pasted_line_of_a_withheld_file_is_told_as_any_waiting_change() {
    let paste = |line: &str| format!("--- /dev/null\n+++ b/docs/n.md\n@@ -0,0 +1 @@\n+{line}\n");
    let ask = |answer: &str| {
        ask_agent(&[
            ("propose_change", json!({ "answer": answer, "message": "Change" })),
            ("proposal_status", json!({ "proposal": "" })),
            ("list_runs", json!({})),
            ("show_run", json!({ "run": "" })),
            ("explain_policy", json!({ "answer": answer })),
        ])
    };
    assert_eq!(
        ask(&paste(LINE)),
        ask(&paste("We sell the company Example in May."))
    );
}

#[test]
fn a_proposal_about_a_withheld_file_is_taken_back_in_equal_words_whether_a_request_waits_or_not() {
    let diff = "--- a/private/plan.txt\n+++ b/private/plan.txt\n@@ -3 +3 @@\n-pin: 1234\n+x\n";
    let none = json!({ "proposal": "" });
    let proposed = ("propose_change", json!({ "answer": diff, "message": "Change" }));
    let later = [
        ("proposal_withdraw", none.clone()),
        ("proposal_status", none.clone()),
        ("proposal_withdraw", none),
        ("list_runs", json!({})),
        ("list_runs", json!({ "limit": 1 })),
        ("show_run", json!({ "run": "" })),
        ("show_run", json!({ "run": "@" })),
    ];
    let denial = "[[rule]]\nid = \"ours.fixed\"\neffect = \"deny\"\nwhy = \"fixed\"\naction = [\"modify\"]\npaths = [\"private/**\"]\n";
    let ask = |more: &str, calls: &[(&str, Value)]| {
        let repo = make_repository();
        repo.write(".agentos/policy/ours.toml", format!("{POLICY}{more}"));
        repo.commit_all("Rules");
        let (answers, open) = ask_about(&repo, calls);
        // The rules are in the commit.
        let is_same = |line: &&str| !line.contains("base_commit");
        let answers = answers
            .iter()
            .map(|answer| answer.lines().filter(is_same).collect());
        (answers.collect::<Vec<String>>(), open)
    };
    assert_eq!(ask("", std::slice::from_ref(&proposed)).1, 1);
    assert_eq!(ask(denial, std::slice::from_ref(&proposed)).1, 0);
    let calls = [&[proposed], &later[..]].concat();
    let [waiting, denied] = ["", denial].map(|more| ask(more, &calls));
    assert_eq!(waiting, denied);
    assert_eq!(waiting.1, 0);
    assert!(waiting.0[1].contains("is taken back"), "{waiting:#?}");
}
