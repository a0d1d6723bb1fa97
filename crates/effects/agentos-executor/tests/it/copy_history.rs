//! The git directory that a tool gets with a copy: real git works in it, and it holds the base alone.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use agentos_executor::{BaseCopy, Repository, ShownFiles, TargetSpec};
use agentos_testkit::repo::{TestRepo, make_dir, write_file};

use crate::support::open;

/// What no tool may find: each is in the repository's object store, and none in its base.
const SECRETS: &[&str] = &[
    "SECRET-deleted",
    "SECRET-stash",
    "SECRET-branch",
    "SECRET-staged",
    "SECRET-amended",
];

/// A copy with a git directory outside of it, so that the copy itself stays as it was.
struct Lent {
    copy: BaseCopy,
    git_dir: PathBuf,
}

impl Lent {
    fn of(repo: &TestRepo, hidden: &[&str]) -> Self {
        let repository: Repository = open(repo);
        let target = repository.resolve(&TargetSpec::AtHead).unwrap();
        let key = format!("{hidden:?}");
        let shown = ShownFiles {
            key: &key,
            may: &|path, _| !hidden.contains(&path),
        };
        let copies = repository.open_copies(Some(&cache(repo))).unwrap();
        let copy = repository.copy(&copies, &target, None, &shown).unwrap();
        let mut place = (0..).map(|number| repo.outside().join(format!("tool-{number}")));
        let place = place.find(|place| !place.exists()).unwrap();
        make_dir(&place);
        copy.give_history(&place).unwrap();
        Self {
            copy,
            git_dir: place.join(".git"),
        }
    }

    fn git(&self, repo: &TestRepo, args: &[&str]) -> String {
        let git_dir = format!("--git-dir={}", self.git_dir.display());
        let all = [&[&git_dir, "--work-tree=."], args].concat();
        repo.git_in(&self.copy.files(), &all)
    }

    /// Ids of all objects that git finds.
    fn objects(&self, repo: &TestRepo) -> BTreeSet<String> {
        let listed = self.git(
            repo,
            &["cat-file", "--batch-all-objects", "--batch-check=%(objectname)"],
        );
        listed.lines().map(str::to_owned).collect()
    }
}

fn cache(repo: &TestRepo) -> PathBuf {
    repo.outside().join("cache/agentos")
}

/// The objects of HEAD, without those before it.
fn objects_of_head(repo: &TestRepo) -> BTreeSet<String> {
    let listed = repo.git(&[
        "rev-list",
        "--objects",
        "--no-object-names",
        "--max-count=1",
        "HEAD",
    ]);
    listed.lines().map(str::to_owned).collect()
}

/// Does a file below the folder hold this text? Objects in it are not compressed.
fn holds(folder: &Path, text: &str) -> bool {
    let mut open = vec![folder.to_owned()];
    while let Some(next) = open.pop() {
        for entry in fs::read_dir(&next).unwrap() {
            let place = entry.unwrap().path();
            if place.is_dir() && !place.is_symlink() {
                open.push(place);
            } else if let Ok(bytes) = fs::read(&place)
                && bytes.windows(text.len()).any(|found| found == text.as_bytes())
            {
                return true;
            }
        }
    }
    false
}

/// A repository with a past, a stash, another branch, a blob that was only staged, and a commit that was replaced.
fn with_a_past() -> TestRepo {
    let repo = TestRepo::new();
    repo.write("src/a.txt", "one\n");
    repo.write("src/deep/b.txt", "two\n");
    repo.write(".env", "SECRET-deleted\n");
    repo.commit_all("first");
    repo.git(&["rm", "-q", ".env"]);
    repo.git(&["commit", "-qm", "no more"]);
    repo.git(&["checkout", "-qb", "private"]);
    repo.write("plan.txt", "SECRET-branch\n");
    repo.commit_all("private");
    repo.git(&["checkout", "-q", "main"]);
    repo.write("src/a.txt", "SECRET-stash\n");
    repo.git(&["stash", "-q"]);
    repo.write("staged", "SECRET-staged\n");
    repo.git(&["add", "staged"]);
    repo.git(&["rm", "-q", "--cached", "staged"]);
    fs::rename(repo.path().join("staged"), repo.outside().join("staged")).unwrap();
    repo.write("src/c.txt", "SECRET-amended\n");
    repo.commit_all("wrong");
    repo.write("src/c.txt", "three\n");
    repo.git(&["commit", "-qa", "--amend", "-m", "right"]);
    repo
}

