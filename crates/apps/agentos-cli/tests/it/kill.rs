//! Killed at any step, a landing is wholly made or wholly not, and the next command sees to it.
//!
//! Owns: every place where a debug build can be ended, for each kind of change, repository and target. The normal
//! run takes a sample; `AGENTOS_KILL_ALL=1` takes every place and every place of the recovery as well. Each state that
//! is left must be a row of the executor's table, and recovery must do what that row says.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use agentos_testkit::cli::{Cli, CliOutput};
use agentos_testkit::repo::TestRepo;

use crate::kill_states::{Contents, CrashState, CrashTable, WatchedLanding};
use crate::support::agentos;

/// In the normal run: every so many places, each scenario beginning at another one.
const SAMPLE: u64 = 14;
/// More places than this no landing has.
const MOST_PLACES: u64 = 500;

const MODIFY: &str = "--- a/a.txt\n+++ b/a.txt\n@@ -1,3 +1,3 @@\n one\n-two\n+TWO\n three\n";
const ADD: &str = "diff --git a/n/e/w.txt b/n/e/w.txt\nnew file mode 100644\n--- /dev/null\n+++ b/n/e/w.txt\n@@ -0,0 +1 @@\n+new\n";
const DELETE: &str = "diff --git a/d/gone.txt b/d/gone.txt\ndeleted file mode 100644\n--- a/d/gone.txt\n+++ /dev/null\n@@ -1 +0,0 @@\n-gone\n";
const RENAME: &str =
    "diff --git a/r.txt b/moved/r.txt\nsimilarity index 100%\nrename from r.txt\nrename to moved/r.txt\n";
/// A change between a person's staged and unstaged edits of one file.
const BESIDE: &str =
    "diff --git a/both.txt b/both.txt\n--- a/both.txt\n+++ b/both.txt\n@@ -3 +3 @@\n-line 3\n+LINE 3\n";
const MODE: &str = "diff --git a/run.sh b/run.sh\nold mode 100644\nnew mode 100755\n";

#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Kind {
    Normal,
    Linked,
    Bare,
    /// A sparse checkout without the folders of the deleted and the new file.
    Sparse,
    /// A branch without a commit.
    Unborn,
}

#[derive(Debug)]
struct Scenario {
    kind: Kind,
    diff: String,
    target: &'static [&'static str],
}

/// A change of every kind.
pub fn everything() -> String {
    [MODIFY, ADD, DELETE, RENAME, MODE, BESIDE].concat()
}

/// Shall every place be taken?
pub fn every() -> bool {
    std::env::vars_os().any(|(name, _)| name == "AGENTOS_KILL_ALL")
}

fn scenarios() -> Vec<Scenario> {
    let all = everything();
    let mut found = Vec::new();
    for diff in [MODIFY, ADD, DELETE, RENAME, MODE, BESIDE] {
        found.push((Kind::Normal, diff.to_owned(), &[][..]));
    }
    // Nothing is staged: only so the intent is on the tape while the working tree has no temporary name.
    found.push((Kind::Normal, DELETE.to_owned(), &["--no-commit"]));
    found.push((Kind::Unborn, ADD.to_owned(), &[]));
    let targets: [(Kind, &[&[&str]]); 4] = [
        (
            Kind::Normal,
            &[
                &[],
                &["--no-commit"],
                &["--branch", "side"],
                &["--branch", "made/new"],
            ],
        ),
        (Kind::Sparse, &[&[], &["--no-commit"]]),
        (Kind::Linked, &[&[], &["--no-commit"], &["--branch", "made/new"]]),
        (Kind::Bare, &[&["--branch", "main"], &["--branch", "made/new"]]),
    ];
    for (kind, targets) in targets {
        for target in targets {
            found.push((kind, all.clone(), target));
        }
    }
    let scenario = |(kind, diff, target)| Scenario { kind, diff, target };
    found.into_iter().map(scenario).collect()
}

/// A repository of one kind, with work of the user's own in its work tree.
pub struct Place {
    repo: TestRepo,
    kind: Kind,
    dir: PathBuf,
    git_dir: PathBuf,
    common_dir: PathBuf,
    cli: Cli,
}

