//! An edited index says what git says of the same edit.

use agentos_index::{IndexFile, NewEntry};
use agentos_testkit::repo::{TestRepo, read_file, write_file};

use super::support::{entry, example, parse, written};

type Edit = (&'static [&'static str], &'static [&'static str]);

const EDITS: &[Edit] = &[
    (&[], &[]),
    (&[], &["dir/a"]),
    (&["dir/a"], &["dir/a"]),
    (&["a", "z/last"], &[]),
    (&[], &["0", "dir/deep/c2", "dir/new/x", "zz"]),
    (&[], &["b", "a-", "a0", "dir"]),
    (&["a"], &["a/file/in/a/folder"]),
    (&[], &["dir/deep/c/below"]),
    (&["dir/a", "dir/b", "dir/deep/c"], &[]),
    (&["not/there"], &["dir/deep"]),
];

#[test]
fn an_edit_says_what_git_says_of_it() {
    for version in ["2", "3", "4"] {
        let repo = example(version);
        let place = repo.path().join(".git/index");
        let before = read_file(&place);
        let id = repo.git(&["rev-parse", ":z/last"]);
        for (gone, new) in EDITS {
            write_file(&place, &before);
            let mut index = parse(&repo);
            for path in *gone {
                repo.git(&["update-index", "--force-remove", path]);
            }
            for path in *new {
                let entry = format!("100755,{id},{path}");
                repo.git(&["update-index", "--add", "--replace", "--cacheinfo", &entry]);
            }
            let wanted = (repo.git(&["ls-files", "--stage"]), repo.git(&["write-tree"]));
            let entries: Vec<_> = new.iter().map(|path| entry(path, &id)).collect();
            index.replace_entries(gone.iter().copied(), &[]);
            index.replace_entries(std::iter::empty(), &entries);
            index.invalidate_trees(gone.iter().chain(*new).copied());
            write_file(&place, written(&index));
            let found = (repo.git(&["ls-files", "--stage"]), repo.git(&["write-tree"]));
            assert!(
                found == wanted,
                "{version} {gone:?} {new:?}: {}",
                found.0.replace(&"n".repeat(200), "n")
            );
            repo.git(&["fsck", "--strict"]);
            let marked = index.list_entries().filter(|entry| entry.file_size() == 1000);
            assert_eq!(marked.count(), new.len());
        }
    }
}

#[test]
fn what_is_not_edited_stays_byte_for_byte() {
    for version in ["2", "3", "4"] {
        let repo = example(version);
        repo.write("later", "later");
        repo.git(&["add", "--intent-to-add", "later"]);
        repo.git(&["update-index", "--assume-unchanged", "a"]);
        repo.git(&["update-index", "--skip-worktree", "dir/a"]);
        let before = read_file(&repo.path().join(".git/index"));
        let index = IndexFile::parse(before.clone()).unwrap();
        let flags = |path: &str| {
            let entry = index.find_entry(path, 0).unwrap();
            (
                entry.is_skip_worktree(),
                entry.is_intent_to_add(),
                entry.has_extended_flags(),
            )
        };
        assert_eq!(flags("later"), (false, true, true));
        assert_eq!(flags("dir/a"), (true, false, true));
        assert_eq!(flags("a"), (false, false, false));
        assert!(before == written(&index), "version {version}");
    }
}

#[test]
fn conflicts_are_seen_and_end_with_a_new_entry() {
    let repo = TestRepo::new();
    repo.write("a", "base\n");
    let base = repo.commit_all("base");
    let id = repo.git(&["rev-parse", ":a"]);
    repo.write("a", "ours\n");
    repo.commit_all("ours");
    repo.git(&["checkout", "--quiet", "-b", "theirs", &base]);
    repo.write("a", "theirs\n");
    repo.commit_all("theirs");
    assert!(!repo.git_ok(&["merge", "--quiet", "main"]));
    let mut index = parse(&repo);
    assert_eq!(
        [0, 1, 2, 3].map(|stage| index.find_entry("a", stage).is_some()),
        [false, true, true, true]
    );
    index.replace_entries(std::iter::empty(), &[entry("a", &id)]);
    assert_eq!(
        [0, 1, 2, 3].map(|stage| index.find_entry("a", stage).is_some()),
        [true, false, false, false]
    );
}

#[test]
fn a_sparse_index_stays_one_and_its_folders_are_entries() {
    for version in ["2", "4"] {
        let repo = example("2");
        repo.git(&["update-index", "--index-version", version]);
        repo.git(&["sparse-checkout", "set", "--cone", "--sparse-index", "z"]);
        let place = repo.path().join(".git/index");
        let before = read_file(&place);
        let mut index = IndexFile::parse(before.clone()).unwrap();
        assert!(before == written(&index), "version {version}");
        let folder = |path: &str| index.find_folder_above(path).map(|entry| entry.path().to_vec());
        assert_eq!(folder("dir/deep/c"), Some(b"dir/".to_vec()));
        assert_eq!(folder("dir/new/x"), Some(b"dir/".to_vec()));
        assert_eq!((folder("z/last"), folder("dir"), folder("a")), (None, None, None));
        let id = repo.git(&["rev-parse", "HEAD:dir/deep"]);
        let tree = NewEntry {
            path: "dir/",
            mode: 0o40_000,
            skip_worktree: true,
            ..entry("dir/", &id)
        };
        index.replace_entries(std::iter::empty(), &[tree]);
        index.invalidate_trees(["dir/a"].into_iter());
        write_file(&place, written(&index));
        let listed = repo.git(&["ls-files", "--sparse", "-t"]);
        assert!(listed.contains("S dir/\n"), "{listed}");
        assert!(repo.git(&["ls-files"]).contains("dir/c\n"));
        repo.git(&["write-tree"]);
    }
}

#[test]
fn a_left_out_entry_is_written_with_its_flag() {
    for version in ["2", "3", "4"] {
        let repo = example(version);
        let id = repo.git(&["rev-parse", ":a"]);
        let mut index = parse(&repo);
        let new = NewEntry {
            skip_worktree: true,
            ..entry("dir/new", &id)
        };
        index.replace_entries(std::iter::empty(), &[new]);
        index.invalidate_trees(["dir/new"].into_iter());
        write_file(&repo.path().join(".git/index"), written(&index));
        assert_eq!(
            repo.git(&["ls-files", "-t", "dir/new", "dir/a"]),
            "H dir/a\nS dir/new"
        );
        assert!(parse(&repo).find_entry("dir/new", 0).unwrap().is_skip_worktree());
    }
}