#[test]
fn a_tools_git_holds_the_base_and_nothing_else() {
    let repo = with_a_past();
    let tool = Lent::of(&repo, &[]);
    assert_eq!(tool.objects(&repo), objects_of_head(&repo));
    for secret in SECRETS {
        assert!(!holds(tool.git_dir.parent().unwrap(), secret), "{secret}");
        assert!(!holds(&cache(&repo), secret), "{secret}");
    }
    let borrowed = fs::read_to_string(tool.git_dir.join("objects/info/alternates")).unwrap();
    assert_eq!(Path::new(borrowed.trim_end()), tool.copy.objects());
}

#[test]
fn git_works_in_a_copy() {
    let repo = with_a_past();
    let tool = Lent::of(&repo, &[]);
    let git = |args: &[&str]| tool.git(&repo, args);
    assert_eq!(git(&["rev-parse", "HEAD"]), repo.git(&["rev-parse", "HEAD"]));
    assert_eq!(git(&["status", "--porcelain"]), "");
    // Size and time are known beforehand, so that git need not read every file.
    let known = git(&["ls-files", "--debug", "src/a.txt"]);
    assert!(known.contains("size: 4"), "{known}");
    assert_eq!(git(&["log", "--format=%s"]), "right");
    assert_eq!(git(&["show", "HEAD:src/a.txt"]), "one");
    assert_eq!(git(&["ls-files"]), "src/a.txt\nsrc/c.txt\nsrc/deep/b.txt");
    git(&["fsck", "--strict", "--full"]);
    write_file(&tool.copy.files().join("src/a.txt"), "one\nmore\n");
    assert_eq!(git(&["diff", "--numstat"]), "1\t0\tsrc/a.txt");
    git(&["commit", "-qam", "mine"]);
    assert_eq!(git(&["log", "--format=%s"]), "mine\nright");
    git(&["stash", "list"]);
    git(&["checkout", "-q", "HEAD~1"]);
    assert_eq!(
        fs::read_to_string(tool.copy.files().join("src/a.txt")).unwrap(),
        "one\n"
    );
}

#[test]
fn what_is_withheld_has_no_name_no_id_and_no_content_in_a_tools_git() {
    let repo = with_a_past();
    repo.write("keys/id.pem", "SECRET-now\n");
    repo.write(".env", "SECRET-env\n");
    repo.commit_all("SECRET-message");
    let tool = Lent::of(&repo, &["keys/id.pem", ".env"]);
    let git = |args: &[&str]| tool.git(&repo, args);
    assert_eq!(git(&["ls-files"]), "src/a.txt\nsrc/c.txt\nsrc/deep/b.txt");
    assert_eq!(git(&["ls-tree", "-r", "--name-only", "HEAD"]), git(&["ls-files"]));
    assert_eq!(git(&["status", "--porcelain"]), "");
    assert_eq!(git(&["log", "--format=%s"]), "Base of this run");
    git(&["fsck", "--strict", "--full"]);
    let place = tool.git_dir.parent().unwrap();
    for path in ["keys/id.pem", ".env", "keys"] {
        let id = repo.git(&["rev-parse", &format!("HEAD:{path}")]);
        assert!(!tool.objects(&repo).contains(id.trim()), "{path}");
        for folder in [place, &tool.copy.objects()] {
            assert!(!holds(folder, path.rsplit('/').next().unwrap()), "{path}");
        }
    }
    for secret in SECRETS
        .iter()
        .chain(&["SECRET-now", "SECRET-env", "SECRET-message"])
    {
        assert!(!holds(place, secret) && !holds(&cache(&repo), secret), "{secret}");
    }
    git(&["commit", "-q", "--allow-empty", "-m", "mine"]);
    assert_eq!(git(&["rev-list", "--count", "HEAD"]), "2");
}