impl Place {
    pub fn new(kind: Kind) -> Self {
        let repo = TestRepo::new();
        repo.write("a.txt", "one\ntwo\nthree\n");
        repo.write("d/gone.txt", "gone\n");
        repo.write("r.txt", "keep 1\nkeep 2\nkeep 3\n");
        repo.write("run.sh", "#!/bin/sh\n");
        repo.write("notes.txt", "notes\n");
        repo.write("staged.txt", "before\n");
        repo.write("both.txt", "line 1\nline 2\nline 3\nline 4\nline 5\n");
        repo.commit_all("first");
        repo.git(&["branch", "side"]);
        let outside = repo.outside().to_owned();
        let dir = match kind {
            Kind::Normal => repo.path().to_owned(),
            Kind::Sparse => {
                repo.git(&["sparse-checkout", "set", "--no-cone", "/*", "!/d/", "!/n/"]);
                repo.path().to_owned()
            }
            Kind::Unborn => {
                repo.git(&["update-ref", "-d", "refs/heads/main"]);
                repo.git(&["read-tree", "--empty"]);
                repo.path().to_owned()
            }
            Kind::Linked => {
                let dir = outside.join("linked");
                let text = dir.to_str().unwrap();
                repo.git(&["worktree", "add", "--quiet", "-b", "other", text]);
                dir
            }
            Kind::Bare => {
                let dir = outside.join("bare.git");
                repo.git(&["clone", "--quiet", "--bare", ".", dir.to_str().unwrap()]);
                dir
            }
        };
        if kind != Kind::Bare {
            agentos_testkit::repo::write_file(&dir.join("notes.txt"), "notes\nnot committed\n");
            agentos_testkit::repo::write_file(&dir.join("staged.txt"), "staged\n");
            repo.git_in(&dir, &["add", "staged.txt"]);
            let both = |first: &str, last: &str| format!("{first}\nline 2\nline 3\nline 4\n{last}\n");
            agentos_testkit::repo::write_file(&dir.join("both.txt"), both("staged", "line 5"));
            repo.git_in(&dir, &["add", "both.txt"]);
            agentos_testkit::repo::write_file(&dir.join("both.txt"), both("staged", "mine"));
            agentos_testkit::repo::write_file(&dir.join("mine/own.txt"), "mine\n");
        }
        let cli = agentos().in_dir(&dir);
        let [git_dir, common_dir] = ["--absolute-git-dir", "--git-common-dir"].map(|which| {
            dir.join(repo.git_in(&dir, &["rev-parse", which]))
                .canonicalize()
                .unwrap()
        });
        Self {
            repo,
            kind,
            dir,
            git_dir,
            common_dir,
            cli,
        }
    }

    fn git(&self, args: &[&str]) -> String {
        self.repo.git_in(&self.dir, args)
    }

    fn apply(&self, scenario: &Scenario, fail_at: u64) -> CliOutput {
        let mut args = vec!["apply", "-", "--yes", "--json"];
        args.extend(scenario.target);
        self.run(&args, &scenario.diff, fail_at)
    }

    /// Runs programs under `strace`, here.
    pub fn tracer(&self) -> Cli {
        Cli::new("strace").unwrap().in_dir(&self.dir)
    }

    /// Ends the process with SIGKILL at the place with this number; 0 is nowhere.
    pub fn run(&self, args: &[&str], input: &str, fail_at: u64) -> CliOutput {
        let (output, place) = self.cli.kill_at(fail_at, args, input.as_bytes()).unwrap();
        assert_eq!(output.code.is_none(), place.is_some(), "{fail_at}: {output}");
        output
    }

    /// Everything that must be wholly before or wholly after, with what git says of it.
    pub fn state(&self) -> Contents {
        let mut state = self.contents();
        if self.kind != Kind::Bare {
            let status = ["status", "--porcelain", "--untracked-files=all"];
            state.insert("status".to_owned(), self.git(&status));
        }
        state
    }

    /// Returns refs, index and files, and changes nothing: `git status` may write the index. Commits are told by their
    /// trees, since ids hold the time.
    pub fn contents(&self) -> Contents {
        let mut state = Contents::new();
        let format = "--format=%(refname) %(tree)";
        state.insert(
            "refs".to_owned(),
            self.git(&["for-each-ref", format, "refs/heads"]),
        );
        if self.kind != Kind::Bare {
            state.insert("index".to_owned(), self.git(&["ls-files", "--stage"]));
            files(&self.dir, &self.dir, &mut state);
        }
        state
    }

    /// Returns the text in the lock of the index; `None` if it is not locked.
    pub fn index_lock(&self) -> Option<String> {
        std::fs::read_to_string(self.git_dir.join("index.lock")).ok()
    }

    /// Returns the folder of journal and tape.
    pub fn state_dir(&self) -> PathBuf {
        self.common_dir.join("agentos")
    }

    /// What must hold whatever happened.
    pub fn assert_sound(&self, what: &str) {
        self.git(&["fsck", "--strict", "--full", "--no-dangling"]);
        let mut left = Vec::new();
        for dir in BTreeSet::from([&self.git_dir, &self.common_dir]) {
            leftovers(dir, &mut left);
        }
        leftovers(&self.dir, &mut left);
        assert_eq!(left, Vec::<PathBuf>::new(), "{what}");
        let verified = self.run(&["evidence", "verify"], "", 0);
        assert_eq!(verified.code, Some(0), "{what}: {verified}");
    }
}

