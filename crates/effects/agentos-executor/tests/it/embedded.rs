//! Folders that git takes for repositories by what they hold.

use agentos_executor::TargetSpec;
use agentos_landing::{FileState, RepoPath, ResultFacts};
use agentos_testkit::repo::{TestRepo, make_dir, remove_file, write_file};

use crate::support::*;

const HEAD: &str = "ref: refs/heads/main\n";

/// What an embedded repository may consist of: each a file with its content.
const PARTS: [(&str, &str); 6] = [
    ("HEAD", HEAD),
    ("objects/info/x", "x\n"),
    ("refs/heads/x", "x\n"),
    ("commondir", "../../.git\n"),
    (
        "config",
        "[core]\n\trepositoryformatversion = 0\n\tbare = false\n\tworktree = .\n",
    ),
    ("guide.md", "# Guide\n"),
];

/// Git itself is asked in every folder that the parts can make, below the top and at the top of an exported tree.
#[test]
fn git_recognises_no_folder_that_is_not_found() {
    let repo = example();
    let own = repo.git(&["rev-parse", "--absolute-git-dir"]);
    let (mut recognised, mut found) = (0, 0);
    for parts in 0..1_u32 << PARTS.len() {
        let chosen: Vec<_> = (0..PARTS.len())
            .filter(|at| parts & 1 << at != 0)
            .map(|at| PARTS[at])
            .collect();
        let folder = repo.path().join(format!("t{parts}/sub"));
        make_dir(&folder);
        let states = chosen.iter().map(|(name, content)| {
            write_file(&folder.join(name), content);
            let path = RepoPath::new(&format!("t{parts}/sub/{name}")).unwrap();
            (path, None, Some(FileState::regular(content.as_bytes())))
        });
        let change = agentos_landing::Change::new(states.collect()).unwrap();
        let target = open(&repo).resolve(&TargetSpec::CurrentBranch).unwrap();
        let repository = open(&repo);
        let base = repository.base(&target).unwrap();
        let facts = ResultFacts::read(&change, &base).unwrap();
        let is_found = !facts.git_directory_paths().is_empty();
        let is_repository = repo.git_in(&folder, &["rev-parse", "--absolute-git-dir"]) != own;
        assert!(is_found || !is_repository, "{chosen:?}");
        recognised += u32::from(is_repository);
        found += u32::from(is_found);
    }
    assert_eq!((recognised, found), (20, 20));
}

/// The top: git finds `.git` first. Only without it, as in an export, is the top a repository by what it holds.
#[test]
fn the_top_is_no_repository_by_its_content_while_it_has_its_own() {
    let repo = example();
    let own = repo.git(&["rev-parse", "--absolute-git-dir"]);
    let exported = repo.path().join("exported");
    for folder in [repo.path().to_owned(), exported.clone()] {
        for (name, content) in &PARTS[..3] {
            write_file(&folder.join(name), content);
        }
    }
    let asked = |folder| repo.git_in(folder, &["rev-parse", "--absolute-git-dir"]);
    assert_eq!(asked(repo.path()), own);
    assert_ne!(asked(&exported), own);
}

#[test]
fn files_that_no_commit_shows_make_no_git_directory_with_a_landing() {
    let refused = |repo: &TestRepo, spec: &TargetSpec, path: &str| {
        let error = land(repo, spec, &[(path, text("x\n"))]).unwrap_err();
        assert_eq!(error.code(), "git-dir", "{error}");
        assert!(!repo.has(path));
    };
    // An earlier landing without a commit.
    let repo = example();
    let spec = TargetSpec::WorkTreeOnly;
    for (path, content) in [("dir/HEAD", HEAD), ("dir/objects/info/x", "x\n")] {
        land(&repo, &spec, &[(path, text(content))]).unwrap();
    }
    refused(&repo, &spec, "dir/refs/heads/x");
    land(&repo, &spec, &[("dir/other", text("x\n"))]).unwrap();

    // Untracked files, and a new file among them.
    let repo = example();
    for name in ["HEAD", "objects/x", "refs/x"] {
        write_file(&repo.path().join("dir").join(name), "x\n");
    }
    for path in ["dir/config", "dir/deep/down.md"] {
        refused(&repo, &TargetSpec::CurrentBranch, path);
    }
    // Another branch has no work tree that it could complete.
    let elsewhere = TargetSpec::Branch("other".to_owned());
    land(&repo, &elsewhere, &[("dir/config", text("x\n"))]).unwrap();
    remove_file(&repo.path().join("dir/HEAD"));
    land(&repo, &TargetSpec::CurrentBranch, &[("dir/config", text("x\n"))]).unwrap();
}