#[test]
fn a_copy_of_which_everything_is_withheld_has_an_empty_commit() {
    let repo = TestRepo::new();
    repo.write("a.txt", "SECRET\n");
    repo.commit_all("first");
    let tool = Lent::of(&repo, &["a.txt"]);
    assert_eq!(tool.git(&repo, &["ls-files"]), "");
    assert_eq!(tool.git(&repo, &["status", "--porcelain"]), "");
    assert!(!holds(&cache(&repo), "SECRET"));
}

#[test]
fn of_two_commits_with_one_tree_each_run_gets_its_own() {
    let repo = with_a_past();
    let first = Lent::of(&repo, &[]);
    repo.git(&["commit", "-q", "--allow-empty", "-m", "next"]);
    let second = Lent::of(&repo, &[]);
    assert_eq!(first.copy.files(), second.copy.files());
    assert_eq!(first.git(&repo, &["log", "--format=%s"]), "right");
    assert_eq!(second.git(&repo, &["log", "--format=%s"]), "next");
}

#[test]
fn when_the_base_moves_on_nothing_of_the_one_before_is_left() {
    let repo = TestRepo::new();
    for number in 0..700 {
        repo.write(
            &format!("d{}/{number}.txt", number % 9),
            format!("file {number}\n"),
        );
    }
    repo.commit_all("many");
    drop(Lent::of(&repo, &[]));
    repo.git(&["checkout", "-qb", "other"]);
    for number in (0..700).step_by(90) {
        repo.write(
            &format!("d{}/{number}.txt", number % 9),
            format!("OTHER-{number}\n"),
        );
    }
    repo.write("only/here.txt", "OTHER-only\n");
    repo.commit_all("other");
    // From one to the other and back, then to a smaller one, for which fewer packs do.
    for (branch, others) in [("other", true), ("main", false), ("other", true)] {
        repo.git(&["checkout", "-q", branch]);
        let tool = Lent::of(&repo, &[]);
        assert_eq!(tool.objects(&repo), objects_of_head(&repo));
        assert_eq!(tool.git(&repo, &["status", "--porcelain"]), "");
        tool.git(&repo, &["fsck", "--strict", "--full"]);
        for text in ["OTHER-90\n", "OTHER-only\n", "here.txt"] {
            assert_eq!(holds(&cache(&repo), text), others, "{branch}: {text:?}");
        }
    }
    repo.git(&["checkout", "-q", "--orphan", "small"]);
    repo.git(&["rm", "-rqf", "."]);
    repo.write("a.txt", "small\n");
    repo.commit_all("small");
    let tool = Lent::of(&repo, &[]);
    assert_eq!(tool.objects(&repo), objects_of_head(&repo));
    assert!(!holds(&cache(&repo), "OTHER-") && !holds(&cache(&repo), "file 1"));
}

#[test]
fn a_file_that_is_no_longer_shown_leaves_the_objects_too() {
    let repo = with_a_past();
    drop(Lent::of(&repo, &[]));
    let tool = Lent::of(&repo, &["src/c.txt"]);
    assert!(!holds(&tool.copy.objects(), "three\n") && !holds(&tool.copy.objects(), "c.txt"));
    tool.git(&repo, &["fsck", "--strict", "--full"]);
}

#[test]
fn large_and_empty_files_come_back_from_the_objects_as_they_were() {
    let repo = TestRepo::new();
    let sizes = [0, 1, 15, 16, 65_534, 65_535, 65_536, 131_070, 300_000];
    for size in sizes {
        let content: Vec<u8> = (0..size)
            .map(|at: usize| u8::try_from(at % 251).unwrap())
            .collect();
        repo.write(&format!("{size}.bin"), content);
    }
    repo.commit_all("sizes");
    let tool = Lent::of(&repo, &[]);
    tool.git(&repo, &["fsck", "--strict", "--full"]);
    for size in sizes {
        let told = tool.git(&repo, &["cat-file", "-s", &format!("HEAD:{size}.bin")]);
        assert_eq!(told.trim(), size.to_string());
    }
}
