//! Which files are found, which are not even opened, and what fits a window.

use agentos_api::WindowSource;
use agentos_tool::{EditFormat, ExecutionMode, PastTurn};

use super::{ASSUMED_WINDOW, ContextPlan, ContextQuery, ModelWindow, find_context};
use crate::context::RequestedFile;
use crate::named_files::{MatchedFiles, NamedFiles};
use crate::test_ports::{NoonClock, TestRepository};
use crate::test_runs::DescribedTool;

/// Chooses files for a model with a window of so many tokens.
fn search(
    files: &[(&str, &str)],
    mode: ExecutionMode,
    task: &str,
    named: &[RequestedFile],
    window: Option<u64>,
) -> ContextPlan {
    let query = ContextQuery {
        adapter: &DescribedTool(mode),
        model: None,
        task,
        named: &NamedFiles {
            files: named.to_vec(),
            ..NamedFiles::default()
        },
        searches: true,
        window: window.map(|tokens| ModelWindow {
            tokens,
            source: WindowSource::Server,
        }),
        edit_format: EditFormat::UnifiedDiff,
        max_output_tokens: None,
        history: &[],
        remark: None,
    };
    let clock = NoonClock { is_late: true };
    find_context(&TestRepository::with_files(files), &clock, &query).unwrap()
}

#[test]
fn files_are_found_that_the_task_is_about_and_that_may_be_shown() {
    let shop = [
        (
            "src/basket.rs",
            "pub fn basket_total(items: &[u64]) -> u64 { 0 }\n",
        ),
        ("src/door.rs", "pub fn open_door() {}\n"),
        (".env", "BASKET_TOKEN=basket basket basket\n"),
        (".agentos/policy/basket.toml", "# basket basket basket\n"),
        (".agentosignore", "data/\n"),
        ("data/basket.csv", "basket,basket\n"),
        ("README.md", "# shop\n"),
    ];
    let (local, cloud) = (ExecutionMode::Local, ExecutionMode::Cloud);
    let cases: [(&str, ExecutionMode, &str, &[&str]); 3] = [
        ("by its words", cloud, "basket_total is wrong", &["src/basket.rs"]),
        (
            "by its name, before all others",
            local,
            "basket_total is not as README.md says",
            // Policy lets a model on this machine read settings.
            &["README.md", "src/basket.rs", ".env"],
        ),
        ("none", cloud, "translate it", &[]),
    ];
    for (what, mode, task, expected) in cases {
        let report = search(&shop, mode, task, &[], None).report;
        let paths: Vec<&String> = report.list_paths().collect();
        assert_eq!(paths, expected, "{what}");
        // The rules are not ranked, and neither is what the patterns leave out.
        assert_eq!((report.ranked, report.read), (5, 5), "{what}");
    }
    let report = search(&shop, cloud, "the basket of .env", &[], None).report;
    let withheld: Vec<&str> = report.withheld.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(withheld, [".env"]);
}

#[test]
fn a_named_file_is_shown_whatever_its_size() {
    let large = "fn one() {\n    let total = 1;\n}\n\n".repeat(2000);
    let files = [
        ("src/large.rs", large.as_str()),
        ("src/other.rs", "fn total() {}\n"),
    ];
    let named = |lines: &[(u64, u64)]| RequestedFile {
        path: "src/large.rs".to_owned(),
        lines: lines.to_vec(),
    };
    let mode = ExecutionMode::Local;
    let plan = search(&files, mode, "the total is wrong", &[named(&[])], Some(4096));
    let file = plan.report.files.first().unwrap();
    assert!(file.named && !file.ranges.is_empty(), "{file:?}");
    assert_eq!(file.path, "src/large.rs");
    let budget = plan.report.budget.clone().unwrap();
    assert!(
        budget.used <= budget.context && budget.used * 10 > budget.context * 9,
        "{budget:?}"
    );
    assert_eq!((budget.window, budget.source), (4096, WindowSource::Server));
    // Exactly the lines that the user wants, although there is room for more.
    let plan = search(
        &files,
        mode,
        "the total is wrong",
        &[named(&[(2, 3), (9, 9)])],
        Some(1 << 17),
    );
    assert_eq!(plan.files.first(), Some(&named(&[(2, 3), (9, 9)])));
    // A file that is not there is kept, so that reading it reports that.
    let gone = RequestedFile::whole("src/gone.rs");
    assert!(
        search(&files, mode, "total", std::slice::from_ref(&gone), None)
            .files
            .contains(&gone)
    );
}