/// Content and mode of everything in a work tree but git's own.
fn files(root: &Path, dir: &Path, state: &mut Contents) {
    use std::os::unix::fs::PermissionsExt;
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        if path.file_name().is_some_and(|name| name == ".git") {
            continue;
        }
        if path.is_dir() {
            files(root, &path, state);
            continue;
        }
        let mode = path.metadata().unwrap().permissions().mode();
        let text = String::from_utf8(std::fs::read(&path).unwrap()).unwrap();
        let name = path.strip_prefix(root).unwrap().display().to_string();
        state.insert(name, format!("{mode:o} {text}"));
    }
}

/// Locks and temporary files of a landing.
pub fn leftovers(dir: &Path, found: &mut Vec<PathBuf>) {
    for entry in std::fs::read_dir(dir).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        let is_ours = name.starts_with(".agentos-") || name.starts_with("agentos-index");
        if is_ours || name.ends_with(".lock") || name == "journal.json" {
            found.push(path.clone());
        }
        if path.is_dir() && name != "objects" {
            leftovers(&path, found);
        }
    }
}

/// Kills a landing at the chosen places; returns how often it was killed, and how many places there were to choose from.
fn kill(
    scenario: &Scenario,
    chosen: &dyn Fn(u64) -> bool,
    recoveries: bool,
    table: &mut CrashTable,
) -> (u64, u64) {
    let mut place = Place::new(scenario.kind);
    let before = place.state();
    let landed = place.apply(scenario, 0);
    assert_eq!(landed.code, Some(0), "{scenario:?}: {landed}");
    let after = place.state();
    assert_ne!(before, after);
    place = Place::new(scenario.kind);
    let mut killed = 0;
    for number in 1..MOST_PLACES {
        if !chosen(number) && number > 1 {
            continue;
        }
        let landing = WatchedLanding::new(&place, scenario.target, &before, &after);
        let output = place.apply(scenario, number);
        if let Some(code) = output.code {
            assert_eq!(code, 0, "{scenario:?} at {number}: {output}");
            return (killed, number - 1);
        }
        killed += 1;
        let what = format!("{scenario:?} at {number}");
        let mut left = landing.observe(&place);
        table.meet(&left, &what);
        if recoveries {
            killed += kill_recovery(&place, &landing, &mut left, table);
        }
        let recovered = place.run(&["recover", "--json"], "", 0);
        assert_eq!(recovered.code, Some(0), "{what}: {recovered}");
        let is_made = table.check_recovery(&left, &recovered, &what);
        let state = place.state();
        let wanted = if is_made { &after } else { &before };
        assert!(state == *wanted, "{what}: {left:?} {recovered}\n{state:#?}");
        place.assert_sound(&what);
        if is_made {
            place = Place::new(scenario.kind);
        }
    }
    panic!("{scenario:?} never comes to its end");
}

/// Kills the recovery at each of its places; `left` is what the last kill left.
fn kill_recovery(
    place: &Place,
    landing: &WatchedLanding<'_>,
    left: &mut CrashState,
    table: &mut CrashTable,
) -> u64 {
    for number in 1..MOST_PLACES {
        let recovered = place.run(&["recover", "--json"], "", number);
        if recovered.code.is_some() {
            table.check_recovery(left, &recovered, "recovered");
            *left = landing.observe(place);
            return number - 1;
        }
        *left = landing.observe(place);
        table.meet(left, "in a recovery");
    }
    panic!("the recovery never comes to its end");
}

#[test]
fn killed_at_any_place_a_landing_is_wholly_made_or_wholly_not() {
    let every = every();
    let mut table = CrashTable::read();
    let (mut killed, mut places) = (0, 0);
    for (at, scenario) in (0..).zip(scenarios()) {
        let chosen = |number: u64| every || (number + 5 * at).is_multiple_of(SAMPLE);
        let (some, all) = kill(&scenario, &chosen, every, &mut table);
        killed += some;
        places += all;
    }
    let (met, states) = table.count_met();
    eprintln!("{met} of the {states} states were met that a kill can leave");
    if every {
        eprintln!("killed {killed} times, at each of {places} places and in the recoveries");
        assert!(places >= 200, "{places}");
        table.assert_all_met();
    } else {
        eprintln!("killed at {killed} places, a sample; AGENTOS_KILL_ALL=1 takes every one");
        assert!(killed >= 20, "{killed}");
    }
}
