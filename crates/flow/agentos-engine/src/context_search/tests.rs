//! Which files are found, which are not even opened, and what fits a window.

use std::sync::atomic::{AtomicUsize, Ordering};

use agentos_api::WindowSource;
use agentos_context::{IndexAnswer, IndexedText, ObjectUse, TextCounter, TextSource, WordKey};
use agentos_tool::{
    Adapter, BoxFuture, Confinement, EditFormat, Enforcement, ExecutionMode, PastTurn, ProgressSink,
    Timestamp, ToolCapabilities, ToolError, ToolHealth, ToolOutput, ToolTask,
};

use super::{ASSUMED_WINDOW, ContextPlan, ContextQuery, ModelWindow, find_context};
use crate::context::RequestedFile;
use crate::history::EarlierTurn;
use crate::named_files::{MatchedFiles, NamedFiles};
use crate::ports::ContextIndex;
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
    search_in(&TestRepository::with_files(files), mode, task, named, window)
}

fn search_in(
    repository: &TestRepository,
    mode: ExecutionMode,
    task: &str,
    named: &[RequestedFile],
    window: Option<u64>,
) -> ContextPlan {
    search_for(repository, &DescribedTool(mode), task, named, window)
}

fn search_for(
    repository: &TestRepository,
    adapter: &dyn Adapter,
    task: &str,
    named: &[RequestedFile],
    window: Option<u64>,
) -> ContextPlan {
    let query = ContextQuery {
        adapter,
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
    find_context(repository, &clock, &query).unwrap()
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
    let turn = EarlierTurn::from_past(PastTurn::bounded("add it", &answer, "landed", Vec::new()));
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

/// An index that keeps nothing: it counts every text that it is asked about, and may claim anything of the rest.
#[derive(Default)]
struct CountingIndex {
    /// Files that it claims to have saved for any tree.
    files: Option<Vec<(String, String)>>,
    /// Answers that it claims to have saved for any rules.
    withheld: Option<Vec<bool>>,
    /// True if it cannot be used.
    is_broken: bool,
}

impl ContextIndex for CountingIndex {
    fn load_files(&self, _tree: &str) -> Option<Vec<(String, String)>> {
        self.files.clone()
    }

    fn save_files(&self, _tree: &str, files: &[(String, String)]) {
        assert!(files.is_sorted());
    }

    fn load_withheld(&self, _tree: &str, _scope: &str) -> Option<Vec<bool>> {
        self.withheld.clone()
    }

    fn save_withheld(&self, _tree: &str, _scope: &str, withheld: &[bool]) {
        assert!(withheld.contains(&true) && withheld.contains(&false));
    }

    fn count_words(
        &mut self,
        objects: &[&str],
        words: &[WordKey],
        read: &mut dyn FnMut(usize) -> Option<TextSource>,
    ) -> Option<IndexAnswer> {
        let mut answer = IndexAnswer {
            uses: vec![Vec::new(); words.len()],
            ..IndexAnswer::default()
        };
        for object in 0..objects.len() {
            let TextSource::Bytes(bytes) = read(object)? else {
                return None;
            };
            let counted = TextCounter::default().count_text(&bytes).unwrap();
            answer.texts.push(IndexedText {
                length: Some(counted.length),
                bytes: bytes.len() as u64,
            });
            for (key, count) in counted.words {
                if let Some(word) = words.iter().position(|word| *word == key) {
                    answer.uses[word].push(ObjectUse { object, count });
                }
            }
        }
        (!self.is_broken).then_some(answer)
    }
}

/// Makes so many files that an index is used, and a few with the words of a task.
fn many_files() -> Vec<(String, String)> {
    let file = |at: usize| {
        let words = if at.is_multiple_of(60) {
            "basket_total of items"
        } else {
            "some words"
        };
        (
            format!("src/part{}/file{at:03}.rs", at % 7),
            format!("fn f{at}() {{ {words} }}\n"),
        )
    };
    let mut files: Vec<(String, String)> = (0..600).map(file).collect();
    files.push((".env".to_owned(), "BASKET_TOKEN=basket basket\n".to_owned()));
    files.push(("data/basket.csv".to_owned(), "basket\n".to_owned()));
    files.push((".agentosignore".to_owned(), "data/\n".to_owned()));
    files
}

#[test]
fn an_index_changes_nothing_but_the_time() {
    let files = many_files();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let task = "the basket_total is wrong";
    // A named file that the search leaves out is read although the index does not know it.
    let named = [RequestedFile::whole("data/basket.csv")];
    let cloud = ExecutionMode::Cloud;
    let expected = search(&files, cloud, task, &named, Some(8192));
    assert!(expected.files.len() > 5, "{expected:?}");
    for is_broken in [false, true] {
        let repository = TestRepository::with_files(&files);
        repository.index.replace(Some(Box::new(CountingIndex {
            is_broken,
            ..CountingIndex::default()
        })));
        assert_eq!(
            search_in(&repository, cloud, task, &named, Some(8192)),
            expected,
            "{is_broken}"
        );
    }
}

#[test]
fn what_an_index_claims_is_compared_with_the_base_and_with_policy() {
    let files = many_files();
    let files: Vec<(&str, &str)> = files
        .iter()
        .map(|(path, text)| (path.as_str(), text.as_str()))
        .collect();
    let repository = TestRepository::with_files(&files);
    let saved = |path: &str, id_of: &str| {
        let target = crate::ports::Repository::target(&repository).unwrap();
        let base = crate::ports::Repository::base(&repository, &target).unwrap();
        (path.to_owned(), base.entry(id_of).unwrap().unwrap().id)
    };
    // The content of a withheld file under another name, a file that is not there, and the withheld file as an open one.
    let listed = vec![
        saved(".env", ".env"),
        saved("src/basket.rs", "src/part0/file000.rs"),
        saved("src/part0/file420.rs", ".env"),
    ];
    repository.index.replace(Some(Box::new(CountingIndex {
        withheld: Some(vec![false; listed.len()]),
        files: Some(listed),
        is_broken: false,
    })));
    let plan = search_in(&repository, ExecutionMode::Cloud, "the basket of .env", &[], None);
    let paths: Vec<&str> = plan.files.iter().map(|file| file.path.as_str()).collect();
    assert_eq!(paths, ["src/part0/file420.rs"]);
    // The size is that of the file itself, not of the content that the index names.
    assert_eq!(
        plan.report.bytes,
        "fn f420() { basket_total of items }\n".len() as u64
    );
    let withheld: Vec<&str> = plan
        .report
        .withheld
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(withheld, [".env"]);
}

#[test]
fn a_file_with_a_secret_is_replaced_by_the_next_one() {
    let secret = "let basket_total = \"AKIAQ7XJ2M5N8P3R6T4V\";\n".repeat(3);
    let files = [
        ("src/basket.rs", secret.as_str()),
        ("src/door.rs", "fn open_door() { basket_total() }\n"),
    ];
    let plan = search(&files, ExecutionMode::Cloud, "basket_total is wrong", &[], None);
    let paths: Vec<&String> = plan.report.list_paths().collect();
    assert_eq!(paths, ["src/door.rs"]);
    let withheld: Vec<&str> = plan
        .report
        .withheld
        .iter()
        .map(|file| file.path.as_str())
        .collect();
    assert_eq!(withheld, ["src/basket.rs"]);
}

/// Tool of which it is counted how often somebody asks what confines it.
struct ConfinedTool(DescribedTool, AtomicUsize);

impl Adapter for ConfinedTool {
    fn provider(&self) -> &str {
        self.0.provider()
    }

    fn health_check(&self, now: Timestamp) -> BoxFuture<'_, ToolHealth> {
        self.0.health_check(now)
    }

    fn run<'a>(
        &'a self,
        task: &'a ToolTask,
        progress: &'a dyn ProgressSink,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        self.0.run(task, progress)
    }

    fn supports(&self) -> ToolCapabilities {
        self.0.supports()
    }

    fn confinement(&self) -> Confinement {
        self.1.fetch_add(1, Ordering::Relaxed);
        Confinement {
            enforcement: Enforcement::Kernel,
            ..self.0.confinement()
        }
    }
}

