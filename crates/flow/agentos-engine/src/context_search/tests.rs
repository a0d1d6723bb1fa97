//! Which files are found, which are not even opened, and what a time that is over leaves.

use agentos_api::ContextReport;
use agentos_tool::{
    Adapter, BoxFuture, DiffQuality, ExecutionMode, ProgressSink, Timestamp, ToolCapabilities, ToolError,
    ToolHealth, ToolOutput, ToolTask,
};

use super::{BYTES_PER_TOKEN, ContextQuery, INSTRUCTION_TOKENS, MOST_TOKENS, USUAL_WINDOW, find_context};
use crate::test_ports::{NoonClock, TestRepository};

/// A tool that is only described.
struct Described(ExecutionMode, Option<u64>);

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
            context_window: self.1,
            ..ToolCapabilities::diff_only(self.0, DiffQuality::Medium)
        }
    }
}

fn search(files: &[(&str, &str)], tool: &Described, task: &str, is_late: bool) -> ContextReport {
    let query = ContextQuery {
        adapter: tool,
        model: None,
        task,
        max_output_tokens: None,
    };
    find_context(&TestRepository::with_files(files), &NoonClock { is_late }, &query).unwrap()
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
    let cases: [(&str, ExecutionMode, &str, bool, &[&str]); 4] = [
        (
            "by its words",
            cloud,
            "basket_total is wrong",
            false,
            &["src/basket.rs"],
        ),
        (
            "by its name, before all others",
            local,
            "basket_total is not as README.md says",
            false,
            &["README.md", "src/basket.rs"],
        ),
        ("none", cloud, "translate it", false, &[]),
        ("not read in time", cloud, "basket_total is wrong", true, &[]),
    ];
    for (what, mode, task, is_late, expected) in cases {
        let report = search(&shop, &Described(mode, None), task, is_late);
        let paths: Vec<&String> = report.list_paths().collect();
        assert_eq!(paths, expected, "{what}");
        // The rules are not ranked, and neither is what the patterns leave out.
        assert_eq!(report.ranked, 5, "{what}");
        assert_eq!(report.read, if is_late { 0 } else { 5 }, "{what}");
    }
}

#[test]
fn files_fill_what_the_context_window_leaves() {
    let quarter_kept = (USUAL_WINDOW - USUAL_WINDOW / 4 - INSTRUCTION_TOKENS) * BYTES_PER_TOKEN;
    let cases = [
        (None, quarter_kept),
        (Some(USUAL_WINDOW), quarter_kept),
        (Some(1024), 0),
        (Some(1 << 20), MOST_TOKENS * BYTES_PER_TOKEN),
    ];
    for (window, expected) in cases {
        let tool = Described(ExecutionMode::Local, window);
        let report = search(&[("a.txt", "one\n")], &tool, "see a.txt", false);
        assert_eq!(report.budget_bytes, expected, "{window:?}");
        let is_too_large = report.too_large == ["a.txt"];
        assert_eq!(is_too_large, expected == 0, "{window:?}");
    }
}