#[test]
fn a_window_that_nobody_states_is_assumed() {
    let plan = search(
        &[("a.txt", "one\n")],
        ExecutionMode::Local,
        "see a.txt",
        &[],
        None,
    );
    let budget = plan.report.budget.unwrap();
    assert_eq!(
        (budget.window, budget.source),
        (ASSUMED_WINDOW, WindowSource::Assumed)
    );
    let plan = search(
        &[("a.txt", "one\n")],
        ExecutionMode::Local,
        "see a.txt",
        &[],
        Some(256),
    );
    assert_eq!(plan.report.too_large, ["a.txt"]);
    assert_eq!(plan.files, []);
}

/// Chooses files of one pattern alone, for a model with a window of so many tokens.
fn match_files(files: &[(&str, &str)], paths: &[String], window: u64) -> ContextPlan {
    let query = ContextQuery {
        adapter: &DescribedTool(ExecutionMode::Local),
        model: None,
        task: "the total is wrong",
        named: &NamedFiles {
            matched: vec![MatchedFiles {
                typed: "src/".to_owned(),
                paths: paths.to_vec(),
            }],
            ..NamedFiles::default()
        },
        searches: false,
        window: Some(ModelWindow {
            tokens: window,
            source: WindowSource::Server,
        }),
        edit_format: EditFormat::UnifiedDiff,
        max_output_tokens: None,
        history: &[],
        remark: None,
    };
    find_context(
        &TestRepository::with_files(files),
        &NoonClock { is_late: true },
        &query,
    )
    .unwrap()
}

#[test]
fn all_files_of_a_pattern_are_shown_or_it_is_said_how_many_are_not() {
    let body = "fn one() {
    let sum = 1;
}

"
    .repeat(40);
    let about = format!("{body}fn total() {{}}\n");
    let names: Vec<String> = (0..300).map(|at| format!("src/f{at:03}.rs")).collect();
    let files: Vec<(&str, &str)> = names
        .iter()
        .map(|name| match name.as_str() {
            "src/f200.rs" => (name.as_str(), about.as_str()),
            _ => (name.as_str(), body.as_str()),
        })
        .collect();
    let few = match_files(&files, &names[..3], 1 << 16);
    assert_eq!(few.files.len(), 3);
    assert!(few.files.iter().all(|file| file.lines.is_empty()) && few.report.omitted.is_empty());
    let many = match_files(&files, &names, 1 << 13);
    let omitted = &many.report.omitted[0];
    assert_eq!((omitted.name.as_str(), omitted.matched), ("src/", 300));
    assert!((5..100).contains(&omitted.shown), "{omitted:?}");
    assert_eq!(
        many.files[0].path, "src/f200.rs",
        "the one that the task is about comes first"
    );
    // Files that certainly do not fit are not even read.
    assert_eq!((many.report.ranked, many.report.read), (300, 256));
    let budget = many.report.budget.unwrap();
    assert!(budget.used <= budget.context, "{budget:?}");
}

#[test]
fn earlier_answers_are_part_of_the_prompt() {
    let answer = "a long answer ".repeat(500);
    let turn = PastTurn::bounded("add it", &answer, "landed", Vec::new());
    let nothing = NamedFiles::default();
    let query = |history| ContextQuery {
        adapter: &DescribedTool(ExecutionMode::Local),
        model: None,
        task: "see a.txt",
        named: &nothing,
        searches: true,
        window: None,
        edit_format: EditFormat::UnifiedDiff,
        max_output_tokens: None,
        history,
        remark: None,
    };
    let repo = TestRepository::with_files(&[("a.txt", "one\n")]);
    let clock = NoonClock { is_late: true };
    let prompt = |history| {
        find_context(&repo, &clock, &query(history))
            .unwrap()
            .report
            .budget
            .unwrap()
            .prompt
    };
    let history = [turn];
    assert!(prompt(&history) > prompt(&[]) + 1000);
}