#[test]
fn what_confines_a_tool_is_found_out_only_for_rules_that_depend_on_it() {
    let rule = |enforcement: &str| {
        format!(
            "version = 1\n[[rule]]\nid = \"ours.door\"\neffect = \"deny\"\nwhy = \"of the door\"\naction = [\"read\"]\n\
             paths = [\"src/door.rs\"]\nenforcement = \"{enforcement}\"\n[rule.examples]\n\
             match = [{{ path = \"src/door.rs\", action = \"read\", enforcement = \"{enforcement}\" }}]\n"
        )
    };
    let cases: [(String, usize, &[&str]); 3] = [
        (String::new(), 0, &["src/door.rs"]),
        (rule("kernel"), 1, &[]),
        (rule("observed"), 1, &["src/door.rs"]),
    ];
    for (policy, asked, expected) in cases {
        let repository = TestRepository::with_files(&[("src/door.rs", "fn open_door() {}\n")]);
        repository.set_policy(&policy);
        let tool = ConfinedTool(DescribedTool(ExecutionMode::Local), AtomicUsize::new(0));
        let report = search_for(&repository, &tool, "open_door is wrong", &[], None).report;
        let paths: Vec<&String> = report.list_paths().collect();
        assert_eq!(paths, expected, "{policy}");
        assert_eq!(tool.1.load(Ordering::Relaxed).min(1), asked, "{policy}");
    }
}
