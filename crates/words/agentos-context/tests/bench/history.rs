//! How often the ranking finds the files that a commit changed, from the commit's title alone.
//!
//! Owns: the measurement over a real history, given as a folder. Never: part of a test run: its figures depend on the
//! history. `cargo bench -p agentos-context -- DIR [COMMITS]`.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a measurement: a panic is a failed one"
)]

use std::collections::HashMap;
use std::io::Write;
use std::path::Path;

use agentos_context::{ContextBudget, FileRanker, FileText, TaskQuery, pick_parts};
use agentos_testkit::cli::program;

/// Commits that changed more files than this are about more than their title says.
const MOST_CHANGED: usize = 6;
/// Tokens that a model of a small window is sent.
const BUDGET: ContextBudget = ContextBudget {
    tokens: 5_120,
    whole_only: false,
};

/// One commit: its title, its parent, and the files that were there before and that it changed.
struct Case {
    title: String,
    parent: String,
    changed: Vec<String>,
}

/// What is counted over all commits.
#[derive(Default)]
struct Tally {
    commits: u32,
    first: u32,
    among_five: u32,
    picked: u32,
    recall: f64,
    tokens: u64,
}

fn main() {
    let args: Vec<String> = std::env::args()
        .skip(1)
        .filter(|arg| !arg.starts_with("--"))
        .collect();
    let mut out = std::io::stdout();
    let Some(dir) = args.first().map(Path::new) else {
        writeln!(out, "usage: cargo bench -p agentos-context -- DIR [COMMITS]").unwrap();
        return;
    };
    let count: usize = args
        .get(1)
        .map_or(100, |count| count.parse().expect("a number of commits"));
    let mut blobs = HashMap::new();
    let (mut with, mut without) = (Tally::default(), Tally::default());
    for case in cases(dir, count) {
        let files = files(dir, &case.parent, &mut blobs);
        with.take(&case.title, &case, &files, &blobs);
        let bare = case
            .title
            .split_once(": ")
            .map_or(case.title.as_str(), |(_, rest)| rest);
        without.take(bare, &case, &files, &blobs);
    }
    writeln!(out, "titles as they are:      {}", with.line()).unwrap();
    writeln!(out, "titles without `topic:`: {}", without.line()).unwrap();
}

impl Tally {
    fn take(
        &mut self,
        title: &str,
        case: &Case,
        files: &[(String, String)],
        blobs: &HashMap<String, Vec<u8>>,
    ) {
        let query = TaskQuery::from_task(title);
        let mut ranker = FileRanker::new(&query);
        for (path, blob) in files {
            let id = ranker.add_path(path);
            ranker.add_text(id, &blobs[blob]);
        }
        let ranked = ranker.rank_files();
        let hit = |path: &str| case.changed.iter().any(|changed| changed == path);
        self.commits += 1;
        self.first += u32::from(ranked.first().is_some_and(|file| hit(&file.path)));
        self.among_five += u32::from(ranked.iter().take(5).any(|file| hit(&file.path)));
        let candidates = ranker.rank_parts(|file| {
            let (_, blob) = files.iter().find(|(path, _)| *path == file.path)?;
            let text = String::from_utf8(blobs[blob].clone()).ok()?;
            let wanted = Vec::new();
            Some(FileText::measure(&text, wanted))
        });
        let picked = pick_parts(&candidates, BUDGET);
        let found = picked.files.iter().filter(|file| hit(&file.path)).count();
        self.picked += u32::from(found > 0);
        self.recall += found as f64 / case.changed.len() as f64;
        self.tokens += picked.tokens;
    }

    fn line(&self) -> String {
        let part = |count: f64| 100.0 * count / f64::from(self.commits.max(1));
        format!(
            "{} commits; a changed file is first in {:.0} %, among five in {:.0} %, sent in {:.0} %; {:.0} % of the \
             changed files are sent, in {} tokens on average",
            self.commits,
            part(self.first.into()),
            part(self.among_five.into()),
            part(self.picked.into()),
            part(self.recall),
            self.tokens / u64::from(self.commits.max(1)),
        )
    }
}

fn git(dir: &Path, args: &[&str]) -> Vec<u8> {
    let output = program("git")
        .current_dir(dir)
        .args(args)
        .output()
        .expect("git runs");
    assert!(output.status.success(), "git {args:?} fails");
    output.stdout
}

fn cases(dir: &Path, count: usize) -> Vec<Case> {
    let log = git(
        dir,
        &[
            "log",
            "--no-merges",
            "--format=%x00%H%x09%P%x09%s",
            "--name-status",
            "--no-renames",
        ],
    );
    let log = String::from_utf8_lossy(&log).into_owned();
    let mut cases = Vec::new();
    for commit in log.split('\0').skip(1) {
        let mut lines = commit.lines();
        let mut head = lines.next().unwrap_or_default().splitn(3, '\t');
        let (_, parent, title) = (
            head.next(),
            head.next().unwrap_or_default(),
            head.next().unwrap_or_default(),
        );
        let all: Vec<&str> = lines.filter(|line| !line.is_empty()).collect();
        let changed: Vec<String> = all
            .iter()
            .filter_map(|line| line.strip_prefix("M\t"))
            .filter(|path| !is_kept_along(path))
            .map(str::to_owned)
            .collect();
        if !parent.is_empty() && !changed.is_empty() && all.len() <= MOST_CHANGED {
            cases.push(Case {
                title: title.to_owned(),
                parent: parent.to_owned(),
                changed,
            });
        }
        if cases.len() == count {
            break;
        }
    }
    cases
}

/// Files that change along with others, whatever the task.
fn is_kept_along(path: &str) -> bool {
    let name = path.rsplit('/').next().unwrap_or(path);
    matches!(
        name,
        "CHANGELOG.md" | "Cargo.lock" | "package-lock.json" | "go.sum"
    )
}

/// The files of a commit with the ids of their blobs, which are read once each.
fn files(dir: &Path, commit: &str, blobs: &mut HashMap<String, Vec<u8>>) -> Vec<(String, String)> {
    let listed = git(dir, &["ls-tree", "-r", "-z", commit]);
    let listed = String::from_utf8_lossy(&listed).into_owned();
    let mut files = Vec::new();
    for entry in listed.split('\0').filter(|entry| entry.starts_with("100")) {
        let (about, path) = entry.split_once('\t').expect("git's form");
        let blob = about.rsplit(' ').next().unwrap_or_default().to_owned();
        let read = |id: &String| git(dir, &["cat-file", "blob", id]);
        blobs.entry(blob.clone()).or_insert_with_key(read);
        files.push((path.to_owned(), blob));
    }
    files
}
