//! Which files are found, which are not even opened, and what fits a window.

use agentos_api::WindowSource;
use agentos_tool::{
    Adapter, BoxFuture, DiffQuality, EditFormat, ExecutionMode, ProgressSink, Timestamp, ToolCapabilities,
    ToolError, ToolHealth, ToolOutput, ToolTask,
};

use super::{ASSUMED_WINDOW, ContextPlan, ContextQuery, ModelWindow, find_context};
use crate::context::RequestedFile;
use crate::test_ports::{NoonClock, TestRepository};

/// A tool that is only described.
struct Described(ExecutionMode);

impl Adapter for Described {
    fn provider(&self) -> &str {
        "described"
    }

    fn health_check(&self, _now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        Box::pin(std::future::pending())
    }

    fn run<'a>(
        &'a self,
        _task: &'a ToolTask,
        _progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::pending())
    }

    fn supports(&self) -> ToolCapabilities {
        ToolCapabilities {
            ..ToolCapabilities::diff_only(self.0, DiffQuality::Medium)
        }
    }
}

/// Chooses files for a model with a window of so many tokens.
fn search(
    files: &[(&str, &str)],
    mode: ExecutionMode,
    task: &str,
    named: &[RequestedFile],
    window: Option<u64>,
) -> ContextPlan {
    let query = ContextQuery {
        adapter: &Described(mode),
        model: None,
        task,
        named,
        searches: true,
        window: window.map(|tokens| ModelWindow {
            tokens,
            source: WindowSource::Server,
        }),
        edit_format: EditFormat::UnifiedDiff,
        max_output_tokens: None,
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
