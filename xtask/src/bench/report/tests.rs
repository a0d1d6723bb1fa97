//! The report of a handful of runs, as a whole.
//!
//! Owns: the expected page. Never: runs a tool.

use super::*;

fn run(
    tool: &str,
    input: &str,
    (group, expect): (&str, ExpectedOutcome),
    outcome: RunOutcome,
    ms: f64,
) -> ToolRun {
    let class = input.split('.').next_back().unwrap_or_default();
    ToolRun {
        input: input.to_owned(),
        class: class.to_owned(),
        group: group.to_owned(),
        expect,
        tool: tool.to_owned(),
        outcome,
        ms,
    }
}

fn runs() -> Vec<ToolRun> {
    let clean = ("clean", ExpectedOutcome::Land);
    let bare = ("numbers", ExpectedOutcome::Land);
    let stale = ("stale", ExpectedOutcome::Refuse);
    let search = ("formats", ExpectedOutcome::Either);
    let outside = ("safety", ExpectedOutcome::Refuse);
    vec![
        run("git-apply", "a.clean", clean, RunOutcome::Exact, 4.0),
        run("agentos", "a.clean", clean, RunOutcome::Exact, 2.0),
        run("aider", "a.clean", clean, RunOutcome::Exact, 0.5),
        run("git-apply", "a.bare", bare, RunOutcome::Refused, 4.0),
        run("agentos", "a.bare", bare, RunOutcome::Exact, 1.0),
        run("aider", "a.bare", bare, RunOutcome::Partial, 0.5),
        run("git-apply", "a.moved", stale, RunOutcome::Wrong, 4.0),
        run("agentos", "a.moved", stale, RunOutcome::Refused, 3.0),
        run("aider", "a.moved", stale, RunOutcome::Wrong, 0.5),
        run("agentos", "a.search", search, RunOutcome::Refused, 90.0),
        run("aider", "a.search", search, RunOutcome::Exact, 0.5),
        run("agentos", "a.outside", outside, RunOutcome::Refused, 1.0),
    ]
}

fn report() -> LandingReport {
    let missing = MissingPeer {
        tools: vec!["mpatch".to_owned()],
        install: vec!["cargo install mpatch".to_owned()],
        problem: Some("no compiler.".to_owned()),
    };
    LandingReport::new(&runs(), "c0ffee".to_owned(), "now".to_owned(), vec![missing])
}

#[test]
fn totals_are_over_the_inputs_that_a_tool_was_given() {
    let page = render_report(&report());
    let rows: Vec<&str> = page
        .lines()
        .filter(|line| line.contains(" of ") && line.starts_with("| "))
        .collect();
    assert_eq!(
        rows,
        [
            "| agentos | 1 of 1 | 1 of 1 | 0 of 1 | 1 of 1 | 1 of 1 | 0 | 0 | 2.0 | 90 | 0.50 |",
            "| git-apply | 1 of 1 | 0 of 1 | – | 0 of 1 | – | 1 | 0 | 4.0 | 4 | 1.00 |",
            "| aider ¹ | 1 of 1 | 0 of 1 | 1 of 1 | 0 of 1 | – | 1 | 1 | 0.5 | 0 | 0.12 |",
        ]
    );
}

#[test]
fn every_class_has_its_line_in_the_order_of_damage() {
    let page = render_report(&report());
    let (_, table) = page.split_once("## By class").expect("the table");
    let rows: Vec<&str> = table.lines().filter(|line| line.starts_with("| ")).collect();
    assert_eq!(
        rows,
        [
            "| class | expected | cases | agentos | git-apply | aider |",
            "| clean | land | 1 | 1 · 0 · 0 · 0 | 1 / 0 | 1 / 0 |",
            "| bare | land | 1 | 1 · 0 · 0 · 0 | 0 / 0 | 0 / 1 |",
            "| search | either | 1 | 0 · 1 · 0 · 0 | – | 1 / 0 |",
            "| moved | refuse | 1 | 0 · 1 · 0 · 0 | 0 / 1 | 0 / 1 |",
            "| outside | refuse | 1 | 0 · 1 · 0 · 0 | – | – |",
        ]
    );
}

#[test]
fn a_missing_peer_is_named_with_its_command() {
    let page = render_report(&report());
    assert!(
        page.contains("- mpatch: install with `cargo install mpatch`. Installing it failed: no compiler."),
        "{page}"
    );
}

#[test]
fn times_are_compared_on_the_same_inputs_only() {
    let report = report();
    let agentos = report.tools.first().expect("the product");
    assert_eq!(agentos.tool, "agentos");
    assert_eq!(agentos.times_git_apply, Some(0.5), "the slow input was not git's");
    let alone: Vec<ToolRun> = runs().into_iter().filter(|run| run.tool == "agentos").collect();
    let alone = LandingReport::new(&alone, String::new(), String::new(), Vec::new());
    assert_eq!(alone.tools.first().and_then(|tool| tool.times_git_apply), None);
}

#[test]
fn a_preview_counts_for_its_time_alone() {
    let clean = ("clean", ExpectedOutcome::Land);
    let mut all = runs();
    all.push(run("agentos-explain", "a.clean", clean, RunOutcome::Look, 1.0));
    all.push(run("git-apply-check", "a.clean", clean, RunOutcome::Look, 4.0));
    let with = LandingReport::new(&all, "c0ffee".to_owned(), "now".to_owned(), Vec::new());
    assert_eq!(with.tools, report().tools);
    assert_eq!(with.classes, report().classes);
    let page = render_report(&with);
    assert!(
        page.contains("| agentos-explain | 1.0 | 0.25 |\n| git-apply-check | 4.0 | 1.00 |"),
        "{page}"
    );
    assert!(!render_report(&report()).contains("## Previews"));
}
